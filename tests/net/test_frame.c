#include "net/message.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;
static uint64_t draw(void) { return random_word(&seed); }

static tc_frame cut(const unsigned char *bytes, size_t size) {
    tc_frame frame = {0};
    size_t taken = 0, wanted = 0;
    assert_int_equal(tc_frame_cut(bytes, size, TC_FRAME_MOST_BODY, &frame, &taken, &wanted), TC_CUT_FRAME);
    assert_int_equal(taken, size);
    return frame;
}

/* ---- frames ---- */

static void numbers_are_little_endian_at_any_address(void **state) {
    (void)state;
    unsigned char bytes[17] = {0};
    tc_put_u64(bytes + 1, UINT64_C(0x0807060504030201));
    for (unsigned char i = 1; i <= 8; i++)
        assert_int_equal(bytes[i], i);
    assert_int_equal(tc_get_u16(bytes + 1), 0x0201);
    assert_int_equal(tc_get_u32(bytes + 3), 0x06050403);
    double one = 1, back = 0;
    tc_put_doubles(bytes + 3, &one, 1);
    assert_int_equal(bytes[10], 0x3f);
    assert_int_equal(bytes[9], 0xf0);
    tc_get_doubles(bytes + 3, &back, 1);
    assert_true(back == one);
}

static void a_stream_gives_the_same_frames_however_it_is_cut(void **state) {
    (void)state;
    enum { FRAMES = 50, MOST = 200 };
    unsigned char *stream = malloc(FRAMES * (TC_FRAME_HEADER + MOST));
    assert_non_null(stream);
    size_t size = 0;
    for (unsigned i = 0; i < FRAMES; i++) {
        uint32_t length = (uint32_t)(draw() % MOST);
        unsigned char *body = tc_frame_begin(stream + size, i, i * 7, i, TC_FRAME_HEADER + length);
        memset(body, (int)i, length);
        size += TC_FRAME_HEADER + length;
    }
    for (unsigned trial = 0; trial < 200; trial++) {
        size_t have = 0, at = 0;
        unsigned seen = 0;
        while (seen < FRAMES) {
            tc_frame frame;
            size_t taken, wanted;
            tc_frame_finding result = tc_frame_cut(stream + at, have - at, MOST, &frame, &taken, &wanted);
            if (result == TC_CUT_MORE) {
                assert_true(wanted > have - at && at + wanted <= size);
                size_t more = 1 + draw() % 300;
                have = size - have < more ? size : have + more;
                continue;
            }
            assert_int_equal(result, TC_CUT_FRAME);
            assert_int_equal(frame.type, seen);
            assert_int_equal(frame.slot, seen * 7);
            assert_int_equal(frame.round, seen);
            for (uint32_t i = 0; i < frame.length; i++)
                assert_int_equal(frame.body[i], seen);
            at += taken;
            seen++;
        }
        assert_int_equal(at, size);
    }
    free(stream);
}

static void a_header_that_breaks_a_rule_is_refused_before_its_body_arrives(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER];
    tc_frame frame;
    size_t taken, wanted;
#define EXPECT(result) assert_int_equal(tc_frame_cut(bytes, sizeof bytes, 100, &frame, &taken, &wanted), result)
    (void)tc_frame_begin(bytes, 3, 0, 1, TC_FRAME_HEADER + 100);
    EXPECT(TC_CUT_MORE);
    assert_int_equal(wanted, TC_FRAME_HEADER + 100);
    (void)tc_frame_begin(bytes, 3, 0, 1, TC_FRAME_HEADER + 101);
    EXPECT(TC_CUT_TOO_LONG);
    (void)tc_frame_begin(bytes, 3, 0, TC_FRAME_MOST_ROUND + 1, TC_FRAME_HEADER);
    EXPECT(TC_CUT_ROUND);
    (void)tc_frame_begin(bytes, 3, 0, TC_FRAME_MOST_ROUND, TC_FRAME_HEADER);
    EXPECT(TC_CUT_FRAME);
    bytes[6] = 1;
    EXPECT(TC_CUT_RESERVED);
    tc_put_u16(bytes + 4, TC_MESSAGE_ANSWER); /* of all messages this one may have flags, those of later versions too */
    tc_put_u16(bytes + 6, 0x8003);
    EXPECT(TC_CUT_FRAME);
    assert_int_equal(frame.flags, 0x8003);
    tc_put_u16(bytes + 6, 0);
    bytes[15] = 128;
    EXPECT(TC_CUT_RESERVED);
#undef EXPECT
}

