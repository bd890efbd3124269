/* Data from arrays: the same models as from files, whatever the layout; every mistake is told; no allocation that fails
 * does harm. Linked with --wrap for the arena's allocations. */
#include "model/elaborate/elaborate.h"
#include "model/split/split.h"
#include "model/support.h"
#include "support/random.h"

#include <float.h>
#include <stdint.h>

void *__real_tc_arena_alloc(tc_arena *arena, size_t count, size_t size);
void *__wrap_tc_arena_alloc(tc_arena *arena, size_t count, size_t size);
void *__real_tc_arena_room(tc_arena *arena, size_t count, size_t size);
void *__wrap_tc_arena_room(tc_arena *arena, size_t count, size_t size);

static long countdown = -1; /* allocations that still succeed; -1: all */

static void count_down(tc_arena *arena) {
    if (countdown == 0)
        tc_raise(arena, TC_NO_MEMORY);
    countdown -= countdown > 0;
}

void *__wrap_tc_arena_alloc(tc_arena *arena, size_t count, size_t size) {
    count_down(arena);
    return __real_tc_arena_alloc(arena, count, size);
}

void *__wrap_tc_arena_room(tc_arena *arena, size_t count, size_t size) {
    count_down(arena);
    return __real_tc_arena_room(arena, count, size);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static bench load_given_at(const char *path, const char *text, tc_given given) {
    bench b = bench_new();
    tc_load_request request = {.arena = b.arena,
                               .path = path,
                               .text = text,
                               .length = text != NULL ? strlen(text) : 0,
                               .messages = &b.messages,
                               .given = given};
    b.status = tc_model_load_request(&request, &b.model);
    return b;
}

static bench load_given(const char *text, tc_given given) { return load_given_at("p.tacit", text, given); }

static bench load_given_good(const char *path, const char *text, tc_given given) {
    bench b = load_given_at(path, text, given);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(b.status, TC_OK);
    return b;
}

static void expect_given(const char *text, tc_given given, const char *messages) {
    bench b = load_given(text, given);
    assert_string_equal(messages_of(&b), messages);
    assert_int_equal(b.status, TC_BAD_PROBLEM);
    assert_null(b.model);
    bench_free(&b);
}

static void expect_table(const char *text, tc_given_table table, const char *messages) {
    expect_given(text, (tc_given){.tables = &table, .table_count = 1}, messages);
}

static void expect_matrix(const char *text, tc_given_matrix matrix, const char *messages) {
    expect_given(text, (tc_given){.matrices = &matrix, .matrix_count = 1}, messages);
}

/* ---- equal models ------------------------------------------------------------------------------------------------ */

static void same_text(const char *a, const char *b) {
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL)
        assert_string_equal(a, b);
}

static void same_coefs(const tc_coef *a, const tc_coef *b, size_t count, size_t members) {
    assert_int_equal(a == NULL, b == NULL);
    for (size_t i = 0; a != NULL && i < count; i++) {
        assert_int_equal(a[i].column == NULL, b[i].column == NULL);
        if (a[i].column != NULL)
            assert_memory_equal(a[i].column, b[i].column, members * sizeof(double));
        else
            assert_memory_equal(&a[i].value, &b[i].value, sizeof(double));
    }
}

static void same_pieces(const tc_family *a, const tc_family *b) {
    assert_int_equal(a->piece_count, b->piece_count);
    for (size_t i = 0; i < a->piece_count; i++) {
        const tc_set_piece *p = &a->pieces[i], *q = &b->pieces[i];
        assert_int_equal(p->kind, q->kind);
        assert_int_equal(p->first, q->first);
        assert_int_equal(p->count, q->count);
        same_coefs(p->center, q->center, p->count, a->count);
        same_coefs(p->upper, q->upper, p->count, a->count);
        same_coefs(&p->radius, &q->radius, 1, a->count);
        same_coefs(p->matrix, q->matrix, p->count * p->count, a->count);
    }
}

static void same_families(const tc_family *a, const tc_family *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->dim, b->dim);
    assert_int_equal(a->column_count, b->column_count);
    for (size_t c = 0; c < a->column_count; c++) {
        same_text(a->columns[c].name, b->columns[c].name);
        assert_int_equal(a->columns[c].is_private, b->columns[c].is_private);
        assert_memory_equal(a->columns[c].values, b->columns[c].values, a->count * sizeof(double));
    }
    assert_int_equal(a->member_names == NULL, b->member_names == NULL);
    for (size_t k = 0; a->member_names != NULL && k < a->count; k++)
        assert_string_equal(a->member_names[k], b->member_names[k]);
    assert_int_equal(a->objective, b->objective);
    same_coefs(a->lower, b->lower, a->dim, a->count);
    same_coefs(a->upper, b->upper, a->dim, a->count);
    same_coefs(a->start, b->start, a->dim, a->count);
    same_coefs(&a->gap, &b->gap, 1, a->count);
    same_coefs(a->slater, b->slater, a->has_slater ? a->dim : 0, a->count);
    same_pieces(a, b);
}

