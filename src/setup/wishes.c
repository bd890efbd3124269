#include "setup/wishes.h"

#include "base/sized.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tc_method_choices[] = {"published", "tacit", NULL};
const char *const tc_adjacency_pairs[] = {"one", "ensemble", "agent", NULL};
const char *const tc_mechanism_choices[] = {"none", "laplace", "gaussian", NULL};
const char *const tc_placement_choices[] = {"auto", "outputs", "states", "forms", NULL};
const char *const tc_calibration_choices[] = {"tight", "published", NULL};
const char *const tc_constants_choices[] = {"certified", "declared", NULL};

enum { LONGEST_QUOTE = 200, MOST_COALITIONS = 1 << 20 };
static const uint64_t MOST_SEED = UINT64_C(1) << 53; /* JSON keeps these */
static const double MOST_ROUNDS = 0x1p48 - 1, MOST_DECAY = 10;

typedef struct wish_reader {
    tc_work *work;
    bool wrong;
} wish_reader;

static void complain(wish_reader *r, const char *option, const char *wanted, const char *text, const char *hint) {
    bool is_long = strlen(text) > LONGEST_QUOTE;
    tc_work_say(r->work, "%s wants %s, not '%.*s%s'%s", option, wanted, LONGEST_QUOTE, text, is_long ? "..." : "",
                hint);
    r->wrong = true;
}

bool tc_read_number(const char *text, double *value) {
    char *end = NULL;
    if (text[0] == '\0' || strchr("0123456789.+-", text[0]) == NULL || strpbrk(text, "xXnN") != NULL)
        return false;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

/* The number of a word in a list; `standard` where none is given. */
static int choice(wish_reader *r, const char *option, const char *const *choices, const char *word, int standard) {
    tc_buffer list = tc_buffer_new(r->work->arena, 1 << 12);
    size_t count = 0;
    if (word == NULL)
        return standard;
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(word, choices[i]) == 0)
            return i;
        tc_buffer_printf(&list, "%s%s", i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ", choices[i]);
        count++;
    }
    const char *near = tc_suggest_word(word, choices, count);
    complain(r, option, tc_buffer_text(&list), word,
             near != NULL                   ? tc_arena_format(r->work->arena, "; did you mean %s?", near)
             : choices == tc_method_choices ? "; published is the paper's"
                                            : "");
    return standard;
}

/* The value, if it lies between the two, ends included if `closed`. Otherwise NAN, and a message unless it was NAN. */
static double number(wish_reader *r, const char *option, double value, double above, double below, bool closed,
                     const char *wanted) {
    bool fits = closed ? value >= above && value <= below : value > above && value < below;
    if (!isnan(value) && !fits)
        complain(r, option, wanted, tc_arena_format(r->work->arena, "%g", value), "");
    return fits ? value : NAN;
}

/* Bytes of a colon, blanks, or a colon between blanks. */
static size_t separator(const char *text) {
    size_t blanks = strspn(text, " ");
    return text[blanks] == ':' ? blanks + 1 + strspn(text + blanks + 1, " ") : blanks;
}

/* "one:1", and "one 1" as in a file. */
static void read_adjacency(wish_reader *r, const char *text, tc_plan_options *plan) {
    static const struct {
        const char *word;
        tc_adjacency unit;
    } units[] = {{"ensemble", TC_ADJACENCY_ENSEMBLE},
                 {"one", TC_ADJACENCY_ONE},
                 {"agent", TC_ADJACENCY_WITHIN},
                 {"", TC_ADJACENCY_BARE}};
    if (text == NULL)
        return;
    if (strcmp(text, "agent") == 0 || strcmp(text, "data") == 0) {
        plan->adjacency = text[0] == 'a' ? TC_ADJACENCY_AGENT : TC_ADJACENCY_DATA;
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].word), between = 0;
        if (strncmp(text, units[i].word, length) == 0)
            between = separator(text + length);
        if (strncmp(text, units[i].word, length) != 0 || (length > 0) != (between > 0))
            continue;
        plan->adjacency = units[i].unit;
        if (tc_read_number(text + length + between, &plan->adjacency_bound) && plan->adjacency_bound > 0)
            return;
        break;
    }
    complain(r, "adjacency", "ensemble:B, one:B, agent, agent:B, data or B, where B is a positive number", text, "");
}

