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
 *     tacit_result *plan;
 *     if (tacit_plan(problem, NULL, NULL, &plan, &message) == TACIT_OK)
 *         puts(tacit_result_text(plan));
 *     else
 *         fputs(message, stderr);
 *     tacit_text_free(message);
 *     tacit_result_free(plan);
 *     tacit_problem_free(problem);
 *
 * There is one function for each command that is not a server: check, solve, plan, advise, run, sweep, bound, audit,
 * split, report. It returns a status, which says whether it could be done, and makes a result, which says what came
 * out. docs/c-api.md has whole programs.
 *
 * Handles are opaque. Freeing NULL is allowed. A problem and the results made from it are for one thread at a time, and
 * results are freed before their problem; different problems are independent. While one function works on a problem,
 * another one that wants it (from another thread, or from a callback) gets TACIT_BUSY. Nothing is printed, no signal is
 * touched, and no function ends the process. A handle that was freed must not be used. After fork the child may go on
 * with the handles it has, if no function was at work in the parent.
 *
 * Structs begin with their size. Fill options by their function tacit_..._default, then change them. Of facts, set the
 * size; the rest is written over. So a program that was built with an older header works with a newer library. Texts
 * and arrays that you give are copied, or used during the call only. Those that a result gives belong to it. */
#ifndef TACIT_TACIT_H
#define TACIT_TACIT_H

#include <tacit/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Problems ---- */

typedef struct tacit_problem tacit_problem;

/* Reads a problem file and the data files it names. On success *problem is the caller's, to free with
 * tacit_problem_free. On failure *problem is NULL and *message has all errors and their places, as complete
 * lines. The caller frees it with tacit_text_free. It is NULL on success, or where memory is out. message may be NULL,
 * here and everywhere. */
TACIT_API tacit_status tacit_problem_load(const char *path, tacit_problem **problem, char **message);

/* A column of a table: a number for each member, or `components` of them. values[row * row_stride + component *
 * component_stride]; strides of 0 mean row_stride = components and component_stride = 1. */
typedef struct tacit_column {
    const char *name;
    const double *values;
    size_t components; /* 1: a plain column; more: a vector */
    size_t row_stride, component_stride;
} tacit_column;

/* In the place of `data NAME = csv "..."` or `data NAME = given`. */
typedef struct tacit_table {
    const char *name;
    size_t rows;
    const tacit_column *columns;
    size_t column_count;
    const char *const *members; /* names of the members, `rows` of them; NULL: family[1], family[2], ... */
} tacit_table;

/* In the place of `param NAME = csv "..."` or `param NAME = given`. values[row * row_stride + column * column_stride];
 * strides of 0 mean row_stride = columns and column_stride = 1. */
typedef struct tacit_matrix {
    const char *name;
    const double *values;
    size_t rows, columns;
    size_t row_stride, column_stride;
} tacit_matrix;

/* A problem from memory. Numbers are copied once. */
typedef struct tacit_source {
    size_t size;      /* sizeof(tacit_source) */
    const char *path; /* for messages; data files are looked up beside it. NULL: "problem" in the working folder */
    const char *text; /* NULL: read the file at path */
    size_t length;    /* of text */
    const tacit_table *tables;
    size_t table_count;
    const tacit_matrix *matrices;
    size_t matrix_count;
    int (*interrupted)(void *context); /* as in tacit_options; NULL: never */
    void *context;
} tacit_source;

TACIT_API tacit_status tacit_problem_make(const tacit_source *source, tacit_problem **problem, char **message);

TACIT_API void tacit_problem_free(tacit_problem *problem);

TACIT_API size_t tacit_problem_agents(const tacit_problem *problem);      /* N */
TACIT_API size_t tacit_problem_states(const tacit_problem *problem);      /* n, of all agents together */
TACIT_API size_t tacit_problem_constraints(const tacit_problem *problem); /* m */
TACIT_API size_t tacit_problem_families(const tacit_problem *problem);    /* an `agent` block is a family of one */

