/* What a promise or a run still needs, all of it at once; and options that have no effect under what was chosen. A file
 * may have settings that its choice of mechanism or method does not use: it serves several commands. */
#include "setup/setup.h"

#include <math.h>
#include <string.h>

/* ---- what is missing --------------------------------------------------------------------------------------------- */

enum { MOST_LACKS = 8 };

typedef struct lack {
    const char *alone; /* a sentence, where nothing else is missing; NULL: "`what` is missing: `how`" */
    const char *what, *how;
} lack;

typedef struct lack_list {
    tc_work *work;
    lack list[MOST_LACKS];
    size_t count;
} lack_list;

static void add(lack_list *lacks, const char *what, const char *how, const char *alone) {
    lacks->list[lacks->count++] = (lack){alone, what, how};
}

static bool is_missing(double option, double file) { return isnan(option) && isnan(file); }

static tc_adjacency unit_of(const tc_model *model, const tc_plan_options *options) {
    return options->adjacency != TC_ADJACENCY_UNSET ? options->adjacency : model->privacy.adjacency;
}

static void find_rounds(lack_list *lacks, const tc_model *model, const tc_plan_options *options, bool runs) {
    if (!is_missing(options->rounds, model->schedule.rounds))
        return;
    if (runs)
        add(lacks, "the number of rounds", "add 'schedule { rounds 1000 }' to the file, or --rounds 1000",
            "the number of rounds is not known: add 'rounds' to the schedule in the file, or --rounds");
    else if (unit_of(model, options) == TC_ADJACENCY_WITHIN || unit_of(model, options) == TC_ADJACENCY_DATA)
        add(lacks, "the number of rounds, which hiding what goes on in all of them needs",
            "add 'schedule { rounds 1000 }' to the file, or --rounds 1000",
            "hiding what goes on in all rounds needs their number: add 'rounds' to the schedule, or --rounds T");
    else if (unit_of(model, options) == TC_ADJACENCY_AGENT)
        add(lacks, "the number of rounds, which hiding an agent entirely needs",
            "add 'schedule { rounds 1000 }' to the file, or --rounds 1000",
            "hiding an agent entirely needs the number of rounds: add 'rounds' to the schedule, or --rounds T");
}

static void find_promise(lack_list *lacks, const tc_model *model, const tc_privacy_wishes *wishes) {
    const tc_plan_options *options = &wishes->plan;
    const tc_privacy *file = &model->privacy;
    bool lacks_unit = unit_of(model, options) == TC_ADJACENCY_UNSET;
    bool lacks_epsilon = !wishes->has_epsilons && is_missing(options->epsilon, file->epsilon);
    bool sweeps = strcmp(lacks->work->command, "sweep") == 0;
    tc_mechanism mechanism = tc_resolve_mechanism(model, options);
    if (mechanism == TC_MECHANISM_NONE)
        return;
    if (lacks_unit && lacks_epsilon && options->mechanism == TC_MECHANISM_UNSET &&
        file->mechanism == TC_MECHANISM_UNSET) {
        add(lacks, "what to promise",
            tc_arena_format(lacks->work->arena,
                            "add 'privacy { mechanism laplace; epsilon 1; adjacency one 1 }' to the file, or %s and "
                            "--adjacency one:1%s",
                            sweeps ? "--epsilons" : "--epsilon 1", sweeps ? "" : "; --mechanism none makes no noise"),
            "the file has no privacy block, and no options say what to promise: give --epsilon and --adjacency, or "
            "--mechanism none");
        return;
    }
    if (lacks_epsilon && sweeps)
        add(lacks, "epsilon", "add it to the privacy block, or --epsilons, or --from and --to",
            "around which epsilon? Neither the promise nor the file says: give epsilons, or from and to");
    else if (lacks_epsilon)
        add(lacks, "epsilon", "add it to the privacy block, or --epsilon E", NULL);
    if (mechanism == TC_MECHANISM_GAUSSIAN && is_missing(options->delta, file->delta))
        add(lacks, "the delta of Gaussian noise", "add 'delta 1e-6' to the privacy block, or --delta 1e-6", NULL);
    if (lacks_unit)
        add(lacks, "the unit of privacy",
            "say what is to be hidden, for example 'adjacency one 1' in the privacy block, or --adjacency one:1", NULL);
}

/* Method tacit sets its steps itself. */
static void find_steps(lack_list *lacks, const tc_model *model, const tc_plan_options *options) {
    const tc_schedule *schedule = &model->schedule;
    const struct {
        double value, decay;
        const char *what, *option, *decay_option, *example;
    } needed[] = {
        {schedule->step, schedule->step_decay, "step", "--gamma-bar", "--c2", "gamma 0.01 k^-0.52"},
        {schedule->regularization, schedule->regularization_decay, "regularization", "--alpha-bar", "--c1",
         "alpha 0.1 k^-0.3"},
    };
    const char *why = strcmp(lacks->work->command, "bound") == 0
                          ? "; the theorem is about the published method, which takes its steps from there"
                          : "";
    if (tc_resolve_method(options) == TC_METHOD_TACIT)
        return;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        bool value = isnan(needed[i].value), decay = isnan(needed[i].decay);
        if (!value && !decay)
            continue;
        const char *options_text = tc_arena_format(lacks->work->arena, "%s%s%s", value ? needed[i].option : "",
                                                   value && decay ? " and " : "", decay ? needed[i].decay_option : "");
        const char *what =
            tc_arena_format(lacks->work->arena, "the %s%s", value ? "" : "decay of the ", needed[i].what);
        add(lacks, what,
            tc_arena_format(lacks->work->arena, "add '%s' to the schedule in the file, or %s%s", needed[i].example,
                            options_text, why),
            tc_arena_format(lacks->work->arena, "%s is not known: add '%.5s' to the schedule in the file, or %s%s",
                            what, needed[i].example, options_text, why));
    }
}

