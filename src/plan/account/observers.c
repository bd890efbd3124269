/* The price of each observer over the whole run, jointly over all it sees, and the plan's prices for other
 * distances. */
#include "plan/planner.h"
#include "model/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- observers --------------------------------------------------------------------------------------------------- */

enum { FEW_AGENTS = 20 };

/* Where more families than this are agents alone, a view that shows more bounds what each of them pays, if its own
 * price would take a pass over all others. */
enum { MANY_ALONE = 1000 };

/* An agent declared alone that has no released entry of its own sees what is made of the constraints. Its price is the
 * largest over the other families, and one pass over all agents finds it for every such agent. */
typedef struct tc_lone_price {
    bool *has_entries;    /* by family */
    size_t largest;       /* the family that costs most */
    double first, second; /* its price, and that of the family after it */
    double with_entries;  /* of many: at least what an agent with released entries of its own pays */
} tc_lone_price;

static tc_pricing pricing_of(const tc_planner *p) {
    const tc_plan *plan = p->plan;
    return (tc_pricing){.sensitivity = p->sensitivity,
                        .mechanism = plan->mechanism,
                        .unit = plan->adjacency,
                        .reach = p->reach,
                        .channels = plan->channels,
                        .channel_count = plan->channel_count};
}

static bool pays_for_all_together(const tc_plan *plan) {
    return plan->mechanism == TC_MECHANISM_GAUSSIAN && plan->adjacency == TC_ADJACENCY_ENSEMBLE;
}

static const tc_lone_price *price_alone(const tc_planner *p) {
    const tc_plan *plan = p->plan;
    tc_pricing pricing = pricing_of(p);
    tc_viewer constraints = {.any_of = UINT32_MAX}, all = tc_eavesdropper();
    tc_lone_price *made = TC_NEW(p->arena, tc_lone_price, 1);
    made->has_entries = TC_NEW(p->arena, bool, p->model->family_count);
    bool entries = false;
    for (size_t i = 0; i < plan->channel_count; i++)
        if (plan->channels[i].kind == TC_CHANNEL_JACOBIAN)
            entries = made->has_entries[plan->channels[i].family] = true;
    if (entries && p->model->family_count > MANY_ALONE)
        made->with_entries = tc_price_view(&pricing, &all);
    if (pays_for_all_together(plan)) {
        made->first = made->second = tc_price_view(&pricing, &constraints);
        return made;
    }
    double *worst = TC_NEW(p->arena, double, p->model->family_count);
    tc_price_families(&pricing, &constraints, worst);
    for (size_t f = 0; f < p->model->family_count; f++) {
        bool most = worst[f] > made->first;
        made->second = fmax(made->second, most ? made->first : worst[f]);
        made->first = fmax(made->first, worst[f]);
        made->largest = most ? f : made->largest;
    }
    return made;
}

/* Whether this viewer is an agent that price_alone has, and what it pays. */
static bool is_alone(tc_planner *p, const tc_viewer *viewer, double *amount) {
    bool many = p->model->family_count > MANY_ALONE;
    if (viewer->everything || viewer->agent_count != 1 || viewer->any_of != UINT32_MAX ||
        (pays_for_all_together(p->plan) && !many))
        return false;
    const tc_family *of = tc_family_of_agent(p->model, viewer->agents[0]);
    size_t family = (size_t)(of - p->model->families);
    if (of->count > 1)
        return false;
    if (p->alone == NULL)
        p->alone = price_alone(p);
    bool own = p->alone->has_entries[family];
    *amount = own ? p->alone->with_entries : family == p->alone->largest ? p->alone->second : p->alone->first;
    return !own || many;
}

/* What a viewer pays for one unit of distance, or in the unit agent for one round. For placement states: the price of
 * all that is released. */
static double plan_price(tc_planner *p, const tc_viewer *viewer) {
    const tc_plan *plan = p->plan;
    double amount;
    if (!tc_noises_states(plan)) {
        if (is_alone(p, viewer, &amount))
            return amount;
        tc_pricing pricing = pricing_of(p);
        return tc_price_view(&pricing, viewer);
    }
    /* All that anyone sees is made from x-hat, so its price bounds every other. */
    for (; p->priced < plan->channel_count; p->priced++)
        p->states_price =
            fmax(p->states_price, tc_div_up(plan->channels[p->priced].sensitivity, plan->channels[p->priced].scale));
    return p->states_price;
}

