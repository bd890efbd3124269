/* Families of one in boxes, with objectives of constant curvature without mixed terms: rows.c for all of them together.
 * One program has their gradients, one pass over their coordinates the rest. */
#include "engine/proximal/inside.h"
#include "engine/published/published.h"

#include <math.h>
#include <string.h>

struct tc_proximal_formulas {
    bool *has; /* by family */
    size_t count;
    tc_coord_range *ranges; /* of coordinates, and their places below */
    size_t range_count;
    double *curvatures, *stretch, *lower, *upper; /* by place */
    tc_program *gradient;
    size_t *places; /* by root: the others are zero */
    size_t root_count;
    struct tc_formula_work { /* by worker */
        double *program, *values;
        double *slopes, *points; /* by place */
    } * works;
};

static bool is_formula(const tc_proximal_groups *groups, const tc_family *family) {
    const tc_proximal_family *only = groups->at;
    return family->count == 1 && groups->count == 1 && only->members == NULL && only->way == TC_PROXIMAL_ROWS &&
           only->of->lower != NULL && only->seconds == NULL;
}

static void add_family(const tc_proximal_family *of, tc_proximal_formulas *made, tc_expr *roots) {
    const tc_family *family = of->of->family;
    const tc_family_derivatives *d = of->derivatives;
    tc_coord_range *last = made->range_count > 0 ? &made->ranges[made->range_count - 1] : NULL;
    for (size_t c = 0; c < family->dim; c++) {
        made->curvatures[made->count + c] = of->curvatures[c].value;
        made->stretch[made->count + c] = of->stretch[c];
        made->lower[made->count + c] = tc_coef_at(of->of->lower[c], 0);
        made->upper[made->count + c] = tc_coef_at(of->of->upper[c], 0);
    }
    for (size_t i = 0; i < d->objective_first_count; i++) {
        roots[made->root_count] = d->objective_first[i].value;
        made->places[made->root_count++] = made->count + d->objective_first[i].column;
    }
    if (last != NULL && last->coord + last->count == family->first_coord)
        last->count += family->dim;
    else
        made->ranges[made->range_count++] =
            (tc_coord_range){.coord = family->first_coord, .place = made->count, .count = family->dim};
    made->count += family->dim;
}

tc_proximal_formulas *tc_proximal_formulas_new(tc_arena *arena, const tc_proximal *proximal) {
    const tc_model *model = proximal->agents->model;
    tc_proximal_formulas *made = TC_NEW(arena, tc_proximal_formulas, 1);
    size_t coords = 0, families = 0;
    made->has = TC_NEW(arena, bool, model->family_count);
    for (size_t f = 0; f < model->family_count; f++)
        if (is_formula(&proximal->families[f], &model->families[f])) {
            made->has[f] = true;
            coords += model->families[f].dim;
            families++;
        }
    tc_expr *roots = TC_NEW(arena, tc_expr, coords);
    made->ranges = TC_NEW(arena, tc_coord_range, families);
    made->places = TC_NEW(arena, size_t, coords);
    made->curvatures = TC_NEW(arena, double, coords);
    made->stretch = TC_NEW(arena, double, coords);
    made->lower = TC_NEW(arena, double, coords);
    made->upper = TC_NEW(arena, double, coords);
    for (size_t f = 0; f < model->family_count; f++)
        if (made->has[f])
            add_family(&proximal->families[f].at[0], made, roots);
    made->gradient = tc_program_new(arena, model, roots, made->root_count);
    made->works = TC_NEW(arena, struct tc_formula_work, proximal->agents->workers);
    for (size_t w = 0; w < proximal->agents->workers; w++) {
        made->works[w] = (struct tc_formula_work){.program = TC_NEW(arena, double, tc_program_work(made->gradient)),
                                                  .values = TC_NEW(arena, double, made->root_count),
                                                  .slopes = TC_NEW(arena, double, coords),
                                                  .points = TC_NEW(arena, double, coords)};
        tc_program_prepare(made->gradient, made->works[w].program);
    }
    return made;
}

bool tc_proximal_has_formula(const tc_proximal_formulas *formulas, size_t family) { return formulas->has[family]; }

/* v = x - ((gradient + p) + regularization x) / (curvature + weight), and bounds, as rows.c and tc_agents_row. */
static bool step_range(const tc_proximal_formulas *f, tc_coord_range range, const double *slopes, const double *p,
                       tc_answer_scalars scalars, const double *x, double *restrict out) {
    const double *curvatures = f->curvatures + range.place, *lower = f->lower + range.place;
    const double *upper = f->upper + range.place, *g = slopes + range.place, *stretch = f->stretch + range.place;
    double inverse = 1 / scalars.step;
    uint64_t gathered = 0;
    for (size_t k = 0; k < range.count; k++) {
        double step = 1 / (curvatures[k] + (scalars.regularization + inverse * stretch[k]));
        double v = TC_STATE_UPDATE(x[k], g[k], p[k], step, scalars.regularization);
        double zero = v * 0; /* of some sign, or NaN where v is not finite: then bits besides the sign are set */
        uint64_t bits;
        memcpy(&bits, &zero, sizeof bits);
        gathered |= bits;
        out[k] = tc_proximal_bounded(v, lower[k], upper[k]);
    }
    return gathered << 1 == 0;
}

bool tc_proximal_formulas_step(const tc_proximal_formulas *formulas, size_t worker, const double *p,
                               tc_answer_scalars scalars, const double *x, double *next) {
    const struct tc_formula_work *work = &formulas->works[worker];
    bool is_finite = true;
    tc_program_eval(formulas->gradient, x, NULL, work->program, work->values);
    for (size_t i = 0; i < formulas->root_count; i++)
        work->slopes[formulas->places[i]] = work->values[i];
    for (size_t r = 0; r < formulas->range_count; r++) {
        tc_coord_range range = formulas->ranges[r];
        is_finite &= step_range(formulas, range, work->slopes, p + range.coord, scalars, x + range.coord,
                                work->points + range.place);
    }
    for (size_t r = 0; is_finite && r < formulas->range_count; r++)
        memcpy(next + formulas->ranges[r].coord, work->points + formulas->ranges[r].place,
               formulas->ranges[r].count * sizeof *next);
    return is_finite;
}
