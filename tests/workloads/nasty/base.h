/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base.h - what every nasty process has (tests/support/nasty.py composes them): observed calls, each counted by the
 * process itself and its result checked; a sum over all that was computed, which does not depend on who came first;
 * rounds; signals that come to a thread while it is inside of a call.
 *
 * Counts are kept in memory that children share, forked or started anew.
 */
#ifndef NASTY_BASE_H
#define NASTY_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "library.h"

#define EVENTS(X) X(LEAF) X(PLAIN) X(SPIN) X(CALL) X(SORT) X(WAIT) X(TRIGGER) \
	X(SEM_WAIT) X(SEM_POST) X(BARRIER_WAIT) X(MUTEX_LOCK) X(COND_WAIT) X(MALLOC) X(FREE)
#define NUMBER(name) name,
#define NAME(name)   #name,
enum event { EVENTS(NUMBER) NEVENTS };

static long *counts; /* by event; shared with children */
static long sum;     /* of this round */
static const char *self;

static inline void count(enum event event)
{
	__atomic_add_fetch(&counts[event], 1, __ATOMIC_RELAXED);
}

static inline void mix(long value)
{
	__atomic_add_fetch(&sum, value, __ATOMIC_RELAXED);
}

/* Says so on stdout, where it makes the difference between two runs. */
static inline void expect(int act, long seen, long wanted)
{
	if (seen != wanted)
		dprintf(1, "act %d: %ld for %ld\n", act, seen, wanted);
	mix(seen);
}

static inline void leaf(int act, long n)
{
	count(LEAF);
	expect(act, nasty_leaf(n), 3 * n + 1);
}

static inline void plain(int act, long n)
{
	count(PLAIN);
	expect(act, nasty_plain(n), n + 7);
}

static inline void spin_here(int act, struct spin *spin)
{
	count(SPIN);
	expect(act, nasty_spin(spin), 11);
}

static inline long call(long (*f)(void *), void *argument)
{
	count(CALL);
	return nasty_call(f, argument);
}

static inline void wait_in_library(int act, sem_t *semaphore)
{
	count(WAIT);
	count(SEM_WAIT);
	expect(act, nasty_wait(semaphore), 5);
}

static inline void wait_here(int act, sem_t *semaphore)
{
	count(SEM_WAIT);
	expect(act, sem_wait(semaphore), 0);
}

static inline void post(sem_t *semaphore)
{
	count(SEM_POST);
	sem_post(semaphore);
}

/* --- signals to one thread, again and again ------------------------------ */

struct alarm {
	timer_t timer;
};

/* Sends the calling thread this signal every so many microseconds; value comes with it. */
static inline void alarm_start(struct alarm *alarm, int signal, long us, void (*handler)(int, siginfo_t *, void *),
			       int flags, void *value)
{
	struct sigaction action;
	struct sigevent event;
	struct itimerspec times;

	memset(&action, 0, sizeof(action));
	memset(&event, 0, sizeof(event));
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
	sigaction(signal, &action, NULL);
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = signal;
	event.sigev_value.sival_ptr = value;
	event._sigev_un._tid = syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &alarm->timer))
		abort();
	times.it_value.tv_sec = times.it_interval.tv_sec = us / 1000000;
	times.it_value.tv_nsec = times.it_interval.tv_nsec = us % 1000000 * 1000;
	timer_settime(alarm->timer, 0, &times, NULL);
}

static inline void alarm_end(struct alarm *alarm)
{
	timer_delete(alarm->timer);
}

/* Sends the thread that starts it one signal, once that sleeps in a futex: in the call that it makes next. */
struct waker {
	pthread_t thread, whom;
	pid_t tid;
	int signal;
	void *value;
};

static void *wake(void *argument)
{
	struct waker *waker = (struct waker *)argument;
	union sigval value;
	char path[64], line[8];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", waker->tid);
	for (int seen = 0; seen < 2;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, line, sizeof(line) - 1);

		close(fd);
		line[n > 0 ? n : 0] = '\0';
		seen = atoi(line) == SYS_futex ? seen + 1 : 0;
		usleep(1000);
	}
	value.sival_ptr = waker->value;
	pthread_sigqueue(waker->whom, waker->signal, value);
	return NULL;
}

static inline void waker_start(struct waker *waker, int signal, void (*handler)(int, siginfo_t *, void *), int flags,
			       void *value)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
	sigaction(signal, &action, NULL);
	waker->whom = pthread_self();
	waker->tid = syscall(SYS_gettid);
	waker->signal = signal;
	waker->value = value;
	pthread_create(&waker->thread, NULL, wake, waker);
}

/* --- the process ----------------------------------------------------------- */

static const char *until; /* rounds go on until this file is there; NULL: one */

static inline void begin(int argc, char **argv)
{
	const char *inherited = getenv("NASTY_COUNTS");
	char number[16];
	int fd = inherited ? atoi(inherited) : memfd_create("counts", 0);

	self = argv[0];
	if (!inherited) {
		snprintf(number, sizeof(number), "%d", fd);
		setenv("NASTY_COUNTS", number, 1);
		if (ftruncate(fd, 4096))
			abort();
	}
	counts = (long *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		abort();
	if (argc > 2 && !strcmp(argv[1], "--child")) { /* started by another one */
		for (int i = 0; i < atoi(argv[2]); i++)
			leaf(-1, i);
		_exit(sum & 63);
	}
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--gate")) {
			char byte;

			dprintf(1, "ready\n");
			if (read(0, &byte, 1) < 0)
				abort();
		} else if (!strcmp(argv[i], "--until")) {
			until = argv[i + 1];
		}
	}
}

static inline int finish(long rounds, long first, long others)
{
	static const char *const names[] = { EVENTS(NAME) };

	printf("sum %ld\n", first);
	if (others)
		printf("%ld rounds had another sum\n", others);
	for (int i = 0; i < NEVENTS; i++)
		printf("count %s %ld\n", names[i], counts[i]);
	printf("rounds %ld\n", rounds);
	return first & 1 ? 3 : 0;
}

static inline void more_rounds(void (*round)(void), long *rounds, long *first, long *others)
{
	do {
		sum = 0;
		round();
		if (++*rounds == 1)
			*first = sum;
		else
			*others += sum != *first;
	} while (until && access(until, F_OK));
}

#endif
