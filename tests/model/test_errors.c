/* What is said about wrong problem files. */
#include "model/support.h"

#define AGENT "agent x { state y in [0, 1]; private minimize y }\n"

static void an_error_shows_its_place_line_and_caret(void **state) {
    (void)state;
    expect_messages("param hours = 24\nparam days = 2 * ours\n" AGENT,
                    "p.tacit:2:18: error: there is no 'ours' here; did you mean 'hours'?\n"
                    "    param days = 2 * ours\n"
                    "                     ^~~~\n");
}

static void tabs_and_carriage_returns_do_not_move_the_caret(void **state) {
    (void)state;
    expect_messages("agent x {\r\n\tstate y in [0, 1]\r\n\tprivate minimize\tyy\r\n}\r\n",
                    "p.tacit:3:19: error: there is no 'yy' here\n"
                    "        private minimize    yy\n"
                    "                            ^~\n");
}

static void columns_count_characters_not_bytes(void **state) {
    (void)state;
    put_file("\xc3\xa9t\xc3\xa9.csv", "1\n");
    expect_messages("param a = csv \"\xc3\xa9t\xc3\xa9.csv\" + 1\n",
                    "p.tacit:1:25: error: expected an operator or the end of the statement, found '+'\n"
                    "    param a = csv \"\xc3\xa9t\xc3\xa9.csv\" + 1\n"
                    "                            ^\n");
}

static void a_byte_order_mark_is_no_part_of_the_text(void **state) {
    (void)state;
    expect_messages("\xef\xbb\xbfparam a = \xff\n",
                    "p.tacit:1:11: error: unexpected byte 0xff; names, numbers and operators are written in ASCII\n"
                    "    param a = ?\n"
                    "              ^\n");
    bench b = load_good("\xef\xbb\xbf" AGENT);
    bench_free(&b);
}

static void a_nul_byte_is_an_error(void **state) {
    (void)state;
    bench b = load_bytes("param a = 1\0 + 2\n", 17);
    assert_string_equal(messages_of(&b),
                        "p.tacit:1:12: error: unexpected byte 0x00; names, numbers and operators are written in ASCII\n"
                        "    param a = 1? + 2\n"
                        "               ^\n");
    bench_free(&b);
}

static void a_long_line_is_clipped_around_the_caret(void **state) {
    (void)state;
    char text[3000] = "param a = ";
    for (size_t i = 0; i < 300; i++)
        strcat(text, "1 + ");
    strcat(text, "b");
    for (size_t i = 0; i < 300; i++)
        strcat(text, " + 1");
    strcat(text, "\n" AGENT);
    bench b = load_bytes(text, strlen(text));
    assert_int_equal(b.status, TC_BAD_PROBLEM);
    char *line = strchr(b.messages.text, '\n') + 1;
    char *caret = strchr(line, '\n') + 1;
    assert_true(caret - line < 130);
    assert_memory_equal(line, "    ...", 7);
    assert_memory_equal(caret - 4, "...\n", 4);
    assert_int_equal(line[strchr(caret, '^') - caret], 'b');
    bench_free(&b);
}

static void names_near_a_known_one_are_suggested(void **state) {
    (void)state;
    put_file("homes.csv", "need,cap,pref_1,pref_2\n1,2,3,4\n5,6,7,8\n");
    expect_error("data homes = csv \"homes.csv\"\nagents home over hoomes { state p in [0, 1]; private minimize p }",
                 "there is no data called 'hoomes'; did you mean 'homes'?");
    expect_error(
        "data homes = csv \"homes.csv\" public capp\nagents home over homes { state p in [0, 1]; private minimize p }",
        "'homes.csv' has no column 'capp'; did you mean 'cap'?");
    expect_error(
        "data homes = csv \"homes.csv\"\nagents home over homes { state p in [0, 1]; private minimize p * nead }",
        "there is no 'nead' here; did you mean 'need'?");
    expect_error("agent depot { state y in [0, 1]; private minimize y }\nconstraint c: depto.y <= 1",
                 "there is no agent or family called 'depto'; did you mean 'depot'?");
    expect_error(AGENT "constraint c: sumsqq(x.y) <= 1", "there is no function 'sumsqq'; did you mean 'sumsq'?");
    expect_error("parm a = 3\n" AGENT, "no statement begins with 'parm'; did you mean 'param'?");
    expect_error("agent x { stat y in [0, 1] }",
                 "no statement in an agent's block begins with 'stat'; did you mean 'state'?");
    expect_error(AGENT "privacy { epsilom 3 }", "privacy has no 'epsilom'; did you mean 'epsilon'?");
    expect_error(AGENT "privacy { epsilon = 3 }", "a setting has no sign between name and value; leave it out");
    expect_error(AGENT "schedule { rounds: 9 }", "a setting has no sign between name and value; leave it out");
    expect_error(AGENT "privacy { mechanism laplac }", "did you mean 'laplace'?");
    expect_error(AGENT "constraint feeder: x.y <= 1\nstart feedre = 1",
                 "there is no constraint 'feedre'; did you mean 'feeder'?");
    expect_error("agent x { state y[2] in [0, 1]; private minimize sum(y); private set y in bal(0, 1) }",
                 "there is no set 'bal'; did you mean 'ball'?");
}

