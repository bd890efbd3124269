/* A cloud whose agents are elsewhere: its bits are those of an engine with all parties together, and what it remembers
 * between two runs is enough to go on with the same ones. */
#include "engine/cloud_halves.h"

#define EQUALITIES                                                                                                     \
    "agents q[i in 1..4] {\n state u in [0, 3]\n private minimize (u - i / 4)^2\n}\n"                                  \
    "constraint balance: sum(q: u) == 7\nconstraint ties: q[1].u - q[2].u == 0.5\n"
#define ONE_ROW(relation)                                                                                              \
    "agents q[i in 1..4] {\n state u in [0, 3]\n private minimize (u - i / 4)^2\n}\n"                                  \
    "constraint balance: sum(q: u) " relation "\n" SCHEDULE
#define SCHEDULE "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"

typedef struct situation {
    const char *name, *text; /* text NULL: an example */
    uint64_t rounds;
} situation;

static const situation situations[] = {
    {"agents alone", AGENTS_ALONE SCHEDULE, 20},
    {"no constraint", "agent a {\n state x in [0, 1]\n private minimize x^2\n}\n" SCHEDULE, 3},
    {"5,000 alike, with data in curved bodies and some of them named",
     MANY_ALIKE_AND_SOME_NAMED "start multipliers 0.25\n" SCHEDULE, 3},
    {"9,000 alike, a curved function of their sums",
     "agents a[i in 1..9000] {\n state x in [-1, 4]\n private minimize (x - 2)^2\n private set x <= 1 + i / 9000\n}\n"
     "constraint c: sumsq(sum(a: x) / 9000 + a[17].x / 20) <= 1\n"
     "constraint d: sum(a: (i / 9000) * x) / 9000 <= 0.3\nstart multipliers 0.25\n" SCHEDULE,
     3},
    {"equalities", AGENTS_ALONE EQUALITIES SCHEDULE, 20},
    {"paper", NULL, 25},
    {"num", NULL, 25},
    {"robots", NULL, 12},
    {"ev", NULL, 2},
};
enum { SITUATIONS = sizeof situations / sizeof *situations };

static planned open_situation(const situation *of) {
    char path[512];
    if (of->text != NULL)
        return planned_problem("half.tacit", of->text);
    (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, of->name);
    return planned_problem(path, NULL);
}

/* One half without a team, three with one. The engine goes through whole arrays; its p is compared. */
static void follow(const situation *of, const half_case *wished) {
    enum { HALVES = 4 };
    tc_arena *arena = tc_arena_new(0);
    size_t n = wished->p->model->state_count;
    tc_engine *engine = half_engine(arena, wished, 11, TC_DRIVER_SMALL);
    half_answer answer = half_answer_new(arena, wished);
    tc_cloud_half *halves[HALVES];
    for (size_t i = 0; i < HALVES; i++)
        halves[i] = half_new(arena, wished, 11, i == 0 ? NULL : tc_team_new(arena, i), 1);
    for (uint64_t k = 1; k <= of->rounds; k++) {
        for (size_t i = 0; i < HALVES; i++)
            half_send_all(halves[i], wished, tc_engine_states(engine), i);
        run_to(engine, k);
        for (size_t i = 0; i < HALVES; i++) {
            if ((k + i) % 2 == 0)
                assert_int_equal(tc_cloud_half_prepare(halves[i], k), TC_OK);
            half_round(halves[i], k, &answer);
            half_expect(wished, halves[i], engine, of->name);
            assert_true(half_same(answer.p, engine->p, n));
            assert_memory_equal(&answer.scalars, &engine->scalars, sizeof answer.scalars);
        }
    }
    half_expect_feasibility(wished, halves[0], engine);
    tc_arena_free(arena);
}

/* ---- between two runs ----------------------------------------------------------------------------------------------
 */

static unsigned char *saved(tc_arena *arena, const tc_cloud_half *half) {
    unsigned char *bytes = TC_NEW(arena, unsigned char, tc_cloud_half_snapshot_size(half));
    tc_cloud_half_save(half, bytes);
    return bytes;
}

