#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

/* ---- definitions outside of blocks: collected first, elaborated when first needed -------------------------------- */

enum { DEEPEST_CHAIN = 1500 };

static void already_defined(tc_elaborator *elaborator, const tc_name *name, tc_span again, tc_span before) {
    tc_error(elaborator->diagnostics, again, "'%s' is defined twice", name->text);
    tc_note(elaborator->diagnostics, before, "'%s' was first defined here", name->text);
}

static void collect_locals(tc_elaborator *elaborator, tc_agents_block *block) {
    for (tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        if (s->kind != TC_STATEMENT_PARAM && s->kind != TC_STATEMENT_STATE && s->kind != TC_STATEMENT_COLUMN)
            continue;
        bool again = false;
        for (size_t i = 0; i < block->local_count && !again; i++) {
            again = block->locals[i].name == s->name;
            if (again)
                already_defined(elaborator, s->name, s->name_span, block->locals[i].statement->name_span);
        }
        tc_local local = {.name = s->name, .statement = s, .column = tc_value_broken()};
        s->agent = block->statement->name->text;
        if (!again)
            TC_PUSH(elaborator->arena, block->locals, block->local_count, local);
    }
    tc_mark_ranged(block);
}

static void define(tc_elaborator *elaborator, tc_statement *statement, tc_definition_kind kind, tc_definition ***next) {
    if (statement->name->global != NULL) {
        already_defined(elaborator, statement->name, statement->name_span,
                        statement->name->global->statement->name_span);
        return;
    }
    tc_definition *definition = TC_NEW(elaborator->arena, tc_definition, 1);
    *definition = (tc_definition){.kind = kind, .name = statement->name, .statement = statement};
    statement->name->global = definition;
    **next = definition;
    *next = &definition->next;
    if (kind == TC_DEFINES_FAMILY) {
        tc_agents_block *block = &elaborator->blocks[elaborator->model->family_count];
        *block = (tc_agents_block){.definition = definition, .statement = statement, .index_column = SIZE_MAX};
        block->number = (uint32_t)elaborator->model->family_count++;
        definition->block = block;
        collect_locals(elaborator, block);
    }
}

static void collect_definitions(tc_elaborator *elaborator) {
    size_t families = 0;
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next)
        families += s->kind == TC_STATEMENT_AGENTS;
    elaborator->blocks = TC_NEW(elaborator->arena, tc_agents_block, families + 1);
    elaborator->model->families = TC_NEW(elaborator->arena, tc_family, families + 1);
    tc_definition **next = &elaborator->definitions;
    for (tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next) {
        if (s->kind == TC_STATEMENT_PARAM)
            define(elaborator, s, TC_DEFINES_PARAM, &next);
        else if (s->kind == TC_STATEMENT_DATA)
            define(elaborator, s, TC_DEFINES_DATA, &next);
        else if (s->kind == TC_STATEMENT_AGENTS)
            define(elaborator, s, TC_DEFINES_FAMILY, &next);
        else if (s->kind == TC_STATEMENT_CONSTRAINT)
            define(elaborator, s, TC_DEFINES_CONSTRAINT, &next);
    }
}

/* ---- what is given ----------------------------------------------------------------------------------------------- */

/* `param m = given` means another parameter where the file has one of that name. */
static void find_given_params(tc_elaborator *elaborator) {
    const tc_name *given = tc_name_of(elaborator->arena, elaborator->syntax, "given", 5);
    for (tc_definition *d = elaborator->definitions; d != NULL; d = d->next) {
        if (d->kind != TC_DEFINES_PARAM || !d->statement->is_given)
            continue;
        d->statement->is_given = given->global == NULL;
        if (d->statement->is_given)
            d->statement->value = NULL;
    }
}

