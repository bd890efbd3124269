#include "lab/lab.h"

#include "base/ranks/ranks.h"
#include "base/search.h"
#include "calculus/tape/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which rounds are kept ---- */

static uint64_t *every_round(tc_arena *arena, uint64_t rounds, size_t *count) {
    uint64_t *grid = TC_NEW(arena, uint64_t, rounds + 1);
    for (uint64_t k = 0; k <= rounds; k++)
        grid[k] = k;
    *count = rounds + 1;
    return grid;
}

static int by_round(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* 1, 2, 5, 10, 20, 50, ... are in every grid, so that a trace has every printed round. */
uint64_t *tc_grid(tc_arena *arena, uint64_t rounds, unsigned per_decade, size_t *count) {
    static const uint64_t round_numbers[] = {1, 2, 5};
    if (per_decade == 0)
        return every_round(arena, rounds, count);
    unsigned extra = per_decade > 3 ? per_decade : 0;
    double decades = rounds > 0 ? log10((double)rounds) : 0;
    uint64_t *grid = TC_NEW(arena, uint64_t, (size_t)((extra + 3) * (decades + 1)) + 8);
    size_t used = 1; /* round 0 */
    grid[used++] = rounds / 2;
    grid[used++] = rounds;
    for (uint64_t power = 1; power < rounds && power < UINT64_C(1) << 58; power *= 10)
        for (size_t i = 0; i < 3 && power * round_numbers[i] < rounds; i++)
            grid[used++] = power * round_numbers[i];
    for (unsigned i = 0; extra > 0; i++) {
        double power = round(pow(10, (double)i / extra));
        if (!(power < (double)rounds))
            break;
        grid[used++] = (uint64_t)power;
    }
    qsort(grid, used, sizeof *grid, by_round);
    *count = 1;
    for (size_t i = 1; i < used; i++) {
        if (grid[i] != grid[*count - 1])
            grid[(*count)++] = grid[i];
    }
    return grid;
}

/* ---- what is true there ---- */

typedef struct family_functions { /* f_i, where there is one, and the bodies of sums over this family */
    const tc_family *family;
    tc_tape *tape; /* NULL: neither */
    bool has_objective;
    size_t *sums; /* numbers in the model of the bodies that follow */
    size_t body_count;
    size_t first_pack; /* where its sums begin among measure->packs */
} family_functions;

struct tc_measure {
    const tc_model *model;
    const tc_reference *reference;
    family_functions *families;
    tc_tape *outer; /* g; NULL without constraints */
    double *sums;
    double *work;
    double *values; /* TC_LANES for each root of a family */
    double **out, **outer_out;
    const double **state, **data;
    /* Sums over TC_LANES members, by family, pack and root, as bits; then the coordinates that constraints name. Ranks
     * fill in what they hold, and all add up in the same order. */
    uint64_t *packs;
    size_t pack_count;
    size_t *named; /* coordinates */
    size_t named_count;
    double *coords; /* several ranks: those coordinates, at their places; NULL: one rank */
};

static family_functions family_compile(tc_arena *arena, const tc_model *model, size_t f) {
    const tc_family *family = &model->families[f];
    family_functions functions = {.family = family, .has_objective = family->objective != TC_NO_EXPR};
    tc_expr *roots = TC_NEW(arena, tc_expr, model->sum_count + 1);
    size_t count = 0;
    if (functions.has_objective)
        roots[count++] = family->objective;
    functions.sums = TC_NEW(arena, size_t, model->sum_count + 1);
    for (size_t r = 0; r < model->sum_count; r++) {
        if (model->sums[r].family != f)
            continue;
        functions.sums[functions.body_count++] = r;
        roots[count++] = model->sums[r].body;
    }
    if (count > 0)
        functions.tape = tc_tape_new(arena, model->dag, roots, count);
    return functions;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void make_room(tc_measure *measure, tc_arena *arena) {
    size_t work = measure->outer == NULL ? 0 : tc_tape_work(measure->outer);
    size_t roots = 0, dim = 0, columns = 0;
    for (size_t f = 0; f < measure->model->family_count; f++) {
        const family_functions *functions = &measure->families[f];
        dim = larger(dim, functions->family->dim);
        columns = larger(columns, functions->family->column_count);
        if (functions->tape == NULL)
            continue;
        work = larger(work, tc_tape_work(functions->tape));
        roots = larger(roots, tc_tape_root_count(functions->tape));
    }
    measure->packs = TC_NEW(arena, uint64_t, measure->pack_count + measure->named_count);
    measure->coords = tc_ranks_several() ? TC_NEW(arena, double, measure->model->state_count) : NULL;
    measure->sums = TC_NEW(arena, double, measure->model->sum_count + 1);
    measure->work = TC_NEW(arena, double, work + 1);
    measure->values = TC_NEW(arena, double, roots *TC_LANES + 1);
    measure->out = TC_NEW(arena, double *, roots + 1);
    for (size_t i = 0; i < roots; i++)
        measure->out[i] = measure->values + i * TC_LANES;
    measure->outer_out = TC_NEW(arena, double *, measure->model->constraint_count + 1);
    measure->state = TC_NEW(arena, const double *, dim + 1);
    measure->data = TC_NEW(arena, const double *, columns + 1);
}

/* The coordinates of members that other ranks may hold. */
static void list_named(tc_measure *measure, tc_arena *arena) {
    const tc_dag *dag = measure->model->dag;
    for (size_t i = 0; tc_ranks_several() && i < dag->count; i++)
        if (dag->nodes[i].op == TC_COORD)
            TC_PUSH(arena, measure->named, measure->named_count, (size_t)dag->nodes[i].u.index);
}

tc_measure *tc_measure_new(tc_arena *arena, const tc_model *model, const tc_reference *reference) {
    tc_measure *measure = TC_NEW(arena, tc_measure, 1);
    measure->model = model;
    measure->reference = reference;
    measure->families = TC_NEW(arena, family_functions, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        family_functions *functions = &measure->families[f];
        *functions = family_compile(arena, model, f);
        functions->first_pack = measure->pack_count;
        if (functions->tape != NULL)
            measure->pack_count +=
                (functions->family->count + TC_LANES - 1) / TC_LANES * tc_tape_root_count(functions->tape);
    }
    list_named(measure, arena);
    if (model->constraint_count > 0) {
        tc_expr *roots = TC_NEW(arena, tc_expr, model->constraint_count);
        for (size_t j = 0; j < model->constraint_count; j++)
            roots[j] = model->constraints[j].outer;
        measure->outer = tc_tape_new(arena, model->dag, roots, model->constraint_count);
    }
    make_room(measure, arena);
    return measure;
}

static double lanes_sum(const double *values, size_t lanes) {
    double sum = 0;
    for (size_t k = 0; k < lanes; k++)
        sum += values[k];
    return sum;
}

/* Evaluates the members that this rank holds. */
static void sum_packs(tc_measure *measure, const family_functions *functions, const double *x) {
    const tc_family *family = functions->family;
    size_t roots = functions->tape == NULL ? 0 : tc_tape_root_count(functions->tape);
    tc_inputs inputs = {.state = measure->state, .data = measure->data};
    for (size_t first = family->held_first; roots > 0 && first < family->held_end; first += TC_LANES) {
        size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
        uint64_t *pack = measure->packs + functions->first_pack + first / TC_LANES * roots;
        for (size_t c = 0; c < family->dim; c++)
            measure->state[c] = x + tc_coord_of(family, first, c);
        for (size_t d = 0; d < family->column_count; d++)
            measure->data[d] = family->columns[d].values == NULL ? NULL : family->columns[d].values + first;
        tc_tape_eval(functions->tape, &inputs, lanes, measure->work, measure->out);
        for (size_t root = 0; root < roots; root++) {
            double sum = lanes_sum(measure->out[root], lanes);
            memcpy(&pack[root], &sum, sizeof sum);
        }
    }
}

/* The coordinates, with those that constraints name in place. */
static const double *share_packs(tc_measure *measure, const double *x) {
    uint64_t *named = measure->packs + measure->pack_count;
    if (measure->coords == NULL)
        return x;
    for (size_t i = 0; i < measure->named_count; i++) {
        const tc_family *family = tc_family_of_coord(measure->model, measure->named[i]);
        if (tc_holds(family, (measure->named[i] - family->first_coord) % family->count))
            memcpy(&named[i], &x[measure->named[i]], sizeof *named);
    }
    tc_ranks_sum(measure->packs, measure->pack_count + measure->named_count);
    for (size_t i = 0; i < measure->named_count; i++)
        memcpy(&measure->coords[measure->named[i]], &named[i], sizeof *named);
    return measure->coords;
}

/* Adds the members' objectives to *objective, and their terms to the inner sums: in the order of the members. */
static void add_family(tc_measure *measure, const family_functions *functions, double *objective) {
    size_t roots = functions->tape == NULL ? 0 : tc_tape_root_count(functions->tape);
    const uint64_t *next = measure->packs + functions->first_pack;
    for (size_t first = 0; roots > 0 && first < functions->family->count; first += TC_LANES)
        for (size_t root = 0; root < roots; root++) {
            bool is_objective = functions->has_objective && root == 0;
            double sum;
            memcpy(&sum, next++, sizeof sum);
            if (is_objective)
                *objective += sum;
            else
                measure->sums[functions->sums[root - functions->has_objective]] += sum;
        }
}

double tc_squared_distance(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

void tc_measure_row(tc_measure *measure, const double *x, const double *mu, tc_row *row) {
    const tc_model *model = measure->model;
    const tc_reference *reference = measure->reference;
    row->objective = 0;
    row->max_violation = 0;
    for (size_t r = 0; r < model->sum_count; r++)
        measure->sums[r] = 0;
    memset(measure->packs, 0, (measure->pack_count + measure->named_count) * sizeof *measure->packs);
    for (size_t f = 0; f < model->family_count; f++)
        sum_packs(measure, &measure->families[f], x);
    const double *coords = share_packs(measure, x);
    for (size_t f = 0; f < model->family_count; f++)
        add_family(measure, &measure->families[f], &row->objective);
    for (size_t j = 0; j < model->constraint_count; j++)
        measure->outer_out[j] = &row->constraints[j];
    if (measure->outer != NULL)
        tc_tape_eval(measure->outer, &(tc_inputs){.coords = coords, .sums = measure->sums}, 1, measure->work,
                     measure->outer_out);
    for (size_t j = 0; j < model->constraint_count; j++) {
        double violation = model->constraints[j].is_equality ? fabs(row->constraints[j]) : row->constraints[j];
        row->multipliers[j] = mu[j];
        if (!isnan(row->max_violation) && !(violation <= row->max_violation)) /* a NAN stays */
            row->max_violation = violation;
    }
    row->x_error = reference == NULL ? NAN : sqrt(tc_squared_distance(x, reference->x, model->state_count));
    row->mu_error = reference == NULL ? NAN : sqrt(tc_squared_distance(mu, reference->mu, model->constraint_count));
}

/* ---- over many runs ---- */

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void tc_sort_numbers(double *values, size_t count) { qsort(values, count, sizeof *values, by_value); }

double tc_quantile(const double *sorted, size_t count, double probability) {
    double place = probability * (double)(count - 1);
    size_t below = (size_t)place;
    double beyond = place - (double)below;
    if (below + 1 >= count || beyond == 0)
        return sorted[below];
    return sorted[below] + beyond * (sorted[below + 1] - sorted[below]);
}

tc_quantiles tc_quantiles_of(double *values, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i]))
            values[kept++] = values[i];
    }
    if (kept == 0)
        return (tc_quantiles){NAN, NAN, NAN, NAN, NAN};
    tc_sort_numbers(values, kept);
    return (tc_quantiles){.min = values[0],
                          .q10 = tc_quantile(values, kept, 0.1),
                          .median = tc_quantile(values, kept, 0.5),
                          .q90 = tc_quantile(values, kept, 0.9),
                          .max = values[kept - 1]};
}

