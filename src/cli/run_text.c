#include "base/text.h"
#include "api/point.h"
#include "cli/run_answer.h"

#include <string.h>

static const char *const mechanism_names[] = {"", "no noise", "laplace noise", "gaussian noise"};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* "laplace noise, published method, tight calibration"; "laplace noise, tacit method, margin 0.1" */
static const char *manner_of(tc_arena *arena, const tc_run_answer *answer) {
    const tc_plan *plan = answer->plan;
    const char *noise = mechanism_names[plan->mechanism], *margin = tc_margin_text(arena, answer->method);
    if (plan->method == TC_METHOD_PUBLISHED)
        return tc_arena_format(arena, "%s, published method, %s calibration", noise,
                               plan->calibration == TC_PUBLISHED ? "published" : "tight");
    return tc_arena_format(arena, "%s, tacit method%s%s", noise, margin != NULL ? ", margin " : "",
                           margin != NULL ? margin : "");
}

static void text_method_warnings(const tc_method_facts *method, tc_buffer *out) {
    for (size_t i = 0; method != NULL && i < method->warning_count; i++)
        tc_options_wrap(out, tc_arena_format(out->arena, "warning: %s", method->warnings[i]), 0);
}

void tc_run_answer_begin(const tc_run_answer *answer, tc_buffer *out) {
    const tc_model *model = answer->study->model;
    tc_options_wrap(out,
                    tc_arena_format(out->arena, "%s: %zu agent%s with %zu state%s, %zu constraint%s; %s; %.0f round%s.",
                                    base_name(model->source.path), model->agent_count, tc_plural(model->agent_count),
                                    model->state_count, tc_plural(model->state_count), model->constraint_count,
                                    tc_plural(model->constraint_count), manner_of(out->arena, answer),
                                    (double)answer->study->rounds, tc_plural(answer->study->rounds)),
                    0);
    tc_options_wrap(
        out, tc_arena_format(out->arena, "Guarantee of what is released: %s.", tc_card_line(out->arena, answer->card)),
        0);
    text_method_warnings(answer->method, out);
    if (answer->many)
        return;
    tc_buffer_printf(out, "\ncheckpoints (%s)\n", TC_NOT_RELEASED);
    tc_buffer_printf(out, "%12s %12s %12s %15s %15s\n", "round", "x error", "mu error", "objective", "max violation");
}

static const char *shown(char text[32], double value, int digits) {
    if (value != value)
        return "-";
    return tc_shown(text, value, 0, digits);
}

void tc_run_answer_row(const tc_row *row, tc_buffer *out) {
    char x[32], mu[32], objective[32], violation[32];
    tc_buffer_printf(out, "%12.0f %12s %12s %15s %15s\n", (double)row->k, shown(x, row->x_error, 4),
                     shown(mu, row->mu_error, 4), shown(objective, row->objective, 6),
                     shown(violation, row->max_violation, 4));
}

/* ---- the end of a single run ------------------------------------------------------------------------------------ */

/* Constraints that have a price or are violated; all of them where full. */
static void text_constraints(const tc_model *model, const tc_row *row, bool full, tc_buffer *out) {
    size_t wanted = 0, printed = 0;
    tc_buffer_printf(out, "\nconstraints: multipliers, and values g <= 0 (%s)\n", TC_NOT_RELEASED);
    tc_point_name(out, "");
    tc_buffer_printf(out, " %*s %*s\n", TC_POINT_CELL_WIDTH - 1, "mu", TC_POINT_CELL_WIDTH - 1, "g");
    for (size_t j = 0; j < model->constraint_count; j++) {
        if (!full && !(row->multipliers[j] > 0) && !(row->constraints[j] > 0))
            continue;
        if (wanted++ >= TC_POINT_SHOWN && !full)
            continue;
        tc_point_name(out, model->constraints[j].name);
        tc_buffer_printf(out, " %*.4g %*.4g%s\n", TC_POINT_CELL_WIDTH - 1, row->multipliers[j], TC_POINT_CELL_WIDTH - 1,
                         row->constraints[j], row->constraints[j] > 0 ? "  violated" : "");
        printed++;
    }
    tc_point_left_out(out, wanted - printed);
    size_t rest = model->constraint_count - wanted;
    if (rest == 1)
        tc_buffer_printf(out, "  the %s one holds without a price\n", wanted == 0 ? "only" : "other");
    else if (rest > 1)
        tc_buffer_printf(out, "  %s %zu hold without a price\n", wanted == 0 ? "all" : "the other", rest);
}

