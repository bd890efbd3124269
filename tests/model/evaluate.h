/* Plain recursion over the DAG, for small problems: an independent reading of what the nodes mean. */
#ifndef TC_TESTS_MODEL_EVALUATE_H
#define TC_TESTS_MODEL_EVALUATE_H

#include "model/model.h"

#include <math.h>

typedef struct point {
    const tc_model *model;
    const double *x; /* by coordinate */
    const tc_family *family;
    size_t member;
} point;

static inline double value_of(const point *p, tc_expr e) {
    const tc_node *n = tc_node_of(p->model->dag, e);
    double a = tc_operand_count(p->model->dag, e) > 0 ? value_of(p, tc_operand(p->model->dag, e, 0)) : 0;
    double b = tc_operand_count(p->model->dag, e) > 1 ? value_of(p, tc_operand(p->model->dag, e, 1)) : 0;
    double total = 0;
    switch ((tc_op)n->op) {
    case TC_CONST:
        return n->u.value;
    case TC_DATA:
        return p->family->columns[n->u.index].values[p->member];
    case TC_STATE:
        return p->x[tc_coord_of(p->family, p->member, n->u.index)];
    case TC_COORD:
        return p->x[n->u.index];
    case TC_SUM: {
        const tc_inner_sum *sum = &p->model->sums[n->u.index];
        point inner = *p;
        inner.family = &p->model->families[sum->family];
        for (inner.member = 0; inner.member < inner.family->count; inner.member++)
            total += value_of(&inner, sum->body);
        return total;
    }
    case TC_ADD:
        return a + b;
    case TC_SUB:
        return a - b;
    case TC_MUL:
        return a * b;
    case TC_DIV:
        return a / b;
    case TC_NEG:
        return -a;
    case TC_POWI:
        return pow(a, (double)n->u.exponent);
    case TC_POWR:
        return pow(a, n->u.value);
    case TC_EXP:
        return exp(a);
    case TC_LOG:
        return log(a);
    case TC_SQRT:
        return sqrt(a);
    case TC_HUBER:
        return fabs(a) <= b ? a * a / 2 : b * (fabs(a) - b / 2);
    case TC_LSE:
        for (size_t i = 0; i < tc_operand_count(p->model->dag, e); i++)
            total += exp(value_of(p, tc_operand(p->model->dag, e, i)));
        return log(total);
    case TC_NORM:
        for (size_t i = 0; i < tc_operand_count(p->model->dag, e); i++)
            total = hypot(total, value_of(p, tc_operand(p->model->dag, e, i)));
        return total;
    case TC_POWD:
        return n->u.index == 0 ? pow(a, b) : NAN;
    case TC_ABS:
        return fabs(a);
    case TC_MAX:
        return fmax(a, b);
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_DIRECTION:
    case TC_BEND:
        break;
    }
    return NAN;
}

static inline double constraint_at(const tc_model *model, size_t j, const double *x) {
    point p = {model, x, NULL, 0};
    return value_of(&p, model->constraints[j].outer);
}

static inline double objective_at(const tc_model *model, size_t family, size_t member, const double *x) {
    point p = {model, x, &model->families[family], member};
    return value_of(&p, model->families[family].objective);
}

#endif
