/* Proximal steps against bisection: objectives that are sums over components, in every set that one multiplier
 * describes, minimised in long double without derivatives of slopes, without projections and without tapes. */
#include "engine/proximal/proximal.h"

#include "crowd.h"
#include "support/cmocka.h"

#include <math.h>

typedef struct member { /* what the files call a, b, d, w */
    long double a, b, d, w;
} member;

static member member_of(size_t j) {
    const double factors[] = {0.6180339887, 0.4142135623, 0.7320508075, 0.2360679774};
    long double numbers[4];
    for (size_t i = 0; i < 4; i++) {
        double product = (double)j * factors[i];
        numbers[i] = (long double)(product - floor(product));
    }
    return (member){numbers[0], numbers[1], numbers[2], numbers[3]};
}

/* ---- objectives: a sum over components k = 1 .. 4, and its slope ---------------------------------------------------
 */

typedef long double slope_function(const member *m, long double k, long double x);

static long double linear(const member *m, long double k, long double x) { return (void)x, (m->a - 0.5L) * k; }
static long double square(const member *m, long double k, long double x) { return 2 * (1 + m->a) * k * (x - m->b); }
static long double quartic(const member *m, long double k, long double x) {
    return 4 * k * (x - m->a) * (x - m->a) * (x - m->a);
}
static long double logarithm(const member *m, long double k, long double x) { return -(m->w + 0.1L) * k / (x + 2.1L); }
static long double exponential(const member *m, long double k, long double x) { return k * expl(k * x - m->b); }
static long double rounded(const member *m, long double k, long double x) {
    long double threshold = 0.2L + m->w;
    return k * fmaxl(-threshold, fminl(threshold, x - m->d));
}
static long double power(const member *m, long double k, long double x) {
    return (void)m, 1.5L * k * sqrtl(fmaxl(x + 2, 0));
}
static long double hyperbola(const member *m, long double k, long double x) {
    return k * (x - m->a) / sqrtl((x - m->a) * (x - m->a) + 0.01L);
}

typedef struct objective {
    const char *text;
    slope_function *slope;
} objective;

static const objective SEPARABLE[] = {
    {"sum(k in 1..4: (a - 0.5) * k * x[k])", linear},   {"sum(k in 1..4: (1 + a) * k * (x[k] - b)^2)", square},
    {"sum(k in 1..4: k * (x[k] - a)^4)", quartic},      {"-(w + 0.1) * sum(k in 1..4: k * log(x[k] + 2.1))", logarithm},
    {"sum(k in 1..4: exp(k * x[k] - b))", exponential}, {"sum(k in 1..4: k * huber(x[k] - d, 0.2 + w))", rounded},
    {"sum(k in 1..4: k * pow(x[k] + 2, 1.5))", power},  {"sum(k in 1..4: k * sqrt((x[k] - a)^2 + 0.01))", hyperbola},
};

/* ---- sets: -2 <= x <= 3 (or 0 <= x) and one part -------------------------------------------------------------------
 */

typedef enum part { NONE, AT_MOST, BETWEEN, EQUAL, BALL, BALL1 } part;

typedef struct set {
    part part;
    long double lower, center[4], radius;
    long double width; /* of what is between, below the radius */
} set;

static const char *const TEXTS[] = {
    "",
    "private set x[1] * (1 + a) - 2 * x[2] + b * x[3] + x[4] <= 0.9 + w",
    "private set x[1] + x[2] * (0.5 + w) - x[3] == 0.25 + a / 2",
    "private set x in simplex(1 + a)",
    "private set norm(x - [a, b, d, w]) <= 1.1 + a",
    "private set norm1(x - [d, d, d, d]) <= 2.2 + w",
    "private set 0.5 + w <= x[1] * (1 + a) - 2 * x[2] + b * x[3] + x[4] <= 0.9 + w",
    "private set sum(x) <= 1.7 + w; private set sum(x) >= 1.2",
};
enum { SETS_HERE = sizeof TEXTS / sizeof *TEXTS };

