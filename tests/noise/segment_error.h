/* An upper bound of |polynomial - function| on a whole segment, not only at points, with MPFR.
 *
 * The function's Taylor series at the segment's middle, cut after TERMS, is compared with the polynomial; their
 * difference, in Chebyshev polynomials on the segment, is at most the sum of its coefficients' magnitudes. What was cut
 * off is bounded by the next derivative at the segment's lower end, where the derivatives of both functions are
 * largest: those of ln x are (n-1)! / x^n, and those of the quantile are P_n(x) / (2 phi(x))^n with P_n >= 0 growing in
 * x. */
#ifndef TC_TESTS_NOISE_SEGMENT_ERROR_H
#define TC_TESTS_NOISE_SEGMENT_ERROR_H

#include "support/cmocka.h"

#include <math.h>
#include <mpfr.h>

enum { BITS = 320, TERMS = 24 };

typedef mpfr_t series[TERMS];

static inline void series_init(series s) {
    for (int i = 0; i < TERMS; i++)
        mpfr_init2(s[i], BITS);
}

static inline void series_clear(series s) {
    for (int i = 0; i < TERMS; i++)
        mpfr_clear(s[i]);
}

/* Coefficients of ln(at + width t) in t. */
static inline void expand_log(series s, const mpfr_t at, const mpfr_t width) {
    mpfr_t ratio, power;
    mpfr_inits2(BITS, ratio, power, (mpfr_ptr)NULL);
    mpfr_div(ratio, width, at, MPFR_RNDN);
    mpfr_set(power, ratio, MPFR_RNDN);
    mpfr_log(s[0], at, MPFR_RNDN);
    for (int i = 1; i < TERMS; i++) {
        mpfr_div_si(s[i], power, i % 2 == 1 ? i : -i, MPFR_RNDN);
        mpfr_mul(power, power, ratio, MPFR_RNDN);
    }
    mpfr_clears(ratio, power, (mpfr_ptr)NULL);
}

/* erfc(x / sqrt 2) */
static inline void tail(mpfr_t result, const mpfr_t x) {
    mpfr_t root;
    mpfr_init2(root, BITS);
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_div(result, x, root, MPFR_RNDN);
    mpfr_erfc(result, result, MPFR_RNDN);
    mpfr_clear(root);
}

/* g = 1 / (2 phi(x)) = sqrt(pi / 2) exp(x^2 / 2) */
static inline void inverse_density(mpfr_t g, const mpfr_t x) {
    mpfr_t root;
    mpfr_init2(root, BITS);
    mpfr_const_pi(root, MPFR_RNDN);
    mpfr_div_2ui(root, root, 1, MPFR_RNDN);
    mpfr_sqrt(root, root, MPFR_RNDN);
    mpfr_sqr(g, x, MPFR_RNDN);
    mpfr_div_2ui(g, g, 1, MPFR_RNDN);
    mpfr_exp(g, g, MPFR_RNDN);
    mpfr_mul(g, g, root, MPFR_RNDN);
    mpfr_clear(root);
}

/* The x of a tail: Newton from a bisection in few bits, then a proof that the truth is within 2^-280 of it. */
static inline void quantile(mpfr_t x, const mpfr_t of) {
    mpfr_t low, high, value, slope;
    mpfr_inits2(BITS, low, high, value, slope, (mpfr_ptr)NULL);
    double below = 0, above = 8;
    for (int i = 0; i < 50; i++) {
        double between = (below + above) / 2;
        *(erfc(between * sqrt(0.5)) > mpfr_get_d(of, MPFR_RNDN) ? &below : &above) = between;
    }
    mpfr_set_d(x, below, MPFR_RNDN);
    for (int i = 0; i < 5; i++) { /* x + (tail(x) - of) sqrt(pi / 2) exp(x^2 / 2) */
        tail(value, x);
        mpfr_sub(value, value, of, MPFR_RNDN);
        inverse_density(slope, x);
        mpfr_fma(x, value, slope, x, MPFR_RNDN);
    }
    mpfr_set_ui_2exp(slope, 1, -280, MPFR_RNDN);
    mpfr_sub(low, x, slope, MPFR_RNDN);
    mpfr_add(high, x, slope, MPFR_RNDN);
    tail(value, low);
    assert_true(mpfr_cmp(value, of) > 0);
    tail(value, high);
    assert_true(mpfr_cmp(value, of) < 0);
    mpfr_clears(low, high, value, slope, (mpfr_ptr)NULL);
}

