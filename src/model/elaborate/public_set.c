/* Public sets: one relation a.x <= b of each member, beside its box. What the cloud makes of it is in
 * plan/sensitivity/cap.h. */
#include "model/elaborate/elaborate.h"

#include <math.h>

#define SLACK 1e-9 /* relative: a Slater point may lie on the border, computed in another order */

void tc_refuse_public_set(tc_elaborator *elaborator, const tc_statement *statement) {
    tc_error(elaborator->diagnostics, statement->span,
             "a public set is one relation E <= F or E >= F, affine in the state, such as 'public set sum(p) <= 45'; "
             "bounds of single states belong into the box of 'state'");
}

/* The least that a.x can be in the box. */
static double least_of(const tc_family *family, const tc_set_piece *piece, size_t member) {
    double least = 0;
    for (size_t c = 0; c < piece->count; c++) {
        double a = tc_coef_at(piece->center[c], member);
        least += a * tc_coef_at(a > 0 ? family->lower[piece->first + c] : family->upper[piece->first + c], member);
    }
    return least;
}

void tc_check_public_set(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement,
                         size_t before) {
    tc_family *family = &elaborator->model->families[block->number];
    tc_set_piece *piece = &family->pieces[before];
    const tc_set_piece *other = tc_public_set(family);
    if (family->piece_count != before + 1 || piece->kind != TC_SET_HALFSPACE) {
        tc_refuse_public_set(elaborator, statement);
        return;
    }
    if (other != NULL) {
        tc_error(elaborator->diagnostics, statement->span, "'%s' has two public sets; one is allowed", family->name);
        tc_note(elaborator->diagnostics, other->span, "the first one is here");
        return;
    }
    piece->is_public = true;
    bool good = true;
    tc_told told = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = family->known_first; good && k < family->known_end; k++) {
        double least = least_of(family, piece, k), bound = tc_coef_at(piece->radius, k);
        good = least <= bound && isfinite(bound);
        if (!good)
            tc_error(elaborator->diagnostics, statement->span, "no state in the box of %s keeps to this public set",
                     tc_member_text(elaborator, block, k));
    }
    (void)tc_agreed(elaborator->diagnostics, family, told, good);
}

void tc_check_public_slater(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *slater) {
    const tc_family *family = &elaborator->model->families[block->number];
    const tc_set_piece *piece = tc_public_set(family);
    bool good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = family->known_first; piece != NULL && good && k < family->known_end; k++) {
        double sum = 0, bound = tc_coef_at(piece->radius, k), size = fabs(bound);
        for (size_t c = 0; c < piece->count; c++) {
            double a = tc_coef_at(piece->center[c], k), part = a * tc_coef_at(family->slater[piece->first + c], k);
            double room = fabs(a) * tc_coef_at(family->room[piece->first + c], k);
            sum += part + room;
            size += fabs(part) + room;
        }
        good = sum <= bound + SLACK * size;
        if (good)
            continue;
        tc_error(elaborator->diagnostics, slater->span, "the Slater point of %s leaves the public set",
                 tc_member_text(elaborator, block, k));
        tc_note(elaborator->diagnostics, piece->span, "the public set is here");
    }
    (void)tc_agreed(elaborator->diagnostics, family, before, good);
}
