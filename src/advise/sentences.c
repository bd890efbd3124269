/* Advice in words. Numbers of the problem are in its own units. */
#include "advise/advise.h"

#include "plan/account/account.h"

static const tc_row_accuracy *row_of(const tc_way *way) { return &way->accuracy->rows[way->worst]; }

static const char *law(tc_mechanism mechanism) { return mechanism == TC_MECHANISM_GAUSSIAN ? "Gaussian" : "Laplace"; }

static const char *price_text(tc_arena *arena, const tc_advice *advice, const tc_way *way, double epsilon) {
    const char *number = tc_digits(arena, epsilon, 3);
    return tc_has_delta(advice, way->mechanism) ? tc_arena_format(arena, "epsilon %s (delta %g)", number, advice->delta)
                                                : tc_arena_format(arena, "epsilon %s", number);
}

const char *tc_tolerance_text(tc_arena *arena, const tc_advice_wish *wish) {
    const char *amount = tc_digits(arena, wish->is_share ? 100 * wish->tolerance : wish->tolerance, 4);
    const char *where = wish->constraint == NULL ? "each constraint" : wish->constraint;
    return wish->is_share ? tc_arena_format(arena, "at most %s %% of the limit of %s", amount, where)
                          : tc_arena_format(arena, "at most %s in %s", amount, where);
}

/* ---- the recommendation ------------------------------------------------------------------------------------------ */

/* The cheapest way of another unit that does it; NULL for none. */
static const tc_way *another_way(const tc_advice *advice) {
    const tc_way *found = NULL;
    for (size_t i = 0; i < advice->way_count; i++) {
        const tc_way *way = &advice->ways[i];
        bool does = !way->is_asked && way->problem == NULL && way->needed <= TC_WEAK_EPSILON;
        if (does && (found == NULL || way->needed < found->needed))
            found = way;
    }
    return found;
}

/* "2140 agents (limits grown alike), 80000 rounds, or hiding one:7.4 at epsilon 0.03" */
static const char *what_would(tc_arena *arena, const tc_advice *advice) {
    const tc_way *other = another_way(advice);
    const tc_advised_rounds *rounds = &advice->rounds;
    tc_buffer list = tc_buffer_new(arena, 1 << 12);
    const char *between = "";
    if (advice->agents.needed > advice->agents.now && advice->agents.needed < 1e12) {
        tc_buffer_printf(&list, "about %s agents, their limits grown alike, at epsilon %s",
                         tc_digits(arena, advice->agents.needed, 2), tc_digits(arena, advice->reference, 3));
        between = ", or ";
    }
    if (rounds->needed > rounds->now && rounds->needed < 1e12) {
        tc_buffer_printf(&list, "%s%s rounds at epsilon %s", between, tc_digits(arena, rounds->needed, 2),
                         tc_digits(arena, advice->reference, 3));
        between = ", or ";
    }
    if (other != NULL)
        tc_buffer_printf(&list, "%shiding %s with %s noise at %s", between, other->promised.text, law(other->mechanism),
                         price_text(arena, advice, other, other->needed));
    return list.length == 0 ? NULL : tc_buffer_text(&list);
}

/* "38.7 of 800 (4.8 %), and 83 of 800 (10 %) more are missing after 500 rounds," */
static const char *left_text(tc_arena *arena, const tc_advice *advice, const tc_way *way, double epsilon) {
    double doubt = tc_doubt_at(advice, way, way->worst, epsilon),
           missing = tc_missing_at(advice, way, way->worst, epsilon);
    const char *text = tc_doubt_text(arena, doubt, row_of(way));
    if (!tc_is_missed(doubt, missing))
        return text;
    return tc_arena_format(arena, "%s, and about %s more is missing after %s rounds,", text,
                           tc_doubt_text(arena, missing, row_of(way)), tc_digits(arena, advice->rounds.now, 6));
}

