#include "noise/random.h"

#include "base/ranks/ranks.h"
#include "base/simd.h"
#include "noise/random_keys.h"
#include "noise/secret.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define ALIVE UINT64_C(0x7461636974206f6b)
#define NO_ROUND UINT64_MAX

typedef struct secrets {    /* at the start of the secret page */
    _Atomic uint64_t alive; /* zero in a forked child */
    unsigned char chain_key[TC_KEY_BYTES];
    unsigned char round_key[TC_KEY_BYTES];
    unsigned char input_key[TC_KEY_BYTES];  /* of tc_random_mac */
    unsigned char master_key[TC_KEY_BYTES]; /* only while the others are derived */
} secrets;

struct tc_random {
    secrets *secrets;
    bool is_private;
    bool is_locked;
    bool is_wiped_in_child;
    bool is_claimed;
    pid_t owner;
    uint64_t round;         /* whose key is in secrets, or NO_ROUND */
    uint64_t next_round;    /* whose key the chain makes next */
    EVP_CIPHER_CTX *cipher; /* left with the open round's key, so that a worker may draw with it */
    EVP_MAC_CTX *mac;       /* of tc_random_mac, without a key */
    bool is_lent;
    tc_random_worker *workers; /* those with ciphers of their own */
};

/* Blocks are encrypted one by one: in OpenSSL setting a counter costs as much as setting a key, some fifty draws. */
struct tc_random_worker {
    const tc_random *random;
    EVP_CIPHER_CTX *cipher;
    bool is_own;    /* not lent by the source */
    uint64_t round; /* whose key it holds, or NO_ROUND */
    tc_fetch *fetch;
    tc_random_worker *next, **link; /* in the source's list; link: the pointer to this one, NULL outside of the list */
};

static const unsigned char NO_KEY[TC_KEY_BYTES];

/* A forked child would draw the same noise as its parent, for other data. */
bool tc_random_is_usable(const tc_random *random) {
    return random->secrets->alive == ALIVE && (random->is_wiped_in_child || getpid() == random->owner);
}

static void free_cipher(void *cipher) { EVP_CIPHER_CTX_free(cipher); }
static void free_mac(void *mac) { EVP_MAC_CTX_free(mac); }

