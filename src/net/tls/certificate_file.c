/* Certificates and keys as PEM files. */
#include "net/tls/certificate.h"

#include "net/private_file.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

static void free_bytes(void *bio) { BIO_free_all(bio); }
static void free_certificate(void *certificate) { X509_free(certificate); }
static void free_key(void *key) { EVP_PKEY_free(key); }

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

/* An encrypted key would make OpenSSL ask the terminal. */
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
