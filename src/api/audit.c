/* tacit_audit. */
#include "api/planned.h"
#include "audit/audit.h"
#include "base/sized.h"

static const double LEAST_SECONDS = 0.1, MOST_SECONDS = 1e7;
static const double LEAST_CONFIDENCE = 0.5, MOST_CONFIDENCE = 1 - 1e-12;
static const uint64_t LEAST_SAMPLES = 10, MOST_SAMPLES = 1000000000;

/* ---- JSON and text ---- */

static void problem_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "verdict", "inconclusive");
    tc_json_bool(json, "refuted", false);
    tc_json_bool(json, "private", false);
    tc_json_string(json, "problem", result->of.plan->plan->problem);
    tc_json_close_object(json);
}

/* A warning has said it. */
static void problem_text(const tacit_result *result, tc_buffer *out) {
    (void)result;
    (void)out;
}

static void audit_json(const tacit_result *result, tc_json *json) {
    tc_json_open_object(json, NULL);
    tc_audit_json(result->of.audit, json);
    tc_json_close_object(json);
}

static void audit_text(const tacit_result *result, tc_buffer *out) { tc_audit_text(result->of.audit, out); }

/* ---- making one ---- */

void tacit_audit_options_default(tacit_audit_options *options, size_t size) {
    const tacit_audit_options standard = {0};
    tc_default_sized(options, size, &standard, sizeof standard);
}

static void say(void *work, const char *text) { tc_work_say(work, "%s", text); }

static tc_status read_options(tc_api_call *call, tc_audit_options *how) {
    tacit_audit_options read;
    tacit_audit_options_default(&read, sizeof read);
    if (call->own != NULL && !tc_copy_sized(&read, sizeof read, sizeof read, call->own))
        return tc_wrong_size(call, "tacit_audit_options");
    if (read.samples != 0 && (read.samples < LEAST_SAMPLES || read.samples > MOST_SAMPLES))
        return tc_work_refuse(&call->work, "samples is not between 10 and 1e9");
    if (read.seconds != 0 && !(read.seconds >= LEAST_SECONDS && read.seconds <= MOST_SECONDS))
        return tc_work_refuse(&call->work, "seconds is not between 0.1 and 1e7");
    if (read.confidence != 0 && !(read.confidence >= LEAST_CONFIDENCE && read.confidence <= MOST_CONFIDENCE))
        return tc_work_refuse(&call->work, "confidence is not between 0.5 and 1 - 1e-12");
    *how = (tc_audit_options){.samples = read.samples,
                              .seconds = read.seconds,
                              .confidence = read.confidence,
                              .seeded = call->wishes.seeded,
                              .seed = call->wishes.seed,
                              .say = say,
                              .context = &call->work};
    return tc_planned_refuse_costs(call);
}

static tc_status make_plan(tc_api_call *call, tc_planned *p, const tc_analysis **analysis) {
    tc_work *work = &call->work;
    const tc_loaded *loaded = &call->problem->loaded;
    tc_model *model = tc_wishes_apply(work->arena, loaded->model, &call->wishes);
    tc_status status = tc_check_wishes(work, model, &call->wishes, false);
    if (status == TC_OK)
        status = tc_analyse_public(work, model, loaded->derivatives, analysis);
    if (status != TC_OK)
        return status;
    p->derivatives = loaded->derivatives;
    p->plan = tc_plan_make(work->arena, model, loaded->derivatives, *analysis, &call->wishes.plan, work->monitor);
    if (tc_interrupted(work->monitor))
        return TC_INTERRUPTED;
    call->result->model = model;
    if (p->plan->problem == NULL) {
        p->card = tc_card_make(work->arena, p->plan, call->wishes.seeded);
        tc_planned_finish(work->arena, p);
        return TC_OK;
    }
    tc_work_say(work, "%s", p->plan->problem);
    return p->plan->refusal_is_usage ? TC_BAD_USAGE : TC_OK;
}

static void add_end_to_end(tc_api_call *call, tc_audit *audit) {
    static const tc_end_to_end nothing = {.untested = "the plan was judged before anything was released"};
    const tc_audit_hooks *hooks = call->hooks;
    if (hooks == NULL || audit->interrupted)
        return;
    tc_audit_take_end_to_end(audit, audit->point_count > 0 ? hooks->end_to_end(hooks->context, &call->work) : &nothing);
    audit->interrupted = tc_interrupted(call->work.monitor);
}

static const tc_audit *no_audit(tc_arena *arena, const tc_plan *plan) {
    tc_audit *audit = TC_NEW(arena, tc_audit, 1);
    *audit =
        (tc_audit){.arena = arena, .plan = plan, .verdict = TC_INCONCLUSIVE, .inconclusive_because = plan->problem};
    return audit;
}

