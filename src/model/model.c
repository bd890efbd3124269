#include "model/model.h"

#include "base/search.h"

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
