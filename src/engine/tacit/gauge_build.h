/* How a gauge over states is built; for src/engine/gauge_{build,lists,fixed}.c. */
#ifndef TC_ENGINE_GAUGE_BUILD_H
#define TC_ENGINE_GAUGE_BUILD_H

#include "engine/published/combination.h"
#include "engine/tacit/gauge_parts.h"

typedef struct tc_gauge_builder {
    tc_arena *arena;
    tc_gauge *gauge;
    tc_combiner *combiner;
} tc_gauge_builder;

/* What the bodies of a family, their slopes and their curvatures are made of: row 0 is ONE, row i + 1 is nodes[i]. */
typedef struct tc_gauge_lists {
    tc_gauge_raw *values, *slopes, *bends; /* bends: at is column * dim + other */
    size_t value_count, slope_count, bend_count;
    tc_expr *nodes; /* increasing, without repetitions */
    size_t node_count;
} tc_gauge_lists;

tc_gauge_lists tc_gauge_list(const tc_gauge_builder *b, const tc_family_derivatives *d, const tc_family *family);

/* Increasing numbers of nodes, or of pairs; for qsort and bsearch. */
int tc_gauge_increasing(const void *x, const void *y);

/* What rows that no state moves add to the inputs, once for all rounds. */
void tc_gauge_add_fixed(const tc_gauge_builder *b, tc_gauge_family *of, const tc_gauge_lists *lists);

#endif
