#include "base/json.h"
#include "base/search.h"
#include "base/text.h"
#include "plan/planner.h"

#include <openssl/evp.h>
#include <string.h>

/* ---- the public model -------------------------------------------------------------------------------------------- */

/* Expressions as numbered nodes, in an order that follows from the expressions alone: nodes of the DAG have other
 * numbers in the whole file than in the cloud's, and the certificate must not. */

#define UNSEEN UINT32_MAX

typedef struct node_table { /* of nodes that were written */
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_arena *arena;
    tc_buffer *out;
    uint32_t *number; /* by node of the DAG */
    uint32_t count;
    tc_expr *stack;
    uint32_t *columns; /* data columns of the family, in order of first use */
    uint32_t column_count;
    bool capped; /* prices rely on public sets */
} node_table;

static void write_string(tc_buffer *out, const char *text) {
    tc_json json = tc_json_new(out);
    tc_json_string(&json, NULL, text);
}

static void write_number(tc_buffer *out, double value) {
    tc_json json = tc_json_new(out);
    tc_json_number(&json, NULL, value);
}

static const char *op_name(tc_op op) {
    static const char *const names[] = {
        [TC_CONST] = "number", [TC_DATA] = "data",     [TC_STATE] = "state", [TC_COORD] = "input",
        [TC_SUM] = "input",    [TC_ADD] = "add",       [TC_SUB] = "sub",     [TC_MUL] = "mul",
        [TC_DIV] = "div",      [TC_NEG] = "neg",       [TC_POWI] = "pow",    [TC_POWR] = "power",
        [TC_EXP] = "exp",      [TC_LOG] = "log",       [TC_SQRT] = "sqrt",   [TC_HUBER] = "huber",
        [TC_CLAMP] = "clamp",  [TC_INSIDE] = "inside", [TC_LSE] = "lse",     [TC_SOFTMAX] = "softmax",
        [TC_HUMP] = "hump",    [TC_PAIR] = "pair",     [TC_NORM] = "norm",   [TC_DIRECTION] = "direction",
        [TC_BEND] = "bend",    [TC_POWD] = "powd",     [TC_ABS] = "abs",     [TC_MAX] = "max"};
    return names[op];
}

/* Inputs are sums in the model's order, then coordinates, increasing. */
static size_t input_of(const node_table *t, const tc_node *leaf) {
    const tc_derivatives *d = t->derivatives;
    const tc_outer_input *inputs = d->inputs;
    size_t at;
    TC_SEARCH(at, 0, d->input_count,
              inputs[at].op != leaf->op ? inputs[at].op == TC_SUM : inputs[at].index < leaf->u.index);
    if (at == d->input_count || inputs[at].op != leaf->op || inputs[at].index != leaf->u.index)
        tc_raise(t->arena, TC_INTERNAL);
    return at;
}

static uint32_t column_of(node_table *t, uint64_t column) {
    for (uint32_t i = 0; i < t->column_count; i++) {
        if (t->columns[i] == column)
            return i;
    }
    t->columns[t->column_count] = (uint32_t)column;
    return t->column_count++;
}

static void write_operands(node_table *t, tc_expr e) {
    const tc_dag *dag = t->model->dag;
    bool nary = tc_is_nary(tc_node_of(dag, e)->op);
    tc_buffer_puts(t->out, nary ? ", [" : "");
    for (size_t i = 0; i < tc_operand_count(dag, e); i++)
        tc_buffer_printf(t->out, "%s%u", i > 0 || !nary ? ", " : "", t->number[tc_operand(dag, e, i)]);
    tc_buffer_puts(t->out, nary ? "]" : "");
}

