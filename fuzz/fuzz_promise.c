/* Bytes as what a program gives to the library: a promise of words and numbers, a table, a matrix. A problem and a
 * plan, or a status with a message; and a plan has its texts. */
#include <tacit/tacit.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ROWS = 6, MOST_COALITIONS = 3, LONGEST = 100, MOST_WORDS = 32 };

typedef struct bytes {
    const uint8_t *at, *end;
    char *words[MOST_WORDS]; /* to be freed */
    size_t word_count;
} bytes;

static unsigned take(bytes *b, unsigned limit) { return b->at < b->end ? *b->at++ % limit : 0; }

/* A known word, any other, or none. */
static const char *take_word(bytes *b, const char *const *known, unsigned count) {
    unsigned which = take(b, count + 3);
    if (which < count)
        return known[which];
    if (which != count || b->word_count == MOST_WORDS)
        return NULL;
    size_t length = take(b, LONGEST);
    char *word = calloc(1, length + 1); /* no larger, so that the sanitizer sees a step too far */
    for (size_t i = 0; word != NULL && i < length; i++)
        word[i] = (char)take(b, 256);
    if (word != NULL)
        b->words[b->word_count++] = word;
    return word;
}
#define TAKE_WORD(b, ...)                                                                                              \
    take_word(b, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static double take_number(bytes *b) {
    static const double numbers[] = {0,     1,    0.5,        0.1,       1e-6,        2,      10,
                                     100,   1e-9, 0x1p-1074,  0x1p-1022, 1e300,       -1,     -0.0,
                                     0.999, 1e9,  0x1p48 - 1, 0x1p48,    1 - 0x1p-53, 1e-300, 3};
    unsigned which = take(b, 30);
    if (which < sizeof numbers / sizeof *numbers)
        return numbers[which];
    if (which == 28)
        return (double)INFINITY;
    if (which != 29)
        return (double)NAN;
    uint64_t bits = 0;
    for (unsigned i = 0; i < 8; i++)
        bits = bits << 8 | take(b, 256);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void take_promise(bytes *b, tacit_promise *promise, const char **coalitions) {
    tacit_promise_default(promise, sizeof *promise);
    promise->mechanism = TAKE_WORD(b, "laplace", "gaussian", "none");
    promise->adjacency = TAKE_WORD(b, "one:0.5", "ensemble:2", "agent", "1", "one:1e-300", "one:1e300");
    promise->epsilon = take_number(b);
    promise->delta = take_number(b);
    promise->rounds = take(b, 2) == 0 ? 1 + take(b, 50) : take_number(b);
    promise->method = TAKE_WORD(b, "tacit", "published");
    promise->placement = TAKE_WORD(b, "auto", "outputs", "states", "forms");
    promise->calibration = TAKE_WORD(b, "tight", "published");
    promise->constants = TAKE_WORD(b, "certified", "declared");
    promise->margin = TAKE_WORD(b, "0.1", "auto", "auto:0.99", "0", "1e300");
    promise->alpha_bar = take_number(b);
    promise->gamma_bar = take_number(b);
    promise->c1 = take_number(b);
    promise->c2 = take_number(b);
    promise->coalition_count = take(b, MOST_COALITIONS + 1);
    for (size_t i = 0; i < promise->coalition_count; i++)
        coalitions[i] = TAKE_WORD(b, "home[1]", "home[1],home[2]", "home[3],home[1],home[2]", "home[0]", ",", "home");
    promise->coalitions = take(b, 20) == 19 ? NULL : coalitions;
    promise->most_holds = take(b, 4) == 3 ? UINT32_MAX - take(b, 2) : take(b, 5);
    promise->rounds_per_day = take_number(b);
    promise->simulate = (int)take(b, 2);
    promise->seed = take(b, 3) == 2 ? UINT64_MAX : take(b, 256);
    promise->budget_epsilon = take_number(b);
    promise->budget_delta = take_number(b);
    promise->ledger = take(b, 4) == 3 ? "/nowhere/at/all" : NULL;
}

/* A table of homes and a matrix, nearly right or not. */
static tacit_status take_problem(bytes *b, tacit_problem **problem, char **message) {
    static const char *const texts[] = {
        "data homes = given\nparam m = given\nagents home over homes { state p[2] in [0, 4]\n"
        "private minimize sumsq(p - [wish, 1]) }\nconstraint feeder[t in 1..2]: sum(home: p[t]) <= m[t, 1]\n"
        "dual radius 8\nprivacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\n"
        "schedule { alpha 0.5 k^-0.1; gamma 0.1 k^-0.6; rounds 20 }\n",
        "data homes = given public wish\nparam m = given\nagents home over homes { state p[2] in [0, wish]\n"
        "private minimize sumsq(p - m[1, 1]) }\nconstraint feeder: sum(home: wish * p[1] + p[2]^2) <= 9\n"
        "dual radius 8\nprivacy { epsilon 1; delta 1e-6; mechanism gaussian; adjacency ensemble 2 }\n",
        "data homes = given\nparam m = given\nagents home[i] over homes { state p[2] in [0, 4]; public set sum(p) <= "
        "6\n"
        "private minimize sumsq(p - [wish, 1]) + 0.5 * abs(p[1] - i); gap 90; slater p = 1 within 0.5 }\n"
        "constraint level: sum(home: p[1]) == m[1, 1]\nconstraint most: sum(home: p[2]) <= m[2, 1]\n"
        "privacy { mechanism laplace; epsilon 1; adjacency agent }\nschedule { rounds 20 }\n",
        "data homes = given public wish\nparam m = given\nagents home over homes { state p[2] in [0, 4]\n"
        "private maximize -norm1(p - m[1, 1]) - pos(p[1] - wish) - max(p) - sumsq(p) }\n"
        "constraint use: 0 <= sum(home: p[1]) <= 9\nconstraint near: norm([home[1].p[1], home[2].p[2]]) <= 3\n"
        "dual radius 8\nprivacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\nschedule { rounds 20 }\n"};
    double numbers[MOST_ROWS * 2], values[4];
    const char *members[MOST_ROWS];
    for (size_t i = 0; i < MOST_ROWS * 2; i++)
        numbers[i] = take(b, 4) == 3 ? take_number(b) : take(b, 100);
    for (size_t i = 0; i < 4; i++)
        values[i] = take(b, 4) == 3 ? take_number(b) : take(b, 100);
    for (size_t i = 0; i < MOST_ROWS; i++)
        members[i] = TAKE_WORD(b, "a", "b", "c", "d d", "e");
    const tacit_column columns[] = {{TAKE_WORD(b, "wish", "wish", "wish", "wish"), numbers, 1, take(b, 3), 0},
                                    {TAKE_WORD(b, "other", "name"), numbers, 1 + take(b, 2), 0, 1}};
    const tacit_table table = {TAKE_WORD(b, "homes", "homes", "homes", "homes"), take(b, MOST_ROWS + 1), columns,
                               1 + take(b, 2), take(b, 3) == 2 ? members : NULL};
    const tacit_matrix matrix = {TAKE_WORD(b, "m", "m", "m", "m"), values, 2, 1 + take(b, 2), 0, 0};
    const char *text = texts[take(b, 4)];
    const tacit_source source = {.size = sizeof source,
                                 .path = TAKE_WORD(b, "homes.tacit", "\n"),
                                 .text = text,
                                 .length = strlen(text),
                                 .tables = &table,
                                 .table_count = 1,
                                 .matrices = &matrix,
                                 .matrix_count = 1};
    return tacit_problem_make(&source, problem, message);
}

static void check(tacit_status status, const void *made, char *message) {
    if (status == TACIT_INTERNAL || (status == TACIT_OK) != (made != NULL) || (status == TACIT_OK) != (message == NULL))
        abort();
    tacit_text_free(message);
}

static void plan(bytes *b, tacit_problem *problem) {
    const char *coalitions[MOST_COALITIONS];
    tacit_promise promise;
    tacit_result *result = NULL;
    char *message = NULL;
    take_promise(b, &promise, coalitions);
    check(tacit_plan(problem, &promise, NULL, &result, &message), result, message);
    if (result == NULL)
        return;
    tacit_plan_facts facts = {.size = sizeof facts};
    if (tacit_result_json(result) == NULL || tacit_result_text(result) == NULL ||
        tacit_result_plan(result, &facts) != TACIT_OK || (facts.problem == NULL) != (facts.hash != NULL) ||
        (facts.problem == NULL && facts.is_private && !(facts.epsilon > 0)))
        abort();
    message = NULL;
    const char *certificate = tacit_plan_certificate(result, &message);
    if ((certificate == NULL) != (message != NULL))
        abort();
    bool is_small = facts.problem == NULL && promise.rounds <= 50;
    tacit_text_free(message);
    tacit_result_free(result);
    if (!is_small)
        return;
    promise.simulate = 1; /* fresh noise would differ every time */
    promise.seed = 1;
    message = NULL;
    check(tacit_run(problem, &promise, NULL, NULL, &result, &message), result, message);
    if (result != NULL && (tacit_result_json(result) == NULL || tacit_result_text(result) == NULL))
        abort();
    tacit_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = {.at = data, .end = data + size};
    tacit_problem *problem = NULL;
    char *message = NULL;
    check(take_problem(&b, &problem, &message), problem, message);
    if (problem != NULL)
        plan(&b, problem);
    tacit_problem_free(problem);
    for (size_t i = 0; i < b.word_count; i++)
        free(b.words[i]);
    return 0;
}
