#include "cli/network/network.h"

#include "base/text.h"
#include "net/files.h"
#include "net/tls/certificate.h"
#include "net/tls/tls.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { TOGETHER, DAYS, AUTHORITY_DAYS, ALL, JSON };

static const tc_option options[] = {
    [TOGETHER] = {.name = "together",
                  .type = TC_OPTION_STRING,
                  .argument = "LABEL",
                  .text = "With issue: one certificate that names all these agents, for a gateway; its folder is "
                          "agents/LABEL. Also for one agent whose name cannot be a folder's."},
    [DAYS] = {.name = "days",
              .type = TC_OPTION_INT,
              .argument = "D",
              .least = 1,
              .most = 3650,
              .standard = "365",
              .text = "How long certificates of the cloud and of agents are valid; never longer than the authority's."},
    [AUTHORITY_DAYS] = {.name = "authority-days",
                        .type = TC_OPTION_INT,
                        .argument = "D",
                        .least = 1,
                        .most = 36500,
                        .standard = "3650",
                        .text = "With init: how long the authority's own certificate is valid."},
    [ALL] = {.name = "all", .type = TC_OPTION_FLAG, .text = "With renew: also certificates that are not due yet."},
    [JSON] = TC_JSON_OPTION,
};

static const tc_example examples[] = {
    {"tacit keys init keys", "Makes an authority, and the cloud's certificate in keys/cloud."},
    {"tacit keys issue keys a1 a2 a3", "Makes a certificate for each, in keys/agents/a1 and so on."},
    {"tacit keys issue keys a1 a2 --together site", "Makes one for a gateway that speaks for both."},
    {"tacit keys renew keys", "Renews certificates with less than a third of their time left."},
    {"tacit keys journal journal.key", "Makes the key of a journal in a database, for serve --journal-key."},
    {"tacit keys check keys/cloud", "Checks that the cloud could use this folder now, before it reloads."},
};

static tc_status issue(tc_cli *cli, const tc_arguments *arguments, const tc_authority_settings *settings,
                       tc_buffer *messages, size_t *made) {
    const char *folder = arguments->operands[1], *label = arguments->values[TOGETHER].text;
    const char *const *names = arguments->operands + 2;
    size_t count = arguments->operand_count - 2;
    if (count == 0) {
        tc_buffer_puts(messages, "missing NAME: issue DIR NAME... makes a certificate for each agent that is named\n");
        return TC_BAD_USAGE;
    }
    if (label != NULL) {
        *made = 1;
        return tc_authority_issue(cli->arena, folder, label, names, count, settings, messages);
    }
    *made = count;
    return tc_authority_issue_each(cli->arena, folder, names, count, settings, messages);
}

static tc_status renew(tc_cli *cli, const tc_arguments *arguments, const tc_authority_settings *settings,
                       tc_buffer *messages, size_t *made) {
    bool all = arguments->values[ALL].flag;
    const char *folder = arguments->operands[1];
    *made = 0;
    if (arguments->operand_count == 2)
        return tc_authority_renew(cli->arena, folder, NULL, all, settings, messages, made);
    for (size_t i = 2; i < arguments->operand_count; i++) {
        size_t renewed = 0;
        tc_buffer label = tc_buffer_new(cli->arena, 4096);
        tc_file_label(&label, arguments->operands[i]);
        tc_status status =
            tc_authority_renew(cli->arena, folder, tc_buffer_text(&label), all, settings, messages, &renewed);
        *made += renewed;
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}

/* Reads the folder as its party would. */
static tc_status check(tc_cli *cli, const tc_arguments *arguments, tc_buffer *messages) {
    const char *folder = arguments->operands[1];
    tc_buffer others = tc_buffer_new(cli->arena, 1 << 16);
    SSL_CTX *context = NULL;
    bool is_cloud = true;
    tc_status status = tc_tls_cloud(cli->arena, folder, messages, &context);
    if (status != TC_OK && tc_tls_agent(cli->arena, folder, &others, &context) == TC_OK) {
        is_cloud = false;
        messages->length = 0;
        status = TC_OK;
    }
    if (status != TC_OK)
        return status;
    double until = (double)tc_tls_expiry(context);
    SSL_CTX_free(context);
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_json_open_object(&json, NULL);
        tc_json_string(&json, "directory", folder);
        tc_json_string(&json, "party", is_cloud ? "cloud" : "agent");
        tc_json_number(&json, "expires", until);
        tc_json_close_object(&json);
    } else {
        tc_buffer_printf(&cli->output, "%s: good, for %s, for %.0f more days\n", folder,
                         is_cloud ? "the cloud" : "agents", floor((until - (double)time(NULL)) / 86400));
    }
    return TC_OK;
}

static tc_status make_journal_key(tc_cli *cli, const tc_arguments *arguments, tc_buffer *messages) {
    const char *path = arguments->operands[1];
    tc_status status = tc_journal_key_make(cli->arena, path, messages);
    if (status != TC_OK)
        return status;
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_json_open_object(&json, NULL);
        tc_json_string(&json, "file", path);
        tc_json_close_object(&json);
    } else {
        tc_buffer_printf(&cli->output,
                         "%s: made\nGive it to all clouds of a run (serve --journal-key), and to nobody else.\n", path);
    }
    return TC_OK;
}

