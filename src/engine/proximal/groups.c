/* Which members of a family are computed in the same way. What a way is chosen by may depend on data: whether a
 * function has a kink in a member's box, which rows of its set cut anything. A member alone, on its device, sees its
 * own data only; so each member gets the way that it would get alone, and those that agree are a family of their own,
 * with their data side by side. Nearly always that is the family itself. */
#include "engine/proximal/inside.h"
#include "model/spread.h"
#include "solver/project/set.h"

#include <string.h>

typedef struct grouping {
    tc_arena *arena;
    const tc_model *model;
    const tc_family *family;
    tc_choices *choices; /* NULL where the objective leaves none */
    tc_set *set;         /* NULL where all sets are alike */
    size_t bytes;        /* of a signature: the choices, then the set's */
    unsigned char **signatures;
    size_t count, capacity;
    size_t *group_of; /* by member */
    size_t *sizes;    /* by group */
    bool is_one;      /* all members are in one group */
} grouping;

/* Steps of lifted objectives look at a member's own set, whatever the others' are. */
static bool is_lifted(const grouping *g, const unsigned char *chosen) {
    for (size_t i = 0; g->choices != NULL && i < tc_choices_count(g->choices); i++)
        if (chosen[i] == TC_CHOICE_LIFTED && !tc_choice_is_bend(g->choices, i))
            return true;
    return false;
}

static void sign(const grouping *g, size_t member, unsigned char *signature) {
    size_t chosen = g->choices != NULL ? tc_choices_count(g->choices) : 0;
    memset(signature, 0, g->bytes);
    if (g->choices != NULL) {
        tc_choose_for_member(g->choices, member);
        memcpy(signature, tc_chosen(g->choices), chosen);
    }
    if (g->set == NULL || is_lifted(g, signature))
        return;
    tc_mark mark = tc_arena_mark(g->arena);
    size_t *parts = TC_NEW(g->arena, size_t, g->family->piece_count + 1);
    tc_set_load(g->set, member);
    tc_projector_signature(g->set, parts);
    memcpy(signature + chosen, parts, (g->family->piece_count + 1) * sizeof *parts);
    tc_arena_rewind(g->arena, mark);
}

/* The group with this signature, which may be new; members like the one before are found at once. */
static size_t find(grouping *g, const unsigned char *signature, size_t last) {
    if (last < g->count && memcmp(g->signatures[last], signature, g->bytes) == 0)
        return last;
    for (size_t i = 0; i < g->count; i++)
        if (memcmp(g->signatures[i], signature, g->bytes) == 0)
            return i;
    if (g->count == g->capacity) {
        size_t capacity = g->capacity * 2 + 4;
        g->signatures = tc_arena_grow(g->arena, g->signatures, g->count, capacity, sizeof *g->signatures);
        g->sizes = tc_arena_grow(g->arena, g->sizes, g->count, capacity, sizeof *g->sizes);
        g->capacity = capacity;
    }
    g->signatures[g->count] = TC_NEW(g->arena, unsigned char, g->bytes);
    memcpy(g->signatures[g->count], signature, g->bytes);
    g->sizes[g->count] = 0;
    return g->count++;
}

/* Where the family is spread over ranks, each has the groups of the members that it knows: none if it knows nobody. */
static void meet(grouping *g) {
    unsigned char *first = TC_NEW(g->arena, unsigned char, g->bytes);
    if (g->count > 0)
        memcpy(first, g->signatures[0], g->bytes);
    tc_from_member(g->family, 0, first, g->bytes);
    bool fits = g->count == 0 || (g->count == 1 && memcmp(first, g->signatures[0], g->bytes) == 0);
    g->is_one = tc_for_all(g->family, fits);
}

static void find_groups(grouping *g) {
    const tc_family *family = g->family;
    g->bytes = (g->choices != NULL ? tc_choices_count(g->choices) : 0) + (family->piece_count + 1) * sizeof(size_t);
    unsigned char *signature = TC_NEW(g->arena, unsigned char, g->bytes);
    bool varies = g->set != NULL || !(g->choices == NULL || tc_all_choose_alike(g->choices));
    bool knows_some = family->known_first < family->known_end;
    g->group_of = TC_NEW(g->arena, size_t, varies ? family->count : 1);
    for (size_t k = tc_first_known(family, varies), last = 0; knows_some && k < tc_end_known(family, varies); k++) {
        sign(g, varies ? k : family->known_first, signature);
        last = find(g, signature, last);
        g->group_of[k] = last;
        g->sizes[last]++;
    }
    g->is_one = g->count == 1;
    if (varies)
        meet(g);
}

/* ---- a family of some of the members ----------------------------------------------------------------------------- */

typedef struct some { /* of the members */
    tc_arena *arena;
    const size_t *members;
    size_t count;
} some;

