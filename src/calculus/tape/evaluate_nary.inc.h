/* The n-ary operations by their tc_op, for evaluate.inc.h and program.c; they need NUMBER, LSE, SOFTMAX, NORM,
 * DIRECTION and BEND. index as in tc_node. */
static NUMBER apply_nary(unsigned op, const NUMBER *arguments, size_t count, uint64_t index) {
    size_t low = (size_t)(index & UINT32_MAX);
    if (op == TC_LSE)
        return LSE(arguments, count);
    if (op == TC_SOFTMAX)
        return SOFTMAX(arguments, count, low);
    if (op == TC_NORM)
        return NORM(arguments, count);
    if (op == TC_DIRECTION)
        return DIRECTION(arguments, count, low);
    return BEND(arguments, count, (size_t)(index >> 32), low);
}
