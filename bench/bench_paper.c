/* bench_paper PROBLEM [PYTHON SCRIPT]: the paper's problem (examples/paper.tacit), published calibration, declared
 * constants, 100,000 rounds on one thread: the engine against the same problem written out by hand, with the same
 * samplers and the same lattices, and against NumPy. Both of ours must end at the same numbers, bit for bit. Fails
 * where the engine takes more than 1.5 times the hand-written loop, or is not 50 times as fast as NumPy's plain loop,
 * or where a round of the method `tacit` takes more than twice one of the published method. */
#include "engine/published/published.h"
#include "paper_by_hand.h"
#include "setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 100000, REPEATS = 7, NUMPY_REPEATS = 3 };

static const double most_of_hand = 1.5, least_of_numpy = 50, most_of_published = 2;

typedef struct result {
    double seconds;
    double x[PAPER_STATES], mu[PAPER_CONSTRAINTS];
} result;

static result run_engine(const bench_problem *problem, uint64_t seed) {
    tc_arena *arena = bench_arena();
    tc_engine *engine = bench_engine(arena, problem, seed, NULL);
    result r = {.seconds = bench_advance(engine, ROUNDS, bench_own_seconds)};
    memcpy(r.x, tc_engine_states(engine), sizeof r.x);
    memcpy(r.mu, tc_engine_multipliers(engine), sizeof r.mu);
    tc_arena_free(arena);
    return r;
}

static void exact_schedule(uint64_t k, double *step, double *regularization) {
    const tc_schedule schedule = {
        .step = 0.01, .step_decay = 0.52, .regularization = 0.1, .regularization_decay = 0.3, .rounds = ROUNDS};
    tc_answer_scalars scalars = tc_schedule_at(&schedule, k);
    *step = scalars.step;
    *regularization = scalars.regularization;
}

/* The lattices and scales are the plan's: g first, then the blocks of the Jacobian, agent by agent. */
static paper_noise noise_of(const tc_plan *plan) {
    paper_noise noise = {.law = plan->mechanism == TC_MECHANISM_GAUSSIAN ? TC_GAUSSIAN : TC_LAPLACE,
                         .state_step = ldexp(1, plan->state_exponent)};
    if (plan->channel_count != 1 + PAPER_AGENTS || plan->entry_count != PAPER_ENTRIES)
        bench_fail("the plan is not the published one of the paper's problem");
    for (size_t c = 0; c < plan->channel_count; c++) {
        const tc_channel *channel = &plan->channels[c];
        double step = ldexp(1, channel->step_exponent);
        *(c == 0 ? &noise.constraint_step : &noise.jacobian_step[c - 1]) = step;
        for (uint64_t e = 0; e < channel->entries; e++)
            if (!tc_noise_scale_from(channel->lattice_scale, &noise.scales[channel->first_entry + e]))
                bench_fail("a scale is out of range");
    }
    return noise;
}

static result run_hand(const bench_problem *problem, uint64_t seed, paper_schedule *schedule) {
    tc_arena *arena = bench_arena();
    tc_random *random = bench_random(arena, problem, seed);
    tc_random_worker *worker = NULL;
    if (tc_random_worker_new(arena, random, &worker) != TC_OK)
        bench_fail("no random source");
    paper_noise noise = noise_of(problem->plan);
    result r = {0};
    double began = bench_own_seconds();
    bool good = paper_by_hand(&noise, random, worker, problem->dual_radius, ROUNDS, schedule, r.x, r.mu);
    r.seconds = bench_own_seconds() - began;
    if (!good)
        bench_fail("no random source");
    tc_arena_free(arena);
    return r;
}

/* Nanoseconds per round, as the script prints them; NAN where it cannot be run. */
static double run_numpy(const char *python, const char *script, const char *style, const char *law) {
    char command[1000];
    int length = snprintf(command, sizeof command, "'%s' '%s' %s %s", python, script, style, law);
    FILE *pipe = length > 0 && (size_t)length < sizeof command ? popen(command, "r") : NULL;
    double nanoseconds = (double)NAN;
    if (pipe == NULL)
        return nanoseconds;
    if (fscanf(pipe, "%lf", &nanoseconds) != 1)
        nanoseconds = (double)NAN;
    return pclose(pipe) == 0 ? nanoseconds : (double)NAN;
}

