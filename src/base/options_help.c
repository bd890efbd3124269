/* What an option table says to people: --help and man pages. */
#include "base/options.h"

#include <string.h>

enum { WIDTH = 80, TEXT_AT = 24 };

static void spaces(tc_buffer *out, size_t count) { tc_buffer_printf(out, "%*s", (int)count, ""); }

/* Words of text, from column at, in lines of at most WIDTH characters; lines begin at indent. */
static void wrap_from(tc_buffer *out, const char *text, size_t indent, size_t at) {
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " \n");
        bool first = at == indent;
        if (!first && at + 1 + length > WIDTH) {
            tc_buffer_puts(out, "\n");
            spaces(out, indent);
            at = indent;
            first = true;
        }
        if (!first)
            tc_buffer_puts(out, " ");
        tc_buffer_add(out, word, length);
        at += length + (first ? 0 : 1);
        word += length;
        if (strncmp(word, "\n\n", 2) == 0) {
            tc_buffer_puts(out, "\n\n");
            spaces(out, indent);
            at = indent;
        }
        word += strspn(word, " \n");
    }
    tc_buffer_puts(out, "\n");
}

void tc_options_wrap(tc_buffer *out, const char *text, size_t indent) {
    spaces(out, indent);
    wrap_from(out, text, indent, indent);
}

/* The text of an option with what it accepts and its standard value. */
static void full_text(tc_buffer *out, const tc_option *option) {
    tc_buffer_puts(out, option->text);
    if (option->type != TC_OPTION_FLAG && option->type != TC_OPTION_STRING) {
        tc_buffer_puts(out, " Allowed: ");
        tc_option_range(option, out);
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
    spaces(out, TEXT_AT - length);
    wrap_from(out, text, TEXT_AT, TEXT_AT);
}

void tc_options_list(const tc_usage *usage, tc_buffer *out) {
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

void tc_options_examples(const tc_usage *usage, tc_buffer *out) {
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
    tc_buffer_puts(out, "\nOptions:\n");
    tc_options_list(usage, out);
    if (usage->example_count > 0) {
        tc_buffer_puts(out, "\nExamples:\n");
        tc_options_examples(usage, out);
    }
}

/* Text that troff shall print as it is: a dash that can be copied, no escapes, no requests at the start of a line. */
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
