#include "solver/project/set.h"

#include <float.h>
#include <stdint.h>

static size_t lifts(const tc_set_piece *piece) { return piece->kind == TC_SET_BALL1 ? piece->count : 0; }

size_t tc_set_row_limit(const tc_family *family) {
    size_t rows = 0;
    for (size_t p = 0; p < family->piece_count; p++)
        rows += family->pieces[p].kind == TC_SET_BOX ? 0 : 1 + 2 * lifts(&family->pieces[p]);
    return rows;
}

size_t tc_set_lift_limit(const tc_family *family) {
    size_t count = 0;
    for (size_t p = 0; p < family->piece_count; p++)
        count += lifts(&family->pieces[p]);
    return count;
}

tc_set *tc_set_new(tc_arena *arena, const tc_family *family) {
    tc_set *set = TC_NEW(arena, tc_set, 1);
    set->dim = family->dim;
    set->family = family;
    set->lower = TC_NEW(arena, double, family->dim);
    set->upper = TC_NEW(arena, double, family->dim);
    set->lower_piece = TC_NEW(arena, size_t, family->dim);
    set->upper_piece = TC_NEW(arena, size_t, family->dim);
    set->parts = TC_NEW(arena, tc_set_part, family->piece_count);
    set->centers = TC_NEW(arena, double *, family->piece_count);
    set->matrices = TC_NEW(arena, double *, family->piece_count);
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        if (piece->kind != TC_SET_BOX)
            set->centers[p] = TC_NEW(arena, double, piece->count);
        if (piece->kind == TC_SET_ELLIPSOID)
            set->matrices[p] = TC_NEW(arena, double, piece->count * piece->count);
    }
    set->work = tc_set_work_new(arena, set);
    return set;
}

tc_set *tc_set_of(tc_arena *arena, const tc_family *family, size_t member) {
    tc_set *set = tc_set_new(arena, family);
    tc_set_load(set, member);
    return set;
}

static void declare_empty(tc_set *set, size_t piece, size_t other, size_t component) {
    if (set->is_empty)
        return;
    set->is_empty = true;
    set->conflict = (tc_set_conflict){.piece = piece, .other = other, .component = component};
}

static void raise_lower(tc_set *set, size_t c, double bound, size_t piece) {
    if (bound > set->lower[c]) {
        set->lower[c] = bound;
        set->lower_piece[c] = piece;
    }
}

static void drop_upper(tc_set *set, size_t c, double bound, size_t piece) {
    if (bound < set->upper[c]) {
        set->upper[c] = bound;
        set->upper_piece[c] = piece;
    }
}

static void add_linear(tc_set *set, size_t p, tc_set_kind kind, double radius) {
    const tc_set_piece *piece = &set->family->pieces[p];
    double *normal = set->centers[p];
    size_t nonzero = 0, last = 0;
    for (size_t c = 0; c < piece->count; c++)
        if (normal[c] != 0) {
            nonzero++;
            last = c;
        }
    if (nonzero == 0) {
        if (radius < 0 || (kind == TC_SET_HYPERPLANE && radius != 0))
            declare_empty(set, p, TC_NO_PIECE, SIZE_MAX);
    } else if (nonzero == 1) {
        double bound = radius / normal[last];
        if (kind == TC_SET_HYPERPLANE || normal[last] > 0)
            drop_upper(set, piece->first + last, bound, p);
        if (kind == TC_SET_HYPERPLANE || normal[last] < 0)
            raise_lower(set, piece->first + last, bound, p);
    } else {
        set->parts[set->part_count++] = (tc_set_part){
            .kind = kind, .first = piece->first, .count = piece->count, .center = normal, .radius = radius, .piece = p};
    }
}

