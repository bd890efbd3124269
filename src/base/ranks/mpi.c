/* Ranks by MPI, for the program tacit-mpi alone. */
#include "base/ranks/ranks.h"

#include "base/machine.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    MPI_Comm work;  /* all calls but tc_ranks_meet */
    MPI_Comm ends;  /* tc_ranks_meet: it may be called while other ranks are in a call of `work` */
    MPI_Comm apart; /* while each works alone: words that a rank was told to stop, and the end of it */
    size_t count, mine;
    bool is_parted;
    int said, heard; /* since ranks parted: whether this one sent a word to all others, and how many it received */
    int has_failed;  /* and all others were sent a word of it */
    bool (*told_here)(void); /* NULL: never */
    atomic_bool told;        /* to stop: what ranks have heard of each other; any thread reads it */
} all = {.count = 1};

static const double SECONDS_TO_MEET = 5;          /* after a failure, which may be this rank's alone */
static const double SECONDS_TO_FINISH = 60;       /* after a "no" or an interrupt: the first may still write a result */
static const double SECONDS_BETWEEN_LOOKS = 0.01; /* for a word */
enum { MOST_AT_ONCE = 1 << 24 };                  /* items or bytes: MPI counts in int */
enum { MOST_FEW = 16 };                           /* numbers that go with a word on who was told to stop */

/* ---- start and end ---- */

static _Thread_local bool may_call; /* MPI: the thread that began */

static void on_error(MPI_Comm *communicator, int *code, ...) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)communicator;
    (void)MPI_Error_string(*code, text, &length);
    (void)fprintf(stderr, "tacit: rank %zu: another rank cannot be reached: %.*s\n", all.mine, length, text);
    tc_ranks_abort(3);
}

void tc_ranks_begin(int *argc, char ***argv) {
    int given = 0, count = 1, mine = 0;
    MPI_Errhandler handler;
    (void)MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);
    (void)MPI_Comm_dup(MPI_COMM_WORLD, &all.work);
    (void)MPI_Comm_dup(MPI_COMM_WORLD, &all.ends);
    (void)MPI_Comm_dup(MPI_COMM_WORLD, &all.apart);
    (void)MPI_Comm_create_errhandler(on_error, &handler);
    (void)MPI_Comm_set_errhandler(all.work, handler);
    (void)MPI_Comm_set_errhandler(all.ends, handler);
    (void)MPI_Comm_set_errhandler(all.apart, handler);
    (void)MPI_Comm_size(all.work, &count);
    (void)MPI_Comm_rank(all.work, &mine);
    all.count = (size_t)count;
    all.mine = (size_t)mine;
    may_call = true;
}

void tc_ranks_end(void) { (void)MPI_Finalize(); }

void tc_ranks_abort(int exit_code) {
    (void)fflush(NULL);
    (void)MPI_Abort(MPI_COMM_WORLD, exit_code);
    exit(exit_code);
}

size_t tc_ranks_count(void) { return all.is_parted ? 1 : all.count; }
size_t tc_ranks_mine(void) { return all.is_parted ? 0 : all.mine; }
size_t tc_ranks_started(void) { return all.count; }
bool tc_ranks_prints(void) { return all.mine == 0; }

/* ---- told to stop ---- */

void tc_ranks_watch(bool (*told)(void)) {
    all.told_here = told;
    atomic_store(&all.told, false);
}

bool tc_ranks_told_here(void) { return all.told_here != NULL && all.told_here(); }

static void hear(bool someone) {
    if (someone)
        atomic_store(&all.told, true);
}

static void say(void) {
    for (size_t r = 0; r < all.count; r++) {
        MPI_Request request;
        if (r == all.mine)
            continue;
        (void)MPI_Isend(NULL, 0, MPI_BYTE, (int)r, 0, all.apart, &request);
        (void)MPI_Request_free(&request); /* all receive it, at the latest when they settle */
    }
    all.said = 1;
    hear(true);
}

static void receive_word(void) {
    (void)MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, all.apart, MPI_STATUS_IGNORE);
    all.heard++;
    hear(true);
}

/* While each rank works alone: says that this one was told to stop, or hears it of another. The first word is enough:
 * the others are received at the end. */
static void look(void) {
    static double next;
    int is_there = 0;
    if (!may_call || atomic_load(&all.told))
        return;
    if (tc_ranks_told_here()) {
        say();
    } else if (tc_seconds() >= next) {
        (void)MPI_Iprobe(MPI_ANY_SOURCE, 0, all.apart, &is_there, MPI_STATUS_IGNORE);
        if (is_there)
            receive_word();
        next = tc_seconds() + SECONDS_BETWEEN_LOOKS;
    }
}

bool tc_ranks_told(void) {
    if (all.count == 1)
        return tc_ranks_told_here();
    if (all.is_parted)
        look();
    return atomic_load(&all.told) || (all.is_parted && tc_ranks_told_here());
}

