#include "engine/agents.h"

#include "base/simd.h"
#include "engine/agents_inside.h"
#include "engine/published/published.h"

#include <string.h>

/* ---- making ------------------------------------------------------------------------------------------------------ */

void tc_agents_slopes_new(tc_arena *arena, const tc_dag *dag, const tc_family *family, const tc_family_derivatives *of,
                          tc_agents_family *made) {
    tc_expr *roots = TC_NEW(arena, tc_expr, of->objective_first_count);
    made->family = family;
    made->rows = TC_NEW(arena, int32_t, family->dim);
    made->data = TC_NEW(arena, const double *, family->column_count);
    for (size_t c = 0; c < family->dim; c++)
        made->rows[c] = TC_NO_ROW;
    for (size_t i = 0; i < of->objective_first_count; i++) {
        roots[i] = of->objective_first[i].value;
        made->rows[of->objective_first[i].column] = (int32_t)i;
    }
    for (size_t d = 0; d < family->column_count; d++)
        made->data[d] = family->columns[d].values;
    made->gradient = tc_tape_new(arena, dag, roots, of->objective_first_count);
}

void tc_agents_sets_new(tc_arena *arena, size_t workers, size_t *memory, tc_agents_family *made) {
    made->projector = tc_projector_new(arena, made->family, workers, memory);
    if (!tc_projector_box(made->projector, &made->lower, &made->upper))
        made->lower = made->upper = NULL;
}

static void add_range(tc_agents_singles *s, size_t coord, size_t count) {
    tc_coord_range *last = s->range_count > 0 ? &s->ranges[s->range_count - 1] : NULL;
    if (last != NULL && last->coord + last->count == coord)
        last->count += count;
    else
        s->ranges[s->range_count++] = (tc_coord_range){.coord = coord, .place = s->count, .count = count};
}

/* One single's derivatives and bounds, in their place among the coordinates. */
static void add_single(const tc_agents *agents, const tc_derivatives *derivatives, size_t f, tc_agents_singles *s,
                       tc_expr *roots) {
    const tc_agents_family *of = &agents->families[f];
    const tc_family_derivatives *slopes = &derivatives->families[f];
    for (size_t c = 0; c < of->family->dim; c++) {
        s->lower[s->count + c] = of->lower != NULL ? tc_coef_at(of->lower[c], 0) : -INFINITY;
        s->upper[s->count + c] = of->upper != NULL ? tc_coef_at(of->upper[c], 0) : INFINITY;
    }
    for (size_t i = 0; i < slopes->objective_first_count; i++) {
        roots[s->root_count] = slopes->objective_first[i].value;
        s->places[s->root_count++] = s->count + slopes->objective_first[i].column;
    }
    add_range(s, of->family->first_coord, of->family->dim);
}

static void new_singles(tc_arena *arena, tc_agents *agents, const tc_derivatives *derivatives) {
    const tc_model *model = agents->model;
    tc_agents_singles *s = &agents->singles;
    size_t count = 0, coords = 0, boxes = 0;
    for (size_t f = 0; f < model->family_count; f++)
        if (model->families[f].count == 1) {
            count++;
            coords += model->families[f].dim;
            s->shaped_count += agents->families[f].lower == NULL;
        }
    if (count == 0)
        return;
    tc_expr *roots = TC_NEW(arena, tc_expr, coords);
    s->ranges = TC_NEW(arena, tc_coord_range, count);
    s->families = TC_NEW(arena, size_t, count);
    s->begins = TC_NEW(arena, size_t, count);
    s->places = TC_NEW(arena, size_t, coords);
    s->lower = TC_NEW(arena, double, coords);
    s->upper = TC_NEW(arena, double, coords);
    for (size_t f = 0; f < model->family_count; f++) {
        if (model->families[f].count != 1)
            continue;
        bool is_box = agents->families[f].lower != NULL;
        size_t at = is_box ? s->shaped_count + boxes++ : s->family_count - boxes;
        s->families[at] = f;
        s->begins[at] = s->count;
        add_single(agents, derivatives, f, s, roots);
        s->family_count++;
        s->count += model->families[f].dim;
    }
    s->gradient = tc_program_new(arena, model, roots, s->root_count);
}