static void same_nodes(const tc_dag *a, const tc_dag *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->argument_count, b->argument_count);
    if (a->argument_count > 0)
        assert_memory_equal(a->arguments, b->arguments, a->argument_count * sizeof *a->arguments);
    for (size_t i = 0; i < a->count; i++) {
        const tc_node *m = &a->nodes[i], *n = &b->nodes[i];
        assert_true(m->op == n->op && m->a == n->a && m->b == n->b && m->family == n->family && m->realm == n->realm &&
                    m->is_private == n->is_private && m->u.index == n->u.index);
    }
}

static void same_models(const tc_model *a, const tc_model *b) {
    assert_int_equal(a->family_count, b->family_count);
    for (size_t f = 0; f < a->family_count; f++)
        same_families(&a->families[f], &b->families[f]);
    same_nodes(a->dag, b->dag);
    assert_int_equal(a->sum_count, b->sum_count);
    for (size_t s = 0; s < a->sum_count; s++)
        assert_true(a->sums[s].family == b->sums[s].family && a->sums[s].body == b->sums[s].body);
    assert_int_equal(a->constraint_count, b->constraint_count);
    for (size_t c = 0; c < a->constraint_count; c++) {
        assert_string_equal(a->constraints[c].name, b->constraints[c].name);
        assert_int_equal(a->constraints[c].outer, b->constraints[c].outer);
    }
    const tc_matrix_file *m = a->last_matrix, *n = b->last_matrix;
    for (; m != NULL && n != NULL; m = m->before, n = n->before) {
        assert_true(m->rows == n->rows && m->columns == n->columns);
        assert_memory_equal(m->numbers, n->numbers, m->rows * m->columns * sizeof(double));
    }
    assert_true(m == NULL && n == NULL);
}

static char *read_whole(const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        print_error("no file %s\n", path);
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

static size_t same_folders(const char *one, const char *other) {
    DIR *folder = opendir(one);
    size_t files = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char a[400], b[400];
        struct stat facts;
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(a, sizeof a, "%.100s/%.255s", one, entry->d_name);
        (void)snprintf(b, sizeof b, "%.100s/%.255s", other, entry->d_name);
        assert_int_equal(stat(a, &facts), 0);
        if (S_ISDIR(facts.st_mode)) {
            files += same_folders(a, b);
            continue;
        }
        char *p = read_whole(a), *q = read_whole(b);
        assert_string_equal(p, q);
        free(p);
        free(q);
        files++;
    }
    (void)closedir(folder);
    return files;
}

static void same_splits(bench *a, bench *b) {
    size_t files_a, files_b;
    remove_all("a");
    remove_all("b");
    assert_int_equal(tc_split(a->arena, a->model, "a", false, NULL, &a->messages, &files_a), TC_OK);
    assert_int_equal(tc_split(b->arena, b->model, "b", false, NULL, &b->messages, &files_b), TC_OK);
    assert_int_equal(files_a, files_b);
    assert_int_equal(same_folders("a", "b"), files_a);
}

/* ---- a CSV file as arrays ---------------------------------------------------------------------------------------- */

enum { MOST = 64 };
typedef enum layout { PLAIN, BY_LENGTH, ROW_MAJOR, FORTRAN, LAYOUTS } layout;

typedef struct sheet { /* numbers row by row; a plain reader of its own */
    size_t rows, columns;
    char names[MOST][32];
    double *numbers;
    char **members;
} sheet;

static sheet read_sheet(const char *path, bool has_header) {
    char *text = read_whole(path), *line_state = NULL, *state = NULL;
    sheet s = {.numbers = calloc(100000, sizeof(double))};
    bool named = false;
    char *line = strtok_r(text, "\n", &line_state);
    for (char *cell = has_header ? strtok_r(line, ",", &state) : NULL; cell != NULL;
         cell = strtok_r(NULL, ",", &state)) {
        if (strcmp(cell, "name") == 0)
            named = true; /* the first column, in the examples */
        else
            (void)snprintf(s.names[s.columns++], sizeof s.names[0], "%s", cell);
    }
    if (named)
        s.members = calloc(10000, sizeof(char *));
    size_t count = 0;
    for (line = has_header ? strtok_r(NULL, "\n", &line_state) : line; line != NULL;
         line = strtok_r(NULL, "\n", &line_state), s.rows++) {
        char *cell = strtok_r(line, ",", &state);
        if (named) {
            s.members[s.rows] = strdup(cell);
            cell = strtok_r(NULL, ",", &state);
        }
        for (; cell != NULL; cell = strtok_r(NULL, ",", &state))
            s.numbers[count++] = strtod(cell, NULL);
    }
    s.columns = count / s.rows;
    free(text);
    return s;
}

