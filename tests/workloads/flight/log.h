/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the jobs of this folder share: a log of their own calls that survives their being killed, and the gate.
 *
 * One file a thread, LOG.RANK.TID: "< EVENT LINE" before a call and "> EVENT LINE" behind it, written by write(2), so
 * no call is in it that an observer sees. A flight recorder's dump must say the same.
 */
#ifndef FLIGHT_LOG_H
#define FLIGHT_LOG_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static __thread int log_file = -1;
static const char *gate_folder, *log_name;
static long rounds = 20;

static void log_open(int rank)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s.%d.%d", log_name, rank, gettid());
	log_file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
}

static void log_put(char sign, const char *event, int line)
{
	char text[120];
	int length = snprintf(text, sizeof(text), "%c %s %d\n", sign, event, line);

	if (write(log_file, text, length) != length)
		_exit(4);
}

#define DO(event, call) do { log_put('<', event, __LINE__); call; log_put('>', event, __LINE__); } while (0)

static void gate_mark(const char *name, int rank)
{
	char path[4096], text[16];
	int length = snprintf(text, sizeof(text), "%d", getpid()), file;

	snprintf(path, sizeof(path), "%s/%s.%d", gate_folder, name, rank);
	file = open(path, O_WRONLY | O_CREAT, 0666);
	if (write(file, text, length) != length)
		_exit(4);
	close(file);
}

static void gate_wait(const char *name)
{
	struct timespec pause = { .tv_nsec = 5000000 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", gate_folder, name);
	for (int i = 0; access(path, F_OK); i++) {
		if (i > 60000)
			_exit(3); /* its test has died */
		nanosleep(&pause, NULL);
	}
}

static void flight_options(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--gate"))
			gate_folder = argv[i + 1];
		else if (!strcmp(argv[i], "--truth"))
			log_name = argv[i + 1];
		else if (!strcmp(argv[i], "--rounds"))
			rounds = atol(argv[i + 1]);
	}
	if (!gate_folder || !log_name)
		_exit(2);
}

#endif
