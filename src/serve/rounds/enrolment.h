/* Which agents are enrolled, and by which connections. */
#ifndef TC_SERVE_ROUNDS_ENROLMENT_H
#define TC_SERVE_ROUNDS_ENROLMENT_H

#include "model/model.h"
#include "serve/log.h"
#include "serve/pages/pages.h"
#include "serve/rounds/lane.h"

/* Counts what happens to agents, and logs it: at most a few lines a second, however often clients make it happen. */
typedef struct tc_reporter {
    tc_logbook *log;
    tc_figures *figures;
    double room, filled_at; /* lines that may be written now, and when this was computed */
    uint64_t left_out;
} tc_reporter;

/* Whether one more line may be written; if not, it is counted as left out. */
bool tc_reporter_has_room(tc_reporter *reporter);

void tc_report_agent(tc_reporter *reporter, tc_log_event event, const char *agent);
/* An agent or its message is refused; agent NULL: a connection. Counted, except an agent's no to the Slater point: that
 * is private, and a counter would show it on the pages. The line has the address, the names of the certificate, and
 * `why` if that says more than the code. */
void tc_report_refusal(tc_reporter *reporter, const tc_link *link, const char *agent, tc_refusal_code code,
                       const char *why);
/* A connection ended without a refusal. */
void tc_report_end(tc_reporter *reporter, const tc_link *link, tc_link_end end, const char *why);
/* A client left after the welcome without enrolling. Counted in any case. */
void tc_report_turned_away(tc_reporter *reporter, const tc_link *link, const char *why);
/* Logs how many lines were left out, once there is room. */
void tc_reporter_tick(tc_reporter *reporter);

/* A seat is an agent of the cloud's file; a party is an open connection.
 *
 * A party says hello, then enrols agents that its certificate names, each in a slot of its own choice. An agent has one
 * connection at a time. A newer one takes its seat, at most once a second, so that two rivals do not replace each other
 * in a loop. A party without a seat has some seconds to take one; if there are too many, the oldest is closed.
 *
 * This code reads no state. */

typedef struct tc_party tc_party;

typedef struct tc_seat { /* an agent of the file */
    tc_party *party;     /* NULL: not enrolled */
    uint32_t slot;
    uint32_t family, states;
    size_t member, first_coord, stride; /* component c of its answer is at first_coord + c stride */
    const char *name;
    uint64_t answered; /* as it said when it last enrolled */
    uint64_t taken;    /* the last round whose state came to this process; 0 for none */
    uint64_t said;     /* the last round whose state came on this connection; 0 for none */
    uint64_t again;    /* the last round whose answer was sent again on request; 0 for none */
    uint64_t clamped;  /* the last round whose state lay outside the public box, shown to this agent only; 0 for none */
    uint64_t held;     /* the last round in which its last state was used again; 0 for none */
    double replaced_at;
    double enrolled_at;  /* the first time in the open round */
    unsigned holds;      /* how often the last state was used again */
    bool was_there;      /* enrolled at some time since the start */
    bool said_no;        /* to the Slater point, when it last came; before the first round alone */
    bool is_owed;        /* gets the last answer when its connection has room */
    bool is_waiting;     /* enrolled while agents were asked after a restore; told when rounds begin */
    bool is_told;        /* was sent the run's last answer and the end */
    bool is_sure;        /* confirmed that, by leave or by what it said when it enrolled */
    bool came_for_end;   /* enrolled after the run was over */
    bool is_disbelieved; /* its claims beyond the journal are ignored: --disbelieve */
} tc_seat;

typedef struct tc_party_slot { /* an entry of a party's table, slot -> seat */
    uint32_t slot;
    uint32_t seat; /* number + 1; 0: empty */
} tc_party_slot;

struct tc_party { /* an open connection */
    tc_ring ring; /* in `seated`, `unanswered` or `idle` of its lane; must be first */
    tc_link *link;
    tc_lane *lane;         /* whose thread serves the link */
    time_t deadline;       /* idle: when it is closed */
    uint64_t turn;         /* idle: the order in which parties became so */
    tc_party_slot *places; /* open addressing; at most half full, except a table of one */
    size_t room, count;
    tc_party_slot one; /* the table while there is one agent, as usual */
    size_t bytes;      /* of its answers in a round */
    unsigned strikes;  /* refused or useless messages since the last useful one */
    uint16_t version;  /* of the protocol */
    bool has_greeted, is_owed, is_refused;
    bool has_asked;    /* has sent enrol */
    bool was_replaced; /* lost a slot to a newer connection: states for it may still come */
    bool has_left;     /* has sent leave */
    bool has_end;      /* was told that the run is over */
    double tell_at;    /* not before this time */
};

