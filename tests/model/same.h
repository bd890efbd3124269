/* That two texts are one problem, and that the parties' files have the numbers of the whole: to the last bit. */
#ifndef TC_TESTS_MODEL_SAME_H
#define TC_TESTS_MODEL_SAME_H

#include "model/evaluate.h"
#include "model/split/split.h"
#include "model/support.h"
#include "support/random.h"

static inline void expect_same_pieces(const tc_family *f, size_t k, const tc_family *g, size_t l) {
    assert_int_equal(f->piece_count, g->piece_count);
    for (size_t p = 0; p < f->piece_count; p++) {
        const tc_set_piece *a = &f->pieces[p], *b = &g->pieces[p];
        AT_CASE(p);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->first, b->first);
        assert_int_equal(a->count, b->count);
        assert_true(tc_coef_at(a->radius, k) == tc_coef_at(b->radius, l));
        for (size_t c = 0; a->center != NULL && c < a->count; c++)
            assert_true(tc_coef_at(a->center[c], k) == tc_coef_at(b->center[c], l));
        for (size_t c = 0; a->upper != NULL && c < a->count; c++)
            assert_true(tc_coef_at(a->upper[c], k) == tc_coef_at(b->upper[c], l));
    }
}

/* The same objective, set and start of one member each; x and y are points of the two models. */
static inline void expect_same_member(const tc_model *m, size_t f, size_t k, const double *x, const tc_model *n,
                                      size_t g, size_t l, const double *y) {
    const tc_family *one = &m->families[f], *other = &n->families[g];
    double a = objective_at(m, f, k, x), b = objective_at(n, g, l, y);
    assert_true(a == b || (isnan(a) && isnan(b)));
    expect_same_pieces(one, k, other, l);
    for (size_t c = 0; c < one->dim; c++)
        assert_true(tc_coef_at(one->start[c], k) == tc_coef_at(other->start[c], l));
}

static inline void expect_same_constraints(const tc_model *m, const tc_model *n, const double *x) {
    assert_int_equal(m->constraint_count, n->constraint_count);
    for (size_t j = 0; j < m->constraint_count; j++) {
        AT_CASE(j);
        assert_true(constraint_at(m, j, x) == constraint_at(n, j, x));
        assert_true(m->start_multipliers[j] == n->start_multipliers[j]);
    }
}

enum { MOST_STATES = 1000, TRIALS = 20 };

/* That two texts are the same problem, to the last bit, but for the names of constraints. */
static inline void expect_same(const char *text, const char *longer) {
    bench a = load_good(text), b = load_good(longer);
    uint64_t seed = 7;
    double x[MOST_STATES];
    assert_int_equal(a.model->state_count, b.model->state_count);
    for (int trial = 0; trial < TRIALS; trial++) {
        for (size_t i = 0; i < a.model->state_count; i++)
            x[i] = uniform(&seed, 0, 2);
        expect_same_constraints(a.model, b.model, x);
        for (size_t f = 0; f < a.model->family_count; f++) {
            for (size_t k = 0; k < a.model->families[f].count; k++)
                expect_same_member(a.model, f, k, x, b.model, f, k, x);
        }
    }
    bench_free(&a);
    bench_free(&b);
}

/* Called with the whole and a party's file: member k of its family; SIZE_MAX for the cloud's. */
typedef void party_check(const tc_model *whole, size_t family, size_t k, const bench *part);

static inline void expect_same_parts_of(bench b, party_check *check) {
    assert_true(b.model->state_count <= MOST_STATES);
    tc_arena *arena = tc_arena_new((size_t)1 << 30);
    tc_split_parts parts = {.arena = arena, .most = (size_t)1 << 20};
    const tc_split_wishes wishes = {.parts = &parts};
    size_t files;
    b.status = tc_split_with(b.arena, b.model, &wishes, NULL, &b.messages, &files);
    assert_string_equal(messages_of(&b), "");
    double x[MOST_STATES], y[MOST_STATES];
    uint64_t seed = 11;
    for (size_t i = 0; i < b.model->state_count; i++)
        x[i] = uniform(&seed, 0, 2);
    size_t agents = 0;
    for (size_t i = 0; i < parts.count; i++) {
        if (strstr(parts.list[i].name, ".csv") != NULL)
            put_file(parts.list[i].name, parts.list[i].text);
    }
    for (size_t i = 0; i < parts.count; i++) {
        if (strstr(parts.list[i].name, ".csv") != NULL)
            continue;
        bench part = load_good(parts.list[i].text);
        if (part.model->role == TC_ROLE_CLOUD) {
            expect_same_constraints(b.model, part.model, x);
            for (size_t g = 0; check != NULL && g < b.model->family_count; g++)
                check(b.model, g, SIZE_MAX, &part);
        } else {
            const tc_family *family = tc_family_of_agent(b.model, agents);
            size_t k = agents++ - family->first_agent;
            for (size_t c = 0; c < family->dim; c++)
                y[c] = x[tc_coord_of(family, k, c)];
            expect_same_member(b.model, (size_t)(family - b.model->families), k, x, part.model, 0, 0, y);
            if (check != NULL)
                check(b.model, (size_t)(family - b.model->families), k, &part);
        }
        bench_free(&part);
    }
    assert_int_equal(agents, b.model->agent_count);
    tc_arena_free(arena);
    bench_free(&b);
}

static inline void expect_same_parts(const char *text) { expect_same_parts_of(load_good(text), NULL); }

#endif
