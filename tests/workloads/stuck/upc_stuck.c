/*
 * UPC threads on the stand-in runtime: all but the last one are at a barrier; that one is at the gate, and comes when it opens. Who is about to
 * wait creates DIR/enters.THREAD.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "job.h"
#include "upc_runtime.h"

static struct job job = { .name = "upc_stuck" };

static void enter(void)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/enters.%d", job.gate, MYTHREAD);
	file = open(path, O_CREAT | O_WRONLY, 0666);
	if (file < 0)
		exit(4);
	close(file);
}

__attribute__((noinline)) static void meet(int id)
{
	enter();
	__upc_barrier(id);
	__asm__ volatile("" : : : "memory"); /* a call, not a jump */
}

int upc_main(int argc, char **argv)
{
	job_options(&job, argc, argv, NULL);
	job.rank = MYTHREAD;
	if (MYTHREAD == THREADS - 1)
		job_begin(&job);
	meet(7);
	if (!MYTHREAD)
		printf("all %d met\n", THREADS);
	return 0;
}
