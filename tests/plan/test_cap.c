/* Public sets on the lattice: honest agents are left alone, everybody is inside afterwards, and two states inside never
 * tell more than the certified prices say. */
/* labels: not-asan not-clang */
#include "plan/planned.h"

#include "plan/account/account.h"
#include "plan/sensitivity/cap.h"

enum { PROBLEMS = 16, PAIRS = 1000, MOST_ENTRIES = 512, MOST_STATES = 64, DIM = 5 };

/* ---- one family, by hand -------------------------------------------------------------------------------------------
 */

static planned random_box(uint64_t *seed) {
    char text[1000], weights[200] = "";
    for (int c = 0; c < DIM; c++) {
        double a = random_unit(seed) < 0.2 ? 0 : 4 * random_unit(seed) - 2;
        a = c == 0 ? 0.3 : a;
        size_t at = strlen(weights);
        (void)snprintf(weights + at, sizeof weights - at, "%s%.17g", c > 0 ? ", " : "", a);
    }
    double low = -3 * random_unit(seed);
    (void)snprintf(text, sizeof text,
                   "param w = [%s]\nagents a[i in 1..3] {\n  state x[%d] in [%.17g * i, %.17g]\n"
                   "  public set dot(w, x) <= %.17g * i\n  private minimize 0\n}\nconstraint g: sum(a: x[1]) <= 9\n",
                   weights, DIM, low, 1 + 5 * random_unit(seed), 0.2 + random_unit(seed));
    return planned_problem("box.tacit", text);
}

static double part(const tc_family *family, size_t k, size_t c, double x) {
    const tc_set_piece *set = tc_public_set(family);
    return c >= set->first && c < set->first + set->count ? tc_coef_at(set->center[c - set->first], k) * x : 0;
}

static double least_corner(const tc_family *family, size_t k, size_t c) {
    return part(family, k, c, 1) < 0 ? tc_coef_at(family->upper[c], k) : tc_coef_at(family->lower[c], k);
}

/* Moves x towards the corner where a.x is least until a.x <= bound, in real numbers. */
static void shrink(const tc_family *family, size_t k, double bound, double *x) {
    double at_corner = 0, here = 0;
    for (size_t c = 0; c < family->dim; c++) {
        at_corner += part(family, k, c, least_corner(family, k, c));
        here += part(family, k, c, x[c]);
    }
    double share = here > bound ? (bound - at_corner) / (here - at_corner) : 1;
    for (size_t c = 0; c < family->dim; c++)
        x[c] = least_corner(family, k, c) + share * (x[c] - least_corner(family, k, c));
}

static int64_t nearest(const tc_family *family, size_t k, size_t c, int exponent, double x) {
    double least = ceil(ldexp(tc_coef_at(family->lower[c], k), -exponent));
    double most = floor(ldexp(tc_coef_at(family->upper[c], k), -exponent));
    return (int64_t)fmin(fmax(rint(ldexp(x, -exponent)), least), most);
}

static void random_point(const tc_family *family, size_t k, uint64_t *seed, double *x) {
    bool corner = random_unit(seed) < 0.5;
    for (size_t c = 0; c < family->dim; c++) {
        double u = random_unit(seed);
        u = corner ? rint(u) : u;
        x[c] =
            tc_coef_at(family->lower[c], k) + u * (tc_coef_at(family->upper[c], k) - tc_coef_at(family->lower[c], k));
    }
}

static void honest_states_are_never_moved(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 20; i++) {
        AT_CASE(i);
        planned p = random_box(&seed);
        const tc_family *family = &p.model->families[0];
        for (int exponent = -3; exponent > -50; exponent -= 3) {
            const tc_caps *caps = tc_caps_new(p.arena, p.model, exponent);
            for (int n = 0; n < 60; n++) {
                size_t k = (size_t)n % 3;
                double x[DIM], size = 1e-12 + ldexp(1, exponent) / 4; /* an agent's own arithmetic is not exact */
                int64_t units[DIM], before[DIM];
                random_point(family, k, &seed, x);
                shrink(family, k, tc_coef_at(tc_public_set(family)->radius, k), x);
                for (size_t c = 0; c < DIM; c++)
                    before[c] = units[c] = nearest(family, k, c, exponent,
                                                   x[c] + (exponent > -36 ? size * (2 * random_unit(&seed) - 1) : 0));
                assert_false(tc_cap_keep(caps->families[0], k, units, 1));
                assert_memory_equal(units, before, sizeof units);
            }
        }
        planned_end(&p);
    }
}

