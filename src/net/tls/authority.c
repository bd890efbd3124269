#include "net/tls/certificate.h"

#include "net/files.h"
#include "net/message.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DAY = 86400, EARLIER = 3600 }; /* certificates begin an hour ago, since clocks differ */

static time_t now_of(const tc_authority_settings *settings) {
    return settings != NULL && settings->now != 0 ? settings->now : time(NULL);
}

static time_t until_of(const tc_authority_settings *settings, bool authority) {
    int days = authority ? TC_AUTHORITY_DAYS : TC_PARTY_DAYS;
    int wanted = settings == NULL ? 0 : authority ? settings->authority_days : settings->party_days;
    return now_of(settings) + (time_t)(wanted == 0 ? days : wanted) * DAY;
}

static bool exists(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0;
}

static tc_status read_authority(tc_arena *arena, const char *folder, tc_buffer *messages, tc_credential *authority) {
    const char *path = tc_arena_format(arena, "%s/authority/identity.pem", folder);
    if (!exists(path)) {
        tc_buffer_printf(messages, "there is no authority in '%s': tacit keys init makes one\n", folder);
        return TC_BAD_USAGE;
    }
    return tc_certificate_read(arena, path, true, messages, authority);
}

/* identity.pem is written last: a folder that has it is complete. */
static tc_status write_party(tc_arena *arena, const char *party, const tc_credential *authority,
                             const tc_certificate_wish *wish, tc_buffer *messages) {
    tc_credential made = {0}, trusted = {.certificate = authority->certificate};
    tc_status status = tc_certificate_make(arena, wish, authority, &made);
    if (status == TC_OK)
        status = tc_private_folder(party, messages);
    if (status == TC_OK)
        status = tc_certificate_write(arena, tc_arena_format(arena, "%s/authority.pem", party), &trusted, messages);
    if (status == TC_OK)
        status = tc_certificate_write(arena, tc_arena_format(arena, "%s/identity.pem", party), &made, messages);
    return status;
}

static tc_status make_folders(tc_arena *arena, const char *folder, tc_buffer *messages) {
    tc_status status = tc_private_folder(folder, messages);
    if (status == TC_OK)
        status = tc_private_folder(tc_arena_format(arena, "%s/authority", folder), messages);
    if (status == TC_OK)
        status = tc_private_folder(tc_arena_format(arena, "%s/agents", folder), messages);
    return status;
}

tc_status tc_authority_init(tc_arena *arena, const char *folder, const tc_authority_settings *settings,
                            tc_buffer *messages) {
    const char *path = tc_arena_format(arena, "%s/authority/identity.pem", folder);
    if (exists(path)) {
        tc_buffer_printf(messages, "'%s' has an authority already\n", folder);
        return TC_BAD_USAGE;
    }
    tc_status status = make_folders(arena, folder, messages);
    tc_certificate_wish wish = {.kind = TC_CERTIFICATE_AUTHORITY,
                                .label = "tacit authority",
                                .from = now_of(settings) - EARLIER,
                                .until = until_of(settings, true)};
    tc_credential authority = {0};
    if (status == TC_OK)
        status = tc_certificate_make(arena, &wish, NULL, &authority);
    wish.kind = TC_CERTIFICATE_CLOUD;
    wish.label = "cloud";
    wish.until = until_of(settings, false);
    if (status == TC_OK)
        status = write_party(arena, tc_arena_format(arena, "%s/cloud", folder), &authority, &wish, messages);
    if (status == TC_OK)
        status = tc_certificate_write(arena, path, &authority, messages);
    return status;
}

