/* tacit_ledger. */
#include "api/planned.h"
#include "base/sized.h"
#include "plan/account/account.h"

#include <string.h>

typedef struct tc_ledger_output {
    const tc_ledger *ledger;
    const char **units; /* of each entry, as words; NULL without noise */
} tc_ledger_output;

static void ledger_json(const tacit_result *result, tc_json *json) {
    tc_ledger_json(result->arena, result->of.ledger->ledger, NULL, NULL, json);
}

static void ledger_text(const tacit_result *result, tc_buffer *out) {
    tc_ledger_text(out->arena, result->of.ledger->ledger, NULL, out);
}

static const char **name_units(tc_arena *arena, const tc_ledger *ledger) {
    const char **names = TC_NEW(arena, const char *, ledger->count);
    for (size_t i = 0; i < ledger->count; i++)
        if (ledger->entries[i].unit != TC_ADJACENCY_UNSET)
            names[i] = tc_unit_text(arena, ledger->entries[i].unit, ledger->entries[i].bound);
    return names;
}

static tc_status make_ledger(tc_api_call *call) {
    tacit_result *result = call->result;
    tc_ledger_output *output = TC_NEW(call->work.arena, tc_ledger_output, 1);
    tc_ledger *ledger = NULL;
    if (call->own == NULL)
        return tc_work_refuse(&call->work, "there is no path");
    const char *path = tc_arena_copy(call->work.arena, call->own, strlen(call->own));
    tc_status status = tc_ledger_read(call->work.arena, path, call->work.messages, &ledger);
    if (status != TC_OK)
        return status;
    *output = (tc_ledger_output){ledger, name_units(call->work.arena, ledger)};
    result->of.ledger = output;
    result->holds = true;
    result->write_json = ledger_json;
    result->write_text = ledger_text;
    return TC_OK;
}

tacit_status tacit_ledger(const char *path, tacit_result **result, char **message) {
    tc_api_call call = {.command = "ledger", .own = path};
    return tc_call_make(&call, NULL, make_ledger, result, message);
}

size_t tacit_result_entries(const tacit_result *result) {
    return result == NULL || result->of.ledger == NULL ? 0 : result->of.ledger->ledger->count;
}

tacit_status tacit_result_entry(const tacit_result *result, size_t entry, tacit_ledger_entry *facts) {
    if (facts == NULL || entry >= tacit_result_entries(result))
        return TACIT_BAD_USAGE;
    const tc_ledger_entry *from = &result->of.ledger->ledger->entries[entry];
    const tacit_ledger_entry all = {.run = from->run,
                                    .time = from->time,
                                    .problem = from->problem,
                                    .plan = from->plan,
                                    .mechanism = tc_mechanism_name(from->mechanism),
                                    .adjacency = result->of.ledger->units[entry],
                                    .epsilon = from->epsilon,
                                    .delta = from->delta,
                                    .rounds = from->rounds,
                                    .is_priced = from->is_priced};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}