static tc_status make_audit(tc_api_call *call) {
    tacit_result *result = call->result;
    tc_planned *p = TC_NEW(call->work.arena, tc_planned, 1);
    const tc_analysis *analysis;
    tc_audit_options how;
    tc_audit *audit = NULL;
    tc_status status = read_options(call, &how);
    if (status == TC_OK)
        status = make_plan(call, p, &analysis);
    if (status != TC_OK)
        return status;
    result->of.plan = p;
    result->reason = tc_planned_reason(call->work.arena, p);
    if (p->plan->problem != NULL) {
        result->of.audit = no_audit(call->work.arena, p->plan);
        result->write_json = problem_json;
        result->write_text = problem_text;
        return TC_OK;
    }
    status = tc_audit_run(call->work.arena, p->plan, analysis, &how, call->work.monitor, &audit);
    if (status != TC_OK)
        return status;
    add_end_to_end(call, audit);
    if (audit->verdict == TC_INCONCLUSIVE)
        tc_work_say(&call->work, "inconclusive: %s", audit->inconclusive_because);
    if (audit->verdict != TC_NOT_REFUTED)
        result->reason = audit->verdict == TC_REFUTED ? "the plan's promise is refuted" : audit->inconclusive_because;
    result->of.audit = audit;
    result->write_json = audit_json;
    result->write_text = audit_text;
    result->holds = audit->verdict == TC_NOT_REFUTED && (p->plan->is_private || call->wishes.seeded);
    result->is_interrupted = audit->interrupted;
    return TC_OK;
}

tacit_status tc_audit_with(tacit_problem *problem, const tacit_promise *promise, const tacit_audit_options *audit,
                           const tc_audit_hooks *hooks, const tacit_options *options, tacit_result **result,
                           char **message) {
    tc_api_call call = {.command = "audit",
                        .needs_problem = true,
                        .has_promise = true,
                        .problem = problem,
                        .promise = promise,
                        .own = audit,
                        .hooks = hooks};
    return tc_call_make(&call, options, make_audit, result, message);
}

tacit_status tacit_audit(tacit_problem *problem, const tacit_promise *promise, const tacit_audit_options *audit,
                         const tacit_options *options, tacit_result **result, char **message) {
    return tc_audit_with(problem, promise, audit, NULL, options, result, message);
}

/* ---- facts ---- */

tacit_status tacit_result_audit(const tacit_result *result, tacit_audit_facts *facts) {
    const tc_audit *audit = result == NULL ? NULL : result->of.audit;
    if (audit == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    const tacit_audit_facts all = {.verdict = tc_audit_verdict_names[audit->verdict],
                                   .because = audit->inconclusive_because,
                                   .confidence = audit->confidence,
                                   .seconds = audit->seconds,
                                   .systems = audit->system_count,
                                   .points = audit->point_count,
                                   .faults = audit->fault_count};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_audit_system(const tacit_result *result, size_t system, tacit_audit_system *facts) {
    const tc_audit *audit = result == NULL ? NULL : result->of.audit;
    if (audit == NULL || facts == NULL || system >= audit->system_count)
        return TACIT_BAD_USAGE;
    const tc_audit_system *from = &audit->systems[system];
    const tacit_audit_system all = {.name = from->name,
                                    .claimed_epsilon = from->claimed_epsilon,
                                    .claimed_delta = from->claimed_delta,
                                    .lower_bound = from->lower_bound,
                                    .price = from->price,
                                    .samples = tc_audit_samples(from),
                                    .refuted = from->refuted,
                                    .verdict = tc_audit_verdict_names[from->verdict]};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_audit_point(const tacit_result *result, size_t point, tacit_audit_point *facts) {
    const tc_audit *audit = result == NULL ? NULL : result->of.audit;
    if (audit == NULL || facts == NULL || point >= audit->point_count)
        return TACIT_BAD_USAGE;
    const tc_audit_point *from = &audit->points[point];
    const tacit_audit_point all = {
        .name = from->name, .verdict = tc_audit_verdict_names[from->verdict], .why = from->why};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_audit_fault(const tacit_result *result, size_t fault, tacit_audit_fault *facts) {
    const tc_audit *audit = result == NULL ? NULL : result->of.audit;
    if (audit == NULL || facts == NULL || fault >= audit->fault_count)
        return TACIT_BAD_USAGE;
    const tacit_audit_fault all = {.kind = audit->faults[fault].kind, .text = audit->faults[fault].text};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}
