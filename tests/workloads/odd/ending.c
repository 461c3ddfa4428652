/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Works until it ends, in the way that --how asks for: 0 returns from main, 1 _exit(7), 2 abort, 3 a wild pointer, 4
 * execs another program, 5 the first thread ends and a second one goes on for a while, 6 a thread calls exit(7) while
 * others work. Ends --seconds after the gate opened.
 */
#include "job.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static struct job job = { .name = "ending", .rank = -1, .seconds = 0.3 };
static long how;
static volatile int *volatile nowhere = (volatile int *)16;

static void work(double seconds)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int64_t end = job_now() + (int64_t)(seconds * 1e9);

	while (job_now() < end) {
		void *block = malloc(50);

		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		free(block);
		job_sleep_us(200);
	}
}

static void *work_alone(void *argument)
{
	work(job.seconds);
	exit(how == 6 ? 7 : 0);
}

static void end_somehow(void)
{
	pthread_t thread;

	switch (how) {
	case 1:
		_exit(7);
	case 2:
		abort();
	case 3:
		*nowhere = 1;
		break;
	case 4:
		execl("/bin/sleep", "sleep", "0.3", (char *)NULL);
		break;
	case 5:
		pthread_create(&thread, NULL, work_alone, NULL);
		pthread_exit(NULL);
	case 6:
		pthread_create(&thread, NULL, work_alone, NULL);
		for (;;)
			work(1);
	}
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--how", &how }, { NULL, NULL } };

	job_options(&job, argc, argv, more);
	job_begin(&job);
	work(job.seconds);
	end_somehow();
	return 0;
}
