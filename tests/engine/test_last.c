/* The last round of --feasible always: the same bits for both drivers, any team and agents elsewhere, also after a
 * restart; and what is said to hold with certainty does. */
/* labels: threads */
#include "engine/cloud_halves.h"
#include "engine/tacit/controller_inside.h"

#define EXAMPLE(name) TACIT_SOURCE_DIR "/examples/" name ".tacit"
#define MANY                                                                                                           \
    "agents a[i in 1..3000] {\n state x[3] in [0, 4]\n private minimize (x[1] - 3)^2 + (x[2] - i / 3000)^2 + x[3]^2\n" \
    " gap 20; slater x = 0.5\n}\n"                                                                                     \
    "agent b {\n state z[2] in [0.5, 3]\n private minimize sumsq(z - 3)\n gap 20; slater z = 1\n}\n"                   \
    "constraint c: sum(a: x[1] + x[2]) + b.z[1] <= 5000\n"                                                             \
    "constraint d: sumsq(sum(a: x[2] - x[3]) / 3000) + a[2999].x[1]^2 + b.z[2]^2 <= 20\n"                              \
    "schedule { rounds 30 }\n"

typedef struct situation {
    const char *path, *text;
    tc_adjacency unit;
    uint64_t rounds;
} situation;

static const situation situations[] = {
    {EXAMPLE("paper"), NULL, TC_ADJACENCY_ONE, 200},    {EXAMPLE("num"), NULL, TC_ADJACENCY_ONE, 200},
    {EXAMPLE("dispatch"), NULL, TC_ADJACENCY_ONE, 200}, {EXAMPLE("robots"), NULL, TC_ADJACENCY_AGENT, 50},
    {"many.tacit", MANY, TC_ADJACENCY_ONE, 30},
};
enum { SITUATIONS = sizeof situations / sizeof *situations };
static const half_wish wish = {TC_METHOD_TACIT, TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_AUTO, TC_MARGIN_NONE};

static half_case case_of(planned *p, const situation *of, tc_mechanism mechanism) {
    tc_plan_options options = planned_options();
    *p = planned_problem(of->path, of->text);
    options.method = TC_METHOD_TACIT;
    options.mechanism = mechanism;
    options.adjacency = of->unit;
    options.adjacency_bound = 0.1;
    options.epsilon = 2;
    options.delta = 1e-4;
    options.rounds = (double)of->rounds;
    options.seeded = options.certain = true;
    options.last_share = NAN;
    half_case made = {.p = p, .wish = &wish, .plan = planned_plan(p, &options), .radius = 1000};
    if (made.plan->problem != NULL)
        fail_msg("%s: %s", of->path, made.plan->problem);
    method_options asked = {.radius = made.radius};
    made.facts = method_facts(p, made.plan, &asked);
    return made;
}

static tc_engine *engine_of(tc_arena *arena, const half_case *of, uint64_t seed, tc_driver driver, tc_team *team) {
    tc_engine_settings settings = {
        .dual_radius = of->radius, .facts = of->facts, .team = team, .last_random = run_random(arena, seed + 1000)};
    tc_engine *engine = NULL;
    const char *why = NULL;
    tc_status status = tc_engine_new_driven(arena, of->plan, of->p->model, of->p->derivatives, run_random(arena, seed),
                                            &settings, driver, &engine, &why);
    if (status != TC_OK)
        fail_msg("no engine: %s: %s", tc_status_text(status), why == NULL ? "" : why);
    return engine;
}

static tc_cloud_half *half_of(tc_arena *arena, const half_case *of, uint64_t seed, uint64_t first_round, bool ahead) {
    tc_cloud_half_settings settings = {.dual_radius = of->radius,
                                       .facts = of->facts,
                                       .first_round = first_round,
                                       .draws_ahead = ahead,
                                       .last_random = run_random(arena, seed + 1000)};
    tc_cloud_half *half = NULL;
    const char *why = NULL;
    tc_status status = tc_cloud_half_new(arena, of->plan, of->p->model, of->p->derivatives, run_random(arena, seed),
                                         &settings, &half, &why);
    if (status != TC_OK)
        fail_msg("no half: %s", why == NULL ? "" : why);
    return half;
}

static void finish(tc_engine *engine, uint64_t rounds) {
    tc_engine_outcome outcome;
    assert_int_equal(tc_engine_advance(engine, rounds, NULL, &outcome), TC_OK);
    assert_int_equal(outcome, TC_ENGINE_DONE);
}

static void expect_same(const half_case *of, const tc_engine *a, const tc_engine *b) {
    const tc_feasibility *x = tc_engine_feasibility(a), *y = tc_engine_feasibility(b);
    assert_true(half_same(tc_engine_result_states(a), tc_engine_result_states(b), of->p->model->state_count));
    assert_true(x->is_certain && y->is_certain && x->move == y->move);
    assert_true(half_same(x->bounds, y->bounds, of->p->model->constraint_count));
}

