/* From settings to a listening server, the cloud half as the journal has it, and the figures. */
#include "serve/server.h"

#include "base/text.h"
#include "net/files.h"
#include "plan/account/account.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* With a seed all runs have the same identity, so that they have the same bits as a run in one process. Otherwise key
 * and identity are new for each start. */
static tc_status make_random(tc_server *s, const tc_plan *plan, tc_random **random) {
    static const char simulation[] = "simulation";
    unsigned char name[TC_RUN_ID + TC_EPOCH_ID];
    tc_run_identity identity = {.run_id = name, .run_id_length = sizeof name};
    memcpy(name, tc_journal_run_of(s->journal)->run_id, TC_RUN_ID);
    memcpy(name + TC_RUN_ID, s->epoch.id, TC_EPOCH_ID);
    memcpy(identity.plan_hash, plan->hash, sizeof identity.plan_hash);
    if (s->settings->seed == NULL)
        return tc_random_new(s->arena, &identity, random);
    identity.run_id = simulation;
    identity.run_id_length = sizeof simulation - 1;
    return tc_random_new_simulation(s->arena, &identity, *s->settings->seed, random);
}

tc_status tc_server_make_cloud_half(tc_server *s, uint64_t first_round) {
    const tc_server_settings *of = s->settings;
    const tc_journal_round *last = tc_journal_last(s->journal);
    const char *why = NULL;
    if (of->threads != 1)
        s->team = tc_team_new(s->arena, of->threads);
    tc_cloud_half_settings settings = {.dual_radius = of->dual_radius,
                                       .team = s->team,
                                       .facts = s->method,
                                       .first_round = first_round,
                                       .draws_ahead = true};
    tc_status status = make_random(s, of->plan, &s->random);
    if (status == TC_OK && of->plan->last != NULL) /* its plan has a hash of its own, hence other words */
        status = make_random(s, of->plan->last->plan, &settings.last_random);
    if (status == TC_OK)
        status =
            tc_cloud_half_new(s->arena, of->plan, of->model, of->derivatives, s->random, &settings, &s->half, &why);
    if (status != TC_OK) {
        if (why != NULL)
            tc_buffer_printf(s->messages, "%s\n", why);
        return status;
    }
    if (first_round > 1 && last->round == 0) {
        tc_buffer_printf(s->messages,
                         "the journal in '%s' is empty, and rounds up to %llu may have been released: there is nothing "
                         "to go on from; --new-run begins another run\n",
                         s->place, (unsigned long long)(first_round - 1));
        return TC_CANNOT_READ;
    }
    if (last->round == 0 || tc_cloud_half_load(s->half, last->snapshot, last->snapshot_size))
        return TC_OK;
    tc_buffer_printf(s->messages,
                     "the journal in '%s' cannot be used: its snapshot of round %llu is not of this plan and program\n",
                     s->place, (unsigned long long)last->round);
    return TC_CANNOT_READ;
}

/* ---- figures ---- */