/* Takes the matrix `agent.param`, for a parameter in an agent's block. */
static void give_to_block(tc_elaborator *elaborator, const tc_given_matrix *given, const char *dot) {
    const char *shown = tc_given_shown(elaborator->arena, given->name);
    const tc_definition *agent =
        tc_name_of(elaborator->arena, elaborator->syntax, given->name, (size_t)(dot - given->name))->global;
    tc_statement *taker = NULL;
    for (size_t i = 0; agent != NULL && agent->kind == TC_DEFINES_FAMILY && i < agent->block->local_count; i++) {
        tc_statement *s = agent->block->locals[i].statement;
        if (s->kind == TC_STATEMENT_PARAM && strcmp(s->name->text, dot + 1) == 0)
            taker = s;
    }
    if (taker == NULL)
        tc_error_file(elaborator->diagnostics, elaborator->model->source.path,
                      "a matrix '%s' is given, but no agent's block has a 'param %s = given' or csv for it", shown,
                      tc_given_shown(elaborator->arena, dot + 1));
    else if (taker->value != NULL && !taker->is_given)
        tc_error(elaborator->diagnostics, taker->value->span,
                 "a matrix '%s' is given, but the parameter has a value here; write 'given' instead", shown);
    else if (taker->matrix != NULL)
        tc_error(elaborator->diagnostics, taker->name_span, "a matrix '%s' is given twice", shown);
    else
        taker->matrix = given;
}

/* The definition that takes what is given; NULL after a reported error. */
static tc_definition *taker_of(tc_elaborator *elaborator, const char *name, tc_definition_kind kind, size_t number) {
    tc_diagnostics *diagnostics = elaborator->diagnostics;
    const char *path = elaborator->model->source.path, *what = kind == TC_DEFINES_DATA ? "table" : "matrix";
    if (name == NULL || !tc_is_column_name(name, strlen(name))) {
        if (name == NULL || name[0] == '\0')
            tc_error_file(diagnostics, path, "%s %zu of those given has no name", what, number + 1);
        else
            tc_error_file(diagnostics, path,
                          "the given %s '%s': a name is made of letters, digits and underscores, and does not begin "
                          "with a digit",
                          what, tc_given_shown(elaborator->arena, name));
        return NULL;
    }
    tc_definition *taker = tc_name_of(elaborator->arena, elaborator->syntax, name, strlen(name))->global;
    if (taker == NULL) {
        const char **names = NULL;
        size_t count = 0;
        for (const tc_definition *d = elaborator->definitions; d != NULL; d = d->next) {
            if (d->kind == kind && d->statement->value == NULL)
                TC_PUSH(elaborator->arena, names, count, d->name->text);
        }
        const char *shown = tc_given_shown(elaborator->arena, name);
        tc_error_file(diagnostics, path, "a %s '%s' is given, but there is no '%s %s = given' or csv here%s", what,
                      shown, kind == TC_DEFINES_DATA ? "data" : "param", shown,
                      tc_did_you_mean(elaborator->arena, name, names, count));
    } else if (taker->kind != kind) {
        tc_error(diagnostics, taker->statement->name_span, "a %s '%s' is given, but '%s' is %s", what, name, name,
                 taker->kind == TC_DEFINES_DATA     ? "data: give a table"
                 : taker->kind == TC_DEFINES_PARAM  ? "a parameter: give a matrix"
                 : taker->kind == TC_DEFINES_FAMILY ? "an agent or a family"
                                                    : "a constraint");
    } else if (taker->statement->value != NULL) {
        tc_error(diagnostics, taker->statement->value->span,
                 "a matrix '%s' is given, but the parameter has a value here; write 'given' instead", name);
    } else if (taker->given_table != NULL || taker->statement->matrix != NULL) {
        tc_error(diagnostics, taker->statement->name_span, "a %s '%s' is given twice", what, name);
    } else {
        return taker;
    }
    return NULL;
}

