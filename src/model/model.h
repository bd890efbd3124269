/* The model: what a problem file says, with names resolved, data loaded and privacy labels checked. Immutable once
 * tc_model_load has made it (analysis adds nodes to its DAG, never changes one).
 *
 * Every agent belongs to a *family*; an `agent` block is a family of one. Members of a family share their expressions
 * and differ in data. States are stored by component: coordinate (member k, component c) of a family is
 * first_coord + c * count + k, so that a component of all members is one contiguous array.
 *
 * In symbols: agent i = 1..N chooses x_i in X_i; together they minimise sum_i f_i(x_i) subject to g_j(x) <= 0, j
 * = 1..m; some rows may be affine equalities g_j(x) == 0. paper: Problem 0.1 */
#ifndef TC_MODEL_MODEL_H
#define TC_MODEL_MODEL_H

#include "base/json.h"
#include "base/status.h"
#include "base/arena.h"
#include "model/expr.h"
#include "model/given.h"

#include <math.h>

/* A number that may differ between members: one for all, or a column. */
typedef struct tc_coef {
    double value;
    const double *column; /* NULL: value holds for every member */
    uint32_t made_of;     /* the expression of data that a column was computed from, plus one; 0: none is known */
} tc_coef;

static inline double tc_coef_at(tc_coef coef, size_t member) {
    return coef.column != NULL ? coef.column[member] : coef.value;
}

typedef struct tc_column {
    const char *name;     /* as written, "pref[3]" for a component of a vector column; NULL for a derived one */
    const double *values; /* one per member */
    bool is_private;
    const tc_expr *made_of; /* a derived one: the expressions of data that it was computed from */
    size_t made_of_count;
} tc_column;

/* For their owners alone: members whose datum lay outside of its range and was moved into it, and one of them. */
typedef struct tc_outside {
    size_t members;
    size_t member, component;
    double from, to, lower, upper;
} tc_outside;

/* Over all components and members of all ranks: by how much a datum is protected, at least (of those above 0) and at
 * most, and the least share of its range. And where the first member's range begins, and how far it is protected. */
typedef struct tc_protection {
    bool is_known;
    double least, most, share;
    double first_lower, first_by;
} tc_protection;

/* Private data that everybody knows the range of: `range need in [0, 40]`. Each agent moves its own into the range. */
typedef struct tc_datum {
    const char *name; /* as written: "need", "pref" */
    size_t *columns;  /* of the family, one for each component; NULL in a cloud's file, which has no private data */
    size_t count;     /* of components */
    tc_coef *lower, *upper; /* the range: count each, public */
    /* `protect need by 5`: how far each component is hidden, public, > 0 and at most the range's width (0 where that is
     * 0); NULL: it is not. */
    tc_coef *by;
    /* Where it is protected: given the same answers, two agents that differ in it by no more than `by` send, in every
     * round, states at most this far apart, in l1 and in l2 (docs/proofs/data.md). A cloud's or agent's file says
     * so by `distance need { l1 5; l2 5 }`; of a whole problem analysis/data.h finds it. NAN: not known. */
    double distances[2];
    tc_protection protection;
    const char *note; /* NULL, or why no distance below that of the whole box is proved */
    tc_span span;     /* of the range */
    tc_outside outside;
} tc_datum;

/* What a number that is computed from private data has to be: a problem in which it is not cannot be read. */
typedef enum tc_demand_kind {
    TC_MUST_BE_POSITIVE,
    TC_MUST_NOT_BE_NEGATIVE,
    TC_MUST_NOT_BE_ZERO,
    TC_MUST_BE_FINITE,
    TC_MUST_BE_A_PLACE /* a whole number between 1 and a length */
} tc_demand_kind;

typedef struct tc_demand {
    tc_expr of;
    tc_demand_kind kind;
    tc_span span;
} tc_demand;

typedef struct tc_variable { /* one `state` line: components first .. first + length - 1 of the agent's state */
    const char *name;
    size_t first, length;
    bool is_scalar; /* declared without a length: x, not x[1] */
} tc_variable;

