/* The dual radius R, from public gaps or from private minima. */
#include "analysis/duality.h"

#include "analysis/values.h"
#include "model/spread.h"
#include "solver/project/set.h"
#include "solver/search.h"

enum { NAMED = 3 };

double *tc_declared_point(tc_arena *arena, const tc_model *model) {
    size_t with = 0;
    for (size_t f = 0; f < model->family_count; f++)
        with += model->families[f].has_slater;
    if (with == 0 || with < model->family_count)
        return NULL;
    double *x = TC_NEW(arena, double, model->state_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++)
                x[tc_coord_of(family, k, c)] = tc_coef_at(family->slater[c], k);
    }
    return x;
}

double *tc_declared_room(tc_arena *arena, const tc_model *model) {
    double *room = TC_NEW(arena, double, model->state_count + 1);
    bool any = false;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++) {
                double r = room[tc_coord_of(family, k, c)] = tc_coef_at(family->room[c], k);
                any = any || r > 0;
            }
        any = tc_for_some(family, any);
    }
    return any ? room : NULL;
}

static bool find_minima(tc_duality *d) {
    tc_analysis *a = d->analysis;
    if (a->objectives.verdict != TC_HOLDS || a->sets.verdict != TC_HOLDS || tc_interrupted(d->monitor))
        return false;
    d->minima = TC_NEW(d->arena, double, d->model->agent_count + 1);
    double sum = 0, error = 0;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        tc_minimum m = tc_minimum_of_family(d->arena, d->model, d->derivatives, family, d->threads, d->monitor,
                                            d->minima + family->first_agent, NULL);
        if (m.interrupted)
            return false;
        sum += m.sum;
        error += fabs(m.error) + 1e-15 * fabs(m.sum) * (double)family->count;
    }
    a->minimum_upper = sum;
    a->minimum_lower = sum - error;
    return true;
}

static double sum_of_gaps(const tc_model *model) {
    double sum = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (!family->has_gap)
            return NAN;
        tc_fold_begin(family, &sum, sizeof sum);
        for (size_t k = family->known_first; k < family->known_end; k++)
            sum = tc_add_up(sum, tc_coef_at(family->gap, k));
        tc_fold_end(family, &sum, sizeof sum);
    }
    return sum;
}

/* ---- what f_i(x_i) - min f_i comes to ---- */

typedef struct gap_check {
    size_t small, named; /* gaps that are too small, and how many of them were named */
} gap_check;

/* Terms of a sum over members, one after another: first those of all ranks are computed, then they are added up. */
static double add_terms(const tc_family *family, double total, const double *terms) {
    tc_fold_begin(family, &total, sizeof total);
    for (size_t k = family->known_first; k < family->known_end; k++)
        total = tc_add_up(total, terms[k - family->known_first]);
    tc_fold_end(family, &total, sizeof total);
    return total;
}

static double *new_terms(tc_arena *arena, const tc_family *family) {
    return TC_NEW(arena, double, family->known_end - family->known_first + 1);
}

typedef struct small_gap {
    size_t member;
    double gap, least;
    bool in_room;
} small_gap;

typedef struct gap_warnings { /* of one family */
    size_t count;
    small_gap first[NAMED];
} gap_warnings;

static void note_gap(gap_warnings *warnings, const tc_family *family, size_t member, double least, bool in_room) {
    if (warnings->count < NAMED)
        warnings->first[warnings->count] = (small_gap){member, tc_coef_at(family->gap, member), least, in_room};
    warnings->count++;
}

/* Of all ranks, in order of members. */
static void warn_of_gaps(tc_duality *d, gap_check *check, const tc_family *family, const gap_warnings *here) {
    gap_warnings all = {.count = 0};
    if (check == NULL)
        return;
    tc_fold_begin(family, &all, sizeof all);
    for (size_t i = 0; i < here->count && i < NAMED && all.count + i < NAMED; i++)
        all.first[all.count + i] = here->first[i];
    all.count += here->count;
    tc_fold_end(family, &all, sizeof all);
    for (size_t i = 0; i < all.count && i < NAMED && check->named + i < NAMED; i++) {
        const small_gap *gap = &all.first[i];
        tc_warn(d->analysis, d->arena,
                tc_arena_format(d->arena,
                                gap->in_room
                                    ? "The gap %g of %s does not cover the room around its Slater point: f_i - min f_i "
                                      "reaches %.6g there."
                                    : "The gap %g of %s is too small: f_i(xbar) - min f_i is %.6g.",
                                gap->gap, tc_who(d->arena, family, gap->member, false), gap->least));
    }
    check->small += all.count;
    check->named += all.count;
}

