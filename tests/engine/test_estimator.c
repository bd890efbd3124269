/* The estimator against a plain evaluation: member by member, derivative by derivative, in long double sums. */
#include "engine/tacit/estimator.h"
#include "calculus/tape/tape.h"
#include "engine/tacit/estimator_inside.h"
#include "engine/runs.h"
#include "solver/problem.h"

#include <float.h>

/* ---- problems ------------------------------------------------------------------------------------------------------
 */

#define CROWD                                                                                                          \
    "agents a[i in 1..4501] {\n param w = 0.2 + i / 4501\n param v = (i * 0.37 - floor(i * 0.37)) - 0.5\n"             \
    " state x in [-1, 1 + w / 2]\n state y in [v - 1, 2]\n private minimize x\n}\n"                                    \
    "agents b[i in 1..70] {\n param c = i / 70\n state z[3] in [-2, 1.5]\n private minimize z[1]\n}\n"                 \
    "agent c {\n state s[2] in [0.5, 4]\n private minimize s[1]\n}\n"                                                  \
    "agents idle[i in 1..3000] {\n state t in [-1, 1]\n private minimize t\n}\n"

typedef struct kind {
    const char *text;
    bool is_quadratic; /* in every body */
} kind;

static const kind KINDS[] = {
    {CROWD "constraint c1: sum(a: 2 * x - v * y + 3) + c.s[1] <= 9e3\n"
           "constraint c2: sum(a: w * x) + sum(b: c * z[2] - z[3]) + idle[2100].t <= 9e3\n"
           "constraint c3[j in 1..3]: sum(a: j * x + y / j) - sum(b: z[j]) + a[17].x <= 9e3\n",
     true},
    {CROWD "constraint c1[j in 1..10]: sum(a: j * x^2 + y^2 / j) <= 9e5\n"
           "constraint c2: sum(a: (x - v)^2 * w + x * y - 3 * y + w * v) + sum(b: quadform(z, [[2, 1, 0.5], [1, 3, 0], "
           "[0.5, 0, 1]])) <= 9e4\n"
           "constraint c3: (sum(a: x - y) / 100)^2 + sum(b: c * z[1] * z[2]) + c.s[1] * c.s[2] + a[4500].y^2 <= 9e9\n"
           "constraint c5: sum(a: -(x * (y + w))) - sum(a: 1 - (x - y + 0.3)^2 / 7) <= 9e9\n"
           "constraint c4: idle[1].t^2 + idle[2900].t + sum(b: 2 * (z[3] - 1)^2 - 4 * (z[3] - 1)^2 * c) <= 900\n",
     true},
    {CROWD "constraint c1: sum(a: w * x^4 + exp(v * x - y)) + sum(a: exp((x + y) / 4)) <= 9e5\n"
           "constraint c2: sum(a: log(4 + x + y * w)) + sum(b: exp(z[1] + c * z[2]) + z[3]^4 / 4) <= 9e5\n"
           "constraint c3: exp(sum(a: x * y) / 9e3) + sum(b: huber(z[1], 0.5) * c) + log(c.s[1]) + b[3].z[2]^2 <= 9e3\n"
           "constraint c4: sum(b: logsumexp(z[1], z[2], z[3])) + a[2049].x * a[3].y + exp(a[2049].x) <= 9e3\n",
     false},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* A plan with a channel for each family; one that constraints name by members only gets three. */
static tc_plan *states_plan(const problem *p, tc_mechanism mechanism) {
    tc_plan *plan = TC_NEW(p->arena, tc_plan, 1);
    *plan = (tc_plan){.model = p->model,
                      .measured = p->model,
                      .measured_derivatives = p->derivatives,
                      .mechanism = mechanism,
                      .method = TC_METHOD_TACIT,
                      .placement = TC_PLACEMENT_STATES,
                      .channels = TC_NEW(p->arena, tc_channel, p->model->family_count + 2)};
    for (uint32_t f = 0; f < p->model->family_count && mechanism != TC_MECHANISM_NONE; f++) {
        bool all = p->derivatives->families[f].body_count > 0;
        size_t count = p->model->families[f].count;
        for (size_t part = 0; part < (all || count == 1 ? 1 : 3); part++)
            plan->channels[plan->channel_count++] =
                (tc_channel){.kind = TC_CHANNEL_STATES,
                             .family = f,
                             .first_member = all || count == 1 ? 0 : part * (count / 3),
                             .member_count = all || count == 1 ? count : count / 3,
                             .variance = 0.3 + f * 0.4 + (double)part};
    }
    return plan;
}

/* Made up. */
static double scale_at(const tc_model *model, size_t coordinate) {
    const tc_family *family = tc_family_of_coord(model, coordinate);
    size_t component = (coordinate - family->first_coord) / family->count;
    return ldexp(1, -(int)((component + (size_t)(family - model->families)) % 4));
}

static tc_state_scales made_up_scales(tc_arena *arena, const tc_model *model) {
    double **made = TC_NEW(arena, double *, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        made[f] = TC_NEW(arena, double, model->families[f].dim + 1);
        for (size_t c = 0; c < model->families[f].dim; c++)
            made[f][c] = scale_at(model, tc_coord_of(&model->families[f], 0, c));
    }
    return (tc_state_scales)made;
}

static tc_estimator *new_estimator(const problem *p, const tc_plan *plan, const tc_released *constants,
                                   size_t workers) {
    tc_escape escape;
    if (TC_TRY(p->arena, &escape) != TC_OK)
        fail_msg("raised");
    tc_state_scales scales = made_up_scales(p->arena, p->model);
    tc_estimator *estimator = tc_estimator_new(p->arena, plan, p->model, p->derivatives, constants, scales, workers);
    tc_escape_end(p->arena, &escape);
    return estimator;
}

/* Not released: what no constraint depends on. */
static void draw_states(const problem *p, uint64_t *seed, double *x_hat) {
    for (size_t i = 0; i < p->model->state_count; i++)
        x_hat[i] = 4 * random_unit(seed) - 2;
    const tc_family *idle = &p->model->families[p->model->family_count - 1];
    for (size_t k = 0; k < idle->count; k++)
        x_hat[idle->first_coord + k] = NAN;
    for (size_t i = p->model->sum_count; i < p->derivatives->input_count; i++)
        if (isnan(x_hat[p->derivatives->inputs[i].index]))
            x_hat[p->derivatives->inputs[i].index] = 4 * random_unit(seed) - 2;
}

/* ---- the plain evaluation ------------------------------------------------------------------------------------------
 */

typedef struct number {
    long double sum, size; /* size: of what was added, for a tolerance */
} number;

static void add_to(number *to, long double value) {
    to->sum += value;
    to->size += fabsl(value);
}

static void expect(const char *what, size_t at, number wanted, double found) {
    if (!(fabsl(wanted.sum - found) <= 1e-13L * wanted.size + 1e-300L))
        fail_msg("%s[%zu] is %.17g, not %.17Lg (of size %.3Lg)", what, at, found, wanted.sum, wanted.size);
}

typedef struct slow {
    const problem *p;
    double *y, *r, *inside, *variance, *scale;
    number *value, *shift, *curve, *trace, *noise, *norm1, *norm2, *rest, *rest_curve, *scaled; /* by input */
    number *price, *reach, *bend, *bend_noise;                                                  /* by coordinate */
} slow;

static slow slow_of(const problem *p, const tc_plan *plan) {
    slow s = {.p = p};
    double **doubles[] = {&s.y, &s.r, &s.inside, &s.variance, &s.scale};
    number **inputs[] = {&s.value, &s.shift, &s.curve, &s.trace,      &s.noise,
                         &s.norm1, &s.norm2, &s.rest,  &s.rest_curve, &s.scaled};
    number **coords[] = {&s.price, &s.reach, &s.bend, &s.bend_noise};
    for (size_t i = 0; i < 5; i++)
        *doubles[i] = TC_NEW(p->arena, double, p->model->state_count);
    for (size_t i = 0; i < p->model->state_count; i++)
        s.scale[i] = scale_at(p->model, i);
    for (size_t i = 0; i < 10; i++)
        *inputs[i] = TC_NEW(p->arena, number, p->derivatives->input_count);
    for (size_t i = 0; i < 4; i++)
        *coords[i] = TC_NEW(p->arena, number, p->model->state_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        const tc_family *family = &p->model->families[channel->family];
        for (size_t k = 0; k < channel->member_count; k++)
            for (size_t c = 0; c < family->dim; c++)
                s.variance[tc_coord_of(family, channel->first_member + k, c)] = channel->variance;
    }
    return s;
}

static double box_of(const slow *s, size_t coordinate, bool upper) {
    const tc_family *family = tc_family_of_coord(s->p->model, coordinate);
    size_t offset = coordinate - family->first_coord;
    return tc_coef_at((upper ? family->upper : family->lower)[offset / family->count], offset % family->count);
}

static void slow_filter(slow *s, tc_gains gains, const double *x_hat) {
    for (size_t i = 0; i < s->p->model->state_count; i++) {
        s->y[i] += gains.beta * (x_hat[i] - s->y[i]);
        s->r[i] += gains.slow * (x_hat[i] - s->r[i]);
        s->inside[i] = s->r[i] < box_of(s, i, false)  ? box_of(s, i, false)
                       : s->r[i] > box_of(s, i, true) ? box_of(s, i, true)
                                                      : s->r[i];
    }
}

typedef struct member_values { /* bodies and their derivatives of one member after another */
    const tc_family *family;
    tc_tape *tape;
    double *work, *values, **out;
    const double **state, **data;
} member_values;

static member_values values_of(const slow *s, size_t f, bool bodies_alone) {
    const tc_family_derivatives *d = &s->p->derivatives->families[f];
    tc_arena *arena = s->p->arena;
    member_values v = {.family = &s->p->model->families[f]};
    size_t count = d->body_count + d->body_first_count + d->body_second_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count);
    for (size_t i = 0; i < d->body_count; i++)
        roots[i] = d->bodies[i];
    for (size_t i = 0; i < d->body_first_count; i++)
        roots[d->body_count + i] = d->body_first[i].value;
    for (size_t i = 0; i < d->body_second_count; i++)
        roots[d->body_count + d->body_first_count + i] = d->body_second[i].value;
    if (d->body_count == 0)
        return v;
    v.tape = tc_tape_new(arena, s->p->model->dag, roots, bodies_alone ? d->body_count : count);
    v.work = TC_NEW(arena, double, tc_tape_work(v.tape));
    v.values = TC_NEW(arena, double, count);
    v.out = TC_NEW(arena, double *, count);
    for (size_t i = 0; i < count; i++)
        v.out[i] = &v.values[i];
    v.state = TC_NEW(arena, const double *, v.family->dim);
    v.data = TC_NEW(arena, const double *, v.family->column_count);
    return v;
}

