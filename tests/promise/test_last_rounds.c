/* Runs with a last round (--feasible always), whose noise has bounds: their lines in a ledger, their sums, budgets. */
#include "plan/account/account.h"
#include "promise/ledger.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    tc_arena *arena;
    tc_ledger_entry entries[64];
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

/* A run that costs `price` (epsilon, or mu), of which the last round has `last`. */
static tc_ledger_entry run_of(tc_mechanism mechanism, double price, double last, double cut) {
    bool gaussian = mechanism == TC_MECHANISM_GAUSSIAN;
    return (tc_ledger_entry){.run = "r",
                             .time = "2026-01-31T12:00:00Z",
                             .problem = "ev.tacit",
                             .plan = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                             .unit = TC_ADJACENCY_ONE,
                             .bound = 1,
                             .mechanism = mechanism,
                             .epsilon = gaussian ? 1 : price,
                             .delta = 1e-3,
                             .mu = gaussian ? price : NAN,
                             .agent = INFINITY,
                             .rounds = 100,
                             .agents = 3,
                             .last = {last, INFINITY, 1, cut},
                             .is_priced = true};
}

static tc_ledger_entry laplace(double epsilon, double last, double cut) {
    return run_of(TC_MECHANISM_LAPLACE, epsilon, last, cut);
}
static tc_ledger_entry gaussian(double mu, double last, double cut) {
    return run_of(TC_MECHANISM_GAUSSIAN, mu, last, cut);
}
static tc_ledger_entry without_last(tc_ledger_entry entry) {
    entry.last = (tc_ledger_last){0};
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
static tc_spent in_one(trial *t, double delta) { return spent(t, TC_ADJACENCY_ONE, 1, delta); }

static const char *over(trial *t, tc_ledger_entry next, double epsilon, double delta) {
    tc_budget budget = {.epsilon = epsilon, .delta = delta};
    return tc_over_budget(t->arena, &t->ledger, &next, &budget, 1);
}

static void assert_says(const char *text, const char *part) {
    if (text == NULL || strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text == NULL ? "(nothing)" : text);
}

/* ---- the truth: releases on a lattice, of noise with bounds or without, one beside the other -----------------------
 */

typedef struct source {
    bool gaussian;
    double scale; /* in steps */
    int shift;    /* between two worlds */
    int bound;    /* 0: none */
} source;

static double tail_from(const source *s, double k) {
    if (k <= 0)
        return 1;
    return s->gaussian ? erfc((k - 0.5) / (s->scale * sqrt(2))) : exp(-(k - 0.5) / s->scale);
}

static double probability(const source *s, int value) {
    if (s->bound > 0 && abs(value) > s->bound)
        return 0;
    double both = tail_from(s, abs(value)) - tail_from(s, abs(value) + 1);
    return both / (value == 0 ? 1 : 2) / (s->bound > 0 ? 1 - tail_from(s, s->bound + 1) : 1);
}

/* sum (p0 - e^epsilon p1)^+ over all that can be released, of a product of sources. */
static double exact_delta(const source *sources, size_t count, double epsilon, double here, double there) {
    if (count == 0)
        return fmax(0, here - exp(epsilon) * there);
    double delta = 0;
    int most = sources->bound > 0 ? sources->bound : (int)(12 * sources->scale);
    for (int y = -most; y <= most; y++)
        delta += exact_delta(sources + 1, count - 1, epsilon, here * probability(sources, y),
                             there * probability(sources, y - sources->shift));
    return delta;
}

static tc_ledger_entry entry_of(const source *s) {
    double price = s->shift / s->scale;
    tc_ledger_entry entry =
        run_of(s->gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE, price, price, fmax(1, s->bound / s->scale));
    return s->bound > 0 ? entry : without_last(entry);
}

/* What the accountant says of these runs at a delta holds; and how much of that delta they need. */
static double used_of_delta(trial *t, const source *sources, size_t count, double delta) {
    t->ledger.count = 0;
    for (size_t i = 0; i < count; i++)
        enter(t, entry_of(&sources[i]));
    tc_spent all = in_one(t, delta);
    assert_true(isfinite(all.epsilon) && all.not_converted == 0);
    double used = exact_delta(sources, count, all.epsilon, 1, 1) / delta;
    assert_true(used <= 1);
    return used;
}

static void sums_are_not_below_the_truth(void **state) {
    trial *t = *state;
    const source cut_laplace = {false, 6, 3, 30}, laplace_alone = {false, 6, 3, 0}, cut_gaussian = {true, 5, 3, 21},
                 gaussian_alone = {true, 5, 3, 0};
    const source pairs[][2] = {{cut_laplace, cut_laplace},   {cut_laplace, laplace_alone},
                               {cut_laplace, cut_gaussian},  {cut_laplace, gaussian_alone},
                               {cut_gaussian, cut_gaussian}, {cut_gaussian, gaussian_alone},
                               {cut_gaussian, laplace_alone}};
    double most = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (double delta = 2e-2; delta > 5e-3; delta /= 1.5) {
            double used = used_of_delta(t, pairs[i], 2, delta);
            most = fmax(most, used);
            (void)used_of_delta(t, pairs[i], 1, delta);
        }
    const source three[] = {cut_laplace, cut_laplace, cut_laplace};
    (void)used_of_delta(t, three, 3, 1e-2);
    print_message("at most %.3g of a delta is used\n", most);
    assert_true(most > 0.1);
}

/* Had the bounds been forgotten, epsilon would be the plain sum at this delta, and that is false. */
static void what_bounds_cost_is_counted_and_needed(void **state) {
    trial *t = *state;
    const source two[] = {{false, 6, 3, 30}, {false, 6, 3, 30}};
    enter(t, entry_of(&two[0]));
    double one = in_one(t, 1e-2).bounds;
    assert_true(one > 0 && one == tc_bounded_delta(TC_MECHANISM_LAPLACE, 0.5, 1, 5));
    enter(t, entry_of(&two[1]));
    assert_true(in_one(t, 1e-2).bounds >= 2 * one);
    assert_true(in_one(t, 1e-2).epsilon == 1 && isinf(in_one(t, one).epsilon));
    double below = 1.5 * one;
    assert_true(exact_delta(two, 2, 1, 1, 1) > below && isinf(in_one(t, below).epsilon));
    assert_says(over(t, without_last(laplace(0.1, 0, 0)), 100, below),
                "the bounds of last rounds (--feasible always) alone cost delta");
}

static void gaussian_noise_within_bounds_weighs_more(void **state) {
    trial *t = *state;
    tc_ledger_entry entry = gaussian(0.5, 0.4, 5);
    enter(t, entry);
    double bounds = tc_bounded_delta(TC_MECHANISM_GAUSSIAN, 0.4, 1, 5), left = (1e-4 - bounds) * tc_bounded_kept(1, 5);
    double expected = tc_gaussian_epsilon(0.5, left), found = in_one(t, 1e-4).epsilon;
    assert_true(found >= expected * (1 - 1e-12) && found <= expected * (1 + 1e-12));
    t->entries[0] = without_last(entry);
    assert_true(in_one(t, 1e-4).epsilon < found);
}

/* The plan of one run comes out of the ledger as it went in, at its own delta or less. */
static void one_run_costs_what_its_plan_says(void **state) {
    trial *t = *state;
    tc_plan plan = {.mechanism = TC_MECHANISM_GAUSSIAN, .delta = 1e-6};
    plan.last = &(tc_last_round){0};
    double mu = tc_gaussian_gdp(1, tc_noise_delta(&plan)), last = 0.8 * mu;
    double cut = tc_bounded_cut(TC_MECHANISM_GAUSSIAN, last, 1, tc_delta_of_bounds(&plan));
    tc_ledger_entry entry = gaussian(mu, last, cut);
    entry.delta = 1e-6;
    enter(t, entry);
    tc_spent so_far = tc_spent_so_far(t->arena, t->entries, 1, (tc_unit){.kind = TC_ADJACENCY_ONE, .bound = 1});
    assert_true(so_far.epsilon > 0.98 && so_far.epsilon <= 1 && so_far.delta <= 1e-6 && so_far.delta > 0.99e-6);
    t->ledger.count = 0;
    assert_null(over(t, entry, 1, 1e-6));
    assert_non_null(over(t, entry, 0.98, 1e-6));
}

static void a_run_can_only_raise_what_was_spent(void **state) {
    trial *t = *state;
    double before = 0;
    for (size_t i = 0; i < 40; i++) {
        tc_ledger_entry next = i % 2 == 0 ? laplace(0.05, 0.02, 9) : gaussian(0.05, 0.03, 5 + (double)(i % 3));
        enter(t, i % 5 == 0 ? without_last(next) : next);
        tc_spent all = in_one(t, 1e-2);
        assert_true(all.epsilon >= before);
        before = all.epsilon;
    }
    assert_true(isfinite(before));
}

/* ---- other units ---------------------------------------------------------------------------------------------------
 */

static void a_larger_change_costs_more_of_both(void **state) {
    trial *t = *state;
    enter(t, laplace(0.5, 0.3, 9));
    tc_spent thrice = spent(t, TC_ADJACENCY_ONE, 3, 1e-3);
    assert_true(thrice.epsilon >= 1.5 && thrice.epsilon <= 1.5 * (1 + 1e-12));
    double bounds = tc_bounded_delta(TC_MECHANISM_LAPLACE, 3 * 0.3, 1, 9);
    assert_true(thrice.bounds >= bounds * (1 - 1e-12) && thrice.bounds <= bounds * (1 + 1e-12));
    assert_true(spent(t, TC_ADJACENCY_ONE, 0.1, 1e-3).epsilon == 0.5); /* a smaller one is not cheaper */
    tc_spent far = spent(t, TC_ADJACENCY_ONE, 100, 1e-3);
    assert_int_equal(far.not_converted, 1);
    assert_says(far.why_not, "whose noise has bounds and hides less than this unit");
    assert_says(over(t, laplace(0.1, 0.05, 9), 1e6, 1e-9), "alone cost delta");
}

static void a_delta_of_one_is_no_guarantee(void **state) {
    trial *t = *state;
    tc_unit unit = {.kind = TC_ADJACENCY_ONE, .bound = 1};
    tc_spent all = {0};
    while (t->ledger.count < sizeof t->entries / sizeof t->entries[0] && !(all.delta >= 1)) {
        assert_true(isfinite(all.epsilon));
        enter(t, laplace(0.3, 0.3, 1));
        all = tc_spent_so_far(t->arena, t->entries, t->ledger.count, unit);
    }
    assert_true(all.delta >= 1 && t->ledger.count > 1);
    assert_true(isinf(all.epsilon));
}

/* The run's own unit cannot be counted: that of the file, which can, must not hide it. */
static void what_cannot_be_counted_is_not_hidden_by_the_unit_of_the_file(void **state) {
    trial *t = *state;
    tc_budget budget = {.epsilon = 10, .delta = 1e-3};
    enter(t, laplace(0.5, 0.3, 9));
    t->entries[0].agents = NAN;
    tc_ledger_entry next = in_unit(laplace(0.5, 0.3, 9), TC_ADJACENCY_ENSEMBLE, 1);
    next.file_unit = (tc_unit){.kind = TC_ADJACENCY_ONE, .bound = 1};
    tc_spent all = tc_spent_with(t->arena, &t->ledger, &next, &budget);
    assert_true(all.not_converted > 0);
}

static void all_agents_together_count_one_by_one(void **state) {
    trial *t = *state;
    for (int g = 0; g < 2; g++) {
        t->ledger.count = 0;
        enter(t, g ? gaussian(0.2, 0.1, 6) : laplace(0.2, 0.1, 9));
        tc_spent all = spent(t, TC_ADJACENCY_ENSEMBLE, 1, 1e-2);
        double price = g ? all.mu : all.laplace;
        assert_true(price >= 0.6 && price <= 0.6 * (1 + 1e-12));
        assert_true(all.bounds >=
                    tc_bounded_delta(t->entries[0].mechanism, 0.3, 1, t->entries[0].last.cut) * (1 - 1e-12));
        t->entries[0].agents = NAN;
        assert_says(spent(t, TC_ADJACENCY_ENSEMBLE, 1, 1e-2).why_not, "a last round");
        t->entries[0] = in_unit(t->entries[0], TC_ADJACENCY_ENSEMBLE, 1);
        assert_true(spent(t, TC_ADJACENCY_ENSEMBLE, 1, 1e-2).converted == 0 && in_one(t, 1e-2).converted == 1);
    }
}

static void one_agent_entirely_counts_by_its_own_last_round(void **state) {
    trial *t = *state;
    tc_ledger_entry entry = laplace(0.2, 0.1, 9);
    entry.agent = 2;
    enter(t, entry);
    assert_says(spent(t, TC_ADJACENCY_AGENT, NAN, 1e-2).why_not,
                "does not say what it costs to hide one agent entirely");
    t->entries[0].last.agent = 1;
    tc_spent agent = spent(t, TC_ADJACENCY_AGENT, NAN, 1e-2);
    assert_true(agent.epsilon == 2 && agent.bounds == tc_bounded_delta(TC_MECHANISM_LAPLACE, 1, 1, 9));
    assert_true(spent(t, TC_ADJACENCY_ONE, 100, 1e-2).epsilon == 2); /* no change costs more */
    t->entries[0] = in_unit(t->entries[0], TC_ADJACENCY_WITHIN, 1);
    assert_true(spent(t, TC_ADJACENCY_ONE, 1, 1e-2).epsilon == 2); /* averages of messages: not those of states */
    assert_true(spent(t, TC_ADJACENCY_WITHIN, 2, 1e-2).epsilon >= 0.4);
}

/* ---- budgets and lines ---------------------------------------------------------------------------------------------
 */

static void a_budget_needs_a_delta_for_laplace_noise_too(void **state) {
    trial *t = *state;
    assert_says(over(t, laplace(0.2, 0.1, 9), 10, NAN),
                "runs with --feasible always cost a delta: write --budget 10:1e-6");
    enter(t, laplace(0.2, 0.1, 9));
    assert_says(over(t, without_last(laplace(0.2, 0, 0)), 10, NAN), "runs with --feasible always cost a delta");
    assert_null(over(t, without_last(laplace(0.2, 0, 0)), 10, 1e-3));
}

static const char *read_line(trial *t, const char *text, size_t length, tc_ledger_entry *entry) {
    char check[TC_LEDGER_CHECK + 1] = "";
    return tc_ledger_line_read(t->arena, text, length, entry, check);
}

static void lines_say_what_the_last_round_costs(void **state) {
    trial *t = *state;
    const tc_ledger_entry entries[] = {laplace(0.2, 0.1, 9), gaussian(0.2, 0.1, 6),
                                       in_unit(laplace(0.2, 0.1, 9), TC_ADJACENCY_WITHIN, 2),
                                       in_unit(laplace(0.2, 0.1, 9), TC_ADJACENCY_AGENT, NAN)};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        tc_buffer line = tc_buffer_new(t->arena, TC_LEDGER_LINE);
        tc_ledger_entry back;
        char check[TC_LEDGER_CHECK + 1] = "";
        tc_ledger_line_write(&line, &entries[i], check);
        assert_memory_equal(line.text, "{\"tacit_ledger\":4,", 18); /* a program that knows three forms refuses it */
        assert_null(read_line(t, line.text, line.length - 1, &back));
        assert_true(tc_same_unit(tc_unit_of(&back), tc_unit_of(&entries[i])));
        assert_true(back.last.price == 0.1 && isinf(back.last.agent) && back.last.rows == 1);
        assert_true(back.last.cut == entries[i].last.cut && back.is_priced && back.agents == 3);
        char *text = tc_arena_copy(t->arena, line.text, line.length - 1);
        for (char form = '1'; form <= '3';
             form++) { /* the same line as an older one: not read as a run without bounds */
            text[16] = form;
            assert_non_null(read_line(t, text, line.length - 1, &back));
        }
        text[16] = '5';
        assert_says(read_line(t, text, line.length - 1, &back), "written by a newer tacit");
    }
}

