/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulate.c - a simulation as a whole, in a process of its own.
 *
 * A plug-in is somebody's code, and a recording somebody's file; who calls may be root. So the files are opened here,
 * and a child that has given up all privileges reads, simulates and writes. The parent watches: a plug-in that does not
 * come back from a function is killed after a while, a crash is told with the function that it happened in, and ^C ends
 * both.
 */
#include "simulate/simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "simulate/parts.h"
#include "simulate/teams.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/privileges.h"

#define LOOK_EVERY 100000000 /* ns */

/* --- in the child ------------------------------------------------------------------ */

/* Calls that are in no span: who misses what, nobody can say. */
static void note_losses(struct sim *sim)
{
	for (size_t i = 0; i < sim->d->nsums; i++) {
		const struct def_sum *sum = &sim->d->sums[i];
		struct sim_process *process = &sim->processes[sim->d->threads[sum->thread].process];
		enum kind kind = sim->facts[sum->probe].kind;

		if (!(sum->lost + sum->summed + sum->skipped))
			continue;
		sim->misses_posts |= sim->facts[sum->probe].signal != SIGNAL_NONE;
		process->misses_teams |= sim->facts[sum->probe].team || sim->facts[sum->probe].share;
		if (kind != KIND_SEND && kind != KIND_RECV && kind != KIND_EXCHANGE && kind != KIND_COLLECTIVE &&
		    kind != KIND_NOTIFY && !sim->facts[sum->probe].describes && !sim->facts[sum->probe].starts)
			continue;
		sim->counts.lossy += !process->lossy;
		process->lossy = true;
	}
}

static int open_parts(struct sim *sim)
{
	const struct definitions *d = sim->d;

	sim->threads = calloc(d->nthreads + 1, sizeof(*sim->threads));
	sim->processes = calloc(d->nprocesses + 1, sizeof(*sim->processes));
	if (!sim->threads || !sim->processes)
		return -ENOMEM;
	for (size_t i = 0; i < d->nprocesses; i++)
		sim->processes[i] = (struct sim_process){ .rank = d->processes[i].rank, .first_thread = NO_INDEX };
	for (size_t i = 0; i < d->nthreads; i++) {
		const struct def_process *process = &d->processes[d->threads[i].process];
		uint32_t *first = &sim->processes[d->threads[i].process].first_thread;
		bool main = d->threads[i].tid == process->pid;

		sim->threads[i].begin = !main                           ? UINT64_MAX
					: process->start > d->run.start ? process->start
									: d->run.start;
		if (*first == NO_INDEX || main)
			*first = i;
	}
	return 0;
}

int simulation_run(struct sim *sim)
{
	int error;

	sim->d = recording_definitions(sim->recording);
	error = open_parts(sim);
	if (!error)
		error = facts_open(sim);
	if (error)
		return error;
	note_losses(sim);
	error = posts_open(sim);
	if (!error)
		error = groups_open(sim);
	if (!error)
		error = teams_open(sim);
	if (!error)
		error = match_open(sim);
	if (!error)
		error = locks_open(sim);
	if (!error)
		error = host_open(sim);
	if (!error)
		error = output_open_after(sim);
	if (!error)
		error = schedule_run(sim);
	if (!error)
		host_finalize(sim);
	sim->error = error;
	return error;
}

void simulation_close(struct sim *sim)
{
	host_close(sim);
	schedule_close(sim);
	match_close(sim);
	locks_close(sim);
	posts_close(sim);
	groups_close(sim);
	teams_close(sim);
	facts_close(sim);
	for (size_t i = 0; sim->processes && i < sim->d->nprocesses; i++)
		free(sim->processes[i].marks);
	free(sim->threads);
	free(sim->processes);
}

static int simulate_here(const struct simulation *options, struct progress *progress)
{
	struct sim sim = { .options = options, .scenarios = SCENARIOS, .progress = progress };
	int error = recording_open_fd(&sim.recording, options->input, options->path), ended;

	if (!error && !recording_has_calls(sim.recording, options->path))
		error = -EINVAL;
	if (!error)
		error = simulation_run(&sim);
	if (error == -ENOMEM)
		log_error("simulate: out of memory: simulate a shorter recording, or with fewer models");
	ended = output_finish(&sim);
	if (!error)
		error = ended;
	if (!error)
		error = efficiency_print(&sim, stdout);
	if (sim.recording) {
		simulation_close(&sim);
		recording_close(sim.recording);
	}
	return error;
}

