/* z_0 by Tikhonov's regularisation: the saddle point of L + (a/2)|x|^2 - (b/2)|mu|^2 tends to the least-norm one as a
 * and b fall. Each component of the problem has weights a and b of its own. The interior-point method computes the
 * saddle point for small weights. Proximal steps, centred at the solution before, then undo the displacement by the
 * regularisation. They never move away from any solution, and do not move at all along directions in which there are
 * many solutions.
 * paper: Problem 0.1, eq:saddle */
#include "reference/reference.h"
#include "calculus/lift.h"
#include "solver/interior/interior.h"
#include "solver/search.h"

#include <math.h>
#include <string.h>

/* ---- the saddle point of least norm among all of them ---- */

/* A pull towards zero displaces the solution in proportion to its weight, or, where everything is polyhedral, not at
 * all once the weight is small. If it is too small, the pull is lost in rounding. Comparing two weights shows both: the
 * weight at which the solutions differ least is the one to trust, and their difference estimates the error. Components
 * of the problem are judged one by one.
 *
 * States and multipliers are pulled together first, which is enough for most problems. It is not enough if scales
 * differ widely: a pull that is weak for one component is strong for another. But optimal states and optimal
 * multipliers form a product set, so each side may be searched while the other one is held. */

/* One side of z = (x, mu) and how far it is from the least-norm solution, by estimate and in the 2-norm. */
typedef struct solution_side {
    size_t count;
    uint32_t *component; /* of the problem, by number */
    double *unit;        /* a typical size, by component */
    double *values, *before;
    double *change, *size, *least_change; /* by component */
    double *taken;                        /* the steadiest values so far */
    double error;
    bool is_settled, is_felt;
} solution_side;

typedef struct least_norm {
    tc_interior *solver;
    const tc_interior_options *options;
    size_t component_count;
    solution_side x, mu;
    size_t iterations;
    bool interrupted, was_usable; /* was_usable: the first solution */
} least_norm;

static solution_side new_side(tc_arena *arena, size_t count) {
    return (solution_side){.count = count,
                           .component = TC_NEW(arena, uint32_t, count),
                           .values = TC_NEW(arena, double, count),
                           .before = TC_NEW(arena, double, count),
                           .taken = TC_NEW(arena, double, count)};
}

static void add_components(tc_arena *arena, solution_side *side, size_t count) {
    side->unit = TC_NEW(arena, double, count);
    side->change = TC_NEW(arena, double, count);
    side->size = TC_NEW(arena, double, count);
    side->least_change = TC_NEW(arena, double, count);
}

static least_norm *new_search(tc_arena *arena, const tc_model *model, tc_interior *solver,
                              const tc_interior_options *options) {
    least_norm *search = TC_NEW(arena, least_norm, 1);
    *search = (least_norm){.solver = solver, .options = options};
    search->x = new_side(arena, model->state_count);
    search->mu = new_side(arena, model->constraint_count);
    search->component_count = tc_interior_components(solver, search->x.component, search->mu.component);
    add_components(arena, &search->x, search->component_count);
    add_components(arena, &search->mu, search->component_count);
    return search;
}

static double whole(const double *by_component, size_t count) {
    double sum = 0;
    for (size_t p = 0; p < count; p++)
        sum = hypot(sum, by_component[p]);
    return sum;
}

/* By component, how much the values have changed, and how large they are. Below 1e-8 of their unit they are zero. */
static void compare(solution_side *side, size_t components) {
    for (size_t p = 0; p < components; p++) {
        side->change[p] = 0;
        side->size[p] = isfinite(side->unit[p]) ? 1e-8 * side->unit[p] : 0;
    }
    for (size_t i = 0; i < side->count; i++) {
        uint32_t p = side->component[i];
        side->change[p] = hypot(side->change[p], side->values[i] - side->before[i]);
        side->size[p] = hypot(side->size[p], side->values[i]);
    }
}

static bool all_within(const double *change, const double *size, size_t components, double relative) {
    for (size_t p = 0; p < components; p++)
        if (!(change[p] <= relative * size[p]))
            return false;
    return true;
}

