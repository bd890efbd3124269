/* Large problems: each kind once with a million agents, and all mechanisms and units with fewer. With sanitizers, not
 * so large. */
/* labels: long not-asan not-clang */
#include "plan/planned.h"

#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define MANY "20000"
#define SOME "2000"
#else
#define MANY "1000000"
#define SOME "50000"
#endif

#define BY_SUMS(COUNT)                                                                                                 \
    "agents a[i in 1.." COUNT "] {\n state p[4] in [0, 7.4]\n private minimize sumsq(p)\n}\n"                          \
    "constraint c[t in 1..4]: sum(a: p[t]) <= 1000\n"
#define BY_SQUARES(COUNT)                                                                                              \
    "agents a[i in 1.." COUNT "] {\n state p in [0, 1]\n private minimize p^2\n}\n"                                    \
    "constraint c: sum(a: (1 + i / " COUNT ") * p^2) <= 1000\nconstraint d: sumsq(sum(a: i * p) / " COUNT ") <= 9\n"

static void plan_large(const char *text, tc_method method, tc_mechanism mechanism, tc_adjacency unit) {
    planned p = planned_problem("large.tacit", text);
    tc_plan_options options = planned_options();
    options.method = method;
    options.mechanism = mechanism;
    options.adjacency = unit;
    options.adjacency_bound = 1;
    options.epsilon = 1;
    options.delta = 1e-9;
    options.rounds = 1000;
    struct timespec begin, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    const tc_plan *plan = planned_plan(&p, &options);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (plan->problem != NULL)
        fail_msg("%s\n%s", plan->problem, text);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    size_t megabytes = tc_arena_bytes(p.arena) >> 20;
    printf("  %.1f s, %zu MB: %s, %s\n", seconds, megabytes, mechanism == TC_MECHANISM_LAPLACE ? "laplace" : "gaussian",
           plan->placement == TC_PLACEMENT_STATES ? "states" : "outputs");
    assert_true(megabytes < 600);
    planned_end(&p);
}

static void a_million_agents_are_planned(void **state) {
    (void)state;
    plan_large(BY_SUMS(MANY), TC_METHOD_PUBLISHED, TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE);
    plan_large(BY_SQUARES(MANY), TC_METHOD_PUBLISHED, TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_AGENT);
}

static void every_mechanism_and_unit_is_planned_for_many_agents(void **state) {
    (void)state;
    plan_large(BY_SUMS(SOME), TC_METHOD_PUBLISHED, TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_ENSEMBLE);
    plan_large(BY_SUMS(SOME), TC_METHOD_PUBLISHED, TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_AGENT);
    plan_large(BY_SQUARES(SOME), TC_METHOD_PUBLISHED, TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE);
    plan_large(BY_SQUARES(SOME), TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_ENSEMBLE);
}

/* Processor time of a problem with so many agents declared alone, from its text to its plan; the least of three. */
static double time_of_single_agents(size_t count, const char *unit) {
    char *text = malloc(count * 200 + 1000);
    size_t length = 0;
    bool data = strcmp(unit, "data") == 0, slopes = strcmp(unit, "slopes") == 0;
    bool curved = slopes || strcmp(unit, "curved") == 0;
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        length += (size_t)sprintf(
            text + length, "agent a%zu { state x in [0, 5]; private param t = %g; private minimize (x - t)^2;%s }\n", i,
            1 + (double)(i % 7) / 10, data ? " range t in [0, 3]; protect t by 0.5; gap 30; slater x = 0.1" : "");
    length += (size_t)sprintf(text + length, "constraint c: a0.x");
    for (size_t i = 1; i < count; i++)
        length += (size_t)sprintf(text + length, " + a%zu.x%s", i, curved ? "^2" : "");
    (void)sprintf(text + length, " <= %zu\ndual radius 1\nschedule { rounds 100 }\n", 2 * count);
    double least = INFINITY;
    for (int i = 0; i < 3; i++) {
        clock_t begin = clock();
        planned p = planned_problem("single.tacit", text);
        tc_plan_options options = planned_options();
        options.method = slopes ? TC_METHOD_PUBLISHED : TC_METHOD_TACIT;
        options.mechanism = TC_MECHANISM_GAUSSIAN;
        options.adjacency = data                            ? TC_ADJACENCY_DATA
                            : strcmp(unit, "together") == 0 ? TC_ADJACENCY_ENSEMBLE
                                                            : TC_ADJACENCY_AGENT;
        options.adjacency_bound = 1;
        options.epsilon = 1;
        options.delta = 1e-9;
        const tc_plan *plan = planned_plan(&p, &options);
        if (plan->problem != NULL)
            fail_msg("%s", plan->problem);
        least = fmin(least, (double)(clock() - begin) / CLOCKS_PER_SEC);
        planned_end(&p);
    }
    free(text);
    return least;
}

/* Twelve times the agents: about 12 times the time, where a step for each pair of them takes 144 times. */
static void agents_that_are_declared_one_by_one_cost_in_proportion(void **state) {
    (void)state;
    static const char *const units[] = {"agent", "data", "curved", "slopes", "together"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double few = time_of_single_agents(500, units[i]), many = time_of_single_agents(6000, units[i]);
        printf("  %s: 500 in %.3f s, 6,000 in %.3f s\n", units[i], few, many);
        assert_true(many < 36 * few);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_agents_are_planned),
        cmocka_unit_test(every_mechanism_and_unit_is_planned_for_many_agents),
        cmocka_unit_test(agents_that_are_declared_one_by_one_cost_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
