/* One evaluator for every kind of number; included once for each, with these defined:
 *   NUMBER                 the type                      INPUTS     its inputs
 *   EVALUATE               the function's name           FROM_DATA(x), FROM_DOUBLE(x)   a datum, a constant
 *   ADD, SUB, MUL, DIV, NEGATE, SQUARE, POWER_WHOLE, POWER_REAL, EXP, LOG, SQRT, HUBER, CLAMP, INSIDE
 *   HUMP, PAIR, ABS, MAX, LSE(arguments, count), SOFTMAX(arguments, count, index), NORM(arguments, count),
 *   DIRECTION(arguments, count, index), BEND(arguments, count, i, k), POWER_OF_DATA(arguments, order)
 *   DATA_ROWS_ARE_NUMBERS  where data need no conversion
 *   NORMS_BY_ROWS          where unit_of, bend_of_one and bend_of_two are there
 * Without EVALUATE there is only apply_nary. The operation is chosen outside the loop over lanes, so that the compiler
 * can vectorise the loop. */

/* An n-ary operation by its tc_op; index as in tc_node. */
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
    if (op == TC_POWD)
        return POWER_OF_DATA(arguments, low);
    return BEND(arguments, count, (size_t)(index >> 32), low);
}

#ifdef EVALUATE
/* Kept out of the loop over instructions, so that the loops over lanes have all registers to themselves. */
#define APART __attribute__((noinline)) static

/* Coordinates, sums and constants: one number for all lanes. */
static inline bool is_even(tc_tape_place place) { return place.kind >= TC_IN_COORDS; }

static inline NUMBER even_of(const tc_tape *tape, const INPUTS *inputs, tc_tape_place place) {
    return place.kind == TC_IN_CONSTANTS ? FROM_DOUBLE(tape->constants[place.index])
           : place.kind == TC_IN_SUMS    ? inputs->sums[place.index]
                                         : inputs->coords[place.index];
}

/* The row of lanes of an operand: where it lives, or made in spare. */
static inline const NUMBER *row_of(const tc_tape *tape, const INPUTS *inputs, size_t lanes, const NUMBER *work,
                                   NUMBER *const *out, tc_tape_place place, NUMBER spare[TC_MOST_LANES]) {
    if (place.kind == TC_IN_SLOT)
        return work + (size_t)place.index * lanes;
    if (place.kind == TC_IN_STATE)
        return inputs->state[place.index];
    if (place.kind == TC_IN_OUTPUT)
        return out[place.index];
#ifdef DATA_ROWS_ARE_NUMBERS
    if (place.kind == TC_IN_DATA)
        return inputs->data[place.index];
#endif
    for (size_t lane = 0; lane < lanes; lane++)
        spare[lane] = is_even(place) ? even_of(tape, inputs, place) : FROM_DATA(inputs->data[place.index][lane]);
    return spare;
}

/* The entry of one lane of an operand. */
static NUMBER entry_of(const tc_tape *tape, const INPUTS *inputs, size_t lanes, size_t lane, const NUMBER *work,
                       NUMBER *const *out, tc_tape_place place) {
    if (is_even(place))
        return even_of(tape, inputs, place);
    if (place.kind == TC_IN_DATA)
        return FROM_DATA(inputs->data[place.index][lane]);
    return row_of(tape, inputs, lanes, work, out, place, NULL)[lane];
}

/* With one number for all lanes on one side there is no row to make: the cases that derivatives and sums consist of.
 * False for any other operation. */
#define EACH_LANE_OF(row, name, formula)                                                                               \
    for (size_t lane = 0; lane < lanes; lane++) {                                                                      \
        NUMBER name = row[lane];                                                                                       \
        r[lane] = (formula);                                                                                           \
    }                                                                                                                  \
    return true

APART bool run_left(unsigned op, size_t lanes, NUMBER *restrict r, NUMBER x, const NUMBER *restrict b) {
    if (op == TC_MUL) {
        EACH_LANE_OF(b, y, MUL(x, y));
    }
    if (op == TC_ADD) {
        EACH_LANE_OF(b, y, ADD(x, y));
    }
    if (op == TC_SUB) {
        EACH_LANE_OF(b, y, SUB(x, y));
    }
    return false;
}

