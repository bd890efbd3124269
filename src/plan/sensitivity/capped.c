/* Sensitivities of agents that keep to a public set: docs/proofs/publicset.md, section 3. */
#include "plan/sensitivity/sensitivity.h"

#include <stdlib.h>

bool tc_is_capped(const tc_sensitivity *s, size_t family) {
    return s->whole_agents && !s->extras_only && s->caps != NULL && s->caps->families[family] != NULL;
}

static int compare_slopes(const void *x, const void *y) {
    const tc_capped_slope *a = x, *b = y;
    int order = tc_compare_moved(&a->moved, &b->moved);
    return order != 0 ? order : a->column < b->column ? -1 : a->column > b->column;
}

void tc_capped_keep(tc_sensitivity *s, const tc_family *family) {
    tc_capped *kept = &s->capped;
    if (s->count + 1 > kept->capacity) {
        kept->capacity = 2 * s->count + 1;
        kept->slopes = TC_NEW(s->arena, tc_capped_slope, kept->capacity);
        kept->start = TC_NEW(s->arena, size_t, kept->capacity);
        kept->linear = TC_NEW(s->arena, double, kept->capacity);
        kept->extra = TC_NEW(s->arena, double, kept->capacity);
    }
    if (kept->gains == NULL)
        kept->gains = TC_NEW(s->arena, tc_gain, s->widest + 1);
    for (size_t c = 0; c < family->dim; c++)
        for (size_t i = s->start[c]; i < s->start[c + 1]; i++)
            kept->slopes[i] = (tc_capped_slope){s->moved[i], c};
    if (s->count > 1)
        qsort(kept->slopes, s->count, sizeof *kept->slopes, compare_slopes);
    kept->slope_count = s->count;
}

/* The largest sum of one kind of sizes of an entry's slopes times steps from the corner of the box. */
typedef enum size_kind { UPWARD, DOWNWARD, EITHER } size_kind;

static double most_of(const tc_sensitivity *s, size_t family, size_t member, size_t entry, size_kind kind) {
    const tc_capped *kept = &s->capped;
    const tc_cap *cap = s->caps->families[family];
    size_t count = 0;
    for (size_t i = kept->start[entry]; i < kept->start[entry + 1]; i++) {
        tc_interval slope = kept->slopes[i].moved.value;
        size_t column = kept->slopes[i].column;
        bool up = (kind == UPWARD) != cap->falls[(cap->members == 1 ? 0 : member) * cap->dim + column];
        double size = kind == EITHER ? tc_magnitude(slope) : up ? fmax(slope.hi, 0) : fmax(-slope.lo, 0);
        kept->gains[count++] = (tc_gain){.component = column, .gain = isnan(size) ? (double)INFINITY : size};
    }
    return tc_cap_most(s->caps, &s->streams->model->families[family], family, member, kept->gains, count,
                       kind == EITHER ? 2 : 1);
}

void tc_capped_bound(tc_sensitivity *s, size_t family, size_t member) {
    tc_capped *kept = &s->capped;
    size_t at = 0;
    for (size_t e = 0; e < s->count; e++) {
        kept->start[e] = at;
        while (at < kept->slope_count && tc_compare_moved(&kept->slopes[at].moved, &s->moved[e]) == 0)
            at++;
    }
    kept->start[s->count] = at;
    for (size_t e = 0; e < s->count; e++) {
        double apart = tc_add_up(most_of(s, family, member, e, UPWARD), most_of(s, family, member, e, DOWNWARD));
        kept->linear[e] = fmin(s->moved[e].value.hi, fmin(apart, most_of(s, family, member, e, EITHER)));
        s->moved[e].value = (tc_interval){-kept->linear[e], kept->linear[e]};
    }
}

/* ---- all entries together ---------------------------------------------------------------------------------------- */

double tc_capped_price(tc_sensitivity *s, const tc_sensitivity_block *block, const double *scales, bool gaussian) {
    const tc_capped *kept = block->capped;
    double extra = 0;
    tc_gain *gains = kept->gains;
    for (size_t c = 0; c < block->family->dim; c++)
        gains[c] = (tc_gain){.component = c};
    for (size_t e = 0; e < block->start[1]; e++) {
        double other = tc_div_up(kept->extra[e], scales[e]), linear = tc_div_up(kept->linear[e], scales[e]);
        extra = tc_add_up(extra, gaussian ? tc_mul_up(other, other) : other);
        for (size_t i = kept->start[e]; i < kept->start[e + 1]; i++) {
            double *gain = &gains[kept->slopes[i].column].gain;
            double size = tc_div_up(tc_magnitude(kept->slopes[i].moved.value), scales[e]);
            *gain = tc_add_up(*gain, gaussian ? tc_mul_up(linear, size) : size);
        }
    }
    double most = tc_cap_most(s->caps, block->family, (size_t)(block->family - s->streams->model->families),
                              block->member, gains, block->family->dim, 2);
    return gaussian ? tc_add_up(tc_sqrt_up(most), tc_sqrt_up(extra)) : tc_add_up(most, extra);
}
