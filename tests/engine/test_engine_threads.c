/* The same bits on any number of threads, and from both drivers. */
/* labels: long not-asan not-clang */
#include "engine/runs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define MANY "9000" /* five blocks */
#else
#define MANY "100000"
#endif

#define SCHEDULE "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"

typedef struct situation {
    const char *name, *text;
    uint64_t rounds;
} situation;

static const situation situations[] = {
    {"agents alone", AGENTS_ALONE SCHEDULE, 40},
    {"5,000 alike, with data in curved bodies and some of them named", MANY_ALIKE_AND_SOME_NAMED SCHEDULE, 6},
    {"many alike, affine constraints",
     "agents a[i in 1.." MANY "] {\n state x[2] in [-1, 4]\n private minimize sumsq(x - i / " MANY ")\n}\n"
     "constraint c[j in 1..3]: sum(a: j * x[1] - x[2]) / " MANY " <= 0.2\n"
     "constraint d: sum(a: (i / " MANY ") * x[1]) / " MANY " <= 0.3\nstart multipliers 0.25\n" SCHEDULE,
     3},
    {"many alike, a curved function of their sums",
     "agents a[i in 1.." MANY "] {\n state x in [-1, 4]\n private minimize (x - 2)^2\n private set x <= 1 + i / " MANY
     "\n}\n"
     "agents b[i in 1..3000] {\n state u[3] in [0, 1]\n private minimize sumsq(u - 0.9)\n private set sum(u) <= 2\n}\n"
     "constraint c: sumsq(sum(a: x) / " MANY ") + sum(b: u[1]^2) / 3000 <= 1\n"
     "constraint d: sum(b: u[2] + u[3]) / 3000 <= 0.5\nstart multipliers 0.25\n" SCHEDULE,
     3},
};

static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN, TC_MECHANISM_NONE};

typedef struct ending {
    double *x, *mu;
} ending;

static void expect_same(const planned *p, const situation *of, const ending *first, const tc_engine *engine,
                        const char *what, size_t number) {
    size_t n = p->model->state_count, m = p->model->constraint_count;
    if (memcmp(first->x, tc_engine_states(engine), n * sizeof(double)) != 0)
        fail_msg("%s: states differ: %s %zu", of->name, what, number);
    if (memcmp(first->mu, tc_engine_multipliers(engine), m * sizeof(double)) != 0)
        fail_msg("%s: multipliers differ: %s %zu", of->name, what, number);
}

/* Runs from the start, once for each number of threads. */
static void run_all(const planned *p, const situation *of, const tc_plan *plan) {
    static const size_t sizes[] = {1, 2, 3, 7};
    size_t n = p->model->state_count, m = p->model->constraint_count;
    ending first = {TC_NEW(p->arena, double, n), TC_NEW(p->arena, double, m)};
    tc_engine *small = run_engine(p->arena, p, plan, 5, NULL, TC_DRIVER_SMALL);
    bool moved = false;
    run_to(small, of->rounds);
    memcpy(first.x, tc_engine_states(small), n * sizeof(double));
    memcpy(first.mu, tc_engine_multipliers(small), m * sizeof(double));
    for (size_t j = 0; j < m; j++)
        moved = moved || first.mu[j] > 0;
    assert_true(moved);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        tc_team *team = tc_team_new(arena, sizes[i]);
        tc_engine *large = run_engine(arena, p, plan, 5, team, TC_DRIVER_LARGE);
        tc_engine *usual = run_engine(arena, p, plan, 5, team, TC_DRIVER_AUTO);
        run_to(large, of->rounds);
        expect_same(p, of, &first, large, "threads:", sizes[i]);
        run_to(usual, of->rounds);
        expect_same(p, of, &first, usual, "the usual driver, threads:", sizes[i]);
        tc_arena_free(arena);
    }
}

static void bits_depend_neither_on_threads_nor_on_the_driver(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++)
        for (size_t b = 0; b < 3; b++) {
            planned p = planned_problem("threads.tacit", situations[i].text);
            run_all(&p, &situations[i], run_plan(&p, mechanisms[b], TC_PLACEMENT_OUTPUTS, TC_TIGHT));
            planned_end(&p);
        }
}

static void the_published_calibration_has_the_same_bits_too(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        planned p = planned_problem("threads.tacit", situations[i].text);
        run_all(&p, &situations[i], run_plan(&p, TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_PUBLISHED));
        planned_end(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_depend_neither_on_threads_nor_on_the_driver),
        cmocka_unit_test(the_published_calibration_has_the_same_bits_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
