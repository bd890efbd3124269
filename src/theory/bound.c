/* Section IV of the paper: how the error v_k = |z(k) - xi_{k-1}|^2 changes in one round, and the bounds that follow
 * after T rounds and for all later rounds. Everything is computed in intervals over a block of rounds first .. last,
 * and rounded so that it stays a bound. Names: step is gamma_k, product is gamma_k alpha_k, ratio is gamma_k /
 * alpha_k. */
#include "theory/bound.h"

#include "calculus/interval/interval.h"

const tc_bound_effort tc_bound_full_effort = {.direct = 1 << 16, .ratio = 1 + 0x1p-10};

static const double whole_limit = 0x1p53; /* beyond it, rounds are counted in doubles, all of them whole */
static const double round_limit = 1e300;

static tc_interval minus(double a, tc_interval b) { return tc_isub(tc_point(a), b); }
static tc_interval plus(double a, tc_interval b) { return tc_iadd(tc_point(a), b); }

/* ---- the schedule: alpha_k = alpha k^-c1, gamma_k = gamma k^-c2 ---- */

typedef struct round_steps {
    tc_interval k, step, product, ratio;
} round_steps;

static round_steps steps_of(const tc_schedule *s, double first, double last) {
    tc_interval k = {first, last};
    double c1 = s->regularization_decay, c2 = s->step_decay;
    tc_interval product = tc_imul(tc_point(s->step), tc_point(s->regularization));
    tc_interval ratio = tc_idiv(tc_point(s->step), tc_point(s->regularization));
    tc_interval total = tc_iadd(tc_point(c1), tc_point(c2)), gap = tc_isub(tc_point(c1), tc_point(c2));
    /* k >= 1: a smaller exponent gives a smaller power, so that the ends of the exponent's enclosure suffice */
    tc_interval fall = {tc_ipowr(k, -total.hi).lo, tc_ipowr(k, -total.lo).hi};
    tc_interval rise = {tc_ipowr(k, gap.lo).lo, tc_ipowr(k, gap.hi).hi};
    return (round_steps){k, tc_imul(tc_point(s->step), tc_ipowr(k, -c2)), tc_imul(product, fall), tc_imul(ratio, rise)};
}

/* ---- how far xi_k moves in a round ---- */

/* paper: eq:xidiff, over M_xi: (alpha_{k-1} - alpha_k) / alpha_k = (1 - 1/k)^-c - 1 <= (c/k) (1 - 1/k)^-(c + 1). */
static double published_drift(tc_interval k, double c) {
    tc_interval kept = minus(1, tc_idiv(tc_point(1), k));
    double plain = tc_isub(tc_ipowr(kept, -c), tc_point(1)).hi;
    double smooth = tc_imul(tc_idiv(tc_point(c), k), tc_ipowr(kept, -c - 1)).hi;
    return fmax(0, fmin(plain, smooth));
}

/* Tight, over M_xi: 1 - (1 - 1/k)^c <= (c/k) (1 - 1/k)^min(c - 1, 0), the second where the first cancels. */
static double tight_drift(tc_interval k, double c) {
    tc_interval kept = minus(1, tc_idiv(tc_point(1), k));
    double plain = minus(1, tc_ipowr(kept, c)).hi;
    double smooth = tc_imul(tc_idiv(tc_point(c), k), tc_ipowr(kept, fmin(c - 1, 0))).hi;
    return fmax(0, fmin(plain, smooth));
}

/* paper: Lemma 1
 * rho_k = M_xi^2 ((alpha_{k-1} - alpha_k) / alpha_k)^2 (1 + gamma_k alpha_k) / (gamma_k alpha_k), times theta_k. */
static double theta_rho(const tc_bound_constants *c, const tc_schedule *schedule, const round_steps *s, double theta) {
    double drift = tc_mul_up(c->reach, published_drift(s->k, schedule->regularization_decay));
    double share = plus(1, tc_idiv(tc_point(1), s->product)).hi;
    return drift == 0 ? 0 : tc_mul_up(theta, tc_mul_up(tc_mul_up(drift, drift), share));
}

/* ---- how much a round contracts: theta_k of docs/proofs/bound.md, section 3 ---- */

