/* Brackets of Lipschitz constants: nothing sampled exceeds an upper bound, and where entries are largest at one vertex
 * the bracket closes. */
#include "analysis/random_expression.h"
#include "analysis/study.h"

#include "calculus/tape/tape.h"

#include <math.h>
#include <stdlib.h>

/* ---- an independent, plain Jacobian: m x n in double ------------------------------------------------------------ */

typedef struct plain {
    study *study;
    tc_tape *outer, **values, **firsts;
    double *work, *sums, *out, *phi;
    double *jacobian;
} plain;

static double *evaluate(plain *p, const tc_tape *tape, const tc_inputs *inputs) {
    size_t roots = tc_tape_root_count(tape);
    double *out[512];
    assert_true(roots < 512);
    for (size_t i = 0; i < roots; i++)
        out[i] = p->out + i;
    tc_tape_eval(tape, inputs, 1, p->work, out);
    return p->out;
}

static plain plain_new(study *s) {
    const tc_model *m = s->model;
    const tc_derivatives *d = s->derivatives;
    plain p = {.study = s};
    tc_expr roots[512];
    size_t work = 1;
    for (size_t i = 0; i < d->outer_first_count; i++)
        roots[i] = d->outer_first[i].value;
    p.outer = tc_tape_new(s->arena, m->dag, roots, d->outer_first_count);
    work = tc_tape_work(p.outer) > work ? tc_tape_work(p.outer) : work;
    p.values = TC_NEW(s->arena, tc_tape *, m->family_count);
    p.firsts = TC_NEW(s->arena, tc_tape *, m->family_count);
    for (size_t f = 0; f < m->family_count; f++) {
        const tc_family_derivatives *fd = &d->families[f];
        for (size_t i = 0; i < fd->body_first_count; i++)
            roots[i] = fd->body_first[i].value;
        p.firsts[f] = tc_tape_new(s->arena, m->dag, roots, fd->body_first_count);
        p.values[f] = tc_tape_new(s->arena, m->dag, fd->bodies, fd->body_count);
        work = tc_tape_work(p.firsts[f]) > work ? tc_tape_work(p.firsts[f]) : work;
        work = tc_tape_work(p.values[f]) > work ? tc_tape_work(p.values[f]) : work;
    }
    p.work = TC_NEW(s->arena, double, work);
    p.out = TC_NEW(s->arena, double, 512);
    p.phi = TC_NEW(s->arena, double, 512);
    p.sums = TC_NEW(s->arena, double, m->sum_count + 1);
    p.jacobian = TC_NEW(s->arena, double, m->constraint_count * m->state_count);
    return p;
}

static tc_inputs member_inputs(const tc_family *family, size_t k, const double *x, const double **state,
                               const double **data) {
    for (size_t c = 0; c < family->dim; c++)
        state[c] = &x[tc_coord_of(family, k, c)];
    for (size_t c = 0; c < family->column_count; c++)
        data[c] = &family->columns[c].values[k];
    return (tc_inputs){.state = state, .data = data};
}

static const double *plain_jacobian(plain *p, const double *x) {
    const tc_model *m = p->study->model;
    const tc_derivatives *d = p->study->derivatives;
    size_t n = m->state_count;
    const double *state[64], *data[64];
    memset(p->sums, 0, (m->sum_count + 1) * sizeof *p->sums);
    for (size_t f = 0; f < m->family_count; f++) {
        for (size_t k = 0; k < m->families[f].count; k++) {
            tc_inputs in = member_inputs(&m->families[f], k, x, state, data);
            const double *v = evaluate(p, p->values[f], &in);
            for (size_t b = 0; b < d->families[f].body_count; b++)
                p->sums[d->families[f].sums[b]] += v[b];
        }
    }
    tc_inputs outer = {.coords = x, .sums = p->sums};
    memcpy(p->phi, evaluate(p, p->outer, &outer), d->outer_first_count * sizeof *p->phi);
    memset(p->jacobian, 0, m->constraint_count * n * sizeof *p->jacobian);
    for (size_t o = 0; o < d->outer_first_count; o++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[o].column];
        if (input->op == TC_COORD)
            p->jacobian[d->outer_first[o].row * n + input->index] += p->phi[o];
    }
    for (size_t f = 0; f < m->family_count; f++) {
        const tc_family_derivatives *fd = &d->families[f];
        for (size_t k = 0; k < m->families[f].count; k++) {
            tc_inputs in = member_inputs(&m->families[f], k, x, state, data);
            const double *v = evaluate(p, p->firsts[f], &in);
            for (size_t e = 0; e < fd->body_first_count; e++) {
                for (size_t o = 0; o < d->outer_first_count; o++) {
                    const tc_outer_input *input = &d->inputs[d->outer_first[o].column];
                    if (input->op == TC_SUM && input->index == fd->sums[fd->body_first[e].row])
                        p->jacobian[d->outer_first[o].row * n +
                                    tc_coord_of(&m->families[f], k, fd->body_first[e].column)] += p->phi[o] * v[e];
                }
            }
        }
    }
    return p->jacobian;
}

