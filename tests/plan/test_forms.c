/* Noise on linear forms: what is released, what it costs, and which placement the method tacit takes. F = U x is
 * affine, so U is found by differences, and the worst pair of inputs by trying all corners or by the power method:
 * nothing here shares code with the accountant. */
#include "plan/placement/placement.h"
#include "plan/planned.h"

#include "analysis/region.h"
#include "plan/account/account.h"
#include "release/release.h"

enum { PROBLEMS = 16, PAIRS = 300, MOST_FORMS = 32, MOST_STATES = 16 };

static const tc_adjacency units[] = {TC_ADJACENCY_ENSEMBLE, TC_ADJACENCY_ONE, TC_ADJACENCY_AGENT};

static tc_plan_options tacit_options(tc_mechanism mechanism, tc_adjacency unit, tc_placement placement) {
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    options.mechanism = mechanism;
    options.adjacency = unit;
    options.adjacency_bound = 0.5;
    options.placement = placement;
    options.epsilon = 1;
    options.delta = 1e-5;
    options.rounds = 1000;
    return options;
}

static tc_plan *made_plan(planned *p, const tc_plan_options *options) {
    tc_plan *plan = planned_plan(p, options);
    if (plan->problem != NULL)
        fail_msg("%s\n%s", plan->problem, p->model->source.text);
    return plan;
}

/* F of the plan, as it is released, without noise. */
static release_of forms_of(planned *p, const tc_plan *plan) {
    planned measured = *p;
    assert_int_equal(plan->placement, TC_PLACEMENT_FORMS);
    measured.model = (tc_model *)(uintptr_t)plan->measured;
    measured.derivatives = (tc_derivatives *)(uintptr_t)plan->measured_derivatives;
    return planned_release(&measured, plan);
}

/* ---- prices -------------------------------------------------------------------------------------------------------
 */

static const char *const rows[] = {
    "sum(a: %.4g * x[1] + %.4g * x[2]) <= 9",
    "(sum(a: %.4g * x[1] - %.4g * x[2]))^2 <= 90",
    "exp(0.05 * sum(a: i * %.4g * x[1])) + (sum(a: %.4g * x[2] + x[1]))^2 <= 90",
    "(sum(a: %.4g * x[1]) - b.y)^2 + %.4g * a[2].x[1] <= 90",
    "(%.4g * a[1].x[2] - %.4g * b.y)^4 <= 9000",
};

static const char *random_problem(uint64_t *seed, char *text, size_t size) {
    int members = 2 + (int)(3 * random_unit(seed));
    double low = -1 - random_unit(seed), high = 0.5 + random_unit(seed), other = -2 * random_unit(seed);
    int at = snprintf(text, size,
                      "agents a[i in 1..%d] {\n  state x[2] in [%.3g, %.3g]\n  private minimize sumsq(x)\n}\n"
                      "agent b {\n  state y in [%.3g, 1]\n  private minimize y^2\n}\n",
                      members, low, high, other);
    int count = 1 + (int)(4 * random_unit(seed));
    for (int i = 0; i < count; i++) {
        char row[200];
        size_t kind = (size_t)(random_unit(seed) * (double)(sizeof rows / sizeof *rows));
        double first = 0.3 + 2 * random_unit(seed), second = 0.3 + 2 * random_unit(seed);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(row, sizeof row, rows[kind], first, second);
#pragma GCC diagnostic pop
        at += snprintf(text + at, size - (size_t)at, "constraint g%d: %s\n", i, row);
    }
    return text;
}

typedef struct matrix { /* U with rows over their scales, columns in the order of coordinates */
    size_t rows, columns;
    double at[MOST_FORMS][MOST_STATES];
} matrix;

static matrix scaled_forms(const release_of *r) {
    const tc_model *model = r->plan->model;
    matrix u = {.rows = r->count, .columns = model->state_count};
    double x[MOST_STATES] = {0}, before[MOST_FORMS], after[MOST_FORMS];
    assert_true(r->count <= MOST_FORMS && model->state_count <= MOST_STATES);
    planned_evaluate(r, x, before);
    for (size_t c = 0; c < u.columns; c++) {
        x[c] = 1;
        planned_evaluate(r, x, after);
        x[c] = 0;
        for (size_t e = 0; e < u.rows; e++)
            u.at[e][c] = (after[e] - before[e]) / r->shown[e].scale;
    }
    return u;
}

