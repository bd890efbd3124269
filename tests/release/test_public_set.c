/* Public sets that a plan relies on: the cloud moves states into them, on every way that states take. */
#include "plan/planned.h"

#include "release/release.h"

static const char text[] = "agents home[i in 1..5] {\n  state p[4] in [0, 2]\n  public set sum(p) <= 3\n"
                           "  private minimize sumsq(p - 1)\n  gap 9\n  slater p = 0.5\n}\n"
                           "agent b {\n  state y in [0, 1]\n  private minimize y^2\n  gap 1; slater y = 0.5\n}\n"
                           "constraint g[t in 1..4]: sum(home: p[t]) + b.y <= 9\n";

typedef struct scene {
    planned p;
    tc_plan *plan;
    tc_release *release;
    tc_released *out;
    tc_private_states *states;
} scene;

static scene scene_of(tc_placement placement, tc_adjacency unit, size_t block) {
    scene s = {.p = planned_problem("homes.tacit", text)};
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    options.mechanism = TC_MECHANISM_GAUSSIAN;
    options.placement = placement;
    options.adjacency = unit;
    options.adjacency_bound = 1;
    options.epsilon = 1;
    options.delta = 1e-6;
    options.rounds = 10;
    s.plan = planned_plan(&s.p, &options);
    assert_null(s.plan->problem);
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    assert_int_equal(tc_random_new_simulation(s.p.arena, &run, 7, &random), TC_OK);
    const char *why = NULL;
    tc_release_settings settings = {.block = block};
    assert_int_equal(tc_release_new(s.p.arena, s.plan, s.plan->measured, s.plan->measured_derivatives, random,
                                    &settings, &s.release, &why),
                     TC_OK);
    s.out = tc_released_new(s.p.arena, s.release);
    s.states = tc_states_of_plan(s.p.arena, s.p.model, s.plan);
    assert_non_null(s.states);
    return s;
}

/* What is released of these states; the noise is that of round 1 under one seed, the same for all scenes. */
static void release_all(scene *s, double *numbers, size_t *count) {
    assert_int_equal(tc_release_round(s->release, 1, s->states, s->out), TC_OK);
    bool states = tc_noises_states(s->plan);
    *count = states ? s->p.model->state_count : s->plan->measured->constraint_count;
    memcpy(numbers, states ? s->out->states : s->out->constraints, *count * sizeof *numbers);
}

/* By the rule of docs/proofs/publicset.md: first components first, in steps of h. */
static void expected(const tc_plan *plan, const double *sent, double *kept) {
    double h = ldexp(1, plan->state_exponent), room = 3 + 8 * h;
    double excess = -room;
    for (size_t c = 0; c < 4; c++) {
        kept[c] = fmin(fmax(rint(sent[c] / h) * h, 0), 2);
        excess += kept[c];
    }
    for (size_t c = 0; c < 4; c++) {
        double less = fmin(kept[c], fmax(excess, 0));
        kept[c] -= less;
        excess -= less;
    }
}

static const double hostile[] = {2, 2, 2, 2}, high[] = {1e9, -3, 1.75, 1.5}, honest[] = {1.5, 0.5, 0.25, 0.75};

static void send(scene *s, const double *home_one, tc_taken wanted) {
    assert_int_equal(tc_states_from_doubles(s->states, 0, 1, home_one), wanted);
}

static void a_hostile_state_is_moved_into_the_set_and_its_agent_told(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_STATES, TC_PLACEMENT_FORMS};
    const double *const cases[] = {hostile, high};
    for (size_t i = 0; i < 6; i++) {
        scene moved = scene_of(placements[i % 3], TC_ADJACENCY_AGENT, 0);
        scene meant = scene_of(placements[i % 3], TC_ADJACENCY_AGENT, 0);
        double kept[4], a[64], b[64];
        size_t count;
        expected(moved.plan, cases[i / 3], kept);
        send(&moved, cases[i / 3], TC_STATE_CLAMPED);
        send(&meant, kept, TC_STATE_TAKEN);
        release_all(&moved, a, &count);
        release_all(&meant, b, &count);
        assert_memory_equal(a, b, count * sizeof *a);
        planned_end(&moved.p);
        planned_end(&meant.p);
    }
}

static void an_honest_state_is_taken_as_it_is(void **state) {
    (void)state;
    scene s = scene_of(TC_PLACEMENT_OUTPUTS, TC_ADJACENCY_AGENT, 0);
    send(&s, honest, TC_STATE_TAKEN);
    int64_t units[4];
    for (size_t c = 0; c < 4; c++)
        units[c] = (int64_t)ldexp(honest[c], -s.plan->state_exponent);
    assert_int_equal(tc_states_from_integers(s.states, 0, 4, units), TC_STATE_TAKEN);
    units[3]++; /* within what rounding of an honest state can add */
    assert_int_equal(tc_states_from_integers(s.states, 0, 4, units), TC_STATE_TAKEN);
    units[3] += 8;
    assert_int_equal(tc_states_from_integers(s.states, 0, 4, units), TC_STATE_CLAMPED);
    planned_end(&s.p);
}

static void other_units_leave_states_of_the_box_alone(void **state) {
    (void)state;
    scene s = scene_of(TC_PLACEMENT_OUTPUTS, TC_ADJACENCY_ONE, 0);
    send(&s, hostile, TC_STATE_TAKEN);
    planned_end(&s.p);
}

