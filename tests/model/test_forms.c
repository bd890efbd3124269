/* Forms that say the same thing in fewer words: maximize, chains of relations, lists, sets with indices. Each means
 * what its longer form means, and the parties' files have the numbers of the whole. */
#include "model/same.h"

#define OTHER "agent o { state z in [0, 2]; private minimize z^2 }\n"

/* ---- maximize ---- */

static void to_maximize_is_to_minimize_with_a_minus_sign(void **state) {
    (void)state;
    expect_same("agent a { state x[2] in [0, 2]; private maximize sum(sqrt(x + 1)) - sumsq(x) }\n",
                "agent a { state x[2] in [0, 2]; private minimize -(sum(sqrt(x + 1)) - sumsq(x)) }\n");
    expect_same("agent a { state x in [0, 2]; private maximize 3 }\n",
                "agent a { state x in [0, 2]; private minimize -3 }\n");
    bench b = load_good("agent a { state x in [0, 2]; private maximize x }\n" OTHER);
    assert_true(b.model->families[0].maximizes && !b.model->families[1].maximizes);
    bench_free(&b);
    expect_same_parts("agents a[i in 1..3] { state x in [0, 2]; private maximize log(x + i) - x * i }\n"
                      "constraint c: sum(a: x) <= 3\ndual radius 5\n");
}

static void an_agent_has_one_objective_of_either_kind(void **state) {
    (void)state;
    expect_error("agent a { state x in [0, 2]; private maximize x; private minimize x }\n",
                 "'a' has two objectives; add them up");
    expect_error("agent a { state x in [0, 2]; maximize x }\n",
                 "an objective is private to its agent; write 'private maximize'");
    expect_error("agent a { state x[2] in [0, 2]; private maximize x }\n",
                 "an objective must be a number, but this is a vector of 2");
}

/* ---- chains ---- */

static void a_chain_in_a_set_is_two_relations(void **state) {
    (void)state;
    expect_same("agent a { state x[2] in [-9, 9]; private minimize x[1]\n"
                "  private set 0.5 <= x <= [2, 3]\n"
                "  private set 4 >= x[1] + x[2] >= 1 }\n",
                "agent a { state x[2] in [-9, 9]; private minimize x[1]\n"
                "  private set 0.5 <= x; private set x <= [2, 3]\n"
                "  private set 4 >= x[1] + x[2]; private set x[1] + x[2] >= 1 }\n");
}

static void the_rows_of_a_chain_are_numbered(void **state) {
    (void)state;
    bench b = load_good("agent a { state x[2] in [-9, 9]; private minimize x[1] }\n"
                        "constraint c: 0 <= a.x[1] <= 2\n"
                        "constraint d: [1, 2] >= a.x >= -1\n"
                        "constraint e[i in 1..2]: 0 <= a.x[i] <= i\n"
                        "start c = [1, 2]\nstart d[4] = 5\n");
    static const struct {
        const char *name;
        double value, start; /* at x = (0.25, 0.5) */
    } rows[] = {{"c[1]", -0.25, 1},  {"c[2]", -1.75, 2}, {"d[1]", -0.75, 0},   {"d[2]", -1.5, 0},
                {"d[3]", -1.25, 0},  {"d[4]", -1.5, 5},  {"e[1,1]", -0.25, 0}, {"e[1,2]", -0.75, 0},
                {"e[2,1]", -0.5, 0}, {"e[2,2]", -1.5, 0}};
    double x[] = {0.25, 0.5};
    assert_int_equal(b.model->constraint_count, sizeof rows / sizeof rows[0]);
    for (size_t j = 0; j < b.model->constraint_count; j++) {
        assert_string_equal(b.model->constraints[j].name, rows[j].name);
        assert_true(constraint_at(b.model, j, x) == rows[j].value);
        assert_true(b.model->start_multipliers[j] == rows[j].start);
    }
    bench_free(&b);
}

