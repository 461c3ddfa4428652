/*
 * acts.c - what nasty processes are composed of. Not compiled as it is: tests/nasty.py takes acts by their names, puts other acts
 * into them, and writes a program of it. (In C and, where an act wants it or by chance, in C++.)
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
 * adds=a,b      what is put in is inside of these kinds: many (several threads at a time), handler, anywhere (of a handler that may
 *               come at any instruction: nothing but what is safe there), callback, fiber, thread, child
 * libc=1        wants observed functions of libc
 * weight=N      how often it is taken (1)
 *
 * Every act leaves the process as it found it, computes the same whenever it runs, and counts its observed calls just before them.
 * A handler acts only where the call that it interrupts has begun, so that counts stay exact.
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
// The same by a few instructions of our own: in the program, in a library that nobody knows, or in one that is loaded later.
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

//@ forks adds=child,many not=anywhere,child weight=2
static void act_@ID@(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		sum = 0;
		@BODY@
		_exit(sum & 63);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ execs not=anywhere,child weight=0.7
static void act_@ID@(void)
{
	int status = 0;
	pid_t child = @{how:fork|vfork}@();

	if (!child) {
		execl(self, self, "--child", "@{n:1-9}@", (char *)NULL);
		_exit(99);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ vforks not=anywhere,child,many
static void act_@ID@(void)
{
	int status = 0;
	pid_t child = vfork();

	if (!child) {
		for (int i = 0; i < @{n:1-9}@; i++)
			leaf(@ID@, i);
		_exit(5);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ killed adds=child,many not=anywhere,child
// A child that ends in the middle of a call.
static long act_@ID@_inner(void *unused)
{
	@BODY@
	@{how:abort()|raise(SIGKILL)|_exit(7)|raise(SIGTERM)}@;
	return 0;
}

static void act_@ID@(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		signal(SIGABRT, SIG_DFL);
		call(act_@ID@_inner, NULL);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status & 0xff7f); /* not whether there is a core */
}

//@ filtered adds=child,many not=anywhere,child weight=0.3
// A child under a seccomp filter that kills for system calls which are newer than it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
static void act_@ID@(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 335, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, @{what:SECCOMP_RET_KILL_PROCESS|SECCOMP_RET_ERRNO|SECCOMP_RET_TRAP}@),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };
	int status = 0;
	pid_t child = fork();

	if (!child) {
		sum = 0;
		leaf(@ID@, 0);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(98);
		leaf(@ID@, 1);
		plain(@ID@, 1);
		_exit(sum & 63);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ backtraces adds=callback not=anywhere
#include <execinfo.h>
static long act_@ID@_inner(void *depth)
{
	void *frames[64];

	if ((long)depth)
		return call(act_@ID@_inner, (void *)((long)depth - 1)) + 1;
	@BODY@
	int n = backtrace(frames, 64);

	return n >= @{depth:0-4}@ * 2 + 3;
}

static void act_@ID@(void)
{
	expect(@ID@, call(act_@ID@_inner, (void *)@{depth}@), 2 + 2 * @{depth}@);
}

//@ plugin not=anywhere,many
// A library that is loaded now, makes calls, and is let go of or stays.
#include <dlfcn.h>
static void act_@ID@(void)
{
	void *library = dlopen(PLUGIN, RTLD_NOW | @{scope:RTLD_LOCAL|RTLD_GLOBAL}@);
	long (*work)(long) = library ? (long (*)(long))dlsym(library, "plugin_work") : NULL;

	if (!work)
		abort();
	__atomic_add_fetch(&counts[LEAF], @{n:1-9}@, __ATOMIC_RELAXED);
	__atomic_add_fetch(&counts[CALL], @{n}@, __ATOMIC_RELAXED);
	expect(@ID@, work(@{n}@), 5 * @{n}@);
	if (@{close:0|1}@)
		dlclose(library);
}
