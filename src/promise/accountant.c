#include "promise/ledger.h"

#include "base/json.h"
#include "plan/account/account.h"

#include <stdlib.h>
#include <string.h>

bool tc_same_unit(tc_unit a, tc_unit b) {
    bool same_data = a.data == b.data || (a.data != NULL && b.data != NULL && strcmp(a.data, b.data) == 0);
    return a.kind == b.kind && same_data && (a.bound == b.bound || (isnan(a.bound) && isnan(b.bound)));
}

const char *tc_unit_in_full(tc_arena *arena, tc_unit unit) {
    if (unit.kind == TC_ADJACENCY_UNSET)
        return NULL;
    const char *text = tc_unit_text(arena, unit.kind, unit.bound);
    return unit.data != NULL ? tc_arena_format(arena, "%s (%.200s)", text, unit.data) : text;
}

/* ---- units ------------------------------------------------------------------------------------------------------ */

static bool has_bound(tc_adjacency kind) { return kind == TC_ADJACENCY_ONE || kind == TC_ADJACENCY_ENSEMBLE; }

static double own_price(const tc_ledger_entry *entry) {
    double price = entry->mechanism == TC_MECHANISM_GAUSSIAN ? entry->mu : entry->epsilon;
    return entry->is_priced && price >= 0 ? price : (double)INFINITY;
}

static bool knows_agent(const tc_ledger_entry *entry) { return entry->agent > 0 && isfinite(entry->agent); }

static bool has_last(const tc_ledger_entry *entry) { return entry->last.rows > 0; }

/* Prices grow in proportion to the distance; those of last rounds do not fall so, since lattices stay what they are. In
 * the unit `one` no change costs more than to hide the agent entirely. */
