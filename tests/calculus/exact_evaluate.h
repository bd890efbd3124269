/* Evaluation of nodes in MPFR, straight from the meaning of each operation. Include <mpfr.h> before. */
#ifndef TC_TESTS_CALCULUS_EXACT_EVALUATE_H
#define TC_TESTS_CALCULUS_EXACT_EVALUATE_H

#include "model/expr.h"

typedef struct exact {
    mpfr_t *values; /* by node */
    size_t count;
    mpfr_t one, two;
} exact;

static inline void exact_init(exact *e, tc_arena *arena, const tc_dag *dag) {
    e->count = dag->count;
    e->values = TC_NEW(arena, mpfr_t, e->count);
    for (size_t i = 0; i < e->count; i++)
        mpfr_init2(e->values[i], 64);
    mpfr_inits2(64, e->one, e->two, (mpfr_ptr)0);
}

static inline void exact_clear(exact *e) {
    for (size_t i = 0; i < e->count; i++)
        mpfr_clear(e->values[i]);
    mpfr_clears(e->one, e->two, (mpfr_ptr)0);
}

static inline void exact_huber(mpfr_t r, mpfr_srcptr a, mpfr_srcptr b, mpfr_t scratch) {
    if (mpfr_cmpabs(a, b) <= 0) {
        (void)mpfr_sqr(r, a, MPFR_RNDN);
    } else { /* 2 b |a| - b^2 */
        (void)mpfr_abs(r, a, MPFR_RNDN);
        (void)mpfr_mul_2ui(r, r, 1, MPFR_RNDN);
        (void)mpfr_sub(r, r, b, MPFR_RNDN);
        (void)mpfr_set(scratch, r, MPFR_RNDN);
        (void)mpfr_mul(r, scratch, b, MPFR_RNDN);
    }
    (void)mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}

static inline void exact_clamp(mpfr_t r, mpfr_srcptr a, mpfr_srcptr b) {
    if (mpfr_nan_p(a) || mpfr_cmpabs(a, b) <= 0) {
        (void)mpfr_set(r, a, MPFR_RNDN);
    } else {
        (void)mpfr_setsign(r, b, mpfr_signbit(a), MPFR_RNDN);
    }
}

/* exp(u_i - largest), in e->one */
static inline void exact_term(exact *e, mpfr_srcptr u, mpfr_srcptr largest) {
    (void)mpfr_sub(e->one, u, largest, MPFR_RNDN);
    (void)mpfr_exp(e->one, e->one, MPFR_RNDN);
}

/* The sum of the squares of all arguments but two, in e->two. */
static inline void exact_squares(exact *e, const tc_expr *arguments, size_t count, size_t i, size_t k) {
    (void)mpfr_set_zero(e->two, 1);
    for (size_t j = 0; j < count; j++) {
        (void)mpfr_sqr(e->one, e->values[arguments[j]], MPFR_RNDN);
        if (j != i && j != k)
            (void)mpfr_add(e->two, e->two, e->one, MPFR_RNDN);
    }
}

static inline void exact_norm(exact *e, const tc_dag *dag, const tc_node *n, mpfr_t r) {
    const tc_expr *arguments = dag->arguments + n->a;
    size_t i = (size_t)(n->u.index >> 32), k = (size_t)(n->u.index & UINT32_MAX);
    if (n->op == TC_BEND && i == k) { /* without cancellation: rest / N^3 */
        exact_squares(e, arguments, n->b, i, k);
        (void)mpfr_set(r, e->two, MPFR_RNDN);
    }
    exact_squares(e, arguments, n->b, SIZE_MAX, SIZE_MAX);
    (void)mpfr_sqrt(e->one, e->two, MPFR_RNDN);
    if (n->op == TC_NORM) {
        (void)mpfr_set(r, e->one, MPFR_RNDN);
    } else if (n->op == TC_DIRECTION) {
        (void)mpfr_div(r, e->values[arguments[n->u.index]], e->one, MPFR_RNDN);
        if (mpfr_zero_p(e->one))
            (void)mpfr_set_zero(r, 1);
    } else {
        if (i != k) {
            (void)mpfr_mul(r, e->values[arguments[i]], e->values[arguments[k]], MPFR_RNDN);
            (void)mpfr_neg(r, r, MPFR_RNDN);
        }
        (void)mpfr_div(r, r, e->two, MPFR_RNDN);
        (void)mpfr_div(r, r, e->one, MPFR_RNDN);
    }
}

static inline void exact_nary(exact *e, const tc_dag *dag, const tc_node *n, mpfr_t r) {
    const tc_expr *arguments = dag->arguments + n->a;
    mpfr_srcptr largest = e->values[arguments[0]];
    for (size_t i = 1; i < n->b; i++)
        largest = mpfr_greater_p(e->values[arguments[i]], largest) ? e->values[arguments[i]] : largest;
    (void)mpfr_set_zero(e->two, 1);
    for (size_t i = 0; i < n->b; i++) {
        exact_term(e, e->values[arguments[i]], largest);
        (void)mpfr_add(e->two, e->two, e->one, MPFR_RNDN);
    }
    if (n->op == TC_LSE) {
        (void)mpfr_log(r, e->two, MPFR_RNDN);
        (void)mpfr_add(r, r, largest, MPFR_RNDN);
        return;
    }
    exact_term(e, e->values[arguments[n->u.index]], largest);
    (void)mpfr_div(r, e->one, e->two, MPFR_RNDN);
}