static void no_limit_of_a_connection_lifts_that_of_the_codec(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER];
    tc_frame frame;
    size_t taken, wanted;
    (void)tc_frame_begin(bytes, 3, 0, 1, (size_t)TC_FRAME_HEADER + TC_FRAME_MOST_BODY + 1);
    assert_int_equal(tc_frame_cut(bytes, sizeof bytes, UINT32_MAX, &frame, &taken, &wanted), TC_CUT_TOO_LONG);
}

/* ---- messages ---- */

static void a_hello_says_versions_and_software(void **state) {
    (void)state;
    unsigned char bytes[256];
    tc_hello hello = {.lowest_version = 1, .highest_version = 3, .software = "probe 1", .software_length = 7}, back;
    tc_hello_encode(&hello, bytes);
    size_t size = tc_hello_size(&hello);
    tc_frame frame = cut(bytes, size);
    assert_int_equal(tc_hello_decode(&frame, &back), TC_NOT_REFUSED);
    assert_int_equal(back.highest_version, 3);
    assert_memory_equal(back.software, "probe 1", 7);
    tc_put_u16(bytes + TC_FRAME_HEADER + 8, TC_PROTOCOL + 1);
    assert_int_equal(tc_hello_decode(&frame, &back), TC_REFUSED_VERSION);
    tc_put_u16(bytes + TC_FRAME_HEADER + 8, 1);
    tc_put_u16(bytes + TC_FRAME_HEADER + 10, 1);
    assert_int_equal(tc_hello_decode(&frame, &back), TC_NOT_REFUSED);
    tc_put_u16(bytes + TC_FRAME_HEADER + 10, 0);
    assert_int_equal(tc_hello_decode(&frame, &back), TC_REFUSED_VERSION);
    tc_put_u16(bytes + TC_FRAME_HEADER + 10, 3);
    bytes[size - 1] = '\n';
    assert_int_equal(tc_hello_decode(&frame, &back), TC_REFUSED_FRAME);
    bytes[size - 1] = '1';
    bytes[TC_FRAME_HEADER] = 'T';
    assert_int_equal(tc_hello_decode(&frame, &back), TC_REFUSED_FRAME);
}

static tc_enrol example_enrol(void) {
    return (tc_enrol){.slot = 4,
                      .answered = 17,
                      .states = 24,
                      .slater = TC_SLATER_YES,
                      .epoch = {.number = 2, .id = {9, 8, 7}},
                      .name = "home[17]",
                      .name_length = 8};
}

static void an_enrolment_says_who_how_many_states_and_what_was_seen(void **state) {
    (void)state;
    unsigned char bytes[512];
    tc_enrol enrol = example_enrol(), back;
    tc_enrol_encode(&enrol, bytes);
    tc_frame frame = cut(bytes, tc_enrol_size(&enrol));
    assert_int_equal(tc_enrol_decode(&frame, &back), TC_NOT_REFUSED);
    assert_int_equal(back.slot, 4);
    assert_int_equal(back.answered, 17);
    assert_int_equal(back.states, 24);
    assert_int_equal(back.slater, TC_SLATER_YES);
    assert_int_equal(back.epoch.number, 2);
    assert_memory_equal(back.epoch.id, enrol.epoch.id, TC_EPOCH_ID);
    assert_int_equal(back.name_length, 8);
    assert_memory_equal(back.name, "home[17]", 8);
}

static void expect_enrol(tc_enrol enrol, tc_refusal_code code) {
    unsigned char bytes[1024];
    tc_enrol back;
    tc_enrol_encode(&enrol, bytes);
    tc_frame frame = cut(bytes, tc_enrol_size(&enrol));
    assert_int_equal(tc_enrol_decode(&frame, &back), code);
}

static void enrolments_that_break_a_rule_are_refused(void **state) {
    (void)state;
    static char longest[TC_MOST_NAME + 1];
    memset(longest, 'a', sizeof longest);
    tc_enrol enrol = example_enrol();
    enrol.states = 0;
    expect_enrol(enrol, TC_REFUSED_STATES);
    enrol.states = UINT32_MAX;
    expect_enrol(enrol, TC_REFUSED_STATES);
    enrol = example_enrol();
    enrol.slot = TC_MOST_SLOTS;
    expect_enrol(enrol, TC_REFUSED_SLOT);
    enrol = example_enrol();
    enrol.epoch.number = 0;
    expect_enrol(enrol, TC_REFUSED_FRAME);
    static const char *const names[] = {"", "a\nb", "a\x7f", "\xc3", "\xff\xfe", "a\xe2\x82"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enrol = example_enrol();
        enrol.name = names[i];
        enrol.name_length = strlen(names[i]);
        expect_enrol(enrol, TC_REFUSED_FRAME);
    }
    enrol = example_enrol();
    enrol.name = longest;
    enrol.name_length = TC_MOST_NAME;
    expect_enrol(enrol, TC_NOT_REFUSED);
    enrol.name_length = TC_MOST_NAME + 1;
    expect_enrol(enrol, TC_REFUSED_FRAME);
}

