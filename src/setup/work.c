#include "setup/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void tc_work_tell(tc_work *work) {
    while (work->heard < work->messages->length) {
        const char *line = work->messages->text + work->heard;
        size_t length = strcspn(line, "\n");
        work->heard += length + (line[length] == '\n');
        if (work->hear != NULL)
            work->hear(work->context, tc_arena_copy(work->arena, line, length));
    }
}

void tc_work_say(tc_work *work, const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    char *text = TC_NEW(work->arena, char, (size_t)length + 1);
    (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(values);
    tc_buffer_printf(work->messages, "%s%s\n", work->prefix, text);
    tc_work_tell(work);
}

tc_status tc_work_refuse(tc_work *work, const char *text) {
    tc_work_say(work, "%s", text);
    return TC_BAD_USAGE;
}
