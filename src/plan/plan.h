/* The plan: which numbers leave the cloud, with how much noise, and what that costs every observer.
 *
 * A plan is a function of the cloud's part of a problem and of options, never of private data: the whole file and the
 * cloud's file give the same bytes.
 *
 * F is the vector of everything that is noised each round; its entries come in *channels*, each with one scale.
 * Everything else that anyone sees (mu, p_i, averages, the status page) is computed from F + W. */
#ifndef TC_PLAN_PLAN_H
#define TC_PLAN_PLAN_H

#include "analysis/analysis.h"

typedef enum tc_calibration { TC_TIGHT, TC_PUBLISHED } tc_calibration;
typedef enum tc_constants { TC_CERTIFIED, TC_DECLARED } tc_constants;
typedef enum tc_placement {
    TC_PLACEMENT_AUTO,
    TC_PLACEMENT_OUTPUTS,
    TC_PLACEMENT_STATES,
    TC_PLACEMENT_FORMS, /* linear forms of the states; g depends on the states only through them */
} tc_placement;
/* How the cloud uses released numbers: the paper's steps, or those of engine/tacit/controller.h. The method has no
 * price (post-processing), but it decides which placement disturbs least. */
typedef enum tc_method { TC_METHOD_UNSET, TC_METHOD_PUBLISHED, TC_METHOD_TACIT } tc_method;

/* What the file leaves open or the command line overrides; numbers are NAN where unset. */
typedef struct tc_plan_options {
    tc_mechanism mechanism;     /* UNSET: the file's, else laplace */
    tc_calibration calibration; /* TIGHT is the default */
    tc_constants constants;
    tc_placement placement;
    tc_method method;       /* UNSET: tc_resolve_method */
    tc_adjacency adjacency; /* UNSET: the file's; BARE B means ensemble B in published, one B in tight */
    double adjacency_bound;
    double epsilon, delta;
    double rounds;
    double rounds_per_day;         /* for the translation table; 0 if unset */
    double hold_cap;               /* H: a held-over message is used at most 1 + H times; 0 */
    bool seeded;                   /* noise from a seed: simulation, not private */
    bool certain;                  /* --feasible always: one more round, see tc_last_round */
    double last_share;             /* its share of the price in units that hide every round; NAN: by a public rule */
    const char *const *coalitions; /* "a1,a2": observers to price besides the usual ones */
    size_t coalition_count;
} tc_plan_options;

/* The method that options ask for. The default is written here alone. */
tc_method tc_resolve_method(const tc_plan_options *options);
/* The mechanism of options or file, or Laplace. */
tc_mechanism tc_resolve_mechanism(const tc_model *model, const tc_plan_options *options);

typedef enum tc_channel_kind {
    TC_CHANNEL_CONSTRAINTS, /* g_j, j = first_row ..; for placement FORMS the constraints of plan->measured */
    TC_CHANNEL_JACOBIAN,    /* entries of g_{x_i} for members of one family */
    TC_CHANNEL_STATES,      /* x_i for members of one family */
} tc_channel_kind;

typedef struct tc_channel {
    tc_channel_kind kind;
    const char *name;              /* "g", "g[feeder[3]]", "J[a1]", "x[home]", "s[feeder[3]]" */
    uint32_t first_row, row_count; /* constraints it speaks of (CONSTRAINTS, JACOBIAN) */
    uint32_t family;               /* JACOBIAN, STATES; UINT32_MAX otherwise */
    size_t first_member, member_count;
    bool every_entry;     /* noise on structural zeros and constants too, as published */
    uint64_t first_entry; /* addresses of its noise: first_entry .. first_entry + entries - 1 */
    uint64_t entries;
    double constant;      /* K: the Lipschitz constant or sensitivity before the lattice, rounded up */
    double sensitivity;   /* K': with what rounding to the lattice can add */
    double scale;         /* b (Laplace) or sigma (Gaussian), in the entry's own units, rounded up */
    double variance;      /* of the noise of one entry */
    int step_exponent;    /* zeta = 2^step_exponent, the lattice of its entries */
    double lattice_scale; /* scale / zeta: what the sampler is given */
    int64_t bound;        /* the last round alone: |noise| is at most so many steps; 0: noise has no bound */
} tc_channel;

typedef enum tc_observer_kind {
    TC_OBSERVER_AGENT, /* agent i: its own p_i, hence g-hat and its own block */
    TC_OBSERVER_COALITION,
    TC_OBSERVER_EAVESDROPPER, /* every link */
    TC_OBSERVER_STATUS,       /* a reader of the status page: mu, hence g-hat */
} tc_observer_kind;

