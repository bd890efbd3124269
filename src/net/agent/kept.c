#include "net/agent/kept.h"

#include "net/files.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN = 8, DIGEST = RUN + TC_RUN_ID };
_Static_assert(TC_KEPT_HEADER == DIGEST + SHA256_DIGEST_LENGTH, "the header is the three fields");

static const char MAGIC[8] = {'t', 'a', 'c', 'i', 't', 'k', 'p', '1'};

static const char *old_of(tc_arena *arena, const char *path) { return tc_arena_format(arena, "%s.old", path); }

static bool digest_of(const unsigned char *bytes, size_t size, unsigned char digest[SHA256_DIGEST_LENGTH]) {
    EVP_MD_CTX *sum = EVP_MD_CTX_new();
    bool good = sum != NULL && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(sum, bytes + RUN, TC_RUN_ID) == 1 &&
                EVP_DigestUpdate(sum, bytes + TC_KEPT_HEADER, size - TC_KEPT_HEADER) == 1 &&
                EVP_DigestFinal_ex(sum, digest, NULL) == 1;
    EVP_MD_CTX_free(sum);
    return good;
}

static bool is_whole(const unsigned char *bytes, size_t size) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    return size >= TC_KEPT_HEADER && memcmp(bytes, MAGIC, sizeof MAGIC) == 0 && digest_of(bytes, size, digest) &&
           memcmp(digest, bytes + DIGEST, sizeof digest) == 0;
}

static tc_status read_one(tc_arena *arena, const char *path, tc_buffer *messages, unsigned char **bytes, size_t *size) {
    tc_status status = tc_private_file_check(path, messages);
    *bytes = NULL;
    if (status != TC_OK)
        return status;
    status = tc_whole_file(arena, path, bytes, size);
    if (status == TC_OK && *bytes != NULL && is_whole(*bytes, *size))
        return TC_OK;
    if (status == TC_OK && *bytes == NULL)
        return TC_OK;
    tc_buffer_printf(messages,
                     "the copy of the agent's file '%s' %s%s; restore it, or delete it to go on with the file as it is "
                     "now\n",
                     path, status == TC_OK ? "is damaged" : "cannot be read: ", status == TC_OK ? "" : strerror(errno));
    return TC_CANNOT_READ;
}

tc_status tc_kept_read(tc_arena *arena, const char *path, const unsigned char run[TC_RUN_ID], tc_buffer *messages,
                       unsigned char **bytes, size_t *size) {
    const char *const paths[] = {path, old_of(arena, path)};
    for (size_t i = 0; i < 2; i++) {
        tc_status status = read_one(arena, paths[i], messages, bytes, size);
        if (status != TC_OK || (*bytes != NULL && memcmp(*bytes + RUN, run, TC_RUN_ID) == 0))
            return status;
    }
    *bytes = NULL;
    return TC_OK;
}

static bool write_in(tc_arena *arena, const char *path, bool aside, const unsigned char *bytes, size_t size) {
    tc_buffer unsaid = tc_buffer_new(arena, 1 << 16);
    if (aside && rename(path, old_of(arena, path)) != 0 && errno != ENOENT)
        return false;
    return tc_private_file_write(arena, path, bytes, size, &unsaid) == TC_OK;
}

bool tc_kept_write(const char *path, const unsigned char run[TC_RUN_ID], bool aside, unsigned char *bytes,
                   size_t size) {
    memcpy(bytes, MAGIC, sizeof MAGIC);
    memcpy(bytes + RUN, run, TC_RUN_ID);
    tc_arena *arena = tc_arena_new(0);
    errno = ENOMEM;
    if (arena == NULL)
        return false;
    tc_escape escape;
    bool volatile written = false;
    if (TC_TRY(arena, &escape) == TC_OK)
        written = digest_of(bytes, size, bytes + DIGEST) && write_in(arena, path, aside, bytes, size);
    int error = errno;
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    errno = error;
    return written;
}

void tc_kept_forget(const char *path) {
    char old[4096];
    if (snprintf(old, sizeof old, "%s.old", path) < (int)sizeof old)
        (void)unlink(old);
}