/* "feeder[3]"; NULL where there is no such constraint (from 0). */
TACIT_API const char *tacit_problem_constraint_name(const tacit_problem *problem, size_t constraint);

/* 1 for E == F, whose g is E - F and whose multiplier may have either sign; 0 for an inequality, and for none. */
TACIT_API int tacit_problem_constraint_is_equality(const tacit_problem *problem, size_t constraint);

typedef struct tacit_family {
    size_t size;
    const char *name;
    size_t members;     /* agents in it */
    size_t first_agent; /* its first member among all agents */
    size_t states;      /* of one member */
    size_t variables;   /* `state` lines */
    int is_family;      /* declared by `agents`, not by `agent` */
} tacit_family;
TACIT_API tacit_status tacit_problem_family(const tacit_problem *problem, size_t family, tacit_family *facts);

/* One `state` line of a family: components first .. first + length - 1 of a member's state. */
typedef struct tacit_variable {
    size_t size;
    const char *name;
    size_t first, length;
    int is_scalar; /* x, not x[1] */
} tacit_variable;
TACIT_API tacit_status tacit_problem_variable(const tacit_problem *problem, size_t family, size_t variable,
                                              tacit_variable *facts);

/* Writes the agent's name ("home[17]"), cut to size - 1 characters, into the caller's text. Agents count from 0. */
TACIT_API tacit_status tacit_problem_agent_name(const tacit_problem *problem, size_t agent, char *text, size_t size);

/* ---- Options of long work ---- */

/* Callbacks are called one at a time, at times from threads of the library. Those that return int return 0 to go on.
 * They may use other problems. They must return: an interrupt waits for them. */
typedef struct tacit_options {
    size_t size;
    void *context; /* of the callbacks */
    /* Asked now and then, also from the calling thread whatever the others do. Non-zero stops the work; what was done
     * is then the result, if it says anything. */
    int (*interrupted)(void *context);
    /* Told now and then: what is done, and how much of it, 0 to 1. Non-zero: TACIT_CALLBACK_FAILED. */
    int (*progress)(void *context, const char *what, double fraction);
    /* Told each warning when it is known: a line without its end. Non-zero: TACIT_CALLBACK_FAILED. */
    int (*warning)(void *context, const char *line);
    size_t threads;   /* 0: all processors. No result depends on it */
    double tolerance; /* of the reference solution; 0: 1e-8 */
    int full;         /* texts name every agent, state and constraint, however many */
    /* What tacit_check judges for: "tacit" (NULL too) or "published", which takes no kinks in objectives. */
    const char *method;
    int colours; /* texts mark by the codes of a terminal what must not be overlooked */
} tacit_options;
TACIT_API void tacit_options_default(tacit_options *options, size_t size);

/* What to promise: what plan, run, sweep, bound and audit share. Texts are words as on the command line. A text that is
 * NULL and a number that is NAN leave it to the file or the default. What would change nothing is refused. */
typedef struct tacit_promise {
    size_t size;
    const char *mechanism;               /* "laplace", "gaussian", "none" */
    const char *adjacency;               /* what is hidden: "one:0.5", "ensemble:2", "agent", "agent:2", "data" */
    double epsilon, delta;               /* P(S) <= e^epsilon P'(S) + delta */
    double rounds;                       /* T */
    const char *method;                  /* "tacit", "published" */
    const char *placement;               /* of the noise: "auto", "outputs", "states", "forms" */
    const char *calibration;             /* "tight", "published" */
    const char *constants;               /* "certified", "declared" */
    const char *margin;                  /* "0.1", "auto", "auto:0.99" */
    double alpha_bar, gamma_bar, c1, c2; /* steps of method "published" */
    const char *const *coalitions;       /* "home[1],home[2]": more observers */
    size_t coalition_count;
    unsigned most_holds; /* how often a late agent's state may be used again; 0: the cloud waits */
    double rounds_per_day;
    /* Noise from a seed, which can be repeated: for simulation only. NOT PRIVATE. Otherwise noise is fresh. */
    int simulate;
    uint64_t seed;      /* of the first, where there are several runs */
    const char *ledger; /* a file: plan shows what all runs cost with this one, run enters it. NULL: none */
    double budget_epsilon, budget_delta; /* refuse a run if all would then cost more; NAN: only the file's budget */
    const char *feasible; /* "always", "always:0.3": one more round, and a result that certainly satisfies */
} tacit_promise;
TACIT_API void tacit_promise_default(tacit_promise *promise, size_t size);

