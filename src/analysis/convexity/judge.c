#include "analysis/convexity/judge.h"

#include "analysis/findings.h"

tc_member_judge *tc_member_judge_new(tc_prover *prover, const tc_family *family, bool private_sets,
                                     const tc_monitor *monitor) {
    tc_member_judge *judge = TC_NEW(prover->arena, tc_member_judge, 1);
    *judge = (tc_member_judge){
        .prover = prover, .family = family, .monitor = monitor, .batch = tc_batch_new(prover->arena, family)};
    if (private_sets && family->piece_count > 0) {
        judge->set = tc_set_new(prover->arena, family);
        judge->lower = TC_NEW(prover->arena, double, family->dim);
        judge->upper = TC_NEW(prover->arena, double, family->dim);
    }
    return judge;
}

/* The hull of all members, found once. */
static void load_hull(tc_member_judge *j) {
    tc_batch *batch = j->batch;
    size_t states = j->family->dim, columns = j->family->column_count;
    bool known = j->hull != NULL;
    if (!known) {
        tc_batch_load_hull(batch);
        j->hull = TC_NEW(j->prover->arena, tc_interval, states + columns + 1);
    }
    batch->lanes = 1;
    for (size_t i = 0; i < states + columns; i++) {
        tc_interval *at = i < states ? &batch->state[i * TC_LANES] : &batch->data[(i - states) * TC_LANES];
        if (known)
            *at = j->hull[i];
        else
            j->hull[i] = *at;
    }
}

static void load_member(tc_member_judge *j, size_t member) {
    tc_batch_load_member(j->batch, member);
    if (j->set == NULL)
        return;
    tc_set_load(j->set, member);
    if (j->set->is_empty)
        return;
    tc_set_bounds(j->set, j->lower, j->upper);
    for (size_t c = 0; c < j->family->dim; c++) {
        tc_interval *range = &j->batch->state[c * TC_LANES];
        tc_interval inner = {fmax(range->lo, j->lower[c]), fmin(range->hi, j->upper[c])};
        if (inner.lo <= inner.hi)
            *range = inner;
    }
}

static tc_flaw judge_here(tc_member_judge *j, const tc_cone *cone, tc_curvature want, tc_curvature *found) {
    tc_prover_enclose(j->prover, cone);
    tc_flaw flaw = tc_find_flaw(j->prover, cone);
    *found = flaw.node == TC_NO_EXPR ? tc_prover_judge(j->prover, cone, want) : TC_UNKNOWN;
    return flaw;
}

tc_member_verdict tc_judge_members(tc_member_judge *j, const tc_cone *cone, tc_curvature want) {
    tc_member_verdict v = {.convex = true, .concave = true, .whole = true, .flaw = {.node = TC_NO_EXPR}};
    tc_prover_at_batch(j->prover, j->batch);
    load_hull(j);
    v.flaw = judge_here(j, cone, want, &v.found);
    v.convex = tc_is_convex(v.found);
    v.concave = tc_is_concave(v.found);
    bool fits = want == TC_CONVEX ? v.convex : v.concave;
    bool settled = fits || (!j->strict && (v.convex || v.concave));
    if (settled || (j->set == NULL && j->family->count == 1))
        return v;
    v = (tc_member_verdict){.convex = true, .concave = true, .flaw = {.node = TC_NO_EXPR}};
    for (size_t k = 0; k < j->family->count; k++) {
        if (k % 1024 == 0 && tc_interrupted(j->monitor)) {
            v.convex = v.concave = false;
            v.interrupted = true;
            return v;
        }
        load_member(j, k);
        v.member = k;
        v.flaw = judge_here(j, cone, want, &v.found);
        v.convex = v.convex && tc_is_convex(v.found);
        v.concave = v.concave && tc_is_concave(v.found);
        fits = want == TC_CONVEX ? v.convex : v.concave;
        if (!fits && (j->strict || !(v.convex || v.concave)))
            break;
    }
    return v;
}

/* ---- objectives ------------------------------------------------------------------------------------------------- */

static void judge_objective(tc_prover *p, const tc_family *family, tc_assumption *assumption,
                            const tc_monitor *monitor) {
    tc_member_judge *judge = tc_member_judge_new(p, family, true, monitor);
    judge->strict = true;
    tc_cone cone = tc_cone_of(p, family->objective);
    tc_member_verdict v = tc_judge_members(judge, &cone, TC_CONVEX);
    if (v.convex && v.flaw.node == TC_NO_EXPR)
        return;
    const char *name = tc_who(p->arena, family, v.member, v.whole && family->count > 1);
    const char *whose = tc_arena_format(p->arena, "the objective of %s", name);
    if (v.interrupted)
        tc_find(p->arena, assumption, &p->model->source, TC_UNPROVED, family->objective_span,
                "%s was not judged: interrupted.", whose);
    else if (v.flaw.node != TC_NO_EXPR)
        tc_report_flaw(p, assumption, whose, &v.flaw, family->objective_span, !v.whole || family->count == 1);
    else
        tc_report_curvature(p, assumption, whose, family->objective, family->objective_span, true);
}

void tc_judge_objectives(tc_prover *p, tc_assumption *assumption, const tc_monitor *monitor) {
    for (size_t f = 0; f < p->model->family_count; f++) {
        tc_progress(monitor, "convexity of the objectives", (double)f / (double)p->model->family_count);
        if (p->model->families[f].objective != TC_NO_EXPR)
            judge_objective(p, &p->model->families[f], assumption, monitor);
    }
}
