/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of a counting library, see count.h. No malloc and no lock in here: they may be what is counted. */
#include "count.h"

#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPORT_MAX 262144

static _Atomic(struct tally *) tallies;
static int reported_window;

/* Exported from every counting library; several may be loaded, so each tells the next. */
void count_window(int open) __attribute__((visibility("default")));

static void link_tally(struct tally *tally)
{
	struct tally *head = tallies;

	do
		tally->next = head;
	while (!atomic_compare_exchange_weak(&tallies, &head, tally));
}

void count_tally(struct tally *tally, uint64_t bytes, uint64_t sent, uint64_t received)
{
	tally->bytes += bytes;
	tally->sent += sent;
	tally->received += received;
	if (atomic_fetch_add(&tally->calls, 1) == 0)
		link_tally(tally);
}

static void snapshot(uint64_t values[4], const struct tally *tally)
{
	values[0] = tally->calls;
	values[1] = tally->bytes;
	values[2] = tally->sent;
	values[3] = tally->received;
}

void count_window(int open)
{
	void (*next)(int) = dlsym(RTLD_NEXT, "count_window");

	for (struct tally *tally = tallies; tally; tally = tally->next)
		snapshot(open ? tally->at_open : tally->at_close, tally);
	if (!open) {
		reported_window = 1;
		count_report();
	}
	if (next)
		next(open);
}

void *count_next(const char *function, const char *version)
{
	void *next = version ? dlvsym(RTLD_NEXT, function, version) : dlsym(RTLD_NEXT, function);

	if (!next) {
		static const char text[] = "counting library: a function it counts is not there\n";

		if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
			_exit(3);
		_exit(3);
	}
	return next;
}

/* The list that the linker makes of all stubs; empty where a library has none. */
extern struct stub *const __start_count_stubs[] __attribute__((weak, visibility("hidden")));
extern struct stub *const __stop_count_stubs[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor)) static void resolve_stubs(void)
{
	for (struct stub *const *stub = __start_count_stubs; stub < __stop_count_stubs; stub++) {
		(*stub)->next = dlsym(RTLD_NEXT, (*stub)->tally.function);
		link_tally(&(*stub)->tally);
	}
}

static int job_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (getenv(names[i]))
			return atoi(getenv(names[i]));
	return -1;
}

static int append_part(char *text, int at, const char *part, int window)
{
	const char *comma = "";

	at += snprintf(text + at, REPORT_MAX - at, ",\n \"%s\":{", part);
	for (struct tally *tally = tallies; tally && at < REPORT_MAX - 512; tally = tally->next) {
		uint64_t now[4];

		snapshot(now, tally);
		for (int i = 0; window && i < 4; i++)
			now[i] = tally->at_close[i] - tally->at_open[i];
		if (!now[0])
			continue;
		at += snprintf(text + at, REPORT_MAX - at,
			       "%s\n  \"%s\":{\"calls\":%lu,\"bytes\":%lu,\"sent\":%lu,\"received\":%lu}", comma,
			       tally->function, now[0], now[1], now[2], now[3]);
		comma = ",";
	}
	return at + snprintf(text + at, REPORT_MAX - at, "}");
}

__attribute__((destructor)) void count_report(void)
{
	static char text[REPORT_MAX], base[3072], name[4096];
	const char *pattern = getenv("COUNT_FILE");
	int at, file;

	if (!pattern)
		return;
	snprintf(base, sizeof(base), "%s.%s", pattern, count_library);
	job_file_name(name, sizeof(name), base, job_rank());
	at = snprintf(text, sizeof(text), "{\"library\":\"%s\",\"pid\":%d,\"rank\":%d", count_library, (int)getpid(),
		      job_rank());
	if (reported_window)
		at = append_part(text, at, "window", 1);
	at = append_part(text, at, "whole", 0);
	if (count_more)
		at += count_more(text + at, REPORT_MAX - at);
	at += snprintf(text + at, REPORT_MAX - at, "}\n");
	file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file < 0 && errno == EACCES)
		return; /* in a gaspbpf that has given up its rights, whose environment is the job's, too */
	if (file < 0 || write(file, text, at) != at)
		_exit(3);
	close(file);
}
