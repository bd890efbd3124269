/* The options that plan, run, sweep, bound, audit and serve share: each overrides the problem file.
 *
 *     enum { JSON = TC_PRIVACY_OPTION_COUNT, LEDGER };
 *     static const tc_option options[] = {
 *         TC_PRIVACY_OPTIONS,
 *         [JSON] = ...
 *     };
 *     ...
 *     tacit_promise promise;
 *     tc_status status = tc_promise_options(cli, "plan", arguments, &promise);
 *
 * A command without coalitions has TC_PRIVACY_OPTIONS_WITHOUT_COALITION, which leaves a gap in its table; advise, which
 * plans for method tacit alone, has TC_PROMISE_OPTIONS and TC_FEASIBLE_OPTION. */
#ifndef TC_CLI_SHARED_PLAN_OPTIONS_H
#define TC_CLI_SHARED_PLAN_OPTIONS_H

#include "cli/shared/cli.h"
#include "setup/wishes.h"

enum {
    TC_PRIVACY_MECHANISM,
    TC_PRIVACY_EPSILON,
    TC_PRIVACY_DELTA,
    TC_PRIVACY_ROUNDS,
    TC_PRIVACY_ADJACENCY,
    TC_PRIVACY_METHOD,
    TC_PRIVACY_PLACEMENT,
    TC_PRIVACY_CALIBRATION,
    TC_PRIVACY_CONSTANTS,
    TC_PRIVACY_MARGIN,
    TC_PRIVACY_FEASIBLE,
    TC_PRIVACY_COALITION,
    TC_PRIVACY_ALPHA_BAR,
    TC_PRIVACY_GAMMA_BAR,
    TC_PRIVACY_C1,
    TC_PRIVACY_C2,
    TC_PRIVACY_SEED,
    TC_PRIVACY_OPTION_COUNT,
};

/* What is promised. */
#define TC_PROMISE_OPTIONS                                                                                             \
    [TC_PRIVACY_MECHANISM] = {.name = "mechanism",                                                                     \
                              .type = TC_OPTION_CHOICE,                                                                \
                              .argument = "M",                                                                         \
                              .choices = tc_mechanism_choices,                                                         \
                              .text = "The law of the noise, instead of the file's."},                                 \
    [TC_PRIVACY_EPSILON] = {.name = "epsilon",                                                                         \
                            .type = TC_OPTION_STRING,                                                                  \
                            .argument = "E",                                                                           \
                            .text = "The price that is allowed, a positive number or ln(X), as in ln(2)."},            \
    [TC_PRIVACY_DELTA] = {.name = "delta",                                                                             \
                          .type = TC_OPTION_STRING,                                                                    \
                          .argument = "D",                                                                             \
                          .text = "The allowance of the promise, P(S) <= e^epsilon P'(S) + delta for every event S: "  \
                                  "above 0 and below 1. "                                                              \
                                  "Gaussian noise needs one; Laplace noise by itself does not."},                      \
    [TC_PRIVACY_ROUNDS] = {.name = "rounds",                                                                           \
                           .type = TC_OPTION_INT,                                                                      \
                           .argument = "T",                                                                            \
                           .least = 1,                                                                                 \
                           .most = 0x1p48 - 1,                                                                         \
                           .text = "How many rounds there will be."},                                                  \
    [TC_PRIVACY_ADJACENCY] = {.name = "adjacency",                                                                     \
                              .type = TC_OPTION_STRING,                                                                \
                              .argument = "UNIT",                                                                      \
                              .pairs = tc_adjacency_pairs,                                                             \
                              .text =                                                                                  \
                                  "What is hidden. one:B hides changes of one agent's messages over the whole run, "   \
                                  "ensemble:B those of all agents: by B in total with Laplace noise (B/T a round of "  \
                                  "a change that persists in all T rounds), by B in root-sum-square with Gaussian "    \
                                  "noise (B/sqrt(T) a round). agent hides whatever one agent may do; agent:D "         \
                                  "whatever keeps its states within D in every round, in total or in "                 \
                                  "root-sum-square likewise; data the private data that the problem protects. A "      \
                                  "number B alone means one:B, and ensemble:B in published calibration."}

#define TC_FEASIBLE_OPTION                                                                                             \
    [TC_PRIVACY_FEASIBLE] = {.name = "feasible",                                                                       \
                             .type = TC_OPTION_STRING,                                                                 \
                             .argument = "F",                                                                          \
                             .text = "Method tacit: always has one more round, in which agents send their averages "   \
                                     "and constraints are released there with noise of bounded support; then the "     \
                                     "result is moved towards the Slater point until all constraints hold with "       \
                                     "certainty. It needs a delta, also with Laplace noise. It has a share of the "    \
                                     "price, that is of epsilon, or of mu^2 with Gaussian noise; always:S sets that "  \
                                     "share."}