/* The bracket b_k = 2 - gamma_k alpha_k - (gamma_k / alpha_k) L_G^2 - 2 gamma_k L_G in the paper's
 * theta_k = 1 - gamma_k alpha_k b_k. Callers build theta_k or 1 - theta_k from it: far out, 1 - theta_k must not be
 * computed from theta_k.
 * paper: eq:bigz1 */
static tc_interval theta_bracket(const tc_bound_constants *c, const round_steps *s) {
    tc_interval squares = tc_imul(s->ratio, tc_isquare(tc_point(c->lipschitz)));
    tc_interval cross = tc_imul(tc_imul(tc_point(2), s->step), tc_point(c->lipschitz));
    return tc_isub(tc_isub(minus(2, s->product), squares), cross);
}

/* 1 - theta_k for theta_k = (1 - gamma alpha)^2 + gamma^2 square. */
static double plain_loss(const round_steps *s, tc_interval square) {
    return tc_imul(s->product, tc_isub(minus(2, s->product), tc_imul(s->ratio, square))).lo;
}

/* With m = 1 - gamma alpha, L_J^2 2m / (2m - gamma L_H) takes the place of L_G^2. */
static double split_loss(const tc_bound_constants *c, const round_steps *s) {
    tc_interval twice = tc_imul(tc_point(2), minus(1, s->product));
    tc_interval room = tc_isub(twice, tc_imul(s->step, tc_point(c->curvature)));
    if (!(twice.lo > 0 && room.lo > 0))
        return -HUGE_VAL;
    /* 2m / (2m - gamma L_H) = 1 / (1 - gamma L_H / 2m), so that m occurs once */
    tc_interval held = minus(1, tc_idiv(tc_imul(s->step, tc_point(c->curvature)), twice));
    if (!(held.lo > 0))
        return -HUGE_VAL;
    return plain_loss(s, tc_idiv(tc_isquare(tc_point(c->slope)), held));
}

/* ---- one round: E[v_{k+1} | past] <= (1 - tau_k) v_k + sigma_k ---- */

/* The largest effect that any of the rounds first .. last can have on the error. */
typedef struct round_terms {
    double loss;  /* tight: 1 - theta_k; published: tau_k. At least this, and it may be negative */
    double drift; /* tight: |xi_k - xi_{k-1}|, at most */
    double added; /* tight: gamma_k^2 K_w; published: sigma_k. At most */
} round_terms;

/* paper: eq:t1bigone
 * tau_k = 1 - theta_k (1 + gamma_k alpha_k) and sigma_k = theta_k rho_k + gamma_k^2 K_w. */
static round_terms published_terms(const tc_bound_constants *c, const tc_schedule *schedule, const round_steps *s) {
    tc_interval bracket = theta_bracket(c, s), more = plus(1, s->product);
    double theta = fmax(0, minus(1, tc_imul(s->product, bracket)).hi);
    double moved = theta_rho(c, schedule, s, theta);
    return (round_terms){.loss = tc_imul(s->product, tc_isub(tc_imul(more, bracket), tc_point(1))).lo,
                         .added = tc_add_up(moved, tc_mul_up(tc_isquare(s->step).hi, c->noise))};
}

/* The least of three theta_k; the drift is kept apart: Minkowski's inequality needs no parameter. */
static round_terms tight_terms(const tc_bound_constants *c, const tc_schedule *schedule, const round_steps *s) {
    double loss = tc_imul(s->product, theta_bracket(c, s)).lo;
    if (s->product.hi <= 1)
        loss = fmax(loss, fmax(split_loss(c, s), plain_loss(s, tc_isquare(tc_point(c->lipschitz)))));
    return (round_terms){.loss = loss,
                         .drift = tc_mul_up(c->reach, tight_drift(s->k, schedule->regularization_decay)),
                         .added = tc_mul_up(tc_isquare(s->step).hi, c->noise)};
}

/* 2 <= first <= last, whole numbers. */
static round_terms terms_of(const tc_bound_setting *setting, double first, double last) {
    round_steps s = steps_of(&setting->schedule, first, last);
    return (setting->form == TC_BOUND_TIGHT ? tight_terms : published_terms)(&setting->constants, &setting->schedule,
                                                                             &s);
}

/* exp(-x), rounded up. */
static double decayed(double x) { return x <= 0 ? 1 : fmin(1, tc_iexp(tc_point(-x)).hi); }

