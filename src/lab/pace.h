/* How fast rounds go by, of one run or of many at once, for whoever waits. */
#ifndef TC_LAB_PACE_H
#define TC_LAB_PACE_H

#include "base/monitor.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct tc_pace {
    const tc_monitor *monitor;
    uint64_t total; /* rounds of all runs */
    _Atomic uint64_t done;
    double began; /* on the clock of tc_lab_seconds */
    double last_report;
} tc_pace;

void tc_pace_begin(tc_pace *pace, const tc_monitor *monitor, uint64_t total);
/* Any thread may say what it has done; the one that began reports it. */
void tc_pace_add(tc_pace *pace, uint64_t rounds);
void tc_pace_report(tc_pace *pace);

/* "12,345 rounds/s, 3 s left"; at most 63 characters. */
void tc_pace_text(char text[64], double rounds_per_second, double seconds_left);

#endif
