#include "net/agent/state_file.h"

#include "net/files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char MAGIC[8] = {'t', 'a', 'c', 'i', 't', 'a', 'g', '1'};

enum {
    SAVES = 8,
    RUN = 16,
    PLAN = 32,
    EPOCH = 64,
    EPOCH_IDENTITY = 72,
    ANSWERED = 88,
    ROUNDS = 96,
    METHOD = 104,
    STATES = 108,
    NAME_LENGTH = 112,
    UNKNOWN = 114,
    NAME = 120,
    NUMBERS = NAME + TC_MOST_NAME,
};

static const char *finding_text(tc_record_finding finding) {
    static const char *const texts[] = {
#define X(code, text) text,
        TC_RECORD_FINDINGS(X)
#undef X
    };
    return texts[finding];
}

size_t tc_agent_record_size(size_t states) { return NUMBERS + 16 * states + TC_AGENT_DIGEST; }

void tc_agent_record_encode(const tc_agent_record *record, const char *name, size_t states, unsigned char *bytes) {
    size_t length = strlen(name);
    memset(bytes, 0, NUMBERS);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    tc_put_u64(bytes + SAVES, record->saves);
    memcpy(bytes + RUN, record->run_id, TC_RUN_ID);
    memcpy(bytes + PLAN, record->plan_hash, TC_HASH);
    tc_put_u64(bytes + EPOCH, record->epoch.number);
    memcpy(bytes + EPOCH_IDENTITY, record->epoch.id, TC_EPOCH_ID);
    tc_put_u64(bytes + ANSWERED, record->answered);
    tc_put_u64(bytes + ROUNDS, record->rounds);
    tc_put_u32(bytes + METHOD, record->method);
    tc_put_u32(bytes + STATES, (uint32_t)states);
    tc_put_u16(bytes + NAME_LENGTH, (uint16_t)length);
    tc_put_u32(bytes + UNKNOWN, (uint32_t)record->unknown);
    tc_put_u16(bytes + UNKNOWN + 4, (uint16_t)(record->unknown >> 32));
    memcpy(bytes + NAME, name, length);
    tc_put_doubles(bytes + NUMBERS, record->x, states);
    tc_put_doubles(bytes + NUMBERS + 8 * states, record->average, states);
}

static bool are_finite(const double *values, size_t count) {
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite &= isfinite(values[i]) != 0;
    return finite;
}

static bool are_zero(const unsigned char *bytes, size_t count) {
    unsigned char all = 0;
    for (size_t i = 0; i < count; i++)
        all |= bytes[i];
    return all == 0;
}

/* False for numbers that no agent writes, even if the digest is right. */
static bool is_sane(const tc_agent_record *record) {
    bool enrolled = record->rounds > 0;
    return record->rounds <= TC_FRAME_MOST_ROUND && record->answered <= record->rounds &&
           record->unknown <= record->rounds &&
           (enrolled ? record->method == TC_WIRE_PUBLISHED || tc_wire_averages(record->method) : record->method == 0) &&
           (record->epoch.number != 0 || are_zero(record->epoch.id, TC_EPOCH_ID));
}