/* ---- attacks ---------------------------------------------------------------------------------------------------- */

static double length(const double *v, size_t count, int p) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += p == 1 ? fabs(v[i]) : v[i] * v[i];
    return p == 1 ? sum : sqrt(sum);
}

static void random_point(const tc_model *m, double *x, uint64_t *seed, bool vertex) {
    for (size_t f = 0; f < m->family_count; f++) {
        for (size_t c = 0; c < m->families[f].dim; c++) {
            for (size_t k = 0; k < m->families[f].count; k++) {
                double lo = tc_coef_at(m->families[f].lower[c], k), hi = tc_coef_at(m->families[f].upper[c], k);
                double share = random_unit(seed);
                share = vertex ? (share < 0.5 ? 0 : 1) : share;
                x[tc_coord_of(&m->families[f], k, c)] = share == 1 ? hi : lo + share * (hi - lo);
            }
        }
    }
}

/* Jacobians at random points, in random directions, and their differences between two points. */
static void attack(study *s, size_t tries) {
    const tc_model *m = s->model;
    size_t n = m->state_count, rows = m->constraint_count;
    plain p = plain_new(s);
    double *x = TC_NEW(s->arena, double, n), *y = TC_NEW(s->arena, double, n), *d = TC_NEW(s->arena, double, n);
    double *first = TC_NEW(s->arena, double, rows *n), *image = TC_NEW(s->arena, double, rows *n);
    uint64_t seed = 7;
    for (size_t t = 0; t < tries; t++) {
        AT_CASE(t);
        random_point(m, x, &seed, t % 3 == 0);
        random_point(m, y, &seed, t % 3 == 0);
        memcpy(first, plain_jacobian(&p, x), rows * n * sizeof *first);
        const double *second = plain_jacobian(&p, y);
        for (size_t i = 0; i < n; i++)
            d[i] = t % 2 == 0 ? (random_unit(&seed) - 0.5) : (double)(i == t / 2 % n);
        for (int q = 1; q <= 2; q++) {
            for (size_t j = 0; j < rows; j++) {
                image[j] = 0;
                for (size_t i = 0; i < n; i++)
                    image[j] += first[j * n + i] * d[i];
            }
            const tc_bracket *g = &s->analysis->g[q - 1];
            assert_true(length(image, rows, q) <= g->upper * length(d, n, q) * (1 + 1e-12));
            double step[64];
            for (size_t i = 0; i < n; i++)
                step[i] = x[i] - y[i];
            for (size_t r = 0; r < s->analysis->agent_rows; r++) {
                const tc_agent_constants *row = &s->analysis->agents[r];
                size_t count = 0;
                for (size_t j = 0; j < rows; j++) {
                    for (size_t c = 0; c < row->family->dim; c++) {
                        size_t at = tc_coord_of(row->family, row->member, c);
                        image[count++] = first[j * n + at] - second[j * n + at];
                    }
                }
                assert_true(length(image, count, q) <=
                            row->jacobian[q - 1].upper * length(step, n, q) * (1 + 1e-9) + 1e-12);
            }
        }
    }
}

