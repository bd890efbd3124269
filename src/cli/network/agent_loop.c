#include "cli/network/network.h"

#include "net/address.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int alarm_pipe[2] = {-1, -1}; /* written by the signal handler */

static const int signals[TC_AGENT_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
static const char HANGUP = 'h';

static void on_signal(int number) {
    int error = errno;
    ssize_t written = write(alarm_pipe[1], number == SIGHUP ? &HANGUP : "", 1);
    (void)written;
    errno = error;
}

bool tc_agent_signals_begin(struct sigaction before[TC_AGENT_SIGNALS]) {
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigemptyset(&action.sa_mask);
    if (pipe(alarm_pipe) != 0)
        return false;
    for (size_t i = 0; i < 2; i++) {
        int flags = fcntl(alarm_pipe[i], F_GETFL);
        (void)fcntl(alarm_pipe[i], F_SETFL, flags | O_NONBLOCK);
        (void)fcntl(alarm_pipe[i], F_SETFD, FD_CLOEXEC);
    }
    for (size_t i = 0; i < TC_AGENT_SIGNALS; i++) {
        action.sa_flags = (int)((unsigned)SA_RESTART | (signals[i] == SIGHUP ? 0U : (unsigned)SA_RESETHAND));
        (void)sigaction(signals[i], &action, &before[i]); /* poll still returns */
    }
    return true;
}

void tc_agent_signals_end(const struct sigaction before[TC_AGENT_SIGNALS]) {
    for (size_t i = 0; i < TC_AGENT_SIGNALS; i++)
        (void)sigaction(signals[i], &before[i], NULL);
    tc_agent_signals_stay();
}

void tc_agent_signals_stay(void) {
    for (size_t i = 0; i < 2; i++) {
        (void)close(alarm_pipe[i]);
        alarm_pipe[i] = -1;
    }
}

typedef struct told_pause { /* by address of the cloud: what was told of it last */
    char text[512];
} told_pause;

/* Reports each change of the connection once. */
static void tell(tc_cli *cli, const tc_agent *agent, told_pause told[TC_MOST_ADDRESSES]) {
    tc_agent_attempt attempt = tc_agent_last_attempt(agent);
    const char *text = tc_agent_message(agent);
    told_pause *last = &told[attempt.cloud];
    if (tc_agent_how(agent) != TC_AGENT_PAUSING || strcmp(last->text, text) == 0)
        return;
    (void)snprintf(last->text, sizeof last->text, "%s", text);
    tc_buffer_printf(&cli->messages, "tacit agent: %s; trying %s\n", text,
                     attempt.next == NULL ? "again" : attempt.next);
    tc_cli_flush(cli);
}

static void show(tc_cli *cli, const tc_agent *agent, size_t count) {
    char what[64];
    uint64_t answered = UINT64_MAX, rounds = 0;
    if (cli->monitor.progress == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        tc_agent_view view = tc_agent_look(agent, i);
        answered = view.answered < answered ? view.answered : answered;
        rounds = view.rounds > rounds ? view.rounds : rounds;
    }
    if (tc_agent_how(agent) == TC_AGENT_RUNNING && rounds > 0)
        (void)snprintf(what, sizeof what, "round %llu of %llu", (unsigned long long)answered,
                       (unsigned long long)rounds);
    else
        (void)snprintf(what, sizeof what, "%s", tc_agent_condition_name(tc_agent_how(agent)));
    tc_progress(&cli->monitor, what, rounds == 0 ? 0 : (double)answered / (double)rounds);
}

/* Which agents ended while others go on; each is told once. */
typedef struct losses {
    bool *told;
    size_t count, seen;
} losses;

static void tell_losses(tc_cli *cli, const tc_agent *agent, losses *l) {
    if (tc_agent_lost(agent) == l->seen)
        return;
    l->seen = tc_agent_lost(agent);
    for (size_t i = 0; i < l->count; i++) {
        tc_agent_view view = tc_agent_look(agent, i);
        if (l->told[i] || view.message[0] == 0)
            continue;
        l->told[i] = true;
        tc_buffer_printf(&cli->messages, "tacit agent: %s: %s; the others go on\n", view.name, view.message);
    }
    tc_cli_flush(cli);
}

/* Facts that an owner should know before the end; each is reported once. */
typedef struct oddities {
    struct told {
        bool beginning, box;
        unsigned replaced;
    } * told;
    size_t count, seen;
} oddities;

static void tell_beginning(tc_cli *cli, const tc_agent_view *view) {
    unsigned long long first = view->first_round, rounds = view->rounds;
    tc_buffer_printf(&cli->messages,
                     "tacit agent: %s: began at round %llu of %llu without its state file: ", view->name, first,
                     rounds);
    if (tc_wire_averages(view->method))
        tc_buffer_printf(&cli->messages, "the result is an average of rounds %llu to %llu only", first, rounds);
    else
        tc_buffer_printf(&cli->messages, "the result is of a path that began there");
    tc_buffer_puts(&cli->messages, "; was the state folder lost, or another one given?\n");
}

static void tell_oddities(tc_cli *cli, const tc_agent *agent, oddities *o) {
    if (tc_agent_oddities(agent) == o->seen)
        return;
    o->seen = tc_agent_oddities(agent);
    for (size_t i = 0; i < o->count; i++) {
        tc_agent_view view = tc_agent_look(agent, i);
        if (view.first_round > 1 && !o->told[i].beginning) {
            o->told[i].beginning = true;
            tell_beginning(cli, &view);
        }
        if (view.replaced > o->told[i].replaced && view.replaced < TC_AGENT_MOST_REPLACED) {
            o->told[i].replaced = view.replaced;
            tc_buffer_printf(
                &cli->messages,
                "tacit agent: %s: a newer connection with its certificate speaks for it; trying again in a "
                "minute (after the third time it ends). If no second process of yours has its keys, "
                "somebody else has them: ask the cloud's operator\n",
                view.name);
        }
        if (view.clamped > 0 && !o->told[i].box) {
            o->told[i].box = true;
            tc_buffer_printf(&cli->messages,
                             "tacit agent: %s: a state lay outside the public box of the cloud's file or outside its "
                             "public set, and was moved: the agent's file seems to have another box or set; are both "
                             "of the same tacit split? Until they are, whoever reads the answers sees in which rounds "
                             "this happens\n",
                             view.name);
        }
    }
    tc_cli_flush(cli);
}

/* Tells the service manager's watchdog in time. Returns how long to wait at most. */
static int look_alive(double seconds, double *next, int milliseconds) {
    double now = tc_serve_now();
    if (seconds <= 0)
        return milliseconds;
    if (now >= *next) {
        tc_notify_alive();
        *next = now + seconds / 3;
    }
    int most = (int)((*next - now) * 1e3) + 1;
    return milliseconds >= 0 && milliseconds < most ? milliseconds : most;
}

/* Signals since the last look. Several hang-ups within a second count as one, at the end of that second, as in the
 * cloud. */
typedef struct alarms {
    bool is_hung_up, must_end;
    double renewed_at;
} alarms;

static void listen_to_alarms(alarms *a) {
    char said;
    while (read(alarm_pipe[0], &said, 1) == 1) {
        a->is_hung_up = a->is_hung_up || said == HANGUP;
        a->must_end = a->must_end || said != HANGUP;
    }
}

/* Returns how long to wait at most. */
static int renew(tc_cli *cli, tc_agent *agent, alarms *a, bool quiet, int milliseconds) {
    char why[TC_AGENT_WHY];
    double now = tc_serve_now(), wait = a->renewed_at > 0 ? a->renewed_at + 1 - now : 0;
    if (!a->is_hung_up)
        return milliseconds;
    if (wait > 0)
        return milliseconds >= 0 && milliseconds < 1e3 * wait ? milliseconds : (int)(1e3 * wait) + 1;
    *a = (alarms){.renewed_at = now};
    tc_notify_reloading();
    bool is_good = tc_agent_renew(agent, why);
    if (!is_good)
        tc_buffer_printf(&cli->messages, "tacit agent: the new keys cannot be used, and the old ones stay in use: %s\n",
                         why);
    else if (!quiet)
        tc_buffer_puts(&cli->messages, "tacit agent: the keys were read again; connecting anew with them\n");
    tc_cli_flush(cli);
    tc_notify_ready(is_good ? NULL : "the new keys cannot be used, and the old ones stay in use");
    return 0;
}

bool tc_agent_drive(tc_cli *cli, tc_agent *agent, size_t count, bool quiet) {
    told_pause *pauses = TC_NEW(cli->arena, told_pause, TC_MOST_ADDRESSES);
    double watchdog = tc_notify_watchdog_seconds(), alive_at = 0;
    losses l = {.told = TC_NEW(cli->arena, bool, count), .count = count};
    oddities o = {.told = TC_NEW(cli->arena, struct told, count), .count = count};
    alarms a = {0};
    while (!tc_agent_is_over(tc_agent_advance(agent))) {
        tell_losses(cli, agent, &l);
        tell_oddities(cli, agent, &o);
        if (!quiet)
            tell(cli, agent, pauses);
        show(cli, agent, count);
        tc_agent_wish wish = tc_agent_wants(agent);
        struct pollfd watched[2] = {{.fd = alarm_pipe[0], .events = POLLIN},
                                    {.fd = tc_agent_descriptor(agent),
                                     .events = (short)((wish.read ? POLLIN : 0) | (wish.write ? POLLOUT : 0))}};
        int wait = look_alive(watchdog, &alive_at, renew(cli, agent, &a, quiet, wish.milliseconds));
        if (poll(watched, watched[1].fd >= 0 ? 2 : 1, wait) > 0 && watched[0].revents != 0)
            listen_to_alarms(&a);
        if (a.must_end)
            return true;
    }
    tell_oddities(cli, agent, &o);
    return false;
}

/* ---- the trace ---- */

#define TRACE_MARK "# tacit states 1: round, agent, its states before that round; private"

static void close_trace(void *what) { (void)fclose(what); }

void tc_agent_trace_row(void *context, size_t agent, uint64_t round, const double *x) {
    tc_agent_tracer *t = context;
    const tc_agent_steps *steps = &t->agents[agent];
    if (t->file == NULL || t->failed)
        return;
    (void)fprintf(t->file, "%llu,%s", (unsigned long long)round, steps->name);
    for (size_t i = 0; i < steps->states; i++)
        (void)fprintf(t->file, ",%.17g", x[i]);
    (void)fputc('\n', t->file);
    t->failed = fflush(t->file) != 0;
    if (!t->failed)
        return;
    tc_buffer_printf(&t->cli->messages,
                     "tacit agent: the trace '%s' cannot be written: %s: the run goes on without it, and this "
                     "program ends with 3\n",
                     t->path, strerror(errno));
    tc_cli_flush(t->cli);
}

/* An existing file must be such a trace. */
static const char *find_wrong_trace(int descriptor) {
    char begin[sizeof TRACE_MARK] = "";
    ssize_t got = pread(descriptor, begin, sizeof TRACE_MARK - 1, 0);
    if (got < 0)
        return strerror(errno);
    return got == 0 || strcmp(begin, TRACE_MARK) == 0 ? NULL : "it is something else than a trace of states";
}

tc_status tc_agent_trace_begin(tc_cli *cli, const char *path, tc_agent_tracer *t) {
    t->cli = cli;
    t->path = path;
    if (path == NULL)
        return TC_OK;
    int descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const char *wrong = descriptor < 0 ? strerror(errno) : find_wrong_trace(descriptor);
    t->file = wrong != NULL ? NULL : fdopen(descriptor, "a");
    if (t->file == NULL) {
        tc_buffer_printf(&cli->messages, "tacit agent: cannot write '%s': %s\n", path,
                         wrong != NULL ? wrong : strerror(errno));
        if (descriptor >= 0)
            (void)close(descriptor);
        return TC_CANNOT_WRITE;
    }
    tc_arena_on_free(cli->arena, close_trace, t->file);
    if (lseek(descriptor, 0, SEEK_END) == 0)
        (void)fprintf(t->file, "%s\n", TRACE_MARK);
    return TC_OK;
}
