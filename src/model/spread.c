#define _DEFAULT_SOURCE /* mprotect */
#include "model/spread.h"

#include "base/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

tc_known tc_known_rows(size_t rows, bool whole) {
    tc_known known = {.end = rows};
    size_t blocks = (rows + TC_MEMBER_BLOCK - 1) / TC_MEMBER_BLOCK;
    if (whole || !tc_ranks_several() || rows <= TC_ROWS_KNOWN_TO_ALL)
        return known;
    tc_ranks_share(0, blocks, &known.first, &known.end);
    known.first *= TC_MEMBER_BLOCK;
    known.end = known.end * TC_MEMBER_BLOCK < rows ? known.end * TC_MEMBER_BLOCK : rows;
    known.is_spread = true;
    return known;
}

size_t tc_known_end_of(size_t rows, size_t rank) {
    size_t first, end;
    tc_ranks_share_of(0, (rows + TC_MEMBER_BLOCK - 1) / TC_MEMBER_BLOCK, rank, tc_ranks_count(), &first, &end);
    return end * TC_MEMBER_BLOCK < rows ? end * TC_MEMBER_BLOCK : rows;
}

/* Every rank's item, in order of ranks. */
static void *gathered(tc_arena *arena, const void *item, size_t size) {
    size_t ranks = tc_ranks_count(), *ends = TC_NEW(arena, size_t, ranks);
    char *items = TC_NEW(arena, char, ranks *size);
    for (size_t r = 0; r < ranks; r++)
        ends[r] = r + 1;
    memcpy(items + tc_ranks_mine() * size, item, size);
    tc_ranks_gather(items, ends, size);
    return items;
}

/* ---- messages -----------------------------------------------------------------------------------------------------
 */

tc_told tc_told_so_far(const tc_diagnostics *diagnostics) {
    return (tc_told){diagnostics->errors, diagnostics->messages->length};
}

/* Every rank's messages since then become those of one. */
static void take_messages(tc_diagnostics *diagnostics, tc_told before, size_t from) {
    tc_buffer *messages = diagnostics->messages;
    uint64_t facts[2] = {messages->length - before.length, diagnostics->errors - before.errors};
    tc_ranks_broadcast(facts, sizeof facts, from);
    char *text = TC_NEW(diagnostics->arena, char, (size_t)facts[0] + 1);
    if (tc_ranks_mine() == from)
        memcpy(text, messages->text + before.length, (size_t)facts[0]);
    tc_ranks_broadcast(text, (size_t)facts[0], from);
    messages->length = before.length;
    tc_buffer_add(messages, text, (size_t)facts[0]);
    diagnostics->errors = before.errors + (size_t)facts[1];
}

bool tc_agreed_at(tc_diagnostics *diagnostics, tc_told before, bool good, uint64_t place) {
    if (!tc_ranks_several())
        return good;
    uint64_t mine = good ? UINT64_MAX : place;
    const uint64_t *places = gathered(diagnostics->arena, &mine, sizeof mine);
    size_t first = 0;
    for (size_t r = 1; r < tc_ranks_count(); r++)
        first = places[r] < places[first] ? r : first;
    if (places[first] == UINT64_MAX)
        return true;
    take_messages(diagnostics, before, first);
    return false;
}

bool tc_agreed(tc_diagnostics *diagnostics, const tc_family *family, tc_told before, bool good) {
    return family->is_spread ? tc_agreed_at(diagnostics, before, good, 0) : good;
}

/* ---- files --------------------------------------------------------------------------------------------------------
 */

static void forget(tc_diagnostics *diagnostics, tc_told before) {
    diagnostics->messages->length = before.length;
    diagnostics->errors = before.errors;
}

bool tc_same_file(tc_diagnostics *diagnostics, tc_told before, tc_span span, const char *path, tc_file_facts facts) {
    if (!tc_ranks_several())
        return true;
    const tc_file_facts *all = gathered(diagnostics->arena, &facts, sizeof facts);
    tc_buffer without = tc_buffer_new(diagnostics->arena, 1 << 20);
    size_t missing = 0;
    for (size_t r = 0; r < tc_ranks_count(); r++) {
        if (all[r].is_there == 0)
            tc_buffer_printf(&without, "%s%zu", missing++ > 0 ? ", " : "", r);
    }
    if (missing == tc_ranks_count())
        return true; /* each says why */
    if (missing > 0) {
        forget(diagnostics, before);
        tc_error(diagnostics, span, "rank%s %s cannot read '%s', which others can: every rank needs the data files",
                 missing == 1 ? "" : "s", tc_buffer_text(&without), path);
        return false;
    }
    for (size_t r = 1; r < tc_ranks_count(); r++) {
        if (memcmp(&all[r], &all[0], sizeof all[0]) == 0)
            continue;
        forget(diagnostics, before);
        if (all[r].bytes != all[0].bytes || all[r].rows != all[0].rows)
            tc_error(diagnostics, span,
                     "'%s' differs between ranks: rank 0 reads %llu bytes and %llu lines, rank %zu %llu bytes and %llu "
                     "lines; give all of them the same file",
                     path, (unsigned long long)all[0].bytes, (unsigned long long)all[0].rows, r,
                     (unsigned long long)all[r].bytes, (unsigned long long)all[r].rows);
        else
            tc_error(diagnostics, span,
                     "'%s' differs between ranks: rank 0 and rank %zu read other text of the same length; give all of "
                     "them the same file",
                     path, r);
        return false;
    }
    return true;
}

