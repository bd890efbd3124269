/* The time of a release tells nothing of states: it meets no subnormal number, and takes the same instructions whatever
 * the states are. */
/* labels: long */
#include "plan/planned.h"
#include "release/release.h"
#include "support/stepped.h"
#include "support/arithmetic.h"

#include <fenv.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef struct subject {
    const char *name, *text;
} subject;

#define TAIL                                                                                                           \
    "privacy { mechanism laplace; epsilon 1; adjacency one 0.1 }\n"                                                    \
    "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.5; rounds 1000 }\n"

static const subject subjects[] = {
    {"affine",
     "agents a[i in 1..21] {\n state x[2] in [-3, 5]\n private minimize x[1]\n gap 1\n slater x = 0\n}\n"
     "constraint c[k in 1..3]: sum(a: k * x[1] - x[2]) <= 50\nconstraint d: a[3].x[1] + a[9].x[2] <= 4\n" TAIL},
    {"quadratic", "agent a {\n state x[2] in [-10, 10]\n private minimize x[1]\n}\n"
                  "agent b {\n state y in [0, 3]\n private minimize y\n}\n"
                  "agents c[i in 1..5] {\n state z in [-1, 1]\n private minimize z\n}\n"
                  "constraint q: a.x[1]^2 + a.x[1] * b.y + sum(c: z^4) <= 50\n"
                  "constraint r: (sum(c: z) + a.x[2])^2 + b.y^3 <= 90\n" TAIL},
    {"powers", "agents a[i in 1..11] {\n state x in [0, 4]\n private minimize x\n}\n"
               "constraint p: sum(a: x^3.5) <= 300\nconstraint s: sum(a: x^2.25) + sum(a: x^17) / 1e9 <= 300\n" TAIL},
    {"exp and log", "agents a[i in 1..11] {\n state x in [-6, 6]\n private minimize x\n}\n"
                    "constraint e: sum(a: exp(x)) + exp(sum(a: x) / 40) <= 9000\n"
                    "constraint l: -log(2 + sum(a: x^2)) <= 1\n" TAIL},
    {"huber", "agents a[i in 1..11] {\n state x in [-6, 6]\n private minimize x\n}\n"
              "constraint h: sum(a: huber(x, 1)) + huber(a[1].x + a[2].x, 0.5) <= 50\n" TAIL},
    {"log-sum-exp and norms", "agents a[i in 1..11] {\n state x[3] in [-2, 7]\n private minimize x[1]\n}\n"
                              "constraint m: sum(a: logsumexp([x[1], x[2], 1])) <= 150\n"
                              "constraint n: sum(a: norm([x[1], x[3], 1])) <= 150\n" TAIL},
    {"robots", NULL},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

typedef struct scene {
    planned planned;
    tc_plan *plan;
    tc_release *release;
    tc_released *out;
    tc_private_states *states;
    uint64_t seed, round;
} scene;

static scene scene_of(const subject *s, tc_mechanism mechanism, size_t block) {
    char file[512];
    scene made = {.seed = 5};
    (void)snprintf(file, sizeof file, "%s/examples/robots.tacit", TACIT_SOURCE_DIR);
    made.planned = planned_problem(s->text == NULL ? file : "test.tacit", s->text);
    tc_plan_options options = planned_options();
    options.placement = TC_PLACEMENT_OUTPUTS;
    options.mechanism = mechanism;
    options.epsilon = 1;
    options.delta = mechanism == TC_MECHANISM_GAUSSIAN ? 1e-6 : (double)NAN;
    options.adjacency = TC_ADJACENCY_ONE;
    options.adjacency_bound = 0.1;
    made.plan = planned_plan(&made.planned, &options);
    if (made.plan->problem != NULL)
        fail_msg("%s: %s", s->name, made.plan->problem);
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    const char *why = NULL;
    tc_release_settings settings = {.block = block};
    assert_int_equal(tc_random_new_simulation(made.planned.arena, &run, 3, &random), TC_OK);
    if (tc_release_new(made.planned.arena, made.plan, made.plan->measured, made.plan->measured_derivatives, random,
                       &settings, &made.release, &why) != TC_OK)
        fail_msg("%s: %s", s->name, why);
    made.out = tc_released_new(made.planned.arena, made.release);
    made.states = tc_states_new(made.planned.arena, made.planned.model, made.plan->state_exponent);
    return made;
}

/* Ends of the box, its middle, zero and what is next to it, or anything, for all agents or for each. */
static double state_of(uint64_t *seed, double lower, double upper, double step, int kind) {
    int choice = kind < 6 ? kind : (int)(6 * random_unit(seed));
    double zero = fmin(fmax(0, lower), upper);
    switch (choice) {
    case 0:
        return lower;
    case 1:
        return upper;
    case 2:
        return zero;
    case 3:
        return fmin(zero + step, upper);
    case 4:
        return (lower + upper) / 2;
    default:
        return lower + (upper - lower) * random_unit(seed);
    }
}

enum { KINDS = 8 }; /* from 6 on: each agent its own */

static void send(scene *s, int kind) {
    const tc_model *model = s->planned.model;
    double x[8], step = ldexp(1, s->plan->state_exponent);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++)
                x[c] = state_of(&s->seed, tc_coef_at(family->lower[c], k), tc_coef_at(family->upper[c], k), step, kind);
            assert_int_not_equal(tc_states_from_doubles(s->states, f, k, x), TC_STATE_REFUSED);
        }
    }
}

