#include "cli/network/network.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

enum { CLOUD, KEYS, STATE, ANSWER, TRACE, DURABILITY, NEW_RUN, PLAN, INSECURE_PLAINTEXT, JSON, QUIET };

static const tc_option options[] = {
    [CLOUD] = {.name = "cloud",
               .required = true,
               .type = TC_OPTION_STRING,
               .argument = "HOST:PORT",
               .text = "Where the cloud listens; [ADDRESS]:PORT for IPv6. A cloud that can move to another machine has "
                       "several addresses, at most 16, with commas between them: each is tried in turn, the one that "
                       "last worked first. A name is looked up for each connection."},
    [KEYS] = {.name = "keys",
              .type = TC_OPTION_STRING,
              .argument = "DIR",
              .text = "The agent's own folder of keys, made by tacit keys: a certificate that names every agent "
                      "here, and the authority's. It is read again for each connection and on SIGHUP, so a renewed one "
                      "is used."},
    [STATE] = {.name = "state",
               .required = true,
               .type = TC_OPTION_STRING,
               .argument = "DIR",
               .text = "The folder of the state files, one for each agent; created if missing. An agent that was "
                       "stopped or died goes on from its file. Without it an agent begins anew in the middle of the "
                       "run and says so; its result then covers the rounds from there on. The folder is private."},
    [ANSWER] = {.name = "answer",
                .type = TC_OPTION_STRING,
                .argument = "FILE",
                .text =
                    "Write the results of all agents here to FILE, as the JSON object that --json prints: at the end "
                    "of the run, readable by its owner only (mode 0600), whole or not at all. A file that is not such "
                    "a result is not written over. Nothing private is then printed."},
    [TRACE] = {.name = "trace",
               .type = TC_OPTION_STRING,
               .argument = "FILE.csv",
               .text = "Write every state of the agents here, with all digits: round, agent, states. Private: for "
                       "their owner only. An agent that goes on adds to the same file."},
    [DURABILITY] = {.name = "durability",
                    .type = TC_OPTION_CHOICE,
                    .argument = "D",
                    .choices = tc_durability_names,
                    .standard = "process",
                    .text = "What a state survives before it is sent: loss of power, or only the end of the process, "
                            "which is faster. What is lost with the power costs some accuracy, but no privacy."},
    [NEW_RUN] = {.name = "new-run",
                 .type = TC_OPTION_FLAG,
                 .text = "Take part in another run than that of the state files, from its first round. A damaged state "
                         "file is put aside, and with it the guard against an old copy of the cloud. Give it once, not "
                         "in a unit that restarts by itself."},
    [PLAN] = {.name = "plan",
              .type = TC_OPTION_STRING,
              .argument = "HASH",
              .text =
                  "Take part in this plan only: the 64 digits that tacit split and tacit plan --json write. A cloud "
                  "with another plan is refused, and gets no state."},
    [INSECURE_PLAINTEXT] = {.name = "insecure-plaintext",
                            .type = TC_OPTION_FLAG,
                            .text = "Without TLS, for measurements: to a loopback address only. NOT PRIVATE."},
    [JSON] = TC_JSON_OPTION,
    [QUIET] = {.name = "quiet",
               .type = TC_OPTION_FLAG,
               .text = "Say nothing of lost connections, pauses and notes while it runs."},
};

static const tc_example examples[] = {
    {"tacit agent a1.tacit --cloud example.org:7575 --keys keys/a1 --state state",
     "One agent, from the file that tacit split made for it."},
    {"tacit agent a1.tacit --cloud c:7575 --keys a1 --state st --answer st/a.json",
     "In a unit or a script: the result goes to a file, and nothing private to the log."},
    {"tacit agent a1.tacit a2.tacit --cloud 10.0.0.1:7575 --keys site --state st",
     "A gateway: two agents on one connection, by one certificate that names both."},
    {"tacit agent a1.tacit --cloud a.net:7575,b.net:7575 --keys a1 --state st",
     "A cloud on one of two machines: when the first is gone, the second is asked."},
    {"tacit agent a1.tacit --cloud c:7575 --keys a1 --state st --plan $HASH",
     "Only under the plan that was agreed on, whose hash tacit split wrote to plan.hash."},
    {"tacit agent a1.tacit --cloud 127.0.0.1:7575 --insecure-plaintext --state st",
     "A test on one machine. Not private."},
};

