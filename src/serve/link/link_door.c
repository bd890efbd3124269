/* Newcomers: how much of the loop's time goes to those who are not in yet, and which of them is next.
 *
 * A handshake costs as much as several rounds, and anybody may ask for one. So all that is done for connections that
 * are not open (taking them in, their first byte, their handshake, their end) is paid from a budget of processor time.
 * While rounds go on it is a fifth of the time; while they do not, most of it. What cannot be paid now waits in queues,
 * one for each of some classes of addresses, which are served in turn: whoever floods from one address waits behind
 * himself. Those in the middle of a handshake go before those who begin one. */
#include "serve/link/link_parts.h"

#include "serve/clock.h"
#include "serve/rounds/enrolment.h"

#include <openssl/rand.h>
#include <sys/time.h>

static const double SHARE = 0.2, IDLE_SHARE = 0.8; /* while rounds go on; while they do not */
static const double BUSY_SECONDS = 0.05;           /* rounds go on for as long after the last one */
static const double SLICE = 0.002, LEAST = 0.0005; /* seconds at once; what is waited for */

void tc_links_set_busy(tc_links *links) { links->door.busy_until = tc_serve_now() + BUSY_SECONDS; }

static double share(const tc_door *door, double now) { return now < door->busy_until ? SHARE : IDLE_SHARE; }

static void fill(tc_door *door) {
    double now = tc_serve_now();
    door->credit += share(door, now) * (now - door->filled_at);
    door->credit = door->credit < SLICE ? door->credit : SLICE;
    door->filled_at = now;
}

bool tc_door_is_open(tc_links *links) {
    if (links->door.credit <= 0)
        fill(&links->door);
    return links->door.credit > 0;
}

struct timeval tc_door_wait(tc_links *links) {
    tc_door *door = &links->door;
    double wait = (LEAST - door->credit) / share(door, tc_serve_now());
    wait = wait < 0.001 ? 0.001 : wait > 0.5 ? 0.5 : wait;
    return (struct timeval){.tv_usec = (suseconds_t)(1e6 * wait)};
}

double tc_door_begin(void) { return tc_serve_worked(); }

void tc_door_end(tc_links *links, double began) {
    double spent = tc_serve_worked() - began;
    links->door.credit -= spent > 0 ? spent : 0;
}

/* ---- who is next ---- */

static bool is_anybody_waiting(const tc_door *door) {
    for (size_t i = 0; i < TC_DOOR_WAYS; i++)
        if (!tc_ring_is_empty(&door->ways[i]))
            return true;
    return false;
}

static void arm(tc_links *links) {
    struct timeval wait = tc_door_wait(links);
    if (!evtimer_pending(&links->door.turn, NULL) && event_add(&links->door.turn, &wait) != 0)
        event_active(&links->door.turn, EV_TIMEOUT, 0);
}

static void step(tc_links *links, tc_link *link) {
    double began = tc_door_begin();
    tc_link_welcome(link);
    tc_door_end(links, began);
}

/* At the end of its way; in the middle of a handshake at the beginning. It is not listened to meanwhile: its events
 * would come again at once. */
static void queue(tc_links *links, tc_link *link) {
    tc_ring *way = &links->door.ways[link->way];
    (void)event_del(&link->reading);
    (void)tc_link_want_write(link, false);
    tc_ring_join(link->state == TC_LINK_SHAKING ? way->after : way, &link->more);
    arm(links);
}

void tc_link_knock(tc_link *link) {
    tc_links *links = link->links;
    if (!tc_ring_is_empty(&link->more)) /* it waits already */
        return;
    if (is_anybody_waiting(&links->door) || !tc_door_is_open(links))
        queue(links, link);
    else
        step(links, link);
}

static tc_link *next(tc_door *door) {
    for (size_t i = 0; i < TC_DOOR_WAYS; i++) {
        door->way = (door->way + 1) % TC_DOOR_WAYS;
        tc_ring *way = &door->ways[door->way];
        if (!tc_ring_is_empty(way))
            return (tc_link *)(void *)((unsigned char *)way->after - offsetof(tc_link, more));
    }
    return NULL;
}

static void on_turn(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_links *links = context;
    tc_link *link;
    while (tc_door_is_open(links) && (link = next(&links->door)) != NULL) {
        tc_ring_leave(&link->more);
        if (event_add(&link->reading, NULL) != 0)
            tc_link_kill(link, TC_LINK_BROKEN, "memory is out");
        else
            step(links, link);
    }
    if (is_anybody_waiting(&links->door))
        arm(links);
}

bool tc_door_new(tc_links *links) {
    tc_door *door = &links->door;
    for (size_t i = 0; i < TC_DOOR_WAYS; i++)
        tc_ring_clear(&door->ways[i]);
    door->filled_at = tc_serve_now();
    door->credit = SLICE;
    return RAND_bytes((unsigned char *)door->key, sizeof door->key) == 1 &&
           event_assign(&door->turn, links->base, -1, 0, on_turn, links) == 0;
}

/* ---- who gives way ---- */

/* Of IPv6 the network: whoever has one has all of its addresses. */
unsigned tc_door_way(const tc_links *links, const tc_peer *peer) {
    size_t size = peer->family == TC_PEER_IPV4 ? 4 : 8;
    return (unsigned)(tc_keyed_hash(links->door.key, peer->address, size) % TC_DOOR_WAYS);
}

void tc_door_count(tc_links *links, const tc_link *link, tc_link_state state, int more) {
    size_t *counts = state == TC_LINK_SILENT    ? links->door.silent
                     : state == TC_LINK_SHAKING ? links->door.shaking
                                                : NULL;
    if (counts != NULL)
        counts[link->way] += (size_t)more;
}

/* The oldest of the class of addresses that has most of them: it is the one that is too many. */
void tc_door_make_room(tc_ring *list, const size_t counts[TC_DOOR_WAYS], size_t count, size_t most) {
    unsigned fullest = 0;
    if (count <= most)
        return;
    for (unsigned i = 1; i < TC_DOOR_WAYS; i++)
        fullest = counts[i] > counts[fullest] ? i : fullest;
    for (tc_ring *at = list->after; at != list; at = at->after) {
        tc_link *link = (tc_link *)(void *)at;
        if (link->way != fullest)
            continue;
        tc_link_kill(link, TC_LINK_CROWDED_OUT, "too many connections that are not open");
        return;
    }
}