/* After a failed commit the cloud half is ahead of the journal: what it holds was not released, so it is not shown. */
void tc_server_refresh(void *context) {
    tc_server *s = context;
    tc_rounds_lock(s->rounds);
    bool stands_by = s->loops == NULL;
    bool has_round = !stands_by && s->half != NULL && tc_cloud_half_rounds(s->half) > 0 &&
                     tc_cloud_half_rounds(s->half) == s->figures.round && tc_rounds_end(s->rounds) != TC_RUN_FAILED;
    if (!stands_by) {
        s->figures.links = tc_loops_count(s->loops);
        s->figures.answers = tc_rounds_answers(s->rounds);
    }
    s->figures.has_trace_failed = s->has_trace_failed;
    s->figures.log_lost = tc_log_lost(s->settings->log);
    s->figures.multipliers = has_round ? tc_cloud_half_multipliers(s->half) : NULL;
    s->figures.answer_multipliers = has_round ? tc_cloud_half_result_multipliers(s->half) : NULL;
    s->figures.feasibility = has_round ? tc_cloud_half_feasibility(s->half) : NULL;
    s->shown = s->figures;
    tc_rounds_unlock(s->rounds);
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

void tc_server_tick(tc_server *s) {
    static const double TELL_EACH = 10, FORGET = 0.3;
    tc_rounds_lock(s->rounds);
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
    tc_rounds_unlock(s->rounds);
    if (s->rounds != NULL)
        tc_rounds_tick(s->rounds);
}

/* ---- starting ---- */

static const double END_SECONDS = 45; /* agents pause up to 30 s + 25 % between two attempts */

static tc_status ask(tc_server *s, tc_status (*whether)(void *, const char *, bool), const char *run_id, bool begun) {
    tc_status status = whether == NULL ? TC_OK : whether(s->settings->context, run_id, begun);
    s->was_forbidden = s->was_forbidden || status == TC_BAD_USAGE;
    return status;
}

static tc_status before_first(void *context) {
    tc_server *s = context;
    s->first_at = tc_serve_now();
    return ask(s, s->settings->before_first, s->run_id, tc_journal_last(s->journal)->round > 0);
}

static void after_round(void *context, uint64_t round, tc_answer_scalars scalars) {
    tc_server *s = context;
    s->last_at = tc_serve_now();
    s->done++;
    if (s->trace != NULL)
        tc_server_trace_row(s, round, scalars);
}

void tc_server_fill_figures(tc_server *s) {
    const tc_plan *plan = s->settings->plan;
    const tc_model *model = s->settings->model;
    const char **names = TC_NEW(s->arena, const char *, model->constraint_count + 1);
    const char **equalities = TC_NEW(s->arena, const char *, model->constraint_count + 1);
    size_t equality_count = 0;
    for (size_t j = 0; j < model->constraint_count; j++) {
        names[j] = model->constraints[j].name;
        if (model->constraints[j].is_equality)
            equalities[equality_count++] = names[j];
    }
    tc_run_price price = tc_price_of_run(plan);
    const tc_promised_unit promised = tc_promised(s->arena, plan);
    s->figures = (tc_figures){.is_private = tc_plan_deserves_private(plan),
                              .is_priced = plan->is_private && isfinite(price.epsilon),
                              .is_insecure = s->settings->insecure_count > 0,
                              .plan_hash = tc_hexadecimal_new(s->arena, plan->hash, sizeof plan->hash),
                              .method = tc_method_name(plan->method),
                              .mechanism = tc_mechanism_name(plan->mechanism),
                              .unit = promised.unit,
                              .norm = promised.norm,
                              .hidden_every_round = promised.every_round,
                              .epsilon = price.epsilon,
                              .delta = price.delta,
                              .started = tc_serve_date(),
                              .version = s->settings->version,
                              .multiplier_count = model->constraint_count,
                              .constraint_names = names,
                              .equalities = equalities,
                              .equality_count = equality_count};
    s->reporter = (tc_reporter){.log = s->settings->log, .figures = &s->figures};
}

/* A restored back-up may have lost epochs. The clock is above any number of starts. */
static tc_status begin_epoch(tc_server *s) {
    uint64_t above = s->settings->after_restore ? (uint64_t)time(NULL) : 0;
    tc_status status = tc_journal_begin_epoch(s->journal, above, &s->epoch);
    if (status == TC_CANNOT_WRITE)
        tc_buffer_printf(s->messages, "the journal in '%s' cannot be written: %s\n", s->place,
                         tc_journal_trouble(s->journal));
    s->figures.epoch = s->epoch.number;
    return status;
}

/* A run does not change its place by itself: what the folder has would be released again, with other noise. */
static tc_status find_place(tc_server *s) {
    const tc_server_settings *of = s->settings;
    s->place = of->journal != NULL ? of->journal : of->state;
    tc_status status = of->state == NULL ? TC_OK : tc_chosen_path(s->arena, of->state, s->messages, &s->state);
    if (status == TC_OK && of->journal != NULL && of->state != NULL)
        status = tc_private_folder(s->state, s->messages); /* for the ledger */
    if (status != TC_OK || of->journal == NULL || of->state == NULL)
        return status;
    tc_journal_settings folder = {.folder = s->state};
    tc_journal_seen seen;
    status = tc_journal_look(s->arena, &folder, s->messages, &seen);
    if (status != TC_OK || !seen.exists)
        return status;
    tc_buffer_printf(s->messages,
                     "there is a journal in the folder '%s', and it cannot be moved into a database: go on with that "
                     "run without --journal, or choose another --state for a new run\n",
                     of->state);
    return TC_BAD_USAGE;
}

static tc_status open_journal(tc_server *s) {
    const tc_server_settings *of = s->settings;
    unsigned char terms[TC_HASH], before[TC_HASH];
    if (!tc_server_terms(of, of->method, terms) || !tc_server_terms(of, of->method_before, before))
        return TC_INTERNAL;
    tc_journal_settings settings = tc_server_journal(s, terms);
    settings.terms_before = of->method_before != NULL ? before : NULL;
    settings.must_exist = s->has_seen_run;
    tc_server_look found = tc_server_look_at_journal(s);
    bool exists = found.seen.exists;
    tc_status status = found.status;
    if (status != TC_OK)
        tc_buffer_printf(s->messages, "%s\n", found.why);
    if (status == TC_OK && !exists && settings.must_exist) {
        tc_buffer_printf(s->messages, "the journal '%s' cannot be used: " TC_JOURNAL_GONE "\n", s->place);
        status = TC_CANNOT_READ;
    }
    if (status != TC_OK)
        return status;
    if (of->after_restore && !exists) {
        tc_buffer_printf(s->messages,
                         "there is no journal in '%s' to go on from: --after-restore needs the %s that a "
                         "back-up was restored into\n",
                         s->place, of->journal != NULL ? "database" : "folder");
        return TC_BAD_USAGE;
    }
    if (of->new_run || !exists)
        status = ask(s, of->at_start, NULL, false);
    if (status != TC_OK)
        return status;
    settings.is_new_run = of->new_run && exists;
    status = tc_journal_open(s->arena, &settings, of->plan->hash, NULL, s->messages, &s->journal);
    if (status != TC_OK)
        return status;
    bool is_of_before = of->method_before != NULL && memcmp(tc_journal_run_of(s->journal)->terms, before, TC_HASH) == 0;
    s->method = is_of_before ? of->method_before : of->method;
    s->run_id = tc_hexadecimal_new(s->arena, tc_journal_run_of(s->journal)->run_id, TC_RUN_ID);
    s->figures.run_id = s->run_id;
    status = ask(s, of->at_start, s->run_id, tc_journal_last(s->journal)->round > 0);
    return status == TC_OK ? begin_epoch(s) : status;
}

static tc_status make_rounds(tc_server *s) {
    const tc_server_settings *of = s->settings;
    tc_rounds_settings settings = {.model = of->model,
                                   .base = s->base,
                                   .journal = s->journal,
                                   .epoch = s->epoch,
                                   .reporter = &s->reporter,
                                   .exponent = of->plan->state_exponent,
                                   .method = s->method == NULL    ? TC_WIRE_PUBLISHED
                                             : s->method->certain ? TC_WIRE_CERTAIN
                                             : s->method->moves   ? TC_WIRE_MOVED
                                                                  : TC_WIRE_TACIT,
                                   .scales = s->method != NULL ? s->method->scales : NULL,
                                   .rounds = tc_plan_messages(of->plan),
                                   .late = of->late,
                                   .lanes = of->threads == 0 ? 1 : of->threads,
                                   .tick = of->tick,
                                   .end_patience = END_SECONDS,
                                   .is_plain = of->keys == NULL,
                                   .needs_slater = of->needs_slater ||
                                                   (s->method != NULL && (s->method->moves || s->method->certain)),
                                   .after_restore = of->after_restore && tc_journal_finished(s->journal) == 0,
                                   .before_first = before_first,
                                   .after_round = after_round,
                                   .context = s};
    tc_status status = tc_rounds_new(s->arena, &settings, &s->rounds);
    if (status == TC_CANNOT_READ)
        tc_buffer_printf(s->messages, "the journal in '%s' cannot be used: its answers are not of this file\n",
                         s->place);
    for (size_t i = 0; status == TC_OK && i < of->disbelieved_count; i++) {
        if (tc_rounds_disbelieve(s->rounds, of->disbelieved[i]))
            continue;
        tc_buffer_printf(s->messages, "--disbelieve: the cloud's file has no agent '%s'\n", of->disbelieved[i]);
        status = TC_BAD_USAGE;
    }
    return status;
}

/* Limits silent connections, so that they do not use up the descriptors. */
static void share_files(tc_links_settings *links, size_t files, size_t needed) {
    size_t spare = files > needed + 64 ? files - needed : 64;
    links->most_silent = spare / 2;
    links->most_shaking = spare / 4 < 256 ? spare / 4 : 256;
}

static tc_status open_pages(tc_server *s) {
    const tc_server_settings *of = s->settings;
    if (of->http == NULL)
        return TC_OK;
    tc_status status = tc_http_new(s->base, of->http, &s->shown, tc_server_refresh, s, s->messages, &s->http);
    if (status == TC_OK)
        tc_http_allow(s->http, of->http_hosts, of->http_host_count);
    return status;
}

void tc_server_announce_pages(tc_server *s) {
    if (s->http != NULL && !s->has_announced_pages)
        tc_http_announce(s->http, s->settings->http, s->settings->log);
    s->has_announced_pages = true;
}

static tc_status open_doors(tc_server *s) {
    const tc_server_settings *of = s->settings;
    tc_links_settings links = {.tls = s->tls, .most_kept = tc_rounds_most_kept(s->rounds)};
    size_t files = tc_listener_raise_limit(), own = of->model->agent_count + 64 + 5 * of->threads; /* a loop has five */
    size_t wanted = own + 4096;
    if (files < wanted) {
        TC_LOG(of->log, TC_EVENT_FEW_FILES, tc_log_count("allowed", files), tc_log_count("wanted", wanted));
        share_files(&links, files, own);
    }
    s->loops = tc_loops_new(s->base, &links, s->rounds);
    if (s->loops == NULL || !tc_loops_start(s->loops))
        return TC_NO_MEMORY;
    tc_listener_share(s->listener, tc_loops_main(s->loops), tc_loops_take, s->loops);
    return tc_server_write_ports(s);
}

static void announce(tc_server *s) {
    const tc_server_settings *of = s->settings;
    const tc_journal_round *last = tc_journal_last(s->journal);
    if (tc_journal_aside(s->journal) != NULL)
        TC_LOG(of->log, TC_EVENT_MOVED, tc_log_text("file", tc_journal_aside(s->journal)));
    TC_LOG(of->log, TC_EVENT_STARTED, tc_log_text("run", s->run_id), tc_log_text("plan", s->figures.plan_hash),
           tc_log_count("epoch", s->epoch.number), tc_log_count("agents", of->model->agent_count),
           tc_log_count("rounds", s->figures.rounds));
    if (s->waited_for[0] != '\0')
        TC_LOG(of->log, TC_EVENT_TAKEN_OVER, tc_log_text("holder", s->waited_for));
    if (tc_journal_is_new(s->journal))
        TC_LOG(of->log, TC_EVENT_BEGUN, tc_log_text("state", s->place));
    if (tc_journal_is_readable(s->journal))
        TC_LOG(of->log, TC_EVENT_READABLE, tc_log_text("state", s->place));
    for (size_t i = 0; i < of->insecure_count; i++)
        TC_LOG(of->log, TC_EVENT_INSECURE, tc_log_why(of->insecure[i]));
    if (tc_journal_doubt(s->journal) != NULL)
        TC_LOG(of->log, TC_EVENT_DAMAGED_LOG, tc_log_round(last->round), tc_log_why(tc_journal_doubt(s->journal)));
    if (last->round > 0)
        TC_LOG(of->log, TC_EVENT_RESUMED, tc_log_round(last->round));
    TC_LOG(of->log, TC_EVENT_LISTENING, tc_log_text("address", of->listen),
           tc_log_count("port", tc_listener_port(s->listener)));
    tc_server_announce_pages(s);
    tc_server_check_expiry(s);
    tc_server_notify_ready(s);
}

static tc_status listen_for_agents(tc_server *s) {
    const tc_server_settings *of = s->settings;
    return tc_listener_new(NULL, s->base, of->listen, of->keys == NULL, s->messages, &s->listener);
}

/* The port is found before a journal is made: a wrong address or a port in use must not begin a run. is_over: nothing
 * is gained by trying again. */
static tc_status take_journal(tc_server *s, bool *is_over) {
    const tc_server_settings *of = s->settings;
    *is_over = true;
    tc_status status = of->journal != NULL ? tc_server_stand_by(s) : TC_OK;
    if (status != TC_OK || s->stops > 0)
        return status;
    status = listen_for_agents(s);
    if (status != TC_OK) {
        *is_over = status != TC_CANNOT_READ;
        return status;
    }
    status = open_journal(s);
    bool is_database = status == TC_CANNOT_READ || status == TC_CANNOT_WRITE;
    *is_over = !is_database || s->journal != NULL || !of->standby;
    return status;
}

/* Of clouds that stand by one is faster, and the others go on waiting. */
static tc_status take_journal_in_turn(tc_server *s) {
    tc_buffer *messages = s->messages, attempt = tc_buffer_new(s->arena, 1 << 16);
    for (;;) {
        bool is_over;
        attempt.length = 0; /* one buffer, however often it is tried */
        s->messages = &attempt;
        tc_status status = take_journal(s, &is_over);
        s->messages = messages;
        if (s->journal == NULL) { /* nobody serves who arrives there */
            tc_listener_free(s->listener);
            s->listener = NULL;
        }
        if (s->journal == NULL && tc_server_is_stopped(s))
            return TC_OK;
        if (status == TC_OK || is_over || !s->settings->standby) {
            tc_buffer_puts(messages, tc_buffer_text(&attempt));
            return status;
        }
        status = tc_server_not_taken_over(s, tc_buffer_text(&attempt));
        if (status != TC_OK)
            return status;
    }
}

tc_status tc_server_start(tc_server *s) {
    if (s->settings->keys != NULL) {
        tc_status status = tc_tls_cloud(s->arena, s->settings->keys, s->messages, &s->tls);
        if (status != TC_OK)
            return status;
    }
    s->base = event_base_new();
    if (s->base == NULL)
        return TC_NO_MEMORY;
    tc_status status = s->settings->journal_key == NULL
                           ? TC_OK
                           : tc_journal_key_read(s->arena, s->settings->journal_key, s->messages, &s->journal_key);
    if (status == TC_OK)
        status = tc_server_set_events(s); /* first: a signal while the journal is read counts too */
    if (status == TC_OK)
        status = find_place(s);
    if (status == TC_OK)
        status = open_pages(s);
    if (status == TC_OK)
        status = take_journal_in_turn(s);
    if (status != TC_OK || s->journal == NULL) /* NULL: stopped while it stood by */
        return status;
    status = make_rounds(s);
    if (status == TC_OK)
        status = tc_server_keep_lease(s);
    if (status == TC_OK && !(s->settings->after_restore && tc_journal_finished(s->journal) == 0))
        status = tc_server_make_cloud_half(s, tc_rounds_first(s->rounds));
    if (status == TC_OK)
        status = tc_server_trace_open(s);
    if (status == TC_OK)
        status = open_doors(s);
    if (status == TC_OK)
        announce(s);
    return status;
}

/* Joins lines by semicolons. */
static const char *join_lines(tc_arena *arena, const char *text) {
    tc_buffer joined = tc_buffer_new(arena, 1 << 17);
    for (const char *line = text; *line != '\0'; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        tc_buffer_printf(&joined, "%s%.*s", line == text ? "" : "; ", (int)length, line);
        line += length;
    }
    return tc_buffer_text(&joined);
}

void tc_server_give_up(tc_server *s, tc_status status, tc_server_result *result) {
    const char *why = join_lines(s->arena, tc_buffer_text(s->messages));
    if (!s->was_forbidden)
        TC_LOG(s->settings->log, TC_EVENT_FAILED, tc_log_why(why[0] != '\0' ? why : tc_status_text(status)));
    result->is_logged = s->settings->log != NULL && !s->was_forbidden;
    if (s->journal != NULL)
        tc_journal_discard(s->journal);
}
