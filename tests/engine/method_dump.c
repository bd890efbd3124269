/* Runs the method `tacit` and prints everything that goes between release, cloud and agents, for references in other
 * languages: each line is a word and numbers (%a).
 *
 *     method_dump FILE ROUNDS MECHANISM PLACEMENT ADJACENCY BOUND EPSILON SEED DRIVER [OBSERVATIONS]
 *
 * DRIVER: small, large, or follow: small with --margin auto.
 * With OBSERVATIONS, a file of whitespace-separated numbers, the cloud is shown these instead of what was released. The
 * linker puts the functions below between the engine and its parts (--wrap). */
#include "engine/inside.h"
#include "engine/tacit/estimator.h"
#include "engine/tacit/controller_inside.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    FILE *injected;
    const tc_model *model;
    double *kept; /* room for what is injected */
    size_t observed;
    tc_gains gains; /* the last ones; those of the next round may be asked for before a round has ended */
} tap;

static void print_numbers(const char *word, const double *numbers, size_t count) {
    printf("%s", word);
    for (size_t i = 0; i < count; i++)
        printf(" %a", numbers[i]);
    printf("\n");
}

static _Noreturn void give_up(const char *what) {
    (void)fprintf(stderr, "method_dump: %s\n", what);
    exit(1);
}

/* ---- between the parts ---------------------------------------------------------------------------------------------
 */

/* NOLINTBEGIN: names that the linker asks for */
void __real_tc_estimator_take_whole(tc_estimator *estimator, const double *x_hat);
void __wrap_tc_estimator_take_whole(tc_estimator *estimator, const double *x_hat);
void __real_tc_estimator_take_forms(tc_estimator *estimator, const double *forms);
void __wrap_tc_estimator_take_forms(tc_estimator *estimator, const double *forms);
void __real_tc_estimator_answer_whole(tc_estimator *estimator, double *p);
void __wrap_tc_estimator_answer_whole(tc_estimator *estimator, double *p);
tc_gains __real_tc_controller_gains(const tc_controller *controller, uint64_t k);
tc_gains __wrap_tc_controller_gains(const tc_controller *controller, uint64_t k);
size_t __real_tc_controller_decide(tc_controller *controller, const tc_measurement *measurement, tc_columns columns,
                                   tc_answer_scalars *scalars);
size_t __wrap_tc_controller_decide(tc_controller *controller, const tc_measurement *measurement, tc_columns columns,
                                   tc_answer_scalars *scalars);

static const double *shown(const double *released) {
    if (tap.injected == NULL)
        return released;
    for (size_t i = 0; i < tap.observed; i++)
        if (fscanf(tap.injected, "%la", &tap.kept[i]) != 1)
            give_up("too few observations");
    return tap.kept;
}

void __wrap_tc_estimator_take_whole(tc_estimator *estimator, const double *x_hat) {
    const double *x = shown(x_hat);
    print_numbers("observed", x, tap.observed);
    __real_tc_estimator_take_whole(estimator, x);
}

void __wrap_tc_estimator_take_forms(tc_estimator *estimator, const double *forms) {
    const double *o = shown(forms);
    print_numbers("observed", o, tap.observed);
    __real_tc_estimator_take_forms(estimator, o);
}

void __wrap_tc_estimator_answer_whole(tc_estimator *estimator, double *p) {
    __real_tc_estimator_answer_whole(estimator, p);
    if (p != NULL)
        print_numbers("p", p, tap.model->state_count);
}

tc_gains __wrap_tc_controller_gains(const tc_controller *controller, uint64_t k) {
    tap.gains = __real_tc_controller_gains(controller, k);
    return tap.gains;
}

size_t __wrap_tc_controller_decide(tc_controller *controller, const tc_measurement *measurement, tc_columns columns,
                                   tc_answer_scalars *scalars) {
    size_t row = __real_tc_controller_decide(controller, measurement, columns, scalars);
    print_numbers("gains", (double[]){tap.gains.beta, tap.gains.slow}, 2);
    print_numbers("columns", (double[]){columns.reach, columns.curvature, columns.noise}, 3);
    print_numbers("scalars", (double[]){scalars->step, scalars->regularization}, 2);
    print_numbers("margin", controller->kept.margin, tap.model->constraint_count);
    return row;
}
/* NOLINTEND */

/* ---- the run -------------------------------------------------------------------------------------------------------
 */

static size_t pick(const char *word, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    give_up(word);
}

static tc_plan_options read_options(char **words) {
    static const char *const mechanisms[] = {"unset", "none", "laplace", "gaussian"};
    static const char *const placements[] = {"auto", "outputs", "states", "forms"};
    static const char *const adjacencies[] = {"unset", "bare", "ensemble", "one", "agent"};
    return (tc_plan_options){.rounds = strtod(words[2], NULL),
                             .mechanism = (tc_mechanism)pick(words[3], mechanisms, 4),
                             .placement = (tc_placement)pick(words[4], placements, 4),
                             .adjacency = (tc_adjacency)pick(words[5], adjacencies, 5),
                             .adjacency_bound = strtod(words[6], NULL),
                             .epsilon = strtod(words[7], NULL),
                             .delta = 1e-3,
                             .hold_cap = NAN,
                             .method = TC_METHOD_TACIT,
                             .seeded = true};
}