static void chains_go_to_the_parties(void **state) {
    (void)state;
    put_file("n.csv", "need,cap\n0.5,3\n0.7,4\n");
    expect_same_parts("data d = csv \"n.csv\" public cap\nparam low = 0.1\nparam high = 7\n"
                      "agents a over d { state x[2] in [0, cap]; private minimize sumsq(x - need)\n"
                      "  private set need / 3 <= sum(x) <= cap * need }\n"
                      "constraint c: low <= sum(a: x) <= high\nstart c = [1, 2, 3, 4]\ndual radius 9\n");
}

static void a_chain_has_two_signs_that_point_the_same_way(void **state) {
    (void)state;
    static const char *const chains[] = {"0 <= x >= 1", "0 == x <= 1", "0 <= x == 1", "0 <= x <= 1 <= 2"};
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "agent a { state x in [0, 1]; private minimize x; private set %s }\n",
                       chains[i]);
        expect_error(text, "a chain has two signs that point the same way, a <= b <= c or a >= b >= c");
    }
    expect_messages("agent a { state x in [0, 1]; private minimize x }\nconstraint c: 0 <= a.x >= 1\n",
                    "p.tacit:2:24: error: a chain has two signs that point the same way, a <= b <= c or a >= b >= c; "
                    "write two lines\n"
                    "    constraint c: 0 <= a.x >= 1\n"
                    "                           ^~\n");
    expect_error("agent a { state x in [0, 1]; private minimize x; private set 0 <= x <= x^2 }\n",
                 "this part is not affine in the state");
}

/* ---- lists ---- */

static void a_list_is_the_vector_of_its_elements(void **state) {
    (void)state;
    expect_same("param v = [i in 0..2: 2^i]\n"
                "param M = [i in 1..2, j in 1..3: i + 10 * j]\n"
                "param N = [i in 1..2: v[i..i + 1]]\n"
                "agent a { state x[3] in [0, 2]; private minimize sum(M * x) + sum(N * x[1..2]) + dot(v, x)\n"
                "  private set [i in 1..3: x[i] * i] <= 4\n"
                "  private start x = [i in 1..3: i / 4] }\n"
                "constraint c: [i in 1..2: a.x[i] + a.x[i + 1]] <= [i in 1..2: i + 1]\n",
                "param v = [1, 2, 4]\n"
                "param M = [[11, 21, 31], [12, 22, 32]]\n"
                "param N = [[1, 2], [2, 4]]\n"
                "agent a { state x[3] in [0, 2]; private minimize sum(M * x) + sum(N * x[1..2]) + dot(v, x)\n"
                "  private set [x[1], x[2] * 2, x[3] * 3] <= 4\n"
                "  private start x = [0.25, 0.5, 0.75] }\n"
                "constraint c: [a.x[1] + a.x[2], a.x[2] + a.x[3]] <= [2, 3]\n");
}

static void a_list_may_use_data_indices_and_outer_names(void **state) {
    (void)state;
    put_file("w.csv", "bus,w_1,w_2\n2,0.5,0.25\n1,1.5,3\n");
    static const char text[] = "param fee = [3, 4]\ndata d = csv \"w.csv\" public bus\n"
                               "agents s[k] over d { state x[2] in [0, 2]\n"
                               "  private param u = [t in 1..2: w[t] * fee[bus] + k]\n"
                               "  private minimize sum([t in 1..2: (x[t] - u[t])^2]) }\n"
                               "constraint c: sum(s: [t in 1..2: sum(i in t..2: x[i]) / k]) <= 5\n"
                               "constraint e[t in 1..2]: sum([i in t..2: sum(s: x[i])]) <= 5\ndual radius 9\n";
    expect_same(text, "param fee = [3, 4]\ndata d = csv \"w.csv\" public bus\n"
                      "agents s[k] over d { state x[2] in [0, 2]\n"
                      "  private param u = [w[1] * fee[bus] + k, w[2] * fee[bus] + k]\n"
                      "  private minimize sum([(x[1] - u[1])^2, (x[2] - u[2])^2]) }\n"
                      "constraint c: sum(s: [(x[1] + x[2]) / k, x[2] / k]) <= 5\n"
                      "constraint e1: sum([sum(s: x[1]), sum(s: x[2])]) <= 5\n"
                      "constraint e2: sum([sum(s: x[2])]) <= 5\n");
    expect_same_parts(text);
}

