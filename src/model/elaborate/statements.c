/* Statements outside of blocks: shared constraints (each an outer expression that must be <= 0 or == 0), and settings.
 */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct constraint_reader {
    tc_elaborator *elaborator;
    const tc_statement *statement;
    const tc_scope *scope;
    bool is_part;  /* of a line that makes several rows: each has a number */
    size_t before; /* rows of the line before this part */
} constraint_reader;

typedef struct row_place { /* of a constraint among those of its line; 0 for none */
    size_t element;        /* of a vector relation */
    size_t part;           /* of a relation that became several rows */
} row_place;

/* "feeder", "feeder[3]", "link[2,7]" */
static const char *constraint_name(const constraint_reader *reader, row_place place) {
    tc_buffer name = tc_buffer_new(reader->elaborator->arena, 1 << 16);
    const tc_scope *scopes[16];
    size_t count = 0;
    for (const tc_scope *s = reader->scope; s != NULL; s = s->outer)
        scopes[count++] = s;
    tc_buffer_puts(&name, reader->statement->name->text);
    const char *separator = "[";
    for (; count > 0; count--, separator = ",")
        tc_buffer_printf(&name, "%s%.17g", separator, scopes[count - 1]->value);
    const size_t numbers[] = {place.element, place.part};
    for (size_t i = 0; i < 2; i++)
        if (numbers[i] > 0) {
            tc_buffer_printf(&name, "%s%zu", separator, numbers[i]);
            separator = ",";
        }
    if (separator[0] == ',')
        tc_buffer_puts(&name, "]");
    return tc_buffer_text(&name);
}

/* A constraint on which no state has an effect holds or does not, whatever the agents do. */
static void check_constant(const constraint_reader *reader, tc_expr outer, const char *name, tc_span span) {
    tc_elaborator *elaborator = reader->elaborator;
    if (elaborator->dag->nodes[outer].has_state || elaborator->model->family_count == 0)
        return;
    double value = tc_coef_of(elaborator, &elaborator->blocks[0], outer).value;
    tc_relation relation = reader->statement->relation;
    bool left = (relation == TC_RELATION_GREATER) != (value > 0); /* is larger */
    if (value > 0 || (relation == TC_RELATION_EQUAL && value != 0))
        tc_error(elaborator->diagnostics, span,
                 "no point satisfies constraint '%s': no state has an effect on it, and its %s side exceeds its %s "
                 "side by %.6g",
                 name, left ? "left" : "right", left ? "right" : "left", fabs(value));
}

/* The two sides of a relation, as written. */
typedef struct sides {
    tc_value left, right;
} sides;

/* Whether a side is a number; a vector has one for each element. */
static bool is_number_at(tc_elaborator *elaborator, const tc_value *side, size_t i, double *number) {
    size_t at = side->rank == 0 ? 0 : i;
    if (side->is_number) {
        *number = tc_value_number_at(side, at);
        return true;
    }
    const tc_node *node = &elaborator->dag->nodes[tc_value_node_at(&elaborator->values, side, at)];
    if (node->op == TC_CONST)
        *number = node->u.value;
    return node->op == TC_CONST;
}

/* The number that the other side is compared with. */
static double limit_of(tc_elaborator *elaborator, const sides *of, size_t i) {
    double number;
    return is_number_at(elaborator, &of->right, i, &number) || is_number_at(elaborator, &of->left, i, &number)
               ? number
               : (double)NAN;
}

static void add_constraint(const constraint_reader *reader, tc_expr outer, double limit, row_place place) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_model *model = elaborator->model;
    tc_span span = tc_span_join(reader->statement->value->span, reader->statement->other->span);
    if (model->constraint_count == elaborator->constraint_capacity) {
        size_t capacity = elaborator->constraint_capacity == 0 ? 16 : elaborator->constraint_capacity * 2;
        model->constraints = tc_arena_grow(elaborator->arena, model->constraints, model->constraint_count, capacity,
                                           sizeof *model->constraints);
        elaborator->constraint_capacity = capacity;
    }
    const char *name = constraint_name(reader, place);
    check_constant(reader, outer, name, span);
    model->constraints[model->constraint_count++] =
        (tc_constraint){.name = name,
                        .outer = outer,
                        .span = span,
                        .is_equality = reader->statement->relation == TC_RELATION_EQUAL,
                        .limit = limit};
}

