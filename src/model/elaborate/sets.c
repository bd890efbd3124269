/* Sets: recognises boxes, half-spaces, hyperplanes, balls, simplices and ellipsoids in what was written. */
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

/* ---- affine functions --------------------------------------------------------------------------------------------
 *
 * The coefficients of an affine function of a member's state, by one sweep from the root down: what multiplies a node
 * is known before its children are met. */

typedef struct affine_form {
    size_t *components; /* sorted */
    tc_expr *factors;
    size_t count;
    tc_expr constant;
} affine_form;
static void pass(tc_elaborator *elaborator, tc_expr *factors, tc_expr child, tc_expr factor) {
    tc_expr *place = &factors[elaborator->places[child]];
    *place = *place == TC_NO_EXPR ? factor : tc_add(elaborator->dag, *place, factor);
}

/* Hands the factor of a node that depends on states to its operands. false where the node is not affine. */
static bool spread(tc_elaborator *elaborator, tc_expr *factors, tc_expr node, tc_expr factor) {
    tc_dag *dag = elaborator->dag;
    tc_node n = dag->nodes[node];
    switch ((tc_op)n.op) {
    case TC_ADD:
    case TC_SUB:
        pass(elaborator, factors, n.a, factor);
        pass(elaborator, factors, n.b, n.op == TC_ADD ? factor : tc_neg(dag, factor));
        return true;
    case TC_NEG:
        pass(elaborator, factors, n.a, tc_neg(dag, factor));
        return true;
    case TC_MUL:
        if (dag->nodes[n.a].has_state && dag->nodes[n.b].has_state)
            return false;
        if (dag->nodes[n.a].has_state)
            pass(elaborator, factors, n.a, tc_mul(dag, factor, n.b));
        else
            pass(elaborator, factors, n.b, tc_mul(dag, factor, n.a));
        return true;
    case TC_DIV:
        if (dag->nodes[n.b].has_state)
            return false;
        pass(elaborator, factors, n.a, tc_div(dag, factor, n.b));
        return true;
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
    case TC_POWI:
    case TC_POWR:
    case TC_EXP:
    case TC_LOG:
    case TC_SQRT:
    case TC_HUBER:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
    case TC_POWD:
    case TC_ABS:
    case TC_MAX:
        break;
    }
    return false;
}

/* Coefficients of the member's components, and the constant, as expressions free of states.
 * false where the expression is not affine; *culprit is then the node that is not. */
static bool affine_of(tc_elaborator *elaborator, tc_expr root, affine_form *affine, tc_expr *culprit) {
    tc_dag *dag = elaborator->dag;
    size_t count;
    tc_expr *nodes = tc_nodes_under(elaborator, root, &count);
    tc_expr *factors = TC_NEW(elaborator->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++)
        factors[i] = TC_NO_EXPR;
    factors[count - 1] = tc_const(dag, 1);
    *affine = (affine_form){.constant = tc_const(dag, 0)};
    for (size_t i = count; i-- > 0;) {
        if (factors[i] == TC_NO_EXPR)
            continue;
        if (!dag->nodes[nodes[i]].has_state) {
            affine->constant = tc_add(dag, affine->constant, tc_mul(dag, factors[i], nodes[i]));
        } else if (dag->nodes[nodes[i]].op == TC_STATE) {
            size_t at = affine->count;
            size_t component = (size_t)dag->nodes[nodes[i]].u.index;
            size_t components = affine->count;
            if (tc_is_const(dag, factors[i], 0))
                continue;
            TC_PUSH(elaborator->arena, affine->components, components, component);
            TC_PUSH(elaborator->arena, affine->factors, affine->count, factors[i]);
            for (; at > 0 && affine->components[at - 1] > component; at--) {
                affine->components[at] = affine->components[at - 1];
                affine->factors[at] = affine->factors[at - 1];
            }
            affine->components[at] = component;
            affine->factors[at] = factors[i];
        } else if (!spread(elaborator, factors, nodes[i], factors[i])) {
            *culprit = nodes[i];
            return false;
        }
    }
    return true;
}