typedef enum tc_set_kind {
    TC_SET_BOX,        /* center <= x <= upper */
    TC_SET_HALFSPACE,  /* center . x <= radius */
    TC_SET_HYPERPLANE, /* center . x == radius */
    TC_SET_BALL,       /* |x - center|_2 <= radius */
    TC_SET_BALL1,      /* |x - center|_1 <= radius */
    TC_SET_SIMPLEX,    /* x >= 0, sum x == radius */
    TC_SET_ELLIPSOID,  /* (x - center)' matrix (x - center) <= radius; matrix symmetric positive definite */
} tc_set_kind;

typedef struct tc_set_piece { /* one `private set` or `public set` line; X_i is the public box and all pieces */
    tc_set_kind kind;
    bool is_public;      /* a half-space that everybody knows: at most one in a family */
    size_t first, count; /* the components it speaks of */
    tc_coef *center;     /* count of them: centre, normal or lower bounds */
    tc_coef *upper;      /* boxes: count */
    tc_coef radius;
    tc_coef *matrix; /* ellipsoids: count * count, row by row */
    tc_span span;
} tc_set_piece;

enum { TC_MEMBER_BLOCK = 2048 }; /* members of a family that are handled together, and held by one rank */

typedef struct tc_family {
    const char *name;
    bool is_family; /* declared by `agents`; its members are name[1], name[2], ... */
    size_t count;
    size_t held_first, held_end; /* of its members, those that this rank holds: whole blocks (base/ranks/ranks.h) */
    /* Those whose data this rank knows: all, or where the family is spread over ranks, those that it holds. */
    size_t known_first, known_end;
    bool is_spread;
    size_t first_agent; /* number of member 0 among all agents */
    size_t first_coord;
    size_t dim;                      /* n_i */
    const char *const *member_names; /* from a text column `name`; NULL: made from the family's */
    tc_variable *variables;
    size_t variable_count;
    tc_column *columns;
    size_t column_count;
    tc_coef *lower, *upper; /* the public box: dim each */
    tc_expr objective;      /* f_i; TC_NO_EXPR in a cloud's file */
    bool maximizes;         /* the file says what to maximize; f_i is that with a minus sign */
    tc_span objective_span;
    tc_set_piece *pieces;
    size_t piece_count;
    bool has_gap, has_slater, has_start;
    tc_coef gap;     /* public F_i >= f_i(xbar_i) - min f_i */
    tc_coef *slater; /* public xbar_i: dim */
    tc_coef *room;   /* public r_i: X_i holds the box xbar_i +- r_i, and gap covers it; dim, zero if not said */
    tc_coef *start;  /* x_i(1): dim; zero clipped to the box where absent */
    tc_datum *data;  /* with a range */
    size_t datum_count;
    tc_demand *demands; /* of numbers made of private data */
    size_t demand_count;
    /* Names of the private data that the block uses, as written, those apart that are computed from others. Of a
     * cloud's file unknown. */
    const char **private_names;
    size_t private_count;
    const char *data_fault;       /* NULL, or why nothing can be promised about data: a sentence */
    tc_coef declared_objective;   /* L_i; NAN where not declared */
    tc_coef declared_jacobian[2]; /* K^i_1, K^i_2 */
    tc_span span, declared_span;
} tc_family;

typedef struct tc_inner_sum { /* sum over the members of a family of a body */
    uint32_t family;
    tc_expr body;
} tc_inner_sum;

typedef struct tc_constraint { /* outer <= 0, or outer == 0 */
    const char *name;          /* "feeder[3]" */
    tc_expr outer;             /* of an equality E == F: E - F, affine */
    tc_span span;
    bool is_equality; /* its multiplier may have either sign */
    double limit;     /* the side that is a number, as written: F of E <= F, E >= F and E == F; NAN where none is */
} tc_constraint;

