/* A file of its own: a device that names a file after an agent makes no certificates. */
#include "net/tls/authority.h"

#include <stdbool.h>

void tc_authority_label(tc_buffer *out, const char *name) {
    for (; *name != 0; name++) {
        bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= '0' && *name <= '9') || *name == '-' || *name == '_' || *name == '.';
        if (plain)
            tc_buffer_add(out, name, 1);
        else if (*name == '[')
            tc_buffer_puts(out, ".");
        else if (*name != ']')
            tc_buffer_printf(out, "=%02x", (unsigned)(unsigned char)*name);
    }
}
