#include "serve/rounds/lane.h"

#include <stdlib.h>

/* The main lane prepares answers while the disk works; the others only collect some to be sent together. */
enum { MAIN_SEALED = 1 << 20, OTHERS_SEALED = 1 << 15 };

tc_lane *tc_lanes_new(tc_arena *arena, struct tc_rounds *rounds, size_t count, size_t most_states) {
    tc_lane *all = TC_NEW(arena, tc_lane, count);
    for (size_t i = 0; i < count; i++) {
        tc_lane *lane = &all[i];
        lane->rounds = rounds;
        lane->first = all;
        lane->count = count;
        lane->one = TC_NEW(arena, double, most_states + 1);
        lane->units = TC_NEW(arena, int64_t, most_states + 1);
        lane->sealed.room = i == 0 ? MAIN_SEALED : OTHERS_SEALED;
        lane->sealed.bytes = TC_NEW(arena, unsigned char, lane->sealed.room);
        tc_ring *rings[] = {&lane->seated, &lane->idle, &lane->unanswered, &lane->notices};
        for (size_t j = 0; j < sizeof rings / sizeof rings[0]; j++)
            tc_ring_clear(rings[j]);
        if (pthread_mutex_init(&lane->gate, NULL) != 0)
            return NULL;
    }
    return all;
}

void tc_lanes_free(tc_lane *first) {
    for (size_t i = 0; first != NULL && i < first->count; i++) {
        free(first[i].batch);
        first[i].batch = NULL;
        first[i].batch_room = 0;
        (void)pthread_mutex_destroy(&first[i].gate);
    }
}

void tc_lock_take(tc_lane *lane) {
    if (lane->depth++ > 0 || lane->count == 1)
        return;
    for (size_t i = 0; i < lane->count; i++)
        (void)pthread_mutex_lock(&lane->first[i].gate);
}

/* Rings after the gates are free, so that who wakes does not wait for one at once. */
void tc_lock_give(tc_lane *lane) {
    if (--lane->depth > 0 || lane->count == 1)
        return;
    for (size_t i = lane->count; i > 0; i--)
        (void)pthread_mutex_unlock(&lane->first[i - 1].gate);
    for (size_t i = 0; i < lane->count; i++) {
        tc_lane *other = &lane->first[i];
        if (atomic_load_explicit(&other->must_ring, memory_order_relaxed) && atomic_exchange(&other->must_ring, false))
            other->ring(other->loop);
    }
}

void tc_lane_ask(tc_lane *lane, unsigned what) {
    lane->asks |= what;
    atomic_store(&lane->must_ring, lane->ring != NULL);
}

unsigned tc_lane_asked(tc_lane *lane) {
    tc_gate_take(lane);
    unsigned asked = lane->asks;
    lane->asks = 0;
    tc_gate_give(lane);
    return asked;
}
