/* Whether the release can obey a plan. Plans of tc_plan_make pass, but the release does not rely on that. */
#include "analysis/region.h"
#include "model/spread.h"
#include "plan/sensitivity/sensitivity.h"
#include "release/inside.h"

/* ---- what a plan says -------------------------------------------------------------------------------------------- */

#define CHECK(holds, ...)                                                                                              \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return tc_arena_format(arena, __VA_ARGS__);                                                                \
    } while (0)

static const char *check_scale(tc_arena *arena, const tc_plan *plan, const tc_channel *channel) {
    tc_noise_scale scale;
    CHECK(channel->step_exponent > -900 && channel->step_exponent < 900, "the lattice of %s is out of range",
          channel->name);
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    CHECK(channel->scale > 0 && isfinite(channel->scale), "%s has no noise", channel->name);
    CHECK(ldexp(channel->lattice_scale, channel->step_exponent) >= channel->scale,
          "the noise of %s is smaller on its lattice than the plan says", channel->name);
    CHECK(plan->is_last ? (double)channel->bound >= channel->lattice_scale && channel->bound <= TC_MOST_NOISE
                        : channel->bound == 0,
          "the noise of %s is bounded where it should not be, or the other way round", channel->name);
    CHECK(tc_noise_scale_from(channel->lattice_scale, &scale), "the noise of %s is out of the sampler's range",
          channel->name);
    return NULL;
}

static const char *check_channel(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                 const tc_channel *channel) {
    bool states = tc_noises_states(plan);
    CHECK(channel->name != NULL, "a channel has no name");
    CHECK(!plan->is_last || channel->kind == TC_CHANNEL_CONSTRAINTS, "the last round releases constraints alone");
    CHECK(states == (channel->kind == TC_CHANNEL_STATES), "channel %s does not belong to the placement", channel->name);
    if (channel->kind == TC_CHANNEL_CONSTRAINTS || channel->kind == TC_CHANNEL_JACOBIAN)
        CHECK(channel->first_row <= model->constraint_count &&
                  channel->row_count <= model->constraint_count - channel->first_row,
              "channel %s names constraints that are not there", channel->name);
    if (channel->kind == TC_CHANNEL_JACOBIAN || states)
        CHECK(channel->family < model->family_count &&
                  channel->first_member <= model->families[channel->family].count &&
                  channel->member_count <= model->families[channel->family].count - channel->first_member,
              "channel %s names agents that are not there", channel->name);
    CHECK(!states || channel->step_exponent == plan->state_exponent, "channel %s is not on the lattice of the states",
          channel->name);
    return check_scale(arena, plan, channel);
}

const char *tc_release_check_plan(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                  const tc_derivatives *derivatives) {
    CHECK(plan != NULL, "nothing is released without a plan");
    CHECK(plan->problem == NULL, "there is no plan: %s", plan->problem);
    bool forms = plan->placement == TC_PLACEMENT_FORMS, apart = forms || plan->is_last;
    CHECK(forms || plan->placement == TC_PLACEMENT_OUTPUTS || tc_noises_states(plan),
          "the plan does not say where the noise goes");
    CHECK(plan->measured == model && (!apart || plan->measured_derivatives == derivatives) &&
              (forms || plan->model == model),
          "the plan is for another problem");
    CHECK(!plan->is_last || plan->rounds == 1, "there is one last round");
    CHECK(plan->mechanism == TC_MECHANISM_LAPLACE || plan->mechanism == TC_MECHANISM_GAUSSIAN ||
              plan->mechanism == TC_MECHANISM_NONE,
          "the plan has no mechanism");
    CHECK(plan->mechanism != TC_MECHANISM_NONE || !plan->is_private, "a plan without noise calls itself private");
    CHECK(plan->rounds >= 1 && plan->rounds <= (double)TC_MOST_ROUND, "the plan has no horizon");
    CHECK(plan->state_exponent > -900 && plan->state_exponent < 900, "the lattice of the states is out of range");
    CHECK(plan->entry_count <= SIZE_MAX / sizeof(int64_t), "the plan has too many entries");
    uint64_t end = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const char *wrong = check_channel(arena, plan, model, &plan->channels[i]);
        if (wrong != NULL)
            return wrong;
        CHECK(plan->channels[i].first_entry >= end && plan->channels[i].entries <= plan->entry_count &&
                  plan->channels[i].first_entry <= plan->entry_count - plan->channels[i].entries,
              "the noise of %s has no addresses of its own", plan->channels[i].name);
        end = plan->channels[i].first_entry + plan->channels[i].entries;
    }
    for (size_t r = 0; !tc_noises_states(plan) && plan->mechanism != TC_MECHANISM_NONE && r < model->sum_count; r++)
        CHECK(plan->sum_exponents != NULL && plan->sum_exponents[r] > -900 && plan->sum_exponents[r] < 900,
              "the plan has no lattice for a sum");
    return NULL;
}