static void a_list_keeps_the_label_of_its_elements(void **state) {
    (void)state;
    expect_error("private param w = 3\nparam v = [i in 1..2: w * i]\n" OTHER,
                 "a 'param' without 'private' before it is public, but this uses the private 'w'");
    expect_error("private param n = 3\nprivate param v = [i in 1..n: 1]\n" OTHER,
                 "the last value of a range is public, but this uses the private 'n'");
}

static void what_is_no_vector_is_refused(void **state) {
    (void)state;
    expect_messages("param v = [i in 1..0: i]\n" OTHER,
                    "p.tacit:1:17: error: this range is empty, and a vector has at least one element\n"
                    "    param v = [i in 1..0: i]\n"
                    "                    ^~~~\n");
    expect_error("param v = [i in 1..2: [j in 1..i: 1]]\n" OTHER, "the rows of a matrix are vectors of equal length");
    expect_error("param v = [i in 1..2, j in 1..2: [1, 2]]\n" OTHER,
                 "the rows of a matrix are vectors of equal length");
    expect_error("param v = [i in 1..2, j in 1..2, k in 1..2: 1]\n" OTHER, "a vector has one index and a matrix two");
    expect_error("param v = [i in 1..2 i]\n" OTHER, "expected ':' and the elements");
    expect_error("param v = [i in 1..2: i\n", "expected ']'");
    expect_error("param v = [i in 1..10000001: i]\n" OTHER, "this range has 10000001 elements");
}

/* A private vector may not be cut into its parts by a list where several agents would get the parts of the others. */
static void a_list_hides_no_pick_from_the_splitter(void **state) {
    (void)state;
    static const char *const texts[] = {
        "private param w = [1, 2]\n"
        "agents a[i in 1..2] { state x in [0, 1]; private minimize [t in 1..2: w[t]][i] * x }\ndual radius 1\n",
        "agents a[i in 1..2] { state x in [0, 1]; private minimize [t in 1..2: 3 * t][i] * x }\ndual radius 1\n",
        "private param w = [1, 2]\n"
        "agents a[i in 1..2] { state x in [0, 1]; private minimize dot(w, [t in 1..2: t]) * x }\ndual radius 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AT_CASE(i);
        bench b = load_good(texts[i]);
        size_t files;
        assert_int_equal(tc_split(b.arena, b.model, "refused", false, NULL, &b.messages, &files), TC_BAD_PROBLEM);
        bench_free(&b);
    }
}

/* ---- names and indices of sets ---- */

static void a_set_with_an_index_is_one_for_each_value(void **state) {
    (void)state;
    static const char text[] = "agents a[k in 1..2] { state p[3] in [0, 5]; private minimize sumsq(p)\n"
                               "  private set ramp[t in 1..2]: -1 <= p[t + 1] - p[t] <= k\n"
                               "  private set floor: p >= 0.1\n"
                               "  private set pair[t in 1..2]: p[t..t + 1] in ball(1, 3)\n"
                               "  private set every[i in 1..2, j in i..2]: p[i] + 2 * p[j + 1] <= 4 }\ndual radius 1\n";
    expect_same(text, "agents a[k in 1..2] { state p[3] in [0, 5]; private minimize sumsq(p)\n"
                      "  private set -1 <= p[2] - p[1]; private set p[2] - p[1] <= k\n"
                      "  private set -1 <= p[3] - p[2]; private set p[3] - p[2] <= k\n"
                      "  private set p >= 0.1\n"
                      "  private set p[1..2] in ball(1, 3); private set p[2..3] in ball(1, 3)\n"
                      "  private set p[1] + 2 * p[2] <= 4; private set p[1] + 2 * p[3] <= 4\n"
                      "  private set p[2] + 2 * p[3] <= 4 }\n");
    expect_same_parts(text);
}

