#include "cli/shared/cli.h"

#include "base/machine.h"
#include "base/ranks/ranks.h"
#include "base/text.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 80 };

static atomic_int interrupt_seen;  /* lock-free, so a handler may write it and any thread read it */
static struct sigaction before[2]; /* of SIGINT and SIGTERM */
static bool terminate_caught;
static bool line_shown;
static double last_shown;

/* The next signal of either kind ends the program. */
static void on_interrupt(int signal_number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    (void)signal_number;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    if (terminate_caught)
        (void)sigaction(SIGTERM, &action, NULL);
    atomic_store(&interrupt_seen, 1);
}

static bool told_here(void) { return atomic_load_explicit(&interrupt_seen, memory_order_relaxed) != 0; }

/* All ranks say the same. */
static bool interrupted(void *context) {
    (void)context;
    return tc_ranks_told();
}

/* "12,345 rounds/s, 3 s left [########------------]  40 %"; no bar at 0. */
static void write_line(char line[LINE_SIZE], const char *what, double fraction) {
    enum { CELLS = 20 };
    char bar[CELLS + 1];
    double share = fmax(0, fmin(1, fraction)); /* NAN counts as 0 */
    if (!(share > 0)) {
        (void)snprintf(line, LINE_SIZE, "%.70s", what);
        return;
    }
    for (size_t i = 0; i < CELLS; i++)
        bar[i] = (double)(i + 1) <= CELLS * share ? '#' : '-';
    bar[CELLS] = '\0';
    (void)snprintf(line, LINE_SIZE, "%.46s [%s] %3.0f %%", what, bar, 100 * share);
}

/* Of the terminal. A line that fills it would wrap, and could not be cleared. */
static size_t columns(void) {
    struct winsize size;
    const char *said = getenv("COLUMNS");
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    long number = said == NULL ? 0 : strtol(said, NULL, 10);
    return number > 0 && number < LINE_SIZE ? (size_t)number : LINE_SIZE;
}

static void progress(void *context, const char *what, double fraction) {
    (void)context;
    double now = tc_seconds();
    char line[LINE_SIZE];
    if (now - last_shown < 0.1)
        return;
    last_shown = now;
    line_shown = true;
    write_line(line, what, fraction);
    size_t width = columns();
    if (width - 1 < strlen(line))
        line[width - 1] = '\0';
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
}

/* Whether somebody watches a stream. Ranks write into what their launcher made for them, and it passes that on to its
 * own streams: so those are asked. */
bool tc_terminal_is_watched(int stream) {
    char path[64];
    if (!tc_ranks_prints() || tc_ranks_started() == 1)
        return tc_ranks_prints() && isatty(stream) == 1;
    (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), stream);
    int launcher = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK); /* a pipe may have no reader */
    bool is_watched = launcher >= 0 && isatty(launcher) == 1;
    if (launcher >= 0)
        (void)close(launcher);
    return is_watched;
}

void tc_terminal_begin(tc_monitor *monitor) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    atomic_store(&interrupt_seen, 0);
    tc_ranks_watch(told_here);
    line_shown = false;
    last_shown = tc_seconds(); /* short work shows nothing */
    terminate_caught = false;
    if (tc_ranks_several()) /* a rank that a signal ends at its start ends the others without a word */
        tc_terminal_catch_terminate();
    (void)sigaction(SIGINT, &action, &before[0]);
    /* Neither a reader that is gone nor a file at its limit may end the program before traces and ledgers are whole. */
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGXFSZ, &action, NULL);
    bool shows = tc_terminal_is_watched(STDERR_FILENO);
    *monitor = (tc_monitor){.interrupted = interrupted, .progress = shows ? progress : NULL};
}

void tc_terminal_catch_terminate(void) {
    struct sigaction action;
    if (terminate_caught)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    terminate_caught = true;
    (void)sigaction(SIGTERM, &action, &before[1]);
}

void tc_terminal_clear(void) {
    if (!line_shown)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    line_shown = false;
}

/* One line without its end, in lines of at most `width` columns; all but the first are indented. */
static void write_wrapped(const char *line, size_t length, size_t width) {
    enum { INDENT = 2 };
    size_t column = 0;
    for (size_t at = 0; at < length;) {
        size_t blanks = strspn(line + at, " "), word = strcspn(line + at + blanks, " \n");
        size_t wide = tc_text_width(line + at + blanks, word);
        if (column > INDENT && column + blanks + wide > width) {
            (void)fprintf(stderr, "\n%*s", INDENT, "");
            column = INDENT;
            blanks = 0;
            at += strspn(line + at, " ");
        }
        (void)fwrite(line + at, 1, blanks + word, stderr);
        column += blanks + wide;
        at += blanks + word;
    }
}

void tc_terminal_tell(const char *lines) {
    enum { NARROWEST = 30 };
    size_t width = isatty(STDERR_FILENO) ? columns() : 0;
    if (width < NARROWEST) {
        (void)fputs(lines, stderr);
        return;
    }
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        if (lines[0] == ' ')
            (void)fwrite(lines, 1, length, stderr);
        else
            write_wrapped(lines, length, width);
        (void)fputs(lines[length] == '\n' ? "\n" : "", stderr);
        lines += length + (lines[length] == '\n');
    }
}

bool tc_terminal_has_colours(void) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool is_dumb = terminal == NULL || terminal[0] == '\0' || strcmp(terminal, "dumb") == 0;
    return tc_terminal_is_watched(STDOUT_FILENO) && !is_dumb && (refused == NULL || refused[0] == '\0');
}

void tc_terminal_end(void) {
    (void)sigaction(SIGINT, &before[0], NULL);
    if (terminate_caught)
        (void)sigaction(SIGTERM, &before[1], NULL);
    terminate_caught = false;
    tc_terminal_clear();
}

static void on_late(int signal_number) {
    (void)signal_number;
    atomic_store(&interrupt_seen, 1);
}

void tc_terminal_hold(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_late;
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}