static void new_works(tc_arena *arena, tc_agents *agents) {
    size_t dim = 1, columns = 1, tape = 1;
    for (size_t f = 0; f < agents->model->family_count; f++) {
        const tc_agents_family *of = &agents->families[f];
        dim = of->family->dim > dim ? of->family->dim : dim;
        columns = of->family->column_count > columns ? of->family->column_count : columns;
        tape = tc_tape_work(of->gradient) > tape ? tc_tape_work(of->gradient) : tape;
    }
    agents->works = TC_NEW(arena, tc_agents_work, agents->workers);
    for (size_t w = 0; w < agents->workers; w++) {
        tc_agents_work *work = &agents->works[w];
        double *slopes = TC_NEW(arena, double, dim *TC_LANES);
        work->tape = TC_NEW(arena, double, tape);
        work->state_at = TC_NEW(arena, const double *, dim);
        work->data_at = TC_NEW(arena, const double *, columns);
        work->out_at = TC_NEW(arena, double *, dim);
        work->v = TC_NEW(arena, double, dim *TC_LANES);
        for (size_t c = 0; c < dim; c++)
            work->out_at[c] = slopes + c * TC_LANES;
        if (agents->singles.count == 0)
            continue;
        work->slopes = TC_NEW(arena, double, agents->singles.count);
        work->values = TC_NEW(arena, double, agents->singles.root_count);
        work->points = TC_NEW(arena, double, agents->singles.count);
        work->program = TC_NEW(arena, double, tc_program_work(agents->singles.gradient));
        tc_program_prepare(agents->singles.gradient, work->program);
    }
}

tc_agents *tc_agents_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, size_t workers) {
    tc_agents *agents = TC_NEW(arena, tc_agents, 1);
    size_t memory = TC_MOST_KEPT;
    agents->model = model;
    agents->workers = workers;
    agents->families = TC_NEW(arena, tc_agents_family, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        tc_agents_slopes_new(arena, model->dag, &model->families[f], &derivatives->families[f], &agents->families[f]);
        tc_agents_sets_new(arena, workers, &memory, &agents->families[f]);
    }
    new_singles(arena, agents, derivatives);
    new_works(arena, agents);
    return agents;
}

/* ---- the update itself, for one component of many members -------------------------------------------------------- */

typedef struct row_scalars {
    tc_pack step, regularization;
} row_scalars;

static row_scalars spread(tc_answer_scalars s) {
    return (row_scalars){tc_pack_of(s.step), tc_pack_of(s.regularization)};
}

TC_INLINE tc_pack moved(tc_pack x, tc_pack g, tc_pack p, row_scalars s) {
    return TC_STATE_UPDATE(x, g, p, s.step, s.regularization);
}

static const tc_pack_mask ALL = {-1, -1};

TC_INLINE bool all_of(tc_pack_mask mask) { return (mask[0] & mask[1]) == -1; }

/* The same four or eight at a time, as long as so many are left; returns how many are done. Zero times v is a zero of
 * some sign, unless v is infinite or no number. */
