/* An attack on the release of the last round: two worlds as far apart as the unit allows, many releases of each, and
 * the events that tell them apart best. The plan's own release withstands it; each planted fault is found. */
#include "plan/account/account.h"
#include "plan/planned.h"
#include "release/release.h"

enum { SAMPLES = 4000 };
#define EPSILON 1.0
#define DELTA 0.04

static const char *const TEXT = "agent a { state x in [0, 1]; private minimize x^2; gap 5; slater x = 0.1 }\n"
                                "agent b { state x in [0, 1]; private minimize x^2; gap 5; slater x = 0.1 }\n"
                                "constraint c: a.x + b.x <= 1.5\nschedule { rounds 50 }\n";

typedef struct worlds {
    planned p;
    const tc_plan *plan; /* of the last round */
    double epsilon;      /* what its part of the promise is, at delta */
    double delta;
} worlds;

static worlds make_worlds(tc_mechanism mechanism) {
    worlds w = {.p = planned_problem("worlds.tacit", TEXT), .delta = DELTA};
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    options.mechanism = mechanism;
    options.adjacency = TC_ADJACENCY_AGENT;
    options.epsilon = EPSILON;
    options.delta = DELTA;
    options.rounds = 50;
    options.certain = true;
    options.last_share = 0.98;
    const tc_plan *plan = planned_plan(&w.p, &options);
    if (plan->problem != NULL)
        fail_msg("%s", plan->problem);
    w.plan = plan->last->plan;
    w.epsilon = EPSILON;
    return w;
}

/* One release of the row, in its own units, with a.x = first. */
static double release_once(worlds *w, const tc_plan *plan, double first, uint64_t seed) {
    tc_arena *arena = tc_arena_new(0);
    tc_run_identity run = {.run_id = "attack", .run_id_length = 6};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    const double x[2] = {first, 0.5};
    assert_int_equal(tc_random_new_simulation(arena, &run, seed, &random), TC_OK);
    if (tc_release_new(arena, plan, plan->measured, plan->measured_derivatives, random, NULL, &release, &why) != TC_OK)
        fail_msg("%s", why);
    tc_private_states *states = tc_states_of_plan(arena, w->p.model, plan);
    tc_released *out = tc_released_new(arena, release);
    assert_int_equal(tc_states_take(states, x), TC_STATE_TAKEN);
    assert_int_equal(tc_release_round(release, 1, states, out), TC_OK);
    double value = out->constraints[0];
    tc_arena_free(arena);
    return value;
}

typedef struct found {
    bool unbounded;     /* noise beyond the bound that results rest on */
    bool needs_delta;   /* values that the other world cannot have, oftener than delta */
    bool needs_epsilon; /* odds beyond e^epsilon, delta apart */
} found;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Wald's bounds with room: six standard deviations. */
static double least(double hits) { return (hits - 6 * sqrt(hits + 1)) / SAMPLES; }
static double most(double hits) { return (hits + 6 * sqrt(hits + 1)) / SAMPLES; }

static found attack(worlds *w, const tc_plan *released_by, uint64_t seed) {
    static double values[2][SAMPLES];
    const tc_channel *stated = &w->plan->channels[0];
    double bound = ldexp((double)stated->bound, stated->step_exponent);
    found f = {false};
    for (int world = 0; world < 2; world++)
        for (uint64_t i = 0; i < SAMPLES; i++) {
            double value = release_once(w, released_by, world, seed + 2 * i + (uint64_t)world);
            double true_value = world + 0.5 - 1.5;
            f.unbounded = f.unbounded || fabs(value - true_value) > bound * (1 + 1e-9);
            values[world][i] = value;
        }
    for (int world = 0; world < 2; world++)
        qsort(values[world], SAMPLES, sizeof(double), compare);
    double beyond = 0, above[2] = {SAMPLES, SAMPLES};
    for (size_t i = 0; i < SAMPLES; i++) /* world 1 is larger: where world 0 ends by its own bound */
        beyond += values[1][i] > -1 + ldexp((double)released_by->channels[0].bound, stated->step_exponent);
    f.needs_delta = least(beyond) > w->delta;
    for (size_t i = 0, k = 0; i < SAMPLES; i += 20) { /* events "at least this much" */
        while (k < SAMPLES && values[0][k] < values[1][i])
            k++;
        above[1] = (double)(SAMPLES - i);
        above[0] = (double)(SAMPLES - k);
        f.needs_epsilon = f.needs_epsilon || least(above[1]) > exp(w->epsilon) * most(above[0]) + w->delta;
    }
    return f;
}

static tc_plan *copy_of(worlds *w) {
    tc_plan *copy = TC_NEW(w->p.arena, tc_plan, 1);
    *copy = *w->plan;
    copy->channels = TC_NEW(w->p.arena, tc_channel, 1);
    copy->channels[0] = w->plan->channels[0];
    assert_int_equal(w->plan->channel_count, 1);
    return copy;
}

static void the_release_withstands(void **state) {
    (void)state;
    for (int law = TC_MECHANISM_LAPLACE; law <= TC_MECHANISM_GAUSSIAN; law++) {
        worlds w = make_worlds((tc_mechanism)law);
        found f = attack(&w, w.plan, 1);
        assert_false(f.unbounded || f.needs_delta || f.needs_epsilon);
        planned_end(&w.p);
    }
}

static void planted_faults_are_found(void **state) {
    (void)state;
    for (int law = TC_MECHANISM_LAPLACE; law <= TC_MECHANISM_GAUSSIAN; law++) {
        worlds w = make_worlds((tc_mechanism)law);
        tc_plan *wrong = copy_of(&w); /* noise without bounds */
        wrong->channels[0].bound = TC_MOST_NOISE;
        assert_true(attack(&w, wrong, 1).unbounded);
        wrong = copy_of(&w); /* bounds that delta does not pay for */
        wrong->channels[0].bound = (int64_t)ceil(1.01 * wrong->channels[0].lattice_scale);
        assert_true(attack(&w, wrong, 1).needs_delta);
        wrong = copy_of(&w); /* noise for a fifth of what one agent can do */
        wrong->channels[0].scale /= 5;
        wrong->channels[0].lattice_scale /= 5;
        assert_true(attack(&w, wrong, 1).needs_epsilon);
        planned_end(&w.p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_release_withstands),
        cmocka_unit_test(planted_faults_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
