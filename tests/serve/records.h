/* Records of TLS 1.3 made by hand, so that a test can say what no library would: key updates without end, records that
 * hold nothing, alerts that mean nothing. The handshake is OpenSSL's; its secret comes out by the callback for key
 * logs. Suite TLS_AES_128_GCM_SHA256 alone. */
#ifndef TC_TESTS_SERVE_RECORDS_H
#define TC_TESTS_SERVE_RECORDS_H

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_SECRET = 32, RECORD_KEY = 16, RECORD_IV = 12, RECORD_TAG = 16, RECORD_MOST = 5 + 16384 + 1 + 255 + 16 };
enum { RECORD_ALERT = 21, RECORD_HANDSHAKE = 22, RECORD_DATA = 23 };

typedef struct records { /* what a client says after its handshake */
    unsigned char secret[RECORD_SECRET], key[RECORD_KEY], iv[RECORD_IV];
    uint64_t sequence;
    bool is_known;
} records;

/* HKDF-Expand-Label of RFC 8446 without a context, up to one hash long. */
static inline void records_derive(const unsigned char *secret, const char *label, unsigned char *out, size_t size) {
    unsigned char info[64], block[EVP_MAX_MD_SIZE];
    size_t length = strlen(label), at = 0;
    unsigned block_size = 0;
    info[at++] = 0;
    info[at++] = (unsigned char)size;
    info[at++] = (unsigned char)(6 + length);
    memcpy(info + at, "tls13 ", 6);
    memcpy(info + at + 6, label, length);
    at += 6 + length;
    info[at++] = 0;
    info[at++] = 1;
    (void)HMAC(EVP_sha256(), secret, RECORD_SECRET, info, at, block, &block_size);
    memcpy(out, block, size);
}

static inline void records_rekey(records *r) {
    records_derive(r->secret, "key", r->key, RECORD_KEY);
    records_derive(r->secret, "iv", r->iv, RECORD_IV);
    r->sequence = 0;
}

static inline void records_keylog(const SSL *ssl, const char *line) {
    records *r = SSL_get_app_data(ssl);
    static const char mark[] = "CLIENT_TRAFFIC_SECRET_0 ";
    if (r == NULL || strncmp(line, mark, sizeof mark - 1) != 0)
        return;
    const char *hex = strrchr(line, ' ') + 1;
    for (size_t i = 0; i < RECORD_SECRET && strlen(hex) == 2 * RECORD_SECRET; i++) {
        unsigned byte = 0;
        (void)sscanf(hex + 2 * i, "%2x", &byte);
        r->secret[i] = (unsigned char)byte;
    }
    records_rekey(r);
    r->is_known = true;
}

/* Before the handshake. */
static inline bool records_listen(SSL_CTX *context) {
    SSL_CTX_set_keylog_callback(context, records_keylog);
    return SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1;
}

/* One record into out, which has RECORD_MOST bytes: content, its type, and so many zeros. Returns its size. */
static inline size_t records_seal(records *r, unsigned char type, const void *content, size_t size, size_t padding,
                                  unsigned char *out) {
    static unsigned char inner[16384 + 1 + 255];
    unsigned char nonce[RECORD_IV];
    size_t whole = size + 1 + padding, sealed = whole + RECORD_TAG;
    int wrote = 0;
    if (size > 0)
        memcpy(inner, content, size);
    inner[size] = type;
    memset(inner + size + 1, 0, padding);
    memcpy(nonce, r->iv, RECORD_IV);
    for (unsigned i = 0; i < 8; i++)
        nonce[RECORD_IV - 1 - i] ^= (unsigned char)(r->sequence >> (8 * i));
    r->sequence++;
    out[0] = RECORD_DATA;
    out[1] = out[2] = 3;
    out[3] = (unsigned char)(sealed >> 8);
    out[4] = (unsigned char)sealed;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    bool good = cipher != NULL && EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, r->key, nonce) == 1 &&
                EVP_EncryptUpdate(cipher, NULL, &wrote, out, 5) == 1 &&
                EVP_EncryptUpdate(cipher, out + 5, &wrote, inner, (int)whole) == 1 &&
                EVP_EncryptFinal_ex(cipher, out + 5 + whole, &wrote) == 1 &&
                EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, RECORD_TAG, out + 5 + whole) == 1;
    EVP_CIPHER_CTX_free(cipher);
    return good ? 5 + sealed : 0;
}

/* A key update; asks: the other side is to answer with one of its own. */
static inline size_t records_update(records *r, bool asks, unsigned char *out) {
    const unsigned char message[5] = {24, 0, 0, 1, asks ? 1 : 0};
    size_t size = records_seal(r, RECORD_HANDSHAKE, message, sizeof message, 0, out);
    unsigned char next[RECORD_SECRET];
    records_derive(r->secret, "traffic upd", next, RECORD_SECRET);
    memcpy(r->secret, next, RECORD_SECRET);
    records_rekey(r);
    return size;
}

#endif