/* The whole problem can do without a public radius, unless none can be computed: so it is named beside other things
 * only, and judged when it is looked for. */
static void find_radius(lack_list *lacks, const tc_model *model) {
    if (lacks->count > 0 && model->constraint_count > 0 && isnan(model->dual_radius) && !tc_radius_is_promised(model))
        add(lacks, "a public dual radius, which keeps the multipliers bounded",
            tc_arena_format(
                lacks->work->arena,
                "add 'dual radius R' to the file, or %s to every agent, chosen from what everybody may know",
                tc_radius_promises(model)),
            NULL);
}

static tc_status tell(const lack_list *lacks) {
    const lack *first = lacks->list;
    if (lacks->count == 0)
        return TC_OK;
    if (lacks->count == 1)
        return tc_work_refuse(lacks->work,
                              first->alone != NULL
                                  ? first->alone
                                  : tc_arena_format(lacks->work->arena, "%s is missing: %s", first->what, first->how));
    tc_work_say(lacks->work, "%zu things are missing:", lacks->count);
    for (size_t i = 0; i < lacks->count; i++)
        tc_work_say(lacks->work, "  %s: %s", lacks->list[i].what, lacks->list[i].how);
    return TC_BAD_USAGE;
}

/* ---- what has no effect -------------------------------------------------------------------------------------------
 */

typedef struct stray { /* an option that was given */
    bool is_given;
    const char *name;
} stray;

/* "--c1 and --c2", or NULL for none. */
static const char *list_given(tc_arena *arena, const stray *options, size_t count) {
    tc_buffer list = tc_buffer_new(arena, 1 << 12);
    size_t left = 0, listed = 0;
    for (size_t i = 0; i < count; i++)
        left += options[i].is_given;
    for (size_t i = 0; i < count; i++) {
        if (!options[i].is_given)
            continue;
        left--;
        tc_buffer_printf(&list, "%s%s", listed++ == 0 ? "" : left == 0 ? " and " : ", ", options[i].name);
    }
    return listed == 0 ? NULL : tc_buffer_text(&list);
}

static bool refuse_strays(tc_work *work, const stray *options, size_t count, const char *why) {
    const char *list = list_given(work->arena, options, count);
    if (list != NULL)
        tc_work_say(work, "%s would change nothing: %s", list, why);
    return list != NULL;
}

static bool has_steps_in_vain(tc_work *work, const tc_privacy_wishes *wishes) {
    const tc_schedule *given = &wishes->schedule;
    const stray steps[] = {{!isnan(given->regularization), "--alpha-bar"},
                           {!isnan(given->step), "--gamma-bar"},
                           {!isnan(given->regularization_decay), "--c1"},
                           {!isnan(given->step_decay), "--c2"}};
    return tc_resolve_method(&wishes->plan) == TC_METHOD_TACIT &&
           refuse_strays(work, steps, sizeof steps / sizeof steps[0],
                         "method tacit sets its steps itself; leave them out, or take --method published");
}

static bool has_promise_in_vain(tc_work *work, const tc_model *model, const tc_plan_options *options) {
    const stray promises[] = {{!isnan(options->epsilon), "--epsilon"},
                              {!isnan(options->delta), "--delta"},
                              {options->adjacency != TC_ADJACENCY_UNSET, "--adjacency"},
                              {options->coalition_count > 0, "--coalition"},
                              {options->constants == TC_DECLARED, "--constants declared"}};
    const stray delta = {!isnan(options->delta), "--delta"};
    bool by_file = options->mechanism == TC_MECHANISM_UNSET;
    switch (tc_resolve_mechanism(model, options)) {
    case TC_MECHANISM_NONE:
        return refuse_strays(work, promises, sizeof promises / sizeof promises[0],
                             by_file ? "the file's mechanism is none, which makes no noise and promises nothing; add "
                                       "--mechanism laplace or --mechanism gaussian"
                                     : "--mechanism none makes no noise and promises nothing; leave one or the other "
                                       "out");
    case TC_MECHANISM_LAPLACE:
        return !options->certain &&
               refuse_strays(work, &delta, 1,
                             "Laplace noise keeps epsilon with delta 0; leave it out, or take --mechanism gaussian");
    case TC_MECHANISM_GAUSSIAN:
    case TC_MECHANISM_UNSET:
        break;
    }
    return false;
}

tc_status tc_check_wishes(tc_work *work, const tc_model *model, const tc_privacy_wishes *wishes, bool runs) {
    lack_list lacks = {.work = work};
    if (model->role == TC_ROLE_AGENT)
        return TC_OK; /* the plan says that this is the wrong file */
    bool in_vain = has_steps_in_vain(work, wishes);
    in_vain = has_promise_in_vain(work, model, &wishes->plan) || in_vain;
    if (in_vain)
        return TC_BAD_USAGE;
    find_rounds(&lacks, model, &wishes->plan, runs);
    find_promise(&lacks, model, wishes);
    if (runs) {
        find_steps(&lacks, model, &wishes->plan);
        find_radius(&lacks, model);
    }
    return tell(&lacks);
}
