/* A gauge's second pass: answers p, and facts about columns. */
#include "engine/tacit/gauge_parts.h"

#include <string.h>

tc_tariff *tc_gauge_tariff(tc_gauge *gauge) { return &gauge->tariff; }

/* ---- the tariff is complete ----------------------------------------------------------------------------------------
 */

static void weigh_slopes(const tc_tariff *tariff, tc_gauge_family *of) {
    const tc_gauge_uses *slopes = &of->slopes;
    memset(slopes->weight, 0, slopes->count * sizeof *slopes->weight);
    memset(of->reach, 0, slopes->count * sizeof *of->reach);
    for (size_t i = 0; i < slopes->term_count; i++) {
        const tc_gauge_term *term = &slopes->terms[i];
        slopes->weight[term->use] += term->factor * tariff->price[term->input];
        of->reach[term->use] += fabs(term->factor) * tariff->reach[term->input];
    }
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t first = slopes->first[c];
        bool has_one = first < slopes->first[c + 1] && slopes->uses[first].row == 0;
        slopes->base[c] = has_one ? slopes->weight[first] : 0;
        of->reach_base[c] = has_one ? of->reach[first] : 0;
    }
}

static void weigh_bends(const tc_tariff *tariff, tc_gauge_family *of) {
    const tc_gauge_uses *bends = &of->bends;
    of->bends_now = false;
    of->bend_noise = 0;
    memset(bends->weight, 0, bends->count * sizeof *bends->weight);
    memset(of->bend_base, 0, of->family->dim * sizeof *of->bend_base);
    for (size_t i = 0; i < bends->term_count; i++)
        bends->weight[bends->terms[i].use] += bends->terms[i].factor * tariff->curvature[bends->terms[i].input];
    for (size_t i = 0; i < bends->count; i++)
        of->bends_now = of->bends_now || bends->weight[i] != 0;
    for (size_t i = 0; i < of->pair_count; i++) {
        const tc_gauge_pair *pair = &of->pairs[i];
        double number = bends->uses[bends->first[i]].row == 0 ? bends->weight[bends->first[i]] : 0;
        bends->base[i] = number;
        if (of->pair_is_row[i])
            continue;
        if (pair->column == pair->other) {
            of->bend_base[pair->column] += number;
            of->bend_noise += number * number * of->variance;
        } else {
            of->bend_base[pair->column] += fabs(number);
            of->bend_base[pair->other] += fabs(number);
            of->bend_noise += 2 * (number * number * of->variance);
        }
    }
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Families without rows: what there is to know of their coordinates is in the tariff. */
static void look_at_lone(tc_gauge *gauge) {
    const tc_tariff *tariff = &gauge->tariff;
    double most_reach = 0, most_bend = 0, noise = 0;
    for (size_t i = 0; i < gauge->lone_count;) {
        size_t coordinate = gauge->lone[i].coordinate;
        double reach = 0, bend = 0;
        for (; i < gauge->lone_count && gauge->lone[i].coordinate == coordinate; i++) {
            const tc_gauge_single *s = &gauge->lone[i];
            reach += s->reach * tariff->reach[s->input];
            bend += s->bends ? tariff->bend[s->input] : 0;
            noise += s->bends ? tariff->bend_noise[s->input] : 0;
        }
        most_reach = larger(reach, most_reach);
        most_bend = larger(bend, most_bend);
    }
    gauge->lone_columns = (tc_columns){most_reach, most_bend, noise};
}

void tc_gauge_price(tc_gauge *gauge) {
    look_at_lone(gauge);
    if (!gauge->any_rows)
        return;
    gauge->same_reach =
        memcmp(gauge->last_reach, gauge->tariff.reach, gauge->gauged.count * sizeof *gauge->last_reach) == 0;
    memcpy(gauge->last_reach, gauge->tariff.reach, gauge->gauged.count * sizeof *gauge->last_reach);
    for (size_t f = 0; f < gauge->model->family_count; f++)
        if (gauge->families[f].has_rows) {
            weigh_slopes(&gauge->tariff, &gauge->families[f]);
            weigh_bends(&gauge->tariff, &gauge->families[f]);
        }
}

/* ---- one bite ------------------------------------------------------------------------------------------------------
 */

typedef struct bite {
    const tc_gauge *gauge;
    const tc_gauge_family *of;
    tc_gauge_worker *worker;
    size_t member, count;
    const tc_gauge_single *singles, *singles_end; /* its own */
    bool reaches;                                 /* otherwise its reach is that of the pass before */
    double *const *p;
    tc_gauge_facts facts;
} bite;

/* Its singles: the first whose member is not below. */
static const tc_gauge_single *single_from(const tc_gauge *gauge, size_t block, size_t member) {
    size_t low = gauge->block_singles[block], high = gauge->block_singles[block + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gauge->singles[middle].member < member)
            low = middle + 1;
        else
            high = middle;
    }
    return gauge->singles + low;
}

