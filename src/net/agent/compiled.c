#include "net/agent/agent.h"

#include "engine/agent_half.h"
#include "model/model.h"

#include <math.h>

static bool start(void *context, double *x) {
    tc_agent_half *device = context;
    bool good = tc_agent_half_start(device, x);
    for (size_t i = 0; i < tc_agent_half_states(device); i++)
        good = good && isfinite(x[i]);
    return good;
}

static tc_slater_answer check_slater(void *context) {
    tc_agent_half_slater found = tc_agent_half_check_slater(context);
    return !found.has_point ? TC_SLATER_UNASKED : found.holds ? TC_SLATER_YES : TC_SLATER_NO;
}

static bool holds(void *context, const double *p) { return tc_agent_half_is_slater(context, p); }

static const char *scale(void *context, const int8_t *scales) { return tc_agent_half_scale(context, scales); }

static tc_agent_stepped step(void *context, const tc_agent_answer *answer, const double *x, double *next) {
    tc_answer_scalars scalars = {.step = answer->step, .regularization = answer->regularization};
    tc_method method = answer->method == TC_WIRE_TACIT ? TC_METHOD_TACIT : TC_METHOD_PUBLISHED;
    return tc_agent_half_step(context, method, scalars, answer->p, x, next) ? TC_STEPPED : TC_STEP_NOT_FINITE;
}

tc_status tc_agent_compile(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                           tc_agent_steps *steps) {
    tc_model *model = NULL;
    tc_agent_half *device = NULL;
    const char *why = NULL;
    tc_status status = tc_model_load(arena, path, monitor, messages, &model);
    if (status != TC_OK)
        return status;
    if (model->role == TC_ROLE_CLOUD) {
        tc_buffer_printf(messages,
                         "%s: this is the cloud's file; an agent takes its own, which `tacit split` writes as "
                         "agents/NAME.tacit\n",
                         path);
        return TC_BAD_USAGE;
    }
    tc_tell_outside(model, true, messages); /* to who started the agent, not to the cloud */
    status = tc_agent_half_new(arena, model, tc_derive(arena, model), &device, &why);
    if (status != TC_OK) {
        tc_buffer_printf(messages, "%s: %s\n", path, why);
        return status;
    }
    double *lower = TC_NEW(arena, double, tc_agent_half_states(device)),
           *upper = TC_NEW(arena, double, tc_agent_half_states(device));
    tc_agent_half_box(device, lower, upper);
    *steps = (tc_agent_steps){.name = tc_agent_half_name(device),
                              .states = tc_agent_half_states(device),
                              .lower = lower,
                              .upper = upper,
                              .context = device,
                              .has_kinks = tc_agent_half_has_kinks(device),
                              .start = start,
                              .check_slater = check_slater,
                              .holds = holds,
                              .scale = scale,
                              .step = step};
    return TC_OK;
}
