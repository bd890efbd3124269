#include "audit/inside.h"

#include "plan/account/account.h"

enum { MOST_SYSTEMS = 12, MOST_NOTES = 40 };

/* Of the rounds, or of the last round. */
typedef struct course {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_plan *whole; /* NULL, or: plan is that of its last round */
    const tc_analysis *analysis;
    const tc_monitor *monitor;
    tc_audit_options options;
    tc_audit *audit;
    tc_audit_view *view;
    tc_sampler *sampler;
    tc_fresh *fresh;           /* NULL until there is a pair to release */
    const tc_worst_case *pair; /* the last one */
    bool may_take_more;        /* samples than options.samples, where they show half the noise */
    double level;              /* of false alarms */
    size_t *first, *end;       /* by system: entries of the view */
    double started;
} course;

static void note(course *c, const char *text) {
    if (c->audit->note_count < MOST_NOTES)
        c->audit->notes[c->audit->note_count++] = text;
}

static void add_system(course *c, const char *name, double epsilon, double delta, size_t first, size_t end) {
    size_t at = c->audit->system_count++;
    c->audit->systems[at] =
        (tc_audit_system){.name = name, .claimed_epsilon = epsilon, .claimed_delta = delta > 0 ? delta : 0};
    c->audit->systems[at].delta_of_bounds = INFINITY;
    c->first[at] = first;
    c->end[at] = end;
}

/* Where there is a last round the plan says what its part of the price is. */
static void add_part(course *c) {
    add_system(c, NULL, 0, 0, 0, c->view->count);
    c->audit->systems[0] = c->whole != NULL ? tc_claim_of_last(c->whole) : tc_claim_of_rounds(c->plan);
}

/* Published plans claim epsilon for each channel; every plan claims a price for an observer of everything. */
static void list_systems(course *c) {
    const tc_plan *plan = c->plan;
    size_t channels = plan->calibration == TC_PUBLISHED ? plan->channel_count : 0;
    size_t step = channels / MOST_SYSTEMS + 1;
    c->audit->systems = TC_NEW(c->arena, tc_audit_system, MOST_SYSTEMS + 2);
    c->first = TC_NEW(c->arena, size_t, MOST_SYSTEMS + 2);
    c->end = TC_NEW(c->arena, size_t, MOST_SYSTEMS + 2);
    if (plan->last != NULL || c->whole != NULL) {
        add_part(c);
        return;
    }
    for (size_t i = 0; i < channels; i += step)
        if (c->view->start[i + 1] > c->view->start[i])
            add_system(c, plan->channels[i].name, plan->epsilon,
                       plan->mechanism == TC_MECHANISM_GAUSSIAN ? plan->delta : 0, c->view->start[i],
                       c->view->start[i + 1]);
    if (step > 1)
        note(c, tc_arena_format(c->arena, "of %zu systems, %zu were sampled by themselves", channels,
                                c->audit->system_count));
    for (size_t i = 0; i < plan->observer_count; i++)
        if (plan->observers[i].kind == TC_OBSERVER_EAVESDROPPER) {
            add_system(c, "everything", plan->observers[i].epsilon, plan->observers[i].delta, 0, c->view->count);
            break;
        }
}

static const char *describe(tc_arena *arena, const tc_model *model, const tc_worst_case *pair) {
    tc_buffer text = tc_buffer_new(arena, 1 << 12);
    tc_coord_name(&text, model, pair->coord);
    tc_buffer_printf(&text, " at %.6g or %.6g", pair->x[0][pair->coord], pair->x[1][pair->coord]);
    if (pair->moved > 1)
        tc_buffer_printf(&text, ", and %zu more states", pair->moved - 1);
    return tc_buffer_text(&text);
}

/* When a system's share of the time ends. */
static double end_of_share(const course *c, size_t at) {
    double now = tc_audit_clock(), left = (double)(c->audit->system_count - at);
    return c->options.seconds > 0 ? now + fmax(0.1, c->started + c->options.seconds - now) / left : HUGE_VAL;
}

/* How many samples of each input: by default as many as show half the noise, where they take seconds. Says before the
 * first one what they will leave open. */
