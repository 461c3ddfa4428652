/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * latecomer BEFORE AFTER: becomes a rank late. Calls plain_take() and malloc() BEFORE times, in early(); then loads the
 * runtime and calls its function 7 times; then calls the others AFTER times, in later(). Where GATE names a folder it
 * waits before each of these steps: writes PID.1, PID.2 and so on there, until go.1, go.2 are there; at last for go.4.
 */
#include "follow.h"

#include <dlfcn.h>
#include <time.h>

#define STEPS 7

void plain_take(int number);

static void gate(int step)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	const char *folder = getenv("GATE");
	char path[4096];
	int fd;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%d.%d", folder, (int)getpid(), step);
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	if (fd < 0)
		_exit(98);
	close(fd);
	snprintf(path, sizeof(path), "%s/go.%d", folder, step);
	while (access(path, F_OK))
		nanosleep(&pause, NULL);
}

static __attribute__((noinline)) void early(int calls)
{
	for (int i = 0; i < calls; i++) {
		plain_take(i);
		free(malloc(100 + i % 7));
	}
}

static __attribute__((noinline)) void later(int calls)
{
	for (int i = 0; i < calls; i++) {
		plain_take(i);
		free(malloc(200 + i % 7));
	}
}

int main(int argc, char **argv)
{
	void (*step)(int);
	void *runtime;

	if (argc != 3)
		return 2;
	gate(1);
	early(atoi(argv[1]));
	gate(2);
	runtime = dlopen("libcalls.so", RTLD_NOW);
	step = runtime ? (void (*)(int))dlsym(runtime, "calls_step") : NULL;
	if (!step)
		return 1;
	gate(3);
	for (int i = 0; i < STEPS; i++)
		step(i);
	later(atoi(argv[2]));
	gate(4);
	return 0;
}
