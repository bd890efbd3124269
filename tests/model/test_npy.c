/* Tables and matrices from .npy files. */
#include "model/csv.h"
#include "model/support.h"

static const tc_source problem = {"p.tacit", "data d = npy \"t.npy\"", 20};

typedef struct bytes { /* of a file */
    char at[4096];
    size_t length;
} bytes;

static void add(bytes *b, const void *from, size_t length) {
    assert_true(b->length + length <= sizeof b->at);
    memcpy(b->at + b->length, from, length);
    b->length += length;
}

#define ADD(b, type, ...) add((b), (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))

static bytes begin(int version, const char *header) {
    bytes b = {.length = 0};
    unsigned length = (unsigned)strlen(header) + 1;
    add(&b, "\x93NUMPY", 6);
    ADD(&b, unsigned char, (unsigned char)version, 0, (unsigned char)(length % 256), (unsigned char)(length / 256));
    if (version > 1)
        ADD(&b, unsigned char, 0, 0);
    add(&b, header, length - 1);
    add(&b, "\n", 1);
    return b;
}

#define STRUCTURE(fields, rows) "{'descr': [" fields "], 'fortran_order': False, 'shape': (" rows ",), }"
#define PLAIN(type, order, shape) "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }"

typedef struct reading {
    bench b;
    tc_diagnostics diagnostics;
    tc_table *table;
} reading;

/* From memory, and from a file. */
static void read_table(reading *r, const bytes *from) {
    r->b = bench_new();
    r->diagnostics = (tc_diagnostics){r->b.arena, &problem, &r->b.messages, 0};
    tc_csv_source memory = {.path = "t.npy", .span = {13, 7}, .text = from->at, .length = from->length};
    r->table = tc_npy_table(r->b.arena, &r->diagnostics, &memory);
    FILE *file = fopen("t.npy", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(from->at, 1, from->length, file), from->length);
    assert_int_equal(fclose(file), 0);
    tc_buffer again = tc_buffer_new(r->b.arena, 1 << 20);
    tc_diagnostics second = {r->b.arena, &problem, &again, 0};
    tc_csv_source disk = {.path = "t.npy", .span = {13, 7}};
    tc_table *table = tc_npy_table(r->b.arena, &second, &disk);
    assert_int_equal(table == NULL, r->table == NULL);
    assert_string_equal(tc_buffer_text(&again), tc_buffer_text(&r->b.messages));
}

static void fields_are_columns_and_vectors(void **state) {
    (void)state;
    bytes b =
        begin(1, STRUCTURE("('name', '<U2'), ('need', '<f8'), ('pref', '<f4', (2,)), ('', '|V4'), ('n', '|i1')", "2"));
    ADD(&b, uint32_t, 'a', 0xe9);
    ADD(&b, double, 1.5);
    ADD(&b, float, 0.25f, -3.0f);
    add(&b, "pad.", 4);
    ADD(&b, signed char, -7);
    ADD(&b, uint32_t, 'b', 0);
    ADD(&b, double, 1e300);
    ADD(&b, float, 1.0f, 2.0f);
    add(&b, "pad.", 4);
    ADD(&b, signed char, 100);
    reading r;
    read_table(&r, &b);
    assert_non_null(r.table);
    assert_int_equal(r.table->rows, 2);
    assert_int_equal(r.table->column_count, 3);
    assert_string_equal(r.table->names[0], "a\xc3\xa9");
    assert_string_equal(r.table->names[1], "b");
    assert_string_equal(r.table->columns[1].name, "pref");
    assert_true(r.table->columns[1].is_vector);
    assert_int_equal(r.table->columns[1].length, 2);
    assert_true(r.table->values[0][1] == 1e300 && r.table->values[1][0] == 0.25 && r.table->values[2][0] == -3);
    assert_true(r.table->values[3][0] == -7 && r.table->values[3][1] == 100);
    bench_free(&r.b);
}

