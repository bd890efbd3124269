#include "base/status.h"

const char *tc_status_text(tc_status status) {
    switch (status) {
#define X(code, exit_code, text)                                                                                       \
    case code:                                                                                                         \
        return text;
        TC_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

int tc_status_exit_code(tc_status status) {
    switch (status) {
#define X(code, exit_code, text)                                                                                       \
    case code:                                                                                                         \
        return exit_code;
        TC_STATUS_LIST(X)
#undef X
    }
    return 3;
}
