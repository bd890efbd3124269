/* The cloud's half of a run, twice: the same bytes must come out of every round. */
#include "worlds/worlds.h"

#include "engine/cloud_half.h"

#include <string.h>

typedef struct seen { /* of one world */
    tc_answer_scalars *scalars;
    double **p, **mu, **result_mu;
    unsigned char **memory, (*input)[TC_STATES_MAC];
    size_t memory_size;
    tc_engine_outcome outcome; /* of the last round */
    uint64_t done;
    const char *reason;
    const tc_feasibility *feasibility;
} seen;

static seen *new_seen(tc_arena *arena, uint64_t rounds) {
    seen *made = TC_NEW(arena, seen, 1);
    made->scalars = TC_NEW(arena, tc_answer_scalars, rounds);
    made->p = TC_NEW(arena, double *, rounds);
    made->mu = TC_NEW(arena, double *, rounds);
    made->result_mu = TC_NEW(arena, double *, rounds);
    made->memory = TC_NEW(arena, unsigned char *, rounds);
    made->input = tc_arena_alloc(arena, rounds, sizeof *made->input);
    return made;
}

static double *copy(tc_arena *arena, const double *values, size_t count) {
    double *made = TC_NEW(arena, double, count);
    if (count > 0 && values != NULL)
        memcpy(made, values, count * sizeof *made);
    return made;
}

static tc_status go_round(tc_worlds *w, tc_cloud_half *half, unsigned world, size_t other, uint64_t k, seen *s) {
    const tc_model *model = w->setup.model;
    size_t most = 0, m = model->constraint_count;
    for (size_t f = 0; f < model->family_count; f++)
        most = model->families[f].dim > most ? model->families[f].dim : most;
    int64_t *units = TC_NEW(w->arena, int64_t, most);
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t i = 0; i < model->families[f].count; i++) {
            tc_worlds_state(model, w->plan->state_exponent, world, other, model->families[f].first_agent + i, k, units);
            if (tc_cloud_half_take(half, f, i, units) == TC_STATE_REFUSED)
                return TC_INTERNAL;
        }
    s->p[k - 1] = TC_NEW(w->arena, double, model->state_count);
    tc_status status = tc_cloud_half_round(half, k, &s->scalars[k - 1], s->p[k - 1], s->input[k - 1], &s->outcome);
    if (status != TC_OK)
        return status;
    s->done = k;
    s->mu[k - 1] = copy(w->arena, tc_cloud_half_multipliers(half), m);
    s->result_mu[k - 1] = copy(w->arena, tc_cloud_half_result_multipliers(half), m);
    s->memory_size = tc_cloud_half_snapshot_size(half);
    s->memory[k - 1] = TC_NEW(w->arena, unsigned char, s->memory_size);
    tc_cloud_half_save(half, s->memory[k - 1]);
    return TC_OK;
}

static tc_status live(tc_worlds *w, unsigned world, size_t other, tc_coupled_noise_mode mode, const char *tape,
                      seen **out) {
    tc_cloud_half_settings settings = {.dual_radius = w->setup.dual_radius, .facts = w->method, .first_round = 1};
    tc_run_identity run = {.run_id = "end to end", .run_id_length = 10};
    tc_random *random = NULL;
    tc_cloud_half *half = NULL;
    const char *why = NULL;
    seen *s = *out = new_seen(w->arena, w->rounds);
    memcpy(run.plan_hash, w->plan->hash, sizeof run.plan_hash);
    if (!tc_coupled_noise_begin(mode, tape))
        return TC_CANNOT_WRITE;
    tc_status status = tc_random_new(w->arena, &run, &random);
    if (status == TC_OK)
        status =
            tc_cloud_half_new(w->arena, w->plan, w->setup.model, w->setup.derivatives, random, &settings, &half, &why);
    if (why != NULL)
        w->untested = why;
    for (uint64_t k = 1; status == TC_OK && k <= w->rounds && s->outcome == TC_ENGINE_DONE; k++)
        status = go_round(w, half, world, other, k, s);
    const char *trouble = tc_coupled_noise_end();
    if (status != TC_OK)
        return status;
    s->reason = tc_cloud_half_reason(half);
    s->feasibility = s->outcome == TC_ENGINE_DONE ? tc_cloud_half_feasibility(half) : NULL;
    if (trouble != NULL)
        tc_worlds_differ(w, "the cloud's half: %s", trouble);
    return TC_OK;
}