/* Every so many rounds a new half takes over, with a new source of the same seed and only what was saved. */
static void restart(const situation *of, const half_case *wished, uint64_t every) {
    tc_arena *arena = tc_arena_new(0);
    tc_engine *engine = half_engine(arena, wished, 5, TC_DRIVER_SMALL);
    half_answer answer = half_answer_new(arena, wished);
    tc_cloud_half *half = half_new(arena, wished, 5, NULL, 1);
    size_t size = tc_cloud_half_snapshot_size(half);
    for (uint64_t k = 1; k <= of->rounds; k++) {
        if (k % every == 0) {
            const unsigned char *memory = saved(arena, half);
            half = half_new(arena, wished, 5, NULL, k);
            assert_int_equal(tc_cloud_half_snapshot_size(half), size);
            assert_true(tc_cloud_half_load(half, memory, size));
            assert_memory_equal(saved(arena, half), memory, size);
            half_expect(wished, half, engine, of->name);
            if (k == 2)
                half_expect_feasibility(wished, half, engine);
        }
        half_send_all(half, wished, tc_engine_states(engine), k);
        run_to(engine, k);
        half_round(half, k, &answer);
        half_expect(wished, half, engine, of->name);
        assert_true(half_same(answer.p, engine->p, wished->p->model->state_count));
    }
    tc_arena_free(arena);
}

static void bits_are_an_engines_in_any_order_of_messages_with_any_team_and_after_any_restart(void **state) {
    (void)state;
    bool seen[TC_METHOD_TACIT + 1][TC_PLACEMENT_FORMS + 1] = {{false}};
    for (size_t i = 0; i < SITUATIONS; i++) {
        planned p = open_situation(&situations[i]);
        for (size_t w = 0; w < HALF_WISH_COUNT; w++) {
            half_case wished;
            bool is_dear = HALF_WISHES[w].mechanism == TC_MECHANISM_GAUSSIAN; /* to plan: two problems only */
            if ((is_dear && i % 4 != 1) || !half_case_of(&p, &HALF_WISHES[w], (double)situations[i].rounds, &wished))
                continue;
            follow(&situations[i], &wished);
            restart(&situations[i], &wished, 2 - i % 2);
            seen[wished.plan->method][wished.plan->placement] = true;
        }
        planned_end(&p);
    }
    assert_true(seen[TC_METHOD_PUBLISHED][TC_PLACEMENT_OUTPUTS]);
    assert_true(seen[TC_METHOD_TACIT][TC_PLACEMENT_OUTPUTS] && seen[TC_METHOD_TACIT][TC_PLACEMENT_STATES] &&
                seen[TC_METHOD_TACIT][TC_PLACEMENT_FORMS]);
}

typedef struct finished { /* a half of the method tacit after five rounds */
    planned p;
    half_case wished;
    tc_cloud_half *half;
    half_answer answer;
    unsigned char *memory;
    size_t size;
} finished;

static finished finish(void) {
    finished made = {.p = planned_problem("half.tacit", AGENTS_ALONE SCHEDULE)};
    return made;
}

/* In place, since the case points to the problem. */
static void run_five(finished *f, size_t wish) {
    assert_true(half_case_of(&f->p, &HALF_WISHES[wish], 8, &f->wished));
    f->half = half_new(f->p.arena, &f->wished, 3, NULL, 1);
    f->answer = half_answer_new(f->p.arena, &f->wished);
    for (uint64_t k = 1; k <= 5; k++)
        half_round(f->half, k, &f->answer);
    f->size = tc_cloud_half_snapshot_size(f->half);
    f->memory = saved(f->p.arena, f->half);
}

