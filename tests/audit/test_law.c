/* The law of the noise by itself: right draws pass, and each fault is seen by the test that is there for it. Draws come
 * from a fixed sequence; with another one, right draws would be called a fault with a probability of at most the level,
 * 1e-6. */
#include "audit/inside.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <string.h>

static const double LEVEL = 1e-6;

typedef struct stage {
    tc_arena *arena;
    tc_model model;
    tc_family family;
    tc_plan plan;
    tc_audit_view view;
    tc_audit audit;
    double *values, *truth;
    uint64_t seed;
} stage;

static double open_unit(stage *s) { return random_unit(&s->seed) + 0x1p-54; } /* in (0, 1) */

static double draw(stage *s) {
    if (s->plan.mechanism == TC_MECHANISM_GAUSSIAN)
        return sqrt(-2 * log(open_unit(s))) * cos(6.283185307179586 * open_unit(s));
    double u = open_unit(s) - 0.5;
    return u < 0 ? log(1 + 2 * u) : -log(1 - 2 * u);
}

/* Two channels of scales 1 and 100, F at some points. */
static void begin(stage *s, tc_mechanism mechanism, size_t count) {
    memset(s, 0, sizeof *s);
    s->arena = tc_arena_new(0);
    assert_non_null(s->arena);
    s->seed = 1;
    s->family.count = count;
    s->model = (tc_model){.families = &s->family, .family_count = 1, .agent_count = count};
    s->plan = (tc_plan){.model = &s->model, .mechanism = mechanism, .channel_count = 2};
    s->plan.channels = TC_NEW(s->arena, tc_channel, 2);
    s->view = (tc_audit_view){.plan = &s->plan, .model = &s->model, .count = count};
    s->view.entries = TC_NEW(s->arena, tc_view_entry, count);
    s->view.start = TC_NEW(s->arena, size_t, 3);
    s->view.start[1] = count / 2;
    s->view.start[2] = count;
    for (size_t i = 0; i < 2; i++)
        s->plan.channels[i] = (tc_channel){.name = i == 0 ? "first" : "second",
                                           .scale = i == 0 ? 1 : 100,
                                           .step_exponent = -26,
                                           .lattice_scale = ldexp(i == 0 ? 1 : 100, 26),
                                           .entries = s->view.start[i + 1] - s->view.start[i]};
    s->values = TC_NEW(s->arena, double, count);
    s->truth = TC_NEW(s->arena, double, count);
    for (size_t e = 0; e < count; e++) {
        s->view.entries[e].channel = e >= count / 2;
        s->truth[e] = (double)e - 3;
    }
    s->audit = (tc_audit){.arena = s->arena, .plan = &s->plan};
}

static void end(stage *s) { tc_arena_free(s->arena); }

typedef void fault(stage *s, double *noise, uint64_t round);

static void judge(stage *s, uint64_t rounds, fault *spoil) {
    double *noise = TC_NEW(s->arena, double, s->view.count);
    tc_law *law = tc_law_new(s->arena, &s->view);
    for (uint64_t k = 0; k < rounds; k++) {
        for (size_t e = 0; e < s->view.count; e++)
            noise[e] = draw(s);
        if (spoil != NULL)
            spoil(s, noise, k);
        for (size_t e = 0; e < s->view.count; e++)
            s->values[e] = s->truth[e] + noise[e] * s->plan.channels[s->view.entries[e].channel].scale;
        tc_law_take(law, s->values, s->truth, 1e-3);
    }
    assert_true(rounds >= tc_rounds_for_law(law, LEVEL));
    tc_judge_law(s->arena, law, LEVEL, NULL, "", &s->audit);
}

static void expect(tc_mechanism mechanism, size_t count, uint64_t rounds, fault *spoil, const char *kind,
                   const char *words) {
    stage s;
    bool found = false;
    begin(&s, mechanism, count);
    judge(&s, rounds, spoil);
    for (size_t i = 0; i < s.audit.fault_count; i++)
        found = found || (strcmp(s.audit.faults[i].kind, kind) == 0 && strstr(s.audit.faults[i].text, words) != NULL);
    if (!found)
        fail_msg("%zu faults, the first: %s", s.audit.fault_count,
                 s.audit.fault_count > 0 ? s.audit.faults[0].text : "none");
    end(&s);
}

static void honest_draws_pass(void **state) {
    (void)state;
    static const struct {
        size_t count;
        uint64_t rounds;
    } sizes[] = {{2, 30000}, {24, 30000}, {64, 5000}, {5000, 400}};
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            stage s;
            begin(&s, m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN, sizes[i].count);
            judge(&s, sizes[i].rounds, NULL);
            if (s.audit.fault_count > 0)
                fail_msg("%s", s.audit.faults[0].text);
            assert_false(s.audit.refuted);
            end(&s);
        }
}