static bool belongs(const tc_model *model, size_t coord, size_t agent) {
    const tc_family *family = tc_family_of_coord(model, coord);
    return family->first_agent + (coord - family->first_coord) % family->count == agent;
}

static double length_of(const double *v, size_t count, int p) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += p == 1 ? fabs(v[i]) : v[i] * v[i];
    return p == 1 ? sum : sqrt(sum);
}

static void image_of(const matrix *u, const double *x, double *image) {
    for (size_t e = 0; e < u->rows; e++) {
        image[e] = 0;
        for (size_t c = 0; c < u->columns; c++)
            image[e] += u->at[e][c] * x[c];
    }
}

/* |U|_2 on the columns of one agent, or of all (SIZE_MAX): approached from below. */
static double largest_stretch(const matrix *u, const tc_model *model, size_t agent) {
    double x[MOST_STATES], image[MOST_FORMS], stretch = 0;
    for (size_t c = 0; c < u->columns; c++)
        x[c] = agent == SIZE_MAX || belongs(model, c, agent) ? 1 + 0.1 * (double)c : 0;
    for (int step = 0; step < 400; step++) {
        double length = length_of(x, u->columns, 2);
        for (size_t c = 0; c < u->columns; c++)
            x[c] /= length > 0 ? length : 1;
        image_of(u, x, image);
        stretch = fmax(stretch, length_of(image, u->rows, 2));
        for (size_t c = 0; c < u->columns; c++) {
            double sum = 0;
            for (size_t e = 0; x[c] != 0 && e < u->rows; e++)
                sum += u->at[e][c] * image[e];
            x[c] = sum;
        }
    }
    return stretch;
}

/* All pairs of opposite corners of the agent's box. */
static double farthest_corners(const matrix *u, const tc_model *model, size_t agent, int p) {
    double worst = 0, x[MOST_STATES], image[MOST_FORMS];
    for (unsigned signs = 0; signs < 4; signs++) {
        unsigned place = 0;
        for (size_t c = 0; c < u->columns; c++) {
            tc_interval range = tc_coord_range(model, c);
            x[c] = belongs(model, c, agent) ? (range.hi - range.lo) * ((signs >> place++ & 1) != 0 ? -1 : 1) : 0;
        }
        image_of(u, x, image);
        worst = fmax(worst, length_of(image, u->rows, p));
    }
    return worst;
}

/* What the worst pair costs: epsilon, or the Gaussian trade-off parameter. */
static double true_price(const matrix *u, const tc_plan *plan) {
    const tc_model *model = plan->model;
    int p = plan->mechanism == TC_MECHANISM_GAUSSIAN ? 2 : 1;
    double worst = 0;
    if (plan->adjacency == TC_ADJACENCY_AGENT) {
        for (size_t i = 0; i < model->agent_count; i++)
            worst = fmax(worst, farthest_corners(u, model, i, p));
        return worst * (p == 1 ? plan->rounds : sqrt(plan->rounds));
    }
    for (size_t c = 0; p == 1 && c < u->columns; c++) {
        double column[MOST_FORMS];
        for (size_t e = 0; e < u->rows; e++)
            column[e] = u->at[e][c];
        worst = fmax(worst, length_of(column, u->rows, 1));
    }
    if (p == 2 && plan->adjacency == TC_ADJACENCY_ENSEMBLE)
        worst = largest_stretch(u, model, SIZE_MAX);
    for (size_t i = 0; p == 2 && plan->adjacency == TC_ADJACENCY_ONE && i < model->agent_count; i++)
        worst = fmax(worst, largest_stretch(u, model, i));
    return worst * plan->adjacency_bound;
}

static double promised_price(const tc_plan *plan) {
    for (size_t i = 0; i < plan->observer_count; i++)
        if (plan->observers[i].kind == TC_OBSERVER_EAVESDROPPER)
            return plan->mechanism == TC_MECHANISM_GAUSSIAN ? plan->observers[i].gdp : plan->observers[i].epsilon;
    fail();
    return NAN;
}

