/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privileges.h - having those that observing needs, and giving up the others.
 */
#ifndef GASPBPF_PRIVILEGES_H
#define GASPBPF_PRIVILEGES_H

#include "util/files.h"

/*
 * From here on this process is the caller, for good: without any capability, and no exec brings one back. Root that
 * called as root keeps its user number and has nothing for being user 0 any more. False: errno says why, and the
 * process must not go on.
 */
bool give_up_privileges(const struct caller *caller);

/*
 * What this process starts from here on has no capability of it: what a user other than root was given to observe
 * (ambient, inheritable) is not for his programs. Of root they are what they are without gaspbpf. False: errno says
 * why.
 */
bool keep_privileges_back(void);

/* Are the capabilities in effect that observing needs, as they are for root: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE? */
bool may_observe(void);
/* CAP_SYS_ADMIN, which probes that are perf events need, too. */
bool may_administer(void);
/* Does /proc show others' processes to this one? Not so where it is mounted with hidepid, for who has no rights. */
bool others_show(void);
/* In a container: the kernel's process numbers are others than ours. */
bool inside_pid_namespace(void);
/*
 * For a process that observes for months: gives up, for good, all that it does not need for that. What stays, of what
 * it has: the three above, those to read what belongs to targets, and CAP_SYS_ADMIN where `admin` (the kernel wants it
 * for the way probes are attached). It must not exec anything that needs more. False: errno says why.
 */
bool keep_privileges_to_observe(bool admin);
/*
 * The same where putting probes in needs no rights, and others read what is the targets' (reader_prepare()): nothing
 * stays, and user 0, whom others trust, becomes one that nobody is, where it may. It can from then on change files in
 * these folders only (NULL ends them), and execute none, but where Landlock is not there (before Linux 5.13). It leaves
 * no core, and no other process of its user can look into it. False: errno says why.
 */
bool keep_no_privileges(const char *const folders[]);
/* Would this work in a process that has done so, and may change no file? Tried by a process of its own, which may end
 * later than this returns. Threads may have been anywhere: system calls only. */
bool works_without_privileges(bool (*try)(void *context), void *context);
/*
 * The same for who makes files for somebody who has given up all (keeper.h): the user stays, and what it takes to make
 * them as who called, or in folders of others.
 */
bool keep_privileges_for_files(const char *const folders[], const struct caller *caller);
/* What the process that is started next (by exec, as this user) has of this one's capabilities: those to read targets,
 * with `sampling` to sample threads, and no others. */
void pass_privileges_to_read(bool sampling);
/* For a process that reads targets' memory and files for another one: gives up, for good, all that it does not need for
 * that. False: errno says why. */
bool keep_privileges_to_read(bool sampling);

#endif
