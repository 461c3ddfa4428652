/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial.c - observed calls of our own: what works on this kernel, and what it costs.
 *
 * The trial functions are as small as can be, one for each class of instruction under a breakpoint. If their calls
 * leave the right spans, the rung works; the same calls, timed, are the calibration: what one observed call costs on
 * this machine. What return probes do to a process with a seccomp filter is tried on a child.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "arch/trial.h"
#include "observe.skel.h"
#include "probe/calibration.h"
#include "probe/plan_private.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/ring.h"
#include "util/privileges.h"

#define TRIALS 100     /* calls per round of the calibration */
#define ROUNDS 12      /* of which the quickest counts: short ones are often undisturbed */
#define CHECK_ROUNDS 2 /* to see whether an earlier calibration holds */
#define CHEAPER 0.8    /* it does not where calls cost less than this of it */
#define COLD_TRIALS 24 /* calls after other work, of which the middle one counts */
#define OTHER_WORK                                                                                                   \
	(4 * 1024 * 1024) /* bytes that are touched between two of them: more than a processor has caches of its own \
			   */
#define WORDS 4           /* that a trial reads from the stack */
#define NEIGHBOURS 8      /* other processes' links on the trial functions */
#define RING_LEAST 65536  /* bytes; in a smaller one a round's spans have no room, and cost other than they do */

#define TRIAL_PROBE(class) (GB_PROBES - 1 - (class)) /* ids no plan reaches */

/* What waits in the rings. */
struct waiting {
	unsigned spans;
	uint64_t shortest; /* ns; UINT64_MAX: there is none */
};

static void take_span(void *context, const void *record, size_t size)
{
	const struct gb_span *span = record;
	struct waiting *waiting = context;

	if (size < GB_SPAN_HEADER)
		return;
	waiting->spans++;
	if (span->end - span->start < waiting->shortest)
		waiting->shortest = span->end - span->start;
}

/* The rings, mapped: that takes milliseconds, so once. Only for the trial, before anybody else reads. */
struct trial {
	struct kernel *kernel;
	struct ring rings[sizeof(((struct kernel *)0)->ring_fds) / sizeof(int)];
};

static int open_rings(struct trial *trial)
{
	int err = 0;

	for (unsigned i = 0; !err && i < trial->kernel->rings; i++)
		err = ring_open(&trial->rings[i], trial->kernel->ring_fds[i], trial->kernel->ring_bytes);
	return err;
}

static void close_rings(struct trial *trial)
{
	for (unsigned i = 0; i < trial->kernel->rings; i++)
		ring_close(&trial->rings[i]);
}

static struct waiting drain_rings(struct trial *trial)
{
	struct waiting waiting = { .shortest = UINT64_MAX };

	for (unsigned i = 0; i < trial->kernel->rings; i++)
		ring_drain(&trial->rings[i], ring_filled(&trial->rings[i]), take_span, &waiting);
	return waiting;
}

struct own_code {
	uintptr_t address;
	unsigned long offset;
};

static int find_own_code(struct dl_phdr_info *info, size_t size, void *context)
{
	struct own_code *own = context;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && own->address >= start && own->address < start + p->p_filesz) {
			own->offset = own->address - start + p->p_offset;
			return 1;
		}
	}
	return 0;
}

static int set_trial_program(struct kernel *kernel, uint32_t id, uint32_t skip, unsigned words)
{
	struct gb_probe program = {
		.slots = words ? 6 + words : 1, .skip = skip, .flags = GB_PROBE_SAMPLED, .entry_ops = words
	};

	for (unsigned i = 0; i < words; i++)
		program.ops[i] = (struct gb_op){
			.kind = GB_OP_STACK, .slot = 6 + i, .width = GB_U64, .offset = 8 * (i + 1)
		};
	return bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.probes), &id, &program, BPF_ANY);
}

/* Where the trial functions are in our own file, and what is to observe them. */
struct trial_places {
	unsigned long offsets[SITE_CLASSES];
	uint64_t cookies[SITE_CLASSES];
};

static int find_trial(struct trial_places *places)
{
	for (int class = 0; class < SITE_CLASSES; class ++) {
		struct own_code own = { .address = (uintptr_t)arch_trials[class] };

		if (!dl_iterate_phdr(find_own_code, &own))
			return -ENOENT;
		places->offsets[class] = own.offset;
		places->cookies[class] = TRIAL_PROBE(class);
	}
	return 0;
}

/* Observes our own trial functions in a process, by so many links. Returns 0 when every kind is in. */
static int attach_trial(struct kernel *kernel, pid_t pid, unsigned links,
			int (*attach)(struct kernel *, const struct link_request *))
{
	struct trial_places places;
	struct link_request request = {
		.pid = pid,
		.offsets = places.offsets,
		.cookies = places.cookies,
		.count = SITE_CLASSES,
	};
	int err = find_trial(&places);

	if (err)
		return err;
	request.file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (request.file_fd < 0)
		return -errno;
	while (!err && links--)
		err = attach(kernel, &request);
	close(request.file_fd);
	return err;
}

