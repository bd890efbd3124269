/* A round in parts: the bits of the whole on any number of threads, and nothing twice. */
/* labels: threads */
#include "analysis/region.h"
#include "base/team.h"
#include "plan/plan_by_hand.h"
#include "release/inside.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const TEXT = "agents home[i in 1..300] { state p[2] in [0, 8 + i / 100]; private minimize p[1] }\n"
                                "agent boss { state x in [-2, 2]; private minimize x^2 }\n"
                                "agents shop[i in 1..65] { state q in [0.1, 3]; private minimize q }\n"
                                "constraint a: sum(home: p[1]^2 + 0.3 * p[2]) + sum(boss: x^3) <= 50\n"
                                "constraint b: sum(home: p[1])^2 / 100 + home[3].p[1]^2 <= 5\n"
                                "constraint c: sum(home: p[2]) + boss.x^2 * home[200].p[2]^2 + sum(shop: q^2) <= 10\n"
                                "constraint d: 2 * boss.x + home[7].p[1] + shop[64].q^2 <= 4\n";

enum { MOST_ROWS = 5000 }; /* of one family's entries */

static const hand OUTPUTS = {.placement = TC_PLACEMENT_OUTPUTS,
                             .mechanism = TC_MECHANISM_LAPLACE,
                             .state_exponent = -16,
                             .step_exponent = -28,
                             .sum_exponent = -30,
                             .scale = 0x1.8p27,
                             .rounds = 5};

static hand states_by_hand(void) {
    hand by = OUTPUTS;
    by.placement = TC_PLACEMENT_STATES;
    by.mechanism = TC_MECHANISM_GAUSSIAN;
    return by;
}

/* Somewhat beyond the box, and off the lattice. */
static double *random_states(const problem *p, uint64_t seed) {
    double *x = TC_NEW(p->arena, double, p->model->state_count);
    for (size_t i = 0; i < p->model->state_count; i++)
        x[i] = 14 * random_unit(&seed) - 3;
    return x;
}

/* ---- the same bits ---- */

typedef struct share {
    const problem *p;
    gate *g;
    size_t block;
    const double *x; /* or, where NULL, the states of g */
    bool sums;
    atomic_int failures;
    size_t starts[4]; /* by family: its first part */
} share;

static tc_status take(const share *s, tc_release_worker *worker, size_t family, size_t block) {
    const tc_family *of = &s->p->model->families[family];
    const double *rows[2] = {NULL};
    if (s->x == NULL)
        return tc_release_take_stored(worker, family, block, s->g->states);
    for (size_t c = 0; c < of->dim; c++)
        rows[c] = s->x + tc_coord_of(of, block * s->block, c);
    return tc_release_take(worker, family, block, rows);
}

static tc_status release_rows(const share *s, tc_release_worker *worker, size_t family, size_t block) {
    const tc_family *of = &s->p->model->families[family];
    const tc_family_entries *entries = &s->g->out->layout->families[family];
    double *rows[MOST_ROWS];
    for (size_t c = 0; s->g->out->states != NULL && c < of->dim; c++)
        rows[c] = s->g->out->states + tc_coord_of(of, block * s->block, c);
    for (size_t e = 0; s->g->out->states == NULL && e < entries->shared_count; e++)
        rows[e] = s->g->out->jacobian + entries->first + e * of->count + block * s->block;
    return s->g->out->states != NULL ? tc_release_states(worker, rows) : tc_release_entries(worker, rows);
}

static void do_part(void *context, size_t number, size_t part) {
    share *s = context;
    size_t family = 0;
    while (part >= s->starts[family + 1])
        family++;
    tc_release_worker *worker = tc_release_worker_at(s->g->release, number);
    size_t block = part - s->starts[family];
    tc_status status = take(s, worker, family, block);
    if (status == TC_OK)
        status = s->sums ? tc_release_sum(worker) : release_rows(s, worker, family, block);
    if (status != TC_OK)
        (void)atomic_fetch_add(&s->failures, 1);
}