/* No padding: only whole blocks are encrypted. */
static EVP_CIPHER_CTX *new_cipher(tc_arena *arena) {
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    if (cipher == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    tc_arena_on_free(arena, free_cipher, cipher);
    return EVP_EncryptInit_ex(cipher, EVP_aes_256_ecb(), NULL, NO_KEY, NULL) == 1 ? cipher : NULL;
}

/* Takes the key from every worker that holds one, also from one that never draws again. */
static bool forget_keys(tc_random *random) {
    bool good = true;
    for (tc_random_worker *w = random->workers; w != NULL; w = w->next) {
        if (w->round == NO_ROUND)
            continue;
        w->round = NO_ROUND;
        good = EVP_EncryptInit_ex(w->cipher, NULL, NULL, NO_KEY, NULL) == 1 && good;
    }
    return good;
}

static void leave(void *what) {
    tc_random_worker *worker = what;
    if (worker->link == NULL)
        return;
    *worker->link = worker->next;
    if (worker->next != NULL)
        worker->next->link = worker->link;
    worker->link = NULL;
}

static void join(tc_random_worker *worker, tc_random *random) {
    worker->next = random->workers;
    worker->link = &random->workers;
    if (worker->next != NULL)
        worker->next->link = &worker->next;
    random->workers = worker;
}

/* Workers may belong to another arena, which lives on. */
static void dismiss(void *what) {
    tc_random *random = what;
    (void)forget_keys(random);
    while (random->workers != NULL)
        leave(random->workers);
}

static tc_random *new_source(tc_arena *arena) {
    tc_random *random = TC_NEW(arena, tc_random, 1);
    tc_secret_memory page = tc_secret_new(arena);
    _Static_assert(sizeof(secrets) <= TC_SECRET_BYTES, "the keys fit the page");
    random->secrets = (secrets *)(void *)page.bytes;
    random->is_locked = page.locked;
    random->is_wiped_in_child = page.wiped_in_child;
    random->owner = getpid();
    random->round = NO_ROUND;
    random->cipher = new_cipher(arena);
    random->mac = tc_mac_new();
    tc_arena_on_free(arena, free_mac, random->mac);
    tc_arena_on_free(arena, dismiss, random);
    return random;
}

/* Turns the master key, which it wipes, into the first chain key and the key of tc_random_mac. */
static tc_status start(tc_random *random, const tc_run_identity *run, const char *noise_label,
                       const char *input_label) {
    secrets *keys = random->secrets;
    bool good =
        random->cipher != NULL && random->mac != NULL &&
        tc_run_key(keys->master_key, run->run_id, run->run_id_length, run->plan_hash, noise_label, keys->chain_key) &&
        tc_run_key(keys->master_key, run->run_id, run->run_id_length, run->plan_hash, input_label, keys->input_key);
    tc_secret_wipe(keys->master_key, TC_KEY_BYTES);
    if (good)
        keys->alive = ALIVE;
    return good ? TC_OK : TC_NO_RANDOM;
}

tc_status tc_random_new(tc_arena *arena, const tc_run_identity *run, tc_random **random) {
    tc_random *made = new_source(arena);
    tc_status status = tc_ranks_agree(tc_master_key(made->secrets->master_key) ? TC_OK : TC_NO_RANDOM);
    if (status != TC_OK)
        return status;
    tc_ranks_broadcast(made->secrets->master_key, sizeof made->secrets->master_key, 0); /* ranks are one party */
    made->is_private = true;
    *random = made;
    return start(made, run, "tacit noise 1", "tacit input 1");
}

tc_status tc_random_new_simulation(tc_arena *arena, const tc_run_identity *run, uint64_t seed, tc_random **random) {
    tc_random *made = new_source(arena);
    for (unsigned i = 0; i < 8; i++)
        made->secrets->master_key[i] = (unsigned char)(seed >> (8 * i));
    *random = made;
    return start(made, run, "tacit simulated noise 1", "tacit simulated input 1");
}

bool tc_random_is_private(const tc_random *random) { return random->is_private; }
bool tc_random_is_locked(const tc_random *random) { return random->is_locked; }

bool tc_random_claim(tc_random *random) {
    bool first = !random->is_claimed;
    random->is_claimed = true;
    return first;
}

tc_status tc_random_open_round(tc_random *random, uint64_t round) {
    if (!tc_random_is_usable(random) || round > TC_MOST_ROUND)
        return TC_NO_RANDOM;
    if (round == random->round)
        return TC_OK;
    if (round < random->next_round)
        return TC_NO_RANDOM;
    _Static_assert(offsetof(secrets, round_key) == offsetof(secrets, chain_key) + TC_KEY_BYTES, "one after the other");
    unsigned char *keys = (unsigned char *)random->secrets + offsetof(secrets, chain_key);
    if (!forget_keys(random)) {
        random->round = NO_ROUND;
        random->secrets->alive = 0; /* an old key may be left, so no round may follow */
        return TC_NO_RANDOM;
    }
    for (; random->next_round <= round; random->next_round++) {
        random->round = NO_ROUND;
        if (!tc_ratchet(random->cipher, keys)) {
            random->secrets->alive = 0; /* the chain may be half moved, so no round may follow */
            return TC_NO_RANDOM;
        }
    }
    random->round = round;
    return TC_OK;
}

/* The first worker draws with the source's own cipher, which has the key already. */
tc_status tc_random_worker_new(tc_arena *arena, tc_random *random, tc_random_worker **worker) {
    tc_random_worker *made = TC_NEW(arena, tc_random_worker, 1);
    made->random = random;
    made->is_own = random->is_lent;
    made->cipher = made->is_own ? new_cipher(arena) : random->cipher;
    made->round = NO_ROUND;
    random->is_lent = true;
    *worker = made;
    if (made->cipher == NULL)
        return TC_NO_RANDOM;
    if (made->is_own) {
        join(made, random);
        tc_arena_on_free(arena, leave, made);
    }
    return TC_OK;
}

void tc_random_worker_fetches(tc_random_worker *worker, tc_fetch *fetch) { worker->fetch = fetch; }
tc_fetch *tc_random_worker_fetch(const tc_random_worker *worker) { return worker->fetch; }

/* The open round's key in the worker's cipher. */
static bool has_key(tc_random_worker *worker) {
    const tc_random *random = worker->random;
    if (random->round == NO_ROUND || !tc_random_is_usable(random))
        return false;
    if (!worker->is_own || worker->round == random->round)
        return true;
    worker->round = NO_ROUND;
    if (EVP_EncryptInit_ex(worker->cipher, NULL, NULL, random->secrets->round_key, NULL) != 1)
        return false;
    worker->round = random->round;
    return true;
}

/* The words of these addresses, encrypted in place. */
static bool encrypt(tc_random_worker *worker, uint64_t *words, size_t count) {
    enum { MOST = 1 << 20 }; /* lengths are int in OpenSSL */
    unsigned char *bytes = (unsigned char *)words;
    for (size_t size = count * sizeof *words; size > 0;) {
        int part = size < MOST ? (int)size : MOST, length = 0;
        if (EVP_EncryptUpdate(worker->cipher, bytes, &length, bytes, part) != 1 || length != part)
            return false;
        bytes += part;
        size -= (size_t)part;
    }
    return true;
}

static uint64_t high_byte_first(uint64_t number) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(number);
#else
    return number;
#endif
}

