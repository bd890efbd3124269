/* What becomes of the kinks and bends of a family's objective. |u| is u or -u where its sign is known in the box, a
 * norm is smooth where it is never 0, and huber is lifted where the objective rises with it; all of this may depend on
 * a member's data. Who looks at a whole family, as the reference solution does, chooses for all members at once. An
 * agent's step must not: a device has the data of one member, and takes the same way. It is chosen for each member from
 * its own data, and from what is known without data wherever that suffices, so that members seldom differ. */
#ifndef TC_CALCULUS_CHOOSE_H
#define TC_CALCULUS_CHOOSE_H

#include "model/model.h"

typedef enum tc_choice {
    TC_CHOICE_KEPT,     /* as it stands: a norm that is not 0, a huber */
    TC_CHOICE_LIFTED,   /* a variable takes its place */
    TC_CHOICE_POSITIVE, /* |u| = u */
    TC_CHOICE_NEGATIVE, /* |u| = -u */
} tc_choice;

typedef struct tc_choices tc_choices;

/* NULL where there is nothing to choose: the objective has no |u|, norm or huber. */
tc_choices *tc_choices_new(tc_arena *arena, const tc_model *model, const tc_family *family);

/* How many things there are to choose about. */
size_t tc_choices_count(const tc_choices *choices);

/* Whether number i is a huber. */
bool tc_choice_is_bend(const tc_choices *choices, size_t i);

/* For all members at once. */
void tc_choose_for_all(tc_choices *choices);
/* For one member. */
void tc_choose_for_member(tc_choices *choices, size_t member);
/* Whether all members choose alike. */
bool tc_all_choose_alike(tc_choices *choices);

/* What was chosen last, tc_choices_count bytes; and what was chosen for one node. */
unsigned char *tc_chosen(const tc_choices *choices);
tc_choice tc_choice_of(const tc_choices *choices, tc_expr e);

/* Whether a function of states is affine by structure. */
bool tc_is_affine_in_states(tc_arena *arena, const tc_dag *dag, tc_expr root);

#endif
