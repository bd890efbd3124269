/* Whether a box around a point lies in a set. Parts are convex, so the worst point of the box is a vertex: for all but
 * ellipsoids the signs of their normal, or of the way from their centre, tell which. */
#include "solver/project/set.h"

#include <math.h>
#include <string.h>

enum { ALL_VERTICES = 12 }; /* as many components: every vertex is tried */

static void put_vertex(const tc_set_part *part, const double *x, const double *room, bool against, double *vertex) {
    bool is_flat = part->kind == TC_SET_HALFSPACE || part->kind == TC_SET_HYPERPLANE;
    for (size_t c = 0; c < part->count; c++) {
        size_t at = part->first + c;
        double way = is_flat ? part->center[c] : x[at] - part->center[c];
        vertex[at] = x[at] + ((way >= 0) != against ? room[at] : -room[at]);
    }
}

/* Flips components as long as that leads further out. */
static double climb(const tc_set_part *part, const double *x, const double *room, double *vertex) {
    double best = tc_part_violation(part, vertex);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t at = part->first; at < part->first + part->count; at++) {
            double before = vertex[at];
            vertex[at] = before > x[at] ? x[at] - room[at] : x[at] + room[at];
            double out = tc_part_violation(part, vertex);
            moved = moved || out > best;
            if (out > best)
                best = out;
            else
                vertex[at] = before;
        }
    }
    return best;
}

static double ellipsoid_violation(const tc_set_part *part, const double *x, const double *room, double *vertex) {
    double best = climb(part, x, room, vertex);
    for (size_t signs = 0; part->count <= ALL_VERTICES && signs < (size_t)1 << part->count; signs++) {
        for (size_t c = 0; c < part->count; c++) {
            size_t at = part->first + c;
            vertex[at] = x[at] + (signs >> c & 1 ? room[at] : -room[at]);
        }
        best = fmax(best, tc_part_violation(part, vertex));
    }
    return best;
}

static double part_violation(const tc_set_part *part, const double *x, const double *room, double *vertex) {
    put_vertex(part, x, room, false, vertex);
    if (part->kind == TC_SET_ELLIPSOID)
        return ellipsoid_violation(part, x, room, vertex);
    double out = tc_part_violation(part, vertex);
    if (part->kind != TC_SET_HYPERPLANE)
        return out;
    put_vertex(part, x, room, true, vertex);
    return fmax(out, tc_part_violation(part, vertex));
}

double tc_set_room_violation(const tc_set *set, const double *x, const double *room, double *vertex, size_t *piece) {
    double worst = 0;
    size_t who = TC_NO_PIECE;
    for (size_t c = 0; c < set->dim; c++) {
        double below = set->lower[c] - (x[c] - room[c]), above = x[c] + room[c] - set->upper[c];
        if (fmax(below, above) > worst) {
            worst = fmax(below, above);
            who = below > above ? set->lower_piece[c] : set->upper_piece[c];
        }
    }
    for (size_t p = 0; p < set->part_count; p++) {
        memcpy(vertex, x, set->dim * sizeof *vertex);
        double out = part_violation(&set->parts[p], x, room, vertex);
        if (out > worst) {
            worst = out;
            who = set->parts[p].piece;
        }
    }
    if (piece != NULL)
        *piece = who;
    return worst;
}

static void shrink(size_t dim, const double *from, double factor, double *room) {
    for (size_t c = 0; c < dim; c++)
        room[c] = factor * from[c];
}

void tc_set_largest_room(const tc_set *set, const double *x, double *room, double *work) {
    double *whole = work, *vertex = work + set->dim, allowed = 1e-12 * tc_set_scale(set), low = 0, high = 1;
    for (size_t c = 0; c < set->dim; c++)
        whole[c] = fmax(0, fmin(x[c] - set->lower[c], set->upper[c] - x[c]));
    shrink(set->dim, whole, 1, room);
    if (tc_set_room_violation(set, x, room, vertex, NULL) <= allowed)
        return;
    for (int step = 0; step < 40; step++) {
        double middle = (low + high) / 2;
        shrink(set->dim, whole, middle, room);
        *(tc_set_room_violation(set, x, room, vertex, NULL) <= allowed ? &low : &high) = middle;
    }
    shrink(set->dim, whole, low, room);
}
