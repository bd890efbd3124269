/* The unit data, audited in the closed loop: two worlds in which one agent has other data, the real engine, all that it
 * releases, and the likelihood ratio of the two worlds. What was released decides what the agent does next, in both. */
/* labels: long not-asan not-clang */
#include "engine/method_runs.h"
#include "engine/proximal/proof.h"
#include "engine/proximal/proximal.h"

enum { STATES = 4, ROUNDS = 100 };

static const char PROBLEM[] =
    "agent a {\nstate x[4] in [0, 5]\nprivate param need = %.17g\n"
    "range need in [0, 16]\nprotect need by 3\n"
    "private set sum(x) >= need\nprivate minimize 0.05 * (x[1] - 1)^2 + 50 * sumsq(x[2..4] - 2)\nslater x = 4\n}\n"
    "agents b[i in 1..3] {\nstate x[4] in [0, 5]\nprivate minimize sumsq(x - 2)\nslater x = 1\ngap 400\n}\n"
    "constraint line[t in 1..4]: a.x[t] + sum(b: x[t]) <= 11\n"
    "privacy { mechanism %s; epsilon %.17g; %s adjacency data }\nschedule { rounds 100 }\n";

typedef struct loop {
    planned p;
    tc_plan *plan;
    tc_tacit_facts *facts;
    tc_proximal *proximal; /* of the agent with the other data */
    tc_step_proof *proof;
    double start[64];
} loop;

static loop loop_of(double need, bool gaussian, double epsilon, double understate) {
    char text[4096];
    (void)snprintf(text, sizeof text, PROBLEM, need, gaussian ? "gaussian" : "laplace", epsilon,
                   gaussian ? "delta 0.01;" : "");
    loop l = {.p = planned_problem("loop.tacit", text)};
    for (size_t d = 0; d < l.p.model->families[0].datum_count; d++) {
        for (int norm = 0; norm < 2; norm++)
            l.p.model->families[0].data[d].distances[norm] *= understate;
    }
    method_options asked = {.mechanism = TC_MECHANISM_UNSET,
                            .placement = TC_PLACEMENT_AUTO,
                            .rounds = NAN,
                            .radius = NAN,
                            .keeps_privacy = true};
    l.plan = method_plan(&l.p, &asked);
    l.facts = method_facts(&l.p, l.plan, &asked);
    tc_agents *agents = tc_agents_new(l.p.arena, l.p.model, l.p.derivatives, 1);
    l.proximal = tc_proximal_new(l.p.arena, agents, l.p.derivatives, NULL);
    l.proof = tc_step_proof_new(l.p.arena, l.p.model, l.p.derivatives, 1);
    tc_agents_start(agents, l.start);
    return l;
}

typedef struct transcript {
    double loss;  /* log of the likelihood of this world over that of the other */
    double price; /* epsilon (Laplace) or gdp (Gaussian) of the messages that were sent, exactly */
} transcript;

static double on_lattice(const tc_plan *plan, double x) {
    return ldexp(rint(ldexp(x, -plan->state_exponent)), plan->state_exponent);
}

/* One run in the world of `here`; `there` is fed the same answers. Rows of the constraints are sums of single states,
 * so the two worlds' messages of agent a differ by what the released rows differ by. */
static transcript run_once(const loop *here, const loop *there, uint64_t seed) {
    const tc_plan *plan = here->plan;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    tc_arena *arena = tc_arena_new(0);
    tc_engine *engine = method_engine(arena, &here->p, plan, here->facts, seed, NULL, TC_DRIVER_SMALL, 0);
    double other[STATES], next[STATES];
    transcript made = {0};
    memcpy(other, there->start, sizeof other);
    for (int k = 0; k < ROUNDS; k++) {
        double before[64];
        memcpy(before, engine->x, here->p.model->state_count * sizeof(double));
        assert_int_equal(tc_engine_round(engine), TC_OK);
        assert_null(engine->reason);
        for (size_t t = 0; t < STATES; t++) {
            const tc_channel *channel = &plan->channels[t];
            double away = on_lattice(plan, other[t]) - on_lattice(plan, before[t]), value = -11;
            for (size_t i = 0; i < 4; i++) /* agent a, then the members of b */
                value += on_lattice(plan, before[i == 0 ? t : 4 + t * 3 + (i - 1)]);
            double noise = engine->released->constraints[t] - value, scale = channel->scale;
            made.loss += gaussian ? (away * away - 2 * away * noise) / (2 * scale * scale)
                                  : (fabs(noise - away) - fabs(noise)) / scale;
            made.price += gaussian ? away * away / (scale * scale) : fabs(away) / scale;
        }
        const double *p_at[STATES], *x_at[STATES];
        double *next_at[STATES];
        for (size_t t = 0; t < STATES; t++) {
            p_at[t] = &engine->p[t];
            x_at[t] = &other[t];
            next_at[t] = &next[t];
        }
        assert_true(tc_proximal_next(there->proximal, 0, 0, 0, 1, p_at, engine->scalars, x_at, next_at) ==
                    TC_ALL_FINITE);
        if (there->proof != NULL)
            assert_true(tc_step_proof_check(there->proof, 0, 0, 0, 1, p_at, engine->scalars, x_at, next_at) ==
                        TC_ALL_FINITE);
        memcpy(other, next, sizeof other);
    }
    made.price = gaussian ? sqrt(made.price) : made.price;
    tc_arena_free(arena);
    return made;
}

