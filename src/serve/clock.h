#ifndef TC_SERVE_CLOCK_H
#define TC_SERVE_CLOCK_H

/* Seconds of a clock that is never set back. */
double tc_serve_now(void);
/* Seconds since 1970. */
double tc_serve_date(void);

#endif
