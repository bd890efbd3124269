#include "privacy/random.h"
#include "privacy/random_keys.h"
#include "privacy/secret.h"

#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 16 };
#define ALIVE UINT64_C(0x7461636974206f6b)
#define NO_ROUND UINT64_MAX

typedef struct secrets { /* at the start of the secret page */
    uint64_t alive;      /* zero in a forked child */
    unsigned char chain_key[TC_KEY_BYTES];
    unsigned char round_key[TC_KEY_BYTES];
    unsigned char master_key[TC_KEY_BYTES]; /* only while the run key is derived */
} secrets;

struct tc_random {
    secrets *secrets;
    bool is_private;
    bool is_locked;
    bool is_wiped_in_child;
    bool is_claimed;
    pid_t owner;
    uint64_t round;      /* whose key is in secrets, or NO_ROUND */
    uint64_t next_round; /* whose key the chain makes next */
    EVP_CIPHER_CTX *ratchet;
};

struct tc_random_worker {
    const tc_random *random;
    EVP_CIPHER_CTX *bulk;
    EVP_CIPHER_CTX *refine; /* apart, so that a refinement does not disturb a bulk stream */
    uint64_t bulk_round;    /* whose key the contexts hold */
    uint64_t refine_round;
};

/* A child has the parent's noise ahead of it: if both went on, two releases would share it. */
static bool is_usable(const tc_random *random) {
    return random->secrets->alive == ALIVE && (random->is_wiped_in_child || getpid() == random->owner);
}

static void free_cipher(void *cipher) { EVP_CIPHER_CTX_free(cipher); }

static EVP_CIPHER_CTX *new_cipher(tc_arena *arena, const EVP_CIPHER *algorithm) {
    static const unsigned char nothing[TC_KEY_BYTES];
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    if (cipher == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, free_cipher, cipher);
    if (EVP_EncryptInit_ex(cipher, algorithm, NULL, nothing, nothing) != 1 ||
        EVP_CIPHER_CTX_set_padding(cipher, 0) != 1)
        return NULL;
    return cipher;
}

static tc_random *new_source(tc_arena *arena) {
    tc_random *random = TC_NEW(arena, tc_random, 1);
    tc_secret page = tc_secret_new(arena);
    _Static_assert(sizeof(secrets) <= TC_SECRET_BYTES, "the keys fit the page");
    random->secrets = (secrets *)(void *)page.bytes;
    random->is_locked = page.locked;
    random->is_wiped_in_child = page.wiped_in_child;
    random->owner = getpid();
    random->round = NO_ROUND;
    random->ratchet = new_cipher(arena, EVP_aes_256_ecb());
    return random;
}

/* Turns the master key, which it wipes, into the first chain key. */
static tc_status start(tc_random *random, const tc_run_identity *run, const char *label) {
    secrets *keys = random->secrets;
    bool good = random->ratchet != NULL &&
                tc_run_key(keys->master_key, run->run_id, run->run_id_length, run->plan_hash, label, keys->chain_key);
    tc_secret_wipe(keys->master_key, TC_KEY_BYTES);
    if (good)
        keys->alive = ALIVE;
    return good ? TC_OK : TC_NO_RANDOM;
}

tc_status tc_random_new(tc_arena *arena, const tc_run_identity *run, tc_random **random) {
    tc_random *made = new_source(arena);
    if (!tc_master_key(made->secrets->master_key))
        return TC_NO_RANDOM;
    made->is_private = true;
    *random = made;
    return start(made, run, "tacit noise 1");
}

tc_status tc_random_new_simulation(tc_arena *arena, const tc_run_identity *run, uint64_t seed, tc_random **random) {
    tc_random *made = new_source(arena);
    for (unsigned i = 0; i < 8; i++)
        made->secrets->master_key[i] = (unsigned char)(seed >> (8 * i));
    *random = made;
    return start(made, run, "tacit simulated noise 1");
}

bool tc_random_is_private(const tc_random *random) { return random->is_private; }
bool tc_random_is_locked(const tc_random *random) { return random->is_locked; }

bool tc_random_claim(tc_random *random) {
    bool first = !random->is_claimed;
    random->is_claimed = true;
    return first;
}