static void a_name_of_a_block_is_explained_outside_of_it(void **state) {
    (void)state;
    expect_error(AGENT "constraint c: y <= 1", "there is no 'y' here; it belongs to the agent 'x': write x.y");
    expect_error("agents f[i in 1..3] { state y in [0, 1]; private minimize y }\nconstraint c: y <= 1",
                 "it belongs to the family 'f': write sum(f: y) or f[1].y");
    expect_error("agents f[i in 1..3] { state y in [0, 1]; private minimize y }\nconstraint c: f.y <= 1",
                 "'f' is a family: write f[1].y for one member, or sum(f: y)");
    expect_error(AGENT "constraint c: x[1].y <= 1", "'x' is one agent: write x.y");
    expect_error(AGENT "constraint c: x <= 1",
                 "'x' is an agent, not a number or vector; name a state of it, as in x.x");
}

static void that_no_state_is_a_whole_number_is_said_once(void **state) {
    (void)state;
    const char *text = "agent a {\nstate x in [0, 1] integer\ninteger y in [0, 1]\nprivate set x in integer\n"
                       "private minimize x\n}\n";
    bench b = load_bytes(text, strlen(text));
    const char *said = messages_of(&b), *first = strstr(said, "every state is a real number");
    assert_non_null(first);
    assert_null(strstr(first + 1, "every state is a real number"));
    assert_null(strstr(said, "expected"));
    bench_free(&b);
}

