/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - gaspbpf replay: tells tool libraries what a recording holds.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/tools.h"
#include "util/files.h"
#include "util/log.h"

struct options {
	const char *recording;
	struct tools tools;
	bool quiet;
};

static const struct argp_option option_list[] = { { "quiet", 'q', NULL, 0, "Do not say how much was told", 0 }, { 0 } };

static const char about[] =
	"Tells tool libraries what a recording holds, as if they had been linked into the job: all events in the "
	"order of time, with their "
	"arguments and source lines. ^C ends it in good order, a second one at once."
	"\vExamples:\n"
	"  gaspbpf replay run.gasp --tool ./mytracer.so\n"
	"  gaspbpf replay run.gasp --tool ./ppw.so --gasp-ids=bupc --tool-threads=each\n"
	"\ndocs/tools.md shows how to write one.\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->tools;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		cli_take_recording(&o->recording, argument, state);
		return 0;
	case ARGP_KEY_END:
		cli_need_recording(o->recording, state);
		if (!o->tools.libraries.count)
			argp_error(state, "to which tool? say --tool ./mytool.so, for example");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int replay(struct options *o, struct recording *recording, const struct caller *caller)
{
	int stop = catch_signals();
	int err = tools_start(&o->tools, caller, STDOUT_FILENO);

	/* One after the other: each has the recording to itself. */
	for (size_t i = 0; i < o->tools.count && !err; i++)
		err = tool_replay(o->tools.started[i], recording, stop);
	if (!err)
		err = tools_finish(&o->tools, stop, o->quiet);
	close(stop);
	return err;
}

int command_replay(int argc, char **argv)
{
	static const struct argp_child children[] = { { &tools_parser, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { option_list, parse, "REC.gasp --tool LIBRARY", about, children, NULL, NULL };
	struct options o = { 0 };
	struct recording *recording;
	struct caller caller;
	int err = 1;

	cli_parse(&argp, argc, argv, &o);
	if (!recording_open(&recording, o.recording)) {
		if (recording_has_calls(recording, o.recording) && !caller_find(&caller)) {
			err = replay(&o, recording, &caller);
			caller_free(&caller);
		}
		recording_close(recording);
	}
	tools_free(&o.tools);
	return cli_status("replay", err);
}
