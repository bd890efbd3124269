/* The analysis: certified facts about a model. It judges the paper's Assumptions 1 to 4, brackets the Lipschitz
 * constants that noise is scaled by, and finds a Slater point and the dual radius.
 *
 * Every `lower` and `upper` here is proved: the true supremum over the box lies between them, whatever was rounded on
 * the way. Where a proof fails the upper bound is infinite and a finding says why. */
#ifndef TC_ANALYSIS_ANALYSIS_H
#define TC_ANALYSIS_ANALYSIS_H

#include "base/json.h"
#include "base/status.h"
#include "calculus/derivatives.h"
#include "model/model.h"

typedef enum tc_verdict {
    TC_HOLDS,
    TC_FAILS,     /* refuted */
    TC_UNPROVED,  /* neither proved nor refuted: counts as "does not hold" */
    TC_ELSEWHERE, /* another party holds the data that decide it */
} tc_verdict;

typedef struct tc_finding {
    tc_verdict verdict;
    const char *place;      /* "file:line:column", or NULL */
    const char *expression; /* the smallest sub-expression at fault as written, or NULL */
    const char *text;       /* what is wrong and what would help, one or two sentences */
} tc_finding;

typedef struct tc_assumption {
    tc_verdict verdict;
    const char *summary;  /* one sentence */
    tc_finding *findings; /* at most TC_MAX_FINDINGS are kept */
    size_t finding_count, findings_left_out;
} tc_assumption;
enum { TC_MAX_FINDINGS = 20 };

/* A point of the box: listed coordinates, all others at `rest` of their range. */
typedef enum tc_rest { TC_REST_LOWER, TC_REST_UPPER, TC_REST_MIDDLE } tc_rest;
typedef struct tc_witness {
    tc_rest rest;
    size_t count;
    const uint64_t *coords; /* NULL: values[] gives every coordinate in order */
    const double *values;
} tc_witness;

typedef struct tc_bracket {
    double lower, upper; /* lower <= supremum <= upper; upper INFINITY where nothing was proved */
    double declared;     /* NAN where the file declares none */
    tc_witness witness;  /* where the lower bound is attained */
} tc_bracket;

static inline bool tc_declared(const tc_bracket *b) { return b->declared == b->declared; }
/* Certainly below the truth: a mechanism scaled by it is not private. */
static inline bool tc_declared_too_small(const tc_bracket *b) { return b->declared < b->lower; }
/* Between the bounds: it may be right, but is not proved. */
static inline bool tc_declared_uncertified(const tc_bracket *b) {
    return b->declared >= b->lower && b->declared < b->upper;
}

/* One agent, or (in problems with many agents) one family: then each bound is the largest over the members, and
 * `member` is one where the upper bound is attained. */
typedef struct tc_agent_constants {
    const tc_family *family;
    size_t member;
    size_t agents;          /* 1, or the whole family */
    tc_bracket jacobian[2]; /* K^i_1, K^i_2 */
    tc_bracket objective;   /* L_i; meaningless in a cloud's file */
} tc_agent_constants;

/* How many entries of a row of the Jacobian, or of the whole, are of each kind over the box. */
typedef struct tc_constancy {
    uint64_t zeros; /* by structure */
    uint64_t constants;
    uint64_t varying;
} tc_constancy;

/* So many members of a family at most are shown of a point, unless all are wished. */
enum { TC_FIRST_MEMBERS = 10 };

typedef enum tc_point_origin { TC_POINT_NONE, TC_POINT_FOUND, TC_POINT_DECLARED } tc_point_origin;

typedef struct tc_slater_facts {
    tc_point_origin origin;         /* FOUND also where the best point found has a margin <= 0 */
    double *point;                  /* n coordinates, NULL for none; on ranks: of known members and the first ones */
    const double *widths;           /* of the first members' public boxes where a rank may not know them, else NULL */
    double margin;                  /* proved lower bound of min_j -g_j(point) of inequalities; INFINITY without */
    size_t worst;                   /* the constraint that decides the margin */
    bool declared;                  /* the file gives a public Slater point ... */
    double declared_margin;         /* ... whose margin is this; NAN otherwise */
    size_t equalities, independent; /* rows that are equalities, and how many of them no others imply */
    double missed;                  /* upper bound of |g_j(point)| over them */
    bool has_room;                  /* the file gives room around its Slater points */
    const char *contradiction;      /* NULL, or a sentence that names equalities which no point satisfies */
    const char *conflict;           /* NULL, or a sentence that names constraints which no point of X satisfies */
    /* NULL, or why no radius follows from it, as far as the public boxes and the constraints tell: a sentence */
    const char *declared_fault;
} tc_slater_facts;

