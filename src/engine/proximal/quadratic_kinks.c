/* A quadratic function and kinks of affine ones under linear limits, one member at a time. With d the way from the old
 * state,
 *
 *     g . d + d' Q d / 2 + sum_k w_k max over j of (e_kj + b_kj . d)      low_i <= a_i . d <= high_i
 *
 * has its minimum where Q d + g + sum_kj l_kj b_kj + sum_i z_i a_i = 0, with l_kj >= 0 on the branches j that are the
 * largest of their kink, sum_j l_kj = w_k, and z the limits' multipliers (of bounds, half-spaces and planes). Which
 * branches are largest together and which limits hold is guessed. What is guessed is solved for and tells the next
 * guess: the branches' values, in units of the multiplier that would undo them, and their multipliers decide together.
 * A guess that confirms itself is the minimum, to rounding, which is checked. Where none does, the interior-point
 * method finds it. */
#include "engine/proximal/inside.h"

#include <math.h>
#include <string.h>

enum { MOST_STATES = 64, MOST_BRANCHES = 512, TURN = 12, MOST_GUESSES = 6 * TURN };

typedef struct tie {  /* an equation of the guess: vector . d = at */
    size_t row, base; /* branches: row and base are equal; limits: base is row */
    double at;
} tie;

typedef struct kink_scratch { /* of one worker; rows are branches, then limits: parts of the set, then bounds */
    double *tape, *out, *point;
    double **out_at;
    const double **state_at;
    double *matrix, *factor;         /* Q and L, L L' = Q: n * n */
    double *rows;                    /* b of branches, less that of their kink's first one; then a: n each */
    double *solved;                  /* L^-1 b */
    double *held;                    /* L^-1 of the vectors that are tied: n * n */
    double *schur, *price;           /* the factor of their products, by rows of n; their multipliers */
    double *gradient, *start, *move; /* n: g, L^-1 g, d */
    double *offset;                  /* by branch: e, less that of the first one */
    double *weight, *unit;           /* by kink: w; the largest b' Q^-1 b */
    double *low, *high;              /* by limit */
    double *multiplier;              /* by row */
    double *value, *wish;            /* by branch: at the last guess, less that of the first one; for the next */
    bool *holds;                     /* by row: the guess */
    bool *at_high, *is_solved;       /* by limit: which end holds; whether L^-1 a is known */
    tie *ties;
    size_t tie_count;
} kink_scratch;

struct tc_quadratic_kinks {
    const tc_lift *lift;
    size_t dim, firsts; /* x's first derivatives among the tape's roots */
    size_t values, slopes;
    size_t limits; /* the most that a member has */
    tc_tape *tape;
    uint32_t *columns;   /* of the first derivatives by x */
    uint32_t *weight_of; /* by t: its place among the roots; UINT32_MAX: none */
    size_t *first_of;    /* by t: its first branch; count + 1 */
    kink_scratch *scratch;
};

/* ---- whether an objective is one of these ---- */

static bool has_state(const tc_dag *dag, tc_expr e) { return dag->nodes[e].has_state; }

static bool fits(const tc_dag *dag, const tc_lift *lift, size_t dim) {
    if (dim > MOST_STATES || lift->row_count > MOST_BRANCHES || lift->row_second_count > 0)
        return false;
    for (size_t t = 0; t < lift->count; t++)
        if (lift->norm[t] != UINT32_MAX)
            return false;
    for (size_t i = 0; i < lift->second_count; i++)
        if (has_state(dag, lift->second[i].value) || lift->second[i].column >= dim)
            return false;
    for (size_t i = 0; i < lift->first_count; i++)
        if (lift->first[i].column >= dim && has_state(dag, lift->first[i].value))
            return false;
    for (size_t i = 0; i < lift->row_first_count; i++) {
        const tc_first *first = &lift->row_first[i];
        if (has_state(dag, first->value) || (first->column >= dim && first->column != dim + lift->row_kink[first->row]))
            return false;
    }
    return true;
}

/* By t its first branch; false where those of one t do not follow each other. */
static bool find_branches(const tc_lift *lift, size_t *first_of) {
    size_t t = 0;
    for (size_t j = 0; j < lift->row_count; j++) {
        if (lift->row_kink[j] == t)
            continue;
        if (lift->row_kink[j] != t + 1)
            return false;
        first_of[++t] = j;
    }
    first_of[lift->count] = lift->row_count;
    return t + 1 == lift->count;
}

