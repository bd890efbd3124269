/* The command, in a process whose arithmetic is not that of the proofs. */
#include "cli/tacit.h"
#include "support/arithmetic.h"
#include "support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct said {
    int code;
    char output[4096], errors[4096];
} said;

static void read_all(int descriptor, char *text, size_t room) {
    size_t have = 0;
    ssize_t more = 0;
    while (have + 1 < room && (more = read(descriptor, text + have, room - 1 - have)) > 0)
        have += (size_t)more;
    text[have] = '\0';
    (void)close(descriptor);
}

/* What was printed fits a pipe. */
static said run(const tweak *t, int argc, char *const *argv) {
    int out[2], errors[2], status = 0;
    said got = {0};
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(errors), 0);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(errors[1], STDERR_FILENO);
        (void)close(out[0]);
        (void)close(errors[0]);
        if (t != NULL)
            tweak_begin(t);
        int code = tc_cli_main(argc, argv);
        (void)fflush(NULL);
        _exit(code);
    }
    (void)close(out[1]);
    (void)close(errors[1]);
    read_all(out[0], got.output, sizeof got.output);
    read_all(errors[0], got.errors, sizeof got.errors);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    got.code = WEXITSTATUS(status);
    return got;
}

static void the_command_refuses_other_arithmetic(void **state) {
    (void)state;
    char program[] = "tacit", command[] = "check", file[] = TACIT_SOURCE_DIR "/examples/num.tacit", json[] = "--json";
    char *const argv[] = {program, command, file, json, NULL};
    assert_int_equal(run(NULL, 3, argv).code, 0);
    for (size_t i = 0; i < TWEAKS; i++) {
        said plain = run(&tweaks[i], 3, argv), in_json = run(&tweaks[i], 4, argv);
        assert_int_equal(plain.code, 3);
        assert_string_equal(plain.output, "");
        if (strncmp(plain.errors, "tacit: arithmetic in this process", 33) != 0 ||
            strstr(plain.errors, tweaks[i].says) == NULL)
            fail_msg("%s: %s", tweaks[i].name, plain.errors);
        assert_int_equal(in_json.code, 3);
        assert_non_null(strstr(in_json.output, tweaks[i].says));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_refuses_other_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
