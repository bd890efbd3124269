#include "engine/tacit/method_warnings.h"

#include "analysis/region.h"
#include "analysis/lipschitz/streams.h"

#include <stdlib.h>

enum { MOST_WARNINGS = 8, FEW_ROUNDS = 200 };
#define UNLIKE_WIDTHS 30.0 /* boxes differ in width: one length for all steps */
#define TINY_SLACK 1e3     /* one slack makes the radius so many times the usual one */
#define AVERAGED 1.8       /* variance of the average over T rounds, with weights k(k+1), is 1.8 / T of one round's */

typedef struct warner {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_method_facts *facts;
} warner;

static void warn(warner *w, const char *text) { w->facts->warnings[w->facts->warning_count++] = text; }

/* ---- noise and the box ---------------------------------------------------------------------------------------------
 */

typedef struct widths { /* of the linear forms over the box */
    double *of_row;
} widths;

static void take_column(void *context, const tc_column_view *column) {
    widths *w = context;
    tc_interval range = tc_public_range(column->family, column->member, column->component);
    for (size_t i = 0; i < column->count; i++) {
        tc_interval v = column->values[i];
        double size = fmax(fabs(v.lo), fabs(v.hi));
        w->of_row[column->rows[i]] += column->weight * size * (range.hi - range.lo);
    }
}

/* How many of the numbers that are released stay within noise of half their range after all rounds. */
typedef struct tally {
    double hidden, all;
} tally;

static void count_entry(tally *t, double variance, double rounds, double width, double times) {
    t->all += times;
    if (sqrt(variance * AVERAGED / rounds) > width / 2)
        t->hidden += times;
}

static void count_states(warner *w, const tc_channel *channel, tally *t) {
    const tc_family *family = &w->model->families[channel->family];
    for (size_t c = 0; c < family->dim; c++) {
        bool same = family->lower[c].column == NULL && family->upper[c].column == NULL;
        size_t visits = same ? 1 : channel->member_count;
        for (size_t k = 0; k < visits; k++) {
            tc_interval range = tc_public_range(family, channel->first_member + k, c);
            count_entry(t, channel->variance, w->plan->rounds, range.hi - range.lo,
                        same ? (double)channel->member_count : 1);
        }
    }
}

static void count_rows(warner *w, const tc_channel *channel, const double *of_row, tally *t) {
    for (uint32_t j = channel->first_row; j < channel->first_row + channel->row_count; j++)
        count_entry(t, channel->variance, w->plan->rounds, of_row[j], 1);
}

static double *find_widths(warner *w) {
    const tc_model *measured = w->plan->measured;
    widths found = {.of_row = TC_NEW(w->arena, double, measured->constraint_count + 1)};
    tc_streams *streams = tc_streams_new(w->arena, measured, w->plan->measured_derivatives, NULL);
    tc_streams_outer_box(streams);
    (void)tc_streams_columns(streams, NULL, take_column, &found);
    return found.of_row;
}

/* What averaged noise moves the scaled constraints by, against the length of the box. */
static bool rows_drown(const warner *w) {
    double total = 0;
    for (size_t i = 0; i < sizeof w->plan->facts / sizeof *w->plan->facts; i++) {
        const tc_placement_facts *of = &w->plan->facts[i];
        if (of->placement != w->plan->placement || of->constraint_variance == NULL)
            continue;
        for (size_t j = 0; j < w->model->constraint_count; j++)
            total += of->constraint_variance[j] / (w->facts->row_scale[j] * w->facts->row_scale[j]);
    }
    return sqrt(AVERAGED * total / w->plan->rounds) > w->facts->box_length;
}

static void warn_of_noise(warner *w) {
    tally t = {0};
    tc_mark mark = tc_arena_mark(w->arena);
    double *of_row = NULL;
    for (size_t i = 0; i < w->plan->channel_count; i++) {
        const tc_channel *channel = &w->plan->channels[i];
        if (channel->kind == TC_CHANNEL_STATES) {
            count_states(w, channel, &t);
        } else if (channel->kind != TC_CHANNEL_JACOBIAN) {
            if (of_row == NULL)
                of_row = find_widths(w);
            count_rows(w, channel, of_row, &t);
        }
    }
    tc_arena_rewind(w->arena, mark);
    if (t.hidden > t.all / 2 || rows_drown(w))
        warn(w, "even averaged over all rounds the noise is wider than the public boxes: the answer says "
                "nothing about the constraints' prices: it may ignore them or stay far inside; more rounds or a larger "
                "epsilon help, and so does a unit of adjacency that asks for less noise");
}

