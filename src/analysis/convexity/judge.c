/* Assumptions 1 and 3: objectives and constraints are convex and smooth. */
#include "analysis/steps.h"
#include "solver/project/set.h"

#include "base/ranks/ranks.h"
#include "model/spread.h"

/* ---- what is wrong with a function, in words ---- */

static bool is_inside(tc_span span, tc_span whole) {
    return span.length > 0 && span.offset >= whole.offset && span.offset + span.length <= whole.offset + whole.length;
}

/* Where e stands in a statement. A node that two statements share knows the first alone: in the other, the shortest
 * part of root that e is in. */
static tc_span span_of(tc_prover *p, tc_expr root, tc_expr e, tc_span statement) {
    tc_span best = p->dag->spans[e];
    if (statement.length == 0 ? best.length > 0 : is_inside(best, statement))
        return best;
    tc_cone cone = tc_cone_of(p, root);
    bool *leads = TC_NEW(p->arena, bool, (size_t)root + 1);
    best = statement;
    for (size_t i = 0; i < cone.count; i++) {
        tc_expr above = cone.nodes[i];
        leads[above] = above == e;
        for (size_t k = 0; !leads[above] && k < tc_operand_count(p->dag, above); k++)
            leads[above] = leads[tc_operand(p->dag, above, k)];
        if (leads[above] && is_inside(p->dag->spans[above], best))
            best = p->dag->spans[above];
    }
    return best;
}

