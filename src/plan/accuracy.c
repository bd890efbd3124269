#include "plan/accuracy.h"

#include "analysis/lipschitz/streams.h"
#include "analysis/region.h"
#include "base/text.h"
#include "plan/account/account.h"

#include <stdlib.h>

#define SAME 1e-6 /* slopes whose enclosures differ by less are constant */

/* Weights w_i = i (i+1), i = 1 .. k: sum k (k+1) (k+2) / 3, sum of squares k (k+1) (k+2) (3 k^2 + 6 k + 1) / 15. */
double tc_averaged_variance(double k) { return 3 * (3 * k * k + 6 * k + 1) / (5 * k * (k + 1) * (k + 2)); }

const double *tc_row_variances(const tc_plan *plan) {
    for (size_t i = 0; i < sizeof plan->facts / sizeof *plan->facts; i++)
        if (plan->facts[i].placement == plan->placement && plan->facts[i].constraint_variance != NULL)
            return plan->facts[i].constraint_variance;
    return NULL;
}

/* ---- slopes anywhere in the boxes -------------------------------------------------------------------------------- */

typedef struct worst_rows {
    const tc_family *families;
    const double *variance; /* by family */
    double *of_row;
    size_t rows;
} worst_rows;

static void pack(void *context, tc_parcel *parcel) {
    const worst_rows *w = context;
    tc_put(parcel, w->of_row, w->rows * sizeof *w->of_row);
}

static void take_column(void *context, const tc_column_view *column) {
    worst_rows *w = context;
    double weight = column->weight * w->variance[column->family - w->families];
    for (size_t i = 0; i < column->count; i++) {
        double size = tc_magnitude(column->values[i]);
        w->of_row[column->rows[i]] += weight * size * size;
    }
}

static void find_worst_of_states(tc_arena *arena, const tc_plan *plan, tc_streams *streams, double *of_row) {
    double *variance = TC_NEW(arena, double, plan->model->family_count + 1);
    for (size_t i = 0; i < plan->channel_count; i++) {
        double *of_family = &variance[plan->channels[i].family];
        *of_family = fmax(*of_family, plan->channels[i].variance);
    }
    worst_rows w = {.families = plan->model->families,
                    .variance = variance,
                    .of_row = of_row,
                    .rows = streams->model->constraint_count};
    (void)tc_streams_columns(streams, NULL, take_column, pack, &w);
}

static void find_worst_of_forms(tc_arena *arena, const tc_plan *plan, const tc_streams *streams, double *of_row) {
    const tc_derivatives *d = streams->derivatives;
    double *variance = TC_NEW(arena, double, d->input_count + 1);
    for (size_t i = 0; i < plan->channel_count; i++)
        variance[plan->channels[i].first_row] = plan->channels[i].variance;
    for (size_t o = 0; o < d->outer_first_count; o++) {
        double size = tc_magnitude(streams->first[o]);
        of_row[d->outer_first[o].row] += size * size * variance[d->outer_first[o].column];
    }
}

/* Of one round, by row. Noise on outputs does not pass through slopes. */
static const double *worst_variances(tc_arena *arena, const tc_plan *plan, tc_streams *streams) {
    double *of_row = TC_NEW(arena, double, plan->model->constraint_count + 1);
    switch (plan->placement) {
    case TC_PLACEMENT_STATES:
        tc_streams_outer_box(streams);
        find_worst_of_states(arena, plan, streams, of_row);
        return of_row;
    case TC_PLACEMENT_FORMS:
        tc_streams_outer_box(streams);
        find_worst_of_forms(arena, plan, streams, of_row);
        return of_row;
    case TC_PLACEMENT_OUTPUTS:
    case TC_PLACEMENT_AUTO:
        break;
    }
    return tc_row_variances(plan);
}

/* ---- what constraints can be ------------------------------------------------------------------------------------- */

