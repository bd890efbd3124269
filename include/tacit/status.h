/* What tacit.h and agent.h share: why something could not be done, and texts. */
#ifndef TACIT_STATUS_H
#define TACIT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define TACIT_VERSION_MAJOR 0
#define TACIT_VERSION_MINOR 1
#define TACIT_VERSION_PATCH 0

#define TACIT_API __attribute__((visibility("default")))

/* Why something could not be done. An outcome ("no Slater point exists") is never a status. */
typedef enum tacit_status {
    TACIT_OK,
    TACIT_NO_MEMORY,
    TACIT_TOO_LARGE,      /* beyond this library's limits */
    TACIT_BAD_PROBLEM,    /* the problem file has errors, or is not of the kind asked for */
    TACIT_BAD_USAGE,      /* an argument is wrong, or names no file */
    TACIT_CANNOT_READ,    /* a file */
    TACIT_CANNOT_WRITE,   /* a file */
    TACIT_INTERRUPTED,    /* before there was anything to show */
    TACIT_INTERNAL,       /* a defect of this library: please report it */
    TACIT_NO_RANDOM,      /* the random source failed, or refused a use that would not be safe */
    TACIT_BAD_ARITHMETIC, /* the calling thread does not round to nearest, or treats the smallest numbers as zero */
    TACIT_BUSY,           /* the problem is in use: by another thread, or by the function that called this callback */
    TACIT_CALLBACK_FAILED /* a callback of the program returned a failure; none was called after that */
} tacit_status;

/* One line in English. Static. */
TACIT_API const char *tacit_status_text(tacit_status status);

/* "0.1.0". Static. */
TACIT_API const char *tacit_version(void);

/* Frees a message. */
TACIT_API void tacit_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