static int set_trial_programs(struct kernel *kernel)
{
	int err = 0;

	for (int class = 0; !err && class < SITE_CLASSES; class ++)
		err = set_trial_program(kernel, TRIAL_PROBE(class), 0, 0) ? -errno : 0;
	return err;
}

static void forget_own_thread(struct kernel *kernel)
{
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0);

	if (pidfd < 0)
		return;
	bpf_map_delete_elem(bpf_map__fd(kernel->observe->maps.threads), &pidfd);
	close(pidfd);
}

/* One call of each trial function must leave three spans. */
static int trial_works(struct trial *trial)
{
	struct kernel *kernel = trial->kernel;
	uint32_t self = getpid();
	uint8_t one = 1;
	struct waiting got;
	int err = set_trial_programs(kernel);

	if (!err)
		err = attach_trial(kernel, getpid(), 1, link_attach);
	if (err)
		return err;
	bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.targets), &self, &one, BPF_ANY);
	kernel_set_active(kernel, true);
	for (int class = 0; class < SITE_CLASSES; class ++)
		arch_trials[class](0);
	kernel_set_active(kernel, false);
	got = drain_rings(trial);
	if (got.spans != SITE_CLASSES) {
		log_debug("rung %s: the trial left %u spans instead of %u", rung_name(kernel->rung), got.spans,
			  SITE_CLASSES);
		return -EOPNOTSUPP;
	}
	return 0;
}

static void end_trial(struct trial *trial)
{
	struct kernel *kernel = trial->kernel;
	uint32_t self = getpid();

	drain_rings(trial);
	bpf_map_delete_elem(bpf_map__fd(kernel->observe->maps.targets), &self);
	forget_own_thread(kernel);
	kernel_forget_all_sums(kernel); /* of calls that a small ring had no room for */
}

/* ns that a call of a trial function takes now: of so many rounds the quickest. */
static unsigned time_rounds(struct trial *trial, int class, int rounds, unsigned *floor)
{
	uint64_t best = UINT64_MAX, shortest = UINT64_MAX;

	for (int round = 0; round < rounds; round++) {
		uint64_t start = clock_monotonic();
		struct waiting waiting;

		for (int i = 0; i < TRIALS; i++)
			arch_trials[class](i);
		start = clock_monotonic() - start;
		if (start < best)
			best = start;
		waiting = drain_rings(trial);
		if (waiting.shortest < shortest)
			shortest = waiting.shortest;
	}
	*floor = shortest == UINT64_MAX ? 0 : shortest;
	return best / TRIALS;
}

static unsigned time_trial(struct trial *trial, int class, unsigned *floor)
{
	return time_rounds(trial, class, ROUNDS, floor);
}

