#include "cli/prefix.h"

#include <string.h>

void tc_cli_say(tc_cli *cli, const char *command, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        tc_buffer_printf(&cli->messages, "%s: %.*s\n", command, (int)length, text);
        text += length + (text[length] == '\n');
    }
}
