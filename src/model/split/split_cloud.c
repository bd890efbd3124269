/* The cloud's file: everything public, and nothing else. */
#include "model/split/split_parts.h"

#include <string.h>

enum { LONGEST_LITERAL = 256 };

static bool is_for_cloud(const tc_statement *s) {
    bool declares_objective = s->kind == TC_STATEMENT_DECLARE && s->name->text[0] == 'o';
    return !s->is_private && !declares_objective && s->kind != TC_STATEMENT_ROLE && s->kind != TC_STATEMENT_PARAM &&
           s->kind != TC_STATEMENT_DATA && s->kind != TC_STATEMENT_AGENTS;
}

static bool is_public_line(const tc_statement *s) {
    return !s->is_private && (s->kind == TC_STATEMENT_STATE || s->kind == TC_STATEMENT_GAP ||
                              s->kind == TC_STATEMENT_SLATER || s->kind == TC_STATEMENT_PARAM);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static size_t count_public(const tc_definition *data) {
    size_t count = 0;
    for (size_t c = 0; c < data->table->column_count; c++)
        count += data->secrets[c] == NULL;
    return count;
}

static const char *data_path(tc_split_job *job, const char *name) {
    return tc_arena_format(job->arena, "%s/cloud.%s.csv", job->directory, name);
}

static void write_header(tc_buffer *out, const tc_definition *data) {
    const char *separator = data->table->names != NULL ? "," : "";
    if (data->table->names != NULL)
        tc_buffer_puts(out, "name");
    for (size_t c = 0; c < data->table->column_count; c++) {
        const tc_table_column *column = &data->table->columns[c];
        for (size_t i = 0; data->secrets[c] == NULL && i < column->length; i++, separator = ",") {
            tc_buffer_printf(out, "%s%s", separator, column->name);
            if (column->is_vector)
                tc_buffer_printf(out, "_%zu", i + 1);
        }
    }
    tc_buffer_puts(out, "\n");
}

static tc_status write_table(tc_split_job *job, const tc_definition *data) {
    tc_buffer out = tc_buffer_new(job->arena, SIZE_MAX / 4);
    const tc_table *table = data->table;
    write_header(&out, data);
    for (size_t r = 0; r < table->rows; r++) {
        const char *separator = table->names != NULL ? "," : "";
        if (table->names != NULL)
            tc_buffer_printf(&out, "\"%s\"", table->names[r]);
        for (size_t c = 0; c < table->column_count; c++) {
            for (size_t i = 0; data->secrets[c] == NULL && i < table->columns[c].length; i++, separator = ",") {
                tc_buffer_puts(&out, separator);
                tc_write_number(&out, table->values[table->columns[c].first + i][r]);
            }
        }
        tc_buffer_puts(&out, "\n");
    }
    return tc_write_file(job, data_path(job, data->name->text), &out);
}

static tc_status write_data(tc_split_job *job, tc_buffer *out, const tc_statement *statement) {
    const tc_definition *data = statement->name->global;
    if (count_public(data) == 0 && data->table->names == NULL)
        return TC_OK;
    tc_buffer_printf(out, "data %s = csv \"cloud.%s.csv\"", data->name->text, data->name->text);
    const char *separator = " public ";
    for (size_t c = 0; c < data->table->column_count; c++) {
        if (data->secrets[c] != NULL)
            continue;
        tc_buffer_printf(out, "%s%s", separator, data->table->columns[c].name);
        separator = ", ";
    }
    tc_buffer_puts(out, "\n");
    return write_table(job, data);
}

/* A long vector or a matrix goes into a file of its own. */
static tc_status write_param(tc_split_job *job, tc_buffer *out, const tc_definition *param) {
    const tc_value *value = &param->value;
    bool fits = value->rank == 1 || (value->rank == 2 && value->rows > 1 && value->columns > 1);
    if (!fits || tc_value_count(value) <= LONGEST_LITERAL) {
        tc_write_param(out, param);
        return TC_OK;
    }
    tc_buffer_printf(out, "param %s = csv \"cloud.%s.csv\"\n", param->name->text, param->name->text);
    tc_buffer rows = tc_buffer_new(job->arena, SIZE_MAX / 4);
    for (size_t i = 0; i < tc_value_count(value); i++) {
        tc_write_number(&rows, value->numbers[i]);
        tc_buffer_puts(&rows, (i + 1) % value->columns == 0 ? "\n" : ",");
    }
    return tc_write_file(job, data_path(job, param->name->text), &rows);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static bool is_taken(const tc_syntax *syntax, const char *text) {
    for (size_t i = 0; i < syntax->name_capacity; i++) {
        if (syntax->names[i] != NULL && strcmp(syntax->names[i]->text, text) == 0)
            return true;
    }
    return false;
}

/* A name that nothing in the file means. */
static const char *fresh_name(tc_split_job *job) {
    const char *name = "member";
    while (is_taken(job->model->syntax, name))
        name = tc_arena_format(job->arena, "%s_", name);
    return name;
}

static void write_block(tc_split_job *job, tc_buffer *out, const tc_statement *statement, const char *fresh) {
    const tc_block *block = statement->name->global->block;
    const tc_family *family = &job->model->families[block->number];
    bool has_table = block->data != NULL && (count_public(block->data) > 0 || block->data->table->names != NULL);
    if (!statement->is_family) {
        tc_buffer_printf(out, "agent %s {\n", family->name);
    } else if (has_table) {
        tc_buffer_printf(out, "agents %s", family->name);
        if (block->index != NULL)
            tc_buffer_printf(out, "[%s]", block->index->text);
        tc_buffer_printf(out, " over %s {\n", block->data->name->text);
    } else {
        tc_buffer_printf(out, "agents %s[%s in 1..%zu] {\n", family->name,
                         block->index != NULL ? block->index->text : fresh, family->count);
    }
    for (const tc_statement *s = statement->block; s != NULL; s = s->next) {
        if (!is_public_line(s))
            continue;
        tc_buffer_puts(out, "  ");
        tc_write_statement(out, &job->model->source, s->span);
    }
    tc_buffer_puts(out, "}\n");
}

static void find_uses(const tc_model *model, tc_uses *uses) {
    for (const tc_statement *s = model->syntax->first; s != NULL; s = s->next) {
        uses->family = NULL;
        if (is_for_cloud(s))
            tc_uses_add(uses, s);
        if (s->kind != TC_STATEMENT_AGENTS)
            continue;
        uses->family = s->name->global;
        for (const tc_statement *line = s->block; line != NULL; line = line->next) {
            if (is_public_line(line))
                tc_uses_add(uses, line);
        }
    }
}

/* Labels keep private values out of public lines. Should one slip through, nothing is written. */
tc_status tc_split_check_cloud(tc_split_job *job) {
    tc_uses uses = {.arena = job->arena, .mark = ++job->mark};
    tc_diagnostics diagnostics = {job->arena, &job->model->source, job->messages, 0};
    find_uses(job->model, &uses);
    if (uses.hidden.length == 0)
        return TC_OK;
    tc_error(&diagnostics, uses.hidden, "the cloud's file would need '%s', which is private", uses.hidden_name->text);
    return TC_BAD_PROBLEM;
}

tc_status tc_split_cloud(tc_split_job *job) {
    tc_buffer out = tc_buffer_new(job->arena, SIZE_MAX / 4);
    tc_uses uses = {.arena = job->arena, .mark = ++job->mark};
    const tc_syntax *syntax = job->model->syntax;
    tc_status status = TC_OK;
    find_uses(job->model, &uses);
    tc_buffer_puts(&out, "role cloud\n");
    for (size_t i = 0; i < uses.param_count && status == TC_OK; i++)
        status = write_param(job, &out, uses.params[i]);
    for (const tc_statement *s = syntax->first; s != NULL && status == TC_OK; s = s->next) {
        if (s->kind == TC_STATEMENT_DATA)
            status = write_data(job, &out, s);
    }
    const char *fresh = fresh_name(job);
    for (const tc_statement *s = syntax->first; s != NULL; s = s->next) {
        if (s->kind == TC_STATEMENT_AGENTS)
            write_block(job, &out, s, fresh);
    }
    for (const tc_statement *s = syntax->first; s != NULL; s = s->next) {
        if (is_for_cloud(s))
            tc_write_statement(&out, &job->model->source, s->span);
    }
    if (status != TC_OK)
        return status;
    return tc_write_file(job, tc_arena_format(job->arena, "%s/cloud.tacit", job->directory), &out);
}