static void signs_of_other_languages_are_answered_with_what_to_write(void **state) {
    (void)state;
    static const struct {
        const char *sign, *instead;
    } cases[] = {
        {"minimize sum(y.^2)", "^ works element by element; leave the dot out"},
        {"minimize sum(y.*y)", "* works element by element on vectors; leave the dot out"},
        {"minimize sum(y./2)", "/ works element by element; leave the dot out"},
        {"minimize sum(y**2)", "write ^ for a power"},
        {"minimize y'*y", "write dot(u, v) for u'v, and transpose(M) for M'"},
        {"minimize sum(y[1:2])", "a part of a vector is written with two dots, as in x[1..2]"},
        {"minimize sum(y)\n  + y[1]", "put the operator at the end of the line before, or all of it in ( )"},
        {"minimize sum(y); private set for t in 1..2: y[t] <= 1",
         "the index stands with a name: private set NAME[t in 1..3]: ..."},
        {"minimize sum(y); private set y integer", "every state is a real number"},
        {"minimize sum(y); private set y in integer", "every state is a real number"},
        {"minimize sum(y); state b in [0, 1] binary", "every state is a real number"},
        {"minimize sum(y); state b integer in [0, 1]", "every state is a real number"},
        {"minimize sum(y[2..])", "a part of a vector has both ends: x[2..3], or x[2..length(x)] up to the last"},
        {"minimize sum(y[..2])", "a part of a vector has both ends: x[1..2]"},
        {"minimize sum(y[:])", "a whole vector has no index: write x, or a part of it, x[1..2]"},
        {"minimize sum([1, 2; 3, 4] * y)", "a matrix is a vector of rows, as in [[1, 2], [3, 4]]"},
        {"minimize sum([1..2] * y)", "a vector of numbers in a row is written [i in 1..3: i]"},
        {"minimize sum(y[t] for t in 1..2)", "the index comes first: sum(i in 1..3: ...), [i in 1..3: ...]"},
        {"minimize y(1)", "there is no function 'y'; an index is written in brackets"},
        {"minimize pi * y[1]", "there is no 'pi' here; write 3.141592653589793"},
        {"minimize y[1] subject to y[2] <= 1", "'subject to' is not written: limits stand on lines of their own"},
        {"minimize y[1] if 1", "there is no 'if'"},
        {"minimize sum(y); private set y = 1", "an equality is written with two signs: =="},
        {"minimize sum(y); private set y =< 1", "write <= for '=<'"},
        {"minimize sum(y); private set y => 1", "write >= for '=>'"},
        {"minimize sum(y); private set y != 1", "what differs from a point is not a convex set"},
        {"minimize sum(y); private set y < 1", "a strict inequality describes an open set; write <="},
        {"minimize sum(y); private set y[1] <= 1 && y[2] <= 1", "a line holds one relation, or a chain a <= b <= c"},
        {"minimize sum(y); private set y[1] <= 1 and y[2] <= 1", "a line holds one relation, or a chain a <= b <= c"},
        {"minimize sum(y); private set y[1] <= 1 || y[2] <= 1", "one relation or another is not a convex set"},
        {"minimize sum(y); private set |y| <= 1", "write abs(u) for |u|"},
        {"minimize sum(y) // the cost", "a comment begins with #"},
        {"minimize sum(y) % the cost", "a comment begins with #"},
        {"minimize sum(y); private param q == 1", "a definition is written with one sign: ="},
        {"minimize sum(y); private param q := 1", "write = for ':='"},
        {"minimise y", "did you mean 'minimize'?"},
        {"maximise y", "did you mean 'maximize'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[300];
        (void)snprintf(text, sizeof text, "agent x {\n  state y[2] in [0, 1]\n  private %s\n}\n", cases[i].sign);
        expect_error(text, cases[i].instead);
    }
    expect_messages("agent x {\n  state y[2] in [0, 1]\n  private minimize sum([1, 2; 3, 4] * y)\n}\n",
                    "p.tacit:3:29: error: a matrix is a vector of rows, as in [[1, 2], [3, 4]]\n"
                    "      private minimize sum([1, 2; 3, 4] * y)\n"
                    "                                ^\n");
}

static void statements_of_other_languages_are_answered_with_what_to_write(void **state) {
    (void)state;
    static const char *const words[] = {"subject to y <= 1", "s.t. y <= 1", "y <= 1", "y[1] <= 1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "agent x {\n  state y in [0, 1]\n  private minimize y\n  %s\n}\n", words[i]);
        expect_error(text, "; a limit of the agent alone is written 'private set x <= 1'");
        (void)snprintf(text, sizeof text, AGENT "%s\n", words[i]);
        expect_error(text, "; a limit that binds agents together is written 'constraint NAME: a.x + b.x <= 1'");
    }
    expect_error("agent x { var y in [0, 1]; private minimize y }", "; write 'state x in [0, 1]'");
    expect_error("limit = 5\n" AGENT, "no statement begins with 'limit'; a constant is defined by 'param NAME = 1'");
    expect_error("var y in [0, 1]\n" AGENT, "; states belong to agents: write 'agent a { state x in [0, 1] }'");
    expect_error("minimize x.y\n" AGENT, "each agent has an objective of its own: write 'private minimize ...'");
    expect_error("maximise x.y\n" AGENT, "each agent has an objective of its own: write 'private minimize ...'");
    expect_error(AGENT "constraint x.y <= 1\n", "expected ':' and the constraint, as in 'constraint NAME: a.x <= 1'");
    expect_error("agent x { state y in [0, 1]; private minimize y; constraint c: y <= 1 }",
                 "'{' was opened here; a limit of the agent alone is written 'private set'");
    expect_error("agent x { state y in [0, inf]; private minimize y }",
                 "there is no 'inf' here; every number is finite: write a bound that is large enough");
    expect_error("param inf = 100 + x\nagent x { state y in [0, inf]; private minimize y }", "'x' is an agent");
}

static void agents_meet_in_constraints_alone(void **state) {
    (void)state;
    static const char advice[] = "bind agents together by a 'constraint' outside of the blocks";
    expect_error(AGENT "agent z { state v in [0, 1]; private minimize v * x.y }", advice);
    expect_error(AGENT "agent z { state v in [0, 1]; private minimize v * y }", advice);
    expect_error(AGENT "agent z { state v in [0, 1]; private minimize v; private set v <= x.y }", advice);
    expect_error("agents f[i in 1..3] { state v in [0, 1]; private minimize v * sum(f: v) }", advice);
    expect_error("agents f[i in 1..3] { state v in [0, 1]; private minimize v }\n" AGENT
                 "constraint c: sum(f: v * x.y) <= 1",
                 "a state of another agent cannot be used inside a sum over agents; move it outside of the sum");
}

static void all_errors_of_a_file_are_reported(void **state) {
    (void)state;
    expect_messages("param a = 1 +\nparam b = )\nparam c = 5kW\nparam d = \"open\n",
                    "p.tacit:2:7: error: expected an operator or the end of the statement, found 'b'\n"
                    "    param b = )\n"
                    "          ^\n"
                    "p.tacit:3:11: error: a number and a name run together; a product has its sign, as in 3 * x\n"
                    "    param c = 5kW\n"
                    "              ^~~\n"
                    "p.tacit:4:11: error: a text opened here with '\"' is not closed on its line\n"
                    "    param d = \"open\n"
                    "              ^~~~~\n");
}

static void errors_stop_after_twenty(void **state) {
    (void)state;
    char text[2000] = AGENT;
    for (int i = 0; i < 30; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "param p%d = missing\n", i);
    bench b = load_bytes(text, strlen(text));
    size_t errors = 0;
    for (const char *at = b.messages.text; (at = strstr(at, "error:")) != NULL; at++)
        errors++;
    assert_int_equal(errors, 20);
    assert_non_null(strstr(b.messages.text, "p.tacit: stopped after 20 errors\n"));
    bench_free(&b);
}

static void what_is_not_closed_is_shown_where_it_was_opened(void **state) {
    (void)state;
    expect_messages("agent x {\n  state y in [0, 1]\n  private minimize y\n",
                    "p.tacit:4:1: error: expected '}' before the end of the file\n"
                    "    \n"
                    "    ^\n"
                    "p.tacit:1:9: note: '{' was opened here\n"
                    "    agent x {\n"
                    "            ^\n");
    expect_error("agent x { state y in [0, 1]; private minimize (y; gap 1 }\n", "1:49: error: expected ')', found ';'");
    expect_messages("param a = (1 + 2\nparam b = 3\n" AGENT, "p.tacit:2:1: error: expected ')', found 'param'\n"
                                                             "    param b = 3\n"
                                                             "    ^~~~~\n"
                                                             "p.tacit:1:11: note: '(' was opened here\n"
                                                             "    param a = (1 + 2\n"
                                                             "              ^\n");
    expect_error("agent x {\n  state y in [0, 1]\nconstraint c: x.y <= 1\n",
                 "expected '}' before a statement that stands outside of blocks");
    expect_error("privacy { epsilon 1\n", "'{' was opened here");
    expect_error("}\n", "this '}' closes nothing");
}

static void depth_is_limited(void **state) {
    (void)state;
    char *text = calloc(1, 100000);
    assert_non_null(text);
    const char *open[] = {"(", "-", "2^", "exp(", "["};
    for (size_t kind = 0; kind < 5; kind++) {
        strcpy(text, "param a = ");
        for (size_t i = 0; i < 10000; i++)
            strcat(text + 10 + i * strlen(open[kind]), open[kind]);
        expect_error(text, "this expression is nested more than 200 levels deep");
    }
    free(text);
}

static void a_chain_of_operators_may_be_long(void **state) {
    (void)state;
    size_t terms = 200000;
    char *text = calloc(1, terms * 2 + 100);
    assert_non_null(text);
    strcpy(text, "param a = 1");
    for (size_t i = 0; i < terms; i++)
        memcpy(text + 11 + 2 * i, "+1", 2);
    strcpy(text + 11 + 2 * terms, "\n" AGENT);
    bench b = load_good(text);
    bench_free(&b);
    free(text);
}

static void a_long_chain_of_definitions_is_an_error_not_a_crash(void **state) {
    (void)state;
    size_t names = 20000;
    char *text = calloc(1, names * 32);
    assert_non_null(text);
    size_t at = 0;
    for (size_t i = 0; i < names; i++)
        at += (size_t)sprintf(text + at, "param p%zu = p%zu + 1\n", i, i + 1);
    (void)sprintf(text + at, "param p%zu = 1\n" AGENT, names);
    expect_error(text, "too deep");
    free(text);
}

static void cycles_are_named(void **state) {
    (void)state;
    expect_messages("param a = b + 1\nparam b = c\nparam c = 2 * a\n" AGENT,
                    "p.tacit:3:15: error: 'a' is defined in terms of itself: a -> b -> c -> a\n"
                    "    param c = 2 * a\n"
                    "                  ^\n");
    expect_error("param n = sum(f: 1)\nagents f[i in 1..n] { state y in [0, 1]; private minimize y }",
                 "is defined in terms of itself");
    expect_error("agent x { state y in [0, 1]; private minimize y * u; private param u = v; private param v = u }",
                 "is defined in terms of itself");
}

static void names_are_defined_once(void **state) {
    (void)state;
    expect_messages("param a = 1\nparam a = 2\n" AGENT, "p.tacit:2:7: error: 'a' is defined twice\n"
                                                        "    param a = 2\n"
                                                        "          ^\n"
                                                        "p.tacit:1:7: note: 'a' was first defined here\n"
                                                        "    param a = 1\n"
                                                        "          ^\n");
    expect_error(AGENT AGENT, "'x' is defined twice");
    expect_error("agent x { state y in [0, 1]; param y = 3; private minimize y }", "'y' is defined twice");
}

static void numbers_must_be_well_formed_and_finite(void **state) {
    (void)state;
    expect_error("param a = 1e400", "this number is too large for a double");
    expect_error("param a = 1_000", "a number has no underscores");
    expect_error("param a = .5", "a number with a point needs a digit before it");
    expect_error("param a = 5.", "a number with a point needs digits after it");
    expect_error("param a = 1e308 * 10\n" AGENT, "the value of this constant expression is not a finite number");
    expect_error("param a = 1 / 0\n" AGENT, "a divisor must not be zero, but this is 0");
    expect_error("param a = log(0)\n" AGENT, "a logarithm needs a positive argument, but this is 0");
    expect_error("param a = sqrt(-1)\n" AGENT, "a square root needs an argument that is not negative, but this is -1");
    expect_error("param a = (0 - 8)^0.5\n" AGENT, "a fractional power needs a base that is not negative");
    expect_error("param a = 0^-1\n" AGENT, "a negative power needs a base that is not zero");
}

static void ranges_are_limited(void **state) {
    (void)state;
    expect_error("param a = sum(i in 1..1000000000: i)\n" AGENT,
                 "this range has 1000000000 elements; at most 10000000 are allowed");
    expect_error("agents f[i in 1..1000000000] { state y in [0, 1]; private minimize y }",
                 "this range has 1000000000 elements");
    expect_error("param a = sum(i in 1..10000, j in 1..10000: 1)\n" AGENT, "more than 10000000 terms");
    expect_error("param a = sum(i in 1..1.5: i)\n" AGENT,
                 "the last value of a range must be a whole number, but this is 1.5");
    expect_error("agents f[i in 0..3] { state y in [0, 1]; private minimize y }",
                 "the members of a family are numbered from 1");
    expect_error("agents f[i in 1..0] { state y in [0, 1]; private minimize y }",
                 "the members of a family are numbered from 1");
}

static void shapes_must_fit(void **state) {
    (void)state;
    expect_messages(
        "param a = [1, 2] + [1, 2, 3]\n" AGENT,
        "p.tacit:1:11: error: + needs equal shapes: the left side is a vector of 2, the right side a vector of 3\n"
        "    param a = [1, 2] + [1, 2, 3]\n"
        "              ^~~~~~~~~~~~~~~~~~\n");
    expect_error("param a = [[1, 2], [3, 4]] * [1, 2, 3]\n" AGENT, "a 2 x 2 matrix times a vector of 3");
    expect_error("param a = [1, 2] * [[1, 2], [3, 4]]\n" AGENT, "write transpose(M) * v");
    expect_error("param a = [[1, 2], [3]]\n" AGENT, "the first entry is a vector of 2, this one a vector of 1");
    expect_error("param a = dot([1, 2], 3)\n" AGENT,
                 "dot needs two vectors of equal length: these are a vector of 2 and a number");
    expect_error("param a = [1, 2][3]\n" AGENT, "the index 3 is outside of 1..2");
    expect_error("param a = [1, 2][1, 1]\n" AGENT, "2 indices are given, but this is a vector of 2");
    expect_error("param a = 3[1]\n" AGENT, "1 index is given, but this is a number");
    expect_error("param a = sum(1, 2)\n" AGENT, "sum takes 1 argument, not 2; several numbers make a vector: [x, y]");
    expect_error("param a = norm([3, 4], 1)\n" AGENT,
                 "norm takes 1 argument, not 2; norm(v) is the Euclidean norm, others "
                 "are norm1(v) and norminf(v)");
    expect_error("agent x { state y[2] in [0, [1, 2, 3]]; private minimize 0 }",
                 "the upper bound of a state must be a number or a vector of 2, but this is a vector of 3");
    expect_error("agent x { state y[2] in [0, 1]; private minimize y }",
                 "an objective must be a number, but this is a vector of 2");
    expect_error("agent x { state y[2] in [0, 1]; private minimize 0 }\nconstraint c: x.y <= [1, 2, 3]",
                 "a relation needs equal shapes");
    expect_error("param a = quadform([1, 2], [[1, 2, 3], [1, 2, 3]])\n" AGENT, "quadform needs a 2 x 2 matrix second");
}

static void boxes_must_be_finite_and_in_order(void **state) {
    (void)state;
    put_file("box.csv", "low,high\n1,2\n5,4\n");
    expect_messages(
        "data d = csv \"box.csv\" public low, high\nagents f over d { state y in [low, high]; private minimize y }",
        "p.tacit:2:31: error: the box of 'y' for f[2] is empty: the lower bound 5 is above the upper bound 4\n"
        "    agents f over d { state y in [low, high]; private minimize y }\n"
        "                                  ^~~~~~~~~\n");
    expect_error("agent x { state y in [3, 2]; private minimize y }",
                 "the box of 'y' is empty: the lower bound 3 is above the upper bound 2");
    expect_error("agent x { state y; private minimize y }", "expected 'in' and the public box of the state");
    expect_error("agent x { state y in [0, 1]; private minimize y; slater y = 2 }",
                 "a Slater point leaves the box: 2 is outside of [0, 1]");
    expect_error("agent x { state y in [0, 1]; private minimize y; start y = -1 }",
                 "a start leaves the box: -1 is outside of [0, 1]");
    expect_error("agent x { state y[1e9] in [0, 1]; private minimize 0 }",
                 "the length of a state must be between 1 and 1000000");
}

static void what_one_agent_keeps_private_is_not_for_others(void **state) {
    (void)state;
    const char *agents =
        "agent a { state x in [0, 1]; private param w = 7; private minimize w * x }\n"
        "agents h[i in 1..2] { state p in [0, 1]; private param need = i + 1; private minimize need * p }\n";
    const char *uses[] = {
        "private param spy = a.w\nagent b { state y in [0, 1]; private minimize spy * y }\n",
        "private param spy = 1 + h[2].need\nagent b { state y in [0, 1]; private minimize spy * y }\n",
        "private param all = sum(h: need)\nagent b { state y in [0, 1]; private minimize all * y }\n",
        "private param v = [1, a.w]\nagent b { state y in [0, 1]; private minimize sum(v) * y }\n",
        "agent b { state y in [0, 1]; private minimize a.w * y }\n",
        "agent b { state y in [0, 1]; private set y <= a.w; private minimize y }\n",
        "agent b { state y in [0, 1]; private param v = h[1].need; private minimize v * y }\n",
        "agent b { state y in [0, 1]; start y = a.w; private minimize y }\n",
        /* of another member of the family */
        "agents g[i in 1..2] { state y in [0, 1]; private param v = i; private minimize g[2].v * y }\n",
        "agents g[i in 1..2] {state y in [0, 1]; private param v = i; private param u = g[1].v; private minimize y }\n",
    };
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "%s%s", agents, uses[i]);
        expect_error(text, "no parameter and no other agent may use it");
    }
}

