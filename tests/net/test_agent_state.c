/* An agent's state file: what was saved is there again, whatever was cut short. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "net/keys.h"

#include "net/agent/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATES = 3, PAGE = 4096 };

typedef struct place {
    keys k; /* a folder and an arena */
    double x[STATES], average[STATES];
    tc_agent_record record;
    tc_state_file_settings settings;
} place;

static void set_record(tc_agent_record *record, uint64_t answered) {
    memset(record->run_id, 0x5a, TC_RUN_ID);
    memset(record->plan_hash, 0xa5, TC_HASH);
    record->epoch = (tc_epoch){.number = 7, .id = {1, 2, 3}};
    record->answered = answered;
    record->rounds = TC_FRAME_MOST_ROUND;
    record->unknown = UINT64_C(0x123456789abc);
    record->method = TC_WIRE_TACIT;
    for (size_t i = 0; i < STATES; i++) {
        record->x[i] = (double)answered + 0.1 * (double)i;
        record->average[i] = -record->x[i] / 3;
    }
}

static place begin(void) {
    place p = {.k = keys_begin()};
    p.settings = (tc_state_file_settings){
        .folder = tc_arena_copy(p.k.arena, p.k.folder, strlen(p.k.folder)), .name = "home[17]", .states = STATES};
    return p;
}

static void wire(place *p) {
    p->record.x = p->x;
    p->record.average = p->average;
}

static const char *path_of(const place *p) { return keys_path(&p->k, "home.17.state"); }

typedef struct opened { /* in an arena of its own, so that it can be closed */
    tc_arena *arena;
    tc_buffer messages;
    tc_state_file *state;
    tc_status status;
} opened;

static opened open_state(place *p) {
    opened o = {.arena = tc_arena_new(0)};
    o.messages = tc_buffer_new(o.arena, 1 << 16);
    o.status = tc_state_file_open(o.arena, &p->settings, &o.messages, &p->record, &o.state);
    return o;
}

static size_t read_file(const char *path, unsigned char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, room, file);
    assert_int_equal(fclose(file), 0);
    return got;
}

/* In place: file systems write a replaced file to the disk at once, which is slow. */
static void write_file(const char *path, const unsigned char *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, size, 0), (long)size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    assert_int_equal(close(file), 0);
}

/* Opens what is there: the round it knows of, or -1 where it is refused. */
static long found(place *p) {
    set_record(&p->record, 999);
    opened o = open_state(p);
    long answered = o.status == TC_OK ? (long)p->record.answered : -1;
    if (o.status == TC_OK) {
        double x[STATES], average[STATES];
        tc_agent_record expected = {.x = x, .average = average};
        set_record(&expected, p->record.answered);
        assert_memory_equal(p->x, x, sizeof x);
        assert_memory_equal(p->average, average, sizeof average);
        assert_int_equal(p->record.epoch.number, 7);
    } else {
        assert_int_equal(o.status, TC_CANNOT_READ);
        assert_non_null(strstr(tc_buffer_text(&o.messages), "damaged"));
        assert_non_null(strstr(tc_buffer_text(&o.messages), "--new-run"));
        assert_non_null(strstr(tc_buffer_text(&o.messages), "guard against an old copy of the cloud"));
    }
    tc_arena_free(o.arena);
    return answered;
}