static void evaluate_member(const member_values *v, const double *x, size_t k) {
    for (size_t c = 0; c < v->family->dim; c++)
        v->state[c] = x + tc_coord_of(v->family, k, c);
    for (size_t i = 0; i < v->family->column_count; i++)
        v->data[i] = v->family->columns[i].values + k;
    tc_tape_eval(v->tape, &(tc_inputs){.state = v->state, .data = v->data}, 1, v->work, v->out);
}

static void slow_member(slow *s, const tc_family_derivatives *d, const member_values *v, size_t k) {
    evaluate_member(v, s->inside, k);
    for (size_t i = 0; i < d->body_count; i++)
        add_to(&s->value[d->sums[i]], v->values[i]);
    for (size_t i = 0; i < d->body_first_count; i++) {
        size_t at = tc_coord_of(v->family, k, d->body_first[i].column), sum = d->sums[d->body_first[i].row];
        long double b = v->values[d->body_count + i];
        add_to(&s->shift[sum], b * (s->y[at] - s->inside[at]));
        add_to(&s->rest[sum], b * (s->r[at] - s->inside[at]));
        add_to(&s->noise[sum], s->variance[at] * b * b);
        add_to(&s->norm1[sum], fabsl(b));
        add_to(&s->scaled[sum], fabsl(b) * s->scale[at]);
        add_to(&s->norm2[sum], b * b * s->scale[at] * s->scale[at]);
    }
    for (size_t i = 0; i < d->body_second_count; i++) {
        const tc_second *second = &d->body_second[i];
        size_t at = tc_coord_of(v->family, k, second->column), other = tc_coord_of(v->family, k, second->other);
        long double h = v->values[d->body_count + d->body_first_count + i];
        long double times = second->column == second->other ? 1 : 2;
        add_to(&s->curve[d->sums[second->row]],
               times * h * (s->y[at] - s->inside[at]) * (s->y[other] - s->inside[other]));
        add_to(&s->rest_curve[d->sums[second->row]],
               times * h * (s->r[at] - s->inside[at]) * (s->r[other] - s->inside[other]));
        if (at == other)
            add_to(&s->trace[d->sums[second->row]], s->variance[at] * h);
    }
}

