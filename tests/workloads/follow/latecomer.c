/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * latecomer BEFORE AFTER [busy|held]: becomes a rank late. Calls plain_take() and malloc() BEFORE times, in early(); then loads the
 * runtime and calls its function 7 times; then calls the others AFTER times, in later(). Where GATE names a folder it
 * waits before each of these steps: writes PID.1, PID.2 and so on there, until go.1, go.2 are there; at last for go.4.
 * "busy": another thread calls plain_take() all the time, and how often is printed at the end.
 * "held": another thread is in plain_hold() when the runtime is loaded, returns in step 3, and calls nothing any more.
 */
#include "follow.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define STEPS 7

void plain_take(int number);
void plain_hold(volatile int until[2]);

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

static _Atomic bool over;
static _Atomic long taken;

static void *keep_taking(void *unused)
{
	while (!over) {
		plain_take(0);
		taken++;
	}
	return unused;
}

static volatile int let_go[2];

static void *be_held(void *unused)
{
	plain_take(0);
	plain_hold(let_go);
	taken = 1;
	while (!over)
		usleep(1000);
	return unused;
}

static void await(long calls)
{
	for (long until = taken + calls; taken < until;)
		usleep(1000);
}

int main(int argc, char **argv)
{
	void (*step)(int);
	bool busy = argc == 4 && !strcmp(argv[3], "busy");
	bool held = argc == 4 && !strcmp(argv[3], "held");
	pthread_t other;
	void *runtime;

	if (argc != 3 && !busy && !held)
		return 2;
	gate(1);
	if ((busy || held) && pthread_create(&other, NULL, busy ? keep_taking : be_held, NULL))
		return 1;
	if (busy)
		await(1000);
	while (held && !let_go[1])
		usleep(1000);
	early(atoi(argv[1]));
	gate(2);
	runtime = dlopen("libcalls.so", RTLD_NOW);
	step = runtime ? (void (*)(int))dlsym(runtime, "calls_step") : NULL;
	if (!step)
		return 1;
	gate(3);
	let_go[0] = 1;
	while (held && !taken)
		usleep(1000);
	for (int i = 0; i < STEPS; i++)
		step(i);
	later(atoi(argv[2]));
	gate(4);
	if (busy) {
		await(100000);
		printf("taken %ld\n", taken);
	}
	over = true;
	if (busy || held)
		pthread_join(other, NULL);
	return 0;
}
