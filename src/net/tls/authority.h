/* The folder of keys, as `tacit keys` keeps it:
 *
 *     FOLDER/authority/identity.pem       the authority's certificate and key: stays where certificates are made
 *     FOLDER/cloud/authority.pem          what a party needs is one folder, to be copied to where the party lives:
 *     FOLDER/cloud/identity.pem           whom it trusts, and its own certificate and key
 *     FOLDER/agents/LABEL/authority.pem
 *     FOLDER/agents/LABEL/identity.pem
 *
 * Folders are 0700, files 0600. Certificate and key are in one file, so that a renewal replaces both or neither. */
#ifndef TC_NET_AUTHORITY_H
#define TC_NET_AUTHORITY_H

#include "base/buffer.h"

#include <stdbool.h>
#include <time.h>

enum { TC_AUTHORITY_DAYS = 3650, TC_PARTY_DAYS = 365 };

typedef struct tc_authority_settings {
    int authority_days, party_days; /* 0: as above */
    time_t now;                     /* 0: the clock's */
} tc_authority_settings;

/* A new authority and the cloud's certificate. TC_BAD_USAGE where the folder has an authority already. */
tc_status tc_authority_init(tc_arena *arena, const char *folder, const tc_authority_settings *settings,
                            tc_buffer *messages) TC_MUST_USE;

/* One certificate that names all these agents. label: its folder's name; NULL: made from the first name. TC_BAD_USAGE
 * where the label is taken, or a name is empty, too long, or named twice. */
tc_status tc_authority_issue(tc_arena *arena, const char *folder, const char *label, const char *const *names,
                             size_t count, const tc_authority_settings *settings, tc_buffer *messages) TC_MUST_USE;

/* One certificate for each of these agents; none where one of them could not be made. */
tc_status tc_authority_issue_each(tc_arena *arena, const char *folder, const char *const *names, size_t count,
                                  const tc_authority_settings *settings, tc_buffer *messages) TC_MUST_USE;

/* New keys and certificates with the same names for the party of this label ("cloud" for the cloud's), or for all
 * (NULL); only those in the last third of their time unless all_of_them. *renewed: how many. */
tc_status tc_authority_renew(tc_arena *arena, const char *folder, const char *label, bool all_of_them,
                             const tc_authority_settings *settings, tc_buffer *messages, size_t *renewed) TC_MUST_USE;

/* "home.17" for "home[17]": the label that is made from a name. */
void tc_authority_label(tc_buffer *out, const char *name);

#endif