APART bool run_right(unsigned op, size_t lanes, NUMBER *restrict r, const NUMBER *restrict a, NUMBER y) {
    if (op == TC_MUL) {
        EACH_LANE_OF(a, x, MUL(x, y));
    }
    if (op == TC_ADD) {
        EACH_LANE_OF(a, x, ADD(x, y));
    }
    if (op == TC_SUB) {
        EACH_LANE_OF(a, x, SUB(x, y));
    }
    return false;
}

#define EACH_LANE(formula)                                                                                             \
    for (size_t lane = 0; lane < lanes; lane++) {                                                                      \
        NUMBER x = a[lane], y = b[lane];                                                                               \
        (void)x;                                                                                                       \
        (void)y;                                                                                                       \
        r[lane] = (formula);                                                                                           \
    }                                                                                                                  \
    break

/* Powers that derivatives are made of have loops of their own, which the compiler can vectorise. */
#define EACH_POWER(n)                                                                                                  \
    if (exponent == (n)) {                                                                                             \
        for (size_t lane = 0; lane < lanes; lane++)                                                                    \
            r[lane] = POWER_WHOLE(a[lane], n);                                                                         \
        return;                                                                                                        \
    }

APART void run_power(int64_t exponent, size_t lanes, NUMBER *restrict r, const NUMBER *restrict a) {
    if (exponent == 2) {
        for (size_t lane = 0; lane < lanes; lane++)
            r[lane] = SQUARE(a[lane]);
        return;
    }
    EACH_POWER(3)
    EACH_POWER(4)
    EACH_POWER(-1)
    EACH_POWER(-2)
    for (size_t lane = 0; lane < lanes; lane++)
        r[lane] = POWER_WHOLE(a[lane], exponent);
}

APART void run_scalar(const tc_instruction *instruction, size_t lanes, NUMBER *restrict r, const NUMBER *restrict a,
                      const NUMBER *restrict b) {
    switch ((tc_op)instruction->op) {
    case TC_ADD:
        EACH_LANE(ADD(x, y));
    case TC_SUB:
        EACH_LANE(SUB(x, y));
    case TC_MUL:
        EACH_LANE(MUL(x, y));
    case TC_DIV:
        EACH_LANE(DIV(x, y));
    case TC_NEG:
        EACH_LANE(NEGATE(x));
    case TC_POWI:
        run_power(instruction->u.exponent, lanes, r, a);
        break;
    case TC_POWR:
        EACH_LANE(POWER_REAL(x, instruction->u.value));
    case TC_EXP:
        EACH_LANE(EXP(x));
    case TC_LOG:
        EACH_LANE(LOG(x));
    case TC_SQRT:
        EACH_LANE(SQRT(x));
    case TC_HUBER:
        EACH_LANE(HUBER(x, y));
    case TC_CLAMP:
        EACH_LANE(CLAMP(x, y));
    case TC_INSIDE:
        EACH_LANE(INSIDE(x, y));
    case TC_HUMP:
        EACH_LANE(HUMP(x));
    case TC_PAIR:
        EACH_LANE(PAIR(x, y));
    case TC_ABS:
        EACH_LANE(ABS(x));
    case TC_MAX:
        EACH_LANE(MAX(x, y));
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
        EACH_LANE(x);
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
    case TC_POWD:
    default:
        break; /* run_nary */
    }
}

#ifdef NORMS_BY_ROWS
enum { FEW = 3 }; /* squares that are added in one go */

