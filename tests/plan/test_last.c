/* The last round of --feasible always: what it costs, how far its values can be off, and what is refused. */
#include "plan/account/account.h"
#include "planned.h"

#define EXAMPLE(name) TACIT_SOURCE_DIR "/examples/" name ".tacit"

static tc_plan_options asked(tc_mechanism mechanism, tc_adjacency unit, double bound) {
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    options.mechanism = mechanism;
    options.adjacency = unit;
    options.adjacency_bound = bound;
    options.epsilon = 1;
    options.delta = 1e-6;
    options.rounds = 500;
    options.certain = true;
    options.last_share = NAN;
    return options;
}

static const struct {
    const char *path;
    tc_adjacency unit;
    double bound;
} cases[] = {
    {EXAMPLE("paper"), TC_ADJACENCY_ONE, 1},     {EXAMPLE("paper"), TC_ADJACENCY_ENSEMBLE, 1},
    {EXAMPLE("paper"), TC_ADJACENCY_AGENT, NAN}, {EXAMPLE("paper"), TC_ADJACENCY_WITHIN, 0.5},
    {EXAMPLE("num"), TC_ADJACENCY_ONE, 1},       {EXAMPLE("robots"), TC_ADJACENCY_AGENT, NAN},
    {EXAMPLE("dispatch"), TC_ADJACENCY_ONE, 1},
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

static tc_plan *plan_case(planned *p, size_t i, tc_mechanism mechanism) {
    *p = planned_problem(cases[i].path, NULL);
    tc_plan_options options = asked(mechanism, cases[i].unit, cases[i].bound);
    tc_plan *plan = planned_plan(p, &options);
    if (plan->problem != NULL)
        fail_msg("%s: %s", cases[i].path, plan->problem);
    return plan;
}

static void everything_together_costs_what_was_asked(void **state) {
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++)
        for (int law = TC_MECHANISM_LAPLACE; law <= TC_MECHANISM_GAUSSIAN; law++) {
            planned p;
            const tc_plan *plan = plan_case(&p, i, (tc_mechanism)law);
            tc_run_price price = tc_price_of_run(plan);
            assert_true(price.epsilon <= 1 && price.epsilon > 0.99);
            assert_true(price.delta == 1e-6);
            for (size_t o = 0; o < plan->observer_count; o++)
                assert_true(!(plan->observers[o].delta_at_asked > 1e-6));
            const tc_last_round *last = plan->last;
            assert_true(last->price <= last->target && last->price > 0.99 * last->target);
            assert_true(last->delta > 0 && last->delta <= 1e-6);
            assert_true(last->plan->is_last && last->plan->rounds == 1);
            for (size_t c = 0; c < last->plan->channel_count; c++) {
                const tc_channel *channel = &last->plan->channels[c];
                assert_true(channel->kind == TC_CHANNEL_CONSTRAINTS);
                assert_true((double)channel->bound >= last->cut * channel->lattice_scale);
                assert_true((double)channel->bound <= last->cut * channel->lattice_scale + 1);
            }
            planned_end(&p);
        }
}

/* Pairs of lattice states that the unit allows: in units of the noise, g as it is computed moves by no more than is
 * paid for. */
