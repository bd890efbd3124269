#include "cli/network/network.h"

#include "plan/account/account.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool tc_serve_ledger_has(const tc_ledger *ledger, const char *run_id) {
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->entries[i].run, run_id) == 0)
            return true;
    return false;
}

static bool is_there(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static tc_status refuse(tc_serve_ledger *l, const char *over) {
    (void)snprintf(l->text, sizeof l->text, "%s", over);
    l->is_over = true;
    TC_LOG(l->log, TC_EVENT_UNPAID, tc_log_why(over));
    return TC_BAD_USAGE;
}

/* A run that exceeds a budget is not begun. */
tc_status tc_serve_ledger_look(void *context, const char *run_id, bool begun) {
    tc_serve_ledger *l = context;
    tc_ledger *ledger = NULL;
    if (l->is_own && !is_there(l->path))
        ledger = TC_NEW(l->cli->arena, tc_ledger, 1);
    bool is_new = ledger != NULL;
    tc_status status = ledger != NULL ? TC_OK : tc_ledger_read(l->cli->arena, l->path, l->messages, &ledger);
    if (status != TC_OK || begun || (run_id != NULL && tc_serve_ledger_has(ledger, run_id)))
        return status;
    tc_ledger_entry entry = tc_ledger_entry_of(l->cli->arena, l->plan, run_id == NULL ? "new" : run_id);
    for (size_t i = 0; i < l->budgets->count; i++) {
        const char *fault = tc_budget_fault(l->cli->arena, ledger, &entry, &l->budgets->list[i]);
        if (fault == NULL)
            continue;
        tc_buffer_printf(l->messages, "%s\n", fault);
        return TC_BAD_PROBLEM; /* the options are wrong: not a refusal */
    }
    const char *over = tc_over_budget(l->cli->arena, ledger, &entry, l->budgets->list, l->budgets->count);
    if (over != NULL)
        return refuse(l, over);
    if (run_id == NULL && l->budgets->count > 0 && (is_new || ledger->is_new))
        TC_LOG(l->log, TC_EVENT_NEW_LEDGER, tc_log_text("file", l->path));
    const char *weak = tc_name_only_reason(l->cli->arena, l->plan);
    if (run_id == NULL && weak != NULL)
        TC_LOG(l->log, TC_EVENT_NAME_ONLY, tc_log_why(weak));
    return TC_OK;
}

/* In an arena of its own, since the server's loop calls it. */
tc_status tc_serve_ledger_pay(void *context, const char *run_id, bool begun) {
    tc_serve_ledger *l = context;
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        tc_ledger_entry entry = tc_ledger_entry_of(arena, l->plan, run_id);
        const char *over = NULL;
        status = tc_ledger_record_within(arena, l->path, &entry, l->budgets->list, begun ? 0 : l->budgets->count,
                                         &messages, &over);
        (void)snprintf(l->text, sizeof l->text, "%s", tc_buffer_text(&messages));
        if (over != NULL) {
            tc_status refused = refuse(l, over);
            status = status == TC_OK ? refused : status;
        } else if (status != TC_OK) {
            TC_LOG(l->log, TC_EVENT_UNPAID, tc_log_why(l->text));
        }
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    l->recorded = status == TC_OK;
    return status;
}
