/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c - gaspbpf job: a job on many nodes, as one recording.
 *
 * On each node 'gaspbpf record --part-of FOLDER' is started by the site's own means (user/nodes). Each puts its probes in
 * and says that it is ready; then all are told one time at which to begin, and one at which to end, by CLOCK_REALTIME. Their
 * recordings come into the folder, and are merged. Nothing here needs rights: those on the nodes do.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/job_watch.h"
#include "cli/merging.h"
#include "cli/outputs.h"
#include "nodes/nodes.h"
#include "util/format.h"
#include "util/log.h"

struct options {
	const char *slurm, *hostfile, *by, *output, *folder, *program;
	struct text_list hosts;
	char **more; /* for 'record' on each node */
	uint64_t duration, patience;
	bool json, quiet, keep, sudo;
};

enum { OPTION_SLURM = 256, OPTION_HOSTS, OPTION_HOSTFILE, OPTION_BY, OPTION_FOLDER, OPTION_PROGRAM, OPTION_PATIENCE,
       OPTION_KEEP, OPTION_SUDO, OPTION_JSON };

static const struct argp_option option_list[] = {
	{ "slurm", OPTION_SLURM, "JOBID", 0, "The job of this number, on all of its nodes", 1 },
	{ "hosts", OPTION_HOSTS, "LIST", 0,
	  "These nodes: n[1-16],login2; may repeat. Which processes there, options of 'record' behind -- say", 1 },
	{ "hostfile", OPTION_HOSTFILE, "FILE", 0, "Nodes from a file, one on a line, as mpiexec has it", 1 },
	{ "by", OPTION_BY, "PROGRAM", 0,
	  "What starts gaspbpf on the nodes: srun (with --slurm), clush, pdsh, ssh or mpiexec; else the first of them "
	  "that is installed",
	  1 },
	{ "output", 'o', "FILE.gasp", 0, "Where the recording of all goes", 2 },
	{ "duration", 'd', "TIME", 0, "Observe for TIME: 30 (seconds), 500ms, 2m; else until ^C or the end of the job",
	  2 },
	{ "folder", OPTION_FOLDER, "DIR", 0,
	  "A new folder that all nodes see under this name, for their recordings (default: FILE.gasp.nodes)", 2 },
	{ "keep", OPTION_KEEP, NULL, 0, "Keep that folder", 2 },
	{ "patience", OPTION_PATIENCE, "TIME", 0,
	  "So long the others wait for a node that does not answer, at the start and at the end (default 30s)", 2 },
	{ "program", OPTION_PROGRAM, "PATH", 0, "gaspbpf on the nodes, where it is not at this one's own path", 3 },
	{ "sudo", OPTION_SUDO, NULL, 0, "Start it there by 'sudo -n'", 3 },
	{ "json", OPTION_JSON, NULL, 0, "Print the report as JSON", 3 },
	{ "quiet", 'q', NULL, 0, "No live line, no report", 3 },
	{ 0 }
};

static const char about[] =
	"A job on many nodes, as one recording: starts 'gaspbpf record' on each of its nodes by the site's own means, all "
	"of them begin and end together, then their recordings become one (gaspbpf merge), and its report is printed."
	"\v"
	"A node that dies or does not answer costs its own part only, and that is said. What each node has to allow: "
	"docs/cluster.md.\n"
	"\nExamples:\n"
	"  gaspbpf job --slurm 4711 -d 30s -o run.gasp\n"
	"  gaspbpf job --slurm 4711 -o run.gasp -- --max-overhead 2%\n"
	"      options of 'gaspbpf record' behind --\n"
	"  gaspbpf job --hosts n[1-16] -d 30s -o run.gasp -- --comm solver\n"
	"  gaspbpf report run.gasp --by node\n";

static void take_time(const char *option, const char *argument, uint64_t *time, struct argp_state *state)
{
	if (parse_time(argument, time) || !*time)
		argp_error(state, "%s %s: not a time: use 30, 500ms, 2m", option, log_safe(argument));
}

