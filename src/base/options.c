#include "base/options.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, TEXT_AT = 24 };
#define MOST_WHOLE 0x1p53 /* doubles have all whole numbers up to here */

typedef struct parser {
    tc_arena *arena;
    const tc_usage *usage;
    tc_buffer *messages;
    tc_arguments *arguments;
    int argc, next;
    char *const *argv;
    bool wrong;
} parser;

/* "from 1 to 10", "laplace, gaussian or none": what the option accepts, or nothing. */
static void put_range(const tc_option *option, tc_buffer *out) {
    char number[32];
    switch (option->type) {
    case TC_OPTION_INT:
    case TC_OPTION_REAL:
        tc_shortest_number(number, option->least);
        tc_buffer_printf(out, isinf(option->most) ? "at least %s" : "from %s", number);
        if (!isinf(option->most)) {
            tc_shortest_number(number, option->most);
            tc_buffer_printf(out, " to %s", number);
        }
        break;
    case TC_OPTION_CHOICE:
        for (size_t i = 0; option->choices[i] != NULL; i++) {
            if (i > 0)
                tc_buffer_puts(out, option->choices[i + 1] == NULL ? " or " : ", ");
            tc_buffer_puts(out, option->choices[i]);
        }
        break;
    case TC_OPTION_FLAG:
    case TC_OPTION_STRING:
        break;
    }
}

static void complain(parser *p, const char *before, const char *what, const char *after) {
    tc_buffer_printf(p->messages, "tacit %s: %s%s%s\n", p->usage->name == NULL ? "" : p->usage->name, before, what,
                     after);
    p->wrong = true;
}

static const char *hint_of(parser *p, const tc_option *option, const char *text) {
    size_t count = 0;
    if (option->type != TC_OPTION_CHOICE)
        return "";
    while (option->choices[count] != NULL)
        count++;
    const char *near = tc_suggest_word(text, option->choices, count);
    return near != NULL           ? tc_arena_format(p->arena, "; did you mean %s?", near)
           : option->hint != NULL ? tc_arena_format(p->arena, "; %s", option->hint)
                                  : "";
}

static void bad_value(parser *p, const tc_option *option, const char *text) {
    tc_buffer range = tc_buffer_new(p->arena, 4096);
    if (option->type == TC_OPTION_INT)
        tc_buffer_puts(&range, "a whole number ");
    else if (option->type == TC_OPTION_REAL)
        tc_buffer_puts(&range, "a number ");
    put_range(option, &range);
    complain(p, "", tc_arena_format(p->arena, "--%s wants %s, not '%s'", option->name, tc_buffer_text(&range), text),
             hint_of(p, option, text));
}

/* 10000, 1e4 or 1.5e3. */
static bool read_whole(const char *text, long long *integer, double *real) {
    char *end = NULL;
    errno = 0;
    *integer = strtoll(text, &end, 10);
    *real = (double)*integer;
    if (errno == 0 && end != text && *end == '\0')
        return true;
    size_t length = strlen(text);
    if (length == 0 || tc_number_read(text, length, true, real) != length)
        return false;
    if (!(fabs(*real) <= MOST_WHOLE) || *real != floor(*real))
        return false;
    *integer = (long long)*real;
    return true;
}

static bool read_value(const tc_option *option, const char *text, tc_option_value *value) {
    char *end = NULL;
    value->text = text;
    switch (option->type) {
    case TC_OPTION_FLAG:
        value->flag = true;
        return true;
    case TC_OPTION_STRING:
        return true;
    case TC_OPTION_INT:
        return read_whole(text, &value->integer, &value->real) && value->real >= option->least &&
               value->real <= option->most;
    case TC_OPTION_REAL:
        value->real = strtod(text, &end);
        return end != text && *end == '\0' && isfinite(value->real) && value->real >= option->least &&
               value->real <= option->most;
    case TC_OPTION_CHOICE:
        for (size_t i = 0; option->choices[i] != NULL; i++) {
            if (strcmp(option->choices[i], text) == 0) {
                value->choice = i;
                return true;
            }
        }
        return false;
    }
    return false;
}

static void set(parser *p, const tc_option *option, const char *text) {
    tc_option_value *value = &p->arguments->values[option - p->usage->options];
    if (!read_value(option, text, value))
        bad_value(p, option, text);
    value->given = true;
    if (!option->repeats)
        return;
    if (value->texts == NULL) /* each takes a word at least */
        value->texts = TC_NEW(p->arena, const char *, (size_t)p->argc);
    value->texts[value->text_count++] = text;
}