static void write_node(node_table *t, tc_expr e) {
    const tc_node *n = tc_node_of(t->model->dag, e);
    tc_op op = (tc_op)n->op;
    tc_buffer_printf(t->out, "%s\n[\"%s\"", t->count > 0 ? "," : "", op_name(op));
    write_operands(t, e);
    if (op == TC_CONST || op == TC_POWR) {
        tc_buffer_puts(t->out, ", ");
        write_number(t->out, n->u.value);
    } else if (op == TC_POWI) {
        tc_buffer_printf(t->out, ", %lld", (long long)n->u.exponent);
    } else if (op == TC_DATA) {
        tc_buffer_printf(t->out, ", %u", column_of(t, n->u.index));
    } else if (op == TC_STATE || op == TC_SOFTMAX || op == TC_DIRECTION || op == TC_POWD) {
        tc_buffer_printf(t->out, ", %llu", (unsigned long long)n->u.index);
    } else if (op == TC_COORD || op == TC_SUM) {
        tc_buffer_printf(t->out, ", %zu", input_of(t, n));
    } else if (op == TC_BEND) {
        tc_buffer_printf(t->out, ", %llu, %llu", (unsigned long long)(n->u.index >> 32),
                         (unsigned long long)(n->u.index & UINT32_MAX));
    }
    tc_buffer_puts(t->out, "]");
    t->number[e] = t->count++;
}

/* Operands first, from left to right: the order is the expression's own. */
static void write_nodes(node_table *t, tc_expr root) {
    size_t depth = 0;
    if (t->number[root] == UNSEEN)
        t->stack[depth++] = root;
    while (depth > 0) {
        tc_expr e = t->stack[depth - 1];
        size_t operands = tc_operand_count(t->model->dag, e), i = 0;
        while (i < operands && t->number[tc_operand(t->model->dag, e, i)] != UNSEEN)
            i++;
        if (i < operands) {
            t->stack[depth++] = tc_operand(t->model->dag, e, i);
            continue;
        }
        depth--;
        if (t->number[e] == UNSEEN)
            write_node(t, e);
    }
}

static void open_table(node_table *t, size_t columns) {
    memset(t->number, 0xff, t->model->dag->count * sizeof *t->number);
    t->count = t->column_count = 0;
    t->columns = TC_NEW(t->arena, uint32_t, columns + 1);
    tc_buffer_puts(t->out, "\"nodes\": [");
}

/* ---- families ---------------------------------------------------------------------------------------------------- */

static void write_values(tc_buffer *out, const double *values, size_t count) {
    tc_json json = tc_json_new(out);
    tc_json_numbers(&json, NULL, values, count);
}

/* A number for all members, or a list with one for each. */
static void write_coefs(tc_buffer *out, const char *key, const tc_coef *coefs, size_t dim, size_t members) {
    tc_buffer_printf(out, ",\n\"%s\": [", key);
    for (size_t c = 0; c < dim; c++) {
        tc_buffer_puts(out, c > 0 ? ", " : "");
        if (coefs[c].column != NULL)
            write_values(out, coefs[c].column, members);
        else
            write_number(out, coefs[c].value);
    }
    tc_buffer_puts(out, "]");
}

/* a.x <= b, only where prices rely on it: then a for each state, and b. */
static void write_public_set(tc_arena *arena, tc_buffer *out, const tc_family *family) {
    const tc_set_piece *set = tc_public_set(family);
    if (set == NULL)
        return;
    tc_coef *weights = TC_NEW(arena, tc_coef, family->dim);
    for (size_t c = 0; c < set->count; c++)
        weights[set->first + c] = set->center[c];
    write_coefs(out, "public_set", weights, family->dim, family->count);
    write_coefs(out, "public_bound", &set->radius, 1, family->count);
}

static void write_names(tc_buffer *out, const tc_family *family) {
    tc_buffer_puts(out, ",\n\"names\": [");
    for (size_t k = 0; family->member_names != NULL && k < family->count; k++) {
        tc_buffer_puts(out, k > 0 ? ", " : "");
        write_string(out, family->member_names[k]);
    }
    tc_buffer_puts(out, "]");
}

