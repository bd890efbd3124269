/* The cloud's file and the agents' files: complete, loadable, and without anybody else's secrets. */
#include "base/json.h"
#include "model/evaluate.h"
#include "model/split/split.h"
#include "model/support.h"
#include "support/random.h"

/* Distinctive numbers: they must appear where they belong, and nowhere else. */
static const char problem[] =
    "# a remark about 91357\n"
    "param T = 2        # hours\n"
    "private param shared_secret = 71131\n"
    "param limit = 100.25\n"
    "param unused = 55501\n"
    "param A = csv \"A.csv\"\n"
    "data homes = csv \"homes.csv\" public cap, bus\n"
    "agents home[i] over homes {\n"
    "  state p[T] in [0, cap]   # the charger\n"
    "  private param twice = 2 * need\n"
    "  param half = cap / 2\n"
    "  private set sum(p) >= twice / 100000\n"
    "  private minimize sumsq(p - pref / 100000) + shared_secret * (p[1] +   # why\n"
    "      p[2]) * 0.0001 + A[1, i]\n"
    "  gap 20 + cap\n"
    "  slater p = half\n"
    "  private start p = need / 100000\n"
    "}\n"
    "agent depot {\n"
    "  state x in [-1, 1]\n"
    "  private minimize 81281 * x^2\n"
    "  gap 5; slater x = 0\n"
    "}\n"
    "constraint feeder[t in 1..T]: sum(home: A[t, i] * p[t]) + depot.x <= limit\n"
    "constraint pair: sumsq(home[1].p - home[3].p) <= 7\n"
    "declare lipschitz constraints { l1 3; l2 4 }\n"
    "declare lipschitz jacobian home { l1 cap; l2 2 }\n"
    "declare lipschitz objective depot 61613\n"
    "privacy {\n  mechanism gaussian   # noise\n  epsilon 1\n  delta 1e-5; adjacency one 0.5\n}\n"
    "schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds T * 1000 }\n"
    "start feeder = 0.1\n";

static void put_data(void) {
    put_file("A.csv", "1,2,3\n4,5,6\n");
    put_file("homes.csv",
             "need,cap,bus,pref_1,pref_2\n10007,5,1,20011,20021\n10009,6,2,20023,20029\n10037,7,1,20047,20051\n");
}

