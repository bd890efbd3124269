/* Sets whose sizes are private data: which rule of docs/proofs/data.md bounds what they move. */
#include "analysis/data/inside.h"
#include "model/spread.h"

/* ---- rows and bounds --------------------------------------------------------------------------------------------- */

static bool is_linear(const tc_set_piece *piece) {
    return piece->kind == TC_SET_HALFSPACE || piece->kind == TC_SET_HYPERPLANE;
}

static bool is_absent(tc_coef coef) { return coef.column == NULL && coef.value == 0; }

/* How many states a linear piece speaks of; *only receives the last. */
static size_t support_of(const tc_set_piece *piece, size_t *only) {
    size_t support = 0;
    for (size_t c = 0; c < piece->count; c++) {
        if (is_absent(piece->center[c]))
            continue;
        support++;
        *only = c;
    }
    return support;
}

/* A relation of one state, or a box. */
static bool is_bound(const tc_set_piece *piece) {
    size_t only;
    return piece->kind == TC_SET_BOX || (is_linear(piece) && support_of(piece, &only) < 2);
}

static bool is_row(const tc_set_piece *piece) {
    return piece->kind == TC_SET_SIMPLEX || (is_linear(piece) && !is_bound(piece));
}

static tc_coef normal_at(const tc_set_piece *piece, size_t component) {
    if (component < piece->first || component - piece->first >= piece->count)
        return (tc_coef){.value = 0};
    return piece->kind == TC_SET_SIMPLEX ? (tc_coef){.value = 1} : piece->center[component - piece->first];
}

static bool is_multiple(tc_coef a, tc_coef b, int sign) {
    if (a.column == NULL && b.column == NULL)
        return a.value == sign * b.value;
    return sign > 0 && a.column != NULL && b.column != NULL && a.made_of != 0 && a.made_of == b.made_of;
}

static bool are_parallel(const tc_family *family, const tc_set_piece *a, const tc_set_piece *b) {
    bool same = true, opposite = true;
    for (size_t c = 0; c < family->dim; c++) {
        same = same && is_multiple(normal_at(a, c), normal_at(b, c), 1);
        opposite = opposite && is_multiple(normal_at(a, c), normal_at(b, c), -1);
    }
    return same || opposite;
}

tc_set_form tc_set_form_of(tc_ranged *r) {
    tc_set_form form = {.one_direction = true};
    for (size_t p = 0; p < r->family->piece_count; p++) {
        const tc_set_piece *piece = &r->family->pieces[p];
        form.has_curved = form.has_curved || !(is_bound(piece) || is_row(piece));
        if (!is_row(piece))
            continue;
        form.rows++;
        if (form.row == NULL)
            form.row = piece;
        form.one_direction = form.one_direction && are_parallel(r->family, form.row, piece);
    }
    return form;
}

/* ---- moved by a datum -------------------------------------------------------------------------------------------- */

static bool any_moves(tc_ranged *r, const tc_coef *coefs, size_t count) {
    for (size_t c = 0; coefs != NULL && c < count; c++) {
        if (tc_ranged_coef_moves(r, coefs[c]))
            return true;
    }
    return false;
}

/* Its normal, centre or matrix; of a box nothing but its bounds. */
static bool shape_moves(tc_ranged *r, const tc_set_piece *piece) {
    return piece->kind != TC_SET_BOX &&
           (any_moves(r, piece->center, piece->count) || any_moves(r, piece->matrix, piece->count * piece->count));
}

static bool piece_moves(tc_ranged *r, const tc_set_piece *piece) {
    return any_moves(r, piece->center, piece->count) || any_moves(r, piece->upper, piece->count) ||
           any_moves(r, piece->matrix, piece->count * piece->count) || tc_ranged_coef_moves(r, piece->radius);
}

bool tc_sets_move(tc_ranged *r) {
    for (size_t p = 0; p < r->family->piece_count; p++) {
        if (piece_moves(r, &r->family->pieces[p]))
            return true;
    }
    return false;
}