static void price(const tc_planner *p, double amount, double *epsilon, double *delta, double *gdp,
                  double *delta_at_asked) {
    const tc_plan *plan = p->plan;
    *gdp = *delta_at_asked = NAN;
    *epsilon = amount;
    *delta = 0;
    if (plan->mechanism == TC_MECHANISM_GAUSSIAN) {
        *gdp = amount;
        *delta = plan->delta;
        *epsilon = amount == 0 ? 0 : tc_gaussian_epsilon(amount, tc_noise_delta(plan));
        *delta_at_asked = amount == 0 ? 0 : tc_gaussian_delta(plan->epsilon, amount).hi;
    }
    if (plan->last != NULL && amount > 0) {
        *delta = plan->delta;
        if (plan->mechanism == TC_MECHANISM_GAUSSIAN)
            *delta_at_asked = tc_add_up(tc_div_up(*delta_at_asked, TC_LEAST_KEPT), plan->last->delta);
    }
}

/* What the rounds cost, with the last one, which everybody sees alike. */
static double with_last(const tc_plan *plan, double amount) {
    bool none = plan->last == NULL || plan->mechanism == TC_MECHANISM_NONE;
    return none ? amount : tc_with_last(plan, amount, plan->last->price);
}

/* viewer NULL: no agent is outside, so there is nothing to learn. */
static void observe(tc_planner *p, tc_observer_kind kind, const char *who, const char *about, const tc_viewer *viewer) {
    tc_plan *plan = p->plan;
    tc_observer *made = &plan->observers[plan->observer_count++];
    const size_t *agents = viewer != NULL ? viewer->agents : NULL;
    size_t agent_count = viewer != NULL ? viewer->agent_count : 0;
    *made = (tc_observer){
        .kind = kind, .who = who, .about = about, .agents = agents, .agent_count = agent_count, .each_of = UINT32_MAX};
    double amount = viewer == NULL ? 0
                    : plan->mechanism == TC_MECHANISM_NONE
                        ? (double)INFINITY
                        : with_last(plan, tc_mul_up(p->multiplier, plan_price(p, viewer)));
    amount = amount == 0 ? 0 : amount;                      /* not -0 */
    for (size_t i = 0; i + 1 < plan->observer_count; i++) { /* the same view, the same price */
        if (plan->observers[i].gdp == amount) {
            *made = plan->observers[i];
            made->kind = kind;
            made->who = who;
            made->about = about;
            made->agents = agents;
            made->agent_count = agent_count;
            made->each_of = UINT32_MAX;
            return;
        }
    }
    price(p, amount, &made->epsilon, &made->delta, &made->gdp, &made->delta_at_asked);
}

static const char *name_of(tc_planner *p, const tc_family *family, size_t member) {
    tc_buffer name = tc_buffer_new(p->arena, 4096);
    tc_agent_name(&name, family, member);
    return tc_buffer_text(&name);
}

static void observe_family(tc_planner *p, uint32_t f, const char *about) {
    const tc_family_stream *stream = &p->streams->families[f];
    const tc_family *family = stream->family;
    bool same = stream->alike && stream->singled_members == 0;
    if (p->model->agent_count <= FEW_AGENTS && !(same && family->count > 1)) {
        for (size_t k = 0; k < family->count; k++) {
            size_t *agent = TC_NEW(p->arena, size_t, 1);
            *agent = family->first_agent + k;
            tc_viewer viewer = {.agents = agent, .agent_count = 1, .any_of = UINT32_MAX};
            observe(p, TC_OBSERVER_AGENT, name_of(p, family, k), about, &viewer);
        }
        return;
    }
    const char *who = family->count == 1 ? name_of(p, family, 0)
                                         : tc_arena_format(p->arena, "each of %s .. %s", name_of(p, family, 0),
                                                           name_of(p, family, family->count - 1));
    size_t *agent = TC_NEW(p->arena, size_t, 1);
    *agent = family->first_agent;
    bool exact = same || family->count == 1; /* one member stands for all; otherwise a bound that holds for each */
    tc_viewer viewer = {.agents = exact ? agent : NULL, .agent_count = exact, .any_of = exact ? UINT32_MAX : f};
    observe(p, TC_OBSERVER_AGENT, who, about, &viewer);
    if (family->count > 1)
        p->plan->observers[p->plan->observer_count - 1].each_of = f;
}

