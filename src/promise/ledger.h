/* A ledger: what the same agents' data have cost over several runs.
 *
 * A file of lines, one for each run, that is only ever appended to. Each line is a JSON object with a check over itself
 * and all lines before, so that a line that is lost, cut or changed by accident is found. (Not a signature: whoever may
 * write the file can write a new one.) What is entered is the price of the observer who pays most (price.h); what runs
 * come to together is the accountant's business (accountant.h). Lines of the first form, which have no price of one
 * agent entirely, stay as they are; new ones are appended in the second. */
#ifndef TC_PROMISE_LEDGER_H
#define TC_PROMISE_LEDGER_H

#include "plan/plan.h"

typedef struct tc_unit {
    tc_adjacency kind; /* ENSEMBLE, ONE or AGENT; UNSET for runs without noise */
    double bound;      /* B; NAN for AGENT and UNSET */
} tc_unit;

typedef struct tc_ledger_entry {
    const char *run;     /* its id: 1 to 256 bytes */
    const char *time;    /* "2026-01-31T12:00:00Z"; NULL: now */
    const char *problem; /* its file's name, without folders */
    const char *plan;    /* the plan's hash, 64 hexadecimal digits */
    tc_adjacency unit;   /* ENSEMBLE, ONE or AGENT; UNSET for a run without noise */
    double bound;        /* B; NAN for AGENT and UNSET */
    tc_mechanism mechanism;
    double epsilon, delta; /* infinite where the run has no price */
    double mu;             /* Gaussian; NAN otherwise */
    double agent;          /* epsilon or mu of all that one agent could do in the whole run; infinite where not known */
    double rounds;
    double agents;     /* that take part; NAN where not known */
    bool is_priced;    /* false: no noise, noise from a seed, or a promise that does not hold */
    tc_unit file_unit; /* of a run to come: what its file promises; UNSET for nothing. Not written */
} tc_ledger_entry;

typedef struct tc_ledger {
    const char *path;
    bool is_new;              /* there is no such file yet */
    tc_ledger_entry *entries; /* in the order of the file */
    size_t count;
} tc_ledger;

/* The entry of a run by this plan. */
tc_ledger_entry tc_ledger_entry_of(tc_arena *arena, const tc_plan *plan, const char *run);

/* A file that does not exist, in a folder that does, is an empty ledger (is_new). TC_BAD_USAGE for a name that is no
 * plain file's; TC_CANNOT_READ; TC_BAD_PROBLEM, with the line's number, for one that is damaged. A message each. */
tc_status tc_ledger_read(tc_arena *arena, const char *path, tc_buffer *messages, tc_ledger **ledger) TC_MUST_USE;

/* Appends the entry and waits until it is on the disk: to be called before the first answer of a run leaves. Several
 * processes may do so at once. A run that is there already, with the same plan, is not entered twice (*was_there, which
 * may be NULL); with another plan it is refused (TC_BAD_USAGE). Nothing is appended to a damaged ledger. */
tc_status tc_ledger_record(tc_arena *arena, const char *path, const tc_ledger_entry *entry, tc_buffer *messages,
                           bool *was_there) TC_MUST_USE;

/* As tc_ledger_record, but nothing is appended, and *over says why, where one of the budgets does not allow it. Decided
 * while the file is locked, so that of two runs at once at most as many are entered as the budgets allow. */
tc_status tc_ledger_record_within(tc_arena *arena, const char *path, const tc_ledger_entry *entry,
                                  const tc_budget *budgets, size_t budget_count, tc_buffer *messages,
                                  const char **over) TC_MUST_USE;

/* What was spent, in every unit that a run was promised in, and where next is not NULL what it comes to with that run.
 */
void tc_ledger_text(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, tc_buffer *out);
/* As an object under key. */
void tc_ledger_json(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const char *key,
                    tc_json *json);

/* ---- for ledger*.c ----------------------------------------------------------------------------------------------- */

/* A line of a ledger file: keys in a fixed order, then the check of all bytes up to it and of all lines before. */

enum { TC_LEDGER_CHECK = 16, TC_LEDGER_LINE = 4096 }; /* hexadecimal digits; the longest line */

/* The line with its newline; check holds that of the line before ("" at the start) and receives this one's. */
void tc_ledger_line_write(tc_buffer *out, const tc_ledger_entry *entry, char check[TC_LEDGER_CHECK + 1]);

/* Reads a line without its newline; NULL, or what is wrong with it. */
const char *tc_ledger_line_read(tc_arena *arena, const char *line, size_t length, tc_ledger_entry *entry,
                                char check[TC_LEDGER_CHECK + 1]);

#endif
