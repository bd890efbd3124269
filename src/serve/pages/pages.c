#include "serve/pages/pages.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

const double tc_commit_bounds[TC_COMMIT_BUCKETS - 1] = {0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002,
                                                        0.005,   0.01,   0.05,   0.25,   1};

const char *tc_serve_phase_name(tc_serve_phase phase) {
    static const char *const names[] = {
#define X(code, name) [code] = name,
        TC_PHASES(X)
#undef X
    };
    return names[phase];
}

void tc_figures_commit(tc_figures *figures, double seconds) {
    size_t bucket = 0;
    while (bucket < TC_COMMIT_BUCKETS - 1 && seconds > tc_commit_bounds[bucket])
        bucket++;
    figures->commits[bucket]++;
    figures->commit_seconds += seconds;
}

/* ---- /status and /healthz ---- */

unsigned tc_health(const tc_figures *figures, const char **line) {
    *line = tc_serve_phase_name(figures->phase);
    return figures->phase == TC_PHASE_FAILED ? 503 : 200;
}

static void add_time(tc_json *json, const char *key, double value) { /* seconds since 1970; 0: never */
    if (value > 0)
        tc_json_number(json, key, value);
    else
        tc_json_null(json, key);
}

static void add_numbers(tc_json *json, const char *key, const double *values, size_t count) {
    if (values != NULL)
        tc_json_numbers(json, key, values, count);
    else
        tc_json_null(json, key);
}

static void add_run(tc_json *json, const tc_figures *figures) {
    tc_json_string(json, "run", figures->run_id);
    tc_json_string(json, "plan", figures->plan_hash);
    tc_json_string(json, "method", figures->method);
    tc_json_bool(json, "private", figures->is_private);
    tc_json_bool(json, "insecure", figures->is_insecure);
    if (figures->is_priced) {
        tc_json_string(json, "mechanism", figures->mechanism);
        tc_json_string(json, "unit", figures->unit);
        tc_json_string(json, "norm", figures->norm);
        tc_json_number(json, "hidden_every_round", figures->hidden_every_round);
        tc_json_number(json, "epsilon", figures->epsilon);
        tc_json_number(json, "delta", figures->delta);
    }
}

static void add_progress(tc_json *json, const tc_figures *figures, double now) {
    tc_json_count(json, "epoch", figures->epoch);
    tc_json_count(json, "round", figures->round);
    tc_json_count(json, "rounds", figures->rounds);
    if (figures->last_round > 0)
        tc_json_number(json, "rounds_per_second", figures->rounds_per_second);
    else
        tc_json_null(json, "rounds_per_second");
    tc_json_count(json, "agents", figures->agents);
    tc_json_count(json, "enrolled", figures->enrolled);
    add_time(json, "now", now);
    add_time(json, "started", figures->started);
    add_time(json, "last_round", figures->last_round);
    add_time(json, "certificate_expires", figures->certificate_expiry);
}

static void add_released(tc_json *json, const tc_figures *figures) {
    if (figures->constraint_names != NULL) {
        tc_json_open_array(json, "constraints");
        for (size_t i = 0; i < figures->multiplier_count; i++)
            tc_json_string(json, NULL, figures->constraint_names[i]);
        tc_json_close_array(json);
    }
    if (figures->equality_count > 0) {
        tc_json_open_array(json, "equalities");
        for (size_t i = 0; i < figures->equality_count; i++)
            tc_json_string(json, NULL, figures->equalities[i]);
        tc_json_close_array(json);
    }
    add_numbers(json, "multipliers", figures->multipliers, figures->multiplier_count);
    add_numbers(json, "answer_multipliers", figures->answer_multipliers, figures->multiplier_count);
    if (figures->feasibility != NULL) {
        tc_json_open_object(json, "feasibility");
        tc_json_number(json, "probability", figures->feasibility->probability);
        tc_json_bool(json, "shown", figures->feasibility->shown);
        tc_json_bool(json, "exact", figures->feasibility->is_exact);
        tc_json_bool(json, "certain", figures->feasibility->is_certain);
        tc_json_number(json, "move", figures->feasibility->move);
        add_numbers(json, "bounds", figures->feasibility->bounds, figures->multiplier_count);
        tc_json_close_object(json);
    }
}

static void add_traffic(tc_json *json, const tc_figures *figures) {
    uint64_t refusals = 0;
    for (size_t i = 0; i < TC_REFUSAL_KINDS; i++)
        refusals += figures->refusals[i];
    tc_json_open_object(json, "connections");
    tc_json_count(json, "silent", figures->links.silent);
    tc_json_count(json, "shaking", figures->links.shaking);
    tc_json_count(json, "open", figures->links.open);
    tc_json_close_object(json);
    tc_json_count(json, "answers", figures->answers);
    tc_json_count(json, "answers_again", figures->answers_again);
    tc_json_count(json, "held", figures->held);
    tc_json_count(json, "refusals", refusals);
}

