#include "analysis/equalities.h"

#include "solver/linear.h"

#define DEPENDENT 1e-15L /* squared sine of the angle between a row and the others: look whether it depends on them */
#define ROUNDING 1e-9    /* of a row's size */

/* ---- columns of A ---- */

/* Spreads a column over the equalities. False where it has none of them. */
static bool spread(tc_equalities *e, const tc_column_view *view) {
    bool any = false;
    for (size_t k = 0; k < e->count; k++)
        e->column[k] = tc_point(0);
    for (size_t i = 0; i < view->count; i++)
        if (e->place[view->rows[i]] != SIZE_MAX) {
            e->column[e->place[view->rows[i]]] = view->values[i];
            any = true;
        }
    return any;
}

static bool is_zero(tc_interval a) { return a.lo == 0 && a.hi == 0; }
static double middle(tc_interval a) { return a.lo == a.hi ? a.lo : a.lo + (a.hi - a.lo) / 2; }

/* ---- which rows depend on others ---- */

typedef struct gram_pass {
    tc_equalities *equalities;
    const double *x;
    tc_real *gram; /* A A' */
} gram_pass;

static void pack_gram(void *context, tc_parcel *parcel) {
    const gram_pass *pass = context;
    size_t count = pass->equalities->count;
    tc_put(parcel, pass->equalities->size, count * sizeof *pass->equalities->size);
    tc_put(parcel, pass->gram, count * count * sizeof *pass->gram);
}

static void add_to_gram(void *context, const tc_column_view *view) {
    gram_pass *pass = context;
    tc_equalities *e = pass->equalities;
    if (!spread(e, view))
        return;
    tc_interval range = tc_public_range(view->family, view->member, view->component);
    double x = fabs(pass->x[tc_coord_of(view->family, view->member, view->component)]);
    for (size_t k = 0; k < e->count; k++) {
        tc_real a = middle(e->column[k]);
        if (a == 0)
            continue;
        e->size[k] += fabs((double)a) * fmax(x, range.hi - range.lo);
        for (size_t l = 0; l <= k; l++)
            pass->gram[k * e->count + l] += a * (tc_real)middle(e->column[l]);
    }
}

/* Cholesky's method with the largest pivot first, on rows of length one: the rows chosen are independent. */
static void choose_rows(tc_arena *arena, tc_equalities *e, const tc_real *gram) {
    size_t n = e->count;
    tc_real *left = TC_NEW(arena, tc_real, n), *factor = TC_NEW(arena, tc_real, n * n);
    for (size_t k = 0; k < n; k++)
        left[k] = gram[k * n + k] > 0 ? 1 : 0;
    for (e->rank = 0; e->rank < n; e->rank++) {
        size_t best = 0, step = e->rank;
        for (size_t k = 1; k < n; k++)
            best = left[k] > left[best] ? k : best;
        if (!(left[best] > DEPENDENT))
            return;
        e->chosen[step] = best;
        tc_real root = sqrtl(left[best]);
        for (size_t k = 0; k < n; k++) {
            if (!(left[k] > 0) || k == best)
                continue;
            tc_real product = k > best ? gram[k * n + best] : gram[best * n + k];
            product /= sqrtl(gram[k * n + k]) * sqrtl(gram[best * n + best]);
            factor[k * n + step] = (product - tc_dot(step, factor + k * n, factor + best * n)) / root;
            left[k] -= factor[k * n + step] * factor[k * n + step];
        }
        factor[best * n + step] = root;
        left[best] = 0;
    }
}

/* A whole number is written with whole numbers in the file, and is meant. */
static double tidy(tc_real t) {
    double nearest = nearbyint((double)t);
    return fabsl(t - (tc_real)nearest) <= 1e-12L * (1 + fabsl(t)) ? nearest + 0.0 : (double)t;
}

