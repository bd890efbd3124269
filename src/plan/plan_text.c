/* The plan for people. */
#include "base/text.h"
#include "plan/plan_parts.h"
#include "plan/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FEW_CHANNELS = 24, SHOWN = 8 };

static void put_line(tc_buffer *out, const char *label, const char *format, ...) TC_PRINTF(3, 4);

static void put_line(tc_buffer *out, const char *label, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tc_buffer_printf(out, "  %-12s %s\n", label, text);
}

static void put_wrapped(tc_buffer *out, const char *text, unsigned width, unsigned indent) {
    tc_text_layout layout = {.out = out, .width = width};
    tc_layout_paragraph(&layout, indent, text);
}

/* A name cut to fit, with dots. */
static void put_name(tc_buffer *out, const char *name, size_t width) {
    size_t length = strlen(name), wide = tc_text_width(name, length);
    if (wide <= width) {
        tc_buffer_printf(out, "%s%*s", name, (int)(width - wide), "");
        return;
    }
    while (tc_text_width(name, length) > width - 2)
        length--;
    while (((unsigned char)name[length] & 0xc0) == 0x80) /* whole characters */
        length++;
    tc_buffer_add(out, name, length);
    tc_buffer_puts(out, "..");
}

static void put_heading(const tc_plan *plan, tc_buffer *out) {
    bool none = plan->mechanism == TC_MECHANISM_NONE;
    put_line(out, "noise", "%s, %s calibration, on %s", tc_mechanism_name(plan->mechanism),
             tc_calibration_name(plan->calibration), tc_placement_name(plan->placement));
    put_line(out, "method", "%s", tc_method_name(plan->method));
    if (none) {
        put_line(out, "private", "NO");
        return;
    }
    put_line(out, "promise", "%s%s", tc_promise_text(out->arena, plan),
             plan->calibration == TC_PUBLISHED ? "" : " for all that leaves the cloud");
    int norm = plan->mechanism == TC_MECHANISM_GAUSSIAN ? 2 : 1;
    if (plan->adjacency == TC_ADJACENCY_AGENT)
        put_line(out, "hides", "everything one agent does in all %.0f rounds", plan->rounds);
    else if (plan->adjacency == TC_ADJACENCY_ONE)
        put_line(out, "hides", "changes of one agent's states, %.6g in all (l%d, whole run)", plan->adjacency_bound,
                 norm);
    else
        put_line(out, "hides", "changes of all agents' states, %.6g in all (l%d, whole run)", plan->adjacency_bound,
                 norm);
    static const char *const words[] = {
        [TC_WORD_VOID] = "NO", [TC_WORD_NAME_ONLY] = "in name only", [TC_WORD_PRIVATE] = "yes"};
    put_line(out, "private", "%s", words[tc_judge_plan(plan)]);
}

static void put_channel(tc_buffer *out, const tc_channel *channel) {
    tc_buffer_puts(out, "  ");
    put_name(out, channel->name, 26);
    tc_buffer_printf(out, " %10.5g %12.5g %12.5g %10llu\n", channel->sensitivity, channel->scale, channel->variance,
                     (unsigned long long)channel->entries);
}

static void put_channels(const tc_plan *plan, tc_buffer *out) {
    if (plan->channel_count == 0)
        return;
    tc_buffer_printf(out, "\n  %-26s %10s %12s %12s %10s\n", "system", "moves by", "scale", "variance", "entries");
    size_t shown = plan->channel_count <= FEW_CHANNELS ? plan->channel_count : SHOWN;
    for (size_t i = 0; i < shown; i++)
        put_channel(out, &plan->channels[i]);
    if (shown == plan->channel_count)
        return;
    double least = INFINITY, most = 0;
    for (size_t i = shown; i < plan->channel_count; i++) {
        least = fmin(least, plan->channels[i].scale);
        most = fmax(most, plan->channels[i].scale);
    }
    tc_buffer_printf(out, "  ... and %zu more, scales from %.5g to %.5g\n", plan->channel_count - shown, least, most);
}

static void put_observers(const tc_plan *plan, tc_buffer *out, unsigned width) {
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    tc_buffer_printf(out, "\n  %-30s %-25s %10s%s\n", "observer", "about", "epsilon", gaussian ? "     delta" : "");
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        tc_buffer_puts(out, "  ");
        put_name(out, o->who, 30);
        tc_buffer_puts(out, " ");
        put_name(out, o->about, 25);
        tc_buffer_printf(out, " %10s", tc_text_up(out->arena, o->epsilon));
        if (gaussian)
            tc_buffer_printf(out, " %9s", tc_text_up(out->arena, o->delta));
        tc_buffer_puts(out, "\n");
    }
    put_wrapped(out, TC_UNPRICED, width, 2);
}

static void put_prices(const tc_plan *plan, tc_buffer *out, unsigned width) {
    if (plan->price_count == 0)
        return;
    tc_buffer_puts(out, "\n  what the same noise charges an eavesdropper for hiding\n");
    for (size_t i = 0; i < plan->price_count; i++) {
        const char *epsilon = tc_text_up(out->arena, plan->prices[i].epsilon);
        put_wrapped(out, tc_arena_format(out->arena, "%s: epsilon %s", plan->prices[i].what, epsilon), width, 4);
    }
}

static void put_placements(const tc_plan *plan, tc_buffer *out, unsigned width) {
    tc_buffer text = tc_buffer_new(out->arena, 1 << 12);
    if (plan->mechanism == TC_MECHANISM_NONE || plan->calibration == TC_PUBLISHED)
        return;
    tc_buffer_puts(&text, "predicted variance, all rows scaled alike:");
    for (size_t i = 0; i < 3 && plan->facts[i].placement != TC_PLACEMENT_AUTO; i++) {
        const tc_placement_facts *facts = &plan->facts[i];
        tc_buffer_printf(&text, "%s %s ", i > 0 ? "," : "", tc_placement_name(facts->placement));
        if (facts->possible)
            tc_buffer_printf(&text, "%.4g%s", facts->total, facts->usable ? "" : " (of no use here)");
        else
            tc_buffer_puts(&text, "not possible");
    }
    tc_buffer_puts(out, "\n");
    put_wrapped(out, tc_buffer_text(&text), width, 2);
}

void tc_plan_text(const tc_plan *plan, tc_buffer *out, unsigned width) {
    width = width == 0 ? 80 : width;
    tc_buffer_puts(out, "Plan\n");
    if (plan->problem != NULL) {
        put_wrapped(out, plan->problem, width, 2);
        return;
    }
    put_heading(plan, out);
    for (size_t i = 0; i < plan->void_reason_count; i++)
        put_wrapped(out, plan->void_reasons[i], width, 15);
    for (size_t i = 0; i < plan->doubt_count; i++)
        put_wrapped(out, plan->doubts[i], width, 2);
    put_channels(plan, out);
    if (plan->channel_count > 0)
        tc_buffer_printf(out, "\n  lattice of states 2^%d; rounding adds at most %.2g of a sensitivity\n",
                         plan->state_exponent, plan->overhead);
    put_placements(plan, out, width);
    put_observers(plan, out, width);
    put_prices(plan, out, width);
    for (size_t i = 0; i < plan->warning_count; i++) {
        tc_buffer_puts(out, "\n");
        put_wrapped(out, tc_arena_format(out->arena, "warning: %s", plan->warnings[i]), width, 2);
    }
}
