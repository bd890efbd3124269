#include "analysis/findings.h"
#include "analysis/convexity/judge.h"

typedef struct constraint_judge {
    tc_prover *prover;
    const tc_derivatives *derivatives;
    tc_interval *coords, *sums;
    tc_assumption *assumption;
    const tc_monitor *monitor;
    tc_member_judge **members; /* by family, made when needed */
    tc_member_verdict *bodies; /* by sum */
    bool *combined;            /* by family: scratch */
} constraint_judge;

static tc_member_judge *members_of(constraint_judge *c, uint32_t family) {
    if (c->members[family] == NULL)
        c->members[family] = tc_member_judge_new(c->prover, &c->prover->model->families[family], false, c->monitor);
    return c->members[family];
}

/* Bodies first: their curvature is that of their sums. */
static void judge_bodies(constraint_judge *c) {
    const tc_model *model = c->prover->model;
    for (size_t r = 0; r < model->sum_count; r++) {
        tc_progress(c->monitor, "convexity of the constraints", 0.5 * (double)r / (double)model->sum_count);
        tc_cone cone = tc_cone_of(c->prover, model->sums[r].body);
        tc_member_verdict v = tc_judge_members(members_of(c, model->sums[r].family), &cone, TC_CONVEX);
        bool has_state = c->prover->dag->nodes[model->sums[r].body].has_state;
        c->bodies[r] = v;
        c->prover->sum_curvature[r] = v.convex && v.concave ? (has_state ? TC_AFFINE : TC_CONSTANT)
                                      : v.convex            ? TC_CONVEX
                                      : v.concave           ? TC_CONCAVE
                                                            : TC_UNKNOWN;
    }
}

/* The part of a flattened constraint that are sums over one family, as one body. */
static tc_expr combined_body(constraint_judge *c, const tc_addend *addends, size_t count, uint32_t family) {
    tc_addend *bodies = TC_NEW(c->prover->arena, tc_addend, count + 1);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &c->prover->dag->nodes[addends[i].node];
        if (n->op != TC_SUM || c->prover->model->sums[n->u.index].family != family)
            continue;
        bodies[kept] = addends[i];
        bodies[kept++].node = c->prover->model->sums[n->u.index].body;
    }
    return tc_rebuild(c->prover, bodies, kept);
}

/* Whether the outer expression names members of the family one by one, or uses its sums other than by adding them. */
static bool only_adds(constraint_judge *c, const tc_addend *addends, size_t count, uint32_t family) {
    const tc_model *model = c->prover->model;
    for (size_t i = 0; i < count; i++) {
        const tc_node *top = &c->prover->dag->nodes[addends[i].node];
        if (top->op == TC_SUM)
            continue;
        tc_cone cone = tc_cone_of(c->prover, addends[i].node);
        for (size_t k = 0; k < cone.count; k++) {
            const tc_node *n = &c->prover->dag->nodes[cone.nodes[k]];
            if ((n->op == TC_SUM && model->sums[n->u.index].family == family) ||
                (n->op == TC_COORD && tc_family_of_coord(model, n->u.index) == &model->families[family]))
                return false;
        }
    }
    return true;
}

/* Sums over one family that do not fit alone are judged together, member by member. Reports what fails. */
static bool judge_combined(constraint_judge *c, const tc_constraint *constraint, const char *whose) {
    const tc_model *model = c->prover->model;
    size_t count, rest_count = 0;
    const tc_addend *flat = tc_flatten(c->prover, constraint->outer, &count);
    tc_addend *addends = TC_NEW(c->prover->arena, tc_addend, count + 1),
              *rest = TC_NEW(c->prover->arena, tc_addend, count + 1);
    for (size_t i = 0; i < count; i++)
        addends[i] = flat[i];
    for (size_t f = 0; f < model->family_count; f++)
        c->combined[f] = false;
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &c->prover->dag->nodes[addends[i].node];
        if (n->op == TC_SUM && !tc_addend_fits(c->prover, &addends[i], TC_CONVEX))
            c->combined[model->sums[n->u.index].family] = true;
        else if (n->op != TC_SUM && !tc_addend_fits(c->prover, &addends[i], TC_CONVEX))
            rest[rest_count++] = addends[i];
    }
    for (uint32_t f = 0; f < model->family_count; f++) {
        if (!c->combined[f])
            continue;
        tc_expr body = combined_body(c, addends, count, f);
        tc_cone cone = tc_cone_of(c->prover, body);
        bool refutable = only_adds(c, addends, count, f);
        tc_member_judge *judge = members_of(c, f);
        judge->strict = true;
        tc_member_verdict v = tc_judge_members(judge, &cone, TC_CONVEX);
        judge->strict = false;
        if (v.convex)
            continue;
        if (v.flaw.node != TC_NO_EXPR)
            tc_report_flaw(c->prover, c->assumption, whose, &v.flaw, constraint->span, !v.whole);
        else
            tc_report_curvature(c->prover, c->assumption, whose, body, constraint->span, refutable);
        return true;
    }
    tc_prover_at_outer(c->prover, c->coords, c->sums);
    return rest_count == 0 || tc_prove_by_hessian(c->prover, rest, rest_count, TC_CONVEX);
}