/* T: least squares of every row by the rows chosen. */
static void combine_rows(tc_arena *arena, tc_equalities *e, const tc_real *gram) {
    size_t n = e->count, rank = e->rank;
    tc_real *factor = TC_NEW(arena, tc_real, rank * rank), *t = TC_NEW(arena, tc_real, rank);
    tc_real *length = TC_NEW(arena, tc_real, n);
    for (size_t k = 0; k < n; k++)
        length[k] = gram[k * n + k] > 0 ? sqrtl(gram[k * n + k]) : 1;
    for (size_t i = 0; i < rank; i++)
        for (size_t l = 0; l <= i; l++) {
            size_t a = e->chosen[i], b = e->chosen[l];
            factor[i * rank + l] = (a > b ? gram[a * n + b] : gram[b * n + a]) / (length[a] * length[b]);
        }
    e->is_unclear = tc_cholesky(rank, factor) > 0;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < rank; i++) {
            size_t b = e->chosen[i];
            t[i] = (k > b ? gram[k * n + b] : gram[b * n + k]) / (length[k] * length[b]);
        }
        tc_solve_lower(rank, factor, t);
        tc_solve_lower_transposed(rank, factor, t);
        for (size_t i = 0; i < rank; i++)
            e->combination[k * rank + i] = tidy(t[i] * length[k] / length[e->chosen[i]]);
    }
    for (size_t i = 0; i < rank; i++) { /* a row chosen is itself, exactly */
        for (size_t l = 0; l < rank; l++)
            e->combination[e->chosen[i] * rank + l] = l == i;
    }
}

/* |row k - its combination|, in one column or in the errors. */
static double mismatch(const tc_equalities *e, size_t k, const tc_interval *values) {
    tc_real sum = middle(values[k]);
    for (size_t i = 0; i < e->rank; i++)
        sum -= (tc_real)e->combination[k * e->rank + i] * (tc_real)middle(values[e->chosen[i]]);
    return fabs((double)sum);
}

typedef struct mismatch_pass {
    tc_equalities *equalities;
    double *largest, *mismatch; /* by equality */
} mismatch_pass;

static void pack_mismatch(void *context, tc_parcel *parcel) {
    const mismatch_pass *pass = context;
    size_t count = pass->equalities->count;
    tc_put(parcel, pass->largest, count * sizeof *pass->largest);
    tc_put(parcel, pass->mismatch, count * sizeof *pass->mismatch);
}

static void add_to_mismatch(void *context, const tc_column_view *view) {
    mismatch_pass *pass = context;
    tc_equalities *e = pass->equalities;
    if (!spread(e, view))
        return;
    for (size_t k = 0; k < e->count; k++) {
        pass->largest[k] = fmax(pass->largest[k], tc_magnitude(e->column[k]));
        pass->mismatch[k] = fmax(pass->mismatch[k], mismatch(e, k, e->column));
    }
}

/* Whether the errors at the point follow the same combinations: if not, no point satisfies the rows. */
static void find_contradiction(tc_equalities *e) {
    for (size_t k = e->count; k-- > 0;) {
        double size = e->size[k];
        for (size_t i = 0; i < e->rank; i++)
            size = fmax(size, fabs(e->combination[k * e->rank + i]) * e->size[e->chosen[i]]);
        if (mismatch(e, k, e->error) > ROUNDING * size)
            e->contradicted = k;
    }
}

static tc_equalities *new_equalities(tc_arena *arena, tc_streams *s, const double *x) {
    size_t m = s->model->constraint_count;
    tc_equalities *e = TC_NEW(arena, tc_equalities, 1);
    e->place = TC_NEW(arena, size_t, m);
    e->row = TC_NEW(arena, size_t, m);
    for (size_t j = 0; j < m; j++) {
        e->place[j] = s->model->constraints[j].is_equality ? e->count : SIZE_MAX;
        if (s->model->constraints[j].is_equality)
            e->row[e->count++] = j;
    }
    e->chosen = TC_NEW(arena, size_t, e->count);
    e->size = TC_NEW(arena, double, e->count);
    e->error = TC_NEW(arena, tc_interval, e->count);
    e->column = TC_NEW(arena, tc_interval, e->count);
    e->contradicted = e->count;
    tc_interval *g = TC_NEW(arena, tc_interval, m);
    tc_constraint_values(s, x, g);
    for (size_t k = 0; k < e->count; k++)
        e->error[k] = g[e->row[k]];
    return e;
}

