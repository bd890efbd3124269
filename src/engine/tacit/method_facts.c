#include "engine/tacit/method_facts.h"

#include "analysis/lipschitz/streams.h"
#include "engine/tacit/method_warnings.h"
#include "plan/placement/place.h"

/* ---- the public Slater point ---------------------------------------------------------------------------------------
 */

/* What the file declares, and not what a search in private sets may have found: the cloud must come to the same. */
static bool load_declared(const tc_model *model, double *x) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (!family->has_slater)
            return false;
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count; k++)
                x[tc_coord_of(family, k, c)] = tc_coef_at(family->slater[c], k);
    }
    return true;
}

/* Rounded down; NAN everywhere where the point is missing or does not satisfy every constraint strictly. */
static void find_slack(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, double *slack) {
    size_t m = model->constraint_count;
    for (size_t j = 0; j < m; j++)
        slack[j] = NAN;
    tc_mark mark = tc_arena_mark(arena);
    double *x = TC_NEW(arena, double, model->state_count + 1);
    if (m > 0 && load_declared(model, x)) {
        tc_interval *g = TC_NEW(arena, tc_interval, m);
        tc_constraint_values(tc_streams_new(arena, model, derivatives, NULL), x, g);
        bool is_strict = true;
        for (size_t j = 0; j < m; j++)
            is_strict = is_strict && g[j].hi < 0 && isfinite(g[j].hi);
        for (size_t j = 0; is_strict && j < m; j++)
            slack[j] = -g[j].hi;
    }
    tc_arena_rewind(arena, mark);
}

/* ---- scales and radius ---------------------------------------------------------------------------------------------
 */

/* A plan without noise has none of its own. */
static const double *raw_scales(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                const tc_derivatives *derivatives) {
    return plan->row_scale != NULL ? plan->row_scale
                                   : tc_row_scales(arena, tc_streams_new(arena, model, derivatives, NULL));
}

static void find_scales(tc_arena *arena, const double *raw, size_t m, tc_method_facts *facts) {
    double least = INFINITY;
    facts->row_scale = TC_NEW(arena, double, m);
    facts->weight = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++) {
        facts->row_scale[j] = raw[j] > 0 && isfinite(raw[j]) ? raw[j] : 1;
        least = fmin(least, facts->row_scale[j]);
    }
    for (size_t j = 0; j < m; j++) {
        double part = least / facts->row_scale[j];
        facts->weight[j] = 4 * part * part;
    }
}

/* What a margin leaves of a slack. What `auto` steers the answer to is not known yet: half of it, as a rule. M_j itself
 * may be larger for a while, to make up for earlier rounds (docs/proofs/method.md, section 3). */
static double slack_left(const tc_method_facts *facts, size_t j) {
    switch (facts->margin.kind) {
    case TC_MARGIN_GIVEN:
        return facts->slack[j] - facts->margin.amount;
    case TC_MARGIN_AUTO:
        return facts->slack[j] / 2;
    case TC_MARGIN_NONE:
        break;
    }
    return facts->slack[j];
}

static bool have_gaps(const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++)
        if (!model->families[f].has_gap)
            return false;
    return true;
}

/* With slack: sum F_i / min_j (slack_j / S_j), and R is sum F_i / min_j slack_j. R of another origin bounds sum mu_j,
 * hence sum mu_j S_j by R max S_j; a margin lets multipliers grow as it does slacks shrink. */
static double find_radius(const tc_model *model, const tc_method_facts *facts, double dual_radius) {
    size_t m = model->constraint_count;
    double least = INFINITY, least_scaled = INFINITY, largest = 0, growth = 1;
    for (size_t j = 0; j < m; j++) {
        double left = slack_left(facts, j);
        largest = fmax(largest, facts->row_scale[j]);
        if (isnan(facts->slack[j]))
            continue;
        least = fmin(least, facts->slack[j]);
        least_scaled = fmin(least_scaled, left / facts->row_scale[j]);
        growth = fmax(growth, facts->slack[j] / left);
    }
    if (m == 0)
        return 0;
    if (!isfinite(dual_radius))
        return INFINITY;
    if (isfinite(least) && isnan(model->dual_radius) && have_gaps(model))
        return dual_radius * least / least_scaled;
    return dual_radius * largest * growth;
}

/* NULL, or why the margin is too large. */
static const char *check_margin(tc_arena *arena, const tc_model *model, const tc_method_facts *facts) {
    const tc_margin_wish *margin = &facts->margin;
    if (margin->kind == TC_MARGIN_GIVEN && !(margin->amount >= 0 && isfinite(margin->amount)))
        return "the margin must be a number that is not negative";
    if (margin->kind == TC_MARGIN_AUTO && !(margin->probability > 0 && margin->probability < 1))
        return "the probability of the margin must lie between 0 and 1";
    for (size_t j = 0; j < model->constraint_count; j++)
        if (margin->kind == TC_MARGIN_GIVEN && margin->amount >= facts->slack[j])
            return tc_arena_format(arena,
                                   "a margin of %.6g leaves no room in constraint %s: the declared Slater point "
                                   "satisfies it by %.6g",
                                   margin->amount, model->constraints[j].name, facts->slack[j]);
    return NULL;
}

tc_method_facts *tc_method_facts_make(tc_arena *arena, const tc_plan *plan, tc_model *model,
                                      const tc_derivatives *derivatives, double dual_radius, tc_margin_wish margin,
                                      const char **why) {
    tc_method_facts *made = TC_NEW(arena, tc_method_facts, 1);
    *made = (tc_method_facts){.rounds = plan->rounds,
                              .box_length = tc_box_length(model),
                              .slack = TC_NEW(arena, double, model->constraint_count),
                              .margin = margin};
    find_scales(arena, raw_scales(arena, plan, model, derivatives), model->constraint_count, made);
    find_slack(arena, model, derivatives, made->slack);
    *why = check_margin(arena, model, made);
    if (*why != NULL)
        return NULL;
    made->radius = find_radius(model, made, dual_radius);
    tc_method_warn(arena, plan, model, derivatives, made);
    return made;
}
