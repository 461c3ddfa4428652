/* SPDX-License-Identifier: BSD-2-Clause */
/* misbehave.h - what a bad tool does, as TOOL_DO says: at its first event, or (slow) at each. */
#ifndef MISBEHAVE_H
#define MISBEHAVE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int is_to(const char *what)
{
	const char *wish = getenv("TOOL_DO");

	return wish && !strcmp(wish, what);
}

static inline void misbehave(void)
{
	static long calls;
	long at = getenv("TOOL_AT") ? atol(getenv("TOOL_AT")) : 1;

	calls++;
	if (is_to("slow"))
		usleep(1000);
	if (calls != at)
		return;
	if (is_to("crash"))
		raise(SIGSEGV);
	if (is_to("hang"))
		for (;;)
			pause();
	if (is_to("exit"))
		exit(0);
	if (is_to("close"))
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
	if (is_to("print"))
		for (int i = 0; i < 4096; i++)
			fputs("\001\002\x7f\033[2J rubbish ", i % 2 ? stdout : stderr);
}

/* Before the first event: shows what the process may do. */
static inline void misbehave_at_start(void)
{
	char line[256];
	FILE *in;

	if (!is_to("show"))
		return;
	in = fopen("/proc/self/status", "r");
	while (in && fgets(line, sizeof(line), in))
		fputs(line, stdout);
	if (in)
		fclose(in);
	printf("Root-file: %d\n", access("/etc/shadow", W_OK));
	printf("Session: %d\n", getsid(0) == getpid());
	for (int fd = 0; fd < 1024; fd++)
		if (!lseek(fd, 0, SEEK_CUR) || fd == 0)
			printf("Descriptor: %d\n", fd);
	fflush(stdout);
}

#endif
