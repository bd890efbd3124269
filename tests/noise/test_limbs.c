/* Limbs against GMP: random numbers of all widths, with limbs of only zeros and only ones among them. */
#include "noise/limbs.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <mpfr.h> /* and GMP with it */

enum { MOST = 39, CASES = 20000 };

typedef struct pair {
    unsigned limbs;
    uint64_t a[MOST + 1], b[MOST + 1];
    mpz_t x, y, z;
} pair;

static void fill(uint64_t *random, uint64_t *number, unsigned limbs) {
    for (unsigned i = 0; i < limbs; i++) {
        uint64_t kind = random_word(random) % 4;
        number[i] = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : random_word(random);
    }
}

static void get(mpz_t to, const uint64_t *number, unsigned limbs) {
    mpz_import(to, limbs, -1, sizeof *number, 0, 0, number);
}

static pair *next_pair(uint64_t *random, int i) {
    static pair p;
    if (i == 0)
        mpz_inits(p.x, p.y, p.z, NULL);
    p.limbs = i % 2 == 0 ? 1 + (unsigned)(random_word(random) % 4) : 1 + (unsigned)(random_word(random) % (MOST - 1));
    fill(random, p.a, p.limbs);
    fill(random, p.b, p.limbs);
    if (i % 16 == 0)
        memcpy(p.b, p.a, sizeof p.b);
    get(p.x, p.a, p.limbs);
    get(p.y, p.b, p.limbs);
    return &p;
}

static void end_pairs(pair *p) { mpz_clears(p->x, p->y, p->z, NULL); }

static void sums_and_differences_are_exact(void **state) {
    (void)state;
    uint64_t random = 1;
    pair *p = NULL;
    for (int i = 0; i < CASES; i++) {
        AT_CASE(i);
        p = next_pair(&random, i);
        assert_int_equal(tc_limbs_at_most(p->a, p->b, p->limbs), mpz_cmp(p->x, p->y) <= 0);
        assert_int_equal(tc_limbs_are_zero(p->a, p->limbs), mpz_sgn(p->x) == 0);
        assert_int_equal(tc_limbs_subtract(p->a, p->b, p->limbs), mpz_cmp(p->x, p->y) < 0);
        mpz_sub(p->z, p->x, p->y);
        mpz_fdiv_r_2exp(p->z, p->z, 64 * p->limbs);
        get(p->x, p->a, p->limbs);
        assert_int_equal(mpz_cmp(p->x, p->z), 0);
        mpz_add(p->z, p->x, p->y);
        uint64_t carry = tc_limbs_add(p->a, p->b, p->limbs);
        get(p->x, p->a, p->limbs);
        assert_int_equal(carry, mpz_tstbit(p->z, 64 * p->limbs));
        mpz_fdiv_r_2exp(p->z, p->z, 64 * p->limbs);
        assert_int_equal(mpz_cmp(p->x, p->z), 0);
        if (mpz_sgn(p->x) == 0)
            continue;
        tc_limbs_complement(p->a, p->limbs);
        get(p->y, p->a, p->limbs);
        mpz_add(p->z, p->x, p->y);
        assert_int_equal(mpz_scan1(p->z, 0), 64 * p->limbs);
        assert_int_equal(mpz_popcount(p->z), 1);
    }
    end_pairs(p);
}

static void shifts_and_quotients_are_exact(void **state) {
    (void)state;
    uint64_t random = 2;
    pair *p = NULL;
    for (int i = 0; i < CASES; i++) {
        AT_CASE(i);
        p = next_pair(&random, i);
        unsigned bits = (unsigned)(random_word(&random) % 64);
        tc_limbs_shift_right(p->b, p->a, p->limbs, bits);
        get(p->y, p->b, p->limbs);
        mpz_fdiv_q_2exp(p->z, p->x, bits);
        assert_int_equal(mpz_cmp(p->y, p->z), 0);
        uint64_t divisor = (random_word(&random) >> random_word(&random) % 64) | 1;
        uint64_t rest = i % 3 == 0 ? 0 : i % 3 == 1 ? divisor - 1 : random_word(&random) % divisor;
        mpz_set_ui(p->z, rest);
        mpz_mul_2exp(p->z, p->z, 64 * p->limbs);
        mpz_add(p->z, p->z, p->x);
        mpz_fdiv_q_ui(p->z, p->z, divisor);
        tc_limbs_divide(p->a, p->limbs, rest, divisor);
        get(p->x, p->a, p->limbs);
        assert_int_equal(mpz_cmp(p->x, p->z), 0);
    }
    end_pairs(p);
}

/* The three kinds of products that tails need: of fractions, of a fraction and a number with a whole part, and of two
 * such numbers. */
static void products_are_exact(void **state) {
    (void)state;
    uint64_t random = 3;
    pair *p = NULL;
    for (int i = 0; i < CASES; i++) {
        AT_CASE(i);
        p = next_pair(&random, i);
        unsigned dropped = p->limbs, a_limbs = dropped + (i % 3 == 2), b_limbs = dropped + (i % 3 > 0);
        fill(&random, p->a, a_limbs);
        fill(&random, p->b, b_limbs);
        bool square = i % 5 == 0 && a_limbs == b_limbs;
        get(p->x, p->a, a_limbs);
        get(p->y, square ? p->a : p->b, b_limbs);
        mpz_mul(p->z, p->x, p->y);
        mpz_fdiv_q_2exp(p->z, p->z, 64 * dropped);
        p->b[b_limbs] = 7; /* not a part of the number */
        uint64_t whole = tc_limbs_multiply(p->a, a_limbs, square ? p->a : p->b, b_limbs, dropped);
        get(p->x, p->a, a_limbs);
        mpz_fdiv_r_2exp(p->y, p->z, 64 * a_limbs);
        assert_int_equal(mpz_cmp(p->x, p->y), 0);
        mpz_fdiv_q_2exp(p->y, p->z, 64 * a_limbs);
        assert_int_equal(mpz_cmp_ui(p->y, whole), 0);
    }
    end_pairs(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_differences_are_exact),
        cmocka_unit_test(shifts_and_quotients_are_exact),
        cmocka_unit_test(products_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
