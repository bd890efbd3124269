/* A stranger's program: loads, checks and solves a problem with nothing but the installed header and library. */
#include <tacit/tacit.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "agent a {\n  state x in [0, 4]\n  private minimize (x - 3)^2\n}\n"
                           "agent b {\n  state y in [0, 4]\n  private minimize (y - 3)^2\n}\n"
                           "constraint shared: a.x + b.y <= 4\n";

int main(void) {
    tacit_problem *problem = NULL;
    tacit_result *check = NULL, *solve = NULL;
    tacit_solution solution = {0};
    char *message = NULL;
    tacit_source source = {0};
    source.size = sizeof source;
    source.path = "small.tacit";
    source.text = text;
    source.length = sizeof text - 1;
    solution.size = sizeof solution;
    if (tacit_problem_make(&source, &problem, &message) != TACIT_OK) {
        fprintf(stderr, "%s\n", message == NULL ? "?" : message);
        tacit_text_free(message);
        return 1;
    }
    char name[16] = "";
    double x = 0;
    int right = tacit_problem_agents(problem) == 2 && tacit_problem_constraints(problem) == 1 &&
                tacit_problem_agent_name(problem, 1, name, sizeof name) == TACIT_OK && strcmp(name, "b") == 0 &&
                tacit_check(problem, NULL, &check, NULL) == TACIT_OK && tacit_result_holds(check) &&
                strstr(tacit_result_json(check), "\"assumptions\"") != NULL &&
                tacit_solve(problem, NULL, &solve, NULL) == TACIT_OK &&
                tacit_result_solution(solve, &solution) == TACIT_OK && strcmp(solution.outcome, "solved") == 0 &&
                solution.residual <= 1e-8 && tacit_result_x(solve, 0, 1, &x, 1) == TACIT_OK && x > 1.9999999 &&
                x < 2.0000001 && solution.mu[0] > 1.9999999 && solution.mu[0] < 2.0000001;
    printf("tacit %s: x = %.9g, %s\n", tacit_version(), x, right ? "right" : "wrong");
    tacit_result_free(check);
    tacit_result_free(solve);
    tacit_problem_free(problem);

    problem = NULL;
    if (tacit_problem_load("/nonexistent/file.tacit", &problem, &message) != TACIT_BAD_USAGE || problem != NULL ||
        message == NULL)
        right = 0;
    tacit_text_free(message);
    return right ? 0 : 1;
}