static bool loads(const finished *f, const unsigned char *memory, size_t size, uint64_t first_round) {
    tc_cloud_half *half = half_new(f->p.arena, &f->wished, 3, NULL, first_round);
    bool loaded = tc_cloud_half_load(half, memory, size);
    tc_engine_outcome outcome;
    half_answer answer = half_answer_new(f->p.arena, &f->wished);
    tc_status status = tc_cloud_half_round(half, first_round, &answer.scalars, answer.p, answer.input, &outcome);
    assert_int_equal(status, loaded ? TC_OK : TC_BAD_USAGE);
    return loaded;
}

static void what_is_no_memory_of_this_plan_is_refused(void **state) {
    (void)state;
    for (size_t wish = 0; wish < HALF_WISH_COUNT; wish += 3) {
        finished f = finish();
        run_five(&f, wish);
        assert_true(loads(&f, f.memory, f.size, 6));
        unsigned char *more = TC_NEW(f.p.arena, unsigned char, f.size + 1);
        memcpy(more, f.memory, f.size);
        assert_false(loads(&f, more, f.size + 1, 6));
        for (size_t size = 0; size < f.size; size += size < 80 ? 1 : 37) {
            unsigned char *cut = malloc(size + 1); /* so that a sanitizer sees who reads beyond */
            memcpy(cut, f.memory, size);
            assert_false(loads(&f, cut, size, 6));
            free(cut);
        }
        for (size_t at = 0; at < 40; at++) { /* the mark, its version, the plan's hash */
            more[at] ^= 1;
            assert_false(loads(&f, more, f.size, 6));
            more[at] ^= 1;
        }
        for (size_t at = 41; at < 56; at++) { /* the round, beyond its lowest byte; whether there is a gap */
            more[at] ^= 2;
            assert_false(loads(&f, more, f.size, 6));
            more[at] ^= 2;
        }
        memset(more + 56, 0xff, 8); /* a multiplier that is no number */
        assert_false(loads(&f, more, f.size, 6));
        assert_false(loads(&f, f.memory, f.size, 5)); /* a round that was seen */
        assert_false(loads(&f, f.memory, f.size, 1));
        planned_end(&f.p);
    }
}

/* The first multiplier of a snapshot by method published, with its sign turned. */
static void only_an_equality_has_a_negative_multiplier(void **state) {
    (void)state;
    const bool equals[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        finished f = {.p = planned_problem("half.tacit", equals[i] ? ONE_ROW("== 7") : ONE_ROW(">= 7"))};
        run_five(&f, 0);
        assert_true(loads(&f, f.memory, f.size, 6));
        assert_true(equals[i] == ((f.memory[63] & 0x80) != 0)); /* sum(q: u) is below 7 at first */
        f.memory[63] ^= 0x80;
        assert_int_equal(loads(&f, f.memory, f.size, 6), equals[i]);
        planned_end(&f.p);
    }
}

static void a_memory_of_any_bytes_is_refused_or_gives_finite_answers(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t wish = 0; wish < HALF_WISH_COUNT; wish += 3) {
        finished f = finish();
        run_five(&f, wish);
        unsigned char *other = TC_NEW(f.p.arena, unsigned char, f.size);
        for (int trial = 0; trial < 60; trial++) {
            tc_arena *arena = tc_arena_new(0);
            tc_cloud_half *half = half_new(arena, &f.wished, 3, NULL, 6);
            tc_engine_outcome outcome;
            memcpy(other, f.memory, f.size);
            for (size_t at = 56; at < f.size; at++)
                if (random_unit(&random) < 0.02)
                    other[at] = (unsigned char)(random_unit(&random) * 256);
            if (tc_cloud_half_load(half, other, f.size) &&
                tc_cloud_half_round(half, 6, &f.answer.scalars, f.answer.p, f.answer.input, &outcome) == TC_OK &&
                outcome == TC_ENGINE_DONE)
                for (size_t i = 0; i < f.p.model->state_count; i++)
                    assert_true(isfinite(f.answer.p[i]));
            tc_arena_free(arena);
        }
        planned_end(&f.p);
    }
}

