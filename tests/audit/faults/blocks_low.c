/* Sensitivities that are too low: of every row by FACTOR, of one row, ROW, alone, or of EQUALITIES alone. */
#define tc_sensitivity_blocks honest_sensitivity_blocks
#include "plan/sensitivity/sensitivity.c"
#undef tc_sensitivity_blocks

typedef struct low {
    tc_sensitivity *sensitivity;
    tc_block_sink sink;
    tc_packing pack;
    void *context;
} low;

static void pack_low(void *context, tc_parcel *parcel) {
    const low *to = context;
    to->pack(to->context, parcel);
}

static void lower(void *context, const tc_sensitivity_block *block) {
    low *to = context;
    for (size_t i = 0; i < block->start[block->columns]; i++) {
        tc_moved *entry = &to->sensitivity->moved[i];
#ifdef ROW
        if (entry->row != ROW)
            continue;
#endif
#ifdef EQUALITIES
        if (!to->sensitivity->streams->model->constraints[entry->row].is_equality)
            continue;
#endif
        entry->value.lo *= FACTOR;
        entry->value.hi *= FACTOR;
    }
    to->sink(to->context, block);
}

bool tc_sensitivity_blocks(tc_sensitivity *s, const tc_view *view, tc_block_sink sink, tc_packing pack, void *context) {
    return honest_sensitivity_blocks(s, view, lower, pack_low, &(low){s, sink, pack, context});
}