/* Whether every node under root is affine in the states; *culprit is one that is not. Bodies of sums are looked into.
 */
static bool is_affine(tc_elaborator *elaborator, tc_expr root, tc_expr *culprit) {
    const tc_dag *dag = elaborator->dag;
    size_t count;
    tc_expr *nodes = tc_nodes_under(elaborator, root, &count);
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &dag->nodes[nodes[i]];
        bool sum_or_leaf = n->op == TC_ADD || n->op == TC_SUB || n->op == TC_NEG || n->op == TC_STATE ||
                           n->op == TC_COORD || n->op == TC_SUM;
        bool scaled = (n->op == TC_MUL && !(dag->nodes[n->a].has_state && dag->nodes[n->b].has_state)) ||
                      (n->op == TC_DIV && !dag->nodes[n->b].has_state);
        *culprit = nodes[i];
        if (n->has_state && !sum_or_leaf && !scaled)
            return false;
        if (n->op == TC_SUM && !is_affine(elaborator, elaborator->model->sums[n->u.index].body, culprit))
            return false;
    }
    return true;
}

static bool check_equality(const constraint_reader *reader, const tc_value *difference, tc_span span) {
    tc_elaborator *elaborator = reader->elaborator;
    for (size_t i = 0; i < tc_value_count(difference); i++) {
        tc_expr culprit, node = tc_value_node_at(&elaborator->values, difference, i);
        if (is_affine(elaborator, node, &culprit))
            continue;
        tc_span at = elaborator->dag->spans[culprit];
        tc_error(elaborator->diagnostics, at.length > 0 ? at : span,
                 "an equality must be affine in the states, or the problem is not convex; for a curved function, "
                 "write <= or >=");
        return false;
    }
    return true;
}

/* Without kinks, where the line has any. */
static bool add_smooth(const constraint_reader *reader, tc_expr outer, double limit, size_t element, bool has_kinks) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_span span = tc_span_join(reader->statement->value->span, reader->statement->other->span);
    size_t count = 1;
    tc_expr *rows = has_kinks ? tc_rows_without_kinks(elaborator, outer, span, &count) : &outer;
    for (size_t r = 0; rows != NULL && r < count; r++) {
        rows[r] = tc_row_without_norm(elaborator, rows[r], span);
        if (rows[r] == TC_NO_EXPR)
            return false;
        add_constraint(reader, rows[r], limit, (row_place){element, count > 1 ? r + 1 : 0});
    }
    return rows != NULL;
}

static bool elaborate_one(const constraint_reader *reader) {
    tc_elaborator *elaborator = reader->elaborator;
    size_t kinks = elaborator->kinks;
    const tc_statement *s = reader->statement;
    tc_value left = tc_elaborate_tree(elaborator, reader->scope, s->value);
    tc_value right = tc_elaborate_tree(elaborator, reader->scope, s->other);
    bool good = tc_must_be_public(elaborator, &left, s->value->span, "a constraint");
    good = tc_must_be_public(elaborator, &right, s->other->span, "a constraint") && good;
    if (!good)
        return false;
    tc_span span = tc_span_join(s->value->span, s->other->span);
    elaborator->dag->origin = span;
    tc_value difference = s->relation == TC_RELATION_GREATER
                              ? tc_value_compare(&elaborator->values, &right, &left, span)
                              : tc_value_compare(&elaborator->values, &left, &right, span);
    if (difference.broken)
        return false;
    if (difference.rank == 2) {
        tc_error(elaborator->diagnostics, span, "a constraint compares numbers or vectors, but this is %s",
                 tc_shape_text(elaborator->arena, &difference));
        return false;
    }
    if (s->relation == TC_RELATION_EQUAL && !check_equality(reader, &difference, span))
        return false;
    const sides written = {left, right};
    bool is_one = difference.rank == 0 && !reader->is_part;
    for (size_t i = 0; i < tc_value_count(&difference); i++) {
        tc_expr outer = tc_value_node_at(&elaborator->values, &difference, i);
        double limit = limit_of(elaborator, &written, i);
        if (!add_smooth(reader, outer, limit, is_one ? 0 : reader->before + i + 1, elaborator->kinks > kinks))
            return false;
    }
    return true;
}