static void free_sheet(sheet *s) {
    for (size_t r = 0; s->members != NULL && r < s->rows; r++)
        free(s->members[r]);
    free((void *)s->members);
    free(s->numbers);
}

typedef struct given_sheet {
    tc_given_table table;
    tc_given_column columns[MOST];
    char stems[MOST][32];
    double *numbers;
} given_sheet;

/* How many of the columns from c on form a vector. */
static size_t vector_length(const sheet *s, size_t c, char *stem) {
    size_t length = strlen(s->names[c]), count = 0;
    if (length < 3 || strcmp(s->names[c] + length - 2, "_1") != 0)
        return 0;
    (void)snprintf(stem, 32, "%.*s", (int)length - 2, s->names[c]);
    for (char name[64]; c + count < s->columns; count++) {
        (void)snprintf(name, sizeof name, "%s_%zu", stem, count + 1);
        if (strcmp(name, s->names[c + count]) != 0)
            break;
    }
    return count;
}

static void make_given(given_sheet *g, const char *name, const sheet *s, layout form) {
    *g = (given_sheet){.numbers = calloc(s->rows * (s->columns + 3), sizeof(double))};
    assert_non_null(g->numbers);
    for (size_t i = 0; i < s->rows * (s->columns + 3); i++)
        g->numbers[i] = NAN; /* between the rows */
    size_t count = 0, used = 0, wide = s->columns + 3;
    for (size_t c = 0, step; c < s->columns; c += step) {
        size_t length = form == PLAIN ? 0 : vector_length(s, c, g->stems[count]);
        step = length > 0 ? length : 1;
        tc_given_column *column = &g->columns[count++];
        *column = (tc_given_column){.name = length > 1 ? g->stems[count - 1] : s->names[c], .length = step};
        size_t row_stride = step, component_stride = 1, first = used;
        if (form == ROW_MAJOR) {
            first = c + 1;
            row_stride = column->row_stride = wide;
        } else if (form == FORTRAN) {
            row_stride = column->row_stride = 1;
            component_stride = column->component_stride = s->rows;
        }
        used += step * s->rows;
        column->values = g->numbers + first;
        for (size_t r = 0; r < s->rows; r++) {
            for (size_t i = 0; i < step; i++)
                g->numbers[first + r * row_stride + i * component_stride] = s->numbers[r * s->columns + c + i];
        }
    }
    g->table = (tc_given_table){.name = name,
                                .rows = s->rows,
                                .columns = g->columns,
                                .column_count = count,
                                .members = (const char *const *)s->members};
}

static double *make_matrix(tc_given_matrix *m, const char *name, const sheet *s, layout form) {
    double *numbers = calloc(s->rows * (s->columns + 2), sizeof(double));
    *m = (tc_given_matrix){.name = name, .values = numbers, .rows = s->rows, .columns = s->columns};
    size_t row_stride = s->columns, column_stride = 1;
    if (form == ROW_MAJOR)
        row_stride = m->row_stride = s->columns + 2;
    if (form == FORTRAN) {
        row_stride = m->row_stride = 1;
        column_stride = m->column_stride = s->rows;
    }
    for (size_t r = 0; r < s->rows; r++) {
        for (size_t c = 0; c < s->columns; c++)
            numbers[r * row_stride + c * column_stride] = s->numbers[r * s->columns + c];
    }
    return numbers;
}

/* ---- the same meaning -------------------------------------------------------------------------------------------- */

static void examples_mean_the_same_from_arrays(void **state) {
    (void)state;
    static const struct {
        const char *problem, *data, *table, *matrix, *param;
    } examples[] = {{"ev", "homes", "homes.csv", NULL, NULL},
                    {"num", "flows", "num_flows.csv", "num_routes.csv", "route"},
                    {"robots", "plans", "robots_plans.csv", NULL, NULL}};
    for (size_t e = 0; e < 3; e++) {
        char path[300];
        (void)snprintf(path, sizeof path, TACIT_SOURCE_DIR "/examples/%s.tacit", examples[e].problem);
        bench from_file = load_path(path);
        assert_int_equal(from_file.status, TC_OK);
        char *text = read_whole(path);
        (void)snprintf(path, sizeof path, TACIT_SOURCE_DIR "/examples/%s", examples[e].table);
        sheet s = read_sheet(path, true), m = {0};
        if (examples[e].matrix != NULL) {
            (void)snprintf(path, sizeof path, TACIT_SOURCE_DIR "/examples/%s", examples[e].matrix);
            m = read_sheet(path, false);
        }
        for (layout form = 0; form < LAYOUTS; form++) {
            AT_CASE(e * LAYOUTS + form);
            given_sheet g;
            tc_given_matrix matrix;
            double *numbers = NULL;
            make_given(&g, examples[e].data, &s, form);
            if (examples[e].matrix != NULL)
                numbers = make_matrix(&matrix, examples[e].param, &m, form);
            tc_given given = {&g.table, 1, &matrix, examples[e].matrix != NULL};
            /* In a folder without the files: they are not opened. */
            bench from_arrays = load_given_good("p.tacit", text, given);
            free(g.numbers);
            free(numbers);
            same_models(from_file.model, from_arrays.model);
            if (form == LAYOUTS - 1)
                same_splits(&from_file, &from_arrays);
            bench_free(&from_arrays);
        }
        free_sheet(&s);
        free_sheet(&m);
        free(text);
        bench_free(&from_file);
    }
}

