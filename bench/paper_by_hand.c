#include "paper_by_hand.h"

#include <math.h>
#include <string.h>

#define X(agent, component) x[2 * (agent) + (component)-3]
#define GRADIENT(agent, component) gradient[2 * (agent) + (component)-3]
#define SQUARE(agent) (X(agent, 1) * X(agent, 1) + X(agent, 2) * X(agent, 2))

static void gradients(const double *x, double *gradient) {
    for (int i = 0; i < PAPER_STATES; i++)
        gradient[i] = 1; /* a1, a4, a6, a7, a9 */
    GRADIENT(2, 1) = 2 * X(2, 1);
    GRADIENT(2, 2) = 2 * X(2, 2);
    GRADIENT(3, 1) = 2 * (X(3, 1) + 7);
    GRADIENT(3, 2) = 2 * (X(3, 2) - 7);
    double away1 = X(5, 1) + 3, away2 = X(5, 2) + 3, square = away1 * away1 + away2 * away2;
    GRADIENT(5, 1) = 4 * square * away1;
    GRADIENT(5, 2) = 4 * square * away2;
    GRADIENT(8, 1) = 2 * (X(8, 1) + 7);
    GRADIENT(8, 2) = 2 * X(8, 2);
    away1 = X(10, 1), away2 = X(10, 2) - 8, square = away1 * away1 + away2 * away2;
    GRADIENT(10, 1) = 4 * square * away1;
    GRADIENT(10, 2) = 4 * square * away2;
}

static void constraints(const double *x, double *g) {
    g[0] = SQUARE(1) + SQUARE(2) + SQUARE(3) - 10;
    g[1] = SQUARE(4) + SQUARE(5) + SQUARE(6) - 50;
    g[2] = SQUARE(7) + SQUARE(8) + SQUARE(9) - 50;
    g[3] = X(1, 1) * X(1, 1) + X(5, 1) + X(10, 1) * X(10, 1) - 50;
    g[4] = X(4, 2) * X(4, 2) + X(7, 1) + X(9, 2) - 20;
    g[5] = SQUARE(8) + SQUARE(6) - 30;
}

/* The entries of the Jacobian that are not zero, in units of their lattice, on top of the noise. */
#define AT(agent, row, component) noise[PAPER_BLOCK * ((agent)-1) + 2 * (row) + (component)-1]
#define ADD_TWICE(agent, row, component)                                                                               \
    AT(agent, row, component) += (int64_t)rint(2 * X(agent, component) * per_step[(agent)-1])
#define ADD_ONE(agent, row, component) AT(agent, row, component) += (int64_t)rint(per_step[(agent)-1])
#define ADD_BLOCK(agent, row)                                                                                          \
    ADD_TWICE(agent, row, 1);                                                                                          \
    ADD_TWICE(agent, row, 2)

static void add_jacobian(const double *x, const double *per_step, int64_t *noise) {
    ADD_BLOCK(1, 0);
    ADD_BLOCK(2, 0);
    ADD_BLOCK(3, 0);
    ADD_BLOCK(4, 1);
    ADD_BLOCK(5, 1);
    ADD_BLOCK(6, 1);
    ADD_BLOCK(7, 2);
    ADD_BLOCK(8, 2);
    ADD_BLOCK(9, 2);
    ADD_TWICE(1, 3, 1);
    ADD_ONE(5, 3, 1);
    ADD_TWICE(10, 3, 1);
    ADD_TWICE(4, 4, 2);
    ADD_ONE(7, 4, 1);
    ADD_ONE(9, 4, 2);
    ADD_BLOCK(8, 5);
    ADD_BLOCK(6, 5);
}

/* Onto mu >= 0 with a sum of at most the radius. The second half, rarely needed, takes the same off all that stay. */
static void project(double *mu, double radius) {
    double sum = 0;
    for (int j = 0; j < PAPER_CONSTRAINTS; j++) {
        mu[j] = mu[j] > 0 ? mu[j] : 0;
        sum += mu[j];
    }
    bool dropped = sum > radius;
    double off = 0;
    while (dropped) {
        double rest = 0;
        int count = 0;
        for (int j = 0; j < PAPER_CONSTRAINTS; j++) {
            rest += mu[j] > off ? mu[j] : 0;
            count += mu[j] > off;
        }
        double next = (rest - radius) / count;
        dropped = next > off;
        off = dropped ? next : off;
    }
    for (int j = 0; j < PAPER_CONSTRAINTS && off > 0; j++)
        mu[j] = mu[j] > off ? mu[j] - off : 0;
}

static void to_lattice(const double *x, double h, double *on_lattice) {
    for (int i = 0; i < PAPER_STATES; i++)
        on_lattice[i] = rint(x[i] / h) * h; /* h is a power of two and 10 a multiple of it: no clamping */
}

static void step_agents(const paper_noise *scale, const int64_t *jacobian, const double *mu, double step,
                        double regularization, double *x) {
    double gradient[PAPER_STATES];
    gradients(x, gradient);
    for (int i = 0; i < PAPER_AGENTS; i++, jacobian += PAPER_BLOCK) {
        double p1 = 0, p2 = 0, zeta = scale->jacobian_step[i];
        for (int j = 0; j < PAPER_CONSTRAINTS; j++) {
            p1 += (double)jacobian[2 * j] * zeta * mu[j];
            p2 += (double)jacobian[2 * j + 1] * zeta * mu[j];
        }
        double *own = x + 2 * i, *slope = gradient + 2 * i;
        double next1 = own[0] - step * (slope[0] + p1 + regularization * own[0]);
        double next2 = own[1] - step * (slope[1] + p2 + regularization * own[1]);
        own[0] = next1 < -10 ? -10 : next1 > 10 ? 10 : next1;
        own[1] = next2 < -10 ? -10 : next2 > 10 ? 10 : next2;
    }
}

bool paper_by_hand(const paper_noise *scale, tc_random *random, tc_random_worker *worker, double dual_radius,
                   uint64_t rounds, paper_schedule *schedule, double x[PAPER_STATES], double mu[PAPER_CONSTRAINTS]) {
    int64_t noise[PAPER_ENTRIES];
    double on_lattice[PAPER_STATES], g[PAPER_CONSTRAINTS], per_step[PAPER_AGENTS];
    for (int i = 0; i < PAPER_AGENTS; i++)
        per_step[i] = 1 / scale->jacobian_step[i];
    memset(x, 0, PAPER_STATES * sizeof *x);
    memset(mu, 0, PAPER_CONSTRAINTS * sizeof *mu);
    for (uint64_t k = 1; k <= rounds; k++) {
        double step = 0, regularization = 0;
        if (schedule == NULL) {
            step = 0.01 * pow((double)k, -0.52);
            regularization = 0.1 * pow((double)k, -0.3);
        } else {
            schedule(k, &step, &regularization);
        }
        if (tc_random_open_round(random, k) != TC_OK ||
            tc_noise_fill_each(worker, scale->law, scale->scales, 0, PAPER_ENTRIES, noise) != TC_OK)
            return false;
        to_lattice(x, scale->state_step, on_lattice);
        constraints(on_lattice, g);
        add_jacobian(on_lattice, per_step, noise + PAPER_CONSTRAINTS);
        step_agents(scale, noise + PAPER_CONSTRAINTS, mu, step, regularization, x);
        for (int j = 0; j < PAPER_CONSTRAINTS; j++) {
            int64_t units = (int64_t)rint(g[j] / scale->constraint_step) + noise[j];
            mu[j] += step * ((double)units * scale->constraint_step - regularization * mu[j]);
        }
        project(mu, dual_radius);
    }
    return true;
}
