/* labels: long not-clang */
/* The same for every allocation up to a number, one by one. */
#define EVERY 1500
#include "api/test_failing_api.c"
