#include "engine/device.h"

#include "engine/proximal/proximal.h"
#include "solver/project/set.h"

/* Of the size of the set's numbers: how far outside counts as inside. As for the analysis of a whole problem. */
#define MEMBERSHIP 1e-9

struct tc_device {
    const tc_family *family;
    const char *name;
    tc_agents *agents;
    tc_proximal *proximal;
    tc_set *set;
    double *point;         /* dim */
    const double **p, **x; /* by component */
    double **next;
};

tc_status tc_device_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, tc_device **device,
                        const char **why) {
    *device = NULL;
    *why = "this is not the file of one agent, which `tacit split` makes";
    if (model->role != TC_ROLE_AGENT || model->family_count != 1 || model->families[0].count != 1)
        return TC_BAD_USAGE;
    *why = NULL;
    const tc_family *family = &model->families[0];
    tc_buffer name = tc_buffer_new(arena, 4096);
    tc_agent_name(&name, family, 0);
    tc_device *made = TC_NEW(arena, tc_device, 1);
    *made = (tc_device){.family = family,
                        .name = tc_buffer_text(&name),
                        .agents = tc_agents_new(arena, model, derivatives, 1),
                        .set = tc_set_of(arena, family, 0),
                        .point = TC_NEW(arena, double, family->dim),
                        .p = TC_NEW(arena, const double *, family->dim),
                        .x = TC_NEW(arena, const double *, family->dim),
                        .next = TC_NEW(arena, double *, family->dim)};
    made->proximal = tc_proximal_new(arena, made->agents, derivatives);
    *device = made;
    return TC_OK;
}

const char *tc_device_name(const tc_device *device) { return device->name; }
size_t tc_device_states(const tc_device *device) { return device->family->dim; }

tc_device_slater tc_device_check_slater(tc_device *device) {
    const tc_family *family = device->family;
    if (!family->has_slater)
        return (tc_device_slater){0};
    for (size_t c = 0; c < family->dim; c++)
        device->point[c] = tc_coef_at(family->slater[c], 0);
    double outside = tc_set_violation(device->set, device->point, NULL);
    return (tc_device_slater){.has_point = true,
                              .holds = !device->set->is_empty && outside <= MEMBERSHIP * tc_set_scale(device->set)};
}

void tc_device_box(const tc_device *device, double *lower, double *upper) {
    for (size_t c = 0; c < device->family->dim; c++) {
        lower[c] = tc_coef_at(device->family->lower[c], 0);
        upper[c] = tc_coef_at(device->family->upper[c], 0);
    }
}

void tc_device_start(tc_device *device, double *x) { tc_agents_start(device->agents, x); }

bool tc_device_step(tc_device *device, tc_method method, tc_answer_scalars scalars, const double *p, const double *x,
                    double *next) {
    for (size_t c = 0; c < device->family->dim; c++) {
        device->p[c] = p + c;
        device->x[c] = x + c;
        device->next[c] = next + c;
    }
    size_t member = method == TC_METHOD_TACIT
                        ? tc_proximal_next(device->proximal, 0, 0, 0, 1, device->p, scalars, device->x, device->next)
                        : tc_agents_next(device->agents, 0, 0, 0, 1, device->p, scalars, device->x, device->next);
    return member == TC_ALL_FINITE;
}