typedef struct tc_enrolment {
    tc_seat *seats;
    size_t seat_count;
    uint32_t most_states;
    size_t enrolled, seen;        /* agents enrolled now, and at some time since the start */
    size_t idle_count, most_idle; /* parties without an agent, of all lanes */
    uint64_t idle_turns;          /* how often a party became idle */
    unsigned idle_seconds;
    uint32_t *by_name; /* open addressing: number + 1 */
    size_t name_room;
    uint64_t key[2];
    tc_reporter *reporter;
    size_t batch_bytes; /* the largest party.bytes so far */
    bool is_plain;      /* without certificates: any name is accepted */
} tc_enrolment;

typedef struct tc_enrolment_settings {
    const tc_model *model;
    tc_reporter *reporter;
    bool is_plain;
    size_t spare_idle;     /* 0: 4096 */
    unsigned idle_seconds; /* 0: 10 */
} tc_enrolment_settings;

/* TC_NO_RANDOM. Raises on its arena, which has what grows with agents. What grows with connections is malloc's. */
tc_status tc_enrolment_new(tc_arena *arena, const tc_enrolment_settings *settings,
                           tc_enrolment **enrolment) TC_MUST_USE;

/* When a link opens and closes. Opening makes a party, or closes the link. */
void tc_enrolment_opened(tc_enrolment *enrolment, tc_lane *lane, tc_link *link);
void tc_enrolment_closed(tc_enrolment *enrolment, tc_link *link);
/* Closes a lane's idle connections whose time is over. */
void tc_enrolment_tick(tc_enrolment *enrolment, tc_lane *lane);
/* Tells a lane's connections which agents they lost to other lanes' connections, and ends those that were crowded out.
 */
void tc_enrolment_notify(tc_enrolment *enrolment, tc_lane *lane);

/* The agent of this name, or NULL. */
tc_seat *tc_enrolment_named(const tc_enrolment *enrolment, const char *name);
/* The seat that an enrol message asks for, or NULL and why not. Changes nothing. */
tc_seat *tc_enrolment_find(tc_enrolment *enrolment, tc_party *party, const tc_enrol *enrol, tc_refusal_code *code,
                           const char **reason);
/* Takes the seat, also from another connection. False: out of memory, and the link has ended. */
bool tc_enrolment_seat(tc_enrolment *enrolment, tc_party *party, tc_seat *seat, uint32_t slot) TC_MUST_USE;
/* Takes the seat from its connection, which is told that a newer one (on this lane) speaks for the agent. */
void tc_enrolment_replace(tc_enrolment *enrolment, tc_seat *seat, const tc_lane *lane);
/* Gives the seat back. A party without seats becomes idle. */
void tc_enrolment_leave(tc_enrolment *enrolment, tc_seat *seat);

/* The seat of a slot, or NULL. */
tc_seat *tc_party_seat(const tc_enrolment *enrolment, const tc_party *party, uint32_t slot);
/* The seat at entry i < room of its table, or NULL. */
tc_seat *tc_party_at(const tc_enrolment *enrolment, const tc_party *party, size_t i);

/* Refuses a slot's message. After too many of these without a useful one the connection ends. round: 0 for none. */
void tc_party_refuse(tc_enrolment *enrolment, tc_party *party, uint32_t slot, uint64_t round, tc_refusal_code code,
                     const char *reason);
/* Counts a message that was correct but useless. False: there were too many, and the connection has ended. */
bool tc_party_bear(tc_enrolment *enrolment, tc_party *party) TC_MUST_USE;
/* Refuses an enrol message; the log has the name in it. */
void tc_party_refuse_enrol(tc_enrolment *enrolment, tc_party *party, const tc_enrol *enrol, uint64_t round,
                           tc_refusal_code code, const char *reason);
/* Refuses and ends the connection. The party is gone when this returns. */
void tc_party_end(tc_enrolment *enrolment, tc_party *party, tc_refusal_code code, const char *reason);

#endif
