/* Traces as text. */
#include "base/json.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* What stands in a comment must stay in its line. */
static void put_value(FILE *out, const char *value) {
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++) {
        if (*c == '\\')
            (void)fputs("\\\\", out);
        else if (*c == '\n')
            (void)fputs("\\n", out);
        else if (*c < 0x20 || *c == 0x7f)
            (void)fprintf(out, "\\x%02x", *c);
        else
            (void)fputc(*c, out);
    }
    (void)fputc('\n', out);
}

static void put(FILE *out, const char *key, const char *value) {
    if (value == NULL)
        return;
    (void)fprintf(out, "# %s: ", key);
    put_value(out, value);
}

static void put_number(FILE *out, double value) {
    char text[32];
    if (!isfinite(value))
        return;
    tc_shortest_number(text, value);
    (void)fputs(text, out);
}

static void put_optional(FILE *out, const char *key, double value) {
    if (!isfinite(value))
        return;
    (void)fprintf(out, "# %s: ", key);
    put_number(out, value);
    (void)fputc('\n', out);
}

/* "baseline_x_error" and so on. */
static void put_result(FILE *out, const char *of, const tc_trace_result *result) {
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"x_error", result->x_error}, {"objective", result->objective}, {"max_violation", result->max_violation}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s_%s", of, numbers[i].name);
        put_optional(out, key, numbers[i].value);
    }
    if (result->worst != NULL) {
        (void)fprintf(out, "# %s_worst: ", of);
        put_value(out, result->worst);
    }
}

static void put_comments(FILE *out, const tc_trace *trace) {
    (void)fputs("# tacit trace 1\n", out);
    put(out, "kind", tc_trace_kind_name(trace->kind));
    put(out, "problem", trace->problem);
    put(out, "label", trace->label);
    put(out, "command", trace->command);
    for (size_t i = 0; i < trace->fact_count; i++) {
        (void)fprintf(out, "# fact: %s = ", trace->facts[i].name);
        put_value(out, trace->facts[i].value);
    }
    for (size_t i = 0; i < trace->equality_count; i++)
        put(out, "equality", trace->equalities[i]);
    put(out, "penalty", trace->penalty);
    put_optional(out, "slope", trace->fit.slope);
    put_optional(out, "slope_low", trace->fit.slope_low);
    put_optional(out, "slope_high", trace->fit.slope_high);
    put_optional(out, "intercept", trace->fit.intercept);
    put_optional(out, "fit_from", trace->fit.from);
    put_optional(out, "fit_to", trace->fit.to);
    put_optional(out, "free_x_error", trace->free_x_error);
    put_optional(out, "free_mu_error", trace->free_mu_error);
    put_optional(out, "free_objective", trace->free_objective);
    put_optional(out, "free_max_violation", trace->free_max_violation);
    put_optional(out, "reference_objective", trace->reference_objective);
    put_result(out, "baseline", &trace->nothing);
    put_result(out, "slater", &trace->slater);
    put(out, "verdict", trace->verdict);
    if (trace->verdict != NULL)
        put(out, "no_better_than_nothing", trace->is_lost ? "yes" : "no");
    put(out, "error_parts", trace->error_parts);
    put(out, "feasibility", trace->feasibility);
    put(out, "true_feasibility", trace->true_feasibility);
    for (size_t i = 0; i < trace->note_count; i++)
        put(out, "note", trace->notes[i]);
    for (size_t i = 0; i < trace->card_count; i++)
        put(out, "card", trace->card[i]);
}

/* ",g[name]", in quotes where the name has a comma or a quote. */
static void put_column(FILE *out, const char *what, const char *name) {
    bool quoted = strpbrk(name, ",\"\r\n") != NULL;
    (void)fprintf(out, quoted ? ",\"%s[" : ",%s[", what);
    for (; *name != '\0'; name++) {
        if (*name == '"')
            (void)fputc('"', out);
        (void)fputc(*name, out);
    }
    (void)fputs(quoted ? "]\"" : "]", out);
}

static void put_row(FILE *out, const tc_record *record, const tc_row *row, size_t m, size_t states) {
    if (record->seeded)
        (void)fprintf(out, "%llu", (unsigned long long)record->seed);
    (void)fprintf(out, ",%llu", (unsigned long long)row->k);
    const double numbers[] = {row->x_error, row->mu_error, row->objective, row->max_violation};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)fputc(',', out);
        put_number(out, numbers[i]);
    }
    for (size_t j = 0; j < 2 * m; j++) {
        (void)fputc(',', out);
        put_number(out, j < m ? row->constraints[j] : row->multipliers[j - m]);
    }
    for (size_t i = 0; i < states; i++) {
        (void)fputc(',', out);
        put_number(out, row->states[i]);
    }
    (void)fputc('\n', out);
}

static void put_run(FILE *out, const tc_trace *trace) {
    size_t m = trace->constraint_count;
    (void)fputs("seed,k,x_error,mu_error,objective,max_violation", out);
    for (size_t j = 0; j < 2 * m; j++)
        put_column(out, j < m ? "g" : "mu", trace->constraints[j % m]);
    for (size_t i = 0; i < trace->state_count; i++)
        put_column(out, "x", trace->states[i]);
    (void)fputc('\n', out);
    for (size_t i = 0; i < trace->record_count; i++) {
        for (size_t row = 0; row < trace->records[i].row_count; row++)
            put_row(out, &trace->records[i], &trace->records[i].rows[row], m, trace->state_count);
    }
}

static void put_sweep(FILE *out, const tc_trace *trace) {
    (void)fputs("epsilon,seed,x_error,mu_error,objective,max_violation,penalty\n", out);
    for (size_t i = 0; i < trace->point_count; i++) {
        const tc_trace_point *point = &trace->points[i];
        put_number(out, point->epsilon);
        (void)fputc(',', out);
        if (point->seeded)
            (void)fprintf(out, "%llu", (unsigned long long)point->seed);
        const double numbers[] = {point->x_error, point->mu_error, point->objective, point->max_violation,
                                  point->penalty};
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            (void)fputc(',', out);
            put_number(out, numbers[n]);
        }
        (void)fputc('\n', out);
    }
}

static void put_marks(FILE *out, const tc_trace *trace) {
    (void)fputs("k,x_error,mu_error,objective,max_violation\n", out);
    for (size_t i = 0; i < trace->mark_count; i++) {
        const tc_row *mark = &trace->marks[i];
        (void)fprintf(out, "%llu", (unsigned long long)mark->k);
        const double numbers[] = {mark->x_error, mark->mu_error, mark->objective, mark->max_violation};
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            (void)fputc(',', out);
            put_number(out, numbers[n]);
        }
        (void)fputc('\n', out);
    }
}

tc_status tc_trace_write(tc_arena *arena, const char *path, const tc_trace *trace, tc_buffer *messages) {
    tc_file *file;
    tc_status status = tc_file_open(arena, path, messages, &file);
    if (status != TC_OK)
        return status;
    put_comments(file->stream, trace);
    if (trace->kind == TC_TRACE_RUN)
        put_run(file->stream, trace);
    else if (trace->kind == TC_TRACE_SWEEP)
        put_sweep(file->stream, trace);
    else
        put_marks(file->stream, trace);
    return tc_file_close(file, messages);
}
