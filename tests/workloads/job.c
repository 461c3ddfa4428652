/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part that all jobs share.
 *
 * A test wants to compare what an observer saw with what the job did, exactly. So the counted work stands between two
 * marks, and around the marks the job is idle: it sleeps and looks for a file, with system calls only. No malloc, no
 * lock and no call of any runtime happens there, so an observer may come and go without a call in flight.
 */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 600000000000LL      /* a job whose test has died ends by itself */

int64_t job_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void job_sleep_us(long us)
{
	struct timespec rest = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&rest, &rest) && errno == EINTR)
		;
}

void job_spin_us(long us)
{
	int64_t end = job_now() + us * 1000LL;

	while (job_now() < end)
		;
}

static void usage(const struct job *job, const struct job_option *more, const char *wrong)
{
	fprintf(stderr, "%s: unknown or incomplete option %s\n"
		"usage: %s [--rounds N | --seconds S] [--warmup N] [--after N] [--gate DIR] [--truth FILE]",
		job->name, wrong, job->name);
	for (; more && more->name; more++)
		fprintf(stderr, " [%s N]", more->name);
	fputc('\n', stderr);
	exit(2);
}

static bool set_option(struct job *job, const struct job_option *more, const char *name, const char *value)
{
	if (!strcmp(name, "--rounds"))
		job->rounds = atol(value);
	else if (!strcmp(name, "--seconds"))
		job->seconds = atof(value);
	else if (!strcmp(name, "--warmup"))
		job->warmup = atol(value);
	else if (!strcmp(name, "--after"))
		job->after = atol(value);
	else if (!strcmp(name, "--gate"))
		job->gate = value;
	else if (!strcmp(name, "--truth"))
		job->truth = value;
	else {
		for (; more && more->name; more++)
			if (!strcmp(name, more->name)) {
				*more->value = atol(value);
				return true;
			}
		return false;
	}
	return true;
}

void job_options(struct job *job, int argc, char **argv, const struct job_option *more)
{
	job->truth = getenv("JOB_TRUTH");
	for (int i = 1; i < argc; i += 2)
		if (i + 1 == argc || !set_option(job, more, argv[i], argv[i + 1]))
			usage(job, more, argv[i]);
}

static void write_mark(const struct job *job, const char *mark)
{
	char path[4096], text[32];
	int file, length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	snprintf(path, sizeof(path), "%s/%s.%d", job->gate, mark, job->rank < 0 ? 0 : job->rank);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0 || write(file, text, length) != length)
		_exit(3);
	close(file);
}

static void wait_for(const struct job *job, const char *mark)
{
	char path[4096];
	int64_t limit = job_now() + PATIENCE_NS;

	snprintf(path, sizeof(path), "%s/%s", job->gate, mark);
	while (access(path, F_OK)) {
		if (job_now() > limit)
			_exit(3);
		job_sleep_us(2000);
	}
}

void job_begin(struct job *job)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "ready %d\n", (int)getpid());

	if (write(STDOUT_FILENO, line, length) != length)
		exit(3);
	if (job->gate) {
		write_mark(job, "ready");
		wait_for(job, "go");
	}
	if (count_window)
		count_window(1);
	job->started = job_now();
}

void job_finish(struct job *job)
{
	job->ended = job_now();
	if (count_window)
		count_window(0);
	if (job->gate) {
		write_mark(job, "done");
		wait_for(job, "end");
	}
}

bool job_more(const struct job *job, long done)
{
	if (job->seconds > 0)
		return job_now() - job->started < job->seconds * 1e9;
	return done < job->rounds;
}

static struct count *find_count(struct counts *counts, const char *function)
{
	for (int i = 0; i < counts->used; i++)
		if (counts->of[i].function == function || !strcmp(counts->of[i].function, function))
			return &counts->of[i];
	if (counts->used == COUNTS_MAX)
		abort();
	counts->of[counts->used].function = function;
	return &counts->of[counts->used++];
}

