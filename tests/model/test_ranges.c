/* `range`, `protect` and `distance`: what they mean, that data are moved into their ranges before anything is computed
 * from them, and what is refused. */
#include "model/same.h"

static const tc_datum *datum_of(const bench *b, const char *name) {
    const tc_family *family = &b->model->families[0];
    for (size_t d = 0; d < family->datum_count; d++) {
        if (strcmp(family->data[d].name, name) == 0)
            return &family->data[d];
    }
    fail_msg("no datum '%s'", name);
    return NULL;
}

static double held(const bench *b, const tc_datum *datum, size_t component, size_t member) {
    return b->model->families[0].columns[datum->columns[component]].values[member];
}

/* Whether the objective has a leaf for every component of the datum. */
static bool in_objective(const bench *b, const tc_datum *datum) {
    const tc_dag *dag = b->model->dag;
    size_t count, found = 0;
    const tc_expr *nodes = tc_reachable(b->arena, dag, &b->model->families[0].objective, 1, &count);
    for (size_t c = 0; c < datum->count; c++) {
        for (size_t i = 0; i < count; i++) {
            const tc_node *n = tc_node_of(dag, nodes[i]);
            found += n->op == TC_DATA && n->family == 0 && n->u.index == datum->columns[c] && n->is_private;
        }
    }
    return found == datum->count;
}

static void put_homes(void) { put_file("h.csv", "need,cap,pref_1,pref_2\n10,4,1,2\n45,6,8,-1\n41,5,3,9\n"); }

#define HOMES "data homes = csv \"h.csv\" public cap\n"
#define HOME "agents home over homes { state p[2] in [0, 9]; private minimize sumsq(p - pref) + need * p[1]\n"

static void ranges_are_data_with_public_bounds(void **state) {
    (void)state;
    put_homes();
    bench b = load_good(HOMES HOME "  protect pref by [0.5, 1], need by cap\n"
                                   "  range need in [0, 10 * cap],\n        pref in [[0, -2], 2 * cap]\n}\n");
    const tc_datum *need = datum_of(&b, "need"), *pref = datum_of(&b, "pref");
    assert_int_equal(b.model->families[0].datum_count, 2);
    assert_int_equal(need->count, 1);
    assert_int_equal(pref->count, 2);
    assert_true(in_objective(&b, need) && in_objective(&b, pref));
    assert_true(need->upper[0].column[1] == 60 && need->lower[0].value == 0);
    assert_true(pref->lower[1].value == -2 && tc_coef_at(pref->upper[1], 2) == 10);
    assert_true(pref->by[0].value == 0.5 && pref->by[1].value == 1 && need->by[0].column[2] == 5);
    assert_true(isnan(need->distances[0]) && isnan(need->distances[1]));
    bench_free(&b);
}

static void private_parameters_with_a_range_are_columns(void **state) {
    (void)state;
    put_file("t.csv", "1,2,5\n");
    bench b = load_good("agents a[i in 1..3] { state x[3] in [0, 9]\n"
                        "  private param w = 2 * k\n  private param k = 1.5\n  private param t = csv \"t.csv\"\n"
                        "  private minimize w * sumsq(x - t) + x[1]; private set sum(x) <= w + 1\n"
                        "  range w in [1, i], t in [0, 4] }\n");
    const tc_datum *w = datum_of(&b, "w"), *t = datum_of(&b, "t");
    assert_true(in_objective(&b, w) && in_objective(&b, t));
    assert_int_equal(t->count, 3);
    for (size_t k = 0; k < 3; k++) {
        assert_true(held(&b, w, 0, k) == (double)k + 1);
        assert_true(tc_coef_at(b.model->families[0].pieces[0].radius, k) == (double)k + 2);
        assert_true(held(&b, t, 1, k) == 2 && held(&b, t, 2, k) == 4);
    }
    assert_string_equal(b.model->families[0].columns[w->columns[0]].name, "w");
    assert_string_equal(b.model->families[0].columns[t->columns[2]].name, "t[3]");
    assert_int_equal(w->outside.members, 2);
    assert_int_equal(t->outside.members, 3);
    bench_free(&b);
}

