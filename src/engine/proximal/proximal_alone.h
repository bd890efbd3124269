/* One member whose step is not found side by side with others: its state of affairs. */
#ifndef TC_ENGINE_PROXIMAL_PROXIMAL_ALONE_H
#define TC_ENGINE_PROXIMAL_PROXIMAL_ALONE_H

#include "engine/proximal/proximal_box.h"
#include "engine/proximal/proximal_parts.h"

typedef struct tc_alone {
    tc_proximal_block b; /* of one; its numbers are the first ones of rows */
    tc_proximal_work *work;
    size_t dim;
    double inverse; /* 1 / step */
    bool is_done, is_accurate;
    /* the problem in the box, with the part's multiplier as it is */
    bool begins;   /* at the trial point: there is no line yet */
    int steps;     /* so far */
    double slope;  /* along the line, < 0 */
    double length; /* of the line so far */
    /* the part, where there is one that is smooth; its centre or normal is in rows of work->center */
    bool has_part;
    tc_set_kind kind;
    size_t first, count;
    double radius;
    const double *matrix;
    int multipliers; /* tried so far */
    double t, t_low, t_high;
} tc_alone;

/* ---- the part h <= 0 or h = 0 (proximal_part.c) ------------------------------------------------------------------ */

typedef struct tc_part_value {
    double h, size; /* size: of what cancels in h */
    double square;  /* balls and ellipsoids: 2 h + target */
    double target;
} tc_part_value;

/* At rows of points; its gradient, zero beyond its components, in gradient. */
tc_part_value tc_alone_part(const tc_alone *s, const double *rows, double *gradient);
/* t times the Hessian of h, added to work->hessian. */
void tc_alone_part_hessian(const tc_alone *s);
/* The problem in the box is solved, and x its solution, by a last step whose factor is there: whether that is all, or
 * the next multiplier. */
void tc_alone_judge_part(tc_alone *s, tc_box_step *step);

/* ---- any set (proximal_inside.c) --------------------------------------------------------------------------------- */

/* By the interior-point method, into work->x. is_accurate: certified. False where slopes are finite nowhere. */
bool tc_alone_inside(tc_alone *s);

#endif
