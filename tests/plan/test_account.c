/* Tries to refute the accountant: pairs of states, from far apart to one step of the lattice apart, must not tell more
 * about themselves than every observer's price says. F is evaluated as it is released, without noise. */
/* labels: not-asan not-clang */
#include "plan/planned.h"

#include "plan/account/account.h"

enum { PROBLEMS = 40, PAIRS = 2600, MOST_ENTRIES = 512, MOST_STATES = 64 };

static const char *const rows[] = {
    "sum(a: %.3g * x[1] + x[2]) <= 9",
    "sum(a: %.3g * x[1]^2) <= 9",
    "sumsq(sum(a: x) / %.3g) <= 90",
    "sumsq(a[1].x - %.3g * a[2].x) <= 40",
    "sum(a: i * %.3g * x[1]^2) + b.y^2 <= 90",
    "exp(0.05 * sum(a: x[1]) + 0.02 * %.3g * b.y) <= 90",
    "(sum(a: x[1]^2) + %.3g)^2 <= 9000",
    "logsumexp([0.2 * sum(a: x[2]), %.3g * b.y, a[1].x[1]]) <= 30",
    "sum(a: %.3g * huber(x[1], 0.5)) <= 90",
    "%.3g * b.y + a[2].x[1] <= 90",
    "sum(a: x[1] * x[2]) * %.3g + b.y^4 <= 9000",
    "sqrt(1 + (sum(a: %.3g * x[1] - x[2]) - b.y)^2) <= 90",
};

static const char *random_problem(uint64_t *seed, char *text, size_t size) {
    int at = snprintf(text, size,
                      "agents a[i in 1..%d] {\n  state x[2] in [%.3g, %.3g]\n  private minimize sumsq(x)\n}\n"
                      "agent b {\n  state y in [%.3g, 1]\n  private minimize y^2\n}\n",
                      2 + (int)(3 * random_unit(seed)), -1 - random_unit(seed), 0.5 + random_unit(seed),
                      -2 * random_unit(seed));
    int count = 1 + (int)(3 * random_unit(seed));
    for (int i = 0; i < count; i++) {
        char row[200];
        size_t kind = (size_t)(random_unit(seed) * (double)(sizeof rows / sizeof *rows));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(row, sizeof row, rows[kind], 0.3 + 2 * random_unit(seed));
#pragma GCC diagnostic pop
        at += snprintf(text + at, size - (size_t)at, "constraint g%d: %s\n", i, row);
    }
    return text;
}

typedef struct attack {
    planned *problem;
    release_of *release;
    uint64_t *seed;
    double tightest; /* the largest share of a price that a pair used up */
    size_t checks;
} attack;

static double norm_of(int p, const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p == 1 ? fabs(a[i] - b[i]) : (a[i] - b[i]) * (a[i] - b[i]);
    return p == 1 ? sum : sqrt(sum);
}

/* What an observer gains from this pair, in units of its noise. */
static double gain(const release_of *r, int p, const double *f0, const double *f1, size_t observer, bool everything) {
    double sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (!everything && !r->shown[i].is_constraint && r->shown[i].agent != observer)
            continue;
        double moved = fabs(f0[i] - f1[i]) / r->shown[i].scale;
        sum += p == 1 ? moved : moved * moved;
    }
    return p == 1 ? sum : sqrt(sum);
}

static double budget_of(const tc_plan *plan, const tc_observer *o) {
    return plan->mechanism == TC_MECHANISM_GAUSSIAN ? o->gdp : o->epsilon;
}

/* Two points: how they differ depends on the unit and on chance. */
static void choose_pair(attack *a, double *x0, double *x1, size_t *agent) {
    const tc_model *model = a->problem->model;
    const tc_plan *plan = a->release->plan;
    double step = ldexp(1, plan->state_exponent),
           size = pow(2, (a->release->rounded ? -30 : -12) * random_unit(a->seed));
    bool corners = random_unit(a->seed) < 0.4, one_coordinate = random_unit(a->seed) < 0.5;
    *agent = (size_t)(random_unit(a->seed) * (double)model->agent_count);
    size_t chosen = (size_t)(random_unit(a->seed) * (double)model->state_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            for (size_t k = 0; k < family->count; k++) {
                size_t i = tc_coord_of(family, k, c);
                double lo = tc_coef_at(family->lower[c], k), hi = tc_coef_at(family->upper[c], k);
                double u = random_unit(a->seed), v = 2 * random_unit(a->seed) - 1;
                u = corners ? rint(u) : u;
                x0[i] = lo + u * (hi - lo);
                bool moves = plan->adjacency == TC_ADJACENCY_ENSEMBLE ? !one_coordinate || i == chosen
                                                                      : family->first_agent + k == *agent;
                x1[i] = moves ? x0[i] + v * size * (hi - lo) * (corners ? 2 : 1) : x0[i];
                x1[i] = fmin(fmax(x1[i], lo), hi);
                if (a->release->rounded) { /* lattice points of the box */
                    double least = ceil(lo / step), most = floor(hi / step);
                    x0[i] = step * fmin(fmax(rint(x0[i] / step), least), most);
                    x1[i] = moves ? step * fmin(fmax(rint(x1[i] / step), least), most) : x0[i];
                }
            }
        }
    }
}

