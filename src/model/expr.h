/* The expression DAG: every function of a problem, and later every derivative, as shared nodes in one pool.
 *
 * A node's children have smaller numbers than the node: increasing order is a valid order of evaluation, and nothing
 * ever needs to recurse. Equal nodes are the same node. Constructors simplify, but fold constants only where the
 * result is exact in double, so that a derivative built from nodes is the exact derivative of the function that the
 * nodes define.
 *
 * Two levels meet in TC_SUM: a *body* is a function of one member of a family (leaves TC_STATE and TC_DATA), an
 * *outer* expression combines sums of bodies over all members (TC_SUM) and single coordinates (TC_COORD).
 * A family's body is stored once however many members it has.
 *
 * Operands of sums and products stand in the order of their numbers, and derivatives are added up in that order: so the
 * numbers decide about last bits. Equal nodes are therefore one node only within a *realm*: what a block says, what the
 * constraints say and what parameters say are numbered as if the others were not there, and a party that holds one part
 * of a problem alone gets the bits of the whole. */
#ifndef TC_MODEL_EXPR_H
#define TC_MODEL_EXPR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t tc_expr;
#define TC_NO_EXPR UINT32_MAX

/* Any other realm is the number of a family plus one. */
#define TC_REALM_SHARED 0
#define TC_REALM_PARAMS UINT32_MAX

typedef enum tc_op {
    TC_CONST,     /* value */
    TC_DATA,      /* index: a data column of the family; one number per member */
    TC_STATE,     /* index: a component of the member's own state */
    TC_COORD,     /* index: a coordinate of the whole ensemble (outer expressions) */
    TC_SUM,       /* index: into tc_model.sums (outer expressions) */
    TC_ADD,       /* a + b */
    TC_SUB,       /* a - b */
    TC_MUL,       /* a * b */
    TC_DIV,       /* a / b */
    TC_NEG,       /* -a */
    TC_POWI,      /* a ^ exponent, a whole number, not 0 or 1; negative only where a is never zero */
    TC_POWR,      /* a ^ value, value not whole, defined for a >= 0 (a > 0 when value < 0) */
    TC_EXP,       /* exp a */
    TC_LOG,       /* natural logarithm, a > 0 */
    TC_SQRT,      /* a >= 0 */
    TC_HUBER,     /* a^2/2 where |a| <= b, b (|a| - b/2) beyond; b > 0 free of states */
    TC_CLAMP,     /* the derivative of huber: a clipped to [-b, b] */
    TC_INSIDE,    /* the derivative of clamp: 1 where |a| < b, 0 where |a| > b, anything in [0, 1] at the edge */
    TC_LSE,       /* log of the sum of the exponentials of all arguments */
    TC_SOFTMAX,   /* exp(arguments[index]) / sum of exp(arguments): the derivative of TC_LSE */
    TC_HUMP,      /* a (1 - a), 0 <= a <= 1: the derivative of a softmax by its own argument */
    TC_PAIR,      /* a b, both >= 0 and together at most 1: less by another argument */
    TC_NORM,      /* root of the sum of the squares of all arguments */
    TC_DIRECTION, /* arguments[index] / TC_NORM, 0 where all are 0: the derivative of TC_NORM */
    TC_BEND,      /* the second derivative of TC_NORM by arguments i and k: (1 where i = k, less u_i u_k) / TC_NORM;
                     index = i 2^32 + k, i >= k */
    TC_POWD,      /* arguments a and p, p free of states: derivative number index of a^p by a, that is
                     p (p-1) .. (p-index+1) a^(p-index), and 0 where that factor is 0; defined for a > 0, and for any a
                     where p is whole */
    TC_ABS,       /* |a|: a kink, as TC_MAX; they have no derivatives here (calculus/lift.h) */
    TC_MAX,       /* the larger of a and b */
} tc_op;

/* Operations on any number of arguments. */
static inline bool tc_is_nary(unsigned op) {
    return op == TC_LSE || op == TC_SOFTMAX || op == TC_NORM || op == TC_DIRECTION || op == TC_BEND || op == TC_POWD;
}

/* Where in the problem file a node comes from: byte offset and length; length 0 for none. */
typedef struct tc_span {
    uint32_t offset;
    uint32_t length;
} tc_span;