static void everybody_is_inside_afterwards(void **state) {
    (void)state;
    uint64_t seed = 6;
    size_t moved = 0;
    for (int i = 0; i < 20; i++) {
        AT_CASE(i);
        planned p = random_box(&seed);
        const tc_family *family = &p.model->families[0];
        const tc_set_piece *set = tc_public_set(family);
        for (int exponent = -3; exponent > -50; exponent -= 3) {
            const tc_caps *caps = tc_caps_new(p.arena, p.model, exponent);
            double h = ldexp(1, exponent);
            for (int n = 0; n < 60; n++) {
                size_t k = (size_t)n % 3;
                double x[DIM], sum = 0, sizes = 0;
                int64_t units[DIM], again[DIM];
                random_point(family, k, &seed, x);
                for (size_t c = 0; c < DIM; c++)
                    units[c] = nearest(family, k, c, exponent, x[c]);
                moved += tc_cap_keep(caps->families[0], k, units, 1);
                for (size_t c = 0; c < DIM; c++) {
                    assert_true(units[c] == nearest(family, k, c, exponent, (double)units[c] * h));
                    sum += part(family, k, c, (double)units[c] * h);
                    sizes += fabs(part(family, k, c, 1));
                }
                /* weights have fewer bits on finer lattices, and the set is wider by that */
                if (exponent >= -24)
                    assert_true(sum <= tc_coef_at(set->radius, k) + 2 * h * sizes + 1e-7);
                memcpy(again, units, sizeof again);
                assert_false(tc_cap_keep(caps->families[0], k, again, 1));
            }
        }
        planned_end(&p);
    }
    assert_true(moved > 1000);
}

static void forty_five_kilowatt_hours_cut_what_a_home_can_move(void **state) {
    (void)state;
    planned p = planned_problem("home.tacit", "agent home {\n  state p[24] in [0, 7.4]\n  public set sum(p) <= 45\n"
                                              "  private minimize 0\n}\nconstraint g: home.p[1] <= 9\n");
    const tc_family *family = &p.model->families[0];
    const tc_caps *caps = tc_caps_new(p.arena, p.model, -18);
    double wide = 45 + 2 * 24 * 0x1p-18;
    double l1 = tc_cap_reach(p.arena, caps, family, 0, 0, false), l2 = tc_cap_reach(p.arena, caps, family, 0, 0, true);
    assert_true(fabs(l1 - 2 * wide) < 1e-9);
    assert_true(fabs(l2 - sqrt(2 * wide * 7.4)) < 1e-9);
    /* two plans that charge in other hours: six at full power, the rest in a seventh */
    assert_true(l2 >= sqrt(12 * 7.4 * 7.4 + 2 * pow(45 - 6 * 7.4, 2)) && l2 < 25.9);
    planned_end(&p);
}

/* ---- prices --------------------------------------------------------------------------------------------------------
 */

static const char *const rows[] = {
    "sum(a: %.3g * x[1] + x[2]) <= 90",
    "sum(a: %.3g * sum(x)) <= 90",
    "sum(a: x[3] - %.3g * x[4]) <= 90",
    "sum(a: %.3g * x[1]^2 + x[5]) <= 90",
    "sumsq(sum(a: x) / %.3g) <= 900",
    "sumsq(a[1].x - %.3g * a[2].x) <= 900",
    "exp(0.05 * sum(a: x[1] + x[2]) + 0.02 * %.3g * b.y) <= 90",
    "sum(a: %.3g * huber(x[1], 0.5)) <= 90",
    "%.3g * b.y + a[2].x[1] + sum(a: x[5]) <= 90",
    "sum(a: x[1] * x[2]) * %.3g + b.y^4 <= 9000",
};

