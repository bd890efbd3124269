#include "net/agent/agent_state.h"

#include "net/tls/authority.h"
#include "net/chosen_path.h"
#include "net/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_LABEL = 200, SUFFIX_ROOM = 32 };

struct tc_agent_state {
    tc_agent_state_settings settings;
    const char *path;
    int descriptor;
    size_t size;   /* of a memory */
    size_t stride; /* from one place to the other */
    unsigned char *bytes;
    EVP_MD *sha256;
    EVP_MD_CTX *digest;
};

static void close_state(void *what) {
    tc_agent_state *state = what;
    EVP_MD_CTX_free(state->digest);
    EVP_MD_free(state->sha256);
    if (state->descriptor >= 0)
        (void)close(state->descriptor);
}

static tc_status complain(const tc_agent_state *state, tc_buffer *messages, tc_status status, const char *what) {
    int error = errno;
    tc_buffer_printf(messages, "cannot %s '%s': %s\n", what, state->path, strerror(error));
    return status;
}

/* "home.17.state" for home[17]. Long names are cut; that two agents share a file is found when it is opened. */
static const char *path_of(tc_arena *arena, const tc_agent_state_settings *settings) {
    tc_buffer label = tc_buffer_new(arena, 4 * TC_MOST_NAME);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    tc_authority_label(&label, settings->name);
    if (label.length <= MOST_LABEL && tc_buffer_text(&label)[0] != '.')
        return tc_arena_format(arena, "%s/%s.state", settings->folder, tc_buffer_text(&label));
    for (const char *c = settings->name; *c != 0; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return tc_arena_format(arena, "%s/agent-%.*s-%016llx.state", settings->folder, MOST_LABEL - SUFFIX_ROOM,
                           tc_buffer_text(&label), (unsigned long long)hash);
}

static bool sum(tc_agent_state *state, const unsigned char *bytes, unsigned char digest[TC_AGENT_DIGEST]) {
    unsigned length = 0;
    bool good = EVP_DigestInit_ex2(state->digest, state->sha256, NULL) == 1 &&
                EVP_DigestUpdate(state->digest, bytes, state->size - TC_AGENT_DIGEST) == 1 &&
                EVP_DigestFinal_ex(state->digest, digest, &length) == 1 && length == TC_AGENT_DIGEST;
    if (!good)
        ERR_clear_error();
    return good;
}

/* ---- Writing ---- */

static bool write_at(int descriptor, const unsigned char *bytes, size_t size, size_t at) {
    while (size > 0) {
        ssize_t written = pwrite(descriptor, bytes, size, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return false;
        }
        bytes += written;
        at += (size_t)written;
        size -= (size_t)written;
    }
    return true;
}

bool tc_agent_state_save(tc_agent_state *state, tc_agent_memory *memory) {
    memory->saves++;
    tc_agent_memory_encode(memory, state->settings.name, state->settings.states, state->bytes);
    if (!sum(state, state->bytes, state->bytes + state->size - TC_AGENT_DIGEST)) {
        errno = ENOMEM;
        return false;
    }
    bool written = write_at(state->descriptor, state->bytes, state->size, state->stride * (size_t)(memory->saves % 2));
    int error = errno;
    OPENSSL_cleanse(state->bytes, state->size);
    errno = error;
    return written && (!state->settings.survives_power || fdatasync(state->descriptor) == 0);
}

/* ---- Making ---- */

/* Both places lie within the file from the beginning, and it appears whole under its name. */
static bool make_beside(tc_agent_state *state, const char *beside, tc_agent_memory *memory) {
    if (unlink(beside) != 0 && errno != ENOENT)
        return false;
    state->descriptor = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return state->descriptor >= 0 && ftruncate(state->descriptor, (off_t)(2 * state->stride)) == 0 &&
           tc_agent_state_save(state, memory) && flock(state->descriptor, LOCK_EX | LOCK_NB) == 0;
}

static tc_status make(tc_arena *arena, tc_agent_state *state, int folder, tc_buffer *messages,
                      tc_agent_memory *memory) {
    const char *beside = tc_arena_format(arena, "%s.new", state->path);
    if (!make_beside(state, beside, memory) || rename(beside, state->path) != 0 ||
        (state->settings.survives_power && fsync(folder) != 0)) {
        tc_status status = complain(state, messages, TC_CANNOT_WRITE, "write");
        (void)unlink(beside);
        return status;
    }
    return TC_OK;
}

/* ---- Reading ---- */

/* What is not there is left as zeros, which are no memory. */
static bool read_at(int descriptor, unsigned char *bytes, size_t size, size_t at) {
    memset(bytes, 0, size);
    while (size > 0) {
        ssize_t got = pread(descriptor, bytes, size, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        bytes += got;
        at += (size_t)got;
        size -= (size_t)got;
    }
    return true;
}

static tc_snapshot_finding judge(tc_agent_state *state, tc_agent_memory *memory) {
    unsigned char digest[TC_AGENT_DIGEST];
    tc_snapshot_finding found =
        tc_agent_memory_decode(state->bytes, state->size, state->settings.name, state->settings.states, memory);
    if (found != TC_MEMORY_GOOD)
        return found;
    return sum(state, state->bytes, digest) &&
                   memcmp(digest, state->bytes + state->size - TC_AGENT_DIGEST, TC_AGENT_DIGEST) == 0
               ? TC_MEMORY_GOOD
               : TC_MEMORY_DAMAGED;
}

/* Of two agents' names or lengths in one file none is more right: what is said is the first that is not damage. */
static tc_status read_both(tc_agent_state *state, tc_buffer *messages, tc_agent_memory *memory,
                           tc_snapshot_finding *finding) {
    uint64_t saves[2] = {0, 0};
    bool good[2];
    *finding = TC_MEMORY_DAMAGED;
    for (size_t i = 0; i < 2; i++) {
        if (!read_at(state->descriptor, state->bytes, state->size, i * state->stride))
            return complain(state, messages, TC_CANNOT_READ, "read");
        tc_snapshot_finding found = judge(state, memory);
        good[i] = found == TC_MEMORY_GOOD && memory->saves % 2 == i;
        saves[i] = memory->saves;
        if (*finding == TC_MEMORY_DAMAGED && (good[i] || found != TC_MEMORY_GOOD))
            *finding = found;
    }
    if (!good[0] && !good[1])
        return TC_OK;
    size_t best = good[1] && (!good[0] || saves[1] > saves[0]) ? 1 : 0;
    if (!read_at(state->descriptor, state->bytes, state->size, best * state->stride))
        return complain(state, messages, TC_CANNOT_READ, "read");
    *finding = judge(state, memory);
    return TC_OK;
}

static tc_status refuse(const tc_agent_state *state, tc_snapshot_finding finding, tc_buffer *messages) {
    tc_buffer_printf(messages, "the state file '%s' is %s; ", state->path, tc_snapshot_finding_text(finding));
    tc_buffer_puts(messages,
                   finding == TC_MEMORY_ANOTHER
                       ? "was it copied or renamed? One folder serves many agents, but not two whose names make the "
                         "same file name\n"
                       : "--new-run puts it aside and begins anew, which loses this agent's place in its run, "
                         "and its guard against an old copy of the cloud: ask the cloud's operator first\n");
    return finding == TC_MEMORY_DAMAGED ? TC_CANNOT_READ : TC_BAD_USAGE;
}

/* ---- Opening ---- */

/* The arrays are scratch for what is not good, so that what the caller brought is kept here. */
static tc_status open_there(tc_arena *arena, tc_agent_state *state, int folder, tc_buffer *messages,
                            tc_agent_memory *memory) {
    size_t states = state->settings.states;
    tc_agent_memory read = {.x = TC_NEW(arena, double, states), .average = TC_NEW(arena, double, states)};
    tc_snapshot_finding finding;
    if (flock(state->descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            return complain(state, messages, TC_CANNOT_READ, "lock");
        tc_buffer_printf(messages, "another process has the state file '%s'; an agent runs once at a time\n",
                         state->path);
        return TC_CANNOT_READ;
    }
    tc_status status = read_both(state, messages, &read, &finding);
    if (status != TC_OK)
        return status;
    if (finding == TC_MEMORY_GOOD) {
        memcpy(memory->x, read.x, states * sizeof(double));
        memcpy(memory->average, read.average, states * sizeof(double));
        OPENSSL_cleanse(read.x, states * sizeof(double));
        OPENSSL_cleanse(read.average, states * sizeof(double));
        OPENSSL_cleanse(state->bytes, state->size);
        read.x = memory->x;
        read.average = memory->average;
        *memory = read;
        return TC_OK;
    }
    if (!state->settings.may_replace || finding == TC_MEMORY_ANOTHER)
        return refuse(state, finding, messages);
    if (rename(state->path, tc_arena_format(arena, "%s.old", state->path)) != 0)
        return complain(state, messages, TC_CANNOT_WRITE, "move aside");
    (void)close(state->descriptor);
    state->descriptor = -1;
    return make(arena, state, folder, messages, memory);
}

/* While one process makes files in the folder, no other does. */
static tc_status open_in(tc_arena *arena, tc_agent_state *state, int folder, tc_buffer *messages,
                         tc_agent_memory *memory) {
    while (flock(folder, LOCK_EX) != 0)
        if (errno != EINTR)
            return complain(state, messages, TC_CANNOT_WRITE, "lock the folder of");
    state->descriptor = open(state->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (state->descriptor >= 0)
        return open_there(arena, state, folder, messages, memory);
    if (errno == ELOOP) {
        tc_buffer_printf(messages, "the state file '%s' is a symbolic link; give the folder that has the file itself\n",
                         state->path);
        return TC_CANNOT_READ;
    }
    if (errno != ENOENT)
        return complain(state, messages, TC_CANNOT_READ, "open");
    return make(arena, state, folder, messages, memory);
}

tc_status tc_agent_state_open(tc_arena *arena, const tc_agent_state_settings *settings, tc_buffer *messages,
                              tc_agent_memory *memory, tc_agent_state **opened) {
    tc_agent_state *state = TC_NEW(arena, tc_agent_state, 1);
    size_t size = tc_agent_memory_size(settings->states);
    tc_agent_state_settings real = *settings;
    tc_status status = tc_chosen_path(arena, settings->folder, messages, &real.folder);
    if (status != TC_OK)
        return status;
    *state = (tc_agent_state){.settings = real,
                              .path = path_of(arena, &real),
                              .descriptor = -1,
                              .size = size,
                              .stride = (size + PAGE - 1) / PAGE * PAGE,
                              .bytes = TC_NEW(arena, unsigned char, size)};
    tc_arena_on_free(arena, close_state, state);
    state->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    state->digest = EVP_MD_CTX_new();
    if (state->sha256 == NULL || state->digest == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    status = tc_private_folder(real.folder, messages);
    if (status != TC_OK)
        return status;
    int folder = open(real.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return complain(state, messages, TC_CANNOT_READ, "open the folder of");
    tc_escape escape; /* the folder's descriptor is closed whatever happens */
    status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = open_in(arena, state, folder, messages, memory);
    tc_escape_end(arena, &escape);
    (void)close(folder);
    if (status == TC_NO_MEMORY || status == TC_TOO_LARGE)
        tc_raise(arena, status);
    *opened = state;
    return status;
}

const char *tc_agent_state_path(const tc_agent_state *state) { return state->path; }
