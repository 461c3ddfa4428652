/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.h - telling systemd how a service is, by its protocol (sd_notify(3)): a datagram with lines VARIABLE=VALUE to
 * the socket in $NOTIFY_SOCKET. Where there is none, nothing happens.
 */
#ifndef GASPBPF_NOTIFY_H
#define GASPBPF_NOTIFY_H

#include <stdint.h>

/* "READY=1\nSTATUS=..." Never waits and never fails visibly: the service does its work whether somebody listens or not.
 */
void notify(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "RELOADING=1", with the time that systemd wants beside it. READY=1 ends it. */
void notify_reloading(void);
/* How often "WATCHDOG=1" is to be told, in ns: half the time after which systemd restarts this process. 0: no need. */
uint64_t notify_watchdog(void);

#endif
