/* The card for people. */
#include "analysis/page.h"
#include "privacy/card.h"
#include "privacy/words.h"

enum { WIDTH = 80, TEXT_AT = 16 };
#define HEADLINE "GUARANTEE: "

static void wrap(tc_buffer *out, const char *text, size_t indent) {
    tc_page page = {.out = out, .width = WIDTH};
    tc_page_wrap(&page, text, indent, indent);
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

static const char *headline(tc_arena *arena, const tc_card *card) {
    if (!card->is_private)
        return "NOT PRIVATE";
    const char *promise = tc_promise_text(arena, card->plan);
    return tc_in_name_only(card->plan)
               ? tc_arena_format(arena, "private in name only: %s, unit %s", promise, card->unit)
               : tc_arena_format(arena, "private, unit %s, %s", card->unit, promise);
}

void tc_card_text(const tc_card *card, tc_buffer *out) {
    rule(out);
    tc_buffer_puts(out, HEADLINE);
    wrap(out, headline(out->arena, card), sizeof HEADLINE - 1);
    rule(out);
    for (size_t i = 0; i < card->item_count; i++)
        print_item(out, &card->items[i]);
    rule(out);
}
