#include "model/model.h"

#include "base/ranks/ranks.h"
#include "base/search.h"

#include <math.h>
#include <string.h>

const tc_family *tc_family_of_agent(const tc_model *model, size_t agent) {
    size_t next;
    TC_SEARCH(next, 1, model->family_count, model->families[next].first_agent <= agent);
    return &model->families[next - 1];
}

const tc_family *tc_family_of_coord(const tc_model *model, size_t coord) {
    size_t next;
    TC_SEARCH(next, 1, model->family_count, model->families[next].first_coord <= coord);
    return &model->families[next - 1];
}

void tc_family_held_by(const tc_family *family, size_t number, size_t rank, size_t ranks, size_t *first, size_t *end) {
    tc_ranks_share_of(number, (family->count + TC_MEMBER_BLOCK - 1) / TC_MEMBER_BLOCK, rank, ranks, first, end);
    *first *= TC_MEMBER_BLOCK;
    *end = *end * TC_MEMBER_BLOCK < family->count ? *end * TC_MEMBER_BLOCK : family->count;
    *first = *first < *end ? *first : *end;
}

void tc_family_hold(tc_family *family, size_t number) {
    tc_family_held_by(family, number, tc_ranks_mine(), tc_ranks_count(), &family->held_first, &family->held_end);
}

void tc_copy_held(const tc_model *model, double *to, const double *from) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            size_t first = tc_coord_of(family, family->held_first, c);
            memcpy(to + first, from + first, (family->held_end - family->held_first) * sizeof *to);
        }
    }
}

void tc_agent_name(tc_buffer *out, const tc_family *family, size_t member) {
    if (family->member_names != NULL)
        tc_buffer_puts(out, family->member_names[member]);
    else if (family->is_family)
        tc_buffer_printf(out, "%s[%zu]", family->name, member + 1);
    else
        tc_buffer_puts(out, family->name);
}

void tc_coord_name(tc_buffer *out, const tc_model *model, size_t coord) {
    const tc_family *family = tc_family_of_coord(model, coord);
    size_t place = coord - family->first_coord;
    size_t component = place / family->count;
    const tc_variable *variable = family->variables;
    while (component >= variable->first + variable->length)
        variable++;
    tc_agent_name(out, family, place % family->count);
    tc_buffer_printf(out, ".%s", variable->name);
    if (!variable->is_scalar)
        tc_buffer_printf(out, "[%zu]", component - variable->first + 1);
}

static void tell_datum(const tc_model *model, const tc_family *family, const tc_datum *datum, bool shows_numbers,
                       tc_buffer *out) {
    const tc_outside *o = &datum->outside;
    tc_span_place(out, &model->source, datum->span);
    tc_buffer_printf(out, ": warning: ");
    if (!shows_numbers) {
        tc_buffer_printf(out, "%s of ", datum->name);
        if (family->is_family)
            tc_buffer_printf(out, "%zu of the %zu members of ", o->members, family->count);
        tc_buffer_printf(out, "%s is outside of its range, and its nearest end is used; tacit check shows %s\n",
                         family->name, family->is_family ? "one" : "it");
        return;
    }
    const double numbers[] = {o->from, o->lower, o->upper, o->to};
    char texts[4][32];
    for (size_t i = 0; i < 4; i++)
        tc_shortest_number(texts[i], numbers[i]);
    tc_buffer_printf(out, "%s of ", family->columns[datum->columns[o->component]].name);
    tc_agent_name(out, family, o->member);
    tc_buffer_printf(out, " is %s, outside of its range [%s, %s]: %s is used", texts[0], texts[1], texts[2], texts[3]);
    if (o->members > 1)
        tc_buffer_printf(out, "; so it is for %zu other%s", o->members - 1, o->members > 2 ? "s" : "");
    tc_buffer_puts(out, "\n");
}

void tc_tell_outside(const tc_model *model, bool to_owner, tc_buffer *out) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t d = 0; d < family->datum_count; d++) {
            if (family->data[d].outside.members > 0)
                tell_datum(model, family, &family->data[d], to_owner, out);
        }
    }
}