static void whole_numbers_keep_their_value(void **state) {
    (void)state;
    bytes b = begin(2, STRUCTURE("('a', '<i8'), ('b', '<u8'), ('c', '<u2'), ('d', '<i4')", "1"));
    ADD(&b, int64_t, -(INT64_C(1) << 62));
    ADD(&b, uint64_t, UINT64_C(1) << 63);
    ADD(&b, uint16_t, 65535);
    ADD(&b, int32_t, INT32_MIN);
    reading r;
    read_table(&r, &b);
    assert_non_null(r.table);
    assert_true(r.table->values[0][0] == -0x1p62 && r.table->values[1][0] == 0x1p63);
    assert_true(r.table->values[2][0] == 65535 && r.table->values[3][0] == -0x1p31);
    bench_free(&r.b);
}

static void expect_cell_error(const bytes *b, const char *message) {
    reading r;
    read_table(&r, b);
    assert_non_null(r.table);
    assert_true(r.table->values[0][0] == 0);
    assert_false(tc_column_has_numbers(&r.diagnostics, &r.table->columns[0]));
    assert_non_null(strstr(tc_buffer_text(&r.b.messages), message));
    bench_free(&r.b);
}

/* As in a CSV file, nobody hears of them unless the column is used. */
static void what_is_no_finite_double_is_told_of_where_it_is_used(void **state) {
    (void)state;
    bytes b = begin(1, STRUCTURE("('a', '<f8')", "2"));
    ADD(&b, double, 1, NAN);
    expect_cell_error(&b, "'t.npy': column 'a', row 2: NaN is not a finite number\n");
    b = begin(1, STRUCTURE("('a', '<f4')", "1"));
    ADD(&b, float, -INFINITY);
    expect_cell_error(&b, "'t.npy': column 'a', row 1: -infinity is not a finite number\n");
    b = begin(1, STRUCTURE("('a', '<i8')", "2"));
    ADD(&b, int64_t, 1, (INT64_C(1) << 53) + 1);
    expect_cell_error(&b, "column 'a', row 2: this whole number is too large: no double has its value\n");
    b = begin(1, STRUCTURE("('a', '<u8')", "1"));
    ADD(&b, uint64_t, UINT64_MAX);
    expect_cell_error(&b, "column 'a', row 1: this whole number is too large: no double has its value\n");
    b = begin(1, STRUCTURE("('town', '|S4'), ('a', '|u1')", "1"));
    add(&b, "Ulm\0\x07", 5);
    expect_cell_error(&b, "column 'town', row 1: this is not a number\n");
}

static void expect_refusal(const bytes *b, const char *message) {
    reading r;
    read_table(&r, b);
    assert_null(r.table);
    assert_non_null(strstr(tc_buffer_text(&r.b.messages), message));
    bench_free(&r.b);
}

static void expect_header_error(const char *header, const char *message) {
    bytes b = begin(1, header);
    expect_refusal(&b, message);
}

static void other_files_are_refused(void **state) {
    (void)state;
    bytes b = {.at = "need\n1\n2\n3\n4\n5\n", .length = 15};
    expect_refusal(&b, "'t.npy' is not a .npy file: it does not begin as one\n");
    b = (bytes){.at = "PK\x03\x04........", .length = 12};
    expect_refusal(&b, "a .npz file holds several, save one with np.save\n");
    b = (bytes){.at = "", .length = 0};
    expect_refusal(&b, "'t.npy' is not a .npy file: it has 0 bytes\n");
    b = begin(4, STRUCTURE("('a', '<f8')", "1"));
    expect_refusal(&b, "'t.npy' is a .npy file of version 4.0; versions 1 to 3 are read\n");
    b = begin(1, STRUCTURE("('a', '<f8')", "2"));
    ADD(&b, double, 1, 2);
    for (size_t length = b.length - 1; length > 10; length--) {
        bytes cut = b;
        cut.length = length;
        expect_refusal(&cut, "is cut off: ");
    }
    add(&b, "?", 1);
    expect_refusal(&b, "'t.npy' has 1 bytes more than its header says\n");
    b = begin(2, "");
    b.at[11] = 1;
    expect_refusal(&b, "has a header of 16777217 bytes; at most 16777216 are read\n");
}