/* ---- no subnormal number ---- */

static void forget(void) {
    (void)feclearexcept(FE_ALL_EXCEPT);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() & ~0x3fU);
#endif
}

static bool has_met_subnormal(void) {
    bool met = fetestexcept(FE_UNDERFLOW) != 0;
#ifdef __x86_64__
    met = met || (_mm_getcsr() & 0x2) != 0;
#endif
    return met;
}

static void a_release_meets_no_subnormal_number(void **state) {
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++) {
        scene s = scene_of(&subjects[i], i % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN, 0);
        for (int kind = 0; kind < 60; kind++) {
            send(&s, kind);
            assert_int_equal(tc_release_prepare(s.release, ++s.round), TC_OK);
            forget();
            assert_int_equal(tc_release_round(s.release, s.round, s.states, s.out), TC_OK);
            if (has_met_subnormal())
                fail_msg("%s meets a subnormal number", subjects[i].name);
        }
        planned_end(&s.planned);
    }
}

/* The problem whose states made it slow or fast: an exponential that falls to nothing. */
static tc_plan *plan_of_slow(planned *p, const char *rate, tc_placement placement) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "agents h[i in 1..20] {\n state p in [0, 1]\n private minimize p\n}\n"

                   "constraint cap: sum(h: exp(-%s*p)) <= 15\n" TAIL,
                   rate);
    *p = planned_problem("test.tacit", text);
    tc_plan_options options = planned_options();
    options.placement = placement;
    options.method = placement == TC_PLACEMENT_STATES ? TC_METHOD_TACIT : TC_METHOD_PUBLISHED;
    return planned_plan(p, &options);
}

static void a_plan_that_could_meet_one_is_refused(void **state) {
    (void)state;
    static const char *const rates[] = {"740", "709", "2000"};
    planned p;
    for (size_t i = 0; i < 3; i++) {
        tc_plan *plan = plan_of_slow(&p, rates[i], TC_PLACEMENT_OUTPUTS);
        assert_non_null(plan->problem);
        assert_non_null(strstr(plan->problem, "constraint cap: an exponential can come below 2.3e-308"));
        assert_non_null(strstr(plan->problem, "narrow the public boxes"));
        planned_end(&p);
        plan = plan_of_slow(&p, rates[i], TC_PLACEMENT_STATES); /* noise on states needs no exponential */
        assert_null(plan->problem);
        assert_int_equal(plan->placement, TC_PLACEMENT_STATES);
        planned_end(&p);
    }
    const char *problem = plan_of_slow(&p, "700", TC_PLACEMENT_OUTPUTS)->problem;
    if (problem != NULL)
        fail_msg("%s", problem);
    planned_end(&p);
}

