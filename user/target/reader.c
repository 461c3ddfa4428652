/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.c - reading what a target can make wait for ever.
 *
 * Problem: a page of a process's memory may be of a file whose server (FUSE) never answers, and so may a mapped file
 * itself. Who reads such a page sleeps in the kernel; once the server has taken the request not even SIGKILL wakes it.
 * The same holds for all that takes the lock of the process's address space (/proc/PID/cmdline, environ, map_files,
 * before Linux 6.17 maps, too), since a thread of the process can sleep in a fault while it has it. There is no way of
 * reading another process's memory from user space, or from a BPF program that reads another process's, that does not
 * wait for its pages. (/proc/PID/stat, status, comm, syscall and wchan take no such lock, so they are read where they
 * are needed.)
 *
 * So another process does it, the reader: this program, started anew at the first need, with the capabilities that
 * reading takes and a filter of system calls. It is started by yet another one (reader_start.c), so that this one can
 * give up those capabilities. A reader that sleeps longer than a request has time (WAIT_FIRST_MS, which a busy disk
 * keeps; WAIT_MS for users who have made one wait before) is left behind with SIGKILL, which it heeds when the kernel
 * lets it, and the next request has another reader. One that still runs, or waits for pages of its own program, is only
 * slow, and has WAIT_RUNNING_MS. Nor is it the target's fault how long a reader takes to start (its program may lie on
 * a file system far away): it says when it can be asked, and no time runs before.
 *
 * A target that has kept a reader waiting is not asked again while that one waits. And its user, whose fault it is, has
 * from the second time on none of his processes asked for a while: 1 s, four times as long each further time, an hour
 * at most, so that a user who makes readers wait on purpose takes no more than a second from the others, then a quarter
 * of a second seven times, and then once an hour. A user is who answers for it: in a user namespace, who made that.
 * Readers that are left behind are HUNG_MOST at most: beyond that, nothing is read of anybody until some have ended.
 *
 * It is the one thing here that belongs to no object: the readers are this process's, as its log is this process's log.
 * A child of this process (made by fork, as the dump of a flight recorder is) has readers of its own.
 */
#include "target/reader_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/proc.h"
#include "target/target.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/messages.h"
#include "util/privileges.h"

#define WAIT_FIRST_MS 800
#define WAIT_MS 250
#define WAIT_RUNNING_MS 10000
#define WAIT_START_MS 30000
#define HUNG_MOST 24
#define HUNG_MOST_OF_USER 2
#define USERS_MOST 64      /* who have made one wait; beyond, the one whose time is over first is forgotten */
#define SILENCE_MOST 3600u /* s */
#define SECOND 1000000000ULL
#define KEPT_MOST (1u << 20) /* bytes of the memory in common that stay after a request */

struct hung_reader {
	int pidfd;
	pid_t target;
	uint64_t target_start;
	uid_t uid;
};

struct silent_user {
	uid_t uid;
	unsigned times;
	uint64_t until; /* CLOCK_MONOTONIC */
};

static struct {
	pthread_mutex_t lock;
	bool possible; /* this program can be one */
	pid_t owner;   /* whose all of this is */
	pid_t starter; /* 0: none, or not our child */
	int channel;   /* to it; valid where `reached` */
	bool reached;
	bool samples;    /* it opens samplers, too */
	bool last, lost; /* another one would not have the rights (reader_prepare()); it has ended */
	pid_t pid;       /* 0: none */
	int pidfd, socket, file;
	char *memory;
	struct hung_reader hung[HUNG_MOST];
	size_t nhung;
	struct silent_user users[USERS_MOST];
	size_t nusers;
	bool full_said, start_said;
} readers = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- who starts them ---------------------------------------------------- */

/* Ends what hangs on the channel, but what the kernel does not let end. */
static void leave_starter(void)
{
	if (readers.reached)
		close(readers.channel);
	readers.reached = false;
	if (readers.starter > 0)
		while (waitpid(readers.starter, NULL, __WALL) < 0 && errno == EINTR)
			;
	readers.starter = 0;
}