static void other_types_are_refused(void **state) {
    (void)state;
    expect_header_error(STRUCTURE("('a', '|O')", "1"), "holds column 'a' of Python objects, which are never read");
    expect_header_error(PLAIN("|O", "False", "(1,)"), "'t.npy' holds Python objects, which are never read");
    expect_header_error(STRUCTURE("('a', '>f8')", "1"), "holds column 'a' of type '>f8', with the high byte first");
    expect_header_error(STRUCTURE("('a', '<c16')", "1"), "holds column 'a' of type '<c16'; numbers of types f8");
    expect_header_error(STRUCTURE("('a', '<f2')", "1"), "holds column 'a' of type '<f2'; numbers of types f8");
    expect_header_error(STRUCTURE("('a', '|b1')", "1"), "holds column 'a' of type '|b1'; numbers of types f8");
    expect_header_error(STRUCTURE("('a', '<M8[ns]')", "1"), "holds column 'a' of type '<M8[ns]', which is not read");
    expect_header_error(STRUCTURE("('a', '=f8')", "1"), "holds column 'a' of type '=f8'; numbers of types f8");
    expect_header_error(STRUCTURE("('a', [('b', '<f8')])", "1"), "has a column 'a' that is a structure itself");
    expect_header_error(STRUCTURE("(('title', 'a'), '<f8')", "1"), "has a column with a title");
    expect_header_error(STRUCTURE("('a', '<f8', (2, 2))", "1"), "has a column 'a' of 2 dimensions; a vector has one");
    expect_header_error(PLAIN("<f8", "False", "(0,)"),
                        "'t.npy': a table is an array of one dimension with named fields");
    expect_header_error("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (), }", "is cut off");
}

static void odd_headers_are_refused(void **state) {
    (void)state;
    expect_header_error("", "has a header that is not understood, from here on: \n");
    expect_header_error("{'descr': '<f8'}", "has a header that is not understood");
    expect_header_error("{'descr': '<f8', 'descr': '<f8'}", "has a header that is not understood");
    expect_header_error(STRUCTURE("('a', '<f8')", "1") "x", "has a header that is not understood, from here on: x");
    expect_header_error(STRUCTURE("('a\\n', '<f8')", "1"), "has a header that is not understood");
    expect_header_error(STRUCTURE("('a', '<f8')", "-1"), "has a header that is not understood, from here on: -1");
    expect_header_error(STRUCTURE("('a', '<f8')", "99999999999999999999"), "more numbers than a memory can");
    expect_header_error(STRUCTURE("('a', '<f8')", "4611686018427387904"), "more numbers than a memory can");
    expect_header_error(STRUCTURE("('a', '<f8', (4611686018427387904,))", "0"), "more numbers than a memory can");
    expect_header_error(STRUCTURE("('a', '<f8')", "0"), "'t.npy': it has no rows");
    expect_header_error(STRUCTURE("", "0"), "'t.npy': it has no columns");
    expect_header_error(STRUCTURE("('a', '<f8'), ('a', '<f8')", "0"), "'t.npy': two columns are called 'a'");
    expect_header_error(STRUCTURE("('1a', '<f8')", "0"), "'t.npy': a column is called '1a', but names are made of");
    expect_header_error(STRUCTURE("('a', '<f8', (0,))", "0"), "'t.npy': column 'a' has no components");
    expect_header_error(STRUCTURE("('a', '<f8', (100001,))", "0"), "'t.npy': there are more than 100000 columns");
    expect_header_error(STRUCTURE("('name', '<f8')", "0"), "'t.npy': the column 'name' holds names");
}

static void names_are_checked(void **state) {
    (void)state;
    bytes b = begin(1, STRUCTURE("('name', '|S3')", "2"));
    add(&b, "abcabc", 6);
    expect_refusal(&b, "'t.npy': the name 'abc' is given to two agents, in rows 1 and 2\n");
    b = begin(1, STRUCTURE("('name', '<U1')", "1"));
    ADD(&b, uint32_t, 0xd800);
    expect_refusal(&b, "'t.npy': row 1: an agent's name must be UTF-8\n");
    b = begin(1, STRUCTURE("('name', '<U1')", "1"));
    ADD(&b, uint32_t, 0x110000);
    expect_refusal(&b, "'t.npy': row 1: an agent's name must be UTF-8\n");
    b = begin(1, STRUCTURE("('name', '|S1')", "1"));
    add(&b, "", 1);
    expect_refusal(&b, "'t.npy': row 1: an agent's name is missing\n");
}

