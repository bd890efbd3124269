#ifndef TC_SERVE_CLOCK_H
#define TC_SERVE_CLOCK_H

/* Seconds of a clock that is never set back. */
double tc_serve_now(void);
/* Seconds that the processor has worked for this thread. */
double tc_serve_worked(void);
/* Seconds since 1970. */
double tc_serve_date(void);

#endif