static void release_in_parts(const problem *p, gate *g, size_t block, tc_team *team, uint64_t round, const double *x) {
    share s = {.p = p, .g = g, .block = block, .x = x};
    for (size_t f = 0; f < p->model->family_count; f++)
        s.starts[f + 1] = s.starts[f] + (p->model->families[f].count + block - 1) / block;
    assert_int_equal(tc_release_open(g->release, round), TC_OK);
    if (g->out->states == NULL) {
        s.sums = true;
        tc_team_run(team, s.starts[p->model->family_count], do_part, &s);
        assert_int_equal(tc_release_close_sums(g->release, g->out), TC_OK);
        s.sums = false;
    }
    tc_team_run(team, s.starts[p->model->family_count], do_part, &s);
    tc_release_close(g->release);
    assert_int_equal(atomic_load(&s.failures), 0);
}

static void expect_same(const problem *p, const tc_released *a, const tc_released *b) {
    assert_memory_equal(a->constraints, b->constraints, p->model->constraint_count * sizeof(double));
    assert_memory_equal(a->jacobian, b->jacobian, a->layout->position_count * sizeof(double));
    if (a->states != NULL)
        assert_memory_equal(a->states, b->states, p->model->state_count * sizeof(double));
}

/* Bit k of whole_rounds: round k is released whole by both. */
static void compare(const char *text, const hand *by, size_t block, size_t threads, unsigned whole_rounds) {
    problem p = problem_of(text);
    tc_release_settings settings = {.block = block};
    gate whole = gate_of(&p, plan_by_hand(&p, by), 9, &settings),
         parts = gate_of(&p, plan_by_hand(&p, by), 9, &settings);
    tc_team *team = tc_team_new(p.arena, threads);
    assert_int_equal(tc_release_hire(p.arena, parts.release, threads), TC_OK);
    for (uint64_t round = 1; round <= 4; round++) {
        const double *x = random_states(&p, round);
        assert_int_not_equal(tc_states_take(whole.states, x), TC_STATE_REFUSED);
        assert_int_not_equal(tc_states_take(parts.states, x), TC_STATE_REFUSED);
        if (round == 2)
            assert_int_equal(tc_release_prepare(parts.release, round), TC_OK);
        assert_int_equal(tc_release_round(whole.release, round, whole.states, whole.out), TC_OK);
        if (whole_rounds >> round & 1)
            assert_int_equal(tc_release_round(parts.release, round, parts.states, parts.out), TC_OK);
        else
            release_in_parts(&p, &parts, block, team, round, round == 3 ? NULL : x);
        if (by->mechanism == TC_MECHANISM_NONE && by->placement == TC_PLACEMENT_STATES)
            assert_memory_equal(whole.out->states, parts.out->states, p.model->state_count * sizeof(double));
        else
            expect_same(&p, whole.out, parts.out);
    }
    problem_free(&p);
}

static void parts_have_the_bits_of_the_whole_on_any_number_of_threads(void **state) {
    (void)state;
    static const size_t blocks[] = {1, 7, 64, 100, TC_RELEASE_BLOCK};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        for (size_t threads = 1; threads <= 3; threads += 2)
            for (int variant = 0; variant < 16; variant++) {
                hand by = variant & 1 ? states_by_hand() : OUTPUTS;
                by.split = (variant & 2) != 0;
                by.every_entry = (variant & 4) != 0;
                if (variant & 8)
                    by.mechanism = TC_MECHANISM_NONE;
                compare(TEXT, &by, blocks[i], threads, 0);
            }
}

/* More rows in one channel than a worker draws at once: the published calibration has one channel for all of g. */
static const char *const LONG = "agents home[i in 1..3] { state p in [0, 1]; private minimize p }\n"
                                "constraint c[k in 1..5000]: sum(home: p) <= 10 + k\n";

static void thousands_of_constraints_have_the_bits_of_the_whole(void **state) {
    (void)state;
    hand by = OUTPUTS;
    by.every_entry = true;
    compare(LONG, &by, TC_RELEASE_BLOCK, 2, 0);
}