tc_record_finding tc_agent_record_decode(const unsigned char *bytes, size_t size, const char *name, size_t states,
                                         tc_agent_record *record) {
    if (size < NUMBERS + TC_AGENT_DIGEST || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return TC_RECORD_DAMAGED;
    size_t length = tc_get_u16(bytes + NAME_LENGTH), found = tc_get_u32(bytes + STATES);
    if (length == 0 || length > TC_MOST_NAME || memchr(bytes + NAME, 0, length) != NULL ||
        !are_zero(bytes + NAME + length, TC_MOST_NAME - length))
        return TC_RECORD_DAMAGED;
    if (length != strlen(name) || memcmp(bytes + NAME, name, length) != 0)
        return TC_RECORD_ANOTHER;
    if (found != states)
        return TC_RECORD_LENGTH;
    if (size != tc_agent_record_size(states))
        return TC_RECORD_DAMAGED;
    record->saves = tc_get_u64(bytes + SAVES);
    memcpy(record->run_id, bytes + RUN, TC_RUN_ID);
    memcpy(record->plan_hash, bytes + PLAN, TC_HASH);
    record->epoch.number = tc_get_u64(bytes + EPOCH);
    memcpy(record->epoch.id, bytes + EPOCH_IDENTITY, TC_EPOCH_ID);
    record->answered = tc_get_u64(bytes + ANSWERED);
    record->rounds = tc_get_u64(bytes + ROUNDS);
    record->unknown = tc_get_u32(bytes + UNKNOWN) | (uint64_t)tc_get_u16(bytes + UNKNOWN + 4) << 32;
    record->method = tc_get_u32(bytes + METHOD);
    tc_get_doubles(bytes + NUMBERS, record->x, states);
    tc_get_doubles(bytes + NUMBERS + 8 * states, record->average, states);
    return is_sane(record) && are_finite(record->x, states) && are_finite(record->average, states) ? TC_RECORD_GOOD
                                                                                                   : TC_RECORD_DAMAGED;
}

/* ---- The file ---- */

enum { BLOCK = 4096, MOST_LABEL = 200, SUFFIX_ROOM = 32 };

struct tc_state_file {
    tc_state_file_settings settings;
    const char *path, *problem;
    int descriptor;
    size_t size;   /* of a record */
    size_t stride; /* from one record to the other */
    unsigned char *bytes;
    EVP_MD *sha256;
    EVP_MD_CTX *digest;
};

static void close_state(void *what) {
    tc_state_file *state = what;
    EVP_MD_CTX_free(state->digest);
    EVP_MD_free(state->sha256);
    if (state->descriptor >= 0)
        (void)close(state->descriptor);
}

static tc_status complain(const tc_state_file *state, tc_buffer *messages, tc_status status, const char *what) {
    int error = errno;
    tc_buffer_printf(messages, "cannot %s '%s': %s\n", what, state->path, strerror(error));
    return status;
}

/* "home.17.state" for home[17]. Long names are cut: if two agents then share a file, opening it finds that. */
static const char *path_of(tc_arena *arena, const tc_state_file_settings *settings) {
    tc_buffer label = tc_buffer_new(arena, 4 * TC_MOST_NAME);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    tc_file_label(&label, settings->name);
    if (label.length <= MOST_LABEL && tc_buffer_text(&label)[0] != '.')
        return tc_arena_format(arena, "%s/%s.state", settings->folder, tc_buffer_text(&label));
    for (const char *c = settings->name; *c != 0; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return tc_arena_format(arena, "%s/agent-%.*s-%016llx.state", settings->folder, MOST_LABEL - SUFFIX_ROOM,
                           tc_buffer_text(&label), (unsigned long long)hash);
}

static bool sum(tc_state_file *state, const unsigned char *bytes, unsigned char digest[TC_AGENT_DIGEST]) {
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

bool tc_state_file_save(tc_state_file *state, tc_agent_record *record) {
    record->saves++;
    tc_agent_record_encode(record, state->settings.name, state->settings.states, state->bytes);
    if (!sum(state, state->bytes, state->bytes + state->size - TC_AGENT_DIGEST)) {
        errno = ENOMEM;
        return false;
    }
    bool written = write_at(state->descriptor, state->bytes, state->size, state->stride * (size_t)(record->saves % 2));
    int error = errno;
    OPENSSL_cleanse(state->bytes, state->size);
    errno = error;
    return written && (!state->settings.survives_power || fdatasync(state->descriptor) == 0);
}

/* ---- Making ---- */

/* The file has room for both records from the start, and gets its name when it is complete. */
static bool make_beside(tc_state_file *state, const char *beside, tc_agent_record *record) {
    if (unlink(beside) != 0 && errno != ENOENT)
        return false;
    state->descriptor = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return state->descriptor >= 0 && ftruncate(state->descriptor, (off_t)(2 * state->stride)) == 0 &&
           tc_state_file_save(state, record) && flock(state->descriptor, LOCK_EX | LOCK_NB) == 0;
}

static tc_status make(tc_arena *arena, tc_state_file *state, int folder, tc_buffer *messages, tc_agent_record *record) {
    const char *beside = tc_arena_format(arena, "%s.new", state->path);
    if (!make_beside(state, beside, record) || rename(beside, state->path) != 0 ||
        (state->settings.survives_power && fsync(folder) != 0)) {
        tc_status status = complain(state, messages, TC_CANNOT_WRITE, "write");
        (void)unlink(beside);
        return status;
    }
    return TC_OK;
}

/* ---- Reading ---- */

/* Beyond the end of the file: zeros, which are no record. */
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

static tc_record_finding judge(tc_state_file *state, tc_agent_record *record) {
    unsigned char digest[TC_AGENT_DIGEST];
    tc_record_finding found =
        tc_agent_record_decode(state->bytes, state->size, state->settings.name, state->settings.states, record);
    if (found != TC_RECORD_GOOD)
        return found;
    return sum(state, state->bytes, digest) &&
                   memcmp(digest, state->bytes + state->size - TC_AGENT_DIGEST, TC_AGENT_DIGEST) == 0
               ? TC_RECORD_GOOD
               : TC_RECORD_DAMAGED;
}

/* If no record is good, *finding is the first that is not plain damage. */
static tc_status read_both(tc_state_file *state, tc_buffer *messages, tc_agent_record *record,
                           tc_record_finding *finding) {
    uint64_t saves[2] = {0, 0};
    bool good[2];
    *finding = TC_RECORD_DAMAGED;
    for (size_t i = 0; i < 2; i++) {
        if (!read_at(state->descriptor, state->bytes, state->size, i * state->stride))
            return complain(state, messages, TC_CANNOT_READ, "read");
        tc_record_finding found = judge(state, record);
        good[i] = found == TC_RECORD_GOOD && record->saves % 2 == i;
        saves[i] = record->saves;
        if (*finding == TC_RECORD_DAMAGED && (good[i] || found != TC_RECORD_GOOD))
            *finding = found;
    }
    if (!good[0] && !good[1])
        return TC_OK;
    size_t best = good[1] && (!good[0] || saves[1] > saves[0]) ? 1 : 0;
    if (!read_at(state->descriptor, state->bytes, state->size, best * state->stride))
        return complain(state, messages, TC_CANNOT_READ, "read");
    *finding = judge(state, record);
    return TC_OK;
}

static tc_status refuse(const tc_state_file *state, tc_record_finding finding, tc_buffer *messages) {
    tc_buffer_printf(messages, "the state file '%s' is %s; ", state->path, finding_text(finding));
    tc_buffer_puts(messages,
                   finding == TC_RECORD_ANOTHER
                       ? "was it copied or renamed? One folder serves many agents, but not two whose names make the "
                         "same file name\n"
                       : "--new-run puts it aside and begins anew, which loses this agent's place in its run, "
                         "and its guard against an old copy of the cloud: ask the cloud's operator first\n");
    return finding == TC_RECORD_DAMAGED ? TC_CANNOT_READ : TC_BAD_USAGE;
}

/* ---- Opening ---- */

/* Reads into arrays of its own, so that the caller's record stays as it is if none in the file is good. */
static tc_status open_there(tc_arena *arena, tc_state_file *state, int folder, tc_buffer *messages,
                            tc_agent_record *record) {
    size_t states = state->settings.states;
    tc_agent_record read = {.x = TC_NEW(arena, double, states), .average = TC_NEW(arena, double, states)};
    tc_record_finding finding;
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
    if (finding == TC_RECORD_GOOD) {
        memcpy(record->x, read.x, states * sizeof(double));
        memcpy(record->average, read.average, states * sizeof(double));
        OPENSSL_cleanse(read.x, states * sizeof(double));
        OPENSSL_cleanse(read.average, states * sizeof(double));
        OPENSSL_cleanse(state->bytes, state->size);
        read.x = record->x;
        read.average = record->average;
        *record = read;
        return TC_OK;
    }
    if (!state->settings.may_replace || finding == TC_RECORD_ANOTHER)
        return refuse(state, finding, messages);
    if (rename(state->path, tc_arena_format(arena, "%s.old", state->path)) != 0)
        return complain(state, messages, TC_CANNOT_WRITE, "move aside");
    (void)close(state->descriptor);
    state->descriptor = -1;
    return make(arena, state, folder, messages, record);
}

/* Locks the folder, so that two processes do not make the same file. */
static tc_status open_in(tc_arena *arena, tc_state_file *state, int folder, tc_buffer *messages,
                         tc_agent_record *record) {
    while (flock(folder, LOCK_EX) != 0)
        if (errno != EINTR)
            return complain(state, messages, TC_CANNOT_WRITE, "lock the folder of");
    state->descriptor = open(state->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (state->descriptor >= 0) {
        tc_status status = tc_private_file_check(state->path, messages);
        return status != TC_OK ? status : open_there(arena, state, folder, messages, record);
    }
    if (errno == ELOOP) {
        tc_buffer_printf(messages, "the state file '%s' is a symbolic link; give the folder that has the file itself\n",
                         state->path);
        return TC_CANNOT_READ;
    }
    if (errno != ENOENT)
        return complain(state, messages, TC_CANNOT_READ, "open");
    return make(arena, state, folder, messages, record);
}

tc_status tc_state_file_open(tc_arena *arena, const tc_state_file_settings *settings, tc_buffer *messages,
                             tc_agent_record *record, tc_state_file **opened) {
    tc_state_file *state = TC_NEW(arena, tc_state_file, 1);
    size_t size = tc_agent_record_size(settings->states);
    tc_state_file_settings real = *settings;
    tc_status status = tc_chosen_path(arena, settings->folder, messages, &real.folder);
    if (status != TC_OK)
        return status;
    *state = (tc_state_file){.settings = real,
                             .path = path_of(arena, &real),
                             .descriptor = -1,
                             .size = size,
                             .stride = (size + BLOCK - 1) / BLOCK * BLOCK,
                             .bytes = TC_NEW(arena, unsigned char, size)};
    state->problem = tc_arena_format(arena, "%.*s.problem", (int)(strlen(state->path) - strlen(".state")), state->path);
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
    tc_escape escape; /* to close the folder's descriptor in every case */
    status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = open_in(arena, state, folder, messages, record);
    tc_escape_end(arena, &escape);
    (void)close(folder);
    if (status == TC_NO_MEMORY || status == TC_TOO_LARGE)
        tc_raise(arena, status);
    *opened = state;
    return status;
}

const char *tc_state_file_problem(const tc_state_file *state) { return state->problem; }
const char *tc_state_file_path(const tc_state_file *state) { return state->path; }