typedef struct tc_node {
    uint8_t op;      /* tc_op */
    bool has_state;  /* depends on a state (TC_STATE, TC_COORD, TC_SUM) */
    bool has_data;   /* depends on a data column */
    bool is_private; /* depends on private data */
    bool is_partial; /* not defined everywhere (log, sqrt, a quotient ...): folding must not make that unseen */
    uint32_t family; /* of TC_STATE and TC_DATA, and of whatever is built from them; UINT32_MAX for none */
    tc_expr a, b;    /* operands; of n-ary nodes a is the first place in dag->arguments, b how many */
    uint32_t realm;
    union {
        double value;     /* TC_CONST, TC_POWR */
        int64_t exponent; /* TC_POWI */
        uint64_t index;   /* leaves, TC_SOFTMAX, TC_DIRECTION, TC_BEND, TC_POWD */
    } u;
} tc_node;

typedef struct tc_dag {
    tc_arena *arena;
    tc_node *nodes;
    tc_span *spans;
    size_t count, capacity;
    tc_expr *arguments; /* of n-ary nodes */
    size_t argument_count, argument_capacity;
    tc_expr *table; /* open addressing, for sharing */
    size_t table_size;
    size_t limit;   /* nodes; beyond it TC_TOO_LARGE is raised */
    tc_span origin; /* given to new nodes; the elaborator keeps it current */
    uint32_t realm; /* of new nodes: TC_REALM_SHARED but while blocks, parameters and derivatives are made */
} tc_dag;

tc_dag *tc_dag_new(tc_arena *arena, size_t node_limit);

tc_expr tc_const(tc_dag *dag, double value);
tc_expr tc_data(tc_dag *dag, uint32_t family, uint64_t column, bool is_private);
tc_expr tc_state(tc_dag *dag, uint32_t family, uint64_t component);
tc_expr tc_coord(tc_dag *dag, uint64_t coordinate);
tc_expr tc_sum(tc_dag *dag, uint64_t sum);
tc_expr tc_add(tc_dag *dag, tc_expr a, tc_expr b);
tc_expr tc_sub(tc_dag *dag, tc_expr a, tc_expr b);
tc_expr tc_mul(tc_dag *dag, tc_expr a, tc_expr b);
tc_expr tc_div(tc_dag *dag, tc_expr a, tc_expr b);
tc_expr tc_neg(tc_dag *dag, tc_expr a);
tc_expr tc_pow(tc_dag *dag, tc_expr a, double exponent); /* TC_POWI where it is whole and below 2^31 */
tc_expr tc_exp(tc_dag *dag, tc_expr a);
tc_expr tc_log(tc_dag *dag, tc_expr a);
tc_expr tc_sqrt(tc_dag *dag, tc_expr a); /* TC_NORM where a is a sum of squares and constants >= 0 */
tc_expr tc_huber(tc_dag *dag, tc_expr a, tc_expr threshold);
tc_expr tc_clamp(tc_dag *dag, tc_expr a, tc_expr threshold);
tc_expr tc_inside(tc_dag *dag, tc_expr a, tc_expr threshold);
tc_expr tc_lse(tc_dag *dag, const tc_expr *arguments, size_t count);
tc_expr tc_softmax(tc_dag *dag, const tc_expr *arguments, size_t count, size_t index);
tc_expr tc_hump(tc_dag *dag, tc_expr a);
tc_expr tc_pair(tc_dag *dag, tc_expr a, tc_expr b);
tc_expr tc_norm(tc_dag *dag, const tc_expr *arguments, size_t count);
tc_expr tc_norm_direction(tc_dag *dag, const tc_expr *arguments, size_t count, size_t index);
tc_expr tc_norm_bend(tc_dag *dag, const tc_expr *arguments, size_t count, size_t i, size_t k);
/* a^p with an exponent that differs between members; and its derivative by a, of one order more. */
tc_expr tc_powd(tc_dag *dag, tc_expr a, tc_expr p);
tc_expr tc_powd_slope(tc_dag *dag, tc_expr power);
tc_expr tc_abs(tc_dag *dag, tc_expr a);
tc_expr tc_max(tc_dag *dag, tc_expr a, tc_expr b);
tc_expr tc_min(tc_dag *dag, tc_expr a, tc_expr b); /* by TC_MAX */

static inline const tc_node *tc_node_of(const tc_dag *dag, tc_expr e) { return &dag->nodes[e]; }
static inline bool tc_is_const(const tc_dag *dag, tc_expr e, double value) {
    return dag->nodes[e].op == TC_CONST && dag->nodes[e].u.value == value;
}

/* How many operands a node has, and the i-th. */
size_t tc_operand_count(const tc_dag *dag, tc_expr e);
tc_expr tc_operand(const tc_dag *dag, tc_expr e, size_t i);

/* All nodes that the roots need, in increasing order. *count receives how many. */
tc_expr *tc_reachable(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t root_count, size_t *count);

#endif