static double scaled_price(const tc_ledger_entry *entry, tc_unit unit) {
    double price = own_price(entry);
    if (price > 0 && (has_last(entry) ? unit.bound > entry->bound : unit.bound != entry->bound))
        price = tc_mul_up(price, tc_group_factor(unit.bound, entry->bound));
    return unit.kind == TC_ADJACENCY_ONE && knows_agent(entry) ? fmin(price, entry->agent) : price;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* The next "home.need by 5" of a list: its name's length and the number; moves `from` behind it. False at the end, or
 * where the list is not one. */
static bool next_datum(const char **from, const char **name, size_t *length, double *by) {
    const char *between = strstr(*from, " by ");
    char *end = NULL;
    if (between == NULL)
        return false;
    *name = *from;
    *length = (size_t)(between - *from);
    *by = strtod(between + 4, &end);
    *from = strncmp(end, ", ", 2) == 0 ? end + 2 : end;
    return *by > 0 && isfinite(*by);
}

/* How far a list protects a datum; 0: not at all. */
static double protected_by(const char *list, const char *name, size_t length) {
    const char *found;
    size_t found_length;
    double by;
    while (next_datum(&list, &found, &found_length, &by)) {
        if (found_length == length && strncmp(found, name, length) == 0)
            return by;
    }
    return 0;
}

/* The least whole number n with n each >= far; at least 1. */
static double whole_steps(double far, double each) {
    double count = fmax(1, ceil(far / each));
    return fma(count, each, -far) >= 0 ? count : count + 1;
}

/* How many steps, each as far as `line` protects, go as far as `asked`; infinite where one datum is not protected. */
static double steps_to(const char *asked, const char *line) {
    const char *name;
    size_t length;
    double by, steps = 1, count = 0;
    while (next_datum(&asked, &name, &length, &by)) {
        double each = protected_by(line, name, length);
        steps = each > 0 ? fmax(steps, whole_steps(by, each)) : (double)INFINITY;
        count++;
    }
    return count > 0 ? steps : (double)INFINITY;
}

/* ---- conversions ------------------------------------------------------------------------------------------------- */

/* What is at most n times the price of one agent entirely, where that is known. */
static double no_more_than_agent(const tc_ledger_entry *entry, double price, double n) {
    return knows_agent(entry) ? fmin(price, n == 1 ? entry->agent : tc_mul_up(entry->agent, n)) : price;
}

/* A run that hid one agent within a distance, or its data; another unit than `agent`. Infinite where nothing is known.
 * docs/proofs/composition.md, section 7. */
static double claim_c_in(const tc_ledger_entry *entry, tc_unit unit, double agents) {
    double times = INFINITY;
    if (entry->unit == TC_ADJACENCY_WITHIN && unit.kind == TC_ADJACENCY_WITHIN)
        times = unit.bound <= entry->bound ? 1 : tc_div_up(unit.bound, entry->bound);
    else if (entry->unit == TC_ADJACENCY_WITHIN && has_bound(unit.kind) && !has_last(entry))
        times = whole_steps(unit.bound, entry->bound);
    else if (entry->unit == TC_ADJACENCY_DATA && unit.kind == TC_ADJACENCY_DATA)
        times = steps_to(unit.data, entry->data);
    double own = own_price(entry), price = INFINITY;
    if (isfinite(times))
        price = own == 0 || times == 1 ? own : tc_mul_up(own, times);
    if (unit.kind != TC_ADJACENCY_ENSEMBLE)
        return no_more_than_agent(entry, price, 1);
    return isnan(agents) ? (double)INFINITY : no_more_than_agent(entry, tc_mul_up(price, agents), agents);
}

/* The price of one run in another unit: epsilon (Laplace), mu (Gaussian), infinite without a price. NAN, with a
 * sentence in *why, if no conversion is sound. */
static double price_in(tc_arena *arena, const tc_ledger_entry *entry, tc_unit unit, const char **why) {
    const char *run =
        tc_arena_format(arena, "run '%.64s' was promised in the unit %s", entry->run,
                        entry->unit == TC_ADJACENCY_UNSET ? "of no noise" : tc_unit_in_full(arena, tc_unit_of(entry)));
    *why = NULL;
    if (!entry->is_priced || entry->unit == TC_ADJACENCY_UNSET)
        return INFINITY;
    double agents = entry->agents >= 1 ? entry->agents : NAN;
    if (entry->unit == TC_ADJACENCY_AGENT) {
        if (unit.kind != TC_ADJACENCY_ENSEMBLE || own_price(entry) == 0)
            return own_price(entry);
        if (!isnan(agents)) /* change one agent after the other */
            return tc_mul_up(own_price(entry), agents);
        *why = tc_arena_format(arena, "%s, and the ledger does not say how many agents there are", run);
        return NAN;
    }
    bool bounded = entry->unit == TC_ADJACENCY_WITHIN || entry->unit == TC_ADJACENCY_DATA;
    if (unit.kind != TC_ADJACENCY_AGENT && (bounded || !has_bound(unit.kind))) {
        double price = bounded                 ? claim_c_in(entry, unit, agents)
                       : own_price(entry) == 0 ? 0
                                               : no_more_than_agent(entry, INFINITY, 1);
        if (isfinite(price))
            return price;
        *why = tc_arena_format(arena, "%s, which says nothing of %s", run,
                               unit.kind == TC_ADJACENCY_DATA ? "these data" : "this unit");
        return NAN;
    }
    if (has_bound(unit.kind)) {
        bool covers = unit.kind == TC_ADJACENCY_ONE || entry->unit == TC_ADJACENCY_ENSEMBLE ||
                      (entry->mechanism == TC_MECHANISM_LAPLACE && !has_last(entry));
        if (covers || own_price(entry) == 0)
            return scaled_price(entry, unit);
        if (!isnan(agents)) /* the distances of n agents add up to at most sqrt(n) times their joint distance; in a last
                             * round each of them moves on its lattice too */
            return tc_mul_up(scaled_price(entry, unit), has_last(entry) ? agents : tc_sqrt_up(agents));
        *why = tc_arena_format(arena, "%s with %s, and the ledger does not say how many agents there are", run,
                               has_last(entry) ? "a last round" : "Gaussian noise");
        return NAN;
    }
    bool costs_nothing = own_price(entry) == 0 && entry->unit != TC_ADJACENCY_DATA;
    if (unit.kind == TC_ADJACENCY_AGENT && (knows_agent(entry) || costs_nothing))
        return costs_nothing ? 0 : entry->agent;
    *why = tc_arena_format(arena, "%s, and the ledger does not say what it costs to hide one agent entirely", run);
    return NAN;
}

/* ---- last rounds ------------------------------------------------------------------------------------------------- */

static double delta_of_bounds(const tc_ledger_entry *entry, double price) {
    return price == 0 ? 0 : tc_bounded_delta(entry->mechanism, price, entry->last.rows, entry->last.cut);
}

/* What the bounds of a run's last round cost in another unit, by the same conversion as its price. NAN, with a sentence
 * in *why, where they hide nothing. */
static double bounds_in(tc_arena *arena, const tc_ledger_entry *entry, tc_unit unit, const char **why) {
    tc_ledger_entry last = *entry;
    *why = NULL;
    if (!has_last(entry))
        return 0;
    last.epsilon = last.mu = entry->last.price;
    last.agent = entry->last.agent;
    double price = price_in(arena, &last, unit, why), delta = delta_of_bounds(entry, price);
    if (*why != NULL || delta < 1)
        return *why != NULL ? NAN : delta;
    *why = tc_arena_format(
        arena, "run '%.64s' has a last round (--feasible always), whose noise has bounds and hides less than this unit",
        entry->run);
    return NAN;
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

/* Of a run with a last round, what its own bounds leave. A hair less, so that both parts together are no more than the
 * run's own delta. */
static double delta_of_noise(const tc_ledger_entry *entry) {
    if (!has_last(entry))
        return entry->delta;
    return tc_mul_down(tc_add_down(entry->delta, -delta_of_bounds(entry, entry->last.price)), 1 - 0x1p-49);
}

static double least_delta(const tc_ledger_entry *entries, size_t count) {
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double delta = delta_of_noise(&entries[i]);
        if (entries[i].mechanism == TC_MECHANISM_GAUSSIAN && delta > 0)
            least = fmin(least, delta);
    }
    return isfinite(least) ? least : 0;
}

/* Any release of this epsilon is post-processing of one Gaussian of this mu: 2 Q^-1(1 / (1 + e^epsilon)), rounded
 * up. */
static double mu_of_epsilon(double epsilon) {
    tc_interval odds = tc_iadd(tc_point(1), tc_exp_at(epsilon));
    double probability = isfinite(odds.hi) ? tc_idiv(tc_point(1), odds).lo : 0;
    return epsilon == 0 ? 0 : tc_mul_up(2, tc_normal_tail_inverse_up(fmin(probability, 0.5)));
}

typedef struct sums {
    double laplace;           /* of epsilons */
    double gaussian_squares;  /* of mu */
    double converted_squares; /* of the mu that stand for Laplace runs */
    double bounds;            /* the deltas that bounds of last rounds cost */
    double kept;              /* of Gaussian noise, within the bounds of all last rounds */
} sums;

static void add_price(sums *s, const tc_ledger_entry *entry, double price) {
    if (entry->mechanism == TC_MECHANISM_GAUSSIAN) {
        s->gaussian_squares = tc_add_up(s->gaussian_squares, tc_mul_up(price, price));
        return;
    }
    double mu = mu_of_epsilon(price);
    s->laplace = tc_add_up(s->laplace, price);
    s->converted_squares = tc_add_up(s->converted_squares, tc_mul_up(mu, mu));
}

static void add_bounds(sums *s, const tc_ledger_entry *entry, double delta) {
    if (delta == 0)
        return;
    s->bounds = tc_add_up(s->bounds, delta);
    if (entry->mechanism == TC_MECHANISM_GAUSSIAN)
        s->kept = tc_mul_down(s->kept, tc_bounded_kept(entry->last.rows, entry->last.cut));
}

/* What is left of delta for noise without bounds; negative where bounds cost more. */
static double left_for_noise(const sums *s, double delta) {
    return s->bounds == 0 ? delta : tc_add_down(delta, -s->bounds);
}

static double gaussian_epsilon(double squares, double delta) {
    return squares == 0 ? 0 : tc_gaussian_epsilon(tc_sqrt_up(squares), delta);
}

/* The Laplace prices plus that of the Gaussian runs. With as_gaussian, the price of all runs as one Gaussian if that is
 * less. delta: that of noise without bounds. */
static double epsilon_of(const sums *s, double delta, bool as_gaussian) {
    if (delta < 0)
        return INFINITY;
    delta = s->kept < 1 ? tc_mul_down(delta, s->kept) : delta;
    double gaussian = gaussian_epsilon(s->gaussian_squares, delta);
    double added = s->laplace == 0 ? gaussian : gaussian == 0 ? s->laplace : tc_add_up(s->laplace, gaussian);
    if (!as_gaussian || !(delta > 0) || s->converted_squares == 0)
        return added;
    return fmin(added, gaussian_epsilon(tc_add_up(s->gaussian_squares, s->converted_squares), delta));
}

/* so_far: delta is that of noise alone, and bounds come on top. */
static tc_spent spent_in(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit, double delta,
                         bool so_far) {
    tc_spent spent = {.unit = unit, .is_priced = true};
    sums s = {.kept = 1};
    for (size_t i = 0; i < count; i++) {
        tc_mark mark = tc_arena_mark(arena);
        const char *why = NULL;
        double price = price_in(arena, &entries[i], unit, &why);
        double bounds = isfinite(price) ? bounds_in(arena, &entries[i], unit, &why) : 0;
        bool is_own = tc_same_unit(unit, tc_unit_of(&entries[i]));
        spent.own += is_own;
        if (isnan(price) || isnan(bounds)) {
            if (spent.not_converted++ == 0)
                spent.why_not = why; /* keeps the first sentence */
            else
                tc_arena_rewind(arena, mark);
            continue;
        }
        spent.converted += !is_own;
        spent.is_priced = spent.is_priced && isfinite(price);
        tc_arena_rewind(arena, mark);
        add_price(&s, &entries[i], price);
        add_bounds(&s, &entries[i], bounds);
    }
    spent.laplace = s.laplace;
    spent.mu = s.gaussian_squares == 0 ? 0 : tc_sqrt_up(s.gaussian_squares);
    spent.bounds = s.bounds;
    spent.delta = so_far && s.bounds > 0 ? tc_add_up(delta, s.bounds) : delta;
    double noise = so_far ? delta : left_for_noise(&s, delta);
    bool says_something = spent.is_priced && spent.delta < 1; /* a delta of 1 allows everything */
    spent.epsilon = says_something ? epsilon_of(&s, noise, !so_far) : (double)INFINITY;
    return spent;
}

tc_spent tc_spent_in(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit, double delta) {
    return spent_in(arena, entries, count, unit, delta, false);
}

tc_spent tc_spent_so_far(tc_arena *arena, const tc_ledger_entry *entries, size_t count, tc_unit unit) {
    return spent_in(arena, entries, count, unit, least_delta(entries, count), true);
}

/* ---- budgets ---------------------------------------------------------------------------------------------------- */

/* Why a run cannot be counted without a delta; NULL where it can. */
static const char *needs_delta(const tc_ledger_entry *entry) {
    if (entry->is_priced && entry->mechanism == TC_MECHANISM_GAUSSIAN)
        return "Gaussian runs are added up at a given delta";
    return entry->is_priced && has_last(entry) ? "runs with --feasible always cost a delta" : NULL;
}

const char *tc_budget_text(tc_arena *arena, const tc_budget *budget) {
    char epsilon[32], delta[32];
    tc_shortest_number(epsilon, budget->epsilon);
    if (isnan(budget->delta))
        return tc_arena_format(arena, "epsilon %s", epsilon);
    tc_shortest_number(delta, budget->delta);
    return tc_arena_format(arena, "epsilon %s, delta %s", epsilon, delta);
}

const char *tc_budget_fault(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                            const tc_budget *budget) {
    const char *needed = next != NULL ? needs_delta(next) : NULL;
    if (!isnan(budget->delta))
        return NULL;
    for (size_t i = 0; i < ledger->count && needed == NULL; i++)
        needed = needs_delta(&ledger->entries[i]);
    if (needed == NULL)
        return NULL;
    char epsilon[32];
    tc_shortest_number(epsilon, budget->epsilon);
    return budget->span.length > 0
               ? tc_arena_format(
                     arena,
                     "the file's budget of epsilon %s has no delta, and %s: write 'budget { epsilon %s; delta 1e-6 }' "
                     "in the file",
                     epsilon, needed, epsilon)
               : tc_arena_format(arena, "the budget of epsilon %s has no delta, and %s: write --budget %s:1e-6",
                                 epsilon, needed, epsilon);
}

/* The same data, each as far as any run protected it. */
static const char *widest_data(tc_arena *arena, const tc_ledger_entry *all, size_t count, const char *data) {
    tc_buffer made = tc_buffer_new(arena, 2 * TC_LEDGER_LINE);
    const char *name;
    size_t length;
    double by;
    while (next_datum(&data, &name, &length, &by)) {
        char number[32];
        for (size_t i = 0; i < count; i++)
            by = all[i].data != NULL ? fmax(by, protected_by(all[i].data, name, length)) : by;
        tc_shortest_number(number, by);
        tc_buffer_printf(&made, "%s%.*s by %s", made.length > 0 ? ", " : "", (int)length, name, number);
    }
    return tc_buffer_text(&made);
}

/* With the largest B, D or protected distances of all. */
static tc_unit with_largest_bound(tc_arena *arena, const tc_ledger_entry *all, size_t count, tc_unit unit) {
    for (size_t i = 0; i < count; i++) {
        bool alike = has_bound(unit.kind) ? has_bound(all[i].unit)
                                          : unit.kind == TC_ADJACENCY_WITHIN && all[i].unit == TC_ADJACENCY_WITHIN;
        if (alike)
            unit.bound = fmax(unit.bound, all[i].bound);
    }
    if (unit.kind == TC_ADJACENCY_DATA)
        unit.data = widest_data(arena, all, count, unit.data);
    return unit;
}

static const char *over_text(tc_arena *arena, const tc_budget *budget, const tc_spent *spent, size_t before) {
    const char *allowed = tc_budget_text(arena, budget), *unit = tc_unit_in_full(arena, spent->unit);
    const char *comes_to = tc_text_up(arena, spent->epsilon);
    if (!isfinite(spent->epsilon) && spent->bounds > 0)
        return tc_arena_format(
            arena,
            "the budget of %s does not allow it: the bounds of last rounds (--feasible always) alone "
            "cost delta %s in the unit %s",
            allowed, tc_text_up(arena, spent->bounds), unit);
    if (before == 0)
        return tc_arena_format(arena,
                               "the budget of %s is too small: this run alone costs %s in the unit %s, and the ledger "
                               "has no run yet",
                               allowed, comes_to, unit);
    return tc_arena_format(
        arena,
        "the budget of %s does not allow it: with the %zu run%s in the ledger it would come to %s in "
        "the unit %s",
        allowed, before, before == 1 ? "" : "s", comes_to, unit);
}

/* The ledger's runs and the next one. */
static tc_ledger_entry *all_of(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next) {
    tc_ledger_entry *all = TC_NEW(arena, tc_ledger_entry, ledger->count + 1);
    for (size_t i = 0; i < ledger->count; i++)
        all[i] = ledger->entries[i];
    all[ledger->count] = *next;
    return all;
}

tc_spent tc_spent_with(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next, const tc_budget *budget) {
    const tc_ledger_entry *all = all_of(arena, ledger, next);
    double delta = isnan(budget->delta) ? 0 : budget->delta;
    size_t count = ledger->count + 1;
    tc_spent spent = tc_spent_in(arena, all, count, with_largest_bound(arena, all, count, tc_unit_of(next)), delta);
    if (next->file_unit.kind == TC_ADJACENCY_UNSET || spent.not_converted > 0)
        return spent;
    tc_spent other = tc_spent_in(arena, all, count, with_largest_bound(arena, all, count, next->file_unit), delta);
    return other.not_converted > 0 || other.epsilon > spent.epsilon ? other : spent;
}

static const char *without_price(tc_arena *arena, const tc_ledger_entry *all, size_t count) {
    size_t i = 0;
    while (i + 1 < count && all[i].is_priced)
        i++;
    if (i + 1 == count)
        return "no budget allows it: this run has no guarantee, and no sum holds after it";
    return tc_arena_format(
        arena,
        "no budget allows it: run '%.64s' in line %zu of the ledger has no guarantee, and no sum holds "
        "after it",
        all[i].run, i + 1);
}

static const char *over_in(tc_arena *arena, const tc_ledger_entry *all, size_t count, const tc_budget *budget,
                           tc_unit unit) {
    double delta = isnan(budget->delta) ? 0 : budget->delta;
    tc_spent spent = tc_spent_in(arena, all, count, unit, delta);
    if (!spent.is_priced)
        return without_price(arena, all, count);
    if (spent.not_converted > 0)
        return tc_arena_format(arena, "the budget of %s cannot be kept: %zu run%s cannot be counted in the unit %s: %s",
                               tc_budget_text(arena, budget), spent.not_converted, spent.not_converted == 1 ? "" : "s",
                               tc_unit_in_full(arena, unit), spent.why_not);
    return spent.epsilon <= budget->epsilon ? NULL : over_text(arena, budget, &spent, count - 1);
}

const char *tc_over_budget(tc_arena *arena, const tc_ledger *ledger, const tc_ledger_entry *next,
                           const tc_budget *budgets, size_t count) {
    const tc_ledger_entry *all = all_of(arena, ledger, next);
    const tc_unit units[] = {tc_unit_of(next), next->file_unit};
    for (size_t b = 0; b < count; b++) {
        const char *over = tc_budget_fault(arena, ledger, next, &budgets[b]);
        for (size_t u = 0; u < 2 && over == NULL; u++) {
            if (u == 0 || units[u].kind != TC_ADJACENCY_UNSET)
                over = over_in(arena, all, ledger->count + 1, &budgets[b],
                               with_largest_bound(arena, all, ledger->count + 1, units[u]));
        }
        if (over != NULL)
            return over;
    }
    return NULL;
}