static void the_memory_of_another_plan_is_refused(void **state) {
    (void)state;
    finished f = finish();
    run_five(&f, 3);
    half_case other;
    assert_true(half_case_of(&f.p, &HALF_WISHES[3], 9, &other)); /* one round more */
    tc_cloud_half *half = half_new(f.p.arena, &other, 3, NULL, 6);
    assert_int_equal(tc_cloud_half_snapshot_size(half), f.size);
    assert_false(tc_cloud_half_load(half, f.memory, f.size));
    planned_end(&f.p);
}

/* A restored back-up: rounds 6 and 7 have been seen, and are not in the memory. */
static void where_rounds_are_missing_it_goes_on_and_says_nothing_of_feasibility(void **state) {
    (void)state;
    for (size_t wish = 0; wish < HALF_WISH_COUNT; wish += 3) {
        finished f = finish();
        run_five(&f, wish);
        bool is_shown = f.wished.facts != NULL;
        assert_true((tc_cloud_half_feasibility(f.half) != NULL) == is_shown);
        tc_cloud_half *half = half_new(f.p.arena, &f.wished, 4, NULL, 8);
        assert_true(tc_cloud_half_load(half, f.memory, f.size));
        assert_int_equal(tc_cloud_half_rounds(half), 7);
        assert_null(tc_cloud_half_feasibility(half));
        half_round(half, 8, &f.answer);
        assert_null(tc_cloud_half_feasibility(half));
        tc_cloud_half *later = half_new(f.p.arena, &f.wished, 4, NULL, 9);
        assert_true(tc_cloud_half_load(later, saved(f.p.arena, half), f.size));
        assert_null(tc_cloud_half_feasibility(later)); /* the gap is remembered */
        planned_end(&f.p);
    }
}

/* ---- what is asked for in a wrong way ------------------------------------------------------------------------------
 */

static void rounds_come_one_after_another_within_the_plan(void **state) {
    (void)state;
    finished f = finish();
    run_five(&f, 0);
    tc_engine_outcome outcome;
    const uint64_t wrong[] = {0, 1, 5, 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tc_cloud_half_prepare(f.half, wrong[i]), TC_BAD_USAGE);
        assert_int_equal(tc_cloud_half_round(f.half, wrong[i], &f.answer.scalars, f.answer.p, f.answer.input, &outcome),
                         TC_BAD_USAGE);
    }
    for (uint64_t k = 6; k <= 8; k++)
        half_round(f.half, k, &f.answer);
    assert_int_equal(tc_cloud_half_round(f.half, 9, &f.answer.scalars, f.answer.p, f.answer.input, &outcome),
                     TC_BAD_USAGE);
    assert_int_equal(tc_cloud_half_rounds(f.half), 8);
    planned_end(&f.p);
}

static void a_cloud_half_that_begins_later_has_to_be_loaded(void **state) {
    (void)state;
    finished f = finish();
    run_five(&f, 3);
    tc_cloud_half *half = half_new(f.p.arena, &f.wished, 3, NULL, 6);
    tc_engine_outcome outcome;
    assert_int_equal(tc_cloud_half_prepare(half, 6), TC_BAD_USAGE);
    assert_int_equal(tc_cloud_half_round(half, 6, &f.answer.scalars, f.answer.p, f.answer.input, &outcome),
                     TC_BAD_USAGE);
    assert_false(tc_cloud_half_load(f.half, f.memory, f.size)); /* and not after its first round */
    planned_end(&f.p);
}

static void states_of_nobody_are_refused_and_states_outside_the_box_clamped(void **state) {
    (void)state;
    finished f = finish();
    run_five(&f, 0);
    const int64_t zeros[3] = {0}, far[3] = {INT64_MAX, INT64_MIN, 0};
    assert_int_equal(tc_cloud_half_take(f.half, 0, 0, zeros), TC_STATE_TAKEN);
    assert_int_equal(tc_cloud_half_take(f.half, 0, 0, far), TC_STATE_CLAMPED);
    assert_int_equal(tc_cloud_half_take(f.half, 0, 1, zeros), TC_STATE_REFUSED);
    assert_int_equal(tc_cloud_half_take(f.half, 3, 0, zeros), TC_STATE_REFUSED);
    planned_end(&f.p);
}

