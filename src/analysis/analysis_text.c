/* The analysis for people. */
#include "analysis/analysis.h"
#include "analysis/findings.h"
#include "base/text.h"
#include "analysis/region.h"
#include "analysis/warnings.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_ROWS = 24, SHOWN_AGENTS = 10, SHOWN_STATES = 8, FINDING_INDENT = 6, DIGITS = 7 };

typedef struct printer {
    tc_text_layout layout;
    tc_buffer *out;
    const tc_analysis *analysis;
} printer;

static void paragraph(printer *p, size_t indent, const char *text) { tc_layout_paragraph(&p->layout, indent, text); }

/* JSON is not cut where there are few agents. */
static const char *how_to_see_all(const printer *p) {
    return p->analysis->by_family ? "--full shows all" : "--full or --json shows all";
}

static void write_head(printer *p) {
    const tc_model *m = p->analysis->model;
    static const char *const roles[] = {
        [TC_ROLE_WHOLE] = "", [TC_ROLE_CLOUD] = " (the cloud's file)", [TC_ROLE_AGENT] = " (an agent's file)"};
    tc_buffer_printf(p->out, "%s%s: %zu agent%s, %zu state%s, %zu constraint%s\n\n",
                     m->source.path != NULL ? m->source.path : "problem", roles[m->role], m->agent_count,
                     tc_plural(m->agent_count), m->state_count, tc_plural(m->state_count), m->constraint_count,
                     tc_plural(m->constraint_count));
}

static void write_assumption(printer *p, int number, const char *name, const tc_assumption *a) {
    static const char *const words[] = {
        [TC_HOLDS] = "yes", [TC_FAILS] = "NO", [TC_UNPROVED] = "NOT PROVED", [TC_ELSEWHERE] = "--"};
    tc_buffer_printf(p->out, "  %d  %-12s %-4s ", number, name, words[a->verdict]);
    size_t length = strlen(words[a->verdict]), indent = 5 + 13 + (length > 4 ? length : 4) + 1;
    tc_layout_wrap(&p->layout, a->summary, indent, indent);
    for (size_t i = 0; i < a->finding_count; i++) {
        const tc_finding *f = &a->findings[i];
        if (f->place != NULL) {
            tc_buffer_printf(p->out, "%*s", FINDING_INDENT, "");
            tc_layout_wrap(&p->layout, tc_arena_format(p->out->arena, "%s: %s", f->place, f->expression),
                           FINDING_INDENT + 4, FINDING_INDENT);
        }
        paragraph(p, f->place != NULL ? FINDING_INDENT + 2 : FINDING_INDENT, f->text);
    }
    if (a->findings_left_out > 0)
        tc_buffer_printf(p->out, "%*s... and %zu more\n", FINDING_INDENT, "", a->findings_left_out);
}

static void table_line(printer *p, const char *name, const char *one, const char *two, const char *three) {
    tc_layout_line(&p->layout, name, (const char *const[]){one, two, three});
}

/* [lower, upper], rounded outward, or the one number that it is, in as many digits as a cell has room for. */
static void shown_bracket(char text[80], const tc_bracket *b) {
    char lower[32], upper[32];
    bool one = b->upper <= b->lower * (1 + 1e-9) || b->upper == b->lower;
    for (int digits = DIGITS; digits > 0; digits--) {
        if (one)
            (void)snprintf(text, 80, "%s", tc_shown(upper, b->upper, 0, digits));
        else
            (void)snprintf(text, 80, "[%s, %s]", tc_shown(lower, b->lower, -1, digits),
                           tc_shown(upper, b->upper, 1, digits));
        if (strlen(text) <= TC_CELL_WIDTH)
            break;
    }
}

/* "2.5 ok", or what is wrong with a declared constant; "" where there is none. */
static void shown_declared(char text[80], const tc_bracket *b) {
    char number[32];
    text[0] = '\0';
    for (int digits = DIGITS; tc_declared(b) && digits > 2; digits--) {
        (void)snprintf(text, 80, "%s %s", tc_shown(number, b->declared, 0, digits),
                       tc_declared_too_small(b)     ? "TOO SMALL"
                       : tc_declared_uncertified(b) ? "uncertified"
                                                    : "ok");
        if (strlen(text) <= TC_CELL_WIDTH)
            break;
    }
}

