/* Which names a part of a problem file depends on. */
#include "model/split_parts.h"

typedef struct bound { /* names of enclosing sums */
    const struct bound *outer;
    const tc_tree *sum;
} bound;

static bool is_bound(const bound *scope, const tc_name *name) {
    for (; scope != NULL; scope = scope->outer) {
        for (size_t i = 0; i < scope->sum->binder_count; i++) {
            if (scope->sum->binders[i].first != NULL && scope->sum->binders[i].name == name)
                return true;
        }
    }
    return false;
}

static const tc_local *local_named(const tc_uses *uses, const tc_name *name) {
    const tc_block *block = uses->family != NULL ? uses->family->block : NULL;
    for (size_t i = 0; block != NULL && i < block->local_count; i++) {
        if (block->locals[i].name == name)
            return &block->locals[i];
    }
    return NULL;
}

static size_t column_named(const tc_uses *uses, const tc_name *name) {
    const tc_definition *data = uses->family != NULL ? uses->family->block->data : NULL;
    for (size_t c = 0; data != NULL && c < data->table->column_count; c++) {
        if (data->columns[c] == name)
            return c;
    }
    return SIZE_MAX;
}

static void use_name(tc_uses *uses, const bound *scope, tc_name *name) {
    if (is_bound(scope, name) || local_named(uses, name) != NULL)
        return;
    if (uses->family != NULL && uses->family->block->index == name) {
        uses->index = true;
        return;
    }
    size_t column = column_named(uses, name);
    if (column != SIZE_MAX) {
        uses->columns[column] = true;
        return;
    }
    tc_definition *definition = name->global;
    if (definition == NULL || definition->kind != TC_DEFINES_PARAM || definition->mark == uses->mark)
        return;
    definition->mark = uses->mark;
    TC_PUSH(uses->arena, uses->params, uses->param_count, definition);
}

/* ---- private parameters that hold a part for each member --------------------------------------------------------- */

typedef struct mentions {
    bool member;              /* something that differs between members */
    const tc_name *secret;    /* a private vector or matrix from outside of the block */
} mentions;

static void find_mentions(const tc_uses *uses, const tc_tree *tree, unsigned depth, mentions *found) {
    const tc_tree *bottom = tree->spine_count > 0 ? tree->spine[0]->items[0] : NULL;
    if (bottom != NULL) {
        find_mentions(uses, bottom, depth, found);
        for (size_t i = 0; i < tree->spine_count; i++)
            find_mentions(uses, tree->spine[i]->items[1], depth, found);
        return;
    }
    for (size_t i = 0; i < tree->count; i++)
        find_mentions(uses, tree->items[i], depth, found);
    if (tree->kind != TC_TREE_NAME)
        return;
    const tc_local *local = local_named(uses, tree->name);
    if (local != NULL) {
        /* A local parameter stands for its definition; the depth ends cycles of names, which cannot be. */
        if (local->statement->kind == TC_STATEMENT_PARAM && depth < 20)
            find_mentions(uses, local->statement->value, depth + 1, found);
        return;
    }
    found->member = found->member || uses->family->block->index == tree->name || column_named(uses, tree->name) != SIZE_MAX;
    const tc_definition *global = tree->name->global;
    if (global != NULL && global->kind == TC_DEFINES_PARAM && global->statement->is_private && global->value.rank > 0)
        found->secret = tree->name;
}

static void look_for_leak(tc_uses *uses, const tc_tree *tree, const tc_statement *statement) {
    mentions base = {0}, indices = {0};
    if (uses->family == NULL || !uses->family->statement->is_family || uses->leak != NULL)
        return;
    find_mentions(uses, tree->items[0], 0, &base);
    for (size_t i = 1; i < tree->count; i++)
        find_mentions(uses, tree->items[i], 0, &indices);
    if (base.secret != NULL && indices.member) {
        uses->leak = statement;
        uses->leaked = base.secret;
    }
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

static void walk(tc_uses *uses, const bound *scope, const tc_tree *tree, const tc_statement *statement) {
    if (tree == NULL)
        return;
    if (tree->spine_count > 0) {
        walk(uses, scope, tree->spine[0]->items[0], statement);
        for (size_t i = 0; i < tree->spine_count; i++)
            walk(uses, scope, tree->spine[i]->items[1], statement);
        return;
    }
    bound inner = {scope, tree};
    for (size_t i = 0; i < tree->binder_count; i++) {
        walk(uses, &inner, tree->binders[i].first, statement);
        walk(uses, &inner, tree->binders[i].last, statement);
    }
    for (size_t i = 0; i < tree->count; i++)
        walk(uses, tree->kind == TC_TREE_SUM ? &inner : scope, tree->items[i], statement);
    if (tree->kind == TC_TREE_NAME)
        use_name(uses, scope, tree->name);
    if (tree->kind == TC_TREE_INDEX)
        look_for_leak(uses, tree, statement);
}

void tc_uses_add(tc_uses *uses, const tc_statement *s) {
    /* The indices of a constraint are bound in its sides. */
    tc_tree indices = {.kind = TC_TREE_SUM, .binders = s->binders, .binder_count = s->binder_count};
    bound scope = {NULL, &indices};
    for (size_t i = 0; i < s->binder_count; i++) {
        walk(uses, &scope, s->binders[i].first, s);
        walk(uses, &scope, s->binders[i].last, s);
    }
    const tc_tree *trees[] = {s->value, s->other, s->length, s->lower, s->upper};
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++)
        walk(uses, &scope, trees[i], s);
    for (size_t i = 0; i < s->argument_count; i++)
        walk(uses, &scope, s->arguments[i], s);
    for (size_t i = 0; i < s->setting_count; i++) {
        walk(uses, &scope, s->settings[i].value, s);
        walk(uses, &scope, s->settings[i].decay, s);
        if (s->settings[i].word.name != NULL)
            use_name(uses, &scope, s->settings[i].word.name);
    }
}
