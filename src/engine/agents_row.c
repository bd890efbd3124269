/* The step itself, for one component of many members. */
#include "engine/agents_parts.h"
#include "solver/pack.h"

typedef struct scalars {
    tc_pack step, regularization;
} scalars;

static scalars spread(tc_answer_scalars s) { return (scalars){tc_pack_both(s.step), tc_pack_both(s.regularization)}; }

/* The one place of these operations and their order; agents.h promises them. */
TC_INLINE tc_pack moved(tc_pack x, tc_pack g, tc_pack p, scalars s) {
    return x - s.step * ((g + p) + s.regularization * x);
}

TC_INLINE tc_pack_mask is_finite(tc_pack v) { return tc_pack_equal(v - v, tc_pack_both(0)); }

static const tc_pack_mask ALL = {-1, -1};

TC_INLINE bool all_of(tc_pack_mask mask) { return (mask[0] & mask[1]) == -1; }

bool tc_agents_row(size_t count, const double *g, const double *p, tc_answer_scalars answer, const double *x,
                   double lower, double upper, double *out) {
    const scalars s = spread(answer);
    const tc_pack low = tc_pack_both(lower), high = tc_pack_both(upper);
    tc_pack_mask finite = ALL;
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), s);
        finite &= is_finite(v);
        tc_pack_store(out + k, tc_pack_clip(v, low, high));
    }
    if (k < count) {
        tc_pack v = moved(tc_pack_both(x[k]), tc_pack_both(g[k]), tc_pack_both(p[k]), s);
        finite &= is_finite(v);
        out[k] = tc_pack_clip(v, low, high)[0];
    }
    return all_of(finite);
}

bool tc_agents_clipped_row(size_t count, const double *g, const double *p, tc_answer_scalars answer, const double *x,
                           const double *lower, const double *upper, double *out) {
    const scalars s = spread(answer);
    tc_pack_mask finite = ALL;
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), s);
        finite &= is_finite(v);
        tc_pack_store(out + k, tc_pack_clip(v, tc_pack_load(lower + k), tc_pack_load(upper + k)));
    }
    if (k < count) {
        tc_pack v = moved(tc_pack_both(x[k]), tc_pack_both(g[k]), tc_pack_both(p[k]), s);
        finite &= is_finite(v);
        out[k] = tc_pack_clip(v, tc_pack_both(lower[k]), tc_pack_both(upper[k]))[0];
    }
    return all_of(finite);
}
