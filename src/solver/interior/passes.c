/* Passes over all members, in parts that a team shares.
 *
 * Members are numbered through all groups and cut into parts of equal size. How, depends on the problem alone. A sum
 * over members is made of the sums of the parts, added in their order: so it has the same bits on any number of
 * threads. One part is summed where the whole is, in the order of the members. */
#include "solver/interior/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 22 }; /* of the sums of all parts: 64 MiB */

/* What one part has summed up. */
typedef struct part_sums {
    tc_real residual, steepest, gap, longest, sum;
    size_t pairs;
    tc_real *inputs, *schur;
} part_sums;

/* A thread's own: copies that share the members' arrays, and scratch. */
typedef struct part_worker {
    tc_interior solver;
    tc_coupling coupling;
    tc_group *groups;
    tc_block_scratch scratch;
} part_worker;

typedef struct tc_parts {
    tc_team *team; /* NULL: the caller alone */
    size_t members, count, size;
    part_sums *sums; /* by part */
    part_worker *workers;
    size_t worker_count;
    /* the pass at work */
    tc_interior *solver;
    tc_pass_sum wanted;
    tc_pass *pass;
    const void *context;
} tc_parts;

static size_t schur_size(const tc_coupling *coupling) {
    size_t size = coupling == NULL ? 0 : coupling->is_curved ? coupling->q : coupling->m;
    return size * size;
}

static size_t input_count(const tc_coupling *coupling) { return coupling == NULL ? 0 : coupling->q; }

static void init_sums(const tc_interior *solver, tc_parts *parts) {
    parts->sums = TC_NEW(solver->arena, part_sums, parts->count);
    for (size_t p = 0; p < parts->count; p++) {
        parts->sums[p].inputs = TC_NEW(solver->arena, tc_real, input_count(solver->coupling));
        parts->sums[p].schur = TC_NEW(solver->arena, tc_real, schur_size(solver->coupling));
    }
}

static void init_worker(const tc_interior *solver, part_worker *worker) {
    worker->groups = TC_NEW(solver->arena, tc_group, solver->group_count);
    worker->scratch = tc_scratch_new(solver);
    memcpy(worker->groups, solver->groups, solver->group_count * sizeof(tc_group));
    for (size_t g = 0; g < solver->group_count; g++)
        tc_group_own(solver->arena, &worker->groups[g]);
}

/* Every addition rounds by at most half a unit in the last place of the sum so far, which is half of the whole on
 * average: the members of a part add to its sum, the parts to the whole. Agents that are alike round the same way, so
 * errors need not cancel. */
static tc_real rounding_of_sum(const tc_parts *parts) {
    return LDBL_EPSILON / 4 * (tc_real)(parts->size + parts->count);
}

void tc_parts_init(tc_interior *solver, tc_team *team) {
    size_t members = 0, numbers = input_count(solver->coupling) + schur_size(solver->coupling) + 1;
    for (size_t g = 0; g < solver->group_count; g++)
        members += solver->groups[g].count;
    size_t count = (members + TC_PART_MEMBERS - 1) / TC_PART_MEMBERS;
    count = count < MOST_NUMBERS / numbers ? count : MOST_NUMBERS / numbers;
    if (count <= 1)
        return;
    tc_parts *parts = TC_NEW(solver->arena, tc_parts, 1);
    *parts = (tc_parts){.team = team, .members = members, .size = (members + count - 1) / count};
    parts->count = (members + parts->size - 1) / parts->size;
    solver->sum_rounding = rounding_of_sum(parts);
    init_sums(solver, parts);
    parts->worker_count = team == NULL ? 1 : tc_team_size(team);
    parts->workers = TC_NEW(solver->arena, part_worker, parts->worker_count);
    for (size_t w = 0; w < parts->worker_count; w++)
        init_worker(solver, &parts->workers[w]);
    solver->parts = parts;
}

static void exchange(tc_group *groups, size_t count) {
    for (size_t g = 0; g < count; g++) {
        tc_iterate at = groups[g].at;
        groups[g].at = groups[g].trial;
        groups[g].trial = at;
    }
}

void tc_exchange_trial(tc_interior *solver) {
    size_t workers = solver->parts == NULL ? 0 : solver->parts->worker_count;
    exchange(solver->groups, solver->group_count);
    for (size_t w = 0; w < workers; w++)
        exchange(solver->parts->workers[w].groups, solver->group_count);
}

