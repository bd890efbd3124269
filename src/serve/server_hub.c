/* The cloud's half of the method, as the journal left it, and the figures that are shown of it. */
#include "serve/server_parts.h"

#include "net/tls/tls.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Whoever knows a seed knows the noise: the same name for all its runs, so that bits can be compared with those of a
 * run in one process. Otherwise the key is new, and so is the name, for each start. */
static tc_status make_random(tc_server *s) {
    static const char simulation[] = "simulation";
    unsigned char name[TC_RUN_ID + TC_EPOCH_ID];
    tc_run_identity identity = {.run_id = name, .run_id_length = sizeof name};
    memcpy(name, tc_journal_run_of(s->journal)->run_id, TC_RUN_ID);
    memcpy(name + TC_RUN_ID, s->epoch.id, TC_EPOCH_ID);
    memcpy(identity.plan_hash, s->settings->plan->hash, sizeof identity.plan_hash);
    if (s->settings->seed == NULL)
        return tc_random_new(s->arena, &identity, &s->random);
    identity.run_id = simulation;
    identity.run_id_length = sizeof simulation - 1;
    return tc_random_new_simulation(s->arena, &identity, *s->settings->seed, &s->random);
}

tc_status tc_server_make_hub(tc_server *s, uint64_t first_round) {
    const tc_server_settings *of = s->settings;
    const tc_journal_round *last = tc_journal_last(s->journal);
    const char *why = NULL;
    if (of->threads != 1)
        s->team = tc_team_new(s->arena, of->threads);
    tc_cloud_half_settings settings = {.dual_radius = of->dual_radius,
                                       .team = s->team,
                                       .facts = of->method,
                                       .first_round = first_round,
                                       .draws_ahead = true};
    tc_status status = make_random(s);
    if (status == TC_OK)
        status = tc_cloud_half_new(s->arena, of->plan, of->model, of->derivatives, s->random, &settings, &s->hub, &why);
    if (status != TC_OK) {
        if (why != NULL)
            tc_buffer_printf(s->messages, "%s\n", why);
        return status;
    }
    if (first_round > 1 && last->round == 0) {
        tc_buffer_printf(s->messages,
                         "the journal in '%s' is empty, and rounds up to %llu may have been released: there is nothing "
                         "to go on from; --new-run begins another run\n",
                         of->state, (unsigned long long)(first_round - 1));
        return TC_CANNOT_READ;
    }
    if (last->round == 0 || tc_cloud_half_load(s->hub, last->memory, last->memory_size))
        return TC_OK;
    tc_buffer_printf(s->messages,
                     "the journal in '%s' cannot be used: its memory of round %llu is not of this plan and program\n",
                     of->state, (unsigned long long)last->round);
    return TC_CANNOT_READ;
}

/* ---- figures ---- */

void tc_server_count_traffic(tc_server *s) { s->figures.links = tc_links_count(s->links); }

/* Where a round could not be written down the hub is ahead of the journal: what it has was not released. Traffic is
 * counted when a round has been answered, and so is of whole rounds: in between it would tell when states arrive. */
void tc_server_refresh(void *context) {
    tc_server *s = context;
    tc_links_figures links = tc_links_count(s->links);
    bool has_round = s->hub != NULL && tc_cloud_half_rounds(s->hub) > 0 &&
                     tc_cloud_half_rounds(s->hub) == s->figures.round && tc_rounds_end(s->rounds) != TC_RUN_FAILED;
    links.frames = s->figures.links.frames;
    links.bytes_in = s->figures.links.bytes_in;
    links.bytes_out = s->figures.links.bytes_out;
    s->figures.links = links;
    s->figures.log_lost = tc_log_lost(s->settings->log);
    s->figures.multipliers = has_round ? tc_cloud_half_multipliers(s->hub) : NULL;
    s->figures.answer_multipliers = has_round ? tc_cloud_half_result_multipliers(s->hub) : NULL;
    s->figures.feasibility = has_round ? tc_cloud_half_feasibility(s->hub) : NULL;
}

void tc_server_check_expiry(tc_server *s) {
    static const double day = 86400, soon = 30;
    double now = tc_serve_date();
    if (s->tls == NULL)
        return;
    s->figures.certificate_expiry = (double)tc_tls_expiry(s->tls);
    double days = (s->figures.certificate_expiry - now) / day;
    if (days > soon || now < (double)s->expiry_told + day)
        return;
    s->expiry_told = (time_t)now;
    TC_LOG(s->settings->log, TC_EVENT_EXPIRING, tc_log_count("days", days > 0 ? (uint64_t)days : 0));
}

/* Once a second. */
void tc_server_tick(tc_server *s) {
    static const double TELL_EACH = 10, FORGET = 0.3;
    double now = tc_serve_now(), span = now - fmax(s->ticked_at, s->first_at);
    uint64_t round = s->figures.round;
    if (s->done > 0 && span > 0) {
        double rate = (double)(s->done - s->ticked_done) / span;
        double before = s->figures.rounds_per_second;
        s->figures.rounds_per_second = before > 0 ? before + FORGET * (rate - before) : rate;
    }
    if (s->done > s->ticked_done)
        s->figures.last_round = tc_serve_date();
    if (s->done > s->ticked_done && now - s->told_at >= TELL_EACH) {
        s->told_at = now;
        TC_LOG(s->settings->log, TC_EVENT_PROGRESS, tc_log_round(round), tc_log_count("rounds", s->figures.rounds),
               tc_log_count("per_second", (uint64_t)(s->figures.rounds_per_second + 0.5)),
               tc_log_count("enrolled", s->figures.enrolled));
    }
    tc_log_flush(s->settings->log, 0);
    tc_server_notify_tick(s);
    s->ticked_done = s->done;
    s->ticked_at = now;
    tc_server_check_expiry(s);
    tc_rounds_tick(s->rounds);
}
