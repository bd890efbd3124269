/* The order of an analysis, how its steps report findings and warnings, and the shortest step: Assumption 2. */
#include "analysis/analysis.h"

#include "model/spread.h"
#include "analysis/region.h"
#include "analysis/steps.h"
#include "solver/project/set.h"

#include <stdio.h>
#include <string.h>

static int badness(tc_verdict verdict) {
    return verdict == TC_FAILS ? 3 : verdict == TC_UNPROVED ? 2 : verdict == TC_HOLDS ? 1 : 0;
}

void tc_find(tc_arena *arena, tc_assumption *assumption, const tc_source *source, tc_verdict verdict, tc_span span,
             const char *format, ...) {
    if (badness(verdict) > badness(assumption->verdict))
        assumption->verdict = verdict;
    if (assumption->finding_count == TC_MAX_FINDINGS) {
        assumption->findings_left_out++;
        return;
    }
    if (assumption->findings == NULL)
        assumption->findings = TC_NEW(arena, tc_finding, TC_MAX_FINDINGS);
    tc_finding *finding = &assumption->findings[assumption->finding_count++];
    finding->verdict = verdict;
    if (span.length > 0) {
        tc_buffer place = tc_buffer_new(arena, 4096), text = tc_buffer_new(arena, 4096);
        tc_span_place(&place, source, span);
        tc_span_text(&text, source, span);
        finding->place = tc_buffer_text(&place);
        finding->expression = tc_buffer_text(&text);
    }
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = TC_NEW(arena, char, (size_t)(length < 0 ? 0 : length) + 1);
    (void)vsnprintf(text, (size_t)(length < 0 ? 0 : length) + 1, format, again);
    va_end(again);
    finding->text = text;
}

void tc_component_name(tc_buffer *out, const tc_family *family, size_t component) {
    for (size_t v = 0; v < family->variable_count; v++) {
        const tc_variable *variable = &family->variables[v];
        if (component < variable->first || component >= variable->first + variable->length)
            continue;
        if (variable->is_scalar)
            tc_buffer_puts(out, variable->name);
        else
            tc_buffer_printf(out, "%s[%zu]", variable->name, component - variable->first + 1);
        return;
    }
    tc_buffer_printf(out, "component %zu", component + 1);
}

const char *tc_short_number(char text[32], double value) {
    (void)snprintf(text, 32, "%.6g", value == 0 ? 0 : value);
    return text;
}

const char *tc_who(tc_arena *arena, const tc_family *family, size_t member, bool whole) {
    if (whole)
        return family->name;
    tc_buffer name = tc_buffer_new(arena, 4096);
    tc_agent_name(&name, family, member);
    return tc_buffer_text(&name);
}

enum { MOST_WARNINGS = 40 };

void tc_warn(tc_analysis *a, tc_arena *arena, const char *text) {
    if (a->warnings == NULL)
        a->warnings = TC_NEW(arena, const char *, MOST_WARNINGS);
    if (a->warning_count == MOST_WARNINGS)
        a->warnings[MOST_WARNINGS - 1] = "There are more warnings than are shown.";
    else
        a->warnings[a->warning_count++] = text;
}

const char *tc_row_name(tc_arena *arena, const tc_analysis *a, const tc_agent_constants *row) {
    if (a->by_family && row->family->is_family)
        return tc_arena_format(arena, "%s[*]", row->family->name);
    return tc_who(arena, row->family, row->member, false);
}

static void compare_declared(tc_analysis *a, tc_arena *arena, const char *what, const tc_bracket *b, bool for_noise) {
    char declared[32], bound[32];
    if (!tc_declared(b))
        return;
    tc_shortest_number(declared, b->declared);
    if (tc_declared_too_small(b))
        tc_warn(a, arena,
                tc_arena_format(arena, "The declared %s = %s is too small%s: the true constant is at least %s.", what,
                                declared, for_noise ? " to be private" : "", tc_short_number(bound, b->lower)));
    else if (tc_declared_uncertified(b))
        tc_warn(a, arena,
                tc_arena_format(arena, "The declared %s = %s is not certified: the proved bound is %s.", what, declared,
                                (tc_shortest_number(bound, b->upper), bound)));
}

