#include "cli/no_core.h"

#include <sys/resource.h>

void tc_no_core(void) {
    const struct rlimit none = {0};
    (void)setrlimit(RLIMIT_CORE, &none);
}
