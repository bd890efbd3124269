/* A member of a family that holds its own file alone, as `tacit split` writes it, takes the very steps that it takes in
 * the family: gradient steps and proximal ones, to the last bit, whatever else stands in the whole problem. The
 * cloud's constraints are the same expressions too, operation by operation. */
#include "engine/parties.h"

enum { ROUNDS = 6 };

/* ---- the same expressions ---------------------------------------------------------------------------------------- */

typedef struct twins { /* two models; the second is this member of the first, or SIZE_MAX: all */
    const tc_model *whole, *part;
    size_t member;
    tc_expr *twin; /* by node of the whole; TC_NO_EXPR where none has been met */
} twins;

static bool same_data(const twins *of, const tc_node *a, const tc_node *b) {
    const tc_family *from = &of->whole->families[a->family], *to = &of->part->families[b->family];
    const double *x = from->columns[a->u.index].values, *y = to->columns[b->u.index].values;
    bool is_one = of->member != SIZE_MAX;
    return memcmp(is_one ? x + of->member : x, y, (is_one ? 1 : from->count) * sizeof *x) == 0;
}

/* Operation by operation, operands in the same order. */
static bool is_twin(const twins *of, tc_expr a, tc_expr b) {
    const tc_dag *whole = of->whole->dag, *part = of->part->dag;
    const tc_node *x = tc_node_of(whole, a), *y = tc_node_of(part, b);
    if (of->twin[a] != TC_NO_EXPR)
        return of->twin[a] == b;
    of->twin[a] = b;
    if (x->op != y->op || tc_operand_count(whole, a) != tc_operand_count(part, b))
        return false;
    if (x->op == TC_DATA ? !same_data(of, x, y) : x->u.index != y->u.index)
        return false;
    bool same = true;
    for (size_t i = 0; i < tc_operand_count(whole, a) && same; i++)
        same = is_twin(of, tc_operand(whole, a, i), tc_operand(part, b, i));
    return same;
}

static bool are_twins(const twins *of, const tc_first *a, size_t count, const tc_first *b, size_t other) {
    bool same = count == other;
    for (size_t i = 0; i < count && same; i++)
        same = a[i].row == b[i].row && a[i].column == b[i].column && is_twin(of, a[i].value, b[i].value);
    return same;
}

static bool are_second_twins(const twins *of, const tc_second *a, size_t count, const tc_second *b, size_t other) {
    bool same = count == other;
    for (size_t i = 0; i < count && same; i++)
        same = a[i].row == b[i].row && a[i].column == b[i].column && a[i].other == b[i].other &&
               is_twin(of, a[i].value, b[i].value);
    return same;
}

static twins twins_of(const party *whole, const party *part, size_t member) {
    twins made = {.whole = whole->loaded.model, .part = part->loaded.model, .member = member};
    made.twin = TC_NEW(whole->loaded.arena, tc_expr, made.whole->dag->count);
    memset(made.twin, 0xff, made.whole->dag->count * sizeof *made.twin);
    return made;
}

/* What is computed one after another has the same order too: numbers increase together. */
static bool is_in_order(const twins *of) {
    tc_expr last = 0;
    bool is_first = true, increases = true;
    for (size_t e = 0; e < of->whole->dag->count; e++) {
        if (of->twin[e] == TC_NO_EXPR)
            continue;
        increases = increases && (is_first || of->twin[e] > last);
        last = of->twin[e];
        is_first = false;
    }
    return increases;
}

static void expect_same_objective(const party *whole, size_t f, size_t member, const party *alone) {
    twins of = twins_of(whole, alone, member);
    const tc_family_derivatives *a = &whole->derivatives->families[f], *b = &alone->derivatives->families[0];
    assert_true(is_twin(&of, of.whole->families[f].objective, of.part->families[0].objective));
    assert_true(
        are_twins(&of, a->objective_first, a->objective_first_count, b->objective_first, b->objective_first_count));
    assert_true(are_second_twins(&of, a->objective_second, a->objective_second_count, b->objective_second,
                                 b->objective_second_count));
    assert_true(is_in_order(&of));
}

static void expect_same_constraints(const party *whole, const char *folder) {
    char path[300];
    (void)snprintf(path, sizeof path, "%s/cloud.tacit", folder);
    party cloud = party_of(load_path(path));
    twins of = twins_of(whole, &cloud, SIZE_MAX);
    const tc_derivatives *a = whole->derivatives, *b = cloud.derivatives;
    assert_int_equal(of.whole->constraint_count, of.part->constraint_count);
    assert_int_equal(of.whole->sum_count, of.part->sum_count);
    for (size_t j = 0; j < of.whole->constraint_count; j++)
        assert_true(is_twin(&of, of.whole->constraints[j].outer, of.part->constraints[j].outer));
    for (size_t s = 0; s < of.whole->sum_count; s++)
        assert_true(is_twin(&of, of.whole->sums[s].body, of.part->sums[s].body));
    for (size_t f = 0; f < of.whole->family_count; f++) {
        const tc_family_derivatives *x = &a->families[f], *y = &b->families[f];
        assert_true(are_twins(&of, x->body_first, x->body_first_count, y->body_first, y->body_first_count));
        assert_true(are_second_twins(&of, x->body_second, x->body_second_count, y->body_second, y->body_second_count));
    }
    assert_true(are_twins(&of, a->outer_first, a->outer_first_count, b->outer_first, b->outer_first_count));
    assert_true(is_in_order(&of));
    bench_free(&cloud.loaded);
}

/* ---- the same steps ---------------------------------------------------------------------------------------- */