static void scale_by(stage *s, double *noise, double factor) {
    for (size_t e = 0; e < s->view.count; e++)
        noise[e] *= factor;
}
static void a_tenth_less(stage *s, double *noise, uint64_t round) {
    (void)round;
    scale_by(s, noise, 0.9);
}
static void a_tenth_more(stage *s, double *noise, uint64_t round) {
    (void)round;
    scale_by(s, noise, 1.1);
}
static void one_entry_less(stage *s, double *noise, uint64_t round) {
    (void)s;
    (void)round;
    noise[7] *= 0.7;
}
static void leans(stage *s, double *noise, uint64_t round) {
    (void)round;
    for (size_t e = 0; e < s->view.count; e++)
        noise[e] += 0.05;
}
/* Another law with the same median. */
static void another_law(stage *s, double *noise, uint64_t round) {
    (void)round;
    double laplace = 0.69314718055994531, gaussian = 0.67448975019608174;
    bool is_laplace = s->plan.mechanism == TC_MECHANISM_LAPLACE;
    s->plan.mechanism = is_laplace ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE;
    for (size_t e = 0; e < s->view.count; e++)
        noise[e] = draw(s) * (is_laplace ? laplace / gaussian : gaussian / laplace);
    s->plan.mechanism = is_laplace ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
}
/* In a tenth of all rounds two entries have the same noise. */
static void two_share(stage *s, double *noise, uint64_t round) {
    (void)s;
    if (round % 10 == 0)
        noise[11] = noise[4];
}
/* The size is the same, the side is not. */
static void sizes_are_shared(stage *s, double *noise, uint64_t round) {
    noise[5] = (open_unit(s) < 0.5 ? -1 : 1) * noise[2];
    (void)round;
}
/* Far apart, and not among the entries that are watched one by one. */
static void words_come_again(stage *s, double *noise, uint64_t round) {
    (void)round;
    for (size_t e = 512; e < s->view.count; e++)
        noise[e] = noise[e - 512];
}
static void a_round_echoes(stage *s, double *noise, uint64_t round) {
    static double kept[64];
    for (size_t e = 0; e < s->view.count && e < 64; e++) {
        if (round % 3 == 2)
            noise[e] = -kept[e];
        if (round % 3 == 0)
            kept[e] = noise[e];
    }
}

static void each_fault_is_seen(void **state) {
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        tc_mechanism mechanism = m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
        expect(mechanism, 24, 4000, a_tenth_less, "noise", "first: noise stays within");
        expect(mechanism, 24, 4000, a_tenth_more, "law", "does not have the law");
        expect(mechanism, 24, 4000, one_entry_less, "law", "number 8 of first is smaller");
        expect(mechanism, 24, 4000, leans, "law", "second: noise is above zero");
        expect(mechanism, 24, 4000, another_law, "law", "does not have the law");
        expect(mechanism, 24, 20000, two_share, "dependence", "number 5 of first and of number 12 of first");
        expect(mechanism, 24, 4000, sizes_are_shared, "dependence", "have the same size more often");
        expect(mechanism, 4000, 300, words_come_again, "dependence", "numbers 512 apart");
        expect(mechanism, 24, 4000, a_round_echoes, "dependence", "2 releases before, less often");
    }
}

/* ---- noise with bounds, as in a last round ---- */

static void bound(stage *s, double cut) {
    s->plan.is_last = true;
    for (size_t i = 0; i < 2; i++)
        s->plan.channels[i].bound = (int64_t)ceil(cut * s->plan.channels[i].lattice_scale);
}

static const double CUT = 2; /* near, so that all that is wrong with it shows */

static void drawn_again(stage *s, double *noise, uint64_t round) {
    (void)round;
    for (size_t e = 0; e < s->view.count; e++)
        while (fabs(noise[e]) > CUT)
            noise[e] = draw(s);
}
static void cut_off(stage *s, double *noise, uint64_t round) {
    (void)round;
    for (size_t e = 0; e < s->view.count; e++)
        noise[e] = fmax(-CUT, fmin(CUT, noise[e]));
}
static void drawn_too_near(stage *s, double *noise, uint64_t round) {
    (void)round;
    for (size_t e = 0; e < s->view.count; e++)
        while (fabs(noise[e]) > 0.9 * CUT)
            noise[e] = draw(s);
}
static void halved(stage *s, double *noise, uint64_t round) {
    drawn_again(s, noise, round);
    scale_by(s, noise, 0.5);
}

static void bounded_noise_has_the_law_of_its_bounds(void **state) {
    (void)state;
    static const struct {
        fault *spoil;
        const char *kind; /* NULL: honest */
    } cases[] = {{drawn_again, NULL}, {NULL, "bounds"}, {cut_off, "law"}, {drawn_too_near, "law"}, {halved, "noise"}};
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            stage s;
            bool found = false;
            begin(&s, m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN, 24);
            bound(&s, CUT);
            judge(&s, 3000, cases[i].spoil);
            for (size_t k = 0; cases[i].kind != NULL && k < s.audit.fault_count; k++)
                found = found || strcmp(s.audit.faults[k].kind, cases[i].kind) == 0;
            if (s.audit.refuted != (cases[i].kind != NULL) || found != s.audit.refuted)
                fail_msg("law %zu, case %zu: %zu faults, the first: %s", m, i, s.audit.fault_count,
                         s.audit.fault_count > 0 ? s.audit.faults[0].text : "none");
            end(&s);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_draws_pass),
        cmocka_unit_test(each_fault_is_seen),
        cmocka_unit_test(bounded_noise_has_the_law_of_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