static void what_was_saved_last_is_there_again(void **state) {
    (void)state;
    for (int power = 0; power < 2; power++) {
        place p = begin();
        wire(&p);
        p.settings.survives_power = power == 1;
        set_record(&p.record, 0);
        for (uint64_t round = 1; round < 6; round++) {
            opened o = open_state(&p);
            assert_int_equal(o.status, TC_OK);
            assert_int_equal(p.record.answered, round - 1);
            set_record(&p.record, round);
            assert_true(tc_state_file_save(o.state, &p.record));
            tc_arena_free(o.arena);
            set_record(&p.record, 0);
        }
        assert_int_equal(found(&p), 5);
        struct stat facts;
        assert_int_equal(stat(path_of(&p), &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0600);
        keys_end(&p.k);
    }
}

/* A file with rounds 4 and 5, and where the newer of them lies. */
static size_t two_rounds(place *p, unsigned char *bytes, size_t room, size_t *newer) {
    set_record(&p->record, 3);
    opened o = open_state(p);
    assert_int_equal(o.status, TC_OK);
    for (uint64_t round = 4; round <= 5; round++) {
        set_record(&p->record, round);
        assert_true(tc_state_file_save(o.state, &p->record));
    }
    *newer = PAGE * (size_t)(p->record.saves % 2);
    tc_arena_free(o.arena);
    return read_file(path_of(p), bytes, room);
}

static void a_write_cut_short_at_any_byte_leaves_the_round_before_or_is_whole(void **state) {
    (void)state;
    static unsigned char now[4 * PAGE], next[4 * PAGE];
    place p = begin();
    wire(&p);
    size_t newer, size = two_rounds(&p, now, sizeof now, &newer), record = tc_agent_record_size(STATES);
    set_record(&p.record, 0);
    opened o = open_state(&p);
    set_record(&p.record, 6);
    assert_true(tc_state_file_save(o.state, &p.record));
    tc_arena_free(o.arena);
    assert_int_equal(read_file(path_of(&p), next, sizeof next), size);
    size_t older = PAGE - newer; /* the sixth round was written over the fourth */
    for (size_t cut = 0; cut <= record; cut++) {
        unsigned char torn[4 * PAGE];
        memcpy(torn, now, size);
        memcpy(torn + older, next + older, cut);
        write_file(path_of(&p), torn, size);
        assert_int_equal(found(&p), cut == record ? 6 : 5);
    }
    keys_end(&p.k);
}

static void a_file_cut_off_at_any_byte_is_an_earlier_one_or_refused(void **state) {
    (void)state;
    static unsigned char bytes[4 * PAGE];
    place p = begin();
    wire(&p);
    size_t newer, size = two_rounds(&p, bytes, sizeof bytes, &newer), record = tc_agent_record_size(STATES);
    assert_true(size >= PAGE + record);
    for (size_t cut = 0; cut<size; cut += cut> record && cut + 300 < PAGE ? 300 : 1) {
        write_file(path_of(&p), bytes, cut);
        long expected = cut < record ? -1 : cut < PAGE + record ? (newer == 0 ? 5 : 4) : 5;
        assert_int_equal(found(&p), expected);
    }
    keys_end(&p.k);
}

static void any_flipped_bit_costs_one_round_at_most(void **state) {
    (void)state;
    static unsigned char bytes[4 * PAGE];
    place p = begin();
    wire(&p);
    size_t newer, size = two_rounds(&p, bytes, sizeof bytes, &newer), record = tc_agent_record_size(STATES);
    for (size_t at = 0; at < record; at++) {
        unsigned bit = 1U << (at % 8);
        bytes[newer + at] ^= (unsigned char)bit;
        write_file(path_of(&p), bytes, size);
        assert_int_equal(found(&p), 4);
        bytes[newer + at] ^= (unsigned char)bit;
        bytes[PAGE - newer + at] ^= (unsigned char)bit;
        write_file(path_of(&p), bytes, size);
        assert_int_equal(found(&p), 5);
        bytes[PAGE - newer + at] ^= (unsigned char)bit;
    }
    keys_end(&p.k);
}

static void places_that_changed_places_are_not_believed(void **state) {
    (void)state;
    static unsigned char bytes[4 * PAGE], swapped[4 * PAGE];
    place p = begin();
    wire(&p);
    size_t newer, size = two_rounds(&p, bytes, sizeof bytes, &newer), record = tc_agent_record_size(STATES);
    memcpy(swapped, bytes, size);
    memcpy(swapped, bytes + PAGE, record);
    memcpy(swapped + PAGE, bytes, record);
    write_file(path_of(&p), swapped, size);
    assert_int_equal(found(&p), -1);
    keys_end(&p.k);
}

static void a_damaged_file_is_put_aside_when_that_is_wished(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    write_file(path_of(&p), (const unsigned char *)"nonsense", 8);
    assert_int_equal(found(&p), -1);
    p.settings.may_replace = true;
    assert_int_equal(found(&p), 999); /* begun anew with what the caller had */
    unsigned char kept[16];
    assert_int_equal(read_file(keys_path(&p.k, "home.17.state.old"), kept, sizeof kept), 8);
    p.settings.may_replace = false;
    assert_int_equal(found(&p), 999);
    keys_end(&p.k);
}

static void another_agents_file_is_refused(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    assert_int_equal(found(&p), 999);
    p.settings.name = "home.17"; /* its file has the same name */
    p.settings.may_replace = true;
    opened o = open_state(&p);
    assert_int_equal(o.status, TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&o.messages), "another agent's"));
    assert_non_null(strstr(tc_buffer_text(&o.messages), "One folder serves many agents"));
    tc_arena_free(o.arena);
    p.settings.name = "home[17]";
    p.settings.may_replace = false;
    p.settings.states = STATES - 1;
    o = open_state(&p);
    assert_int_equal(o.status, TC_BAD_USAGE);
    assert_non_null(strstr(tc_buffer_text(&o.messages), "another number of states"));
    tc_arena_free(o.arena);
    keys_end(&p.k);
}

static void an_agent_runs_once_at_a_time(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    set_record(&p.record, 1);
    opened first = open_state(&p), second = open_state(&p);
    assert_int_equal(first.status, TC_OK);
    assert_int_equal(second.status, TC_CANNOT_READ);
    assert_non_null(strstr(tc_buffer_text(&second.messages), "another process has the state file"));
    tc_arena_free(second.arena);
    tc_arena_free(first.arena);
    assert_int_equal(found(&p), 1);
    keys_end(&p.k);
}