/* v <- (1 - tau) v + sigma, `count` times. */
static double published_advance(const round_terms *t, double v, double count) {
    double grown = tc_add_up(v, tc_mul_up(tc_add_up(count, 1), t->added)); /* tau >= 0 */
    if (!(t->loss > 0))
        return t->loss == 0 ? grown : HUGE_VAL;
    double level = tc_div_up(t->added, t->loss);
    if (v <= level)
        return fmin(level, grown);
    return tc_add_up(level, tc_mul_up(tc_add_up(v, -level), decayed(tc_mul_down(count, t->loss))));
}

/* e <- sqrt(theta (e + d)^2 + s), `count` times: bound.md, section 4. Returns e. */
static double tight_advance(const round_terms *t, double e, double count) {
    double d = t->drift, s = t->added;
    double most = tc_add_up(count, 1); /* a count beyond 2^53 may be one too small */
    double grown = tc_add_up(tc_sqrt_up(tc_add_up(tc_mul_up(e, e), tc_mul_up(most, s))), tc_mul_up(most, d));
    if (!(t->loss > 0))
        return t->loss == 0 ? grown : HUGE_VAL;
    double theta = fmax(0, tc_add_up(1, -t->loss));
    double moved = tc_mul_up(theta, d), rest = tc_add_up(tc_mul_up(moved, d), s);
    double root = tc_sqrt_up(tc_add_up(tc_mul_up(moved, moved), tc_mul_up(fmin(1, t->loss), rest)));
    double level = tc_div_up(tc_add_up(moved, root), t->loss);
    if (e <= level)
        return fmin(level, grown);
    /* phi'(e)^2 = theta (1 - s / phi(e)^2) there, and grows with e; 1 - x <= exp(-x) */
    double reached = tc_add_up(e, d), next = tc_add_up(tc_mul_up(theta, tc_mul_up(reached, reached)), s);
    double rate = tc_mul_down(tc_mul_down(count, 0.5), tc_add_down(t->loss, tc_div_down(s, next)));
    return tc_add_up(level, tc_mul_up(tc_add_up(e, -level), decayed(rate)));
}

/* paper: eq:recur */
static double single_round(const tc_bound_setting *setting, const round_terms *t, double v) {
    double kept = fmax(0, tc_add_up(1, -t->loss)); /* 1 - tau_k; in the tight form theta_k */
    if (setting->form == TC_BOUND_PUBLISHED)
        return tc_add_up(tc_mul_up(kept, v), t->added);
    double reached = tc_add_up(tc_sqrt_up(v), t->drift);
    return tc_add_up(tc_mul_up(kept, tc_mul_up(reached, reached)), t->added);
}

/* The squared error after `count` rounds with these terms. */
static double advance_by(const tc_bound_setting *setting, const round_terms *terms, double squared, double count) {
    double most = tc_mul_up(setting->constants.diameter, setting->constants.diameter);
    double after;
    if (count == 1) {
        after = single_round(setting, terms, squared);
    } else if (setting->form == TC_BOUND_PUBLISHED) {
        after = published_advance(terms, squared, count);
    } else {
        double e = tight_advance(terms, tc_sqrt_up(squared), count);
        after = tc_mul_up(e, e);
    }
    return after <= most ? after : most; /* also where it is not a number */
}

/* ---- the first round from which the recursion holds ---- */

/* paper: Lemma 2
 * It asks for 0 <= tau_k <= 1. */
static bool is_valid(const tc_bound_setting *setting, double k) { return terms_of(setting, k, k).loss >= 0; }

/* gamma / alpha, gamma and gamma alpha never rise where c1 <= c2, and with them 1 - tau_k stays valid once it is
 * (bound.md, section 5), so that bisection finds the first valid round. */