typedef void side_reader(const tc_interior *solver, double *values);

static void read_side(const least_norm *search, solution_side *side, side_reader *read) {
    memcpy(side->before, side->values, side->count * sizeof *side->values);
    read(search->solver, side->values);
}

static void judge_side(const least_norm *search, solution_side *side, bool felt) {
    compare(side, search->component_count);
    side->error = whole(side->change, search->component_count);
    side->is_felt = felt;
    side->is_settled = felt && all_within(side->change, side->size, search->component_count, 1e-7);
}

/* Accurate enough, even without the last digits. */
static bool is_usable(tc_interior_result result) {
    return result.gap <= 1e-22L && result.residual <= fmaxl(1e-13L, result.rounding);
}

enum { MOST_WEAKENINGS = 3 };

/* paper: the least-norm solution
 * The regularised solution, with ever weaker weights until it settles. The solver is left there. */
static void approach(least_norm *search) {
    tc_interior_result result = tc_interior_solve(search->solver, search->options);
    bool usable = is_usable(result), felt_x, felt_mu;
    search->iterations += result.iterations;
    search->interrupted = result.interrupted;
    search->was_usable = usable;
    tc_interior_units(search->solver, search->x.unit, search->mu.unit);
    read_side(search, &search->x, tc_interior_states);
    read_side(search, &search->mu, tc_interior_multipliers);
    search->x.error = search->mu.error = INFINITY;
    for (int step = 0; step < MOST_WEAKENINGS && !search->interrupted; step++) {
        result = tc_interior_weaken(search->solver, search->options, 0.1L);
        search->iterations += result.iterations;
        search->interrupted = result.interrupted;
        read_side(search, &search->x, tc_interior_states);
        read_side(search, &search->mu, tc_interior_multipliers);
        usable = usable && is_usable(result);
        tc_interior_felt(search->solver, fmaxl(result.gap, search->options->gap), &felt_x, &felt_mu);
        judge_side(search, &search->x, usable && felt_x);
        judge_side(search, &search->mu, usable && felt_mu);
        if (!usable || (search->x.is_settled && search->mu.is_settled))
            break;
    }
}

/* Takes the values of a component where they changed least. True once all have settled. */
static bool take_steadier(solution_side *side, size_t components) {
    compare(side, components);
    for (size_t i = 0; i < side->count; i++)
        if (side->change[side->component[i]] <= side->least_change[side->component[i]])
            side->taken[i] = side->values[i];
    for (size_t p = 0; p < components; p++)
        side->least_change[p] = fmin(side->least_change[p], side->change[p]);
    return all_within(side->least_change, side->size, components, 1e-9);
}

typedef tc_interior_result side_puller(tc_interior *solver, const tc_interior_options *options, tc_real strength);

static void search_side(least_norm *search, solution_side *side, side_puller *pull, side_reader *read) {
    const tc_real strongest = 1e-3L, weakest = 1e-15L;
    bool has_before = false;
    for (size_t p = 0; p < search->component_count; p++)
        side->least_change[p] = INFINITY;
    for (tc_real strength = strongest; strength > 0.5L * weakest && !search->interrupted; strength *= 1e-2L) {
        tc_interior_result result = pull(search->solver, search->options, strength);
        search->iterations += result.iterations;
        search->interrupted = result.interrupted;
        if (!is_usable(result))
            continue;
        read_side(search, side, read);
        if (has_before && take_steadier(side, search->component_count))
            break;
        has_before = true;
    }
    side->error = whole(side->least_change, search->component_count);
}

/* Takes the solver's iterate as the solution to search from. */
static void keep(least_norm *search) {
    tc_interior_keep(search->solver);
    tc_interior_states(search->solver, search->x.taken);
    tc_interior_multipliers(search->solver, search->mu.taken);
}

/* One side in a problem of its own, into its `taken`, while the other one is held at the solution kept. */
static void search_states(least_norm *search) {
    search_side(search, &search->x, tc_interior_least_states, tc_interior_states);
}

static void search_multipliers(least_norm *search) {
    if (search->mu.count > 0)
        search_side(search, &search->mu, tc_interior_least_multipliers, tc_interior_multipliers);
}