/* ---- Results ---- */

typedef struct tacit_result tacit_result;

TACIT_API void tacit_result_free(tacit_result *result);

/* 1 where the command would exit with 0: the assumptions hold, the plan is private, the run came to its end, ... */
TACIT_API int tacit_result_holds(const tacit_result *result);

/* Why it does not hold: a sentence without an end of line. NULL where it holds. */
TACIT_API const char *tacit_result_reason(const tacit_result *result);

/* 1 where an interrupt ended the work: the result has what was done. */
TACIT_API int tacit_result_interrupted(const tacit_result *result);

/* What the command prints with --json and without it. Made when first asked for; NULL where memory is out, and in a
 * thread to which functions say TACIT_BAD_ARITHMETIC. */
TACIT_API const char *tacit_result_json(tacit_result *result);
TACIT_API const char *tacit_result_text(tacit_result *result);

/* The warnings, as complete lines; "" for none. The command prints them on standard error. */
TACIT_API const char *tacit_result_warnings(const tacit_result *result);

/* Further warnings, which stand in the text and in JSON: of check, plan, run and sweep, that there are too few rounds,
 * that a run hardly approached the solution, and the like. Complete lines; "" for none. */
TACIT_API const char *tacit_result_remarks(const tacit_result *result);

/* The functions below say TACIT_BAD_USAGE for a result of another kind, and for a number that is too large. */

/* ---- Checking: certified facts ---- */

/* Verifies the assumptions and brackets the Lipschitz constants. options may be NULL, here and everywhere. On success
 * *result is the caller's, to free with tacit_result_free; on failure it is NULL, here and everywhere. */
TACIT_API tacit_status tacit_check(tacit_problem *problem, const tacit_options *options, tacit_result **result,
                                   char **message);

/* A proved bracket of a Lipschitz constant over the public box. */
typedef struct tacit_bracket {
    double lower, upper; /* upper is infinite where nothing is proved */
    double declared;     /* by the file; NAN where it declares none */
} tacit_bracket;

typedef struct tacit_check_facts {
    size_t size;
    /* Assumptions 1 to 4: "holds", "fails", "unproved", or "elsewhere" where another party has the data. */
    const char *objectives, *sets, *constraints, *slater;
    tacit_bracket constraint_1, constraint_2; /* of g, in the 1-norm and the 2-norm */
    double slater_margin;                     /* proved: some point has all g_j <= -margin */
    double dual_radius;                       /* R; NAN for none */
    const char *dual_radius_origin;           /* "given", "gaps", "private", "none" */
    size_t agents; /* rows of tacit_result_check_agent: one for each agent, or for each family where there are many */
    const char *convex, *smooth; /* the objectives; method tacit asks for the first alone */
} tacit_check_facts;
TACIT_API tacit_status tacit_result_check(const tacit_result *check, tacit_check_facts *facts);

typedef struct tacit_check_agent {
    size_t size;
    size_t family, member;                /* of a whole family: the member with the largest bound */
    size_t agents;                        /* 1, or the whole family */
    tacit_bracket objective;              /* of the gradient of f_i */
    tacit_bracket jacobian_1, jacobian_2; /* of the Jacobian of g by x_i */
} tacit_check_agent;
TACIT_API tacit_status tacit_result_check_agent(const tacit_result *check, size_t row, tacit_check_agent *facts);

