/* The card says what holds and, above all, what does not. */
#include "model/model.h"
#include "plan/account/account.h"
#include "promise/card.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    tc_arena *arena;
    tc_plan plan;
    tc_observer observers[4];
    tc_channel channel;
    tc_buffer out;
} trial;

static const char problem[] = "agents home[i in 1..1000] {\n  state p[24] in [0, 7.4]\n  private minimize sumsq(p)\n}\n"
                              "constraint feeder[t in 1..24]: sum(home: p[t]) <= 3000\n";

static int begin(void **state) {
    static trial t;
    tc_model *model = NULL;
    t = (trial){.arena = tc_arena_new(0)};
    assert_non_null(t.arena);
    t.out = tc_buffer_new(t.arena, 1 << 20);
    assert_int_equal(tc_model_parse(t.arena, "x", problem, strlen(problem), NULL, &t.out, &model), TC_OK);
    t.observers[0] = (tc_observer){.kind = TC_OBSERVER_AGENT,
                                   .who = "home[1]",
                                   .about = "any other agent",
                                   .epsilon = 0.4,
                                   .delta = 1e-6,
                                   .gdp = 0.1};
    t.observers[1] = (tc_observer){.kind = TC_OBSERVER_AGENT,
                                   .who = "home[2]",
                                   .about = "any other agent",
                                   .epsilon = 0.5,
                                   .delta = 1e-6,
                                   .gdp = 0.12};
    t.observers[2] = (tc_observer){.kind = TC_OBSERVER_COALITION,
                                   .who = "home[1] + home[2]",
                                   .about = "the others",
                                   .epsilon = 0.6,
                                   .delta = 1e-6,
                                   .gdp = 0.15};
    t.observers[3] = (tc_observer){.kind = TC_OBSERVER_EAVESDROPPER,
                                   .who = "eavesdropper",
                                   .about = "any agent",
                                   .epsilon = 1,
                                   .delta = 1e-6,
                                   .gdp = 0.25};
    t.channel = (tc_channel){.kind = TC_CHANNEL_CONSTRAINTS, .name = "g", .step_exponent = -20};
    t.plan = (tc_plan){.model = model,
                       .mechanism = TC_MECHANISM_GAUSSIAN,
                       .placement = TC_PLACEMENT_OUTPUTS,
                       .adjacency = TC_ADJACENCY_ONE,
                       .adjacency_bound = 0.5,
                       .epsilon = 1,
                       .delta = 1e-6,
                       .rounds = 10000,
                       .state_exponent = -12,
                       .channels = &t.channel,
                       .channel_count = 1,
                       .overhead = 1e-4,
                       .observers = t.observers,
                       .observer_count = 4,
                       .range_price = 1,
                       .message_price = 1e9,
                       .is_private = true};
    *state = &t;
    return 0;
}

static int end(void **state) {
    tc_arena_free(((trial *)*state)->arena);
    return 0;
}

/* The card's text with all white space as single blanks. */
static const char *text_of(trial *t, bool seeded) {
    t->out.length = 0;
    tc_card_text(tc_card_make(t->arena, &t->plan, seeded), &t->out);
    const char *line = tc_buffer_text(&t->out);
    for (; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    char *flat = TC_NEW(t->arena, char, t->out.length + 1), *to = flat;
    for (const char *c = t->out.text; *c != '\0'; c++) {
        bool blank = *c == ' ' || *c == '\n';
        if (!blank || (to > flat && to[-1] != ' '))
            *to++ = blank ? ' ' : *c;
    }
    return flat;
}

static void assert_in(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text);
}

static void assert_not_in(const char *text, const char *part) {
    if (strstr(text, part) != NULL)
        fail_msg("'%s' is in: %s", part, text);
}

static void the_card_says_that_data_are_not_hidden_by_claim_a(void **state) {
    trial *t = *state;
    const char *text = text_of(t, false);
    assert_in(text, "GUARANTEE: private: messages only, unit one:0.5 in root-sum-square, epsilon 1, delta 1e-06");
    assert_in(text, "or different by at most 0.5 in root-sum-square over the whole run");
    assert_in(text, "Claim A, about messages.");
    assert_in(text, "makes no event more probable than e^epsilon = 2.719 times its probability in the other case, plus "
                    "delta = 1e-06");
    assert_in(text, "the messages of one agent differ by at most B = 0.5");
    assert_in(text, "the square root of the sum of squares");
    assert_in(text, "DATA (its objective, its limits, a need) is NOT hidden");
    assert_in(text, "At distance D the price is mu D/B, with mu = 0.25 at B");
    assert_not_in(text, "NOT PRIVATE");
}

