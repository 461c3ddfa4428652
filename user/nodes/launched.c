/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launched.c - the nodes that a launcher of ranks has reached by a remote shell.
 *
 * Launchers of ranks differ, but each starts a daemon of its own on the nodes, and a daemon has to find back: its
 * command line tells where its launcher listens, as HOST:PORT. So a process below the launcher is such a start if it is
 * a remote shell, and what it is to run there names a port at which the launcher, or one below it, listens. That text
 * is in the daemon's own command line on the node, too, and in no other job's; ranks are what such a daemon has
 * started.
 *
 * Command lines are written by whoever owns the process. What is taken from them is names of hosts (hosts_add()) and
 * HOST:PORT, of letters that mean nothing to anybody; and of a launcher of another user nothing is started.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodes/private.h"
#include "target/target.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"
#include "util/text.h"

#define WORDS_MOST (1u << 20)     /* bytes of a command line */
#define SOCKETS_MOST (256u << 20) /* bytes of the list of sockets */
#define LISTENS 0x0a              /* TCP_LISTEN in /proc/net/tcp */
#define WORDS_BEFORE_SHELL 3      /* it may be a script of an interpreter */
#define SHOWN_MOST 20             /* hosts in a piece of advice */

/* Their options that take a value, which may be a word of its own. */
static const struct {
	const char *program, *with_value;
} shells[] = {
	{ "ssh", "BbcDEeFIiJLlmOopQRSWw" },
	{ "rsh", "lk" },
};

/* --- where the launcher listens -------------------------------------------- */

struct sockets {
	unsigned long *inodes;
	size_t count, room;
};

static int by_number(const void *left, const void *right)
{
	const unsigned long *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int add_sockets(struct sockets *sockets, pid_t pid)
{
	char path[40], target[80];
	struct dirent *entry;
	DIR *folder;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	while (!err && folder && (entry = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		unsigned long inode;

		target[n < 0 ? 0 : n] = 0;
		if (sscanf(target, "socket:[%lu]", &inode) != 1)
			continue;
		err = array_one_more(&sockets->inodes, &sockets->room, sockets->count, sizeof(inode));
		if (!err)
			sockets->inodes[sockets->count++] = inode;
	}
	if (folder)
		closedir(folder);
	return err;
}

/* "  0: 0100007F:1F90 00000000:0000 0A ... UID TIMEOUT INODE ..." a line */
static int add_ports_of(struct ports *ports, const struct sockets *sockets, const char *path)
{
	char *text = read_file_at(AT_FDCWD, path, SOCKETS_MOST, NULL), *rest = text, *line;
	int err = 0;

	while (!err && rest && (line = strsep(&rest, "\n"))) {
		unsigned port, state;
		unsigned long inode;

		if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*u %*u %lu", &port, &state, &inode) != 3 ||
		    state != LISTENS || !bsearch(&inode, sockets->inodes, sockets->count, sizeof(inode), by_number))
			continue;
		err = array_one_more(&ports->numbers, &ports->room, ports->count, sizeof(port));
		if (!err)
			ports->numbers[ports->count++] = port;
	}
	free(text);
	return err;
}

/* In the launcher's own network, which may be a container's. */
static int find_ports(struct ports *ports, pid_t launcher, const pid_t *below, size_t count)
{
	struct sockets sockets = { 0 };
	int err = add_sockets(&sockets, launcher);
	char path[40];

	for (size_t i = 0; !err && i < count; i++)
		err = add_sockets(&sockets, below[i]);
	if (sockets.count)
		qsort(sockets.inodes, sockets.count, sizeof(*sockets.inodes), by_number);
	snprintf(path, sizeof(path), "/proc/%d/net/tcp", launcher);
	if (!err && sockets.count)
		err = add_ports_of(ports, &sockets, path);
	snprintf(path, sizeof(path), "/proc/%d/net/tcp6", launcher);
	if (!err && sockets.count)
		err = add_ports_of(ports, &sockets, path);
	free(sockets.inodes);
	return err;
}

static bool is_listened_at(const struct ports *ports, unsigned long port)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->numbers[i] == port)
			return true;
	return false;
}

/* --- one remote shell -------------------------------------------------------- */

/* The word after this one; `end`: there is none. */
static char *next_word(char *word, char *end)
{
	size_t length = strnlen(word, end - word);

	return word + length < end ? word + length + 1 : end;
}

/* Its options that take values; NULL: it is no remote shell. *word: the one that it is, then. */
static const char *find_shell(char **word, char *end)
{
	for (int i = 0; i < WORDS_BEFORE_SHELL && *word < end; i++, *word = next_word(*word, end))
		for (size_t s = 0; s < sizeof(shells) / sizeof(shells[0]); s++)
			if (!strcmp(path_base(*word), shells[s].program))
				return shells[s].with_value;
	return NULL;
}

/* The first word that is neither an option nor an option's value: the host. */
static char *find_host(char *word, char *end, const char *with_value)
{
	for (word = next_word(word, end); word < end && *word == '-'; word = next_word(word, end)) {
		size_t plain = 1 + strcspn(word + 1, with_value);

		if (!strcmp(word, "--"))
			return next_word(word, end);
		if (word[plain] && !word[plain + 1])
			word = next_word(word, end);
		if (word == end)
			break;
	}
	return word;
}