/* So that nobody mistakes a run that ended before for a new one. */
static void tell_old(tc_cli *cli, const tc_agent *agent, size_t count, bool new_run) {
    for (size_t i = 0; i < count; i++) {
        tc_agent_view view = tc_agent_look(agent, i);
        if (view.was_over && !new_run)
            tc_buffer_printf(&cli->messages,
                             "tacit agent: %s: this run ended before (run %s, state file %s); the cloud was not asked; "
                             "--new-run takes part in another\n",
                             view.name, view.run, view.path);
        else if (view.was_over)
            tc_buffer_printf(&cli->messages,
                             "tacit agent: %s: the run of its state ended before (run %s, state file %s); waiting for "
                             "the cloud to have another, or to say that it has none\n",
                             view.name, view.run, view.path);
    }
    tc_cli_flush(cli);
}

static const char *reason_of(tc_cli *cli, const tc_agent_output *output, const char *cloud) {
    for (size_t i = 0; tc_agent_how(output->agent) == TC_AGENT_DONE && i < output->count; i++) {
        const char *more = tc_agent_look(output->agent, i).message; /* what there is to say of a result */
        if (more[0] != '\0')
            return more;
    }
    if (tc_agent_is_over(tc_agent_how(output->agent)))
        return tc_agent_how(output->agent) == TC_AGENT_DONE ? NULL : tc_agent_message(output->agent);
    return tc_arena_format(cli->arena, "Stopped before the end; the same command goes on, with the cloud at %s.",
                           cloud);
}

/* The worst of the agents that ended counts, also after a signal. */
static tc_status status_of(const tc_agent *agent, size_t count, bool *yes) {
    bool has_refused = false, has_failed = false;
    *yes = true;
    for (size_t i = 0; i < count; i++) {
        tc_agent_condition how = tc_agent_look(agent, i).how;
        has_refused = has_refused || how == TC_AGENT_REFUSED;
        has_failed = has_failed || how == TC_AGENT_FAILED;
        *yes = *yes && how != TC_AGENT_DIVERGED && how != TC_AGENT_NO_SLATER;
    }
    return has_failed ? TC_CANNOT_WRITE : has_refused ? TC_BAD_USAGE : TC_OK;
}

static tc_status check(tc_cli *cli, const tc_arguments *arguments) {
    const tc_option_value *values = arguments->values;
    const char *wrong = NULL;
    if (values[KEYS].given && values[INSECURE_PLAINTEXT].flag)
        wrong = "--keys and --insecure-plaintext exclude each other";
    else if (!values[KEYS].given && !values[INSECURE_PLAINTEXT].flag)
        wrong = "--keys DIR is needed: the agent's folder of keys, which `tacit keys issue` makes";
    for (size_t i = 0; i < arguments->operand_count && wrong == NULL && values[TRACE].given; i++)
        if (strcmp(arguments->operands[i], values[TRACE].text) == 0)
            wrong = "--trace would write into an agent's file";
    for (size_t i = 0; i < arguments->operand_count && wrong == NULL; i++)
        if (tc_is_standard_input(arguments->operands[i]))
            wrong = "an agent's file cannot be standard input: the same command must be able to start again";
    unsigned char hash[TC_HASH];
    if (wrong == NULL && values[PLAN].given && !tc_hexadecimal_read(values[PLAN].text, hash, sizeof hash))
        wrong = "--plan wants the hash of a plan: 64 hexadecimal digits";
    if (wrong == NULL)
        return TC_OK;
    tc_buffer_printf(&cli->messages, "tacit agent: %s\n", wrong);
    return TC_BAD_USAGE;
}