/* ---- rule 2: bounds of single states ----------------------------------------------------------------------------- */

/* Adds to shift, by component, how far a bound moves; several bounds of one state: the farthest. */
static void shift_bounds(tc_ranged *r, const tc_set_piece *piece, double *shift) {
    for (size_t c = 0; piece->kind == TC_SET_BOX && c < piece->count; c++) {
        double low = tc_ranged_coef_slope(r, piece->center[c]), high = tc_ranged_coef_slope(r, piece->upper[c]);
        double *of = &shift[piece->first + c];
        *of = fmax(*of, fmax(low, high));
    }
    size_t only;
    if (piece->kind == TC_SET_BOX || support_of(piece, &only) == 0)
        return;
    double least = tc_mignitude(tc_ranged_coef(r, piece->center[only]));
    double by = tc_ranged_coef_slope(r, piece->radius);
    if (by > 0) /* the quotient is rounded, in both worlds */
        by = tc_add_up(by, tc_mul_up(0x1p-51, tc_magnitude(tc_ranged_coef(r, piece->radius))));
    double *of = &shift[piece->first + only];
    *of = fmax(*of, by == 0 ? 0 : least > 0 ? tc_div_up(by, least) : (double)INFINITY);
}

static void add_components(const double *shift, size_t count, double distances[2]) {
    double sum = 0, squares = 0;
    for (size_t c = 0; c < count; c++) {
        sum = tc_add_up(sum, shift[c]);
        squares = tc_add_up(squares, tc_mul_up(shift[c], shift[c]));
    }
    distances[0] = sum;
    distances[1] = tc_sqrt_up(squares);
}

/* ---- rules 3 and 4: one row -------------------------------------------------------------------------------------- */

static void row_distances(tc_ranged *r, const tc_set_form *form, double distances[2]) {
    double least = (double)INFINITY, sum = 0, squares = 0, by = 0;
    for (size_t c = 0; c < r->family->dim; c++) {
        tc_coef coef = normal_at(form->row, c);
        if (is_absent(coef))
            continue;
        tc_interval a = tc_ranged_coef(r, coef);
        least = fmin(least, tc_mignitude(a));
        sum = tc_add_up(sum, tc_magnitude(a));
        squares = tc_add_up(squares, tc_mul_up(tc_magnitude(a), tc_magnitude(a)));
    }
    for (size_t p = 0; p < r->family->piece_count; p++) {
        if (is_row(&r->family->pieces[p]))
            by = fmax(by, tc_ranged_coef_slope(r, r->family->pieces[p].radius));
    }
    double reach = least > 0 ? tc_div_up(by, least) : (double)INFINITY;
    distances[0] = distances[1] = reach;
    if (form->rows == 1)
        return;
    /* Two sides: |x'_c - x_c| <= |a_c| by / least^2 */
    distances[0] = tc_mul_up(sum, tc_div_up(reach, least));
    distances[1] = tc_mul_up(tc_sqrt_up(squares), tc_div_up(reach, least));
}

const char *tc_set_distances(tc_ranged *r, const tc_set_form *form, double distances[2]) {
    bool moves_bounds = false, moves_rows = false;
    double *shift = TC_NEW(r->arena, double, r->family->dim + 1);
    for (size_t p = 0; p < r->family->piece_count; p++) {
        const tc_set_piece *piece = &r->family->pieces[p];
        if (!piece_moves(r, piece))
            continue;
        if (shape_moves(r, piece))
            return "it is a coefficient, a centre or a matrix of a set, not the constant of a relation";
        if (!is_bound(piece) && !is_row(piece))
            return "it is the size of a set that is neither a box nor a half-space";
        moves_bounds = moves_bounds || is_bound(piece);
        moves_rows = moves_rows || is_row(piece);
        if (is_bound(piece))
            shift_bounds(r, piece, shift);
    }
    if (form->has_curved)
        return "it moves a set beside a ball or an ellipsoid";
    if (!tc_objective_is_separable(r))
        return "it moves a set, and the objective is not a sum of functions of one state each";
    if (form->rows > 0 && !form->one_direction)
        return "it moves a set beside several relations of different directions";
    if (moves_bounds && form->rows > 0)
        return "it moves a bound of a state beside a relation of several states";
    if (moves_rows)
        row_distances(r, form, distances);
    else
        add_components(shift, r->family->dim, distances);
    return NULL;
}