/* The sum over agents of f_i(x_i) - min f_i, rounded up. check: NULL, or warns of gaps that are smaller. */
static double gap_at(tc_duality *d, const double *x, gap_check *check) {
    double total = 0;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        tc_mark mark = tc_arena_mark(d->arena);
        double *terms = new_terms(d->arena, family);
        gap_warnings warnings = {.count = 0};
        tc_objective_values *values = tc_objective_values_new(d->arena, d->model, family);
        for (size_t first = family->known_first; first < family->known_end; first += TC_LANES) {
            size_t left = family->known_end - first, lanes = left < TC_LANES ? left : TC_LANES;
            const tc_interval *at = tc_objective_at(values, first, lanes, x);
            for (size_t l = 0; l < lanes; l++) {
                double minimum = d->minima[family->first_agent + first + l];
                double slack = 1e-9 * (1 + fabs(minimum));
                double least = at[l].lo - minimum;
                terms[first - family->known_first + l] = fmax(0, tc_add_up(at[l].hi, -minimum));
                if (check != NULL && family->has_gap && tc_coef_at(family->gap, first + l) < least - slack)
                    note_gap(&warnings, family, first + l, least, false);
            }
        }
        total = add_terms(family, total, terms);
        tc_arena_rewind(d->arena, mark);
        warn_of_gaps(d, check, family, &warnings);
    }
    return total;
}

/* The same for the largest f_i on the box x +- room, as far as it is attained; warns of gaps that cover x alone. */
static double gap_in_room(tc_duality *d, const double *x, const double *room, gap_check *check) {
    double total = 0, attained[TC_LANES];
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        tc_mark mark = tc_arena_mark(d->arena);
        double *terms = new_terms(d->arena, family);
        gap_warnings warnings = {.count = 0};
        tc_objective_values *values = tc_objective_values_new(d->arena, d->model, family);
        for (size_t first = family->known_first; first < family->known_end; first += TC_LANES) {
            size_t left = family->known_end - first, lanes = left < TC_LANES ? left : TC_LANES;
            const tc_interval *at = tc_objective_at(values, first, lanes, x);
            bool covers[TC_LANES];
            for (size_t l = 0; l < lanes; l++) {
                double minimum = d->minima[family->first_agent + first + l];
                covers[l] = family->has_gap &&
                            !(tc_coef_at(family->gap, first + l) < at[l].lo - minimum - 1e-9 * (1 + fabs(minimum)));
            }
            tc_objective_at_vertices(values, first, lanes, x, room, attained);
            for (size_t l = 0; l < lanes; l++) {
                double minimum = d->minima[family->first_agent + first + l], least = attained[l] - minimum;
                terms[first - family->known_first + l] = fmax(0, least);
                if (covers[l] && tc_coef_at(family->gap, first + l) < least - 1e-9 * (1 + fabs(minimum)))
                    note_gap(&warnings, family, first + l, least, true);
            }
        }
        total = add_terms(family, total, terms);
        tc_arena_rewind(d->arena, mark);
        warn_of_gaps(d, check, family, &warnings);
    }
    return total;
}

/* An upper bound on the box. */
static double gap_between(tc_duality *d, const double *lower, const double *upper) {
    double total = 0;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        tc_mark mark = tc_arena_mark(d->arena);
        double *terms = new_terms(d->arena, family);
        tc_objective_values *values = tc_objective_values_new(d->arena, d->model, family);
        for (size_t first = family->known_first; first < family->known_end; first += TC_LANES) {
            size_t left = family->known_end - first, lanes = left < TC_LANES ? left : TC_LANES;
            const tc_interval *on = tc_objective_between(values, first, lanes, lower, upper);
            for (size_t l = 0; l < lanes; l++)
                terms[first - family->known_first + l] =
                    fmax(0, tc_add_up(on[l].hi, -d->minima[family->first_agent + first + l]));
        }
        total = add_terms(family, total, terms);
        tc_arena_rewind(d->arena, mark);
    }
    return total;
}

static double slack_of_minima(const tc_duality *d) { return d->analysis->minimum_upper - d->analysis->minimum_lower; }

static void warn_of_more(tc_duality *d, const gap_check *check) {
    size_t more = check->small > NAMED ? check->small - NAMED : 0;
    d->analysis->small_gaps = check->small;
    if (more > 0)
        tc_warn(d->analysis, d->arena,
                tc_arena_format(d->arena, "%zu more gap%s too small.", more, more > 1 ? "s are" : " is"));
}

/* R = (f(x) - min f) / margin, rounded up. */
static double radius_at(tc_duality *d, const double *x, double margin, gap_check *check) {
    double total = gap_at(d, x, check);
    if (margin == INFINITY && d->model->constraint_count > 0)
        return 0; /* constant rows alone */
    return margin > 0 && isfinite(margin) ? tc_without_sign(tc_div_up(tc_add_up(total, slack_of_minima(d)), margin))
                                          : (double)NAN;
}

/* ---- with equalities ---- */

