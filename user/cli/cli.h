/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cli.h - one function a command, and what commands share.
 */
#ifndef GASPBPF_CLI_H
#define GASPBPF_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <argp.h>

#include "analysis/report.h"
#include "model/model.h"
#include "observe/identity.h"
#include "probe/probe.h"
#include "util/text.h"

/* Each takes the command's own arguments, argv[0] being "gaspbpf COMMAND". Exit status: 0, 1 error, 2 usage. */
int command_record(int argc, char **argv);
int command_top(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_report(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_export(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_job(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_list(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_control(int argc, char **argv);
int command_events(int argc, char **argv);
int command_monitor(int argc, char **argv);
int command_stuck(int argc, char **argv);

int cli_append(struct text_list *list, char *item);

/* Which processes, other than by their numbers: --comm, --cgroup, --slurm-job, --launched-from and --user. */
struct chooser {
	struct text_list comms, cgroups, jobs, launchers, users;
	uid_t *uids; /* of `users`; chooser_wanted() */
};
/* For argp's `children`; its input is a struct chooser. */
extern const struct argp chooser_parser;
bool chooser_is_empty(const struct chooser *chooser);
/* All that is asked for; it borrows from both. Users' names become numbers. 0 or -errno, said. */
int chooser_wanted(struct process_choice *wanted, struct chooser *chooser, const struct pid_list *pids);
/* A job's cgroup may come later; but a typing error should not watch nobody for months without a word. */
void chooser_look_for_cgroups(const struct chooser *chooser);
void chooser_free(struct chooser *chooser);

/* Which processes, models and functions: the options -p, -m, --model-file, -e, --placement and -v, which several
 * commands share. */
struct choice {
	struct pid_list pids;
	struct chooser who; /* empty for commands that have not these options */
	struct text_list model_files;
	struct text_list functions; /* -e: prototypes or bare names */
	char *models;               /* all -m, joined by commas; NULL: none */
	struct text_list builds;    /* --build: MODEL=BUILD */
	enum returns_wish returns;
	bool at_entry;               /* probes go to the first instruction */
	struct text_list asked;      /* -F: patterns of functions */
	struct selection *selection; /* of events; NULL: all */
	bool leave_near;             /* --profile */
	bool partial, local;         /* --profile-partial, --profile-local were given */
};
/* What the options wish for in a plan that is still empty. 0 or -errno, said. */
int cli_prepare_plan(struct plan *plan, const struct choice *choice);
/* A plan as the options want it. 0 or -errno, said. */
int cli_new_plan(struct plan **plan, const struct model_set *models, const struct choice *choice);
/* The options by which events are chosen (select.c), as a part of choice_parser. */
extern const struct argp selection_parser;
/* For argp's `children`; its input (state->child_inputs[0]) is a struct choice. */
extern const struct argp choice_parser;
void choice_free(struct choice *choice);
/* Does it name any process? */
bool choice_has_processes(const struct choice *choice);
/* For parsers with -p and a COMMAND: there must be one of both. Mistakes end the program, as argp's. */
void cli_need_processes(const struct choice *choice, char **command, struct argp_state *state);

/* The folder of the models: see below. The caller frees; NULL: no memory. */
char *cli_models_folder(void);
/*
 * The models of $GASPBPF_MODELS, else of models/ beside the program, else of the installed folder; then the
 * files of --model-file; then the functions of -e, as a model of their own that takes part. 0 or -errno, said.
 */
int cli_load_models(struct model_set **set, struct choice *choice);

/* A command about one recording: each argument becomes it, or is one too many; at the end there must be one. Mistakes
 * end the program, as argp's. */
void cli_take_recording(const char **recording, const char *argument, struct argp_state *state);
void cli_need_recording(const char *recording, struct argp_state *state);

/* For argp's help_filter: the text after the options, with a list behind it that is made by `print`. */
char *cli_help_with(int key, const char *text, void (*print)(FILE *out));

/* For argp's parsers: the answer to a mistake that has been said, which ends the program, or to -ENOMEM. */
error_t cli_refuse(int err);
/* argp_parse(), which ends the program at mistakes in the command line; and where it has no memory. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/*
 * The exit status of a command that has met this error, or 0. Out of memory is met in a hundred places, none of which
 * knows more than the others: who meets it hands it on, and it is said here, as is any other error of which nobody has
 * said anything; and that what was printed found no room.
 */
int cli_status(const char *command, int err);

/* May this process observe at all? 0 or -EPERM, said. */
int cli_need_rights(void);

/* Columns of the terminal on stdout, 0 when it is none; and whether colour is welcome there. */
unsigned cli_width(void);
bool cli_colour(void);

enum cli_colours { COLOURS_AUTO /* where colour is welcome */, COLOURS_ALWAYS, COLOURS_NEVER };

/* "auto", "always", "never", and what else ls takes for these. 0, or -1: it is none of them. */
int cli_parse_colours(const char *text, enum cli_colours *colours);
/* The width, colours, and whether there are bars: on a terminal, and in letters that it knows. */
void cli_style(struct report_style *style, enum cli_colours colours);

/* SIGINT, SIGTERM, `more` (0: none) and, but under nohup, SIGHUP come by the descriptor that is returned from now on.
 * Or -errno. */
int cli_block_signals(int more);

#endif
