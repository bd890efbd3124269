/* What a name means. */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names in blocks -------------------------------------------------------------------------------------------- */

static tc_part part_of(const tc_elaborator *elaborator) {
    uint32_t realm = elaborator->dag->realm;
    return realm == TC_REALM_SHARED ? TC_PART_SHARED : realm == TC_REALM_PARAMS ? TC_PART_PARAMS : TC_PART_BLOCK;
}

/* Report each error once: a value that failed in one part fails silently in the others. */
static bool is_known_broken(const tc_local *local) {
    bool broken = false;
    for (size_t part = 0; part < TC_PARTS; part++)
        broken = broken || (local->progress[part] == TC_DONE && local->value[part].broken);
    return broken;
}

/* Whether anything in a block goes by this name, or outside of blocks. */
static bool is_defined(const tc_agents_block *block, const tc_name *name) {
    bool found = name->global != NULL || block->index == name;
    for (size_t i = 0; i < block->local_count; i++)
        found = found || block->locals[i].name == name;
    for (size_t c = 0; block->data != NULL && c < block->data->table->column_count; c++)
        found = found || block->data->columns[c] == name;
    return found;
}

/* `param m = given` in a block means whatever is called `given` where something is. */
static void settle_given(const tc_agents_block *block, tc_statement *statement) {
    if (!statement->is_given || statement->value == NULL)
        return;
    statement->is_given = !is_defined(block, statement->value->name);
    if (statement->is_given)
        statement->value = NULL;
}

/* The numbers of a file, or those given: one value for all members, read once. */
static tc_value loaded_param(tc_elaborator *elaborator, tc_local *local) {
    if (!local->is_loaded)
        local->column = tc_elaborate_param(elaborator, NULL, local->statement);
    local->is_loaded = true;
    return local->column;
}

/* Leaves for columns of the family, from local->variable on. */
static tc_value column_leaves(tc_elaborator *elaborator, const tc_agents_block *block, const tc_local *local,
                              const tc_value *numbers) {
    size_t count = tc_value_count(numbers);
    tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, count);
    for (size_t c = 0; c < count; c++)
        nodes[c] = tc_data(elaborator->dag, block->number, local->variable + c, local->statement->is_private);
    tc_value value = numbers->rank == 1 ? tc_value_nodes(nodes, 1, count, 1) : tc_value_node(nodes[0]);
    value.secret = numbers->secret;
    return value;
}

/* A private parameter with a range is data: a column, the same number for every member unless bounds differ. As a
 * constant it would be folded into others. */
static tc_value ranged_param(tc_elaborator *elaborator, tc_agents_block *block, tc_local *local,
                             const tc_value *numbers) {
    const tc_family *family = &elaborator->model->families[block->number];
    if (numbers->broken)
        return *numbers;
    if (!numbers->is_number || numbers->rank == 2) {
        tc_error(elaborator->diagnostics, local->range->datum.span,
                 numbers->is_number ? "a range is for a number or a vector, but '%s' is %s"
                                    : "'%s' is computed from other data; give those a range instead of it",
                 local->name->text, tc_shape_text(elaborator->arena, numbers));
        return tc_value_broken();
    }
    for (size_t c = 0; !local->has_columns && c < tc_value_count(numbers); c++) {
        double *values = TC_NEW(elaborator->arena, double, family->count);
        for (size_t k = family->known_first; k < family->known_end; k++)
            values[k] = tc_value_number_at(numbers, c);
        tc_expr leaf = tc_new_column(elaborator, block, values, NULL, true);
        size_t column = (size_t)elaborator->dag->nodes[leaf].u.index;
        family->columns[column].name = numbers->rank == 1
                                           ? tc_arena_format(elaborator->arena, "%s[%zu]", local->name->text, c + 1)
                                           : local->name->text;
        local->variable = c == 0 ? column : local->variable;
    }
    local->has_columns = true;
    return column_leaves(elaborator, block, local, numbers);
}

static tc_value param_numbers(tc_elaborator *elaborator, const tc_scope *scope, tc_local *local) {
    return tc_is_loaded_param(local->statement) ? loaded_param(elaborator, local)
                                                : tc_elaborate_param(elaborator, scope, local->statement);
}

