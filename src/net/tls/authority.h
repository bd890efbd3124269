/* The folder of keys, as `tacit keys` keeps it:
 *
 *     FOLDER/authority/identity.pem       the authority's certificate and key: stays on the machine that issues
 *     FOLDER/cloud/authority.pem          one folder for each party, to be copied to its machine:
 *     FOLDER/cloud/identity.pem           the authority it trusts, its own certificate and key
 *     FOLDER/agents/LABEL/authority.pem
 *     FOLDER/agents/LABEL/identity.pem
 *
 * Folders have mode 0700, files 0600. Certificate and key share a file, so a renewal replaces both or neither. */
#ifndef TC_NET_TLS_AUTHORITY_H
#define TC_NET_TLS_AUTHORITY_H

#include "base/arena.h"

#include <stdbool.h>
#include <time.h>

enum { TC_AUTHORITY_DAYS = 3650, TC_PARTY_DAYS = 365 };

typedef struct tc_authority_settings {
    int authority_days, party_days; /* 0: as above */
    time_t now;                     /* 0: the system's clock */
} tc_authority_settings;

/* A new authority and the cloud's certificate. TC_BAD_USAGE if the folder already has an authority. */
tc_status tc_authority_init(tc_arena *arena, const char *folder, const tc_authority_settings *settings,
                            tc_buffer *messages) TC_MUST_USE;

/* One certificate that names all these agents. label: its folder's name; NULL: made from the first name. TC_BAD_USAGE
 * if the label is taken, or a name is empty, too long, or given twice. */
tc_status tc_authority_issue(tc_arena *arena, const char *folder, const char *label, const char *const *names,
                             size_t count, const tc_authority_settings *settings, tc_buffer *messages) TC_MUST_USE;

/* One certificate for each agent. Checks all before it makes the first. */
tc_status tc_authority_issue_each(tc_arena *arena, const char *folder, const char *const *names, size_t count,
                                  const tc_authority_settings *settings, tc_buffer *messages) TC_MUST_USE;

/* New keys and certificates with the same names, for the party of this label ("cloud": the cloud) or for all (NULL).
 * Skips certificates that are not in the last third of their life, unless all_of_them. *renewed: how many. */
tc_status tc_authority_renew(tc_arena *arena, const char *folder, const char *label, bool all_of_them,
                             const tc_authority_settings *settings, tc_buffer *messages, size_t *renewed) TC_MUST_USE;

#endif
