#include "analysis/findings.h"

#include <stdio.h>

static int badness(tc_verdict verdict) {
    return verdict == TC_FAILS ? 3 : verdict == TC_UNPROVED ? 2 : verdict == TC_HOLDS ? 1 : 0;
}

void tc_find(tc_arena *arena, tc_assumption *assumption, const tc_source *source, tc_verdict verdict, tc_span span,
             const char *format, ...) {
    if (badness(verdict) > badness(assumption->verdict))
        assumption->verdict = verdict;
    if (assumption->finding_count == TC_MAX_FINDINGS) {
        assumption->findings_left_out++;
        return;
    }
    if (assumption->findings == NULL)
        assumption->findings = TC_NEW(arena, tc_finding, TC_MAX_FINDINGS);
    tc_finding *finding = &assumption->findings[assumption->finding_count++];
    finding->verdict = verdict;
    if (span.length > 0) {
        tc_buffer place = tc_buffer_new(arena, 4096), text = tc_buffer_new(arena, 4096);
        tc_span_place(&place, source, span);
        tc_span_text(&text, source, span);
        finding->place = tc_buffer_text(&place);
        finding->expression = tc_buffer_text(&text);
    }
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = TC_NEW(arena, char, (size_t)(length < 0 ? 0 : length) + 1);
    (void)vsnprintf(text, (size_t)(length < 0 ? 0 : length) + 1, format, again);
    va_end(again);
    finding->text = text;
}

void tc_component_name(tc_buffer *out, const tc_family *family, size_t component) {
    for (size_t v = 0; v < family->variable_count; v++) {
        const tc_variable *variable = &family->variables[v];
        if (component < variable->first || component >= variable->first + variable->length)
            continue;
        if (variable->is_scalar)
            tc_buffer_puts(out, variable->name);
        else
            tc_buffer_printf(out, "%s[%zu]", variable->name, component - variable->first + 1);
        return;
    }
    tc_buffer_printf(out, "component %zu", component + 1);
}

const char *tc_short_number(char text[32], double value) {
    (void)snprintf(text, 32, "%.6g", value == 0 ? 0 : value);
    return text;
}

const char *tc_who(tc_arena *arena, const tc_family *family, size_t member, bool whole) {
    if (whole)
        return family->name;
    tc_buffer name = tc_buffer_new(arena, 4096);
    tc_agent_name(&name, family, member);
    return tc_buffer_text(&name);
}
