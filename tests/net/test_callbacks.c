/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
/* Agents that are functions of their device's maker: the same steps as the file that says the same. */
#include "net/keys.h"

#include "net/agent/agent.h"
#include "support/random.h"

#include <math.h>

enum { DIM = 2, TRIES = 60 };

/* ---- The same agents twice: as text, and as functions ---- */

typedef struct agent_case {
    const char *text;
    bool (*gradient)(void *context, const double *x, double *g);
    bool (*project)(void *context, double *v);
} agent_case;

static unsigned long gradients; /* asked for */

static bool clip(void *context, double *v) {
    (void)context;
    for (size_t i = 0; i < DIM; i++)
        v[i] = fmax(-10, fmin(10, v[i]));
    return true;
}

static bool into_disc(void *context, double *v) { /* |v - (1, 2)| <= 3, within the box */
    (void)context;
    double a = v[0] - 1, b = v[1] - 2, far = hypot(a, b);
    if (far > 3) {
        v[0] = 1 + 3 * a / far;
        v[1] = 2 + 3 * b / far;
    }
    return true;
}

static bool linear(void *context, const double *x, double *g) {
    (void)context;
    (void)x;
    gradients++;
    g[0] = 1;
    g[1] = -2;
    return true;
}

static bool square(void *context, const double *x, double *g) {
    (void)context;
    gradients++;
    g[0] = 2 * (x[0] - 4);
    g[1] = 2 * (x[1] + 20);
    return true;
}

static bool crooked(void *context, const double *x, double *g) { /* curvatures 2000 and 0.02 */
    (void)context;
    gradients++;
    g[0] = 2000 * (x[0] - 3);
    g[1] = 0.02 * (x[1] + 2);
    return true;
}

static bool steep(void *context, const double *x, double *g) {
    (void)context;
    gradients++;
    g[0] = 4 * pow(x[0] - 1, 3);
    g[1] = exp(x[1]);
    return true;
}

static bool coupled(void *context, const double *x, double *g) {
    (void)context;
    gradients++;
    double sum = x[0] + 2 * x[1] - 3, difference = pow(x[0] - x[1], 3);
    g[0] = 2 * sum + 4 * difference;
    g[1] = 4 * sum - 4 * difference;
    return true;
}

#define AGENT(objective, more)                                                                                         \
    "role agent\nagent a {\n  state x[2] in [-10, 10]\n  private minimize " objective "\n" more "}\n"
#define DISC "  private set norm(x - [1, 2]) <= 3\n"

static const agent_case cases[] = {
    {AGENT("x[1] - 2 * x[2]", ""), linear, clip},
    {AGENT("(x[1] - 4)^2 + (x[2] + 20)^2", ""), square, clip},
    {AGENT("(x[1] - 4)^2 + (x[2] + 20)^2", DISC), square, into_disc},
    {AGENT("1000 * (x[1] - 3)^2 + 0.01 * (x[2] + 2)^2", ""), crooked, clip},
    {AGENT("1000 * (x[1] - 3)^2 + 0.01 * (x[2] + 2)^2", DISC), crooked, into_disc},
    {AGENT("(x[1] - 1)^4 + exp(x[2])", ""), steep, clip},
    {AGENT("(x[1] - 1)^4 + exp(x[2])", DISC), steep, into_disc},
    {AGENT("(x[1] + 2 * x[2] - 3)^2 + (x[1] - x[2])^4", ""), coupled, clip},
    {AGENT("(x[1] + 2 * x[2] - 3)^2 + (x[1] - x[2])^4", DISC), coupled, into_disc},
};

static const double LOWER[DIM] = {-10, -10}, UPPER[DIM] = {10, 10};

static tc_agent_steps compiled(keys *k, const char *text) {
    const char *path = keys_path(k, "a.tacit");
    FILE *file = fopen(path, "w");
    tc_agent_steps steps;
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    tc_status status = tc_agent_compile(k->arena, path, NULL, &k->messages, &steps);
    if (status != TC_OK)
        print_message("%s\n", tc_buffer_text(&k->messages));
    assert_int_equal(status, TC_OK);
    return steps;
}

static tc_agent_callbacks callbacks_of(const agent_case *c) {
    return (tc_agent_callbacks){.name = "a",
                                .states = DIM,
                                .lower = LOWER,
                                .upper = UPPER,
                                .functions = {.gradient = c->gradient, .project = c->project}};
}

static tc_agent_steps called(keys *k, const agent_case *c) {
    tc_agent_callbacks callbacks = callbacks_of(c);
    tc_agent_steps steps;
    assert_int_equal(tc_agent_call(k->arena, &callbacks, &k->messages, &steps), TC_OK);
    return steps;
}

