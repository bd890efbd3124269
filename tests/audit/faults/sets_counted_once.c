/* Two states of a public set priced as if both together kept to it. */
#define tc_cap_most honest_cap_most
#include "plan/sensitivity/cap.c"
#undef tc_cap_most

double tc_cap_most(const tc_caps *caps, const tc_family *family, size_t number, size_t member, tc_gain *gains,
                   size_t count, int times) {
    (void)times;
    return honest_cap_most(caps, family, number, member, gains, count, 1);
}
