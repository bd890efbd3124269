/* States that come as integers are taken as they are, inside of the box or not. */
#define tc_states_from_integers honest_states_from_integers
#include "release/states.c"
#undef tc_states_from_integers

tc_taken tc_states_from_integers(tc_private_states *states, size_t family, size_t member, const int64_t *units) {
    const tc_family *of = &states->model->families[family];
    tc_taken taken = honest_states_from_integers(states, family, member, units);
    for (size_t c = 0; c < of->dim; c++)
        states->units[tc_coord_of(of, member, c)] = units[c];
    return taken;
}
