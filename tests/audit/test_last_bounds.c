/* What bounds of a last round's noise cost two inputs: computed exactly, and seen in samples. */
#include "audit/inside.h"
#include "support/cmocka.h"

enum { STEPS = 20 }; /* of the bound */
#define SCALE 8.0    /* in steps */

typedef struct stage {
    tc_channel channel[2];
    tc_plan plan;
    tc_view_entry entries[2];
    tc_audit_view view;
    double x[2][2];
    tc_worst_case pair;
} stage;

/* Two rows of one number each, on whole numbers; the inputs are so many steps apart in each. */
static void begin(stage *s, tc_mechanism mechanism, int first, int second) {
    *s = (stage){.plan = {.mechanism = mechanism, .is_last = true, .channels = s->channel, .channel_count = 2}};
    for (uint32_t i = 0; i < 2; i++) {
        s->channel[i] = (tc_channel){.scale = SCALE, .lattice_scale = SCALE, .bound = STEPS, .name = "g"};
        s->entries[i] = (tc_view_entry){.channel = i};
    }
    s->view = (tc_audit_view){.plan = &s->plan, .entries = s->entries, .count = 2};
    s->x[1][0] = first;
    s->x[1][1] = second;
    s->pair = (tc_worst_case){.truth = {s->x[0], s->x[1]}};
}

static double above(tc_mechanism mechanism, double x) {
    return mechanism == TC_MECHANISM_GAUSSIAN ? erfc(x / sqrt(2)) / 2 : x >= 0 ? exp(-x) / 2 : 1 - exp(x) / 2;
}

/* Noise is W = round(Y). */
static double mass(tc_mechanism mechanism, int w) {
    return above(mechanism, (w - 0.5) / SCALE) - above(mechanism, (w + 0.5) / SCALE);
}

/* The probability that W, within its bounds, lies where W + apart does not reach: sums over the lattice. */
static double beyond(tc_mechanism mechanism, int apart) {
    double all = 0, out = 0;
    for (int w = -STEPS; w <= STEPS; w++) {
        all += mass(mechanism, w);
        out += w < apart - STEPS ? mass(mechanism, w) : 0;
    }
    return out / all;
}

static void the_delta_of_two_inputs_is_what_sums_over_the_lattice_say(void **state) {
    (void)state;
    static const tc_mechanism laws[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++)
        for (int first = 0; first < 2 * STEPS; first += 3)
            for (int second = 0; second < 12; second += 5) {
                stage s;
                begin(&s, laws[i], first, second);
                /* two steps of each are left out, since rounding could take them away */
                double one = first > 2 ? beyond(laws[i], first - 2) : 0;
                double other = second > 2 ? beyond(laws[i], second - 2) : 0;
                double delta = one + other - one * other;
                tc_audit_system system = {.delta_of_bounds = delta * (1 + 1e-9)};
                tc_judge_bounds(&s.view, &s.pair, 0, 2, &system);
                assert_true(fabs(system.exact_delta_of_bounds - delta) <= 1e-12);
                assert_false(system.priced_out);
                system.delta_of_bounds = delta * (1 - 1e-5);
                tc_judge_bounds(&s.view, &s.pair, 0, 2, &system);
                assert_true(system.priced_out == (delta > 0));
            }
}

static void more_impossible_numbers_than_stated_refute(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    for (uint64_t seen = 10; seen <= 100; seen += 90) {
        stage s;
        double none[2000] = {0};
        begin(&s, TC_MECHANISM_GAUSSIAN, 1, 1);
        tc_pair_counts counts = {.samples = {2000, 2000}, .impossible = {0, seen}, .statistic = {none, none}};
        tc_audit_system system = {.claimed_epsilon = 1, .claimed_delta = 0.5, .delta_of_bounds = 0.01};
        tc_judge_epsilon(arena, &s.plan, &counts, 1e-7, &system);
        assert_true(system.refuted == (seen == 100)); /* 20 are expected, and 100 have a chance below 1e-7 */
        assert_true(system.lower_bound == 0);
    }
    tc_arena_free(arena);
}

/* The rounds' part and the last round's are the whole. */
static void parts_of_the_price_add_up(void **state) {
    (void)state;
    tc_observer everybody = {.kind = TC_OBSERVER_EAVESDROPPER, .epsilon = 1, .gdp = 0.5};
    tc_last_round last = {.price = 0.3, .delta = 1e-7};
    tc_plan plan = {
        .mechanism = TC_MECHANISM_LAPLACE, .delta = 1e-6, .last = &last, .observers = &everybody, .observer_count = 1};
    assert_true(fabs(tc_claim_of_rounds(&plan).claimed_epsilon - 0.7) < 1e-15);
    assert_true(tc_claim_of_rounds(&plan).claimed_delta == 0);
    assert_true(tc_claim_of_last(&plan).claimed_epsilon == 0.3 && tc_claim_of_last(&plan).claimed_delta == 1e-7);
    last.price = 1.5; /* more than all: nothing is left, and any loss refutes */
    assert_true(tc_claim_of_rounds(&plan).claimed_epsilon == 0);
    plan.mechanism = TC_MECHANISM_GAUSSIAN;
    last.price = 0.3; /* 0.5^2 = 0.3^2 + 0.4^2 */
    double rounds = tc_claim_of_rounds(&plan).claimed_epsilon;
    last.price = 0.4;
    double other = tc_claim_of_rounds(&plan).claimed_epsilon, of_last = tc_claim_of_last(&plan).claimed_epsilon;
    assert_true(rounds > other && other > 0);
    assert_true(of_last > rounds); /* the same mu, at a part of delta */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_delta_of_two_inputs_is_what_sums_over_the_lattice_say),
        cmocka_unit_test(more_impossible_numbers_than_stated_refute),
        cmocka_unit_test(parts_of_the_price_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
