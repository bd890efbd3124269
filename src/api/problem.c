/* Problems: loading, and what they say of themselves. */
#include "api/handle.h"
#include "api/result.h"
#include "base/sized.h"
#include "model/model.h"
#include "base/machine.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LIMIT = 1 << 20, MOST_LISTED = 1 << 20 };

_Static_assert((int)TACIT_OK == (int)TC_OK && (int)TACIT_NO_MEMORY == (int)TC_NO_MEMORY &&
                   (int)TACIT_TOO_LARGE == (int)TC_TOO_LARGE && (int)TACIT_BAD_PROBLEM == (int)TC_BAD_PROBLEM &&
                   (int)TACIT_BAD_USAGE == (int)TC_BAD_USAGE && (int)TACIT_CANNOT_READ == (int)TC_CANNOT_READ &&
                   (int)TACIT_CANNOT_WRITE == (int)TC_CANNOT_WRITE && (int)TACIT_INTERRUPTED == (int)TC_INTERRUPTED &&
                   (int)TACIT_INTERNAL == (int)TC_INTERNAL && (int)TACIT_NO_RANDOM == (int)TC_NO_RANDOM &&
                   (int)TACIT_BAD_ARITHMETIC == (int)TC_BAD_ARITHMETIC && (int)TACIT_BUSY == (int)TC_BUSY &&
                   (int)TACIT_CALLBACK_FAILED == (int)TC_CALLBACK_FAILED,
               "the public list of errors is the internal one");

typedef struct loading {
    tacit_source source;
    bool standard_input;
    tc_spread spread;
    locale_t host;
    bool has_stopped;
    tacit_problem *made;
} loading;

/* Asked until it says yes, then no more; in the host's locale. */
static bool is_interrupted(void *context) {
    loading *l = context;
    locale_t own = uselocale(l->host);
    l->has_stopped = l->has_stopped || l->source.interrupted(l->source.context) != 0;
    (void)uselocale(own);
    return l->has_stopped;
}

static tc_given given_of(tc_arena *arena, const tacit_source *source) {
    size_t tables = source->tables == NULL ? 0 : source->table_count;
    size_t matrices = source->matrices == NULL ? 0 : source->matrix_count;
    tc_given_table *into = TC_NEW(arena, tc_given_table, tables + 1);
    tc_given_matrix *numbers = TC_NEW(arena, tc_given_matrix, matrices + 1);
    for (size_t t = 0; t < tables; t++) {
        const tacit_table *from = &source->tables[t];
        size_t count = from->columns == NULL ? 0 : from->column_count;
        tc_given_column *columns = TC_NEW(arena, tc_given_column, count + 1);
        for (size_t c = 0; c < count; c++)
            columns[c] = (tc_given_column){.name = from->columns[c].name,
                                           .values = from->columns[c].values,
                                           .length = from->columns[c].components,
                                           .row_stride = from->columns[c].row_stride,
                                           .component_stride = from->columns[c].component_stride};
        into[t] = (tc_given_table){.name = from->name,
                                   .rows = from->rows,
                                   .columns = from->columns == NULL ? NULL : columns,
                                   .column_count = from->column_count,
                                   .members = from->members};
    }
    for (size_t i = 0; i < matrices; i++)
        numbers[i] = (tc_given_matrix){.name = source->matrices[i].name,
                                       .values = source->matrices[i].values,
                                       .rows = source->matrices[i].rows,
                                       .columns = source->matrices[i].columns,
                                       .row_stride = source->matrices[i].row_stride,
                                       .column_stride = source->matrices[i].column_stride};
    return (tc_given){.tables = into, .table_count = tables, .matrices = numbers, .matrix_count = matrices};
}

static tc_status load(void *context, tc_arena *arena, tc_buffer *messages) {
    loading *l = context;
    const tacit_source *source = &l->source;
    double began = tc_seconds();
    l->made = TC_NEW(arena, tacit_problem, 1);
    tc_monitor monitor = {.interrupted = source->interrupted == NULL ? NULL : is_interrupted, .context = l};
    bool too_many = source->table_count > MOST_LISTED || source->matrix_count > MOST_LISTED;
    for (size_t t = 0; !too_many && source->tables != NULL && t < source->table_count; t++)
        too_many = source->tables[t].column_count > MOST_LISTED;
    if (too_many) {
        tc_buffer_puts(messages, "there are more tables, columns or matrices than any problem can name\n");
        return TC_TOO_LARGE;
    }
    if (source->text != NULL && source->length > SIZE_MAX / 4) {
        tc_buffer_puts(messages, "the text is longer than memory\n");
        return TC_TOO_LARGE;
    }
    if (source->path == NULL && source->text == NULL) {
        tc_buffer_puts(messages, "there is neither a path nor a text\n");
        return TC_BAD_USAGE;
    }
    tc_load_request request = {.arena = arena,
                               .path = source->path == NULL ? "problem" : source->path,
                               .standard_input = l->standard_input,
                               .spread = l->spread,
                               .monitor = &monitor,
                               .messages = messages,
                               .given = given_of(arena, source)};
    if (source->text != NULL) {
        request.text = tc_arena_copy(arena, source->text, source->length);
        request.length = source->length;
    }
    tc_status status = tc_model_load_request(&request, &l->made->loaded.model);
    l->made->arena = arena;
    l->made->loaded.seconds = tc_seconds() - began;
    return status;
}