static void new_scratch(tc_arena *arena, const tc_quadratic_kinks *q, kink_scratch *s) {
    size_t n = q->dim, kinks = q->lift->count, branches = q->lift->row_count, rows = branches + q->limits;
    size_t roots = tc_tape_root_count(q->tape), states = n + kinks;
    *s = (kink_scratch){.tape = TC_NEW(arena, double, tc_tape_work(q->tape)),
                        .out = TC_NEW(arena, double, roots *TC_LANES),
                        .point = TC_NEW(arena, double, states *TC_LANES),
                        .out_at = TC_NEW(arena, double *, roots),
                        .state_at = TC_NEW(arena, const double *, states),
                        .matrix = TC_NEW(arena, double, n *n),
                        .factor = TC_NEW(arena, double, n *n),
                        .rows = TC_NEW(arena, double, rows *n),
                        .solved = TC_NEW(arena, double, rows *n),
                        .held = TC_NEW(arena, double, n *n),
                        .schur = TC_NEW(arena, double, n *n),
                        .price = TC_NEW(arena, double, n),
                        .gradient = TC_NEW(arena, double, n),
                        .start = TC_NEW(arena, double, n),
                        .move = TC_NEW(arena, double, n),
                        .offset = TC_NEW(arena, double, branches),
                        .weight = TC_NEW(arena, double, kinks),
                        .unit = TC_NEW(arena, double, kinks),
                        .low = TC_NEW(arena, double, q->limits),
                        .high = TC_NEW(arena, double, q->limits),
                        .multiplier = TC_NEW(arena, double, rows),
                        .value = TC_NEW(arena, double, branches),
                        .wish = TC_NEW(arena, double, branches),
                        .holds = TC_NEW(arena, bool, rows),
                        .at_high = TC_NEW(arena, bool, q->limits),
                        .is_solved = TC_NEW(arena, bool, q->limits),
                        .ties = TC_NEW(arena, tie, n)};
    for (size_t r = 0; r < roots; r++)
        s->out_at[r] = s->out + r * TC_LANES;
    for (size_t c = 0; c < states; c++)
        s->state_at[c] = s->point + c * TC_LANES;
}

tc_quadratic_kinks *tc_quadratic_kinks_new(tc_arena *arena, const tc_dag *dag, const tc_lift *lift,
                                           const tc_family *family, size_t workers) {
    size_t dim = family->dim;
    if (!fits(dag, lift, dim))
        return NULL;
    tc_quadratic_kinks *q = TC_NEW(arena, tc_quadratic_kinks, 1);
    *q = (tc_quadratic_kinks){.lift = lift,
                              .dim = dim,
                              .limits = family->piece_count + dim,
                              .columns = TC_NEW(arena, uint32_t, lift->first_count),
                              .weight_of = TC_NEW(arena, uint32_t, lift->count),
                              .first_of = TC_NEW(arena, size_t, lift->count + 1)};
    if (!find_branches(lift, q->first_of))
        return NULL;
    size_t count = 0;
    tc_expr *roots =
        TC_NEW(arena, tc_expr, lift->first_count + lift->second_count + lift->row_count + lift->row_first_count);
    for (size_t i = 0; i < lift->first_count; i++)
        if (lift->first[i].column < dim) {
            q->columns[count] = lift->first[i].column;
            roots[count++] = lift->first[i].value;
        }
    q->firsts = count;
    for (size_t i = 0; i < lift->second_count; i++)
        roots[count++] = lift->second[i].value;
    for (size_t t = 0; t < lift->count; t++)
        q->weight_of[t] = UINT32_MAX;
    for (size_t i = 0; i < lift->first_count; i++)
        if (lift->first[i].column >= dim) {
            q->weight_of[lift->first[i].column - dim] = (uint32_t)count;
            roots[count++] = lift->first[i].value;
        }
    q->values = count;
    for (size_t j = 0; j < lift->row_count; j++)
        roots[count++] = lift->rows[j];
    q->slopes = count;
    for (size_t i = 0; i < lift->row_first_count; i++)
        roots[count++] = lift->row_first[i].value;
    q->tape = tc_tape_new(arena, dag, roots, count);
    q->scratch = TC_NEW(arena, kink_scratch, workers);
    for (size_t w = 0; w < workers; w++)
        new_scratch(arena, q, &q->scratch[w]);
    return q;
}