static void add_round(tc_set *set, size_t p, double radius) {
    const tc_set_piece *piece = &set->family->pieces[p];
    const double *center = set->centers[p];
    if (radius < 0) {
        declare_empty(set, p, TC_NO_PIECE, SIZE_MAX);
    } else if (radius == 0 || piece->count == 1) {
        double reach = radius;
        if (piece->kind == TC_SET_ELLIPSOID && radius > 0)
            reach = sqrt(radius / set->matrices[p][0]);
        for (size_t c = 0; c < piece->count; c++) {
            raise_lower(set, piece->first + c, center[c] - reach, p);
            drop_upper(set, piece->first + c, center[c] + reach, p);
        }
    } else {
        set->parts[set->part_count++] = (tc_set_part){.kind = piece->kind,
                                                      .first = piece->first,
                                                      .count = piece->count,
                                                      .center = set->centers[p],
                                                      .radius = radius,
                                                      .matrix = set->matrices[p],
                                                      .piece = p};
    }
}

static void resolve_piece(tc_set *set, size_t p, size_t member) {
    const tc_set_piece *piece = &set->family->pieces[p];
    double radius = tc_coef_at(piece->radius, member);
    if (piece->kind == TC_SET_BOX) {
        for (size_t c = 0; c < piece->count; c++) {
            raise_lower(set, piece->first + c, tc_coef_at(piece->center[c], member), p);
            drop_upper(set, piece->first + c, tc_coef_at(piece->upper[c], member), p);
        }
        return;
    }
    double *center = set->centers[p];
    for (size_t c = 0; c < piece->count; c++)
        center[c] = piece->kind == TC_SET_SIMPLEX ? 1 : tc_coef_at(piece->center[c], member);
    if (piece->kind == TC_SET_ELLIPSOID)
        for (size_t e = 0; e < piece->count * piece->count; e++)
            set->matrices[p][e] = tc_coef_at(piece->matrix[e], member);
    if (piece->kind == TC_SET_SIMPLEX)
        for (size_t c = 0; c < piece->count; c++) {
            raise_lower(set, piece->first + c, 0, p);
            drop_upper(set, piece->first + c, radius, p);
        }
    if (piece->kind == TC_SET_HALFSPACE || piece->kind == TC_SET_HYPERPLANE)
        add_linear(set, p, piece->kind, radius);
    else if (piece->kind == TC_SET_SIMPLEX)
        add_linear(set, p, TC_SET_HYPERPLANE, radius);
    else
        add_round(set, p, radius);
}

/* Bounds that cross by rounding alone meet in their middle. */
static void check_bounds(tc_set *set) {
    for (size_t c = 0; c < set->dim; c++) {
        double lower = set->lower[c], upper = set->upper[c];
        if (!(lower > upper))
            continue;
        if (lower - upper <= 4 * DBL_EPSILON * (fabs(lower) + fabs(upper)))
            set->lower[c] = set->upper[c] = lower + (upper - lower) / 2;
        else
            declare_empty(set, set->lower_piece[c], set->upper_piece[c], c);
    }
}

/* A part that no point of the box meets is in conflict with the piece that gave the bounds. */
static void declare_missed(tc_set *set, const tc_set_part *part) {
    size_t other = TC_NO_PIECE;
    for (size_t c = part->first; c < part->first + part->count; c++) {
        const size_t givers[] = {set->lower_piece[c], set->upper_piece[c]};
        for (size_t g = 0; g < 2; g++)
            if (givers[g] != part->piece && other == TC_NO_PIECE)
                other = givers[g];
    }
    declare_empty(set, part->piece, other, SIZE_MAX);
}

static void fix_component(tc_set *set, size_t c, double value, size_t piece) {
    raise_lower(set, c, value, piece);
    drop_upper(set, c, value, piece);
}

typedef enum effect { KEPT, CUTS_NOTHING, TOUCHES } effect;

/* Where the box meets a . x <= b only in the vertex that minimises a . x, that vertex is the set (and likewise for
 * the vertex that maximises it, with a hyperplane). */
