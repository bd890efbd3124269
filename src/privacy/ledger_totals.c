/* Sums of a ledger, rounded up, and how they are shown. */
#include "privacy/calibrate.h"
#include "privacy/ledger.h"
#include "privacy/words.h"

#include <string.h>

static bool same_unit(const tc_ledger_total *total, const tc_ledger_entry *entry) {
    return total->unit == entry->unit && (isnan(total->bound) || total->bound == entry->bound);
}

/* Until finish: epsilon is the sum of the Laplace ones, mu the sum of squares. */
static void add(tc_ledger_total *total, const tc_ledger_entry *entry) {
    bool gaussian = entry->mechanism == TC_MECHANISM_GAUSSIAN;
    total->runs++;
    if (!entry->is_private || (gaussian && !(entry->mu >= 0))) {
        total->is_private = false;
    } else if (gaussian) {
        total->gaussian_runs++;
        total->mu = tc_add_up(total->mu, tc_mul_up(entry->mu, entry->mu));
        total->delta = fmax(total->delta, entry->delta);
    } else {
        total->laplace_runs++;
        total->epsilon = tc_add_up(total->epsilon, entry->epsilon);
    }
}

static void finish(tc_ledger_total *total) {
    total->mu = total->gaussian_runs == 0 ? 0 : tc_sqrt_up(total->mu);
    if (!total->is_private)
        total->epsilon = total->delta = INFINITY;
    else if (total->gaussian_runs > 0)
        total->epsilon = tc_add_up(total->epsilon, tc_gaussian_epsilon(total->mu, total->delta));
}

tc_ledger_total *tc_ledger_totals(tc_arena *arena, const tc_ledger_entry *entries, size_t entry_count, size_t *count) {
    tc_ledger_total *totals = TC_NEW(arena, tc_ledger_total, entry_count);
    *count = 0;
    for (size_t i = 0; i < entry_count; i++) {
        size_t at = 0;
        while (at < *count && !same_unit(&totals[at], &entries[i]))
            at++;
        if (at == *count)
            totals[(*count)++] =
                (tc_ledger_total){.unit = entries[i].unit, .bound = entries[i].bound, .is_private = true};
        add(&totals[at], &entries[i]);
    }
    bool all_private = true;
    for (size_t i = 0; i < *count; i++)
        all_private = all_private && totals[i].is_private;
    for (size_t i = 0; i < *count; i++) {
        totals[i].is_private = all_private;
        finish(&totals[i]);
    }
    return totals;
}

/* ---- for people and programs
 * ------------------------------------------------------------------------------------
 */

/* All entries, and the one to come. */
static tc_ledger_total *totals_with(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                                    size_t *count) {
    tc_ledger_entry *all = TC_NEW(arena, tc_ledger_entry, ledger->count + 1);
    if (ledger->count > 0)
        (void)memcpy(all, ledger->entries, ledger->count * sizeof *all);
    if (next != NULL)
        all[ledger->count] = *next;
    return tc_ledger_totals(arena, all, ledger->count + (next != NULL), count);
}

static const char *price_text(tc_arena *arena, bool is_private, double epsilon, double delta) {
    return is_private ? tc_price_up(arena, epsilon, delta) : "NOT PRIVATE";
}

static const char *unit_text(tc_arena *arena, const tc_ledger_total *total) {
    return total->unit == TC_ADJACENCY_UNSET ? NULL : tc_unit_text(arena, total->unit, total->bound);
}

static void total_line(tc_arena *arena, tc_buffer *out, const tc_ledger_total *total) {
    const char *unit = unit_text(arena, total);
    tc_buffer_printf(out, "  %-16s %6zu run%s  %s\n", unit != NULL ? unit : "without noise", total->runs,
                     total->runs == 1 ? " " : "s", price_text(arena, total->is_private, total->epsilon, total->delta));
}

