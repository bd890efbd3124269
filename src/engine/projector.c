#include "engine/projector.h"

#include "model/spread.h"
#include "solver/project/set.h"

#include <string.h>

/* ---- which form the sets of a family have, and their numbers ----------------------------------------------------- */

typedef struct bounds_seen { /* of one component, below or above */
    double first;            /* of member 0 */
    bool varies;
    bool is_public; /* always the public box's */
    double *column; /* to be filled, where it varies and is not public */
} bounds_seen;

/* Collected while all members' sets are resolved one after another. Each rank looks at those that it knows; what is
 * found out is then made to hold for all. */
typedef struct survey {
    size_t members;      /* how many sets stand for all: one where all are alike */
    size_t first, end;   /* of them, those of this rank */
    bool is_general;     /* some set has parts that overlap, or an ellipsoid */
    size_t *active;      /* by piece: in how many sets it is a part */
    size_t *slab;        /* by piece: the first piece that is a half-space parallel to it for all members, or itself */
    bounds_seen *bounds; /* 2 dim: lower, then upper */
} survey;

static bool varies(const tc_coef *coefs, size_t count) {
    for (size_t i = 0; coefs != NULL && i < count; i++)
        if (coefs[i].column != NULL)
            return true;
    return false;
}

static bool members_differ(const tc_family *family) {
    if (varies(family->lower, family->dim) || varies(family->upper, family->dim))
        return true;
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        if (varies(&piece->radius, 1) || varies(piece->center, piece->count) || varies(piece->upper, piece->count) ||
            varies(piece->matrix, piece->count * piece->count))
            return true;
    }
    return false;
}

bool tc_projector_varies(const tc_family *family) { return family->piece_count > 0 && members_differ(family); }