static void no_pair_of_averages_costs_more(void **state) {
    (void)state;
    uint64_t random = 5;
    for (size_t i = 0; i < CASE_COUNT; i++)
        for (int law = TC_MECHANISM_LAPLACE; law <= TC_MECHANISM_GAUSSIAN; law++) {
            planned p;
            const tc_plan *plan = plan_case(&p, i, (tc_mechanism)law);
            if (cases[i].unit == TC_ADJACENCY_ENSEMBLE) {
                planned_end(&p);
                continue;
            }
            bool gaussian = law == TC_MECHANISM_GAUSSIAN;
            release_of r = planned_release(&p, plan->last->plan);
            r.rounded = true;
            double *x = TC_NEW(p.arena, double, p.model->state_count), *y = TC_NEW(p.arena, double, r.count),
                   *z = TC_NEW(p.arena, double, r.count), step = ldexp(1, plan->state_exponent), most = 0;
            for (int trial = 0; trial < 400; trial++) {
                for (size_t c = 0; c < p.model->state_count; c++) {
                    tc_interval range = tc_coord_range(p.model, c);
                    double at = range.lo + (range.hi - range.lo) *
                                               (trial % 2 ? uniform(&random, 0, 1) : rint(uniform(&random, 0, 1)));
                    x[c] = fmin(floor(range.hi / step), fmax(ceil(range.lo / step), rint(at / step))) * step;
                }
                planned_evaluate(&r, x, y);
                const tc_family *family =
                    &p.model->families[(size_t)(uniform(&random, 0, 1) * (double)p.model->family_count)];
                size_t member = (size_t)(uniform(&random, 0, 1) * (double)family->count);
                double left = cases[i].unit == TC_ADJACENCY_AGENT ? INFINITY
                              : cases[i].unit == TC_ADJACENCY_ONE ? plan->last->multiplier
                                                                  : cases[i].bound;
                for (size_t c = 0; c < family->dim; c++) { /* by all that is left, in l1, which is less in l2 */
                    size_t at = tc_coord_of(family, member, c);
                    tc_interval range = tc_coord_range(p.model, at);
                    double to = trial % 3 ? range.hi : range.lo;
                    to = fmin(floor(range.hi / step), fmax(ceil(range.lo / step), rint(to / step))) * step;
                    double by = fmax(-left, fmin(left, to - x[at]));
                    by = trunc(by / step) * step;
                    x[at] += by;
                    left -= fabs(by);
                }
                planned_evaluate(&r, x, z);
                double cost = 0;
                for (size_t e = 0; e < r.count; e++) {
                    double moved = fabs(y[e] - z[e]) / r.shown[e].scale;
                    cost += gaussian ? moved * moved : moved;
                }
                most = fmax(most, (gaussian ? sqrt(cost) : cost) / plan->last->price);
            }
            assert_true(most <= 1);
            assert_true(most > 0.05);
            planned_end(&p);
        }
}

/* Rounding, sums on their lattices and the lattice of the states: within the allowance of g at the average. */
static void values_are_as_near_as_the_allowance_says(void **state) {
    (void)state;
    uint64_t random = 6;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        planned p;
        const tc_plan *plan = plan_case(&p, i, TC_MECHANISM_GAUSSIAN);
        release_of r = planned_release(&p, plan->last->plan);
        double *x = TC_NEW(p.arena, double, p.model->state_count), *y = TC_NEW(p.arena, double, r.count),
               *z = TC_NEW(p.arena, double, r.count), step = ldexp(1, plan->state_exponent), most = 0;
        for (int trial = 0; trial < 400; trial++) {
            for (size_t c = 0; c < p.model->state_count; c++) {
                tc_interval range = tc_coord_range(p.model, c);
                x[c] = range.lo + (range.hi - range.lo) * uniform(&random, 0, 1);
            }
            r.rounded = false;
            planned_evaluate(&r, x, y);
            for (size_t c = 0; c < p.model->state_count; c++) {
                tc_interval range = tc_coord_range(p.model, c);
                x[c] = fmin(floor(range.hi / step), fmax(ceil(range.lo / step), rint(x[c] / step))) * step;
            }
            r.rounded = true;
            planned_evaluate(&r, x, z);
            for (size_t e = 0; e < r.count; e++)
                most = fmax(most, fabs(y[e] - z[e]) / plan->last->allowance[r.shown[e].position]);
        }
        assert_true(most <= 1 && most > 0.01);
        planned_end(&p);
    }
}

static void shares_of_the_price(void **state) {
    (void)state;
    planned p = planned_problem(EXAMPLE("paper"), NULL);
    for (int law = TC_MECHANISM_LAPLACE; law <= TC_MECHANISM_GAUSSIAN; law++) {
        tc_plan_options options = asked((tc_mechanism)law, TC_ADJACENCY_AGENT, NAN);
        options.last_share = 0.25;
        const tc_plan *plan = planned_plan(&p, &options);
        assert_null(plan->problem);
        double whole = law == TC_MECHANISM_GAUSSIAN ? tc_price_of_run(plan).gdp : 1;
        double part = law == TC_MECHANISM_GAUSSIAN ? sqrt(0.25) : 0.25;
        assert_true(fabs(plan->last->price / (part * whole) - 1) < 1e-3);
        options.last_share = NAN;
        plan = planned_plan(&p, &options);
        assert_true(plan->last->share > 0.02 && plan->last->share < 0.98);
    }
    planned_end(&p);
}