/* HOST:PORT in a text, of one of these ports; malloc'ed. NULL: there is none. */
static char *find_answer(const char *text, const struct ports *ports)
{
	for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
		const char *from = colon, *end;
		char *answer;

		while (from > text && is_of_host_name(from[-1]))
			from--;
		for (end = colon + 1; isdigit((unsigned char)*end); end++)
			;
		while (from < colon && !isalnum((unsigned char)*from))
			from++;
		if (from == colon || colon - from > PART_NAME_MOST || end - colon < 2 || end - colon > 6 ||
		    !is_listened_at(ports, strtoul(colon + 1, NULL, 10)))
			continue;
		answer = strndup(from, end - from);
		return answer;
	}
	return NULL;
}

/* Of a command line, which is changed: see private.h. */
bool launched_read(char *text, size_t size, const struct ports *ports, const char **host, char **answer)
{
	char *end = text + size, *word = text, *rest;
	const char *with_value = find_shell(&word, end);

	if (!with_value)
		return false;
	word = find_host(word, end, with_value);
	rest = next_word(word, end);
	*host = word;
	for (char *at = rest; at < end; at++)
		*at = *at ?: ' ';
	*answer = rest < end ? find_answer(rest, ports) : NULL;
	return *answer;
}

/* --- the launcher ------------------------------------------------------------- */

static int take(struct launched *launched, pid_t launcher, const char *host, const char *answer)
{
	if (launched->answer && strcmp(launched->answer, answer)) {
		log_error("-p %d: several launchers are below it, which listen at %s and at %s: give the PID of one "
			  "of them",
			  launcher, launched->answer, answer);
		return -EINVAL;
	}
	if (!part_name_is_fit(host)) {
		log_error("-p %d: has started something on '%s', which is not a host's name: name the nodes: --hosts "
			  "n[1-16] -- --launched-from %s",
			  launcher, log_safe(host), answer);
		return -EINVAL;
	}
	if (!launched->answer)
		launched->answer = strdup(answer);
	return launched->answer ? hosts_add(&launched->hosts, host) : -ENOMEM;
}

static int look_at(struct launched *launched, pid_t launcher, pid_t pid, const struct ports *ports)
{
	char path[40], *text, *answer;
	const char *host;
	size_t size = 0;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text = read_file_at(AT_FDCWD, path, WORDS_MOST, &size);
	if (text && launched_read(text, size, ports, &host, &answer)) {
		err = take(launched, launcher, host, answer);
		free(answer);
	}
	free(text); /* NULL: it has ended */
	return err;
}

/* Of another user's launcher the names are his words: whoever believes them says so. */
static int check_owner(const struct launched *launched, pid_t launcher)
{
	char path[40], names[1024] = "";
	struct caller caller;
	struct stat there;
	int err = caller_find(&caller);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d", launcher);
	if (stat(path, &there)) {
		log_error("-p %d: it has ended: start the job, and gaspbpf again", launcher);
		err = -ESRCH;
	} else if (there.st_uid != caller.uid) {
		for (size_t i = 0; i < launched->hosts.count && i < SHOWN_MOST; i++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.40s", i ? "," : "",
				 i == SHOWN_MOST - 1 ? "..." : launched->hosts.names[i]);
		log_error("-p %d: is another user's, and so are the names of the nodes that it has reached, by its "
			  "processes' command lines: if they are right, say so: --hosts %s -- --launched-from %s",
			  launcher, names, launched->answer);
		err = -EPERM;
	}
	caller_free(&caller);
	return err;
}

int launched_find(struct launched *launched, pid_t launcher, const char *const *rank_variables)
{
	struct ports ports = { 0 };
	pid_t *below = NULL;
	size_t count = 0;
	int err = process_descendants(launcher, NULL, &below, &count);

	*launched = (struct launched){ 0 };
	err = err ?: find_ports(&ports, launcher, below, count);
	for (size_t i = 0; !err && ports.count && i < count; i++)
		err = look_at(launched, launcher, below[i], &ports);
	free(below);
	free(ports.numbers);
	if (!err && launched->hosts.count)
		err = check_owner(launched, launcher)
			      ?: process_descendants(launcher, rank_variables, &launched->here, &launched->nhere);
	return err;
}

/* --- on a node ------------------------------------------------------------------ */

/* Large jobs: a launcher starts some daemons, and these the others. What is not a name is left out. */
static void look_further(struct buffer *names, const char *answer, const struct ports *ports, pid_t pid)
{
	char path[40], *text, *its_answer;
	const char *host;
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text = read_file_at(AT_FDCWD, path, WORDS_MOST, &size);
	if (text && launched_read(text, size, ports, &host, &its_answer)) {
		if (!strcmp(answer, its_answer) && part_name_is_fit(host)) {
			buffer_put(names, host, strlen(host));
			buffer_put(names, "\n", 1);
		}
		free(its_answer);
	}
	free(text);
}

int launched_further(struct buffer *names, const char *answer)
{
	const char *colon = strrchr(answer, ':');
	unsigned port = colon ? strtoul(colon + 1, NULL, 10) : 0;
	const struct ports ports = { .numbers = &port, .count = 1 };
	DIR *proc = opendir("/proc");
	struct caller caller;
	struct dirent *entry;
	struct stat there;
	int err = proc ? caller_find(&caller) : -errno;

	if (!proc)
		log_error("/proc: cannot be read: %s: look at its rights, and at the limits (ulimit -a)",
			  strerror(-err));
	while (!err && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]) && !fstatat(dirfd(proc), entry->d_name, &there, 0) &&
		    there.st_uid == caller.uid)
			look_further(names, answer, &ports, atoi(entry->d_name));
	if (!err)
		caller_free(&caller);
	if (proc)
		closedir(proc);
	return err ?: names->failed ? -ENOMEM : 0;
}

void launched_free(struct launched *launched)
{
	hosts_free(&launched->hosts);
	free(launched->answer);
	free(launched->here);
}