static void take_given(tc_elaborator *elaborator, const tc_given *given) {
    find_given_params(elaborator);
    bool no_tables = given->tables == NULL && given->table_count > 0;
    if (no_tables || (given->matrices == NULL && given->matrix_count > 0)) {
        tc_error_file(elaborator->diagnostics, elaborator->model->source.path, "%s are given, but their list is NULL",
                      no_tables ? "tables" : "matrices");
        return;
    }
    for (size_t i = 0; i < given->table_count; i++) {
        tc_definition *taker = taker_of(elaborator, given->tables[i].name, TC_DEFINES_DATA, i);
        if (taker != NULL)
            taker->given_table = &given->tables[i];
    }
    for (size_t i = 0; i < given->matrix_count; i++) {
        const char *name = given->matrices[i].name, *dot = name != NULL ? strchr(name, '.') : NULL;
        if (dot != NULL && dot != name && tc_is_column_name(dot + 1, strlen(dot + 1))) {
            give_to_block(elaborator, &given->matrices[i], dot);
            continue;
        }
        tc_definition *taker = taker_of(elaborator, name, TC_DEFINES_PARAM, i);
        if (taker != NULL)
            taker->statement->matrix = &given->matrices[i];
    }
}

static tc_given_place given_place(tc_elaborator *elaborator, const tc_statement *statement) {
    return (tc_given_place){elaborator->arena, elaborator->diagnostics, elaborator->monitor, statement->name_span};
}