/* Derived numbers, sets and starts are made of the data in the range. */
static void data_are_moved_before_anything_is_computed_from_them(void **state) {
    (void)state;
    put_homes();
    bench b = load_good(HOMES "agents home over homes { state p[2] in [0, 50]\n"
                              "  private param half = need / 2\n  private minimize half * p[1] + sumsq(p - pref)\n"
                              "  private set sum(p) >= need; private start p = [half, need]\n"
                              "  range need in [0, 40], pref in [0, [7, 8]] }\n");
    const double used[] = {10, 40, 40};
    const tc_family *home = &b.model->families[0];
    const tc_datum *need = datum_of(&b, "need"), *pref = datum_of(&b, "pref");
    for (size_t k = 0; k < 3; k++) {
        assert_true(held(&b, need, 0, k) == used[k]);
        assert_true(tc_coef_at(home->pieces[0].radius, k) == -used[k]);
        assert_true(tc_coef_at(home->start[0], k) == used[k] / 2 && tc_coef_at(home->start[1], k) == used[k]);
    }
    assert_true(held(&b, pref, 0, 1) == 7 && held(&b, pref, 1, 1) == 0 && held(&b, pref, 1, 2) == 8);
    assert_int_equal(need->outside.members, 2);
    assert_int_equal(need->outside.member, 1);
    assert_true(need->outside.from == 45 && need->outside.to == 40 && need->outside.upper == 40);
    assert_int_equal(pref->outside.members, 2); /* the second with both components */
    bench_free(&b);
}

static void a_program_s_arrays_and_another_family_keep_their_numbers(void **state) {
    (void)state;
    double need[] = {1, 50};
    const tc_given_column columns[] = {{.name = "need", .values = need, .length = 1}};
    const tc_given_table table = {.name = "homes", .rows = 2, .columns = columns, .column_count = 1};
    static const char text[] = "data homes = given\n"
                               "agents a over homes { state x in [0, 1]; private minimize need * x\n"
                               "  range need in [0, 40] }\n"
                               "agents b over homes { state x in [0, 1]; private minimize need * x }\n";
    bench b = bench_new();
    const tc_load_request request = {.arena = b.arena,
                                     .path = "p.tacit",
                                     .text = text,
                                     .length = strlen(text),
                                     .messages = &b.messages,
                                     .given = {.tables = &table, .table_count = 1}};
    assert_int_equal(tc_model_load_request(&request, &b.model), TC_OK);
    assert_true(need[1] == 50);
    assert_true(held(&b, datum_of(&b, "need"), 0, 1) == 40);
    assert_true(b.model->families[1].columns[0].values[1] == 50);
    bench_free(&b);
}

static void what_two_blocks_read_is_not_protected(void **state) {
    (void)state;
    put_homes();
    expect_error(HOMES HOME "range need in [0, 40]; protect need by 5 }\n"
                            "agents car over homes { state y in [0, 9]; private minimize (y - need)^2 }\n",
                 "'need' cannot be protected: 'car' reads the same column");
    bench b = load_good(HOMES HOME "range need in [0, 40]; protect need by 5 }\n"
                                   "agents car over homes { state y in [0, 9]; private minimize (y - pref[1])^2 }\n");
    bench_free(&b);
}

#define BLOCK_OF(name, lines)                                                                                          \
    "agent " name " { state x in [0, 5]; private minimize sumsq(x - u) + 2 * sum(u) * x\n  " lines                     \
    "\n  range u in [0, 9]; protect u by 0.5 }\n"
#define FAMILY_OF(name, lines)                                                                                         \
    "agents " name " { state x in [0, 5]; private minimize sumsq(x - u) + 2 * sum(u) * x\n  " lines                    \
    "\n  range u in [0, 9]; protect u by 0.5 }\n"

