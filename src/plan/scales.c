#include "plan/scales.h"

#include "analysis/region.h"
#include "model/spread.h"

#include <math.h>

/* Widths that are no further apart than this are as good as alike: scales would change runs for little. */
#define LITTLE_APART 4.0
enum { MOST_APART = 40 }; /* powers of two */

typedef struct width_range {
    double least, most; /* of those above 0 */
} width_range;

static void take_width(width_range *found, double width) {
    if (!(width > 0))
        return;
    found->least = fmin(found->least, width);
    found->most = fmax(found->most, width);
}

/* Over the members of a family. */
static width_range component_widths(const tc_family *family, size_t c) {
    bool varies = family->lower[c].column != NULL || family->upper[c].column != NULL;
    width_range found = {INFINITY, 0};
    for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
        tc_interval range = tc_public_range(family, k, c);
        take_width(&found, range.hi - range.lo);
    }
    return varies ? (width_range){-tc_largest_of(family, -found.least), tc_largest_of(family, found.most)} : found;
}

/* The nearest whole number to log2(width / most), from -MOST_APART to 0. */
static int exponent_of(double width, double most) {
    int exponent;
    if (!(width > 0))
        return 0;
    double part = frexp(width / most, &exponent);
    if (part * part < 0.5)
        exponent--;
    return exponent > 0 ? 0 : exponent < -MOST_APART ? -MOST_APART : exponent;
}

tc_state_scales tc_state_scales_find(tc_arena *arena, const tc_model *model) {
    double **made = TC_NEW(arena, double *, model->family_count + 1);
    width_range all = {INFINITY, 0};
    for (size_t f = 0; f < model->family_count; f++) {
        made[f] = TC_NEW(arena, double, model->families[f].dim + 1);
        for (size_t c = 0; c < model->families[f].dim; c++) {
            made[f][c] = component_widths(&model->families[f], c).most;
            take_width(&all, made[f][c]);
        }
    }
    if (!(all.most > LITTLE_APART * all.least))
        return NULL;
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t c = 0; c < model->families[f].dim; c++)
            made[f][c] = ldexp(1, exponent_of(made[f][c], all.most));
    return (tc_state_scales)made;
}

double tc_widths_apart(const tc_model *model, tc_state_scales scales) {
    width_range found = {INFINITY, 0};
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t c = 0; c < model->families[f].dim; c++) {
            width_range of = component_widths(&model->families[f], c);
            double scale = tc_scale_of(scales, f, c);
            take_width(&found, of.least / scale);
            take_width(&found, of.most / scale);
        }
    return found.most > 0 ? found.most / found.least : 1;
}