/* ---- reading a set ----------------------------------------------------------------------------------------------- */

typedef struct set_reader {
    tc_elaborator *elaborator;
    tc_agents_block *block;
    const tc_family *family;
    const tc_statement *statement;
    size_t *capacity;
    const tc_scope *scope;
} set_reader;

static tc_value evaluate(const set_reader *reader, const tc_tree *tree) {
    return tc_elaborate_tree(reader->elaborator, reader->scope, tree);
}

static void add_piece(const set_reader *reader, tc_set_piece piece) {
    tc_family *family = &reader->elaborator->model->families[reader->block->number];
    piece.span = reader->statement->span;
    if (family->piece_count == *reader->capacity) {
        *reader->capacity = *reader->capacity == 0 ? 4 : *reader->capacity * 2;
        family->pieces = tc_arena_grow(reader->elaborator->arena, family->pieces, family->piece_count,
                                       *reader->capacity, sizeof *family->pieces);
    }
    family->pieces[family->piece_count++] = piece;
}

static void not_recognised(const set_reader *reader, tc_span span, const char *why) {
    tc_error(reader->elaborator->diagnostics, span,
             "%s; a set is made of affine relations, norm(x - c) <= r, norm1(x - c) <= r, sumsq(x - c) <= s, "
             "quadform(x - c, P) <= s, x in [l, u], simplex(s), ball(c, r), ball1(c, r), ellipsoid(c, P)",
             why);
}

/* ---- what members may not have ----------------------------------------------------------------------------------- */

static const char *for_member(const set_reader *reader, bool varies, size_t member) {
    return varies ? tc_arena_format(reader->elaborator->arena, " for %s",
                                    tc_member_text(reader->elaborator, reader->block, member))
                  : "";
}

static bool check_radius(const set_reader *reader, tc_coef radius, tc_span span, const char *what) {
    bool varies = radius.column != NULL, good = true;
    tc_told before = tc_told_so_far(reader->elaborator->diagnostics);
    for (size_t k = tc_first_known(reader->family, varies); good && k < tc_end_known(reader->family, varies); k++) {
        good = tc_coef_at(radius, k) >= 0;
        if (!good)
            tc_error(reader->elaborator->diagnostics, span, "%s must not be negative, but %s%s", what,
                     tc_wrong_number(reader->elaborator, reader->statement->is_private, tc_coef_at(radius, k)),
                     for_member(reader, varies, k));
    }
    return tc_agreed(reader->elaborator->diagnostics, reader->family, before, good);
}

static bool check_order(const set_reader *reader, const tc_coef *lower, const tc_coef *upper, size_t count,
                        tc_span span) {
    for (size_t c = 0; c < count; c++) {
        bool varies = lower[c].column != NULL || upper[c].column != NULL, good = true;
        tc_told before = tc_told_so_far(reader->elaborator->diagnostics);
        for (size_t k = tc_first_known(reader->family, varies); good && k < tc_end_known(reader->family, varies); k++) {
            double low = tc_coef_at(lower[c], k), high = tc_coef_at(upper[c], k);
            good = low <= high;
            if (good)
                continue;
            bool shown = !reader->statement->is_private || tc_shows_private(reader->elaborator);
            tc_error(reader->elaborator->diagnostics, span,
                     "this set is empty%s: the lower bound%s is above the upper%s", for_member(reader, varies, k),
                     shown ? tc_arena_format(reader->elaborator->arena, " %.17g", low) : "",
                     shown ? tc_arena_format(reader->elaborator->arena, " bound %.17g", high) : " one");
        }
        if (!tc_agreed(reader->elaborator->diagnostics, reader->family, before, good))
            return false;
    }
    return true;
}