void tc_projector_signature(const tc_set *set, size_t *signature) {
    bool is_general = set->shape == TC_SHAPE_GENERAL;
    for (size_t p = 0; p < set->part_count; p++)
        is_general = is_general || set->parts[p].kind == TC_SET_ELLIPSOID;
    memset(signature, 0, (set->family->piece_count + 1) * sizeof *signature);
    signature[0] = is_general ? TC_PROJECTOR_MEMBERS : set->part_count > 0 ? TC_PROJECTOR_CUTS : TC_PROJECTOR_BOX;
    for (size_t p = 0; p < set->part_count && !is_general; p++)
        signature[1 + set->parts[p].piece] = 1 + set->parts[set->parts[p].slab].piece;
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void note_bound(bounds_seen *seen, tc_coef public, double bound, size_t member, bool is_first) {
    if (is_first)
        *seen = (bounds_seen){.first = bound, .is_public = true};
    seen->varies = seen->varies || !same(bound, seen->first);
    seen->is_public = seen->is_public && same(bound, tc_coef_at(public, member));
}

/* What the ranks have found out together. */
static void join_surveys(const tc_family *family, survey *seen) {
    if (seen->members == 1)
        return;
    seen->is_general = tc_for_some(family, seen->is_general);
    for (size_t p = 0; p < family->piece_count; p++)
        seen->active[p] = tc_sum_known(family, seen->active[p]);
    for (size_t b = 0; b < 2 * family->dim; b++) {
        bounds_seen *of = &seen->bounds[b];
        double first = of->first;
        tc_from_member(family, 0, &first, sizeof first);
        of->varies = tc_for_some(family, of->varies || !same(of->first, first));
        of->is_public = tc_for_all(family, of->is_public);
        of->first = first;
    }
}

static survey look_at_all(tc_arena *arena, const tc_family *family) {
    bool differ = members_differ(family);
    survey seen = {.members = differ ? family->count : 1,
                   .first = tc_first_known(family, differ),
                   .end = tc_end_known(family, differ),
                   .active = TC_NEW(arena, size_t, family->piece_count),
                   .bounds = TC_NEW(arena, bounds_seen, 2 * family->dim)};
    tc_mark mark = tc_arena_mark(arena);
    tc_set *set = tc_set_new(arena, family);
    for (size_t k = seen.first; k < seen.end; k++) {
        tc_set_load(set, k);
        for (size_t c = 0; c < family->dim; c++) {
            note_bound(&seen.bounds[c], family->lower[c], set->lower[c], k, k == seen.first);
            note_bound(&seen.bounds[family->dim + c], family->upper[c], set->upper[c], k, k == seen.first);
        }
        seen.is_general = seen.is_general || set->shape == TC_SHAPE_GENERAL;
        for (size_t p = 0; p < set->part_count; p++) {
            seen.is_general = seen.is_general || set->parts[p].kind == TC_SET_ELLIPSOID;
            seen.active[set->parts[p].piece]++;
        }
    }
    tc_arena_rewind(arena, mark);
    join_surveys(family, &seen);
    return seen;
}

static bool are_parallel_here(const tc_set_piece *a, const tc_set_piece *b, const survey *seen) {
    for (size_t k = seen->first; k < seen->end; k++) {
        bool is_same = true, is_opposite = true;
        for (size_t c = 0; c < a->count; c++) {
            double one = tc_coef_at(a->center[c], k), other = tc_coef_at(b->center[c], k);
            is_same = is_same && one == other;
            is_opposite = is_opposite && one == -other;
        }
        if (!is_same && !is_opposite)
            return false;
    }
    return true;
}

static bool are_parallel(const tc_family *family, const tc_set_piece *a, const tc_set_piece *b, const survey *seen) {
    if (a->kind != TC_SET_HALFSPACE || b->kind != TC_SET_HALFSPACE || a->first != b->first || a->count != b->count)
        return false;
    bool here = are_parallel_here(a, b, seen);
    return seen->members == 1 ? here : tc_for_all(family, here);
}

static void find_slabs(tc_arena *arena, const tc_family *family, survey *seen) {
    seen->slab = TC_NEW(arena, size_t, family->piece_count);
    for (size_t p = 0; p < family->piece_count; p++) {
        size_t q = 0;
        while (q < p && (seen->active[p] == 0 || seen->active[q] == 0 ||
                         !are_parallel(family, &family->pieces[p], &family->pieces[q], seen)))
            q++;
        seen->slab[p] = q;
    }
}

static bool has_company(const tc_family *family, const survey *seen, size_t p) {
    for (size_t q = p + 1; q < family->piece_count; q++)
        if (seen->slab[q] == p)
            return true;
    return false;
}

/* Parts of different members may overlap though no member's do. */
static bool parts_overlap(const tc_family *family, const survey *seen) {
    for (size_t p = 0; p < family->piece_count; p++)
        for (size_t q = 0; q < p; q++) {
            const tc_set_piece *a = &family->pieces[p], *b = &family->pieces[q];
            if (seen->active[p] > 0 && seen->active[q] > 0 && seen->slab[p] != seen->slab[q] &&
                a->first < b->first + b->count && b->first < a->first + a->count)
                return true;
        }
    return false;
}

static tc_coef new_bound(tc_arena *arena, const tc_family *family, tc_coef public, bounds_seen *seen) {
    if (seen->is_public)
        return public;
    if (seen->varies)
        seen->column = TC_NEW(arena, double, family->count);
    return (tc_coef){.value = seen->first, .column = seen->column};
}

static void new_bounds(tc_arena *arena, tc_projector *projector, const survey *seen) {
    const tc_family *family = projector->family;
    projector->lower = TC_NEW(arena, tc_coef, family->dim);
    projector->upper = TC_NEW(arena, tc_coef, family->dim);
    for (size_t c = 0; c < family->dim; c++) {
        projector->lower[c] = new_bound(arena, family, family->lower[c], &seen->bounds[c]);
        projector->upper[c] = new_bound(arena, family, family->upper[c], &seen->bounds[family->dim + c]);
    }
}

static tc_coef *ones(tc_arena *arena, size_t count) {
    tc_coef *list = TC_NEW(arena, tc_coef, count);
    for (size_t c = 0; c < count; c++)
        list[c].value = 1;
    return list;
}

typedef struct cut_columns { /* to be filled by member: */
    double *radius;          /* where some have no such part, and of slabs; else NULL */
    double *floor;           /* of slabs; else NULL */
} cut_columns;

static tc_projector_cut new_cut(tc_arena *arena, const tc_projector *projector, const tc_set_piece *piece,
                                const cut_columns *columns) {
    bool is_simplex = piece->kind == TC_SET_SIMPLEX;
    tc_cut cut = {.kind = is_simplex ? TC_SET_HYPERPLANE : piece->kind,
                  .count = piece->count,
                  .center = is_simplex ? ones(arena, piece->count) : piece->center,
                  .radius = columns->radius != NULL ? (tc_coef){.column = columns->radius} : piece->radius,
                  .is_slab = columns->floor != NULL,
                  .floor = {.column = columns->floor},
                  .lower = projector->lower + piece->first,
                  .upper = projector->upper + piece->first};
    return (tc_projector_cut){.cut = cut, .first = piece->first};
}

static cut_columns *new_cuts(tc_arena *arena, tc_projector *projector, const survey *seen) {
    const tc_family *family = projector->family;
    cut_columns *columns = TC_NEW(arena, cut_columns, family->piece_count);
    bool *is_cut = TC_NEW(arena, bool, family->dim);
    projector->cuts = TC_NEW(arena, tc_projector_cut, family->piece_count);
    projector->uncut = TC_NEW(arena, size_t, family->dim);
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        if (seen->active[p] == 0 || seen->slab[p] != p)
            continue;
        bool is_slab = has_company(family, seen, p);
        if (seen->active[p] < seen->members || is_slab)
            columns[p].radius = TC_NEW(arena, double, seen->members);
        if (is_slab)
            columns[p].floor = TC_NEW(arena, double, seen->members);
        projector->cuts[projector->cut_count++] = new_cut(arena, projector, piece, &columns[p]);
        memset(is_cut + piece->first, true, piece->count * sizeof *is_cut);
    }
    for (size_t c = 0; c < family->dim; c++)
        if (!is_cut[c])
            projector->uncut[projector->uncut_count++] = c;
    return columns;
}

