#include "promise/card.h"

#include "calculus/interval/interval.h"
#include "plan/account/account.h"

#include <math.h>
#include <string.h>

enum { SHOWN_RANGES = 6, SHOWN_NAMES = 4 };

static bool is_gaussian(const tc_plan *plan) { return plan->mechanism == TC_MECHANISM_GAUSSIAN; }

/* ---- ranges of the public box ----------------------------------------------------------------------------------- */

/* A plan made by hand may have none. */
static const tc_public_ranges *ranges_of(tc_arena *arena, const tc_plan *plan) {
    return plan->ranges != NULL ? plan->ranges : tc_public_ranges_find(arena, plan->model);
}

/* The widest range among a variable's components and its family's members. */
static double widest(const double *of_family, const tc_variable *variable) {
    double width = 0;
    for (size_t c = variable->first; c < variable->first + variable->length; c++)
        width = fmax(width, of_family[c]);
    return width;
}

static const char *variable_name(tc_arena *arena, const tc_family *family, const tc_variable *variable) {
    return tc_arena_format(arena, "%s.%s", family->name, variable->name);
}

/* ---- what is hidden --------------------------------------------------------------------------------------------- */

static const char *at_most(tc_arena *arena, const tc_plan *plan) {
    const char *epsilon = tc_text_up(arena, plan->epsilon);
    if (plan->delta > 0)
        return tc_arena_format(arena, "P(S) <= e^epsilon P'(S) + delta, epsilon = %s, delta = %s", epsilon,
                               tc_text_up(arena, plan->delta));
    return tc_arena_format(arena, "P(S) <= e^epsilon P'(S), epsilon = %s", epsilon);
}

static const char *who_changes(tc_adjacency unit) {
    return unit == TC_ADJACENCY_ONE ? "the messages of one agent" : "the messages of any agents, all of them together,";
}

/* P and P' are the laws of this in the exact statement. */
static const char *what_is_seen(const tc_plan *plan) {
    return plan->calibration == TC_PUBLISHED ? "any ONE released system (g, or one agent's part of the Jacobian)"
                                             : "what is seen";
}

/* An observer of several systems pays more. */
static const char *everything(tc_arena *arena, const tc_plan *plan) {
    double epsilon = tc_price_of_run(plan).epsilon;
    if (plan->calibration != TC_PUBLISHED)
        return "";
    if (!isfinite(epsilon))
        return " For all systems together there is no guarantee.";
    return tc_arena_format(arena, " For all systems together the same holds with epsilon = %s only.",
                           tc_text_up(arena, epsilon));
}

/* The same in plain words: how far the odds of a guess can change; with a delta, how far probabilities differ. */
static const char *odds(tc_arena *arena, const tc_plan *plan) {
    bool published = plan->calibration == TC_PUBLISHED;
    const char *factor = tc_text_up(arena, tc_exp_at(plan->epsilon).hi);
    const char *all = published ? tc_text_up(arena, tc_exp_at(tc_price_of_run(plan).epsilon).hi) : "";
    const char *who = published ? "Any ONE released system" : "What the cloud answers (all that anyone can see)";
    if (plan->delta > 0)
        return tc_arena_format(arena,
                               "%s makes no event more probable than e^epsilon = %s times its probability in the other "
                               "case, plus delta = %s%s%s%s.",
                               who, factor, tc_text_up(arena, plan->delta),
                               published ? "; all that the cloud answers, together, no event more than " : "", all,
                               published ? " times, plus delta" : "");
    return tc_arena_format(arena, "%s changes the odds between the two by a factor of at most e^epsilon = %s%s%s.", who,
                           factor, published ? "; all that the cloud answers, together, by a factor of at most " : "",
                           all);
}

