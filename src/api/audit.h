/* tacit_audit, with what only the command adds: a second program that compares two worlds. */
#ifndef TC_API_AUDIT_H
#define TC_API_AUDIT_H

#include "audit/audit.h"
#include "setup/work.h"

#include <tacit/tacit.h>

typedef struct tc_audit_hooks {
    /* What was found end to end, in the work's arena. Called after the samples, unless they were interrupted or there
     * were none to take. */
    const tc_end_to_end *(*end_to_end)(void *context, tc_work *work);
    void *context;
} tc_audit_hooks;

/* hooks may be NULL. */
tacit_status tc_audit_with(tacit_problem *problem, const tacit_promise *promise, const tacit_audit_options *audit,
                           const tc_audit_hooks *hooks, const tacit_options *options, tacit_result **result,
                           char **message);

#endif