static void no_piece_is_longer_than_what_a_worker_draws_at_once(void **state) {
    (void)state;
    problem p = problem_of(LONG);
    hand by = OUTPUTS;
    by.every_entry = true;
    gate g = gate_of(&p, plan_by_hand(&p, &by), 9, NULL);
    const tc_block_plan *plan = g.release->blocks;
    size_t rows = 0;
    for (size_t i = 0; i < plan->outer_piece_count; i++) {
        assert_true(plan->outer_pieces[i].count <= TC_NOISE_ROOM);
        assert_int_equal(plan->outer_pieces[i].offset, rows);
        rows += plan->outer_pieces[i].count;
    }
    assert_int_equal(rows, 5000);
    problem_free(&p);
}

static void a_round_in_parts_does_not_see_whether_those_before_were_whole(void **state) {
    (void)state;
    static const char *const alone = "agents boss[i in 1..1] { state x in [-2, 2]; private minimize x^2 }\n"
                                     "agent aide { state x in [-2, 2]; private minimize x^2 }\n"
                                     "constraint a: sum(boss: x^3) + aide.x <= 50\n";
    for (unsigned whole_rounds = 0; whole_rounds < 32; whole_rounds += 2)
        for (int variant = 0; variant < 8; variant++) {
            hand by = variant & 1 ? states_by_hand() : OUTPUTS;
            by.every_entry = (variant & 2) != 0;
            compare(variant & 4 ? alone : TEXT, &by, 64, 1, whole_rounds);
        }
}

static void an_agent_without_noise_keeps_its_constants_in_every_part(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..5] { state x in [-1, 1]; private minimize x }\n"
                           "constraint c: a[1].x^2 + a[2].x^2 + 3 * a[3].x + a[4].x^2 + a[5].x^2 <= 1\n");
    hand by = OUTPUTS;
    by.every_entry = by.split = true;
    tc_plan *plan = plan_by_hand(&p, &by);
    plan->channels[3] = plan->channels[4]; /* g, a1, a2, and then without a3 */
    plan->channels[4] = plan->channels[5];
    plan->channel_count--;
    gate g = gate_of(&p, plan, 7, &(tc_release_settings){.block = 2});
    tc_team *team = tc_team_new(p.arena, 1);
    g.out->jacobian[2] = 12345; /* whoever holds the rows need not know the constants */
    release_in_parts(&p, &g, 2, team, 1, random_states(&p, 1));
    assert_true(g.out->jacobian[2] == 3);
    assert_true(g.out->jacobian[1] != 3 && g.out->jacobian[3] != 3);
    problem_free(&p);
}

/* ---- once ---- */

typedef struct one { /* a single block of five homes */
    problem p;
    gate g;
    const double *rows[1];
    double x[5], out[5];
    double *outs[8];
    tc_release_worker *worker;
} one;

static one one_block(bool states) {
    one o = {.p = problem_of("agents home[i in 1..5] { state p in [0, 8]; private minimize p }\n"
                             "constraint a: sum(home: p^2) <= 50\n")};
    hand by = states ? states_by_hand() : OUTPUTS;
    o.g = gate_of(&o.p, plan_by_hand(&o.p, &by), 1, NULL);
    if (tc_release_hire(o.p.arena, o.g.release, 4) != TC_OK)
        abort();
    for (size_t k = 0; k < 5; k++)
        o.x[k] = (double)k;
    o.worker = tc_release_worker_at(o.g.release, 0);
    return o;
}

static void point(one *o) {
    o->rows[0] = o->x;
    for (size_t i = 0; i < 8; i++)
        o->outs[i] = o->out;
}