/* ---- a point x as JSON and as text ---------------------------------------------------------------------------------
 */

enum { WIDTH = 80, SHOWN_NUMBERS = 5 };
static const double DUST = 1e-12; /* of a number's natural size: not worth printing */

static size_t largest_dim(const tc_model *model) {
    size_t largest = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        if (model->families[f].dim > largest)
            largest = model->families[f].dim;
    }
    return largest;
}

void tc_point_json_states(const tc_model *model, const double *x, tc_json *json) {
    tc_buffer name = tc_buffer_new(json->out->arena, 1 << 20);
    double *state = TC_NEW(json->out->arena, double, largest_dim(model));
    tc_json_open_object(json, "x");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            name.length = 0;
            tc_agent_name(&name, family, k);
            for (size_t c = 0; c < family->dim; c++)
                state[c] = x[tc_coord_of(family, k, c)];
            tc_json_numbers(json, tc_buffer_text(&name), state, family->dim);
        }
    }
    tc_json_close_object(json);
}

void tc_point_json_constraints(const tc_model *model, tc_json *json) {
    tc_json_open_array(json, "constraints");
    for (size_t j = 0; j < model->constraint_count; j++)
        tc_json_string(json, NULL, model->constraints[j].name);
    tc_json_close_array(json);
    tc_json_equalities(model, json);
}

void tc_json_equalities(const tc_model *model, tc_json *json) {
    if (tc_equality_count(model) == 0)
        return;
    tc_json_open_array(json, "equalities");
    for (size_t j = 0; j < model->constraint_count; j++)
        if (model->constraints[j].is_equality)
            tc_json_string(json, NULL, model->constraints[j].name);
    tc_json_close_array(json);
}

double tc_without_dust(double value, double size) { return fabs(value) <= DUST * size ? 0 : value; }

void tc_point_name(tc_buffer *out, const char *name) {
    tc_buffer_printf(out, "  %-*s", TC_POINT_NAME_WIDTH - 2, name);
    if (strlen(name) > TC_POINT_NAME_WIDTH - 2)
        tc_buffer_printf(out, "\n%*s", TC_POINT_NAME_WIDTH, "");
}

/* Further lines are indented to the first column. */
void tc_point_numbers(tc_buffer *out, const double *values, size_t count, bool full) {
    size_t shown = full || count <= SHOWN_NUMBERS ? count : SHOWN_NUMBERS - 1;
    size_t per_line = (WIDTH - TC_POINT_NAME_WIDTH) / TC_POINT_CELL_WIDTH;
    for (size_t i = 0; i < shown; i++) {
        if (i > 0 && i % per_line == 0)
            tc_buffer_printf(out, "\n%*s", TC_POINT_NAME_WIDTH, "");
        tc_buffer_printf(out, " %*.4g", TC_POINT_CELL_WIDTH - 1, values[i]);
    }
    tc_buffer_puts(out, shown < count ? "  ...\n" : "\n");
}

void tc_point_left_out(tc_buffer *out, size_t left_out) {
    if (left_out > 0)
        tc_buffer_printf(out, "  ... and %zu more; --full shows all\n", left_out);
}

void tc_point_states(const tc_model *model, const double *x, bool full, tc_buffer *out) {
    double *state = TC_NEW(out->arena, double, largest_dim(model));
    tc_buffer name = tc_buffer_new(out->arena, 1 << 20);
    size_t shown = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count && (full || shown < TC_POINT_SHOWN); k++, shown++) {
            name.length = 0;
            tc_agent_name(&name, family, k);
            for (size_t c = 0; c < family->dim; c++) {
                double size = fmax(fabs(tc_coef_at(family->lower[c], k)), fabs(tc_coef_at(family->upper[c], k)));
                state[c] = tc_without_dust(x[tc_coord_of(family, k, c)], size);
            }
            tc_point_name(out, tc_buffer_text(&name));
            tc_point_numbers(out, state, family->dim, full);
        }
    }
    tc_point_left_out(out, model->agent_count - shown);
}
