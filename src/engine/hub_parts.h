/* A hub inside; for src/engine/hub*.c. */
#ifndef TC_ENGINE_HUB_PARTS_H
#define TC_ENGINE_HUB_PARTS_H

#include "engine/engine_parts.h"
#include "engine/hub.h"

struct tc_hub {
    tc_engine *engine; /* its agents are elsewhere */
    const tc_random *random;
    uint64_t first_round;
    bool has_memory; /* begins with round 1, or was loaded */
    bool has_gap;    /* rounds are missing in what was loaded */
};

#endif