static void the_name_of_a_set_may_be_any_and_its_range_empty(void **state) {
    (void)state;
    bench b = load_good("agent a { state p[2] in [0, 5]; private minimize p[1]\n"
                        "  private set p: p[1] <= 3\n"
                        "  private set none[t in 1..0]: p[t] <= 3\n"
                        "  private set p[1] <= 4 }\n");
    assert_int_equal(b.model->families[0].piece_count, 2);
    bench_free(&b);
    expect_error("agent a { state p[2] in [0, 5]; private minimize p[1]; private set c[t in 1..3]: p[t] <= 3 }\n",
                 "the index 3 is outside of 1..2");
    expect_error("agent a { state p[2] in [0, 5]; private minimize p[1]; private set c[t in 1..2] p[t] <= 3 }\n",
                 "expected ':' and the set, found 'p'");
}

/* ---- files in blocks ---- */

static void a_file_in_a_block_is_a_matrix_written_there(void **state) {
    (void)state;
    put_file("a.csv", "1,2.5\n-3,4\n0.1,6\n");
    put_file("v.csv", "0.1\n0.2\n");
    put_file("one.csv", "7\n");
    static const char text[] = "agents a[i in 1..2] { state x[2] in [0, 2]\n"
                               "  private param A = csv \"a.csv\"\n  param v = csv \"v.csv\"\n"
                               "  private param one = csv \"one.csv\"\n"
                               "  private minimize sumsq(A * x - one) + dot(v, x) * i\n"
                               "  private set A[2] * x <= one\n  slater x = v / 2\n  gap 1000 }\n"
                               "agent b { state y in [0, 1]; private param A = 3 * 0.1; private minimize A * y\n"
                               "  gap 1; slater y = 0 }\n"
                               "constraint c: sum(a: dot(v, x)) + a[1].v[2] * b.y <= 5\n";
    static const char longer[] = "agents a[i in 1..2] { state x[2] in [0, 2]\n"
                                 "  private param A = [[1, 2.5], [-3, 4], [0.1, 6]]\n  param v = [0.1, 0.2]\n"
                                 "  private param one = 7\n"
                                 "  private minimize sumsq(A * x - one) + dot(v, x) * i\n"
                                 "  private set A[2] * x <= one\n  slater x = v / 2\n  gap 1000 }\n"
                                 "agent b { state y in [0, 1]; private param A = 3 * 0.1; private minimize A * y\n"
                                 "  gap 1; slater y = 0 }\n"
                                 "constraint c: sum(a: dot(v, x)) + 0.2 * b.y <= 5\n";
    expect_same(text, longer);
    expect_same_parts(text);
}

static bench load_with(const char *text, const tc_given_matrix *matrices, size_t count) {
    bench b = bench_new();
    tc_load_request request = {.arena = b.arena, .path = "p.tacit", .text = text, .length = strlen(text)};
    request.messages = &b.messages;
    request.given = (tc_given){.matrices = matrices, .matrix_count = count};
    b.status = tc_model_load_request(&request, &b.model);
    return b;
}