/* In the child. Of the environment it takes where its libraries lie: what is preloaded into this process has no
 * business there, nor the system calls that it needs. */
static void become_starter(int channel)
{
	char *const arguments[] = { READER_NAME, readers.samples ? STARTER_SAMPLES : NULL, NULL };
	char *environment[] = { NULL, NULL }, *folders = getenv("LD_LIBRARY_PATH");
	sigset_t all;

	if (folders && asprintf(&environment[0], "LD_LIBRARY_PATH=%s", folders) < 0)
		_exit(1);

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* ^C is for who started it */
	pass_privileges_to_read(readers.samples);
	if (dup2(channel, 0) != 0 || syscall(SYS_close_range, 1u, ~0u, 0u))
		_exit(1);
	execve("/proc/self/exe", arguments, environment);
	_exit(1);
}

static int start_starter(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	readers.starter = fork();
	if (!readers.starter)
		become_starter(fcntl(ends[1], F_DUPFD, 3));
	close(ends[1]);
	if (readers.starter < 0) {
		readers.starter = 0;
		close(ends[0]);
		return -EAGAIN;
	}
	readers.channel = ends[0];
	readers.reached = true;
	return 0;
}

/* 1: something has come, 0: not in the time that a start may take. */
static int wait_for_start(int from)
{
	struct pollfd said = { .fd = from, .events = POLLIN };
	uint64_t begun = clock_monotonic(), waited = 0;

	while (waited < WAIT_START_MS) {
		if (poll(&said, 1, WAIT_START_MS - (int)waited) > 0)
			return 1;
		waited = (clock_monotonic() - begun) / 1000000;
	}
	return 0;
}

static void lose_starter(void)
{
	if (readers.last && !readers.lost)
		log_error("gaspbpf-starter has ended, and with it the right to read what is others': nothing more of "
			  "theirs is looked at: start gaspbpf again");
	readers.lost = readers.last;
}

/* What it answers, or -errno. goes: a descriptor that goes with it, or -1; *came: one that comes back. */
static int64_t ask_starter(struct starter_request request, int goes, int *came)
{
	struct reader_answer answer;
	int error = readers.reached ? 0 : readers.last ? -EPERM : start_starter();
	ssize_t got;

	*came = -1;
	if (error)
		return error;
	got = pass_send(readers.channel, &request, sizeof(request), goes);
	if (got > 0 && !wait_for_start(readers.channel))
		return -ETIME;
	if (got > 0)
		got = pass_receive(readers.channel, &answer, sizeof(answer), came);
	if (got == sizeof(answer))
		return answer.result;
	leave_starter();
	lose_starter();
	return got < 0 ? got : -ECHILD;
}

/* --- starting and leaving one ------------------------------------------- */

/* Our side of it. Whether it ends is another matter. */
static void close_reader(void)
{
	if (readers.memory) {
		close(readers.socket);
		close(readers.file);
		munmap(readers.memory, READER_ROOM);
	}
	readers.memory = NULL;
	readers.pid = 0;
}

static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, wait_ms) > 0;
}

/* Who started it may where we may not: he has another user than we (keep_no_privileges()). */
static void end_by_force(void)
{
	int nothing;

	if (syscall(SYS_pidfd_send_signal, readers.pidfd, SIGKILL, NULL, 0) && errno == EPERM)
		ask_starter((struct starter_request){ .what = END_READER, .pid = readers.pid }, -1, &nothing);
}

/* It has ended, or does nothing that it could not end with. */
static void end_reader(void)
{
	if (readers.pid > 0) {
		end_by_force();
		has_ended(readers.pidfd, WAIT_RUNNING_MS);
		close(readers.pidfd);
	}
	close_reader();
}

/* At the end of this program: so that none is left for somebody else to collect. */
static void end_with_us(void)
{
	if (readers.owner != getpid())
		return;
	end_reader();
	leave_starter();
}

bool reader_asked(const char *name)
{
	if (name && !strcmp(name, READER_NAME))
		return true; /* it has none itself, and at its end its filter lets nothing more through than that end */
	readers.possible = true;
	readers.owner = getpid();
	atexit(end_with_us);
	return false;
}

