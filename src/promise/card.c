#include "promise/card.h"

#include "base/text.h"
#include "plan/account/account.h"

#include <string.h>

static const char *const mechanism_names[] = {"unset", "none", "laplace", "gaussian"};
static const char *const placement_names[] = {"auto", "outputs", "states", "forms"};
static const char *const calibration_names[] = {"tight", "published"};

static tc_card_item *item(tc_arena *arena, tc_card *card, const char *key, const char *title, bool is_list,
                          const char **texts, size_t count) {
    tc_card_item *made = &card->items[card->item_count++];
    *made = (tc_card_item){.key = key, .title = title, .is_list = is_list, .count = count};
    made->texts = TC_NEW(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        made->texts[i] = texts[i];
    return made;
}

static void say(tc_arena *arena, tc_card *card, const char *key, const char *title, const char *text) {
    (void)item(arena, card, key, title, false, &text, 1);
}

/* ---- observers -------------------------------------------------------------------------------------------------- */

/* The agent that pays most stands for all agents. */
static void choose_observers(tc_arena *arena, tc_card *card) {
    const tc_plan *plan = card->plan;
    size_t dearest[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    card->observers = TC_NEW(arena, const tc_observer *, plan->observer_count + 1);
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *observer = &plan->observers[i];
        size_t *place = &dearest[observer->kind];
        if (observer->kind == TC_OBSERVER_COALITION || *place == SIZE_MAX) {
            *place = card->observer_count;
            card->observers[card->observer_count++] = observer;
        } else if (observer->epsilon > card->observers[*place]->epsilon) {
            card->observers[*place] = observer;
        }
    }
}

static size_t agents_that_observe(const tc_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->observer_count; i++)
        count += plan->observers[i].kind == TC_OBSERVER_AGENT;
    return count;
}

static void say_observers(tc_arena *arena, tc_card *card) {
    const char **texts = TC_NEW(arena, const char *, card->observer_count + 2);
    bool several = agents_that_observe(card->plan) > 1;
    for (size_t i = 0; i < card->observer_count; i++) {
        const tc_observer *observer = card->observers[i];
        bool worst = several && observer->kind == TC_OBSERVER_AGENT;
        texts[i] = tc_arena_format(arena, "%s%s, about %s: %s%s", observer->who, worst ? " (no agent learns more)" : "",
                                   observer->about, isfinite(observer->epsilon) ? "at most " : "",
                                   tc_price_up(arena, observer->epsilon, observer->delta));
    }
    texts[card->observer_count] = TC_UNPRICED;
    (void)item(arena, card, "observers_text", "Observers", true, texts, card->observer_count + 1);
}

/* ---- the noise -------------------------------------------------------------------------------------------------- */

static void say_mechanism(tc_arena *arena, tc_card *card) {
    const tc_plan *plan = card->plan;
    if (plan->mechanism == TC_MECHANISM_NONE) {
        say(arena, card, "mechanism_text", "Mechanism", "none: what leaves the cloud carries no noise");
        return;
    }
    say(arena, card, "mechanism_text", "Mechanism",
        tc_arena_format(
            arena, "%s noise, drawn exactly and added to integers; %s",
            plan->mechanism == TC_MECHANISM_GAUSSIAN ? "Gaussian" : "Laplace",
            plan->calibration == TC_PUBLISHED
                ? "published calibration: epsilon is the price of each released system (g, and each agent's "
                  "part of the Jacobian) by itself, and whoever sees several pays for each"
                : "tight calibration: epsilon is the price of all that anyone can see together"));
    say(arena, card, "placement_text", "Placement",
        plan->placement == TC_PLACEMENT_FORMS
            ? "forms: noise is added to the sums and single states that constraints are made of; all else is "
              "computed from the noisy ones"
        : tc_noises_states(plan)
            ? "states: noise is added to the agents' states; all else is computed from the noisy states"
            : "outputs: noise is added to the constraints' values and to those entries of their Jacobian that need it");
}

