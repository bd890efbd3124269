#include "serve/server_parts.h"

#include "net/tls.h"
#include "privacy/words.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* END: agents that have lost the cloud pause up to 30 s and a quarter before they come again. */
static const double STOP_SECONDS = 10, END_SECONDS = 45;

/* ---- callbacks of the loop ---- */

static void on_stop(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    s->stops++;
    TC_LOG(s->settings->log, TC_EVENT_STOPPING, tc_log_round(tc_rounds_last(s->rounds)));
    tc_rounds_stop(s->rounds, STOP_SECONDS);
}

/* In an arena of its own, which goes afterwards. */
static tc_status read_keys(const char *folder, SSL_CTX **context, char *why, size_t room) {
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    why[0] = '\0';
    if (status == TC_OK) {
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        status = tc_tls_cloud(arena, folder, &messages, context);
        (void)snprintf(why, room, "%s", tc_buffer_text(&messages));
        why[strcspn(why, "\n")] = '\0';
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

static void on_reload(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    SSL_CTX *fresh = NULL;
    char why[512];
    if (s->tls == NULL)
        return;
    if (read_keys(s->settings->keys, &fresh, why, sizeof why) != TC_OK) {
        TC_LOG(s->settings->log, TC_EVENT_NOT_RELOADED, tc_log_why(why));
        return;
    }
    SSL_CTX_free(s->tls);
    s->tls = fresh;
    s->expiry_told = 0;
    tc_links_set_tls(s->links, fresh);
    TC_LOG(s->settings->log, TC_EVENT_RELOADED, tc_log_text("keys", s->settings->keys));
    tc_server_check_expiry(s);
}

static void on_tick(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server_tick(context);
}

static tc_status before_first(void *context) {
    tc_server *s = context;
    bool begun = tc_journal_last(s->journal)->round > 0;
    s->first_at = tc_serve_now();
    return s->settings->before_first == NULL ? TC_OK
                                             : s->settings->before_first(s->settings->context, s->run_id, begun);
}

static void after_round(void *context, uint64_t round, tc_answer_scalars scalars) {
    tc_server *s = context;
    s->last_at = tc_serve_now();
    s->done++;
    tc_server_count_traffic(s);
    if (s->trace != NULL)
        tc_server_trace_row(s, round, scalars);
}

/* ---- starting ---- */

static const char *hexadecimal(tc_arena *arena, const unsigned char *bytes, size_t size) {
    char *text = TC_NEW(arena, char, 2 * size + 1);
    for (size_t i = 0; i < size; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

static void fill_figures(tc_server *s) {
    const tc_plan *plan = s->settings->plan;
    const tc_model *model = s->settings->model;
    const char **names = TC_NEW(s->arena, const char *, model->constraint_count + 1);
    for (size_t j = 0; j < model->constraint_count; j++)
        names[j] = model->constraints[j].name;
    s->figures = (tc_figures){.is_private = plan->is_private && s->settings->seed == NULL,
                              .is_insecure = s->settings->insecure_count > 0,
                              .plan_hash = hexadecimal(s->arena, plan->hash, sizeof plan->hash),
                              .method = tc_method_name(plan->method),
                              .mechanism = tc_mechanism_name(plan->mechanism),
                              .epsilon = plan->epsilon,
                              .delta = plan->delta,
                              .started = tc_serve_date(),
                              .multiplier_count = model->constraint_count,
                              .constraint_names = names};
    s->reporter = (tc_reporter){.log = s->settings->log, .figures = &s->figures};
}

/* A restored back-up may have lost epochs: the clock is above any number that counts starts. */
static tc_status begin_epoch(tc_server *s) {
    uint64_t above = s->settings->after_restore ? (uint64_t)time(NULL) : 0;
    tc_status status = tc_journal_begin_epoch(s->journal, above, &s->epoch);
    if (status == TC_CANNOT_WRITE)
        tc_buffer_printf(s->messages, "the journal in '%s' cannot be written: %s\n", s->settings->state,
                         tc_journal_trouble(s->journal));
    s->figures.epoch = s->epoch.number;
    return status;
}

static tc_status open_journal(tc_server *s) {
    const tc_server_settings *of = s->settings;
    unsigned char terms[TC_HASH];
    tc_journal_settings settings = {.folder = of->state, .durability = of->durability, .terms = terms};
    if (!tc_server_terms(of, terms))
        return TC_INTERNAL;
    tc_status status = TC_OK;
    if (of->at_start != NULL && (of->new_run || !tc_server_has_journal(s)))
        status = of->at_start(of->context, NULL, false);
    if (status == TC_OK && of->new_run)
        status = tc_server_move_aside(s);
    if (status != TC_OK)
        return status;
    status = tc_journal_open(s->arena, &settings, of->plan->hash, NULL, s->messages, &s->journal);
    if (status == TC_BAD_USAGE)
        tc_buffer_puts(s->messages,
                       "start with the file and the options of that run, choose another --state, or begin another run "
                       "with --new-run\n");
    if (status != TC_OK)
        return status;
    s->run_id = hexadecimal(s->arena, tc_journal_run_of(s->journal)->run_id, TC_RUN_ID);
    s->figures.run_id = s->run_id;
    if (of->at_start != NULL)
        status = of->at_start(of->context, s->run_id, tc_journal_last(s->journal)->round > 0);
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
                                   .method = of->plan->method == TC_METHOD_TACIT ? TC_WIRE_TACIT : TC_WIRE_PUBLISHED,
                                   .rounds = (uint64_t)of->plan->rounds,
                                   .late = of->late,
                                   .end_patience = END_SECONDS,
                                   .is_plain = of->keys == NULL,
                                   .needs_slater = of->needs_slater,
                                   .after_restore = of->after_restore && tc_journal_finished(s->journal) == 0,
                                   .before_first = before_first,
                                   .after_round = after_round,
                                   .context = s};
    tc_status status = tc_rounds_new(s->arena, &settings, &s->rounds);
    if (status == TC_CANNOT_READ)
        tc_buffer_printf(s->messages, "the journal in '%s' cannot be used: its answers are not of this file\n",
                         of->state);
    return status;
}

/* Those who say nothing must not take the last descriptor: the oldest of them gives way before that. */
static void share_files(tc_links_settings *links, size_t files, size_t needed) {
    size_t spare = files > needed + 64 ? files - needed : 64;
    links->most_silent = spare / 2;
    links->most_shaking = spare / 4 < 256 ? spare / 4 : 256;
}

/* Before a journal is made: an address that is wrong or taken begins no run. */
static tc_status find_doors(tc_server *s) {
    const tc_server_settings *of = s->settings;
    tc_status status = tc_listener_new(NULL, s->base, of->listen, of->keys == NULL, s->messages, &s->listener);
    if (status == TC_OK && of->http != NULL)
        status = tc_http_new(s->base, of->http, &s->figures, tc_server_refresh, s, s->messages, &s->http);
    return status;
}

static tc_status open_doors(tc_server *s) {
    const tc_server_settings *of = s->settings;
    tc_links_settings links = {
        .tls = s->tls, .owner = tc_rounds_owner(s->rounds), .most_kept = tc_rounds_most_kept(s->rounds)};
    size_t files = tc_listener_raise_limit(), wanted = of->model->agent_count + 4096 + 64;
    if (files < wanted) {
        TC_LOG(of->log, TC_EVENT_FEW_FILES, tc_log_count("allowed", files), tc_log_count("wanted", wanted));
        share_files(&links, files, of->model->agent_count + 64);
    }
    s->links = tc_links_new(s->base, &links);
    if (s->links == NULL)
        return TC_NO_MEMORY;
    tc_listener_serve(s->listener, s->links);
    return tc_server_write_ports(s);
}

static tc_status set_events(tc_server *s) {
    static const struct timeval second = {.tv_sec = 1};
    s->signals[0] = evsignal_new(s->base, SIGTERM, on_stop, s);
    s->signals[1] = evsignal_new(s->base, SIGINT, on_stop, s);
    s->signals[2] = evsignal_new(s->base, SIGHUP, on_reload, s);
    s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
    for (size_t i = 0; i < 3; i++)
        if (s->signals[i] == NULL || event_add(s->signals[i], NULL) != 0)
            return TC_NO_MEMORY;
    return s->tick == NULL || event_add(s->tick, &second) != 0 ? TC_NO_MEMORY : TC_OK;
}

static void announce(tc_server *s) {
    const tc_server_settings *of = s->settings;
    const tc_journal_round *last = tc_journal_last(s->journal);
    TC_LOG(of->log, TC_EVENT_STARTED, tc_log_text("run", s->run_id), tc_log_text("plan", s->figures.plan_hash),
           tc_log_count("epoch", s->epoch.number), tc_log_count("agents", of->model->agent_count),
           tc_log_count("rounds", s->figures.rounds));
    if (tc_journal_is_new(s->journal))
        TC_LOG(of->log, TC_EVENT_BEGUN, tc_log_text("state", of->state));
    for (size_t i = 0; i < of->insecure_count; i++)
        TC_LOG(of->log, TC_EVENT_INSECURE, tc_log_why(of->insecure[i]));
    if (last->round > 0)
        TC_LOG(of->log, TC_EVENT_RESUMED, tc_log_round(last->round));
    TC_LOG(of->log, TC_EVENT_LISTENING, tc_log_text("address", of->listen),
           tc_log_count("port", tc_listener_port(s->listener)));
    if (s->http != NULL)
        tc_http_announce(s->http, of->http, of->log);
    tc_server_check_expiry(s);
}

static tc_status start(tc_server *s) {
    if (s->settings->keys != NULL) {
        tc_status status = tc_tls_cloud(s->arena, s->settings->keys, s->messages, &s->tls);
        if (status != TC_OK)
            return status;
    }
    s->base = event_base_new();
    if (s->base == NULL)
        return TC_NO_MEMORY;
    tc_status status = find_doors(s);
    if (status == TC_OK)
        status = open_journal(s);
    if (status == TC_OK)
        status = make_rounds(s);
    if (status == TC_OK && !(s->settings->after_restore && tc_journal_finished(s->journal) == 0))
        status = tc_server_make_hub(s, tc_rounds_first(s->rounds));
    if (status == TC_OK)
        status = tc_server_trace_open(s);
    if (status == TC_OK)
        status = set_events(s);
    if (status == TC_OK)
        status = open_doors(s);
    if (status == TC_OK)
        announce(s);
    return status;
}

/* A run that nobody has been told of leaves nothing behind that would bind the folder to it. */
static void give_up(tc_server *s, tc_status status) {
    const char *text = tc_buffer_text(s->messages);
    const char *why = tc_arena_copy(s->arena, text, strcspn(text, "\n"));
    TC_LOG(s->settings->log, TC_EVENT_FAILED, tc_log_why(why[0] != '\0' ? why : tc_status_text(status)));
    if (s->journal != NULL)
        tc_journal_discard(s->journal);
}

/* ---- running ---- */

/* After a restore: agents say what they have seen before there is a hub. */
static tc_status survey(tc_server *s) {
    TC_LOG(s->settings->log, TC_EVENT_RESTORING, tc_log_round(tc_rounds_last(s->rounds)));
    while (tc_rounds_end(s->rounds) == TC_RUN_GOES_ON && !tc_rounds_is_surveyed(s->rounds))
        if (event_base_dispatch(s->base) < 0)
            return TC_INTERNAL;
    if (tc_rounds_end(s->rounds) != TC_RUN_GOES_ON)
        return TC_OK;
    uint64_t first = tc_rounds_first(s->rounds);
    TC_LOG(s->settings->log, TC_EVENT_RESTORED, tc_log_round(first));
    if (first <= s->figures.rounds)
        return tc_server_make_hub(s, first);
    tc_buffer_printf(s->messages,
                     "rounds up to %llu may have been released, and the run has %llu: none is left, and the last "
                     "answers are lost; --new-run begins another\n",
                     (unsigned long long)(first - 1), (unsigned long long)s->figures.rounds);
    return TC_CANNOT_READ;
}

/* An agent that has lost what it had is for a person to say. */
static void begin_over(tc_server *s, tc_end_reason reason) {
    s->was_told = tc_journal_is_told(s->journal) && !s->settings->after_restore;
    TC_LOG(s->settings->log, s->was_told ? TC_EVENT_ALL_TOLD : TC_EVENT_OVER, tc_log_round(tc_rounds_last(s->rounds)));
    if (s->was_told)
        tc_rounds_end_told(s->rounds, reason);
    else
        tc_rounds_begin_over(s->rounds, reason);
}

static tc_status loop(tc_server *s) {
    unsigned finished = tc_journal_finished(s->journal);
    tc_status status = TC_OK;
    if (finished == 0 && s->hub == NULL)
        status = survey(s);
    if (status != TC_OK || tc_rounds_end(s->rounds) != TC_RUN_GOES_ON)
        return status;
    if (finished == 0 && tc_rounds_first(s->rounds) > s->figures.rounds) { /* it died between the last round and this */
        finished = TC_END_DONE;
        status = tc_journal_finish(s->journal, finished);
    }
    if (status != TC_OK)
        return status;
    if (finished != 0) {
        s->was_over = true;
        begin_over(s, finished == TC_END_DIVERGED ? TC_END_DIVERGED : TC_END_DONE);
    } else {
        status = tc_rounds_begin(s->rounds, s->hub);
    }
    while (status == TC_OK && tc_rounds_end(s->rounds) == TC_RUN_GOES_ON)
        status = event_base_dispatch(s->base) < 0 ? TC_INTERNAL : TC_OK;
    return status;
}

/* What was said last is on its way: those who hear it close. Who asks a second time does not want to wait for that. */
static void part(tc_server *s) {
    double until = tc_serve_now() + TC_LINK_PART_SECONDS + 0.5;
    tc_listener_free(s->listener);
    s->listener = NULL;
    while (!tc_ring_is_empty(&s->links->open))
        tc_link_close((tc_link *)(void *)s->links->open.after);
    while (!tc_ring_is_empty(&s->links->parting) && tc_serve_now() < until && s->stops < 2)
        if (event_base_loop(s->base, EVLOOP_ONCE) < 0)
            return;
}

static void log_end(tc_server *s, tc_run_end end, tc_status status, const char *names) {
    tc_logbook *log = s->settings->log;
    uint64_t last = tc_rounds_last(s->rounds);
    if (status != TC_OK)
        TC_LOG(log, TC_EVENT_FAILED, tc_log_round(last), tc_log_why(tc_status_text(status)));
    else if (end == TC_RUN_STOPPED)
        TC_LOG(log, TC_EVENT_STOPPED, tc_log_round(last));
    else if (end == TC_RUN_DONE)
        TC_LOG(log, TC_EVENT_DONE, tc_log_round(last));
    else if (end == TC_RUN_REFUSED)
        TC_LOG(log, TC_EVENT_NOT_HELD, tc_log_agents(names));
    if (names[0] != '\0' && (end == TC_RUN_DONE || end == TC_RUN_DIVERGED))
        TC_LOG(log, TC_EVENT_UNTOLD, tc_log_agents(names));
}

static tc_status explain_rollback(tc_server *s) {
    const tc_rollback *seen = tc_rounds_rollback(s->rounds);
    uint64_t last = tc_rounds_last(s->rounds);
    tc_buffer_printf(s->messages, "nothing was released: the agent %s ", seen->agent);
    if (seen->round > last)
        tc_buffer_printf(s->messages, "has had the answer of round %llu, and the journal in '%s' ends with round %llu",
                         (unsigned long long)seen->round, s->settings->state, (unsigned long long)last);
    else
        tc_buffer_printf(s->messages, "has served epoch %llu of this run, and the journal in '%s' has come to %llu",
                         (unsigned long long)seen->epoch, s->settings->state, (unsigned long long)s->epoch.number);
    tc_buffer_puts(s->messages,
                   ". It is an old copy, or another cloud runs from a copy of it. Stop that cloud and start "
                   "from the newest journal; where that is lost, --after-restore goes on after the last "
                   "round that any agent has seen\n");
    return TC_CANNOT_READ;
}

static void explain_failure(tc_server *s) {
    bool is_end = tc_rounds_last(s->rounds) >= s->figures.rounds;
    tc_buffer_printf(s->messages, "the journal in '%s' cannot be written: %s. %s when there is room again\n",
                     s->settings->state, tc_journal_trouble(s->journal),
                     is_end ? "All rounds are released; the same command ends the run"
                            : "The round was not released; the run goes on from the round before");
}

static tc_status judge(tc_server *s, tc_status status, tc_server_result *result) {
    if (s->rounds == NULL || s->links == NULL)
        return status;
    tc_run_end end = tc_rounds_end(s->rounds);
    tc_naming naming = end == TC_RUN_REFUSED ? TC_NAME_REFUSED : TC_NAME_UNTOLD;
    bool is_named = end == TC_RUN_REFUSED || end == TC_RUN_DONE || end == TC_RUN_DIVERGED;
    const char *names = is_named ? tc_rounds_names(s->rounds, naming) : "";
    if (status == TC_OK && end == TC_RUN_FAILED)
        status = tc_rounds_status(s->rounds);
    if (status == TC_CANNOT_WRITE && tc_journal_is_broken(s->journal))
        explain_failure(s);
    log_end(s, end, status, names);
    *result = (tc_server_result){.end = end,
                                 .rounds = tc_rounds_last(s->rounds),
                                 .rounds_here = s->done,
                                 .epoch = s->epoch.number,
                                 .seconds = s->last_at > 0 ? s->last_at - s->first_at : 0,
                                 .run_id = s->run_id,
                                 .was_over = s->was_over,
                                 .was_told = s->was_told,
                                 .names = tc_arena_copy(s->arena, names, strlen(names)),
                                 .reason = s->hub == NULL ? NULL : tc_hub_reason(s->hub),
                                 .held = s->figures.held};
    tc_server_refresh(s);
    result->multipliers = s->figures.multipliers;
    result->answer_multipliers = s->figures.answer_multipliers;
    result->feasibility = s->figures.feasibility;
    return end == TC_RUN_ROLLED_BACK && status == TC_OK ? explain_rollback(s) : status;
}

static void stop(tc_server *s) {
    tc_http_free(s->http);
    tc_listener_free(s->listener);
    tc_links_free(s->links);
    if (s->rounds != NULL)
        tc_rounds_free(s->rounds);
    for (size_t i = 0; i < 3; i++)
        if (s->signals[i] != NULL)
            event_free(s->signals[i]);
    if (s->tick != NULL)
        event_free(s->tick);
    if (s->base != NULL)
        event_base_free(s->base);
    SSL_CTX_free(s->tls);
}

tc_status tc_server_run(tc_arena *arena, const tc_server_settings *settings, tc_buffer *messages,
                        tc_server_result *result) {
    tc_server *s = TC_NEW(arena, tc_server, 1);
    *s = (tc_server){.arena = arena, .settings = settings, .messages = messages};
    *result = (tc_server_result){.names = ""};
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a failing write, with a message */
    s->told_at = tc_serve_now();
    fill_figures(s);
    tc_status status = start(s);
    if (status == TC_OK) {
        status = loop(s);
        status = judge(s, status, result);
        part(s);
    } else {
        give_up(s, status);
    }
    tc_status traced = tc_server_trace_close(s);
    stop(s);
    return status != TC_OK ? status : traced;
}