/* ---- coalitions -------------------------------------------------------------------------------------------------- */

static bool find_member(const tc_family *family, const char *name, size_t *member) {
    for (size_t k = 0; family->member_names != NULL && k < family->count; k++) {
        if (strcmp(family->member_names[k], name) == 0) {
            *member = k;
            return true;
        }
    }
    size_t length = strlen(family->name);
    if (strncmp(family->name, name, length) != 0)
        return false;
    *member = 0;
    if (!family->is_family)
        return name[length] == '\0';
    char *end;
    unsigned long number = name[length] == '[' ? strtoul(name + length + 1, &end, 10) : 0;
    if (number == 0 || number > family->count || strcmp(end, "]") != 0)
        return false;
    *member = (size_t)number - 1;
    return true;
}

static bool find_agent(const tc_model *model, const char *name, size_t *agent) {
    for (size_t f = 0; f < model->family_count; f++) {
        size_t member;
        if (find_member(&model->families[f], name, &member)) {
            *agent = model->families[f].first_agent + member;
            return true;
        }
    }
    return false;
}

static int compare_agents(const void *x, const void *y) {
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return a < b ? -1 : a > b;
}

static void observe_coalition(tc_planner *p, const char *text, const char *about) {
    size_t most = 1, count = 0;
    for (const char *c = text; *c != '\0'; c++)
        most += *c == ',';
    size_t *agents = TC_NEW(p->arena, size_t, most);
    tc_buffer who = tc_buffer_new(p->arena, 1 << 16);
    for (const char *at = text; at != NULL && *at != '\0';) {
        const char *comma = strchr(at, ',');
        size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        while (length > 0 && *at == ' ') {
            at++;
            length--;
        }
        while (length > 0 && at[length - 1] == ' ')
            length--;
        const char *name = tc_arena_copy(p->arena, at, length);
        if (!find_agent(p->model, name, &agents[count])) {
            tc_refuse(p, true, "no agent is called '%.200s' (coalition '%.200s')", name, text);
            return;
        }
        bool again = false;
        for (size_t i = 0; i < count; i++)
            again = again || agents[i] == agents[count];
        if (!again)
            tc_buffer_printf(&who, "%s%s", count++ > 0 ? " + " : "", name);
        at = comma != NULL ? comma + 1 : NULL;
    }
    qsort(agents, count, sizeof *agents, compare_agents);
    tc_viewer viewer = {.agents = agents, .agent_count = count, .any_of = UINT32_MAX};
    bool alone = count == p->model->agent_count;
    observe(p, TC_OBSERVER_COALITION, tc_buffer_text(&who), alone ? "nobody is outside" : about,
            alone ? NULL : &viewer);
    tc_observer *made = &p->plan->observers[p->plan->observer_count - 1];
    made->agents = agents;
    made->agent_count = count;
}

