/* Data that are spread over ranks (base/ranks/ranks.h): of a large table or family each rank knows the rows of the
 * members that it holds. What is found out about some rows is agreed upon here, so that all ranks go on alike. */
#ifndef TC_MODEL_SPREAD_H
#define TC_MODEL_SPREAD_H

#include "model/syntax/diagnose.h"

typedef struct tc_known { /* rows first .. end - 1 are this rank's; is_spread: other ranks have the others */
    size_t first, end;
    bool is_spread;
} tc_known;

/* What of so many rows this rank knows: small tables are known to all. (The analysis of small problems is exact, and
 * needs all of them: analysis/duality.c.) */
enum { TC_ROWS_KNOWN_TO_ALL = 50000 };
tc_known tc_known_rows(size_t rows, bool whole);
/* Of rows that are spread, where those that a rank knows end. */
size_t tc_known_end_of(size_t rows, size_t rank);

/* The known members of a family, or the one number that holds for all. */
static inline bool tc_is_known(const tc_family *family, size_t member) {
    return member >= family->known_first && member < family->known_end;
}
static inline size_t tc_first_known(const tc_family *family, bool varies) { return varies ? family->known_first : 0; }
static inline size_t tc_end_known(const tc_family *family, bool varies) { return varies ? family->known_end : 1; }

/* Where the messages were before something was checked. */
typedef struct tc_told {
    size_t errors, length;
} tc_told;
tc_told tc_told_so_far(const tc_diagnostics *diagnostics);

/* Whether a check is passed on all ranks. Otherwise every rank has the messages of the one whose error comes first: the
 * one with the smallest place, which is a row's or member's number, and of several the first rank. */
bool tc_agreed_at(tc_diagnostics *diagnostics, tc_told before, bool good, uint64_t place);
/* The same of a check of members in order, in which each rank stopped at its first error. No meeting where the family
 * is not spread. */
bool tc_agreed(tc_diagnostics *diagnostics, const tc_family *family, tc_told before, bool good);

/* Whether a file is the same on all ranks. Otherwise, instead of what each said since then, all report who differs. */
typedef struct tc_file_facts {
    uint64_t is_there, bytes, rows, hash;
} tc_file_facts;
bool tc_same_file(tc_diagnostics *diagnostics, tc_told before, tc_span span, const char *path, tc_file_facts facts);

/* Of a spread family: whether it is so for some member of some rank; for all members of all. */
bool tc_for_some(const tc_family *family, bool here);
bool tc_for_all(const tc_family *family, bool here);

/* A number that is computed member after member: each rank goes on with what the rank before it has. Between the two
 * calls stands a loop over the known members. After the second, all ranks have the result. */
void tc_fold_begin(const tc_family *family, void *number, size_t size);
void tc_fold_end(const tc_family *family, void *number, size_t size);

/* Whether a column has the same number for all members of all ranks. *first: that of member 0. */
bool tc_all_equal(const tc_family *family, const double *column, double *first);

/* The first rank for which it is so, in order of members; SIZE_MAX: none. */
size_t tc_first_rank(const tc_family *family, bool here);
/* The largest number over the members of all ranks, and of which member, where each rank has that of its own: of
 * several the first. least: what is not larger than it is not taken. */
void tc_largest_known(const tc_family *family, double least, double *largest, size_t *member);
/* What one rank has found: gives it to all. */
void tc_from_rank(const tc_family *family, size_t rank, void *bytes, size_t count);
/* The same of numbers alone, none of them NAN. */
double tc_largest_of(const tc_family *family, double here);
/* Whether a loop over the known members may end now. Of a spread family ranks may say different things: they agree
 * afterwards, by tc_for_some. */
bool tc_stops_here(const tc_family *family, const tc_monitor *monitor);
/* The sum over ranks. */
size_t tc_sum_known(const tc_family *family, size_t here);

/* What one member has, which one rank knows: gives it to all. */
void tc_from_member(const tc_family *family, size_t member, void *bytes, size_t count);

/* A coordinate of a point of which each rank has the members that it knows: what all need to know. */
double tc_coord_at(const tc_model *model, const double *x, size_t coord);

/* The states of the members that are known, from one point to another. */
void tc_copy_point(const tc_model *model, double *to, const double *from);

/* The same problem with the data of all members on every rank, all ranks together; the model itself where nothing is
 * spread (whole.c). */
const tc_model *tc_whole_model(tc_arena *arena, const tc_model *model);

/* NULL: a problem may be spread. Otherwise why it is loaded again, and every rank knows all data (spreads.c). */
enum { TC_MOST_SPREAD_ROWS = 512 };
const char *tc_why_whole(const tc_model *model);

/* For tests: with TACIT_TEST_GUARD in the environment, a rank that reads what it does not know ends by a signal; where
 * it is "tell", each rank says first what it knows of spread families. */
void tc_guard_unknown(const tc_model *model);

#endif
