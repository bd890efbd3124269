#include "theory/bound_noise.h"

#include "calculus/derivatives.h"
#include "calculus/interval/interval.h"

/* What plan and sampler may round when they turn a scale into a variance, or into units of the lattice. */
static const double slack = 1 + 0x1p-30;

/* The noise is real noise of this variance rounded to the lattice: at most half a step more in the mean square norm. */
double tc_bound_channel_variance(const tc_channel *channel) {
    if (channel->variance == 0)
        return 0;
    double sigma = tc_sqrt_up(tc_mul_up(channel->variance, slack));
    double root = tc_add_up(sigma, ldexp(1, channel->step_exponent - 1));
    return tc_mul_up(root, root);
}

double tc_bound_state_variance(const void *context, const tc_family *family, size_t member) {
    const tc_plan *plan = context;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind == TC_CHANNEL_STATES && &plan->model->families[channel->family] == family &&
            member >= channel->first_member && member - channel->first_member < channel->member_count)
            return tc_bound_channel_variance(channel);
    }
    return 0;
}

/* ---- noise on g and on the entries of its Jacobian ---- */

/* E|W'mu|^2 = sum_j mu_j^2 V_j, V_j the variances of row j together: over M at most R^2 max_j V_j. */
static void measure_outputs(tc_arena *arena, const tc_plan *plan, tc_bound_constants *c) {
    size_t m = plan->model->constraint_count;
    double *rows = TC_NEW(arena, double, m + 1), worst = 0, constraints = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        double variance = tc_bound_channel_variance(channel), entries = (double)channel->entries;
        if (channel->kind == TC_CHANNEL_CONSTRAINTS)
            constraints = tc_add_up(constraints, tc_mul_up(entries, variance));
        for (size_t j = 0; j < channel->row_count && channel->kind == TC_CHANNEL_JACOBIAN; j++) {
            double share = tc_div_up(entries, channel->row_count); /* every row of a channel has as many entries */
            rows[channel->first_row + j] = tc_add_up(rows[channel->first_row + j], tc_mul_up(share, variance));
        }
    }
    for (size_t j = 0; j < m; j++)
        worst = fmax(worst, rows[j]);
    c->price_noise = worst == 0 ? 0 : tc_mul_up(tc_mul_up(c->dual_radius, c->dual_radius), worst);
    c->constraint_noise = constraints;
}

/* ---- noise on the states ---- */

typedef struct linear_part {
    const tc_plan *plan;
    double total; /* sum over rows and coordinates of (d g_j / d x_c)^2 v_c */
} linear_part;

static void take_column(void *context, const tc_column_view *column) {
    linear_part *part = context;
    double squares = 0;
    if (column->count == 0)
        return;
    for (size_t i = 0; i < column->count; i++) {
        double size = tc_magnitude(column->values[i]);
        squares = tc_add_up(squares, tc_mul_up(size, size));
    }
    double variance = tc_bound_state_variance(part->plan, column->family, column->member);
    part->total = tc_add_up(part->total, tc_mul_up(column->weight, tc_mul_up(squares, variance)));
}

/* E w^4 - (E w^2)^2 <= this times (variance with rounding)^2, and 2 for pairs: 5 for Laplace and 2 for Gaussian noise,
 * and a little for the lattice. */
static double kurtosis(const tc_plan *plan) {
    double fourth = plan->mechanism == TC_MECHANISM_LAPLACE ? 6 : 3, worst = 2;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        double sigma = tc_sqrt_down(tc_div_down(channel->variance, slack));
        double half = ldexp(1, channel->step_exponent - 1);
        double most = tc_sqrt_up(tc_bound_channel_variance(channel));
        double least = fmax(0, tc_div_down(tc_add_down(sigma, -half), most));
        double square = tc_mul_down(least, least);
        worst = fmax(worst, tc_add_up(fourth, -tc_mul_down(square, square)));
    }
    return worst;
}

static void measure_states(const tc_plan *plan, tc_streams *streams, const tc_bound_hessian *hessians,
                           tc_bound_constants *c) {
    if (!tc_constraints_are_quadratic(streams->arena, plan->model, streams->derivatives)) {
        c->price_noise = c->constraint_noise = HUGE_VAL;
        c->problem = "the noise is on the states, and constraints that are neither affine nor quadratic make of it an "
                     "error whose mean depends on the state: it is not the zero-mean noise that the theorem asks for. "
                     "`--placement outputs` puts the noise where it has mean zero";
        return;
    }
    linear_part linear = {.plan = plan};
    if (!tc_streams_columns(streams, NULL, take_column, &linear))
        linear.total = HUGE_VAL;
    double prices = 0, squares = 0, factor = kurtosis(plan);
    for (size_t j = 0; j < plan->model->constraint_count; j++) {
        prices = fmax(prices, hessians[j].spread);
        squares = tc_add_up(squares, hessians[j].spread_both);
    }
    c->price_noise = prices == 0 ? 0 : tc_mul_up(tc_mul_up(c->dual_radius, c->dual_radius), prices);
    c->constraint_noise = tc_add_up(linear.total, tc_mul_up(0.25, tc_mul_up(factor, squares)));
}

void tc_bound_measure_noise(tc_arena *arena, const tc_plan *plan, tc_streams *streams, const tc_bound_hessian *hessians,
                            tc_bound_constants *c) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return;
    if (plan->placement == TC_PLACEMENT_STATES)
        measure_states(plan, streams, hessians, c);
    else
        measure_outputs(arena, plan, c);
    c->noise = tc_add_up(c->price_noise, c->constraint_noise);
}