/* By observed number. */
static void print_variances(const tc_plan *plan) {
    double *variance = tap.kept;
    memset(variance, 0, tap.observed * sizeof *variance);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind == TC_CHANNEL_STATES) {
            const tc_family *family = &plan->model->families[channel->family];
            for (size_t c = 0; c < family->dim; c++)
                for (size_t k = 0; k < channel->member_count; k++)
                    variance[tc_coord_of(family, channel->first_member + k, c)] = channel->variance;
        } else {
            for (uint32_t j = 0; j < channel->row_count; j++)
                variance[channel->first_row + j] = channel->variance;
        }
    }
    print_numbers("variance", variance, tap.observed);
}

/* The observed forms, as their values at zero and at unit vectors. */
static void print_forms(tc_engine *engine) {
    size_t n = tap.model->state_count;
    double *x = calloc(n + 1, sizeof *x);
    for (size_t c = 0; x != NULL && c <= n; c++) {
        if (c > 0)
            x[c - 1] = 1;
        tc_released_evaluate(engine->release, x, engine->released);
        print_numbers(c == 0 ? "offset" : "column", engine->released->constraints, tap.observed);
        if (c > 0)
            x[c - 1] = 0;
    }
    free(x);
}

static void print_facts(tc_arena *arena, const tc_plan *plan, const tc_tacit_facts *facts) {
    size_t m = tap.model->constraint_count;
    for (size_t c = 0; c < tap.model->state_count; c++) {
        tc_buffer name = tc_buffer_new(arena, 4096);
        tc_coord_name(&name, tap.model, c);
        printf("coordinate %s\n", tc_buffer_text(&name));
    }
    static const char *const placements[] = {"auto", "outputs", "states", "forms"};
    printf("placement %s\n", placements[plan->placement]);
    print_variances(plan);
    print_numbers("row_scale", facts->row_scale, m);
    print_numbers("weight", facts->weight, m);
    print_numbers("facts", (double[]){facts->rounds, facts->box_length, facts->radius}, 3);
}

static void run(tc_engine *engine, uint64_t rounds, bool moves) {
    size_t n = tap.model->state_count, m = tap.model->constraint_count;
    print_numbers("x", tc_engine_states(engine), n);
    for (uint64_t k = 1; k <= rounds; k++) {
        tc_engine_outcome outcome;
        printf("round\n");
        if (tc_engine_advance(engine, k, NULL, &outcome) != TC_OK || outcome != TC_ENGINE_DONE)
            give_up(tc_engine_reason(engine) == NULL ? "the engine stopped" : tc_engine_reason(engine));
        if (moves && k == rounds)
            print_numbers("point", engine->p, n);
        print_numbers("x", tc_engine_states(engine), n);
        print_numbers("mu", tc_engine_multipliers(engine), m);
        print_numbers("answer_x", tc_engine_result_states(engine), n);
        print_numbers("answer_mu", tc_engine_result_multipliers(engine), m);
    }
}

static void dump(tc_arena *arena, char **words, int count) {
    tc_buffer messages = tc_buffer_new(arena, 1 << 20);
    tc_model *model = NULL;
    if (tc_model_load(arena, words[1], NULL, &messages, &model) != TC_OK)
        give_up(tc_buffer_text(&messages));
    tc_derivatives *derivatives = tc_derive(arena, model);
    tc_analysis_options skip = {.skip_private = true};
    tc_analysis *analysis = tc_analysis_run(arena, model, derivatives, &skip, NULL);
    tc_plan_options options = read_options(words);
    tc_plan *plan = tc_plan_make(arena, model, derivatives, analysis, &options, NULL);
    if (plan->problem != NULL)
        give_up(plan->problem);
    bool states = plan->placement == TC_PLACEMENT_STATES;
    tap.model = model;
    tap.observed = states ? model->state_count : plan->measured->constraint_count;
    tap.kept = TC_NEW(arena, double, tap.observed);
    tap.injected = count > 10 ? fopen(words[10], "r") : NULL;
    double radius = model->constraint_count == 0 ? INFINITY : analysis->dual_radius.value;
    const char *why = NULL;
    tc_margin_wish margin = {0};
    if (strcmp(words[9], "follow") == 0)
        margin = (tc_margin_wish){.kind = TC_MARGIN_AUTO, .probability = 0.95};
    tc_tacit_facts *facts = tc_tacit_facts_make(arena, plan, model, derivatives, radius, margin, &why);
    if (facts == NULL)
        give_up(why);
    print_facts(arena, plan, facts);
    tc_run_identity identity = {.run_id = "dump", .run_id_length = 4};
    tc_random *random = NULL;
    tc_engine *engine = NULL;
    tc_engine_settings settings = {.dual_radius = radius, .facts = facts};
    tc_driver driver = strcmp(words[9], "large") == 0 ? TC_DRIVER_LARGE : TC_DRIVER_SMALL;
    if (tc_random_new_simulation(arena, &identity, strtoull(words[8], NULL, 10), &random) != TC_OK ||
        tc_engine_new_driven(arena, plan, model, derivatives, random, &settings, driver, &engine, &why) != TC_OK)
        give_up(why == NULL ? "no engine" : why);
    if (!states)
        print_forms(engine);
    run(engine, (uint64_t)options.rounds, facts->moves);
}

int main(int count, char **words) {
    if (count < 10)
        give_up("needs FILE ROUNDS MECHANISM PLACEMENT ADJACENCY BOUND EPSILON SEED DRIVER [OBSERVATIONS]");
    tc_arena *arena = tc_arena_new(0);
    tc_escape escape;
    tc_status status = arena == NULL ? TC_NO_MEMORY : TC_TRY(arena, &escape);
    if (status != TC_OK)
        give_up(tc_status_text(status));
    dump(arena, words, count);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    if (tap.injected != NULL)
        (void)fclose(tap.injected);
    return 0;
}