static void plans_without_it_have_nothing_of_it(void **state) {
    (void)state;
    planned p = planned_problem(EXAMPLE("paper"), NULL);
    tc_plan_options options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, 1);
    options.certain = false;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->last);
    assert_true(plan->delta == 0);
    for (size_t i = 0; i < plan->channel_count; i++)
        assert_true(plan->channels[i].bound == 0);
    planned_end(&p);
}

static void refuse(planned *p, tc_plan_options options, const char *words) {
    const tc_plan *plan = planned_plan(p, &options);
    assert_non_null(plan->problem);
    if (strstr(plan->problem, words) == NULL)
        fail_msg("'%s' is not in: %s", words, plan->problem);
    assert_true(plan->refusal_is_usage);
}

/* Many rounds with noise on states make the lattice of states coarse, and the cloud enforces a public set on it: sum <=
 * 0.5
 * + 2 h for each of 24 states. One agent can do so much in the last round too. */
static void a_public_set_is_priced_on_the_lattice_where_it_is_enforced(void **state) {
    (void)state;
    planned p = planned_problem("cap", "agents home[i in 1..40] {\n state p[24] in [0, 2]\n public set sum(p) <= 0.5\n"
                                       " private minimize sumsq(p - 1)\n gap 30\n slater p = 0.01\n}\n"
                                       "constraint all: sum(home: sum(p)) <= 15\nschedule { rounds 100 }\n");
    tc_plan_options options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_AGENT, NAN);
    options.placement = TC_PLACEMENT_STATES;
    options.epsilon = 0.05;
    options.rounds = 1e8;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    double h = ldexp(1, plan->state_exponent);
    assert_true(h > 1e-3);
    assert_true(plan->last->plan->channels[0].sensitivity >= 0.5 + 24 * 2 * h);
    planned_end(&p);
}

/* Noise with bounds hides what was planned, and not a thousand times as much at a thousand times the epsilon. */
static void a_tiny_distance_at_a_tiny_price_is_not_called_private(void **state) {
    (void)state;
    planned p =
        planned_problem("homes", "agents home[i in 1..40] {\n state p[6] in [0, 2]\n private minimize sumsq(p - 1)\n"
                                 " gap 30\n slater p = 0.5\n}\nconstraint feeder[t in 1..6]: sum(home: p[t]) <= 30\n"
                                 "schedule { rounds 100 }\n");
    tc_plan_options options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, 1e-5);
    options.epsilon = 1e-5;
    options.rounds = 100;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    assert_true(tc_hidden_share(plan) < 1e-3);
    options.certain = false;
    options.delta = 0;
    double without = tc_hidden_share(planned_plan(&p, &options));
    assert_true(without > 1e-2);
    planned_end(&p);
}

static void what_is_not_proved_is_refused_by_name(void **state) {
    (void)state;
    planned p = planned_problem(EXAMPLE("paper"), NULL);
    tc_plan_options options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, 1);
    options.method = TC_METHOD_PUBLISHED;
    refuse(&p, options, "--method tacit");
    options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, 1);
    options.delta = 0;
    refuse(&p, options, "needs a delta");
    options = asked(TC_MECHANISM_NONE, TC_ADJACENCY_ONE, 1);
    refuse(&p, options, "--mechanism none");
    options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, 1);
    options.hold_cap = 2;
    refuse(&p, options, "--on-late hold");
    options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_AGENT, NAN);
    options.last_share = 1;
    refuse(&p, options, "between 0 and 1");
    planned_end(&p);
    p = planned_problem(
        "no slater",
        "agent a { state x in [0, 1]; private minimize x^2 }\nagent b { state x in [0, 1]; private minimize x^2 }\n"
        "constraint c: a.x + b.x <= 1\ndual radius 5\nschedule { rounds 100 }\n");
    refuse(&p, asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, 1), "not every agent has one");
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_together_costs_what_was_asked),
        cmocka_unit_test(no_pair_of_averages_costs_more),
        cmocka_unit_test(values_are_as_near_as_the_allowance_says),
        cmocka_unit_test(shares_of_the_price),
        cmocka_unit_test(plans_without_it_have_nothing_of_it),
        cmocka_unit_test(a_public_set_is_priced_on_the_lattice_where_it_is_enforced),
        cmocka_unit_test(a_tiny_distance_at_a_tiny_price_is_not_called_private),
        cmocka_unit_test(what_is_not_proved_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