/* Coefficients of the quantile at (at + width t) in t. With x' = -g, g = 1 / (2 phi(x)): g' = x x' g = -x g^2. */
static inline void expand_quantile(series x, const mpfr_t at, const mpfr_t width) {
    series g, product; /* product: of x and g */
    mpfr_t sum, term;
    series_init(g);
    series_init(product);
    mpfr_inits2(BITS, sum, term, (mpfr_ptr)NULL);
    quantile(x[0], at);
    inverse_density(g[0], x[0]);
    for (int n = 0; n < TERMS; n++) {
        mpfr_set_zero(product[n], 1);
        for (int i = 0; i <= n; i++) {
            mpfr_mul(term, x[i], g[n - i], MPFR_RNDN);
            mpfr_add(product[n], product[n], term, MPFR_RNDN);
        }
        if (n + 1 == TERMS)
            break;
        mpfr_set_zero(sum, 1);
        for (int i = 0; i <= n; i++) {
            mpfr_mul(term, product[i], g[n - i], MPFR_RNDN);
            mpfr_sub(sum, sum, term, MPFR_RNDN);
        }
        mpfr_mul(sum, sum, width, MPFR_RNDN);
        mpfr_div_si(g[n + 1], sum, n + 1, MPFR_RNDN);
        mpfr_mul(sum, g[n], width, MPFR_RNDN);
        mpfr_div_si(x[n + 1], sum, -(n + 1), MPFR_RNDN);
    }
    mpfr_clears(sum, term, (mpfr_ptr)NULL);
    series_clear(g);
    series_clear(product);
}

/* Upper bound of |sum of s_i t^i| for |t| <= 1/2: with t = y / 2, y^i = 2^(1-i) sum of binomial(i, j) T_(i-2j). */
static inline double chebyshev_bound(series s, int count) {
    double bound = 0;
    mpfr_t coefficient, term;
    mpz_t binomial;
    mpz_init(binomial);
    mpfr_inits2(BITS, coefficient, term, (mpfr_ptr)NULL);
    for (int k = 0; k < count; k++) {
        mpfr_set_zero(coefficient, 1);
        for (int i = k; i < count; i += 2) {
            mpz_bin_uiui(binomial, (unsigned long)i, (unsigned long)(i - k) / 2);
            mpfr_mul_z(term, s[i], binomial, MPFR_RNDN);
            mpfr_div_2ui(term, term, (unsigned long)(2 * i - (k > 0)), MPFR_RNDN);
            mpfr_add(coefficient, coefficient, term, MPFR_RNDN);
        }
        mpfr_abs(coefficient, coefficient, MPFR_RNDN);
        bound += mpfr_get_d(coefficient, MPFR_RNDU);
    }
    mpfr_clears(coefficient, term, (mpfr_ptr)NULL);
    mpz_clear(binomial);
    return bound * (1 + 1e-12);
}

/* Upper bound of |sum of polynomial[i] t^i - function(low + width (t + 1/2))| for |t| <= 1/2. */
static inline double segment_error(void (*expand)(series, const mpfr_t, const mpfr_t), const mpfr_t low,
                                   const mpfr_t width, series polynomial) {
    series middle, end;
    mpfr_t at;
    series_init(middle);
    series_init(end);
    mpfr_init2(at, BITS);
    mpfr_div_2ui(at, width, 1, MPFR_RNDN);
    mpfr_add(at, at, low, MPFR_RNDN);
    expand(middle, at, width);
    expand(end, low, width);
    for (int i = 0; i < TERMS; i++)
        mpfr_sub(middle[i], middle[i], polynomial[i], MPFR_RNDN);
    mpfr_div_2ui(end[TERMS - 1], end[TERMS - 1], TERMS - 1, MPFR_RNDN);
    mpfr_abs(end[TERMS - 1], end[TERMS - 1], MPFR_RNDN);
    double error = chebyshev_bound(middle, TERMS - 1) + mpfr_get_d(end[TERMS - 1], MPFR_RNDU);
    mpfr_clear(at);
    series_clear(middle);
    series_clear(end);
    return error;
}

#endif