static void a_block_of_states_is_released_once_in_a_round(void **state) {
    (void)state;
    one o = one_block(true);
    point(&o);
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_BAD_USAGE); /* nothing is open */
    assert_int_equal(tc_release_open(o.g.release, 1), TC_OK);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE); /* nothing is taken */
    assert_int_equal(tc_release_take(o.worker, 0, 1, o.rows), TC_BAD_USAGE);
    assert_int_equal(tc_release_take(o.worker, 1, 0, o.rows), TC_BAD_USAGE);
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_sum(o.worker), TC_BAD_USAGE);
    assert_int_equal(tc_release_close_sums(o.g.release, o.g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_entries(o.worker, o.outs), TC_BAD_USAGE);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_OK);
    o.out[0] = 12345;
    o.x[0] = 7;
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE);
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE);
    tc_release_worker *other = tc_release_worker_at(o.g.release, 3);
    assert_int_equal(tc_release_take(other, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_states(other, o.outs), TC_BAD_USAGE);
    assert_true(o.out[0] == 12345);
    tc_release_close(o.g.release);
    assert_int_equal(tc_release_open(o.g.release, 2), TC_OK);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE); /* what was taken is gone */
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_OK);
    tc_release_close(o.g.release);
    problem_free(&o.p);
}

static void a_block_of_outputs_is_summed_and_released_once_with_the_same_states(void **state) {
    (void)state;
    one o = one_block(false);
    point(&o);
    tc_release_worker *other = tc_release_worker_at(o.g.release, 2);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_OK);
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE);
    assert_int_equal(tc_release_entries(o.worker, o.outs), TC_BAD_USAGE); /* before the sums are closed */
    assert_int_equal(tc_release_close_sums(o.g.release, o.g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_sum(o.worker), TC_OK);
    assert_int_equal(tc_release_sum(o.worker), TC_BAD_USAGE);
    assert_int_equal(tc_release_take(other, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_sum(other), TC_BAD_USAGE);
    assert_int_equal(tc_release_close_sums(o.g.release, o.g.out), TC_OK);
    double first = o.g.out->constraints[0];
    assert_int_equal(tc_release_close_sums(o.g.release, o.g.out), TC_BAD_USAGE);
    assert_true(o.g.out->constraints[0] == first);
    assert_int_equal(tc_release_sum(o.worker), TC_BAD_USAGE);
    o.x[3] += 0x1p-16; /* one step of the lattice */
    assert_int_equal(tc_release_take(other, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_entries(other, o.outs), TC_BAD_USAGE);
    o.x[3] -= 0x1p-16;
    assert_int_equal(tc_release_take(other, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_entries(other, o.outs), TC_OK);
    o.out[0] = 12345;
    assert_int_equal(tc_release_entries(other, o.outs), TC_BAD_USAGE);
    assert_int_equal(tc_release_entries(o.worker, o.outs), TC_BAD_USAGE);
    assert_true(o.out[0] == 12345);
    tc_release_close(o.g.release);
    problem_free(&o.p);
}

typedef struct race {
    one *o;
    atomic_int released, refused;
} race;

static void run_for_it(void *context, size_t worker, size_t i) {
    race *r = context;
    double out[5], *rows[] = {out};
    (void)worker;
    tc_release_worker *own = tc_release_worker_at(r->o->g.release, i);
    if (tc_release_take(own, 0, 0, r->o->rows) != TC_OK)
        return;
    tc_status status = tc_release_states(own, rows);
    (void)atomic_fetch_add(status == TC_OK ? &r->released : &r->refused, 1);
}

static void of_those_who_release_a_block_at_the_same_time_one_wins(void **state) {
    (void)state;
    one o = one_block(true);
    point(&o);
    tc_team *team = tc_team_new(o.p.arena, 4);
    for (uint64_t round = 1; round <= 5; round++) {
        race r = {.o = &o};
        assert_int_equal(tc_release_open(o.g.release, round), TC_OK);
        tc_team_run(team, 4, run_for_it, &r);
        tc_release_close(o.g.release);
        assert_int_equal(atomic_load(&r.released), 1);
        assert_int_equal(atomic_load(&r.refused), 3);
    }
    problem_free(&o.p);
}

static void a_round_is_opened_once_and_one_at_a_time(void **state) {
    (void)state;
    one o = one_block(false);
    point(&o);
    assert_int_equal(tc_release_open(o.g.release, 2), TC_BAD_USAGE);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_OK);
    assert_int_equal(tc_release_next_round(o.g.release), 2);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_BAD_USAGE);
    assert_int_equal(tc_release_open(o.g.release, 2), TC_BAD_USAGE);
    assert_int_equal(tc_release_prepare(o.g.release, 2), TC_BAD_USAGE); /* the first one's key is still needed */
    assert_int_equal(tc_release_round(o.g.release, 2, o.g.states, o.g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_hire(o.p.arena, o.g.release, 9), TC_BAD_USAGE);
    tc_release_close(o.g.release);
    tc_release_close(o.g.release);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_BAD_USAGE);
    assert_int_equal(tc_release_round(o.g.release, 1, o.g.states, o.g.out), TC_BAD_USAGE);
    assert_int_equal(tc_release_round(o.g.release, 2, o.g.states, o.g.out), TC_OK);
    for (uint64_t round = 3; round <= 5; round++) {
        assert_int_equal(tc_release_open(o.g.release, round), TC_OK);
        tc_release_close(o.g.release);
    }
    assert_int_equal(tc_release_open(o.g.release, 6), TC_BAD_USAGE); /* past the end */
    problem_free(&o.p);
}

static void sums_of_a_round_do_not_reach_into_the_next(void **state) {
    (void)state;
    one o = one_block(false), fresh = one_block(false);
    point(&o);
    point(&fresh);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_OK);
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
    assert_int_equal(tc_release_sum(o.worker), TC_OK);
    tc_release_close(o.g.release); /* given up half-way */
    tc_team *team = tc_team_new(o.p.arena, 1);
    release_in_parts(&o.p, &o.g, TC_RELEASE_BLOCK, team, 2, o.x);
    assert_int_equal(tc_release_open(fresh.g.release, 1), TC_OK);
    tc_release_close(fresh.g.release);
    release_in_parts(&fresh.p, &fresh.g, TC_RELEASE_BLOCK, team, 2, fresh.x);
    expect_same(&o.p, o.g.out, fresh.g.out);
    problem_free(&fresh.p);
    problem_free(&o.p);
}

