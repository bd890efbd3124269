/* SQLite's write-ahead log as SQLite reads it at the next start: up to the first frame that is damaged, and without a
 * word. So what lies behind is looked for here. */
#ifndef TC_SERVE_JOURNAL_WAL_H
#define TC_SERVE_JOURNAL_WAL_H

#include "base/arena.h"

/* What of the log at this path SQLite will not believe, as a sentence; NULL: nothing. pages: what the log has room for
 * from its beginning on. Only reads, before the database is opened. */
const char *tc_wal_doubt(tc_arena *arena, const char *path, unsigned pages);

#endif