static tc_value local_param(tc_elaborator *elaborator, const tc_scope *scope, tc_local *local, tc_span span) {
    tc_part part = part_of(elaborator);
    tc_elaboration_phase *progress = &local->progress[part];
    settle_given(scope->block, local->statement);
    if (scope->member != SIZE_MAX || (tc_is_loaded_param(local->statement) && local->range == NULL))
        return param_numbers(elaborator, scope, local);
    if (*progress == TC_UNDERWAY) {
        tc_error(elaborator->diagnostics, span, "'%s' is defined in terms of itself", local->name->text);
        local->value[part] = tc_value_broken();
        *progress = TC_DONE;
    }
    if (*progress == TC_UNSEEN && is_known_broken(local))
        return tc_value_broken();
    if (*progress == TC_UNSEEN) {
        *progress = TC_UNDERWAY;
        tc_scope own = {.block = scope->block, .member = SIZE_MAX};
        tc_value value = param_numbers(elaborator, &own, local);
        if (local->range != NULL)
            value = ranged_param(elaborator, scope->block, local, &value);
        if (*progress == TC_UNDERWAY)
            local->value[part] = value;
        *progress = TC_DONE;
    }
    return local->value[part];
}

/* A member's own number, one of a family's column of one. */
static tc_value local_column(tc_elaborator *elaborator, const tc_scope *scope, tc_local *local) {
    const tc_value *column = &local->column;
    tc_part part = part_of(elaborator);
    if (column->broken || scope->member != SIZE_MAX)
        return *column;
    if (local->progress[part] != TC_DONE) {
        local->value[part] = column_leaves(elaborator, scope->block, local, column);
        local->progress[part] = TC_DONE;
    }
    return local->value[part];
}

static tc_value local_state(tc_elaborator *elaborator, const tc_scope *scope, tc_local *local, tc_span span) {
    if (elaborator->no_states != NULL) {
        tc_error(elaborator->diagnostics, span, "the state '%s' cannot be used here: %s must be a constant",
                 local->name->text, elaborator->no_states);
        return tc_value_broken();
    }
    if (!scope->block->states_known || scope->block->broken)
        return tc_value_broken();
    const tc_family *family = &elaborator->model->families[scope->block->number];
    const tc_variable *variable = &family->variables[local->variable];
    tc_part part = part_of(elaborator);
    if (scope->member == SIZE_MAX && local->progress[part] == TC_DONE)
        return local->value[part];
    if (scope->member != SIZE_MAX && local->member == scope->member + 1)
        return local->of_member;
    tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, variable->length);
    for (size_t c = 0; c < variable->length; c++) {
        size_t component = variable->first + c;
        nodes[c] = scope->member == SIZE_MAX ? tc_state(elaborator->dag, scope->block->number, component)
                                             : tc_coord(elaborator->dag, tc_coord_of(family, scope->member, component));
    }
    tc_value value = variable->is_scalar ? tc_value_node(nodes[0]) : tc_value_nodes(nodes, 1, variable->length, 1);
    if (scope->member == SIZE_MAX) {
        local->value[part] = value;
        local->progress[part] = TC_DONE;
    } else {
        local->of_member = value;
        local->member = scope->member + 1;
    }
    return value;
}

/* One rank may know it. */
static double number_of_member(tc_elaborator *elaborator, const tc_scope *scope, const double *values) {
    const tc_family *family = &elaborator->model->families[scope->block->number];
    double number =
        scope->member >= family->known_first && scope->member < family->known_end ? values[scope->member] : 0;
    tc_from_member(family, scope->member, &number, sizeof number);
    return number;
}

