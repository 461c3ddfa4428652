/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor.c - what this kernel, these privileges and a target allow. Everything is found by trying, and each "no" says
 * what to do about it.
 */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arch/arch.h"
#include "cli/cli.h"
#include "observe/rights.h"
#include "probe/probe.h"
#include "util/format.h"
#include "util/files.h"
#include "util/log.h"
#include "util/privileges.h"

static const char description[] =
	"What this kernel, these privileges and a target allow, and what to do about each 'no'. Exit status 1 if "
	"observing cannot work. What a probe costs is measured anew; where root starts them, other commands take a "
	"measurement that is not older than an hour (/run/gaspbpf-calibration)."
	"\v"
	"Examples:\n"
	"  sudo gaspbpf doctor\n"
	"  sudo gaspbpf doctor -p 4242";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 }, { 0 } };
static const struct argp parser = { NULL, parse, NULL, description, children, NULL, NULL };

/* What the last sentence is made of. */
struct verdict {
	int bad;             /* things to mend */
	const char *because; /* the first of them that keeps from all observing; NULL: there is none */
	const char *rung;    /* the best way of attaching that works; NULL: none does */
	/* what a call costs by it, by the instruction under the probe; 0: not measured */
	unsigned least_ns, most_ns;
};

enum answer { YES, NOTE };

static void say_line(const char *answer, const char *format, va_list arguments)
{
	printf("  %s  ", answer);
	vprintf(format, arguments);
	putchar('\n');
	fflush(stdout);
}

/* One line of findings. */
static void say(enum answer answer, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_line(answer == YES ? "yes " : "note", format, arguments);
	va_end(arguments);
}

/* One without which nothing works, and what to do about it. `because`: in few words, as the end of a sentence. */
static void say_no(struct verdict *verdict, const char *because, const char *format, ...)
{
	va_list arguments;

	verdict->bad++;
	verdict->because = verdict->because ?: because;
	va_start(arguments, format);
	say_line("NO  ", format, arguments);
	va_end(arguments);
}

/* --- the machine ------------------------------------------------------- */

static void check_kernel(struct verdict *verdict)
{
	struct utsname system;

	uname(&system);
	if (strcmp(system.machine, ARCH_MACHINE))
		say_no(verdict, "its processor is another one", "processor %s: gaspbpf knows " ARCH_TITLE " only",
		       system.machine);
	else
		say(YES, "kernel %s on %s", system.release, system.machine);
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		say_no(verdict, "its kernel has no type information",
		       "no type information (/sys/kernel/btf/vmlinux): boot a kernel built with "
		       "CONFIG_DEBUG_INFO_BTF; those of Debian, Ubuntu, RHEL 8.2 and later are");
	else
		say(YES, "type information of the kernel (BTF)");
}

static void check_lockdown(struct verdict *verdict)
{
	char *text = read_file_at(-1, "/sys/kernel/security/lockdown", 256, NULL);

	if (text && strstr(text, "[confidentiality]"))
		say_no(verdict, "its kernel is locked down",
		       "kernel lockdown is 'confidentiality', which forbids BPF to read memory: boot with "
		       "lockdown=integrity or none");
	free(text);
}

static unsigned long long capabilities(void)
{
	char *status = read_file_at(-1, "/proc/self/status", 65536, NULL);
	char *line = status ? strstr(status, "CapEff:") : NULL;
	unsigned long long set = line ? strtoull(line + 7, NULL, 16) : 0;

	free(status);
	return set;
}

static void check_rights(struct verdict *verdict)
{
	static const struct {
		int number;
		const char *name, *use;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF", "load programs" },
		{ CAP_PERFMON, "CAP_PERFMON", "observe functions" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "look into other users' processes" },
	};
	unsigned long long have = capabilities();

	if (geteuid() && may_observe())
		say(YES, "not root, but with the capabilities that observing needs");
	else if (geteuid())
		say_no(verdict, "gaspbpf is not root", "not root: run gaspbpf with sudo");
	else
		say(YES, "running as root");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!(have >> needed[i].number & 1))
			say_no(verdict, "rights are missing",
			       "%s is missing, needed to %s: in a container, start it with --cap-add %s (or "
			       "privileged)",
			       needed[i].name, needed[i].use, needed[i].name + 4);
}