/* Rounded as it is in a release, down to neighbouring points of the lattice, where rounding weighs most. */
static void attack_on_the_lattice(planned *p, release_of *r, uint64_t *seed) {
    const tc_plan *plan = r->plan;
    const tc_model *model = p->model;
    int norm = plan->mechanism == TC_MECHANISM_GAUSSIAN ? 2 : 1;
    double step = ldexp(1, plan->state_exponent), x[2][MOST_STATES], f[2][MOST_FORMS], moved[MOST_STATES];
    r->rounded = true;
    for (int pair = 0; pair < PAIRS; pair++) {
        double size = pow(2, -25 * random_unit(seed)), which = random_unit(seed);
        size_t agent = (size_t)(which * (double)model->agent_count);
        for (size_t c = 0; c < model->state_count; c++) {
            tc_interval range = tc_coord_range(model, c);
            double least = ceil(range.lo / step), most = floor(range.hi / step);
            double u = random_unit(seed), v = 2 * random_unit(seed) - 1;
            bool moves = plan->adjacency == TC_ADJACENCY_ENSEMBLE || belongs(model, c, agent);
            double from = rint(least + u * (most - least)), by = moves ? rint(v * size * (most - least)) : 0;
            x[0][c] = step * from;
            x[1][c] = step * fmin(fmax(from + by, least), most);
            moved[c] = x[1][c] - x[0][c];
        }
        double distance = length_of(moved, model->state_count, norm), gain[MOST_FORMS];
        for (int w = 0; w < 2; w++)
            planned_evaluate(r, x[w], f[w]);
        for (size_t e = 0; e < r->count; e++)
            gain[e] = (f[1][e] - f[0][e]) / r->shown[e].scale;
        double share = plan->adjacency == TC_ADJACENCY_AGENT ? 1 / (norm == 1 ? plan->rounds : sqrt(plan->rounds))
                                                             : distance / plan->adjacency_bound;
        assert_true(length_of(gain, r->count, norm) <= promised_price(plan) * share * (1 + 1e-11));
    }
}

static void no_pair_of_states_beats_the_price_of_forms(void **state) {
    (void)state;
    uint64_t seed = 20250301;
    double tightest[2][3] = {{0}};
    for (int i = 0; i < PROBLEMS; i++) {
        AT_CASE(i);
        char text[4000];
        planned p = planned_problem("forms.tacit", random_problem(&seed, text, sizeof text));
        for (int m = 0; m < 2; m++)
            for (size_t u = 0; u < 3; u++) {
                tc_plan_options options =
                    tacit_options(m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN, units[u], TC_PLACEMENT_FORMS);
                tc_plan *plan = made_plan(&p, &options);
                release_of r = forms_of(&p, plan);
                matrix forms = scaled_forms(&r);
                double real = true_price(&forms, plan), promised = promised_price(plan);
                if (!(real <= promised * (1 + 1e-9)))
                    fail_msg("%s\nunit %zu: %.12g, promised %.12g", text, u, real, promised);
                tightest[m][u] = fmax(tightest[m][u], real / promised);
                attack_on_the_lattice(&p, &r, &seed);
            }
        planned_end(&p);
    }
    for (int m = 0; m < 2; m++)
        for (size_t u = 0; u < 3; u++)
            assert_true(tightest[m][u] > 0.97); /* nor is the price idle */
}

/* ---- known numbers ------------------------------------------------------------------------------------------------
 */

static void a_feeder_s_sums_need_the_noise_of_its_rows(void **state) {
    (void)state;
    planned p = planned_problem(TACIT_SOURCE_DIR "/examples/ev.tacit", NULL);
    tc_plan_options options = tacit_options(TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_AGENT, TC_PLACEMENT_FORMS);
    const tc_plan *forms = made_plan(&p, &options);
    options.placement = TC_PLACEMENT_OUTPUTS;
    const tc_plan *outputs = made_plan(&p, &options);
    /* a home moves each of 24 sums by 7.4, in each of 1,000 rounds */
    double sigma = 7.4 * sqrt(24.0 * 1000) / tc_gaussian_gdp(1, 1e-5);
    assert_int_equal(forms->channel_count, 24);
    assert_int_equal(outputs->channel_count, 24);
    for (size_t i = 0; i < 24; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "s[feeder[%zu]]", i + 1);
        assert_string_equal(forms->channels[i].name, name);
        assert_true(fabs(forms->channels[i].scale / sigma - 1) < 1e-4);
        assert_true(fabs(forms->channels[i].scale / outputs->channels[i].scale - 1) < 1e-5);
    }
    options.placement = TC_PLACEMENT_AUTO; /* a tie: the rows themselves are taken */
    assert_int_equal(made_plan(&p, &options)->placement, TC_PLACEMENT_OUTPUTS);
    planned_end(&p);
}

