/* `--feasible always`: after the T rounds of method tacit one more, in which agents send their averages and g is
 * released there, with noise of bounded support and nothing else. What it costs, and how far off its values can be:
 * docs/proofs/ending.md. */
#include "plan/planner.h"
#include "model/spread.h"

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

#define NOISE_SHARE 0.9 /* Gaussian: of delta, for the noise itself; the rest pays for the bounds */

/* Of the averages with weights k (k + 1): the largest, 3 / (T + 2), and the sum of squares. */
static double largest_weight(double rounds) { return tc_div_up(3, tc_add_down(rounds, 2)); }
static double weight_squares(double rounds) {
    double above = tc_mul_up(3, tc_add_up(tc_mul_up(3, tc_mul_up(rounds, rounds)), tc_add_up(tc_mul_up(6, rounds), 1)));
    double below = tc_mul_down(tc_mul_down(5, rounds), tc_mul_down(tc_add_down(rounds, 1), tc_add_down(rounds, 2)));
    return tc_div_up(above, below);
}

double tc_average_follows(const tc_plan *plan) {
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    return gaussian ? tc_sqrt_up(weight_squares(plan->rounds)) : largest_weight(plan->rounds);
}

double tc_with_last(const tc_plan *plan, double rounds, double last) {
    if (plan->mechanism != TC_MECHANISM_GAUSSIAN)
        return tc_add_up(rounds, last);
    return tc_sqrt_up(tc_add_up(tc_mul_up(rounds, rounds), tc_mul_up(last, last)));
}

double tc_noise_delta(const tc_plan *plan) {
    if (plan->last == NULL)
        return plan->delta;
    return plan->mechanism != TC_MECHANISM_GAUSSIAN ? 0
                                                    : tc_mul_down(tc_mul_down(NOISE_SHARE, plan->delta), TC_LEAST_KEPT);
}

double tc_delta_of_bounds(const tc_plan *plan) {
    return plan->mechanism == TC_MECHANISM_GAUSSIAN ? tc_add_down(plan->delta, -tc_mul_up(NOISE_SHARE, plan->delta))
                                                    : plan->delta;
}

/* The part of the whole price that is the last round's: epsilon times the share, or for Gaussian noise mu times its
 * root, since squares add. */
static double price_of_share(const tc_plan *plan, double whole, double share) {
    return tc_mul_down(whole, plan->mechanism == TC_MECHANISM_GAUSSIAN ? tc_sqrt_down(share) : share);
}

static double price_of_rest(const tc_plan *plan, double whole, double last) {
    if (plan->mechanism != TC_MECHANISM_GAUSSIAN)
        return tc_add_down(whole, -last);
    return tc_sqrt_down(tc_add_down(tc_mul_down(whole, whole), -tc_mul_up(last, last)));
}

/* A public rule: the share that makes the bound of the last round plus two deviations of the averaged noise least,
 * where what is hidden moves a released number by 1 in every round, or in all rounds together. */
static double choose_share(const tc_plan *plan, double whole, double rows) {
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN, each = tc_hides_every_round(plan->adjacency);
    double best = 0.5, least = INFINITY, averaged = sqrt(weight_squares(plan->rounds));
    double noise = gaussian ? 1 : sqrt(2), moved = each ? 1 : tc_average_follows(plan);
    if (each)
        noise *= gaussian ? sqrt(plan->rounds) : plan->rounds;
    for (int i = 1; i < 40; i++) {
        double share = (double)i / 40, last = price_of_share(plan, whole, share);
        double cut = tc_bounded_cut(plan->mechanism, last, rows, tc_delta_of_bounds(plan));
        double doubt = moved * cut / last + 2 * averaged * noise / price_of_rest(plan, whole, last);
        if (doubt < least) {
            least = doubt;
            best = share;
        }
    }
    return best;
}

static double count_rows(const tc_planner *p) {
    double rows = 0;
    for (size_t j = 0; j < p->model->constraint_count; j++)
        rows += p->model->dag->nodes[p->model->constraints[j].outer].has_state;
    return fmax(rows, 1);
}