static int by_size(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* The same, before each call of which other memory was in use. other: OTHER_WORK bytes; NULL: not measured. */
static unsigned time_cold(struct trial *trial, int class, volatile char *other)
{
	unsigned took[COLD_TRIALS], clock = UINT_MAX;

	for (int i = 0; other && i < COLD_TRIALS; i++) {
		uint64_t start;

		for (size_t at = 0; at < OTHER_WORK; at += 64)
			other[at]++;
		start = clock_monotonic();
		took[i] = clock_monotonic() - start;
		clock = took[i] < clock ? took[i] : clock;
		start = clock_monotonic();
		arch_trials[class](i);
		took[i] = clock_monotonic() - start;
	}
	drain_rings(trial);
	if (!other)
		return 0;
	qsort(took, COLD_TRIALS, sizeof(*took), by_size);
	return took[COLD_TRIALS / 2] > clock ? took[COLD_TRIALS / 2] - clock : 0;
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* Times the trial functions while they are observed, and while they are only counted. */
static void calibrate_classes(struct trial *trial, volatile char *other)
{
	struct kernel *kernel = trial->kernel;
	struct probe_costs *costs = &kernel->costs;

	for (int class = 0; class < SITE_CLASSES; class ++) {
		unsigned none;

		costs->call[class] = time_trial(trial, class, &costs->floor[class]);
		costs->cold[class] = larger(time_cold(trial, class, other), costs->call[class]);
		set_trial_program(kernel, TRIAL_PROBE(class), GB_SKIP_ALL, 0);
		costs->skipped[class] = time_trial(trial, class, &none);
		costs->cold_skipped[class] = larger(time_cold(trial, class, other), costs->skipped[class]);
		set_trial_program(kernel, TRIAL_PROBE(class), 0, 0);
	}
}

/* What is added by words of memory, and by other processes' links in the same places: these are of process 1, which
 * runs none of our code. */
static void calibrate_more(struct trial *trial)
{
	struct kernel *kernel = trial->kernel;
	unsigned none, plain, more;

	plain = time_trial(trial, SITE_EMULATED, &none);
	set_trial_program(kernel, TRIAL_PROBE(SITE_EMULATED), 0, WORDS);
	more = time_trial(trial, SITE_EMULATED, &none);
	kernel->costs.word = more > plain ? (more - plain) / WORDS : 0;
	set_trial_program(kernel, TRIAL_PROBE(SITE_EMULATED), 0, 0);
	if (kernel->rung == RUNG_PERF) /* each takes a tenth of a second to remove */
		return;
	if (!attach_trial(kernel, 1, NEIGHBOURS, link_attach_beside)) {
		more = time_trial(trial, SITE_EMULATED, &none);
		kernel->costs.link = more > plain ? (more - plain) / NEIGHBOURS : 0;
	}
}

static void calibrate(struct trial *trial)
{
	void *other = mmap(NULL, OTHER_WORK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	kernel_set_active(trial->kernel, true);
	calibrate_classes(trial, other == MAP_FAILED ? NULL : other);
	calibrate_more(trial);
	kernel_set_active(trial->kernel, false);
	if (other != MAP_FAILED)
		munmap(other, OTHER_WORK);
}

/* --- seccomp ----------------------------------------------------------- */

#define URETPROBE 335 /* the system call by which the trampoline enters the kernel: Linux 6.11, commit 190fec72df4a */

/*
 * From Linux 6.11 on, until it was mended (6.13.3, 6.12.14, commit cf6cb56ef244), seccomp filters judged this system
 * call, which no program makes and so no strict filter allows.
 */
static void call_behind_filter(int gate)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, URETPROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
	char go;

	if (read(gate, &go, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
	arch_trials[SITE_EMULATED](0);
	_exit(0);
}

/* What became of it, of this machine's kernel: found once, with the first kernel side that is loaded, when the rights
 * for that are still there. */
static enum { NOT_TRIED, HARMLESS, KILLS } filters;

/* True where the child came to harm. Where it cannot be tried, the answer is the careful one. Links of the trial are
 * gone then. */
static bool try_filter(struct kernel *kernel, pid_t child, int gate)
{
	char go = 1;
	int status, err = attach_trial(kernel, child, 1, link_attach);

	kernel_set_active(kernel, true);
	if (err || write(gate, &go, 1) != 1)
		kill(child, SIGKILL);
	if (waitpid(child, &status, 0) < 0)
		return true;
	kernel_set_active(kernel, false);
	link_remove_from(kernel, 0, NULL);
	log_debug("a child with a seccomp filter returned through a trampoline: status %x", status);
	return err || !WIFEXITED(status) || WEXITSTATUS(status);
}

static void try_filters(struct kernel *kernel)
{
	int gate[2];
	pid_t child;

	if (filters || pipe2(gate, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		close(gate[1]); /* so that it ends with us, should we die now */
		call_behind_filter(gate[0]);
	}
	if (child > 0)
		filters = try_filter(kernel, child, gate[1]) ? KILLS : HARMLESS;
	close(gate[0]);
	close(gate[1]);
}

bool trial_filter_kills(void)
{
	struct kernel_options options = { .ring_bytes = 4096, .quiet = true };
	struct kernel *kernel;

	if (!filters && may_observe() && !kernel_load(&kernel, &options))
		kernel_free(kernel);
	return filters != HARMLESS;
}

/* --- all of it ----------------------------------------------------------- */

/* Are calls much cheaper than an earlier start found? Then it was disturbed. That they are dearer says nothing: this
 * one may be disturbed, too. */
static bool is_too_dear(struct trial *trial, const struct probe_costs *costs)
{
	unsigned none, now;

	kernel_set_active(trial->kernel, true);
	now = time_rounds(trial, SITE_EMULATED, CHECK_ROUNDS, &none);
	kernel_set_active(trial->kernel, false);
	return now < costs->call[SITE_EMULATED] * CHEAPER;
}

static bool prices_are_known(struct trial *trial)
{
	struct kernel *kernel = trial->kernel;
	struct calibration earlier;

	if (!calibration_read(kernel, &earlier) || is_too_dear(trial, &earlier.costs))
		return false;
	kernel->costs = earlier.costs;
	filters = earlier.filters_kill ? KILLS : HARMLESS;
	log_info("calibrated by an earlier start, %" PRIu64 " s ago: 'gaspbpf doctor' measures anew", earlier.age);
	return true;
}

static void find_prices(struct trial *trial)
{
	struct kernel *kernel = trial->kernel;
	uint64_t start = clock_monotonic();

	calibrate(trial);
	log_info("calibrated in %.1f ms", (clock_monotonic() - start) / 1e6);
	try_filters(kernel);
	if (filters && kernel->ring_bytes >= RING_LEAST)
		calibration_write(kernel,
				  &(struct calibration){ .costs = kernel->costs, .filters_kill = filters == KILLS });
}

int trial_run(struct kernel *kernel, bool anew)
{
	struct trial trial = { .kernel = kernel };
	int err = open_rings(&trial);

	if (!err)
		err = trial_works(&trial);
	if (!err) {
		if (anew || !prices_are_known(&trial))
			find_prices(&trial);
		end_trial(&trial);
	}
	close_rings(&trial);
	return err;
}
