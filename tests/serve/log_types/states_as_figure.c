/* must not compile: incompatible pointer type */
#include "attempt.h"

void attempt(const hands *h) { h->figures->multipliers = h->states; }
