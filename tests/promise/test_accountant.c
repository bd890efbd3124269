/* The accountant: sums hold in the unit and at the delta that are asked about, one more run never lowers them, and a
 * budget cannot be dodged by the choice of delta, B, unit or mechanism. */
/* labels: long not-asan not-clang */
#include "promise/ledger.h"
#include "plan/account/account.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    tc_arena *arena;
    tc_ledger_entry entries[256];
    tc_ledger ledger;
} trial;

static int begin(void **state) {
    static trial t;
    t = (trial){.arena = tc_arena_new(0)};
    assert_non_null(t.arena);
    t.ledger = (tc_ledger){.path = "spent", .entries = t.entries};
    *state = &t;
    return 0;
}

static int end(void **state) {
    tc_arena_free(((trial *)*state)->arena);
    return 0;
}

static tc_ledger_entry laplace(double epsilon) {
    return (tc_ledger_entry){.run = "r",
                             .problem = "num.tacit",
                             .unit = TC_ADJACENCY_ONE,
                             .bound = 1,
                             .mechanism = TC_MECHANISM_LAPLACE,
                             .epsilon = epsilon,
                             .mu = NAN,
                             .agent = INFINITY,
                             .rounds = 100,
                             .agents = NAN,
                             .is_priced = true};
}

/* A run that is asked for (epsilon, delta). */
static tc_ledger_entry gaussian(double epsilon, double delta) {
    tc_ledger_entry entry = laplace(epsilon);
    entry.mechanism = TC_MECHANISM_GAUSSIAN;
    entry.delta = delta;
    entry.mu = tc_gaussian_gdp(epsilon, delta);
    return entry;
}

static tc_ledger_entry in_unit(tc_ledger_entry entry, tc_adjacency unit, double bound) {
    entry.unit = unit;
    entry.bound = bound;
    return entry;
}

static void enter(trial *t, tc_ledger_entry entry) { t->entries[t->ledger.count++] = entry; }

static tc_spent spent(trial *t, tc_adjacency unit, double bound, double delta) {
    return tc_spent_in(t->arena, t->entries, t->ledger.count, (tc_unit){.kind = unit, .bound = bound}, delta);
}

static const char *over(trial *t, tc_ledger_entry next, double epsilon, double delta) {
    tc_budget budget = {.epsilon = epsilon, .delta = delta};
    return tc_over_budget(t->arena, &t->ledger, &next, &budget, 1);
}

/* Enters it where the budget allows. */
static bool is_allowed(trial *t, tc_ledger_entry next, double epsilon, double delta) {
    bool allowed = over(t, next, epsilon, delta) == NULL;
    if (allowed)
        enter(t, next);
    return allowed;
}

static void assert_says(const char *text, const char *part) {
    if (text == NULL || strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text == NULL ? "(nothing)" : text);
}

/* ---- sums ---- */

static void laplace_prices_add_and_round_up(void **state) {
    trial *t = *state;
    long double exact = 0;
    for (size_t i = 0; i < 256; i++) {
        enter(t, laplace(0.1 * (double)(i + 1) / 3));
        exact += (long double)t->entries[i].epsilon;
    }
    tc_spent all = spent(t, TC_ADJACENCY_ONE, 1, 0);
    assert_true((long double)all.epsilon >= exact && (long double)all.epsilon <= exact * (1 + 1e-12L));
    assert_true(all.own == 256 && all.converted == 0 && all.mu == 0);
}

static void gaussian_prices_add_in_squares(void **state) {
    trial *t = *state;
    for (int i = 0; i < 4; i++)
        enter(t, gaussian(1, 1e-6));
    double mu = tc_gaussian_gdp(1, 1e-6), together = tc_gaussian_epsilon(2 * mu, 1e-6);
    tc_spent all = spent(t, TC_ADJACENCY_ONE, 1, 1e-6);
    assert_true(all.mu >= 2 * mu && all.mu <= 2 * mu * (1 + 1e-14));
    assert_true(tc_gaussian_delta(all.epsilon, all.mu).hi <= 1e-6 && all.epsilon <= together * (1 + 1e-9));
}

