/* Noise of a round, channel by channel; small channels are drawn together, since pointing the cipher at an address
 * costs as much as some fifty draws. What is drawn depends on addresses alone, so this changes no value. */
#include "privacy/release_parts.h"

enum { SMALL = 256 }; /* entries of a channel that is drawn with its neighbours */

/* Channels from i on that are small and follow each other without a gap: the first beyond them. */
static size_t end_of_run(const tc_plan *plan, size_t i) {
    size_t end = i + 1;
    while (end < plan->channel_count && plan->channels[end - 1].entries <= SMALL &&
           plan->channels[end].entries <= SMALL &&
           plan->channels[end].first_entry == plan->channels[end - 1].first_entry + plan->channels[end - 1].entries)
        end++;
    return end;
}

static tc_noise_run make_run(tc_arena *arena, const tc_plan *plan, const tc_noise_scale *scales, size_t i, size_t end) {
    const tc_channel *last = &plan->channels[end - 1];
    uint64_t first = plan->channels[i].first_entry;
    tc_noise_run run = {first, (size_t)(last->first_entry + last->entries - first), &scales[i], end > i + 1};
    if (!run.each)
        return run;
    tc_noise_scale *each = TC_NEW(arena, tc_noise_scale, run.count);
    for (size_t c = i; c < end; c++)
        for (size_t e = 0; e < plan->channels[c].entries; e++)
            each[plan->channels[c].first_entry - first + e] = scales[c];
    run.scales = each;
    return run;
}

bool tc_release_plan_noise(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    if (plan->mechanism == TC_MECHANISM_NONE)
        return true;
    tc_noise_scale *scales = TC_NEW(arena, tc_noise_scale, plan->channel_count);
    release->runs = TC_NEW(arena, tc_noise_run, plan->channel_count);
    for (size_t i = 0; i < plan->channel_count; i++)
        if (!tc_noise_scale_from(plan->channels[i].lattice_scale, &scales[i]))
            return false;
    for (size_t i = 0; i < plan->channel_count;) {
        size_t end = end_of_run(plan, i);
        release->runs[release->run_count++] = make_run(arena, plan, scales, i, end);
        i = end;
    }
    return true;
}

tc_status tc_release_draw(tc_release *release) {
    tc_noise_law law = release->plan->mechanism == TC_MECHANISM_GAUSSIAN ? TC_GAUSSIAN : TC_LAPLACE;
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < release->run_count; i++) {
        const tc_noise_run *run = &release->runs[i];
        int64_t *noise = release->noise + run->first;
        status = run->each ? tc_noise_fill_each(release->worker, law, run->scales, run->first, run->count, noise)
                           : tc_noise_fill(release->worker, law, run->scales, run->first, run->count, noise);
    }
    return status;
}
