/* The loops of gauge_rows.h; PACK_BYTES: what the processor takes at once. */

typedef double pack __attribute__((vector_size(PACK_BYTES)));
typedef double loose_pack __attribute__((vector_size(PACK_BYTES), aligned(8), may_alias));
typedef long long mask __attribute__((vector_size(PACK_BYTES)));

enum { EACH = PACK_BYTES / 8, PACKS = TC_TOTAL_LANES / EACH };

static inline pack load(const double *from) { return *(const loose_pack *)from; }
static inline void store(double *to, pack value) { *(loose_pack *)to = value; }
static inline pack choose(mask where, pack a, pack b) { return (pack)(((mask)a & where) | ((mask)b & ~where)); }
static inline pack size_of(pack value) { return choose(value < (pack){0}, -value, value); }

static void filter(size_t count, double fast, double slow, const double *restrict observed, double *restrict y,
                   double *restrict r) {
    for (size_t k = 0; k < count; k++) {
        y[k] += fast * (observed[k] - y[k]);
        r[k] += slow * (observed[k] - r[k]);
    }
}

static inline double clipped(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }

static void place(size_t count, const double *restrict y, const double *restrict r, const tc_gauge_bounds *bounds,
                  double *restrict inside, double *restrict away) {
    const double lower = bounds->lower, upper = bounds->upper;
    const double *restrict lowers = bounds->lowers, *restrict uppers = bounds->uppers;
    if (lowers == NULL || uppers == NULL)
        for (size_t k = 0; k < count; k++) {
            double x = clipped(r[k], lower, upper);
            inside[k] = x;
            away[k] = y[k] - x;
        }
    else
        for (size_t k = 0; k < count; k++) {
            double x = clipped(r[k], lowers[k], uppers[k]);
            inside[k] = x;
            away[k] = y[k] - x;
        }
}

static bool rest(size_t count, const double *r, const double *inside, double *beyond) {
    mask found = {0};
    size_t k = 0;
    bool any = false;
    for (; k + EACH <= count; k += EACH) {
        pack v = load(r + k) - load(inside + k);
        store(beyond + k, v);
        found |= (mask)(v != (pack){0});
    }
    for (; k < count; k++) {
        beyond[k] = r[k] - inside[k];
        any = any || beyond[k] != 0;
    }
    for (size_t i = 0; i < EACH; i++)
        any = any || found[i] != 0;
    return any;
}

static inline void load_all(pack *t, const double *from) {
    for (size_t i = 0; i < PACKS; i++)
        t[i] = load(from + i * EACH);
}

static inline void store_all(double *to, const pack *t) {
    for (size_t i = 0; i < PACKS; i++)
        store(to + i * EACH, t[i]);
}

static void total(size_t count, const double *row, double *t) {
    size_t k = 0;
    pack sums[PACKS];
    load_all(sums, t);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++)
            sums[i] += load(row + k + i * EACH);
    store_all(t, sums);
    for (size_t whole = k; k < count; k++)
        t[k - whole] += row[k];
}

static void total_product(size_t count, const double *a, const double *b, double *t) {
    size_t k = 0;
    pack sums[PACKS];
    load_all(sums, t);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++)
            sums[i] += load(a + k + i * EACH) * load(b + k + i * EACH);
    store_all(t, sums);
    for (size_t whole = k; k < count; k++)
        t[k - whole] += a[k] * b[k];
}

static void total_triple(size_t count, const double *row, const double *a, const double *b, double *t) {
    size_t k = 0;
    pack sums[PACKS];
    load_all(sums, t);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++)
            sums[i] += load(row + k + i * EACH) * (load(a + k + i * EACH) * load(b + k + i * EACH));
    store_all(t, sums);
    for (size_t whole = k; k < count; k++)
        t[k - whole] += row[k] * (a[k] * b[k]);
}

static void total_sizes(size_t count, const double *row, double *size, double *square) {
    size_t k = 0;
    pack sizes[PACKS], squared[PACKS];
    load_all(sizes, size);
    load_all(squared, square);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++) {
            pack v = load(row + k + i * EACH);
            sizes[i] += size_of(v);
            squared[i] += v * v;
        }
    store_all(size, sizes);
    store_all(square, squared);
    for (size_t whole = k; k < count; k++) {
        size[k - whole] += fabs(row[k]);
        square[k - whole] += row[k] * row[k];
    }
}

static void total_slope(size_t count, const double *row, const double *away, double *shift, double *size,
                        double *square) {
    size_t k = 0;
    pack shifts[PACKS], sizes[PACKS], squared[PACKS];
    load_all(shifts, shift);
    load_all(sizes, size);
    load_all(squared, square);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++) {
            pack v = load(row + k + i * EACH);
            shifts[i] += v * load(away + k + i * EACH);
            sizes[i] += size_of(v);
            squared[i] += v * v;
        }
    store_all(shift, shifts);
    store_all(size, sizes);
    store_all(square, squared);
    for (size_t whole = k; k < count; k++) {
        shift[k - whole] += row[k] * away[k];
        size[k - whole] += fabs(row[k]);
        square[k - whole] += row[k] * row[k];
    }
}

static void fill(size_t count, double value, double *restrict out) {
    for (size_t k = 0; k < count; k++)
        out[k] = value;
}

static void add(size_t count, double weight, const double *restrict row, double *restrict out) {
    for (size_t k = 0; k < count; k++)
        out[k] += weight * row[k];
}

static void add_size(size_t count, double weight, const double *restrict row, double *restrict out) {
    for (size_t k = 0; k < count; k++)
        out[k] += weight * fabs(row[k]);
}

static void add_both(size_t count, double weight, double size_weight, const double *restrict row, double *restrict out,
                     double *restrict sizes) {
    for (size_t k = 0; k < count; k++) {
        out[k] += weight * row[k];
        sizes[k] += size_weight * fabs(row[k]);
    }
}

static void add_product(size_t count, const double *restrict a, const double *restrict b, double *restrict out) {
    for (size_t k = 0; k < count; k++)
        out[k] += a[k] * b[k];
}

static double most(size_t count, const double *row, double found) {
    size_t k = 0;
    if (count >= TC_TOTAL_LANES) {
        pack largest[PACKS];
        load_all(largest, row);
        for (k = TC_TOTAL_LANES; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
            for (size_t i = 0; i < PACKS; i++) {
                pack v = load(row + k + i * EACH);
                largest[i] = choose(v > largest[i], v, largest[i]);
            }
        for (size_t i = 0; i < TC_TOTAL_LANES; i++)
            found = largest[i / EACH][i % EACH] > found ? largest[i / EACH][i % EACH] : found;
    }
    for (; k < count; k++)
        found = row[k] > found ? row[k] : found;
    return found;
}

static double squares(size_t count, const double *row) {
    double t[TC_TOTAL_LANES] = {0};
    total_product(count, row, row, t);
    return tc_total_of_lanes(t);
}

const tc_gauge_kernels KERNELS = {.filter = filter,
                                  .place = place,
                                  .rest = rest,
                                  .total = total,
                                  .total_product = total_product,
                                  .total_triple = total_triple,
                                  .total_sizes = total_sizes,
                                  .total_slope = total_slope,
                                  .fill = fill,
                                  .add = add,
                                  .add_size = add_size,
                                  .add_both = add_both,
                                  .add_product = add_product,
                                  .most = most,
                                  .squares = squares};
