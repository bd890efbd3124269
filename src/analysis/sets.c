/* Assumption 2: the sets X_i. */
#include "analysis/steps.h"

#include "analysis/region.h"
#include "solver/project/set.h"

enum { NAMED = 3 }; /* members named per family; the rest are counted */

static bool coefs_alike(const tc_coef *coefs, size_t count) {
    for (size_t i = 0; coefs != NULL && i < count; i++) {
        if (coefs[i].column != NULL)
            return false;
    }
    return true;
}

static bool sets_alike(const tc_family *family) {
    bool alike = tc_same_boxes(family);
    for (size_t i = 0; i < family->piece_count; i++) {
        const tc_set_piece *piece = &family->pieces[i];
        alike = alike && piece->radius.column == NULL && coefs_alike(piece->center, piece->count) &&
                coefs_alike(piece->upper, piece->count) && coefs_alike(piece->matrix, piece->count * piece->count);
    }
    return alike;
}

static const char *piece_text(tc_arena *arena, const tc_model *model, const tc_family *family, size_t piece) {
    if (piece == TC_NO_PIECE)
        return "the public box";
    tc_buffer text = tc_buffer_new(arena, 4096);
    tc_buffer_puts(&text, "'");
    tc_span_text(&text, &model->source, family->pieces[piece].span);
    tc_buffer_puts(&text, "'");
    return tc_buffer_text(&text);
}

static void report_empty(tc_arena *arena, const tc_model *model, const tc_family *family, size_t member, bool alike,
                         const tc_set_conflict *conflict, tc_assumption *assumption) {
    const char *name = tc_who(arena, family, member, alike && family->count > 1);
    size_t piece = conflict->piece != TC_NO_PIECE ? conflict->piece : conflict->other;
    tc_span span = piece != TC_NO_PIECE ? family->pieces[piece].span : family->span;
    const char *one = piece_text(arena, model, family, conflict->piece);
    const char *other = piece_text(arena, model, family, conflict->other);
    if (conflict->piece == conflict->other && piece != TC_NO_PIECE)
        other = "the public box";
    tc_find(arena, assumption, &model->source, TC_FAILS, span,
            "The set of %s is empty: %s and %s have no point in common.", name, one, other);
}

static void judge_family(tc_arena *arena, const tc_model *model, const tc_family *family, tc_assumption *assumption,
                         const tc_monitor *monitor) {
    bool alike = sets_alike(family);
    size_t count = alike ? (family->count > 0 ? 1 : 0) : family->count, empty = 0;
    tc_mark mark = tc_arena_mark(arena);
    tc_set *set = tc_set_new(arena, family);
    double *witness = TC_NEW(arena, double, family->dim + 1);
    size_t members[NAMED];
    tc_set_conflict conflicts[NAMED];
    bool interrupted = false;
    for (size_t k = 0; k < count && !interrupted; k++) {
        interrupted = k % 1024 == 0 && tc_interrupted(monitor);
        tc_set_conflict conflict = {TC_NO_PIECE, TC_NO_PIECE, SIZE_MAX};
        tc_set_load(set, k);
        bool fine = set->is_empty ? (conflict = set->conflict, false)
                                  : set->shape == TC_SHAPE_BOX || tc_set_examine(set, witness, &conflict);
        if (fine)
            continue;
        if (empty < NAMED) {
            members[empty] = k;
            conflicts[empty] = conflict;
        }
        empty++;
    }
    tc_arena_rewind(arena, mark);
    for (size_t i = 0; i < empty && i < NAMED; i++)
        report_empty(arena, model, family, members[i], alike, &conflicts[i], assumption);
    if (empty > NAMED)
        tc_find(arena, assumption, &model->source, TC_FAILS, family->span, "%zu more member%s of %s an empty set.",
                empty - NAMED, empty - NAMED > 1 ? "s" : "",
                tc_arena_format(arena, "%s %s", family->name, empty - NAMED > 1 ? "have" : "has"));
    if (interrupted)
        tc_find(arena, assumption, &model->source, TC_UNPROVED, family->span,
                "The sets of %s were not all judged: interrupted.", family->name);
}

/* paper: Assumption 2
 * Every set the language knows is convex and closed, and the public box bounds it; what remains to be shown is a point
 * in it. */
void tc_judge_sets(tc_arena *arena, const tc_model *model, tc_assumption *assumption, const tc_monitor *monitor) {
    for (size_t f = 0; f < model->family_count; f++) {
        tc_progress(monitor, "sets", (double)f / (double)model->family_count);
        judge_family(arena, model, &model->families[f], assumption, monitor);
    }
}
