/* The page as a whole. */
#include "report/report.h"

#include "report/html.h"
#include "report/page/page.h"

#include <string.h>

static const size_t longest_page = (size_t)1 << 32;

/* ---- which sections there are ------------------------------------------------------------------------------------ */

typedef struct contents {
    tc_section *sections;
    size_t count;
    tc_section_group *runs, *sweeps;
    size_t run_count, sweep_count;             /* sections */
    size_t run_group_count, sweep_group_count; /* of them */
    const char *problem;                       /* of all; NULL where they differ */
} contents;

static void add_section(tc_arena *arena, contents *c, const tc_trace *trace, size_t most_marks) {
    bool is_run = trace->kind == TC_TRACE_RUN;
    tc_section *section = &c->sections[c->count];
    size_t number = is_run ? ++c->run_count : ++c->sweep_count;
    section->trace = trace;
    section->id = tc_arena_format(arena, is_run ? "run-%zu" : "sweep-%zu", number);
    section->marks = TC_NEW(arena, const tc_trace *, most_marks);
    const char *problem = trace->problem != NULL ? trace->problem : "";
    c->problem = c->count == 0 || (c->problem != NULL && strcmp(c->problem, problem) == 0) ? problem : NULL;
    c->count++;
}

static tc_status collect(tc_arena *arena, const tc_trace *const *traces, size_t count, tc_buffer *messages,
                         contents *c) {
    c->sections = TC_NEW(arena, tc_section, count);
    for (size_t i = 0; i < count; i++) {
        if (traces[i]->kind != TC_TRACE_MARKS) {
            add_section(arena, c, traces[i], count);
            continue;
        }
        tc_section *before = c->count > 0 ? &c->sections[c->count - 1] : NULL;
        if (before == NULL || before->trace->kind != TC_TRACE_RUN) {
            tc_buffer_printf(messages, "marks%s%s belong to the run before them, and there is none\n",
                             traces[i]->label != NULL ? " " : "", traces[i]->label != NULL ? traces[i]->label : "");
            return TC_BAD_USAGE;
        }
        before->marks[before->mark_count++] = traces[i];
    }
    tc_label_sections(arena, c->sections, c->count);
    c->runs = tc_group_sections(arena, c->sections, c->count, TC_TRACE_RUN, &c->run_group_count);
    c->sweeps = tc_group_sections(arena, c->sections, c->count, TC_TRACE_SWEEP, &c->sweep_group_count);
    return TC_OK;
}

/* ---- head and foot ----------------------------------------------------------------------------------------------- */

static void put_head(tc_report *report, const char *title) {
    tc_buffer *out = report->out;
    tc_buffer_puts(out,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                   "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
                   "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>");
    tc_put_text(out, title);
    tc_buffer_puts(out, "</title>\n<style>\n");
    for (const char *const *piece = tc_report_style; *piece != NULL; piece++)
        tc_buffer_puts(out, *piece);
    tc_buffer_puts(out, "</style>\n</head>\n<body>\n");
}

static void put_entry(tc_buffer *out, const char *id, const char *what, const char *label) {
    tc_buffer_printf(out, "<li><a href=\"#%s\">%s", id, what);
    tc_put_text(out, label);
    tc_buffer_puts(out, "</a></li>\n");
}

static void put_group_entries(tc_buffer *out, const tc_section_group *groups, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (groups[i].count > 1)
            put_entry(out, groups[i].id, "", groups[i].title);
    }
}

static void put_contents(tc_report *report, const contents *c) {
    tc_buffer *out = report->out;
    if (c->count < 2)
        return;
    tc_buffer_puts(out, "<nav aria-label=\"Contents\">\n<ul>\n");
    put_group_entries(out, c->runs, c->run_group_count);
    put_group_entries(out, c->sweeps, c->sweep_group_count);
    for (size_t i = 0; i < c->count; i++)
        put_entry(out, c->sections[i].id,
                  c->sections[i].trace->kind == TC_TRACE_RUN ? "Run: " : "Sweep: ", c->sections[i].label);
    tc_buffer_puts(out, "</ul>\n</nav>\n");
    if (c->run_group_count > 1 || c->sweep_group_count > 1)
        tc_buffer_printf(out,
                         "<p class=\"note\">Only %s of the same problem are side by side: those with its name, its "
                         "constraints and its start.</p>\n",
                         c->run_group_count > 1 ? "runs" : "sweeps");
}

