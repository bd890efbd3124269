#include "promise/ledger.h"

#include "base/text.h"

#include <openssl/evp.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const unit_names[] = {"unset", "bare", "ensemble", "one", "agent", "within", "data"};
static const char *const mechanism_names[] = {"unset", "none", "laplace", "gaussian"};
/* Lines of the first form lack the price of one agent entirely and the number of agents, and say "private" for
 * "priced". Those of the third say what data are protected, and are for the units that came with it. Those of the
 * fourth are of runs with a last round, in any unit. */
enum { OLDEST = 1, PLAIN = 2, WITH_DATA = 3, WITH_LAST = 4 };
static const char *const openings[] = {"", "{\"tacit_ledger\":1,\"run\":", "{\"tacit_ledger\":2,\"run\":",
                                       "{\"tacit_ledger\":3,\"run\":", "{\"tacit_ledger\":4,\"run\":"};
#define closing ",\"check\":\"%s\"}"

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void write_string(tc_buffer *out, const char *text) {
    tc_buffer_puts(out, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            tc_buffer_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
            tc_buffer_printf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            tc_buffer_add(out, c, 1);
    }
    tc_buffer_puts(out, "\"");
}

static void write_number(tc_buffer *out, const char *key, double value) {
    char number[32] = "null";
    if (isfinite(value))
        tc_shortest_number(number, value);
    tc_buffer_printf(out, ",\"%s\":%s", key, number);
}

static void write_text(tc_buffer *out, const char *key, const char *text) {
    tc_buffer_printf(out, ",\"%s\":", key);
    write_string(out, text);
}

static bool says_data(tc_adjacency unit) { return unit == TC_ADJACENCY_WITHIN || unit == TC_ADJACENCY_DATA; }

static int form_of(const tc_ledger_entry *entry) {
    return entry->last.rows > 0 ? WITH_LAST : says_data(entry->unit) ? WITH_DATA : PLAIN;
}

static void write_entry(tc_buffer *out, const tc_ledger_entry *entry) {
    tc_buffer_puts(out, openings[form_of(entry)]);
    write_string(out, entry->run);
    write_text(out, "time", entry->time);
    write_text(out, "problem", entry->problem);
    write_text(out, "plan", entry->plan);
    write_text(out, "unit", unit_names[entry->unit]);
    write_number(out, "bound", entry->bound);
    if (form_of(entry) >= WITH_DATA)
        write_text(out, "data", entry->data != NULL ? entry->data : "");
    write_text(out, "mechanism", mechanism_names[entry->mechanism]);
    write_number(out, "epsilon", entry->epsilon);
    write_number(out, "delta", entry->delta);
    write_number(out, "mu", entry->mu);
    write_number(out, "agent", entry->agent);
    write_number(out, "rounds", entry->rounds);
    write_number(out, "agents", entry->agents);
    if (form_of(entry) == WITH_LAST) {
        write_number(out, "last", entry->last.price);
        write_number(out, "last_agent", entry->last.agent);
        write_number(out, "last_rows", entry->last.rows);
        write_number(out, "last_cut", entry->last.cut);
    }
    tc_buffer_printf(out, ",\"priced\":%s", entry->is_priced ? "true" : "false");
}

/* The first half of SHA-256 over the check before and this text. */
static void next_check(tc_arena *arena, const char *text, size_t length, char check[TC_LEDGER_CHECK + 1]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    tc_buffer all = tc_buffer_new(arena, TC_LEDGER_LINE * 2);
    tc_buffer_puts(&all, check);
    tc_buffer_add(&all, text, length);
    if (EVP_Digest(all.text, all.length, digest, NULL, EVP_sha256(), NULL) != 1)
        tc_raise(arena, TC_INTERNAL);
    tc_hexadecimal(check, digest, TC_LEDGER_CHECK / 2);
}

