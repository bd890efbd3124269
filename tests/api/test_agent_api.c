/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
/* The public interface of agents: what is copied, what is refused, what is told. The cloud is played in tests/net. */
#include "net/keys.h"

#include <stddef.h>
#include <tacit/agent.h>

static int flat(void *context, const double *x, double *gradient) {
    (void)context;
    (void)x;
    gradient[0] = gradient[1] = 0;
    return 0;
}

static int nearest(void *context, double *v) {
    (void)context;
    for (size_t i = 0; i < 2; i++)
        v[i] = v[i] < 0 ? 0 : v[i] > 4 ? 4 : v[i];
    return 0;
}

static int cannot(void *context, double *v) {
    (void)context;
    (void)v;
    return 1;
}

typedef struct caller { /* everything that a program hands over, to be spoilt after the call */
    keys k;
    char cloud[32], state[128], name[2][8];
    double lower[2], upper[2];
    tacit_agent_options options;
    tacit_agent_functions functions[2];
} caller;

static void begin(caller *c) {
    memset(c, 0, sizeof *c);
    c->k = keys_begin();
    strcpy(c->cloud, "127.0.0.1:9");
    (void)snprintf(c->state, sizeof c->state, "%s/state", c->k.folder);
    c->lower[1] = 1;
    c->upper[0] = c->upper[1] = 4;
    c->options.size = sizeof c->options;
    c->options.cloud = c->cloud;
    c->options.state = c->state;
    c->options.insecure_plaintext = 1;
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(c->name[i], sizeof c->name[i], "a[%zu]", i + 1);
        c->functions[i].size = sizeof c->functions[i];
        c->functions[i].name = c->name[i];
        c->functions[i].states = 2;
        c->functions[i].lower = c->lower;
        c->functions[i].upper = c->upper;
        c->functions[i].gradient = flat;
        c->functions[i].project = nearest;
    }
}

static void an_agent_keeps_copies_of_what_it_was_given(void **state) {
    (void)state;
    caller c;
    tacit_agent *agent = NULL;
    char *message = NULL;
    begin(&c);
    assert_int_equal(tacit_agent_open(&c.options, c.functions, 2, &agent, &message), TACIT_OK);
    assert_null(message);
    memset(c.cloud, '?', sizeof c.cloud - 1);
    memset(c.name, '?', sizeof c.name);
    memset(c.functions, 0xff, sizeof c.functions);
    memset(&c.options, 0xff, sizeof c.options);
    assert_int_equal(tacit_agent_count(agent), 2);
    assert_string_equal(tacit_agent_name(agent, 1), "a[2]");
    assert_int_equal(tacit_agent_states(agent, 0), 2);
    assert_int_equal(tacit_agent_round(agent, 0), 0);
    assert_int_equal(tacit_agent_rounds(agent, 0), 0);
    assert_true(tacit_agent_x(agent, 0)[1] == 1 && tacit_agent_answer(agent, 1)[0] == 0); /* the nearest to 0 */
    assert_null(tacit_agent_run(agent, 0));                                               /* no cloud has named one */
    assert_int_equal(tacit_agent_was_over(agent, 0), 0);
    assert_int_equal(tacit_agent_first_round(agent, 0), 1);
    assert_int_equal(tacit_agent_outside(agent, 0), 0);
    assert_int_equal(tacit_agent_how(agent, 0), TACIT_AGENT_CONNECTING);
    assert_int_equal(tacit_agent_how(agent, 2), TACIT_AGENT_FAILED); /* there is no such agent */
    assert_null(tacit_agent_name(agent, 2));
    assert_null(tacit_agent_x(agent, 2));
    assert_null(tacit_agent_run(agent, 2));
    assert_int_equal(tacit_agent_states(agent, 2), 0);
    assert_int_equal(tacit_agent_first_round(agent, 2), 0);
    tacit_agent_close(agent);
    keys_end(&c.k);
}

static void steps_do_not_wait_and_say_what_to_wait_for(void **state) {
    (void)state;
    caller c;
    tacit_agent *agent = NULL;
    int milliseconds = -7, wants;
    begin(&c);
    assert_int_equal(tacit_agent_open(&c.options, c.functions, 1, &agent, NULL), TACIT_OK);
    assert_int_equal(tacit_agent_descriptor(agent), -1);
    assert_int_equal(tacit_agent_wants(agent, &milliseconds), 0);
    assert_int_equal(milliseconds, 0);
    tacit_agent_condition condition = tacit_agent_step(agent);
    if (condition == TACIT_AGENT_CONNECTING) { /* the refusal may be a moment on its way */
        wants = tacit_agent_wants(agent, NULL);
        assert_int_equal(wants, TACIT_AGENT_WRITE);
        assert_true(tacit_agent_descriptor(agent) >= 0);
    }
    for (int i = 0; i < 100000 && condition != TACIT_AGENT_PAUSING; i++)
        condition = tacit_agent_step(agent);
    assert_string_equal(tacit_agent_condition_text(condition), "pausing");
    assert_non_null(strstr(tacit_agent_message(agent), "127.0.0.1:9"));
    assert_null(strchr(tacit_agent_message(agent), '\n'));
    assert_int_equal(tacit_agent_wants(agent, &milliseconds), 0);
    assert_true(milliseconds >= 0 && milliseconds <= 250);
    tacit_agent_close(agent);
    tacit_agent_close(NULL);
    keys_end(&c.k);
}