/* ---- the Slater point -------------------------------------------------------------------------------------------- */

tc_interval tc_ranged_slater(const tc_ranged *r, size_t component) {
    const tc_family *family = r->family;
    bool varies = family->slater[component].column != NULL || family->room[component].column != NULL;
    tc_interval all = {HUGE_VAL, -HUGE_VAL};
    if (varies)
        tc_fold_begin(family, &all, sizeof all);
    for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
        double at = tc_coef_at(family->slater[component], k), room = tc_coef_at(family->room[component], k);
        tc_interval here = {tc_add_down(at, -room), tc_add_up(at, room)};
        all = (tc_interval){fmin(all.lo, here.lo), fmax(all.hi, here.hi)};
    }
    if (varies)
        tc_fold_end(family, &all, sizeof all);
    return all;
}

static tc_interval linear_at(tc_ranged *r, const tc_set_piece *piece) {
    tc_interval sum = tc_point(0);
    for (size_t c = 0; c < piece->count; c++) {
        tc_coef coef = normal_at(piece, piece->first + c);
        if (!is_absent(coef))
            sum = tc_iadd(sum, tc_imul(tc_ranged_coef(r, coef), tc_ranged_slater(r, piece->first + c)));
    }
    return sum;
}

static bool is_in_box(tc_ranged *r, const tc_set_piece *piece) {
    for (size_t c = 0; c < piece->count; c++) {
        tc_interval at = tc_ranged_slater(r, piece->first + c);
        if (!(at.lo >= tc_ranged_coef(r, piece->center[c]).hi && at.hi <= tc_ranged_coef(r, piece->upper[c]).lo))
            return false;
    }
    return true;
}

/* |x - center| in l1, in l2 squared, or by the matrix. */
static tc_interval distance_at(tc_ranged *r, const tc_set_piece *piece) {
    tc_interval sum = tc_point(0);
    tc_interval *off = TC_NEW(r->arena, tc_interval, piece->count + 1);
    for (size_t c = 0; c < piece->count; c++) {
        off[c] = tc_isub(tc_ranged_slater(r, piece->first + c), tc_ranged_coef(r, piece->center[c]));
        if (piece->kind == TC_SET_BALL)
            sum = tc_iadd(sum, tc_isquare(off[c]));
        if (piece->kind == TC_SET_BALL1)
            sum = tc_iadd(sum, tc_iabs(off[c]));
    }
    for (size_t i = 0; piece->kind == TC_SET_ELLIPSOID && i < piece->count * piece->count; i++) {
        tc_interval entry = tc_ranged_coef(r, piece->matrix[i]);
        sum = tc_iadd(sum, tc_imul(entry, tc_imul(off[i / piece->count], off[i % piece->count])));
    }
    return sum;
}

static bool holds_slater(tc_ranged *r, const tc_set_piece *piece) {
    tc_interval radius = piece->kind == TC_SET_BOX ? tc_point(0) : tc_ranged_coef(r, piece->radius);
    switch (piece->kind) {
    case TC_SET_BOX:
        return is_in_box(r, piece);
    case TC_SET_HALFSPACE:
        return linear_at(r, piece).hi <= radius.lo;
    case TC_SET_HYPERPLANE:
    case TC_SET_SIMPLEX: {
        tc_interval at = linear_at(r, piece);
        bool inside = piece->kind == TC_SET_HYPERPLANE;
        for (size_t c = 0; piece->kind == TC_SET_SIMPLEX && c < piece->count; c++)
            inside = (c == 0 || inside) && tc_ranged_slater(r, piece->first + c).lo >= 0;
        return inside && at.lo == at.hi && radius.lo == radius.hi && at.lo == radius.lo;
    }
    case TC_SET_BALL:
        return radius.lo >= 0 && distance_at(r, piece).hi <= tc_mul_down(radius.lo, radius.lo);
    case TC_SET_BALL1:
    case TC_SET_ELLIPSOID:
        return distance_at(r, piece).hi <= radius.lo;
    }
    return false;
}

