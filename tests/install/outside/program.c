/* A stranger's program: loads, checks and solves a problem with nothing but the installed header and library. */
#include <tacit/tacit.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "agent a {\n  state x in [0, 4]\n  private minimize (x - 3)^2\n}\n"
                           "agent b {\n  state y in [0, 4]\n  private minimize (y - 3)^2\n}\n"
                           "constraint shared: a.x + b.y <= 4\n";

int main(void) {
    tacit_problem *problem = NULL;
    tacit_report *report = NULL;
    tacit_solution *solution = NULL;
    char *message = NULL;
    if (tacit_problem_parse("small.tacit", text, sizeof text - 1, &problem, &message) != TACIT_OK) {
        fprintf(stderr, "%s\n", message == NULL ? "?" : message);
        tacit_text_free(message);
        return 1;
    }
    char name[16] = "";
    double x = 0;
    int right = tacit_problem_agents(problem) == 2 && tacit_problem_constraints(problem) == 1 &&
                tacit_problem_agent_name(problem, 1, name, sizeof name) == TACIT_OK && strcmp(name, "b") == 0 &&
                tacit_check(problem, NULL, &report) == TACIT_OK && tacit_report_holds(report) &&
                strstr(tacit_report_json(report), "\"assumptions\"") != NULL &&
                tacit_solve(problem, NULL, &solution) == TACIT_OK && tacit_solution_outcome(solution) == TACIT_SOLVED &&
                tacit_solution_residual(solution) <= 1e-8 && tacit_solution_x(solution, 1, &x) == TACIT_OK &&
                x > 1.9999999 && x < 2.0000001 && tacit_solution_mu(solution)[0] > 1.9999999 &&
                tacit_solution_mu(solution)[0] < 2.0000001;
    printf("tacit %s: x = %.9g, %s\n", tacit_version(), x, right ? "right" : "wrong");
    tacit_report_free(report);
    tacit_solution_free(solution);
    tacit_problem_free(problem);

    problem = NULL;
    if (tacit_problem_load("/nonexistent/file.tacit", &problem, &message) != TACIT_BAD_USAGE || problem != NULL ||
        message == NULL)
        right = 0;
    tacit_text_free(message);
    return right ? 0 : 1;
}
