/* A quadratic function and kinks of affine ones in a box, one member at a time. With d the way from the old state,
 *
 *     g . d + d' Q d / 2 + sum_k w_k max(0, e_k + b_k . d)      lower <= d <= upper
 *
 * has its minimum where Q d + g + sum_k l_k b_k + z = 0 with l_k in [0, w_k] and z the bounds' multipliers. Each kink
 * is off, on or tied (e_k + b_k . d = 0), each bound tied or not. What is guessed is solved for and tells the next
 * guess: a kink's value, in units of the multiplier that would undo it, and its multiplier decide together. A guess
 * that confirms itself is the minimum, to rounding. Where none does, the interior-point method finds it. */
#include "engine/proximal/inside.h"

#include <math.h>
#include <string.h>

enum { MOST_STATES = 64, MOST_KINKS = 256, MOST_GUESSES = 40, OFF = 0, ON = 1, TIED = 2 };

typedef struct kink_scratch { /* of one worker */
    double *tape, *out, *point;
    double **out_at;
    const double **state_at;
    double *factor; /* L, L L' = Q: n * n */
    double *rows;   /* b of kinks, then of bounds (unit vectors); n each */
    double *solved; /* L^-1 b */
    double *schur, *price;
    double *gradient, *start, *move; /* n: g, L^-1 g, d */
    double *offset, *weight, *unit;  /* by row: e; w; b' Q^-1 b */
    double *multiplier;              /* by row */
    uint8_t *guess;                  /* by row */
    size_t *tied;
} kink_scratch;

struct tc_quadratic_kinks {
    const tc_lift *lift;
    size_t dim, firsts, seconds; /* x's first derivatives, and all second ones, among the tape's roots */
    size_t weights, values, slopes;
    tc_tape *tape;
    uint32_t *columns;   /* of the first derivatives by x */
    uint32_t *weight_of; /* by t: its place among the weights; UINT32_MAX: none */
    uint32_t *row_of[2]; /* by t: its two rows */
    kink_scratch *scratch;
};

/* ---- whether an objective is one of these ---- */

static bool has_state(const tc_dag *dag, tc_expr e) { return dag->nodes[e].has_state; }

