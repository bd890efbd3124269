#include "net/agent/slot.h"

#include "base/text.h"
#include "net/tls/certificate.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_PAUSE = 200,
    MOST_PAUSE = 30000,
    OPEN_MILLISECONDS = 10000,
    SETTLED_MILLISECONDS = 1000,
    REPLACED_MILLISECONDS = 60000,
    TURN = 32 /* reads in one call */,
    MOST_AT_ONCE = 1 << 16
};

const char *tc_agent_condition_name(tc_agent_condition condition) {
    static const char *const names[] = {
#define X(code, name) name,
        TC_AGENT_STATES(X)
#undef X
    };
    return names[condition];
}

/* ---- Making ---- */

/* What a device's function returns may be off by a little. What is sent is inside, so the average must be of that. */
void tc_agent_into_box(const tc_agent_slot *slot, double *x) {
    for (size_t i = 0; slot->steps.lower != NULL && i < slot->steps.states; i++) {
        double lower = slot->steps.lower[i], upper = slot->steps.upper[i];
        x[i] = x[i] < lower ? lower : x[i] > upper ? upper : x[i];
    }
}

bool tc_agent_reset(tc_agent_slot *slot) {
    tc_agent_record *record = &slot->record;
    *record = (tc_agent_record){.saves = record->saves, .x = record->x, .average = record->average};
    slot->is_saved = slot->has_used = false;
    if (!slot->steps.start(slot->steps.context, record->x))
        return false;
    tc_agent_into_box(slot, record->x);
    memcpy(record->average, record->x, slot->steps.states * sizeof(double));
    return true;
}

void tc_agent_name_run(tc_agent_slot *slot) { tc_hexadecimal(slot->run, slot->record.run_id, TC_RUN_ID); }

void tc_agent_tell_start(const tc_agent *agent, const tc_agent_slot *slot) {
    if (agent->settings.moved != NULL && slot->record.answered == 0)
        agent->settings.moved(agent->settings.context, slot->number, 1, slot->record.x);
}

bool tc_agent_has_all(const tc_agent *agent, const tc_agent_slot *slot) {
    return (slot->is_current || !agent->settings.new_run) && slot->record.rounds > 0 &&
           slot->record.answered == slot->record.rounds && slot->is_saved;
}

bool tc_agent_lacks_rounds(const tc_agent_slot *slot) {
    return slot->record.method == TC_WIRE_CERTAIN && slot->record.unknown > 0;
}

/* Private numbers are wiped with the agent. */
static void wipe_slot(void *what) {
    const tc_agent_slot *slot = what;
    OPENSSL_cleanse(slot->record.x, slot->steps.states * sizeof(double));
    OPENSSL_cleanse(slot->record.average, slot->steps.states * sizeof(double));
    OPENSSL_cleanse(slot->used, slot->steps.states * sizeof(double));
}

/* A run that has begun goes on with the problem of its first round. A state folder of an earlier version has none:
 * today's is taken for it. */
static tc_status take_kept(tc_arena *arena, tc_agent_slot *slot, tc_buffer *messages) {
    const char *path = tc_state_file_problem(slot->file);
    const tc_agent_steps *today = &slot->today;
    unsigned char *kept = NULL;
    size_t size = 0;
    tc_agent_steps steps = {0};
    if (today->problem == NULL || slot->record.rounds == 0)
        return TC_OK;
    tc_status status = tc_kept_read(arena, path, slot->record.run_id, messages, &kept, &size);
    slot->is_kept = status == TC_OK && kept != NULL;
    if (!slot->is_kept || (size == today->problem_size &&
                           memcmp(kept + TC_KEPT_HEADER, today->problem + TC_KEPT_HEADER, size - TC_KEPT_HEADER) == 0))
        return status;
    status = today->make_again(arena, path, kept, size, messages, &steps);
    if (status != TC_OK)
        return status;
    if (strcmp(steps.name, today->name) != 0 || steps.states != today->states) {
        tc_buffer_printf(messages,
                         "the file of agent %s was another one at the first round of its run, with another name or "
                         "number of states; put it back, or take part in another run with --new-run\n",
                         today->name);
        return TC_BAD_USAGE;
    }
    slot->steps = steps;
    slot->is_changed = true;
    tc_buffer_printf(messages,
                     "agent %s: its file or its data have changed since the first round of run %s, which goes on with "
                     "what they were then (%s). The change is used from the next run on\n",
                     today->name, tc_hexadecimal_new(arena, slot->record.run_id, TC_RUN_ID), path);
    return TC_OK;
}

