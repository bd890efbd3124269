/* bench_proximal --steps [KIND]: one proximal step of every member of a family against one gradient step, for
 * objectives and sets of many kinds, one thread. Answers have a part that stays and noise, which changes in every step:
 * much noise, as in the first rounds of a run, or little, as in the last. Times are for one state (member and
 * component).
 *
 * bench_proximal [--inform] [--pair] PROBLEM...: whole rounds of the method `tacit`, one thread, with proximal steps
 * and with gradient steps, and rounds of the published method. Fails where a proximal round takes more than four times
 * a gradient one. --inform: does not fail. --pair: on two threads, by the wall clock.
 *
 * bench_proximal --kinks PROBLEM KINKED...: rounds of the method `tacit`, one thread, of agents with kinks against
 * those of the first problem, whose agents have none. Fails where one takes more than ten times the other. */
#include "engine/tacit/controller.h"
#include "engine/proximal/proximal.h"
#include "model/model.h"
#include "setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MEMBERS = 32768, BITE = 256, STEPS = 12, MOST_DIM = 24 };

typedef struct kind {
    const char *name, *state, *body;
    double price; /* answers are about so large */
    double step;
} kind;

/* a, b, w: numbers of the member in [0, 1). */
static const kind KINDS[] = {
    {"quadratic, 1-d", "x in [-1, 3]", "(1 + w) * (x - a)^2", 2, 1},
    {"log, 1-d", "x in [0.1, 10]", "-(1 + w) * log(x)", 1, 1},
    {"log, 1-d, long steps", "x in [0.1, 10]", "-(1 + w) * log(x)", 1, 100},
    {"quartic, 1-d", "x in [-10, 10]", "(x - 8 * a)^4", 10, 0.1},
    {"exp, 1-d", "x in [-3, 3]", "exp(x - a) + exp(-x)", 1, 1},
    {"huber, 1-d", "x in [-10, 10]", "huber(x - 6 * a, 0.5 + b)", 1, 1},
    {"power 1.5, 1-d", "x in [0, 10]", "pow(x + a, 1.5)", -3, 1},
    {"log, 4-d", "x[4] in [0.1, 10]", "-(1 + w) * sum(k in 1..4: k * log(x[k]))", 1, 1},
    {"quartic norm, 2-d", "x[2] in [-10, 10]", "norm(x - [8 * a, 8 * b])^4", 100, 0.01},
    {"quartic norm, 2-d, long steps", "x[2] in [-10, 10]", "norm(x - [8 * a, 8 * b])^4", 100, 10},
    {"smooth norm, 2-d", "x[2] in [-10, 10]", "sqrt(sumsq(x - [8 * a, 8 * b]) + 0.1)", 0.5, 1},
    {"log-sum-exp, 4-d", "x[4] in [-5, 5]", "logsumexp(x[1] - a, x[2], x[3] + b, -x[4])", 1, 1},
    {"mixed quadratic, 2-d", "x[2] in [-1, 3]", "quadform(x - [a, b], [[2, 1], [1, 3]])", 2, 1},
    {"mixed quadratic, 8-d", "x[8] in [-1, 3]", "sumsq(x) + sum(x)^2 + a * x[1]", 2, 1},
    {"quadratic, half-space, 2-d", "x[2] in [-1, 3]; private set sum(x) <= 1 + a", "(1 + w) * sumsq(x - [a, b])", 2, 1},
    {"quadratic, half-space, 24-d", "x[24] in [0, 7.4]; private set sum(x) >= 20 + 30 * a", "(1 + w) * sumsq(x - b)", 5,
     0.3},
    {"quadratic, ball, 2-d", "x[2] in [-10, 10]; private set norm(x - [a, b]) <= 1 + w", "sumsq(x - [4 * a, 1])", 2, 1},
    {"quadratic, l1 ball, 4-d", "x[4] in [-10, 10]; private set norm1(x - [a, b, 0, 0]) <= 1 + w",
     "sumsq(x - [4 * a, 1, b, 0])", 2, 1},
    {"mixed quadratic, half-space, 2-d", "x[2] in [-1, 3]; private set sum(x) <= 1 + a",
     "quadform(x - [a, b], [[2, 1], [1, 3]])", 2, 1},
    {"log, half-space, 2-d", "x[2] in [0.1, 10]; private set sum(x) <= 1 + 3 * a", "-log(x[1]) - w * log(x[2])", -0.5,
     1},
    {"quartic norm, ball, 2-d", "x[2] in [-10, 10]; private set norm(x) <= 3 + w", "norm(x - [8 * a, 8 * b])^4", 100,
     0.01},
    {"quadratic, ellipsoid, 2-d", "x[2] in [-10, 10]; private set quadform(x, [[2, 1], [1, 3]]) <= 4",
     "sumsq(x - [4 * a, 4 * b])", 2, 1},
    {"quadratic, ball and half-space, 2-d",
     "x[2] in [-10, 10]; private set norm(x) <= 2; private set x[1] + x[2] <= 1 + a", "sumsq(x - [4 * a, 4 * b])", 2,
     1},
};

