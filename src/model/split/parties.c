/* The cloud's file: everything public, and nothing else. */
#include "model/split/split.h"
#include "model/split/split_job.h"

#include <math.h>
#include <string.h>

enum { LONGEST_LITERAL = 256 };

static bool is_for_cloud(const tc_statement *s) {
    bool declares_objective = s->kind == TC_STATEMENT_DECLARE && s->name->text[0] == 'o';
    return !s->is_private && !declares_objective && s->kind != TC_STATEMENT_ROLE && s->kind != TC_STATEMENT_PARAM &&
           s->kind != TC_STATEMENT_DATA && s->kind != TC_STATEMENT_AGENTS;
}

static bool is_public_line(const tc_statement *s) {
    return !s->is_private &&
           (s->kind == TC_STATEMENT_STATE || s->kind == TC_STATEMENT_GAP || s->kind == TC_STATEMENT_SLATER ||
            s->kind == TC_STATEMENT_PARAM || s->kind == TC_STATEMENT_SET || s->kind == TC_STATEMENT_RANGE ||
            s->kind == TC_STATEMENT_PROTECT);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static size_t count_public(const tc_definition *data) {
    size_t count = 0;
    for (size_t c = 0; c < data->table->column_count; c++)
        count += data->secrets[c] == NULL;
    return count;
}

static const char *data_name(tc_split_job *job, const char *name) {
    return tc_arena_format(job->arena, "cloud.%s.csv", name);
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
    return tc_write_file(job, data_name(job, data->name->text), &out);
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
static tc_status write_param(tc_split_job *job, tc_buffer *out, const tc_statement *param, const tc_value *value) {
    bool fits = value->rank == 1 || (value->rank == 2 && value->rows > 1 && value->columns > 1);
    if (!fits || tc_value_count(value) <= LONGEST_LITERAL) {
        tc_write_param(out, param, value);
        return TC_OK;
    }
    const char *name = param->name->text;
    if (param->agent != NULL)
        name = tc_arena_format(job->arena, "%s.%s", param->agent, name);
    tc_buffer_printf(out, "param %s = csv \"cloud.%s.csv\"\n", param->name->text, name);
    tc_buffer rows = tc_buffer_new(job->arena, SIZE_MAX / 4);
    for (size_t i = 0; i < tc_value_count(value); i++) {
        tc_write_number(&rows, value->numbers[i]);
        tc_buffer_puts(&rows, (i + 1) % value->columns == 0 ? "\n" : ",");
    }
    return tc_write_file(job, data_name(job, name), &rows);
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
static const char *fresh_name(tc_split_job *job, const char *name) {
    while (is_taken(job->model->syntax, name))
        name = tc_arena_format(job->arena, "%s_", name);
    return name;
}

/* The numbers of a parameter in a block that a file holds, or that were given. */
static const tc_value *numbers_of(const tc_agents_block *block, const tc_statement *param) {
    size_t i = 0;
    while (block->locals[i].statement != param)
        i++;
    return &block->locals[i].column;
}

static bool is_vector(const tc_family *family, const tc_datum *datum) {
    return strcmp(family->columns[datum->columns[0]].name, datum->name) != 0; /* "pref[1]" */
}

/* A line for each of the data. The cloud does not have them, so its lines say how many components there are. */
static void write_items(tc_split_job *job, tc_buffer *out, const tc_family *family, const tc_statement *statement,
                        bool for_cloud) {
    bool is_range = statement->kind == TC_STATEMENT_RANGE;
    for (size_t i = 0; i < statement->item_count; i++) {
        const tc_item *item = &statement->items[i];
        const tc_datum *datum = family->data;
        uint32_t name_end = item->datum.span.offset + item->datum.span.length;
        tc_span rest = {name_end, item->span.offset + item->span.length - name_end};
        while (strcmp(datum->name, item->datum.name->text) != 0)
            datum++;
        tc_buffer_printf(out, "  %s %s", is_range ? "range" : "protect", datum->name);
        if (for_cloud && is_range && item->length == NULL && is_vector(family, datum))
            tc_buffer_printf(out, "[%zu]", datum->count);
        if (item->length == NULL)
            tc_buffer_puts(out, " ");
        tc_write_text(out, &job->model->source, rest);
        tc_buffer_puts(out, "\n");
    }
}

/* What analysis found, for those who do not have the whole problem. */
static void write_distances(tc_buffer *out, const tc_family *family) {
    for (size_t d = 0; d < family->datum_count; d++) {
        const tc_datum *datum = &family->data[d];
        if (datum->by == NULL || !isfinite(datum->distances[0]) || !isfinite(datum->distances[1]))
            continue;
        tc_buffer_printf(out, "  distance %s { l1 ", datum->name);
        tc_write_number(out, datum->distances[0]);
        tc_buffer_puts(out, "; l2 ");
        tc_write_number(out, datum->distances[1]);
        tc_buffer_puts(out, " }\n");
    }
}

/* Whether the family has a gap that no line gives: one that follows from ranges. */
static bool has_found_gap(const tc_family *family, const tc_statement *statement) {
    bool written = false;
    for (const tc_statement *s = statement->block; s != NULL; s = s->next)
        written = written || s->kind == TC_STATEMENT_GAP;
    return family->has_gap && !written;
}

static void write_gap(tc_buffer *out, double gap) {
    tc_buffer_puts(out, "  gap ");
    tc_write_number(out, gap);
    tc_buffer_puts(out, "\n");
}

/* One for each member: a vector, and the member's place in it. */
static tc_status write_gaps(tc_split_job *job, tc_buffer *out, const tc_family *family, const char *index) {
    tc_name name = {.text = fresh_name(job, "gaps")};
    const tc_statement param = {.kind = TC_STATEMENT_PARAM, .name = &name, .agent = family->name};
    const tc_value gaps = tc_value_numbers(family->gap.column, 1, family->count, 1);
    tc_buffer_puts(out, "  ");
    tc_status status = write_param(job, out, &param, &gaps);
    tc_buffer_printf(out, "  gap %s[%s]\n", name.text, index);
    return status;
}

static tc_status write_line(tc_split_job *job, tc_buffer *out, const tc_agents_block *block, const tc_statement *s,
                            bool for_cloud) {
    if (s->kind == TC_STATEMENT_RANGE || s->kind == TC_STATEMENT_PROTECT) {
        write_items(job, out, &job->model->families[block->number], s, for_cloud);
        return TC_OK;
    }
    tc_buffer_puts(out, "  ");
    if (tc_is_loaded_param(s) && for_cloud)
        return write_param(job, out, s, numbers_of(block, s));
    if (tc_is_loaded_param(s))
        tc_write_param(out, s, numbers_of(block, s));
    else
        tc_write_statement(out, &job->model->source, s->span);
    return TC_OK;
}

static tc_status write_block(tc_split_job *job, tc_buffer *out, const tc_statement *statement, const char *fresh) {
    const tc_agents_block *block = statement->name->global->block;
    const tc_family *family = &job->model->families[block->number];
    bool has_table = block->data != NULL && (count_public(block->data) > 0 || block->data->table->names != NULL);
    bool found_gap = has_found_gap(family, statement);
    bool gaps_differ = found_gap && statement->is_family && family->gap.column != NULL;
    const char *index = block->index != NULL ? block->index->text : fresh;
    if (!statement->is_family) {
        tc_buffer_printf(out, "agent %s {\n", family->name);
    } else if (has_table) {
        tc_buffer_printf(out, "agents %s", family->name);
        if (block->index != NULL || gaps_differ)
            tc_buffer_printf(out, "[%s]", index);
        tc_buffer_printf(out, " over %s {\n", block->data->name->text);
    } else {
        tc_buffer_printf(out, "agents %s[%s in 1..%zu] {\n", family->name, index, family->count);
    }
    tc_status status = TC_OK;
    for (const tc_statement *s = statement->block; s != NULL && status == TC_OK; s = s->next) {
        if (is_public_line(s))
            status = write_line(job, out, block, s, true);
    }
    write_distances(out, family);
    if (found_gap && !gaps_differ)
        write_gap(out, tc_coef_at(family->gap, 0));
    if (gaps_differ && status == TC_OK)
        status = write_gaps(job, out, family, index);
    tc_buffer_puts(out, "}\n");
    return status;
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
        status = write_param(job, &out, uses.params[i]->statement, &uses.params[i]->value);
    for (const tc_statement *s = syntax->first; s != NULL && status == TC_OK; s = s->next) {
        if (s->kind == TC_STATEMENT_DATA)
            status = write_data(job, &out, s);
    }
    const char *fresh = fresh_name(job, "member");
    for (const tc_statement *s = syntax->first; s != NULL && status == TC_OK; s = s->next) {
        if (s->kind == TC_STATEMENT_AGENTS)
            status = write_block(job, &out, s, fresh);
    }
    for (const tc_statement *s = syntax->first; s != NULL; s = s->next) {
        if (is_for_cloud(s))
            tc_write_statement(&out, &job->model->source, s->span);
    }
    if (status != TC_OK)
        return status;
    return tc_write_file(job, "cloud.tacit", &out);
}

/* ---- One file per agent: its own lines and numbers, and nobody else's -------------------------------------------- */

/* Numbers copied into all files together. */
#define MOST_COPIES 50000000.0

/* A member's row, as columns again: expressions of them are then computed as in the family, bit for bit. */
static void write_columns(tc_buffer *out, const tc_uses *uses, size_t member) {
    const tc_agents_block *block = uses->family->block;
    if (uses->index)
        tc_buffer_printf(out, "  column %s = %zu\n", block->index->text, member + 1);
    for (size_t c = 0; block->data != NULL && c < block->data->table->column_count; c++) {
        const tc_table *table = block->data->table;
        const tc_table_column *column = &table->columns[c];
        if (!uses->columns[c])
            continue;
        tc_buffer_printf(out, "  %scolumn %s = %s", block->data->secrets[c] != NULL ? "private " : "", column->name,
                         column->is_vector ? "[" : "");
        for (size_t i = 0; i < column->length; i++) {
            if (i > 0)
                tc_buffer_puts(out, ", ");
            tc_write_number(out, table->values[column->first + i][member]);
        }
        tc_buffer_puts(out, column->is_vector ? "]\n" : "\n");
    }
}

/* A file's name for an agent: family.17, or the agent's own name with unusual bytes as %XX. */
static const char *file_name(tc_split_job *job, const tc_family *family, size_t member) {
    if (family->is_family && family->member_names == NULL)
        return tc_arena_format(job->arena, "agents/%s.%zu.tacit", family->name, member + 1);
    const char *name = family->member_names != NULL ? family->member_names[member] : family->name;
    tc_buffer path = tc_buffer_new(job->arena, 1 << 16);
    tc_buffer_puts(&path, "agents/");
    for (const char *c = name; *c != '\0'; c++) {
        bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' || *c == '-';
        if (plain)
            tc_buffer_add(&path, c, 1);
        else
            tc_buffer_printf(&path, "%%%02X", (unsigned)(unsigned char)*c);
    }
    tc_buffer_puts(&path, ".tacit");
    return tc_buffer_text(&path);
}

typedef struct agent_text {                /* what all members of a family have */
    const char *common, *lines, *schedule; /* parameters, the block's lines, what stands behind the block */
    bool found_gap;
} agent_text;

static tc_status write_agent(tc_split_job *job, const tc_uses *uses, const tc_family *family, size_t member,
                             const agent_text *text) {
    tc_buffer out = tc_buffer_new(job->arena, SIZE_MAX / 4), name = tc_buffer_new(job->arena, 1 << 16);
    tc_agent_name(&name, family, member);
    const char *quote = tc_is_identifier(tc_buffer_text(&name)) ? "" : "\"";
    tc_buffer_printf(&out, "role agent\n%sagent %s%s%s {\n", text->common, quote, name.text, quote);
    write_columns(&out, uses, member);
    tc_buffer_puts(&out, text->lines);
    if (text->found_gap)
        write_gap(&out, tc_coef_at(family->gap, member));
    tc_buffer_printf(&out, "}\n%s", text->schedule);
    if (!isnan(tc_coef_at(family->declared_objective, member))) {
        tc_buffer_printf(&out, "declare lipschitz objective %s%s%s ", quote, name.text, quote);
        tc_write_number(&out, tc_coef_at(family->declared_objective, member));
        tc_buffer_puts(&out, "\n");
    }
    if (job->plan != NULL)
        tc_buffer_printf(&out, "# plan %s\n", job->plan);
    return tc_write_file(job, file_name(job, family, member), &out);
}

static tc_status check_uses(tc_split_job *job, const tc_uses *uses, const tc_family *family) {
    tc_diagnostics diagnostics = {job->arena, &job->model->source, job->messages, 0};
    double copied = 0;
    for (size_t i = 0; i < uses->param_count; i++)
        copied += (double)tc_value_count(&uses->params[i]->value) * (double)family->count;
    for (size_t i = 0; i < uses->family->block->local_count; i++) {
        const tc_local *local = &uses->family->block->locals[i];
        if (tc_is_loaded_param(local->statement))
            copied += (double)tc_value_count(&local->column) * (double)family->count;
    }
    if (uses->foreign.length > 0)
        tc_error(&diagnostics, uses->foreign,
                 "the file of '%s' knows no other agent; define what it needs as a parameter outside of the blocks",
                 family->name);
    if (uses->mixed.length > 0 && family->count > 1)
        tc_error(&diagnostics, uses->mixed,
                 "this selects by member among private numbers that stand in the block of '%s', and the block goes to "
                 "every member; put the numbers into a column of the family's data, or into a public 'param'",
                 family->name);
    if (family->is_family && copied > MOST_COPIES)
        tc_error(&diagnostics, family->span,
                 "the parameters used by '%s' would be copied into %zu files; put what differs "
                 "between members into columns of the family's data",
                 family->name, family->count);
    return diagnostics.errors > 0 ? TC_BAD_PROBLEM : TC_OK;
}

/* Parts of one parameter for several agents. */
static tc_status check_picks(tc_split_job *job) {
    tc_diagnostics diagnostics = {job->arena, &job->model->source, job->messages, 0};
    for (const tc_statement *s = job->model->syntax->first; s != NULL; s = s->next) {
        const tc_definition *param = s->kind == TC_STATEMENT_PARAM ? s->name->global : NULL;
        if (param == NULL || param->picked.length == 0 || param->users < 2)
            continue;
        tc_error(&diagnostics, param->picked,
                 "this takes a part out of the private '%s', which %zu agents use: each would be shown all of it; "
                 "move each agent's part into its own block, or into a column of its family's data",
                 param->name->text, param->users);
        tc_note(&diagnostics, s->name_span,
                "used whole, a private parameter is a secret that the agents share; its length alone may be given to "
                "all by 'private param n = length(%s)'",
                param->name->text);
    }
    return diagnostics.errors > 0 ? TC_BAD_PROBLEM : TC_OK;
}

const tc_shared_secret *tc_split_shared(tc_arena *arena, const tc_model *model, size_t *count) {
    tc_shared_secret *shared = NULL;
    *count = 0;
    for (const tc_statement *s = model->syntax->first; s != NULL; s = s->next) {
        const tc_definition *param = s->kind == TC_STATEMENT_PARAM && s->is_private ? s->name->global : NULL;
        if (param == NULL || param->users < 2)
            continue;
        shared = tc_arena_grow(arena, shared, *count, *count + 1, sizeof *shared);
        shared[(*count)++] = (tc_shared_secret){param->name->text, param->users};
    }
    return shared;
}

static const tc_statement *find_schedule(const tc_model *model) {
    const tc_statement *s = model->syntax->first;
    while (s != NULL && s->kind != TC_STATEMENT_SCHEDULE)
        s = s->next;
    return s;
}

static tc_uses uses_of(tc_split_job *job, const tc_statement *statement) {
    const tc_definition *definition = statement->name->global;
    const tc_definition *data = definition->block->data;
    tc_uses uses = {.arena = job->arena, .mark = ++job->mark, .family = definition};
    uses.columns = TC_NEW(job->arena, bool, data != NULL ? data->table->column_count : 0);
    for (const tc_statement *s = statement->block; s != NULL; s = s->next)
        tc_uses_add(&uses, s);
    return uses;
}

/* The block's lines, in their order: the order of nodes depends on it. */
static void write_lines(tc_split_job *job, tc_buffer *out, const tc_statement *statement) {
    for (const tc_statement *s = statement->block; s != NULL; s = s->next)
        (void)write_line(job, out, statement->name->global->block, s, false);
}

static tc_status split_family(tc_split_job *job, const tc_statement *statement) {
    const tc_definition *definition = statement->name->global;
    const tc_family *family = &job->model->families[definition->block->number];
    tc_uses uses = uses_of(job, statement);
    tc_buffer common = tc_buffer_new(job->arena, SIZE_MAX / 4), lines = common, schedule = common;
    tc_status status = TC_OK;
    write_lines(job, &lines, statement);
    write_distances(&lines, family);
    const tc_statement *steps = find_schedule(job->model);
    if (steps != NULL) {
        uses.family = NULL;
        tc_uses_add(&uses, steps);
        uses.family = definition;
        tc_write_statement(&schedule, &job->model->source, steps->span);
    }
    for (size_t i = 0; i < uses.param_count; i++)
        tc_write_param(&common, uses.params[i]->statement, &uses.params[i]->value);
    const agent_text text = {tc_buffer_text(&common), tc_buffer_text(&lines), tc_buffer_text(&schedule),
                             has_found_gap(family, statement)};
    for (size_t k = 0; k < family->count && status == TC_OK; k++) {
        if (tc_interrupted(job->monitor))
            return TC_INTERRUPTED;
        tc_mark mark = tc_arena_mark(job->arena);
        status = write_agent(job, &uses, family, k, &text);
        if (status == TC_OK)
            tc_arena_rewind(job->arena, mark);
        tc_progress(job->monitor, "writing agents",
                    (double)(family->first_agent + k + 1) / (double)job->model->agent_count);
    }
    return status;
}

tc_status tc_split_check_agents(tc_split_job *job) {
    tc_status status = TC_OK;
    for (const tc_statement *s = job->model->syntax->first; s != NULL; s = s->next) {
        if (s->kind != TC_STATEMENT_AGENTS)
            continue;
        const tc_family *family = &job->model->families[s->name->global->block->number];
        tc_uses uses = uses_of(job, s);
        for (size_t i = 0; i < uses.param_count; i++)
            uses.params[i]->users += family->count;
        tc_status found = check_uses(job, &uses, family);
        status = status != TC_OK ? status : found;
    }
    tc_status found = check_picks(job);
    return status != TC_OK ? status : found;
}

tc_status tc_split_agents(tc_split_job *job) {
    tc_status status = TC_OK;
    for (const tc_statement *s = job->model->syntax->first; s != NULL && status == TC_OK; s = s->next) {
        if (s->kind == TC_STATEMENT_AGENTS)
            status = split_family(job, s);
    }
    return status;
}
