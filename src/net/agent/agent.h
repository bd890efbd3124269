/* The agents' side of a run: one connection to the cloud with one agent or several (a gateway). The owner polls
 * tc_agent_descriptor for what tc_agent_wants, then calls tc_agent_advance. There are no threads, no signals and no
 * global state.
 *
 *     connecting -> running: hello, welcome, enrolment; then for each round state, answer, step, save
 *     running or connecting -> pausing -> connecting      0.2 s, doubled each time up to 30 s, +- 25 %
 *     any -> over: done, diverged, no Slater point, refused, failed
 *
 * A connection works if it brings an answer, or lasts for 1 s after enrolment. The pause is 0.2 s again after one that
 * worked. A cloud may have several addresses. Each is tried once, without a pause between them, in the order of the
 * list, beginning with the one that last worked and going round. Then comes the pause.
 *
 * The agent's rules (docs/protocol.md): it saves x(k+1) and that round k was answered before it sends state k+1. It
 * saves an epoch before it sends a state to it. It sends no state to a cloud of an earlier epoch, or for a round that
 * was answered. It uses an answer once. */
#ifndef TC_NET_AGENT_AGENT_H
#define TC_NET_AGENT_AGENT_H

#include "base/arena.h"
#include "base/status.h"
#include "net/message.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- An agent's half of a run ----
 *
 * As the network side sees it: where it starts, whether the public Slater point lies in its set, and its step.
 * compiled.c makes it from an agent's file, callbacks.c from functions of a device's maker. A program that uses only
 * the latter links neither the language nor the engine. */

typedef struct tc_agent_answer { /* of one round */
    tc_wire_method method;
    double step, regularization; /* step: of states whose scale is 0 */
    const double *p;
} tc_agent_answer;

typedef enum tc_agent_stepped {
    TC_STEPPED,
    TC_STEP_NOT_FINITE,
    TC_STEP_FAILED, /* a function of the device's maker reported an error */
} tc_agent_stepped;

typedef struct tc_agent_steps {
    const char *name;            /* 1 to TC_MOST_NAME bytes */
    size_t states;               /* 1 to TC_MOST_STATES */
    const double *lower, *upper; /* the public box, into which states are moved; NULL: none */
    bool has_kinks;              /* the objective: method published is refused */
    void *context;
    /* x(1). False: there is none. */
    bool (*start)(void *context, double *x);
    tc_slater_answer (*check_slater)(void *context);
    /* Whether p lies in the agent's own set: the point that a run's last answer moves the result to. */
    bool (*holds)(void *context, const double *p);
    /* Before the first step: by state, its step is 4^scale times the answer's; NULL: all scales are 0. Returns NULL, or
     * why it cannot. */
    const char *(*scale)(void *context, const int8_t *scales);
    /* x(k+1) from x(k), into next, which is not x. next is valid after TC_STEPPED only. Must not allocate or raise. */
    tc_agent_stepped (*step)(void *context, const tc_agent_answer *answer, const double *x, double *next);
    /* The steps were made of these bytes, which stand behind TC_KEPT_HEADER bytes of room (kept.h); a run continues
     * with those of its first round. NULL: the steps are functions, and nothing can be kept. */
    unsigned char *problem;
    size_t problem_size;
    tc_status (*make_again)(tc_arena *arena, const char *path, const unsigned char *problem, size_t size,
                            tc_buffer *messages, struct tc_agent_steps *steps);
} tc_agent_steps;

enum { TC_MOST_STATES = TC_FRAME_MOST_BODY / 8 - 2 }; /* that fit into an answer */

/* An agent's file, as `tacit split` writes it. *steps lives as long as the arena. TC_BAD_USAGE, TC_BAD_PROBLEM,
 * TC_CANNOT_READ with messages. */
tc_status tc_agent_compile(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                           tc_agent_steps *steps) TC_MUST_USE;

typedef struct tc_agent_functions { /* each returns false on failure */
    void *context;
    bool (*gradient)(void *context, const double *x, double *gradient);
    bool (*project)(void *context, double *v);
} tc_agent_functions;

/* An agent made of a few functions. */
typedef struct tc_agent_callbacks { /* texts and arrays stay the caller's and must outlive the agent */
    const char *name;
    size_t states;
    const double *lower, *upper; /* the public box: finite, lower < upper */
    const double *start;         /* is projected to get x(1); NULL: the point of the box nearest to 0 */
    tc_slater_answer slater;
    tc_agent_functions functions;
    /* Optional: the device's own minimiser, instead of the one in callbacks.c. */
    bool (*proximal)(void *context, const double *p, double step, double regularization, const double *from,
                     double *next);
    /* Optional: the same with a step for each state. */
    bool (*proximal_by_state)(void *context, const double *p, const double *steps, double regularization,
                              const double *from, double *next);
} tc_agent_callbacks;

/* TC_BAD_USAGE with a message if something is missing or not finite. *steps lives as long as the arena. */
tc_status tc_agent_call(tc_arena *arena, const tc_agent_callbacks *callbacks, tc_buffer *messages,
                        tc_agent_steps *steps) TC_MUST_USE;

/* ---- A connection with its agents ---- */

typedef struct tc_agent tc_agent;

/* Of the connection with all its agents, or of one agent. Those after PAUSING are final. */
#define TC_AGENT_STATES(X)                                                                                             \
    X(TC_AGENT_CONNECTING, "connecting")                                                                               \
    X(TC_AGENT_RUNNING, "running")                                                                                     \
    X(TC_AGENT_PAUSING, "pausing")           /* until the next try to connect */                                       \
    X(TC_AGENT_DONE, "done")                 /* every round was answered */                                            \
    X(TC_AGENT_DIVERGED, "diverged")         /* numbers ceased to be finite, here or in the cloud */                   \
    X(TC_AGENT_NO_SLATER, "no Slater point") /* the public point does not lie in the agent's own set */                \
    X(TC_AGENT_REFUSED, "refused")           /* by the cloud, or by the agent, for good */                             \
    X(TC_AGENT_FAILED, "failed")             /* the state file cannot be written, or memory is out */