static void drivers_and_teams_have_the_same_bits(void **state) {
    (void)state;
    for (size_t i = 0; i < SITUATIONS; i++) {
        planned p;
        half_case of = case_of(&p, &situations[i], TC_MECHANISM_GAUSSIAN);
        tc_arena *arena = tc_arena_new(0);
        tc_engine *small = engine_of(arena, &of, 3, TC_DRIVER_SMALL, NULL);
        finish(small, situations[i].rounds);
        for (size_t team = 1; team <= 3; team += 2) {
            tc_engine *large = engine_of(arena, &of, 3, TC_DRIVER_LARGE, tc_team_new(arena, team));
            finish(large, situations[i].rounds);
            expect_same(&of, small, large);
        }
        tc_arena_free(arena);
        planned_end(&p);
    }
}

/* Agents elsewhere keep their averages, send them on the lattice, and move with them as they are. */
static void agents_elsewhere_have_the_same_result(void **state) {
    (void)state;
    for (size_t i = 0; i < SITUATIONS; i++)
        for (int dies = 0; dies < 3; dies++) { /* never; before the last round; after it */
            planned p;
            half_case of = case_of(&p, &situations[i], TC_MECHANISM_LAPLACE);
            tc_arena *arena = tc_arena_new(0);
            tc_engine *engine = engine_of(arena, &of, 4, TC_DRIVER_SMALL, NULL);
            tc_cloud_half *half = half_of(arena, &of, 4, 1, dies == 0);
            half_answer answer = half_answer_new(arena, &of);
            size_t n = p.model->state_count, size = tc_cloud_half_snapshot_size(half);
            double *average = TC_NEW(arena, double, n);
            unsigned char *memory = TC_NEW(arena, unsigned char, size);
            uint64_t last = situations[i].rounds;
            for (uint64_t k = 1; k <= last; k++) {
                const double *x = tc_engine_states(engine);
                for (size_t c = 0; c < n; c++)
                    average[c] += tc_result_weight(TC_METHOD_TACIT, k) * (x[c] - average[c]);
                half_send_all(half, &of, x, k);
                half_round(half, k, &answer);
                finish(engine, k);
            }
            assert_false(tc_cloud_half_feasibility(half) != NULL && tc_cloud_half_feasibility(half)->is_certain);
            if (dies == 1) {
                tc_cloud_half_save(half, memory);
                half = half_of(arena, &of, 4, last + 1, true);
                assert_true(tc_cloud_half_load(half, memory, size));
            }
            half_send_all(half, &of, average, 1);
            half_round(half, last + 1, &answer);
            if (dies == 2) {
                tc_cloud_half_save(half, memory);
                half = half_of(arena, &of, 4, last + 2, false);
                assert_true(tc_cloud_half_load(half, memory, size));
            }
            const tc_feasibility *a = tc_cloud_half_feasibility(half), *b = tc_engine_feasibility(engine);
            assert_true(a->is_certain && a->move == b->move && answer.scalars.step == b->move);
            assert_true(half_same(a->bounds, b->bounds, p.model->constraint_count));
            const double *result = tc_engine_result_states(engine);
            for (size_t c = 0; c < n; c++)
                assert_true(tc_moved(average[c], answer.scalars.step, answer.p[c]) == result[c]);
            unsigned char input[TC_STATES_MAC];
            tc_engine_outcome outcome;
            assert_int_equal(tc_cloud_half_round(half, last + 1, &answer.scalars, answer.p, input, &outcome),
                             TC_BAD_USAGE); /* once */
            tc_arena_free(arena);
            planned_end(&p);
        }
}

/* What is said holds of g at the result as the agents have it, whatever the noise was. */
static void what_is_certain_holds(void **state) {
    (void)state;
    for (size_t i = 0; i + 1 < SITUATIONS; i++) {
        planned p;
        half_case of = case_of(&p, &situations[i], TC_MECHANISM_GAUSSIAN);
        release_of r = planned_release(&p, of.plan->last->plan);
        double *g = TC_NEW(p.arena, double, r.count);
        for (uint64_t seed = 1; seed <= 40; seed++) {
            tc_arena *arena = tc_arena_new(0);
            tc_engine *engine = engine_of(arena, &of, seed, TC_DRIVER_SMALL, NULL);
            finish(engine, situations[i].rounds);
            const tc_feasibility *found = tc_engine_feasibility(engine);
            assert_true(found->shown && found->is_certain && found->move >= 0 && found->move <= 1);
            planned_evaluate(&r, tc_engine_result_states(engine), g);
            for (size_t e = 0; e < r.count; e++) {
                size_t j = r.shown[e].position;
                double value = p.model->constraints[j].is_equality ? fabs(g[e]) : g[e];
                assert_true(value <= found->bounds[j]);
            }
            tc_arena_free(arena);
        }
        planned_end(&p);
    }
}

