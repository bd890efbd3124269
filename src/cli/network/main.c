/* tacit-node: what a cloud or an agent needs, without anything that is for studies. */
#include "cli/network/network.h"

int main(int argc, char **argv) {
    static const tc_command *const commands[] = {&tc_command_keys, &tc_command_serve, &tc_command_agent,
                                                 &tc_command_help};
    return tc_cli_run((tc_command_table){commands, sizeof commands / sizeof commands[0]}, argc, argv);
}