/* ---- each alone, and together again ---- */

/* Of ranks that failed while others wait for them in another call, the first speaks and ends the job. So each tells all
 * others. */
static void say_failed(void) {
    for (size_t r = 0; r < all.count; r++) {
        MPI_Request request;
        if (r == all.mine)
            continue;
        (void)MPI_Isend(NULL, 0, MPI_BYTE, (int)r, 0, all.ends, &request);
        (void)MPI_Request_free(&request); /* all receive it where they meet */
    }
    all.has_failed = 1;
}

static bool one_before_failed(void) {
    int is_there = 0;
    for (size_t r = 0; all.has_failed && !is_there && r < all.mine; r++)
        (void)MPI_Iprobe((int)r, 0, all.ends, &is_there, MPI_STATUS_IGNORE);
    return is_there != 0;
}

/* Waits without work: other ranks may use this processor. False where the time is over, which is later for a rank that
 * has failed after another: that one ends the job. */
static bool wait_for(MPI_Request *request, double seconds) {
    const struct timespec pause = {.tv_nsec = 1000000};
    double until = tc_seconds() + seconds;
    bool is_second = false;
    int done = 0;
    for (;;) {
        if (all.is_parted)
            look();
        (void)MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done && !is_second && tc_seconds() > until && one_before_failed()) {
            is_second = true;
            until += 2 * SECONDS_TO_MEET;
        }
        if (done || tc_seconds() > until)
            return done != 0;
        (void)nanosleep(&pause, NULL);
    }
}

/* No word stays on its way. All ranks are here. */
static void settle(void) {
    int total = 0;
    (void)MPI_Allreduce(&all.said, &total, 1, MPI_INT, MPI_SUM, all.apart);
    while (all.heard < total - all.said)
        receive_word();
    hear(total > 0);
    all.said = all.heard = 0;
}

/* Of all ranks: those that go on together, and those that leave. False where the time is over. */
static bool end_part(bool leaves, double seconds, int *left) {
    static int mine, sum; /* they stay: after the time is over MPI may still write */
    MPI_Request request;
    mine = leaves;
    (void)MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all.apart, &request);
    if (!wait_for(&request, seconds))
        return false;
    settle();
    all.is_parted = false;
    *left = sum;
    return true;
}

void tc_ranks_part(void) { all.is_parted = true; }

bool tc_ranks_join(void) {
    int left = 0;
    if (all.count > 1)
        (void)end_part(false, (double)INFINITY, &left);
    all.is_parted = false;
    return left == 0;
}

/* ---- numbers ---- */

static void reduce(void *numbers, size_t count, size_t size, MPI_Datatype type, MPI_Op operation) {
    for (size_t done = 0; tc_ranks_several() && done < count; done += MOST_AT_ONCE) {
        size_t now = count - done < MOST_AT_ONCE ? count - done : MOST_AT_ONCE;
        (void)MPI_Allreduce(MPI_IN_PLACE, (char *)numbers + done * size, (int)now, type, operation, all.work);
    }
}

void tc_ranks_sum(uint64_t *numbers, size_t count) {
    uint64_t few[MOST_FEW + 1];
    if (!tc_ranks_several() || count > MOST_FEW) {
        reduce(numbers, count, sizeof *numbers, MPI_UINT64_T, MPI_SUM);
        return;
    }
    if (count > 0)
        memcpy(few, numbers, count * sizeof *few);
    few[count] = tc_ranks_told_here();
    reduce(few, count + 1, sizeof *few, MPI_UINT64_T, MPI_SUM);
    if (count > 0)
        memcpy(numbers, few, count * sizeof *few);
    hear(few[count] > 0);
}

/* What MPI_MAX does with NAN is not said. */
static void larger(void *from, void *into, int *count, MPI_Datatype *type) {
    const double *a = from;
    double *b = into;
    (void)type;
    for (int i = 0; i < *count; i++)
        b[i] = a[i] != a[i] || a[i] > b[i] ? a[i] : b[i];
}

void tc_ranks_largest(double *numbers, size_t count) {
    static MPI_Op operation = MPI_OP_NULL;
    if (tc_ranks_several() && operation == MPI_OP_NULL)
        (void)MPI_Op_create(larger, 1, &operation);
    reduce(numbers, count, sizeof *numbers, MPI_DOUBLE, operation);
}

/* ---- bytes ---- */

void tc_ranks_broadcast(void *bytes, size_t count, size_t from) {
    for (size_t done = 0; tc_ranks_several() && done < count; done += MOST_AT_ONCE) {
        size_t now = count - done < MOST_AT_ONCE ? count - done : MOST_AT_ONCE;
        (void)MPI_Bcast((char *)bytes + done, (int)now, MPI_BYTE, (int)from, all.work);
    }
}

