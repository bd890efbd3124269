/* The bound as JSON for programs and as text for people. */
#include "theory/bound.h"

#include "base/text.h"

#include <stdio.h>

/* The constants; those without a meaning are in JSON alone. */
static const struct {
    const char *symbol;
    size_t offset;
    const char *meaning;
} constants[] = {
    {"L_G", offsetof(tc_bound_constants, lipschitz), "Lipschitz constant of the direction G on X x M"},
    {"L_H", offsetof(tc_bound_constants, curvature), "largest curvature of the Lagrangian in x"},
    {"L_J", offsetof(tc_bound_constants, slope), "largest slope of the constraints (K^g in l2)"},
    {"L_f", offsetof(tc_bound_constants, objective_curvature), NULL},
    {"L_g", offsetof(tc_bound_constants, constraint_curvature), NULL},
    {"R", offsetof(tc_bound_constants, dual_radius), "dual radius: multipliers sum to at most this"},
    {"M_xi", offsetof(tc_bound_constants, reach), "distance of 0 from the farthest point of X x M"},
    {"D_z", offsetof(tc_bound_constants, diameter), "diameter of X x M"},
    {"K_w", offsetof(tc_bound_constants, noise), "mean square of the noise in one round's direction, at most"},
    {"K_w_prices", offsetof(tc_bound_constants, price_noise), NULL},
    {"K_w_constraints", offsetof(tc_bound_constants, constraint_noise), NULL},
};
enum { CONSTANTS = sizeof constants / sizeof *constants };

static double constant_at(const tc_bound_constants *c, size_t i) {
    return *(const double *)(const void *)((const char *)c + constants[i].offset);
}

/* ---- JSON ---- */

static void json_estimate(tc_json *json, const char *key, const tc_bound_estimate *e) {
    tc_json_open_object(json, key);
    tc_json_number(json, "expected_squared_error", e->error);
    tc_json_number(json, "expected_error", sqrt(e->error));
    tc_json_number(json, "tail", e->tail);
    tc_json_number(json, "confidence", TC_BOUND_CONFIDENCE);
    tc_json_number(json, "radius", e->radius);
    tc_json_number(json, "radius_forever", e->radius_forever);
    tc_json_number(json, "within", e->within);
    tc_json_number(json, "probability", e->probability);
    tc_json_number(json, "probability_forever", e->probability_forever);
    tc_json_close_object(json);
}

/* A round may be far beyond what is counted in integers: its power of ten stands beside it. */
static void json_round(tc_json *json, const char *key, const char *power_key, double k) {
    tc_json_number(json, key, k);
    tc_json_number(json, power_key, log10(k));
}

static void json_result(tc_json *json, const tc_bound_estimate *e) {
    json_estimate(json, "estimate", e);
    json_round(json, "valid_from", "valid_from_log10", e->valid_from);
    json_round(json, "informative_from", "informative_from_log10", e->informative_from);
    tc_json_bool(json, "vacuous", e->vacuous);
    tc_json_string(json, "because", e->because);
}

static void json_constants(tc_json *json, const tc_bound_constants *c) {
    tc_json_open_object(json, "constants");
    for (size_t i = 0; i < CONSTANTS; i++)
        tc_json_number(json, constants[i].symbol, constant_at(c, i));
    tc_json_close_object(json);
}

static void json_schedule(tc_json *json, const tc_schedule *s) {
    tc_json_open_object(json, "schedule");
    tc_json_number(json, "alpha_bar", s->regularization);
    tc_json_number(json, "gamma_bar", s->step);
    tc_json_number(json, "c1", s->regularization_decay);
    tc_json_number(json, "c2", s->step_decay);
    tc_json_close_object(json);
}

void tc_bound_json(const tc_bound *bound, tc_json *json) {
    tc_json_number(json, "rounds", bound->rounds);
    json_schedule(json, &bound->schedule);
    tc_json_open_array(json, "conditions");
    for (size_t i = 0; i < TC_BOUND_CONDITIONS; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "name", bound->conditions[i].name);
        tc_json_string(json, "inequality", bound->conditions[i].inequality);
        tc_json_bool(json, "holds", bound->conditions[i].holds);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_bool(json, "conditions_hold", bound->conditions_hold);
    tc_json_bool(json, "summable", bound->summable);
    tc_json_bool(json, "applies", bound->constants.problem == NULL);
    tc_json_string(json, "problem", bound->constants.problem);
    json_constants(json, &bound->constants);
    tc_json_number(json, "regularization", bound->regularization);
    tc_json_number(json, "gap", bound->gap);
    tc_json_bool(json, "outside_dual_radius", bound->outside_radius);
    json_result(json, &bound->tight);
    tc_json_open_object(json, "published");
    json_result(json, &bound->published);
    tc_json_close_object(json);
}

/* ---- text ---- */

enum { DIGITS = 4 };

static const char *number(tc_arena *arena, double value) {
    char text[32];
    return tc_arena_format(arena, "%s", tc_shown(text, value, 1, DIGITS));
}

static const char *round_text(tc_arena *arena, double k) {
    if (!isfinite(k))
        return isnan(k) ? "-" : "never";
    if (k < 1e9)
        return tc_arena_format(arena, "%.0f", k);
    return tc_arena_format(arena, "10^%.1f", ceil(10 * log10(k)) / 10);
}

