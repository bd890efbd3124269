#include "cli/tacit.h"

#include "cli/network/network.h"
#include "cli/study/study.h"

int tc_cli_main(int argc, char *const *argv) {
    static const tc_command *const commands[] = {
        &tc_command_check, &tc_command_solve, &tc_command_plan,   &tc_command_advise, &tc_command_run,
        &tc_command_sweep, &tc_command_bound, &tc_command_audit,  &tc_command_split,  &tc_command_keys,
        &tc_command_serve, &tc_command_agent, &tc_command_report, &tc_command_help,
    };
    return tc_cli_run((tc_command_table){commands, sizeof commands / sizeof commands[0]}, argc, argv);
}
