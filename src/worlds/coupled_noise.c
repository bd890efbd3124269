#include "worlds/worlds.h"

#include "release/lattice.h"

#include <stdio.h>

enum { BITE = 256 };

static FILE *tape;
static tc_coupled_noise_mode how;
static const char *trouble;

bool tc_coupled_noise_begin(tc_coupled_noise_mode mode, const char *path) {
    if (tape != NULL)
        (void)fclose(tape);
    tape = NULL;
    trouble = NULL;
    how = mode;
    if (mode == TC_COUPLED_OFF)
        return true;
    tape = fopen(path, mode == TC_COUPLED_RECORD ? "wbe" : "rbe");
    return tape != NULL;
}

const char *tc_coupled_noise_end(void) {
    if (tape != NULL && how == TC_COUPLED_REPLAY && trouble == NULL && fgetc(tape) != EOF)
        trouble = "the second world released fewer numbers than the first";
    if (tape != NULL && fclose(tape) != 0 && trouble == NULL)
        trouble = "the released numbers could not be written down";
    tape = NULL;
    how = TC_COUPLED_OFF;
    return trouble;
}

/* By --wrap the callers of tc_release_add_noise get the first of these, and the second is the door itself. */
void __wrap_tc_release_add_noise(const tc_channel_run *runs, size_t run_count, const int64_t *units,
                                 const int64_t *noise, double *out);
void __real_tc_release_add_noise(const tc_channel_run *runs, size_t run_count, const int64_t *units,
                                 const int64_t *noise, double *out);

/* value + couple(value, sum) is sum, as the door adds them. */
static int64_t couple(int64_t value, int64_t sum) {
    int64_t noise;
    if (__builtin_sub_overflow(sum, value, &noise))
        return sum < 0 ? INT64_MIN : INT64_MAX;
    return noise;
}

static void add_coupled(const tc_channel_run *run, const int64_t *units, const int64_t *noise, double *out) {
    size_t count = run->count;
    int64_t sums[BITE], coupled[BITE];
    for (size_t k = 0; k < count; k++)
        sums[k] = tc_saturating_add(units[k], noise[k]);
    if (how == TC_COUPLED_RECORD && fwrite(sums, sizeof *sums, count, tape) != count)
        trouble = "the released numbers could not be written down";
    if (how == TC_COUPLED_REPLAY && fread(sums, sizeof *sums, count, tape) != count)
        trouble = "the second world released more numbers than the first";
    for (size_t k = 0; k < count; k++)
        coupled[k] = how == TC_COUPLED_REPLAY && trouble == NULL ? couple(units[k], sums[k]) : noise[k];
    __real_tc_release_add_noise(run, 1, units, coupled, out);
}

void __wrap_tc_release_add_noise(const tc_channel_run *runs, size_t run_count, const int64_t *units,
                                 const int64_t *noise, double *out) {
    if (how == TC_COUPLED_OFF || tape == NULL) {
        __real_tc_release_add_noise(runs, run_count, units, noise, out);
        return;
    }
    for (size_t i = 0; i < run_count; units += runs[i].count, noise += runs[i].count, i++)
        for (size_t at = 0; at < runs[i].count; at += BITE) {
            size_t left = runs[i].count - at;
            tc_channel_run bite = {runs[i].channel, left < BITE ? left : BITE, runs[i].to + at};
            add_coupled(&bite, units + at, noise + at, out);
        }
}