/* Exactly, and at the least that is allowed: (1 - t) u <= t (slack - allowance) in every row, whatever was released. */
static void a_certified_move_is_enough_for_all_that_is_possible(void **state) {
    (void)state;
    planned p;
    half_case of = case_of(&p, &situations[1], TC_MECHANISM_GAUSSIAN);
    size_t m = p.model->constraint_count, moved = 0;
    const double *allowance = of.plan->last->allowance;
    tc_margin *margin = tc_margin_new(p.arena, of.facts, of.plan, p.model, p.derivatives);
    double *upper = TC_NEW(p.arena, double, m);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        long double most = 0;
        for (size_t j = 0; j < m; j++)
            upper[j] = of.facts->slack[j] * sin((double)(seed * (j + 3)) * 1.7) * (seed % 10 == 0 ? 1e-9 : 1);
        double t = tc_margin_certify(margin, upper, allowance)->move;
        for (size_t j = 0; j < m; j++) {
            long double room = (long double)of.facts->slack[j] - allowance[j], u = upper[j];
            assert_true(t == 1 || (1 - (long double)t) * u <= (long double)t * room);
            most = u > 0 ? fmaxl(most, u / (u + room)) : most;
        }
        assert_true(t <= most * (1 + 1e-9L));
        moved += t > 0 && t < 1;
    }
    assert_true(moved > 100);
    planned_end(&p);
}

/* The average, from where the move has brought it. */
static double *unmoved(tc_arena *arena, const tc_model *model, const double *x, double t) {
    double *average = TC_NEW(arena, double, model->state_count);
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t k = 0; k < model->families[f].count; k++)
            for (size_t c = 0; c < model->families[f].dim; c++) {
                size_t at = tc_coord_of(&model->families[f], k, c);
                average[at] = (x[at] - t * tc_coef_at(model->families[f].slater[c], k)) / (1 - t);
            }
    return average;
}

/* Where the average satisfies all inequalities, the move is no larger than the plan says. */
static void moves_are_no_larger_than_predicted(void **state) {
    (void)state;
    double nearest = 0;
    size_t inside = 0;
    for (size_t i = 0; i + 1 < SITUATIONS; i++) {
        planned p;
        half_case of = case_of(&p, &situations[i], i % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN);
        release_of r = planned_release(&p, of.plan->last->plan);
        double *g = TC_NEW(p.arena, double, r.count), most = of.facts->most_move, usual = of.facts->usual_move;
        assert_true(0 < usual && usual < most && most <= 1);
        for (uint64_t seed = 1; seed <= 60; seed++) {
            tc_arena *arena = tc_arena_new(0);
            tc_engine *engine = engine_of(arena, &of, seed, TC_DRIVER_SMALL, NULL);
            finish(engine, situations[i].rounds);
            double t = tc_engine_feasibility(engine)->move;
            bool satisfies = t < 1;
            if (satisfies)
                planned_evaluate(&r, unmoved(arena, p.model, tc_engine_result_states(engine), t), g);
            for (size_t e = 0; satisfies && e < r.count; e++)
                satisfies = p.model->constraints[r.shown[e].position].is_equality || g[e] <= 0;
            inside += satisfies;
            nearest = satisfies ? fmax(nearest, t / most) : nearest;
            assert_true(!satisfies || t <= most);
            tc_arena_free(arena);
        }
        planned_end(&p);
    }
    print_message("%zu averages satisfy all inequalities; the largest move is %.3g of what is predicted\n", inside,
                  nearest);
    assert_true(inside >= 20 && nearest > 0.4);
}

static void an_engine_without_a_second_source_is_refused(void **state) {
    (void)state;
    planned p;
    half_case of = case_of(&p, &situations[0], TC_MECHANISM_GAUSSIAN);
    tc_arena *arena = tc_arena_new(0);
    tc_engine_settings settings = {.dual_radius = of.radius, .facts = of.facts};
    tc_random *random = run_random(arena, 1);
    tc_engine *engine = NULL;
    const char *why = NULL;
    assert_int_equal(tc_engine_new(arena, of.plan, p.model, p.derivatives, random, &settings, &engine, &why),
                     TC_BAD_USAGE);
    random = run_random(arena, 1);
    settings.last_random = random; /* the rounds' own: the same words would be noise of two releases */
    assert_int_equal(tc_engine_new(arena, of.plan, p.model, p.derivatives, random, &settings, &engine, &why),
                     TC_BAD_USAGE);
    tc_arena_free(arena);
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_and_teams_have_the_same_bits),
        cmocka_unit_test(agents_elsewhere_have_the_same_result),
        cmocka_unit_test(what_is_certain_holds),
        cmocka_unit_test(a_certified_move_is_enough_for_all_that_is_possible),
        cmocka_unit_test(moves_are_no_larger_than_predicted),
        cmocka_unit_test(an_engine_without_a_second_source_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
