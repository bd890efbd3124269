/* The guarantee card: what a plan promises, to whom, and what it does not promise. `tacit plan` prints it; everything
 * made with a plan includes it. */
#ifndef TC_PROMISE_CARD_H
#define TC_PROMISE_CARD_H

#include "plan/account/account.h"

typedef struct tc_card_item {
    const char *key;   /* in JSON: a string, or an array of strings where it is a list */
    const char *title; /* for people */
    bool is_list;
    const char **texts;
    size_t count;
} tc_card_item;

enum { TC_CARD_ITEMS = 24 };

typedef struct tc_card {
    const tc_plan *plan;
    tc_word_for word; /* of the plan; VOID if its noise comes from a seed */
    bool is_private;  /* the word is private */
    bool seeded;
    tc_promised_unit promised;
    char claim; /* 'A': messages within a distance; 'B': an agent entirely; 'C': an agent, within a distance in every
                 * round, or its data; 0: nothing */
    const tc_observer **observers; /* of each kind the one that pays most, and every coalition */
    size_t observer_count;
    tc_card_item items[TC_CARD_ITEMS];
    size_t item_count;
} tc_card;

/* The plan must have been made (problem is NULL). seeded: its noise is drawn from a seed. */
tc_card *tc_card_make(tc_arena *arena, const tc_plan *plan, bool seeded);

/* 80 columns each: the whole card; a short card, of at most 24 lines but for lists of data, that says where the whole
 * one is; the headline alone, without an end of line. */
void tc_card_text(const tc_card *card, tc_buffer *out);
void tc_card_short(const tc_card *card, const char *where, tc_buffer *out);
const char *tc_card_line(tc_arena *arena, const tc_card *card);
/* "guarantee": the word, the price, and what they are about, in short. card is NULL if nothing is run or promised. */
void tc_guarantee_json(const tc_card *card, const char *about, tc_json *json);
/* As an object under key. */
void tc_card_json(const tc_card *card, const char *key, tc_json *json);

/* ---- card_words.c: the sentences that depend on the unit of adjacency -------------------------------------------- */

/* Each fills texts, at most TC_WORDS_MOST, and returns how many: the promise in plain words and then exactly; what is
 * hidden, in the problem's own units; what is not hidden. */
enum { TC_WORDS_MOST = 12 };
size_t tc_words_promise(tc_arena *arena, const tc_plan *plan, const char **texts);
size_t tc_words_worth(tc_arena *arena, const tc_plan *plan, const char **texts);
size_t tc_words_not_hidden(tc_arena *arena, const tc_plan *plan, const char **texts);
/* Unit data, both complete: what is protected, from the first on, and by how much; the private data that no `protect`
 * names, and the same as a part of a sentence. */
const char *tc_words_protected(tc_arena *arena, const tc_plan *plan, size_t first);
tc_card_item tc_words_open_data(tc_arena *arena, const tc_plan *plan);
const char *tc_words_open_text(tc_arena *arena, const tc_plan *plan);

#endif
