/* What messages about a wrong file do not show: private numbers. */
#include "model/support.h"
#include "support/random.h"

/* Others may read what a command says. An agent's own file is read by its owner alone. */
static void no_message_shows_a_private_number(void **state) {
    (void)state;
    static const struct {
        const char *lines, *message, *own;
    } cases[] = {
        {"private minimize x * log(v)", "but this private number is wrong for h[2]", "but this is -7.25"},
        {"private minimize x / (v + 7.25)", "but this private number is wrong for h[2]", "but this is 0"},
        {"private minimize x * [1, 2][v]", "but this private number is wrong for h[2]", "but this is -7.25"},
        {"private minimize x * [1, 2][w]", "this private index is outside of 1..2", "the index -7.5 is outside"},
        {"private minimize x * sqrt(w)", "but this private number is wrong", "but this is -7.5"},
        {"private minimize x; private set norm(x - 0) <= v", "but this private number is wrong for h[2]", "-7.25"},
        {"private minimize x; private set x in [0, v]", "this set is empty for h[2]: the lower bound is", "-7.25"},
        {"private minimize x; private start x = v", "leaves the box: a private number is outside of [0, 1]", "-7.25"},
        {"private minimize x; start x = w", "a start leaves the box: a private number is outside of", "-7.5"},
    };
    put_file("h.csv", "v\n1\n-7.25\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char block[] = "{ state x in [0, 1]; private param w = 2 - 9.5; ";
        char text[400];
        AT_CASE(i);
        (void)snprintf(text, sizeof text, "data d = csv \"h.csv\"\nagents h over d %s\n%s }\n", block, cases[i].lines);
        bench b = load_bytes(text, strlen(text));
        assert_int_equal(b.status, TC_BAD_PROBLEM);
        if (strstr(messages_of(&b), cases[i].message) == NULL || strstr(messages_of(&b), "-7.") != NULL)
            fail_msg("%s", messages_of(&b));
        bench_free(&b);
        (void)snprintf(text, sizeof text, "role agent\nagent a %s private column v = -7.25\n%s }\n", block,
                       cases[i].lines);
        expect_error(text, cases[i].own);
    }
}

/* The place is enough for who has the file. */
static void a_row_of_data_is_not_shown(void **state) {
    (void)state;
    put_file("bad.csv", "v\n1\n7.25,x\n");
    bench b = load_bytes("data d = csv \"bad.csv\"\n", 23);
    assert_null(strstr(messages_of(&b), "7.25"));
    assert_non_null(strstr(messages_of(&b), "bad.csv:3:6: error: this line has more than the 1 column"));
    bench_free(&b);
}

/* A line with a private parameter's number is not quoted, by errors or by notes. */
static void a_private_parameter_is_not_quoted(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"private param t = 7.25\nparam u = 2 * t\n", "p.tacit:1:1: note: 't' is declared private here"},
        {"agent a { state x in [0, 9]; private minimize x; private param t = 7.25; range t in [0, t] }\n",
         "the upper bound of a range is public"},
        {"agent a { state x in [0, 9]; private minimize x\n  private param t = 7.25 / 0 }\n", "p.tacit:2:"},
        {"private param t = 7.25.3\n", "p.tacit:1:19: error: a number with a point needs digits after it"},
        {"private param t = 1 7.25\n",
         "p.tacit:1:21: error: expected an operator or the end of the statement, found a number"},
        {"private param t = [1,  # two\n  7.25, x]\n", "p.tacit:2:9: error: "},
        {"private  param t = summ(1,\n\n  7.25)\n", "p.tacit:1:20: error: there is no function 'summ'"},
        {"private param t = (1\nprivate param u = 7.25\n", "p.tacit:2:1: error: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AT_CASE(i);
        bench b = load_bytes(cases[i].text, strlen(cases[i].text));
        assert_int_equal(b.status, TC_BAD_PROBLEM);
        if (strstr(messages_of(&b), cases[i].message) == NULL || strstr(messages_of(&b), "7.25") != NULL)
            fail_msg("%s", messages_of(&b));
        bench_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_message_shows_a_private_number),
        cmocka_unit_test(a_row_of_data_is_not_shown),
        cmocka_unit_test(a_private_parameter_is_not_quoted),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
