/* What the files of the agent share. */
#ifndef TC_NET_AGENT_PARTS_H
#define TC_NET_AGENT_PARTS_H

#include "net/agent/agent.h"
#include "net/agent/agent_link.h"
#include "net/agent/agent_state.h"

enum { TC_AGENT_TEXT = 400, TC_AGENT_SLOT_TEXT = 300 };

typedef struct tc_agent_slot {
    tc_agent_steps steps;
    size_t number;
    tc_agent_state *file;
    tc_agent_memory memory;
    bool is_current; /* the cloud has said that the memory's run is its own */
    bool is_saved;   /* the file holds the memory as it is */
    bool was_over;   /* every round of the memory's run was answered before this process began */
    tc_slater_answer slater;
    tc_agent_condition how;      /* RUNNING, or final */
    char *why;                   /* TC_AGENT_SLOT_TEXT; empty while it runs */
    char run[2 * TC_RUN_ID + 1]; /* the memory's run, in hexadecimal digits; empty: none yet */
    double *used;                /* the state that the cloud had in the last round that was answered to this process */
    bool has_used;
    bool is_known_odd; /* that it began without its memory is among the oddities */
    /* of this connection */
    bool is_stale; /* the cloud's epoch is behind what this agent has seen */
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
    uint64_t deadline;    /* of the pause, or for the welcome; 0 for none */
    unsigned tries;       /* since the last answer, or since a connection that held */
    uint64_t enrolled_at; /* of this connection, its first agent; 0 for not yet */
    size_t lost;          /* agents that are over and not done */
    size_t oddities;
    bool may_go_on; /* frames were left for the next turn */
    tc_agent_slot *slots;
    double *p, *next, *next_average;
    int64_t *units;
    char message[TC_AGENT_TEXT];
};

/* ---- agent_talk.c: what is said ---- */

void tc_agent_say_hello(tc_agent *agent);
void tc_agent_say_enrol(tc_agent *agent);
/* Saves first where something has changed. */
void tc_agent_say_state(tc_agent *agent, tc_agent_slot *slot);
void tc_agent_say_leave(tc_agent *agent, uint32_t slot);

/* ---- agent_hear.c: what is heard ---- */

void tc_agent_hear(tc_agent *agent, const tc_frame *frame);

/* ---- agent.c: what becomes of it ---- */

/* Ends the connection; another is tried after a pause. */
void tc_agent_pause(tc_agent *agent, const char *format, ...) TC_PRINTF(2, 3);
/* One agent is over; when all are, so is the connection. */
void tc_agent_finish(tc_agent *agent, tc_agent_slot *slot, tc_agent_condition how, const char *format, ...)
    TC_PRINTF(4, 5);
bool tc_agent_reset(tc_agent_slot *slot);
void tc_agent_name_run(tc_agent_slot *slot);
void tc_agent_tell_start(const tc_agent *agent, const tc_agent_slot *slot);
/* Every round of this run was answered, and that is in the file. */
bool tc_agent_has_all(const tc_agent *agent, const tc_agent_slot *slot);

#endif