/* ---- the solution ---- */

typedef struct solution_attempt {
    tc_reference *best;
    tc_judge *judge;
    const tc_model *model;
    tc_interior *solver;
    tc_interior_options options;
    double tolerance;
    tc_team *team;
    bool is_lifted;
    double *x, *mu;
} solution_attempt;

static double norm(const double *v, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (long double)v[i] * (long double)v[i];
    return (double)sqrtl(sum);
}

/* Judges (x, mu), moved into X, and keeps it where it is the best so far. */
static double judge_point(solution_attempt *a) {
    tc_judge_repair(a->judge, a->x, a->mu);
    tc_certificate found = tc_judge_point(a->judge, a->x, a->mu);
    /* a point that cannot be judged is still a better guess than the start */
    if (!(found.residual < a->best->residual) && isfinite(a->best->residual))
        return found.residual;
    memcpy(a->best->x, a->x, a->model->state_count * sizeof *a->x);
    memcpy(a->best->mu, a->mu, a->model->constraint_count * sizeof *a->mu);
    a->best->objective = found.objective;
    a->best->max_violation = found.max_violation;
    a->best->worst = found.worst;
    a->best->residual = found.residual;
    return found.residual;
}

static double judge_iterate(solution_attempt *a) {
    tc_interior_states(a->solver, a->x);
    tc_interior_multipliers(a->solver, a->mu);
    return judge_point(a);
}

static bool all_sets_hold_points(tc_arena *arena, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        tc_set *set = tc_set_new(arena, &model->families[f]);
        double *witness = TC_NEW(arena, double, model->families[f].dim);
        tc_set_conflict conflict;
        for (size_t k = 0; k < model->families[f].count; k++) {
            tc_set_load(set, k);
            if (set->is_empty || (set->shape != TC_SHAPE_BOX && !tc_set_examine(set, witness, &conflict)))
                return false;
        }
    }
    return true;
}

/* Whether the problem is infeasible, or only hard: the largest margin of the constraints decides. */
static bool is_infeasible(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                          const tc_monitor *monitor, tc_reference *best) {
    bool *conflict = TC_NEW(arena, bool, model->constraint_count), *held = TC_NEW(arena, bool, model->agent_count);
    tc_mark mark = tc_arena_mark(arena);
    const tc_slater *slater = tc_slater_search(arena, model, derivatives, SIZE_MAX, monitor);
    bool infeasible =
        slater->outcome == TC_SLATER_EMPTY_SET || (slater->outcome == TC_SLATER_NONE && slater->margin < -1e-9);
    memcpy(conflict, slater->conflict, model->constraint_count * sizeof *conflict);
    memcpy(held, slater->held, model->agent_count * sizeof *held);
    best->conflict = slater->is_shown ? conflict : NULL;
    best->held = slater->is_shown ? held : NULL;
    tc_arena_rewind(arena, mark);
    return infeasible;
}

enum { MOST_ITERATIONS = 250, MOST_PROXIMAL_STEPS = 8 };

/* Undoes the displacement by the regularisation. False when interrupted. */
static bool polish(solution_attempt *a) {
    double residual = judge_iterate(a);
    /* one step more than the tolerance needs: it costs little and undoes most of the displacement */
    for (int step = 0; step < MOST_PROXIMAL_STEPS; step++) {
        bool enough = residual <= 1e-3 * a->tolerance;
        tc_interior_result result = tc_interior_proximal(a->solver, &a->options, step < 2 ? 0.1L : 1);
        a->best->iterations += result.iterations;
        double next = judge_iterate(a);
        if (result.interrupted)
            return false;
        if (enough || !(next < 0.5 * residual))
            break;
        residual = next;
    }
    return true;
}

static double distance(const double *v, const double *w, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((long double)v[i] - (long double)w[i]) * ((long double)v[i] - (long double)w[i]);
    return (double)sqrtl(sum);
}

