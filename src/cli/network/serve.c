#include "cli/network/network.h"

#include "base/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LISTEN = TC_PRIVACY_OPTION_COUNT,
    KEYS,
    STATE,
    JOURNAL,
    JOURNAL_KEY,
    STANDBY,
    LEASE,
    THREADS,
    ON_LATE,
    DEADLINE,
    LAST_DEADLINE,
    MOST_HOLDS,
    TICK,
    DURABILITY,
    HTTP,
    HTTP_HOST,
    LINGER,
    LOG,
    LOG_LEVEL,
    LEDGER,
    BUDGET,
    TRACE,
    JSON,
    PORT_FILE,
    AFTER_RESTORE,
    DISBELIEVE,
    NEW_RUN,
    INSECURE_SEED,
    INSECURE_NO_NOISE,
    INSECURE_PLAINTEXT,
    CARD
};

static const char *const log_forms[] = {"text", "json", NULL};

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS,
    [LISTEN] = {.name = "listen",
                .type = TC_OPTION_STRING,
                .argument = "ADDRESS",
                .standard = "127.0.0.1:7575",
                .text = "Where agents connect: HOST:PORT, [HOST]:PORT, or :PORT for every address of the machine."},
    [KEYS] = {.name = "keys",
              .type = TC_OPTION_STRING,
              .argument = "DIR",
              .text = "The cloud's own folder of keys, made by tacit keys: its certificate, and the authority's. "
                      "SIGHUP reads it again."},
    [STATE] = {.name = "state",
               .type = TC_OPTION_STRING,
               .argument = "DIR",
               .text = "The folder of the journal; created if missing. A run that was stopped or died goes on from it. "
                       "It holds released numbers only; one cloud at a time has it open. Needed, unless --journal and "
                       "--ledger say where everything is."},
    [JOURNAL] = {.name = "journal",
                 .type = TC_OPTION_STRING,
                 .argument = "ADDRESS",
                 .text = "Keep the journal in a PostgreSQL database in place of the folder: "
                         "postgresql://[USER@]HOST[:PORT]/DATABASE. A cloud on another machine can then go on with the "
                         "run. A password goes into ~/.pgpass, never into the address. A server on another machine "
                         "must prove who it is (sslmode=verify-full), unless the address says another sslmode."},
    [JOURNAL_KEY] = {.name = "journal-key",
                     .type = TC_OPTION_STRING,
                     .argument = "FILE",
                     .text = "With --journal: the key that encrypts what the database keeps, made by tacit keys "
                             "journal; the same for all clouds of a run. Needed for a new run: whoever runs the "
                             "database must not read released numbers, since he can have a round computed again with "
                             "new noise."},
    [STANDBY] = {.name = "standby",
                 .type = TC_OPTION_FLAG,
                 .text = "If another cloud has the run, wait until it stops or dies, and go on with the run then. With "
                         "--journal alone; all other options and files as the other cloud has them."},
    [LEASE] = {.name = "lease",
               .type = TC_OPTION_REAL,
               .argument = "SECONDS",
               .least = 1,
               .most = 3600,
               .standard = "5",
               .text = "With --journal: how long after its last sign of life a cloud still has the run. Longer than a "
                       "round takes to compute; a cloud that stands by waits as long before it takes over."},
    [THREADS] = {.name = "threads",
                 .type = TC_OPTION_INT,
                 .argument = "N",
                 .least = 1,
                 .most = 1024,
                 .text =
                     "How many threads may work: loops that serve connections side by side, and workers that release "
                     "large problems. Unless given, one loop, and workers on all processors. No result depends on "
                     "it."},
    [ON_LATE] = TC_LATE_ON_LATE,
    [DEADLINE] = {.name = "deadline",
                  .type = TC_OPTION_REAL,
                  .argument = "SECONDS",
                  .least = 1e-3,
                  .most = 1e6,
                  .standard = "10",
                  .text =
                      "After how long an agent is late, counted from the opening of a round, or from when the agent "
                      "came back. With wait, the log then names the agents that a round waits for. At the end of a "
                      "run, absent agents have the same time, and at least 45 seconds, to come for the last answer."},
    [LAST_DEADLINE] = {.name = "last-deadline",
                       .type = TC_OPTION_REAL,
                       .argument = "SECONDS",
                       .least = 45, /* agents pause up to 30 s + 25 % between two attempts */
                       .most = 1e6,
                       .text =
                           "With --feasible always: how long the last round waits for the agents' averages, counted "
                           "from its opening or from the start of this cloud. At least 45: agents that have lost the "
                           "cloud may wait for 38 before they come back. Then the run ends without it: nothing "
                           "more is released, results are not moved, and they are not certain to satisfy the "
                           "constraints (exit 1). Without this option it waits for ever. It may be changed from "
                           "start to start."},
    [MOST_HOLDS] = TC_LATE_MOST_HOLDS,
    [TICK] = {.name = "tick",
              .type = TC_OPTION_REAL,
              .argument = "SECONDS",
              .least = 1e-3,
              .most = 1e6,
              .text =
                  "Answer only at fixed times, so many seconds apart, so that nobody can see when the last state of "
                  "a round came. A round that is not complete at a tick is answered at a later one. Without this "
                  "option a round is answered as soon as it is complete."},
    [DURABILITY] = {.name = "durability",
                    .type = TC_OPTION_CHOICE,
                    .argument = "D",
                    .choices = tc_durability_names,
                    .standard = "power",
                    .text = "What a round survives before it is answered: loss of power, or only the end of the "
                            "process, which is faster. After a loss of power agents may then have seen more than "
                            "the journal, and the cloud says so."},
    [HTTP] = {.name = "http",
              .type = TC_OPTION_STRING,
              .argument = "ADDRESS",
              .standard = "127.0.0.1:7576",
              .text = "Where /healthz, /status and /metrics are served, or off. They show released and operational "
                      "figures only."},
    [HTTP_HOST] = {.name = "http-host",
                   .type = TC_OPTION_STRING,
                   .argument = "NAME",
                   .repeats = true,
                   .text = "A host name by which clients may ask for the pages, besides the port's own addresses, "
                           "localhost and the machine's name. Other names are refused, so that no web page in a "
                           "browser can read them through a name that it points at this machine."},
    [LINGER] = {.name = "linger",
                .type = TC_OPTION_REAL,
                .argument = "SECONDS",
                .least = 0,
                .most = 86400,
                .standard = "0",
                .text = "How long the pages are served after the last round, for monitors that look from time to time. "
                        "A signal ends it."},
    [LOG] = {.name = "log",
             .type = TC_OPTION_CHOICE,
             .argument = "FORM",
             .choices = log_forms,
             .standard = "text",
             .text = "The form of the log, on standard error. With json every line there is one JSON object, in every "
                     "case."},
    [LOG_LEVEL] = {.name = "log-level",
                   .type = TC_OPTION_CHOICE,
                   .argument = "LEVEL",
                   .choices = tc_log_level_names,
                   .standard = "info",
                   .text = "The least severe level that is logged."},
    [LEDGER] = {.name = "ledger",
                .type = TC_OPTION_STRING,
                .argument = "FILE",
                .text =
                    "Where to enter the price of the run, before its first round is released; once for a run, however "
                    "often it is started again. Without this option: the file 'ledger' in --state. Runs that are not "
                    "for private data (--insecure-...) are entered as runs without a guarantee."},
    [BUDGET] = TC_BUDGET_OPTION,
    [TRACE] = {.name = "trace",
               .type = TC_OPTION_STRING,
               .argument = "FILE.csv",
               .text = "Write what is released in every round: step, regularization and multipliers. A run that is "
                       "continued adds to the same file."},
    [JSON] = {.name = "json", .type = TC_OPTION_FLAG, .text = "Print the summary as one JSON object."},
    [PORT_FILE] = {.name = "port-file",
                   .type = TC_OPTION_STRING,
                   .argument = "FILE",
                   .text = "Write the two ports to FILE when the cloud is ready: for scripts that listen at port 0."},
    [AFTER_RESTORE] = {.name = "after-restore",
                       .type = TC_OPTION_FLAG,
                       .text = "The journal is a restored back-up, and agents may have seen later rounds: ask all of "
                               "them, and go on after the last round that any has seen. What was released since the "
                               "back-up is lost to the method, but its price stays spent."},
    [DISBELIEVE] = {.name = "disbelieve",
                    .type = TC_OPTION_STRING,
                    .argument = "NAME",
                    .repeats = true,
                    .text =
                        "For this start, do not believe this agent if it claims to have seen later rounds or epochs "
                        "than the journal: it takes part as if it had not said so. If the claim is true, rounds are "
                        "released a second time, which the plan does not pay for."},
    [NEW_RUN] = {.name = "new-run",
                 .type = TC_OPTION_FLAG,
                 .text = "Move the journal in --state aside and begin another run, which costs again. Agents stay "
                         "with their run unless they are told the same."},
    [INSECURE_SEED] = {.name = "insecure-seed",
                       .type = TC_OPTION_FLAG,
                       .text = "Allow --seed, for tests: whoever knows the seed knows the noise. NOT PRIVATE."},
    [INSECURE_NO_NOISE] = {.name = "insecure-no-noise",
                           .type = TC_OPTION_FLAG,
                           .text = "Allow the mechanism none, for tests: what is released shows the agents' data. NOT "
                                   "PRIVATE."},
    [INSECURE_PLAINTEXT] = {.name = "insecure-plaintext",
                            .type = TC_OPTION_FLAG,
                            .text = "Without TLS, for measurements: at a loopback address only, and anybody who gives "
                                    "an agent's name is believed. NOT PRIVATE."},
    [CARD] = TC_CARD_OPTION,
};