/* Cholesky's method runs through exactly for positive definite matrices (up to rounding). */
static bool is_positive_definite(const tc_coef *matrix, size_t n, size_t member, double *work) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = tc_coef_at(matrix[i * n + j], member);
            for (size_t k = 0; k < j; k++)
                sum -= work[i * n + k] * work[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            work[i * n + j] = i == j ? sqrt(sum) : sum / work[j * n + j];
        }
    }
    return true;
}

static bool check_matrix_of(const set_reader *reader, const tc_coef *matrix, size_t n, tc_span span, bool varies,
                            size_t member, double *work) {
    for (size_t i = 0; i < n * n; i++) {
        if (tc_coef_at(matrix[i], member) == tc_coef_at(matrix[i % n * n + i / n], member))
            continue;
        tc_error(reader->elaborator->diagnostics, span,
                 "the matrix of an ellipsoid must be symmetric, but entries [%zu, %zu] "
                 "and [%zu, %zu] differ%s",
                 i / n + 1, i % n + 1, i % n + 1, i / n + 1, for_member(reader, varies, member));
        return false;
    }
    if (is_positive_definite(matrix, n, member, work))
        return true;
    tc_error(reader->elaborator->diagnostics, span,
             "the matrix of an ellipsoid must be positive definite, but this one "
             "is not%s",
             for_member(reader, varies, member));
    return false;
}

static bool check_matrix(const set_reader *reader, const tc_coef *matrix, size_t n, tc_span span) {
    bool varies = false, good = true;
    for (size_t i = 0; i < n * n; i++)
        varies = varies || matrix[i].column != NULL;
    double *work = TC_NEW(reader->elaborator->arena, double, n *n);
    tc_told before = tc_told_so_far(reader->elaborator->diagnostics);
    for (size_t k = tc_first_known(reader->family, varies); good && k < tc_end_known(reader->family, varies); k++)
        good = check_matrix_of(reader, matrix, n, span, varies, k, work);
    return tc_agreed(reader->elaborator->diagnostics, reader->family, before, good);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static bool scalar_coef(const set_reader *reader, const tc_tree *tree, const char *what, tc_coef *coef) {
    tc_value value = evaluate(reader, tree);
    tc_coef *one = tc_elaborate_coefs(reader->elaborator, reader->block, &value, 1, tree->span, what);
    if (one == NULL)
        return false;
    *coef = *one;
    return true;
}

/* A square matrix of coefs, free of states. */
static tc_coef *matrix_coefs(const set_reader *reader, const tc_tree *tree, size_t n) {
    tc_value value = evaluate(reader, tree);
    if (value.broken)
        return NULL;
    if (value.rank != 2 || value.rows != n || value.columns != n ||
        tc_value_has_state(&reader->elaborator->values, &value)) {
        tc_error(reader->elaborator->diagnostics, tree->span,
                 "the matrix of an ellipsoid must be a constant %zu x %zu matrix, "
                 "but this is %s",
                 n, n, tc_shape_text(reader->elaborator->arena, &value));
        return NULL;
    }
    tc_coef *coefs = TC_NEW(reader->elaborator->arena, tc_coef, n * n);
    for (size_t i = 0; i < n * n; i++)
        coefs[i] = tc_coef_of_value(reader->elaborator, reader->block, &value, i);
    return check_matrix(reader, coefs, n, tree->span) ? coefs : NULL;
}

/* Neighbouring components of the state, in order. */
static bool state_range(const set_reader *reader, const tc_value *value, tc_span span, size_t *first, size_t *count) {
    const tc_dag *dag = reader->elaborator->dag;
    *count = value->broken ? 0 : tc_value_count(value);
    for (size_t i = 0; i < *count; i++) {
        tc_expr node = value->is_number ? TC_NO_EXPR : value->rank == 0 ? value->node : value->nodes[i];
        bool is_state = node != TC_NO_EXPR && dag->nodes[node].op == TC_STATE;
        if (is_state && i == 0)
            *first = (size_t)dag->nodes[node].u.index;
        if (is_state && dag->nodes[node].u.index == *first + i)
            continue;
        not_recognised(reader, span, "expected a state, or a range p[a..b] of one, left of 'in'");
        return false;
    }
    return !value->broken;
}

/* x - c, with x neighbouring components of the state: c, as coefs. */
static bool shifted_range(const set_reader *reader, const tc_tree *tree, tc_set_piece *piece) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_value value = evaluate(reader, tree);
    if (value.broken)
        return false;
    piece->count = tc_value_count(&value);
    piece->center = TC_NEW(elaborator->arena, tc_coef, piece->count);
    for (size_t i = 0; i < piece->count; i++) {
        affine_form affine;
        tc_expr culprit;
        bool good = affine_of(elaborator, tc_value_node_at(&elaborator->values, &value, i), &affine, &culprit) &&
                    affine.count == 1;
        bool plus = good && tc_is_const(elaborator->dag, affine.factors[0], 1);
        bool minus = good && tc_is_const(elaborator->dag, affine.factors[0], -1);
        if (good && i == 0)
            piece->first = affine.components[0];
        if (!(plus || minus) || affine.components[0] != piece->first + i) {
            not_recognised(reader, tree->span,
                           "this is not of the form x - c, with x a state or a range p[a..b] of one");
            return false;
        }
        tc_expr center = plus ? tc_neg(elaborator->dag, affine.constant) : affine.constant;
        piece->center[i] = tc_coef_of(elaborator, reader->block, center);
    }
    return true;
}

