/* Objectives with kinks, without the kinks. A function f that is made of |u|, max(u, v) and norms is the minimum over t
 * of a smooth one, subject to smooth rows (its epigraph form):
 *
 *     f(x) = min phi(x, t)  over t with  r_j(x, t) <= 0
 *
 * with one t for each kink: u <= t and -u <= t for |u|, u <= t and v <= t for max(u, v). A norm |u| is the minimum over
 * t > 0 of (|s|^2 / t + t) / 2 with s == u, where s are variables too: near 0 their ratio to t must be known better
 * than u is. huber(u, d) has no kink, but its curvature jumps, which Newton's method may not survive: it is the minimum
 * over s of s^2 / 2 + d |u - s|, and a form that lifts it as well is kept for that case. It holds where f is convex by
 * the rules of composition: then phi does not fall as t grows, nor do the rows that t is an argument of. Solvers work
 * with phi; t is never stored and never sent. */
#ifndef TC_CALCULUS_LIFT_H
#define TC_CALCULUS_LIFT_H

#include "calculus/choose.h"
#include "calculus/derivatives.h"

struct tc_lift {
    size_t count;      /* of t: components dim .. dim + count - 1 of phi and of the rows */
    tc_expr *kinks;    /* by t (and s): what it stands for (or a bound of |t|), a function of the member's states */
    uint32_t *norm;    /* by t (and s): the number of the t of its norm; UINT32_MAX for another kink */
    tc_expr objective; /* phi */
    tc_first *first;   /* its derivatives, as tc_family_derivatives has them for a smooth objective */
    tc_second *second;
    size_t first_count, second_count;
    tc_expr *rows; /* r_j */
    uint32_t *row_kink;
    bool *row_is_equality; /* r_j == 0, and affine */
    size_t row_count;
    tc_first *row_first;
    tc_second *row_second;
    size_t row_first_count, row_second_count;
};

/* The lift of a family's objective without its derivatives, which are added by who derives it. count is 0 where
 * nothing is lifted, and objective is then the same function without kinks. With bends, huber is lifted too, where that
 * was chosen. choices may be NULL where there is nothing to choose. */
tc_lift *tc_lift_new(tc_arena *arena, const tc_model *model, const tc_family *family, const tc_choices *choices,
                     bool with_bends);

/* The same derivatives with the bends of each family as its lift; NULL where no family has any. */
const tc_derivatives *tc_without_bends(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* Of one family, which has bends. */
tc_family_derivatives tc_family_without_bends(const tc_family_derivatives *of);

#endif
