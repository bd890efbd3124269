/* How a step is computed may be chosen by data: whether a function has a kink in a member's box, whether a row of its
 * set cuts anything. A member alone, with the file that `tacit split` writes, sees its own data only; it must choose as
 * the family chooses for it, since its bits are those of the simulation. The members of these families give different
 * answers to every such question. */
#include "engine/parties.h"

enum { MEMBERS = 13, ROUNDS = 4 };

/* By member: a target inside or outside of the box, a sign, a weight that is zero for some, room that is plenty for
 * some, a sign that is never zero. */
static const double ROWS[MEMBERS][5] = {
    {0.3, 1, 0.7, 0.2, 1},   {-4, -1, 0, 9, 1},     {5, 0.5, 1.3, 0.4, -1},    {0, 0, 0, 9, -1},     {1, 1, 0.1, 9, 1},
    {-1, -0.5, 2, 0.1, -1},  {2.5, 1, 1e-3, 9, 1},  {-7, 0.25, 0, 0.3, 1},     {0.9, 1, 0.4, 9, -1}, {6, -1, 1, 0.6, 1},
    {-0.2, 0.75, 5, 0.5, 1}, {1e-3, 1, 0.2, 9, -1}, {-1.5, -0.1, 0.6, 0.7, 1},
};

static const char *const CHOICES[] = {
    /* bends whose factor has either sign */
    "0.3 * s * huber(x[1] + x[2] - a / 4, 0.3) + sumsq(x)",
    "0.3 * s * huber(x[1] - x[2], 1e-7) + 2 * sumsq(x - [a, s, w, 0])",
    "w * huber(x[1] - 2 * x[3], 1e-9) + 0.2 * s * huber(x[2], 0.1) + sumsq(x)",
    "w * huber(x[1] + x[3] - a, 1e-6) + abs(x[2]) + exp(x[4])",
    "0.3 * s * huber(x[1] + x[3], 1e-3) + abs(x[2] - a) + sumsq(x) + exp(x[4])",
    /* kinks in some boxes and not in others */
    "abs(x[1] - a) + sumsq(x - [1, s, w, 2])",
    "w * abs(x[1] - a) + 0.3 * abs(x[2] - s) + sumsq(x)",
    "abs(x[1] - a) + exp(x[2] - s) + 0.1 * sumsq(x)",
    "s * abs(x[1] - 9) + sumsq(x - [a, a, 0, 0])",
    "-log(abs(x[1] - 8 * f)) + sumsq(x)",
    "s * abs(x[1] + 7) + abs(x[2] - a) + sumsq(x)",
    "abs(x[1] - a)^2 + exp(abs(x[2] - a) / 4) + sumsq(x)",
    "max(abs(x[1] - a), abs(x[2]) - 1, -20) + sumsq(x)",
    "max(x[1], a - 9 * w, 9 * s) + sumsq(x - [1, 1, 1, 1])",
    "norm1(x - [a, s, a, w]) + 0.5 * sumsq(x - [w, w, s, s])",
    "abs(a * x[1]) + abs(w * (x[2] + x[3])) + sumsq(x)",
    /* norms */
    "norm(x[1..2] - [a, a]) + sumsq(x)",
    "norm(x[1..2] - [a, a]) + norm(x[3..4] - [s, w]) + 0.1 * sumsq(x)",
    "norm(x[1..2] - [a, a]) + abs(x[3] - s) + sumsq(x)",
    "w * norm(x - [a, 0, 0, s]) + exp(x[1])",
    "norm([x[1] - 9, x[2] + a]) + huber(x[3] - a, 0.1) + sumsq(x)",
    "sumsq(x) - 0.1 * norm(x[1..2] - 9 * [f, f])",
    /* curvature that is zero for some */
    "w * (x[1] - a)^2 + 0.1 * (x[2] - s)^2 + a * x[3]",
    "w * sumsq(x) + a * x[1] + s * x[2]",
    "w * (x[1] + x[2] - a)^2 + x[3]^2",
    "w * exp(x[1]) + (x[2] - a)^4 + s * x[3]",
    "w * exp(x[1] + x[2]) + s * x[1] + (x[3] - a)^2",
    "logsumexp(w * x[1], a * x[2], x[3])",
};

