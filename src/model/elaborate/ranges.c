/* Public promises about private data: `range need in [0, 40]` and `protect need by 5`.
 *
 * A datum is what an agent holds: columns of the family's data, of an agent's file, or a private parameter of the
 * block, whose numbers become columns (names.c). Each agent moves its own data into the range before anything is
 * computed from them, and tells nobody but its owner: whether it had to would tell more than the range does. */
#include "base/ranks/ranks.h"
#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

static tc_family *family_of(tc_elaborator *elaborator, const tc_agents_block *block) {
    return &elaborator->model->families[block->number];
}

static tc_local *local_named(const tc_agents_block *block, const tc_name *name) {
    for (size_t i = 0; i < block->local_count; i++) {
        if (block->locals[i].name == name)
            return &block->locals[i];
    }
    return NULL;
}

void tc_mark_ranged(tc_agents_block *block) {
    for (const tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        for (size_t i = 0; s->kind == TC_STATEMENT_RANGE && i < s->item_count; i++) {
            tc_local *local = local_named(block, s->items[i].datum.name);
            if (local != NULL && local->statement->kind == TC_STATEMENT_PARAM && local->statement->is_private)
                local->range = &s->items[i];
        }
    }
}

/* ---- which data -------------------------------------------------------------------------------------------------- */

/* Names of private data in the block. */
static const char *suggestion(tc_elaborator *elaborator, const tc_agents_block *block, const tc_name *name) {
    const char **names = NULL;
    size_t count = 0;
    tc_add_block_names(elaborator, block, &names, &count);
    return tc_did_you_mean(elaborator->arena, name->text, names, count);
}

static void refuse_unknown(tc_elaborator *elaborator, const tc_agents_block *block, const tc_word *datum) {
    const tc_definition *global = datum->name->global;
    const char *name = datum->name->text, *owner = block->statement->name->text;
    if (global == NULL)
        tc_error(elaborator->diagnostics, datum->span, "'%s' has no private data '%s'%s", owner, name,
                 suggestion(elaborator, block, datum->name));
    else if (global->kind != TC_DEFINES_PARAM)
        tc_error(elaborator->diagnostics, datum->span,
                 "'%s' is not private data of '%s': a range is for a column of its data, or a 'private param' of its "
                 "block",
                 name, owner);
    else if (global->statement->is_private)
        tc_error(elaborator->diagnostics, datum->span,
                 "'%s' stands outside of the blocks, where several agents may share it; for a range, define it in the "
                 "block of '%s' by 'private param', or as a column of its data",
                 name, owner);
    else
        tc_error(elaborator->diagnostics, datum->span, "'%s' is public: public data need no range", name);
}

/* The leaves of the data; *known is false in a cloud's file, which does not have them. */
static bool find_data(tc_elaborator *elaborator, tc_agents_block *block, const tc_word *datum, tc_value *value,
                      bool *known) {
    const tc_local *local = local_named(block, datum->name);
    if (local != NULL && local->statement->kind == TC_STATEMENT_STATE) {
        tc_error(elaborator->diagnostics, datum->span,
                 "'%s' is a state, whose box is its public range; a range is for private data", datum->name->text);
        return false;
    }
    tc_scope scope = {.block = block, .member = SIZE_MAX};
    *value = tc_block_name(elaborator, &scope, datum->name, datum->span, known);
    if (!*known) {
        if (elaborator->model->role != TC_ROLE_CLOUD)
            refuse_unknown(elaborator, block, datum);
        return elaborator->model->role == TC_ROLE_CLOUD;
    }
    if (value->broken)
        return false;
    if (value->secret == NULL)
        tc_error(elaborator->diagnostics, datum->span, "'%s' is public: public data need no range", datum->name->text);
    return value->secret != NULL;
}