/* All that the block's members need, at their old states and t = 0. */
void tc_quadratic_kinks_load(const tc_quadratic_kinks *q, const tc_proximal_block *b) {
    kink_scratch *s = &q->scratch[b->worker];
    for (size_t c = 0; c < q->dim; c++)
        memcpy(s->point + c * TC_LANES, b->x[c] + b->at, b->count * sizeof(double));
    const tc_inputs inputs = {.state = s->state_at, .data = b->work->data_at};
    tc_tape_eval(q->tape, &inputs, b->count, s->tape, s->out_at);
}

/* ---- one member ---- */

/* Q = L L'. False where rounding leaves no curvature. */
static bool factor(size_t n, double *matrix) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = matrix[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= matrix[i * n + k] * matrix[j * n + k];
            if (i == j && !(sum > 1e-12 * matrix[i * n + i]))
                return false;
            matrix[i * n + j] = i == j ? sqrt(sum) : sum / matrix[j * n + j];
        }
    return true;
}

static void solve_lower(size_t n, size_t stride, const double *l, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * stride + k] * x[k];
        x[i] /= l[i * stride + i];
    }
}

static void solve_upper(size_t n, size_t stride, const double *l, double *x) {
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= l[k * stride + i] * x[k];
        x[i] /= l[i * stride + i];
    }
}

static double product(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* g, Q, and the branches. */
static bool load(const tc_quadratic_kinks *q, kink_scratch *s, const tc_proximal_block *b, size_t lane) {
    size_t n = q->dim, kinks = q->lift->count;
    memset(s->matrix, 0, n * n * sizeof(double));
    memset(s->rows, 0, (q->lift->row_count + q->limits) * n * sizeof(double));
    for (size_t c = 0; c < n; c++) {
        s->gradient[c] = b->p[c][b->at + lane] + b->regularization * b->x[c][b->at + lane];
        s->matrix[c * n + c] = tc_proximal_weight(b, c);
    }
    for (size_t i = 0; i < q->firsts; i++)
        s->gradient[q->columns[i]] += s->out_at[i][lane];
    for (size_t i = 0; i < q->lift->second_count; i++) {
        const tc_second *second = &q->lift->second[i];
        size_t row = second->column > second->other ? second->column : second->other;
        s->matrix[row * n + (second->column + second->other - row)] += s->out_at[q->firsts + i][lane];
    }
    for (size_t i = 0; i < q->lift->row_first_count; i++) {
        const tc_first *first = &q->lift->row_first[i];
        if (first->column < n)
            s->rows[first->row * n + first->column] = s->out_at[q->slopes + i][lane];
    }
    bool is_good = true;
    for (size_t t = 0; t < kinks; t++) {
        size_t base = q->first_of[t];
        s->weight[t] = q->weight_of[t] == UINT32_MAX ? 0 : s->out_at[q->weight_of[t]][lane];
        for (size_t c = 0; c < n; c++)
            s->gradient[c] += s->weight[t] * s->rows[base * n + c];
        for (size_t j = q->first_of[t + 1]; j-- > base;) {
            s->offset[j] = s->out_at[q->values + j][lane] - s->out_at[q->values + base][lane];
            for (size_t c = 0; c < n; c++)
                s->rows[j * n + c] -= s->rows[base * n + c];
            is_good = is_good && isfinite(s->offset[j]);
        }
        is_good = is_good && s->weight[t] >= 0;
    }
    memcpy(s->factor, s->matrix, n * n * sizeof(double));
    return is_good && factor(n, s->factor);
}

/* The rows of the parts and bounds. Returns how many there are; 0 where a part is curved. */
static size_t load_limits(const tc_quadratic_kinks *q, kink_scratch *s, const tc_set *set, const double *old) {
    size_t n = q->dim, count = 0, branches = q->lift->row_count;
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        bool is_plane = part->kind == TC_SET_HYPERPLANE;
        if (!is_plane && part->kind != TC_SET_HALFSPACE)
            return 0;
        if (part->slab != p)
            continue;
        tc_slab slab = is_plane ? (tc_slab){part->radius, part->radius} : tc_set_slab(set, p);
        double *row = s->rows + (branches + count) * n, at = 0;
        for (size_t i = 0; i < part->count; i++) {
            row[part->first + i] = part->center[i];
            at += part->center[i] * old[part->first + i];
        }
        s->low[count] = slab.floor - at;
        s->high[count++] = slab.radius - at;
    }
    for (size_t c = 0; c < n; c++) {
        s->rows[(branches + count) * n + c] = 1;
        s->low[count] = set->lower[c] - old[c];
        s->high[count++] = set->upper[c] - old[c];
    }
    return count;
}

