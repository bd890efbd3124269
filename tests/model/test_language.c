/* Every example of docs/language.md does what the page says. */
#include "model/support.h"

enum { LONGEST = 20000 };

typedef struct page {
    char *text;
    char *at;
    size_t line;
} page;

/* The lines of the fenced block that begins after the opening fence, as one text. */
static void read_block(page *p, char *block) {
    block[0] = '\0';
    while (*p->at != '\0') {
        char *end = strchr(p->at, '\n');
        assert_non_null(end);
        size_t length = (size_t)(end - p->at) + 1;
        bool closes = strncmp(p->at, "```", 3) == 0;
        assert_true(strlen(block) + length < LONGEST);
        if (!closes)
            strncat(block, p->at, length);
        p->at += length;
        p->line++;
        if (closes)
            return;
    }
    fail_msg("a block is not closed");
}

/* The next fence and what stands after its ticks; false at the end of the page. */
static bool next_fence(page *p, char kind[100]) {
    while (*p->at != '\0') {
        char *end = strchr(p->at, '\n');
        assert_non_null(end);
        bool opens = strncmp(p->at, "```", 3) == 0;
        if (opens)
            (void)snprintf(kind, 100, "%.*s", (int)(end - p->at - 3), p->at + 3);
        p->at = end + 1;
        p->line++;
        if (opens)
            return true;
    }
    return false;
}

static void check_example(const char *text, const char *messages, size_t line) {
    bench b = bench_new();
    b.status = tc_model_parse(b.arena, "problem.tacit", text, strlen(text), NULL, &b.messages, &b.model);
    if (strcmp(messages_of(&b), messages) != 0 || (b.status == TC_OK) != (messages[0] == '\0')) {
        print_error("language.md, the example before line %zu says:\n%s\nnot:\n%s\n", line, messages_of(&b), messages);
        fail();
    }
    bench_free(&b);
}

static void every_example_of_the_reference_does_what_it_says(void **state) {
    (void)state;
    FILE *file = fopen(TACIT_SOURCE_DIR "/docs/language.md", "r");
    assert_non_null(file);
    static char text[200000], block[LONGEST], expected[LONGEST];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    page p = {text, text, 1};
    char kind[100];
    size_t good = 0, wrong = 0;
    while (next_fence(&p, kind)) {
        read_block(&p, block);
        if (strcmp(kind, "tacit") == 0) {
            check_example(block, "", p.line);
            good++;
        } else if (strcmp(kind, "tacit-error") == 0) {
            assert_true(next_fence(&p, kind));
            assert_string_equal(kind, "text");
            read_block(&p, expected);
            check_example(block, expected, p.line);
            wrong++;
        } else if (strncmp(kind, "csv name=", 9) == 0) {
            put_file(kind + 9, block);
        }
    }
    assert_true(good >= 20 && wrong >= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_example_of_the_reference_does_what_it_says)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