static bool fits(const tc_dag *dag, const tc_lift *lift, size_t dim) {
    if (dim > MOST_STATES || lift->count > MOST_KINKS || lift->row_count != 2 * lift->count ||
        lift->row_second_count > 0)
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

/* By t its two rows; false where one has not two. */
static bool pair_rows(const tc_lift *lift, uint32_t *const *row_of) {
    for (size_t t = 0; t < lift->count; t++)
        row_of[0][t] = row_of[1][t] = UINT32_MAX;
    for (uint32_t j = 0; j < lift->row_count; j++) {
        uint32_t t = lift->row_kink[j], at = row_of[0][t] == UINT32_MAX ? 0 : 1;
        if (row_of[at][t] != UINT32_MAX)
            return false;
        row_of[at][t] = j;
    }
    return true;
}

static void new_scratch(tc_arena *arena, const tc_quadratic_kinks *q, kink_scratch *s) {
    size_t n = q->dim, rows = q->lift->count + n, roots = tc_tape_root_count(q->tape), states = n + q->lift->count;
    *s = (kink_scratch){.tape = TC_NEW(arena, double, tc_tape_work(q->tape)),
                        .out = TC_NEW(arena, double, roots *TC_LANES),
                        .point = TC_NEW(arena, double, states *TC_LANES),
                        .out_at = TC_NEW(arena, double *, roots),
                        .state_at = TC_NEW(arena, const double *, states),
                        .factor = TC_NEW(arena, double, n *n),
                        .rows = TC_NEW(arena, double, rows *n),
                        .solved = TC_NEW(arena, double, rows *n),
                        .schur = TC_NEW(arena, double, n *n),
                        .price = TC_NEW(arena, double, n),
                        .gradient = TC_NEW(arena, double, n),
                        .start = TC_NEW(arena, double, n),
                        .move = TC_NEW(arena, double, n),
                        .offset = TC_NEW(arena, double, rows),
                        .weight = TC_NEW(arena, double, rows),
                        .unit = TC_NEW(arena, double, rows),
                        .multiplier = TC_NEW(arena, double, rows),
                        .guess = TC_NEW(arena, uint8_t, rows),
                        .tied = TC_NEW(arena, size_t, n)};
    for (size_t r = 0; r < roots; r++)
        s->out_at[r] = s->out + r * TC_LANES;
    for (size_t c = 0; c < states; c++)
        s->state_at[c] = s->point + c * TC_LANES;
}

tc_quadratic_kinks *tc_quadratic_kinks_new(tc_arena *arena, const tc_dag *dag, const tc_lift *lift, size_t dim,
                                           size_t workers) {
    if (!fits(dag, lift, dim))
        return NULL;
    tc_quadratic_kinks *q = TC_NEW(arena, tc_quadratic_kinks, 1);
    *q = (tc_quadratic_kinks){.lift = lift,
                              .dim = dim,
                              .columns = TC_NEW(arena, uint32_t, lift->first_count),
                              .weight_of = TC_NEW(arena, uint32_t, lift->count),
                              .row_of = {TC_NEW(arena, uint32_t, lift->count), TC_NEW(arena, uint32_t, lift->count)}};
    if (!pair_rows(lift, q->row_of))
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
    q->weights = count;
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

static void solve_lower(size_t n, const double *l, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
}

static void solve_upper(size_t n, const double *l, double *x) {
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}

static double product(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* g, Q, and the kinks' rows. */
static bool load(const tc_quadratic_kinks *q, kink_scratch *s, const tc_proximal_block *b, size_t lane) {
    size_t n = q->dim, kinks = q->lift->count;
    memset(s->factor, 0, n * n * sizeof(double));
    memset(s->rows, 0, (kinks + n) * n * sizeof(double));
    for (size_t c = 0; c < n; c++) {
        s->gradient[c] = b->p[c][b->at + lane] + b->regularization * b->x[c][b->at + lane];
        s->factor[c * n + c] = b->weight;
    }
    for (size_t i = 0; i < q->firsts; i++)
        s->gradient[q->columns[i]] += s->out_at[i][lane];
    for (size_t i = 0; i < q->lift->second_count; i++) {
        const tc_second *second = &q->lift->second[i];
        size_t row = second->column > second->other ? second->column : second->other;
        s->factor[row * n + (second->column + second->other - row)] += s->out_at[q->firsts + i][lane];
    }
    for (size_t t = 0; t < kinks; t++) {
        s->weight[t] = q->weight_of[t] == UINT32_MAX ? 0 : s->out_at[q->weight_of[t]][lane];
        s->offset[t] = s->out_at[q->values + q->row_of[1][t]][lane] - s->out_at[q->values + q->row_of[0][t]][lane];
    }
    for (size_t i = 0; i < q->lift->row_first_count; i++) {
        const tc_first *first = &q->lift->row_first[i];
        uint32_t t = q->lift->row_kink[first->row];
        double slope = s->out_at[q->slopes + i][lane];
        if (first->column >= n)
            continue;
        bool is_first = q->row_of[0][t] == first->row;
        s->rows[t * n + first->column] += is_first ? -slope : slope;
        s->gradient[first->column] += is_first ? s->weight[t] * slope : 0;
    }
    bool is_good = factor(n, s->factor);
    for (size_t t = 0; t < kinks; t++)
        is_good = is_good && s->weight[t] >= 0 && isfinite(s->offset[t]);
    return is_good;
}

static void begin(const tc_quadratic_kinks *q, kink_scratch *s) {
    size_t n = q->dim, kinks = q->lift->count;
    memcpy(s->start, s->gradient, n * sizeof(double));
    solve_lower(n, s->factor, s->start);
    for (size_t c = 0; c < n; c++)
        s->rows[(kinks + c) * n + c] = 1;
    memcpy(s->solved, s->rows, (kinks + n) * n * sizeof(double));
    for (size_t r = 0; r < kinks + n; r++) {
        solve_lower(n, s->factor, s->solved + r * n);
        s->unit[r] = product(n, s->solved + r * n, s->solved + r * n);
        s->multiplier[r] = 0;
        s->guess[r] = OFF;
    }
    for (size_t t = 0; t < kinks; t++) {
        double size = fabs(s->offset[t]);
        s->guess[t] = size <= 1e-13 * sqrt(s->unit[t] * s->weight[t]) ? TIED : s->offset[t] > 0 ? ON : OFF;
        if (s->unit[t] == 0)
            s->guess[t] = s->offset[t] > 0 ? ON : OFF;
    }
}

/* d and the multipliers of what is tied, for the guess. False where that has no single solution. */
static bool solve_guess(const tc_quadratic_kinks *q, kink_scratch *s, const double *tied_at) {
    size_t n = q->dim, kinks = q->lift->count, count = 0;
    memcpy(s->move, s->start, n * sizeof(double));
    for (size_t r = 0; r < kinks + n; r++) {
        if (s->guess[r] == TIED && count == n)
            return false;
        if (s->guess[r] == TIED)
            s->tied[count++] = r;
        for (size_t i = 0; s->guess[r] == ON && i < n; i++)
            s->move[i] += s->weight[r] * s->solved[r * n + i];
    }
    for (size_t i = 0; i < count; i++) {
        const double *row = s->solved + s->tied[i] * n;
        for (size_t j = 0; j <= i; j++)
            s->schur[i * count + j] = product(n, row, s->solved + s->tied[j] * n);
        s->price[i] = -(tied_at[s->tied[i]] + product(n, row, s->move));
    }
    if (!factor(count, s->schur))
        return false;
    solve_lower(count, s->schur, s->price);
    solve_upper(count, s->schur, s->price);
    for (size_t r = 0; r < kinks + n; r++)
        s->multiplier[r] = s->guess[r] == ON ? s->weight[r] : 0;
    for (size_t i = 0; i < count; i++) {
        s->multiplier[s->tied[i]] = s->price[i];
        for (size_t k = 0; k < n; k++)
            s->move[k] += s->price[i] * s->solved[s->tied[i] * n + k];
    }
    solve_upper(n, s->factor, s->move);
    for (size_t c = 0; c < n; c++)
        s->move[c] = -s->move[c];
    return true;
}

/* The next guess; true where it is the same. */
static bool guess_again(const tc_quadratic_kinks *q, kink_scratch *s, double *tied_at, const double *lower,
                        const double *upper) {
    size_t n = q->dim, kinks = q->lift->count;
    bool is_same = true;
    for (size_t t = 0; t < kinks; t++) {
        if (s->unit[t] == 0)
            continue;
        double value = s->guess[t] == TIED ? 0 : s->offset[t] + product(n, s->rows + t * n, s->move);
        double price = s->multiplier[t] + value / s->unit[t];
        uint8_t next = price <= 0 ? OFF : price >= s->weight[t] ? ON : TIED;
        is_same = is_same && next == s->guess[t];
        s->guess[t] = next;
    }
    for (size_t c = 0; c < n; c++) {
        size_t r = kinks + c;
        double at = s->move[c], held = tied_at[r];
        uint8_t next = OFF;
        if (s->guess[r] == TIED) /* stays where the bound pushes back */
            next =
                lower[c] == upper[c] || (held == upper[c] ? s->multiplier[r] >= 0 : s->multiplier[r] <= 0) ? TIED : OFF;
        else if (at < lower[c] || at > upper[c])
            next = TIED;
        is_same = is_same && next == s->guess[r];
        if (next == TIED && s->guess[r] != TIED)
            tied_at[r] = at < lower[c] ? lower[c] : upper[c];
        s->guess[r] = next;
    }
    return is_same;
}

bool tc_quadratic_kinks_step(const tc_quadratic_kinks *q, const tc_proximal_block *b, size_t lane, const double *lower,
                             const double *upper, double *x) {
    kink_scratch *s = &q->scratch[b->worker];
    size_t n = q->dim, kinks = q->lift->count;
    double low[MOST_STATES], high[MOST_STATES], tied_at[MOST_KINKS + MOST_STATES];
    if (!load(q, s, b, lane))
        return false;
    begin(q, s);
    for (size_t c = 0; c < n; c++) {
        low[c] = lower[c] - b->x[c][b->at + lane];
        high[c] = upper[c] - b->x[c][b->at + lane];
        tied_at[kinks + c] = 0;
    }
    for (size_t t = 0; t < kinks; t++)
        tied_at[t] = -s->offset[t];
    for (int guess = 0; guess < MOST_GUESSES; guess++) {
        if (!solve_guess(q, s, tied_at))
            return false;
        if (!guess_again(q, s, tied_at, low, high))
            continue;
        for (size_t c = 0; c < n; c++)
            x[c] = tc_proximal_bounded(b->x[c][b->at + lane] + s->move[c], lower[c], upper[c]);
        return true;
    }
    return false;
}