/* The first guess: what holds at the old state, and planes. */
static void begin(const tc_quadratic_kinks *q, kink_scratch *s, size_t limits, const tc_set *set) {
    size_t n = q->dim, branches = q->lift->row_count;
    memcpy(s->start, s->gradient, n * sizeof(double));
    solve_lower(n, n, s->factor, s->start);
    memcpy(s->solved, s->rows, branches * n * sizeof(double));
    memcpy(s->value, s->offset, branches * sizeof(double));
    memset(s->wish, 0, branches * sizeof(double));
    for (size_t t = 0; t < q->lift->count; t++) {
        double most = 0, unit = 0;
        for (size_t j = q->first_of[t] + 1; j < q->first_of[t + 1]; j++) {
            solve_lower(n, n, s->factor, s->solved + j * n);
            most = fmax(most, s->offset[j]);
            unit = fmax(unit, product(n, s->solved + j * n, s->solved + j * n));
        }
        s->unit[t] = unit;
        for (size_t j = q->first_of[t]; j < q->first_of[t + 1]; j++)
            s->holds[j] = unit == 0 ? j == q->first_of[t] /* a constant */
                                    : s->offset[j] >= most - 1e-13 * sqrt(unit * s->weight[t]);
    }
    for (size_t i = 0; i < limits; i++) {
        double size = 0;
        for (size_t c = 0; c < n; c++)
            size += fabs(s->rows[(branches + i) * n + c]) * (set->upper[c] - set->lower[c]);
        s->at_high[i] = s->high[i] <= 1e-13 * size;
        s->holds[branches + i] = s->low[i] == s->high[i] || s->at_high[i] || s->low[i] >= -1e-13 * size;
        s->is_solved[i] = false;
    }
}

/* Adds the equation whose L^-1 vector is the next one of held, and its row of the factor of what these form. False
 * where it depends on those before. */
static bool add_tie(kink_scratch *s, size_t n, tie t) {
    size_t count = s->tie_count;
    const double *vector = s->held + count * n;
    double *row = s->schur + count * n, size = product(n, vector, vector), pivot = size;
    for (size_t j = 0; j < count; j++) {
        row[j] = (product(n, vector, s->held + j * n) - product(j, row, s->schur + j * n)) / s->schur[j * n + j];
        pivot -= row[j] * row[j];
    }
    if (!(pivot > 1e-12 * size))
        return false;
    row[count] = sqrt(pivot);
    s->ties[s->tie_count++] = t;
    return true;
}

static void tie_limits(const tc_quadratic_kinks *q, kink_scratch *s, size_t limits) {
    size_t n = q->dim, branches = q->lift->row_count;
    for (size_t i = 0; i < limits; i++) {
        size_t r = branches + i;
        if (!s->holds[r])
            continue;
        if (!s->is_solved[i]) {
            memcpy(s->solved + r * n, s->rows + r * n, n * sizeof(double));
            solve_lower(n, n, s->factor, s->solved + r * n);
            s->is_solved[i] = true;
        }
        if (s->tie_count < n)
            memcpy(s->held + s->tie_count * n, s->solved + r * n, n * sizeof(double));
        double at = s->at_high[i] ? s->high[i] : s->low[i];
        s->holds[r] = s->tie_count < n && add_tie(s, n, (tie){.row = r, .base = r, .at = at});
    }
}

