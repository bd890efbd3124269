/* Assumption 4: a Slater point with a certified margin, and the dual radius R that follows from it. */
#include "analysis/steps.h"

#include "solver/project/set.h"
#include "solver/search.h"

#include <string.h>

/* The least of -g_j(x), rounded down; *worst the constraint that gives it. INFINITY without constraints. */
static double slater_margin(tc_streams *s, const double *x, size_t *worst) {
    size_t rows = s->model->constraint_count;
    *worst = 0;
    if (rows == 0)
        return INFINITY;
    tc_mark mark = tc_arena_mark(s->arena);
    tc_interval *g = TC_NEW(s->arena, tc_interval, rows);
    tc_constraint_values(s, x, g);
    double margin = -g[0].hi;
    for (size_t j = 1; j < rows; j++) {
        if (-g[j].hi < margin) {
            margin = -g[j].hi;
            *worst = j;
        }
    }
    tc_arena_rewind(s->arena, mark);
    return margin;
}

/* f_i(x_i) of members first .. first + lanes - 1 of a family. */
typedef struct objective_values {
    const tc_family *family;
    tc_tape *tape;
    tc_batch *batch;
    tc_interval *work, *values;
} objective_values;

static objective_values *objective_values_new(tc_arena *arena, const tc_model *model, const tc_family *family) {
    objective_values *o = TC_NEW(arena, objective_values, 1);
    o->family = family;
    o->tape = tc_tape_new(arena, model->dag, &family->objective, 1);
    o->batch = tc_batch_new(arena, family);
    o->work = TC_NEW(arena, tc_interval, tc_tape_work(o->tape));
    o->values = TC_NEW(arena, tc_interval, TC_LANES);
    return o;
}

static const tc_interval *objective_values_at(objective_values *o, size_t first, size_t lanes, const double *x) {
    o->batch->lanes = lanes;
    for (size_t l = 0; l < lanes; l++)
        o->batch->members[l] = first + l;
    tc_batch_load_data(o->batch);
    tc_batch_load_point(o->batch, x);
    tc_interval *out = o->values;
    tc_tape_enclose(o->tape, &o->batch->inputs, lanes, o->work, &out);
    return o->values;
}

enum { EXACT_STATES = 50000, NAMED = 3 };
#define MEMBERSHIP 1e-9 /* relative to the set's own size: projections reach 1e-12 */

typedef struct duality {
    tc_analysis *analysis;
    tc_arena *arena;
    tc_streams *streams;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_monitor *monitor;
    double *declared;    /* the file's Slater point, or NULL */
    bool declared_sound; /* it lies in the box, and in the sets where they are known, and satisfies g strictly */
    bool refuted;        /* no point does */
    double *minima;      /* of f_i by agent, or NULL */
} duality;

/* ---- the declared point ---- */

/* Directed rounding may give -0. */
static double without_sign(double value) { return value == 0 ? 0 : value; }

static void load_declared(duality *d) {
    size_t with = 0;
    for (size_t f = 0; f < d->model->family_count; f++)
        with += d->model->families[f].has_slater;
    if (with == 0 || with < d->model->family_count)
        return;
    d->declared = TC_NEW(d->arena, double, d->model->state_count + 1);
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            for (size_t k = 0; k < family->count; k++)
                d->declared[tc_coord_of(family, k, c)] = tc_coef_at(family->slater[c], k);
        }
    }
}

static size_t outside_box(const duality *d, const tc_family *family, size_t *first) {
    size_t outside = 0;
    for (size_t k = 0; k < family->count; k++) {
        bool inside = true;
        for (size_t c = 0; c < family->dim; c++)
            inside = inside && tc_contains(tc_public_range(family, k, c), d->declared[tc_coord_of(family, k, c)]);
        *first = !inside && outside == 0 ? k : *first;
        outside += !inside;
    }
    return outside;
}

