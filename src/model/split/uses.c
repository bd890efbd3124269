/* Which names a part of a problem file depends on. */
#include "model/split/split_job.h"

#include <string.h>

typedef struct bound_names { /* names of enclosing sums and lists */
    const struct bound_names *outer;
    const tc_tree *sum;
} bound_names;

static bool is_bound(const bound_names *scope, const tc_name *name) {
    for (; scope != NULL; scope = scope->outer) {
        for (size_t i = 0; i < scope->sum->binder_count; i++) {
            if (scope->sum->binders[i].first != NULL && scope->sum->binders[i].name == name)
                return true;
        }
    }
    return false;
}

static tc_local *local_named(const tc_definition *family, const tc_name *name) {
    const tc_agents_block *block = family != NULL ? family->block : NULL;
    for (size_t i = 0; block != NULL && i < block->local_count; i++) {
        if (block->locals[i].name == name)
            return &block->locals[i];
    }
    return NULL;
}

static size_t column_named(const tc_definition *family, const tc_name *name) {
    const tc_definition *data = family != NULL ? family->block->data : NULL;
    for (size_t c = 0; data != NULL && c < data->table->column_count; c++) {
        if (data->columns[c] == name)
            return c;
    }
    return SIZE_MAX;
}

/* ---- parts picked out of private numbers -------------------------------------------------------------------------
 *
 * An agent's file holds a parameter whole; where agents pick their own parts out
 * of one, each would receive the parts of the others. */

/* In tc_local.walks, each twice: as it stands, and inside of a vector's brackets (the next bit). */
static const unsigned picked_bit = 1, selects_seen = 4, selects_bit = 8, numbers_seen = 16, numbers_found = 64;
/* The same, once: what a value is made of. */
static const unsigned made_seen = 256, made_of_state = 512, made_of_constants = 1024, made_by_member = 2048;

typedef struct picking {
    tc_uses *uses;
    tc_span span;
} picking;

/* Numbers from a file stand in the agent's file as if they had been written there. */
static bool is_loaded(const tc_local *local) { return tc_is_loaded_param(local->statement); }

static const tc_tree *param_of(const tc_local *local) {
    return local->statement->kind == TC_STATEMENT_PARAM ? local->statement->value : NULL;
}

/* ---- private parameters ------------------------------------------------------------------------------------------ */

static void pick_from(const picking *p, const bound_names *scope, const tc_tree *tree, unsigned in_vector);

static void pick_from_name(const picking *p, const bound_names *scope, const tc_tree *tree, unsigned in_vector) {
    tc_local *local = local_named(p->uses->family, tree->name);
    if (is_bound(scope, tree->name))
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
        p->uses->family->block->index == tree->name || column_named(p->uses->family, tree->name) != SIZE_MAX;
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

static void pick_from(const picking *p, const bound_names *scope, const tc_tree *tree, unsigned in_vector) {
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
    bound_names inner = {scope, tree};
    for (size_t i = 0; i < tree->count; i++)
        pick_from(p, tc_binds_names(tree->kind) ? &inner : scope, tree->items[i],
                  tc_is_vector(tree->kind) ? 1 : in_vector);
}

/* ---- private numbers in a family's block ------------------------------------------------------------------------- */

/* Whether a value depends on which member it is: on its index or its columns. */
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
    tc_local *local = local_named(uses->family, tree->name);
    if (local == NULL)
        return uses->family->block->index == tree->name || column_named(uses->family, tree->name) != SIZE_MAX;
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
    /* The indices of an inner selection are public. */
    size_t count = tree->kind == TC_TREE_INDEX ? 1 : tree->count;
    for (size_t i = 0; i < count && !found; i++)
        found = holds_numbers(uses, tree->items[i], tc_is_vector(tree->kind) ? 1 : in_vector);
    tc_local *local = tree->kind == TC_TREE_NAME ? local_named(uses->family, tree->name) : NULL;
    if (found || local == NULL || !local->statement->is_private)
        return found;
    if (is_loaded(local))
        return true;
    if ((local->walks & numbers_seen << in_vector) == 0) {
        local->walks |= numbers_seen << in_vector;
        local->walks |= holds_numbers(uses, param_of(local), in_vector) ? numbers_found << in_vector : 0;
    }
    return (local->walks & numbers_found << in_vector) != 0;
}

