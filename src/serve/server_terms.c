/* What a run is begun under besides its plan. The plan's hash speaks of noise and prices; steps, margin and radius
 * decide where a run goes, and a run that changed them half-way would be none of the two. */
#include "serve/server_parts.h"

#include <openssl/evp.h>
#include <string.h>

static bool add_bytes(EVP_MD_CTX *digest, const void *bytes, size_t size) {
    unsigned char length[8];
    tc_put_u64(length, size);
    return EVP_DigestUpdate(digest, length, sizeof length) == 1 && EVP_DigestUpdate(digest, bytes, size) == 1;
}

static bool add_text(EVP_MD_CTX *digest, const char *text) { return add_bytes(digest, text, strlen(text)); }

static bool add_numbers(EVP_MD_CTX *digest, const double *numbers, size_t count) {
    return add_bytes(digest, numbers, count * sizeof *numbers); /* a journal stays on machines of one kind */
}

/* As it was written, and what its data files added. */
static bool add_file(EVP_MD_CTX *digest, const tc_model *model) {
    bool good = add_bytes(digest, model->source.text, model->source.length);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->column_count; c++)
            good = good && add_numbers(digest, family->columns[c].values, family->count);
        for (size_t k = 0; family->member_names != NULL && k < family->count; k++)
            good = good && add_text(digest, family->member_names[k]);
    }
    for (const tc_matrix_file *file = model->last_matrix; file != NULL; file = file->before) {
        const double shape[] = {(double)file->rows, (double)file->columns};
        good = good && add_numbers(digest, shape, 2) && add_numbers(digest, file->numbers, file->rows * file->columns);
    }
    return good;
}

/* Options may have taken the place of what the file says. */
static bool add_options(EVP_MD_CTX *digest, const tc_server_settings *settings) {
    const tc_schedule *schedule = &settings->model->schedule;
    const double steps[] = {schedule->step, schedule->step_decay, schedule->regularization,
                            schedule->regularization_decay};
    const double none = -1, seed = settings->seed == NULL ? none : (double)*settings->seed;
    bool good = add_numbers(digest, &settings->dual_radius, 1) && add_numbers(digest, &seed, 1);
    if (settings->method == NULL)
        return good && add_numbers(digest, steps, sizeof steps / sizeof steps[0]);
    const tc_margin_wish *margin = &settings->method->margin;
    const double wish[] = {margin->kind, margin->kind == TC_MARGIN_GIVEN ? margin->amount : none,
                           margin->kind == TC_MARGIN_AUTO ? margin->probability : none};
    return good && add_numbers(digest, wish, sizeof wish / sizeof wish[0]) &&
           add_numbers(digest, &settings->method->radius, 1);
}

bool tc_server_terms(const tc_server_settings *settings, unsigned char terms[TC_HASH]) {
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool good = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                add_text(digest, "tacit terms 1") && add_file(digest, settings->model) &&
                add_options(digest, settings) && EVP_DigestFinal_ex(digest, terms, NULL) == 1;
    EVP_MD_CTX_free(digest);
    return good;
}