#define TC_PRIVACY_OPTIONS_WITHOUT_COALITION                                                                           \
    TC_PROMISE_OPTIONS,                                                                                                \
        [TC_PRIVACY_METHOD] = {.name = "method",                                                                       \
                               .type = TC_OPTION_CHOICE,                                                               \
                               .argument = "M",                                                                        \
                               .choices = tc_method_choices,                                                           \
                               .hint = "published is the paper's",                                                     \
                               .text =                                                                                 \
                                   "What the cloud and the agents do with what is released. tacit, the default: "      \
                                   "filtered measurements, steps and regularization that set themselves, proximal "    \
                                   "agents. published: the paper's steps, and the default of --calibration published " \
                                   "and of bound. The promise is the same."},                                          \
        [TC_PRIVACY_MARGIN] = {.name = "margin",                                                                       \
                               .type = TC_OPTION_STRING,                                                               \
                               .argument = "M",                                                                        \
                               .text =                                                                                 \
                                   "Method tacit: run with constraints g + M <= 0, M a number from 0, so that noise "  \
                                   "violates them less. auto takes what should leave no constraint violated with "     \
                                   "probability 0.95; auto:P with probability P, above 0.5 and below 1. Where a "      \
                                   "Slater point is declared, auto ends with a move of the result towards it."},       \
        TC_FEASIBLE_OPTION,                                                                                            \
        [TC_PRIVACY_PLACEMENT] =                                                                                       \
            {.name = "placement",                                                                                      \
             .type = TC_OPTION_CHOICE,                                                                                 \
             .argument = "P",                                                                                          \
             .choices = tc_placement_choices,                                                                          \
             .standard = "auto",                                                                                       \
             .text = "Where noise is added: to constraints and Jacobian (outputs), to states, or to the "              \
                     "linear forms of states that constraints are made of (forms). --method published "                \
                     "releases constraints and Jacobian, so its noise is on outputs. --method tacit "                  \
                     "with auto takes what disturbs constraints least."},                                              \
        [TC_PRIVACY_CALIBRATION] = {.name = "calibration",                                                             \
                                    .type = TC_OPTION_CHOICE,                                                          \
                                    .argument = "C",                                                                   \
                                    .choices = tc_calibration_choices,                                                 \
                                    .standard = "tight",                                                               \
                                    .text = "tight: epsilon is the price of everything that anyone can see together. " \
                                            "published: the paper's scheme to the letter, epsilon for each released "  \
                                            "system by itself."},                                                      \
        [TC_PRIVACY_CONSTANTS] = {.name = "constants",                                                                 \
                                  .type = TC_OPTION_CHOICE,                                                            \
                                  .argument = "K",                                                                     \
                                  .choices = tc_constants_choices,                                                     \
                                  .standard = "certified",                                                             \
                                  .text =                                                                              \
                                      "Which Lipschitz constants scale the noise: certified ones, or those that the "  \
                                      "file declares; a declared one below the certified one voids the guarantee."},   \
        [TC_PRIVACY_ALPHA_BAR] = {.name = "alpha-bar",                                                                 \
                                  .type = TC_OPTION_STRING,                                                            \
                                  .argument = "A",                                                                     \
                                  .text = "Method published: regularization A k^-c1 in round k, A positive."},         \
        [TC_PRIVACY_GAMMA_BAR] = {.name = "gamma-bar",                                                                 \
                                  .type = TC_OPTION_STRING,                                                            \
                                  .argument = "G",                                                                     \
                                  .text = "Method published: step G k^-c2 in round k, G positive."},                   \
        [TC_PRIVACY_C1] = {.name = "c1",                                                                               \
                           .type = TC_OPTION_REAL,                                                                     \
                           .argument = "C",                                                                            \
                           .least = 0,                                                                                 \
                           .most = 10,                                                                                 \
                           .text = "Method published: how fast the regularization decays."},                           \
        [TC_PRIVACY_C2] = {.name = "c2",                                                                               \
                           .type = TC_OPTION_REAL,                                                                     \
                           .argument = "C",                                                                            \
                           .least = 0,                                                                                 \
                           .most = 10,                                                                                 \
                           .text = "Method published: how fast the step decays."},                                     \
        [TC_PRIVACY_SEED] = {                                                                                          \
            .name = "seed",                                                                                            \
            .type = TC_OPTION_INT,                                                                                     \
            .argument = "S",                                                                                           \
            .least = 0,                                                                                                \
            .most = 0x1p53,                                                                                            \
            .text = "Draw the noise from a seed, so that it can be repeated: for simulation only. NOT PRIVATE."}

