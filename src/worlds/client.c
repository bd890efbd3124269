/* The agents of both worlds: what they say, and how they say it to a cloud on a socket. */
#include "worlds/worlds.h"

#include "analysis/region.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- what they say ----------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a) { /* splitmix64's finaliser: any sequence will do, it is no secret */
    a += UINT64_C(0x9e3779b97f4a7c15);
    a = (a ^ (a >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    a = (a ^ (a >> 27)) * UINT64_C(0x94d049bb133111eb);
    return a ^ (a >> 31);
}

static int64_t unit_of(const tc_model *model, int exponent, size_t coord, uint64_t round, bool is_other) {
    tc_interval range = tc_coord_range(model, coord);
    int64_t least = (int64_t)ceil(ldexp(range.lo, -exponent)), most = (int64_t)floor(ldexp(range.hi, -exponent));
    uint64_t width = (uint64_t)(most - least) + 1;
    if (round % 4 == 1)
        return is_other ? most : least;
    if (round % 4 == 2 && is_other) /* outside of the box: the cloud moves it in, and tells that agent alone */
        return most + 1 + (int64_t)(mix(coord) % 1000);
    return least + (int64_t)(mix(mix(coord + 1) ^ mix(round * 2 + is_other)) % width);
}

void tc_worlds_state(const tc_model *model, int exponent, unsigned world, size_t other, size_t agent, uint64_t round,
                     int64_t *units) {
    const tc_family *family = tc_family_of_agent(model, agent);
    bool is_other = world == 1 && (other == TC_WORLDS_ALL || other == agent);
    for (size_t c = 0; c < family->dim; c++)
        units[c] = unit_of(model, exponent, tc_coord_of(family, agent - family->first_agent, c), round, is_other);
}

/* ---- on a socket ------------------------------------------------------------------------------------------------- */

enum {
    PATIENCE = 300000, /* milliseconds: longer than any machine needs, and no test waits for it */
    CROWD = 256        /* agents that enrol before the answers are read */
};

static int connect_to(unsigned port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(descriptor);
        return -1;
    }
    return descriptor;
}

static bool send_all(int descriptor, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR)
            return false;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool fail(tc_client *c, const char *text) {
    c->trouble = text;
    return false;
}

/* Whatever comes next; false at the end. */
static bool receive(int descriptor, tc_buffer *into) {
    char bytes[1 << 16];
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    if (poll(&wait, 1, PATIENCE) <= 0)
        return false;
    ssize_t got = recv(descriptor, bytes, sizeof bytes, 0);
    if (got > 0)
        tc_buffer_add(into, bytes, (size_t)got);
    return got > 0;
}

/* The next frame; type 0 where there is none. */
static tc_frame next(tc_client *c) {
    tc_frame frame = {.type = 0};
    size_t taken = 0, wanted = 0;
    for (;;) {
        tc_frame_finding cut = tc_frame_cut((const unsigned char *)c->heard.text + c->cut, c->heard.length - c->cut,
                                            TC_FRAME_MOST_BODY, &frame, &taken, &wanted);
        if (c->heard.length > c->cut && cut == TC_CUT_FRAME) {
            c->cut += taken;
            return frame;
        }
        if ((c->heard.length > c->cut && cut != TC_CUT_MORE) || c->has_ended || !receive(c->descriptor, &c->heard)) {
            c->has_ended = true;
            return (tc_frame){.type = 0};
        }
    }
}

static bool greet(tc_client *c) {
    static const char software[] = "tacit-end-to-end";
    unsigned char bytes[256];
    tc_hello hello = {.lowest_version = TC_FIRST_PROTOCOL,
                      .highest_version = TC_PROTOCOL,
                      .software = software,
                      .software_length = sizeof software - 1};
    tc_hello_encode(&hello, bytes);
    return send_all(c->descriptor, bytes, tc_hello_size(&hello)) && next(c).type == TC_MESSAGE_WELCOME;
}

static bool say_enrol(const tc_worlds *w, const tc_client *c, uint32_t slot) {
    unsigned char bytes[TC_MOST_CONTROL + TC_FRAME_HEADER];
    const tc_family *family = tc_family_of_agent(w->setup.model, c->first + slot);
    tc_buffer name = tc_buffer_new(w->arena, 4096);
    tc_agent_name(&name, family, c->first + slot - family->first_agent);
    tc_enrol enrol = {.slot = slot,
                      .states = (uint32_t)family->dim,
                      .slater = TC_SLATER_YES,
                      .name = tc_buffer_text(&name),
                      .name_length = name.length};
    if (name.length > TC_MOST_NAME)
        return false;
    tc_enrol_encode(&enrol, bytes);
    return send_all(c->descriptor, bytes, tc_enrol_size(&enrol));
}