static char *read_text(const char *path) {
    static char text[100000];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        print_error("no file %s\n", path);
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static bench split_into(const char *text, const char *folder, bool force, size_t *files) {
    bench b = load_good(text);
    b.status = tc_split(b.arena, b.model, folder, force, NULL, &b.messages, files);
    return b;
}

static void both_kinds_of_files_load_again(void **state) {
    (void)state;
    put_data();
    remove_all("out");
    size_t files;
    bench b = split_into(problem, "out", false, &files);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(b.status, TC_OK);
    assert_int_equal(files, 6); /* cloud.tacit, cloud.homes.csv, three homes, the depot */
    bench cloud = load_path("out/cloud.tacit");
    assert_string_equal(messages_of(&cloud), "");
    const tc_model *whole = b.model, *c = cloud.model;
    assert_int_equal(c->role, TC_ROLE_CLOUD);
    assert_int_equal(c->agent_count, 4);
    assert_int_equal(c->constraint_count, 3);
    assert_true(c->families[0].objective == TC_NO_EXPR && c->families[0].piece_count == 0);
    double x[7];
    uint64_t seed = 3;
    for (int trial = 0; trial < 100; trial++) {
        AT_CASE(trial);
        for (size_t i = 0; i < 7; i++)
            x[i] = uniform(&seed, -2, 2);
        for (size_t j = 0; j < 3; j++)
            assert_true(constraint_at(whole, j, x) == constraint_at(c, j, x));
    }
    for (size_t k = 0; k < 3; k++) {
        assert_true(tc_coef_at(whole->families[0].upper[1], k) == tc_coef_at(c->families[0].upper[1], k));
        assert_true(tc_coef_at(whole->families[0].gap, k) == tc_coef_at(c->families[0].gap, k));
        assert_true(tc_coef_at(whole->families[0].slater[0], k) == tc_coef_at(c->families[0].slater[0], k));
        assert_true(tc_coef_at(whole->families[0].declared_jacobian[0], k) ==
                    tc_coef_at(c->families[0].declared_jacobian[0], k));
    }
    assert_true(c->declared_constraints[1] == 4 && c->privacy.delta == 1e-5 && c->schedule.rounds == 2000);
    assert_true(c->start_multipliers[1] == 0.1 && c->start_multipliers[2] == 0);
    for (size_t k = 0; k < 3; k++) {
        char path[100];
        (void)snprintf(path, sizeof path, "out/agents/home.%zu.tacit", k + 1);
        bench agent = load_path(path);
        assert_string_equal(messages_of(&agent), "");
        const tc_family *own = &agent.model->families[0];
        assert_int_equal(agent.model->role, TC_ROLE_AGENT);
        (void)snprintf(path, sizeof path, "home[%zu]", k + 1);
        assert_string_equal(own->name, path);
        double y[] = {x[k], x[3 + k]};
        assert_true(objective_at(whole, 0, k, x) == objective_at(agent.model, 0, 0, y));
        assert_true(tc_coef_at(whole->families[0].pieces[0].radius, k) == tc_coef_at(own->pieces[0].radius, 0));
        assert_true(tc_coef_at(whole->families[0].start[1], k) == tc_coef_at(own->start[1], 0));
        assert_true(tc_coef_at(whole->families[0].upper[0], k) == tc_coef_at(own->upper[0], 0));
        assert_true(agent.model->schedule.rounds == 2000);
        bench_free(&agent);
    }
    bench depot = load_path("out/agents/depot.tacit");
    assert_int_equal(depot.status, TC_OK);
    assert_true(depot.model->families[0].declared_objective.value == 61613);
    bench_free(&depot);
    bench_free(&cloud);
    bench_free(&b);
}

static void nobody_learns_what_is_not_theirs(void **state) {
    (void)state;
    put_data();
    remove_all("out");
    size_t files;
    bench b = split_into(problem, "out", false, &files);
    assert_int_equal(b.status, TC_OK);
    bench_free(&b);
    static const struct {
        const char *secret, *owner; /* the file that may hold it */
    } secrets[] = {{"10007", "home.1"}, {"20011", "home.1"}, {"20021", "home.1"},   {"10009", "home.2"},
                   {"20023", "home.2"}, {"20029", "home.2"}, {"10037", "home.3"},   {"20047", "home.3"},
                   {"20051", "home.3"}, {"81281", "depot"},  {"61613", "depot"},    {"71131", "home"},
                   {"91357", ""},       {"55501", ""},       {"private", "agents"}, {"minimize", "agents"},
                   {"#", ""},           {"feeder", "cloud"}, {"limit", "cloud"},    {"100.25", "cloud"}};
    static const char *const paths[] = {"out/cloud.tacit",         "out/cloud.homes.csv",     "out/agents/home.1.tacit",
                                        "out/agents/home.2.tacit", "out/agents/home.3.tacit", "out/agents/depot.tacit"};
    for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
        const char *text = read_text(paths[p]);
        for (size_t s = 0; s < sizeof secrets / sizeof secrets[0]; s++) {
            bool owns = secrets[s].owner[0] != '\0' && strstr(paths[p] + 3, secrets[s].owner) != NULL;
            if (!owns && strstr(text, secrets[s].secret) != NULL) {
                print_error("%s shows %s:\n%s", paths[p], secrets[s].secret, text);
                fail();
            }
        }
        struct stat facts;
        assert_int_equal(stat(paths[p], &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0600);
    }
    assert_non_null(strstr(read_text("out/agents/home.2.tacit"), "10009"));
    assert_string_equal(read_text("out/cloud.homes.csv"), "cap,bus\n5,1\n6,2\n7,1\n");
}

/* Every file of a family of six, searched for every member's private numbers, in any of the ways they are written. */
static void no_file_holds_a_number_of_another_member(void **state) {
    (void)state;
    enum { MEMBERS = 6, COLUMNS = 4 };
    static const char *const names[COLUMNS] = {"need", "w", "pref_1", "pref_2"};
    char csv[2000] = "need,w,cap,pref_1,pref_2\n", numbers[MEMBERS][COLUMNS][32];
    uint64_t seed = 11;
    for (size_t k = 0; k < MEMBERS; k++) {
        for (size_t c = 0; c < COLUMNS; c++)
            tc_shortest_number(numbers[k][c], uniform(&seed, 0, 4));
        char row[200];
        (void)snprintf(row, sizeof row, "%.31s,%.31s,%zu,%.31s,%.31s\n", numbers[k][0], numbers[k][1], 60 + k,
                       numbers[k][2], numbers[k][3]);
        (void)strcat(csv, row);
    }
    put_file("homes.csv", csv);
    remove_all("searched");
    size_t files;
    bench b = split_into("data homes = csv \"homes.csv\" public cap\n"
                         "agents home[i] over homes {\n  state p[2] in [0, cap]\n"
                         "  private param twice = 2 * need\n  private set sum(p) <= 100 + twice\n"
                         "  private minimize w * sumsq(p - pref) + i\n}\n"
                         "constraint c: sum(home: i * p[1]) <= 1000\ndual radius 1\n",
                         "searched", false, &files);
    assert_int_equal(b.status, TC_OK);
    assert_int_equal(files, MEMBERS + 2);
    bench_free(&b);
    for (size_t owner = 0; owner <= MEMBERS + 1; owner++) { /* six members, the cloud, its data */
        char path[100];
        (void)snprintf(path, sizeof path, "searched/agents/home.%zu.tacit", owner + 1);
        const char *text = read_text(owner < MEMBERS    ? path
                                     : owner == MEMBERS ? "searched/cloud.tacit"
                                                        : "searched/cloud.homes.csv");
        for (size_t k = 0; k < MEMBERS; k++)
            for (size_t c = 0; c < COLUMNS; c++)
                assert_int_equal(strstr(text, numbers[k][c]) != NULL, k == owner);
        for (size_t c = 0; c < COLUMNS && owner >= MEMBERS; c++)
            assert_null(strstr(text, names[c]));
        static const char *const private_words[] = {"private", "minimize", "twice", "sumsq", "pref", "column"};
        for (size_t i = 0; i < sizeof private_words / sizeof private_words[0] && owner >= MEMBERS; i++)
            assert_null(strstr(text, private_words[i]));
        if (owner < MEMBERS) {
            char own[80];
            (void)snprintf(own, sizeof own, "  private column need = %.31s\n", numbers[owner][0]);
            assert_non_null(strstr(text, own));
            (void)snprintf(own, sizeof own, "  column i = %zu\n", owner + 1);
            assert_non_null(strstr(text, own));
            assert_null(strstr(text, "constraint"));
        }
    }
}

static void numbers_are_written_to_the_last_bit(void **state) {
    (void)state;
    put_file("homes.csv", "need,cap\n0.1,0.30000000000000004\n4.9406564584124654e-324,1.7976931348623157e308\n");
    const char *text = "param third = 1 / 3\ndata homes = csv \"homes.csv\" public cap\n"
                       "agents home over homes { state p in [0, cap]; private minimize (p - need)^2 * third }\n"
                       "constraint c: sum(home: p) <= third\ndual radius 1\n";
    remove_all("bits");
    size_t files;
    bench b = split_into(text, "bits", false, &files);
    assert_int_equal(b.status, TC_OK);
    double x[] = {0.7, 0.9};
    for (size_t k = 0; k < 2; k++) {
        bench agent = load_path(k == 0 ? "bits/agents/home.1.tacit" : "bits/agents/home.2.tacit");
        assert_int_equal(agent.status, TC_OK);
        assert_true(objective_at(agent.model, 0, 0, x + k) == objective_at(b.model, 0, k, x));
        assert_true(tc_coef_at(agent.model->families[0].upper[0], 0) == tc_coef_at(b.model->families[0].upper[0], k));
        bench_free(&agent);
    }
    bench cloud = load_path("bits/cloud.tacit");
    assert_true(constraint_at(cloud.model, 0, x) == constraint_at(b.model, 0, x));
    bench_free(&cloud);
    bench_free(&b);
}

static void names_from_data_become_file_names(void **state) {
    (void)state;
    put_file("homes.csv", "name,need\nanna,1\n\"b/../c, d\",2\n");
    remove_all("named");
    size_t files;
    bench b = split_into(
        "data homes = csv \"homes.csv\"\nagents home over homes { state p in [0, 1]; private minimize p * need }\n"
        "constraint c: sum(home: p) <= 1\ndual radius 1\n",
        "named", false, &files);
    assert_int_equal(b.status, TC_OK);
    bench_free(&b);
    bench anna = load_path("named/agents/anna.tacit"), other = load_path("named/agents/b%2F%2E%2E%2Fc%2C%20d.tacit");
    assert_string_equal(anna.model->families[0].name, "anna");
    assert_string_equal(other.model->families[0].name, "b/../c, d");
    bench cloud = load_path("named/cloud.tacit");
    assert_string_equal(cloud.model->families[0].member_names[1], "b/../c, d");
    bench_free(&cloud);
    bench_free(&anna);
    bench_free(&other);
}

static void every_example_splits_and_loads(void **state) {
    (void)state;
    static const char *const names[] = {"paper", "ev", "num", "robots", "dispatch", "lasso"};
    static const char *const agents[] = {"a10", "home.1000", "telescope", "robot.8", "harbour"};
    for (size_t i = 0; i < 5; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, TACIT_SOURCE_DIR "/examples/%s.tacit", names[i]);
        bench b = load_path(path);
        size_t files;
        assert_int_equal(tc_split(b.arena, b.model, names[i], false, NULL, &b.messages, &files), TC_OK);
        assert_true(files > b.model->agent_count);
        (void)snprintf(path, sizeof path, "%s/cloud.tacit", names[i]);
        bench cloud = load_path(path);
        assert_string_equal(messages_of(&cloud), "");
        assert_int_equal(cloud.model->constraint_count, b.model->constraint_count);
        (void)snprintf(path, sizeof path, "%s/agents/%s.tacit", names[i], agents[i]);
        bench agent = load_path(path);
        assert_string_equal(messages_of(&agent), "");
        bench_free(&agent);
        bench_free(&cloud);
        bench_free(&b);
    }
}