static void slow_inputs(slow *s) {
    const tc_derivatives *d = s->p->derivatives;
    number *all[] = {s->value, s->shift, s->curve, s->trace,      s->noise,
                     s->norm1, s->norm2, s->rest,  s->rest_curve, s->scaled};
    for (size_t i = 0; i < 10; i++)
        memset(all[i], 0, d->input_count * sizeof *all[i]);
    for (size_t f = 0; f < s->p->model->family_count; f++) {
        member_values v = values_of(s, f, false);
        for (size_t k = 0; v.tape != NULL && k < v.family->count; k++)
            slow_member(s, &d->families[f], &v, k);
    }
    for (size_t i = s->p->model->sum_count; i < d->input_count; i++) {
        size_t c = (size_t)d->inputs[i].index;
        add_to(&s->value[i], s->inside[c]);
        add_to(&s->shift[i], s->y[c] - s->inside[c]);
        add_to(&s->rest[i], s->r[c] - s->inside[c]);
        add_to(&s->noise[i], s->variance[c]);
        add_to(&s->norm1[i], 1);
        add_to(&s->scaled[i], s->scale[c]);
        add_to(&s->norm2[i], s->scale[c] * s->scale[c]);
    }
}

static void compare_inputs(const slow *s, const tc_measurement *g) {
    assert_int_equal(g->count, s->p->derivatives->input_count);
    for (size_t i = 0; i < g->count; i++) {
        expect("value", i, s->value[i], g->value[i]);
        expect("shift", i, s->shift[i], g->shift[i]);
        expect("curve", i, s->curve[i], g->curve[i]);
        expect("trace", i, s->trace[i], g->trace[i]);
        expect("noise", i, s->noise[i], g->noise[i]);
        expect("norm1", i, s->norm1[i], g->norm1[i]);
        expect("reach", i, s->scaled[i], g->reach[i]);
        expect("norm2", i, s->norm2[i], g->norm2[i]);
        expect("rest", i, s->rest[i], g->rest[i]);
        expect("rest_curve", i, s->rest_curve[i], g->rest_curve[i]);
    }
}

/* ---- the second pass, plainly --------------------------------------------------------------------------------------
 */

