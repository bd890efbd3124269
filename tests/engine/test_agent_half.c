/* Agents alone, each with its own file, and a cloud with its own: driven by hand, they go through the states and the
 * multipliers of an engine with all of them together, to the last bit. */
#include "engine/cloud_halves.h"
#include "model/split/split.h"
#include "model/support.h"

typedef struct agent {
    size_t family, member;
    tc_agent_half *device;
    double *x, *average, *p;
} agent;

typedef struct crew { /* all agents of a problem that has been split into a folder */
    tc_arena *arena;
    const tc_model *whole;
    agent *agents;
    planned cloud;
} crew;

static const char *path_of(const char *folder, const tc_family *family, size_t member) {
    static char path[400];
    if (family->member_names != NULL)
        (void)snprintf(path, sizeof path, "%s/agents/%s.tacit", folder, family->member_names[member]);
    else if (family->is_family)
        (void)snprintf(path, sizeof path, "%s/agents/%s.%zu.tacit", folder, family->name, member + 1);
    else
        (void)snprintf(path, sizeof path, "%s/agents/%s.tacit", folder, family->name);
    return path;
}

static tc_agent_half *load_device(tc_arena *arena, const char *path) {
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    tc_model *model = NULL;
    tc_agent_half *device = NULL;
    const char *why = NULL;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = tc_model_load(arena, path, NULL, &messages, &model);
    if (status == TC_OK)
        status = tc_agent_half_new(arena, model, tc_derive(arena, model), &device, &why);
    if (status != TC_OK)
        fail_msg("%s: %s, %s%s", path, tc_status_text(status), tc_buffer_text(&messages), why == NULL ? "" : why);
    tc_escape_end(arena, &escape);
    return device;
}

static crew crew_of(const planned *whole, const char *folder) {
    crew made = {.arena = tc_arena_new(0), .whole = whole->model};
    tc_buffer messages = tc_buffer_new(made.arena, 1 << 16);
    size_t files = 0, count = 0;
    char path[300];
    tc_status status = tc_split(made.arena, whole->model, folder, false, NULL, &messages, &files);
    if (status != TC_OK)
        fail_msg("%s: %s", folder, tc_buffer_text(&messages));
    assert_true(files >= 1 + whole->model->agent_count);
    made.agents = TC_NEW(made.arena, agent, whole->model->agent_count);
    for (size_t f = 0; f < whole->model->family_count; f++)
        for (size_t k = 0; k < whole->model->families[f].count; k++) {
            const tc_family *family = &whole->model->families[f];
            agent *one = &made.agents[count++];
            *one = (agent){.family = f,
                           .member = k,
                           .device = load_device(made.arena, path_of(folder, family, k)),
                           .x = TC_NEW(made.arena, double, family->dim),
                           .average = TC_NEW(made.arena, double, family->dim),
                           .p = TC_NEW(made.arena, double, family->dim)};
            tc_buffer name = tc_buffer_new(made.arena, 4096);
            tc_agent_name(&name, family, k);
            assert_string_equal(tc_agent_half_name(one->device), tc_buffer_text(&name));
            assert_int_equal(tc_agent_half_states(one->device), family->dim);
        }
    (void)snprintf(path, sizeof path, "%s/cloud.tacit", folder);
    made.cloud = planned_problem(path, NULL);
    assert_int_equal(made.cloud.model->role, TC_ROLE_CLOUD);
    return made;
}

static void crew_end(crew *c) {
    planned_end(&c->cloud);
    tc_arena_free(c->arena);
}

static void start(crew *c) {
    for (size_t i = 0; i < c->whole->agent_count; i++) {
        agent *one = &c->agents[i];
        assert_true(tc_agent_half_start(one->device, one->x));
        memcpy(one->average, one->x, tc_agent_half_states(one->device) * sizeof(double));
    }
}

