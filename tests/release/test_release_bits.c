/* The released bits themselves: whoever changes how they are computed must change none. The numbers below were recorded
 * from a plain implementation, which evaluated the whole of F into one array and added the whole of the noise to it. */
#include "plan/plan_by_hand.h"
#include "support/cmocka.h"

typedef struct bits_case {
    const char *problem; /* a file of examples, or a text */
    hand by;
    uint64_t expected;
} bits_case;

#define MIXED                                                                                                          \
    "agents home[i in 1..100] { state p[2] in [0, 8]; private minimize p[1] }\n"                                       \
    "agent boss { state x in [-2, 2]; private minimize x^2 }\n"                                                        \
    "constraint a: sum(home: p[1]^2 + 0.3 * p[2]) <= 50\n"                                                             \
    "constraint b: sum(home: p[1])^2 / 100 + home[3].p[1]^2 <= 5\n"                                                    \
    "constraint c: sum(home: p[2]) + boss.x^2 * home[5].p[2]^2 <= 10\n"                                                \
    "constraint d: 2 * boss.x + home[7].p[1] <= 4\n"
#define MANY                                                                                                           \
    "agents home[i in 1..5000] { state p[3] in [-i / 1000, 0.1 + 8 / i]; private minimize p[1] }\n"                    \
    "agents shop[i in 1..2049] { state q in [0.1, 3]; private minimize q }\n"                                          \
    "constraint a: sum(home: p[1]^2 + 0.3 * i * p[2]) / 5000 + sum(shop: q^3) / 1000 <= 5\n"                           \
    "constraint b: sum(home: p[1] / i)^2 / 100 + home[4097].p[1]^2 + shop[2049].q * home[2048].p[3] <= 5\n"            \
    "constraint c: sum(home: p[3] * p[2]) + 2 * home[2049].p[1] <= 10\n"

#define OUTPUTS(mechanism_of, every, split_too)                                                                        \
    {                                                                                                                  \
        .placement = TC_PLACEMENT_OUTPUTS, .mechanism = (mechanism_of), .state_exponent = -16, .step_exponent = -28,   \
        .sum_exponent = -30, .scale = 0x1.8p27, .rounds = 9, .every_entry = (every), .split = (split_too)              \
    }
#define STATES(mechanism_of, split_too)                                                                                \
    {                                                                                                                  \
        .placement = TC_PLACEMENT_STATES, .mechanism = (mechanism_of), .state_exponent = -20, .scale = 0x1.8p21,       \
        .rounds = 9, .split = (split_too)                                                                              \
    }

static const bits_case CASES[] = {
    {"paper", OUTPUTS(TC_MECHANISM_LAPLACE, true, false), UINT64_C(0x5e79c3ea171059c5)},
    {"paper", OUTPUTS(TC_MECHANISM_GAUSSIAN, true, true), UINT64_C(0x00985f613f3cde5c)},
    {"paper", OUTPUTS(TC_MECHANISM_GAUSSIAN, false, false), UINT64_C(0x229f1e86f57b8411)},
    {"paper", STATES(TC_MECHANISM_LAPLACE, false), UINT64_C(0xa9db411c68c1cfdb)},
    {"paper", OUTPUTS(TC_MECHANISM_NONE, false, false), UINT64_C(0x923a2318740f2653)},
    {"ev", OUTPUTS(TC_MECHANISM_LAPLACE, false, false), UINT64_C(0x1dc76d0db8e7abd8)},
    {"ev", OUTPUTS(TC_MECHANISM_LAPLACE, true, true), UINT64_C(0x8a6768ae9dbb1bfd)},
    {"ev", STATES(TC_MECHANISM_GAUSSIAN, true), UINT64_C(0xa461abee06beb2f1)},
    {"num", OUTPUTS(TC_MECHANISM_GAUSSIAN, false, true), UINT64_C(0xa3d3d18621ed9974)},
    {"num", STATES(TC_MECHANISM_LAPLACE, false), UINT64_C(0x0001c7d8eeacc46b)},
    {"robots", OUTPUTS(TC_MECHANISM_LAPLACE, false, false), UINT64_C(0xc446e704178ffec5)},
    {"robots", OUTPUTS(TC_MECHANISM_LAPLACE, false, true), UINT64_C(0xe2d06f7f8c28f580)},
    {"robots", OUTPUTS(TC_MECHANISM_NONE, true, false), UINT64_C(0x60c87fc88584b9c0)},
    {"robots", STATES(TC_MECHANISM_GAUSSIAN, false), UINT64_C(0xbfd2a12d2f464fb6)},
    {MIXED, OUTPUTS(TC_MECHANISM_LAPLACE, false, false), UINT64_C(0x495e49cf133b64cb)},
    {MIXED, OUTPUTS(TC_MECHANISM_GAUSSIAN, false, true), UINT64_C(0xd4ae0fc66a118af0)},
    {MIXED, OUTPUTS(TC_MECHANISM_GAUSSIAN, true, false), UINT64_C(0x58c14daf432a10d4)},
    {MIXED, STATES(TC_MECHANISM_NONE, false), UINT64_C(0xa4fa283f02a14f30)},
    {MANY, OUTPUTS(TC_MECHANISM_LAPLACE, false, false), UINT64_C(0x4018b6bc0418d69b)},
    {MANY, OUTPUTS(TC_MECHANISM_LAPLACE, true, true), UINT64_C(0xe45206b10f888fc3)},
    {MANY, OUTPUTS(TC_MECHANISM_GAUSSIAN, true, false), UINT64_C(0x4d06c9157e84bf0c)},
    {MANY, STATES(TC_MECHANISM_GAUSSIAN, false), UINT64_C(0x9a8d1d3325e39b8e)},
    {MANY, STATES(TC_MECHANISM_LAPLACE, true), UINT64_C(0xab3a0d6ea1245a08)},
};