/* The address is a copy, too: the caller's is spoilt. */
static void several_addresses_are_tried_in_turn(void **state) {
    (void)state;
    caller c;
    tacit_agent *agent = NULL;
    begin(&c);
    strcpy(c.cloud, "127.0.0.1:9,[::1]:9");
    assert_int_equal(tacit_agent_open(&c.options, c.functions, 1, &agent, NULL), TACIT_OK);
    strcpy(c.cloud, "spoilt");
    const char *const addresses[] = {" 127.0.0.1:9", " [::1]:9", " 127.0.0.1:9"};
    for (size_t i = 0; i < 3; i++) {
        while (strstr(tacit_agent_message(agent), addresses[i]) == NULL)
            (void)tacit_agent_step(agent);
    }
    tacit_agent_close(agent);
    keys_end(&c.k);
}

static void refused(caller *c, size_t count, const char *text) {
    tacit_agent *agent = (tacit_agent *)c;
    char *message = NULL;
    assert_int_equal(tacit_agent_open(&c->options, c->functions, count, &agent, &message), TACIT_BAD_USAGE);
    assert_null(agent);
    assert_non_null(message);
    if (strstr(message, text) == NULL)
        fail_msg("%s", message);
    assert_int_equal(message[strlen(message) - 1], '\n'); /* whole lines */
    tacit_text_free(message);
    keys_end(&c->k);
}

static void what_is_missing_or_wrong_is_said(void **state) {
    (void)state;
    caller c;
    begin(&c);
    c.options.cloud = NULL;
    refused(&c, 1, "address");
    begin(&c);
    c.options.insecure_plaintext = 0;
    refused(&c, 1, "keys");
    begin(&c);
    refused(&c, 0, "no agent");
    begin(&c);
    c.functions[0].gradient = NULL;
    refused(&c, 1, "gradient");
    begin(&c);
    c.functions[0].upper = NULL;
    refused(&c, 1, "bounds");
    begin(&c);
    c.functions[0].slater = 3;
    refused(&c, 1, "slater");
    begin(&c);
    c.functions[0].project = cannot;
    refused(&c, 1, "no point to start from");
    begin(&c);
    c.functions[1].name = c.name[0];
    refused(&c, 2, "twice");
    begin(&c);
    c.options.plan = "0123";
    refused(&c, 1, "64 hexadecimal digits");
}

static void structs_of_other_versions_are_known_by_their_size(void **state) {
    (void)state;
    caller c;
    struct {
        tacit_agent_options options;
        void *later; /* what a newer program may set */
    } newer;
    tacit_agent *agent = NULL;
    begin(&c);
    memset(&newer, 0, sizeof newer);
    newer.options = c.options;
    newer.options.size = sizeof newer;
    assert_int_equal(tacit_agent_open(&newer.options, c.functions, 1, &agent, NULL), TACIT_OK);
    tacit_agent_close(agent);
    newer.later = &newer; /* asks for what this library does not have */
    assert_int_equal(tacit_agent_open(&newer.options, c.functions, 1, &agent, NULL), TACIT_BAD_USAGE);
    c.options.plan = "not looked at"; /* a program that was built before there was such a member */
    c.options.size = offsetof(tacit_agent_options, plan);
    assert_int_equal(tacit_agent_open(&c.options, c.functions, 1, &agent, NULL), TACIT_OK);
    tacit_agent_close(agent);
    c.options.size = 0;
    refused(&c, 1, "sizeof(tacit_agent_options)");
    begin(&c);
    c.functions[0].size = 8;
    refused(&c, 1, "sizeof(tacit_agent_functions)");
}

static void files_of_agents_are_agents_and_others_are_not(void **state) {
    (void)state;
    caller c;
    tacit_agent *agent = NULL;
    char *message = NULL;
    begin(&c);
    const char *path = keys_path(&c.k, "a.tacit"), *whole = TACIT_SOURCE_DIR "/examples/paper.tacit";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("role agent\nagent a {\n  state x in [0, 4]\n  private minimize (x - 3)^2\n}\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tacit_agent_open_files(&c.options, &path, 1, &agent, &message), TACIT_OK);
    assert_string_equal(tacit_agent_name(agent, 0), "a");
    tacit_agent_close(agent);
    assert_int_equal(tacit_agent_open_files(&c.options, &whole, 1, &agent, &message), TACIT_BAD_USAGE);
    assert_non_null(strstr(message, "tacit split"));
    tacit_text_free(message);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("role cloud\nagent a {\n  state x in [0, 4]\n}\nconstraint c: a.x <= 1\ndual radius 1\n", file) >=
                0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tacit_agent_open_files(&c.options, &path, 1, &agent, &message), TACIT_BAD_USAGE);
    assert_non_null(strstr(message, "this is the cloud's file"));
    tacit_text_free(message);
    keys_end(&c.k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_keeps_copies_of_what_it_was_given),
        cmocka_unit_test(steps_do_not_wait_and_say_what_to_wait_for),
        cmocka_unit_test(several_addresses_are_tried_in_turn),
        cmocka_unit_test(what_is_missing_or_wrong_is_said),
        cmocka_unit_test(structs_of_other_versions_are_known_by_their_size),
        cmocka_unit_test(files_of_agents_are_agents_and_others_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
