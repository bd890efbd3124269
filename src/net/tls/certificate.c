#include "net/tls/certificate.h"

#include "net/tls/identity.h"

#include <openssl/ec.h>
#include <openssl/rand.h>
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

/* Not through a configuration text, whose commas and colons a name could contain. */
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

static bool add_names(tc_arena *arena, X509 *certificate, const tc_certificate_wish *wish) {
    const char **uris = TC_NEW(arena, const char *, wish->name_count + 1);
    for (size_t i = 0; i < wish->name_count; i++) {
        tc_buffer uri = tc_buffer_new(arena, 4096);
        tc_identity_uri(&uri, wish->names[i]);
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
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, and always of the same length */
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
        shown--; /* not inside a character */
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