#define HOMES "agents home over homes { state p[2] in [0, cap]; private minimize sumsq(p - need) + sum(p) * q }\n"

static void given_is_a_word_of_the_language(void **state) {
    (void)state;
    const double cap[] = {1, 2, 3}, need[] = {1, 2, 3, 4, 5, 6}, q[] = {7, 8, 9}, m[] = {1, 2, 3, 4};
    const char *const members[] = {"anna", "ben", "cy d"};
    const tc_given_column columns[] = {{.name = "q", .values = q, .length = 1},
                                       {.name = "cap", .values = cap, .length = 1},
                                       {.name = "need", .values = need, .length = 2}};
    const tc_given_table table = {"homes", 3, columns, 3, members};
    const tc_given_matrix matrices[] = {{.name = "m", .values = m, .rows = 2, .columns = 2},
                                        {.name = "v", .values = m, .rows = 4, .columns = 1},
                                        {.name = "s", .values = m, .rows = 1, .columns = 1}};
    const tc_given given = {&table, 1, matrices, 3};
#define REST                                                                                                           \
    HOMES "constraint c: sum(home: m * p) <= [v[4] + s, 9]\nconstraint d: sum(home: p[1]) <= m[2, 1]\n"                \
          "start c = 0.5\ndual radius 3\n"
    bench b = load_given_good("p.tacit",
                              "data homes = given public cap, name\nparam m = given\nparam v = given # four\n"
                              "private param w = 3; param s = given;" REST,
                              given);
    put_file("h.csv", "q,cap,need_1,need_2,name\n7,1,1,2,anna\n8,2,3,4,ben\n9,3,5,6,cy d\n");
    put_file("m.csv", "1,2\n3,4\n");
    put_file("v.csv", "1\n2\n3\n4\n");
    put_file("s.csv", "1\n");
    bench file = load_good("data homes = csv \"h.csv\" public cap, name\nparam m = csv \"m.csv\"\n"
                           "param v = csv \"v.csv\"\nprivate param w = 3\nparam s = csv \"s.csv\"\n" REST);
    same_models(b.model, file.model);
    same_splits(&b, &file);
    bench_free(&b);
    bench_free(&file);
    /* Private ones too. */
    const tc_given one = {.matrices = matrices, .matrix_count = 1};
    b = load_given_good("p.tacit",
                        "private param m = given\nagent a { state x in [0, 1]; private minimize m[1, 2] * x }", one);
    bench_free(&b);
    expect_given("private param m = given\nagent a { state x in [0, m[1, 1]]; private minimize x }", one,
                 "p.tacit:2:26: error: the upper bound of a state is public, but this uses the private 'm'\n"
                 "    agent a { state x in [0, m[1, 1]]; private minimize x }\n"
                 "                             ^~~~~~~\n"
                 "p.tacit:1:1: note: 'm' is declared private here; leave 'private' out to make it public\n"
                 "    private param m = given\n"
                 "    ^~~~~~~~~~~~~~~~~~~~~~~\n");
}

static void given_remains_a_name(void **state) {
    (void)state;
    bench b = load_good("param given = 2\nparam x = given\nparam y = given + 1\nparam z = given * [1, 2]\n"
                        "agent a { state given in [0, x + y + z[2]]; private minimize given }\n"
                        "agent b { param given = 7; param c = given; state u in [0, c]; private minimize u }\n");
    assert_true(b.model->families[0].upper[0].value == 9 && b.model->families[1].upper[0].value == 7);
    bench_free(&b);
    b = load_good("agents given[i in 1..3] { state x in [0, i]; private minimize x }\n"
                  "constraint c: sum(given: x) <= 2\n");
    bench_free(&b);
    put_file("t.csv", "need\n1\n");
    b = load_good("data given = csv \"t.csv\"\nagents a over given { state x in [0, 1]; private minimize need * x }");
    bench_free(&b);
    const double one = 3;
    const tc_given_matrix matrix = {.name = "x", .values = &one, .rows = 1, .columns = 1};
    expect_matrix("param given = 2\nparam x = given\nagent a { state y in [0, x]; private minimize y }", matrix,
                  "p.tacit:2:11: error: a matrix 'x' is given, but the parameter has a value here; write 'given' "
                  "instead\n    param x = given\n              ^~~~~\n");
}

