/* The units agent:D and data: their lines in a ledger, their sums, their cards. */
#include "promise/card.h"
#include "promise/ledger.h"
#include "support/cmocka.h"

#include <math.h>
#include <string.h>

typedef struct trial {
    tc_arena *arena;
    tc_ledger_entry entries[16];
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

static tc_ledger_entry run_in(tc_adjacency unit, double bound, const char *data, double epsilon) {
    return (tc_ledger_entry){.run = "r",
                             .time = "2026-01-31T12:00:00Z",
                             .problem = "ev.tacit",
                             .plan = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                             .unit = unit,
                             .bound = bound,
                             .data = data,
                             .mechanism = TC_MECHANISM_LAPLACE,
                             .epsilon = epsilon,
                             .mu = NAN,
                             .agent = INFINITY,
                             .rounds = 100,
                             .agents = 9,
                             .is_priced = true};
}

static void enter(trial *t, tc_ledger_entry entry) { t->entries[t->ledger.count++] = entry; }

static tc_spent spent(trial *t, tc_adjacency kind, double bound, const char *data) {
    return tc_spent_in(t->arena, t->entries, t->ledger.count, (tc_unit){kind, bound, data}, 0);
}

static double epsilon(trial *t, tc_adjacency kind, double bound, const char *data) {
    tc_spent all = spent(t, kind, bound, data);
    return all.not_converted > 0 ? NAN : all.epsilon;
}

static void near(double value, double expected) {
    if (!(value >= expected && value <= expected * (1 + 1e-12)))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void a_distance_in_every_round_is_proportional_above_and_full_below(void **state) {
    trial *t = *state;
    enter(t, run_in(TC_ADJACENCY_WITHIN, 2, NULL, 1));
    near(epsilon(t, TC_ADJACENCY_WITHIN, 2, NULL), 1);
    near(epsilon(t, TC_ADJACENCY_WITHIN, 3, NULL), 1.5);
    near(epsilon(t, TC_ADJACENCY_WITHIN, 0.1, NULL), 1); /* rounding to the lattice does not get smaller */
    near(epsilon(t, TC_ADJACENCY_ONE, 2, NULL), 1);
    near(epsilon(t, TC_ADJACENCY_ONE, 4, NULL), 2);
    near(epsilon(t, TC_ADJACENCY_ONE, 4.1, NULL), 3); /* hop by hop */
    near(epsilon(t, TC_ADJACENCY_ENSEMBLE, 2, NULL), 9);
    assert_true(isnan(epsilon(t, TC_ADJACENCY_AGENT, NAN, NULL)));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5")));
    t->entries[0].agent = 2.5; /* all that an agent can do is the most */
    near(epsilon(t, TC_ADJACENCY_WITHIN, 300, NULL), 2.5);
    near(epsilon(t, TC_ADJACENCY_ONE, 300, NULL), 2.5);
    near(epsilon(t, TC_ADJACENCY_AGENT, NAN, NULL), 2.5);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5"), 2.5);
    near(epsilon(t, TC_ADJACENCY_ENSEMBLE, 300, NULL), 22.5);
}

static void the_unit_agent_covers_both(void **state) {
    trial *t = *state;
    enter(t, run_in(TC_ADJACENCY_AGENT, NAN, NULL, 3));
    near(epsilon(t, TC_ADJACENCY_WITHIN, 7, NULL), 3);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5"), 3);
    /* a run that hid messages says nothing of what goes on, unless the price of an agent is known */
    t->entries[0] = run_in(TC_ADJACENCY_ONE, 1, NULL, 1);
    assert_true(isnan(epsilon(t, TC_ADJACENCY_WITHIN, 1, NULL)));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5")));
    t->entries[0].agent = 40;
    near(epsilon(t, TC_ADJACENCY_WITHIN, 1, NULL), 40);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5"), 40);
}

static void data_count_by_how_far_a_run_protected_them(void **state) {
    trial *t = *state;
    enter(t, run_in(TC_ADJACENCY_DATA, NAN, "home.need by 5, home.pref by 0.1", 1));
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5, home.pref by 0.1"), 1);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 1"), 1);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 10"), 2);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 10.5, home.pref by 0.1"), 3);
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.pref by 0.3"), 3); /* 3 * 0.1 is above 0.3 in doubles */
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.pref by 0.7"), 7);
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.weight by 1")));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 1, shop.need by 1")));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "")));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_WITHIN, 1, NULL)));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_ONE, 1, NULL)));
    t->entries[0].epsilon = 0; /* of these data: it need not hide others */
    near(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 50"), 0);
    assert_true(isnan(epsilon(t, TC_ADJACENCY_AGENT, NAN, NULL)));
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.weight by 1")));
    t->entries[0].data = ""; /* more than a line holds */
    assert_true(isnan(epsilon(t, TC_ADJACENCY_DATA, NAN, "home.need by 5")));
}

/* ---- budgets ----------------------------------------------------------------------------------------------------- */

static const char *over(trial *t, tc_ledger_entry next, double budget) {
    tc_budget asked = {.epsilon = budget, .delta = NAN};
    return tc_over_budget(t->arena, &t->ledger, &next, &asked, 1);
}