tc_status tc_random_open_round(tc_random *random, uint64_t round) {
    if (!is_usable(random) || round > TC_MOST_ROUND)
        return TC_NO_RANDOM;
    if (round == random->round)
        return TC_OK;
    if (round < random->next_round)
        return TC_NO_RANDOM;
    _Static_assert(offsetof(secrets, round_key) == offsetof(secrets, chain_key) + TC_KEY_BYTES, "one after the other");
    unsigned char *keys = (unsigned char *)random->secrets + offsetof(secrets, chain_key);
    for (; random->next_round <= round; random->next_round++) {
        random->round = NO_ROUND;
        if (!tc_ratchet(random->ratchet, keys)) {
            random->secrets->alive = 0; /* the chain may be half moved: never again */
            return TC_NO_RANDOM;
        }
    }
    random->round = round;
    return TC_OK;
}

tc_status tc_random_worker_new(tc_arena *arena, const tc_random *random, tc_random_worker **worker) {
    tc_random_worker *made = TC_NEW(arena, tc_random_worker, 1);
    made->random = random;
    made->bulk_round = made->refine_round = NO_ROUND;
    made->bulk = new_cipher(arena, EVP_aes_256_ctr());
    made->refine = new_cipher(arena, EVP_aes_256_ctr());
    *worker = made;
    return made->bulk != NULL && made->refine != NULL ? TC_OK : TC_NO_RANDOM;
}

/* round | attempt | index, each with its most significant byte first, as counter mode counts. */
static void write_address(unsigned char block[BLOCK_BYTES], uint64_t round, unsigned attempt, uint64_t index) {
    uint64_t high = round << 16 | attempt;
    for (unsigned i = 0; i < 8; i++) {
        block[i] = (unsigned char)(high >> (56 - 8 * i));
        block[8 + i] = (unsigned char)(index >> (56 - 8 * i));
    }
}

/* Points a context at an address of the open round, with that round's key. */
static bool seek(const tc_random *random, EVP_CIPHER_CTX *cipher, uint64_t *round_held, unsigned attempt,
                 uint64_t index) {
    if (random->round == NO_ROUND || !is_usable(random))
        return false;
    const unsigned char *key = *round_held == random->round ? NULL : random->secrets->round_key;
    unsigned char address[BLOCK_BYTES];
    write_address(address, random->round, attempt, index);
    *round_held = NO_ROUND;
    if (EVP_EncryptInit_ex(cipher, NULL, NULL, key, address) != 1)
        return false;
    *round_held = random->round;
    return true;
}

static bool keystream(EVP_CIPHER_CTX *cipher, unsigned char *bytes, size_t size) {
    enum { STEP = 1 << 30 }; /* lengths are int in OpenSSL */
    memset(bytes, 0, size);
    while (size > 0) {
        int step = size < STEP ? (int)size : STEP, length = 0;
        if (EVP_EncryptUpdate(cipher, bytes, &length, bytes, step) != 1 || length != step)
            return false;
        bytes += step;
        size -= (size_t)step;
    }
    return true;
}

/* Words are little-endian in the keystream, on every machine. */
static void to_native(uint64_t *words, size_t count) {
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    for (size_t i = 0; i < count; i++)
        words[i] = __builtin_bswap64(words[i]);
#else
    (void)words;
    (void)count;
#endif
}

static tc_status draw_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) {
    if (!seek(worker->random, worker->bulk, &worker->bulk_round, 0, first / 2))
        return TC_NO_RANDOM;
    if (first % 2 != 0) { /* the second half of a block */
        uint64_t skipped = 0;
        if (!keystream(worker->bulk, (unsigned char *)&skipped, sizeof skipped))
            return TC_NO_RANDOM;
        tc_secret_wipe(&skipped, sizeof skipped);
    }
    if (!keystream(worker->bulk, (unsigned char *)words, count * sizeof *words))
        return TC_NO_RANDOM;
    to_native(words, count);
    return TC_OK;
}

tc_status tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) {
    if (first > TC_MOST_ENTRY || count > TC_MOST_ENTRY - first)
        return TC_NO_RANDOM;
    tc_status status = draw_bulk(worker, first, count, words);
    if (status != TC_OK) /* whatever is there must not be taken for noise */
        tc_secret_wipe(words, count * sizeof *words);
    return status;
}

tc_status tc_random_refine(tc_random_worker *worker, uint64_t entry, unsigned attempt, uint64_t *word) {
    *word = 0;
    if (entry > TC_MOST_ENTRY || attempt < 1 || attempt > UINT16_MAX ||
        !seek(worker->random, worker->refine, &worker->refine_round, attempt, entry) ||
        !keystream(worker->refine, (unsigned char *)word, sizeof *word))
        return TC_NO_RANDOM;
    to_native(word, 1);
    return TC_OK;
}
