#include "plan/placement/placement.h"

#include "calculus/interval/interval.h"

#include <stdlib.h>

/* Reductions first (docs/proofs/scales.md, section 2): columns are normalised to maximum 1 and equal ones merged, equal
 * rows kept once. Then rounds: solve for a few rows, add those that the solution breaks. Equal hashes of different
 * rows, or a solver that stops early, cost optimality, never the budget: the last step divides by the largest use of
 * the original rows, rounded up. */

#define ACCURACY 5e-7
#define RESERVE 0x1p-22  /* of the budget, for groups of cost 0 */
#define LEAST_COST 1e-40 /* relative to the largest: below it, a negligible share is given anyway */

#define LARGEST 0x1p1000 /* of any a: smaller is always within the budget */

typedef struct reduced {
    const tc_scale_problem *budget;
    tc_allotment problem; /* on the working set */
    double *largest;      /* per group: its largest sensitivity */
    uint32_t *column;     /* per group: its column here, or NONE */
    double *share;        /* per group: its part of the column's x */
    double *cost, *root;  /* per column: cost, and cost^(1/(q+1)) */
    tc_rows all;          /* distinct rows */
    double *use;          /* per distinct row */
    bool *chosen;         /* per distinct row: in the working set */
    uint32_t *order;      /* of rows to add */
    size_t chosen_count;
} reduced;

#define NONE UINT32_MAX

static double root_of(double cost, int q) { return q == 1 ? sqrt(cost) : cbrt(cost); }

/* ---- certified -------------------------------------------------------------------------------------------------- */

double tc_scales_use(const tc_scale_problem *budget, const double *a) {
    double most = 0;
    for (size_t u = 0; u < budget->units; u++) {
        double sum = 0;
        for (size_t k = budget->start[u]; k < budget->start[u + 1]; k++) {
            if (budget->sensitivity[k] != 0)
                sum = tc_add_up(sum, tc_mul_up(budget->sensitivity[k], a[budget->group[k]]));
        }
        if (!(sum <= most))
            most = sum;
    }
    return most;
}

static void keep_budget(const tc_scale_problem *budget, double *a) {
    double use = tc_scales_use(budget, a);
    while (!(use <= 1)) {
        for (size_t e = 0; e < budget->groups; e++)
            a[e] = isinf(use) || isnan(use) ? 0 : isinf(a[e]) ? a[e] : tc_div_down(a[e], use * (1 + 0x1p-50));
        use = tc_scales_use(budget, a);
    }
}

static bool makes_sense(const tc_scale_problem *budget) {
    for (size_t e = 0; e < budget->groups; e++) {
        if (!(budget->cost[e] >= 0 && budget->cost[e] <= DBL_MAX))
            return false;
    }
    for (size_t k = 0; k < budget->start[budget->units]; k++) {
        if (!(budget->sensitivity[k] >= 0 && budget->sensitivity[k] <= DBL_MAX))
            return false;
    }
    return budget->q == 1 || budget->q == 2;
}

/* ---- reduction -------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t hash_entry(uint64_t index, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mix(mix(index + UINT64_C(0x9e3779b97f4a7c15)) ^ bits);
}

typedef struct hash_table { /* open addressing: hash -> number */
    uint64_t *hashes;
    uint32_t *numbers;
    size_t size;
} hash_table;

static hash_table new_table(tc_arena *arena, size_t entries) {
    hash_table t = {.size = 16};
    while (t.size < 2 * entries)
        t.size *= 2;
    t.hashes = TC_NEW(arena, uint64_t, t.size);
    t.numbers = TC_NEW(arena, uint32_t, t.size);
    return t;
}

/* The number stored with this hash; next, which is stored, where there was none. */
static uint32_t find_or_add(hash_table *t, uint64_t hash, uint32_t next) {
    hash |= 1; /* 0 means empty */
    size_t at = (size_t)mix(hash) & (t->size - 1);
    while (t->hashes[at] != 0 && t->hashes[at] != hash)
        at = (at + 1) & (t->size - 1);
    if (t->hashes[at] == hash)
        return t->numbers[at];
    t->hashes[at] = hash;
    t->numbers[at] = next;
    return next;
}