void count_moved(struct counts *counts, const char *function, uint64_t bytes, uint64_t sent, uint64_t received)
{
	struct count *count = find_count(counts, function);

	count->calls++;
	count->bytes += bytes;
	count->sent += sent;
	count->received += received;
}

void count_call(struct counts *counts, const char *function, uint64_t bytes)
{
	count_moved(counts, function, bytes, 0, 0);
}

void count_add(struct counts *sum, const struct counts *part)
{
	for (int i = 0; i < part->used; i++) {
		struct count *count = find_count(sum, part->of[i].function);

		count->calls += part->of[i].calls;
		count->bytes += part->of[i].bytes;
		count->sent += part->of[i].sent;
		count->received += part->of[i].received;
	}
}

void count_clear(struct counts *counts)
{
	memset(counts, 0, sizeof(*counts));
}

static void write_functions(FILE *out, const struct counts *counts)
{
	fputc('{', out);
	for (int i = 0; i < counts->used; i++) {
		const struct count *c = &counts->of[i];

		fprintf(out, "%s\n  \"%s\":{\"calls\":%lu,\"bytes\":%lu,\"sent\":%lu,\"received\":%lu}", i ? "," : "",
			c->function, c->calls, c->bytes, c->sent, c->received);
	}
	fputc('}', out);
}

void job_file_name(char *name, unsigned size, const char *pattern, int rank)
{
	const char *place = strstr(pattern, "%d");

	if (place)
		snprintf(name, size, "%.*s%d%s", (int)(place - pattern), pattern, rank < 0 ? (int)getpid() : rank,
			 place + 2);
	else if (rank >= 0)
		snprintf(name, size, "%s.%d", pattern, rank);
	else
		snprintf(name, size, "%s", pattern);
}

int job_truth(const struct job *job, long rounds, uint64_t checksum, const struct counts *process,
	      const struct job_thread *threads, int nthreads)
{
	struct counts sum;
	char name[4096];
	FILE *out;

	if (!job->truth)
		return 0;
	job_file_name(name, sizeof(name), job->truth, job->rank);
	out = fopen(name, "w");
	if (!out) {
		fprintf(stderr, "%s: cannot write %s: %s\n", job->name, name, strerror(errno));
		return 1;
	}
	count_clear(&sum);
	if (process)
		count_add(&sum, process);
	for (int i = 0; i < nthreads; i++)
		count_add(&sum, &threads[i].counts);
	fprintf(out,
		"{\"job\":\"%s\",\"pid\":%d,\"rank\":%d,\"rounds\":%ld,\"checksum\":\"%016lx\",\"window_ns\":%ld,\n \"functions\":",
		job->name, (int)getpid(), job->rank, rounds, checksum, (long)(job->ended - job->started));
	write_functions(out, &sum);
	fputs(",\n \"threads\":[", out);
	for (int i = 0; i < nthreads; i++) {
		fprintf(out, "%s\n {\"tid\":%d,\"name\":\"%s\",\"functions\":", i ? "," : "", threads[i].tid,
			threads[i].name);
		write_functions(out, &threads[i].counts);
		fputc('}', out);
	}
	fprintf(out, "]%s}\n", job->more_truth ? job->more_truth : "");
	return fclose(out) ? 1 : 0;
}

int job_all_rounds(struct job *job, void (*round)(void), struct counts **counts, struct counts *counted,
		   const long *sum)
{
	struct counts *other = *counts;

	for (long i = 0; i < job->warmup; i++)
		round();
	job_begin(job);
	*counts = counted;
	for (long i = 0; i < job->rounds; i++)
		round();
	*counts = other;
	job_finish(job);
	if (!job->rank)
		printf("checksum %ld\n", *sum);
	fflush(stdout);
	return job_truth(job, job->rounds, 0, counted, NULL, 0);
}
