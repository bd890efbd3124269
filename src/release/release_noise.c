/* Noise of a round, channel by channel; small channels are drawn together, since every call of the cipher and of the
 * sampler has a cost of its own. What is drawn depends on addresses alone, so this changes no value. */
#include "release/release_parts.h"

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
        if (tc_noise_scale_from(plan->channels[i].lattice_scale, &scales[i]))
            release->channels[i].scale = scales[i];
        else
            return false;
    for (size_t i = 0; i < plan->channel_count;) {
        size_t end = end_of_run(plan, i);
        release->runs[release->run_count++] = make_run(arena, plan, scales, i, end);
        i = end;
    }
    return true;
}

static tc_noise_law law_of(const tc_release *release) {
    return release->plan->mechanism == TC_MECHANISM_GAUSSIAN ? TC_GAUSSIAN : TC_LAPLACE;
}

tc_status tc_release_draw(const tc_release *release, int64_t *noise) {
    tc_random_worker *random = release->workers[0].random;
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < release->run_count; i++) {
        const tc_noise_run *run = &release->runs[i];
        int64_t *to = noise + run->first;
        status = run->each ? tc_noise_fill_each(random, law_of(release), run->scales, run->first, run->count, to)
                           : tc_noise_fill(random, law_of(release), run->scales, run->first, run->count, to);
    }
    return status;
}

/* Pieces from the first on that are drawn together: the first beyond them, and how many entries they have. No more than
 * the worker has room for: a single piece fits (release_blocks.h), and others join while they do. */
static size_t end_of_group(const tc_piece *pieces, size_t i, size_t count, size_t *entries) {
    size_t end = i + 1;
    *entries = pieces[i].count;
    while (end < count && pieces[end].address == pieces[i].address + *entries &&
           (pieces[end].channel == pieces[i].channel || (pieces[end].count <= SMALL && pieces[i].count <= SMALL)) &&
           *entries + pieces[end].count <= TC_NOISE_ROOM)
        *entries += pieces[end++].count;
    return end;
}

/* Drawn ahead, or now. */
static tc_status noise_of_group(tc_release_worker *worker, const tc_piece *pieces, size_t count, size_t entries,
                                const int64_t **noise) {
    tc_release *release = worker->release;
    uint64_t first = pieces[0].address;
    if (release->prepared == release->round) {
        *noise = release->noise + first;
        return TC_OK;
    }
    const tc_noise_scale *scales = &release->channels[pieces[0].channel].scale;
    bool each = false;
    for (size_t i = 1; i < count; i++)
        each = each || pieces[i].channel != pieces[0].channel;
    if (each)
        for (size_t i = 0, at = 0; i < count; i++)
            for (size_t k = 0; k < pieces[i].count; k++)
                worker->scales[at++] = release->channels[pieces[i].channel].scale;
    *noise = worker->noise;
    worker->drawn = entries > worker->drawn ? entries : worker->drawn;
    return each ? tc_noise_fill_each(worker->random, law_of(release), worker->scales, first, entries, worker->noise)
                : tc_noise_fill(worker->random, law_of(release), scales, first, entries, worker->noise);
}

tc_status tc_release_publish_pieces(tc_release_worker *worker, const tc_piece *pieces, size_t count,
                                    const int64_t *units, size_t stride, double *const *out) {
    for (size_t i = 0; i < count;) {
        size_t entries = 0, end = end_of_group(pieces, i, count, &entries);
        const int64_t *noise = NULL;
        tc_status status = noise_of_group(worker, pieces + i, end - i, entries, &noise);
        if (status != TC_OK)
            return status;
        for (; i < end; noise += pieces[i].count, i++)
            tc_release_publish(&worker->release->channels[pieces[i].channel],
                               units + pieces[i].row * stride + pieces[i].offset, noise, pieces[i].count,
                               out[pieces[i].row] + pieces[i].offset);
    }
    return TC_OK;
}