static void check_order(const study *s) {
    for (int p = 0; p < 2; p++) {
        assert_true(s->analysis->g[p].lower <= s->analysis->g[p].upper);
        assert_true(isfinite(s->analysis->g[p].upper));
        for (size_t r = 0; r < s->analysis->agent_rows; r++)
            assert_true(s->analysis->agents[r].jacobian[p].lower <= s->analysis->agents[r].jacobian[p].upper);
    }
}

static bool closed(const tc_bracket *b, double width) { return b->lower >= b->upper * (1 - width); }

static const tc_analysis_options only_constants = {.skip_private = true};

#define THREE "agents a[i in 1..3] {\n state x in [-1, 2]\n state y in [0.5, 3]\n private minimize 0\n}\n"
#define TWO                                                                                                            \
    "agent b {\n state u[2] in [0, 4]\n private minimize 0\n}\nagent c {\n state w in [-2, -1]\n private minimize "    \
    "0\n}\n"

static const char *const problems[] = {
    THREE "constraint c1: sum(a: x^2 + y^2) <= 9\nconstraint c2: sum(a: x - 2*y) <= 3\n",
    THREE "constraint c1: sum(a: exp(x) + i*y^3) <= 9\nconstraint c2: (sum(a: x))^2 + sum(a: y) <= 30\n",
    THREE TWO "constraint c1: sum(a: x^2) + b.u[1]^2 - c.w <= 90\nconstraint c2: (b.u[1] - 2*b.u[2] + c.w)^2 <= 40\n"
              "constraint c3: a[2].x^2 + a[2].y - b.u[2] <= 3\n",
    THREE TWO
    "constraint c1: logsumexp([sum(a: x), b.u[1], c.w]) <= 90\nconstraint c2: exp(sum(a: x^2)/10 + b.u[2]) <= 400\n"
    "constraint c3: sum(a: -log(x + y + 1) + x*log(y + 1)/9 + y^2) <= 30\n",
    THREE TWO "constraint c1: (sum(a: x^2 - y) + b.u[1])^2 + sum(a: huber(x - y, 1)) <= 90\n"
              "constraint c2: sqrt(sumsq(b.u) + c.w^2 + 1) <= 9\nconstraint c3: 1/(b.u[1] + 1) + b.u[2]^4/50 <= 9\n",
};

static void no_sample_exceeds_an_upper_bound(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        study s = study_text(problems[i], &only_constants);
        check_order(&s);
        attack(&s, 40000); /* x 5 problems x points, directions and agents: above a million inequalities */
        study_end(&s);
    }
}

static void no_sample_of_random_problems_exceeds_an_upper_bound(void **state) {
    (void)state;
    static const char *const outers[] = {"(sum(a: %s) + b.z)^2", "logsumexp([sum(a: %s)/9, b.z])",
                                         "exp(b.z/3) * sum(a: %s)", "sum(a: %s)/(b.z + 4) + a[2].x*b.z"};
    uint64_t seed = 5;
    size_t finite = 0;
    for (size_t t = 0; t < 200; t++) {
        AT_CASE(t);
        char one[512], two[512], outer[700], text[2048];
        grow(one, sizeof one, 2, &seed);
        grow(two, sizeof two, 1 + (int)(t % 2), &seed);
        const char *form = outers[t % 4], *hole = strstr(form, "%s");
        (void)snprintf(outer, sizeof outer, "%.*s%s%s", (int)(hole - form), form, two, hole + 2);
        (void)snprintf(text, sizeof text,
                       "agents a[i in 1..3] {\n state x in [-1, 2]\n state y in [0, 1]\n private minimize 0\n}\n"
                       "agent b {\n state z in [-1, 1]\n private minimize 0\n}\n"
                       "constraint c1: sum(a: i*(%s)) <= 1e9\nconstraint c2: %s <= 1e9\n",
                       one, outer);
        study s = study_text(text, &only_constants);
        bool is_finite = isfinite(s.analysis->g[0].upper) && isfinite(s.analysis->g[1].upper);
        finite += is_finite;
        if (is_finite) {
            check_order(&s);
            attack(&s, 300);
        }
        study_end(&s);
    }
    assert_true(finite > 180);
}