typedef struct tc_observer {
    tc_observer_kind kind;
    const char *who;       /* "a1", "each of home[1] .. home[1000]", "a1 + a2", "eavesdropper", "status page" */
    const char *about;     /* "any other agent", ... */
    double epsilon, delta; /* certified upper bounds over the whole run, jointly over all it sees */
    double gdp;            /* Gaussian: the parameter of Gaussian differential privacy; NAN for Laplace */
    double delta_at_asked; /* Gaussian: delta at the plan's own epsilon; NAN for Laplace */
    /* Whose states are its own, sorted; or any one member of a family, UINT32_MAX for none. */
    const size_t *agents;
    size_t agent_count;
    uint32_t each_of;
} tc_observer;

typedef struct tc_price { /* a line of the translation table */
    const char
        *what; /* "one state of one agent in one round, by 1", "a day of an agent", "everything an agent could do" */
    double distance; /* in the norm of the mechanism, over the run */
    double epsilon, delta;
} tc_price;

typedef struct tc_family_price { /* the same for one family: a shop's box may be wider than a home's */
    const char *family;
    size_t members;
    double range;                                     /* of its widest state */
    double state_epsilon, round_epsilon, run_epsilon; /* one state by its range; all of a round; of the run, or NAN */
} tc_family_price;

typedef struct tc_placement_facts { /* predicted noise of each placement, for `auto` and for people */
    tc_placement placement;
    bool possible;
    bool usable;  /* by the method: tacit cannot use noise on a Jacobian */
    double total; /* sum over rows of var(g_j)/row_scale_j^2: what auto compares. On outputs, and on states in method
                     published, with the share of the prices p_i */
    double *constraint_variance; /* m: variance of g-hat_j per round */
    double price_variance; /* variance of a component of p_i per round, worst agent, at reference multipliers; NAN for
                            * method tacit, whose prices are made of filtered measurements */
} tc_placement_facts;

/* Units WITHIN and DATA, of one family. Distances are of one member's states in one round, given the same earlier
 * answers, in the norm of the mechanism, rounded up. */
typedef struct tc_distance {
    bool protects;   /* false: its members are the same in both worlds */
    double data;     /* DATA: of all its protected data together */
    double steps;    /* DATA: what steps that are not exact add, over all rounds */
    double distance; /* D: of the states that agents send */
    double reach;    /* D': of those that the cloud uses, on the plan's lattice and in the box */
    double diameter; /* of the box */
} tc_distance;

/* The public boxes of all members of all ranks, for people. */
typedef struct tc_public_ranges {
    double **widest; /* by family, by state of its members */
    double agent[2]; /* how far one agent can move its messages in one round, in l1 and l2 */
} tc_public_ranges;
const tc_public_ranges *tc_public_ranges_find(tc_arena *arena, const tc_model *model);

/* `--feasible always`: the round after all others, in which agents send their averages and g is released there, with
 * noise of bounded support (docs/proofs/ending.md). Everybody sees what follows from it. */
typedef struct tc_last_round {
    struct tc_plan *plan; /* its release: g alone, one round, channels with bounds */
    double share;         /* of epsilon, or of mu^2 */
    double multiplier;    /* units that bound all messages together: how far their averages are apart; 1 for others */
    double target;        /* what it may cost: epsilon, or gdp */
    double price;         /* what it costs an observer of everything */
    double agent;         /* the same, of everything that one agent can do in it */
    double rows;          /* that depend on states */
    double cut;           /* bounds are so many scales */
    double delta;         /* what bounded support costs; part of the plan's delta */
    double *allowance;    /* by constraint: how far a released value less its noise can be from g at the averages */
} tc_last_round;

/* In the tight calibration a row of g that depends on no state, and a Jacobian entry that is constant by structure,
 * have no channel: they are public. */