#ifdef TC_HAS_WIDE
TC_WIDE static size_t wide_row(size_t count, const double *g, const double *p, tc_answer_scalars answer,
                               const double *x, double lower, double upper, double *out, bool *finite) {
    const __m256d step = _mm256_set1_pd(answer.step), regularization = _mm256_set1_pd(answer.regularization);
    const __m256d low = _mm256_set1_pd(lower), high = _mm256_set1_pd(upper);
    __m256d gathered = _mm256_setzero_pd();
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        __m256d own = _mm256_loadu_pd(x + k);
        __m256d v = TC_STATE_UPDATE(own, _mm256_loadu_pd(g + k), _mm256_loadu_pd(p + k), step, regularization);
        gathered = _mm256_or_pd(gathered, v * _mm256_setzero_pd());
        _mm256_storeu_pd(out + k, _mm256_min_pd(high, _mm256_max_pd(low, v)));
    }
    *finite = _mm256_movemask_pd(_mm256_cmp_pd(gathered, gathered, _CMP_UNORD_Q)) == 0;
    return k;
}

TC_WIDEST static size_t widest_row(size_t count, const double *g, const double *p, tc_answer_scalars answer,
                                   const double *x, double lower, double upper, double *out, bool *finite) {
    const __m512d step = _mm512_set1_pd(answer.step), regularization = _mm512_set1_pd(answer.regularization);
    const __m512d low = _mm512_set1_pd(lower), high = _mm512_set1_pd(upper);
    __m512d gathered = _mm512_setzero_pd();
    size_t k = 0;
    for (; k + 8 <= count; k += 8) {
        __m512d own = _mm512_loadu_pd(x + k);
        __m512d v = TC_STATE_UPDATE(own, _mm512_loadu_pd(g + k), _mm512_loadu_pd(p + k), step, regularization);
        gathered = _mm512_or_pd(gathered, v * _mm512_setzero_pd());
        _mm512_storeu_pd(out + k, _mm512_min_pd(high, _mm512_max_pd(low, v)));
    }
    *finite = _mm512_cmp_pd_mask(gathered, gathered, _CMP_UNORD_Q) == 0;
    return k;
}
#endif

bool tc_agents_row(size_t count, const double *g, const double *p, tc_answer_scalars answer, const double *x,
                   double lower, double upper, double *out) {
    const row_scalars s = spread(answer);
    const tc_pack low = tc_pack_of(lower), high = tc_pack_of(upper);
    tc_pack_mask finite = ALL;
    bool is_first_finite = true;
    size_t k = 0;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST())
        k = widest_row(count, g, p, answer, x, lower, upper, out, &is_first_finite);
    else if (TC_IS_WIDE())
        k = wide_row(count, g, p, answer, x, lower, upper, out, &is_first_finite);
#endif
    for (; k + 2 <= count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), s);
        finite &= tc_pack_is_finite(v);
        tc_pack_store(out + k, tc_pack_clip(v, low, high));
    }
    if (k < count) {
        tc_pack v = moved(tc_pack_of(x[k]), tc_pack_of(g[k]), tc_pack_of(p[k]), s);
        finite &= tc_pack_is_finite(v);
        out[k] = tc_pack_clip(v, low, high)[0];
    }
    return is_first_finite && all_of(finite);
}

/* The same with bounds for each, which may be infinite. */
static bool clipped_row(size_t count, const double *g, const double *p, tc_answer_scalars answer, const double *x,
                        const double *lower, const double *upper, double *out) {
    const row_scalars s = spread(answer);
    tc_pack_mask finite = ALL;
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), s);
        finite &= tc_pack_is_finite(v);
        tc_pack_store(out + k, tc_pack_clip(v, tc_pack_load(lower + k), tc_pack_load(upper + k)));
    }
    if (k < count) {
        tc_pack v = moved(tc_pack_of(x[k]), tc_pack_of(g[k]), tc_pack_of(p[k]), s);
        finite &= tc_pack_is_finite(v);
        out[k] = tc_pack_clip(v, tc_pack_of(lower[k]), tc_pack_of(upper[k]))[0];
    }
    return all_of(finite);
}

/* ---- families of many: gradients by tape, TC_LANES members at a time --------------------------------------------- */

static const double ZEROS[TC_LANES];

