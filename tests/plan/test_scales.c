/* Scales: closed forms, and for random problems a certificate of optimality computed here from scratch. */
/* labels: long not-clang */
#include "plan/placement/placement.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static tc_arena *arena;

static int set_up(void **state) {
    (void)state;
    arena = tc_arena_new(0);
    return arena == NULL ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    tc_arena_free(arena);
    return 0;
}

typedef struct made { /* a budget under construction */
    tc_scale_problem b;
    double *cost, *sensitivity;
    size_t *start;
    uint32_t *group;
} made;

static made new_budget(size_t groups, size_t units, size_t entries, int q) {
    made m = {.cost = TC_NEW(arena, double, groups),
              .sensitivity = TC_NEW(arena, double, entries),
              .start = TC_NEW(arena, size_t, units + 1),
              .group = TC_NEW(arena, uint32_t, entries)};
    m.b = (tc_scale_problem){groups, units, q, m.cost, m.start, m.group, m.sensitivity};
    return m;
}

/* The most that a unit uses, in long double. */
static long double most_used(const tc_scale_problem *b, const double *a) {
    long double most = 0;
    for (size_t u = 0; u < b->units; u++) {
        long double sum = 0;
        for (size_t k = b->start[u]; k < b->start[u + 1]; k++)
            sum += b->sensitivity[k] > 0 ? (long double)b->sensitivity[k] * (long double)a[b->group[k]] : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

static double cost_of(const tc_scale_problem *b, const double *a) {
    double cost = 0;
    for (size_t e = 0; e < b->groups; e++)
        cost += b->cost[e] > 0 ? b->cost[e] / pow(a[e], b->q) : 0;
    return cost;
}

static void keeps_the_budget(const tc_scale_problem *b, const tc_scales *s) {
    assert_true(most_used(b, s->a) <= 1 + 1e-18L);
    assert_true(tc_scales_use(b, s->a) <= 1);
    assert_true(fabs(s->cost - cost_of(b, s->a)) <= 1e-9 * s->cost);
    assert_true(s->at_best <= s->cost * (1 + 1e-9));
}

/* Multipliers from the solution alone: lambda >= 0 on rows in use with S' lambda close to q c a^(-q-1), by coordinate
 * descent on weighted squares; then Hoelder's bound, with nothing taken from the solver. */
static double certified_bound(const tc_scale_problem *b, const double *a) {
    double *lambda = TC_NEW(arena, double, b->units), *y = TC_NEW(arena, double, b->groups);
    double *target = TC_NEW(arena, double, b->groups);
    for (size_t e = 0; e < b->groups; e++)
        target[e] = b->cost[e] > 0 ? b->q * b->cost[e] / pow(a[e], b->q + 1) : 0;
    for (size_t sweep = 0; sweep < 60000; sweep++) {
        for (size_t u = 0; u < b->units; u++) {
            double slope = 0, curvature = 0, use = 0;
            for (size_t k = b->start[u]; k < b->start[u + 1]; k++) {
                size_t e = b->group[k];
                double weight = b->cost[e] > 0 ? b->sensitivity[k] / target[e] : 0;
                slope += weight > 0 ? weight * (target[e] - y[e]) / target[e] : 0;
                curvature += weight * weight;
                use += b->sensitivity[k] > 0 ? b->sensitivity[k] * a[e] : 0;
            }
            if (!(curvature > 0) || use < 1 - 1e-3)
                continue;
            double next = fmax(0, lambda[u] + slope / curvature), change = next - lambda[u];
            for (size_t k = b->start[u]; k < b->start[u + 1]; k++)
                y[b->group[k]] += b->sensitivity[k] * change;
            lambda[u] = next;
        }
    }
    double total = 0, sum = 0, r = b->q / (b->q + 1.0);
    for (size_t u = 0; u < b->units; u++)
        total += lambda[u];
    for (size_t e = 0; e < b->groups; e++)
        sum += b->cost[e] > 0 ? pow(b->cost[e], 1 - r) * pow(fmax(0, y[e]), r) : 0;
    return pow(sum, b->q + 1) / pow(total, b->q);
}

static void one_row_has_a_closed_form(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int q = 1; q <= 2; q++) {
        AT_CASE(q);
        for (size_t n = 1; n <= 40; n++) {
            made m = new_budget(n, 1, n, q);
            double total = 0;
            for (size_t e = 0; e < n; e++) {
                m.group[e] = (uint32_t)e;
                m.cost[e] = exp(uniform(&seed, -5, 5));
                m.sensitivity[e] = exp(uniform(&seed, -5, 5));
                total += m.sensitivity[e] * pow(m.cost[e] / m.sensitivity[e], 1.0 / (q + 1));
            }
            m.start[1] = n;
            tc_scales s;
            tc_scales_find(arena, &m.b, &s);
            keeps_the_budget(&m.b, &s);
            for (size_t e = 0; e < n; e++) {
                double best = pow(m.cost[e] / m.sensitivity[e], 1.0 / (q + 1)) / total;
                assert_true(fabs(s.a[e] / best - 1) < 1e-5);
            }
        }
    }
}

static void separate_rows_are_filled_each(void **state) {
    (void)state;
    made m = new_budget(1000, 1000, 1000, 2);
    for (size_t e = 0; e < 1000; e++) {
        m.group[e] = (uint32_t)e;
        m.cost[e] = 1 + (double)(e % 17);
        m.sensitivity[e] = 0.5 + (double)(e % 13);
        m.start[e + 1] = e + 1;
    }
    tc_scales s;
    tc_scales_find(arena, &m.b, &s);
    keeps_the_budget(&m.b, &s);
    double best = 0;
    for (size_t e = 0; e < 1000; e++)
        best += m.cost[e] * m.sensitivity[e] * m.sensitivity[e];
    assert_true(s.cost <= best * (1 + 1e-6) && s.cost >= best * (1 - 1e-12));
}

static made random_budget(uint64_t *seed, size_t groups, size_t units, size_t per_row, int q) {
    made m = new_budget(groups, units, units * per_row, q);
    bool *taken = TC_NEW(arena, bool, groups);
    size_t at = 0;
    for (size_t e = 0; e < groups; e++)
        m.cost[e] = exp(uniform(seed, -4, 4));
    for (size_t u = 0; u < units; u++) {
        size_t from = at, first = (size_t)random_below(seed, groups);
        for (size_t k = 0; k < per_row; k++) {
            size_t e = random_below(seed, 4) ? (first + k * k) % groups : (size_t)random_below(seed, groups);
            if (taken[e])
                continue;
            taken[e] = true;
            m.group[at] = (uint32_t)e;
            m.sensitivity[at++] = random_below(seed, 5) ? exp(uniform(seed, -3, 1)) : (double)random_below(seed, 3);
        }
        for (size_t k = from; k < at; k++)
            taken[m.group[k]] = false;
        m.start[u + 1] = at;
    }
    return m;
}

static void random_problems_are_solved_to_a_millionth_by_the_dual_bound(void **state) {
    (void)state;
    uint64_t seed = 8;
    double worst = 0, worst_own = 0;
    for (size_t i = 0; i < CASES(24); i++) {
        /* one after another: compilers differ in the order of arguments */
        size_t groups = 2 + random_below(&seed, 20), units = 1 + random_below(&seed, 40);
        size_t per_row = 1 + random_below(&seed, 8);
        made m = random_budget(&seed, groups, units, per_row, 1 + (int)(i % 2));
        for (size_t e = 0; e < m.b.groups; e++) { /* a group that no row has would cost nothing: leave it out */
            bool used = false;
            for (size_t k = 0; k < m.start[m.b.units]; k++)
                used = used || (m.group[k] == e && m.sensitivity[k] > 0);
            m.cost[e] = used ? m.cost[e] : 0;
        }
        tc_scales s;
        tc_scales_find(arena, &m.b, &s);
        keeps_the_budget(&m.b, &s);
        if (s.cost == 0)
            continue;
        worst = fmax(worst, s.cost / certified_bound(&m.b, s.a) - 1);
        worst_own = fmax(worst_own, s.cost / s.at_best - 1);
    }
    print_message("above the certified optimum by at most %.1e (the solver's own bound: %.1e)\n", worst, worst_own);
    /* coordinate descent finds the multipliers to about 1e-5 and no better; the solver's own dual bound is sharper */
    assert_true(worst < 1e-4 && worst_own < 1.1e-6);
}

static void large_problems_are_solved(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{200, 20000, 10}, {2000, 20000, 8}, {5000, 50000, 8}};
    uint64_t seed = 12;
    for (size_t i = 0; i < (CASES(8) < 8 ? 1 : 3); i++) {
        AT_CASE(i);
        for (int q = i < 2 ? 1 : 2; q <= 2; q++) {
            made m = random_budget(&seed, sizes[i][0], sizes[i][1], sizes[i][2], q);
            tc_scales s;
            clock_t begin = clock();
            tc_scales_find(arena, &m.b, &s);
            print_message("q = %d, %zu groups, %zu units, %zu entries: gap %.1e, %zu rows, %zu steps, %.2f s\n", q,
                          sizes[i][0], sizes[i][1], m.start[sizes[i][1]], s.cost / s.at_best - 1, s.rows, s.steps,
                          (double)(clock() - begin) / CLOCKS_PER_SEC);
            keeps_the_budget(&m.b, &s);
            assert_true(s.cost <= s.at_best * (1 + 2e-6));
        }
    }
}

