/* Tables and matrices from CSV files. */
#include "model/csv.h"
#include "model/support.h"

typedef struct reading {
    bench b;
    tc_table *table;
} reading;

static const tc_source problem = {"p.tacit", "data d = csv \"t.csv\"", 20};

static reading read_table(const char *text) {
    reading r = {.b = bench_new()};
    tc_diagnostics diagnostics = {r.b.arena, &problem, &r.b.messages, 0};
    tc_csv_source source = {.path = "t.csv", .span = {13, 7}};
    put_file("t.csv", text);
    r.table = tc_csv_table(r.b.arena, &diagnostics, &source);
    /* The same from memory. */
    tc_buffer again = tc_buffer_new(r.b.arena, 1 << 20);
    tc_diagnostics second = {r.b.arena, &problem, &again, 0};
    tc_csv_source memory = {.path = "t.csv", .span = {13, 7}, .text = text, .length = strlen(text)};
    tc_table *table = tc_csv_table(r.b.arena, &second, &memory);
    assert_int_equal(table == NULL, r.table == NULL);
    assert_string_equal(tc_buffer_text(&again), tc_buffer_text(&r.b.messages));
    return r;
}

/* The table of a problem that uses all columns. NULL after an error. */
static tc_table *use_all(reading *r) {
    tc_diagnostics diagnostics = {r->b.arena, &problem, &r->b.messages, 0};
    bool good = r->table != NULL;
    for (size_t c = 0; good && c < r->table->column_count; c++)
        good = tc_column_has_numbers(&diagnostics, &r->table->columns[c]);
    return good ? r->table : NULL;
}

static void expect_table_error(const char *text, const char *messages) {
    reading r = read_table(text);
    assert_null(use_all(&r));
    assert_string_equal(tc_buffer_text(&r.b.messages), messages);
    bench_free(&r.b);
}

static void columns_are_named_by_the_header(void **state) {
    (void)state;
    reading r = read_table("need,cap\n1,2\n-3.5,4e2\n");
    assert_non_null(r.table);
    assert_int_equal(r.table->rows, 2);
    assert_int_equal(r.table->column_count, 2);
    assert_string_equal(r.table->columns[1].name, "cap");
    assert_true(r.table->values[0][1] == -3.5 && r.table->values[1][1] == 400);
    assert_null(r.table->names);
    bench_free(&r.b);
}

static void line_ends_spaces_and_a_byte_order_mark_do_not_matter(void **state) {
    (void)state;
    reading r = read_table("\xef\xbb\xbf"
                           "need , cap\r\n 1,\t2 \r\n3,4\r\n\r\n\n");
    assert_non_null(r.table);
    assert_int_equal(r.table->rows, 2);
    assert_string_equal(r.table->columns[0].name, "need");
    assert_true(r.table->values[1][0] == 2 && r.table->values[1][1] == 4);
    bench_free(&r.b);
    r = read_table("a\n1\n2");
    assert_non_null(r.table);
    assert_int_equal(r.table->rows, 2);
    bench_free(&r.b);
}

static void quotes_follow_rfc_4180(void **state) {
    (void)state;
    reading r = read_table("\"name\",\"a\"\n\"x, y\",\"1\"\nplain,\"2\"\n");
    assert_non_null(r.table);
    assert_string_equal(r.table->names[0], "x, y");
    assert_string_equal(r.table->names[1], "plain");
    assert_true(r.table->values[0][0] == 1 && r.table->values[0][1] == 2);
    bench_free(&r.b);
    expect_table_error("a,b\n1,\"2\n3,4\n", "t.csv:2:3: error: the quote opened here is not closed\n");
    expect_table_error("a,b\n1,\"2\"3\n", "t.csv:2:6: error: expected a comma after the closing quote\n");
    /* Messages show the line as it is in the file. */
    expect_table_error("name,need\n\"a \"\"b\"\"\",1\n",
                       "t.csv:2:2: error: an agent's name must not contain quotes, backslashes, brackets or control "
                       "characters\n");
    expect_table_error("need,cap\n\"1\",\"2\"\"3\"\n", "t.csv:2:6: error: column 'cap': this is not a number\n");
    expect_table_error("need,cap\n\"1\"\"\",nan\n", "t.csv:2:2: error: column 'need': this is not a number\n");
    expect_table_error("need\n1,2\n", "t.csv:2:3: error: this line has more than the 1 column of the header\n");
}

