/* What every program needs, apart from what few do: a device links this file and not the whole library. */
#include "api/text.h"

#include "base/status.h"

#include <tacit/tacit.h>

#include <stdlib.h>
#include <string.h>

const char *tacit_version(void) { return TACIT_VERSION; }

const char *tacit_status_text(tacit_status status) { return tc_status_text((tc_status)status); }

char *tc_own_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

void tacit_text_free(char *text) { free(text); }
