/* An agent that does not know all states which the cloud used of it sends its average all the same. */
#include "net/agent/slot.h"

bool __wrap_tc_agent_lacks_rounds(const tc_agent_slot *slot);
bool __wrap_tc_agent_lacks_rounds(const tc_agent_slot *slot) {
    (void)slot;
    return false;
}