static void a_program_gives_the_parameters_of_a_block_by_both_names(void **state) {
    (void)state;
    static const double numbers[] = {3, 5, 7, 11};
    const tc_given_matrix given[] = {{.name = "a.w", .values = numbers, .rows = 2, .columns = 1},
                                     {.name = "b.w", .values = numbers + 2, .rows = 2, .columns = 1}};
    static const char text[] =
        "agent a { state x[2] in [0, 2]; private param w = given; private minimize dot(w, x) }\n"
        "agent b { state x[2] in [0, 2]; param w = csv \"no.csv\"; private minimize dot(w, x) }\n"
        "agents c[given in 1..2] { state x in [0, 2]; param w = given; private minimize w * x }\n";
    bench b = load_with(text, given, 2);
    assert_string_equal(messages_of(&b), "");
    double x[] = {1, 2, 1, 2, 1, 1};
    assert_true(objective_at(b.model, 0, 0, x) == 13);
    assert_true(objective_at(b.model, 1, 0, x) == 29);
    assert_true(objective_at(b.model, 2, 1, x) == 2); /* there, `given` is the member's number */
    bench_free(&b);
    static const struct {
        const char *name, *text, *message;
    } wrong[] = {{"a.v", "agent a { state x in [0, 2]; param w = given; private minimize w * x }\n",
                  "a matrix 'a.v' is given, but no agent's block has a 'param v = given' or csv for it"},
                 {"a.w", "agent a { state x in [0, 2]; param w = 3; private minimize w * x }\n",
                  "a matrix 'a.w' is given, but the parameter has a value here; write 'given' instead"},
                 {"w", "agent a { state x in [0, 2]; param w = given; private minimize w * x }\n",
                  "no matrix 'a.w' is given: a program that loads this file gives it one"},
                 {"a.", "agent a { state x in [0, 2]; private minimize x }\n",
                  "the given matrix 'a.': a name is made of letters"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AT_CASE(i);
        tc_given_matrix one = {.name = wrong[i].name, .values = numbers, .rows = 1, .columns = 1};
        bench bad = load_with(wrong[i].text, &one, 1);
        assert_int_equal(bad.status, TC_BAD_PROBLEM);
        assert_non_null(strstr(messages_of(&bad), wrong[i].message));
        bench_free(&bad);
    }
    const tc_given_matrix twice[] = {given[0], given[0]};
    bench bad = load_with("agent a { state x in [0, 2]; param w = given; private minimize sum(w) * x }\n", twice, 2);
    assert_non_null(strstr(messages_of(&bad), "a matrix 'a.w' is given twice"));
    bench_free(&bad);
}

static void a_private_file_goes_to_its_owner_alone(void **state) {
    (void)state;
    char numbers[3000] = "";
    for (int i = 0; i < 300; i++)
        (void)snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), "%d\n", 40000 + i);
    put_file("secret.csv", "71131,2\n3,4\n");
    put_file("many.csv", numbers);
    bench b = load_good("agent a { state x[2] in [0, 2]; private param A = csv \"secret.csv\"\n"
                        "  param many = csv \"many.csv\"\n"
                        "  private minimize sumsq(A * x)\n  gap many[1]; slater x = 0 }\n"
                        "agent b { state y in [0, 1]; private minimize y; gap 1; slater y = 0 }\n"
                        "constraint c: a.x[1] * a.many[300] + b.y <= 5\n");
    tc_arena *arena = tc_arena_new((size_t)1 << 30);
    tc_split_parts parts = {.arena = arena, .most = (size_t)1 << 20};
    const tc_split_wishes wishes = {.parts = &parts};
    size_t files;
    assert_int_equal(tc_split_with(b.arena, b.model, &wishes, NULL, &b.messages, &files), TC_OK);
    assert_int_equal(files, 4);
    for (size_t i = 0; i < parts.count; i++) {
        bool is_owner = strcmp(parts.list[i].name, "agents/a.tacit") == 0;
        assert_true((strstr(parts.list[i].text, "71131") != NULL) == is_owner);
        assert_null(strstr(parts.list[i].text, "secret"));
        if (strcmp(parts.list[i].name, "cloud.a.many.csv") == 0)
            assert_string_equal(parts.list[i].text, numbers);
    }
    tc_arena_free(arena);
    bench_free(&b);
}