typedef struct cover { /* which numbers some channel covers */
    unsigned char *constraints, *jacobian, *states;
} cover;

static const char *mark(tc_arena *arena, const tc_release *release, cover *marks) {
    for (size_t i = 0; i < release->segment_count; i++) {
        const tc_segment *segment = &release->segments[i];
        unsigned char *at = segment->target == TC_TARGET_CONSTRAINTS ? marks->constraints
                            : segment->target == TC_TARGET_JACOBIAN  ? marks->jacobian
                                                                     : marks->states;
        for (size_t k = 0; k < segment->count; k++) {
            CHECK(at[segment->position + k] == 0, "channel %s releases what another channel releases",
                  segment->channel->name);
            at[segment->position + k] = 1;
        }
    }
    return NULL;
}

/* With noise on every entry, blocks that are constant as a whole may still be left out. */
static bool is_constant(const tc_family_entries *entries, size_t shared, size_t member) {
    for (size_t i = 0; i < entries->single_count; i++)
        if (entries->singles[i].shared == shared && entries->singles[i].member == member && entries->singles[i].varies)
            return false;
    return !entries->shared[shared].varies;
}

static const char *check_outputs(tc_arena *arena, const tc_release *release, const cover *marks) {
    const tc_model *model = release->model;
    for (size_t j = 0; j < model->constraint_count; j++)
        CHECK(marks->constraints[j] || !model->dag->nodes[model->constraints[j].outer].has_state,
              "constraint %s would be released without noise", model->constraints[j].name);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_entries *entries = &release->entries->families[f];
        size_t members = model->families[f].count;
        for (size_t e = 0; e < entries->shared_count; e++)
            for (size_t k = 0; entries->shared[e].noised && k < members; k++)
                CHECK(marks->jacobian[entries->first + e * members + k] || is_constant(entries, e, k),
                      "the slope of %s for %s would be released without noise",
                      model->constraints[entries->shared[e].row].name, model->families[f].name);
        for (size_t i = 0; i < entries->single_count; i++)
            CHECK(!entries->singles[i].noised || marks->jacobian[entries->first_single + i],
                  "the slope of %s for %s would be released without noise",
                  model->constraints[entries->singles[i].row].name, model->families[f].name);
    }
    return NULL;
}

/* g at x-hat needs every state that a constraint depends on. */
static const char *check_states(tc_arena *arena, const tc_release *release, const cover *marks) {
    const tc_model *model = release->model;
    const tc_derivatives *d = release->derivatives;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t at = 0; d->families[f].body_count > 0 && at < family->dim * family->count; at++)
            CHECK(marks->states[family->first_coord + at], "the plan does not release the states of %s", family->name);
    }
    for (size_t i = 0; i < d->input_count; i++)
        CHECK(d->inputs[i].op != TC_COORD || marks->states[d->inputs[i].index],
              "the plan does not release a state that a constraint names");
    return NULL;
}