/* The largest norm over all vertices and many points, by brute force. */
static void lower_bounds_are_at_least_what_vertices_give(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        study s = study_text(problems[i], &only_constants);
        plain p = plain_new(&s);
        size_t n = s.model->state_count, rows = s.model->constraint_count;
        double *x = TC_NEW(s.arena, double, n), best = 0;
        uint64_t seed = 3;
        for (size_t t = 0; t < 3000; t++) {
            random_point(s.model, x, &seed, t % 4 != 0);
            const double *j = plain_jacobian(&p, x);
            for (size_t c = 0; c < n; c++) {
                double sum = 0;
                for (size_t r = 0; r < rows; r++)
                    sum += fabs(j[r * n + c]);
                best = sum > best ? sum : best;
            }
        }
        assert_true(best <= s.analysis->g[0].upper * (1 + 1e-12));
        assert_true(s.analysis->g[0].lower >= best * (1 - 1e-3)); /* a search, but it should not lose to luck */
        study_end(&s);
    }
}

static char *read_example(const char *name) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/examples/%s", TACIT_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    assert_true(fread(text, 1, 65535, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void the_papers_constants_come_out_exactly(void **state) {
    (void)state;
    char *text = read_example("paper.tacit");
    study s = study_text(text, NULL);
    const tc_analysis *a = s.analysis;
    assert_true(tc_analysis_holds(a));
    assert_true(a->g[0].lower == 40 && a->g[0].upper == 40);
    assert_true(closed(&a->g[1], 1e-9));
    assert_true(fabs(a->g[1].upper - 56.777686723073614) < 1e-9); /* numpy.linalg.norm at the vertex (10, ..., 10) */
    assert_true(tc_declared_too_small(&a->g[0]) && tc_declared_too_small(&a->g[1]));
    static const double one[] = {4, 2, 2, 4, 2, 4, 2, 4, 2, 2};
    for (size_t i = 0; i < 10; i++) {
        const tc_bracket *k = a->agents[i].jacobian;
        assert_true(k[0].lower == one[i] && k[0].upper == one[i]);
        assert_true(closed(&k[1], 1e-9) && fabs(k[1].upper - (one[i] == 4 ? sqrt(8) : 2)) < 1e-12);
        assert_true(tc_declared_too_small(&k[0]) == (i == 3)); /* the published table misses x_4 in g_5 */
        assert_false(tc_declared_uncertified(&k[0]) || tc_declared_uncertified(&k[1]));
    }
    assert_true(a->total.varying == 25 && a->total.constants == 3 && a->total.zeros == 92);
    assert_true(fabs(a->slater_facts.margin - 10) < 1e-9);
    assert_true(fabs(a->dual_radius.value - 466.7) < 1e-9);
    study_end(&s);
    free(text);
}

static void affine_constraints_with_mixed_signs_close(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int t = 0; t < 20; t++) {
        AT_CASE(t);
        char text[8192];
        int at = snprintf(text, sizeof text, "agents a[i in 1..4] {\n state x[3] in [-1, 1]\n private minimize 0\n}\n");
        for (int j = 0; j < 3 + t % 5; j++) {
            at += snprintf(text + at, sizeof text - (size_t)at, "constraint c%d: 0", j);
            for (int k = 0; k < 12; k++)
                at += snprintf(text + at, sizeof text - (size_t)at, " + (%.3f)*a[%d].x[%d]", 2 * random_unit(&seed) - 1,
                               k / 3 + 1, k % 3 + 1);
            at += snprintf(text + at, sizeof text - (size_t)at, " <= 99\n");
        }
        study s = study_text(text, &only_constants);
        assert_true(closed(&s.analysis->g[0], 1e-9) && closed(&s.analysis->g[1], 1e-9));
        assert_true(s.analysis->agents[0].jacobian[1].upper == 0);
        attack(&s, 2000);
        study_end(&s);
    }
}

