/* An agent of a cloud on the network, for a device's own program.
 *
 *     double x_lower[2] = {0, 0}, x_upper[2] = {4, 4};
 *     tacit_agent_functions functions = {0};
 *     functions.size = sizeof functions;
 *     functions.name = "home[17]";
 *     ... states, bounds, gradient, project
 *     tacit_agent_options options = {0};
 *     options.size = sizeof options;
 *     options.cloud = "10.0.0.1:7575";
 *     options.keys = "keys";
 *     options.state = "state";
 *     if (tacit_agent_open(&options, &functions, 1, &agent, &message) != TACIT_OK)
 *         ...
 *     while (tacit_agent_step(agent) < TACIT_AGENT_DONE) {
 *         int milliseconds, wants = tacit_agent_wants(agent, &milliseconds);
 *         ... poll tacit_agent_descriptor(agent) for wants, milliseconds at most
 *     }
 *     ... tacit_agent_answer(agent, 0)
 *     tacit_agent_close(agent);
 *
 * There are no threads, no global state and no signals here, and nothing is printed. Different tacit_agent objects are
 * independent; use one in one thread at a time. libtacit has all of these functions. libtacit-agent has nothing else,
 * and lacks tacit_agent_open_files. docs/devices.md says more, and examples/device is a complete program. */
#ifndef TACIT_AGENT_H
#define TACIT_AGENT_H

#include <tacit/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection, with one agent on it or several (a gateway). */
typedef struct tacit_agent tacit_agent;

/* The condition of the connection or of one agent. Those from DONE on are final. */
typedef enum tacit_agent_condition {
    TACIT_AGENT_CONNECTING,
    TACIT_AGENT_RUNNING,
    TACIT_AGENT_PAUSING,   /* until the next try to connect */
    TACIT_AGENT_DONE,      /* every round was answered */
    TACIT_AGENT_DIVERGED,  /* numbers ceased to be finite, here or in the cloud, or a function failed */
    TACIT_AGENT_NO_SLATER, /* the public Slater point does not lie in the agent's own set */
    TACIT_AGENT_REFUSED,   /* by the cloud or by the agent, finally */
    TACIT_AGENT_FAILED,    /* the state file cannot be written */
} tacit_agent_condition;

/* "running". Static. */
TACIT_API const char *tacit_agent_condition_text(tacit_agent_condition condition);

/* Set it to zero, then set size: fields of later versions are then zero. All texts are copied. */
typedef struct tacit_agent_options {
    size_t size;            /* sizeof(tacit_agent_options) */
    const char *cloud;      /* "host:port", "[::1]:7575"; several, at most 16, with commas between them */
    const char *keys;       /* the agent's folder of keys, as `tacit keys issue` made it */
    const char *state;      /* a folder for state files, made if missing; private */
    int insecure_plaintext; /* instead of keys, to a loopback address, for tests */
    int survives_power;     /* saves wait for the disk; else they survive a crash of the process only */
    int new_run; /* may join one run that is not the state file's, and put a damaged file aside. Without it an agent
                    whose run is over is DONE at once and does not connect */
    /* Called with every x(round) of agent number `agent`, x(1) and the last included. May be NULL. */
    void (*moved)(void *context, size_t agent, uint64_t round, const double *x);
    void *context; /* of moved; stays the caller's */
    /* The hash of the only plan to accept, 64 hexadecimal digits as `tacit plan --json` and `tacit split` write it. A
     * cloud with another plan gets no state, and the condition is REFUSED. NULL: any plan. */
    const char *plan;
} tacit_agent_options;

/* An agent as functions. Set it to zero, then set size. Texts and numbers are copied; context and functions stay the
 * caller's and must be valid until tacit_agent_close. Functions return 0; anything else is a failure and ends the run
 * for this agent. They must give the same result for the same arguments, and must not call the agent that calls them.
 */
typedef struct tacit_agent_functions {
    size_t size; /* sizeof(tacit_agent_functions); the same for all of an array */
    const char *name;
    size_t states;
    /* The public box, as in the cloud's file: `states` finite numbers each. States sent to the cloud lie within it. */
    const double *lower, *upper;
    const double *start; /* is projected to get x(1); NULL: the point of the box nearest to 0 */
    int slater;          /* the public Slater point, with its room, is in the agent's own set: 1 yes, 2 no; 0: none */
    void *context;
    /* Writes the gradient at x of the agent's objective, which is convex and differentiable. */
    int (*gradient)(void *context, const double *x, double *gradient);
    /* Moves v to the nearest point of the agent's own set, which is convex, closed and within the box. */
    int (*project)(void *context, double *v);
    /* Writes the minimiser, over the agent's own set, of
     *     f(x) + p . x + (regularization/2) |x|^2 + |x - from|^2 / (2 step),
     * which is the agent's step of the method `tacit`. NULL: it is computed from gradient and project, to 1e-10 of the
     * narrowest side of the box. next and from are different arrays. */
    int (*proximal)(void *context, const double *p, double step, double regularization, const double *from,
                    double *next);
    /* The same with a step for each state, in the place of the last term: sum_i (x - from)_i^2 / (2 steps_i). Called
     * where the cloud scales the device's states differently, because its public box is much wider in some than in
     * others, and wherever proximal is NULL. A device with proximal alone does not take part in such a run. May be
     * NULL. */
    int (*proximal_by_state)(void *context, const double *p, const double *steps, double regularization,
                             const double *from, double *next);
} tacit_agent_functions;