tc_equalities *tc_equalities_new(tc_arena *arena, tc_streams *s, const double *x) {
    bool any = false;
    for (size_t j = 0; j < s->model->constraint_count; j++)
        any = any || s->model->constraints[j].is_equality;
    if (!any)
        return NULL;
    tc_equalities *e = new_equalities(arena, s, x);
    gram_pass gram = {.equalities = e, .x = x, .gram = TC_NEW(arena, tc_real, e->count * e->count)};
    tc_streams_outer_point(s, x);
    if (!tc_streams_columns(s, x, add_to_gram, pack_gram, &gram))
        return NULL;
    choose_rows(arena, e, gram.gram);
    e->combination = TC_NEW(arena, double, e->count * e->rank);
    combine_rows(arena, e, gram.gram);
    mismatch_pass pass = {
        .equalities = e, .largest = TC_NEW(arena, double, e->count), .mismatch = TC_NEW(arena, double, e->count)};
    if (!tc_streams_columns(s, x, add_to_mismatch, pack_mismatch, &pass))
        return NULL;
    for (size_t k = 0; k < e->count; k++)
        e->is_unclear = e->is_unclear || pass.mismatch[k] > ROUNDING * pass.largest[k];
    if (!e->is_unclear)
        find_contradiction(e);
    return e;
}

const char *tc_equalities_conflict(tc_arena *arena, const tc_model *model, const tc_equalities *e) {
    tc_buffer out = tc_buffer_new(arena, 1 << 14);
    size_t k = e->contradicted, others = 0, said = 0;
    const double *t = e->combination + k * e->rank;
    for (size_t i = 0; i < e->rank; i++)
        others += fabs(t[i]) * e->size[e->chosen[i]] > ROUNDING * e->size[k];
    for (size_t at = 0; at < e->count && others < 20; at++) { /* in the order of the file */
        bool in = at == k;
        for (size_t i = 0; i < e->rank && !in; i++)
            in = e->chosen[i] == at && fabs(t[i]) * e->size[at] > ROUNDING * e->size[k];
        if (!in)
            continue;
        tc_buffer_printf(&out, "%s%s",
                         said == 0        ? ""
                         : said == others ? " and "
                                          : ", ",
                         model->constraints[e->row[at]].name);
        said++;
    }
    if (others >= 20)
        tc_buffer_printf(&out, "%s and %zu others", model->constraints[e->row[k]].name, others);
    return tc_buffer_text(&out);
}

/* ---- how far multipliers reach ---- */

/* With B = T (T'T)^-1 G^-1, G = A_I D^2 A_I' of the chosen rows I, every nu in the row space is nu = B A_I D (D A' nu)
 * + (T - B G T'T) nu_I. So |nu|_1 <= kappa |D A' nu|_1 with kappa = (the largest column sum of |B A_I D|) / (1 - rho),
 * rho the largest column sum of |T - B G T'T|. Any B will do; rho is enclosed. Rows are divided by their weights first.
 */
typedef struct reach_pass {
    tc_equalities *equalities;
    const tc_roomy_point *point;
    const tc_model *model;
    tc_interval *gram;       /* G: rank * rank */
    tc_interval *scaled;     /* one column of A_I D */
    double *middles, *radii; /* of a column: rank */
    double *inverse;         /* B: count * rank */
    double largest;          /* column sum of |B A_I D| */
} reach_pass;

static void pack_reach(void *context, tc_parcel *parcel) {
    reach_pass *p = context;
    size_t rank = p->equalities->rank;
    tc_put(parcel, p->gram, rank * rank * sizeof *p->gram);
    tc_put(parcel, &p->largest, sizeof p->largest);
}

static double weight_of(const reach_pass *p, size_t equality) {
    return p->point->weights == NULL ? 1 : p->point->weights[p->equalities->row[equality]];
}