/* Whether a declaration waits for what nobody gave. */
static bool is_missing(tc_elaborator *elaborator, const tc_statement *statement) {
    if (!statement->is_given || elaborator->limits->no_files)
        return false;
    const char *what = statement->kind == TC_STATEMENT_DATA ? "table" : "matrix";
    tc_error(elaborator->diagnostics, statement->path_span,
             "no %s '%s%s%s' is given: a program that loads this file gives it one; for the tacit command, write csv "
             "\"FILE\" here",
             what, statement->agent != NULL ? statement->agent : "", statement->agent != NULL ? "." : "",
             statement->name->text);
    return true;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

const char *tc_data_path(tc_elaborator *elaborator, const tc_statement *statement) {
    const char *problem = elaborator->model->source.path;
    const char *slash = strrchr(problem, '/');
    if (statement->path[0] == '/' || slash == NULL)
        return statement->path;
    return tc_arena_format(elaborator->arena, "%.*s%s", (int)(slash - problem + 1), problem, statement->path);
}

static tc_csv_source file_source(tc_elaborator *elaborator, const tc_statement *statement) {
    tc_csv_source source = {.path = statement->is_given ? "given" : tc_data_path(elaborator, statement),
                            .span = statement->path_span,
                            .monitor = elaborator->monitor,
                            .whole = elaborator->limits->whole};
    if (elaborator->limits->no_files) {
        /* A small stand-in, so that fuzzing goes on without files. */
        source.text = statement->kind == TC_STATEMENT_DATA ? "a,b,c_1,c_2\n1,2,3,4\n5,6,7,8\n" : "1,2\n3,4\n";
        source.length = strlen(source.text);
    } else if (elaborator->limits->files != NULL && !statement->is_given) {
        const tc_read_file *file =
            tc_data_file(elaborator->arena, elaborator->limits->files, statement->path, source.path);
        source.text = file == NULL ? NULL : file->bytes; /* NULL: opening it says why */
        source.length = file == NULL ? 0 : file->length;
    }
    return source;
}

static tc_table *load_table(tc_elaborator *elaborator, const tc_definition *definition) {
    const tc_statement *statement = definition->statement;
    if (definition->given_table != NULL) {
        tc_given_place place = given_place(elaborator, statement);
        return tc_given_read_table(&place, definition->given_table);
    }
    if (is_missing(elaborator, statement))
        return NULL;
    tc_csv_source source = file_source(elaborator, statement);
    if (statement->is_npy && !elaborator->limits->no_files)
        return tc_npy_table(elaborator->arena, elaborator->diagnostics, &source);
    return tc_csv_table(elaborator->arena, elaborator->diagnostics, &source);
}

static void load_data(tc_elaborator *elaborator, tc_definition *definition) {
    const tc_statement *statement = definition->statement;
    tc_table *table = definition->table = load_table(elaborator, definition);
    if (table == NULL)
        return;
    definition->columns = TC_NEW(elaborator->arena, tc_name *, table->column_count);
    definition->secrets = TC_NEW(elaborator->arena, tc_private_datum *, table->column_count);
    const char **names = TC_NEW(elaborator->arena, const char *, table->column_count);
    for (size_t c = 0; c < table->column_count; c++) {
        names[c] = table->columns[c].name;
        definition->columns[c] = tc_name_of(elaborator->arena, elaborator->syntax, names[c], strlen(names[c]));
        tc_private_datum *secret = TC_NEW(elaborator->arena, tc_private_datum, 1);
        *secret = (tc_private_datum){.name = names[c], .data = definition->name->text, .span = statement->span};
        definition->secrets[c] = secret;
    }
    for (size_t w = 0; w < statement->word_count; w++) {
        bool found = table->names != NULL && strcmp(statement->words[w].name->text, "name") == 0;
        for (size_t c = 0; c < table->column_count; c++) {
            if (definition->columns[c] == statement->words[w].name) {
                definition->secrets[c] = NULL;
                found = true;
                (void)tc_column_has_numbers(elaborator->diagnostics, &table->columns[c]);
            }
        }
        if (!found)
            tc_error(elaborator->diagnostics, statement->words[w].span, "'%s' has no column '%s'%s", table->path,
                     statement->words[w].name->text,
                     tc_did_you_mean(elaborator->arena, statement->words[w].name->text, names, table->column_count));
    }
}

static bool load_numbers(tc_elaborator *elaborator, const tc_statement *statement, double **numbers, size_t *rows,
                         size_t *columns) {
    const tc_given_matrix *given = statement->matrix;
    if (given != NULL) {
        tc_given_place place = given_place(elaborator, statement);
        *rows = given->rows;
        *columns = given->columns;
        return tc_given_read_matrix(&place, given, numbers);
    }
    if (is_missing(elaborator, statement))
        return false;
    tc_csv_source source = file_source(elaborator, statement);
    if (statement->is_npy && !elaborator->limits->no_files)
        return tc_npy_matrix(elaborator->arena, elaborator->diagnostics, &source, numbers, rows, columns);
    return tc_csv_matrix(elaborator->arena, elaborator->diagnostics, &source, numbers, rows, columns);
}

static tc_value load_matrix(tc_elaborator *elaborator, const tc_statement *statement) {
    double *numbers;
    size_t rows, columns;
    if (!load_numbers(elaborator, statement, &numbers, &rows, &columns))
        return tc_value_broken();
    tc_matrix_file *file = TC_NEW(elaborator->arena, tc_matrix_file, 1);
    *file = (tc_matrix_file){numbers, rows, columns, elaborator->model->last_matrix};
    elaborator->model->last_matrix = file;
    if (rows == 1 && columns == 1)
        return tc_value_number(numbers[0]);
    if (rows == 1 || columns == 1)
        return tc_value_numbers(numbers, 1, rows * columns, 1);
    return tc_value_numbers(numbers, 2, rows, columns);
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

/* Gives the value its label: private where declared so, and never public where private data flowed in. */
static void label(tc_elaborator *elaborator, const tc_statement *statement, tc_value *value) {
    if (statement->is_private) {
        tc_private_datum *secret = TC_NEW(elaborator->arena, tc_private_datum, 1);
        *secret = (tc_private_datum){.name = statement->name->text,
                                     .span = statement->span,
                                     .is_outside = statement->agent == NULL,
                                     .made_of = value->secret};
        value->secret = secret;
    } else if (value->secret != NULL) {
        (void)tc_must_be_public(elaborator, value, statement->value->span,
                                statement->kind == TC_STATEMENT_COLUMN ? "a 'column' without 'private' before it"
                                                                       : "a 'param' without 'private' before it");
        *value = tc_value_broken();
    }
}

tc_value tc_elaborate_param(tc_elaborator *elaborator, const tc_scope *scope, const tc_statement *statement) {
    const char *before = elaborator->no_states;
    bool was_private = elaborator->in_private_param;
    elaborator->no_states = statement->kind == TC_STATEMENT_COLUMN ? "a column" : "a parameter";
    elaborator->in_private_param = statement->is_private && scope == NULL;
    tc_value value = statement->value != NULL ? tc_elaborate_tree(elaborator, scope, statement->value)
                                              : load_matrix(elaborator, statement);
    elaborator->no_states = before;
    elaborator->in_private_param = was_private;
    if (!value.broken)
        label(elaborator, statement, &value);
    return value;
}

static void report_cycle(tc_elaborator *elaborator, const tc_definition *definition, tc_span used) {
    tc_buffer path = tc_buffer_new(elaborator->arena, 1 << 20);
    size_t start = elaborator->busy_count;
    while (start > 0 && elaborator->busy[start - 1] != definition)
        start--;
    for (size_t i = start > 0 ? start - 1 : 0; i < elaborator->busy_count; i++)
        tc_buffer_printf(&path, "%s -> ", elaborator->busy[i]->name->text);
    tc_error(elaborator->diagnostics, used, "'%s' is defined in terms of itself: %s%s", definition->name->text,
             tc_buffer_text(&path), definition->name->text);
}

void tc_need_definition(tc_elaborator *elaborator, tc_definition *definition, tc_span used) {
    if (definition->progress == TC_DONE)
        return;
    if (definition->progress == TC_UNDERWAY) {
        report_cycle(elaborator, definition, used);
        definition->progress = TC_DONE;
        definition->value = tc_value_broken();
        return;
    }
    if (elaborator->busy_count >= DEEPEST_CHAIN) {
        tc_error(elaborator->diagnostics, used,
                 "more than %d definitions wait for one another here; define what is "
                 "used before its use",
                 DEEPEST_CHAIN);
        tc_raise(elaborator->arena, TC_BAD_PROBLEM);
    }
    definition->progress = TC_UNDERWAY;
    TC_PUSH(elaborator->arena, elaborator->busy, elaborator->busy_count, definition);
    if (definition->kind == TC_DEFINES_PARAM) {
        tc_value value = tc_elaborate_param(elaborator, NULL, definition->statement);
        if (definition->progress == TC_UNDERWAY)
            definition->value = value;
    } else if (definition->kind == TC_DEFINES_DATA) {
        load_data(elaborator, definition);
    } else if (definition->kind == TC_DEFINES_FAMILY) {
        tc_elaborate_head(elaborator, definition->block, used);
    }
    elaborator->busy_count--;
    definition->progress = TC_DONE;
}

/* ---- the whole file ---------------------------------------------------------------------------------------------- */

static void elaborate_role(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    const tc_statement *role = NULL;
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next) {
        if (s->kind != TC_STATEMENT_ROLE)
            continue;
        bool cloud = strcmp(s->name->text, "cloud") == 0, agent = strcmp(s->name->text, "agent") == 0;
        if (role != NULL)
            tc_error(elaborator->diagnostics, s->keyword, "a file has only one role");
        else if (!cloud && !agent)
            tc_error(elaborator->diagnostics, s->name_span, "a role is 'cloud' or 'agent'");
        role = s;
        model->role = cloud ? TC_ROLE_CLOUD : TC_ROLE_AGENT;
    }
}

/* Refuses statements that a cloud's file or an agent's file must not contain. */
static void check_role(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next) {
        if (model->role == TC_ROLE_CLOUD && s->is_private)
            tc_error(elaborator->diagnostics, s->keyword, "a cloud's file holds nothing private");
        if (model->role == TC_ROLE_AGENT && s->kind == TC_STATEMENT_CONSTRAINT)
            tc_error(elaborator->diagnostics, s->keyword,
                     "an agent's file holds no constraints: the cloud alone knows them");
        if (model->role == TC_ROLE_AGENT && s->kind == TC_STATEMENT_AGENTS && s->is_family)
            tc_error(elaborator->diagnostics, s->keyword, "an agent's file describes one agent");
    }
    for (size_t b = 0; b < model->family_count && model->role != TC_ROLE_AGENT; b++) {
        for (const tc_statement *s = elaborator->blocks[b].statement->block; s != NULL; s = s->next) {
            if (s->kind == TC_STATEMENT_COLUMN)
                tc_error(elaborator->diagnostics, s->keyword,
                         "a column stands in an agent's file alone, where 'tacit split' writes a member's row; write "
                         "'param'");
        }
    }
    if (model->role == TC_ROLE_AGENT && model->family_count > 1)
        tc_error(elaborator->diagnostics, elaborator->blocks[1].statement->name_span,
                 "an agent's file describes one agent");
    if (model->family_count == 0)
        tc_error(elaborator->diagnostics, (tc_span){0, 0}, "this file describes no agent; write 'agent name { ... }'");
}

