#include "plan/placement/placement.h"

static bool varies(const tc_model *model, tc_expr value) { return tc_node_of(model->dag, value)->has_state; }

/* By input: whether some constraint depends on it. */
static bool *effects(tc_arena *arena, const tc_derivatives *derivatives) {
    bool *found = TC_NEW(arena, bool, derivatives->input_count + 1);
    for (size_t o = 0; o < derivatives->outer_first_count; o++)
        found[derivatives->outer_first[o].column] = true;
    return found;
}

/* The first row that depends on an input of this family's body, for messages. */
static const char *row_with(const tc_model *model, const tc_derivatives *derivatives, uint32_t sum) {
    for (size_t o = 0; o < derivatives->outer_first_count; o++) {
        const tc_outer_input *input = &derivatives->inputs[derivatives->outer_first[o].column];
        if (input->op == TC_SUM && input->index == sum)
            return model->constraints[derivatives->outer_first[o].row].name;
    }
    return NULL;
}

const char *tc_forms_problem(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *of = &derivatives->families[f];
        for (size_t e = 0; e < of->body_first_count; e++) {
            const char *row = varies(model, of->body_first[e].value)
                                  ? row_with(model, derivatives, of->sums[of->body_first[e].row])
                                  : NULL;
            if (row != NULL)
                return tc_arena_format(arena,
                                       "a sum over '%s' in constraint '%s' adds up terms that are not affine in the "
                                       "states: --placement states does without forms",
                                       model->families[f].name, row);
        }
    }
    return NULL;
}

size_t tc_curved_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, const bool **curved) {
    bool *found = TC_NEW(arena, bool, model->constraint_count + 1);
    bool *curved_sum = TC_NEW(arena, bool, model->sum_count + 1);
    size_t count = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *of = &derivatives->families[f];
        for (size_t e = 0; e < of->body_first_count; e++)
            curved_sum[of->sums[of->body_first[e].row]] |= varies(model, of->body_first[e].value);
    }
    for (size_t o = 0; o < derivatives->outer_first_count; o++) {
        const tc_first *entry = &derivatives->outer_first[o];
        const tc_outer_input *input = &derivatives->inputs[entry->column];
        found[entry->row] |= varies(model, entry->value) || (input->op == TC_SUM && curved_sum[input->index]);
    }
    for (size_t j = 0; j < model->constraint_count; j++)
        count += found[j];
    if (curved != NULL)
        *curved = found;
    return count;
}

tc_forms *tc_some_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, const bool *left_out,
                       uint32_t *rows) {
    tc_forms *made = TC_NEW(arena, tc_forms, 1);
    uint32_t *place = TC_NEW(arena, uint32_t, model->constraint_count + 1), count = 0;
    made->model = TC_NEW(arena, tc_model, 1);
    made->derivatives = TC_NEW(arena, tc_derivatives, 1);
    *made->model = *model;
    *made->derivatives = *derivatives;
    made->model->constraints = TC_NEW(arena, tc_constraint, model->constraint_count + 1);
    for (uint32_t j = 0; j < model->constraint_count; j++) {
        if (left_out[j])
            continue;
        made->model->constraints[count] = model->constraints[j];
        place[j] = count;
        rows[count++] = j;
    }
    made->model->constraint_count = count;
    made->derivatives->outer_second_count = made->derivatives->outer_first_count = 0;
    made->derivatives->outer_first = TC_NEW(arena, tc_first, derivatives->outer_first_count + 1);
    for (size_t o = 0; o < derivatives->outer_first_count; o++) {
        tc_first entry = derivatives->outer_first[o];
        if (left_out[entry.row])
            continue;
        entry.row = place[entry.row];
        made->derivatives->outer_first[made->derivatives->outer_first_count++] = entry;
    }
    return made;
}

/* "s[feeder[3]]" for the only sum of the first row that has it, "s[feeder[3], 2]" for its second of several. */
static void name_sums(tc_arena *arena, const tc_model *model, const tc_derivatives *d, tc_constraint *forms) {
    for (size_t o = 0; o < d->outer_first_count;) {
        uint32_t row = d->outer_first[o].row;
        size_t end = o, count = 0, place = 0;
        for (; end < d->outer_first_count && d->outer_first[end].row == row; end++)
            count += d->inputs[d->outer_first[end].column].op == TC_SUM;
        for (; o < end; o++) {
            uint32_t column = d->outer_first[o].column;
            if (d->inputs[column].op != TC_SUM)
                continue;
            place++;
            if (forms[column].name != NULL)
                continue;
            const char *name = model->constraints[row].name;
            forms[column].name =
                count == 1 ? tc_arena_format(arena, "s[%s]", name) : tc_arena_format(arena, "s[%s, %zu]", name, place);
            forms[column].span = model->constraints[row].span;
        }
    }
}

static const char *coord_name(tc_arena *arena, const tc_model *model, size_t coord) {
    tc_buffer name = tc_buffer_new(arena, 4096);
    tc_coord_name(&name, model, coord);
    return tc_buffer_text(&name);
}

static tc_constraint *list_forms(tc_arena *arena, tc_model *model, const tc_derivatives *d, const bool *has_effect) {
    tc_constraint *forms = TC_NEW(arena, tc_constraint, d->input_count + 1);
    tc_expr nothing = tc_const(model->dag, 0);
    name_sums(arena, model, d, forms);
    for (size_t r = 0; r < d->input_count; r++) {
        forms[r].outer = has_effect[r] ? d->inputs[r].leaf : nothing;
        if (d->inputs[r].op == TC_COORD)
            forms[r].name = coord_name(arena, model, d->inputs[r].index);
        else if (forms[r].name == NULL)
            forms[r].name = tc_arena_format(arena, "s[, %zu]", r + 1); /* without effect on any constraint */
    }
    return forms;
}

tc_forms *tc_forms_new(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives) {
    tc_forms *made = TC_NEW(arena, tc_forms, 1);
    made->model = TC_NEW(arena, tc_model, 1);
    made->derivatives = TC_NEW(arena, tc_derivatives, 1);
    const bool *has_effect = effects(arena, derivatives);
    *made->model = *model;
    made->model->constraints = list_forms(arena, model, derivatives, has_effect);
    made->model->constraint_count = derivatives->input_count;
    made->model->declared_constraints[0] = made->model->declared_constraints[1] = NAN;
    made->model->start_multipliers = TC_NEW(arena, double, derivatives->input_count + 1);
    *made->derivatives = *derivatives;
    made->derivatives->outer_second = NULL;
    made->derivatives->outer_second_count = made->derivatives->outer_first_count = 0;
    made->derivatives->outer_first = TC_NEW(arena, tc_first, derivatives->input_count + 1);
    tc_expr one = tc_const(model->dag, 1);
    for (uint32_t r = 0; r < derivatives->input_count; r++) {
        if (has_effect[r])
            made->derivatives->outer_first[made->derivatives->outer_first_count++] = (tc_first){r, r, one};
    }
    return made;
}