/* The squares of a few rows, from left to right. */
APART void square_few(const NUMBER *const *rows, size_t count, size_t lanes, NUMBER *restrict sum) {
    const NUMBER *a = rows[0], *b = rows[1], *c = rows[2];
    if (count == 0)
        for (size_t lane = 0; lane < lanes; lane++)
            sum[lane] = 0;
    if (count == 1)
        for (size_t lane = 0; lane < lanes; lane++)
            sum[lane] = a[lane] * a[lane];
    if (count == 2)
        for (size_t lane = 0; lane < lanes; lane++)
            sum[lane] = a[lane] * a[lane] + b[lane] * b[lane];
    if (count == 3)
        for (size_t lane = 0; lane < lanes; lane++)
            sum[lane] = a[lane] * a[lane] + b[lane] * b[lane] + c[lane] * c[lane];
}

/* The squares of all arguments but one. */
APART void sum_squares(const tc_tape *tape, const INPUTS *inputs, const tc_instruction *instruction, size_t without,
                       size_t lanes, const NUMBER *work, NUMBER *const *out, NUMBER *restrict sum) {
    const tc_tape_place *arguments = tape->arguments + instruction->a.index;
    const NUMBER *rows[FEW] = {NULL};
    NUMBER spares[FEW][TC_MOST_LANES];
    size_t i = 0, count = 0;
    for (; i < instruction->b.index && count < FEW; i++)
        if (i != without) {
            rows[count] = row_of(tape, inputs, lanes, work, out, arguments[i], spares[count]);
            count++;
        }
    square_few(rows, count, lanes, sum);
    for (; i < instruction->b.index; i++) {
        if (i == without)
            continue;
        const NUMBER *row = row_of(tape, inputs, lanes, work, out, arguments[i], spares[0]);
        for (size_t lane = 0; lane < lanes; lane++)
            sum[lane] += row[lane] * row[lane];
    }
}

typedef struct norm_rows { /* of the last vector: what its norm and all derivatives share */
    NUMBER length[TC_MOST_LANES], inverse[TC_MOST_LANES];
    bool has_inverse;
} norm_rows;

APART void find_lengths(const tc_tape *tape, const INPUTS *inputs, const tc_instruction *instruction, size_t lanes,
                        const NUMBER *work, NUMBER *const *out, norm_rows *rows) {
    sum_squares(tape, inputs, instruction, SIZE_MAX, lanes, work, out, rows->length);
    for (size_t lane = 0; lane < lanes; lane++)
        rows->length[lane] = MATH(sqrt)(rows->length[lane]);
    rows->has_inverse = false;
}

/* Second derivatives; low and high are the arguments. */
APART void run_bend(const tc_tape *tape, const INPUTS *inputs, const tc_instruction *instruction, size_t lanes,
                    const NUMBER *work, NUMBER *const *out, NUMBER *restrict r, norm_rows *rows) {
    const tc_tape_place *arguments = tape->arguments + instruction->a.index;
    size_t low = (size_t)(instruction->u.index & UINT32_MAX), high = (size_t)(instruction->u.index >> 32);
    if (!rows->has_inverse)
        for (size_t lane = 0; lane < lanes; lane++)
            rows->inverse[lane] = 1 / rows->length[lane];
    rows->has_inverse = true;
    if (low == high) {
        sum_squares(tape, inputs, instruction, low, lanes, work, out, r);
        for (size_t lane = 0; lane < lanes; lane++)
            r[lane] = bend_of_one(r[lane], rows->inverse[lane]);
        return;
    }
    NUMBER spare_a[TC_MOST_LANES], spare_b[TC_MOST_LANES];
    const NUMBER *a = row_of(tape, inputs, lanes, work, out, arguments[high], spare_a);
    const NUMBER *b = row_of(tape, inputs, lanes, work, out, arguments[low], spare_b);
    for (size_t lane = 0; lane < lanes; lane++)
        r[lane] = bend_of_two(a[lane], b[lane], rows->inverse[lane]);
}

