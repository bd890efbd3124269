/* What a run came to: for the log, for the operator, for the caller. */
#include "serve/server_parts.h"

#include <string.h>

static void log_end(tc_server *s, tc_run_end end, tc_status status, const char *names) {
    tc_logbook *log = s->settings->log;
    uint64_t last = tc_rounds_last(s->rounds);
    if (status != TC_OK && s->was_forbidden)
        return;
    if (status != TC_OK)
        TC_LOG(log, TC_EVENT_FAILED, tc_log_round(last), tc_log_why(tc_status_text(status)));
    else if (end == TC_RUN_STOPPED)
        TC_LOG(log, TC_EVENT_STOPPED, tc_log_round(last));
    else if (end == TC_RUN_DONE)
        TC_LOG(log, TC_EVENT_DONE, tc_log_round(last));
    else if (end == TC_RUN_REFUSED)
        TC_LOG(log, TC_EVENT_NOT_HELD, tc_log_agents(names));
    if (names[0] != '\0' && (end == TC_RUN_DONE || end == TC_RUN_DIVERGED))
        TC_LOG(log, TC_EVENT_UNTOLD, tc_log_agents(names));
}

static tc_status explain_rollback(tc_server *s) {
    const tc_rollback *seen = tc_rounds_rollback(s->rounds);
    uint64_t last = tc_rounds_last(s->rounds);
    tc_buffer_printf(s->messages, "nothing was released: the agent %s ", seen->agent);
    if (seen->round > last)
        tc_buffer_printf(s->messages, "has had the answer of round %llu, and the journal in '%s' ends with round %llu",
                         (unsigned long long)seen->round, s->settings->state, (unsigned long long)last);
    else
        tc_buffer_printf(s->messages, "has served epoch %llu of this run, and the journal in '%s' has come to %llu",
                         (unsigned long long)seen->epoch, s->settings->state, (unsigned long long)s->epoch.number);
    tc_buffer_puts(s->messages,
                   ". It is an old copy, or another cloud runs from a copy of it. Stop that cloud and start "
                   "from the newest journal; where that is lost, --after-restore goes on after the last "
                   "round that any agent has seen. If you know that this agent's claim is false, --disbelieve NAME "
                   "overrules it, for one start; if it is true after all, rounds are then released a second time\n");
    return TC_CANNOT_READ;
}

static void explain_failure(tc_server *s) {
    bool is_end = tc_rounds_last(s->rounds) >= s->figures.rounds;
    tc_buffer_printf(s->messages, "the journal in '%s' cannot be written: %s. %s when there is room again\n",
                     s->settings->state, tc_journal_trouble(s->journal),
                     is_end ? "All rounds are released; the same command ends the run"
                            : "The round was not released; the run goes on from the round before");
}

tc_status tc_server_judge(tc_server *s, tc_status status, tc_server_result *result) {
    if (s->rounds == NULL || s->links == NULL)
        return status;
    tc_run_end end = tc_rounds_end(s->rounds);
    tc_naming naming = end == TC_RUN_REFUSED ? TC_NAME_REFUSED : TC_NAME_UNTOLD;
    bool is_named = end == TC_RUN_REFUSED || end == TC_RUN_DONE || end == TC_RUN_DIVERGED;
    const char *names = is_named ? tc_rounds_names(s->rounds, naming) : "";
    if (status == TC_OK && end == TC_RUN_FAILED)
        status = tc_rounds_status(s->rounds);
    if (status == TC_CANNOT_WRITE && tc_journal_is_broken(s->journal))
        explain_failure(s);
    log_end(s, end, status, names);
    *result = (tc_server_result){.end = end,
                                 .rounds = tc_rounds_last(s->rounds),
                                 .rounds_here = s->done,
                                 .epoch = s->epoch.number,
                                 .seconds = s->last_at > 0 ? s->last_at - s->first_at : 0,
                                 .run_id = s->run_id,
                                 .was_over = s->was_over,
                                 .was_told = s->was_told,
                                 .names = tc_arena_copy(s->arena, names, strlen(names)),
                                 .reason = s->hub == NULL ? NULL : tc_cloud_half_reason(s->hub),
                                 .held = s->figures.held};
    tc_server_refresh(s);
    result->multipliers = s->figures.multipliers;
    result->answer_multipliers = s->figures.answer_multipliers;
    result->feasibility = s->figures.feasibility;
    return end == TC_RUN_ROLLED_BACK && status == TC_OK ? explain_rollback(s) : status;
}
