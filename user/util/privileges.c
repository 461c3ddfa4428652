/*
 * privileges.c - giving them up, before code runs that is not gaspbpf's.
 */
#include "util/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool drop_bounding_set(void)
{
	for (unsigned long capability = 0;; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			return errno == EINVAL && capability > 0; /* after the last one */
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* before Linux 4.3 there is none */
	return !syscall(SYS_capset, &header, none);
}

bool give_up_privileges(const struct caller *caller)
{
	bool root = !geteuid();

	if (root && !drop_bounding_set())
		return false;
	/* User 0 has nothing for being user 0 any more. */
	if (root && prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED, 0, 0, 0))
		return false;
	if (root && caller->uid && ((caller->name ? initgroups(caller->name, caller->gid) : setgroups(0, NULL)) ||
				    setresgid(caller->gid, caller->gid, caller->gid) || setresuid(caller->uid, caller->uid, caller->uid)))
		return false;
	return drop_capabilities() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
