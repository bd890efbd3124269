/* Keys do not depend on the plan's hash, which is all that tells a last round's source from that of the rounds. */
#define tc_run_key honest_run_key
#include "noise/random_keys.c"
#undef tc_run_key

bool tc_run_key(const unsigned char master[TC_KEY_BYTES], const void *run_id, size_t run_id_length,
                const unsigned char plan_hash[TC_PLAN_HASH_BYTES], const char *label,
                unsigned char run_key[TC_KEY_BYTES]);
bool tc_run_key(const unsigned char master[TC_KEY_BYTES], const void *run_id, size_t run_id_length,
                const unsigned char plan_hash[TC_PLAN_HASH_BYTES], const char *label,
                unsigned char run_key[TC_KEY_BYTES]) {
    static const unsigned char none[TC_PLAN_HASH_BYTES];
    (void)plan_hash;
    return honest_run_key(master, run_id, run_id_length, none, label, run_key);
}
