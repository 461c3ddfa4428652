/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold.c - holds a command with all its children, so that none of them runs before its probes are in.
 *
 * Problem: a child may live for a millisecond. Told of its birth, its exec, or a library that it maps, one comes too
 * late with the probes unless the child stands still meanwhile. So the command is traced as a debugger would (ptrace),
 * forks followed: a child stops at its birth, and after an exec its dynamic linker is watched until all libraries are
 * mapped (step.c).
 *
 * Nothing else is made of it. No address and no register in the job is changed; signals go on to where they were sent;
 * a process that is stopped by job control stays stopped (PTRACE_LISTEN); who waits for whom stays as it is. If gaspbpf
 * dies at any moment, the kernel lets all of it run on: that is why the processes are seized and never killed with us,
 * and why no process is ever stopped by a signal.
 *
 * Who is held, and for how long. A process whose probes are all for everybody who maps the file needs no holding for
 * their sake: its children have them too. So once it maps a runtime that is observed that way, and nothing is observed
 * by links to single processes, it is let go as soon as its libraries are mapped (the caller decides): ranks run
 * without a tracer. Launchers and scripts stay held, since what they will start is not known. A held process pays as
 * under `strace -f -e trace=none`: a stop for each fork, exec, new thread and signal, two for each system call of the
 * linker after an exec, nothing else.
 *
 * A thread of its own does it. Stops are answered at once, however long the rest of gaspbpf is busy with the events of
 * a wild job. What takes long (looking at files, attaching) is for the caller, who hears of it by notices; while one
 * process waits for that, the others go on. And leaving is one step, also where only a debugger of the job's own wants
 * to have the others: the kernel lets go of all that a thread traces when the thread ends, whatever state they are in.
 * None of them is made to stop for that, as a stop ends some system calls early (sigtimedwait, semop and epoll_wait
 * give EINTR). The command's parent is the caller's thread, which lives on: who asked for a signal at its parent's
 * death gets none before that.
 *
 * A library that a held process loads while it runs is looked at before any of its code runs: the kernel side has a
 * probe where the linker says that its objects are mapped, and makes the thread stop there with a signal that nobody
 * but its tracer sees (GB_HOLD_SIGNAL).
 *
 * Who ends is let go just before, so that its end is its parent's alone.
 *
 * The kernel asks for rights when a hold is taken, and not again: so once the command is held all of it works without
 * any, but what /proc tells, which is asked of the reader (reader.h).
 *
 * Where it stops: a child made with CLONE_UNTRACED is not held. It gets its probes when its fork is told, and its blind
 * window is noted. A program that wants to trace others itself cannot while it or they are held: the caller lets
 * everything go when one turns up (HOLD_RELEASE_ALL).
 */
#include "target/hold_private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gaspbpf/wire.h"
#include "target/reader.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/privileges.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define SECOND 1000000000ULL
#define SIGNALS_MOST 10000 /* some tenths of a second of stops */
#define SIGNALS_A_SECOND 500
#define LOOK_EVERY_MS 1000 /* for who has waited too long */
#define OPTIONS (PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)
#define OPTIONS_FOLLOW (OPTIONS | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT)

/* --- tracees ----------------------------------------------------------- */

struct tracee *hold_find(struct hold *hold, pid_t tid)
{
	struct tracee *t;

	HASH_FIND_INT(hold->tracees, &tid, t);
	return t;
}

static struct tracee *find_or_add(struct hold *hold, pid_t tid)
{
	struct tracee *t = hold_find(hold, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	pthread_mutex_lock(&hold->lock);
	HASH_ADD_INT(hold->tracees, tid, t);
	pthread_mutex_unlock(&hold->lock);
	if (!t->hh.tbl) {
		free(t);
		return NULL;
	}
	return t;
}

static void forget(struct hold *hold, struct tracee *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&hold->lock);
	HASH_DEL(hold->tracees, t);
	pthread_mutex_unlock(&hold->lock);
	free(t);
}

/* Lets it run on from this stop. That it has been killed meanwhile is told by its end. */
void hold_resume(struct hold *hold, struct tracee *t)
{
	int request = t->stepping ? PTRACE_SYSCALL : PTRACE_CONT;
	long signal = t->signal;

	if (t->leaving || hold->all_leave)
		request = PTRACE_DETACH;
	else if (t->group_stop)
		request = PTRACE_LISTEN;
	t->signal = 0;
	t->group_stop = false;
	ptrace(request, t->tid, 0, request == PTRACE_LISTEN ? 0 : signal);
	if (request == PTRACE_DETACH)
		forget(hold, t);
}

