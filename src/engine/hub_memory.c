/* A hub between two runs. In this order: a mark, the plan's hash, the round, whether rounds are missing, mu; then for
 * the method `tacit` the columns of the last second pass, the pilot and the gauge. */
#include "engine/hub_parts.h"

#include <string.h>

static const char MARK[8] = {'t', 'a', 'c', 'i', 't', 'h', 1, 0}; /* the last two: a version */

enum { ROUND_AT = sizeof MARK + 32 };

static void go_through(const tc_hub *hub, uint64_t *round, uint64_t *gap, tc_memory *memory) {
    const tc_engine *engine = hub->engine;
    unsigned char mark[sizeof MARK], hash[sizeof engine->plan->hash];
    memcpy(mark, MARK, sizeof mark);
    memcpy(hash, engine->plan->hash, sizeof hash);
    tc_memory_bytes(memory, mark, sizeof mark);
    tc_memory_bytes(memory, hash, sizeof hash);
    tc_memory_count(memory, round);
    tc_memory_count(memory, gap);
    tc_memory_numbers(memory, engine->mu, engine->model->constraint_count);
    if (engine->method == NULL)
        return;
    tc_columns *columns = &engine->method->columns;
    tc_memory_numbers(memory, &columns->reach, 1);
    tc_memory_numbers(memory, &columns->curvature, 1);
    tc_memory_numbers(memory, &columns->noise, 1);
    tc_controller_snapshot(engine->method->pilot, memory);
    tc_estimator_snapshot(engine->method->gauge, memory);
}

size_t tc_hub_memory_size(const tc_hub *hub) {
    tc_memory memory = {.what = TC_MEMORY_COUNT};
    uint64_t round = 0, gap = 0;
    go_through(hub, &round, &gap, &memory);
    return memory.at;
}

void tc_hub_save(const tc_hub *hub, unsigned char *bytes) {
    tc_memory memory = {.what = TC_MEMORY_SAVE, .to = bytes};
    uint64_t round = hub->engine->done, gap = hub->has_gap;
    go_through(hub, &round, &gap, &memory);
}

/* The mark, the hash, the round and the gap, before anything is changed. */
static bool is_of_plan(const tc_hub *hub, const unsigned char *bytes, size_t size) {
    tc_memory memory = {.what = TC_MEMORY_LOAD, .from = bytes, .at = ROUND_AT};
    uint64_t round = 0, gap = 0;
    if (size != tc_hub_memory_size(hub) || memcmp(bytes, MARK, sizeof MARK) != 0 ||
        memcmp(bytes + sizeof MARK, hub->engine->plan->hash, sizeof hub->engine->plan->hash) != 0)
        return false;
    tc_memory_count(&memory, &round);
    tc_memory_count(&memory, &gap);
    return gap <= 1 && round < hub->first_round && (round > 0 || hub->first_round == 1);
}

static bool is_sound(const tc_engine *engine, uint64_t round) {
    const tc_method_run *run = engine->method;
    for (size_t j = 0; j < engine->model->constraint_count; j++)
        if (!(engine->mu[j] >= 0 && isfinite(engine->mu[j])))
            return false;
    return run == NULL || (isfinite(run->columns.reach) && isfinite(run->columns.curvature) &&
                           isfinite(run->columns.noise) && tc_controller_round(run->pilot) == round);
}

bool tc_hub_load(tc_hub *hub, const unsigned char *bytes, size_t size) {
    tc_engine *engine = hub->engine;
    tc_memory memory = {.what = TC_MEMORY_LOAD, .from = bytes};
    uint64_t round = 0, gap = 0;
    bool is_new = engine->done + 1 == hub->first_round;
    hub->has_memory = false;
    if (!is_new || !is_of_plan(hub, bytes, size))
        return false;
    go_through(hub, &round, &gap, &memory);
    if (!is_sound(engine, round))
        return false;
    if (engine->method != NULL) {
        size_t m = engine->model->constraint_count;
        tc_controller *pilot = engine->method->pilot;
        if (!tc_controller_review(pilot, tc_estimator_review(engine->method->gauge)) ||
            memcmp(tc_controller_multipliers(pilot), engine->mu, m * sizeof(double)) != 0)
            return false;
        memcpy(engine->method->answer, tc_controller_result(pilot), m * sizeof(double));
    }
    hub->has_gap = gap == 1 || round + 1 < hub->first_round;
    hub->has_memory = true;
    return true;
}
