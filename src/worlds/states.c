#include "worlds/states.h"

#include "analysis/region.h"

#include <math.h>

static uint64_t mix(uint64_t a) { /* splitmix64's finaliser: any sequence will do, it is no secret */
    a += UINT64_C(0x9e3779b97f4a7c15);
    a = (a ^ (a >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    a = (a ^ (a >> 27)) * UINT64_C(0x94d049bb133111eb);
    return a ^ (a >> 31);
}

static int64_t unit_of(const tc_model *model, int exponent, size_t coord, uint64_t round, bool is_other) {
    tc_interval range = tc_coord_range(model, coord);
    int64_t least = (int64_t)ceil(ldexp(range.lo, -exponent)), most = (int64_t)floor(ldexp(range.hi, -exponent));
    uint64_t width = (uint64_t)(most - least) + 1;
    if (round % 4 == 1)
        return is_other ? most : least;
    if (round % 4 == 2 && is_other) /* outside of the box: the cloud moves it in, and tells that agent alone */
        return most + 1 + (int64_t)(mix(coord) % 1000);
    return least + (int64_t)(mix(mix(coord + 1) ^ mix(round * 2 + is_other)) % width);
}

void tc_worlds_state(const tc_model *model, int exponent, unsigned world, size_t other, size_t agent, uint64_t round,
                     int64_t *units) {
    const tc_family *family = tc_family_of_agent(model, agent);
    bool is_other = world == 1 && (other == TC_WORLDS_ALL || other == agent);
    for (size_t c = 0; c < family->dim; c++)
        units[c] = unit_of(model, exponent, tc_coord_of(family, agent - family->first_agent, c), round, is_other);
}