/* Why no radius follows, though every agent has a gap and a Slater point. */
static const char *explain_reach(tc_duality *d, size_t unreached) {
    const tc_equalities *e = d->equalities;
    if (e->contradicted < e->count)
        return tc_arena_format(d->arena, "The equalities %s contradict each other.",
                               tc_equalities_conflict(d->arena, d->model, e));
    if (e->is_unclear)
        return "Some equalities almost follow from others, so that no bound holds for their multipliers: write them so "
               "that they do, or leave them out.";
    if (unreached < e->count)
        return tc_arena_format(d->arena,
                               "No agent in equality %s has room around its Slater point: add `within r` to the slater "
                               "lines, or a line `dual radius R`.",
                               d->model->constraints[e->row[unreached]].name);
    return "The rooms around the Slater points do not bound the multipliers of all equalities: give more agents room "
           "(`within r`), or add a line `dual radius R`.";
}

/* A point inside the sets, and boxes around it that lie in them. The interior-point method needs all members at once:
 * where they are spread, every rank learns of all of them here, and finds the same point. */
static bool find_inner_room(tc_duality *d, double *x, double *room) {
    tc_mark before = tc_arena_mark(d->arena);
    bool found = tc_inner_point(d->arena, tc_whole_model(d->arena, d->model), d->derivatives, d->monitor, x);
    tc_arena_rewind(d->arena, before);
    for (size_t f = 0; found && f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        tc_mark mark = tc_arena_mark(d->arena);
        tc_set *set = tc_set_new(d->arena, family);
        double *own = TC_NEW(d->arena, double, family->dim), *around = TC_NEW(d->arena, double, family->dim);
        double *work = TC_NEW(d->arena, double, 2 * family->dim);
        for (size_t k = family->known_first; k < family->known_end; k++) {
            tc_set_load(set, k);
            for (size_t c = 0; c < family->dim; c++)
                own[c] = x[tc_coord_of(family, k, c)];
            tc_set_largest_room(set, own, around, work);
            for (size_t c = 0; c < family->dim; c++)
                room[tc_coord_of(family, k, c)] = around[c];
        }
        tc_arena_rewind(d->arena, mark);
    }
    return found;
}

static void scale_room(const tc_model *model, double factor, const double *room, double *smaller) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++)
                smaller[tc_coord_of(family, k, c)] = factor * room[tc_coord_of(family, k, c)];
    }
}

/* From private data: the best radius of some boxes around x, each half as wide as the one before. */
static double radius_around(tc_duality *d, const double *x, const double *room, double reach) {
    enum { BOXES = 6 };
    size_t n = d->model->state_count;
    tc_mark mark = tc_arena_mark(d->arena);
    double *smaller = TC_NEW(d->arena, double, n), *lower = TC_NEW(d->arena, double, n);
    double *upper = TC_NEW(d->arena, double, n), best = NAN, factor = 1;
    for (int box = 0; box < BOXES && !tc_interrupted(d->monitor); box++, factor /= 2) {
        scale_room(d->model, factor, room, smaller);
        tc_box_around(d->model, x, smaller, lower, upper);
        double gap = tc_add_up(gap_between(d, lower, upper), slack_of_minima(d));
        tc_roomy_point point = {.x = x, .room = smaller, .gap = gap};
        double here = tc_radius_of(d->arena, d->streams, &point, reach / factor);
        best = here < best || isnan(best) ? here : best;
    }
    tc_arena_rewind(d->arena, mark);
    return best;
}

/* paper: the set M
 * With equalities, from gaps that cover a room around the Slater point. docs/proofs/equalities.md */
static void radius_with_equalities(tc_duality *d, bool has_minima, double gaps) {
    tc_dual_radius *r = &d->analysis->dual_radius;
    tc_slater_facts *facts = &d->analysis->slater_facts;
    bool use_declared = d->declared != NULL && d->declared_sound && facts->declared_margin > 0;
    size_t n = d->model->state_count, unreached;
    double *nothing = TC_NEW(d->arena, double, n + 1);
    const double *room = d->room != NULL ? d->room : nothing;
    tc_roomy_point point = {.x = d->declared, .room = room, .gap = gaps};
    if (use_declared)
        d->reach = tc_reach_of(d->arena, d->streams, d->equalities, &point, &unreached);
    if (use_declared && gaps >= 0) {
        r->from_gaps = tc_without_sign(tc_radius_of(d->arena, d->streams, &point, d->reach));
        if (isnan(r->from_gaps) && facts->declared_fault == NULL)
            facts->declared_fault = explain_reach(d, unreached);
    }
    if (!has_minima || d->model->role != TC_ROLE_WHOLE)
        return;
    if (use_declared && d->room != NULL)
        r->from_data = radius_around(d, d->declared, room, d->reach);
    double *x = TC_NEW(d->arena, double, n + 1), *around = TC_NEW(d->arena, double, n + 1);
    if (!isnan(r->from_data) || d->refuted || !find_inner_room(d, x, around))
        return;
    point = (tc_roomy_point){.x = x, .room = around};
    double reach = tc_reach_of(d->arena, d->streams, d->equalities, &point, &unreached);
    r->from_data = radius_around(d, x, around, reach);
}

