#include "analysis/warnings.h"

#include "analysis/findings.h"

enum { MOST_WARNINGS = 40 };

void tc_warn(tc_analysis *a, tc_arena *arena, const char *text) {
    if (a->warnings == NULL)
        a->warnings = TC_NEW(arena, const char *, MOST_WARNINGS);
    if (a->warning_count == MOST_WARNINGS)
        a->warnings[MOST_WARNINGS - 1] = "There are more warnings than are shown.";
    else
        a->warnings[a->warning_count++] = text;
}

const char *tc_row_name(tc_arena *arena, const tc_analysis *a, const tc_agent_constants *row) {
    if (a->by_family && row->family->is_family)
        return tc_arena_format(arena, "%s[*]", row->family->name);
    return tc_who(arena, row->family, row->member, false);
}

static void compare_declared(tc_analysis *a, tc_arena *arena, const char *what, const tc_bracket *b, bool for_noise) {
    char declared[32], bound[32];
    if (!tc_declared(b))
        return;
    tc_shortest_number(declared, b->declared);
    if (tc_declared_too_small(b))
        tc_warn(a, arena,
                tc_arena_format(arena, "The declared %s = %s is too small%s: the true constant is at least %s.", what,
                                declared, for_noise ? " to be private" : "", tc_short_number(bound, b->lower)));
    else if (tc_declared_uncertified(b))
        tc_warn(a, arena,
                tc_arena_format(arena, "The declared %s = %s is not certified: what could be proved is %s.", what,
                                declared, (tc_shortest_number(bound, b->upper), bound)));
}

void tc_collect_warnings(tc_analysis *a, tc_arena *arena) {
    compare_declared(a, arena, "K^g_1", &a->g[0], true);
    compare_declared(a, arena, "K^g_2", &a->g[1], true);
    for (size_t r = 0; r < a->agent_rows; r++) {
        const tc_agent_constants *row = &a->agents[r];
        const char *name = tc_row_name(arena, a, row);
        compare_declared(a, arena, tc_arena_format(arena, "K^i_1 of %s", name), &row->jacobian[0], true);
        compare_declared(a, arena, tc_arena_format(arena, "K^i_2 of %s", name), &row->jacobian[1], true);
        compare_declared(a, arena, tc_arena_format(arena, "L_i of %s", name), &row->objective, false);
    }
    if (a->model->constraint_count > 0 && !(isfinite(a->g[0].upper) && isfinite(a->g[1].upper)))
        tc_warn(a, arena, "The constraints have no finite Lipschitz constant on the box: nothing can be made private.");
    if (a->dual_radius.public_too_small)
        tc_warn(a, arena,
                "The public dual radius is smaller than the private data call for: the multipliers of the "
                "solution may lie outside M.");
}
