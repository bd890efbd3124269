/* Releases against a plain reference: formulas by hand in long double, noise recomputed one entry at a time from its
 * address. */
#include "plan/plan_by_hand.h"
#include "release/lattice.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <sys/wait.h>
#include <unistd.h>

static const char *const TEXT = "agents home[i in 1..100] { state p[2] in [0, 8]; private minimize p[1] }\n"
                                "agent boss { state x in [-2, 2]; private minimize x^2 }\n"
                                "constraint a: sum(home: p[1]^2 + 0.3 * p[2]) <= 50\n"
                                "constraint b: sum(home: p[1])^2 / 100 + home[3].p[1]^2 <= 5\n"
                                "constraint c: sum(home: p[2]) + boss.x^2 * home[5].p[2]^2 <= 10\n"
                                "constraint d: 2 * boss.x + home[7].p[1] <= 4\n";
enum { HOMES = 100, ROWS = 4 };

static const hand USUAL = {.placement = TC_PLACEMENT_OUTPUTS,
                           .mechanism = TC_MECHANISM_LAPLACE,
                           .state_exponent = -16,
                           .step_exponent = -28,
                           .sum_exponent = -30,
                           .scale = 0x1.8p27,
                           .rounds = 5};

typedef struct point {
    double p[2][HOMES], x; /* on the lattice */
} point;

static double on_lattice(double x, int exponent) { return ldexp(rint(ldexp(x, -exponent)), exponent); }

static point random_point(uint64_t seed, int exponent) {
    point at;
    for (size_t k = 0; k < HOMES; k++)
        for (size_t c = 0; c < 2; c++)
            at.p[c][k] = on_lattice(8 * random_unit(&seed), exponent);
    at.x = on_lattice(4 * random_unit(&seed) - 2, exponent);
    return at;
}

static void send(gate *g, const point *at) {
    for (size_t k = 0; k < HOMES; k++)
        assert_int_equal(tc_states_from_doubles(g->states, 0, k, (double[]){at->p[0][k], at->p[1][k]}), TC_STATE_TAKEN);
    assert_int_equal(tc_states_from_doubles(g->states, 1, 0, &at->x), TC_STATE_TAKEN);
}

/* The noise of one entry, drawn alone. */
static int64_t noise_at(const problem *p, const tc_plan *plan, uint64_t seed, uint64_t round, uint64_t entry) {
    tc_random *random = seeded(p->arena, seed);
    tc_random_worker *worker = NULL;
    int64_t noise = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (entry < channel->first_entry || entry - channel->first_entry >= channel->entries)
            continue;
        tc_noise_scale scale;
        assert_true(tc_noise_scale_from(channel->lattice_scale, &scale));
        assert_int_equal(tc_random_open_round(random, round), TC_OK);
        assert_int_equal(tc_random_worker_new(p->arena, random, &worker), TC_OK);
        assert_int_equal(tc_noise_fill(worker, plan->mechanism == TC_MECHANISM_LAPLACE ? TC_LAPLACE : TC_GAUSSIAN,
                                       &scale, entry, 1, &noise),
                         TC_OK);
        return noise;
    }
    fail_msg("no channel has entry %llu", (unsigned long long)entry);
    return 0;
}

static long double term(long double value) { return roundl(value * 0x1p30L) * 0x1p-30L; }

typedef struct truth {
    long double g[ROWS], sum_p1;
} truth;

static truth truth_of(const point *at) {
    long double a = 0, p1 = 0, p2 = 0, x = at->x;
    for (size_t k = HOMES; k-- > 0;) { /* the other way round */
        long double u = at->p[0][k], v = at->p[1][k];
        a += term(u * u + (long double)0.3 * v);
        p1 += u;
        p2 += v;
    }
    long double third = at->p[0][2], fifth = at->p[1][4];
    return (truth){
        {a - 50, p1 * p1 / 100 + third * third - 5, p2 + x * x * fifth * fifth - 10, 2 * x + at->p[0][6] - 4}, p1};
}

/* J without noise; *noised says whether a release adds noise. */
static long double slope(const point *at, const truth *t, size_t row, size_t home, size_t component, bool *noised) {
    long double x = at->x;
    *noised = row == 0 ? component == 0 : row == 1 && component == 0;
    if (row == 0)
        return component == 0 ? 2 * (long double)at->p[0][home] : (long double)0.3;
    if (row == 1)
        return component != 0 ? 0 : t->sum_p1 / 50 + (home == 2 ? 2 * (long double)at->p[0][2] : 0);
    if (row == 2 && component == 1)
        return *noised = home == 4, 1 + (home == 4 ? 2 * x * x * at->p[1][4] : 0);
    return row == 3 && home == 6 && component == 0 ? 1 : 0;
}