typedef struct agents_block { /* members first .. first + count - 1, at most TC_LANES, at `at` of the caller's rows */
    const tc_agents_family *of;
    tc_agents_work *work;
    size_t first, count, at;
    const double *const *p;
    const double *const *x;
    tc_answer_scalars scalars;
} agents_block;

static void gradient(const agents_block *b) {
    tc_agents_work *work = b->work;
    for (size_t c = 0; c < b->of->family->dim; c++)
        work->state_at[c] = b->x[c] + b->at;
    for (size_t d = 0; d < b->of->family->column_count; d++)
        work->data_at[d] = b->of->data[d] + b->first;
    const tc_inputs inputs = {.state = work->state_at, .data = work->data_at};
    tc_tape_eval(b->of->gradient, &inputs, b->count, work->tape, work->out_at);
}

static const double *slopes_of(const agents_block *b, size_t c) {
    return b->of->rows[c] == TC_NO_ROW ? ZEROS : b->work->out_at[b->of->rows[c]];
}

/* A row of bounds: a column's, or one spread into spare. */
static const double *bounds_row(tc_coef bound, const agents_block *b, double *spare) {
    if (bound.column != NULL)
        return bound.column + b->first;
    for (size_t k = 0; k < b->count; k++)
        spare[k] = bound.value;
    return spare;
}

static void store(const agents_block *b, double *const *next) {
    for (size_t c = 0; c < b->of->family->dim; c++)
        memcpy(next[c] + b->at, b->work->v + c * TC_LANES, b->count * sizeof(double));
}

/* In one pass. In place the new states wait in the thread's own rows until all are known to be finite. */
static bool step_boxes(const agents_block *b, double *const *next) {
    double lower[TC_LANES], upper[TC_LANES];
    bool is_finite = true, in_place = (const double *)next[0] == b->x[0];
    for (size_t c = 0; c < b->of->family->dim; c++) {
        tc_coef low = b->of->lower[c], high = b->of->upper[c];
        const double *g = slopes_of(b, c), *p = b->p[c] + b->at, *x = b->x[c] + b->at;
        double *out = in_place ? b->work->v + c * TC_LANES : next[c] + b->at;
        if (low.column == NULL && high.column == NULL)
            is_finite &= tc_agents_row(b->count, g, p, b->scalars, x, low.value, high.value, out);
        else
            is_finite &=
                clipped_row(b->count, g, p, b->scalars, x, bounds_row(low, b, lower), bounds_row(high, b, upper), out);
    }
    if (in_place && is_finite)
        store(b, next);
    return is_finite;
}

/* v without bounds, in the thread's own rows. */
static bool move(const agents_block *b) {
    bool is_finite = true;
    for (size_t c = 0; c < b->of->family->dim; c++)
        is_finite &= tc_agents_row(b->count, slopes_of(b, c), b->p[c] + b->at, b->scalars, b->x[c] + b->at, -INFINITY,
                                   INFINITY, b->work->v + c * TC_LANES);
    return is_finite;
}

static size_t first_not_finite(const agents_block *b) {
    for (size_t k = 0; k < b->count; k++)
        for (size_t c = 0; c < b->of->family->dim; c++)
            if (!isfinite(b->work->v[c * TC_LANES + k]))
                return b->first + k;
    return TC_ALL_FINITE;
}

static size_t step_shapes(const agents_block *b, size_t worker, double *const *next) {
    if (!move(b))
        return first_not_finite(b);
    b->work->inaccurate += tc_projector_project(b->of->projector, worker, b->first, b->count, TC_LANES, b->work->v);
    store(b, next);
    return TC_ALL_FINITE;
}

static size_t step_block(const agents_block *b, size_t worker, double *const *next) {
    gradient(b);
    if (b->of->lower == NULL)
        return step_shapes(b, worker, next);
    if (step_boxes(b, next))
        return TC_ALL_FINITE;
    (void)move(b);
    return first_not_finite(b);
}