static void a_private_file_of_a_family_is_known_to_all_members(void **state) {
    (void)state;
    put_file("w.csv", "1\n2\n");
    static const char *const refused[] = {
        "agents a[i in 1..2] { state x in [0, 1]; private param w = csv \"w.csv\"; private minimize w[i] * x }\n",
        "private param w = [5, 6]\nagents a[i in 1..2] { state x in [0, 1]; param v = csv \"w.csv\"\n"
        "  private minimize dot(w, v) * x }\n"};
    for (size_t i = 0; i < 2; i++) {
        AT_CASE(i);
        bench b = load_good(refused[i]);
        size_t files;
        assert_int_equal(tc_split(b.arena, b.model, "refused", false, NULL, &b.messages, &files), TC_BAD_PROBLEM);
        bench_free(&b);
    }
    expect_same_parts("agents a[i in 1..2] { state x[2] in [0, 1]; private param w = csv \"w.csv\"\n"
                      "  private minimize dot(w, x) }\n");
}

static void what_is_wrong_with_a_file_in_a_block_is_said_once(void **state) {
    (void)state;
    put_file("bad.csv", "1,x\n");
    static const char text[] = "agents a[i in 1..2] { state x[2] in [0, 2]; param A = csv \"bad.csv\"\n"
                               "  private minimize sum(A) * x[1] }\n"
                               "constraint c: sum(a: A[1] * x[1]) + a[1].A[1] <= 5\n";
    bench b = load_bytes(text, strlen(text));
    const char *first = strstr(messages_of(&b), "error:");
    assert_non_null(first);
    assert_null(strstr(first + 1, "error:"));
    bench_free(&b);
    expect_error("agent a { state x in [0, 2]; param A = csv \"missing.csv\"; private minimize A * x }\n",
                 "missing.csv");
}

/* ---- exponents ---- */

static void an_exponent_may_be_a_number_of_the_members_own(void **state) {
    (void)state;
    put_file("e.csv", "e,w_1,w_2\n1.5,1,2\n2,0.5,3\n");
    static const char text[] = "data d = csv \"e.csv\"\nagents a[i] over d { state x[2] in [0.1, 3]\n"
                               "  private param q = e / 2 + i\n"
                               "  private minimize sum(w * x^e) + pow(x[1], q) - sum(x)^i + dot(w^e, x) }\n";
    bench b = load_good(text);
    const double e[] = {1.5, 2}, w[][2] = {{1, 2}, {0.5, 3}};
    double x[] = {0.7, 1.25, 1.5, 0.3}; /* by component: x[1] of both members, then x[2] */
    for (size_t k = 0; k < 2; k++) {
        double one = x[k], two = x[2 + k], q = e[k] / 2 + (double)k + 1;
        double value = w[k][0] * pow(one, e[k]) + w[k][1] * pow(two, e[k]) + pow(one, q) -
                       pow(one + two, (double)k + 1) + pow(w[k][0], e[k]) * one + pow(w[k][1], e[k]) * two;
        assert_true(fabs(objective_at(b.model, 0, k, x) - value) <= 1e-14 * fabs(value));
    }
    bench_free(&b);
    expect_same_parts(text);
    expect_same_parts("data d = csv \"e.csv\" public e\nagents a[i] over d { state x[2] in [0, 3]\n"
                      "  private minimize sum(w * x) }\n"
                      "constraint c: sum(a: x[1]^e + sum(x)^(2 * i)) + a[2].x[1]^a[1].e <= 5\ndual radius 1\n");
}

static void a_vector_of_exponents_goes_element_by_element(void **state) {
    (void)state;
    put_file("e.csv", "e,w_1,w_2\n1.5,1,2\n2,0.5,3\n");
    expect_same(
        "param e = [1, 2, 0.5]\nagent a { state x[3] in [0.1, 3]\n"
        "  private minimize sum(x^e) + dot(2^e, x) + dot(e^e, x) + sum(sum(x)^[3, 2]) + sum(pow(x, e)) }\n" OTHER,
        "agent a { state x[3] in [0.1, 3]\n"
        "  private minimize sum([x[1]^1, x[2]^2, x[3]^0.5]) + dot([2, 4, 2^0.5], x) + dot([1, 4, 0.5^0.5], x) +\n"
        "    sum([sum(x)^3, sum(x)^2]) + sum([x[1]^1, x[2]^2, x[3]^0.5]) }\n" OTHER);
    static const char members[] = "data d = csv \"e.csv\"\nagents a[i] over d { state x[2] in [0.1, 3]\n"
                                  "  private minimize sum(x^w) + sum(x^[i, e]) }\n";
    expect_same(members, "data d = csv \"e.csv\"\nagents a[i] over d { state x[2] in [0.1, 3]\n"
                         "  private minimize x[1]^w[1] + x[2]^w[2] + (x[1]^i + x[2]^e) }\n");
    expect_same_parts(members);
}

