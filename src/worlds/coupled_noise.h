/* Noise that is coupled: in a second world it is drawn so that what is released is what the first one released, bit by
 * bit. For an audit whose data are its own.
 *
 * This is linked into `tacit-end-to-end` alone, in the place of the door's own noise (the linker's --wrap); `tacit` and
 * the library have nothing of it, and no option that could ask for it (tests/worlds/test_symbols.py looks). */
#ifndef TC_WORLDS_COUPLED_NOISE_H
#define TC_WORLDS_COUPLED_NOISE_H

#include "base/status.h"

#include <stdbool.h>

typedef enum tc_coupled_noise_mode {
    TC_COUPLED_OFF,    /* noise as it is drawn */
    TC_COUPLED_RECORD, /* the same, and what is released is written down */
    TC_COUPLED_REPLAY, /* noise that leads to what was written down */
} tc_coupled_noise_mode;

/* The file of what is released; closes the one before. False where it cannot be opened. */
bool tc_coupled_noise_begin(tc_coupled_noise_mode mode, const char *path) TC_MUST_USE;

/* NULL, or why the two worlds were not coupled: they released numbers of another kind or number, or a file failed. */
const char *tc_coupled_noise_end(void);

#endif