static void write_slopes(node_table *t, const tc_first *first, size_t count) {
    tc_buffer_puts(t->out, ",\n\"slopes\": [");
    for (size_t i = 0; i < count; i++)
        tc_buffer_printf(t->out, "%s[%u, %u, %u]", i > 0 ? ", " : "", first[i].row, first[i].column,
                         t->number[first[i].value]);
    tc_buffer_puts(t->out, "]");
}

static void write_family(node_table *t, size_t f, bool slopes) {
    const tc_family *family = &t->model->families[f];
    const tc_family_derivatives *d = &t->derivatives->families[f];
    tc_buffer_puts(t->out, f > 0 ? ",\n{\"name\": " : "\n{\"name\": ");
    write_string(t->out, family->name);
    tc_buffer_printf(t->out, ", \"indexed\": %s, \"members\": %zu, \"states\": %zu",
                     family->is_family ? "true" : "false", family->count, family->dim);
    write_names(t->out, family);
    write_coefs(t->out, "lower", family->lower, family->dim, family->count);
    write_coefs(t->out, "upper", family->upper, family->dim, family->count);
    if (t->capped)
        write_public_set(t->arena, t->out, family);
    tc_buffer_puts(t->out, ",\n");
    open_table(t, family->column_count);
    for (size_t b = 0; b < d->body_count; b++)
        write_nodes(t, d->bodies[b]);
    for (size_t i = 0; slopes && i < d->body_first_count; i++)
        write_nodes(t, d->body_first[i].value);
    tc_buffer_puts(t->out, "],\n\"sums\": [");
    for (size_t b = 0; b < d->body_count; b++)
        tc_buffer_printf(t->out, "%s[%u, %u]", b > 0 ? ", " : "", d->sums[b], t->number[d->bodies[b]]);
    tc_buffer_puts(t->out, "]");
    write_slopes(t, d->body_first, slopes ? d->body_first_count : 0);
    tc_buffer_puts(t->out, ",\n\"data\": [");
    for (uint32_t i = 0; i < t->column_count; i++) {
        tc_buffer_puts(t->out, i > 0 ? ",\n" : "");
        write_values(t->out, family->columns[t->columns[i]].values, family->count);
    }
    tc_buffer_puts(t->out, "]}");
}

/* ---- outer functions --------------------------------------------------------------------------------------------- */

static void write_inputs(node_table *t) {
    const tc_derivatives *d = t->derivatives;
    tc_buffer_puts(t->out, "],\n\"inputs\": [");
    for (size_t i = 0; i < d->input_count; i++) {
        tc_buffer_puts(t->out, i > 0 ? ", " : "");
        if (d->inputs[i].op == TC_SUM) {
            tc_buffer_printf(t->out, "{\"sum\": %llu}", (unsigned long long)d->inputs[i].index);
            continue;
        }
        const tc_family *family = tc_family_of_coord(t->model, d->inputs[i].index);
        size_t offset = d->inputs[i].index - family->first_coord;
        tc_buffer_printf(t->out, "{\"state\": [%zu, %zu, %zu]}", (size_t)(family - t->model->families),
                         offset % family->count, offset / family->count);
    }
    tc_buffer_puts(t->out, "],\n");
}

static void write_constraints(node_table *t) {
    tc_buffer_puts(t->out, "],\n\"constraints\": [");
    for (size_t j = 0; j < t->model->constraint_count; j++) {
        tc_buffer_puts(t->out, j > 0 ? ",\n[" : "\n[");
        write_string(t->out, t->model->constraints[j].name);
        tc_buffer_printf(t->out, ", %u]", t->number[t->model->constraints[j].outer]);
    }
    tc_buffer_puts(t->out, "]");
}

