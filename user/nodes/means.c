/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * means.c - the site's own means of starting something on nodes: one table.
 *
 * gaspbpf has no daemon and no way of its own to another machine. What must be so of a means: what the command writes
 * comes back while it runs, and where one node is lost the others go on. A launcher of ranks ends all when one is lost;
 * so each node gets one of its own.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodes/private.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

static const char *const srun[] = {
	"srun",    "--overlap",  "--jobid=%j", "--nodes=%n", "--ntasks=%n",          "--ntasks-per-node=1",
	"--mem=0", "--mpi=none", "--no-kill",  "--wait=0",   "--kill-on-bad-exit=0", "--job-name=gaspbpf",
	"--quiet", NULL
};
/* A program in Python, which else keeps what nodes say until it ends. Both put "NODE: " in front of that. */
static const char *const clush[] = {
	"env", "PYTHONUNBUFFERED=1", "clush", "--color=never", "-f", "%n", "-w", "%h", NULL
};
static const char *const pdsh[] = { "pdsh", "-R", "ssh", "-f", "%n", "-w", "%h", NULL };
static const char *const ssh[] = { "ssh", "-x", "-o", "BatchMode=yes", "--", "%h", NULL };
static const char *const mpiexec[] = { "mpiexec", "-n", "1", "-host", "%h", NULL };

static const struct means table[] = {
	{ .program = "srun",
	  .gone = { "srun: error", ": task" },
	  .manager = true,
	  .no_input = "--input=none",
	  .line = srun },
	{ .program = "clush", .gone = { "clush", ": exited with " }, .shell = true, .no_input = "-n", .line = clush },
	{ .program = "pdsh", .gone = { "pdsh@", ": ssh " }, .shell = true, .no_orders = true, .line = pdsh },
	{ .program = "ssh", .shell = true, .each = true, .line = ssh },
	{ .program = "mpiexec", .each = true, .line = mpiexec },
};

#define ENVIRONMENT_MOST (1u << 20)
#define MEANS (sizeof(table) / sizeof(table[0]))

/* --- words ---------------------------------------------------------------- */

void words_add(struct words *words, const char *word)
{
	char *copy = word ? strdup(word) : NULL;

	if (!copy || array_reach(&words->items, &words->room, words->count + 2, sizeof(*words->items))) {
		words->failed = true;
		free(copy);
		return;
	}
	words->items[words->count++] = copy;
	words->items[words->count] = NULL;
}

void words_free(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct words){ 0 };
}

/* As one word of a POSIX shell, whatever is in it. clush and pdsh put names of nodes in the place of %h and others of
 * these, but not where the quote ends and begins in between. */
static void add_quoted(struct words *words, const char *text)
{
	char *quoted = malloc(4 * strlen(text) + 3), *at = quoted;

	if (!quoted) {
		words->failed = true;
		return;
	}
	*at++ = '\'';
	for (; *text; text++)
		if (*text == '\'')
			at = stpcpy(at, "'\\''");
		else if (*text == '%')
			at = stpcpy(at, "%''");
		else
			*at++ = *text;
	strcpy(at, "'");
	words_add(words, quoted);
	free(quoted);
}

static char *join(char *const *hosts, size_t count)
{
	size_t room = 1;
	char *text, *at;

	for (size_t i = 0; i < count; i++)
		room += strlen(hosts[i]) + 1;
	at = text = malloc(room);
	for (size_t i = 0; text && i < count; i++)
		at += sprintf(at, "%s%s", i ? "," : "", hosts[i]);
	return text;
}

static void add_filled(struct words *words, const char *word, const char *job, const char *hosts, size_t count)
{
	const char *hole = strchr(word, '%');
	char number[24], *text = NULL;
	const char *filling;

	if (!hole) {
		words_add(words, word);
		return;
	}
	snprintf(number, sizeof(number), "%zu", count);
	filling = hole[1] == 'j' ? job : hole[1] == 'n' ? number : hosts;
	if (!filling || asprintf(&text, "%.*s%s%s", (int)(hole - word), word, filling, hole + 2) < 0)
		text = NULL;
	words_add(words, text);
	free(text);
}

void means_words(const struct means *means, struct words *words, const char *job, char *const *hosts, size_t count,
		 char *const *command, bool orders)
{
	char *joined = join(hosts, count);

	for (size_t i = 0; means->line[i]; i++)
		add_filled(words, means->line[i], job, joined, count);
	free(joined);
	if (means->no_input && !orders)
		words_add(words, means->no_input);
	for (size_t i = 0; command[i]; i++)
		if (means->shell)
			add_quoted(words, command[i]);
		else
			words_add(words, command[i]);
}

/* --- which one ------------------------------------------------------------- */

static bool is_installed(const char *program)
{
	const char *at = getenv("PATH") ?: "/usr/bin:/bin";
	char path[4096];

	for (;; at++) {
		int length = (int)strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/%s", length ?: 1, length ? at : ".", program);
		if (!access(path, X_OK))
			return true;
		at += length;
		if (!*at)
			return false;
	}
}

