/* The analysis for people. */
#include "analysis/analysis.h"
#include "analysis/findings.h"
#include "analysis/lipschitz.h"
#include "analysis/warnings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ROWS = 24, FINDING_INDENT = 6, NAME_WIDTH = 14 };

typedef struct page {
    tc_buffer *out;
    unsigned width;
    const tc_analysis *analysis;
} page;

/* Words of text, wrapped, every line after an indent; the first line begins at `column`. */
static void wrap(page *p, const char *text, size_t indent, size_t column) {
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + length > p->width) {
            tc_buffer_printf(p->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            tc_buffer_puts(p->out, " ");
            column++;
        }
        tc_buffer_add(p->out, text, length);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    tc_buffer_puts(p->out, "\n");
}

static void paragraph(page *p, size_t indent, const char *text) {
    tc_buffer_printf(p->out, "%*s", (int)indent, "");
    wrap(p, text, indent, indent);
}

/* ---- numbers: the ends of a bracket are rounded outward ------------------------------------------------------------
 */

static const char *shown(char text[32], double value, int direction) {
    if (!isfinite(value))
        return value > 0 ? "unbounded" : "-";
    for (int digits = 7; digits <= 17; digits++) {
        (void)snprintf(text, 32, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (direction == 0 || (direction > 0 ? back >= value : back <= value))
            return text;
        double moved = value + direction * fabs(value) * 6e-8;
        (void)snprintf(text, 32, "%.*g", digits, moved);
        back = strtod(text, NULL);
        if (direction > 0 ? back >= value : back <= value)
            return text;
    }
    return text;
}

static const char *bracket_text(char text[80], const tc_bracket *b) {
    char lower[32], upper[32];
    if (b->upper <= b->lower * (1 + 1e-9) || b->upper == b->lower)
        (void)snprintf(text, 80, "%s", shown(upper, b->upper, 0));
    else
        (void)snprintf(text, 80, "[%s, %s]", shown(lower, b->lower, -1), shown(upper, b->upper, 1));
    return text;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

static void write_head(page *p) {
    const tc_model *m = p->analysis->model;
    static const char *const roles[] = {
        [TC_ROLE_WHOLE] = "", [TC_ROLE_CLOUD] = " (the cloud's file)", [TC_ROLE_AGENT] = " (an agent's file)"};
    tc_buffer_printf(p->out, "%s%s: %zu agent%s, %zu state%s, %zu constraint%s\n\n",
                     m->source.path != NULL ? m->source.path : "problem", roles[m->role], m->agent_count,
                     plural(m->agent_count), m->state_count, plural(m->state_count), m->constraint_count,
                     plural(m->constraint_count));
}

static void write_assumption(page *p, int number, const char *name, const tc_assumption *a) {
    static const char *const words[] = {
        [TC_HOLDS] = "yes", [TC_FAILS] = "NO", [TC_UNPROVED] = "NOT PROVED", [TC_ELSEWHERE] = "--"};
    tc_buffer_printf(p->out, "  %d  %-12s %-4s ", number, name, words[a->verdict]);
    size_t length = strlen(words[a->verdict]), indent = 5 + 13 + (length > 4 ? length : 4) + 1;
    wrap(p, a->summary, indent, indent);
    for (size_t i = 0; i < a->finding_count; i++) {
        const tc_finding *f = &a->findings[i];
        if (f->place != NULL)
            tc_buffer_printf(p->out, "%*s%s: %s\n", FINDING_INDENT, "", f->place, f->expression);
        paragraph(p, f->place != NULL ? FINDING_INDENT + 2 : FINDING_INDENT, f->text);
    }
    if (a->findings_left_out > 0)
        tc_buffer_printf(p->out, "%*s... and %zu more\n", FINDING_INDENT, "", a->findings_left_out);
}

static const char *declared_text(char text[80], const tc_bracket *b) {
    char number[32];
    text[0] = '\0';
    if (tc_declared(b))
        (void)snprintf(text, 80, "%s %s", shown(number, b->declared, 0),
                       tc_declared_too_small(b)     ? "TOO SMALL"
                       : tc_declared_uncertified(b) ? "not certified"
                                                    : "ok");
    return text;
}

static void table_line(page *p, const char *name, const char *one, const char *two, const char *three) {
    tc_buffer line = tc_buffer_new(p->out->arena, 4096);
    tc_buffer_printf(&line, "  %-*s %-22s %-22s %s", (int)NAME_WIDTH, name, one, two, three);
    size_t length = line.length;
    while (length > 0 && line.text[length - 1] == ' ')
        length--;
    tc_buffer_add(p->out, line.text, length);
    tc_buffer_puts(p->out, "\n");
}

static void table_row(page *p, const char *name, const tc_bracket *one, const tc_bracket *two,
                      const tc_bracket *three) {
    char text[3][80] = {"", "", ""}, declared[3][80] = {"", "", ""};
    const tc_bracket *brackets[] = {one, two, three};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (brackets[i] == NULL)
            continue;
        (void)bracket_text(text[i], brackets[i]);
        (void)declared_text(declared[i], brackets[i]);
        any = any || declared[i][0] != '\0';
    }
    table_line(p, name, text[0], text[1], text[2]);
    if (any)
        table_line(p, "  declared", declared[0], declared[1], declared[2]);
}

static bool same_bracket(const tc_bracket *x, const tc_bracket *y) {
    return x->lower == y->lower && x->upper == y->upper &&
           (x->declared == y->declared || (!tc_declared(x) && !tc_declared(y)));
}

static bool same_row(const tc_agent_constants *x, const tc_agent_constants *y) {
    return x->family == y->family && same_bracket(&x->jacobian[0], &y->jacobian[0]) &&
           same_bracket(&x->jacobian[1], &y->jacobian[1]) && same_bracket(&x->objective, &y->objective);
}

/* "bo .. kit"; on two lines where it is long. */
static const char *range_name(page *p, const tc_agent_constants *from, const tc_agent_constants *to) {
    tc_arena *arena = p->out->arena;
    const char *first = tc_row_name(arena, p->analysis, from), *last = tc_row_name(arena, p->analysis, to);
    if (strlen(first) + strlen(last) + 4 <= NAME_WIDTH)
        return tc_arena_format(arena, "%s .. %s", first, last);
    table_line(p, tc_arena_format(arena, "%s ..", first), "", "", "");
    return tc_arena_format(arena, "  %s", last);
}

static void write_rows(page *p) {
    const tc_analysis *a = p->analysis;
    bool objectives = a->model->role != TC_ROLE_CLOUD, blocks = a->model->role != TC_ROLE_AGENT;
    size_t lines = 0;
    for (size_t r = 0; r < a->agent_rows;) {
        size_t end = r + 1;
        while (end < a->agent_rows && same_row(&a->agents[r], &a->agents[end]))
            end++;
        if (lines++ == SHOWN_ROWS) {
            tc_buffer_printf(p->out, "  ... and %zu more agents (--json shows all)\n", a->agent_rows - r);
            return;
        }
        const tc_agent_constants *row = &a->agents[r];
        const char *name = tc_row_name(p->out->arena, a, row);
        if (end - r > 1)
            name = range_name(p, row, &a->agents[end - 1]);
        table_row(p, name, blocks ? &row->jacobian[0] : NULL, blocks ? &row->jacobian[1] : NULL,
                  objectives ? &row->objective : NULL);
        r = end;
    }
}

static void write_constants(page *p) {
    const tc_analysis *a = p->analysis;
    tc_buffer_puts(p->out, "\nLipschitz constants over the public box, proved\n");
    if (a->model->constraint_count > 0) {
        table_line(p, "g", "K^g_1 (l1)", "K^g_2 (l2)", "");
        table_row(p, "", &a->g[0], &a->g[1], NULL);
    }
    bool objectives = a->model->role != TC_ROLE_CLOUD;
    if (a->model->constraint_count > 0)
        table_line(p, "each agent", "K^i_1 of g_{x_i}", "K^i_2 of g_{x_i}", objectives ? "L_i of grad f_i" : "");
    else
        table_line(p, "each agent", "", "", "L_i of grad f_i");
    write_rows(p);
    if (a->model->constraint_count > 0)
        paragraph(p, 2,
                  tc_arena_format(p->out->arena,
                                  "The Jacobian has %llu entries that vary, %llu that are constant and %llu that are "
                                  "zero by structure.",
                                  (unsigned long long)a->total.varying, (unsigned long long)a->total.constants,
                                  (unsigned long long)a->total.zeros));
}

static void write_slater(page *p) {
    const tc_analysis *a = p->analysis;
    const tc_slater_facts *s = &a->slater_facts;
    char number[32];
    if (s->point == NULL || a->model->constraint_count == 0)
        return;
    tc_buffer_puts(p->out, "\nSlater point\n");
    paragraph(p, 2,
              tc_arena_format(p->out->arena, "%s point with margin %s (proved), decided by constraint %s.",
                              s->origin == TC_POINT_DECLARED ? "The declared" : "A", shown(number, s->margin, 0),
                              a->model->constraints[s->worst].name));
    if (s->declared && s->origin != TC_POINT_DECLARED)
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "The declared public point has margin %s.",
                                  shown(number, s->declared_margin, 0)));
    size_t shown_agents = 0;
    for (size_t f = 0; f < a->model->family_count && shown_agents < 10; f++) {
        const tc_family *family = &a->model->families[f];
        for (size_t k = 0; k < family->count && shown_agents < 10; k++, shown_agents++) {
            tc_buffer line = tc_buffer_new(p->out->arena, 65536);
            tc_agent_name(&line, family, k);
            tc_buffer_puts(&line, " =");
            for (size_t c = 0; c < family->dim && c < 8; c++)
                tc_buffer_printf(&line, " %s", tc_short_number(number, s->point[tc_coord_of(family, k, c)]));
            tc_buffer_puts(&line, family->dim > 8 ? " ..." : "");
            paragraph(p, 4, tc_buffer_text(&line));
        }
    }
    if (shown_agents < a->model->agent_count)
        tc_buffer_printf(p->out, "    ... and %zu more agents\n", a->model->agent_count - shown_agents);
}

