/* The units agent:D and data: what they hide, and at what price. */
#include "plan/planned.h"

#include "analysis/data/data.h"
#include "plan/account/account.h"

#define TWO_FAMILIES                                                                                                   \
    "agents home[i in 1..6] {\n state p[2] in [0, 4]\n private minimize sumsq(p)\n}\n"                                 \
    "agents shop[i in 1..3] {\n state q in [-1, 9]\n private minimize q^2\n}\n"                                        \
    "constraint load[t in 1..2]: sum(home: p[t]) + sum(shop: 2 * q) <= 30\n"                                           \
    "constraint shops: sum(shop: q) <= 20\n"

static tc_plan_options asked(tc_mechanism mechanism, tc_adjacency unit, double bound) {
    tc_plan_options options = planned_options();
    options.mechanism = mechanism;
    options.method = TC_METHOD_TACIT;
    options.adjacency = unit;
    options.adjacency_bound = bound;
    options.epsilon = 1;
    options.delta = mechanism == TC_MECHANISM_GAUSSIAN ? 1e-6 : NAN;
    options.rounds = 400;
    return options;
}

static const tc_observer *eavesdropper(const tc_plan *plan) {
    for (size_t i = 0; i < plan->observer_count; i++) {
        if (plan->observers[i].kind == TC_OBSERVER_EAVESDROPPER)
            return &plan->observers[i];
    }
    fail_msg("no eavesdropper");
    return NULL;
}

static double paid(const tc_plan *plan) {
    return plan->mechanism == TC_MECHANISM_GAUSSIAN ? eavesdropper(plan)->gdp : eavesdropper(plan)->epsilon;
}

static void about(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* A datum of one component, as the language and the analysis would leave it; `by` 0: it is not protected. */
static void give_datum(planned *p, size_t f, const char *name, double by, double l1, double l2) {
    tc_family *family = &p->model->families[f];
    tc_datum *data = TC_NEW(p->arena, tc_datum, family->datum_count + 1);
    for (size_t i = 0; i < family->datum_count; i++)
        data[i] = family->data[i];
    tc_coef *coefs = TC_NEW(p->arena, tc_coef, 3);
    coefs[1].value = 10;
    coefs[2].value = by;
    data[family->datum_count] = (tc_datum){.name = name,
                                           .count = 1,
                                           .lower = &coefs[0],
                                           .upper = &coefs[1],
                                           .by = by > 0 ? &coefs[2] : NULL,
                                           .distances = {l1, l2}};
    family->data = data;
    family->datum_count++;
}

/* ---- prices ------------------------------------------------------------------------------------------------------ */

/* One sum of one state: everything is known by hand. */
static void a_distance_in_every_round_costs_as_many_times_as_there_are_rounds(void **state) {
    (void)state;
    planned p = planned_problem("sum.tacit", "agents a[i in 1..5] {\n state x in [0, 8]\n private minimize x^2\n}\n"
                                             "constraint c: sum(a: 3 * x) <= 3\n");
    for (int gaussian = 0; gaussian < 2; gaussian++) {
        tc_plan_options options =
            asked(gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE, TC_ADJACENCY_WITHIN, 0.5);
        const tc_plan *plan = planned_plan(&p, &options);
        assert_null(plan->problem);
        double target = gaussian ? tc_gaussian_gdp(1, 1e-6) : 1, rounds = gaussian ? 20 : 400;
        assert_int_equal(plan->channel_count, 1);
        about(plan->channels[0].scale, rounds * 3 * 0.5 / target, 5e-3);
        assert_true(plan->channels[0].scale > rounds * 3 * 0.5 / target);
        about(paid(plan), target, 1e-6);
        assert_true(paid(plan) <= target);
        /* the lattice is paid for: D' = D + h */
        double h = ldexp(1, plan->state_exponent);
        assert_true(plan->distances[0].distance == 0.5 && plan->distances[0].reach >= 0.5 + h);
        assert_true(paid(plan) >= rounds * 3 * plan->distances[0].reach / plan->channels[0].scale * (1 - 1e-12));
        options.hold_cap = 7; /* a message that is used again differs by no more than any other */
        about(planned_plan(&p, &options)->channels[0].scale, plan->channels[0].scale, 1e-12);
    }
    planned_end(&p);
}

/* A distance as large as the box: no more noise than for the unit agent, which covers it. */
static void a_distance_beyond_the_box_is_the_unit_agent(void **state) {
    (void)state;
    static const char *const files[] = {"paper", "ev", "num"};
    for (size_t f = 0; f < 3; f++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, files[f]);
        planned p = planned_problem(path, NULL);
        for (int gaussian = 0; gaussian < 2; gaussian++) {
            tc_mechanism mechanism = gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE;
            for (int states = 0; states < 2; states++) {
                tc_plan_options options = asked(mechanism, TC_ADJACENCY_WITHIN, 1e6);
                options.placement = states ? TC_PLACEMENT_STATES : f == 0 ? TC_PLACEMENT_AUTO : TC_PLACEMENT_OUTPUTS;
                const tc_plan *plan = planned_plan(&p, &options);
                options.adjacency = TC_ADJACENCY_AGENT;
                const tc_plan *agent = planned_plan(&p, &options);
                assert_null(plan->problem);
                assert_true(plan->facts[plan->placement - 1].total <=
                            agent->facts[plan->placement - 1].total * (states ? 1 + 1e-9 : 1.3));
            }
        }
        planned_end(&p);
    }
}