typedef enum tc_role { TC_ROLE_WHOLE, TC_ROLE_CLOUD, TC_ROLE_AGENT } tc_role;
typedef enum tc_mechanism {
    TC_MECHANISM_UNSET,
    TC_MECHANISM_NONE,
    TC_MECHANISM_LAPLACE,
    TC_MECHANISM_GAUSSIAN
} tc_mechanism;
typedef enum tc_adjacency {
    TC_ADJACENCY_UNSET,
    TC_ADJACENCY_BARE,
    TC_ADJACENCY_ENSEMBLE,
    TC_ADJACENCY_ONE,
    TC_ADJACENCY_AGENT,
    TC_ADJACENCY_WITHIN, /* `agent D`: one agent, in every round by at most D */
    TC_ADJACENCY_DATA    /* `data`: one agent, in every round by at most its family's distance */
} tc_adjacency;

typedef struct tc_privacy { /* numbers are NAN where the file does not set them */
    tc_mechanism mechanism;
    tc_adjacency adjacency; /* BARE: a bare B, whose meaning depends on the calibration */
    double adjacency_bound; /* B */
    double epsilon, delta;
    tc_span span;
} tc_privacy;

typedef struct tc_budget { /* what all runs on the same data may cost together; epsilon NAN: the file has none */
    double epsilon, delta; /* delta NAN where only epsilon is given */
    tc_span span;
} tc_budget;

typedef struct tc_schedule { /* gamma_k = step k^-step_decay, alpha_k = regularization k^-regularization_decay */
    double step, step_decay;
    double regularization, regularization_decay;
    double rounds;
    tc_span span;
} tc_schedule;

typedef struct tc_source { /* the problem file, for messages */
    const char *path;
    const char *text;
    size_t length;
} tc_source;

typedef struct tc_matrix_file { /* what a matrix file held; tables are in the families' columns */
    const double *numbers;      /* row by row */
    size_t rows, columns;
    struct tc_matrix_file *before; /* read before this one */
} tc_matrix_file;

typedef struct tc_model {
    tc_arena *arena;
    tc_source source;
    tc_matrix_file *last_matrix; /* NULL: none was read */
    tc_role role;
    tc_dag *dag;
    tc_family *families;
    size_t family_count;
    const char **outside_names; /* of private parameters outside of the blocks, in the same way */
    size_t outside_count;
    size_t agent_count; /* N */
    size_t state_count; /* n */
    tc_inner_sum *sums;
    size_t sum_count;
    tc_constraint *constraints;
    size_t constraint_count;        /* m */
    double declared_constraints[2]; /* K^g_1, K^g_2; NAN where not declared */
    tc_span declared_span;
    double dual_radius; /* public R; NAN where not given */
    tc_span dual_span;
    double *start_multipliers; /* mu(1), m of them */
    tc_privacy privacy;
    tc_budget budget;
    tc_schedule schedule;
    struct tc_syntax *syntax; /* the parsed file, kept for tc_split */
} tc_model;

/* Which members of family number `number` this rank holds; count is known. All, where there are no others. */
void tc_family_hold(tc_family *family, size_t number);

/* The same of any rank. */
void tc_family_held_by(const tc_family *family, size_t number, size_t rank, size_t ranks, size_t *first, size_t *end);

static inline bool tc_holds(const tc_family *family, size_t member) {
    return family->held_first <= member && member < family->held_end;
}

/* The states of the members that this rank holds, from one point to another. */
void tc_copy_held(const tc_model *model, double *to, const double *from);

/* The half-space that everybody knows; NULL: the box is all that is public. */
static inline const tc_set_piece *tc_public_set(const tc_family *family) {
    for (size_t p = 0; p < family->piece_count; p++) {
        if (family->pieces[p].is_public)
            return &family->pieces[p];
    }
    return NULL;
}

static inline size_t tc_coord_of(const tc_family *family, size_t member, size_t component) {
    return family->first_coord + component * family->count + member;
}

/* How many constraints are equalities. */
static inline size_t tc_equality_count(const tc_model *model) {
    size_t count = 0;
    for (size_t j = 0; j < model->constraint_count; j++)
        count += model->constraints[j].is_equality;
    return count;
}

/* The family of an agent or of a coordinate (binary search). */
const tc_family *tc_family_of_agent(const tc_model *model, size_t agent);
const tc_family *tc_family_of_coord(const tc_model *model, size_t coord);

/* "home[17]", or the member's own name. */
void tc_agent_name(tc_buffer *out, const tc_family *family, size_t member);
/* "home[17].p[3]" */
void tc_coord_name(tc_buffer *out, const tc_model *model, size_t coord);