static void expect_states(const crew *c, const tc_engine *engine, const char *name) {
    bool averages = engine->plan->method == TC_METHOD_TACIT;
    for (size_t i = 0; i < c->whole->agent_count; i++) {
        const agent *one = &c->agents[i];
        for (size_t n = 0; n < tc_agent_half_states(one->device); n++) {
            size_t at = tc_coord_of(&c->whole->families[one->family], one->member, n);
            const double *answer = averages ? one->average : one->x;
            if (!half_same(&one->x[n], &tc_engine_states(engine)[at], 1) ||
                !half_same(&answer[n], &tc_engine_result_states(engine)[at], 1))
                fail_msg("%s, method %d, placement %d: %s differs after round %llu", name, (int)engine->plan->method,
                         (int)engine->plan->placement, tc_agent_half_name(one->device),
                         (unsigned long long)tc_engine_rounds(engine));
        }
    }
}

/* A round by hand: every agent sends, the cloud answers, every agent steps. */
static void exchange(crew *c, const half_case *of, tc_cloud_half *half, uint64_t k, half_answer *answer) {
    int64_t units[64];
    double lower[64], upper[64];
    for (size_t i = 0; i < c->whole->agent_count; i++) {
        const agent *one = &c->agents[i];
        size_t states = tc_agent_half_states(one->device);
        assert_true(tc_to_lattice(one->x, states, of->plan->state_exponent, units));
        tc_agent_half_box(one->device, lower, upper);
        tc_into_box(lower, upper, states, of->plan->state_exponent, units);
        assert_int_equal(tc_cloud_half_take(half, one->family, one->member, units),
                         TC_STATE_TAKEN); /* nothing is left to move */
    }
    half_round(half, k, answer);
    double weight = tc_result_weight(of->plan->method, k);
    for (size_t i = 0; i < c->whole->agent_count; i++) {
        agent *one = &c->agents[i];
        for (size_t n = 0; n < tc_agent_half_states(one->device); n++) {
            one->p[n] = answer->p[tc_coord_of(&c->whole->families[one->family], one->member, n)];
            one->average[n] += weight * (one->x[n] - one->average[n]);
        }
        assert_true(tc_agent_half_step(one->device, of->plan->method, answer->scalars, one->p, one->x, one->x));
    }
}

static void run_apart(crew *c, planned *whole, const half_wish *wish, uint64_t rounds, const char *name) {
    half_case together, apart;
    if (!half_case_of(whole, wish, 200, &together))
        return;
    assert_true(half_case_of(&c->cloud, wish, 200, &apart));
    assert_memory_equal(apart.plan->hash, together.plan->hash, sizeof apart.plan->hash);
    tc_arena *arena = tc_arena_new(0);
    tc_engine *engine = half_engine(arena, &together, 17, TC_DRIVER_AUTO);
    tc_cloud_half *half = half_new(arena, &apart, 17, NULL, 1);
    half_answer answer = half_answer_new(arena, &apart);
    start(c);
    expect_states(c, engine, name);
    for (uint64_t k = 1; k <= rounds; k++) {
        exchange(c, &apart, half, k, &answer);
        run_to(engine, k);
        expect_states(c, engine, name);
        half_expect(&apart, half, engine, name);
    }
    tc_arena_free(arena);
}

static void parties_apart_have_the_bits_of_parties_together(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t rounds;
    } examples[] = {{"paper", 40}, {"num", 40}, {"robots", 15}, {"ev", 2}, {"lasso", 20}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, examples[i].name);
        planned whole = planned_problem(path, NULL);
        crew c = crew_of(&whole, examples[i].name);
        for (size_t w = 0; w < HALF_WISH_COUNT; w++)
            if (HALF_WISHES[w].mechanism != TC_MECHANISM_GAUSSIAN && /* parties act alike with either noise */
                (HALF_WISHES[w].method == TC_METHOD_TACIT || strcmp(examples[i].name, "lasso") != 0))
                run_apart(&c, &whole, &HALF_WISHES[w], examples[i].rounds, examples[i].name);
        crew_end(&c);
        planned_end(&whole);
    }
}

/* ---- one device ----------------------------------------------------------------------------------------------------
 */

static tc_agent_half *device_of(tc_arena *arena, const char *text) {
    put_file("own.tacit", text);
    return load_device(arena, "own.tacit");
}

