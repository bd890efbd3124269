#include "report/plot.h"

#include "report/html.h"

#include <math.h>
#include <string.h>

/* ---- lines of bounded length ---- */

static bool axis_shows(const tc_axis *axis, double value) { return isfinite(value) && (!axis->is_log || value > 0); }

typedef struct pixel_place {
    double x, y;
} pixel_place;

typedef struct pen {
    tc_buffer *out;
    size_t points;
    bool down;
    pixel_place bucket[4]; /* first, least, greatest, last */
    size_t least_at, greatest_at;
    size_t count; /* in the bucket */
} pen;

/* Far outside of the frame a line is cut anyway, and shorter numbers do. */
static double bounded(double value) { return fmin(fmax(value, -9999), 9999); }

static void draw(pen *p, pixel_place at) {
    tc_buffer_printf(p->out, "%s%.4g %.4g", p->down ? "L" : "M", bounded(at.x), bounded(at.y));
    p->down = true;
    p->points++;
}

static void empty_bucket(pen *p) {
    if (p->count == 0)
        return;
    draw(p, p->bucket[0]);
    bool least_first = p->least_at < p->greatest_at;
    pixel_place inner[2] = {p->bucket[least_first ? 1 : 2], p->bucket[least_first ? 2 : 1]};
    for (size_t i = 0; i < 2 && p->count > 2; i++)
        draw(p, inner[i]);
    if (p->count > 1)
        draw(p, p->bucket[3]);
    p->count = 0;
}

static bool same_column(double a, double b) { return floor(2 * a) == floor(2 * b); }

static void add(pen *p, pixel_place at) {
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
        if (!axis_shows(x_axis, x[i]))
            continue;
        if (!axis_shows(y_axis, y[i])) {
            lift(&p);
            continue;
        }
        add(&p, (pixel_place){tc_axis_at(x_axis, x[i]), tc_axis_at(y_axis, y[i])});
    }
    lift(&p);
    return p.points;
}

static pixel_place edge(const tc_axis *x_axis, const tc_axis *y_axis, double x, double y) {
    return (pixel_place){tc_axis_at(x_axis, x), axis_shows(y_axis, y) ? tc_axis_at(y_axis, y) : y_axis->from};
}