static step_kind kind_of(int round) {
    return (step_kind){.is_proximal = round % 2 != 0,
                       .scalars = {.step = 0.31 / (1 + round), .regularization = 0.07 / (1 + round)}};
}

/* Members first, first + every, ... of family f of a problem that is loaded, over all rounds. */
static void expect_same_bits(bench whole, const char *folder, size_t f, size_t first, size_t every) {
    size_t files;
    remove_all(folder);
    tc_status status = tc_split(whole.arena, whole.model, folder, false, NULL, &whole.messages, &files);
    if (status != TC_OK)
        fail_msg("%s", messages_of(&whole));
    party all = party_of(whole);
    const tc_family *family = &whole.model->families[f];
    party members[8];
    size_t count = 0;
    tc_agents_start(all.agents, all.x);
    for (size_t k = first; k < family->count && count < 8; k += every, count++) {
        members[count] = party_of(load_path(path_of(folder, family, k)));
        tc_agents_start(members[count].agents, members[count].x);
        assert_true(same_state(&all, family, k, &members[count]));
        expect_same_objective(&all, f, k, &members[count]);
    }
    expect_same_constraints(&all, folder);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < whole.model->state_count; i++)
            all.p[i] = crowd_number(i, (size_t)round, 5, -2, 2);
        step_family(&all, f, kind_of(round));
        for (size_t m = 0; m < count; m++) {
            size_t k = first + m * every;
            for (size_t c = 0; c < family->dim; c++)
                members[m].p[c] = all.p[tc_coord_of(family, k, c)];
            step_alone(&members[m], kind_of(round));
            if (!same_state(&all, family, k, &members[m]))
                fail_msg("%s: member %zu differs in round %d", folder, k + 1, round);
        }
    }
    for (size_t m = 0; m < count; m++)
        bench_free(&members[m].loaded);
    bench_free(&all.loaded);
}

static void members_of_the_examples(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t first, every;
    } examples[] = {{"ev", 3, 251}, {"num", 0, 5}, {"robots", 0, 2}};
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, TACIT_SOURCE_DIR "/examples/%s.tacit", examples[i].name);
        expect_same_bits(load_path(path), examples[i].name, 0, examples[i].first, examples[i].every);
    }
}

/* Everything that the family says is said elsewhere too, in another order: parameters and constraints speak of the same
 * columns, numbers and states, and another family and an agent come before. */
static const char WHOLE[] = "param fee = [0.1, 0.3, 0.7, 1.1, 1.3]\n"
                            "param total = sum(m: 0.1 * b * (0.7 * d) + w^2) + sum(m: fee[i])\n"
                            "data rows = csv \"rows.csv\" public b, d, w\n"
                            "data first = csv \"rows.csv\" public a, b\n"
                            "agents early over first { state x[4] in [-2, 3]\n"
                            "  private minimize 0.3 * b * sumsq(x - [a, a, b, b]) + 0.1 + total / 1000 }\n"
                            "agent before { state y in [0, 1]; private minimize 0.7 * (y - 0.3)^2 + 0.1 * 4 * y }\n"
                            "agents m[i] over rows {\n"
                            "  private set x[1] <= 3 + fee[i]\n"
                            "  private param own = 0.1 * a * (0.7 * b) + fee[i] + i / 7\n"
                            "  state x[4] in [-2 - (b + d) / 16, 3 + 0.1 * w]\n"
                            "  param double = 2 * d\n"
                            "  private minimize %s + 0.3 * own * x[2] * (0.1 * x[1]) / 1000 + 0.01 * double * x[3]^2\n"
                            "  %s\n"
                            "  private start x = (a + [0, b, d, w]) / 4\n"
                            "}\n"
                            "constraint r[j in 1..4]: sum(m: 0.1 * x[j] * (0.7 * b) + 2 * (x[j] - d)^2) <= 900\n"
                            "constraint s: sum(m: %s) + sum(early: exp(x[1])) + before.y <= 1e9\n"
                            "dual radius 10\n";

static void put_rows(void) {
    char text[1000] = "a,b,d,w\n";
    for (size_t k = 1; k <= 5; k++) {
        char row[200];
        (void)snprintf(row, sizeof row, "%.17g,%.17g,%.17g,%.17g\n", crowd_number(k, 0, 1, 0, 1),
                       crowd_number(k, 1, 1, 0, 1), crowd_number(k, 2, 1, 0, 1), crowd_number(k, 3, 1, 0, 1));
        (void)strcat(text, row);
    }
    put_file("rows.csv", text);
}

static void members_of_families_of_every_kind(void **state) {
    (void)state;
    put_rows();
    for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
        for (size_t s = 0; s < SET_COUNT; s++) {
            char text[4000], shared[600];
            /* The constraint says what the objective says, but for what is private. */
            (void)snprintf(shared, sizeof shared, "%s", OBJECTIVES[o]);
            for (char *c = shared; *c != '\0'; c++) {
                bool alone = (c == shared || c[-1] == ' ' || c[-1] == '[' || c[-1] == '(') && *c == 'a' &&
                             (c[1] == ' ' || c[1] == ',' || c[1] == ')' || c[1] == ']');
                *c = alone ? 'b' : *c;
            }
            (void)snprintf(text, sizeof text, WHOLE, OBJECTIVES[o], SETS[s], shared);
            bench whole = load_bytes(text, strlen(text));
            if (whole.status != TC_OK)
                fail_msg("%s\n%s", text, messages_of(&whole));
            expect_same_bits(whole, "parts", 2, (o + s) % 3, 2);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_the_examples),
        cmocka_unit_test(members_of_families_of_every_kind),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