/* cost_e largest_e^q relative to the largest such, with logarithms since neither factor need be moderate. */
static double *relative_costs(tc_arena *arena, const reduced *r) {
    const tc_scale_problem *b = r->budget;
    double *costs = TC_NEW(arena, double, b->groups), most = -HUGE_VAL;
    for (size_t e = 0; e < b->groups; e++) {
        costs[e] = r->largest[e] > 0 && b->cost[e] > 0 ? log(b->cost[e]) + b->q * log(r->largest[e]) : -HUGE_VAL;
        most = fmax(most, costs[e]);
    }
    for (size_t e = 0; e < b->groups; e++)
        costs[e] = isinf(costs[e]) ? 0 : fmax(LEAST_COST, exp(costs[e] - most));
    return costs;
}

/* Groups whose normalised columns are equal share one: the best division of x among them is by cost^(1/(q+1)). */
static void merge_columns(tc_arena *arena, reduced *r) {
    const tc_scale_problem *b = r->budget;
    r->largest = TC_NEW(arena, double, b->groups);
    r->column = TC_NEW(arena, uint32_t, b->groups);
    r->share = TC_NEW(arena, double, b->groups);
    r->cost = TC_NEW(arena, double, b->groups);
    r->root = TC_NEW(arena, double, b->groups);
    uint64_t *hashes = TC_NEW(arena, uint64_t, b->groups);
    for (size_t k = 0; k < b->start[b->units]; k++)
        r->largest[b->group[k]] = fmax(r->largest[b->group[k]], b->sensitivity[k]);
    for (size_t u = 0; u < b->units; u++) {
        for (size_t k = b->start[u]; k < b->start[u + 1]; k++) {
            if (b->sensitivity[k] > 0)
                hashes[b->group[k]] += hash_entry(u, b->sensitivity[k] / r->largest[b->group[k]]);
        }
    }
    double *costs = relative_costs(arena, r), total = 0;
    hash_table t = new_table(arena, b->groups);
    for (size_t e = 0; e < b->groups; e++) {
        r->column[e] = NONE;
        if (!(costs[e] > 0))
            continue;
        r->column[e] = find_or_add(&t, hashes[e], (uint32_t)r->problem.columns);
        r->problem.columns += r->column[e] == r->problem.columns;
        r->root[r->column[e]] += r->share[e] = root_of(costs[e], b->q);
    }
    for (size_t c = 0; c < r->problem.columns; c++)
        total += r->cost[c] = b->q == 1 ? r->root[c] * r->root[c] : r->root[c] * r->root[c] * r->root[c];
    for (size_t e = 0; e < b->groups; e++)
        r->share[e] /= r->column[e] == NONE ? 1 : r->root[r->column[e]];
    for (size_t c = 0; c < r->problem.columns; c++) {
        r->cost[c] /= total;
        r->root[c] = root_of(r->cost[c], b->q);
    }
}

/* The distinct rows on the merged columns; a column takes the entry of the first group it was made of. */
static void merge_rows(tc_arena *arena, reduced *r) {
    const tc_scale_problem *b = r->budget;
    size_t entries = b->start[b->units];
    r->all = (tc_rows){.start = TC_NEW(arena, size_t, b->units + 1),
                       .column = TC_NEW(arena, uint32_t, entries),
                       .value = TC_NEW(arena, double, entries)};
    size_t *seen = TC_NEW(arena, size_t, r->problem.columns);
    hash_table t = new_table(arena, b->units);
    for (size_t u = 0; u < b->units; u++) {
        size_t at = r->all.start[r->all.count];
        uint64_t hash = 0;
        for (size_t k = b->start[u]; k < b->start[u + 1]; k++) {
            uint32_t group = b->group[k], column = r->column[group];
            if (column == NONE || seen[column] == u + 1 || !(b->sensitivity[k] > 0))
                continue;
            seen[column] = u + 1;
            r->all.column[at] = column;
            r->all.value[at] = b->sensitivity[k] / r->largest[group];
            if (!(r->all.value[at] > 0)) /* underflow */
                continue;
            hash += hash_entry(column, r->all.value[at++]);
        }
        if (at > r->all.start[r->all.count] && find_or_add(&t, hash, (uint32_t)r->all.count) == r->all.count)
            r->all.start[++r->all.count] = at;
    }
}

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