static void a_box_of_one_point_closes(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x[2] in [0.3, 0.3]\n private minimize exp(x[1])\n}\n"
                         "constraint c: exp(a.x[1] * 3) + a.x[2]^4 * 7 - a.x[1] <= 99\n",
                         &only_constants);
    for (int p = 0; p < 2; p++) {
        assert_true(closed(&s.analysis->g[p], 1e-9));
        assert_true(closed(&s.analysis->agents[0].jacobian[p], 1e-9));
    }
    assert_true(closed(&s.analysis->agents[0].objective, 1e-9));
    study_end(&s);
}

static void entries_whose_squares_underflow_are_not_lost(void **state) {
    (void)state;
    study s = study_text("agent a { state x[2] in [0, 1]; private minimize 1e-170*sumsq(x) }\n"
                         "constraint c: 1e-200*a.x[1] + 1e-170*sumsq(a.x) <= 1\n"
                         "constraint d: 1e-200*a.x[2] <= 1\n",
                         NULL);
    assert_true(s.analysis->g[1].upper >= 2e-170);
    assert_true(s.analysis->agents[0].jacobian[1].upper >= 2e-170);
    assert_true(s.analysis->agents[0].objective.upper >= 2e-170);
    study_end(&s);
}

static void an_objectives_lower_bound_is_attained_inside_the_set(void **state) {
    (void)state;
    /* x[1] is at most 5 in X_i, where the second derivative is 300; the box around X_i does not know that */
    study s = study_text("agent a {\n state x[2] in [0, 10]\n private minimize x[1]^4\n"
                         " private set x[1] + x[2] <= 10\n private set x[1] - x[2] <= 0\n}\n"
                         "constraint c: a.x[1] <= 11\ndeclare lipschitz objective a 301\n",
                         NULL);
    const tc_bracket *bracket = &s.analysis->agents[0].objective;
    assert_true(bracket->lower <= 300 * (1 + 1e-9));
    assert_true(bracket->upper >= 300);
    assert_false(tc_declared_too_small(bracket));
    study_end(&s);
}

static void a_wide_box_keeps_the_order(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x[2] in [-1e150, 1e150]\n private minimize 0\n}\n"
                         "constraint c: sumsq(a.x) <= 1\nconstraint d: a.x[1] <= 1e-300\n",
                         &only_constants);
    check_order(&s);
    assert_true(closed(&s.analysis->g[0], 1e-9) && closed(&s.analysis->g[1], 1e-9));
    study_end(&s);
}

static void a_family_has_the_constants_of_the_same_agents_written_singly(void **state) {
    (void)state;
    study family = study_text(
        "agents a[i in 1..4] {\n state x[2] in [-1, 3]\n private minimize sumsq(x)*i\n}\n"
        "constraint c1: sum(a: i*x[1]^2 + x[2]) <= 9\nconstraint c2: (sum(a: x[1] - x[2]))^2 + a[2].x[1] <= 9\n",
        NULL);
    char text[4096], one[512] = "0", two[512] = "0";
    int at = 0;
    for (int i = 1; i <= 4; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "agent a%d {\n state x[2] in [-1, 3]\n private minimize sumsq(x)*%d\n}\n", i, i);
        (void)snprintf(one + strlen(one), sizeof one - strlen(one), " + %d*a%d.x[1]^2 + a%d.x[2]", i, i, i);
        (void)snprintf(two + strlen(two), sizeof two - strlen(two), " + a%d.x[1] - a%d.x[2]", i, i);
    }
    (void)snprintf(text + at, sizeof text - (size_t)at,
                   "constraint c1: %s <= 9\nconstraint c2: (%s)^2 + a2.x[1] <= 9\n", one, two);
    study single = study_text(text, NULL);
    for (int p = 0; p < 2; p++) {
        const tc_bracket *x = &family.analysis->g[p], *y = &single.analysis->g[p];
        assert_true(fabs(x->upper - y->upper) <= 1e-9 * y->upper && fabs(x->lower - y->lower) <= 1e-9 * y->upper);
        for (size_t i = 0; i < 4; i++) {
            x = &family.analysis->agents[i].jacobian[p];
            y = &single.analysis->agents[i].jacobian[p];
            assert_true(fabs(x->upper - y->upper) <= 1e-9 * y->upper && fabs(x->lower - y->lower) <= 1e-9 * y->upper);
            assert_true(family.analysis->agents[i].objective.upper == single.analysis->agents[i].objective.upper);
        }
    }
    assert_true(fabs(family.analysis->slater_facts.margin - single.analysis->slater_facts.margin) < 1e-6);
    study_end(&family);
    study_end(&single);
}

