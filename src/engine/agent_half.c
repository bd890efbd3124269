#include "engine/agent_half.h"

#include "analysis/analysis.h"
#include "analysis/data/data.h"
#include "engine/proximal/proof.h"
#include "engine/proximal/proximal.h"
#include "solver/project/set.h"

#include <math.h>

/* How far outside counts as inside, relative to the set's numbers; as in the analysis of a whole problem. */
#define MEMBERSHIP 1e-9

struct tc_agent_half {
    tc_arena *arena;
    const tc_derivatives *derivatives;
    const tc_family *family;
    const char *name;
    tc_agents *agents;
    tc_proximal *plain; /* all scales are 1 */
    tc_proximal *proximal;
    double *scale;        /* dim; those of proximal where it is not plain */
    tc_step_proof *proof; /* NULL: no distance of protected data rests on steps */
    tc_set *set;
    bool has_kinks;
    double *point, *room, *vertex, *old; /* dim */
    const double **p, **x;               /* by component */
    double **next;
};

/* Kinks are lifted, which is right for convex functions alone. */
static bool is_convex(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives) {
    static const tc_analysis_options wishes = {.only_assumptions = true};
    return tc_analysis_run(arena, model, derivatives, &wishes, NULL)->convexity == TC_HOLDS;
}

tc_status tc_agent_half_new(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, tc_agent_half **half,
                            const char **why) {
    *half = NULL;
    *why = "this is not the file of one agent, which `tacit split` makes";
    if (model->role != TC_ROLE_AGENT || model->family_count != 1 || model->families[0].count != 1)
        return TC_BAD_USAGE;
    *why = "its objective has kinks and is not proved convex: `tacit check` says where";
    if (derivatives->families[0].lift != NULL && !is_convex(arena, model, derivatives))
        return TC_BAD_USAGE;
    tc_data_certify(arena, model, derivatives);
    const tc_family *family = &model->families[0];
    *why = family->data_fault;
    if (*why != NULL)
        return TC_BAD_USAGE;
    tc_buffer name = tc_buffer_new(arena, 4096);
    tc_agent_name(&name, family, 0);
    tc_agent_half *made = TC_NEW(arena, tc_agent_half, 1);
    *made = (tc_agent_half){.arena = arena,
                            .derivatives = derivatives,
                            .family = family,
                            .name = tc_buffer_text(&name),
                            .agents = tc_agents_new(arena, model, derivatives, 1),
                            .set = tc_set_of(arena, family, 0),
                            .has_kinks = derivatives->families[0].lift != NULL,
                            .scale = TC_NEW(arena, double, family->dim),
                            .point = TC_NEW(arena, double, family->dim),
                            .room = TC_NEW(arena, double, family->dim),
                            .vertex = TC_NEW(arena, double, family->dim),
                            .old = TC_NEW(arena, double, family->dim),
                            .p = TC_NEW(arena, const double *, family->dim),
                            .x = TC_NEW(arena, const double *, family->dim),
                            .next = TC_NEW(arena, double *, family->dim)};
    made->proximal = made->plain = tc_proximal_new(arena, made->agents, derivatives, NULL);
    made->proof = tc_step_proof_new(arena, model, derivatives, 1);
    *half = made;
    return TC_OK;
}

const char *tc_agent_half_name(const tc_agent_half *half) { return half->name; }
size_t tc_agent_half_states(const tc_agent_half *half) { return half->family->dim; }
bool tc_agent_half_has_kinks(const tc_agent_half *half) { return half->has_kinks; }

static bool protects_data(const tc_family *family) {
    for (size_t d = 0; d < family->datum_count; d++) {
        if (family->data[d].by != NULL)
            return true;
    }
    return false;
}

tc_agent_half_slater tc_agent_half_check_slater(tc_agent_half *half) {
    const tc_family *family = half->family;
    if (!family->has_slater)
        return (tc_agent_half_slater){0};
    for (size_t c = 0; c < family->dim; c++) {
        half->point[c] = tc_coef_at(family->slater[c], 0);
        half->room[c] = tc_coef_at(family->room[c], 0);
    }
    /* Proved for all data in the ranges: no private number has a say. */
    if (protects_data(family))
        return (tc_agent_half_slater){.has_point = true, .holds = true};
    double outside = tc_set_room_violation(half->set, half->point, half->room, half->vertex, NULL);
    return (tc_agent_half_slater){.has_point = true,
                                  .holds = !half->set->is_empty && outside <= MEMBERSHIP * tc_set_scale(half->set)};
}

bool tc_agent_half_is_slater(const tc_agent_half *half, const double *p) {
    bool is_same = half->family->has_slater;
    for (size_t c = 0; is_same && c < half->family->dim; c++)
        is_same = p[c] == tc_coef_at(half->family->slater[c], 0);
    return is_same;
}

void tc_agent_half_box(const tc_agent_half *half, double *lower, double *upper) {
    for (size_t c = 0; c < half->family->dim; c++) {
        lower[c] = tc_coef_at(half->family->lower[c], 0);
        upper[c] = tc_coef_at(half->family->upper[c], 0);
    }
}

bool tc_agent_half_start(tc_agent_half *half, double *x) {
    size_t family;
    tc_agents_start(half->agents, x);
    return half->proof == NULL || tc_step_proof_check_start(half->proof, x, &family) == TC_ALL_FINITE;
}

static bool has_scales(const tc_agent_half *half, const int8_t *exponents) {
    bool same = half->proximal != half->plain;
    for (size_t c = 0; c < half->family->dim; c++)
        same = same && half->scale[c] == ldexp(1, exponents[c]);
    return same;
}

static void rebuild(tc_agent_half *half, const int8_t *exponents) {
    const double *scales[] = {half->scale};
    for (size_t c = 0; c < half->family->dim; c++)
        half->scale[c] = ldexp(1, exponents[c]);
    half->proximal = tc_proximal_new(half->arena, half->agents, half->derivatives, scales);
}

const char *tc_agent_half_scale(tc_agent_half *half, const int8_t *exponents) {
    if (exponents != NULL && protects_data(half->family))
        return "what protected data can change is proved for states that are not scaled alone";
    if (exponents == NULL)
        half->proximal = half->plain;
    if (exponents == NULL || has_scales(half, exponents))
        return NULL;
    tc_escape escape;
    half->proximal = half->plain;
    tc_status status = TC_TRY(half->arena, &escape);
    if (status == TC_OK)
        rebuild(half, exponents);
    tc_escape_end(half->arena, &escape);
    return status == TC_OK ? NULL : "memory is out";
}

bool tc_agent_half_step(tc_agent_half *half, tc_method method, tc_answer_scalars scalars, const double *p,
                        const double *x, double *next) {
    if (method == TC_METHOD_PUBLISHED && half->has_kinks)
        return false;
    for (size_t c = 0; c < half->family->dim; c++) {
        half->old[c] = x[c]; /* next may be x */
        half->p[c] = p + c;
        half->x[c] = half->old + c;
        half->next[c] = next + c;
    }
    size_t member = method == TC_METHOD_TACIT
                        ? tc_proximal_next(half->proximal, 0, 0, 0, 1, half->p, scalars, half->x, half->next)
                        : tc_agents_next(half->agents, 0, 0, 0, 1, half->p, scalars, half->x, half->next);
    if (member == TC_ALL_FINITE && method == TC_METHOD_TACIT && half->proof != NULL)
        member = tc_step_proof_check(half->proof, 0, 0, 0, 1, half->p, scalars, half->x, half->next);
    return member == TC_ALL_FINITE;
}