void tc_status_json(tc_buffer *out, const tc_figures *figures, double now) {
    tc_json json = tc_json_new(out);
    tc_json_open_object(&json, NULL);
    tc_json_string(&json, "version", figures->version);
    tc_json_string(&json, "phase", tc_serve_phase_name(figures->phase));
    add_run(&json, figures);
    add_progress(&json, figures, now);
    add_released(&json, figures);
    add_traffic(&json, figures);
    tc_json_close_object(&json);
}

/* ---- /metrics: Prometheus' text format 0.0.4; docs/operations.md explains each family ---- */

enum { MOST_CONSTRAINTS = 100 }; /* most series for a monitor; /status has all */

static void add_number(tc_buffer *out, double value) {
    char text[32];
    if (isfinite(value))
        tc_shortest_number(text, value);
    tc_buffer_printf(out, " %s\n", isfinite(value) ? text : isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
}

static void add_count(tc_buffer *out, uint64_t value) { tc_buffer_printf(out, " %llu\n", (unsigned long long)value); }

static void family(tc_buffer *out, const char *name, const char *type, const char *help) {
    tc_buffer_printf(out, "# HELP tacit_%s %s\n# TYPE tacit_%s %s\n", name, help, name, type);
}

static void gauge(tc_buffer *out, const char *name, const char *help, double value) {
    family(out, name, "gauge", help);
    tc_buffer_printf(out, "tacit_%s", name);
    add_number(out, value);
}

static void counter(tc_buffer *out, const char *name, const char *help, uint64_t value) {
    family(out, name, "counter", help);
    tc_buffer_printf(out, "tacit_%s", name);
    add_count(out, value);
}

/* name="value", with the three escapes that the format has. */
static void add_label(tc_buffer *out, const char *name, const char *value) {
    tc_buffer_printf(out, "%s=\"", name);
    for (const char *c = value != NULL ? value : ""; *c != '\0';) {
        size_t length = tc_utf8_length(c);
        if (*c == '\n')
            tc_buffer_puts(out, "\\n");
        else if (*c == '"' || *c == '\\')
            tc_buffer_printf(out, "\\%c", *c);
        else if (length == 0)
            tc_buffer_puts(out, "\xef\xbf\xbd"); /* the replacement character */
        else
            tc_buffer_add(out, c, length);
        c += length > 0 ? length : 1;
    }
    tc_buffer_puts(out, "\"");
}

static void labelled(tc_buffer *out, const char *name, const char *label, const char *value) {
    tc_buffer_printf(out, "tacit_%s{", name);
    add_label(out, label, value);
    tc_buffer_puts(out, "}");
}

static void add_build(tc_buffer *out, const tc_figures *figures) {
    family(out, "build_info", "gauge", "Always 1: which version of the program this is.");
    labelled(out, "build_info", "version", figures->version);
    add_count(out, 1);
}

static void measure_run(tc_buffer *out, const tc_figures *figures) {
    const char *const labels[][2] = {{"run", figures->run_id},
                                     {"plan", figures->plan_hash},
                                     {"method", figures->method},
                                     {"private", figures->is_private ? "yes" : "no"},
                                     {"mechanism", figures->is_priced ? figures->mechanism : ""},
                                     {"insecure", figures->is_insecure ? "yes" : "no"}};
    family(out, "run_info", "gauge", "Always 1: which run this is.");
    tc_buffer_puts(out, "tacit_run_info{");
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        tc_buffer_puts(out, i > 0 ? "," : "");
        add_label(out, labels[i][0], labels[i][1]);
    }
    tc_buffer_puts(out, "}");
    add_count(out, 1);
    family(out, "phase", "gauge", "1 for what the cloud is doing, 0 for the rest.");
    for (unsigned phase = 0; phase <= TC_PHASE_FAILED; phase++) {
        labelled(out, "phase", "phase", tc_serve_phase_name((tc_serve_phase)phase));
        add_count(out, phase == (unsigned)figures->phase);
    }
    if (figures->is_priced) {
        gauge(out, "epsilon", "The epsilon of the whole run for the observer who pays most.", figures->epsilon);
        gauge(out, "delta", "The delta of the whole run for the observer who pays most.", figures->delta);
    }
}

static void measure_progress(tc_buffer *out, const tc_figures *figures) {
    counter(out, "rounds_total", "Rounds answered since the run began; a restart of the cloud does not reset it.",
            figures->round);
    gauge(out, "rounds_planned", "Rounds that the plan has.", (double)figures->rounds);
    gauge(out, "epoch", "The number of this start of the cloud; every start has a higher one.", (double)figures->epoch);
    gauge(out, "agents", "Agents that the cloud's file names.", (double)figures->agents);
    gauge(out, "agents_enrolled", "Agents that are enrolled now.", (double)figures->enrolled);
    gauge(out, "start_time_seconds", "When this process began, in seconds since 1970.", figures->started);
    if (figures->last_round > 0)
        gauge(out, "last_round_time_seconds", "When the last round was answered, in seconds since 1970.",
              figures->last_round);
    if (figures->phase == TC_PHASE_DONE && figures->last_round > 0 && figures->round == figures->rounds)
        gauge(out, "last_success_time_seconds", "When this process brought its run to the end, in seconds since 1970.",
              figures->last_round);
    if (figures->certificate_expiry > 0)
        gauge(out, "certificate_expiry_time_seconds", "When the cloud's certificate ends, in seconds since 1970.",
              figures->certificate_expiry);
}

