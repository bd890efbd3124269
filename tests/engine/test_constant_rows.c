/* A constraint on which no state has an effect, such as a link that no route uses, costs nothing: with the same random
 * numbers a run has the bits of the problem without it, in one process and on a network, and its multiplier is 0. */
/* labels: not-clang */
#include "engine/cloud_halves.h"

#define AGENTS                                                                                                         \
    "param route = [[1, 1, 0], [0, 0, 0], [0, 1, 3]]\nparam factor = [0, 0, 0]\n"                                      \
    "agents flow[i in 1..3] {\n state x in [0, 10]\n private minimize (x - 3 - i)^2\n gap 100\n slater x = 0.1\n}\n"   \
    "agents other[i in 1..2] {\n state y[2] in [-1, 2]\n private minimize sumsq(y - 1)\n gap 20\n slater y = 0\n}\n"   \
    "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 400 }\n"
#define FIRST "constraint first: sum(flow: route[1, i] * x) <= 5\n"

enum { ROUNDS = 300 };

static const char *const LAST[] = {
    "constraint last: sum(flow: route[3, i] * x) <= 4\n",
    "constraint last: sum(flow: x^2) / 10 + sumsq(other[1].y) + other[2].y[1] <= 4\n",
};
static const char *const CONSTANT[] = {
    "constraint idle: sum(flow: route[2, i] * x) <= 5\n",
    "constraint idle: sum(flow: route[2, i] * x) <= 0\n",
    "constraint idle: sum(flow: route[2, i] * x^2 / (1 + i) - factor[i] * (x - 2)) <= 1e-3\n",
    "constraint idle: 0 * flow[1].x <= 0\n",
    "constraint idle: dot([0, 0], other[1].y) + 2 <= 900\n",
};

static planned problem(const char *before, const char *first, const char *between, const char *last,
                       const char *after) {
    char text[2048];
    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s", AGENTS, before, first, between, last, after);
    return planned_problem("idle.tacit", text);
}

static void expect_same_noise(const tc_plan *idle, const tc_plan *plain) {
    assert_int_equal(idle->placement, plain->placement);
    assert_int_equal(idle->channel_count, plain->channel_count);
    assert_int_equal(idle->state_exponent, plain->state_exponent);
    for (size_t i = 0; i < plain->channel_count; i++) {
        assert_string_equal(idle->channels[i].name, plain->channels[i].name);
        assert_true(idle->channels[i].scale == plain->channels[i].scale);
        assert_int_equal(idle->channels[i].step_exponent, plain->channels[i].step_exponent);
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(idle->facts[i].total == plain->facts[i].total);
}

/* The multipliers of the moving rows have the same bits, and that of the constant one is 0. */
static void expect_same_multipliers(const double *idle, const double *plain, size_t at) {
    for (size_t j = 0; j < 3; j++)
        assert_true(j == at ? idle[j] == 0 : idle[j] == plain[j - (j > at)]);
}

static void compare(planned *with, planned *without, size_t at, const half_wish *wish) {
    half_case idle, plain;
    bool possible = half_case_of(without, wish, ROUNDS, &plain);
    assert_int_equal(half_case_of(with, wish, ROUNDS, &idle), possible);
    if (!possible)
        return;
    expect_same_noise(idle.plan, plain.plan);
    tc_arena *arena = tc_arena_new(0);
    tc_engine *engine = half_engine(arena, &idle, 11, TC_DRIVER_SMALL);
    tc_engine *other = half_engine(arena, &plain, 11, TC_DRIVER_SMALL);
    tc_cloud_half *half = half_new(arena, &idle, 11, NULL, 1);
    half_answer answer = half_answer_new(arena, &idle);
    size_t n = with->model->state_count;
    for (uint64_t k = 1; k <= ROUNDS; k++) {
        half_send_all(half, &idle, tc_engine_states(engine), 0);
        half_round(half, k, &answer);
        run_to(engine, k);
        run_to(other, k);
        assert_true(half_same(tc_engine_states(engine), tc_engine_states(other), n));
        assert_true(half_same(answer.p, other->p, n));
        expect_same_multipliers(tc_engine_multipliers(engine), tc_engine_multipliers(other), at);
    }
    tc_arena_free(arena);
}

static void a_run_has_the_bits_of_the_problem_without_the_row(void **state) {
    (void)state;
    size_t step = 8 / CASES(8); /* under sanitizers an eighth of the wishes, others for each row */
    for (size_t l = 0; l < sizeof LAST / sizeof *LAST; l++) {
        planned without = problem("", FIRST, "", LAST[l], "");
        for (size_t c = 0; c < sizeof CONSTANT / sizeof *CONSTANT; c++) {
            size_t at = c % 3;
            planned with = problem(at == 0 ? CONSTANT[c] : "", FIRST, at == 1 ? CONSTANT[c] : "", LAST[l],
                                   at == 2 ? CONSTANT[c] : "");
            for (size_t w = (c + 5 * l) % step; w < HALF_WISH_COUNT; w += step)
                compare(&with, &without, at, &HALF_WISHES[w]);
            planned_end(&with);
        }
        planned_end(&without);
    }
}

/* The paper's scheme adds noise to every g_j. */
static void the_papers_noise_on_the_row_moves_no_multiplier(void **state) {
    (void)state;
    planned p = problem("", FIRST, CONSTANT[0], LAST[1], "");
    tc_plan_options options = planned_options();
    options.mechanism = TC_MECHANISM_LAPLACE;
    options.calibration = TC_PUBLISHED;
    options.adjacency = TC_ADJACENCY_ENSEMBLE;
    options.adjacency_bound = 1;
    options.epsilon = 0.01;
    options.rounds = ROUNDS;
    options.seeded = true;
    half_wish wish = {.method = TC_METHOD_PUBLISHED};
    half_case made = {.p = &p, .wish = &wish, .plan = planned_plan(&p, &options), .radius = 20};
    assert_null(made.plan->problem);
    tc_arena *arena = tc_arena_new(0);
    tc_engine *engine = half_engine(arena, &made, 3, TC_DRIVER_SMALL);
    for (uint64_t k = 1; k <= ROUNDS; k++) {
        run_to(engine, k);
        assert_true(tc_engine_multipliers(engine)[1] == 0);
    }
    tc_arena_free(arena);
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_the_bits_of_the_problem_without_the_row),
        cmocka_unit_test(the_papers_noise_on_the_row_moves_no_multiplier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
