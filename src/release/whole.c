#include "release/inside.h"
#include "noise/secret.h"

enum { MOST_ENTRIES = 1 << 16 };

typedef struct copied { /* entry = a number of the evaluator's outer_values */
    uint32_t address, source;
    double per_unit;
} copied;

typedef struct mixed { /* entry = sum of terms, then a single part */
    uint32_t address, channel;
    uint32_t first_term, term_count;
    uint32_t fold; /* in outer_first; UINT32_MAX for none */
} mixed;

typedef struct target_piece { /* released together */
    tc_target target;
    size_t address, position, count;
    tc_channel_run *runs; /* all of small channels, or of one channel */
    size_t run_count;
} target_piece;

typedef struct point_program {
    tc_program *program; /* NULL for none */
    double *work, *values;
    size_t count;
} point_program;

struct tc_whole {
    point_program bodies, slopes; /* of all families of one */
    uint32_t *body_sums;          /* by body */
    copied *copied;
    size_t copied_count;
    bool all_small; /* of copied */
    mixed *mixed;
    size_t mixed_count;
    tc_entry_term *terms; /* first: in slopes' values */
    size_t term_count;
    target_piece *pieces;
    size_t piece_count;
    tc_channel_run *runs; /* of all pieces */
    size_t run_count;
    size_t *coords; /* coordinates of families of one */
    size_t coord_count;
    size_t *crowds; /* blocks of the other families */
    size_t crowd_count;
    tc_private_values *values; /* units by address; zero between rounds, and where an entry is always zero */
    bool is_used;              /* in this round */
};

typedef struct whole_builder {
    tc_arena *arena;
    tc_release *release;
    tc_whole *made;
    size_t *first_slope; /* by family of one: its first number among slopes' values */
} whole_builder;

/* ---- made once ---- */

static bool is_alone(const tc_model *model, size_t family) { return model->families[family].count == 1; }

static point_program compile(whole_builder *b, const tc_expr *roots, size_t count) {
    point_program made = {.count = count};
    if (count == 0)
        return made;
    made.program = tc_program_new(b->arena, b->release->model, roots, count);
    made.work = TC_NEW(b->arena, double, tc_program_work(made.program));
    made.values = TC_NEW(b->arena, double, count);
    tc_program_prepare(made.program, made.work);
    return made;
}

static void compile_families(whole_builder *b) {
    const tc_model *model = b->release->model;
    size_t bodies = 0, slopes = 0;
    for (size_t f = 0; f < model->family_count; f++)
        if (is_alone(model, f)) {
            bodies += b->release->derivatives->families[f].body_count;
            slopes += b->release->derivatives->families[f].body_first_count;
        }
    tc_expr *body_roots = TC_NEW(b->arena, tc_expr, bodies), *slope_roots = TC_NEW(b->arena, tc_expr, slopes);
    b->made->body_sums = TC_NEW(b->arena, uint32_t, bodies);
    b->first_slope = TC_NEW(b->arena, size_t, model->family_count);
    bodies = slopes = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *d = &b->release->derivatives->families[f];
        b->first_slope[f] = slopes;
        for (size_t i = 0; is_alone(model, f) && i < d->body_count; i++) {
            b->made->body_sums[bodies] = d->sums[i];
            body_roots[bodies++] = d->bodies[i];
        }
        for (size_t i = 0; is_alone(model, f) && i < d->body_first_count; i++)
            slope_roots[slopes++] = d->body_first[i].value;
    }
    b->made->bodies = compile(b, body_roots, bodies);
    b->made->slopes = compile(b, slope_roots, slopes);
}

static void add_copied(whole_builder *b, uint64_t address, size_t source, size_t channel) {
    const tc_release_channel *about = &b->release->channels[channel];
    b->made->copied[b->made->copied_count++] = (copied){(uint32_t)address, (uint32_t)source, about->per_unit};
    b->made->all_small = b->made->all_small && about->is_small;
}

/* Adds the one member's entry: nothing if zero, a number of outer_values, or a sum of terms. */
static void add_entry(whole_builder *b, const tc_release_block *block, const tc_piece *piece) {
    const tc_release *release = b->release;
    const tc_family_entries *entries = &release->entries->families[block->family];
    const tc_shared_entry *shared = &entries->shared[release->blocks->families[block->family].noised[piece->row]];
    uint32_t fold = UINT32_MAX;
    for (size_t i = 0; i < block->fold_count; i++)
        if (block->folds[i].row == piece->row)
            fold = block->folds[i].outer;
    if (shared->term_count == 0 && fold == UINT32_MAX)
        return;
    if (shared->term_count == 0) {
        add_copied(b, piece->address, release->model->constraint_count + fold, piece->channel);
        return;
    }
    b->made->mixed[b->made->mixed_count++] = (mixed){(uint32_t)piece->address, piece->channel,
                                                     (uint32_t)b->made->term_count, (uint32_t)shared->term_count, fold};
    for (size_t i = 0; i < shared->term_count; i++) {
        tc_entry_term term = entries->terms[shared->first_term + i];
        b->made->terms[b->made->term_count++] =
            (tc_entry_term){term.outer, (uint32_t)(b->first_slope[block->family] + term.first)};
    }
}

