/* One file per agent: its own lines and numbers, and nobody else's. */
#include "model/split/split.h"
#include "model/split/split_parts.h"

#include <math.h>

/* Numbers copied into all files together. */
#define MOST_COPIES 50000000.0

/* A member's row, as columns again: what is made of them is then computed as in the family, to the last bit. */
static void write_columns(tc_buffer *out, const tc_uses *uses, size_t member) {
    const tc_block *block = uses->family->block;
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
        return tc_arena_format(job->arena, "%s/agents/%s.%zu.tacit", job->directory, family->name, member + 1);
    const char *name = family->member_names != NULL ? family->member_names[member] : family->name;
    tc_buffer path = tc_buffer_new(job->arena, 1 << 16);
    tc_buffer_printf(&path, "%s/agents/", job->directory);
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

static tc_status write_agent(tc_split_job *job, const tc_uses *uses, const tc_family *family, size_t member,
                             const char *common, const char *lines, const char *schedule) {
    tc_buffer out = tc_buffer_new(job->arena, SIZE_MAX / 4), name = tc_buffer_new(job->arena, 1 << 16);
    tc_agent_name(&name, family, member);
    const char *quote = tc_is_identifier(tc_buffer_text(&name)) ? "" : "\"";
    tc_buffer_printf(&out, "role agent\n%sagent %s%s%s {\n", common, quote, name.text, quote);
    write_columns(&out, uses, member);
    tc_buffer_printf(&out, "%s}\n%s", lines, schedule);
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
    for (const tc_statement *s = statement->block; s != NULL; s = s->next) {
        tc_buffer_puts(out, "  ");
        tc_write_statement(out, &job->model->source, s->span);
    }
}

static tc_status split_family(tc_split_job *job, const tc_statement *statement) {
    const tc_definition *definition = statement->name->global;
    const tc_family *family = &job->model->families[definition->block->number];
    tc_uses uses = uses_of(job, statement);
    tc_buffer common = tc_buffer_new(job->arena, SIZE_MAX / 4), lines = common, schedule = common;
    tc_status status = TC_OK;
    write_lines(job, &lines, statement);
    const tc_statement *steps = find_schedule(job->model);
    if (steps != NULL) {
        uses.family = NULL;
        tc_uses_add(&uses, steps);
        uses.family = definition;
        tc_write_statement(&schedule, &job->model->source, steps->span);
    }
    for (size_t i = 0; i < uses.param_count; i++)
        tc_write_param(&common, uses.params[i]);
    const char *texts[] = {tc_buffer_text(&common), tc_buffer_text(&lines), tc_buffer_text(&schedule)};
    for (size_t k = 0; k < family->count && status == TC_OK; k++) {
        if (tc_interrupted(job->monitor))
            return TC_INTERRUPTED;
        tc_mark mark = tc_arena_mark(job->arena);
        status = write_agent(job, &uses, family, k, texts[0], texts[1], texts[2]);
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
