/* The connection's struct and its agents, shared by agent.c and exchange.c. */
#ifndef TC_NET_AGENT_SLOT_H
#define TC_NET_AGENT_SLOT_H

#include "net/agent/agent.h"
#include "net/agent/kept.h"
#include "net/agent/link.h"
#include "net/agent/state_file.h"

enum { TC_AGENT_TEXT = 400, TC_AGENT_SLOT_TEXT = 300 };

typedef struct tc_agent_slot {
    tc_agent_steps steps; /* in use: of the run's first round */
    tc_agent_steps today; /* of the file as it was at this start */
    bool is_changed;      /* the two differ */
    bool is_kept;         /* the run's problem is in its file beside the state file */
    size_t number;
    tc_state_file *file;
    tc_agent_record record;
    bool is_current; /* the cloud has confirmed that the record's run is its own */
    bool is_saved;   /* the state file holds the record as it is */
    bool was_over;   /* the record's run was over before this process began */
    tc_slater_answer slater;
    tc_agent_condition how;      /* RUNNING, or final */
    char *why;                   /* TC_AGENT_SLOT_TEXT; empty while it runs */
    char run[2 * TC_RUN_ID + 1]; /* the record's run, in hexadecimal digits; empty: none yet */
    double *used;                /* the state that the cloud used in the last round answered to this process */
    bool has_used;
    bool is_known_odd; /* its lost state file is counted in oddities */
    unsigned replaced; /* how often a newer connection has taken over */
    uint64_t again_at; /* before then it does not enrol; 0: at once */
    /* Of this connection: */
    bool is_stale; /* the cloud's epoch is older than one this agent has served */
    bool is_enrolled;
    int exponent;
    uint64_t clamped, held;
} tc_agent_slot;

struct tc_agent {
    tc_agent_settings settings;
    tc_agent_link *link;
    tc_agent_condition how;
    bool said_hello, is_welcome;
    tc_welcome welcome;
    uint64_t deadline;    /* end of the pause, or of the wait for the welcome; 0 for none */
    unsigned tries;       /* pauses since the last connection that worked */
    size_t cloud;         /* number of the address in use, or to try next */
    size_t last_cloud;    /* that of the connection before, which the message of a pause is about */
    size_t first_cloud;   /* where a pass over the addresses begins: the one that last worked */
    size_t stale_clouds;  /* addresses of this pass whose clouds were stale */
    uint64_t enrolled_at; /* when this connection's first agent enrolled; 0: not yet */
    bool has_answered;    /* this connection brought an answer */
    bool is_stale;        /* this connection's cloud is stale, for one of the agents */
    uint64_t again_at;    /* of an open connection: when one of its agents enrols again; 0: none waits */
    size_t lost;          /* agents that ended without finishing */
    size_t oddities;
    bool may_go_on; /* frames are left for the next call */
    tc_agent_slot *slots;
    double *p, *next, *next_average;
    int64_t *units;
    char message[TC_AGENT_TEXT];
};

/* ---- exchange.c ---- */

void tc_agent_say_hello(tc_agent *agent);
/* Enrols those who need not wait; late: those alone who have waited. */
void tc_agent_say_enrol(tc_agent *agent, bool late);
void tc_agent_say_leave(tc_agent *agent, uint32_t slot);
void tc_agent_hear(tc_agent *agent, const tc_frame *frame);

/* ---- agent.c ---- */

/* Ends the connection. The next one goes to the next address at once, or after a pause if all were tried. */
void tc_agent_pause(tc_agent *agent, const char *format, ...) TC_PRINTF(2, 3);
/* When the first agent may enrol at a new connection; 0: at once. */
uint64_t tc_agent_next_enrol(const tc_agent *agent);
/* Ends one agent; after the last one the connection ends. */
void tc_agent_finish(tc_agent *agent, tc_agent_slot *slot, tc_agent_condition how, const char *format, ...)
    TC_PRINTF(4, 5);
/* This connection's cloud is stale: it has seen less of the run than the agent, or runs another. That ends the agent if
 * the clouds at all other addresses were stale too; else the next address is tried. */
void tc_agent_meet_stale(tc_agent *agent, tc_agent_slot *slot, const char *format, ...) TC_PRINTF(3, 4);
/* Makes it an agent that has seen nothing yet. False: it has no start. */
bool tc_agent_reset(tc_agent_slot *slot);
/* Writes the state file, and before the run's first one the problem that it is of. False: errno says why. */
bool tc_agent_save(tc_agent_slot *slot) TC_MUST_USE;
void tc_agent_into_box(const tc_agent_slot *slot, double *x);
void tc_agent_name_run(tc_agent_slot *slot); /* fills slot->run */
/* Hands x(1) to settings.moved. */
void tc_agent_tell_start(const tc_agent *agent, const tc_agent_slot *slot);
/* Every round of this run was answered, and the state file says so. */
bool tc_agent_has_all(const tc_agent *agent, const tc_agent_slot *slot);

/* --feasible always: the agent does not know all states that the cloud used of it, and so has no average to send. */
bool tc_agent_lacks_rounds(const tc_agent_slot *slot);

#endif
