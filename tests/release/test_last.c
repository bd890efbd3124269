/* The release of the last round: g alone, with bounded noise, once; the same bits whole and in parts. */
#include "analysis/region.h"
#include "plan/planned.h"
#include "release/release.h"

#define EXAMPLE(name) TACIT_SOURCE_DIR "/examples/" name ".tacit"

static const tc_plan *plan_it(planned *p, const char *path, tc_mechanism mechanism) {
    *p = planned_problem(path, NULL);
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    options.mechanism = mechanism;
    options.adjacency = TC_ADJACENCY_AGENT;
    options.epsilon = 1;
    options.delta = 1e-3; /* narrow bounds */
    options.rounds = 50;
    options.certain = true;
    options.last_share = NAN;
    const tc_plan *plan = planned_plan(p, &options);
    if (plan->problem != NULL)
        fail_msg("%s: %s", path, plan->problem);
    return plan->last->plan;
}

static tc_release *open_release(planned *p, const tc_plan *plan, uint64_t seed) {
    tc_run_identity run = {.run_id = "last", .run_id_length = 4};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    assert_int_equal(tc_random_new_simulation(p->arena, &run, seed, &random), TC_OK);
    tc_status status =
        tc_release_new(p->arena, plan, plan->measured, plan->measured_derivatives, random, NULL, &release, &why);
    if (status != TC_OK)
        fail_msg("%s", why);
    return release;
}

static void fill_states(planned *p, tc_private_states *states, double *x) {
    uint64_t random = 3;
    for (size_t i = 0; i < p->model->state_count; i++) {
        tc_interval range = tc_coord_range(p->model, i);
        x[i] = uniform(&random, range.lo, range.hi);
    }
    assert_int_equal(tc_states_take(states, x), TC_STATE_TAKEN);
}

static const char *const paths[] = {EXAMPLE("paper"), EXAMPLE("num"), EXAMPLE("robots"), EXAMPLE("dispatch")};

/* Noise is at most the bound, and comes close to it; what else a value is off by is within the allowance. */
static void values_are_within_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int law = TC_MECHANISM_LAPLACE; law <= TC_MECHANISM_GAUSSIAN; law++) {
            planned p;
            const tc_plan *plan = plan_it(&p, paths[i], (tc_mechanism)law);
            tc_private_states *states = tc_states_of_plan(p.arena, p.model, plan);
            double *x = TC_NEW(p.arena, double, p.model->state_count), most = 0;
            fill_states(&p, states, x);
            release_of r = planned_release(&p, plan);
            double *g = TC_NEW(p.arena, double, r.count), step = ldexp(1, plan->state_exponent);
            for (size_t c = 0; c < p.model->state_count; c++)
                x[c] = rint(x[c] / step) * step;
            r.rounded = true;
            planned_evaluate(&r, x, g);
            for (uint64_t seed = 1; seed <= 100; seed++) {
                tc_release *release = open_release(&p, plan, seed);
                tc_released *out = tc_released_new(p.arena, release);
                assert_int_equal(out->layout->position_count, 0); /* no slopes */
                assert_int_equal(tc_release_round(release, 1, states, out), TC_OK);
                for (size_t c = 0; c < plan->channel_count; c++) {
                    const tc_channel *channel = &plan->channels[c];
                    double noise = (out->constraints[channel->first_row] - g[c]) / ldexp(1, channel->step_exponent);
                    assert_true(fabs(noise) <= (double)channel->bound);
                    most = fmax(most, fabs(noise) / (double)channel->bound);
                }
            }
            assert_true(most > 0.5);
            planned_end(&p);
        }
}