/* --- stops ------------------------------------------------------------- */

/* Only the first thread of a process has a pidfd for it. */
static bool is_process(pid_t tid)
{
	int fd = syscall(SYS_pidfd_open, tid, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void begin_tracee(struct hold *hold, struct tracee *t)
{
	t->seen = true;
	t->pid = is_process(t->tid) ? t->tid : 0;
	if (t->pid)
		hold_ask(hold, t, (struct hold_notice){ .kind = HOLD_BORN });
	else
		hold_resume(hold, t);
}

/* The thread that called exec has the first one's number now; its own is gone. */
static struct tracee *unite(struct hold *hold, struct tracee *t)
{
	unsigned long caller = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &caller) && caller && (pid_t)caller != t->tid) {
		forget(hold, hold_find(hold, caller));
		return t;
	}
	return NULL;
}

static void on_event(struct hold *hold, struct tracee *t, int event)
{
	unsigned long child = 0;

	switch (event) {
	case PTRACE_EVENT_EXEC:
		t->pid = t->tid;
		t->seen = true;
		t->waiting = false;
		step_begin(hold, t, unite(hold, t) != NULL);
		return;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		/* It may have stopped already; else whoever asks shall know that it is held. */
		if (!ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &child) && child)
			find_or_add(hold, child);
		break;
	case PTRACE_EVENT_EXIT:
		/* A zombie is its tracer's first: until that has collected it, its parent is told that it has ended,
		 * and finds nothing to wait for. */
		t->leaving |= t->tid != hold->command;
		break;
	}
	hold_resume(hold, t);
}

/*
 * Each signal stops a thread that is held, those that it ignores as well. Where they come faster than that takes it
 * would never get any further; so a thread has a stock of stops, which fills up again in time, and is let go when it
 * has none left. It delivers its signal itself then.
 */
static bool has_too_many_signals(struct tracee *t)
{
	uint64_t now = clock_monotonic(), regained = (now - t->signals_since) / (SECOND / SIGNALS_A_SECOND);

	if (regained) {
		t->signals = regained < t->signals ? t->signals - regained : 0;
		t->signals_since = now;
	}
	if (++t->signals <= SIGNALS_MOST)
		return false;
	log_info("%d: so many signals come to it that it would stand still while it is held: it is let go, and "
		 "libraries that it loads are looked at a little late",
		 t->tid);
	return true;
}

/* Is this the kernel side's sign that the linker has mapped something (bpf/process.bpf.c)? Anybody else's signal of
 * this number goes its way. */
static bool is_sign_of_linker(const struct tracee *t, int event, int signal)
{
	siginfo_t info;

	return !event && signal == GB_HOLD_SIGNAL && !ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) &&
	       info.si_code == SI_KERNEL;
}

static void on_stop(struct hold *hold, pid_t tid, int status)
{
	struct tracee *t = find_or_add(hold, tid);
	int event = status >> 16, signal = WSTOPSIG(status);
	bool mapped = t && is_sign_of_linker(t, event, signal);

	if (!t) { /* no memory: better not observed than standing still for ever */
		ptrace(PTRACE_DETACH, tid, 0, event ? 0 : signal);
		return;
	}
	if (event == PTRACE_EVENT_STOP)
		t->group_stop = signal != SIGTRAP;
	else if (!event && signal != SYSCALL_STOP && !mapped)
		t->signal = signal;
	if (hold->all_leave)
		hold_resume(hold, t);
	else if (!t->seen && event != PTRACE_EVENT_EXEC)
		begin_tracee(hold, t);
	else if (event && event != PTRACE_EVENT_STOP)
		on_event(hold, t, event);
	else if (mapped && !t->stepping) /* else it is the sign of its start, which is looked at anyway */
		hold_ask(hold, t, (struct hold_notice){ .kind = HOLD_LOADED });
	else if (signal == SYSCALL_STOP && t->stepping)
		step_syscall(hold, t);
	else {
		t->leaving |= t->signal && !t->stepping && has_too_many_signals(t);
		hold_resume(hold, t);
	}
}