const tc_row *tc_record_row(const tc_record *record, uint64_t k) {
    size_t at;
    TC_SEARCH(at, 0, record->row_count, record->rows[at].k < k);
    return at < record->row_count && record->rows[at].k == k ? &record->rows[at] : NULL;
}

const tc_row *tc_record_last(const tc_record *record) {
    return record->row_count == 0 ? NULL : &record->rows[record->row_count - 1];
}

tc_row_quantiles tc_rows_summarise(tc_arena *arena, const tc_record *records, size_t count, uint64_t k) {
    tc_mark mark = tc_arena_mark(arena);
    double *x = TC_NEW(arena, double, count + 1), *mu = TC_NEW(arena, double, count + 1);
    double *objective = TC_NEW(arena, double, count + 1), *violation = TC_NEW(arena, double, count + 1);
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const tc_row *row = tc_record_row(&records[i], k);
        if (row == NULL)
            continue;
        x[runs] = row->x_error;
        mu[runs] = row->mu_error;
        objective[runs] = row->objective;
        violation[runs++] = row->max_violation;
    }
    tc_row_quantiles summary = {.k = k,
                                .runs = runs,
                                .x_error = tc_quantiles_of(x, runs),
                                .mu_error = tc_quantiles_of(mu, runs),
                                .objective = tc_quantiles_of(objective, runs),
                                .max_violation = tc_quantiles_of(violation, runs)};
    tc_arena_rewind(arena, mark);
    return summary;
}