const struct means *means_find(const char *name, bool manager)
{
	for (size_t i = 0; i < MEANS; i++) {
		if (name ? strcmp(table[i].program, name) : table[i].manager != manager)
			continue;
		if (name && table[i].manager != manager) {
			log_error("--by %s: does not go with %s", name, manager ? "--slurm" : "--hosts");
			return NULL;
		}
		if (is_installed(table[i].program))
			return &table[i];
		if (name || manager) {
			log_error("%s: is not installed here: run gaspbpf where jobs are started from",
				  table[i].program);
			return NULL;
		}
	}
	if (name)
		log_error("--by %s: not known: use srun, clush, pdsh, ssh or mpiexec", log_safe(name));
	else
		log_error("none of clush, pdsh, ssh and mpiexec is installed here: one of them has to start gaspbpf on "
			  "the nodes");
	return NULL;
}

/* --- the manager's nodes ----------------------------------------------------- */

static bool is_job_number(const char *job)
{
	size_t digits = strspn(job, "0123456789");

	return digits && (!job[digits] || (job[digits] == '_' && job[digits + 1] &&
					   strspn(job + digits + 1, "0123456789") == strlen(job + digits + 1)));
}

/* "JOB STATE NODES": the job as a number, without its place in an array. */
static int read_answer(struct hosts *hosts, char **job, char *text)
{
	char *rest = text, *line = strsep(&rest, "\n"), *number = strsep(&line, " "), *state = strsep(&line, " ");

	if (!state || !line || strcmp(state, "RUNNING") || !*line) {
		log_error("--slurm %s: %s: it must be running: 'squeue' lists jobs", *job,
			  state && *state ? log_safe(state) : "there is no such job");
		return -ESRCH;
	}
	if (rest && *rest) {
		log_error("--slurm %s: stands for several jobs: name one, as in %s_1", *job, *job);
		return -EINVAL;
	}
	if (strcmp(number, *job)) {
		free(*job);
		*job = strdup(number);
	}
	return *job ? hosts_add(hosts, line) : -ENOMEM;
}

int means_ask_hosts(struct hosts *hosts, char **job)
{
	struct words words = { 0 };
	char *text;
	int err;

	if (!is_job_number(*job)) {
		log_error("--slurm %s: not a job's number: give one, as 'squeue' lists them: 4711 or 4711_3",
			  log_safe(*job));
		return -EINVAL;
	}
	words_add(&words, "squeue");
	words_add(&words, "--noheader");
	words_add(&words, "--format=%A %T %N");
	words_add(&words, "--jobs");
	words_add(&words, *job);
	text = words.failed ? NULL : output_of(words.items);
	err = text ? read_answer(hosts, job, text) : -EIO;
	free(text);
	words_free(&words);
	return err;
}

/* --- the manager's job of a launcher ------------------------------------------- */

static const char job_variable[] = "SLURM_JOB_ID";

/* Inside of a job its environment names it. */
static char *job_in_environment(pid_t pid)
{
	size_t size = 0, n = strlen(job_variable);
	char path[40], *text, *found = NULL;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	text = read_file_at(AT_FDCWD, path, ENVIRONMENT_MOST, &size);
	for (const char *at = text; at && !found && at < text + size; at += strlen(at) + 1)
		if (!strncmp(at, job_variable, n) && at[n] == '=' && is_job_number(at + n + 1))
			found = strdup(at + n + 1);
	free(text);
	return found;
}

/* "JOB SESSION" a line, of jobs that were started from some session. */
static int job_of_session(char *text, pid_t session, pid_t pid, char **job)
{
	char *rest = text, *line, number[32], other[32];
	long sid;

	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%31s %ld", number, &sid) != 2 || sid != session || !is_job_number(number))
			continue;
		if (*job) {
			snprintf(other, sizeof(other), "%s", *job);
			free(*job);
			*job = NULL;
			log_error(
				"-p %d: several jobs were started from its terminal, %s and %s: say which: --slurm %s",
				pid, other, number, number);
			return -EINVAL;
		}
		*job = strdup(number);
		if (!*job)
			return -ENOMEM;
	}
	if (*job)
		return 0;
	log_error("-p %d: not the launcher of a job that runs on other nodes, as far as Slurm knows: name the job "
		  "(--slurm); or, where it has reached its nodes by other means, these and its processes: --hosts "
		  "n[1-16] -- --comm solver; or observe what runs here: gaspbpf -p %d",
		  pid, pid);
	return -ESRCH;
}

int nodes_job_around(pid_t pid, char **job)
{
	int err = kill(pid, 0) && errno == ESRCH ? -ESRCH : 0;

	*job = NULL;
	if (err)
		log_error("-p %d: no such process: check the launcher's PID with ps", pid);
	else
		*job = job_in_environment(pid);
	return err;
}

int nodes_job_of(pid_t pid, char **job)
{
	char *const words[] = { "squeue", "--noheader", "--states=RUNNING", "--Format=JobID:31,AllocSID:31", NULL };
	pid_t session = getsid(pid);
	char *text;
	int err;

	*job = NULL;
	if (session < 0) {
		err = -errno;
		log_error("-p %d: %s", pid, strerror(-err));
		return err;
	}
	text = output_of(words);
	err = text ? job_of_session(text, session, pid, job) : -EIO;
	if (!text)
		log_error("-p %d: where a launcher's ranks are is asked of Slurm only: without it name the nodes, and "
			  "its processes there: --hosts n[1-16] -- --comm solver; or observe what runs here: gaspbpf "
			  "-p %d",
			  pid, pid);
	else if (!err)
		log_warn("-p %d: taken as the launcher of job %s, the only one that was started from its terminal: "
			 "if it is another's, say which: --slurm",
			 pid, *job);
	free(text);
	return err;
}