/* Branches are tied to the one that was largest; it stands alone where there is no room for them. */
static void tie_branches(const tc_quadratic_kinks *q, kink_scratch *s, size_t t) {
    size_t n = q->dim, base = q->first_of[t];
    for (size_t j = base; j < q->first_of[t + 1]; j++)
        if (s->holds[j] && (!s->holds[base] || s->value[j] > s->value[base] ||
                            (s->value[j] == s->value[base] && s->wish[j] > s->wish[base])))
            base = j;
    for (size_t i = 0; base > q->first_of[t] && i < n; i++)
        s->move[i] += s->weight[t] * s->solved[base * n + i];
    s->multiplier[base] = s->weight[t];
    for (size_t j = q->first_of[t]; j < q->first_of[t + 1]; j++) {
        if (!s->holds[j] || j == base)
            continue;
        for (size_t i = 0; s->tie_count < n && i < n; i++)
            s->held[s->tie_count * n + i] = s->solved[j * n + i] - s->solved[base * n + i];
        tie equal = {.row = j, .base = base, .at = s->offset[base] - s->offset[j]};
        s->holds[j] = s->tie_count < n && add_tie(s, n, equal);
    }
}

/* d and the multipliers for the guess. What depends on other equations of it is left out, and is no longer guessed. */
static void solve_guess(const tc_quadratic_kinks *q, kink_scratch *s, size_t limits) {
    size_t n = q->dim;
    memset(s->multiplier, 0, (q->lift->row_count + limits) * sizeof(double));
    memcpy(s->move, s->start, n * sizeof(double));
    s->tie_count = 0;
    tie_limits(q, s, limits);
    for (size_t t = 0; t < q->lift->count; t++)
        tie_branches(q, s, t);
    size_t count = s->tie_count;
    for (size_t i = 0; i < count; i++)
        s->price[i] = -(s->ties[i].at + product(n, s->held + i * n, s->move));
    solve_lower(count, n, s->schur, s->price);
    solve_upper(count, n, s->schur, s->price);
    for (size_t i = 0; i < count; i++) {
        s->multiplier[s->ties[i].row] = s->price[i];
        if (s->ties[i].base != s->ties[i].row)
            s->multiplier[s->ties[i].base] -= s->price[i];
        for (size_t k = 0; k < n; k++)
            s->move[k] += s->price[i] * s->held[i * n + k];
    }
    solve_upper(n, n, s->factor, s->move);
    for (size_t c = 0; c < n; c++)
        s->move[c] = -s->move[c];
}

/* The next guess of one kink: where the multipliers, moved by the branches' values, would have to be to add up to the
 * weight again (a projection onto a simplex). True where it is the same. */
static bool guess_branches(const tc_quadratic_kinks *q, kink_scratch *s, size_t t) {
    size_t n = q->dim, first = q->first_of[t], end = q->first_of[t + 1], base = first, left = end - first;
    while (!s->holds[base])
        base++;
    double level = s->offset[base] + product(n, s->rows + base * n, s->move), sum = 0;
    for (size_t j = first; j < end; j++) {
        s->value[j] = s->holds[j] ? level : s->offset[j] + product(n, s->rows + j * n, s->move);
        s->wish[j] = s->multiplier[j] + 2 * (s->value[j] - level) / s->unit[t];
        sum += s->wish[j];
    }
    double below = -INFINITY;
    for (size_t before = left + 1; left < before;) {
        before = left;
        below = (sum - s->weight[t]) / (double)left;
        sum = 0;
        left = 0;
        for (size_t j = first; j < end; j++)
            if (s->wish[j] > below) {
                sum += s->wish[j];
                left++;
            }
    }
    bool is_same = true;
    for (size_t j = first; j < end; j++) {
        bool holds = s->wish[j] > below;
        is_same = is_same && holds == s->holds[j];
        s->holds[j] = holds;
    }
    return is_same;
}

/* The same with at most one change: a branch whose multiplier has the wrong sign no longer holds, or the largest one
 * holds too. */
static bool change_branch(const tc_quadratic_kinks *q, kink_scratch *s, size_t t) {
    size_t n = q->dim, first = q->first_of[t], end = q->first_of[t + 1], held = first, most = first;
    while (!s->holds[held])
        held++;
    double level = s->offset[held] + product(n, s->rows + held * n, s->move);
    for (size_t j = first; j < end; j++) {
        s->value[j] = s->holds[j] ? level : s->offset[j] + product(n, s->rows + j * n, s->move);
        s->wish[j] = s->multiplier[j];
        if (s->holds[j] && s->multiplier[j] < 0) {
            s->holds[j] = false;
            return false;
        }
        most = s->value[j] > s->value[most] ? j : most;
    }
    if (!(s->value[most] > level))
        return true;
    s->holds[most] = true;
    return false;
}

