/* `tacit` with a fault: a round takes longer where the first agent's first state is above zero. For
 * tests/serve/answer_times.py, which must see it. */
#include "engine/inside.h"
#include "release/release.h"

#include <time.h>

/* NOLINTBEGIN: names that the linker asks for */
tc_taken __real_tc_states_from_integers(tc_private_states *states, size_t family, size_t member, const int64_t *units);
tc_taken __wrap_tc_states_from_integers(tc_private_states *states, size_t family, size_t member, const int64_t *units);
tc_status __real_tc_engine_round(tc_engine *engine);
tc_status __wrap_tc_engine_round(tc_engine *engine);

enum { PLANTED_NANOSECONDS = 20000 };

static bool is_slow;

tc_taken __wrap_tc_states_from_integers(tc_private_states *states, size_t family, size_t member, const int64_t *units) {
    if (family == 0 && member == 0)
        is_slow = units[0] > 0;
    return __real_tc_states_from_integers(states, family, member, units);
}

static long long now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return 1000000000LL * time.tv_sec + time.tv_nsec;
}

tc_status __wrap_tc_engine_round(tc_engine *engine) {
    for (long long end = now() + PLANTED_NANOSECONDS; is_slow && now() < end;)
        continue;
    return __real_tc_engine_round(engine);
}
/* NOLINTEND */