static void private_data_stays_out_of_public_lines(void **state) {
    (void)state;
    put_file("homes.csv", "need,cap\n1,2\n5,6\n");
    const char *head = "data homes = csv \"homes.csv\" public cap\nprivate param w = 3\n";
    char text[2000];
    (void)snprintf(text, sizeof text, "%sagents home over homes {\n  state p in [0, need]\n  private minimize p\n}\n",
                   head);
    expect_messages(text,
                    "p.tacit:4:18: error: the upper bound of a state is public, but this uses the private 'need'\n"
                    "      state p in [0, need]\n"
                    "                     ^~~~\n"
                    "p.tacit:1:1: note: 'need' is private: columns"
                    " of 'homes' are, unless this line lists them as public; add 'public need' to make it public\n"
                    "    data homes = csv \"homes.csv\" public cap\n"
                    "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    static const struct {
        const char *block, *outside, *what;
    } cases[] = {
        {"gap need", "", "a gap is public, but this uses the private 'need'"},
        {"gap w", "", "a gap is public, but this uses the private 'w'"},
        {"slater p = need / 100", "", "a Slater point is public, but this uses the private 'need'"},
        {"param twice = 2 * need", "",
         "a 'param' without 'private' before it is public, but this uses the private 'need'"},
        {"private param u = 2 * cap; gap u", "", "a gap is public, but this uses the private 'u'"},
        {"", "constraint c: sum(home: need * p) <= 1", "a constraint is public, but this uses the private 'need'"},
        {"", "constraint c: sum(home: p) <= sum(home: need)",
         "a constraint is public, but this uses the private 'need'"},
        {"", "constraint c: home[2].p <= home[1].need", "a constraint is public, but this uses the private 'need'"},
        {"", "constraint c: sum(home: p) <= w", "a constraint is public, but this uses the private 'w'"},
        {"", "constraint c[i in 1..w]: sum(home: p) <= 1",
         "the last value of a range is public, but this uses the private 'w'"},
        {"", "private param s = [1, 2]; param n = length(s)",
         "a 'param' without 'private' before it is public, but this uses the private 's'"},
        {"", "private param s = [1, 2]; constraint c: length(s) * home[1].p <= 3",
         "a constraint is public, but this uses the private 's'"},
        {"", "param v = w + 1", "a 'param' without 'private' before it is public, but this uses the private 'w'"},
        {"", "dual radius w", "the dual radius is public, but this uses the private 'w'"},
        {"", "declare lipschitz jacobian home { l1 need }",
         "a declared constant is public, but this uses the private 'need'"},
        {"", "privacy { epsilon w }", "epsilon is public, but this uses the private 'w'"},
        {"", "schedule { gamma w k^-0.5 }", "gamma is public, but this uses the private 'w'"},
        {"", "start multipliers w", "a multiplier is public, but this uses the private 'w'"},
        {"", "agents g[i in 1..w] { state q in [0, 1]; private minimize q }", "the last value of a range is public"},
        {"state q[w] in [0, 1]", "", "the length of a state is public, but this uses the private 'w'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text,
                       "%sagents home over homes {\n  state p in [0, 1]\n  private minimize p\n  %s\n}\n%s\n", head,
                       cases[i].block, cases[i].outside);
        expect_error(text, cases[i].what);
    }
}