static const double *column_of(const some *s, const double *column) {
    double *made = TC_NEW(s->arena, double, s->count);
    for (size_t k = 0; k < s->count; k++)
        made[k] = column[s->members[k]];
    return made;
}

static tc_coef *coefs_of(const some *s, const tc_coef *coefs, size_t count) {
    if (coefs == NULL)
        return NULL;
    tc_coef *made = TC_NEW(s->arena, tc_coef, count);
    for (size_t i = 0; i < count; i++) {
        made[i] = coefs[i];
        if (coefs[i].column != NULL)
            made[i].column = column_of(s, coefs[i].column);
    }
    return made;
}

/* With what a step looks at: data, bounds and sets. */
static tc_family *family_of(const some *s, const tc_family *whole) {
    tc_family *made = TC_NEW(s->arena, tc_family, 1);
    *made = *whole;
    made->count = made->held_end = s->count;
    made->held_first = made->known_first = 0;
    made->known_end = made->count;
    made->is_spread = false;
    made->columns = TC_NEW(s->arena, tc_column, whole->column_count);
    for (size_t d = 0; d < whole->column_count; d++) {
        made->columns[d] = whole->columns[d];
        made->columns[d].values = column_of(s, whole->columns[d].values);
    }
    made->lower = coefs_of(s, whole->lower, whole->dim);
    made->upper = coefs_of(s, whole->upper, whole->dim);
    made->pieces = TC_NEW(s->arena, tc_set_piece, whole->piece_count);
    for (size_t p = 0; p < whole->piece_count; p++) {
        tc_set_piece *piece = &made->pieces[p];
        *piece = whole->pieces[p];
        piece->center = coefs_of(s, piece->center, piece->count);
        piece->upper = coefs_of(s, piece->upper, piece->count);
        piece->matrix = coefs_of(s, piece->matrix, piece->count * piece->count);
        piece->radius = *coefs_of(s, &piece->radius, 1);
    }
    return made;
}

static const size_t *members_of(const grouping *g, size_t group) {
    size_t *members = TC_NEW(g->arena, size_t, g->sizes[group]), at = 0;
    for (size_t k = g->family->known_first; k < g->family->known_end; k++)
        if (g->group_of[k] == group)
            members[at++] = k;
    return members;
}

/* What the members of a group chose, as its first one does. */
static const tc_family_derivatives *derive(grouping *g, size_t first) {
    tc_family_derivatives *made = TC_NEW(g->arena, tc_family_derivatives, 1);
    tc_choose_for_member(g->choices, first);
    *made = tc_derive_objective(g->arena, g->model, g->family, g->choices);
    return made;
}

/* Data, gradient and sets of a group; what it shares with the whole family is not made again. */
static const tc_agents_family *agents_of(const grouping *g, const tc_proximal_family *group, size_t size,
                                         const tc_agents *agents, const tc_agents_family *whole, size_t *memory) {
    if (group->members == NULL && g->choices == NULL)
        return whole;
    tc_agents_family *made = TC_NEW(g->arena, tc_agents_family, 1);
    some s = {.arena = g->arena, .members = group->members, .count = size};
    const tc_family *family = group->members != NULL ? family_of(&s, g->family) : g->family;
    *made = *whole;
    tc_agents_slopes_new(g->arena, g->model->dag, family, group->derivatives, made);
    if (group->members != NULL && group->derivatives->lift == NULL)
        tc_agents_sets_new(g->arena, agents->workers, memory, made);
    return made;
}

tc_proximal_groups tc_proximal_group(tc_arena *arena, const tc_agents *agents, size_t family,
                                     const tc_family_derivatives *derivatives, size_t *memory) {
    const tc_model *model = agents->model;
    grouping g = {.arena = arena, .model = model, .family = &model->families[family]};
    if (g.family->objective != TC_NO_EXPR)
        g.choices = tc_choices_new(arena, model, g.family);
    bool is_always_lifted = g.choices == NULL && derivatives->lift != NULL;
    if (!is_always_lifted && tc_projector_varies(g.family))
        g.set = tc_set_new(arena, g.family);
    find_groups(&g);
    tc_proximal_groups made = {.at = TC_NEW(arena, tc_proximal_family, g.count), .count = g.count};
    for (size_t i = 0; i < g.count; i++) {
        tc_proximal_family *group = &made.at[i];
        group->members = g.is_one ? NULL : members_of(&g, i);
        group->derivatives = derivatives;
        if (g.choices != NULL)
            group->derivatives = derive(&g, group->members != NULL ? group->members[0] : g.family->known_first);
        group->of = agents_of(&g, group, g.sizes[i], agents, &agents->families[family], memory);
    }
    return made;
}