/* Over many answers from points of the set: how far the two ways are apart at most. */
static double most_apart(keys *k, const agent_case *c, tc_wire_method method, unsigned long *most_gradients) {
    tc_agent_steps file = compiled(k, c->text), functions = called(k, c);
    uint64_t seed = 7;
    double apart = 0;
    *most_gradients = 0;
    for (int i = 0; i < TRIES; i++) {
        AT_CASE(i);
        double p[DIM], x[DIM], one[DIM], other[DIM];
        for (size_t j = 0; j < DIM; j++) {
            p[j] = uniform(&seed, -30, 30);
            x[j] = uniform(&seed, -10, 10);
        }
        assert_true(c->project(NULL, x));
        double size = method == TC_WIRE_TACIT ? uniform(&seed, -3, 3) : -4; /* a step of 0.001 to 1000 */
        tc_agent_answer answer = {
            .method = method, .p = p, .step = pow(10, size), .regularization = i % 3 == 0 ? 0 : uniform(&seed, 0, 1)};
        assert_int_equal(file.step(file.context, &answer, x, one), TC_STEPPED);
        unsigned long before = gradients;
        assert_int_equal(functions.step(functions.context, &answer, x, other), TC_STEPPED);
        *most_gradients = gradients - before > *most_gradients ? gradients - before : *most_gradients;
        for (size_t j = 0; j < DIM; j++)
            apart = fmax(apart, fabs(one[j] - other[j]));
    }
    return apart;
}

static void proximal_steps_agree_with_the_compiled_ones_to_a_ten_billionth_of_the_box(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        keys k = keys_begin();
        unsigned long most;
        double apart = most_apart(&k, &cases[i], TC_WIRE_TACIT, &most);
        if (!(apart <= 1.2e-10 * 20))
            print_message("case %zu: %g apart, %lu gradients\n", i, apart, most);
        assert_true(apart <= 1.2e-10 * 20);
        assert_true(most < 20000);
        keys_end(&k);
    }
}

static void gradient_steps_agree_with_the_compiled_ones_up_to_rounding(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        keys k = keys_begin();
        unsigned long most;
        assert_true(most_apart(&k, &cases[i], TC_WIRE_PUBLISHED, &most) <= 1e-12 * 20);
        assert_int_equal(most, 1);
        keys_end(&k);
    }
}

static void both_start_in_the_middle_of_the_box_projected(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        keys k = keys_begin();
        double one[DIM], other[DIM];
        tc_agent_steps file = compiled(&k, cases[i].text), functions = called(&k, &cases[i]);
        assert_true(file.start(file.context, one) && functions.start(functions.context, other));
        for (size_t j = 0; j < DIM; j++)
            assert_true(fabs(one[j] - other[j]) <= 1e-12);
        keys_end(&k);
    }
}

static void a_start_of_ones_own_is_projected(void **state) {
    (void)state;
    keys k = keys_begin();
    static const double far[DIM] = {50, -3};
    double x[DIM];
    tc_agent_callbacks callbacks = callbacks_of(&cases[0]);
    tc_agent_steps steps;
    callbacks.start = far;
    callbacks.slater = TC_SLATER_NO;
    assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &steps), TC_OK);
    assert_true(steps.start(steps.context, x));
    assert_true(x[0] == 10 && x[1] == -3);
    assert_int_equal(steps.check_slater(steps.context), TC_SLATER_NO);
    keys_end(&k);
}

/* ---- Functions that fail ---- */

static bool no_gradient(void *context, const double *x, double *g) {
    (void)context;
    (void)x;
    (void)g;
    return false;
}

static bool not_a_number(void *context, const double *x, double *g) {
    (void)context;
    (void)x;
    g[0] = g[1] = NAN;
    return true;
}

static bool cannot_project(void *context, double *v) {
    (void)context;
    (void)v;
    return false;
}

/* Not the gradient of anything: slopes jump at every step. */
static bool jumping(void *context, const double *x, double *g) {
    (void)context;
    static double sign = 1;
    sign = -sign;
    gradients++;
    g[0] = 1e6 * sign + x[0];
    g[1] = 0;
    return true;
}