static void a_run_without_a_price_leaves_no_sum(void **state) {
    trial *t = *state;
    tc_ledger_entry seeded = laplace(INFINITY), unnoised = laplace(INFINITY);
    seeded.is_priced = unnoised.is_priced = false;
    unnoised.unit = TC_ADJACENCY_UNSET;
    unnoised.bound = NAN;
    enter(t, laplace(1));
    enter(t, seeded);
    assert_true(isinf(spent(t, TC_ADJACENCY_ONE, 1, 0).epsilon));
    assert_true(isinf(spent(t, TC_ADJACENCY_ENSEMBLE, 3, 1e-6).epsilon));
    assert_true(isinf(spent(t, TC_ADJACENCY_AGENT, NAN, 1e-6).epsilon));
    t->entries[1] = unnoised;
    assert_true(isinf(spent(t, TC_ADJACENCY_ONE, 1, 0).epsilon));
    assert_says(over(t, laplace(0.1), 1e6, 1e-6), "no budget allows it");
}

/* delta of randomised responses with these epsilons beside one Gaussian: the worst that such runs can be. */
static long double tail(long double x) { return 0.5L * erfcl(x / sqrtl(2)); }

static long double gaussian_delta(long double epsilon, long double mu) {
    if (mu == 0)
        return epsilon < 0 ? 1 - expl(epsilon) : 0;
    return tail(epsilon / mu - mu / 2) - expl(epsilon) * tail(epsilon / mu + mu / 2);
}

static long double worst_delta(const double *epsilons, size_t count, long double mu, long double epsilon) {
    long double sum = 0;
    for (size_t signs = 0; signs < (size_t)1 << count; signs++) {
        long double loss = 0, probability = 1;
        for (size_t i = 0; i < count; i++) {
            bool up = signs >> i & 1;
            probability *= 1 / (1 + expl(up ? -(long double)epsilons[i] : (long double)epsilons[i]));
            loss += up ? (long double)epsilons[i] : -(long double)epsilons[i];
        }
        sum += probability * gaussian_delta(epsilon - loss, mu);
    }
    return sum;
}

static void runs_of_both_mechanisms_have_one_sum_that_is_not_below_the_truth(void **state) {
    trial *t = *state;
    uint64_t random = 7;
    for (int i = 0; i < 60; i++) {
        AT_CASE(i);
        double epsilons[6], squares = 0, delta = pow(10, -1 - 6 * random_unit(&random));
        size_t count = (size_t)(7 * random_unit(&random));
        t->ledger.count = 0;
        for (size_t k = 0; k < count; k++) {
            epsilons[k] = 2 * random_unit(&random);
            enter(t, laplace(epsilons[k]));
        }
        for (size_t k = 0; k < (size_t)(4 * random_unit(&random)); k++) {
            tc_ledger_entry entry = gaussian(1 + random_unit(&random), 1e-5);
            squares += entry.mu * entry.mu;
            enter(t, entry);
        }
        tc_spent all = spent(t, TC_ADJACENCY_ONE, 1, delta);
        double plain = all.laplace + (squares == 0 ? 0 : tc_gaussian_epsilon(sqrt(squares), delta));
        assert_true(all.epsilon <= plain * (1 + 1e-9));
        assert_true(worst_delta(epsilons, count, sqrtl((long double)squares), (long double)all.epsilon) <=
                    (long double)delta * (1 + 1e-9L));
    }
}

static void many_small_laplace_runs_cost_less_at_a_delta(void **state) {
    trial *t = *state;
    for (int i = 0; i < 200; i++)
        enter(t, laplace(0.1));
    double plain = spent(t, TC_ADJACENCY_ONE, 1, 0).epsilon, at = spent(t, TC_ADJACENCY_ONE, 1, 1e-6).epsilon;
    assert_true(plain >= 20 && plain <= 20 * (1 + 1e-12));
    assert_true(at < 11);
    /* the sum of n equal responses is binomial: its delta, exactly */
    long double truth = 0, p = 1 / (1 + expl(-0.1L)), choose = 0;
    for (int up = 0; up <= 200; up++) {
        long double loss = 0.1L * (2 * up - 200);
        choose = lgammal(201) - lgammal(up + 1) - lgammal(201 - up);
        if (loss > (long double)at)
            truth += expl(choose + up * logl(p) + (200 - up) * logl(1 - p)) * (1 - expl((long double)at - loss));
    }
    assert_true(truth <= 1e-6L);
}

/* ---- one more run ---- */

static tc_ledger_entry random_run(uint64_t *random) {
    static const tc_adjacency units[] = {TC_ADJACENCY_ONE, TC_ADJACENCY_ENSEMBLE, TC_ADJACENCY_AGENT};
    double epsilon = 0.01 + 3 * random_unit(random);
    tc_ledger_entry entry =
        random_unit(random) < 0.5 ? laplace(epsilon) : gaussian(epsilon, pow(10, -0.3 - 8 * random_unit(random)));
    entry.unit = units[(size_t)(3 * random_unit(random))];
    entry.bound = entry.unit == TC_ADJACENCY_AGENT ? NAN : 0.1 + 3 * random_unit(random);
    entry.agent = random_unit(random) < 0.3 ? (double)INFINITY : 50 * random_unit(random);
    entry.agents = random_unit(random) < 0.5 ? NAN : 10;
    return entry;
}

