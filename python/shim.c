/* Between Python and libtacit: one handle for each problem and each call, which Python's collector may free in any
 * order and at any moment; a flag that keeps two threads apart; Ctrl-C.
 *
 * A py_problem is counted: the Python object and every call hold it, so that results are freed before their problem.
 * Python may close a problem in one thread while another takes it: both go through one mutex. A
 * py_load and a py_call are memory of Python's own, zero at first. The library writes its handles into them, so an
 * exception at any moment loses none: their destructors free what is there. */
#include <Python.h>

#include <tacit/agent.h>
#include <tacit/tacit.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct py_problem {
    tacit_problem *problem;
    atomic_int holders;
    atomic_int busy;
} py_problem;

typedef struct py_load {
    py_problem *problem;
    char *message;
    void *raised; /* a Python list, to which an exception of a signal handler is appended; borrowed */
} py_load;

typedef struct py_call {
    py_problem *problem; /* NULL: of a ledger or a report */
    tacit_result *result;
    char *message;
    tacit_options options;
    void *raised;
    atomic_int busy; /* of a result without a problem */
    void *callbacks; /* a handle of the Python object that progress goes to; NULL: none */
    int stops;       /* a callback has failed, or a signal handler has raised */
} py_call;

/* ---- signals ---- */

enum { LOOK_EVERY = 20000000 }; /* nanoseconds: rarer than a round, faster than a person */

typedef struct watch {
    void *raised;
    int *stops;
    pthread_t caller;
    struct timespec looked;
} watch;

static watch watch_of(void *raised, int *stops) {
    return (watch){.raised = raised, .stops = stops, .caller = pthread_self()};
}

static int looked_just_now(watch *w) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed = (int64_t)(now.tv_sec - w->looked.tv_sec) * 1000000000 + (now.tv_nsec - w->looked.tv_nsec);
    if (passed < LOOK_EVERY)
        return 1;
    w->looked = now;
    return 0;
}

/* Runs Python's signal handlers, which it does in its main thread only, and keeps what they raise. */
static void run_handlers(watch *w) {
    PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_CheckSignals() != 0) {
        PyObject *type, *value, *traceback;
        *w->stops = 1;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (value == NULL || PyList_Append(w->raised, value) != 0)
            PyErr_Clear();
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    PyGILState_Release(state);
}

static int is_interrupted(void *context) {
    watch *w = context;
    if (*w->stops == 0 && pthread_equal(w->caller, pthread_self()) && !looked_just_now(w))
        run_handlers(w);
    return *w->stops;
}

/* ---- problems ---- */

static tacit_status hold(atomic_int *busy) {
    int idle = 0;
    return atomic_compare_exchange_strong(busy, &idle, 1) ? TACIT_OK : TACIT_BUSY;
}

static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER; /* guards py_load.problem */

/* The problem, held once more; NULL where it was closed. */
static py_problem *take(py_load *load) {
    (void)pthread_mutex_lock(&taking);
    py_problem *problem = load == NULL ? NULL : load->problem;
    if (problem != NULL)
        (void)atomic_fetch_add(&problem->holders, 1);
    (void)pthread_mutex_unlock(&taking);
    return problem;
}

static void release(py_problem *problem) {
    if (problem == NULL || atomic_fetch_sub(&problem->holders, 1) > 1)
        return;
    tacit_problem_free(problem->problem);
    free(problem);
}

static tacit_status py_problem_make(py_load *load, const tacit_source *given) {
    int stops = 0;
    watch w = watch_of(load->raised, &stops);
    tacit_source source = *given;
    py_problem *problem = calloc(1, sizeof *problem);
    if (problem == NULL)
        return TACIT_NO_MEMORY;
    source.interrupted = is_interrupted;
    source.context = &w;
    atomic_init(&problem->holders, 1);
    load->problem = problem;
    tacit_status status = tacit_problem_make(&source, &problem->problem, &load->message);
    return stops != 0 ? TACIT_CALLBACK_FAILED : status;
}

static void py_load_close(py_load *load) {
    (void)pthread_mutex_lock(&taking);
    py_problem *problem = load->problem;
    load->problem = NULL;
    (void)pthread_mutex_unlock(&taking);
    release(problem);
}

static void py_load_free(py_load *load) {
    py_load_close(load);
    tacit_text_free(load->message);
    load->message = NULL;
}

/* ---- calls ---- */

/* Defined in Python. Non-zero: it raised, and the work shall stop, with what was done as its result. */
static int py_progress(void *callbacks, char *what, double fraction);

typedef struct call_watch {
    watch watch;
    py_call *call;
} call_watch;

static int is_call_interrupted(void *context) { return is_interrupted(&((call_watch *)context)->watch); }

static int show_progress(void *context, const char *what, double fraction) {
    py_call *call = ((call_watch *)context)->call;
    if (call->stops == 0 && py_progress(call->callbacks, (char *)(uintptr_t)what, fraction) != 0)
        call->stops = 1;
    return 0;
}