size_t tc_path_band(tc_buffer *out, const tc_axis *x_axis, const tc_axis *y_axis, const double *x, const double *low,
                    const double *high, size_t count) {
    pen p = {.out = out};
    size_t begin = 0;
    while (begin < count) {
        size_t end = begin;
        while (end < count && axis_shows(x_axis, x[end]) && !isnan(low[end]) && axis_shows(y_axis, high[end]))
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

/* ---- the plot ---- */

/* In units of the view box; one is about a pixel. */
enum {
    WIDTH = 480,
    FRAME_HEIGHT = 220,
    RIGHT = 14,
    BOTTOM = 42,
    TITLE_HEIGHT = 26,
    LEGEND_ROW = 19,
    LEGEND_TEXT_AT = 32,
    MARKERS = 7, /* along a line */
    LONGEST_LABEL = 60,
    SHORT_LABEL = 7, /* fits beside its line */
    LABEL_HEIGHT = 13,
    LEVEL_ROOM = 20,
};
#define FARTHEST 1e301                                        /* beyond any axis */
static const double character_width = 6.8, digit_width = 7.6; /* of a wide font */

typedef struct canvas {
    const tc_plot *plot;
    tc_buffer *out;
    tc_axis x, y;
    tc_ticks x_ticks, y_ticks;
    double left, top, right, bottom; /* of the frame */
    double height;
    bool direct; /* labels beside the lines, no legend */
} canvas;

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

typedef struct range {
    double low, high;
} range;

static void include(range *r, bool is_log, double value) {
    if (!isfinite(value) || (is_log && !(value > 0)))
        return;
    r->low = isnan(r->low) ? value : fmin(r->low, value);
    r->high = isnan(r->high) ? value : fmax(r->high, value);
}

/* Of the points that the x axis can show. */
static void include_curve(range *r, const tc_plot *plot, const tc_series *s, const double *values) {
    for (size_t i = 0; values != NULL && i < s->count; i++) {
        if (isfinite(s->x[i]) && (!plot->x_log || s->x[i] > 0))
            include(r, plot->y_log, values[i]);
    }
}

/* A reference line is drawn where the rest is, and does not stretch the axis. */
static void measure(const tc_plot *plot, range *x, range *y) {
    *x = *y = (range){NAN, NAN};
    for (size_t i = 0; i < plot->series_count; i++) {
        const tc_series *s = &plot->series[i];
        if (s->kind == TC_SERIES_REFERENCE)
            continue;
        for (size_t point = 0; point < s->count; point++)
            include(x, plot->x_log, s->x[point]);
        const double *const curves[] = {s->y, s->low, s->high, s->least, s->most};
        for (size_t c = 0; c < sizeof curves / sizeof curves[0]; c++)
            include_curve(y, plot, s, curves[c]);
    }
    include(y, plot->y_log, plot->level);
    if (plot->from_zero && !plot->y_log)
        include(y, false, 0);
}

/* ---- legend ------------------------------------------------------------------------------------------------------ */

static double text_width(const char *text) {
    size_t characters = tc_text_characters(text);
    return character_width * (double)(characters < LONGEST_LABEL ? characters : LONGEST_LABEL);
}

static bool labels_are_short(const tc_plot *plot) {
    size_t labels = 0;
    for (size_t i = 0; i < plot->series_count; i++) {
        const tc_series *s = &plot->series[i];
        if (s->label != NULL && (tc_text_characters(s->label) > SHORT_LABEL || s->kind != TC_SERIES_LINE))
            return false;
        labels += s->label != NULL;
    }
    return labels > 0;
}

static void put_dash_class(tc_buffer *out, const tc_series *s) {
    if (s->kind == TC_SERIES_REFERENCE)
        tc_buffer_printf(out, "ref r%zu", s->style % 2);
    else
        tc_buffer_printf(out, "line s%zu", s->style % TC_PLOT_STYLES);
}

/* Circle, square, triangle, diamond, triangle downwards, cross; three stars for marks. */
static void put_marker(tc_buffer *out, const tc_series *s, double x, double y) {
    static const char *const shapes[TC_PLOT_STYLES] = {
        "m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
        "m-3 -3h6v6h-6z",
        "m0 -4l3.9 6.6h-7.8z",
        "m0 -4.4l3.9 4.4l-3.9 4.4l-3.9-4.4z",
        "m0 4l3.9-6.6h-7.8z",
        "m-3 -3l6 6m0-6l-6 6",
    };
    static const char *const stars[] = {
        "m0 -7l1.7 4.7l5 .15l-3.95 3.05l1.4 4.8l-4.15-2.8l-4.15 2.8l1.4-4.8l-3.95-3.05l5-.15z",
        "m0 -7.5l2 5.5l5.5 2l-5.5 2l-2 5.5l-2-5.5l-5.5-2l5.5-2z",
        "m0 -7l2 3.5h4l-2 3.5l2 3.5h-4l-2 3.5l-2-3.5h-4l2-3.5l-2-3.5h4z",
    };
    tc_buffer_printf(out, "M%.4g %.4g%s", x, y,
                     s->kind == TC_SERIES_MARKS ? stars[s->style % 3] : shapes[s->style % TC_PLOT_STYLES]);
}

static void put_marker_class(tc_buffer *out, const tc_series *s) {
    tc_buffer_printf(out, "%s s%zu", s->kind == TC_SERIES_MARKS ? "star" : "mark", s->style % TC_PLOT_STYLES);
}

static void put_legend_text(tc_buffer *out, const char *label, double x, double y) {
    tc_buffer_printf(out, "<text x=\"%.4g\" y=\"%.4g\">", x + LEGEND_TEXT_AT, y);
    tc_put_short_text(out, label, LONGEST_LABEL);
    tc_buffer_puts(out, "</text>\n");
}

static void put_legend_entry(tc_buffer *out, const tc_series *s, double x, double y) {
    if (s->kind != TC_SERIES_MARKS) {
        tc_buffer_puts(out, "<path class=\"");
        put_dash_class(out, s);
        tc_buffer_printf(out, "\" d=\"M%.4g %.4gh26\"/>", x, y - 4);
    }
    if (s->kind != TC_SERIES_REFERENCE) {
        tc_buffer_puts(out, "<path class=\"");
        put_marker_class(out, s);
        tc_buffer_puts(out, "\" d=\"");
        put_marker(out, s, x + 13, y - 4);
        tc_buffer_puts(out, "\"/>");
    }
    put_legend_text(out, s->label, x, y);
}

/* Beside the level itself its label would lie on curves and bands. */
static void put_legend_level(tc_buffer *out, const char *label, double x, double y) {
    tc_buffer_printf(out, "<path class=\"level\" d=\"M%.4g %.4gh26\"/>", x, y - 4);
    put_legend_text(out, label, x, y);
}

/* Entries in rows of the plot's width; how many rows. Writes nothing where out is NULL. */
static size_t put_legend(const tc_plot *plot, tc_buffer *out) {
    double x = 4;
    size_t row = 0;
    bool any = false;
    for (size_t i = 0; i <= plot->series_count; i++) {
        const tc_series *s = i < plot->series_count ? &plot->series[i] : NULL;
        const char *label = s != NULL ? s->label : isfinite(plot->level) ? plot->level_label : NULL;
        if (label == NULL)
            continue;
        double width = LEGEND_TEXT_AT + text_width(label) + 14;
        if (any && x + width > WIDTH) {
            x = 4;
            row++;
        }
        double y = (double)(row * LEGEND_ROW) + 14;
        if (out != NULL && s != NULL)
            put_legend_entry(out, s, x, y);
        else if (out != NULL)
            put_legend_level(out, label, x, y);
        x += width;
        any = true;
    }
    return any ? row + 1 : 0;
}

/* ---- frame ------------------------------------------------------------------------------------------------------- */

static double widest_label(tc_arena *arena, const tc_ticks *ticks) {
    tc_buffer scratch = tc_buffer_new(arena, 1 << 16);
    size_t widest = 0;
    for (size_t i = 0; i < ticks->count; i++) {
        size_t width = tc_tick_label(&scratch, ticks, ticks->values[i]);
        widest = width > widest ? width : widest;
    }
    return digit_width * (double)widest;
}

/* Without a legend the level's label stands above its line. */
static void make_room_above_level(canvas *c) {
    double level = c->plot->level, share = 1 - LEVEL_ROOM / (double)FRAME_HEIGHT;
    if (c->plot->level_label == NULL || !c->direct || !axis_shows(&c->y, level) ||
        tc_axis_at(&c->y, level) >= c->top + LEVEL_ROOM)
        return;
    double high = c->y.is_log ? c->y.low * pow(level / c->y.low, 1 / share) : c->y.low + (level - c->y.low) / share;
    if (high > c->y.high && high < FARTHEST)
        c->y.high = high;
}

static canvas lay_out(const tc_plot *plot, tc_buffer *out) {
    canvas c = {.plot = plot, .out = out};
    range x, y;
    measure(plot, &x, &y);
    c.direct = labels_are_short(plot);
    double legend = c.direct ? 0 : (double)(put_legend(plot, NULL) * LEGEND_ROW);
    c.top = legend + TITLE_HEIGHT + 4;
    c.bottom = c.top + FRAME_HEIGHT;
    c.height = c.bottom + BOTTOM;
    c.right = WIDTH - RIGHT - (c.direct ? character_width * SHORT_LABEL : 0);
    c.y = tc_axis_around(plot->y_log, y.low, y.high, c.bottom, c.top);
    make_room_above_level(&c);
    c.y_ticks = tc_ticks_of(&c.y, 5);
    c.left = fmax(30, widest_label(out->arena, &c.y_ticks) + 12);
    c.x = tc_axis_around(plot->x_log, x.low, x.high, c.left, c.right);
    if (isfinite(x.low) && isfinite(x.high) && x.low < x.high) { /* rounds fill the width */
        c.x.low = x.low;
        c.x.high = x.high;
    }
    c.x_ticks = tc_ticks_of(&c.x, 5);
    return c;
}

static void put_ticks(const canvas *c) {
    tc_buffer *out = c->out;
    tc_buffer_puts(out, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < c->y_ticks.count; i++)
        tc_buffer_printf(out, "M%.4g %.4gH%.4g", c->left, tc_axis_at(&c->y, c->y_ticks.values[i]), c->right);
    tc_buffer_puts(out, "\"/><path class=\"axis\" d=\"");
    for (size_t i = 0; i < c->x_ticks.count; i++)
        tc_buffer_printf(out, "M%.4g %.4gv5", tc_axis_at(&c->x, c->x_ticks.values[i]), c->bottom);
    tc_buffer_printf(out, "M%.4g %.4gH%.4g\"/>\n<g class=\"ticks y\">", c->left, c->bottom, c->right);
    for (size_t i = 0; i < c->y_ticks.count; i++) {
        tc_buffer_printf(out, "<text x=\"%.4g\" y=\"%.4g\">", c->left - 6, tc_axis_at(&c->y, c->y_ticks.values[i]) + 4);
        (void)tc_tick_label(out, &c->y_ticks, c->y_ticks.values[i]);
        tc_buffer_puts(out, "</text>");
    }
    tc_buffer_puts(out, "</g>\n<g class=\"ticks x\">");
    for (size_t i = 0; i < c->x_ticks.count; i++) {
        double at = tc_axis_at(&c->x, c->x_ticks.values[i]);
        /* The last label stays inside of the picture. */
        const char *anchor = at > WIDTH - 26 ? " class=\"end\"" : "";
        tc_buffer_printf(out, "<text%s x=\"%.4g\" y=\"%.4g\">", anchor, at > WIDTH - 26 ? at + RIGHT - 1 : at,
                         c->bottom + 18);
        (void)tc_tick_label(out, &c->x_ticks, c->x_ticks.values[i]);
        tc_buffer_puts(out, "</text>");
    }
    tc_buffer_puts(out, "</g>\n");
}

static void put_titles(const canvas *c) {
    tc_buffer_printf(c->out, "<text class=\"title\" x=\"2\" y=\"%.4g\">", c->top - 14);
    tc_put_text(c->out, c->plot->y_title);
    tc_buffer_printf(c->out, "</text><text class=\"title x\" x=\"%.4g\" y=\"%.4g\">", (c->left + c->right) / 2,
                     c->bottom + 36);
    tc_put_text(c->out, c->plot->x_title);
    tc_buffer_puts(c->out, "</text>\n");
}

static void put_level(const canvas *c) {
    if (!axis_shows(&c->y, c->plot->level))
        return;
    double y = tc_axis_at(&c->y, c->plot->level);
    tc_buffer_printf(c->out, "<path class=\"level\" d=\"M%.4g %.4gH%.4g\"/>", c->left, y, c->right);
    if (c->plot->level_label == NULL || !c->direct)
        return;
    tc_buffer_printf(c->out, "<text class=\"level\" x=\"%.4g\" y=\"%.4g\">", c->left + 6, y - 5);
    tc_put_text(c->out, c->plot->level_label);
    tc_buffer_puts(c->out, "</text>\n");
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

static void put_band(const canvas *c, const tc_series *s) {
    if (s->low == NULL || s->high == NULL)
        return;
    tc_buffer_printf(c->out, "<path class=\"band s%zu\" d=\"", s->style % TC_PLOT_STYLES);
    (void)tc_path_band(c->out, &c->x, &c->y, s->x, s->low, s->high, s->count);
    tc_buffer_puts(c->out, "\"/>\n");
}

static void put_extremes(const canvas *c, const tc_series *s) {
    const double *const curves[] = {s->least, s->most};
    for (size_t i = 0; i < 2; i++) {
        if (curves[i] == NULL)
            continue;
        tc_buffer_printf(c->out, "<path class=\"thin s%zu\" d=\"", s->style % TC_PLOT_STYLES);
        (void)tc_path_line(c->out, &c->x, &c->y, s->x, curves[i], s->count);
        tc_buffer_puts(c->out, "\"/>\n");
    }
}

static void put_line(const canvas *c, const tc_series *s) {
    if (s->kind == TC_SERIES_MARKS)
        return;
    tc_buffer_puts(c->out, "<path class=\"");
    put_dash_class(c->out, s);
    tc_buffer_puts(c->out, "\" d=\"");
    (void)tc_path_line(c->out, &c->x, &c->y, s->x, s->y, s->count);
    tc_buffer_puts(c->out, "\"/>\n");
}

static bool is_shown(const canvas *c, const tc_series *s, size_t i) {
    return axis_shows(&c->x, s->x[i]) && axis_shows(&c->y, s->y[i]);
}

/* A few markers along a line, at places of its own so that those of neighbours do not cover each other. */
static void put_markers(const canvas *c, const tc_series *s) {
    if (s->kind == TC_SERIES_REFERENCE)
        return;
    bool each = s->kind != TC_SERIES_LINE;
    double apart = (c->right - c->left) / MARKERS;
    double next = c->left + apart * (0.35 + (double)(s->style % TC_PLOT_STYLES) / TC_PLOT_STYLES);
    tc_buffer_puts(c->out, "<path class=\"");
    put_marker_class(c->out, s);
    tc_buffer_puts(c->out, "\" d=\"");
    for (size_t i = 0; i < s->count; i++) {
        double x = axis_shows(&c->x, s->x[i]) ? tc_axis_at(&c->x, s->x[i]) : -1;
        if (!is_shown(c, s, i) || (!each && x < next))
            continue;
        put_marker(c->out, s, x, tc_axis_at(&c->y, s->y[i]));
        while (next <= x)
            next += apart;
    }
    tc_buffer_puts(c->out, "\"/>\n");
}

/* Labels at the ends of the lines, moved apart where they would cover each other. */
static void put_direct_labels(const canvas *c) {
    typedef struct label {
        const tc_series *series;
        double y;
    } label;
    size_t count = 0;
    label *labels = TC_NEW(c->out->arena, label, c->plot->series_count);
    for (size_t i = 0; i < c->plot->series_count; i++) {
        const tc_series *s = &c->plot->series[i];
        size_t last = s->count;
        while (last > 0 && !is_shown(c, s, last - 1))
            last--;
        if (s->label == NULL || last == 0)
            continue;
        label new = {s, tc_axis_at(&c->y, s->y[last - 1])};
        size_t at = count++;
        for (; at > 0 && labels[at - 1].y > new.y; at--)
            labels[at] = labels[at - 1];
        labels[at] = new;
    }
    double least = c->top + 4;
    for (size_t i = 0; i < count; i++) {
        labels[i].y = fmax(labels[i].y, least);
        least = labels[i].y + LABEL_HEIGHT;
    }
    double most = c->bottom;
    for (size_t i = count; i-- > 0;) {
        labels[i].y = fmin(labels[i].y, most);
        most = labels[i].y - LABEL_HEIGHT;
    }
    for (size_t i = 0; i < count; i++) {
        tc_buffer_printf(c->out, "<path class=\"");
        put_marker_class(c->out, labels[i].series);
        tc_buffer_puts(c->out, "\" d=\"");
        put_marker(c->out, labels[i].series, c->right + 7, labels[i].y);
        tc_buffer_printf(c->out, "\"/><text x=\"%.4g\" y=\"%.4g\">", c->right + 14, labels[i].y + 4);
        tc_put_short_text(c->out, labels[i].series->label, SHORT_LABEL);
        tc_buffer_puts(c->out, "</text>\n");
    }
}

static void put_series(const canvas *c) {
    tc_buffer_printf(c->out,
                     "<clipPath id=\"%s-clip\"><path d=\"M%.4g %.4gH%.4gV%.4gH%.4gz\"/></clipPath>\n<g "
                     "clip-path=\"url(#%s-clip)\">\n",
                     c->plot->id, c->left, c->top - 8, c->right + 8, c->bottom + 5, c->left - 8, c->plot->id);
    for (size_t i = 0; i < c->plot->series_count; i++)
        put_band(c, &c->plot->series[i]);
    for (size_t i = 0; i < c->plot->series_count; i++)
        put_extremes(c, &c->plot->series[i]);
    put_level(c);
    for (size_t i = 0; i < c->plot->series_count; i++)
        put_line(c, &c->plot->series[i]);
    for (size_t i = 0; i < c->plot->series_count; i++)
        put_markers(c, &c->plot->series[i]);
    tc_buffer_puts(c->out, "</g>\n");
}

void tc_plot_svg(const tc_plot *plot, tc_buffer *out) {
    canvas c = lay_out(plot, out);
    tc_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 %d %.4g\" role=\"img\" "
                     "aria-labelledby=\"%s-title %s-desc\">\n<title id=\"%s-title\">",
                     WIDTH, c.height, plot->id, plot->id, plot->id);
    tc_put_text(out, plot->title);
    tc_buffer_printf(out, "</title>\n<desc id=\"%s-desc\">", plot->id);
    tc_put_text(out, plot->description);
    tc_buffer_puts(out, "</desc>\n");
    if (!c.direct)
        (void)put_legend(plot, out);
    put_titles(&c);
    put_ticks(&c);
    put_series(&c);
    if (c.direct)
        put_direct_labels(&c);
    tc_buffer_puts(out, "</svg>\n");
}
