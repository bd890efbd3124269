#include "api/solution.h"

#include <string.h>

enum { WIDTH = 80, SHOWN_AGENTS = 10, SHOWN_CONSTRAINTS = 10, SHOWN_NUMBERS = 6, NAME_WIDTH = 20 };

const char *tc_outcome_name(tc_reference_outcome outcome) {
    switch (outcome) {
#define X(code, name, text)                                                                                            \
    case code:                                                                                                         \
        return name;
        TC_REFERENCE_OUTCOMES(X)
#undef X
    }
    return "unknown";
}

const char *tc_outcome_text(tc_reference_outcome outcome) {
    switch (outcome) {
#define X(code, name, text)                                                                                            \
    case code:                                                                                                         \
        return text;
        TC_REFERENCE_OUTCOMES(X)
#undef X
    }
    return "";
}

/* A member's state, component after component, into x. */
static void gather(const tc_family *family, size_t member, const double *all, double *x) {
    for (size_t c = 0; c < family->dim; c++)
        x[c] = all[tc_coord_of(family, member, c)];
}

static size_t largest_dim(const tc_model *model) {
    size_t largest = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        if (model->families[f].dim > largest)
            largest = model->families[f].dim;
    }
    return largest;
}

static double sum_of_multipliers(const tc_model *model, const tc_reference *solution) {
    double sum = 0;
    for (size_t j = 0; j < model->constraint_count; j++)
        sum += solution->mu[j];
    return sum;
}

/* The private algorithm keeps mu in M = {mu >= 0, sum mu <= R}: with a smaller R it cannot arrive here. */
static bool outside_declared_radius(const tc_model *model, const tc_reference *solution) {
    return sum_of_multipliers(model, solution) > model->dual_radius + solution->residual;
}

void tc_solution_json(const tc_model *model, const tc_reference *solution, tc_json *json) {
    tc_arena *arena = json->out->arena;
    double *x = TC_NEW(arena, double, largest_dim(model));
    tc_buffer name = tc_buffer_new(arena, 1 << 20);
    tc_json_open_object(json, NULL);
    tc_json_string(json, "status", tc_outcome_name(solution->outcome));
    tc_json_number(json, "objective", solution->objective);
    tc_json_number(json, "residual", solution->residual);
    tc_json_number(json, "max_violation", solution->max_violation);
    tc_json_number(json, "norm_x", solution->norm_x);
    tc_json_number(json, "norm_mu", solution->norm_mu);
    tc_json_number(json, "sum_mu", sum_of_multipliers(model, solution));
    tc_json_bool(json, "outside_dual_radius", outside_declared_radius(model, solution));
    tc_json_count(json, "iterations", solution->iterations);
    tc_json_open_object(json, "x");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            name.length = 0;
            tc_agent_name(&name, family, k);
            gather(family, k, solution->x, x);
            tc_json_numbers(json, tc_buffer_text(&name), x, family->dim);
        }
    }
    tc_json_close_object(json);
    tc_json_numbers(json, "mu", solution->mu, model->constraint_count);
    tc_json_close_object(json);
}

/* Numbers in columns after a name; further lines are indented to the first column. */
static void text_numbers(tc_buffer *out, const double *values, size_t count, bool full) {
    size_t shown = full || count <= SHOWN_NUMBERS ? count : SHOWN_NUMBERS - 1;
    size_t per_line = (WIDTH - NAME_WIDTH) / 10;
    for (size_t i = 0; i < shown; i++) {
        if (i > 0 && i % per_line == 0)
            tc_buffer_printf(out, "\n%*s", NAME_WIDTH, "");
        tc_buffer_printf(out, "%10.4g", values[i]);
    }
    tc_buffer_puts(out, shown < count ? "  ...\n" : "\n");
}

static void text_name(tc_buffer *out, const char *name) {
    tc_buffer_printf(out, "  %-*s", NAME_WIDTH - 2, name);
    if (strlen(name) > NAME_WIDTH - 2)
        tc_buffer_printf(out, "\n%*s", NAME_WIDTH, "");
}

static void text_left_out(tc_buffer *out, size_t left_out) {
    if (left_out > 0)
        tc_buffer_printf(out, "  ... and %zu more; --full shows all\n", left_out);
}

static void text_states(const tc_model *model, const tc_reference *solution, bool full, tc_buffer *out) {
    double *x = TC_NEW(out->arena, double, largest_dim(model));
    tc_buffer name = tc_buffer_new(out->arena, 1 << 20);
    size_t shown = 0;
    tc_buffer_puts(out, "\nstates\n");
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count && (full || shown < SHOWN_AGENTS); k++, shown++) {
            name.length = 0;
            tc_agent_name(&name, family, k);
            gather(family, k, solution->x, x);
            text_name(out, tc_buffer_text(&name));
            text_numbers(out, x, family->dim, full);
        }
    }
    text_left_out(out, model->agent_count - shown);
}

/* Multipliers that are zero but for rounding are not worth a line. */
static void text_multipliers(const tc_model *model, const tc_reference *solution, bool full, tc_buffer *out) {
    double least = solution->residual > 1e-12 * solution->norm_mu ? solution->residual : 1e-12 * solution->norm_mu;
    size_t active = 0;
    for (size_t j = 0; j < model->constraint_count; j++)
        active += solution->mu[j] > least;
    tc_buffer_printf(out, "\nmultipliers: %zu of %zu constraints have a price\n", active, model->constraint_count);
    size_t shown = 0;
    for (size_t j = 0; j < model->constraint_count && (full || shown < SHOWN_CONSTRAINTS); j++) {
        if (!(solution->mu[j] > least) && !full)
            continue;
        text_name(out, model->constraints[j].name);
        tc_buffer_printf(out, "%10.4g\n", solution->mu[j]);
        shown++;
    }
    if (!full)
        text_left_out(out, active - shown);
}

void tc_solution_text(const tc_model *model, const tc_reference *solution, bool full, tc_buffer *out) {
    tc_buffer_printf(out, "%s: %s\n\n", tc_outcome_name(solution->outcome), tc_outcome_text(solution->outcome));
    tc_buffer_printf(out, "  objective           %.10g\n", solution->objective);
    tc_buffer_printf(out, "  residual            %.1e after %zu iterations\n", solution->residual,
                     solution->iterations);
    tc_buffer_printf(out, "  largest violation   %.1e\n", solution->max_violation);
    tc_buffer_printf(out, "  norm of x           %.6g\n", solution->norm_x);
    tc_buffer_printf(out, "  norm of mu          %.6g\n", solution->norm_mu);
    text_states(model, solution, full, out);
    if (model->constraint_count > 0)
        text_multipliers(model, solution, full, out);
    if (outside_declared_radius(model, solution))
        tc_buffer_printf(out,
                         "\nWarning: the multipliers sum to %.6g, more than the file's dual radius of %.6g.\n"
                         "A private run, which keeps them within it, cannot reach this solution.\n",
                         sum_of_multipliers(model, solution), model->dual_radius);
}