static void answer_member(slow *s, const tc_family_derivatives *d, const member_values *v, const tc_tariff *t, size_t k,
                          long double *hessian) {
    size_t dim = v->family->dim;
    evaluate_member(v, s->inside, k);
    memset(hessian, 0, dim * dim * sizeof *hessian);
    for (size_t i = 0; i < d->body_first_count; i++) {
        size_t at = tc_coord_of(v->family, k, d->body_first[i].column), sum = d->sums[d->body_first[i].row];
        long double b = v->values[d->body_count + i];
        add_to(&s->price[at], t->price[sum] * b);
        add_to(&s->reach[at], s->scale[at] * t->reach[sum] * fabsl(b));
    }
    for (size_t i = 0; i < d->body_second_count; i++) {
        const tc_second *second = &d->body_second[i];
        size_t at = tc_coord_of(v->family, k, second->column), other = tc_coord_of(v->family, k, second->other);
        long double h =
            (long double)t->curvature[d->sums[second->row]] * v->values[d->body_count + d->body_first_count + i];
        hessian[second->column * dim + second->other] += h;
        add_to(&s->price[at], h * (s->y[other] - s->inside[other]));
        s->bend[at].size += fabsl(h) * s->scale[at] * s->scale[other];
        if (at == other)
            continue;
        hessian[second->other * dim + second->column] += h;
        add_to(&s->price[other], h * (s->y[at] - s->inside[at]));
        s->bend[other].size += fabsl(h) * s->scale[at] * s->scale[other];
    }
    for (size_t c = 0; c < dim; c++)
        for (size_t e = 0; e < dim; e++) {
            size_t at = tc_coord_of(v->family, k, c), other = tc_coord_of(v->family, k, e);
            long double h = s->scale[at] * hessian[c * dim + e];
            s->bend[at].sum += s->scale[other] * (c == e ? h : fabsl(h));
            add_to(&s->bend_noise[at], h * h * s->variance[other]);
        }
}

static void slow_answer(slow *s, const tc_tariff *t) {
    const tc_derivatives *d = s->p->derivatives;
    number *all[] = {s->price, s->reach, s->bend, s->bend_noise};
    for (size_t i = 0; i < 4; i++)
        memset(all[i], 0, s->p->model->state_count * sizeof *all[i]);
    for (size_t f = 0; f < s->p->model->family_count; f++) {
        member_values v = values_of(s, f, false);
        long double *hessian = v.tape == NULL ? NULL : TC_NEW(s->p->arena, long double, v.family->dim *v.family->dim);
        for (size_t k = 0; v.tape != NULL && k < v.family->count; k++)
            answer_member(s, &d->families[f], &v, t, k, hessian);
    }
    for (size_t i = s->p->model->sum_count; i < d->input_count; i++) {
        size_t c = (size_t)d->inputs[i].index;
        add_to(&s->price[c], t->price[i]);
        add_to(&s->reach[c], s->scale[c] * t->reach[i]);
        add_to(&s->bend[c], t->bend[i]);
        add_to(&s->bend_noise[c], t->bend_noise[i]);
    }
}

static void compare_answers(const slow *s, const double *p, tc_columns found) {
    number reach = {0}, curvature = {0}, noise = {0};
    for (size_t c = 0; c < s->p->model->state_count; c++) {
        if (p != NULL)
            expect("p", c, s->price[c], p[c]);
        reach.sum = fmaxl(reach.sum, s->reach[c].sum);
        curvature.sum = fmaxl(curvature.sum, s->bend[c].sum);
        curvature.size = fmaxl(curvature.size, s->bend[c].size);
        add_to(&noise, s->bend_noise[c].sum);
        noise.size += s->bend_noise[c].size;
    }
    reach.size = reach.sum;
    expect("reach", 0, reach, found.reach);
    expect("curvature", 0, curvature, found.curvature);
    noise.size *= 100; /* squares of differences */
    expect("noise", 0, noise, found.noise);
}

static void draw_tariff(const problem *p, const tc_tariff *t, uint64_t *seed) {
    for (size_t i = 0; i < p->derivatives->input_count; i++) {
        bool single = p->derivatives->inputs[i].op == TC_COORD, silent = random_unit(seed) < 0.2;
        double price = random_unit(seed) - 0.5, curvature = random_unit(seed) - 0.3, reach = random_unit(seed),
               bend = random_unit(seed) - 0.5, noise = random_unit(seed);
        t->price[i] = silent ? 0 : price;
        t->curvature[i] = silent || single ? 0 : curvature;
        t->reach[i] = silent ? 0 : reach;
        t->bend[i] = single ? bend : 0;
        t->bend_noise[i] = single ? noise : 0;
    }
}

/* ---- tests ---------------------------------------------------------------------------------------------------------
 */

static const tc_gains GAINS[] = {{1, 1}, {0.4, 0.75}, {0.3, 0.6}, {0.9, 0.05}};