static size_t outside_set(const duality *d, const tc_family *family, size_t *first, size_t *piece) {
    size_t outside = 0;
    tc_mark mark = tc_arena_mark(d->arena);
    tc_set *set = tc_set_new(d->arena, family);
    double *x = TC_NEW(d->arena, double, family->dim + 1);
    for (size_t k = 0; k < family->count; k++) {
        tc_set_load(set, k);
        for (size_t c = 0; c < family->dim; c++)
            x[c] = d->declared[tc_coord_of(family, k, c)];
        size_t broken = TC_NO_PIECE;
        if (!set->is_empty && tc_set_violation(set, x, &broken) <= MEMBERSHIP * tc_set_scale(set))
            continue;
        if (outside++ == 0) {
            *first = k;
            *piece = broken;
        }
    }
    tc_arena_rewind(d->arena, mark);
    return outside;
}

static void check_declared(duality *d) {
    tc_analysis *a = d->analysis;
    d->declared_sound = true;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        size_t first = 0, piece = TC_NO_PIECE, outside = outside_box(d, family, &first);
        const char *what = "the public box";
        bool private = false;
        if (outside == 0 && family->piece_count > 0 && d->model->role != TC_ROLE_CLOUD) {
            outside = outside_set(d, family, &first, &piece);
            what = "its own set";
            private = true;
        }
        if (outside == 0)
            continue;
        d->declared_sound = false;
        const char *text = tc_arena_format(
            d->arena, "The declared Slater point of %s%s lies outside %s.", tc_who(d->arena, family, first, false),
            outside > 1 ? tc_arena_format(d->arena, " (and %zu other%s)", outside - 1, outside > 2 ? "s" : "") : "",
            what);
        tc_find(d->arena, &a->slater, &d->model->source, TC_FAILS,
                piece != TC_NO_PIECE ? family->pieces[piece].span : family->span, "%s", text);
        if (!private && a->slater_facts.declared_fault == NULL)
            a->slater_facts.declared_fault = text;
    }
    size_t worst;
    a->slater_facts.declared = true;
    a->slater_facts.declared_margin = without_sign(slater_margin(d->streams, d->declared, &worst));
    if (d->model->role == TC_ROLE_AGENT || a->slater_facts.declared_margin > 0)
        return;
    d->declared_sound = false;
    char margin[32];
    const char *text =
        tc_arena_format(d->arena, "The declared Slater point does not satisfy constraint %s strictly: g = %s there.",
                        d->model->constraints[worst].name, tc_short_number(margin, -a->slater_facts.declared_margin));
    tc_find(d->arena, &a->slater, &d->model->source, TC_FAILS, d->model->constraints[worst].span, "%s", text);
    if (a->slater_facts.declared_fault == NULL)
        a->slater_facts.declared_fault = text;
}

/* ---- the search ---- */

static void take_point(duality *d, const double *point, tc_point_origin origin) {
    tc_slater_facts *facts = &d->analysis->slater_facts;
    facts->origin = origin;
    facts->point = point;
    facts->margin = without_sign(slater_margin(d->streams, point, &facts->worst));
}

static void report_missing(duality *d, const tc_slater *found) {
    tc_analysis *a = d->analysis;
    char margin[32];
    d->refuted = found->outcome == TC_SLATER_EMPTY_SET || found->outcome == TC_SLATER_NONE;
    if (found->outcome == TC_SLATER_EMPTY_SET) {
        const tc_family *family = tc_family_of_agent(d->model, found->empty_agent);
        tc_find(d->arena, &a->slater, &d->model->source, TC_FAILS, (tc_span){0, 0},
                "There is no Slater point, since the set of %s is empty.",
                tc_who(d->arena, family, found->empty_agent - family->first_agent, false));
        return;
    }
    size_t worst = a->slater_facts.worst;
    tc_find(d->arena, &a->slater, &d->model->source, found->outcome == TC_SLATER_NONE ? TC_FAILS : TC_UNPROVED,
            d->model->constraints[worst].span, "%s Constraint %s decides: at the best point found g = %s. %s",
            found->outcome == TC_SLATER_NONE          ? "No point of X satisfies all constraints strictly."
            : found->outcome == TC_SLATER_INTERRUPTED ? "The search was interrupted."
                                                      : "The search ended without a strictly feasible point.",
            d->model->constraints[worst].name, tc_short_number(margin, -a->slater_facts.margin),
            "Loosening it, or the sets, would help.");
}

