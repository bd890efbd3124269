#include "net/tls/identity.h"

#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "tacit:agent:";

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("-._~", c) != NULL);
}

void tc_identity_uri(tc_buffer *out, const char *name) {
    tc_buffer_puts(out, PREFIX);
    for (; *name != 0; name++) {
        if (is_plain(*name))
            tc_buffer_add(out, name, 1);
        else
            tc_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*name);
    }
}

/* One block: the struct, the list, the texts. */
struct tc_identity {
    size_t count;
    char **names;
};

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* Writes the name and its NUL; false where the URI is not exactly as tc_identity_uri writes it. */
static bool read_uri(const char *uri, size_t length, char *name) {
    size_t prefix = sizeof PREFIX - 1;
    if (length <= prefix || memcmp(uri, PREFIX, prefix) != 0)
        return false;
    for (size_t i = prefix; i < length; i++) {
        if (is_plain(uri[i])) {
            *name++ = uri[i];
            continue;
        }
        int high = uri[i] == '%' && length - i > 2 ? hex_digit(uri[i + 1]) : -1,
            low = high < 0 ? -1 : hex_digit(uri[i + 2]);
        int byte = low < 0 ? -1 : 16 * high + low;
        if (byte <= 0 || is_plain((char)byte))
            return false;
        *name++ = (char)byte;
        i += 2;
    }
    *name = 0;
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const ASN1_IA5STRING *uri_at(const GENERAL_NAMES *all, int i) {
    int type;
    const ASN1_IA5STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all, i), &type);
    return type == GEN_URI ? value : NULL;
}

static tc_identity *collect(const GENERAL_NAMES *all) {
    int count = all == NULL ? 0 : sk_GENERAL_NAME_num(all);
    size_t texts = 0, names = 0;
    for (int i = 0; i < count; i++) {
        const ASN1_IA5STRING *uri = uri_at(all, i);
        if (uri != NULL) {
            texts += (size_t)ASN1_STRING_length(uri) + 1;
            names++;
        }
    }
    tc_identity *made = malloc(sizeof *made + names * sizeof(char *) + texts);
    if (made == NULL)
        return NULL;
    *made = (tc_identity){.names = (char **)(void *)(made + 1)};
    char *text = (char *)(made->names + names);
    for (int i = 0; i < count; i++) {
        const ASN1_IA5STRING *uri = uri_at(all, i);
        if (uri == NULL)
            continue;
        if (!read_uri((const char *)ASN1_STRING_get0_data(uri), (size_t)ASN1_STRING_length(uri), text)) {
            made->count = 0; /* a name that cannot be read may have been meant to limit the others: none counts */
            return made;
        }
        made->names[made->count++] = text;
        text += strlen(text) + 1;
    }
    if (made->count > 1)
        qsort(made->names, made->count, sizeof *made->names, by_name);
    return made;
}

tc_identity *tc_identity_new(const X509 *certificate) {
    GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    tc_identity *made = collect(all);
    GENERAL_NAMES_free(all);
    return made;
}

void tc_identity_free(tc_identity *identity) { free(identity); }

size_t tc_identity_count(const tc_identity *identity) { return identity->count; }
const char *tc_identity_name(const tc_identity *identity, size_t i) { return identity->names[i]; }

bool tc_identity_has(const tc_identity *identity, const char *name, size_t length) {
    size_t low = 0, high = identity->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *there = identity->names[middle];
        int order = strncmp(name, there, length);
        if (order == 0 && there[length] != 0)
            order = -1;
        if (order == 0)
            return memchr(name, 0, length) == NULL;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}
