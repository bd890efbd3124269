/* Parts picked out of private numbers. An agent's file holds a parameter whole; where agents pick their own parts out
 * of one, each would receive the parts of the others. */
#include "model/split/split_parts.h"

#include <string.h>

/* In tc_local.walks, each twice: as it stands, and inside of a vector's brackets (the next bit). */
static const unsigned picked_bit = 1, selects_seen = 4, selects_bit = 8, numbers_seen = 16, numbers_found = 64;
/* The same, once: what a value is made of. */
static const unsigned made_seen = 256, made_of_state = 512, made_of_constants = 1024, made_by_member = 2048;

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
        if ((local->walks & picked_bit << in_vector) == 0) {
            local->walks |= picked_bit << in_vector;
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
    if ((local->walks & selects_seen) == 0) {
        local->walks |= selects_seen;
        local->walks |= selects_member(uses, param_of(local)) ? selects_bit : 0;
    }
    return (local->walks & selects_bit) != 0;
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
    if ((local->walks & numbers_seen << in_vector) == 0) {
        local->walks |= numbers_seen << in_vector;
        local->walks |= holds_numbers(uses, param_of(local), in_vector) ? numbers_found << in_vector : 0;
    }
    return (local->walks & numbers_found << in_vector) != 0;
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

/* ---- private parameters weighed by public numbers -----------------------------------------------------------------
 */

/* Which of made_of_state, made_of_constants (public vectors, or numbers between brackets) and made_by_member (what
 * differs between members, or is taken out of a public parameter) a value has in it. */
static unsigned made_of(const tc_uses *uses, const tc_bound *scope, const tc_tree *tree);

static unsigned name_is_made_of(const tc_uses *uses, const tc_bound *scope, const tc_tree *tree) {
    const tc_definition *family = uses->family, *global = tree->name->global;
    if (tc_is_bound(scope, tree->name))
        return 0;
    tc_local *local = tc_local_named(family, tree->name);
    if (local != NULL) {
        if (local->statement->kind == TC_STATEMENT_STATE)
            return made_of_state;
        if ((local->walks & made_seen) == 0) {
            local->walks |= made_seen;
            local->walks |= made_of(uses, NULL, param_of(local));
        }
        return local->walks & (made_of_state | made_of_constants | made_by_member);
    }
    if (family->block->index == tree->name)
        return made_by_member;
    size_t column = tc_column_named(family, tree->name);
    if (column != SIZE_MAX)
        return family->block->data->secrets[column] != NULL ? 0 : made_by_member;
    bool is_public = global != NULL && global->kind == TC_DEFINES_PARAM && !global->statement->is_private;
    return is_public && global->value.rank > 0 ? made_of_constants : 0;
}

static unsigned made_of(const tc_uses *uses, const tc_bound *scope, const tc_tree *tree) {
    unsigned found = 0;
    if (tree == NULL)
        return 0;
    if (tree->spine_count > 0) {
        found = made_of(uses, scope, tree->spine[0]->items[0]);
        for (size_t i = 0; i < tree->spine_count; i++)
            found |= made_of(uses, scope, tree->spine[i]->items[1]);
        return found;
    }
    if (tree->kind == TC_TREE_NAME)
        found = name_is_made_of(uses, scope, tree);
    tc_bound inner = {scope, tree};
    for (size_t i = 0; i < tree->count; i++)
        found |= made_of(uses, tree->kind == TC_TREE_SUM ? &inner : scope, tree->items[i]);
    if (tree->kind == TC_TREE_VECTOR)
        found |= made_of_constants;
    if (tree->kind == TC_TREE_INDEX && (found & made_of_constants) != 0)
        found |= made_by_member; /* a row of a public matrix */
    return found;
}

/* dot(w, E[i]) is w[i] where E is the identity. A number that is made of w and public numbers could be given to the
 * agent in the place of w. */
void tc_note_weights(tc_uses *uses, const tc_bound *scope, const tc_tree *call) {
    picking p = {uses, call->span};
    unsigned made = 0;
    for (size_t i = 0; i < call->count; i++)
        made |= made_of(uses, scope, call->items[i]);
    if ((made & made_by_member) == 0 && ((made & made_of_constants) == 0 || (made & made_of_state) != 0))
        return;
    for (size_t i = 0; i < call->count; i++)
        pick_from(&p, scope, call->items[i], 0);
}