/* A component's numbers are one for all members where nothing tells them apart. */
static void prepare_columns(const bite *b) {
    const tc_gauge_family *of = b->of;
    tc_gauge_worker *worker = b->worker;
    for (size_t c = 0; c < of->family->dim; c++) {
        worker->reach_is_row[c] = of->reach_by_member[c];
        worker->bend_is_row[c] = of->bend_by_member[c] && of->bends_now;
    }
    for (const tc_gauge_single *s = b->singles; s < b->singles_end; s++) {
        worker->reach_is_row[s->component] = true;
        worker->bend_is_row[s->component] |= s->bends;
    }
    for (size_t c = 0; c < of->family->dim; c++) {
        if (b->reaches && worker->reach_is_row[c])
            b->gauge->kernels->fill(b->count, of->reach_base[c], worker->reach[c]);
        if (worker->bend_is_row[c])
            b->gauge->kernels->fill(b->count, of->bend_base[c], worker->bend[c]);
        if (b->p != NULL)
            b->gauge->kernels->fill(b->count, of->slopes.base[c], b->p[c]);
    }
}

static void answer_slopes(const bite *b, size_t at, size_t lanes) {
    const tc_gauge_kernels *kernels = b->gauge->kernels;
    const tc_gauge_uses *slopes = &b->of->slopes;
    for (size_t i = 0; i < slopes->count; i++) {
        const tc_gauge_use *use = &slopes->uses[i];
        const double *row = b->worker->rows[use->row];
        double weight = slopes->weight[i], size_weight = b->of->reach[i];
        bool prices = b->p != NULL && weight != 0, reaches = b->reaches && size_weight != 0;
        if (row == NULL)
            continue;
        double *reach = b->worker->reach[use->at] + at;
        if (prices && reaches)
            kernels->add_both(lanes, weight, size_weight, row, b->p[use->at] + at, reach);
        else if (prices)
            kernels->add(lanes, weight, row, b->p[use->at] + at);
        else if (reaches)
            kernels->add_size(lanes, size_weight, row, reach);
    }
}

static const double *hessian_row(const bite *b, size_t pair, size_t lanes) {
    const tc_gauge_uses *bends = &b->of->bends;
    double *hessian = b->worker->hessian;
    b->gauge->kernels->fill(lanes, bends->base[pair], hessian);
    for (size_t i = bends->first[pair]; i < bends->first[pair + 1]; i++)
        if (bends->uses[i].row != 0 && bends->weight[i] != 0)
            b->gauge->kernels->add(lanes, bends->weight[i], b->worker->rows[bends->uses[i].row], hessian);
    return hessian;
}

static void answer_pair(bite *b, size_t number, size_t at, size_t lanes) {
    const tc_gauge_kernels *kernels = b->gauge->kernels;
    uint32_t a = b->of->pairs[number].column, other = b->of->pairs[number].other;
    const double *away_a = b->worker->away[a] + at, *away_other = b->worker->away[other] + at;
    if (!b->of->pair_is_row[number]) {
        double h = b->of->bends.base[number];
        if (h != 0 && b->p != NULL)
            kernels->add(lanes, h, away_other, b->p[a] + at);
        if (h != 0 && b->p != NULL && a != other)
            kernels->add(lanes, h, away_a, b->p[other] + at);
        return;
    }
    const double *h = hessian_row(b, number, lanes);
    double noise = b->of->variance * kernels->squares(lanes, h);
    b->facts.noise += a == other ? noise : 2 * noise;
    if (b->p != NULL)
        kernels->add_product(lanes, h, away_other, b->p[a] + at);
    if (a == other) {
        kernels->add(lanes, 1, h, b->worker->bend[a] + at);
        return;
    }
    if (b->p != NULL)
        kernels->add_product(lanes, h, away_a, b->p[other] + at);
    kernels->add_size(lanes, 1, h, b->worker->bend[a] + at);
    kernels->add_size(lanes, 1, h, b->worker->bend[other] + at);
}

static void answer_rows(bite *b) {
    const tc_gauge_family *of = b->of;
    bool bends = of->bends_now;
    bool points = of->slopes_vary || bends;
    if (of->row_count == 1 && !bends)
        return; /* numbers alone */
    if (points)
        tc_gauge_place(b->gauge, of, b->worker, b->member, b->count);
    size_t step = of->tape[1] != NULL ? TC_LANES : b->count;
    for (size_t at = 0; at < b->count; at += step) {
        size_t lanes = b->count - at < step ? b->count - at : step;
        tc_gauge_find_rows(of, b->worker, 1, b->member, at, lanes);
        answer_slopes(b, at, lanes);
        for (size_t i = 0; bends && i < of->pair_count; i++)
            answer_pair(b, i, at, lanes);
    }
}