static void list_entries(whole_builder *b) {
    const tc_block_plan *plan = b->release->blocks;
    size_t most = plan->outer_count, terms = 0;
    for (size_t i = 0; i < plan->block_count; i++)
        if (is_alone(b->release->model, plan->blocks[i].family)) {
            most += plan->blocks[i].piece_count;
            terms += b->release->entries->families[plan->blocks[i].family].term_count;
        }
    b->made->copied = TC_NEW(b->arena, copied, most);
    b->made->mixed = TC_NEW(b->arena, mixed, most);
    b->made->terms = TC_NEW(b->arena, tc_entry_term, terms);
    b->made->all_small = true;
    for (size_t i = 0; i < plan->outer_piece_count; i++)
        for (size_t k = 0; k < plan->outer_pieces[i].count; k++)
            add_copied(b, plan->outer_pieces[i].address + k, plan->outer[plan->outer_pieces[i].offset + k].source,
                       plan->outer_pieces[i].channel);
    for (size_t i = 0; i < plan->block_count; i++)
        for (size_t k = 0; is_alone(b->release->model, plan->blocks[i].family) && k < plan->blocks[i].piece_count; k++)
            add_entry(b, &plan->blocks[i], &plan->blocks[i].pieces[k]);
}

/* Segments whose private values follow each other become one piece, those of one channel and side by side one run. */
static void add_segment(whole_builder *b, const tc_segment *s) {
    tc_whole *made = b->made;
    const tc_release_channel *channel = &b->release->channels[s->channel - b->release->plan->channels];
    target_piece *last = made->piece_count == 0 ? NULL : &made->pieces[made->piece_count - 1];
    tc_channel_run *run = made->run_count == 0 ? NULL : &made->runs[made->run_count - 1];
    bool follows = last != NULL && last->target == s->target && last->address + last->count == s->address &&
                   (s->target != TC_TARGET_STATES || last->position + last->count == s->position) &&
                   (run->channel == channel || (run->channel->is_small && channel->is_small));
    if (!follows) {
        last = &made->pieces[made->piece_count++];
        *last = (target_piece){s->target, (size_t)s->address, s->position, 0, made->runs + made->run_count, 0};
    }
    if (!follows || run->channel != channel || run->to + run->count != s->position) {
        run = &made->runs[made->run_count++];
        *run = (tc_channel_run){channel, 0, s->position};
        last->run_count++;
    }
    run->count += s->count;
    last->count += s->count;
}

static void list_pieces(whole_builder *b) {
    const tc_release *release = b->release;
    b->made->pieces = TC_NEW(b->arena, target_piece, release->segment_count);
    b->made->runs = TC_NEW(b->arena, tc_channel_run, release->segment_count);
    for (size_t i = 0; i < release->segment_count; i++) {
        const tc_segment *s = &release->segments[i];
        if (s->target != TC_TARGET_JACOBIAN || is_alone(release->model, s->channel->family) ||
            s->position >= release->entries->families[s->channel->family].first_single)
            add_segment(b, s);
    }
}

static void list_families(whole_builder *b) {
    const tc_model *model = b->release->model;
    const tc_block_plan *plan = b->release->blocks;
    b->made->coords = TC_NEW(b->arena, size_t, model->state_count);
    b->made->crowds = TC_NEW(b->arena, size_t, plan->block_count);
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t c = 0; is_alone(model, f) && c < model->families[f].dim; c++)
            b->made->coords[b->made->coord_count++] = tc_coord_of(&model->families[f], 0, c);
    for (size_t i = 0; i < plan->block_count; i++)
        if (!is_alone(model, plan->blocks[i].family))
            b->made->crowds[b->made->crowd_count++] = i;
}

tc_whole *tc_whole_new(tc_arena *arena, tc_release *release) {
    size_t entries = (size_t)release->plan->entry_count;
    if (!tc_release_has_noise(release) || entries > MOST_ENTRIES)
        return NULL;
    tc_whole *made = TC_NEW(arena, tc_whole, 1);
    whole_builder b = {.arena = arena, .release = release, .made = made};
    list_pieces(&b);
    if (tc_noises_states(release->plan))
        return made;
    compile_families(&b);
    list_entries(&b);
    list_families(&b);
    made->values = TC_NEW(arena, tc_private_values, 1);
    *made->values = (tc_private_values){TC_NEW(arena, int64_t, entries), entries};
    return made;
}

/* ---- a round ---- */