static void expect_refusal(const char *text, const char *folder, tc_status status, const char *messages) {
    size_t files;
    bench b = split_into(text, folder, false, &files);
    assert_int_equal(b.status, status);
    if (strstr(messages_of(&b), messages) == NULL) {
        print_error("expected: %s\nfound: %s", messages, messages_of(&b));
        fail();
    }
    assert_int_equal(files, 0);
    bench_free(&b);
}

static void equalities_and_rooms_reach_both_sides(void **state) {
    (void)state;
    size_t files;
    remove_all("equal");
    bench b = split_into("param wide = 0.25\n"
                         "agents gen[i in 1..2] {\n  state p[2] in [0, 1]\n  private minimize sumsq(p - i)\n  gap 3\n"
                         "  slater p = 0.5 within [wide, 0.1 + 0.2]\n}\n"
                         "constraint balance: sum(gen: p[1] + p[2]) == 2\n"
                         "constraint most: sum(gen: p[1]) <= 1.5\n",
                         "equal", false, &files);
    assert_int_equal(b.status, TC_OK);
    bench cloud = load_path("equal/cloud.tacit"), agent = load_path("equal/agents/gen.2.tacit");
    assert_string_equal(messages_of(&cloud), "");
    assert_string_equal(messages_of(&agent), "");
    assert_true(cloud.model->constraints[0].is_equality);
    assert_false(cloud.model->constraints[1].is_equality);
    const tc_family *families[] = {&b.model->families[0], &cloud.model->families[0], &agent.model->families[0]};
    for (size_t f = 0; f < 3; f++) {
        assert_true(tc_coef_at(families[f]->room[0], 0) == 0.25);
        assert_true(tc_coef_at(families[f]->room[1], 0) == 0.1 + 0.2);
    }
    bench_free(&agent);
    bench_free(&cloud);
    bench_free(&b);
}