/* ---- Solving: the least-norm saddle point, without privacy ---- */

TACIT_API tacit_status tacit_solve(tacit_problem *problem, const tacit_options *options, tacit_result **result,
                                   char **message);

typedef struct tacit_solution {
    size_t size;
    const char *outcome; /* "solved", "inaccurate", "infeasible_suspected", "interrupted" */
    double objective;
    double residual;      /* of the saddle point conditions */
    double max_violation; /* the largest g_j above 0, or |g_j| of an equality */
    double norm_x, norm_mu;
    const double *mu; /* the multipliers, m of them */
    size_t constraints;
    int is_convex; /* proved: otherwise the point is only stationary */
} tacit_solution;
TACIT_API tacit_status tacit_result_solution(const tacit_result *solve, tacit_solution *facts);

/* The states of a family's members: writes members x states numbers, row by row, into the caller's x. Of solve, and of
 * run number `run` (from 0; 0 for solve) of run and sweep where its states were kept (has_states of tacit_run_facts).
 * room: numbers that x has room for. In method tacit a run's x is the average over its rounds, which is the result. */
TACIT_API tacit_status tacit_result_x(const tacit_result *result, size_t run, size_t family, double *x, size_t room);

/* ---- Planning: how much noise, and what every observer learns ---- */

/* promise may be NULL: as the file says. Also for the cloud's part of a problem. */
TACIT_API tacit_status tacit_plan(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                  tacit_result **result, char **message);

typedef struct tacit_plan_facts {
    size_t size;
    const char *problem;  /* NULL, or why no plan can be made: then only the words below are set */
    int is_private;       /* the promise holds, and hides more than nothing */
    const char *headline; /* of the guarantee card, one line; NULL where there is no plan */
    const char *mechanism, *method, *placement, *calibration, *adjacency;
    double epsilon, delta, rounds;
    size_t observers, channels;
    uint64_t entries;          /* noisy numbers in a round */
    const char *hash;          /* 64 hexadecimal digits */
    const char *over_budget;   /* why the budget does not allow a run; NULL where it does */
    const char *doubt_unknown; /* of plan: why tacit_result_doubt knows no doubt; NULL where it does */
    /* How the B of one:B and ensemble:B is measured (and the D of agent:D where agents have several states): "total"
     * with Laplace noise, "root-sum-square" with Gaussian noise; NULL for other units, whose promise is the same. */
    const char *norm;
    double hidden_every_round; /* of a change that persists in all T rounds: B/T, B/sqrt(T) or D; NAN for others */
} tacit_plan_facts;
/* Of plan, run, bound and audit. */
TACIT_API tacit_status tacit_result_plan(const tacit_result *result, tacit_plan_facts *facts);

typedef struct tacit_observer {
    size_t size;
    const char *who, *about;
    double epsilon, delta; /* what it learns at most, over the whole run */
} tacit_observer;
TACIT_API tacit_status tacit_result_observer(const tacit_result *result, size_t observer, tacit_observer *facts);

typedef struct tacit_channel { /* numbers with one scale of noise */
    size_t size;
    const char *name;
    uint64_t entries;
    double constant, sensitivity;
    double scale; /* b of Laplace, sigma of Gaussian noise */
    double variance;
} tacit_channel;
TACIT_API tacit_status tacit_result_channel(const tacit_result *result, size_t channel, tacit_channel *facts);

/* How accurate a run by the plan will be: what noise leaves of doubt in one constraint, in the constraint's own units.
 * From public facts. Numbers are NAN where nothing can be said, and most_doubt is infinite where nothing is proved. */
