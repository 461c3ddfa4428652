/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/on_nodes.h"
#include "cli/reached.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/format.h"
#include "util/log.h"

#define PATIENCE_NS 30000000000ULL

enum {
	OPTION_SLURM = 460,
	OPTION_LAUNCHER,
	OPTION_HOSTS,
	OPTION_HOSTFILE,
	OPTION_BY,
	OPTION_PROGRAM,
	OPTION_SUDO,
	OPTION_PATIENCE
};

static const struct argp_option option_table[] = {
	{ "slurm", OPTION_SLURM, "JOBID", 0, "The job of this number, on all of its nodes (docs/cluster.md)", 4 },
	{ "launcher", OPTION_LAUNCHER, "PID", 0,
	  "The job of this launcher (srun, mpirun, mpiexec), which runs on this machine: on all nodes that it has reached",
	  4 },
	{ "hosts", OPTION_HOSTS, "LIST", 0,
	  "These nodes: n[1-16],login2; may repeat. Which processes there: options behind --, as in -- --comm solver",
	  4 },
	{ "hostfile", OPTION_HOSTFILE, "FILE", 0, "Nodes from a file, one on a line, as mpiexec has it", 4 },
	{ "by", OPTION_BY, "PROGRAM", 0,
	  "What starts gaspbpf on the nodes: srun (with --slurm), clush, pdsh, ssh or mpiexec; else the first of them "
	  "that is installed",
	  4 },
	{ "program", OPTION_PROGRAM, "PATH", 0, "gaspbpf on the nodes, where it is not at this one's own path", 4 },
	{ "sudo", OPTION_SUDO, NULL, 0, "Start it there by 'sudo -n'", 4 },
	{ "patience", OPTION_PATIENCE, "TIME", 0,
	  "So long the others wait for a node that does not answer, at the start and at the end (default 30s)", 4 },
	{ 0 }
};

pid_t on_nodes_launcher(const char *option, const char *argument, struct argp_state *state)
{
	char *end;
	long pid = strtol(argument, &end, 10);

	if (*end || end == argument || pid < 1 || pid > INT32_MAX)
		argp_error(state, "%s %s: not a process id: one number, of a launcher", option, log_safe(argument));
	return (pid_t)pid;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct on_nodes *o = state->input;

	switch (key) {
	case OPTION_SLURM:
		o->slurm = argument;
		return 0;
	case OPTION_LAUNCHER:
		o->launcher = on_nodes_launcher("--launcher", argument, state);
		return 0;
	case OPTION_HOSTS:
		return -cli_append(&o->hosts, argument);
	case OPTION_HOSTFILE:
		o->hostfile = argument;
		return 0;
	case OPTION_BY:
		o->by = argument;
		return 0;
	case OPTION_PROGRAM:
		o->program = argument;
		return 0;
	case OPTION_SUDO:
		o->sudo = true;
		return 0;
	case OPTION_PATIENCE:
		if (parse_time(argument, &o->patience) || !o->patience)
			argp_error(state, "--patience %s: not a time: use 30, 500ms, 2m", log_safe(argument));
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp on_nodes_parser = { option_table, parse, NULL, NULL, NULL, NULL, NULL };

bool on_nodes_wanted(const struct on_nodes *o)
{
	return o->slurm || o->launcher || o->hosts.count || o->hostfile;
}

void on_nodes_check(const struct on_nodes *o, struct argp_state *state)
{
	bool listed = o->hosts.count || o->hostfile;

	if ((o->slurm || o->launcher) && listed)
		argp_error(state, "the job's nodes are known: leave --hosts and --hostfile out");
	if (o->slurm && o->launcher)
		argp_error(state, "--slurm and a launcher both say which job: leave one out");
	if (listed && !o->more)
		argp_error(state, "which processes on these hosts? options behind -- say it: -- --comm solver, "
				  "-- --user NAME, -- --job ID");
	if (o->more && **o->more != '-')
		argp_error(state, "what is '%s'? options for each node's gaspbpf stand behind --", log_safe(*o->more));
}

/* --- a launcher ------------------------------------------------------------------ */

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

static int ask_launcher(struct launched *launched, pid_t launcher)
{
	struct model_set *models = NULL;
	struct choice every = { 0 };
	int err = cli_load_models(&models, &every);
	const char **variables = err ? NULL : plan_rank_variables(models);

	if (!err)
		err = variables ? launched_find(launched, launcher, variables) : -ENOMEM;
	free(variables);
	models_free(models);
	return err;
}

/* The hosts that it has reached; and this one behind them, if it has ranks here. */
static int take_launched(struct nodes *nodes, pid_t launcher)
{
	const struct launched *launched = &nodes->launched;
	size_t away = launched->hosts.count;
	char *own = launched->nhere ? part_own_name() : NULL;
	int err = 0;

	for (size_t i = 0; !err && i < away; i++)
		err = hosts_add(&nodes->hosts, launched->hosts.names[i]);
	if (!err && own)
		err = hosts_add(&nodes->hosts, own);
	nodes->here = !err && nodes->hosts.count > away;
	if (!err && launched->nhere && !own)
		log_warn("-p %d: its ranks on this machine are left out: it has no name that a file can have",
			 launcher);
	if (!err)
		fprintf(stderr, "gaspbpf: -p %d: has reached %zu node%s%s\n", launcher, away, plural(away),
			nodes->here ? ", and has ranks here" : "");
	free(own);
	return err;
}

/* *job: of a resource manager; NULL: it has reached its nodes by itself. */
static int find_launched(const struct on_nodes *o, struct nodes *nodes, char **job)
{
	pid_t launcher = o->launcher;
	char *program = NULL;
	int err = nodes_job_around(launcher, job);

	if (err || *job)
		return err;
	err = ask_launcher(&nodes->launched, launcher);
	if (err || !nodes->launched.hosts.count)
		return err ?: nodes_job_of(launcher, job);
	err = o->program ? 0 : own_program(&program);
	err = err ?: reached_ask(&nodes->launched.hosts, nodes->launched.answer, o->by, o->program ?: program);
	free(program);
	return err ?: take_launched(nodes, launcher);
}

int on_nodes_find(const struct on_nodes *o, struct nodes *nodes)
{
	char *job = NULL;
	int err = o->hostfile ? hosts_read(&nodes->hosts, o->hostfile) : 0;

	for (size_t i = 0; !err && i < o->hosts.count; i++)
		err = hosts_add(&nodes->hosts, o->hosts.items[i]);
	nodes->patience = o->patience ?: PATIENCE_NS;
	if (!err && o->launcher)
		err = find_launched(o, nodes, &job);
	err = err ?: nodes_find(nodes, job ?: o->slurm, o->by);
	free(job);
	return err;
}

static int add(struct text_list *list, const char *word)
{
	return word ? cli_append(list, (char *)word) : 0;
}

/* The ranks on this machine, as -p has them; malloc'ed. */
static char *list_pids(const struct launched *launched)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < launched->nhere; i++)
		fprintf(out, "%s%d", i ? "," : "", launched->here[i]);
	if (!out || fclose(out))
		return NULL;
	return text;
}

