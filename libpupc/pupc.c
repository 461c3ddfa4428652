/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pupc.c - user events for any program (GASP 1.4 section 5.2 and 5.3, PUPC 1.1 sections 3.3 to 3.5), without a tool.
 *
 * Starting and ending an event does nothing: those functions are in entries.S. Creating one gives its name a number,
 * and keeps name and format where an observer finds them, however late it comes (gaspbpf/pupc_table.h). The same name
 * has the same number. The functions whose names end in _body are what entries.S jumps to.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "gaspbpf/pupc_table.h"
#include "pupc.h"

static struct pupc_entry entries[PUPC_TABLE_ROOM];

__attribute__((visibility("default"))) struct pupc_table pupc_table = {
	.magic = PUPC_TABLE_MAGIC,
	.version = PUPC_TABLE_VERSION,
	.entry_size = sizeof(struct pupc_entry),
	.first = PUPC_USEREVT_FIRST,
	.room = PUPC_TABLE_ROOM,
	.on = 1,
	.entries = 0,
};

static atomic_flag busy = ATOMIC_FLAG_INIT;

/*
 * Copies what is certainly readable. PUPC 1.1 knows no format, so a program that was compiled for it calls with
 * whatever is in the register of the second argument: that must not be followed.
 */
static void copy_text(char *to, size_t room, const char *from)
{
	size_t length = 0;

	while (from && length < room - 1) {
		struct iovec local = { to + length, 1 }, remote = { (void *)(from + length), 1 };
		size_t rest = 4096 - ((uintptr_t)(from + length) & 4095);

		local.iov_len = remote.iov_len = rest < room - 1 - length ? rest : room - 1 - length;
		ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

		if (got <= 0)
			break;
		size_t used = strnlen(to + length, got);

		length += used;
		if (used < (size_t)got)
			break;
	}
	to[length] = '\0';
}

/* A format is text: anything else was none. */
static void check_format(char *format)
{
	for (const unsigned char *at = (const unsigned char *)format; *at; at++)
		if (*at < ' ' && *at != '\n' && *at != '\t')
			*format = '\0';
}

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* The last number is for all events for which there is no room. */
unsigned int pupc_create_event_body(const char *name, const char *desc);
__attribute__((visibility("hidden"))) unsigned int pupc_create_event_body(const char *name, const char *desc)
{
	struct pupc_entry fresh;
	uint32_t at;

	memset(&fresh, 0, sizeof(fresh));
	if (name)
		strncpy(fresh.name, name, sizeof(fresh.name) - 1);
	copy_text(fresh.format, sizeof(fresh.format), desc);
	check_format(fresh.format);
	lock();
	pupc_table.entries = (uintptr_t)entries;
	for (at = 0; at < pupc_table.used; at++)
		if (!strcmp(entries[at].name, fresh.name))
			break;
	if (at == PUPC_TABLE_ROOM) {
		at--;
	} else if (at == pupc_table.used) {
		if (at == PUPC_TABLE_ROOM - 1) {
			memset(&fresh, 0, sizeof(fresh));
			strcpy(fresh.name, "(more user events)");
		}
		entries[at] = fresh;
		__atomic_store_n(&pupc_table.used, at + 1, __ATOMIC_RELEASE);
	}
	unlock();
	return PUPC_USEREVT_FIRST + at;
}

int pupc_control_body(int on);
__attribute__((visibility("hidden"))) int pupc_control_body(int on)
{
	return __atomic_exchange_n(&pupc_table.on, on, __ATOMIC_ACQ_REL);
}

/* --- PUPC 1.1 section 3.5: time ------------------------------------------ */

__attribute__((visibility("default"))) pupc_tick_t pupc_ticks_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (pupc_tick_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((visibility("default"))) unsigned int pupc_ticks_to_us(pupc_tick_t ticks)
{
	return (unsigned int)(ticks / 1000);
}

__attribute__((visibility("default"))) unsigned int pupc_tick_granularityus(void)
{
	struct timespec step;
	long us = clock_getres(CLOCK_MONOTONIC, &step) ? 1 : step.tv_sec * 1000000 + step.tv_nsec / 1000;

	return us < 1 ? 1 : (unsigned int)us;
}

/* --- Fortran: names with an underscore, arguments by reference, lengths of texts last; events are in entries.S ------
 */

static void copy_fortran(char *to, size_t room, const char *from, size_t length)
{
	while (length && from[length - 1] == ' ')
		length--;
	if (length > room - 1)
		length = room - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

__attribute__((visibility("default"))) int pupc_create_event_(const char *name, const char *desc, size_t name_length,
							      size_t desc_length);
int pupc_create_event_(const char *name, const char *desc, size_t name_length, size_t desc_length)
{
	struct pupc_entry texts;

	copy_fortran(texts.name, sizeof(texts.name), name, name_length);
	copy_fortran(texts.format, sizeof(texts.format), desc, desc_length);
	return (int)pupc_create_event(texts.name, *texts.format ? texts.format : NULL);
}

__attribute__((visibility("default"))) int pupc_control_(const int *on);
int pupc_control_(const int *on)
{
	return pupc_control(*on);
}