static void collect_warnings(tc_analysis *a, tc_arena *arena) {
    compare_declared(a, arena, "K^g_1", &a->g[0], true);
    compare_declared(a, arena, "K^g_2", &a->g[1], true);
    for (size_t r = 0; r < a->agent_rows; r++) {
        const tc_agent_constants *row = &a->agents[r];
        const char *name = tc_row_name(arena, a, row);
        compare_declared(a, arena, tc_arena_format(arena, "K^i_1 of %s", name), &row->jacobian[0], true);
        compare_declared(a, arena, tc_arena_format(arena, "K^i_2 of %s", name), &row->jacobian[1], true);
        compare_declared(a, arena, tc_arena_format(arena, "L_i of %s", name), &row->objective, false);
    }
    if (a->model->constraint_count > 0 && !(isfinite(a->g[0].upper) && isfinite(a->g[1].upper)))
        tc_warn(a, arena, "The constraints have no finite Lipschitz constant on the box: nothing can be made private.");
    if (a->dual_radius.public_too_small)
        tc_warn(a, arena,
                "The public dual radius is smaller than the private data require: the multipliers of the "
                "solution may lie outside M.");
}

/* ---- Assumption 2: the sets X_i ---- */

enum { NAMED = 3 }; /* members named per family; the rest are counted */

static bool coefs_alike(const tc_coef *coefs, size_t count) {
    for (size_t i = 0; coefs != NULL && i < count; i++) {
        if (coefs[i].column != NULL)
            return false;
    }
    return true;
}

static bool sets_alike(const tc_family *family) {
    bool alike = tc_same_boxes(family);
    for (size_t i = 0; i < family->piece_count; i++) {
        const tc_set_piece *piece = &family->pieces[i];
        alike = alike && piece->radius.column == NULL && coefs_alike(piece->center, piece->count) &&
                coefs_alike(piece->upper, piece->count) && coefs_alike(piece->matrix, piece->count * piece->count);
    }
    return alike;
}

static const char *piece_text(tc_arena *arena, const tc_model *model, const tc_family *family, size_t piece) {
    if (piece == TC_NO_PIECE)
        return "the public box";
    tc_buffer text = tc_buffer_new(arena, 4096);
    tc_buffer_puts(&text, "'");
    tc_span_text(&text, &model->source, family->pieces[piece].span);
    tc_buffer_puts(&text, "'");
    return tc_buffer_text(&text);
}

static void report_empty(tc_arena *arena, const tc_model *model, const tc_family *family, size_t member, bool alike,
                         const tc_set_conflict *conflict, tc_assumption *assumption) {
    const char *name = tc_who(arena, family, member, alike && family->count > 1);
    size_t piece = conflict->piece != TC_NO_PIECE ? conflict->piece : conflict->other;
    tc_span span = piece != TC_NO_PIECE ? family->pieces[piece].span : family->span;
    const char *one = piece_text(arena, model, family, conflict->piece);
    const char *other = piece_text(arena, model, family, conflict->other);
    if (conflict->piece == conflict->other && piece != TC_NO_PIECE)
        other = "the public box";
    if (strcmp(one, other) == 0) { /* l <= E <= u is two pieces of one line */
        tc_find(arena, assumption, &model->source, TC_FAILS, span, "The set of %s is empty: no point satisfies %s.",
                name, one);
        return;
    }
    tc_find(arena, assumption, &model->source, TC_FAILS, span,
            "The set of %s is empty: %s and %s have no point in common.", name, one, other);
}

/* The first empty sets of all ranks, and how many there are. */
static void share_empty(const tc_family *family, size_t members[NAMED], tc_set_conflict conflicts[NAMED],
                        size_t *empty) {
    struct {
        size_t count, members[NAMED];
        tc_set_conflict conflicts[NAMED];
    } all = {.count = 0};
    tc_fold_begin(family, &all, sizeof all);
    for (size_t i = 0; i < *empty && i < NAMED && all.count + i < NAMED; i++) {
        all.members[all.count + i] = members[i];
        all.conflicts[all.count + i] = conflicts[i];
    }
    all.count += *empty;
    tc_fold_end(family, &all, sizeof all);
    memcpy(members, all.members, sizeof all.members);
    memcpy(conflicts, all.conflicts, sizeof all.conflicts);
    *empty = all.count;
}