static void check_namespace(struct verdict *verdict)
{
	if (inside_pid_namespace())
		say_no(verdict, "gaspbpf runs in a container with process numbers of its own",
		       "gaspbpf runs inside a PID namespace (a container): the kernel tells other process numbers "
		       "than it sees; run it on the host, or start the container with --pid=host");
}

/* --- ways of attaching ------------------------------------------------- */

/* From the cheapest instruction to the dearest. */
static void note_range(struct verdict *verdict, const struct probe_costs *costs)
{
	for (int class = 0; class < SITE_CLASSES; class ++) {
		unsigned ns = costs->call[class];

		if (ns && (!verdict->least_ns || ns < verdict->least_ns))
			verdict->least_ns = ns;
		if (ns > verdict->most_ns)
			verdict->most_ns = ns;
	}
}

static void try_rung(struct verdict *verdict, enum rung rung)
{
	static const char *const meanings[RUNGS] = {
		[RUNG_SESSION] = "call and return on one link: the cheapest",
		[RUNG_MULTI] = "one link for many probes",
		[RUNG_PERF] = "one perf event a probe: attaching and leaving take long with many functions",
	};
	static const char *const since[RUNGS] = {
		[RUNG_SESSION] = "Linux 6.13",
		[RUNG_MULTI] = "Linux 6.6",
		[RUNG_PERF] = "Linux 5.15",
	};
	struct kernel_options options = { .quiet = true, .anew = true };
	struct probe_costs costs;
	struct kernel *kernel;

	setenv("GASPBPF_RUNG", rung_name(rung), 1);
	if (kernel_load(&kernel, &options)) {
		say(NOTE, "%-7s not available here (%s and later): %s", rung_name(rung), since[rung], meanings[rung]);
		return;
	}
	kernel_costs(kernel, &costs);
	if (!verdict->rung) {
		verdict->rung = rung_name(rung);
		note_range(verdict, &costs);
	}
	say(YES,
	    "%-7s %s; a call costs %u ns (%s), %u ns (%s), %u ns (%s); only counted %u, %u, %u; every "
	    "span is longer by %u, %u, %u",
	    rung_name(rung), meanings[rung], costs.call[SITE_OPTIMIZED], site_class_name(SITE_OPTIMIZED),
	    costs.call[SITE_EMULATED], site_class_name(SITE_EMULATED), costs.call[SITE_STEPPED],
	    site_class_name(SITE_STEPPED), costs.skipped[SITE_OPTIMIZED], costs.skipped[SITE_EMULATED],
	    costs.skipped[SITE_STEPPED], costs.floor[SITE_OPTIMIZED], costs.floor[SITE_EMULATED],
	    costs.floor[SITE_STEPPED]);
	kernel_free(kernel);
}

static void check_rungs(struct verdict *verdict)
{
	const char *forced = getenv("GASPBPF_RUNG");
	char *keep = forced ? strdup(forced) : NULL;

	for (int rung = 0; rung < RUNGS; rung++)
		try_rung(verdict, rung);
	if (keep)
		setenv("GASPBPF_RUNG", keep, 1);
	else
		unsetenv("GASPBPF_RUNG");
	free(keep);
	if (!verdict->rung)
		say_no(verdict, "no way of attaching works",
		       "no way of attaching works: with all rights above this needs Linux 5.15 with CONFIG_UPROBES, "
		       "CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS; -vv shows the kernel's own words");
}

/* --- a target ---------------------------------------------------------- */

static void check_checkpointer(const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const char *path = process->mappings[i].path;

		if (!path || fnmatch("*/libdmtcp*.so*", path, 0))
			continue;
		say(NOTE,
		    "a checkpointer is mapped (%s): a checkpoint taken while observed contains breakpoints: stop "
		    "gaspbpf before",
		    log_safe(path));
		return;
	}
}