static void states_are_integers_and_of_the_agreed_number(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER + 32];
    int64_t units[4] = {0, -1, INT64_MAX, INT64_MIN}, back[4];
    tc_state_encode(7, 12, units, 4, bytes);
    tc_frame frame = cut(bytes, tc_state_size(4));
    assert_int_equal(frame.type, TC_MESSAGE_STATE);
    assert_int_equal(tc_state_decode(&frame, 4, back), TC_NOT_REFUSED);
    assert_memory_equal(back, units, sizeof units);
    assert_int_equal(tc_state_decode(&frame, 3, back), TC_REFUSED_STATES);
    assert_int_equal(tc_state_decode(&frame, 5, back), TC_REFUSED_STATES);
    frame.round = 0;
    assert_int_equal(tc_state_decode(&frame, 4, back), TC_REFUSED_ROUND);
}

static void answers_keep_every_bit_and_must_be_finite(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER + 40];
    double p[3] = {-0.0, 0x1p-1074, 1e308}, back[3];
    tc_answer answer = {.slot = 1, .round = 9, .flags = 3, .step = 0.1, .regularization = 0, .states = 3}, read;
    tc_answer_encode(&answer, p, bytes);
    tc_frame frame = cut(bytes, tc_answer_size(3));
    assert_int_equal(tc_answer_decode(&frame, 3, &read, back), TC_NOT_REFUSED);
    assert_memory_equal(back, p, sizeof p);
    assert_true(read.step == 0.1 && read.regularization == 0 && read.round == 9 && read.slot == 1 && read.flags == 3);
    assert_int_equal(tc_answer_decode(&frame, 2, &read, back), TC_REFUSED_STATES);
    p[1] = (double)NAN;
    tc_answer_encode(&answer, p, bytes);
    assert_int_equal(tc_answer_decode(&frame, 3, &read, back), TC_REFUSED_FRAME);
}

static void what_the_cloud_says_is_read_back(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER + TC_MOST_CONTROL];
    tc_welcome welcome = {.version = 1, .most_body = 4096, .run_id = {1}, .plan_hash = {2}, .epoch = {3, {4}}}, w;
    tc_welcome_encode(&welcome, bytes);
    tc_frame frame = cut(bytes, TC_WELCOME_SIZE);
    assert_int_equal(tc_welcome_decode(&frame, &w), TC_NOT_REFUSED);
    assert_memory_equal(w.plan_hash, welcome.plan_hash, TC_HASH);
    assert_true(w.epoch.number == 3 && w.epoch.id[0] == 4 && w.most_body == 4096 && w.run_id[0] == 1);

    tc_enrolled enrolled = {
        .slot = 5, .next = 18, .states = 24, .exponent = -20, .method = TC_WIRE_TACIT, .rounds = 100000};
    tc_enrolled e;
    tc_enrolled_encode(&enrolled, bytes);
    frame = cut(bytes, tc_enrolled_size(&enrolled));
    assert_int_equal(tc_enrolled_decode(&frame, &e), TC_NOT_REFUSED);
    assert_true(e.next == 18 && e.exponent == -20 && e.method == TC_WIRE_TACIT && e.rounds == 100000 && e.states == 24);
    assert_null(e.scales);
    tc_put_u64(bytes + TC_FRAME_HEADER + 8, 3);
    assert_true(tc_enrolled_decode(&frame, &e) == TC_NOT_REFUSED && e.method == TC_WIRE_MOVED);
    tc_put_u64(bytes + TC_FRAME_HEADER + 8, 4);
    assert_true(tc_enrolled_decode(&frame, &e) == TC_NOT_REFUSED && e.method == TC_WIRE_CERTAIN);
    tc_put_u64(bytes + TC_FRAME_HEADER + 8, 5);
    assert_int_equal(tc_enrolled_decode(&frame, &e), TC_REFUSED_FRAME);

    tc_note note = {.slot = 1, .round = 3, .code = TC_NOTE_LOST}, n;
    tc_note_encode(&note, bytes);
    frame = cut(bytes, TC_NOTE_SIZE);
    assert_int_equal(tc_note_decode(&frame, &n), TC_NOT_REFUSED);
    assert_int_equal(n.code, TC_NOTE_LOST);
    assert_non_null(tc_note_text(n.code));
    tc_put_u16(bytes + TC_FRAME_HEADER, 2);
    assert_int_equal(tc_note_decode(&frame, &n), TC_REFUSED_FRAME);

    tc_refusal refusal = {.slot = TC_NO_SLOT, .code = TC_REFUSED_ROUND, .reason = "late", .reason_length = 4}, r;
    tc_refusal_encode(&refusal, bytes);
    frame = cut(bytes, tc_refusal_size(&refusal));
    assert_int_equal(tc_refusal_decode(&frame, &r), TC_NOT_REFUSED);
    assert_int_equal(r.code, TC_REFUSED_ROUND);
    assert_memory_equal(r.reason, "late", 4);

    tc_end end = {.round = 77, .reason = TC_END_DIVERGED}, d;
    tc_end_encode(&end, bytes);
    frame = cut(bytes, TC_END_SIZE);
    assert_int_equal(tc_end_decode(&frame, &d), TC_NOT_REFUSED);
    assert_true(d.round == 77 && d.reason == TC_END_DIVERGED);

    tc_leave_encode(3, bytes);
    frame = cut(bytes, TC_LEAVE_SIZE);
    assert_int_equal(tc_leave_decode(&frame), TC_NOT_REFUSED);
}