static void put_lead(tc_report *report, const char *title, const contents *c) {
    tc_buffer *out = report->out;
    tc_buffer_puts(out, "<header>\n<h1>");
    tc_put_text(out, title);
    tc_buffer_puts(out, "</h1>\n<p class=\"lead\">");
    if (c->problem != NULL && c->problem[0] != '\0') {
        tc_buffer_puts(out, "Private optimisation of ");
        tc_put_text(out, c->problem);
        tc_buffer_puts(out, ": how");
    } else {
        tc_buffer_puts(out, "Private optimisation: how");
    }
    tc_buffer_puts(out, " close runs come to the solution, whether the constraints hold, and what was promised.</p>\n");
    tc_buffer_printf(out, "<p class=\"note\">%s</p>\n", tc_page_not_released);
    put_contents(report, c);
    tc_buffer_puts(out, "</header>\n");
}

enum { MOST_SUMMARIES = 6 };

/* Of the runs; a sweep has its verdict among its notes. */
static void put_summaries(tc_report *report, const contents *c) {
    size_t shown = 0;
    if (c->run_count == 0)
        return;
    tc_buffer_puts(report->out, "<section id=\"summary\" class=\"summary\">\n<h2>In short</h2>\n");
    for (size_t i = 0; i < c->count && shown < MOST_SUMMARIES; i++) {
        if (c->sections[i].trace->kind != TC_TRACE_RUN)
            continue;
        tc_put_summary(report, &c->sections[i], c->run_count > 1);
        shown++;
    }
    if (shown < c->run_count)
        tc_buffer_printf(report->out, "<p class=\"note\">And %zu more runs below.</p>\n", c->run_count - shown);
    tc_buffer_puts(report->out, "</section>\n");
}

static void put_page(tc_report *report, const char *title, const contents *c) {
    put_head(report, title);
    put_lead(report, title, c);
    tc_buffer_puts(report->out, "<main>\n");
    put_summaries(report, c);
    for (size_t i = 0; i < c->run_group_count; i++) {
        if (c->runs[i].count > 1)
            tc_put_run_comparison(report, &c->runs[i]);
    }
    for (size_t i = 0; i < c->sweep_group_count; i++) {
        if (c->sweeps[i].count > 1)
            tc_put_sweep_comparison(report, &c->sweeps[i]);
    }
    for (size_t i = 0; i < c->count; i++) {
        if (c->sections[i].trace->kind == TC_TRACE_RUN)
            tc_put_run(report, &c->sections[i]);
        else
            tc_put_sweep(report, &c->sections[i]);
    }
    tc_buffer_puts(report->out, "</main>\n<footer>Written by tacit report. The page needs no network; the same traces "
                                "give the same page.</footer>\n</body>\n</html>\n");
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

tc_status tc_report_html(tc_arena *arena, const char *title, const tc_trace *const *traces, size_t trace_count,
                         tc_buffer *messages, tc_buffer *html) {
    contents c = {0};
    tc_status status = collect(arena, traces, trace_count, messages, &c);
    if (status != TC_OK)
        return status;
    tc_report report = {.arena = arena, .out = html};
    bool has_problem = c.problem != NULL && c.problem[0] != '\0';
    if (title == NULL)
        title = has_problem ? tc_arena_format(arena, "Report on %s", c.problem) : "Report";
    put_page(&report, title, &c);
    return TC_OK;
}

tc_status tc_report_write(tc_arena *arena, const char *path, const char *title, const tc_trace *const *traces,
                          size_t trace_count, tc_buffer *messages) {
    tc_buffer html = tc_buffer_new(arena, longest_page);
    tc_status status = tc_report_html(arena, title, traces, trace_count, messages, &html);
    if (status != TC_OK)
        return status;
    tc_file *file;
    status = tc_file_open(arena, path, messages, &file);
    if (status != TC_OK)
        return status;
    (void)fwrite(html.text, 1, html.length, file->stream);
    return tc_file_close(file, messages);
}
