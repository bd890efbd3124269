/* nftw, mkdtemp */
#define _XOPEN_SOURCE 700
/* Coming again: to the cloud after a pause, and to another run after one that is over. */
#include "net/fake_cloud.h"

#include "net/agent_parts.h"

/* The answer of a run that is over is not taken for that of another. */
static void who_is_done_before_the_start_says_of_which_run(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    const char *run = "11111111111111111111111111111111";
    assert_string_equal(tc_agent_look(f.agent, 0).run, run);
    finish_run(&f, 1);
    assert_false(tc_agent_look(f.agent, 0).was_over);
    assert_string_equal(tc_agent_message(f.agent), "done");
    fake_kill(&f);
    fake_hang_up(&f);
    assert_int_equal(fake_open(&f), TC_OK);
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_DONE);
    assert_true(tc_agent_look(f.agent, 0).was_over);
    assert_string_equal(tc_agent_look(f.agent, 0).run, run);
    assert_non_null(strstr(tc_agent_message(f.agent), run));
    assert_non_null(strstr(tc_agent_message(f.agent), "the cloud was not asked"));
    fake_kill(&f);
    f.settings.new_run = true; /* the old answer is there while another cloud is waited for */
    f.run = 0x77;
    assert_int_equal(fake_open(&f), TC_OK);
    assert_int_equal(tc_agent_how(f.agent), TC_AGENT_CONNECTING);
    assert_true(tc_agent_look(f.agent, 0).was_over);
    fake_greet(&f);
    (void)fake_expect_enrol(&f, 0, 0);
    assert_false(tc_agent_look(f.agent, 0).was_over);
    assert_string_equal(tc_agent_look(f.agent, 0).run, "77777777777777777777777777777777");
    fake_end(&f);
}

/* Nobody comes any more: whoever wished for another run takes the wish back and has the old answer. */
static void a_wish_for_another_run_that_no_cloud_has_can_be_taken_back(void **state) {
    (void)state;
    fake f;
    fake_begin_enrolled(&f, false);
    finish_run(&f, 1);
    fake_kill(&f);
    fake_hang_up(&f);
    (void)close(f.listener);
    f.settings.new_run = true;
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
    tc_agent_leave(f.agent);
    fake_kill(&f);
    f.settings.new_run = false;
    assert_int_equal(fake_open(&f), TC_OK);
    expect_done(&f);
    fake_listen(&f);
    fake_end(&f);
}

/* What is left of a pause is known, never how long ago it began: the longest that is seen counts. */
static bool has_paused(const fake *f, int least) {
    if (tc_agent_how(f->agent) != TC_AGENT_PAUSING)
        return false;
    tc_agent_wish wish = tc_agent_wants(f->agent);
    assert_true(!wish.read && !wish.write && wish.milliseconds >= 0 && wish.milliseconds <= 51);
    assert_non_null(strstr(tc_agent_message(f->agent), "refused"));
    return wish.milliseconds >= least;
}

static void pauses_grow_up_to_a_limit_and_are_told(void **state) {
    (void)state;
    fake f;
    fake_begin(&f, false, 1);
    (void)close(f.listener); /* nobody is there */
    f.settings.least_pause = 8;
    f.settings.most_pause = 40;
    assert_int_equal(fake_open(&f), TC_OK);
    FAKE_UNTIL(&f, has_paused(&f, 0))
    assert_true(tc_agent_wants(f.agent).milliseconds <= 11);
    FAKE_UNTIL(&f, has_paused(&f, 25)) /* the limit, a quarter less, and some turns too late */
    fake_listen(&f);
    fake_end(&f);
}

/* A connection that held after ENROLLED was none in vain; one that ended at once was. */
static void pauses_begin_anew_after_a_connection_that_held(void **state) {
    (void)state;
    for (int held = 0; held < 2; held++) {
        fake f;
        fake_begin(&f, false, 1);
        f.settings.settled_milliseconds = held ? 1 : 100000;
        assert_int_equal(fake_open(&f), TC_OK);
        for (unsigned i = 1; i <= 4; i++) {
            fake_greet(&f);
            (void)fake_expect_enrol(&f, 0, 0);
            fake_enrolled(&f, 0, 1);
            fake_expect_state(&f, 0, 1);
            double end = fake_now() + 0.005;
            FAKE_UNTIL(&f, fake_now() > end)
            fake_hang_up(&f);
            FAKE_UNTIL(&f, tc_agent_how(f.agent) == TC_AGENT_PAUSING)
            assert_int_equal(f.agent->tries, held ? 1 : i);
        }
        fake_end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_done_before_the_start_says_of_which_run),
        cmocka_unit_test(a_wish_for_another_run_that_no_cloud_has_can_be_taken_back),
        cmocka_unit_test(pauses_grow_up_to_a_limit_and_are_told),
        cmocka_unit_test(pauses_begin_anew_after_a_connection_that_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
