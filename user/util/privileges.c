/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privileges.c - having those that observing needs, and giving up the others.
 */
#include "util/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(capability) (1ULL << (capability))
/* Numbers that are given to no user, container or service anywhere (systemd's list of them ends below). */
#define NOBODYS 0x7fff0000u
#define NOBODYS_COUNT 0xfff0u
#define INITIAL_PID_NAMESPACE 4026531836UL /* PROC_PID_INIT_INO, fixed in the kernel */

static bool drop_bounding_set(uint64_t but)
{
	for (unsigned capability = 0;; capability++)
		if (!(capability < 64 && but >> capability & 1) &&
		    prctl(PR_CAPBSET_DROP, (unsigned long)capability, 0, 0, 0))
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

	if (root && !drop_bounding_set(0))
		return false;
	/* User 0 has nothing for being user 0 any more. */
	if (root && prctl(PR_SET_SECUREBITS,
			  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
				  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
			  0, 0, 0))
		return false;
	if (root && caller->uid &&
	    ((caller->name ? initgroups(caller->name, caller->gid) : setgroups(0, NULL)) ||
	     setresgid(caller->gid, caller->gid, caller->gid) || setresuid(caller->uid, caller->uid, caller->uid)))
		return false;
	return drop_capabilities() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool keep_privileges_back(void)
{
	return !geteuid() || drop_capabilities();
}

/* --- observing ---------------------------------------------------------- */

#define TO_OBSERVE (BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE))
/* Programs and libraries that only their owners can read, also those that were deleted (/proc/PID/map_files); files
 * written for who called sudo. */
#define TO_READ (BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SETUID) | BIT(CAP_SETGID))

static bool read_capabilities(uint64_t *effective, uint64_t *permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &header, data))
		return false;
	*effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	*permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return true;
}

static bool write_capabilities(uint64_t keep, uint64_t inheritable)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { (uint32_t)keep, (uint32_t)keep, (uint32_t)inheritable },
						  { (uint32_t)(keep >> 32), (uint32_t)(keep >> 32),
						    (uint32_t)(inheritable >> 32) } };

	return !syscall(SYS_capset, &header, data);
}

bool may_observe(void)
{
	uint64_t effective, permitted;

	return read_capabilities(&effective, &permitted) && (effective & TO_OBSERVE) == TO_OBSERVE;
}

bool may_administer(void)
{
	uint64_t effective, permitted;

	return read_capabilities(&effective, &permitted) && effective & BIT(CAP_SYS_ADMIN);
}

bool others_show(void)
{
	return !access("/proc/1/stat", F_OK);
}

bool inside_pid_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PID_NAMESPACE;
}