static const char BETWEEN[] = "agents a[i in 1..50] {\n  state x in [0, 1]\n  private minimize x\n}\n"
                              "constraint most: sum(a: x) <= 30\nconstraint least: sum(a: x) >= 10\n";

/* Both rows need noise for twice (Laplace) or sqrt 2 times (Gaussian) what moves the sum; the sum needs it once. */
static void two_rows_on_one_sum_are_cheaper_by_it(void **state) {
    (void)state;
    planned p = planned_problem("between.tacit", BETWEEN);
    for (int m = 0; m < 2; m++)
        for (size_t u = 0; u < 3; u++) {
            tc_plan_options options =
                tacit_options(m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN, units[u], TC_PLACEMENT_AUTO);
            const tc_plan *plan = made_plan(&p, &options);
            bool tie = m == 1 && units[u] == TC_ADJACENCY_ENSEMBLE; /* sqrt 50 for the sum: as much as for all states */
            assert_int_equal(plan->placement, tie ? TC_PLACEMENT_STATES : TC_PLACEMENT_FORMS);
            assert_true(fabs(plan->facts[0].total / plan->facts[2].total - (m == 0 ? 4 : 2)) < 1e-3);
            if (plan->placement == TC_PLACEMENT_FORMS) {
                assert_int_equal(plan->channel_count, 1);
                assert_string_equal(plan->channels[0].name, "s[most]");
            }
        }
    planned_end(&p);
}

static void forms_are_named_by_their_rows(void **state) {
    (void)state;
    planned p = planned_problem("names.tacit",
                                "agents a[i in 1..3] {\n  state x[2] in [0, 1]\n  private minimize sum(x)\n}\n"
                                "constraint one: sum(a: x[1]) <= 2\n"
                                "constraint two[k in 1..2]: (sum(a: x[k]))^2 + (sum(a: k * x[1] + x[2]))^2 <= 9\n"
                                "constraint last: a[2].x[1] <= 1\n");
    tc_plan_options options = tacit_options(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, TC_PLACEMENT_FORMS);
    const tc_plan *plan = made_plan(&p, &options);
    static const char *const names[] = {"s[one]", "s[two[1], 2]", "s[two[2], 1]", "s[two[2], 2]", "a[2].x[1]"};
    assert_int_equal(plan->channel_count, 5);
    for (size_t want = 0; want < 5; want++) {
        bool found = false;
        for (size_t i = 0; i < 5; i++)
            found = found || strcmp(plan->channels[i].name, names[want]) == 0;
        if (!found)
            fail_msg("no form is called %s", names[want]);
    }
    planned_end(&p);
}

/* ---- the choice ---------------------------------------------------------------------------------------------------
 */

static void auto_takes_what_is_predicted_to_disturb_least(void **state) {
    (void)state;
    uint64_t seed = 4711;
    size_t taken[4] = {0};
    for (int i = 0; i < 16; i++) {
        AT_CASE(i);
        char text[4000];
        planned p = planned_problem("forms.tacit", random_problem(&seed, text, sizeof text));
        tc_plan_options options = tacit_options(i % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN,
                                                units[i / 2 % 3], TC_PLACEMENT_AUTO);
        const tc_plan *plan = made_plan(&p, &options);
        double mine = NAN;
        for (size_t f = 0; f < 3; f++)
            mine = plan->facts[f].placement == plan->placement ? plan->facts[f].total : mine;
        for (size_t f = 0; f < 3; f++)
            assert_true(!plan->facts[f].usable || !plan->facts[f].possible || mine <= 1.02 * plan->facts[f].total);
        assert_true(plan->facts[0].usable == (tc_curved_rows(p.arena, p.model, p.derivatives, NULL) == 0));
        taken[plan->placement]++;
        planned_end(&p);
    }
    assert_true(taken[TC_PLACEMENT_STATES] > 0 && taken[TC_PLACEMENT_FORMS] > 0);
}

/* The prediction for states, against gradients by hand: var g = s^2 |grad g|^2, on average over the box. */
static void predictions_are_variances_of_scaled_rows(void **state) {
    (void)state;
    planned p = planned_problem("between.tacit", BETWEEN);
    tc_plan_options options = tacit_options(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, TC_PLACEMENT_STATES);
    const tc_plan *plan = made_plan(&p, &options);
    double b = 0.5, variance = 2 * b * b; /* B / epsilon */
    assert_true(fabs(plan->facts[1].total / (2 * variance) - 1) < 1e-6);
    assert_true(fabs(plan->facts[1].constraint_variance[0] / (50 * variance) - 1) < 1e-6);
    assert_true(fabs(plan->facts[2].constraint_variance[1] / variance - 1) < 1e-3);
    assert_true(fabs(plan->facts[2].total / (2 * variance / 50) - 1) < 1e-3);
    planned_end(&p);
}