/* "one" and a number in the next word, where the option has such pairs: "one:1". */
static const char *with_number(parser *p, const tc_option *option, const char *word) {
    double number;
    const char *next = p->next < p->argc ? p->argv[p->next] : "";
    for (size_t i = 0; option->pairs != NULL && option->pairs[i] != NULL; i++) {
        if (strcmp(option->pairs[i], word) != 0 || *next == '\0' ||
            tc_number_read(next, strlen(next), true, &number) != strlen(next))
            continue;
        p->next++;
        return tc_arena_format(p->arena, "%s:%s", word, next);
    }
    return word;
}

/* The argument of an option that needs one: what is attached to it, or the next word. */
static const char *argument_of(parser *p, const tc_option *option, const char *attached) {
    if (attached != NULL || p->next < p->argc)
        return with_number(p, option, attached != NULL ? attached : p->argv[p->next++]);
    complain(p, "",
             tc_arena_format(p->arena, "--%s wants an argument: --%s %s", option->name, option->name, option->argument),
             "");
    return NULL;
}

static void unknown(parser *p, const char *word, const char *name) {
    const char **names = TC_NEW(p->arena, const char *, p->usage->option_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < p->usage->option_count; i++) {
        if (p->usage->options[i].name != NULL)
            names[count++] = p->usage->options[i].name;
    }
    names[count++] = "help";
    const char *near = name == NULL ? NULL : tc_suggest_word(name, names, count);
    complain(p, "there is no option ", word,
             near == NULL ? "; --help lists them" : tc_arena_format(p->arena, "; did you mean --%s?", near));
}

static void read_long(parser *p, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals == NULL ? strlen(word + 2) : (size_t)(equals - word - 2);
    char *name = tc_arena_copy(p->arena, word + 2, length);
    if (strcmp(name, "help") == 0) {
        p->arguments->help = true;
        return;
    }
    for (size_t i = 0; i < p->usage->option_count; i++) {
        const tc_option *option = &p->usage->options[i];
        if (option->name == NULL || strcmp(option->name, name) != 0)
            continue;
        if (option->type != TC_OPTION_FLAG) {
            const char *text = argument_of(p, option, equals == NULL ? NULL : equals + 1);
            if (text != NULL)
                set(p, option, text);
        } else if (equals != NULL) {
            complain(p, "--", name, " takes no argument");
        } else {
            set(p, option, "");
        }
        return;
    }
    unknown(p, tc_arena_format(p->arena, "--%s", name), name);
}

static const tc_option *by_letter(const tc_usage *usage, char letter) {
    for (size_t i = 0; i < usage->option_count; i++) {
        if (usage->options[i].letter == letter)
            return &usage->options[i];
    }
    return NULL;
}

/* -o DIR, -oDIR, and flags together. */
static void read_short(parser *p, const char *word) {
    for (const char *c = word + 1; *c != '\0'; c++) {
        const tc_option *option = by_letter(p->usage, *c);
        if (option == NULL && *c == 'h') {
            p->arguments->help = true;
        } else if (option == NULL) {
            unknown(p, tc_arena_format(p->arena, "-%c", *c), NULL);
            return;
        } else if (option->type == TC_OPTION_FLAG) {
            set(p, option, "");
        } else {
            const char *text = argument_of(p, option, c[1] == '\0' ? NULL : c + 1);
            if (text != NULL)
                set(p, option, text);
            return;
        }
    }
}

static void check_whole(parser *p) {
    const tc_usage *usage = p->usage;
    const char *hint = tc_arena_format(p->arena, "; see tacit help %s", usage->name);
    size_t count = p->arguments->operand_count;
    if (count < usage->least_operands && !p->wrong)
        complain(p, "missing ", usage->operands, hint);
    for (size_t i = 0; i < usage->option_count; i++) {
        const tc_option *option = &usage->options[i];
        if (option->required && !p->arguments->values[i].given && !p->wrong)
            complain(p, "", tc_arena_format(p->arena, "--%s %s is needed", option->name, option->argument), hint);
    }
    if (count > usage->most_operands && !p->wrong) {
        const char *word = p->arguments->operands[usage->most_operands];
        bool may_be_secret = strstr(word, "://") != NULL; /* an address with a password, whose option was forgotten */
        complain(p, "unexpected argument", may_be_secret ? ": an address" : tc_arena_format(p->arena, " '%s'", word),
                 "");
    }
}

