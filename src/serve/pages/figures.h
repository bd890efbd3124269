/* The figures on the pages: released or operational only. Nothing tells anything about a single agent: no lateness, no
 * clamps, no MACs. */
#ifndef TC_SERVE_PAGES_FIGURES_H
#define TC_SERVE_PAGES_FIGURES_H

#include "engine/tacit/facts.h"
#include "net/wire/message.h"
#include "serve/link/link.h"

enum { TC_COMMIT_BUCKETS = 12, TC_REFUSAL_KINDS = 16 };
/* Upper ends in seconds of the histogram of commits; the last bucket has no end. */
extern const double tc_commit_bounds[TC_COMMIT_BUCKETS - 1];

#define TC_PHASES(X)                                                                                                   \
    X(TC_PHASE_ENROLLING, "enrolling") /* not every agent has enrolled yet */                                          \
    X(TC_PHASE_RUNNING, "running")                                                                                     \
    X(TC_PHASE_STOPPING, "stopping")                                                                                   \
    X(TC_PHASE_DONE, "done")                                                                                           \
    X(TC_PHASE_FAILED, "failed")
typedef enum tc_serve_phase {
#define X(code, name) code,
    TC_PHASES(X)
#undef X
} tc_serve_phase;
const char *tc_serve_phase_name(tc_serve_phase phase);

typedef struct tc_figures {
    tc_serve_phase phase;
    bool is_private;                /* deserves the word (plan/account/price.c) */
    bool is_priced;                 /* epsilon and delta are valid */
    bool is_insecure;               /* plain text, noise from a seed, or none */
    const char *run_id, *plan_hash; /* hexadecimal digits */
    const char *method, *mechanism;
    double epsilon, delta;         /* of the observer who pays most, over the whole run */
    uint64_t epoch, round, rounds; /* round: the last that was answered */
    uint64_t agents, enrolled;     /* agents of the file; those enrolled now */
    double rounds_per_second;      /* recent average; unknown if last_round is 0 */
    double started, last_round; /* seconds of CLOCK_REALTIME; last_round: to a second, 0 before this process's first */
    const double *multipliers;  /* released, m; NULL before the first round */
    const double *answer_multipliers;
    size_t multiplier_count;
    const char *const *constraint_names;
    const tc_feasibility *feasibility;   /* NULL: none */
    uint64_t refusals[TC_REFUSAL_KINDS]; /* by tc_refusal_code */
    uint64_t turned_away;                /* connections that left after the welcome */
    uint64_t held;                       /* states used again, of all agents together */
    uint64_t answers, answers_again;     /* sent; sent again */
    uint64_t commits[TC_COMMIT_BUCKETS];
    double commit_seconds;
    bool has_reload_failed;    /* of the certificates, the last time */
    uint64_t log_lost;         /* lines of the log that were dropped */
    const char *version;       /* of the program */
    double certificate_expiry; /* seconds of CLOCK_REALTIME; 0 in plain text */
    tc_links_figures links;
} tc_figures;

void tc_figures_commit(tc_figures *figures, double seconds); /* counts a commit of these seconds */

#endif