static void equal_groups_are_merged(void **state) {
    (void)state;
    enum { N = 4000 };
    made m = new_budget(N, 3, 3 * N, 2);
    for (size_t u = 0, at = 0; u < 3; u++) {
        for (size_t e = 0; e < N; e++, at++) {
            m.group[at] = (uint32_t)e;
            m.sensitivity[at] = ldexp((e % 2 ? 1 : (double)(u + 1)), (int)(e % 5));
            m.cost[e] = 1 + (double)(e % 3);
        }
        m.start[u + 1] = at;
    }
    tc_scales s;
    tc_scales_find(arena, &m.b, &s);
    keeps_the_budget(&m.b, &s);
    assert_true(s.cost <= s.at_best * (1 + 1e-6));
    assert_true(s.rows <= 3);
    double share[2] = {0}; /* unit 2 has the largest entries everywhere: it alone binds */
    for (size_t e = 0; e < N; e++)
        share[0] += pow(m.cost[e], 1.0 / 3) * pow(m.sensitivity[2 * N + e], 2.0 / 3);
    assert_true(fabs(s.cost / pow(share[0], 3) - 1) < 1e-6);
}

static void free_groups_and_useless_units_are_understood(void **state) {
    (void)state;
    /* group 0 costs, group 1 is free, no unit moves group 2; unit 1 moves nothing */
    made m = new_budget(3, 2, 4, 2);
    memcpy(m.group, (uint32_t[]){0, 1, 2, 2}, 4 * sizeof *m.group);
    memcpy(m.sensitivity, (double[]){2, 3, 0, 0}, 4 * sizeof *m.sensitivity);
    memcpy(m.cost, (double[]){5, 0, 1}, 3 * sizeof *m.cost);
    memcpy(m.start, (size_t[]){0, 3, 4}, 3 * sizeof *m.start);
    tc_scales s;
    tc_scales_find(arena, &m.b, &s);
    keeps_the_budget(&m.b, &s);
    assert_true(fabs(s.a[0] - 0.5) < 1e-6 && s.a[0] <= 0.5);
    assert_true(s.a[1] > 5e-8 && isinf(s.a[2]));
    m.cost[0] = 0; /* all free */
    tc_scales_find(arena, &m.b, &s);
    assert_true(tc_scales_use(&m.b, s.a) <= 1 && s.a[0] > 0.1 && s.a[1] > 0.1);
}

