/* Least-norm solutions of problems whose parts differ in scale by many orders of magnitude, worked out by hand. */
#include "reference/reference.h"
#include "solver/problem.h"
#include "support/cmocka.h"

static void near_to(const char *text, const char *what, const double *found, const double *wanted, size_t count) {
    double size = 0;
    for (size_t i = 0; i < count; i++)
        size = fmax(size, fabs(wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(found[i] - wanted[i]) <= 1e-6 * size + 1e-12))
            fail_msg("%s\n%s[%zu] is %.12g, not %.12g", text, what, i, found[i], wanted[i]);
}

static void expect(const char *text, const double *x, const double *mu) {
    problem p = problem_of(text);
    const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, 1e-8, 1, NULL);
    assert_int_equal(found->outcome, TC_SOLVED);
    near_to(text, "x", found->x, x, p.model->state_count);
    near_to(text, "mu", found->mu, mu, mu == NULL ? 0 : p.model->constraint_count);
    assert_true(found->error_x <= 1e-6 * (1 + found->norm_x));
    assert_true(found->error_mu <= 1e-6 * (1 + found->norm_mu));
    problem_free(&p);
}

static void an_agent_apart_does_not_change_how_multipliers_are_shared(void **state) {
    (void)state;
    const char *const others[] = {"state x in [0, 1]; private minimize -x", "state x in [0, 1e3]; private minimize -x",
                                  "state x in [0, 1]; private minimize -1e6 * x",
                                  "state x in [0, 1]; private minimize -1e-6 * x"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "agent a { state x in [0, 1]; private minimize -x }\nagent b { %s }\n"
                       "constraint c: a.x <= 0.5\nconstraint d: 2 * a.x <= 1\n",
                       others[i]);
        expect(text, (double[]){0.5, i == 1 ? 1e3 : 1}, (double[]){0.2, 0.4});
    }
    expect("agent a { state x in [0, 4]; private minimize -5e-5 * x }\n"
           "agent b { state x in [0, 4]; private minimize -2e4 * x }\n"
           "constraint c: 2.5e-6 * a.x <= 5e-6\nconstraint d: 5e-6 * a.x <= 1e-5\n",
           (double[]){2, 4}, (double[]){4, 8});
}

static void an_agent_in_the_same_constraint_does_not_either(void **state) {
    (void)state;
    expect("agent a { state x in [0, 1]; private minimize -x }\n"
           "agent b { state x in [0, 1]; private minimize 1e6 * x }\n"
           "constraint c: a.x + b.x <= 0.5\nconstraint d: 2 * a.x + b.x <= 1\n",
           (double[]){0.5, 0}, (double[]){0.2, 0.4});
}

static void agents_without_constraints_have_scales_of_their_own(void **state) {
    (void)state;
    expect("agent a { state x in [0, 1]; private minimize -2e-5 * x }\n"
           "agent b { state x in [0, 1]; private minimize 4e5 * x }\n",
           (double[]){1, 0}, NULL);
    expect("agent a { state x[2] in [0, 1e-3]; private minimize -1e-9 * (x[1] + x[2]); private set sum(x) <= 1e-3 }\n"
           "agent b { state x[2] in [0, 1e5]; private minimize -1e9 * (x[1] + x[2]); private set sum(x) <= 1e5 }\n",
           (double[]){5e-4, 5e-4, 5e4, 5e4}, NULL);
}

static void the_least_norm_is_that_of_the_states_in_their_own_units(void **state) {
    (void)state;
    /* powers of two: rounding in the data would be seen in a.x */
    expect("agent a { state x in [0, 2^20]; private minimize -2^(-20) * x }\n"
           "agent b { state x in [0, 2^(-20)]; private minimize -2^20 * x }\n"
           "constraint c: 2^(-20) * a.x + 2^20 * b.x <= 1\n",
           (double[]){0, 0x1p-20}, (double[]){1});
}

static void weak_objectives_count_beside_strong_ones(void **state) {
    (void)state;
    expect("agent a { state x in [-2, 2]; private minimize -7500 * x }\n"
           "constraint c: 2.5e-6 * a.x <= 6.25e-7\n"
           "constraint d: 42000 * a.x <= 84000\n"
           "constraint e: 4e-5 * a.x <= 2e-5\n",
           (double[]){0.25}, (double[]){3e9, 0, 0});
    expect("agent a { state x in [0, 1]; private minimize -2e-5 * x }\n"
           "agent b { state x in [0, 1]; private minimize 4e5 * x }\n"
           "constraint c: a.x - b.x <= 0.5\n",
           (double[]){0.5, 0}, (double[]){2e-5});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_apart_does_not_change_how_multipliers_are_shared),
        cmocka_unit_test(an_agent_in_the_same_constraint_does_not_either),
        cmocka_unit_test(agents_without_constraints_have_scales_of_their_own),
        cmocka_unit_test(the_least_norm_is_that_of_the_states_in_their_own_units),
        cmocka_unit_test(weak_objectives_count_beside_strong_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
