/*
 * job.c - which processes are observed, from the first look to the end.
 *
 * Two ways in: processes that run already (-p), and a command that we start. A command's children belong to it, so they are
 * followed: the kernel side adds each fork to the targets by itself, and libraries of parallel
 * runtimes are probed before anybody maps them, for everybody who will (file scope; others pay one
 * trap a call and no more). What everything maps, libc above all, is never probed for everybody
 * unless asked: there each process gets links of its own.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/job.h"
#include "util/clock.h"
#include "util/log.h"

#define FEW_PROCESSES 4   /* up to here each has its own links: no trap for bystanders, hits hardly dearer */
#define FOLLOWED_MOST 64  /* children with links of their own */

/* --- processes that run already ---------------------------------------- */

static int add_process(struct job *job, pid_t pid)
{
	struct process **grown = realloc(job->processes, (job->nprocesses + 1) * sizeof(*grown));
	pid_t *pids;
	int err;

	if (!grown)
		return -ENOMEM;
	job->processes = grown;
	for (size_t i = 0; i < job->npids; i++)
		if (job->pids[i] == pid)
			return 0;
	pids = realloc(job->pids, (job->npids + 1) * sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	job->pids = pids;
	err = process_open(&job->processes[job->nprocesses], pid);
	if (err)
		return err;
	job->pids[job->npids++] = job->processes[job->nprocesses++]->pid;
	return 0;
}

/* The process itself, or where it launched ranks, those. */
static int add_pid(struct job *job, pid_t pid, const char **rank_variables)
{
	pid_t *ranks;
	size_t count;
	int err = process_descendants(pid, rank_variables, &ranks, &count);

	if (err)
		return err;
	if (!count)
		err = add_process(job, pid);
	else
		log_info("%d launched %zu processes with a rank: observing those", pid, count);
	for (size_t i = 0; !err && i < count; i++) {
		err = add_process(job, ranks[i]);
		if (err == -ESRCH)
			err = 0; /* ended in between */
	}
	free(ranks);
	return err;
}

/* Of a launcher's processes only those count that map something known: the shell around a rank does not. */
static void drop_unknown(struct job *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->nprocesses; i++) {
		struct process *process = job->processes[i];
		bool known = false;

		for (size_t m = 0; m < process->nmappings && !known; m++) {
			const struct mapping *mapping = &process->mappings[m];
			const struct image *image = mapping->executable && mapping->inode ?
				plan_image(job->plan, mapping->device, mapping->inode) : NULL;

			for (size_t s = 0; image && s < job->plan->nsites && !known; s++)
				known = job->plan->sites[s].image == image;
		}
		if (!known && job->nprocesses > 1) {
			log_info("%d (%s): maps nothing known: left alone", process->pid, log_safe(process->name));
			process_close(process);
			continue;
		}
		job->pids[kept] = process->pid;
		job->processes[kept++] = process;
	}
	job->nprocesses = job->npids = kept;
}

/* Is this the program of a runtime whose ranks are forked, each with its number in a variable? */
static bool forks_ranks(const struct job *job, const struct image *image)
{
	for (size_t s = 0; image && s < job->plan->nsites; s++)
		if (job->plan->sites[s].image == image && job->plan->sites[s].function->model->rank_symbol)
			return true;
	return false;
}

static const struct image *forking_program(const struct job *job, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode ?
			plan_image(job->plan, mapping->device, mapping->inode) : NULL;

		if (forks_ranks(job, image))
			return image;
	}
	return NULL;
}

/* Adds the children of a process that run its own program. *count: how many. */
static int add_forked_of(struct job *job, pid_t pid, const struct image *program, size_t *count)
{
	pid_t *children;
	size_t nchildren;
	int err = process_descendants(pid, NULL, &children, &nchildren);

	for (size_t i = 0; !err && i < nchildren; i++) {
		err = add_process(job, children[i]);
		if (err == -ESRCH) {
			err = 0;
			continue;
		}
		if (!err && forking_program(job, job->processes[job->nprocesses - 1]) == program)
			++*count;
		else if (!err)
			process_close(job->processes[--job->nprocesses]), job->npids--;
	}
	free(children);
	return err;
}

/*
 * Ranks that were forked instead of launched: the process they came from only waits for them, so they are
 * observed in its place.
 */
static int add_forked(struct job *job)
{
	size_t before = job->nprocesses;
	int err = 0;

	for (size_t i = 0; !err && i < before; i++) {
		const struct image *program = forking_program(job, job->processes[i]);
		size_t count = 0;

		if (program)
			err = add_forked_of(job, job->processes[i]->pid, program, &count);
		if (!count)
			continue;
		process_close(job->processes[i]);
		job->processes[i] = job->processes[--job->nprocesses];
		job->pids[i] = job->pids[--job->npids];
	}
	return err;
}