static double number(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

typedef struct crowd {
    tc_model *model;
    tc_agents *agents;
    tc_proximal *proximal;
    size_t dim, count;
    double *x, *y, *p;
} crowd;

static tc_status load(tc_arena *arena, const kind *k, size_t count, crowd *made) {
    char text[2048];
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    int length =
        snprintf(text, sizeof text,
                 "agents m[i in 1..%zu] {\n  private param a = i * 0.61803398 - floor(i * 0.61803398)\n"
                 "  private param b = i * 0.41421356 - floor(i * 0.41421356)\n"
                 "  private param w = i * 0.73205081 - floor(i * 0.73205081)\n  state %s\n  private minimize %s\n}\n",
                 count, k->state, k->body);
    tc_status status = tc_model_parse(arena, k->name, text, (size_t)length, NULL, &messages, &made->model);
    if (status != TC_OK) {
        (void)fputs(tc_buffer_text(&messages), stderr);
        return status;
    }
    const tc_derivatives *derivatives = tc_derive(arena, made->model);
    made->agents = tc_agents_new(arena, made->model, derivatives, 1);
    made->proximal = tc_proximal_new(arena, made->agents, derivatives, NULL);
    made->dim = made->model->families[0].dim;
    made->count = count;
    made->x = TC_NEW(arena, double, count * made->dim);
    made->y = TC_NEW(arena, double, count * made->dim);
    made->p = TC_NEW(arena, double, count * made->dim);
    return TC_OK;
}

static crowd load_crowd(tc_arena *arena, const kind *k, size_t count) {
    static crowd made; /* static: changed between setjmp and a jump */
    tc_escape escape;
    made = (crowd){0};
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = load(arena, k, count, &made);
    tc_escape_end(arena, &escape);
    if (status != TC_OK)
        bench_fail("a kind cannot be loaded");
    return made;
}

/* Steps all members once, BITE at a time, in place. Returns the seconds. */
static double step(const crowd *c, bool is_proximal, double *x, double step) {
    const tc_answer_scalars scalars = {.step = step, .regularization = 0.01};
    const double *p_at[MOST_DIM];
    double *x_at[MOST_DIM], began = bench_own_seconds();
    for (size_t first = 0; first < c->count; first += BITE) {
        size_t count = c->count - first < BITE ? c->count - first : BITE;
        for (size_t d = 0; d < c->dim; d++) {
            p_at[d] = c->p + d * c->count + first;
            x_at[d] = x + d * c->count + first;
        }
        size_t failed =
            is_proximal
                ? tc_proximal_next(c->proximal, 0, 0, first, count, p_at, scalars, (const double *const *)x_at, x_at)
                : tc_agents_next(c->agents, 0, 0, first, count, p_at, scalars, (const double *const *)x_at, x_at);
        if (failed != TC_ALL_FINITE)
            bench_fail("a state is not finite");
    }
    return bench_own_seconds() - began;
}

/* Seconds of one proximal and one gradient step, the least of some. noise: how much of an answer changes. */
typedef struct step_times {
    double proximal, gradient;
} step_times;

static step_times time_steps(const crowd *c, const kind *k, double noise) {
    size_t states = c->dim * c->count;
    step_times least = {INFINITY, INFINITY};
    tc_agents_start(c->agents, c->x);
    memcpy(c->y, c->x, states * sizeof *c->y);
    for (int round = 0; round < STEPS; round++) {
        uint64_t lasting = 1, passing = 100 + (uint64_t)round;
        for (size_t i = 0; i < states; i++) {
            double stays = number(&lasting), goes = number(&passing);
            c->p[i] = k->price * (0.2 + 0.8 * stays + noise * (goes - 0.5));
        }
        double one = step(c, true, c->x, k->step), other = step(c, false, c->y, 1e-6);
        if (round < STEPS / 2)
            continue;
        least.proximal = fmin(least.proximal, one);
        least.gradient = fmin(least.gradient, other);
    }
    return least;
}

static void bench_kind(const kind *k) {
    tc_arena *arena = bench_arena();
    crowd c = load_crowd(arena, k, MEMBERS);
    double each = 1e9 / (double)(c.dim * c.count);
    step_times early = time_steps(&c, k, 0.3), late = time_steps(&c, k, 0.003);
    printf("%-36s %7.1f ns, late %7.1f ns; gradient %6.1f ns", k->name, early.proximal * each, late.proximal * each,
           late.gradient * each);
    uint64_t inaccurate = tc_proximal_inaccurate(c.proximal);
    if (inaccurate > 0)
        printf("  (%.2g of the steps not certified)", (double)inaccurate / (double)(2 * STEPS * MEMBERS));
    printf("\n");
    tc_arena_free(arena);
}

/* ---- whole rounds --------------------------------------------------------------------------------------------------
 */

enum { ROUNDS = 30, WARM = 10 };
/* Of a gradient round, which has little to compute beside its noise: each gain of the noise raises this ratio. */
static const double most_times = 4;

static tc_engine *new_engine(tc_arena *arena, const bench_problem *problem, unsigned without, tc_team *team) {
    tc_engine_settings settings = {
        .dual_radius = problem->dual_radius, .facts = problem->method, .without = without, .team = team};
    tc_engine *engine = NULL;
    const char *why = "no engine";
    tc_random *random = bench_random(arena, problem, 1);
    if (tc_engine_new(arena, problem->plan, problem->model, problem->derivatives, random, &settings, &engine, &why) !=
        TC_OK)
        bench_fail(why);
    return engine;
}

static bool bench_rounds(const char *path, bool is_pair) {
    tc_plan_options published = bench_options(), tacit = bench_options();
    published.seeded = tacit.seeded = true;
    tacit.method = TC_METHOD_TACIT;
    bench_problem old = bench_load(path, &published), new = bench_load(path, &tacit);
    tc_arena *arena = bench_arena();
    tc_team *team = is_pair ? tc_team_new(arena, 2) : NULL;
    tc_engine *engines[] = {new_engine(arena, &new, 0, team), new_engine(arena, &new, TC_WITHOUT_PROXIMAL, team),
                            new_engine(arena, &old, 0, team)};
    double least[] = {INFINITY, INFINITY, INFINITY}, each = 1e9 / (double)new.model->state_count;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < 3; i++) {
            double taken = bench_advance(engines[i], 1, is_pair ? bench_seconds : bench_own_seconds);
            if (round >= WARM)
                least[i] = fmin(least[i], taken);
        }
    printf("%s, %s: a round %.1f ns a state; with gradient steps %.1f: %.2f times (limit %.0f); of the published "
           "method %.1f: %.2f times\n",
           path, is_pair ? "two threads" : "one thread", least[0] * each, least[1] * each, least[0] / least[1],
           most_times, least[2] * each, least[0] / least[2]);
    tc_arena_free(arena);
    tc_arena_free(old.arena);
    tc_arena_free(new.arena);
    return least[0] <= most_times * least[1];
}

