/* The format: www.sqlite.org/fileformat2.html, section 4. Numbers are big-endian. */
#include "serve/journal/wal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 32, FRAME = 24, LARGEST_PAGE = 65536, MAGIC = 0x377f0682 };

typedef struct wal {
    int file;
    size_t page;
    bool big;        /* how words are summed */
    uint32_t sum[2]; /* of the header and all frames so far */
    unsigned char salts[8];
    unsigned char frame[FRAME + LARGEST_PAGE];
} wal;

static uint32_t get(const unsigned char *bytes, bool big) {
    uint32_t b[4] = {bytes[0], bytes[1], bytes[2], bytes[3]};
    return big ? b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3] : b[3] << 24 | b[2] << 16 | b[1] << 8 | b[0];
}

static void add(wal *w, const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        w->sum[0] += get(bytes + i, w->big) + w->sum[1];
        w->sum[1] += get(bytes + i + 4, w->big) + w->sum[0];
    }
}

static bool is_summed(const wal *w, const unsigned char *bytes) {
    return w->sum[0] == get(bytes, true) && w->sum[1] == get(bytes + 4, true);
}

static bool read_at(const wal *w, unsigned char *bytes, size_t size, size_t at) {
    return pread(w->file, bytes, size, (off_t)at) == (ssize_t)size;
}

static bool read_header(wal *w) {
    unsigned char header[HEADER];
    if (!read_at(w, header, HEADER, 0) || (get(header, true) & ~1U) != MAGIC)
        return false;
    w->big = (get(header, true) & 1) != 0;
    w->page = get(header + 8, true);
    w->page = w->page == 1 ? LARGEST_PAGE : w->page;
    memcpy(w->salts, header + 16, sizeof w->salts);
    add(w, header, HEADER - 8);
    return is_summed(w, header + HEADER - 8) && w->page >= 512 && w->page <= LARGEST_PAGE;
}

/* Of this generation of the log: frames of an earlier one, which stand behind, have two other salts. */
static bool is_of_now(const wal *w) {
    return memcmp(w->frame + 8, w->salts, 4) == 0 || memcmp(w->frame + 12, w->salts + 4, 4) == 0;
}

/* Transactions from the first damaged frame on. One without its last frame was never committed: the process died. */
static size_t count_lost(wal *w, size_t *frames) {
    size_t lost = 0, size = FRAME + w->page;
    bool believes = true;
    for (*frames = 0; read_at(w, w->frame, size, HEADER + *frames * size); ++*frames) {
        bool is_commit = get(w->frame + 4, true) != 0;
        if (believes) {
            add(w, w->frame, 8);
            add(w, w->frame + FRAME, w->page);
            believes = memcmp(w->frame + 8, w->salts, sizeof w->salts) == 0 && is_summed(w, w->frame + 16);
        }
        lost += !believes && is_commit && is_of_now(w);
    }
    return lost;
}

const char *tc_wal_doubt(tc_arena *arena, const char *path, unsigned pages) {
    wal *w = TC_NEW(arena, wal, 1);
    size_t frames = 0, lost = 0;
    w->file = open(path, O_RDONLY | O_CLOEXEC);
    if (w->file < 0)
        return tc_arena_format(arena, "the log '%s' is missing", path);
    bool is_empty = lseek(w->file, 0, SEEK_END) == 0, has_header = read_header(w);
    if (has_header)
        lost = count_lost(w, &frames);
    (void)close(w->file);
    if (is_empty)
        return tc_arena_format(arena, "the log '%s' is empty", path);
    if (!has_header)
        return tc_arena_format(arena, "the log '%s' is damaged at its beginning: nothing in it is believed", path);
    if (lost > 0)
        return tc_arena_format(arena,
                               "the log '%s' is damaged: its last %zu change%s, mostly a round each, are not believed",
                               path, lost, lost == 1 ? "" : "s");
    return frames < pages ? tc_arena_format(arena, "the log '%s' was cut short: what is missing is not known", path)
                          : NULL;
}