static void a_public_dual_radius_is_asked_for(void **state) {
    (void)state;
    remove_all("none");
    expect_refusal(
        "agent a { state x in [0, 1]; private minimize x; gap 1 }\nagent b { state x in [0, 1]; private minimize x; "
        "slater x = 0 }\n"
        "constraint c: a.x + b.x <= 1\n",
        "none", TC_BAD_PROBLEM,
        "p.tacit: error: the cloud needs a public dual radius, and must not learn it from private objectives\n"
        "  either add a line 'dual radius R' to the file,\n"
        "  or give every agent the public lines 'gap F' and 'slater x = ...'; 'gap' is missing for 'b'; 'slater' is "
        "missing "
        "for 'a'\n");
    assert_int_not_equal(access("none", F_OK), 0);
}

static void a_folder_with_files_is_left_alone_unless_forced(void **state) {
    (void)state;
    const char *text = "agent a { state x in [0, 1]; private minimize x }\nconstraint c: a.x <= 1\ndual radius 1\n";
    remove_all("full");
    assert_int_equal(mkdir("full", 0700), 0);
    put_file("full/mine", "precious\n");
    expect_refusal(text, "full", TC_BAD_USAGE, "full: error: this folder is not empty");
    size_t files;
    bench b = split_into(text, "full", true, &files);
    assert_int_equal(b.status, TC_OK);
    assert_int_equal(tc_split(b.arena, b.model, "full", true, NULL, &b.messages, &files), TC_OK);
    assert_int_equal(files, 2);
    bench_free(&b);
    assert_string_equal(read_text("full/mine"), "precious\n");
    b = split_into(text, "/proc/nowhere", false, &files);
    assert_int_equal(b.status, TC_CANNOT_WRITE);
    assert_int_equal(files, 0);
    bench_free(&b);
}