static void collect(struct hold *hold)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, WNOHANG | __WALL | __WNOTHREAD)) > 0) {
		if (WIFSTOPPED(status)) {
			on_stop(hold, tid, status);
			continue;
		}
		forget(hold, hold_find(hold, tid));
		hold->collected |= tid == hold->command;
		if (tid == hold->command)
			hold_tell(hold, &(struct hold_notice){ .kind = HOLD_ENDED, .pid = tid, .status = status });
	}
}

/*
 * The caller looks at files, and may wait for one that never comes (a file system whose server is gone). The job shall
 * not wait with it: who has stood still for too long runs on, unobserved until the caller gets there.
 */
static void let_impatient_go(struct hold *hold)
{
	uint64_t now = clock_monotonic();
	struct tracee *t, *next;

	if (now - hold->looked < LOOK_EVERY_MS * 1000000ULL)
		return;
	hold->looked = now;
	HASH_ITER (hh, hold->tracees, t, next) {
		if (!t->waiting || now - t->waits_since < hold->patience)
			continue;
		log_warn("%d: has stood still for %llu s, waiting for its probes: it runs on without, and is not seen "
			 "until they are in: look what holds gaspbpf up "
			 "(a file system that does not answer?)",
			 t->tid, (unsigned long long)((now - t->waits_since) / SECOND));
		t->waiting = false;
		t->leaving = true;
		hold_resume(hold, t);
	}
}

/* --- the thread -------------------------------------------------------- */

static void start(struct hold *hold)
{
	struct tracee *t;

	hold->started = command_take(&hold->start, hold->name, hold->follow ? OPTIONS_FOLLOW : OPTIONS);
	t = hold->started ? NULL : find_or_add(hold, hold->command);
	if (!t && !hold->started) {
		hold->started = -ENOMEM;
		kill(hold->command, SIGKILL);
	} else if (t) {
		t->pid = t->tid;
		t->seen = true;
	}
	bell_ring(hold->began);
	if (t)
		step_begin(hold, t, false); /* it stands at the end of its exec */
}

/* Who traces needs rights only when it takes hold. */
static void give_up_rights(struct hold *hold)
{
	static const char *const nowhere[] = { NULL };
	bool asked;

	pthread_mutex_lock(&hold->lock);
	asked = hold->give_up;
	hold->give_up = false;
	pthread_mutex_unlock(&hold->lock);
	if (!asked)
		return;
	hold->given_up = keep_no_privileges(nowhere);
	bell_ring(hold->began);
}

/* Where there may be no right to send it a signal, the kernel kills it once its tracer has ended. */
static void kill_command(struct hold *hold)
{
	if (ptrace(PTRACE_SETOPTIONS, hold->command, 0, PTRACE_O_EXITKILL))
		ptrace(PTRACE_KILL, hold->command, 0, 0);
}

/*
 * What has stopped goes on with its signal, which would be lost with us. All that is held otherwise goes on when this
 * thread ends, at one moment: a debugger that stands still among them finds nobody held.
 */
static void let_all_leave(struct hold *hold)
{
	struct tracee *t, *next;

	hold->all_leave = true;
	if (hold->kills)
		kill_command(hold);
	HASH_ITER (hh, hold->tracees, t, next)
		if (!hold->kills && t->waiting && t->signal)
			hold_resume(hold, t);
	collect(hold);
	HASH_ITER (hh, hold->tracees, t, next)
		forget(hold, t);
	if (hold->collected)
		return;
	pthread_mutex_lock(&hold->lock);
	hold->left = true;
	pthread_mutex_unlock(&hold->lock);
	epoll_ctl(hold->news, EPOLL_CTL_ADD, hold->ended, &(struct epoll_event){ .events = EPOLLIN });
}

static void *serve(void *context)
{
	struct hold *hold = context;
	struct pollfd wait[] = { { .fd = hold->children, .events = POLLIN }, { .fd = hold->woken, .events = POLLIN } };
	struct signalfd_siginfo info;
	bool end = false;

	start(hold);
	while (!hold->started && !end) {
		collect(hold);
		poll(wait, 2, hold->tracees ? LOOK_EVERY_MS : -1);
		while (read(hold->children, &info, sizeof(info)) == sizeof(info))
			;
		bell_silence(hold->woken);
		give_up_rights(hold);
		hold_take_replies(hold);
		let_impatient_go(hold);
		pthread_mutex_lock(&hold->lock);
		end = hold->end || hold->all_leave;
		pthread_mutex_unlock(&hold->lock);
	}
	if (!hold->started)
		let_all_leave(hold);
	return NULL; /* and with the thread goes every hold it has */
}