int reader_serve(const char *argument)
{
	return starter_serve(0, argument && !strcmp(argument, STARTER_SAMPLES));
}

int reader_start(void)
{
	int error;

	if (!readers.possible)
		return 0;
	pthread_mutex_lock(&readers.lock);
	error = readers.reached || readers.last ? 0 : start_starter();
	pthread_mutex_unlock(&readers.lock);
	return error;
}

int reader_prepare(bool sampling)
{
	int error;

	if (!readers.possible)
		return 0;
	pthread_mutex_lock(&readers.lock);
	if (sampling && readers.reached && !readers.samples) { /* the one there is has not the rights */
		end_reader();
		leave_starter();
	}
	readers.samples = sampling;
	error = readers.reached ? 0 : start_starter();
	readers.last = !error;
	pthread_mutex_unlock(&readers.lock);
	return error;
}

bool reader_possible(void)
{
	return readers.possible;
}

const char *reader_answer(void)
{
	return readers.memory;
}

bool reader_lost(void)
{
	struct pollfd channel;
	bool lost;

	if (pthread_mutex_trylock(&readers.lock))
		return false; /* somebody asks, who will see it */
	channel = (struct pollfd){ .fd = readers.channel };
	if (readers.last && readers.reached && poll(&channel, 1, 0) > 0)
		lose_starter();
	lost = readers.lost;
	pthread_mutex_unlock(&readers.lock);
	return lost;
}

/* The room in common has its size whatever files may have (ulimit -f): it is on no disk. */
static int make_room(int file)
{
	const struct rlimit enough = { READER_ROOM, READER_ROOM };
	struct rlimit limit;
	bool raised = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < READER_ROOM &&
		      !setrlimit(RLIMIT_FSIZE, limit.rlim_max < READER_ROOM
						       ? &enough
						       : &(struct rlimit){ READER_ROOM, limit.rlim_max });
	int error = ftruncate(file, READER_ROOM) ? -errno : 0;

	if (raised)
		setrlimit(RLIMIT_FSIZE, &limit);
	return error;
}

/* The one there is, which may sleep for ever, is left behind. */
static struct hung_reader *leave_behind(void)
{
	struct hung_reader *hung = &readers.hung[readers.nhung++];

	end_by_force();
	*hung = (struct hung_reader){ .pidfd = readers.pidfd, .uid = (uid_t)-1 };
	close_reader();
	return hung;
}

/* Gives it the memory, and waits until it says that it can be asked. */
static int begin_reader(void)
{
	struct reader_answer ready = { 0 };
	int nothing;

	if (pass_send(readers.socket, &ready, sizeof(ready), readers.file) > 0) {
		if (!wait_for_start(readers.socket)) {
			leave_behind();
			return -ETIME;
		}
		if (pass_receive(readers.socket, &ready, sizeof(ready), &nothing) == sizeof(ready))
			return 0;
	}
	end_reader();
	return -ECHILD;
}

static int start_reader(void)
{
	int ends[2], file = (int)syscall(SYS_memfd_create, READER_NAME, MFD_CLOEXEC), error, pidfd;
	char *memory = MAP_FAILED;
	int64_t started;

	if (file < 0)
		return -errno;
	error = make_room(file);
	if (error) {
		close(file);
		return error;
	}
	if ((memory = mmap(NULL, READER_ROOM, PROT_READ, MAP_SHARED, file, 0)) == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		error = -errno;
		if (memory != MAP_FAILED)
			munmap(memory, READER_ROOM);
		close(file);
		return error;
	}
	started = ask_starter((struct starter_request){ .what = START_READER }, ends[1], &pidfd);
	close(ends[1]);
	readers.socket = ends[0];
	readers.file = file;
	readers.memory = memory;
	if (started <= 0 || pidfd < 0) {
		if (pidfd >= 0)
			close(pidfd);
		close_reader();
		return started < 0 ? (int)started : -ECHILD;
	}
	readers.pid = (pid_t)started;
	readers.pidfd = pidfd;
	return begin_reader();
}

