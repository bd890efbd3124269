/* labels: threads */
#include "base/machine.h"
#include "support/arithmetic.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void usual_arithmetic_is_no_fault(void **state) {
    (void)state;
    assert_null(tc_arithmetic_fault());
}

static void other_arithmetic_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < TWEAKS; i++) {
        tweak_begin(&tweaks[i]);
        const char *fault = tc_arithmetic_fault();
        tweak_end();
        if (fault == NULL || strstr(fault, tweaks[i].says) == NULL)
            fail_msg("%s: %s", tweaks[i].name, fault == NULL ? "not found" : fault);
        assert_null(tc_arithmetic_fault());
    }
}

static void *look(void *fault) {
    *(const char **)fault = tc_arithmetic_fault();
    return NULL;
}

/* A thread begins with the arithmetic of the one that made it: what is checked at the start holds for those too. */
static void threads_have_their_makers_arithmetic(void **state) {
    (void)state;
    const char *fault = NULL;
    pthread_t thread;
    tweak_begin(&tweaks[TWEAKS - 1]);
    int made = pthread_create(&thread, NULL, look, &fault);
    tweak_end();
    assert_int_equal(made, 0);
    (void)pthread_join(thread, NULL);
    assert_non_null(fault);
}

/* Wherever an array begins and ends, and however short it is. */
static void large_pages_change_no_byte(void **state) {
    (void)state;
    enum { SIZE = 5 << 20 };
    unsigned char *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i % 251);
    tc_prefer_large_pages(bytes, SIZE);
    tc_prefer_large_pages(bytes + 13, SIZE - 29);
    tc_prefer_large_pages(bytes + 13, 1);
    tc_prefer_large_pages(NULL, 0);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(bytes[i], i % 251);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_arithmetic_is_no_fault),
        cmocka_unit_test(other_arithmetic_is_found),
        cmocka_unit_test(threads_have_their_makers_arithmetic),
        cmocka_unit_test(large_pages_change_no_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