static int nothing_known(const struct job *job)
{
	if (job->nprocesses == 1)
		log_error("%d (%s): maps no known runtime, or its names are stripped: 'gaspbpf list -p %d' tells what was "
			  "looked for", job->processes[0]->pid,
			  log_safe(job->processes[0]->name), job->processes[0]->pid);
	else
		log_error("none of these processes maps a known runtime: 'gaspbpf list -p PID' tells what was looked for");
	return -ENOENT;
}

/* A function that somebody named with -e must be somewhere; a spelling mistake is worth a word. */
static int check_functions(struct job *job)
{
	const struct model *model = models_find(job->models, USER_MODEL);
	int err = model ? plan_find_absent(job->plan) : 0;

	for (size_t i = 0; !err && model && i < job->plan->nabsents; i++) {
		const struct absent *absent = &job->plan->absents[i];

		if (absent->function->model != model)
			continue;
		log_error("-e %s: %s: 'gaspbpf list -p PID -e ...' tells what was looked at", log_safe(absent->function->symbol),
			  absence_text(absent->why));
		return -ENOENT;
	}
	return err;
}

int job_add_pids(struct job *job, const struct pid_list *list)
{
	const char **rank_variables = plan_rank_variables(job->models);
	int err = rank_variables ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < list->count; i++)
		err = add_pid(job, list->pids[i], rank_variables);
	free(rank_variables);
	if (!err)
		err = plan_add_processes(job->plan, job->processes, job->nprocesses);
	if (!err && !job->plan->nsites)
		return nothing_known(job);
	if (!err)
		err = check_functions(job);
	if (!err)
		err = add_forked(job);
	if (!err)
		drop_unknown(job);
	return err;
}

/* --- following --------------------------------------------------------- */

static void on_fork(void *context, pid_t pid, pid_t parent)
{
	struct job *job = context;

	if (!job->follow)
		job->unfollowed++;
	if (!job->follow || job->followed >= FOLLOWED_MOST)
		return;
	if (++job->followed == FOLLOWED_MOST)
		log_warn("more than %d child processes: functions of the C library are not observed in further ones: use --scope=file",
			 FOLLOWED_MOST);
	attach_process(job->kernel, job->plan, pid, &job->attach);
}

/* A followed process has become another program: it may map files that nobody has looked at. */
static void on_exec(void *context, pid_t pid)
{
	struct job *job = context;
	uint32_t first = job->plan->nsites;
	struct process *process;

	if (capture_refresh_process(job->capture, pid))
		return;
	process = capture_process(job->capture, pid);
	if (!process || plan_add_processes(job->plan, &process, 1) || !plan_has_new(job->plan, first))
		return;
	if (!capture_define_probes(job->capture))
		attach_sites(job->kernel, job->plan, first, &job->attach);
}

/* --- attaching --------------------------------------------------------- */

static int load(struct job *job, enum scope scope, uint64_t ring_bytes)
{
	struct kernel_options options = {
		.filter = job->attach.file || job->attach.file_alone, .follow = job->follow, .ring_bytes = ring_bytes,
	};
	struct capture_events events = { .forked = on_fork, .execed = on_exec, .context = job };
	int err = kernel_load(&job->kernel, &options);

	if (err)
		return err;
	kernel_cost(job->kernel, job->cost_ns);
	for (int class = 0; class < SITE_CLASSES; class++)
		job->definitions.run.cost_ns[class] = job->cost_ns[class];
	job->definitions.run.rung = strdup(rung_name(kernel_rung(job->kernel)));
	return capture_new(&job->capture, job->kernel, job->plan, &job->definitions, &events);
}

static int observe(struct job *job, struct process *process)
{
	int err = kernel_add_target(job->kernel, process->pid);

	return err ? err : capture_add_process(job->capture, process);
}

/* All probes are in: from here on calls are seen. */
static void begin(struct job *job)
{
	struct def_run *run = &job->definitions.run;

	run->start = clock_monotonic();
	run->start_realtime = clock_realtime();
	for (size_t i = 0; i < job->definitions.nprocesses; i++)
		job->definitions.processes[i].start = run->start;
	kernel_set_active(job->kernel, true);
}

static bool all_left_out(const struct job *job)
{
	for (size_t i = 0; i < job->plan->nsites; i++)
		if (!attach_leaves_out(job->kernel, &job->attach, &job->plan->sites[i]))
			return false;
	return true;
}

int job_attach(struct job *job, enum scope scope, uint64_t ring_bytes)
{
	int err;

	/* What everything maps is never probed for everybody unless asked: it would slow down the whole machine. */
	job->attach.file_alone = scope == SCOPE_FILE;
	job->attach.file = scope == SCOPE_FILE || (scope == SCOPE_AUTO && job->npids > FEW_PROCESSES);
	job->attach.pids = job->pids;
	job->attach.npids = job->npids;
	err = load(job, scope, ring_bytes);
	for (size_t i = 0; !err && i < job->nprocesses; i++) {
		err = observe(job, job->processes[i]);
		if (!err)
			job->processes[i] = NULL; /* the capture has it now */
	}
	if (!err)
		err = attach_sites(job->kernel, job->plan, 0, &job->attach);
	if (!err && all_left_out(job)) {
		log_error("nothing that the job maps imports any of the known functions: use --all-symbols");
		err = -ENOENT;
	} else if (!err && !attach_count(job->kernel)) {
		log_error("the process ended before its probes were in: start it with 'gaspbpf -- COMMAND'");
		err = -ESRCH;
	}
	if (!err)
		begin(job);
	return err;
}

