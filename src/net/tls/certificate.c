#include "net/tls/certificate.h"

#include "base/search.h"
#include "net/files.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMMON_NAME = 64, SERIAL_BYTES = 16 };

static void free_certificate(void *certificate) { X509_free(certificate); }
static void free_key(void *key) { EVP_PKEY_free(key); }

static bool add_extension(X509 *certificate, X509 *issuer, int what, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, what, value);
    bool good = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

/* Not through OpenSSL's configuration text: a name may contain its commas and colons. */
static bool add_name(GENERAL_NAMES *all, int type, const char *text) {
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *value = ASN1_IA5STRING_new();
    bool good = name != NULL && value != NULL && ASN1_STRING_set(value, text, -1) == 1;
    if (good) {
        GENERAL_NAME_set0_value(name, type, value);
        value = NULL;
        good = sk_GENERAL_NAME_push(all, name) > 0;
        if (good)
            name = NULL;
    }
    ASN1_IA5STRING_free(value);
    GENERAL_NAME_free(name);
    return good;
}

static const char PREFIX[] = "tacit:agent:";

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("-._~", c) != NULL);
}

static void write_uri(tc_buffer *out, const char *name) {
    tc_buffer_puts(out, PREFIX);
    for (; *name != 0; name++) {
        if (is_plain(*name))
            tc_buffer_add(out, name, 1);
        else
            tc_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*name);
    }
}

static bool add_names(tc_arena *arena, X509 *certificate, const tc_certificate_wish *wish) {
    const char **uris = TC_NEW(arena, const char *, wish->name_count + 1);
    for (size_t i = 0; i < wish->name_count; i++) {
        tc_buffer uri = tc_buffer_new(arena, 4096);
        write_uri(&uri, wish->names[i]);
        uris[i] = tc_buffer_text(&uri);
    }
    GENERAL_NAMES *all = GENERAL_NAMES_new();
    bool good = all != NULL;
    if (wish->kind == TC_CERTIFICATE_CLOUD)
        good = good && add_name(all, GEN_DNS, TC_CLOUD_HOST);
    for (size_t i = 0; good && i < wish->name_count; i++)
        good = add_name(all, GEN_URI, uris[i]);
    good = good && X509_add1_ext_i2d(certificate, NID_subject_alt_name, all, 0, X509V3_ADD_DEFAULT) == 1;
    GENERAL_NAMES_free(all);
    return good;
}

static bool add_extensions(tc_arena *arena, X509 *certificate, X509 *issuer, const tc_certificate_wish *wish) {
    bool authority = wish->kind == TC_CERTIFICATE_AUTHORITY;
    bool good = add_extension(certificate, issuer, NID_basic_constraints,
                              authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
                add_extension(certificate, issuer, NID_key_usage,
                              authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
                add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
                add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always");
    if (!good || authority)
        return good;
    return add_extension(certificate, issuer, NID_ext_key_usage,
                         wish->kind == TC_CERTIFICATE_CLOUD ? "serverAuth" : "clientAuth") &&
           add_names(arena, certificate, wish);
}

static bool set_serial(X509 *certificate) {
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, always of the same length */
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool good = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return good;
}

static bool set_subject(X509 *certificate, const char *label) {
    X509_NAME *subject = X509_get_subject_name(certificate);
    size_t length = strlen(label);
    int shown = (int)(length < MOST_COMMON_NAME ? length : MOST_COMMON_NAME);
    while (shown > 0 && (size_t)shown < length && ((unsigned char)label[shown] & 0xc0) == 0x80)
        shown--; /* do not cut a UTF-8 character */
    return X509_NAME_add_entry_by_NID(subject, NID_organizationName, MBSTRING_UTF8, (const unsigned char *)"tacit", -1,
                                      -1, 0) == 1 &&
           X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, (const unsigned char *)label, shown, -1,
                                      0) == 1;
}

static bool set_span(X509 *certificate, const tc_certificate_wish *wish, const tc_credential *authority) {
    time_t until = wish->until, from, last;
    if (authority != NULL && tc_certificate_span(authority->certificate, &from, &last) && until > last)
        until = last;
    return ASN1_TIME_set(X509_getm_notBefore(certificate), wish->from) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), until) != NULL;
}

tc_status tc_certificate_make(tc_arena *arena, const tc_certificate_wish *wish, const tc_credential *authority,
                              tc_credential *made) {
    made->key = EVP_EC_gen("P-256");
    if (made->key == NULL)
        return TC_NO_RANDOM;
    tc_arena_on_free(arena, free_key, made->key);
    made->certificate = X509_new();
    if (made->certificate == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, free_certificate, made->certificate);
    X509 *issuer = authority == NULL ? made->certificate : authority->certificate;
    bool good = X509_set_version(made->certificate, X509_VERSION_3) == 1 && set_serial(made->certificate) &&
                set_subject(made->certificate, wish->label) && set_span(made->certificate, wish, authority) &&
                X509_set_issuer_name(made->certificate, X509_get_subject_name(issuer)) == 1 &&
                X509_set_pubkey(made->certificate, made->key) == 1 &&
                add_extensions(arena, made->certificate, issuer, wish) &&
                X509_sign(made->certificate, authority == NULL ? made->key : authority->key, EVP_sha256()) > 0;
    return good ? TC_OK : TC_INTERNAL;
}