static const char *nothing_does(tc_arena *arena, const tc_advice *advice) {
    const tc_way *best = advice->best;
    const char *would = what_would(arena, advice);
    double most = advice->is_capped ? advice->reference : TC_WEAK_EPSILON;
    const char *why =
        advice->name_only != NULL
            ? tc_arena_format(arena, "%s would, and promise next to nothing: %s",
                              price_text(arena, advice, best, advice->epsilon), advice->name_only)
            : tc_arena_format(arena, "at epsilon %s the best, %s noise, leaves %s in %s", tc_digits(arena, most, 3),
                              law(best->mechanism), left_text(arena, advice, best, most), row_of(best)->name);
    return tc_arena_format(arena, "No epsilon up to %s that hides %s leaves a doubt of %s: %s%s%s%s.",
                           tc_digits(arena, most, 3), best->promised.text, tc_tolerance_text(arena, &advice->wish), why,
                           would == NULL ? "" : "; ", would == NULL ? "" : would, would == NULL ? "" : " would do");
}

/* Of a last round, which is part of the price. */
static const char *move_text(tc_arena *arena, const tc_advice *advice) {
    if (isnan(advice->most_move))
        return "";
    return tc_arena_format(arena,
                           "; its last round, %s %% of %s, moves results by about %s %% of the way to the Slater point "
                           "where a constraint is at its limit, and by at most %s %% where all hold",
                           tc_digits(arena, 100 * advice->plan->last->share, 3),
                           advice->best->mechanism == TC_MECHANISM_GAUSSIAN ? "the square of mu" : "epsilon",
                           tc_digits(arena, 100 * advice->usual_move, 3), tc_text_up(arena, 100 * advice->most_move));
}

static const char *recommend_one(tc_arena *arena, const tc_advice *advice) {
    const tc_way *best = advice->best;
    if (!advice->reaches)
        return nothing_does(arena, advice);
    bool fewer_do = advice->rounds.power >= 0 && advice->rounds.enough < advice->rounds.now;
    const char *unreached = tc_unreached_text(arena, &advice->told);
    return tc_arena_format(
        arena,
        "Take %s noise with %s to hide %s: after %s rounds%s it leaves a doubt of %s in %s, the worst "
        "constraint%s%s%s%s%s%s.%s",
        law(best->mechanism), price_text(arena, advice, best, advice->epsilon), best->promised.text,
        tc_digits(arena, advice->rounds.now, 6),
        unreached == NULL && !fewer_do && !isnan(advice->told.missing) ? ", which are enough to settle," : "",
        tc_doubt_text(arena, advice->told.doubt, &advice->told), advice->told.name, unreached == NULL ? "" : ", ",
        unreached == NULL ? "" : unreached, fewer_do ? "; about " : "",
        fewer_do ? tc_digits(arena, advice->rounds.enough, 3) : "", fewer_do ? " rounds would be enough" : "",
        move_text(arena, advice),
        advice->instead_of == NULL
            ? ""
            : tc_arena_format(arena,
                              " To hide %s costs as much and promises less: here it counts as all "
                              "that the public box allows.",
                              advice->instead_of->promised.text));
}

const char *tc_recommend(tc_arena *arena, const tc_advice *advice) {
    const char *first = recommend_one(arena, advice);
    return advice->other == NULL
               ? first
               : tc_arena_format(arena, "%s Another promise: %s", first, recommend_one(arena, advice->other));
}

/* ---- the reasons ------------------------------------------------------------------------------------------------- */

const char *tc_rounds_sentence(tc_arena *arena, const tc_advice *advice) {
    const tc_advised_rounds *rounds = &advice->rounds;
    const char *enough = tc_digits(arena, rounds->enough, 3);
    if (rounds->power < 0)
        return tc_arena_format(arena,
                               "Rounds: the doubt falls as one over the square root of their number, so four times as "
                               "many halve it. The method itself needs about %s.",
                               enough);
    if (rounds->power == 0)
        return tc_arena_format(arena,
                               "Rounds: about %s are enough for the method, and more do not help. All rounds share one "
                               "promise: each gets more noise, and averaging takes away just that.",
                               enough);
    return tc_arena_format(arena,
                           "Rounds: about %s are enough for the method, and more do harm: all rounds share one "
                           "promise, and averaged Laplace noise grows with the square root of their number.",
                           enough);
}

