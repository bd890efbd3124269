/* The public functions of an agent that is open, and what both ways to open one share. */
#include "api/agent/open.h"
#include "api/handle.h"
#include "base/sized.h"
#include "base/text.h"
#include "net/message.h"

#include <stddef.h>
#include <string.h>

_Static_assert((int)TACIT_AGENT_CONNECTING == (int)TC_AGENT_CONNECTING &&
                   (int)TACIT_AGENT_RUNNING == (int)TC_AGENT_RUNNING &&
                   (int)TACIT_AGENT_PAUSING == (int)TC_AGENT_PAUSING && (int)TACIT_AGENT_DONE == (int)TC_AGENT_DONE &&
                   (int)TACIT_AGENT_DIVERGED == (int)TC_AGENT_DIVERGED &&
                   (int)TACIT_AGENT_NO_SLATER == (int)TC_AGENT_NO_SLATER &&
                   (int)TACIT_AGENT_REFUSED == (int)TC_AGENT_REFUSED && (int)TACIT_AGENT_FAILED == (int)TC_AGENT_FAILED,
               "the public list of conditions is the internal one");

struct tacit_agent {
    tc_arena *arena;
    tc_agent *agent;
    size_t count;
    tc_agent_settings settings;
};

/* ---- Opening ---- */

static const char *copy(tc_arena *arena, const char *text) {
    return text == NULL ? NULL : tc_arena_copy(arena, text, strlen(text));
}

static tc_status refuse(tc_buffer *messages, const char *why) {
    tc_buffer_printf(messages, "%s\n", why);
    return TC_BAD_USAGE;
}

static tc_status read_options(tc_arena *arena, const tacit_agent_options *from, tc_buffer *messages,
                              tc_agent_settings *settings) {
    tacit_agent_options options;
    size_t first_version = offsetof(tacit_agent_options, plan);
    unsigned char *plan = NULL;
    if (from == NULL || !tc_copy_sized(&options, sizeof options, first_version, from))
        return refuse(messages, "the options' size is not sizeof(tacit_agent_options)");
    if (options.cloud == NULL || options.state == NULL)
        return refuse(messages, "an agent needs its cloud's address and a folder for its state");
    if ((options.keys == NULL) == (options.insecure_plaintext == 0))
        return refuse(messages, "an agent needs a folder of keys, or insecure_plaintext instead");
    if (options.plan != NULL) {
        plan = TC_NEW(arena, unsigned char, TC_HASH);
        if (!tc_hexadecimal_read(options.plan, plan, TC_HASH))
            return refuse(messages, "the hash of a plan has 64 hexadecimal digits");
    }
    *settings = (tc_agent_settings){.cloud = copy(arena, options.cloud),
                                    .keys = copy(arena, options.keys),
                                    .state = copy(arena, options.state),
                                    .software = tc_arena_format(arena, "libtacit %s", tacit_version()),
                                    .survives_power = options.survives_power != 0,
                                    .new_run = options.new_run != 0,
                                    .plan = plan,
                                    .moved = options.moved,
                                    .context = options.context};
    return TC_OK;
}

typedef struct opening {
    const tacit_agent_options *options;
    const tc_agent_source *source;
    tacit_agent *made;
} opening;

static tc_status open_in(void *context, tc_arena *arena, tc_buffer *messages) {
    opening *o = context;
    tacit_agent *made = o->made = TC_NEW(arena, tacit_agent, 1);
    made->arena = arena;
    tc_status status = read_options(arena, o->options, messages, &made->settings);
    if (status == TC_OK && o->source->count == 0)
        status = refuse(messages, "there is no agent to open");
    if (status != TC_OK)
        return status;
    tc_agent_steps *steps = TC_NEW(arena, tc_agent_steps, o->source->count);
    status = o->source->make(o->source->context, arena, messages, steps);
    made->settings.agents = steps;
    made->settings.count = made->count = o->source->count;
    return status == TC_OK ? tc_agent_new(arena, &made->settings, messages, &made->agent) : status;
}

tacit_status tc_agent_open(const tacit_agent_options *options, const tc_agent_source *source, tacit_agent **agent,
                           char **message) {
    opening o = {.options = options, .source = source};
    tacit_status status = tc_handle_make(open_in, &o, message);
    *agent = status == TACIT_OK ? o.made : NULL;
    return status;
}

void tacit_agent_close(tacit_agent *agent) {
    if (agent == NULL)
        return;
    tc_agent_leave(agent->agent);
    tc_arena_free(agent->arena);
}

/* ---- Going on ---- */

const char *tacit_agent_condition_text(tacit_agent_condition condition) {
    return tc_agent_condition_name((tc_agent_condition)condition);
}

tacit_agent_condition tacit_agent_step(tacit_agent *agent) {
    return (tacit_agent_condition)tc_agent_advance(agent->agent);
}

int tacit_agent_descriptor(const tacit_agent *agent) { return tc_agent_descriptor(agent->agent); }

int tacit_agent_wants(const tacit_agent *agent, int *milliseconds) {
    tc_agent_wish wish = tc_agent_wants(agent->agent);
    if (milliseconds != NULL)
        *milliseconds = wish.milliseconds;
    return (wish.read ? TACIT_AGENT_READ : 0) | (wish.write ? TACIT_AGENT_WRITE : 0);
}

const char *tacit_agent_message(const tacit_agent *agent) { return tc_agent_message(agent->agent); }

/* ---- One of its agents ---- */

static tc_agent_view look(const tacit_agent *agent, size_t number) {
    return number < agent->count ? tc_agent_look(agent->agent, number) : (tc_agent_view){.how = TC_AGENT_FAILED};
}

size_t tacit_agent_count(const tacit_agent *agent) { return agent->count; }
const char *tacit_agent_name(const tacit_agent *agent, size_t number) { return look(agent, number).name; }
size_t tacit_agent_states(const tacit_agent *agent, size_t number) { return look(agent, number).states; }
tacit_agent_condition tacit_agent_how(const tacit_agent *agent, size_t number) {
    return (tacit_agent_condition)look(agent, number).how;
}
uint64_t tacit_agent_round(const tacit_agent *agent, size_t number) { return look(agent, number).answered; }
uint64_t tacit_agent_rounds(const tacit_agent *agent, size_t number) { return look(agent, number).rounds; }
const char *tacit_agent_run(const tacit_agent *agent, size_t number) { return look(agent, number).run; }
int tacit_agent_was_over(const tacit_agent *agent, size_t number) { return look(agent, number).was_over ? 1 : 0; }
const double *tacit_agent_x(const tacit_agent *agent, size_t number) { return look(agent, number).x; }
const double *tacit_agent_answer(const tacit_agent *agent, size_t number) { return look(agent, number).result; }
uint64_t tacit_agent_first_round(const tacit_agent *agent, size_t number) { return look(agent, number).first_round; }
uint64_t tacit_agent_outside(const tacit_agent *agent, size_t number) { return look(agent, number).clamped; }
int tacit_agent_file_changed(const tacit_agent *agent, size_t number) { return look(agent, number).is_changed ? 1 : 0; }
