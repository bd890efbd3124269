/* The key of a journal in a database: whoever runs the database must not read what it keeps.
 *
 * A round whose commit fails is computed again with new noise at the next start, and the database was sent both. Who
 * could read them and let commits fail on purpose would get the same round under new noise as often as he likes. So
 * numbers of a round are encrypted and authenticated (AES-256-GCM) before they are sent, and the row's digest is a
 * keyed MAC: the database can give back an old row as a whole, and nothing else.
 *
 * A key is 32 random bytes in a file that all clouds of the run have. From it come, by HMAC-SHA256 with different
 * labels: a name, to recognise the key by; the key of the MAC of rows; and a key for each round, which encrypts once.
 */
#ifndef TC_SERVE_JOURNAL_KEY_H
#define TC_SERVE_JOURNAL_KEY_H

#include "base/arena.h"
#include "net/message.h"

#include <stdbool.h>

struct tc_journal_run;
struct tc_journal_round;
typedef struct tc_journal_key tc_journal_key;

/* Makes a key in a new file that only its owner may read. TC_BAD_USAGE if the file exists, TC_CANNOT_WRITE. */
tc_status tc_journal_key_make(tc_arena *arena, const char *path, tc_buffer *messages) TC_MUST_USE;
/* Reads it into secret memory. TC_BAD_USAGE with a message if it is not a key or others may read it; TC_CANNOT_READ.
 * Raises on its arena. */
tc_status tc_journal_key_read(tc_arena *arena, const char *path, tc_buffer *messages, tc_journal_key **key) TC_MUST_USE;

enum { TC_KEY_NAME = 16 };
/* For a run. It tells nothing of the key, nor whether two runs have the same. */
bool tc_journal_key_name(tc_journal_key *key, const unsigned char run_id[TC_RUN_ID],
                         unsigned char name[TC_KEY_NAME]) TC_MUST_USE;

/* Replaces a row's digest by a MAC of it. */
bool tc_journal_key_mac(tc_journal_key *key, unsigned char digest[TC_HASH]) TC_MUST_USE;

/* ---- A sealed round ----
 *
 *     name of the key | epoch in which it was sealed, number and id | nonce | encrypted numbers | tag
 *
 * Run, epoch and round are authenticated with it. The epoch is the writer's: a cloud that takes over leaves the round
 * as it is. */
enum { TC_SEAL_HEAD = TC_KEY_NAME + 8 + TC_EPOCH_ID + 12, TC_SEAL_TAG = 16, TC_SEAL_NUMBERS = 24 };

size_t tc_journal_sealed_size(const struct tc_journal_round *round);
/* answers: of the round, as bytes. sealed: tc_journal_sealed_size bytes. */
bool tc_journal_seal(tc_journal_key *key, const struct tc_journal_run *run, const tc_epoch *epoch,
                     const struct tc_journal_round *round, const unsigned char *answers,
                     unsigned char *sealed) TC_MUST_USE;
/* plain: as many bytes as sealed ones; *size of them are step, regularization, number of answers (8 bytes each),
 * answers, snapshot. False: it was changed, is of another run or round, or the key is another. */
bool tc_journal_unseal(tc_journal_key *key, const struct tc_journal_run *run, uint64_t round,
                       const unsigned char *sealed, size_t sealed_size, unsigned char *plain, size_t *size) TC_MUST_USE;

#endif