static bool needs_filling(const tc_family *family, const survey *seen, const cut_columns *columns) {
    bool any = false;
    for (size_t b = 0; b < 2 * family->dim; b++)
        any = any || seen->bounds[b].column != NULL;
    for (size_t p = 0; p < family->piece_count; p++)
        any = any || columns[p].radius != NULL;
    return any;
}

static void fill_cuts(const tc_set *set, const survey *seen, const cut_columns *columns, size_t member) {
    for (size_t p = 0; p < set->family->piece_count; p++) {
        if (columns[p].radius != NULL)
            columns[p].radius[member] = INFINITY;
        if (columns[p].floor != NULL)
            columns[p].floor[member] = -INFINITY;
    }
    for (size_t i = 0; i < set->part_count; i++) {
        const tc_set_part *part = &set->parts[i];
        size_t p = seen->slab[part->piece];
        const cut_columns *to = &columns[p];
        if (to->floor != NULL && tc_normals_agree(part->count, part->center, set->centers[p]) < 0)
            to->floor[member] = fmax(to->floor[member], -part->radius);
        else if (to->radius != NULL)
            to->radius[member] = fmin(to->radius[member], part->radius);
    }
}

static void fill_columns(tc_arena *arena, const tc_family *family, const survey *seen, const cut_columns *columns) {
    tc_mark mark = tc_arena_mark(arena);
    tc_set *set = tc_set_new(arena, family);
    for (size_t k = seen->first; k < seen->end; k++) {
        tc_set_load(set, k);
        for (size_t c = 0; c < family->dim; c++) {
            if (seen->bounds[c].column != NULL)
                seen->bounds[c].column[k] = set->lower[c];
            if (seen->bounds[family->dim + c].column != NULL)
                seen->bounds[family->dim + c].column[k] = set->upper[c];
        }
        fill_cuts(set, seen, columns, k);
    }
    tc_arena_rewind(arena, mark);
}

/* Where all members are alike, the columns hold one number. */
static tc_coef plain(tc_coef numbers) { return (tc_coef){.value = numbers.column[0]}; }

static void set_even_slabs(tc_projector *projector) {
    for (size_t i = 0; i < projector->cut_count; i++) {
        tc_cut *cut = &projector->cuts[i].cut;
        if (!cut->is_slab)
            continue;
        cut->radius = plain(cut->radius);
        cut->floor = plain(cut->floor);
    }
}

/* ---- sets kept one by one ---------------------------------------------------------------------------------------- */

static size_t bytes_of_one(const tc_family *family) {
    size_t bytes = sizeof(tc_kept_set) + 2 * family->dim * sizeof(double) + 64;
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        size_t entries = piece->kind == TC_SET_ELLIPSOID ? piece->count * piece->count : 0;
        if (piece->kind != TC_SET_BOX)
            bytes += sizeof(tc_set_part) + (piece->count + entries) * sizeof(double) + 32;
    }
    return bytes;
}

static double *copy_of(tc_arena *arena, const double *numbers, size_t count) {
    double *copy = TC_NEW(arena, double, count);
    memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

static tc_kept_set keep(tc_arena *arena, const tc_set *set) {
    tc_kept_set kept = {.lower = copy_of(arena, set->lower, set->dim),
                        .upper = copy_of(arena, set->upper, set->dim),
                        .parts = TC_NEW(arena, tc_set_part, set->part_count),
                        .part_count = set->part_count,
                        .shape = set->shape};
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        kept.parts[p] = *part;
        kept.parts[p].center = copy_of(arena, part->center, part->count);
        if (part->matrix != NULL)
            kept.parts[p].matrix = copy_of(arena, part->matrix, part->count * part->count);
    }
    return kept;
}