/* 24 states, each sent as a multiple of 2^-12. */
static void what_rounding_does_to_equalities_is_bounded_by_public_facts(void **state) {
    trial *t = *state;
    assert_in(text_of(t, false), "What is sent is less than 2^-12 from an agent's state");
    assert_in(text_of(t, false),
              "an equality of the agent's own set, sum of a_c x_c = b, is missed in what the cloud gets "
              "by less than 2^-12 times the sum of all |a_c|: the sum of all 24 states of 'home' by "
              "less than 0.00586");
}

static void the_unit_is_said_in_the_problem_s_own_units(void **state) {
    trial *t = *state;
    const char *text = text_of(t, false);
    assert_in(text, "home.p: a change of one state by 0.5 in one round, 6.76 % of its range of 7.4");
    assert_in(text,
              "messages of one state that differ by 0.00488 in every one of 10000 rounds"); /* 20 steps of 2^-12 */
    /* sqrt(10000 * 24) * 7.4 = 3625 */
    assert_in(text, "The largest distance that one agent could make in 10000 rounds is 3625, that is 7.25e+03 times B");
    t->plan.mechanism = TC_MECHANISM_LAPLACE;
    t->plan.delta = 0;
    text = text_of(t, false);
    assert_in(text, "the sum of absolute differences");
    assert_null(strstr(text, "in every one of 10000 rounds")); /* 5e-05 is less than a step */
    assert_in(text, "is 1.776e+06, that is 3.55e+06 times B"); /* 10000 * 24 * 7.4 */
    assert_in(text, "At distance D the price is epsilon D/B.");
    t->plan.rounds = NAN;
    assert_not_in(text_of(t, false), "nan");
}

static void claim_b_covers_the_agent_entirely(void **state) {
    trial *t = *state;
    t->plan.adjacency = TC_ADJACENCY_AGENT;
    t->plan.adjacency_bound = NAN;
    const char *text = text_of(t, false);
    assert_in(text, "unit agent");
    assert_in(text, "Claim B, about one agent entirely.");
    assert_in(text, "home.p: anything within a range of 7.4, in every round");
    assert_not_in(text, "is NOT hidden");
    assert_not_in(text, "nan");
}

static void the_ensemble_and_the_published_scheme_are_named(void **state) {
    trial *t = *state;
    t->plan.adjacency = TC_ADJACENCY_ENSEMBLE;
    t->plan.calibration = TC_PUBLISHED;
    const char *text = text_of(t, false);
    assert_in(text, "the messages of any agents, all of them together, differ by at most B = 0.5");
    assert_in(text, "epsilon is the price of each released system");
    assert_in(text, "whoever sees several pays for each");
}

static void published_epsilon_is_not_claimed_for_all_that_is_seen(void **state) {
    trial *t = *state;
    t->plan.adjacency = TC_ADJACENCY_ENSEMBLE;
    t->plan.calibration = TC_PUBLISHED;
    t->plan.mechanism = TC_MECHANISM_LAPLACE;
    t->plan.epsilon = log(2);
    t->plan.delta = 0;
    t->observers[3].epsilon = 2 * log(2);
    const char *text = text_of(t, false);
    assert_in(text, "unit ensemble:0.5 in total, epsilon 0.6932 for each system; 1.387 for whoever sees all");
    assert_in(text, "the laws of any ONE released system (g, or one agent's part of the Jacobian) when");
    assert_in(text, "For all systems together the same holds with epsilon = 1.387 only.");
    assert_in(text, "At distance D the price is 0.6932 D/B for each system, and 1.387 D/B for whoever sees all.");
    assert_not_in(text, "laws of what is seen");
    t->out.length = 0;
    tc_json json = tc_json_new(&t->out);
    tc_card_json(tc_card_make(t->arena, &t->plan, false), NULL, &json);
    assert_in(tc_buffer_text(&t->out), "\"epsilon_is_for\": \"each system\"");
    assert_in(tc_buffer_text(&t->out), "\"epsilon_of_everything\": 1.386294361");
}

