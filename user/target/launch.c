/*
 * launch.c - starts a command and holds it until its probes are in.
 *
 * Problem: the first call must be seen, but when a program has just been exec'ed its libraries are not
 * mapped yet: the dynamic linker maps them, then runs their constructors, then jumps to the program.
 * No address in the target may be patched for this: were gaspbpf killed meanwhile, the command would die of it.
 *
 * So the command is stepped from system call to system call (ptrace). Each time the dynamic linker has mapped
 * executable code, the caller is asked to look at it. The first system call that is not made by the linker
 * itself ends the stepping: by then every library that the program needs is mapped, and between the
 * linker's last mapping and the first constructor lie further system calls of its own (mprotect, munmap).
 * If gaspbpf dies, the kernel lets the command run on.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/target.h"
#include "util/log.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define STEPS_MOST 1000000 /* system calls of a dynamic linker gone mad */

static void become(const struct caller *caller)
{
	if (geteuid() || !caller->uid)
		return;
	if ((caller->name ? initgroups(caller->name, caller->gid) : setgroups(0, NULL)) || setgid(caller->gid) ||
	    setuid(caller->uid))
		_exit(126);
}

/* The child: waits to be seized, becomes the caller, and turns into the command. */
static void run_command(char *const argv[], const struct caller *caller, int gate, int report)
{
	sigset_t none;
	char go;
	int err;

	if (read(gate, &go, 1) != 1)
		_exit(126);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &caller->files);
	setrlimit(RLIMIT_MEMLOCK, &caller->locked);
	become(caller);
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int command_start(pid_t *pid, char *const argv[], const struct caller *caller)
{
	int gate[2], report[2], err = 0, status;
	char go = 1;

	if (pipe2(gate, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (!*pid)
		run_command(argv, caller, gate[0], report[1]);
	close(gate[0]);
	close(report[1]);
	if (ptrace(PTRACE_SEIZE, *pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)) {
		err = -errno;
		log_error("cannot hold the command: %s", strerror(-err));
		kill(*pid, SIGKILL);
	} else if (write(gate[1], &go, 1) != 1) {
		err = -errno;
	}
	close(gate[1]);
	/* End of file: the exec has happened. Otherwise the reason why not. */
	if (!err && read(report[0], &err, sizeof(err)) == sizeof(err)) {
		log_error("%s: %s: check the command and its path", log_safe(argv[0]), strerror(err));
		err = -err;
	}
	close(report[0]);
	if (err)
		waitpid(*pid, &status, 0);
	return err;
}

/* Does the address lie in the first object that was mapped besides the program: the dynamic linker? */
static bool in_linker(struct process *process, uint64_t linker_inode, uint64_t ip)
{
	const struct mapping *mapping = process_mapping_at(process, ip);

	return mapping && mapping->inode == linker_inode;
}

/* The linker is where the very first instruction of a dynamic program lies; a static one starts in its own text. */
static uint64_t first_code(struct process *process, pid_t pid)
{
	struct user_regs_struct regs;
	const struct mapping *mapping;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return 0;
	mapping = process_mapping_at(process, regs.rip);
	return mapping ? mapping->inode : 0;
}

enum { STOP_OTHER, STOP_SYSCALL, STOP_EXEC };

/* Restarts (unless request is 0) and waits for the next stop; passes signals on. -ESRCH: ended. */
static int next_stop(pid_t pid, int request, int *signal)
{
	int status;

	if (request && ptrace(request, pid, 0, *signal))
		return -ESRCH;
	*signal = 0;
	for (;;) {
		/* WNOWAIT first: the end of the command is for the caller to collect. */
		siginfo_t info = { 0 };

		if (waitid(P_PID, pid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
			if (errno == EINTR)
				continue;
			return -ESRCH;
		}
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return -ESRCH;
		if (waitpid(pid, &status, __WALL) < 0)
			return -ESRCH;
		break;
	}
	if (WSTOPSIG(status) == SYSCALL_STOP)
		return STOP_SYSCALL;
	if (status >> 16 == PTRACE_EVENT_EXEC)
		return STOP_EXEC;
	if (status >> 16 == 0)
		*signal = WSTOPSIG(status);
	return STOP_OTHER;
}

int command_hold(pid_t pid, struct process **result, int (*mapped)(void *context, struct process *process),
		 void *context)
{
	struct process *process;
	uint64_t linker, program;
	int signal = 0, stop, err;

	stop = next_stop(pid, 0, &signal);
	while (stop >= 0 && stop != STOP_EXEC)
		stop = next_stop(pid, PTRACE_CONT, &signal);
	if (stop < 0)
		return stop;
	err = process_open(&process, pid);
	if (err)
		return err;
	*result = process;
	linker = first_code(process, pid);
	err = mapped(context, process);
	program = process->nmappings ? process->mappings[0].inode : 0;
	for (long step = 0; !err && linker && linker != program && step < STEPS_MOST; step++) {
		struct __ptrace_syscall_info call;
		struct user_regs_struct regs;

		stop = next_stop(pid, PTRACE_SYSCALL, &signal);
		if (stop < 0)
			return stop;
		if (stop != STOP_SYSCALL)
			continue;
		/* Not by counting: the first stop after an exec is the end of the exec itself. */
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call) < 0 ||
		    ptrace(PTRACE_GETREGS, pid, 0, &regs))
			return -ESRCH;
		if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
			if (!in_linker(process, linker, regs.rip)) {
				log_debug("%d: held at its first system call outside the linker, number %llu", pid, regs.orig_rax);
				break;
			}
		} else if (regs.orig_rax == SYS_mmap && regs.r8 != (unsigned long)-1 && regs.rdx & 4 /* PROT_EXEC */) {
			err = process_refresh(process);
			if (!err)
				err = mapped(context, process);
		}
	}
	return err;
}

void command_release(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, 0, 0);
}