static void add_upkeep(tc_buffer *out, const tc_figures *figures) {
    gauge(out, "last_reload_successful", "0 if the last attempt to read the certificates again failed.",
          !figures->has_reload_failed);
    gauge(out, "trace_failed", "1 if the file of --trace could not be written; the run goes on without it.",
          figures->has_trace_failed);
    counter(out, "log_lines_lost_total", "Lines of the log that were dropped.", figures->log_lost);
}

static void add_connections(tc_buffer *out, const tc_links_figures *links) {
    static const char *const states[] = {"silent", "shaking", "open"};
    const size_t counts[] = {links->silent, links->shaking, links->open};
    family(out, "connections", "gauge", "Connections now: without a byte yet, in their handshake, open.");
    for (size_t i = 0; i < 3; i++) {
        labelled(out, "connections", "state", states[i]);
        add_count(out, counts[i]);
    }
    counter(out, "connections_accepted_total", "Connections that arrived.", links->accepted);
    counter(out, "connections_opened_total", "Connections whose certificate was accepted.", links->opened);
    counter(out, "connections_failed_total", "Connections that ended before they were open.", links->failed);
    counter(out, "frames_received_total", "Frames that arrived whole, up to the last round.", links->frames);
    counter(out, "received_bytes_total", "Bytes from agents, inside of TLS, up to the last round.", links->bytes_in);
    counter(out, "sent_bytes_total", "Bytes to agents, inside of TLS, up to the last round.", links->bytes_out);
}

static void add_messages(tc_buffer *out, const tc_figures *figures) {
    counter(out, "connections_turned_away_total", "Connections that left when they were told which run this is.",
            figures->turned_away);
    counter(out, "answers_total", "Answers sent.", figures->answers);
    counter(out, "answers_again_total", "Answers sent again.", figures->answers_again);
    counter(out, "states_held_total", "States used again because an agent was late.", figures->held);
    family(out, "refusals_total", "counter", "Refusals, by reason.");
    for (unsigned code = 1; code < TC_REFUSAL_KINDS; code++) {
        const char *reason = tc_refusal_text(code);
        if (reason == NULL || code == TC_REFUSED_SLATER) /* not counted: tc_report_refusal */
            continue;
        labelled(out, "refusals_total", "reason", reason);
        add_count(out, figures->refusals[code]);
    }
}

static void add_commits(tc_buffer *out, const tc_figures *figures) {
    uint64_t count = 0;
    family(out, "journal_commit_seconds", "histogram", "Seconds to make a round durable.");
    for (size_t i = 0; i < TC_COMMIT_BUCKETS; i++) {
        char bound[32] = "+Inf";
        if (i < TC_COMMIT_BUCKETS - 1)
            tc_shortest_number(bound, tc_commit_bounds[i]);
        count += figures->commits[i];
        labelled(out, "journal_commit_seconds_bucket", "le", bound);
        add_count(out, count);
    }
    tc_buffer_puts(out, "tacit_journal_commit_seconds_sum");
    add_number(out, figures->commit_seconds);
    tc_buffer_puts(out, "tacit_journal_commit_seconds_count");
    add_count(out, count);
}

static void add_constraints(tc_buffer *out, const tc_figures *figures, const char *name, const char *help,
                            const double *values) {
    if (values == NULL || figures->constraint_names == NULL)
        return;
    family(out, name, "gauge", help);
    for (size_t i = 0; i < figures->multiplier_count && i < MOST_CONSTRAINTS; i++) {
        labelled(out, name, "constraint", figures->constraint_names[i]);
        add_number(out, values[i]);
    }
}

void tc_metrics_text(tc_buffer *out, const tc_figures *figures) {
    add_build(out, figures);
    measure_run(out, figures);
    measure_progress(out, figures);
    add_upkeep(out, figures);
    add_connections(out, &figures->links);
    add_messages(out, figures);
    add_commits(out, figures);
    add_constraints(out, figures, "multiplier", "The multiplier that agents were last given.", figures->multipliers);
    add_constraints(out, figures, "answer_multiplier", "The multiplier of the result so far.",
                    figures->answer_multipliers);
    if (figures->feasibility != NULL) {
        gauge(out, "feasibility_shown", "1 if released figures show that the result satisfies all constraints.",
              figures->feasibility->shown);
        add_constraints(
            out, figures, "feasibility_bound",
            "A bound of the constraint at the result; satisfied if not above 0. Of an equality: of its size.",
            figures->feasibility->bounds);
    }
}