static void child(const struct simulation *options, const struct caller *caller, struct progress *progress,
		  pid_t parent)
{
	static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t none;
	int error = -EPERM;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		signal(passed_on[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!give_up_privileges(caller)) {
		log_error("simulate: privileges cannot be given up: %s", strerror(errno));
	} else {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user has none */
		error = simulate_here(options, progress);
	}
	fflush(stdout);
	_exit(error ? 1 : 0);
}

/* --- the one that watches -------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

static const char *callback_name(const struct progress *progress)
{
	uint32_t in = progress->in;

	return in < CALLBACKS ? callback_names[in] : callback_names[IN_NOTHING];
}

/* Nothing happens but one call into the plug-in. */
struct watch {
	uint64_t calls, since;
};

static bool hangs(struct watch *watch, const struct progress *progress, uint64_t patience)
{
	uint64_t now = clock_monotonic();

	if (!progress->in || watch->calls != progress->calls) {
		watch->calls = progress->calls;
		watch->since = now;
	}
	return patience && now - watch->since > patience;
}

static int watch(const struct simulation *options, pid_t pid, const struct progress *progress)
{
	struct watch watched = { 0, clock_monotonic() };
	struct timespec pause = { .tv_nsec = LOOK_EVERY };
	sigset_t child_ends;
	int status;

	sigemptyset(&child_ends);
	sigaddset(&child_ends, SIGCHLD); /* which is blocked */
	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid || (ended < 0 && errno != EINTR))
			break;
		if (stopped || hangs(&watched, progress, options->patience)) {
			const char *in = callback_name(progress);
			char text[FORMAT_SIZE];

			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			if (stopped)
				log_error("%s: stopped in %s", log_safe(options->plugin), in);
			else
				log_error("%s: %s has not come back for %s: it was ended; --patience allows more",
					  log_safe(options->plugin), in, format_time(text, options->patience));
			return stopped ? -EINTR : -ETIMEDOUT;
		}
		sigtimedwait(&child_ends, NULL, &pause);
	}
	if (WIFSIGNALED(status)) {
		if (progress->in)
			log_error("%s: killed by signal %d (%s) in %s: correct the plug-in", log_safe(options->plugin),
				  WTERMSIG(status), strsignal(WTERMSIG(status)), callback_name(progress));
		else
			log_error("simulate: ended by signal %d (%s) outside of the plug-in", WTERMSIG(status),
				  strsignal(WTERMSIG(status)));
		return -EFAULT;
	}
	if (progress->in && !progress->broken && WEXITSTATUS(status) != 1)
		log_error("%s: %s ended the process with status %d", log_safe(options->plugin), callback_name(progress),
			  WEXITSTATUS(status));
	else if (progress->in && !progress->broken && progress->in != IN_CREATE)
		log_error("%s: %s ended the process", log_safe(options->plugin), callback_name(progress));
	return WEXITSTATUS(status) || progress->in ? -ECANCELED : 0;
}

int simulate(const struct simulation *options, const struct caller *caller)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
					 -1, 0);
	static const int stopping[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = stop };
	sigset_t all, before, wanted;
	pid_t parent = getpid(), pid;
	int error;

	if (progress == MAP_FAILED)
		return -errno;
	fflush(stdout);
	/* From the fork on until the child is known here, a ^C waits. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
		sigaction(stopping[i], &action, NULL);
	pid = fork();
	if (!pid)
		child(options, caller, progress, parent);
	error = pid < 0 ? -errno : 0;
	wanted = before;
	sigaddset(&wanted, SIGCHLD);
	sigprocmask(SIG_SETMASK, &wanted, NULL);
	if (error)
		log_error("simulate: no process can be made: %s: look at the limits (ulimit -u) and at what else runs, "
			  "and try again",
			  strerror(-error));
	else
		error = watch(options, pid, progress);
	munmap(progress, sizeof(*progress));
	return error;
}
