/* The public boxes in short. Found when a plan is made, by all ranks: a card may be written by the first alone. */
#include "model/spread.h"
#include "plan/planner.h"

static double width_of(const tc_family *family, size_t member, size_t component) {
    return tc_coef_at(family->upper[component], member) - tc_coef_at(family->lower[component], member);
}

static double agent_of(const tc_family *family, size_t member, bool gaussian) {
    double sum = 0;
    for (size_t c = 0; c < family->dim; c++) {
        double width = width_of(family, member, c);
        sum += gaussian ? width * width : width;
    }
    return gaussian ? sqrt(sum) : sum;
}

const tc_public_ranges *tc_public_ranges_find(tc_arena *arena, const tc_model *model) {
    tc_public_ranges *made = TC_NEW(arena, tc_public_ranges, 1);
    made->widest = TC_NEW(arena, double *, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        bool varies = !tc_same_boxes(family);
        double *widest = made->widest[f] = TC_NEW(arena, double, family->dim + 1), agent[2] = {0, 0};
        for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
            for (size_t c = 0; c < family->dim; c++)
                widest[c] = fmax(widest[c], width_of(family, k, c));
            for (int norm = 0; norm < 2; norm++)
                agent[norm] = fmax(agent[norm], agent_of(family, k, norm == 1));
        }
        for (size_t c = 0; varies && c < family->dim; c++)
            widest[c] = tc_largest_of(family, widest[c]);
        for (int norm = 0; norm < 2; norm++)
            made->agent[norm] = fmax(made->agent[norm], varies ? tc_largest_of(family, agent[norm]) : agent[norm]);
    }
    return made;
}