static size_t count_names(const char *path) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    size_t count = 0;
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count - 2;
}

static void force_replaces_the_files_of_an_earlier_split_and_no_others(void **state) {
    (void)state;
    size_t files;
    put_data();
    remove_all("again");
    bench b = split_into(problem, "again", false, &files);
    assert_int_equal(b.status, TC_OK);
    bench_free(&b);
    put_file("again/agents/notes.tacit", "role cloud\n");
    put_file("again/agents/notes.txt", "role agent\n");
    put_file("again/cloud.mine.csv", "1\n");
    b = split_into("agent a { state x in [0, 1]; private minimize x }\nconstraint c: a.x <= 1\ndual radius 1\n",
                   "again", true, &files);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(b.status, TC_OK);
    assert_int_equal(files, 2);
    bench_free(&b);
    assert_int_equal(count_names("again"), 3); /* cloud.tacit, agents, cloud.mine.csv; not cloud.homes.csv */
    assert_int_equal(count_names("again/agents"), 3);
    assert_int_equal(access("again/agents/a.tacit", F_OK), 0);
    assert_int_equal(access("again/agents/notes.tacit", F_OK), 0);
    assert_int_equal(access("again/cloud.mine.csv", F_OK), 0);
}

/* Interrupts after so many questions. */
static bool interrupted(void *context) {
    size_t *left = context;
    return *left == 0 || --*left == 0;
}

static void an_interrupted_split_leaves_nothing_behind(void **state) {
    (void)state;
    put_data();
    remove_all("half");
    remove_all("half-full");
    assert_int_equal(mkdir("half-full", 0700), 0);
    assert_int_equal(mkdir("half-full/agents", 0700), 0);
    put_file("half-full/agents/old.tacit", "role agent\n");
    size_t before = count_names(".");
    for (size_t questions = 1; questions < 5; questions++) {
        bench b = load_good(problem);
        size_t left = questions, files;
        tc_monitor monitor = {.interrupted = interrupted, .context = &left};
        assert_int_equal(tc_split(b.arena, b.model, "half", false, &monitor, &b.messages, &files), TC_INTERRUPTED);
        assert_int_equal(files, 0);
        left = questions;
        assert_int_equal(tc_split(b.arena, b.model, "half-full", true, &monitor, &b.messages, &files), TC_INTERRUPTED);
        bench_free(&b);
        assert_int_equal(count_names("."), before);
        assert_int_equal(count_names("half-full"), 1);
        assert_int_equal(count_names("half-full/agents"), 1);
    }
}

