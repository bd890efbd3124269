/* Any set: the interior-point method. */
#include "engine/proximal_alone.h"

#include <math.h>

/* How much one component can change f across its box, by the slopes at a point; 0 where they are not finite. */
static tc_real range_at(const tc_alone *s) {
    tc_proximal_work *work = s->work;
    tc_real range = 0;
    tc_proximal_evaluate(&s->b, s->b.family->both, work->x, 1);
    for (size_t c = 0; c < s->dim; c++) {
        int32_t row = s->b.family->of->rows[c];
        tc_real width = (tc_real)(work->upper[c * TC_LANES] - work->lower[c * TC_LANES]);
        tc_real slope = row == TC_NO_ROW ? 0 : (tc_real)work->out_at[row][0] * width;
        range = fmaxl(range, fabsl(slope));
    }
    return isfinite(range) ? range : 0;
}

static tc_interior_result solve_once(tc_alone *s, tc_real range) {
    const tc_proximal_block *b = &s->b;
    tc_proximal_work *work = s->work;
    tc_interior *interior = b->family->interiors[b->worker];
    const tc_interior_options options = {.gap = 1e-26L, .residual = 1e-16L, .iterations = 200};
    for (size_t c = 0; c < s->dim; c++)
        work->reals[c] = (tc_real)b->x[c][b->at] / (tc_real)b->step - (tc_real)b->p[c][b->at];
    tc_interior_member(interior, b->first);
    tc_real weight = (tc_real)b->regularization + 1 / (tc_real)b->step;
    tc_interior_result result = tc_interior_pulled(interior, &options, weight, work->reals, range);
    if (!isfinite(result.residual))
        return result;
    tc_interior_block(interior, work->reals);
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        work->x[at] = tc_proximal_bounded((double)work->reals[c], work->lower[at], work->upper[at]);
    }
    return result;
}

/* The interior-point method. Its accuracy is relative to the slopes, which may be quite other ones at the solution
 * than where they were judged: then once more. False where the objective is not defined in the middle of the box. */
bool tc_alone_inside(tc_alone *s) {
    tc_interior_result result = {0};
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        s->work->x[at] = tc_proximal_bounded(s->b.x[c][s->b.at], s->work->lower[at], s->work->upper[at]);
    }
    tc_real range = range_at(s), used = range;
    for (int again = 0; again < 4; again++) {
        result = solve_once(s, used = range);
        if (!isfinite(result.residual))
            return false;
        range = range_at(s);
        if (range > 0.03L * used && range < 30 * used)
            break;
    }
    s->is_accurate = result.gap <= 1e-19L && result.residual <= 1e-13L;
    return true;
}