/* A sentence from released data alone, which anybody may have. */
const char *tc_feasibility_sentence(tc_arena *arena, const tc_model *model, const tc_feasibility *found) {
    size_t worst = 0;
    for (size_t j = 1; j < model->constraint_count; j++)
        worst = found->bounds[j] > found->bounds[worst] ? j : worst;
    const char *how = found->is_exact ? "" : " (to second order in the averaged noise)";
    return found->shown
               ? tc_arena_format(arena,
                                 "What was released shows that the answer satisfies all constraints, with "
                                 "probability %g%s.",
                                 found->probability, how)
               : tc_arena_format(arena,
                                 "What was released does not show that the answer satisfies all constraints: "
                                 "with probability %g%s each is at most its bound, and that of %s is %.4g.",
                                 found->probability, how, model->constraints[worst].name, found->bounds[worst]);
}

static void text_single(const tc_run_answer *answer, bool full, tc_buffer *out) {
    const tc_model *model = answer->study->model;
    const tc_record *record = answer->records;
    tc_buffer_printf(out, "\nstates after %.0f round%s%s (%s)\n", (double)record->rounds, tc_plural(record->rounds),
                     answer->method != NULL ? ", averaged over them" : "", TC_NOT_RELEASED);
    tc_point_states(model, record->x, full, out);
    if (model->constraint_count > 0)
        text_constraints(model, tc_record_last(record), full, out);
    if (record->feasibility.probability > 0)
        tc_options_wrap(out, tc_feasibility_sentence(out->arena, model, &record->feasibility), 0);
}

/* Of runs of which released data show that they are feasible, how many are? */
static void text_feasible_runs(const tc_run_answer *answer, tc_buffer *out) {
    size_t judged = 0, shown = 0, held = 0, kept = 0;
    double probability = 0;
    for (size_t i = 0; i < answer->finished_count; i++) {
        const tc_record *record = &answer->finished[i];
        const tc_row *last = tc_record_last(record);
        if (!(record->feasibility.probability > 0) || last == NULL)
            continue;
        probability = record->feasibility.probability;
        judged++;
        held += last->max_violation == 0;
        shown += record->feasibility.shown;
        kept += record->feasibility.shown && last->max_violation == 0;
    }
    if (judged == 0)
        return;
    tc_buffer_puts(out, "\n");
    tc_options_wrap(out,
                    tc_arena_format(out->arena,
                                    "%zu of %zu answers satisfy all constraints. What was released shows it, with "
                                    "probability %g, of %zu; of these %zu do.",
                                    held, judged, probability, shown, kept),
                    0);
}

/* ---- many runs -------------------------------------------------------------------------------------------------- */

static void text_quantiles(const char *name, const tc_quantiles *q, tc_buffer *out) {
    char text[5][32];
    tc_buffer_printf(out, "  %-14s %11s %11s %11s %11s %11s\n", name, shown(text[0], q->min, 4),
                     shown(text[1], q->q10, 4), shown(text[2], q->median, 4), shown(text[3], q->q90, 4),
                     shown(text[4], q->max, 4));
}

static void text_summary(const tc_row_quantiles *summary, tc_buffer *out) {
    tc_buffer_printf(out, "\nafter %.0f round%s, over %zu run%s (%s)\n", (double)summary->k, tc_plural(summary->k),
                     summary->runs, tc_plural(summary->runs), TC_NOT_RELEASED);
    tc_buffer_printf(out, "  %-14s %11s %11s %11s %11s %11s\n", "", "least", "10 %", "median", "90 %", "largest");
    text_quantiles("x error", &summary->x_error, out);
    text_quantiles("mu error", &summary->mu_error, out);
    text_quantiles("objective", &summary->objective, out);
    text_quantiles("max violation", &summary->max_violation, out);
}