static double weigh_rows(reduced *r, const double *x) { /* S x of all rows; the largest */
    double most = 0;
    for (size_t u = 0; u < r->all.count; u++) {
        double sum = 0;
        for (size_t k = r->all.start[u]; k < r->all.start[u + 1]; k++)
            sum += r->all.value[k] * x[r->all.column[k]];
        r->use[u] = sum;
        most = fmax(most, sum);
    }
    return most;
}

static void choose(reduced *r, size_t u) {
    r->chosen_count += !r->chosen[u];
    r->chosen[u] = true;
}

/* x_e = root_e / (the largest sum of roots in a row with e) keeps every row; that row bounds e, and is chosen. */
static void start(tc_arena *arena, reduced *r) {
    size_t n = r->problem.columns;
    size_t *tightest = TC_NEW(arena, size_t, n);
    double *most = TC_NEW(arena, double, n);
    (void)weigh_rows(r, r->root);
    for (size_t u = 0; u < r->all.count; u++) {
        for (size_t k = r->all.start[u]; k < r->all.start[u + 1]; k++) {
            uint32_t e = r->all.column[k];
            if (r->use[u] > most[e]) {
                most[e] = r->use[u];
                tightest[e] = u;
            }
        }
    }
    for (size_t e = 0; e < n; e++) {
        r->problem.x[e] = 0.9 * r->root[e] / most[e];
        choose(r, tightest[e]);
    }
}

static void copy_chosen(tc_arena *arena, reduced *r) {
    size_t entries = 0;
    for (size_t u = 0; u < r->all.count; u++)
        entries += r->chosen[u] ? r->all.start[u + 1] - r->all.start[u] : 0;
    tc_rows *rows = &r->problem.rows;
    *rows = (tc_rows){.start = TC_NEW(arena, size_t, r->chosen_count + 1),
                      .column = TC_NEW(arena, uint32_t, entries),
                      .value = TC_NEW(arena, double, entries)};
    for (size_t u = 0; u < r->all.count; u++) {
        if (!r->chosen[u])
            continue;
        size_t from = r->all.start[u], length = r->all.start[u + 1] - from, to = rows->start[rows->count];
        memcpy(rows->column + to, r->all.column + from, length * sizeof *rows->column);
        memcpy(rows->value + to, r->all.value + from, length * sizeof *rows->value);
        rows->start[++rows->count] = to + length;
    }
}

static void sift(uint32_t *heap, size_t count, size_t at, const double *use) { /* the smallest use on top */
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && use[heap[child + 1]] < use[heap[child]];
        if (use[heap[at]] <= use[heap[child]])
            return;
        uint32_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}

/* Chooses the rows that are broken most. */
static bool add_broken(reduced *r, double limit) {
    size_t count = 0, room = 200 + r->chosen_count / 2;
    for (size_t u = 0; u < r->all.count; u++) {
        if (r->chosen[u] || !(r->use[u] > limit))
            continue;
        if (count < room) {
            r->order[count++] = (uint32_t)u;
            for (size_t at = count / 2; count == room && at-- > 0;)
                sift(r->order, count, at, r->use);
        } else if (r->use[u] > r->use[r->order[0]]) {
            r->order[0] = (uint32_t)u;
            sift(r->order, count, 0, r->use);
        }
    }
    for (size_t i = 0; i < count; i++)
        choose(r, r->order[i]);
    return count > 0;
}

