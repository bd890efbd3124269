/* What bounded noise costs, against the exact sum over all that can be released, on small lattices. */
#include "plan/account/account.h"
#include "support/cmocka.h"

#include <stdlib.h>

/* P(|W| >= k) of noise of scale s on the integers, before it is bounded. */
static double tail_from(bool gaussian, double s, double k) {
    if (k <= 0)
        return 1;
    return gaussian ? erfc((k - 0.5) / (s * sqrt(2))) : exp(-(k - 0.5) / s);
}

static double probability(bool gaussian, double s, int bound, int value) {
    if (abs(value) > bound)
        return 0;
    double both = tail_from(gaussian, s, abs(value)) - tail_from(gaussian, s, abs(value) + 1);
    return both / (value == 0 ? 1 : 2) / (1 - tail_from(gaussian, s, bound + 1));
}

enum { ROWS = 2 };

/* The least delta for this epsilon, of two worlds whose released rows are moved by `shift` steps. */
static double exact_delta(bool gaussian, double s, int bound, const int shift[ROWS], double epsilon) {
    double delta = 0;
    for (int a = -bound; a <= bound; a++)
        for (int b = -bound; b <= bound; b++) {
            double here = probability(gaussian, s, bound, a) * probability(gaussian, s, bound, b);
            double there =
                probability(gaussian, s, bound, a - shift[0]) * probability(gaussian, s, bound, b - shift[1]);
            delta += fmax(0, here - exp(epsilon) * there);
        }
    return delta;
}

/* All shifts that cost at most `amount`: the promise holds for each, at the amount and above. */
static void check(bool gaussian, double s, double amount, double cut) {
    int bound = (int)ceil(cut * s), most = (int)floor(amount * s);
    tc_mechanism mechanism = gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE;
    double promised = tc_bounded_delta(mechanism, amount, ROWS, cut), worst = 0;
    for (int first = -most; first <= most; first++)
        for (int second = 0; second <= most; second++) {
            const int shift[ROWS] = {first, second};
            double size = gaussian ? hypot(first, second) / s : (abs(first) + second) / s;
            if (size > amount)
                continue;
            for (int e = 0; e < 3; e++) {
                double epsilon = gaussian ? 0.2 + 0.8 * e : amount * (1 + 0.5 * e);
                double whole = gaussian ? promised + tc_gaussian_delta(epsilon, amount).hi / TC_LEAST_KEPT : promised;
                double found = exact_delta(gaussian, s, bound, shift, epsilon);
                assert_true(found <= whole * (1 + 1e-9));
                worst = fmax(worst, found / whole);
            }
        }
    print_message("%s, scale %g, amount %.3g, cut %g: at most %.3g of what is promised\n",
                  gaussian ? "Gaussian" : "Laplace", s, amount, cut, worst);
    assert_true(worst > (gaussian ? 0.03 : 0.5)); /* the account is not far from the truth */
}

static void no_release_costs_more_than_is_promised(void **state) {
    (void)state;
    check(false, 8, 0.5, 3);
    check(false, 8, 1, 5);
    check(false, 5, 2, 4);
    check(false, 20, 0.25, 1);
    check(true, 6, 0.5, 4);
    check(true, 6, 1, 4);
    check(true, 4, 2, 4.5);
}

static void cuts_keep_their_delta_and_are_the_least(void **state) {
    (void)state;
    for (int gaussian = 0; gaussian < 2; gaussian++)
        for (double amount = 0.01; amount < 5; amount *= 2.3)
            for (double delta = 1e-12; delta < 1e-2; delta *= 100)
                for (double rows = 1; rows < 1e4; rows *= 30) {
                    tc_mechanism mechanism = gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE;
                    double cut = tc_bounded_cut(mechanism, amount, rows, delta);
                    assert_true(tc_bounded_delta(mechanism, amount, rows, cut) <= delta);
                    assert_true(cut == TC_LEAST_CUT ||
                                tc_bounded_delta(mechanism, amount, rows, cut - 1.0 / 64) > delta);
                }
}

/* Laplace: ln(1 + (e^epsilon - 1) / (2 delta)) scales, whatever the number of rows. */
static void known_cuts(void **state) {
    (void)state;
    for (double rows = 1; rows < 100; rows += 33) {
        double cut = tc_bounded_cut(TC_MECHANISM_LAPLACE, 1, rows, 1e-6);
        assert_true(cut >= log(1 + expm1(1) / 2e-6) && cut <= log(1 + expm1(1) / 2e-6) + 1.0 / 64);
    }
    assert_true(isinf(tc_bounded_delta(TC_MECHANISM_LAPLACE, 1, 1, 0.99)));
    assert_true(isinf(tc_bounded_delta(TC_MECHANISM_LAPLACE, NAN, 1, 3)));
    assert_true(isinf(tc_bounded_delta(TC_MECHANISM_GAUSSIAN, 1, 1, 3))); /* keeps less than 1 - 2^-10 */
    assert_true(isinf(tc_bounded_cut(TC_MECHANISM_LAPLACE, 1000, 1, 1e-6)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_release_costs_more_than_is_promised),
        cmocka_unit_test(cuts_keep_their_delta_and_are_the_least),
        cmocka_unit_test(known_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
