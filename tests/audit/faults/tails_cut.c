/* Draws beyond four times the scale are cut off: a table that was made too short. */
#define SPOIL_KNOWS_SCALES
#include "spoil.h"

static void spoil_scaled(double scale, int64_t *noise) {
    double most = 4 * scale;
    *noise = (double)*noise > most ? (int64_t)most : (double)*noise < -most ? -(int64_t)most : *noise;
}