static effect simplify_linear(tc_set *set, const tc_set_part *part) {
    double least = 0, most = 0, size = fabs(part->radius);
    for (size_t c = 0; c < part->count; c++) {
        double a = part->center[c], lower = set->lower[part->first + c], upper = set->upper[part->first + c];
        least += a > 0 ? a * lower : a * upper;
        most += a > 0 ? a * upper : a * lower;
        size += fabs(a) * fmax(fabs(lower), fabs(upper));
    }
    double rounding = 2 * DBL_EPSILON * (double)(part->count + 2) * size;
    bool equality = part->kind == TC_SET_HYPERPLANE;
    if (least > part->radius + rounding || (equality && most < part->radius - rounding)) {
        declare_missed(set, part);
        return KEPT;
    }
    bool at_least = least >= part->radius - rounding, at_most = equality && most <= part->radius + rounding;
    if (at_least || at_most) {
        for (size_t c = 0; c < part->count; c++) {
            double a = part->center[c];
            size_t at = part->first + c;
            if (a != 0)
                fix_component(set, at, (a > 0) == at_least ? set->lower[at] : set->upper[at], part->piece);
        }
        return TOUCHES;
    }
    return !equality && most <= part->radius - rounding ? CUTS_NOTHING : KEPT;
}

static effect simplify_ball(tc_set *set, const tc_set_part *part) {
    bool squared = part->kind == TC_SET_BALL;
    double nearest = 0, farthest = 0;
    for (size_t c = 0; c < part->count; c++) {
        double below = part->center[c] - set->lower[part->first + c];
        double above = set->upper[part->first + c] - part->center[c];
        double near_by = fmax(0, fmax(-below, -above)), far_by = fmax(below, above);
        nearest += squared ? near_by * near_by : near_by;
        farthest += squared ? far_by * far_by : far_by;
    }
    if (squared) {
        nearest = sqrt(nearest);
        farthest = sqrt(farthest);
    }
    double rounding = 4 * DBL_EPSILON * (double)(part->count + 2) * (nearest + part->radius);
    if (nearest > part->radius + rounding) {
        declare_missed(set, part);
        return KEPT;
    }
    if (nearest >= part->radius - rounding && squared) {
        for (size_t c = 0; c < part->count; c++) {
            size_t at = part->first + c;
            fix_component(set, at, fmin(fmax(part->center[c], set->lower[at]), set->upper[at]), part->piece);
        }
        return TOUCHES;
    }
    return farthest <= part->radius * (1 - 4 * DBL_EPSILON * (double)part->count) ? CUTS_NOTHING : KEPT;
}

static effect simplify_part(tc_set *set, const tc_set_part *part) {
    switch (part->kind) {
    case TC_SET_HALFSPACE:
    case TC_SET_HYPERPLANE:
        return simplify_linear(set, part);
    case TC_SET_BALL:
    case TC_SET_BALL1:
        return simplify_ball(set, part);
    case TC_SET_BOX:
    case TC_SET_SIMPLEX:
    case TC_SET_ELLIPSOID:
        break;
    }
    return KEPT;
}

static void simplify(tc_set *set) {
    for (bool again = true; again && !set->is_empty;) {
        again = false;
        size_t kept = 0;
        for (size_t p = 0; p < set->part_count; p++) {
            effect what = simplify_part(set, &set->parts[p]);
            again = again || what == TOUCHES;
            if (what == KEPT)
                set->parts[kept++] = set->parts[p];
        }
        set->part_count = kept;
    }
}

int tc_normals_agree(size_t count, const double *a, const double *b) {
    bool is_same = true, is_opposite = true;
    for (size_t c = 0; c < count && (is_same || is_opposite); c++) {
        is_same = is_same && a[c] == b[c];
        is_opposite = is_opposite && a[c] == -b[c];
    }
    return is_same ? 1 : is_opposite ? -1 : 0;
}

static bool are_parallel(const tc_set_part *a, const tc_set_part *b) {
    return a->kind == TC_SET_HALFSPACE && b->kind == TC_SET_HALFSPACE && a->first == b->first && a->count == b->count &&
           tc_normals_agree(a->count, a->center, b->center) != 0;
}

static void find_slabs(tc_set *set) {
    for (size_t p = 0; p < set->part_count; p++) {
        size_t q = 0;
        while (q < p && !are_parallel(&set->parts[p], &set->parts[q]))
            q++;
        set->parts[p].slab = q;
    }
}

