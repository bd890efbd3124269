/* The loops of estimator_inside.h, for packs of TC_SIMD_LANES. */

enum { PACKS = TC_TOTAL_LANES / TC_SIMD_LANES };

static inline double clipped(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }

static void place(size_t count, const double *restrict y, const double *restrict r, const tc_estimator_bounds *bounds,
                  double *restrict r_hat, double *restrict dy) {
    const double lower = bounds->lower, upper = bounds->upper;
    const double *restrict lowers = bounds->lowers, *restrict uppers = bounds->uppers;
    if (lowers == NULL || uppers == NULL)
        for (size_t k = 0; k < count; k++) {
            double x = clipped(r[k], lower, upper);
            r_hat[k] = x;
            dy[k] = y[k] - x;
        }
    else
        for (size_t k = 0; k < count; k++) {
            double x = clipped(r[k], lowers[k], uppers[k]);
            r_hat[k] = x;
            dy[k] = y[k] - x;
        }
}

static bool rest(size_t count, const double *r, const double *r_hat, double *dr) {
    tc_pack_mask found = tc_pack_none();
    size_t k = 0;
    bool any = false;
    for (; k + TC_SIMD_LANES <= count; k += TC_SIMD_LANES) {
        tc_pack v = tc_pack_load(r + k) - tc_pack_load(r_hat + k);
        tc_pack_store(dr + k, v);
        found |= ~tc_pack_equal(v, tc_pack_of(0));
    }
    for (; k < count; k++) {
        dr[k] = r[k] - r_hat[k];
        any = any || dr[k] != 0;
    }
    return any || tc_pack_bits(found) != 0;
}

static bool filter(size_t count, double beta, double slow, const double *o, const tc_estimator_bounds *bounds,
                   const tc_estimator_filter *to) {
    const double *lowers = bounds->lowers, *uppers = bounds->uppers;
    tc_pack lower = tc_pack_of(bounds->lower), upper = tc_pack_of(bounds->upper);
    tc_pack_mask found = tc_pack_none();
    size_t k = 0;
    bool any = false;
    for (; k + TC_SIMD_LANES <= count; k += TC_SIMD_LANES) {
        tc_pack now = tc_pack_load(o + k), y = tc_pack_load(to->y + k), r = tc_pack_load(to->r + k);
        if (lowers != NULL && uppers != NULL) {
            lower = tc_pack_load(lowers + k);
            upper = tc_pack_load(uppers + k);
        }
        y += tc_pack_of(beta) * (now - y);
        r += tc_pack_of(slow) * (now - r);
        tc_pack r_hat = tc_pack_clip(r, lower, upper), dr = r - r_hat;
        tc_pack_store(to->y + k, y);
        tc_pack_store(to->r + k, r);
        tc_pack_store(to->r_hat + k, r_hat);
        tc_pack_store(to->dy + k, y - r_hat);
        tc_pack_store(to->dr + k, dr);
        found |= ~tc_pack_equal(dr, tc_pack_of(0));
    }
    for (; k < count; k++) {
        double y = to->y[k] + beta * (o[k] - to->y[k]), r = to->r[k] + slow * (o[k] - to->r[k]);
        double r_hat = lowers != NULL && uppers != NULL ? clipped(r, lowers[k], uppers[k])
                                                        : clipped(r, bounds->lower, bounds->upper);
        to->y[k] = y;
        to->r[k] = r;
        to->r_hat[k] = r_hat;
        to->dy[k] = y - r_hat;
        to->dr[k] = r - r_hat;
        any = any || to->dr[k] != 0;
    }
    return any || tc_pack_bits(found) != 0;
}

TC_INLINE void load_all(tc_pack *t, const double *from) {
    for (size_t i = 0; i < PACKS; i++)
        t[i] = tc_pack_load(from + i * TC_SIMD_LANES);
}

TC_INLINE void store_all(double *to, const tc_pack *t) {
    for (size_t i = 0; i < PACKS; i++)
        tc_pack_store(to + i * TC_SIMD_LANES, t[i]);
}

static void total(size_t count, const double *row, double *t) {
    size_t k = 0;
    tc_pack sums[PACKS];
    load_all(sums, t);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++)
            sums[i] += tc_pack_load(row + k + i * TC_SIMD_LANES);
    store_all(t, sums);
    for (size_t whole = k; k < count; k++)
        t[k - whole] += row[k];
}

static void total_product(size_t count, const double *a, const double *b, double *t) {
    size_t k = 0;
    tc_pack sums[PACKS];
    load_all(sums, t);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++)
            sums[i] += tc_pack_load(a + k + i * TC_SIMD_LANES) * tc_pack_load(b + k + i * TC_SIMD_LANES);
    store_all(t, sums);
    for (size_t whole = k; k < count; k++)
        t[k - whole] += a[k] * b[k];
}

static void total_triple(size_t count, const double *row, const double *a, const double *b, double *t) {
    size_t k = 0;
    tc_pack sums[PACKS];
    load_all(sums, t);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++)
            sums[i] += tc_pack_load(row + k + i * TC_SIMD_LANES) *
                       (tc_pack_load(a + k + i * TC_SIMD_LANES) * tc_pack_load(b + k + i * TC_SIMD_LANES));
    store_all(t, sums);
    for (size_t whole = k; k < count; k++)
        t[k - whole] += row[k] * (a[k] * b[k]);
}

static void total_sizes(size_t count, const double *row, double *size, double *square) {
    size_t k = 0;
    tc_pack sizes[PACKS], squared[PACKS];
    load_all(sizes, size);
    load_all(squared, square);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++) {
            tc_pack v = tc_pack_load(row + k + i * TC_SIMD_LANES);
            sizes[i] += tc_pack_abs(v);
            squared[i] += v * v;
        }
    store_all(size, sizes);
    store_all(square, squared);
    for (size_t whole = k; k < count; k++) {
        size[k - whole] += fabs(row[k]);
        square[k - whole] += row[k] * row[k];
    }
}

static void total_slope(size_t count, const double *row, const double *dy, double *shift, double *size,
                        double *square) {
    size_t k = 0;
    tc_pack shifts[PACKS], sizes[PACKS], squared[PACKS];
    load_all(shifts, shift);
    load_all(sizes, size);
    load_all(squared, square);
    for (; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
        for (size_t i = 0; i < PACKS; i++) {
            tc_pack v = tc_pack_load(row + k + i * TC_SIMD_LANES);
            shifts[i] += v * tc_pack_load(dy + k + i * TC_SIMD_LANES);
            sizes[i] += tc_pack_abs(v);
            squared[i] += v * v;
        }
    store_all(shift, shifts);
    store_all(size, sizes);
    store_all(square, squared);
    for (size_t whole = k; k < count; k++) {
        shift[k - whole] += row[k] * dy[k];
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
        tc_pack largest[PACKS];
        load_all(largest, row);
        for (k = TC_TOTAL_LANES; k + TC_TOTAL_LANES <= count; k += TC_TOTAL_LANES)
            for (size_t i = 0; i < PACKS; i++) {
                tc_pack v = tc_pack_load(row + k + i * TC_SIMD_LANES);
                largest[i] = tc_pack_larger(v, largest[i]);
            }
        for (size_t i = 0; i < TC_TOTAL_LANES; i++)
            found = largest[i / TC_SIMD_LANES][i % TC_SIMD_LANES] > found
                        ? largest[i / TC_SIMD_LANES][i % TC_SIMD_LANES]
                        : found;
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

const tc_estimator_kernels KERNELS = {.filter = filter,
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
