/* Where a database is, by libpq's rules. Secrets come by libpq's own ways alone: ~/.pgpass, PGPASSFILE, a service file,
 * certificates. The arguments of a process can be read by every user of the machine, so an address with a password in
 * it is refused. */
#include "serve/journal/backend.h"

#include <string.h>

static tc_status refuse(tc_buffer *messages, const char *why) {
    tc_buffer_printf(messages, "--journal: %s\n", why);
    return TC_BAD_USAGE;
}

#ifdef TACIT_POSTGRES

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdlib.h>

static const char *value_of(const PQconninfoOption *options, const char *keyword) {
    for (const PQconninfoOption *at = options; at != NULL && at->keyword != NULL; at++)
        if (strcmp(at->keyword, keyword) == 0 && at->val != NULL && at->val[0] != '\0')
            return at->val;
    return NULL;
}

/* One number or several, with commas between them; none before or after a comma is the usual one. */
static bool are_ports(const char *ports) {
    for (const char *at = ports; at != NULL; at = *at == ',' ? at + 1 : NULL) {
        size_t digits = strspn(at, "0123456789");
        if (digits > 5 || strtoul(at, NULL, 10) > 65535 || (at[digits] != '\0' && at[digits] != ','))
            return false;
        at += digits;
    }
    return true;
}

static bool is_ssl_mode(const char *mode) {
    static const char *const modes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i]) == 0)
            return true;
    return false;
}

/* A password that has a '/' or a '?' ends the part of the host for libpq, and the rest would be shown as a port or a
 * database. NULL: there is none. */
static const char *find_flaw(const char *address, const PQconninfoOption *options) {
    const char *host = strstr(address, "://") + 3, *rest = host + strcspn(host, "/?");
    const char *database = value_of(options, "dbname"), *mode = value_of(options, "sslmode");
    if (value_of(options, "password") != NULL || value_of(options, "sslpassword") != NULL)
        return "there is a password in the address, and every user of this machine can read the arguments of a "
               "process. Take it out, and put a line HOST:PORT:DATABASE:USER:PASSWORD into ~/.pgpass with mode 0600, "
               "or into the file that PGPASSFILE names";
    if (strchr(rest, '@') != NULL)
        return "there is an '@' after the host. If a password is before it, take that out: every user of this machine "
               "can read the arguments of a process (~/.pgpass has room for it). If not, write %40";
    if (database != NULL && (strchr(database, '=') != NULL || strstr(database, "://") != NULL))
        return "the name of the database is an address itself";
    if (!are_ports(value_of(options, "port")))
        return "its port is no number from 1 to 65535";
    return mode != NULL && !is_ssl_mode(mode)
               ? "its sslmode is not disable, allow, prefer, require, verify-ca or verify-full"
               : NULL;
}

tc_status tc_journal_check_address(const char *address, tc_buffer *messages) {
    if (strncmp(address, "postgresql://", 13) != 0 && strncmp(address, "postgres://", 11) != 0)
        return refuse(messages, "a database is postgresql://[USER@]HOST[:PORT]/DATABASE; a folder is --state DIR");
    char *error = NULL;
    PQconninfoOption *options = PQconninfoParse(address, &error);
    PQfreemem(error); /* it may repeat the address */
    if (options == NULL)
        return refuse(messages, "this is not an address that libpq understands: "
                                "postgresql://[USER@]HOST[:PORT]/DATABASE[?OPTION=VALUE&...]");
    const char *why = find_flaw(address, options);
    PQconninfoFree(options);
    return why != NULL ? refuse(messages, why) : TC_OK;
}

static bool is_near(const char *host, size_t length) {
    char text[64];
    struct in_addr four;
    struct in6_addr six;
    if (length == 0 || host[0] == '/' || host[0] == '@') /* a socket of this machine */
        return true;
    if (length >= sizeof text)
        return false;
    memcpy(text, host, length);
    text[length] = '\0';
    return strcmp(text, "localhost") == 0 ||
           (inet_pton(AF_INET, text, &four) == 1 && ntohl(four.s_addr) >> 24 == 127) ||
           (inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
}

/* One host or several, with commas between them; NULL: the socket of this machine. */
static bool are_near(const char *hosts) {
    bool all = true;
    for (const char *at = hosts; at != NULL && all; at = *at == ',' ? at + 1 : NULL) {
        size_t length = strcspn(at, ",");
        all = is_near(at, length);
        at += length;
    }
    return all;
}

/* Whoever could change the journal on its way could have old rounds sent again. So a server elsewhere must prove who it
 * is, unless the operator says otherwise. */
static bool must_verify(const char *address) {
    char *error = NULL;
    PQconninfoOption *given = PQconninfoParse(address, &error), *standard = PQconndefaults();
    PQfreemem(error);
    const char *host = value_of(given, "host"), *number = value_of(given, "hostaddr");
    host = host != NULL ? host : value_of(standard, "host");
    number = number != NULL ? number : value_of(standard, "hostaddr");
    bool is_elsewhere =
        !are_near(host) || !are_near(number) || value_of(given, "service") != NULL || getenv("PGSERVICE") != NULL;
    bool is_said = value_of(given, "sslmode") != NULL || getenv("PGSSLMODE") != NULL;
    PQconninfoFree(given);
    PQconninfoFree(standard);
    return is_elsewhere && !is_said;
}

/* What stands before the address can be changed by it. */
PGconn *tc_journal_connect(const char *address) {
    const char *keywords[] = {
        "fallback_application_name", "connect_timeout", "tcp_user_timeout", "sslmode", "dbname", NULL};
    const char *values[] = {"tacit", "10", "30000", "verify-full", address, NULL};
    if (!must_verify(address)) { /* leave sslmode out */
        keywords[3] = keywords[4];
        values[3] = values[4];
        keywords[4] = values[4] = NULL;
    }
    return PQconnectdbParams(keywords, values, 1);
}

#else

tc_status tc_journal_check_address(const char *address, tc_buffer *messages) {
    (void)address;
    return refuse(messages, TC_JOURNAL_NO_POSTGRES);
}

#endif