tc_slab tc_set_slab(const tc_set *set, size_t p) {
    const tc_set_part *first = &set->parts[p];
    tc_slab slab = {.floor = -INFINITY, .radius = first->radius};
    for (size_t q = p + 1; q < set->part_count; q++) {
        const tc_set_part *part = &set->parts[q];
        if (part->slab != p)
            continue;
        if (tc_normals_agree(first->count, first->center, part->center) > 0)
            slab.radius = fmin(slab.radius, part->radius);
        else
            slab.floor = fmax(slab.floor, -part->radius);
    }
    return slab;
}

static bool overlap(const tc_set_part *a, const tc_set_part *b) {
    return a->first < b->first + b->count && b->first < a->first + a->count && a->slab != b->slab;
}

static tc_set_shape shape_of(const tc_set *set) {
    for (size_t p = 0; p < set->part_count; p++) {
        for (size_t q = 0; q < p; q++)
            if (overlap(&set->parts[p], &set->parts[q]))
                return TC_SHAPE_GENERAL;
        if (set->parts[p].slab == p) {
            tc_slab slab = tc_set_slab(set, p);
            if (slab.floor > slab.radius)
                return TC_SHAPE_GENERAL;
        }
    }
    return set->part_count == 0 ? TC_SHAPE_BOX : TC_SHAPE_SEPARABLE;
}

void tc_set_load(tc_set *set, size_t member) {
    const tc_family *family = set->family;
    for (size_t c = 0; c < set->dim; c++) {
        set->lower[c] = tc_coef_at(family->lower[c], member);
        set->upper[c] = tc_coef_at(family->upper[c], member);
        set->lower_piece[c] = set->upper_piece[c] = TC_NO_PIECE;
    }
    set->part_count = 0;
    set->is_empty = false;
    for (size_t p = 0; p < family->piece_count; p++)
        resolve_piece(set, p, member);
    check_bounds(set);
    if (family->piece_count != 0)
        simplify(set);
    find_slabs(set);
    set->shape = shape_of(set);
}

/* ---- facts about a set: a box around it, its size, how far a point is outside, whether it is empty ---- */

static double outward_down(double x) { return nextafter(x, -INFINITY); }
static double outward_up(double x) { return nextafter(x, INFINITY); }

/* a . x <= b bounds each component by what the others can take away at most. */
static void tighten_linear(const tc_set_part *part, double *lower, double *upper) {
    bool equality = part->kind == TC_SET_HYPERPLANE;
    for (size_t c = 0; c < part->count; c++) {
        double a = part->center[c];
        if (a == 0)
            continue;
        double least = 0, most = 0, size = fabs(part->radius);
        for (size_t d = 0; d < part->count; d++) {
            double e = part->center[d];
            if (d == c || e == 0)
                continue;
            least += e > 0 ? e * lower[d] : e * upper[d];
            most += e > 0 ? e * upper[d] : e * lower[d];
            size += fabs(e) * fmax(fabs(lower[d]), fabs(upper[d]));
        }
        double rounding = 4 * DBL_EPSILON * (double)(part->count + 2) * size;
        double above = outward_up((part->radius - least + rounding) / fabs(a));
        double below = outward_down((part->radius - most - rounding) / fabs(a));
        if (a > 0)
            upper[c] = fmin(upper[c], above);
        else
            lower[c] = fmax(lower[c], -above);
        if (equality && a > 0)
            lower[c] = fmax(lower[c], below);
        else if (equality)
            upper[c] = fmin(upper[c], -below);
    }
}

/* sqrt((P^-1)_cc) for component c, from the factor P = L L'; work: n entries. */
static tc_real half_width(size_t n, const tc_real *factor, size_t c, tc_real *work) {
    for (size_t d = 0; d < n; d++)
        work[d] = d == c;
    tc_solve_lower(n, factor, work);
    return sqrtl(tc_dot(n, work, work));
}