static void compare_round(tc_worlds *w, const char *who, uint64_t k, const seen *a, const seen *b) {
    const tc_model *model = w->setup.model;
    const struct {
        const char *name;
        const void *first, *second;
        size_t size;
    } parts[] = {
        {"step", &a->scalars[k - 1].step, &b->scalars[k - 1].step, sizeof(double)},
        {"regularization", &a->scalars[k - 1].regularization, &b->scalars[k - 1].regularization, sizeof(double)},
        {"answers", a->p[k - 1], b->p[k - 1], model->state_count * sizeof(double)},
        {"multipliers", a->mu[k - 1], b->mu[k - 1], model->constraint_count * sizeof(double)},
        {"multipliers of the result", a->result_mu[k - 1], b->result_mu[k - 1],
         model->constraint_count * sizeof(double)},
        {"memory", a->memory[k - 1], b->memory[k - 1], a->memory_size},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        (void)tc_worlds_compare(w,
                                tc_arena_format(w->arena, "the cloud's half, %s differs: the %s of round %llu", who,
                                                parts[i].name, (unsigned long long)k),
                                parts[i].first, parts[i].size, parts[i].second, parts[i].size);
}

static void compare_ends(tc_worlds *w, const char *who, const seen *a, const seen *b) {
    const tc_feasibility *x = a->feasibility, *y = b->feasibility;
    bool same = a->done == b->done && a->outcome == b->outcome && (a->reason == NULL) == (b->reason == NULL) &&
                (a->reason == NULL || strcmp(a->reason, b->reason) == 0);
    bool same_feasibility = (x == NULL) == (y == NULL);
    if (x != NULL && y != NULL)
        same_feasibility = x->shown == y->shown && x->is_exact == y->is_exact &&
                           memcmp(x->bounds, y->bounds, w->setup.model->constraint_count * sizeof *x->bounds) == 0;
    if (!same)
        tc_worlds_differ(w, "the cloud's half, %s differs: how the run ends", who);
    if (!same_feasibility)
        tc_worlds_differ(w, "the cloud's half, %s differs: what is said of constraints", who);
}

static tc_status compare_pair(tc_worlds *w, size_t other, const char *who) {
    const char *tape = tc_arena_format(w->arena, "%s/half.tape", w->folder);
    seen *first, *second;
    tc_status status = live(w, 0, other, TC_COUPLED_RECORD, tape, &first);
    if (status == TC_OK)
        status = live(w, 1, other, TC_COUPLED_REPLAY, tape, &second);
    if (status != TC_OK)
        return status;
    for (uint64_t k = 1; k <= first->done && k <= second->done; k++)
        compare_round(w, who, k, first, second);
    compare_ends(w, who, first, second);
    if (memcmp(first->input[0], second->input[0], TC_STATES_MAC) == 0)
        tc_worlds_differ(w, "the MAC of the input: another input has the same MAC");
    return TC_OK;
}

/* The MAC is not compared, since it has a key. This checks that it has one: the same input under another key must give
 * another MAC. */
static tc_status compare_keys(tc_worlds *w) {
    seen *first, *second;
    tc_status status = live(w, 0, 0, TC_COUPLED_OFF, NULL, &first);
    if (status == TC_OK)
        status = live(w, 0, 0, TC_COUPLED_OFF, NULL, &second);
    if (status == TC_OK && memcmp(first->input[0], second->input[0], TC_STATES_MAC) == 0)
        tc_worlds_differ(w,
                         "the MAC of the input: it is the same under another key, and whoever guesses the states can "
                         "check the guess");
    return status;
}

static const char *name_of(tc_worlds *w, size_t agent) {
    const tc_family *family = tc_family_of_agent(w->setup.model, agent);
    tc_buffer name = tc_buffer_new(w->arena, 4096);
    tc_agent_name(&name, family, agent - family->first_agent);
    return tc_buffer_text(&name);
}

tc_status tc_worlds_cloud_halves(tc_worlds *w) {
    size_t agents = w->setup.model->agent_count;
    const size_t others[] = {0, agents / 2, agents - 1, TC_WORLDS_ALL};
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < sizeof others / sizeof others[0]; i++)
        if (i == 0 || others[i] != others[i - 1])
            status = compare_pair(w, others[i], others[i] == TC_WORLDS_ALL ? "everybody" : name_of(w, others[i]));
    return status == TC_OK ? compare_keys(w) : status;
}
