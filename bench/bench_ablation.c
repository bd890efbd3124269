/* bench_ablation PROBLEM...: what each part of the method `tacit` is worth. Leaves every part out in turn. Prints
 * the errors in x and in mu after ROUNDS rounds, relative to those of the whole method: geometric means over the
 * problems, both mechanisms and SEEDS seeds. Fails if x and mu together are better by more than `better` without some
 * part: then this part does more harm than good. */
#include "engine/tacit/controller.h"
#include "reference/reference.h"
#include "setup.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 2000, SEEDS = 8 };

static const double better = 1.05;

static const struct variant {
    unsigned without;
    const char *name;
} variants[] = {{0, "the whole method"},
                {TC_WITHOUT_FILTER, "no filter"},
                {TC_WITHOUT_LEAD, "no lead"},
                {TC_WITHOUT_BIAS, "no bias correction"},
                {TC_WITHOUT_ROW_SCALES, "no row scaling"},
                {TC_WITHOUT_PROXIMAL, "gradient agents"},
                {TC_WITHOUT_AVERAGE, "nearly the last iterate"},
                {TC_WITHOUT_LATE_WEIGHTS, "uniform average"},
                {TC_WITHOUT_DECAY, "no decay of the steps"},
                {TC_WITHOUT_AFFINE, "both steps shortened alike"},
                {TC_WITHOUT_PRIMAL_WEIGHT, "omega fixed"},
                {TC_WITHOUT_TAPER, "regularization not tapered"}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static double logs[VARIANTS][2]; /* sums of the logarithms of errors in x and mu */
static unsigned diverged[VARIANTS];

static double distance(const double *a, const double *b, size_t count) {
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(squares);
}

/* A run that diverges counts as if it had stayed at zero. */
static void run(const bench_problem *problem, const tc_reference *reference, uint64_t seed, size_t variant) {
    const tc_model *model = problem->model;
    tc_arena *arena = bench_arena();
    tc_engine_settings settings = {
        .dual_radius = problem->dual_radius, .facts = problem->method, .without = variants[variant].without};
    tc_engine *engine = NULL;
    tc_engine_outcome outcome = TC_ENGINE_DONE;
    const char *why = "no engine";
    tc_random *random = bench_random(arena, problem, seed);
    if (tc_engine_new(arena, problem->plan, model, problem->derivatives, random, &settings, &engine, &why) != TC_OK)
        bench_fail(why);
    if (tc_engine_advance(engine, ROUNDS, NULL, &outcome) != TC_OK)
        bench_fail("the engine stopped");
    double x = reference->norm_x, mu = reference->norm_mu;
    if (outcome == TC_ENGINE_DONE) {
        x = distance(tc_engine_result_states(engine), reference->x, model->state_count);
        mu = distance(tc_engine_result_multipliers(engine), reference->mu, model->constraint_count);
    } else {
        diverged[variant]++;
    }
    /* an error below a ten-thousandth of the solution is as good as none */
    logs[variant][0] += log(fmax(x, 1e-4 * fmax(reference->norm_x, 1)));
    logs[variant][1] += log(fmax(mu, 1e-4 * fmax(reference->norm_mu, 1)));
    tc_arena_free(arena);
}

static void run_problem(const char *path, tc_mechanism mechanism) {
    tc_plan_options options = bench_options();
    options.mechanism = mechanism;
    options.method = TC_METHOD_TACIT;
    options.rounds = ROUNDS;
    options.seeded = true;
    if (mechanism == TC_MECHANISM_GAUSSIAN)
        options.delta = 1e-5;
    bench_problem problem = bench_load(path, &options);
    const tc_reference *reference =
        tc_reference_solve(problem.arena, problem.model, problem.derivatives, 1e-8, 1, NULL);
    if (!reference->is_solution)
        bench_fail("a problem has no reference solution");
    for (size_t v = 0; v < VARIANTS; v++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            run(&problem, reference, seed, v);
    tc_arena_free(problem.arena);
}

int main(int argc, char **argv) {
    bool good = true;
    double runs = 2.0 * SEEDS * (argc - 1);
    for (int i = 1; i < argc; i++) {
        run_problem(argv[i], TC_MECHANISM_LAPLACE);
        run_problem(argv[i], TC_MECHANISM_GAUSSIAN);
    }
    printf("what parts of the method are worth: errors relative to the whole, %d problems, %d rounds, %d seeds\n",
           argc - 1, ROUNDS, SEEDS);
    for (size_t v = 0; v < VARIANTS; v++) {
        double x = exp((logs[v][0] - logs[0][0]) / runs), mu = exp((logs[v][1] - logs[0][1]) / runs);
        bool harms = x * mu * better < 1;
        printf("  %-28s x %5.2f   mu %5.2f%s", variants[v].name, x, mu, harms ? "   BETTER WITHOUT" : "");
        if (diverged[v] > 0)
            printf("   (%u of %.0f runs diverged)", diverged[v], runs);
        printf("\n");
        good = good && !harms;
    }
    return good ? 0 : 1;
}