static bool count_components(tc_elaborator *elaborator, const tc_item *item, const tc_value *value, bool known,
                             size_t *count) {
    double length = 1;
    if (item->length != NULL &&
        !tc_elaborate_whole(elaborator, NULL, item->length, "the length of private data", 1, 1e6, &length))
        return false;
    *count = known ? tc_value_count(value) : (size_t)length;
    if (item->length == NULL || (*count == (size_t)length && (!known || value->rank == 1)))
        return true;
    tc_error(elaborator->diagnostics, item->length->span, "'%s' is %s", item->datum.name->text,
             tc_shape_text(elaborator->arena, value));
    return false;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static bool check_bounds(tc_elaborator *elaborator, const tc_agents_block *block, const tc_item *item, tc_coef lower,
                         tc_coef upper) {
    const tc_family *family = family_of(elaborator, block);
    bool varies = lower.column != NULL || upper.column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        double low = tc_coef_at(lower, k), high = tc_coef_at(upper, k);
        good = low <= high;
        if (good)
            continue;
        tc_error(elaborator->diagnostics, tc_span_join(item->lower->span, item->upper->span),
                 "the range of '%s'%s%s is empty: the lower bound %.17g is above the upper bound %.17g",
                 item->datum.name->text, varies ? " for " : "", varies ? tc_member_text(elaborator, block, k) : "", low,
                 high);
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

/* Moves one component of all members into the range. moved: by member, for what was moved before; the column itself
 * may be the caller's. */
static void move_component(tc_elaborator *elaborator, tc_family *family, tc_datum *datum, size_t c, bool *moved) {
    tc_column *column = &family->columns[datum->columns[c]];
    double *own = NULL;
    for (size_t k = family->known_first; k < family->known_end; k++) {
        double value = column->values[k];
        double lower = tc_coef_at(datum->lower[c], k), upper = tc_coef_at(datum->upper[c], k);
        double inside = value < lower ? lower : value > upper ? upper : value;
        if (inside == value)
            continue;
        if (own == NULL) {
            own = TC_NEW(elaborator->arena, double, family->count);
            memcpy(own + family->known_first, column->values + family->known_first,
                   (family->known_end - family->known_first) * sizeof *own);
        }
        own[k] = inside;
        if (datum->outside.members == 0)
            datum->outside = (tc_outside){0, k, c, value, inside, lower, upper};
        datum->outside.members += !moved[k];
        moved[k] = true;
    }
    if (own != NULL)
        column->values = own;
}

/* Over all ranks: how many, and of the component in which one was met first, the first member. */
static void gather_outside(const tc_family *family, tc_outside *outside) {
    if (!family->is_spread)
        return;
    tc_outside first = {0};
    size_t members = 0;
    for (size_t r = 0; r < tc_ranks_count(); r++) {
        tc_outside other = *outside;
        tc_ranks_broadcast(&other, sizeof other, r);
        if (other.members > 0 && (members == 0 || other.component < first.component))
            first = other;
        members += other.members;
    }
    *outside = first;
    outside->members = members;
}

static void move_into_range(tc_elaborator *elaborator, tc_agents_block *block, tc_datum *datum) {
    tc_family *family = family_of(elaborator, block);
    bool *moved = TC_NEW(elaborator->arena, bool, family->count);
    for (size_t c = 0; c < datum->count; c++)
        move_component(elaborator, family, datum, c, moved);
    gather_outside(family, &datum->outside);
}

static tc_datum *datum_named(tc_elaborator *elaborator, const tc_agents_block *block, const tc_name *name) {
    tc_family *family = family_of(elaborator, block);
    for (size_t d = 0; d < family->datum_count; d++) {
        if (strcmp(family->data[d].name, name->text) == 0)
            return &family->data[d];
    }
    return NULL;
}

static void elaborate_range(tc_elaborator *elaborator, tc_agents_block *block, const tc_item *item) {
    tc_family *family = family_of(elaborator, block);
    const tc_datum *before = datum_named(elaborator, block, item->datum.name);
    tc_datum datum = {.name = item->datum.name->text, .distances = {NAN, NAN}, .span = item->span};
    tc_value value;
    bool known;
    if (before != NULL) {
        tc_error(elaborator->diagnostics, item->datum.span, "'%s' has two ranges", datum.name);
        tc_note(elaborator->diagnostics, before->span, "the first one is here");
        return;
    }
    if (!find_data(elaborator, block, &item->datum, &value, &known) ||
        !count_components(elaborator, item, &value, known, &datum.count))
        return;
    datum.lower = tc_public_coefs(elaborator, block, item->lower, datum.count, "the lower bound of a range");
    datum.upper = tc_public_coefs(elaborator, block, item->upper, datum.count, "the upper bound of a range");
    if (datum.lower == NULL || datum.upper == NULL)
        return;
    for (size_t c = 0; c < datum.count; c++) {
        if (!check_bounds(elaborator, block, item, datum.lower[c], datum.upper[c]))
            return;
    }
    if (known) {
        datum.columns = TC_NEW(elaborator->arena, size_t, datum.count);
        for (size_t c = 0; c < datum.count; c++) {
            tc_expr leaf = tc_value_node_at(&elaborator->values, &value, c);
            datum.columns[c] = (size_t)elaborator->dag->nodes[leaf].u.index;
        }
        move_into_range(elaborator, block, &datum);
    }
    TC_PUSH(elaborator->arena, family->data, family->datum_count, datum);
}

/* ---- what is protected ------------------------------------------------------------------------------------------- */

/* upper - lower, rounded up. */
static double width_of(double lower, double upper) {
    double width = upper - lower, back = width - upper;
    double rest = (upper - (width - back)) - (lower + back); /* exactly what rounding took */
    return rest > 0 ? nextafter(width, INFINITY) : width;
}

/* Data in the range cannot differ by more than its width. */
static tc_coef within_range(tc_elaborator *elaborator, const tc_family *family, const tc_datum *datum, tc_coef by,
                            size_t c) {
    tc_coef lower = datum->lower[c], upper = datum->upper[c];
    bool varies = by.column != NULL || lower.column != NULL || upper.column != NULL, cut = false;
    double *column = TC_NEW(elaborator->arena, double, varies ? family->count : 1);
    for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
        double own = tc_coef_at(by, k), width = width_of(tc_coef_at(lower, k), tc_coef_at(upper, k));
        cut = cut || width < own;
        column[k] = fmin(own, width);
    }
    if (!tc_for_some(family, cut))
        return by;
    return varies ? (tc_coef){.column = column} : (tc_coef){.value = column[0]};
}

static bool is_positive(tc_elaborator *elaborator, const tc_agents_block *block, const tc_item *item, tc_coef by) {
    const tc_family *family = family_of(elaborator, block);
    bool varies = by.column != NULL, good = true;
    tc_told before = tc_told_so_far(elaborator->diagnostics);
    for (size_t k = tc_first_known(family, varies); good && k < tc_end_known(family, varies); k++) {
        good = tc_coef_at(by, k) > 0;
        if (good)
            continue;
        tc_error(elaborator->diagnostics, item->by->span,
                 "how far '%s' is protected must be positive, but this is %.17g%s%s", item->datum.name->text,
                 tc_coef_at(by, k), varies ? " for " : "", varies ? tc_member_text(elaborator, block, k) : "");
    }
    return tc_agreed(elaborator->diagnostics, family, before, good);
}

static tc_protection protection_of(const tc_family *family, const tc_datum *datum) {
    tc_protection found = {.is_known = true, .least = INFINITY, .share = INFINITY};
    for (size_t c = 0; c < datum->count; c++) {
        tc_coef by = datum->by[c], lower = datum->lower[c], upper = datum->upper[c];
        bool varies = by.column != NULL || lower.column != NULL || upper.column != NULL;
        for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
            double own = tc_coef_at(by, k), width = tc_coef_at(upper, k) - tc_coef_at(lower, k);
            found.least = own > 0 ? fmin(found.least, own) : found.least;
            found.most = fmax(found.most, own);
            found.share = width > 0 ? fmin(found.share, own / width) : found.share;
        }
    }
    if (tc_is_known(family, 0)) {
        found.first_lower = tc_coef_at(datum->lower[0], 0);
        found.first_by = tc_coef_at(datum->by[0], 0);
    }
    tc_from_member(family, 0, &found.first_lower, sizeof found.first_lower);
    tc_from_member(family, 0, &found.first_by, sizeof found.first_by);
    found.least = -tc_largest_of(family, -found.least);
    found.most = tc_largest_of(family, found.most);
    found.share = -tc_largest_of(family, -found.share);
    return found;
}