static void write_model(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives, tc_buffer *out) {
    const tc_model *model = plan->model;
    size_t nodes = model->dag->count + 1;
    bool slopes = false;
    for (size_t i = 0; i < plan->channel_count; i++)
        slopes = slopes || plan->channels[i].kind == TC_CHANNEL_JACOBIAN;
    node_table t = {.model = model,
                    .derivatives = derivatives,
                    .arena = arena,
                    .out = out,
                    .number = TC_NEW(arena, uint32_t, nodes),
                    .stack = TC_NEW(arena, tc_expr, nodes),
                    .capped = tc_relies_on_caps(plan)};
    tc_buffer_puts(out, "{\"families\": [");
    for (size_t f = 0; f < model->family_count; f++)
        write_family(&t, f, slopes);
    write_inputs(&t);
    open_table(&t, 0);
    for (size_t j = 0; j < model->constraint_count; j++)
        write_nodes(&t, model->constraints[j].outer);
    for (size_t o = 0; slopes && o < derivatives->outer_first_count; o++)
        write_nodes(&t, derivatives->outer_first[o].value);
    write_constraints(&t);
    write_slopes(&t, derivatives->outer_first, slopes ? derivatives->outer_first_count : 0);
    tc_buffer_puts(out, "}\n");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

const char *tc_certificate_problem(const tc_plan *plan) {
    if (plan->problem != NULL)
        return "there is no plan";
    if (plan->mechanism == TC_MECHANISM_NONE)
        return "a plan without noise promises nothing";
    return plan->is_private ? NULL : "the plan is not private";
}

static void write_agent(const tc_plan *plan, size_t agent, tc_buffer *out) {
    const tc_family *family = tc_family_of_agent(plan->model, agent);
    tc_buffer_printf(out, "[%zu, %zu]", (size_t)(family - plan->model->families), agent - family->first_agent);
}

/* What each observer of the plan's list sees and owns, in the same order. */
static void write_views(const tc_plan *plan, tc_buffer *out) {
    tc_buffer_puts(out, "[");
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *o = &plan->observers[i];
        tc_buffer_puts(out, i > 0 ? ",\n{" : "\n{");
        if (o->each_of != UINT32_MAX) {
            tc_buffer_printf(out, "\"each_of\": %u}", o->each_of);
            continue;
        }
        tc_buffer_puts(out, "\"agents\": [");
        for (size_t k = 0; k < o->agent_count; k++) {
            tc_buffer_puts(out, k > 0 ? ", " : "");
            write_agent(plan, o->agents[k], out);
        }
        tc_buffer_puts(out, "]}");
    }
    tc_buffer_puts(out, "]");
}

static void write_hash(tc_arena *arena, const char *key, const tc_buffer *text, tc_buffer *out) {
    unsigned char hash[32];
    char hex[2 * sizeof hash + 1];
    unsigned length = 0;
    if (EVP_Digest(text->text, text->length, hash, &length, EVP_sha256(), NULL) != 1 || length != sizeof hash)
        tc_raise(arena, TC_INTERNAL);
    tc_hexadecimal(hex, hash, sizeof hash);
    tc_buffer_printf(out, "\"%s\": \"%s\",\n", key, hex);
}

void tc_certificate_text(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives, tc_buffer *out) {
    tc_buffer canonical = tc_buffer_new(arena, SIZE_MAX / 4), model = tc_buffer_new(arena, SIZE_MAX / 4);
    tc_plan_canonical(plan, &canonical);
    write_model(arena, plan, derivatives, &model);
    tc_buffer_puts(out, plan->last != NULL ? TC_CERTIFICATE_MARK_LAST "\n" : TC_CERTIFICATE_MARK "\n");
    write_hash(arena, "hash", &canonical, out);
    write_hash(arena, "model_hash", &model, out);
    tc_buffer_puts(out, "\"views\": ");
    write_views(plan, out);
    tc_buffer_puts(out, ",\n\"plan\": ");
    tc_buffer_add(out, canonical.text, canonical.length);
    tc_buffer_puts(out, ", \"model\": ");
    tc_buffer_add(out, model.text, model.length);
    tc_buffer_puts(out, "}\n");
}
