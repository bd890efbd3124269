/* What the cloud has in its hands while it writes its log. */
#include "serve/pages/pages.h"
#include "serve/log.h"

#include "release/release.h"

typedef struct hands {
    tc_logbook *log;
    tc_figures *figures;
    const tc_private_states *states;
    const tc_private_values *values;
    const tc_frame *frame;
    const int64_t *units;  /* of a state's message */
    const double *numbers; /* many */
} hands;

void attempt(const hands *h);