void tc_account_observers(tc_planner *p) {
    tc_plan *plan = p->plan;
    if (p->last != NULL) {
        tc_viewer everybody = tc_eavesdropper();
        plan->last->price = tc_mul_up(plan->last->multiplier, plan_price(p->last, &everybody));
    }
    bool together = plan->adjacency == TC_ADJACENCY_ENSEMBLE;
    const char *others = together ? "all other agents together" : "any other agent";
    size_t most = p->model->agent_count <= FEW_AGENTS ? p->model->agent_count : p->model->family_count;
    plan->observers = TC_NEW(p->arena, tc_observer, most + p->options->coalition_count + 2);
    for (uint32_t f = 0; f < p->model->family_count; f++)
        observe_family(p, f, others);
    for (size_t i = 0; i < p->options->coalition_count && plan->problem == NULL; i++)
        observe_coalition(p, p->options->coalitions[i], together ? "all outside together" : "any agent outside");
    if (plan->problem != NULL)
        return;
    const char *anyone = together ? "all agents together" : "any agent";
    tc_viewer all = tc_eavesdropper();
    observe(p, TC_OBSERVER_EAVESDROPPER, "eavesdropper", anyone, &all);
    tc_viewer constraints = {.any_of = UINT32_MAX}; /* the multipliers are made from g-hat alone */
    observe(p, TC_OBSERVER_STATUS, "status page", anyone, &constraints);
}

/* ---- the translation table: the prices at which the same noise hides other things than its planned unit ---------- */

/* last: the part of the last round, whose noise has bounds. What moves its numbers further than was planned can be told
 * with more than the plan's delta. */
static double epsilon_of(const tc_plan *plan, double amount, double last) {
    if (plan->last != NULL &&
        tc_bounded_delta(plan->mechanism, last, plan->last->rows, plan->last->cut) > tc_delta_of_bounds(plan))
        return INFINITY;
    bool converts = plan->mechanism == TC_MECHANISM_GAUSSIAN && amount > 0;
    return converts ? tc_gaussian_epsilon(amount, tc_noise_delta(plan)) : amount;
}

static void add_price(tc_planner *p, const char *what, double distance, double amount, double last) {
    tc_plan *plan = p->plan;
    tc_price *made = &plan->prices[plan->price_count++];
    *made = (tc_price){.what = what,
                       .distance = distance,
                       .epsilon = epsilon_of(plan, amount, last),
                       .delta = plan->mechanism == TC_MECHANISM_GAUSSIAN || plan->last != NULL ? plan->delta : 0};
}

/* Whether a channel of states is of another family than the only one that counts. */
static bool is_of_others(const tc_planner *p, const tc_channel *channel, const tc_family *only) {
    return only != NULL && &p->model->families[channel->family] != only;
}

/* Epsilon, or gdp, of everything one agent can do in one round. only: an agent of this family; NULL: of any. */
static double whole_agent(tc_planner *p, const tc_family *only) {
    const tc_plan *plan = p->plan;
    tc_viewer all = tc_eavesdropper();
    if (!tc_noises_states(plan)) {
        tc_pricing pricing = {.sensitivity = p->sensitivity,
                              .mechanism = plan->mechanism,
                              .unit = TC_ADJACENCY_AGENT,
                              .channels = plan->channels,
                              .channel_count = plan->channel_count,
                              .only = only};
        return tc_price_view(&pricing, &all);
    }
    double worst = 0;
    const tc_caps *caps = tc_planned_caps(p, plan->state_exponent);
    for (size_t i = 0; i < plan->channel_count; i++)
        if (!is_of_others(p, &plan->channels[i], only))
            worst = fmax(worst, tc_div_up(tc_state_reach(p, &plan->channels[i], caps), plan->channels[i].scale));
    return worst;
}

/* One coordinate in one round by d: two lattice states that differ there, by d, so rounding is paid once (step d). */
static double one_state(tc_planner *p, double distance, const tc_family *only) {
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
                              .channel_count = plan->channel_count,
                              .only = only};
        double amount = tc_mul_up(distance, tc_price_view(&pricing, &all));
        p->sensitivity->lattice = kept;
        return amount;
    }
    double worst = 0;
    for (size_t i = 0; i < plan->channel_count; i++)
        if (!is_of_others(p, &plan->channels[i], only))
            worst = fmax(worst, tc_div_up(distance, plan->channels[i].scale));
    return worst;
}

/* One state by its whole range, and all of one agent's in one released number, to first order. */
static double whole_ranges(tc_planner *p, double width) {
    const tc_plan *plan = p->plan;
    tc_viewer all = tc_eavesdropper();
    if (tc_noises_states(plan)) /* each state is a number of its own */
        return one_state(p, width, NULL);
    tc_pricing pricing = {.sensitivity = p->sensitivity,
                          .mechanism = plan->mechanism,
                          .unit = TC_ADJACENCY_ONE,
                          .channels = plan->channels,
                          .channel_count = plan->channel_count};
    return tc_price_range(&pricing, &all);
}

