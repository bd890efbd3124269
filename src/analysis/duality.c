/* Assumption 4: a Slater point with a certified margin. */
#include "analysis/duality.h"

#include "model/spread.h"
#include "solver/project/set.h"
#include "solver/search.h"

#include <string.h>

/* The least of -g_j(x) of the inequalities, rounded down; *worst the constraint that gives it. INFINITY without. A
 * constant row that holds need not hold strictly: it is affine, and its multiplier is 0. */
static double slater_margin(tc_streams *s, const double *x, size_t *worst) {
    size_t rows = s->model->constraint_count;
    *worst = 0;
    if (rows == 0)
        return INFINITY;
    tc_mark mark = tc_arena_mark(s->arena);
    tc_interval *g = TC_NEW(s->arena, tc_interval, rows);
    const bool *constant = tc_constant_rows(s->arena, s->model, s->derivatives);
    tc_constraint_values(s, x, g);
    double margin = INFINITY;
    for (size_t j = 0; j < rows; j++) {
        bool counts = !s->model->constraints[j].is_equality && !(constant[j] && g[j].hi <= 0);
        if (counts && -g[j].hi < margin) {
            margin = -g[j].hi;
            *worst = j;
        }
    }
    tc_arena_rewind(s->arena, mark);
    return margin;
}

enum { EXACT_STATES = 50000 };
#define MEMBERSHIP 1e-9 /* relative to the set's own size: projections reach 1e-12 */

/* ---- the declared point ---- */

/* How many over all ranks, and the first of them. */
static void share_outside(const tc_family *family, size_t *outside, size_t *first, size_t *piece) {
    size_t facts[2] = {*first, *piece}, rank = family->is_spread ? tc_first_rank(family, *outside > 0) : SIZE_MAX;
    *outside = tc_sum_known(family, *outside);
    if (rank == SIZE_MAX)
        return;
    tc_from_rank(family, rank, facts, sizeof facts);
    *first = facts[0];
    *piece = facts[1];
}

/* Members whose point, or the room around it, sticks out of the public box. room: NULL for the point alone. */
static size_t outside_box(const tc_duality *d, const tc_family *family, const double *room, size_t *first) {
    size_t outside = 0;
    for (size_t k = family->known_first; k < family->known_end; k++) {
        bool inside = true;
        for (size_t c = 0; c < family->dim; c++) {
            size_t coord = tc_coord_of(family, k, c);
            tc_interval range = tc_public_range(family, k, c);
            double x = d->declared[coord], r = room == NULL ? 0 : room[coord] * (1 - MEMBERSHIP);
            inside = inside && tc_contains(range, x - r) && tc_contains(range, x + r);
        }
        *first = !inside && outside == 0 ? k : *first;
        outside += !inside;
    }
    size_t piece = 0;
    share_outside(family, &outside, first, &piece);
    return outside;
}

static size_t outside_set(const tc_duality *d, const tc_family *family, const double *room, size_t *first,
                          size_t *piece) {
    size_t outside = 0;
    tc_mark mark = tc_arena_mark(d->arena);
    tc_set *set = tc_set_new(d->arena, family);
    double *x = TC_NEW(d->arena, double, family->dim + 1), *vertex = TC_NEW(d->arena, double, family->dim + 1);
    double *own = TC_NEW(d->arena, double, family->dim + 1);
    for (size_t k = family->known_first; k < family->known_end; k++) {
        tc_set_load(set, k);
        for (size_t c = 0; c < family->dim; c++) {
            x[c] = d->declared[tc_coord_of(family, k, c)];
            own[c] = room == NULL ? 0 : room[tc_coord_of(family, k, c)];
        }
        size_t broken = TC_NO_PIECE;
        if (!set->is_empty && tc_set_room_violation(set, x, own, vertex, &broken) <= MEMBERSHIP * tc_set_scale(set))
            continue;
        if (outside++ == 0) {
            *first = k;
            *piece = broken;
        }
    }
    tc_arena_rewind(d->arena, mark);
    share_outside(family, &outside, first, piece);
    return outside;
}