/* max |x_c - center_c| over the ellipsoid is sqrt(radius (P^-1)_cc). The computed factor is that of a matrix within
 * about 3 n u |P|_F of P, and a triangular solve is as good (Higham, theorems 8.5 and 10.3), so the relative error of
 * the width is below 8 n u |P|_F |P^-1|_2, u = 2^-64. The bound is used where that is below 1e-7, ten times less than
 * what it is widened by; |P^-1|_2 is at most the trace of P^-1. */
static void tighten_ellipsoid(const tc_set *set, const tc_set_part *part, double *lower, double *upper) {
    size_t n = part->count;
    tc_real *factor = tc_set_work_reals(set), *work = factor + n * n, size = 0, trace = 0;
    for (size_t e = 0; e < n * n; e++) {
        factor[e] = part->matrix[e];
        size += factor[e] * factor[e];
    }
    if (tc_cholesky(n, factor) != 0)
        return;
    for (size_t c = 0; c < n; c++) {
        tc_real width = half_width(n, factor, c, work);
        trace += width * width;
    }
    if (!(8 * (tc_real)n * LDBL_EPSILON * sqrtl(size) * trace < 1e-7L))
        return;
    for (size_t c = 0; c < n; c++) {
        double reach = (double)(half_width(n, factor, c, work) * sqrtl((tc_real)part->radius) * (1 + 1e-6L));
        lower[c] = fmax(lower[c], outward_down(part->center[c] - reach));
        upper[c] = fmin(upper[c], outward_up(part->center[c] + reach));
    }
}

/* Whether a bound is the number that a piece states, and not one computed from it: x >= b, but not 3 x >= b. */
static bool is_stated(const tc_set *set, size_t piece, size_t c) {
    if (piece == TC_NO_PIECE)
        return true;
    const tc_set_piece *p = &set->family->pieces[piece];
    if (p->kind != TC_SET_HALFSPACE && p->kind != TC_SET_HYPERPLANE)
        return p->kind == TC_SET_BOX;
    size_t others = 0;
    for (size_t d = 0; d < p->count; d++)
        others += d + p->first != c && set->centers[piece][d] != 0;
    return others == 0 && fabs(set->centers[piece][c - p->first]) == 1;
}

void tc_set_bounds(const tc_set *set, double *lower, double *upper) {
    for (size_t c = 0; c < set->dim; c++) {
        lower[c] = is_stated(set, set->lower_piece[c], c) ? set->lower[c] : outward_down(set->lower[c]);
        upper[c] = is_stated(set, set->upper_piece[c], c) ? set->upper[c] : outward_up(set->upper[c]);
    }
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        double *low = lower + part->first, *high = upper + part->first;
        if (part->kind == TC_SET_BALL || part->kind == TC_SET_BALL1) {
            for (size_t c = 0; c < part->count; c++) {
                low[c] = fmax(low[c], outward_down(part->center[c] - part->radius));
                high[c] = fmin(high[c], outward_up(part->center[c] + part->radius));
            }
        } else if (part->kind == TC_SET_ELLIPSOID) {
            tighten_ellipsoid(set, part, low, high);
        } else {
            tighten_linear(part, low, high);
        }
    }
    for (size_t c = 0; c < set->dim; c++)
        if (lower[c] > upper[c]) /* only rounding can do this in a set that is not empty */
            lower[c] = upper[c] = set->lower[c] + (set->upper[c] - set->lower[c]) / 2;
}

double tc_set_scale(const tc_set *set) {
    double scale = 0;
    for (size_t c = 0; c < set->dim; c++)
        scale = fmax(scale, fmax(fabs(set->lower[c]), fabs(set->upper[c])));
    return scale > 0 ? scale : 1;
}