static void write_radius(page *p) {
    const tc_dual_radius *r = &p->analysis->dual_radius;
    char number[32], other[32];
    if (r->origin == TC_RADIUS_NONE)
        return;
    tc_buffer_puts(p->out, "\nDual radius\n");
    if (r->origin == TC_RADIUS_PRIVATE) {
        paragraph(p, 2,
                  tc_arena_format(p->out->arena,
                                  "R = %s from private data, good for study only. To run privately, publish one: "
                                  "`dual radius %.3g`, or a `gap` and a `slater` point for every agent.",
                                  shown(number, r->value, 0), 1.25 * r->value));
        return;
    }
    paragraph(p, 2,
              tc_arena_format(p->out->arena, "R = %s, %s.", shown(number, r->value, 0),
                              r->origin == TC_RADIUS_GIVEN ? "as the file gives it"
                                                           : "from the public gaps and the public Slater point"));
    if (!isnan(r->from_data))
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "Private data would allow R = %s.", shown(other, r->from_data, 0)));
}

void tc_analysis_text(const tc_analysis *a, tc_buffer *out, unsigned width) {
    page p = {.out = out, .width = width != 0 ? width : 80, .analysis = a};
    write_head(&p);
    tc_buffer_puts(out, "Assumptions\n");
    write_assumption(&p, 1, "objectives", &a->objectives);
    write_assumption(&p, 2, "sets", &a->sets);
    write_assumption(&p, 3, "constraints", &a->constraints);
    write_assumption(&p, 4, "Slater", &a->slater);
    write_constants(&p);
    write_slater(&p);
    write_radius(&p);
    if (a->warning_count > 0)
        tc_buffer_puts(out, "\nWarnings\n");
    for (size_t i = 0; i < a->warning_count; i++) {
        tc_buffer_puts(out, "  ! ");
        wrap(&p, a->warnings[i], 4, 4);
    }
    tc_buffer_puts(out, tc_analysis_holds(a) ? "\nAll assumptions hold.\n" : "\nNot all assumptions hold.\n");
}