static void text_bands(const tc_run_answer *answer, tc_buffer *out) {
    tc_buffer_printf(out, "\ncheckpoints: median, and 10 %% to 90 %% of the runs (%s)\n", TC_NOT_RELEASED);
    tc_buffer_printf(out, "%12s %32s %32s\n", "round", "x error", "mu error");
    for (size_t i = 0; i < answer->checkpoint_count; i++) {
        char text[6][32];
        tc_row_quantiles here =
            tc_rows_summarise(out->arena, answer->finished, answer->finished_count, answer->checkpoints[i]);
        if (here.runs == 0)
            break;
        const tc_quantiles *x = &here.x_error, *mu = &here.mu_error;
        tc_buffer_printf(out, "%12.0f %10s %10s %10s %10s %10s %10s\n", (double)here.k, shown(text[0], x->median, 4),
                         shown(text[1], x->q10, 4), shown(text[2], x->q90, 4), shown(text[3], mu->median, 4),
                         shown(text[4], mu->q10, 4), shown(text[5], mu->q90, 4));
    }
}

static void text_many(const tc_run_answer *answer, tc_buffer *out) {
    uint64_t rounds = answer->study->rounds;
    size_t failed = 0;
    tc_row_quantiles end = tc_rows_summarise(out->arena, answer->finished, answer->finished_count, rounds);
    tc_row_quantiles half = tc_rows_summarise(out->arena, answer->finished, answer->finished_count, rounds / 2);
    if (answer->finished_count > 0)
        text_bands(answer, out);
    if (half.runs > 0)
        text_summary(&half, out);
    if (end.runs > 0)
        text_summary(&end, out);
    else
        tc_buffer_puts(out, "\nNo run was finished.\n");
    text_feasible_runs(answer, out);
    for (size_t i = 0; i < answer->record_count; i++) {
        const tc_record *record = &answer->records[i];
        if (record->outcome != TC_ENGINE_DIVERGED)
            continue;
        if (failed++ < TC_POINT_SHOWN)
            tc_buffer_printf(out, "%s  seed %.0f diverged: %s\n", failed == 1 ? "\n" : "", (double)record->seed,
                             record->reason);
    }
    if (failed > TC_POINT_SHOWN)
        tc_buffer_printf(out, "  ... and %zu more\n", failed - TC_POINT_SHOWN);
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static void text_times(const tc_run_answer *answer, tc_buffer *out) {
    double rounds = 0;
    for (size_t i = 0; i < answer->record_count; i++)
        rounds += (double)answer->records[i].rounds;
    if (rounds > 0 && answer->run_seconds > 0)
        tc_buffer_printf(out, "\n%s: %.0f round%s in %.3g s, %.3g rounds/s on %zu thread%s\n", answer->outcome, rounds,
                         rounds == 1 ? "" : "s", answer->run_seconds, rounds / answer->run_seconds, answer->threads,
                         tc_plural(answer->threads));
    else
        tc_buffer_printf(out, "\n%s before the first round\n", answer->outcome);
    tc_buffer_printf(out, "before that: load %.3g s, analysis and plan %.3g s, reference %.3g s\n",
                     answer->study->load_seconds, answer->study->analyse_seconds, answer->study->solve_seconds);
}

void tc_run_answer_end(const tc_run_answer *answer, bool full, tc_buffer *out) {
    if (answer->records == NULL) {
        tc_options_wrap(out, tc_arena_format(out->arena, "Refused, and nothing was run: %s", answer->reason), 0);
    } else {
        if (answer->many)
            text_many(answer, out);
        else
            text_single(answer, full, out);
        text_times(answer, out);
        if (answer->reason != NULL)
            tc_options_wrap(out, tc_arena_format(out->arena, "%s: %s", answer->outcome, answer->reason), 0);
        if (answer->warning != NULL) {
            tc_buffer_puts(out, "\n");
            tc_options_wrap(out, answer->warning, 0);
        }
    }
    if (answer->entry != NULL) {
        tc_buffer_puts(out, "\n");
        tc_ledger_text(out->arena, answer->ledger, answer->recorded || answer->simulated ? NULL : answer->entry, out);
        if (answer->simulated)
            tc_buffer_puts(out, "  simulated runs are not entered\n");
    }
    if (answer->card == NULL)
        return;
    tc_buffer_puts(out, "\n");
    if (answer->whole_card)
        tc_card_text(answer->card, out);
    else
        tc_card_short(answer->card, "In short; the whole card: tacit plan, or --card.", out);
}
