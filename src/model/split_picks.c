/* Parts picked out of private numbers. An agent's file holds a parameter whole; where agents pick their own parts out
 * of one, each would receive the parts of the others. */
#include "model/split_parts.h"

#include <string.h>

/* In tc_local.walks, each twice: as it stands, and inside of a vector's brackets (the next bit). */
enum { PICKED = 1, SELECTS_SEEN = 4, SELECTS = 8, NUMBERS_SEEN = 16, NUMBERS_FOUND = 64 };

typedef struct picking {
    tc_uses *uses;
    tc_span span;
} picking;

static const tc_tree *param_of(const tc_local *local) {
    return local->statement->kind == TC_STATEMENT_PARAM ? local->statement->value : NULL;
}

/* ---- private parameters ------------------------------------------------------------------------------------------ */

static void pick_from(const picking *p, const tc_bound *scope, const tc_tree *tree, unsigned in_vector);

static void pick_from_name(const picking *p, const tc_bound *scope, const tc_tree *tree, unsigned in_vector) {
    tc_local *local = tc_local_named(p->uses->family, tree->name);
    if (tc_is_bound(scope, tree->name))
        return;
    if (local != NULL) {
        /* A local parameter stands for its definition. */
        if ((local->walks & PICKED << in_vector) == 0) {
            local->walks |= PICKED << in_vector;
            pick_from(p, NULL, param_of(local), in_vector);
        }
        return;
    }
    tc_definition *global = tree->name->global;
    bool shadowed =
        p->uses->family->block->index == tree->name || tc_column_named(p->uses->family, tree->name) != SIZE_MAX;
    if (!shadowed && global != NULL && global->kind == TC_DEFINES_PARAM && global->statement->is_private &&
        (global->value.rank > 0 || in_vector > 0) && global->picked.length == 0)
        global->picked = p->span;
}

/* A number made of all elements: nothing can be picked out of it. */
static bool reduces(const tc_tree *tree) {
    static const char *const names[] = {"sum", "sumsq", "norm", "norm2", "dot", "quadform", "length"};
    for (size_t i = 0; tree->kind == TC_TREE_CALL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(tree->name->text, names[i]) == 0)
            return true;
    }
    return false;
}

static void pick_from(const picking *p, const tc_bound *scope, const tc_tree *tree, unsigned in_vector) {
    if (tree == NULL || reduces(tree))
        return;
    if (tree->spine_count > 0) {
        pick_from(p, scope, tree->spine[0]->items[0], in_vector);
        for (size_t i = 0; i < tree->spine_count; i++)
            pick_from(p, scope, tree->spine[i]->items[1], in_vector);
        return;
    }
    if (tree->kind == TC_TREE_NAME)
        pick_from_name(p, scope, tree, in_vector);
    tc_bound inner = {scope, tree};
    for (size_t i = 0; i < tree->count; i++)
        pick_from(p, tree->kind == TC_TREE_SUM ? &inner : scope, tree->items[i],
                  tree->kind == TC_TREE_VECTOR ? 1 : in_vector);
}

/* ---- private numbers in a family's block ------------------------------------------------------------------------- */

/* Whether a value differs between members by what everybody knows of them, or by their data. */
static bool selects_member(const tc_uses *uses, const tc_tree *tree) {
    if (tree == NULL)
        return false;
    if (tree->spine_count > 0) {
        bool found = selects_member(uses, tree->spine[0]->items[0]);
        for (size_t i = 0; i < tree->spine_count && !found; i++)
            found = selects_member(uses, tree->spine[i]->items[1]);
        return found;
    }
    bool found = false;
    for (size_t i = 0; i < tree->count && !found; i++)
        found = selects_member(uses, tree->items[i]);
    if (found || tree->kind != TC_TREE_NAME)
        return found;
    tc_local *local = tc_local_named(uses->family, tree->name);
    if (local == NULL)
        return uses->family->block->index == tree->name || tc_column_named(uses->family, tree->name) != SIZE_MAX;
    if ((local->walks & SELECTS_SEEN) == 0) {
        local->walks |= SELECTS_SEEN;
        local->walks |= selects_member(uses, param_of(local)) ? SELECTS : 0;
    }
    return (local->walks & SELECTS) != 0;
}

/* Whether there are numbers between brackets, in private lines. */
static bool holds_numbers(const tc_uses *uses, const tc_tree *tree, unsigned in_vector) {
    if (tree == NULL)
        return false;
    if (tree->spine_count > 0) {
        bool found = holds_numbers(uses, tree->spine[0]->items[0], in_vector);
        for (size_t i = 0; i < tree->spine_count && !found; i++)
            found = holds_numbers(uses, tree->spine[i]->items[1], in_vector);
        return found;
    }
    bool found = tree->kind == TC_TREE_NUMBER && in_vector > 0;
    /* The indices of an inner selection are nobody's secret. */
    size_t count = tree->kind == TC_TREE_INDEX ? 1 : tree->count;
    for (size_t i = 0; i < count && !found; i++)
        found = holds_numbers(uses, tree->items[i], tree->kind == TC_TREE_VECTOR ? 1 : in_vector);
    tc_local *local = tree->kind == TC_TREE_NAME ? tc_local_named(uses->family, tree->name) : NULL;
    if (found || local == NULL || !local->statement->is_private)
        return found;
    if ((local->walks & NUMBERS_SEEN << in_vector) == 0) {
        local->walks |= NUMBERS_SEEN << in_vector;
        local->walks |= holds_numbers(uses, param_of(local), in_vector) ? NUMBERS_FOUND << in_vector : 0;
    }
    return (local->walks & NUMBERS_FOUND << in_vector) != 0;
}

void tc_note_pick(tc_uses *uses, const tc_bound *scope, const tc_tree *picked, bool is_private) {
    picking p = {uses, picked->span};
    pick_from(&p, scope, picked->items[0], 0);
    bool selects = false;
    for (size_t i = 1; i < picked->count && !selects; i++)
        selects = selects_member(uses, picked->items[i]);
    if (uses->mixed.length == 0 && uses->family->statement->is_family && is_private && selects &&
        holds_numbers(uses, picked->items[0], 0))
        uses->mixed = picked->span;
}