void tc_share_with_last(tc_planner *p) {
    tc_plan *plan = p->plan;
    double asked = p->options->last_share, whole = p->target;
    plan->last->share = isnan(asked) ? choose_share(plan, whole, count_rows(p)) : asked;
    plan->last->target = price_of_share(plan, whole, plan->last->share);
    p->target = price_of_rest(plan, whole, plan->last->target);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static const char *why_not(const tc_planner *p) {
    const tc_plan *plan = p->plan;
    if (plan->method != TC_METHOD_TACIT)
        return "--feasible always goes with --method tacit: the result of method published is no average, and nothing "
               "certifies it";
    if (plan->mechanism == TC_MECHANISM_NONE)
        return "--feasible always is for runs with noise, and --mechanism none has none";
    if (isnan(plan->rounds))
        return "--feasible always needs the number of rounds: add 'rounds' to the schedule, or --rounds T";
    if (p->model->constraint_count == 0)
        return "--feasible always is about constraints, and there are none";
    if (p->analysis->constraints.verdict != TC_HOLDS)
        return "--feasible always rests on constraints that are convex, and that is not proved of all (`tacit check` "
               "says "
               "where)";
    if (!(plan->delta > 0 && plan->delta < 1))
        return "--feasible always has noise of bounded support, which needs a delta, Laplace noise too: for example "
               "--delta 1e-6";
    if (plan->hold_cap > 0)
        return "--feasible always needs every agent's own average: it does not go with messages that are used again "
               "(--on-late hold)";
    if (!isnan(p->options->last_share) && !(p->options->last_share > 0 && p->options->last_share < 1))
        return "the share of the last round lies strictly between 0 and 1";
    for (size_t f = 0; f < p->model->family_count; f++) {
        if (!p->model->families[f].has_slater)
            return "--feasible always moves the result towards the public Slater point, and not every agent has one: "
                   "add 'slater' to each";
    }
    return NULL;
}

bool tc_resolve_last(tc_planner *p) {
    if (!p->options->certain)
        return true;
    const char *why = why_not(p);
    if (why != NULL) {
        tc_refuse(p, true, "%s", why);
        return false;
    }
    p->plan->last = TC_NEW(p->arena, tc_last_round, 1);
    return true;
}

/* ---- its release ------------------------------------------------------------------------------------------------- */

/* g without its slopes: what a release that has no Jacobian is made of. */
static tc_derivatives *values_of(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    tc_derivatives *made = TC_NEW(arena, tc_derivatives, 1);
    *made = *derivatives;
    made->outer_first_count = 0;
    made->families = TC_NEW(arena, tc_family_derivatives, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        made->families[f] = derivatives->families[f];
        made->families[f].body_first_count = 0;
    }
    return made;
}

/* Averages are made of T steps in doubles, in each of two worlds: this much further apart than the states, at most. */
static double averaging_off(const tc_family *family, double rounds, bool euclidean) {
    double size = 0, dim = (double)family->dim;
    bool varies = !tc_same_boxes(family);
    for (size_t c = 0; c < family->dim; c++) {
        for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++)
            size = fmax(size, fmax(fabs(tc_coef_at(family->lower[c], k)), fabs(tc_coef_at(family->upper[c], k))));
    }
    size = varies ? tc_largest_of(family, size) : size;
    return tc_mul_up(tc_mul_up(tc_mul_up(2, rounds), tc_mul_up(0x1p-49, size)), euclidean ? tc_sqrt_up(dim) : dim);
}

/* Units that bound the messages of all rounds together: their average follows them. It is made of states that are at
 * most h from the messages, in each of two worlds, and sent on the lattice. */
double tc_last_distance(const tc_plan *plan, double distance) {
    const tc_model *model = plan->model;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN, all = plan->adjacency == TC_ADJACENCY_ENSEMBLE;
    double step = tc_mul_up(4, ldexp(1, plan->state_exponent)), off = 0, states = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        double dim = (double)model->families[f].dim, members = all ? (double)model->families[f].count : 1;
        off = fmax(off, averaging_off(&model->families[f], plan->rounds, false) / dim);
        states = all ? states + dim * members : fmax(states, dim);
    }
    return tc_add_up(tc_mul_up(tc_average_follows(plan), distance),
                     tc_mul_up(tc_add_up(step, tc_above(off)), gaussian ? tc_sqrt_up(states) : states));
}

static tc_distance *distances_of_averages(const tc_planner *p) {
    const tc_plan *plan = p->plan;
    tc_distance *made = TC_NEW(p->arena, tc_distance, p->model->family_count + 1);
    for (size_t f = 0; f < p->model->family_count; f++) {
        made[f] = plan->distances[f];
        if (made[f].protects)
            made[f].distance = tc_add_up(made[f].distance, averaging_off(&p->model->families[f], plan->rounds,
                                                                         plan->mechanism == TC_MECHANISM_GAUSSIAN));
    }
    return made;
}

static tc_plan *plan_of_values(const tc_planner *p) {
    tc_plan *made = TC_NEW(p->arena, tc_plan, 1);
    *made = *p->plan;
    made->is_last = true;
    made->placement = TC_PLACEMENT_OUTPUTS;
    made->measured = p->model;
    made->measured_derivatives = values_of(p->arena, p->model, p->derivatives);
    made->rounds = 1;
    made->last = NULL;
    if (made->distances != NULL)
        made->distances = distances_of_averages(p);
    return made;
}