static bool scale_column(reach_pass *p, const tc_column_view *view) {
    tc_equalities *e = p->equalities;
    double room = p->point->room[tc_coord_of(view->family, view->member, view->component)];
    if (room == 0 || !spread(e, view))
        return false;
    for (size_t i = 0; i < e->rank; i++)
        p->scaled[i] = tc_idiv(tc_imul(e->column[e->chosen[i]], tc_point(room)), tc_point(weight_of(p, e->chosen[i])));
    return true;
}

static void add_to_scaled_gram(void *context, const tc_column_view *view) {
    reach_pass *p = context;
    size_t rank = p->equalities->rank;
    if (!scale_column(p, view))
        return;
    for (size_t i = 0; i < rank; i++)
        for (size_t l = 0; l <= i && !is_zero(p->scaled[i]); l++)
            if (!is_zero(p->scaled[l]))
                p->gram[i * rank + l] = tc_iadd(p->gram[i * rank + l], tc_imul(p->scaled[i], p->scaled[l]));
}

/* The middles of intervals, and how far from them the intervals reach. */
static void split(size_t count, const tc_interval *values, double *middles, double *radii) {
    for (size_t i = 0; i < count; i++) {
        middles[i] = middle(values[i]);
        radii[i] = fmax(tc_add_up(values[i].hi, -middles[i]), tc_add_up(middles[i], -values[i].lo));
    }
}

/* A bound of |start + sum b_i v_i| for all v_i within radii of middles. A sum of n + 1 products in doubles is off by at
 * most (n + 2) 2^-53 times the sum of their sizes, but for underflow; twice that allows for rounding here. */
static double bound_of_sum(double start, size_t count, const double *b, const double *middles, const double *radii) {
    double sum = start, size = fabs(start), spread = 0, unit = ((double)count + 4) * 0x1p-52;
    for (size_t i = 0; i < count; i++) {
        double product = b[i] * middles[i];
        sum += product;
        size += fabs(product);
        spread += fabs(b[i]) * radii[i];
    }
    double error = tc_add_up(tc_mul_up(size, unit), tc_mul_up(spread, 1 + unit));
    return tc_add_up(tc_add_up(fabs(sum), error), ((double)count + 1) * 0x1p-1020);
}

static void add_to_reach(void *context, const tc_column_view *view) {
    reach_pass *p = context;
    size_t rank = p->equalities->rank;
    double sum = 0;
    if (!scale_column(p, view))
        return;
    split(rank, p->scaled, p->middles, p->radii);
    for (size_t k = 0; k < p->equalities->count; k++)
        sum = tc_add_up(sum, bound_of_sum(0, rank, p->inverse + k * rank, p->middles, p->radii));
    p->largest = fmax(p->largest, sum);
}

/* T for rows divided by their weights; a row chosen is itself, exactly. */
static double combination_at(const reach_pass *p, size_t k, size_t i) {
    const tc_equalities *e = p->equalities;
    double t = e->combination[k * e->rank + i];
    return t == 0 || k == e->chosen[i] ? t : t * weight_of(p, e->chosen[i]) / weight_of(p, k);
}

static void solve_factored(size_t n, const tc_real *factor, tc_real *x) {
    tc_solve_lower(n, factor, x);
    tc_solve_lower_transposed(n, factor, x);
}