static void fill(const tc_model *model, double step, uint64_t *random, double *x) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++) {
                double low = tc_coef_at(family->lower[c], k), high = tc_coef_at(family->upper[c], k);
                x[tc_coord_of(family, k, c)] = rint((low + (high - low) * random_unit(random)) / step) * step;
            }
        }
    }
}

/* No pair of rounds that the unit allows moves what is released by more than a round is priced at: states at distance D
 * before they are rounded, F on its lattices. And some pair comes near. */
static void no_pair_of_states_costs_more_than_its_price(planned *p, const tc_plan *plan) {
    release_of r = planned_release(p, plan);
    r.rounded = true;
    const tc_model *model = p->model;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    double h = ldexp(1, plan->state_exponent), most = 0;
    double price = paid(plan) / (gaussian ? sqrt(plan->rounds) : plan->rounds);
    double *x = TC_NEW(p->arena, double, model->state_count), *y = TC_NEW(p->arena, double, model->state_count);
    double *at = TC_NEW(p->arena, double, r.count + 1), *to = TC_NEW(p->arena, double, r.count + 1);
    uint64_t random = 7;
    for (int i = 0; i < 4000; i++) {
        fill(model, h, &random, x);
        memcpy(y, x, model->state_count * sizeof *x);
        size_t f = (size_t)(random_unit(&random) * (double)model->family_count);
        const tc_family *family = &model->families[f];
        size_t k = (size_t)(random_unit(&random) * (double)family->count);
        double direction[8], length = 0;
        for (size_t c = 0; c < family->dim; c++) {
            bool used = i % 3 == 0 || c == (size_t)i % family->dim;
            direction[c] = used ? random_unit(&random) - 0.5 : 0;
            length += gaussian ? direction[c] * direction[c] : fabs(direction[c]);
        }
        length = gaussian ? sqrt(length) : length;
        for (size_t c = 0; c < family->dim; c++) {
            size_t coord = tc_coord_of(family, k, c);
            double moved = x[coord] + (h / 2.1) + direction[c] / length * plan->distances[f].distance;
            moved = fmin(fmax(moved, tc_coef_at(family->lower[c], k)), tc_coef_at(family->upper[c], k));
            y[coord] = rint(moved / h) * h;
        }
        planned_evaluate(&r, x, at);
        planned_evaluate(&r, y, to);
        double cost = 0;
        for (size_t e = 0; e < r.count; e++) {
            double part = fabs(at[e] - to[e]) / r.shown[e].scale;
            cost += gaussian ? part * part : part;
        }
        cost = gaussian ? sqrt(cost) : cost;
        assert_true(cost <= price * (1 + 1e-12));
        most = fmax(most, cost);
    }
    assert_true(most > 0.8 * price);
}

static void families_are_weighed_by_their_own_distances(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        planned p = planned_problem("two.tacit", TWO_FAMILIES);
        give_datum(&p, 0, "need", 1, 1.2, 1.2);
        give_datum(&p, 0, "taste", 1, 0.3, 0.25);
        give_datum(&p, 0, "bare", 0, NAN, NAN);
        if (i % 4 != 3)
            give_datum(&p, 1, "stock", 1, i % 4 == 0 ? 0.01 : i % 4 == 1 ? 0.5 : 3, i % 4 == 0 ? 0.01 : 2);
        tc_plan_options options = asked(i < 4 ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE, TC_ADJACENCY_DATA, NAN);
        options.placement = TC_PLACEMENT_OUTPUTS;
        const tc_plan *plan = planned_plan(&p, &options);
        if (plan->problem != NULL)
            fail_msg("%s", plan->problem);
        assert_true(plan->distances[0].data >= (i < 4 ? 1.45 : 1.5) && plan->distances[0].data < 1.5 + 1e-12);
        double steps = 2 * 400 * TC_STEP_ERROR * sqrt(32) * (i < 4 ? 1 : sqrt(2));
        about(plan->distances[0].steps, steps, 1e-12);
        assert_true(plan->distances[0].steps >= steps * (1 - 1e-15));
        assert_true(plan->distances[1].protects == (i % 4 != 3));
        if (i % 4 == 3)
            assert_true(plan->distances[1].distance == 0 && plan->distances[1].reach == 0);
        no_pair_of_states_costs_more_than_its_price(&p, plan);
        for (size_t k = 0; k < plan->observer_count; k++)
            assert_true(plan->observers[k].epsilon <= 1);
        planned_end(&p);
    }
}