/* Every number of this problem is too small, even its states. */
static void states_that_are_too_small_are_refused(void **state) {
    (void)state;
    planned p = planned_problem("test.tacit", "agents h[i in 1..3] {\n state p in [0, 1e-305]\n private minimize p\n}\n"
                                              "constraint c: sum(h: p) <= 2e-305\n"
                                              "privacy { mechanism laplace; epsilon 1; adjacency one 1e-306 }\n"
                                              "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.5; rounds 10 }\n");
    tc_plan_options options = planned_options();
    options.placement = TC_PLACEMENT_OUTPUTS;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_non_null(plan->problem);
    assert_non_null(strstr(plan->problem, "below 2.3e-308"));
    planned_end(&p);
}

/* The release, too, refuses a plan that was made for a milder problem with the same channels. */
static void a_release_refuses_what_a_plan_should_have(void **state) {
    (void)state;
    planned p, q;
    tc_plan *plan = plan_of_slow(&p, "700", TC_PLACEMENT_OUTPUTS), wrong = *plan;
    (void)plan_of_slow(&q, "740", TC_PLACEMENT_OUTPUTS);
    wrong.model = wrong.measured = q.model;
    wrong.measured_derivatives = q.derivatives;
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    assert_int_equal(tc_random_new_simulation(q.arena, &run, 3, &random), TC_OK);
    assert_int_equal(tc_release_new(q.arena, &wrong, q.model, q.derivatives, random, NULL, &release, &why),
                     TC_BAD_USAGE);
    assert_non_null(strstr(why, "constraint cap: an exponential"));
    planned_end(&p);
    planned_end(&q);
}

static void a_release_refuses_other_arithmetic(void **state) {
    (void)state;
    planned p;
    tc_plan *plan = plan_of_slow(&p, "700", TC_PLACEMENT_OUTPUTS);
    tc_run_identity run = {.run_id = "test", .run_id_length = 4};
    tc_random *random = NULL;
    tc_release *release = NULL;
    const char *why = NULL;
    assert_int_equal(tc_random_new_simulation(p.arena, &run, 3, &random), TC_OK);
    for (size_t i = 0; i < TWEAKS; i++) {
        tweak_begin(&tweaks[i]);
        tc_status status = tc_release_new(p.arena, plan, p.model, p.derivatives, random, NULL, &release, &why);
        tweak_end();
        assert_int_equal(status, TC_BAD_ARITHMETIC);
        assert_null(release);
        assert_non_null(strstr(why, tweaks[i].says));
    }
    planned_end(&p);
}

/* ---- the same path ---- */

#ifdef CAN_STEP
enum { WARM = 2 }; /* rounds before the first that counts: the linker finds functions when they are first called */

/* Pieces that are stepped through are functions of their own: copies of one would have other addresses. */
#define PIECE __attribute__((noinline)) static

PIECE tc_status stepped_release(scene *s) {
    path_begins();
    tc_status status = tc_release_round(s->release, s->round, s->states, s->out);
    path_ends();
    return status;
}

static void release_round(scene *s, int kind) {
    send(s, kind);
    s->round++;
    if (tc_release_prepare(s->release, s->round) != TC_OK)
        _exit(2);
    if (stepped_release(s) != TC_OK)
        _exit(3);
}

typedef struct staged { /* made by the child: keys do not outlive a fork */
    const subject *subject;
    tc_mechanism mechanism;
    size_t block;
} staged;

static void release_all(void *context) {
    const staged *of = context;
    scene s = scene_of(of->subject, of->mechanism, of->block);
    for (int kind = -WARM; kind < KINDS; kind++)
        release_round(&s, kind < 0 ? KINDS : kind);
}