static void set_standards(const tc_usage *usage, tc_arguments *arguments) {
    for (size_t i = 0; i < usage->option_count; i++) {
        const tc_option *option = &usage->options[i];
        if (option->standard != NULL && option->type != TC_OPTION_FLAG)
            (void)read_value(option, option->standard, &arguments->values[i]);
    }
}

tc_status tc_options_parse(tc_arena *arena, const tc_usage *usage, int argc, char *const *argv, tc_buffer *messages,
                           tc_arguments *arguments) {
    *arguments = (tc_arguments){
        .values = TC_NEW(arena, tc_option_value, usage->option_count),
        .operands = TC_NEW(arena, const char *, argc < 0 ? 0 : (size_t)argc),
    };
    set_standards(usage, arguments);
    parser p = {
        .arena = arena, .usage = usage, .messages = messages, .arguments = arguments, .argc = argc, .argv = argv};
    bool only_operands = false;
    while (p.next < argc && !arguments->help) {
        const char *word = argv[p.next++];
        if (only_operands || word[0] != '-' || word[1] == '\0')
            arguments->operands[arguments->operand_count++] = word;
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else if (word[1] == '-')
            read_long(&p, word);
        else
            read_short(&p, word);
    }
    if (!arguments->help)
        check_whole(&p);
    return p.wrong && !arguments->help ? TC_BAD_USAGE : TC_OK;
}

/* ---- --help and man pages ---------------------------------------------------------------------------------------- */

void tc_options_wrap(tc_buffer *out, const char *text, size_t indent) {
    tc_layout_paragraph(&(tc_text_layout){.out = out, .width = WIDTH}, indent, text);
}

/* The text of an option with what it accepts and its standard value. */
static void full_text(tc_buffer *out, const tc_option *option) {
    tc_buffer_puts(out, option->text);
    if (option->type != TC_OPTION_FLAG && option->type != TC_OPTION_STRING) {
        tc_buffer_puts(out, " Allowed: ");
        put_range(option, out);
        tc_buffer_puts(out, ".");
    }
    if (option->repeats)
        tc_buffer_puts(out, " May be given several times.");
    if (option->standard != NULL)
        tc_buffer_printf(out, " Default: %s.", option->standard);
}

static void list_one(tc_buffer *out, const char *head, const char *text) {
    size_t length = strlen(head);
    tc_buffer_puts(out, head);
    if (length + 2 > TEXT_AT) {
        tc_buffer_puts(out, "\n");
        length = 0;
    }
    tc_buffer_printf(out, "%*s", (int)(TEXT_AT - length), "");
    tc_layout_wrap(&(tc_text_layout){.out = out, .width = WIDTH}, text, TEXT_AT, TEXT_AT);
}

static void list_options(const tc_usage *usage, tc_buffer *out) {
    for (size_t i = 0; i < usage->option_count; i++) {
        const tc_option *option = &usage->options[i];
        if (option->name == NULL)
            continue;
        tc_buffer head = tc_buffer_new(out->arena, 4096);
        tc_buffer text = tc_buffer_new(out->arena, 1 << 16);
        if (option->letter != '\0')
            tc_buffer_printf(&head, "  -%c, --%s", option->letter, option->name);
        else
            tc_buffer_printf(&head, "  --%s", option->name);
        if (option->argument != NULL)
            tc_buffer_printf(&head, " %s", option->argument);
        full_text(&text, option);
        list_one(out, tc_buffer_text(&head), tc_buffer_text(&text));
    }
    list_one(out, "  -h, --help", "Show this help.");
}

static void list_examples(const tc_usage *usage, tc_buffer *out) {
    for (size_t i = 0; i < usage->example_count; i++) {
        tc_buffer_printf(out, "  %s\n", usage->examples[i].command);
        tc_options_wrap(out, usage->examples[i].text, 6);
    }
}

static void synopsis(const tc_usage *usage, tc_buffer *out, const char *dash) {
    tc_buffer_puts(out, "tacit");
    if (usage->name != NULL)
        tc_buffer_printf(out, " %s", usage->name);
    if (usage->operands != NULL)
        tc_buffer_printf(out, " %s", usage->operands);
    for (size_t i = 0; i < usage->option_count; i++) {
        const tc_option *option = &usage->options[i];
        if (option->required && option->letter != '\0')
            tc_buffer_printf(out, " %s%c %s", dash, option->letter, option->argument);
        else if (option->required)
            tc_buffer_printf(out, " %s%s%s %s", dash, dash, option->name, option->argument);
    }
    tc_buffer_puts(out, " [OPTIONS]");
}

