/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c - gaspbpf job: a job on many nodes, as one recording.
 *
 * On each node 'gaspbpf record --part-of FOLDER' is started by the site's own means (user/nodes). Each puts its probes
 * in and says that it is ready; then all are told one time at which to begin, and one at which to end, by
 * CLOCK_REALTIME. Their recordings come into the folder, and are merged. Nothing here needs rights: those on the nodes
 * do.
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
#include "cli/on_nodes.h"
#include "cli/outputs.h"
#include "cli/reached.h"
#include "nodes/nodes.h"
#include "util/format.h"
#include "util/log.h"

struct options {
	struct on_nodes where;
	const char *output, *folder;
	uint64_t duration;
	bool json, quiet, keep, collect;
	const char *reached, *node; /* as one of several nodes: it is asked */
};

enum { OPTION_FOLDER = 256, OPTION_KEEP, OPTION_COLLECT, OPTION_JSON, OPTION_REACHED, OPTION_NODE };

static const struct argp_option option_list[] = {
	{ "pid", 'p', "PID", 0, "As --launcher", 4 },
	{ "output", 'o', "FILE.gasp", 0, "Where the recording of all goes", 1 },
	{ "duration", 'd', "TIME", 0, "Observe for TIME: 30 (seconds), 500ms, 2m; else until ^C or the end of the job",
	  1 },
	{ "folder", OPTION_FOLDER, "DIR", 0,
	  "A new folder that all nodes see under this name, for their recordings (default: FILE.gasp.nodes)", 1 },
	{ "collect", OPTION_COLLECT, NULL, 0,
	  "Nodes send their recordings at the end, by what has started them; else only those that do not see the folder do",
	  1 },
	{ "keep", OPTION_KEEP, NULL, 0, "Keep that folder", 1 },
	{ "json", OPTION_JSON, NULL, 0, "Print the report as JSON", 2 },
	{ "quiet", 'q', NULL, 0, "No live line, no report", 2 },
	{ "reached", OPTION_REACHED, "HOST:PORT", 0,
	  "As one of several nodes: on which others daemons of this launcher have started some from here; it is started so "
	  "with -p",
	  5 },
	{ "node", OPTION_NODE, "NAME", 0, "With --reached: this node's name, where it is not the host's", 5 },
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
	"  gaspbpf job -p $(pgrep -o srun) -d 30s -o run.gasp\n"
	"  gaspbpf report run.gasp --by node\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->where;
		return 0;
	case 'p':
		o->where.launcher = on_nodes_launcher("-p", argument, state);
		return 0;
	case 'o':
		output_check_recording(state, argument);
		o->output = argument;
		return 0;
	case 'd':
		if (parse_time(argument, &o->duration) || !o->duration)
			argp_error(state, "-d %s: not a time: use 30, 500ms, 2m", log_safe(argument));
		return 0;
	case OPTION_FOLDER:
		o->folder = argument;
		return 0;
	case OPTION_COLLECT:
		o->collect = true;
		return 0;
	case OPTION_KEEP:
		o->keep = true;
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPTION_REACHED:
		o->reached = argument;
		return 0;
	case OPTION_NODE:
		o->node = own_node_parse(argument, state);
		return 0;
	case ARGP_KEY_ARGS:
		o->where.more = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (o->node && !o->reached)
			argp_error(state, "--node goes with --reached");
		if (o->reached)
			return 0;
		if (!on_nodes_wanted(&o->where))
			argp_error(
				state,
				"which job? for example: --slurm 4711, -p PID of its launcher, or --hosts n[1-16] -- --comm solver");
		on_nodes_check(&o->where, state);
		if (!o->output)
			argp_error(state, "where to? say -o run.gasp, for example");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &on_nodes_parser, 0, NULL, 0 }, { 0 } };

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

	return asprintf(&path, "%s/%s.gasp", folder->path, node->heard ? node->last.node : node->name) < 0 ? NULL
													   : path;
}