/* B in floating-point numbers. False where G is singular. */
static bool invert(tc_arena *arena, reach_pass *p) {
    const tc_equalities *e = p->equalities;
    size_t rank = e->rank;
    tc_real *gram = TC_NEW(arena, tc_real, rank * rank), *own = TC_NEW(arena, tc_real, rank * rank);
    tc_real *column = TC_NEW(arena, tc_real, rank);
    for (size_t i = 0; i < rank * rank; i++)
        gram[i] = middle(p->gram[i]);
    for (size_t k = 0; k < e->count; k++)
        for (size_t i = 0; i < rank; i++)
            for (size_t l = 0; l <= i && combination_at(p, k, i) != 0; l++)
                own[i * rank + l] += (tc_real)combination_at(p, k, i) * (tc_real)combination_at(p, k, l);
    if (tc_cholesky(rank, gram) > 0 || tc_cholesky(rank, own) > 0)
        return false;
    for (size_t l = 0; l < rank; l++) {
        for (size_t i = 0; i < rank; i++)
            column[i] = i == l;
        solve_factored(rank, gram, column);
        solve_factored(rank, own, column);
        for (size_t k = 0; k < e->count; k++) {
            tc_real sum = 0;
            for (size_t i = 0; i < rank; i++)
                if (combination_at(p, k, i) != 0)
                    sum += (tc_real)combination_at(p, k, i) * column[i];
            p->inverse[k * rank + l] = (double)sum;
        }
    }
    return true;
}

/* rho, rounded up. */
static double enclose_leftover(tc_arena *arena, const reach_pass *p) {
    const tc_equalities *e = p->equalities;
    size_t rank = e->rank;
    tc_interval *own = TC_NEW(arena, tc_interval, rank * rank), *image = TC_NEW(arena, tc_interval, rank);
    double most = 0;
    for (size_t k = 0; k < e->count; k++)
        for (size_t i = 0; i < rank; i++)
            for (size_t l = 0; l < rank && combination_at(p, k, i) != 0; l++)
                own[i * rank + l] = tc_iadd(
                    own[i * rank + l], tc_imul(tc_point(combination_at(p, k, i)), tc_point(combination_at(p, k, l))));
    for (size_t l = 0; l < rank; l++) {
        double sum = 0;
        for (size_t i = 0; i < rank; i++) { /* column l of G T'T */
            image[i] = tc_point(0);
            for (size_t h = 0; h < rank; h++)
                if (!is_zero(own[h * rank + l]))
                    image[i] =
                        tc_iadd(image[i], tc_imul(p->gram[i > h ? i * rank + h : h * rank + i], own[h * rank + l]));
        }
        split(rank, image, p->middles, p->radii);
        for (size_t k = 0; k < e->count; k++)
            sum = tc_add_up(sum,
                            bound_of_sum(-combination_at(p, k, l), rank, p->inverse + k * rank, p->middles, p->radii));
        most = fmax(most, sum);
    }
    return most;
}

static double find_reach(tc_arena *arena, tc_streams *s, tc_equalities *e, const tc_roomy_point *point,
                         size_t *unreached) {
    reach_pass p = {.equalities = e,
                    .point = point,
                    .model = s->model,
                    .gram = TC_NEW(arena, tc_interval, e->rank * e->rank),
                    .scaled = TC_NEW(arena, tc_interval, e->rank),
                    .middles = TC_NEW(arena, double, e->rank),
                    .radii = TC_NEW(arena, double, e->rank),
                    .inverse = TC_NEW(arena, double, e->count * e->rank)};
    tc_streams_outer_point(s, point->x);
    if (!tc_streams_columns(s, point->x, add_to_scaled_gram, pack_reach, &p))
        return INFINITY;
    for (size_t i = 0; i < e->rank; i++)
        if (!(p.gram[i * e->rank + i].lo > 0)) {
            *unreached = e->chosen[i];
            return INFINITY;
        }
    if (!invert(arena, &p) || !tc_streams_columns(s, point->x, add_to_reach, pack_reach, &p))
        return INFINITY;
    double rho = enclose_leftover(arena, &p);
    return rho < 0.5 ? tc_div_up(p.largest, tc_add_down(1, -rho)) : INFINITY;
}

double tc_reach_of(tc_arena *arena, tc_streams *s, tc_equalities *e, const tc_roomy_point *point, size_t *unreached) {
    *unreached = e->count;
    if (e->is_unclear || e->contradicted < e->count)
        return INFINITY;
    tc_mark mark = tc_arena_mark(arena);
    double kappa = find_reach(arena, s, e, point, unreached);
    tc_arena_rewind(arena, mark);
    return kappa;
}

/* ---- the radius ---- */

