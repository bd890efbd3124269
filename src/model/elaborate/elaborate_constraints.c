/* Shared constraints, each an outer expression that must not be positive. */
#include "model/elaborate/elaborate.h"

#include <stdio.h>

typedef struct constraint_reader {
    tc_elaborator *elaborator;
    const tc_statement *statement;
    const tc_scope *scope;
} constraint_reader;

/* "feeder", "feeder[3]", "link[2,7]"; last: the element of a vector relation, 0 for none. */
static const char *constraint_name(const constraint_reader *reader, size_t last) {
    tc_buffer name = tc_buffer_new(reader->elaborator->arena, 1 << 16);
    const tc_scope *scopes[16];
    size_t count = 0;
    for (const tc_scope *s = reader->scope; s != NULL; s = s->outer)
        scopes[count++] = s;
    tc_buffer_puts(&name, reader->statement->name->text);
    const char *separator = "[";
    for (; count > 0; count--, separator = ",")
        tc_buffer_printf(&name, "%s%.17g", separator, scopes[count - 1]->value);
    if (last > 0) {
        tc_buffer_printf(&name, "%s%zu", separator, last);
        separator = ",";
    }
    if (separator[0] == ',')
        tc_buffer_puts(&name, "]");
    return tc_buffer_text(&name);
}

static void add_constraint(const constraint_reader *reader, tc_expr outer, size_t last) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_model *model = elaborator->model;
    tc_span span = tc_span_join(reader->statement->value->span, reader->statement->other->span);
    if (model->constraint_count == elaborator->constraint_capacity) {
        size_t capacity = elaborator->constraint_capacity == 0 ? 16 : elaborator->constraint_capacity * 2;
        model->constraints = tc_arena_grow(elaborator->arena, model->constraints, model->constraint_count, capacity,
                                           sizeof *model->constraints);
        elaborator->constraint_capacity = capacity;
    }
    model->constraints[model->constraint_count++] = (tc_constraint){constraint_name(reader, last), outer, span};
}

static bool elaborate_one(const constraint_reader *reader) {
    tc_elaborator *elaborator = reader->elaborator;
    const tc_statement *s = reader->statement;
    tc_value left = tc_elaborate_tree(elaborator, reader->scope, s->value);
    tc_value right = tc_elaborate_tree(elaborator, reader->scope, s->other);
    bool good = tc_must_be_public(elaborator, &left, s->value->span, "a constraint");
    good = tc_must_be_public(elaborator, &right, s->other->span, "a constraint") && good;
    if (!good)
        return false;
    tc_span span = tc_span_join(s->value->span, s->other->span);
    elaborator->dag->origin = span;
    tc_value difference = s->relation == TC_RELATION_LESS ? tc_value_compare(&elaborator->values, &left, &right, span)
                                                          : tc_value_compare(&elaborator->values, &right, &left, span);
    if (difference.broken)
        return false;
    if (difference.rank == 2) {
        tc_error(elaborator->diagnostics, span, "a constraint compares numbers or vectors, but this is %s",
                 tc_shape_text(elaborator->arena, &difference));
        return false;
    }
    for (size_t i = 0; i < tc_value_count(&difference); i++)
        add_constraint(reader, tc_value_node_at(&elaborator->values, &difference, i), difference.rank == 0 ? 0 : i + 1);
    return true;
}

static bool elaborate_indices(const constraint_reader *reader, size_t b) {
    tc_elaborator *elaborator = reader->elaborator;
    const tc_statement *s = reader->statement;
    if (b == s->binder_count)
        return elaborate_one(reader);
    double first, last;
    if (!tc_elaborate_range(elaborator, reader->scope, &s->binders[b], &first, &last))
        return false;
    for (double i = first; i <= last; i++) {
        tc_count_expansion(elaborator, 1, s->name_span);
        tc_scope inner = {.outer = reader->scope, .name = s->binders[b].name, .value = i};
        constraint_reader next = {elaborator, s, &inner};
        if (!elaborate_indices(&next, b + 1))
            return false;
    }
    return true;
}

void tc_elaborate_constraint(tc_elaborator *elaborator, tc_definition *definition) {
    constraint_reader reader = {elaborator, definition->statement, NULL};
    definition->first = elaborator->model->constraint_count;
    elaborator->no_states = NULL;
    if (!elaborate_indices(&reader, 0))
        elaborator->dropped = true;
    definition->count = elaborator->model->constraint_count - definition->first;
}