static void names_of_any_kind_have_files(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    char longest[TC_MOST_NAME + 1];
    memset(longest, '/', TC_MOST_NAME);
    longest[TC_MOST_NAME] = 0;
    const char *const names[] = {longest, ".", "../x", "caf\xc3\xa9 17"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        p.settings.name = names[i];
        set_record(&p.record, 2);
        opened o = open_state(&p);
        assert_int_equal(o.status, TC_OK);
        const char *file = strrchr(tc_state_file_path(o.state), '/');
        assert_int_equal(strncmp(tc_state_file_path(o.state), p.k.folder, strlen(p.k.folder)), 0);
        assert_int_equal(file - tc_state_file_path(o.state), (long)strlen(p.k.folder));
        assert_true(strlen(file) < 255 && file[1] != '.');
        tc_arena_free(o.arena);
    }
    keys_end(&p.k);
}

static void a_full_disk_is_said_and_the_round_before_stays(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    set_record(&p.record, 1);
    opened o = open_state(&p);
    pid_t child = fork(); /* in a process of its own, whose files must not grow */
    if (child == 0) {
        struct rlimit none = {0};
        (void)signal(SIGXFSZ, SIG_IGN);
        set_record(&p.record, 2);
        bool refused = setrlimit(RLIMIT_FSIZE, &none) == 0 && !tc_state_file_save(o.state, &p.record);
        _exit(refused && errno == EFBIG ? 0 : 1);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    tc_arena_free(o.arena);
    assert_int_equal(found(&p), 1);
    keys_end(&p.k);
}

/* Opens a state file that cannot be used, and expects these words. */
static void expect_refused(place *p, tc_status status, const char *words) {
    set_record(&p->record, 1);
    opened o = open_state(p);
    assert_int_equal(o.status, status);
    if (strstr(tc_buffer_text(&o.messages), words) == NULL)
        fail_msg("'%s' is not in '%s'", words, tc_buffer_text(&o.messages));
    assert_non_null(strstr(tc_buffer_text(&o.messages), path_of(p)));
    tc_arena_free(o.arena);
}

static void what_is_no_file_is_refused_with_a_reason(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    assert_int_equal(symlink("elsewhere", path_of(&p)), 0);
    expect_refused(&p, TC_CANNOT_READ, "is a symbolic link");
    assert_int_equal(unlink(path_of(&p)), 0);
    assert_int_equal(mkdir(path_of(&p), 0700), 0);
    expect_refused(&p, TC_CANNOT_READ, "cannot open");
    assert_int_equal(rmdir(path_of(&p)), 0);
    assert_int_equal(mkfifo(path_of(&p), 0600), 0); /* it can be opened, and not read at a place */
    expect_refused(&p, TC_CANNOT_READ, "cannot read");
    keys_end(&p.k);
}

static void a_file_that_cannot_be_made_or_put_aside_is_said(void **state) {
    (void)state;
    place p = begin();
    wire(&p);
    assert_int_equal(mkdir(keys_path(&p.k, "home.17.state.new"), 0700), 0);
    expect_refused(&p, TC_CANNOT_WRITE, "cannot write");
    assert_int_equal(access(path_of(&p), F_OK), -1);
    write_file(path_of(&p), (const unsigned char *)"nonsense", 8);
    p.settings.may_replace = true;
    assert_int_equal(mkdir(keys_path(&p.k, "home.17.state.old"), 0700), 0);
    expect_refused(&p, TC_CANNOT_WRITE, "cannot move aside");
    unsigned char kept[16];
    assert_int_equal(read_file(path_of(&p), kept, sizeof kept), 8); /* it stays where it is */
    keys_end(&p.k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_last_is_there_again),
        cmocka_unit_test(a_write_cut_short_at_any_byte_leaves_the_round_before_or_is_whole),
        cmocka_unit_test(a_file_cut_off_at_any_byte_is_an_earlier_one_or_refused),
        cmocka_unit_test(any_flipped_bit_costs_one_round_at_most),
        cmocka_unit_test(places_that_changed_places_are_not_believed),
        cmocka_unit_test(a_damaged_file_is_put_aside_when_that_is_wished),
        cmocka_unit_test(another_agents_file_is_refused),
        cmocka_unit_test(an_agent_runs_once_at_a_time),
        cmocka_unit_test(names_of_any_kind_have_files),
        cmocka_unit_test(a_full_disk_is_said_and_the_round_before_stays),
        cmocka_unit_test(what_is_no_file_is_refused_with_a_reason),
        cmocka_unit_test(a_file_that_cannot_be_made_or_put_aside_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
