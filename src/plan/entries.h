/* The entries of a release: which numbers the Jacobian of a model has, in which order, and which of them get noise. Two
 * folders are made from this one list: the plan gives each entry its scale and its price, and src/release computes it
 * and adds the noise. Public: it follows from the structure of the constraints alone.
 *
 * The entry of row j, member k of a family and its component c is
 *     J_jck = sum over the family's bodies r of  Phi_{j,r} d body_r / d x_c (x_k)   +   Phi_{j, coordinate (k, c)}.
 * The first part is *shared*: every member has it. The second exists for the few coordinates that constraints name; it
 * is *single*. A single part is folded into a shared entry that gets noise; otherwise it is an entry of its own, and
 * what an agent gets is the sum of the two. An entry that is constant by structure gets no noise, except under the
 * published calibration, where every entry does, structural zeros included. */
#ifndef TC_PLAN_ENTRIES_H
#define TC_PLAN_ENTRIES_H

#include "calculus/derivatives.h"
#include "plan/plan.h"

typedef struct tc_entry_term { /* Phi_{j,r} d body_r / d x_c */
    uint32_t outer;            /* in outer_first */
    uint32_t first;            /* in the family's body_first */
} tc_entry_term;

typedef struct tc_shared_entry {
    uint32_t row, component;
    bool varies; /* by structure */
    bool noised;
    size_t first_term, term_count; /* summed in this order */
} tc_shared_entry;

typedef struct tc_single_entry {
    size_t member;
    uint32_t row, component;
    uint32_t outer; /* in outer_first */
    bool varies;
    bool noised;     /* an entry of its own with noise */
    uint32_t shared; /* the noised shared entry it is folded into; UINT32_MAX for none */
} tc_single_entry;

typedef struct tc_family_entries {
    tc_shared_entry *shared; /* by row, then component */
    size_t shared_count;
    tc_entry_term *terms;
    size_t term_count;
    tc_single_entry *singles; /* by row, component, member */
    size_t single_count;
    size_t first;        /* shared entry e of member k stands at position first + e * count + k ... */
    size_t first_single; /* ... and single entry i at first_single + i (unused where it is folded) */
    bool every_entry;
} tc_family_entries;

typedef struct tc_entries {
    const tc_model *model;
    tc_family_entries *families;
    size_t position_count;
} tc_entries;

/* every_entry: one flag per family, or NULL for none. */
tc_entries *tc_entries_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const bool *every_entry);

/* What one channel's noise is added to, in the order of its addresses. */
typedef enum tc_target { TC_TARGET_CONSTRAINTS, TC_TARGET_JACOBIAN, TC_TARGET_STATES } tc_target;
typedef struct tc_segment { /* entries address .. address + count - 1 are positions position .. of the target */
    tc_target target;
    uint64_t address;
    size_t position, count;
    const tc_channel *channel;
} tc_segment;

/* How many noised entries a channel has, which is what channel->entries must say:
 *   CONSTRAINTS  its rows;   STATES  by component, then member;
 *   JACOBIAN     for each noised shared entry of its rows, its members; then its noised single entries.
 * segments, where not NULL, has room for *segment_count of them. */
uint64_t tc_channel_entries(const tc_entries *entries, const tc_channel *channel, tc_segment *segments,
                            size_t *segment_count);

#endif