/* ---- issue ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static tc_status check_names(tc_arena *arena, const char *const *names, size_t count, tc_buffer *messages) {
    if (count == 0 || count > TC_MOST_CERTIFICATE_NAMES) {
        tc_buffer_printf(messages, "a certificate names 1 to %d agents\n", TC_MOST_CERTIFICATE_NAMES);
        return TC_BAD_USAGE;
    }
    const char **sorted = TC_NEW(arena, const char *, count);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = names[i];
        if (names[i][0] == 0 || strlen(names[i]) > TC_MOST_NAME) {
            tc_buffer_printf(messages, "an agent's name has 1 to %d bytes\n", TC_MOST_NAME);
            return TC_BAD_USAGE;
        }
    }
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            tc_buffer_printf(messages, "'%s' is named twice\n", sorted[i]);
            return TC_BAD_USAGE;
        }
    }
    return TC_OK;
}

static tc_status check_label(const char *label, tc_buffer *messages) {
    if (label[0] != 0 && label[0] != '.' && strlen(label) <= 200 && strchr(label, '/') == NULL &&
        strcmp(label, "cloud") != 0)
        return TC_OK;
    tc_buffer_printf(messages,
                     "'%s' cannot be the name of a certificate's folder: give another with --together LABEL\n", label);
    return TC_BAD_USAGE;
}

static const char *label_of(tc_arena *arena, const char *label, const char *name) {
    tc_buffer made = tc_buffer_new(arena, 4096);
    if (label != NULL)
        return label;
    tc_file_label(&made, name);
    return tc_buffer_text(&made);
}

static tc_status check_issue(tc_arena *arena, const char *folder, const char *label, const char *const *names,
                             size_t count, tc_buffer *messages) {
    tc_status status = check_names(arena, names, count, messages);
    if (status == TC_OK)
        status = check_label(label_of(arena, label, names[0]), messages);
    if (status != TC_OK)
        return status;
    const char *party = tc_arena_format(arena, "%s/agents/%s", folder, label_of(arena, label, names[0]));
    if (exists(tc_arena_format(arena, "%s/identity.pem", party))) {
        tc_buffer_printf(messages, "'%s' has a certificate already: tacit keys renew makes a new one\n", party);
        return TC_BAD_USAGE;
    }
    return TC_OK;
}

tc_status tc_authority_issue_each(tc_arena *arena, const char *folder, const char *const *names, size_t count,
                                  const tc_authority_settings *settings, tc_buffer *messages) {
    tc_credential authority = {0};
    const char **labels = TC_NEW(arena, const char *, count);
    tc_status status = read_authority(arena, folder, messages, &authority);
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        status = check_issue(arena, folder, NULL, &names[i], 1, messages);
        labels[i] = status == TC_OK ? label_of(arena, NULL, names[i]) : NULL;
    }
    if (status != TC_OK)
        return status;
    qsort(labels, count, sizeof *labels, by_text);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(labels[i - 1], labels[i]) == 0) {
            tc_buffer_printf(messages,
                             "two of these agents would have the folder agents/%s: give one of them another with "
                             "--together LABEL\n",
                             labels[i]);
            return TC_BAD_USAGE;
        }
    }
    for (size_t i = 0; i < count && status == TC_OK; i++)
        status = tc_authority_issue(arena, folder, NULL, &names[i], 1, settings, messages);
    return status;
}

tc_status tc_authority_issue(tc_arena *arena, const char *folder, const char *label, const char *const *names,
                             size_t count, const tc_authority_settings *settings, tc_buffer *messages) {
    tc_credential authority = {0};
    tc_status status = read_authority(arena, folder, messages, &authority);
    if (status == TC_OK)
        status = check_issue(arena, folder, label, names, count, messages);
    if (status != TC_OK)
        return status;
    label = label_of(arena, label, names[0]);
    const char *party = tc_arena_format(arena, "%s/agents/%s", folder, label);
    tc_certificate_wish wish = {.kind = TC_CERTIFICATE_AGENT,
                                .label = label,
                                .names = names,
                                .name_count = count,
                                .from = now_of(settings) - EARLIER,
                                .until = until_of(settings, false)};
    return write_party(arena, party, &authority, &wish, messages);
}

/* ---- renew ---- */