/* Joins the two sides after separate searches. False when interrupted. */
static bool combine(solution_attempt *a, const least_norm *search) {
    memcpy(a->x, search->x.taken, search->x.count * sizeof *a->x);
    memcpy(a->mu, search->mu.taken, search->mu.count * sizeof *a->mu);
    a->best->residual = INFINITY;
    if (judge_point(a) <= 1e-3 * a->tolerance)
        return true;
    tc_interior_result result = tc_interior_near(a->solver, &a->options, search->x.taken, search->mu.taken);
    a->best->iterations += result.iterations;
    return !result.interrupted && polish(a);
}

/* Searches each side that has not settled in a problem of its own. That needs a solution to start from: if scales made
 * the first one inaccurate, it searches the states first. False when interrupted. */
static bool search_sides(solution_attempt *a, least_norm *search) {
    size_t before = search->iterations;
    keep(search);
    if (a->best->residual > 1e-3 * a->tolerance) {
        search_states(search);
        if (search->interrupted || !combine(a, search))
            return false;
        keep(search);
        search->x.is_settled = search->mu.is_settled = false;
    }
    if (!search->mu.is_settled)
        search_multipliers(search);
    if (!search->x.is_settled)
        search_states(search);
    a->best->iterations += search->iterations - before;
    return !search->interrupted && combine(a, search);
}

/* Replaces the best point by the one of least norm, unless that turns out to be no solution. False when interrupted. */
static bool refine(tc_arena *arena, solution_attempt *a, least_norm *search) {
    size_t n = a->model->state_count, m = a->model->constraint_count;
    tc_reference base = *a->best;
    base.x = memcpy(TC_NEW(arena, double, n), a->best->x, n * sizeof(double));
    base.mu = memcpy(TC_NEW(arena, double, m), a->best->mu, m * sizeof(double));
    bool completed = search_sides(a, search);
    if (a->best->residual > a->tolerance && base.residual < a->best->residual) {
        memcpy(a->best->x, base.x, n * sizeof(double));
        memcpy(a->best->mu, base.mu, m * sizeof(double));
        a->best->objective = base.objective;
        a->best->max_violation = base.max_violation;
        a->best->worst = base.worst;
        a->best->residual = base.residual;
    }
    a->best->error_x = fmax(search->x.error, distance(a->best->x, search->x.taken, n));
    a->best->error_mu = fmax(search->mu.error, distance(a->best->mu, search->mu.taken, m));
    return completed;
}

static double snapped(double x, double lower, double upper) {
    double reach = 1e-14 * (upper - lower);
    return x - lower <= reach ? lower : upper - x <= reach ? upper : x;
}

/* An interior point comes close to bounds and to zero. Where the conditions hold there as well, that is the solution:
 * beside small states the distance to a bound of a wide box can be large. */
static void snap(solution_attempt *a) {
    size_t m = a->model->constraint_count;
    double largest = 0, before = a->best->residual;
    for (size_t f = 0; f < a->model->family_count; f++) {
        const tc_family *family = &a->model->families[f];
        for (size_t k = 0; k < family->count; k++)
            for (size_t c = 0; c < family->dim; c++) {
                size_t i = tc_coord_of(family, k, c);
                a->x[i] = snapped(a->best->x[i], tc_coef_at(family->lower[c], k), tc_coef_at(family->upper[c], k));
            }
    }
    for (size_t j = 0; j < m; j++)
        largest = fmax(largest, fabs(a->best->mu[j]));
    for (size_t j = 0; j < m; j++)
        a->mu[j] = fabs(a->best->mu[j]) <= 1e-14 * largest ? 0 : a->best->mu[j];
    tc_judge_repair(a->judge, a->x, a->mu);
    if (tc_judge_point(a->judge, a->x, a->mu).residual <= fmax(before, 1e-3 * a->tolerance)) {
        a->best->residual = INFINITY;
        (void)judge_point(a);
    }
}

static tc_reference_outcome judge_outcome(tc_reference *best, const tc_model *model, double tolerance) {
    best->is_solution = best->residual <= tolerance;
    if (!best->is_solution)
        return TC_INACCURATE;
    /* a few digits are enough: the estimate is an upper one */
    bool least = best->error_x <= tolerance + 1e-3 * norm(best->x, model->state_count) &&
                 best->error_mu <= tolerance + 1e-3 * norm(best->mu, model->constraint_count);
    return least ? TC_SOLVED : TC_INACCURATE;
}

