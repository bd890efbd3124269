/* Totals of blocks are added up from the last block to the first. Linked with --wrap=tc_estimator_share_totals. */
#include "engine/tacit/estimator_inside.h"

void __real_tc_estimator_share_totals(tc_estimator *estimator);
void __wrap_tc_estimator_share_totals(tc_estimator *estimator);

void __wrap_tc_estimator_share_totals(tc_estimator *estimator) {
    __real_tc_estimator_share_totals(estimator);
    for (size_t f = 0; estimator->shared != NULL && f < estimator->model->family_count; f++) {
        const tc_estimator_family *of = &estimator->families[f];
        for (size_t b = 0; of->partials != NULL && b < of->block_count / 2; b++)
            for (size_t i = 0; i < of->total_count; i++) {
                double *one = &of->partials[b * of->total_count + i];
                double *other = &of->partials[(of->block_count - 1 - b) * of->total_count + i], kept = *one;
                *one = *other;
                *other = kept;
            }
    }
}
