#include "noise/noise.h"
#include "noise/secret.h"

enum {
    CHUNK = 512, /* words that stay in the nearest cache between the cipher and the sampler */
    BITE = 128   /* draws between two prefetches */
};

typedef struct entry {
    tc_random_worker *worker;
    uint64_t number;
} entry;

static tc_status more_bits(void *context, unsigned attempt, uint64_t *word) {
    const entry *of = context;
    return tc_random_refine(of->worker, of->number, attempt, word);
}

/* The sampler needs no memory, so its thread can prefetch meanwhile what it needs next. */
static size_t sample_and_fetch(tc_fetch *fetch, tc_noise_law law, const tc_noise_scale *scales, size_t stride,
                               uint16_t count, int64_t *noise, uint16_t *undecided) {
    size_t open = 0;
    for (uint16_t at = 0; at < count; at = (uint16_t)(at + BITE)) {
        uint16_t bite = count - at < BITE ? (uint16_t)(count - at) : BITE;
        tc_fetch_some(fetch);
        size_t more = tc_sample_fast(law, &scales[at * stride], stride, noise + at, bite, undecided + open);
        for (size_t end = open + more; open < end; open++)
            undecided[open] = (uint16_t)(undecided[open] + at);
    }
    return open;
}

static tc_status fill_chunk(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, size_t stride,
                            uint64_t first, uint16_t count, int64_t *noise) {
    uint16_t undecided[CHUNK];
    tc_fetch *fetch = tc_random_worker_fetch(worker);
    tc_status status = tc_random_bulk(worker, first, count, (uint64_t *)noise);
    if (status != TC_OK)
        return status;
    size_t open = fetch == NULL || tc_fetch_is_done(fetch)
                      ? tc_sample_fast(law, scales, stride, noise, count, undecided)
                      : sample_and_fetch(fetch, law, scales, stride, count, noise, undecided);
    for (size_t i = 0; i < open && status == TC_OK; i++) {
        uint16_t at = undecided[i];
        entry of = {worker, first + at};
        status =
            tc_sample_slow(law, &scales[at * stride], (uint64_t)noise[at], (tc_bit_source){more_bits, &of}, &noise[at]);
    }
    return status;
}

static tc_status fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, size_t stride,
                      uint64_t first, size_t count, int64_t *noise) {
    tc_status status = TC_OK;
    for (size_t done = 0; done < count && status == TC_OK; done += CHUNK) {
        uint16_t part = count - done < CHUNK ? (uint16_t)(count - done) : CHUNK;
        status = fill_chunk(worker, law, &scales[done * stride], stride, first + done, part, noise + done);
    }
    if (status != TC_OK) /* so that half a round of noise is not used as a whole one */
        tc_secret_wipe(noise, count * sizeof *noise);
    return status;
}

tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise) {
    return fill(worker, law, scale, 0, first, count, noise);
}

tc_status tc_noise_fill_each(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, uint64_t first,
                             size_t count, int64_t *noise) {
    return fill(worker, law, scales, 1, first, count, noise);
}

/* With probability at most 1/e an entry is outside: 4,096 attempts leave less than 2^-5900. */
enum { MOST_REDRAWS = 4096 };

static bool is_outside(int64_t noise, int64_t bound) { return noise > bound || noise < -bound; }

static tc_status draw_until_inside(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale,
                                   int64_t bound, uint64_t number, int64_t *noise) {
    tc_status status = TC_OK;
    for (uint64_t again = 1; status == TC_OK && is_outside(*noise, bound); again++)
        status = again > MOST_REDRAWS ? TC_NO_RANDOM
                                      : fill(worker, law, scale, 0, number + again * TC_REDRAW_STRIDE, 1, noise);
    return status;
}

tc_status tc_noise_fill_within(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                               const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) {
    if (first > TC_REDRAW_STRIDE || count > TC_REDRAW_STRIDE - first)
        return TC_BAD_USAGE;
    tc_status status = fill(worker, law, scales, 1, first, count, noise);
    for (size_t i = 0; status == TC_OK && i < count; i++)
        status = draw_until_inside(worker, law, &scales[i], bounds[i], first + i, &noise[i]);
    if (status != TC_OK)
        tc_secret_wipe(noise, count * sizeof *noise);
    return status;
}