void tc_ledger_text(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, tc_buffer *out) {
    size_t count = 0;
    const tc_ledger_total *totals = totals_with(arena, ledger, NULL, &count);
    if (ledger->is_new)
        tc_buffer_printf(out, "Ledger: there is no such file yet: a first run would start it\n  %s\n", ledger->path);
    else
        tc_buffer_printf(out, "Ledger: %zu run%s so far, for whoever sees everything\n", ledger->count,
                         ledger->count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        total_line(arena, out, &totals[i]);
    if (next != NULL) {
        totals = totals_with(arena, ledger, next, &count);
        if (next->is_private)
            tc_buffer_printf(out, "  this plan would add %s,\n  which then comes to\n",
                             tc_price_up(arena, next->epsilon, next->delta));
        else
            tc_buffer_puts(out, "  this plan would add a run without a guarantee: no sum holds after it\n");
        for (size_t i = 0; i < count; i++) {
            if (!next->is_private || same_unit(&totals[i], next))
                total_line(arena, out, &totals[i]);
        }
    }
    if (count > 1)
        tc_buffer_puts(out, "  Different units are not added up: someone who is in "
                            "several pays for each.\n");
}

static void total_json(tc_arena *arena, tc_json *json, const char *key, const tc_ledger_total *total) {
    tc_json_open_object(json, key);
    tc_json_string(json, "unit", unit_text(arena, total));
    tc_json_count(json, "runs", total->runs);
    tc_json_bool(json, "private", total->is_private);
    tc_json_number(json, "epsilon", total->epsilon);
    tc_json_number(json, "delta", total->delta);
    tc_json_number(json, "mu", total->mu);
    tc_json_close_object(json);
}

void tc_ledger_json(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const char *key,
                    tc_json *json) {
    size_t count = 0;
    const tc_ledger_total *totals = totals_with(arena, ledger, NULL, &count);
    tc_json_open_object(json, key);
    tc_json_bool(json, "exists", !ledger->is_new);
    tc_json_count(json, "runs", ledger->count);
    tc_json_open_array(json, "spent");
    for (size_t i = 0; i < count; i++)
        total_json(arena, json, NULL, &totals[i]);
    tc_json_close_array(json);
    if (next != NULL) {
        tc_json_open_object(json, "adds");
        tc_json_bool(json, "private", next->is_private);
        tc_json_number(json, "epsilon", next->epsilon);
        tc_json_number(json, "delta", next->delta);
        tc_json_number(json, "mu", next->mu);
        tc_json_close_object(json);
        totals = totals_with(arena, ledger, next, &count);
        for (size_t i = 0; i < count; i++) {
            if (same_unit(&totals[i], next))
                total_json(arena, json, "would_be", &totals[i]);
        }
    }
    tc_json_close_object(json);
}

/* total: with the run that is refused. */
static const char *over_budget_text(tc_arena *arena, const tc_ledger_total *total, double budget) {
    size_t before = total->runs - 1;
    if (before == 0)
        return tc_arena_format(arena,
                               "the budget of epsilon %.6g is too small: this run alone costs %.6g, and the ledger "
                               "has none before it",
                               budget, total->epsilon);
    return tc_arena_format(arena,
                           "the budget of epsilon %.6g does not allow it: with the %zu run%s in the ledger it would "
                           "come to %.6g",
                           budget, before, before == 1 ? "" : "s", total->epsilon);
}

const char *tc_ledger_over_budget(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                                  double budget) {
    size_t count = 0;
    if (isnan(budget))
        return NULL;
    const tc_ledger_total *totals = totals_with(arena, ledger, next, &count);
    for (size_t i = 0; i < count; i++) {
        if (!same_unit(&totals[i], next) || totals[i].epsilon <= budget)
            continue;
        if (!totals[i].is_private)
            return "no budget allows it: this run, or one in the ledger, has no guarantee, and no sum holds then";
        return over_budget_text(arena, &totals[i], budget);
    }
    return NULL;
}
