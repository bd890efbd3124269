#include "report/plot/path.h"

#include <math.h>

bool tc_axis_shows(const tc_axis *axis, double value) { return isfinite(value) && (!axis->is_log || value > 0); }

typedef struct place {
    double x, y;
} place;

typedef struct pen {
    tc_buffer *out;
    size_t points;
    bool down;
    place bucket[4]; /* first, least, greatest, last */
    size_t least_at, greatest_at;
    size_t count; /* in the bucket */
} pen;

/* Far outside of the frame a line is cut anyway, and shorter numbers do. */
static double bounded(double value) { return fmin(fmax(value, -9999), 9999); }

static void draw(pen *p, place at) {
    tc_buffer_printf(p->out, "%s%.4g %.4g", p->down ? "L" : "M", bounded(at.x), bounded(at.y));
    p->down = true;
    p->points++;
}

static void empty_bucket(pen *p) {
    if (p->count == 0)
        return;
    draw(p, p->bucket[0]);
    bool least_first = p->least_at < p->greatest_at;
    place inner[2] = {p->bucket[least_first ? 1 : 2], p->bucket[least_first ? 2 : 1]};
    for (size_t i = 0; i < 2 && p->count > 2; i++)
        draw(p, inner[i]);
    if (p->count > 1)
        draw(p, p->bucket[3]);
    p->count = 0;
}

static bool same_column(double a, double b) { return floor(2 * a) == floor(2 * b); }

static void add(pen *p, place at) {
    if (p->count > 0 && !same_column(p->bucket[0].x, at.x))
        empty_bucket(p);
    if (p->count == 0) {
        p->bucket[0] = p->bucket[1] = p->bucket[2] = at;
        p->least_at = p->greatest_at = 0;
    }
    if (at.y < p->bucket[1].y) {
        p->bucket[1] = at;
        p->least_at = p->count;
    }
    if (at.y > p->bucket[2].y) {
        p->bucket[2] = at;
        p->greatest_at = p->count;
    }
    p->bucket[3] = at;
    p->count++;
}

static void lift(pen *p) {
    empty_bucket(p);
    p->down = false;
}

size_t tc_path_line(tc_buffer *out, const tc_axis *x_axis, const tc_axis *y_axis, const double *x, const double *y,
                    size_t count) {
    pen p = {.out = out};
    for (size_t i = 0; i < count; i++) {
        if (!tc_axis_shows(x_axis, x[i]))
            continue;
        if (!tc_axis_shows(y_axis, y[i])) {
            lift(&p);
            continue;
        }
        add(&p, (place){tc_axis_at(x_axis, x[i]), tc_axis_at(y_axis, y[i])});
    }
    lift(&p);
    return p.points;
}

static place edge(const tc_axis *x_axis, const tc_axis *y_axis, double x, double y) {
    return (place){tc_axis_at(x_axis, x), tc_axis_shows(y_axis, y) ? tc_axis_at(y_axis, y) : y_axis->from};
}

size_t tc_path_band(tc_buffer *out, const tc_axis *x_axis, const tc_axis *y_axis, const double *x, const double *low,
                    const double *high, size_t count) {
    pen p = {.out = out};
    size_t begin = 0;
    while (begin < count) {
        size_t end = begin;
        while (end < count && tc_axis_shows(x_axis, x[end]) && !isnan(low[end]) && tc_axis_shows(y_axis, high[end]))
            end++;
        for (size_t i = begin; i < end; i++)
            add(&p, edge(x_axis, y_axis, x[i], high[i]));
        empty_bucket(&p);
        for (size_t i = end; i-- > begin;)
            add(&p, edge(x_axis, y_axis, x[i], low[i]));
        lift(&p);
        if (end > begin)
            tc_buffer_puts(out, "Z");
        begin = end + 1;
    }
    return p.points;
}
