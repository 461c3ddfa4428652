/* SPDX-License-Identifier: BSD-2-Clause */
/* select.c - the options of GASP's and PUPC's compilers by which events are chosen, and -F. */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "util/log.h"

enum { OPTION_PROFILE = 400, OPTION_LOCAL, OPTION_ONLY, OPTION_PARTIAL, OPTION_EXCLUDE };

static const struct argp_option options[] = {
	{ "functions", 'F', "PATTERN", 0,
	  "Observe the program's functions of these names ('solve*'), as GASP_C_FUNC; of a library: "
	  "'libsolver.so*:solve*'; of C++ as people write them: 'grid::solve*'; may repeat",
	  2 },
	{ "profile", OPTION_PROFILE, NULL, 0,
	  "All events but accesses to the part of the global address space that is the caller's own", 3 },
	{ "profile-local", OPTION_LOCAL, NULL, 0, "All events (the default)", 3 },
	{ "profile-only", OPTION_ONLY, "FILE", 0,
	  "Only events that FILE names, one on a line: GASP_UPC_MEMCPY, GASP_MPI_*", 3 },
	{ "profile-partial", OPTION_PARTIAL, "FILE", 0, "The same with PUPC's names: PUPC_MEMCPY; not with --profile",
	  3 },
	{ "exclude-functions", OPTION_EXCLUDE, "FILE", 0,
	  "Of the functions chosen by -F or -e, not those that FILE names, one on a line", 3 },
	{ 0 }
};

static int selection_wanted(struct choice *choice)
{
	choice->selection = choice->selection ?: selection_new();
	return choice->selection ? 0 : -ENOMEM;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct choice *choice = state->input;

	switch (key) {
	case 'F':
		return -cli_append(&choice->asked, argument);
	case OPTION_PROFILE:
		choice->leave_near = true;
		return 0;
	case OPTION_LOCAL:
		choice->local = true;
		return 0;
	case OPTION_ONLY:
	case OPTION_PARTIAL:
		choice->partial |= key == OPTION_PARTIAL;
		if (selection_wanted(choice))
			return ENOMEM;
		return cli_refuse(key == OPTION_PARTIAL ? selection_partial(choice->selection, argument)
							: selection_only(choice->selection, argument));
	case OPTION_EXCLUDE:
		if (selection_wanted(choice))
			return ENOMEM;
		return cli_refuse(selection_exclude(choice->selection, argument));
	case ARGP_KEY_END:
		if (choice->leave_near && choice->partial)
			argp_error(state, "--profile and --profile-partial exclude each other: use --profile with "
					  "--profile-only");
		if (choice->leave_near && choice->local)
			argp_error(state, "--profile and --profile-local exclude each other: give one of them");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp selection_parser = { options, parse, NULL, NULL, NULL, NULL, NULL };
