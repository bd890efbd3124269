#include "engine/hub.h"

#include "engine/hub_parts.h"
#include "release/release.h"

tc_status tc_hub_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                     tc_random *random, const tc_hub_settings *settings, tc_hub **hub, const char **why) {
    const tc_engine_settings same = {
        .dual_radius = settings->dual_radius, .team = settings->team, .method = settings->method};
    tc_engine_kind kind = {.driver = TC_DRIVER_AUTO, .first_round = settings->first_round};
    *hub = NULL;
    *why = model->role == TC_ROLE_AGENT      ? "a cloud needs the cloud's file or the whole problem"
           : settings->first_round == 0      ? "rounds are counted from 1"
           : !(plan->rounds < TC_MOST_ROUND) ? "the plan has too many rounds"
                                             : NULL;
    if (*why != NULL)
        return TC_BAD_USAGE;
    tc_hub *made = TC_NEW(arena, tc_hub, 1);
    *made = (tc_hub){.random = random, .first_round = settings->first_round, .has_memory = settings->first_round == 1};
    tc_status status = tc_engine_new_of_kind(arena, plan, model, derivatives, random, &same, kind, &made->engine, why);
    if (status == TC_OK && settings->draws_ahead) {
        status = tc_release_draw_ahead(arena, made->engine->release, 0);
        *why = status == TC_OK ? NULL : "the system gives no thread that could draw noise";
    }
    if (status == TC_OK)
        *hub = made;
    return status;
}

tc_taken tc_hub_take(tc_hub *hub, size_t family, size_t member, const int64_t *units) {
    const tc_model *model = hub->engine->model;
    if (family >= model->family_count || member >= model->families[family].count)
        return TC_STATE_REFUSED;
    return tc_states_from_integers(hub->engine->states, family, member, units);
}

static bool is_next(const tc_hub *hub, uint64_t k) {
    const tc_engine *engine = hub->engine;
    return hub->has_memory && engine->reason == NULL && engine->broken == TC_OK && k == engine->done + 1 &&
           (double)k <= engine->plan->rounds;
}

tc_status tc_hub_prepare(tc_hub *hub, uint64_t k) {
    return is_next(hub, k) ? tc_release_prepare(hub->engine->release, k) : TC_BAD_USAGE;
}

tc_status tc_hub_round(tc_hub *hub, uint64_t k, tc_answer_scalars *scalars, double *p,
                       unsigned char input[TC_HUB_INPUT], tc_engine_outcome *outcome) {
    tc_engine *engine = hub->engine;
    *outcome = TC_ENGINE_DONE;
    if (!is_next(hub, k))
        return TC_BAD_USAGE;
    tc_status status = tc_states_mac(engine->states, hub->random, k, input);
    if (status != TC_OK)
        return status;
    engine->p = p;
    status = tc_engine_round(engine);
    engine->p = NULL;
    *scalars = engine->scalars;
    if (engine->reason != NULL)
        *outcome = TC_ENGINE_DIVERGED;
    return status;
}

const char *tc_hub_reason(const tc_hub *hub) { return hub->engine->reason; }
uint64_t tc_hub_rounds(const tc_hub *hub) { return hub->engine->done; }
const double *tc_hub_multipliers(const tc_hub *hub) { return hub->engine->mu; }
const double *tc_hub_answer_multipliers(const tc_hub *hub) { return tc_engine_answer_multipliers(hub->engine); }
const tc_feasibility *tc_hub_feasibility(const tc_hub *hub) {
    return hub->has_gap || !hub->has_memory ? NULL : tc_engine_feasibility(hub->engine);
}
