/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - which command. 'record' may be left out: gaspbpf -p PID.
 */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "target/target.h"
#include "util/files.h"
#include "util/log.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "record", command_record, "join a running job, report, record ('record' may be left out)" },
	{ "top", command_top, "what a job is doing now, on a live screen" },
	{ "watch", command_watch, "the same on a page in a browser" },
	{ "report", command_report, "profile and findings of a recording" },
	{ "compare", command_compare, "what differs between runs, and is it more than chance; scaling series" },
	{ "export", command_export, "a recording in another format: a page, Chrome trace, Parquet table ..." },
	{ "merge", command_merge, "the recordings of several nodes as one, their clocks set by each other" },
	{ "job", command_job, "a job on many nodes: observed on all of them at once, as one recording" },
	{ "replay", command_replay, "tell a GASP or PUPC tool library what a recording holds" },
	{ "simulate", command_simulate,
	  "replay a recording with other times: another network, no locks, your own plug-in" },
	{ "monitor", command_monitor, "count the events of all jobs of a machine, or of some, for months" },
	{ "list", command_list, "what could be observed in a process or file, and what could not" },
	{ "events", command_events, "every event with its number, types and arguments; where tests have seen it" },
	{ "control", command_control, "switch measurement of an observed process off and on" },
	{ "stuck", command_stuck, "who waits, for what, since when: deadlocks, missing ranks, held locks" },
	{ "doctor", command_doctor, "what this kernel, these privileges and a target allow" },
};

static int help(FILE *out)
{
	fputs("Usage: gaspbpf [record] -p PID[,PID...] [-o FILE]...\n"
	      "       gaspbpf [record] [-o FILE]... -- COMMAND...\n"
	      "       gaspbpf COMMAND [OPTION...]\n"
	      "Join a running parallel job and see its GASP events.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\nExamples:\n"
	      "  sudo gaspbpf -p 4242                         report at ^C or at the end of process 4242\n"
	      "  sudo gaspbpf -p 4242 -d 10s                  for ten seconds; a launcher's PID means all its ranks\n"
	      "  sudo gaspbpf -p 4242 -o run.gasp -o run.json record, and a trace for ui.perfetto.dev\n"
	      "  sudo gaspbpf -- ./job 64                     start a job and miss nothing of it\n"
	      "\n'gaspbpf COMMAND --help' tells more; 'gaspbpf record --help' has the options of the main job.\n",
	      out);
	return out == stderr ? 2 : 0;
}

static void ignore(int signal)
{
}

/*
 * Writing into a pipe that nobody reads, and beyond the limit on the size of files (ulimit -f), are errors like others.
 * By a handler: it does not pass on to a command that is started.
 */
static void outlive_writing(void)
{
	static const int signals[] = { SIGPIPE, SIGXFSZ };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signal(signals[i], ignore) == SIG_IGN)
			signal(signals[i], SIG_IGN);
}

int main(int argc, char **argv)
{
	static char name[64], own[] = "gaspbpf";

	if (reader_asked(argv[0]))
		return reader_serve(argc > 1 ? argv[1] : NULL);
	argp_err_exit_status = 2;
	argp_program_version = "gaspbpf " GASPBPF_VERSION;
	outlive_writing();
	if (!caller_stack_is_not_ours())
		return 1;
	if (argc < 2)
		return help(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(stdout);
	if (argv[1][0] == '-') {
		argv[0] = own; /* what getopt puts before its messages */
		return command_record(argc, argv);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "gaspbpf %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	log_error("%s: no such command: 'gaspbpf --help' names them; to start a program use 'gaspbpf -- %s'",
		  log_safe(argv[1]), log_safe(argv[1]));
	return 2;
}
