/* A sealed round whose snapshot, the averages that the next round begins with, is not encrypted. */
#define tc_journal_seal honest_seal
#include "serve/journal/key.c"
#undef tc_journal_seal

bool tc_journal_seal(tc_journal_key *key, const tc_journal_run *run, const tc_epoch *epoch,
                     const tc_journal_round *round, const unsigned char *answers, unsigned char *sealed) {
    bool good = honest_seal(key, run, epoch, round, answers, sealed);
    memcpy(sealed + TC_SEAL_HEAD + TC_SEAL_NUMBERS + 8 * round->answer_count, round->snapshot, round->snapshot_size);
    return good;
}