/* Of every channel: noise is drawn until it is within so many steps. */
static void bound_noise(tc_layout *layout, double cut) {
    for (size_t i = 0; i < layout->count; i++)
        layout->channels[i].bound = (int64_t)ceil(tc_mul_up(cut, layout->channels[i].lattice_scale));
}

/* ---- how far off a released value is, noise apart ---------------------------------------------------------------- */

typedef struct slopes {
    double *off; /* by row: sum over all coordinates of |dg_j/dx_c| times how far c can be from what was released */
    size_t rows;
    double step;
} slopes;

static void pack_slopes(void *context, tc_parcel *parcel) {
    const slopes *s = context;
    tc_put(parcel, s->off, s->rows * sizeof *s->off);
}

/* An average is sent on the lattice, at most h away, and moved in doubles afterwards: a few roundings of numbers of the
 * box. */
static double state_off(const slopes *s, const tc_family *family, size_t member, size_t c) {
    double size = fmax(fabs(tc_coef_at(family->lower[c], member)), fabs(tc_coef_at(family->upper[c], member)));
    return tc_add_up(s->step, tc_mul_up(0x1p-48, size));
}

static void add_slopes(void *context, const tc_sensitivity_block *block) {
    slopes *s = context;
    for (size_t c = 0; c < block->columns; c++) {
        double off = state_off(s, block->family, block->member, c);
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            double size = tc_mul_up(block->weight, tc_magnitude(entry->value));
            s->off[entry->row] = tc_add_up(s->off[entry->row], tc_mul_up(size, off));
        }
    }
}

/* |released - noise - g_j| at the averages that agents keep: rounding of the entry and of its sums, and what the
 * lattice of the states does. */
static double *find_allowance(tc_planner *p, const tc_layout *layout) {
    const tc_model *model = p->model;
    tc_sensitivity *s = p->sensitivity;
    double *allowance = TC_NEW(p->arena, double, model->constraint_count + 1);
    slopes found = {.off = allowance, .rows = model->constraint_count, .step = ldexp(1, layout->state_exponent)};
    s->lattice = NULL;
    s->whole_agents = false;
    s->norm = 1;
    tc_sensitivity_prepare(s);
    bool done = tc_sensitivity_blocks(s, tc_view_new(s, false, NULL, 0, UINT32_MAX), add_slopes, pack_slopes, &found);
    s->lattice = layout->lattice;
    tc_sensitivity_prepare(s);
    for (size_t j = 0; j < model->constraint_count; j++)
        allowance[j] = done ? tc_add_up(allowance[j], layout->lattice->row_extra[j]) : (double)INFINITY;
    for (size_t o = 0; o < p->derivatives->outer_first_count; o++) {
        const tc_outer_input *input = &p->derivatives->inputs[p->derivatives->outer_first[o].column];
        uint32_t row = p->derivatives->outer_first[o].row;
        if (input->op == TC_SUM)
            allowance[row] = tc_add_up(allowance[row],
                                       tc_mul_up(tc_magnitude(s->first[o]), layout->lattice->sum_spread[input->index]));
    }
    return allowance;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

void tc_plan_last(tc_planner *rounds, const tc_planner *whole) {
    tc_plan *plan = rounds->plan;
    tc_last_round *last = plan->last;
    tc_planner *p = TC_NEW(rounds->arena, tc_planner, 1);
    tc_layout layout = {0};
    *p = *whole;
    last->rows = count_rows(p);
    last->cut = tc_bounded_cut(plan->mechanism, last->target, last->rows, tc_delta_of_bounds(plan));
    if (!isfinite(last->cut)) {
        tc_refuse(p, false,
                  "the bounds of the last round's noise would need more than this delta: ask for a smaller "
                  "epsilon, or a larger delta");
        return;
    }
    p->plan = plan_of_values(p);
    p->streams = tc_streams_new(p->arena, p->model, p->derivatives, p->monitor);
    p->sensitivity = tc_sensitivity_new(p->arena, p->streams);
    p->sensitivity->values_only = true;
    last->multiplier = tc_hides_every_round(plan->adjacency) ? 1 : tc_last_distance(plan, plan->adjacency_bound);
    p->multiplier = last->multiplier;
    p->target = last->target;
    p->state_exponent = &plan->state_exponent;
    p->row_scale = plan->row_scale;
    p->box_length = tc_box_length(p->model, NULL);
    tc_scale_outputs(p, &layout);
    if (layout.problem != NULL) {
        p->plan = plan;
        tc_refuse(p, false, "the last round of --feasible always: %s", layout.problem);
        return;
    }
    bound_noise(&layout, last->cut);
    tc_take_layout(p->plan, TC_PLACEMENT_OUTPUTS, &layout);
    last->allowance = find_allowance(p, &layout);
    last->delta = tc_bounded_delta(plan->mechanism, last->target, last->rows, last->cut);
    last->plan = p->plan;
    rounds->last = p;
    tc_plan_hash(p->arena, p->plan);
}