/* a <= b <= c: the rows of a <= b, then those of b <= c, numbered on. */
static bool elaborate_chain(const constraint_reader *reader) {
    const tc_statement *s = reader->statement;
    if (s->third == NULL)
        return elaborate_one(reader);
    size_t first = reader->elaborator->model->constraint_count;
    tc_statement half = *s;
    constraint_reader part = {reader->elaborator, &half, reader->scope, .is_part = true};
    if (!elaborate_one(&part))
        return false;
    half.value = s->other;
    half.other = s->third;
    part.before = reader->elaborator->model->constraint_count - first;
    return elaborate_one(&part);
}

static bool elaborate_indices(const constraint_reader *reader, size_t b) {
    tc_elaborator *elaborator = reader->elaborator;
    const tc_statement *s = reader->statement;
    if (b == s->binder_count)
        return elaborate_chain(reader);
    double first, last;
    if (!tc_elaborate_range(elaborator, reader->scope, &s->binders[b], &first, &last))
        return false;
    for (double i = first; i <= last; i++) {
        tc_count_expansion(elaborator, 1, s->name_span);
        tc_scope inner = {.outer = reader->scope, .name = s->binders[b].name, .value = i};
        constraint_reader next = {.elaborator = elaborator, .statement = s, .scope = &inner};
        if (!elaborate_indices(&next, b + 1))
            return false;
    }
    return true;
}

void tc_elaborate_constraint(tc_elaborator *elaborator, tc_definition *definition) {
    constraint_reader reader = {.elaborator = elaborator, .statement = definition->statement};
    definition->first = elaborator->model->constraint_count;
    elaborator->no_states = NULL;
    if (!elaborate_indices(&reader, 0))
        elaborator->dropped = true;
    definition->count = elaborator->model->constraint_count - definition->first;
}

/* ---- Declared constants, the dual radius, privacy, budget, schedule and starting multipliers --------------------- */

static double positive(tc_elaborator *elaborator, const tc_tree *tree, const char *what) {
    double value = tc_elaborate_number(elaborator, NULL, tree, what);
    if (isnan(value) || value > 0)
        return value;
    tc_error(elaborator->diagnostics, tree->span, "%s must be positive, but this is %.17g", what, value);
    return NAN;
}

size_t tc_setting_key(tc_elaborator *elaborator, const tc_word *key, const char *const *known, size_t count,
                      const char *where) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i], key->name->text) == 0)
            return i;
    }
    tc_error(elaborator->diagnostics, key->span, "%s has no '%s'%s", where, key->name->text,
             tc_did_you_mean(elaborator->arena, key->name->text, known, count));
    return SIZE_MAX;
}

bool tc_check_setting(tc_elaborator *elaborator, const tc_setting *setting, bool decays, bool *seen) {
    if (*seen) {
        tc_error(elaborator->diagnostics, setting->key.span, "'%s' is set twice", setting->key.name->text);
        return false;
    }
    *seen = true;
    if (setting->decay != NULL && !decays) {
        tc_error(elaborator->diagnostics, setting->decay->span, "'%s' does not change with k", setting->key.name->text);
        return false;
    }
    return true;
}

/* ---- privacy ---------------------------------------------------------------------------------------------------- */

static void set_mechanism(tc_elaborator *elaborator, const tc_setting *setting) {
    static const char *const names[] = {"none", "laplace", "gaussian"};
    if (setting->word.name == NULL || setting->value != NULL) {
        tc_error(elaborator->diagnostics, setting->span, "a mechanism is one of none, laplace, gaussian");
        return;
    }
    size_t found =
        tc_setting_key(elaborator, &setting->word, names, 3, "the list of mechanisms (none, laplace, gaussian)");
    if (found != SIZE_MAX)
        elaborator->model->privacy.mechanism = (tc_mechanism)(TC_MECHANISM_NONE + found);
}

