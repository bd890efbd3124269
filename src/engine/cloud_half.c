#include "engine/cloud_half.h"

#include "engine/inside.h"

#include <string.h>

struct tc_cloud_half {
    tc_engine *engine; /* its agents are elsewhere */
    const tc_random *random;
    uint64_t first_round;
    bool has_snapshot; /* begins with round 1, or was loaded */
    bool has_gap;      /* rounds are missing in what was loaded */
};

tc_status tc_cloud_half_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, tc_random *random,
                            const tc_cloud_half_settings *settings, tc_cloud_half **half, const char **why) {
    const tc_engine_settings same = {.dual_radius = settings->dual_radius,
                                     .team = settings->team,
                                     .facts = settings->facts,
                                     .last_random = settings->last_random};
    tc_engine_kind kind = {.driver = TC_DRIVER_AUTO, .first_round = settings->first_round};
    *half = NULL;
    *why = model->role == TC_ROLE_AGENT      ? "a cloud needs the cloud's file or the whole problem"
           : settings->first_round == 0      ? "rounds are counted from 1"
           : !(plan->rounds < TC_MOST_ROUND) ? "the plan has too many rounds"
                                             : NULL;
    if (*why != NULL)
        return TC_BAD_USAGE;
    tc_cloud_half *made = TC_NEW(arena, tc_cloud_half, 1);
    *made = (tc_cloud_half){
        .random = random, .first_round = settings->first_round, .has_snapshot = settings->first_round == 1};
    tc_status status = tc_engine_new_of_kind(arena, plan, model, derivatives, random, &same, kind, &made->engine, why);
    if (status == TC_OK && settings->draws_ahead) {
        status = tc_release_draw_ahead(arena, made->engine->release, 0);
        if (status == TC_OK && made->engine->last != NULL)
            status = tc_release_draw_ahead(arena, tc_last_release(made->engine->last), 0);
        *why = status == TC_OK ? NULL : "the system gives no thread that could draw noise";
    }
    if (status == TC_OK)
        *half = made;
    return status;
}

tc_taken tc_cloud_half_take(tc_cloud_half *half, size_t family, size_t member, const int64_t *units) {
    const tc_model *model = half->engine->model;
    if (family >= model->family_count || member >= model->families[family].count)
        return TC_STATE_REFUSED;
    return tc_states_from_integers(half->engine->states, family, member, units);
}

static bool is_last(const tc_engine *engine, uint64_t k) {
    return engine->last != NULL && (double)k == engine->plan->rounds + 1;
}

static bool is_next(const tc_cloud_half *half, uint64_t k) {
    const tc_engine *engine = half->engine;
    return half->has_snapshot && engine->reason == NULL && engine->broken == TC_OK && k == engine->done + 1 &&
           ((double)k <= engine->plan->rounds || is_last(engine, k));
}

tc_status tc_cloud_half_prepare(tc_cloud_half *half, uint64_t k) {
    if (!is_next(half, k))
        return TC_BAD_USAGE;
    return is_last(half->engine, k) ? tc_release_prepare(tc_last_release(half->engine->last), 1)
                                    : tc_release_prepare(half->engine->release, k);
}

static tc_status end_with_last(tc_engine *engine) {
    engine->broken = tc_last_round_now(engine, NULL);
    engine->done += engine->broken == TC_OK;
    return engine->broken;
}

tc_status tc_cloud_half_round(tc_cloud_half *half, uint64_t k, tc_answer_scalars *scalars, double *p,
                              unsigned char input[TC_STATES_MAC], tc_engine_outcome *outcome) {
    tc_engine *engine = half->engine;
    *outcome = TC_ENGINE_DONE;
    if (!is_next(half, k))
        return TC_BAD_USAGE;
    tc_status status = tc_states_mac(engine->states, half->random, k, input);
    if (status != TC_OK)
        return status;
    engine->p = p;
    status = is_last(engine, k) ? end_with_last(engine) : tc_engine_round(engine);
    engine->p = NULL;
    *scalars = engine->scalars;
    if (engine->reason != NULL)
        *outcome = TC_ENGINE_DIVERGED;
    return status;
}

