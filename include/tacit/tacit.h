/* libtacit: the best joint decision of many agents under shared constraints, without any of them showing its
 * objective, its limits or its behaviour.
 *
 *     tacit_problem *problem;
 *     char *message;
 *     if (tacit_problem_load("ev.tacit", &problem, &message) != TACIT_OK) {
 *         fputs(message, stderr);
 *         tacit_text_free(message);
 *         return 1;
 *     }
 *     tacit_solution *solution;
 *     if (tacit_solve(problem, NULL, &solution) == TACIT_OK)
 *         printf("objective %g\n", tacit_solution_objective(solution));
 *     tacit_solution_free(solution);
 *     tacit_problem_free(problem);
 *
 * Handles are opaque. A function that makes one says who frees it; freeing NULL is allowed. A problem and what was made
 * from it are for one thread at a time; different problems are independent. Nothing is printed, no signal is touched,
 * and no function ends the process. */
#ifndef TACIT_TACIT_H
#define TACIT_TACIT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TACIT_API __attribute__((visibility("default")))

/* Why a thing could not be done. An outcome ("no Slater point exists") is never a status. */
typedef enum tacit_status {
    TACIT_OK,
    TACIT_NO_MEMORY,
    TACIT_TOO_LARGE,      /* beyond this library's limits */
    TACIT_BAD_PROBLEM,    /* the problem file has errors, or is not of the kind asked for */
    TACIT_BAD_USAGE,      /* an argument is wrong, or names no file */
    TACIT_CANNOT_READ,    /* a file */
    TACIT_CANNOT_WRITE,   /* a file */
    TACIT_INTERRUPTED,    /* while loading */
    TACIT_INTERNAL,       /* a defect of this library: please report it */
    TACIT_NO_RANDOM,      /* the random source failed, or refused a use that would not be safe */
    TACIT_BAD_ARITHMETIC, /* the calling thread does not round to nearest, or treats the smallest numbers as zero */
} tacit_status;

/* One line in English. Static. */
TACIT_API const char *tacit_status_text(tacit_status status);

/* "0.1.0". Static. */
TACIT_API const char *tacit_version(void);

/* ---- Problems ---- */

typedef struct tacit_problem tacit_problem;

/* Reads a problem file and the data files it names. On success *problem is the caller's, to free with
 * tacit_problem_free. On failure *problem is NULL and *message a text with all errors and their places, which is the
 * caller's, to free with tacit_text_free (NULL on success, or where memory is out). message may be NULL. */
TACIT_API tacit_status tacit_problem_load(const char *path, tacit_problem **problem, char **message);

/* The same from a text in memory, which is copied; path is used in messages and to find data files. */
TACIT_API tacit_status tacit_problem_parse(const char *path, const char *text, size_t length, tacit_problem **problem,
                                           char **message);

TACIT_API void tacit_problem_free(tacit_problem *problem);
TACIT_API void tacit_text_free(char *text);

TACIT_API size_t tacit_problem_agents(const tacit_problem *problem);      /* N */
TACIT_API size_t tacit_problem_states(const tacit_problem *problem);      /* n, of all agents together */
TACIT_API size_t tacit_problem_constraints(const tacit_problem *problem); /* m */

/* How many states agent number `agent` (from 0) has; 0 where there is no such agent. */
TACIT_API size_t tacit_problem_agent_states(const tacit_problem *problem, size_t agent);

/* Writes the agent's name, cut to size - 1 characters, into the caller's text. */
TACIT_API tacit_status tacit_problem_agent_name(const tacit_problem *problem, size_t agent, char *text, size_t size);

/* ---- Options of long work ---- */

typedef struct tacit_options {
    double tolerance; /* of the residual; 0 means 1e-8 */
    /* Asked now and then: non-zero stops the work. NULL: never. */
    int (*interrupted)(void *context);
    /* Told now and then: what is done, and how much of it, 0 to 1. NULL: nobody. */
    void (*progress)(void *context, const char *what, double fraction);
    void *context;
} tacit_options;

/* ---- Checking: certified facts ---- */

typedef struct tacit_report tacit_report;

/* Verifies the assumptions and brackets the Lipschitz constants. options may be NULL. On success *report is the
 * caller's, to free with tacit_report_free before the problem; on failure it is NULL. */
TACIT_API tacit_status tacit_check(tacit_problem *problem, const tacit_options *options, tacit_report **report);
TACIT_API void tacit_report_free(tacit_report *report);

/* 1 where every assumption that the file can be judged by is proved, else 0. */
TACIT_API int tacit_report_holds(const tacit_report *report);

/* Everything that was found, as a JSON object, and as text for people. Both belong to the report. */
TACIT_API const char *tacit_report_json(const tacit_report *report);
TACIT_API const char *tacit_report_text(const tacit_report *report);

/* ---- Solving: the least-norm saddle point, without privacy ---- */

typedef struct tacit_solution tacit_solution;

typedef enum tacit_outcome {
    TACIT_SOLVED,
    TACIT_INACCURATE,          /* stopped before the tolerance was reached */
    TACIT_INFEASIBLE,          /* suspected: no point seems to satisfy all constraints */
    TACIT_OUTCOME_INTERRUPTED, /* the best so far */
} tacit_outcome;

/* Solves a whole problem (not a file made for the cloud or for an agent: TACIT_BAD_PROBLEM). options may be NULL. On
 * success *solution is the caller's, to free with tacit_solution_free before the problem; on failure it is NULL. */
TACIT_API tacit_status tacit_solve(tacit_problem *problem, const tacit_options *options, tacit_solution **solution);
TACIT_API void tacit_solution_free(tacit_solution *solution);

TACIT_API tacit_outcome tacit_solution_outcome(const tacit_solution *solution);
TACIT_API double tacit_solution_objective(const tacit_solution *solution);
TACIT_API double tacit_solution_residual(const tacit_solution *solution); /* of the saddle point conditions */

/* Writes the agent's states, tacit_problem_agent_states of them, into the caller's x. */
TACIT_API tacit_status tacit_solution_x(const tacit_solution *solution, size_t agent, double *x);

/* The multipliers, one per constraint. They belong to the solution. */
TACIT_API const double *tacit_solution_mu(const tacit_solution *solution);

/* All of it as a JSON object. It belongs to the solution. */
TACIT_API const char *tacit_solution_json(const tacit_solution *solution);

#ifdef __cplusplus
}
#endif

#endif