/* A second derivative of the wrong sign in the outer inputs is one in x where inputs can be moved at will. */
static bool inputs_are_free(constraint_judge *c, tc_expr outer) {
    tc_cone cone = tc_cone_of(c->prover, outer);
    size_t sums = 0, coords = 0;
    for (size_t i = 0; i < cone.count; i++) {
        const tc_node *n = &c->prover->dag->nodes[cone.nodes[i]];
        sums += n->op == TC_SUM;
        coords += n->op == TC_COORD;
        if (n->op == TC_SUM && c->prover->sum_curvature[n->u.index] != TC_AFFINE)
            return false;
    }
    return sums == 0 || (sums == 1 && coords == 0);
}

static bool bodies_are_smooth(constraint_judge *c, const tc_cone *cone, const tc_constraint *constraint,
                              const char *whose) {
    const tc_model *model = c->prover->model;
    for (size_t i = 0; i < cone->count; i++) {
        const tc_node *n = &c->prover->dag->nodes[cone->nodes[i]];
        if (n->op != TC_SUM || c->bodies[n->u.index].flaw.node == TC_NO_EXPR)
            continue;
        /* judge the body again, so that the enclosures of the report are its own */
        tc_cone body = tc_cone_of(c->prover, model->sums[n->u.index].body);
        tc_member_verdict v = tc_judge_members(members_of(c, model->sums[n->u.index].family), &body, TC_CONVEX);
        tc_report_flaw(c->prover, c->assumption, whose, &v.flaw, constraint->span,
                       !v.whole || model->families[model->sums[n->u.index].family].count == 1);
        return false;
    }
    return true;
}

static void judge_constraint(constraint_judge *c, const tc_constraint *constraint) {
    tc_prover *p = c->prover;
    const char *whose = tc_arena_format(p->arena, "constraint %s", constraint->name);
    tc_cone cone = tc_cone_of(p, constraint->outer);
    if (!bodies_are_smooth(c, &cone, constraint, whose))
        return;
    tc_prover_at_outer(p, c->coords, c->sums);
    tc_prover_enclose(p, &cone);
    tc_flaw flaw = tc_find_flaw(p, &cone);
    if (flaw.node != TC_NO_EXPR) {
        tc_report_flaw(p, c->assumption, whose, &flaw, constraint->span, true);
        return;
    }
    if (tc_is_convex(tc_prover_judge(p, &cone, TC_CONVEX)))
        return;
    if (judge_combined(c, constraint, whose))
        return;
    tc_prover_at_outer(p, c->coords, c->sums);
    tc_report_curvature(p, c->assumption, whose, constraint->outer, constraint->span,
                        inputs_are_free(c, constraint->outer));
}

void tc_judge_constraints(tc_prover *p, const tc_derivatives *derivatives, tc_interval *coords, tc_interval *sums,
                          tc_assumption *assumption, const tc_monitor *monitor) {
    const tc_model *model = p->model;
    constraint_judge c = {.prover = p,
                          .derivatives = derivatives,
                          .coords = coords,
                          .sums = sums,
                          .assumption = assumption,
                          .monitor = monitor,
                          .members = TC_NEW(p->arena, tc_member_judge *, model->family_count + 1),
                          .bodies = TC_NEW(p->arena, tc_member_verdict, model->sum_count + 1),
                          .combined = TC_NEW(p->arena, bool, model->family_count + 1)};
    judge_bodies(&c);
    for (size_t j = 0; j < model->constraint_count; j++) {
        tc_progress(monitor, "convexity of the constraints", 0.5 + 0.5 * (double)j / (double)model->constraint_count);
        if (tc_interrupted(monitor)) {
            tc_find(p->arena, assumption, &model->source, TC_UNPROVED, model->constraints[j].span,
                    "Constraint %s was not judged: interrupted.", model->constraints[j].name);
            return;
        }
        judge_constraint(&c, &model->constraints[j]);
    }
}
