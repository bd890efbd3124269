#include "report/plot.h"

#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double log_smallest = 1e-120, log_largest = 1e120, largest = 1e300, smallest = 1e-290;
enum { MOST_DECIMALS = 9 };

double tc_axis_at(const tc_axis *axis, double value) {
    double part = axis->is_log ? (log10(value) - log10(axis->low)) / (log10(axis->high) - log10(axis->low))
                               : (value - axis->low) / (axis->high - axis->low);
    return axis->from + part * (axis->to - axis->from);
}

static double clamp(double value, double low, double high) { return fmin(fmax(value, low), high); }

tc_axis tc_axis_around(bool is_log, double low, double high, double from, double to) {
    if (!(low <= high)) /* nothing to show: NAN, or the wrong way round */
        low = high = 1;
    tc_axis axis = {is_log, clamp(low, -largest, largest), clamp(high, -largest, largest), from, to};
    if (is_log) {
        axis.low = clamp(low, log_smallest, log_largest);
        axis.high = clamp(high, axis.low, log_largest);
        double room = fmax(0.04 * log10(axis.high / axis.low), axis.high / axis.low < 1.05 ? 0.05 : 0.01);
        axis.low = axis.low * pow(10, -room);
        axis.high *= pow(10, room);
        return axis;
    }
    axis.low = fabs(axis.low) < smallest ? 0 : axis.low;
    axis.high = fabs(axis.high) < smallest ? 0 : axis.high;
    double room = 0.04 * (axis.high - axis.low);
    if (!(room > 1e-9 * fmax(fabs(axis.low), fabs(axis.high)))) /* a single value, or next to it */
        room = axis.low == 0 && axis.high == 0 ? 1 : 0.1 * fmax(fabs(axis.low), fabs(axis.high));
    /* Zero is a natural end: no room below it. */
    axis.low = axis.low == 0 && axis.high > 0 ? 0 : axis.low - room;
    axis.high = axis.high == 0 && axis.low < 0 && low < 0 ? 0 : axis.high + room;
    return axis;
}

/* ---- ticks ------------------------------------------------------------------------------------------------------- */

static void add(tc_ticks *ticks, const tc_axis *axis, double value) {
    double slack = 1e-9 * (axis->high - axis->low);
    bool on_axis = value >= axis->low - slack && value <= axis->high + slack;
    if (on_axis && ticks->count < TC_MOST_TICKS)
        ticks->values[ticks->count++] = value;
}

/* The power of ten as it is written, which pow() need not give. */
static double power_of_ten(int exponent) {
    char text[16];
    double value = 0;
    (void)snprintf(text, sizeof text, "1e%d", exponent);
    (void)sscanf(text, "%lf", &value);
    return value;
}

/* multiple * 10^exponent, rounded once. */
static double multiple_of(double multiple, int exponent) {
    return exponent >= 0 ? multiple * power_of_ten(exponent) : multiple / power_of_ten(-exponent);
}

typedef struct tick_steps { /* ticks are first .. last times step * 10^exponent */
    double step;
    int exponent;
    double first, last;
} tick_steps;

static tick_steps steps_of(const tc_axis *axis, double step, int exponent) {
    double unit = multiple_of(step, exponent);
    return (tick_steps){step, exponent, ceil(axis->low / unit - 1e-9), floor(axis->high / unit + 1e-9)};
}

/* Of 1, 2 and 5 times powers of ten, the one that gives the number of ticks nearest to what is wanted. */
static tick_steps choose_steps(const tc_axis *axis, size_t wanted) {
    static const double candidates[] = {5, 2, 1};
    int exponent = (int)floor(log10((axis->high - axis->low) / (double)wanted));
    tick_steps best = {0, 0, 0, -1};
    for (int e = exponent + 1; e >= exponent - 1; e--) {
        for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
            tick_steps s = steps_of(axis, candidates[i], e);
            double off = fabs(s.last - s.first + 1 - (double)wanted);
            if (best.step == 0 || off <= fabs(best.last - best.first + 1 - (double)wanted))
                best = s;
        }
    }
    return best;
}

