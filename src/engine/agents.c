#include "engine/agents.h"

#include "engine/agents_parts.h"

/* Of resolved sets, in all families together. */
#define MOST_KEPT ((size_t)1 << 27)

static void new_family(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, size_t f,
                       size_t workers, size_t *memory, tc_agents_family *made) {
    const tc_family *family = &model->families[f];
    const tc_family_derivatives *of = &derivatives->families[f];
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
    made->gradient = tc_tape_new(arena, model->dag, roots, of->objective_first_count);
    made->projector = tc_projector_new(arena, family, workers, memory);
    if (!tc_projector_box(made->projector, &made->lower, &made->upper))
        made->lower = made->upper = NULL;
}

static void add_run(tc_agents_singles *s, size_t coord, size_t count) {
    tc_agents_run *last = s->run_count > 0 ? &s->runs[s->run_count - 1] : NULL;
    if (last != NULL && last->coord + last->count == coord)
        last->count += count;
    else
        s->runs[s->run_count++] = (tc_agents_run){.coord = coord, .place = s->count, .count = count};
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
    add_run(s, of->family->first_coord, of->family->dim);
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
    s->runs = TC_NEW(arena, tc_agents_run, count);
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
    size_t memory = MOST_KEPT;
    agents->model = model;
    agents->workers = workers;
    agents->families = TC_NEW(arena, tc_agents_family, model->family_count);
    for (size_t f = 0; f < model->family_count; f++)
        new_family(arena, model, derivatives, f, workers, &memory, &agents->families[f]);
    new_singles(arena, agents, derivatives);
    new_works(arena, agents);
    return agents;
}

void tc_agents_start(tc_agents *agents, double *x) {
    for (size_t f = 0; f < agents->model->family_count; f++) {
        const tc_family *family = agents->families[f].family;
        double *v = x + family->first_coord;
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count; k++)
                v[c * family->count + k] = tc_coef_at(family->start[c], k);
        agents->works[0].inaccurate +=
            tc_projector_project(agents->families[f].projector, 0, 0, family->count, family->count, v);
    }
}

uint64_t tc_agents_inaccurate(const tc_agents *agents) {
    uint64_t sum = 0;
    for (size_t w = 0; w < agents->workers; w++)
        sum += agents->works[w].inaccurate;
    return sum;
}