static void judge_family(tc_arena *arena, const tc_model *model, const tc_family *family, tc_assumption *assumption,
                         const tc_monitor *monitor) {
    bool alike = sets_alike(family);
    size_t first = alike ? 0 : family->known_first, end = alike ? 1 : family->known_end, empty = 0;
    tc_mark mark = tc_arena_mark(arena);
    tc_set *set = tc_set_new(arena, family);
    double *witness = TC_NEW(arena, double, family->dim + 1);
    size_t members[NAMED];
    tc_set_conflict conflicts[NAMED];
    bool interrupted = false;
    for (size_t k = first; k < end && !interrupted; k++) {
        interrupted = k % 1024 == 0 && (alike ? tc_interrupted(monitor) : tc_stops_here(family, monitor));
        tc_set_conflict conflict = {TC_NO_PIECE, TC_NO_PIECE, SIZE_MAX};
        tc_set_load(set, k);
        bool fine = set->is_empty ? (conflict = set->conflict, false)
                                  : set->shape == TC_SHAPE_BOX || tc_set_examine(set, witness, &conflict);
        if (fine)
            continue;
        if (empty < NAMED) {
            members[empty] = k;
            conflicts[empty] = conflict;
        }
        empty++;
    }
    tc_arena_rewind(arena, mark);
    if (family->is_spread && !alike) {
        share_empty(family, members, conflicts, &empty);
        interrupted = tc_for_some(family, interrupted);
    }
    for (size_t i = 0; i < empty && i < NAMED; i++)
        report_empty(arena, model, family, members[i], alike, &conflicts[i], assumption);
    if (empty > NAMED)
        tc_find(arena, assumption, &model->source, TC_FAILS, family->span, "%zu more member%s of %s an empty set.",
                empty - NAMED, empty - NAMED > 1 ? "s" : "",
                tc_arena_format(arena, "%s %s", family->name, empty - NAMED > 1 ? "have" : "has"));
    if (interrupted)
        tc_find(arena, assumption, &model->source, TC_UNPROVED, family->span,
                "The sets of %s were not all judged: interrupted.", family->name);
}

/* paper: Assumption 2
 * Every set the language knows is convex and closed, and the public box bounds it; what remains to be shown is a point
 * in it. */
static void judge_sets(tc_arena *arena, const tc_model *model, tc_assumption *assumption, const tc_monitor *monitor) {
    for (size_t f = 0; f < model->family_count; f++) {
        tc_progress(monitor, "sets", (double)f / (double)model->family_count);
        judge_family(arena, model, &model->families[f], assumption, monitor);
    }
}

/* ---- the order of the steps ---- */

enum { ROWS_LIMIT = 1000 };

static void set_rows(tc_analysis *a, tc_arena *arena, size_t limit) {
    const tc_model *model = a->model;
    a->by_family = model->agent_count > limit;
    a->agent_rows = a->by_family ? model->family_count : model->agent_count;
    a->agents = TC_NEW(arena, tc_agent_constants, a->agent_rows + 1);
    size_t row = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < (a->by_family ? 1 : family->count); k++)
            a->agents[row++] =
                (tc_agent_constants){.family = family, .member = k, .agents = a->by_family ? family->count : 1};
    }
}

/* Inputs of the outer functions over the whole box. */
static void outer_ranges(tc_streams *s, tc_arena *arena, tc_interval **coords, tc_interval **sums) {
    *sums = TC_NEW(arena, tc_interval, s->model->sum_count + 1);
    tc_streams_sums(s, NULL, *sums);
    *coords = s->has_coords ? TC_NEW(arena, tc_interval, s->model->state_count) : NULL;
    for (size_t i = 0; i < s->derivatives->input_count; i++) {
        const tc_outer_input *input = &s->derivatives->inputs[i];
        if (input->op == TC_COORD)
            (*coords)[input->index] = tc_coord_range(s->model, input->index);
    }
}

static void judge_functions(tc_analysis *a, tc_arena *arena, tc_model *model, tc_streams *streams,
                            const tc_derivatives *derivatives, const tc_monitor *monitor) {
    tc_prover *prover = tc_prover_new(arena, model);
    if (model->role == TC_ROLE_CLOUD)
        a->objectives = a->smoothness = (tc_assumption){.verdict = TC_ELSEWHERE};
    else
        tc_judge_objectives(prover, derivatives, &a->objectives, &a->smoothness, monitor);
    if (model->role == TC_ROLE_AGENT) {
        a->constraints = (tc_assumption){.verdict = TC_ELSEWHERE};
    } else {
        tc_interval *coords, *sums;
        outer_ranges(streams, arena, &coords, &sums);
        tc_judge_constraints(prover, derivatives, coords, sums, &a->constraints, monitor);
    }
}

