/* States as integers: docs/proofs/release.md, "The protected trajectory". */
#include "model/spread.h"
#include "noise/secret.h"
#include "release/lattice.h"
#include "release/inside.h"

/* ---- all agents -------------------------------------------------------------------------------------------------- */

/* The lattice points of one member's box. Scaling by a power of two is exact where the result is normal. */
static bool bounds_of(const tc_family *family, size_t member, size_t component, int exponent, double *least,
                      double *most) {
    double lower = ldexp(tc_coef_at(family->lower[component], member), -exponent);
    double upper = ldexp(tc_coef_at(family->upper[component], member), -exponent);
    *least = ceil(lower);
    *most = floor(upper);
    return lower >= -(double)TC_MOST_EXACT && upper <= (double)TC_MOST_EXACT && *least <= *most;
}

static bool make_box(tc_arena *arena, const tc_family *family, size_t component, int exponent, tc_lattice_box *box) {
    bool varies = family->lower[component].column != NULL || family->upper[component].column != NULL;
    double *leasts = varies ? TC_NEW(arena, double, family->count) : NULL;
    double *mosts = varies ? TC_NEW(arena, double, family->count) : NULL;
    bool fits = true;
    *box = (tc_lattice_box){.leasts = leasts, .mosts = mosts, .is_small = true};
    for (size_t k = tc_first_known(family, varies); fits && k < tc_end_known(family, varies); k++) {
        fits = bounds_of(family, k, component, exponent, &box->least, &box->most);
        if (leasts != NULL && mosts != NULL) {
            leasts[k] = box->least;
            mosts[k] = box->most;
        }
        box->is_small = box->is_small && box->least >= -TC_SMALL_UNITS && box->most <= TC_SMALL_UNITS;
    }
    if (!varies)
        return fits;
    box->is_small = tc_for_all(family, box->is_small);
    return tc_for_all(family, fits);
}

tc_lattice_box **tc_lattice_boxes(tc_arena *arena, const tc_model *model, int exponent) {
    tc_lattice_box **boxes = TC_NEW(arena, tc_lattice_box *, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        boxes[f] = TC_NEW(arena, tc_lattice_box, model->families[f].dim);
        for (size_t c = 0; c < model->families[f].dim; c++)
            if (!make_box(arena, &model->families[f], c, exponent, &boxes[f][c]))
                return NULL;
    }
    return boxes;
}

static double least_of(const tc_lattice_box *box, size_t member) {
    return box->leasts == NULL ? box->least : box->leasts[member];
}

static double most_of(const tc_lattice_box *box, size_t member) {
    return box->mosts == NULL ? box->most : box->mosts[member];
}

/* Bounds are whole numbers, so rounding and clamping may be done in either order. */
static inline double clamped(double units, double least, double most) {
    units = units < least ? least : units;
    return units > most ? most : units;
}

static inline int64_t take_large(double units, double least, double most) {
    units = clamped(rint(units), least, most);
    return units >= least ? (int64_t)units : 0; /* NaN gives 0 */
}

/* The nearest lattice points of the box to x[0 .. count - 1], members first .. of a component. False if a number is not
 * finite; units is then undefined. */
static bool take_points(const tc_lattice_box *box, double per_unit, size_t first, size_t count, const double *x,
                        int64_t *restrict units) {
    const tc_lattice_rows *rows = tc_lattice_rows_here();
    if (box->is_small)
        return rows->take(box, per_unit, first, count, x, units);
    for (size_t k = 0; k < count; k++)
        units[k] = take_large(x[k] * per_unit, least_of(box, first + k), most_of(box, first + k));
    return rows->all_finite(x, count);
}

static void wipe_states(void *what) {
    tc_private_states *states = what;
    tc_secret_wipe(states->units, states->model->state_count * sizeof *states->units);
}

enum { MOST_FLAT = 1 << 14 }; /* coordinates */

/* One box for all coordinates makes ten families of one as fast as one family of ten. */
static void flatten(tc_arena *arena, tc_private_states *states) {
    const tc_model *model = states->model;
    if (model->state_count > MOST_FLAT)
        return;
    double *leasts = TC_NEW(arena, double, model->state_count), *mosts = TC_NEW(arena, double, model->state_count);
    double *lower = TC_NEW(arena, double, model->state_count), *upper = TC_NEW(arena, double, model->state_count);
    states->flat = TC_NEW(arena, tc_lattice_box, 1);
    *states->flat = (tc_lattice_box){.leasts = leasts, .mosts = mosts, .is_small = true};
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count; k++) {
                size_t at = tc_coord_of(family, k, c);
                leasts[at] = least_of(&states->boxes[f][c], k);
                mosts[at] = most_of(&states->boxes[f][c], k);
                lower[at] = tc_coef_at(family->lower[c], k);
                upper[at] = tc_coef_at(family->upper[c], k);
                states->flat->is_small = states->flat->is_small && states->boxes[f][c].is_small;
            }
    }
    states->lower = lower;
    states->upper = upper;
}