static problem problem_at(const char *name) {
    if (strchr(name, ' ') != NULL)
        return problem_of(name);
    problem p = {.arena = tc_arena_new(0)};
    tc_escape escape;
    if (p.arena == NULL || TC_TRY(p.arena, &escape) != TC_OK)
        abort();
    tc_buffer messages = tc_buffer_new(p.arena, 1 << 16);
    const char *path = tc_arena_format(p.arena, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, name);
    if (tc_model_load(p.arena, path, NULL, &messages, &p.model) != TC_OK)
        abort();
    p.derivatives = tc_derive(p.arena, p.model);
    tc_escape_end(p.arena, &escape);
    return p;
}

/* Not that of support/random.h: the hashes were stored with these inputs. */
static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53;
}

static void mix(uint64_t *hash, const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        *hash = (*hash ^ bits) * UINT64_C(0x100000001b3);
        *hash ^= *hash >> 29;
    }
}

/* Somewhat beyond the box, and off the lattice. */
static void send_random(const problem *p, gate *g, uint64_t seed, double *x) {
    for (size_t f = 0; f < p->model->family_count; f++) {
        const tc_family *family = &p->model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            double one[64];
            for (size_t c = 0; c < family->dim; c++) {
                double low = tc_coef_at(family->lower[c], k), high = tc_coef_at(family->upper[c], k);
                one[c] = low + (1.2 * uniform(&seed) - 0.1) * (high - low);
                x[tc_coord_of(family, k, c)] = one[c];
            }
            tc_taken taken = tc_states_from_doubles(g->states, f, k, one);
            assert_int_not_equal(taken, TC_STATE_REFUSED);
        }
    }
}

static void mix_released(const problem *p, const tc_released *out, uint64_t *hash) {
    mix(hash, out->constraints, p->model->constraint_count);
    mix(hash, out->jacobian, out->layout->position_count);
    if (out->states != NULL)
        mix(hash, out->states, p->model->state_count);
}

/* Three rounds, the second with its noise drawn ahead; then F without noise at the last point. */
static uint64_t hash_of(const bits_case *of) {
    problem p = problem_at(of->problem);
    gate g = gate_of(&p, plan_by_hand(&p, &of->by), 17, NULL);
    double *x = TC_NEW(p.arena, double, p.model->state_count);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t round = 1; round <= 3; round++) {
        send_random(&p, &g, round, x);
        if (round == 2)
            assert_int_equal(tc_release_prepare(g.release, round), TC_OK);
        assert_int_equal(tc_release_round(g.release, round, g.states, g.out), TC_OK);
        mix_released(&p, g.out, &hash);
    }
    if (p.model->families[0].count <= 2048) { /* beyond, floating-point sums are added block by block */
        tc_released_evaluate(g.release, x, g.out);
        mix_released(&p, g.out, &hash);
    }
    problem_free(&p);
    return hash;
}

static void released_bits_are_those_of_the_plain_implementation(void **state) {
    (void)state;
    bool same = true;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        uint64_t hash = hash_of(&CASES[i]);
        if (hash != CASES[i].expected) {
            print_error("case %zu (%.10s): 0x%016llx\n", i, CASES[i].problem, (unsigned long long)hash);
            same = false;
        }
    }
    assert_true(same);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_bits_are_those_of_the_plain_implementation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