static void a_run_can_only_raise_what_was_spent(void **state) {
    trial *t = *state;
    uint64_t random = 20;
    for (int sequence = 0; sequence < 6; sequence++) {
        AT_CASE(sequence);
        const tc_unit units[] = {{.kind = TC_ADJACENCY_ONE, .bound = 0.1 + random_unit(&random)},
                                 {.kind = TC_ADJACENCY_ENSEMBLE, .bound = 0.1 + random_unit(&random)},
                                 {.kind = TC_ADJACENCY_AGENT, .bound = NAN}};
        const double deltas[] = {0, 1e-6, 0.3};
        double before[3][3] = {{0}}, before_least[3] = {0};
        t->ledger.count = 0;
        for (int k = 0; k < 12; k++) {
            enter(t, random_run(&random));
            for (int u = 0; u < 3; u++) {
                for (int d = 0; d < 3; d++) {
                    double now = spent(t, units[u].kind, units[u].bound, deltas[d]).epsilon;
                    assert_true(now >= before[u][d] * (1 - 1e-12));
                    before[u][d] = now;
                }
                double now = tc_spent_so_far(t->arena, t->entries, t->ledger.count, units[u]).epsilon;
                assert_true(now >= before_least[u] * (1 - 1e-12)); /* as ledgers are shown */
                before_least[u] = now;
            }
            tc_arena_free(t->arena);
            t->arena = tc_arena_new(0);
        }
    }
}

static void what_a_budget_refused_once_it_refuses_for_ever(void **state) {
    trial *t = *state;
    uint64_t random = 3;
    for (int sequence = 0; sequence < 8; sequence++) {
        AT_CASE(sequence);
        t->ledger.count = 0;
        tc_ledger_entry wanted = gaussian(1, 1e-6);
        bool was_refused = false;
        for (int k = 0; k < 12; k++) {
            bool refused = over(t, wanted, 4, 1e-6) != NULL;
            assert_true(refused || !was_refused);
            was_refused = refused;
            tc_ledger_entry next = random_run(&random);
            (void)is_allowed(t, next, 4, 1e-6);
        }
    }
}

/* ---- dodges ---- */

static void one_run_with_a_large_delta_does_not_free_a_budget(void **state) {
    trial *t = *state;
    int entered = 0;
    while (entered < 100 && is_allowed(t, gaussian(1, 1e-6), 4, 1e-6))
        entered++;
    assert_int_equal(entered, 12);
    tc_spent twelve = spent(t, TC_ADJACENCY_ONE, 1, 1e-6);
    assert_true(fabs(twelve.epsilon - 3.904) < 5e-4);
    assert_false(is_allowed(t, gaussian(0.5, 0.2), 4, 1e-6));
    enter(t, gaussian(0.5, 0.2)); /* without a budget */
    assert_true(spent(t, TC_ADJACENCY_ONE, 1, 1e-6).epsilon > 4);
    assert_true(tc_spent_so_far(t->arena, t->entries, t->ledger.count, twelve.unit).epsilon > 4);
    assert_false(is_allowed(t, gaussian(1, 1e-6), 4, 1e-6));
}

static void a_run_that_hides_at_a_large_delta_alone_is_too_dear(void **state) {
    trial *t = *state;
    assert_says(over(t, gaussian(0.5, 0.2), 1, 1e-6), "too small: this run alone costs");
}

static void b_in_the_fourth_digit_is_the_same_budget(void **state) {
    trial *t = *state;
    const double bounds[] = {1, 1.0001, 0.9999, 0.99985, 1.00017};
    int entered = 0;
    for (int i = 0; i < 5; i++)
        entered += is_allowed(t, in_unit(laplace(1), TC_ADJACENCY_ONE, bounds[i]), 1, NAN);
    assert_int_equal(entered, 1);
    t->ledger.count = 0;
    for (int i = 0; i < 20; i++)
        entered += is_allowed(t, in_unit(gaussian(1, 1e-6), TC_ADJACENCY_ENSEMBLE, 1 + 1e-4 * i), 4, 1e-6);
    assert_int_equal(entered, 1 + 12); /* as many as where all B are alike */
}