static uint64_t choose_samples(const course *c, const tc_pair_counts *counts, double level_each,
                               const tc_audit_system *system) {
    const uint64_t most = 1 << 20, samples = c->options.samples;
    const double most_work = 0x1p33; /* numbers that are read and drawn */
    const tc_audit_options *to = &c->options;
    if (tc_price_shows_half(c->plan, counts, level_each, system, samples))
        return samples;
    uint64_t needed = tc_samples_for_half(c->plan, counts, level_each, system);
    double work = 2 * (double)needed * (double)(c->view->model->state_count + c->view->count);
    if (c->may_take_more && needed > 0 && needed <= most && work <= most_work)
        return needed;
    if (to->say != NULL && c->whole == NULL)
        to->say(to->context,
                needed == 0
                    ? tc_arena_format(c->arena,
                                      "%s: no number of samples of one round shows half the noise by its price; the "
                                      "computed price and the test of the noise decide",
                                      system->name)
                    : tc_arena_format(c->arena,
                                      "%s: %llu samples of each input cannot show half the noise by its price; "
                                      "--samples %llu would",
                                      system->name, (unsigned long long)samples, (unsigned long long)needed));
    return samples;
}

/* Notes if too little was seen of a system. */
static void note_samples(course *c, const tc_pair_counts *counts, double level_each, uint64_t wanted,
                         tc_audit_system *system) {
    uint64_t each = tc_audit_samples(system);
    if (each < wanted)
        note(c, tc_arena_format(c->arena, "%s: %s after %llu samples of each input", system->name,
                                tc_interrupted(c->monitor) ? "interrupted" : "time ended", (unsigned long long)each));
    system->verdict = system->refuted ? TC_REFUTED : TC_NOT_REFUTED;
    if (tc_price_shows_half(c->plan, counts, level_each, system, each))
        return;
    system->verdict = system->refuted ? TC_REFUTED : TC_INCONCLUSIVE;
    system->needed = tc_samples_for_half(c->plan, counts, level_each, system);
    if (system->needed == 0 && tc_hides_every_round(c->plan->adjacency) && c->whole == NULL)
        return; /* note_limits says so */
    if (system->needed == 0)
        note(c, tc_arena_format(c->arena,
                                "%s: no number of samples of one round would refute even half the noise; the price of "
                                "these inputs is computed, and the noise is tested by itself",
                                system->name));
    else
        note(c, tc_arena_format(c->arena,
                                "%s: too few samples to refute even half the noise: at least %llu needed of each input",
                                system->name, (unsigned long long)system->needed));
}

static void note_no_pair(course *c, tc_audit_system *system, bool time_ended) {
    system->left_out = time_ended || tc_interrupted(c->monitor);
    system->verdict = TC_INCONCLUSIVE;
    note(c, tc_arena_format(c->arena,
                            system->left_out ? "%s: no sample was taken, so nothing is said about it"
                                             : "%s: no two adjacent inputs were found that differ in it",
                            system->name));
}

/* Computes the price of the pair; samples the first rounds of many releases with the first pair. */
static tc_status look_at_pair(course *c, size_t at, const tc_worst_case *pair, double until) {
    tc_audit_system *system = &c->audit->systems[at];
    double rounds = tc_hides_every_round(c->plan->adjacency) ? c->audit->plan->rounds : 1, now = tc_audit_clock();
    system->expected = pair->loss;
    c->pair = pair;
    system->pair = describe(c->arena, c->plan->model, pair);
    tc_judge_price(c->view, pair, c->first[at], c->end[at], rounds, system);
    system->refuted = system->priced_out;
    c->audit->refuted = c->audit->refuted || system->refuted;
    if (c->fresh != NULL)
        return TC_OK;
    tc_progress(c->monitor, "releasing first rounds", (double)at / (double)c->audit->system_count);
    return tc_fresh_sample(c->arena, c->sampler, pair, &c->options, now + (until - now) / 2, c->monitor, &c->fresh);
}

