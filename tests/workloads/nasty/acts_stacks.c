/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acts_stacks.c - calls on other stacks than the thread's own: signal stacks, handlers, fibers.
 *
 * How acts are written tells acts_calls.c.
 */

//@ altstack adds=handler,many weight=3 not=anywhere,handler,child,fiber
// A handler on a signal stack that lies above or below the thread's own stack, while a call waits on that.
struct act_@ID@_way {
	char *stacks;
	struct spin spin;
	sem_t semaphore;
};

static void act_@ID@_handler(int signal, siginfo_t *info, void *context)
{
	struct act_@ID@_way *way = (struct act_@ID@_way *)info->si_value.sival_ptr;

	if (!way || !way->spin.entered || way->spin.leave)
		return;
	way->spin.leave = 1;
	@BODY@
	if (@{in:0|1}@)
		post(&way->semaphore);
}

enum { ACT_@ID@_STACK = 1 << 19 };

static void *act_@ID@_thread(void *argument)
{
	struct act_@ID@_way *way = (struct act_@ID@_way *)argument;
	struct alarm alarm;
	stack_t stack;

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = way->stacks + (@{above:1|0}@ ? ACT_@ID@_STACK : 0);
	stack.ss_size = ACT_@ID@_STACK;
	sigaltstack(&stack, NULL);
	alarm_start(&alarm, @SIG@, 2000, act_@ID@_handler, SA_ONSTACK, way);
	if (@{in}@) {
		count(SEM_WAIT);
		way->spin.entered = 1;
		expect(@ID@, sem_wait(&way->semaphore), 0);
	} else {
		spin_here(@ID@, &way->spin);
	}
	alarm_end(&alarm);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	return NULL;
}

static void act_@ID@(void)
{
	struct act_@ID@_way way;
	pthread_attr_t attributes;
	pthread_t thread;

	memset(&way, 0, sizeof(way));
	sem_init(&way.semaphore, 0, 0);
	way.stacks = (char *)mmap(NULL, 2 * ACT_@ID@_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, way.stacks + (@{above}@ ? 0 : ACT_@ID@_STACK), ACT_@ID@_STACK);
	for (int i = 0; i < @{n:1-3}@; i++) {
		way.spin.entered = way.spin.leave = 0;
		pthread_create(&thread, &attributes, act_@ID@_thread, &way);
		pthread_join(thread, NULL);
	}
	munmap(way.stacks, 2 * ACT_@ID@_STACK);
}

//@ handler adds=handler,many not=anywhere,handler
// The same on the thread's own stack.
static void act_@ID@_handler(int signal, siginfo_t *info, void *context)
{
	struct spin *spin = (struct spin *)info->si_value.sival_ptr;

	if (!spin || !spin->entered || spin->leave)
		return;
	@BODY@
	spin->leave = 1;
}

static void act_@ID@(void)
{
	struct spin spin = { 0, 0 };
	struct alarm alarm;

	alarm_start(&alarm, @SIG@, 2000, act_@ID@_handler, 0, &spin);
	spin_here(@ID@, &spin);
	alarm_end(&alarm);
}

//@ sampler adds=anywhere,many not=anywhere,handler,child,many,fiber
// A profiler's timer: its handler makes calls, at whatever instruction it comes. On a signal stack, or not.
static volatile int act_@ID@_ticks;

static void act_@ID@_handler(int signal, siginfo_t *info, void *context)
{
	if (act_@ID@_ticks >= @{ticks:3-30}@)
		return;
	act_@ID@_ticks = act_@ID@_ticks + 1;
	@BODY@
}

static void act_@ID@(void)
{
	static char memory[1 << 17];
	long before = sum;
	struct alarm alarm;
	stack_t stack, old;

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = memory;
	stack.ss_size = sizeof(memory);
	sigaltstack(&stack, &old);
	act_@ID@_ticks = 0;
	alarm_start(&alarm, @SIG@, @{us:500|1000|3000}@, act_@ID@_handler, @{flags:SA_ONSTACK|0}@, NULL);
	while (act_@ID@_ticks < @{ticks}@) {
		leaf(@ID@, 1);
		plain(@ID@, 1);
	}
	alarm_end(&alarm);
	sigaltstack(&old, NULL);
	sum = before + 1; /* how many calls that took is not the same each time */
}

//@ fibers not=anywhere adds=fiber,many weight=2
// Two flows of control with calls in progress, which go on by turns.
#include <ucontext.h>
struct act_@ID@_pair {
	ucontext_t main, fiber;
	long turns;
};

static long act_@ID@_turn(void *argument)
{
	struct act_@ID@_pair *pair = (struct act_@ID@_pair *)argument;

	pair->turns++;
	swapcontext(&pair->fiber, &pair->main);
	return 1;
}

static void act_@ID@_fiber(unsigned high, unsigned low)
{
	struct act_@ID@_pair *pair = (struct act_@ID@_pair *)((unsigned long)high << 32 | low);

	for (int i = 0; i < @{turns:1-4}@; i++)
		expect(@ID@, call(act_@ID@_turn, pair), 2);
	@BODY@
}

static long act_@ID@_resume(void *argument)
{
	struct act_@ID@_pair *pair = (struct act_@ID@_pair *)argument;

	swapcontext(&pair->main, &pair->fiber);
	return pair->turns;
}