/* "a,b", without an empty name. */
static void read_coalitions(wish_reader *r, const tacit_promise *promise, tc_plan_options *plan) {
    size_t count = promise->coalition_count;
    if (count > MOST_COALITIONS || (count > 0 && promise->coalitions == NULL)) {
        tc_work_say(r->work,
                    count > MOST_COALITIONS ? "%zu coalitions are too many"
                                            : "there are %zu coalitions, but their list is NULL",
                    count);
        r->wrong = true;
        return;
    }
    const char **texts = TC_NEW(r->work->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *text = promise->coalitions[i] == NULL ? "" : promise->coalitions[i];
        size_t length = strlen(text);
        if (length == 0 || text[0] == ',' || text[length - 1] == ',' || strstr(text, ",,") != NULL)
            complain(r, "coalition", "names of agents with a comma between", text, "");
        texts[i] = tc_arena_copy(r->work->arena, text, length);
    }
    plan->coalitions = texts;
    plan->coalition_count = count;
}

/* "0.1", "auto", "auto:0.99" */
static void read_margin(wish_reader *r, const char *text, tc_privacy_wishes *wishes) {
    double value = TC_FEASIBLE_PROBABILITY;
    if (text == NULL)
        return;
    bool automatic = strncmp(text, "auto", 4) == 0;
    bool read = automatic ? text[4] == '\0' || (text[4] == ':' && tc_read_number(text + 5, &value))
                          : tc_read_number(text, &value);
    if (!read || (automatic ? !(value > 0.5 && value < 1) : !(value >= 0))) {
        complain(r, "margin", "a number from 0, auto, or auto:P with P above 0.5 and below 1", text, "");
        return;
    }
    if (automatic)
        wishes->margin = (tc_margin_wish){.kind = TC_MARGIN_AUTO, .probability = value};
    else if (value > 0)
        wishes->margin = (tc_margin_wish){.kind = TC_MARGIN_GIVEN, .amount = value};
    if (tc_resolve_method(&wishes->plan) != TC_METHOD_TACIT) {
        tc_work_say(r->work, "a margin goes with method tacit");
        r->wrong = true;
    }
}

/* "always", "always:0.3" */
static void read_feasible(wish_reader *r, const char *text, tc_plan_options *plan) {
    plan->last_share = NAN;
    if (text == NULL)
        return;
    plan->certain = strcmp(text, "always") == 0 ||
                    (strncmp(text, "always:", 7) == 0 && tc_read_number(text + 7, &plan->last_share) &&
                     plan->last_share > 0 && plan->last_share < 1);
    if (!plan->certain)
        complain(r, "feasible", "always, or always:S with S above 0 and below 1", text, "");
}

static void read_budget(wish_reader *r, const tacit_promise *promise, tc_privacy_wishes *wishes) {
    tc_budget budget = {
        .epsilon = number(r, "the budget's epsilon", promise->budget_epsilon, 0, INFINITY, false, "a positive number"),
        .delta = number(r, "the budget's delta", promise->budget_delta, 0, 1, false, "a number above 0 and below 1")};
    if (isnan(promise->budget_epsilon) && !isnan(promise->budget_delta)) {
        tc_work_say(r->work, "a budget's delta goes with its epsilon");
        r->wrong = true;
    }
    if (!isnan(budget.epsilon))
        wishes->budgets.list[wishes->budgets.count++] = budget;
}

static double rounds_of(wish_reader *r, double rounds) {
    double value = number(r, "rounds", rounds, 1, MOST_ROUNDS, true, "a whole number from 1 to 2^48 - 1");
    if (isnan(value) || value == floor(value))
        return value;
    complain(r, "rounds", "a whole number", tc_arena_format(r->work->arena, "%g", value), "");
    return NAN;
}