bool keep_privileges_to_observe(bool admin)
{
	uint64_t keep = TO_OBSERVE | TO_READ | (admin ? BIT(CAP_SYS_ADMIN) : 0), effective, permitted;

	if (!read_capabilities(&effective, &permitted))
		return false;
	if (effective & BIT(CAP_SETPCAP) && !drop_bounding_set(keep & permitted))
		return false;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* what it might start has none of this */
	return write_capabilities(keep & permitted, 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* --- observing without any ----------------------------------------------- */

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* Linux 6.2 */
#endif
#define CHANGING                                                                                        \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK)
#define CHANGING_MORE                                                                                 \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |  \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

static bool allow_below(int rules, const char *folder, uint64_t access)
{
	struct landlock_path_beneath_attr below = { .allowed_access = access };
	bool done;

	below.parent_fd = open(folder, O_PATH | O_CLOEXEC);
	if (below.parent_fd < 0)
		return errno == ENOENT;
	done = !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
	close(below.parent_fd);
	return done;
}

/* Files outside of these folders cannot be changed any more, nor any be executed. True also where the kernel cannot do
 * that. */
static bool change_only_below(const char *const folders[])
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t changing = CHANGING | (version >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0);
	struct landlock_ruleset_attr all = { .handled_access_fs = changing | CHANGING_MORE };
	bool done;
	int rules;

	if (version < 1)
		return true;
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (rules < 0)
		return false;
	done = allow_below(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	for (; done && *folders; folders++)
		done = allow_below(rules, *folders, changing);
	done = done && !syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return done;
}

/* Can root make files there only because root may everywhere? In doubt yes. */
static bool wants_override(const char *const folders[])
{
	struct stat found;

	for (; *folders; folders++)
		if (!stat(*folders, &found) && found.st_uid && !(found.st_mode & S_IWOTH))
			return true;
	return false;
}

static bool empty_bounding_set(void)
{
	uint64_t effective, permitted;

	return read_capabilities(&effective, &permitted) && (!(effective & BIT(CAP_SETPCAP)) || drop_bounding_set(0));
}

static bool keep_only(uint64_t keep, const char *const folders[])
{
	uint64_t effective, permitted;

	if (!empty_bounding_set() || !read_capabilities(&effective, &permitted))
		return false;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0); /* what it has open is worth much: no other process of its user may take it */
	return write_capabilities(keep & permitted, 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       change_only_below(folders);
}

/*
 * In a container's own numbers of users there may be no such one: user 0 is nobody outside of it, then. The C library's
 * calls would change the user of all threads; but the other rights are a thread's own, and a thread that is no user 0
 * any more could not give up the rest of them.
 */
static bool become_nobody(void)
{
	const id_t nobody = NOBODYS + (id_t)getpid() % NOBODYS_COUNT;
	int with_parent = 0; /* the signal at its end: the kernel forgets it where the user changes */
	bool done;

	prctl(PR_GET_PDEATHSIG, &with_parent);
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
		NULL); /* its session's keys are not for who takes it over; where it has none that is well */
	done = !syscall(SYS_setgroups, 0, NULL) && !syscall(SYS_setresgid, nobody, nobody, nobody) &&
	       !syscall(SYS_setresuid, nobody, nobody, nobody);
	done = done || errno == EINVAL || errno == EPERM;
	prctl(PR_SET_PDEATHSIG, with_parent);
	return done;
}

bool keep_no_privileges(const char *const folders[])
{
	return (geteuid() || (empty_bounding_set() && become_nobody())) && keep_only(0, folders);
}

/* The answer is a byte, and none where this process has died. */
static void answer_without_privileges(int answer, bool (*try)(void *context), void *context)
{
	static const char *const nowhere[] = { NULL };

	if (keep_no_privileges(nowhere) && try(context))
		_exit(write(answer, "", 1) != 1);
	_exit(1);
}

/*
 * Where a process has put probes in, its end waits for the kernel's grace periods, tens of milliseconds. Nobody has to
 * wait for that: it answers before, and is a child of a child that is gone, so that init is who collects it.
 */
static void try_in_grandchild(int answer, bool (*try)(void *context), void *context)
{
	if (!fork())
		answer_without_privileges(answer, try, context);
	_exit(0);
}

bool works_without_privileges(bool (*try)(void *context), void *context)
{
	int answer[2];
	ssize_t got;
	pid_t child;
	char byte;

	if (pipe2(answer, O_CLOEXEC))
		return false;
	child = fork();
	if (!child)
		try_in_grandchild(answer[1], try, context);
	close(answer[1]);
	while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	do {
		got = child > 0 ? read(answer[0], &byte, 1) : 0;
	} while (got < 0 && errno == EINTR);
	close(answer[0]);
	return got == 1;
}

bool keep_privileges_for_files(const char *const folders[], const struct caller *caller)
{
	if (geteuid())
		return keep_only(0, folders);
	return keep_only(caller->uid               ? BIT(CAP_SETUID) | BIT(CAP_SETGID)
			 : wants_override(folders) ? BIT(CAP_DAC_OVERRIDE)
						   : 0,
			 folders);
}

/* --- reading ------------------------------------------------------------ */

static uint64_t to_read(bool sampling)
{
	return BIT(CAP_SYS_PTRACE) | TO_READ | (sampling ? BIT(CAP_PERFMON) : 0);
}

void pass_privileges_to_read(bool sampling)
{
	uint64_t effective, permitted, passed;

	if (!read_capabilities(&effective, &permitted))
		return;
	passed = permitted & to_read(sampling);
	if (!write_capabilities(passed, passed))
		return;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned capability = 0; capability < 64; capability++)
		if (passed & BIT(capability))
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, (unsigned long)capability, 0, 0);
}

bool keep_privileges_to_read(bool sampling)
{
	uint64_t effective, permitted;

	if (!empty_bounding_set() || !read_capabilities(&effective, &permitted))
		return false;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return write_capabilities(permitted & to_read(sampling), 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
