/* SPDX-License-Identifier: BSD-2-Clause */
/* What the jobs that have children share: each process appends one line "PID CALLS" to the file in FOLLOW_TRUTH. */
#ifndef FOLLOW_H
#define FOLLOW_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void calls_step(int number);

static inline void tell(long calls)
{
	const char *path = getenv("FOLLOW_TRUTH");
	char line[64];
	int length = snprintf(line, sizeof(line), "%d %ld\n", (int)getpid(), calls);
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;

	if (fd < 0)
		return;
	if (write(fd, line, length) != length)
		_exit(99);
	close(fd);
}

#endif