static void privacy_is_written_out(void **state) {
    (void)state;
    expect_error("agent x { state y in [0, 1]; minimize y }",
                 "an objective is private to its agent; write 'private minimize'");
    expect_error("agent x { state y in [0, 1]; private minimize y; set y <= 1 }",
                 "a set is private to its agent; write 'private set'");
    expect_error("agent x { private state y in [0, 1]; private minimize y }", "a state with its box is public");
    expect_error("private constraint c: 1 <= 2", "only 'param' can be private outside of an agent's block");
}

static void kinks_that_no_rewriting_takes_out_are_refused(void **state) {
    (void)state;
    expect_messages(
        AGENT "constraint c: 1 <= abs(x.y)",
        "p.tacit:2:20: error: this side of the relation must not have it: abs, max, pos and norms stand on the "
        "smaller side of <= or >=, and min on the larger one\n"
        "    constraint c: 1 <= abs(x.y)\n"
        "                       ^~~~~~~~\n");
    expect_error(AGENT "constraint c: min(x.y, 0) <= 1", "min on the larger one");
    expect_error(AGENT "constraint c: exp(abs(x.y)) <= 1", "no rewriting takes out");
    expect_error(AGENT "constraint c: abs(x.y)^3 <= 1", "no rewriting takes out");
    expect_error("agents f[i in 1..3] { state y in [-1, 1]; private minimize y }\n"
                 "constraint c: sum(f: abs(y)) <= 1",
                 "give an agent a state t with 'private set abs(u) <= t'");
    expect_error("agent x { state y[9] in [-1, 1]; private minimize 0 }\nconstraint c: norm1(x.y) <= 1",
                 "more than 16 rows");
    expect_error(AGENT "constraint c: norm(x.y) <= 0", "a norm that must be 0");
    expect_error(AGENT "constraint c: norm(x.y) <= -1", "a norm is never negative");
    expect_error("agent x { state y in [-1, 1]; private set abs(y) >= 0.5; private minimize y }", "smaller side");
    expect_error("agent x { state y in [-1, 1]; private minimize floor(y) }", "floor of a state is not continuous");
}

