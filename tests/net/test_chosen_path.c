/* Links that an operator has made are followed, links that others can have planted are not. */
#define _XOPEN_SOURCE 700 /* nftw, realpath */
#include "net/keys.h"

#include "net/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static keys k; /* a folder and an arena */
static char root[512];

static int begin(void **state) {
    (void)state;
    k = keys_begin();
    char *real = realpath(k.folder, NULL);
    assert_non_null(real);
    (void)snprintf(root, sizeof root, "%s", real);
    free(real);
    return 0;
}

static int end(void **state) {
    (void)state;
    keys_end(&k);
    return 0;
}

static const char *in(const char *name) { return tc_arena_format(k.arena, "%s/%s", root, name); }
static void folder(const char *name, mode_t mode) {
    assert_int_equal(mkdir(in(name), 0700), 0);
    assert_int_equal(chmod(in(name), mode), 0);
}
static void link_to(const char *target, const char *name) { assert_int_equal(symlink(target, in(name)), 0); }

static void expect(const char *path, const char *real) {
    const char *found = NULL;
    tc_status status = tc_chosen_path(k.arena, path, &k.messages, &found);
    if (status != TC_OK)
        fail_msg("%s: %s", path, tc_buffer_text(&k.messages));
    assert_string_equal(found, real);
}

static void expect_refused(const char *path, const char *link, const char *why) {
    const char *found = NULL;
    k.messages.length = 0;
    assert_int_equal(tc_chosen_path(k.arena, path, &k.messages, &found), TC_CANNOT_READ);
    const char *text = tc_buffer_text(&k.messages);
    if (strstr(text, why) == NULL || strstr(text, link) == NULL)
        fail_msg("%s does not name %s and '%s'", text, link, why);
}

static void a_path_without_links_stays_as_it_was_written(void **state) {
    (void)state;
    folder("a", 0777);
    folder("a/b", 0700);
    const char *const paths[] = {"a/b", "a//b/", "a/./b", "a/b/../b", "a/b/new"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        expect(in(paths[i]), in(paths[i]));
    expect("/", "/");
    expect(".", ".");
    expect("not-there-yet", "not-there-yet");
}

static void links_of_the_operator_are_followed_to_where_they_lead(void **state) {
    (void)state;
    folder("safe", 0755);
    folder("safe/disk", 0700);
    folder("safe/disk/state", 0700);
    link_to("disk", "safe/relative");
    link_to(in("safe/disk"), "safe/absolute");
    link_to("../safe/./relative/", "safe/again");
    link_to("disk/state", "safe/deep");
    expect(in("safe/relative"), in("safe/disk"));
    expect(in("safe/relative/state"), in("safe/disk/state"));
    expect(in("safe/absolute/new"), in("safe/disk/new")); /* to be made */
    expect(in("safe/again/state"), in("safe/disk/state"));
    expect(in("safe/deep/.."), in("safe/disk")); /* as the kernel goes, not as it is written */
    expect(in("safe/relative/../disk"), in("safe/disk"));
    link_to("disk/later", "safe/dangling");
    expect(in("safe/dangling"), in("safe/disk/later"));
    folder("sticky", 01777);
    link_to("../safe/disk", "sticky/own");
    expect(in("sticky/own"), in("safe/disk"));
    assert_int_equal(chdir(in("safe")), 0);
    expect("relative/state", in("safe/disk/state"));
    assert_int_equal(chdir("/"), 0);
}

static void links_that_others_can_have_planted_are_refused_by_name(void **state) {
    (void)state;
    folder("target", 0700);
    folder("open", 0777);
    folder("shared", 0775);
    link_to("../target", "open/link");
    link_to("../target", "shared/link");
    expect_refused(in("open/link"), in("open/link"), "which others may write");
    expect_refused(in("open/link/state"), in("open/link"), "which others may write");
    expect_refused(in("shared/link"), in("shared/link"), "which others may write");
    link_to("open/link", "indirect"); /* a good link that leads over a bad one */
    expect_refused(in("indirect"), in("open/link"), "which others may write");
    if (geteuid() != 0)
        return; /* only root can give files away */
    folder("sticky", 01777);
    link_to("../target", "sticky/theirs");
    assert_int_equal(lchown(in("sticky/theirs"), NOBODY, NOBODY), 0);
    expect_refused(in("sticky/theirs"), in("sticky/theirs"), "belongs to another user");
    folder("home", 0755);
    link_to("../target", "home/link");
    assert_int_equal(chown(in("home"), NOBODY, NOBODY), 0);
    expect_refused(in("home/link"), in("home/link"), "which belongs to another user");
}

static void what_leads_nowhere_is_said(void **state) {
    (void)state;
    link_to("b", "a");
    link_to("a", "b");
    expect_refused(in("a"), in("a"), "Too many levels");
    expect_refused(in("no/state"), in("no"), "No such file");
    int file = open(in("file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    (void)close(file);
    expect_refused(in("file/state"), in("file"), "Not a directory");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_path_without_links_stays_as_it_was_written),
        T(links_of_the_operator_are_followed_to_where_they_lead),
        T(links_that_others_can_have_planted_are_refused_by_name),
        T(what_leads_nowhere_is_said),
    };
    return cmocka_run_group_tests_name("net/chosen_path", tests, NULL, NULL);
}