bool tc_certificate_span(const X509 *certificate, time_t *from, time_t *until) {
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days[2] = {0}, seconds[2] = {0};
    bool good = epoch != NULL && ASN1_TIME_diff(&days[0], &seconds[0], epoch, X509_get0_notBefore(certificate)) == 1 &&
                ASN1_TIME_diff(&days[1], &seconds[1], epoch, X509_get0_notAfter(certificate)) == 1;
    ASN1_TIME_free(epoch);
    *from = (time_t)days[0] * 86400 + seconds[0];
    *until = (time_t)days[1] * 86400 + seconds[1];
    return good;
}

/* ---- PEM files ---- */

static void free_bytes(void *bio) { BIO_free_all(bio); }

tc_status tc_certificate_write(tc_arena *arena, const char *path, const tc_credential *credential,
                               tc_buffer *messages) {
    BIO *bytes = BIO_new(BIO_s_secmem()); /* wiped when freed */
    if (bytes == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, free_bytes, bytes);
    char *text = NULL;
    if (PEM_write_bio_X509(bytes, credential->certificate) != 1 ||
        (credential->key != NULL && PEM_write_bio_PrivateKey(bytes, credential->key, NULL, NULL, 0, NULL, NULL) != 1))
        return TC_INTERNAL;
    long size = BIO_get_mem_data(bytes, &text);
    return tc_private_file_write(arena, path, text, (size_t)size, messages);
}

/* Without it OpenSSL would ask the terminal for the password of an encrypted key. */
static int no_password(char *text, int size, int writing, void *context) {
    (void)text;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

static tc_status refuse(tc_buffer *messages, const char *path, const char *why) {
    ERR_clear_error();
    tc_buffer_printf(messages, "'%s' %s\n", path, why);
    return TC_BAD_USAGE;
}

static tc_status read_parts(tc_arena *arena, BIO *bytes, const char *path, bool with_key, tc_buffer *messages,
                            tc_credential *read) {
    read->certificate = PEM_read_bio_X509(bytes, NULL, no_password, NULL);
    if (read->certificate == NULL)
        return refuse(messages, path, "holds no certificate in PEM form");
    tc_arena_on_free(arena, free_certificate, read->certificate);
    if (!with_key)
        return TC_OK;
    read->key = PEM_read_bio_PrivateKey(bytes, NULL, no_password, NULL);
    if (read->key == NULL)
        return refuse(messages, path, "holds no key in PEM form after the certificate, or one with a password");
    tc_arena_on_free(arena, free_key, read->key);
    if (X509_check_private_key(read->certificate, read->key) != 1)
        return refuse(messages, path, "holds the key of another certificate");
    return TC_OK;
}

tc_status tc_certificate_read(tc_arena *arena, const char *path, bool with_key, tc_buffer *messages,
                              tc_credential *read) {
    *read = (tc_credential){0};
    bool is_open = false;
    tc_status status = tc_private_file_is_open(path, messages, &is_open);
    if (status != TC_OK)
        return status;
    if (with_key && is_open)
        return refuse(messages, path, "holds a key and may be read by others: chmod 600");
    BIO *bytes = BIO_new_file(path, "rb");
    if (bytes == NULL) {
        int error = errno;
        ERR_clear_error();
        tc_buffer_printf(messages, "cannot read '%s': %s\n", path, strerror(error));
        return TC_CANNOT_READ;
    }
    tc_arena_on_free(arena, free_bytes, bytes);
    return read_parts(arena, bytes, path, with_key, messages, read);
}

/* ---- Names of agents ---- */

/* One block of memory: the struct, the list, the texts. */
struct tc_identity {
    size_t count;
    char **names;
};

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* Writes the name and its NUL. False unless the URI is exactly as write_uri writes it. */
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
            made->count = 0; /* an unreadable name may have been meant as a limit: ignore all names */
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

static int order_of(const char *name, size_t length, const char *there) {
    int order = strncmp(name, there, length);
    return order == 0 && there[length] != 0 ? -1 : order;
}

bool tc_identity_has(const tc_identity *identity, const char *name, size_t length) {
    size_t at;
    TC_SEARCH(at, 0, identity->count, order_of(name, length, identity->names[at]) > 0);
    return at < identity->count && order_of(name, length, identity->names[at]) == 0 && memchr(name, 0, length) == NULL;
}