static void folders_are_made_and_nonsense_is_refused(void **state) {
    (void)state;
    const char *text = "agent a { state x in [0, 1]; private minimize x }\nconstraint c: a.x <= 1\ndual radius 1\n";
    size_t files;
    remove_all("deep");
    bench b = split_into(text, "deep/er/still//", false, &files);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(b.status, TC_OK);
    bench_free(&b);
    assert_int_equal(access("deep/er/still/agents/a.tacit", F_OK), 0);
    assert_int_equal(count_names("deep/er"), 1);
    remove_all("link");
    assert_int_equal(symlink("deep/er/still", "link"), 0);
    b = split_into(text, "link", true, &files);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(b.status, TC_OK);
    bench_free(&b);
    expect_refusal(text, "", TC_BAD_USAGE, "not an empty one");
    put_file("plain", "text\n");
    expect_refusal(text, "plain", TC_BAD_USAGE, "plain: error: this is a file; --output names a folder\n");
    expect_refusal(text, "deep", TC_BAD_USAGE, "--force");
    expect_refusal(text, "plain/below", TC_BAD_USAGE, "plain: error: this is a file");
}

#define TWO_AGENTS(common, of_a, of_b)                                                                                 \
    common "\nagent a { state x in [0, 9]; " of_a " }\nagent b { state x in [0, 9]; " of_b                             \
           " }\nconstraint c: a.x + b.x <= 1\ndual radius 1\n"
#define FAMILY(common, lines)                                                                                          \
    common "\nagents f[i in 1..3] { state x in [0, 9]; " lines " }\nconstraint c: sum(f: x) <= 1\ndual radius 1\n"

static void parts_of_a_private_parameter_for_several_agents_are_refused(void **state) {
    (void)state;
    put_file("w.csv", "111,222\n");
    static const char *const texts[] = {
        TWO_AGENTS("private param w = [111, 222]", "private minimize w[1] * x", "private minimize w[2] * x"),
        TWO_AGENTS("private param w = csv \"w.csv\"", "private minimize w[1] * x", "private minimize w[2] * x"),
        TWO_AGENTS("private param v = [111, 222]\nprivate param w = 2 * v", "private minimize w[1] * x",
                   "private minimize sum(w) * x"),
        TWO_AGENTS("private param w = [[111, 1], [222, 2]]", "private minimize dot(w[1], [x, x])",
                   "private minimize sum(w[2, 1..2]) * x"),
        TWO_AGENTS("private param w = [[111, 1], [222, 2]]", "private minimize transpose(w)[1][1] * x",
                   "private minimize sum((w * [1, x])[2]) * x"),
        TWO_AGENTS("private param w = [111, 222]",
                   "private param g = 3 * w; private param h = g; private set x <= h[1]; "
                   "private minimize x",
                   "private minimize sum(w) * x"),
        TWO_AGENTS("private param w = 111\nprivate param v = 222", "private minimize [w, v][1] * x",
                   "private minimize [w, v][2] * x"),
        TWO_AGENTS("private param w = [111, 222]", "private minimize x; private start x = w[1] / 100",
                   "private minimize sum(w) * x"),
        TWO_AGENTS("private param w = [111, 222]", "private minimize x / length(w)", "private minimize sum(w) * x"),
        FAMILY("private param w = [111, 222, 333]", "private param g = w; private minimize (x - g[i])^2"),
        FAMILY("private param w = [111, 222, 333]",
               "private minimize sum(k in 1..3: w[k] * max(0, 1 - abs(k - i))) * x"),
        FAMILY("private param w = [111, 222, 333]",
               "private param mine = sum(k in 1..3: w[k] * max(0, 1 - abs(k - i))); private minimize mine * x"),
        /* by public weights */
        FAMILY("param E = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nprivate param w = [111, 222, 333]",
               "private minimize dot(w, E[i]) * x"),
        FAMILY("param E = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nprivate param w = [111, 222, 333]",
               "private param mine = sumsq(w - E[i]); private minimize mine * x"),
        FAMILY("param E = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nprivate param w = [111, 222, 333]",
               "private param e = E[i]; private param v = w; private minimize dot(v, x * e)"),
        FAMILY("private param w = [111, 222, 333]",
               "private minimize dot(w, [max(0, 2 - i), max(0, 1 - abs(2 - i)), max(0, i - 2)]) * x"),
        TWO_AGENTS("private param w = [111, 222]", "private minimize dot(w, [1, 0]) * x",
                   "private minimize dot(w, [0, 1]) * x"),
        TWO_AGENTS("param E = [[1, 0], [0, 1]]\nprivate param w = [111, 222]", "private minimize dot(w, E[1]) * x",
                   "private minimize dot(w, E[2] * x)"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        remove_all("leak");
        expect_refusal(texts[i], "leak", TC_BAD_PROBLEM, "this takes a part out of the private 'w'");
        assert_int_not_equal(access("leak", F_OK), 0);
    }
    expect_refusal(texts[0], "leak", TC_BAD_PROBLEM,
                   "p.tacit:2:47: error: this takes a part out of the private 'w', which 2 agents use: each would be "
                   "shown all of it; move each agent's part into its own block, or into a column of its family's "
                   "data\n");
}

static void what_else_would_show_an_agent_too_much_or_too_little_is_refused(void **state) {
    (void)state;
    remove_all("leak");
    expect_refusal(FAMILY("", "private minimize (x - [111, 222, 333][i])^2"), "leak", TC_BAD_PROBLEM,
                   "private numbers that stand in the block of 'f'");
    expect_refusal(
        FAMILY("", "private param g = [111, 222, 333]; private param k = 4 - i; private minimize (x - g[k])^2"), "leak",
        TC_BAD_PROBLEM, "private numbers that stand in the block of 'f'");
    expect_refusal(TWO_AGENTS("", "param need = 111; private minimize x", "private minimize a.need * x"), "leak",
                   TC_BAD_PROBLEM, "the file of 'b' knows no other agent");
}

static void expect_shared(const char *text, size_t count, const char *const *paths, const char *secret,
                          const char *owners) {
    size_t files;
    remove_all("shared");
    bench b = split_into(text, "shared", false, &files);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(b.status, TC_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strstr(read_text(paths[i]), secret) != NULL, owners[i] == '1');
        bench part = load_path(paths[i]);
        assert_string_equal(messages_of(&part), "");
        bench_free(&part);
    }
    bench_free(&b);
}