/* Honest agents: the bits of an engine. One that sends the far corner of its box: those of the state in its public set
 * that the cloud moves it to. */
static void public_sets_are_enforced_for_the_unit_agent(void **state) {
    (void)state;
    static const situation homes = {
        .name = "homes with a public set",
        .text = "agents home[i in 1..7] {\n state p[3] in [0, 2]\n public set p[1] + 2 * p[2] + p[3] <= 4\n"
                " private set sum(p) >= 1\n private minimize sumsq(p - i / 3)\n gap 90\n slater p = 0.5\n}\n"
                "constraint c[t in 1..3]: sum(home: p[t]) <= 5\n" SCHEDULE,
        .rounds = 12};
    size_t tried = 0;
    for (size_t w = 0; w < HALF_WISH_COUNT; w++) {
        planned p = open_situation(&homes);
        half_case wished;
        if (HALF_WISHES[w].mechanism != TC_MECHANISM_NONE &&
            half_case_in(&p, &HALF_WISHES[w], TC_ADJACENCY_AGENT, (double)homes.rounds, &wished)) {
            int64_t per_one = (int64_t)ldexp(1, -wished.plan->state_exponent);
            const int64_t corner[] = {2 * per_one, 2 * per_one,
                                      2 * per_one}; /* 8: 4 too many, but for 2 h (1 + 2 + 1) */
            const int64_t moved[] = {0, per_one + 4, 2 * per_one};
            half_answer answers[2] = {half_answer_new(p.arena, &wished), half_answer_new(p.arena, &wished)};
            follow(&homes, &wished);
            for (size_t i = 0; i < 2; i++) {
                tc_cloud_half *half = half_new(p.arena, &wished, 3, NULL, 1);
                assert_int_equal(tc_cloud_half_take(half, 0, 4, i == 0 ? corner : moved),
                                 i == 0 ? TC_STATE_CLAMPED : TC_STATE_TAKEN);
                half_round(half, 1, &answers[i]);
            }
            assert_true(half_same(answers[0].p, answers[1].p, p.model->state_count));
            tried++;
        }
        planned_end(&p);
    }
    assert_true(tried >= 6);
}

static void a_cloud_cannot_be_made_from_an_agents_file(void **state) {
    (void)state;
    finished f = finish();
    run_five(&f, 0);
    tc_model agent = *f.p.model;
    agent.role = TC_ROLE_AGENT;
    tc_cloud_half_settings settings = {.dual_radius = 1, .first_round = 1};
    tc_cloud_half *half = NULL;
    const char *why = NULL;
    assert_int_equal(tc_cloud_half_new(f.p.arena, f.wished.plan, &agent, f.p.derivatives, run_random(f.p.arena, 1),
                                       &settings, &half, &why),
                     TC_BAD_USAGE);
    assert_non_null(why);
    assert_null(half);
    planned_end(&f.p);
}

/* ---- what ceases to be finite --------------------------------------------------------------------------------------
 */