/* One run would show a number that several agents have: each tells of it. */
static void what_several_agents_share_is_not_protected(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {FAMILY_OF("home[i in 1..1000]", "private param u = 3.2"), "all 1000 members of 'home' share this number"},
        {FAMILY_OF("home[i in 1..2]", "private param u = [1, 2]"), "all 2 members of 'home' share this number"},
        {FAMILY_OF("home[i in 1..2]", "private param u = csv \"t.csv\""), "all 2 members of 'home' share this number"},
        {HOMES FAMILY_OF("home over homes", "private param u = 3"), "all 3 members of 'home' share this number"},
        {"private param t = 3\n" FAMILY_OF("home[i in 1..9]", "private param u = t"), "all 9 members of 'home' share"},
        {"private param t = 3\n" BLOCK_OF("a", "private param u = t"), "it is computed from 't', which stands outside"},
        {"private param t = 3\n" BLOCK_OF("a", "private param u = 2 * t * t"), "it is computed from 't', which"},
        {"private param s = 1\nprivate param t = s + 1\n" BLOCK_OF("a", "private param u = 2 + t"), "from 's', which"},
        {"private param t = 3\n" BLOCK_OF("a", "private param v = t; private param u = v"), "from 't', which"},
        {"private param t = [1, 2]\n" BLOCK_OF("a", "private param u = t"), "from 't', which stands outside"},
        {"private param t = [1, 2]\n" BLOCK_OF("a", "private param u = t[2]"), "from 't', which stands outside"},
        {"private param t = [1, 2]\n" BLOCK_OF("a", "private param u = [t[1], 4]"), "from 't', which stands outside"},
        {"private param t = [1, 2]\n" BLOCK_OF("a", "private param u = sum(t)"), "from 't', which stands outside"},
        {"private param t = [1, 2]\n" BLOCK_OF("a", "private param u = sum(k in 1..2: k * t[k])"), "from 't', which"},
        {"private param t = [[1, 2], [3, 4]]\n" BLOCK_OF("a", "private param u = t[1]"), "from 't', which stands"},
        {"private param t = [[1, 2], [3, 4]]\n" BLOCK_OF("a", "private param u = t * [1, 1]"),
         "from 't', which stands"},
        {"private param t = 2\nparam c = [1, 2]\n" BLOCK_OF("a", "private param u = c[t]"), "from 't', which stands"},
        {"private param t = [1, 2]\n" BLOCK_OF("a", "private param u = length(t)"), "from 't', which stands outside"},
        {"private param t = csv \"t.csv\"\n" BLOCK_OF("a", "private param u = t"), "from 't', which stands outside"},
        {"private param t = 4\n" BLOCK_OF("a", "private param u = sqrt(t)") BLOCK_OF("b", "private param u = t * t"),
         "from 't', which stands outside"},
        {"private param t = 1\n" FAMILY_OF("home[i in 1..1]", "private param u = t"), "from 't', which stands outside"},
        /* Of one agent too: what it was computed from is not protected, and tells of it. */
        {BLOCK_OF("a", "private param v = 3; private param u = v"), "it is computed from 'v': give 'v' the range"},
    };
    put_homes();
    put_file("t.csv", "1,2,5\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AT_CASE(i);
        expect_error(cases[i].text, "'u' cannot be protected: ");
        expect_error(cases[i].text, cases[i].message);
    }
    expect_messages("private param t = 3\nagent a { state x in [0, 5]; private minimize (x - u)^2\n"
                    "  private param u = t; range u in [0, 9]; protect u by 0.5 }\n",
                    "p.tacit:3:51: error: 'u' cannot be protected: it is computed from 't', which stands outside of "
                    "the blocks, where several agents may share it; where 'a' alone has this number, declare 't' in "
                    "the block of 'a' and protect it there\n"
                    "      private param u = t; range u in [0, 9]; protect u by 0.5 }\n"
                    "                                                      ^\n"
                    "p.tacit:1:1: note: 't' is declared private here\n");
}

