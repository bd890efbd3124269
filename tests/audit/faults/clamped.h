/* Faults that tell others of a state that was moved into the box. */
#include "engine/cloud_half.h"

static uint64_t clamped_so_far;

tc_taken __wrap_tc_cloud_half_take(tc_cloud_half *half, size_t family, size_t member, const int64_t *units);
tc_taken __real_tc_cloud_half_take(tc_cloud_half *half, size_t family, size_t member, const int64_t *units);
static void on_clamped(void);

tc_taken __wrap_tc_cloud_half_take(tc_cloud_half *half, size_t family, size_t member, const int64_t *units) {
    tc_taken taken = __real_tc_cloud_half_take(half, family, member, units);
    if (taken == TC_STATE_CLAMPED) {
        clamped_so_far++;
        on_clamped();
    }
    return taken;
}