/* ---- shapes --------------------------------------------------------------------------------------------------------
 */

static void warn_of_widths(warner *w) {
    double least = INFINITY, most = 0;
    for (size_t f = 0; f < w->model->family_count; f++) {
        const tc_family *family = &w->model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            bool same = family->lower[c].column == NULL && family->upper[c].column == NULL;
            for (size_t k = 0; k < (same ? 1 : family->count); k++) {
                tc_interval range = tc_public_range(family, k, c);
                double width = range.hi - range.lo;
                least = width > 0 ? fmin(least, width) : least;
                most = fmax(most, width);
            }
        }
    }
    if (most > UNLIKE_WIDTHS * least)
        warn(w, tc_arena_format(w->arena,
                                "the widest public box is %.3g times the narrowest: the answer may be far off, "
                                "even without noise; units in which the states have similar ranges help",
                                most / least));
}

static int increasing(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void warn_of_slack(warner *w) {
    size_t m = w->model->constraint_count, worst = 0;
    double *scaled = TC_NEW(w->arena, double, m + 1);
    for (size_t j = 0; j < m; j++) {
        scaled[j] = w->facts->slack[j] / w->facts->row_scale[j];
        if (isnan(scaled[j]))
            return;
        worst = scaled[j] < scaled[worst] ? j : worst;
    }
    double least = m > 0 ? scaled[worst] : 1;
    qsort(scaled, m, sizeof *scaled, increasing);
    if (m > 0 && scaled[m / 2] > TINY_SLACK * least)
        warn(w, tc_arena_format(w->arena,
                                "the declared Slater point barely satisfies constraint %s, so that multipliers may be "
                                "anything up to %.3g: expect slow multipliers; a point further inside helps",
                                w->model->constraints[worst].name, w->facts->radius));
}

static void warn_of_radius(warner *w) {
    if (w->model->constraint_count == 0)
        return;
    bool known = w->facts->radius < INFINITY;
    if (!known && tc_radius_is_promised(w->model))
        return; /* nothing runs: the plan says why */
    if (!known)
        warn(w, "no public bound on the multipliers is known: expect a slow start; give gaps and a Slater point, or a "
                "dual radius");
    else if (w->facts->radius == 0)
        warn(w, "the dual radius is 0, so that all multipliers stay 0 and no constraint is heeded; if that is not "
                "meant, the gaps are too small");
}

static bool has_curved_bodies(const tc_derivatives *derivatives, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++)
        if (derivatives->families[f].body_second_count > 0)
            return true;
    return false;
}

static void warn_of_curved_bodies(warner *w) {
    bool private_states = w->plan->placement == TC_PLACEMENT_STATES && w->plan->mechanism != TC_MECHANISM_NONE;
    if (private_states && w->plan->adjacency == TC_ADJACENCY_AGENT && has_curved_bodies(w->derivatives, w->model))
        warn(w, "all that an agent does is hidden, and constraints sum up curved functions of its states, so that "
                "every state carries its own noise: expect large errors; sums of affine functions need far less");
}

void tc_method_warn(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                    tc_method_facts *facts) {
    warner w = {.arena = arena, .plan = plan, .model = model, .derivatives = derivatives, .facts = facts};
    facts->warnings = TC_NEW(arena, const char *, MOST_WARNINGS);
    facts->warning_count = 0;
    warn_of_noise(&w);
    warn_of_widths(&w);
    warn_of_slack(&w);
    warn_of_radius(&w);
    warn_of_curved_bodies(&w);
    if (plan->rounds < FEW_ROUNDS)
        warn(&w, tc_arena_format(arena, "%.0f round%s too few for the method to settle; %d or more are usual",
                                 plan->rounds, plan->rounds == 1 ? " is" : "s are", (int)FEW_ROUNDS));
    if (facts->margin.kind == TC_MARGIN_GIVEN && model->constraint_count > 0 && isnan(facts->slack[0]))
        warn(&w, "no public Slater point is declared, so that nobody knows whether the margin leaves room");
}
