#include "cli/tacit.h"

int main(int argc, char **argv) { return tc_cli_main(argc, argv); }