typedef struct tacit_doubt {
    size_t size;
    const char *name;
    double limit;       /* the number that the file compares with: F of E <= F */
    double doubt;       /* one standard deviation of the noise in what is known of the constraint at the result */
    double most_doubt;  /* the same, wherever in the public boxes the result lies */
    double round_doubt; /* of one round, before averaging */
    double local_doubt; /* if agents added the noise to their own states, and nobody trusted the cloud */
    double range;       /* how far the constraint can move at all over the public boxes */
    double room;        /* the most that any point leaves below the limit; NAN of an equality */
    int is_exact;       /* affine: the doubt is the same everywhere */
    int is_useless;     /* the doubt, with what is missing, exceeds the range or the room */
    /* Too few rounds: noise shortens the steps, so the run has not settled, and what is missing makes the error more
     * than twice the doubt. */
    int is_unreached;
    double missing;       /* how far the result is over its limit on the average; NAN: not known */
    double rounds_needed; /* with so many the error is at most twice this doubt; infinite: more than were looked at */
} tacit_doubt;
/* Of plan, and of advise for the promise of file and options. constraint: from 0. */
TACIT_API tacit_status tacit_result_doubt(const tacit_result *result, size_t constraint, tacit_doubt *facts);

/* What the plan rests on, for others to check (docs/certificate.md): JSON, made when first asked for. Where there is
 * none, NULL, and *message says why. */
TACIT_API const char *tacit_plan_certificate(tacit_result *plan, char **message);

/* ---- Advising: which promise leaves a tolerable doubt ---- */

typedef struct tacit_advise_options {
    size_t size;
    const char *doubt;      /* what is tolerable: "50", in the constraints' units, or "5%" of each limit. NULL: "5%" */
    const char *constraint; /* the one that counts, "feeder[3]", or all of a name, "feeder"; NULL: all */
} tacit_advise_options;
TACIT_API void tacit_advise_options_default(tacit_advise_options *options, size_t size);

/* Of the promise, unit and rounds are needed, there or in the file; an epsilon is one that must not be exceeded, and a
 * mechanism the only one to be looked at. Any option may be NULL. The result holds if something can be recommended.
 * Also for the cloud's part of a problem. */
TACIT_API tacit_status tacit_advise(tacit_problem *problem, const tacit_promise *promise,
                                    const tacit_advise_options *advise, const tacit_options *options,
                                    tacit_result **result, char **message);

typedef struct tacit_advice {
    size_t size;
    const char *problem;               /* NULL, or why there is no advice: then nothing else is set */
    int reaches;                       /* something can be recommended */
    const char *recommendation;        /* one sentence */
    const char *mechanism, *adjacency; /* of the recommendation; NULL where there is none */
    double epsilon, delta;
    double doubt;           /* that it leaves in the worst constraint */
    const char *constraint; /* that one */
    double rounds, enough_rounds;
    double agents_needed; /* at the epsilon of the question; NAN: constraints are no sums over families */
    size_t points;        /* of tacit_result_advice_point */
    const char *norm;     /* of the recommendation, as in tacit_plan_facts */
    double hidden_every_round;
    /* With the recommendation the worst constraint is so far over its limit on the average, since the run has not
     * settled (NAN: not known); with so many rounds it settles. */
    double missing, rounds_needed;
    int is_unreached;
} tacit_advice;
TACIT_API tacit_status tacit_result_advice(const tacit_result *advise, tacit_advice *facts);

typedef struct tacit_advice_point { /* a cell of the table */
    size_t size;
    const char *adjacency, *mechanism;
    double epsilon;
    const char *constraint; /* the worst one */
    double limit, doubt;
    int reaches, is_useless;
    const char *norm; /* as in tacit_plan_facts: points of different norms are different promises */
    double missing;   /* as in tacit_doubt */
    int is_unreached;
} tacit_advice_point;
TACIT_API tacit_status tacit_result_advice_point(const tacit_result *advise, size_t point, tacit_advice_point *facts);

/* ---- Running ---- */

/* What is true after k rounds. Never released. */
typedef struct tacit_row {
    size_t size;
    uint64_t k;
    double x_error, mu_error; /* distances to the reference solution; NAN without one */
    double objective;
    double max_violation;
    const double *g, *mu; /* m each */
    size_t constraints;
    /* The states: of each family members x states numbers, row by row, one family after the other. NULL where they are
     * not kept. */
    const double *x;
    size_t states; /* n; 0 where they are not kept */
} tacit_row;