size_t tc_agents_next(tc_agents *agents, size_t worker, size_t family, size_t first, size_t count,
                      const double *const *p, tc_answer_scalars scalars, const double *const *x, double *const *next) {
    agents_block b = {
        .of = &agents->families[family], .work = &agents->works[worker], .p = p, .x = x, .scalars = scalars};
    for (size_t at = 0; at < count; at += TC_LANES) {
        b.at = at;
        b.first = first + at;
        b.count = count - at < TC_LANES ? count - at : TC_LANES;
        size_t member = step_block(&b, worker, next);
        if (member != TC_ALL_FINITE)
            return member;
    }
    return TC_ALL_FINITE;
}

/* ---- families of one, all together: one program for their gradients, one pass over their coordinates ------------- */

static size_t first_single_not_finite(const tc_agents *agents, const tc_agents_work *work, const double *p,
                                      tc_answer_scalars scalars, const double *x) {
    const tc_agents_singles *s = &agents->singles;
    size_t found = TC_ALL_FINITE;
    for (size_t i = 0; i < s->family_count; i++) {
        const tc_family *family = &agents->model->families[s->families[i]];
        for (size_t c = 0; c < family->dim; c++) {
            size_t at = family->first_coord + c;
            double v =
                TC_STATE_UPDATE(x[at], work->slopes[s->begins[i] + c], p[at], scalars.step, scalars.regularization);
            if (!isfinite(v) && s->families[i] < found)
                found = s->families[i];
        }
    }
    return found;
}

/* Entries that are zero by structure stay zero. */
static void evaluate(const tc_agents_singles *s, const tc_agents_work *work, const double *x) {
    if (s->root_count == s->count) {
        tc_program_eval(s->gradient, x, NULL, work->program, work->slopes);
        return;
    }
    tc_program_eval(s->gradient, x, NULL, work->program, work->values);
    for (size_t i = 0; i < s->root_count; i++)
        work->slopes[s->places[i]] = work->values[i];
}

size_t tc_agents_next_singles(tc_agents *agents, size_t worker, const double *p, tc_answer_scalars scalars,
                              const double *x, double *next) {
    const tc_agents_singles *s = &agents->singles;
    tc_agents_work *work = &agents->works[worker];
    if (s->count == 0)
        return TC_ALL_FINITE;
    evaluate(s, work, x);
    bool is_finite = true;
    for (size_t r = 0; r < s->range_count; r++) {
        tc_coord_range range = s->ranges[r];
        is_finite &= clipped_row(range.count, work->slopes + range.place, p + range.coord, scalars, x + range.coord,
                                 s->lower + range.place, s->upper + range.place, work->points + range.place);
    }
    if (!is_finite)
        return first_single_not_finite(agents, work, p, scalars, x);
    for (size_t i = 0; i < s->shaped_count; i++)
        work->inaccurate += tc_projector_project(agents->families[s->families[i]].projector, worker, 0, 1, 1,
                                                 work->points + s->begins[i]);
    for (size_t r = 0; r < s->range_count; r++)
        memcpy(next + s->ranges[r].coord, work->points + s->ranges[r].place, s->ranges[r].count * sizeof *next);
    return TC_ALL_FINITE;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void tc_agents_start(tc_agents *agents, double *x) {
    for (size_t f = 0; f < agents->model->family_count; f++) {
        const tc_family *family = agents->families[f].family;
        double *v = x + family->first_coord;
        size_t first = family->held_first, held = family->held_end - first;
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = first; k < family->held_end; k++)
                v[c * family->count + k] = tc_coef_at(family->start[c], k);
        agents->works[0].inaccurate +=
            tc_projector_project(agents->families[f].projector, 0, first, held, family->count, v + first);
    }
}

uint64_t tc_agents_inaccurate(const tc_agents *agents) {
    uint64_t sum = 0;
    for (size_t w = 0; w < agents->workers; w++)
        sum += agents->works[w].inaccurate;
    return sum;
}
