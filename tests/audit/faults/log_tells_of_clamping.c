/* The log has a line for a state that was outside of the box. */
#include "clamped.h"

#include <stdio.h>

static void on_clamped(void) { (void)fprintf(stderr, "a state was outside of the box\n"); }