/* The same array, and the same file by any path, are the same numbers. A file's name is not. */
static void what_is_read_twice_is_not_protected(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"data homes = csv \"h.csv\"\ndata cars = csv \"./h.csv\"\n" HOME
         "  range need in [0, 40]; protect need by 5 }\n"
         "agents car over cars { state y in [0, 9]; private minimize (y - need)^2 }\n",
         "'need' cannot be protected: 'car' reads the same column"},
        {"data homes = csv \"h.csv\"\ndata cars = csv \"link.csv\"\n" HOME
         "  range need in [0, 40]; protect need by 5 }\n"
         "agents car over cars { state y in [0, 9]; private minimize (y - need)^2 }\n",
         "'need' cannot be protected: 'car' reads the same column"},
        {"data homes = csv \"h.csv\"\ndata cars = csv \"link.csv\" public need\n" HOME
         "  range need in [0, 40]; protect need by 5 }\n"
         "agents car over cars { state y in [0, 9]; private minimize y^2 }\n",
         "'need' cannot be protected: 'car' reads the same column"},
        {BLOCK_OF("a", "private param u = csv \"t.csv\"") BLOCK_OF("b", "private param u = csv \"./t.csv\""),
         "'u' cannot be protected: 'u' of 'b' has the same numbers"},
        {"private param t = csv \"t.csv\"\n" BLOCK_OF("a", "private param u = csv \"t.csv\""),
         "'u' cannot be protected: 't' has the same numbers"},
        {"param t = csv \"t.csv\"\n" BLOCK_OF("a", "private param u = csv \"t.csv\""),
         "'u' cannot be protected: 't' has the same numbers"},
        {BLOCK_OF("a", "private param u = csv \"t.csv\"; private param v = csv \"t.csv\""),
         "'u' cannot be protected: 'v' of 'a' has the same numbers"},
    };
    put_homes();
    put_file("t.csv", "1,2,5\n");
    assert_int_equal(symlink("h.csv", "link.csv"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AT_CASE(i);
        expect_error(cases[i].text, cases[i].message);
    }
    put_file("other.csv", "need,cap,pref_1,pref_2\n10,4,1,2\n");
    bench b = load_good("data homes = csv \"h.csv\"\ndata cars = csv \"other.csv\"\ndata same = csv \"link.csv\"\n" HOME
                        "  range need in [0, 40]; protect need by 5 }\n"
                        "agents car over cars { state y in [0, 9]; private minimize (y - need)^2 }\n"
                        "agents bus over same { state y in [0, 9]; private minimize (y - cap)^2 }\n");
    bench_free(&b);
}

static const double given_numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

/* 12 numbers of a program: need of a, and another column or matrix at `values`. */
static tc_status give(const double *values, size_t row_stride, bool is_matrix, const char *message) {
    const double *numbers = given_numbers;
    const tc_given_column of_homes[] = {{.name = "need", .values = numbers, .length = 1, .row_stride = 3}};
    const tc_given_column of_cars[] = {{.name = "goal", .values = values, .length = 1, .row_stride = row_stride}};
    const tc_given_table tables[] = {{.name = "homes", .rows = 4, .columns = of_homes, .column_count = 1},
                                     {.name = "cars", .rows = 2, .columns = of_cars, .column_count = 1}};
    const tc_given_matrix matrices[] = {{.name = "b.u", .values = values, .rows = 1, .columns = 1}};
    static const char text[] = "data homes = given\n"
                               "agents a over homes { state x in [0, 1]; private minimize need * x\n"
                               "  range need in [0, 40]; protect need by 1 }\n";
    const char *more = is_matrix ? "agent b { state x in [0, 5]; private param u = given; private minimize u * x }\n"
                                 : "data cars = given\n"
                                   "agents b over cars { state x in [0, 1]; private minimize goal * x }\n";
    char whole[600];
    (void)snprintf(whole, sizeof whole, "%s%s", text, more);
    bench b = bench_new();
    const tc_load_request request = {.arena = b.arena,
                                     .path = "p.tacit",
                                     .text = whole,
                                     .length = strlen(whole),
                                     .messages = &b.messages,
                                     .given = {tables, is_matrix ? 1 : 2, matrices, is_matrix}};
    tc_status status = tc_model_load_request(&request, &b.model);
    assert_true(status == TC_OK || strstr(messages_of(&b), message) != NULL);
    bench_free(&b);
    return status;
}

