/* The bound for people. */
#include "base/text.h"
#include "theory/bound.h"

#include <stdio.h>

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

/* The one sentence that matters stands first. */
static void put_verdict(const tc_bound *b, const tc_text_layout *layout) {
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

static void put_conditions(const tc_bound *b, const tc_text_layout *layout) {
    const tc_schedule *s = &b->schedule;
    tc_buffer_printf(layout->out, "\nConditions, for alpha_k = %.6g k^-%.6g and gamma_k = %.6g k^-%.6g\n",
                     s->regularization, s->regularization_decay, s->step, s->step_decay);
    for (size_t i = 0; i < TC_BOUND_CONDITIONS; i++)
        tc_buffer_printf(layout->out, "  %-5s %-50s %s\n", b->conditions[i].holds ? "holds" : "FAILS",
                         b->conditions[i].name, b->conditions[i].inequality);
    tc_buffer_printf(layout->out, "  %-5s %-50s %s\n", b->summable ? "holds" : "FAILS",
                     "sum of sigma_k < infinity (for all later rounds)", "c1 + c2 < 1, c2 > 1/2");
}

static void put_constant(const tc_text_layout *layout, const char *name, double value, const char *meaning) {
    char text[32];
    tc_buffer_printf(layout->out, "  %-5s %11s  ", name, tc_shown(text, value, 1, DIGITS));
    tc_layout_wrap(layout, meaning, 21, 21);
}

static void put_constants(const tc_bound *b, const tc_text_layout *layout) {
    const tc_bound_constants *c = &b->constants;
    tc_buffer_puts(layout->out, "\nConstants, rounded up\n");
    put_constant(layout, "L_G", c->lipschitz, "Lipschitz constant of the direction G on X x M");
    put_constant(layout, "L_H", c->curvature, "largest curvature of the Lagrangian in x");
    put_constant(layout, "L_J", c->slope, "largest slope of the constraints (K^g in l2)");
    put_constant(layout, "R", c->dual_radius, "dual radius: multipliers sum to at most this");
    put_constant(layout, "M_xi", c->reach, "distance of 0 from the farthest point of X x M");
    put_constant(layout, "D_z", c->diameter, "diameter of X x M");
    put_constant(layout, "K_w", c->noise, "mean square of the noise in one round's direction, at most");
}

static void put_row(const tc_text_layout *layout, const char *what, const char *tight, const char *published) {
    tc_buffer_printf(layout->out, "  %-49s %13s %13s\n", what, tight, published);
}

/* Four digits, rounded down. */
static const char *share(tc_arena *arena, double probability) {
    return tc_arena_format(arena, "%.4f", floor(probability * 1e4) / 1e4);
}

static void put_estimates(const tc_bound *b, const tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    const tc_bound_estimate *t = &b->tight, *p = &b->published;
    tc_buffer_printf(layout->out, "\n  %-49s %13s %13s\n", "the bound", "tight", "as published");
    put_row(layout, "rounds contract from round", round_text(arena, t->valid_from), round_text(arena, p->valid_from));
    put_row(layout, "it says something after round", round_text(arena, t->informative_from),
            round_text(arena, p->informative_from));
    put_row(layout, "E|z(T+1) - xi_T|^2 is at most", number(arena, t->error), number(arena, p->error));
    put_row(layout, "with probability 0.95, |z(T+1) - xi_T| is at most", number(arena, t->radius),
            number(arena, p->radius));
    put_row(layout, "... and for all later rounds at once",
            isinf(t->radius_forever) ? "-" : number(arena, t->radius_forever),
            isinf(p->radius_forever) ? "-" : number(arena, p->radius_forever));
    put_row(layout, tc_arena_format(arena, "|z(T+1) - xi_T| <= %.4g with a probability of", t->within),
            share(arena, t->probability), share(arena, p->probability));
    put_row(layout, "... and for all later rounds at once", share(arena, t->probability_forever),
            share(arena, p->probability_forever));
}

/* Nothing is known about xi_T where an assumption fails. */
static void put_distance(const tc_bound *b, const tc_text_layout *layout) {
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

static void put_notes(const tc_bound *b, const tc_text_layout *layout) {
    tc_buffer_puts(layout->out, "\n");
    put_distance(b, layout);
    tc_layout_paragraph(layout, 0,
                        "The bound speaks of the algorithm in real numbers: rounding messages to their lattice is "
                        "left out.");
}

static void put_horizon(const tc_bound_suggestion *s, const tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    if (isinf(s->possible_from)) {
        tc_layout_paragraph(layout, 2,
                            "No number of rounds below 10^64 was found for which a schedule of this kind says "
                            "something.");
        return;
    }
    const char *useful =
        isinf(s->useful_from)
            ? "no such number below 10^64 bounds the error by a tenth of D_z"
            : tc_arena_format(arena, "about 10^%.0f to bound the error by a tenth of D_z", log10(s->useful_from));
    tc_layout_paragraph(layout, 2,
                        tc_arena_format(arena,
                                        "With the best schedule for each number of rounds, about 10^%.0f rounds are "
                                        "needed for a bound that says something, and %s.",
                                        log10(s->possible_from), useful));
}

static void put_suggestion(const tc_bound *b, const tc_text_layout *layout) {
    tc_arena *arena = layout->out->arena;
    const tc_bound_suggestion *s = &b->suggestion;
    tc_buffer_puts(layout->out, "\nSuggestion, for --method published\n");
    if (!s->made) {
        tc_layout_paragraph(layout, 2, "None: the theorem does not apply.");
        return;
    }
    const tc_schedule *c = &s->schedule;
    char alpha[32], gamma[32], c1[32], c2[32];
    tc_shortest_number(alpha, c->regularization);
    tc_shortest_number(gamma, c->step);
    tc_shortest_number(c1, c->regularization_decay);
    tc_shortest_number(c2, c->step_decay);
    tc_buffer_printf(layout->out, "  --alpha-bar %s --gamma-bar %s --c1 %s --c2 %s\n", alpha, gamma, c1, c2);
    tc_buffer_printf(layout->out, "  schedule { alpha %s k^-%s; gamma %s k^-%s; rounds %.0f }\n", alpha, c1, gamma, c2,
                     b->rounds);
    double part = s->estimate.error / (b->constants.diameter * b->constants.diameter);
    tc_layout_paragraph(
        layout, 2,
        tc_arena_format(arena,
                        "It has the least bound found among schedules that meet all conditions and "
                        "regularise the last round no more than yours: E|z(T+1) - xi_T|^2 <= %s, which is "
                        "%.3g %% of the trivial bound.%s",
                        number(arena, s->estimate.error), 100 * part,
                        s->estimate.vacuous ? " Even this is vacuous." : ""));
    put_horizon(s, layout);
}

void tc_bound_text(const tc_bound *bound, tc_buffer *out, unsigned width) {
    tc_text_layout layout = {.out = out, .width = width == 0 ? 80 : width};
    put_verdict(bound, &layout);
    put_conditions(bound, &layout);
    put_constants(bound, &layout);
    put_estimates(bound, &layout);
    put_notes(bound, &layout);
    if (bound->suggested)
        put_suggestion(bound, &layout);
}
