/* What run and sweep begin with: the problem, public facts about it, the dual radius, the reference solution. */
#ifndef TC_CLI_STUDY_H
#define TC_CLI_STUDY_H

#include "analysis/analysis.h"
#include "cli/privacy_options.h"
#include "reference/reference.h"

/* Options that both have, declared once. */
#define TC_STUDY_THREADS                                                                                               \
    {                                                                                                                  \
        .name = "threads", .type = TC_OPTION_INT, .argument = "N", .least = 1, .most = 1024,                           \
        .text = "How many threads may work; all processors where this is not given. No result depends on it."          \
    }
#define TC_STUDY_TOLERANCE                                                                                             \
    {                                                                                                                  \
        .name = "tolerance", .type = TC_OPTION_REAL, .argument = "T", .least = 1e-14, .most = 1, .standard = "1e-8",   \
        .text = "How exactly the reference solution is found that errors are measured from."                           \
    }
#define TC_STUDY_NO_REFERENCE                                                                                          \
    {                                                                                                                  \
        .name = "no-reference", .type = TC_OPTION_FLAG,                                                                \
        .text = "Find no reference solution, where that takes too long: no errors then."                               \
    }

typedef struct tc_study {
    const char *command; /* "run", for messages */
    tc_model *model;
    tc_derivatives *derivatives;
    const tc_analysis *analysis; /* public facts */
    uint64_t rounds;
    double dual_radius; /* R; INFINITY without constraints */
    tc_radius_origin radius_origin;
    const tc_reference *reference; /* NULL: none was asked for, or there is none */
    const char *problem;           /* NULL, or why there is nothing to run: an outcome, not an error */
    const char *warning;           /* NULL, or why a run cannot reach the reference */
    bool sound;                    /* the assumptions that were looked at hold */
    double load_seconds, analyse_seconds, solve_seconds;
} tc_study;

/* Loads the problem, with what the command line says of its schedule, and analyses it. A party's part, or a schedule
 * with something missing, is refused with a message. What is not proved is warned of, in messages. */
tc_status tc_study_begin(tc_cli *cli, const char *command, const char *path, const tc_privacy_wishes *wishes,
                         tc_study *study) TC_MUST_USE;

/* The same of the cloud's part, for which nothing private is looked at: the dual radius must be public, and only the
 * constraints are judged. The whole problem, or an agent's part, is refused with a message. */
tc_status tc_study_begin_cloud(tc_cli *cli, const char *command, const char *path, const tc_privacy_wishes *wishes,
                               tc_study *study) TC_MUST_USE;

/* Makes a plan. Where the dual radius is private the plan is void, and says so. TC_BAD_USAGE, with a message, where
 * options or file do not say what to promise; where no plan can be made for another reason, its problem says why. */
tc_status tc_study_plan(tc_cli *cli, tc_study *study, const tc_plan_options *options, const tc_plan **plan) TC_MUST_USE;

/* What the method tacit takes from the plan; NULL for the published one. TC_BAD_USAGE, with a message, where there is
 * no room for the margin. */
tc_status tc_study_method(tc_cli *cli, const tc_study *study, const tc_plan *plan, tc_margin_wish margin,
                          const tc_tacit_facts **method) TC_MUST_USE;

/* "published", "tacit" */
static inline const char *tc_method_word(tc_method method) { return tc_method_choices[method - TC_METHOD_PUBLISHED]; }

/* "0.1", "auto, for 0.95"; NULL for none. */
const char *tc_margin_text(tc_arena *arena, const tc_tacit_facts *method);
/* "margin": null, or {"kind", "amount" or "probability"} */
void tc_margin_json(const tc_tacit_facts *method, tc_json *json);

/* Finds the reference solution. One that is not to be measured against is warned of. */
tc_status tc_study_solve(tc_cli *cli, tc_study *study, double tolerance) TC_MUST_USE;

/* Whether the seeds first, first + 1, ..., count of them, are numbers that --seed takes and JSON keeps. */
static inline bool tc_seeds_fit(uint64_t first, uint64_t count) {
    const uint64_t most = UINT64_C(1) << 53;
    return first <= most && count - 1 <= most - first;
}
#define TC_SEEDS_TOO_LARGE "--seeds counts from --seed on, and beyond 9007199254740992 there are no seeds: begin lower"

/* "given", "gaps", "private" */
const char *tc_radius_origin_name(tc_radius_origin origin);

#endif