static void new_members(tc_arena *arena, tc_projector *projector, size_t workers, size_t *memory) {
    const tc_family *family = projector->family;
    projector->works = TC_NEW(arena, tc_projector_work, workers);
    for (size_t w = 0; w < workers; w++)
        projector->works[w] =
            (tc_projector_work){.set = tc_set_new(arena, family), .point = TC_NEW(arena, double, family->dim)};
    size_t each = bytes_of_one(family);
    size_t known = family->known_end - family->known_first;
    if (known > *memory / each)
        return;
    *memory -= known * each;
    tc_kept_set *kept = TC_NEW(arena, tc_kept_set, family->count);
    for (size_t k = family->known_first; k < family->known_end; k++) {
        tc_set_load(projector->works[0].set, k);
        kept[k] = keep(arena, projector->works[0].set);
    }
    projector->kept = kept;
}

tc_projector *tc_projector_new(tc_arena *arena, const tc_family *family, size_t workers, size_t *memory) {
    tc_projector *projector = TC_NEW(arena, tc_projector, 1);
    survey seen = look_at_all(arena, family);
    projector->family = family;
    find_slabs(arena, family, &seen);
    if (seen.is_general || parts_overlap(family, &seen)) {
        projector->form = TC_PROJECTOR_MEMBERS;
        new_members(arena, projector, workers, memory);
        return projector;
    }
    new_bounds(arena, projector, &seen);
    const cut_columns *columns = new_cuts(arena, projector, &seen);
    projector->form = projector->cut_count == 0 ? TC_PROJECTOR_BOX : TC_PROJECTOR_CUTS;
    if (needs_filling(family, &seen, columns))
        fill_columns(arena, family, &seen, columns);
    if (seen.members == 1)
        set_even_slabs(projector);
    return projector;
}

/* ---- projections ------------------------------------------------------------------------------------------------- */

bool tc_projector_box(const tc_projector *projector, const tc_coef **lower, const tc_coef **upper) {
    *lower = projector->lower;
    *upper = projector->upper;
    return projector->form == TC_PROJECTOR_BOX;
}

static void clip_row(tc_coef lower, tc_coef upper, size_t first, size_t count, double *v) {
    for (size_t k = 0; k < count; k++) {
        double low = tc_coef_at(lower, first + k), high = tc_coef_at(upper, first + k);
        v[k] = v[k] < low ? low : v[k];
        v[k] = v[k] > high ? high : v[k];
    }
}

static void project_cuts(const tc_projector *projector, size_t first, size_t count, size_t stride, double *v) {
    for (size_t i = 0; i < projector->uncut_count; i++) {
        size_t c = projector->uncut[i];
        clip_row(projector->lower[c], projector->upper[c], first, count, v + c * stride);
    }
    for (size_t i = 0; i < projector->cut_count; i++) {
        double *rows = v + projector->cuts[i].first * stride;
        tc_project_cut(&projector->cuts[i].cut, first, count, stride, rows, rows);
    }
}

tc_set *tc_projector_set(const tc_projector *projector, size_t worker, size_t member) {
    tc_set *set = projector->works[worker].set;
    if (projector->kept == NULL) {
        tc_set_load(set, member);
        return set;
    }
    const tc_kept_set *kept = &projector->kept[member];
    set->lower = kept->lower;
    set->upper = kept->upper;
    set->parts = kept->parts;
    set->part_count = kept->part_count;
    set->shape = kept->shape;
    return set;
}

static bool project_member(const tc_projector *projector, size_t worker, size_t member, size_t stride, double *v) {
    tc_set *set = tc_projector_set(projector, worker, member);
    double *point = projector->works[worker].point;
    for (size_t c = 0; c < set->dim; c++)
        point[c] = v[c * stride];
    bool is_accurate = tc_project(set, point, point);
    for (size_t c = 0; c < set->dim; c++)
        v[c * stride] = point[c];
    return is_accurate;
}

size_t tc_projector_project(tc_projector *projector, size_t worker, size_t first, size_t count, size_t stride,
                            double *v) {
    size_t inaccurate = 0;
    if (projector->form != TC_PROJECTOR_MEMBERS) {
        project_cuts(projector, first, count, stride, v);
        return 0;
    }
    for (size_t k = 0; k < count; k++)
        inaccurate += !project_member(projector, worker, first + k, stride, v + k);
    return inaccurate;
}
