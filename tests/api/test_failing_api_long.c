/* labels: long once not-clang */
/* The same for far more allocations: the first ones one by one, and beyond in strides that grow slowly. */
#define EVERY 100
#include "api/test_failing_api.c"