static set set_of(size_t number, const member *m) {
    switch (number) {
    case 1:
        return (set){AT_MOST, -2, {1 + m->a, -2, m->b, 1}, 0.9L + m->w, 0};
    case 2:
        return (set){EQUAL, -2, {1, 0.5L + m->w, -1, 0}, 0.25L + m->a / 2, 0};
    case 3:
        return (set){EQUAL, 0, {1, 1, 1, 1}, 1 + m->a, 0};
    case 4:
        return (set){BALL, -2, {m->a, m->b, m->d, m->w}, 1.1L + m->a, 0};
    case 5:
        return (set){BALL1, -2, {m->d, m->d, m->d, m->d}, 2.2L + m->w, 0};
    case 6:
        return (set){BETWEEN, -2, {1 + m->a, -2, m->b, 1}, 0.9L + m->w, 0.4L};
    case 7:
        return (set){BETWEEN, -2, {1, 1, 1, 1}, 1.7L + m->w, 0.5L + m->w};
    default:
        return (set){.part = NONE, .lower = -2};
    }
}

/* ---- the reference -------------------------------------------------------------------------------------------------
 */

typedef struct problem {
    slope_function *slope;
    member m;
    set s;
    double p[4], old[4];
    long double inverse[4], regularization;
} problem;

/* The slope of the whole in one component, with the part's multiplier t. */
static long double whole_slope(const problem *q, size_t c, long double t, long double x) {
    long double center = q->s.center[c], sum = q->slope(&q->m, (long double)(c + 1), x);
    sum += (long double)q->p[c] + q->regularization * x + (x - (long double)q->old[c]) * q->inverse[c];
    switch (q->s.part) {
    case AT_MOST:
    case BETWEEN:
    case EQUAL:
        return sum + t * center;
    case BALL:
        return sum + t * (x - center);
    case BALL1:
        return sum + t * (x > center ? 1 : x < center ? -1 : 0);
    case NONE:
        break;
    }
    return sum;
}

static long double component(const problem *q, size_t c, long double t) {
    long double low = q->s.lower, high = 3;
    for (int halving = 0; halving < 70; halving++) {
        long double middle = low + (high - low) / 2, slope = whole_slope(q, c, t, middle);
        if (slope < 0)
            low = middle;
        else
            high = middle;
    }
    return whole_slope(q, c, t, q->s.lower) >= 0 ? q->s.lower : high;
}

/* How far the point is beyond the part; it never increases with t. */
static long double excess(const problem *q, long double t, long double *x) {
    long double sum = 0;
    for (size_t c = 0; c < 4; c++) {
        long double center = q->s.center[c];
        x[c] = component(q, c, t);
        sum += q->s.part == BALL    ? (x[c] - center) * (x[c] - center)
               : q->s.part == BALL1 ? fabsl(x[c] - center)
                                    : center * x[c];
    }
    return sum - (q->s.part == BALL ? q->s.radius * q->s.radius : q->s.radius);
}

static void bisect(const problem *q, long double *x) {
    long double low = 0, high = 1;
    if (q->s.part == BETWEEN) { /* without it, or on the side that is then violated */
        problem one = *q;
        bool is_above = excess(q, 0, x) > 0, is_below = excess(q, 0, x) < -q->s.width;
        one.s.part = is_above || is_below ? EQUAL : NONE;
        one.s.radius -= is_below ? q->s.width : 0;
        bisect(&one, x);
        return;
    }
    if (q->s.part == NONE || (excess(q, 0, x) <= 0 && q->s.part != EQUAL)) {
        (void)excess(q, 0, x);
        return;
    }
    if (excess(q, 0, x) < 0)
        for (low = -1, high = 0; excess(q, low, x) < 0; high = low, low *= 4)
            continue;
    else
        while (excess(q, high, x) > 0)
            low = high, high *= 4;
    for (int halving = 0; halving < 90; halving++) {
        long double middle = low + (high - low) / 2;
        if (excess(q, middle, x) > 0)
            low = middle;
        else
            high = middle;
    }
    /* Where a component jumps at this multiplier, it lies between the two sides of the jump. */
    long double below[4], above[4], more = excess(q, low, below), less = excess(q, high, above);
    long double part_of = more > less ? more / (more - less) : 0;
    for (size_t c = 0; c < 4; c++)
        x[c] = below[c] + fminl(1, fmaxl(0, part_of)) * (above[c] - below[c]);
}