static void linear_ticks(tc_ticks *ticks, const tc_axis *axis, size_t wanted) {
    tick_steps s = choose_steps(axis, wanted);
    ticks->count = 0;
    for (double i = s.first; i <= s.last && ticks->count < TC_MOST_TICKS; i++)
        add(ticks, axis, multiple_of(i * s.step, s.exponent) + 0.0);
    ticks->decimals = s.exponent < 0 ? -s.exponent : 0;
    double far = fmax(fabs(axis->low), fabs(axis->high));
    ticks->powers = ticks->decimals > MOST_DECIMALS || far >= 1e9 || far < 1e-4;
}

static void decade_ticks(tc_ticks *ticks, const tc_axis *axis, size_t wanted) {
    int first = (int)ceil(log10(axis->low) - 1e-9), last = (int)floor(log10(axis->high) + 1e-9);
    int each = 1;
    while ((last - first) / each + 1 > (int)wanted + 1)
        each += each < 3 ? 1 : each < 5 ? 2 : 5; /* 1, 2, 3, 5, 10, 15 ... */
    while (first % each != 0)
        first++;
    for (int exponent = first; exponent <= last; exponent += each) {
        if (ticks->count < TC_MOST_TICKS)
            ticks->values[ticks->count++] = power_of_ten(exponent);
    }
    double low = ticks->count > 0 ? ticks->values[0] : 1, high = ticks->count > 0 ? ticks->values[ticks->count - 1] : 1;
    ticks->powers = low < 9e-4 || high > 1.1e6;
    ticks->decimals = -1;
}

/* 1, 2, 5 times powers of ten. */
static void within_decade_ticks(tc_ticks *ticks, const tc_axis *axis) {
    static const double parts[] = {1, 2, 5};
    int first = (int)floor(log10(axis->low)), last = (int)floor(log10(axis->high));
    ticks->count = 0;
    for (int exponent = first; exponent <= last; exponent++) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            add(ticks, axis, multiple_of(parts[i], exponent));
    }
    ticks->powers = axis->low < 1e-4 || axis->high > 1e7;
    ticks->decimals = -1;
}

tc_ticks tc_ticks_of(const tc_axis *axis, size_t wanted) {
    tc_ticks ticks = {.count = 0};
    if (!axis->is_log) {
        linear_ticks(&ticks, axis, wanted);
        return ticks;
    }
    decade_ticks(&ticks, axis, wanted);
    if (ticks.count < 3 && log10(axis->high / axis->low) < 4)
        within_decade_ticks(&ticks, axis);
    if (ticks.count < 2 || (ticks.count < 3 && axis->high / axis->low < 8))
        linear_ticks(&ticks, axis, wanted);
    return ticks;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Decimals that a value needs which is 1, 2 or 5 times a power of ten. */
static int own_decimals(double value) {
    int exponent = (int)floor(log10(fabs(value)) + 1e-9);
    return exponent < 0 ? -exponent : 0;
}

static size_t put_power(tc_buffer *out, double value) {
    if (value == 0) {
        tc_buffer_puts(out, "0");
        return 1;
    }
    double exponent = floor(log10(fabs(value)) + 1e-9), multiple = fabs(value) / pow(10, exponent);
    size_t before = out->length;
    if (value < 0)
        tc_buffer_puts(out, TC_MINUS);
    if (fabs(multiple - 1) > 1e-6)
        tc_buffer_printf(out, "%.4g·", multiple);
    size_t width = out->length - before;
    tc_buffer_printf(out, "10<tspan class=\"sup\" dy=\"-4\">%s%.0f</tspan>", exponent < 0 ? TC_MINUS : "",
                     fabs(exponent));
    return width + 2 + (exponent < 0) + (fabs(exponent) >= 10 ? 2 : 1);
}

size_t tc_tick_label(tc_buffer *out, const tc_ticks *ticks, double value) {
    if (ticks->powers)
        return put_power(out, value);
    int decimals = ticks->decimals >= 0 ? ticks->decimals : own_decimals(value);
    char text[64];
    (void)snprintf(text, sizeof text, "%.*f", decimals, value);
    size_t before = out->length;
    tc_put_grouped(out, text);
    return tc_text_characters(out->text + before);
}
