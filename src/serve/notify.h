/* What a service manager is told of this process: sd_notify(3) without its library, one datagram to $NOTIFY_SOCKET
 * each. Where nobody has asked (no such variable) nothing happens, and nothing here waits or fails. What is said can be
 * read by every user of the machine, and holds no figures. */
#ifndef TC_SERVE_NOTIFY_H
#define TC_SERVE_NOTIFY_H

/* It works from now on. status: a few words, or NULL to leave them as they are. */
void tc_notify_ready(const char *status);
void tc_notify_status(const char *status);
/* Certificates are being read again; tc_notify_ready says that it is over. */
void tc_notify_reloading(void);
void tc_notify_stopping(void);

/* A sign of life, to be given by the loop itself at least each tc_notify_watchdog_seconds; 0: nobody wants one. */
double tc_notify_watchdog_seconds(void);
void tc_notify_alive(void);

#endif