tc_private_states *tc_states_new(tc_arena *arena, const tc_model *model, int exponent) {
    tc_lattice_box **boxes = tc_lattice_boxes(arena, model, exponent);
    if (boxes == NULL)
        return NULL;
    tc_private_states *states = TC_NEW(arena, tc_private_states, 1);
    *states = (tc_private_states){.model = model,
                                  .exponent = exponent,
                                  .step = ldexp(1, exponent),
                                  .per_unit = ldexp(1, -exponent),
                                  .boxes = boxes,
                                  .units = TC_NEW(arena, int64_t, model->state_count)};
    flatten(arena, states);
    tc_arena_on_free(arena, wipe_states, states);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count; k++)
                states->units[tc_coord_of(family, k, c)] =
                    (int64_t)clamped(0, least_of(&boxes[f][c], k), most_of(&boxes[f][c], k));
    }
    return states;
}

/* ---- public sets: docs/proofs/publicset.md, section 2 ------------------------------------------------------------ */

static bool keep_member(tc_private_states *states, size_t family, size_t member) {
    const tc_family *of = &states->model->families[family];
    if (states->caps == NULL || states->caps->families[family] == NULL)
        return false;
    return tc_cap_keep(states->caps->families[family], member, &states->units[tc_coord_of(of, member, 0)], of->count);
}

static bool keep_all(tc_private_states *states) {
    bool moved = false;
    for (size_t f = 0; states->caps != NULL && f < states->model->family_count; f++)
        for (size_t k = 0; states->caps->families[f] != NULL && k < states->model->families[f].count; k++)
            moved |= keep_member(states, f, k);
    return moved;
}

tc_private_states *tc_states_of_plan(tc_arena *arena, const tc_model *model, const tc_plan *plan) {
    tc_private_states *states = tc_states_new(arena, model, plan->state_exponent);
    if (states != NULL) {
        states->caps = tc_caps_of_plan(arena, model, plan);
        (void)keep_all(states);
    }
    return states;
}

tc_taken tc_states_from_doubles(tc_private_states *states, size_t family, size_t member, const double *x) {
    const tc_family *of = &states->model->families[family];
    tc_taken taken = TC_STATE_TAKEN;
    if (!tc_lattice_rows_here()->all_finite(x, of->dim))
        return TC_STATE_REFUSED;
    for (size_t c = 0; c < of->dim; c++) {
        bool good = take_points(&states->boxes[family][c], states->per_unit, member, 1, &x[c],
                                &states->units[tc_coord_of(of, member, c)]);
        (void)good;
        if (x[c] < tc_coef_at(of->lower[c], member) || x[c] > tc_coef_at(of->upper[c], member))
            taken = TC_STATE_CLAMPED;
    }
    return keep_member(states, family, member) ? TC_STATE_CLAMPED : taken;
}

/* One component of all members of a family. */
static bool is_any_member_outside(tc_coef lower, tc_coef upper, size_t count, const double *x) {
    bool outside = false;
    for (size_t k = 0; k < count; k++)
        outside = outside || x[k] < tc_coef_at(lower, k) || x[k] > tc_coef_at(upper, k);
    return outside;
}

static bool take_families(tc_private_states *states, const double *x) {
    bool outside = false;
    for (size_t f = 0; f < states->model->family_count; f++) {
        const tc_family *of = &states->model->families[f];
        for (size_t c = 0; c < of->dim; c++) {
            size_t at = tc_coord_of(of, 0, c);
            bool good = take_points(&states->boxes[f][c], states->per_unit, 0, of->count, x + at, states->units + at);
            (void)good;
            outside |= is_any_member_outside(of->lower[c], of->upper[c], of->count, x + at);
        }
    }
    return outside;
}

/* Nothing is taken unless all are finite. */
static tc_taken take_flat(tc_private_states *states, const double *x) {
    size_t count = states->model->state_count;
    tc_lattice_seen seen = tc_lattice_rows_here()->look(states->lower, states->upper, count, x);
    if (!seen.all_finite || !take_points(states->flat, states->per_unit, 0, count, x, states->units))
        return TC_STATE_REFUSED;
    return seen.is_any_outside ? TC_STATE_CLAMPED : TC_STATE_TAKEN;
}

