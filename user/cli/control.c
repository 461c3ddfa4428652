/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.c - gaspbpf control: tells the gaspbpf that observes a process to stop measuring it, or to go on.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "observe/control.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/files.h"
#include "util/log.h"

#define PATIENCE 10000000000ULL /* ns */
#define STOPPED_PATIENCE 500000000ULL
#define DUMP_PATIENCE 300000000000ULL /* it may be gigabytes */
#define TICK_MS 100

struct options {
	int pid;
	const char *word;
	bool quiet;
};

static const struct argp_option option_list[] = { { "pid", 'p', "PID", 0, "The process, or a launcher: all below it",
						    0 },
						  { "quiet", 'q', NULL, 0, "Say nothing but errors", 0 },
						  { 0 } };

static const char about[] =
	"Switches measurement of an observed process off or on, from outside: while it is off nothing of it is "
	"measured, and what was in progress ends "
	"there. For root, and for the owner of the process. A program can do the same itself: pupc_control(), "
	"gasp_control(), MPI_Pcontrol()."
	"\vdump brings the recording (-o run.gasp) up to date on disk; a flight recorder (--flight) writes what it "
	"has kept, and the file is named.\n"
	"\nExamples:\n"
	"  gaspbpf control -p 4242 off\n"
	"  gaspbpf control -p 4242 on\n"
	"  gaspbpf control -p $(pgrep mpirun) off     all its ranks\n"
	"  gaspbpf control -p 4242 dump && gaspbpf report run.gasp\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;
	long number;

	switch (key) {
	case 'p':
		errno = 0;
		number = strtol(argument, &end, 10);
		if (end == argument || *end || errno || number <= 0 || number > INT32_MAX)
			argp_error(state, "-p %s: not a process id", log_safe(argument));
		o->pid = number;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_error(state, "one word at a time: what is '%s'?", log_safe(argument));
		if (strcmp(argument, "off") && strcmp(argument, "on") && strcmp(argument, "dump"))
			argp_error(state, "%s: use off, on or dump", log_safe(argument));
		o->word = argument;
		return 0;
	case ARGP_KEY_END:
		if (!o->pid || !o->word)
			argp_error(state, "which process, and what? for example: -p 4242 off");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = { option_list, parse, "-p PID off|on|dump", about, NULL, NULL, NULL };

/* What all recorders together have answered. */
struct answers {
	unsigned long changed, already;
	bool done, forbidden, failed, silent;
	char said[CONTROL_TEXT]; /* why it failed, or the files that were written, one on a line */
};

static void note(struct answers *all, const char *text)
{
	size_t used = strlen(all->said);

	snprintf(all->said + used, sizeof(all->said) - used, "%s%s", used ? "\n" : "", text);
}

static void take(struct answers *all, const char *text)
{
	unsigned long changed, already;
	int file = 0;

	if (sscanf(text, "done %lu %lu %n", &changed, &already, &file) == 2) {
		all->done = true;
		all->changed += changed;
		all->already += already;
		if (file && text[file])
			note(all, text + file);
	}
	if (!strncmp(text, "failed ", 7)) {
		all->failed = true;
		note(all, text + 7);
	}
	all->forbidden |= !strcmp(text, "forbidden");
}

/* --- asking ------------------------------------------------------------------ */

/* A recorder that has been asked. */
struct asked {
	int pid;          /* 0: not known */
	uint64_t until;   /* ns: it is waited for; later than that only if it says so */
	uint64_t stopped; /* ns: since when it has been seen stopped; 0: it runs */
};

struct asking {
	struct asked *asked;
	struct pollfd *fds; /* beside them; fd -1: nothing more is waited for */
	size_t count, asked_room, fds_room;
};

/* 0; -EAGAIN: its queue is full, of whoever's requests. Nobody can make us wait here. */
static int send_request(int fd, const struct options *o)
{
	char text[64];
	int length = snprintf(text, sizeof(text), "%d %s", o->pid, o->word);

	return send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 ? 0 : -errno;
}

/* One that has been killed left its socket behind: it is not asked. */
static bool reach(int fd, const struct sockaddr_un *to)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };

	/* The kernel gives us a name, so that we can be answered. */
	if (!bind(fd, (struct sockaddr *)&own, sizeof(own.sun_family)) &&
	    !connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		return true;
	if (errno == ECONNREFUSED && !geteuid())
		unlink(to->sun_path);
	return false;
}

static int ask(const struct options *o, const char *folder, const char *name, struct asking *asking)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int length, err;

	if (fd < 0)
		return -errno;
	if (array_one_more(&asking->asked, &asking->asked_room, asking->count, sizeof(*asking->asked)) ||
	    array_one_more(&asking->fds, &asking->fds_room, asking->count, sizeof(*asking->fds))) {
		close(fd);
		return -ENOMEM;
	}
	length = snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", folder, name);
	err = (size_t)length < sizeof(to.sun_path) && reach(fd, &to) ? send_request(fd, o) : -ENOENT;
	if (err && err != -EAGAIN) {
		close(fd);
		return 0;
	}
	asking->asked[asking->count] = (struct asked){ .pid = atoi(name), .until = clock_monotonic() + PATIENCE };
	asking->fds[asking->count++] = (struct pollfd){ .fd = fd, .events = err ? POLLOUT : POLLIN };
	return 0;
}

