/* What private data can change of an agent's messages: docs/proofs/data.md.
 *
 * Two agents that differ in one protected datum, inside of its range, are fed the same answers. tc_data_certify bounds
 * how far apart their states can be in any round, whatever the answers, and writes that into tc_datum.distances. It
 * uses the form of objective and sets, and ranges; never a private number. Where no bound below the public box is
 * proved, the distance is that of the box, and tc_datum.note says why.
 *
 * From the same ranges follow gaps: where a family has a Slater point and no `gap`, it gets one. */
#ifndef TC_ANALYSIS_DATA_DATA_H
#define TC_ANALYSIS_DATA_DATA_H

#include "base/text.h"
#include "calculus/derivatives.h"

/* Each step of an agent is proved to be within this part of the diameter of its public box of the exact one, in l2
 * (engine/proximal/proof.h); a plan adds what T such steps can come to. */
#define TC_STEP_ERROR 1e-9

/* For a whole problem or an agent's file, after tc_derive; does nothing for a cloud's. Adds nodes to the model's DAG.
 * In an agent's file distances are already there: family->data_fault says where they are not large enough.
 */
void tc_data_certify(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives);

/* Whether the promise about data rests on the agents' steps: some distance is below the width of the box, so a step
 * that is not proved to be accurate voids it. */
bool tc_data_needs_steps(const tc_family *family);

/* The diameter of the public box in l1 (norm 1) or l2 (norm 2), the largest over members; rounded up. */
double tc_box_diameter(const tc_family *family, int norm);

/* Of protected data, for `tacit check`; nothing where there are none. */
void tc_data_json(const tc_model *model, tc_json *json);
void tc_data_text(const tc_model *model, tc_text_layout *layout);

#endif