static void a_device_with_kinks_takes_no_gradient_steps(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_agent_half *kinked = device_of(arena, "role agent\nagent a { state x in [-1, 2]; private minimize abs(x) }\n");
    tc_agent_half *smooth = device_of(arena, "role agent\nagent a { state x in [-1, 2]; private minimize x^2 }\n");
    const tc_answer_scalars scalars = {.step = 0.5, .regularization = 0};
    const double p = 0.25, x = 1;
    double next = 0;
    assert_true(tc_agent_half_has_kinks(kinked) && !tc_agent_half_has_kinks(smooth));
    assert_false(tc_agent_half_step(kinked, TC_METHOD_PUBLISHED, scalars, &p, &x, &next));
    assert_true(tc_agent_half_step(smooth, TC_METHOD_PUBLISHED, scalars, &p, &x, &next));
    assert_true(tc_agent_half_step(kinked, TC_METHOD_TACIT, scalars, &p, &x, &next));
    assert_true(fabs(next - 0.375) <= 1e-12); /* 1 + 0.25 + (x - 1) / 0.5 = 0 */
    put_file("own.tacit", "role agent\nagent a { state x in [-1, 2]; private minimize -abs(x) }\n");
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    tc_model *model = NULL;
    const char *why = NULL;
    assert_int_equal(tc_model_load(arena, "own.tacit", NULL, &messages, &model), TC_OK);
    assert_int_equal(tc_agent_half_new(arena, model, tc_derive(arena, model), &kinked, &why), TC_BAD_USAGE);
    assert_non_null(strstr(why, "not proved convex"));
    tc_arena_free(arena);
}

static void a_device_says_whether_the_slater_point_lies_in_its_set(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        bool has_point, holds;
    } cases[] = {
        {"", false, false},
        {"slater x = 1\n", true, true},
        {"slater x = 1\nprivate set sum(x) <= 2\n", true, true}, /* on its edge */
        {"slater x = 1\nprivate set sum(x) <= 1.99\n", true, false},
        {"slater x = 1\nprivate set norm(x) <= 1.5\nprivate set x[1] <= 1\n", true, true},
        {"slater x = 1\nprivate set x[1] >= 1.1\n", true, false},
        {"slater x = 1 within 0.25\nprivate set sum(x) <= 2.5\n", true, true}, /* so is the room around it */
        {"slater x = 1 within 0.25\nprivate set sum(x) <= 2.49\n", true, false},
        {"slater x = 1 within [0, 0.25]\nprivate set x[1] <= 1\n", true, true},
        {"slater x = 1 within [0.1, 0]\nprivate set x[1] <= 1\n", true, false},
        {"slater x = 1 within 0.1\nprivate set x[1] - x[2] == 0\n", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_arena *arena = tc_arena_new(0);
        char text[500];
        (void)snprintf(text, sizeof text,
                       "role agent\nagent a {\nstate x[2] in [0, 3]\nprivate minimize sumsq(x)\n%s}\n", cases[i].lines);
        tc_agent_half *device = device_of(arena, text);
        tc_agent_half_slater found = tc_agent_half_check_slater(device);
        if (found.has_point != cases[i].has_point || found.holds != cases[i].holds)
            fail_msg("%s: %d %d", cases[i].lines, found.has_point, found.holds);
        tc_arena_free(arena);
    }
}

static void an_answer_that_is_not_finite_is_no_step(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_agent_half *device =
        device_of(arena, "role agent\nagent a {\nstate x[2] in [0, 3]\nprivate minimize sumsq(x - 2)\n}\n");
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    const tc_answer_scalars scalars = {.step = 0.1, .regularization = 0.1};
    double x[2], next[2];
    assert_true(tc_agent_half_start(device, x));
    for (size_t i = 0; i < 3; i++) {
        const double p[2] = {0, wrong[i]};
        assert_false(tc_agent_half_step(device, TC_METHOD_PUBLISHED, scalars, p, x, next));
        assert_false(tc_agent_half_step(device, TC_METHOD_TACIT, scalars, p, x, next));
    }
    const double p[2] = {0, 1};
    assert_true(tc_agent_half_step(device, TC_METHOD_PUBLISHED, scalars, p, x, next));
    assert_true(tc_agent_half_step(device, TC_METHOD_TACIT, scalars, p, x, next));
    tc_arena_free(arena);
}