static void check(const struct options *o, struct argp_state *state)
{
	bool listed = o->hosts.count || o->hostfile;

	if (!o->slurm && !listed)
		argp_error(state, "which job? for example: --slurm 4711, or --hosts n[1-16] -- --comm solver");
	if (o->slurm && listed)
		argp_error(state, "--slurm knows the job's nodes: leave --hosts and --hostfile out");
	if (!o->slurm && !o->more)
		argp_error(state, "which processes on these hosts? options of 'record' say it: -- --comm solver, "
				  "-- --user NAME, -- --job ID");
	if (o->more && **o->more != '-')
		argp_error(state, "what is '%s'? options of 'record' stand behind --", log_safe(*o->more));
	if (!o->output)
		argp_error(state, "where to? say -o run.gasp, for example");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPTION_SLURM:
		o->slurm = argument;
		return 0;
	case OPTION_HOSTS:
		return -cli_append(&o->hosts, argument);
	case OPTION_HOSTFILE:
		o->hostfile = argument;
		return 0;
	case OPTION_BY:
		o->by = argument;
		return 0;
	case 'o':
		output_check_recording(state, argument);
		o->output = argument;
		return 0;
	case 'd':
		take_time("-d", argument, &o->duration, state);
		return 0;
	case OPTION_PATIENCE:
		take_time("--patience", argument, &o->patience, state);
		return 0;
	case OPTION_FOLDER:
		o->folder = argument;
		return 0;
	case OPTION_PROGRAM:
		o->program = argument;
		return 0;
	case OPTION_KEEP:
		o->keep = true;
		return 0;
	case OPTION_SUDO:
		o->sudo = true;
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->more = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- the folder that all nodes see --------------------------------------------- */

struct folder {
	char *path, *orders; /* absolute */
	int fd;              /* of the file of orders; -1: none */
	struct caller caller;
};

static char *absolute(const char *path)
{
	char *here = *path == '/' ? strdup("") : getcwd(NULL, 0), *all = NULL;

	if (here && asprintf(&all, "%s%s%s", here, *here ? "/" : "", path) < 0)
		all = NULL;
	free(here);
	return all;
}

static int folder_open(struct folder *folder, const struct options *o)
{
	char *beside = NULL;
	int err = caller_find(&folder->caller);

	folder->fd = -1;
	if (err)
		return err;
	if (!o->folder && asprintf(&beside, "%s.nodes", o->output) < 0)
		return -ENOMEM;
	folder->path = absolute(o->folder ?: beside);
	free(beside);
	if (!folder->path || asprintf(&folder->orders, "%s/%s", folder->path, PART_ORDERS) < 0) {
		folder->orders = NULL;
		return -ENOMEM;
	}
	err = folder_create(folder->path, &folder->caller);
	if (err == -EEXIST)
		log_error("%s: is there already, perhaps of an earlier run: remove it, or give another --folder",
			  log_safe(folder->path));
	else if (err)
		log_error("%s: cannot be made: %s: give a --folder that all nodes see", log_safe(folder->path),
			  strerror(-err));
	if (err) {
		free(folder->path);
		folder->path = NULL; /* not ours */
		return err;
	}
	folder->fd = file_create_new(folder->orders, &folder->caller);
	return folder->fd < 0 ? folder->fd : 0;
}

static void remove_file(const struct folder *folder, const char *path)
{
	struct stat there;

	if (!lstat(path, &there))
		file_remove_same(path, &folder->caller, &there);
}

static char *recording_of(const struct folder *folder, const struct node *node)
{
	char *path;

	return asprintf(&path, "%s/%s.gasp", folder->path, node->heard ? node->last.node : node->name) < 0 ? NULL : path;
}

/* Nothing but what nodes have put there is removed. */
static void folder_clear(const struct folder *folder, const struct nodes *nodes)
{
	for (size_t i = 0; nodes->list && i < nodes->hosts.count; i++) {
		char *path = recording_of(folder, &nodes->list[i]);

		if (path)
			remove_file(folder, path);
		free(path);
	}
	remove_file(folder, folder->orders);
	if (folder_remove(folder->path, &folder->caller))
		log_warn("%s: is not empty, and stays", log_safe(folder->path));
}

static void folder_close(struct folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
	free(folder->orders);
	caller_free(&folder->caller);
}

/* --- the command on each node -------------------------------------------------- */

static int own_program(char **path)
{
	char text[4096];
	ssize_t n = readlink("/proc/self/exe", text, sizeof(text) - 1);

	if (n < 0) {
		log_error("where gaspbpf itself is cannot be told: say --program PATH");
		return -errno;
	}
	text[n] = 0;
	*path = strdup(text);
	return *path ? 0 : -ENOMEM;
}

static int start(struct nodes *nodes, const struct options *o, const struct folder *folder)
{
	struct text_list words = { 0 };
	char *program = NULL;
	int err = o->program ? 0 : own_program(&program);
	char *const all[] = { o->sudo ? "sudo" : NULL, o->sudo ? "-n" : NULL, program ?: (char *)o->program, "record",
			      "--part-of", folder->path, nodes->job ? "--slurm-job" : NULL, nodes->job };

	for (size_t i = 0; !err && i < sizeof(all) / sizeof(all[0]); i++)
		err = all[i] ? cli_append(&words, all[i]) : 0;
	for (char **more = o->more; !err && more && *more; more++)
		err = cli_append(&words, *more);
	err = err ?: cli_append(&words, NULL);
	if (!err)
		err = nodes_start(nodes, words.items);
	free(words.items);
	free(program);
	return err;
}

/* --- the result ------------------------------------------------------------------ */

static int merge_all(const struct options *o, const struct folder *folder, const struct nodes *nodes, int stop)
{
	struct merge_options options = { .name = o->output, .stop = stop };
	int err = 0;

	options.paths = calloc(nodes->hosts.count + 1, sizeof(*options.paths));
	for (size_t i = 0; options.paths && i < nodes->hosts.count; i++) {
		char *path = recording_of(folder, &nodes->list[i]);
		struct stat there;

		if (path && !stat(path, &there) && there.st_size)
			options.paths[options.npaths++] = path;
		else
			free(path);
	}
	if (!options.paths)
		err = -ENOMEM;
	else if (!options.npaths) {
		log_error("no node has recorded anything: see above");
		err = -ENODATA;
	} else
		err = merge_into_file(&options, &folder->caller);
	for (size_t i = 0; i < options.npaths; i++)
		free(options.paths[i]);
	free(options.paths);
	return err;
}

static int print_report(const struct options *o)
{
	char name[] = "gaspbpf report", json[] = "--json", end[] = "--";
	char *argv[] = { name, end, (char *)o->output, NULL }, *as_json[] = { name, json, end, (char *)o->output, NULL };

	if (o->quiet)
		return 0;
	return o->json ? command_report(4, as_json) : command_report(3, argv);
}

static int observe(const struct options *o, struct nodes *nodes, struct folder *folder)
{
	struct job_watch watch = { .nodes = nodes,
				   .orders = folder->fd,
				   .duration = o->duration,
				   .patience = o->patience,
				   .quiet = o->quiet };
	int err = start(nodes, o, folder);

	watch.signals = cli_block_signals(0);
	err = err ?: watch.signals < 0 ? watch.signals : job_watch(&watch);
	if (!err)
		err = merge_all(o, folder, nodes, watch.signals);
	if (watch.signals >= 0)
		close(watch.signals);
	return err;
}

static int find(struct nodes *nodes, const struct options *o)
{
	int err = o->hostfile ? hosts_read(&nodes->hosts, o->hostfile) : 0;

	for (size_t i = 0; !err && i < o->hosts.count; i++)
		err = hosts_add(&nodes->hosts, o->hosts.items[i]);
	return err ?: nodes_find(nodes, o->slurm, o->by);
}

int command_job(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "[-- OPTIONS OF RECORD...]", about, NULL, NULL, NULL };
	struct options o = { .patience = 30000000000 };
	struct nodes nodes = { 0 };
	struct folder folder = { .fd = -1 };
	int err, status;

	cli_parse(&argp, argc, argv, &o);
	err = find(&nodes, &o) ?: folder_open(&folder, &o);
	if (!err)
		err = observe(&o, &nodes, &folder);
	if (folder.path && !o.keep && (!err || !nodes_in(&nodes, PART_OBSERVING)))
		folder_clear(&folder, &nodes);
	else if (folder.path)
		log_warn("%s: the nodes' recordings are kept there", log_safe(folder.path));
	nodes_free(&nodes);
	folder_close(&folder);
	free(o.hosts.items);
	if (err == -EINTR) {
		log_error("job: interrupted: %s was not written", log_safe(o.output));
		return STATUS_INTERRUPTED;
	}
	status = cli_status("job", err);
	return status ?: print_report(&o);
}