typedef enum tc_agent_condition {
#define X(code, name) code,
    TC_AGENT_STATES(X)
#undef X
} tc_agent_condition;
const char *tc_agent_condition_name(tc_agent_condition condition);
static inline bool tc_agent_is_over(tc_agent_condition condition) { return condition >= TC_AGENT_DONE; }

typedef struct tc_agent_settings { /* texts and arrays stay the caller's and must outlive the agent */
    const char *cloud;             /* "host:port", or several with commas between them */
    const char *keys;              /* folder; NULL: plain text, to loopback addresses only */
    const char *state;             /* folder of the state files */
    const char *software;          /* what the hello says; NULL: "tacit" */
    const unsigned char *plan;     /* 32 bytes: hash of the only plan to accept; NULL: any */
    bool survives_power;
    bool new_run; /* may join one run other than the state files', and put a damaged file aside */
    const tc_agent_steps *agents;
    size_t count;                     /* at most TC_MOST_SLOTS */
    unsigned least_pause, most_pause; /* milliseconds; 0: 200 and 30,000 */
    unsigned open_milliseconds;       /* for connecting, the handshake and the welcome each; 0: 10,000 */
    unsigned settled_milliseconds;    /* a connection that lasts this long after enrolment resets the pause; 0: 1,000 */
    unsigned replaced_milliseconds;   /* how long an agent that was replaced stays away; 0: 60,000 */
    /* Called with every x(round), x(1) and the last included, before it is saved. After a crash the last one may come
     * twice with the same numbers. May be NULL. */
    void (*moved)(void *context, size_t agent, uint64_t round, const double *x);
    void *context;
} tc_agent_settings;

/* Opens state files and keys; sends nothing. TC_BAD_USAGE, TC_CANNOT_READ, TC_CANNOT_WRITE with a message. An agent
 * whose run is over is done at once and does not connect, unless new_run (see was_over below). The arena closes
 * everything; call tc_agent_leave before if the cloud should know. */
tc_status tc_agent_new(tc_arena *arena, const tc_agent_settings *settings, tc_buffer *messages,
                       tc_agent **agent) TC_MUST_USE;

/* Does what can be done now. Waits only for the disk, the agents' own steps and the resolver (link.h). */
tc_agent_condition tc_agent_advance(tc_agent *agent);
/* Reads the keys again, and connects anew with them at once. False: why they cannot be used; nothing has changed. */
enum { TC_AGENT_WHY = 240 };
bool tc_agent_renew(tc_agent *agent, char why[TC_AGENT_WHY]) TC_MUST_USE;
/* Tells the cloud that it leaves, if that can be sent at once, and closes. */
void tc_agent_leave(tc_agent *agent);

int tc_agent_descriptor(const tc_agent *agent); /* -1 while there is none */
typedef struct tc_agent_wish {
    bool read, write;
    int milliseconds; /* -1: until the descriptor is ready */
} tc_agent_wish;
tc_agent_wish tc_agent_wants(const tc_agent *agent);

tc_agent_condition tc_agent_how(const tc_agent *agent);
/* Why it pauses or is over, or what it waits for, in one line. Valid until the next call. */
const char *tc_agent_message(const tc_agent *agent);

/* While it pauses: the number of the address that the message is about, and the address that is tried next (NULL: the
 * same one). */
typedef struct tc_agent_attempt {
    size_t cloud; /* below TC_MOST_ADDRESSES */
    const char *next;
} tc_agent_attempt;
tc_agent_attempt tc_agent_last_attempt(const tc_agent *agent);

/* Agents that ended without finishing; never decreases. */
size_t tc_agent_lost(const tc_agent *agent);

/* How often the owner should be warned: an agent began without its state file, its state was moved into the public box
 * for the first time, or a newer connection took over and the agent will try again. Never decreases. */
size_t tc_agent_oddities(const tc_agent *agent);

enum { TC_AGENT_MOST_REPLACED = 3 }; /* the take-over that ends an agent */

typedef struct tc_agent_view { /* of one agent; valid until the next call */
    const char *name;
    size_t states;
    tc_agent_condition how;    /* the connection's, or final */
    const char *message;       /* "" unless how is final and not done */
    uint64_t answered, rounds; /* rounds 0: not known yet */
    unsigned method;           /* of tc_wire_method; 0: not known yet */
    const double *x;           /* x(answered + 1) */
    const double *result;      /* the average in the method `tacit`, moved at the end where the run says so; else x */
    uint64_t clamped, held;    /* rounds of this process that the cloud flagged so */
    const char *path;          /* of its state file */
    const char *run;           /* 32 hexadecimal digits; NULL: not known yet */
    unsigned replaced;         /* how often a newer connection took over from this process */
    bool is_changed;           /* its file is not that of the run's first round, which is used instead */
    bool was_over;             /* the run was over before this process began */
    bool certain;              /* --feasible always: the result is the moved average of all rounds */
    /* 1, or the round in which this agent began after its state file was lost; the result is of rounds from there on.
     * Valid once rounds is known. */
    uint64_t first_round;
} tc_agent_view;
static inline uint64_t tc_agent_rounds_answered(const tc_agent_view *view) {
    return view->answered >= view->first_round ? view->answered - view->first_round + 1 : 0;
}
tc_agent_view tc_agent_look(const tc_agent *agent, size_t i);

#endif