static void functions_that_fail_or_are_not_finite_end_the_step(void **state) {
    (void)state;
    const agent_case bad[] = {{NULL, no_gradient, clip}, {NULL, not_a_number, clip}, {NULL, square, cannot_project}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (int method = 1; method <= 2; method++) {
            keys k = keys_begin();
            tc_agent_steps steps = called(&k, &bad[i]);
            const double p[DIM] = {0}, x[DIM] = {0};
            double next[DIM];
            tc_agent_answer answer = {
                .method = method == 1 ? TC_WIRE_PUBLISHED : TC_WIRE_TACIT, .p = p, .step = 1, .regularization = 0.1};
            assert_int_equal(steps.step(steps.context, &answer, x, next), i == 1 ? TC_STEP_NOT_FINITE : TC_STEP_FAILED);
            keys_end(&k);
        }
}

static void a_gradient_that_is_none_is_not_asked_for_ever(void **state) {
    (void)state;
    keys k = keys_begin();
    const agent_case odd = {NULL, jumping, clip};
    tc_agent_steps steps = called(&k, &odd);
    const double p[DIM] = {0}, x[DIM] = {0};
    double next[DIM];
    gradients = 0;
    tc_agent_answer answer = {.method = TC_WIRE_TACIT, .p = p, .step = 1, .regularization = 0.1};
    assert_int_equal(steps.step(steps.context, &answer, x, next), TC_STEPPED);
    assert_true(gradients <= 20001);
    assert_true(fabs(next[0]) <= 10 && fabs(next[1]) <= 10);
    keys_end(&k);
}

static bool own_proximal(void *context, const double *p, double step, double regularization, const double *from,
                         double *next) {
    (void)context;
    for (size_t i = 0; i < DIM; i++)
        next[i] = p[i] + step + regularization + from[i];
    return true;
}

static void a_minimiser_of_ones_own_is_asked_instead(void **state) {
    (void)state;
    keys k = keys_begin();
    tc_agent_callbacks callbacks = callbacks_of(&cases[0]);
    tc_agent_steps steps;
    const double p[DIM] = {1, 2}, x[DIM] = {100, 200};
    double next[DIM];
    callbacks.proximal = own_proximal;
    assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &steps), TC_OK);
    tc_agent_answer answer = {.method = TC_WIRE_TACIT, .p = p, .step = 0.5, .regularization = 0.25};
    assert_int_equal(steps.step(steps.context, &answer, x, next), TC_STEPPED);
    assert_true(next[0] == 101.75 && next[1] == 202.75);
    keys_end(&k);
}

static double steps_seen[DIM];

/* The minimiser of `square` in the box, with a step for each state. */
static bool own_by_state(void *context, const double *p, const double *steps, double regularization, const double *from,
                         double *next) {
    static const double wanted[DIM] = {4, -20};
    (void)context;
    for (size_t i = 0; i < DIM; i++) {
        steps_seen[i] = steps[i];
        next[i] = (2 * wanted[i] - p[i] + from[i] / steps[i]) / (2 + regularization + 1 / steps[i]);
        next[i] = fmax(-10, fmin(10, next[i]));
    }
    return true;
}

static void a_minimiser_by_state_gets_the_scaled_steps(void **state) {
    (void)state;
    keys k = keys_begin();
    static const agent_case squares = {NULL, square, clip};
    static const int8_t uneven[DIM] = {2, -1}, even[DIM] = {1, 1};
    const double p[DIM] = {1, -30}, x[DIM] = {-3, 5};
    const tc_agent_answer answer = {.method = TC_WIRE_TACIT, .p = p, .step = 0.5, .regularization = 0.25};
    tc_agent_callbacks callbacks = callbacks_of(&squares);
    tc_agent_steps own, both, library, alone;
    double next[DIM], expected[DIM];
    assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &library), TC_OK);
    callbacks.proximal_by_state = own_by_state;
    assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &own), TC_OK);
    callbacks.proximal = own_proximal;
    assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &both), TC_OK);
    callbacks.proximal_by_state = NULL;
    assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &alone), TC_OK);

    assert_null(
        library.scale(library.context, uneven)); /* steps 8 and 0.125: as the library's own minimiser has them */
    assert_null(own.scale(own.context, uneven));
    assert_int_equal(library.step(library.context, &answer, x, expected), TC_STEPPED);
    assert_int_equal(own.step(own.context, &answer, x, next), TC_STEPPED);
    assert_true(steps_seen[0] == 8 && steps_seen[1] == 0.125);
    for (size_t i = 0; i < DIM; i++)
        assert_true(fabs(next[i] - expected[i]) <= 1e-8);

    assert_null(both.scale(both.context, uneven)); /* asked only where steps differ, or where there is no other */
    steps_seen[0] = 0;
    assert_int_equal(both.step(both.context, &answer, x, next), TC_STEPPED);
    assert_true(steps_seen[0] == 8);
    assert_null(both.scale(both.context, even));
    steps_seen[0] = 0;
    assert_int_equal(both.step(both.context, &answer, x, next), TC_STEPPED);
    assert_true(steps_seen[0] == 0 && next[0] == 1 + 2 + 0.25 - 3);
    assert_null(own.scale(own.context, NULL));
    assert_int_equal(own.step(own.context, &answer, x, next), TC_STEPPED);
    assert_true(steps_seen[0] == 0.5 && steps_seen[1] == 0.5);

    assert_null(alone.scale(alone.context, even));
    assert_non_null(strstr(alone.scale(alone.context, uneven), "needs proximal_by_state"));
    keys_end(&k);
}