static double promised(const tc_plan *plan) {
    double most = 0;
    for (size_t i = 0; i < plan->observer_count; i++)
        most =
            fmax(most, plan->mechanism == TC_MECHANISM_GAUSSIAN ? plan->observers[i].gdp : plan->observers[i].epsilon);
    return most;
}

/* The largest price over many runs, of what the two worlds sent, and the largest loss. */
static double attack(bool gaussian, double understate, int runs, double *loss, double *limit) {
    loop one = loop_of(7.5, gaussian, 1, understate), two = loop_of(10.5, gaussian, 1, understate);
    double most = 0;
    assert_memory_equal(one.plan->hash, two.plan->hash, sizeof one.plan->hash);
    *loss = 0;
    for (int i = 0; i < runs; i++) {
        AT_CASE(i);
        transcript made = i % 2 == 0 ? run_once(&one, &two, (uint64_t)i) : run_once(&two, &one, (uint64_t)i);
        most = fmax(most, made.price);
        *loss = fmax(*loss, made.loss);
    }
    *limit = promised(one.plan);
    if (getenv("TACIT_SHOW") != NULL)
        print_message("price %g, loss %g, promised %g\n", most, *loss, *limit);
    tc_arena_free(one.p.arena);
    tc_arena_free(two.p.arena);
    return most;
}

static void what_the_worlds_send_costs_no_more_than_is_promised(void **state) {
    (void)state;
    for (int gaussian = 0; gaussian < 2; gaussian++) {
        double loss, limit, most = attack(gaussian == 1, 1, CASES(400), &loss, &limit);
        assert_true(most <= limit);
        assert_true(most >= 0.5 * limit); /* the attack is worth something */
        if (gaussian == 0)
            assert_true(loss <= limit); /* pure: the likelihood ratio of every single transcript */
    }
}

/* ---- the likelihood-ratio test ----------------------------------------------------------------------------------- */

/* The end of the interval of all q with count KL(found, q) <= log 1/1e-7, above or below (Chernoff): outside of it the
 * true probability is with probability 1e-7. */
static double confidence(double found, int count, bool above) {
    double low = above ? found : 0, high = above ? 1 : found;
    for (int i = 0; i < 100; i++) {
        double q = (low + high) / 2;
        double kl =
            (found > 0 ? found * log(found / q) : 0) + (found < 1 ? (1 - found) * log((1 - found) / (1 - q)) : 0);
        *((count * kl <= log(1e7)) == above ? &low : &high) = q;
    }
    return (low + high) / 2;
}

/* Whether runs in two worlds refute (epsilon 1, delta 0.01) by the event that the second world is e times as likely. */
static bool is_refuted(double understate, int runs) {
    loop one = loop_of(7.5, true, 1, understate), two = loop_of(10.5, true, 1, understate);
    int in_one = 0, in_two = 0;
    for (int i = 0; i < runs; i++) {
        in_one += -run_once(&one, &two, (uint64_t)i).loss > 1;
        in_two += run_once(&two, &one, (uint64_t)(i + runs)).loss > 1;
    }
    tc_arena_free(one.p.arena);
    tc_arena_free(two.p.arena);
    double most = confidence((double)in_one / runs, runs, true), least = confidence((double)in_two / runs, runs, false);
    return least - 0.01 > exp(1) * most;
}

/* A correct program fails with probability 2e-7 for other seeds. */
static void distances_understated_by_half_are_refuted(void **state) {
    (void)state;
    for (int gaussian = 0; gaussian < 2; gaussian++) {
        double loss, limit, most = attack(gaussian == 1, 0.5, 40, &loss, &limit);
        assert_true(most > limit); /* exactly, from what is sent */
    }
    assert_true(is_refuted(0.5, 4000)); /* and from what anybody can see */
    assert_false(is_refuted(1, 4000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_worlds_send_costs_no_more_than_is_promised),
        cmocka_unit_test(distances_understated_by_half_are_refuted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