static void what_is_given_twice_is_not_protected(void **state) {
    (void)state;
    const double *numbers = given_numbers;
    const char *message = "'need' cannot be protected: 'goal' of 'b' has the same numbers";
    assert_int_equal(give(numbers, 3, false, message), TC_BAD_PROBLEM);
    assert_int_equal(give(numbers + 6, 1, false, message), TC_BAD_PROBLEM);
    assert_int_equal(give(numbers + 1, 2, false, message), TC_BAD_PROBLEM); /* places 1 and 3 */
    assert_int_equal(give(numbers + 9, 0, true, "'need' cannot be protected: 'u' of 'b' has the same numbers"),
                     TC_BAD_PROBLEM);
    /* Another column of an array that holds rows. */
    assert_int_equal(give(numbers + 1, 3, false, message), TC_OK);
    assert_int_equal(give(numbers + 1, 1, false, message), TC_OK);
    assert_int_equal(give(numbers + 10, 0, true, message), TC_OK);
}

static void an_agent_s_file_moves_its_own_data(void **state) {
    (void)state;
    bench b = load_good("role agent\nprivate param all = [45, 7]\nagent \"home[2]\" {\n  private column need = all[1]\n"
                        "  column cap = 4\n"
                        "  private column pref = [3, 9]\n  state p[2] in [0, 9]\n"
                        "  private minimize sumsq(p - pref) + need * p[1]\n  private set sum(p) <= need\n"
                        "  range need in [0, 10 * cap], pref in [0, 2 * cap]\n  protect need by 100\n"
                        "  distance need { l1 5.5; l2 0.1 }\n}\n");
    const tc_datum *need = datum_of(&b, "need"), *pref = datum_of(&b, "pref");
    assert_true(held(&b, need, 0, 0) == 40 && held(&b, pref, 1, 0) == 8);
    assert_true(tc_coef_at(b.model->families[0].pieces[0].radius, 0) == 40);
    assert_true(need->distances[0] == 5.5 && need->distances[1] == 0.1);
    assert_true(tc_coef_at(need->by[0], 0) == 40); /* no wider than the range */
    bench_free(&b);
}

static void a_cloud_s_file_knows_ranges_alone(void **state) {
    (void)state;
    bench b = load_good("role cloud\nagents home[m in 1..3] { state p[2] in [0, 9]\n"
                        "  range need in [0, 40], pref[24] in [0, m]\n  protect need by 5, pref by 0.5\n"
                        "  distance need { l1 5; l2 5 } }\nconstraint c: sum(home: p[1]) <= 3\n");
    const tc_datum *need = datum_of(&b, "need"), *pref = datum_of(&b, "pref");
    assert_null(need->columns);
    assert_null(pref->columns);
    assert_int_equal(pref->count, 24);
    assert_true(pref->upper[23].column[2] == 3 && pref->by[23].value == 0.5);
    assert_true(need->distances[1] == 5 && isnan(pref->distances[0]));
    bench_free(&b);
}

/* Rounded down, the width would be less than what two agents can differ by. */
static void what_is_hidden_is_at_most_the_width_rounded_up(void **state) {
    (void)state;
    bench b =
        load_good("agent a { state x in [0, 1]; private param w = 1; private param v = 0; private minimize w * x + v\n"
                  "  range w in [-1e-17, 1], v in [0, 40]; protect w by 2, v by 3 }\n");
    assert_true(datum_of(&b, "w")->by[0].value == 0x1.0000000000001p0);
    assert_true(datum_of(&b, "v")->by[0].value == 3);
    bench_free(&b);
    put_homes();
    b = load_good(HOMES HOME "  range need in [0, cap]; protect need by 5 }\n"); /* each member by its own width */
    for (size_t k = 0; k < 3; k++)
        assert_true(tc_coef_at(datum_of(&b, "need")->by[0], k) == (k == 0 ? 4 : 5));
    bench_free(&b);
}

