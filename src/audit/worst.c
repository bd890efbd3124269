/* Two adjacent inputs that the release should find hardest to hide. */
#include "audit/inside.h"

#include "analysis/region.h"

#include <string.h>

/* ---- the released numbers as one vector ---- */

tc_audit_view *tc_audit_view_new(tc_arena *arena, const tc_plan *plan, tc_release *release) {
    tc_audit_view *view = TC_NEW(arena, tc_audit_view, 1);
    *view = (tc_audit_view){.plan = plan, .model = plan->model, .release = release};
    view->released = tc_released_new(arena, release);
    view->start = TC_NEW(arena, size_t, plan->channel_count + 1);
    view->entries = TC_NEW(arena, tc_view_entry, (size_t)plan->entry_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        size_t segment_count = 0;
        (void)tc_channel_entries(view->released->layout, &plan->channels[i], NULL, &segment_count);
        tc_segment *segments = TC_NEW(arena, tc_segment, segment_count);
        (void)tc_channel_entries(view->released->layout, &plan->channels[i], segments, &segment_count);
        view->start[i] = view->count;
        for (size_t s = 0; s < segment_count; s++)
            for (size_t k = 0; k < segments[s].count; k++)
                view->entries[view->count++] =
                    (tc_view_entry){segments[s].target, segments[s].position + k, (uint32_t)i};
    }
    view->start[plan->channel_count] = view->count;
    return view;
}

void tc_audit_read(const tc_audit_view *view, const tc_released *released, double *values) {
    for (size_t e = 0; e < view->count; e++) {
        const tc_view_entry *entry = &view->entries[e];
        values[e] = entry->target == TC_TARGET_CONSTRAINTS ? released->constraints[entry->position]
                    : entry->target == TC_TARGET_JACOBIAN  ? released->jacobian[entry->position]
                                                           : released->states[entry->position];
    }
}

/* F at a point of the auditor's own (no agent's: nothing private), without noise and hardly rounded. */
static void evaluate(tc_audit_view *view, const double *x, double *values) {
    if (!tc_noises_states(view->plan)) {
        tc_released_evaluate(view->release, x, view->released);
        tc_audit_read(view, view->released, values);
        return;
    }
    for (size_t e = 0; e < view->count; e++)
        values[e] = x[view->entries[e].position];
}

/* ---- the worst pair ---- */

/* At most so many coordinates are tried at so many points. That suffices: in large problems agents are alike. */
enum { MOST_COORDS = 400, MOST_BASES = 12, POWER_STEPS = 60 };
/* At most so many numbers are computed: about ten seconds. */
static const uint64_t MOST_WORK = UINT64_C(1) << 32;

typedef struct pair_search {
    tc_arena *arena;
    tc_audit_view *view;
    size_t first, end; /* entries */
    const tc_monitor *monitor;
    double until;  /* no new pairs after this time, */
    uint64_t work; /* nor after MOST_WORK */
    double **bases;
    size_t base_count;
    size_t *coords; /* to try, increasing */
    size_t coord_count;
    double step;             /* h */
    double *x[2], *truth[2]; /* scratch */
    const tc_caps *caps;     /* public sets that the plan relies on; NULL: none */
    double *corner[2];       /* of one agent's box: x before it is moved into the public set */
    double *columns;         /* [coord][entry]: slopes of F scaled by the noise, Gaussian only */
    double *direction, *image;
    tc_worst_case *best;
} pair_search;

static bool is_over(const pair_search *s) {
    return s->work > MOST_WORK || tc_interrupted(s->monitor) || tc_audit_clock() > s->until;
}

static void find_truth(pair_search *s, size_t world) {
    s->work += s->view->model->state_count + s->view->count;
    evaluate(s->view, s->x[world], s->truth[world]);
}

static size_t agent_of(const tc_model *model, size_t coord) {
    const tc_family *family = tc_family_of_coord(model, coord);
    return family->first_agent + (coord - family->first_coord) % family->count;
}

/* How far this state may move, alone: B over the whole run, or D of its family in every round. */
static double bound_of(const pair_search *s, size_t coord) {
    const tc_plan *plan = s->view->plan;
    if (plan->distances == NULL)
        return plan->adjacency_bound;
    return plan->distances[tc_family_of_coord(s->view->model, coord) - s->view->model->families].distance;
}

static double snap(const pair_search *s, size_t coord, double x) {
    tc_interval range = tc_coord_range(s->view->model, coord);
    double least = ceil(range.lo / s->step), most = floor(range.hi / s->step), units = rint(x / s->step);
    return s->step * (units < least ? least : units > most ? most : units);
}

