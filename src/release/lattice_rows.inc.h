/* The loops of tc_lattice_rows (lattice.h). No branch depends on a number, so compilers vectorise them. */

static inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* x * 0 is a zero of some sign, or NaN where x is not finite: then bits besides the sign are set. */
static inline uint64_t trouble(double x) { return bits_of(x * 0.0); }

static inline bool is_finite(uint64_t gathered) { return gathered << 1 == 0; }

static bool all_finite(const double *x, size_t count) {
    uint64_t gathered = 0;
    for (size_t k = 0; k < count; k++)
        gathered |= trouble(x[k]);
    return is_finite(gathered);
}

static tc_lattice_seen look(const double *lower, const double *upper, size_t count, const double *x) {
    uint64_t gathered = 0, outside = 0;
    for (size_t k = 0; k < count; k++) {
        gathered |= trouble(x[k]);
        outside |= bits_of(x[k] < lower[k] ? 1 : 0) | bits_of(x[k] > upper[k] ? 1 : 0);
    }
    return (tc_lattice_seen){is_finite(gathered), outside != 0};
}

/* Bounds are whole numbers, so rounding and clamping may be done in either order. */
static inline int64_t nearest(double units, double least, double most) {
    units = units < least ? least : units;
    return tc_lattice_round_small(units > most ? most : units, 1);
}

static bool take(const tc_lattice_box *box, double per_unit, size_t first, size_t count, const double *restrict x,
                 int64_t *restrict units) {
    uint64_t gathered = 0;
    double least = box->least, most = box->most;
    const double *restrict leasts = box->leasts == NULL ? NULL : box->leasts + first;
    const double *restrict mosts = box->leasts == NULL ? NULL : box->mosts + first;
    if (leasts == NULL || mosts == NULL)
        for (size_t k = 0; k < count; k++) {
            gathered |= trouble(x[k]);
            units[k] = nearest(x[k] * per_unit, least, most);
        }
    else
        for (size_t k = 0; k < count; k++) {
            gathered |= trouble(x[k]);
            units[k] = nearest(x[k] * per_unit, leasts[k], mosts[k]);
        }
    return is_finite(gathered);
}

static void points(double step, size_t count, const int64_t *restrict units, double *restrict row) {
    for (size_t k = 0; k < count; k++)
        row[k] = tc_lattice_double(units[k]) * step;
}

static int64_t sum(double per_unit, size_t count, const double *terms) {
    uint64_t gathered = 0;
    for (size_t k = 0; k < count; k++)
        gathered += (uint64_t)tc_lattice_round_small(terms[k], per_unit);
    return (int64_t)gathered;
}

const tc_lattice_rows LATTICE_ROWS = {
    .all_finite = all_finite, .look = look, .take = take, .points = points, .sum = sum};
