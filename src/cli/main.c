#include "base/ranks/ranks.h"
#include "cli/tacit.h"

int main(int argc, char **argv) {
    tc_ranks_begin(&argc, &argv);
    int code = tc_cli_main(argc, argv);
    tc_ranks_end();
    return code;
}
