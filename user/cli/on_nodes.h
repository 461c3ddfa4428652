/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_nodes.h - the options by which nodes are chosen, and gaspbpf is started there: of 'job', 'stuck' and 'top'.
 */
#ifndef GASPBPF_CLI_ON_NODES_H
#define GASPBPF_CLI_ON_NODES_H

#include <argp.h>

#include "cli/cli.h"
#include "nodes/nodes.h"

struct on_nodes {
	const char *slurm, *hostfile, *by, *program;
	pid_t launcher; /* whose job is meant; 0: none was named */
	struct text_list hosts;
	char **more;       /* words of the command line behind --: options for each node's gaspbpf */
	uint64_t patience; /* ns; 0: as usual */
	bool sudo;
};

/* For argp's `children`; its input is a struct on_nodes. */
extern const struct argp on_nodes_parser;
/* Was any of them given that names nodes? */
bool on_nodes_wanted(const struct on_nodes *o);
/* The number of a launcher, as an option has it; a mistake ends the program. */
pid_t on_nodes_launcher(const char *option, const char *argument, struct argp_state *state);
/* Ends the program where the options contradict each other. */
void on_nodes_check(const struct on_nodes *o, struct argp_state *state);
/* 0 or -errno, said. */
int on_nodes_find(const struct on_nodes *o, struct nodes *nodes);
/* Starts gaspbpf with these words there (NULL ends them), and the options that choose the job's processes. 0 or -errno,
 * said. */
int on_nodes_start(const struct on_nodes *o, struct nodes *nodes, const char *const *words);
void on_nodes_free(struct on_nodes *o);

/* On a node, the other end: one of those that hand over what they find. */
struct own_node {
	bool on;
	const char *named; /* --node */
	char *node;
};

/* For argp's `children`; its input is a struct own_node. */
extern const struct argp own_node_parser;
/* 0 or -errno, said. */
int own_node_open(struct own_node *own);
void own_node_free(struct own_node *own);
/* What --node says, which ends the program where it is no name. */
const char *own_node_parse(const char *argument, struct argp_state *state);
/* The node's name, that or its own, to be freed; messages have it from now on. NULL: it has none, said. */
char *own_node_name(const char *named);

#endif
