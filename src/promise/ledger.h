/* A ledger: what the same agents' data have cost over several runs.
 *
 * A file with one line for each run; lines are only appended. Each line is a JSON object with a check over itself and
 * all lines before, which detects a line that is lost, cut or changed by accident. (It is not a signature: a person who
 * may write the file can write a new one.) An entry has the price of the observer who pays most (plan/account/price.c).
 * The accountant adds up runs. Old lines of the first form, without the price of one agent entirely, stay unchanged;
 * new lines have the second form, the third in the units agent:D and data, and the fourth where a run has a last round
 * (--feasible always): programs that cannot count its bounds refuse such a ledger. */
#ifndef TC_PROMISE_LEDGER_H
#define TC_PROMISE_LEDGER_H

#include "plan/plan.h"

typedef struct tc_unit {
    tc_adjacency kind; /* UNSET for runs without noise */
    double bound;      /* B, or D of WITHIN; NAN for others */
    const char *data;  /* DATA: what is protected, "home.need by 5, home.pref by 0.5"; NULL for others */
} tc_unit;

/* The last round of --feasible always, whose noise has bounds (docs/proofs/ending.md). */
typedef struct tc_ledger_last {
    double price; /* its part of epsilon or mu */
    double agent; /* the same, of everything one agent can do in it; infinite if unknown */
    double rows;  /* of numbers that are released; 0: there is no such round */
    double cut;   /* bounds are so many scales */
} tc_ledger_last;

typedef struct tc_ledger_entry {
    const char *run;     /* its id: 1 to 256 bytes */
    const char *time;    /* "2026-01-31T12:00:00Z"; NULL: now */
    const char *problem; /* its file's name, without folders */
    const char *plan;    /* the plan's hash, 64 hexadecimal digits */
    tc_adjacency unit;   /* UNSET for a run without noise */
    double bound;        /* B, or D of WITHIN; NAN for others */
    const char *data;    /* DATA: what is protected, as in tc_unit; NULL for others */
    tc_mechanism mechanism;
    double epsilon, delta; /* infinite where the run has no price */
    double mu;             /* Gaussian; NAN otherwise */
    double agent;          /* epsilon or mu of everything one agent can do in the whole run; infinite if unknown */
    double rounds;
    double agents;       /* that take part; NAN where not known */
    tc_ledger_last last; /* its price is a part of epsilon, mu and agent */
    bool is_priced;      /* false: no noise, noise from a seed, or a promise that does not hold */
    tc_unit file_unit;   /* of the next run: the unit of its file's promise; UNSET for none. Not written */
} tc_ledger_entry;

typedef struct tc_ledger {
    const char *path;
    bool is_new;              /* there is no such file yet */
    tc_ledger_entry *entries; /* in the order of the file */
    size_t count;
} tc_ledger;

/* The entry of a run by this plan. */
tc_ledger_entry tc_ledger_entry_of(tc_arena *arena, const tc_plan *plan, const char *run);

/* A missing file in an existing folder is an empty ledger (is_new). With a message: TC_BAD_USAGE if the path is not a
 * plain file; TC_CANNOT_READ; TC_BAD_PROBLEM, with the line's number, if the ledger is damaged. */
tc_status tc_ledger_read(tc_arena *arena, const char *path, tc_buffer *messages, tc_ledger **ledger) TC_MUST_USE;

/* Appends the entry and waits until it is on the disk. Call it before the first answer of a run leaves. Several
 * processes may do so at once. A run that has an entry with the same plan already gets no second one (*was_there, which
 * may be NULL); with another plan it is refused (TC_BAD_USAGE). Appends nothing to a damaged ledger. */
tc_status tc_ledger_record(tc_arena *arena, const char *path, const tc_ledger_entry *entry, tc_buffer *messages,
                           bool *was_there) TC_MUST_USE;