static void lay_out(tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        tc_family *family = &model->families[f];
        family->first_agent = model->agent_count;
        family->first_coord = model->state_count;
        tc_family_hold(family, f);
        model->agent_count += family->count;
        model->state_count += family->count * family->dim;
    }
}

/* Refuses names from data files that other agents have. */
static void check_agent_names(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; family->member_names != NULL && k < family->count; k++) {
            const char *name = family->member_names[k];
            tc_name *global = tc_name_of(elaborator->arena, elaborator->syntax, name, strlen(name));
            if (global->global != NULL && global->global->kind == TC_DEFINES_FAMILY) {
                tc_error(elaborator->diagnostics, family->span,
                         "row %zu of the data of '%s' is called '%s', like another "
                         "agent",
                         k + 1, family->name, name);
                return;
            }
            if (global->agent_of != 0 && global->agent_of != f + 1) {
                tc_error(elaborator->diagnostics, family->span,
                         "two agents are called '%s', one of '%s' and one of '%s'", name,
                         model->families[global->agent_of - 1].name, family->name);
                return;
            }
            global->agent_of = (uint32_t)f + 1;
        }
    }
}

static size_t count_named_families(const tc_model *model) {
    size_t count = 0;
    for (size_t f = 0; f < model->family_count; f++)
        count += model->families[f].member_names != NULL;
    return count;
}

