/* Any call of the system or of OpenSSL may fail, once or from then on. What is released is what a run without failures
 * releases, noise included. A round that fails may have released some of these numbers, and no others. */
#include "noise/failing.h"
#include "plan/plan_by_hand.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const char *const TEXT = "agents home[i in 1..40] { state p[2] in [0, 8]; private minimize p[1] }\n"
                                "agent boss { state x in [-2, 2]; private minimize x^2 }\n"
                                "constraint a: sum(home: p[1]^2 + 0.3 * p[2]) <= 50\n"
                                "constraint b: sum(home: p[1])^2 / 100 + boss.x^2 <= 5\n";
enum { ROUNDS = 4, MOST = 400 };
static const double BEFORE = -12345.5; /* what lies where a round is released to */

typedef struct session {
    bool done[ROUNDS];
    double out[ROUNDS][MOST]; /* what is released, one after another */
    size_t count;
} session;

static void fill(const problem *p, const tc_released *out, double *to, size_t *count, bool take) {
    double *const lists[] = {out->constraints, out->jacobian, out->states};
    const size_t counts[] = {p->model->constraint_count, out->layout->position_count, p->model->state_count};
    *count = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; lists[i] != NULL && k < counts[i]; k++) {
            assert_true(*count < MOST);
            if (take)
                to[(*count)++] = lists[i][k];
            else
                lists[i][k] = to[(*count)++];
        }
}

static void release_rounds(const problem *p, tc_release *release, const tc_plan *plan, session *s) {
    double before[MOST], x[MOST];
    uint64_t seed = 3;
    for (size_t i = 0; i < MOST; i++)
        before[i] = BEFORE;
    tc_released *out = tc_released_new(p->arena, release);
    tc_private_states *states = tc_states_new(p->arena, p->model, plan->state_exponent);
    for (uint64_t k = 0; k < ROUNDS; k++) {
        for (size_t i = 0; i < p->model->state_count; i++)
            x[i] = uniform(&seed, 0, 2);
        assert_int_not_equal(tc_states_take(states, x), TC_STATE_REFUSED);
        fill(p, out, before, &s->count, false);
        s->done[k] = tc_release_round(release, k + 1, states, out) == TC_OK;
        fill(p, out, s->out[k], &s->count, true);
    }
}

/* Goes on after a failure, as no caller should. */
static void run(const problem *p, const tc_plan *plan, session *s) {
    tc_run_identity of = {.run_id = "run", .run_id_length = 3};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    tc_escape escape;
    *s = (session){0};
    if (TC_TRY(p->arena, &escape) != TC_OK)
        return;
    if (tc_random_new_simulation(p->arena, &of, 42, &random) == TC_OK) {
        tc_status status = tc_release_new(p->arena, plan, p->model, p->derivatives, random, NULL, &release, &why);
        assert_true((status == TC_OK) == (release != NULL));
        if (release != NULL)
            release_rounds(p, release, plan, s);
    }
    tc_escape_end(p->arena, &escape);
}

static size_t compare(const session *got, const session *expected) {
    size_t refused = 0;
    for (size_t k = 0; k < ROUNDS; k++) {
        for (size_t i = 0; i < got->count; i++) {
            bool same = memcmp(&got->out[k][i], &expected->out[k][i], sizeof(double)) == 0;
            assert_true(same || (!got->done[k] && (got->out[k][i] == BEFORE || isnan(got->out[k][i]))));
        }
        refused += !got->done[k];
    }
    return refused;
}

static void expect_right_or_none(const hand *by) {
    static session expected, got;
    problem p = problem_of(TEXT);
    fail_calls(0, 0);
    run(&p, plan_by_hand(&p, by), &expected);
    unsigned long calls = failing.calls, refusals = 0;
    assert_int_equal(compare(&expected, &expected), 0);
    problem_free(&p);
    for (unsigned long n = 1; n <= calls; n++)
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            AT_CASE(n);
            p = problem_of(TEXT);
            const tc_plan *plan = plan_by_hand(&p, by);
            fail_calls(n, for_ever ? ULONG_MAX : n);
            run(&p, plan, &got);
            fail_calls(0, 0);
            refusals += compare(&got, &expected) > 0;
            problem_free(&p);
        }
    assert_true(calls >= 10 && refusals > calls); /* the measure works: almost every failure is seen */
}

static void what_is_released_has_its_noise(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_STATES};
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++)
        for (size_t m = 0; m < 2; m++) {
            hand by = {.placement = placements[i],
                       .mechanism = mechanisms[m],
                       .state_exponent = -16,
                       .step_exponent = -28,
                       .sum_exponent = -30,
                       .scale = TC_MOST_NOISE_SCALE / 8, /* there some entries need big numbers */
                       .rounds = ROUNDS};
            expect_right_or_none(&by);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_released_has_its_noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
