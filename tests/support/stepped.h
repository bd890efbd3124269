/* The path of a piece of work, one instruction after another: a child does it, and its parent steps through it. Nothing
 * here looks at a clock. */
#ifndef TC_TESTS_SUPPORT_STEPPED_H
#define TC_TESTS_SUPPORT_STEPPED_H

#include "support/cmocka.h"

#if defined(__x86_64__) && defined(__linux__) && !defined(TACIT_SANITIZED)
#define CAN_STEP

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child calls around each piece. The parent has the same addresses, since it was forked. */
__attribute__((noinline)) static void path_begins(void) { __asm__ volatile("int3" ::: "memory"); }
__attribute__((noinline)) static void path_ends(void) { __asm__ volatile("int3\n\tnop" ::: "memory"); }

typedef struct path {
    uint64_t *steps; /* instruction pointers */
    size_t count, room;
} path;

static inline void path_add(path *p, uint64_t at) {
    if (p->count == p->room) {
        p->room = p->room == 0 ? 1 << 16 : 2 * p->room;
        p->steps = realloc(p->steps, p->room * sizeof *p->steps);
        if (p->steps == NULL)
            abort();
    }
    p->steps[p->count++] = at;
}

static inline uint64_t pointer_of(pid_t child) {
    errno = 0;
    long at = ptrace(PTRACE_PEEKUSER, child, (void *)offsetof(struct user, regs.rip), NULL);
    if (errno != 0)
        fail_msg("the child cannot be looked at");
    return (uint64_t)at;
}

/* True where it stopped by a trap, false where it ended, with its code. */
static inline bool wait_for(pid_t child, int *code) {
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        fail_msg("no child");
    if (WIFEXITED(status)) {
        *code = WEXITSTATUS(status);
        return false;
    }
    if (!WIFSTOPPED(status) || (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP))
        fail_msg("the child ended with status %x", (unsigned)status);
    return true;
}

/* Goes on to the next piece and steps through it. False: there was none. */
static inline bool path_follow(pid_t child, path *p, int *code) {
    uint64_t end = (uint64_t)(uintptr_t)path_ends;
    p->count = 0;
    (void)ptrace(PTRACE_CONT, child, NULL, NULL);
    if (!wait_for(child, code))
        return false;
    for (;;) {
        uint64_t at = pointer_of(child);
        if (at == end)
            break;
        path_add(p, at);
        (void)ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
        if (!wait_for(child, code))
            fail_msg("the child ended in the middle of a path, with %d", *code);
    }
    (void)ptrace(PTRACE_CONT, child, NULL, NULL); /* over the trap at its end */
    return wait_for(child, code);
}

/* A child that waits for its parent and then runs work(context); -1 where tracing is not allowed. */
static inline pid_t path_start(void (*work)(void *context), void *context) {
    int code = 0;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        (void)raise(SIGSTOP);
        work(context);
        _exit(0);
    }
    if (child < 0)
        fail_msg("no fork");
    return wait_for(child, &code) ? child : -1;
}
#endif

#endif