static void inputs_and_answers_are_those_of_a_plain_evaluation(void **state) {
    (void)state;
    const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_NONE};
    for (size_t i = 0; i < 2 * KIND_COUNT; i++) {
        uint64_t seed = 17 + i;
        problem p = problem_of(KINDS[i / 2].text);
        const tc_plan *plan = states_plan(&p, mechanisms[i % 2]);
        tc_estimator *estimator = new_estimator(&p, plan, NULL, 1);
        slow s = slow_of(&p, plan);
        double *x_hat = TC_NEW(p.arena, double, p.model->state_count);
        double *answers = TC_NEW(p.arena, double, p.model->state_count);
        for (size_t round = 0; round < 4; round++) {
            AT_CASE(round);
            draw_states(&p, &seed, x_hat);
            tc_estimator_open(estimator, GAINS[round]);
            tc_estimator_take_whole(estimator, x_hat);
            const tc_measurement *measurement = tc_estimator_close(estimator);
            slow_filter(&s, GAINS[round], x_hat);
            slow_inputs(&s);
            compare_inputs(&s, measurement);
            if (round != 2) /* once with the tariff of the round before */
                draw_tariff(&p, tc_estimator_tariff(estimator), &seed);
            tc_estimator_price(estimator);
            tc_estimator_answer_whole(estimator, round == 1 ? NULL : answers);
            slow_answer(&s, tc_estimator_tariff(estimator));
            compare_answers(&s, round == 1 ? NULL : answers, tc_estimator_columns(estimator));
        }
        problem_free(&p);
    }
}

/* Quadratic bodies are their own expansions: what is measured is the sum at y, whose mean is that at the states. */
static void quadratic_sums_are_measured_at_both_filters_exactly(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        uint64_t seed = 5 + i;
        if (!KINDS[i].is_quadratic)
            continue;
        problem p = problem_of(KINDS[i].text);
        const tc_plan *plan = states_plan(&p, TC_MECHANISM_GAUSSIAN);
        tc_estimator *estimator = new_estimator(&p, plan, NULL, 1);
        slow s = slow_of(&p, plan);
        double *x_hat = TC_NEW(p.arena, double, p.model->state_count);
        const tc_measurement *g = NULL;
        for (size_t round = 0; round < 3; round++) {
            draw_states(&p, &seed, x_hat);
            tc_estimator_open(estimator, GAINS[round]);
            tc_estimator_take_whole(estimator, x_hat);
            g = tc_estimator_close(estimator);
            slow_filter(&s, GAINS[round], x_hat);
        }
        number *at_y = TC_NEW(p.arena, number, g->count), *at_r = TC_NEW(p.arena, number, g->count);
        for (size_t f = 0; f < p.model->family_count; f++) {
            const tc_family_derivatives *d = &p.derivatives->families[f];
            member_values v = values_of(&s, f, true);
            for (size_t k = 0; v.tape != NULL && k < v.family->count; k++) {
                evaluate_member(&v, s.y, k);
                for (size_t b = 0; b < d->body_count; b++)
                    add_to(&at_y[d->sums[b]], v.values[b]);
                evaluate_member(&v, s.r, k);
                for (size_t b = 0; b < d->body_count; b++)
                    add_to(&at_r[d->sums[b]], v.values[b]);
            }
        }
        for (size_t b = 0; b < p.model->sum_count; b++) {
            at_y[b].size *= 10;
            at_r[b].size *= 10;
            expect("y", b, at_y[b], g->value[b] + g->shift[b] + g->curve[b] / 2);
            expect("r", b, at_r[b], g->value[b] + g->rest[b] + g->rest_curve[b] / 2);
        }
        problem_free(&p);
    }
}

typedef struct piece {
    size_t family, block, at;
} piece;

static void shuffle(piece *pieces, size_t count, uint64_t *seed) {
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)(random_unit(seed) * (double)i);
        piece kept = pieces[i - 1];
        pieces[i - 1] = pieces[k];
        pieces[k] = kept;
    }
}

static size_t list_pieces(const tc_model *model, size_t length, piece *pieces) {
    size_t count = 0;
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t k = 0; k < model->families[f].count; k += length)
            pieces[count++] = (piece){f, k / TC_RELEASE_BLOCK, k % TC_RELEASE_BLOCK};
    return count;
}

enum { WORKERS = 3, MOST_DIM = 8 };

static void take_shuffled(const problem *p, tc_estimator *estimator, const double *x_hat, piece *pieces,
                          uint64_t *seed) {
    size_t count = list_pieces(p->model, TC_RELEASE_BLOCK, pieces);
    shuffle(pieces, count, seed);
    for (size_t i = 0; i < count; i++) {
        const tc_family *family = &p->model->families[pieces[i].family];
        const double *rows[MOST_DIM];
        for (size_t c = 0; c < family->dim; c++)
            rows[c] = x_hat + tc_coord_of(family, pieces[i].block * TC_RELEASE_BLOCK, c);
        tc_estimator_take(estimator, i % WORKERS, pieces[i].family, pieces[i].block, rows);
    }
}

static void answer_shuffled(const tc_model *model, tc_estimator *estimator, double *p, size_t length, piece *pieces,
                            uint64_t *seed) {
    size_t count = list_pieces(model, length, pieces);
    shuffle(pieces, count, seed);
    for (size_t i = 0; i < count; i++) {
        const tc_family *family = &model->families[pieces[i].family];
        size_t first = pieces[i].block * TC_RELEASE_BLOCK + pieces[i].at, left = family->count - first;
        double *rows[MOST_DIM];
        for (size_t c = 0; c < family->dim; c++)
            rows[c] = p + tc_coord_of(family, first, c);
        tc_estimator_answer(estimator, i % WORKERS, pieces[i].family, pieces[i].block, pieces[i].at,
                            left < length ? left : length, rows);
    }
}

