/* An audit: samples of the release as it is shipped, on adjacent inputs, against what the plan claims.
 *
 * It can only refute. All its tests together raise a false alarm with a probability of at most 1 - confidence, and all
 * lower bounds on epsilon hold together with that confidence. docs/proofs/audit.md. */
#ifndef TC_AUDIT_AUDIT_H
#define TC_AUDIT_AUDIT_H

#include "release/release.h"

typedef struct tc_audit_options {
    uint64_t samples;  /* releases of each of the two worlds, for each system; 0: 20,000, or as many as show half the
                        * noise where that is a matter of seconds */
    double seconds;    /* stop sampling after about so many; 0: never */
    double confidence; /* 0: 0.999999 */
    bool seeded;       /* repeatable noise */
    uint64_t seed;
    void (*say)(void *context, const char *text); /* what samples will leave open, before the first; NULL: to nobody */
    void *context;
} tc_audit_options;

typedef enum tc_audit_verdict {
    TC_NOT_REFUTED,
    TC_REFUTED,
    TC_INCONCLUSIVE, /* too few samples to notice even half the noise, or none */
} tc_audit_verdict;
extern const char *const tc_audit_verdict_names[]; /* "not_refuted", ... */

typedef struct tc_audit_system {
    const char *name; /* a channel's, or "everything"; of a plan with a last round "the rounds" and "the last round" */
    double claimed_epsilon, claimed_delta;
    double lower_bound; /* on epsilon at that delta; 0 where nothing is shown */
    bool refuted;       /* lower_bound > claimed_epsilon, delta_seen > delta_of_bounds, or priced_out */
    double expected;    /* the pair's own price if the noise is as the plan says: epsilon, or gdp for Gaussian noise */
    double amount;      /* the same over the run: where the unit is an agent, the inputs may differ in every round */
    double price;       /* amount as an epsilon at the claimed delta */
    bool priced_out;    /* the exact price, or delta, is more than claimed: that refutes, whatever the samples show */
    /* Of a last round; infinite and 0 elsewhere. Noise with bounds can release what the other input cannot: with a
     * probability that is claimed, that the two inputs have at least, and that samples show to be at least this. */
    bool has_bounds;
    double delta_of_bounds, exact_delta_of_bounds, delta_seen;
    tc_audit_verdict verdict; /* of the samples alone */
    const char *pair;         /* the two inputs, in words */
    const char *event;        /* what told them apart best; NULL for nothing */
    uint64_t samples[2];
    uint64_t needed; /* samples of each input that it takes to refute half the noise; 0: there were enough, or no
                        number suffices */
    bool left_out;   /* time or an interrupt ended the audit before its first sample */
} tc_audit_system;

typedef struct tc_audit_fault { /* a contradiction that is not a bound on epsilon from samples */
    const char *kind;           /* "lattice", "support", "bounds", "reuse", "noise" (too small), "law", "dependence",
                                 * "first round", "public set", "sources" */
    const char *text;
} tc_audit_fault;
enum { TC_AUDIT_FAULTS = 64 }; /* at most: those beyond are not listed */

/* What was tested, each with a verdict of its own. A point that half the noise could not have refuted is never "not
 * refuted". */
typedef struct tc_audit_point {
    const char *name; /* "price", "samples", "noise", "independence", "first round", "public set" (where the
                       * plan relies on one), "last round" (where it has one), "end to end" */
    tc_audit_verdict verdict;
    const char *why; /* of one that is inconclusive; NULL otherwise */
} tc_audit_point;
enum { TC_AUDIT_POINTS = 8 };

/* Two worlds that release the same numbers, and all else that leaves the cloud in them (src/worlds). */
typedef struct tc_end_to_end {
    bool equal;
    const char **differs_in; /* where they differ */
    size_t differ_count;
    const char **exceptions; /* what was not compared */
    size_t exception_count;
    uint64_t bytes;       /* that were compared, and agree */
    const char *untested; /* why not all of it was compared; NULL otherwise */
} tc_end_to_end;

typedef struct tc_audit {
    tc_arena *arena;
    const tc_plan *plan;
    tc_audit_system *systems;
    size_t system_count;
    tc_audit_fault *faults;
    size_t fault_count;
    tc_audit_point points[TC_AUDIT_POINTS];
    size_t point_count; /* 0 if decided without a sample */
    bool refuted;
    tc_audit_verdict verdict;
    const char *inconclusive_because; /* NULL for other verdicts */
    bool seeded;                      /* noise from a seed: the audit is a simulation */
    bool is_private;                  /* the plan calls itself private, and its noise is from no seed */
    const tc_end_to_end *end_to_end;  /* NULL: not asked for */
    double confidence;
    double seconds;
    const char **notes; /* what was left out, what cannot be seen */
    size_t note_count;
    bool interrupted;
} tc_audit;

/* How many samples there are of each input. */
static inline uint64_t tc_audit_samples(const tc_audit_system *system) {
    return system->samples[0] < system->samples[1] ? system->samples[0] : system->samples[1];
}

/* A plan that promises or releases nothing is inconclusive; one that would release a number without noise is refuted:
 * neither has systems. analysis may be NULL: then there are no witnesses. Raises on its arena. */
tc_status tc_audit_run(tc_arena *arena, const tc_plan *plan, const tc_analysis *analysis,
                       const tc_audit_options *options, const tc_monitor *monitor, tc_audit **audit) TC_MUST_USE;

/* Adds the findings end to end as a point of the audit, and to its verdict. */
void tc_audit_take_end_to_end(tc_audit *audit, const tc_end_to_end *found);

/* The members of one JSON object; the caller opens and closes it. */
void tc_audit_json(const tc_audit *audit, tc_json *json);
void tc_audit_text(const tc_audit *audit, tc_buffer *out);

#endif
