/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - what gaspbpf says on standard error.
 *
 * Form of every error: "gaspbpf: what: why: what to do". Text that comes from a
 * target or a file (names, paths) goes through log_safe() first.
 */
#ifndef GASPBPF_LOG_H
#define GASPBPF_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level); /* default LOG_WARN; -v, -vv raise it */
enum log_level log_get_level(void);
/* Stands behind "gaspbpf: " from now on, with ": "; it lives on. NULL: nothing. */
void log_set_name(const char *name);
/* Each prints one line with "gaspbpf: " before it; a live status line is cleared first. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Has log_error() ever said anything? */
bool log_has_failed(void);

/*
 * The text with control characters and invalid UTF-8 shown as \xNN, at most 255 bytes. The result
 * lives in one of eight rotating buffers: good for one message.
 */
const char *log_safe(const char *text);

/* The live status line (stderr, only on a terminal); "" removes it. */
void log_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
