#include "serve/link/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Nothing waits: a socket that is full says EAGAIN. */
enum { FLAGS = MSG_NOSIGNAL | MSG_DONTWAIT };

static void note(tc_sending *one, ptrdiff_t sent, int error) {
    one->sent = sent < 0 ? 0 : (size_t)sent;
    one->error = sent >= 0 ? 0 : error == EWOULDBLOCK || error == EINTR ? EAGAIN : error;
}

static void send_each(tc_sending *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ssize_t sent = send(all[i].descriptor, all[i].bytes, all[i].size, FLAGS);
        note(&all[i], sent, errno);
    }
}

#ifdef TACIT_URING
#include <liburing.h>

struct tc_sender {
    struct io_uring ring;
    bool joins; /* the ring is there */
};

/* Old systems have no io_uring; others forbid it (kernel.io_uring_disabled, a filter of system calls). */
tc_sender *tc_sender_new(void) {
    tc_sender *made = calloc(1, sizeof *made);
    if (made != NULL)
        made->joins = io_uring_queue_init(TC_SENDER_MOST, &made->ring, 0) == 0;
    return made;
}

static void give_up(tc_sender *sender) {
    if (sender->joins)
        io_uring_queue_exit(&sender->ring);
    sender->joins = false;
}

void tc_sender_free(tc_sender *sender) {
    if (sender == NULL)
        return;
    give_up(sender);
    free(sender);
}

bool tc_sender_joins(const tc_sender *sender) { return sender->joins; }

/* Submits what is queued. Returns how many were submitted: all, unless the system fails. */
static size_t submit(tc_sender *sender, size_t count) {
    size_t submitted = 0;
    while (submitted < count) {
        int more = io_uring_submit(&sender->ring);
        if (more < 0 && more != -EINTR)
            break;
        submitted += more > 0 ? (size_t)more : 0;
    }
    return submitted;
}

/* Sendings do not wait, so their completions are there already. False: the ring is broken. */
static bool complete(tc_sender *sender, tc_sending *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct io_uring_cqe *done;
        int code;
        do
            code = io_uring_wait_cqe(&sender->ring, &done);
        while (code == -EINTR);
        if (code < 0)
            return false;
        note(&all[io_uring_cqe_get_data64(done)], done->res, -done->res);
        io_uring_cqe_seen(&sender->ring, done);
    }
    return true;
}

/* Returns how many are queued. All, since the ring is empty and has room for TC_SENDER_MOST. */
static size_t queue(tc_sender *sender, tc_sending *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&sender->ring);
        if (entry == NULL)
            return i;
        io_uring_prep_send(entry, all[i].descriptor, all[i].bytes, all[i].size, FLAGS);
        io_uring_sqe_set_data64(entry, i);
        note(&all[i], -1, EIO);
    }
    return count;
}

/* Where the ring fails, what was submitted counts as broken unless its completion says more: to send it again could
 * send it twice. */
void tc_sender_send(tc_sender *sender, tc_sending *all, size_t count) {
    size_t submitted = 0;
    if (sender->joins && count > 1) {
        submitted = submit(sender, queue(sender, all, count));
        if (!complete(sender, all, submitted) || submitted < count)
            give_up(sender); /* also drops what was not submitted */
    }
    send_each(all + submitted, count - submitted);
}

#else

struct tc_sender {
    char nothing;
};

tc_sender *tc_sender_new(void) { return calloc(1, sizeof(tc_sender)); }
void tc_sender_free(tc_sender *sender) { free(sender); }

bool tc_sender_joins(const tc_sender *sender) {
    (void)sender;
    return false;
}

void tc_sender_send(tc_sender *sender, tc_sending *all, size_t count) {
    (void)sender;
    send_each(all, count);
}

#endif