/* A line for each datum of which some lay outside of its range: how many; and for the owner of the data, who alone may
 * read it, what they are. */
void tc_tell_outside(const tc_model *model, bool to_owner, tc_buffer *out);

/* The source text of an expression, as the user wrote it, shortened to fit a message. */
void tc_span_text(tc_buffer *out, const tc_source *source, tc_span span);
/* "file:line:column" of a span. */
void tc_span_place(tc_buffer *out, const tc_source *source, tc_span span);

/* ---- from a problem file to a model --------------------------------------------------------------------------------
 */

/* Reads, parses and elaborates the problem at path (data files are looked up beside it). All errors of the file are
 * written into messages, each with its place, line and caret. TC_BAD_PROBLEM, TC_BAD_USAGE (there is no such
 * file), TC_CANNOT_READ, TC_NO_MEMORY, TC_TOO_LARGE, TC_INTERRUPTED. The model lives in arena. */
tc_status tc_model_load(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                        tc_model **model) TC_MUST_USE;

/* The same from a text in memory; path is used in messages and to find data files. */
tc_status tc_model_parse(tc_arena *arena, const char *path, const char *text, size_t length, const tc_monitor *monitor,
                         tc_buffer *messages, tc_model **model) TC_MUST_USE;

/* Whether large families may be spread over ranks (spread.h); otherwise every rank knows the data of all members. Where
 * they may and the problem does not allow it, `whole` hears why before all data are loaded; it may be NULL. Where the
 * work needs all data whatever the problem is, needs_all says why, and `whole` hears that. */
typedef struct tc_spread {
    bool is_wished;
    const char *needs_all; /* NULL: it does not */
    void (*whole)(void *context, const char *why);
    void *context;
} tc_spread;

/* Data files in memory, by the path that the problem file has for them. */
typedef struct tc_read_file {
    const char *path, *bytes;
    size_t length;
} tc_read_file;

typedef struct tc_read_files {
    tc_read_file *list;
    size_t count, room;
} tc_read_files;

/* All there is to say about loading. A table or matrix that is given takes the place of the file or of the `given` in
 * the declaration of its name: the file is not opened. What is given must be declared. */
typedef struct tc_load_request {
    tc_arena *arena;
    const char *path;
    const char *text; /* NULL: read the file */
    size_t length;
    bool standard_input; /* read it instead of the file; path is for messages and data files */
    const tc_monitor *monitor;
    tc_buffer *messages;
    tc_given given;
    tc_spread spread;
    tc_read_files *files; /* those in it are not opened, and others are added to it, whole; NULL: none */
    size_t nodes;         /* for tests: most nodes of the DAG; 0: the usual limit */
    bool no_files;        /* for tests: small stand-ins instead of data files */
} tc_load_request;

tc_status tc_model_load_request(const tc_load_request *request, tc_model **model) TC_MUST_USE;

/* ---- a point x as JSON and as text ---------------------------------------------------------------------------------
 */

enum { TC_POINT_NAME_WIDTH = 20, TC_POINT_CELL_WIDTH = 11, TC_POINT_SHOWN = 10 };

/* "x": an object, agent's name -> array. "constraints": their names. */
void tc_point_json_states(const tc_model *model, const double *x, tc_json *json);
void tc_point_json_constraints(const tc_model *model, tc_json *json);
/* "equalities": their names; nothing where there are none. */
void tc_json_equalities(const tc_model *model, tc_json *json);

/* A number that is zero but for rounding, given its natural size, as zero. */
double tc_without_dust(double value, double size);

/* The pieces of tables: a name in its column, numbers in theirs (lines are broken at 80 columns; cut unless full), and
 * what was left out. */
void tc_point_name(tc_buffer *out, const char *name);
void tc_point_numbers(tc_buffer *out, const double *values, size_t count, bool full);
void tc_point_left_out(tc_buffer *out, size_t left_out);

/* A line for each agent, the first few unless full. */
void tc_point_states(const tc_model *model, const double *x, bool full, tc_buffer *out);

#endif