typedef struct tacit_run_options {
    size_t size;
    size_t seeds; /* simulate so many runs, from the promise's seed (1 without simulate) on, and summarise them; 0: one
                     run */
    int no_reference; /* no errors, and nothing is compared */
    /* Rounds to keep: in every power of ten about so many, and 0, T/2 and T; -1: every round, up to 8 GiB of
     * them; 0: 3. */
    int rows_per_decade;
    int keep_states;     /* of every seed, not only of the first; a single run always keeps its own */
    int keep_row_states; /* of every row; a trace then has them */
    /* Of a single run: told each kept round at once. Non-zero: TACIT_CALLBACK_FAILED. The context is that of
     * tacit_options. */
    int (*row)(void *context, const tacit_row *row);
} tacit_run_options;
TACIT_API void tacit_run_options_default(tacit_run_options *options, size_t size);

/* Any option may be NULL. An interrupted run has a result. */
TACIT_API tacit_status tacit_run(tacit_problem *problem, const tacit_promise *promise, const tacit_run_options *run,
                                 const tacit_options *options, tacit_result **result, char **message);

TACIT_API size_t tacit_result_runs(const tacit_result *result); /* of run and sweep: those that were begun */

typedef struct tacit_run_facts {
    size_t size;
    int is_seeded;
    uint64_t seed;
    double epsilon;      /* of sweep: which */
    const char *outcome; /* "done", "diverged", "interrupted" */
    const char *reason;  /* NULL where it is done */
    uint64_t rounds;
    double seconds;
    size_t rows;
    const double *mu; /* m */
    size_t constraints;
    int has_states; /* tacit_result_x gives them */
    /* What released data alone show of the constraints at the result: with this probability all g_j <=
     * feasible_bounds[j] at once, and |g_j| of equalities. 0: they show nothing. shown: no bound of an inequality is
     * above 0. */
    double feasible_probability;
    int feasible_shown;
    const double *feasible_bounds; /* m */
    /* The same in words: "feeder[19] over by at most 33 of 2,020; all others hold, with probability 0.95"; and what is
     * true, which is not released. NULL where there is nothing to say, and of sweep. */
    const char *feasibility, *true_feasibility;
    int feasible_certain; /* --feasible always: the bounds hold whatever the noise was */
    double feasible_move; /* the result is moved this part of the way to the Slater point; NAN: it is not to be moved */
} tacit_run_facts;
TACIT_API tacit_status tacit_result_run(const tacit_result *result, size_t run, tacit_run_facts *facts);
TACIT_API tacit_status tacit_result_row(const tacit_result *result, size_t run, size_t row, tacit_row *facts);

/* What a result is compared with. Numbers are NAN, and worst is NULL, where they are not known. */
typedef struct tacit_measures {
    int is_known;
    double x_error, mu_error, objective, max_violation;
    const char *worst; /* the constraint that is violated most; NULL where all hold */
} tacit_measures;

/* Is a result better than doing nothing, and which part of its error is noise? Never released. Nothing is known with
 * no_reference. Sentences are NULL where there is nothing to say. */
typedef struct tacit_comparison {
    size_t size;
    int is_judged;              /* there was a solution, and a baseline */
    int no_better_than_nothing; /* of many runs: half of them or more */
    const char *verdict;        /* of run */
    const char *error_parts;    /* of run: which part is noise */
    tacit_measures baseline;    /* zero prices: every agent ignores the constraints */
    tacit_measures slater_baseline;
    tacit_measures noise_free;      /* the same run without noise, made after the one that is timed */
    int is_converged;               /* noise_free: errors of at most 0.1 % */
    const char *noise_free_missing; /* why there is none */
} tacit_comparison;
/* Of run and sweep. */
TACIT_API tacit_status tacit_result_comparison(const tacit_result *result, tacit_comparison *facts);