static tc_status sample_system(course *c, size_t at, double level_each) {
    tc_audit_system *system = &c->audit->systems[at];
    double count = (double)c->audit->system_count, begin = (double)at / count;
    double until = end_of_share(c, at), now = tc_audit_clock();
    double end_of_search = now + (until - now) / 4;
    bool is_whole = false;
    tc_progress(c->monitor, "looking for the worst inputs", begin);
    tc_worst_case *pair =
        tc_worst_pair(c->arena, c->view, c->analysis, c->first[at], c->end[at], end_of_search, c->monitor, &is_whole);
    if (pair == NULL) {
        note_no_pair(c, system, tc_audit_clock() > end_of_search);
        return TC_OK;
    }
    if (!is_whole)
        note(c, tc_arena_format(c->arena, "%s: not all inputs were looked at, the problem being large", system->name));
    tc_status status = look_at_pair(c, at, pair, until);
    if (status != TC_OK)
        return status;
    tc_pair_counts *counts = tc_pair_counts_new(c->arena, c->view, pair, c->first[at], c->end[at]);
    uint64_t samples = choose_samples(c, counts, level_each, system);
    tc_sample_limits limits = {samples, until, begin, begin + 1 / count, &c->options};
    status = tc_sample_pair(c->arena, c->sampler, pair, &limits, c->monitor, counts);
    if (status != TC_OK)
        return status;
    tc_judge_epsilon(c->arena, c->plan, counts, level_each, system);
    c->audit->refuted = c->audit->refuted || system->refuted;
    if (system->samples[0] + system->samples[1] == 0)
        note_no_pair(c, system, true);
    else
        note_samples(c, counts, level_each, samples, system);
    return TC_OK;
}

static void note_limits(course *c) {
    if (c->whole != NULL)
        return; /* said of the rounds */
    if (tc_hides_every_round(c->plan->adjacency))
        note(c,
             tc_arena_format(c->arena,
                             "the unit `%s` spreads its price over all rounds: samples of one round show hardly any "
                             "of it, and say nothing for or against the plan. The price is computed over all rounds, "
                             "and the noise is tested by itself",
                             tc_unit_text(c->arena, c->plan->adjacency, c->plan->adjacency_bound)));
    if (c->plan->adjacency == TC_ADJACENCY_DATA)
        note(c,
             "that protected data move states by no more than the plan's distances is not looked at here: it is proved "
             "from the file, and the two worlds are states at these distances");
    if (c->plan->constants == TC_DECLARED && !c->plan->is_private)
        note(c, "the plan itself says that it is not private, since it rests on declared constants that nobody vouches "
                "for");
    if (c->analysis != NULL && c->analysis->constraints.verdict != TC_HOLDS)
        note(c, "the constraints are not proved to be convex and smooth; what is promised about privacy does not need "
                "it, what is promised about the solution does");
}

static tc_status run_all(course *c) {
    double level = c->level;
    double tests = (double)c->audit->system_count * (double)tc_tests_of_epsilon(c->plan);
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < c->audit->system_count; i++) {
        if (tc_interrupted(c->monitor))
            note_no_pair(c, &c->audit->systems[i], false);
        else
            status = sample_system(c, i, level / 2 / tests);
    }
    if (status != TC_OK)
        return status;
    c->audit->interrupted = tc_interrupted(c->monitor);
    tc_judge_whole(c->arena, c->view, &c->sampler->whole, level / 2, c->audit);
    if (c->fresh != NULL)
        tc_judge_fresh(c->arena, c->view, c->fresh, level / 2 * TC_SHARE_FIRST, c->audit);
    note_limits(c);
    status = tc_audit_sets(c->arena, c->view, c->audit);
    if (status != TC_OK)
        return status;
    tc_audit_conclude(c->arena, &c->sampler->whole, c->sampler->round, c->fresh, level / 2, c->audit);
    c->audit->seconds = tc_audit_clock() - c->started;
    return TC_OK;
}

static tc_status open_release(course *c, tc_release **release, const char **why) {
    tc_random *random = NULL;
    tc_run_identity run = {.run_id = "audit", .run_id_length = 5};
    /* The same release for as many rounds as there are samples; of a last round each sample has its own. */
    tc_plan *longer = TC_NEW(c->arena, tc_plan, 1);
    *longer = *c->plan;
    longer->rounds = c->whole != NULL ? 1 : (double)TC_MOST_ROUND;
    tc_status status = c->options.seeded ? tc_random_new_simulation(c->arena, &run, c->options.seed, &random)
                                         : tc_random_new(c->arena, &run, &random);
    if (status != TC_OK)
        return status;
    c->plan = longer;
    return tc_release_new(c->arena, longer, longer->measured, longer->measured_derivatives, random, NULL, release, why);
}

/* A declared constant of 0 leaves numbers without noise: their price is infinite. */
static bool lacks_noise(const tc_plan *plan) {
    for (size_t i = 0; i < plan->observer_count; i++)
        if (plan->observers[i].kind == TC_OBSERVER_EAVESDROPPER)
            return plan->constants == TC_DECLARED && !isfinite(plan->observers[i].epsilon);
    return false;
}