/* The same noise, announced for a smaller B at a smaller epsilon, or for a B at which it looks cheap. */
static void a_small_b_does_not_make_a_dear_run_cheap(void **state) {
    trial *t = *state;
    assert_true(is_allowed(t, laplace(1), 4, NAN));
    assert_says(over(t, in_unit(laplace(1), TC_ADJACENCY_ONE, 0.001), 4, NAN), "in the unit one:1");
    assert_true(is_allowed(t, in_unit(laplace(0.001), TC_ADJACENCY_ONE, 0.001), 4, NAN));
    assert_true(spent(t, TC_ADJACENCY_ONE, 1, 0).epsilon >= 2);
}

static void prices_are_converted_in_proportion_to_b(void **state) {
    trial *t = *state;
    enter(t, in_unit(laplace(1), TC_ADJACENCY_ONE, 2));
    enter(t, in_unit(laplace(0.5), TC_ADJACENCY_ENSEMBLE, 0.25));
    tc_spent all = spent(t, TC_ADJACENCY_ONE, 1, 0);
    assert_true(all.epsilon >= 2.5 && all.epsilon <= 2.5 * (1 + 1e-12));
    assert_true(all.own == 0 && all.converted == 2 && all.not_converted == 0);
    t->ledger.count = 0;
    enter(t, in_unit(gaussian(1, 1e-6), TC_ADJACENCY_ENSEMBLE, 0.5));
    double mu = spent(t, TC_ADJACENCY_ONE, 1, 1e-6).mu, exact = 2 * tc_gaussian_gdp(1, 1e-6);
    assert_true(mu >= exact && mu <= exact * (1 + 1e-12));
}

static void ensemble_covers_one_and_agent_covers_one(void **state) {
    trial *t = *state;
    assert_true(is_allowed(t, in_unit(gaussian(1, 1e-6), TC_ADJACENCY_ENSEMBLE, 1), 2, 1e-6));
    assert_true(is_allowed(t, gaussian(1, 1e-6), 2, 1e-6));
    assert_true(is_allowed(t, in_unit(gaussian(0.5, 1e-6), TC_ADJACENCY_AGENT, NAN), 2, 1e-6) == false); /* not one */
    t->ledger.count = 0;
    assert_true(is_allowed(t, in_unit(laplace(1), TC_ADJACENCY_AGENT, NAN), 2, NAN));
    assert_true(is_allowed(t, laplace(1), 2, NAN));
    assert_false(is_allowed(t, laplace(0.1), 2, NAN));
}

static void what_cannot_be_converted_is_refused_with_the_reason(void **state) {
    trial *t = *state;
    enter(t, gaussian(1, 1e-6));
    const char *why = over(t, in_unit(gaussian(0.1, 1e-6), TC_ADJACENCY_ENSEMBLE, 1), 100, 1e-6);
    assert_says(why, "cannot be counted in the unit ensemble:1");
    assert_says(why, "does not say how many agents there are");
    why = over(t, in_unit(gaussian(0.1, 1e-6), TC_ADJACENCY_AGENT, NAN), 100, 1e-6);
    assert_says(why, "does not say what it costs to hide one agent entirely");
    t->entries[0].agent = 3; /* a line of the second form does */
    assert_null(over(t, in_unit(gaussian(0.1, 1e-6), TC_ADJACENCY_AGENT, NAN), 100, 1e-6));
    assert_true(spent(t, TC_ADJACENCY_AGENT, NAN, 1e-6).mu == 3);
    t->entries[0] = in_unit(laplace(1), TC_ADJACENCY_AGENT, NAN);
    why = over(t, in_unit(laplace(0.1), TC_ADJACENCY_ENSEMBLE, 1), 100, NAN);
    assert_says(why, "does not say how many agents there are");
}

static void runs_of_one_agent_count_for_ensembles_by_how_many_there_are(void **state) {
    trial *t = *state;
    enter(t, in_unit(gaussian(1, 1e-6), TC_ADJACENCY_ONE, 0.5));
    t->entries[0].agents = 9;
    double mu = spent(t, TC_ADJACENCY_ENSEMBLE, 1, 1e-6).mu, exact = 2 * 3 * tc_gaussian_gdp(1, 1e-6);
    assert_true(mu >= exact && mu <= exact * (1 + 1e-12));
    t->entries[0] = in_unit(laplace(0.5), TC_ADJACENCY_AGENT, NAN);
    t->entries[0].agents = 9;
    assert_true(spent(t, TC_ADJACENCY_ENSEMBLE, 1, 0).epsilon == 4.5);
}

