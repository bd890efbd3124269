/* States as integers: docs/proofs/release.md, "The protected trajectory". */
#include "privacy/release_private.h"
#include "privacy/secret.h"

typedef struct lattice_range {
    int64_t least, most;
} lattice_range;

/* The lattice points of the public box. Scaling by a power of two is exact where the result is normal; tc_states_new
 * has excluded ends beyond 2^53 steps. */
static lattice_range range_of(const tc_private_states *states, const tc_family *family, size_t member,
                              size_t component) {
    double lower = ldexp(tc_coef_at(family->lower[component], member), -states->exponent);
    double upper = ldexp(tc_coef_at(family->upper[component], member), -states->exponent);
    return (lattice_range){(int64_t)ceil(lower), (int64_t)floor(upper)};
}

static bool is_box_good(const tc_private_states *states, const tc_family *family, size_t member, size_t component) {
    const double most = (double)TC_MOST_EXACT;
    double lower = ldexp(tc_coef_at(family->lower[component], member), -states->exponent);
    double upper = ldexp(tc_coef_at(family->upper[component], member), -states->exponent);
    return lower >= -most && upper <= most && ceil(lower) <= floor(upper);
}

static void wipe_states(void *what) {
    tc_private_states *states = what;
    tc_secret_wipe(states->units, states->model->state_count * sizeof *states->units);
}

tc_private_states *tc_states_new(tc_arena *arena, const tc_model *model, int exponent) {
    tc_private_states *states = TC_NEW(arena, tc_private_states, 1);
    *states = (tc_private_states){model, exponent, ldexp(1, exponent), TC_NEW(arena, int64_t, model->state_count)};
    tc_arena_on_free(arena, wipe_states, states);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count; k++) {
                if (!is_box_good(states, family, k, c))
                    return NULL;
                lattice_range range = range_of(states, family, k, c);
                states->units[tc_coord_of(family, k, c)] = range.least > 0  ? range.least
                                                           : range.most < 0 ? range.most
                                                                            : 0;
            }
    }
    return states;
}

tc_taken tc_states_from_doubles(tc_private_states *states, size_t family, size_t member, const double *x) {
    const tc_family *of = &states->model->families[family];
    tc_taken taken = TC_STATE_TAKEN;
    for (size_t c = 0; c < of->dim; c++)
        if (!isfinite(x[c]))
            return TC_STATE_REFUSED;
    for (size_t c = 0; c < of->dim; c++) {
        lattice_range range = range_of(states, of, member, c);
        double nearest = rint(ldexp(x[c], -states->exponent));
        int64_t units = nearest <= (double)range.least  ? range.least
                        : nearest >= (double)range.most ? range.most
                                                        : (int64_t)nearest;
        states->units[tc_coord_of(of, member, c)] = units;
        if (x[c] < tc_coef_at(of->lower[c], member) || x[c] > tc_coef_at(of->upper[c], member))
            taken = TC_STATE_CLAMPED;
    }
    return taken;
}

tc_taken tc_states_from_integers(tc_private_states *states, size_t family, size_t member, const int64_t *units) {
    const tc_family *of = &states->model->families[family];
    tc_taken taken = TC_STATE_TAKEN;
    for (size_t c = 0; c < of->dim; c++) {
        lattice_range range = range_of(states, of, member, c);
        int64_t inside = units[c] < range.least ? range.least : units[c] > range.most ? range.most : units[c];
        states->units[tc_coord_of(of, member, c)] = inside;
        if (inside != units[c])
            taken = TC_STATE_CLAMPED;
    }
    return taken;
}