void tc_ledger_line_write(tc_buffer *out, const tc_ledger_entry *entry, char check[TC_LEDGER_CHECK + 1]) {
    tc_buffer line = tc_buffer_new(out->arena, TC_LEDGER_LINE);
    write_entry(&line, entry);
    next_check(out->arena, line.text, line.length, check);
    tc_buffer_printf(&line, closing "\n", check);
    tc_buffer_add(out, line.text, line.length);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* The text between the quotes of "key":"..."; moves `from` behind it. NULL if something else is there. */
static const char *read_string(tc_arena *arena, const char **from, const char *key) {
    const char *start = tc_arena_format(arena, "%s\"", key);
    size_t length = 0;
    if (strncmp(*from, start, strlen(start)) != 0)
        return NULL;
    const char *c = *from + strlen(start);
    char *text = tc_arena_copy(arena, c, strlen(c));
    for (; *c != '"'; c++) {
        if (*c == '\0')
            return NULL;
        if (*c != '\\') {
            text[length++] = *c;
        } else if (c[1] == 'u') {
            char digits[5] = {0};
            (void)memcpy(digits, c + 2, strnlen(c + 2, 4));
            char code = (char)strtol(digits, NULL, 16);
            if (strlen(digits) < 4 || code == '\0')
                return NULL;
            text[length++] = code;
            c += 5;
        } else if (c[1] != '\0') {
            text[length++] = *++c;
        } else {
            return NULL;
        }
    }
    text[length] = '\0';
    *from = c + 1;
    return text;
}

/* null is `missing`. */
static bool read_number(tc_arena *arena, const char **from, const char *key, double missing, double *value) {
    const char *start = tc_arena_format(arena, ",\"%s\":", key);
    char *end = NULL;
    if (strncmp(*from, start, strlen(start)) != 0)
        return false;
    const char *number = *from + strlen(start);
    if (strncmp(number, "null", 4) == 0) {
        *value = missing;
        *from = number + 4;
        return true;
    }
    *value = strtod(number, &end);
    *from = end;
    return end != number && *value >= 0;
}

static size_t index_of(const char *name, const char *const *names, size_t first, size_t count) {
    for (size_t i = first; name != NULL && i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* What is not known costs everything. */
static bool read_last(tc_arena *arena, const char **from, tc_ledger_last *last) {
    return read_number(arena, from, "last", INFINITY, &last->price) &&
           read_number(arena, from, "last_agent", INFINITY, &last->agent) &&
           read_number(arena, from, "last_rows", NAN, &last->rows) &&
           read_number(arena, from, "last_cut", NAN, &last->cut) && last->rows >= 1 && last->cut >= 1;
}

/* Where the entry ends and its check begins; NULL if there is no check. */
static const char *read_entry(tc_arena *arena, const char *from, int form, tc_ledger_entry *entry) {
    entry->run = read_string(arena, &from, openings[form]);
    entry->time = entry->run == NULL ? NULL : read_string(arena, &from, ",\"time\":");
    entry->problem = entry->time == NULL ? NULL : read_string(arena, &from, ",\"problem\":");
    entry->plan = entry->problem == NULL ? NULL : read_string(arena, &from, ",\"plan\":");
    if (entry->plan == NULL)
        return NULL;
    size_t unit = index_of(read_string(arena, &from, ",\"unit\":"), unit_names, TC_ADJACENCY_UNSET,
                           sizeof unit_names / sizeof *unit_names);
    if (unit == SIZE_MAX || unit == TC_ADJACENCY_BARE || !read_number(arena, &from, "bound", NAN, &entry->bound))
        return NULL;
    if (form < WITH_LAST && says_data((tc_adjacency)unit) != (form == WITH_DATA))
        return NULL;
    const char *data = form >= WITH_DATA ? read_string(arena, &from, ",\"data\":") : NULL;
    if ((form >= WITH_DATA && data == NULL) || (unit == TC_ADJACENCY_WITHIN && !(entry->bound > 0)))
        return NULL;
    entry->data = unit == TC_ADJACENCY_DATA ? data : NULL;
    size_t mechanism = index_of(read_string(arena, &from, ",\"mechanism\":"), mechanism_names, TC_MECHANISM_NONE, 4);
    if (mechanism == SIZE_MAX || !read_number(arena, &from, "epsilon", INFINITY, &entry->epsilon) ||
        !read_number(arena, &from, "delta", INFINITY, &entry->delta) ||
        !read_number(arena, &from, "mu", NAN, &entry->mu))
        return NULL;
    entry->agent = INFINITY;
    entry->agents = NAN;
    if ((form > OLDEST && !read_number(arena, &from, "agent", INFINITY, &entry->agent)) ||
        !read_number(arena, &from, "rounds", NAN, &entry->rounds) ||
        (form > OLDEST && !read_number(arena, &from, "agents", NAN, &entry->agents)) ||
        (form == WITH_LAST && !read_last(arena, &from, &entry->last)))
        return NULL;
    entry->unit = (tc_adjacency)unit;
    entry->mechanism = (tc_mechanism)mechanism;
    for (int is = 0; is <= 1; is++) {
        const char *text =
            tc_arena_format(arena, ",\"%s\":%s", form > OLDEST ? "priced" : "private", is ? "true" : "false");
        entry->is_priced = is;
        if (strncmp(from, text, strlen(text)) == 0)
            return is && entry->unit == TC_ADJACENCY_UNSET ? NULL : from + strlen(text);
    }
    return NULL;
}

const char *tc_ledger_line_read(tc_arena *arena, const char *line, size_t length, tc_ledger_entry *entry,
                                char check[TC_LEDGER_CHECK + 1]) {
    if (length >= TC_LEDGER_LINE - 1)
        return "it is too long for a line of a ledger";
    if (memchr(line, '\0', length) != NULL)
        return "it holds a zero byte";
    const char *text = tc_arena_copy(arena, line, length);
    int form = OLDEST;
    while (form <= WITH_LAST && strncmp(text, openings[form], strlen(openings[form])) != 0)
        form++;
    if (form > WITH_LAST && strncmp(text, "{\"tacit_ledger\":", 16) == 0)
        return "it was written by a newer tacit, or changed";
    if (form > WITH_LAST)
        return "it is not a line of a tacit ledger";
    *entry = (tc_ledger_entry){0};
    const char *end = read_entry(arena, text, form, entry);
    if (end == NULL)
        return "it is not complete";
    next_check(arena, text, (size_t)(end - text), check);
    if (strcmp(end, tc_arena_format(arena, closing, check)) != 0)
        return "its check is wrong: it, or a line before it, was changed or is missing";
    return NULL;
}