/* A file that promises to hide one agent entirely, or a large B, is not undone by a run with a cheaper unit. */
static void a_budget_is_kept_in_the_unit_of_the_file_too(void **state) {
    trial *t = *state;
    tc_ledger_entry next = in_unit(gaussian(0.5, 1e-6), TC_ADJACENCY_ONE, 1);
    next.agent = 30;
    assert_null(over(t, next, 4, 1e-6));
    next.file_unit = (tc_unit){.kind = TC_ADJACENCY_AGENT, .bound = NAN};
    assert_says(over(t, next, 4, 1e-6), "in the unit agent");
    next = in_unit(laplace(3.9), TC_ADJACENCY_ONE, 1e-12);
    next.file_unit = (tc_unit){.kind = TC_ADJACENCY_ONE, .bound = 1};
    assert_says(over(t, next, 4, NAN), "in the unit one:1");
    next = in_unit(gaussian(0.5, 1e-6), TC_ADJACENCY_ONE, 0.5);
    next.agents = 100;
    next.file_unit = (tc_unit){.kind = TC_ADJACENCY_ENSEMBLE, .bound = 0.5};
    assert_says(over(t, next, 2, 1e-6), "in the unit ensemble:0.5");
}

/* In l1 a change of several agents costs what the same change of one does. */
static void laplace_runs_in_unit_one_count_for_ensembles(void **state) {
    trial *t = *state;
    enter(t, in_unit(laplace(1), TC_ADJACENCY_ONE, 0.5));
    tc_spent all = spent(t, TC_ADJACENCY_ENSEMBLE, 1, 0);
    assert_true(all.not_converted == 0 && all.epsilon >= 2 && all.epsilon <= 2 * (1 + 1e-12));
}

/* ---- what a budget says ---- */

static void a_budget_without_a_delta_is_at_fault_where_noise_is_gaussian(void **state) {
    trial *t = *state;
    tc_budget plain = {.epsilon = 4, .delta = NAN}, pair = {.epsilon = 4, .delta = 1e-6};
    tc_ledger_entry quiet = laplace(1), loud = gaussian(1, 1e-6);
    assert_null(tc_budget_fault(t->arena, &t->ledger, &quiet, &plain));
    assert_says(tc_budget_fault(t->arena, &t->ledger, &loud, &plain), "write --budget 4:1e-6");
    assert_null(tc_budget_fault(t->arena, &t->ledger, &loud, &pair));
    enter(t, loud);
    assert_says(tc_budget_fault(t->arena, &t->ledger, &quiet, &plain), "has no delta");
    assert_non_null(over(t, quiet, 4, NAN));
}

static void every_budget_must_be_kept(void **state) {
    trial *t = *state;
    const tc_budget both[] = {{.epsilon = 4, .delta = NAN}, {.epsilon = 1.5, .delta = NAN}};
    tc_ledger_entry next = laplace(1);
    assert_null(tc_over_budget(t->arena, &t->ledger, &next, both, 2));
    enter(t, next);
    assert_null(tc_over_budget(t->arena, &t->ledger, &next, both, 1));
    assert_says(tc_over_budget(t->arena, &t->ledger, &next, both, 2),
                "the budget of epsilon 1.5 does not allow it: with the 1 run in the ledger it would come to 2 in the "
                "unit one:1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(laplace_prices_add_and_round_up),
        TEST(gaussian_prices_add_in_squares),
        TEST(a_run_without_a_price_leaves_no_sum),
        TEST(runs_of_both_mechanisms_have_one_sum_that_is_not_below_the_truth),
        TEST(many_small_laplace_runs_cost_less_at_a_delta),
        TEST(a_run_can_only_raise_what_was_spent),
        TEST(what_a_budget_refused_once_it_refuses_for_ever),
        TEST(one_run_with_a_large_delta_does_not_free_a_budget),
        TEST(a_run_that_hides_at_a_large_delta_alone_is_too_dear),
        TEST(b_in_the_fourth_digit_is_the_same_budget),
        TEST(a_small_b_does_not_make_a_dear_run_cheap),
        TEST(prices_are_converted_in_proportion_to_b),
        TEST(ensemble_covers_one_and_agent_covers_one),
        TEST(what_cannot_be_converted_is_refused_with_the_reason),
        TEST(runs_of_one_agent_count_for_ensembles_by_how_many_there_are),
        TEST(a_budget_is_kept_in_the_unit_of_the_file_too),
        TEST(laplace_runs_in_unit_one_count_for_ensembles),
        TEST(a_budget_without_a_delta_is_at_fault_where_noise_is_gaussian),
        TEST(every_budget_must_be_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