static const tc_example examples[] = {
    {"tacit serve cloud.tacit --keys keys/cloud --state state", "A cloud for agents of this machine."},
    {"tacit serve cloud.tacit --keys cloud --state st --listen :7575 --log json",
     "A cloud for agents anywhere, with a log for machines."},
    {"tacit serve cloud.tacit --keys cloud --state st --on-late hold --deadline 2",
     "A cloud that waits two seconds for a late agent, and uses its last state again up to three times."},
    {"tacit serve cloud.tacit --keys cloud --state st --tick 0.5", "A cloud that answers every half second."},
    {"tacit serve cloud.tacit --keys cloud --state st --after-restore", "After a back-up of the journal was restored."},
    {"tacit serve c --keys k --state s --journal postgresql:///t --journal-key j",
     "A journal in a database; with --standby too, one of two clouds on two machines."},
    {"tacit serve cloud.tacit --keys cloud --state st --seed 7 --insecure-seed",
     "A test that can be repeated. Not private."},
};

/* ---- options that belong together ---- */

typedef struct serve_wishes {
    tc_privacy_wishes privacy;
    const tc_option_value *values;
} serve_wishes;

static const char *find_wrong_place(const tc_option_value *values) {
    if (!values[JOURNAL].given && values[JOURNAL_KEY].given)
        return "--journal-key goes with --journal: a folder is read by whoever runs the cloud, who sees every state";
    if (!values[JOURNAL].given && (values[STANDBY].flag || values[LEASE].given))
        return values[STANDBY].flag
                   ? "--standby goes with --journal: a journal in a folder is locked by one process, and "
                     "another machine cannot reach it"
                   : "--lease goes with --journal";
    if (!values[JOURNAL].given && !values[STATE].given)
        return "--state DIR is needed: the folder of the journal";
    if (!values[STATE].given && !values[LEDGER].given)
        return "--state DIR or --ledger FILE is needed: where the price of the run is entered";
    if (values[JOURNAL].given && values[DURABILITY].choice != TC_DURABLE_POWER)
        return "--durability process is for a journal in a folder: a database makes every round durable";
    if (values[STANDBY].flag && (values[AFTER_RESTORE].flag || values[NEW_RUN].flag || values[DISBELIEVE].given))
        return "--after-restore, --disbelieve and --new-run are decisions for one start: give them without --standby";
    return NULL;
}