static void sum_singles(tc_release *release) {
    const tc_whole *whole = release->whole;
    int64_t *sums = release->workers[0].sums;
    if (whole->bodies.program == NULL)
        return;
    release->workers[0].has_sums = true;
    tc_program_eval(whole->bodies.program, release->coords, NULL, whole->bodies.work, whole->bodies.values);
    for (size_t i = 0; i < whole->bodies.count; i++) {
        const tc_sum_lattice *lattice = &release->sum_lattices[whole->body_sums[i]];
        sums[whole->body_sums[i]] = tc_lattice_units(lattice->is_small, whole->bodies.values[i], lattice->per_unit);
    }
}

static void round_copied(const tc_whole *whole, const double *outer) {
    int64_t *units = whole->values->units;
    const copied *end = whole->copied + whole->copied_count;
    if (whole->all_small)
        for (const copied *c = whole->copied; c < end; c++)
            units[c->address] = tc_lattice_round_small(outer[c->source], c->per_unit);
    else
        for (const copied *c = whole->copied; c < end; c++)
            units[c->address] = tc_lattice_round(outer[c->source], c->per_unit);
}

static void round_mixed(const tc_release *release, const double *slopes_of_outer) {
    const tc_whole *whole = release->whole;
    if (whole->mixed_count == 0)
        return;
    tc_program_eval(whole->slopes.program, release->coords, NULL, whole->slopes.work, whole->slopes.values);
    for (size_t i = 0; i < whole->mixed_count; i++) {
        const mixed *m = &whole->mixed[i];
        const tc_entry_term *terms = whole->terms + m->first_term;
        const tc_release_channel *channel = &release->channels[m->channel];
        double value = 0;
        for (size_t t = 0; t < m->term_count; t++)
            value += slopes_of_outer[terms[t].outer] * whole->slopes.values[terms[t].first];
        if (m->fold != UINT32_MAX)
            value += slopes_of_outer[m->fold];
        whole->values->units[m->address] = tc_lattice_units(channel->is_small, value, channel->per_unit);
    }
}

static void release_pieces(const tc_release *release, const tc_private_states *states, const tc_released *released) {
    const tc_whole *whole = release->whole;
    for (size_t i = 0; i < whole->piece_count; i++) {
        const target_piece *piece = &whole->pieces[i];
        double *out = piece->target == TC_TARGET_CONSTRAINTS ? released->constraints
                      : piece->target == TC_TARGET_JACOBIAN  ? released->jacobian
                                                             : released->states;
        const int64_t *units =
            piece->target == TC_TARGET_STATES ? states->units + piece->position : whole->values->units + piece->address;
        tc_release_add_noise(piece->runs, piece->run_count, units, release->noise + piece->address, out);
    }
}

/* Where there are no other families, their coordinates are all there are. */
static void take_singles(const tc_release *release, const tc_private_states *states) {
    const tc_whole *whole = release->whole;
    double *restrict coords = release->coords;
    if (whole->crowd_count == 0)
        tc_lattice_rows_here()->points(states->step, release->model->state_count, states->units, coords);
    else
        for (size_t i = 0; i < whole->coord_count; i++)
            coords[whole->coords[i]] = tc_lattice_double(states->units[whole->coords[i]]) * states->step;
}

/* One call spends the round, so nothing of a block is released twice. */
tc_status tc_whole_release(tc_release *release, const tc_private_states *states, tc_released *released) {
    const tc_whole *whole = release->whole;
    tc_status status = TC_OK;
    if (tc_noises_states(release->plan)) {
        release_pieces(release, states, released);
        return TC_OK;
    }
    release->whole->is_used = true;
    take_singles(release, states);
    for (size_t i = 0; status == TC_OK && i < whole->crowd_count; i++)
        status = tc_release_block_sums(release, &release->blocks->blocks[whole->crowds[i]], states);
    if (status != TC_OK)
        return status;
    sum_singles(release);
    tc_release_evaluate_outer(release);
    const double *outer = release->workers[0].evaluator->outer_values;
    round_copied(whole, outer);
    round_mixed(release, outer + release->model->constraint_count);
    release_pieces(release, states, released);
    for (size_t i = 0; status == TC_OK && i < whole->crowd_count; i++)
        status = tc_release_block_rows(release, &release->blocks->blocks[whole->crowds[i]], states, released);
    return status;
}

static void wipe_program(const point_program *of) {
    if (of->program == NULL)
        return;
    tc_program_wipe(of->program, of->work);
    tc_secret_wipe(of->values, of->count * sizeof *of->values);
}

void tc_whole_wipe(tc_release *release) {
    tc_whole *whole = release->whole;
    if (!whole->is_used)
        return;
    tc_secret_wipe(whole->values->units, whole->values->count * sizeof *whole->values->units);
    if (whole->crowd_count == 0) /* all there are */
        tc_secret_wipe(release->coords, release->model->state_count * sizeof *release->coords);
    else
        for (size_t i = 0; i < whole->coord_count; i++)
            tc_secret_wipe(&release->coords[whole->coords[i]], sizeof *release->coords);
    wipe_program(&whole->bodies);
    wipe_program(&whole->slopes);
    whole->is_used = false;
}
