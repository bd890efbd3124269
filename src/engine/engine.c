#include "engine/engine.h"

#include "base/machine.h"
#include "base/ranks/ranks.h"
#include "engine/inside.h"
#include "plan/placement/placement.h"

#include <string.h>

const char *tc_engine_outcome_name(tc_engine_outcome outcome) {
    static const char *const names[] = {
#define X(code, name) name,
        TC_ENGINE_OUTCOMES(X)
#undef X
    };
    return names[outcome];
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

enum {
    FEW_STATES = 8192,  /* they, and what is computed about them, stay in the nearest caches */
    FEW_MEMBERS = 256,  /* blocks below this cost more to hand out than to do */
    ASK_AFTER = 1 << 20 /* numbers released or stepped between two questions to the monitor: some milliseconds */
};

bool tc_engine_uses_threads(const tc_model *model) {
    size_t most = 0;
    for (size_t f = 0; f < model->family_count; f++)
        most = model->families[f].count > most ? model->families[f].count : most;
    return model->state_count > FEW_STATES && most > FEW_MEMBERS;
}

/* Plans refuse this too. Here it would mean reading beyond the end of an array. */
static const char *check_method(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                const tc_derivatives *derivatives, const tc_engine_settings *settings) {
    if (plan->method != TC_METHOD_TACIT)
        return plan->placement != TC_PLACEMENT_OUTPUTS ? "the method published releases constraints and their "
                                                         "Jacobian: noise on states or forms is for the "
                                                         "method tacit"
                                                       : NULL;
    if (settings->facts == NULL)
        return "the method tacit needs its facts";
    if (plan->placement == TC_PLACEMENT_OUTPUTS && tc_curved_rows(arena, model, derivatives, NULL) > 0)
        return "the method tacit can measure outputs only where all constraints are affine";
    return NULL;
}

static const char *check(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                         const tc_engine_settings *settings) {
    if (!(settings->dual_radius >= 0))
        return "the dual radius must not be negative";
    if (plan->method == TC_METHOD_TACIT && plan->problem != NULL)
        return plan->problem;
    const char *why = check_method(arena, plan, model, derivatives, settings);
    if (why != NULL || plan->method == TC_METHOD_TACIT)
        return why;
    if (!(model->schedule.step > 0 && model->schedule.regularization >= 0))
        return "the problem has no schedule of steps and regularization";
    return plan->problem;
}

static tc_status prepare(tc_engine *engine, const tc_derivatives *derivatives, const tc_engine_settings *settings,
                         tc_engine_kind kind, const char **why) {
    tc_driver driver = kind.driver;
    bool large = driver == TC_DRIVER_AUTO ? tc_ranks_several() || tc_engine_uses_threads(engine->model)
                                          : driver == TC_DRIVER_LARGE;
    engine->is_large = large;
    engine->workers = large && engine->team != NULL ? tc_team_size(engine->team) : 1;
    tc_status status = tc_release_hire(engine->arena, engine->release, engine->workers);
    if (status != TC_OK)
        return status;
    engine->released = tc_released_new(engine->arena, engine->release);
    if (kind.has_agents)
        engine->agents = tc_agents_new(engine->arena, engine->model, derivatives, engine->workers);
    if (!kind.has_agents || !large)
        engine->states = tc_states_of_plan(engine->arena, engine->model, engine->plan);
    if (engine->states == NULL && (!kind.has_agents || !large)) {
        *why = "the public box of some agent holds no point of the states' lattice";
        return TC_BAD_USAGE;
    }
    engine->method = engine->plan->method == TC_METHOD_TACIT ? &tc_tacit_method : &tc_published_method;
    engine->of_method = engine->method->make(engine, derivatives, settings);
    if (large)
        engine->large = tc_large_new(engine);
    else
        engine->small = tc_small_new(engine);
    return TC_OK;
}

static void start_agents(tc_engine *engine) {
    size_t count = engine->model->state_count;
    engine->x = TC_NEW(engine->arena, double, count);
    engine->next_x = TC_NEW(engine->arena, double, count);
    tc_prefer_large_pages(engine->x, count * sizeof *engine->x);
    tc_prefer_large_pages(engine->next_x, count * sizeof *engine->next_x);
    engine->p = TC_NEW(engine->arena, double, engine->is_large ? 0 : count);
    tc_agents_start(engine->agents, engine->x);
}

static void start(tc_engine *engine) {
    const tc_model *model = engine->model;
    engine->mu = TC_NEW(engine->arena, double, model->constraint_count);
    engine->next_mu = TC_NEW(engine->arena, double, model->constraint_count);
    if (engine->agents != NULL)
        start_agents(engine);
    engine->method->start(engine->of_method, engine->x, engine->mu);
    engine->work = engine->plan->entry_count + model->state_count + 1;
}

tc_status tc_engine_new_of_kind(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                const tc_derivatives *derivatives, tc_random *random,
                                const tc_engine_settings *settings, tc_engine_kind kind, tc_engine **engine,
                                const char **why) {
    const tc_release_settings from = {.first_round = kind.first_round};
    *engine = NULL;
    *why = check(arena, plan, model, derivatives, settings);
    if (*why != NULL)
        return TC_BAD_USAGE;
    tc_engine *made = TC_NEW(arena, tc_engine, 1);
    *made =
        (tc_engine){.arena = arena, .plan = plan, .model = model, .team = settings->team, .done = kind.first_round - 1};
    tc_status status =
        tc_release_new(arena, plan, plan->measured, plan->measured_derivatives, random, &from, &made->release, why);
    if (status == TC_OK)
        status = prepare(made, derivatives, settings, kind, why);
    if (status != TC_OK)
        return status;
    if (plan->last != NULL)
        status = tc_last_new(made, settings->last_random, why);
    if (status != TC_OK)
        return status;
    start(made);
    *engine = made;
    return TC_OK;
}

tc_status tc_engine_new_driven(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                               const tc_derivatives *derivatives, tc_random *random, const tc_engine_settings *settings,
                               tc_driver driver, tc_engine **engine, const char **why) {
    tc_engine_kind kind = {.driver = driver, .has_agents = true, .first_round = 1};
    *engine = NULL;
    *why = "a run in one process needs the whole problem";
    if (model->role != TC_ROLE_WHOLE)
        return TC_BAD_USAGE;
    return tc_engine_new_of_kind(arena, plan, model, derivatives, random, settings, kind, engine, why);
}

tc_status tc_engine_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                        tc_random *random, const tc_engine_settings *settings, tc_engine **engine, const char **why) {
    return tc_engine_new_driven(arena, plan, model, derivatives, random, settings, TC_DRIVER_AUTO, engine, why);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static const char *describe(tc_engine *engine, const tc_not_finite *failure, uint64_t k) {
    const tc_model *model = engine->model;
    if (failure->what == TC_CONSTRAINT_NOT_FINITE)
        return tc_arena_format(engine->arena, "the released value of constraint %s in round %llu",
                               model->constraints[failure->row].name, (unsigned long long)k);
    tc_buffer name = tc_buffer_new(engine->arena, 4096);
    tc_agent_name(&name, &model->families[failure->family], failure->member);
    if (engine->is_unproved)
        return tc_arena_format(engine->arena,
                               "the step of %s in round %llu: it is not proved to be accurate, and the promise about "
                               "data rests on that",
                               tc_buffer_text(&name), (unsigned long long)k);
    return tc_arena_format(engine->arena, "the %s %s in round %llu",
                           failure->what == TC_STATE_NOT_FINITE ? "state of" : "answer to", tc_buffer_text(&name),
                           (unsigned long long)k);
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* Agents elsewhere must not be sent an answer that is not finite. */
static void check_answers(const tc_engine *engine, tc_not_finite *failure) {
    const tc_model *model = engine->model;
    double zero = 0; /* NaN as soon as one is not finite */
    for (size_t i = 0; i < model->state_count; i++)
        zero += engine->p[i] * 0;
    for (size_t i = 0; zero != 0 && i < model->state_count; i++)
        if (!isfinite(engine->p[i])) {
            const tc_family *family = tc_family_of_coord(model, i);
            *failure = (tc_not_finite){.what = TC_ANSWER_NOT_FINITE,
                                       .family = (size_t)(family - model->families),
                                       .member = (i - family->first_coord) % family->count};
            return;
        }
}

tc_status tc_engine_round(tc_engine *engine) {
    uint64_t k = engine->done + 1;
    tc_not_finite failure = {0};
    engine->broken = engine->is_large ? tc_large_round(engine, k, &failure) : tc_small_round(engine, k, &failure);
    if (engine->agents == NULL && engine->broken == TC_OK && failure.what == TC_ALL_IS_FINITE)
        check_answers(engine, &failure);
    if (engine->broken == TC_OK && failure.what == TC_ALL_IS_FINITE) {
        if (engine->method->settle != NULL)
            engine->method->settle(engine->of_method);
        swap(&engine->x, &engine->next_x);
        swap(&engine->mu, &engine->next_mu);
        engine->done = k;
        if (engine->last != NULL && engine->agents != NULL && (double)k == engine->plan->rounds)
            engine->broken = tc_last_round_now(engine, engine->method->result_states(engine->of_method));
    } else if (engine->broken == TC_OK) {
        engine->reason = describe(engine, &failure, k);
    }
    return engine->broken;
}

/* Asking the monitor may cost more than a round, so it is asked only after this much work. All ranks stop where one is
 * asked to. */
static bool is_stopped(tc_engine *engine, const tc_monitor *monitor) {
    engine->unasked += engine->work;
    if (engine->unasked < ASK_AFTER)
        return false;
    engine->unasked = 0;
    uint64_t stops = tc_interrupted(monitor);
    tc_ranks_sum(&stops, 1);
    return stops > 0 || (tc_ranks_several() && tc_interrupted(monitor)); /* ranks heard of it just now */
}

tc_status tc_engine_advance(tc_engine *engine, uint64_t rounds, const tc_monitor *monitor, tc_engine_outcome *outcome) {
    *outcome = TC_ENGINE_DONE;
    if ((double)rounds > engine->plan->rounds)
        return TC_BAD_USAGE;
    if (engine->broken != TC_OK)
        return engine->broken;
    while (engine->reason == NULL && engine->done < rounds) {
        tc_status status = tc_engine_round(engine);
        if (status != TC_OK)
            return status;
        if (engine->reason == NULL && engine->done < rounds && is_stopped(engine, monitor)) {
            *outcome = TC_ENGINE_INTERRUPTED;
            return TC_OK;
        }
    }
    if (engine->reason != NULL)
        *outcome = TC_ENGINE_DIVERGED;
    return TC_OK;
}

uint64_t tc_engine_rounds(const tc_engine *engine) { return engine->done; }
const double *tc_engine_states(const tc_engine *engine) { return engine->x; }
const double *tc_engine_multipliers(const tc_engine *engine) { return engine->mu; }
const double *tc_engine_result_states(const tc_engine *engine) {
    if (engine->last != NULL && tc_last_found(engine->last) != NULL)
        return engine->next_x;
    return engine->method->result_states != NULL ? engine->method->result_states(engine->of_method) : engine->x;
}
const double *tc_engine_result_multipliers(const tc_engine *engine) {
    return engine->method->result_multipliers != NULL ? engine->method->result_multipliers(engine->of_method)
                                                      : engine->mu;
}
const tc_feasibility *tc_engine_feasibility(const tc_engine *engine) {
    bool whole = engine->reason == NULL && engine->broken == TC_OK && engine->done > 0;
    if (whole && engine->last != NULL && tc_last_found(engine->last) != NULL)
        return tc_last_found(engine->last);
    return engine->method->feasibility != NULL && whole ? engine->method->feasibility(engine->of_method) : NULL;
}
const char *tc_engine_reason(const tc_engine *engine) { return engine->reason; }
bool tc_engine_is_private(const tc_engine *engine) { return tc_release_is_private(engine->release); }