static tc_value column_value(tc_elaborator *elaborator, const tc_scope *scope, size_t column) {
    const tc_definition *data = scope->block->data;
    const tc_table_column *facts = &data->table->columns[column];
    tc_part part = part_of(elaborator);
    tc_value value;
    if (!tc_column_has_numbers(elaborator->diagnostics, facts))
        return tc_value_broken();
    if (scope->member == SIZE_MAX && scope->block->column_known[part][column])
        return scope->block->column_values[part][column];
    if (scope->member != SIZE_MAX) {
        double *numbers = TC_NEW(elaborator->arena, double, facts->length);
        for (size_t c = 0; c < facts->length; c++)
            numbers[c] = number_of_member(elaborator, scope, data->table->values[facts->first + c]);
        value = facts->is_vector ? tc_value_numbers(numbers, 1, facts->length, 1) : tc_value_number(numbers[0]);
    } else {
        tc_expr *nodes = TC_NEW(elaborator->arena, tc_expr, facts->length);
        for (size_t c = 0; c < facts->length; c++)
            nodes[c] = tc_data(elaborator->dag, scope->block->number, facts->first + c, data->secrets[column] != NULL);
        value = facts->is_vector ? tc_value_nodes(nodes, 1, facts->length, 1) : tc_value_node(nodes[0]);
    }
    value.secret = data->secrets[column];
    if (scope->member == SIZE_MAX) {
        scope->block->column_values[part][column] = value;
        scope->block->column_known[part][column] = true;
    }
    return value;
}

static tc_value member_index(tc_elaborator *elaborator, const tc_scope *scope) {
    if (scope->member != SIZE_MAX)
        return tc_value_number((double)scope->member + 1);
    tc_agents_block *block = scope->block;
    if (block->index_column == SIZE_MAX) {
        const tc_family *family = &elaborator->model->families[block->number];
        double *values = TC_NEW(elaborator->arena, double, family->count);
        for (size_t k = family->known_first; k < family->known_end; k++)
            values[k] = (double)k + 1;
        tc_expr leaf = tc_new_column(elaborator, block, values, NULL, false);
        block->index_column = (size_t)elaborator->dag->nodes[leaf].u.index;
    }
    return tc_value_node(tc_data(elaborator->dag, block->number, block->index_column, false));
}

tc_value tc_block_name(tc_elaborator *elaborator, const tc_scope *scope, tc_name *name, tc_span span, bool *found) {
    tc_agents_block *block = scope->block;
    *found = true;
    if (block->broken)
        return tc_value_broken();
    for (size_t i = 0; i < block->local_count; i++) {
        if (block->locals[i].name != name)
            continue;
        if (block->locals[i].statement->kind == TC_STATEMENT_COLUMN)
            return local_column(elaborator, scope, &block->locals[i]);
        return block->locals[i].statement->kind == TC_STATEMENT_PARAM
                   ? local_param(elaborator, scope, &block->locals[i], span)
                   : local_state(elaborator, scope, &block->locals[i], span);
    }
    if (name == block->index)
        return member_index(elaborator, scope);
    for (size_t c = 0; block->data != NULL && block->data->table != NULL && c < block->data->table->column_count; c++) {
        if (block->data->columns[c] != name)
            continue;
        if (name->global != NULL && name->global->kind == TC_DEFINES_PARAM) {
            tc_error(elaborator->diagnostics, span, "'%s' is a column of '%s' and also a parameter; rename one",
                     name->text, block->data->name->text);
            tc_note(elaborator->diagnostics, name->global->statement->name_span, "the parameter is defined here");
            return tc_value_broken();
        }
        return column_value(elaborator, scope, c);
    }
    *found = false;
    return tc_value_broken();
}

/* ---- any name --------------------------------------------------------------------------------------------------- */

void tc_add_block_names(tc_elaborator *elaborator, const tc_agents_block *block, const char ***names, size_t *count) {
    for (size_t i = 0; i < block->local_count; i++)
        TC_PUSH(elaborator->arena, *names, *count, block->locals[i].name->text);
    for (size_t c = 0; block->data != NULL && block->data->table != NULL && c < block->data->table->column_count; c++)
        TC_PUSH(elaborator->arena, *names, *count, block->data->columns[c]->text);
    if (block->index != NULL)
        TC_PUSH(elaborator->arena, *names, *count, block->index->text);
}