static const char *const ROOMS[] = {
    "",
    "private set sum(x) >= 2 - c - a / 100",
    "private set x[1] + 2 * x[2] <= c; private set x[3] - x[4] <= c - 0.1 * w",
    "private set x[1] + x[2] <= c; private set x[2] + x[3] <= 9.1 - c",
    "private set x[1..2] in ball([0, 0], c)",
    "private set x[1..2] in ball([0, 0], c); private set x[3..4] in ball1([0, 0], 0.4 + c)",
    "private set x[2..3] in ball1([0, 0], c); private set x[1] + x[4] <= 9.2 - c",
    "private set -c <= x[1] - x[2] <= c + w",
    "private set x[1] + s * x[2] <= c; private set x[1] - f * x[2] >= -c",
    "private set quadform(x[1..2], [[2, 0.5], [0.5, 1]]) <= c^2; private set x[3] <= 1 - w / 100",
    "private set x in [-2 + c / 9, 2]; private set sum(x) == 0.1 * s",
    "private set x[1] <= c; private set w * x[2] + x[3] <= 0.5",
};

static void put_members(void) {
    char text[4000] = "a,s,w,c,f\n";
    for (size_t k = 0; k < MEMBERS; k++) {
        const double *row = ROWS[k];
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%.17g,%.17g,%.17g,%.17g,%.17g\n", row[0], row[1], row[2], row[3],
                       row[4]);
    }
    put_file("members.csv", text);
}

/* All members, over all rounds; how many of them differ from themselves alone. */
static size_t count_differences(const char *text, const char *folder) {
    bench whole = load_bytes(text, strlen(text));
    if (whole.status != TC_OK)
        fail_msg("%s\n%s", text, messages_of(&whole));
    size_t files;
    remove_all(folder);
    if (tc_split(whole.arena, whole.model, folder, false, NULL, &whole.messages, &files) != TC_OK)
        fail_msg("%s\n%s", text, messages_of(&whole));
    party all = party_of(whole), members[MEMBERS];
    const tc_family *family = &whole.model->families[0];
    bool differs[MEMBERS] = {false};
    tc_agents_start(all.agents, all.x);
    for (size_t k = 0; k < family->count; k++) {
        members[k] = party_of(load_path(path_of(folder, family, k)));
        tc_agents_start(members[k].agents, members[k].x);
    }
    for (int round = 0; round < ROUNDS; round++) {
        step_kind kind = {.is_proximal = true, .scalars = {.step = 4.1 / (1 + round), .regularization = 0.01 * round}};
        for (size_t i = 0; i < whole.model->state_count; i++)
            all.p[i] = crowd_number(i, (size_t)round, 5, -2, 2);
        step_family(&all, 0, kind);
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++)
                members[k].p[c] = all.p[tc_coord_of(family, k, c)];
            step_alone(&members[k], kind);
            differs[k] = differs[k] || !same_state(&all, family, k, &members[k]);
        }
    }
    size_t count = 0;
    for (size_t k = 0; k < family->count; k++) {
        count += differs[k];
        bench_free(&members[k].loaded);
    }
    bench_free(&all.loaded);
    return count;
}

static size_t examine(const char *objective, const char *set) {
    char text[2000];
    (void)snprintf(text, sizeof text,
                   "data members = csv \"members.csv\"\n"
                   "agents m over members {\n"
                   "  state x[4] in [-2, 3]\n"
                   "  private minimize %s\n"
                   "  %s\n"
                   "}\n"
                   "constraint g: sum(m: x[1] + x[2]) <= 90\n"
                   "dual radius 10\n",
                   objective, set);
    size_t count = count_differences(text, "choices");
    if (count > 0)
        print_error("%zu members differ: %s; %s\n", count, objective, set);
    return count;
}

static void members_choose_as_their_family_does(void **state) {
    (void)state;
    size_t differ = 0;
    put_members();
    for (size_t o = 0; o < sizeof CHOICES / sizeof *CHOICES; o++)
        for (size_t s = 0; s < sizeof ROOMS / sizeof *ROOMS; s++)
            differ += examine(CHOICES[o], ROOMS[s]);
    assert_int_equal(differ, 0);
}

/* ---- drawn at random --------------------------------------------------------------------------------------------- */

enum { DRAWN = 120, MOST_TEXT = 600 };

static const char *const TERMS[] = {
    "abs(x[%d] - 2 * a)",
    "w * abs(x[%d] + x[1] - s)",
    "norm([x[%d] - a, x[3] - 2 * s])",
    "0.3 * s * huber(x[%d] - x[2], 0.2)",
    "w * huber(x[%d] + x[3] - a, 1e-7)",
    "max(x[%d], a, -9)",
    "exp(s * x[%d])",
    "w * (x[%d] - x[4] + a)^2",
    "0.2 * s * abs(x[%d] - 5 * f)",
    "(x[%d] - a)^4",
};
static const char *const LIMITS[] = {
    "private set x[%d] + x[1] + x[4] <= c",
    "private set x[%d] - 2 * x[3] >= -c - w",
    "private set x[1..2] in ball([0, 0], c + 0.%d)",
    "private set x[3..4] in ball1([0, 0], c + 0.%d)",
    "private set -c - w <= x[%d] - 2 * x[2] + s * x[3] <= c",
    "private set x[%d] <= 0.2 + c",
};
enum { TERM_COUNT = sizeof TERMS / sizeof *TERMS, LIMIT_COUNT = sizeof LIMITS / sizeof *LIMITS };