static void set_adjacency(tc_elaborator *elaborator, const tc_setting *setting) {
    static const char *const names[] = {"ensemble", "one", "agent", "data"};
    static const tc_adjacency units[] = {TC_ADJACENCY_ENSEMBLE, TC_ADJACENCY_ONE, TC_ADJACENCY_AGENT,
                                         TC_ADJACENCY_DATA};
    enum { UNITS = 4 };
    tc_privacy *privacy = &elaborator->model->privacy;
    privacy->adjacency = TC_ADJACENCY_BARE;
    if (setting->word.name != NULL) {
        size_t found = 0;
        while (found < UNITS && strcmp(names[found], setting->word.name->text) != 0)
            found++;
        if (found == UNITS && setting->value == NULL) {
            /* A single name may also be a parameter. */
            tc_tree name = {.kind = TC_TREE_NAME, .span = setting->word.span, .name = setting->word.name};
            privacy->adjacency_bound = positive(elaborator, &name, "an adjacency bound");
            return;
        }
        if (found == UNITS) {
            (void)tc_setting_key(elaborator, &setting->word, names, UNITS, "adjacency");
            return;
        }
        privacy->adjacency = units[found];
    }
    if (privacy->adjacency == TC_ADJACENCY_AGENT && setting->value != NULL)
        privacy->adjacency = TC_ADJACENCY_WITHIN;
    bool has_bound = privacy->adjacency != TC_ADJACENCY_AGENT && privacy->adjacency != TC_ADJACENCY_DATA;
    if (has_bound != (setting->value != NULL)) {
        tc_error(elaborator->diagnostics, setting->span,
                 has_bound
                     ? "this adjacency needs a bound, as in 'adjacency one 1'"
                     : "adjacency data has no bound: 'protect need by 5' in the agents' blocks says what is hidden");
        return;
    }
    if (has_bound)
        privacy->adjacency_bound = positive(elaborator, setting->value, "an adjacency bound");
}

static void check_delta(tc_elaborator *elaborator, const tc_setting *setting, double *delta) {
    if (!(*delta >= 1))
        return;
    tc_error(elaborator->diagnostics, setting->value->span, "delta must be below 1");
    *delta = NAN;
}

static void elaborate_privacy(tc_elaborator *elaborator, const tc_statement *statement) {
    static const char *const keys[] = {"mechanism", "epsilon", "delta", "adjacency"};
    tc_privacy *privacy = &elaborator->model->privacy;
    bool seen[4] = {false};
    privacy->span = statement->span;
    for (size_t i = 0; i < statement->setting_count; i++) {
        const tc_setting *setting = &statement->settings[i];
        size_t key = tc_setting_key(elaborator, &setting->key, keys, 4, "privacy");
        if (key == SIZE_MAX || !tc_check_setting(elaborator, setting, false, &seen[key]))
            continue;
        if (key == 0)
            set_mechanism(elaborator, setting);
        else if (key == 1)
            privacy->epsilon = positive(elaborator, setting->value, "epsilon");
        else if (key == 2)
            privacy->delta = positive(elaborator, setting->value, "delta");
        else
            set_adjacency(elaborator, setting);
        if (key == 2)
            check_delta(elaborator, setting, &privacy->delta);
    }
}

static void elaborate_budget(tc_elaborator *elaborator, const tc_statement *statement) {
    static const char *const keys[] = {"epsilon", "delta"};
    tc_budget *budget = &elaborator->model->budget;
    bool seen[2] = {false};
    budget->span = statement->span;
    for (size_t i = 0; i < statement->setting_count; i++) {
        const tc_setting *setting = &statement->settings[i];
        size_t key = tc_setting_key(elaborator, &setting->key, keys, 2, "budget");
        if (key == SIZE_MAX || !tc_check_setting(elaborator, setting, false, &seen[key]))
            continue;
        *(key == 0 ? &budget->epsilon : &budget->delta) = positive(elaborator, setting->value, keys[key]);
        if (key == 1)
            check_delta(elaborator, setting, &budget->delta);
    }
    if (!seen[0])
        tc_error(elaborator->diagnostics, statement->span, "a budget has an epsilon, as in 'budget { epsilon 4 }'");
}