static void search_point(duality *d) {
    tc_analysis *a = d->analysis;
    tc_progress(d->monitor, "Slater point", 0);
    const tc_slater *found = tc_slater_search(d->arena, d->model, d->derivatives, EXACT_STATES, d->monitor);
    /* The search projects the declared point onto the sets. If that moves it, it is another point. */
    if (found->point != NULL && found->is_declared && d->declared_sound)
        take_point(d, d->declared, TC_POINT_DECLARED);
    else if (found->point != NULL)
        take_point(d, found->point, TC_POINT_FOUND);
    if (d->declared_sound && a->slater_facts.declared_margin > 0 && !(a->slater_facts.margin > 0))
        take_point(d, d->declared, TC_POINT_DECLARED);
    if (!(a->slater_facts.margin > 0))
        report_missing(d, found);
}

/* ---- minima and the dual radius ---- */

static bool find_minima(duality *d) {
    tc_analysis *a = d->analysis;
    if (a->objectives.verdict != TC_HOLDS || a->sets.verdict != TC_HOLDS || tc_interrupted(d->monitor))
        return false;
    d->minima = TC_NEW(d->arena, double, d->model->agent_count + 1);
    double sum = 0, error = 0;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        tc_minimum m = tc_minimum_of_family(d->arena, d->model, d->derivatives, family, d->monitor,
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

/* R = (f(x) - min f) / margin, rounded up; warns of gaps that are smaller than f_i(x_i) - min f_i when asked to. */
static double radius_at(duality *d, const double *x, double margin, bool check_gaps) {
    double total = 0;
    size_t named = 0, small = 0;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        objective_values *values = objective_values_new(d->arena, d->model, family);
        for (size_t first = 0; first < family->count; first += TC_LANES) {
            size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
            const tc_interval *at = objective_values_at(values, first, lanes, x);
            for (size_t l = 0; l < lanes; l++) {
                double minimum = d->minima[family->first_agent + first + l];
                double slack = 1e-9 * (1 + fabs(minimum));
                double least = at[l].lo - minimum;
                total = tc_add_up(total, fmax(0, tc_add_up(at[l].hi, -minimum)));
                if (!check_gaps || !family->has_gap || !(tc_coef_at(family->gap, first + l) < least - slack))
                    continue;
                small++;
                if (named++ < NAMED)
                    tc_warn(d->analysis, d->arena,
                            tc_arena_format(d->arena, "The gap %g of %s is too small: f_i(xbar) - min f_i is %.6g.",
                                            tc_coef_at(family->gap, first + l),
                                            tc_who(d->arena, family, first + l, false), least));
            }
        }
    }
    if (small > NAMED)
        tc_warn(
            d->analysis, d->arena,
            tc_arena_format(d->arena, "%zu more gap%s too small.", small - NAMED, small - NAMED > 1 ? "s are" : " is"));
    double slack = d->analysis->minimum_upper - d->analysis->minimum_lower;
    return margin > 0 && isfinite(margin) ? without_sign(tc_div_up(tc_add_up(total, slack), margin)) : (double)NAN;
}

static double sum_of_gaps(const duality *d) {
    double sum = 0;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        if (!family->has_gap)
            return NAN;
        for (size_t k = 0; k < family->count; k++)
            sum = tc_add_up(sum, tc_coef_at(family->gap, k));
    }
    return sum;
}

/* paper: the set M
 * R = (f(xbar) - min f) / min_j -g_j(xbar), from public gaps or from private minima. */
