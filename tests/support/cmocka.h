/* cmocka wants these before it, in this order. */
#ifndef TC_TESTS_CMOCKA_H
#define TC_TESTS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