/* Names that other languages have. */
static const char *known_elsewhere(const char *name) {
    static const struct {
        const char *name, *instead;
    } known[] = {
        {"inf", "; every number is finite: write a bound that is large enough"},
        {"infinity", "; every number is finite: write a bound that is large enough"},
        {"Inf", "; every number is finite: write a bound that is large enough"},
        {"INF", "; every number is finite: write a bound that is large enough"},
        {"Infinity", "; every number is finite: write a bound that is large enough"},
        {"pi", "; write 3.141592653589793"},
        {"e", "; write exp(1), and exp(x) for a power of it"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0)
            return known[i].instead;
    }
    return "";
}

static bool in_block(const tc_elaborator *elaborator) { return part_of(elaborator) == TC_PART_BLOCK; }

static void unknown_name(tc_elaborator *elaborator, const tc_scope *scope, const tc_name *name, tc_span span) {
    const char **names = NULL;
    size_t count = 0;
    for (const tc_scope *s = scope; s != NULL; s = s->outer) {
        if (s->name != NULL)
            TC_PUSH(elaborator->arena, names, count, s->name->text);
        else
            tc_add_block_names(elaborator, s->block, &names, &count);
    }
    for (const tc_definition *d = elaborator->definitions; d != NULL; d = d->next)
        TC_PUSH(elaborator->arena, names, count, d->name->text);
    const char *elsewhere = known_elsewhere(name->text);
    const char *near = elsewhere[0] != '\0' ? elsewhere : tc_did_you_mean(elaborator->arena, name->text, names, count);
    const tc_agents_block *owner = NULL;
    for (size_t b = 0; b < elaborator->model->family_count && near[0] == '\0' && owner == NULL; b++) {
        for (size_t i = 0; i < elaborator->blocks[b].local_count; i++) {
            if (elaborator->blocks[b].locals[i].name == name)
                owner = &elaborator->blocks[b];
        }
    }
    const char *of = owner != NULL ? owner->definition->name->text : "";
    if (owner != NULL && in_block(elaborator))
        near = tc_arena_format(elaborator->arena,
                               "; it belongs to '%s', and an agent's block speaks of its own states alone: bind agents "
                               "together by a 'constraint' outside of the blocks",
                               of);
    else if (owner != NULL && owner->statement->is_family)
        near = tc_arena_format(elaborator->arena, "; it belongs to the family '%s': write sum(%s: %s) or %s[1].%s", of,
                               of, name->text, of, name->text);
    else if (owner != NULL)
        near = tc_arena_format(elaborator->arena, "; it belongs to the agent '%s': write %s.%s", of, of, name->text);
    tc_error(elaborator->diagnostics, span, "there is no '%s' here%s", name->text, near);
}

tc_value tc_elaborate_name(tc_elaborator *elaborator, const tc_scope *scope, tc_name *name, tc_span span) {
    for (const tc_scope *s = scope; s != NULL; s = s->outer) {
        if (s->name != NULL) {
            if (s->name == name)
                return tc_value_number(s->value);
            continue;
        }
        bool found;
        tc_value value = tc_block_name(elaborator, s, name, span, &found);
        if (found)
            return value;
    }
    tc_definition *definition = name->global;
    if (definition == NULL) {
        unknown_name(elaborator, scope, name, span);
        return tc_value_broken();
    }
    if (definition->kind != TC_DEFINES_PARAM) {
        static const char *const kinds[] = {"a parameter", "data", "an agent", "a constraint"};
        tc_error(elaborator->diagnostics, span, "'%s' is %s, not a number or vector%s", name->text,
                 kinds[definition->kind],
                 definition->kind == TC_DEFINES_FAMILY
                     ? tc_arena_format(elaborator->arena, "; name a state of it, as in %s%s.x", name->text,
                                       definition->statement->is_family ? "[1]" : "")
                     : "");
        return tc_value_broken();
    }
    tc_need_definition(elaborator, definition, span);
    return definition->value;
}