static void a_promise_that_is_none_is_private_in_name_only(void **state) {
    trial *t = *state;
    double at_one = tc_gaussian_gdp(1, 1e-6);
    t->plan.range_price = 99 * at_one; /* at epsilon 1 a bit more than a hundredth of a range is hidden */
    assert_not_in(text_of(t, false), "in name only");
    t->plan.range_price = 101 * at_one;
    assert_in(
        text_of(t, false),
        "GUARANTEE: private in name only (messages only), unit one:0.5 in root-sum-square, epsilon 1, delta 1e-06");
    assert_in(text_of(t, false), "at epsilon 1 and delta 1e-6 the noise hides a change of one message by 0.99 %");
    assert_in(text_of(t, false), "less than 1 % is next to nothing");
    t->plan.range_price = 1;
    t->plan.message_price = 0.9 * at_one; /* any message is hidden at epsilon 1 */
    t->plan.range_price = 1e9;
    assert_not_in(text_of(t, false), "in name only");
    t->plan.range_price = 1;
    t->plan.epsilon = 700; /* of a large B: the noise is what counts */
    assert_in(text_of(t, false), "GUARANTEE: private: messages only, unit one:0.5 in root-sum-square, epsilon 700");
    t->plan.epsilon = 1;
    t->plan.delta = 1e-3; /* one over a thousand homes */
    assert_in(text_of(t, false),
              "private in name only (messages only), unit one:0.5 in root-sum-square, epsilon 1, delta 0.001");
    t->plan.delta = 0.9e-3;
    assert_not_in(text_of(t, false), "in name only");
    t->plan.adjacency = TC_ADJACENCY_AGENT;
    assert_in(text_of(t, false), "GUARANTEE: private: one agent entirely, unit agent, epsilon 1");
    t->observers[3].gdp = 2; /* who pays most: epsilon 11.1 at delta 1e-6, whatever it is at 0.9e-3 */
    assert_in(text_of(t, false), "private in name only (one agent entirely)");
    assert_in(text_of(t, false), "and delta 1e-6 is above 10");
    t->observers[3].gdp = 1.5;
    assert_not_in(text_of(t, false), "in name only");
}

/* Of whatever kind the card is. */
static void the_short_card_fits_a_screen_and_says_where_the_whole_one_is(void **state) {
    trial *t = *state;
    const char *reasons[] = {"a declared constant is too small", "another reason", "and one more"};
    for (int kind = 0; kind < 16; kind++) {
        t->plan.range_price = kind & 1 ? 1e9 : 1;
        t->plan.is_private = !(kind & 2);
        t->plan.void_reasons = reasons;
        t->plan.void_reason_count = kind & 2 ? 3 : 0;
        t->plan.warnings = reasons;
        t->plan.warning_count = 3;
        t->plan.adjacency = kind & 4 ? TC_ADJACENCY_AGENT : TC_ADJACENCY_ONE;
        t->out.length = 0;
        tc_card_short(tc_card_make(t->arena, &t->plan, kind & 8), "WHERE", &t->out);
        size_t lines = 0;
        for (const char *line = tc_buffer_text(&t->out); *line != '\0'; line += strcspn(line, "\n") + 1, lines++)
            assert_true(strcspn(line, "\n") <= 80);
        assert_true(lines <= 24);
        assert_in(tc_buffer_text(&t->out), "WHERE");
        assert_not_in(tc_buffer_text(&t->out), "(and 1 more)"); /* what is hidden is there as a whole */
        const char *line = tc_card_line(t->arena, tc_card_make(t->arena, &t->plan, kind & 8));
        assert_in(tc_buffer_text(&t->out), tc_arena_copy(t->arena, line, strcspn(line, ",")));
    }
}

static void a_seed_or_a_void_plan_is_not_private_in_capitals(void **state) {
    trial *t = *state;
    const char *reasons[] = {"a declared constant is too small"};
    const char *text = text_of(t, true);
    assert_in(text, "GUARANTEE: NOT PRIVATE");
    assert_in(text, "A SEED");
    t->plan.is_private = false;
    t->plan.void_reasons = reasons;
    t->plan.void_reason_count = 1;
    text = text_of(t, false);
    assert_in(text, "GUARANTEE: NOT PRIVATE");
    assert_in(text, "NOT PRIVATE a declared constant is too small");
    t->plan.mechanism = TC_MECHANISM_NONE;
    t->plan.channel_count = 0;
    t->observers[3].epsilon = INFINITY;
    t->plan.epsilon = t->plan.delta = t->plan.adjacency_bound = NAN;
    t->plan.adjacency = TC_ADJACENCY_UNSET;
    text = text_of(t, false);
    assert_in(text, "carries no noise");
    assert_in(text, "eavesdropper, about any agent: no guarantee");
    assert_not_in(text, "Claim");
    assert_not_in(text, "nan");
}

