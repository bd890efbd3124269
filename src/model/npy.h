/* NumPy's .npy files. Tables and matrices are read with what csv.h declares; this is between npy.c and npy_table.c. */
#ifndef TC_MODEL_NPY_H
#define TC_MODEL_NPY_H

#include "model/csv.h"

typedef struct tc_npy_field { /* a column, or the numbers of a plain array */
    const char *name;
    char kind;     /* 'f', 'i', 'u': numbers; 'S', 'U': text; 'V': padding */
    size_t size;   /* bytes of one number or text */
    size_t offset; /* within a row */
    size_t length; /* components */
    bool is_vector;
    bool is_number, is_text, is_padding;
} tc_npy_field;

typedef struct tc_npy {
    tc_arena *arena;
    tc_diagnostics *diagnostics;
    const tc_csv_source *source;
    struct tc_npy_file *file; /* NULL: from memory */
    size_t size;              /* bytes of the file */
    const char *at;           /* in the header */
    size_t data;              /* where the numbers begin */
    uint64_t hash;            /* of the header; on several ranks, of the whole file */
    bool is_structured, is_fortran;
    size_t shape[2], dimensions;
    tc_npy_field *fields;
    size_t field_count;
    size_t row_bytes; /* of a row, or of one number of a plain array */
} tc_npy;

/* Reports what is wrong after the file's name. Returns false. */
bool tc_npy_refuse(const tc_npy *npy, const char *format, ...) TC_PRINTF(2, 3);
/* Reads and checks the header. false after a reported error. */
bool tc_npy_open(tc_npy *npy);
void tc_npy_close(tc_npy *npy);
/* Gives the rows first .. end - 1 to take, some at a time: their bytes, the first's number, their count. */
bool tc_npy_rows(tc_npy *npy, size_t first, size_t end, bool (*take)(void *, const unsigned char *, size_t, size_t),
                 void *taker);
/* How many of these numbers are finite doubles, up to the first that is not. */
size_t tc_npy_numbers(const tc_npy_field *field, const unsigned char *from, size_t stride, size_t count, double *to);
/* What to say of a number that is none. */
const char *tc_npy_problem(tc_arena *arena, double value, const tc_npy_field *field);

#endif
