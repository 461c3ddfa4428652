/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - messages and the live status line on standard error.
 *
 * Every message is put together in memory and written with one write(2), so
 * that lines of several threads never mix. Where standard error is the
 * journal's (a service of systemd), each begins with its priority, as
 * sd-daemon(3) has it.
 */
#include "util/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/files.h"
#include "util/utf8.h"

#define LINE_MOST 4096
#define SAFE_MOST 256 /* with the NUL */
#define SAFE_BUFFERS 8

static const char erase_line[] = "\r\033[K";

static enum log_level current_level = LOG_WARN;
static bool status_shown; /* the cursor stands in a status line */
static bool has_failed;
static const char *own_name;

void log_set_level(enum log_level level)
{
	current_level = level;
}

void log_set_name(const char *name)
{
	own_name = name;
}

enum log_level log_get_level(void)
{
	return current_level;
}

/* systemd says which file it has made standard error: "DEVICE:INODE". It may have been redirected since. */
static bool is_journal(void)
{
	const char *told = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return told && sscanf(told, "%llu:%llu", &device, &inode) == 2 && !fstat(STDERR_FILENO, &st) &&
	       st.st_dev == device && st.st_ino == inode;
}

/* Syslog's: errors are 3, warnings 4, information 6, debugging 7. */
static size_t put_priority(char *line, enum log_level level)
{
	static const char priority[] = { [LOG_ERROR] = '3', [LOG_WARN] = '4', [LOG_INFO] = '6', [LOG_DEBUG] = '7' };
	static int journal = -1; /* not known yet; threads that ask at the same time find the same */

	if (journal < 0)
		journal = is_journal();
	if (!journal)
		return 0;
	line[0] = '<';
	line[1] = priority[level];
	line[2] = '>';
	return 3;
}

static void say(enum log_level level, const char *format, va_list arguments)
{
	static const char prefix[] = "gaspbpf: ";
	char line[LINE_MOST];
	size_t at = 0;
	int length;

	if (level > current_level)
		return;
	if (__atomic_exchange_n(&status_shown, false, __ATOMIC_RELAXED)) {
		memcpy(line, erase_line, sizeof(erase_line) - 1);
		at = sizeof(erase_line) - 1;
	}
	at += put_priority(line + at, level);
	memcpy(line + at, prefix, sizeof(prefix) - 1);
	at += sizeof(prefix) - 1;
	if (own_name)
		at += snprintf(line + at, LINE_MOST / 4, "%.200s: ", own_name);
	length = vsnprintf(line + at, sizeof(line) - at - 1, format, arguments);
	if (length > 0)
		at += strlen(line + at);
	line[at++] = '\n';
	write_all(STDERR_FILENO, line, at);
}

#define SAY(level)                             \
	do {                                   \
		va_list arguments;             \
		va_start(arguments, format);   \
		say(level, format, arguments); \
		va_end(arguments);             \
	} while (0)

bool log_has_failed(void)
{
	return __atomic_load_n(&has_failed, __ATOMIC_RELAXED);
}

void log_error(const char *format, ...)
{
	__atomic_store_n(&has_failed, true, __ATOMIC_RELAXED);
	SAY(LOG_ERROR);
}

void log_warn(const char *format, ...)
{
	SAY(LOG_WARN);
}

void log_info(const char *format, ...)
{
	SAY(LOG_INFO);
}

void log_debug(const char *format, ...)
{
	SAY(LOG_DEBUG);
}

/* C0 and DEL, and C1, which terminals obey too (U+0080..U+009F are c2 80 to c2 9f). */
static bool is_control(const uint8_t *at, unsigned length)
{
	return (length == 1 && (at[0] < 0x20 || at[0] == 0x7f)) || (length == 2 && at[0] == 0xc2 && at[1] < 0xa0);
}

const char *log_safe(const char *text)
{
	static _Thread_local char buffers[SAFE_BUFFERS][SAFE_MOST];
	static _Thread_local unsigned next;
	static const char digits[] = "0123456789abcdef";
	char *out = buffers[next++ % SAFE_BUFFERS];
	const uint8_t *at = (const uint8_t *)(text ? text : "");
	size_t used = 0;

	while (*at) {
		unsigned length = utf8_length(at, strnlen((const char *)at, 4));

		if (length && !is_control(at, length)) {
			if (used + length >= SAFE_MOST)
				break;
			memcpy(out + used, at, length);
			used += length;
			at += length;
			continue;
		}
		if (used + 4 >= SAFE_MOST)
			break;
		out[used++] = '\\';
		out[used++] = 'x';
		out[used++] = digits[*at >> 4];
		out[used++] = digits[*at & 15];
		at++;
	}
	out[used] = '\0';
	return out;
}

/* Bytes of the text that fit into so many columns, one column a character. */
static size_t clip(const char *text, unsigned columns)
{
	size_t at = 0;

	while (text[at]) {
		if (((uint8_t)text[at] & 0xc0) != 0x80 && !columns--)
			break;
		at++;
	}
	return at;
}

void log_status(const char *format, ...)
{
	struct winsize window = { 0 };
	char line[LINE_MOST];
	size_t at = sizeof(erase_line) - 1, length;
	va_list arguments;
	bool shown;

	/* Also tells a terminal from anything else: ioctl fails on a file or a pipe. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window))
		return;
	memcpy(line, erase_line, at);
	va_start(arguments, format);
	if (vsnprintf(line + at, sizeof(line) - at, format, arguments) < 0)
		line[at] = '\0';
	va_end(arguments);
	/* A line that wraps could not be erased. */
	length = clip(line + at, window.ws_col > 1 ? window.ws_col - 1 : 79);
	shown = __atomic_exchange_n(&status_shown, length > 0, __ATOMIC_RELAXED);
	if (shown || length)
		write_all(STDERR_FILENO, line, at + length);
}
