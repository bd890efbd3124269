/* Certificates that connections have shown. A gateway's names a thousand agents and takes 200 KiB when it is taken
 * apart: that is done once, and all connections with the same certificate share the result, and OpenSSL's own copy. */
#include "serve/link/link_parts.h"

#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>

static tc_ring *bucket(tc_links *links, const unsigned char hash[TC_HOLDER_HASH]) {
    return &links->holders[(hash[0] | hash[1] << 8) % TC_HOLDER_BUCKETS];
}

static tc_holder *find(tc_links *links, const unsigned char hash[TC_HOLDER_HASH]) {
    tc_ring *all = bucket(links, hash);
    for (tc_ring *at = all->after; at != all; at = at->after) {
        tc_holder *holder = (tc_holder *)(void *)at;
        if (memcmp(holder->hash, hash, TC_HOLDER_HASH) == 0)
            return holder;
    }
    return NULL;
}

static tc_holder *make(tc_links *links, X509 *certificate, const unsigned char hash[TC_HOLDER_HASH]) {
    tc_holder *made = calloc(1, sizeof *made);
    tc_identity *identity = made == NULL ? NULL : tc_identity_new(certificate);
    if (identity == NULL || X509_up_ref(certificate) != 1) {
        tc_identity_free(identity);
        free(made);
        return NULL;
    }
    *made = (tc_holder){.certificate = certificate, .identity = identity};
    memcpy(made->hash, hash, TC_HOLDER_HASH);
    tc_ring_clear(&made->ring);
    tc_ring_join(bucket(links, hash), &made->ring);
    return made;
}

void tc_holder_drop(tc_holder *holder) {
    if (holder == NULL || --holder->links > 0)
        return;
    tc_ring_leave(&holder->ring);
    X509_free(holder->certificate);
    tc_identity_free(holder->identity);
    free(holder);
}

bool tc_holder_find(tc_link *link, X509 *certificate) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (link->holder != NULL)
        return true;
    if (certificate == NULL || X509_digest(certificate, EVP_sha256(), hash, &size) != 1 || size != TC_HOLDER_HASH)
        return false;
    tc_holder *found = find(link->links, hash);
    if (found == NULL)
        found = make(link->links, certificate, hash);
    if (found == NULL)
        return false;
    found->links++;
    link->holder = found;
    return true;
}

static void exchange(STACK_OF(X509) * chain, X509 *own, X509 *shared) {
    if (chain == NULL || sk_X509_num(chain) < 1 || sk_X509_value(chain, 0) != own || own == shared ||
        X509_up_ref(shared) != 1)
        return;
    (void)sk_X509_set(chain, 0, shared);
    X509_free(own);
}

/* OpenSSL has made an object of what this connection sent. Where the same certificate is here already, that one takes
 * its place, in what was sent and in what was checked; both hold their own reference. */
int tc_holder_verify(X509_STORE_CTX *check, void *context) {
    (void)context;
    int good = X509_verify_cert(check);
    SSL *ssl = X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx());
    tc_link *link = ssl == NULL ? NULL : SSL_get_app_data(ssl);
    X509 *own = X509_STORE_CTX_get0_cert(check);
    if (good != 1 || link == NULL || !tc_holder_find(link, own))
        return good;
    exchange(X509_STORE_CTX_get0_chain(check), own, link->holder->certificate);
    exchange(X509_STORE_CTX_get0_untrusted(check), own, link->holder->certificate);
    return good;
}

size_t tc_link_alike(const tc_link *link) { return link->holder == NULL ? 0 : link->holder->open; }

bool tc_link_is_alike(const tc_link *one, const tc_link *other) {
    return one->holder != NULL && one->holder == other->holder;
}