const char *tc_release_check_cover(tc_arena *arena, const tc_release *release) {
    if (release->plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    cover marks = {TC_NEW(arena, unsigned char, release->model->constraint_count),
                   TC_NEW(arena, unsigned char, release->entries->position_count),
                   TC_NEW(arena, unsigned char, release->model->state_count)};
    const char *wrong = mark(arena, release, &marks);
    if (wrong != NULL)
        return wrong;
    return tc_noises_states(release->plan) ? check_states(arena, release, &marks)
                                           : check_outputs(arena, release, &marks);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Proves by enclosures over the public box that no integer of a release overflows. docs/proofs/release.md, "Sizes". */

#define MOST_UNITS 0x1p62 /* tc_lattice_round's limit, and half of what 64 bits hold */

typedef struct range_sizes {
    const tc_release *release;
    double *terms;       /* by sum: sum over members of the largest |term| */
    double *term;        /* by sum: the largest |term| of any member */
    tc_interval *sums;   /* by sum */
    tc_interval *coords; /* by coordinate */
    double **slopes;     /* by family, body_first: the largest over members */
    double *outer;       /* the largest |value| of the outer tape's roots */
} range_sizes;

static tc_interval **rows_of(tc_arena *arena, size_t rows, size_t lanes) {
    tc_interval **made = TC_NEW(arena, tc_interval *, rows);
    tc_interval *values = TC_NEW(arena, tc_interval, rows * lanes);
    for (size_t i = 0; i < rows; i++)
        made[i] = values + i * lanes;
    return made;
}

static void measure_batch(const tc_family_derivatives *d, const tc_batch *batch, tc_interval *const *terms,
                          tc_interval *const *slopes, range_sizes *s, size_t family) {
    for (size_t b = 0; b < d->body_count; b++)
        for (size_t lane = 0; lane < batch->lanes; lane++) {
            double size = tc_magnitude(terms[b][lane]);
            s->terms[d->sums[b]] = tc_add_up(s->terms[d->sums[b]], size);
            s->term[d->sums[b]] = fmax(s->term[d->sums[b]], size);
            s->sums[d->sums[b]] = tc_iadd(s->sums[d->sums[b]], terms[b][lane]);
        }
    for (size_t i = 0; i < d->body_first_count; i++)
        for (size_t lane = 0; lane < batch->lanes; lane++)
            s->slopes[family][i] = fmax(s->slopes[family][i], tc_magnitude(slopes[i][lane]));
}

typedef struct measured_family {
    range_sizes *sizes;
    size_t family;
} measured_family;

/* From rank to rank, in order of members. */
static void pack_sizes(void *context, tc_parcel *parcel) {
    const measured_family *m = context;
    const range_sizes *s = m->sizes;
    size_t sums = s->release->model->sum_count;
    tc_put(parcel, s->terms, sums * sizeof *s->terms);
    tc_put(parcel, s->term, sums * sizeof *s->term);
    tc_put(parcel, s->sums, sums * sizeof *s->sums);
    tc_put(parcel, s->slopes[m->family],
           s->release->derivatives->families[m->family].body_first_count * sizeof **s->slopes);
}

static void measure_family(tc_arena *arena, range_sizes *s, size_t f) {
    const tc_release *release = s->release;
    const tc_family *family = &release->model->families[f];
    const tc_family_derivatives *d = &release->derivatives->families[f];
    const tc_family_evaluator *of = &release->evaluator->families[f];
    if (d->body_count == 0)
        return;
    tc_batch *batch = tc_batch_new(arena, family);
    tc_interval **terms = rows_of(arena, d->body_count, TC_LANES);
    tc_interval **slopes = rows_of(arena, d->body_first_count, TC_LANES);
    size_t room = tc_tape_work(of->bodies), more = of->slopes == NULL ? 0 : tc_tape_work(of->slopes);
    tc_interval *work = TC_NEW(arena, tc_interval, room > more ? room : more);
    measured_family all = {s, f};
    tc_carry(arena, family, pack_sizes, &all, true);
    for (size_t k = family->known_first; k < family->known_end; k += TC_LANES) {
        batch->lanes = family->known_end - k < TC_LANES ? family->known_end - k : TC_LANES;
        for (size_t lane = 0; lane < batch->lanes; lane++)
            batch->members[lane] = k + lane;
        tc_batch_load_data(batch);
        tc_batch_load_box(batch);
        tc_tape_enclose(of->bodies, &batch->inputs, batch->lanes, work, terms);
        if (of->slopes != NULL)
            tc_tape_enclose(of->slopes, &batch->inputs, batch->lanes, work, slopes);
        measure_batch(d, batch, terms, slopes, s, f);
    }
    tc_carry(arena, family, pack_sizes, &all, false);
}

static void measure_outer(tc_arena *arena, range_sizes *s) {
    const tc_release *release = s->release;
    size_t count = tc_tape_root_count(release->evaluator->outer);
    for (size_t i = 0; i < release->derivatives->input_count; i++)
        if (release->derivatives->inputs[i].op == TC_COORD)
            s->coords[release->derivatives->inputs[i].index] =
                tc_coord_range(release->model, release->derivatives->inputs[i].index);
    tc_interval **out = rows_of(arena, count, 1);
    tc_interval_inputs inputs = {.coords = s->coords, .sums = s->sums};
    tc_tape_enclose(release->evaluator->outer, &inputs, 1,
                    TC_NEW(arena, tc_interval, tc_tape_work(release->evaluator->outer)), out);
    for (size_t i = 0; i < count; i++)
        s->outer[i] = tc_magnitude(out[i][0]);
}

static double single_size(const range_sizes *s, const tc_family_entries *entries, const tc_shared_entry *shared) {
    double largest = 0;
    for (size_t i = 0; i < entries->single_count; i++)
        if (entries->singles[i].row == shared->row && entries->singles[i].component == shared->component)
            largest = fmax(largest, s->outer[s->release->model->constraint_count + entries->singles[i].outer]);
    return largest;
}

/* The largest magnitude of a number in the segment. */
static double segment_size(const range_sizes *s, const tc_segment *segment) {
    const tc_release *release = s->release;
    double largest = 0;
    if (segment->target == TC_TARGET_CONSTRAINTS)
        for (size_t j = 0; j < segment->count; j++)
            largest = fmax(largest, s->outer[segment->position + j]);
    if (segment->target != TC_TARGET_JACOBIAN)
        return largest;
    size_t family = segment->channel->family;
    const tc_family_entries *entries = &release->entries->families[family];
    const double *slopes = s->outer + release->model->constraint_count;
    if (segment->position >= entries->first_single)
        return slopes[entries->singles[segment->position - entries->first_single].outer];
    const tc_shared_entry *shared =
        &entries->shared[(segment->position - entries->first) / release->model->families[family].count];
    for (size_t i = 0; i < shared->term_count; i++) {
        tc_entry_term term = entries->terms[shared->first_term + i];
        largest = tc_add_up(largest, tc_mul_up(slopes[term.outer], s->slopes[family][term.first]));
    }
    return tc_add_up(largest, single_size(s, entries, shared));
}

/* Rounding a term adds at most half a unit; the plan has bounded its evaluation error by one unit. */
static bool measure_sums(const range_sizes *s, tc_release *release) {
    const tc_model *model = release->model;
    for (size_t r = 0; r < model->sum_count; r++) {
        tc_sum_lattice *lattice = &release->sum_lattices[r];
        double members = (double)model->families[model->sums[r].family].count;
        if (!(s->terms[r] * lattice->per_unit + 2 * members <= MOST_UNITS))
            return false;
        lattice->is_small = s->term[r] * lattice->per_unit + 2 <= TC_SMALL_UNITS;
    }
    return true;
}

static const char *measure_segments(tc_arena *arena, const range_sizes *s, tc_release *release) {
    for (size_t i = 0; i < release->plan->channel_count; i++)
        release->channels[i].is_small = true;
    for (size_t i = 0; i < release->segment_count; i++) {
        const tc_channel *about = release->segments[i].channel;
        tc_release_channel *channel = &release->channels[about - release->plan->channels];
        double units = segment_size(s, &release->segments[i]) * channel->per_unit;
        if (!(units <= MOST_UNITS))
            return tc_arena_format(arena, "entries of %s would not fit 64 bits on the plan's lattice", about->name);
        channel->is_small = channel->is_small && units + 2 <= TC_SMALL_UNITS;
    }
    return NULL;
}

/* tc_plan_make checks this, but a plan may be made by hand. */
static const char *find_uneven(tc_arena *arena, const range_sizes *s, const tc_release *release) {
    const tc_model *model = release->model;
    const tc_plan *plan = release->plan;
    tc_interval *sums = TC_NEW(arena, tc_interval, model->sum_count + 1);
    const tc_tape **bodies = TC_NEW(arena, const tc_tape *, model->family_count + 1);
    const tc_tape **slopes = TC_NEW(arena, const tc_tape *, model->family_count + 1);
    tc_even_lattices lattices = {.state_exponent = plan->state_exponent,
                                 .sum_exponents = plan->sum_exponents,
                                 .most_step_exponent = plan->channel_count > 0 ? plan->channels[0].step_exponent : 0,
                                 .sums = sums};
    for (size_t r = 0; r < model->sum_count; r++) {
        double spread =
            tc_mul_up(2 * (double)model->families[model->sums[r].family].count, release->sum_lattices[r].step);
        sums[r] = tc_iadd(s->sums[r], (tc_interval){-spread, spread});
    }
    for (size_t i = 1; i < plan->channel_count; i++)
        if (plan->channels[i].step_exponent > lattices.most_step_exponent)
            lattices.most_step_exponent = plan->channels[i].step_exponent;
    for (size_t f = 0; f < model->family_count; f++) {
        bodies[f] = release->evaluator->families[f].bodies;
        slopes[f] = release->evaluator->families[f].slopes;
    }
    tc_even_tapes tapes = {.bodies = bodies, .slopes = slopes, .outer = release->evaluator->outer};
    return tc_even_problem(tc_even_new(arena, model, release->derivatives, release->entries, tapes), &lattices);
}

const char *tc_release_check_range(tc_arena *arena, tc_release *release) {
    const tc_model *model = release->model;
    if (release->plan->mechanism == TC_MECHANISM_NONE || tc_noises_states(release->plan))
        return NULL; /* states are at most 2^53 steps */
    range_sizes s = {.release = release,
                     .terms = TC_NEW(arena, double, model->sum_count),
                     .term = TC_NEW(arena, double, model->sum_count),
                     .sums = TC_NEW(arena, tc_interval, model->sum_count),
                     .coords = TC_NEW(arena, tc_interval, model->state_count),
                     .slopes = TC_NEW(arena, double *, model->family_count),
                     .outer = TC_NEW(arena, double, tc_tape_root_count(release->evaluator->outer))};
    for (size_t f = 0; f < model->family_count; f++) {
        s.slopes[f] = TC_NEW(arena, double, release->derivatives->families[f].body_first_count);
        measure_family(arena, &s, f);
    }
    if (!measure_sums(&s, release))
        return "a sum over agents would not fit 64 bits on the plan's lattice";
    measure_outer(arena, &s);
    const char *wrong = measure_segments(arena, &s, release);
    return wrong != NULL ? wrong : find_uneven(arena, &s, release);
}