/* After the state folder exists, in which the file may be. */
static tc_status check_answer(tc_cli *cli, const tc_arguments *arguments) {
    const tc_option_value *values = arguments->values;
    const tc_output_file output = {"--answer", values[ANSWER].text, TC_AGENT_RESULT_FILE};
    tc_input_file *inputs = TC_NEW(cli->arena, tc_input_file, arguments->operand_count + 1);
    inputs[0] = (tc_input_file){"the trace", values[TRACE].text};
    for (size_t i = 0; i < arguments->operand_count; i++)
        inputs[i + 1] = (tc_input_file){"an agent's file", arguments->operands[i]};
    return tc_outputs_check(cli->arena, &output, 1, inputs, arguments->operand_count + 1, &cli->messages);
}

static tc_status begin(tc_cli *cli, const tc_arguments *arguments, tc_agent_tracer *t, tc_agent **agent) {
    const tc_option_value *values = arguments->values;
    size_t count = arguments->operand_count;
    tc_agent_steps *steps = TC_NEW(cli->arena, tc_agent_steps, count);
    tc_status status = tc_agent_trace_begin(cli, values[TRACE].text, t);
    for (size_t i = 0; i < count && status == TC_OK; i++)
        status = tc_agent_compile(cli->arena, arguments->operands[i], &cli->monitor, &cli->messages, &steps[i]);
    if (status != TC_OK)
        return status;
    t->agents = steps;
    unsigned char *plan = values[PLAN].given ? TC_NEW(cli->arena, unsigned char, TC_HASH) : NULL;
    if (plan != NULL)
        (void)tc_hexadecimal_read(values[PLAN].text, plan, TC_HASH); /* checked before */
    (void)tc_listener_raise_limit();                                 /* a state file for each agent is open */
    tc_agent_settings settings = {.cloud = values[CLOUD].text,
                                  .keys = values[KEYS].text,
                                  .state = values[STATE].text,
                                  .software = tc_arena_format(cli->arena, "tacit %s", tc_cli_version),
                                  .survives_power = values[DURABILITY].choice == TC_DURABLE_POWER,
                                  .new_run = values[NEW_RUN].flag,
                                  .plan = plan,
                                  .agents = steps,
                                  .count = count,
                                  .moved = tc_agent_trace_row,
                                  .context = t};
    tc_buffer messages = tc_buffer_new(cli->arena, 1 << 16);
    status = tc_agent_new(cli->arena, &settings, &messages, agent);
    tc_cli_say(cli, "tacit agent", tc_buffer_text(&messages));
    return status == TC_OK ? check_answer(cli, arguments) : status;
}