static void a_device_needs_the_file_of_one_agent(void **state) {
    (void)state;
    planned p = planned_problem("whole.tacit", "agent a {\nstate x in [0, 1]\nprivate minimize x^2\n}\n");
    tc_agent_half *device = NULL;
    const char *why = NULL;
    assert_int_equal(tc_agent_half_new(p.arena, p.model, p.derivatives, &device, &why), TC_BAD_USAGE);
    assert_null(device);
    assert_non_null(why);
    planned_end(&p);
}

static void the_lattice_is_rounded_to_as_the_cloud_does(void **state) {
    (void)state;
    const double x[] = {0.5, 1.5, 2.5, -0.5, -1.5, 0.74, -0.76, 1e9, 0x1p62, -0x1p62};
    const int64_t expected[] = {0, 2, 2, 0, -2, 1, -1, 1000000000, INT64_C(1) << 62, -(INT64_C(1) << 62)};
    int64_t units[10];
    assert_true(tc_to_lattice(x, 10, 0, units));
    assert_memory_equal(units, expected, sizeof units);
    for (int exponent = -40; exponent <= 40; exponent++) {
        double moved[8];
        for (size_t i = 0; i < 8; i++)
            moved[i] = ldexp(x[i], exponent);
        assert_true(tc_to_lattice(moved, 8, exponent, units));
        assert_memory_equal(units, expected, 8 * sizeof *units);
    }
    const double wrong[] = {NAN, INFINITY, -INFINITY, 0x1.0000000000001p62, -0x1.0000000000001p62};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double two[2] = {1, wrong[i]};
        assert_false(tc_to_lattice(two, 2, 0, units));
    }
}

static void bounds_that_are_no_lattice_points_have_the_nearest_ones_inside(void **state) {
    (void)state;
    const double lower[] = {0.1, 0.1, 0.1, -0.55, 3, 0.3}, upper[] = {0.55, 0.55, 0.55, -0.1, 3, 0.4};
    int64_t units[] = {104857, 576717, 300000, -576717, 7, 12}; /* of 2^-20, but for the last two */
    const int64_t expected[] = {104858, 576716, 300000, -576716};
    tc_into_box(lower, upper, 4, -20, units);
    assert_memory_equal(units, expected, sizeof expected);
    tc_into_box(lower + 4, upper + 4, 2, 0, units + 4);
    assert_int_equal(units[4], 3);
    assert_int_equal(units[5], 12); /* no lattice point at all lies in this one */
    const double far = 0x1p1000;
    int64_t largest = INT64_MAX;
    tc_into_box(&(double){-far}, &far, 1, 0, &largest);
    assert_true(largest == INT64_MAX);
}

static void answers_are_averages_with_growing_weights_in_the_method_tacit(void **state) {
    (void)state;
    double average = 17, sum = 0, weights = 0;
    for (uint64_t k = 1; k <= 20; k++) { /* of x(k) = k^2, weights k (k+1) */
        double number = (double)k;
        average += tc_result_weight(TC_METHOD_TACIT, k) * (number * number - average);
        sum += number * (number + 1) * number * number;
        weights += number * (number + 1);
        assert_true(fabs(average - sum / weights) < 1e-12 * average);
    }
    assert_true(tc_result_weight(TC_METHOD_PUBLISHED, 5) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parties_apart_have_the_bits_of_parties_together),
        cmocka_unit_test(a_device_with_kinks_takes_no_gradient_steps),
        cmocka_unit_test(a_device_says_whether_the_slater_point_lies_in_its_set),
        cmocka_unit_test(an_answer_that_is_not_finite_is_no_step),
        cmocka_unit_test(a_device_needs_the_file_of_one_agent),
        cmocka_unit_test(the_lattice_is_rounded_to_as_the_cloud_does),
        cmocka_unit_test(bounds_that_are_no_lattice_points_have_the_nearest_ones_inside),
        cmocka_unit_test(answers_are_averages_with_growing_weights_in_the_method_tacit),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