/* ---- schedule --------------------------------------------------------------------------------------------------- */

static void set_decaying(tc_elaborator *elaborator, const tc_setting *setting, double *value, double *decay) {
    *value = positive(elaborator, setting->value, setting->key.name->text);
    *decay = setting->decay != NULL ? tc_elaborate_number(elaborator, NULL, setting->decay, "a power of k") : 0;
    if (*decay < 0)
        tc_error(elaborator->diagnostics, setting->decay->span,
                 "steps must not grow: expected k^-c with c not negative");
}

static void elaborate_schedule(tc_elaborator *elaborator, const tc_statement *statement) {
    static const char *const keys[] = {"alpha", "gamma", "rounds"};
    tc_schedule *schedule = &elaborator->model->schedule;
    bool seen[3] = {false};
    schedule->span = statement->span;
    for (size_t i = 0; i < statement->setting_count; i++) {
        const tc_setting *setting = &statement->settings[i];
        size_t key = tc_setting_key(elaborator, &setting->key, keys, 3, "schedule");
        if (key == SIZE_MAX || !tc_check_setting(elaborator, setting, key < 2, &seen[key]))
            continue;
        if (key == 0)
            set_decaying(elaborator, setting, &schedule->regularization, &schedule->regularization_decay);
        else if (key == 1)
            set_decaying(elaborator, setting, &schedule->step, &schedule->step_decay);
        else if (!tc_elaborate_whole(elaborator, NULL, setting->value, "the number of rounds", 1, 0x1p48 - 1,
                                     &schedule->rounds))
            schedule->rounds = NAN;
    }
}

/* ---- declared constants ----------------------------------------------------------------------------------------- */

static tc_coef declared_coef(tc_elaborator *elaborator, tc_agents_block *block, const tc_tree *tree) {
    tc_scope scope = {.block = block, .member = SIZE_MAX};
    elaborator->no_states = "a declared Lipschitz number";
    tc_value value = tc_elaborate_tree(elaborator, block != NULL ? &scope : NULL, tree);
    elaborator->no_states = NULL;
    tc_coef *coef = NULL;
    if (tc_must_be_public(elaborator, &value, tree->span, "a declared constant"))
        coef = tc_elaborate_coefs(elaborator, block != NULL ? block : elaborator->blocks, &value, 1, tree->span,
                                  "a declared constant");
    if (coef == NULL)
        return (tc_coef){.value = NAN};
    const tc_family *family = &elaborator->model->families[block != NULL ? block->number : 0];
    bool varies = coef->column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        good = tc_coef_at(*coef, k) >= 0;
        if (!good)
            tc_error(elaborator->diagnostics, tree->span,
                     "a Lipschitz constant must not be negative, but this is %.17g", tc_coef_at(*coef, k));
    }
    return tc_agreed(elaborator->diagnostics, family, before, good) ? *coef : (tc_coef){.value = NAN};
}

static void declare_norms(tc_elaborator *elaborator, const tc_statement *statement, tc_agents_block *block,
                          tc_coef constants[2]) {
    static const char *const keys[] = {"l1", "l2"};
    bool seen[2] = {false};
    for (size_t i = 0; i < statement->setting_count; i++) {
        const tc_setting *setting = &statement->settings[i];
        size_t key = tc_setting_key(elaborator, &setting->key, keys, 2, "a declaration of constants");
        if (key != SIZE_MAX && tc_check_setting(elaborator, setting, false, &seen[key]))
            constants[key] = declared_coef(elaborator, block, setting->value);
    }
}

