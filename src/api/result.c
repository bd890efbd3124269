/* How a public function works, and what all results have. */
#include "api/result.h"

#include "analysis/data/data.h"
#include "api/handle.h"
#include "base/machine.h"
#include "base/sized.h"

#include <pthread.h>
#include <stdlib.h>

enum { MESSAGE_LIMIT = 1 << 20, MOST_THREADS = 1024 };
static const size_t TEXT_LIMIT = (size_t)1 << 36;
static const double TOLERANCE = 1e-8, LEAST_TOLERANCE = 1e-14;

void tacit_options_default(tacit_options *options, size_t size) {
    const tacit_options standard = {.tolerance = TOLERANCE};
    tc_default_sized(options, size, &standard, sizeof standard);
}

/* ---- callbacks: one at a time, and none after one that failed or stopped the work ---- */

typedef struct callbacks {
    pthread_mutex_t lock;
    const tacit_options *options;
    locale_t host; /* the host's, in which callbacks are called */
    bool has_stopped, has_failed;
} callbacks;

/* False: the work ends, and no callback is called. The locale is the host's until callback_end. */
static bool callback_begin(callbacks *c, locale_t *plain) {
    (void)pthread_mutex_lock(&c->lock);
    *plain = uselocale(c->host);
    return !c->has_failed;
}

static void callback_end(callbacks *c, locale_t plain) {
    (void)uselocale(plain);
    (void)pthread_mutex_unlock(&c->lock);
}

static bool is_stopped(void *context) {
    callbacks *c = context;
    locale_t plain;
    if (callback_begin(c, &plain) && !c->has_stopped && c->options->interrupted != NULL)
        c->has_stopped = c->options->interrupted(c->options->context) != 0;
    bool stopped = c->has_stopped || c->has_failed;
    callback_end(c, plain);
    return stopped;
}

static void show_progress(void *context, const char *what, double fraction) {
    callbacks *c = context;
    locale_t plain;
    if (callback_begin(c, &plain))
        c->has_failed = c->options->progress(c->options->context, what, fraction) != 0;
    callback_end(c, plain);
}

static void hear_warning(void *context, const char *line) {
    callbacks *c = context;
    locale_t plain;
    if (callback_begin(c, &plain))
        c->has_failed = c->options->warning(c->options->context, line) != 0;
    callback_end(c, plain);
}

bool tc_call_row(tc_api_call *call, int (*row)(void *context, const tacit_row *row), const tacit_row *facts) {
    callbacks *c = call->work.monitor->context;
    locale_t plain;
    if (callback_begin(c, &plain))
        c->has_failed = row(c->options->context, facts) != 0;
    bool goes_on = !c->has_failed;
    callback_end(c, plain);
    return goes_on;
}

/* ---- making a result ---- */

tc_status tc_wrong_size(tc_api_call *call, const char *type) {
    tc_work_say(&call->work, "the size of the options is not sizeof(%s)", type);
    return TC_BAD_USAGE;
}

static tc_status read_options(tc_api_call *call, const tacit_options *options) {
    tacit_options_default(&call->options, sizeof call->options);
    if (options == NULL)
        return TC_OK;
    if (!tc_copy_sized(&call->options, sizeof call->options, sizeof call->options, options))
        return tc_wrong_size(call, "tacit_options");
    if (call->options.tolerance == 0)
        call->options.tolerance = TOLERANCE;
    if (!(call->options.tolerance >= LEAST_TOLERANCE && call->options.tolerance <= 1))
        return tc_work_refuse(&call->work, "the tolerance is not between 1e-14 and 1");
    if (call->options.threads > MOST_THREADS)
        return tc_work_refuse(&call->work, "there are at most 1024 threads");
    return TC_OK;
}

typedef struct call_in_work {
    tc_api_call *call;
    const tacit_options *options;
    tc_status (*make)(tc_api_call *);
    callbacks callbacks;
    tc_monitor monitor;
    tc_buffer messages;
} call_in_work;

static tc_status make_result(call_in_work *m) {
    tc_api_call *call = m->call;
    tacit_problem *problem = call->problem;
    call->work = (tc_work){.arena = call->result->arena,
                           .messages = &call->result->messages,
                           .monitor = &m->monitor,
                           .command = call->command,
                           .prefix = ""};
    tc_status status = read_options(call, m->options);
    m->callbacks.options = &call->options;
    m->monitor = (tc_monitor){.interrupted = is_stopped,
                              .progress = call->options.progress == NULL ? NULL : show_progress,
                              .context = &m->callbacks};
    if (call->options.warning != NULL) {
        call->work.hear = hear_warning;
        call->work.context = &m->callbacks;
    }
    call->result->full = call->options.full != 0;
    call->result->has_colours = call->options.colours != 0;
    if (status == TC_OK && call->has_promise)
        status = tc_wishes_read(&call->work, call->promise, &call->wishes);
    if (status != TC_OK)
        return status;
    if (problem != NULL)
        tc_tell_outside(problem->loaded.model, call->to_owner, call->work.messages);
    tc_work_tell(&call->work);
    if (problem != NULL && problem->loaded.derivatives == NULL) {
        tc_progress(&m->monitor, "differentiating", 0);
        problem->loaded.derivatives = tc_derive(problem->arena, problem->loaded.model);
        tc_data_certify(problem->arena, problem->loaded.model, problem->loaded.derivatives);
    }
    status = m->make(call);
    tc_work_tell(&call->work);
    return status;
}