#define ONE                                                                                                            \
    "agent a { state x in [0, 1]; private param w = 3; private param u = [1, 2]; param c = 1\n"                        \
    "  private minimize w * x + sum(u); "

static void wrong_lines_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"range c in [0, 1]", "'c' is public: public data need no range"},
        {"range g in [0, 1]", "'g' is public: public data need no range"},
        {"range x in [0, 1]", "'x' is a state, whose box is its public range; a range is for private data"},
        {"range s in [0, 1]", "'s' stands outside of the blocks, where several agents may share it"},
        {"range z in [0, 1]", "'a' has no private data 'z'"},
        {"range a in [0, 1]", "'a' is not private data of 'a'"},
        {"range w in [2, 1]", "the range of 'w' is empty: the lower bound 2 is above the upper bound 1"},
        {"range w in [0, s]", "the upper bound of a range is public, but this uses the private 's'"},
        {"range w in [x, 3]", "the state 'x' cannot be used here: the lower bound of a range must be a constant"},
        {"range u in [0, [1, 2, 3]]", "the upper bound of a range must be a number or a vector of 2"},
        {"range u[3] in [0, 1]", "'u' is a vector of 2"},
        {"range w[1] in [0, 1]", "'w' is a number"},
        {"range w in [0, 1], w in [0, 2]", "'w' has two ranges"},
        {"range w in [0, 1]; protect w by 1; protect w by 2", "'w' is protected twice"},
        {"protect w by 1", "'w' has no range: what is hidden is hidden inside of a public range; write 'range w in "},
        {"range w in [0, 1]; protect w by 0", "how far 'w' is protected must be positive, but this is 0"},
        {"range u in [0, 1]; protect u by [1, -1]", "how far 'u' is protected must be positive, but this is -1"},
        {"range w in [0, 1]; protect w by s", "how far data are protected is public, but this uses the private 's'"},
        {"private param d = c * w; range d in [0, 1], w in [0, 1]",
         "'d' is computed from other data; give those a range instead of it"},
        {"private param m = [[1, 2], [3, 4]]; range m in [0, 1]",
         "a range is for a number or a vector, but 'm' is a 2 x 2 matrix"},
        {"private param r = r + 1; range r in [0, 1]", "'r' is defined in terms of itself"},
        {"private range w in [0, 1]", "a range is public: the cloud relies on it; leave 'private' out"},
        {"range w [0, 1]", "expected ']', found ','"},
        {"range w", "expected 'in' and the public range of the data, as in 'range need in [0, 40]'"},
        {"range w in [0, 1]; protect w", "expected 'by' and how far the data are hidden, as in 'protect need by 5'"},
        {"range w in [0, 1]; protect w by 1; distance w { l1 1; l2 1 }",
         "distances are computed from the whole problem"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[600];
        AT_CASE(i);
        (void)snprintf(text, sizeof text, "private param s = 2\nparam g = 4\n" ONE "%s }\n", cases[i].line);
        expect_error(text, cases[i].message);
    }
    expect_messages("agent a { state x in [0, 1]; private minimize x }\nrange x in [0, 1]\n",
                    "p.tacit:2:1: error: this statement stands inside an agent's block\n"
                    "    range x in [0, 1]\n"
                    "    ^~~~~\n");
}

static void one_error_is_told_once(void **state) {
    (void)state;
    put_homes();
    expect_messages(HOMES HOME "  range ned in [0, 40]; protect ned by 5 }\n",
                    "p.tacit:3:9: error: 'home' has no private data 'ned'; did you mean 'need'?\n"
                    "      range ned in [0, 40]; protect ned by 5 }\n"
                    "            ^~~\n");
    expect_messages(HOMES HOME "  range need in [cap, 5] }\n",
                    "p.tacit:3:18: error: the range of 'need' for home[2] is empty: the lower bound 6 is above the "
                    "upper bound 5\n"
                    "      range need in [cap, 5] }\n"
                    "                     ^~~~~~\n");
}