static void elaborate_declare(tc_elaborator *elaborator, const tc_statement *statement) {
    tc_model *model = elaborator->model;
    if (strcmp(statement->name->text, "constraints") == 0) {
        tc_coef constants[2] = {{.value = NAN}, {.value = NAN}};
        declare_norms(elaborator, statement, NULL, constants);
        model->declared_constraints[0] = constants[0].value;
        model->declared_constraints[1] = constants[1].value;
        model->declared_span = statement->span;
        return;
    }
    bool is_objective = strcmp(statement->name->text, "objective") == 0;
    for (size_t w = 0; w < statement->word_count; w++) {
        tc_agents_block *block = tc_block_named(elaborator, statement->words[w].name, statement->words[w].span);
        if (block == NULL || block->broken)
            continue;
        tc_family *family = &model->families[block->number];
        if (is_objective)
            family->declared_objective = declared_coef(elaborator, block, statement->value);
        else
            declare_norms(elaborator, statement, block, family->declared_jacobian);
        family->declared_span = statement->span;
    }
}

/* ---- multipliers ------------------------------------------------------------------------------------------------ */

static void elaborate_start(tc_elaborator *elaborator, const tc_statement *statement) {
    tc_model *model = elaborator->model;
    tc_definition *definition = statement->name->global;
    size_t first = 0, count = model->constraint_count;
    if (strcmp(statement->name->text, "multipliers") != 0) {
        if (definition == NULL || definition->kind != TC_DEFINES_CONSTRAINT) {
            const char **names = NULL;
            size_t name_count = 0;
            for (const tc_definition *d = elaborator->definitions; d != NULL; d = d->next) {
                if (d->kind == TC_DEFINES_CONSTRAINT)
                    TC_PUSH(elaborator->arena, names, name_count, d->name->text);
            }
            tc_error(elaborator->diagnostics, statement->name_span, "there is no constraint '%s'%s",
                     statement->name->text,
                     tc_did_you_mean(elaborator->arena, statement->name->text, names, name_count));
            return;
        }
        first = definition->first;
        count = definition->count;
    }
    double index = 0;
    if (statement->length != NULL) {
        if (!tc_elaborate_whole(elaborator, NULL, statement->length, "the number of a constraint", 1, (double)count,
                                &index))
            return;
        first += (size_t)index - 1;
        count = 1;
    }
    elaborator->no_states = "a start";
    tc_value value = tc_elaborate_tree(elaborator, NULL, statement->value);
    elaborator->no_states = NULL;
    if (!tc_must_be_public(elaborator, &value, statement->value->span, "a multiplier") || count == 0)
        return;
    tc_coef *coefs = tc_elaborate_coefs(elaborator, elaborator->blocks, &value, count, statement->value->span,
                                        "the start of multipliers");
    for (size_t i = 0; coefs != NULL && i < count; i++) {
        model->start_multipliers[first + i] = coefs[i].value;
        if (coefs[i].value < 0 && !model->constraints[first + i].is_equality) {
            tc_error(elaborator->diagnostics, statement->value->span,
                     "a multiplier must not be negative, but this is %.17g", coefs[i].value);
            return;
        }
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

static void once(tc_elaborator *elaborator, const tc_statement *statement, const tc_statement **before) {
    if (*before != NULL) {
        tc_error(elaborator->diagnostics, statement->keyword, "this statement occurs twice");
        tc_note(elaborator->diagnostics, (*before)->keyword, "the first one is here");
    }
    *before = statement;
}

void tc_elaborate_settings(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    const tc_statement *dual = NULL, *privacy = NULL, *budget = NULL, *schedule = NULL;
    model->start_multipliers = TC_NEW(elaborator->arena, double, model->constraint_count);
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next) {
        if (s->kind == TC_STATEMENT_DUAL) {
            once(elaborator, s, &dual);
            model->dual_radius = positive(elaborator, s->value, "the dual radius");
            model->dual_span = s->span;
        } else if (s->kind == TC_STATEMENT_DECLARE) {
            elaborate_declare(elaborator, s);
        } else if (s->kind == TC_STATEMENT_PRIVACY) {
            once(elaborator, s, &privacy);
            elaborate_privacy(elaborator, s);
        } else if (s->kind == TC_STATEMENT_BUDGET) {
            once(elaborator, s, &budget);
            elaborate_budget(elaborator, s);
        } else if (s->kind == TC_STATEMENT_SCHEDULE) {
            once(elaborator, s, &schedule);
            elaborate_schedule(elaborator, s);
        } else if (s->kind == TC_STATEMENT_START) {
            elaborate_start(elaborator, s);
        }
    }
}