static void py_call_begin(py_call *call, py_load *load) {
    tacit_options_default(&call->options, sizeof call->options);
    call->problem = take(load);
}

static void py_call_free(py_call *call) {
    tacit_result_free(call->result);
    call->result = NULL;
    tacit_text_free(call->message);
    call->message = NULL;
    release(call->problem);
    call->problem = NULL;
}

static tacit_problem *py_call_problem(py_call *call) { return call->problem == NULL ? NULL : call->problem->problem; }

/* Alone on the problem, or on the result where it has none. */
static tacit_status begin(py_call *call) { return hold(call->problem != NULL ? &call->problem->busy : &call->busy); }

static void end(py_call *call) { atomic_store(call->problem != NULL ? &call->problem->busy : &call->busy, 0); }

static tacit_status start(py_call *call, call_watch *w) {
    *w = (call_watch){watch_of(call->raised, &call->stops), call};
    call->options.context = w;
    call->options.interrupted = is_call_interrupted;
    call->options.progress = call->callbacks == NULL ? NULL : show_progress;
    return begin(call);
}

/* A function of the library as one of this call: with its options and callbacks, and alone on its problem. */
#define CALL(name, parameters, ...)                                                                                    \
    static tacit_status py_##name parameters {                                                                         \
        call_watch w;                                                                                                  \
        tacit_status status = start(call, &w);                                                                         \
        if (status != TACIT_OK)                                                                                        \
            return status;                                                                                             \
        status = tacit_##name(__VA_ARGS__, &call->result, &call->message);                                             \
        end(call);                                                                                                     \
        return status;                                                                                                 \
    }

#define PROBLEM call->problem->problem
CALL(check, (py_call * call), PROBLEM, &call->options)
CALL(solve, (py_call * call), PROBLEM, &call->options)
CALL(plan, (py_call * call, const tacit_promise *promise), PROBLEM, promise, &call->options)
CALL(run, (py_call * call, const tacit_promise *promise, const tacit_run_options *run), PROBLEM, promise, run,
     &call->options)
CALL(sweep, (py_call * call, const tacit_promise *promise, const tacit_sweep_options *sweep), PROBLEM, promise, sweep,
     &call->options)
CALL(advise, (py_call * call, const tacit_promise *promise, const tacit_advise_options *advise), PROBLEM, promise,
     advise, &call->options)
CALL(bound, (py_call * call, const tacit_promise *promise, double within), PROBLEM, promise, within, &call->options)
CALL(audit, (py_call * call, const tacit_promise *promise, const tacit_audit_options *audit), PROBLEM, promise, audit,
     &call->options)
CALL(split, (py_call * call, const char *directory, int replace), PROBLEM, directory, replace, &call->options)
CALL(ledger, (py_call * call, const char *path), path)
CALL(report, (py_call * call, const char *const *traces, size_t count, const char *path, const char *title), traces,
     count, path, title, &call->options)

/* Texts that are made when first asked for, and files. *text belongs to the result; why gets the message. */
enum { PY_JSON, PY_TEXT, PY_CERTIFICATE };
static tacit_status py_text(py_call *call, int which, const char **text, py_load *why) {
    tacit_status status = begin(call);
    if (status != TACIT_OK)
        return status;
    *text = which == PY_JSON   ? tacit_result_json(call->result)
            : which == PY_TEXT ? tacit_result_text(call->result)
                               : tacit_plan_certificate(call->result, &why->message);
    end(call);
    return *text != NULL ? TACIT_OK : why->message != NULL ? TACIT_BAD_USAGE : TACIT_NO_MEMORY;
}

static tacit_status py_write(py_call *call, int is_report, const char *path, const char *command, py_load *why) {
    tacit_status status = begin(call);
    if (status != TACIT_OK)
        return status;
    status = is_report ? tacit_result_write_report(call->result, path, command, &why->message)
                       : tacit_result_write_trace(call->result, path, command, &why->message);
    end(call);
    return status;
}

/* ---- agents ---- */

/* Memory of Python's own, like a py_call. A child of fork has a copy of it, but the connection and the state file are
 * its parent's: it closes nothing, since closing would tell the cloud that the agents leave. */
typedef struct py_agent {
    tacit_agent *agent;
    char *message;
    pid_t process;
} py_agent;

/* paths NULL: the agents are functions. */
static tacit_status py_agent_open(py_agent *to, const tacit_agent_options *options,
                                  const tacit_agent_functions *functions, const char *const *paths, size_t count) {
    to->process = getpid();
    return paths == NULL ? tacit_agent_open(options, functions, count, &to->agent, &to->message)
                         : tacit_agent_open_files(options, paths, count, &to->agent, &to->message);
}

/* May be called again. */
static void py_agent_close(py_agent *agent) {
    if (agent->process == getpid())
        tacit_agent_close(agent->agent);
    agent->agent = NULL;
    tacit_text_free(agent->message);
    agent->message = NULL;
}