static void what_cannot_be_an_exponent_is_refused(void **state) {
    (void)state;
    put_file("e.csv", "e,w_1,w_2\n1.5,1,2\n2,0.5,3\n");
    expect_error("data d = csv \"e.csv\"\nagents a over d { state x in [0, 1]; private minimize x }\n"
                 "constraint c: sum(a: x^e) <= 1\n",
                 "a constraint is public, but this uses the private 'e'");
    expect_error("agents a[i in 1..2] { state x in [0, 1]; private minimize 2^(x * i) }\n",
                 "an exponent must be a constant; for a power of a fixed base write exp(x * log(a))");
    expect_error("agent a { state x[2] in [0, 1]; private minimize sum(x^[[1, 2], [2, 3]]) }\n",
                 "an exponent must be a number or a vector, but this is a 2 x 2 matrix");
    expect_error("agent a { state x[2] in [0, 1]; private minimize sum(x^[1, 2, 3]) }\n",
                 "^ needs equal shapes: the left side is a vector of 2, the right side a vector of 3");
    expect_error("agent a { state x[2] in [0, 1]; private minimize sum([-1, 2]^[1, 0.5] * x) + 0^[-1, 1][1] }\n",
                 "a negative power needs a base that is not zero");
    expect_error("data d = csv \"e.csv\"\nagents a over d { state x[2] in [0, 1]; private minimize sum(x) }\n"
                 "constraint c: sum(a: sum(x^w)) <= 1\n",
                 "a constraint is public, but this uses the private 'w'");
    expect_error("agents a[i in 1..3] { state x in [0, 1]; private minimize (i - 2)^(i - 3) * x }\n",
                 "a power must be a finite number, but this is inf for a[2]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_maximize_is_to_minimize_with_a_minus_sign),
        cmocka_unit_test(an_agent_has_one_objective_of_either_kind),
        cmocka_unit_test(a_chain_in_a_set_is_two_relations),
        cmocka_unit_test(the_rows_of_a_chain_are_numbered),
        cmocka_unit_test(chains_go_to_the_parties),
        cmocka_unit_test(a_chain_has_two_signs_that_point_the_same_way),
        cmocka_unit_test(a_list_is_the_vector_of_its_elements),
        cmocka_unit_test(a_list_may_use_data_indices_and_outer_names),
        cmocka_unit_test(a_list_keeps_the_label_of_its_elements),
        cmocka_unit_test(what_is_no_vector_is_refused),
        cmocka_unit_test(a_list_hides_no_pick_from_the_splitter),
        cmocka_unit_test(a_set_with_an_index_is_one_for_each_value),
        cmocka_unit_test(the_name_of_a_set_may_be_any_and_its_range_empty),
        cmocka_unit_test(a_file_in_a_block_is_a_matrix_written_there),
        cmocka_unit_test(a_program_gives_the_parameters_of_a_block_by_both_names),
        cmocka_unit_test(a_private_file_goes_to_its_owner_alone),
        cmocka_unit_test(a_private_file_of_a_family_is_known_to_all_members),
        cmocka_unit_test(what_is_wrong_with_a_file_in_a_block_is_said_once),
        cmocka_unit_test(an_exponent_may_be_a_number_of_the_members_own),
        cmocka_unit_test(a_vector_of_exponents_goes_element_by_element),
        cmocka_unit_test(what_cannot_be_an_exponent_is_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