/* ---- where to look ---- */

static void add_base(pair_search *s, const double *x) {
    if (s->base_count == MOST_BASES)
        return;
    double *base = TC_NEW(s->arena, double, s->view->model->state_count);
    for (size_t i = 0; i < s->view->model->state_count; i++)
        base[i] = snap(s, i, x[i]);
    for (size_t f = 0; s->caps != NULL && f < s->view->model->family_count; f++)
        for (size_t k = 0; k < s->view->model->families[f].count; k++)
            tc_audit_keep(s->caps, &s->view->model->families[f], f, k, false, base);
    for (size_t i = 0; i < s->base_count; i++)
        if (memcmp(base, s->bases[i], s->view->model->state_count * sizeof *base) == 0)
            return;
    s->bases[s->base_count++] = base;
}

static void add_witness(pair_search *s, const tc_witness *witness) {
    const tc_model *model = s->view->model;
    if (witness->values == NULL)
        return;
    double *x = TC_NEW(s->arena, double, model->state_count);
    if (witness->coords == NULL && witness->count == model->state_count) {
        memcpy(x, witness->values, model->state_count * sizeof *x);
    } else {
        if (witness->rest == TC_REST_MIDDLE)
            tc_fill_middle(model, x);
        else if (witness->rest == TC_REST_UPPER)
            tc_fill_upper(model, x);
        else
            tc_fill_lower(model, x);
        for (size_t i = 0; witness->coords != NULL && i < witness->count; i++)
            x[witness->coords[i]] = witness->values[i];
    }
    add_base(s, x);
}

static void list_bases(pair_search *s, const tc_analysis *analysis) {
    const tc_model *model = s->view->model;
    int norm = s->view->plan->mechanism == TC_MECHANISM_LAPLACE ? 0 : 1;
    double *x = TC_NEW(s->arena, double, model->state_count);
    s->bases = TC_NEW(s->arena, double *, MOST_BASES);
    tc_fill_upper(model, x);
    add_base(s, x);
    tc_fill_lower(model, x);
    add_base(s, x);
    tc_fill_middle(model, x);
    add_base(s, x);
    if (analysis == NULL)
        return;
    add_witness(s, &analysis->g[norm].witness);
    add_witness(s, &analysis->g[1 - norm].witness);
    /* the agents' own, spread over all of them */
    size_t step = analysis->agent_rows / 6 + 1;
    const tc_channel *channel = &s->view->plan->channels[s->view->entries[s->first].channel];
    for (size_t i = 0; i < analysis->agent_rows; i++)
        if (analysis->agents[i].family - model->families == (ptrdiff_t)channel->family)
            add_witness(s, &analysis->agents[i].jacobian[norm].witness);
    for (size_t i = 0; i < analysis->agent_rows; i += step)
        add_witness(s, &analysis->agents[i].jacobian[norm].witness);
}

/* All coordinates, or those of some members of every family. */
static void list_coords(pair_search *s) {
    const tc_model *model = s->view->model;
    s->coords = TC_NEW(s->arena, size_t, MOST_COORDS);
    size_t members = 1;
    while (members < model->state_count && members * 2 * model->family_count * 24 <= MOST_COORDS)
        members *= 2;
    bool all = model->state_count <= MOST_COORDS;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        size_t step = all || family->count <= members ? 1 : family->count / members;
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count && s->coord_count < MOST_COORDS; k += step)
                s->coords[s->coord_count++] = tc_coord_of(family, k, c);
    }
}

/* ---- trying a pair ---- */

static double loss_of(const pair_search *s, const double *a, const double *b) {
    bool laplace = s->view->plan->mechanism == TC_MECHANISM_LAPLACE;
    double loss = 0;
    for (size_t e = s->first; e < s->end; e++) {
        double share = (a[e] - b[e]) / s->view->plan->channels[s->view->entries[e].channel].scale;
        loss += laplace ? fabs(share) : share * share;
    }
    return laplace ? loss : sqrt(loss);
}

/* Keeps s->x if its price is the largest so far; s->truth[0] is F at x[0] already. Returns the price. */
static double try_pair(pair_search *s) {
    size_t n = s->view->model->state_count;
    find_truth(s, 1);
    double loss = loss_of(s, s->truth[0], s->truth[1]);
    if (!(loss > s->best->loss) || !isfinite(loss))
        return isfinite(loss) ? loss : 0;
    s->best->loss = loss;
    double largest = -1;
    s->best->moved = 0;
    for (size_t i = 0; i < n; i++) {
        double by = fabs(s->x[0][i] - s->x[1][i]);
        s->best->moved += by > 0;
        if (by > largest) {
            largest = by;
            s->best->coord = i;
        }
    }
    for (size_t w = 0; w < 2; w++) {
        memcpy(s->best->x[w], s->x[w], n * sizeof(double));
        memcpy(s->best->truth[w], s->truth[w], s->view->count * sizeof(double));
    }
    return loss;
}