/* To the file of --answer, and to standard output what is not private. */
static tc_status print(tc_cli *cli, tc_agent_output *output, bool as_json) {
    tc_status status = TC_OK;
    output->is_withheld = output->file != NULL || tc_stream_is_journal(stdout);
    if (output->file != NULL && tc_agent_output_has_result(output)) {
        tc_buffer messages = tc_buffer_new(cli->arena, 1 << 16);
        status = tc_agent_output_write(cli->arena, output, &messages);
        tc_cli_say(cli, "tacit agent", tc_buffer_text(&messages));
    }
    if (status != TC_OK)
        output->file = NULL;
    if (as_json) {
        tc_json json = tc_json_new(&cli->output);
        tc_agent_output_json(output, &json);
    } else {
        tc_agent_output_text(output, &cli->output);
    }
    return status;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const tc_option_value *values = arguments->values;
    tc_agent_tracer t = {0};
    tc_agent *agent = NULL;
    struct sigaction before[TC_AGENT_SIGNALS];
    tc_status status = check(cli, arguments);
    if (status != TC_OK)
        return status;
    tc_no_core();
    cli->log = tc_log_new(cli->arena, stderr, false, TC_LOG_WARNING); /* a stuck reader stops no round */
    if (!tc_agent_signals_begin(before)) { /* first, so that a signal while files are read counts too */
        tc_buffer_printf(&cli->messages, "tacit agent: cannot make a pipe: %s\n", strerror(errno));
        return TC_CANNOT_WRITE;
    }
    status = begin(cli, arguments, &t, &agent);
    if (status != TC_OK) {
        tc_agent_signals_end(before);
        return status;
    }
    tc_notify_ready(NULL);
    tell_old(cli, agent, arguments->operand_count, values[NEW_RUN].flag);
    bool stopped = tc_agent_drive(cli, agent, arguments->operand_count, values[QUIET].flag);
    tc_notify_stopping();
    tc_agent_leave(agent);
    tc_agent_signals_stay();
    cli->keeps_signals = true;
    tc_agent_output output = {.agent = agent,
                              .count = arguments->operand_count,
                              .stopped = stopped,
                              .is_plain = values[INSECURE_PLAINTEXT].flag,
                              .file = values[ANSWER].text};
    output.reason = reason_of(cli, &output, values[CLOUD].text);
    status = status_of(agent, arguments->operand_count, yes);
    output.is_told = status != TC_OK && !stopped;
    if (output.is_told)
        tc_buffer_printf(&cli->messages, "tacit agent: %s\n", tc_agent_message(agent));
    tc_status written = print(cli, &output, values[JSON].flag);
    if (written != TC_OK)
        return written;
    if (t.failed) {
        tc_buffer_printf(&cli->messages, "tacit agent: '%s' could not be written to its end\n", values[TRACE].text);
        return status == TC_OK ? TC_CANNOT_WRITE : status;
    }
    return status;
}

const tc_command tc_command_agent = {
    .usage =
        {.name = "agent",
         .summary = "be an agent, or several, of a cloud on the network",
         .operands = "AGENTFILE...",
         .least_operands = 1,
         .most_operands = 1 << 16,
         .description =
             "Takes agents' files, made by tacit split, and takes part for these agents in the cloud's run: it says "
             "whether the public Slater point lies in each agent's own set, and then, round by round, sends states and "
             "takes answers. An agent's objective and set stay here; of its states the cloud releases noisy numbers "
             "only. Several files share one connection, whose certificate must name all their agents.\n\n"
             "A lost connection is made again, after pauses that grow from 0.2 to 30 seconds. If the cloud has several "
             "addresses, all are tried before each pause, and a machine that does not answer costs 4 seconds. A state "
             "is in its file before it is sent, so the same command continues where an agent died. SIGTERM and Ctrl-C "
             "end it cleanly "
             "at any time; SIGHUP lets it read its keys again and connect anew. The process leaves no core file.\n\n"
             "An agent gives no state to a cloud that has seen less of the run than the agent: one that was restored "
             "from a back-up, or copied. It says so and tries the next address; it ends if the clouds at all "
             "addresses are like that. docs/operations.md says what the cloud's operator can do.\n\n"
             "--plan fixes what was agreed: the hash covers every noise scale and every price of the plan, and the "
             "cloud sends it before the first state leaves.\n\n"
             "At the end it prints the agents' own part of the result, or writes it to the file of --answer; it never "
             "prints the result into the system's journal. The exit code is 0 when the run came to its end or a signal "
             "stopped this program; 1 when the run diverged, or the Slater point is not in an agent's set; 2 when "
             "options or files are wrong, or the cloud or the agent refused the other for good; 3 when the environment "
             "failed: keys or state files that cannot be read or written, a certificate that has expired (it waits for "
             "one that is not valid yet), a state file that is damaged or in use by another process. Of several agents "
             "the worst counts, also after a signal.\n\n"
             "An agent whose run has ended needs no cloud: started again, it says so on standard error and prints the "
             "same result. With --new-run it asks the cloud for another run.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .wants_one_rank = "an agent is a process by itself",
    .run = run,
};