static void answer_singles(const bite *b) {
    const tc_tariff *tariff = &b->gauge->tariff;
    for (const tc_gauge_single *s = b->singles; s < b->singles_end; s++) {
        size_t k = s->member - b->member;
        if (b->p != NULL)
            b->p[s->component][k] += s->slope * tariff->price[s->input];
        if (b->of->has_rows && b->reaches)
            b->worker->reach[s->component][k] += s->reach * tariff->reach[s->input];
        if (b->of->has_rows && s->bends)
            b->worker->bend[s->component][k] += tariff->bend[s->input];
    }
}

static void look_at_columns(bite *b) {
    const tc_gauge_kernels *kernels = b->gauge->kernels;
    const tc_gauge_family *of = b->of;
    const tc_tariff *tariff = &b->gauge->tariff;
    for (size_t c = 0; c < of->family->dim; c++) {
        if (b->reaches)
            b->facts.reach = b->worker->reach_is_row[c] ? kernels->most(b->count, b->worker->reach[c], b->facts.reach)
                                                        : larger(of->reach_base[c], b->facts.reach);
        b->facts.curvature = b->worker->bend_is_row[c] ? kernels->most(b->count, b->worker->bend[c], b->facts.curvature)
                                                       : larger(of->bend_base[c], b->facts.curvature);
    }
    b->facts.noise += of->bend_noise * (double)b->count;
    for (const tc_gauge_single *s = b->singles; s < b->singles_end; s++)
        b->facts.noise += s->bends ? tariff->bend_noise[s->input] : 0;
}

static void answer_bite(tc_gauge *gauge, size_t worker, const tc_gauge_family *of, size_t member, size_t count,
                        double *const *p) {
    size_t block = of->first_block + member / TC_RELEASE_BLOCK;
    tc_gauge_facts *facts = &gauge->facts[of->first_bite + member / TC_GAUGE_BITE];
    bite b = {.gauge = gauge,
              .of = of,
              .worker = &gauge->workers[worker],
              .member = member,
              .count = count,
              .singles = single_from(gauge, block, member),
              .singles_end = single_from(gauge, block, member + count),
              .reaches = !(gauge->same_reach && !of->slopes_vary),
              .p = p};
    if (!of->has_rows) {
        for (size_t c = 0; p != NULL && c < of->family->dim; c++)
            gauge->kernels->fill(count, 0, p[c]);
        answer_singles(&b);
        return;
    }
    if (!b.reaches)
        b.facts.reach = facts->reach;
    prepare_columns(&b);
    answer_rows(&b);
    answer_singles(&b);
    look_at_columns(&b);
    *facts = b.facts;
}

void tc_gauge_answer(tc_gauge *gauge, size_t worker, size_t family, size_t block, size_t at, size_t count,
                     double *const *p) {
    const tc_gauge_family *of = &gauge->families[family];
    double **moved = gauge->workers[worker].answers;
    for (size_t k = 0; k < count; k += TC_GAUGE_BITE) {
        size_t lanes = count - k < TC_GAUGE_BITE ? count - k : TC_GAUGE_BITE;
        for (size_t c = 0; p != NULL && c < of->family->dim; c++)
            moved[c] = p[c] + k;
        answer_bite(gauge, worker, of, block * TC_RELEASE_BLOCK + at + k, lanes, p == NULL ? NULL : moved);
    }
}

tc_columns tc_gauge_columns(tc_gauge *gauge) {
    tc_columns found = gauge->lone_columns;
    for (size_t i = 0; gauge->any_rows && i < gauge->bite_count; i++) {
        found.reach = larger(gauge->facts[i].reach, found.reach);
        found.curvature = larger(gauge->facts[i].curvature, found.curvature);
        found.noise += gauge->facts[i].noise;
    }
    return found;
}

/* Families without rows have nothing but their single coordinates, so they are not gone through. */
void tc_gauge_answer_whole(tc_gauge *gauge, double *p) {
    const double *price = gauge->tariff.price;
    if (p != NULL)
        memset(p, 0, gauge->model->state_count * sizeof *p);
    for (size_t i = 0; p != NULL && i < gauge->lone_count; i++)
        p[gauge->lone[i].coordinate] += gauge->lone[i].slope * price[gauge->lone[i].input];
    for (size_t f = 0; f < gauge->model->family_count && gauge->any_rows; f++) {
        const tc_gauge_family *of = &gauge->families[f];
        for (size_t k = 0; of->has_rows && k < of->family->count; k += TC_GAUGE_BITE) {
            size_t left = of->family->count - k, count = left < TC_GAUGE_BITE ? left : TC_GAUGE_BITE;
            for (size_t c = 0; p != NULL && c < of->family->dim; c++)
                gauge->whole_answers[c] = p + tc_coord_of(of->family, k, c);
            answer_bite(gauge, 0, of, k, count, p == NULL ? NULL : gauge->whole_answers);
        }
    }
}