static double noisy(long double value, int64_t noise, int exponent) {
    return ldexp((double)(llrintl(ldexpl(value, -exponent)) + noise), exponent);
}

static double jacobian_at(const tc_released *out, size_t family, size_t count, uint32_t row, size_t member,
                          uint32_t component) {
    const tc_family_entries *entries = &out->layout->families[family];
    double value = 0;
    for (size_t e = 0; e < entries->shared_count; e++)
        if (entries->shared[e].row == row && entries->shared[e].component == component)
            value += out->jacobian[entries->first + e * count + member];
    for (size_t i = 0; i < entries->single_count; i++)
        if (entries->singles[i].row == row && entries->singles[i].component == component &&
            entries->singles[i].member == member && entries->singles[i].shared == UINT32_MAX)
            value += out->jacobian[entries->first_single + i];
    return value;
}

static void a_release_is_the_truth_on_the_lattice_plus_the_noise_at_its_addresses(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    tc_plan *plan = plan_by_hand(&p, &USUAL);
    gate g = gate_of(&p, plan, 7, NULL);
    assert_int_equal(plan->channels[1].entries, 2 * HOMES + 1); /* a/p1, b/p1 and the one of home 5 in c */
    assert_int_equal(plan->channels[2].entries, 1);             /* c/x; the 2 of d is constant */
    for (uint64_t round = 1; round <= 3; round++) {
        point at = random_point(round, USUAL.state_exponent);
        truth t = truth_of(&at);
        send(&g, &at);
        assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_OK);
        assert_int_equal(g.out->round, round);
        for (size_t j = 0; j < ROWS; j++)
            assert_true(g.out->constraints[j] == noisy(t.g[j], noise_at(&p, plan, 7, round, j), -28));
        for (size_t k = 0; k < HOMES; k++)
            for (uint32_t row = 0; row < ROWS; row++)
                for (uint32_t c = 0; c < 2; c++) {
                    bool noised;
                    long double exact = slope(&at, &t, row, k, c, &noised);
                    double expected = (double)exact;
                    if (noised && row < 2)
                        expected = noisy(exact, noise_at(&p, plan, 7, round, ROWS + row * HOMES + k), -28);
                    if (noised && row == 2)
                        expected = 1 + noisy(exact - 1, noise_at(&p, plan, 7, round, ROWS + 2 * HOMES), -28);
                    assert_true(jacobian_at(g.out, 0, HOMES, row, k, c) == expected);
                }
        long double by_boss = 2 * (long double)at.x * at.p[1][4] * at.p[1][4];
        assert_true(jacobian_at(g.out, 1, 1, 2, 0, 0) ==
                    noisy(by_boss, noise_at(&p, plan, 7, round, 2 * HOMES + 5), -28));
        assert_true(jacobian_at(g.out, 1, 1, 3, 0, 0) == 2);
    }
    problem_free(&p);
}

static void released_states_are_lattice_states_plus_lattice_noise(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    hand by = USUAL;
    by.placement = TC_PLACEMENT_STATES;
    by.mechanism = TC_MECHANISM_GAUSSIAN;
    tc_plan *plan = plan_by_hand(&p, &by);
    gate g = gate_of(&p, plan, 3, NULL);
    point at = random_point(11, by.state_exponent);
    send(&g, &at);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    for (size_t c = 0; c < 2; c++)
        for (size_t k = 0; k < HOMES; k++)
            assert_true(g.out->states[c * HOMES + k] ==
                        noisy(at.p[c][k], noise_at(&p, plan, 3, 1, c * HOMES + k), -16));
    assert_true(g.out->states[2 * HOMES] == noisy(at.x, noise_at(&p, plan, 3, 1, 2 * HOMES), -16));
    problem_free(&p);
}