static void a_private_parameter_goes_to_those_who_use_it(void **state) {
    (void)state;
    put_file("w.csv", "111,222\n");
    static const char *const two[] = {"shared/cloud.tacit", "shared/agents/a.tacit", "shared/agents/b.tacit"};
    static const char *const three[] = {"shared/cloud.tacit", "shared/agents/f.1.tacit", "shared/agents/f.3.tacit"};
    expect_shared(TWO_AGENTS("private param w = csv \"w.csv\"", "private minimize w[1] * x", "private minimize x"), 3,
                  two, "222", "010");
    expect_shared(
        TWO_AGENTS("private param w = [111, 222]", "private minimize sum(w) * x", "private minimize dot(w, [x, x])"), 3,
        two, "222", "011");
    expect_shared(TWO_AGENTS("private param s = 222", "private minimize s * x", "private minimize s * x"), 3, two,
                  "222", "011");
    /* What is made of secrets is written as its value. */
    static const char *const made =
        TWO_AGENTS("private param w = [111, 222]\nprivate param total = sum(w)\n"
                   "private param first = w[1]\nprivate param second = w[2]",
                   "private minimize (first + total) * x", "private minimize (second + total) * x");
    expect_shared(made, 3, two, "111", "010");
    expect_shared(made, 3, two, "222", "001");
    expect_shared(made, 3, two, "333", "011");
    expect_shared(made, 3, two, "sum", "000");
    expect_shared(FAMILY("private param w = [111, 222]", "private minimize sum(w) * x"), 3, three, "222", "011");
    expect_shared(FAMILY("param w = [111, 222, 333]", "private minimize w[i] * x"), 3, three, "222", "011");
    expect_shared(FAMILY("private param w = [111, 222]\nprivate param n = length(w)", "private minimize n * x"), 3,
                  three, "222", "000");
    expect_shared("private param w = [111, 222]\nagents f[i in 1..1] { state x in [0, 1]; private minimize w[i] * x }\n"
                  "constraint c: sum(f: x) <= 1\ndual radius 1\n",
                  2, three, "222", "01");
}

static tc_status split_in_memory(bench *b, tc_arena *kept, size_t most, tc_split_parts *parts, size_t *files) {
    *parts = (tc_split_parts){.arena = kept, .most = most};
    const tc_split_wishes wishes = {.parts = parts};
    return tc_split_with(b->arena, b->model, &wishes, NULL, &b->messages, files);
}