static void states_that_nobody_enforces_are_refused(void **state) {
    (void)state;
    scene s = scene_of(TC_PLACEMENT_OUTPUTS, TC_ADJACENCY_AGENT, 0);
    tc_private_states *bare = tc_states_new(s.p.arena, s.p.model, s.plan->state_exponent);
    assert_non_null(bare);
    assert_int_equal(tc_release_round(s.release, 1, bare, s.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_open(s.release, 1), TC_OK);
    assert_int_equal(tc_release_take_stored(tc_release_worker_at(s.release, 0), 0, 0, bare), TC_BAD_USAGE);
    assert_int_equal(tc_release_take_stored(tc_release_worker_at(s.release, 0), 0, 0, s.states), TC_OK);
    planned_end(&s.p);
}

/* All agents at once, one by one, from messages, and block by block: the same numbers. */
static void every_way_in_has_the_same_bits(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_STATES, TC_PLACEMENT_FORMS};
    for (size_t i = 0; i < 3; i++) {
        double x[21], all[64], other[64];
        size_t count;
        uint64_t seed = 11;
        scene s[4];
        for (size_t w = 0; w < 4; w++)
            s[w] = scene_of(placements[i], TC_ADJACENCY_AGENT, w == 3 ? 2 : 0);
        const tc_model *model = s[0].p.model;
        for (size_t k = 0; k < model->state_count; k++)
            x[k] = 3 * random_unit(&seed) - 0.5;
        assert_int_equal(tc_states_take(s[0].states, x), TC_STATE_CLAMPED);
        release_all(&s[0], all, &count);
        for (size_t w = 1; w < 3; w++) {
            for (size_t f = 0; f < 2; f++) {
                const tc_family *family = &model->families[f];
                for (size_t k = 0; k < family->count; k++) {
                    double mine[4];
                    int64_t units[4];
                    for (size_t c = 0; c < family->dim; c++) {
                        mine[c] = x[tc_coord_of(family, k, c)];
                        units[c] = (int64_t)rint(ldexp(mine[c], -s[w].plan->state_exponent));
                    }
                    tc_taken taken = w == 1 ? tc_states_from_doubles(s[w].states, f, k, mine)
                                            : tc_states_from_integers(s[w].states, f, k, units);
                    assert_int_not_equal(taken, TC_STATE_REFUSED);
                }
            }
            release_all(&s[w], other, &count);
            assert_memory_equal(all, other, count * sizeof *all);
        }
        tc_release_worker *worker = tc_release_worker_at(s[3].release, 0);
        assert_int_equal(tc_release_open(s[3].release, 1), TC_OK);
        for (size_t f = 0; f < 2; f++) {
            const tc_family *family = &model->families[f];
            for (size_t b = 0; b * 2 < family->count; b++) {
                const double *in[4];
                double *out[4];
                for (size_t c = 0; c < family->dim; c++) {
                    in[c] = x + tc_coord_of(family, 2 * b, c);
                    out[c] = other + tc_coord_of(family, 2 * b, c);
                }
                assert_int_equal(tc_release_take(worker, f, b, in), TC_OK);
                assert_int_equal(tc_noises_states(s[3].plan) ? tc_release_states(worker, out) : tc_release_sum(worker),
                                 TC_OK);
            }
        }
        if (!tc_noises_states(s[3].plan)) {
            assert_int_equal(tc_release_close_sums(s[3].release, s[3].out), TC_OK);
            memcpy(other, s[3].out->constraints, count * sizeof *other);
        }
        assert_memory_equal(all, other, count * sizeof *all);
        for (size_t w = 0; w < 4; w++)
            planned_end(&s[w].p);
    }
}

/* A cloud that has not heard of an agent yet: the first states lie in the set too. */
static void the_first_states_lie_in_the_set(void **state) {
    (void)state;
    static const char far[] = "agents home[i in 1..5] {\n  state p[4] in [0, 2]\n  public set sum(p) >= 7\n"
                              "  private minimize sumsq(p - 1)\n}\nconstraint g: sum(home: p[1]) <= 9\n";
    planned p = planned_problem("far.tacit", far);
    tc_plan_options options = planned_options();
    options.mechanism = TC_MECHANISM_LAPLACE;
    options.adjacency = TC_ADJACENCY_AGENT;
    options.epsilon = 1;
    options.rounds = 1;
    tc_plan *plan = planned_plan(&p, &options);
    tc_private_states *states = tc_states_of_plan(p.arena, p.model, plan);
    assert_null(plan->problem);
    /* zeros, sent, are moved: to where they are already */
    unsigned char before[TC_MAC_BYTES], after[TC_MAC_BYTES];
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    assert_int_equal(tc_random_new_simulation(p.arena, &run, 7, &random), TC_OK);
    assert_int_equal(tc_states_mac(states, random, 1, before), TC_OK);
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(tc_states_from_doubles(states, 0, k, (double[]){0, 0, 0, 0}), TC_STATE_CLAMPED);
    assert_int_equal(tc_states_mac(states, random, 1, after), TC_OK);
    assert_memory_equal(before, after, sizeof before);
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hostile_state_is_moved_into_the_set_and_its_agent_told),
        cmocka_unit_test(an_honest_state_is_taken_as_it_is),
        cmocka_unit_test(other_units_leave_states_of_the_box_alone),
        cmocka_unit_test(states_that_nobody_enforces_are_refused),
        cmocka_unit_test(every_way_in_has_the_same_bits),
        cmocka_unit_test(the_first_states_lie_in_the_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
