/* What happens to agents, counted and told to the operator's log: as often as anybody may make it happen, the log grows
 * by a few lines a second at most, and says how many it left out. */
#ifndef TC_SERVE_ROUNDS_ENROLMENT_H
#define TC_SERVE_ROUNDS_ENROLMENT_H

#include "model/model.h"
#include "serve/clock.h"
#include "serve/link/links.h"
#include "serve/log.h"
#include "serve/pages/figures.h"

typedef struct tc_reporter {
    tc_logbook *log;
    tc_figures *figures;
    double room, filled_at; /* lines that may be written now, and when that was reckoned */
    uint64_t left_out;
} tc_reporter;

/* Whether there is room for one more line; counted as left out where there is not. */
bool tc_reporter_has_room(tc_reporter *reporter);

void tc_report_agent(tc_reporter *reporter, tc_log_event event, const char *agent);
/* An agent, or what it said, is refused; agent NULL: a connection. Counted, but for what an agent says of the Slater
 * point: that is private, and a counter would show it to readers of the pages. The log has where it comes from and whom
 * its certificate names; and why, where that says more than the code does. */
void tc_report_refusal(tc_reporter *reporter, const tc_link *link, const char *agent, tc_refusal_code code,
                       const char *why);
/* A connection ended by itself. */
void tc_report_end(tc_reporter *reporter, const tc_link *link, tc_link_end end, const char *why);
/* It has heard which run this is, and asked for no seat. Counted in any case. */
void tc_report_turned_away(tc_reporter *reporter, const tc_link *link, const char *why);
/* Tells of lines that were left out, now that there is room. */
void tc_reporter_tick(tc_reporter *reporter);

/* Who is there: a seat for every agent of the cloud's file, and the connections that speak for them.
 *
 * A connection greets, and then enrols agents that its certificate names, each in a slot of its own choice. An agent
 * has one connection at a time: a newer one takes its seat, at most once a second, so that two rivals cannot toss it
 * between them. A connection without a seat has some seconds to take one; of too many such the oldest gives way.
 *
 * Nothing here looks at a state. */

typedef struct tc_party tc_party;

typedef struct tc_seat { /* an agent of the file */
    tc_party *party;     /* NULL: not there */
    uint32_t slot;
    uint32_t family, states;
    size_t member, first_coord, stride; /* component c of its answer is at first_coord + c stride */
    const char *name;
    uint64_t answered; /* what it said when it last enrolled */
    uint64_t taken;    /* the last round whose state has come to this process; 0 for none */
    uint64_t said;     /* the last round whose state this connection has said; 0 for none */
    uint64_t again;    /* the last round whose answer was sent again on demand; 0 for none */
    uint64_t clamped;  /* the last round whose state lay outside the public box, for its own eyes; 0 for none */
    double replaced_at;
    double enrolled_at;  /* where more than once in the open round, for the first time */
    unsigned holds;      /* how often that state has been used again */
    bool was_there;      /* since the start */
    bool said_no;        /* of the Slater point */
    bool is_held;        /* in the open round */
    bool is_owed;        /* the last answer, when its connection has room */
    bool is_told;        /* it has been sent the last answer of the run, and the end */
    bool is_sure;        /* and took leave after that, or says that it has it */
    bool came_for_end;   /* after the run was over */
    bool is_disbelieved; /* where it claims to have seen more than the journal has: a person said so */
} tc_seat;

typedef struct tc_party_slot { /* slot -> seat, in a table of the connection */
    uint32_t slot;
    uint32_t seat; /* number + 1; 0: empty */
} tc_party_slot;

struct tc_party { /* an open connection */
    tc_ring ring; /* among those with a seat, or among the idle; must be first */
    tc_link *link;
    time_t deadline;       /* idle: when it is ended */
    tc_party_slot *places; /* open addressing; never more than half full but for a table of one */
    size_t room, count;
    tc_party_slot one; /* the table of most connections */
    size_t bytes;      /* of all its answers together */
    unsigned strikes;  /* what was refused, or of no use, since it last sent something useful */
    bool has_greeted, is_owed, is_refused;
    bool has_asked;    /* for a seat */
    bool was_replaced; /* in one of its slots: states for it may be on their way */
    bool has_left;     /* it says that it goes */
    bool has_end;      /* it has been told that the run is over */
    double tell_at;    /* when it may be */
};