static void what_is_made_of_released_states_is_g_and_its_slopes_there(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    hand by = USUAL;
    by.placement = TC_PLACEMENT_STATES;
    gate g = gate_of(&p, plan_by_hand(&p, &by), 3, NULL);
    point at = random_point(12, by.state_exponent);
    truth t = truth_of(&at);
    double x[2 * HOMES + 1];
    memcpy(x, at.p, sizeof at.p);
    x[2 * HOMES] = at.x;
    tc_released_evaluate(g.release, x, g.out);
    bool noised;
    for (size_t j = 0; j < ROWS; j++)
        assert_true(fabsl(g.out->constraints[j] - t.g[j]) < 1e-6L);
    for (uint32_t row = 0; row < ROWS; row++)
        for (size_t k = 0; k < HOMES; k++)
            for (uint32_t c = 0; c < 2; c++)
                assert_true(fabsl(jacobian_at(g.out, 0, HOMES, row, k, c) - slope(&at, &t, row, k, c, &noised)) <
                            1e-9L);
    problem_free(&p);
}

static void the_bits_do_not_depend_on_how_the_work_is_cut(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    point at = random_point(5, USUAL.state_exponent);
    gate whole = gate_of(&p, plan_by_hand(&p, &USUAL), 9, NULL);
    send(&whole, &at);
    assert_int_equal(tc_release_round(whole.release, 1, whole.states, whole.out), TC_OK);
    static const size_t blocks[] = {1, 2, 3, 7, 63, 64, 65, 99, 100, 1000};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        gate cut = gate_of(&p, plan_by_hand(&p, &USUAL), 9, &(tc_release_settings){.block = blocks[i]});
        send(&cut, &at);
        assert_int_equal(tc_release_prepare(cut.release, 1), TC_OK);
        assert_int_equal(tc_release_round(cut.release, 1, cut.states, cut.out), TC_OK);
        assert_memory_equal(cut.out->constraints, whole.out->constraints, ROWS * sizeof(double));
        assert_memory_equal(cut.out->jacobian, whole.out->jacobian, whole.out->layout->position_count * sizeof(double));
    }
    problem_free(&p);
}

static void channels_for_each_row_and_member_cover_the_same_entries(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    hand by = USUAL;
    by.split = true;
    tc_plan *plan = plan_by_hand(&p, &by);
    assert_int_equal(plan->entry_count, plan_by_hand(&p, &USUAL)->entry_count);
    gate g = gate_of(&p, plan, 7, NULL);
    point at = random_point(4, by.state_exponent);
    truth t = truth_of(&at);
    send(&g, &at);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    bool noised;
    for (size_t k = 0; k < HOMES; k++) {
        const tc_channel *channel = &plan->channels[ROWS + k];
        assert_true(jacobian_at(g.out, 0, HOMES, 1, k, 0) ==
                    noisy(slope(&at, &t, 1, k, 0, &noised), noise_at(&p, plan, 7, 1, channel->first_entry + 1), -28));
    }
    problem_free(&p);
}

static void the_published_scheme_puts_noise_on_zeros_and_constants_too(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    hand by = USUAL;
    by.every_entry = true;
    tc_plan *plan = plan_by_hand(&p, &by);
    assert_int_equal(plan->entry_count, ROWS + ROWS * (2 * HOMES + 1));
    gate g = gate_of(&p, plan, 7, NULL);
    point at = random_point(4, by.state_exponent);
    truth t = truth_of(&at);
    send(&g, &at);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    bool noised;
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t c = 0; c < 2; c++)
            for (size_t k = 0; k < HOMES; k++)
                assert_true(jacobian_at(g.out, 0, HOMES, row, k, c) ==
                            noisy(slope(&at, &t, row, k, c, &noised),
                                  noise_at(&p, plan, 7, 1, ROWS + (row * 2 + c) * HOMES + k), -28));
    problem_free(&p);
}

static void an_agent_with_a_constant_block_may_be_left_out_of_the_published_scheme(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..3] { state x in [-1, 1]; private minimize x }\n"
                           "constraint c: a[1].x^2 + a[2].x^2 + 3 * a[3].x <= 1\n");
    hand by = USUAL;
    by.every_entry = by.split = true;
    tc_plan *plan = plan_by_hand(&p, &by);
    assert_int_equal(plan->channel_count, 4);
    plan->channel_count = 3;
    gate g = gate_of(&p, plan, 7, NULL);
    for (uint64_t round = 1; round <= 2; round++) {
        assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_OK);
        assert_true(jacobian_at(g.out, 0, 3, 0, 2, 0) == 3);
        assert_true(jacobian_at(g.out, 0, 3, 0, 1, 0) == ldexp((double)noise_at(&p, plan, 7, round, 2), -28));
    }
    problem_free(&p);
}

