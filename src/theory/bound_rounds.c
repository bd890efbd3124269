#include "theory/bound_rounds.h"

static tc_interval scaled(double factor, tc_interval k, double exponent) {
    return tc_imul(tc_point(factor), tc_ipowr(k, exponent));
}

static tc_interval minus(double a, tc_interval b) { return tc_isub(tc_point(a), b); }
static tc_interval plus(double a, tc_interval b) { return tc_iadd(tc_point(a), b); }

/* |xi_k - xi_{k-1}| / M_xi <= 1 - (1 - 1/k)^c <= (c/k) (1 - 1/k)^min(c - 1, 0), the second where the first cancels. */
static double tight_drift(tc_interval k, double c) {
    tc_interval kept = minus(1, tc_idiv(tc_point(1), k));
    double plain = minus(1, tc_ipowr(kept, c)).hi;
    double smooth = tc_imul(tc_idiv(tc_point(c), k), tc_ipowr(kept, fmin(c - 1, 0))).hi;
    return fmax(0, fmin(plain, smooth));
}

/* (alpha_{k-1} - alpha_k) / alpha_k = (1 - 1/k)^-c - 1 <= (c/k) (1 - 1/k)^-(c + 1). */
static double published_drift(tc_interval k, double c) {
    tc_interval kept = minus(1, tc_idiv(tc_point(1), k));
    double plain = tc_isub(tc_ipowr(kept, -c), tc_point(1)).hi;
    double smooth = tc_imul(tc_idiv(tc_point(c), k), tc_ipowr(kept, -c - 1)).hi;
    return fmax(0, fmin(plain, smooth));
}

typedef struct steps {
    tc_interval k, step, product, ratio; /* gamma, gamma alpha, gamma / alpha */
} steps;

static steps steps_of(const tc_schedule *s, double first, double last) {
    tc_interval k = {first, last};
    double c1 = s->regularization_decay, c2 = s->step_decay;
    tc_interval product = tc_imul(tc_point(s->step), tc_point(s->regularization));
    tc_interval ratio = tc_idiv(tc_point(s->step), tc_point(s->regularization));
    tc_interval total = tc_iadd(tc_point(c1), tc_point(c2)), gap = tc_isub(tc_point(c1), tc_point(c2));
    /* k >= 1: a smaller exponent gives a smaller power, so that the ends of the exponent's enclosure suffice */
    tc_interval fall = {tc_ipowr(k, -total.hi).lo, tc_ipowr(k, -total.lo).hi};
    tc_interval rise = {tc_ipowr(k, gap.lo).lo, tc_ipowr(k, gap.hi).hi};
    return (steps){k, scaled(s->step, k, -c2), tc_imul(product, fall), tc_imul(ratio, rise)};
}

/* gamma_k alpha_k (2 - gamma_k alpha_k - (gamma_k / alpha_k) square): 1 - (1 - gamma alpha)^2 - gamma^2 square. */
static double plain_loss(const steps *s, tc_interval square) {
    return tc_imul(s->product, tc_isub(minus(2, s->product), tc_imul(s->ratio, square))).lo;
}

/* bound.md, section 3: with m = 1 - gamma alpha, L_J^2 2m / (2m - gamma L_H) takes the place of L_G^2. */
static double split_loss(const tc_bound_constants *c, const steps *s) {
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

/* 2 - gamma alpha - (gamma / alpha) L_G^2 - 2 gamma L_G: Theorem 3's theta_k is 1 - gamma alpha times this. */
static tc_interval published_factor(const tc_bound_constants *c, const steps *s) {
    tc_interval squares = tc_imul(s->ratio, tc_isquare(tc_point(c->lipschitz)));
    tc_interval cross = tc_imul(tc_imul(tc_point(2), s->step), tc_point(c->lipschitz));
    return tc_isub(tc_isub(minus(2, s->product), squares), cross);
}

static tc_bound_terms tight_terms(const tc_bound_constants *c, const tc_schedule *schedule, const steps *s) {
    double loss = tc_imul(s->product, published_factor(c, s)).lo;
    if (s->product.hi <= 1)
        loss = fmax(loss, fmax(split_loss(c, s), plain_loss(s, tc_isquare(tc_point(c->lipschitz)))));
    return (tc_bound_terms){.loss = loss,
                            .drift = tc_mul_up(c->reach, tight_drift(s->k, schedule->regularization_decay)),
                            .added = tc_mul_up(tc_isquare(s->step).hi, c->noise)};
}

/* tau_k = 1 - theta_k (1 + gamma alpha) and sigma_k = theta_k rho_k + gamma_k^2 K_w. */
static tc_bound_terms published_terms(const tc_bound_constants *c, const tc_schedule *schedule, const steps *s) {
    tc_interval factor = published_factor(c, s), more = plus(1, s->product);
    double theta = fmax(0, minus(1, tc_imul(s->product, factor)).hi);
    double drift = tc_mul_up(c->reach, published_drift(s->k, schedule->regularization_decay));
    double share = plus(1, tc_idiv(tc_point(1), s->product)).hi; /* (1 + gamma alpha) / (gamma alpha) */
    double moved = drift == 0 ? 0 : tc_mul_up(theta, tc_mul_up(tc_mul_up(drift, drift), share));
    return (tc_bound_terms){.loss = tc_imul(s->product, tc_isub(tc_imul(more, factor), tc_point(1))).lo,
                            .added = tc_add_up(moved, tc_mul_up(tc_isquare(s->step).hi, c->noise))};
}

tc_bound_terms tc_bound_terms_of(const tc_bound_setting *setting, double first, double last) {
    steps s = steps_of(&setting->schedule, first, last);
    return (setting->form == TC_BOUND_TIGHT ? tight_terms : published_terms)(&setting->constants, &setting->schedule,
                                                                             &s);
}

/* exp(-x), rounded up. */
static double decayed(double x) { return x <= 0 ? 1 : fmin(1, tc_iexp(tc_point(-x)).hi); }

/* v <- (1 - tau) v + sigma, `count` times. */
static double published_advance(const tc_bound_terms *t, double v, double count) {
    double grown = tc_add_up(v, tc_mul_up(tc_add_up(count, 1), t->added)); /* tau >= 0 */
    if (!(t->loss > 0))
        return t->loss == 0 ? grown : HUGE_VAL;
    double level = tc_div_up(t->added, t->loss);
    if (v <= level)
        return fmin(level, grown);
    return tc_add_up(level, tc_mul_up(tc_add_up(v, -level), decayed(tc_mul_down(count, t->loss))));
}

/* e <- sqrt(theta (e + d)^2 + s), `count` times: bound.md, section 4. Returns e. */
static double tight_advance(const tc_bound_terms *t, double e, double count) {
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

static double single_round(const tc_bound_setting *setting, const tc_bound_terms *t, double v) {
    double theta = fmax(0, tc_add_up(1, -t->loss));
    if (setting->form == TC_BOUND_PUBLISHED)
        return tc_add_up(tc_mul_up(theta, v), t->added);
    double reached = tc_add_up(tc_sqrt_up(v), t->drift);
    return tc_add_up(tc_mul_up(theta, tc_mul_up(reached, reached)), t->added);
}

double tc_bound_advance(const tc_bound_setting *setting, const tc_bound_terms *terms, double squared, double count) {
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