typedef struct tc_enrolment {
    tc_seat *seats;
    size_t seat_count;
    uint32_t most_states;
    size_t enrolled, seen; /* there now; there at some time since the start */
    tc_ring seated, idle;  /* parties; idle: the oldest first */
    size_t idle_count, most_idle;
    unsigned idle_seconds;
    uint32_t *by_name; /* open addressing: number + 1 */
    size_t name_room;
    uint64_t key[2];
    tc_reporter *reporter;
    size_t batch_bytes; /* the largest party.bytes so far */
    bool is_plain;      /* no certificates: whoever says a name has it */
} tc_enrolment;

typedef struct tc_enrolment_settings {
    const tc_model *model;
    tc_reporter *reporter;
    bool is_plain;
    size_t spare_idle;     /* 0: 4096 */
    unsigned idle_seconds; /* 0: 10 */
} tc_enrolment_settings;

/* TC_NO_RANDOM. Raises on its arena, where all is that grows with agents and not with connections. */
tc_status tc_enrolment_new(tc_arena *arena, const tc_enrolment_settings *settings,
                           tc_enrolment **enrolment) TC_MUST_USE;

/* The owner's part of a link's life. opened gives a party, or ends the link. */
void tc_enrolment_opened(tc_enrolment *enrolment, tc_link *link);
void tc_enrolment_closed(tc_enrolment *enrolment, tc_link *link);
/* Idle connections whose time is over. */
void tc_enrolment_tick(tc_enrolment *enrolment);

/* The agent of this name; NULL where the file names none. */
tc_seat *tc_enrolment_named(const tc_enrolment *enrolment, const char *name);
/* The agent's seat for what an ENROL says, or NULL and why not. Nothing is changed yet. */
tc_seat *tc_enrolment_find(tc_enrolment *enrolment, tc_party *party, const tc_enrol *enrol, tc_refusal_code *code,
                           const char **reason);
/* Takes the seat, from another connection where it has one. False: memory is out, and the link has ended. */
bool tc_enrolment_seat(tc_enrolment *enrolment, tc_party *party, tc_seat *seat, uint32_t slot) TC_MUST_USE;
/* Gives it back. The party is idle where that was its last. */
void tc_enrolment_leave(tc_enrolment *enrolment, tc_seat *seat);

/* The seat of a slot, NULL where there is none. */
tc_seat *tc_party_seat(const tc_enrolment *enrolment, const tc_party *party, uint32_t slot);
/* The i-th place of its table, i < room; NULL where that is empty. */
tc_seat *tc_party_at(const tc_enrolment *enrolment, const tc_party *party, size_t i);

/* Refuses what a slot said, and goes on; ends the connection where that is all it ever hears. round: 0 for none. */
void tc_party_refuse(tc_enrolment *enrolment, tc_party *party, uint32_t slot, uint64_t round, tc_refusal_code code,
                     const char *reason);
/* What it said was good and of no use. False: it was too much of that, and the connection has ended. */
bool tc_party_bear(tc_enrolment *enrolment, tc_party *party) TC_MUST_USE;
/* The same for an agent that wants a seat: the log has the name that it says. */
void tc_party_refuse_enrol(tc_enrolment *enrolment, tc_party *party, const tc_enrol *enrol, uint64_t round,
                           tc_refusal_code code, const char *reason);
/* Refuses the connection, which ends: the party is gone when this returns. */
void tc_party_end(tc_enrolment *enrolment, tc_party *party, tc_refusal_code code, const char *reason);

/* SipHash-2-4: names that somebody chooses do not all fall on one place. */
uint64_t tc_keyed_hash(const uint64_t key[2], const unsigned char *bytes, size_t size);

#endif
