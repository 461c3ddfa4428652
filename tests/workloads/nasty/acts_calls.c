/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acts_calls.c - what nasty processes are composed of. Here calls of libc, back into the program, by several threads,
 * and threads that end in the midst of one.
 *
 * These files are not compiled as they are: tests/support/nasty.py takes acts by their names, puts other acts into
 * them, and writes a program of it. (In C and, where an act wants it or by chance, in C++.)
 *
 * An act is a function act_@ID@() after a line
 *
 *     //@ NAME [key=value...]
 *
 * @BODY@        other acts: they run at that place
 * @{name:a|b}@  one of these by chance; later @{name}@ is the same one again
 * @{name:3-9}@  a number likewise
 * @SIG@         a signal of the act's own
 *
 * lang=c++      only in C++
 * not=a,b       not inside of acts that are of these kinds
 * adds=a,b      what is put in is inside of these kinds: many (several threads at a time), handler, anywhere (of a
 * handler that may come at any instruction: nothing but what is safe there), callback, fiber, thread, child libc=1
 * wants observed functions of libc weight=N      how often it is taken (1)
 *
 * Every act leaves the process as it found it, computes the same whenever it runs, and counts its observed calls just
 * before them. A handler acts only where the call that it interrupts has begun, so that counts stay exact.
 */

//@ leaves weight=3
static void act_@ID@(void)
{
	for (long i = 0; i < @{n:1-9}@; i++)
		leaf(@ID@, i);
}

//@ plains weight=2
static void act_@ID@(void)
{
	for (long i = 0; i < @{n:1-5}@; i++)
		plain(@ID@, i);
}

//@ memory libc=1 not=anywhere
static void act_@ID@(void)
{
	for (long i = 1; i <= @{n:1-20}@; i++) {
		count(MALLOC);
		char *volatile memory = (char *)malloc(i * 100);

		memset(memory, 1, i * 100);
		mix(memory[i]);
		count(FREE);
		free(memory);
	}
}

//@ mutex libc=1 not=anywhere
static void act_@ID@(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (long i = 0; i < @{n:1-9}@; i++) {
		count(MUTEX_LOCK);
		expect(@ID@, pthread_mutex_lock(&mutex), 0);
		pthread_mutex_unlock(&mutex);
	}
}

//@ semaphore libc=1
static void act_@ID@(void)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	for (long i = 0; i < @{n:1-5}@; i++) {
		post(&semaphore);
		wait_here(@ID@, &semaphore);
	}
}

//@ wait libc=1 not=anywhere
static void act_@ID@(void)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	post(&semaphore);
	wait_in_library(@ID@, &semaphore);
}

//@ callback adds=callback weight=2 not=anywhere
static long act_@ID@_inner(void *n)
{
	@BODY@
	return (long)n;
}

static void act_@ID@(void)
{
	expect(@ID@, call(act_@ID@_inner, (void *)5), 6);
}

//@ nested adds=callback not=anywhere
static long act_@ID@_inner(void *n)
{
	if ((long)n)
		return call(act_@ID@_inner, (void *)((long)n - 1));
	@BODY@
	return 0;
}

static void act_@ID@(void)
{
	expect(@ID@, call(act_@ID@_inner, (void *)@{depth:1-12}@), @{depth}@ + 1);
}

//@ sort adds=callback not=anywhere,many
static int act_@ID@_first;

static int act_@ID@_order(const void *a, const void *b)
{
	if (act_@ID@_first) {
		act_@ID@_first = 0;
		@BODY@
	}
	return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}

static void act_@ID@(void)
{
	long values[5] = { 5, 3, 4, 1, 2 };

	act_@ID@_first = 1;
	count(SORT);
	nasty_sort(values, 5, act_@ID@_order);
	expect(@ID@, values[0] * 10 + values[4], 15);
}

//@ hook adds=callback not=anywhere,many
static long act_@ID@_hook(long n)
{
	@BODY@
	return n + 1;
}

static void act_@ID@(void)
{
	nasty_set_handler(act_@ID@_hook);
	count(TRIGGER);
	expect(@ID@, nasty_trigger(4), 5);
}

//@ thread adds=thread,many weight=2 not=anywhere,handler,child
static void *act_@ID@_thread(void *n)
{
	@BODY@
	return n;
}

static void act_@ID@(void)
{
	pthread_t threads[4];
	void *result;

	for (long i = 0; i < @{threads:1-4}@; i++)
		pthread_create(&threads[i], NULL, act_@ID@_thread, (void *)i);
	for (long i = 0; i < @{threads}@; i++) {
		pthread_join(threads[i], &result);
		expect(@ID@, (long)result, i);
	}
}

//@ barrier adds=thread,many libc=1 not=anywhere,handler,child
struct act_@ID@_team {
	pthread_barrier_t barrier;
	pthread_mutex_t mutex;
	pthread_cond_t news;
	int come;
};

