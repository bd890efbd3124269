#include "cli/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupt_seen;
static struct sigaction before;
static bool line_shown;
static double last_shown;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupt_seen = 1;
}

static bool interrupted(void *context) {
    (void)context;
    return interrupt_seen != 0;
}

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void progress(void *context, const char *what, double fraction) {
    (void)context;
    double now = seconds_now();
    if (now - last_shown < 0.1)
        return;
    last_shown = now;
    line_shown = true;
    (void)fprintf(stderr, "\r\033[K%s %3.0f %%", what, 100 * fraction);
    (void)fflush(stderr);
}

void tc_terminal_begin(tc_monitor *monitor) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)SA_RESETHAND; /* the second Ctrl-C meets the default */
    interrupt_seen = 0;
    line_shown = false;
    last_shown = seconds_now(); /* work that is done in a moment shows nothing */
    (void)sigaction(SIGINT, &action, &before);
    *monitor = (tc_monitor){.interrupted = interrupted, .progress = isatty(STDERR_FILENO) ? progress : NULL};
}

void tc_terminal_end(void) {
    (void)sigaction(SIGINT, &before, NULL);
    if (line_shown)
        (void)fputs("\r\033[K", stderr);
}
