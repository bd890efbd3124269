/* The sentences of the card that depend on the unit of adjacency. */
#ifndef TC_PRIVACY_CARD_WORDS_H
#define TC_PRIVACY_CARD_WORDS_H

#include "promise/card.h"

/* What is hidden, in plain words and then exactly; each a list of texts. */
size_t tc_words_promise(tc_arena *arena, const tc_plan *plan, const char **texts);
size_t tc_words_worth(tc_arena *arena, const tc_plan *plan, const char **texts);
size_t tc_words_not_hidden(tc_arena *arena, const tc_plan *plan, const char **texts);
enum { TC_WORDS_MOST = 12 };

#endif