static void collect_hung(void)
{
	for (size_t i = readers.nhung; i--;) {
		if (!has_ended(readers.hung[i].pidfd, 0))
			continue;
		close(readers.hung[i].pidfd);
		readers.hung[i] = readers.hung[--readers.nhung];
	}
	readers.full_said &= readers.nhung == HUNG_MOST;
}

/* --- whose fault it is -------------------------------------------------- */

/* Who made the namespace of users that the process is in, outermost one below ours; `uid` where it is in ours. */
static uid_t maker_of_namespace(pid_t pid, uid_t uid)
{
	int nothing;
	int64_t made = ask_starter((struct starter_request){ .what = WHOSE_NAMESPACE, .pid = pid, .uid = uid }, -1,
				   &nothing);

	return made < 0 ? uid : (uid_t)made;
}

/* Who answers for the process, and when it was started. False: it is gone. */
static bool who(pid_t pid, uid_t *uid, uint64_t *start)
{
	struct proc_stat stat;
	char path[32], *text, *at;
	unsigned real;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (proc_stat_read(-1, path, &stat))
		return false;
	*start = stat.start_time;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = proc_read(-1, path, 65536, NULL);
	at = text ? strstr(text, "\nUid:") : NULL;
	found = at && sscanf(at, "\nUid: %u", &real) == 1;
	free(text);
	if (found)
		*uid = maker_of_namespace(pid, real);
	return found;
}

static struct silent_user *user_of(uid_t uid)
{
	for (size_t i = 0; i < readers.nusers; i++)
		if (readers.users[i].uid == uid)
			return &readers.users[i];
	return NULL;
}

static struct silent_user *add_user(uid_t uid)
{
	struct silent_user *user = user_of(uid), *first = &readers.users[0];

	if (user)
		return user;
	for (size_t i = 1; i < readers.nusers; i++)
		if (readers.users[i].until < first->until)
			first = &readers.users[i];
	user = readers.nusers < USERS_MOST ? &readers.users[readers.nusers++] : first;
	*user = (struct silent_user){ .uid = uid };
	return user;
}

/* How many wait for the user's processes; SIZE_MAX: one waits for this one. */
static size_t waiting_for(uid_t uid, pid_t pid, uint64_t start)
{
	size_t count = 0;

	for (size_t i = 0; i < readers.nhung; i++) {
		if (readers.hung[i].target == pid && readers.hung[i].target_start == start)
			return SIZE_MAX;
		count += readers.hung[i].uid == uid;
	}
	return count;
}

/* Is it one that would not answer? It costs nothing where nobody is known to be silent. */
static bool is_silent(pid_t pid)
{
	struct silent_user *user;
	uint64_t start;
	uid_t uid;

	if (!readers.nusers && !readers.nhung)
		return false;
	collect_hung();
	if (readers.nhung == HUNG_MOST) {
		if (!readers.full_said)
			log_error("%d processes that read targets' memory wait in the kernel: nothing more is read "
				  "until one of them ends: "
				  "look which file system does not answer ('gaspbpf-reader' in ps)",
				  HUNG_MOST);
		readers.full_said = true;
		return true;
	}
	if (!who(pid, &uid, &start))
		return false;
	user = user_of(uid);
	return waiting_for(uid, pid, start) >= HUNG_MOST_OF_USER || (user && clock_monotonic() < user->until);
}

/* The target has not answered: the reader is left behind. */
static void leave_reader(pid_t pid)
{
	struct hung_reader *hung = leave_behind();
	struct silent_user *user;
	unsigned pause;

	hung->target = pid;
	who(pid, &hung->uid, &hung->target_start);
	user = add_user(hung->uid);
	pause = !user->times ? 0 : user->times < 7 ? 1u << 2 * (user->times - 1) : SILENCE_MOST;
	user->times++;
	user->until = clock_monotonic() + pause * SECOND;
	log_warn("%d: its memory does not answer (a file system's server holds it up): what stands there is not known",
		 pid);
	if (pause)
		log_warn("user %u's processes are not asked for %u s: their memory has not answered %u times",
			 hung->uid, pause, user->times);
}

/* --- asking it ---------------------------------------------------------- */

