/* A cloud half inside; for cloud_half.c and for faults that tests plant. */
#ifndef TC_ENGINE_CLOUD_HALF_INSIDE_H
#define TC_ENGINE_CLOUD_HALF_INSIDE_H

#include "engine/cloud_half.h"
#include "engine/inside.h"

struct tc_cloud_half {
    tc_engine *engine; /* its agents are elsewhere */
    const tc_random *random;
    uint64_t first_round;
    bool has_snapshot; /* begins with round 1, or was loaded */
    bool has_gap;      /* rounds are missing in what was loaded */
};

#endif