double tc_part_violation(const tc_set_part *part, const double *x) {
    tc_real sum = 0, size = 0;
    for (size_t c = 0; c < part->count; c++) {
        tc_real a = part->center[c], y = x[part->first + c];
        if (part->kind == TC_SET_HALFSPACE || part->kind == TC_SET_HYPERPLANE) {
            sum += a * y;
            size += a * a;
        } else if (part->kind == TC_SET_BALL) {
            sum += (y - a) * (y - a);
        } else if (part->kind == TC_SET_BALL1) {
            sum += fabsl(y - a);
        } else {
            size += (y - a) * (y - a);
            for (size_t d = 0; d < part->count; d++)
                sum += (y - a) * (tc_real)part->matrix[c * part->count + d] *
                       ((tc_real)x[part->first + d] - (tc_real)part->center[d]);
        }
    }
    tc_real radius = part->radius, distance = 0;
    if (part->kind == TC_SET_HALFSPACE || part->kind == TC_SET_HYPERPLANE)
        distance = (sum - radius) / sqrtl(size);
    else if (part->kind == TC_SET_BALL)
        distance = sqrtl(sum) - radius;
    else if (part->kind == TC_SET_BALL1)
        distance = sum - radius;
    else if (sum > radius)
        distance = sqrtl(size) * (1 - sqrtl(radius / sum));
    if (part->kind == TC_SET_HYPERPLANE)
        distance = fabsl(distance);
    return (double)fmaxl(distance, 0);
}

double tc_set_violation(const tc_set *set, const double *x, size_t *piece) {
    double worst = 0;
    size_t who = TC_NO_PIECE;
    for (size_t c = 0; c < set->dim; c++) {
        double out = fmax(set->lower[c] - x[c], x[c] - set->upper[c]);
        if (out > worst) {
            worst = out;
            who = x[c] < set->lower[c] ? set->lower_piece[c] : set->upper_piece[c];
        }
    }
    for (size_t p = 0; p < set->part_count; p++) {
        double out = tc_part_violation(&set->parts[p], x);
        if (out > worst) {
            worst = out;
            who = set->parts[p].piece;
        }
    }
    if (piece != NULL)
        *piece = who;
    return worst;
}

/* The part that is violated most, and the next one: the conflict to report. */
static tc_set_conflict conflict_at(const tc_set *set, const double *x) {
    tc_set_conflict conflict = {.piece = TC_NO_PIECE, .other = TC_NO_PIECE, .component = SIZE_MAX};
    double worst = -1, second = -1;
    for (size_t p = 0; p < set->part_count; p++) {
        double out = tc_part_violation(&set->parts[p], x);
        if (out > worst) {
            conflict.other = conflict.piece;
            second = worst;
            conflict.piece = set->parts[p].piece;
            worst = out;
        } else if (out > second) {
            conflict.other = set->parts[p].piece;
            second = out;
        }
    }
    return conflict;
}

bool tc_set_examine(tc_set *set, double *witness, tc_set_conflict *conflict) {
    if (set->is_empty) {
        *conflict = set->conflict;
        return false;
    }
    for (size_t c = 0; c < set->dim; c++)
        witness[c] = set->lower[c] + (set->upper[c] - set->lower[c]) / 2;
    (void)tc_project(set, witness, witness);
    if (tc_set_violation(set, witness, NULL) <= 1e-9 * tc_set_scale(set))
        return true;
    *conflict = conflict_at(set, witness);
    return false;
}

static const char *kind_name(tc_set_kind kind) {
    switch (kind) {
    case TC_SET_BOX:
        return "box";
    case TC_SET_HALFSPACE:
        return "half-space";
    case TC_SET_HYPERPLANE:
        return "hyperplane";
    case TC_SET_BALL:
        return "ball";
    case TC_SET_BALL1:
        return "l1 ball";
    case TC_SET_SIMPLEX:
        return "simplex";
    case TC_SET_ELLIPSOID:
        return "ellipsoid";
    }
    return "set";
}

void tc_set_describe(tc_buffer *out, const tc_set *set) {
    for (size_t p = 0; p < set->part_count; p++)
        tc_buffer_printf(out, "%s%s", p == 0 ? "" : " and ", kind_name(set->parts[p].kind));
    tc_buffer_puts(out, set->part_count == 0 ? "box" : " in a box");
}