/* Does it wait in a system call? What runs, or wants to, is only slow, and so is what waits for a page of its own
 * program. */
static bool sleeps(pid_t pid)
{
	int nothing;

	return ask_starter((struct starter_request){ .what = IS_WAITING, .pid = pid }, -1, &nothing) != 0;
}

/* 1: it has answered, or ended. 0: it sleeps. */
static int wait_for_answer(unsigned most)
{
	struct pollfd answered = { .fd = readers.socket, .events = POLLIN };
	uint64_t begun = clock_monotonic(), waited;

	for (;;) {
		int got = poll(&answered, 1, most);

		waited = (clock_monotonic() - begun) / 1000000;
		if (got > 0)
			return 1;
		if (waited >= WAIT_RUNNING_MS)
			return 0;
		/* Twice: after we have been stopped for a while, it may be about to answer. */
		if (!got && waited >= most && sleeps(readers.pid))
			return poll(&answered, 1, 0) > 0;
	}
}

/* ms that a request of that process has, if it sleeps. */
static unsigned patience(pid_t pid)
{
	uint64_t start;
	uid_t uid;

	return readers.nusers && who(pid, &uid, &start) && user_of(uid) ? WAIT_MS : WAIT_FIRST_MS;
}

static int64_t ask_once(const struct reader_request *request, size_t size, int folder, int *opened)
{
	struct reader_answer answer;
	ssize_t got;
	int error;

	*opened = -1;
	if (!readers.pid) {
		error = start_reader();
		if (error)
			return error;
	}
	got = pass_send(readers.socket, request, size, folder);
	if (got < 0)
		return got;
	if (!wait_for_answer(patience(request->pid))) {
		leave_reader(request->pid);
		return -ETIMEDOUT;
	}
	got = pass_receive(readers.socket, &answer, sizeof(answer), opened);
	if (got != sizeof(answer))
		return got < 0 && got != -ECONNRESET ? got : -EPIPE;
	return answer.result;
}

/* After a fork: the parent's reader is not ours, nor are its channel and its lock. Who starts readers is the same. */
static void begin_anew(void)
{
	struct starter_request open = { .what = OPEN_CHANNEL };
	bool possible = readers.possible, reached = readers.reached, last = readers.last;
	int ends[2], channel = readers.channel;

	if (readers.pid)
		close(readers.pidfd);
	for (size_t i = 0; i < readers.nhung; i++)
		close(readers.hung[i].pidfd);
	close_reader();
	memset(&readers, 0, sizeof(readers));
	pthread_mutex_init(&readers.lock, NULL);
	readers.possible = possible;
	readers.last = last;
	readers.owner = getpid();
	if (!reached)
		return;
	if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		readers.reached = pass_send(channel, &open, sizeof(open), ends[1]) > 0;
		readers.channel = ends[0];
		close(ends[1]);
		if (!readers.reached)
			close(ends[0]);
	}
	close(channel);
}

void reader_begin(void)
{
	if (readers.owner != getpid())
		begin_anew();
	pthread_mutex_lock(&readers.lock);
}

void reader_finish(int64_t size)
{
	if (size > KEPT_MOST && readers.memory)
		fallocate(readers.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, READER_ROOM);
	pthread_mutex_unlock(&readers.lock);
}

int64_t reader_ask(const struct reader_request *request, size_t size, int folder, int *opened)
{
	int64_t result = -EPIPE;

	if (is_silent(request->pid))
		return -ETIMEDOUT;
	for (int i = 0; i < 2 && result == -EPIPE; i++) { /* somebody may have ended it */
		result = ask_once(request, size, folder, opened);
		if (result == -EPIPE)
			end_reader();
	}
	if (!readers.pid && result != -ETIMEDOUT && !readers.start_said && !readers.lost) {
		log_error("cannot start a process that reads targets' memory: %s: check limits of processes and memory",
			  strerror((int)-result));
		readers.start_said = true;
	}
	return result;
}

int64_t reader_ask_starter(struct starter_request request, int *came)
{
	int64_t done;

	reader_begin();
	done = ask_starter(request, -1, came);
	pthread_mutex_unlock(&readers.lock);
	return done;
}
