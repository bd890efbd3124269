/* Families: members and columns, states and boxes, objectives, gaps, Slater points and starts. */
#include "model/elaborate/elaborate.h"

#include <math.h>

static tc_family *family_of(tc_elaborator *elaborator, const tc_agents_block *block) {
    return &elaborator->model->families[block->number];
}

const char *tc_member_text(tc_elaborator *elaborator, const tc_agents_block *block, size_t member) {
    tc_buffer text = tc_buffer_new(elaborator->arena, 1 << 16);
    tc_agent_name(&text, family_of(elaborator, block), member);
    return tc_buffer_text(&text);
}

const char *tc_wrong_number(tc_elaborator *elaborator, bool is_private, double value) {
    if (is_private && !tc_shows_private(elaborator))
        return "this private number is wrong";
    return tc_arena_format(elaborator->arena, "this is %.17g", value);
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

static void know(tc_family *family, tc_known known) {
    family->known_first = known.first;
    family->known_end = known.end;
    family->is_spread = known.is_spread;
}

static void head_from_data(tc_elaborator *elaborator, tc_agents_block *block) {
    const tc_statement *statement = block->statement;
    tc_family *family = family_of(elaborator, block);
    tc_definition *data = statement->over.name->global;
    block->broken = true;
    if (data == NULL || data->kind != TC_DEFINES_DATA) {
        const char **names = NULL;
        size_t count = 0;
        for (const tc_definition *d = elaborator->definitions; d != NULL; d = d->next) {
            if (d->kind == TC_DEFINES_DATA)
                TC_PUSH(elaborator->arena, names, count, d->name->text);
        }
        tc_error(elaborator->diagnostics, statement->over.span, "there is no data called '%s'%s",
                 statement->over.name->text,
                 tc_did_you_mean(elaborator->arena, statement->over.name->text, names, count));
        return;
    }
    tc_need_definition(elaborator, data, statement->over.span);
    const tc_table *table = data->table;
    if (table == NULL)
        return;
    block->broken = false;
    block->data = data;
    block->index = statement->index.name;
    for (size_t part = 0; part < TC_PARTS; part++) {
        block->column_values[part] = TC_NEW(elaborator->arena, tc_value, table->column_count);
        block->column_known[part] = TC_NEW(elaborator->arena, bool, table->column_count);
    }
    family->count = table->rows;
    know(family, table->known);
    family->member_names = table->names;
    family->column_count = block->column_capacity = table->value_count;
    family->columns = TC_NEW(elaborator->arena, tc_column, table->value_count);
    for (size_t c = 0; c < table->column_count; c++) {
        const tc_table_column *column = &table->columns[c];
        for (size_t i = 0; i < column->length; i++) {
            const char *name =
                column->is_vector ? tc_arena_format(elaborator->arena, "%s[%zu]", column->name, i + 1) : column->name;
            family->columns[column->first + i] = (tc_column){
                .name = name, .values = table->values[column->first + i], .is_private = data->secrets[c] != NULL};
        }
    }
}

static void head_from_range(tc_elaborator *elaborator, tc_agents_block *block) {
    const tc_binder *binder = &block->statement->binders[0];
    double first, last;
    block->broken = true;
    if (!tc_elaborate_range(elaborator, NULL, binder, &first, &last))
        return;
    if (first != 1 || last < 1) {
        tc_error(elaborator->diagnostics, tc_span_join(binder->first->span, binder->last->span),
                 "the members of a family are numbered from 1: expected 1..n with n at least 1");
        return;
    }
    block->broken = false;
    block->index = binder->name;
    family_of(elaborator, block)->count = (size_t)last;
    know(family_of(elaborator, block), tc_known_rows((size_t)last, elaborator->limits->whole));
}

/* A member's row of its family's data, in a file of its own: columns of one number. */
static void add_column(tc_elaborator *elaborator, tc_agents_block *block, tc_local *local) {
    const tc_statement *statement = local->statement;
    tc_family *family = family_of(elaborator, block);
    tc_value value = tc_elaborate_param(elaborator, NULL, statement);
    local->column = tc_value_broken();
    local->variable = family->column_count;
    if (value.broken)
        return;
    if (!value.is_number || value.rank == 2) {
        tc_error(elaborator->diagnostics, statement->value->span,
                 "a column must be a number or a vector, but this is %s", tc_shape_text(elaborator->arena, &value));
        return;
    }
    local->column = value;
    size_t count = tc_value_count(&value), all = family->column_count + count;
    double *numbers = TC_NEW(elaborator->arena, double, count);
    family->columns =
        tc_arena_grow(elaborator->arena, family->columns, family->column_count, all, sizeof *family->columns);
    for (size_t i = 0; i < count; i++) {
        const char *name = statement->name->text;
        numbers[i] = tc_value_number_at(&value, i);
        if (value.rank == 1)
            name = tc_arena_format(elaborator->arena, "%s[%zu]", name, i + 1);
        family->columns[family->column_count++] =
            (tc_column){.name = name, .values = &numbers[i], .is_private = value.secret != NULL};
    }
    block->column_capacity = all;
}

void tc_elaborate_head(tc_elaborator *elaborator, tc_agents_block *block, tc_span used) {
    (void)used;
    const tc_statement *statement = block->statement;
    tc_family *family = family_of(elaborator, block);
    *family = (tc_family){.name = statement->name->text,
                          .is_family = statement->is_family,
                          .count = 1,
                          .known_end = 1,
                          .objective = TC_NO_EXPR,
                          .declared_objective = {.value = NAN},
                          .declared_jacobian = {{.value = NAN}, {.value = NAN}},
                          .span = statement->name_span};
    if (statement->over.name != NULL)
        head_from_data(elaborator, block);
    else if (statement->binder_count > 0)
        head_from_range(elaborator, block);
    for (size_t i = 0; i < block->local_count; i++) {
        if (block->locals[i].statement->kind == TC_STATEMENT_COLUMN && elaborator->model->role == TC_ROLE_AGENT &&
            !statement->is_family)
            add_column(elaborator, block, &block->locals[i]);
    }
}

/* ---- coefficients ----------------------------------------------------------------------------------------------- */

static bool all_finite(tc_elaborator *elaborator, const tc_agents_block *block, tc_coef coef, tc_span span,
                       const char *what) {
    const tc_family *family = family_of(elaborator, block);
    bool varies = coef.column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        good = isfinite(tc_coef_at(coef, k));
        if (good)
            continue;
        if (varies)
            tc_error(elaborator->diagnostics, span, "%s is not a finite number for %s", what,
                     tc_member_text(elaborator, block, k));
        else
            tc_error(elaborator->diagnostics, span, "%s is not a finite number", what);
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

tc_coef *tc_elaborate_coefs(tc_elaborator *elaborator, tc_agents_block *block, const tc_value *value, size_t count,
                            tc_span span, const char *what) {
    if (value->broken)
        return NULL;
    if (value->rank == 2 || (value->rank == 1 && value->rows != count)) {
        tc_error(elaborator->diagnostics, span, "%s must be a number or a vector of %zu, but this is %s", what, count,
                 tc_shape_text(elaborator->arena, value));
        return NULL;
    }
    if (tc_value_has_state(&elaborator->values, value)) {
        tc_error(elaborator->diagnostics, span, "%s must not depend on states", what);
        return NULL;
    }
    tc_coef *coefs = TC_NEW(elaborator->arena, tc_coef, count);
    for (size_t i = 0; i < count; i++) {
        coefs[i] = i > 0 && value->rank == 0 ? coefs[0] : tc_coef_of_value(elaborator, block, value, i);
        if ((i == 0 || value->rank > 0) && !all_finite(elaborator, block, coefs[i], span, what))
            return NULL;
        if (coefs[i].made_of > 0)
            tc_demand_of(elaborator, block, coefs[i].made_of - 1, TC_MUST_BE_FINITE, span);
    }
    return coefs;
}

static tc_value in_block(tc_elaborator *elaborator, tc_agents_block *block, const tc_tree *tree,
                         const char *no_states) {
    tc_scope scope = {.block = block, .member = SIZE_MAX};
    elaborator->no_states = no_states;
    tc_value value = tc_elaborate_tree(elaborator, &scope, tree);
    elaborator->no_states = NULL;
    return value;
}

tc_coef *tc_public_coefs(tc_elaborator *elaborator, tc_agents_block *block, const tc_tree *tree, size_t count,
                         const char *what) {
    tc_value value = in_block(elaborator, block, tree, what);
    if (!tc_must_be_public(elaborator, &value, tree->span, what))
        return NULL;
    return tc_elaborate_coefs(elaborator, block, &value, count, tree->span, what);
}

/* ---- states ----------------------------------------------------------------------------------------------------- */

static bool check_box(tc_elaborator *elaborator, const tc_agents_block *block, const tc_statement *statement,
                      tc_coef lower, tc_coef upper) {
    const tc_family *family = family_of(elaborator, block);
    bool varies = lower.column != NULL || upper.column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        double low = tc_coef_at(lower, k), high = tc_coef_at(upper, k);
        good = low <= high;
        if (good)
            continue;
        tc_error(elaborator->diagnostics, tc_span_join(statement->lower->span, statement->upper->span),
                 "the box of '%s'%s%s is empty: the lower bound %.17g is above the upper bound %.17g",
                 statement->name->text, varies ? " for " : "", varies ? tc_member_text(elaborator, block, k) : "", low,
                 high);
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

static bool elaborate_state(tc_elaborator *elaborator, tc_agents_block *block, tc_local *local) {
    const tc_statement *statement = local->statement;
    tc_family *family = family_of(elaborator, block);
    double length = 1;
    if (statement->length != NULL &&
        !tc_elaborate_whole(elaborator, NULL, statement->length, "the length of a state", 1, 1e6, &length))
        return false;
    size_t count = (size_t)length;
    tc_coef *lower = tc_public_coefs(elaborator, block, statement->lower, count, "the lower bound of a state");
    tc_coef *upper = tc_public_coefs(elaborator, block, statement->upper, count, "the upper bound of a state");
    if (lower == NULL || upper == NULL)
        return false;
    for (size_t c = 0; c < count; c++) {
        if (!check_box(elaborator, block, statement, lower[c], upper[c]))
            return false;
    }
    local->variable = family->variable_count;
    tc_variable variable = {statement->name->text, family->dim, count, statement->length == NULL};
    TC_PUSH(elaborator->arena, family->variables, family->variable_count, variable);
    family->lower = tc_arena_grow(elaborator->arena, family->lower, family->dim, family->dim + count, sizeof(tc_coef));
    family->upper = tc_arena_grow(elaborator->arena, family->upper, family->dim, family->dim + count, sizeof(tc_coef));
    for (size_t c = 0; c < count; c++) {
        family->lower[family->dim + c] = lower[c];
        family->upper[family->dim + c] = upper[c];
    }
    family->dim += count;
    return true;
}

void tc_elaborate_states(tc_elaborator *elaborator, tc_agents_block *block) {
    if (block->broken)
        return;
    for (size_t i = 0; i < block->local_count; i++) {
        if (block->locals[i].statement->kind == TC_STATEMENT_STATE &&
            !elaborate_state(elaborator, block, &block->locals[i]))
            block->broken = true;
    }
    block->states_known = true;
    if (!block->broken && family_of(elaborator, block)->dim == 0) {
        tc_error(elaborator->diagnostics, block->statement->name_span, "'%s' has no state; write 'state x in [0, 1]'",
                 block->statement->name->text);
        block->broken = true;
    }
}

/* ---- the other lines -------------------------------------------------------------------------------------------- */

static void elaborate_objective(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement) {
    tc_family *family = family_of(elaborator, block);
    if (family->objective != TC_NO_EXPR) {
        tc_error(elaborator->diagnostics, statement->keyword, "'%s' has two objectives; add them up", family->name);
        tc_note(elaborator->diagnostics, family->objective_span, "the first one is here");
        return;
    }
    tc_value value = in_block(elaborator, block, statement->value, NULL);
    if (value.broken)
        return;
    if (value.rank != 0) {
        tc_error(elaborator->diagnostics, statement->value->span, "an objective must be a number, but this is %s",
                 tc_shape_text(elaborator->arena, &value));
        return;
    }
    if (statement->maximizes)
        value = tc_value_negate(&elaborator->values, &value);
    family->maximizes = statement->maximizes;
    family->objective = tc_value_node_at(&elaborator->values, &value, 0);
    family->objective_span = statement->value->span;
}

static const tc_variable *variable_named(tc_elaborator *elaborator, const tc_agents_block *block,
                                         const tc_statement *statement) {
    const tc_family *family = family_of(elaborator, block);
    const char **names = TC_NEW(elaborator->arena, const char *, family->variable_count);
    for (size_t i = 0; i < block->local_count; i++) {
        if (block->locals[i].name == statement->name && block->locals[i].statement->kind == TC_STATEMENT_STATE)
            return &family->variables[block->locals[i].variable];
    }
    for (size_t v = 0; v < family->variable_count; v++)
        names[v] = family->variables[v].name;
    tc_error(elaborator->diagnostics, statement->name_span, "'%s' has no state '%s'%s", family->name,
             statement->name->text,
             tc_did_you_mean(elaborator->arena, statement->name->text, names, family->variable_count));
    return NULL;
}

static bool check_inside(tc_elaborator *elaborator, const tc_agents_block *block, const tc_statement *statement,
                         tc_coef point, size_t component, const char *what, bool is_private) {
    const tc_family *family = family_of(elaborator, block);
    tc_coef lower = family->lower[component], upper = family->upper[component];
    bool varies = point.column != NULL || lower.column != NULL || upper.column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        double x = tc_coef_at(point, k);
        good = x >= tc_coef_at(lower, k) && x <= tc_coef_at(upper, k);
        if (good)
            continue;
        tc_error(elaborator->diagnostics, statement->value->span,
                 "%s%s%s leaves the box: %s is outside of [%.17g, %.17g]", what, varies ? " for " : "",
                 varies ? tc_member_text(elaborator, block, k) : "",
                 is_private ? "a private number" : tc_arena_format(elaborator->arena, "%.17g", x), tc_coef_at(lower, k),
                 tc_coef_at(upper, k));
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

/* slater p = ... within r: the room around the Slater point. */
static void elaborate_room(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement,
                           const tc_variable *variable) {
    static const char what[] = "the room around a Slater point";
    tc_family *family = family_of(elaborator, block);
    tc_value value = in_block(elaborator, block, statement->other, what);
    if (value.broken || !tc_must_be_public(elaborator, &value, statement->other->span, what))
        return;
    tc_coef *coefs = tc_elaborate_coefs(elaborator, block, &value, variable->length, statement->other->span, what);
    for (size_t c = 0; coefs != NULL && c < variable->length; c++) {
        family->room[variable->first + c] = coefs[c];
        bool varies = coefs[c].column != NULL, good = true;
        tc_told before = tc_told_so_far(elaborator->diagnostics);
        for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
            good = tc_coef_at(coefs[c], k) >= 0;
            if (!good)
                tc_error(elaborator->diagnostics, statement->other->span, "%s must not be negative, but this is %.17g",
                         what, tc_coef_at(coefs[c], k));
        }
        if (!tc_agreed(elaborator->diagnostics, family, before, good))
            return;
    }
}

/* slater p = ...   start p = ...; given marks the components that have a value. */
static void elaborate_point(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement,
                            tc_coef *point, bool *given) {
    bool is_slater = statement->kind == TC_STATEMENT_SLATER;
    const char *what = is_slater ? "a Slater point" : "a start";
    const tc_variable *variable = variable_named(elaborator, block, statement);
    if (variable == NULL)
        return;
    if (given[variable->first]) {
        tc_error(elaborator->diagnostics, statement->name_span, "%s of '%s' is given twice", what, variable->name);
        return;
    }
    for (size_t c = 0; c < variable->length; c++)
        given[variable->first + c] = true;
    tc_value value = in_block(elaborator, block, statement->value, what);
    if (value.broken || (is_slater && !tc_must_be_public(elaborator, &value, statement->value->span, what)))
        return;
    bool is_private = (value.secret != NULL || statement->is_private) && !tc_shows_private(elaborator);
    tc_coef *coefs = tc_elaborate_coefs(elaborator, block, &value, variable->length, statement->value->span, what);
    for (size_t c = 0; coefs != NULL && c < variable->length; c++) {
        point[variable->first + c] = coefs[c];
        if (!check_inside(elaborator, block, statement, coefs[c], variable->first + c, what, is_private))
            return;
    }
    if (statement->other != NULL)
        elaborate_room(elaborator, block, statement, variable);
}

/* Zero, or the point of the box nearest to it. */
static tc_coef clipped_zero(tc_elaborator *elaborator, const tc_family *family, size_t component) {
    tc_coef lower = family->lower[component], upper = family->upper[component];
    if (lower.column == NULL && upper.column == NULL)
        return (tc_coef){.value = fmin(fmax(0, lower.value), upper.value)};
    double *column = TC_NEW(elaborator->arena, double, family->count);
    for (size_t k = family->known_first; k < family->known_end; k++)
        column[k] = fmin(fmax(0, tc_coef_at(lower, k)), tc_coef_at(upper, k));
    return (tc_coef){.column = column};
}

static void elaborate_points(tc_elaborator *elaborator, tc_agents_block *block) {
    tc_family *family = family_of(elaborator, block);
    bool *has_slater = TC_NEW(elaborator->arena, bool, family->dim);
    bool *has_start = TC_NEW(elaborator->arena, bool, family->dim);
    family->slater = TC_NEW(elaborator->arena, tc_coef, family->dim);
    family->room = TC_NEW(elaborator->arena, tc_coef, family->dim);
    family->start = TC_NEW(elaborator->arena, tc_coef, family->dim);
    const tc_statement *slater = NULL;
    for (const tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        if (s->kind == TC_STATEMENT_SLATER) {
            elaborate_point(elaborator, block, s, family->slater, has_slater);
            family->has_slater = true;
            slater = s;
        } else if (s->kind == TC_STATEMENT_START) {
            elaborate_point(elaborator, block, s, family->start, has_start);
            family->has_start = true;
        }
    }
    for (size_t v = 0; v < family->variable_count; v++) {
        size_t first = family->variables[v].first;
        if (slater != NULL && !has_slater[first])
            tc_error(elaborator->diagnostics, slater->span, "the Slater point of '%s' lacks the state '%s'",
                     family->name, family->variables[v].name);
    }
    if (slater != NULL)
        tc_check_public_slater(elaborator, block, slater);
    for (size_t c = 0; c < family->dim; c++) {
        if (!has_start[c])
            family->start[c] = clipped_zero(elaborator, family, c);
    }
}

static void elaborate_gap(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement) {
    tc_family *family = family_of(elaborator, block);
    if (family->has_gap) {
        tc_error(elaborator->diagnostics, statement->keyword, "'%s' has two gaps", family->name);
        return;
    }
    family->has_gap = true;
    tc_coef *coef = tc_public_coefs(elaborator, block, statement->value, 1, "a gap");
    if (coef == NULL)
        return;
    family->gap = *coef;
    bool varies = coef->column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        good = tc_coef_at(*coef, k) >= 0;
        if (good)
            continue;
        tc_error(elaborator->diagnostics, statement->value->span, "a gap must not be negative, but this is %.17g%s%s",
                 tc_coef_at(*coef, k), varies ? " for " : "", varies ? tc_member_text(elaborator, block, k) : "");
    }
    (void)tc_agreed(elaborator->diagnostics, family, before, good);
}

void tc_elaborate_block(tc_elaborator *elaborator, tc_agents_block *block) {
    size_t piece_capacity = 0;
    if (block->broken)
        return;
    tc_elaborate_ranges(elaborator, block);
    tc_scope scope = {.block = block, .member = SIZE_MAX};
    for (size_t i = 0; i < block->local_count; i++) {
        bool found; /* a column is met where a line uses it, as in a family */
        if (block->locals[i].statement->kind == TC_STATEMENT_COLUMN)
            continue;
        (void)tc_block_name(elaborator, &scope, block->locals[i].name, block->locals[i].statement->name_span, &found);
    }
    bool has_objective = false;
    for (const tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        if (elaborator->model->role == TC_ROLE_CLOUD && s->is_private) {
            tc_error(elaborator->diagnostics, s->keyword, "a cloud's file holds nothing private");
            continue;
        }
        elaborator->in_block = s->kind == TC_STATEMENT_MINIMIZE || s->kind == TC_STATEMENT_SET;
        if (s->kind == TC_STATEMENT_MINIMIZE)
            elaborate_objective(elaborator, block, s);
        else if (s->kind == TC_STATEMENT_SET)
            tc_elaborate_set(elaborator, block, s, &piece_capacity);
        else if (s->kind == TC_STATEMENT_GAP)
            elaborate_gap(elaborator, block, s);
        has_objective = has_objective || s->kind == TC_STATEMENT_MINIMIZE;
        elaborator->in_block = false;
    }
    elaborate_points(elaborator, block);
    if (family_of(elaborator, block)->objective == TC_NO_EXPR && elaborator->model->role != TC_ROLE_CLOUD)
        elaborator->dropped = true;
    if (!has_objective && elaborator->model->role != TC_ROLE_CLOUD)
        tc_error(elaborator->diagnostics, block->statement->name_span,
                 "'%s' has no objective; write 'private minimize ...' "
                 "(0 for none)",
                 block->statement->name->text);
}