/* Claim C. */
static size_t promise_every_round(tc_arena *arena, const tc_plan *plan, const char **texts) {
    const char *norm = is_gaussian(plan) ? "the square root of the sum of squares" : "the sum of absolute differences";
    const char *named = tc_promised(arena, plan).norm;
    named = named == NULL ? "" : tc_arena_format(arena, " in %s", named);
    if (plan->adjacency == TC_ADJACENCY_DATA) {
        texts[0] =
            tc_arena_format(arena,
                            "Claim C, about one agent's data. Somebody wonders whether an agent's protected data "
                            "were as they were, or different by no more than the file protects them, all "
                            "within their public ranges. %s",
                            odds(arena, plan));
        texts[1] = tc_arena_format(arena,
                                   "Exactly: let P and P' be the laws of what is seen in %.0f rounds for two sets of "
                                   "protected data of one agent, all others following their own rules. For every "
                                   "event S, %s.",
                                   plan->rounds, at_most(arena, plan));
        return 2;
    }
    texts[0] =
        tc_arena_format(arena,
                        "Claim C, about one agent within a distance. Somebody wonders whether an agent behaved as "
                        "it did, or, given the same answers, sent states that differ by at most %.6g%s, in every "
                        "round. %s",
                        plan->adjacency_bound, named, odds(arena, plan));
    texts[1] =
        tc_arena_format(arena,
                        "Exactly: let P and P' be the laws of what is seen in %.0f rounds for two behaviours of "
                        "one agent that, given the same earlier answers, differ in each round by at most D = "
                        "%.6g%s, measured as %s over its states, all others following their own rules. For every "
                        "event S, %s.",
                        plan->rounds, plan->adjacency_bound, named, norm, at_most(arena, plan));
    return 2;
}

size_t tc_words_promise(tc_arena *arena, const tc_plan *plan, const char **texts) {
    if (plan->distances != NULL)
        return promise_every_round(arena, plan, texts);
    if (plan->adjacency == TC_ADJACENCY_AGENT) {
        texts[0] = tc_arena_format(arena,
                                   "Claim B, about one agent entirely. Somebody wonders whether an agent behaved as it "
                                   "did, or in some other way that its public box%s allows, in all rounds. %s",
                                   tc_relies_on_caps(plan) ? " and public set" : "", odds(arena, plan));
        texts[1] =
            tc_arena_format(arena,
                            "Exactly: let P and P' be the laws of what is seen in %.0f rounds for two behaviours "
                            "of one agent, all others following their own rules. For every event S, %s.",
                            plan->rounds, at_most(arena, plan));
        return 2;
    }
    const char *bound = tc_arena_format(arena, "%.6g", plan->adjacency_bound);
    texts[0] =
        tc_arena_format(arena,
                        "Claim A, about messages. Somebody wonders whether %s were as they were, or different by "
                        "at most %s in %s over the whole run. %s",
                        plan->adjacency == TC_ADJACENCY_ONE ? "one agent's messages" : "the agents' messages", bound,
                        tc_promised(arena, plan).norm, odds(arena, plan));
    texts[1] = tc_arena_format(
        arena,
        "Exactly: let P and P' be the laws of %s when %s differ by at most B = %s, measured as %s over all "
        "states and rounds, however the messages depend on earlier answers. For every event S, %s.%s",
        what_is_seen(plan), who_changes(plan->adjacency), bound,
        is_gaussian(plan) ? "the square root of the sum of squares" : "the sum of absolute differences",
        at_most(arena, plan), everything(arena, plan));
    return 2;
}

/* ---- in the problem's own units --------------------------------------------------------------------------------- */

typedef struct same_range { /* variables whose widest ranges are equal */
    double range;
    size_t count;
    tc_buffer names;
} same_range;

static void add_name(tc_arena *arena, same_range *group, const char *name) {
    if (group->count == 0)
        group->names = tc_buffer_new(arena, (size_t)1 << 20);
    if (group->count < SHOWN_NAMES)
        tc_buffer_printf(&group->names, "%s%s", group->count == 0 ? "" : ", ", name);
    group->count++;
}