static void what_nobody_gives_is_missed(void **state) {
    (void)state;
    expect_messages("data homes = given public cap\nparam m = given\n" HOMES,
                    "p.tacit:1:14: error: no table 'homes' is given: a program that loads this file gives it one; for "
                    "the tacit command, write csv \"FILE\" here\n    data homes = given public cap\n"
                    "                 ^~~~~\n"
                    "p.tacit:2:11: error: no matrix 'm' is given: a program that loads this file gives it one; for "
                    "the tacit command, write csv \"FILE\" here\n    param m = given\n"
                    "              ^~~~~\n");
    expect_messages(
        "data homes = 3\n" HOMES,
        "p.tacit:1:14: error: expected csv or npy and a file's name, as in csv \"homes.csv\", or given, found "
        "'3'\n    data homes = 3\n                 ^\n");
    expect_error("data homes = given \"x.csv\"\n" HOMES,
                 "p.tacit:1:20: error: expected an operator or the end of the statement, found '\"x.csv\"'");
}

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

#define AT "p.tacit:1:6: error: "
#define LINE "\n    data homes = given\n         ^~~~~\n"
#define ONE "data homes = given\nagents home over homes { state p in [0, 1]; private minimize p }\n"
#define TABLE AT "the table 'homes' that is given: "

static const double numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};

static tc_given_table table_of(const tc_given_column *columns, size_t count, size_t rows) {
    return (tc_given_table){.name = "homes", .rows = rows, .columns = columns, .column_count = count};
}

static void names_of_what_is_given_are_checked(void **state) {
    (void)state;
    const tc_given_column c = {.name = "a", .values = numbers, .length = 1};
    tc_given_table tables[] = {table_of(&c, 1, 2), table_of(&c, 1, 2), table_of(&c, 1, 2), table_of(&c, 1, 2),
                               table_of(&c, 1, 2), table_of(&c, 1, 2), table_of(&c, 1, 2), table_of(&c, 1, 2)};
    tables[2].name = "home";
    tables[3].name = NULL;
    tables[4].name = "ho\n mes\xff";
    tables[5].name = "";
    tables[6].name = "m";
    tables[7].name = "houses";
    const tc_given_matrix matrices[] = {{.name = "homes", .values = numbers, .rows = 1, .columns = 1},
                                        {.name = "v", .values = numbers, .rows = 1, .columns = 1},
                                        {.name = "c", .values = numbers, .rows = 1, .columns = 1},
                                        {.name = "m", .values = numbers, .rows = 1, .columns = 1},
                                        {.name = "m", .values = numbers, .rows = 1, .columns = 1},
                                        {.name = "M", .values = numbers, .rows = 1, .columns = 1}};
    expect_given(
        "data homes = given\nparam m = given\nparam v = 3\n"
        "agents home over homes { state p in [0, 1]; private minimize p }\nconstraint c: home[1].p <= 1\n",
        (tc_given){tables, 8, matrices, 6},
        AT "a table 'homes' is given twice" LINE
           "p.tacit:4:8: error: a table 'home' is given, but 'home' is an agent or a family\n"
           "    agents home over homes { state p in [0, 1]; private minimize p }\n           ^~~~\n"
           "p.tacit: error: table 4 of those given has no name\n"
           "p.tacit: error: the given table 'ho? mes?': a name is made of letters, digits and underscores, and does "
           "not begin with a digit\n"
           "p.tacit: error: table 6 of those given has no name\n"
           "p.tacit:2:7: error: a table 'm' is given, but 'm' is a parameter: give a matrix\n"
           "    param m = given\n          ^\n"
           "p.tacit: error: a table 'houses' is given, but there is no 'data houses = given' or csv here; did you mean "
           "'homes'?\n" AT "a matrix 'homes' is given, but 'homes' is data: give a table" LINE
           "p.tacit:3:11: error: a matrix 'v' is given, but the parameter has a value here; write 'given' instead\n"
           "    param v = 3\n              ^\n"
           "p.tacit:5:12: error: a matrix 'c' is given, but 'c' is a constraint\n"
           "    constraint c: home[1].p <= 1\n               ^\n"
           "p.tacit:2:7: error: a matrix 'm' is given twice\n    param m = given\n          ^\n"
           "p.tacit: error: a matrix 'M' is given, but there is no 'param M = given' or csv here; did you mean 'm'?\n");
    expect_given(ONE, (tc_given){.table_count = 1},
                 "p.tacit: error: tables are given, but their list is NULL\n"
                 "p.tacit:1:14: error: no table 'homes' is given: a program that loads this file gives it one; for the "
                 "tacit command, write csv \"FILE\" here\n    data homes = given\n                 ^~~~~\n");
}