/* One coordinate by B, either way. */
static void try_coordinates(pair_search *s, const double *base) {
    size_t n = s->view->model->state_count;
    memcpy(s->x[0], base, n * sizeof(double));
    memcpy(s->x[1], base, n * sizeof(double));
    find_truth(s, 0);
    for (size_t i = 0; i < s->coord_count && !is_over(s); i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            size_t coord = s->coords[i];
            double by = s->step * floor(bound_of(s, coord) / s->step);
            double there = snap(s, coord, base[coord] + sign * by);
            if (there == base[coord])
                continue;
            s->x[1][coord] = there;
            (void)try_pair(s);
            s->x[1][coord] = base[coord];
        }
}

/* x at the two corners; in the public set, where the two keep to different ends of it. */
static void place_corners(pair_search *s, const tc_family *family, size_t member) {
    size_t number = (size_t)(family - s->view->model->families);
    for (size_t w = 0; w < 2; w++) {
        for (size_t c = 0; c < family->dim; c++)
            s->x[w][tc_coord_of(family, member, c)] = s->corner[w][c];
        tc_audit_keep(s->caps, family, number, member, w == 1, s->x[w]);
    }
}

/* Swaps the two ends of one coordinate. */
static void turn(pair_search *s, const tc_family *family, size_t member, size_t c) {
    double kept = s->corner[0][c];
    s->corner[0][c] = s->corner[1][c];
    s->corner[1][c] = kept;
    place_corners(s, family, member);
}

/* From a corner to the opposite one. Which two is searched one coordinate at a time, since rows may grow with one and
 * fall with another. */
static void try_corners(pair_search *s, const tc_family *family, size_t member) {
    place_corners(s, family, member);
    find_truth(s, 0);
    double loss = try_pair(s);
    for (size_t c = s->caps != NULL ? 0 : 1; c < family->dim && !is_over(s); c++) {
        turn(s, family, member, c);
        find_truth(s, 0);
        double turned = try_pair(s);
        if (turned > loss)
            loss = turned;
        else
            turn(s, family, member, c);
    }
}

/* One agent from one corner of its box to the opposite one, or as far as its public set allows. */
static void try_agents(pair_search *s, const double *base) {
    const tc_model *model = s->view->model;
    for (size_t i = 0; i < s->coord_count && !is_over(s); i++) {
        const tc_family *family = tc_family_of_coord(model, s->coords[i]);
        size_t member = (s->coords[i] - family->first_coord) % family->count;
        if (tc_coord_of(family, member, 0) != s->coords[i])
            continue;
        memcpy(s->x[0], base, model->state_count * sizeof(double));
        memcpy(s->x[1], base, model->state_count * sizeof(double));
        for (size_t c = 0; c < family->dim; c++) {
            size_t coord = tc_coord_of(family, member, c);
            s->corner[0][c] = snap(s, coord, HUGE_VAL);
            s->corner[1][c] = snap(s, coord, -HUGE_VAL);
        }
        try_corners(s, family, member);
    }
}

/* ---- the worst direction, for Gaussian noise ---- */

static void measure_columns(pair_search *s, const double *base) {
    size_t n = s->view->model->state_count, entries = s->end - s->first;
    memcpy(s->x[0], base, n * sizeof(double));
    memcpy(s->x[1], base, n * sizeof(double));
    find_truth(s, 0);
    for (size_t i = 0; i < s->coord_count && !is_over(s); i++) {
        size_t coord = s->coords[i];
        double little = bound_of(s, coord) / 64, there = snap(s, coord, base[coord] + little);
        if (there == base[coord])
            there = snap(s, coord, base[coord] - little);
        double by = there - base[coord];
        s->x[1][coord] = there;
        find_truth(s, 1);
        s->x[1][coord] = base[coord];
        for (size_t e = 0; e < entries; e++) {
            double scale = s->view->plan->channels[s->view->entries[s->first + e].channel].scale;
            double slope = (s->truth[1][s->first + e] - s->truth[0][s->first + e]) / (by * scale);
            s->columns[i * entries + e] = by == 0 || !isfinite(slope) ? 0 : slope;
        }
    }
}