void tc_options_help(const tc_usage *usage, tc_buffer *out) {
    tc_buffer_printf(out, "tacit %s: %s\n\nUsage: ", usage->name, usage->summary);
    synopsis(usage, out, "-");
    tc_buffer_puts(out, "\n\n");
    tc_options_wrap(out, usage->description, 0);
    if (usage->operand_help != NULL) {
        tc_buffer_puts(out, "\n");
        tc_options_wrap(out, usage->operand_help, 0);
    }
    tc_buffer_puts(out, "\nOptions:\n");
    list_options(usage, out);
    if (usage->example_count > 0) {
        tc_buffer_puts(out, "\nExamples:\n");
        list_examples(usage, out);
    }
}

/* Text that troff prints unchanged: a dash that can be copied, no escapes, no requests at the start of a line. */
void tc_troff_text(tc_buffer *out, const char *text) {
    bool line_start = true;
    for (const char *c = text; *c != '\0'; c++) {
        if (line_start && (*c == '.' || *c == '\''))
            tc_buffer_puts(out, "\\&");
        if (*c == '-')
            tc_buffer_puts(out, "\\-");
        else if (*c == '\\')
            tc_buffer_puts(out, "\\e");
        else if (c[0] == '\n' && c[1] == '\n')
            tc_buffer_puts(out, "\n.PP"); /* the second newline follows */
        else
            tc_buffer_add(out, c, 1);
        line_start = *c == '\n';
    }
}

static void man_option(tc_buffer *out, const tc_option *option) {
    tc_buffer text = tc_buffer_new(out->arena, 1 << 16);
    full_text(&text, option);
    tc_buffer_puts(out, ".TP\n");
    if (option->letter != '\0')
        tc_buffer_printf(out, "\\fB\\-%c\\fR, ", option->letter);
    tc_buffer_puts(out, "\\fB\\-\\-");
    tc_troff_text(out, option->name);
    tc_buffer_puts(out, "\\fR");
    if (option->argument != NULL)
        tc_buffer_printf(out, " \\fI%s\\fR", option->argument);
    tc_buffer_puts(out, "\n");
    tc_troff_text(out, tc_buffer_text(&text));
    tc_buffer_puts(out, "\n");
}

static void man_title(tc_buffer *out, const tc_usage *usage, const char *version) {
    tc_buffer_puts(out, ".TH TACIT");
    for (const char *c = usage->name; c != NULL && *c != '\0'; c++) {
        if (c == usage->name)
            tc_buffer_puts(out, "\\-");
        tc_buffer_printf(out, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    tc_buffer_printf(out, " 1 \"\" \"tacit %s\" \"tacit manual\"\n", version);
    tc_buffer_printf(out, ".SH NAME\ntacit%s%s \\- ", usage->name == NULL ? "" : "\\-",
                     usage->name == NULL ? "" : usage->name);
    tc_troff_text(out, usage->summary);
    tc_buffer_puts(out, "\n.SH SYNOPSIS\n\\fB");
    synopsis(usage, out, "\\-");
    tc_buffer_puts(out, "\\fR\n");
}

void tc_options_man(const tc_usage *usage, const char *version, const char *extra, tc_buffer *out) {
    man_title(out, usage, version);
    tc_buffer_puts(out, ".SH DESCRIPTION\n");
    tc_troff_text(out, usage->description);
    if (usage->operand_help != NULL) {
        tc_buffer_puts(out, "\n.PP\n");
        tc_troff_text(out, usage->operand_help);
    }
    tc_buffer_puts(out, "\n.SH OPTIONS\n");
    for (size_t i = 0; i < usage->option_count; i++) {
        if (usage->options[i].name != NULL)
            man_option(out, &usage->options[i]);
    }
    tc_buffer_puts(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow a help text.\n");
    if (usage->example_count > 0)
        tc_buffer_puts(out, ".SH EXAMPLES\n");
    for (size_t i = 0; i < usage->example_count; i++) {
        tc_buffer_puts(out, ".TP\n\\fB");
        tc_troff_text(out, usage->examples[i].command);
        tc_buffer_puts(out, "\\fR\n");
        tc_troff_text(out, usage->examples[i].text);
        tc_buffer_puts(out, "\n");
    }
    if (extra != NULL)
        tc_buffer_puts(out, extra);
}
