/* The agents' side of a run: one connection to the cloud, and on it one agent or several (a gateway). Whoever owns it
 * polls tc_agent_descriptor for what tc_agent_wants, and calls tc_agent_advance; nothing else happens by itself. There
 * are no threads, no signals and no global state.
 *
 *     connecting -> running: hello, welcome, enrolment; then for each round state, answer, step, save
 *     running or connecting -> pausing -> connecting      after 0.2 s, doubling to 30 s, a quarter more or less; from
 *                                                         0.2 s again after an answer, or a second of being enrolled
 *     any -> over: done, diverged, no Slater point, refused, failed
 *
 * What an agent has promised itself (docs/protocol.md, the agent's rules): x(k+1) and that round k was answered are in
 * its file before state k+1 leaves; an epoch is in its file before a state leaves for it; a cloud of an earlier epoch,
 * or one that asks for a round that was answered, gets no state; an answer is taken once. */
#ifndef TC_NET_AGENT_H
#define TC_NET_AGENT_H

#include "base/buffer.h"
#include "net/agent/agent_steps.h"

typedef struct tc_agent tc_agent;

/* How it stands with the connection and its agents, or with one of them. Those after PAUSING are final. */
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

typedef struct tc_agent_settings { /* all texts and arrays stay the caller's, for as long as the agent lives */
    const char *cloud;             /* "host:port" */
    const char *keys;              /* folder; NULL: in plain text, to loopback addresses alone */
    const char *state;             /* folder of the state files */
    const char *software;          /* what the hello says; NULL: "tacit" */
    const unsigned char *plan;     /* hash of the only plan to take part in: 32 bytes; NULL: any */
    bool survives_power;
    bool new_run; /* one run other than that of the state files is begun anew, a damaged file put aside */
    const tc_agent_steps *agents;
    size_t count;                     /* at most TC_MOST_SLOTS */
    unsigned least_pause, most_pause; /* milliseconds; 0: 200 and 30,000 */
    unsigned open_milliseconds;       /* for connection, handshake and welcome each; 0: 10,000 */
    unsigned settled_milliseconds;    /* a connection that held as long since it enrolled was none in vain; 0: 1,000 */
    /* Told of every x(round) before it is saved, x(1) and the last one included; after a crash the last one may be told
     * twice, the same. NULL: nobody. */
    void (*moved)(void *context, size_t agent, uint64_t round, const double *x);
    void *context;
} tc_agent_settings;

/* Opens state files and keys; nothing is sent. TC_BAD_USAGE, TC_CANNOT_READ, TC_CANNOT_WRITE with a message. An agent
 * whose run ended before is done at once and asks no cloud, unless a new run is wished for (was_over below). What it
 * holds is given back with the arena, after tc_agent_leave where the cloud should know. */
tc_status tc_agent_new(tc_arena *arena, const tc_agent_settings *settings, tc_buffer *messages,
                       tc_agent **agent) TC_MUST_USE;

/* Does what can be done now, and never waits but for the disk and the agents' own steps (and a host's name,
 * agent_link.h). */
tc_agent_condition tc_agent_advance(tc_agent *agent);
/* Says good-bye, as far as the network takes it at once, and closes. */
void tc_agent_leave(tc_agent *agent);

int tc_agent_descriptor(const tc_agent *agent); /* -1 while there is none */
typedef struct tc_agent_wish {
    bool read, write;
    int milliseconds; /* -1: until the descriptor is ready */
} tc_agent_wish;
tc_agent_wish tc_agent_wants(const tc_agent *agent);

tc_agent_condition tc_agent_how(const tc_agent *agent);
/* Why it pauses or is over, or what it waits for; one line. Good until the next call. */
const char *tc_agent_message(const tc_agent *agent);

/* How many agents are over and not done: it only grows. */
size_t tc_agent_lost(const tc_agent *agent);

/* How often an agent was found to have begun without its memory, or to have its first state outside of the public box,
 * which its owner should hear of while it runs: it only grows. */
size_t tc_agent_oddities(const tc_agent *agent);

typedef struct tc_agent_view { /* of one agent; good until the next call */
    const char *name;
    size_t states;
    tc_agent_condition how;    /* that of the connection, or final */
    const char *message;       /* "" unless how is final and not done */
    uint64_t answered, rounds; /* rounds 0: not known yet */
    unsigned method;           /* of tc_wire_method; 0: not known yet */
    const double *x;           /* x(answered + 1) */
    const double *answer;      /* the average in the method `tacit`, else x */
    uint64_t clamped, held;    /* rounds, since the start of the process, of which the cloud says so */
    const char *path;          /* of its state file */
    const char *run;           /* 32 hexadecimal digits; NULL: not known yet */
    bool was_over;             /* the run had ended before this process began */
    /* 1, or the round with which this agent began without a memory of those before; the answer is of rounds from there
     * on. Good once rounds is known. */
    uint64_t first_round;
} tc_agent_view;
static inline uint64_t tc_agent_rounds_answered(const tc_agent_view *view) {
    return view->answered >= view->first_round ? view->answered - view->first_round + 1 : 0;
}
tc_agent_view tc_agent_look(const tc_agent *agent, size_t i);

#endif