static bool anywhere(void *context, double *v) {
    (void)context;
    (void)v;
    return true;
}

/* As the language has it for a file that names no start. */
static void without_a_start_it_is_zero_or_the_nearest_point_of_the_box(void **state) {
    (void)state;
    static const double lower[][DIM] = {{-3, -1}, {2, 3}, {-9, 1}}, upper[][DIM] = {{4, 9}, {5, 4}, {-7, 6}},
                        expected[][DIM] = {{0, 0}, {2, 3}, {-7, 1}};
    for (size_t i = 0; i < sizeof lower / sizeof lower[0]; i++) {
        keys k = keys_begin();
        tc_agent_steps functions, file;
        double x[DIM], y[DIM];
        tc_agent_callbacks callbacks = callbacks_of(&cases[0]);
        callbacks.functions.project = anywhere;
        callbacks.lower = lower[i];
        callbacks.upper = upper[i];
        callbacks.start = NULL;
        assert_int_equal(tc_agent_call(k.arena, &callbacks, &k.messages, &functions), TC_OK);
        assert_true(functions.start(functions.context, x));
        const char *path = keys_path(&k, "a.tacit");
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        assert_true(fprintf(out,
                            "role agent\nagent a {\n  state x in [%g, %g]\n  state y in [%g, %g]\n"
                            "  private minimize x^2 + y^2\n}\n",
                            lower[i][0], upper[i][0], lower[i][1], upper[i][1]) > 0);
        assert_int_equal(fclose(out), 0);
        if (tc_agent_compile(k.arena, path, NULL, &k.messages, &file) != TC_OK)
            fail_msg("%s", tc_buffer_text(&k.messages));
        assert_true(file.start(file.context, y));
        assert_memory_equal(x, expected[i], sizeof x);
        assert_memory_equal(y, expected[i], sizeof y);
        keys_end(&k);
    }
}

static void what_is_missing_is_said(void **state) {
    (void)state;
    keys k = keys_begin();
    static const double upside_down[DIM] = {-20, 10}, endless[DIM] = {INFINITY, 10};
    const tc_agent_callbacks good = callbacks_of(&cases[0]);
    tc_agent_callbacks bad[7];
    for (size_t i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].name = NULL;
    bad[1].states = 0;
    bad[2].functions.gradient = NULL;
    bad[3].functions.project = NULL;
    bad[4].lower = NULL;
    bad[5].upper = upside_down;
    bad[6].upper = endless;
    for (size_t i = 0; i < 7; i++) {
        tc_agent_steps steps;
        k.messages.length = 0;
        assert_int_equal(tc_agent_call(k.arena, &bad[i], &k.messages, &steps), TC_BAD_USAGE);
        assert_true(k.messages.length > 0);
    }
    keys_end(&k);
}

static void only_the_file_of_one_agent_is_an_agent(void **state) {
    (void)state;
    keys k = keys_begin();
    tc_agent_steps steps;
    assert_int_equal(tc_agent_compile(k.arena, TACIT_SOURCE_DIR "/examples/paper.tacit", NULL, &k.messages, &steps),
                     TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&k.messages), "tacit split"));
    keys_end(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proximal_steps_agree_with_the_compiled_ones_to_a_ten_billionth_of_the_box),
        cmocka_unit_test(gradient_steps_agree_with_the_compiled_ones_up_to_rounding),
        cmocka_unit_test(both_start_in_the_middle_of_the_box_projected),
        cmocka_unit_test(a_start_of_ones_own_is_projected),
        cmocka_unit_test(functions_that_fail_or_are_not_finite_end_the_step),
        cmocka_unit_test(a_gradient_that_is_none_is_not_asked_for_ever),
        cmocka_unit_test(a_minimiser_of_ones_own_is_asked_instead),
        cmocka_unit_test(a_minimiser_by_state_gets_the_scaled_steps),
        cmocka_unit_test(without_a_start_it_is_zero_or_the_nearest_point_of_the_box),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(only_the_file_of_one_agent_is_an_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