static void numbered_columns_form_a_vector(void **state) {
    (void)state;
    reading r = read_table("p_2,x,p_1,p_3,year_2020\n12,0,11,13,5\n");
    assert_non_null(r.table);
    assert_int_equal(r.table->column_count, 3);
    assert_string_equal(r.table->columns[0].name, "p");
    assert_int_equal(r.table->columns[0].length, 3);
    assert_true(r.table->columns[0].is_vector);
    for (size_t i = 0; i < 3; i++)
        assert_true(r.table->values[r.table->columns[0].first + i][0] == 11 + (double)i);
    assert_string_equal(r.table->columns[2].name, "year_2020");
    assert_true(r.table->values[r.table->columns[2].first][0] == 5);
    bench_free(&r.b);
    expect_table_error("p_1,p_3\n1,2\n",
                       "t.csv:1: error: columns p_1 to p_3 form a vector, but only 2 of them are there\n");
    expect_table_error("p,p_1,p_2\n1,2,3\n", "t.csv:1: error: there is a column 'p' beside the vector p_1 .. p_2\n");
}

static void wrong_cells_are_shown(void **state) {
    (void)state;
    expect_table_error("need,cap\n1,2\n3,abc\n", "t.csv:3:3: error: column 'cap': this is not a number\n");
    expect_table_error("need,cap\n1,nan\n", "t.csv:2:3: error: column 'cap': data must be finite\n");
    expect_table_error("need,cap\n-Inf,1\n", "t.csv:2:1: error: column 'need': data must be finite\n");
    expect_table_error("need,cap\n1,1e999\n",
                       "t.csv:2:3: error: column 'cap': this number is too large for a double\n");
    expect_table_error("need,cap\n1,\n", "t.csv:2:3: error: column 'cap': a number is missing\n");
    expect_table_error("need,cap\n1,2 3\n", "t.csv:2:3: error: column 'cap': this is not a number\n");
}

static void ragged_lines_are_shown(void **state) {
    (void)state;
    expect_table_error("need,cap\n1,2\n3\n", "t.csv:3:2: error: this line has 1 of the 2 columns: 'cap' is missing\n");
    expect_table_error("need,cap\n1,2,3\n", "t.csv:2:5: error: this line has more than the 2 columns of the header\n");
    expect_table_error("need,cap\n1,2\n,\n", "t.csv:3:1: error: all cells of this line are empty\n");
}

static void blank_lines_are_skipped(void **state) {
    (void)state;
    reading r = read_table("\n \t\r\nname,need\n\nanna,1\n   \n\nben,2\n\r\n");
    assert_non_null(use_all(&r));
    assert_int_equal(r.table->rows, 2);
    assert_string_equal(r.table->names[1], "ben");
    assert_true(r.table->values[0][0] == 1 && r.table->values[0][1] == 2);
    bench_free(&r.b);
    /* Messages count them. */
    expect_table_error("\nneed,cap\n\n1,2\n\n3\n",
                       "t.csv:6:2: error: this line has 1 of the 2 columns: 'cap' is missing\n");
    expect_table_error("\nname,a\nx,1\n\nx,2\n",
                       "t.csv:5: error: the name 'x' is given to two agents, in rows 1 and 2\n");
    expect_table_error("\n\np_1,p_3\n1,2\n",
                       "t.csv:3: error: columns p_1 to p_3 form a vector, but only 2 of them are there\n");
}