/* Inside a bend a small step changes the slope, so that a pull on multipliers moves them and looks settled far away
 * from where they belong: where weaker weights have changed little, the solution stays. */
static bool is_near_enough(const solution_attempt *a, const least_norm *search) {
    tc_reference found = *a->best;
    return a->is_lifted && search->x.is_felt && search->mu.is_felt &&
           judge_outcome(&found, a->model, a->tolerance) == TC_SOLVED;
}

static void solve(tc_arena *arena, solution_attempt *a, const tc_derivatives *derivatives, bool is_provisional,
                  const tc_monitor *monitor) {
    a->solver = tc_interior_model(arena, a->model, derivatives, 1e-8L, a->team);
    a->options = (tc_interior_options){
        .gap = 1e-30L, .residual = 1e-15L, .iterations = MOST_ITERATIONS, .monitor = monitor, .what = "solving"};
    least_norm *search = new_search(arena, a->model, a->solver, &a->options);
    approach(search);
    a->best->iterations = search->iterations;
    a->best->error_x = search->x.error;
    a->best->error_mu = search->mu.error;
    if (is_provisional && !search->was_usable && !search->interrupted) {
        (void)judge_iterate(a);
        a->best->outcome = TC_INACCURATE;
        return;
    }
    bool completed = !search->interrupted && polish(a);
    if (completed && !(search->x.is_settled && search->mu.is_settled) && !is_near_enough(a, search)) {
        a->options.what = "least norm";
        completed = refine(arena, a, search);
    }
    if (completed && isfinite(a->best->residual))
        snap(a);
    else
        (void)judge_iterate(a);
    if (!(a->best->residual <= a->tolerance)) /* no solution: no distance from another one is known */
        a->best->error_x = a->best->error_mu = INFINITY;
    a->best->outcome = completed ? judge_outcome(a->best, a->model, a->tolerance) : TC_SOLVE_INTERRUPTED;
}

/* The point to show if the sets themselves are empty: the start, in the box. */
static void give_start(tc_reference *best, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = 0; k < family->count; k++)
            for (size_t c = 0; c < family->dim; c++) {
                double lower = tc_coef_at(family->lower[c], k), upper = tc_coef_at(family->upper[c], k);
                best->x[tc_coord_of(family, k, c)] = fmin(fmax(0, lower), upper);
            }
    }
}

static tc_reference *new_reference(tc_arena *arena, const tc_model *model) {
    tc_reference *best = TC_NEW(arena, tc_reference, 1);
    best->x = TC_NEW(arena, double, model->state_count);
    best->mu = TC_NEW(arena, double, model->constraint_count);
    best->residual = INFINITY;
    best->max_violation = best->objective = NAN;
    best->error_x = best->error_mu = INFINITY;
    give_start(best, model);
    return best;
}

/* One way to a solution: derivatives of what is solved, and of what judges it. */
typedef struct solution_way {
    const tc_derivatives *solved, *judged;
    bool is_lifted;
    bool is_provisional; /* gives up where the first solution is not usable */
} solution_way;

static void attempt(tc_arena *arena, tc_reference *best, const tc_model *model, const solution_way *way,
                    double tolerance, tc_team *team, const tc_monitor *monitor) {
    solution_attempt a = {
        .best = best, .model = model, .tolerance = tolerance, .is_lifted = way->is_lifted, .team = team};
    a.judge = tc_judge_new(arena, model, way->judged);
    a.x = TC_NEW(arena, double, model->state_count);
    a.mu = TC_NEW(arena, double, model->constraint_count);
    solve(arena, &a, way->solved, way->is_provisional, monitor);
}

static void take(tc_reference *best, const tc_reference *other, const tc_model *model) {
    double *x = best->x, *mu = best->mu;
    size_t iterations = best->iterations;
    memcpy(x, other->x, model->state_count * sizeof *x);
    memcpy(mu, other->mu, model->constraint_count * sizeof *mu);
    *best = *other;
    best->x = x;
    best->mu = mu;
    best->iterations += iterations;
}