static void a_mix_of_numbers_and_vectors_says_what_it_means(void **state) {
    (void)state;
    expect_messages(
        "param v = [1, 2]\nparam w = max(0, v)\nagent x { state y in [0, 1]; private minimize y }",
        "p.tacit:2:11: error: max takes numbers, or one vector, of which it takes the largest element; element "
        "by element it is maximum(a, b), where a number goes with every element, and pos(u) for maximum(0, "
        "u)\n"
        "    param w = max(0, v)\n"
        "              ^~~~~~~~~\n");
    expect_error("agent x { state y[2] in [-1, 1]; private minimize max(y, [1, 2]) }",
                 "element by element it is maximum");
    expect_error("agent x { state y[2] in [-1, 1]; private minimize -min(0, y) }", "element by element it is minimum");
}

static void expressions_keep_to_their_agent(void **state) {
    (void)state;
    const char *two = "agents f[i in 1..3] { state y in [0, 1]; private minimize y }\n";
    char text[500];
    (void)snprintf(text, sizeof text, "%sconstraint c: sum(f: y * sum(f: y)) <= 1", two);
    expect_error(text, "a sum over agents cannot stand inside another sum over agents");
    (void)snprintf(text, sizeof text, "%sagent x { state z in [0, 1]; private minimize z * sum(f: y) }", two);
    expect_error(text, "a sum over agents cannot stand inside an agent's block");
    (void)snprintf(text, sizeof text, "%sagent x { state z in [0, 1]; private minimize z * f[1].y }", two);
    expect_error(text, "a state of another agent cannot be used inside a block");
    (void)snprintf(text, sizeof text, "%sconstraint c: f[4].y <= 1", two);
    expect_error(text, "the number of a member must be between 1 and 3, but this is 4");
    (void)snprintf(text, sizeof text, "%sparam a = f[1].y", two);
    expect_error(text, "the state 'y' cannot be used here: a parameter must be a constant");
}