/* ---- comparison ----------------------------------------------------------------------------------------------------
 */

enum { MEMBERS = 3 };

/* Some start on a bound, some outside of the set. */
static double start_of(size_t j, size_t c, const set *s) {
    double inside = crowd_number(j, c, 2, (double)s->lower, 3);
    return j % 3 == 1 && c == 1 ? (double)s->lower : j % 3 == 2 && c == 2 ? 3 : inside;
}

static void compare(const objective *o, size_t number, tc_answer_scalars scalars, const double *scale) {
    char text[CROWD_TEXT];
    crowd_family(text, sizeof text, "m", MEMBERS, 0, o->text, TEXTS[number]);
    crowd c = crowd_of(text);
    const double *scales[] = {scale};
    tc_proximal *proximal =
        tc_proximal_new(c.arena, tc_agents_new(c.arena, c.model, c.derivatives, 1), c.derivatives, scales);
    double x[4][MEMBERS], p[4][MEMBERS], next[4][MEMBERS];
    problem q[MEMBERS];
    for (size_t k = 0; k < MEMBERS; k++) {
        q[k] =
            (problem){.slope = o->slope, .m = member_of(k + 1), .regularization = (long double)scalars.regularization};
        q[k].s = set_of(number, &q[k].m);
        for (size_t i = 0; i < 4; i++) {
            q[k].inverse[i] = 1 / ((long double)scalars.step * scale[i] * scale[i]);
            x[i][k] = q[k].old[i] = start_of(k, i, &q[k].s);
            p[i][k] = q[k].p[i] = crowd_number(k, i, 1, -3, 3);
        }
    }
    const double *x_at[] = {x[0], x[1], x[2], x[3]}, *p_at[] = {p[0], p[1], p[2], p[3]};
    double *next_at[] = {next[0], next[1], next[2], next[3]};
    assert_true(tc_proximal_next(proximal, 0, 0, 0, MEMBERS, p_at, scalars, x_at, next_at) == TC_ALL_FINITE);
    assert_int_equal(tc_proximal_inaccurate(proximal), 0);
    for (size_t k = 0; k < MEMBERS; k++) {
        long double truth[4];
        bisect(&q[k], truth);
        for (size_t i = 0; i < 4; i++)
            if (!(fabsl((long double)next[i][k] - truth[i]) <= 5e-10L)) /* 1e-10 of the width of the bounds */
                fail_msg("%s with '%s', step %g, regularization %g: %.17g, and %.17Lg by bisection", o->text,
                         TEXTS[number], scalars.step, scalars.regularization, next[i][k], truth[i]);
    }
    crowd_free(&c);
}

static void compare_all(const double *scale) {
    static const tc_answer_scalars scalars[] = {{1e-6, 0}, {1e-3, 1}, {0.3, 0},   {0.3, 0.01},
                                                {40, 1},   {1e4, 0},  {1e6, 0.1}, {1e6, 0}};
    for (size_t o = 0; o < sizeof SEPARABLE / sizeof *SEPARABLE; o++)
        for (size_t s = 0; s < SETS_HERE; s++)
            for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
                compare(&SEPARABLE[o], s, scalars[i], scale);
}

static void steps_are_what_bisection_finds(void **state) {
    (void)state;
    compare_all((const double[]){1, 1, 1, 1});
}

static void so_are_those_of_scaled_states(void **state) {
    (void)state;
    compare_all((const double[]){1, 0.25, 0x1p-6, 1});
    compare_all((const double[]){0x1p-4, 0x1p-4, 0x1p-4, 0x1p-4});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_what_bisection_finds),
                                       cmocka_unit_test(so_are_those_of_scaled_states)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
