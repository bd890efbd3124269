/* The key of a journal in a database: its file, and rounds that are sealed with it. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "serve/journal/journal.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWERS = 5, SNAPSHOT = 33, SIZE = TC_SEAL_HEAD + TC_SEAL_NUMBERS + 8 * ANSWERS + SNAPSHOT + TC_SEAL_TAG };

typedef struct desk {
    tc_arena *arena;
    tc_buffer messages;
    char folder[40], path[64];
    tc_journal_key *key;
    tc_journal_run run;
    tc_epoch epoch;
    unsigned char answers[8 * ANSWERS], snapshot[SNAPSHOT];
    tc_journal_round round;
    unsigned char sealed[SIZE], plain[SIZE];
} desk;

static tc_journal_key *another_key(desk *d) {
    tc_journal_key *key = NULL;
    char path[80];
    (void)snprintf(path, sizeof path, "%s.other", d->path);
    assert_int_equal(tc_journal_key_make(d->arena, path, &d->messages), TC_OK);
    assert_int_equal(tc_journal_key_read(d->arena, path, &d->messages, &key), TC_OK);
    assert_int_equal(unlink(path), 0);
    return key;
}

static int set_up(void **state) {
    static desk d;
    static const double doubles[ANSWERS] = {1, -2.5, 1e-9, 3, 1.0 / 3};
    d = (desk){.arena = tc_arena_new(0), .folder = "/tmp/tacit-key-XXXXXX"};
    d.messages = tc_buffer_new(d.arena, 1 << 16);
    if (mkdtemp(d.folder) == NULL)
        return 1;
    (void)snprintf(d.path, sizeof d.path, "%s/key", d.folder);
    d.run = (tc_journal_run){.run_id = {1}, .plan_hash = {2}, .terms = {3}};
    d.epoch = (tc_epoch){.number = 4, .id = {5}};
    tc_put_doubles(d.answers, doubles, ANSWERS);
    memset(d.snapshot, 's', SNAPSHOT);
    d.round = (tc_journal_round){.round = 6,
                                 .step = 0.5,
                                 .regularization = 0.25,
                                 .answer_count = ANSWERS,
                                 .snapshot = d.snapshot,
                                 .snapshot_size = SNAPSHOT};
    *state = &d;
    return tc_journal_key_make(d.arena, d.path, &d.messages) != TC_OK ||
           tc_journal_key_read(d.arena, d.path, &d.messages, &d.key) != TC_OK ||
           tc_journal_sealed_size(&d.round) != SIZE ||
           !tc_journal_seal(d.key, &d.run, &d.epoch, &d.round, d.answers, d.sealed);
}

static int tear_down(void **state) {
    desk *d = *state;
    (void)unlink(d->path);
    tc_arena_free(d->arena);
    return rmdir(d->folder);
}

/* ---- the file ---- */

static void write_file(desk *d, const char *text, mode_t mode) {
    FILE *file = fopen(d->path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(d->path, mode), 0);
}

static void expect(desk *d, tc_status status, const char *word) {
    tc_journal_key *key = NULL;
    d->messages.length = 0;
    assert_int_equal(tc_journal_key_read(d->arena, d->path, &d->messages, &key), status);
    assert_true((key != NULL) == (status == TC_OK));
    assert_true(word == NULL || strstr(tc_buffer_text(&d->messages), word) != NULL);
}

static void a_key_is_its_owners_alone_and_never_overwritten(void **state) {
    desk *d = *state;
    struct stat found;
    assert_int_equal(stat(d->path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_int_equal(found.st_size, 65);
    assert_int_equal(tc_journal_key_make(d->arena, d->path, &d->messages), TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&d->messages), "exists already"));
    expect(d, TC_OK, NULL); /* as it was */
}

static void what_is_no_key_or_open_to_others_is_refused_by_name(void **state) {
    desk *d = *state;
    static const char good[] = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
    char text[80];
    write_file(d, good, 0600);
    expect(d, TC_OK, NULL);
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_file(d, good, modes[i]);
        expect(d, TC_BAD_USAGE, "may be read by others: chmod 600");
    }
    for (size_t length = 0; length < 64; length += 9) {
        (void)snprintf(text, sizeof text, "%.*s", (int)length, good);
        write_file(d, text, 0600);
        expect(d, TC_BAD_USAGE, "64 hexadecimal digits");
    }
    static const char *const ends[] = {"0", "\n\n", " ", "\r\n"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(text, sizeof text, "%s%s", good, ends[i]);
        write_file(d, text, 0600);
        expect(d, TC_BAD_USAGE, "64 hexadecimal digits");
    }
    (void)snprintf(text, sizeof text, "%.63sg", good);
    write_file(d, text, 0600);
    expect(d, TC_BAD_USAGE, "64 hexadecimal digits");
    assert_int_equal(unlink(d->path), 0);
    expect(d, TC_CANNOT_READ, d->path);
    assert_int_equal(mkdir(d->path, 0700), 0);
    expect(d, TC_BAD_USAGE, "is a folder, not a file");
    assert_int_equal(rmdir(d->path), 0);
}

