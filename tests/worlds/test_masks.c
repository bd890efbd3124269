/* What is taken out of a text before two worlds are compared: times and ids, and nothing of what was released. */
#include "support/cmocka.h"
#include "worlds/worlds.h"

#include <string.h>

static void expect(const char *text, const char *wanted) {
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    assert_string_equal(tc_mask_text(arena, text, "/tmp/world.1"), wanted);
    tc_arena_free(arena);
}

static void times_and_ids_go(void **state) {
    (void)state;
    expect("2026-11-16T07:14:50.123Z info enrolled: an agent has enrolled agent=a3\n",
           "TIME info enrolled: an agent has enrolled agent=a3\n");
    expect("  \"now\": 1763270000.25,\n  \"round\": 3,\n", "  \"now\":MASKED,\n  \"round\": 3,\n");
    expect("  \"rounds_per_second\": null,\n", "  \"rounds_per_second\":MASKED,\n");
    expect("{\"run\":\"00112233445566778899aabbccddeeff\",\"epsilon\":1,\"check\":\"ab\"}\n",
           "{\"run\":MASKED,\"epsilon\":1,\"check\":MASKED}\n");
    expect("# released: run 00112233445566778899aabbccddeeff\n", "# released: run ID\n");
    expect("listening: port=40123 address=127.0.0.1:0 state=/tmp/world.1/journal\n",
           "listening: port=MASKED address=LOOPBACK state=/journal\n");
    expect("Date: Mon, 16 Nov 2026 18:00:00 GMT\r\nContent-Length: 812\r\n", "MASKED\nMASKED\n");
    expect("# HELP tacit_last_round_time_seconds When\ntacit_last_round_time_seconds 17\ntacit_epoch 1\n",
           "tacit_epoch 1\n");
    expect("tacit_journal_commit_seconds_bucket{le=\"0.001\"} 7\n", "tacit_journal_commit_seconds_bucket=MASKED\n");
}

static void what_was_released_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        "  \"multipliers\": [0.1, 2.5e-3, 17],\n",
        "  \"plan\": \"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\n",
        "tacit_multiplier{constraint=\"time\"} 0.25\n",
        "tacit_states_clamped_total 3\n",
        "tacit_answers_total 30\n",
        "7,0.01,0.05,1763270000\n",
        "info refused: an agent or its message was refused agent=now reason=7\n",
        "  \"rounds\": 10,\n  \"held\": 2\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect(texts[i], texts[i]);
}

static void the_log_loses_lines_of_the_clock_alone(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    static const char text[] =
        "TIME info progress: rounds done\nTIME info enrolled: an agent has enrolled agent=progress\n"
        "TIME warning refused: no\nTIME info left: gone\n";
    assert_non_null(arena);
    assert_string_equal(tc_mask_log(arena, text, false), "TIME info enrolled: an agent has enrolled agent=progress\n"
                                                         "TIME warning refused: no\nTIME info left: gone\n");
    assert_string_equal(tc_mask_log(arena, text, true), "TIME warning refused: no\n");
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_ids_go),
        cmocka_unit_test(what_was_released_stays),
        cmocka_unit_test(the_log_loses_lines_of_the_clock_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