static const char *random_problem(uint64_t *seed, char *text, size_t size) {
    bool separate = random_unit(seed) < 0.4, varies = random_unit(seed) < 0.3;
    int at =
        snprintf(text, size,
                 "agents a[i in 1..3] {\n  state x[5] in [%.3g, %.3g]\n  public set %.3g * x[1] + x[2] + %s x[3] + "
                 "%.3g * x[4] + %s * x[5] <= %.3g%s\n  private minimize sumsq(x)\n}\n"
                 "agent b {\n  state y in [-1, 1]\n  private minimize y^2\n}\n",
                 -random_unit(seed), 1 + random_unit(seed), 0.5 + random_unit(seed), random_unit(seed) < 0.5 ? "-" : "",
                 0.5 + random_unit(seed), random_unit(seed) < 0.3 ? "0" : "0.7", 0.3 + random_unit(seed),
                 varies ? " + 0.1 * i" : "");
    for (int t = 1; separate && t <= 5; t++)
        at += snprintf(text + at, size - (size_t)at, "constraint s%d: sum(a: x[%d]) <= 90\n", t, t);
    int count = separate ? (int)(2 * random_unit(seed)) : 1 + (int)(3 * random_unit(seed));
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

/* A vertex of box and cap, or a point inside; then on the lattice and into the set as the cloud does it. */
static void choose_point(const tc_family *family, size_t k, const tc_caps *caps, int exponent, uint64_t *seed,
                         double *x) {
    int64_t units[DIM];
    size_t order[DIM];
    const tc_cap *cap = caps->families[0];
    random_point(family, k, seed, x);
    bool vertex = random_unit(seed) < 0.7;
    for (size_t c = 0; c < DIM; c++) {
        order[c] = c;
        units[c] = nearest(family, k, c, exponent, vertex ? least_corner(family, k, c) : x[c]);
    }
    for (size_t c = DIM; c-- > 1;) {
        size_t other = (size_t)(random_unit(seed) * (double)(c + 1)), kept = order[c];
        order[c] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; vertex && i < DIM; i++) { /* as far as the cap allows, one after the other */
        size_t c = order[i];
        bool falls = part(family, k, c, 1) < 0;
        double far = falls ? tc_coef_at(family->lower[c], k) : tc_coef_at(family->upper[c], k);
        if (random_unit(seed) < 0.3)
            continue;
        int64_t near = units[c], used = 0;
        units[c] = nearest(family, k, c, exponent, far);
        for (size_t d = 0; d < DIM; d++)
            used += tc_cap_use(cap, k, d, units[d]);
        int64_t excess = used - tc_cap_bound(cap, k);
        if (excess > 0)
            units[c] = tc_cap_moved(cap, k, c, units[c], &excess);
        if (excess > 0)
            units[c] = near;
    }
    (void)tc_cap_keep(cap, k, units, 1);
    for (size_t c = 0; c < DIM; c++)
        x[c] = ldexp((double)units[c], exponent);
}

typedef struct tightness {
    size_t checks;
    double price;
} tightness;

static void attack(planned *p, tc_plan *plan, uint64_t *seed, tightness *found) {
    const tc_family *family = &p->model->families[0];
    const tc_caps *caps = tc_caps_of_plan(p->arena, p->model, plan);
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN, states = plan->placement == TC_PLACEMENT_STATES;
    release_of r = {0};
    if (!states)
        r = planned_release(p, plan);
    double allowed = gaussian ? 0 : INFINITY;
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        if (o->kind == TC_OBSERVER_EAVESDROPPER)
            allowed = gaussian ? o->gdp / sqrt(plan->rounds) : o->epsilon / plan->rounds;
    }
    for (int n = 0; n < PAIRS; n++) {
        double x[2][MOST_STATES], f[2][MOST_ENTRIES], mine[DIM], sum = 0;
        r.rounded = true;
        for (size_t k = 0; k < 3; k++) {
            choose_point(family, k, caps, plan->state_exponent, seed, mine);
            for (size_t c = 0; c < DIM; c++)
                x[0][tc_coord_of(family, k, c)] = x[1][tc_coord_of(family, k, c)] = mine[c];
        }
        size_t k = (size_t)(3 * random_unit(seed)), b = p->model->families[1].first_coord;
        x[0][b] = x[1][b] = ldexp(rint(ldexp(random_unit(seed), -plan->state_exponent)), plan->state_exponent);
        choose_point(family, k, caps, plan->state_exponent, seed, mine);
        for (size_t c = 0; c < DIM; c++)
            x[1][tc_coord_of(family, k, c)] = mine[c];
        for (int w = 0; !states && w < 2; w++)
            planned_evaluate(&r, x[w], f[w]);
        for (size_t e = 0; e < (states ? DIM : r.count); e++) {
            size_t at = tc_coord_of(family, k, e % DIM);
            double moved = states ? fabs(x[0][at] - x[1][at]) / plan->channels[0].scale
                                  : fabs(f[0][e] - f[1][e]) / r.shown[e].scale;
            sum += gaussian ? moved * moved : moved;
        }
        sum = gaussian ? sqrt(sum) : sum;
        found->checks++;
        if (sum > allowed * (1 + 1e-10))
            fail_msg("%s\n%.17g where %.17g was certified (%s)", p->model->source.text, sum, allowed,
                     gaussian ? "gaussian" : "laplace");
        found->price = fmax(found->price, sum / allowed);
    }
}

