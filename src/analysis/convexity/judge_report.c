/* What is wrong with a function, in words. */
#include "analysis/findings.h"
#include "analysis/convexity/judge.h"

static tc_span span_of(const tc_prover *p, tc_expr e, tc_span fallback) {
    return p->dag->spans[e].length > 0 ? p->dag->spans[e] : fallback;
}

void tc_report_flaw(tc_prover *p, tc_assumption *assumption, const char *whose, const tc_flaw *flaw, tc_span fallback,
                    bool exact) {
    char lo[32], hi[32];
    tc_interval range = p->enclosures[flaw->argument];
    bool certain = flaw->certain && exact;
    tc_find(p->arena, assumption, &p->model->source, certain ? TC_FAILS : TC_UNPROVED, span_of(p, flaw->node, fallback),
            "%s %s, but that ranges %s[%s, %s] (in %s). %s", "This", flaw->needs, certain ? "over " : "within ",
            tc_short_number(lo, range.lo), tc_short_number(hi, range.hi), whose, flaw->helps);
}

static void leaf_name(tc_prover *p, tc_buffer *out, tc_expr leaf) {
    const tc_node *n = &p->dag->nodes[leaf];
    if (n->op == TC_STATE)
        tc_component_name(out, p->batch->family, n->u.index);
    else if (n->op == TC_COORD)
        tc_coord_name(out, p->model, n->u.index);
    else
        tc_buffer_puts(out, "the sum");
}

/* "at x = 1, y = 0 its second derivative along (1, -1) is -2" */
static const char *describe(tc_prover *p, const tc_counterexample *c) {
    enum { SHOWN = 6 };
    tc_buffer out = tc_buffer_new(p->arena, 16384);
    char number[32];
    size_t count = c->hessian->count, shown = 0;
    tc_buffer_puts(&out, "at ");
    for (size_t i = 0; i < count && shown < SHOWN; i++) {
        if (p->dag->nodes[c->hessian->leaves[i]].op == TC_SUM)
            continue;
        tc_buffer_puts(&out, shown++ > 0 ? ", " : "");
        leaf_name(p, &out, c->hessian->leaves[i]);
        tc_buffer_printf(&out, " = %s", tc_short_number(number, c->point[i]));
    }
    tc_buffer_puts(&out, shown == 0 ? "any point" : count > SHOWN ? ", ..." : "");
    tc_buffer_puts(&out, " the second derivative along ");
    if (count == 1) {
        leaf_name(p, &out, c->hessian->leaves[0]);
    } else {
        tc_buffer_puts(&out, "(");
        for (size_t i = 0; i < count && i < SHOWN; i++)
            tc_buffer_printf(&out, "%s%s", i > 0 ? ", " : "", tc_short_number(number, c->direction[i]));
        tc_buffer_puts(&out, count > SHOWN ? ", ...)" : ")");
    }
    tc_buffer_printf(&out, " is %s", tc_short_number(number, c->value));
    return tc_buffer_text(&out);
}

void tc_report_curvature(tc_prover *p, tc_assumption *assumption, const char *whose, tc_expr root, tc_span fallback,
                         bool refutable) {
    const char *why = "";
    tc_expr guilty = tc_prover_blame(p, root, TC_CONVEX, &why);
    tc_span span = span_of(p, guilty, fallback);
    tc_counterexample whole = tc_refute(p, root, TC_CONVEX);
    if (whole.found && refutable) {
        tc_counterexample part = tc_refute(p, guilty, TC_CONVEX);
        tc_counterexample other = tc_refute(p, guilty, TC_CONCAVE);
        if (part.found && other.found)
            why = "is neither convex nor concave";
        tc_find(p->arena, assumption, &p->model->source, TC_FAILS, span, "This %s, so %s is not convex: %s.", why,
                whose, describe(p, &whole));
        return;
    }
    tc_find(p->arena, assumption, &p->model->source, TC_UNPROVED, span,
            "This %s, so %s could not be proved convex on the box.%s", why, whose,
            whole.found ? "" : " Sums of squares, sumsq(v), or a tighter box may help.");
}