static void a_round_is_released_once_in_order_and_not_beyond_the_horizon(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    gate g = gate_of(&p, plan_by_hand(&p, &USUAL), 1, NULL);
    g.out->constraints[0] = 12345;
    assert_int_equal(tc_release_round(g.release, 0, g.states, g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_round(g.release, 2, g.states, g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_prepare(g.release, 2), TC_BAD_USAGE);
    assert_true(g.out->constraints[0] == 12345);
    for (uint64_t round = 1; round <= 5; round++) {
        assert_int_equal(tc_release_next_round(g.release), round);
        assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_OK);
        g.out->constraints[0] = 12345;
        assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_BAD_USAGE);
        assert_true(g.out->constraints[0] == 12345);
    }
    assert_int_equal(tc_release_round(g.release, 6, g.states, g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_prepare(g.release, 6), TC_BAD_USAGE);
    problem_free(&p);
}

static void a_seeded_release_says_that_it_is_not_private(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    tc_plan *plan = plan_by_hand(&p, &USUAL);
    gate g = gate_of(&p, plan, 1, NULL);
    assert_false(tc_release_is_private(g.release));
    assert_false(g.out->is_private);
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    const char *why = NULL;
    assert_int_equal(tc_random_new(p.arena, &run, &random), TC_OK);
    assert_int_equal(tc_release_new(p.arena, plan, p.model, p.derivatives, random, NULL, &g.release, &why), TC_OK);
    assert_true(tc_release_is_private(g.release));
    assert_true(tc_released_new(p.arena, g.release)->is_private);
    problem_free(&p);
}

static void a_forked_child_cannot_release_with_noise_that_its_parent_has_drawn(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    gate g = gate_of(&p, plan_by_hand(&p, &USUAL), 1, NULL);
    assert_int_equal(tc_release_prepare(g.release, 1), TC_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(tc_release_round(g.release, 1, g.states, g.out) == TC_NO_RANDOM ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    problem_free(&p);
}

static void states_go_to_the_nearest_lattice_point_of_the_box(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..2] { state x[2] in [0.1, 1.3]; private minimize x[1] }\n"
                           "constraint c: sum(a: x[1] + x[2]) <= 3\n");
    hand by = USUAL;
    by.placement = TC_PLACEMENT_STATES;
    by.mechanism = TC_MECHANISM_NONE; /* to look inside */
    by.state_exponent = -2;
    gate g = gate_of(&p, plan_by_hand(&p, &by), 1, NULL);
    assert_int_equal(tc_states_from_doubles(g.states, 0, 0, (double[]){0.4, 0.11}), TC_STATE_TAKEN);
    assert_int_equal(tc_states_from_doubles(g.states, 0, 1, (double[]){1e300, -3}), TC_STATE_CLAMPED);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    assert_memory_equal(g.out->states, ((double[]){0.5, 1.25, 0.25, 0.25}), 4 * sizeof(double));
    assert_int_equal(tc_states_from_doubles(g.states, 0, 0, (double[]){0.75, NAN}), TC_STATE_REFUSED);
    assert_int_equal(tc_states_from_doubles(g.states, 0, 0, (double[]){-INFINITY, 1}), TC_STATE_REFUSED);
    assert_int_equal(tc_states_from_integers(g.states, 0, 1, (int64_t[]){INT64_MIN, 3}), TC_STATE_CLAMPED);
    assert_int_equal(tc_release_round(g.release, 2, g.states, g.out), TC_OK);
    assert_memory_equal(g.out->states, ((double[]){0.5, 0.25, 0.25, 0.75}), 4 * sizeof(double));
    assert_false(g.out->is_private);
    assert_null(tc_states_new(p.arena, p.model, 2));   /* no multiple of 4 in the box */
    assert_null(tc_states_new(p.arena, p.model, -60)); /* too many steps to be exact */
    problem_free(&p);
}

static void refuse(const problem *p, const tc_plan *plan, const char *expected) {
    tc_release *release = NULL;
    const char *why = NULL;
    assert_int_equal(
        tc_release_new(p->arena, plan, p->model, p->derivatives, seeded(p->arena, 1), NULL, &release, &why),
        TC_BAD_USAGE);
    assert_null(release);
    assert_non_null(why);
    if (strstr(why, expected) == NULL)
        fail_msg("'%s' does not say '%s'", why, expected);
}

static void a_plan_that_leaves_something_open_is_refused(void **state) {
    (void)state;
    problem p = problem_of(TEXT), other = problem_of(TEXT);
    refuse(&p, NULL, "without a plan");
    refuse(&p, plan_by_hand(&other, &USUAL), "another problem");
    tc_plan *plan = plan_by_hand(&p, &USUAL);
    plan->problem = "the box is infinite";
    refuse(&p, plan, "the box is infinite");
    plan = plan_by_hand(&p, &USUAL);
    plan->channel_count--; /* forgets the slopes of boss */
    refuse(&p, plan, "the slope of c for boss would be released without noise");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[1] = plan->channels[2]; /* forgets those of home */
    plan->channel_count--;
    refuse(&p, plan, "the slope of a for home would be released without noise");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[0].row_count = 3;
    plan->channels[0].entries = 3;
    refuse(&p, plan, "constraint d would be released without noise");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[1].entries--;
    refuse(&p, plan, "miscounts");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[1].first_entry = 2;
    refuse(&p, plan, "addresses of its own");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[1].lattice_scale /= 2;
    refuse(&p, plan, "smaller on its lattice");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[1].scale = 0;
    refuse(&p, plan, "no noise");
    plan = plan_by_hand(&p, &USUAL);
    plan->sum_exponents = NULL;
    refuse(&p, plan, "no lattice");
    plan = plan_by_hand(&p, &USUAL);
    plan->sum_exponents[0] = -56;
    refuse(&p, plan, "would not fit");
    plan = plan_by_hand(&p, &USUAL);
    plan->channels[0].step_exponent = -56;
    plan->channels[0].lattice_scale *= 0x1p18;
    plan->channels[0].scale = ldexp(plan->channels[0].lattice_scale, -56);
    refuse(&p, plan, "would not fit");
    plan = plan_by_hand(&p, &USUAL);
    plan->rounds = NAN;
    refuse(&p, plan, "horizon");
    plan = plan_by_hand(&p, &USUAL);
    plan->mechanism = TC_MECHANISM_NONE;
    refuse(&p, plan, "calls itself private");
    hand by = USUAL;
    by.placement = TC_PLACEMENT_STATES;
    plan = plan_by_hand(&p, &by);
    plan->channel_count--;
    refuse(&p, plan, "does not release");
    problem_free(&p);
    problem_free(&other);
}

static void numbers_beyond_64_bits_saturate(void **state) {
    (void)state;
    assert_int_equal(tc_saturating_add(INT64_MAX - 1, 2), INT64_MAX);
    assert_int_equal(tc_saturating_add(INT64_MIN + 1, -2), INT64_MIN);
    assert_int_equal(tc_saturating_add(INT64_MAX, INT64_MIN), -1);
    assert_int_equal(tc_lattice_round(1e300, 1), INT64_C(1) << 62);
    assert_int_equal(tc_lattice_round(-INFINITY, 1), -(INT64_C(1) << 62));
    assert_int_equal(tc_lattice_round(NAN, 1), 0);
    assert_int_equal(tc_lattice_round(2.5, 1), 2);
    assert_int_equal(tc_lattice_round(-2.5, 2), -5);
    assert_int_equal(tc_lattice_round(0x1p61 - 512, 1), (INT64_C(1) << 61) - 512);
}

static void a_random_source_serves_one_release(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    tc_plan *plan = plan_by_hand(&p, &USUAL);
    tc_random *random = seeded(p.arena, 1);
    tc_release *first = NULL, *second = NULL;
    const char *why = NULL;
    assert_int_equal(tc_release_new(p.arena, plan, p.model, p.derivatives, random, NULL, &first, &why), TC_OK);
    assert_int_equal(tc_release_new(p.arena, plan, p.model, p.derivatives, random, NULL, &second, &why), TC_BAD_USAGE);
    assert_null(second);
    assert_non_null(strstr(why, "another release"));
    problem_free(&p);
}

static void states_of_another_lattice_are_refused(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    gate g = gate_of(&p, plan_by_hand(&p, &USUAL), 1, NULL);
    tc_private_states *finer = tc_states_new(p.arena, p.model, USUAL.state_exponent - 1);
    assert_int_equal(tc_release_round(g.release, 1, finer, g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_round(g.release, 1, g.states, g.out), TC_OK);
    problem_free(&p);
}

static void after_a_restart_rounds_go_on_with_other_noise_of_the_same_addresses(void **state) {
    (void)state;
    problem p = problem_of(TEXT);
    tc_plan *plan = plan_by_hand(&p, &USUAL);
    gate first = gate_of(&p, plan, 1, NULL), later = gate_of(&p, plan, 1, &(tc_release_settings){.first_round = 3});
    for (uint64_t round = 1; round <= 3; round++)
        assert_int_equal(tc_release_round(first.release, round, first.states, first.out), TC_OK);
    assert_int_equal(tc_release_round(later.release, 2, later.states, later.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_round(later.release, 3, later.states, later.out), TC_OK);
    assert_memory_equal(first.out->constraints, later.out->constraints, ROWS * sizeof(double));
    problem_free(&p);
}

/* Values of 2^59 units and terms of 2^51: too many for the quick way of rounding. Every number here is exact. */
static void values_of_many_units_are_released_alike(void **state) {
    (void)state;
    problem p = problem_of("agents home[i in 1..100] { state p in [0, 8]; private minimize p }\n"
                           "agent boss { state x in [-2, 2]; private minimize x^2 }\n"
                           "constraint a: sum(home: p^2) <= 50\nconstraint b: 1024 * boss.x^2 <= 4\n");
    hand by = USUAL;
    by.step_exponent = -47;
    by.sum_exponent = -45;
    by.scale = 0x1.8p40;
    tc_plan *plan = plan_by_hand(&p, &by);
    gate g = gate_of(&p, plan, 7, NULL);
    for (uint64_t round = 1; round <= 3; round++) {
        AT_CASE(round);
        point at = random_point(round, by.state_exponent);
        long double squares = 0, x = at.x;
        for (size_t k = 0; k < HOMES; k++) {
            squares += (long double)at.p[0][k] * at.p[0][k];
            assert_int_equal(tc_states_from_doubles(g.states, 0, k, &at.p[0][k]), TC_STATE_TAKEN);
        }
        assert_int_equal(tc_states_from_doubles(g.states, 1, 0, &at.x), TC_STATE_TAKEN);
        assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_OK);
        assert_true(g.out->constraints[0] == noisy(squares - 50, noise_at(&p, plan, 7, round, 0), -47));
        assert_true(g.out->constraints[1] == noisy(1024 * x * x - 4, noise_at(&p, plan, 7, round, 1), -47));
        for (uint32_t k = 0; k < HOMES; k++)
            assert_true(jacobian_at(g.out, 0, HOMES, 0, k, 0) ==
                        noisy(2 * (long double)at.p[0][k], noise_at(&p, plan, 7, round, 2 + k), -47));
        assert_true(jacobian_at(g.out, 1, 1, 1, 0, 0) == noisy(2048 * x, noise_at(&p, plan, 7, round, 2 + HOMES), -47));
    }
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_is_the_truth_on_the_lattice_plus_the_noise_at_its_addresses),
        cmocka_unit_test(values_of_many_units_are_released_alike),
        cmocka_unit_test(released_states_are_lattice_states_plus_lattice_noise),
        cmocka_unit_test(what_is_made_of_released_states_is_g_and_its_slopes_there),
        cmocka_unit_test(the_bits_do_not_depend_on_how_the_work_is_cut),
        cmocka_unit_test(channels_for_each_row_and_member_cover_the_same_entries),
        cmocka_unit_test(the_published_scheme_puts_noise_on_zeros_and_constants_too),
        cmocka_unit_test(an_agent_with_a_constant_block_may_be_left_out_of_the_published_scheme),
        cmocka_unit_test(a_round_is_released_once_in_order_and_not_beyond_the_horizon),
        cmocka_unit_test(a_seeded_release_says_that_it_is_not_private),
        cmocka_unit_test(a_forked_child_cannot_release_with_noise_that_its_parent_has_drawn),
        cmocka_unit_test(states_go_to_the_nearest_lattice_point_of_the_box),
        cmocka_unit_test(a_plan_that_leaves_something_open_is_refused),
        cmocka_unit_test(numbers_beyond_64_bits_saturate),
        cmocka_unit_test(a_random_source_serves_one_release),
        cmocka_unit_test(states_of_another_lattice_are_refused),
        cmocka_unit_test(after_a_restart_rounds_go_on_with_other_noise_of_the_same_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
