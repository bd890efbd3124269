/* Faults that tell others of a state that was moved into the box. */
#include "engine/hub.h"

static uint64_t clamped_so_far;

tc_taken __wrap_tc_hub_take(tc_hub *hub, size_t family, size_t member, const int64_t *units);
tc_taken __real_tc_hub_take(tc_hub *hub, size_t family, size_t member, const int64_t *units);
static void on_clamped(void);

tc_taken __wrap_tc_hub_take(tc_hub *hub, size_t family, size_t member, const int64_t *units) {
    tc_taken taken = __real_tc_hub_take(hub, family, member, units);
    if (taken == TC_STATE_CLAMPED) {
        clamped_so_far++;
        on_clamped();
    }
    return taken;
}
