/* A problem and the files that `tacit split` makes of it, as parties that step side by side. */
#ifndef TC_TESTS_ENGINE_PARTIES_H
#define TC_TESTS_ENGINE_PARTIES_H

#include "engine/crowd.h"
#include "engine/proximal/proximal.h"
#include "model/split/split.h"
#include "model/support.h"

enum { MOST_DIM = 64 };

typedef struct party { /* a model that can be stepped */
    bench loaded;
    tc_derivatives *derivatives;
    tc_agents *agents;
    tc_proximal *proximal;
    double *x, *p;
} party;

static inline party party_of(bench loaded) {
    party made = {.loaded = loaded};
    if (loaded.status != TC_OK)
        fail_msg("%s", messages_of(&made.loaded));
    tc_escape escape;
    assert_int_equal(TC_TRY(loaded.arena, &escape), TC_OK);
    made.derivatives = tc_derive(loaded.arena, loaded.model);
    if (loaded.model->role != TC_ROLE_CLOUD) {
        made.agents = tc_agents_new(loaded.arena, loaded.model, made.derivatives, 1);
        made.proximal = tc_proximal_new(loaded.arena, made.agents, made.derivatives, NULL);
    }
    made.x = TC_NEW(loaded.arena, double, loaded.model->state_count);
    made.p = TC_NEW(loaded.arena, double, loaded.model->state_count);
    tc_escape_end(loaded.arena, &escape);
    return made;
}

/* ---- the same steps ---------------------------------------------------------------------------------------------- */

typedef struct step_kind {
    bool is_proximal;
    tc_answer_scalars scalars;
} step_kind;

/* One round of a family. */
static inline void step_family(party *of, size_t f, step_kind kind) {
    const tc_family *family = &of->loaded.model->families[f];
    const double *x[MOST_DIM], *p[MOST_DIM];
    double *next[MOST_DIM];
    for (size_t c = 0; c < family->dim; c++) {
        next[c] = of->x + tc_coord_of(family, 0, c);
        x[c] = next[c];
        p[c] = of->p + tc_coord_of(family, 0, c);
    }
    size_t failed = kind.is_proximal ? tc_proximal_next(of->proximal, 0, f, 0, family->count, p, kind.scalars, x, next)
                                     : tc_agents_next(of->agents, 0, f, 0, family->count, p, kind.scalars, x, next);
    assert_int_equal(failed, TC_ALL_FINITE);
}

static inline void step_alone(party *of, step_kind kind) {
    size_t failed = kind.is_proximal ? tc_proximal_next_singles(of->proximal, 0, of->p, kind.scalars, of->x, of->x)
                                     : tc_agents_next_singles(of->agents, 0, of->p, kind.scalars, of->x, of->x);
    assert_int_equal(failed, TC_ALL_FINITE);
}

static inline const char *path_of(const char *folder, const tc_family *family, size_t member) {
    static char path[400];
    if (family->member_names != NULL)
        (void)snprintf(path, sizeof path, "%s/agents/%s.tacit", folder, family->member_names[member]);
    else
        (void)snprintf(path, sizeof path, "%s/agents/%s.%zu.tacit", folder, family->name, member + 1);
    return path;
}

static inline bool same_state(const party *whole, const tc_family *family, size_t member, const party *alone) {
    bool same = true;
    for (size_t c = 0; c < family->dim; c++)
        same = same && memcmp(&whole->x[tc_coord_of(family, member, c)], &alone->x[c], sizeof(double)) == 0;
    return same;
}

#endif