/* Small arrays in one call; of large ones each rank's piece in turn, since counts of MPI are small. */
void tc_ranks_gather(void *items, const size_t *ends, size_t size) {
    size_t ranks = tc_ranks_count(), total = ranks == 1 ? 0 : ends[ranks - 1] * size;
    int counts[128], places[128];
    if (ranks == 1)
        return;
    if (ranks > sizeof counts / sizeof counts[0] || total > MOST_AT_ONCE) {
        for (size_t r = 0, first = 0; r < ranks; first = ends[r++])
            tc_ranks_broadcast((char *)items + first * size, (ends[r] - first) * size, r);
        return;
    }
    for (size_t r = 0, first = 0; r < ranks; first = ends[r++]) {
        places[r] = (int)(first * size);
        counts[r] = (int)((ends[r] - first) * size);
    }
    (void)MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, items, counts, places, MPI_BYTE, all.work);
}

static void send(const char *bytes, size_t count, size_t to) {
    for (size_t done = 0; done < count; done += MOST_AT_ONCE) {
        size_t now = count - done < MOST_AT_ONCE ? count - done : MOST_AT_ONCE;
        (void)MPI_Send(bytes + done, (int)now, MPI_BYTE, (int)to, 0, all.work);
    }
}

static void receive(char *bytes, size_t count, size_t from) {
    for (size_t done = 0; done < count; done += MOST_AT_ONCE) {
        size_t now = count - done < MOST_AT_ONCE ? count - done : MOST_AT_ONCE;
        (void)MPI_Recv(bytes + done, (int)now, MPI_BYTE, (int)from, 0, all.work, MPI_STATUS_IGNORE);
    }
}

void tc_ranks_bring(void *bytes, size_t count, size_t from) {
    if (from == 0 || !tc_ranks_several())
        return;
    if (all.mine == from)
        send(bytes, count, 0);
    else if (all.mine == 0)
        receive(bytes, count, from);
}

void tc_ranks_chain_take(void *bytes, size_t count) {
    if (tc_ranks_several() && all.mine > 0)
        receive(bytes, count, all.mine - 1);
}

void tc_ranks_chain_give(const void *bytes, size_t count) {
    if (tc_ranks_several() && all.mine + 1 < all.count)
        send(bytes, count, all.mine + 1);
}

void tc_ranks_chain_end(void *bytes, size_t count) {
    tc_ranks_broadcast(bytes, count, all.count - 1);
    tc_ranks_sum(NULL, 0); /* for who was told to stop */
}

void tc_ranks_chain_pass(void *bytes, size_t count) {
    tc_ranks_chain_give(bytes, count);
    tc_ranks_chain_end(bytes, count);
}

void tc_ranks_barrier(void) {
    if (tc_ranks_several())
        (void)MPI_Barrier(all.work);
}

/* ---- agreement ---- */

tc_status tc_ranks_agree(tc_status status) {
    struct {
        int has_none, rank; /* the smallest: a failure before none, then the first rank */
    } mine = {.has_none = status == TC_OK, .rank = (int)all.mine}, first = mine;
    if (!tc_ranks_several())
        return status;
    (void)MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, all.work);
    tc_ranks_broadcast(&status, sizeof status, (size_t)first.rank);
    return status;
}

/* No word stays on its way. All ranks are here. */
static void receive_failures(void) {
    int total = 0;
    (void)MPI_Allreduce(&all.has_failed, &total, 1, MPI_INT, MPI_SUM, all.ends);
    for (int i = all.has_failed; i < total; i++)
        (void)MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, all.ends, MPI_STATUS_IGNORE);
    all.has_failed = 0;
}

/* A failure before none, then the largest code, then the first rank. Without memory, which may be out. */
tc_rank_voice tc_ranks_meet(int *exit_code, bool has_failed) {
    enum { FAILED = 1 << 16 };
    static struct { int code, rank; } mine, first; /* they stay: after the time is over MPI may still write */
    double seconds = has_failed ? SECONDS_TO_MEET : *exit_code == 0 ? (double)INFINITY : SECONDS_TO_FINISH;
    MPI_Request request;
    int left = 0;
    if (all.count == 1)
        return TC_RANK_PRINTS;
    if (has_failed)
        say_failed();
    if (all.is_parted && !end_part(true, seconds, &left)) {
        all.is_parted = false;
        return TC_RANK_FAILED_ALONE;
    }
    mine.code = has_failed ? FAILED + *exit_code : all.mine == 0 ? *exit_code : -1;
    mine.rank = (int)all.mine;
    (void)MPI_Iallreduce(&mine, &first, 1, MPI_2INT, MPI_MAXLOC, all.ends, &request);
    if (!wait_for(&request, seconds))
        return TC_RANK_FAILED_ALONE;
    receive_failures();
    *exit_code = first.code % FAILED;
    return first.rank == mine.rank ? TC_RANK_PRINTS : TC_RANK_IS_SILENT;
}
