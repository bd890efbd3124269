/* The card for people. */
#include "base/text.h"
#include "promise/card.h"
#include "plan/words.h"

#include <string.h>

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
    return tc_arena_format(arena, "%s, unit %s, %s", word, card->unit, tc_promise_text(arena, card->plan));
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
        put_first(card, "hides", card->word == TC_WORD_VOID ? "Would hide" : "Hides", out);
        put_short(out, "Does not hide",
                  card->claim == 'A'
                      ? "an agent's data (its objective, its limits, a need): a change of those goes on in every later "
                        "message, and its distance grows beyond B. --adjacency agent is for that."
                      : "what several agents do together, and that an agent takes part");
        put_short(out, "Who pays most", payer_text(out->arena, card));
    }
    put_first(card, "random_source", "Random source", out);
    put_short(out, "Trusted", "the cloud, which sees all states; each agent's own machine; AES-256 and HKDF-SHA256");
    put_first(card, "warnings", "Warnings", out);
    rule(out);
    wrap(out, where, 0);
}