/* ---- x in ... ---------------------------------------------------------------------------------------------------- */

static void read_box(const set_reader *reader, size_t first, size_t count) {
    const tc_statement *s = reader->statement;
    tc_value lower = evaluate(reader, s->lower), upper = evaluate(reader, s->upper);
    tc_set_piece piece = {.kind = TC_SET_BOX, .first = first, .count = count};
    piece.center =
        tc_elaborate_coefs(reader->elaborator, reader->block, &lower, count, s->lower->span, "a lower bound");
    piece.upper =
        tc_elaborate_coefs(reader->elaborator, reader->block, &upper, count, s->upper->span, "an upper bound");
    if (piece.center == NULL || piece.upper == NULL ||
        !check_order(reader, piece.center, piece.upper, count, tc_span_join(s->lower->span, s->upper->span)))
        return;
    add_piece(reader, piece);
}

static void read_ball(const set_reader *reader, tc_set_piece piece) {
    const tc_statement *s = reader->statement;
    tc_value center = evaluate(reader, s->arguments[0]);
    piece.center = tc_elaborate_coefs(reader->elaborator, reader->block, &center, piece.count, s->arguments[0]->span,
                                      "the centre");
    if (piece.center == NULL)
        return;
    if (piece.kind == TC_SET_ELLIPSOID) {
        piece.radius.value = 1;
        piece.matrix = matrix_coefs(reader, s->arguments[1], piece.count);
        if (piece.matrix == NULL)
            return;
    } else if (!scalar_coef(reader, s->arguments[1], "a radius", &piece.radius) ||
               !check_radius(reader, piece.radius, s->arguments[1]->span, "a radius")) {
        return;
    }
    add_piece(reader, piece);
}