const char *tc_cloud_half_reason(const tc_cloud_half *half) { return half->engine->reason; }
uint64_t tc_cloud_half_rounds(const tc_cloud_half *half) { return half->engine->done; }
const double *tc_cloud_half_multipliers(const tc_cloud_half *half) { return half->engine->mu; }
const double *tc_cloud_half_result_multipliers(const tc_cloud_half *half) {
    return tc_engine_result_multipliers(half->engine);
}
const tc_feasibility *tc_cloud_half_feasibility(const tc_cloud_half *half) {
    return half->has_gap || !half->has_snapshot ? NULL : tc_engine_feasibility(half->engine);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

/* In this order: a mark, the plan's hash, the round, whether rounds are missing, mu; then what the method adds. */
static const char MARK[8] = {'t', 'a', 'c', 'i', 't', 'h', 1, 0}; /* the last two: a version */

enum { ROUND_AT = sizeof MARK + 32 };

static void go_through(const tc_cloud_half *half, uint64_t *round, uint64_t *gap, tc_snapshot *snapshot) {
    const tc_engine *engine = half->engine;
    unsigned char mark[sizeof MARK], hash[sizeof engine->plan->hash];
    memcpy(mark, MARK, sizeof mark);
    memcpy(hash, engine->plan->hash, sizeof hash);
    tc_snapshot_bytes(snapshot, mark, sizeof mark);
    tc_snapshot_bytes(snapshot, hash, sizeof hash);
    tc_snapshot_count(snapshot, round);
    tc_snapshot_count(snapshot, gap);
    tc_snapshot_numbers(snapshot, engine->mu, engine->model->constraint_count);
    if (engine->method->snapshot != NULL)
        engine->method->snapshot(engine->of_method, snapshot);
    if (engine->last != NULL)
        tc_last_snapshot(half->engine, is_last(engine, *round), snapshot);
}

size_t tc_cloud_half_snapshot_size(const tc_cloud_half *half) {
    tc_snapshot snapshot = {.what = TC_SNAPSHOT_COUNT};
    uint64_t round = 0, gap = 0;
    go_through(half, &round, &gap, &snapshot);
    return snapshot.at;
}

void tc_cloud_half_save(const tc_cloud_half *half, unsigned char *bytes) {
    tc_snapshot snapshot = {.what = TC_SNAPSHOT_SAVE, .to = bytes};
    uint64_t round = half->engine->done, gap = half->has_gap;
    go_through(half, &round, &gap, &snapshot);
}

/* The mark, the hash, the round and the gap, before anything is changed. */
static bool is_of_plan(const tc_cloud_half *half, const unsigned char *bytes, size_t size) {
    tc_snapshot snapshot = {.what = TC_SNAPSHOT_LOAD, .from = bytes, .at = ROUND_AT};
    uint64_t round = 0, gap = 0;
    if (size != tc_cloud_half_snapshot_size(half) || memcmp(bytes, MARK, sizeof MARK) != 0 ||
        memcmp(bytes + sizeof MARK, half->engine->plan->hash, sizeof half->engine->plan->hash) != 0)
        return false;
    tc_snapshot_count(&snapshot, &round);
    tc_snapshot_count(&snapshot, &gap);
    return gap <= 1 && round < half->first_round && (round > 0 || half->first_round == 1);
}

static bool is_sound(const tc_engine *engine, uint64_t round) {
    for (size_t j = 0; j < engine->model->constraint_count; j++)
        if (!isfinite(engine->mu[j]) || (engine->mu[j] < 0 && !engine->model->constraints[j].is_equality))
            return false;
    return engine->method->resume == NULL ||
           engine->method->resume(engine->of_method, is_last(engine, round) ? round - 1 : round, engine->mu);
}

bool tc_cloud_half_load(tc_cloud_half *half, const unsigned char *bytes, size_t size) {
    tc_engine *engine = half->engine;
    tc_snapshot snapshot = {.what = TC_SNAPSHOT_LOAD, .from = bytes};
    uint64_t round = 0, gap = 0;
    bool is_new = engine->done + 1 == half->first_round;
    half->has_snapshot = false;
    if (!is_new || !is_of_plan(half, bytes, size))
        return false;
    go_through(half, &round, &gap, &snapshot);
    if (!is_sound(engine, round))
        return false;
    half->has_gap = gap == 1 || round + 1 < half->first_round;
    half->has_snapshot = true;
    return true;
}
