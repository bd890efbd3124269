#include "serve/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A path, or a name in the abstract namespace: it begins with @ in the variable, with a zero byte in the address. */
static socklen_t find_address(struct sockaddr_un *address) {
    const char *name = getenv("NOTIFY_SOCKET");
    size_t length = name == NULL ? 0 : strlen(name);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (length < 2 || length >= sizeof address->sun_path || (name[0] != '/' && name[0] != '@'))
        return 0;
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
}

static void say(const char *text) {
    struct sockaddr_un address;
    socklen_t size = find_address(&address);
    int before = errno;
    if (size == 0)
        return;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (descriptor >= 0) {
        (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        (void)sendto(descriptor, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, size);
        (void)close(descriptor);
    }
    errno = before;
}

/* The status must be one line: another line would be another assignment. */
static void say_with_status(const char *first, const char *status) {
    char text[1024];
    if (status == NULL) {
        say(first);
        return;
    }
    int length = snprintf(text, sizeof text, "%sSTATUS=", first);
    for (; *status != '\0' && (size_t)length + 2 < sizeof text; status++)
        text[length++] = (unsigned char)*status < ' ' ? ' ' : *status;
    text[length] = '\0';
    say(text);
}

void tc_notify_ready(const char *status) { say_with_status("READY=1\n", status); }
void tc_notify_status(const char *status) { say_with_status("", status); }
void tc_notify_stopping(void) { say("STOPPING=1\n"); }
void tc_notify_alive(void) { say("WATCHDOG=1\n"); }

void tc_notify_reloading(void) {
    struct timespec now = {0};
    char text[64];
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld\n",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    say(text);
}

double tc_notify_watchdog_seconds(void) {
    const char *text = getenv("WATCHDOG_USEC"), *whom = getenv("WATCHDOG_PID");
    if (text == NULL || getenv("NOTIFY_SOCKET") == NULL || (whom != NULL && strtoll(whom, NULL, 10) != getpid()))
        return 0;
    double seconds = 1e-6 * strtod(text, NULL);
    return seconds > 0 ? seconds : 0;
}