static void rows_by_family_hold_for_every_member(void **state) {
    (void)state;
    const char *text = "agents a[i in 1..6] {\n state x[2] in [-1, i]\n private minimize exp(i*x[1]/3)\n}\n"
                       "constraint c1: sum(a: i*x[1]^2 + x[2]^4) <= 9\nconstraint c2: exp(sum(a: x[1])/20) <= 9\n";
    tc_analysis_options options = {.rows_limit = 5, .skip_private = true};
    study by_family = study_text(text, &options), by_agent = study_text(text, &only_constants);
    assert_true(by_family.analysis->by_family && by_family.analysis->agent_rows == 1);
    const tc_agent_constants *row = &by_family.analysis->agents[0];
    for (size_t i = 0; i < 6; i++) {
        for (int p = 0; p < 2; p++)
            assert_true(by_agent.analysis->agents[i].jacobian[p].lower <= row->jacobian[p].upper);
        assert_true(by_agent.analysis->agents[i].objective.lower <= row->objective.upper);
    }
    assert_true(row->objective.upper == by_agent.analysis->agents[5].objective.upper);
    study_end(&by_family);
    study_end(&by_agent);
}

/* g = (sum of w_i x_i)^2: the block of agent i has the derivative 2 w_i w', listed or, for many agents, bounded. */
static void coupled_members_are_bounded_closely_however_many(void **state) {
    (void)state;
    for (size_t n = 50; n <= 5000; n *= 100) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "agents a[i in 1..%zu] {\n state x in [-1, 1]\n private minimize 0\n}\n"
                       "constraint c: (sum(a: i*x))^2/1000000 <= 1\n",
                       n);
        tc_analysis_options options = {.rows_limit = 10, .skip_private = true};
        study s = study_text(text, &options);
        double length = sqrt((double)n * ((double)n + 1) * (2 * (double)n + 1) / 6);
        double one = 2e-6 * (double)n * (double)n, two = 2e-6 * (double)n * length;
        const tc_bracket *k = s.analysis->agents[0].jacobian;
        assert_true(k[0].upper >= one * (1 - 1e-12) && k[0].upper <= one * (1 + 1e-9));
        assert_true(k[1].upper >= two * (1 - 1e-12) && k[1].upper <= two * (1 + 1e-9));
        assert_true(n > 50 || closed(&k[1], 1e-9));
        /* |J| = 2 |sum w x| |w|, largest at a vertex */
        double g = 2e-6 * ((double)n * ((double)n + 1) / 2) * length;
        assert_true(fabs(s.analysis->g[1].upper - g) <= 1e-9 * g && closed(&s.analysis->g[1], 1e-9));
        study_end(&s);
    }
}

/* ---- norms and log-sum-exp -------------------------------------------------------------------------------------- */

static study study_constraint(const char *state, const char *expression) {
    char text[512];
    (void)snprintf(text, sizeof text, "agent a {\n state %s\n private minimize 0\n}\nconstraint c: %s <= 100\n", state,
                   expression);
    return study_text(text, &only_constants);
}

static void assert_jacobian(const study *s, int p, double truth, double reached) {
    const tc_bracket *b = &s->analysis->agents[0].jacobian[p];
    assert_true(b->lower <= truth * (1 + 1e-12) && b->upper >= truth * (1 - 1e-12));
    if (!(b->upper <= reached && b->lower >= truth * (1 - 1e-6)))
        fail_msg("[%.17g, %.17g], but truly %.17g", b->lower, b->upper, truth);
}