/* Opens keys and state files; sends nothing. On success close *agent with tacit_agent_close. On failure *agent is NULL
 * and *message a text of complete lines, to free with tacit_text_free (NULL: out of memory). message may be NULL. A
 * program that calls only this function, not the next, links nothing of the problem language. */
TACIT_API tacit_status tacit_agent_open(const tacit_agent_options *options, const tacit_agent_functions *agents,
                                        size_t count, tacit_agent **agent, char **message);

/* The same for agents' files, as `tacit split` writes them. In libtacit alone: libtacit-agent does not have it. */
TACIT_API tacit_status tacit_agent_open_files(const tacit_agent_options *options, const char *const *paths,
                                              size_t count, tacit_agent **agent, char **message);

/* Tells the cloud that the agents leave, if that can be sent at once. Frees everything. NULL is allowed. */
TACIT_API void tacit_agent_close(tacit_agent *agent);

/* Does what can be done now: sends, receives, calls the agents' functions, saves. It waits only for the disk and, if
 * the cloud's host is a name, for the resolver. */
TACIT_API tacit_agent_condition tacit_agent_step(tacit_agent *agent);

#define TACIT_AGENT_READ 1
#define TACIT_AGENT_WRITE 2

/* What to wait for before the next step: the descriptor is ready for what wants says, or these milliseconds (-1: no
 * limit) have passed. The descriptor changes with each connection; -1: there is none now. An extra step does no harm.
 * milliseconds may be NULL. */
TACIT_API int tacit_agent_descriptor(const tacit_agent *agent);
TACIT_API int tacit_agent_wants(const tacit_agent *agent, int *milliseconds);

/* Why it pauses or is over, or what it waits for: one line without a newline, valid until the next step.
 */
TACIT_API const char *tacit_agent_message(const tacit_agent *agent);

/* Agents are numbered from 0 in the order of tacit_agent_open. An unknown number gives 0, NULL or FAILED. Pointers are
 * valid until the next step. */
TACIT_API size_t tacit_agent_count(const tacit_agent *agent);
TACIT_API const char *tacit_agent_name(const tacit_agent *agent, size_t number);
TACIT_API size_t tacit_agent_states(const tacit_agent *agent, size_t number);
TACIT_API tacit_agent_condition tacit_agent_how(const tacit_agent *agent, size_t number);
TACIT_API uint64_t tacit_agent_round(const tacit_agent *agent, size_t number);  /* the last that was answered */
TACIT_API uint64_t tacit_agent_rounds(const tacit_agent *agent, size_t number); /* of the run; 0: not known yet */
/* The run of the agent or of its state file: 32 hexadecimal digits, as in the cloud's summary and on its status page.
 * NULL: not known yet. */
TACIT_API const char *tacit_agent_run(const tacit_agent *agent, size_t number);
/* 1: that run was over before tacit_agent_open, so the result is an old one. */
TACIT_API int tacit_agent_was_over(const tacit_agent *agent, size_t number);
/* The agent's current state, and its part of the result so far: in the method `tacit` an average over the rounds. */
TACIT_API const double *tacit_agent_x(const tacit_agent *agent, size_t number);
TACIT_API const double *tacit_agent_answer(const tacit_agent *agent, size_t number);
/* 1; or the round in which an agent joined a running run without its state file. Its result is then made from the
 * rounds from there on, and the cloud's figures are not about it. */
TACIT_API uint64_t tacit_agent_first_round(const tacit_agent *agent, size_t number);
/* Rounds since tacit_agent_open in which the state lay outside the public box of the cloud's file, or outside the
 * public set that it has for this agent, and was moved inside. More than 0: the bounds given here are not the cloud's,
 * or a set is missing among the functions, and the cloud's figures are not about this result. */
TACIT_API uint64_t tacit_agent_outside(const tacit_agent *agent, size_t number);

/* 1: the agent is a file, which has changed since the first round of its run, or its data have. The run goes on with
 * what they were then; the change is used from the next run on. */
TACIT_API int tacit_agent_file_changed(const tacit_agent *agent, size_t number);

#ifdef __cplusplus
}
#endif

#endif
