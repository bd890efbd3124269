/* Noise on states, too low by FACTOR. */
#define tc_scale_states honest_scale_states
#include "plan/tight.c"
#undef tc_scale_states

void tc_scale_states(tc_planner *p, tc_layout *layout) {
    honest_scale_states(p, layout);
    for (size_t i = 0; i < layout->count; i++) {
        tc_channel *channel = &layout->channels[i];
        channel->sensitivity *= FACTOR;
        tc_finish_channel(p, channel, channel->scale * FACTOR);
    }
}
