/* The search for a schedule. Only comparisons happen here; what is reported about the winner is proved afterwards.
 *
 * More regularization always gives a smaller bound, about a point that is farther from the solution. So alpha_T is held
 * at what the given schedule has in the last round, and c1, c2 and gamma_T are sought. */
#include "theory/bound_rounds.h"

#include "calculus/interval/interval.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct search {
    tc_bound_setting setting;
    double rounds;
    double last_regularization; /* alpha_T */
    tc_bound_effort effort;
} search;

typedef struct point {
    double c1, c2, log_step; /* log of gamma_T */
    double merit;            /* the bound; where it is trivial, more: by how far the last round is from contracting */
} point;

static const double least = 1e-3; /* the distance kept from the edge of each condition */

static point inside(point p) {
    p.c1 = fmin(fmax(p.c1, least), 0.5 - 2 * least);
    p.c2 = fmin(fmax(p.c2, fmax(0.5, p.c1) + least), 1 - least - p.c1);
    return p;
}

static tc_schedule schedule_of(const search *s, const point *p) {
    tc_schedule schedule = s->setting.schedule;
    schedule.regularization_decay = p->c1;
    schedule.step_decay = p->c2;
    schedule.regularization = s->last_regularization * pow(s->rounds, p->c1);
    schedule.step = exp(p->log_step) * pow(s->rounds, p->c2);
    schedule.rounds = s->rounds;
    return schedule;
}

static void judge(const search *s, point *p) {
    tc_bound_setting setting = s->setting;
    setting.schedule = schedule_of(s, p);
    p->merit = tc_bound_error(&setting, s->rounds, s->effort);
    double most = setting.constants.diameter, trivial = most * most;
    if (p->merit < trivial)
        return;
    tc_bound_terms last = tc_bound_terms_of(&setting, s->rounds, s->rounds);
    double product = s->last_regularization * exp(p->log_step);
    double after = (1 - last.loss) * (most + last.drift) * (most + last.drift) + last.added;
    p->merit = trivial * (1 + fmax(0, after / trivial - 1) / product);
}

static void try_point(const search *s, point candidate, point *best) {
    candidate = inside(candidate);
    judge(s, &candidate);
    if (candidate.merit < best->merit)
        *best = candidate;
}

/* Coarse: a grid, every `stride`-th point of it. The step at which a round contracts most is near alpha / L_J^2. */
static point coarse(const search *s, size_t stride) {
    static const double decays[] = {0.001, 0.05, 0.1, 0.2, 0.3, 0.4, 0.48}, shares[] = {0, 0.25, 0.5, 0.75, 1};
    enum { STEPS = 18 };
    const tc_bound_constants *c = &s->setting.constants;
    double square = c->slope * c->slope + c->noise / (c->diameter * c->diameter);
    double reference = s->last_regularization / fmax(square, s->last_regularization * s->last_regularization);
    point best = inside((point){.c1 = 0.1, .c2 = 0.6, .log_step = log(reference)});
    judge(s, &best);
    for (size_t i = 0; i < sizeof decays / sizeof *decays; i += stride)
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j += stride)
            for (size_t k = 0; k < STEPS; k += stride) {
                double low = fmax(0.5, decays[i]), high = 1 - decays[i];
                try_point(s,
                          (point){.c1 = decays[i],
                                  .c2 = low + shares[j] * (high - low),
                                  .log_step = log(reference) + ((double)k - 12) * 0.7},
                          &best);
            }
    return best;
}

/* Fine: one parameter after another, with steps that shrink when none of them helps. */
static point refine(const search *s, point best) {
    double reach = 1;
    for (int i = 0; i < 120 && reach > 1e-3; i++) {
        point before = best;
        const point moves[] = {{reach * 0.05, 0, 0, 0},  {-reach * 0.05, 0, 0, 0}, {0, reach * 0.05, 0, 0},
                               {0, -reach * 0.05, 0, 0}, {0, 0, reach * 0.5, 0},   {0, 0, -reach * 0.5, 0}};
        for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
            try_point(s,
                      (point){.c1 = before.c1 + moves[m].c1,
                              .c2 = before.c2 + moves[m].c2,
                              .log_step = before.log_step + moves[m].log_step},
                      &best);
        if (!(best.merit < before.merit))
            reach /= 2;
    }
    return best;
}

/* Noise that hides a whole agent grows with the horizon, from the planned one: as T for Gaussian and as T^2 for Laplace
 * noise. */
static search search_at(const tc_bound_setting *setting, const tc_plan *plan, double planned, double rounds) {
    search s = {.setting = *setting, .rounds = rounds, .effort = tc_bound_quick_effort};
    s.last_regularization = setting->schedule.regularization * pow(rounds, -setting->schedule.regularization_decay);
    if (plan->adjacency == TC_ADJACENCY_AGENT && plan->mechanism != TC_MECHANISM_NONE) {
        double longer = rounds / planned;
        s.setting.constants.noise *= plan->mechanism == TC_MECHANISM_GAUSSIAN ? longer : longer * longer;
    }
    return s;
}

/* The least power of ten that is a horizon with a bound of at most `part` of D_z^2, by bisection over powers. */
static double horizon(const tc_bound_setting *setting, const tc_plan *plan, double planned, double part,
                      const tc_monitor *monitor) {
    double enough = part * setting->constants.diameter * setting->constants.diameter;
    int low = 0, high = 64;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        search s = search_at(setting, plan, planned, pow(10, middle));
        if (tc_interrupted(monitor))
            return HUGE_VAL;
        if (coarse(&s, 2).merit <= enough)
            high = middle;
        else
            low = middle;
    }
    return high == 64 ? HUGE_VAL : pow(10, high);
}

/* A number with few digits, as a person would type it; down: never above. */
static double rounded(double value, int digits, bool down) {
    double unit = pow(10, floor(log10(value)) - digits + 1);
    char text[40];
    (void)snprintf(text, sizeof text, "%.*g", digits, down ? floor(value / unit) * unit : value);
    return strtod(text, NULL);
}

tc_bound_suggestion tc_bound_suggest(tc_arena *arena, const tc_bound_setting *setting, double rounds, double within,
                                     const tc_plan *plan, const tc_monitor *monitor) {
    tc_bound_suggestion suggestion = {.possible_from = HUGE_VAL, .useful_from = HUGE_VAL};
    if (setting->constants.problem != NULL || !isfinite(setting->constants.noise) || !(rounds >= 2))
        return suggestion;
    tc_progress(monitor, "searching for a schedule", 0);
    search s = search_at(setting, plan, rounds, rounds);
    point best = coarse(&s, 1);
    s.effort.ratio = 1 + 0x1p-5;
    judge(&s, &best);
    best = refine(&s, best);
    best.c1 = round(best.c1 * 1000) / 1000;
    best.c2 = round(best.c2 * 1000) / 1000;
    best = inside(best);
    tc_schedule schedule = schedule_of(&s, &best);
    schedule.regularization = rounded(schedule.regularization, 5, true);
    schedule.step = rounded(schedule.step, 4, false);
    tc_bound_setting chosen = s.setting;
    chosen.schedule = schedule;
    suggestion.made = true;
    suggestion.schedule = schedule;
    suggestion.estimate = tc_bound_estimate_at(arena, &chosen, rounds, within, plan);
    tc_progress(monitor, "searching for a horizon", 0.5);
    suggestion.possible_from = horizon(setting, plan, rounds, TC_BOUND_WORTH, monitor);
    suggestion.useful_from = horizon(setting, plan, rounds, 0.01, monitor);
    return suggestion;
}
