#include "plan/certificate.h"

#include "base/text.h"
#include "plan/plan_parts.h"

#include <openssl/evp.h>

const char *tc_certificate_problem(const tc_plan *plan) {
    if (plan->problem != NULL)
        return "there is no plan";
    if (plan->mechanism == TC_MECHANISM_NONE)
        return "a plan without noise promises nothing";
    return plan->is_private ? NULL : "the plan is not private";
}

static void write_agent(const tc_plan *plan, size_t agent, tc_buffer *out) {
    const tc_family *family = tc_family_of_agent(plan->model, agent);
    tc_buffer_printf(out, "[%zu, %zu]", (size_t)(family - plan->model->families), agent - family->first_agent);
}

/* What each observer of the plan's list sees and owns, in the same order. */
static void write_views(const tc_plan *plan, tc_buffer *out) {
    tc_buffer_puts(out, "[");
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        tc_buffer_puts(out, i > 0 ? ",\n{" : "\n{");
        if (o->each_of != UINT32_MAX) {
            tc_buffer_printf(out, "\"each_of\": %u}", o->each_of);
            continue;
        }
        tc_buffer_puts(out, "\"agents\": [");
        for (size_t k = 0; k < o->agent_count; k++) {
            tc_buffer_puts(out, k > 0 ? ", " : "");
            write_agent(plan, o->agents[k], out);
        }
        tc_buffer_puts(out, "]}");
    }
    tc_buffer_puts(out, "]");
}

static void write_hash(tc_arena *arena, const char *key, const tc_buffer *text, tc_buffer *out) {
    unsigned char hash[32];
    char hex[2 * sizeof hash + 1];
    unsigned length = 0;
    if (EVP_Digest(text->text, text->length, hash, &length, EVP_sha256(), NULL) != 1 || length != sizeof hash)
        tc_raise(arena, TC_INTERNAL);
    tc_hexadecimal(hex, hash, sizeof hash);
    tc_buffer_printf(out, "\"%s\": \"%s\",\n", key, hex);
}

void tc_certificate_text(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives, tc_buffer *out) {
    tc_buffer canonical = tc_buffer_new(arena, SIZE_MAX / 4), model = tc_buffer_new(arena, SIZE_MAX / 4);
    tc_plan_canonical(plan, &canonical);
    tc_certificate_model(arena, plan, derivatives, &model);
    tc_buffer_puts(out, TC_CERTIFICATE_MARK "\n");
    write_hash(arena, "hash", &canonical, out);
    write_hash(arena, "model_hash", &model, out);
    tc_buffer_puts(out, "\"views\": ");
    write_views(plan, out);
    tc_buffer_puts(out, ",\n\"plan\": ");
    tc_buffer_add(out, canonical.text, canonical.length);
    tc_buffer_puts(out, ", \"model\": ");
    tc_buffer_add(out, model.text, model.length);
    tc_buffer_puts(out, "}\n");
}