static void read_membership(const set_reader *reader) {
    static const struct {
        const char *name;
        tc_set_kind kind;
        size_t arguments;
    } shapes[] = {{"simplex", TC_SET_SIMPLEX, 1},
                  {"ball", TC_SET_BALL, 2},
                  {"ball1", TC_SET_BALL1, 2},
                  {"ellipsoid", TC_SET_ELLIPSOID, 2}};
    const tc_statement *s = reader->statement;
    const char *names[4];
    tc_value value = evaluate(reader, s->value);
    tc_set_piece piece = {0};
    if (!state_range(reader, &value, s->value->span, &piece.first, &piece.count))
        return;
    if (s->shape.name == NULL) {
        read_box(reader, piece.first, piece.count);
        return;
    }
    size_t i = 0;
    while (i < 4 && strcmp(shapes[i].name, s->shape.name->text) != 0)
        i++;
    for (size_t k = 0; k < 4; k++)
        names[k] = shapes[k].name;
    if (i == 4) {
        tc_error(reader->elaborator->diagnostics, s->shape.span, "there is no set '%s'%s", s->shape.name->text,
                 tc_did_you_mean(reader->elaborator->arena, s->shape.name->text, names, 4));
        return;
    }
    if (s->argument_count != shapes[i].arguments) {
        tc_error(reader->elaborator->diagnostics, s->shape.span, "%s takes %zu argument%s, not %zu", shapes[i].name,
                 shapes[i].arguments, shapes[i].arguments == 1 ? "" : "s", s->argument_count);
        return;
    }
    piece.kind = shapes[i].kind;
    if (piece.kind != TC_SET_SIMPLEX)
        read_ball(reader, piece);
    else if (scalar_coef(reader, s->arguments[0], "the sum of a simplex", &piece.radius) &&
             check_radius(reader, piece.radius, s->arguments[0]->span, "the sum of a simplex"))
        add_piece(reader, piece);
}

/* ---- relations --------------------------------------------------------------------------------------------------- */

/* The kind of curved left side: norm(E), norm1(E), sumsq(E), quadform(E, P). */
static bool is_curved(const tc_tree *tree) {
    if (tree->kind != TC_TREE_CALL)
        return false;
    const char *name = tree->name->text;
    return (tree->count == 1 && (strcmp(name, "norm") == 0 || strcmp(name, "norm2") == 0 ||
                                 strcmp(name, "norm1") == 0 || strcmp(name, "sumsq") == 0)) ||
           (tree->count == 2 && strcmp(name, "quadform") == 0);
}

static tc_coef square_root(const set_reader *reader, tc_coef coef) {
    if (coef.column == NULL)
        return (tc_coef){.value = sqrt(coef.value)};
    double *column = TC_NEW(reader->elaborator->arena, double, reader->family->count);
    for (size_t k = reader->family->known_first; k < reader->family->known_end; k++)
        column[k] = sqrt(coef.column[k]);
    return (tc_coef){.column = column};
}

static void read_curved(const set_reader *reader, const tc_tree *curved, const tc_tree *bound) {
    const char *name = curved->name->text;
    tc_set_piece piece = {.kind = strcmp(name, "norm1") == 0      ? TC_SET_BALL1
                                  : strcmp(name, "quadform") == 0 ? TC_SET_ELLIPSOID
                                                                  : TC_SET_BALL};
    if (!shifted_range(reader, curved->items[0], &piece) || !scalar_coef(reader, bound, "a radius", &piece.radius) ||
        !check_radius(reader, piece.radius, bound->span, "a radius"))
        return;
    if (strcmp(name, "sumsq") == 0)
        piece.radius = square_root(reader, piece.radius);
    if (piece.kind == TC_SET_ELLIPSOID && (piece.matrix = matrix_coefs(reader, curved->items[1], piece.count)) == NULL)
        return;
    add_piece(reader, piece);
}