static void expect_bits(const char *what, const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("%s[%zu]: %a and %a", what, i, a[i], b[i]);
}

static void expect_same_inputs(const tc_measurement *a, const tc_measurement *b) {
    expect_bits("value", a->value, b->value, a->count);
    expect_bits("shift", a->shift, b->shift, a->count);
    expect_bits("curve", a->curve, b->curve, a->count);
    expect_bits("trace", a->trace, b->trace, a->count);
    expect_bits("noise", a->noise, b->noise, a->count);
    expect_bits("norm1", a->norm1, b->norm1, a->count);
    expect_bits("reach", a->reach, b->reach, a->count);
    expect_bits("norm2", a->norm2, b->norm2, a->count);
    expect_bits("rest", a->rest, b->rest, a->count);
    expect_bits("rest_curve", a->rest_curve, b->rest_curve, a->count);
}

static void copy_tariff(const tc_tariff *to, const tc_tariff *from, size_t count) {
    memcpy(to->price, from->price, count * sizeof *to->price);
    memcpy(to->curvature, from->curvature, count * sizeof *to->curvature);
    memcpy(to->reach, from->reach, count * sizeof *to->reach);
    memcpy(to->bend, from->bend, count * sizeof *to->bend);
    memcpy(to->bend_noise, from->bend_noise, count * sizeof *to->bend_noise);
}

static void expect_same_columns(tc_columns a, tc_columns b) {
    double one[] = {a.reach, a.curvature, a.noise}, other[] = {b.reach, b.curvature, b.noise};
    expect_bits("columns", one, other, 3);
}

/* In whole arrays; in blocks and bites in any order, by any worker; by the loops for any processor, and for those with
 * AVX2. */
static void no_bit_depends_on_who_does_what_when(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        uint64_t seed = 99 + i;
        problem p = problem_of(KINDS[i].text);
        const tc_plan *plan = states_plan(&p, TC_MECHANISM_LAPLACE);
        tc_estimator *whole = new_estimator(&p, plan, NULL, 1), *parts = new_estimator(&p, plan, NULL, WORKERS),
                     *plain = new_estimator(&p, plan, NULL, 1);
        size_t n = p.model->state_count;
        double *x_hat = TC_NEW(p.arena, double, n), *a = TC_NEW(p.arena, double, n), *b = TC_NEW(p.arena, double, n);
        piece *pieces = TC_NEW(p.arena, piece, n);
        plain->kernels = &tc_estimator_kernels_narrow;
#ifdef TC_HAS_WIDE
        if (TC_IS_WIDE())
            parts->kernels = &tc_estimator_kernels_wide;
#endif
        for (size_t round = 0; round < 3; round++) {
            AT_CASE(round);
            tc_estimator *all[] = {whole, parts, plain};
            draw_states(&p, &seed, x_hat);
            for (size_t g = 0; g < 3; g++)
                tc_estimator_open(all[g], GAINS[round]);
            tc_estimator_take_whole(whole, x_hat);
            tc_estimator_take_whole(plain, x_hat);
            take_shuffled(&p, parts, x_hat, pieces, &seed);
            const tc_measurement *measurement = tc_estimator_close(whole);
            expect_same_inputs(measurement, tc_estimator_close(parts));
            expect_same_inputs(measurement, tc_estimator_close(plain));
            draw_tariff(&p, tc_estimator_tariff(whole), &seed);
            copy_tariff(tc_estimator_tariff(parts), tc_estimator_tariff(whole), measurement->count);
            copy_tariff(tc_estimator_tariff(plain), tc_estimator_tariff(whole), measurement->count);
            for (size_t g = 0; g < 3; g++)
                tc_estimator_price(all[g]);
            tc_estimator_answer_whole(whole, a);
            answer_shuffled(p.model, parts, b, round == 0 ? TC_RELEASE_BLOCK : TC_ESTIMATOR_BITE, pieces, &seed);
            expect_bits("p", a, b, n);
            expect_same_columns(tc_estimator_columns(whole), tc_estimator_columns(parts));
            tc_estimator_answer_whole(plain, b);
            expect_bits("p", a, b, n);
            expect_same_columns(tc_estimator_columns(whole), tc_estimator_columns(plain));
        }
        problem_free(&p);
    }
}

/* ---- forms ---------------------------------------------------------------------------------------------------------
 */

#define SMALL_CROWD                                                                                                    \
    "agents a[i in 1..300] {\n param w = 0.2 + i / 300\n state x in [-1, 1 + w / 2]\n state y in [-1, 2]\n"            \
    " private minimize x\n gap 1e4\n slater x = 0; slater y = 0\n}\n"                                                  \
    "agent c {\n state s[2] in [-3, 4]\n private minimize s[1]\n gap 10\n slater s = 0\n}\n"