const char *tc_agents_sentence(tc_arena *arena, const tc_advice *advice) {
    const tc_advised_agents *agents = &advice->agents;
    if (isnan(agents->needed) && row_of(advice->best)->is_unreached)
        return "Agents: the run does not settle in its rounds, and nothing is said about how it would with more "
               "agents.";
    if (isnan(agents->needed))
        return "Agents: constraints are not made of sums over families alone, so nothing is said about more of them.";
    return tc_arena_format(arena,
                           "Agents: at epsilon %s about %s would do, where there are %s. That assumes families and "
                           "limits that grow alike; the noise then %s.",
                           tc_digits(arena, advice->reference, 3), tc_digits(arena, agents->needed, 2),
                           tc_digits(arena, agents->now, 6),
                           agents->power > 0 ? "grows with the square root of the number of agents, more slowly than "
                                               "the limits"
                                             : "stays as it is, since it hides one agent and not their number");
}

/* Their doubts say nothing of each other. */
static const char *two_promises(tc_arena *arena, const tc_way *way, bool is_alone) {
    tc_plan other = *way->plan;
    bool gaussian = way->mechanism == TC_MECHANISM_GAUSSIAN;
    other.mechanism = gaussian ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
    const tc_promised_unit with = tc_promised(arena, &other);
    return tc_arena_format(arena,
                           "Noise: %s is %s a round of a change in all %s rounds; with %s noise it would be %s, %s a "
                           "round. These are two promises, and their doubts are not compared.%s%s%s",
                           way->promised.text, tc_digits(arena, way->promised.every_round, 3),
                           tc_digits(arena, way->plan->rounds, 6), law(other.mechanism), with.text,
                           tc_digits(arena, with.every_round, 3), is_alone ? " Advice on the other: --mechanism " : "",
                           is_alone ? tc_mechanism_name(other.mechanism) : "", is_alone ? "." : "");
}

/* The two ways of the asked unit. */
static size_t find_asked(const tc_advice *advice, const tc_way *found[2]) {
    size_t count = 0;
    for (size_t i = 0; i < advice->way_count; i++)
        if (advice->ways[i].is_asked && advice->ways[i].problem == NULL)
            found[count++] = &advice->ways[i];
    return count;
}

const char *tc_noise_sentence(tc_arena *arena, const tc_advice *advice) {
    const tc_way *ways[2];
    if (advice->best->promised.norm != NULL)
        return two_promises(arena, advice->best, advice->other == NULL);
    if (find_asked(advice, ways) < 2)
        return NULL;
    double e = advice->reference;
    const tc_way *less =
        tc_doubt_at(advice, ways[0], ways[0]->worst, e) <= tc_doubt_at(advice, ways[1], ways[1]->worst, e) ? ways[0]
                                                                                                           : ways[1];
    const tc_way *more = less == ways[0] ? ways[1] : ways[0];
    return tc_arena_format(
        arena, "Noise: at epsilon %s %s noise leaves %s in %s, %s noise %s times as much.%s", tc_digits(arena, e, 3),
        law(less->mechanism), tc_doubt_text(arena, tc_doubt_at(advice, less, less->worst, e), row_of(less)),
        row_of(less)->name, law(more->mechanism),
        tc_digits(arena, tc_doubt_at(advice, more, less->worst, e) / tc_doubt_at(advice, less, less->worst, e), 2),
        less->mechanism == TC_MECHANISM_GAUSSIAN ? " It has an allowance, delta: P(S) <= e^epsilon P'(S) + delta."
                                                 : "");
}

const char *tc_home_sentence(tc_arena *arena, const tc_advice *advice) {
    const tc_way *best = advice->best;
    if (!isfinite(best->at_home))
        return NULL;
    if (best->accuracy->is_on_states)
        return "Trust: this noise is on states, so agents could add it themselves, and the cloud need not be trusted.";
    return tc_arena_format(arena,
                           "Trust: if each agent added the noise to its own states, and nobody had to trust the cloud, "
                           "the same doubt would cost %s in the place of %s.",
                           price_text(arena, advice, best, best->at_home),
                           price_text(arena, advice, best, best->needed));
}
