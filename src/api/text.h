/* Texts for callers live outside of arenas, which are about to be freed. */
#ifndef TC_API_TEXT_H
#define TC_API_TEXT_H

/* For tacit_text_free. NULL where memory is out. */
char *tc_own_text(const char *text);

#endif