/* Whether the points of a family, or the room around them, lie where they must. */
static bool check_place(tc_duality *d, const tc_family *family, const double *room) {
    tc_analysis *a = d->analysis;
    size_t first = 0, piece = TC_NO_PIECE, outside = outside_box(d, family, room, &first);
    const char *what = "the public box";
    bool private = false;
    if (outside == 0 && family->piece_count > 0 && d->model->role != TC_ROLE_CLOUD) {
        outside = outside_set(d, family, room, &first, &piece);
        what = "its own set";
        private = true;
    }
    if (outside == 0)
        return true;
    d->declared_sound = false;
    const char *text = tc_arena_format(
        d->arena, "The %sdeclared Slater point of %s%s %s %s.", room == NULL ? "" : "room around the ",
        tc_who(d->arena, family, first, false),
        outside > 1 ? tc_arena_format(d->arena, " (and %zu other%s)", outside - 1, outside > 2 ? "s" : "") : "",
        room == NULL ? "lies outside" : "sticks out of", what);
    tc_find(d->arena, &a->slater, &d->model->source, TC_FAILS,
            piece != TC_NO_PIECE ? family->pieces[piece].span : family->span, "%s", text);
    if (!private && a->slater_facts.declared_fault == NULL)
        a->slater_facts.declared_fault = text;
    return false;
}

/* The declared point satisfies the equalities to rounding. */
static void check_equalities(tc_duality *d) {
    const tc_equalities *e = d->equalities;
    for (size_t k = 0; e != NULL && k < e->count; k++) {
        const tc_constraint *row = &d->model->constraints[e->row[k]];
        char error[32];
        if (tc_magnitude(e->error[k]) <= MEMBERSHIP * e->size[k])
            continue;
        d->declared_sound = false;
        const char *text = tc_arena_format(
            d->arena, "The declared Slater point does not satisfy equality %s: its sides differ by %s there.",
            row->name, tc_short_number(error, e->error[k].lo / 2 + e->error[k].hi / 2));
        tc_find(d->arena, &d->analysis->slater, &d->model->source, TC_FAILS, row->span, "%s", text);
        if (d->analysis->slater_facts.declared_fault == NULL)
            d->analysis->slater_facts.declared_fault = text;
    }
}