typedef struct tc_plan {
    const tc_model *model;
    tc_mechanism mechanism;
    tc_calibration calibration;
    tc_constants constants;
    tc_method method;       /* PUBLISHED or TACIT */
    tc_placement placement; /* decided */
    /* The model whose numbers get noise; pass it to tc_release_new. It is the model itself, or for placement FORMS one
     * with the same agents and states whose constraints are the linear forms. */
    const tc_model *measured;
    const tc_derivatives *measured_derivatives;
    /* paper: eq:adj. ENSEMBLE: two trajectories of all agents whose l_p distance over all rounds is at most B, p = 1
     * for Laplace and 2 for Gaussian noise. ONE: the same of one agent. AGENT: anything that one agent can do. WITHIN
     * and DATA: one agent, in every round by at most a distance D, of its own for each family in DATA. */
    tc_adjacency adjacency;
    double adjacency_bound; /* B, or D of WITHIN; NAN for AGENT and DATA */
    tc_distance *distances; /* WITHIN, DATA: by family; NULL otherwise */
    const tc_public_ranges *ranges;
    /* paper: Definition 1, eq:fulleddef. As asked: of each system in the published calibration, joint in the tight. */
    double epsilon, delta;
    double rounds;
    double hold_cap;
    int state_exponent; /* h = 2^state_exponent, the lattice of the states */
    int *sum_exponents; /* model->sum_count: the terms of inner sum r are rounded to multiples of 2^sum_exponents[r],
                         * and added as integers (placement OUTPUTS; NULL where there are no sums) */
    tc_channel *channels;
    size_t channel_count;
    uint64_t entry_count;
    double overhead; /* largest sensitivity / constant - 1 over channels */
    tc_observer *observers;
    size_t observer_count;
    tc_price *prices;
    size_t price_count;
    tc_family_price *family_prices; /* where there are several families, and not very many; not hashed */
    size_t family_price_count;
    /* Epsilon, or gdp for Gaussian noise, at which the same noise hides one agent from an observer of everything.
     * INFINITY if unknown. */
    double range_price;     /* one state of a message by its whole range, or all in one released number: the larger */
    double message_price;   /* anything in one message */
    double agent_price;     /* everything it does, in all rounds */
    const char *why_states; /* noise is on states, by `auto`; NULL elsewhere; not hashed */
    tc_placement_facts facts[3]; /* outputs, states, forms; placement AUTO for one that was not examined */
    tc_last_round *last;         /* NULL: no such round */
    bool is_last;                /* this is the plan of such a round */
    double *row_scale;           /* m: root mean square of |grad g_j| over the public box, by fixed quadrature */
    bool is_private;
    const char **void_reasons; /* why not, where it is not */
    size_t void_reason_count;
    const char **doubts; /* unproved assumptions of the method; the promise does not need them */
    size_t doubt_count;
    const char **warnings;
    size_t tells_large_delta; /* which of them, from 1, does; 0: none */
    size_t warning_count;
    const char *problem; /* NULL, or why no plan can be made */
    bool refusal_is_usage;
    unsigned char hash[32]; /* SHA-256 of the plan's canonical text */
} tc_plan;

/* Units whose price grows with the number of rounds: one agent, in every round. The others bound a whole run by B. */
static inline bool tc_hides_every_round(tc_adjacency unit) {
    return unit == TC_ADJACENCY_AGENT || unit == TC_ADJACENCY_WITHIN || unit == TC_ADJACENCY_DATA;
}

/* Rounds of messages: the last round is one of them. */
static inline uint64_t tc_plan_messages(const tc_plan *plan) {
    return (uint64_t)plan->rounds + (plan->last != NULL ? 1 : 0);
}

/* Noise on states; otherwise on numbers made of them (OUTPUTS, and FORMS, which are the outputs of plan->measured). */
static inline bool tc_noises_states(const tc_plan *plan) { return plan->placement == TC_PLACEMENT_STATES; }

/* Never NULL: where no plan can be made, problem says why. Raises on its arena. Uses no private data. */
tc_plan *tc_plan_make(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, const tc_analysis *analysis,
                      const tc_plan_options *options, const tc_monitor *monitor);

/* The same plan with one more reason why its promise does not hold. */
const tc_plan *tc_plan_voided(tc_arena *arena, const tc_plan *plan, const char *reason);

/* paper: the set M. R from the cloud's file alone; whether the Slater point lies in private sets is not checked.
 * Infinite where the file does not determine it. */
double tc_public_radius(const tc_model *model, const tc_analysis *analysis);

/* Whether R follows from the gaps and the Slater point: the file gives no R, and every agent has both. */
bool tc_radius_is_promised(const tc_model *model);

/* NULL, or a sentence that says why no R follows from them. From the cloud's file alone. */
const char *tc_public_radius_fault(const tc_model *model, const tc_analysis *analysis);

/* The members of one JSON object; the caller opens and closes it. */
void tc_plan_json(const tc_plan *plan, tc_json *json);
/* Scales, placements, observers and prices for people; the guarantee card is in card.h. */
void tc_plan_text(const tc_plan *plan, tc_buffer *out, unsigned width);

/* ---- certificate.c ---- */

/* The grounds of a plan, as a file that others can check without this program: docs/certificate.md defines its form,
 * and examples/verify/verify_plan.py checks it.
 *
 * The file has the plan's canonical text, whose SHA-256 is the plan's hash; what every observer sees; and the public
 * model: boxes, terms of sums, constraints and, where slopes are released, the slopes as the cloud computes them. The
 * whole problem and the cloud's file give the same bytes. */
#define TC_CERTIFICATE_MARK "{\"format\": \"tacit certificate 1\"," /* its first line */
/* The same with a last round: a verifier that knows of none must not say yes. */
#define TC_CERTIFICATE_MARK_LAST "{\"format\": \"tacit certificate 2\","

/* Why there is nothing to certify: no plan, or one that promises nothing. NULL where there is something. */
const char *tc_certificate_problem(const tc_plan *plan);

/* Only where there is no problem. derivatives: those of plan->model. */
void tc_certificate_text(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives, tc_buffer *out);

#endif