static bool is_recorded(const void *folder, const struct node *node)
{
	char *path = recording_of(folder, node);
	struct stat there;
	bool is = path && !stat(path, &there) && there.st_size;

	free(path);
	return is;
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

/* --- the result ------------------------------------------------------------------ */

/* A recording, if there is one. Where a node is lost, that was said. 0 or -ENOMEM. */
static int add_recording(struct merge_options *options, const struct folder *folder, const struct node *node)
{
	char *path = recording_of(folder, node);

	if (!path)
		return -ENOMEM;
	if (is_recorded(folder, node)) {
		options->paths[options->npaths++] = path;
		return 0;
	}
	if (!node->lost)
		log_warn("%s: it is not in the result: there is no %s", node->name, log_safe(path));
	free(path);
	return 0;
}

static int merge_all(const struct options *o, const struct folder *folder, const struct nodes *nodes, int stop)
{
	struct merge_options options = { .name = o->output, .stop = stop };
	int err = 0;

	options.paths = calloc(nodes->hosts.count + 1, sizeof(*options.paths));
	for (size_t i = 0; options.paths && !err && i < nodes->hosts.count; i++)
		err = add_recording(&options, folder, &nodes->list[i]);
	if (!options.paths)
		err = -ENOMEM;
	else if (!err && !options.npaths) {
		log_error("no node has recorded anything: see above");
		err = -ENODATA;
	} else if (!err)
		err = merge_into_file(&options, &folder->caller);
	for (size_t i = 0; i < options.npaths; i++)
		free(options.paths[i]);
	free(options.paths);
	return err;
}

static int print_report(const struct options *o)
{
	char name[] = "gaspbpf report", json[] = "--json", end[] = "--";
	char *argv[] = { name, end, (char *)o->output, NULL },
	     *as_json[] = { name, json, end, (char *)o->output, NULL };

	if (o->quiet)
		return 0;
	return o->json ? command_report(4, as_json) : command_report(3, argv);
}

/* --- recordings that nodes send ---------------------------------------------------- */

struct collected {
	const struct folder *folder;
	const struct nodes *nodes;
	FILE **files; /* by node; NULL: none */
};

static FILE *open_file(const struct folder *folder, const struct node *node)
{
	char *path = recording_of(folder, node);
	int fd = path ? file_create_new(path, &folder->caller) : -ENOMEM;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		log_error("%s: cannot be written: %s", log_safe(path ?: node->name), strerror(fd < 0 ? -fd : errno));
	if (!file && fd >= 0)
		close(fd);
	free(path);
	return file;
}

static int say_unwritten(const struct node *node)
{
	int err = errno ? -errno : -EIO;

	log_error("%s: its recording cannot be written: %s: give a --folder with space", node->name, strerror(-err));
	return err;
}

static int take_recording(void *context, struct node *node, const void *data, size_t size)
{
	struct collected *c = context;
	size_t number = node - c->nodes->list;

	if (!c->files)
		c->files = calloc(c->nodes->hosts.count, sizeof(FILE *));
	if (!c->files)
		return -ENOMEM;
	if (!c->files[number])
		c->files[number] = open_file(c->folder, node);
	if (!c->files[number])
		return -EIO;
	return fwrite(data, 1, size, c->files[number]) == size ? 0 : say_unwritten(node);
}

static int collected_close(struct collected *c)
{
	int err = 0;

	for (size_t i = 0; c->files && i < c->nodes->hosts.count; i++)
		if (c->files[i] && fclose(c->files[i]))
			err = say_unwritten(&c->nodes->list[i]);
	free(c->files);
	return err;
}

static int observe(const struct options *o, struct nodes *nodes, struct folder *folder)
{
	struct job_watch watch = { .nodes = nodes,
				   .orders = folder->fd,
				   .duration = o->duration,
				   .quiet = o->quiet,
				   .recorded = is_recorded,
				   .context = folder };
	const char *how = o->collect ? "--collect" : nodes_take_orders(nodes) ? NULL : "--no-collect";
	const char *const words[] = { "record", "--part-of", folder->path, how, NULL };
	struct collected collected = { .folder = folder, .nodes = nodes };
	int err;

	nodes->orders = true;
	nodes->take = take_recording;
	nodes->context = &collected;
	err = on_nodes_start(&o->where, nodes, words);
	watch.signals = cli_block_signals(0);
	err = err ?: watch.signals < 0 ? watch.signals : job_watch(&watch);
	if (err)
		nodes_give_up(nodes); /* what they send still comes here */
	err = collected_close(&collected) ?: err;
	if (!err)
		err = merge_all(o, folder, nodes, watch.signals);
	if (watch.signals >= 0)
		close(watch.signals);
	return err;
}

static int check_means(const struct options *o, const struct nodes *nodes)
{
	if (!o->collect || nodes_take_orders(nodes))
		return 0;
	log_error("--collect: what would start gaspbpf there brings no orders: take another one: --by clush, --by ssh");
	return -EINVAL;
}

int command_job(int argc, char **argv)
{
	static const struct argp argp = {
		option_list, parse, "[-- OPTIONS OF RECORD...]", about, children, NULL, NULL
	};
	struct options o = { 0 };
	struct nodes nodes = { 0 };
	struct folder folder = { .fd = -1 };
	int err, status;

	cli_parse(&argp, argc, argv, &o);
	if (o.reached)
		return reached_tell(o.reached, o.node);
	err = on_nodes_find(&o.where, &nodes) ?: check_means(&o, &nodes) ?: folder_open(&folder, &o);
	if (!err)
		err = observe(&o, &nodes, &folder);
	if (folder.path && !o.keep && (!err || !nodes_in(&nodes, PART_OBSERVING)))
		folder_clear(&folder, &nodes);
	else if (folder.path)
		log_warn("%s: the nodes' recordings are kept there", log_safe(folder.path));
	nodes_free(&nodes);
	folder_close(&folder);
	on_nodes_free(&o.where);
	if (err == -EINTR) {
		log_error("job: interrupted: %s was not written", log_safe(o.output));
		return STATUS_INTERRUPTED;
	}
	status = cli_status("job", err);
	return status ?: print_report(&o);
}
