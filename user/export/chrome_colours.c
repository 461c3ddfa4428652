/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_colours.c - the colours of a Chrome trace ("cname"): a viewer has a fixed set of names, and chooses by the
 * event's name where there is none, or where it does not look at it. A name that it does not know ends its import: so
 * these are names that Catapult had in 2016 and still has.
 */
#include "export/chrome_colours.h"

#include "account/account.h"

static const char *const colours[GROUPS] = {
	[GROUP_COMPUTE] = "generic_work",             /* grey */
	[GROUP_BARRIER] = "terrible",                 /* red */
	[GROUP_WAIT] = "thread_state_iowait",         /* orange */
	[GROUP_LOCK] = "detailed_memory_dump",        /* magenta */
	[GROUP_DATA] = "rail_response",               /* blue */
	[GROUP_COLLECTIVE] = "thread_state_runnable", /* pale blue */
	[GROUP_TASK] = "good",                        /* green */
	[GROUP_ALLOC] = "cq_build_running",           /* yellow */
	[GROUP_IO] = "light_memory_dump",             /* dark blue */
	[GROUP_OTHER] = "cq_build_abandoned",         /* grey */
};

const char *chrome_colour(enum role role)
{
	return colours[group_of_role(role)];
}
