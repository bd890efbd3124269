/* Any bytes as an agent's record: what is accepted is encoded again to the same bytes. The digest is left out: no
 * fuzzer would guess it. */
#include "net/agent/state_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STATES = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    double x[STATES], average[STATES];
    unsigned char again[1024];
    tc_agent_record record = {.x = x, .average = average};
    if (tc_agent_record_size(STATES) > sizeof again)
        abort();
    if (tc_agent_record_decode(data, size, "a8", STATES, &record) != TC_RECORD_GOOD)
        return 0;
    if (size != tc_agent_record_size(STATES))
        abort();
    tc_agent_record_encode(&record, "a8", STATES, again);
    if (memcmp(data, again, size - TC_AGENT_DIGEST) != 0)
        abort();
    return 0;
}