tc_agents_block *tc_block_named(tc_elaborator *elaborator, tc_name *name, tc_span span) {
    if (name->global != NULL && name->global->kind == TC_DEFINES_FAMILY) {
        tc_need_definition(elaborator, name->global, span);
        return name->global->block;
    }
    const char **names = TC_NEW(elaborator->arena, const char *, elaborator->model->family_count);
    for (size_t b = 0; b < elaborator->model->family_count; b++)
        names[b] = elaborator->blocks[b].definition->name->text;
    tc_error(elaborator->diagnostics, span, "there is no agent or family called '%s'%s", name->text,
             tc_did_you_mean(elaborator->arena, name->text, names, elaborator->model->family_count));
    return NULL;
}

bool tc_refuse_foreign(tc_elaborator *elaborator, const tc_scope *scope, const tc_agents_block *block,
                       const tc_value *value, tc_span span) {
    const tc_scope *general = tc_general_scope(scope);
    /* Reached from outside, it is one member's: of a family, no other's. */
    bool is_other =
        general != NULL && (general->block != block || elaborator->model->families[block->number].count > 1);
    if (value->broken || value->secret == NULL || !(elaborator->in_private_param || is_other))
        return false;
    const char *owner = block->definition->name->text;
    tc_error(elaborator->diagnostics, span, "'%s' is private to %s'%s': no parameter and no other agent may use it",
             value->secret->name, block->statement->is_family ? "each member of " : "", owner);
    tc_note(elaborator->diagnostics, value->secret->span, "it is declared private here");
    return true;
}

/* agent.name and family[k].name */
tc_value tc_elaborate_member_name(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree) {
    const tc_tree *base = tree->items[0];
    const tc_tree *agent = base->kind == TC_TREE_INDEX ? base->items[0] : base;
    if (agent->kind != TC_TREE_NAME || (base->kind == TC_TREE_INDEX && base->count != 2)) {
        tc_error(elaborator->diagnostics, base->span, "expected an agent before the dot, as in depot.x or home[3].x");
        return tc_value_broken();
    }
    tc_agents_block *block = tc_block_named(elaborator, agent->name, agent->span);
    if (block == NULL || block->broken)
        return tc_value_broken();
    bool is_family = block->statement->is_family;
    if (is_family != (base->kind == TC_TREE_INDEX)) {
        tc_error(elaborator->diagnostics, base->span,
                 is_family ? "'%s' is a family: write %s[1].%s for one member, or sum(%s: %s)"
                           : "'%s' is one agent: write %s.%s",
                 agent->name->text, agent->name->text, tree->name->text, agent->name->text, tree->name->text);
        return tc_value_broken();
    }
    double member = 1;
    size_t count = elaborator->model->families[block->number].count;
    if (is_family &&
        !tc_elaborate_whole(elaborator, scope, base->items[1], "the number of a member", 1, (double)count, &member))
        return tc_value_broken();
    tc_scope fixed = {.block = block, .member = (size_t)member - 1};
    bool found;
    tc_value value = tc_block_name(elaborator, &fixed, tree->name, tree->name_span, &found);
    if (!found) {
        const char **names = NULL;
        size_t name_count = 0;
        tc_add_block_names(elaborator, block, &names, &name_count);
        tc_error(elaborator->diagnostics, tree->name_span, "'%s' has no '%s'%s", agent->name->text, tree->name->text,
                 tc_did_you_mean(elaborator->arena, tree->name->text, names, name_count));
        return tc_value_broken();
    }
    if (tc_refuse_foreign(elaborator, scope, block, &value, tree->span))
        return tc_value_broken();
    if (!value.broken && tc_general_scope(scope) != NULL && tc_value_has_state(&elaborator->values, &value)) {
        tc_error(elaborator->diagnostics, tree->span,
                 in_block(elaborator)
                     ? "a state of another agent cannot be used inside a block: bind agents together by a 'constraint' "
                       "outside of the blocks"
                     : "a state of another agent cannot be used inside a sum over agents; move it outside of the sum");
        return tc_value_broken();
    }
    return value;
}

/* ---- Expressions of data alone, evaluated once for every member -------------------------------------------------- */

enum { LANES = 256 };