static void solve(tc_arena *arena, reduced *r, tc_scales *scales) {
    size_t n = r->problem.columns;
    double *best = TC_NEW(arena, double, n), best_cost = HUGE_VAL, at_best = 0, accuracy = 1e-2;
    for (int round = 0; round < 100; round++) {
        tc_mark mark = tc_arena_mark(arena);
        copy_chosen(arena, r);
        tc_allotment_solve(arena, &r->problem, accuracy);
        tc_arena_rewind(arena, mark);
        double most = weigh_rows(r, r->problem.x), within = 0;
        for (size_t u = 0; u < r->all.count; u++)
            within = r->chosen[u] ? fmax(within, r->use[u]) : within;
        for (size_t e = 0; e < n; e++)
            r->problem.x[e] /= most;
        double cost = tc_allotment_cost(&r->problem, r->problem.x);
        if (cost < best_cost) {
            best_cost = cost;
            memcpy(best, r->problem.x, n * sizeof *best);
        }
        at_best = fmax(at_best, r->problem.at_best);
        bool broken = add_broken(r, within * (1 + 1e-9));
        if (best_cost <= at_best * (1 + ACCURACY) || (!broken && accuracy <= 0.4 * ACCURACY))
            break;
        /* accuracy beyond what the missing rows may change is wasted */
        accuracy = fmax(0.4 * ACCURACY, fmin(0.1 * accuracy, broken ? 0.1 * (most / within - 1) : 0));
        for (size_t e = 0; e < n; e++)
            r->problem.x[e] *= 0.95;
    }
    memcpy(r->problem.x, best, n * sizeof *best);
    scales->at_best = at_best / best_cost; /* for now, relative to this x */
    scales->rows = r->chosen_count;
    scales->steps = r->problem.steps;
}

/* ---- groups of cost 0 ------------------------------------------------------------------------------------------- */

/* What unit u's others leave, divided by the sum of its sensitivities to groups of cost 0, the least over u. */
static void share_the_rest(tc_arena *arena, const reduced *r, double *a) {
    const tc_scale_problem *b = r->budget;
    for (size_t e = 0; e < b->groups; e++)
        a[e] *= r->column[e] != NONE ? 1 - RESERVE : 1;
    double *least = TC_NEW(arena, double, b->groups);
    for (size_t e = 0; e < b->groups; e++)
        least[e] = HUGE_VAL;
    for (size_t u = 0; u < b->units; u++) {
        double left = 1 - RESERVE / 16, wanted = 0; /* a little less, for rounding */
        for (size_t k = b->start[u]; k < b->start[u + 1]; k++) {
            if (r->column[b->group[k]] != NONE)
                left -= b->sensitivity[k] * a[b->group[k]];
            else
                wanted += b->sensitivity[k];
        }
        for (size_t k = b->start[u]; k < b->start[u + 1]; k++) {
            if (b->sensitivity[k] > 0)
                least[b->group[k]] = fmin(least[b->group[k]], fmax(0, left) / wanted);
        }
    }
    for (size_t e = 0; e < b->groups; e++) {
        if (r->column[e] == NONE && r->largest[e] > 0)
            a[e] = fmin(least[e], LARGEST);
    }
}

static double cost_of(const tc_scale_problem *budget, const double *a) {
    double cost = 0;
    for (size_t e = 0; e < budget->groups; e++) {
        if (budget->cost[e] > 0)
            cost += budget->cost[e] / a[e] / (budget->q == 1 ? 1 : a[e]);
    }
    return cost;
}

void tc_scales_find(tc_arena *arena, const tc_scale_problem *budget, tc_scales *scales) {
    *scales = (tc_scales){.a = TC_NEW(arena, double, budget->groups)};
    if (!makes_sense(budget))
        return;
    tc_mark mark = tc_arena_mark(arena);
    reduced *r = TC_NEW(arena, reduced, 1);
    *r = (reduced){.budget = budget, .problem.q = budget->q};
    merge_columns(arena, r);
    merge_rows(arena, r);
    r->problem.cost = r->cost;
    r->problem.x = TC_NEW(arena, double, r->problem.columns);
    r->use = TC_NEW(arena, double, r->all.count);
    r->chosen = TC_NEW(arena, bool, r->all.count);
    r->order = TC_NEW(arena, uint32_t, r->all.count + 200);
    if (r->problem.columns > 0) {
        start(arena, r);
        solve(arena, r, scales);
    }
    bool has_free = false;
    for (size_t e = 0; e < budget->groups; e++) {
        if (r->column[e] != NONE)
            scales->a[e] = fmin(r->problem.x[r->column[e]] * r->share[e] / r->largest[e], LARGEST);
        else if (r->largest[e] > 0)
            has_free = true;
        else
            scales->a[e] = HUGE_VAL;
    }
    scales->at_best *= cost_of(budget, scales->a);
    if (has_free)
        share_the_rest(arena, r, scales->a);
    tc_arena_rewind(arena, mark);
    keep_budget(budget, scales->a);
    scales->cost = cost_of(budget, scales->a);
}
