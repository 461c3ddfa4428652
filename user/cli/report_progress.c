/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_progress.c - how far the reading of a long recording is, and what ^C does meanwhile.
 *
 * A recording is read several times: for the sums, for what happened at the same time elsewhere, for what each finding
 * would give. How often is known only when it is over, so each pass has its own percent and its own time left.
 */
#include "cli/report_progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"

#define QUIET_NS 700000000ULL /* so long nothing is said: most recordings are read by then */
#define AGAIN_NS 200000000ULL

/* "12 s" */
static const char *time_left(char *text, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000 + 1;

	if (seconds < 100)
		snprintf(text, FORMAT_SIZE, "%u s", (unsigned)seconds);
	else
		snprintf(text, FORMAT_SIZE, "%u min", (unsigned)((seconds + 59) / 60));
	return text;
}

static void show(struct report_progress *p, uint64_t at, uint64_t size)
{
	uint64_t now = clock_monotonic();
	const char *skip = !p->stop ? "" : "; ^C: a report without who waits for whom";
	char all[FORMAT_SIZE], left[FORMAT_SIZE], pass[FORMAT_SIZE] = "";

	if (!p->pass || at < p->at) {
		p->pass++;
		if (p->pass == 1)
			p->shown = now + QUIET_NS - AGAIN_NS;
		p->began = now;
	}
	p->at = at;
	if (now < p->shown + AGAIN_NS || !size)
		return;
	p->shown = now;
	if (p->pass > 1)
		snprintf(pass, sizeof(pass), " (pass %u)", p->pass);
	if (at > size / 50)
		log_status("reading%s: %u %% of %s, %s left%s", pass, (unsigned)(100.0 * at / size),
			   format_bytes(all, size),
			   time_left(left, (uint64_t)((double)(now - p->began) / at * (size - at))), skip);
	else
		log_status("reading%s: %u %% of %s%s", pass, (unsigned)(100.0 * at / size), format_bytes(all, size),
			   skip);
}

static bool watch(void *context, uint64_t at, uint64_t size)
{
	struct report_progress *p = context;

	if (!p->quiet)
		show(p, at, size);
	p->stopped = p->stopped || (p->stop && p->stop(p->context));
	return !p->stopped;
}

void report_progress_begin(struct report_progress *progress, struct recording *recording)
{
	recording_watch(recording, watch, progress);
}

void report_progress_end(struct recording *recording)
{
	recording_watch(recording, NULL, NULL);
	log_status("%s", "");
}

/* --- ^C ---------------------------------------------------------------------------- */

static struct sigaction before_interrupt, before_end;

/* Only what a signal handler may do. */
static void end_at_once(int number)
{
	static const char text[] = "gaspbpf: report: interrupted while reading: nothing was printed\n",
			  erase[] = "\r\033[K";
	ssize_t written = 0;

	if (isatty(STDERR_FILENO))
		written = write(STDERR_FILENO, erase, sizeof(erase) - 1);
	if (written >= 0)
		written = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	raise(number); /* SA_RESETHAND: it ends the program now, and who has started it learns of what */
}

static void catch (int number, struct sigaction *before)
{
	struct sigaction action = { .sa_handler = end_at_once, .sa_flags = SA_RESETHAND | SA_NODEFER };

	if (!sigaction(number, NULL, before) && before->sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

void report_interrupts_begin(void)
{
	catch (SIGINT, &before_interrupt);
	catch (SIGTERM, &before_end);
}

void report_interrupts_end(void)
{
	sigaction(SIGINT, &before_interrupt, NULL);
	sigaction(SIGTERM, &before_end, NULL);
}