static void distances_are_for_what_is_protected(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"distance w { l1 1; l2 1 }", "'w' is not protected; write 'protect w by 5' too, or leave its distance out"},
        {"protect v by 1; distance v { l1 1 }", "a distance has two numbers, as in 'distance v { l1 5; l2 5 }'"},
        {"protect v by 1; distance v { l1 1; l1 1 }", "'l1' is set twice"},
        {"protect v by 1; distance v { l1 1; l3 1 }", "a distance has no 'l3'"},
        {"protect v by 1; distance v { l1 1 k^-1; l2 1 }", "'l1' does not change with k"},
        {"protect v by 1; distance v { l1 -1; l2 1 }", "a distance must not be negative, but this is -1"},
        {"protect v by 1; distance v { l1 1; l2 1 }; distance v { l1 1; l2 1 }", "'v' has two distances"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[600];
        AT_CASE(i);
        (void)snprintf(text, sizeof text,
                       "role cloud\nagent a { state x in [0, 1]; range v in [0, 4]; %s }\n"
                       "constraint c: a.x <= 1\n",
                       cases[i].line);
        expect_error(text, cases[i].message);
    }
}

/* ---- the parties' files ---- */

static void expect_same_data(const tc_model *whole, size_t f, size_t k, const bench *part) {
    bool is_cloud = k == SIZE_MAX;
    const tc_family *family = &whole->families[f], *own = &part->model->families[is_cloud ? f : 0];
    assert_int_equal(family->datum_count, own->datum_count);
    assert_int_equal(family->has_gap, own->has_gap);
    for (size_t m = is_cloud ? 0 : k; m < (is_cloud ? family->count : k + 1); m++) {
        size_t n = is_cloud ? m : 0;
        assert_true(tc_coef_at(family->gap, m) == tc_coef_at(own->gap, n));
        for (size_t d = 0; d < family->datum_count; d++) {
            const tc_datum *a = &family->data[d], *b = &own->data[d];
            AT_CASE(d);
            assert_string_equal(a->name, b->name);
            assert_int_equal(a->count, b->count);
            assert_true((b->columns == NULL) == is_cloud);
            for (size_t i = 0; i < 2; i++)
                assert_true(a->distances[i] == b->distances[i] || (isnan(a->distances[i]) && isnan(b->distances[i])));
            for (size_t c = 0; c < a->count; c++) {
                assert_true(tc_coef_at(a->lower[c], m) == tc_coef_at(b->lower[c], n));
                assert_true(tc_coef_at(a->upper[c], m) == tc_coef_at(b->upper[c], n));
                assert_true((a->by == NULL) == (b->by == NULL));
                assert_true(a->by == NULL || tc_coef_at(a->by[c], m) == tc_coef_at(b->by[c], n));
                assert_true(is_cloud ||
                            family->columns[a->columns[c]].values[m] == own->columns[b->columns[c]].values[n]);
            }
        }
    }
}

/* As analysis fills them in, before a problem is split. */
static void find_numbers(bench *b, bool gaps_differ) {
    uint64_t seed = 3;
    for (size_t f = 0; f < b->model->family_count; f++) {
        tc_family *family = &b->model->families[f];
        double *gaps = TC_NEW(b->arena, double, family->count);
        for (size_t d = 0; d < family->datum_count; d++) {
            for (size_t i = 0; i < 2 && family->data[d].by != NULL; i++)
                family->data[d].distances[i] = uniform(&seed, 0, 1) * 7 / 3;
        }
        for (size_t k = 0; k < family->count; k++)
            gaps[k] = uniform(&seed, 0, 1) / 3;
        if (!family->has_gap)
            family->gap = gaps_differ ? (tc_coef){.column = gaps} : (tc_coef){.value = gaps[0]};
        family->has_gap = true;
    }
}