/* The last group takes the variables that do not fit; its range is then the widest of theirs. */
static size_t group_ranges(tc_arena *arena, const tc_plan *plan, same_range groups[SHOWN_RANGES]) {
    const tc_model *model = plan->model;
    const tc_public_ranges *ranges = ranges_of(arena, plan);
    size_t count = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t v = 0; v < family->variable_count; v++) {
            double range = widest(ranges->widest[f], &family->variables[v]);
            size_t at = 0;
            while (at < count && groups[at].range != range)
                at++;
            if (at == count && count < SHOWN_RANGES)
                groups[count++] = (same_range){.range = range};
            at = at < SHOWN_RANGES ? at : SHOWN_RANGES - 1;
            groups[at].range = fmax(groups[at].range, range);
            add_name(arena, &groups[at], variable_name(arena, family, &family->variables[v]));
        }
    }
    return count;
}

static const char *protected_text(tc_arena *arena, const tc_family *family, const tc_datum *datum) {
    tc_span_of_by by = tc_protected_by(family, datum);
    return tc_arena_format(arena, "%s.%s by %.6g%s%s", family->name, datum->name, by.least,
                           by.most > by.least ? " or more" : "", datum->count > 1 ? " in each component" : "");
}

const char *tc_words_protected(tc_arena *arena, const tc_plan *plan, size_t first) {
    tc_buffer out = tc_buffer_new(arena, (size_t)1 << 24);
    size_t count = 0;
    for (size_t f = 0; f < plan->model->family_count; f++) {
        const tc_family *family = &plan->model->families[f];
        for (size_t i = 0; i < family->datum_count; i++) {
            if (family->data[i].by != NULL && count++ >= first)
                tc_buffer_printf(&out, "%s%s", out.length > 0 ? ", " : "",
                                 protected_text(arena, family, &family->data[i]));
        }
    }
    return tc_buffer_text(&out);
}

/* The unit data, in the user's words: which data of whom, and by how much. The last but one has those that are left. */
static size_t worth_of_data(tc_arena *arena, const tc_plan *plan, const char **texts) {
    size_t count = 0;
    bool left = false;
    for (size_t f = 0; f < plan->model->family_count; f++) {
        const tc_family *family = &plan->model->families[f];
        for (size_t i = 0; i < family->datum_count && !left; i++) {
            const tc_datum *datum = &family->data[i];
            left = datum->by != NULL && count + 2 >= TC_WORDS_MOST;
            if (datum->by == NULL || left)
                continue;
            bool known = datum->protection.is_known;
            double from = known ? datum->protection.first_lower : tc_coef_at(datum->lower[0], 0);
            double first = known ? datum->protection.first_by : tc_coef_at(datum->by[0], 0);
            texts[count++] =
                tc_arena_format(arena, "%s%s in the whole run, however many rounds: whether it was %.6g or %.6g, say",
                                protected_text(arena, family, datum), datum->count > 1 ? "" : ",", from, from + first);
        }
    }
    if (left) {
        texts[count] = tc_words_protected(arena, plan, count);
        count++;
    }
    texts[count++] =
        "all of these of one agent together; data outside of its range is moved to the range's edge by the "
        "agent itself, and counts as the edge";
    return count;
}

static const char *persistent(tc_arena *arena, const tc_plan *plan) {
    /* messages are multiples of the step, and so is their difference */
    double step = ldexp(1, plan->state_exponent), each = tc_promised(arena, plan).every_round;
    double sent = step * floor(each / step);
    if (sent > 0)
        return tc_arena_format(arena,
                               "or messages of one state that differ by %.3g in every one of %.0f rounds (after "
                               "rounding to multiples of %.3g)",
                               sent, plan->rounds, step);
    return tc_arena_format(arena,
                           "but no change that persists in all %.0f rounds: messages are multiples of %.3g, more than "
                           "%.3g a round",
                           plan->rounds, step, each);
}

