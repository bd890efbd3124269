/* Options as data: a command declares each option once, and its parser, its --help and its man page come from that.
 *
 *     enum { JSON, TOLERANCE };
 *     static const tc_option options[] = {
 *         [JSON] = {.name = "json", .type = TC_OPTION_FLAG, .text = "Print one JSON object."},
 *         [TOLERANCE] = {.name = "tolerance", .type = TC_OPTION_REAL, .argument = "T", .least = 1e-12, .most = 1,
 *                        .standard = "1e-8", .text = "Stop when the residual is below T."},
 *     };
 *     ... arguments.values[TOLERANCE].real
 *
 * Every command also knows --help and -h. */
#ifndef TC_BASE_OPTIONS_H
#define TC_BASE_OPTIONS_H

#include "base/arena.h"

#include <stdbool.h>

typedef enum tc_option_type {
    TC_OPTION_FLAG,
    TC_OPTION_INT,
    TC_OPTION_REAL,
    TC_OPTION_STRING,
    TC_OPTION_CHOICE,
} tc_option_type;

typedef struct tc_option {
    const char *name; /* without dashes; NULL: no option, a gap in the table */
    char letter;      /* -o; 0 for none */
    bool required;
    bool repeats; /* strings: may be given several times */
    tc_option_type type;
    const char *argument;       /* its name in --help; NULL for flags */
    double least, most;         /* of numbers, both allowed; most may be INFINITY */
    const char *const *choices; /* NULL-terminated */
    const char *const *pairs;   /* words that a number goes with: "one 1" is read as "one:1"; NULL for none */
    const char *hint;           /* to say to a word that is no choice and near to none; NULL for nothing */
    const char *standard;       /* the value when not given, as it would be typed; NULL for none */
    const char *text;           /* sentences */
} tc_option;

typedef struct tc_example {
    const char *command; /* "tacit check ev.tacit" */
    const char *text;
} tc_example;

typedef struct tc_usage { /* what a command is and takes */
    const char *name;     /* "check"; NULL for the program itself */
    const char *summary;  /* one line: "verify a problem's assumptions" */
    const char *operands; /* "FILE"; NULL for none */
    size_t least_operands, most_operands;
    const char *operand_help; /* a sentence about them; NULL: the description says it */
    const char *description;  /* paragraphs, separated by empty lines */
    const tc_option *options;
    size_t option_count;
    const tc_example *examples;
    size_t example_count;
} tc_usage;

typedef struct tc_option_value {
    bool given; /* on the command line */
    bool flag;
    long long integer;
    double real;
    const char *text; /* as typed, or the standard value; NULL for neither */
    size_t choice;
    const char **texts; /* of an option that repeats: all it was given, in order */
    size_t text_count;
} tc_option_value;

typedef struct tc_arguments {
    bool help;               /* --help was asked for: nothing else was checked */
    tc_option_value *values; /* one per option of the table */
    const char **operands;
    size_t operand_count;
} tc_arguments;

/* argv[0] is the first argument after the command's name. TC_BAD_USAGE with a message that says what is wrong. */
tc_status tc_options_parse(tc_arena *arena, const tc_usage *usage, int argc, char *const *argv, tc_buffer *messages,
                           tc_arguments *arguments) TC_MUST_USE;

/* The --help text, 80 columns wide. */
void tc_options_help(const tc_usage *usage, tc_buffer *out);

/* Text wrapped as in --help. */
void tc_options_wrap(tc_buffer *out, const char *text, size_t indent);

/* The man page, in troff. extra: more sections, already in troff, or NULL. */
void tc_options_man(const tc_usage *usage, const char *version, const char *extra, tc_buffer *out);
void tc_troff_text(tc_buffer *out, const char *text);

#endif
