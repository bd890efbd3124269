#include "calculus/tape/program_code.h"

#include "calculus/tape/evaluate_double.inc.h"
#include "calculus/tape/evaluate_nary.inc.h"

#include <string.h>

/* One run: the instructions do not read each other's results. */
#define EACH(formula)                                                                                                  \
    for (size_t i = 0; i < count; i++) {                                                                               \
        double x = work[operands[i].a], y = work[operands[i].b];                                                       \
        r[i] = (formula);                                                                                              \
    }                                                                                                                  \
    break
#define EACH_ALONE(formula)                                                                                            \
    for (size_t i = 0; i < count; i++) {                                                                               \
        double x = work[operands[i].a];                                                                                \
        r[i] = (formula);                                                                                              \
    }                                                                                                                  \
    break

static void run_nary(const tc_program *program, const tc_run *run, const tc_operands *operands, const double *work,
                     double *restrict r, double *restrict gathered) {
    for (size_t i = 0; i < run->count; i++) {
        const uint32_t *words = program->words + operands[i].a;
        for (size_t j = 0; j < words[2]; j++)
            gathered[j] = work[words[3 + j]];
        r[i] = apply_nary(run->op, gathered, words[2], (uint64_t)words[0] << 32 | words[1]);
    }
}

static double real_at(const tc_program *program, uint32_t word) {
    double value;
    memcpy(&value, program->words + word, sizeof value);
    return value;
}

static void run_rare(const tc_program *program, const tc_run *run, const tc_operands *operands, const double *work,
                     double *restrict r) {
    size_t count = run->count;
    switch (run->op) {
    case TC_POWI:
        EACH_ALONE(POWER_WHOLE(x, (int32_t)operands[i].b));
    case TC_POWR:
        EACH_ALONE(POWER_REAL(x, real_at(program, operands[i].b)));
    case TC_EXP:
        EACH_ALONE(EXP(x));
    case TC_LOG:
        EACH_ALONE(LOG(x));
    case TC_SQRT:
        EACH_ALONE(SQRT(x));
    case TC_HUBER:
        EACH(HUBER(x, y));
    case TC_CLAMP:
        EACH(CLAMP(x, y));
    case TC_INSIDE:
        EACH(INSIDE(x, y));
    case TC_HUMP:
        EACH_ALONE(HUMP(x));
    case TC_PAIR:
        EACH(PAIR(x, y));
    default:
        break; /* run_nary */
    }
}

static void gather(const tc_gather *pieces, size_t count, const double *from, double *work) {
    for (size_t i = 0; i < count; i++) {
        const double *source = from + pieces[i].from;
        double *target = work + pieces[i].to;
        for (size_t j = 0; j < pieces[i].count; j++)
            target[j] = source[j];
    }
}

void tc_program_eval(const tc_program *program, const double *coords, const double *sums, double *work, double *out) {
    gather(program->coords, program->coords_count, coords, work);
    gather(program->sums, program->sums_count, sums, work);
    const tc_operands *operands = program->operands;
    double *results = work + program->first_result;
    for (const tc_run *run = program->runs, *end = run + program->run_count; run < end; run++) {
        size_t count = run->count;
        double *restrict r = results; /* what it writes, no instruction of this run reads */
        switch (run->op) {
        case TC_ADD:
            EACH(ADD(x, y));
        case TC_SUB:
            EACH(SUB(x, y));
        case TC_MUL:
            EACH(MUL(x, y));
        case TC_DIV:
            EACH(DIV(x, y));
        case TC_NEG:
            EACH_ALONE(NEGATE(x));
        case TC_RUN_SQUARE:
            EACH_ALONE(SQUARE(x));
        default:
            if (tc_is_nary(run->op))
                run_nary(program, run, operands, work, r, work + program->first_result + program->result_count);
            else
                run_rare(program, run, operands, work, r);
        }
        operands += count;
        results += count;
    }
    for (size_t i = 0; i < program->root_count; i++)
        out[i] = work[program->roots[i]];
}
