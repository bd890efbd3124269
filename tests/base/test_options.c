#include "base/options.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JSON, TOLERANCE, ROUNDS, MECHANISM, OUTPUT };
static const char *const mechanisms[] = {"none", "laplace", "gaussian", NULL};
static const tc_option options[] = {
    [JSON] = {.name = "json", .letter = 'j', .type = TC_OPTION_FLAG, .text = "Print JSON."},
    [TOLERANCE] = {.name = "tolerance",
                   .type = TC_OPTION_REAL,
                   .argument = "T",
                   .least = 1e-12,
                   .most = 1,
                   .standard = "1e-8",
                   .text = "Stop below T."},
    [ROUNDS] = {.name = "rounds",
                .letter = 'r',
                .type = TC_OPTION_INT,
                .argument = "N",
                .least = 1,
                .most = INFINITY,
                .text = "How many."},
    [MECHANISM] = {.name = "mechanism",
                   .type = TC_OPTION_CHOICE,
                   .argument = "NAME",
                   .choices = mechanisms,
                   .standard = "laplace",
                   .text = "The noise."},
    [OUTPUT] = {.name = "output", .letter = 'o', .type = TC_OPTION_STRING, .argument = "DIR", .text = "Where to."},
};
static const tc_usage usage = {.name = "trial",
                               .summary = "try things",
                               .operands = "FILE",
                               .least_operands = 1,
                               .most_operands = 2,
                               .description = "Tries things.\n\nAnd more things.",
                               .options = options,
                               .option_count = sizeof options / sizeof options[0]};

typedef struct trial {
    tc_arena *arena;
    tc_buffer messages;
    tc_arguments arguments;
    tc_status status;
} trial;