/* p (p-1) .. (p-order+1) a^(p-order), 0 where the factor is. */
static inline void exact_power_of_data(exact *e, const tc_dag *dag, const tc_node *n, mpfr_ptr r) {
    mpfr_srcptr a = e->values[dag->arguments[n->a]], p = e->values[dag->arguments[n->a + 1]];
    (void)mpfr_set_ui(e->two, 1, MPFR_RNDN);
    for (unsigned long i = 0; i < n->u.index; i++) {
        (void)mpfr_sub_ui(e->one, p, i, MPFR_RNDN);
        (void)mpfr_mul(e->two, e->two, e->one, MPFR_RNDN);
    }
    (void)mpfr_sub_ui(e->one, p, (unsigned long)n->u.index, MPFR_RNDN);
    (void)mpfr_pow(r, a, e->one, MPFR_RNDN);
    if (mpfr_zero_p(e->two))
        (void)mpfr_set_zero(r, 1);
    else
        (void)mpfr_mul(r, r, e->two, MPFR_RNDN);
}

static inline void exact_node(exact *e, const tc_dag *dag, tc_expr number, mpfr_t *state, const double *data) {
    const tc_node *n = &dag->nodes[number];
    mpfr_ptr r = e->values[number];
    mpfr_srcptr a = tc_operand_count(dag, number) > 0 && !tc_is_nary(n->op) ? e->values[n->a] : r;
    mpfr_srcptr b = tc_operand_count(dag, number) == 2 && !tc_is_nary(n->op) ? e->values[n->b] : r;
    const mpfr_rnd_t nearest = MPFR_RNDN;
    switch ((tc_op)n->op) {
    case TC_CONST:
        (void)mpfr_set_d(r, n->u.value, nearest);
        break;
    case TC_DATA:
        (void)mpfr_set_d(r, data[n->u.index], nearest);
        break;
    case TC_STATE:
        (void)mpfr_set(r, state[n->u.index], nearest);
        break;
    case TC_ADD:
        (void)mpfr_add(r, a, b, nearest);
        break;
    case TC_SUB:
        (void)mpfr_sub(r, a, b, nearest);
        break;
    case TC_MUL:
        (void)mpfr_mul(r, a, b, nearest);
        break;
    case TC_DIV:
        (void)mpfr_div(r, a, b, nearest);
        break;
    case TC_NEG:
        (void)mpfr_neg(r, a, nearest);
        break;
    case TC_POWI:
        (void)mpfr_pow_si(r, a, (long)n->u.exponent, nearest);
        break;
    case TC_POWR:
        (void)mpfr_set_d(e->one, n->u.value, nearest);
        (void)mpfr_pow(r, a, e->one, nearest);
        break;
    case TC_EXP:
        (void)mpfr_exp(r, a, nearest);
        break;
    case TC_LOG:
        (void)mpfr_log(r, a, nearest);
        break;
    case TC_SQRT:
        (void)mpfr_sqrt(r, a, nearest);
        break;
    case TC_HUBER:
        exact_huber(r, a, b, e->one);
        break;
    case TC_CLAMP:
        exact_clamp(r, a, b);
        break;
    case TC_INSIDE:
        (void)mpfr_set_ui(r, mpfr_cmpabs(a, b) < 0 ? 1 : 0, nearest);
        if (mpfr_nan_p(a))
            mpfr_set_nan(r);
        break;
    case TC_HUMP:
        (void)mpfr_ui_sub(e->one, 1, a, nearest);
        (void)mpfr_mul(r, a, e->one, nearest);
        break;
    case TC_PAIR:
        (void)mpfr_mul(r, a, b, nearest);
        break;
    case TC_ABS:
        (void)mpfr_abs(r, a, nearest);
        break;
    case TC_MAX:
        (void)mpfr_max(r, a, b, nearest);
        if (mpfr_nan_p(a) || mpfr_nan_p(b))
            mpfr_set_nan(r);
        break;
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
        exact_norm(e, dag, n, r);
        break;
    case TC_POWD:
        exact_power_of_data(e, dag, n, r);
        break;
    case TC_LSE:
    case TC_SOFTMAX:
        exact_nary(e, dag, n, r);
        break;
    case TC_COORD:
    case TC_SUM:
    default:
        mpfr_set_nan(r);
    }
}

/* All nodes in order, with the given precision. */
static inline void exact_run(exact *e, const tc_dag *dag, const tc_expr *order, size_t count, mpfr_t *state,
                             const double *data, mpfr_prec_t bits) {
    mpfr_set_prec(e->one, bits);
    mpfr_set_prec(e->two, bits);
    for (size_t i = 0; i < count; i++) {
        mpfr_set_prec(e->values[order[i]], bits);
        exact_node(e, dag, order[i], state, data);
    }
}

#endif