tc_taken tc_states_take(tc_private_states *states, const double *x) {
    tc_taken taken = TC_STATE_TAKEN;
    if (states->flat != NULL)
        taken = take_flat(states, x);
    else if (!tc_lattice_rows_here()->all_finite(x, states->model->state_count))
        taken = TC_STATE_REFUSED;
    else if (take_families(states, x))
        taken = TC_STATE_CLAMPED;
    return taken != TC_STATE_REFUSED && keep_all(states) ? TC_STATE_CLAMPED : taken;
}

tc_taken tc_states_from_integers(tc_private_states *states, size_t family, size_t member, const int64_t *units) {
    const tc_family *of = &states->model->families[family];
    tc_taken taken = TC_STATE_TAKEN;
    for (size_t c = 0; c < of->dim; c++) {
        const tc_lattice_box *box = &states->boxes[family][c];
        int64_t least = (int64_t)least_of(box, member), most = (int64_t)most_of(box, member);
        int64_t inside = units[c] < least ? least : units[c] > most ? most : units[c];
        states->units[tc_coord_of(of, member, c)] = inside;
        if (inside != units[c])
            taken = TC_STATE_CLAMPED;
    }
    return keep_member(states, family, member) ? TC_STATE_CLAMPED : taken;
}

/* ---- a worker takes the states of a block: no other code can read them there ------------------------------------- */

/* NULL where there is no such block, or nothing is open. */
static tc_release_block *block_at(const tc_release *release, size_t family, size_t block) {
    if (release->phase == TC_ROUND_CLOSED || family >= release->model->family_count ||
        block >= (release->model->families[family].count + release->block - 1) / release->block)
        return NULL;
    return &release->blocks->blocks[release->blocks->families[family].first_block + block];
}

static bool keeps_integers(const tc_release *release) {
    return tc_noises_states(release->plan) && tc_release_has_noise(release);
}

/* A member's points as rows of doubles: multiples of h, so that they become integers again exactly. */
static void keep_rows(const tc_release *release, const tc_cap *cap, size_t member, double *const *rows, size_t k) {
    int64_t excess = -tc_cap_bound(cap, member);
    for (size_t c = 0; c < cap->dim; c++)
        excess += tc_cap_use(cap, member, c, (int64_t)(rows[c][k] * release->states_per_unit));
    for (size_t c = 0; excess > 0 && c < cap->dim; c++) {
        int64_t units = tc_cap_moved(cap, member, c, (int64_t)(rows[c][k] * release->states_per_unit), &excess);
        rows[c][k] = tc_lattice_double(units) * release->state_step;
    }
}

static void keep_block(tc_release_worker *worker, size_t family, const tc_release_block *block) {
    const tc_release *release = worker->release;
    const tc_cap *cap = release->caps != NULL ? release->caps->families[family] : NULL;
    for (size_t k = 0; cap != NULL && k < block->count; k++) {
        if (keeps_integers(release))
            (void)tc_cap_keep(cap, block->first + k, worker->values->units + k, block->count);
        else
            keep_rows(release, cap, block->first + k, worker->rows, k);
    }
}

tc_status tc_release_take(tc_release_worker *worker, size_t family, size_t number, const double *const *x) {
    tc_release *release = worker->release;
    tc_release_block *block = block_at(release, family, number);
    worker->holds = NULL;
    if (block == NULL)
        return TC_BAD_USAGE;
    size_t dim = release->model->families[family].dim;
    worker->has_taken = true;
    for (size_t c = 0; c < dim; c++) {
        bool integers = keeps_integers(release);
        int64_t *units = worker->values->units + (integers ? c * block->count : 0);
        if (!take_points(&release->boxes[family][c], release->states_per_unit, block->first, block->count, x[c], units))
            return TC_BAD_USAGE;
        if (!integers)
            tc_lattice_rows_here()->points(release->state_step, block->count, units, worker->rows[c]);
    }
    keep_block(worker, family, block);
    worker->holds = block;
    return TC_OK;
}

tc_status tc_release_take_stored(tc_release_worker *worker, size_t family, size_t number,
                                 const tc_private_states *states) {
    const tc_release *release = worker->release;
    tc_release_block *block = block_at(release, family, number);
    worker->holds = NULL;
    if (block == NULL || !tc_release_knows(release, states) || states->exponent != release->plan->state_exponent)
        return TC_BAD_USAGE;
    const tc_family *of = &release->model->families[family];
    worker->has_taken = true;
    for (size_t c = 0; c < of->dim; c++) {
        const int64_t *units = states->units + tc_coord_of(of, block->first, c);
        if (keeps_integers(release))
            memcpy(worker->values->units + c * block->count, units, block->count * sizeof *units);
        else
            tc_lattice_rows_here()->points(release->state_step, block->count, units, worker->rows[c]);
    }
    worker->holds = block;
    return TC_OK;
}
