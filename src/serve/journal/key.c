#include "serve/journal/key.h"

#include "base/text.h"
#include "net/files.h"
#include "noise/secret.h"
#include "serve/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY = 32, DIGITS = 2 * KEY, NONCE = 12 };

struct tc_journal_key {
    unsigned char *bytes; /* KEY of them, in secret memory, and room for the key of a round */
    EVP_CIPHER_CTX *cipher;
};

/* ---- The file ---- */

static tc_status refuse(tc_buffer *messages, const char *path, const char *why) {
    tc_buffer_printf(messages, "the journal's key '%s' %s\n", path, why);
    return TC_BAD_USAGE;
}

tc_status tc_journal_key_make(tc_arena *arena, const char *path, tc_buffer *messages) {
    struct stat found;
    tc_secret_memory secret = tc_secret_new(arena);
    unsigned char *key = secret.bytes;
    char *text = (char *)secret.bytes + KEY;
    if (lstat(path, &found) == 0)
        return refuse(messages, path, "exists already, and a journal may need it: choose another file");
    if (RAND_priv_bytes(key, KEY) != 1)
        return TC_NO_RANDOM;
    for (size_t i = 0; i < KEY; i++) {
        text[2 * i] = "0123456789abcdef"[key[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[key[i] & 15];
    }
    text[DIGITS] = '\n';
    tc_status status = tc_private_file_write(arena, path, text, DIGITS + 1, messages);
    tc_secret_wipe(secret.bytes, KEY + DIGITS + 1);
    return status;
}

static int digit(unsigned char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool decode(const unsigned char *text, unsigned char *key) {
    for (size_t i = 0; i < KEY; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* As many bytes as there are, at most `room`; -1: errno says why. */
static ssize_t read_bytes(const char *path, unsigned char *bytes, size_t room) {
    size_t size = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not be waited for */
    if (descriptor < 0)
        return -1;
    ssize_t more;
    while ((more = read(descriptor, bytes + size, room - size)) > 0 || (more < 0 && errno == EINTR))
        size += more > 0 ? (size_t)more : 0;
    int error = errno;
    (void)close(descriptor);
    errno = error;
    return more < 0 ? -1 : (ssize_t)size;
}

static void free_cipher(void *cipher) { EVP_CIPHER_CTX_free(cipher); }

tc_status tc_journal_key_read(tc_arena *arena, const char *path, tc_buffer *messages, tc_journal_key **result) {
    struct stat found;
    bool is_open = false;
    *result = NULL;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return refuse(messages, path, "is a folder, not a file: `tacit keys journal FILE` makes one");
    tc_status status = tc_private_file_is_open(path, messages, &is_open);
    if (status != TC_OK)
        return status;
    if (is_open)
        return refuse(messages, path, "may be read by others: chmod 600");
    tc_journal_key *key = TC_NEW(arena, tc_journal_key, 1);
    key->bytes = tc_secret_new(arena).bytes;
    unsigned char *text = key->bytes + 4 * KEY;
    ssize_t size = read_bytes(path, text, DIGITS + 2);
    if (size < 0) {
        tc_buffer_printf(messages, "cannot read '%s': %s\n", path, strerror(errno));
        return TC_CANNOT_READ;
    }
    bool good = (size == DIGITS || (size == DIGITS + 1 && text[DIGITS] == '\n')) && decode(text, key->bytes);
    tc_secret_wipe(text, DIGITS + 2);
    if (!good)
        return refuse(messages, path,
                      "is no key: it must have 64 hexadecimal digits; `tacit keys journal FILE` makes one");
    key->cipher = EVP_CIPHER_CTX_new();
    if (key->cipher == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, free_cipher, key->cipher);
    *result = key;
    return TC_OK;
}

/* ---- What comes from it ---- */

/* Labels and texts have fixed lengths, so that no two uses have the same input. */
static bool derive(const tc_journal_key *key, const char label[8], const unsigned char *text, size_t size,
                   unsigned char derived[TC_HASH]) {
    unsigned char input[256];
    unsigned length = 0;
    if (size + 8 > sizeof input)
        return false;
    memcpy(input, label, 8);
    memcpy(input + 8, text, size);
    return HMAC(EVP_sha256(), key->bytes, KEY, input, size + 8, derived, &length) != NULL && length == TC_HASH;
}

bool tc_journal_key_name(tc_journal_key *key, const unsigned char run_id[TC_RUN_ID], unsigned char name[TC_KEY_NAME]) {
    unsigned char whole[TC_HASH];
    bool good = derive(key, "key name", run_id, TC_RUN_ID, whole);
    memcpy(name, whole, TC_KEY_NAME);
    return good;
}

bool tc_journal_key_mac(tc_journal_key *key, unsigned char digest[TC_HASH]) {
    unsigned char plain[TC_HASH];
    memcpy(plain, digest, TC_HASH);
    return derive(key, "row mac ", plain, TC_HASH, digest);
}

/* ---- A sealed round ---- */

enum { BOUND = TC_RUN_ID + 2 * TC_HASH + 8 + TC_EPOCH_ID + 16 };

/* What a round belongs to. */
static void bind(const tc_journal_run *run, const unsigned char *epoch, uint64_t round, size_t size,
                 unsigned char bound[BOUND]) {
    memcpy(bound, run->run_id, TC_RUN_ID);
    memcpy(bound += TC_RUN_ID, run->plan_hash, TC_HASH);
    memcpy(bound += TC_HASH, run->terms, TC_HASH);
    memcpy(bound += TC_HASH, epoch, 8 + TC_EPOCH_ID);
    tc_put_u64(bound += 8 + TC_EPOCH_ID, round);
    tc_put_u64(bound + 8, size);
}

/* Begins to encrypt or decrypt: the key of this round, and what is authenticated with it. A key encrypts one round, so
 * that its nonce need not be unique; it is random all the same, in case a machine was copied with its memory. */
static bool begin(tc_journal_key *key, bool encrypts, const unsigned char bound[BOUND], const unsigned char *nonce) {
    unsigned char *round_key = key->bytes + KEY;
    int ignored;
    bool good = derive(key, "sealing ", bound, BOUND, round_key) &&
                EVP_CipherInit_ex(key->cipher, EVP_aes_256_gcm(), NULL, round_key, nonce, encrypts) == 1 &&
                EVP_CipherUpdate(key->cipher, NULL, &ignored, bound, BOUND) == 1;
    tc_secret_wipe(round_key, KEY);
    return good;
}

static bool add(tc_journal_key *key, unsigned char *out, const unsigned char *in, size_t size) {
    int done = 0;
    return size == 0 || (EVP_CipherUpdate(key->cipher, out, &done, in, (int)size) == 1 && (size_t)done == size);
}

size_t tc_journal_sealed_size(const tc_journal_round *round) {
    return TC_SEAL_HEAD + TC_SEAL_NUMBERS + 8 * round->answer_count + round->snapshot_size + TC_SEAL_TAG;
}

bool tc_journal_seal(tc_journal_key *key, const tc_journal_run *run, const tc_epoch *epoch,
                     const tc_journal_round *round, const unsigned char *answers, unsigned char *sealed) {
    unsigned char bound[BOUND], numbers[TC_SEAL_NUMBERS];
    unsigned char *of_epoch = sealed + TC_KEY_NAME, *nonce = of_epoch + 8 + TC_EPOCH_ID, *out = sealed + TC_SEAL_HEAD;
    size_t size = tc_journal_sealed_size(round) - TC_SEAL_HEAD - TC_SEAL_TAG, answers_size = 8 * round->answer_count;
    int ignored;
    tc_put_u64(of_epoch, epoch->number);
    memcpy(of_epoch + 8, epoch->id, TC_EPOCH_ID);
    bind(run, of_epoch, round->round, size, bound);
    tc_put_doubles(numbers, &round->step, 1);
    tc_put_doubles(numbers + 8, &round->regularization, 1);
    tc_put_u64(numbers + 16, round->answer_count);
    return tc_journal_key_name(key, run->run_id, sealed) && RAND_bytes(nonce, NONCE) == 1 &&
           begin(key, true, bound, nonce) && add(key, out, numbers, sizeof numbers) &&
           add(key, out + TC_SEAL_NUMBERS, answers, answers_size) &&
           add(key, out + TC_SEAL_NUMBERS + answers_size, round->snapshot, round->snapshot_size) &&
           EVP_CipherFinal_ex(key->cipher, out + size, &ignored) == 1 &&
           EVP_CIPHER_CTX_ctrl(key->cipher, EVP_CTRL_AEAD_GET_TAG, TC_SEAL_TAG, out + size) == 1;
}

bool tc_journal_unseal(tc_journal_key *key, const tc_journal_run *run, uint64_t round, const unsigned char *sealed,
                       size_t sealed_size, unsigned char *plain, size_t *size) {
    unsigned char bound[BOUND], tag[TC_SEAL_TAG];
    if (sealed_size < TC_SEAL_HEAD + TC_SEAL_NUMBERS + TC_SEAL_TAG || sealed_size > INT32_MAX)
        return false;
    const unsigned char *of_epoch = sealed + TC_KEY_NAME, *in = sealed + TC_SEAL_HEAD;
    int ignored;
    *size = sealed_size - TC_SEAL_HEAD - TC_SEAL_TAG;
    bind(run, of_epoch, round, *size, bound);
    memcpy(tag, in + *size, TC_SEAL_TAG);
    return begin(key, false, bound, of_epoch + 8 + TC_EPOCH_ID) && add(key, plain, in, *size) &&
           EVP_CIPHER_CTX_ctrl(key->cipher, EVP_CTRL_AEAD_SET_TAG, TC_SEAL_TAG, tag) == 1 &&
           EVP_CipherFinal_ex(key->cipher, plain + *size, &ignored) == 1;
}