static void states_that_are_not_finite_or_of_another_lattice_are_not_taken(void **state) {
    (void)state;
    static const double bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    one o = one_block(true);
    point(&o);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
        double before = o.x[i];
        o.x[i] = bad[i];
        assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_BAD_USAGE);
        assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE);
        o.x[i] = before;
    }
    tc_private_states *finer = tc_states_new(o.p.arena, o.p.model, OUTPUTS.state_exponent - 1);
    assert_int_equal(tc_release_take_stored(o.worker, 0, 0, finer), TC_BAD_USAGE);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_BAD_USAGE);
    tc_release_close(o.g.release);
    problem_free(&o.p);
}

static void a_forked_child_gets_no_noise_for_its_blocks(void **state) {
    (void)state;
    one o = one_block(true);
    point(&o);
    assert_int_equal(tc_release_open(o.g.release, 1), TC_OK);
    assert_int_equal(tc_release_take(o.worker, 0, 0, o.rows), TC_OK);
    o.out[0] = 12345;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(tc_release_states(o.worker, o.outs) == TC_NO_RANDOM && o.out[0] == 12345 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(tc_release_states(o.worker, o.outs), TC_OK);
    tc_release_close(o.g.release);
    problem_free(&o.p);
}

/* ---- states and numbers ---- */

static void all_states_at_once_are_as_one_by_one(void **state) {
    (void)state;
    static const int exponents[] = {-2, -16, -45, -48}; /* the last two: more than 50 bits, and nearly 53 */
    problem p = problem_of(TEXT);
    hand by = states_by_hand();
    by.mechanism = TC_MECHANISM_NONE; /* to look inside */
    for (size_t e = 0; e < 4; e++) {
        by.state_exponent = exponents[e];
        gate at_once = gate_of(&p, plan_by_hand(&p, &by), 1, NULL),
             singly = gate_of(&p, plan_by_hand(&p, &by), 1, NULL);
        double *x = random_states(&p, 5);
        x[0] = 1e300;
        x[1] = -1e300;
        assert_int_equal(tc_states_take(at_once.states, x), TC_STATE_CLAMPED);
        for (size_t f = 0; f < p.model->family_count; f++)
            for (size_t k = 0; k < p.model->families[f].count; k++) {
                double own[2] = {0};
                for (size_t c = 0; c < p.model->families[f].dim; c++)
                    own[c] = x[tc_coord_of(&p.model->families[f], k, c)];
                assert_int_not_equal(tc_states_from_doubles(singly.states, f, k, own), TC_STATE_REFUSED);
            }
        x[17] = NAN;
        assert_int_equal(tc_states_take(at_once.states, x), TC_STATE_REFUSED);
        assert_int_equal(tc_release_round(at_once.release, 1, at_once.states, at_once.out), TC_OK);
        assert_int_equal(tc_release_round(singly.release, 1, singly.states, singly.out), TC_OK);
        assert_memory_equal(at_once.out->states, singly.out->states, p.model->state_count * sizeof(double));
        for (size_t i = 0; i < p.model->state_count; i++) {
            tc_interval box = tc_coord_range(p.model, i);
            assert_true(box.lo <= singly.out->states[i] && singly.out->states[i] <= box.hi);
            x[i] = 1;
        }
        assert_int_equal(tc_states_take(at_once.states, x), TC_STATE_TAKEN);
    }
    problem_free(&p);
}

static void fast_rounding_and_conversion_are_exact(void **state) {
    (void)state;
    uint64_t seed = 1;
    static const int64_t ends[] = {INT64_MIN,        INT64_MIN + 1,         INT64_MAX, -1, 0, 1,
                                   INT64_C(1) << 53, (INT64_C(1) << 53) + 1};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        assert_true(tc_lattice_double(ends[i]) == (double)ends[i]);
    for (int i = 0; i < 100000; i++) {
        AT_CASE(i);
        double size = ldexp(random_unit(&seed) - 0.5, (int)(64 * random_unit(&seed)));
        int64_t whole = (int64_t)size + (int64_t)(8 * random_unit(&seed));
        assert_true(tc_lattice_double(whole) == (double)whole);
        double small = ldexp(random_unit(&seed) - 0.5, (int)(51 * random_unit(&seed)));
        double half = rint(small) + 0.5; /* a tie */
        assert_int_equal(tc_lattice_round_small(small, 1), tc_lattice_round(small, 1));
        assert_int_equal(tc_lattice_round_small(half, 0.5), tc_lattice_round(half, 0.5));
        assert_int_equal(tc_lattice_round_small(half, 1), tc_lattice_round(half, 1));
    }
    assert_int_equal(tc_lattice_round_small(TC_SMALL_UNITS, 1), INT64_C(1) << 50);
    assert_int_equal(tc_lattice_round_small(-TC_SMALL_UNITS, 1), -(INT64_C(1) << 50));
    assert_int_equal(tc_lattice_round_small(-0.25, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_bits_of_the_whole_on_any_number_of_threads),
        cmocka_unit_test(thousands_of_constraints_have_the_bits_of_the_whole),
        cmocka_unit_test(no_piece_is_longer_than_what_a_worker_draws_at_once),
        cmocka_unit_test(a_round_in_parts_does_not_see_whether_those_before_were_whole),
        cmocka_unit_test(an_agent_without_noise_keeps_its_constants_in_every_part),
        cmocka_unit_test(a_block_of_states_is_released_once_in_a_round),
        cmocka_unit_test(a_block_of_outputs_is_summed_and_released_once_with_the_same_states),
        cmocka_unit_test(of_those_who_release_a_block_at_the_same_time_one_wins),
        cmocka_unit_test(a_round_is_opened_once_and_one_at_a_time),
        cmocka_unit_test(sums_of_a_round_do_not_reach_into_the_next),
        cmocka_unit_test(states_that_are_not_finite_or_of_another_lattice_are_not_taken),
        cmocka_unit_test(a_forked_child_gets_no_noise_for_its_blocks),
        cmocka_unit_test(all_states_at_once_are_as_one_by_one),
        cmocka_unit_test(fast_rounding_and_conversion_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
