/* The agent state file: what an agent goes on from after a restart. A record is the last round whose answer the agent
 * has used, and the state x after it, as bytes:
 *
 *     0    8 bytes  "tacitag1"
 *     8    u64      number of saves: of two good records the higher counts
 *     16   16       the run
 *     32   32       the plan's hash
 *     64   u64, 16  the highest epoch to which a state was sent, 0 for none
 *     88   u64      the last round whose answer was used
 *     96   u64      rounds of the run, 0 before the first enrolment
 *     104  u32      method, 0 before the first enrolment
 *     108  u32      states
 *     112  u16      length of the name
 *     114  u48      rounds of the run before this agent began without a state file
 *     120  256      the name, padded with zeros
 *     376  states * f64, x; states * f64, its average
 *     then 32       SHA-256 of everything before
 *
 * Numbers are little-endian. x and the average are private. */
#ifndef TC_NET_AGENT_STATE_FILE_H
#define TC_NET_AGENT_STATE_FILE_H

#include "base/arena.h"
#include "net/message.h"

enum { TC_AGENT_DIGEST = 32 };

typedef struct tc_agent_record {
    uint64_t saves;
    unsigned char run_id[TC_RUN_ID], plan_hash[TC_HASH];
    tc_epoch epoch;
    uint64_t answered, rounds;
    uint64_t unknown; /* in rounds 1 .. unknown the agent's state is not known: its state file was lost */
    unsigned method;  /* of tc_wire_method, or 0 */
    double *x;        /* x(answered + 1) */
    double *average;  /* of x(unknown + 1) .. x(answered), weighted: the result in the method `tacit`; after a move the
                         moved one */
} tc_agent_record;

size_t tc_agent_record_size(size_t states);

/* Without the digest. */
void tc_agent_record_encode(const tc_agent_record *record, const char *name, size_t states, unsigned char *bytes);

#define TC_RECORD_FINDINGS(X)                                                                                          \
    X(TC_RECORD_GOOD, "good")                                                                                          \
    X(TC_RECORD_DAMAGED, "damaged")                                                                                    \
    X(TC_RECORD_ANOTHER, "another agent's")                                                                            \
    X(TC_RECORD_LENGTH, "of an agent with another number of states")
typedef enum tc_record_finding {
#define X(code, text) code,
    TC_RECORD_FINDINGS(X)
#undef X
} tc_record_finding;

/* Checks everything but the digest. x and average have room for `states` numbers. Encoding a GOOD record gives the same
 * bytes again. */
tc_record_finding tc_agent_record_decode(const unsigned char *bytes, size_t size, const char *name, size_t states,
                                         tc_agent_record *record) TC_MUST_USE;

/* ---- The file: FOLDER/NAME.state, mode 0600, locked by one process ----
 *
 * It has room for two records, written in turn, on different blocks of 4 KiB. So an interrupted write damages one
 * record at most. The newer good record counts. */

typedef struct tc_state_file tc_state_file;

typedef struct tc_state_file_settings {
    const char *folder; /* made with mode 0700 if missing */
    const char *name;   /* both stay the caller's */
    size_t states;
    bool survives_power; /* each save waits for the disk; else saves survive a crash of the process only */
    bool may_replace;    /* a file without a good record is moved aside and a new one made */
} tc_state_file_settings;

/* Opens the file and reads it into *record, or makes a file that holds *record. The record's arrays have room for
 * `states` numbers and stay the caller's. With a message: TC_BAD_USAGE if the file is another agent's or has another
 * number of states; TC_CANNOT_READ if it is damaged, locked by another process, or unreadable; TC_CANNOT_WRITE. The
 * arena closes it. */
tc_status tc_state_file_open(tc_arena *arena, const tc_state_file_settings *settings, tc_buffer *messages,
                             tc_agent_record *record, tc_state_file **state) TC_MUST_USE;

/* Increases record->saves and writes. False: errno says why, and the record before is still in the file. Does not
 * allocate. */
bool tc_state_file_save(tc_state_file *state, tc_agent_record *record) TC_MUST_USE;

/* Of the problem that is kept for the run (kept.h). */
const char *tc_state_file_problem(const tc_state_file *state);
const char *tc_state_file_path(const tc_state_file *state);

#endif