/* Reports a parameter that is not one agent's own number. In a cloud's file it is not known, nor what it is made of. */
static bool is_own(tc_elaborator *elaborator, tc_agents_block *block, const tc_word *name) {
    const tc_family *family = family_of(elaborator, block);
    const tc_local *local = local_named(block, name->name);
    tc_scope scope = {.block = block, .member = SIZE_MAX};
    bool known;
    tc_value value = tc_block_name(elaborator, &scope, name->name, name->span, &known);
    const tc_private_datum *from = known && value.secret != NULL ? value.secret->made_of : NULL;
    if (local != NULL && family->count > 1) {
        tc_error(elaborator->diagnostics, name->span,
                 "'%s' cannot be protected: all %zu members of '%s' share this number, and the unit data hides what "
                 "one agent tells; where each has a number of its own, make it a column of the family's data, else "
                 "leave 'protect' out",
                 name->name->text, family->count, family->name);
        return false;
    }
    for (; from != NULL && from->made_of != NULL; from = from->made_of)
        ;
    /* All that stands in an agent's file is that agent's. */
    if (from == NULL || (from->is_outside && elaborator->model->role == TC_ROLE_AGENT))
        return true;
    if (from->is_outside)
        tc_error(elaborator->diagnostics, name->span,
                 "'%s' cannot be protected: it is computed from '%s', which stands outside of the blocks, where "
                 "several agents may share it; where '%s' alone has this number, declare '%s' in the block of '%s' and "
                 "protect it there",
                 name->name->text, from->name, family->name, from->name, family->name);
    else
        tc_error(elaborator->diagnostics, name->span,
                 "'%s' cannot be protected: it is computed from '%s': give '%s' the range and protect it instead",
                 name->name->text, from->name, from->name);
    tc_note(elaborator->diagnostics, from->span, "'%s' is declared private here", from->name);
    return false;
}