static void other_things_that_make_no_sense(void **state) {
    (void)state;
    expect_error("", "this file is empty");
    expect_error(" \n\t\n", "this file is empty");
    expect_error("param a = 1", "this file describes no agent");
    expect_error("agent x { private minimize 0 }", "'x' has no state");
    expect_error("agent x { state y in [0, 1] }", "'x' has no objective");
    expect_error("agent x { state y in [0, 1]; private minimize y; private minimize y }", "'x' has two objectives");
    expect_error(AGENT "constraint c: x.y = 1", "an equality is written with two signs: ==");
    expect_error(AGENT "constraint c: x.y^2 == 1", "an equality must be affine in the states");
    expect_error(AGENT "constraint c: x.y < 1", "a strict inequality describes an open set; write <=");
    expect_error(AGENT "constraint c: x.y^x.y <= 1", "an exponent must be a constant");
    expect_error("agent x { state y in [0, 1]; private minimize huber(y, 0) }",
                 "the threshold of huber must be positive");
    expect_error("agent x { state y in [0, 1]; private minimize huber(1, y) }",
                 "the threshold of huber must not depend on states");
    expect_error("agent x { state y[2] in [0, 1]; private minimize y[y[1]] }",
                 "an index must be a whole number that does not depend on states");
    expect_error("state y in [0, 1]", "this statement stands inside an agent's block");
    expect_error(AGENT "dual radius 1\ndual radius 2", "this statement occurs twice");
    expect_error(AGENT "dual radius 0", "the dual radius must be positive, but this is 0");
    expect_error(AGENT "privacy { delta 1 }", "delta must be below 1");
    expect_error(AGENT "privacy { epsilon 1; epsilon 2 }", "'epsilon' is set twice");
    expect_error(AGENT "budget { delta 1e-6 }", "a budget has an epsilon");
    expect_error(AGENT "budget { epsilon 4; delta 1 }", "delta must be below 1");
    expect_error(AGENT "budget { epsilon 0 }", "epsilon must be positive, but this is 0");
    expect_error(AGENT "budget { epsilon 4; rounds 3 }", "budget has no 'rounds'");
    expect_error(AGENT "budget { epsilon 4 }\nbudget { epsilon 5 }", "this statement occurs twice");
    expect_error(AGENT "privacy { adjacency agent 0 }", "an adjacency bound must be positive, but this is 0");
    expect_error(AGENT "privacy { adjacency data 3 }", "adjacency data has no bound: 'protect need by 5'");
    expect_error(AGENT "privacy { adjacency one: }", "expected an expression");
    expect_error(AGENT "privacy { epsilon: 1 }", "a setting has no sign between name and value");
    expect_error(AGENT "schedule { gamma 1 k^0.5 }", "expected '-': steps shrink");
    expect_error(AGENT "schedule { rounds 2.5 }", "the number of rounds must be a whole number");
    expect_error("role cloud\nagent x { state y in [0, 1]; private minimize y }",
                 "a cloud's file holds nothing private");
    expect_error("role agent\n" AGENT "constraint c: x.y <= 1", "an agent's file holds no constraints");
    expect_error("role agent\n" AGENT "agent z { state y in [0, 1]; private minimize y }",
                 "an agent's file describes one agent");
    expect_error("role boss\n" AGENT, "a role is 'cloud' or 'agent'");
    expect_error("param a \xe2\x89\xa4 3", "write <= for");
    expect_error("param a = 2 ** 3", "write ^ for a power");
}

static void names_and_texts_have_a_length_limit(void **state) {
    (void)state;
    char *text = calloc(1, 3000000);
    assert_non_null(text);
    strcpy(text, "param ");
    memset(text + 6, 'a', 2500000);
    strcat(text, " = 1\n");
    expect_error(text, "a name has at most 200 characters");
    strcpy(text, "param a = csv \"");
    memset(text + 15, 'a', 2500000);
    strcat(text, "\"\n");
    expect_error(text, "a text in quotes has at most 4000 characters");
    memset(text, 0, 3000000);
    strcpy(text, "param a = ");
    memset(text + 10, '7', 2500000);
    expect_error(text, "this number is too large for a double");
    free(text);
}

static void unreadable_files_are_reported(void **state) {
    (void)state;
    bench b = load_path("missing.tacit");
    assert_int_equal(b.status, TC_BAD_USAGE);
    assert_string_equal(messages_of(&b), "missing.tacit: error: cannot read this file: No such file or directory\n");
    bench_free(&b);
    b = load_path("/tmp");
    assert_int_equal(b.status, TC_BAD_USAGE);
    assert_string_equal(messages_of(&b), "/tmp: error: cannot read this file: it is a folder\n");
    bench_free(&b);
}