static void the_form_of_a_table_is_checked(void **state) {
    (void)state;
    expect_table(ONE, table_of(NULL, 0, 3), TABLE "it has no columns" LINE);
    expect_table(ONE, table_of(NULL, 2, 0),
                 TABLE "it has no rows" LINE TABLE "it has 2 columns, but the list of columns is NULL" LINE);
    const tc_given_column columns[] = {{.name = "a", .length = 1},
                                       {.name = NULL, .values = numbers, .length = 1},
                                       {.name = "", .values = numbers, .length = 1},
                                       {.name = "2b", .values = numbers, .length = 1},
                                       {.name = "name", .values = numbers, .length = 1},
                                       {.name = "c", .values = numbers, .length = 0},
                                       {.name = "d", .values = numbers, .length = SIZE_MAX},
                                       {.name = "e", .values = numbers, .length = 2, .row_stride = SIZE_MAX / 2},
                                       {.name = "f", .values = numbers, .length = 3, .component_stride = SIZE_MAX / 2},
                                       {.name = "g", .values = numbers, .length = 100000}};
    expect_table(ONE, table_of(columns, 8, 2),
                 TABLE "column 'a' has no numbers" LINE TABLE "column 2 has no name" LINE TABLE "column 3 has no "
                       "name" LINE TABLE "a column is called '2b', but names are made of letters, digits and "
                       "underscores, and do not begin with a digit" LINE TABLE
                       "a column is called 'name', but names are texts: give them as the members' names" LINE TABLE
                       "column 'c' has no components; a plain column has 1" LINE TABLE
                       "column 'd': 2 rows of 18446744073709551615 numbers, 18446744073709551615 and 1 apart, are more "
                       "than a memory can hold" LINE TABLE
                       "column 'd': with it there are more than 100000 columns" LINE TABLE
                       "column 'e': 2 rows of 2 numbers, 9223372036854775807 and 1 apart, are more than a memory can "
                       "hold" LINE);
    expect_table(ONE, table_of(columns + 8, 2, 1),
                 TABLE "column 'f': 1 rows of 3 numbers, 3 and 9223372036854775807 apart, are more than a memory can "
                       "hold" LINE TABLE "column 'g': with it there are more than 100000 columns" LINE);
    const tc_given_column plain = {.name = "a", .values = numbers, .length = 1};
    expect_table(ONE, table_of(&plain, 1, SIZE_MAX / 8),
                 TABLE "column 'a': 2305843009213693951 rows of 1 numbers, 1 and 1 apart, are more than a memory can "
                       "hold" LINE);
    expect_table(ONE, table_of(&plain, SIZE_MAX, 1), TABLE "it has more than 100000 columns" LINE);
    bench b = load_given(
        ONE, (tc_given){.tables = &(tc_given_table){"homes", SIZE_MAX / 32, &plain, 1, NULL}, .table_count = 1});
    assert_true(b.status == TC_TOO_LARGE || b.status == TC_NO_MEMORY);
    bench_free(&b);
}

static void columns_are_named_as_in_files(void **state) {
    (void)state;
    const tc_given_column gap[] = {{.name = "want_1", .values = numbers, .length = 1},
                                   {.name = "want_3", .values = numbers, .length = 1}};
    expect_table(ONE, table_of(gap, 2, 2),
                 TABLE "columns want_1 to want_3 form a vector, but only 2 of them are there" LINE);
    const tc_given_column beside[] = {{.name = "want", .values = numbers, .length = 2},
                                      {.name = "want", .values = numbers, .length = 1}};
    expect_table(ONE, table_of(beside, 2, 2), TABLE "there is a column 'want' beside the vector want_1 .. want_2" LINE);
    const tc_given_column twice[] = {{.name = "want", .values = numbers, .length = 2},
                                     {.name = "want_2", .values = numbers, .length = 1}};
    expect_table(ONE, table_of(twice, 2, 2), TABLE "two columns are called 'want_2'" LINE);
    const tc_given_column extends[] = {{.name = "want", .values = numbers, .length = 2},
                                       {.name = "want_3", .values = numbers + 4, .length = 1}};
    const tc_given_table good = table_of(extends, 2, 2);
    bench b = load_given_good("p.tacit", ONE, (tc_given){.tables = &good, .table_count = 1});
    assert_int_equal(b.model->families[0].column_count, 3);
    assert_string_equal(b.model->families[0].columns[2].name, "want[3]");
    assert_true(b.model->families[0].columns[2].values[1] == 6);
    assert_true(b.model->families[0].columns[0].values[1] == 3);
    bench_free(&b);
    expect_given("data homes = given public wand\nagents home over homes { state p in [0, 1]; private minimize p }\n",
                 (tc_given){.tables = &good, .table_count = 1},
                 "p.tacit:1:27: error: 'homes' has no column 'wand'; did you mean 'want'?\n"
                 "    data homes = given public wand\n                              ^~~~\n");
}