static void measure(tc_analysis *a, tc_arena *arena, const tc_derivatives *derivatives, tc_streams *streams,
                    const tc_monitor *monitor) {
    const tc_model *model = a->model;
    double *vertex = TC_NEW(arena, double, model->state_count + 1);
    tc_fill_upper(model, vertex);
    tc_lipschitz_constraints(streams, a->g, vertex);
    tc_lipschitz_jacobian(streams, a->agents, a->agent_rows, a->by_family, vertex);
    tc_lipschitz_objectives(arena, model, derivatives, a->agents, a->agent_rows, a->by_family, monitor);
    a->rows = TC_NEW(arena, tc_constancy, model->constraint_count + 1);
    tc_count_constancy(arena, model, derivatives, a->rows, &a->total);
}

static const char *summary(const tc_assumption *assumption, const char *yes, const char *no, const char *elsewhere) {
    switch (assumption->verdict) {
    case TC_HOLDS:
        return yes;
    case TC_ELSEWHERE:
        return elsewhere;
    case TC_FAILS:
    case TC_UNPROVED:
        return no;
    }
    return no;
}

static void summarise(tc_analysis *a) {
    bool lone = a->model->role == TC_ROLE_AGENT;
    a->smoothness.summary = summary(&a->smoothness, "every f_i is C1", "some f_i has kinks", "held by the agents");
    a->objectives.summary =
        summary(&a->objectives,
                a->smoothness.verdict == TC_HOLDS ? "every f_i is convex and C1"
                                                  : "every f_i is convex; some have kinks, which method tacit takes",
                "some f_i is not proved convex and C1", "held by the agents");
    a->sets.summary = summary(&a->sets, "every X_i is non-empty (to 1e-9 of its size), compact and convex",
                              "some X_i is empty or not judged", "held by the agents");
    a->constraints.summary =
        summary(&a->constraints,
                a->model->constraint_count == 0 ? "there are no constraints" : "g is convex and C1 on the public box",
                "g is not proved convex and C1 on the public box", "held by the cloud");
    if (a->slater.summary == NULL)
        a->slater.summary =
            summary(&a->slater,
                    a->slater_facts.equalities == 0 ? "a point satisfies every constraint strictly"
                                                    : "a point satisfies every equality, and every inequality strictly",
                    "no point is known to satisfy every constraint strictly",
                    lone ? "held by the cloud" : "held by the agents");
}

/* Kinks are flaws of the objectives. */
static void demand_smoothness(tc_analysis *a, tc_arena *arena) {
    for (size_t i = 0; i < a->smoothness.finding_count; i++) {
        const tc_finding *from = &a->smoothness.findings[i];
        size_t before = a->objectives.finding_count;
        tc_find(arena, &a->objectives, &a->model->source, from->verdict, (tc_span){0, 0}, "%s", from->text);
        if (a->objectives.finding_count > before)
            a->objectives.findings[before] = *from;
    }
}

tc_analysis *tc_analysis_run(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives,
                             const tc_analysis_options *options, const tc_monitor *monitor) {
    static const tc_analysis_options defaults;
    options = options != NULL ? options : &defaults;
    tc_analysis *a = TC_NEW(arena, tc_analysis, 1);
    a->model = model;
    a->print_all_points = options->print_all_points;
    set_rows(a, arena, options->rows_limit != 0 ? options->rows_limit : ROWS_LIMIT);
    tc_streams *streams = tc_streams_new(arena, model, derivatives, monitor);
    judge_functions(a, arena, model, streams, derivatives, monitor);
    a->convexity = a->objectives.verdict;
    if (options->needs_smooth)
        demand_smoothness(a, arena);
    if (model->role == TC_ROLE_CLOUD)
        a->sets = (tc_assumption){.verdict = TC_ELSEWHERE};
    else
        judge_sets(arena, model, &a->sets, monitor);
    if (options->only_assumptions) {
        tc_judge_slater(a, arena, streams, derivatives, true, 1, monitor);
        a->interrupted = tc_interrupted(monitor);
        return a;
    }
    measure(a, arena, derivatives, streams, monitor);
    tc_judge_slater(a, arena, streams, derivatives, options->skip_private, options->threads > 0 ? options->threads : 1,
                    monitor);
    summarise(a);
    collect_warnings(a, arena);
    a->interrupted = tc_interrupted(monitor);
    return a;
}

static bool passes(const tc_assumption *a) { return a->verdict == TC_HOLDS || a->verdict == TC_ELSEWHERE; }

bool tc_analysis_holds(const tc_analysis *a) {
    return passes(&a->objectives) && passes(&a->sets) && passes(&a->constraints) && passes(&a->slater);
}
