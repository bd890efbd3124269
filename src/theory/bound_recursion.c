#include "theory/bound_rounds.h"

/* Full: blocks of a thousandth, from 65,536 rounds on. Quick: for searches that compare many schedules. */
const tc_bound_effort tc_bound_full_effort = {.direct = 1 << 16, .ratio = 1 + 0x1p-10};
const tc_bound_effort tc_bound_quick_effort = {.direct = 16, .ratio = 1 + 0x1p-3};

static const double whole_limit = 0x1p53; /* beyond it, rounds are counted in doubles, all of them whole */
static const double round_limit = 1e300;

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

bool tc_bound_summable(const tc_schedule *schedule) {
    double c1 = schedule->regularization_decay, c2 = schedule->step_decay;
    return 2 * c2 > 1 && (c1 + c2 < 1 || c1 == 0);
}

/* ---- from when on ---- */

static bool is_valid(const tc_bound_setting *setting, double k) { return tc_bound_terms_of(setting, k, k).loss >= 0; }

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

/* ---- the recursion ---- */

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
        tc_bound_terms terms = tc_bound_terms_of(setting, *k, last);
        *v = tc_bound_advance(setting, &terms, *v, last == *k ? 1 : tc_add_down(last - *k, 1));
        double next = last + 1;
        *k = next > last ? next : tc_above(last);
    }
}

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

/* ---- the tail ---- */

/* Sum of k^-p over first <= k <= last (INFINITY for no end): the first term and the integral from there on. */
static double power_sum(double first, double last, tc_interval p) {
    tc_interval over = tc_isub(p, tc_point(1)); /* > 0 */
    double head = tc_ipowr(tc_point(first), -p.lo).hi;
    double from = tc_ipowr(tc_point(first), -over.lo).hi;
    double to = isinf(last) ? 0 : tc_ipowr(tc_point(last), -over.hi).lo;
    return tc_add_up(head, tc_div_up(tc_add_up(from, -to), over.lo));
}

/* The drift of rounds from `first` on is at most slope M_xi c1 / k: bound_rounds.c has the same factors. */
static double drift_slope(const tc_bound_setting *setting, double first) {
    double c = setting->schedule.regularization_decay;
    tc_interval kept = tc_isub(tc_point(1), tc_idiv(tc_point(1), tc_point(first)));
    double power = setting->form == TC_BOUND_TIGHT ? fmin(c - 1, 0) : -c - 1;
    return tc_mul_up(tc_mul_up(setting->constants.reach, c), tc_ipowr(kept, power).hi);
}

/* sigma_k of one round: tight chooses Young's parameter so that 1 - tau_k = 1. */
static double sigma_of(const tc_bound_setting *setting, double k) {
    tc_bound_terms t = tc_bound_terms_of(setting, k, k);
    if (setting->form == TC_BOUND_PUBLISHED || t.drift == 0)
        return t.added;
    double theta = fmax(0, tc_add_up(1, -t.loss));
    return tc_add_up(tc_div_up(tc_mul_up(theta, tc_mul_up(t.drift, t.drift)), t.loss), t.added);
}

/* Rounds first .. last by integrals. Both forms: M^2 slope^2 k^-2 times 1/(1 - theta_k) or (1 + 1/(gamma alpha)), where
 * 1 - theta_k >= share gamma_k alpha_k from `first` on, and gamma_k^2 K_w. */
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
        share = tc_div_down(tc_bound_terms_of(setting, first, first).loss, at);
        if (!(share > 0))
            return HUGE_VAL;
    } else {
        total = tc_add_up(total, tc_mul_up(squares, power_sum(first, last, tc_point(2))));
    }
    double weight = tc_div_up(squares, tc_mul_down(product.lo, share));
    return tc_add_up(total, tc_mul_up(weight, power_sum(first, last, p)));
}

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
