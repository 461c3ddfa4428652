/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that want a processor or do not, and what the kernel tells each of them of itself.
 *
 *   scheduled KIND:MS...     in its working folder: waits for the file "go", works, writes "truth", waits for "end"
 *
 * A thread is there before "go", takes its lock for the first time then, and works MS milliseconds:
 *
 *   burn     of processor time, however long that takes
 *   sleep    of time
 *
 * With "before-" in front of that it has burnt twice as much before "go": nobody looked, and it must not count. With
 * "started-" it is made after "go". With "ends-" it ends after its work, the others wait for "end". Each takes and
 * gives back a lock every 5 ms of its work: the call that an observer sees. The truth is a list, in the order of the
 * arguments: {"tid", "kind", "wall_ns", "cpu_ns", "run_queue_ns", "user_and_system_ns", "involuntary_switches"}, each
 * the difference between the thread's first lock and the end of its work.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 16
#define MS 1000000L
#define STEP_MS 5

struct figures {
	int64_t wall, cpu, queued, used;
	long switches;
};

static struct worker {
	pthread_t thread;
	const char *kind;
	bool burns, started, before, ends;
	long ms;
	int tid;
	struct figures truth;
} workers[MOST];
static int nworkers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int ready, done;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * MS }, NULL);
}

static void wait_for(const char *name, long ms)
{
	for (long waited = 0; access(name, F_OK); waited += ms) {
		if (waited > 120000)
			exit(3); /* whoever tests it has died */
		pause_ms(ms);
	}
}

/* It gives its processor away first, since that is when the kernel brings its figures up to date. */
static struct figures look(void)
{
	struct figures f = { 0 };
	struct rusage usage;
	char text[100] = "";
	int file;

	pause_ms(1);
	file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (file < 0 || read(file, text, sizeof(text) - 1) <= 0 || sscanf(text, "%ld %ld", &f.cpu, &f.queued) != 2)
		abort();
	close(file);
	getrusage(RUSAGE_THREAD, &usage);
	f.used = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000L +
		 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000L;
	f.switches = usage.ru_nivcsw;
	f.wall = now(CLOCK_MONOTONIC);
	return f;
}

static void burn(long ms)
{
	int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ms * MS;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 2000; i++)
			;
}

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct figures first, last;

	w->tid = syscall(SYS_gettid);
	if (w->before)
		burn(2 * w->ms);
	ready++;
	wait_for("go", 10);
	first = look();
	for (long ms = 0; ms < w->ms; ms += STEP_MS) {
		take_lock();
		if (w->burns)
			burn(STEP_MS);
		else
			pause_ms(STEP_MS);
	}
	last = look();
	w->truth = (struct figures){ last.wall - first.wall, last.cpu - first.cpu, last.queued - first.queued,
				     last.used - first.used, last.switches - first.switches };
	done++;
	if (!w->ends)
		wait_for("end", 100);
	return NULL;
}

static void start(bool later)
{
	for (int i = 0; i < nworkers; i++)
		if (workers[i].started == later && pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			exit(1);
}

static void write_truth(void)
{
	FILE *truth = fopen("truth.new", "w");

	for (int i = 0; i < nworkers; i++) {
		const struct worker *w = &workers[i];

		fprintf(truth,
			"%s{\"tid\": %d, \"kind\": \"%s\", \"wall_ns\": %ld, \"cpu_ns\": %ld, \"run_queue_ns\": %ld, "
			"\"user_and_system_ns\": %ld, \"involuntary_switches\": %ld}",
			i ? ",\n" : "[", w->tid, w->kind, w->truth.wall, w->truth.cpu, w->truth.queued, w->truth.used,
			w->truth.switches);
	}
	fputs("]\n", truth);
	fclose(truth);
	rename("truth.new", "truth");
}

static const char *without(const char *text, const char *word, bool *there)
{
	*there = !strncmp(text, word, strlen(word));
	return *there ? text + strlen(word) : text;
}

int main(int argc, char **argv)
{
	int early = 0;

	for (nworkers = 0; nworkers < argc - 1 && nworkers < MOST; nworkers++) {
		struct worker *w = &workers[nworkers];
		const char *kind = w->kind = argv[nworkers + 1];

		kind = without(kind, "started-", &w->started);
		kind = without(kind, "before-", &w->before);
		kind = without(kind, "ends-", &w->ends);
		w->burns = *kind == 'b';
		w->ms = strchr(kind, ':') ? atol(strchr(kind, ':') + 1) : 0;
		early += !w->started;
	}
	start(false);
	while (ready < early)
		pause_ms(5);
	fclose(fopen("ready", "w"));
	wait_for("go", 10);
	start(true);
	while (done < nworkers)
		pause_ms(5);
	write_truth();
	wait_for("end", 100);
	_exit(0);
}
