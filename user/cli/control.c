/*
 * control.c - gaspbpf control: tells the gaspbpf that observes a process to stop measuring it, or to go on.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/control.h"
#include "util/log.h"

#define PATIENCE_MS 10000
#define DUMP_PATIENCE_MS 300000 /* it may be gigabytes */

struct options {
	int pid;
	const char *word;
	bool quiet;
};

static const struct argp_option option_list[] = {
	{ "pid", 'p', "PID", 0, "The process, or a launcher: all below it", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing but errors", 0 },
	{ 0 }
};

static const char about[] =
	"Switches measurement of an observed process off or on, from outside: while it is off nothing of it is measured, and what was in progress ends "
	"there. For root, and for the owner of the process. A program can do the same itself: pupc_control(), gasp_control(), MPI_Pcontrol()."
	"\vdump brings the recording (-o run.gasp) up to date on disk; a flight recorder (--flight) writes what it has kept, and the file is named.\n"
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
	bool done, forbidden, failed;
	char said[CONTROL_TEXT];     /* why it failed, or the files that were written, one on a line */
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

/* The next answer. False: there is none. */
static bool hear(struct pollfd *from, int patience, char text[CONTROL_TEXT])
{
	ssize_t got;

	if (poll(from, 1, patience) != 1)
		return false;
	got = recv(from->fd, text, CONTROL_TEXT - 1, MSG_DONTWAIT);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

/* Asks one recorder. One that has been killed left its socket behind: that is no answer. */
static void ask(const struct options *o, const char *name, struct answers *all)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX }, own = { .sun_family = AF_UNIX };
	struct pollfd wait = { .fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), .events = POLLIN };
	char text[CONTROL_TEXT];
	bool heard = false;

	if (wait.fd < 0)
		return;
	snprintf(to.sun_path, sizeof(to.sun_path), CONTROL_FOLDER "/%s", name);
	snprintf(text, sizeof(text), "%d %s", o->pid, o->word);
	errno = 0;
	/* The kernel gives us a name, so that we can be answered. */
	if (!bind(wait.fd, (struct sockaddr *)&own, sizeof(own.sun_family)) && !connect(wait.fd, (struct sockaddr *)&to, sizeof(to)) &&
	    send(wait.fd, text, strlen(text), 0) > 0)
		heard = hear(&wait, PATIENCE_MS, text);
	else if (errno == ECONNREFUSED && !geteuid())
		unlink(to.sun_path);
	if (heard && !strcmp(text, CONTROL_LATER)) {
		heard = hear(&wait, DUMP_PATIENCE_MS, text);
		if (!heard)
			strcpy(text, "failed it has not ended within five minutes");
		heard = true;
	}
	if (heard)
		take(all, text);
	close(wait.fd);
}

static bool folder_is_safe(void)
{
	struct stat found;

	return !lstat(CONTROL_FOLDER, &found) && S_ISDIR(found.st_mode) && !found.st_uid && !(found.st_mode & 022);
}

static void ask_all(const struct options *o, struct answers *all)
{
	DIR *folder = folder_is_safe() ? opendir(CONTROL_FOLDER) : NULL;
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		size_t length = strlen(entry->d_name);

		if (length > 5 && !strcmp(entry->d_name + length - 5, ".sock"))
			ask(o, entry->d_name, all);
	}
	if (folder)
		closedir(folder);
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
	struct answers all = { 0 };

	argp_parse(&parser, argc, argv, 0, NULL, &o);
	ask_all(&o, &all);
	if (!all.done) {
		if (all.failed)
			log_error("%d: not dumped: %s: see what its gaspbpf says", o.pid, log_safe(all.said));
		else if (all.forbidden)
			log_error("%d: it belongs to somebody else: ask its owner, or use sudo", o.pid);
		else
			log_error("%d: no running gaspbpf observes it: 'sudo gaspbpf -p %d' does", o.pid, o.pid);
		return 1;
	}
	if (!o.quiet)
		say(&o, &all);
	return 0;
}