static void memory_that_runs_out_is_a_status(void **state) {
    (void)state;
    const char *text = "agent x { state y[100000] in [0, 1]; private minimize sumsq(y) }";
    for (size_t limit = 1 << 14; limit < (size_t)1 << 25; limit *= 2) {
        tc_arena *arena = tc_arena_new(limit), *other = tc_arena_new(0);
        assert_non_null(arena);
        assert_non_null(other);
        tc_buffer messages = tc_buffer_new(other, 1 << 20);
        tc_model *model;
        tc_status status = tc_model_parse(arena, "p.tacit", text, strlen(text), NULL, &messages, &model);
        assert_true(status == TC_OK || status == TC_TOO_LARGE);
        assert_true((status == TC_OK) == (model != NULL));
        if (status == TC_TOO_LARGE)
            assert_string_equal(messages.text, "p.tacit: error: the problem is larger than this program's limits\n");
        tc_arena_free(arena);
        tc_arena_free(other);
    }
}

#define MEMBER(lines) "role agent\nagent x { " lines "; state y in [0, 1]; private minimize y }\n"

static void columns_are_for_files_of_agents(void **state) {
    (void)state;
    bench good = load_good(MEMBER("column i = 2; private column c = [1, i_2]") "param i_2 = 1 / 3\n");
    assert_int_equal(good.model->families[0].column_count, 3);
    assert_string_equal(good.model->families[0].columns[2].name, "c[2]");
    assert_true(good.model->families[0].columns[2].values[0] == 1.0 / 3 &&
                good.model->families[0].columns[2].is_private);
    bench_free(&good);
    expect_error("agent x { column c = 1; state y in [0, 1]; private minimize y }",
                 "p.tacit:1:11: error: a column stands in an agent's file alone, where 'tacit split' writes a member's "
                 "row; write 'param'");
    expect_error("agents x[i in 1..3] { column c = 1; state y in [0, c]; private minimize y }",
                 "a column stands in an agent's file alone");
    expect_error("role cloud\nagent x { column c = 1; state y in [0, 1] }", "a column stands in an agent's file alone");
    expect_error("column c = 1\n" AGENT, "this statement stands inside an agent's block");
    expect_error(MEMBER("column c = [[1, 2], [3, 4]]"),
                 "a column must be a number or a vector, but this is a 2 x 2 matrix");
    expect_error(MEMBER("column c = 1 / 0"), "error: ");
    expect_error(MEMBER("column c = w") "private param w = 2\n",
                 "a 'column' without 'private' before it is public, but this uses the private 'w'");
    expect_error(MEMBER("column c = 1; param c = 2"), "'c' is defined twice");
    expect_error(MEMBER("column c = c + 1"), "there is no 'c' here");
    expect_error(MEMBER("column = 1"), "expected the name of the column");
    expect_error(MEMBER("private column c = 1; slater y = c"), "is public, but this uses the private 'c'");
    expect_error(MEMBER("private column c = 1; state z[c] in [0, 1]"), "there is no 'c' here");
    expect_error(MEMBER("column c = 2; private set y^c <= 1"), "this part is not affine in the state");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_shows_its_place_line_and_caret),
        cmocka_unit_test(tabs_and_carriage_returns_do_not_move_the_caret),
        cmocka_unit_test(columns_count_characters_not_bytes),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_text),
        cmocka_unit_test(a_nul_byte_is_an_error),
        cmocka_unit_test(a_long_line_is_clipped_around_the_caret),
        cmocka_unit_test(names_near_a_known_one_are_suggested),
        cmocka_unit_test(a_name_of_a_block_is_explained_outside_of_it),
        cmocka_unit_test(signs_of_other_languages_are_answered_with_what_to_write),
        cmocka_unit_test(that_no_state_is_a_whole_number_is_said_once),
        cmocka_unit_test(statements_of_other_languages_are_answered_with_what_to_write),
        cmocka_unit_test(agents_meet_in_constraints_alone),
        cmocka_unit_test(all_errors_of_a_file_are_reported),
        cmocka_unit_test(errors_stop_after_twenty),
        cmocka_unit_test(what_is_not_closed_is_shown_where_it_was_opened),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(a_chain_of_operators_may_be_long),
        cmocka_unit_test(a_long_chain_of_definitions_is_an_error_not_a_crash),
        cmocka_unit_test(cycles_are_named),
        cmocka_unit_test(names_are_defined_once),
        cmocka_unit_test(numbers_must_be_well_formed_and_finite),
        cmocka_unit_test(ranges_are_limited),
        cmocka_unit_test(shapes_must_fit),
        cmocka_unit_test(boxes_must_be_finite_and_in_order),
        cmocka_unit_test(what_one_agent_keeps_private_is_not_for_others),
        cmocka_unit_test(private_data_stays_out_of_public_lines),
        cmocka_unit_test(privacy_is_written_out),
        cmocka_unit_test(kinks_that_no_rewriting_takes_out_are_refused),
        cmocka_unit_test(a_mix_of_numbers_and_vectors_says_what_it_means),
        cmocka_unit_test(expressions_keep_to_their_agent),
        cmocka_unit_test(other_things_that_make_no_sense),
        cmocka_unit_test(columns_are_for_files_of_agents),
        cmocka_unit_test(names_and_texts_have_a_length_limit),
        cmocka_unit_test(unreadable_files_are_reported),
        cmocka_unit_test(memory_that_runs_out_is_a_status),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
