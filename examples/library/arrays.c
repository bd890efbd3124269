/* Solves and plans a problem whose data are arrays of this program.
 *
 *     cc arrays.c $(pkg-config --cflags --libs tacit) -o arrays
 */
#include <tacit/tacit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOMES = 50, HOURS = 4 };

static const char text[] = "data homes = given\n"
                           "agents home over homes {\n"
                           "  state p[4] in [0, 7.4]\n"
                           "  private minimize sumsq(p - wish)\n"
                           "  private set sum(p) >= need\n"
                           "}\n"
                           "constraint feeder[t in 1..4]: sum(home: p[t]) <= 150\n"
                           "dual radius 20\n"
                           "privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\n"
                           "schedule { rounds 1000 }\n";

/* Says why, and gives up. */
static void need(tacit_status status, char *message) {
    if (status == TACIT_OK)
        return;
    fputs(message == NULL ? tacit_status_text(status) : message, stderr);
    exit(1);
}

int main(void) {
    /* One row for each home: what it wishes in each hour, and what it needs in all. */
    static double wish[HOMES][HOURS], needs[HOMES], x[HOMES][HOURS];
    for (size_t i = 0; i < HOMES; i++) {
        for (size_t t = 0; t < HOURS; t++)
            wish[i][t] = 1 + (double)((7 * i + 3 * t) % 5);
        needs[i] = 8 + (double)(i % 4);
    }
    const tacit_column columns[] = {{"wish", &wish[0][0], HOURS, 0, 0}, {"need", needs, 1, 0, 0}};
    const tacit_table homes = {"homes", HOMES, columns, 2, NULL};
    tacit_source source;
    memset(&source, 0, sizeof source);
    source.size = sizeof source;
    source.text = text;
    source.length = sizeof text - 1;
    source.tables = &homes;
    source.table_count = 1;

    tacit_problem *problem;
    tacit_result *solved, *planned;
    char *message = NULL;
    need(tacit_problem_make(&source, &problem, &message), message);

    need(tacit_solve(problem, NULL, &solved, &message), message);
    tacit_solution solution = {.size = sizeof solution};
    need(tacit_result_solution(solved, &solution), NULL);
    need(tacit_result_x(solved, 0, 0, &x[0][0]), NULL); /* family 0: home */
    printf("%s: objective %.6g; home[1] takes %.4g %.4g %.4g %.4g\n", solution.outcome, solution.objective, x[0][0],
           x[0][1], x[0][2], x[0][3]);
    for (size_t j = 0; j < solution.constraints; j++)
        printf("  %s costs %.4g\n", tacit_problem_constraint_name(problem, j), solution.mu[j]);

    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.epsilon = 2; /* instead of the file's */
    need(tacit_plan(problem, &promise, NULL, &planned, &message), message);
    tacit_plan_facts plan = {.size = sizeof plan};
    need(tacit_result_plan(planned, &plan), NULL);
    printf("%s\n", plan.headline);
    for (size_t i = 0; i < plan.observers; i++) {
        tacit_observer observer = {.size = sizeof observer};
        need(tacit_result_observer(planned, i, &observer), NULL);
        printf("  %s: epsilon %.4g\n", observer.who, observer.epsilon);
    }
    tacit_result_free(planned);
    tacit_result_free(solved);
    tacit_problem_free(problem);
    return 0;
}
