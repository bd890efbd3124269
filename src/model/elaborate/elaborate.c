#include "model/elaborate/elaborate.h"

#include <math.h>
#include <string.h>

static void elaborate_role(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    const tc_statement *role = NULL;
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next) {
        if (s->kind != TC_STATEMENT_ROLE)
            continue;
        bool cloud = strcmp(s->name->text, "cloud") == 0, agent = strcmp(s->name->text, "agent") == 0;
        if (role != NULL)
            tc_error(elaborator->diagnostics, s->keyword, "a file has one role");
        else if (!cloud && !agent)
            tc_error(elaborator->diagnostics, s->name_span, "a role is 'cloud' or 'agent'");
        role = s;
        model->role = cloud ? TC_ROLE_CLOUD : TC_ROLE_AGENT;
    }
}

/* What a cloud's file and an agent's file may not hold. */
static void check_role(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    for (const tc_statement *s = elaborator->syntax->first; s != NULL; s = s->next) {
        if (model->role == TC_ROLE_CLOUD && s->is_private)
            tc_error(elaborator->diagnostics, s->keyword, "a cloud's file holds nothing private");
        if (model->role == TC_ROLE_AGENT && s->kind == TC_STATEMENT_CONSTRAINT)
            tc_error(elaborator->diagnostics, s->keyword,
                     "an agent's file holds no constraints: the cloud alone knows them");
        if (model->role == TC_ROLE_AGENT && s->kind == TC_STATEMENT_AGENTS && s->is_family)
            tc_error(elaborator->diagnostics, s->keyword, "an agent's file describes one agent");
    }
    for (size_t b = 0; b < model->family_count && model->role != TC_ROLE_AGENT; b++) {
        for (const tc_statement *s = elaborator->blocks[b].statement->block; s != NULL; s = s->next) {
            if (s->kind == TC_STATEMENT_COLUMN)
                tc_error(elaborator->diagnostics, s->keyword,
                         "a column stands in an agent's file alone, where 'tacit split' writes a member's row; write "
                         "'param'");
        }
    }
    if (model->role == TC_ROLE_AGENT && model->family_count > 1)
        tc_error(elaborator->diagnostics, elaborator->blocks[1].statement->name_span,
                 "an agent's file describes one agent");
    if (model->family_count == 0)
        tc_error(elaborator->diagnostics, (tc_span){0, 0}, "this file describes no agent; write 'agent name { ... }'");
}

static void lay_out(tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        tc_family *family = &model->families[f];
        family->first_agent = model->agent_count;
        family->first_coord = model->state_count;
        model->agent_count += family->count;
        model->state_count += family->count * family->dim;
    }
}

/* Names from data files must not be names of other agents. */
static void check_agent_names(tc_elaborator *elaborator) {
    tc_model *model = elaborator->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; family->member_names != NULL && k < family->count; k++) {
            const char *name = family->member_names[k];
            tc_name *global = tc_name_of(elaborator->arena, elaborator->syntax, name, strlen(name));
            if (global->global != NULL && global->global->kind == TC_DEFINES_FAMILY) {
                tc_error(elaborator->diagnostics, family->span,
                         "row %zu of the data of '%s' is called '%s', like another "
                         "agent",
                         k + 1, family->name, name);
                return;
            }
            if (global->agent_of != 0 && global->agent_of != f + 1) {
                tc_error(elaborator->diagnostics, family->span,
                         "two agents are called '%s', one of '%s' and one of '%s'", name,
                         model->families[global->agent_of - 1].name, family->name);
                return;
            }
            global->agent_of = (uint32_t)f + 1;
        }
    }
}

static size_t count_named_families(const tc_model *model) {
    size_t count = 0;
    for (size_t f = 0; f < model->family_count; f++)
        count += model->families[f].member_names != NULL;
    return count;
}

void tc_elaborate(tc_model *model, tc_diagnostics *diagnostics, const tc_monitor *monitor, const tc_limits *limits) {
    tc_elaborator elaborator = {.arena = model->arena,
                                .model = model,
                                .dag = model->dag,
                                .diagnostics = diagnostics,
                                .monitor = monitor,
                                .limits = limits,
                                .values = {model->arena, model->dag, diagnostics},
                                .syntax = model->syntax};
    elaborate_role(&elaborator);
    tc_collect_definitions(&elaborator);
    check_role(&elaborator);
    model->dag->realm = TC_REALM_PARAMS;
    for (tc_definition *d = elaborator.definitions; d != NULL; d = d->next)
        tc_need_definition(&elaborator, d, d->statement->name_span);
    for (size_t b = 0; b < model->family_count; b++) {
        model->dag->realm = (uint32_t)b + 1;
        tc_elaborate_states(&elaborator, &elaborator.blocks[b]);
    }
    if (model->family_count > 1 && count_named_families(model) > 0)
        check_agent_names(&elaborator);
    lay_out(model);
    for (size_t b = 0; b < model->family_count; b++) {
        model->dag->realm = (uint32_t)b + 1;
        tc_elaborate_block(&elaborator, &elaborator.blocks[b]);
    }
    model->dag->realm = TC_REALM_SHARED;
    for (tc_definition *d = elaborator.definitions; d != NULL; d = d->next) {
        if (d->kind == TC_DEFINES_CONSTRAINT)
            tc_elaborate_constraint(&elaborator, d);
    }
    tc_elaborate_settings(&elaborator);
    /* A line that vanished without a word would be a wrong problem. */
    if (elaborator.dropped && diagnostics->errors == 0)
        tc_raise(model->arena, TC_INTERNAL);
    model->dag->origin = (tc_span){0, 0};
}