/* Before the first state of a run is saved. */
static bool keep_problem(tc_agent_slot *slot) {
    const tc_agent_record *record = &slot->record;
    if (slot->steps.problem == NULL || slot->is_kept)
        return true;
    return tc_kept_write(tc_state_file_problem(slot->file), record->run_id, record->answered == 0, slot->steps.problem,
                         slot->steps.problem_size);
}

bool tc_agent_save(tc_agent_slot *slot) {
    if (!keep_problem(slot) || !tc_state_file_save(slot->file, &slot->record))
        return false;
    if (slot->steps.problem != NULL && !slot->is_kept)
        tc_kept_forget(tc_state_file_problem(slot->file));
    slot->is_kept = true;
    return true;
}

static tc_status open_slot(tc_arena *arena, tc_agent *agent, size_t i, tc_buffer *messages) {
    const tc_agent_settings *settings = &agent->settings;
    tc_agent_slot *slot = &agent->slots[i];
    *slot = (tc_agent_slot){
        .steps = settings->agents[i], .today = settings->agents[i], .number = i, .how = TC_AGENT_RUNNING};
    slot->why = TC_NEW(arena, char, TC_AGENT_SLOT_TEXT);
    slot->record.x = TC_NEW(arena, double, slot->steps.states);
    slot->record.average = TC_NEW(arena, double, slot->steps.states);
    slot->used = TC_NEW(arena, double, slot->steps.states);
    tc_arena_on_free(arena, wipe_slot, slot);
    if (!tc_agent_reset(slot)) {
        tc_buffer_printf(messages, "agent %s has no point to start from\n", slot->steps.name);
        return TC_BAD_USAGE;
    }
    memcpy(slot->used, slot->record.x, slot->steps.states * sizeof(double));
    tc_state_file_settings wishes = {.folder = settings->state,
                                     .name = slot->steps.name,
                                     .states = slot->steps.states,
                                     .survives_power = settings->survives_power,
                                     .may_replace = settings->new_run};
    tc_status status = tc_state_file_open(arena, &wishes, messages, &slot->record, &slot->file);
    if (status != TC_OK)
        return status;
    slot->is_saved = true;
    if (slot->record.rounds == 0) { /* nothing was sent, and today's file may be a corrected one: its start counts */
        memcpy(slot->record.x, slot->used, slot->steps.states * sizeof(double));
        memcpy(slot->record.average, slot->used, slot->steps.states * sizeof(double));
        slot->is_saved = false;
    }
    if (settings->plan != NULL && !settings->new_run && slot->record.rounds > 0 &&
        memcmp(settings->plan, slot->record.plan_hash, TC_HASH) != 0) {
        tc_buffer_printf(messages,
                         "the state file of agent %s in '%s' is of a run with another plan than --plan: its "
                         "hash is %s; --new-run takes part in another run\n",
                         slot->steps.name, settings->state, tc_hexadecimal_new(arena, slot->record.plan_hash, TC_HASH));
        return TC_BAD_USAGE;
    }
    if (slot->record.answered < slot->record.rounds)
        status = take_kept(arena, slot, messages);
    if (status != TC_OK)
        return status;
    tc_agent_tell_start(agent, slot);
    slot->slater = slot->steps.check_slater(slot->steps.context);
    /* A run that is over needs no cloud, unless the agent may join another run. */
    if (tc_agent_has_all(agent, slot))
        slot->how = TC_AGENT_DONE;
    slot->was_over = slot->record.rounds > 0 && slot->record.answered == slot->record.rounds;
    if (slot->record.rounds > 0)
        tc_agent_name_run(slot);
    return TC_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static const char *check_agents(tc_arena *arena, const tc_agent_settings *settings) {
    if (settings->count == 0 || settings->count > TC_MOST_SLOTS)
        return "a connection has 1 to 65536 agents";
    const char **names = TC_NEW(arena, const char *, settings->count);
    for (size_t i = 0; i < settings->count; i++) {
        const tc_agent_steps *steps = &settings->agents[i];
        size_t length = strlen(steps->name);
        if (length == 0 || length > TC_MOST_NAME)
            return "an agent's name has 1 to 256 bytes";
        if (steps->states == 0 || steps->states > TC_MOST_STATES)
            return tc_arena_format(arena, "agent %s has no state, or too many", steps->name);
        names[i] = steps->name;
    }
    qsort(names, settings->count, sizeof *names, by_text);
    for (size_t i = 1; i < settings->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return tc_arena_format(arena, "agent %s is given twice", names[i]);
    return NULL;
}

/* Sizes of the buffers. Output that may wait at once: a hello, and each agent's enrolment, state and leave. */
static void measure(const tc_agent_settings *settings, tc_agent_link_settings *link, size_t *largest) {
    size_t all_answers = 0;
    link->most_out = TC_FRAME_HEADER + TC_MOST_CONTROL + TC_LEAVE_SIZE;
    *largest = 0;
    for (size_t i = 0; i < settings->count; i++) {
        const tc_agent_steps *steps = &settings->agents[i];
        tc_enrol enrol = {.name_length = strlen(steps->name)};
        link->most_out += tc_enrol_size(&enrol) + tc_state_size((uint32_t)steps->states) + TC_LEAVE_SIZE;
        *largest = steps->states > *largest ? steps->states : *largest;
        all_answers += tc_answer_size((uint32_t)steps->states);
    }
    link->in_bytes = all_answers < MOST_AT_ONCE ? all_answers : MOST_AT_ONCE;
    size_t answer = 16 + 8 * *largest;
    link->most_body = answer > TC_MOST_CONTROL ? answer : TC_MOST_CONTROL;
}

static void look_for_end(tc_agent *agent);

tc_status tc_agent_new(tc_arena *arena, const tc_agent_settings *settings, tc_buffer *messages, tc_agent **made) {
    const char *wrong = check_agents(arena, settings);
    if (wrong != NULL) {
        tc_buffer_printf(messages, "%s\n", wrong);
        return TC_BAD_USAGE;
    }
    tc_agent *agent = TC_NEW(arena, tc_agent, 1);
    agent->settings = *settings;
    if (agent->settings.least_pause == 0)
        agent->settings.least_pause = LEAST_PAUSE;
    if (agent->settings.most_pause == 0)
        agent->settings.most_pause = MOST_PAUSE;
    if (agent->settings.open_milliseconds == 0)
        agent->settings.open_milliseconds = OPEN_MILLISECONDS;
    if (agent->settings.settled_milliseconds == 0)
        agent->settings.settled_milliseconds = SETTLED_MILLISECONDS;
    if (agent->settings.replaced_milliseconds == 0)
        agent->settings.replaced_milliseconds = REPLACED_MILLISECONDS;
    tc_agent_link_settings link = {
        .cloud = settings->cloud, .keys = settings->keys, .open_milliseconds = settings->open_milliseconds};
    size_t largest;
    measure(settings, &link, &largest);
    agent->p = TC_NEW(arena, double, largest);
    agent->next = TC_NEW(arena, double, largest);
    agent->next_average = TC_NEW(arena, double, largest);
    agent->units = TC_NEW(arena, int64_t, largest);
    agent->slots = TC_NEW(arena, tc_agent_slot, settings->count);
    tc_status status = tc_agent_link_new(arena, &link, messages, &agent->link);
    for (size_t i = 0; i < settings->count && status == TC_OK; i++)
        status = open_slot(arena, agent, i, messages);
    if (status == TC_OK)
        look_for_end(agent);
    *made = agent;
    return status;
}

/* ---- Pauses and ends ---- */

static void forget_connection(tc_agent *agent) {
    agent->said_hello = agent->is_welcome = agent->may_go_on = agent->has_answered = agent->is_stale = false;
    agent->deadline = agent->enrolled_at = agent->again_at = 0;
    for (size_t i = 0; i < agent->settings.count; i++)
        agent->slots[i].is_enrolled = agent->slots[i].is_stale = false;
}

/* +- 25 %, so that a thousand agents do not come back at the same moment. */
static uint64_t next_pause(tc_agent *agent) {
    uint64_t pause = agent->settings.least_pause;
    unsigned char random[2] = {0, 128};
    for (unsigned i = 0; i < agent->tries && pause < agent->settings.most_pause; i++)
        pause *= 2;
    if (pause > agent->settings.most_pause)
        pause = agent->settings.most_pause;
    agent->tries++;
    if (RAND_bytes(random, sizeof random) != 1)
        ERR_clear_error();
    return pause - pause / 4 + pause * tc_get_u16(random) / 2 / UINT16_MAX;
}

/* An agent whose rounds were all answered does not need the cloud any more. */
static void finish_answered(tc_agent *agent) {
    for (size_t i = 0; i < agent->settings.count; i++) {
        tc_agent_slot *slot = &agent->slots[i];
        if (slot->how == TC_AGENT_RUNNING && tc_agent_has_all(agent, slot))
            slot->how = TC_AGENT_DONE;
    }
}

/* An enrolment that does not last is no success: a cloud that crashes after each gets longer pauses, and does not keep
 * the agent from the other addresses. */
static bool has_worked(const tc_agent *agent) {
    bool has_lasted =
        agent->enrolled_at != 0 && tc_agent_clock() - agent->enrolled_at >= agent->settings.settled_milliseconds;
    return !agent->is_stale && (agent->has_answered || has_lasted);
}

/* Chooses the next address. Returns how long to wait before it is tried. */
static uint64_t go_round(tc_agent *agent) {
    size_t next = (agent->cloud + 1) % tc_agent_link_clouds(agent->link);
    bool is_new_pass = next == agent->first_cloud;
    if (has_worked(agent)) {
        agent->tries = 0;
        agent->first_cloud = next = agent->cloud;
        is_new_pass = true;
    }
    agent->cloud = next;
    if (!is_new_pass)
        return 0;
    agent->stale_clouds = 0;
    return next_pause(agent);
}

/* With several addresses a message says which one it is about. */
static void name_cloud(const tc_agent *agent, char *text, size_t size) {
    const char *cloud = tc_agent_link_cloud(agent->link, agent->cloud);
    size_t length = strlen(text);
    if (tc_agent_link_clouds(agent->link) > 1 && strstr(text, cloud) == NULL)
        (void)snprintf(text + length, size - length, " (cloud %.100s)", cloud);
}

void tc_agent_pause(tc_agent *agent, const char *format, ...) {
    va_list arguments;
    char text[TC_AGENT_TEXT];
    if (tc_agent_is_over(agent->how) || agent->how == TC_AGENT_PAUSING)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    name_cloud(agent, text, sizeof text);
    agent->last_cloud = agent->cloud;
    uint64_t pause = go_round(agent);
    tc_agent_link_end(agent->link, text);
    forget_connection(agent);
    finish_answered(agent);
    look_for_end(agent);
    if (tc_agent_is_over(agent->how))
        return;
    (void)snprintf(agent->message, sizeof agent->message, "%s", text);
    agent->how = TC_AGENT_PAUSING;
    agent->deadline = tc_agent_clock() + pause;
    uint64_t again = tc_agent_next_enrol(agent);
    agent->deadline = again > agent->deadline ? again : agent->deadline;
}

void tc_agent_finish(tc_agent *agent, tc_agent_slot *slot, tc_agent_condition how, const char *format, ...) {
    va_list arguments;
    if (tc_agent_is_over(slot->how))
        return;
    va_start(arguments, format);
    (void)vsnprintf(slot->why, TC_AGENT_SLOT_TEXT, format, arguments);
    va_end(arguments);
    if (how == TC_AGENT_REFUSED)
        name_cloud(agent, slot->why, TC_AGENT_SLOT_TEXT);
    slot->how = how;
    slot->is_enrolled = false;
    agent->lost += how != TC_AGENT_DONE;
    look_for_end(agent);
}

void tc_agent_meet_stale(tc_agent *agent, tc_agent_slot *slot, const char *format, ...) {
    va_list arguments;
    char text[TC_AGENT_TEXT];
    if (tc_agent_is_over(slot->how))
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    agent->is_stale = true;
    if (++agent->stale_clouds < tc_agent_link_clouds(agent->link))
        tc_agent_pause(agent, "%s", text);
    else
        tc_agent_finish(agent, slot, TC_AGENT_REFUSED, "%s", text);
}

/* When all agents are over: the connection's condition is the worst of theirs. */
static void look_for_end(tc_agent *agent) {
    static const unsigned char rank[] = {[TC_AGENT_DONE] = 1,
                                         [TC_AGENT_DIVERGED] = 2,
                                         [TC_AGENT_NO_SLATER] = 3,
                                         [TC_AGENT_REFUSED] = 4,
                                         [TC_AGENT_FAILED] = 5};
    const tc_agent_slot *worst = &agent->slots[0];
    for (size_t i = 0; i < agent->settings.count; i++) {
        if (!tc_agent_is_over(agent->slots[i].how))
            return;
        if (rank[agent->slots[i].how] > rank[worst->how])
            worst = &agent->slots[i];
    }
    if (tc_agent_is_over(agent->how))
        return;
    agent->how = worst->how;
    agent->deadline = 0;
    if (worst->how == TC_AGENT_DONE && worst->was_over && !worst->is_current)
        (void)snprintf(
            agent->message, sizeof agent->message,
            "this run ended before (run %s, state file %.200s); the cloud was not asked; --new-run takes part "
            "in another",
            worst->run, tc_state_file_path(worst->file));
    else
        (void)snprintf(agent->message, sizeof agent->message, "%s",
                       worst->how == TC_AGENT_DONE && worst->why[0] == '\0' ? "done" : worst->why);
}

/* ---- Going on ---- */

uint64_t tc_agent_next_enrol(const tc_agent *agent) {
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < agent->settings.count; i++)
        if (!tc_agent_is_over(agent->slots[i].how) && agent->slots[i].again_at < next)
            next = agent->slots[i].again_at;
    return next == UINT64_MAX ? 0 : next;
}

static void begin(tc_agent *agent) {
    agent->how = TC_AGENT_CONNECTING;
    (void)snprintf(agent->message, sizeof agent->message, "connecting to %s",
                   tc_agent_link_cloud(agent->link, agent->cloud));
    forget_connection(agent);
    tc_agent_link_begin(agent->link, agent->cloud);
}

/* The first running agent that the certificate in use does not name; NULL: it names all. */
static const char *unnamed(const tc_agent *agent) {
    const X509 *own = agent->link->tls == NULL ? NULL : SSL_CTX_get0_certificate(agent->link->tls);
    tc_identity *identity = own == NULL ? NULL : tc_identity_new(own);
    const char *name = NULL;
    for (size_t i = 0; i < agent->settings.count && identity != NULL && name == NULL; i++) {
        const tc_agent_slot *slot = &agent->slots[i];
        if (!tc_agent_is_over(slot->how) && !tc_identity_has(identity, slot->steps.name, strlen(slot->steps.name)))
            name = slot->steps.name;
    }
    tc_identity_free(identity);
    return name;
}

/* The cloud would refuse for good an agent that its new certificate does not name. */
static bool take_new_keys(tc_agent *agent, char why[TC_AGENT_WHY]) {
    tc_agent_link *link = agent->link;
    SSL_CTX *before = link->tls;
    if (before != NULL)
        (void)SSL_CTX_up_ref(before);
    bool is_good = tc_agent_link_renew(link, why);
    const char *name = is_good ? unnamed(agent) : NULL;
    if (name != NULL && before != NULL) {
        (void)snprintf(why, TC_AGENT_WHY, "the certificate does not name %.150s", name);
        SSL_CTX_free(link->tls);
        link->tls = before;
        before = NULL;
        is_good = false;
    }
    SSL_CTX_free(before);
    return is_good;
}

bool tc_agent_renew(tc_agent *agent, char why[TC_AGENT_WHY]) {
    if (tc_agent_is_over(agent->how))
        return true;
    if (!take_new_keys(agent, why))
        return false;
    for (size_t i = 0; i < agent->settings.count; i++)
        agent->slots[i].again_at = 0;
    agent->tries = 0;
    tc_agent_link_end(agent->link, "closed, to use new keys");
    begin(agent);
    return true;
}

static bool is_running(const tc_agent *agent) {
    return !tc_agent_is_over(agent->how) && agent->how != TC_AGENT_PAUSING;
}

static bool is_open(const tc_agent *agent) { return tc_agent_link_is(agent->link) == TC_AGENT_LINK_OPEN; }

/* Does not read until nothing is left: that last read would be one system call in five, and poll shows what comes. */
static void hear_all(tc_agent *agent) {
    tc_frame frame;
    for (unsigned turn = 0; turn < TURN; turn++) {
        agent->may_go_on = false;
        if (!tc_agent_link_read(agent->link))
            return;
        while (is_running(agent) && tc_agent_link_next(agent->link, &frame))
            tc_agent_hear(agent, &frame);
        if (!is_running(agent) || !is_open(agent) || !tc_agent_link_has_more(agent->link))
            return;
        agent->may_go_on = true;
    }
}

/* Says leave and closes. */
static void part(tc_agent *agent) {
    if (is_open(agent)) {
        tc_agent_say_leave(agent, TC_NO_SLOT);
        tc_agent_link_advance(agent->link);
    }
    tc_agent_link_end(agent->link, "closed");
    forget_connection(agent);
}

tc_agent_condition tc_agent_advance(tc_agent *agent) {
    if (tc_agent_is_over(agent->how))
        return agent->how;
    if (agent->how == TC_AGENT_PAUSING && tc_agent_clock() < agent->deadline)
        return agent->how;
    if (tc_agent_link_is(agent->link) == TC_AGENT_LINK_OFF)
        begin(agent);
    tc_agent_link_advance(agent->link);
    if (is_open(agent) && !agent->said_hello)
        tc_agent_say_hello(agent);
    if (is_open(agent))
        hear_all(agent);
    if (is_open(agent) && agent->again_at != 0 && tc_agent_clock() >= agent->again_at)
        tc_agent_say_enrol(agent, true);
    if (is_running(agent) && is_open(agent)) /* a connection opens above alone, where hello is said */
        tc_agent_link_advance(agent->link);
    if (tc_agent_is_over(agent->how))
        part(agent);
    else if (agent->how != TC_AGENT_PAUSING && tc_agent_link_is(agent->link) == TC_AGENT_LINK_OFF)
        tc_agent_pause(agent, "%s", tc_agent_link_why(agent->link));
    else if (agent->how != TC_AGENT_PAUSING && agent->deadline != 0 && tc_agent_clock() >= agent->deadline)
        tc_agent_pause(agent, "the cloud at %s takes connections but does not answer",
                       tc_agent_link_cloud(agent->link, agent->cloud));
    return agent->how;
}

void tc_agent_leave(tc_agent *agent) { part(agent); }

/* ---- What is asked ---- */

int tc_agent_descriptor(const tc_agent *agent) { return tc_agent_link_descriptor(agent->link); }

static int until(uint64_t deadline) {
    uint64_t now = tc_agent_clock();
    return deadline <= now ? 0 : deadline - now > 1000000 ? 1000000 : (int)(deadline - now);
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; } /* 0: never */

tc_agent_wish tc_agent_wants(const tc_agent *agent) {
    tc_agent_wish wish = {.milliseconds = -1};
    if (tc_agent_is_over(agent->how))
        return wish;
    if (agent->how == TC_AGENT_PAUSING) {
        wish.milliseconds = until(agent->deadline);
        return wish;
    }
    tc_agent_link_wants wants = tc_agent_link_wish(agent->link);
    wish.read = wants.read;
    wish.write = wants.write;
    uint64_t deadline = earlier(earlier(agent->deadline, wants.deadline), agent->again_at);
    if (wants.now || agent->may_go_on || tc_agent_link_is(agent->link) == TC_AGENT_LINK_OFF)
        wish.milliseconds = 0;
    else if (deadline != 0)
        wish.milliseconds = until(deadline);
    return wish;
}

tc_agent_condition tc_agent_how(const tc_agent *agent) { return agent->how; }
const char *tc_agent_message(const tc_agent *agent) { return agent->message; }

tc_agent_attempt tc_agent_last_attempt(const tc_agent *agent) {
    return (tc_agent_attempt){
        .cloud = agent->last_cloud,
        .next = agent->cloud == agent->last_cloud ? NULL : tc_agent_link_cloud(agent->link, agent->cloud)};
}

size_t tc_agent_lost(const tc_agent *agent) { return agent->lost; }
size_t tc_agent_oddities(const tc_agent *agent) { return agent->oddities; }

tc_agent_view tc_agent_look(const tc_agent *agent, size_t i) {
    const tc_agent_slot *slot = &agent->slots[i];
    const tc_agent_record *record = &slot->record;
    return (tc_agent_view){.name = slot->steps.name,
                           .states = slot->steps.states,
                           .how = slot->how == TC_AGENT_RUNNING ? agent->how : slot->how,
                           .message = slot->why,
                           .answered = record->answered,
                           .rounds = record->rounds,
                           .method = record->method,
                           .x = record->x,
                           .result = tc_wire_averages(record->method) ? record->average : record->x,
                           .clamped = slot->clamped,
                           .held = slot->held,
                           .path = tc_state_file_path(slot->file),
                           .run = slot->run[0] == 0 ? NULL : slot->run,
                           .is_changed = slot->is_changed,
                           .was_over = slot->was_over,
                           .replaced = slot->replaced,
                           .certain = record->method == TC_WIRE_CERTAIN && slot->how == TC_AGENT_DONE &&
                                      record->answered == record->rounds && !tc_agent_lacks_rounds(slot),
                           .first_round = record->unknown + 1};
}
