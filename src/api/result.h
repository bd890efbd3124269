/* Inside the library: problems and results as handles, and how a public function works.
 *
 *     static tc_status make_plan(tc_api_call *call) { ... call->result->plan = ...; return TC_OK; }
 *
 *     tacit_status tacit_plan(...) {
 *         tc_api_call call = {.problem = problem, .command = "plan", ...};
 *         return tc_call_make(&call, options, make_plan, result, message);
 *     }
 */
#ifndef TC_API_RESULT_H
#define TC_API_RESULT_H

#include "base/json.h"
#include "setup/setup.h"

#include <stdatomic.h>

struct tacit_problem {
    tc_arena *arena;
    tc_loaded loaded; /* derivatives are made when first needed */
    atomic_bool is_busy;
};

/* As tacit_problem_make. The text may come from standard input; path is then for messages only. spread: whether
 * ranks may share data. */
tacit_status tc_problem_make(const tacit_source *source, bool standard_input, tc_spread spread, tacit_problem **problem,
                             char **message);

/* What came out of each command; one of them is not NULL. Defined where it is made. */
typedef struct tc_contents {
    const struct tc_analysis *check;
    const struct tc_solution *solve;
    const struct tc_planned *plan; /* of plan; also of run, bound, audit and advise */
    const struct tc_run_output *run;
    const struct tc_sweep_output *sweep;
    const struct tc_bound *bound;
    const struct tc_advice *advice;
    const struct tc_audit *audit;
    const struct tc_ledger_output *ledger;
    const struct tc_split_output *split;
    const struct tc_page_output *page;
} tc_contents;

struct tacit_result {
    tc_arena *arena;
    const tc_model *model; /* with the schedule of the promise; NULL for ledger and report */
    tc_contents of;
    bool holds, is_interrupted;
    const char *reason; /* why it does not hold: a sentence; NULL where it does, or nothing is known */
    bool full;          /* texts name everything */
    bool has_colours;   /* texts are for a terminal with colours */
    tc_buffer messages;
    tc_buffer remarks; /* warnings that text and JSON have */
    void (*write_json)(const tacit_result *result, tc_json *json);
    void (*write_text)(const tacit_result *result, tc_buffer *out);
    const char *json, *text, *certificate;
};

/* A public function at work. */
typedef struct tc_api_call {
    const char *command;
    bool needs_problem;
    bool to_owner;    /* its output shows private data, by what it is for */
    bool has_promise; /* read it */
    tacit_problem *problem;
    const tacit_promise *promise;
    const void *own;   /* the function's own options, checked by itself */
    const void *hooks; /* of the command line alone; NULL */
    /* filled by tc_call_make: */
    tacit_options options; /* all of this version */
    tc_work work;
    tacit_result *result;
    tc_privacy_wishes wishes; /* where it has a promise */
} tc_api_call;

/* Makes a result: checks arguments, takes the problem, sets escapes, calls make. On failure *result is NULL and
 * *message says why. TC_INTERRUPTED from make means that there is nothing to show; a result of what was done sets
 * is_interrupted.
 */
tacit_status tc_call_make(tc_api_call *call, const tacit_options *options, tc_status (*make)(tc_api_call *),
                          tacit_result **result, char **message);

/* Adds to the remarks. NULL: nothing. */
void tc_result_remark(tacit_result *result, const char *warning);
void tc_result_remark_all(tacit_result *result, const char *const *warnings, size_t count);

/* Calls a callback for rows, unless one has failed. False: the work shall stop. */
bool tc_call_row(tc_api_call *call, int (*row)(void *context, const tacit_row *row), const tacit_row *facts);

/* TC_BAD_USAGE: "the run options have another size than ..." */
tc_status tc_wrong_size(tc_api_call *call, const char *type) TC_MUST_USE;

/* Work on a result that is there, with its escape set; what it writes into messages becomes *message. */
tacit_status tc_result_work(tacit_result *result,
                            tc_status (*work)(tacit_result *result, void *context, tc_buffer *messages), void *context,
                            char **message);

/* ---- for the command alone ---- */

/* An audit with what another program has found. */
typedef struct tc_audit_hooks {
    /* What was found end to end, in the work's arena. Called after the samples, unless they were interrupted or there
     * were none to take. */
    const struct tc_end_to_end *(*end_to_end)(void *context, tc_work *work);
    void *context;
} tc_audit_hooks;

/* hooks may be NULL. */
tacit_status tc_audit_with(tacit_problem *problem, const tacit_promise *promise, const tacit_audit_options *audit,
                           const tc_audit_hooks *hooks, const tacit_options *options, tacit_result **result,
                           char **message);

#endif