/* As tc_ledger_record, but if a budget does not allow the run, appends nothing and *over says why. Decides while the
 * file is locked, so that two runs at once cannot exceed a budget together. */
tc_status tc_ledger_record_within(tc_arena *arena, const char *path, const tc_ledger_entry *entry,
                                  const tc_budget *budgets, size_t budget_count, tc_buffer *messages,
                                  const char **over) TC_MUST_USE;

/* The price so far, in every unit that a run was promised in, and with the next run unless next is NULL. */
void tc_ledger_text(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, tc_buffer *out);
/* As an object under key. */
void tc_ledger_json(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const char *key,
                    tc_json *json);

/* ---- The accountant: accountant.c ----
 *
 * What several runs on the same agents' data have cost together, in one unit and at one delta, and whether a budget
 * allows one more. Sums are never below the truth (docs/proofs/composition.md, section 6). */

static inline tc_unit tc_unit_of(const tc_ledger_entry *entry) {
    return (tc_unit){entry->unit, entry->bound, entry->data};
}
bool tc_same_unit(tc_unit a, tc_unit b);
/* "one:0.5", "data (home.need by 5)"; NULL for UNSET */
const char *tc_unit_in_full(tc_arena *arena, tc_unit unit);

/* All runs of a ledger together, in one unit. */
typedef struct tc_spent {
    tc_unit unit;
    double delta;         /* that epsilon is taken at; 0: of Laplace runs alone */
    size_t own;           /* runs that were promised in this unit */
    size_t converted;     /* runs of other units, converted into it */
    size_t not_converted; /* runs for which no conversion is sound: they are in no sum */
    const char *why_not;  /* of the first of those: a sentence; NULL for none */
    double laplace;       /* the sum of the Laplace prices */
    double mu;            /* of the Gaussian ones together */
    double bounds;        /* the part of delta that the bounds of last rounds cost */
    double epsilon;       /* of own and converted runs; infinite if one has no price, or delta does not suffice */
    bool is_priced;       /* every run has a price */
} tc_spent;

tc_spent tc_spent_in(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit, double delta);
/* The same without a budget: at the least delta of any Gaussian run, 0 for none, and what bounds of last rounds cost on
 * top. Laplace prices are added without using that delta, so that one more run can only raise the sum. */
tc_spent tc_spent_so_far(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit);

/* ---- budgets ---- */

/* A budget for Gaussian runs must give the delta at which they are added up, and one for last rounds a delta for them.
 * NULL, or a sentence that says what to write. next may be NULL. */
const char *tc_budget_fault(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                            const tc_budget *budget);

/* Why the budgets do not allow this run after the ledger's; NULL if all do. Judged in the unit of this run and in that
 * of its file, with the largest B of these and of the ledger. So a run with another unit cannot evade the file's
 * promise, nor a run with a smaller B a promise for a larger one. */
const char *tc_over_budget(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                           const tc_budget *budgets, size_t count);

/* The price of all runs together with this one, in the unit (of those two) in which it is larger. */
tc_spent tc_spent_with(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const tc_budget *budget);

/* "epsilon 4", "epsilon 4, delta 1e-06" */
const char *tc_budget_text(tc_arena *arena, const tc_budget *budget);

/* ---- ledger_line.c: a line has its keys in a fixed order, then the check of this line and all before ---- */

enum { TC_LEDGER_CHECK = 16, TC_LEDGER_LINE = 1 << 16 }; /* hexadecimal digits; the longest line */

/* The line with its newline; check holds that of the line before ("" at the start) and receives this one's. */
void tc_ledger_line_write(tc_buffer *out, const tc_ledger_entry *entry, char check[TC_LEDGER_CHECK + 1]);

/* Reads a line without its newline; NULL, or what is wrong with it. */
const char *tc_ledger_line_read(tc_arena *arena, const char *line, size_t length, tc_ledger_entry *entry,
                                char check[TC_LEDGER_CHECK + 1]);

#endif