static void extreme_numbers_stay_within_the_budget(void **state) {
    (void)state;
    static const double sizes[] = {1e-320, 1e-300, 1e-150, 1e-10, 1, 1e10, 1e150, 1e300};
    uint64_t seed = 4;
    for (size_t i = 0; i < CASES(400); i++) {
        AT_CASE(i);
        made m = new_budget(6, 5, 30, 1 + (int)(i % 2));
        for (size_t e = 0; e < 6; e++)
            m.cost[e] = sizes[random_below(&seed, 8)] * (double)random_below(&seed, 3);
        for (size_t u = 0, at = 0; u < 5; u++) {
            for (size_t e = 0; e < 6; e++, at++) {
                m.group[at] = (uint32_t)e;
                m.sensitivity[at] = sizes[random_below(&seed, 8)] * (double)random_below(&seed, 3);
            }
            m.start[u + 1] = at;
        }
        tc_scales s;
        tc_scales_find(arena, &m.b, &s);
        assert_true(tc_scales_use(&m.b, s.a) <= 1);
        assert_true(most_used(&m.b, s.a) <= 1 + 1e-18L);
        for (size_t e = 0; e < 6; e++)
            assert_true(s.a[e] >= 0);
    }
}

static void nonsense_gets_infinite_noise(void **state) {
    (void)state;
    made m = new_budget(2, 1, 2, 2);
    memcpy(m.group, (uint32_t[]){0, 1}, 2 * sizeof *m.group);
    memcpy(m.cost, (double[]){1, 1}, 2 * sizeof *m.cost);
    m.start[1] = 2;
    static const double wrong[] = {-1, (double)INFINITY, (double)NAN};
    for (size_t i = 0; i < 3; i++) {
        memcpy(m.sensitivity, (double[]){1, wrong[i]}, 2 * sizeof *m.sensitivity);
        tc_scales s;
        tc_scales_find(arena, &m.b, &s);
        assert_true(s.a[0] == 0 && s.a[1] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_row_has_a_closed_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(separate_rows_are_filled_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_problems_are_solved_to_a_millionth_by_the_dual_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_problems_are_solved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_groups_are_merged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(free_groups_and_useless_units_are_understood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extreme_numbers_stay_within_the_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense_gets_infinite_noise, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
