#include "reference/reference.h"
#include "model/model.h"
#include "support/cmocka.h"

static const tc_reference *solve(tc_arena *arena, const char *name) {
    tc_model *model;
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    const char *path = tc_arena_format(arena, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, name);
    if (tc_model_load(arena, path, NULL, &messages, &model) != TC_OK)
        fail_msg("%s", tc_buffer_text(&messages));
    return tc_reference_solve(arena, model, tc_derive(arena, model), 1e-8, 1, NULL);
}

static void the_papers_example_has_the_published_norms(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    const tc_reference *found = solve(arena, "paper");
    assert_int_equal(found->outcome, TC_SOLVED);
    assert_true(found->residual <= 1e-8);
    assert_true(fabs(found->norm_x - 13.19) < 0.005);
    assert_true(fabs(found->norm_mu - 2.169) < 0.0005);
    tc_arena_free(arena);
}

static void the_other_examples_are_solved(void **state) {
    (void)state;
    static const char *const names[] = {"num", "robots", "ev", "lasso"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        const tc_reference *found = solve(arena, names[i]);
        assert_int_equal(found->outcome, TC_SOLVED);
        assert_true(found->residual <= 1e-8 && found->max_violation <= 1e-9);
        tc_arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_papers_example_has_the_published_norms),
        cmocka_unit_test(the_other_examples_are_solved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
