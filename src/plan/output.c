/* The plan as JSON, and its hash: SHA-256 of that text. Nothing in it depends on paths, spans or private data. */
#include "base/text.h"
#include "analysis/data/data.h"
#include "plan/planner.h"

#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON, and the hash ------------------------------------------------------------------------------------------ */

static void write_strings(tc_json *json, const char *key, const char *const *list, size_t count) {
    tc_json_open_array(json, key);
    for (size_t i = 0; i < count; i++)
        tc_json_string(json, NULL, list[i]);
    tc_json_close_array(json);
}

static const char *kind_name(const tc_plan *plan, tc_channel_kind kind) {
    static const char *const names[] = {"constraints", "jacobian", "states"};
    return plan->placement == TC_PLACEMENT_FORMS ? "forms" : names[kind];
}

static const char *observer_name(tc_observer_kind kind) {
    static const char *const names[] = {"agent", "coalition", "eavesdropper", "status"};
    return names[kind];
}

static void write_system(const tc_plan *plan, tc_json *json, const tc_channel *channel) {
    tc_json_open_object(json, NULL);
    tc_json_string(json, "name", channel->name);
    tc_json_string(json, "kind", kind_name(plan, channel->kind));
    tc_json_number(json, "constant", channel->constant);
    tc_json_number(json, "sensitivity", channel->sensitivity);
    tc_json_number(json, "scale", channel->scale);
    tc_json_number(json, "variance", channel->variance);
    tc_json_count(json, "entries", channel->entries);
    tc_json_count(json, "first_entry", channel->first_entry);
    tc_json_count(json, "first_row", channel->first_row);
    tc_json_count(json, "rows", channel->row_count);
    if (channel->family != UINT32_MAX) {
        tc_json_count(json, "family", channel->family);
        tc_json_count(json, "first_member", channel->first_member);
        tc_json_count(json, "members", channel->member_count);
    }
    tc_json_bool(json, "every_entry", channel->every_entry);
    tc_json_number(json, "step_exponent", channel->step_exponent);
    tc_json_number(json, "lattice_scale", channel->lattice_scale);
    if (channel->bound > 0) {
        tc_json_number(json, "bound_steps", (double)channel->bound);
        tc_json_number(json, "bound", ldexp((double)channel->bound, channel->step_exponent));
    }
    tc_json_close_object(json);
}

/* Left out where there is none: plans without one keep their hash. */
static void write_last(const tc_plan *plan, tc_json *json) {
    const tc_last_round *last = plan->last;
    if (last == NULL)
        return;
    tc_json_open_object(json, "last_round");
    tc_json_number(json, "share", last->share);
    tc_json_number(json, plan->mechanism == TC_MECHANISM_GAUSSIAN ? "mu" : "epsilon", last->price);
    tc_json_number(json, "delta", last->delta);
    tc_json_number(json, "cut", last->cut);
    tc_json_numbers(json, "allowance", last->allowance, plan->model->constraint_count);
    tc_json_open_array(json, "systems");
    for (size_t i = 0; i < last->plan->channel_count; i++)
        write_system(last->plan, json, &last->plan->channels[i]);
    tc_json_close_array(json);
    tc_json_open_array(json, "sum_exponents");
    for (size_t r = 0; last->plan->sum_exponents != NULL && r < plan->model->sum_count; r++)
        tc_json_number(json, NULL, last->plan->sum_exponents[r]);
    tc_json_close_array(json);
    tc_json_close_object(json);
}