static void read_promise(wish_reader *r, const tacit_promise *promise, tc_privacy_wishes *wishes) {
    const char *positive = "a positive number", *decay = "a number from 0 to 10";
    wishes->plan = (tc_plan_options){
        .mechanism =
            (tc_mechanism)(TC_MECHANISM_NONE + choice(r, "mechanism", tc_mechanism_choices, promise->mechanism, -1)),
        .calibration = (tc_calibration)choice(r, "calibration", tc_calibration_choices, promise->calibration, 0),
        .constants = (tc_constants)choice(r, "constants", tc_constants_choices, promise->constants, 0),
        .placement = (tc_placement)choice(r, "placement", tc_placement_choices, promise->placement, 0),
        .method = (tc_method)(TC_METHOD_PUBLISHED + choice(r, "method", tc_method_choices, promise->method, -1)),
        .adjacency = TC_ADJACENCY_UNSET,
        .adjacency_bound = NAN,
        .epsilon = number(r, "epsilon", promise->epsilon, 0, INFINITY, false, positive),
        .delta = number(r, "delta", promise->delta, 0, 1, false, "a number above 0 and below 1"),
        .rounds = rounds_of(r, promise->rounds),
        .hold_cap = promise->most_holds,
    };
    double per_day = number(r, "rounds_per_day", promise->rounds_per_day, 0, INFINITY, false, positive);
    wishes->plan.rounds_per_day = isnan(per_day) ? 0 : per_day;
    wishes->schedule =
        (tc_schedule){.step = number(r, "gamma_bar", promise->gamma_bar, 0, INFINITY, false, positive),
                      .step_decay = number(r, "c2", promise->c2, 0, MOST_DECAY, true, decay),
                      .regularization = number(r, "alpha_bar", promise->alpha_bar, 0, INFINITY, false, positive),
                      .regularization_decay = number(r, "c1", promise->c1, 0, MOST_DECAY, true, decay),
                      .rounds = wishes->plan.rounds};
    read_adjacency(r, promise->adjacency, &wishes->plan);
    read_coalitions(r, promise, &wishes->plan);
    read_feasible(r, promise->feasible, &wishes->plan);
    read_margin(r, promise->margin, wishes);
    read_budget(r, promise, wishes);
    wishes->seeded = wishes->plan.seeded = promise->simulate != 0;
    wishes->seed = promise->seed;
    if (wishes->seeded && wishes->seed > MOST_SEED) {
        tc_work_say(r->work, "seeds are whole numbers up to 2^53");
        r->wrong = true;
    }
    if (!wishes->seeded && wishes->seed != 0) {
        tc_work_say(r->work, "a seed goes with simulate: without it noise is fresh");
        r->wrong = true;
    }
    if (promise->ledger != NULL)
        wishes->ledger = tc_arena_copy(r->work->arena, promise->ledger, strlen(promise->ledger));
}

tc_status tc_wishes_read(tc_work *work, const tacit_promise *promise, tc_privacy_wishes *wishes) {
    wish_reader r = {.work = work};
    tacit_promise read;
    tacit_promise_default(&read, sizeof read);
    *wishes = (tc_privacy_wishes){0};
    if (promise != NULL && !tc_copy_sized(&read, sizeof read, sizeof read, promise))
        return tc_work_refuse(work, "the promise's size is not sizeof(tacit_promise)");
    read_promise(&r, &read, wishes);
    return r.wrong ? TC_BAD_USAGE : TC_OK;
}

void tacit_promise_default(tacit_promise *promise, size_t size) {
    const tacit_promise standard = {.epsilon = NAN,
                                    .delta = NAN,
                                    .rounds = NAN,
                                    .alpha_bar = NAN,
                                    .gamma_bar = NAN,
                                    .c1 = NAN,
                                    .c2 = NAN,
                                    .rounds_per_day = NAN,
                                    .budget_epsilon = NAN,
                                    .budget_delta = NAN};
    tc_default_sized(promise, size, &standard, sizeof standard);
}

static void replace(double *value, double wish) {
    if (!isnan(wish))
        *value = wish;
}

tc_model *tc_wishes_apply(tc_arena *arena, const tc_model *model, const tc_privacy_wishes *wishes) {
    tc_model *copy = TC_NEW(arena, tc_model, 1);
    *copy = *model;
    replace(&copy->schedule.step, wishes->schedule.step);
    replace(&copy->schedule.step_decay, wishes->schedule.step_decay);
    replace(&copy->schedule.regularization, wishes->schedule.regularization);
    replace(&copy->schedule.regularization_decay, wishes->schedule.regularization_decay);
    replace(&copy->schedule.rounds, wishes->schedule.rounds);
    return copy;
}

void tc_budgets_add_file(tc_budgets *budgets, const tc_model *model) {
    if (!isnan(model->budget.epsilon))
        budgets->list[budgets->count++] = model->budget;
}

tc_status tc_budgets_check(tc_work *work, const tc_budgets *budgets, const tc_ledger *ledger,
                           const tc_ledger_entry *next) {
    for (size_t i = 0; i < budgets->count; i++) {
        const char *fault = tc_budget_fault(work->arena, ledger, next, &budgets->list[i]);
        if (fault != NULL)
            return tc_work_refuse(work, fault);
    }
    return TC_OK;
}
