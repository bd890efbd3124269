/* What is left of a round once it is closed: nothing. Looks inside, since nothing outside could tell. */
#include "plan/plan_by_hand.h"
#include "release/inside.h"
#include "support/cmocka.h"

static const char *const TEXT = "agents home[i in 1..30] { state p[2] in [1, 8]; private minimize p[1] }\n"
                                "agent boss { state x in [1, 2]; private minimize x^2 }\n"
                                "constraint a: sum(home: p[1]^2 + 0.3 * p[2]) + sum(boss: x^3) <= 50\n"
                                "constraint b: sum(home: p[1])^2 / 100 + home[3].p[1]^2 * boss.x <= 5\n";

static const hand OUTPUTS = {.placement = TC_PLACEMENT_OUTPUTS,
                             .mechanism = TC_MECHANISM_LAPLACE,
                             .state_exponent = -16,
                             .step_exponent = -28,
                             .sum_exponent = -30,
                             .scale = 0x1.8p27,
                             .rounds = 5};

static gate new_gate(const problem *p) {
    gate g = gate_of(p, plan_by_hand(p, &OUTPUTS), 9, NULL);
    double *x = TC_NEW(p->arena, double, p->model->state_count);
    for (size_t i = 0; i < p->model->state_count; i++)
        x[i] = 1.25 + (double)i / 128;
    if (tc_release_hire(p->arena, g.release, 2) != TC_OK || tc_states_take(g.states, x) != TC_STATE_TAKEN)
        abort();
    return g;
}

/* Blocks of either family by a worker of its own. */
static void sum_in_parts(gate *g, uint64_t round) {
    assert_int_equal(tc_release_open(g->release, round), TC_OK);
    for (size_t f = 0; f < 2; f++) {
        tc_release_worker *worker = tc_release_worker_at(g->release, f);
        assert_int_equal(tc_release_take_stored(worker, f, 0, g->states), TC_OK);
        assert_int_equal(tc_release_sum(worker), TC_OK);
    }
    assert_int_equal(tc_release_close_sums(g->release, g->out), TC_OK);
}

static void expect_zeros(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_true(numbers[i] == 0);
}

static void expect_no_sums(const gate *g) {
    const tc_release *release = g->release;
    for (size_t w = 0; w < release->worker_count; w++)
        for (size_t r = 0; r < release->model->sum_count; r++)
            assert_int_equal(release->workers[w].sums[r], 0);
    expect_zeros(release->sum_values, release->model->sum_count);
    expect_zeros(release->coords, release->model->state_count);
    for (size_t i = 0; i < release->blocks->block_count; i++)
        assert_true(release->blocks->blocks[i].mark == 0);
}

/* Constants of the program stay; the test's own prepared scratch tells which these are. */
static void expect_no_scratch(const problem *p, const gate *g) {
    const tc_release *release = g->release;
    for (size_t w = 0; w < release->worker_count; w++) {
        const tc_evaluator *e = release->workers[w].evaluator;
        size_t outer = tc_program_work(e->outer_program);
        double *blank = TC_NEW(p->arena, double, outer);
        tc_program_prepare(e->outer_program, blank);
        for (size_t i = 0; i < outer; i++)
            assert_true(e->outer_work[i] == blank[i]);
        expect_zeros(e->outer_values, p->model->constraint_count + p->derivatives->outer_first_count);
        for (size_t i = 0; i < p->derivatives->families[0].body_count; i++)
            expect_zeros(e->families[0].terms[i], TC_LANES);
        for (size_t i = 0; i < p->derivatives->families[0].body_first_count; i++)
            expect_zeros(e->families[0].slope_rows[i], TC_LANES);
        expect_zeros(e->work, tc_tape_work(e->families[0].bodies));
    }
}

static void nothing_of_a_whole_round_is_left(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    gate g = new_gate(&p);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    expect_no_sums(&g);
    expect_no_scratch(&p, &g);
    problem_free(&p);
}

static void nothing_of_a_round_in_parts_is_left(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    gate g = new_gate(&p);
    sum_in_parts(&g, 1);
    assert_true(g.release->sum_values[0] != 0); /* it was there */
    assert_true(tc_outer_slopes(g.release->workers[0].evaluator)[0] != 0);
    tc_release_close(g.release);
    expect_no_sums(&g);
    expect_no_scratch(&p, &g);
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_a_whole_round_is_left),
        cmocka_unit_test(nothing_of_a_round_in_parts_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