/* An option that has no effect with this verb is refused. */
static const char *find_stray(const char *verb, const tc_option_value *values) {
    if (values[TOGETHER].given && strcmp(verb, "issue") != 0)
        return "--together goes with issue";
    if (values[AUTHORITY_DAYS].given && strcmp(verb, "init") != 0)
        return "--authority-days goes with init";
    if (values[ALL].flag && strcmp(verb, "renew") != 0)
        return "--all goes with renew";
    if (values[DAYS].given && strcmp(verb, "journal") == 0)
        return "--days goes with init, issue and renew: the key of a journal does not expire";
    if (values[DAYS].given && strcmp(verb, "check") == 0)
        return "--days goes with init, issue and renew: check makes no certificate";
    return NULL;
}

/* What is wrong with the words that are no options; NULL: nothing. */
static const char *find_wrong(tc_cli *cli, const tc_arguments *arguments) {
    static const char *const actions[] = {"init", "issue", "renew", "check", "journal"};
    enum { ACTIONS = sizeof actions / sizeof actions[0] };
    const char *verb = arguments->operands[0];
    size_t found = 0;
    while (found < ACTIONS && strcmp(actions[found], verb) != 0)
        found++;
    if (found == ACTIONS) {
        const char *near = tc_suggest_word(verb, actions, ACTIONS);
        return tc_arena_format(
            cli->arena,
            "'%s' is no action: init DIR, issue DIR NAME..., renew DIR [NAME...], check DIR or journal FILE%s%s%s",
            verb, near == NULL ? "; tacit keys --help" : "; did you mean ", near == NULL ? "" : near,
            near == NULL ? "" : "?");
    }
    bool is_file = strcmp(verb, "journal") == 0;
    const char *what = is_file ? "FILE" : "DIR";
    if (arguments->operand_count < 2)
        return tc_arena_format(cli->arena, "missing %s: %s %s; tacit keys --help", what, verb, what);
    if (arguments->operand_count > 2 && (is_file || strcmp(verb, "init") == 0 || strcmp(verb, "check") == 0))
        return tc_arena_format(cli->arena, "unexpected argument '%s': %s takes a %s and nothing else",
                               arguments->operands[2], verb, is_file ? "file" : "folder");
    return NULL;
}

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *answer) {
    (void)answer;
    const char *wrong = find_wrong(cli, arguments);
    if (wrong == NULL)
        wrong = find_stray(arguments->operands[0], arguments->values);
    if (wrong != NULL) {
        tc_buffer_printf(&cli->messages, "tacit keys: %s\n", wrong);
        return TC_BAD_USAGE;
    }
    const char *verb = arguments->operands[0], *folder = arguments->operands[1];
    tc_authority_settings settings = {.party_days = (int)arguments->values[DAYS].integer,
                                      .authority_days = (int)arguments->values[AUTHORITY_DAYS].integer};
    size_t made = 1;
    tc_status status;
    tc_buffer messages = tc_buffer_new(cli->arena, 1 << 16);
    bool is_check = strcmp(verb, "check") == 0;
    if (is_check || strcmp(verb, "journal") == 0) {
        status = is_check ? check(cli, arguments, &messages) : make_journal_key(cli, arguments, &messages);
        tc_cli_say(cli, "tacit keys", tc_buffer_text(&messages));
        return status;
    }
    if (strcmp(verb, "init") == 0)
        status = tc_authority_init(cli->arena, folder, &settings, &messages);
    else if (strcmp(verb, "issue") == 0)
        status = issue(cli, arguments, &settings, &messages, &made);
    else
        status = renew(cli, arguments, &settings, &messages, &made);
    tc_cli_say(cli, "tacit keys", tc_buffer_text(&messages));
    if (status != TC_OK)
        return status;
    if (arguments->values[JSON].flag) {
        tc_json json = tc_json_new(&cli->output);
        tc_json_open_object(&json, NULL);
        tc_json_string(&json, "directory", folder);
        tc_json_count(&json, "certificates", made);
        tc_json_close_object(&json);
    } else {
        tc_buffer_printf(&cli->output, "%s: %zu certificate%s made\n", folder, made, made == 1 ? "" : "s");
    }
    return TC_OK;
}

const tc_command tc_command_keys = {
    .usage =
        {.name = "keys",
         .summary = "make certificates for mutual TLS",
         .operands = "init|issue|renew|check|journal PATH [NAME...]",
         .least_operands = 1,
         .most_operands = 1 << 20,
         .description =
             "Keeps a small certificate authority in DIR. A party needs one folder, DIR/cloud or DIR/agents/NAME: "
             "copy that folder, and nothing else, to the party's machine. DIR/authority holds the key that makes "
             "certificates, and belongs on no machine that is reached from outside.\n\n"
             "An agent's folder has its name: letters, digits, -, _ and . stay, [ becomes a dot, ] is left out, "
             "and any other byte becomes = and two hexadecimal digits. The folder of home[17] is home.17.\n\n"
             "A certificate names the agents that its holder may speak for. Folders and files are readable by "
             "their owner only. A renewal makes a new key, keeps the names, and replaces certificate and key in "
             "one step; the cloud reads its new certificate on SIGHUP.\n\n"
             "check DIR says whether a party could use DIR, its own folder, as it is now, and changes nothing: exit "
             "code 2 or 3, with the reason, where it could not. The cloud's unit does so before it reloads.\n\n"
             "journal FILE makes the key of a journal in a database (tacit serve --journal-key): 32 random bytes as "
             "hexadecimal digits, in a new file that only its owner may read. All clouds of a run need the same "
             "file; without it the run cannot go on.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .wants_one_rank = "keys are made once, by one process",
    .run = run,
};
