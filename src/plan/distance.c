/* How far one agent's states of a round may differ in the units `agent:D` and `data` (docs/proofs/composition.md). */
#include "analysis/data/data.h"
#include "plan/planner.h"

/* Both worlds' steps are off by e each, and an error stays as it is in later rounds, at worst: 2 e T in l2. */
static double step_errors(const tc_family *family, double rounds, bool euclidean) {
    double each = tc_mul_up(TC_STEP_ERROR, tc_box_diameter(family, 2));
    double all = tc_mul_up(tc_mul_up(2, rounds), each);
    return euclidean ? all : tc_mul_up(tc_sqrt_up((double)family->dim), all);
}

static bool add_data(tc_planner *p, const tc_family *family, bool euclidean, tc_distance *made) {
    if (family->data_fault != NULL) {
        tc_refuse(p, true, "nothing can be promised about the data of %s: %s", family->name, family->data_fault);
        return false;
    }
    for (size_t i = 0; i < family->datum_count; i++) {
        const tc_datum *datum = &family->data[i];
        if (datum->by == NULL)
            continue;
        double distance = datum->distances[euclidean];
        if (!(distance >= 0 && isfinite(distance))) {
            tc_refuse(p, true,
                      "no distance is known for %s.%s: how far its owner's states move when it changes; hide something "
                      "else, for example --adjacency agent",
                      family->name, datum->name);
            return false;
        }
        made->protects = true;
        made->data = tc_add_up(made->data, distance);
    }
    if (made->protects) {
        made->steps = step_errors(family, p->plan->rounds, euclidean);
        made->distance = tc_add_up(made->data, made->steps);
    }
    return true;
}

/* A range of no width is public: whoever protects such data alone hides nothing. */
static bool hides_something(const tc_family *family) {
    bool found = false;
    for (size_t i = 0; i < family->datum_count; i++)
        found = found || (family->data[i].by != NULL && tc_protected_by(family, &family->data[i]).most > 0);
    return found;
}

bool tc_plan_distances(tc_planner *p) {
    tc_plan *plan = p->plan;
    bool euclidean = plan->mechanism == TC_MECHANISM_GAUSSIAN, protects = false;
    plan->distances = TC_NEW(p->arena, tc_distance, p->model->family_count + 1);
    for (size_t f = 0; f < p->model->family_count; f++) {
        tc_distance *made = &plan->distances[f];
        if (plan->adjacency == TC_ADJACENCY_WITHIN)
            *made = (tc_distance){.protects = true, .distance = plan->adjacency_bound};
        else if (!add_data(p, &p->model->families[f], euclidean, made))
            return false;
        made->diameter = tc_box_diameter(&p->model->families[f], euclidean ? 2 : 1);
        protects = protects || plan->adjacency == TC_ADJACENCY_WITHIN || hides_something(&p->model->families[f]);
    }
    if (!protects)
        tc_refuse(p, true,
                  "the unit data hides what agents protect, and none protects anything: say what and how far, for "
                  "example 'range need in [0, 40]' and 'protect need by 5' in an agents block");
    return protects;
}

double *tc_reaches(tc_arena *arena, const tc_plan *plan, double step) {
    const tc_model *model = plan->model;
    bool euclidean = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    if (plan->distances == NULL)
        return NULL;
    double *reach = TC_NEW(arena, double, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (!plan->distances[f].protects)
            continue; /* the same states in both worlds, to the last bit */
        double dim = (double)family->dim, rounding = tc_mul_up(step, euclidean ? tc_sqrt_up(dim) : dim);
        reach[f] = fmin(tc_add_up(plan->distances[f].distance, rounding), tc_box_diameter(family, euclidean ? 2 : 1));
    }
    return reach;
}

double tc_least_distance(const tc_plan *plan) {
    double least = INFINITY;
    for (size_t f = 0; plan->distances != NULL && f < plan->model->family_count; f++) {
        if (plan->distances[f].protects && plan->distances[f].distance > 0)
            least = fmin(least, plan->distances[f].distance);
    }
    return least;
}

double tc_lattice_share(const tc_plan *plan, int state_exponent) {
    double worst = 0, step = ldexp(1, state_exponent);
    for (size_t f = 0; plan->distances != NULL && f < plan->model->family_count; f++) {
        double dim = (double)plan->model->families[f].dim;
        double rounding = step * (plan->mechanism == TC_MECHANISM_GAUSSIAN ? sqrt(dim) : dim);
        if (plan->distances[f].protects && plan->distances[f].distance > 0)
            worst = fmax(worst, rounding / plan->distances[f].distance);
    }
    return worst;
}
