/* Linked with one of faults/: the audit must refute, for the reason given. refute REASON SAMPLES, where REASON is a
 * kind of fault or "epsilon". */
#include "audit/audited.h"

static bool has_fault(const tc_audit *audit, const char *kind) {
    for (size_t i = 0; i < audit->fault_count; i++)
        if (strcmp(audit->faults[i].kind, kind) == 0)
            return true;
    return false;
}

static bool bounds_refute(const tc_audit *audit) {
    for (size_t i = 0; i < audit->system_count; i++)
        if (audit->systems[i].refuted)
            return true;
    return false;
}

static bool refuted(const char *reason, const audited *a) {
    problem p = problem_of(AUDITED);
    tc_audit *audit = audit_of(&p, a);
    bool found = audit->refuted && (strcmp(reason, "epsilon") == 0 ? bounds_refute(audit) : has_fault(audit, reason));
    if (!found)
        print_audit(&p, audit);
    problem_free(&p);
    return found;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    uint64_t samples = strtoull(argv[2], NULL, 10);
    bool good = true;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        good =
            refuted(argv[1], &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 1, samples, seed, false}) && good;
        good =
            refuted(argv[1], &(audited){TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, 1, samples, seed, false}) && good;
        good = refuted(argv[1], &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_STATES, 1, samples, seed, false}) && good;
    }
    return good ? 0 : 1;
}