/* The problem's DAG grows, in the problem's own arena. */
static tc_status make_within(call_in_work *m) {
    tc_escape outer, inner;
    tacit_problem *problem = m->call->problem;
    tc_arena *arena = m->call->result->arena;
    tc_status status = problem == NULL ? TC_OK : TC_TRY(problem->arena, &outer);
    if (status == TC_OK) {
        status = TC_TRY(arena, &inner);
        if (status == TC_OK)
            status = make_result(m);
        tc_escape_end(arena, &inner);
    }
    if (problem != NULL)
        tc_escape_end(problem->arena, &outer);
    return m->callbacks.has_failed ? TC_CALLBACK_FAILED : status;
}

static tacit_status fail(tc_status status, const char *text, char **message) {
    if (message != NULL)
        *message = tc_own_lines(text == NULL ? tc_status_text(status) : text);
    return (tacit_status)status;
}

tacit_status tc_call_make(tc_api_call *call, const tacit_options *options, tc_status (*make)(tc_api_call *),
                          tacit_result **result, char **message) {
    call_in_work m = {.call = call, .options = options, .make = make};
    if (message != NULL)
        *message = NULL;
    if (result == NULL)
        return fail(TC_BAD_USAGE, "there is no place for the result\n", message);
    *result = NULL;
    if (call->needs_problem && call->problem == NULL)
        return fail(TC_BAD_USAGE, "there is no problem\n", message);
    if (tc_arithmetic_fault() != NULL)
        return fail(TC_BAD_ARITHMETIC, tc_arithmetic_fault(), message);
    if (call->problem != NULL && atomic_exchange(&call->problem->is_busy, true))
        return fail(TC_BUSY, NULL, message);
    tc_status status = TC_NO_MEMORY;
    tc_arena *arena = tc_arena_new(0);
    tacit_result *made = arena == NULL ? NULL : calloc(1, sizeof *made);
    m.callbacks.host = tc_locale_begin();
    if (made != NULL && m.callbacks.host != (locale_t)0 && pthread_mutex_init(&m.callbacks.lock, NULL) == 0) {
        made->arena = arena;
        made->messages = tc_buffer_new(arena, MESSAGE_LIMIT);
        made->remarks = tc_buffer_new(arena, MESSAGE_LIMIT);
        call->result = made;
        status = make_within(&m);
        (void)pthread_mutex_destroy(&m.callbacks.lock);
    }
    tc_locale_end(m.callbacks.host);
    if (call->problem != NULL)
        atomic_store(&call->problem->is_busy, false);
    if (status == TC_OK) {
        *result = made;
        return TACIT_OK;
    }
    bool has_text = made != NULL && made->messages.length > 0 && status != TC_CALLBACK_FAILED;
    (void)fail(status, has_text ? made->messages.text : NULL, message);
    tc_arena_free(arena);
    free(made);
    return (tacit_status)status;
}

/* ---- what all results have ---- */

void tacit_result_free(tacit_result *result) {
    if (result == NULL)
        return;
    tc_arena_free(result->arena);
    free(result);
}

int tacit_result_holds(const tacit_result *result) { return result != NULL && result->holds; }
const char *tacit_result_reason(const tacit_result *result) {
    return result == NULL || result->holds ? NULL : result->reason;
}

int tacit_result_interrupted(const tacit_result *result) { return result != NULL && result->is_interrupted; }

const char *tacit_result_warnings(const tacit_result *result) {
    return result == NULL || result->messages.length == 0 ? "" : result->messages.text;
}

const char *tacit_result_remarks(const tacit_result *result) {
    return result == NULL || result->remarks.length == 0 ? "" : result->remarks.text;
}

void tc_result_remark(tacit_result *result, const char *warning) {
    if (warning != NULL)
        tc_buffer_printf(&result->remarks, "%s\n", warning);
}

void tc_result_remark_all(tacit_result *result, const char *const *warnings, size_t count) {
    for (size_t i = 0; i < count; i++)
        tc_result_remark(result, warnings[i]);
}

tacit_status tc_result_work(tacit_result *result,
                            tc_status (*work)(tacit_result *result, void *context, tc_buffer *messages), void *context,
                            char **message) {
    tc_escape escape;
    if (message != NULL)
        *message = NULL;
    if (tc_arithmetic_fault() != NULL)
        return fail(TC_BAD_ARITHMETIC, tc_arithmetic_fault(), message);
    locale_t host = tc_locale_begin();
    tc_buffer messages = tc_buffer_new(result->arena, MESSAGE_LIMIT);
    tc_status status = TC_TRY(result->arena, &escape);
    if (status == TC_OK) {
        status = work(result, context, &messages);
        if (status != TC_OK)
            (void)fail(status, messages.length > 0 ? messages.text : NULL, message);
    } else {
        (void)fail(status, NULL, message);
    }
    tc_escape_end(result->arena, &escape);
    tc_locale_end(host);
    return (tacit_status)status;
}

static tc_status write_json(tacit_result *result, void *context, tc_buffer *messages) {
    tc_buffer text = tc_buffer_new(result->arena, TEXT_LIMIT);
    tc_json json = tc_json_new(&text);
    (void)context;
    (void)messages;
    result->write_json(result, &json);
    result->json = tc_buffer_text(&text);
    return TC_OK;
}

static tc_status write_text(tacit_result *result, void *context, tc_buffer *messages) {
    tc_buffer text = tc_buffer_new(result->arena, TEXT_LIMIT);
    (void)context;
    (void)messages;
    result->write_text(result, &text);
    result->text = tc_buffer_text(&text);
    return TC_OK;
}

const char *tacit_result_json(tacit_result *result) {
    if (result != NULL && result->json == NULL)
        (void)tc_result_work(result, write_json, NULL, NULL);
    return result == NULL ? NULL : result->json;
}

const char *tacit_result_text(tacit_result *result) {
    if (result != NULL && result->text == NULL)
        (void)tc_result_work(result, write_text, NULL, NULL);
    return result == NULL ? NULL : result->text;
}