static double valid_from(const tc_bound_setting *setting, double limit) {
    if (!(setting->schedule.regularization_decay <= setting->schedule.step_decay) || !is_valid(setting, limit))
        return HUGE_VAL;
    double low = 1, high = 2; /* round 1 has no round before it; low is not valid, or is that one */
    while (high < limit && !is_valid(setting, high)) {
        low = high;
        high = fmin(2 * high, limit);
    }
    while (high - low > 1 && high > low * (1 + 0x1p-40)) {
        double middle = floor(low + (high - low) / 2);
        if (is_valid(setting, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

double tc_bound_valid_from(const tc_bound_setting *setting) { return valid_from(setting, round_limit); }

/* ---- after T rounds ---- */

static double trivial(const tc_bound_setting *setting) {
    return tc_mul_up(setting->constants.diameter, setting->constants.diameter);
}

/* Before the first valid round the bound is D_z^2. Without one, rounds that happen to contract are still used. */
static double start_of(const tc_bound_setting *setting, double limit) {
    bool falls = setting->schedule.regularization_decay <= setting->schedule.step_decay;
    return falls ? fmax(2, valid_from(setting, fmax(2, limit))) : 2;
}

/* The last round of the block that begins with round k. Far beyond any run, blocks are long. */
static double block_end(double k, double rounds, tc_bound_effort effort) {
    if (k < effort.direct)
        return k;
    double ratio = k < whole_limit ? effort.ratio : fmax(effort.ratio, 1 + 0x1p-5);
    return fmin(rounds, fmax(k, floor(k * ratio)));
}

/* Goes on from round *k, with the squared error *v, and stops after the given round or when it is at most `enough`. */
static void advance(const tc_bound_setting *setting, double *k, double *v, double rounds, tc_bound_effort effort,
                    double enough) {
    while (*k <= rounds && !(*v <= enough)) {
        double last = block_end(*k, rounds, effort);
        round_terms terms = terms_of(setting, *k, last);
        *v = advance_by(setting, &terms, *v, last == *k ? 1 : tc_add_down(last - *k, 1));
        double next = last + 1;
        *k = next > last ? next : tc_above(last);
    }
}

/* paper: eq:expbound, eq:exprecur
 * The recursion itself, from D_z^2 on, in place of the product that solves it. */
double tc_bound_error(const tc_bound_setting *setting, double rounds, tc_bound_effort effort) {
    double k = start_of(setting, rounds), v = trivial(setting);
    advance(setting, &k, &v, rounds, effort, -1);
    return v;
}

double tc_bound_informative_from(const tc_bound_setting *setting, double part, tc_bound_effort effort) {
    double k = start_of(setting, round_limit), v = trivial(setting), enough = tc_mul_down(part, v);
    advance(setting, &k, &v, round_limit, effort, enough);
    return v <= enough ? k - 1 : HUGE_VAL;
}

/* ---- for ever: the sum of sigma_k ---- */

/* Sum of k^-p over first <= k <= last (INFINITY for no end): the first term and the integral from there on. */
static double power_sum(double first, double last, tc_interval p) {
    tc_interval over = tc_isub(p, tc_point(1)); /* > 0 */
    double head = tc_ipowr(tc_point(first), -p.lo).hi;
    double from = tc_ipowr(tc_point(first), -over.lo).hi;
    double to = isinf(last) ? 0 : tc_ipowr(tc_point(last), -over.hi).lo;
    return tc_add_up(head, tc_div_up(tc_add_up(from, -to), over.lo));
}

/* The drift of rounds from `first` on is at most slope M_xi c1 / k, with the factors of tight_drift and
 * published_drift. */
static double drift_slope(const tc_bound_setting *setting, double first) {
    double c = setting->schedule.regularization_decay;
    tc_interval kept = tc_isub(tc_point(1), tc_idiv(tc_point(1), tc_point(first)));
    double power = setting->form == TC_BOUND_TIGHT ? fmin(c - 1, 0) : -c - 1;
    return tc_mul_up(tc_mul_up(setting->constants.reach, c), tc_ipowr(kept, power).hi);
}

/* sigma_k of one round. The tight form chooses Young's parameter so that tau_k = 0. */
static double sigma_of(const tc_bound_setting *setting, double k) {
    round_terms t = terms_of(setting, k, k);
    if (setting->form == TC_BOUND_PUBLISHED || t.drift == 0)
        return t.added;
    double theta = fmax(0, tc_add_up(1, -t.loss));
    return tc_add_up(tc_div_up(tc_mul_up(theta, tc_mul_up(t.drift, t.drift)), t.loss), t.added);
}

/* paper: eq:bound, eq:sum1
 * Rounds first .. last by integrals. Both forms: M_xi^2 slope^2 k^-2 times 1/(1 - theta_k) or (1 + 1/(gamma alpha)),
 * where 1 - theta_k >= share gamma_k alpha_k from `first` on, and gamma_k^2 K_w. */
static double stretch(const tc_bound_setting *setting, double first, double last) {
    const tc_schedule *s = &setting->schedule;
    tc_interval c1 = tc_point(s->regularization_decay), c2 = tc_point(s->step_decay);
    tc_interval twice = tc_iadd(c2, c2);
    double noise = tc_mul_up(tc_mul_up(s->step, s->step), setting->constants.noise);
    double total = noise == 0 ? 0 : tc_mul_up(noise, power_sum(first, last, twice));
    double slope = drift_slope(setting, first), squares = tc_mul_up(slope, slope);
    if (squares == 0)
        return total;
    tc_interval p = tc_isub(tc_point(2), tc_iadd(c1, c2));
    tc_interval product = tc_imul(tc_point(s->step), tc_point(s->regularization));
    double share = 1;
    if (setting->form == TC_BOUND_TIGHT) {
        double at = tc_imul(product, tc_ipowr(tc_point(first), -tc_iadd(c1, c2).lo)).hi;
        share = tc_div_down(terms_of(setting, first, first).loss, at);
        if (!(share > 0))
            return HUGE_VAL;
    } else {
        total = tc_add_up(total, tc_mul_up(squares, power_sum(first, last, tc_point(2))));
    }
    double weight = tc_div_up(squares, tc_mul_down(product.lo, share));
    return tc_add_up(total, tc_mul_up(weight, power_sum(first, last, p)));
}

bool tc_bound_summable(const tc_schedule *schedule) {
    double c1 = schedule->regularization_decay, c2 = schedule->step_decay;
    return 2 * c2 > 1 && (c1 + c2 < 1 || c1 == 0);
}

/* paper: eq:sumsigma
 * With M_xi^2 restored, from `first` on, and summed with a rigorous tail in place of zeta functions. */
double tc_bound_tail(const tc_bound_setting *setting, double first) {
    enum { ONE_BY_ONE = 1 << 14, DOUBLINGS = 60 };
    first = fmax(first, 2);
    if (!tc_bound_summable(&setting->schedule) || !(first >= tc_bound_valid_from(setting)))
        return HUGE_VAL;
    double total = 0, k = first;
    for (int i = 0; i < ONE_BY_ONE && k < whole_limit; i++, k++)
        total = tc_add_up(total, sigma_of(setting, k));
    for (int i = 0; i < DOUBLINGS && k < round_limit; i++, k *= 2)
        total = tc_add_up(total, stretch(setting, k, 2 * k));
    total = tc_add_up(total, stretch(setting, k, HUGE_VAL));
    return total >= 0 ? total : HUGE_VAL;
}

/* ---- the theorem for a run: its conditions, and the estimate after T rounds and for all later rounds ---- */

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
        return "in every round that was examined it adds more than the round contracts";
    if (isnan(e->informative_from))
        return "it does not fall below the trivial bound D_z^2, and noise that hides a whole agent grows with the "
               "number of rounds";
    return tc_arena_format(arena, "in %s rounds it does not fall below the trivial bound D_z^2; that takes %s",
                           shown_round(arena, rounds), shown_round(arena, e->informative_from));
}

static tc_bound_estimate estimate_at(tc_arena *arena, const tc_bound_setting *setting, double rounds, double within,
                                     const tc_plan *plan) {
    double most = trivial(setting);
    tc_bound_estimate e = {.valid_from = HUGE_VAL,
                           .informative_from = HUGE_VAL,
                           .error = most,
                           .within = isnan(within) ? setting->constants.diameter / 10 : within,
                           .tail = HUGE_VAL,
                           .radius_forever = HUGE_VAL};
    if (setting->constants.problem == NULL) {
        e.valid_from = tc_bound_valid_from(setting);
        e.error = tc_bound_error(setting, rounds, tc_bound_full_effort);
        e.informative_from = tc_bound_informative_from(setting, TC_BOUND_WORTH, tc_bound_full_effort);
        e.tail = tc_bound_tail(setting, rounds + 1);
        /* noise that hides one agent in every round grows with the horizon, so this says nothing about longer runs */
        if (tc_hides_every_round(plan->adjacency) && plan->mechanism != TC_MECHANISM_NONE &&
            e.informative_from > rounds)
            e.informative_from = NAN;
    }
    e.vacuous = !(e.error <= tc_mul_down(TC_BOUND_WORTH, most));
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