/* Writes the rows that were kept as a trace (docs/trace.md; the command keeps 60 per decade for it), and a page about
 * them. Of run and sweep. command: how to repeat it, for readers; may be NULL. An existing trace or page is replaced,
 * but no other file. */
TACIT_API tacit_status tacit_result_write_trace(tacit_result *result, const char *path, const char *command,
                                                char **message);
TACIT_API tacit_status tacit_result_write_report(tacit_result *result, const char *path, const char *command,
                                                 char **message);

/* ---- Sweeping: what privacy costs ---- */

typedef struct tacit_sweep_options {
    size_t size;
    const double *epsilons; /* NULL: a grid with equal ratios */
    size_t epsilon_count;
    double from, to; /* of the grid; NAN: an eighth of the promise's epsilon, and eight times it */
    size_t points;   /* of the grid; 0: 7 */
    size_t seeds;    /* for each epsilon, from the promise's seed on, or from 1; 0: 20 */
    int no_reference;
} tacit_sweep_options;
TACIT_API void tacit_sweep_options_default(tacit_sweep_options *options, size_t size);

TACIT_API tacit_status tacit_sweep(tacit_problem *problem, const tacit_promise *promise,
                                   const tacit_sweep_options *sweep, const tacit_options *options,
                                   tacit_result **result, char **message);

typedef struct tacit_sweep_point {
    size_t size;
    double epsilon;
    size_t runs, diverged;
    /* Mean over seeds of |z - z'|^2, where z = (x, mu) is the result of a run and z' that without noise; its standard
     * error; its two parts. The bias is an estimate, which may come out below zero. */
    double penalty, penalty_error, bias, spread;
    double x_error, mu_error, objective, max_violation; /* medians */
    int no_better_than_nothing;                         /* half of the runs or more */
    int privacy_is_free; /* noise moves x by less than the run without noise is from the solution */
} tacit_sweep_point;
TACIT_API size_t tacit_result_points(const tacit_result *sweep);
TACIT_API tacit_status tacit_result_point(const tacit_result *sweep, size_t point, tacit_sweep_point *facts);

/* The slope of log penalty against log epsilon, and its 95 % interval; NAN where there is none. */
TACIT_API tacit_status tacit_result_slope(const tacit_result *sweep, double *slope, double *low, double *high);

/* ---- Bounding: what is proved before a run ---- */

/* within: a distance; the bound says with which probability it is kept. NAN: a tenth of the diameter. */
TACIT_API tacit_status tacit_bound(tacit_problem *problem, const tacit_promise *promise, double within,
                                   const tacit_options *options, tacit_result **result, char **message);

typedef struct tacit_bound_facts {
    size_t size;
    int says_something;
    const char *because; /* why it says nothing, where it is vacuous; NULL otherwise */
    /* Bounds of E|z(T+1) - xi_T|^2, where xi_T solves the problem with the last round's regularization. */
    double error, published_error;
    double radius; /* |z(T+1) - xi_T| is at most this with probability 0.95 */
    double within, probability;
    double diameter;   /* of all possible z: no error is larger */
    double valid_from; /* the round; INFINITY for none */
} tacit_bound_facts;
/* TACIT_BAD_USAGE where no plan can be made: tacit_result_plan says why. */
TACIT_API tacit_status tacit_result_bound(const tacit_result *bound, tacit_bound_facts *facts);

/* ---- Auditing: trying to refute a plan ---- */

typedef struct tacit_audit_options {
    size_t size;
    uint64_t samples;  /* 0: 20,000, or as many as show half the noise where that takes seconds */
    double seconds;    /* 0: no limit */
    double confidence; /* 0: 0.999999 */
} tacit_audit_options;
TACIT_API void tacit_audit_options_default(tacit_audit_options *options, size_t size);