typedef enum tc_radius_origin {
    TC_RADIUS_NONE,
    TC_RADIUS_GIVEN,   /* `dual radius` in the file: public */
    TC_RADIUS_GAPS,    /* public gaps and a public Slater point */
    TC_RADIUS_PRIVATE, /* from private data: for study only */
} tc_radius_origin;

typedef struct tc_dual_radius {
    double value; /* R: the public one where there is one, else the private one; NAN for none */
    tc_radius_origin origin;
    double public_value;   /* NAN for none */
    double from_gaps;      /* rounded up; NAN for none */
    double from_data;      /* (f(xbar) - min f) / margin, rounded up, from private data; NAN for none */
    bool public_too_small; /* below from_data computed at the same Slater point */
} tc_dual_radius;

typedef struct tc_analysis {
    const tc_model *model;
    tc_assumption objectives;  /* Assumption 1: f_i convex, and C1 where the method needs it */
    tc_verdict convexity;      /* every f_i is convex: the other half of Assumption 1 */
    tc_assumption smoothness;  /* every f_i is C1: it may have kinks else, which method tacit takes */
    tc_assumption sets;        /* Assumption 2: X_i non-empty, compact, convex */
    tc_assumption constraints; /* Assumption 3: g convex and C1 */
    tc_assumption slater;      /* Assumption 4 */
    tc_bracket g[2];           /* K^g_1, K^g_2 */
    tc_agent_constants *agents;
    size_t agent_rows; /* one per agent, or one per family when by_family */
    bool by_family;
    tc_constancy *rows; /* one per constraint */
    tc_constancy total;
    tc_slater_facts slater_facts;
    tc_dual_radius dual_radius;
    double minimum_lower, minimum_upper; /* sum over agents of min f_i; NAN where not known */
    const char **warnings;
    size_t warning_count;
    size_t small_gaps;     /* that private data contradict */
    bool print_all_points; /* from the options */
    bool interrupted;      /* stopped on request: missing facts are unproved */
} tc_analysis;

typedef struct tc_analysis_options {
    size_t rows_limit;     /* more agents than this are reported by family; 0: 1,000 */
    bool skip_private;     /* no Slater search, no minima: constants and curvature only */
    bool needs_smooth;     /* method published: kinks are flaws of the objectives */
    bool only_assumptions; /* judges Assumptions 1 to 3, finds the public radius, and no more; no text, no JSON */
    bool print_all_points; /* JSON: Slater point and witnesses in full however many agents */
    size_t threads;        /* how many may work, 0 for the caller alone; nothing depends on it */
} tc_analysis_options;

/* Raises on its arena (TC_NO_MEMORY, TC_TOO_LARGE); an interrupt is in the result. Adds nodes to the model's DAG.
 * options and monitor may be NULL. */
tc_analysis *tc_analysis_run(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives,
                             const tc_analysis_options *options, const tc_monitor *monitor);

/* A proved bound of sum_j w_j |mu_j| for the saddle point whose multipliers w_j mu_j have the least norm, from public
 * promises alone: gaps, Slater points and the rooms around them. docs/proofs/equalities.md
 * weights: m positive numbers, NULL for ones. taken: what a margin takes from the slack of each inequality, NULL for
 * nothing. NAN where no bound follows; `dual radius` is not looked at. */
double tc_multiplier_bound(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const double *weights, const double *taken, const tc_monitor *monitor);

/* Whether all assumptions that this file can be judged by hold. */
bool tc_analysis_holds(const tc_analysis *analysis);

/* The members of one JSON object; the caller opens and closes it, and may add its own. */
void tc_analysis_json(const tc_analysis *analysis, tc_json *json);
/* For people; width in columns, 0 for 80. */
void tc_analysis_text(const tc_analysis *analysis, tc_buffer *out, unsigned width);

#endif