/* Notes that `picked` takes a part out of the value of `tree`: in definitions of private parameters, and in
 * uses->mixed. */
static void note_pick(tc_uses *uses, const bound_names *scope, const tc_tree *picked, bool is_private) {
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
static unsigned made_of(const tc_uses *uses, const bound_names *scope, const tc_tree *tree);

static unsigned name_is_made_of(const tc_uses *uses, const bound_names *scope, const tc_tree *tree) {
    const tc_definition *family = uses->family, *global = tree->name->global;
    if (is_bound(scope, tree->name))
        return 0;
    tc_local *local = local_named(family, tree->name);
    if (local != NULL) {
        if (local->statement->kind == TC_STATEMENT_STATE)
            return made_of_state;
        if (is_loaded(local))
            return made_of_constants;
        if ((local->walks & made_seen) == 0) {
            local->walks |= made_seen;
            local->walks |= made_of(uses, NULL, param_of(local));
        }
        return local->walks & (made_of_state | made_of_constants | made_by_member);
    }
    if (family->block->index == tree->name)
        return made_by_member;
    size_t column = column_named(family, tree->name);
    if (column != SIZE_MAX)
        return family->block->data->secrets[column] != NULL ? 0 : made_by_member;
    bool is_public = global != NULL && global->kind == TC_DEFINES_PARAM && !global->statement->is_private;
    return is_public && global->value.rank > 0 ? made_of_constants : 0;
}

static unsigned made_of(const tc_uses *uses, const bound_names *scope, const tc_tree *tree) {
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
    bound_names inner = {scope, tree};
    for (size_t i = 0; i < tree->count; i++)
        found |= made_of(uses, tc_binds_names(tree->kind) ? &inner : scope, tree->items[i]);
    if (tc_is_vector(tree->kind))
        found |= made_of_constants;
    if (tree->kind == TC_TREE_INDEX && (found & made_of_constants) != 0)
        found |= made_by_member; /* a row of a public matrix */
    return found;
}

/* dot(w, E[i]) is w[i] where E is the identity. A number that is made of w and public numbers could be given to the
 * agent in the place of w. */
static void note_weights(tc_uses *uses, const bound_names *scope, const tc_tree *call) {
    picking p = {uses, call->span};
    unsigned made = 0;
    for (size_t i = 0; i < call->count; i++)
        made |= made_of(uses, scope, call->items[i]);
    if ((made & made_by_member) == 0 && ((made & made_of_constants) == 0 || (made & made_of_state) != 0))
        return;
    for (size_t i = 0; i < call->count; i++)
        pick_from(&p, scope, call->items[i], 0);
}

/* ---- what a part mentions ---------------------------------------------------------------------------------------- */

static void note_hidden(tc_uses *uses, const tc_name *name, tc_span span) {
    if (uses->hidden.length > 0)
        return;
    uses->hidden = span;
    uses->hidden_name = name;
}

/* A name of a block: a local one, a column or the index. false: no such name. */
static bool use_block_name(tc_uses *uses, const tc_definition *family, const tc_name *name, tc_span span) {
    if (family == NULL)
        return false;
    const tc_local *local = local_named(family, name);
    if (local != NULL) {
        if (local->statement->is_private)
            note_hidden(uses, name, span);
        return true;
    }
    bool own = family == uses->family;
    if (family->block->index == name) {
        uses->index = uses->index || own;
        return true;
    }
    size_t column = column_named(family, name);
    if (column == SIZE_MAX)
        return false;
    if (family->block->data->secrets[column] != NULL)
        note_hidden(uses, name, span);
    if (own && uses->columns != NULL)
        uses->columns[column] = true;
    return true;
}

static void use_name(tc_uses *uses, const bound_names *scope, tc_name *name, tc_span span) {
    if (is_bound(scope, name))
        return;
    for (const bound_names *s = scope; s != NULL; s = s->outer) {
        bool over_family = s->sum->binder_count > 0 && s->sum->binders[0].first == NULL;
        if (over_family && use_block_name(uses, s->sum->binders[0].name->global, name, span))
            return;
    }
    tc_definition *definition = name->global;
    if (use_block_name(uses, uses->family, name, span) || definition == NULL || definition->kind != TC_DEFINES_PARAM)
        return;
    if (definition->statement->is_private)
        note_hidden(uses, name, span);
    if (definition->mark == uses->mark)
        return;
    definition->mark = uses->mark;
    TC_PUSH(uses->arena, uses->params, uses->param_count, definition);
}

/* agent.name, family[k].name */
static void use_member_name(tc_uses *uses, const tc_tree *tree) {
    const tc_tree *base = tree->items[0];
    const tc_tree *agent = base->kind == TC_TREE_INDEX ? base->items[0] : base;
    if (uses->family != NULL && uses->foreign.length == 0)
        uses->foreign = tree->span;
    if (agent->kind == TC_TREE_NAME && agent->name->global != NULL && agent->name->global->kind == TC_DEFINES_FAMILY)
        (void)use_block_name(uses, agent->name->global, tree->name, tree->name_span);
}

static bool is_length(const tc_tree *tree) {
    return tree->kind == TC_TREE_CALL && strcmp(tree->name->text, "length") == 0;
}

static void walk(tc_uses *uses, const bound_names *scope, const tc_tree *tree, bool is_private) {
    if (tree == NULL)
        return;
    if (tree->spine_count > 0) {
        walk(uses, scope, tree->spine[0]->items[0], is_private);
        for (size_t i = 0; i < tree->spine_count; i++)
            walk(uses, scope, tree->spine[i]->items[1], is_private);
        return;
    }
    bound_names inner = {scope, tree};
    for (size_t i = 0; i < tree->binder_count; i++) {
        walk(uses, &inner, tree->binders[i].first, is_private);
        walk(uses, &inner, tree->binders[i].last, is_private);
    }
    for (size_t i = 0; i < tree->count; i++)
        walk(uses, tc_binds_names(tree->kind) ? &inner : scope, tree->items[i], is_private);
    if (tree->kind == TC_TREE_NAME)
        use_name(uses, scope, tree->name, tree->span);
    if (tree->kind == TC_TREE_MEMBER)
        use_member_name(uses, tree);
    if (uses->family != NULL && tree->count > 0 && (tree->kind == TC_TREE_INDEX || is_length(tree)))
        note_pick(uses, scope, tree, is_private);
    else if (uses->family != NULL && tree->kind == TC_TREE_CALL)
        note_weights(uses, scope, tree);
}

void tc_uses_add(tc_uses *uses, const tc_statement *s) {
    /* The indices of a constraint or set are bound in its sides. */
    tc_tree indices = {.kind = TC_TREE_SUM, .binders = s->binders, .binder_count = s->binder_count};
    bound_names scope = {NULL, &indices};
    for (size_t i = 0; i < s->binder_count; i++) {
        walk(uses, &scope, s->binders[i].first, s->is_private);
        walk(uses, &scope, s->binders[i].last, s->is_private);
    }
    const tc_tree *trees[] = {s->value, s->other, s->third, s->length, s->lower, s->upper};
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++)
        walk(uses, &scope, trees[i], s->is_private);
    for (size_t i = 0; i < s->argument_count; i++)
        walk(uses, &scope, s->arguments[i], s->is_private);
    for (size_t i = 0; i < s->item_count; i++) {
        const tc_item *item = &s->items[i];
        const tc_tree *bounds[] = {item->length, item->lower, item->upper, item->by};
        for (size_t t = 0; t < sizeof bounds / sizeof bounds[0]; t++)
            walk(uses, &scope, bounds[t], s->is_private);
        /* An agent's file needs the data themselves; the cloud's has their names alone. */
        if (uses->columns != NULL)
            use_name(uses, &scope, item->datum.name, item->datum.span);
    }
    for (size_t i = 0; i < s->setting_count; i++) {
        walk(uses, &scope, s->settings[i].value, s->is_private);
        walk(uses, &scope, s->settings[i].decay, s->is_private);
        if (s->settings[i].word.name != NULL)
            use_name(uses, &scope, s->settings[i].word.name, s->settings[i].word.span);
    }
}

void tc_uses_forget(const tc_syntax *syntax) {
    for (const tc_statement *s = syntax->first; s != NULL; s = s->next) {
        tc_definition *definition = s->name != NULL ? s->name->global : NULL;
        if (definition == NULL)
            continue;
        definition->mark = 0;
        definition->users = 0;
        definition->picked = (tc_span){0, 0};
        for (size_t i = 0; s->kind == TC_STATEMENT_AGENTS && i < definition->block->local_count; i++)
            definition->block->locals[i].walks = 0;
    }
}