/* Where curvature jumps, Newton's method can fail: then the form in which it does not jump is solved. Its steps judge
 * well where curvature is large, gradients where it is small. */
static void attempt_all(tc_arena *arena, tc_reference *best, const tc_model *model, const tc_derivatives *derivatives,
                        double tolerance, tc_team *team, const tc_monitor *monitor) {
    const tc_derivatives *lifted = tc_without_bends(arena, model, derivatives);
    const solution_way ways[] = {{derivatives, derivatives, false, lifted != NULL},
                                 {lifted, lifted, true, false},
                                 {lifted, derivatives, true, false},
                                 {derivatives, derivatives, false, false}};
    attempt(arena, best, model, &ways[0], tolerance, team, monitor);
    for (size_t w = 1; w < sizeof ways / sizeof *ways && lifted != NULL && best->outcome == TC_INACCURATE; w++) {
        tc_reference *other = new_reference(arena, model);
        attempt(arena, other, model, &ways[w], tolerance, team, monitor);
        if (other->outcome != TC_INACCURATE || other->residual < best->residual)
            take(best, other, model);
        else
            best->iterations += other->iterations;
    }
}

static tc_reference *solve_moving(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                  double tolerance, tc_team *team, const tc_monitor *monitor) {
    tc_reference *best = new_reference(arena, model);
    tc_mark mark = tc_arena_mark(arena);
    if (all_sets_hold_points(arena, model)) {
        attempt_all(arena, best, model, derivatives, tolerance, team, monitor);
        tc_arena_rewind(arena, mark);
        if (best->outcome == TC_INACCURATE && is_infeasible(arena, model, derivatives, monitor, best))
            best->outcome = TC_INFEASIBLE_SUSPECTED;
    } else {
        best->outcome = TC_INFEASIBLE_SUSPECTED;
        tc_arena_rewind(arena, mark);
    }
    best->norm_x = norm(best->x, model->state_count);
    best->norm_mu = norm(best->mu, model->constraint_count);
    return best;
}

typedef struct solution_job {
    tc_arena *arena;
    const tc_model *model;
    const tc_derivatives *derivatives;
    double tolerance;
    const tc_monitor *monitor;
    tc_reference *best;
} solution_job;

static void solve_on_team(void *context, tc_team *team) {
    solution_job *job = context;
    job->best = solve_moving(job->arena, job->model, job->derivatives, job->tolerance, team, job->monitor);
}

static tc_reference *solve_on_threads(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                      double tolerance, size_t threads, const tc_monitor *monitor) {
    if (threads == 1 || model->agent_count <= TC_PART_MEMBERS)
        return solve_moving(arena, model, derivatives, tolerance, NULL, monitor);
    solution_job job = {
        .arena = arena, .model = model, .derivatives = derivatives, .tolerance = tolerance, .monitor = monitor};
    tc_team_with(arena, threads, solve_on_team, &job);
    return job.best;
}

/* Of all multipliers of a constant row, 0 has the least norm. */
tc_reference *tc_reference_solve(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                 double tolerance, size_t threads, const tc_monitor *monitor) {
    const tc_moving *moving = tc_moving_rows(arena, model, derivatives);
    if (moving == NULL)
        return solve_on_threads(arena, model, derivatives, tolerance, threads, monitor);
    tc_reference *best = solve_on_threads(arena, &moving->model, &moving->derivatives, tolerance, threads, monitor);
    double *mu = TC_NEW(arena, double, model->constraint_count + 1);
    for (size_t j = 0; j < moving->model.constraint_count; j++)
        mu[moving->row[j]] = best->mu[j];
    best->mu = mu;
    if (best->conflict != NULL)
        best->conflict = tc_moving_spread(arena, moving, model, best->conflict);
    tc_certificate whole = tc_judge_point(tc_judge_new(arena, model, derivatives), best->x, mu);
    if (whole.max_violation > fmax(best->max_violation, tolerance))
        best->outcome = TC_INFEASIBLE_SUSPECTED;
    best->max_violation = whole.max_violation;
    best->worst = whole.worst;
    return best;
}