static const double most_times_of_kinks = 10;

static bool bench_kinks(const char *smooth, const char *kinked) {
    tc_plan_options tacit = bench_options();
    tacit.seeded = true;
    tacit.method = TC_METHOD_TACIT;
    bench_problem problems[] = {bench_load(smooth, &tacit), bench_load(kinked, &tacit)};
    tc_arena *arena = bench_arena();
    tc_engine *engines[] = {new_engine(arena, &problems[0], 0, NULL), new_engine(arena, &problems[1], 0, NULL)};
    double least[] = {INFINITY, INFINITY};
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < 2; i++) {
            double taken = bench_advance(engines[i], 1, bench_own_seconds);
            if (round >= WARM)
                least[i] = fmin(least[i], taken);
        }
    for (size_t i = 0; i < 2; i++)
        least[i] *= 1e9 / (double)problems[i].model->agent_count;
    printf("%s: a round %.0f ns an agent; without kinks %.0f: %.2f times (limit %.0f)\n", kinked, least[1], least[0],
           least[1] / least[0], most_times_of_kinks);
    tc_arena_free(arena);
    for (size_t i = 0; i < 2; i++)
        tc_arena_free(problems[i].arena);
    return least[1] <= most_times_of_kinks * least[0];
}

int main(int argc, char **argv) {
    bool good = true;
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "--steps") == 0) {
        for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
            if (argc < 3 || strstr(KINDS[i].name, argv[2]) != NULL)
                bench_kind(&KINDS[i]);
        return 0;
    }
    if (strcmp(argv[1], "--kinks") == 0) {
        for (int i = 3; i < argc; i++)
            good = bench_kinks(argv[2], argv[i]) && good;
        return good ? 0 : 1;
    }
    bool informs = false, is_pair = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--inform") == 0)
            informs = true;
        else if (strcmp(argv[i], "--pair") == 0)
            is_pair = true;
        else
            good = bench_rounds(argv[i], is_pair) && good;
    }
    return good || informs ? 0 : 1;
}