/* Without a Slater point: whether some point of the box satisfies all sets, for all data. At most one row. */
static bool is_never_empty(tc_ranged *r, const tc_set_form *form) {
    const tc_family *family = r->family;
    tc_interval *inner = TC_NEW(r->arena, tc_interval, family->dim + 1);
    tc_interval lowest = tc_point(0), highest = tc_point(0);
    if (form->has_curved || form->rows > 1 || !tc_same_boxes(family))
        return false;
    for (size_t c = 0; c < family->dim; c++)
        inner[c] = tc_public_range(family, 0, c);
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        if (!is_row(piece) && piece->kind != TC_SET_BOX)
            return false;
        for (size_t c = 0; piece->kind == TC_SET_SIMPLEX && c < piece->count; c++)
            inner[piece->first + c].lo = fmax(inner[piece->first + c].lo, 0);
        for (size_t c = 0; !is_row(piece) && c < piece->count; c++) {
            tc_interval *of = &inner[piece->first + c];
            of->lo = fmax(of->lo, tc_ranged_coef(r, piece->center[c]).hi);
            of->hi = fmin(of->hi, tc_ranged_coef(r, piece->upper[c]).lo);
        }
    }
    for (size_t c = 0; c < family->dim; c++) {
        if (!(inner[c].lo <= inner[c].hi))
            return false;
        tc_coef coef = form->row != NULL ? normal_at(form->row, c) : (tc_coef){.value = 0};
        if (coef.column != NULL)
            return false;
        double low = coef.value > 0 ? inner[c].lo : inner[c].hi, high = coef.value > 0 ? inner[c].hi : inner[c].lo;
        lowest = tc_iadd(lowest, tc_imul(tc_point(coef.value), tc_point(low)));
        highest = tc_iadd(highest, tc_imul(tc_point(coef.value), tc_point(high)));
    }
    if (form->row == NULL)
        return true;
    tc_interval radius = tc_ranged_coef(r, form->row->radius);
    return lowest.hi <= radius.lo && (form->row->kind == TC_SET_HALFSPACE || highest.lo >= radius.hi);
}

const char *tc_slater_fault(tc_ranged *r, const tc_set_form *form) {
    if (!r->family->has_slater)
        return is_never_empty(r, form)
                   ? NULL
                   : tc_arena_format(r->arena,
                                     "the sets of %s are not proved to hold a point for all data in the ranges: narrow "
                                     "the ranges, give every private number of a set a range, or add 'slater', a point "
                                     "that lies in all of them",
                                     r->family->name);
    for (size_t p = 0; p < r->family->piece_count; p++) {
        const tc_set_piece *piece = &r->family->pieces[p];
        if (holds_slater(r, piece))
            continue;
        tc_buffer text = tc_buffer_new(r->arena, 4096);
        tc_span_text(&text, &r->model->source, piece->span);
        tc_interval radius = piece->kind == TC_SET_BOX ? tc_point(0) : tc_ranged_coef(r, piece->radius);
        if ((piece->kind == TC_SET_HYPERPLANE || piece->kind == TC_SET_SIMPLEX) && radius.lo < radius.hi)
            return tc_arena_format(r->arena,
                                   "no Slater point of %s lies in '%s' for all data in the ranges, since an equality "
                                   "moves with its data: leave 'slater' and 'gap' out and write 'dual radius R'",
                                   r->family->name, tc_buffer_text(&text));
        return tc_arena_format(
            r->arena,
            "the Slater point of %s is not proved to lie in '%s' for all data in the ranges; whether "
            "it does would tell something of protected data: narrow the ranges, give every private "
            "number in that line a range, or move the point",
            r->family->name, tc_buffer_text(&text));
    }
    return NULL;
}