/* factors . x <= bound, or == */
static bool read_halfspace(const set_reader *reader, const affine_form *affine) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_relation relation = reader->statement->relation;
    bool flip = relation == TC_RELATION_GREATER;
    tc_set_piece piece = {.kind = relation == TC_RELATION_EQUAL ? TC_SET_HYPERPLANE : TC_SET_HALFSPACE,
                          .first = affine->components[0]};
    piece.count = affine->components[affine->count - 1] - piece.first + 1;
    piece.center = TC_NEW(elaborator->arena, tc_coef, piece.count);
    bool varies = true;
    for (size_t i = 0; i < affine->count; i++) {
        tc_expr factor = flip ? tc_neg(elaborator->dag, affine->factors[i]) : affine->factors[i];
        tc_coef coef = tc_coef_of(elaborator, reader->block, factor);
        piece.center[affine->components[i] - piece.first] = coef;
        varies = varies && (coef.column != NULL || coef.value == 0);
    }
    bool good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = reader->family->known_first; varies && good && k < reader->family->known_end; k++) {
        good = false;
        for (size_t c = 0; c < piece.count; c++)
            good = good || tc_coef_at(piece.center[c], k) != 0;
        if (!good)
            tc_error(elaborator->diagnostics, reader->statement->span,
                     "all coefficients of this relation are zero for %s", tc_member_text(elaborator, reader->block, k));
    }
    if (!tc_agreed(elaborator->diagnostics, reader->family, before, good))
        return false;
    tc_expr bound = flip ? affine->constant : tc_neg(elaborator->dag, affine->constant);
    piece.radius = tc_coef_of(elaborator, reader->block, bound);
    add_piece(reader, piece);
    return true;
}

/* Relations between single neighbouring components and constants make one box, whose other side is the public one. */
static bool read_bounds(const set_reader *reader, const affine_form *rows, size_t count) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_set_piece piece = {.kind = TC_SET_BOX, .first = rows[0].components[0], .count = count};
    if (reader->statement->relation == TC_RELATION_EQUAL)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool unit = rows[i].count == 1 && (tc_is_const(elaborator->dag, rows[i].factors[0], 1) ||
                                           tc_is_const(elaborator->dag, rows[i].factors[0], -1));
        if (!unit || rows[i].components[0] != piece.first + i)
            return false;
    }
    piece.center = TC_NEW(elaborator->arena, tc_coef, count);
    piece.upper = TC_NEW(elaborator->arena, tc_coef, count);
    for (size_t i = 0; i < count; i++) {
        bool plus = tc_is_const(elaborator->dag, rows[i].factors[0], 1);
        bool below = plus == (reader->statement->relation == TC_RELATION_LESS);
        tc_expr bound = plus ? tc_neg(elaborator->dag, rows[i].constant) : rows[i].constant;
        tc_coef coef = tc_coef_of(elaborator, reader->block, bound);
        piece.center[i] = below ? reader->family->lower[piece.first + i] : coef;
        piece.upper[i] = below ? coef : reader->family->upper[piece.first + i];
    }
    /* It may be empty; the analysis finds empty intersections. */
    add_piece(reader, piece);
    return true;
}

/* difference <= 0, or == or >=, row by row. */
static void read_rows(const set_reader *reader, const tc_value *difference, tc_span span) {
    tc_elaborator *elaborator = reader->elaborator;
    size_t count = tc_value_count(difference);
    affine_form *rows = TC_NEW(elaborator->arena, affine_form, count);
    for (size_t i = 0; i < count; i++) {
        tc_expr culprit = 0;
        if (!affine_of(elaborator, tc_value_node_at(&elaborator->values, difference, i), &rows[i], &culprit)) {
            tc_span where = elaborator->dag->spans[culprit];
            not_recognised(reader, where.length > 0 ? where : span, "this part is not affine in the state");
            return;
        }
        if (rows[i].count == 0) {
            tc_error(elaborator->diagnostics, span, "this relation contains no state");
            return;
        }
    }
    if (read_bounds(reader, rows, count))
        return;
    for (size_t i = 0; i < count && read_halfspace(reader, &rows[i]); i++)
        continue;
}