/* Power iteration on all columns, or (one) on those of the agent; leaves the direction, of length one. */
static void iterate(pair_search *s, size_t agent, bool one) {
    size_t entries = s->end - s->first;
    s->work += (one ? 1 : s->coord_count) * entries * POWER_STEPS;
    for (size_t i = 0; i < s->coord_count; i++)
        s->direction[i] = !one || agent_of(s->view->model, s->coords[i]) == agent ? 1 : 0;
    for (int step = 0; step < POWER_STEPS; step++) {
        double length = 0;
        memset(s->image, 0, entries * sizeof *s->image);
        for (size_t i = 0; i < s->coord_count; i++)
            for (size_t e = 0; s->direction[i] != 0 && e < entries; e++)
                s->image[e] += s->columns[i * entries + e] * s->direction[i];
        for (size_t i = 0; i < s->coord_count; i++) {
            if (one && agent_of(s->view->model, s->coords[i]) != agent)
                continue;
            double sum = 0;
            for (size_t e = 0; e < entries; e++)
                sum += s->columns[i * entries + e] * s->image[e];
            s->direction[i] = sum;
            length += sum * sum;
        }
        for (size_t i = 0; length > 0 && i < s->coord_count; i++)
            s->direction[i] /= sqrt(length);
    }
}

/* From a point moved inward so far that the other one is in the box too. Steps are rounded toward zero, so that the
 * distance stays within B. */
static void try_direction(pair_search *s, const double *base) {
    const tc_model *model = s->view->model;
    for (int sign = -1; sign <= 1; sign += 2) {
        memcpy(s->x[0], base, model->state_count * sizeof(double));
        memcpy(s->x[1], base, model->state_count * sizeof(double));
        for (size_t i = 0; i < s->coord_count; i++) {
            size_t coord = s->coords[i];
            double by = s->step * trunc(sign * bound_of(s, coord) * s->direction[i] / s->step);
            s->x[1][coord] = snap(s, coord, base[coord] + by);
            double from = snap(s, coord, s->x[1][coord] - by);
            s->x[0][coord] = from;
        }
        find_truth(s, 0);
        (void)try_pair(s);
    }
}

static void try_directions(pair_search *s, const double *base) {
    const tc_model *model = s->view->model;
    bool one = s->view->plan->adjacency != TC_ADJACENCY_ENSEMBLE;
    measure_columns(s, base);
    if (!one) {
        iterate(s, 0, false);
        try_direction(s, base);
        return;
    }
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < s->coord_count && !is_over(s); i++) {
        size_t agent = agent_of(model, s->coords[i]);
        const tc_family *family = tc_family_of_agent(model, agent);
        if (agent == last || s->coords[i] != tc_coord_of(family, agent - family->first_agent, 0))
            continue;
        last = agent;
        iterate(s, agent, true);
        try_direction(s, base);
    }
}

tc_worst_case *tc_worst_pair(tc_arena *arena, tc_audit_view *view, const tc_analysis *analysis, size_t first,
                             size_t end, double until, const tc_monitor *monitor, bool *is_whole) {
    const tc_plan *plan = view->plan;
    size_t n = view->model->state_count;
    pair_search s = {.arena = arena, .view = view, .first = first, .end = end, .monitor = monitor, .until = until};
    s.step = ldexp(1, plan->state_exponent);
    s.best = TC_NEW(arena, tc_worst_case, 1);
    for (size_t w = 0; w < 2; w++) {
        s.x[w] = TC_NEW(arena, double, n);
        s.corner[w] = TC_NEW(arena, double, n);
        s.best->x[w] = TC_NEW(arena, double, n);
        s.truth[w] = TC_NEW(arena, double, view->count);
        s.best->truth[w] = TC_NEW(arena, double, view->count);
    }
    s.caps = tc_caps_of_plan(arena, view->model, plan);
    list_bases(&s, analysis);
    list_coords(&s);
    bool directions = plan->mechanism == TC_MECHANISM_GAUSSIAN && plan->adjacency != TC_ADJACENCY_AGENT &&
                      s.coord_count * (end - first) <= (size_t)1 << 24;
    if (directions) {
        s.columns = TC_NEW(arena, double, s.coord_count *(end - first));
        s.direction = TC_NEW(arena, double, s.coord_count);
        s.image = TC_NEW(arena, double, end - first);
    }
    for (size_t i = 0; i < s.base_count && !is_over(&s); i++) {
        if (plan->adjacency == TC_ADJACENCY_AGENT)
            try_agents(&s, s.bases[i]);
        else
            try_coordinates(&s, s.bases[i]);
        if (directions)
            try_directions(&s, s.bases[i]);
    }
    *is_whole = !is_over(&s);
    return s.best->loss > 0 && !tc_interrupted(monitor) ? s.best : NULL;
}
