/* The convergence theorem for a run: its conditions, and the estimate after T rounds and for all later rounds. */
#include "theory/bound.h"

#include "calculus/interval/interval.h"

/* paper: Theorem 3 */
bool tc_bound_conditions(const tc_schedule *schedule, tc_bound_condition conditions[TC_BOUND_CONDITIONS]) {
    double c1 = schedule->regularization_decay, c2 = schedule->step_decay;
    const tc_bound_condition all[TC_BOUND_CONDITIONS] = {
        {"sum of gamma_k alpha_k = infinity", "c1 + c2 <= 1", c1 + c2 <= 1},
        {"gamma_k / alpha_k -> 0", "c1 < c2", c1 < c2},
        {"alpha_k -> 0", "c1 > 0", c1 > 0},
        {"(alpha_{k-1} - alpha_k) / (gamma_k alpha_k^2) -> 0", "c1 + c2 < 1 or c1 = 0", c1 + c2 < 1 || c1 == 0},
    };
    bool hold = true;
    for (size_t i = 0; i < TC_BOUND_CONDITIONS; i++) {
        conditions[i] = all[i];
        hold = hold && all[i].holds;
    }
    return hold;
}

/* paper: eq:rateestim
 * Markov: P(v > r^2) <= E[v] / r^2; and the same for the supremum of all later v, with the tail added. */
static double radius_of(double expected) {
    return tc_sqrt_up(tc_div_up(expected, tc_add_down(1, -TC_BOUND_CONFIDENCE)));
}

static double probability_of(double expected, double within) {
    return fmax(0, tc_add_down(1, -tc_div_up(expected, tc_mul_down(within, within))));
}

static const char *shown_round(tc_arena *arena, double k) {
    if (k < 1e9)
        return tc_arena_format(arena, "%.0f", k);
    return tc_arena_format(arena, "10^%.1f", ceil(10 * log10(k)) / 10);
}

static const char *reason(tc_arena *arena, const tc_bound_setting *setting, const tc_bound_estimate *e, double rounds) {
    if (setting->constants.problem != NULL)
        return tc_arena_format(arena, "the theorem does not apply: %s", setting->constants.problem);
    if (isinf(e->valid_from) && setting->schedule.regularization_decay > setting->schedule.step_decay)
        return "the step falls more slowly than the regularization, so that rounds stop contracting";
    if (isinf(e->valid_from))
        return "no round contracts under this schedule: its step is too long for its regularization";
    if (e->valid_from > rounds)
        return tc_arena_format(arena, "rounds contract only from round %s on, and there are %s",
                               shown_round(arena, e->valid_from), shown_round(arena, rounds));
    if (isinf(e->informative_from))
        return "what it adds in a round exceeds what the round contracts, as far as was looked";
    if (isnan(e->informative_from))
        return "it does not fall below the trivial bound D_z^2, and noise that hides a whole agent grows with the "
               "number of rounds";
    return tc_arena_format(arena, "in %s rounds it does not fall below the trivial bound D_z^2; that takes %s",
                           shown_round(arena, rounds), shown_round(arena, e->informative_from));
}

static tc_bound_estimate estimate_at(tc_arena *arena, const tc_bound_setting *setting, double rounds, double within,
                                     const tc_plan *plan) {
    double trivial = tc_mul_up(setting->constants.diameter, setting->constants.diameter);
    tc_bound_estimate e = {.valid_from = HUGE_VAL,
                           .informative_from = HUGE_VAL,
                           .error = trivial,
                           .within = isnan(within) ? setting->constants.diameter / 10 : within,
                           .tail = HUGE_VAL,
                           .radius_forever = HUGE_VAL};
    if (setting->constants.problem == NULL) {
        e.valid_from = tc_bound_valid_from(setting);
        e.error = tc_bound_error(setting, rounds, tc_bound_full_effort);
        e.informative_from = tc_bound_informative_from(setting, TC_BOUND_WORTH, tc_bound_full_effort);
        e.tail = tc_bound_tail(setting, rounds + 1);
        /* noise that hides one whole agent grows with the horizon, so this says nothing about longer runs */
        if (plan->adjacency == TC_ADJACENCY_AGENT && plan->mechanism != TC_MECHANISM_NONE &&
            e.informative_from > rounds)
            e.informative_from = NAN;
    }
    e.vacuous = !(e.error <= tc_mul_down(TC_BOUND_WORTH, trivial));
    e.radius = fmin(setting->constants.diameter, radius_of(e.error));
    e.probability = e.within >= setting->constants.diameter ? 1 : probability_of(e.error, e.within);
    if (!e.vacuous && isfinite(e.tail)) {
        e.radius_forever = radius_of(tc_add_up(e.error, e.tail));
        e.probability_forever = probability_of(tc_add_up(e.error, e.tail), e.within);
    }
    if (e.within >= setting->constants.diameter)
        e.probability_forever = 1;
    e.because = e.vacuous ? reason(arena, setting, &e, rounds) : NULL;
    return e;
}

/* <G(xi), xi - z> <= alpha <xi, z - xi> <= alpha |z|^2 / 4 for every z. */
static double gap_of(double regularization, double reach) {
    return tc_mul_up(0.25, tc_mul_up(regularization, tc_mul_up(reach, reach)));
}

tc_bound *tc_bound_make(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                        const tc_analysis *analysis, const tc_plan *plan, double dual_radius,
                        const tc_bound_wishes *wishes, const tc_monitor *monitor) {
    tc_bound *bound = TC_NEW(arena, tc_bound, 1);
    *bound = (tc_bound){.model = model, .plan = plan, .rounds = plan->rounds, .schedule = model->schedule};
    bound->conditions_hold = tc_bound_conditions(&bound->schedule, bound->conditions);
    bound->summable = tc_bound_summable(&bound->schedule);
    tc_progress(monitor, "constants of the bound", 0);
    bound->constants = tc_bound_measure(arena, model, derivatives, analysis, plan, dual_radius, monitor);
    if (bound->constants.problem == NULL)
        bound->constants.problem = wishes->problem;
    bound->outside_radius = wishes->outside_radius && bound->constants.problem == NULL;
    tc_progress(monitor, "recursion", 0);
    tc_bound_setting setting = {bound->constants, bound->schedule, TC_BOUND_TIGHT};
    bound->tight = estimate_at(arena, &setting, bound->rounds, wishes->within, plan);
    setting.form = TC_BOUND_PUBLISHED;
    bound->published = estimate_at(arena, &setting, bound->rounds, wishes->within, plan);
    tc_interval power = tc_ipowr(tc_point(bound->rounds), -bound->schedule.regularization_decay);
    bound->regularization = tc_mul_up(bound->schedule.regularization, power.hi);
    bound->gap = bound->constants.problem != NULL || bound->outside_radius
                     ? (double)NAN
                     : gap_of(bound->regularization, bound->constants.reach);
    return bound;
}

bool tc_bound_says_something(const tc_bound *bound) { return bound->conditions_hold && !bound->tight.vacuous; }