/* With the last round, if there is one: whoever does something else in a round has another average too. */
static double and_last(const tc_plan *plan, double amount, double last) {
    return plan->last != NULL ? tc_with_last(plan, amount, last) : amount;
}

/* One state of one message of a round, which the average follows; agent, last: the price of all that its agent can do
 * in a round, and in the last one. *own is the part of the last round. */
static double one_message(tc_planner *p, double distance, const tc_family *only, double hold, double agent, double last,
                          double *own) {
    double amount = tc_mul_up(hold, fmin(one_state(p, distance, only), agent));
    *own = p->last != NULL ? fmin(one_state(p->last, tc_last_distance(p->plan, distance), only), last) : 0;
    return and_last(p->plan, amount, *own);
}

static void add_message(tc_planner *p, const char *what, double distance, double hold, double agent, double last) {
    double own = 0, amount = one_message(p, distance, NULL, hold, agent, last, &own);
    add_price(p, what, distance, amount, own);
}

static double widest_of(const tc_family *family) {
    double most = 0;
    bool varies = !tc_same_boxes(family);
    for (size_t c = 0; c < family->dim; c++) {
        for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++)
            most = fmax(most, tc_add_up(tc_coef_at(family->upper[c], k), -tc_coef_at(family->lower[c], k)));
    }
    return varies ? tc_largest_of(family, most) : most;
}

static double widest(const tc_model *model) {
    double most = 0;
    for (size_t f = 0; f < model->family_count; f++)
        most = fmax(most, widest_of(&model->families[f]));
    return most;
}

/* The largest distance one agent can make in one round, in the mechanism's norm. */
static double furthest(tc_planner *p) {
    double worst = 0;
    const tc_caps *caps = tc_planned_caps(p, p->plan->state_exponent);
    for (uint32_t f = 0; f < p->model->family_count; f++) {
        tc_channel whole = {.kind = TC_CHANNEL_STATES, .family = f, .member_count = p->model->families[f].count};
        worst = fmax(worst, tc_state_reach(p, &whole, caps));
    }
    return worst;
}

static const char *number(tc_planner *p, double value) { return tc_arena_format(p->arena, "%.10g", value); }

static const char *rounds_text(tc_planner *p, double rounds) {
    return rounds == 1 ? "one round" : tc_arena_format(p->arena, "%s rounds", number(p, rounds));
}

/* Prices are at most proportional to distances; and ten steps by as far as planned, each within the ranges of data, go
 * ten times as far. */
