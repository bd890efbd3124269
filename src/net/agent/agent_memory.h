/* What an agent must not forget, as bytes: the last round whose answer it has taken, and where it stood then.
 *
 *     0    8 bytes  "tacitag1"
 *     8    u64      how often it was saved before: of two good ones the higher counts
 *     16   16       the run
 *     32   32       the plan's hash
 *     64   u64, 16  the highest epoch that a state was sent to, 0 for none
 *     88   u64      the last round whose answer was taken
 *     96   u64      rounds in all, 0 before the first enrolment
 *     104  u32      method, 0 before the first enrolment
 *     108  u32      states
 *     112  u16      length of the name
 *     114  u48      rounds that the run had before this agent began, without a memory of them
 *     120  256      the name, and zeros
 *     376  states * f64, x; states * f64, its average
 *     then 32       SHA-256 of all before it
 *
 * Numbers are little-endian. x and the average are private. */
#ifndef TC_NET_AGENT_MEMORY_H
#define TC_NET_AGENT_MEMORY_H

#include "net/agent/agent_steps.h"

enum { TC_AGENT_DIGEST = 32 };

typedef struct tc_agent_memory {
    uint64_t saves;
    unsigned char run_id[TC_RUN_ID], plan_hash[TC_HASH];
    tc_epoch epoch;
    uint64_t answered, rounds;
    uint64_t unknown; /* the rounds 1 .. unknown had states that this agent does not know: it began without a memory */
    unsigned method;  /* of tc_wire_method, or 0 */
    double *x;        /* x(answered + 1) */
    double *average;  /* of x(unknown + 1) .. x(answered), weighted: the answer in the method `tacit` */
} tc_agent_memory;

size_t tc_agent_memory_size(size_t states);

/* Without the digest. */
void tc_agent_memory_encode(const tc_agent_memory *memory, const char *name, size_t states, unsigned char *bytes);

#define TC_MEMORY_FINDINGS(X)                                                                                          \
    X(TC_MEMORY_GOOD, "good")                                                                                          \
    X(TC_MEMORY_DAMAGED, "damaged")                                                                                    \
    X(TC_MEMORY_ANOTHER, "another agent's")                                                                            \
    X(TC_MEMORY_LENGTH, "of an agent with another number of states")
typedef enum tc_snapshot_finding {
#define X(code, text) code,
    TC_MEMORY_FINDINGS(X)
#undef X
} tc_snapshot_finding;
const char *tc_snapshot_finding_text(tc_snapshot_finding finding);

/* Everything but the digest is checked, which is the caller's affair. x and average have room for `states` numbers;
 * what is GOOD is encoded again to the same bytes. */
tc_snapshot_finding tc_agent_memory_decode(const unsigned char *bytes, size_t size, const char *name, size_t states,
                                           tc_agent_memory *memory) TC_MUST_USE;

#endif
