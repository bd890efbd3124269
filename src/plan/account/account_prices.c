/* The translation table: what the same noise charges for hiding other things than the unit it was planned for. */
#include "plan/account/calibrate.h"
#include "plan/plan_parts.h"

static void add_price(tc_planner *p, const char *what, double distance, double amount) {
    tc_plan *plan = p->plan;
    tc_price *made = &plan->prices[plan->price_count++];
    *made = (tc_price){.what = what, .distance = distance, .epsilon = amount, .delta = 0};
    if (plan->mechanism == TC_MECHANISM_GAUSSIAN) {
        made->delta = plan->delta;
        made->epsilon = amount == 0 ? 0 : tc_gaussian_epsilon(amount, plan->delta);
    }
}

/* Epsilon, or mu, of everything one agent can do in one round. */
static double whole_agent(tc_planner *p) {
    const tc_plan *plan = p->plan;
    tc_viewer all = tc_eavesdropper();
    if (!tc_noises_states(plan)) {
        tc_pricing pricing = {.sensitivity = p->sensitivity,
                              .mechanism = plan->mechanism,
                              .unit = TC_ADJACENCY_AGENT,
                              .channels = plan->channels,
                              .channel_count = plan->channel_count};
        return tc_price_view(&pricing, &all);
    }
    double worst = 0;
    for (size_t i = 0; i < plan->channel_count; i++)
        worst = fmax(worst, tc_div_up(tc_state_reach(p, &plan->channels[i]), plan->channels[i].scale));
    return worst;
}

/* One coordinate in one round by d: two lattice states that differ there, by d, so rounding is paid once (step d). */
static double one_state(tc_planner *p, double distance) {
    const tc_plan *plan = p->plan;
    tc_viewer all = tc_eavesdropper();
    if (!tc_noises_states(plan)) {
        const tc_lattice *kept = p->sensitivity->lattice;
        tc_lattice coarse = kept != NULL ? *kept : (tc_lattice){0};
        coarse.step = distance;
        p->sensitivity->lattice = kept != NULL ? &coarse : NULL;
        tc_pricing pricing = {.sensitivity = p->sensitivity,
                              .mechanism = plan->mechanism,
                              .unit = TC_ADJACENCY_ONE,
                              .channels = plan->channels,
                              .channel_count = plan->channel_count};
        double amount = tc_mul_up(distance, tc_price_view(&pricing, &all));
        p->sensitivity->lattice = kept;
        return amount;
    }
    double worst = 0;
    for (size_t i = 0; i < plan->channel_count; i++)
        worst = fmax(worst, tc_div_up(distance, plan->channels[i].scale));
    return worst;
}

/* One state by its whole range, and all of one agent's in one released number, to first order. */
static double whole_ranges(tc_planner *p, double width) {
    const tc_plan *plan = p->plan;
    tc_viewer all = tc_eavesdropper();
    if (tc_noises_states(plan)) /* each state is a number of its own */
        return one_state(p, width);
    tc_pricing pricing = {.sensitivity = p->sensitivity,
                          .mechanism = plan->mechanism,
                          .unit = TC_ADJACENCY_ONE,
                          .channels = plan->channels,
                          .channel_count = plan->channel_count};
    return tc_price_range(&pricing, &all);
}

static double widest(const tc_model *model) {
    double most = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            for (size_t k = 0; k < (tc_same_boxes(family) ? 1 : family->count); k++)
                most = fmax(most, tc_add_up(tc_coef_at(family->upper[c], k), -tc_coef_at(family->lower[c], k)));
        }
    }
    return most;
}

/* The largest distance one agent can make in one round, in the mechanism's norm. */
static double furthest(tc_planner *p) {
    double worst = 0;
    for (uint32_t f = 0; f < p->model->family_count; f++) {
        tc_channel whole = {.kind = TC_CHANNEL_STATES, .family = f, .member_count = p->model->families[f].count};
        worst = fmax(worst, tc_state_reach(p, &whole));
    }
    return worst;
}

static const char *number(tc_planner *p, double value) { return tc_arena_format(p->arena, "%.10g", value); }

static const char *rounds_text(tc_planner *p, double rounds) {
    return rounds == 1 ? "one round" : tc_arena_format(p->arena, "%s rounds", number(p, rounds));
}

void tc_account_prices(tc_planner *p) {
    tc_plan *plan = p->plan;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    plan->prices = TC_NEW(p->arena, tc_price, 8);
    plan->range_price = plan->message_price = plan->agent_price =
        plan->mechanism == TC_MECHANISM_NONE ? (double)INFINITY : 0;
    if (plan->mechanism == TC_MECHANISM_NONE || plan->channel_count == 0)
        return;
    double hold = gaussian ? tc_hold_l2(plan->hold_cap) : tc_hold_l1(plan->hold_cap), width = widest(p->model);
    double step = ldexp(1, plan->state_exponent), unit = fmin(1, width), agent = whole_agent(p);
    plan->range_price = tc_mul_up(hold, whole_ranges(p, width));
    plan->message_price = tc_mul_up(hold, agent);
    plan->agent_price =
        isnan(plan->rounds) ? (double)INFINITY : tc_mul_up(gaussian ? tc_sqrt_up(plan->rounds) : plan->rounds, agent);
    if (unit >= step)
        add_price(p, tc_arena_format(p->arena, "one state of one agent in one round, by %s", number(p, unit)), unit,
                  tc_mul_up(hold, fmin(one_state(p, unit), agent)));
    if (width > unit)
        add_price(p,
                  tc_arena_format(p->arena, "one state of one agent in one round, by all its box allows (%s)",
                                  number(p, width)),
                  width, tc_mul_up(hold, fmin(one_state(p, width), agent)));
    if (plan->adjacency != TC_ADJACENCY_AGENT) {
        tc_viewer all = tc_eavesdropper();
        double amount = tc_mul_up(p->multiplier, tc_plan_price(p, &all)), more = 10;
        add_price(p,
                  tc_arena_format(p->arena, "ten times the planned distance, %s in all",
                                  number(p, more * plan->adjacency_bound)),
                  tc_mul_up(more, plan->adjacency_bound), tc_mul_up(more, amount));
    }
    bool knows_days = p->options->rounds_per_day >= 1;
    double reach = furthest(p), part = knows_days ? p->options->rounds_per_day : floor(plan->rounds / 10);
    const char *part_text = knows_days ? ", a day" : ", a tenth of the run";
    const double spans[] = {1, part, plan->rounds};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        double rounds = spans[i];
        if (!(rounds >= 1) || rounds > plan->rounds || (i > 0 && rounds == spans[i - 1]))
            continue;
        /* Held messages are used in later rounds too; but a round uses one message of an agent. */
        double uses = fmin(tc_mul_up(rounds, tc_hold_l1(plan->hold_cap)), plan->rounds);
        const char *what = i == 2 ? tc_arena_format(p->arena, "everything one agent could do in the whole run (%s)",
                                                    rounds_text(p, rounds))
                                  : tc_arena_format(p->arena, "everything one agent could do in %s%s",
                                                    rounds_text(p, rounds), i == 1 ? part_text : "");
        add_price(p, what, tc_mul_up(gaussian ? tc_sqrt_up(rounds) : rounds, reach),
                  tc_mul_up(gaussian ? tc_sqrt_up(uses) : uses, agent));
    }
}
