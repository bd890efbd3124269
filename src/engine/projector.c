#include "engine/projector.h"

#include "engine/projector_parts.h"
#include "solver/project/project.h"

bool tc_projector_box(const tc_projector *projector, const tc_coef **lower, const tc_coef **upper) {
    *lower = projector->lower;
    *upper = projector->upper;
    return projector->form == TC_PROJECTOR_BOX;
}

static void clip_row(tc_coef lower, tc_coef upper, size_t first, size_t count, double *v) {
    for (size_t k = 0; k < count; k++) {
        double low = tc_coef_at(lower, first + k), high = tc_coef_at(upper, first + k);
        v[k] = v[k] < low ? low : v[k];
        v[k] = v[k] > high ? high : v[k];
    }
}

static void project_cuts(const tc_projector *projector, size_t first, size_t count, size_t stride, double *v) {
    for (size_t i = 0; i < projector->uncut_count; i++) {
        size_t c = projector->uncut[i];
        clip_row(projector->lower[c], projector->upper[c], first, count, v + c * stride);
    }
    for (size_t i = 0; i < projector->cut_count; i++) {
        double *rows = v + projector->cuts[i].first * stride;
        tc_project_cut(&projector->cuts[i].cut, first, count, stride, rows, rows);
    }
}

tc_set *tc_projector_set(const tc_projector *projector, size_t worker, size_t member) {
    tc_set *set = projector->works[worker].set;
    if (projector->kept == NULL) {
        tc_set_load(set, member);
        return set;
    }
    const tc_kept_set *kept = &projector->kept[member];
    set->lower = kept->lower;
    set->upper = kept->upper;
    set->parts = kept->parts;
    set->part_count = kept->part_count;
    set->shape = kept->shape;
    return set;
}

static bool project_member(const tc_projector *projector, size_t worker, size_t member, size_t stride, double *v) {
    tc_set *set = tc_projector_set(projector, worker, member);
    double *point = projector->works[worker].point;
    for (size_t c = 0; c < set->dim; c++)
        point[c] = v[c * stride];
    bool is_accurate = tc_project(set, point, point);
    for (size_t c = 0; c < set->dim; c++)
        v[c * stride] = point[c];
    return is_accurate;
}

size_t tc_projector_project(tc_projector *projector, size_t worker, size_t first, size_t count, size_t stride,
                            double *v) {
    size_t inaccurate = 0;
    if (projector->form != TC_PROJECTOR_MEMBERS) {
        project_cuts(projector, first, count, stride, v);
        return 0;
    }
    for (size_t k = 0; k < count; k++)
        inaccurate += !project_member(projector, worker, first + k, stride, v + k);
    return inaccurate;
}