static size_t below(uint64_t *seed, size_t count) { return (size_t)random_below(seed, count); }

/* A few of the words, each with a component. */
static void draw(uint64_t *seed, const char *const *words, size_t word_count, const char *between, size_t most,
                 char *out) {
    size_t count = below(seed, most + 1);
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *word = words[below(seed, word_count)], *place = strstr(word, "%d");
        size_t at = strlen(out), component = 1 + below(seed, 4);
        (void)snprintf(out + at, MOST_TEXT - at, "%.*s%zu%s%s", (int)(place - word), word, component, place + 2,
                       between);
    }
}

static void members_of_random_families_do_too(void **state) {
    (void)state;
    uint64_t seed = 20;
    size_t differ = 0;
    put_members();
    for (size_t i = 0; i < CASES(DRAWN); i++) {
        AT_CASE(i);
        char objective[2 * MOST_TEXT], terms[MOST_TEXT], sets[MOST_TEXT];
        draw(&seed, TERMS, TERM_COUNT, " + ", 4, terms);
        draw(&seed, LIMITS, LIMIT_COUNT, "; ", 3, sets);
        (void)snprintf(objective, sizeof objective, "%s%s", terms,
                       below(&seed, 2) == 0 ? "0.5 * sumsq(x)" : "0.7 * sumsq(x) + x[1] * x[3] / 4");
        differ += examine(objective, sets);
    }
    assert_int_equal(differ, 0);
}

/* ---- many members, a few at a time ------------------------------------------------------------------------------- */

enum { CROWD = 700 };

/* Half of them have a kink, and a row cuts something for a third; the ranges begin and end anywhere. */
static void members_that_choose_differently_may_be_computed_in_any_ranges(void **state) {
    (void)state;
    static const char text[] = "agents m[i in 1..700] {\n"
                               "  private param a = (i * 0.6180339887 - floor(i * 0.6180339887)) * 4 - 1\n"
                               "  private param c = 9 * floor(i / 3) - 3 * i + 6.5\n"
                               "  state x[2] in [-1, 1]\n"
                               "  private minimize norm(x - [a, a]) + (x[1] - x[2] + a)^2\n"
                               "  private set x[1] + x[2] <= c / 3\n"
                               "}\n"
                               "constraint g: sum(m: x[1]) <= 900\n"
                               "dual radius 10\n";
    static const size_t ends[] = {1, 2, 5, 130, 131, 300, 699, 700};
    party all = party_of(load_bytes(text, strlen(text)));
    const tc_family *family = &all.loaded.model->families[0];
    assert_int_equal(family->count, CROWD);
    double *once = TC_NEW(all.loaded.arena, double, 2 * CROWD), *parts = TC_NEW(all.loaded.arena, double, 2 * CROWD);
    tc_agents_start(all.agents, all.x);
    for (size_t i = 0; i < all.loaded.model->state_count; i++)
        all.p[i] = crowd_number(i, 0, 7, -2, 2);
    for (size_t part = 0, first = 0; part < sizeof ends / sizeof *ends; first = ends[part++]) {
        const double *x[2], *p[2];
        double *next[2];
        for (size_t c = 0; c < 2; c++) {
            x[c] = all.x + tc_coord_of(family, first, c);
            p[c] = all.p + tc_coord_of(family, first, c);
            next[c] = parts + c * CROWD + first;
        }
        tc_answer_scalars scalars = {.step = 0.7, .regularization = 0.1};
        assert_int_equal(tc_proximal_next(all.proximal, 0, 0, first, ends[part] - first, p, scalars, x, next),
                         TC_ALL_FINITE);
    }
    step_family(&all, 0, (step_kind){.is_proximal = true, .scalars = {.step = 0.7, .regularization = 0.1}});
    for (size_t c = 0; c < 2; c++)
        memcpy(once + c * CROWD, all.x + tc_coord_of(family, 0, c), CROWD * sizeof *once);
    assert_memory_equal(once, parts, 2 * CROWD * sizeof *once);
    bench_free(&all.loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_choose_as_their_family_does),
        cmocka_unit_test(members_of_random_families_do_too),
        cmocka_unit_test(members_that_choose_differently_may_be_computed_in_any_ranges),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