/* As in a file, where only a column that nobody uses may hold text. */
static void numbers_that_are_used_are_finite(void **state) {
    (void)state;
    double a[200], b[400];
    for (size_t i = 0; i < 200; i++)
        a[i] = b[i] = b[i + 200] = i % 3 == 0 ? -DBL_MAX : i % 3 == 1 ? 0x1p-1074 : -0.0;
    const tc_given_column columns[] = {{.name = "a", .values = a, .length = 1},
                                       {.name = "b", .values = b, .length = 2},
                                       {.name = "c", .values = b, .length = 1, .row_stride = 2}};
    const tc_given_table table = table_of(columns, 3, 200);
    bench good = load_given_good("p.tacit", ONE, (tc_given){.tables = &table, .table_count = 1});
    assert_memory_equal(good.model->families[0].columns[0].values, a, sizeof a);
    bench_free(&good);
    a[199] = INFINITY;
    a[63] = NAN;
    b[2 * 64] = -INFINITY;
    b[2 * 130 + 1] = -NAN;
    bench unused = load_given_good("p.tacit", ONE, (tc_given){.tables = &table, .table_count = 1});
    bench_free(&unused);
    expect_table("data homes = given\nagents home over homes { state p in [0, 1]; private minimize a * p + sum(b) }\n",
                 table,
                 TABLE "column 'a', row 64: NaN is not a finite number" LINE TABLE
                       "column 'b_1', row 65: -infinity is not a finite number" LINE);
    const tc_given given = {.tables = &table, .table_count = 1};
    expect_given("data homes = given public c\nagents home over homes { state p in [0, 1]; private minimize p }\n",
                 given,
                 TABLE "column 'c', row 65: -infinity is not a finite number\n"
                       "    data homes = given public c\n         ^~~~~\n");
}

static void members_have_names_as_in_files(void **state) {
    (void)state;
    const tc_given_column c = {.name = "a", .values = numbers, .length = 1};
    static const char *const lists[][3] = {{"x", NULL, "z"}, {"x", "", "z"},     {"x", "y\n", "z"},
                                           {"x", "y", "x"},  {"[x]", "y", NULL}, {"x", "y\\", "y\\"}};
    static const char *const messages[] = {
        TABLE "row 2: an agent's name is NULL" LINE,
        TABLE "row 2: an agent's name is missing" LINE,
        TABLE "row 2: an agent's name must not contain quotes, backslashes, brackets or control characters" LINE,
        TABLE "the name 'x' is given to two agents, in rows 1 and 3" LINE,
        TABLE "row 1: an agent's name must not contain quotes, backslashes, brackets or control characters" LINE,
        TABLE "row 2: an agent's name must not contain quotes, backslashes, brackets or control characters" LINE};
    for (size_t i = 0; i < 6; i++) {
        tc_given_table table = table_of(&c, 1, 3);
        table.members = lists[i];
        expect_table(ONE, table, messages[i]);
    }
    char text[82] = {0};
    memset(text, 'x', 81);
    const char *const long_name[] = {text};
    tc_given_table table = table_of(&c, 1, 1);
    table.members = long_name;
    expect_table(ONE, table, TABLE "row 1: this name is too long" LINE);
    text[80] = '\0';
    bench b = load_given_good("p.tacit", ONE, (tc_given){.tables = &table, .table_count = 1});
    memset(text, 'y', 80);
    assert_int_equal(b.model->families[0].member_names[0][79], 'x');
    bench_free(&b);
    /* Names alone, as in a file that has the one column. */
    table.column_count = 0;
    b = load_given_good("p.tacit", ONE, (tc_given){.tables = &table, .table_count = 1});
    bench_free(&b);
    const tc_given_column vector = {.name = "name_1", .values = numbers, .length = 1};
    table.columns = &vector;
    table.column_count = 1;
    expect_table(ONE, table, TABLE "there is a column 'name' beside the vector name_1 .. name_1" LINE);
}