static void in_memory_there_is_room_for_so_many_bytes(void **state) {
    (void)state;
    put_data();
    size_t files, all = 0;
    tc_split_parts parts;
    bench b = load_good(problem);
    tc_arena *kept = tc_arena_new(0);
    assert_int_equal(split_in_memory(&b, kept, SIZE_MAX, &parts, &files), TC_OK);
    assert_int_equal(files, 6);
    assert_int_equal(parts.count, files);
    for (size_t i = 0; i < parts.count; i++)
        all += parts.list[i].length;
    assert_int_equal(parts.bytes, all);
    assert_int_equal(split_in_memory(&b, kept, all, &parts, &files), TC_OK);
    assert_string_equal(messages_of(&b), "");
    assert_int_equal(split_in_memory(&b, kept, all - 1, &parts, &files), TC_TOO_LARGE);
    assert_non_null(strstr(messages_of(&b), "too many for memory: split into a folder\n"));
    assert_int_equal(files, 0);
    tc_arena_free(kept);
    bench_free(&b);
}

static void only_whole_problems_are_split(void **state) {
    (void)state;
    expect_refusal("role agent\nagent a { state x in [0, 1]; private minimize x }\n", "part", TC_BAD_PROBLEM,
                   "only a whole problem can be split");
}

static void a_public_set_goes_to_both_and_its_numbers_with_it(void **state) {
    (void)state;
    put_data();
    remove_all("out");
    size_t files;
    bench b = split_into("param hours = 2\ndata homes = csv \"homes.csv\" public cap\n"
                         "agents home over homes {\n  state p[2] in [0, cap]\n  private set sum(p) >= need / 100000\n"
                         "  public set hours * p[1] + p[2] <= cap + 1 / 3\n  private minimize sumsq(p - pref)\n"
                         "  gap 1; slater p = 0.5\n}\nconstraint c: sum(home: p[1]) <= 9\n",
                         "out", false, &files);
    assert_string_equal(messages_of(&b), "");
    bench cloud = load_path("out/cloud.tacit"), agent = load_path("out/agents/home.3.tacit");
    assert_string_equal(messages_of(&cloud), "");
    assert_string_equal(messages_of(&agent), "");
    const tc_set_piece *whole = tc_public_set(&b.model->families[0]), *known = tc_public_set(&cloud.model->families[0]),
                       *own = tc_public_set(&agent.model->families[0]);
    assert_true(whole != NULL && known != NULL && own != NULL);
    assert_int_equal(cloud.model->families[0].piece_count, 1);
    assert_int_equal(agent.model->families[0].piece_count, 2);
    for (size_t k = 0; k < 3; k++)
        assert_true(tc_coef_at(known->radius, k) == tc_coef_at(whole->radius, k));
    assert_true(tc_coef_at(own->radius, 0) == tc_coef_at(whole->radius, 2) && own->center[0].value == 2);
    bench_free(&b);
    bench_free(&cloud);
    bench_free(&agent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_of_files_load_again),
        cmocka_unit_test(nobody_learns_what_is_not_theirs),
        cmocka_unit_test(no_file_holds_a_number_of_another_member),
        cmocka_unit_test(numbers_are_written_to_the_last_bit),
        cmocka_unit_test(names_from_data_become_file_names),
        cmocka_unit_test(every_example_splits_and_loads),
        cmocka_unit_test(equalities_and_rooms_reach_both_sides),
        cmocka_unit_test(a_public_dual_radius_is_asked_for),
        cmocka_unit_test(a_folder_with_files_is_left_alone_unless_forced),
        cmocka_unit_test(force_replaces_the_files_of_an_earlier_split_and_no_others),
        cmocka_unit_test(an_interrupted_split_leaves_nothing_behind),
        cmocka_unit_test(folders_are_made_and_nonsense_is_refused),
        cmocka_unit_test(parts_of_a_private_parameter_for_several_agents_are_refused),
        cmocka_unit_test(what_else_would_show_an_agent_too_much_or_too_little_is_refused),
        cmocka_unit_test(a_private_parameter_goes_to_those_who_use_it),
        cmocka_unit_test(in_memory_there_is_room_for_so_many_bytes),
        cmocka_unit_test(only_whole_problems_are_split),
        cmocka_unit_test(a_public_set_goes_to_both_and_its_numbers_with_it),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