#define TC_PRIVACY_OPTIONS                                                                                             \
    TC_PRIVACY_OPTIONS_WITHOUT_COALITION, [TC_PRIVACY_COALITION] = {                                                   \
                                              .name = "coalition",                                                     \
                                              .repeats = true,                                                         \
                                              .type = TC_OPTION_STRING,                                                \
                                              .argument = "A,B,..",                                                    \
                                              .text = "Also say what these agents learn together about the others."}

/* Options of several commands. */
#define TC_SETUP_THREADS                                                                                               \
    {                                                                                                                  \
        .name = "threads", .type = TC_OPTION_INT, .argument = "N", .least = 1, .most = 1024,                           \
        .text = "How many threads may work; all processors unless given. No result depends on it."                     \
    }
#define TC_SETUP_TOLERANCE                                                                                             \
    {                                                                                                                  \
        .name = "tolerance", .type = TC_OPTION_REAL, .argument = "T", .least = 1e-14, .most = 1, .standard = "1e-8",   \
        .text = "How exact the reference solution is, from which errors are measured."                                 \
    }
#define TC_SETUP_NO_REFERENCE                                                                                          \
    {                                                                                                                  \
        .name = "no-reference", .type = TC_OPTION_FLAG,                                                                \
        .text = "Find no reference solution, where that takes too long. Then no errors are shown, and nothing is "     \
                "compared."                                                                                            \
    }

#define TC_TOLERANCE_IN_VAIN                                                                                           \
    "--tolerance would change nothing: it is that of the reference solution, and --no-reference asks for none"

#define TC_CARD_OPTION                                                                                                 \
    { .name = "card", .type = TC_OPTION_FLAG, .text = "Print the whole guarantee card, as tacit plan does." }

/* What serve and plan do about late agents: part of the plan, since it has a price. */
extern const char *const tc_late_choices[];
#define TC_LATE_ON_LATE                                                                                                \
    {                                                                                                                  \
        .name = "on-late", .type = TC_OPTION_CHOICE, .argument = "P", .choices = tc_late_choices, .standard = "wait",  \
        .text =                                                                                                        \
            "What a round does when an agent's state is late: wait for it, or hold, that is, use the agent's last "    \
            "state again. Then one message counts several times, and the noise grows accordingly."                     \
    }
#define TC_LATE_MOST_HOLDS                                                                                             \
    {                                                                                                                  \
        .name = "most-holds", .type = TC_OPTION_INT, .argument = "H", .least = 1, .most = 1e6, .standard = "3",        \
        .text = "With --on-late hold: how often one state may be used again before the round waits. The plan counts "  \
                "a message 1 + H times."                                                                               \
    }
/* Sets most_holds. TC_BAD_USAGE, with a message, for --most-holds without --on-late hold. */
tc_status tc_late_options(tc_cli *cli, const char *command, const tc_option_value *on_late,
                          const tc_option_value *most_holds, tacit_promise *promise) TC_MUST_USE;

/* TC_BAD_USAGE, with a message, for a value that is no number. The texts stay the arguments'. */
tc_status tc_promise_options(tc_cli *cli, const char *command, const tc_arguments *arguments,
                             tacit_promise *promise) TC_MUST_USE;

/* Reads a positive number, or ln(X) with X above 1. */
bool tc_read_price(tc_arena *arena, const char *text, double *value);

/* What a command that is no client of the library gives to its work. */
tc_work tc_cli_work(tc_cli *cli, const char *command);

/* ---- the budgets that a run must keep: that of --budget, and the file's ---- */

#define TC_BUDGET_OPTION                                                                                               \
    {                                                                                                                  \
        .name = "budget", .type = TC_OPTION_STRING, .argument = "E[:D]",                                               \
        .text = "Refuse to run if all runs in the ledger and this one together would cost more than epsilon E at "     \
                "delta D, in the unit of this run and with the largest B of any: 4:1e-6. E is a positive number or "   \
                "ln(X). D is needed if any of them has Gaussian noise. A budget in the file must be kept too."         \
    }

/* value: of --budget, given or not. TC_BAD_USAGE, with a message, where it is no budget. */
tc_status tc_budget_option(tc_cli *cli, const char *command, const tc_option_value *value,
                           tacit_promise *promise) TC_MUST_USE;

#endif