/* ---- all together ---- */

static void check_gaps(tc_duality *d, gap_check *check, double *called) {
    *called = NAN;
    if (d->room == NULL)
        return;
    double gap = tc_add_up(gap_in_room(d, d->declared, d->room, check), slack_of_minima(d));
    if (d->equalities == NULL || !d->declared_sound)
        return;
    tc_roomy_point point = {.x = d->declared, .room = d->room, .gap = gap};
    *called = tc_radius_of(d->arena, d->streams, &point, d->reach);
}

/* R = (f(xbar) - min f) / min_j -g_j(xbar), from public gaps or from private minima. */
static void radius_without_equalities(tc_duality *d, bool has_minima, double gaps, gap_check *check) {
    tc_dual_radius *r = &d->analysis->dual_radius;
    const tc_slater_facts *facts = &d->analysis->slater_facts;
    bool use_declared = d->declared != NULL && d->declared_sound && facts->declared_margin > 0;
    if (use_declared && gaps >= 0 && d->model->constraint_count > 0)
        r->from_gaps = tc_without_sign(tc_div_up(gaps, facts->declared_margin));
    if (has_minima && d->declared != NULL)
        r->from_data = radius_at(d, d->declared, use_declared ? facts->declared_margin : 0, check);
    if (has_minima && facts->point != NULL && facts->point != d->declared && facts->margin > 0 &&
        d->model->constraint_count > 0) {
        double here = radius_at(d, facts->point, facts->margin, NULL);
        r->from_data = here < r->from_data || isnan(r->from_data) ? here : r->from_data;
    }
}

/* paper: the set M */
void tc_find_radius(tc_duality *d, bool with_private) {
    tc_dual_radius *r = &d->analysis->dual_radius;
    bool has_minima = with_private && find_minima(d);
    double gaps = sum_of_gaps(d->model), called = NAN;
    gap_check check = {0};
    if (d->equalities == NULL) {
        radius_without_equalities(d, has_minima, gaps, &check);
    } else {
        if (has_minima && d->declared != NULL)
            (void)gap_at(d, d->declared, &check);
        radius_with_equalities(d, has_minima, gaps);
    }
    if (has_minima && d->declared != NULL)
        check_gaps(d, &check, &called);
    warn_of_more(d, &check);
    r->public_value = isnan(d->model->dual_radius) ? r->from_gaps : d->model->dual_radius;
    r->origin = !isnan(d->model->dual_radius) ? TC_RADIUS_GIVEN
                : !isnan(r->from_gaps)        ? TC_RADIUS_GAPS
                : !isnan(r->from_data)        ? TC_RADIUS_PRIVATE
                                              : TC_RADIUS_NONE;
    r->value = r->origin == TC_RADIUS_PRIVATE ? r->from_data : r->public_value;
    double needed = d->equalities == NULL ? r->from_data : called;
    r->public_too_small = r->public_value < needed * (1 - 1e-6); /* minima are known to about 1e-9 */
}

double tc_multiplier_bound(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const double *weights, const double *taken, const tc_monitor *monitor) {
    size_t unreached, m = model->constraint_count;
    tc_mark mark = tc_arena_mark(arena);
    double *x = tc_declared_point(arena, model), *room = tc_declared_room(arena, model);
    double gaps = sum_of_gaps(model), bound = NAN, least = INFINITY;
    if (x != NULL && gaps >= 0) {
        tc_streams *streams = tc_streams_new(arena, model, derivatives, monitor);
        tc_equalities *equalities = tc_equalities_new(arena, streams, x);
        if (room == NULL)
            room = TC_NEW(arena, double, model->state_count);
        tc_roomy_point point = {.x = x, .room = room, .gap = gaps, .weights = weights, .taken = taken};
        tc_interval *g = TC_NEW(arena, tc_interval, m);
        tc_constraint_values(streams, x, g);
        for (size_t j = 0; j < m; j++)
            least = fmin(least, tc_div_down(tc_add_down(-g[j].hi, taken == NULL ? 0 : -taken[j]),
                                            weights == NULL ? 1 : weights[j]));
        if (equalities != NULL) {
            double reach = tc_reach_of(arena, streams, equalities, &point, &unreached);
            bound = tc_radius_of(arena, streams, &point, reach);
        } else if (least > 0) {
            bound = tc_div_up(gaps, least);
        }
    }
    tc_arena_rewind(arena, mark);
    return bound;
}
