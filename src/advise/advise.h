/* Which promise fits a problem: from a tolerable doubt in the constraints to a price, and back. From public facts
 * alone.
 *
 * A *way* is a unit of privacy and a law of noise. All its noise is proportional to one over the price (epsilon, or gdp
 * for Gaussian noise), so that one plan of a way gives the doubts at every epsilon. */
#ifndef TC_ADVISE_ADVISE_H
#define TC_ADVISE_ADVISE_H

#include "engine/tacit/settling.h"
#include "plan/account/account.h"

typedef struct tc_advice_wish {
    tc_plan_options plan; /* unit and rounds are needed, from here or from the file */
    double tolerance;     /* a doubt, or with is_share a part of each limit */
    bool is_share;
    const char *constraint; /* "feeder", "feeder[3]": the rows that count; NULL: all */
    double dual_radius;     /* public; see tc_tacit_facts_make */
} tc_advice_wish;

typedef struct tc_way {
    tc_mechanism mechanism;
    tc_adjacency adjacency;
    double bound;              /* B; NAN where the unit has none */
    tc_promised_unit promised; /* ways that differ in it keep different promises, and are not compared */
    bool is_asked;             /* the unit that the question is about */
    const tc_plan *plan;       /* at the reference epsilon */
    const char *problem;       /* why there is none; NULL */
    const tc_accuracy *accuracy;
    const tc_settling *settling; /* NULL: nothing is known of it */
    double times;   /* at the reference epsilon: the error is so many times the tolerable one, in the worst row */
    size_t worst;   /* that row */
    double needed;  /* the epsilon at which it is tolerable, or 0.001 where less would do */
    double at_home; /* the same in the local model, where agents add the noise themselves; INFINITY: not known */
} tc_way;

enum { TC_MOST_WAYS = 6, TC_TABLE_EPSILONS = 5 };
extern const double tc_table_epsilons[TC_TABLE_EPSILONS];

typedef struct tc_advised_rounds { /* of the asked unit, with the noise that leaves less */
    double now;
    double power;  /* the doubt grows as rounds^power: -1/2, 0 or 1/2 */
    double enough; /* at which the method's own error is no larger than the noise */
    double needed; /* at which the doubt is tolerable at the reference epsilon; INFINITY: at none */
} tc_advised_rounds;

typedef struct tc_advised_agents { /* if families and limits grow alike */
    double now, needed;            /* at the reference epsilon; needed NAN: constraints are no sums over families, or
                                    * the run does not settle */
    double power;                  /* the doubt grows as agents^power: 0 or 1/2 */
} tc_advised_agents;

typedef struct tc_advice {
    const tc_model *model;
    tc_advice_wish wish;
    double delta;
    double reference; /* the asked epsilon; the file's, or 1, where none is asked for */
    bool is_capped;   /* no epsilon above the asked one will do */
    tc_way ways[TC_MOST_WAYS];
    size_t way_count;
    const tc_way *shown; /* the way that file and options ask for, or the best one; its worst row stands for all */
    const tc_way *best;  /* of the asked unit, or `agent` where that needs no more: the one with the least epsilon */
    const tc_way *instead_of; /* the asked one, where `agent` costs as much and is recommended; NULL elsewhere */
    bool reaches;             /* best, at `epsilon`, leaves a tolerable doubt and keeps more than the name of privacy */
    double epsilon;           /* what is recommended; NAN where nothing is */
    tc_row_accuracy told;     /* in the worst row, then */
    const tc_plan *plan;      /* at that epsilon, or the last one that was tried; NULL: none was */
    /* With a last round: how far results are moved towards the Slater point, as `tacit plan` predicts it of this plan.
     * NAN where nobody has set them. */
    double most_move, usual_move;
    const char *name_only; /* why such an epsilon would promise next to nothing; NULL */
    tc_advised_rounds rounds;
    tc_advised_agents agents;
    /* The other promise that the asked unit names, where neither file nor options name a law of noise (see
     * tc_promised_unit); NULL. Its way of the asked unit is among the ways. The one that reaches comes first, and of
     * two the one that hides more: Gaussian noise. */
    struct tc_advice *other;
    const char *recommendation; /* a sentence; with another promise two */
    const char *problem;        /* NULL, or why there is no advice: no plan can be made */
    bool is_usage;              /* the problem is one of options and file */
} tc_advice;

/* Never NULL. Raises on its arena. */
tc_advice *tc_advise(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, const tc_analysis *analysis,
                     const tc_advice_wish *wish, const tc_monitor *monitor);

/* Whether a promise with this noise has a delta: Gaussian noise, and bounds of a last round's noise. */
bool tc_has_delta(const tc_advice *advice, tc_mechanism mechanism);

/* The doubt in a row of a way at an epsilon, and what is missing then. */
double tc_doubt_at(const tc_advice *advice, const tc_way *way, size_t row, double epsilon);
double tc_missing_at(const tc_advice *advice, const tc_way *way, size_t row, double epsilon);
/* A cell of the table: the worst row of a way at an epsilon. */
typedef struct tc_advised_cell {
    const tc_row_accuracy *row;
    double doubt, missing;
    bool is_tolerable, is_useless, is_unreached;
} tc_advised_cell;
tc_advised_cell tc_advised_at(const tc_advice *advice, const tc_way *way, double epsilon);

/* The largest error (tc_error_of) that is tolerable in a row. */
double tc_tolerable(const tc_advice_wish *wish, const tc_row_accuracy *row);

/* ---- sentences.c ---- */

const char *tc_recommend(tc_arena *arena, const tc_advice *advice);
const char *tc_rounds_sentence(tc_arena *arena, const tc_advice *advice);
const char *tc_agents_sentence(tc_arena *arena, const tc_advice *advice);
/* Says which law of noise leaves less, or that they keep different promises; NULL where advise looks at one alone. */
const char *tc_noise_sentence(tc_arena *arena, const tc_advice *advice);
/* Without trust in the cloud. NULL: not known. */
const char *tc_home_sentence(tc_arena *arena, const tc_advice *advice);
/* "at most 5 % of each limit", "at most 50 in feeder" */
const char *tc_tolerance_text(tc_arena *arena, const tc_advice_wish *wish);

/* ---- print.c ---- */

/* The members of one JSON object; the caller opens and closes it. */
void tc_advice_json(const tc_advice *advice, tc_json *json);
void tc_advice_text(const tc_advice *advice, tc_buffer *out, bool red);

#endif