static void nothing_is_answered_where_something_is_not_finite(void **state) {
    (void)state;
    static const struct {
        const char *constraint, *reason;
    } cases[] = {
        {"constraint c: exp(a[2].x) <= 3\n", "the released value of constraint c in round 1"},
        {"constraint c: 1e300 * a[2].x - 1e301 <= 0\nstart multipliers 1e10\n", "the answer to a[2] in round 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        (void)snprintf(text, sizeof text, "agents a[i in 1..3] {\n state x in [0, 800]\n private minimize x^2\n}\n%s%s",
                       cases[i].constraint, SCHEDULE);
        planned p = planned_problem("diverges.tacit", text);
        half_case wished;
        tc_plan_options options = planned_options();
        options.mechanism = TC_MECHANISM_NONE;
        wished = (half_case){.p = &p, .plan = planned_plan(&p, &options), .radius = INFINITY};
        tc_cloud_half *half = half_new(p.arena, &wished, 1, NULL, 1);
        half_answer answer = half_answer_new(p.arena, &wished);
        tc_engine_outcome outcome;
        const double far[] = {800, 800, 800};
        half_send_all(half, &wished, far, 0);
        assert_int_equal(tc_cloud_half_round(half, 1, &answer.scalars, answer.p, answer.input, &outcome), TC_OK);
        assert_int_equal(outcome, TC_ENGINE_DIVERGED);
        assert_string_equal(tc_cloud_half_reason(half), cases[i].reason);
        assert_int_equal(tc_cloud_half_rounds(half), 0);
        assert_int_equal(tc_cloud_half_round(half, 1, &answer.scalars, answer.p, answer.input, &outcome), TC_BAD_USAGE);
        planned_end(&p);
    }
}

/* ---- what identifies an input --------------------------------------------------------------------------------------
 */

static void send(tc_cloud_half *half, int64_t first, int64_t last) {
    const int64_t a[2] = {first, 2}, b[1] = {3}, c[3] = {4, 5, last};
    const int64_t *const all[] = {a, b, c};
    for (size_t f = 0; f < 3; f++)
        assert_int_equal(tc_cloud_half_take(half, f, 0, all[f]), TC_STATE_TAKEN);
}

static void inputs_are_told_apart_by_state_round_and_key_alone(void **state) {
    (void)state;
    planned p = planned_problem("half.tacit", AGENTS_ALONE SCHEDULE);
    half_case wished;
    assert_true(half_case_of(&p, &HALF_WISHES[0], 8, &wished));
    half_answer first = half_answer_new(p.arena, &wished), other = half_answer_new(p.arena, &wished);
    tc_cloud_half *half = half_new(p.arena, &wished, 3, NULL, 1), *same = half_new(p.arena, &wished, 3, NULL, 1);
    send(half, 1, 6);
    send(same, 7, 7);
    send(same, 1, 6);
    half_round(half, 1, &first);
    half_round(same, 1, &other);
    assert_memory_equal(first.input, other.input, TC_STATES_MAC);
    half_round(half, 2, &other);
    assert_memory_not_equal(first.input, other.input, TC_STATES_MAC);
    const struct {
        uint64_t seed;
        int64_t a, c;
    } others[] = {{4, 1, 6}, {3, 2, 6}, {3, -1, 6}, {3, 1, 7}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tc_cloud_half *another = half_new(p.arena, &wished, others[i].seed, NULL, 1);
        send(another, others[i].a, others[i].c);
        half_round(another, 1, &other);
        assert_memory_not_equal(first.input, other.input, TC_STATES_MAC);
    }
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_an_engines_in_any_order_of_messages_with_any_team_and_after_any_restart),
        cmocka_unit_test(what_is_no_memory_of_this_plan_is_refused),
        cmocka_unit_test(only_an_equality_has_a_negative_multiplier),
        cmocka_unit_test(a_memory_of_any_bytes_is_refused_or_gives_finite_answers),
        cmocka_unit_test(the_memory_of_another_plan_is_refused),
        cmocka_unit_test(where_rounds_are_missing_it_goes_on_and_says_nothing_of_feasibility),
        cmocka_unit_test(rounds_come_one_after_another_within_the_plan),
        cmocka_unit_test(a_cloud_half_that_begins_later_has_to_be_loaded),
        cmocka_unit_test(states_of_nobody_are_refused_and_states_outside_the_box_clamped),
        cmocka_unit_test(public_sets_are_enforced_for_the_unit_agent),
        cmocka_unit_test(a_cloud_cannot_be_made_from_an_agents_file),
        cmocka_unit_test(nothing_is_answered_where_something_is_not_finite),
        cmocka_unit_test(inputs_are_told_apart_by_state_round_and_key_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