/* Noise follows the weights: a row that only shops move needs noise for their distance alone. */
static void noise_is_placed_where_distances_are(void **state) {
    (void)state;
    double before = 0;
    for (int i = 0; i < 3; i++) {
        planned p = planned_problem("two.tacit", TWO_FAMILIES);
        give_datum(&p, 0, "need", 1, 1, 1);
        give_datum(&p, 1, "stock", 1, 0.01 * pow(10, i), 0.01 * pow(10, i));
        tc_plan_options options = asked(TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_DATA, NAN);
        options.placement = TC_PLACEMENT_OUTPUTS;
        const tc_plan *plan = planned_plan(&p, &options);
        assert_string_equal(plan->channels[2].name, "g[shops]");
        assert_true(plan->channels[2].scale > 2 * before);
        before = plan->channels[2].scale;
        assert_true(paid(plan) > 0.99 * tc_gaussian_gdp(1, 1e-6));
        planned_end(&p);
    }
}

/* A family that protects nothing is the same in both worlds. What it alone moves has a token of noise, and the
 * eavesdropper pays for the others. */
static void what_nobody_protects_gets_a_token_of_noise(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_STATES, TC_PLACEMENT_FORMS};
    for (int i = 0; i < 6; i++) {
        planned p = planned_problem("two.tacit", TWO_FAMILIES);
        give_datum(&p, 0, "need", 1, 1, 1);
        bool gaussian = i % 2 == 0;
        tc_plan_options options =
            asked(gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE, TC_ADJACENCY_DATA, NAN);
        options.placement = placements[i / 2];
        const tc_plan *plan = planned_plan(&p, &options);
        assert_null(plan->problem);
        double target = gaussian ? tc_gaussian_gdp(1, 1e-6) : 1, worst = 0;
        size_t least = 0;
        for (size_t k = 0; k < plan->channel_count; k++) {
            least += plan->channels[k].lattice_scale == 16;
            worst = fmax(worst, plan->channels[k].lattice_scale);
            assert_true((plan->channels[k].sensitivity == 0) == (plan->channels[k].lattice_scale == 16));
        }
        assert_int_equal(least, i / 2 == 2 ? 2 : 1); /* forms: shops are summed twice */
        assert_true(worst > 1e3);
        assert_true(paid(plan) <= target && paid(plan) > target * (1 - 1e-6));
        planned_end(&p);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refused(planned *p, const tc_plan_options *options, const char *because) {
    const tc_plan *plan = planned_plan(p, options);
    assert_non_null(plan->problem);
    if (strstr(plan->problem, because) == NULL)
        fail_msg("'%s' lacks '%s'", plan->problem, because);
    assert_true(plan->refusal_is_usage);
}

static void what_is_not_proved_is_refused(void **state) {
    (void)state;
    planned p = planned_problem("two.tacit", TWO_FAMILIES);
    tc_plan_options options = asked(TC_MECHANISM_LAPLACE, TC_ADJACENCY_DATA, NAN);
    refused(&p, &options, "protect need by 5");
    give_datum(&p, 0, "need", 0, NAN, NAN);
    refused(&p, &options, "protect need by 5");
    give_datum(&p, 0, "known", 1, 0, 0);
    p.model->families[0].data[1].by[0].value = 0; /* as the language cuts it where a range has no width */
    refused(&p, &options, "none protects anything");
    give_datum(&p, 1, "stock", 1, NAN, 1);
    refused(&p, &options, "no distance is known for shop.stock");
    p.model->families[1].data_fault = "its Slater point is outside";
    refused(&p, &options, "the data of shop: its Slater point is outside");
    p.model->families[1].data_fault = NULL;
    options.mechanism = TC_MECHANISM_GAUSSIAN;
    options.delta = 1e-6;
    assert_null(planned_plan(&p, &options)->problem); /* l2 is known */
    options.method = TC_METHOD_PUBLISHED;
    refused(&p, &options, "--method tacit");
    options = asked(TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_DATA, NAN);
    options.rounds = NAN;
    refused(&p, &options, "number of rounds");
    options.adjacency = TC_ADJACENCY_WITHIN;
    options.adjacency_bound = 1;
    refused(&p, &options, "number of rounds");
    options.rounds = 10;
    options.adjacency_bound = -1;
    refused(&p, &options, "positive number");
    options.adjacency_bound = NAN;
    refused(&p, &options, "positive number");
    options.adjacency_bound = 1;
    options.method = TC_METHOD_PUBLISHED; /* about messages: any steps */
    assert_null(planned_plan(&p, &options)->problem);
    planned_end(&p);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void a_small_distance_hides_little(void **state) {
    (void)state;
    planned p =
        planned_problem("ev.tacit", "agents home[i in 1..1000] {\n state p in [0, 10]\n private minimize p^2\n gap 9\n"
                                    " slater p = 1\n}\nconstraint c: sum(home: p) <= 3000\n");
    tc_plan_options options = asked(TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_WITHIN, 1);
    const tc_plan *plan = planned_plan(&p, &options);
    assert_int_equal(tc_judge_plan(plan), TC_WORD_PRIVATE);
    assert_string_equal(tc_word_text(TC_WORD_PRIVATE, plan->adjacency), "private: one agent within D in every round");
    options.adjacency_bound = 0.05; /* epsilon 1 for half a percent */
    plan = planned_plan(&p, &options);
    assert_int_equal(tc_judge_plan(plan), TC_WORD_NAME_ONLY);
    assert_non_null(strstr(tc_name_only_reason(p.arena, plan), "of its range"));
    options.adjacency_bound = 10;
    options.epsilon = 20;
    plan = planned_plan(&p, &options);
    assert_int_equal(tc_judge_plan(plan), TC_WORD_NAME_ONLY);
    assert_non_null(strstr(tc_name_only_reason(p.arena, plan), "is above 10"));
    give_datum(&p, 0, "need", 0.5, 0.5, 0.5);
    options = asked(TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_DATA, NAN);
    plan = planned_plan(&p, &options);
    assert_int_equal(tc_judge_plan(plan), TC_WORD_PRIVATE);
    assert_string_equal(tc_word_text(TC_WORD_PRIVATE, plan->adjacency), "private: one agent's data");
    p.model->families[0].data[0].by[0].value = 0.05; /* of a range of 10 */
    assert_int_equal(tc_judge_plan(plan), TC_WORD_NAME_ONLY);
    assert_non_null(strstr(tc_name_only_reason(p.arena, plan), "protected datum"));
    planned_end(&p);
}

static void texts_name_what_is_hidden(void **state) {
    (void)state;
    planned p = planned_problem("two.tacit", TWO_FAMILIES);
    give_datum(&p, 0, "need", 1, 1.5, 1.25);
    tc_plan_options options = asked(TC_MECHANISM_GAUSSIAN, TC_ADJACENCY_DATA, NAN);
    const tc_plan *plan = planned_plan(&p, &options);
    assert_string_equal(tc_unit_text(p.arena, plan->adjacency, plan->adjacency_bound), "data");
    assert_string_equal(tc_unit_text(p.arena, TC_ADJACENCY_WITHIN, 7.5), "agent:7.5");
    tc_buffer text = tc_buffer_new(p.arena, 1 << 20), json = tc_buffer_new(p.arena, 1 << 20);
    tc_plan_text(plan, &text, 80);
    assert_non_null(strstr(tc_buffer_text(&text), "home.need by 1: moves a round's states by 1.25"));
    assert_non_null(strstr(tc_buffer_text(&text), "shop protects nothing"));
    tc_json writer = tc_json_new(&json);
    tc_json_open_object(&writer, NULL);
    tc_plan_json(plan, &writer);
    tc_json_close_object(&writer);
    assert_non_null(strstr(tc_buffer_text(&json), "\"unit\": \"data\""));
    assert_non_null(strstr(tc_buffer_text(&json), "\"name\": \"need\""));
    /* the hash covers what is protected */
    unsigned char hash[32];
    memcpy(hash, plan->hash, sizeof hash);
    p.model->families[0].data[0].by[0].value = 0.5;
    assert_true(memcmp(hash, planned_plan(&p, &options)->hash, sizeof hash) != 0);
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_distance_in_every_round_costs_as_many_times_as_there_are_rounds),
        cmocka_unit_test(a_distance_beyond_the_box_is_the_unit_agent),
        cmocka_unit_test(families_are_weighed_by_their_own_distances),
        cmocka_unit_test(noise_is_placed_where_distances_are),
        cmocka_unit_test(what_nobody_protects_gets_a_token_of_noise),
        cmocka_unit_test(what_is_not_proved_is_refused),
        cmocka_unit_test(a_small_distance_hides_little),
        cmocka_unit_test(texts_name_what_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