/* words: separated by single spaces */
static trial parse(const tc_usage *what, const char *words) {
    trial t = {.arena = tc_arena_new(0)};
    assert_non_null(t.arena);
    t.messages = tc_buffer_new(t.arena, 10000);
    char *argv[64] = {0};
    int argc = 0;
    for (char *word = strtok(tc_arena_copy(t.arena, words, strlen(words)), " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    t.status = tc_options_parse(t.arena, what, argc, argv, &t.messages, &t.arguments);
    return t;
}

static void assert_refused(const char *words, const char *message) {
    trial t = parse(&usage, words);
    assert_int_equal(t.status, TC_BAD_USAGE);
    if (strstr(tc_buffer_text(&t.messages), message) == NULL)
        fail_msg("'%s' said: %s", words, tc_buffer_text(&t.messages));
    tc_arena_free(t.arena);
}

static void defaults_hold_where_nothing_is_given(void **state) {
    (void)state;
    trial t = parse(&usage, "file");
    assert_int_equal(t.status, TC_OK);
    assert_false(t.arguments.values[JSON].flag);
    assert_true(t.arguments.values[TOLERANCE].real == 1e-8);
    assert_int_equal(t.arguments.values[MECHANISM].choice, 1);
    assert_null(t.arguments.values[OUTPUT].text);
    assert_int_equal(t.arguments.operand_count, 1);
    tc_arena_free(t.arena);
}

static void every_way_of_writing_an_option_is_read(void **state) {
    (void)state;
    static const char *const ways[] = {"file --json --rounds 7 --output dir", "--rounds=7 -j -o dir file",
                                       "-jr7 -odir file", "-j -r 7 --output=dir -- file"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        trial t = parse(&usage, ways[i]);
        assert_int_equal(t.status, TC_OK);
        assert_true(t.arguments.values[JSON].flag);
        assert_int_equal(t.arguments.values[ROUNDS].integer, 7);
        assert_string_equal(t.arguments.values[OUTPUT].text, "dir");
        assert_string_equal(t.arguments.operands[0], "file");
        tc_arena_free(t.arena);
    }
}

static void an_option_that_repeats_keeps_all_it_was_given(void **state) {
    (void)state;
    const tc_option repeating[] = {
        {.name = "with", .letter = 'w', .repeats = true, .type = TC_OPTION_STRING, .argument = "A", .text = "With A."}};
    tc_usage several = usage;
    several.options = repeating;
    several.option_count = 1;
    trial t = parse(&several, "file --with a -wb --with=c -w d");
    assert_int_equal(t.status, TC_OK);
    assert_int_equal(t.arguments.values[0].text_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(t.arguments.values[0].texts[i][0], "abcd"[i]);
    assert_string_equal(t.arguments.values[0].text, "d");
    tc_buffer out = tc_buffer_new(t.arena, 100000);
    tc_options_help(&several, &out);
    assert_non_null(strstr(tc_buffer_text(&out), "May be given several"));
    tc_arena_free(t.arena);
}

static void after_two_dashes_everything_is_an_operand(void **state) {
    (void)state;
    trial t = parse(&usage, "-- --json -");
    assert_int_equal(t.status, TC_OK);
    assert_false(t.arguments.values[JSON].flag);
    assert_string_equal(t.arguments.operands[0], "--json");
    assert_string_equal(t.arguments.operands[1], "-");
    tc_arena_free(t.arena);
}

static void an_unknown_option_suggests_the_near_one(void **state) {
    (void)state;
    assert_refused("file --tolerence 1", "there is no option --tolerence; did you mean --tolerance?");
    assert_refused("file --zzzzz", "there is no option --zzzzz; --help lists them");
    assert_refused("file -x", "there is no option -x");
}

static void a_bad_value_says_the_range(void **state) {
    (void)state;
    assert_refused("file --tolerance 2", "--tolerance wants a number from 1e-12 to 1, not '2'");
    assert_refused("file --tolerance nan", "from 1e-12 to 1");
    assert_refused("file --tolerance 1e-8x", "from 1e-12 to 1");
    assert_refused("file --rounds 0", "--rounds wants a whole number at least 1, not '0'");
    assert_refused("file --rounds 1.5", "--rounds wants a whole number at least 1, not '1.5'");
    static const char *const not_whole[] = {"1e-1", "12e-1", "1e400", "1e17", "1e", "e3", "0x10", "inf"};
    for (size_t i = 0; i < sizeof not_whole / sizeof not_whole[0]; i++) {
        char words[64];
        (void)snprintf(words, sizeof words, "file --rounds=%s", not_whole[i]);
        assert_refused(words, "--rounds wants a whole number");
    }
    assert_refused("file --rounds 99999999999999999999999", "a whole number");
    assert_refused("file --mechanism cauchy", "--mechanism wants none, laplace or gaussian, not 'cauchy'");
    assert_refused("file --json=yes", "--json takes no argument");
    assert_refused("file --rounds", "--rounds wants an argument: --rounds N");
}

static void counts_may_have_an_exponent(void **state) {
    (void)state;
    static const struct {
        const char *words;
        long long value;
    } counts[] = {{"file --rounds 1e4", 10000},
                  {"file --rounds 1.5e3", 1500},
                  {"file --rounds 2E2", 200},
                  {"file --rounds 9007199254740993", 9007199254740993}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trial t = parse(&usage, counts[i].words);
        assert_int_equal(t.status, TC_OK);
        assert_true(t.arguments.values[ROUNDS].integer == counts[i].value);
        tc_arena_free(t.arena);
    }
}

static void a_word_cut_short_is_completed(void **state) {
    (void)state;
    assert_refused("file --tol 1", "there is no option --tol; did you mean --tolerance?");
    assert_refused("file --mechanism gauss", "not 'gauss'; did you mean gaussian?");
    assert_refused("file --mechanism laplac", "not 'laplac'; did you mean laplace?");
    assert_refused("file --t 1", "there is no option --t; --help lists them");
}

static void the_number_of_operands_is_checked(void **state) {
    (void)state;
    assert_refused("--json", "missing FILE");
    assert_refused("a b c", "unexpected argument 'c'");
    assert_refused("a b postgresql://u:secret@host/x", "unexpected argument: an address");
}

static void a_required_option_is_asked_for(void **state) {
    (void)state;
    const tc_option required[] = {{.name = "output",
                                   .letter = 'o',
                                   .required = true,
                                   .type = TC_OPTION_STRING,
                                   .argument = "DIR",
                                   .text = "To."}};
    tc_usage strict = usage;
    strict.options = required;
    strict.option_count = 1;
    trial t = parse(&strict, "file");
    assert_int_equal(t.status, TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&t.messages), "--output DIR is needed"));
    tc_arena_free(t.arena);
}

static void asking_for_help_overrides_errors(void **state) {
    (void)state;
    trial t = parse(&usage, "--zzzz --help");
    assert_int_equal(t.status, TC_OK);
    assert_true(t.arguments.help);
    tc_arena_free(t.arena);
}

static void help_fits_eighty_columns_and_names_every_option(void **state) {
    (void)state;
    trial t = parse(&usage, "file");
    tc_buffer out = tc_buffer_new(t.arena, 100000);
    tc_options_help(&usage, &out);
    for (const char *line = tc_buffer_text(&out); *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    for (size_t i = 0; i < usage.option_count; i++)
        assert_non_null(strstr(tc_buffer_text(&out), tc_arena_format(t.arena, "--%s", options[i].name)));
    assert_non_null(strstr(tc_buffer_text(&out), "Default: 1e-8."));
    tc_arena_free(t.arena);
}

static void troff_text_is_printed_as_it_is(void **state) {
    (void)state;
    trial t = parse(&usage, "file");
    tc_buffer out = tc_buffer_new(t.arena, 100000);
    tc_troff_text(&out, ".dot\n'tick a-b \\n\n\nnext");
    assert_string_equal(tc_buffer_text(&out), "\\&.dot\n\\&'tick a\\-b \\en\n.PP\nnext");
    tc_arena_free(t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_where_nothing_is_given),
        cmocka_unit_test(every_way_of_writing_an_option_is_read),
        cmocka_unit_test(an_option_that_repeats_keeps_all_it_was_given),
        cmocka_unit_test(after_two_dashes_everything_is_an_operand),
        cmocka_unit_test(an_unknown_option_suggests_the_near_one),
        cmocka_unit_test(a_bad_value_says_the_range),
        cmocka_unit_test(counts_may_have_an_exponent),
        cmocka_unit_test(a_word_cut_short_is_completed),
        cmocka_unit_test(the_number_of_operands_is_checked),
        cmocka_unit_test(a_required_option_is_asked_for),
        cmocka_unit_test(asking_for_help_overrides_errors),
        cmocka_unit_test(help_fits_eighty_columns_and_names_every_option),
        cmocka_unit_test(troff_text_is_printed_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
