/* F(x) on its lattices, before noise. Results stay in private types; docs/proofs/release.md. */
#include "privacy/release_parts.h"

#include <string.h>

/* h times the integers of members first .. first + lanes - 1: exact. */
static const double *const *load_states(tc_release *release, const tc_private_states *states, size_t family,
                                        size_t first, size_t lanes) {
    const tc_family *of = &release->model->families[family];
    tc_family_evaluator *evaluator = &release->evaluator->families[family];
    for (size_t c = 0; c < of->dim; c++) {
        const int64_t *units = states->units + tc_coord_of(of, first, c);
        double *row = evaluator->state_rows[c];
        for (size_t lane = 0; lane < lanes; lane++)
            row[lane] = (double)units[lane] * states->step;
        evaluator->state[c] = row;
    }
    return evaluator->state;
}

/* One block of members: terms to integers, integers to the block's own sums. */
static void add_block(tc_release *release, const tc_private_states *states, size_t family, size_t first, size_t end) {
    const tc_family_derivatives *d = &release->derivatives->families[family];
    memset(release->partial, 0, d->body_count * sizeof *release->partial);
    for (size_t k = first; k < end; k += TC_LANES) {
        size_t lanes = end - k < TC_LANES ? end - k : TC_LANES;
        tc_evaluate_terms(release->evaluator, family, k, lanes, load_states(release, states, family, k, lanes));
        for (size_t b = 0; b < d->body_count; b++) {
            double per_unit = ldexp(1, -release->plan->sum_exponents[d->sums[b]]);
            const double *terms = release->evaluator->families[family].terms[b];
            for (size_t lane = 0; lane < lanes; lane++)
                release->partial[b] += tc_lattice_round(terms[lane], per_unit);
        }
    }
    for (size_t b = 0; b < d->body_count; b++)
        release->sums[d->sums[b]] += release->partial[b];
}

static void evaluate_sums(tc_release *release, const tc_private_states *states) {
    const tc_model *model = release->model;
    memset(release->sums, 0, model->sum_count * sizeof *release->sums);
    for (size_t f = 0; f < model->family_count; f++) {
        if (release->derivatives->families[f].body_count == 0)
            continue;
        for (size_t k = 0; k < model->families[f].count; k += release->block) {
            size_t rest = model->families[f].count - k;
            add_block(release, states, f, k, k + (rest < release->block ? rest : release->block));
        }
    }
    for (size_t r = 0; r < model->sum_count; r++)
        release->sum_values[r] = ldexp((double)release->sums[r], release->plan->sum_exponents[r]);
}

static void evaluate_outer(tc_release *release, const tc_private_states *states) {
    for (size_t i = 0; i < release->derivatives->input_count; i++) {
        const tc_outer_input *input = &release->derivatives->inputs[i];
        if (input->op == TC_COORD)
            release->coords[input->index] = (double)states->units[input->index] * states->step;
    }
    tc_evaluate_outer(release->evaluator, release->sum_values, release->coords);
}

/* The first single entry of a row and component whose member is not below the given one. */
static size_t first_single(const tc_family_entries *entries, const tc_shared_entry *shared, size_t member) {
    size_t low = 0, high = entries->single_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tc_single_entry *s = &entries->singles[middle];
        bool before = s->row != shared->row               ? s->row < shared->row
                      : s->component != shared->component ? s->component < shared->component
                                                          : s->member < member;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

static void fold_singles(const tc_evaluator *evaluator, const tc_family_entries *entries, const tc_shared_entry *shared,
                         size_t first, size_t lanes, double *out) {
    const double *outer = tc_outer_slopes(evaluator);
    for (size_t i = first_single(entries, shared, first); i < entries->single_count; i++) {
        const tc_single_entry *s = &entries->singles[i];
        if (s->row != shared->row || s->component != shared->component || s->member >= first + lanes)
            break;
        if (s->shared != UINT32_MAX)
            out[s->member - first] += outer[s->outer];
    }
}

typedef struct channel_work {
    const tc_channel *channel;
    const tc_segment *segments;
    size_t segment_count;
    double per_unit;
} channel_work;

static void evaluate_block(tc_release *release, const channel_work *work, size_t first, size_t lanes) {
    size_t family = work->channel->family, members = release->model->families[family].count;
    const tc_family_entries *entries = &release->entries->families[family];
    double values[TC_LANES];
    for (size_t i = 0; i < work->segment_count; i++) {
        const tc_segment *segment = &work->segments[i];
        if (segment->position >= entries->first_single)
            continue;
        const tc_shared_entry *shared = &entries->shared[(segment->position - entries->first) / members];
        tc_evaluate_shared(release->evaluator, family, shared, lanes, values);
        fold_singles(release->evaluator, entries, shared, first, lanes, values);
        int64_t *units = release->values->units + segment->address + (first - work->channel->first_member);
        for (size_t lane = 0; lane < lanes; lane++)
            units[lane] = tc_lattice_round(values[lane], work->per_unit);
    }
}

static void evaluate_jacobian(tc_release *release, const tc_private_states *states, const channel_work *work) {
    const tc_channel *channel = work->channel;
    const tc_family_entries *entries = &release->entries->families[channel->family];
    size_t end = channel->first_member + channel->member_count;
    bool has_slopes = release->evaluator->families[channel->family].slopes != NULL;
    size_t step = release->block < TC_LANES ? release->block : TC_LANES;
    for (size_t k = channel->first_member; k < end; k += step) {
        size_t lanes = end - k < step ? end - k : step;
        if (has_slopes)
            tc_evaluate_slopes(release->evaluator, channel->family, k, lanes,
                               load_states(release, states, channel->family, k, lanes));
        evaluate_block(release, work, k, lanes);
    }
    for (size_t i = 0; i < work->segment_count; i++) {
        const tc_segment *segment = &work->segments[i];
        if (segment->position < entries->first_single)
            continue;
        const tc_single_entry *single = &entries->singles[segment->position - entries->first_single];
        release->values->units[segment->address] =
            tc_lattice_round(tc_outer_slopes(release->evaluator)[single->outer], work->per_unit);
    }
}

static void evaluate_channel(tc_release *release, const tc_private_states *states, const channel_work *work) {
    int64_t *units = release->values->units;
    for (size_t i = 0; i < work->segment_count; i++) {
        const tc_segment *segment = &work->segments[i];
        if (segment->target == TC_TARGET_STATES)
            memcpy(units + segment->address, states->units + segment->position, segment->count * sizeof *units);
        if (segment->target == TC_TARGET_CONSTRAINTS)
            for (size_t j = 0; j < segment->count; j++)
                units[segment->address + j] =
                    tc_lattice_round(release->evaluator->outer_values[segment->position + j], work->per_unit);
    }
    if (work->channel->kind == TC_CHANNEL_JACOBIAN)
        evaluate_jacobian(release, states, work);
}

void tc_release_values(tc_release *release, const tc_private_states *states) {
    if (release->plan->placement == TC_PLACEMENT_OUTPUTS) {
        evaluate_sums(release, states);
        evaluate_outer(release, states);
    }
    for (size_t i = 0; i < release->segment_count;) {
        const tc_channel *channel = release->segments[i].channel;
        size_t end = i;
        while (end < release->segment_count && release->segments[end].channel == channel)
            end++;
        channel_work work = {channel, release->segments + i, end - i, ldexp(1, -channel->step_exponent)};
        evaluate_channel(release, states, &work);
        i = end;
    }
}
