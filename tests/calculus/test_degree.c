#include "calculus/derivatives.h"
#include "model/model.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static bool is_quadratic(const char *constraints) {
    tc_arena *arena = tc_arena_new(0);
    tc_escape escape;
    if (TC_TRY(arena, &escape) != TC_OK)
        fail_msg("raised");
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    char text[1000];
    int length = snprintf(text, sizeof text,
                          "agent a { state x[2] in [1, 2]; private minimize x[1] }\n"
                          "agents b[i in 1..3] { state y[2] in [1, 2]; private minimize exp(y[1]) }\n%s\n",
                          constraints);
    tc_model *model = NULL;
    if (tc_model_parse(arena, "degree.tacit", text, (size_t)length, NULL, &messages, &model) != TC_OK)
        fail_msg("%s\n%s", text, tc_buffer_text(&messages));
    bool result = tc_constraints_are_quadratic(arena, model, tc_derive(arena, model));
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return result;
}

static void affine_and_quadratic_constraints_are_seen(void **state) {
    (void)state;
    static const char *const quadratic[] = {
        "constraint c: a.x[1] <= 9",
        "constraint c: exp(2) * a.x[1] <= 9",
        "constraint c: 3 * a.x[1]^2 + a.x[2] <= 9",
        "constraint c: a.x[1] * a.x[2] <= 9",
        "constraint c: sum(b: y[1] * y[2] - y[1]^2) <= 9",
        "constraint c: sum(b: y[1])^2 <= 9",
        "constraint c: sum(b: y[1]) * a.x[1] <= 9",
        "constraint c: sum(b: y[1]) * sum(b: y[2]) <= 9",
        "constraint c: sumsq(sum(b: y) / 3) <= 9",
        "constraint c: a.x[1]^2 + sum(b: y[1]^2) / 7 <= 9\nconstraint d: b[1].y[1] <= 9",
    };
    for (size_t i = 0; i < sizeof quadratic / sizeof *quadratic; i++)
        if (!is_quadratic(quadratic[i]))
            fail_msg("%s", quadratic[i]);
}

static void one_constraint_of_another_kind_is_enough(void **state) {
    (void)state;
    static const char *const curved[] = {
        "constraint c: a.x[1]^3 <= 9",
        "constraint c: exp(a.x[1]) <= 9",
        "constraint c: 1 / a.x[1] <= 9",
        "constraint c: norm(a.x) + a.x[1] <= 9",
        "constraint c: huber(a.x[1], 1.5) <= 9", /* quadratic in pieces */
        "constraint c: sum(b: y[1]^4) <= 9",
        "constraint c: sum(b: y[1]^2 * y[2]) <= 9",
        "constraint c: sum(b: y[1]^2)^2 <= 99", /* a quadratic function of quadratic sums */
        "constraint c: sum(b: y[1]^2) * a.x[1] <= 99",
        "constraint c: sum(b: y[1]) * a.x[1] * a.x[2] <= 99",
        "constraint c: log(sum(b: y[1])) <= 9",
        "constraint c: a.x[1] <= 9\nconstraint d: sum(b: exp(y[1])) <= 99",
    };
    for (size_t i = 0; i < sizeof curved / sizeof *curved; i++)
        if (is_quadratic(curved[i]))
            fail_msg("%s", curved[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine_and_quadratic_constraints_are_seen),
        cmocka_unit_test(one_constraint_of_another_kind_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
