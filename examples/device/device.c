/* A device that takes part in a run, with libtacit and a loop of its own.
 *
 *     device HOST:PORT KEYS STATE          for example: device 10.0.0.1:7575 keys/agents/a8 /var/lib/device
 *
 * It is agent a8 of examples/paper.tacit: two states in [-10, 10], with a wish to be at (-7, 0). A real device would
 * get its wish from its sensors and its owner. The wish never leaves the device. */
#include <tacit/agent.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STATES = 2 };

static volatile sig_atomic_t stopped; /* the library does not handle signals */

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

/* What the device wants: f(x) = |x - wish|^2. */
static int gradient(void *context, const double *x, double *out) {
    const double *wish = context;
    for (int i = 0; i < STATES; i++)
        out[i] = 2 * (x[i] - wish[i]);
    return 0;
}

/* What the device can do: here its own set is the whole public box. */
static int project(void *context, double *v) {
    (void)context;
    for (int i = 0; i < STATES; i++)
        v[i] = v[i] < -10 ? -10 : v[i] > 10 ? 10 : v[i];
    return 0;
}

static tacit_agent *open_agent(char **arguments, double *wish) {
    static const double lower[STATES] = {-10, -10}, upper[STATES] = {10, 10};
    tacit_agent_functions functions;
    tacit_agent_options options;
    tacit_agent *agent;
    char *message;

    memset(&functions, 0, sizeof functions);
    functions.size = sizeof functions;
    functions.name = "a8";
    functions.states = STATES;
    functions.lower = lower;
    functions.upper = upper;
    functions.slater = 1; /* the public point, 0, is in the set: the device has checked */
    functions.context = wish;
    functions.gradient = gradient;
    functions.project = project;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.cloud = arguments[0];
    options.keys = arguments[1];
    options.state = arguments[2];

    if (tacit_agent_open(&options, &functions, 1, &agent, &message) == TACIT_OK)
        return agent;
    fprintf(stderr, "device: %s", message == NULL ? "out of memory\n" : message);
    tacit_text_free(message);
    return NULL;
}

/* One turn of a loop that could have other things to wait for as well. */
static void wait_for(const tacit_agent *agent) {
    int milliseconds, wants = tacit_agent_wants(agent, &milliseconds);
    struct pollfd watched;
    watched.fd = tacit_agent_descriptor(agent); /* poll ignores -1 */
    watched.events = (short)((wants & TACIT_AGENT_READ ? POLLIN : 0) | (wants & TACIT_AGENT_WRITE ? POLLOUT : 0));
    if (milliseconds < 0 || milliseconds > 1000)
        milliseconds = 1000; /* a signal just before the wait is noticed after a second */
    poll(&watched, 1, milliseconds);
}

int main(int count, char **arguments) {
    double wish[STATES] = {-7, 0};
    tacit_agent_condition condition = TACIT_AGENT_CONNECTING, before = TACIT_AGENT_RUNNING;
    tacit_agent *agent;

    if (count != 4) {
        fprintf(stderr, "usage: device HOST:PORT KEYS STATE\n");
        return 2;
    }
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    agent = open_agent(arguments + 1, wish);
    if (agent == NULL)
        return 2;

    while (!stopped && (condition = tacit_agent_step(agent)) < TACIT_AGENT_DONE) {
        if (condition != before)
            fprintf(stderr, "device: %s\n", tacit_agent_message(agent));
        before = condition;
        wait_for(agent);
    }

    /* Started again with the same state folder, the device goes on with the same run. */
    printf("%s after round %llu: x = %.17g %.17g\n", stopped ? "stopped" : tacit_agent_condition_text(condition),
           (unsigned long long)tacit_agent_round(agent, 0), tacit_agent_answer(agent, 0)[0],
           tacit_agent_answer(agent, 0)[1]);
    if (tacit_agent_first_round(agent, 0) > 1)
        fprintf(stderr, "device: its state file was lost or another was given: x is of rounds from %llu on\n",
                (unsigned long long)tacit_agent_first_round(agent, 0));
    if (tacit_agent_outside(agent, 0) > 0)
        fprintf(stderr, "device: the bounds here are not those of the cloud's file\n");
    if (!stopped && (condition != TACIT_AGENT_DONE || tacit_agent_was_over(agent, 0)))
        fprintf(stderr, "device: %s\n", tacit_agent_message(agent));
    tacit_agent_close(agent);
    return stopped || condition == TACIT_AGENT_DONE ? 0 : 1;
}
