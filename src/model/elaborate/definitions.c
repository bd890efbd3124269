/* Definitions outside of blocks: collected first, elaborated when first needed. */
#include "model/elaborate/elaborate.h"

#include <string.h>

enum { DEEPEST_CHAIN = 1500 };

/* ---- definitions ------------------------------------------------------------------------------------------------ */

static void already_defined(tc_elaborator *elaborator, const tc_name *name, tc_span again, tc_span before) {
    tc_error(elaborator->diagnostics, again, "'%s' is defined twice", name->text);
    tc_note(elaborator->diagnostics, before, "'%s' was first defined here", name->text);
}

static void collect_locals(tc_elaborator *elaborator, tc_block *block) {
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
        if (!again)
            TC_PUSH(elaborator->arena, block->locals, block->local_count, local);
    }
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
        tc_block *block = &elaborator->blocks[elaborator->model->family_count];
        *block = (tc_block){.definition = definition, .statement = statement, .index_column = SIZE_MAX};
        block->number = (uint32_t)elaborator->model->family_count++;
        definition->block = block;
        collect_locals(elaborator, block);
    }
}

void tc_collect_definitions(tc_elaborator *elaborator) {
    size_t families = 0;
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next)
        families += s->kind == TC_STATEMENT_AGENTS;
    elaborator->blocks = TC_NEW(elaborator->arena, tc_block, families + 1);
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

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* A data file's path: as written when absolute, else beside the problem file. */
static tc_csv_source csv_source(tc_elaborator *elaborator, const tc_statement *statement) {
    const char *problem = elaborator->model->source.path;
    const char *slash = strrchr(problem, '/');
    tc_csv_source source = {.path = statement->path, .span = statement->path_span, .monitor = elaborator->monitor};
    if (statement->path[0] != '/' && slash != NULL)
        source.path =
            tc_arena_format(elaborator->arena, "%.*s%s", (int)(slash - problem + 1), problem, statement->path);
    if (elaborator->limits->no_files) {
        /* A small stand-in, so that what follows can be tried without files. */
        source.text = statement->kind == TC_STATEMENT_DATA ? "a,b,c_1,c_2\n1,2,3,4\n5,6,7,8\n" : "1,2\n3,4\n";
        source.length = strlen(source.text);
    }
    return source;
}

static void load_data(tc_elaborator *elaborator, tc_definition *definition) {
    const tc_statement *statement = definition->statement;
    tc_csv_source source = csv_source(elaborator, statement);
    tc_table *table = definition->table = tc_csv_table(elaborator->arena, elaborator->diagnostics, &source);
    if (table == NULL)
        return;
    definition->columns = TC_NEW(elaborator->arena, tc_name *, table->column_count);
    definition->secrets = TC_NEW(elaborator->arena, tc_secret *, table->column_count);
    const char **names = TC_NEW(elaborator->arena, const char *, table->column_count);
    for (size_t c = 0; c < table->column_count; c++) {
        names[c] = table->columns[c].name;
        definition->columns[c] = tc_name_of(elaborator->arena, elaborator->syntax, names[c], strlen(names[c]));
        tc_secret *secret = TC_NEW(elaborator->arena, tc_secret, 1);
        *secret = (tc_secret){.name = names[c], .data = definition->name->text, .span = statement->span};
        definition->secrets[c] = secret;
    }
    for (size_t w = 0; w < statement->word_count; w++) {
        bool found = table->names != NULL && strcmp(statement->words[w].name->text, "name") == 0;
        for (size_t c = 0; c < table->column_count; c++) {
            if (definition->columns[c] == statement->words[w].name) {
                definition->secrets[c] = NULL;
                found = true;
            }
        }
        if (!found)
            tc_error(elaborator->diagnostics, statement->words[w].span, "'%s' has no column '%s'%s", table->path,
                     statement->words[w].name->text,
                     tc_did_you_mean(elaborator->arena, statement->words[w].name->text, names, table->column_count));
    }
}

static tc_value load_matrix(tc_elaborator *elaborator, const tc_statement *statement) {
    tc_csv_source source = csv_source(elaborator, statement);
    double *numbers;
    size_t rows, columns;
    if (!tc_csv_matrix(elaborator->arena, elaborator->diagnostics, &source, &numbers, &rows, &columns))
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
        tc_secret *secret = TC_NEW(elaborator->arena, tc_secret, 1);
        *secret = (tc_secret){.name = statement->name->text, .span = statement->span};
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
    tc_error(elaborator->diagnostics, used, "'%s' is defined by itself: %s%s", definition->name->text,
             tc_buffer_text(&path), definition->name->text);
}

void tc_need_definition(tc_elaborator *elaborator, tc_definition *definition, tc_span used) {
    if (definition->progress == TC_DONE)
        return;
    if (definition->progress == TC_BUSY) {
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
    definition->progress = TC_BUSY;
    TC_PUSH(elaborator->arena, elaborator->busy, elaborator->busy_count, definition);
    if (definition->kind == TC_DEFINES_PARAM) {
        tc_value value = tc_elaborate_param(elaborator, NULL, definition->statement);
        if (definition->progress == TC_BUSY)
            definition->value = value;
    } else if (definition->kind == TC_DEFINES_DATA) {
        load_data(elaborator, definition);
    } else if (definition->kind == TC_DEFINES_FAMILY) {
        tc_elaborate_head(elaborator, definition->block, used);
    }
    elaborator->busy_count--;
    definition->progress = TC_DONE;
}