static void *act_@ID@_thread(void *argument)
{
	struct act_@ID@_team *team = (struct act_@ID@_team *)argument;

	count(BARRIER_WAIT);
	pthread_barrier_wait(&team->barrier);
	@BODY@
	count(BARRIER_WAIT);
	pthread_barrier_wait(&team->barrier);
	count(MUTEX_LOCK);
	pthread_mutex_lock(&team->mutex);
	team->come++;
	pthread_cond_broadcast(&team->news);
	while (team->come < 3) {
		count(COND_WAIT);
		pthread_cond_wait(&team->news, &team->mutex);
	}
	pthread_mutex_unlock(&team->mutex);
	return NULL;
}

static void act_@ID@(void)
{
	struct act_@ID@_team team = { {}, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	pthread_t threads[3];

	pthread_barrier_init(&team.barrier, NULL, 3);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, act_@ID@_thread, &team);
	for (long i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	mix(team.come);
}

//@ exits adds=thread,callback,many not=anywhere,handler,child
static long act_@ID@_cleaned;

static void act_@ID@_clean(void *n)
{
	__atomic_add_fetch(&act_@ID@_cleaned, (long)n, __ATOMIC_RELAXED);
}

static long act_@ID@_inner(void *n)
{
	if ((long)n) {
		call(act_@ID@_inner, (void *)((long)n - 1));
		return 0;
	}
	@BODY@
	pthread_exit((void *)9);
}

static void *act_@ID@_thread(void *unused)
{
	pthread_cleanup_push(act_@ID@_clean, (void *)3);
	call(act_@ID@_inner, (void *)@{depth:0-3}@);
	pthread_cleanup_pop(0);
	return NULL;
}

static void act_@ID@(void)
{
	pthread_t thread;
	void *result;

	long before = __atomic_load_n(&act_@ID@_cleaned, __ATOMIC_RELAXED);

	pthread_create(&thread, NULL, act_@ID@_thread, NULL);
	pthread_join(thread, &result);
	expect(@ID@, (long)result, 9);
	expect(@ID@, __atomic_load_n(&act_@ID@_cleaned, __ATOMIC_RELAXED) >= before + 3, 1);
}

//@ cancelled libc=1 not=anywhere,handler,child,many weight=2
static long act_@ID@_cleaned;
static sem_t act_@ID@_semaphore, act_@ID@_about;

static void act_@ID@_clean(void *n)
{
	act_@ID@_cleaned += (long)n;
}

static long act_@ID@_inner(void *unused)
{
	if (@{in:0|1|2}@ == 0) {
		wait_in_library(@ID@, &act_@ID@_semaphore);
	} else if (@{in}@ == 1) {
		wait_here(@ID@, &act_@ID@_semaphore);
	} else {
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

		pthread_mutex_lock(&mutex);
		pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &mutex);
		for (;;) {
			count(COND_WAIT);
			pthread_cond_wait(&news, &mutex);
		}
		pthread_cleanup_pop(1);
	}
	return 0;
}

static void *act_@ID@_thread(void *unused)
{
	pthread_cleanup_push(act_@ID@_clean, (void *)3);
	sem_post(&act_@ID@_about);
	call(act_@ID@_inner, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

@{by:DIRECT|DLSYM|PLUGIN}@_CANCEL

static void act_@ID@(void)
{
	int (*volatile cancel)(pthread_t) = cancel_by_@{by}@();
	struct timespec pause = { 0, 3000000 };
	pthread_t thread;
	void *result;

	act_@ID@_cleaned = 0;
	sem_init(&act_@ID@_semaphore, 0, 0);
	sem_init(&act_@ID@_about, 0, 0);
	pthread_create(&thread, NULL, act_@ID@_thread, NULL);
	count(SEM_POST);
	count(SEM_WAIT);
	sem_wait(&act_@ID@_about);
	nanosleep(&pause, NULL);
	expect(@ID@, cancel(thread), 0);
	pthread_join(thread, &result);
	expect(@ID@, result == PTHREAD_CANCELED, 1);
	expect(@ID@, act_@ID@_cleaned, 3);
}

//@ destroyed lang=c++ libc=1 not=anywhere,handler,child,many weight=2
static long act_@ID@_destroyed;
static sem_t act_@ID@_semaphore, act_@ID@_about;

struct act_@ID@_guard {
	~act_@ID@_guard() { act_@ID@_destroyed++; }
};

static void *act_@ID@_thread(void *unused)
{
	act_@ID@_guard guard;
	post(&act_@ID@_about);
	if (@{in:0|1}@)
		wait_in_library(@ID@, &act_@ID@_semaphore);
	else
		wait_here(@ID@, &act_@ID@_semaphore);
	return NULL;
}

@{by:DIRECT|DLSYM|PLUGIN}@_CANCEL

static void act_@ID@(void)
{
	int (*volatile cancel)(pthread_t) = cancel_by_@{by}@();
	struct timespec pause = { 0, 3000000 };
	pthread_t thread;
	void *result;

	act_@ID@_destroyed = 0;
	sem_init(&act_@ID@_semaphore, 0, 0);
	sem_init(&act_@ID@_about, 0, 0);
	pthread_create(&thread, NULL, act_@ID@_thread, NULL);
	wait_here(@ID@, &act_@ID@_about);
	nanosleep(&pause, NULL);
	expect(@ID@, cancel(thread), 0);
	pthread_join(thread, &result);
	expect(@ID@, act_@ID@_destroyed, 1);
}