static void ranges_go_to_the_parties(void **state) {
    (void)state;
    put_homes();
    put_file("t.csv", "1,2,5\n");
    static const char *const texts[] = {
        "param low = [0, -2]\n" HOMES "agents home over homes { state p[2] in [0, 9]; slater p = 1\n"
        "  private minimize sumsq(p - pref) / 3 + member * p[1]; private set sum(p) >= need / 7\n"
        "  protect pref by [0.5, 1], need by cap / 3; private param member = 1.1\n"
        "  range need in [0,\n 10\n * cap], pref in [low, 2 * cap]; range member in [0.1 + 0.2, 1] }\n"
        "constraint c: sum(home: p[1]) <= 30\n",
        "agents a[i in 1..300] { state x[3] in [0, 9]; slater x = 1\n"
        "  private param w = 2 / 3; private param t = csv \"t.csv\"; private param s = 2 * w\n"
        "  private minimize w * sumsq(x - t) + s * x[1]; private set sum(x) <= 9 - w * t[1]\n"
        "  range w in [0.7, i], t[3] in [0, 4] }\n"
        "agent gaps { state y in [0, 2]; private param w = 3; private minimize w * y; slater y = 1; gap 2\n"
        "  range w in [0, 4]; protect w by 0.25 }\n"
        "constraint c: sum(a: x[2]) + gaps.y <= 900\n",
        HOMES "agents home over homes { state p[2] in [0, 9]; slater p = 1; private minimize sum(p)\n"
              "  range pref in [0, 2] }\nconstraint c: sum(home: p[1]) <= 30\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int differ = 0; differ < 2; differ++) {
            bench b = load_good(texts[i]);
            find_numbers(&b, differ == 1);
            expect_same_parts_of(b, expect_same_data);
        }
    }
}

/* Where nothing was found, nothing is said. */
static void unknown_distances_are_not_written(void **state) {
    (void)state;
    expect_same_parts_of(load_good("agent a { state x in [0, 1]; private param w = 3; private minimize w * x\n"
                                   "  range w in [0, 4]; protect w by 1 }\nconstraint c: a.x <= 1\ndual radius 3\n"),
                         expect_same_data);
}

static void units_may_be_named_in_the_file(void **state) {
    (void)state;
    static const struct {
        const char *words;
        tc_adjacency unit;
        double bound;
    } cases[] = {{"agent", TC_ADJACENCY_AGENT, NAN},
                 {"agent 7.5", TC_ADJACENCY_WITHIN, 7.5},
                 {"agent:7.5", TC_ADJACENCY_WITHIN, 7.5},
                 {"data", TC_ADJACENCY_DATA, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        AT_CASE(i);
        (void)snprintf(text, sizeof text,
                       "agent a { state x in [0, 1]; private minimize x }\nprivacy { adjacency %s }\n", cases[i].words);
        bench b = load_good(text);
        assert_int_equal(b.model->privacy.adjacency, cases[i].unit);
        assert_true(b.model->privacy.adjacency_bound == cases[i].bound ||
                    (isnan(b.model->privacy.adjacency_bound) && isnan(cases[i].bound)));
        bench_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_data_with_public_bounds),
        cmocka_unit_test(private_parameters_with_a_range_are_columns),
        cmocka_unit_test(data_are_moved_before_anything_is_computed_from_them),
        cmocka_unit_test(a_program_s_arrays_and_another_family_keep_their_numbers),
        cmocka_unit_test(what_two_blocks_read_is_not_protected),
        cmocka_unit_test(what_several_agents_share_is_not_protected),
        cmocka_unit_test(what_is_read_twice_is_not_protected),
        cmocka_unit_test(what_is_given_twice_is_not_protected),
        cmocka_unit_test(an_agent_s_file_moves_its_own_data),
        cmocka_unit_test(a_cloud_s_file_knows_ranges_alone),
        cmocka_unit_test(what_is_hidden_is_at_most_the_width_rounded_up),
        cmocka_unit_test(wrong_lines_are_refused),
        cmocka_unit_test(one_error_is_told_once),
        cmocka_unit_test(distances_are_for_what_is_protected),
        cmocka_unit_test(ranges_go_to_the_parties),
        cmocka_unit_test(unknown_distances_are_not_written),
        cmocka_unit_test(units_may_be_named_in_the_file),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