/* The first cell that is no number is kept for the message, whatever the column's other cells are. */
static void text_is_an_error_only_where_it_is_used(void **state) {
    (void)state;
    reading r = read_table("need,town,note_1,note_2\n1,7,,3\n2,\"Ulm, old\",x,4\n3,,\"a \"\"b\"\"\",5\n");
    assert_non_null(r.table);
    assert_string_equal(tc_buffer_text(&r.b.messages), "");
    assert_int_equal(r.table->rows, 3);
    assert_null(r.table->columns[0].text);
    for (size_t i = 0; i < 3; i++)
        assert_true(r.table->values[0][i] == (double)i + 1);
    tc_diagnostics diagnostics = {r.b.arena, &problem, &r.b.messages, 0};
    assert_true(tc_column_has_numbers(&diagnostics, &r.table->columns[0]));
    assert_false(tc_column_has_numbers(&diagnostics, &r.table->columns[1]));
    assert_false(tc_column_has_numbers(&diagnostics, &r.table->columns[1])); /* says so once */
    assert_false(tc_column_has_numbers(&diagnostics, &r.table->columns[2]));
    assert_string_equal(tc_buffer_text(&r.b.messages), "t.csv:3:4: error: column 'town': this is not a number\n"
                                                       "t.csv:2:5: error: column 'note_1': a number is missing\n");
    bench_free(&r.b);
}

static void a_problem_may_leave_text_columns_alone(void **state) {
    (void)state;
    put_file("d.csv", "need,town,cap\n1,Ulm,2\n3,Bonn,4\n");
    bench b = load_good("data d = csv \"d.csv\" public cap\n"
                        "agents f over d { state x in [0, cap]; private minimize x * need }\n");
    assert_int_equal(b.model->families[0].count, 2);
    bench_free(&b);
    expect_messages("data d = csv \"d.csv\"\nagents f over d { state x in [0, 1]; private minimize x * town + town }\n",
                    "d.csv:2:3: error: column 'town': this is not a number\n");
    /* What is public goes to the cloud, so it is used. */
    expect_messages("data d = csv \"d.csv\" public town\nagents f over d { state x in [0, 1]; private minimize x }\n",
                    "d.csv:2:3: error: column 'town': this is not a number\n");
}

static void headers_must_make_sense(void **state) {
    (void)state;
    expect_table_error("need,need\n1,2\n", "t.csv:1:1: error: two columns are called 'need'\n");
    expect_table_error("a;b\n1;2\n", "t.csv:1:1: error: columns are separated by commas, not semicolons\n");
    expect_table_error("a,,b\n1,2,3\n", "t.csv:1:3: error: a column needs a name\n");
    reading r = read_table("1,2\n3,4\n");
    assert_null(r.table);
    assert_non_null(strstr(r.b.messages.text, "the first line of a data file names the columns"));
    bench_free(&r.b);
}

static void empty_tables_are_errors(void **state) {
    (void)state;
    expect_table_error("", "p.tacit:1:14: error: 't.csv' is empty; its first line names the columns\n"
                           "    data d = csv \"t.csv\"\n                 ^~~~~~~\n");
    expect_table_error("a,b\n", "p.tacit:1:14: error: 't.csv' has a header but no rows\n"
                                "    data d = csv \"t.csv\"\n                 ^~~~~~~\n");
}

static void names_are_unique_and_printable(void **state) {
    (void)state;
    expect_table_error("name,a\nx,1\ny,1\nx,2\n",
                       "t.csv:4: error: the name 'x' is given to two agents, in rows 1 and 3\n");
    expect_table_error("name,a\n,1\n", "t.csv:2:1: error: an agent's name is missing\n");
    reading r = read_table("name,a\nx[1],1\n");
    assert_null(r.table);
    assert_non_null(strstr(r.b.messages.text, "must not contain quotes, backslashes, brackets or control characters"));
    bench_free(&r.b);
}

