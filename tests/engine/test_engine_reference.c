/* Every round of short runs against slow_run.h, which shares no code with the engine, the release or the agents. */
/* labels: long not-asan not-clang */
#include "engine/runs.h"
#include "engine/slow_run.h"

#define SCHEDULE "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"

typedef struct situation {
    const char *name;
    const char *path; /* of an example; or */
    const char *text;
    uint64_t rounds;
    double dual_radius;
} situation;

static const situation situations[] = {
    {.name = "paper", .path = "paper", .rounds = 40, .dual_radius = 700},
    {.name = "paper, with a radius that is reached", .path = "paper", .rounds = 40, .dual_radius = 0.05},
    {.name = "network", .path = "num", .rounds = 25, .dual_radius = 50},
    {.name = "robots", .path = "robots", .rounds = 25, .dual_radius = INFINITY},
    {.name = "homes", .path = "ev", .rounds = 2, .dual_radius = 1e5},
    {.name = "curved bodies, with data, and an outer function of sums and coordinates",
     .text =
         "agents a[i in 1..70] {\n state x in [0, 4]\n state y in [-1, 2]\n private minimize (x - 3)^2 + y^2 - y\n}\n"
         "agent b {\n state z[2] in [0.5, 3]\n private minimize sumsq(z) - z[1]\n}\n"
         "agents lone[i in 1..5] {\n state u in [0, 1]\n private minimize (u - 0.7)^2\n}\n"
         "constraint c1: sum(a: (1 + i / 70) * x^2 + exp(y) / 2 + i) / 70 <= 40\n"
         "constraint c2: exp(sum(a: x + y) / 100) + b.z[1]^2 * 0.5 + b.z[2] <= 4\n"
         "constraint c3: a[3].x^2 + a[69].y + sum(a: y) / 10 - log(b.z[2]) <= 1\n"
         "constraint c4: sum(a: 2 * x - y / 4) + a[5].x <= 30\n" SCHEDULE,
     .rounds = 12,
     .dual_radius = 3},
    {.name = "equalities, one with a negative multiplier, and a radius that is reached",
     .text = "agents a[i in 1..9] {\n state x[2] in [-2, 2]\n private minimize sumsq(x - 1 + i / 9)\n}\n"
             "agent b {\n state z in [0, 5]\n private minimize (z - 1)^2\n}\n"
             "constraint balance: sum(a: x[1]) + b.z == 7\n"
             "constraint ties: a[2].x[2] - a[5].x[2] / 2 == 0.25\n"
             "constraint limit: sum(a: x[1]^2 + i * x[2] / 9) <= 6\n"
             "constraint flow: sum(a: x[2] - i * x[1] / 9) == -1\n"
             "start balance = -0.5;  start ties = 0.1;  start flow = -0.2\n" SCHEDULE,
     .rounds = 30,
     .dual_radius = 1.5},
    {.name = "squares of sums, and rows that share nodes",
     .text = "agents a[i in 1..9] {\n state x[2] in [-2, 2]\n private minimize sumsq(x - 1)\n start x = [1, -1]\n}\n"
             "constraint c: sumsq(sum(a: x)) / 9 + sum(a: x[1]) * a[2].x[1] <= 3\n"
             "constraint d: sum(a: i * x[1]^2 - 3 * x[2]) / 9 + a[4].x[2] <= 2\n"
             "constraint e[j in 1..3]: sum(a: j * x[1]^2 + x[1] * x[2] - x[2] / j + i) / 9 <= 5 + j\n"
             "start multipliers 0.25\n" SCHEDULE,
     .rounds = 30,
     .dual_radius = 10},
};

static double furthest(const double *a, const double *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double away = fabs(a[i] - b[i]) / (1 + fabs(b[i]));
        most = away <= most ? most : away; /* a NAN stays */
    }
    return most;
}

typedef struct choice {
    tc_mechanism mechanism;
    tc_placement placement;
    tc_calibration calibration;
} choice;

static const choice choices[] = {
    {TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_PUBLISHED},
    {TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, TC_PUBLISHED},
    {TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_TIGHT},
    {TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, TC_TIGHT},
    {TC_MECHANISM_NONE, TC_PLACEMENT_OUTPUTS, TC_TIGHT},
};

static double compare(const planned *p, const situation *of, const tc_plan *plan) {
    tc_engine *small = run_engine(p->arena, p, plan, of->dual_radius, NULL, TC_DRIVER_SMALL);
    tc_engine *large = run_engine(p->arena, p, plan, of->dual_radius, NULL, TC_DRIVER_LARGE);
    slow_run slow = slow_new(p->arena, plan, p->model, p->derivatives, run_random(p->arena, 7), of->dual_radius);
    size_t n = p->model->state_count, m = p->model->constraint_count;
    double most = furthest(tc_engine_states(small), slow.x, n);
    for (uint64_t k = 1; k <= of->rounds; k++) {
        run_to(small, k);
        run_to(large, k);
        slow_round(&slow);
        assert_memory_equal(tc_engine_states(small), tc_engine_states(large), n * sizeof(double));
        assert_memory_equal(tc_engine_multipliers(small), tc_engine_multipliers(large), m * sizeof(double));
        double x = furthest(tc_engine_states(small), slow.x, n),
               mu = furthest(tc_engine_multipliers(small), slow.mu, m);
        if (!(x <= 1e-10 && mu <= 1e-10))
            fail_msg("%s, mechanism %d, placement %d, calibration %d, round %llu: x %.3g, mu %.3g", of->name,
                     (int)plan->mechanism, (int)plan->placement, (int)plan->calibration, (unsigned long long)k, x, mu);
        most = fmax(most, fmax(x, mu));
    }
    return most;
}

static void every_round_is_that_of_a_slow_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
        const situation *of = &situations[i];
        double most = 0;
        for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
            char path[1000];
            (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, of->path);
            planned p = planned_problem(of->path != NULL ? path : "test.tacit", of->text);
            const choice *by = &choices[c];
            for (size_t j = 0; j < p.model->constraint_count; j++) /* so that every row is in the answers */
                p.model->start_multipliers[j] += 0.02 * (double)(1 + j % 3);
            const tc_plan *plan = run_plan(&p, by->mechanism, by->placement, by->calibration);
            assert_int_equal(plan->placement, by->placement);
            most = fmax(most, compare(&p, of, plan));
            planned_end(&p);
        }
        printf("  %s: within %.1e\n", of->name, most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_is_that_of_a_slow_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