static tc_interval *find_ranges(tc_arena *arena, tc_streams *streams) {
    const tc_model *model = streams->model;
    tc_interval *g = TC_NEW(arena, tc_interval, model->constraint_count + 1);
    tc_mark mark = tc_arena_mark(arena);
    double *lower = TC_NEW(arena, double, model->state_count + 1);
    double *upper = TC_NEW(arena, double, model->state_count + 1);
    tc_fill_lower(model, lower);
    tc_fill_upper(model, upper);
    tc_constraint_ranges(streams, lower, upper, g);
    tc_arena_rewind(arena, mark);
    return g;
}

static const char *why_unknown(const tc_plan *plan) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    if (plan->method != TC_METHOD_TACIT)
        return "the published method does not average: its result is the last state, and its multipliers add up the "
               "noise of all rounds";
    return isnan(plan->rounds) ? "the number of rounds is not known: add 'rounds' to the schedule, or --rounds T"
                               : NULL;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

bool tc_is_missed(double doubt, double missing) { return hypot(doubt, missing) > 2 * doubt; }

double tc_error_of(const tc_row_accuracy *row) {
    return tc_is_missed(row->doubt, row->missing) ? hypot(row->doubt, row->missing) : row->doubt;
}

bool tc_drowns(const tc_row_accuracy *row, double doubt) {
    return doubt > row->range || (!isnan(row->room) && doubt > row->room);
}

typedef struct row_noise { /* variances of one round; NULL: not known */
    const double *predicted, *worst, *local;
    double averaged;
} row_noise;

static double deviation(const double *variance, size_t j, double factor) {
    return variance == NULL ? (double)NAN : sqrt(factor * variance[j]);
}

static tc_row_accuracy row_of(const tc_constraint *constraint, const row_noise *noise, size_t j, tc_interval g) {
    tc_row_accuracy row = {.name = constraint->name,
                           .limit = constraint->limit,
                           .doubt = deviation(noise->predicted, j, noise->averaged),
                           .most_doubt = deviation(noise->worst, j, noise->averaged),
                           .round_doubt = deviation(noise->predicted, j, 1),
                           .local_doubt = deviation(noise->local, j, noise->averaged),
                           .range = tc_add_up(g.hi, -g.lo),
                           .room = constraint->is_equality || !(g.lo < 0) ? (double)NAN : -g.lo,
                           .missing = NAN,
                           .rounds_needed = NAN,
                           .is_equality = constraint->is_equality};
    row.is_exact = row.most_doubt <= row.doubt * (1 + SAME);
    row.is_useless = tc_drowns(&row, row.doubt);
    return row;
}

tc_accuracy *tc_accuracy_make(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives,
                              const tc_monitor *monitor) {
    const tc_model *model = plan->model;
    tc_accuracy *made = TC_NEW(arena, tc_accuracy, 1);
    *made = (tc_accuracy){.rows = TC_NEW(arena, tc_row_accuracy, model->constraint_count + 1),
                          .count = model->constraint_count,
                          .rounds = plan->rounds,
                          .is_on_states = tc_noises_states(plan),
                          .reason = why_unknown(plan)};
    tc_streams *streams = tc_streams_new(arena, model, derivatives, monitor);
    const tc_interval *g = find_ranges(arena, streams);
    const tc_placement_facts *states = &plan->facts[1];
    bool none = plan->mechanism == TC_MECHANISM_NONE;
    const double *nothing = none ? TC_NEW(arena, double, made->count + 1) : NULL;
    const row_noise noise = {
        .predicted = none ? nothing : tc_row_variances(plan),
        .worst = none ? nothing : worst_variances(arena, plan, streams),
        .local = states->placement == TC_PLACEMENT_STATES && states->possible ? states->constraint_variance : NULL,
        .averaged = made->reason != NULL ? (double)NAN
                    : none               ? 0
                                         : tc_averaged_variance(plan->rounds)};
    for (size_t j = 0; j < made->count; j++) {
        made->rows[j] = row_of(&model->constraints[j], &noise, j, g[j]);
        made->useless += made->rows[j].is_useless;
    }
    return made;
}