/* A folder in /run is there because root wanted it; who else can write to it is nobody to ask. */
static bool folder_is_safe(const char *folder)
{
	struct stat found;

	return !lstat(folder, &found) && S_ISDIR(found.st_mode) && !(found.st_mode & 022);
}

static int ask_all(const struct options *o, struct asking *asking)
{
	static const char *const folders[] = CONTROL_FOLDERS;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(folders) / sizeof(folders[0]); i++) {
		DIR *folder = folder_is_safe(folders[i]) ? opendir(folders[i]) : NULL;
		struct dirent *entry;

		while (!err && folder && (entry = readdir(folder))) {
			size_t length = strlen(entry->d_name);

			if (length > 5 && !strcmp(entry->d_name + length - 5, ".sock"))
				err = ask(o, folders[i], entry->d_name, asking);
		}
		if (folder)
			closedir(folder);
	}
	return err;
}

/* --- hearing ----------------------------------------------------------------- */

/* The state of a process, as of /proc/PID/stat: 'R', 'S', 'T', ...; 0: there is none. */
static char state_of(int pid)
{
	char path[32], *text, *name_end, state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = read_file_at(AT_FDCWD, path, 4096, NULL);
	name_end = text ? strrchr(text, ')') : NULL;
	state = name_end && name_end[1] ? name_end[2] : 0;
	free(text);
	return state;
}

static void done_with(struct pollfd *from)
{
	close(from->fd);
	from->fd = -1;
}

/* There is room in its queue, if nobody else was quicker. */
static void ask_again(const struct options *o, struct pollfd *to)
{
	int err = send_request(to->fd, o);

	if (!err)
		to->events = POLLIN;
	else if (err != -EAGAIN)
		done_with(to);
}

static void hear(struct asked *asked, struct pollfd *from, struct answers *all)
{
	char text[CONTROL_TEXT];
	ssize_t got = recv(from->fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return;
	text[got < 0 ? 0 : got] = '\0';
	if (!strcmp(text, CONTROL_LATER)) {
		asked->until = clock_monotonic() + DUMP_PATIENCE;
		return;
	}
	take(all, text);
	done_with(from);
}

/* One that is stopped answers when it goes on, not earlier; one that runs may be busy. */
static void consider(const struct options *o, struct asked *asked, struct pollfd *from, struct answers *all)
{
	uint64_t now = clock_monotonic();
	char state = asked->pid ? state_of(asked->pid) : '?';
	bool stopped = state == 'T' || state == 't';

	asked->stopped = !stopped ? 0 : asked->stopped ?: now;
	if (!state) {
		done_with(from); /* it has ended meanwhile */
	} else if (stopped && now - asked->stopped >= STOPPED_PATIENCE) {
		log_warn("control: the gaspbpf of process id %d does not answer: it is stopped: 'kill -CONT %d' lets "
			 "it go on, and obey '%s'",
			 asked->pid, asked->pid, o->word);
		all->silent = true;
		done_with(from);
	} else if (now >= asked->until) {
		log_warn("control: the gaspbpf of process id %d does not answer: it is busy: try again", asked->pid);
		all->silent = true;
		done_with(from);
	}
}

static void hear_all(const struct options *o, struct asking *asking, struct answers *all)
{
	size_t waiting;

	do {
		waiting = 0;
		for (size_t i = 0; i < asking->count; i++) {
			struct pollfd *from = &asking->fds[i];

			if (from->fd >= 0 && from->events == POLLOUT)
				ask_again(o, from);
			else if (from->fd >= 0 && from->revents)
				hear(&asking->asked[i], from, all);
			if (from->fd >= 0)
				consider(o, &asking->asked[i], from, all);
			waiting += from->fd >= 0;
		}
	} while (waiting && (poll(asking->fds, asking->count, TICK_MS) >= 0 || errno == EINTR));
}

static void say(const struct options *o, const struct answers *all)
{
	if (!strcmp(o->word, "dump") && *all->said)
		printf("%s\n", all->said); /* names alone: for scripts */
	else if (!strcmp(o->word, "dump"))
		printf("gaspbpf: the recording is up to date\n");
	else
		printf("gaspbpf: measurement is %s: %lu process%s%s\n", o->word, all->changed + all->already,
		       all->changed + all->already == 1 ? "" : "es", all->changed ? "" : ", as before");
}

int command_control(int argc, char **argv)
{
	struct options o = { 0 };
	struct asking asking = { 0 };
	struct answers all = { 0 };
	int err;

	cli_parse(&parser, argc, argv, &o);
	err = ask_all(&o, &asking);
	hear_all(&o, &asking, &all);
	free(asking.asked);
	free(asking.fds);
	if (err)
		log_error("control: cannot ask: %s: try again", strerror(-err));
	if (!all.done) {
		if (all.failed)
			log_error("%d: not dumped: %s: see what its gaspbpf says", o.pid, log_safe(all.said));
		else if (all.forbidden)
			log_error("%d: it belongs to somebody else: ask its owner, or use sudo", o.pid);
		else if (all.silent)
			log_error("%d: no gaspbpf that answers observes it: see above for the one that does not",
				  o.pid);
		else if (!err)
			log_error("%d: no running gaspbpf observes it: 'sudo gaspbpf -p %d' does", o.pid, o.pid);
		return 1;
	}
	if (!o.quiet)
		say(&o, &all);
	return 0;
}