static void write_observers(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "observers");
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "who", o->who);
        tc_json_string(json, "kind", observer_name(o->kind));
        tc_json_string(json, "about", o->about);
        tc_json_number(json, "epsilon", o->epsilon);
        tc_json_number(json, "delta", o->delta);
        if (plan->mechanism == TC_MECHANISM_GAUSSIAN) {
            tc_json_number(json, "mu", o->gdp);
            tc_json_number(json, "delta_at_asked_epsilon", o->delta_at_asked);
        }
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void write_prices(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "prices");
    for (size_t i = 0; i < plan->price_count; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "what", plan->prices[i].what);
        tc_json_number(json, "distance", plan->prices[i].distance);
        tc_json_number(json, "epsilon", plan->prices[i].epsilon);
        tc_json_number(json, "delta", plan->prices[i].delta);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void write_placements(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "placements");
    for (size_t i = 0; i < 3; i++) {
        const tc_placement_facts *facts = &plan->facts[i];
        if (facts->placement == TC_PLACEMENT_AUTO || (!facts->possible && plan->calibration == TC_PUBLISHED))
            continue;
        tc_json_open_object(json, NULL);
        tc_json_string(json, "placement", tc_placement_name(facts->placement));
        tc_json_bool(json, "possible", facts->possible);
        if (plan->method == TC_METHOD_TACIT)
            tc_json_bool(json, "usable", facts->usable);
        if (facts->possible) {
            tc_json_number(json, "predicted_variance", facts->total);
            tc_json_numbers(json, "constraint_variance", facts->constraint_variance, plan->model->constraint_count);
            tc_json_number(json, "price_variance", facts->price_variance);
        }
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

static void write_lattice(const tc_plan *plan, tc_json *json) {
    tc_json_open_object(json, "lattice");
    tc_json_number(json, "state_exponent", plan->state_exponent);
    tc_json_number(json, "state_step", ldexp(1, plan->state_exponent));
    tc_json_open_array(json, "sum_exponents");
    for (size_t r = 0; plan->sum_exponents != NULL && r < plan->model->sum_count; r++)
        tc_json_number(json, NULL, plan->sum_exponents[r]);
    tc_json_close_array(json);
    tc_json_number(json, "overhead", plan->overhead);
    tc_json_close_object(json);
}

static void write_unit(const tc_plan *plan, tc_json *json) {
    bool none = plan->mechanism == TC_MECHANISM_NONE || plan->adjacency == TC_ADJACENCY_UNSET;
    tc_json_string(json, "unit", none ? NULL : tc_unit_text(json->out->arena, plan->adjacency, plan->adjacency_bound));
}

/* What the units agent:D and data hide, family by family. Left out for other units, like budgets. */
static void write_distances(const tc_plan *plan, tc_json *json) {
    if (plan->distances == NULL)
        return;
    tc_json_open_array(json, "distances");
    for (size_t f = 0; f < plan->model->family_count; f++) {
        const tc_family *family = &plan->model->families[f];
        const tc_distance *found = &plan->distances[f];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "family", family->name);
        tc_json_number(json, "distance", found->distance);
        tc_json_number(json, "reach", found->reach);
        if (plan->adjacency == TC_ADJACENCY_DATA) {
            tc_json_number(json, "steps", found->steps);
            tc_json_open_array(json, "data");
            for (size_t i = 0; i < family->datum_count; i++) {
                const tc_datum *datum = &family->data[i];
                if (datum->by == NULL)
                    continue;
                tc_span_of_by by = tc_protected_by(family, datum);
                tc_json_open_object(json, NULL);
                tc_json_string(json, "name", datum->name);
                tc_json_number(json, "by", by.most);
                if (by.least < by.most)
                    tc_json_number(json, "by_at_least", by.least);
                tc_json_number(json, "distance", datum->distances[plan->mechanism == TC_MECHANISM_GAUSSIAN]);
                tc_json_close_object(json);
            }
            tc_json_close_array(json);
        }
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

/* Left out where there is none: plans made before there were budgets keep their hash. */
static void write_budget(const tc_plan *plan, tc_json *json) {
    const tc_budget *budget = &plan->model->budget;
    if (isnan(budget->epsilon))
        return;
    tc_json_open_object(json, "budget");
    tc_json_number(json, "epsilon", budget->epsilon);
    tc_json_number(json, "delta", budget->delta);
    tc_json_close_object(json);
}

/* Families whose public sets the prices rely on. Left out where there are none, like budgets. */
static void write_public_sets(const tc_plan *plan, tc_json *json) {
    if (!tc_relies_on_caps(plan))
        return;
    tc_json_open_array(json, "public_sets");
    for (size_t f = 0; f < plan->model->family_count; f++) {
        if (tc_public_set(&plan->model->families[f]) != NULL)
            tc_json_string(json, NULL, plan->model->families[f].name);
    }
    tc_json_close_array(json);
}

/* null: not decided */
static void write_choices(const tc_plan *plan, tc_json *json) {
    bool open = plan->mechanism == TC_MECHANISM_UNSET, anywhere = plan->placement == TC_PLACEMENT_AUTO;
    tc_json_string(json, "mechanism", open ? NULL : tc_mechanism_name(plan->mechanism));
    if (plan->method == TC_METHOD_TACIT)
        tc_json_string(json, "method", tc_method_name(plan->method));
    tc_json_string(json, "calibration", tc_calibration_name(plan->calibration));
    tc_json_string(json, "constants", plan->constants == TC_DECLARED ? "declared" : "certified");
    tc_json_string(json, "placement", anywhere ? NULL : tc_placement_name(plan->placement));
    write_unit(plan, json);
}

/* The words that the hash is of: a journal of before knows its plan by them. */
#define TC_HASHED_LARGE_DELTA "delta %.3g is large: it is the chance that the promise fails; 1e-6 or less is usual"

static void write_warnings(const tc_plan *plan, tc_json *json, bool is_hashed) {
    tc_json_open_array(json, "warnings");
    for (size_t i = 0; i < plan->warning_count; i++)
        tc_json_string(json, NULL,
                       is_hashed && i + 1 == plan->tells_large_delta
                           ? tc_arena_format(json->out->arena, TC_HASHED_LARGE_DELTA, plan->delta)
                           : plan->warnings[i]);
    tc_json_close_array(json);
}

static void write_members(const tc_plan *plan, tc_json *json, bool is_hashed) {
    bool is_private = is_hashed ? plan->is_private : tc_plan_deserves_private(plan);
    if (plan->problem != NULL) {
        tc_json_string(json, "problem", plan->problem);
        tc_json_bool(json, "private", false);
        write_choices(plan, json);
        return;
    }
    write_choices(plan, json);
    write_public_sets(plan, json);
    tc_json_number(json, "adjacency", plan->adjacency_bound);
    write_distances(plan, json);
    tc_json_number(json, "epsilon", plan->epsilon);
    tc_json_number(json, "delta", plan->delta);
    if (plan->calibration == TC_PUBLISHED && plan->mechanism == TC_MECHANISM_GAUSSIAN)
        tc_json_number(json, "kappa", tc_kappa(plan->delta, plan->epsilon)); /* sigma = kappa K_2 B */
    tc_json_string(json, "epsilon_is_for", tc_epsilon_is_for(plan));
    tc_json_number(json, "rounds", plan->rounds);
    tc_json_number(json, "hold_cap", plan->hold_cap);
    tc_json_bool(json, "private", is_private);
    write_strings(json, "void_reasons", plan->void_reasons, plan->void_reason_count);
    tc_json_bool(json, "assumptions_hold", plan->doubt_count == 0);
    write_strings(json, "assumptions_not_proved", plan->doubts, plan->doubt_count);
    tc_json_open_array(json, "systems");
    for (size_t i = 0; i < plan->channel_count; i++)
        write_system(plan, json, &plan->channels[i]);
    tc_json_close_array(json);
    tc_json_count(json, "entries", plan->entry_count);
    write_lattice(plan, json);
    write_last(plan, json);
    write_observers(plan, json);
    write_prices(plan, json);
    write_placements(plan, json);
    if (plan->row_scale != NULL)
        tc_json_numbers(json, "row_scales", plan->row_scale, plan->model->constraint_count);
    tc_json_equalities(plan->model, json); /* steps depend on them, and so does what is released later */
    write_budget(plan, json);
    write_warnings(plan, json, is_hashed);
}

/* Not hashed: plans keep the hash that they had before. */
static void write_family_prices(const tc_plan *plan, tc_json *json) {
    tc_json_open_array(json, "family_prices");
    for (size_t i = 0; i < plan->family_price_count; i++) {
        const tc_family_price *price = &plan->family_prices[i];
        tc_json_open_object(json, NULL);
        tc_json_string(json, "family", price->family);
        tc_json_count(json, "members", price->members);
        tc_json_number(json, "range", price->range);
        tc_json_number(json, "state_epsilon", price->state_epsilon);
        tc_json_number(json, "round_epsilon", price->round_epsilon);
        tc_json_number(json, "run_epsilon", price->run_epsilon);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
}

void tc_plan_json(const tc_plan *plan, tc_json *json) {
    char hex[2 * sizeof plan->hash + 1];
    /* Not hashed: a published plan keeps the hash it had before there were two methods. */
    if (plan->method != TC_METHOD_TACIT)
        tc_json_string(json, "method", tc_method_name(plan->method));
    write_members(plan, json, false);
    if (plan->family_price_count > 0)
        write_family_prices(plan, json);
    if (plan->why_states != NULL)
        tc_json_string(json, "why_states", plan->why_states);
    if (plan->problem == NULL) { /* not hashed either */
        const tc_promised_unit promised = tc_promised(json->out->arena, plan);
        tc_json_string(json, "norm", promised.norm);
        tc_json_number(json, "hidden_every_round", promised.every_round);
    }
    tc_hexadecimal(hex, plan->hash, sizeof plan->hash);
    tc_json_string(json, "hash", hex);
}

void tc_plan_canonical(const tc_plan *plan, tc_buffer *out) {
    tc_json json = tc_json_new(out);
    tc_json_open_object(&json, NULL);
    write_members(plan, &json, true);
    tc_json_close_object(&json);
}

void tc_plan_hash(tc_arena *arena, tc_plan *plan) {
    tc_buffer text = tc_buffer_new(arena, SIZE_MAX / 4);
    tc_plan_canonical(plan, &text);
    unsigned length = 0;
    if (EVP_Digest(text.text, text.length, plan->hash, &length, EVP_sha256(), NULL) != 1 || length != sizeof plan->hash)
        tc_raise(arena, TC_INTERNAL);
}

/* ---- the plan for people ----------------------------------------------------------------------------------------- */

enum { FEW_CHANNELS = 24, SHOWN = 8 };

static void put_line(tc_buffer *out, const char *label, const char *format, ...) TC_PRINTF(3, 4);

static void put_line(tc_buffer *out, const char *label, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tc_buffer_printf(out, "  %-12s %s\n", label, text);
}

static void put_wrapped(tc_buffer *out, const char *text, unsigned width, unsigned indent) {
    tc_text_layout layout = {.out = out, .width = width};
    tc_layout_paragraph(&layout, indent, text);
}

/* Which data, by how much, and what each contributes to D. */
static void put_protected(const tc_plan *plan, tc_buffer *out, int norm) {
    put_line(out, "hides", "one agent's data, in all %.0f rounds together (l%d):", plan->rounds, norm);
    for (size_t f = 0; f < plan->model->family_count; f++) {
        const tc_family *family = &plan->model->families[f];
        const tc_distance *found = &plan->distances[f];
        if (!found->protects)
            put_line(out, "", "%s protects nothing", family->name);
        for (size_t i = 0; i < family->datum_count; i++) {
            if (family->data[i].by != NULL)
                put_line(out, "", "%s.%s by %.6g: moves a round's states by %.6g%s", family->name, family->data[i].name,
                         tc_protected_by(family, &family->data[i]).least, family->data[i].distances[norm - 1],
                         family->data[i].distances[norm - 1] >= found->diameter ? ", all the box allows" : "");
        }
        if (found->protects && found->distance >= found->diameter)
            put_line(out, "", "%s: %.6g in all, all the box allows", family->name, found->diameter);
        else if (found->protects)
            put_line(out, "", "%s: %.6g in all, %.2g of it for inexact steps", family->name, found->distance,
                     found->steps);
    }
}

/* Messages by B, or states by D. */
static void put_hidden_by(const tc_plan *plan, tc_buffer *out) {
    const tc_promised_unit promised = tc_promised(out->arena, plan);
    const char *norm = promised.norm == NULL ? "" : tc_arena_format(out->arena, " in %s", promised.norm);
    if (plan->adjacency == TC_ADJACENCY_WITHIN) {
        put_line(out, "hides", "one agent's states within %.6g%s in each of all %.0f rounds", plan->adjacency_bound,
                 norm, plan->rounds);
        return;
    }
    put_line(out, "hides", "messages of %s, by %.6g%s over the run;",
             plan->adjacency == TC_ADJACENCY_ONE ? "one agent" : "all agents", plan->adjacency_bound, norm);
    if (!isnan(promised.every_round))
        put_line(out, "", "of a change that persists in all %.0f rounds, %.3g a round", plan->rounds,
                 promised.every_round);
}

static void put_heading(const tc_plan *plan, tc_buffer *out) {
    bool none = plan->mechanism == TC_MECHANISM_NONE;
    put_line(out, "noise", "%s, %s calibration, on %s", tc_mechanism_name(plan->mechanism),
             tc_calibration_name(plan->calibration), tc_placement_name(plan->placement));
    put_line(out, "method", "%s", tc_method_name(plan->method));
    if (none) {
        put_line(out, "private", "NO");
        return;
    }
    put_line(out, "promise", "%s%s", tc_promise_text(out->arena, plan),
             plan->calibration == TC_PUBLISHED ? "" : " for all that leaves the cloud");
    if (plan->adjacency == TC_ADJACENCY_AGENT)
        put_line(out, "hides", "everything one agent does in all %.0f rounds%s", plan->rounds,
                 tc_relies_on_caps(plan) ? " in its public set" : "");
    else if (plan->adjacency == TC_ADJACENCY_DATA)
        put_protected(plan, out, plan->mechanism == TC_MECHANISM_GAUSSIAN ? 2 : 1);
    else
        put_hidden_by(plan, out);
    static const char *const words[] = {
        [TC_WORD_VOID] = "NO", [TC_WORD_NAME_ONLY] = "in name only", [TC_WORD_PRIVATE] = "yes"};
    put_line(out, "private", "%s", words[tc_judge_plan(plan)]);
}

static void put_channel(tc_buffer *out, const tc_channel *channel) {
    tc_buffer_puts(out, "  ");
    tc_text_name(out, channel->name, 26);
    tc_buffer_printf(out, " %10.5g %12.5g %12.5g %10llu\n", channel->sensitivity, channel->scale, channel->variance,
                     (unsigned long long)channel->entries);
}

static void put_channels(const tc_plan *plan, tc_buffer *out) {
    if (plan->channel_count == 0)
        return;
    tc_buffer_printf(out, "\n  %-26s %10s %12s %12s %10s\n", "system", "moves by", "scale", "variance", "entries");
    size_t shown = plan->channel_count <= FEW_CHANNELS ? plan->channel_count : SHOWN;
    for (size_t i = 0; i < shown; i++)
        put_channel(out, &plan->channels[i]);
    if (shown == plan->channel_count)
        return;
    double least = INFINITY, most = 0;
    for (size_t i = shown; i < plan->channel_count; i++) {
        least = fmin(least, plan->channels[i].scale);
        most = fmax(most, plan->channels[i].scale);
    }
    tc_buffer_printf(out, "  ... and %zu more, scales from %.5g to %.5g\n", plan->channel_count - shown, least, most);
}

static void put_last(const tc_plan *plan, tc_buffer *out, unsigned width) {
    const tc_last_round *last = plan->last;
    if (last == NULL)
        return;
    tc_buffer_puts(out, "\n");
    put_wrapped(
        out,
        tc_arena_format(out->arena,
                        "last round: constraints at the agents' averages, noise of at most %.4g scales, %.3g %% "
                        "of %s, delta %s of the whole",
                        last->cut, 100 * last->share,
                        plan->mechanism == TC_MECHANISM_GAUSSIAN ? "the square of mu" : "epsilon",
                        tc_text_up(out->arena, last->delta)),
        width, 2);
    tc_buffer_printf(out, "  %-26s %10s %12s %12s\n", "system", "moves by", "scale", "at most");
    size_t count = last->plan->channel_count, shown = count <= FEW_CHANNELS ? count : SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const tc_channel *channel = &last->plan->channels[i];
        tc_buffer_puts(out, "  ");
        tc_text_name(out, channel->name, 26);
        tc_buffer_printf(out, " %10.5g %12.5g %12.5g\n", channel->sensitivity, channel->scale,
                         ldexp((double)channel->bound, channel->step_exponent));
    }
    if (shown < count)
        tc_buffer_printf(out, "  ... and %zu more\n", count - shown);
}

/* How many observers from the i-th on share a line: agents declared alone that pay alike, where there are many. */
static size_t observers_alike(const tc_plan *plan, size_t i) {
    enum { FEW = 20 };
    const tc_observer *first = &plan->observers[i], *next = first + 1;
    const tc_observer *end = plan->observers + plan->observer_count;
    if (plan->observer_count <= FEW || first->kind != TC_OBSERVER_AGENT || first->each_of != UINT32_MAX)
        return 1;
    while (next < end && next->kind == TC_OBSERVER_AGENT && next->each_of == UINT32_MAX &&
           next->epsilon == first->epsilon && next->delta == first->delta)
        next++;
    return (size_t)(next - first);
}

static void put_observers(const tc_plan *plan, tc_buffer *out, unsigned width) {
    bool has_delta = plan->mechanism == TC_MECHANISM_GAUSSIAN || plan->last != NULL;
    tc_buffer_printf(out, "\n  %-30s %-25s %10s%s\n", "observer", "about", "epsilon", has_delta ? "     delta" : "");
    for (size_t i = 0, alike; i < plan->observer_count; i += alike) {
        const tc_observer *o = &plan->observers[i];
        alike = observers_alike(plan, i);
        tc_buffer_puts(out, "  ");
        tc_text_name(
            out, alike == 1 ? o->who : tc_arena_format(out->arena, "each of %s .. %s", o->who, o[alike - 1].who), 30);
        tc_buffer_puts(out, " ");
        tc_text_name(out, o->about, 25);
        tc_buffer_printf(out, " %10s", tc_text_up(out->arena, o->epsilon));
        if (has_delta)
            tc_buffer_printf(out, " %9s", tc_text_up(out->arena, o->delta));
        tc_buffer_puts(out, "\n");
    }
    put_wrapped(out, TC_UNPRICED, width, 2);
}

static void put_prices(const tc_plan *plan, tc_buffer *out, unsigned width) {
    if (plan->price_count == 0)
        return;
    tc_buffer_puts(out, "\n  what the same noise charges an eavesdropper for hiding\n");
    bool of_one = plan->adjacency != TC_ADJACENCY_ENSEMBLE && !isnan(plan->rounds);
    double everything = of_one ? plan->prices[plan->price_count - 1].epsilon : (double)INFINITY;
    for (size_t i = 0; i < plan->price_count; i++) {
        if (plan->prices[i].epsilon > everything)
            continue; /* a larger distance than all that an agent can do */
        const char *epsilon = tc_text_up(out->arena, plan->prices[i].epsilon);
        put_wrapped(out, tc_arena_format(out->arena, "%s: epsilon %s", plan->prices[i].what, epsilon), width, 4);
    }
}

/* The same by family: boxes differ, and so do prices. */
static void put_family_prices(const tc_plan *plan, tc_buffer *out) {
    if (plan->family_price_count == 0)
        return;
    tc_buffer_printf(out, "\n  %-22s %10s %13s %13s %13s\n", "epsilon, by family", "range", "a whole state",
                     "a whole round", "the whole run");
    size_t shown = plan->family_price_count <= FEW_CHANNELS ? plan->family_price_count : SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const tc_family_price *price = &plan->family_prices[i];
        tc_buffer_puts(out, "  ");
        tc_text_name(out, price->family, 22);
        tc_buffer_printf(out, " %10.5g %13s %13s %13s\n", price->range, tc_text_up(out->arena, price->state_epsilon),
                         tc_text_up(out->arena, price->round_epsilon), tc_text_up(out->arena, price->run_epsilon));
    }
    if (shown < plan->family_price_count)
        tc_buffer_printf(out, "  ... and %zu more\n", plan->family_price_count - shown);
}

static void put_placements(const tc_plan *plan, tc_buffer *out, unsigned width) {
    tc_buffer text = tc_buffer_new(out->arena, 1 << 12);
    if (plan->mechanism == TC_MECHANISM_NONE || plan->calibration == TC_PUBLISHED)
        return;
    tc_buffer_puts(&text, "predicted variance, all rows scaled alike:");
    for (size_t i = 0; i < 3 && plan->facts[i].placement != TC_PLACEMENT_AUTO; i++) {
        const tc_placement_facts *facts = &plan->facts[i];
        tc_buffer_printf(&text, "%s %s ", i > 0 ? "," : "", tc_placement_name(facts->placement));
        if (facts->possible)
            tc_buffer_printf(&text, "%.4g%s", facts->total, facts->usable ? "" : " (of no use here)");
        else
            tc_buffer_puts(&text, "not possible");
    }
    tc_buffer_puts(out, "\n");
    put_wrapped(out, tc_buffer_text(&text), width, 2);
    if (plan->why_states != NULL)
        put_wrapped(out, plan->why_states, width, 2);
}

void tc_plan_text(const tc_plan *plan, tc_buffer *out, unsigned width) {
    width = width == 0 ? 80 : width;
    tc_buffer_puts(out, "Plan\n");
    if (plan->problem != NULL) {
        put_wrapped(out, plan->problem, width, 2);
        return;
    }
    put_heading(plan, out);
    for (size_t i = 0; i < plan->void_reason_count; i++)
        put_wrapped(out, plan->void_reasons[i], width, 15);
    for (size_t i = 0; i < plan->doubt_count; i++)
        put_wrapped(out, plan->doubts[i], width, 2);
    put_channels(plan, out);
    if (plan->channel_count > 0)
        tc_buffer_printf(out, "\n  lattice of states 2^%d; rounding adds at most %.2g of a sensitivity\n",
                         plan->state_exponent, plan->overhead);
    put_placements(plan, out, width);
    put_last(plan, out, width);
    put_observers(plan, out, width);
    put_prices(plan, out, width);
    put_family_prices(plan, out);
    for (size_t i = 0; i < plan->warning_count; i++) {
        tc_buffer_puts(out, "\n");
        put_wrapped(out, tc_arena_format(out->arena, "warning: %s", plan->warnings[i]), width, 2);
    }
}