static void scales_are_read_back(void **state) {
    (void)state;
    unsigned char bytes[TC_FRAME_HEADER + TC_MOST_CONTROL];
    int8_t scales[3] = {0, -7, TC_LEAST_SCALE};
    tc_enrolled enrolled = {.next = 1, .states = 3, .method = TC_WIRE_TACIT, .rounds = 9, .scales = scales}, e;
    tc_enrolled_encode(&enrolled, bytes);
    tc_frame frame = cut(bytes, tc_enrolled_size(&enrolled));
    assert_int_equal(tc_enrolled_decode(&frame, &e), TC_NOT_REFUSED);
    assert_memory_equal(e.scales, scales, sizeof scales);
    frame.length--; /* one is missing */
    assert_int_equal(tc_enrolled_decode(&frame, &e), TC_REFUSED_FRAME);
    frame.length++;
    static const int8_t wrong[][3] = {{0, 0, 0}, {0, -1, 1}, {0, TC_LEAST_SCALE - 1, 0}}; /* none, or out of range */
    for (size_t i = 0; i < 3; i++) {
        memcpy(scales, wrong[i], sizeof scales);
        tc_enrolled_encode(&enrolled, bytes);
        assert_int_equal(tc_enrolled_decode(&frame, &e), TC_REFUSED_FRAME);
    }
    enrolled.method = TC_WIRE_PUBLISHED;
    scales[1] = -1;
    scales[2] = 0;
    tc_enrolled_encode(&enrolled, bytes);
    assert_int_equal(tc_enrolled_decode(&frame, &e), TC_REFUSED_FRAME);
}

static void every_control_message_fits_the_common_limit(void **state) {
    (void)state;
    tc_enrol enrol = {.name_length = TC_MOST_NAME};
    tc_refusal refusal = {.reason_length = TC_MOST_REASON};
    tc_hello hello = {.software_length = TC_MOST_SOFTWARE};
    size_t most = TC_FRAME_HEADER + TC_MOST_CONTROL;
    assert_true(tc_enrol_size(&enrol) <= most && tc_refusal_size(&refusal) <= most && tc_hello_size(&hello) <= most);
    assert_true((size_t)TC_WELCOME_SIZE <= most && tc_enrolled_size(&(tc_enrolled){.states = 1}) <= most);
}

static void every_message_and_refusal_has_a_name(void **state) {
    (void)state;
    assert_string_equal(tc_message_name(TC_MESSAGE_STATE), "state");
    assert_null(tc_message_name(5));
    for (unsigned code = TC_REFUSED_FRAME; code <= TC_REFUSED_OVER; code++)
        assert_non_null(tc_refusal_text(code));
    assert_null(tc_refusal_text(0));
    assert_false(tc_refusal_may_retry(TC_REFUSED_REPLACED));
    assert_true(tc_refusal_may_retry(TC_REFUSED_SLOW));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian_at_any_address),
        cmocka_unit_test(a_stream_gives_the_same_frames_however_it_is_cut),
        cmocka_unit_test(a_header_that_breaks_a_rule_is_refused_before_its_body_arrives),
        cmocka_unit_test(no_limit_of_a_connection_lifts_that_of_the_codec),
        cmocka_unit_test(a_hello_says_versions_and_software),
        cmocka_unit_test(an_enrolment_says_who_how_many_states_and_what_was_seen),
        cmocka_unit_test(enrolments_that_break_a_rule_are_refused),
        cmocka_unit_test(states_are_integers_and_of_the_agreed_number),
        cmocka_unit_test(answers_keep_every_bit_and_must_be_finite),
        cmocka_unit_test(what_the_cloud_says_is_read_back),
        cmocka_unit_test(scales_are_read_back),
        cmocka_unit_test(every_control_message_fits_the_common_limit),
        cmocka_unit_test(every_message_and_refusal_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