/* Whether every round took the steps of the first; otherwise where it left them. */
static bool is_one_path(const char *name, void (*work)(void *), void *context, bool says) {
    path first = {0}, other = {0};
    int code = 0, rounds = -WARM;
    bool same = true;
    pid_t child = path_start(work, context);
    if (child < 0)
        skip();
    for (; path_follow(child, rounds <= 0 ? &first : &other, &code); rounds++) {
        size_t at = 0;
        if (rounds <= 0)
            continue;
        while (at < first.count && at < other.count && first.steps[at] == other.steps[at])
            at++;
        if (at == first.count && at == other.count)
            continue;
        same = false;
        if (says)
            print_error("%s: state %d leaves the path of %zu steps after %zu, at %#llx\n", name, rounds, first.count,
                        at, (unsigned long long)(at > 0 ? first.steps[at - 1] : 0));
    }
    assert_int_equal(code, 0);
    assert_true(rounds >= KINDS);
    if (says)
        print_message("%s: %d states, %zu steps each\n", name, rounds, first.count);
    free(first.steps);
    free(other.steps);
    return same;
}

static void a_release_takes_the_same_path_whatever_the_states_are(void **state) {
    (void)state;
    bool same = true;
    for (size_t i = 0; i < SUBJECTS; i++)
        for (size_t block = 0; block <= 8; block += 8) { /* at once, and in blocks */
            staged s = {&subjects[i], i % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN, block};
            same = is_one_path(subjects[i].name, release_all, &s, true) && same;
        }
    assert_true(same);
}

PIECE tc_taken stepped_take(scene *s, const int64_t *units) {
    path_begins();
    tc_taken taken = tc_states_from_integers(s->states, 0, 0, units);
    path_ends();
    return taken;
}

/* A state that comes in: any in its box. */
static void take_all(void *context) {
    const staged *of = context;
    scene s = scene_of(of->subject, of->mechanism, of->block);
    const tc_model *model = s.planned.model;
    double step = ldexp(1, s.plan->state_exponent);
    int64_t units[8];
    const tc_family *family = &model->families[0];
    for (int kind = -WARM; kind < KINDS; kind++) {
        for (size_t c = 0; c < family->dim; c++) {
            double lower = ceil(tc_coef_at(family->lower[c], 0) / step) * step;
            double upper = floor(tc_coef_at(family->upper[c], 0) / step) * step;
            units[c] = (int64_t)(state_of(&s.seed, lower, upper, step, kind < 0 ? 0 : kind) / step);
        }
        if (stepped_take(&s, units) != TC_STATE_TAKEN)
            _exit(4);
    }
}

static void a_state_takes_the_same_path_whatever_it_is(void **state) {
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++) {
        staged s = {&subjects[i], TC_MECHANISM_LAPLACE, 0};
        assert_true(is_one_path(subjects[i].name, take_all, &s, true));
    }
}

/* The measure itself: work that looks at its numbers is seen. */
static volatile double seen;
PIECE void stepped_look(double x) {
    path_begins();
    if (x > 0.3)
        seen = seen + x;
    path_ends();
}

static void look_at_states(void *context) {
    scene *s = context;
    for (int kind = -WARM; kind < KINDS; kind++)
        stepped_look(state_of(&s->seed, -1, 1, 0.25, kind < 0 ? 0 : kind));
}

static void a_path_that_depends_on_numbers_is_seen(void **state) {
    (void)state;
    scene s = {.seed = 5};
    assert_false(is_one_path("planted", look_at_states, &s, false));
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_meets_no_subnormal_number),
        cmocka_unit_test(a_plan_that_could_meet_one_is_refused),
        cmocka_unit_test(states_that_are_too_small_are_refused),
        cmocka_unit_test(a_release_refuses_what_a_plan_should_have),
        cmocka_unit_test(a_release_refuses_other_arithmetic),
#ifdef CAN_STEP
        cmocka_unit_test(a_path_that_depends_on_numbers_is_seen),
        cmocka_unit_test(a_state_takes_the_same_path_whatever_it_is),
        cmocka_unit_test(a_release_takes_the_same_path_whatever_the_states_are),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