/* Which processes: all that is known of the job. *pids: to be freed when the words are. */
static int add_who(struct text_list *all, const struct nodes *nodes, bool here, char **pids)
{
	if (nodes->job)
		return add(all, "--slurm-job") ?: add(all, nodes->job);
	if (!nodes->launched.answer)
		return 0;
	if (!here)
		return add(all, "--launched-from") ?: add(all, nodes->launched.answer);
	*pids = list_pids(&nodes->launched);
	return *pids ? add(all, "-p") ?: add(all, *pids) : -ENOMEM;
}

static int add_all(struct text_list *all, const struct on_nodes *o, const struct nodes *nodes, const char *program,
		   const char *const *words, bool here, char **pids)
{
	int err = o->sudo ? add(all, "sudo") ?: add(all, "-n") : 0;

	err = err ?: add(all, program);
	for (; !err && *words; words++)
		err = add(all, *words);
	err = err ?: add_who(all, nodes, here, pids);
	for (char **more = o->more; !err && more && *more; more++)
		err = add(all, *more);
	return err ?: cli_append(all, NULL);
}

int on_nodes_start(const struct on_nodes *o, struct nodes *nodes, const char *const *words)
{
	struct text_list away = { 0 }, here = { 0 };
	char *program = NULL, *pids = NULL;
	int err = o->program && !nodes->here ? 0 : own_program(&program);

	err = err ?: add_all(&away, o, nodes, o->program ?: program, words, false, &pids);
	if (!err && nodes->here)
		err = add_all(&here, o, nodes, program, words, true, &pids);
	if (!err)
		err = nodes_start(nodes, away.items, here.items);
	free(away.items);
	free(here.items);
	free(program);
	free(pids);
	return err;
}

void on_nodes_free(struct on_nodes *o)
{
	free(o->hosts.items);
}

const char *own_node_parse(const char *argument, struct argp_state *state)
{
	if (!part_name_is_fit(argument))
		argp_error(state, "--node %s: letters, digits, '.', '_' and '-' are a name", log_safe(argument));
	return argument;
}

char *own_node_name(const char *named)
{
	char *name = named ? strdup(named) : part_own_name();

	if (name)
		log_set_name(name);
	else
		log_error("this node has no name that a file can have: give it one: --node NAME");
	return name;
}

/* --- one of the nodes ------------------------------------------------------------ */

enum { OPTION_HAND_OVER = 480, OPTION_NODE };

static const struct argp_option own_options[] = {
	{ "hand-over", OPTION_HAND_OVER, NULL, 0,
	  "As one of several nodes: it is started so with --slurm or --hosts, and what all of them have found is joined",
	  5 },
	{ "node", OPTION_NODE, "NAME", 0, "With --hand-over: this node's name, where it is not the host's", 5 },
	{ 0 }
};

static error_t parse_own(int key, char *argument, struct argp_state *state)
{
	struct own_node *own = state->input;

	switch (key) {
	case OPTION_HAND_OVER:
		own->on = true;
		return 0;
	case OPTION_NODE:
		own->named = own_node_parse(argument, state);
		return 0;
	case ARGP_KEY_END:
		if (own->named && !own->on)
			argp_error(state, "--node goes with --hand-over");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp own_node_parser = { own_options, parse_own, NULL, NULL, NULL, NULL, NULL };

int own_node_open(struct own_node *own)
{
	if (!own->on)
		return 0;
	own->node = own_node_name(own->named);
	return own->node ? 0 : -EINVAL;
}

void own_node_free(struct own_node *own)
{
	log_set_name(NULL);
	free(own->node);
}