size_t tc_words_worth(tc_arena *arena, const tc_plan *plan, const char **texts) {
    same_range groups[SHOWN_RANGES];
    if (plan->adjacency == TC_ADJACENCY_DATA)
        return worth_of_data(arena, plan, texts);
    size_t count = group_ranges(arena, plan, groups);
    bool agent = plan->adjacency == TC_ADJACENCY_AGENT;
    for (size_t i = 0; i < count; i++) {
        double range = groups[i].range, change = fmin(plan->adjacency_bound, range);
        const char *names = tc_buffer_text(&groups[i].names);
        if (groups[i].count > SHOWN_NAMES)
            names = tc_arena_format(arena, "%s and %zu more", names, groups[i].count - SHOWN_NAMES);
        texts[i] =
            agent ? tc_arena_format(arena, "%s: anything within a range of %.6g, in every round", names, range)
            : plan->adjacency == TC_ADJACENCY_WITHIN
                ? tc_arena_format(arena,
                                  "%s: a change of one state by %.6g in every round, %.3g %% of its range of %.6g",
                                  names, change, range > 0 ? 100 * change / range : 100, range)
                : tc_arena_format(arena, "%s: a change of one state by %.6g in one round, %.3g %% of its range of %.6g",
                                  names, change, range > 0 ? 100 * change / range : 100, range);
    }
    if (!agent && plan->distances == NULL && !isnan(plan->rounds))
        texts[count++] = persistent(arena, plan);
    return count;
}

/* ---- what is not hidden ----------------------------------------------------------------------------------------- */

static double worst_mu(const tc_plan *plan) {
    double mu = 0;
    for (size_t i = 0; i < plan->observer_count; i++)
        mu = fmax(mu, plan->observers[i].gdp);
    return mu;
}

static void add_open(tc_arena *arena, tc_card_item *names, const char *owner, const char *name) {
    const char *text = owner != NULL ? tc_arena_format(arena, "%s.%s", owner, name) : name;
    TC_PUSH(arena, names->texts, names->count, text);
}

static bool is_protected(const tc_family *family, const char *name) {
    bool found = false;
    for (size_t i = 0; i < family->datum_count; i++)
        found = found || (family->data[i].by != NULL && strcmp(family->data[i].name, name) == 0);
    return found;
}

tc_card_item tc_words_open_data(tc_arena *arena, const tc_plan *plan) {
    const tc_model *model = plan->model;
    tc_card_item names = {.key = "not_hidden", .title = "Not hidden", .is_list = true};
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        bool is_cloud = model->role == TC_ROLE_CLOUD;
        for (size_t i = 0; i < (is_cloud ? family->datum_count : family->private_count); i++) {
            const char *name = is_cloud ? family->data[i].name : family->private_names[i];
            if (!is_protected(family, name))
                add_open(arena, &names, family->name, name);
        }
    }
    for (size_t i = 0; i < model->outside_count; i++)
        add_open(arena, &names, NULL, model->outside_names[i]);
    return names;
}

const char *tc_words_open_text(tc_arena *arena, const tc_plan *plan) {
    tc_card_item names = tc_words_open_data(arena, plan);
    tc_buffer out = tc_buffer_new(arena, (size_t)1 << 24);
    for (size_t i = 0; i < names.count; i++)
        tc_buffer_printf(&out, "%s, ", names.texts[i]);
    tc_buffer_printf(&out, "%swhat else stands in private lines", out.length > 0 ? "and " : "");
    return tc_buffer_text(&out);
}

static const char *unprotected_families(tc_arena *arena, const tc_plan *plan) {
    tc_buffer names = tc_buffer_new(arena, (size_t)1 << 24);
    for (size_t f = 0; f < plan->model->family_count; f++) {
        if (!plan->distances[f].protects)
            tc_buffer_printf(&names, "%s%s", names.length > 0 ? ", " : "", plan->model->families[f].name);
    }
    return names.length > 0 ? tc_buffer_text(&names) : NULL;
}

