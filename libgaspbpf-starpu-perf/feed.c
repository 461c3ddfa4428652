/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed.c - where the counters come from.
 *
 * gaspbpf observes a job, or reads a recording, and runs this very library as a tool in its unprivileged process: there
 * it is told each counter that has changed (user/toolhost/counters.c) and prints a line. gaspbpf passes that on, and
 * here, in the program that listens, the lines are read again. So nothing but text comes from the observer.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gaspbpf/counter_tool.h"
#include "internal.h"
#include "starpu_perf_monitoring.h"

#define WORD "gaspbpf-counters"

extern char **environ;

static struct {
	pid_t child;
	bool live, started, finished;
	FILE *rows, *messages;
	pthread_t thread;
	pthread_mutex_t lock;
} feed = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- in gaspbpf's tool process --------------------------------------------------------- */

EXPORTED void gaspbpf_tool_counters(const struct gaspbpf_counters *c)
{
	static const unsigned scopes[] = {
		starpu_perf_counter_scope_global,
		starpu_perf_counter_scope_per_worker,
		starpu_perf_counter_scope_per_codelet,
	};

	/* What is not known (UINT64_MAX) is -1 there, as the interface's numbers have a sign. */
	printf(WORD " %u %" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %s\n",
	       scopes[c->scope], c->worker, c->kind, (int64_t)c->submitted, (int64_t)c->peak_submitted,
	       (int64_t)c->peak_ready, (int64_t)c->executed, c->busy_ns, c->name ? c->name : "");
}

EXPORTED void gaspbpf_tool_counters_pause(void)
{
	fflush(stdout);
}

/* --- in the program that listens ------------------------------------------------------- */

static void take_line(char *line)
{
	struct row row = { 0 };
	uint64_t busy;
	int name = 0;

	if (sscanf(line,
		   WORD " %u %" SCNd64 " %" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %n",
		   &row.scope, &row.worker, &row.kind, &row.submitted, &row.peak_submitted, &row.peak_ready,
		   &row.executed, &busy, &name) < 8)
		return;
	row.busy = busy / 1000.0;
	line[strcspn(line, "\n")] = '\0';
	row.name = name && line[name] ? line + name : NULL;
	perf_row(&row);
}

static void *read_rows(void *unused)
{
	size_t room = 0;
	char *line = NULL;

	while (getline(&line, &room, feed.rows) > 0)
		take_line(line);
	free(line);
	return NULL;
}

/* Until the probes are in; what is said is passed on. False: they never were. */
static bool wait_ready(void)
{
	size_t room = 0;
	char *line = NULL;
	bool ready = false;

	while (!ready && getline(&line, &room, feed.messages) > 0) {
		ready = strstr(line, ": observing ");
		fputs(line, stderr);
	}
	free(line);
	return ready;
}

/* gaspbpf: as GASPBPF says, else that of the checkout or installation that this library is in, else where PATH has it.
 */
static const char *find_gaspbpf(const char *library, char *path, size_t size)
{
	static const char *const near[] = { "../../gaspbpf", "../bin/gaspbpf" };
	const char *named = getenv("GASPBPF");
	int folder = (int)(strrchr(library, '/') - library);

	if (named && *named)
		return named;
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		if (snprintf(path, size, "%.*s/%s", folder, library, near[i]) < (int)size && !access(path, X_OK))
			return path;
	}
	return "gaspbpf";
}

static int start(char *const argv[])
{
	posix_spawn_file_actions_t actions;
	int rows[2] = { -1, -1 }, messages[2] = { -1, -1 }, error;

	if (pipe2(rows, O_CLOEXEC) || pipe2(messages, O_CLOEXEC))
		return errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, rows[1], 1);
	posix_spawn_file_actions_adddup2(&actions, messages[1], 2);
	error = posix_spawnp(&feed.child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(rows[1]);
	close(messages[1]);
	feed.rows = fdopen(rows[0], "r");
	feed.messages = fdopen(messages[0], "r");
	if (!error && (!feed.rows || !feed.messages))
		error = errno;
	return error;
}

/* Runs gaspbpf on the source. */
static void run(const char *source)
{
	char library[PATH_MAX], near[PATH_MAX + 32], pid[32];
	char *argv[9] = { NULL };
	int n = 0, error;
	Dl_info info;

	if (!dladdr((void *)feed_start, &info) || !realpath(info.dli_fname, library)) {
		fprintf(stderr, "libgaspbpf-starpu-perf: cannot find its own file: no counters\n");
		return;
	}
	argv[n++] = (char *)find_gaspbpf(library, near, sizeof(near));
	if (feed.live) {
		snprintf(pid, sizeof(pid), "%d", source ? atoi(source + 4) : (int)getpid());
		argv[n++] = (char *)"-p";
		argv[n++] = pid;
	} else {
		argv[n++] = (char *)"replay";
		argv[n++] = (char *)source;
	}
	argv[n++] = (char *)"--tool";
	argv[n++] = library;
	error = start(argv);
	if (error) {
		fprintf(stderr,
			"libgaspbpf-starpu-perf: %s cannot be started: %s: no counters: set GASPBPF to its path\n",
			argv[0], strerror(error));
		feed.child = 0;
		return;
	}
	if (feed.live && !wait_ready())
		fprintf(stderr, "libgaspbpf-starpu-perf: the job is not observed, for the reason above: no counters\n");
	if (pthread_create(&feed.thread, NULL, read_rows, NULL)) {
		fprintf(stderr, "libgaspbpf-starpu-perf: no thread for its counters\n");
		kill(feed.child, SIGTERM);
		feed.child = 0;
	}
}

static const char *source_of(bool *live)
{
	const char *source = getenv("GASPBPF_SOURCE");

	if (source && !*source)
		source = NULL;
	*live = !source || !strncmp(source, "pid:", 4);
	return source;
}

void feed_start(void)
{
	const char *source = source_of(&feed.live);

	pthread_mutex_lock(&feed.lock);
	if (!feed.started && feed.live) {
		feed.started = true;
		run(source);
	}
	pthread_mutex_unlock(&feed.lock);
}

void feed_finish(void)
{
	const char *source = source_of(&feed.live);
	char text[4096];
	int status = 0;

	pthread_mutex_lock(&feed.lock);
	if (!feed.started && !feed.live && !feed.finished) {
		feed.started = true;
		run(source);
	}
	if (feed.child) {
		/* Its own observation ends here; a job's ends with the job, or by a signal of the user. */
		if (feed.live && !source)
			kill(feed.child, SIGINT);
		while (fgets(text, sizeof(text), feed.messages))
			if (!feed.live && strstr(text, "gaspbpf: ") == text && !strstr(text, "gaspbpf: tool "))
				fputs(text, stderr);
		pthread_join(feed.thread, NULL);
		waitpid(feed.child, &status, 0);
		feed.child = 0;
		perf_end();
	}
	feed.finished = true;
	pthread_mutex_unlock(&feed.lock);
}
