#include "lab/pace.h"

#include "lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double interval = 0.1; /* seconds between reports */

void tc_pace_begin(tc_pace *pace, const tc_monitor *monitor, uint64_t total) {
    pace->monitor = monitor;
    pace->total = total;
    atomic_init(&pace->done, 0);
    pace->began = tc_lab_seconds();
    pace->last_report = pace->began;
}

void tc_pace_add(tc_pace *pace, uint64_t rounds) {
    (void)atomic_fetch_add_explicit(&pace->done, rounds, memory_order_relaxed);
}

/* 1234567 as 1,234,567. */
static void with_commas(char text[32], double value) {
    char digits[32];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%.0f", fmin(value, 1e15)), written = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[written++] = ',';
        text[written++] = digits[i];
    }
    text[written] = '\0';
}

static void duration(char text[32], double seconds) {
    if (!(seconds < 360000))
        (void)snprintf(text, 32, "days");
    else if (seconds >= 3600)
        (void)snprintf(text, 32, "%d h %02d min", (int)(seconds / 3600), (int)(seconds / 60) % 60);
    else if (seconds >= 60)
        (void)snprintf(text, 32, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
    else
        (void)snprintf(text, 32, "%.0f s", ceil(seconds));
}

void tc_pace_text(char text[64], double rounds_per_second, double seconds_left) {
    char rate[32], left[32];
    if (rounds_per_second >= 10)
        with_commas(rate, rounds_per_second);
    else
        (void)snprintf(rate, sizeof rate, "%.2g", rounds_per_second);
    duration(left, seconds_left);
    (void)snprintf(text, 64, "%.20s rounds/s, %.20s left", rate, left);
}

void tc_pace_report(tc_pace *pace) {
    double now = tc_lab_seconds();
    if (pace->monitor == NULL || pace->monitor->progress == NULL || now - pace->last_report < interval)
        return;
    pace->last_report = now;
    double done = (double)atomic_load_explicit(&pace->done, memory_order_relaxed);
    double rate = done / (now - pace->began);
    char text[64];
    tc_pace_text(text, rate, ((double)pace->total - done) / rate);
    tc_progress(pace->monitor, text, done / (double)pace->total);
}