static int open_bells(struct hold *hold)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (pthread_sigmask(SIG_BLOCK, &child, NULL))
		return -EINVAL;
	hold->children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	hold->told = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	hold->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	hold->began = eventfd(0, EFD_CLOEXEC);
	hold->news = epoll_create1(EPOLL_CLOEXEC);
	if (hold->children < 0 || hold->told < 0 || hold->woken < 0 || hold->began < 0 || hold->news < 0)
		return -errno;
	return epoll_ctl(hold->news, EPOLL_CTL_ADD, hold->told, &(struct epoll_event){ .events = EPOLLIN }) ? -errno
													    : 0;
}

/* Forks the command, which waits for the thread that will trace it. */
static int begin(struct hold *hold, char *const argv[], const struct caller *caller)
{
	int err = reader_start()
			  ?: command_fork(
				     &hold->start, argv,
				     caller); /* our thread asks readers, and has no children but those that it holds */

	if (err)
		return err;
	hold->command = hold->start.pid;
	hold->ended = syscall(SYS_pidfd_open, hold->command, 0);
	err = hold->ended < 0 ? -errno : -pthread_create(&hold->thread, NULL, serve, hold);
	if (err)
		command_cancel(&hold->start);
	return err;
}

static void hold_free(struct hold *hold)
{
	struct tracee *t, *next;
	struct reply *reply;

	while ((reply = hold->replies)) {
		hold->replies = reply->next;
		free(reply);
	}
	HASH_ITER (hh, hold->tracees, t, next) {
		HASH_DEL(hold->tracees, t);
		free(t);
	}
	step_forget(hold);
	for (size_t i = 0; i < 6; i++) {
		int fd = (int[]){ hold->children, hold->told, hold->woken, hold->began, hold->ended, hold->news }[i];

		if (fd >= 0)
			close(fd);
	}
	pthread_mutex_destroy(&hold->lock);
	free(hold);
}

int hold_start(struct hold **result, pid_t *pid, char *const argv[], const struct caller *caller, bool follow,
	       uint64_t patience)
{
	struct hold *hold = calloc(1, sizeof(*hold));
	int err;

	*result = NULL;
	if (!hold)
		return -ENOMEM;
	hold->name = argv[0];
	hold->follow = follow;
	hold->patience = patience;
	hold->last_question = &hold->first_question;
	hold->children = hold->told = hold->woken = hold->began = hold->ended = hold->news = -1;
	pthread_mutex_init(&hold->lock, NULL);
	err = open_bells(hold);
	if (!err)
		err = begin(hold, argv, caller);
	if (err) {
		log_error("cannot start the command: %s: look at the limits (ulimit -a) and at what else runs, and try "
			  "again",
			  strerror(-err));
		hold_free(hold);
		return err;
	}
	bell_silence(hold->began); /* blocks until it is rung */
	if (hold->started) {
		err = hold->started;
		pthread_join(hold->thread, NULL);
		hold_free(hold);
		return err;
	}
	*pid = hold->command;
	*result = hold;
	return 0;
}

int hold_fd(const struct hold *hold)
{
	return hold->news;
}

bool hold_give_up_rights(struct hold *hold)
{
	pthread_mutex_lock(&hold->lock);
	hold->give_up = true;
	pthread_mutex_unlock(&hold->lock);
	bell_ring(hold->woken);
	bell_silence(hold->began); /* blocks until it is rung */
	return hold->given_up;
}

bool hold_has(struct hold *hold, pid_t tid)
{
	bool has;

	pthread_mutex_lock(&hold->lock);
	has = hold_find(hold, tid);
	pthread_mutex_unlock(&hold->lock);
	return has;
}

static bool end_hold(struct hold *hold, bool kills, int *status)
{
	struct hold_notice notice;
	bool ended = false;

	pthread_mutex_lock(&hold->lock);
	hold->end = true;
	hold->kills = kills;
	pthread_mutex_unlock(&hold->lock);
	bell_ring(hold->woken);
	pthread_join(hold->thread, NULL);
	while (hold_next(hold, &notice)) {
		if (notice.kind != HOLD_ENDED)
			continue;
		ended = true;
		*status = notice.status;
	}
	hold_free(hold);
	return ended;
}

bool hold_end(struct hold *hold, int *status)
{
	return hold && end_hold(hold, false, status);
}

bool hold_end_killing(struct hold *hold, int *status)
{
	return end_hold(hold, true, status);
}