static void attack_once(attack *a) {
    const tc_plan *plan = a->release->plan;
    const tc_model *model = a->problem->model;
    double x0[MOST_STATES], x1[MOST_STATES], f0[MOST_ENTRIES], f1[MOST_ENTRIES];
    int p = plan->mechanism == TC_MECHANISM_GAUSSIAN ? 2 : 1;
    size_t agent;
    choose_pair(a, x0, x1, &agent);
    double distance = norm_of(p, x0, x1, model->state_count);
    if (distance == 0 || (!a->release->rounded && distance < 1e-5))
        return;
    planned_evaluate(a->release, x0, f0);
    planned_evaluate(a->release, x1, f1);
    double share = plan->adjacency == TC_ADJACENCY_AGENT
                       ? 1 / (p == 1 ? plan->rounds : sqrt(plan->rounds)) /* one round of the run */
                       : distance / plan->adjacency_bound;
    /* on the lattice everything is exact, but for this test's own division and addition */
    double slack = share * (a->release->rounded ? 1e-12 : 1e-8);
    size_t observer = 0;
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        bool everything = o->kind == TC_OBSERVER_EAVESDROPPER;
        size_t who = o->kind == TC_OBSERVER_AGENT ? observer : SIZE_MAX - 1;
        if (o->kind ==
            TC_OBSERVER_AGENT) { /* its own states are the same in both worlds; a group stands for its first */
            bool group = strncmp(o->who, "each of", 7) == 0;
            const tc_family *family = tc_family_of_agent(model, observer);
            observer += group ? family->count : 1;
            bool itself = plan->adjacency != TC_ADJACENCY_ENSEMBLE && agent == who;
            for (size_t c = 0; plan->adjacency == TC_ADJACENCY_ENSEMBLE && c < family->dim; c++) {
                size_t at = tc_coord_of(family, who - family->first_agent, c);
                itself = itself || x0[at] != x1[at];
            }
            if (itself)
                continue;
        }
        a->checks++;
        double found = gain(a->release, p, f0, f1, who, everything), allowed = budget_of(plan, o) * share;
        if (found > allowed * (1 + 1e-12) + slack)
            fail_msg("%s\n%s gains %.17g where %.17g was certified (%s, distance %g%s)", a->problem->model->source.text,
                     o->who, found, allowed, plan->mechanism == TC_MECHANISM_GAUSSIAN ? "gaussian" : "laplace",
                     distance, a->release->rounded ? ", on the lattice" : "");
        if (everything)
            a->tightest = fmax(a->tightest, found / allowed);
    }
}

static const tc_adjacency units[] = {TC_ADJACENCY_ENSEMBLE, TC_ADJACENCY_ONE, TC_ADJACENCY_AGENT};

static void attack_problem(const char *text, uint64_t *seed, size_t *checks, double *tightest, bool published) {
    planned problem = planned_problem("attacked.tacit", text);
    for (int mechanism = 0; mechanism < 2; mechanism++) {
        for (size_t u = 0; u < (published ? 1 : 3); u++) {
            tc_plan_options options = planned_options();
            options.mechanism = mechanism == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
            options.calibration = published ? TC_PUBLISHED : TC_TIGHT;
            options.placement = TC_PLACEMENT_OUTPUTS;
            options.adjacency = units[u];
            options.adjacency_bound = 0.5;
            options.epsilon = 1;
            options.delta = 1e-5;
            options.rounds = 1000;
            tc_plan *plan = planned_plan(&problem, &options);
            if (plan->problem != NULL)
                fail_msg("%s\n%s", plan->problem, text);
            release_of release = planned_release(&problem, plan);
            assert_true(release.count <= MOST_ENTRIES);
            attack a = {.problem = &problem, .release = &release, .seed = seed};
            for (size_t i = 0; i < PAIRS; i++) {
                release.rounded = i % 2 == 1;
                attack_once(&a);
            }
            *checks += a.checks;
            *tightest = fmax(*tightest, a.tightest);
        }
    }
    planned_end(&problem);
}

static void no_pair_of_states_beats_the_certified_prices(void **state) {
    (void)state;
    uint64_t seed = 20240607;
    size_t checks = 0;
    double tightest = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        AT_CASE(i);
        char text[4000];
        attack_problem(random_problem(&seed, text, sizeof text), &seed, &checks, &tightest, false);
    }
    assert_true(checks > 1000000);
    assert_true(tightest > 0.95); /* the bounds are not idle either */
}

static void no_pair_beats_the_prices_of_the_published_scheme(void **state) {
    (void)state;
    uint64_t seed = 77;
    size_t checks = 0;
    double tightest = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        AT_CASE(i);
        char text[4000];
        attack_problem(random_problem(&seed, text, sizeof text), &seed, &checks, &tightest, true);
    }
    assert_true(tightest > 0.9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pair_of_states_beats_the_certified_prices),
        cmocka_unit_test(no_pair_beats_the_prices_of_the_published_scheme),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
