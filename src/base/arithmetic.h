/* The arithmetic that all proofs are about: IEEE binary64 to nearest, with subnormal numbers. A process may have been
 * given another by its host program, by a library compiled for speed, or by the one that started its thread; every
 * bound of this library would then be wrong, without a sign. */
#ifndef TC_BASE_ARITHMETIC_H
#define TC_BASE_ARITHMETIC_H

/* NULL where the calling thread computes as the proofs say; otherwise one sentence that says what is different. */
const char *tc_arithmetic_fault(void);

#endif
