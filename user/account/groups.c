/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * groups.c - what the time of a call is for, by the role that its model gives the function.
 */
#include "account/account.h"

static const struct {
	enum group group;
	bool waits; /* for others to come, to let go, or to be done */
} of_role[ROLES] = {
	[ROLE_BARRIER] = { GROUP_BARRIER, true }, [ROLE_NOTIFY] = { GROUP_BARRIER, true },
	[ROLE_WAIT] = { GROUP_WAIT, true },       [ROLE_FENCE] = { GROUP_WAIT, false },
	[ROLE_TEST] = { GROUP_WAIT, false },      [ROLE_ACQUIRE] = { GROUP_LOCK, true },
	[ROLE_TRY] = { GROUP_LOCK, false },       [ROLE_RELEASE] = { GROUP_LOCK, false },
	[ROLE_GET] = { GROUP_DATA, false },       [ROLE_PUT] = { GROUP_DATA, false },
	[ROLE_COPY] = { GROUP_DATA, false },      [ROLE_SET] = { GROUP_DATA, false },
	[ROLE_SEND] = { GROUP_DATA, false },      [ROLE_RECV] = { GROUP_DATA, false },
	[ROLE_EXCHANGE] = { GROUP_DATA, false },  [ROLE_TRANSFER] = { GROUP_DATA, false },
	[ROLE_ATOMIC] = { GROUP_DATA, false },    [ROLE_COLLECTIVE] = { GROUP_COLLECTIVE, true },
	[ROLE_TASK] = { GROUP_TASK, false },      [ROLE_ALLOC] = { GROUP_ALLOC, false },
	[ROLE_REALLOC] = { GROUP_ALLOC, false },  [ROLE_FREE] = { GROUP_ALLOC, false },
	[ROLE_READ] = { GROUP_IO, false },        [ROLE_WRITE] = { GROUP_IO, false },
	[ROLE_IO] = { GROUP_IO, false },
};

enum group group_of_role(enum role role)
{
	/* A role that is not in the table is of no group of its own. */
	return role < ROLES && of_role[role].group ? of_role[role].group : GROUP_OTHER;
}

const char *group_name(enum group group)
{
	static const char *const names[GROUPS] = { "compute",    "barrier", "wait",  "lock", "data",
						   "collective", "task",    "alloc", "io",   "other" };

	return group < GROUPS ? names[group] : "?";
}

uint64_t group_roles(enum group group)
{
	uint64_t roles = 0;

	for (int role = 0; role < ROLES; role++)
		if (group_of_role(role) == group)
			roles |= 1ull << role;
	return roles;
}

uint64_t roles_that_wait(void)
{
	uint64_t roles = 0;

	for (int role = 0; role < ROLES; role++)
		if (of_role[role].waits)
			roles |= 1ull << role;
	return roles;
}