static void refused(planned *p, tc_plan_options options, const char *words) {
    const tc_plan *plan = planned_plan(p, &options);
    assert_non_null(plan->problem);
    assert_true(plan->refusal_is_usage);
    if (strstr(plan->problem, words) == NULL)
        fail_msg("'%s' is not in: %s", words, plan->problem);
}

static void what_does_not_go_together_is_refused_with_a_reason(void **state) {
    (void)state;
    planned p = planned_problem("curved.tacit", "agents a[i in 1..3] {\n  state x in [0, 1]\n  private minimize x\n}\n"
                                                "constraint bent: sum(a: x^2) <= 2\n");
    tc_plan_options options = tacit_options(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, TC_PLACEMENT_OUTPUTS);
    refused(&p, options, "is not affine");
    options.placement = TC_PLACEMENT_FORMS;
    refused(&p, options, "a sum over 'a' in constraint 'bent'");
    options.mechanism = TC_MECHANISM_NONE;
    refused(&p, options, "a sum over 'a' in constraint 'bent'");
    options.mechanism = TC_MECHANISM_LAPLACE;
    options.method = TC_METHOD_PUBLISHED;
    refused(&p, options, "--method tacit");
    options.method = TC_METHOD_TACIT;
    options.placement = TC_PLACEMENT_AUTO;
    assert_int_equal(made_plan(&p, &options)->placement, TC_PLACEMENT_STATES);
    options.calibration = TC_PUBLISHED;
    options.adjacency = TC_ADJACENCY_ENSEMBLE;
    refused(&p, options, "--calibration tight");
    options.method = TC_METHOD_UNSET; /* the published calibration is the paper's scheme, steps included */
    assert_int_equal(made_plan(&p, &options)->method, TC_METHOD_PUBLISHED);
    planned_end(&p);
}

/* Roots have slopes without a bound: what noise on states does to their sum is not known. */
static void states_whose_noise_cannot_be_predicted_are_left_to_whoever_asks_for_them(void **state) {
    (void)state;
    planned p =
        planned_problem("steep.tacit", "agents a[i in 1..6000] {\n  state x in [0, 1]\n  private minimize x\n}\n"
                                       "constraint steep: -sum(a: sqrt(x)) <= -1\n");
    tc_plan_options options = tacit_options(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, TC_PLACEMENT_AUTO);
    const char *problem = planned_plan(&p, &options)->problem;
    assert_non_null(problem);
    assert_non_null(strstr(problem, "States: no bound is proved"));
    assert_non_null(strstr(problem, "--placement states takes it all the same"));
    options.placement = TC_PLACEMENT_STATES;
    assert_int_equal(made_plan(&p, &options)->placement, TC_PLACEMENT_STATES);
    planned_end(&p);
}

/* A sum of squares over many: each moves it by little, but states must be hidden one by one. */
static void noise_on_outputs_that_would_be_far_smaller_is_mentioned(void **state) {
    (void)state;
    planned p = planned_problem("many.tacit", "agents a[i in 1..400] {\n  state x in [1, 2]\n  private minimize x\n}\n"
                                              "constraint bent: sum(a: x^2 / 100 + x) <= 500\n");
    tc_plan_options options = tacit_options(TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, TC_PLACEMENT_AUTO);
    const tc_plan *plan = made_plan(&p, &options);
    bool found = false;
    for (size_t i = 0; i < plan->warning_count; i++)
        found = found || strstr(plan->warnings[i], "compare with --method published") != NULL;
    assert_int_equal(plan->placement, TC_PLACEMENT_STATES);
    assert_true(found == (plan->facts[0].possible && 10 * plan->facts[0].total < plan->facts[1].total));
    assert_true(found);
    planned_end(&p);
}

/* ---- what leaves the cloud ----------------------------------------------------------------------------------------
 */

static tc_release *open_release(planned *p, const tc_plan *plan, const tc_model *model, const tc_derivatives *d,
                                const char **why) {
    tc_run_identity run = {.run_id = "forms", .run_id_length = 5};
    tc_random *random = NULL;
    tc_release *release = NULL;
    assert_int_equal(tc_random_new_simulation(p->arena, &run, 1, &random), TC_OK);
    tc_status status = tc_release_new(p->arena, plan, model, d, random, NULL, &release, why);
    assert_true((status == TC_OK) == (release != NULL));
    return release;
}