static void missing_files_and_folders_are_errors(void **state) {
    (void)state;
    expect_messages("data d = csv \"nothere.csv\"\nagents x over d { state y in [0, 1]; private minimize y }",
                    "p.tacit:1:14: error: cannot read 'nothere.csv': No such file or directory\n"
                    "    data d = csv \"nothere.csv\"\n"
                    "                 ^~~~~~~~~~~~~\n");
    expect_messages("data d = csv \".\"\nagents x over d { state y in [0, 1]; private minimize y }",
                    "p.tacit:1:14: error: '.' is a folder, not a file\n"
                    "    data d = csv \".\"\n"
                    "                 ^~~\n");
    expect_error("data d = csv \"/dev/zero\"\nagents x over d { state y in [0, 1]; private minimize y }",
                 "is something else, not a file");
}

static void matrices_have_no_header(void **state) {
    (void)state;
    bench b = bench_new();
    tc_diagnostics diagnostics = {b.arena, &problem, &b.messages, 0};
    tc_csv_source source = {.path = "m.csv", .span = {13, 7}};
    double *numbers;
    size_t rows, columns;
    put_file("m.csv", "1,2,3\r\n4,5,6\r\n");
    assert_true(tc_csv_matrix(b.arena, &diagnostics, &source, &numbers, &rows, &columns));
    assert_int_equal(rows, 2);
    assert_int_equal(columns, 3);
    for (size_t i = 0; i < 6; i++)
        assert_true(numbers[i] == (double)i + 1);
    put_file("m.csv", "\n1,2,3\n \n\n4,5,6\n\n");
    assert_true(tc_csv_matrix(b.arena, &diagnostics, &source, &numbers, &rows, &columns));
    assert_true(rows == 2 && columns == 3 && numbers[3] == 4);
    static const char *const wrong[] = {"1,2\n3\n", "1,2\n3,4,5\n",  "a,b\n1,2\n", "",
                                        "\n",       "1,2\n,\n3,4\n", "1,\"2\"\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        put_file("m.csv", wrong[i]);
        size_t before = diagnostics.errors;
        assert_false(tc_csv_matrix(b.arena, &diagnostics, &source, &numbers, &rows, &columns));
        assert_int_equal(diagnostics.errors, before + 1);
    }
    bench_free(&b);
}

/* Records longer than a block, and blocks that end anywhere in a record. */
static void large_files_are_read_block_by_block(void **state) {
    (void)state;
    size_t rows = 300000;
    FILE *file = fopen("t.csv", "w");
    assert_non_null(file);
    (void)fprintf(file, "name,a,b\n");
    for (size_t i = 0; i < rows; i++)
        (void)fprintf(file, "\"agent, %zu\",%zu,%.3f\n", i, i, (double)i / 8);
    assert_int_equal(fclose(file), 0);
    bench b = bench_new();
    tc_diagnostics diagnostics = {b.arena, &problem, &b.messages, 0};
    tc_csv_source source = {.path = "t.csv", .span = {13, 7}};
    tc_table *table = tc_csv_table(b.arena, &diagnostics, &source);
    assert_non_null(table);
    assert_int_equal(table->rows, rows);
    for (size_t i = 0; i < rows; i++)
        assert_true(table->values[0][i] == (double)i && fabs(table->values[1][i] - (double)i / 8) < 1e-3);
    assert_string_equal(table->names[123456], "agent, 123456");
    bench_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_named_by_the_header),
        cmocka_unit_test(line_ends_spaces_and_a_byte_order_mark_do_not_matter),
        cmocka_unit_test(quotes_follow_rfc_4180),
        cmocka_unit_test(numbered_columns_form_a_vector),
        cmocka_unit_test(wrong_cells_are_shown),
        cmocka_unit_test(ragged_lines_are_shown),
        cmocka_unit_test(blank_lines_are_skipped),
        cmocka_unit_test(text_is_an_error_only_where_it_is_used),
        cmocka_unit_test(a_problem_may_leave_text_columns_alone),
        cmocka_unit_test(headers_must_make_sense),
        cmocka_unit_test(empty_tables_are_errors),
        cmocka_unit_test(names_are_unique_and_printable),
        cmocka_unit_test(missing_files_and_folders_are_errors),
        cmocka_unit_test(matrices_have_no_header),
        cmocka_unit_test(large_files_are_read_block_by_block),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