static const char *find_wrong(const serve_wishes *w) {
    const tc_option_value *values = w->values;
    if (w->privacy.seeded && !values[INSECURE_SEED].flag)
        return "--seed makes noise that can be repeated, and a cloud is for private data: for a test, add "
               "--insecure-seed";
    if (values[INSECURE_SEED].flag && !w->privacy.seeded)
        return "--insecure-seed goes with --seed S";
    if (values[KEYS].given == values[INSECURE_PLAINTEXT].flag)
        return values[KEYS].given ? "--keys and --insecure-plaintext exclude each other"
                                  : "--keys DIR is needed: the cloud's folder of keys, which `tacit keys init` makes";
    if (strcmp(values[HTTP].text, "off") == 0 && (values[HTTP_HOST].given || values[LINGER].given))
        return values[LINGER].given ? "--linger would change nothing: there are no pages with --http off"
                                    : "--http-host would change nothing: there are no pages with --http off";
    if (values[LAST_DEADLINE].given && !w->privacy.plan.certain)
        return "--last-deadline goes with --feasible always";
    if (values[AFTER_RESTORE].flag && values[NEW_RUN].flag)
        return "--after-restore goes on with a run, and --new-run begins another: give one of them";
    return NULL;
}

static tc_status read_wishes(tc_cli *cli, const tc_arguments *arguments, serve_wishes *w) {
    const tc_option_value *values = arguments->values;
    tc_work work = tc_cli_work(cli, "serve");
    tacit_promise promise;
    *w = (serve_wishes){.values = values};
    tc_status status = tc_promise_options(cli, "serve", arguments, &promise);
    if (status == TC_OK)
        status = tc_late_options(cli, "serve", &values[ON_LATE], &values[MOST_HOLDS], &promise);
    if (status == TC_OK)
        status = tc_budget_option(cli, "serve", &values[BUDGET], &promise);
    if (status == TC_OK)
        status = tc_wishes_read(&work, &promise, &w->privacy);
    if (status != TC_OK)
        return status;
    const char *wrong = find_wrong_place(values);
    wrong = wrong == NULL ? find_wrong(w) : wrong;
    if (wrong == NULL && tc_is_standard_input(arguments->operands[0]))
        wrong = "the cloud's file cannot be standard input: the same command must be able to start again";
    if (wrong != NULL) {
        tc_buffer_printf(&cli->messages, "tacit serve: %s\n", wrong);
        return TC_BAD_USAGE;
    }
    tc_buffer why = tc_buffer_new(cli->arena, 1 << 16);
    if (values[JOURNAL].given && tc_journal_check_address(values[JOURNAL].text, &why) != TC_OK) {
        tc_buffer_printf(&cli->messages, "tacit serve: %s", tc_buffer_text(&why));
        return TC_BAD_USAGE;
    }
    const tc_output_file outputs[] = {
        {"--trace", values[TRACE].text, {.mark = TC_SERVER_TRACE_MARK, .name = "a trace of serve"}}};
    const tc_input_file inputs[] = {{"the cloud's file", arguments->operands[0]}, {"the ledger", values[LEDGER].text}};
    return tc_outputs_check(cli->arena, outputs, 1, inputs, 2, &cli->messages);
}