/* Concludes without a sample. */
static tc_status decide(course *c, const char *why) {
    tc_audit *audit = c->audit;
    audit->refuted = c->plan->mechanism != TC_MECHANISM_NONE && lacks_noise(c->plan);
    audit->verdict = audit->refuted ? TC_REFUTED : TC_INCONCLUSIVE;
    if (audit->refuted) {
        tc_audit_add_fault(audit, "support", why);
    } else {
        audit->inconclusive_because = why;
    }
    note_limits(c);
    audit->seconds = tc_audit_clock() - c->started;
    return TC_OK;
}

static tc_status run_course(course *c) {
    tc_release *release = NULL;
    const char *why = NULL;
    tc_status status = open_release(c, &release, &why);
    if (status != TC_OK)
        return status == TC_BAD_USAGE && why != NULL ? decide(c, why) : status;
    c->view = tc_audit_view_new(c->arena, c->plan, release);
    c->sampler = tc_sampler_new(c->arena, c->view, c->may_take_more ? UINT64_MAX : 2 * c->options.samples);
    list_systems(c);
    if (c->sampler == NULL)
        return decide(c, "the lattice of the states does not fit the box");
    if (c->view->count == 0 || c->audit->system_count == 0)
        return decide(c, "the plan releases nothing with noise");
    return run_all(c);
}

static void begin(course *c, const tc_plan *plan) {
    c->started = tc_audit_clock();
    c->plan = plan;
    c->audit = TC_NEW(c->arena, tc_audit, 1);
    *c->audit = (tc_audit){.arena = c->arena, .plan = plan, .confidence = c->options.confidence};
    c->audit->seeded = c->options.seeded;
    c->audit->is_private = plan->is_private && !c->options.seeded;
    c->audit->notes = TC_NEW(c->arena, const char *, MOST_NOTES);
}

/* Each has a release of its own, which takes its time where there are many agents. */
static uint64_t samples_of_last(const tc_plan *whole, uint64_t most) {
    enum { LEAST = 2000, WORK = 1 << 24 };
    uint64_t fit = WORK / (whole->model->state_count + whole->model->constraint_count + 1);
    fit = fit < LEAST ? LEAST : fit;
    return fit < most ? fit : most;
}

/* The last round in the same way, and then both sources of noise together. */
static tc_status go_on_with_last(course *rounds, const tc_plan *whole, bool asked_for_samples) {
    course c = {.arena = rounds->arena,
                .whole = whole,
                .analysis = rounds->analysis,
                .monitor = rounds->monitor,
                .options = rounds->options,
                .level = rounds->level};
    if (!asked_for_samples)
        c.options.samples = samples_of_last(whole, c.options.samples);
    begin(&c, tc_audit_plan_of_last(c.arena, whole));
    tc_status status = run_course(&c);
    const tc_audit_source both[] = {{rounds->sampler, rounds->pair}, {c.sampler, c.pair}};
    if (status == TC_OK && rounds->pair != NULL && c.pair != NULL)
        status = tc_audit_sources(c.arena, both, &c.options, c.monitor, c.level, c.audit);
    if (status == TC_OK)
        tc_audit_join(rounds->audit, c.audit);
    return status;
}

tc_status tc_audit_run(tc_arena *arena, const tc_plan *plan, const tc_analysis *analysis,
                       const tc_audit_options *options, const tc_monitor *monitor, tc_audit **audit) {
    course c = {.arena = arena, .analysis = analysis, .monitor = monitor, .options = *options};
    bool has_last = plan->mechanism != TC_MECHANISM_NONE && plan->last != NULL;
    c.may_take_more = options->samples == 0;
    c.options.samples = options->samples == 0 ? 20000 : options->samples;
    c.options.confidence = options->confidence > 0 ? options->confidence : 0.999999;
    c.options.seconds /= has_last ? 2 : 1;
    c.level = (1 - c.options.confidence) / (has_last ? 3 : 1);
    begin(&c, plan);
    *audit = c.audit;
    if (plan->mechanism == TC_MECHANISM_NONE)
        return decide(&c, "the plan adds no noise: nothing is promised, and there is nothing to audit");
    tc_status status = run_course(&c);
    if (status == TC_OK && has_last && c.audit->point_count > 0)
        status = go_on_with_last(&c, plan, options->samples > 0);
    return status;
}