/* ---- members ------------------------------------------------------------------------------------------------------
 */

bool tc_for_some(const tc_family *family, bool here) {
    uint64_t count = here;
    if (family->is_spread)
        tc_ranks_sum(&count, 1);
    return count > 0;
}

bool tc_for_all(const tc_family *family, bool here) { return !tc_for_some(family, !here); }

bool tc_all_equal(const tc_family *family, const double *column, double *first) {
    bool equal = true;
    *first = tc_is_known(family, 0) ? column[0] : 0;
    tc_from_member(family, 0, first, sizeof *first);
    for (size_t k = family->known_first; equal && k < family->known_end; k++)
        equal = k == 0 || column[k] == *first;
    return tc_for_all(family, equal);
}

size_t tc_first_rank(const tc_family *family, bool here) {
    (void)family;
    double last = here ? -(double)tc_ranks_mine() : -INFINITY;
    tc_ranks_largest(&last, 1);
    return last == -INFINITY ? SIZE_MAX : (size_t)-last;
}

void tc_largest_known(const tc_family *family, double least, double *largest, size_t *member) {
    struct {
        double largest;
        uint64_t member;
    } all = {least, 0}, here = {*largest, *member};
    if (!family->is_spread)
        return;
    tc_ranks_chain_take(&all, sizeof all);
    if (here.largest > all.largest)
        all = here;
    tc_ranks_chain_pass(&all, sizeof all);
    *largest = all.largest;
    *member = (size_t)all.member;
}

double tc_largest_of(const tc_family *family, double here) {
    if (family->is_spread)
        tc_ranks_largest(&here, 1);
    return here;
}

void tc_from_rank(const tc_family *family, size_t rank, void *bytes, size_t count) {
    if (family->is_spread)
        tc_ranks_broadcast(bytes, count, rank);
}

bool tc_stops_here(const tc_family *family, const tc_monitor *monitor) {
    return tc_interrupted(monitor) || (family->is_spread && tc_ranks_told_here());
}

size_t tc_sum_known(const tc_family *family, size_t here) {
    uint64_t sum = here;
    if (family->is_spread)
        tc_ranks_sum(&sum, 1);
    return (size_t)sum;
}

void tc_fold_begin(const tc_family *family, void *number, size_t size) {
    if (family->is_spread)
        tc_ranks_chain_take(number, size);
}

void tc_fold_end(const tc_family *family, void *number, size_t size) {
    if (family->is_spread)
        tc_ranks_chain_pass(number, size);
}

void tc_from_member(const tc_family *family, size_t member, void *bytes, size_t count) {
    if (!family->is_spread)
        return;
    uint64_t who = tc_is_known(family, member) ? tc_ranks_mine() : 0;
    tc_ranks_sum(&who, 1);
    tc_ranks_broadcast(bytes, count, (size_t)who);
}

double tc_coord_at(const tc_model *model, const double *x, size_t coord) {
    const tc_family *family = tc_family_of_coord(model, coord);
    double value = x[coord];
    tc_from_member(family, (coord - family->first_coord) % family->count, &value, sizeof value);
    return value;
}

void tc_copy_point(const tc_model *model, double *to, const double *from) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            size_t first = tc_coord_of(family, family->known_first, c);
            memcpy(to + first, from + first, (family->known_end - family->known_first) * sizeof *to);
        }
    }
}

/* ---- for tests ----------------------------------------------------------------------------------------------------
 */

static void guard(const double *from, const double *to) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1), end = (uintptr_t)to & ~(page - 1);
    if (from != NULL && first < end && mprotect((void *)first, end - first, PROT_NONE) != 0)
        abort();
}

static void guard_column(const tc_family *family, const double *column) {
    guard(column, column + family->known_first);
    guard(column + family->known_end, column + family->count);
}

static void guard_coefs(const tc_family *family, const tc_coef *coefs, size_t count) {
    for (size_t i = 0; coefs != NULL && i < count; i++) {
        if (coefs[i].column != NULL)
            guard_column(family, coefs[i].column);
    }
}

void tc_guard_unknown(const tc_model *model) {
    const char *wish = getenv("TACIT_TEST_GUARD");
    for (size_t f = 0; wish != NULL && f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (!family->is_spread)
            continue;
        if (strcmp(wish, "tell") == 0)
            (void)fprintf(stderr, "rank %zu knows members %zu to %zu of %s\n", tc_ranks_mine(), family->known_first + 1,
                          family->known_end, family->name);
        for (size_t c = 0; c < family->column_count; c++)
            guard_column(family, family->columns[c].values);
        const tc_coef *of_dim[] = {family->lower, family->upper, family->slater, family->room, family->start};
        for (size_t i = 0; i < sizeof of_dim / sizeof of_dim[0]; i++)
            guard_coefs(family, of_dim[i], family->dim);
        guard_coefs(family, &family->gap, 1);
        for (size_t p = 0; p < family->piece_count; p++) {
            const tc_set_piece *piece = &family->pieces[p];
            guard_coefs(family, piece->center, piece->count);
            guard_coefs(family, piece->upper, piece->count);
            guard_coefs(family, &piece->radius, 1);
            guard_coefs(family, piece->matrix, piece->count * piece->count);
        }
        for (size_t d = 0; d < family->datum_count; d++) {
            guard_coefs(family, family->data[d].lower, family->data[d].count);
            guard_coefs(family, family->data[d].upper, family->data[d].count);
            guard_coefs(family, family->data[d].by, family->data[d].count);
        }
    }
}