static const struct {
    const char *text;
    tc_placement placement;
} LINEAR[] = {
    {SMALL_CROWD "constraint c1: sum(a: 2 * x - w * y) + c.s[1] - 3 * a[7].x <= 900\n"
                 "constraint c2: sum(a: x) - sum(a: w * x + 2 * y) + 7 * c.s[2] - c.s[1] - a[7].x <= 900\n",
     TC_PLACEMENT_OUTPUTS},
    {SMALL_CROWD "constraint c1: exp(sum(a: x) / 300) + sum(a: 2 * x - w * y) + c.s[1]^2 <= 900\n"
                 "constraint c2: (sum(a: w * x + 2 * y + 1) / 300)^2 + a[7].x^2 + c.s[2] * c.s[1] <= 900\n",
     TC_PLACEMENT_FORMS},
};

/* The forms at x, as the measured model's constraints. */
static void forms_at(const slow *s, const double *x, double *values) {
    const tc_model *model = s->p->model;
    double *sums = TC_NEW(s->p->arena, double, model->sum_count);
    tc_expr *roots = TC_NEW(s->p->arena, tc_expr, model->constraint_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *d = &s->p->derivatives->families[f];
        member_values v = values_of(s, f, true);
        for (size_t k = 0; v.tape != NULL && k < v.family->count; k++) {
            evaluate_member(&v, x, k);
            for (size_t b = 0; b < d->body_count; b++)
                sums[d->sums[b]] += v.values[b];
        }
    }
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    tc_program *program = tc_program_new(s->p->arena, model, roots, model->constraint_count);
    double *work = TC_NEW(s->p->arena, double, tc_program_work(program));
    tc_program_prepare(program, work);
    tc_program_eval(program, x, sums, work, values);
}

/* U by differences, which are exact but for rounding. */
static double *slopes_of(const slow *s) {
    size_t n = s->p->model->state_count, m = s->p->model->constraint_count;
    double *slopes = TC_NEW(s->p->arena, double, m *n), *x = TC_NEW(s->p->arena, double, n),
           *zero = TC_NEW(s->p->arena, double, m), *values = TC_NEW(s->p->arena, double, m);
    forms_at(s, x, zero);
    for (size_t c = 0; c < n; c++) {
        x[c] = 1024;
        forms_at(s, x, values);
        x[c] = 0;
        for (size_t j = 0; j < m; j++)
            slopes[j * n + c] = (values[j] - zero[j]) / 1024;
    }
    return slopes;
}

static void near_to(const char *what, size_t at, double wanted, double found) {
    if (!(fabs(wanted - found) <= 1e-11 * (1 + fabs(wanted))))
        fail_msg("%s[%zu] is %.17g, not %.17g", what, at, found, wanted);
}

static void compare_ranges(const slow *s, tc_estimator *estimator, const double *slopes) {
    size_t n = s->p->model->state_count, m = s->p->model->constraint_count;
    double *corner = TC_NEW(s->p->arena, double, n), *values = TC_NEW(s->p->arena, double, m),
           *far = TC_NEW(s->p->arena, double, m);
    for (int upper = 0; upper < 2; upper++) {
        for (size_t j = 0; j < m; j++)
            far[j] = upper ? 1e9 : -1e9;
        tc_estimator_open(estimator, (tc_gains){1, 1});
        tc_estimator_take_forms(estimator, far);
        const tc_measurement *g = tc_estimator_close(estimator);
        for (size_t j = 0; j < m; j++) {
            for (size_t c = 0; c < n; c++)
                corner[c] = box_of(s, c, (slopes[j * n + c] > 0) == (upper == 1));
            forms_at(s, corner, values);
            near_to(upper ? "highest" : "lowest", j, values[j], g->value[j]);
            assert_true(upper ? g->value[j] <= values[j] + 1e-12 * fabs(values[j])
                              : g->value[j] >= values[j] - 1e-12 * fabs(values[j]));
            assert_true(g->shift[j] == far[j] - g->value[j] && g->rest[j] == g->shift[j]);
        }
    }
}

static void compare_form_answers(const slow *s, tc_estimator *estimator, const tc_plan *plan, const double *slopes,
                                 uint64_t *seed) {
    size_t n = s->p->model->state_count, m = s->p->model->constraint_count;
    const tc_tariff *t = tc_estimator_tariff(estimator);
    double *p = TC_NEW(s->p->arena, double, n), most = 0, most_bend = 0, noise = 0;
    for (size_t j = 0; j < m; j++) {
        bool single = plan->placement == TC_PLACEMENT_FORMS &&
                      s->p->model->dag->nodes[s->p->model->constraints[j].outer].op == TC_COORD;
        t->price[j] = random_unit(seed) - 0.5;
        t->reach[j] = random_unit(seed);
        t->curvature[j] = random_unit(seed);
        t->bend[j] = single ? random_unit(seed) : 0;
        t->bend_noise[j] = single ? random_unit(seed) : 0;
        most_bend = fmax(most_bend, t->bend[j]);
        noise += t->bend_noise[j];
    }
    tc_estimator_price(estimator);
    tc_estimator_answer_whole(estimator, p);
    for (size_t c = 0; c < n; c++) {
        double price = 0, reach = 0;
        for (size_t j = 0; j < m; j++) {
            price += t->price[j] * slopes[j * n + c];
            reach += scale_at(s->p->model, c) * t->reach[j] * fabs(slopes[j * n + c]);
        }
        near_to("p", c, price, p[c]);
        most = fmax(most, reach);
    }
    tc_columns found = tc_estimator_columns(estimator);
    near_to("reach", 0, most, found.reach);
    near_to("curvature", 0, most_bend, found.curvature);
    near_to("noise", 0, noise, found.noise);
}