static void say_random(tc_arena *arena, tc_card *card) {
    if (card->plan->mechanism == TC_MECHANISM_NONE)
        return;
    say(arena, card, "random_source", "Random source",
        card->seeded ? "A SEED, for simulation: whoever knows or guesses it can subtract the noise. NOT PRIVATE."
                     : "AES-256 in counter mode under a fresh key from the operating system; a new key each round, and "
                       "the old one destroyed");
}

/* Which equalities an agent has is private, so this is said of every plan, with the sum of most states as an example.
 */
static const char *missed_equality(tc_arena *arena, const tc_plan *plan) {
    const tc_family *widest = plan->model->families;
    for (size_t f = 0; f < plan->model->family_count; f++)
        if (plan->model->families[f].dim > widest->dim)
            widest = &plan->model->families[f];
    return tc_arena_format(arena,
                           "What is sent is less than 2^%d from an agent's state, and a bound of the box need not be a "
                           "multiple. So an equality of the agent's own set, sum of a_c x_c = b, is missed in what the "
                           "cloud gets by less than 2^%d times the sum of all |a_c|: the sum of all %zu states of '%s' "
                           "by less than %s",
                           plan->state_exponent, plan->state_exponent, widest->dim, widest->name,
                           tc_text_up(arena, (double)widest->dim * ldexp(1, plan->state_exponent)));
}

static void say_lattice(tc_arena *arena, tc_card *card) {
    const tc_plan *plan = card->plan;
    if (plan->channel_count == 0)
        return;
    int finest = plan->channels[0].step_exponent, coarsest = finest;
    for (size_t i = 1; i < plan->channel_count; i++) {
        finest = plan->channels[i].step_exponent < finest ? plan->channels[i].step_exponent : finest;
        coarsest = plan->channels[i].step_exponent > coarsest ? plan->channels[i].step_exponent : coarsest;
    }
    const char *steps = finest == coarsest ? tc_arena_format(arena, "2^%d", finest)
                                           : tc_arena_format(arena, "2^%d to 2^%d", finest, coarsest);
    const char *cost = plan->overhead > 0 ? tc_arena_format(arena,
                                                            "makes sensitivities larger by at most %s %%, which is "
                                                            "in the price",
                                                            tc_text_up(arena, 100 * plan->overhead))
                                          : "costs nothing";
    say(arena, card, "lattice_text", "Lattice",
        tc_arena_format(arena, "states are multiples of 2^%d, released numbers of %s; rounding to them %s. %s",
                        plan->state_exponent, steps, cost, missed_equality(arena, plan)));
}

static void say_hold(tc_arena *arena, tc_card *card) {
    double cap = card->plan->hold_cap;
    bool free = tc_hides_every_round(card->plan->adjacency);
    say(arena, card, "hold_policy", "Late agents",
        cap > 0 && free
            ? tc_arena_format(arena,
                              "the last message of a late agent is used again, at most %.0f times; that is in the "
                              "price of its rounds",
                              cap)
        : cap > 0
            ? tc_arena_format(arena,
                              "the last message of a late agent is used again, at most %.0f times; the price counts it "
                              "%.0f times",
                              cap, cap + 1)
            : "no message is used in a second round");
}

/* ---- assumptions ------------------------------------------------------------------------------------------------ */

static void say_assumptions(tc_arena *arena, tc_card *card) {
    static const char *const trusted[] = {
        "the cloud: its operator, its machine and its memory, where all states are in the clear",
        "each agent's own machine, for that agent",
        "AES-256, HKDF-SHA256 and the operating system's random source",
    };
    static const char *const exclusions[] = {
        "the constraints themselves: agents see prices made of them, and may learn g from those",
        "who is connected, when, and the sizes of messages",
        "what an agent shows in other ways, such as by acting on its decision",
        "other uses of the same data: each run costs again (--ledger adds them up)",
        "a running machine that is copied with its memory and resumed twice: both copies draw the same noise",
        "whoever shares the cloud's processor and watches its caches",
        "that a run ends early: if one agent's own step is no longer finite, or not proved where protected data need "
        "it, "
        "every agent sees the run stop",
    };
    const char *texts[8];
    for (size_t i = 0; i < 3; i++)
        texts[i] = trusted[i];
    (void)item(arena, card, "trusted", "Trusted", true, texts, 3);
    say(arena, card, "timing", "Timing",
        "not covered: when answers leave can tell how late the slowest agent was, unless they leave at fixed times "
        "(tacit serve --tick). A cloud draws noise rounds ahead on a thread of its own, so that drawing it tells "
        "nothing.");
    for (size_t i = 0; i < 7; i++)
        texts[i] = exclusions[i];
    (void)item(arena, card, "exclusions", "Not covered", true, texts, 7);
}

