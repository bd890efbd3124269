#include "base/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct checker {
    tc_arena *arena;
    tc_buffer *messages;
} checker;

static tc_status refuse(checker *to, const tc_output_file *output, const char *why) {
    tc_buffer_printf(to->messages, "%s: error: %s %s\n", output->path, output->option, why);
    return TC_BAD_USAGE;
}

static tc_status cannot(checker *to, const char *path) {
    tc_buffer_printf(to->messages, "%s: error: cannot write: %s\n", path, strerror(errno));
    return TC_CANNOT_WRITE;
}

/* The folder a file is, or would be, in. */
static const char *folder_of(checker *to, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? "." : slash == path ? "/" : tc_arena_copy(to->arena, path, (size_t)(slash - path));
}

static const char *name_in_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether both names lead to one existing file, or to one place where a file would be. */
static bool is_same_file(checker *to, const char *one, const char *other) {
    struct stat a, b;
    bool one_there = stat(one, &a) == 0, other_there = stat(other, &b) == 0;
    if (one_there && other_there)
        return is_same_inode(&a, &b);
    if (one_there || other_there || strcmp(name_in_folder(one), name_in_folder(other)) != 0)
        return false;
    return stat(folder_of(to, one), &a) == 0 && stat(folder_of(to, other), &b) == 0 && is_same_inode(&a, &b);
}

/* The mark, and the end of a line or of a word behind it. */
static bool begins_with(const char *text, size_t length, const char *mark) {
    size_t wanted = strlen(mark);
    return length >= wanted && memcmp(text, mark, wanted) == 0 &&
           (length == wanted || text[wanted] == '\n' || text[wanted] == '\r' || text[wanted] == ',');
}

/* Empty, or of the kind that would replace it. */
static bool may_be_replaced(const tc_output_file *output) {
    const tc_file_kind *kind = &output->kind;
    char text[48] = "";
    size_t length = 0;
    int descriptor = open(output->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return false;
    while (length < sizeof text) {
        ssize_t got = read(descriptor, text + length, sizeof text - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    (void)close(descriptor);
    if (length == 0)
        return true;
    if (kind->is_html)
        return length >= strlen(kind->mark) && strncasecmp(text, kind->mark, strlen(kind->mark)) == 0;
    return begins_with(text, length, kind->mark) ||
           (kind->other_mark != NULL && begins_with(text, length, kind->other_mark));
}

static tc_status check_one(checker *to, const tc_output_file *output) {
    struct stat facts;
    const char *path = output->path;
    if (path[0] == '\0') {
        tc_buffer_printf(to->messages, "%s: error: this wants the name of a file, not an empty one\n", output->option);
        return TC_BAD_USAGE;
    }
    if (strcmp(path, "-") == 0)
        return refuse(to, output,
                      "writes a file, not to standard output: give it a name (./- for a file of that name)");
    if (access(folder_of(to, path), W_OK | X_OK) != 0)
        return cannot(to, path);
    if (lstat(path, &facts) != 0)
        return errno == ENOENT ? TC_OK : cannot(to, path);
    if (!S_ISREG(facts.st_mode)) {
        tc_buffer_printf(to->messages, "%s: error: this is %s; %s writes plain files: choose another name\n", path,
                         S_ISDIR(facts.st_mode)   ? "a folder"
                         : S_ISLNK(facts.st_mode) ? "a link"
                                                  : "not a plain file",
                         output->option);
        return TC_BAD_USAGE;
    }
    if (access(path, W_OK) != 0)
        return cannot(to, path);
    if (!may_be_replaced(output))
        return refuse(to, output,
                      tc_arena_format(to->arena,
                                      "would write over this file, which is not %s: remove it, or choose another name",
                                      output->kind.name));
    return TC_OK;
}

tc_status tc_outputs_check(tc_arena *arena, const tc_output_file *outputs, size_t output_count,
                           const tc_input_file *inputs, size_t input_count, tc_buffer *messages) {
    checker *to = &(checker){.arena = arena, .messages = messages};
    for (size_t o = 0; o < output_count; o++) {
        const tc_output_file *output = &outputs[o];
        if (output->path == NULL)
            continue;
        for (size_t i = 0; i < input_count; i++) {
            const char *input = inputs[i].path;
            if (input != NULL && is_same_file(to, output->path, strcmp(input, "-") == 0 ? "/dev/stdin" : input))
                return refuse(to, output,
                              tc_arena_format(to->arena, "would write over %s: choose another name", inputs[i].what));
        }
        for (size_t i = 0; i < o; i++) {
            if (outputs[i].path != NULL && is_same_file(to, output->path, outputs[i].path))
                return refuse(to, output,
                              tc_arena_format(to->arena, "and %s would write the same file: choose another name",
                                              outputs[i].option));
        }
        tc_status status = check_one(to, output);
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}