/* Brackets that are NULL leave no gap. */
static void table_row(printer *p, const char *name, const tc_bracket *one, const tc_bracket *two,
                      const tc_bracket *three) {
    char text[3][80] = {"", "", ""}, declared[3][80] = {"", "", ""};
    const tc_bracket *brackets[] = {one, two, three};
    bool any = false;
    for (int i = 0, cell = 0; i < 3; i++) {
        if (brackets[i] == NULL)
            continue;
        shown_bracket(text[cell], brackets[i]);
        shown_declared(declared[cell], brackets[i]);
        any = any || declared[cell][0] != '\0';
        cell++;
    }
    if (tc_text_width(name, strlen(name)) > TC_NAME_WIDTH) {
        table_line(p, name, "", "", "");
        name = "";
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
static const char *range_name(printer *p, const tc_agent_constants *from, const tc_agent_constants *to) {
    tc_arena *arena = p->out->arena;
    const char *first = tc_row_name(arena, p->analysis, from), *last = tc_row_name(arena, p->analysis, to);
    if (tc_text_width(first, strlen(first)) + tc_text_width(last, strlen(last)) + 4 <= TC_NAME_WIDTH)
        return tc_arena_format(arena, "%s .. %s", first, last);
    table_line(p, tc_arena_format(arena, "%s ..", first), "", "", "");
    return tc_arena_format(arena, "  %s", last);
}

static void write_rows(printer *p) {
    const tc_analysis *a = p->analysis;
    bool objectives = a->model->role != TC_ROLE_CLOUD, blocks = a->model->constraint_count > 0;
    size_t lines = 0;
    for (size_t r = 0; r < a->agent_rows;) {
        size_t end = r + 1;
        while (end < a->agent_rows && same_row(&a->agents[r], &a->agents[end]))
            end++;
        if (lines++ == SHOWN_ROWS && !a->print_all_points) {
            size_t left = a->agent_rows - r;
            tc_buffer_printf(p->out, "  ... and %zu more %s%s (%s)\n", left, a->by_family ? "row" : "agent",
                             tc_plural(left), how_to_see_all(p));
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

static void write_entries(printer *p) {
    const tc_constancy *c = &p->analysis->total;
    paragraph(p, 2,
              tc_arena_format(
                  p->out->arena, "The Jacobian has %llu %s, %llu that %s constant and %llu that %s zero by structure.",
                  (unsigned long long)c->varying, c->varying == 1 ? "entry that varies" : "entries that vary",
                  (unsigned long long)c->constants, c->constants == 1 ? "is" : "are", (unsigned long long)c->zeros,
                  c->zeros == 1 ? "is" : "are"));
}

static void write_constants(printer *p) {
    const tc_analysis *a = p->analysis;
    bool objectives = a->model->role != TC_ROLE_CLOUD, blocks = a->model->constraint_count > 0;
    if (!objectives && !blocks)
        return;
    tc_buffer_puts(p->out, "\nLipschitz constants over the public box, proved\n");
    if (blocks) {
        table_line(p, "g", "K^g_1 (l1)", "K^g_2 (l2)", "");
        table_row(p, "", &a->g[0], &a->g[1], NULL);
        table_line(p, "each agent", "K^i_1 of g_{x_i}", "K^i_2 of g_{x_i}", objectives ? "L_i of grad f_i" : "");
    } else {
        table_line(p, "each agent", "L_i of grad f_i", "", "");
    }
    write_rows(p);
    if (blocks)
        write_entries(p);
}

/* What a search leaves of zero is shown as zero: 1e-13 of a box of width 10 says no more. */
static double shown_state(const tc_family *family, size_t member, size_t component, double value) {
    tc_interval range = tc_public_range(family, member, component);
    return fabs(value) <= 1e-9 * (range.hi - range.lo) ? 0 : value;
}

static void write_point(printer *p, const double *point) {
    const tc_analysis *a = p->analysis;
    char number[32];
    size_t most = a->print_all_points ? SIZE_MAX : SHOWN_AGENTS, states = a->print_all_points ? SIZE_MAX : SHOWN_STATES;
    size_t done = 0;
    bool cut = false;
    for (size_t f = 0; f < a->model->family_count && done < most; f++) {
        const tc_family *family = &a->model->families[f];
        for (size_t k = 0; k < family->count && done < most; k++, done++) {
            tc_buffer line = tc_buffer_new(p->out->arena, SIZE_MAX / 4);
            tc_agent_name(&line, family, k);
            tc_buffer_puts(&line, " =");
            for (size_t c = 0; c < family->dim && c < states; c++)
                tc_buffer_printf(&line, " %s",
                                 tc_short_number(number, shown_state(family, k, c, point[tc_coord_of(family, k, c)])));
            cut = cut || family->dim > states;
            tc_buffer_puts(&line, family->dim > states ? " ..." : "");
            paragraph(p, 4, tc_buffer_text(&line));
        }
    }
    size_t left = a->model->agent_count - done;
    if (left > 0)
        tc_buffer_printf(p->out, "    ... and %zu more agent%s (%s)\n", left, tc_plural(left), how_to_see_all(p));
    else if (cut)
        tc_buffer_printf(p->out, "    (%s)\n", how_to_see_all(p));
}

static void write_slater(printer *p) {
    const tc_analysis *a = p->analysis;
    const tc_slater_facts *s = &a->slater_facts;
    char number[32];
    if (s->point == NULL || a->model->constraint_count == 0)
        return;
    bool strict = s->margin > 0;
    tc_buffer_puts(p->out, strict ? "\nSlater point\n" : "\nBest point found\n");
    paragraph(p, 2,
              tc_arena_format(p->out->arena, "%s margin %s%s, decided by constraint %s.",
                              !strict                          ? "It is not strictly feasible:"
                              : s->origin == TC_POINT_DECLARED ? "The declared point with"
                                                               : "A point with",
                              tc_shown(number, s->margin, 0, DIGITS), strict ? " (proved)" : "",
                              a->model->constraints[s->worst].name));
    if (s->declared && s->origin != TC_POINT_DECLARED)
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "The declared public point has margin %s.",
                                  tc_shown(number, s->declared_margin, 0, DIGITS)));
    write_point(p, s->point);
}

static void write_radius(printer *p) {
    const tc_dual_radius *r = &p->analysis->dual_radius;
    char number[32], other[32];
    if (r->origin == TC_RADIUS_NONE)
        return;
    tc_buffer_puts(p->out, "\nDual radius\n");
    if (r->origin == TC_RADIUS_PRIVATE) {
        paragraph(p, 2,
                  tc_arena_format(p->out->arena,
                                  "R = %s from private data, for study only: neither it nor a number made of it may be "
                                  "published. To run privately, give every agent a `slater` point and a `gap`, or the "
                                  "file a `dual radius`, chosen from what everybody may know: what any agent could "
                                  "have at stake, not what these ones have.",
                                  tc_shown(number, r->value, 0, DIGITS)));
        return;
    }
    paragraph(p, 2,
              tc_arena_format(p->out->arena, "R = %s, %s.", tc_shown(number, r->value, 0, DIGITS),
                              r->origin == TC_RADIUS_GIVEN ? "as the file gives it"
                                                           : "from the public gaps and the public Slater point"));
    if (!isnan(r->from_data))
        paragraph(p, 2,
                  tc_arena_format(p->out->arena, "Private data would allow R = %s.",
                                  tc_shown(other, r->from_data, 0, DIGITS)));
}

void tc_analysis_text(const tc_analysis *a, tc_buffer *out, unsigned width) {
    printer p = {.layout = {.out = out, .width = width != 0 ? width : 80}, .out = out, .analysis = a};
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
        tc_layout_wrap(&p.layout, a->warnings[i], 4, 4);
    }
    tc_buffer_printf(out, "\n%s%s.\n", tc_analysis_holds(a) ? "All assumptions hold" : "Not all assumptions hold",
                     !tc_analysis_holds(a) || a->warning_count == 0 ? ""
                     : a->warning_count == 1                        ? ", but see the warning"
                                                                    : ", but see the warnings");
}