static bool guess_limit(const tc_quadratic_kinks *q, kink_scratch *s, size_t i) {
    size_t r = q->lift->row_count + i;
    bool held = s->holds[r];
    if (held) { /* stays where the limit pushes back */
        s->holds[r] = s->low[i] == s->high[i] || (s->at_high[i] ? s->multiplier[r] >= 0 : s->multiplier[r] <= 0);
    } else {
        double at = product(q->dim, s->rows + r * q->dim, s->move);
        s->holds[r] = at < s->low[i] || at > s->high[i];
        s->at_high[i] = at > s->high[i];
    }
    return held == s->holds[r];
}

/* The next guess; true where it is the same. Guesses may go round in circles where much changes at once: then one thing
 * at a time does, the first that is wrong. */
static bool guess_again(const tc_quadratic_kinks *q, kink_scratch *s, size_t limits, bool one_at_a_time) {
    bool is_same = true;
    for (size_t i = 0; i < limits && (is_same || !one_at_a_time); i++)
        is_same = guess_limit(q, s, i) && is_same;
    for (size_t t = 0; t < q->lift->count && (is_same || !one_at_a_time); t++)
        if (s->unit[t] > 0 && s->weight[t] > 0)
            is_same = (one_at_a_time ? change_branch(q, s, t) : guess_branches(q, s, t)) && is_same;
    return is_same;
}

/* Q d + g + the multipliers' push is 0, and what is tied is equal, to rounding. A push that is left moves the minimum
 * by no more than itself over the least curvature. */
static bool is_exact(const tc_quadratic_kinks *q, const kink_scratch *s, size_t limits, const tc_set *set,
                     double curvature) {
    size_t n = q->dim, rows = q->lift->row_count + limits;
    for (size_t c = 0; c < n; c++) {
        double push = s->gradient[c];
        for (size_t k = 0; k < n; k++)
            push += (k <= c ? s->matrix[c * n + k] : s->matrix[k * n + c]) * s->move[k];
        for (size_t r = 0; r < rows; r++)
            push += s->multiplier[r] * s->rows[r * n + c];
        if (!(fabs(push) <= 1e-11 * (set->upper[c] - set->lower[c]) * curvature))
            return false;
    }
    for (size_t i = 0; i < s->tie_count; i++) {
        const tie *t = &s->ties[i];
        double miss = -t->at, size = 0;
        for (size_t c = 0; c < n; c++) {
            double entry = s->rows[t->row * n + c] - (t->base != t->row ? s->rows[t->base * n + c] : 0);
            miss += entry * s->move[c];
            size += fabs(entry) * (set->upper[c] - set->lower[c]);
        }
        if (!(fabs(miss) <= 1e-12 * size))
            return false;
    }
    return true;
}

bool tc_quadratic_kinks_step(const tc_quadratic_kinks *q, const tc_proximal_block *b, size_t lane, tc_set *set,
                             double *x) {
    kink_scratch *s = &q->scratch[b->worker];
    size_t n = q->dim;
    double old[MOST_STATES];
    for (size_t c = 0; c < n; c++)
        old[c] = b->x[c][b->at + lane];
    if (set->shape == TC_SHAPE_GENERAL || !load(q, s, b, lane))
        return false;
    size_t limits = load_limits(q, s, set, old);
    if (limits == 0)
        return false;
    begin(q, s, limits, set);
    for (int guess = 0; guess < MOST_GUESSES; guess++) {
        solve_guess(q, s, limits);
        if (!guess_again(q, s, limits, guess / TURN % 2 == 1))
            continue;
        for (size_t c = 0; c < n; c++)
            x[c] = tc_proximal_bounded(old[c] + s->move[c], set->lower[c], set->upper[c]);
        return is_exact(q, s, limits, set, tc_proximal_least_weight(b)) && tc_project(set, x, x);
    }
    return false;
}