TACIT_API tacit_status tacit_audit(tacit_problem *problem, const tacit_promise *promise,
                                   const tacit_audit_options *audit, const tacit_options *options,
                                   tacit_result **result, char **message);

typedef struct tacit_audit_facts {
    size_t size;
    const char *verdict; /* "not_refuted", "refuted", "inconclusive" */
    const char *because; /* why it is inconclusive, for example because no plan can be made; NULL otherwise */
    double confidence;
    double seconds; /* that it took */
    size_t systems, points, faults;
} tacit_audit_facts;
TACIT_API tacit_status tacit_result_audit(const tacit_result *audit, tacit_audit_facts *facts);

typedef struct tacit_audit_system { /* what is claimed for some of the numbers, or for all, and what was seen */
    size_t size;
    const char *name;
    double claimed_epsilon, claimed_delta;
    double lower_bound; /* on epsilon, from samples */
    double price;       /* of the two inputs, by the plan's own scales */
    uint64_t samples;   /* of each input */
    int refuted;
    const char *verdict; /* of the samples alone */
} tacit_audit_system;
TACIT_API tacit_status tacit_result_audit_system(const tacit_result *audit, size_t system, tacit_audit_system *facts);

typedef struct tacit_audit_point { /* what was tested */
    size_t size;
    const char *name, *verdict;
    const char *why; /* why it is inconclusive; NULL otherwise */
} tacit_audit_point;
TACIT_API tacit_status tacit_result_audit_point(const tacit_result *audit, size_t point, tacit_audit_point *facts);

typedef struct tacit_audit_fault { /* a contradiction that is not a bound on epsilon */
    size_t size;
    const char *kind, *text;
} tacit_audit_fault;
TACIT_API tacit_status tacit_result_audit_fault(const tacit_result *audit, size_t fault, tacit_audit_fault *facts);

/* ---- Ledgers: what the same agents' data have cost over several runs ---- */

/* A missing file is an empty ledger. JSON and text add the entries up, in every unit that a run was promised in. */
TACIT_API tacit_status tacit_ledger(const char *path, tacit_result **result, char **message);

typedef struct tacit_ledger_entry {
    size_t size;
    const char *run, *time, *problem, *plan, *mechanism;
    const char *adjacency; /* NULL without noise */
    double epsilon, delta; /* INFINITY where the run has no price */
    double rounds;
    int is_priced;
} tacit_ledger_entry;
TACIT_API size_t tacit_result_entries(const tacit_result *ledger);
TACIT_API tacit_status tacit_result_entry(const tacit_result *ledger, size_t entry, tacit_ledger_entry *facts);

/* ---- Splitting: the cloud's file and one for each agent ---- */

/* directory: where `tacit split` would write; NULL: into memory, for tacit_result_part. replace: replaces what an
 * earlier split wrote there. A file that gives no public dual radius is TACIT_BAD_PROBLEM. If its gaps and Slater point
 * do not prove the radius they promise, the result has no parts and does not hold. */
TACIT_API tacit_status tacit_split(tacit_problem *problem, const char *directory, int replace,
                                   const tacit_options *options, tacit_result **result, char **message);

/* A file that would be written, byte for byte. An agent's is for this agent alone. */
typedef struct tacit_part {
    size_t size;
    const char *name; /* "cloud.tacit", "agents/home.17.tacit", "plan.hash" */
    const char *text; /* with a zero behind it */
    size_t length;
} tacit_part;
TACIT_API size_t tacit_result_parts(const tacit_result *split); /* 0 where they were written into a directory */
TACIT_API tacit_status tacit_result_part(const tacit_result *split, size_t part, tacit_part *facts);

/* ---- Reports ---- */

/* Writes one HTML page about trace files. title: NULL for the problem's name. */
TACIT_API tacit_status tacit_report(const char *const *traces, size_t count, const char *path, const char *title,
                                    const tacit_options *options, tacit_result **result, char **message);

#ifdef __cplusplus
}
#endif

#endif
