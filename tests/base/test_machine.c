/* labels: threads */
#include "base/machine.h"
#include "support/arithmetic.h"
#include "support/cmocka.h"

#include <pthread.h>
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_arithmetic_is_no_fault),
        cmocka_unit_test(other_arithmetic_is_found),
        cmocka_unit_test(threads_have_their_makers_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