typedef struct rise_pass {
    const double *room;
    double *rise;
    size_t rows;
} rise_pass;

static void pack_rise(void *context, tc_parcel *parcel) {
    const rise_pass *pass = context;
    tc_put(parcel, pass->rise, pass->rows * sizeof *pass->rise);
}

static void add_to_rise(void *context, const tc_column_view *view) {
    rise_pass *pass = context;
    double room = pass->room[tc_coord_of(view->family, view->member, view->component)];
    for (size_t i = 0; room > 0 && i < view->count; i++)
        pass->rise[view->rows[i]] =
            tc_add_up(pass->rise[view->rows[i]], tc_mul_up(tc_magnitude(view->values[i]), room));
}

/* By constraint: at least how much g_j can rise from x within the room, by its slopes over the public box or by its
 * range over the room, whichever is less. */
static bool find_rises(tc_arena *arena, tc_streams *s, const tc_roomy_point *point, const tc_interval *g,
                       double *rise) {
    size_t n = s->model->state_count, m = s->model->constraint_count;
    double *lower = TC_NEW(arena, double, n), *upper = TC_NEW(arena, double, n);
    tc_interval *range = TC_NEW(arena, tc_interval, m);
    rise_pass pass = {.room = point->room, .rise = rise, .rows = m};
    tc_streams_outer_box(s);
    if (!tc_streams_all_columns(s, add_to_rise, pack_rise, &pass))
        return false;
    tc_box_around(s->model, point->x, point->room, lower, upper);
    tc_constraint_ranges(s, lower, upper, range);
    for (size_t j = 0; j < m; j++) {
        double other = tc_add_up(range[j].hi, -g[j].hi);
        rise[j] = other < rise[j] ? fmax(other, 0) : rise[j];
    }
    return true;
}

/* F max(1 / min_j (slack_j - t rise_j), 1 / (t / kappa - delta)): the best t makes both equal. Any t in (0, 1] is
 * right. */
static double radius_at(const tc_roomy_point *point, size_t m, const double *slack, const double *rise, double kappa,
                        double delta) {
    double t = kappa > 0 ? 1 : 0, least = INFINITY; /* 0: no equality has a state in it */
    for (size_t j = 0; j < m && kappa > 0; j++)
        if (isfinite(slack[j]))
            t = fmin(t, (slack[j] + delta) / (rise[j] + 1 / kappa));
    if (!(t > 0) && kappa > 0)
        return NAN;
    for (size_t j = 0; j < m; j++)
        if (isfinite(slack[j]))
            least = fmin(least, tc_add_down(slack[j], -tc_mul_up(t, rise[j])));
    if (kappa > 0)
        least = fmin(least, tc_add_down(tc_div_down(t, kappa), -delta));
    return least > 0 ? tc_div_up(point->gap, least) : NAN;
}

double tc_radius_of(tc_arena *arena, tc_streams *s, const tc_roomy_point *point, double kappa) {
    size_t m = s->model->constraint_count;
    tc_mark mark = tc_arena_mark(arena);
    tc_interval *g = TC_NEW(arena, tc_interval, m);
    double *slack = TC_NEW(arena, double, m), *rise = TC_NEW(arena, double, m), delta = 0, radius = NAN;
    tc_constraint_values(s, point->x, g);
    if (isfinite(kappa) && find_rises(arena, s, point, g, rise)) {
        for (size_t j = 0; j < m; j++) {
            double weight = point->weights == NULL ? 1 : point->weights[j];
            double taken = point->taken == NULL ? 0 : point->taken[j];
            bool is_equality = s->model->constraints[j].is_equality;
            if (is_equality)
                delta = fmax(delta, tc_div_up(tc_magnitude(g[j]), weight));
            slack[j] = is_equality ? INFINITY : tc_div_down(tc_add_down(-g[j].hi, -taken), weight);
            rise[j] = tc_div_up(rise[j], weight);
        }
        radius = radius_at(point, m, slack, rise, kappa, delta);
    }
    tc_arena_rewind(arena, mark);
    return radius;
}