static void no_pair_within_public_sets_beats_the_certified_prices(void **state) {
    (void)state;
    uint64_t seed = 20250101;
    tightness found[2] = {{0}};
    for (int i = 0; i < PROBLEMS; i++) {
        AT_CASE(i);
        char text[4000];
        planned p = planned_problem("attacked.tacit", random_problem(&seed, text, sizeof text));
        for (int way = 0; way < 4; way++) {
            tc_plan_options options = planned_options();
            options.mechanism = way % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
            options.placement = way < 2 ? TC_PLACEMENT_OUTPUTS : TC_PLACEMENT_STATES;
            options.method = way < 2 ? TC_METHOD_PUBLISHED : TC_METHOD_TACIT;
            options.adjacency = TC_ADJACENCY_AGENT;
            options.epsilon = 1;
            options.delta = 1e-5;
            options.rounds = 1000;
            tc_plan *plan = planned_plan(&p, &options);
            if (plan->problem != NULL)
                fail_msg("%s\n%s", plan->problem, text);
            assert_true(tc_relies_on_caps(plan));
            attack(&p, plan, &seed, &found[way % 2]);
        }
        planned_end(&p);
    }
    assert_true(found[0].checks > 30000 && found[1].checks > 30000);
    assert_true(found[0].price > 0.95 && found[1].price > 0.9); /* the bounds are not idle either */
}

static const tc_adjacency with_distance[] = {TC_ADJACENCY_ONE, TC_ADJACENCY_ENSEMBLE};

static void other_units_rely_on_the_box_alone(void **state) {
    (void)state;
    static const char head[] = "agents a[i in 1..3] {\n  state x[5] in [0, 2]\n", set[] = "  public set sum(x) <= 3\n",
                      tail[] = "  private minimize 0\n  gap 0\n  slater x = 0\n}\nconstraint g: sum(a: x[1]) <= 9\n";
    char with[500], without[500];
    (void)snprintf(with, sizeof with, "%s%s%s", head, set, tail);
    (void)snprintf(without, sizeof without, "%s%s", head, tail);
    planned a = planned_problem("with.tacit", with), b = planned_problem("without.tacit", without);
    for (size_t u = 0; u < 3; u++) {
        tc_plan_options options = planned_options();
        options.mechanism = TC_MECHANISM_GAUSSIAN;
        options.adjacency = u < 2 ? with_distance[u] : TC_ADJACENCY_AGENT;
        options.adjacency_bound = 0.5;
        options.epsilon = 1;
        options.delta = 1e-6;
        options.rounds = 100;
        const tc_plan *first = planned_plan(&a, &options), *second = planned_plan(&b, &options);
        assert_null(first->problem);
        assert_int_equal(memcmp(first->hash, second->hash, sizeof first->hash) == 0, u < 2);
        assert_true(tc_relies_on_caps(first) == (u == 2) && !tc_relies_on_caps(second));
        assert_true(u == 2 || tc_caps_of_plan(a.arena, a.model, first) == NULL);
    }
    planned_end(&a);
    planned_end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_states_are_never_moved),
        cmocka_unit_test(everybody_is_inside_afterwards),
        cmocka_unit_test(forty_five_kilowatt_hours_cut_what_a_home_can_move),
        cmocka_unit_test(no_pair_within_public_sets_beats_the_certified_prices),
        cmocka_unit_test(other_units_rely_on_the_box_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