static void check_runtimes(struct verdict *verdict, const struct plan *plan)
{
	if (!plan->nsites)
		say_no(verdict, "it has no functions that gaspbpf knows",
		       "no known runtime, or all names stripped: 'gaspbpf list' tells what was looked for");
	for (size_t m = 0; m < plan->nchosen; m++) {
		size_t sites = 0, stepped = 0;

		for (size_t i = 0; i < plan->nsites; i++) {
			if (plan->sites[i].function->model != plan->chosen[m])
				continue;
			sites++;
			stepped += plan->sites[i].class == SITE_STEPPED;
		}
		say(YES, "%s: %zu function%s, %zu of them at an instruction that makes a probe dear",
		    plan->chosen[m]->name, sites, plural(sites), stepped);
	}
}

/* What is wrong with it is said where it is found; the verdict is of this process alone. */
static void check_target(struct verdict *verdict, const struct model_set *models, const char *wish, pid_t pid)
{
	struct process *process;
	struct plan *plan;

	printf("process %d\n", pid);
	fflush(stdout);
	if (process_open(&process, pid)) {
		*verdict = (struct verdict){ .bad = 1, .because = "it cannot be looked at" };
		return;
	}
	say(YES, "%s", log_safe(process->command && *process->command ? process->command : process->name));
	check_checkpointer(process);
	if (plan_new(&plan, models, wish) || plan_add_processes(plan, &process, 1)) {
		*verdict = (struct verdict){ .bad = 1, .because = "it cannot be looked at" };
	} else {
		check_runtimes(verdict, plan);
		if (process->filtered && plan->guarded)
			say(NOTE, "it has a seccomp filter, and on this kernel return probes kill such a process "
				  "(CVE-2025-21834), as a trial showed: "
				  "none are used in it");
		else if (process->filtered)
			say(NOTE, "it has a seccomp filter; this kernel handles that, as a trial showed");
	}
	plan_free(plan);
	process_close(process);
}

/* --- the verdict -------------------------------------------------------- */

#define READS "what was recorded can be read here all the same (report, export, simulate, replay)"

static void sum_up(const struct verdict *machine)
{
	if (machine->because)
		printf("You cannot observe anything on this machine, because %s; " READS ".\n", machine->because);
	else
		printf("You can observe the processes of this machine; each observed call costs its thread %.1f to %.1f us, by "
		       "the instruction that its function's probe is at: least where the kernel replaces or emulates "
		       "that one, most where the processor has to single-step it ('gaspbpf list' has it of each "
		       "function).\n",
		       machine->least_ns / 1e3, machine->most_ns / 1e3);
}

static void sum_up_target(const struct verdict *target, pid_t pid)
{
	if (target->because)
		printf("You cannot observe process %d, because %s.\n", pid, target->because);
	else
		printf("You can observe process %d.\n", pid);
}

int command_doctor(int argc, char **argv)
{
	struct choice o = { 0 };
	struct model_set *models = NULL;
	struct verdict machine = { 0 }, *targets;
	int bad;

	cli_parse(&parser, argc, argv, &o);
	targets = calloc(o.pids.count + 1, sizeof(*targets));
	if (!targets)
		return cli_status("doctor", -ENOMEM);
	printf("this machine\n");
	check_kernel(&machine);
	check_lockdown(&machine);
	check_rights(&machine);
	check_namespace(&machine);
	printf("ways of attaching, best first\n");
	check_rungs(&machine);
	if (cli_load_models(&models, &o)) {
		machine.bad++;
		machine.because = machine.because ?: "its models cannot be read";
	}
	bad = machine.bad;
	if (o.pids.count)
		rights_give_up_to_look(false);
	for (size_t i = 0; models && i < o.pids.count; i++) {
		check_target(&targets[i], models, o.models, o.pids.pids[i]);
		bad += targets[i].bad;
	}
	if (bad)
		printf("%d thing%s to mend\n", bad, bad == 1 ? "" : "s");
	else
		printf("all well\n");
	sum_up(&machine);
	for (size_t i = 0; models && !machine.because && i < o.pids.count; i++)
		sum_up_target(&targets[i], o.pids.pids[i]);
	free(targets);
	models_free(models);
	choice_free(&o);
	return cli_status("doctor", 0) || bad ? 1 : 0;
}
