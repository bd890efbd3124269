/* Agents on one connection in plain text, by hand: they say what they are told to, and keep every byte that they hear.
 */
#ifndef TC_WORLDS_CLIENT_H
#define TC_WORLDS_CLIENT_H

#include "worlds/worlds.h"

#include "net/wire/message.h"

typedef struct tc_client {
    int descriptor;
    size_t first, count; /* agents; agent first + i has slot i */
    bool is_other;       /* it speaks for the agent that differs */
    tc_buffer heard;     /* all bytes */
    size_t cut;          /* of them, in whole frames that were looked at */
    int exponent;
    bool has_ended; /* the cloud has closed, or nothing came in time */
    const char *trouble;
} tc_client;

/* Connects to this port of loopback; -1: no. */
int tc_client_connect(unsigned port);

/* Hello, and all its agents enrolled. False, and trouble, where the cloud does not do as it should. */
bool tc_client_join(const tc_worlds *worlds, tc_client *client, unsigned port) TC_MUST_USE;
bool tc_client_say(const tc_worlds *worlds, tc_client *client, unsigned world, size_t other,
                   uint64_t round) TC_MUST_USE;
/* Until every agent has its answer. */
bool tc_client_hear(tc_client *client, uint64_t round) TC_MUST_USE;
/* Until the end is told; says good-bye, and hears the rest. */
bool tc_client_leave(tc_client *client) TC_MUST_USE;

/* All that it heard, but for what is excepted (tc_worlds_exceptions): the same size, with zeros in its place. */
void tc_client_mask(tc_client *client);

/* A page, as the port of the operator gives it: head and all. NULL: it does not. */
const char *tc_client_page(tc_arena *arena, unsigned port, const char *path);

#endif