static void matrices_are_checked(void **state) {
    (void)state;
#define M "param m = given\nagent a { state x in [0, 1]; private minimize x }\n"
#define MATRIX "p.tacit:1:7: error: the matrix 'm' that is given: "
#define MLINE "\n    param m = given\n          ^\n"
    expect_matrix(M, (tc_given_matrix){.name = "m", .values = numbers},
                  MATRIX "it has no rows" MLINE MATRIX "it has no columns" MLINE);
    expect_matrix(M, (tc_given_matrix){.name = "m", .rows = 2, .columns = 2}, MATRIX "it has no numbers" MLINE);
    expect_matrix(M, (tc_given_matrix){.name = "m", .values = numbers, .rows = SIZE_MAX, .columns = 2},
                  MATRIX
                  "18446744073709551615 rows of 2 numbers, 2 and 1 apart, are more than a memory can hold" MLINE);
    expect_matrix(
        M, (tc_given_matrix){.name = "m", .values = numbers, .rows = 2, .columns = 2, .column_stride = SIZE_MAX},
        MATRIX "2 rows of 2 numbers, 2 and 18446744073709551615 apart, are more than a memory can hold" MLINE);
    double large[70 * 70];
    for (size_t i = 0; i < 70 * 70; i++)
        large[i] = (double)i;
    large[66 * 70 + 68] = NAN;
    expect_matrix(M, (tc_given_matrix){.name = "m", .values = large, .rows = 70, .columns = 70},
                  MATRIX "row 67, column 69: NaN is not a finite number" MLINE);
    expect_matrix(M, (tc_given_matrix){.name = "m", .values = large, .rows = 70, .columns = 69, .row_stride = 70},
                  MATRIX "row 67, column 69: NaN is not a finite number" MLINE);
    expect_matrix(M,
                  (tc_given_matrix){
                      .name = "m", .values = large, .rows = 70, .columns = 70, .row_stride = 1, .column_stride = 70},
                  MATRIX "row 69, column 67: NaN is not a finite number" MLINE);
}

/* Layouts with sizes around the blocks; every number where it belongs. */
static void numbers_are_copied_from_any_layout(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (size_t i = 0; i < CASES(400); i++) {
        AT_CASE(i);
        size_t rows = 1 + random_below(&seed, 200), length = 1 + random_below(&seed, 5);
        size_t row_stride = 1, component_stride = 1;
        if (random_below(&seed, 2) == 0)
            row_stride = length + random_below(&seed, 3);
        else
            component_stride = rows + random_below(&seed, 3);
        size_t all = rows * row_stride + length * component_stride;
        double *values = malloc(all * sizeof *values);
        assert_non_null(values);
        for (size_t k = 0; k < all; k++)
            values[k] = uniform(&seed, -1, 1);
        const tc_given_column column = {"v", values, length, row_stride, component_stride};
        const tc_given_table table = table_of(&column, 1, rows);
        const tc_given_matrix matrix = {"m", values, rows, length, row_stride, component_stride};
        bench b = load_given_good("p.tacit", "param m = given\n" ONE, (tc_given){&table, 1, &matrix, 1});
        const tc_family *family = &b.model->families[0];
        assert_int_equal(family->column_count, length);
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < length; c++) {
                double wanted = values[r * row_stride + c * component_stride];
                assert_true(family->columns[c].values[r] == wanted);
                assert_true(b.model->last_matrix->numbers[r * length + c] == wanted);
            }
        }
        free(values);
        bench_free(&b);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const char *const members[] = {"x", "y"};
    const tc_given_column columns[] = {{.name = "cap", .values = numbers, .length = 1},
                                       {.name = "q", .values = numbers + 2, .length = 1},
                                       {.name = "need", .values = numbers, .length = 2}};
    const tc_given_table table = {"homes", 2, columns, 3, members},
                         wrong = {"homes", 2, columns, 3, (const char *const[]){"x", "x"}};
    const tc_given_matrix matrix = {.name = "m", .values = numbers, .rows = 2, .columns = 2};
    const char text[] = "data homes = given public cap\nparam m = given\n" HOMES;
    for (size_t kind = 0; kind < 2; kind++) {
        tc_status status = TC_NO_MEMORY;
        long n = 0;
        for (; status == TC_NO_MEMORY; n++) {
            AT_CASE(n);
            bench b = bench_new();
            tc_arena *arena = tc_arena_new(0);
            tc_load_request request = {.arena = arena,
                                       .path = "p.tacit",
                                       .text = text,
                                       .length = strlen(text),
                                       .messages = &b.messages,
                                       .given = {kind == 0 ? &table : &wrong, 1, &matrix, 1}};
            countdown = n;
            status = tc_model_load_request(&request, &b.model);
            countdown = -1;
            assert_int_equal(b.model != NULL, status == TC_OK);
            tc_arena_free(arena);
            bench_free(&b);
        }
        assert_int_equal(status, kind == 0 ? TC_OK : TC_BAD_PROBLEM);
        assert_true(n > 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_mean_the_same_from_arrays),
        cmocka_unit_test(given_is_a_word_of_the_language),
        cmocka_unit_test(given_remains_a_name),
        cmocka_unit_test(what_nobody_gives_is_missed),
        cmocka_unit_test(names_of_what_is_given_are_checked),
        cmocka_unit_test(the_form_of_a_table_is_checked),
        cmocka_unit_test(columns_are_named_as_in_files),
        cmocka_unit_test(numbers_that_are_used_are_finite),
        cmocka_unit_test(members_have_names_as_in_files),
        cmocka_unit_test(matrices_are_checked),
        cmocka_unit_test(numbers_are_copied_from_any_layout),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