void tc_elaborate(tc_model *model, tc_diagnostics *diagnostics, const tc_monitor *monitor, const tc_given *given,
                  const tc_limits *limits) {
    tc_elaborator elaborator = {.arena = model->arena,
                                .model = model,
                                .dag = model->dag,
                                .diagnostics = diagnostics,
                                .monitor = monitor,
                                .limits = limits,
                                .values = {model->arena, model->dag, diagnostics},
                                .syntax = model->syntax};
    elaborate_role(&elaborator);
    collect_definitions(&elaborator);
    check_role(&elaborator);
    take_given(&elaborator, given);
    model->dag->realm = TC_REALM_PARAMS;
    for (tc_definition *d = elaborator.definitions; d != NULL; d = d->next)
        tc_need_definition(&elaborator, d, d->statement->name_span);
    for (size_t b = 0; b < model->family_count; b++) {
        model->dag->realm = (uint32_t)b + 1;
        tc_elaborate_states(&elaborator, &elaborator.blocks[b]);
    }
    if (model->family_count > 1 && count_named_families(model) > 0)
        check_agent_names(&elaborator);
    lay_out(model);
    for (size_t b = 0; b < model->family_count; b++) {
        model->dag->realm = (uint32_t)b + 1;
        tc_elaborate_block(&elaborator, &elaborator.blocks[b]);
    }
    tc_check_protected_data(&elaborator);
    tc_name_private_data(&elaborator);
    model->dag->realm = TC_REALM_SHARED;
    for (tc_definition *d = elaborator.definitions; d != NULL; d = d->next) {
        if (d->kind == TC_DEFINES_CONSTRAINT)
            tc_elaborate_constraint(&elaborator, d);
    }
    tc_elaborate_settings(&elaborator);
    /* A line dropped without an error would change the problem silently. */
    if (elaborator.dropped && diagnostics->errors == 0)
        tc_raise(model->arena, TC_INTERNAL);
    model->dag->origin = (tc_span){0, 0};
}