static void elaborate_protect(tc_elaborator *elaborator, tc_agents_block *block, const tc_item *item) {
    const tc_family *family = family_of(elaborator, block);
    tc_datum *datum = datum_named(elaborator, block, item->datum.name);
    const char *name = item->datum.name->text;
    if (datum == NULL) {
        tc_error(elaborator->diagnostics, item->datum.span,
                 "'%s' has no range: what is hidden is hidden inside of a public range; write 'range %s in [lower, "
                 "upper]' too",
                 name, name);
        return;
    }
    if (datum->by != NULL) {
        tc_error(elaborator->diagnostics, item->datum.span, "'%s' is protected twice", name);
        return;
    }
    if (!is_own(elaborator, block, &item->datum))
        return;
    tc_coef *by = tc_public_coefs(elaborator, block, item->by, datum->count, "how far data are protected");
    for (size_t c = 0; by != NULL && c < datum->count; c++) {
        if (!is_positive(elaborator, block, item, by[c]))
            return;
        by[c] = within_range(elaborator, family, datum, by[c], c);
    }
    datum->by = by;
    if (by != NULL)
        datum->protection = protection_of(family, datum);
}

/* distance need { l1 5; l2 5 } */
static void elaborate_distance(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement) {
    static const char *const keys[] = {"l1", "l2"};
    tc_datum *datum = datum_named(elaborator, block, statement->name);
    if (elaborator->model->role == TC_ROLE_WHOLE) {
        tc_error(elaborator->diagnostics, statement->keyword,
                 "distances are computed from the whole problem, and 'tacit split' writes them into the parties' "
                 "files; leave this line out");
        return;
    }
    if (datum != NULL && !isnan(datum->distances[0])) {
        tc_error(elaborator->diagnostics, statement->name_span, "'%s' has two distances", statement->name->text);
        return;
    }
    if (datum == NULL || datum->by == NULL) {
        tc_error(elaborator->diagnostics, statement->name_span,
                 "'%s' is not protected; write 'protect %s by 5' too, or leave its distance out", statement->name->text,
                 statement->name->text);
        return;
    }
    bool seen[2] = {false};
    for (size_t i = 0; i < statement->setting_count; i++) {
        const tc_setting *setting = &statement->settings[i];
        size_t key = tc_setting_key(elaborator, &setting->key, keys, 2, "a distance");
        if (key == SIZE_MAX || !tc_check_setting(elaborator, setting, false, &seen[key]))
            continue;
        datum->distances[key] = tc_elaborate_number(elaborator, NULL, setting->value, "a distance");
        if (datum->distances[key] < 0)
            tc_error(elaborator->diagnostics, setting->value->span,
                     "a distance must not be negative, but this is %.17g", datum->distances[key]);
    }
    if (!seen[0] || !seen[1])
        tc_error(elaborator->diagnostics, statement->span,
                 "a distance has two numbers, as in 'distance %s { l1 5; l2 5 }'", datum->name);
}

/* ---- all of a block ---------------------------------------------------------------------------------------------- */

void tc_elaborate_ranges(tc_elaborator *elaborator, tc_agents_block *block) {
    size_t errors = elaborator->diagnostics->errors;
    for (const tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        for (size_t i = 0; s->kind == TC_STATEMENT_RANGE && i < s->item_count; i++)
            elaborate_range(elaborator, block, &s->items[i]);
    }
    if (elaborator->diagnostics->errors > errors)
        return; /* a range that failed is no reason to ask for it */
    for (const tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        for (size_t i = 0; s->kind == TC_STATEMENT_PROTECT && i < s->item_count; i++)
            elaborate_protect(elaborator, block, &s->items[i]);
    }
    for (const tc_statement *s = block->statement->block; s != NULL; s = s->next) {
        if (s->kind == TC_STATEMENT_DISTANCE && elaborator->diagnostics->errors == errors)
            elaborate_distance(elaborator, block, s);
    }
}