static int by_number(const void *a, const void *b) {
    tc_expr x = *(const tc_expr *)a, y = *(const tc_expr *)b;
    return (x > y) - (x < y);
}

static void prepare_walk(tc_elaborator *elaborator) {
    if (elaborator->stamp_count >= elaborator->dag->count)
        return;
    elaborator->stamp_count = elaborator->dag->count * 2;
    elaborator->stamps = TC_NEW(elaborator->arena, uint32_t, elaborator->stamp_count);
    elaborator->places = TC_NEW(elaborator->arena, uint32_t, elaborator->stamp_count);
    elaborator->stamp = 0;
}

tc_expr *tc_nodes_under(tc_elaborator *elaborator, tc_expr root, size_t *count) {
    const tc_dag *dag = elaborator->dag;
    prepare_walk(elaborator);
    uint32_t stamp = ++elaborator->stamp;
    tc_expr *nodes = NULL;
    *count = 0;
    elaborator->stamps[root] = stamp;
    TC_PUSH(elaborator->arena, nodes, *count, root);
    /* The list is its own queue: what stands after i is still to be looked into. */
    for (size_t i = 0; i < *count; i++) {
        for (size_t k = 0; k < tc_operand_count(dag, nodes[i]); k++) {
            tc_expr child = tc_operand(dag, nodes[i], k);
            if (elaborator->stamps[child] == stamp)
                continue;
            elaborator->stamps[child] = stamp;
            TC_PUSH(elaborator->arena, nodes, *count, child);
        }
    }
    qsort(nodes, *count, sizeof *nodes, by_number);
    for (size_t i = 0; i < *count; i++)
        elaborator->places[nodes[i]] = (uint32_t)i;
    return nodes;
}

static double huber(double a, double threshold) {
    return fabs(a) <= threshold ? a * a / 2 : threshold * (fabs(a) - threshold / 2);
}

static double log_sum_exp(const tc_node *n, const tc_expr *arguments, const double *work, const uint32_t *place,
                          size_t lane) {
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n->b; i++)
        largest = fmax(largest, work[place[arguments[i]] * LANES + lane]);
    for (size_t i = 0; i < n->b; i++)
        sum += exp(work[place[arguments[i]] * LANES + lane] - largest);
    return largest + log(sum);
}

static double apply(const tc_node *n, double a, double b) {
    switch ((tc_op)n->op) {
    case TC_CONST:
        return n->u.value;
    case TC_STATE:
        return 0; /* only where every factor of it is 0: tc_is_without_states */
    case TC_ADD:
        return a + b;
    case TC_SUB:
        return a - b;
    case TC_MUL:
        return a * b;
    case TC_DIV:
        return a / b;
    case TC_NEG:
        return -a;
    case TC_POWI:
        return n->u.exponent == 2 ? a * a : pow(a, (double)n->u.exponent);
    case TC_POWR:
        return pow(a, n->u.value);
    case TC_EXP:
        return exp(a);
    case TC_LOG:
        return log(a);
    case TC_SQRT:
        return sqrt(a);
    case TC_HUBER:
        return huber(a, b);
    case TC_POWD:
        return pow(a, b);
    case TC_ABS:
        return fabs(a);
    case TC_MAX:
        return a > b ? a : b;
    case TC_DATA:
    case TC_LSE:
        break; /* handled by the caller */
    case TC_COORD:
    case TC_SUM:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_NORM: /* made of states only; roots of squares of data are roots */
    case TC_DIRECTION:
    case TC_BEND:
        break; /* not in an expression of data */
    }
    return NAN;
}

/* Values of the nodes for members first .. first + lanes - 1. place: where a node's lanes are in work. */
static void evaluate(const tc_dag *dag, const tc_family *family, const tc_expr *nodes, size_t count,
                     const uint32_t *place, double *work, size_t first, size_t lanes) {
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &dag->nodes[nodes[i]];
        double *out = work + i * LANES;
        if (n->op == TC_DATA) {
            memcpy(out, family->columns[n->u.index].values + first, lanes * sizeof *out);
            continue;
        }
        size_t operands = n->op == TC_LSE ? 0 : tc_operand_count(dag, nodes[i]);
        const double *a = operands > 0 ? work + place[tc_operand(dag, nodes[i], 0)] * LANES : out;
        const double *b = operands > 1 ? work + place[tc_operand(dag, nodes[i], 1)] * LANES : out;
        for (size_t lane = 0; lane < lanes; lane++)
            out[lane] =
                n->op == TC_LSE ? log_sum_exp(n, dag->arguments + n->a, work, place, lane) : apply(n, a[lane], b[lane]);
    }
}