typedef struct renewal {
    tc_arena *arena;
    const char *folder;
    const tc_credential *authority;
    const tc_authority_settings *settings;
    bool all_of_them;
    tc_buffer *messages;
    size_t *renewed;
} renewal;

static bool is_due(const renewal *r, const X509 *certificate) {
    time_t from, until;
    if (r->all_of_them || !tc_certificate_span(certificate, &from, &until))
        return true;
    return now_of(r->settings) >= until - (until - from) / 3;
}

static void free_identity(void *identity) { tc_identity_free(identity); }

/* Takes the names from the old certificate. Its key is not read: it may be lost or stolen. */
static tc_status renew_party(renewal *r, const char *party, tc_certificate_kind kind, const char *label) {
    tc_credential old = {0};
    const char *path = tc_arena_format(r->arena, "%s/identity.pem", party);
    tc_status status = tc_certificate_read(r->arena, path, false, r->messages, &old);
    if (status != TC_OK || !is_due(r, old.certificate))
        return status;
    tc_identity *identity = tc_identity_new(old.certificate);
    if (identity == NULL)
        return TC_NO_MEMORY;
    tc_arena_on_free(r->arena, free_identity, identity);
    size_t count = kind == TC_CERTIFICATE_AGENT ? tc_identity_count(identity) : 0;
    const char **names = TC_NEW(r->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = tc_identity_name(identity, i);
    if (kind == TC_CERTIFICATE_AGENT && count == 0) {
        tc_buffer_printf(r->messages, "'%s' names no agent\n", path);
        return TC_BAD_USAGE;
    }
    tc_certificate_wish wish = {.kind = kind,
                                .label = label,
                                .names = names,
                                .name_count = count,
                                .from = now_of(r->settings) - EARLIER,
                                .until = until_of(r->settings, false)};
    status = write_party(r->arena, party, r->authority, &wish, r->messages);
    if (status == TC_OK)
        (*r->renewed)++;
    return status;
}

static tc_status renew_agent(renewal *r, const char *label) {
    return renew_party(r, tc_arena_format(r->arena, "%s/agents/%s", r->folder, label), TC_CERTIFICATE_AGENT, label);
}

static void close_folder(void *folder) { (void)closedir(folder); }

static tc_status renew_agents(renewal *r) {
    const char *path = tc_arena_format(r->arena, "%s/agents", r->folder);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        tc_buffer_printf(r->messages, "cannot read '%s': %s\n", path, strerror(errno));
        return TC_CANNOT_READ;
    }
    tc_arena_on_free(r->arena, close_folder, folder);
    tc_status status = TC_OK;
    for (struct dirent *entry = readdir(folder); status == TC_OK && entry != NULL; entry = readdir(folder))
        if (entry->d_name[0] != '.')
            status = renew_agent(r, entry->d_name);
    return status;
}

tc_status tc_authority_renew(tc_arena *arena, const char *folder, const char *label, bool all_of_them,
                             const tc_authority_settings *settings, tc_buffer *messages, size_t *renewed) {
    tc_credential authority = {0};
    *renewed = 0;
    tc_status status = read_authority(arena, folder, messages, &authority);
    if (status != TC_OK)
        return status;
    renewal r = {arena, folder, &authority, settings, all_of_them, messages, renewed};
    bool cloud = label == NULL || strcmp(label, "cloud") == 0;
    if (cloud)
        status = renew_party(&r, tc_arena_format(arena, "%s/cloud", folder), TC_CERTIFICATE_CLOUD, "cloud");
    if (status != TC_OK || (cloud && label != NULL))
        return status;
    if (label == NULL)
        return renew_agents(&r);
    const char *path = tc_arena_format(arena, "%s/agents/%s", folder, label);
    if (!exists(path)) {
        tc_buffer_printf(messages, "no such agent: there is no folder '%s'; tacit keys issue makes it\n", path);
        return TC_BAD_USAGE;
    }
    return renew_agent(&r, label);
}