static void expect_matrix(const bytes *from, size_t rows, size_t columns, const double *numbers) {
    bench b = bench_new();
    tc_diagnostics diagnostics = {b.arena, &problem, &b.messages, 0};
    tc_csv_source source = {.path = "t.npy", .span = {13, 7}, .text = from->at, .length = from->length};
    double *read = NULL;
    size_t read_rows, read_columns;
    assert_true(tc_npy_matrix(b.arena, &diagnostics, &source, &read, &read_rows, &read_columns));
    assert_int_equal(read_rows, rows);
    assert_int_equal(read_columns, columns);
    assert_memory_equal(read, numbers, rows * columns * sizeof *numbers);
    bench_free(&b);
}

static void expect_matrix_error(const bytes *from, const char *message) {
    bench b = bench_new();
    tc_diagnostics diagnostics = {b.arena, &problem, &b.messages, 0};
    tc_csv_source source = {.path = "t.npy", .span = {13, 7}, .text = from->at, .length = from->length};
    double *read = NULL;
    size_t rows, columns;
    assert_false(tc_npy_matrix(b.arena, &diagnostics, &source, &read, &rows, &columns));
    assert_non_null(strstr(tc_buffer_text(&b.messages), message));
    bench_free(&b);
}

static void matrices_come_in_both_orders(void **state) {
    (void)state;
    const double numbers[] = {1, 2, 3, 4, 5, 6};
    bytes b = begin(3, PLAIN("<f8", "False", "(2, 3)"));
    ADD(&b, double, 1, 2, 3, 4, 5, 6);
    expect_matrix(&b, 2, 3, numbers);
    b = begin(1, PLAIN("<i2", "True", "(2, 3)"));
    ADD(&b, int16_t, 1, 4, 2, 5, 3, 6);
    expect_matrix(&b, 2, 3, numbers);
    b = begin(1, PLAIN("<f8", "True", "(6,)"));
    ADD(&b, double, 1, 2, 3, 4, 5, 6);
    expect_matrix(&b, 6, 1, numbers);
    b = begin(1, PLAIN("<f8", "True", "(2, 2)"));
    ADD(&b, double, 1, INFINITY, 3, 4);
    expect_matrix_error(&b, "'t.npy' row 2, column 1: infinity is not a finite number\n");
    b = begin(1, PLAIN("<f8", "True", "(2, 0)"));
    expect_matrix_error(&b, "'t.npy' holds no numbers\n");
    b = begin(1, PLAIN("|S1", "False", "(1,)"));
    add(&b, "x", 1);
    expect_matrix_error(&b, "'t.npy' holds text; a parameter is an array of numbers\n");
    b = begin(1, PLAIN("<f8", "False", "(1, 1, 1)"));
    ADD(&b, double, 1);
    expect_matrix_error(&b, "'t.npy' holds an array of 3 dimensions; tables have one, matrices two\n");
}

/* The same model as with CSV; a parameter may still be called npy. */
static void problems_name_npy_files(void **state) {
    (void)state;
    bytes b = begin(1, STRUCTURE("('need', '<f8'), ('cap', '<f8')", "2"));
    ADD(&b, double, 1, 2, 3, 4);
    reading r;
    read_table(&r, &b);
    bench_free(&r.b);
    bench w = bench_new();
    const char *text = "data homes = npy \"t.npy\" public cap\nparam npy = 3\nparam m = npy + 1\n"
                       "agents home over homes { state p in [0, cap]; private minimize (p - need)^2 * m }\n";
    tc_model *model = NULL;
    assert_int_equal(tc_model_parse(w.arena, "p.tacit", text, strlen(text), NULL, &w.messages, &model), TC_OK);
    assert_int_equal(model->families[0].count, 2);
    assert_true(model->families[0].columns[0].values[1] == 3 && model->families[0].columns[0].is_private);
    assert_true(model->families[0].columns[1].values[0] == 2 && !model->families[0].columns[1].is_private);
    bench_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_columns_and_vectors),
        cmocka_unit_test(whole_numbers_keep_their_value),
        cmocka_unit_test(what_is_no_finite_double_is_told_of_where_it_is_used),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(odd_headers_are_refused),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(matrices_come_in_both_orders),
        cmocka_unit_test(problems_name_npy_files),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