static void say_warnings(tc_arena *arena, tc_card *card) {
    (void)item(arena, card, "warnings", "Warnings", true, card->plan->warnings, card->plan->warning_count);
}

static void say_void(tc_arena *arena, tc_card *card) {
    (void)item(arena, card, "void_reasons", "NOT PRIVATE", true, card->plan->void_reasons,
               card->plan->void_reason_count);
}

static void say_promise(tc_arena *arena, tc_card *card) {
    const char *texts[TC_WORDS_MOST];
    size_t count;
    if (card->claim == 0)
        return;
    count = tc_words_promise(arena, card->plan, texts);
    (void)item(arena, card, "promise", card->word != TC_WORD_VOID ? "Promise" : "Would be", true, texts, count);
    count = tc_words_worth(arena, card->plan, texts);
    (void)item(arena, card, "hides", "Hides", true, texts, count);
    count = tc_words_not_hidden(arena, card->plan, texts);
    (void)item(arena, card, "does_not_hide", "Does not hide", true, texts, count);
}

tc_card *tc_card_make(tc_arena *arena, const tc_plan *plan, bool seeded) {
    tc_card *card = TC_NEW(arena, tc_card, 1);
    bool noise = plan->mechanism != TC_MECHANISM_NONE;
    *card = (tc_card){
        .plan = plan,
        .word = seeded ? TC_WORD_VOID : tc_judge_plan(plan),
        .seeded = seeded,
        .promised = tc_promised(arena, plan),
        .claim = !noise                                  ? '\0'
                 : plan->adjacency == TC_ADJACENCY_AGENT ? 'B'
                 : tc_hides_every_round(plan->adjacency) ? 'C'
                                                         : 'A',
    };
    card->is_private = card->word == TC_WORD_PRIVATE;
    choose_observers(arena, card);
    say_void(arena, card);
    const char *weak = tc_name_only_reason(arena, plan);
    if (card->word == TC_WORD_NAME_ONLY && weak != NULL)
        say(arena, card, "in_name_only_because", "In name only", weak);
    say_promise(arena, card);
    say_observers(arena, card);
    say_mechanism(arena, card);
    say_random(arena, card);
    say_lattice(arena, card);
    say(arena, card, "constants_text", "Constants",
        plan->constants == TC_DECLARED ? "those that the file declares, compared with certified ones"
        : tc_relies_on_caps(plan)
            ? "certified: upper bounds proved over the public box and the agents' public sets; the cloud moves a state "
              "that is outside of them into them before anything is computed, and only its agent is told"
            : "certified: upper bounds proved over the public box");
    if (plan->doubt_count > 0)
        (void)item(arena, card, "assumptions_not_proved", "Convergence", true, plan->doubts, plan->doubt_count);
    say_hold(arena, card);
    say_assumptions(arena, card);
    say_warnings(arena, card);
    return card;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void observers_json(const tc_card *card, tc_json *json) {
    tc_json_open_array(json, "observers");
    for (size_t i = 0; i < card->observer_count; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "who", card->observers[i]->who);
        tc_json_string(json, "about", card->observers[i]->about);
        tc_json_number(json, "epsilon", card->observers[i]->epsilon);
        tc_json_number(json, "delta", card->observers[i]->delta);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

void tc_guarantee_json(const tc_card *card, const char *about, tc_json *json) {
    bool priced = card != NULL && card->word != TC_WORD_VOID;
    tc_run_price price = priced ? tc_price_of_run(card->plan) : (tc_run_price){NAN, NAN, NAN, NULL};
    tc_json_open_object(json, "guarantee");
    tc_json_string(json, "about", about);
    tc_json_bool(json, "private", card != NULL && card->is_private);
    tc_json_string(json, "headline", card == NULL ? NULL : tc_card_line(json->out->arena, card));
    tc_json_number(json, "epsilon", price.epsilon);
    tc_json_number(json, "delta", price.delta);
    tc_json_close_object(json);
}

static void item_json(const tc_card_item *one, tc_json *json) {
    if (!one->is_list) {
        tc_json_string(json, one->key, one->texts[0]);
        return;
    }
    tc_json_open_array(json, one->key);
    for (size_t t = 0; t < one->count; t++)
        tc_json_string(json, NULL, one->texts[t]);
    tc_json_close_array(json);
}

void tc_card_json(const tc_card *card, const char *key, tc_json *json) {
    const tc_plan *plan = card->plan;
    tc_json_open_object(json, key);
    tc_json_bool(json, "private", card->is_private);
    tc_json_string(json, "claim", card->claim != 0 ? (const char[]){card->claim, '\0'} : NULL);
    tc_promised_json(&card->promised, json);
    tc_json_number(json, "epsilon", plan->epsilon);
    tc_json_number(json, "delta", plan->delta);
    tc_json_string(json, "epsilon_is_for", tc_epsilon_is_for(plan));
    tc_json_number(json, "epsilon_of_everything", tc_price_of_run(plan).epsilon);
    tc_json_string(json, "headline", tc_card_line(json->out->arena, card));
    tc_json_bool(json, "in_name_only", card->word == TC_WORD_NAME_ONLY);
    tc_json_number(json, "hidden_share", tc_hidden_share(plan));
    tc_json_number(json, "rounds", plan->rounds);
    tc_json_string(json, "mechanism", mechanism_names[plan->mechanism]);
    tc_json_string(json, "calibration", calibration_names[plan->calibration]);
    tc_json_string(json, "placement", placement_names[plan->placement]);
    tc_json_string(json, "constants", plan->constants == TC_DECLARED ? "declared" : "certified");
    tc_json_bool(json, "assumptions_hold", plan->doubt_count == 0);
    tc_json_bool(json, "seeded", card->seeded);
    tc_json_number(json, "hold_cap", plan->hold_cap);
    tc_json_number(json, "state_step", ldexp(1, plan->state_exponent));
    tc_json_number(json, "overhead", plan->overhead);
    observers_json(card, json);
    for (size_t i = 0; i < card->item_count; i++)
        item_json(&card->items[i], json);
    if (plan->adjacency == TC_ADJACENCY_DATA) {
        tc_card_item names = tc_words_open_data(json->out->arena, plan);
        item_json(&names, json);
    }
    tc_json_close_object(json);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

enum { WIDTH = 80, TEXT_AT = 16 };
#define HEADLINE "GUARANTEE: "

static void wrap(tc_buffer *out, const char *text, size_t indent) {
    tc_text_layout layout = {.out = out, .width = WIDTH};
    tc_layout_wrap(&layout, text, indent, indent);
}

static void rule(tc_buffer *out) {
    for (size_t i = 0; i < WIDTH; i++)
        tc_buffer_puts(out, "-");
    tc_buffer_puts(out, "\n");
}

static void print_item(tc_buffer *out, const tc_card_item *item) {
    for (size_t i = 0; i < item->count; i++) {
        bool bullets = item->is_list && item->count > 1;
        tc_buffer_printf(out, "%-*s", TEXT_AT, i == 0 ? item->title : "");
        if (bullets)
            tc_buffer_puts(out, "- ");
        wrap(out, item->texts[i], (size_t)TEXT_AT + (bullets ? 2 : 0));
    }
}

const char *tc_card_line(tc_arena *arena, const tc_card *card) {
    const char *word = tc_word_text(card->word, card->plan->adjacency);
    if (card->word == TC_WORD_VOID)
        return word;
    return tc_arena_format(arena, "%s, unit %s, %s", word, card->promised.text, tc_promise_text(arena, card->plan));
}

static void put_headline(const tc_card *card, tc_buffer *out) {
    rule(out);
    tc_buffer_puts(out, HEADLINE);
    wrap(out, tc_card_line(out->arena, card), sizeof HEADLINE - 1);
    rule(out);
}

void tc_card_text(const tc_card *card, tc_buffer *out) {
    put_headline(card, out);
    for (size_t i = 0; i < card->item_count; i++)
        print_item(out, &card->items[i]);
    rule(out);
}

/* ---- the short one ---------------------------------------------------------------------------------------------- */

static const tc_card_item *find_item(const tc_card *card, const char *key) {
    for (size_t i = 0; i < card->item_count; i++)
        if (strcmp(card->items[i].key, key) == 0)
            return &card->items[i];
    return NULL;
}

static void put_short(tc_buffer *out, const char *title, const char *text) {
    tc_buffer_printf(out, "%-*s", TEXT_AT, title);
    wrap(out, text, TEXT_AT);
}

/* The first of a list, and how many more there are. */
static void put_first(const tc_card *card, const char *key, const char *title, tc_buffer *out) {
    const tc_card_item *item = find_item(card, key);
    if (item == NULL || item->count == 0)
        return;
    put_short(out, title,
              item->count == 1 ? item->texts[0]
                               : tc_arena_format(out->arena, "%s (and %zu more)", item->texts[0], item->count - 1));
}

static void put_all(const tc_card *card, const char *key, const char *title, tc_buffer *out) {
    const tc_card_item *item = find_item(card, key);
    for (size_t i = 0; item != NULL && i < item->count; i++)
        put_short(out, i == 0 ? title : "", item->texts[i]);
}

static const char *payer_text(tc_arena *arena, const tc_card *card) {
    tc_run_price price = tc_price_of_run(card->plan);
    if (price.payer == NULL)
        return "everybody: nothing is hidden";
    return tc_arena_format(arena, "%s, about %s: %s", price.payer->who, price.payer->about,
                           tc_price_up(arena, price.epsilon, price.delta));
}

void tc_card_short(const tc_card *card, const char *where, tc_buffer *out) {
    put_headline(card, out);
    put_first(card, "void_reasons", "NOT PRIVATE", out);
    put_first(card, "in_name_only_because", "In name only", out);
    if (card->claim != 0) {
        const char *hides = card->word == TC_WORD_VOID ? "Would hide" : "Hides";
        if (card->plan->adjacency == TC_ADJACENCY_DATA)
            put_short(out, hides,
                      tc_arena_format(out->arena, "%s; all of these of one agent together, in the whole run",
                                      tc_words_protected(out->arena, card->plan, 0)));
        else
            put_all(card, "hides", hides, out);
        put_short(out, "Does not hide",
                  card->claim == 'A'
                      ? "an agent's data (its objective, its limits, a need): such a change moves every later "
                        "message, so the distance grows beyond B. --adjacency agent is for that."
                  : card->plan->adjacency == TC_ADJACENCY_DATA
                      ? tc_arena_format(out->arena,
                                        "data that no 'protect' names (%s), that an agent takes part, when it sends, "
                                        "and how it acts",
                                        tc_words_open_text(out->arena, card->plan))
                  : card->claim == 'C' ? "what differs by more in any round, and that an agent takes part"
                                       : "what several agents do together, and that an agent takes part");
        put_short(out, "Who pays most", payer_text(out->arena, card));
    }
    put_first(card, "random_source", "Random source", out);
    put_short(out, "Trusted", "the cloud, which sees all states; each agent's own machine; AES-256 and HKDF-SHA256");
    put_first(card, "warnings", "Warnings", out);
    rule(out);
    wrap(out, where, 0);
}