static tc_released *constants_of(tc_arena *arena, const tc_plan *plan) {
    tc_release *release = NULL;
    const char *why = "";
    if (tc_release_new(arena, plan, plan->measured, plan->measured_derivatives, run_random(arena, 1), NULL, &release,
                       &why) != TC_OK)
        fail_msg("no release: %s", why);
    return tc_released_new(arena, release);
}

static tc_plan *linear_plan(planned *p, tc_placement placement) {
    tc_plan_options options = planned_options();
    options.mechanism = TC_MECHANISM_LAPLACE;
    options.placement = placement;
    options.method = TC_METHOD_TACIT;
    options.adjacency = TC_ADJACENCY_ONE;
    options.adjacency_bound = 1;
    options.epsilon = 1;
    options.rounds = 1000;
    options.seeded = true;
    tc_plan *plan = planned_plan(p, &options);
    if (plan->problem != NULL)
        fail_msg("no plan: %s", plan->problem);
    assert_int_equal(plan->placement, placement);
    return plan;
}

static void forms_have_their_ranges_norms_and_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof LINEAR / sizeof *LINEAR; i++) {
        uint64_t seed = 3;
        planned p = planned_problem("test.tacit", LINEAR[i].text);
        tc_plan *plan = linear_plan(&p, LINEAR[i].placement);
        problem whole = {p.arena, p.model, p.derivatives};
        const tc_model *measured = plan->measured;
        tc_estimator *estimator = new_estimator(&whole, plan, constants_of(p.arena, plan), 1);
        problem forms = {p.arena, TC_NEW(p.arena, tc_model, 1), TC_NEW(p.arena, tc_derivatives, 1)};
        *forms.model = *measured;
        *forms.derivatives = *plan->measured_derivatives;
        slow s = {.p = &forms};
        const double *slopes = slopes_of(&s);
        compare_ranges(&s, estimator, slopes);
        const tc_measurement *g = tc_estimator_close(estimator);
        assert_int_equal(g->count, measured->constraint_count);
        for (size_t j = 0; j < g->count; j++) {
            double norm1 = 0, reach = 0, norm2 = 0;
            for (size_t c = 0; c < measured->state_count; c++) {
                double slope = slopes[j * measured->state_count + c], scaled = scale_at(measured, c) * slope;
                norm1 += fabs(slope);
                reach += fabs(scaled);
                norm2 += scaled * scaled;
            }
            near_to("norm1", j, norm1, g->norm1[j]);
            near_to("reach", j, reach, g->reach[j]);
            near_to("norm2", j, norm2, g->norm2[j]);
            assert_true(g->curve[j] == 0 && g->trace[j] == 0 && g->rest_curve[j] == 0);
            assert_true(g->noise[j] > 0 && g->noise[j] == tc_estimator_input_variance(estimator, j));
        }
        compare_form_answers(&s, estimator, plan, slopes, &seed);
        planned_end(&p);
    }
}

static void forms_are_answered_the_same_in_bites(void **state) {
    (void)state;
    uint64_t seed = 11;
    planned p = planned_problem("test.tacit", LINEAR[0].text);
    tc_plan *plan = linear_plan(&p, LINEAR[0].placement);
    problem whole = {p.arena, p.model, p.derivatives};
    const tc_released *constants = constants_of(p.arena, plan);
    tc_estimator *one = new_estimator(&whole, plan, constants, 1),
                 *other = new_estimator(&whole, plan, constants, WORKERS);
    size_t n = p.model->state_count;
    double *a = TC_NEW(p.arena, double, n), *b = TC_NEW(p.arena, double, n);
    piece *pieces = TC_NEW(p.arena, piece, n);
    for (size_t round = 0; round < 3; round++) {
        AT_CASE(round);
        const tc_tariff *t = tc_estimator_tariff(one);
        for (size_t j = 0; j < tc_estimator_inputs(one); j++) {
            t->price[j] = random_unit(&seed) - 0.5;
            t->reach[j] = round == 1 ? t->reach[j] : random_unit(&seed);
        }
        copy_tariff(tc_estimator_tariff(other), t, tc_estimator_inputs(one));
        tc_estimator_price(one);
        tc_estimator_price(other);
        tc_estimator_answer_whole(one, a);
        answer_shuffled(p.model, other, b, TC_ESTIMATOR_BITE, pieces, &seed);
        expect_bits("p", a, b, n);
        expect_same_columns(tc_estimator_columns(one), tc_estimator_columns(other));
    }
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_and_answers_are_those_of_a_plain_evaluation),
        cmocka_unit_test(quadratic_sums_are_measured_at_both_filters_exactly),
        cmocka_unit_test(no_bit_depends_on_who_does_what_when),
        cmocka_unit_test(forms_have_their_ranges_norms_and_answers),
        cmocka_unit_test(forms_are_answered_the_same_in_bites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
