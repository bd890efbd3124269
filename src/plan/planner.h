/* A plan in the making; for the files of src/plan alone. */
#ifndef TC_PLAN_PLANNER_H
#define TC_PLAN_PLANNER_H

#include "plan/placement/placement.h"

typedef struct tc_planner {
    tc_arena *arena;
    tc_model *model;
    const tc_derivatives *derivatives;
    const tc_analysis *analysis;
    const tc_plan_options *options;
    const tc_monitor *monitor;
    tc_plan *plan;
    tc_streams *streams;
    tc_sensitivity *sensitivity;
    double multiplier;       /* B with holds (ensemble, one); T or sqrt(T) (agent, within, data): times it prices are */
    const double *reach;     /* of the lattice that is looked at: by family, D' of distance.c; NULL for other units */
    double target;           /* the largest multiplier * price: epsilon, or gdp for Gaussian noise */
    const double *row_scale; /* by constraint of model: what one unit of its noise weighs */
    double box_length;
    const int *state_exponent;         /* of the lattice of the states, where it is decided; NULL: to be chosen */
    struct tc_planner *last;           /* of the last round, where there is one */
    const struct tc_lone_price *alone; /* account/observers.c, made when it is first asked for */
    size_t priced;                     /* channels of states that states_price is of */
    double states_price;
    bool names_forms; /* the constraints of model are forms and have names of forms */
} tc_planner;

/* One way to place noise, with final scales; problem where it cannot be done. */
typedef struct tc_layout {
    tc_channel *channels;
    size_t count;
    uint64_t entries;
    int state_exponent;
    int *sum_exponents;
    double overhead;
    tc_lattice *lattice; /* NULL: placement states, or no noise */
    tc_channel_map *map;
    const char *problem;
} tc_layout;

/* ---- resolve.c ---- */

/* Combines options and file into plan; on false plan->problem says why. */
bool tc_plan_resolve(tc_planner *planner);
const char *tc_refuse(tc_planner *planner, bool is_usage, const char *format, ...) TC_PRINTF(3, 4);
void tc_plan_warn(tc_planner *planner, const char *format, ...) TC_PRINTF(2, 3);
void tc_plan_doubt(tc_planner *planner, const char *format, ...) TC_PRINTF(2, 3);
void tc_plan_void(tc_planner *planner, const char *format, ...) TC_PRINTF(2, 3);

/* ---- distance.c: the units WITHIN and DATA ---- */

/* Sets plan->distances, but for reaches; on false plan->problem says why not. */
bool tc_plan_distances(tc_planner *planner);
/* By family: how far the states of one member that the cloud uses may differ in a round, on a lattice of this step; 0
 * for families that protect nothing. NULL for other units. */
double *tc_reaches(tc_arena *arena, const tc_plan *plan, double step);
/* The least positive distance of a family; infinite for other units. */
double tc_least_distance(const tc_plan *plan);
/* What the lattice of the states adds to a distance, as a share of it, at most. */
double tc_lattice_share(const tc_plan *plan, int state_exponent);

/* ---- last.c: the round of --feasible always ---- */

/* Sets plan->last where it is asked for; on false plan->problem says why it cannot be had. */
bool tc_resolve_last(tc_planner *planner);
/* Divides the price between the rounds and the last one; after the target of all together is set. */
void tc_share_with_last(tc_planner *planner);
/* Plans the last round, for a plan whose lattice of states is chosen; into planner->last. whole: of the problem. */
void tc_plan_last(tc_planner *planner, const tc_planner *whole);
/* Epsilon, or gdp, of the rounds and the last round together. */
double tc_with_last(const tc_plan *plan, double rounds, double last);
/* How far the average moves where the messages of all rounds move by 1 together, in the norm of the mechanism. */
double tc_average_follows(const tc_plan *plan);
/* The same for this distance, with rounding: of the averages that are sent. */
double tc_last_distance(const tc_plan *plan, double distance);

/* ---- published.c, tacit.c: where each method puts its noise ---- */

void tc_place_published(tc_planner *planner);
void tc_place_tacit(tc_planner *planner);
void tc_place_nothing_tacit(tc_planner *planner);

/* ---- tight.c: channels, and scales so that everything together keeps the promise ---- */

void tc_scale_outputs(tc_planner *planner, tc_layout *layout);
void tc_scale_states(tc_planner *planner, tc_layout *layout);
/* Of both calibrations: the name of a family in names of channels; addresses of all entries, channel by channel. */
const char *tc_channel_family(tc_planner *planner, const tc_family *family);
void tc_set_addresses(tc_layout *layout);
void tc_finish_channel(const tc_planner *planner, tc_channel *channel, double scale);
/* Why a channel cannot be released, and what to do; NULL if all can. */
const char *tc_no_bound(tc_arena *arena, const tc_channel *channel);
const char *tc_check_scales(tc_arena *arena, const tc_layout *layout);
int tc_first_state_exponent(const tc_planner *planner);
enum { TC_LATTICE_TRIES = 16 }; /* to a 16th of B, or of the narrowest side of the box */
/* Copies the chosen placement to the plan. */
void tc_take_layout(tc_plan *plan, tc_placement placement, const tc_layout *layout);
/* The public sets that this plan may rely on; NULL: none. */
const tc_caps *tc_planned_caps(const tc_planner *planner, int state_exponent);
/* What one agent of a STATES channel can do in one round, in the norm of the mechanism. */
double tc_state_reach(const tc_planner *planner, const tc_channel *channel, const tc_caps *caps);

/* ---- account/observers.c ---- */

void tc_account_observers(tc_planner *planner);
/* The table of prices for other distances. */
void tc_account_prices(tc_planner *planner);
/* What the same noise charges for hiding an agent of each family. Not hashed. */
void tc_account_families(tc_planner *planner);

/* ---- output.c ---- */

/* The text that the hash is of, a JSON object and a newline. */
void tc_plan_canonical(const tc_plan *plan, tc_buffer *out);
void tc_plan_hash(tc_arena *arena, tc_plan *plan);

#endif