double tc_accuracy_whole(const tc_row_accuracy *row) {
    return row->limit != 0 && isfinite(row->limit) ? fabs(row->limit) : row->range;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void row_json(const tc_row_accuracy *row, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "name", row->name);
    tc_json_number(json, "limit", row->limit);
    tc_json_number(json, "doubt", row->doubt);
    tc_json_number(json, "most_doubt", row->most_doubt);
    tc_json_number(json, "round_doubt", row->round_doubt);
    tc_json_number(json, "local_doubt", row->local_doubt);
    tc_json_number(json, "range", row->range);
    tc_json_number(json, "room", row->room);
    tc_json_number(json, "missing", row->missing);
    tc_json_number(json, "rounds_needed", row->rounds_needed);
    tc_json_bool(json, "reached", !row->is_unreached);
    tc_json_bool(json, "equality", row->is_equality);
    tc_json_bool(json, "exact", row->is_exact);
    tc_json_bool(json, "useless", row->is_useless);
    tc_json_close_object(json);
}

static void unknown_json(const char *key, tc_json *json) {
    tc_json_open_object(json, key);
    tc_json_number(json, "doubt", NAN);
    tc_json_string(json, "reason", TC_NO_STATE_DOUBT);
    tc_json_close_object(json);
}

void tc_accuracy_json(const tc_accuracy *accuracy, tc_json *json) {
    tc_json_open_array(json, "constraints");
    for (size_t j = 0; j < accuracy->count; j++)
        row_json(&accuracy->rows[j], json);
    tc_json_close_array(json);
    tc_json_string(json, "doubt_unknown", accuracy->reason);
    unknown_json("states", json);
    unknown_json("multipliers", json);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

enum { FEW_ROWS = 8, SHOWN = 5 };
#define RED "\033[31m"
#define PLAIN "\033[0m"

static double share_of(const tc_row_accuracy *row) { return tc_error_of(row) / tc_accuracy_whole(row); }

static int by_share(const void *x, const void *y) {
    const tc_row_accuracy *a = *(const tc_row_accuracy *const *)x, *b = *(const tc_row_accuracy *const *)y;
    double p = share_of(a), q = share_of(b);
    if (p != q)
        return p > q ? -1 : 1;
    return (a > b) - (a < b);
}

/* The rows that some state has an effect on, the worst first where only some are shown. */
static const tc_row_accuracy **list_rows(tc_arena *arena, const tc_accuracy *accuracy, bool full, size_t *count) {
    const tc_row_accuracy **list = TC_NEW(arena, const tc_row_accuracy *, accuracy->count + 1);
    *count = 0;
    for (size_t j = 0; j < accuracy->count; j++)
        if (accuracy->rows[j].range > 0)
            list[(*count)++] = &accuracy->rows[j];
    if (!full && *count > FEW_ROWS)
        qsort(list, *count, sizeof *list, by_share);
    return list;
}

const char *tc_digits(tc_arena *arena, double value, int digits) {
    if (!(fabs(value) >= 10) || fabs(value) >= 1e13)
        return tc_arena_format(arena, "%.*g", digits, value);
    double unit = pow(10, fmax(0, floor(log10(fabs(value))) + 1 - digits));
    double rounded = unit * round(value / unit);
    return rounded < pow(10, digits) ? tc_arena_format(arena, "%.*g", digits, value)
                                     : tc_arena_format(arena, "%.0f", rounded);
}

const char *tc_doubt_text(tc_arena *arena, double doubt, const tc_row_accuracy *row) {
    double whole = tc_accuracy_whole(row);
    const char *of = row->limit != 0 && isfinite(row->limit) ? "" : "a range of ";
    if (!isfinite(whole))
        return tc_digits(arena, doubt, 3);
    return tc_arena_format(arena, "%s of %s%s (%s %%)", tc_digits(arena, doubt, 3), of, tc_digits(arena, whole, 6),
                           tc_digits(arena, 100 * doubt / whole, 2));
}

static void put_paragraph(tc_buffer *out, unsigned indent, const char *text) {
    tc_text_layout layout = {.out = out, .width = 80};
    tc_layout_paragraph(&layout, indent, text);
}

const char *tc_unreached_text(tc_arena *arena, const tc_row_accuracy *row) {
    if (!row->is_unreached)
        return NULL;
    return tc_arena_format(arena, "not reached: about %s more is missing; %s%s rounds are needed",
                           tc_doubt_text(arena, row->missing, row), isfinite(row->rounds_needed) ? "about " : "",
                           isfinite(row->rounds_needed) ? tc_digits(arena, row->rounds_needed, 2) : "far more");
}

static void put_row(const tc_row_accuracy *row, tc_buffer *out, bool red) {
    bool marks = red && row->is_useless;
    tc_buffer_printf(out, "%s    ", marks ? RED : "");
    tc_text_name(out, row->name, 24);
    tc_buffer_printf(out, " %s%s", row->is_exact ? "" : "about ", tc_doubt_text(out->arena, row->doubt, row));
    if (!row->is_exact && !row->is_useless && isfinite(row->most_doubt))
        tc_buffer_printf(out, ", at most %s", tc_digits(out->arena, row->most_doubt, 3));
    tc_buffer_printf(out, "%s%s\n", row->is_useless ? ": useless" : "", marks ? PLAIN : "");
    if (row->is_unreached)
        put_paragraph(out, 6, tc_unreached_text(out->arena, row));
}

static void put_rest(const tc_row_accuracy *const *list, size_t shown, size_t count, tc_buffer *out) {
    size_t useless = 0;
    for (size_t i = shown; i < count; i++)
        useless += list[i]->is_useless;
    tc_buffer_printf(out, "    ... and %zu more, from %s %% to %s %%", count - shown,
                     tc_digits(out->arena, 100 * share_of(list[count - 1]), 2),
                     tc_digits(out->arena, 100 * share_of(list[shown]), 2));
    tc_buffer_printf(out, useless > 0 ? ", %zu of them useless\n" : "\n", useless);
}

const char *tc_local_sentence(tc_arena *arena, const tc_accuracy *accuracy, const tc_row_accuracy *row) {
    if (!isfinite(row->local_doubt) || !(row->local_doubt > 0))
        return NULL;
    if (accuracy->is_on_states)
        return "without trust in the cloud: the same doubt, since this noise is on states, where agents could add it "
               "themselves";
    return tc_arena_format(arena,
                           "without trust in the cloud, each agent adding noise to its own states: %s in %s, %s times "
                           "as much",
                           tc_doubt_text(arena, row->local_doubt, row), row->name,
                           tc_digits(arena, row->local_doubt / row->doubt, 2));
}

static void put_notes(const tc_accuracy *accuracy, const tc_row_accuracy *worst, tc_buffer *out) {
    tc_arena *arena = out->arena;
    if (accuracy->useless > 0)
        put_paragraph(out, 2,
                      "useless: the doubt exceeds all that the constraint can be over the public boxes, or the room "
                      "below its limit. What is released says nothing about it.");
    if (accuracy->unreached > 0)
        put_paragraph(out, 2,
                      "not reached: noise shortens the steps, so the run has not settled by then. What is missing is "
                      "how far the result is over its limit on the average, for agents whose wishes lie all over the "
                      "public boxes.");
    const char *local = tc_local_sentence(arena, accuracy, worst);
    if (local != NULL)
        put_paragraph(out, 2, local);
    put_paragraph(out, 2, TC_NO_STATE_DOUBT "; tacit run --seeds 20 simulates it");
}

void tc_accuracy_text(const tc_accuracy *accuracy, tc_buffer *out, bool full, bool red) {
    size_t count;
    tc_arena *arena = out->arena;
    const tc_row_accuracy **list = list_rows(arena, accuracy, full, &count);
    if (count == 0)
        return;
    tc_buffer_puts(out, "\n");
    if (accuracy->reason != NULL) {
        put_paragraph(out, 2, tc_arena_format(arena, "how accurate it will be is not known: %s", accuracy->reason));
        return;
    }
    put_paragraph(out, 2,
                  tc_arena_format(arena,
                                  "how accurate it will be: the doubt that is left in each constraint at the result, "
                                  "one standard deviation of the noise averaged over %.0f rounds",
                                  accuracy->rounds));
    size_t shown = full || count <= FEW_ROWS ? count : SHOWN;
    for (size_t i = 0; i < shown; i++)
        put_row(list[i], out, red);
    if (shown < count)
        put_rest(list, shown, count, out);
    put_notes(accuracy, list[0], out);
}