tacit_status tc_problem_make(const tacit_source *source, bool standard_input, tc_spread spread, tacit_problem **problem,
                             char **message) {
    loading l = {.standard_input = standard_input, .spread = spread, .host = uselocale((locale_t)0)};
    if (message != NULL)
        *message = NULL;
    if (problem != NULL)
        *problem = NULL;
    if (problem == NULL || source == NULL || !tc_copy_sized(&l.source, sizeof l.source, sizeof l.source, source)) {
        if (message != NULL)
            *message = tc_own_lines("there is no place for the problem, no source, or its size is not "
                                    "sizeof(tacit_source)\n");
        return TACIT_BAD_USAGE;
    }
    tacit_status status = tc_handle_make(load, &l, message);
    if (status == TACIT_OK)
        *problem = l.made;
    return status;
}

tacit_status tacit_problem_make(const tacit_source *source, tacit_problem **problem, char **message) {
    return tc_problem_make(source, false, (tc_spread){.is_wished = false}, problem, message);
}

tacit_status tacit_problem_load(const char *path, tacit_problem **problem, char **message) {
    return tacit_problem_make(&(tacit_source){.size = sizeof(tacit_source), .path = path}, problem, message);
}

void tacit_problem_free(tacit_problem *problem) {
    if (problem != NULL)
        tc_arena_free(problem->arena);
}

/* ---- sizes and names ---- */

size_t tacit_problem_agents(const tacit_problem *problem) {
    return problem == NULL ? 0 : problem->loaded.model->agent_count;
}

size_t tacit_problem_states(const tacit_problem *problem) {
    return problem == NULL ? 0 : problem->loaded.model->state_count;
}

size_t tacit_problem_constraints(const tacit_problem *problem) {
    return problem == NULL ? 0 : problem->loaded.model->constraint_count;
}

size_t tacit_problem_families(const tacit_problem *problem) {
    return problem == NULL ? 0 : problem->loaded.model->family_count;
}

const char *tacit_problem_constraint_name(const tacit_problem *problem, size_t constraint) {
    return constraint < tacit_problem_constraints(problem) ? problem->loaded.model->constraints[constraint].name : NULL;
}

int tacit_problem_constraint_is_equality(const tacit_problem *problem, size_t constraint) {
    return constraint < tacit_problem_constraints(problem) &&
           problem->loaded.model->constraints[constraint].is_equality;
}

tacit_status tacit_problem_family(const tacit_problem *problem, size_t family, tacit_family *facts) {
    if (facts == NULL || family >= tacit_problem_families(problem))
        return TACIT_BAD_USAGE;
    const tc_family *from = &problem->loaded.model->families[family];
    const tacit_family all = {.name = from->name,
                              .members = from->count,
                              .first_agent = from->first_agent,
                              .states = from->dim,
                              .variables = from->variable_count,
                              .is_family = from->is_family};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_problem_variable(const tacit_problem *problem, size_t family, size_t variable,
                                    tacit_variable *facts) {
    if (facts == NULL || family >= tacit_problem_families(problem) ||
        variable >= problem->loaded.model->families[family].variable_count)
        return TACIT_BAD_USAGE;
    const tc_variable *from = &problem->loaded.model->families[family].variables[variable];
    const tacit_variable all = {
        .name = from->name, .first = from->first, .length = from->length, .is_scalar = from->is_scalar};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_problem_agent_name(const tacit_problem *problem, size_t agent, char *text, size_t size) {
    if (agent >= tacit_problem_agents(problem) || text == NULL || size == 0)
        return TACIT_BAD_USAGE;
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TACIT_NO_MEMORY;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        const tc_family *family = tc_family_of_agent(problem->loaded.model, agent);
        tc_buffer name = tc_buffer_new(arena, NAME_LIMIT);
        tc_agent_name(&name, family, agent - family->first_agent);
        size_t length = name.length < size ? name.length : size - 1;
        memcpy(text, tc_buffer_text(&name), length);
        text[length] = '\0';
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return (tacit_status)status;
}
