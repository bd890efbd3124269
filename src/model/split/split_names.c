/* Which names a part of a problem file depends on. */
#include "model/split/split_parts.h"

#include <string.h>

bool tc_is_bound(const tc_bound *scope, const tc_name *name) {
    for (; scope != NULL; scope = scope->outer) {
        for (size_t i = 0; i < scope->sum->binder_count; i++) {
            if (scope->sum->binders[i].first != NULL && scope->sum->binders[i].name == name)
                return true;
        }
    }
    return false;
}

tc_local *tc_local_named(const tc_definition *family, const tc_name *name) {
    const tc_block *block = family != NULL ? family->block : NULL;
    for (size_t i = 0; block != NULL && i < block->local_count; i++) {
        if (block->locals[i].name == name)
            return &block->locals[i];
    }
    return NULL;
}

size_t tc_column_named(const tc_definition *family, const tc_name *name) {
    const tc_definition *data = family != NULL ? family->block->data : NULL;
    for (size_t c = 0; data != NULL && c < data->table->column_count; c++) {
        if (data->columns[c] == name)
            return c;
    }
    return SIZE_MAX;
}

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
    const tc_local *local = tc_local_named(family, name);
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
    size_t column = tc_column_named(family, name);
    if (column == SIZE_MAX)
        return false;
    if (family->block->data->secrets[column] != NULL)
        note_hidden(uses, name, span);
    if (own && uses->columns != NULL)
        uses->columns[column] = true;
    return true;
}

static void use_name(tc_uses *uses, const tc_bound *scope, tc_name *name, tc_span span) {
    if (tc_is_bound(scope, name))
        return;
    for (const tc_bound *s = scope; s != NULL; s = s->outer) {
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

static void walk(tc_uses *uses, const tc_bound *scope, const tc_tree *tree, bool is_private) {
    if (tree == NULL)
        return;
    if (tree->spine_count > 0) {
        walk(uses, scope, tree->spine[0]->items[0], is_private);
        for (size_t i = 0; i < tree->spine_count; i++)
            walk(uses, scope, tree->spine[i]->items[1], is_private);
        return;
    }
    tc_bound inner = {scope, tree};
    for (size_t i = 0; i < tree->binder_count; i++) {
        walk(uses, &inner, tree->binders[i].first, is_private);
        walk(uses, &inner, tree->binders[i].last, is_private);
    }
    for (size_t i = 0; i < tree->count; i++)
        walk(uses, tree->kind == TC_TREE_SUM ? &inner : scope, tree->items[i], is_private);
    if (tree->kind == TC_TREE_NAME)
        use_name(uses, scope, tree->name, tree->span);
    if (tree->kind == TC_TREE_MEMBER)
        use_member_name(uses, tree);
    if (uses->family != NULL && tree->count > 0 && (tree->kind == TC_TREE_INDEX || is_length(tree)))
        tc_note_pick(uses, scope, tree, is_private);
    else if (uses->family != NULL && tree->kind == TC_TREE_CALL)
        tc_note_weights(uses, scope, tree);
}

void tc_uses_add(tc_uses *uses, const tc_statement *s) {
    /* The indices of a constraint are bound in its sides. */
    tc_tree indices = {.kind = TC_TREE_SUM, .binders = s->binders, .binder_count = s->binder_count};
    tc_bound scope = {NULL, &indices};
    for (size_t i = 0; i < s->binder_count; i++) {
        walk(uses, &scope, s->binders[i].first, s->is_private);
        walk(uses, &scope, s->binders[i].last, s->is_private);
    }
    const tc_tree *trees[] = {s->value, s->other, s->length, s->lower, s->upper};
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++)
        walk(uses, &scope, trees[i], s->is_private);
    for (size_t i = 0; i < s->argument_count; i++)
        walk(uses, &scope, s->arguments[i], s->is_private);
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