/* The same for |u| and max: each row becomes several without kinks. */
static void read_kinks(const set_reader *reader, const tc_value *difference, tc_span span) {
    tc_elaborator *elaborator = reader->elaborator;
    tc_statement less = *reader->statement;
    set_reader rows = *reader;
    less.relation = TC_RELATION_LESS;
    rows.statement = &less;
    for (size_t i = 0; i < tc_value_count(difference); i++) {
        tc_expr e = tc_value_node_at(&elaborator->values, difference, i);
        if (reader->statement->relation == TC_RELATION_GREATER)
            e = tc_neg(elaborator->dag, e);
        size_t count;
        const tc_expr *parts = tc_rows_without_kinks(elaborator, e, span, &count);
        for (size_t p = 0; parts != NULL && p < count; p++) {
            tc_value part = tc_value_node(parts[p]);
            read_rows(&rows, &part, span);
        }
        if (parts == NULL)
            return;
    }
}

static void read_affine(const set_reader *reader) {
    tc_elaborator *elaborator = reader->elaborator;
    size_t kinks = elaborator->kinks;
    const tc_statement *s = reader->statement;
    tc_value left = evaluate(reader, s->value), right = evaluate(reader, s->other);
    tc_span span = tc_span_join(s->value->span, s->other->span);
    elaborator->dag->origin = span;
    tc_value difference = tc_value_compare(&elaborator->values, &left, &right, span);
    if (difference.broken || (s->is_public && !tc_must_be_public(elaborator, &difference, span, "this set")))
        return;
    if (elaborator->kinks > kinks && s->relation != TC_RELATION_EQUAL)
        read_kinks(reader, &difference, span);
    else
        read_rows(reader, &difference, span);
}

/* One relation, or one membership. false after an error. */
static bool read_one(const set_reader *reader) {
    const tc_statement *statement = reader->statement;
    size_t before = reader->family->piece_count;
    reader->elaborator->no_states = NULL;
    bool is_plain = statement->relation != TC_RELATION_IN && statement->relation != TC_RELATION_EQUAL;
    if (statement->is_public && (!is_plain || statement->third != NULL))
        tc_refuse_public_set(reader->elaborator, statement);
    else if (statement->relation == TC_RELATION_IN)
        read_membership(reader);
    else if (statement->relation == TC_RELATION_LESS && is_curved(statement->value))
        read_curved(reader, statement->value, statement->other);
    else if (statement->relation == TC_RELATION_GREATER && is_curved(statement->other))
        read_curved(reader, statement->other, statement->value);
    else
        read_affine(reader);
    if (statement->is_public && reader->family->piece_count > before)
        tc_check_public_set(reader->elaborator, reader->block, statement, before);
    return reader->family->piece_count > before;
}

/* A chain a <= b <= c is two relations. */
static bool read_chain(const set_reader *reader) {
    const tc_statement *s = reader->statement;
    tc_statement half = *s;
    set_reader second = *reader;
    half.value = s->other;
    half.other = s->third;
    second.statement = &half;
    return read_one(reader) && (s->third == NULL || read_one(&second));
}

/* All values of the indices from binder b on. */
static bool read_indices(const set_reader *reader, size_t b) {
    const tc_statement *s = reader->statement;
    double first, last;
    if (b == s->binder_count)
        return read_chain(reader);
    if (!tc_elaborate_range(reader->elaborator, reader->scope, &s->binders[b], &first, &last))
        return false;
    for (double i = first; i <= last; i++) {
        tc_count_expansion(reader->elaborator, 1, s->name_span);
        tc_scope inner = {.outer = reader->scope, .name = s->binders[b].name, .value = i};
        set_reader next = *reader;
        next.scope = &inner;
        if (!read_indices(&next, b + 1))
            return false;
    }
    return true;
}

void tc_elaborate_set(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement,
                      size_t *capacity) {
    tc_scope scope = {.block = block, .member = SIZE_MAX};
    set_reader reader = {elaborator, block, &elaborator->model->families[block->number], statement, capacity, &scope};
    if (!read_indices(&reader, 0))
        elaborator->dropped = true;
}