static void check_declared(tc_duality *d) {
    tc_analysis *a = d->analysis;
    d->declared_sound = true;
    for (size_t f = 0; f < d->model->family_count; f++)
        if (check_place(d, &d->model->families[f], NULL) && d->room != NULL)
            (void)check_place(d, &d->model->families[f], d->room);
    check_equalities(d);
    size_t worst;
    a->slater_facts.declared = true;
    a->slater_facts.declared_margin = tc_without_sign(slater_margin(d->streams, d->declared, &worst));
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

static void take_point(tc_duality *d, double *point, tc_point_origin origin) {
    tc_slater_facts *facts = &d->analysis->slater_facts;
    facts->origin = origin;
    facts->point = point;
    facts->margin = tc_without_sign(slater_margin(d->streams, point, &facts->worst));
    if (d->equalities == NULL)
        return;
    tc_mark mark = tc_arena_mark(d->arena);
    tc_interval *g = TC_NEW(d->arena, tc_interval, d->model->constraint_count);
    tc_constraint_values(d->streams, point, g);
    facts->missed = 0;
    for (size_t k = 0; k < d->equalities->count; k++)
        facts->missed = fmax(facts->missed, tc_magnitude(g[d->equalities->row[k]]));
    tc_arena_rewind(d->arena, mark);
}

/* "a and b", "a, b and c", of marked constraints. */
static const char *list_constraints(tc_arena *arena, const tc_model *model, const bool *marked, size_t *count) {
    enum { LISTED = 20 };
    tc_buffer out = tc_buffer_new(arena, 1 << 14);
    size_t said = 0;
    *count = 0;
    for (size_t j = 0; j < model->constraint_count; j++)
        *count += marked[j];
    for (size_t j = 0; j < model->constraint_count && said < LISTED; j++)
        if (marked[j]) {
            tc_buffer_printf(&out, "%s%s",
                             said == 0            ? ""
                             : said + 1 == *count ? " and "
                                                  : ", ",
                             model->constraints[j].name);
            said++;
        }
    if (*count > LISTED)
        tc_buffer_printf(&out, " and %zu others", *count - LISTED);
    return tc_buffer_text(&out);
}

/* No point of X satisfies these constraints, even without strictness. */
static void report_conflict(tc_duality *d, const tc_slater *found) {
    char miss[32];
    size_t count;
    const tc_constraint *worst = &d->model->constraints[found->worst];
    const char *names = list_constraints(d->arena, d->model, found->conflict, &count);
    d->refuted = true;
    d->analysis->slater_facts.conflict = tc_arena_format(
        d->arena, "No point of X satisfies constraint%s %s%s: at the nearest one %s is missed by %s.",
        count > 1 ? "s" : "", names, count > 1 ? " together" : "", worst->name, tc_short_number(miss, found->missed));
    tc_find(d->arena, &d->analysis->slater, &d->model->source, TC_FAILS, worst->span, "%s",
            d->analysis->slater_facts.conflict);
}

static void report_missing(tc_duality *d, const tc_slater *found) {
    tc_analysis *a = d->analysis;
    if (found->is_shown) {
        report_conflict(d, found);
        return;
    }
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

/* Equalities ask for a point inside the sets, or nothing bounds their multipliers. */
static void check_inner(tc_duality *d) {
    size_t n = d->model->state_count;
    if (d->room != NULL && d->declared_sound)
        return;
    tc_mark mark = tc_arena_mark(d->arena);
    double *x = TC_NEW(d->arena, double, n), least = INFINITY;
    const tc_family *tightest = NULL;
    size_t member = 0;
    if (n <= EXACT_STATES) {
        if (!tc_inner_point(d->arena, d->model, d->derivatives, d->monitor, x)) /* then this one is at the edge */
            memcpy(x, d->analysis->slater_facts.point, n * sizeof *x);
        for (size_t f = 0; f < d->model->family_count; f++) {
            const tc_family *family = &d->model->families[f];
            tc_set *set = tc_set_new(d->arena, family);
            for (size_t k = 0; k < family->count; k++) {
                tc_set_load(set, k);
                for (size_t c = 0; c < family->dim; c++) {
                    double at = x[tc_coord_of(family, k, c)], width = set->upper[c] - set->lower[c];
                    double room = fmin(at - set->lower[c], set->upper[c] - at) / width;
                    if (width > 0 && room < least) {
                        least = room;
                        tightest = family;
                        member = k;
                    }
                }
            }
        }
    }
    bool none = least < 1e-7;
    tc_arena_rewind(d->arena, mark);
    if (none)
        tc_find(d->arena, &d->analysis->slater, &d->model->source, TC_FAILS, tightest->span,
                "The equalities leave no room: wherever they hold, %s is at the edge of its set. Nothing bounds their "
                "multipliers then; wider sets would help.",
                tc_who(d->arena, tightest, member, false));
}

static void search_point(tc_duality *d) {
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
    if (found->is_shown) /* whatever the inequalities alone say there */
        a->slater_facts.margin = -found->missed;
    if (!(a->slater_facts.margin > 0) || found->margin == -INFINITY)
        report_missing(d, found);
    else if (d->equalities != NULL)
        check_inner(d);
}

/* In one sentence, what the findings say one by one. */
static void summarise(tc_duality *d) {
    tc_analysis *a = d->analysis;
    if (a->slater.verdict != TC_FAILS)
        return;
    if (d->refuted && d->equalities != NULL && d->equalities->contradicted < d->equalities->count)
        a->slater.summary = "the equalities contradict each other";
    else if (d->refuted)
        a->slater.summary = "no point satisfies every constraint strictly";
    else if (d->declared == NULL)
        a->slater.summary = "the equalities leave no room inside the sets";
    else if (a->slater_facts.margin > 0)
        a->slater.summary = "a point satisfies every constraint strictly, but the declared one is not a Slater point";
    else
        a->slater.summary = "the declared point is not a Slater point";
}

/* What the constraints alone tell: rows that contradict each other do so whatever the sets are. */
static void find_equalities(tc_duality *d) {
    if (d->model->role == TC_ROLE_AGENT)
        return;
    double *x = d->declared;
    if (x == NULL) {
        x = TC_NEW(d->arena, double, d->model->state_count + 1);
        tc_fill_middle(d->model, x);
    }
    tc_equalities *e = d->equalities = tc_equalities_new(d->arena, d->streams, x);
    if (e == NULL)
        return;
    d->analysis->slater_facts.equalities = e->count;
    d->analysis->slater_facts.independent = e->rank;
    if (e->contradicted == e->count)
        return;
    d->analysis->slater_facts.contradiction = tc_arena_format(
        d->arena, "The equalities %s contradict each other: no point satisfies them together, whatever the sets are.",
        tc_equalities_conflict(d->arena, d->model, e));
    tc_find(d->arena, &d->analysis->slater, &d->model->source, TC_FAILS,
            d->model->constraints[e->row[e->contradicted]].span, "%s", d->analysis->slater_facts.contradiction);
    d->refuted = true;
}

/* What is printed of the point: the first members of each family, whom the rank that prints may not know. */
static void share_first_members(tc_duality *d) {
    tc_slater_facts *facts = &d->analysis->slater_facts;
    double *widths = NULL;
    for (size_t f = 0; f < d->model->family_count; f++) {
        const tc_family *family = &d->model->families[f];
        if (!family->is_spread)
            continue;
        widths = widths != NULL ? widths : TC_NEW(d->arena, double, d->model->state_count + 1);
        tc_mark mark = tc_arena_mark(d->arena);
        double *own = TC_NEW(d->arena, double, 2 * family->dim);
        for (size_t k = 0; k < TC_FIRST_MEMBERS && k < family->count; k++) {
            for (size_t c = 0; c < family->dim && tc_is_known(family, k); c++) {
                tc_interval range = tc_public_range(family, k, c);
                own[c] = facts->point[tc_coord_of(family, k, c)];
                own[family->dim + c] = range.hi - range.lo;
            }
            tc_from_member(family, k, own, 2 * family->dim * sizeof *own);
            for (size_t c = 0; c < family->dim; c++) {
                facts->point[tc_coord_of(family, k, c)] = own[c];
                widths[tc_coord_of(family, k, c)] = own[family->dim + c];
            }
        }
        tc_arena_rewind(d->arena, mark);
    }
    facts->widths = widths;
}

/* paper: Assumption 4 */
void tc_judge_slater(tc_analysis *a, tc_arena *arena, tc_streams *streams, const tc_derivatives *derivatives,
                     bool skip_private, size_t threads, const tc_monitor *monitor) {
    const tc_model *model = a->model;
    tc_duality d = {.analysis = a,
                    .arena = arena,
                    .streams = streams,
                    .model = model,
                    .derivatives = derivatives,
                    .monitor = monitor,
                    .threads = threads,
                    .reach = INFINITY};
    a->slater_facts = (tc_slater_facts){.margin = NAN, .declared_margin = NAN};
    a->dual_radius = (tc_dual_radius){.value = NAN, .public_value = NAN, .from_gaps = NAN, .from_data = NAN};
    a->minimum_lower = a->minimum_upper = NAN;
    d.declared = tc_declared_point(arena, model);
    d.room = d.declared == NULL ? NULL : tc_declared_room(arena, model);
    a->slater_facts.has_room = d.room != NULL;
    find_equalities(&d);
    if (d.declared != NULL)
        check_declared(&d);
    bool judged = a->constraints.verdict == TC_HOLDS || a->constraints.verdict == TC_UNPROVED;
    if (model->role == TC_ROLE_WHOLE && !skip_private && a->sets.verdict == TC_HOLDS && judged && !d.refuted)
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
    if (a->slater_facts.point != NULL)
        share_first_members(&d);
    tc_find_radius(&d, model->role != TC_ROLE_CLOUD && !skip_private);
}