static void a_line_without_bounds_is_not_of_the_new_form(void **state) {
    trial *t = *state;
    tc_buffer line = tc_buffer_new(t->arena, TC_LEDGER_LINE);
    tc_ledger_entry entry = laplace(0.2, 0.1, 9), back;
    char check[TC_LEDGER_CHECK + 1] = "";
    tc_ledger_line_write(&line, &entry, check);
    char *text = tc_arena_copy(t->arena, line.text, line.length - 1);
    memcpy(strstr(text, "\"last_rows\":1"), "\"last_rows\":0", 13);
    assert_says(read_line(t, text, line.length - 1, &back), "not complete");
}

static void a_plan_is_entered_with_its_last_round(void **state) {
    trial *t = *state;
    tc_model model = {.source = {.path = "ev.tacit"}, .agent_count = 3};
    tc_observer observer = {.who = "eavesdropper", .epsilon = 1, .delta = 1e-6, .gdp = NAN};
    tc_last_round last = {.price = 0.4, .agent = 7, .rows = 5, .cut = 12, .delta = 1e-6};
    tc_plan plan = {.model = &model,
                    .mechanism = TC_MECHANISM_LAPLACE,
                    .adjacency = TC_ADJACENCY_ONE,
                    .adjacency_bound = 2,
                    .rounds = 7,
                    .observers = &observer,
                    .observer_count = 1,
                    .agent_price = 20,
                    .last = &last,
                    .is_private = true};
    tc_ledger_entry entry = tc_ledger_entry_of(t->arena, &plan, "id");
    assert_true(entry.is_priced && entry.epsilon == 1 && entry.agent == 20 && entry.agents == 3);
    assert_true(entry.last.price == 0.4 && entry.last.agent == 7 && entry.last.rows == 5 && entry.last.cut == 12);
    plan.is_private = false;
    entry = tc_ledger_entry_of(t->arena, &plan, "id");
    assert_true(!entry.is_priced && entry.last.rows == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(sums_are_not_below_the_truth),
        TEST(what_bounds_cost_is_counted_and_needed),
        TEST(gaussian_noise_within_bounds_weighs_more),
        TEST(one_run_costs_what_its_plan_says),
        TEST(a_run_can_only_raise_what_was_spent),
        TEST(a_larger_change_costs_more_of_both),
        TEST(a_delta_of_one_is_no_guarantee),
        TEST(what_cannot_be_counted_is_not_hidden_by_the_unit_of_the_file),
        TEST(all_agents_together_count_one_by_one),
        TEST(one_agent_entirely_counts_by_its_own_last_round),
        TEST(a_budget_needs_a_delta_for_laplace_noise_too),
        TEST(lines_say_what_the_last_round_costs),
        TEST(a_line_without_bounds_is_not_of_the_new_form),
        TEST(a_plan_is_entered_with_its_last_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
