/* Curvature by proof: composition rules over enclosures, and interval Hessians where rules do not suffice. */
#ifndef TC_ANALYSIS_CONVEXITY_CURVATURE_H
#define TC_ANALYSIS_CONVEXITY_CURVATURE_H

#include "analysis/region.h"
#include "base/arena.h"
#include "calculus/derivatives.h"
#include "calculus/interval/interval.h"

typedef enum tc_curvature { TC_CONSTANT, TC_AFFINE, TC_CONVEX, TC_CONCAVE, TC_UNKNOWN } tc_curvature;

static inline bool tc_is_flat(tc_curvature c) { return c == TC_CONSTANT || c == TC_AFFINE; }
static inline bool tc_is_convex(tc_curvature c) { return c <= TC_CONVEX; }
static inline bool tc_is_concave(tc_curvature c) { return tc_is_flat(c) || c == TC_CONCAVE; }

typedef struct tc_hessian { /* of an expression, in its own leaves */
    tc_expr root;
    size_t count;
    tc_expr *leaves, *gradient;
    tc_tape *tape; /* lower triangle, row by row, then the gradient; NULL where it is too large */
    struct tc_hessian *next;
} tc_hessian;

/* A sum flattened: coefficient * node, the coefficient free of states. */
typedef struct tc_addend {
    tc_expr node;
    tc_expr coefficient; /* TC_NO_EXPR for one */
    bool negative;
    tc_interval scale; /* encloses coefficient and sign */
} tc_addend;
typedef struct tc_addends {
    tc_addend *items;
    size_t count, capacity;
} tc_addends;

typedef struct tc_prover {
    tc_arena *arena;
    const tc_model *model;
    tc_dag *dag;
    tc_differentiator *differentiator;
    tc_interval *enclosures;  /* by node */
    uint8_t *curvature;       /* by node: tc_curvature */
    bool *needed;             /* by node: another node composes with it, so that its own curvature matters */
    uint32_t *visited, visit; /* by node: of the walks that find cones */
    size_t capacity;
    tc_addends stack, addends, group; /* scratch */
    tc_curvature *sum_curvature;      /* by inner sum, set before outer expressions are judged */
    /* the place */
    tc_batch *batch;            /* bodies: one lane */
    tc_interval *coords, *sums; /* outer */
    tc_hessian *hessians;       /* made so far */
} tc_prover;

tc_prover *tc_prover_new(tc_arena *arena, tc_model *model);
/* Where expressions are judged from now on: one lane of a family, or the outer inputs. */
void tc_prover_at_batch(tc_prover *prover, tc_batch *batch);
void tc_prover_at_outer(tc_prover *prover, tc_interval *coords, tc_interval *sums);

/* The nodes that roots need, for repeated judgements. */
typedef struct tc_cone {
    tc_expr root;
    tc_expr *nodes;
    size_t count;
} tc_cone;
tc_cone tc_cone_of(tc_prover *prover, tc_expr root);

/* Enclosures of all nodes of the cone at the place. */
void tc_prover_enclose(tc_prover *prover, const tc_cone *cone);
/* Curvature of all nodes of the cone (enclosures must be there); returns the root's. want: TC_CONVEX or TC_CONCAVE. */
tc_curvature tc_prover_judge(tc_prover *prover, const tc_cone *cone, tc_curvature want);

/* After a judgement that failed: the smallest expression at fault. *why receives a phrase. */
tc_expr tc_prover_blame(const tc_prover *prover, tc_expr root, tc_curvature want, const char **why);

/* ---- shared by curvature.c and hessian.c ---- */

/* The curvature of one node from those of its operands. */
tc_curvature tc_curvature_rule(const tc_prover *prover, tc_expr e);

bool tc_is_chain(const tc_dag *dag, tc_expr e);
/* Valid until the next call. */
const tc_addend *tc_flatten(tc_prover *prover, tc_expr e, size_t *count);
tc_expr tc_rebuild(tc_prover *prover, const tc_addend *addends, size_t count);

/* Whether the addend alone has the wanted curvature. */
bool tc_addend_fits(const tc_prover *prover, const tc_addend *addend, tc_curvature want);

/* Proof by the interval Hessian of a sum of addends at the place. */
bool tc_prove_by_hessian(tc_prover *prover, const tc_addend *addends, size_t count, tc_curvature want);

/* Makes (or finds) the Hessian of root; NULL tape where it has too many leaves. */
tc_hessian *tc_hessian_of(tc_prover *prover, tc_expr root);

/* A point of the place where the Hessian of root certainly has a direction of the wrong sign. */
typedef struct tc_counterexample {
    bool found;
    const tc_hessian *hessian;
    double *point, *direction; /* by leaf of the Hessian */
    double value;              /* the second derivative along direction is at most this (at least, for concave) */
} tc_counterexample;
tc_counterexample tc_refute(tc_prover *prover, tc_expr root, tc_curvature want);

/* ---- smoothness ---- */

/* Whether an expression is defined and continuously differentiable, with a finite Lipschitz constant of its gradient,
 * over the place where a prover has enclosed it. */
typedef struct tc_flaw {
    tc_expr node;      /* TC_NO_EXPR: none */
    tc_expr argument;  /* whose range is at fault */
    bool certain;      /* the range is exact, so that the flaw is real */
    bool is_kink;      /* defined and continuous, but for its derivatives */
    const char *needs; /* "needs an argument above 0" */
    const char *helps;
} tc_flaw;

typedef enum tc_flaw_kinds { TC_ALL_FLAWS, TC_FLAWS_OF_DOMAIN, TC_FLAWS_OF_KINKS } tc_flaw_kinds;

/* The first flaw of the cone in order of evaluation: the innermost one. */
tc_flaw tc_find_flaw(const tc_prover *prover, const tc_cone *cone, tc_flaw_kinds kinds);

/* Whether every symmetric matrix between two bounds is positive semidefinite. h: n x n, row by row, both triangles,
 * sign * h is tested. True is a proof; false says nothing. See docs/proofs/convexity.md. */
bool tc_interval_psd(tc_arena *arena, const tc_interval *h, size_t n, int sign);

#endif
