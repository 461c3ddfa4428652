/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acts_unwound.c - what leaves calls in other ways than by returning: exceptions and jumps.
 *
 * How acts are written tells acts_calls.c.
 */

//@ throws lang=c++ adds=callback weight=2 not=anywhere
static long act_@ID@_inner(void *n)
{
	if ((long)n)
		return call(act_@ID@_inner, (void *)((long)n - 1));
	@BODY@
	throw 7L;
}

static void act_@ID@(void)
{
	long caught = 0;

	try {
		call(act_@ID@_inner, (void *)@{depth:0-4}@);
	} catch (long n) {
		caught = n;
	}
	expect(@ID@, caught, 7);
}

//@ throws_past_c lang=c++ adds=callback not=anywhere,many weight=2
// The handler is set by a C library, which imports what sets it; only the program knows exceptions.
@ODDLIB@
static void act_@ID@_thrower(void)
{
	@BODY@
	throw 8L;
}

static void act_@ID@(void)
{
	long caught = 0;

	odd_set_handler(act_@ID@_thrower);
	count(TRIGGER);
	try {
		nasty_trigger(1);
	} catch (long n) {
		caught = n;
	}
	expect(@ID@, caught, 8);
}

//@ throws_from_handler lang=c++ libc=1 not=anywhere,fiber,handler,child weight=2
static void act_@ID@_handler(int signal, siginfo_t *info, void *context)
{
	struct spin *spin = (struct spin *)info->si_value.sival_ptr;

	if (!spin || !spin->entered || spin->leave)
		return;
	spin->leave = 1;
	throw 9L;
}

// On a thread of its own: libc's cleanup handlers of a wait that is left like this stay behind.
static void *act_@ID@_thread(void *unused)
{
	struct spin spin = { 0, 0 };
	struct alarm alarm;
	struct waker waker;
	long caught = 0;
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	if (@{in:0|1|2}@) {
		spin.entered = 1;
		waker_start(&waker, @SIG@, act_@ID@_handler, SA_NODEFER, &spin);
	} else {
		alarm_start(&alarm, @SIG@, 2000, act_@ID@_handler, SA_NODEFER, &spin);
	}
	try {
		if (@{in}@ == 0)
			spin_here(@ID@, &spin);
		else if (@{in}@ == 1)
			wait_here(@ID@, &semaphore);
		else
			wait_in_library(@ID@, &semaphore);
	} catch (long n) {
		caught = n;
	}
	if (@{in}@)
		pthread_join(waker.thread, NULL);
	else
		alarm_end(&alarm);
	expect(@ID@, caught, 9);
	return NULL;
}

static void act_@ID@(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, act_@ID@_thread, NULL);
	pthread_join(thread, NULL);
}

//@ longjmps adds=callback not=anywhere
struct act_@ID@_place {
	jmp_buf back;
};

static long act_@ID@_inner(void *place)
{
	@BODY@
	longjmp(((struct act_@ID@_place *)place)->back, 4);
}

static void act_@ID@(void)
{
	struct act_@ID@_place place;
	volatile int come = setjmp(place.back);

	if (!come)
		call(act_@ID@_inner, &place);
	expect(@ID@, come, 4);
}

//@ siglongjmps not=anywhere,many
static sigjmp_buf act_@ID@_back;

static void act_@ID@_handler(int signal, siginfo_t *info, void *context)
{
	struct spin *spin = (struct spin *)info->si_value.sival_ptr;

	if (!spin || !spin->entered || spin->leave)
		return;
	spin->leave = 1;
	siglongjmp(act_@ID@_back, 6);
}

static void act_@ID@(void)
{
	static struct spin spin;
	static struct alarm alarm;
	volatile int come;

	for (volatile int i = 0; i < @{n:1-3}@; i++) {
		spin.entered = spin.leave = 0;
		come = sigsetjmp(act_@ID@_back, 1);
		if (!come) {
			alarm_start(&alarm, @SIG@, 1000, act_@ID@_handler, 0, &spin);
			spin_here(@ID@, &spin);
		}
		alarm_end(&alarm);
		expect(@ID@, come, 6);
	}
}