/* The worker's copies, with sums that are 0. */
static tc_interior *begin_part(tc_parts *parts, part_worker *worker, part_sums *sums) {
    const tc_interior *solver = parts->solver;
    tc_interior *own = &worker->solver;
    *own = *solver;
    own->groups = worker->groups;
    own->scratch = worker->scratch;
    own->residual = own->steepest = own->gap = own->sum = 0;
    own->pairs = 0;
    if (solver->coupling == NULL)
        return own;
    worker->coupling = *solver->coupling;
    own->coupling = &worker->coupling;
    tc_real **place = parts->wanted == TC_SUMS_RESIDUALS ? &own->coupling->input_size
                      : parts->wanted == TC_SUMS_INPUTS  ? &own->coupling->inputs
                      : parts->wanted == TC_SUMS_MOVED   ? &own->coupling->moved
                                                         : NULL;
    if (place != NULL) {
        *place = sums->inputs;
        memset(sums->inputs, 0, solver->coupling->q * sizeof(tc_real));
    }
    if (parts->wanted == TC_SUMS_SCHUR) {
        own->coupling->schur = sums->schur;
        memset(sums->schur, 0, schur_size(solver->coupling) * sizeof(tc_real));
    }
    return own;
}

static void run_part(void *context, size_t thread, size_t part) {
    tc_parts *parts = context;
    part_sums *sums = &parts->sums[part];
    tc_interior *own = begin_part(parts, &parts->workers[thread], sums);
    size_t first = part * parts->size, end = first + parts->size, before = 0;
    for (size_t g = 0; g < own->group_count && before < end; g++) {
        tc_group *group = &own->groups[g];
        size_t from = first > before ? first - before : 0,
               to = end - before < group->count ? end - before : group->count;
        if (from < to)
            parts->pass(own, group, from, to, parts->context);
        before += group->count;
    }
    sums->residual = own->residual;
    sums->steepest = own->steepest;
    sums->gap = own->gap;
    sums->pairs = own->pairs;
    sums->longest = own->longest;
    sums->sum = own->sum;
}

/* Each sum goes on from what is there already, as with one part. */
static void add_part(tc_interior *solver, tc_pass_sum wanted, const part_sums *sums) {
    tc_coupling *coupling = solver->coupling;
    size_t inputs = input_count(coupling);
    switch (wanted) {
    case TC_SUMS_NOTHING:
        return;
    case TC_SUMS_RESIDUALS:
        solver->residual = fmaxl(solver->residual, sums->residual);
        if (!(sums->steepest <= solver->steepest)) /* a NaN too */
            solver->steepest = sums->steepest;
        solver->gap += sums->gap;
        solver->pairs += sums->pairs;
        for (size_t r = 0; r < inputs; r++)
            coupling->input_size[r] = fmaxl(coupling->input_size[r], sums->inputs[r]);
        return;
    case TC_SUMS_INPUTS:
        for (size_t r = 0; r < inputs; r++)
            coupling->inputs[r] += sums->inputs[r];
        return;
    case TC_SUMS_MOVED:
        for (size_t r = 0; r < inputs; r++)
            coupling->moved[r] += sums->inputs[r];
        solver->longest = fminl(solver->longest, sums->longest);
        return;
    case TC_SUMS_SCHUR:
        for (size_t e = 0; e < schur_size(coupling); e++)
            coupling->schur[e] += sums->schur[e];
        return;
    case TC_SUMS_ONE:
        solver->sum += sums->sum;
        return;
    }
}

void tc_pass_run(tc_interior *solver, tc_pass_sum sums, tc_pass *pass, const void *context) {
    tc_parts *parts = solver->parts;
    if (parts == NULL) {
        for (size_t g = 0; g < solver->group_count; g++)
            pass(solver, &solver->groups[g], 0, solver->groups[g].count, context);
        return;
    }
    parts->solver = solver;
    parts->wanted = sums;
    parts->pass = pass;
    parts->context = context;
    if (parts->team != NULL)
        tc_team_run(parts->team, parts->count, run_part, parts);
    else
        for (size_t p = 0; p < parts->count; p++)
            run_part(parts, 0, p);
    for (size_t p = 0; p < parts->count; p++)
        add_part(solver, sums, &parts->sums[p]);
}