tc_coef tc_coef_of(tc_elaborator *elaborator, const tc_agents_block *block, tc_expr expression) {
    const tc_dag *dag = elaborator->dag;
    const tc_node *root = &dag->nodes[expression];
    const tc_family *family = &elaborator->model->families[block->number];
    if (root->op == TC_CONST)
        return (tc_coef){.value = root->u.value};
    if (root->op == TC_DATA)
        return (tc_coef){.column = family->columns[root->u.index].values, .made_of = expression + 1};
    size_t end = tc_end_known(family, root->has_data);
    double *column = TC_NEW(elaborator->arena, double, root->has_data ? family->count : 1);
    prepare_walk(elaborator); /* before the mark: it outlives this function */
    tc_mark mark = tc_arena_mark(elaborator->arena);
    size_t count;
    tc_expr *nodes = tc_nodes_under(elaborator, expression, &count);
    double *work = TC_NEW(elaborator->arena, double, count *LANES);
    for (size_t first = tc_first_known(family, root->has_data); first < end; first += LANES) {
        size_t lanes = end - first < LANES ? end - first : LANES;
        evaluate(dag, family, nodes, count, elaborator->places, work, first, lanes);
        memcpy(column + first, work + (count - 1) * LANES, lanes * sizeof *column);
    }
    tc_arena_rewind(elaborator->arena, mark);
    return root->has_data ? (tc_coef){.column = column, .made_of = expression + 1} : (tc_coef){.value = column[0]};
}

void tc_demand_of(tc_elaborator *elaborator, const tc_agents_block *block, tc_expr node, tc_demand_kind kind,
                  tc_span span) {
    tc_family *family = &elaborator->model->families[block->number];
    tc_demand demand = {node, kind, span};
    if (elaborator->dag->nodes[node].is_private)
        TC_PUSH(elaborator->arena, family->demands, family->demand_count, demand);
}

/* ---- terms whose coefficients are all 0 -------------------------------------------------------------------------- */

typedef struct idle_walk {
    tc_elaborator *elaborator;
    const tc_family *family;
    const tc_expr *nodes; /* under the root, increasing */
    size_t count;
    bool *moves;   /* by place in nodes: with a state of some member */
    bool *is_zero; /* for every member and all states */
} idle_walk;

static size_t place_of(const idle_walk *w, tc_expr e) {
    return (size_t)((const tc_expr *)bsearch(&e, w->nodes, w->count, sizeof e, by_number) - w->nodes);
}

/* Whether an expression of data is 0 for all members, or for some. */
static bool has_zero(const idle_walk *w, tc_expr e, bool for_all) {
    tc_elaborator *elaborator = w->elaborator;
    bool varies = elaborator->dag->nodes[e].has_data;
    size_t count, end = tc_end_known(w->family, varies);
    tc_mark mark = tc_arena_mark(elaborator->arena);
    const tc_expr *nodes = tc_nodes_under(elaborator, e, &count);
    double *work = TC_NEW(elaborator->arena, double, count *LANES), *last = work + (count - 1) * LANES;
    bool zero = for_all;
    for (size_t first = tc_first_known(w->family, varies); first < end && zero == for_all; first += LANES) {
        size_t lanes = end - first < LANES ? end - first : LANES;
        evaluate(elaborator->dag, w->family, nodes, count, elaborator->places, work, first, lanes);
        for (size_t lane = 0; lane < lanes && zero == for_all; lane++)
            zero = last[lane] == 0;
    }
    tc_arena_rewind(elaborator->arena, mark);
    return for_all ? tc_for_all(w->family, zero) : tc_for_some(w->family, zero);
}