static double distance(const result *a, const result *b) {
    double most = 0;
    for (size_t i = 0; i < PAPER_STATES; i++)
        most = fmax(most, fabs(a->x[i] - b->x[i]));
    for (size_t j = 0; j < PAPER_CONSTRAINTS; j++)
        most = fmax(most, fabs(a->mu[j] - b->mu[j]));
    return most;
}

static bool bench_law(const char *path, tc_mechanism mechanism, const char *name, const char *const *numpy) {
    tc_plan_options options = bench_options();
    options.mechanism = mechanism;
    options.calibration = TC_PUBLISHED;
    options.constants = TC_DECLARED;
    options.seeded = true;
    bench_problem problem = bench_load(path, &options);
    double engine = INFINITY, hand = INFINITY, plain = INFINITY, vectorised = INFINITY;
    bool good = true;
    for (uint64_t repeat = 0; repeat < REPEATS; repeat++) { /* in turn, so that all meet the same conditions */
        result by_engine = run_engine(&problem, repeat), by_hand = run_hand(&problem, repeat, NULL);
        engine = fmin(engine, by_engine.seconds * 1e9 / ROUNDS);
        hand = fmin(hand, by_hand.seconds * 1e9 / ROUNDS);
        good = good && distance(&by_engine, &by_hand) <= 1e-9;
        if (numpy[0] != NULL && repeat < NUMPY_REPEATS) {
            plain = fmin(plain, run_numpy(numpy[0], numpy[1], "plain", name));
            vectorised = fmin(vectorised, run_numpy(numpy[0], numpy[1], "vectorised", name));
        }
    }
    result by_engine = run_engine(&problem, 99), by_hand = run_hand(&problem, 99, exact_schedule);
    bool same = memcmp(by_engine.x, by_hand.x, sizeof by_engine.x) == 0 &&
                memcmp(by_engine.mu, by_hand.mu, sizeof by_engine.mu) == 0;
    printf("%s: engine %.0f ns a round, by hand %.0f, ratio %.2f (limit %.2f); the same end: %s\n", name, engine, hand,
           engine / hand, most_of_hand,
           same   ? "bit for bit"
           : good ? "to 1e-9"
                  : "NO");
    good = good && engine <= most_of_hand * hand;
    if (numpy[0] != NULL) {
        printf("%s: NumPy agent by agent %.0f ns a round, %.0f times the engine's (goal %.0f); vectorised %.0f, %.0f "
               "times\n",
               name, plain, plain / engine, least_of_numpy, vectorised, vectorised / engine);
        good = good && plain >= least_of_numpy * engine;
    }
    tc_arena_free(problem.arena);
    return good;
}

/* In turn, each with what is usual for it: the published calibration for each system, or joint epsilon. */
static bool bench_methods(const char *path, tc_mechanism mechanism, const char *name) {
    tc_plan_options options = bench_options();
    options.mechanism = mechanism;
    options.seeded = true;
    options.method = TC_METHOD_TACIT;
    bench_problem tacit = bench_load(path, &options);
    options.method = TC_METHOD_PUBLISHED;
    options.calibration = TC_PUBLISHED;
    options.constants = TC_DECLARED;
    bench_problem published = bench_load(path, &options);
    double of_tacit = INFINITY, of_published = INFINITY;
    for (uint64_t repeat = 0; repeat < REPEATS; repeat++) {
        of_tacit = fmin(of_tacit, run_engine(&tacit, repeat).seconds * 1e9 / ROUNDS);
        of_published = fmin(of_published, run_engine(&published, repeat).seconds * 1e9 / ROUNDS);
    }
    printf("%s: method tacit %.0f ns a round, published %.0f, ratio %.2f (limit %.2f)\n", name, of_tacit, of_published,
           of_tacit / of_published, most_of_published);
    tc_arena_free(tacit.arena);
    tc_arena_free(published.arena);
    return of_tacit <= most_of_published * of_published;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 4)
        return 2;
    const char *const numpy[] = {argc == 4 ? argv[2] : NULL, argc == 4 ? argv[3] : NULL};
    bool laplace = bench_law(argv[1], TC_MECHANISM_LAPLACE, "laplace", numpy);
    bool gaussian = bench_law(argv[1], TC_MECHANISM_GAUSSIAN, "gaussian", numpy);
    bool methods = bench_methods(argv[1], TC_MECHANISM_LAPLACE, "laplace");
    methods = bench_methods(argv[1], TC_MECHANISM_GAUSSIAN, "gaussian") && methods;
    return laplace && gaussian && methods ? 0 : 1;
}