static void assert_says(const char *text, const char *part) {
    if (text == NULL || strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text == NULL ? "(nothing)" : text);
}

/* The same noise described by a smaller distance, or by less protection, is not cheaper. */
static void a_budget_is_kept_at_the_largest_distances(void **state) {
    trial *t = *state;
    enter(t, run_in(TC_ADJACENCY_WITHIN, 2, NULL, 1));
    assert_null(over(t, run_in(TC_ADJACENCY_WITHIN, 2, NULL, 1), 2));
    assert_says(over(t, run_in(TC_ADJACENCY_WITHIN, 0.2, NULL, 0.5), 4), "in the unit agent:2");
    t->entries[0] = run_in(TC_ADJACENCY_DATA, NAN, "home.need by 5", 1);
    assert_null(over(t, run_in(TC_ADJACENCY_DATA, NAN, "home.need by 5", 1), 2));
    assert_says(over(t, run_in(TC_ADJACENCY_DATA, NAN, "home.need by 0.5", 0.5), 4),
                "in the unit data (home.need by 5)");
    assert_null(over(t, run_in(TC_ADJACENCY_DATA, NAN, "home.need by 2.5", 1), 3));
}

static void a_budget_refuses_what_cannot_be_counted(void **state) {
    trial *t = *state;
    enter(t, run_in(TC_ADJACENCY_DATA, NAN, "home.need by 5", 1));
    assert_says(over(t, run_in(TC_ADJACENCY_DATA, NAN, "home.pref by 1", 1), 100), "says nothing of these data");
    assert_says(over(t, run_in(TC_ADJACENCY_WITHIN, 1, NULL, 1), 100), "says nothing of this unit");
    t->entries[0].agent = 30;
    assert_null(over(t, run_in(TC_ADJACENCY_WITHIN, 1, NULL, 1), 31));
    /* a file that promises data is not undone by another unit */
    tc_ledger_entry next = run_in(TC_ADJACENCY_ONE, 1, NULL, 1);
    next.agent = 60;
    next.file_unit = (tc_unit){TC_ADJACENCY_DATA, NAN, "home.need by 5"};
    assert_says(over(t, next, 40), "in the unit data");
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void lines_say_what_was_protected(void **state) {
    trial *t = *state;
    const tc_ledger_entry entries[] = {run_in(TC_ADJACENCY_DATA, NAN, "home.need by 5, home.pref by 0.5", 1),
                                       run_in(TC_ADJACENCY_WITHIN, 7.5, NULL, 1),
                                       run_in(TC_ADJACENCY_AGENT, NAN, NULL, 1)};
    static const char *const openings[] = {"{\"tacit_ledger\":3,", "{\"tacit_ledger\":3,", "{\"tacit_ledger\":2,"};
    char written[TC_LEDGER_CHECK + 1] = "", read[TC_LEDGER_CHECK + 1] = "";
    for (size_t i = 0; i < 3; i++) {
        tc_buffer line = tc_buffer_new(t->arena, TC_LEDGER_LINE);
        tc_ledger_entry back;
        tc_ledger_line_write(&line, &entries[i], written);
        assert_memory_equal(line.text, openings[i], strlen(openings[i]));
        assert_null(tc_ledger_line_read(t->arena, line.text, line.length - 1, &back, read));
        assert_true(tc_same_unit(tc_unit_of(&back), tc_unit_of(&entries[i])));
        assert_true(back.epsilon == 1 && back.is_priced && back.agents == 9);
    }
}

/* A unit of the new form in a line of the old one: an old program would have read something else. */
static void units_and_forms_belong_together(void **state) {
    trial *t = *state;
    tc_ledger_entry entry = run_in(TC_ADJACENCY_WITHIN, 7.5, NULL, 1), back;
    char check[TC_LEDGER_CHECK + 1] = "";
    tc_buffer line = tc_buffer_new(t->arena, TC_LEDGER_LINE);
    tc_ledger_line_write(&line, &entry, check);
    char *text = tc_arena_copy(t->arena, line.text, line.length - 1);
    *strchr(text, '3') = '2';
    check[0] = '\0';
    assert_says(tc_ledger_line_read(t->arena, text, line.length - 1, &back, check), "not complete");
}

/* ---- cards ------------------------------------------------------------------------------------------------------- */

typedef struct planned {
    tc_model model;
    tc_family families[2];
    tc_datum datum;
    tc_coef box[2], range[2], by[2];
    tc_variable variable;
    tc_distance distances[2];
    tc_observer observer;
    tc_plan plan;
} planned;

static void make(planned *p, tc_adjacency unit) {
    *p = (planned){0};
    p->box[1].value = 8;
    p->range[1].value = 40;
    p->by[0].value = 5;
    p->variable = (tc_variable){.name = "p", .length = 1, .is_scalar = true};
    p->datum = (tc_datum){
        .name = "need", .count = 1, .lower = &p->range[0], .upper = &p->range[1], .by = p->by, .distances = {5, 5}};
    for (size_t f = 0; f < 2; f++)
        p->families[f] = (tc_family){.name = f == 0 ? "home" : "shop",
                                     .is_family = true,
                                     .count = 500,
                                     .first_agent = 500 * f,
                                     .first_coord = 500 * f,
                                     .dim = 1,
                                     .variables = &p->variable,
                                     .variable_count = 1,
                                     .lower = &p->box[0],
                                     .upper = &p->box[1]};
    p->families[0].data = &p->datum;
    p->families[0].datum_count = 1;
    p->model = (tc_model){.families = p->families, .family_count = 2, .agent_count = 1000, .state_count = 1000};
    p->model.source.path = "ev.tacit";
    p->model.privacy.adjacency = unit;
    p->model.budget.epsilon = NAN;
    p->distances[0] = (tc_distance){.protects = true, .data = 5, .distance = 5, .reach = 5};
    if (unit == TC_ADJACENCY_WITHIN)
        p->distances[1] = p->distances[0];
    p->observer = (tc_observer){.kind = TC_OBSERVER_EAVESDROPPER,
                                .who = "eavesdropper",
                                .about = "any agent",
                                .epsilon = 1,
                                .delta = 1e-6,
                                .gdp = 0.25};
    p->plan = (tc_plan){.model = &p->model,
                        .mechanism = TC_MECHANISM_GAUSSIAN,
                        .placement = TC_PLACEMENT_OUTPUTS,
                        .adjacency = unit,
                        .adjacency_bound = unit == TC_ADJACENCY_WITHIN ? 5 : NAN,
                        .distances = p->distances,
                        .epsilon = 1,
                        .delta = 1e-6,
                        .rounds = 1000,
                        .observers = &p->observer,
                        .observer_count = 1,
                        .agent_price = 0.4,
                        .is_private = true};
}

static const char *card_text(trial *t, const tc_plan *plan, bool is_short) {
    tc_buffer out = tc_buffer_new(t->arena, 1 << 20);
    const tc_card *card = tc_card_make(t->arena, plan, false);
    assert_int_equal(card->claim, 'C');
    if (is_short)
        tc_card_short(card, "all of it: --card", &out);
    else
        tc_card_text(card, &out);
    char *flat = tc_arena_copy(t->arena, out.text, out.length), *to = flat;
    for (const char *c = flat; *c != '\0'; c++) {
        bool blank = *c == ' ' || *c == '\n';
        if (!blank || (to > flat && to[-1] != ' '))
            *to++ = blank ? ' ' : *c;
    }
    *to = '\0';
    return flat;
}

static void a_card_speaks_of_data_in_the_user_s_words(void **state) {
    trial *t = *state;
    planned p;
    make(&p, TC_ADJACENCY_DATA);
    const char *text = card_text(t, &p.plan, false);
    assert_says(text, "private: one agent's data, unit data, epsilon 1, delta 1e-06");
    assert_says(text, "home.need by 5, in the whole run, however many rounds: whether it was 0 or 5, say");
    assert_says(text, "moved to the range's edge");
    assert_says(text, "Data that no 'protect' names");
    assert_says(text, "Anything of shop: nothing of theirs is protected");
    assert_says(text, "acting on its decision");
    assert_says(text, "That an agent takes part");
    assert_says(card_text(t, &p.plan, true), "data that no 'protect' names");
    tc_ledger_entry entry = tc_ledger_entry_of(t->arena, &p.plan, "r");
    assert_string_equal(entry.data, "home.need by 5");
    assert_string_equal(entry.file_unit.data, "home.need by 5");
    assert_true(isnan(entry.bound));
}

static void a_card_speaks_of_a_distance_in_every_round(void **state) {
    trial *t = *state;
    planned p;
    make(&p, TC_ADJACENCY_WITHIN);
    p.plan.hold_cap = 3;
    const char *text = card_text(t, &p.plan, false);
    assert_says(text, "private: one agent within D in every round, unit agent:5");
    assert_says(text, "sent states that differ by at most 5, in every round");
    assert_says(text, "home.p, shop.p: a change of one state by 5 in every round, 62.5 % of its range of 8");
    assert_says(text, "at most 3 times; that is in the price");
    assert_says(text, "An agent's DATA, unless");
    assert_null(strstr(text, "protects nothing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_distance_in_every_round_is_proportional_above_and_full_below, begin, end),
        cmocka_unit_test_setup_teardown(the_unit_agent_covers_both, begin, end),
        cmocka_unit_test_setup_teardown(data_count_by_how_far_a_run_protected_them, begin, end),
        cmocka_unit_test_setup_teardown(a_budget_is_kept_at_the_largest_distances, begin, end),
        cmocka_unit_test_setup_teardown(a_budget_refuses_what_cannot_be_counted, begin, end),
        cmocka_unit_test_setup_teardown(lines_say_what_was_protected, begin, end),
        cmocka_unit_test_setup_teardown(units_and_forms_belong_together, begin, end),
        cmocka_unit_test_setup_teardown(a_card_speaks_of_data_in_the_user_s_words, begin, end),
        cmocka_unit_test_setup_teardown(a_card_speaks_of_a_distance_in_every_round, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
