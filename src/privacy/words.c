#include "privacy/words.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

const char *tc_unit_text(tc_arena *arena, tc_adjacency unit, double bound) {
    static const char *const names[] = {"unset", "bare", "ensemble", "one", "agent"};
    char number[32];
    if (unit == TC_ADJACENCY_AGENT)
        return "agent";
    tc_shortest_number(number, bound);
    return tc_arena_format(arena, "%s:%s", names[unit], number);
}

const char *tc_text_up(tc_arena *arena, double value) {
    char text[32];
    if (!isfinite(value))
        return isnan(value) ? "unknown" : "infinite";
    for (int digits = 4; digits <= 17; digits++) {
        double unit = value == 0 ? 0 : pow(10, floor(log10(fabs(value))) + 1 - digits);
        for (int up = 0; up <= 1; up++) {
            (void)snprintf(text, sizeof text, "%.*g", digits, value + up * 0.75 * unit);
            if (strtod(text, NULL) >= value)
                return tc_arena_format(arena, "%s", text);
        }
    }
    return tc_arena_format(arena, "%s", text);
}

const char *tc_price_up(tc_arena *arena, double epsilon, double delta) {
    if (!isfinite(epsilon))
        return "no guarantee";
    const char *first = tc_text_up(arena, epsilon);
    return delta > 0 ? tc_arena_format(arena, "epsilon %s, delta %s", first, tc_text_up(arena, delta))
                     : tc_arena_format(arena, "epsilon %s", first);
}

const char *tc_epsilon_is_for(const tc_plan *plan) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    return plan->calibration == TC_PUBLISHED ? "each system" : "everything";
}

double tc_epsilon_of_everything(const tc_plan *plan) {
    double worst = 0;
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NAN;
    if (plan->calibration == TC_TIGHT)
        return plan->epsilon;
    for (size_t i = 0; i < plan->observer_count; i++)
        worst = fmax(worst, plan->observers[i].epsilon);
    return worst;
}

bool tc_delta_is_large(const tc_plan *plan) {
    return plan->mechanism == TC_MECHANISM_GAUSSIAN && plan->delta * (double)plan->model->agent_count >= 1;
}

bool tc_in_name_only(const tc_plan *plan) {
    return tc_epsilon_of_everything(plan) > TC_WEAK_EPSILON || tc_delta_is_large(plan);
}

const char *tc_promise_text(tc_arena *arena, const tc_plan *plan) {
    const char *asked = tc_price_up(arena, plan->epsilon, plan->delta);
    double everything = tc_epsilon_of_everything(plan);
    if (plan->calibration == TC_TIGHT)
        return asked;
    return tc_arena_format(arena, "%s for each system; %s for whoever sees all", asked,
                           isfinite(everything) ? tc_text_up(arena, everything) : "no guarantee");
}