static void text_verdict(const tc_bound *b, const tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    const tc_bound_estimate *e = &b->tight;
    const char *rounds = round_text(arena, b->rounds);
    double trivial = b->constants.diameter * b->constants.diameter;
    if (e->vacuous) {
        tc_layout_paragraph(
            layout, 0,
            tc_arena_format(arena, "vacuous: for %s rounds this bound says nothing. %c%s.", rounds,
                            e->because[0] >= 'a' && e->because[0] <= 'z' ? e->because[0] - 'a' + 'A' : e->because[0],
                            e->because + 1));
        return;
    }
    tc_layout_paragraph(
        layout, 0,
        tc_arena_format(arena,
                        "After %s rounds the mean squared distance to xi_T, the solution of the problem "
                        "regularised with alpha_T, is at most %s, where %s is trivial.%s",
                        rounds, number(arena, e->error), number(arena, trivial),
                        b->conditions_hold ? "" : " But a condition for convergence FAILS."));
}

static void text_conditions(const tc_bound *b, const tc_text_layout *layout) {
    const tc_schedule *s = &b->schedule;
    tc_buffer_printf(layout->out, "\nConditions, for alpha_k = %.6g k^-%.6g and gamma_k = %.6g k^-%.6g\n",
                     s->regularization, s->regularization_decay, s->step, s->step_decay);
    for (size_t i = 0; i < TC_BOUND_CONDITIONS; i++)
        tc_buffer_printf(layout->out, "  %-5s %-50s %s\n", b->conditions[i].holds ? "holds" : "FAILS",
                         b->conditions[i].name, b->conditions[i].inequality);
    tc_buffer_printf(layout->out, "  %-5s %-50s %s\n", b->summable ? "holds" : "FAILS",
                     "sum of sigma_k < infinity (for all later rounds)", "c1 + c2 < 1, c2 > 1/2");
}

static void text_constants(const tc_bound *b, const tc_text_layout *layout) {
    char text[32];
    tc_buffer_puts(layout->out, "\nConstants, rounded up\n");
    for (size_t i = 0; i < CONSTANTS; i++) {
        if (constants[i].meaning == NULL)
            continue;
        tc_buffer_printf(layout->out, "  %-5s %11s  ", constants[i].symbol,
                         tc_shown(text, constant_at(&b->constants, i), 1, DIGITS));
        tc_layout_wrap(layout, constants[i].meaning, 21, 21);
    }
}

static void text_row(const tc_text_layout *layout, const char *what, const char *tight, const char *published) {
    tc_buffer_printf(layout->out, "  %-49s %13s %13s\n", what, tight, published);
}

/* Four digits, rounded down. */
static const char *share(tc_arena *arena, double probability) {
    return tc_arena_format(arena, "%.4f", floor(probability * 1e4) / 1e4);
}

static void text_estimates(const tc_bound *b, const tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    const tc_bound_estimate *t = &b->tight, *p = &b->published;
    tc_buffer_printf(layout->out, "\n  %-49s %13s %13s\n", "the bound", "tight", "as published");
    text_row(layout, "rounds contract from round", round_text(arena, t->valid_from), round_text(arena, p->valid_from));
    text_row(layout, "it says something after round", round_text(arena, t->informative_from),
             round_text(arena, p->informative_from));
    text_row(layout, "E|z(T+1) - xi_T|^2 is at most", number(arena, t->error), number(arena, p->error));
    text_row(layout, "with probability 0.95, |z(T+1) - xi_T| is at most", number(arena, t->radius),
             number(arena, p->radius));
    text_row(layout, "... and for all later rounds at once",
             isinf(t->radius_forever) ? "-" : number(arena, t->radius_forever),
             isinf(p->radius_forever) ? "-" : number(arena, p->radius_forever));
    text_row(layout, tc_arena_format(arena, "|z(T+1) - xi_T| <= %.4g with a probability of", t->within),
             share(arena, t->probability), share(arena, p->probability));
    text_row(layout, "... and for all later rounds at once", share(arena, t->probability_forever),
             share(arena, p->probability_forever));
}

/* Nothing is known about xi_T where an assumption fails. */
static void text_distance(const tc_bound *b, const tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    if (b->constants.problem != NULL)
        return;
    if (b->outside_radius)
        tc_layout_paragraph(layout, 0,
                            tc_arena_format(arena,
                                            "Warning: the solution's multipliers sum to more than R = %s. The distance "
                                            "is to xi_T, and xi_T does not tend to the solution z_0, but to the best "
                                            "point whose multipliers stay within R.",
                                            number(arena, b->constants.dual_radius)));
    else
        tc_layout_paragraph(
            layout, 0,
            tc_arena_format(arena,
                            "The distance is to xi_T, not to the solution z_0: xi_T tends to z_0, at no known "
                            "rate. What is known is that xi_T is within %s of optimal (its saddle gap is at "
                            "most alpha_T M_xi^2 / 4, alpha_T = %s).",
                            number(arena, b->gap), number(arena, b->regularization)));
}

static void text_notes(const tc_bound *b, const tc_text_layout *layout) {
    tc_buffer_puts(layout->out, "\n");
    text_distance(b, layout);
    tc_layout_paragraph(layout, 0,
                        "The bound speaks of the algorithm in real numbers: rounding messages to their lattice is "
                        "left out.");
}

void tc_bound_text(const tc_bound *bound, tc_buffer *out, unsigned width) {
    tc_text_layout layout = {.out = out, .width = width == 0 ? 80 : width};
    text_verdict(bound, &layout);
    text_conditions(bound, &layout);
    text_constants(bound, &layout);
    text_estimates(bound, &layout);
    text_notes(bound, &layout);
}
