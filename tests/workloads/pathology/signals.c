/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wait until another one lets them go on. --pattern 0: a producer hands items to consumers by semaphores;
 * 1: by a queue with two condition variables; 2: threads meet at a barrier made of a mutex and a condition variable, to
 * which --who comes late. 3: two threads meet at a barrier, with even shares, and one of them tells a third thread each
 * time, which has hardly anything to do.
 *
 * Of 0 and 1 the first member is the producer, who works --us for each item; each consumer works --base for it.
 */
#include "late.h"

#include <pthread.h>
#include <semaphore.h>

#define IN_QUEUE 4 /* items for each consumer */

enum { SEMAPHORES, CONDITIONS, MEETING, HELPER };

static struct job job = { .name = "pathology_signals", .rank = -1, .rounds = 30 };
static long nthreads = 4, pattern;
static struct late_member team[LATE_TEAM];

static sem_t filled, room;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_filled = PTHREAD_COND_INITIALIZER, has_room = PTHREAD_COND_INITIALIZER,
		      all_came = PTHREAD_COND_INITIALIZER;
static long queued, came, meetings;
static bool over;
static pthread_barrier_t barrier;

/* --- handing over ---------------------------------------------------------- */

static void hand_over(void)
{
	if (pattern == SEMAPHORES) {
		sem_wait(&room);
		sem_post(&filled);
		return;
	}
	pthread_mutex_lock(&mutex);
	while (queued == IN_QUEUE * nthreads)
		pthread_cond_wait(&has_room, &mutex);
	queued++;
	pthread_cond_signal(&is_filled);
	pthread_mutex_unlock(&mutex);
}

static void take(struct late_member *m)
{
	if (pattern == SEMAPHORES) {
		LATE_CALL(m, sem_wait(&filled));
		sem_post(&room);
		return;
	}
	pthread_mutex_lock(&mutex);
	while (!queued)
		LATE_CALL(m, pthread_cond_wait(&is_filled, &mutex));
	queued--;
	pthread_cond_signal(&has_room);
	pthread_mutex_unlock(&mutex);
}

static void *consume(void *argument)
{
	struct late_member *m = argument;

	for (long i = 0; i < job.rounds; i++) {
		m->came[i] = job_now();
		take(m);
		late_left(m, i);
		late_work_us(late_plan.base);
	}
	return NULL;
}

static void produce(void)
{
	struct late_member *m = &team[0];

	m->line = __LINE__ + 5; /* where what it does between two calls begins and ends */
	for (long i = 0; i < job.rounds; i++) {
		int64_t begin = job_now();

		for (long k = 1; k < nthreads; k++) {
			late_work_us(late_plan.us);
			hand_over();
		}
		m->came[i] = job_now();
		m->planted[i] = m->came[i] - begin;
		late_left(m, i);
	}
}

/* --- meeting ---------------------------------------------------------------- */

static void meet(struct late_member *m)
{
	long meeting;

	pthread_mutex_lock(&mutex);
	meeting = meetings;
	if (++came == nthreads) {
		came = 0;
		meetings++;
		pthread_cond_broadcast(&all_came);
	}
	while (meeting == meetings)
		LATE_CALL(m, pthread_cond_wait(&all_came, &mutex));
	pthread_mutex_unlock(&mutex);
}

static void *work(void *argument)
{
	struct late_member *m = argument;

	for (long i = 0; i < job.rounds; i++) {
		late_come(m, m - team, i);
		meet(m);
		late_left(m, i);
	}
	return NULL;
}

/* --- a helper ----------------------------------------------------------------- */

static void *help(void *argument)
{
	struct late_member *m = argument;

	pthread_mutex_lock(&mutex);
	while (!over) {
		LATE_CALL(m, pthread_cond_wait(&is_filled, &mutex));
		queued = 0;
	}
	pthread_mutex_unlock(&mutex);
	late_left(m, 0);
	return NULL;
}

static void *share(void *argument)
{
	struct late_member *m = argument;

	for (long i = 0; i < job.rounds; i++) {
		late_come(m, -1, i);
		if (m == &team[0]) {
			pthread_mutex_lock(&mutex);
			queued++;
			over = i + 1 == job.rounds;
			pthread_cond_signal(&is_filled);
			pthread_mutex_unlock(&mutex);
		}
		pthread_barrier_wait(&barrier);
		late_left(m, i);
	}
	return NULL;
}

/* --- all of it ------------------------------------------------------------------- */

static void *(*part_of(long member))(void *)
{
	if (pattern == HELPER)
		return member == nthreads - 1 ? help : share;
	return pattern == MEETING ? work : consume;
}

static void run(void)
{
	pthread_t ids[LATE_TEAM];
	long first = pattern <= CONDITIONS; /* the producer is this thread */

	pthread_barrier_init(&barrier, NULL, nthreads - 1);
	sem_init(&filled, 0, 0);
	sem_init(&room, 0, IN_QUEUE * nthreads);
	for (long i = first; i < nthreads; i++)
		pthread_create(&ids[i], NULL, part_of(i), &team[i]);
	if (first)
		produce();
	for (long i = first; i < nthreads; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		LATE_OPTIONS, { "--threads", &nthreads }, { "--pattern", &pattern }, { NULL, NULL }
	};

	job_options(&job, argc, argv, options);
	if (nthreads < 2 || nthreads > LATE_TEAM || late_plan.who >= nthreads || job.rounds > LATE_ROUNDS)
		return 2;
	job_begin(&job);
	run();
	job_finish(&job);
	return late_team_truth(&job, team, nthreads);
}