/* Claim C. */
static size_t not_hidden_every_round(tc_arena *arena, const tc_plan *plan, const char **texts) {
    size_t count = 0;
    bool data = plan->adjacency == TC_ADJACENCY_DATA;
    const char *open = data ? unprotected_families(arena, plan) : NULL;
    if (data) {
        texts[count++] = tc_arena_format(arena, "Data that no 'protect' names: %s.", tc_words_open_text(arena, plan));
        texts[count++] = "A protected datum that differs by more: k times as far costs epsilon (Laplace) or mu "
                         "(Gaussian) k times.";
        if (open != NULL)
            texts[count++] = tc_arena_format(arena,
                                             "Anything of %s: nothing of theirs is protected, and what only they move "
                                             "leaves almost without noise.",
                                             open);
        texts[count++] = "When an agent sends, or that it is late, where that depends on protected data.";
        texts[count++] = "What an agent shows by acting on its decision, and data that is used elsewhere.";
    } else {
        texts[count++] =
            "An agent's DATA, unless two sets of them, given the same answers, lead to states that differ by "
            "at most D in every round. k times the distance costs epsilon (Laplace) or mu (Gaussian) k times.";
    }
    texts[count++] = "What several agents do together: for k agents that change at once, epsilon (Laplace) or mu "
                     "(Gaussian) is k times as large.";
    texts[count++] = "That an agent takes part, its name and its public box.";
    return count;
}

static size_t not_hidden(tc_arena *arena, const tc_plan *plan, const char **texts) {
    if (plan->distances != NULL)
        return not_hidden_every_round(arena, plan, texts);
    if (plan->adjacency == TC_ADJACENCY_AGENT) {
        texts[0] = "What several agents do together: for k agents that change at once, epsilon (Laplace) or mu "
                   "(Gaussian) is k times as large.";
        texts[1] = "That an agent takes part, its name and its public box.";
        if (tc_relies_on_caps(plan))
            texts[1] = "That an agent takes part, its name, its public box and its public set.";
        return 2;
    }
    bool published = plan->calibration == TC_PUBLISHED;
    const char *rate = "epsilon D/B";
    if (is_gaussian(plan))
        rate = tc_arena_format(arena, "mu D/B, with mu = %s at B%s", tc_text_up(arena, worst_mu(plan)),
                               published ? " for whoever sees all" : "");
    else if (published)
        rate = tc_arena_format(arena, "%s D/B for each system, and %s D/B for whoever sees all",
                               tc_text_up(arena, plan->epsilon), tc_text_up(arena, tc_price_of_run(plan).epsilon));
    texts[0] = tc_arena_format(arena,
                               "A change of an agent's DATA (its objective, its limits, a need) is NOT hidden by this "
                               "claim. Such a change persists: it moves the agent's messages in every later round. Two "
                               "sets of data are covered only as far as, given the same answers, the messages they "
                               "lead to stay within B of each other. At distance D the price is %s.",
                               rate);
    if (isnan(plan->rounds))
        return 1;
    double agent = ranges_of(arena, plan)->agent[is_gaussian(plan)];
    double distance = agent * (is_gaussian(plan) ? sqrt(plan->rounds) : plan->rounds);
    texts[1] = tc_arena_format(arena,
                               "The largest distance that one agent could make in %.0f rounds is %.4g, that is %.3g "
                               "times B. To hide all that an agent could do, ask for --adjacency agent.",
                               plan->rounds, distance, distance / plan->adjacency_bound);
    return 2;
}

/* With the unit data the answer is proved, and always yes. */
static bool tells_of_slater(const tc_plan *plan) {
    bool is_asked = false;
    for (size_t f = 0; f < plan->model->family_count; f++)
        is_asked = is_asked || plan->model->families[f].has_slater;
    return is_asked && plan->adjacency != TC_ADJACENCY_DATA;
}

size_t tc_words_not_hidden(tc_arena *arena, const tc_plan *plan, const char **texts) {
    size_t count = not_hidden(arena, plan, texts);
    if (tells_of_slater(plan))
        texts[count++] = "Whether the public Slater point lies in an agent's set: on a network each agent says so when "
                         "it enrols, and the cloud and the readers of its log see who says no.";
    if (plan->last != NULL)
        texts[count++] = "The noise of the last round (--feasible always) has bounds. What differs k times as much as "
                         "is promised costs delta too: (e^(k epsilon) - 1) / (e^epsilon - 1) times, and what moves a "
                         "constraint by twice a bound shows.";
    return count;
}