static void find_radius(duality *d, bool has_minima) {
    tc_dual_radius *r = &d->analysis->dual_radius;
    const tc_slater_facts *facts = &d->analysis->slater_facts;
    bool use_declared = d->declared != NULL && d->declared_sound && facts->declared_margin > 0;
    double gaps = sum_of_gaps(d);
    if (use_declared && gaps >= 0 && d->model->constraint_count > 0)
        r->from_gaps = without_sign(tc_div_up(gaps, facts->declared_margin));
    if (has_minima && d->declared != NULL)
        r->from_data = radius_at(d, d->declared, use_declared ? facts->declared_margin : 0, true);
    if (has_minima && facts->point != NULL && facts->point != d->declared && facts->margin > 0 &&
        d->model->constraint_count > 0) {
        double here = radius_at(d, facts->point, facts->margin, false);
        r->from_data = here < r->from_data || isnan(r->from_data) ? here : r->from_data;
    }
    r->public_value = isnan(d->model->dual_radius) ? r->from_gaps : d->model->dual_radius;
    r->origin = !isnan(d->model->dual_radius) ? TC_RADIUS_GIVEN
                : !isnan(r->from_gaps)        ? TC_RADIUS_GAPS
                : !isnan(r->from_data)        ? TC_RADIUS_PRIVATE
                                              : TC_RADIUS_NONE;
    r->value = r->origin == TC_RADIUS_PRIVATE ? r->from_data : r->public_value;
    r->public_too_small = r->public_value < r->from_data * (1 - 1e-6); /* minima are known to about 1e-9 */
}

/* In one sentence, what the findings say one by one. */
static void summarise(duality *d) {
    tc_analysis *a = d->analysis;
    if (a->slater.verdict != TC_FAILS)
        return;
    if (d->refuted)
        a->slater.summary = "no point satisfies every constraint strictly";
    else if (a->slater_facts.margin > 0)
        a->slater.summary = "a point satisfies every constraint strictly, but the declared one is not a Slater point";
    else
        a->slater.summary = "the declared point is not a Slater point";
}

/* paper: Assumption 4 */
void tc_judge_slater(tc_analysis *a, tc_arena *arena, tc_streams *streams, const tc_derivatives *derivatives,
                     bool skip_private, const tc_monitor *monitor) {
    const tc_model *model = a->model;
    duality d = {.analysis = a,
                 .arena = arena,
                 .streams = streams,
                 .model = model,
                 .derivatives = derivatives,
                 .monitor = monitor};
    a->slater_facts = (tc_slater_facts){.margin = NAN, .declared_margin = NAN};
    a->dual_radius = (tc_dual_radius){.value = NAN, .public_value = NAN, .from_gaps = NAN, .from_data = NAN};
    a->minimum_lower = a->minimum_upper = NAN;
    load_declared(&d);
    if (d.declared != NULL)
        check_declared(&d);
    bool judged = a->constraints.verdict == TC_HOLDS || a->constraints.verdict == TC_UNPROVED;
    if (model->role == TC_ROLE_WHOLE && !skip_private && a->sets.verdict == TC_HOLDS && judged)
        search_point(&d);
    else if (d.declared != NULL && d.declared_sound && model->role != TC_ROLE_AGENT)
        take_point(&d, d.declared, TC_POINT_DECLARED);
    else if (model->role == TC_ROLE_WHOLE && a->slater.verdict == TC_HOLDS)
        tc_find(arena, &a->slater, &model->source, TC_UNPROVED, (tc_span){0, 0},
                skip_private ? "The search for a point was skipped on request."
                             : "No point was searched for, since Assumption 2 or 3 does not hold.");
    if (model->role != TC_ROLE_WHOLE && a->slater.verdict == TC_HOLDS && a->slater_facts.origin != TC_POINT_DECLARED)
        a->slater.verdict = TC_ELSEWHERE;
    summarise(&d);
    bool has_minima = model->role != TC_ROLE_CLOUD && !skip_private && find_minima(&d);
    find_radius(&d, has_minima);
}