/* ---- a sealed round ---- */

static bool opens(desk *d, tc_journal_key *key, uint64_t round, size_t size) {
    size_t plain = 0;
    return tc_journal_unseal(key, &d->run, round, d->sealed, size, d->plain, &plain);
}

static void what_was_sealed_is_opened(void **state) {
    desk *d = *state;
    double numbers[2];
    size_t size = 0;
    assert_true(tc_journal_unseal(d->key, &d->run, 6, d->sealed, SIZE, d->plain, &size));
    assert_int_equal(size, TC_SEAL_NUMBERS + 8 * ANSWERS + SNAPSHOT);
    tc_get_doubles(d->plain, numbers, 2);
    assert_true(numbers[0] == 0.5 && numbers[1] == 0.25);
    assert_int_equal(tc_get_u64(d->plain + 16), ANSWERS);
    assert_memory_equal(d->plain + TC_SEAL_NUMBERS, d->answers, sizeof d->answers);
    assert_memory_equal(d->plain + TC_SEAL_NUMBERS + sizeof d->answers, d->snapshot, SNAPSHOT);
}

static void nothing_of_it_can_be_read(void **state) {
    desk *d = *state;
    unsigned char again[SIZE];
    for (size_t i = TC_SEAL_HEAD; i + 8 <= SIZE; i++) {
        assert_memory_not_equal(d->sealed + i, d->snapshot, 8);
        for (size_t j = 0; j < ANSWERS; j++)
            assert_memory_not_equal(d->sealed + i, d->answers + 8 * j, 8);
    }
    assert_true(tc_journal_seal(d->key, &d->run, &d->epoch, &d->round, d->answers, again));
    for (size_t i = TC_SEAL_HEAD; i + 8 <= SIZE; i++) /* the same round again shows no more than another one */
        assert_memory_not_equal(d->sealed + i, again + i, 8);
}

static void a_changed_or_cut_one_is_refused(void **state) {
    desk *d = *state;
    for (size_t i = TC_KEY_NAME; i < SIZE; i++) { /* the name is compared by itself */
        d->sealed[i] ^= 1;
        assert_false(opens(d, d->key, 6, SIZE));
        d->sealed[i] ^= 1;
    }
    for (size_t size = 0; size < SIZE; size++)
        assert_false(opens(d, d->key, 6, size));
    assert_true(opens(d, d->key, 6, SIZE));
}

static void one_of_another_run_round_epoch_or_key_is_refused(void **state) {
    desk *d = *state;
    assert_false(opens(d, d->key, 5, SIZE));
    assert_false(opens(d, another_key(d), 6, SIZE));
    unsigned char *const parts[] = {d->run.run_id, d->run.plan_hash, d->run.terms};
    for (size_t i = 0; i < 3; i++) {
        parts[i][7] ^= 1;
        assert_false(opens(d, d->key, 6, SIZE));
        parts[i][7] ^= 1;
    }
    unsigned char other[SIZE]; /* the epoch of another row, on this one */
    d->epoch.number++;
    assert_true(tc_journal_seal(d->key, &d->run, &d->epoch, &d->round, d->answers, other));
    memcpy(d->sealed + TC_KEY_NAME, other + TC_KEY_NAME, 8);
    assert_false(opens(d, d->key, 6, SIZE));
    memcpy(d->sealed, other, SIZE);
    assert_true(opens(d, d->key, 6, SIZE));
}

static void names_and_macs_are_of_the_key(void **state) {
    desk *d = *state;
    static const unsigned char other_run[TC_RUN_ID] = {9};
    tc_journal_key *other = another_key(d);
    unsigned char names[3][TC_KEY_NAME], macs[2][TC_HASH] = {{7}, {7}}, digest[TC_HASH] = {7};
    assert_true(tc_journal_key_name(d->key, d->run.run_id, names[0]));
    assert_true(tc_journal_key_name(other, d->run.run_id, names[1]));
    assert_true(tc_journal_key_name(d->key, other_run, names[2]));
    assert_memory_equal(names[0], d->sealed, TC_KEY_NAME);
    assert_memory_not_equal(names[0], names[1], TC_KEY_NAME);
    assert_memory_not_equal(names[0], names[2], TC_KEY_NAME);
    assert_true(tc_journal_key_mac(d->key, macs[0]) && tc_journal_key_mac(other, macs[1]));
    assert_memory_not_equal(macs[0], macs[1], TC_HASH);
    assert_memory_not_equal(macs[0], digest, TC_HASH);
}

int main(void) {
#define WITH_KEY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_KEY(a_key_is_its_owners_alone_and_never_overwritten),
        WITH_KEY(what_is_no_key_or_open_to_others_is_refused_by_name),
        WITH_KEY(what_was_sealed_is_opened),
        WITH_KEY(nothing_of_it_can_be_read),
        WITH_KEY(a_changed_or_cut_one_is_refused),
        WITH_KEY(one_of_another_run_round_epoch_or_key_is_refused),
        WITH_KEY(names_and_macs_are_of_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
