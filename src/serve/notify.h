/* Tells the service manager about this process: sd_notify(3) without its library, one datagram to $NOTIFY_SOCKET for
 * each call. Does nothing without that variable, and never waits or fails. Every user of the machine can read the text,
 * so it has no figures. */
#ifndef TC_SERVE_NOTIFY_H
#define TC_SERVE_NOTIFY_H

/* The process is ready. status: a few words, or NULL to keep the last ones. */
void tc_notify_ready(const char *status);
void tc_notify_status(const char *status);
/* Certificates are being read again; tc_notify_ready ends this. */
void tc_notify_reloading(void);
void tc_notify_stopping(void);

/* A sign of life, for the watchdog: call it from the loop at least every tc_notify_watchdog_seconds; 0: no watchdog. */
double tc_notify_watchdog_seconds(void);
void tc_notify_alive(void);

#endif