/* ---- what is served ---- */

/* NULL, or why this may not be served: a plan that is not private needs an option that says so. */
static const char *find_refusal(tc_cli *cli, const serve_wishes *w, const tc_setup *setup, const tc_plan *plan) {
    if (setup->problem != NULL || plan->problem != NULL)
        return setup->problem != NULL ? setup->problem : plan->problem;
    if (plan->mechanism == TC_MECHANISM_NONE && !w->values[INSECURE_NO_NOISE].flag)
        return "no noise would be added (mechanism none), and what is released would show the agents' data: for a "
               "test, add --insecure-no-noise";
    if (plan->is_private || w->privacy.seeded || plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    tc_buffer why = tc_buffer_new(cli->arena, 1 << 16);
    tc_buffer_puts(&why, "the plan does not keep its promise");
    for (size_t i = 0; i < plan->void_reason_count; i++)
        tc_buffer_printf(&why, "%s %s", i == 0 ? ":" : ";", plan->void_reasons[i]);
    return tc_buffer_text(&why);
}

static void list_insecure(tc_cli *cli, const serve_wishes *w, const tc_plan *plan, tc_serve_output *output) {
    const char **list = TC_NEW(cli->arena, const char *, 3);
    if (w->values[INSECURE_PLAINTEXT].flag)
        list[output->insecure_count++] =
            "connections are not encrypted, and anybody who gives an agent's name is believed";
    if (w->privacy.seeded)
        list[output->insecure_count++] = "noise is drawn from a seed: whoever knows it knows the agents' data";
    if (plan->mechanism == TC_MECHANISM_NONE)
        list[output->insecure_count++] = "no noise is added: what is released shows the agents' data";
    output->insecure = list;
    if (w->values[INSECURE_PLAINTEXT].flag) /* without encryption nothing is promised */
        output->plan = tc_plan_voided(cli->arena, plan, list[0]);
}

static tc_server_settings settings_of(const serve_wishes *w, const tc_serve_output *output, tc_serve_ledger *ledger) {
    const tc_option_value *values = w->values;
    const tc_setup *setup = output->setup;
    return (tc_server_settings){.model = setup->model,
                                .derivatives = setup->derivatives,
                                .plan = output->plan,
                                .method = output->method,
                                .method_before = output->method_before,
                                .dual_radius = setup->dual_radius,
                                .needs_slater = setup->radius_origin == TC_RADIUS_GAPS,
                                .seed = w->privacy.seeded ? &w->privacy.seed : NULL,
                                .listen = values[LISTEN].text,
                                .keys = values[KEYS].text,
                                .state = values[STATE].text,
                                .journal = values[JOURNAL].text,
                                .journal_key = values[JOURNAL_KEY].text,
                                .lease = values[LEASE].real,
                                .standby = values[STANDBY].flag,
                                .http = strcmp(values[HTTP].text, "off") == 0 ? NULL : values[HTTP].text,
                                .durability = (tc_durability)values[DURABILITY].choice,
                                .threads = values[THREADS].given ? (size_t)values[THREADS].integer : 0,
                                .late = {.holds = values[ON_LATE].choice == 1,
                                         .deadline = values[DEADLINE].real,
                                         .most_holds = (unsigned)values[MOST_HOLDS].integer,
                                         .last = values[LAST_DEADLINE].given ? values[LAST_DEADLINE].real : 0},
                                .tick = values[TICK].given ? values[TICK].real : 0,
                                .after_restore = values[AFTER_RESTORE].flag,
                                .new_run = values[NEW_RUN].flag,
                                .linger = values[LINGER].real,
                                .http_hosts = values[HTTP_HOST].texts,
                                .http_host_count = values[HTTP_HOST].text_count,
                                .disbelieved = values[DISBELIEVE].texts,
                                .disbelieved_count = values[DISBELIEVE].text_count,
                                .trace = values[TRACE].text,
                                .port_file = values[PORT_FILE].text,
                                .insecure = output->insecure,
                                .insecure_count = output->insecure_count,
                                .log = ledger->cli->log,
                                .version = tc_cli_version,
                                .at_start = tc_serve_ledger_look,
                                .before_first = tc_serve_ledger_pay,
                                .context = ledger};
}

/* The run has ended, and its last round was given up. */
static bool lacks_last(const tc_plan *plan, const tc_server_result *result) {
    return result->end == TC_RUN_DONE && result->rounds < tc_plan_messages(plan);
}

static const char *done_reason(tc_cli *cli, const tc_plan *plan, const tc_server_result *result) {
    const char *untold =
        result->names[0] == '\0'
            ? NULL
            : tc_arena_format(
                  cli->arena,
                  "These agents are not known to have had the last answer: %s. The same command gives it to "
                  "them.",
                  result->names);
    if (!lacks_last(plan, result))
        return untold;
    return tc_arena_format(cli->arena,
                           "The last round was given up, since averages of some agents did not come: results were not "
                           "moved, and are not certain to satisfy the constraints.%s%s",
                           untold != NULL ? " " : "", untold != NULL ? untold : "");
}

static const char *reason_of(tc_cli *cli, const tc_plan *plan, const tc_server_result *result) {
    switch (result->end) {
    case TC_RUN_DIVERGED:
        return result->reason == NULL ? "The run diverged."
                                      : tc_arena_format(cli->arena, "The run diverged: %s.", result->reason);
    case TC_RUN_DONE:
        return done_reason(cli, plan, result);
    case TC_RUN_STOPPED:
        return "Stopped: the same command goes on with the run.";
    case TC_RUN_GOES_ON:
    case TC_RUN_ROLLED_BACK:
    case TC_RUN_FAILED:
        break;
    }
    return NULL;
}

static tc_status serve(tc_cli *cli, const serve_wishes *w, tc_serve_output *output, tc_server_result *result) {
    tc_buffer messages = tc_buffer_new(cli->arena, 1 << 16);
    tc_serve_ledger costs = {.cli = cli,
                             .messages = &messages,
                             .plan = output->plan,
                             .path = w->values[LEDGER].given
                                         ? w->values[LEDGER].text
                                         : tc_arena_format(cli->arena, "%s/ledger", w->values[STATE].text),
                             .is_own = !w->values[LEDGER].given,
                             .budgets = &w->privacy.budgets};
    tc_ledger *ledger = NULL;
    tc_server_settings settings = settings_of(w, output, &costs);
    costs.log = settings.log;
    tc_cli_flush(cli);
    tc_status status = tc_server_run(cli->arena, &settings, &messages, result);
    tc_cli_say(cli, "tacit serve", tc_buffer_text(&messages));
    cli->is_logged = result->is_logged;
    cli->keeps_signals = true;
    if (costs.is_over) {
        output->reason = tc_arena_copy(cli->arena, costs.text, strlen(costs.text));
        return TC_OK;
    }
    if (status != TC_OK) {
        if (costs.text[0] != '\0' && !costs.recorded)
            tc_cli_say(cli, "tacit serve", costs.text);
        return status;
    }
    output->result = result;
    output->outcome = tc_run_end_name(result->end);
    output->reason = result->run_id == NULL ? "Stopped while it stood by." : reason_of(cli, output->plan, result);
    if (result->run_id == NULL)
        return TC_OK;
    tc_ledger_entry *entry = TC_NEW(cli->arena, tc_ledger_entry, 1);
    *entry = tc_ledger_entry_of(cli->arena, output->plan, result->run_id);
    output->entry = entry;
    status = tc_ledger_read(cli->arena, costs.path, &cli->messages, &ledger);
    output->ledger = ledger;
    output->recorded = status == TC_OK && tc_serve_ledger_has(ledger, result->run_id);
    return status;
}

/* Earlier versions could begin a run with noise on states by the published method. Its plan is refused now, before the
 * journal is opened. */
static void say_of_journal(tc_cli *cli, const serve_wishes *w) {
    struct stat facts;
    const char *state = w->values[STATE].text;
    if (w->privacy.plan.placement == TC_PLACEMENT_STATES &&
        tc_resolve_method(&w->privacy.plan) == TC_METHOD_PUBLISHED && state != NULL &&
        stat(tc_arena_format(cli->arena, "%s/journal.db", state), &facts) == 0)
        tc_buffer_printf(&cli->messages,
                         "tacit serve: there is a journal in '%s': a run with noise on states by the published method "
                         "cannot be continued by this version. Go back to the version that began it, or begin another "
                         "run with --new-run and other options\n",
                         state);
}

static tc_status set_up(tc_cli *cli, tc_work *work, const char *path, const serve_wishes *w, tc_setup *setup) {
    tc_loaded loaded = {0};
    double began = tc_seconds();
    tc_status status = tc_cli_load(cli, path, &loaded.model);
    if (status != TC_OK)
        return status;
    tc_progress(&cli->monitor, "differentiating", 0);
    loaded.derivatives = tc_derive(cli->arena, loaded.model);
    loaded.seconds = tc_seconds() - began;
    return tc_setup_cloud(work, &loaded, &w->privacy, setup);
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    serve_wishes w;
    tc_work work = tc_cli_work(cli, "serve");
    tc_setup setup;
    tc_server_result result;
    tc_serve_output output = {.setup = &setup, .outcome = "refused", .whole_card = arguments->values[CARD].flag};
    tc_no_core();
    cli->log = tc_log_new(cli->arena, stderr, arguments->values[LOG].choice == 1,
                          (tc_log_level)arguments->values[LOG_LEVEL].choice);
    tc_status status = read_wishes(cli, arguments, &w);
    if (status == TC_OK)
        status = set_up(cli, &work, arguments->operands[0], &w, &setup);
    if (status == TC_OK)
        status = tc_setup_plan(&work, &setup, &w.privacy.plan, &output.plan);
    if (status != TC_OK) {
        if (status == TC_BAD_USAGE && output.plan != NULL)
            say_of_journal(cli, &w);
        return status;
    }
    if (w.values[INSECURE_NO_NOISE].flag && output.plan->mechanism != TC_MECHANISM_NONE) {
        tc_buffer_puts(&cli->messages, "tacit serve: --insecure-no-noise goes with the mechanism none\n");
        return TC_BAD_USAGE;
    }
    output.reason = find_refusal(cli, &w, &setup, output.plan);
    if (output.reason == NULL) {
        status = tc_setup_method(&work, &setup, output.plan, w.privacy.margin, &output.method);
        tc_margin_wish before = w.privacy.margin;
        before.stays = true;
        if (status == TC_OK && output.method != NULL && (output.method->moves || output.method->scales != NULL))
            status = tc_setup_method(&work, &setup, output.plan, before, &output.method_before);
        if (status != TC_OK)
            return status;
        tc_budgets_add_file(&w.privacy.budgets, setup.model);
        list_insecure(cli, &w, output.plan, &output);
        output.card = tc_card_make(cli->arena, output.plan, w.privacy.seeded);
        status = serve(cli, &w, &output, &result);
    }
    if (status != TC_OK)
        return status;
    if (w.values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_serve_output_json(&output, &json);
    } else {
        tc_serve_output_text(&output, &cli->output);
    }
    *yes = output.result != NULL && (result.end == TC_RUN_STOPPED ||
                                     (result.end == TC_RUN_DONE && setup.sound && !lacks_last(output.plan, &result)));
    return output.result != NULL && result.has_trace_failed ? TC_CANNOT_WRITE : TC_OK;
}

const tc_command tc_command_serve = {
    .usage =
        {.name = "serve",
         .summary = "be the cloud, for agents that connect over the network",
         .operands = "CLOUDFILE",
         .least_operands = 1,
         .most_operands = 1,
         .description =
             "Takes the cloud's file, made by tacit split, makes the plan that tacit plan shows for it, and waits for "
             "the agents that the file names. When all are connected the rounds begin: agents send their states, the "
             "cloud releases noisy numbers of them and answers each agent with its prices and two numbers that are the "
             "same for all. At the end, or when stopped, it prints what was released, and the guarantee card in short "
             "(--card: the whole).\n\n"
             "Connections are TLS 1.3 with certificates on both sides, and an agent's certificate says who it is. A "
             "round is in the journal before any answer leaves, so a cloud that dies goes on where it was: no round is "
             "released a second time, and answers that agents have missed are sent again unchanged. Noise keys are new "
             "at each start and never on the disk; the process leaves no core file.\n\n"
             "With --journal the journal is in a PostgreSQL database. Then a second cloud, started with --standby, "
             "goes on "
             "with the run when the first one dies, and the first one can release nothing more.\n\n"
             "SIGTERM or Ctrl-C stops it cleanly, and the same command continues the run. A second signal does not "
             "wait "
             "for agents that do not read. SIGHUP reads the certificates again. The log is on standard error; "
             "docs/operations.md says what its lines mean.\n\n"
             "The exit code is 0 when the run is done or was stopped; 1 when it diverged, was refused (no plan, not "
             "private, no budget), or constraints are not proved to be "
             "convex; 2 when options or files do not fit, a journal of another plan, file, seed, margin or schedule "
             "among them; 3 when the disk, the network or the journal fails, the certificate is not valid yet or has "
             "expired, agents have seen more than the journal, or another cloud has taken the run over.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .is_service = true,
    .wants_one_rank = "a cloud is one process with a journal of its own",
    .run = run,
};
