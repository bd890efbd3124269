/* What a ledger's runs come to, for people and programs. */
#include "base/text.h"
#include "promise/accountant.h"
#include "plan/words.h"

typedef struct account {
    tc_ledger_entry *entries; /* the ledger's, and the one to come last */
    size_t count;
    tc_spent *spent; /* one for each unit, in the order in which they appear */
    size_t unit_count;
} account;

static account account_of(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next) {
    account a = {.count = ledger->count + (next != NULL)};
    a.entries = TC_NEW(arena, tc_ledger_entry, a.count + 1);
    for (size_t i = 0; i < ledger->count; i++)
        a.entries[i] = ledger->entries[i];
    if (next != NULL)
        a.entries[ledger->count] = *next;
    a.spent = TC_NEW(arena, tc_spent, a.count + 1);
    for (size_t i = 0; i < a.count; i++) {
        tc_unit unit = tc_unit_of(&a.entries[i]);
        size_t at = 0;
        while (at < a.unit_count && !tc_same_unit(a.spent[at].unit, unit))
            at++;
        if (at == a.unit_count)
            a.spent[a.unit_count++] = tc_spent_so_far(arena, a.entries, a.count, unit);
    }
    return a;
}

static const char *unit_text(tc_arena *arena, tc_unit unit) {
    return unit.kind == TC_ADJACENCY_UNSET ? NULL : tc_unit_text(arena, unit.kind, unit.bound);
}

static double delta_of(const tc_spent *spent) { return spent->is_priced ? spent->delta : (double)INFINITY; }

/* ---- for people ------------------------------------------------------------------------------------------------- */

static void put_wrapped(tc_buffer *out, const char *text, unsigned indent) {
    tc_text_layout layout = {.out = out, .width = 80};
    tc_layout_paragraph(&layout, indent, text);
}

static void put_spent(tc_arena *arena, tc_buffer *out, const tc_spent *spent) {
    const char *unit = unit_text(arena, spent->unit);
    size_t runs = spent->own + spent->converted;
    tc_buffer_printf(out, "  %-16s %6zu run%s  %s\n", unit != NULL ? unit : "without noise", runs,
                     runs == 1 ? " " : "s",
                     spent->is_priced ? tc_price_up(arena, spent->epsilon, spent->delta) : "NOT PRIVATE");
    if (spent->not_converted > 0 && spent->is_priced)
        put_wrapped(out,
                    tc_arena_format(arena, "and %zu that cannot be counted in this unit: %s", spent->not_converted,
                                    spent->why_not),
                    19);
}

static bool is_mixed(const account *a) {
    bool laplace = false, gaussian = false;
    for (size_t i = 0; i < a->count; i++) {
        laplace = laplace || a->entries[i].mechanism == TC_MECHANISM_LAPLACE;
        gaussian = gaussian || a->entries[i].mechanism == TC_MECHANISM_GAUSSIAN;
    }
    return laplace && gaussian;
}

void tc_ledger_text(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, tc_buffer *out) {
    account a = account_of(arena, ledger, NULL);
    if (ledger->is_new)
        tc_buffer_printf(out, "Ledger: there is no such file yet: a first run would start it\n  %s\n", ledger->path);
    else
        tc_buffer_printf(out, "Ledger: %zu run%s so far, for the observer who pays most\n", ledger->count,
                         ledger->count == 1 ? "" : "s");
    for (size_t i = 0; i < a.unit_count; i++)
        put_spent(arena, out, &a.spent[i]);
    if (next != NULL) {
        a = account_of(arena, ledger, next);
        if (next->is_priced)
            tc_buffer_printf(out, "  this plan would add %s,\n  which then comes to\n",
                             tc_price_up(arena, next->epsilon, next->delta));
        else
            tc_buffer_puts(out, "  this plan would add a run without a guarantee: no sum holds after it\n");
        for (size_t i = 0; i < a.unit_count; i++) {
            if (!next->is_priced || tc_same_unit(a.spent[i].unit, tc_unit_of(next)))
                put_spent(arena, out, &a.spent[i]);
        }
    }
    if (a.unit_count > 1)
        put_wrapped(out, "Each line counts all runs, converted into its unit.", 2);
    if (is_mixed(&a))
        put_wrapped(out,
                    "Laplace and Gaussian runs are added up: this holds where no plan was chosen by what earlier runs "
                    "released.",
                    2);
}

/* ---- for programs ----------------------------------------------------------------------------------------------- */

static void spent_json(tc_arena *arena, tc_json *json, const char *key, const tc_spent *spent) {
    tc_json_open_object(json, key);
    tc_json_string(json, "unit", unit_text(arena, spent->unit));
    tc_json_count(json, "runs", spent->own);
    tc_json_count(json, "converted", spent->converted);
    tc_json_count(json, "not_converted", spent->not_converted);
    tc_json_string(json, "why_not", spent->why_not);
    tc_json_bool(json, "priced", spent->is_priced);
    tc_json_number(json, "epsilon", spent->not_converted > 0 ? NAN : spent->epsilon);
    tc_json_number(json, "epsilon_of_counted", spent->epsilon);
    tc_json_number(json, "delta", delta_of(spent));
    tc_json_number(json, "laplace", spent->laplace);
    tc_json_number(json, "mu", spent->mu);
    tc_json_close_object(json);
}

void tc_ledger_json(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const char *key,
                    tc_json *json) {
    account a = account_of(arena, ledger, NULL);
    tc_json_open_object(json, key);
    tc_json_bool(json, "exists", !ledger->is_new);
    tc_json_count(json, "runs", ledger->count);
    tc_json_open_array(json, "spent");
    for (size_t i = 0; i < a.unit_count; i++)
        spent_json(arena, json, NULL, &a.spent[i]);
    tc_json_close_array(json);
    if (next != NULL) {
        tc_json_open_object(json, "adds");
        tc_json_bool(json, "priced", next->is_priced);
        tc_json_number(json, "epsilon", next->epsilon);
        tc_json_number(json, "delta", next->delta);
        tc_json_number(json, "mu", next->mu);
        tc_json_close_object(json);
        a = account_of(arena, ledger, next);
        for (size_t i = 0; i < a.unit_count; i++) {
            if (tc_same_unit(a.spent[i].unit, tc_unit_of(next)))
                spent_json(arena, json, "would_be", &a.spent[i]);
        }
    }
    tc_json_close_object(json);
}