static void smoothed_norms_of_one_variable_close(void **state) {
    (void)state;
    static const char *const forms[] = {"sqrt(a.x^2 + 0.01^2)", "norm([a.x, 0.01])", "sqrt(sumsq([a.x]) + 0.0001)",
                                        "2*sqrt(a.x^2/4 + 0.000025)", "pow(a.x^2 + 0.0001, 0.5)"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        study s = study_constraint("x in [-3, 3]", forms[i]);
        double truth = 3 / sqrt(9.0001);
        for (int p = 0; p < 2; p++) {
            assert_true(s.analysis->g[p].upper <= 1 + 1e-12 && fabs(s.analysis->g[p].upper - truth) <= 1e-12);
            assert_true(closed(&s.analysis->g[p], 1e-12));
            assert_jacobian(&s, p, 100, 100 * (1 + 1e-12));
        }
        study_end(&s);
    }
}

/* Entries are bounded one by one: the spectral norm of a row of two is then at most sqrt 2 of the truth. */
static void norms_of_two_variables_are_bounded_closely(void **state) {
    (void)state;
    study s = study_constraint("x[2] in [-3, 3]", "sqrt(sumsq(a.x) + 0.01^2)");
    assert_true(s.analysis->g[0].upper <= 1 && closed(&s.analysis->g[0], 1e-12));
    assert_true(s.analysis->g[1].upper <= 1.4143 && s.analysis->g[1].lower >= 0.99999);
    assert_jacobian(&s, 0, 100, 119.2451); /* 100 (1 + 1 / sqrt 27) */
    assert_jacobian(&s, 1, 100, 119.2451);
    study_end(&s);
    s = study_constraint("x[2] in [1, 3]", "norm([a.x[1], a.x[2], 1e-30])");
    assert_true(s.analysis->g[0].upper <= 3 / sqrt(10) * (1 + 1e-12) && closed(&s.analysis->g[0], 1e-12));
    assert_true(s.analysis->g[1].upper <= 1.3417);
    assert_jacobian(&s, 1, sqrt(0.5), 0.7385);
    study_end(&s);
}

static void the_cube_of_a_norm_has_finite_constants_across_zero(void **state) {
    (void)state;
    study s = study_constraint("x[2] in [-1, 1]", "norm(a.x)^3");
    assert_int_equal(s.analysis->constraints.verdict, TC_HOLDS);
    assert_true(closed(&s.analysis->g[0], 1e-9) && fabs(s.analysis->g[0].upper - 3 * sqrt(2)) <= 1e-9);
    assert_jacobian(&s, 1, 6 * sqrt(2), 10.25); /* 3 N (1 + u u'): 6 N at a vertex */
    study_end(&s);
}

static void logsumexp_of_opposite_arguments_closes(void **state) {
    (void)state;
    study s = study_constraint("x in [-3, 3]", "logsumexp(a.x, -a.x)");
    assert_true(fabs(s.analysis->g[0].upper - tanh(3)) <= 1e-12 && closed(&s.analysis->g[0], 1e-12));
    assert_jacobian(&s, 0, 1, 1 + 1e-12);
    study_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_sample_exceeds_an_upper_bound),
        cmocka_unit_test(no_sample_of_random_problems_exceeds_an_upper_bound),
        cmocka_unit_test(lower_bounds_are_at_least_what_vertices_give),
        cmocka_unit_test(the_papers_constants_come_out_exactly),
        cmocka_unit_test(affine_constraints_with_mixed_signs_close),
        cmocka_unit_test(a_box_of_one_point_closes),
        cmocka_unit_test(entries_whose_squares_underflow_are_not_lost),
        cmocka_unit_test(an_objectives_lower_bound_is_attained_inside_the_set),
        cmocka_unit_test(a_wide_box_keeps_the_order),
        cmocka_unit_test(a_family_has_the_constants_of_the_same_agents_written_singly),
        cmocka_unit_test(rows_by_family_hold_for_every_member),
        cmocka_unit_test(coupled_members_are_bounded_closely_however_many),
        cmocka_unit_test(smoothed_norms_of_one_variable_close),
        cmocka_unit_test(norms_of_two_variables_are_bounded_closely),
        cmocka_unit_test(the_cube_of_a_norm_has_finite_constants_across_zero),
        cmocka_unit_test(logsumexp_of_opposite_arguments_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