/* NORM, DIRECTION and BEND with the same operations in the same order, row by row: the loops can be vectorised. */
APART void run_norm(const tc_tape *tape, const INPUTS *inputs, const tc_instruction *instruction, size_t lanes,
                    const NUMBER *work, NUMBER *const *out, NUMBER *restrict r, norm_rows *rows) {
    if (!instruction->shares)
        find_lengths(tape, inputs, instruction, lanes, work, out, rows);
    if (instruction->op == TC_BEND) {
        run_bend(tape, inputs, instruction, lanes, work, out, r, rows);
        return;
    }
    if (instruction->op == TC_NORM) {
        for (size_t lane = 0; lane < lanes; lane++)
            r[lane] = rows->length[lane];
        return;
    }
    NUMBER spare[TC_MOST_LANES];
    tc_tape_place place = tape->arguments[instruction->a.index + (size_t)(instruction->u.index & UINT32_MAX)];
    const NUMBER *a = row_of(tape, inputs, lanes, work, out, place, spare);
    for (size_t lane = 0; lane < lanes; lane++)
        r[lane] = unit_of(a[lane], rows->length[lane]);
}
#endif

APART void run_nary(const tc_tape *tape, const INPUTS *inputs, const tc_instruction *instruction, size_t lanes,
                    const NUMBER *work, NUMBER *const *out, NUMBER *restrict r, NUMBER *restrict gathered) {
    const tc_tape_place *arguments = tape->arguments + instruction->a.index;
    size_t count = instruction->b.index;
    for (size_t lane = 0; lane < lanes; lane++) {
        for (size_t i = 0; i < count; i++)
            gathered[i] = entry_of(tape, inputs, lanes, lane, work, out, arguments[i]);
        r[lane] = apply_nary(instruction->op, gathered, count, instruction->u.index);
    }
}

/* An operation on numbers that are the same for all lanes: once. */
APART void run_even(const tc_instruction *instruction, size_t lanes, NUMBER *restrict r, NUMBER a, NUMBER b) {
    run_scalar(instruction, 1, r, &a, &b);
    for (size_t lane = 1; lane < lanes; lane++)
        r[lane] = r[0];
}

void EVALUATE(const tc_tape *tape, const INPUTS *inputs, size_t lanes, NUMBER *work, NUMBER *const *out) {
    NUMBER spare_a[TC_MOST_LANES], spare_b[TC_MOST_LANES];
#ifdef NORMS_BY_ROWS
    norm_rows rows;
#endif
    for (size_t at = 0; at < tape->code_count; at++) {
        const tc_instruction *instruction = &tape->code[at];
        tc_tape_place target = instruction->target, left = instruction->a, right = instruction->b;
        NUMBER *r = target.kind == TC_IN_SLOT ? work + (size_t)target.index * lanes : out[target.index];
#ifdef NORMS_BY_ROWS
        if (instruction->op == TC_NORM || instruction->op == TC_DIRECTION || instruction->op == TC_BEND) {
            run_norm(tape, inputs, instruction, lanes, work, out, r, &rows);
            continue;
        }
#endif
        if (tc_is_nary(instruction->op)) {
            run_nary(tape, inputs, instruction, lanes, work, out, r, work + tape->slot_count * lanes);
            continue;
        }
        const NUMBER *a = NULL, *b = NULL;
        if (!is_even(left))
            a = row_of(tape, inputs, lanes, work, out, left, spare_a);
        if (!is_even(right))
            b = row_of(tape, inputs, lanes, work, out, right, spare_b);
        if (a == NULL && b != NULL && run_left(instruction->op, lanes, r, even_of(tape, inputs, left), b))
            continue;
        if (a != NULL && b == NULL && run_right(instruction->op, lanes, r, a, even_of(tape, inputs, right)))
            continue;
        if (a == NULL && b == NULL) {
            run_even(instruction, lanes, r, even_of(tape, inputs, left), even_of(tape, inputs, right));
            continue;
        }
        a = a != NULL ? a : row_of(tape, inputs, lanes, work, out, left, spare_a);
        b = b != NULL ? b : row_of(tape, inputs, lanes, work, out, right, spare_b);
        run_scalar(instruction, lanes, r, a, b);
    }
}

#undef EACH_LANE_OF
#undef EACH_LANE
#undef EACH_POWER
#undef APART
#endif