static void add_ten_times(tc_planner *p) {
    const tc_plan *plan = p->plan;
    tc_viewer all = tc_eavesdropper();
    double amount = with_last(plan, tc_mul_up(p->multiplier, plan_price(p, &all))), more = 10, far = 0;
    const char *what;
    for (size_t f = 0; plan->distances != NULL && f < plan->model->family_count; f++)
        far = fmax(far, tc_mul_up(more, plan->distances[f].distance));
    if (plan->adjacency == TC_ADJACENCY_DATA)
        what = "one agent's data, ten times as far as it protects them";
    else if (plan->adjacency == TC_ADJACENCY_WITHIN)
        what = tc_arena_format(p->arena, "ten times the planned distance, %s in every round", number(p, far));
    else
        what = tc_arena_format(p->arena, "ten times the planned distance, %s in all",
                               number(p, more * plan->adjacency_bound));
    add_price(p, what, plan->distances != NULL ? far : tc_mul_up(more, plan->adjacency_bound), tc_mul_up(more, amount),
              plan->last != NULL ? tc_mul_up(more, plan->last->price) : 0);
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
    double step = ldexp(1, plan->state_exponent), unit = fmin(1, width), agent = whole_agent(p, NULL);
    double last = p->last != NULL ? whole_agent(p->last, NULL) : 0;
    if (plan->last != NULL)
        plan->last->agent = last;
    plan->range_price = tc_mul_up(hold, whole_ranges(p, width));
    if (p->last != NULL)
        plan->range_price =
            tc_with_last(plan, plan->range_price, tc_mul_up(tc_average_follows(plan), whole_ranges(p->last, width)));
    plan->message_price = and_last(plan, tc_mul_up(hold, agent), last);
    plan->agent_price =
        isnan(plan->rounds)
            ? (double)INFINITY
            : and_last(plan, tc_mul_up(gaussian ? tc_sqrt_up(plan->rounds) : plan->rounds, agent), last);
    /* States outside of an enforced set are moved, by a map that does not keep distances: docs/proofs/publicset.md. */
    const char *where = tc_relies_on_caps(plan) ? " within its public set" : "";
    if (unit >= step)
        add_message(p,
                    tc_arena_format(p->arena, "one state of one agent in one round%s, by %s", where, number(p, unit)),
                    unit, hold, agent, last);
    if (width > unit)
        add_message(p,
                    tc_arena_format(p->arena, "one state of one agent in one round%s, by all its box allows (%s)",
                                    where, number(p, width)),
                    width, hold, agent, last);
    if (plan->adjacency != TC_ADJACENCY_AGENT)
        add_ten_times(p);
    bool knows_days = p->options->rounds_per_day >= 1;
    double reach = furthest(p), part = knows_days ? p->options->rounds_per_day : floor(plan->rounds / 10);
    const char *part_text = knows_days ? ", a day" : ", a tenth of the run";
    const double spans[] = {1, part, plan->rounds};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        double rounds = spans[i];
        if (!(rounds >= 1) || rounds > plan->rounds || (i > 0 && rounds == spans[i - 1]))
            continue;
        /* A held message is used in later rounds too, but a round uses one message of an agent. */
        double uses = fmin(tc_mul_up(rounds, tc_hold_l1(plan->hold_cap)), plan->rounds);
        const char *what = i == 2 ? tc_arena_format(p->arena, "everything one agent could do in the whole run (%s)",
                                                    rounds_text(p, rounds))
                                  : tc_arena_format(p->arena, "everything one agent could do in %s%s",
                                                    rounds_text(p, rounds), i == 1 ? part_text : "");
        add_price(p, what, tc_mul_up(gaussian ? tc_sqrt_up(rounds) : rounds, reach),
                  and_last(plan, tc_mul_up(gaussian ? tc_sqrt_up(uses) : uses, agent), last), last);
    }
}

/* ---- by family --------------------------------------------------------------------------------------------------- */

enum { MOST_FAMILIES = 64 }; /* each takes a pass over all agents */

void tc_account_families(tc_planner *p) {
    tc_plan *plan = p->plan;
    size_t count = p->model->family_count;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    if (plan->mechanism == TC_MECHANISM_NONE || plan->channel_count == 0 || count < 2 || count > MOST_FAMILIES)
        return;
    double hold = gaussian ? tc_hold_l2(plan->hold_cap) : tc_hold_l1(plan->hold_cap);
    double rounds = gaussian ? tc_sqrt_up(plan->rounds) : plan->rounds; /* NAN where not known */
    plan->family_prices = TC_NEW(p->arena, tc_family_price, count);
    plan->family_price_count = count;
    for (size_t f = 0; f < count; f++) {
        const tc_family *family = &p->model->families[f];
        double range = widest_of(family), agent = whole_agent(p, family);
        double last = p->last != NULL ? whole_agent(p->last, family) : 0, own = 0;
        double state = one_message(p, range, family, hold, agent, last, &own);
        plan->family_prices[f] = (tc_family_price){
            .family = family->name,
            .members = family->count,
            .range = range,
            .state_epsilon = epsilon_of(plan, state, own),
            .round_epsilon = epsilon_of(plan, and_last(plan, tc_mul_up(hold, agent), last), last),
            .run_epsilon = isnan(plan->rounds)
                               ? (double)NAN
                               : epsilon_of(plan, and_last(plan, tc_mul_up(rounds, agent), last), last)};
    }
}