static void the_dearest_agent_stands_for_all(void **state) {
    trial *t = *state;
    const char *text = text_of(t, false);
    assert_in(text, "home[2] (no agent learns more), about any other agent: at most epsilon 0.5, delta 1e-06");
    assert_not_in(text, "home[1] (");
    assert_in(text, "home[1] + home[2], about the others: at most epsilon 0.6");
    assert_in(text, "eavesdropper, about any agent: at most epsilon 1");
}

static void the_plan_s_warnings_are_on_the_card(void **state) {
    trial *t = *state;
    const char *warnings[] = {"delta is large"};
    assert_not_in(text_of(t, false), "Warnings");
    t->plan.warnings = warnings;
    t->plan.warning_count = 1;
    assert_in(text_of(t, false), "Warnings delta is large");
}

static void an_assumption_that_is_not_proved_is_on_the_card(void **state) {
    trial *t = *state;
    const char *doubts[] = {"convexity not proved: the promise holds, but convergence is not promised"};
    assert_not_in(text_of(t, false), "Convergence");
    t->plan.doubts = doubts;
    t->plan.doubt_count = 1;
    assert_in(text_of(t, false), "Convergence convexity not proved: the promise holds");
    assert_in(text_of(t, false), "GUARANTEE: private: messages only, unit");
}

static void holds_lattice_and_exclusions_are_told(void **state) {
    trial *t = *state;
    const char *text = text_of(t, false);
    assert_in(text, "no message is used in a second round");
    assert_in(text, "states are multiples of 2^-12, released numbers of 2^-20");
    assert_in(text, "larger by at most 0.01 %, which is in the price");
    assert_in(text, "the constraints themselves");
    assert_in(text, "who is connected");
    assert_in(text, "not covered: when answers leave");
    assert_in(text, "the cloud: its operator");
    t->plan.hold_cap = 3;
    assert_in(text_of(t, false), "at most 3 times; the price counts it 4 times");
}

static void json_has_the_same_sentences(void **state) {
    trial *t = *state;
    t->out.length = 0;
    tc_json json = tc_json_new(&t->out);
    tc_json_open_object(&json, NULL);
    tc_card_json(tc_card_make(t->arena, &t->plan, false), "card", &json);
    tc_json_close_object(&json);
    const char *text = tc_buffer_text(&t->out);
    static const char *const keys[] = {"private",   "claim",      "unit",          "epsilon",      "observers",
                                       "promise",   "hides",      "does_not_hide", "trusted",      "random_source",
                                       "seeded",    "overhead",   "constants",     "hold_cap",     "hold_policy",
                                       "timing",    "exclusions", "warnings",      "void_reasons", "placement",
                                       "mechanism", "calibration"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_in(text, tc_arena_format(t->arena, "\"%s\":", keys[i]));
    assert_in(text, "is NOT hidden");
}

static void shown_prices_are_never_below_the_truth(void **state) {
    trial *t = *state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        AT_CASE(i);
        uint64_t word = random_word(&seed);
        double value = ldexp((double)(word >> 11), (int)(word % 200) - 150);
        double shown = strtod(tc_text_up(t->arena, value), NULL);
        assert_true(shown >= value && shown <= value * 1.0011);
    }
    assert_string_equal(tc_text_up(t->arena, log(2)), "0.6932");
    assert_string_equal(tc_text_up(t->arena, 1), "1");
    assert_string_equal(tc_text_up(t->arena, 0), "0");
    assert_string_equal(tc_price_up(t->arena, INFINITY, 0), "no guarantee");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(the_card_says_that_data_are_not_hidden_by_claim_a),
        TEST(what_rounding_does_to_equalities_is_bounded_by_public_facts),
        TEST(the_unit_is_said_in_the_problem_s_own_units),
        TEST(claim_b_covers_the_agent_entirely),
        TEST(the_ensemble_and_the_published_scheme_are_named),
        TEST(published_epsilon_is_not_claimed_for_all_that_is_seen),
        TEST(a_promise_that_is_none_is_private_in_name_only),
        TEST(the_short_card_fits_a_screen_and_says_where_the_whole_one_is),
        TEST(a_seed_or_a_void_plan_is_not_private_in_capitals),
        TEST(the_dearest_agent_stands_for_all),
        TEST(the_plan_s_warnings_are_on_the_card),
        TEST(an_assumption_that_is_not_proved_is_on_the_card),
        TEST(holds_lattice_and_exclusions_are_told),
        TEST(json_has_the_same_sentences),
        TEST(shown_prices_are_never_below_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