/* --- a command of our own ---------------------------------------------- */

/* The libraries that the dynamic linker knows (ldconfig's list) and a parallel model describes. */
static void plan_known_libraries(struct job *job)
{
	FILE *list = popen("/sbin/ldconfig -p 2>/dev/null", "re");
	char line[1024], *arrow, *name;
	bool known;

	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = 0;
		arrow = strstr(line, " => ");
		if (!arrow || !strstr(line, "x86-64"))
			continue;
		name = line + strspn(line, " \t");
		name[strcspn(name, " ")] = 0;
		for (size_t m = 0; m < models_count(job->models); m++) {
			const struct model *model = models_at(job->models, m);

			if (!model->alone && !model->in_program && model_matches_file(model, name, name))
				plan_add_file(job->plan, arrow + 4, &known);
		}
	}
	if (list)
		pclose(list);
}

/* The held command has mapped something: probes into it, before it runs. */
static int on_mapped(void *context, struct process *process)
{
	struct job *job = context;
	uint32_t first = job->plan->nsites;
	int err = plan_add_processes(job->plan, &process, 1);

	if (err || !plan_has_new(job->plan, first))
		return err;
	err = capture_define_probes(job->capture);
	return err ? err : attach_sites(job->kernel, job->plan, first, &job->attach);
}

/*
 * A command that is given another program to run (env, time, a launcher of ranks), or a script. What it does itself is
 * of no interest, so models that join alone stay out of it unless asked for; and what its children will map is not known
 * yet, so known libraries are probed beforehand.
 */
static bool is_launcher(char *const argv[])
{
	struct image *own;

	if (strchr(argv[0], '/') && !access(argv[0], R_OK)) {
		if (image_open_file(&own, argv[0]))
			return true; /* a script */
		image_close(own);
	}
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		struct image *image;
		bool program;

		if (access(argv[i], X_OK) || image_open_file(&image, argv[i]))
			continue;
		program = image->is_program;
		image_close(image);
		if (program)
			return true;
	}
	return false;
}

/* gaspbpf raises these for itself; the command shall have what it would have had. */
static const int raised[] = { RLIMIT_MEMLOCK, RLIMIT_NOFILE };
#define RAISED (sizeof(raised) / sizeof(raised[0]))

/* It is still held before its first instruction: better not started than running unobserved behind an error. */
static void give_up_command(struct job *job)
{
	kill(job->command, SIGKILL);
	waitpid(job->command, NULL, 0);
	job->command = 0;
}

int job_start(struct job *job, char *const argv[], enum scope scope, uint64_t ring_bytes)
{
	struct process *process = NULL;
	struct rlimit limits[RAISED];
	struct caller caller;
	int err = caller_find(&caller);

	if (err)
		return err;
	for (size_t i = 0; i < RAISED; i++)
		getrlimit(raised[i], &limits[i]);
	job->follow = true;
	job->plan->no_alone = is_launcher(argv);
	job->attach.file = scope != SCOPE_PROCESS;
	job->attach.file_alone = scope == SCOPE_FILE;
	if (job->attach.file && job->plan->no_alone)
		plan_known_libraries(job);
	err = load(job, scope, ring_bytes);
	if (!err)
		err = command_start(&job->command, argv, &caller);
	caller_free(&caller);
	if (err) {
		job->command = 0;
		return err;
	}
	for (size_t i = 0; i < RAISED; i++)
		prlimit(job->command, raised[i], &limits[i], NULL);
	job->pids = malloc(sizeof(*job->pids));
	if (!job->pids) {
		give_up_command(job);
		return -ENOMEM;
	}
	job->pids[0] = job->command;
	job->npids = 1;
	job->attach.pids = job->pids;
	job->attach.npids = 1;
	err = kernel_add_target(job->kernel, job->command);
	if (!err)
		err = attach_sites(job->kernel, job->plan, 0, &job->attach);
	if (!err) {
		begin(job);
		err = command_hold(job->command, &process, on_mapped, job);
	}
	if (process)
		capture_add_process(job->capture, process);
	if (err == -ESRCH)
		err = 0; /* it has ended already: that is a run like any other */
	if (err)
		give_up_command(job);
	else
		command_release(job->command);
	return err;
}

bool job_alive(const struct job *job)
{
	return capture_totals(job->capture).alive > 0;
}

void job_free(struct job *job)
{
	for (size_t i = 0; i < job->nprocesses; i++)
		if (job->processes[i])
			process_close(job->processes[i]);
	capture_close(job->capture);
	kernel_free(job->kernel);
	definitions_free(&job->definitions);
	plan_free(job->plan);
	models_free(job->models);
	free(job->processes);
	free(job->pids);
}