static void parts_have_the_bits_of_the_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        planned p;
        const tc_plan *plan = plan_it(&p, paths[i], TC_MECHANISM_GAUSSIAN);
        tc_private_states *states = tc_states_of_plan(p.arena, p.model, plan);
        double *x = TC_NEW(p.arena, double, p.model->state_count);
        fill_states(&p, states, x);
        tc_release *whole = open_release(&p, plan, 7), *parts = open_release(&p, plan, 7);
        tc_released *a = tc_released_new(p.arena, whole), *b = tc_released_new(p.arena, parts);
        assert_int_equal(tc_release_round(whole, 1, states, a), TC_OK);
        assert_int_equal(tc_release_prepare(parts, 1), TC_OK);
        assert_int_equal(tc_release_open(parts, 1), TC_OK);
        for (size_t f = 0; f < p.model->family_count; f++)
            for (size_t k = 0; k < p.model->families[f].count; k += TC_RELEASE_BLOCK) {
                tc_release_worker *worker = tc_release_worker_at(parts, 0);
                assert_int_equal(tc_release_take_stored(worker, f, k / TC_RELEASE_BLOCK, states), TC_OK);
                assert_int_equal(tc_release_sum(worker), TC_OK);
            }
        assert_int_equal(tc_release_close_sums(parts, b), TC_OK);
        tc_release_close(parts);
        assert_memory_equal(a->constraints, b->constraints, p.model->constraint_count * sizeof(double));
        planned_end(&p);
    }
}

static void it_is_released_once_and_only_with_drawn_noise(void **state) {
    (void)state;
    planned p;
    const tc_plan *plan = plan_it(&p, EXAMPLE("paper"), TC_MECHANISM_LAPLACE);
    tc_private_states *states = tc_states_of_plan(p.arena, p.model, plan);
    tc_release *release = open_release(&p, plan, 1);
    tc_released *out = tc_released_new(p.arena, release);
    assert_int_equal(tc_release_round(release, 1, states, out), TC_OK);
    assert_int_equal(tc_release_round(release, 1, states, out), TC_BAD_USAGE);
    assert_int_equal(tc_release_round(release, 2, states, out), TC_BAD_USAGE);
    release = open_release(&p, plan, 1);
    assert_int_equal(tc_release_open(release, 1), TC_OK); /* nothing was drawn */
    for (size_t f = 0; f < p.model->family_count; f++) {
        assert_int_equal(tc_release_take_stored(tc_release_worker_at(release, 0), f, 0, states), TC_OK);
        assert_int_equal(tc_release_sum(tc_release_worker_at(release, 0)), TC_OK);
    }
    assert_int_equal(tc_release_close_sums(release, out), TC_BAD_USAGE);
    planned_end(&p);
}

static void refuse(planned *p, const tc_plan *plan, const tc_derivatives *derivatives, const char *words) {
    tc_run_identity run = {.run_id = "last", .run_id_length = 4};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    assert_int_equal(tc_random_new_simulation(p->arena, &run, 1, &random), TC_OK);
    assert_int_equal(tc_release_new(p->arena, plan, plan->measured, derivatives, random, NULL, &release, &why),
                     TC_BAD_USAGE);
    if (strstr(why, words) == NULL)
        fail_msg("'%s' is not in: %s", words, why);
}

static void wrong_plans_are_refused(void **state) {
    (void)state;
    planned p;
    const tc_plan *plan = plan_it(&p, EXAMPLE("paper"), TC_MECHANISM_LAPLACE);
    tc_plan wrong = *plan;
    refuse(&p, plan, p.derivatives, "another problem"); /* with slopes */
    wrong.rounds = 2;
    refuse(&p, &wrong, plan->measured_derivatives, "one last round");
    wrong = *plan;
    wrong.is_last = false;
    refuse(&p, &wrong, plan->measured_derivatives, "bounded where it should not be");
    wrong = *plan;
    wrong.channels = TC_NEW(p.arena, tc_channel, plan->channel_count);
    memcpy(wrong.channels, plan->channels, plan->channel_count * sizeof *plan->channels);
    wrong.channels[0].bound = 0;
    refuse(&p, &wrong, plan->measured_derivatives, "the other way round");
    wrong.channels[0].bound = plan->channels[0].bound;
    wrong.channel_count--;
    refuse(&p, &wrong, plan->measured_derivatives, "without noise");
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_within_bounds),
        cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(it_is_released_once_and_only_with_drawn_noise),
        cmocka_unit_test(wrong_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