bool tc_client_join(const tc_worlds *w, tc_client *c, unsigned port) {
    c->heard = tc_buffer_new(w->arena, (size_t)1 << 34);
    c->descriptor = connect_to(port);
    if (c->descriptor < 0 || !greet(c))
        return fail(c, "the cloud does not greet");
    for (size_t begin = 0; begin < c->count; begin += CROWD) {
        size_t end = begin + CROWD < c->count ? begin + CROWD : c->count;
        for (size_t i = begin; i < end; i++)
            if (!say_enrol(w, c, (uint32_t)i))
                return fail(c, "an agent cannot ask for its seat");
        for (size_t i = begin; i < end; i++) {
            tc_enrolled enrolled;
            tc_frame frame = next(c);
            if (frame.type != TC_MESSAGE_ENROLLED || tc_enrolled_decode(&frame, &enrolled) != TC_NOT_REFUSED)
                return fail(c, "an agent is not enrolled");
            c->exponent = enrolled.exponent;
        }
    }
    return true;
}

bool tc_client_say(const tc_worlds *w, tc_client *c, unsigned world, size_t other, uint64_t round) {
    for (size_t i = 0; i < c->count; i++) {
        const tc_family *family = tc_family_of_agent(w->setup.model, c->first + i);
        int64_t *units = TC_NEW(w->arena, int64_t, family->dim);
        size_t size = tc_state_size((uint32_t)family->dim);
        unsigned char *bytes = TC_NEW(w->arena, unsigned char, size);
        tc_worlds_state(w->setup.model, c->exponent, world, other, c->first + i, round, units);
        tc_state_encode((uint32_t)i, round, units, (uint32_t)family->dim, bytes);
        if (!send_all(c->descriptor, bytes, size))
            return fail(c, "a state cannot be sent");
    }
    return true;
}

bool tc_client_hear(tc_client *c, uint64_t round) {
    for (size_t i = 0; i < c->count;) {
        tc_frame frame = next(c);
        if (frame.type == 0)
            return fail(c, "an answer is missing");
        i += frame.type == TC_MESSAGE_ANSWER && frame.round == round;
    }
    return true;
}

bool tc_client_leave(tc_client *c) {
    unsigned char bytes[TC_LEAVE_SIZE];
    for (tc_frame frame = next(c); frame.type != TC_MESSAGE_END; frame = next(c))
        if (frame.type == 0)
            return fail(c, "the end is not told");
    tc_leave_encode(TC_NO_SLOT, bytes);
    (void)send_all(c->descriptor, bytes, sizeof bytes);
    while (next(c).type != 0)
        continue;
    (void)close(c->descriptor);
    return true;
}

void tc_client_mask(tc_client *c) {
    unsigned char *bytes = (unsigned char *)c->heard.text;
    size_t taken = 0, wanted = 0;
    tc_frame frame;
    for (size_t at = 0; at < c->heard.length; at += taken) {
        if (tc_frame_cut(bytes + at, c->heard.length - at, TC_FRAME_MOST_BODY, &frame, &taken, &wanted) != TC_CUT_FRAME)
            return;
        tc_welcome welcome;
        if (frame.type == TC_MESSAGE_WELCOME && tc_welcome_decode(&frame, &welcome) == TC_NOT_REFUSED) {
            memset(welcome.run_id, 0, sizeof welcome.run_id);
            memset(welcome.epoch.id, 0, sizeof welcome.epoch.id);
            tc_welcome_encode(&welcome, bytes + at);
        }
        if (frame.type == TC_MESSAGE_ANSWER && c->is_other)
            tc_put_u16(bytes + at + 6, (uint16_t)(frame.flags & ~TC_ANSWER_CLAMPED));
    }
}

const char *tc_client_page(tc_arena *arena, unsigned port, const char *path) {
    tc_buffer page = tc_buffer_new(arena, 1 << 26);
    const char *ask = tc_arena_format(arena, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    int descriptor = connect_to(port);
    if (descriptor < 0)
        return NULL;
    bool sent = send_all(descriptor, (const unsigned char *)ask, strlen(ask));
    while (sent && receive(descriptor, &page))
        continue;
    (void)close(descriptor);
    return sent && page.length > 0 ? tc_buffer_text(&page) : NULL;
}