static bool is_zero(const idle_walk *w, tc_expr e) {
    return w->elaborator->dag->nodes[e].has_state ? w->is_zero[place_of(w, e)] : has_zero(w, e, true);
}

/* Of what has a state. 0 log(x) is not 0 everywhere. */
static bool is_product_with_zero(const idle_walk *w, const tc_node *n) {
    const tc_node *nodes = w->elaborator->dag->nodes;
    if (n->op == TC_NEG)
        return is_zero(w, n->a);
    if (n->op == TC_ADD || n->op == TC_SUB)
        return is_zero(w, n->a) && is_zero(w, n->b);
    if (n->op == TC_MUL)
        return (!nodes[n->b].is_partial && is_zero(w, n->a)) || (!nodes[n->a].is_partial && is_zero(w, n->b));
    if (n->op == TC_DIV)
        return !nodes[n->b].has_state && !has_zero(w, n->b, false) && is_zero(w, n->a);
    return false;
}

static void look_at_node(idle_walk *w, size_t at) {
    const tc_dag *dag = w->elaborator->dag;
    const tc_node *n = &dag->nodes[w->nodes[at]];
    if (!n->has_state)
        return;
    w->is_zero[at] = is_product_with_zero(w, n);
    w->moves[at] = n->op == TC_STATE || n->op == TC_NORM; /* apply does not know norms */
    for (size_t i = 0; i < tc_operand_count(dag, w->nodes[at]); i++)
        w->moves[at] = w->moves[at] || w->moves[place_of(w, tc_operand(dag, w->nodes[at], i))];
    w->moves[at] = w->moves[at] && !w->is_zero[at];
}

bool tc_is_without_states(tc_elaborator *elaborator, const tc_agents_block *block, tc_expr expression) {
    const tc_node *root = &elaborator->dag->nodes[expression];
    if (!root->has_state || !root->has_data)
        return !root->has_state;
    prepare_walk(elaborator); /* before the mark: it outlives this function */
    tc_mark mark = tc_arena_mark(elaborator->arena);
    idle_walk w = {.elaborator = elaborator, .family = &elaborator->model->families[block->number]};
    w.nodes = tc_nodes_under(elaborator, expression, &w.count);
    w.moves = TC_NEW(elaborator->arena, bool, w.count);
    w.is_zero = TC_NEW(elaborator->arena, bool, w.count);
    for (size_t i = 0; i < w.count; i++)
        look_at_node(&w, i);
    bool moves = w.moves[w.count - 1];
    tc_arena_rewind(elaborator->arena, mark);
    return !moves;
}

tc_coef tc_coef_of_value(tc_elaborator *elaborator, const tc_agents_block *block, const tc_value *value, size_t i) {
    if (value->is_number)
        return (tc_coef){.value = tc_value_number_at(value, value->rank == 0 ? 0 : i)};
    return tc_coef_of(elaborator, block, tc_value_node_at(&elaborator->values, value, i));
}

tc_expr tc_new_column(tc_elaborator *elaborator, tc_agents_block *block, const double *values, const tc_value *source,
                      bool is_private) {
    tc_family *family = &elaborator->model->families[block->number];
    if (family->column_count == block->column_capacity) {
        size_t capacity = block->column_capacity == 0 ? 8 : block->column_capacity * 2;
        family->columns =
            tc_arena_grow(elaborator->arena, family->columns, family->column_count, capacity, sizeof *family->columns);
        block->column_capacity = capacity;
    }
    tc_column column = {.values = values, .is_private = is_private};
    if (source != NULL && !source->is_number) {
        size_t count = tc_value_count(source);
        tc_expr *made_of = TC_NEW(elaborator->arena, tc_expr, count);
        for (size_t i = 0; i < count; i++)
            made_of[i] = source->rank == 0 ? source->node : source->nodes[i];
        column.made_of = made_of;
        column.made_of_count = count;
    }
    family->columns[family->column_count] = column;
    return tc_data(elaborator->dag, block->number, family->column_count++, is_private);
}