static void act_@ID@(void)
{
	struct act_@ID@_pair pair;
	unsigned long where = (unsigned long)&pair;
	char *stack = (char *)mmap(NULL, 1 << 19, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pair.turns = 0;
	getcontext(&pair.fiber);
	pair.fiber.uc_stack.ss_sp = stack;
	pair.fiber.uc_stack.ss_size = 1 << 19;
	pair.fiber.uc_link = &pair.main;
	makecontext(&pair.fiber, (void (*)(void))act_@ID@_fiber, 2, (unsigned)(where >> 32), (unsigned)where);
	for (int i = 1; i <= @{turns}@; i++)
		expect(@ID@, call(act_@ID@_resume, &pair), i + 1);
	expect(@ID@, call(act_@ID@_resume, &pair), @{turns}@ + 1);
	munmap(stack, 1 << 19);
}

//@ own_fibers not=anywhere adds=fiber,many weight=2
// The same by a few instructions of our own: in the program, in a library that nobody knows, or in one that is loaded
// later.
@{by:OWN|LINKED|LOADED}@_SWITCH
struct act_@ID@_pair {
	void *main, *fiber;
	long turns;
};

static __thread struct act_@ID@_pair *act_@ID@_here;

static long act_@ID@_turn(void *argument)
{
	struct act_@ID@_pair *pair = (struct act_@ID@_pair *)argument;

	pair->turns++;
	switch_by_@{by}@()(&pair->fiber, pair->main);
	return 1;
}

static void act_@ID@_fiber(void)
{
	struct act_@ID@_pair *pair = act_@ID@_here;

	for (int i = 0; i < @{turns:1-4}@; i++)
		expect(@ID@, call(act_@ID@_turn, pair), 2);
	@BODY@
	switch_by_@{by}@()(&pair->fiber, pair->main);
	abort();
}

static long act_@ID@_resume(void *argument)
{
	struct act_@ID@_pair *pair = (struct act_@ID@_pair *)argument;

	switch_by_@{by}@()(&pair->main, pair->fiber);
	return pair->turns;
}

static void act_@ID@(void)
{
	struct act_@ID@_pair pair;
	char *stack = (char *)mmap(NULL, 1 << 19, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **top = (void **)(stack + (1 << 19));

	*--top = NULL; /* the stack is aligned as at a call */
	*--top = (void *)act_@ID@_fiber;
	for (int i = 0; i < 6; i++)
		*--top = NULL;
	pair.fiber = top;
	pair.turns = 0;
	act_@ID@_here = &pair;
	for (int i = 1; i <= @{turns}@; i++)
		expect(@ID@, call(act_@ID@_resume, &pair), i + 1);
	expect(@ID@, call(act_@ID@_resume, &pair), @{turns}@ + 1);
	munmap(stack, 1 << 19);
}

//@ preempted not=anywhere,handler,child,many,fiber weight=2
// A timer's handler changes between two threads of user space, at whatever instruction it comes.
#include <ucontext.h>
static ucontext_t act_@ID@_contexts[2];
static volatile int act_@ID@_now, act_@ID@_switches, act_@ID@_over;

static void act_@ID@_handler(int signal, siginfo_t *info, void *context)
{
	int from = act_@ID@_now;

	if (act_@ID@_over || (act_@ID@_switches >= @{switches:10-60}@ && !from))
		return;
	act_@ID@_switches = act_@ID@_switches + 1;
	act_@ID@_now = !from;
	swapcontext(&act_@ID@_contexts[from], &act_@ID@_contexts[!from]);
}

static void act_@ID@_work(void)
{
	leaf(@ID@, 1);
	if (@{plain:0|1}@)
		plain(@ID@, 1);
	if (@{pause:0|1}@) {
		struct spin spin = { 0, 1 };

		spin_here(@ID@, &spin);
	}
}

static void act_@ID@_fiber(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, @SIG@);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	while (!act_@ID@_over)
		act_@ID@_work();
}

static void act_@ID@(void)
{
	char *stack = (char *)mmap(NULL, 1 << 19, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t *fiber = &act_@ID@_contexts[1];
	long before = sum;
	struct alarm alarm;
	sigset_t set, old;

	act_@ID@_now = act_@ID@_switches = act_@ID@_over = 0;
	getcontext(fiber);
	fiber->uc_stack.ss_sp = stack;
	fiber->uc_stack.ss_size = 1 << 19;
	fiber->uc_link = &act_@ID@_contexts[0];
	sigaddset(&fiber->uc_sigmask, @SIG@); /* not before it is on its own stack */
	makecontext(fiber, act_@ID@_fiber, 0);
	alarm_start(&alarm, @SIG@, @{us:500|2000}@, act_@ID@_handler, 0, NULL);
	while (act_@ID@_switches < @{switches}@ || act_@ID@_now)
		act_@ID@_work();
	sigemptyset(&set);
	sigaddset(&set, @SIG@);
	sigprocmask(SIG_BLOCK, &set, &old);
	alarm_end(&alarm);
	act_@ID@_over = 1;
	swapcontext(&act_@ID@_contexts[0], fiber); /* it comes to its end */
	sigprocmask(SIG_SETMASK, &old, NULL);
	munmap(stack, 1 << 19);
	sum = before + 2;
}
