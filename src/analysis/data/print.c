/* Distances of protected data, as JSON and as text. */
#include "analysis/data/data.h"

#include "analysis/steps.h"

static bool protects(const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        for (size_t d = 0; d < model->families[f].datum_count; d++) {
            if (model->families[f].data[d].by != NULL)
                return true;
        }
    }
    return false;
}

void tc_data_json(const tc_model *model, tc_json *json) {
    if (!protects(model))
        return;
    tc_json_open_array(json, "protected");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t d = 0; d < family->datum_count; d++) {
            const tc_datum *datum = &family->data[d];
            if (datum->by == NULL)
                continue;
            tc_json_open_object(json, NULL);
            tc_json_string(json, "family", family->name);
            tc_json_string(json, "datum", datum->name);
            tc_json_number(json, "by", datum->protection.most);
            tc_json_number(json, "l1", datum->distances[0]);
            tc_json_number(json, "l2", datum->distances[1]);
            tc_json_string(json, "reason", family->data_fault != NULL ? family->data_fault : datum->note);
            tc_json_close_object(json);
        }
    }
    tc_json_close_array(json);
}

void tc_data_text(const tc_model *model, tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    if (!protects(model))
        return;
    tc_buffer_puts(layout->out, "\nProtected data: how far apart they can put an agent's messages in any round\n");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (family->data_fault != NULL)
            tc_layout_paragraph(layout, 2, family->data_fault);
        for (size_t d = 0; d < family->datum_count && family->data_fault == NULL; d++) {
            const tc_datum *datum = &family->data[d];
            char by[32], one[32], two[32];
            if (datum->by == NULL)
                continue;
            tc_layout_paragraph(layout, 2,
                                tc_arena_format(arena, "%s of %s, by %s: %s in l1, %s in l2%s%s", datum->name,
                                                family->name, tc_short_number(by, datum->protection.most),
                                                tc_short_number(one, datum->distances[0]),
                                                tc_short_number(two, datum->distances[1]),
                                                datum->note != NULL ? ", all that the public box allows: " : "",
                                                datum->note != NULL ? datum->note : ""));
        }
    }
}