/* Two blocks at a time, as long as two are left; returns how many are done. */
#ifdef TC_HAS_WIDE
TC_WIDE static size_t write_pairs(uint64_t *words, size_t blocks, uint64_t high, uint64_t index) {
    const __m128i turn = _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1); /* -1: zero */
    const __m256i turn_both = _mm256_broadcastsi128_si256(turn), two = _mm256_set_epi64x(2, 0, 2, 0);
    const __m256i highs = _mm256_set_epi64x(0, (long long)high, 0, (long long)high);
    __m256i indices = _mm256_set_epi64x((long long)(index + 1), 0, (long long)index, 0);
    size_t i = 0;
    for (; i + 2 <= blocks; i += 2) {
        _mm256_storeu_si256((__m256i *)(void *)(words + 2 * i),
                            _mm256_or_si256(_mm256_shuffle_epi8(indices, turn_both), highs));
        indices = _mm256_add_epi64(indices, two);
    }
    return i;
}
#endif

/* Blocks round | attempt | index, index + 1, ..., each number with its most significant byte first. */
static void write_addresses(uint64_t *words, size_t blocks, uint64_t round, unsigned attempt, uint64_t index) {
    uint64_t high = high_byte_first(round << 16 | attempt);
    size_t i = 0;
#ifdef TC_HAS_WIDE
    if (blocks > 1 && TC_IS_WIDE())
        i = write_pairs(words, blocks, high, index);
#endif
    for (; i < blocks; i++) {
        words[2 * i] = high;
        words[2 * i + 1] = high_byte_first(index + i);
    }
}

/* Words are little-endian in the blocks, on every machine. */
static void to_native(uint64_t *words, size_t count) {
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    for (size_t i = 0; i < count; i++)
        words[i] = __builtin_bswap64(words[i]);
#else
    (void)words;
    (void)count;
#endif
}

/* Half of a block. */
static bool draw_one(tc_random_worker *worker, unsigned attempt, uint64_t index, unsigned half, uint64_t *word) {
    uint64_t block[2];
    write_addresses(block, 1, worker->random->round, attempt, index);
    bool good = encrypt(worker, block, 2);
    *word = block[half];
    tc_secret_wipe(block, sizeof block);
    return good;
}

static bool draw_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) {
    if (!has_key(worker))
        return false;
    uint64_t *next = words;
    size_t left = count;
    if (first % 2 != 0 && left > 0) {
        if (!draw_one(worker, 0, first / 2, 1, next))
            return false;
        next++;
        left--;
        first++;
    }
    write_addresses(next, left / 2, worker->random->round, 0, first / 2);
    if (!encrypt(worker, next, left - left % 2) ||
        (left % 2 != 0 && !draw_one(worker, 0, first / 2 + left / 2, 0, next + left - 1)))
        return false;
    to_native(words, count);
    return true;
}

tc_status tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) {
    if (first > TC_MOST_ENTRY || count > TC_MOST_ENTRY - first)
        return TC_NO_RANDOM;
    if (draw_bulk(worker, first, count, words))
        return TC_OK;
    tc_secret_wipe(words, count * sizeof *words); /* so that nobody uses these bytes as noise */
    return TC_NO_RANDOM;
}

tc_status tc_random_refine(tc_random_worker *worker, uint64_t entry, unsigned attempt, uint64_t *word) {
    *word = 0;
    if (entry > TC_MOST_ENTRY || attempt < 1 || attempt > UINT16_MAX || !has_key(worker) ||
        !draw_one(worker, attempt, entry, 0, word)) {
        *word = 0;
        return TC_NO_RANDOM;
    }
    to_native(word, 1);
    return TC_OK;
}

tc_status tc_random_mac(const tc_random *random, const char *label, uint64_t number, const int64_t *words, size_t count,
                        unsigned char mac[TC_MAC_BYTES]) {
    if (tc_random_is_usable(random) &&
        tc_mac_words(random->mac, random->secrets->input_key, label, number, words, count, mac))
        return TC_OK;
    tc_secret_wipe(mac, TC_MAC_BYTES);
    return TC_NO_RANDOM;
}
