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