static void report_flaw(tc_prover *p, tc_assumption *assumption, const char *whose, tc_expr root, const tc_flaw *flaw,
                        tc_span fallback, bool exact) {
    char lo[32], hi[32];
    tc_interval range = p->enclosures[flaw->argument];
    bool certain = flaw->certain && exact;
    tc_find(p->arena, assumption, &p->model->source, certain ? TC_FAILS : TC_UNPROVED,
            span_of(p, root, flaw->node, fallback), "%s %s, but that ranges %s[%s, %s] (in %s). %s", "This",
            flaw->needs, certain ? "over " : "within ", tc_short_number(lo, range.lo), tc_short_number(hi, range.hi),
            whose, flaw->helps);
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

/* "at x = 1, y = 0 the second derivative along (1, -1) is -2"; of minus the function where sign is -1. */
static const char *describe(tc_prover *p, const tc_counterexample *c, double sign) {
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
    tc_buffer_printf(&out, " is %s", tc_short_number(number, sign * c->value));
    return tc_buffer_text(&out);
}

/* whose: "the objective of home[3]". refutable: a counterexample of root is one of the whole function. maximized: the
 * file speaks of minus this function, and so do the words. */
/* log(exp(u) + ...), which is proved convex under another name. */
static bool is_log_of_exps(const tc_prover *p, tc_expr e) {
    const tc_node *log = &p->dag->nodes[e];
    if (log->op != TC_LOG)
        return false;
    for (size_t k = 0; k < tc_operand_count(p->dag, log->a); k++)
        if (p->dag->nodes[tc_operand(p->dag, log->a, k)].op == TC_EXP)
            return true;
    return false;
}

static void report_curvature(tc_prover *p, tc_assumption *assumption, const char *whose, tc_expr root, tc_span fallback,
                             bool refutable, bool maximized) {
    const char *shape = maximized ? "concave" : "convex";
    const char *why = "";
    tc_expr guilty = tc_prover_blame(p, root, TC_CONVEX, &why);
    tc_span span = span_of(p, root, guilty, fallback);
    tc_counterexample whole = tc_refute(p, root, TC_CONVEX);
    if (whole.found && refutable) {
        tc_counterexample part = tc_refute(p, guilty, TC_CONVEX);
        tc_counterexample other = tc_refute(p, guilty, TC_CONCAVE);
        if (part.found && other.found)
            why = "is neither convex nor concave";
        tc_find(p->arena, assumption, &p->model->source, TC_FAILS, span, "This %s, so %s is not %s: %s.", why, whose,
                shape, describe(p, &whole, maximized ? -1 : 1));
        return;
    }
    tc_find(p->arena, assumption, &p->model->source, TC_UNPROVED, span,
            "This %s, so %s could not be proved %s on the box.%s", why, whose, shape,
            whole.found                 ? ""
            : is_log_of_exps(p, guilty) ? " As logsumexp it is proved: log(1 + exp(u)) is logsumexp(0, u)."
                                        : " Sums of squares, sumsq(v), or a tighter box may help.");
}

/* ---- all members of a family ---- */

/* A function of one member of a family, judged for all members: over the hull of all first, then one by one. */
typedef struct member_judge {
    tc_prover *prover;
    const tc_family *family;
    tc_batch *batch;
    tc_set *set; /* NULL: over the public box, not the bounding box of X_i */
    double *lower, *upper;
    const tc_monitor *monitor;
    tc_interval *hull; /* of all members: states, then data; NULL until it is needed */
    tc_flaw_kinds kinds;
    bool strict; /* only the wanted curvature counts; else either, if it is the same for all */
} member_judge;

typedef struct member_verdict {
    bool convex, concave; /* for all members */
    bool interrupted;
    bool whole;    /* the failure is about the hull of all members (they are alike, or there is one) */
    size_t member; /* else: the first where neither holds, or where the wanted curvature fails */
    tc_flaw flaw;
    tc_curvature found; /* at that member */
} member_verdict;

static member_judge *member_judge_new(tc_prover *prover, const tc_family *family, bool private_sets,
                                      const tc_monitor *monitor) {
    member_judge *judge = TC_NEW(prover->arena, member_judge, 1);
    *judge = (member_judge){
        .prover = prover, .family = family, .monitor = monitor, .batch = tc_batch_new(prover->arena, family)};
    if (private_sets && family->piece_count > 0) {
        judge->set = tc_set_new(prover->arena, family);
        judge->lower = TC_NEW(prover->arena, double, family->dim);
        judge->upper = TC_NEW(prover->arena, double, family->dim);
    }
    return judge;
}

/* The hull of all members, found once. */
static void load_hull(member_judge *j) {
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

static void load_member(member_judge *j, size_t member) {
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

static tc_flaw judge_here(member_judge *j, const tc_cone *cone, tc_curvature want, tc_curvature *found) {
    tc_prover_enclose(j->prover, cone);
    tc_flaw flaw = tc_find_flaw(j->prover, cone, j->kinds);
    *found = flaw.node == TC_NO_EXPR ? tc_prover_judge(j->prover, cone, want) : TC_UNKNOWN;
    return flaw;
}

/* In order of ranks, the first that fails; else what holds for all. */
static void share_verdict(member_judge *j, const tc_cone *cone, tc_curvature want, bool breaks, member_verdict *v) {
    const tc_family *family = j->family;
    bool convex = tc_for_all(family, v->convex), concave = tc_for_all(family, v->concave);
    size_t rank = tc_first_rank(family, breaks);
    if (rank == SIZE_MAX)
        rank = tc_ranks_count() - 1; /* it knows the last member */
    tc_from_rank(family, rank, v, sizeof *v);
    tc_from_rank(family, rank, j->batch->data, family->column_count * TC_LANES * sizeof *j->batch->data);
    tc_from_rank(family, rank, j->batch->state, family->dim * TC_LANES * sizeof *j->batch->state);
    j->batch->lanes = 1;
    v->flaw = judge_here(j, cone, want, &v->found);
    v->convex = convex;
    v->concave = concave;
}

/* Leaves the prover at the place of the failure, ready for blame and refutation. */
static member_verdict judge_members(member_judge *j, const tc_cone *cone, tc_curvature want) {
    member_verdict v = {.convex = true, .concave = true, .whole = true, .flaw = {.node = TC_NO_EXPR}};
    tc_prover_at_batch(j->prover, j->batch);
    load_hull(j);
    v.flaw = judge_here(j, cone, want, &v.found);
    v.convex = tc_is_convex(v.found);
    v.concave = tc_is_concave(v.found);
    bool fits = want == TC_CONVEX ? v.convex : v.concave;
    bool settled = fits || (!j->strict && (v.convex || v.concave));
    if (settled || (j->set == NULL && j->family->count == 1))
        return v;
    v = (member_verdict){.convex = true, .concave = true, .flaw = {.node = TC_NO_EXPR}};
    bool breaks = false;
    for (size_t k = j->family->known_first; k < j->family->known_end && !breaks && !v.interrupted; k++) {
        v.interrupted = k % 1024 == 0 && tc_stops_here(j->family, j->monitor);
        load_member(j, k);
        v.member = k;
        v.flaw = judge_here(j, cone, want, &v.found);
        v.convex = v.convex && tc_is_convex(v.found);
        v.concave = v.concave && tc_is_concave(v.found);
        fits = want == TC_CONVEX ? v.convex : v.concave;
        breaks = !fits && (j->strict || !(v.convex || v.concave));
    }
    if (tc_for_some(j->family, v.interrupted)) /* a rank that knows no member has not looked */
        return (member_verdict){.interrupted = true, .whole = true, .flaw = {.node = TC_NO_EXPR}};
    if (j->family->is_spread)
        share_verdict(j, cone, want, breaks, &v);
    return v;
}

/* ---- objectives ---- */

static const char *smooth_form(const tc_prover *p, tc_expr e) {
    if (p->dag->nodes[e].op == TC_NORM)
        return "sqrt(sumsq(v) + d^2) instead of norm(v), with a small constant d";
    return p->dag->nodes[e].op == TC_ABS ? "huber(u, d) or sqrt(u^2 + d^2), with a small constant d"
                                         : "logsumexp, which lies above max by at most log(n)";
}

/* Whether a kink is the larger of 0 and something, and nothing but its square is used. */
static bool is_squared_part(const tc_prover *p, const tc_cone *cone, tc_expr e) {
    const tc_node *kink = &p->dag->nodes[e];
    if (kink->op != TC_MAX || e == cone->root || !(tc_is_const(p->dag, kink->a, 0) || tc_is_const(p->dag, kink->b, 0)))
        return false;
    for (size_t i = 0; i < cone->count; i++) {
        const tc_node *n = &p->dag->nodes[cone->nodes[i]];
        for (size_t k = 0; k < tc_operand_count(p->dag, cone->nodes[i]); k++)
            if (tc_operand(p->dag, cone->nodes[i], k) == e && !(n->op == TC_POWI && n->u.exponent == 2))
                return false;
    }
    return true;
}

/* The first kink, over all members together. */
static void report_kink(member_judge *judge, const tc_cone *cone, tc_assumption *smoothness) {
    tc_prover *p = judge->prover;
    const tc_family *family = judge->family;
    const char *who = tc_who(p->arena, family, 0, family->count > 1);
    tc_prover_at_batch(p, judge->batch);
    load_hull(judge);
    tc_prover_enclose(p, cone);
    tc_flaw flaw = tc_find_flaw(p, cone, TC_FLAWS_OF_KINKS);
    tc_expr node = flaw.node != TC_NO_EXPR ? flaw.node : cone->root;
    tc_span span = span_of(p, cone->root, node, family->objective_span);
    if (is_squared_part(p, cone, node)) /* an exact form: huber's constant slope on one side is taken off */
        tc_find(p->arena, smoothness, &p->model->source, TC_UNPROVED, span,
                "This counts as a kink in the objective of %s. Its square has continuous derivatives, as Assumption 1 "
                "of method published asks, but that is not proved of pos(u)^2; method tacit takes it. The same, and "
                "proved, is 2*huber(u - h/2, h/2) + h*u - h^2/4, with a constant h that u does not exceed.",
                who);
    else
        tc_find(p->arena, smoothness, &p->model->source, flaw.certain && family->count == 1 ? TC_FAILS : TC_UNPROVED,
                span,
                "This has a kink in the objective of %s, where Assumption 1 of method published asks for continuous "
                "derivatives; method tacit takes it. Smooth would be %s.",
                who, smooth_form(p, node));
}

static void judge_objective(tc_prover *p, const tc_family *family, bool has_kinks, tc_assumption *assumption,
                            tc_assumption *smoothness, const tc_monitor *monitor) {
    member_judge *judge = member_judge_new(p, family, true, monitor);
    judge->strict = true;
    judge->kinds = has_kinks ? TC_FLAWS_OF_DOMAIN : TC_ALL_FLAWS;
    tc_cone cone = tc_cone_of(p, family->objective);
    if (has_kinks)
        report_kink(judge, &cone, smoothness);
    member_verdict v = judge_members(judge, &cone, TC_CONVEX);
    if (v.convex && v.flaw.node == TC_NO_EXPR)
        return;
    const char *name = tc_who(p->arena, family, v.member, v.whole && family->count > 1);
    const char *whose =
        tc_arena_format(p->arena, family->maximizes ? "the objective that %s maximizes" : "the objective of %s", name);
    if (v.interrupted)
        tc_find(p->arena, assumption, &p->model->source, TC_UNPROVED, family->objective_span,
                "%s was not judged: interrupted.", whose);
    else if (v.flaw.node != TC_NO_EXPR)
        report_flaw(p, assumption, whose, family->objective, &v.flaw, family->objective_span,
                    !v.whole || family->count == 1);
    else
        report_curvature(p, assumption, whose, family->objective, family->objective_span, true, family->maximizes);
}

/* paper: Assumption 1 */
void tc_judge_objectives(tc_prover *p, const tc_derivatives *derivatives, tc_assumption *assumption,
                         tc_assumption *smoothness, const tc_monitor *monitor) {
    for (size_t f = 0; f < p->model->family_count; f++) {
        tc_progress(monitor, "convexity of the objectives", (double)f / (double)p->model->family_count);
        if (p->model->families[f].objective != TC_NO_EXPR)
            judge_objective(p, &p->model->families[f], derivatives->families[f].lift != NULL, assumption, smoothness,
                            monitor);
    }
}

/* ---- constraints ---- */

typedef struct constraint_judge {
    tc_prover *prover;
    const tc_derivatives *derivatives;
    tc_interval *coords, *sums;
    tc_assumption *assumption;
    const tc_monitor *monitor;
    member_judge **members; /* by family, made when needed */
    member_verdict *bodies; /* by sum */
    bool *combined;         /* by family: scratch */
} constraint_judge;

static member_judge *members_of(constraint_judge *c, uint32_t family) {
    if (c->members[family] == NULL)
        c->members[family] = member_judge_new(c->prover, &c->prover->model->families[family], false, c->monitor);
    return c->members[family];
}

/* Bodies first: their curvature is that of their sums. */
static void judge_bodies(constraint_judge *c) {
    const tc_model *model = c->prover->model;
    for (size_t r = 0; r < model->sum_count; r++) {
        tc_progress(c->monitor, "convexity of the constraints", 0.5 * (double)r / (double)model->sum_count);
        tc_cone cone = tc_cone_of(c->prover, model->sums[r].body);
        member_verdict v = judge_members(members_of(c, model->sums[r].family), &cone, TC_CONVEX);
        bool has_state = c->prover->dag->nodes[model->sums[r].body].has_state;
        c->bodies[r] = v;
        c->prover->sum_curvature[r] = v.convex && v.concave ? (has_state ? TC_AFFINE : TC_CONSTANT)
                                      : v.convex            ? TC_CONVEX
                                      : v.concave           ? TC_CONCAVE
                                                            : TC_UNKNOWN;
    }
}

/* The sums over one family in a flattened constraint, as one body. */
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

/* Whether the constraint uses the family only by adding its sums: it names no single member and puts no sum into a
 * function. */
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

static void leave_unjudged(constraint_judge *c, const tc_constraint *constraint) {
    tc_find(c->prover->arena, c->assumption, &c->prover->model->source, TC_UNPROVED, constraint->span,
            "Constraint %s was not judged: interrupted.", constraint->name);
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
        member_judge *judge = members_of(c, f);
        judge->strict = true;
        member_verdict v = judge_members(judge, &cone, TC_CONVEX);
        judge->strict = false;
        if (v.convex)
            continue;
        if (v.interrupted)
            leave_unjudged(c, constraint);
        else if (v.flaw.node != TC_NO_EXPR)
            report_flaw(c->prover, c->assumption, whose, body, &v.flaw, constraint->span, !v.whole);
        else
            report_curvature(c->prover, c->assumption, whose, body, constraint->span, refutable, false);
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
        member_verdict v = judge_members(members_of(c, model->sums[n->u.index].family), &body, TC_CONVEX);
        if (v.interrupted)
            leave_unjudged(c, constraint);
        else
            report_flaw(c->prover, c->assumption, whose, body.root, &v.flaw, constraint->span,
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
    tc_flaw flaw = tc_find_flaw(p, &cone, TC_ALL_FLAWS);
    if (flaw.node != TC_NO_EXPR) {
        report_flaw(p, c->assumption, whose, constraint->outer, &flaw, constraint->span, true);
        return;
    }
    if (tc_is_convex(tc_prover_judge(p, &cone, TC_CONVEX)))
        return;
    if (judge_combined(c, constraint, whose))
        return;
    tc_prover_at_outer(p, c->coords, c->sums);
    report_curvature(p, c->assumption, whose, constraint->outer, constraint->span,
                     inputs_are_free(c, constraint->outer), false);
}

/* paper: Assumption 3 */
void tc_judge_constraints(tc_prover *p, const tc_derivatives *derivatives, tc_interval *coords, tc_interval *sums,
                          tc_assumption *assumption, const tc_monitor *monitor) {
    const tc_model *model = p->model;
    constraint_judge c = {.prover = p,
                          .derivatives = derivatives,
                          .coords = coords,
                          .sums = sums,
                          .assumption = assumption,
                          .monitor = monitor,
                          .members = TC_NEW(p->arena, member_judge *, model->family_count + 1),
                          .bodies = TC_NEW(p->arena, member_verdict, model->sum_count + 1),
                          .combined = TC_NEW(p->arena, bool, model->family_count + 1)};
    judge_bodies(&c);
    for (size_t j = 0; j < model->constraint_count; j++) {
        tc_progress(monitor, "convexity of the constraints", 0.5 + 0.5 * (double)j / (double)model->constraint_count);
        if (tc_interrupted(monitor)) {
            leave_unjudged(&c, &model->constraints[j]);
            return;
        }
        judge_constraint(&c, &model->constraints[j]);
    }
}