static void a_release_is_of_the_forms_and_of_nothing_else(void **state) {
    (void)state;
    planned p =
        planned_problem("release.tacit", "agents a[i in 1..3] {\n  state x[2] in [0, 1]\n  private minimize sum(x)\n}\n"
                                         "constraint one: exp(sum(a: i * x[1])) + a[2].x[2]^2 <= 900\n");
    static const double x[] = {0.5, 0.25, 1, 0, 0.75, 0.125}; /* x[1] of all, then x[2] */
    for (int m = 0; m < 2; m++) {
        tc_plan_options options =
            tacit_options(m == 0 ? TC_MECHANISM_NONE : TC_MECHANISM_LAPLACE, TC_ADJACENCY_ONE, TC_PLACEMENT_FORMS);
        const tc_plan *plan = made_plan(&p, &options);
        const char *why = NULL;
        assert_null(open_release(&p, plan, p.model, p.derivatives, &why));
        assert_non_null(strstr(why, "another problem"));
        assert_null(open_release(&p, plan, plan->measured, p.derivatives, &why));
        tc_release *release = open_release(&p, plan, plan->measured, plan->measured_derivatives, &why);
        assert_non_null(release);
        tc_released *out = tc_released_new(p.arena, release);
        tc_private_states *states = tc_states_new(p.arena, p.model, plan->state_exponent);
        assert_int_equal(tc_states_take(states, x), TC_STATE_TAKEN);
        assert_null(out->states);
        double mean[2] = {0};
        for (uint64_t round = 1; round <= 1000; round++) {
            assert_int_equal(tc_release_round(release, round, states, out), TC_OK);
            for (size_t r = 0; r < 2; r++)
                mean[r] += out->constraints[r] / 1000;
        }
        double spread = m == 0 ? 1e-9 : 6 * sqrt(plan->channels[0].variance / 1000);
        assert_true(fabs(mean[0] - (0.5 + 2 * 0.25 + 3 * 1)) < spread);
        assert_true(fabs(mean[1] - 0.75) < spread);
        assert_int_equal(tc_release_round(release, 1001, states, out), TC_BAD_USAGE);
    }
    planned_end(&p);
}

static void without_noise_affine_rows_are_measured_and_else_states(void **state) {
    (void)state;
    planned p = planned_problem("between.tacit", BETWEEN);
    tc_plan_options options = tacit_options(TC_MECHANISM_NONE, TC_ADJACENCY_UNSET, TC_PLACEMENT_AUTO);
    const tc_plan *plan = made_plan(&p, &options);
    assert_int_equal(plan->placement, TC_PLACEMENT_OUTPUTS);
    assert_true(plan->measured == p.model && plan->row_scale != NULL);
    planned_end(&p);
    p = planned_problem(TACIT_SOURCE_DIR "/examples/paper.tacit", NULL);
    assert_int_equal(made_plan(&p, &options)->placement, TC_PLACEMENT_STATES);
    options.placement = TC_PLACEMENT_FORMS;
    plan = made_plan(&p, &options);
    assert_int_equal(plan->placement, TC_PLACEMENT_FORMS);
    assert_int_equal(plan->measured->constraint_count, p.derivatives->input_count);
    assert_false(plan->is_private);
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pair_of_states_beats_the_price_of_forms),
        cmocka_unit_test(a_feeder_s_sums_need_the_noise_of_its_rows),
        cmocka_unit_test(two_rows_on_one_sum_are_cheaper_by_it),
        cmocka_unit_test(forms_are_named_by_their_rows),
        cmocka_unit_test(auto_takes_what_is_predicted_to_disturb_least),
        cmocka_unit_test(predictions_are_variances_of_scaled_rows),
        cmocka_unit_test(what_does_not_go_together_is_refused_with_a_reason),
        cmocka_unit_test(states_whose_noise_cannot_be_predicted_are_left_to_whoever_asks_for_them),
        cmocka_unit_test(noise_on_outputs_that_would_be_far_smaller_is_mentioned),
        cmocka_unit_test(a_release_is_of_the_forms_and_of_nothing_else),
        cmocka_unit_test(without_noise_affine_rows_are_measured_and_else_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
