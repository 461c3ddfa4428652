/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.c - all threads of some processes, at nearly one moment.
 *
 * A thread that is not on a processor cannot change its stack. So: registers of all, by an iterator in the kernel;
 * copies of the stacks of those that are not running; the iterator once more. Whoever has run in between is caught by a
 * sample (sample.c), or is torn.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "look.skel.h"
#include "stacks/look_private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/iterator.h"
#include "util/log.h"

#define THREADS_MOST 100000
#define SAMPLES_MOST 512 /* threads that are sampled in a round: each may take 30 ms */
#define PATIENCE_MS                                                                                                \
	30 /* for a sample of one; where few are left, more from round to round: on a busy machine they wait for a \
	      processor */
#define PATIENCE_MORE 4
#define PATIENCE_ALL_MS 1500
#define TEXT_MOST 65536
#define ROUNDS 4 /* times that threads are tried that wake up now and then */

static int by_thread(const void *a, const void *b)
{
	const struct thread_look *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->tid != y->tid ? (x->tid < y->tid ? -1 : 1) : 0;
}

struct thread_look *looks_find(const struct looks *looks, pid_t pid, pid_t tid)
{
	struct thread_look key = { .pid = pid, .tid = tid };

	return looks->count ? bsearch(&key, looks->threads, looks->count, sizeof(key), by_thread) : NULL;
}

void looks_free(struct looks *looks)
{
	for (size_t i = 0; i < looks->count; i++) {
		free(looks->threads[i].stack);
		free(looks->threads[i].returns);
	}
	free(looks->threads);
	memset(looks, 0, sizeof(*looks));
}

/* --- by the kernel ------------------------------------------------------ */

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return 0;
}

struct looker {
	struct look_bpf *bpf;
	uint32_t *wanted; /* whom it tells of */
	size_t count;
};

static struct look_bpf *load(void)
{
	libbpf_print_fn_t before = log_get_level() < LOG_DEBUG ? libbpf_set_print(quiet) : NULL;
	struct look_bpf *bpf = look_bpf__open();

	if (bpf && (object_is_whole(bpf->obj) || look_bpf__load(bpf))) {
		look_bpf__destroy(bpf);
		bpf = NULL;
	}
	if (before)
		libbpf_set_print(before);
	return bpf;
}

struct looker *looker_new(void)
{
	struct looker *looker = calloc(1, sizeof(*looker));

	if (looker)
		looker->bpf = load();
	if (looker && looker->bpf)
		return looker;
	free(looker);
	return NULL;
}

void looker_free(struct looker *looker)
{
	if (!looker)
		return;
	look_bpf__destroy(looker->bpf);
	free(looker->wanted);
	free(looker);
}

/* It tells of these from now on. */
static int want(struct looker *looker, struct process *const *processes, size_t count)
{
	uint32_t *wanted = calloc(count + 1, sizeof(*wanted));
	int map = bpf_map__fd(looker->bpf->maps.wanted);
	uint8_t one = 1;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < looker->count; i++)
		bpf_map_delete_elem(map, &looker->wanted[i]);
	free(looker->wanted);
	looker->wanted = wanted;
	for (looker->count = 0; looker->count < count; looker->count++) {
		wanted[looker->count] = processes[looker->count]->pid;
		if (bpf_map_update_elem(map, &wanted[looker->count], &one, BPF_ANY))
			return -ENOMEM;
	}
	return 0;
}

static char state_letter(uint32_t state)
{
	/* TASK_*; one that is dead, but still there since nobody has waited for it or others of its process live on, is
	 * 0x80. */
	return !state         ? 'R'
	       : state & 1    ? 'S'
	       : state & 2    ? 'D'
	       : state & 4    ? 'T'
	       : state & 8    ? 't'
	       : state & 0xb0 ? 'Z'
			      : 'S';
}

static int iterate(const struct bpf_program *program, size_t size, void (*take)(void *context, const void *record),
		   void *context)
{
	int fd = iterator_open(program);

	return fd < 0 ? fd : iterator_read(fd, size, take, context);
}

static int iterate_looks(const struct look_bpf *bpf, void (*take)(void *context, const void *record), void *context)
{
	return iterate(bpf->progs.look, sizeof(struct gb_look), take, context);
}

struct taking {
	struct looks *looks;
	size_t room;
	uint64_t time;
	bool failed;
	cpu_set_t cpus; /* where they ran last */
};

static void take_state(struct thread_look *look, const struct gb_look *raw)
{
	look->state = state_letter(raw->state);
	look->switches = raw->switches;
	look->ran = raw->ran;
	look->system_call = -1;
	look->registers.known = 0;
	if (raw->on_cpu || !raw->registers[REGISTER_IP])
		return;
	memcpy(look->registers.value, raw->registers, sizeof(raw->registers));
	look->registers.known = (1u << GB_LOOK_REGISTERS) - 1;
	if (!raw->state || (int64_t)raw->system_call < 0 || raw->system_call > 4095)
		return;
	look->system_call = raw->system_call;
	for (int i = 0; i < 6; i++)
		look->argument[i] = raw->registers[arch_call_arguments[i]];
}

static void take_first(void *context, const void *record)
{
	const struct gb_look *raw = record;
	struct taking *t = context;
	struct looks *looks = t->looks;

	if (looks->count >= THREADS_MOST ||
	    array_one_more(&looks->threads, &t->room, looks->count, sizeof(looks->threads[0]))) {
		t->failed = true;
		return;
	}
	looks->threads[looks->count] = (struct thread_look){
		.pid = raw->pid, .tid = raw->tid, .time = t->time, .torn = true
	};
	take_state(&looks->threads[looks->count++], raw);
	if (raw->cpu < CPU_SETSIZE)
		CPU_SET(raw->cpu, &t->cpus);
}

/* Another try with those that had run. */
static void take_torn(void *context, const void *record)
{
	const struct gb_look *raw = record;
	struct thread_look *look = looks_find(((struct taking *)context)->looks, raw->pid, raw->tid);

	if (look && look->torn)
		take_state(look, raw);
}

/* Only who is seen the second time, and has not run since the first, is whole. */
static void take_second(void *context, const void *record)
{
	const struct gb_look *raw = record;
	struct thread_look *look = looks_find(((struct taking *)context)->looks, raw->pid, raw->tid);

	if (look && look->registers.known && !raw->on_cpu && raw->switches == look->switches && raw->ran == look->ran &&
	    raw->registers[REGISTER_SP] == look->registers.value[REGISTER_SP] &&
	    raw->registers[REGISTER_IP] == look->registers.value[REGISTER_IP])
		look->torn = false;
}

/* How long the sleeping ones have done so: each by the clock of the processor that it ran on last. */
static void take_still(void *context, const void *record)
{
	const struct gb_look *raw = record;
	struct thread_look *look = looks_find(((struct taking *)context)->looks, raw->pid, raw->tid);

	if (look && !look->torn && raw->switches == look->switches && raw->state && raw->now && raw->last &&
	    raw->now > raw->last)
		look->still = raw->now - raw->last;
}

/* --- return probes ------------------------------------------------------ */

static void take_return(void *context, const void *record)
{
	const struct gb_return *raw = record;
	struct thread_look *look = looks_find(((struct taking *)context)->looks, raw->pid, raw->tid);
	struct replaced_return *grown;

	if (!look || look->nreturns >= GB_RETURNS)
		return;
	grown = realloc(look->returns, (look->nreturns + 1) * sizeof(*grown));
	if (!grown)
		return;
	look->returns = grown;
	grown[look->nreturns++] = (struct replaced_return){ .stack = raw->stack, .address = raw->address };
}

static void take_return_again(void *context, const void *record)
{
	const struct gb_return *raw = record;
	struct thread_look *look = looks_find(((struct taking *)context)->looks, raw->pid, raw->tid);

	for (size_t i = 0; look && i < look->nreturns; i++)
		if (look->returns[i].stack == raw->stack && look->returns[i].address == raw->address)
			look->returns[i].again = true;
}

/* Those that were there before and after the look go back into the copy: unwinding goes past them. */
static void put_returns_back(struct looks *looks)
{
	for (size_t i = 0; i < looks->count; i++) {
		struct thread_look *look = &looks->threads[i];

		for (size_t k = 0; look->stack && k < look->nreturns; k++) {
			uint64_t at = look->returns[k].stack - look->stack_at;

			if (look->returns[k].again && look->returns[k].stack >= look->stack_at &&
			    at < look->stack_size && look->stack_size - at >= 8)
				memcpy(look->stack + at, &look->returns[k].address, 8);
		}
	}
}

static void measure_still(const struct look_bpf *bpf, struct taking *t)
{
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (CPU_ISSET(cpu, &t->cpus) && !sched_setaffinity(0, sizeof(one), &one))
			iterate_looks(bpf, take_still, t);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

/* --- by /proc ----------------------------------------------------------- */

static uint64_t field(const char *text, const char *name)
{
	const char *at = text ? strstr(text, name) : NULL;

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* /proc/PID/task/TID/FILE; NULL: gone, or no rights. */
static char *read_thread_file(const struct process *process, pid_t tid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", tid, file);
	return read_file_at(process->proc_fd, path, TEXT_MOST, NULL);
}

/* "232 0x5 0x7f.. ... SP PC"; "running" where it runs; "-1 SP PC" where it sleeps outside of a system call. */
static void read_system_call(struct thread_look *look, const char *text)
{
	unsigned long long argument[6], sp, pc;
	long number;

	if (sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &number, &argument[0], &argument[1],
		   &argument[2], &argument[3], &argument[4], &argument[5], &sp, &pc) == 9) {
		look->system_call = number;
		for (int i = 0; i < 6; i++)
			look->argument[i] = argument[i];
	} else if (sscanf(text, "%ld %llx %llx", &number, &sp, &pc) != 3) {
		return;
	}
	look->registers.value[REGISTER_SP] = sp;
	look->registers.value[REGISTER_IP] = pc;
	look->registers.known = 1u << REGISTER_SP | 1u << REGISTER_IP;
}

static void read_thread(const struct process *process, struct thread_look *look)
{
	char *status = read_thread_file(process, look->tid, "status"),
	     *schedstat = read_thread_file(process, look->tid, "schedstat");
	char *call = read_thread_file(process, look->tid, "syscall"),
	     *state = status ? strstr(status, "\nState:\t") : NULL;

	look->state = state ? state[8] : '?';
	look->switches = field(status, "\nvoluntary_ctxt_switches:") + field(status, "\nnonvoluntary_ctxt_switches:");
	look->ran = schedstat ? strtoull(schedstat, NULL, 10) : 0;
	if (call)
		read_system_call(look, call);
	free(status);
	free(schedstat);
	free(call);
}

static int take_process(struct taking *t, const struct process *process)
{
	char path[32];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		struct looks *looks = t->looks;
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0 || looks->count >= THREADS_MOST)
			continue;
		if (array_one_more(&looks->threads, &t->room, looks->count, sizeof(looks->threads[0]))) {
			closedir(folder);
			return -ENOMEM;
		}
		looks->threads[looks->count] = (struct thread_look){
			.pid = process->pid, .tid = tid, .time = t->time, .system_call = -1, .torn = true
		};
		read_thread(process, &looks->threads[looks->count++]);
	}
	if (folder)
		closedir(folder);
	return 0;
}

/* --- both --------------------------------------------------------------- */

static const struct process *process_of(struct process *const *processes, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (processes[i]->pid == pid)
			return processes[i];
	return NULL;
}

static void copy_stack(const struct process *process, struct thread_look *look)
{
	uint64_t sp = look->registers.value[REGISTER_SP];
	const struct mapping *mapping = look->registers.known >> REGISTER_SP & 1 ? process_mapping_at(process, sp)
										 : NULL;
	uint64_t from, size;
	ssize_t got;

	free(look->stack);
	look->stack = NULL;
	look->stack_size = 0;
	if (!mapping)
		return;
	from = sp - mapping->start > ARCH_RED_ZONE ? sp - ARCH_RED_ZONE : mapping->start;
	size = mapping->end - from < STACK_MOST ? mapping->end - from : STACK_MOST;
	look->stack = malloc(size);
	if (!look->stack)
		return;
	got = memory_read(process->pid, from, look->stack, size);
	look->stack_size = got > 0 ? got : 0;
	look->stack_at = from;
}

static void copy_stacks(struct looks *looks, struct process *const *processes, size_t count)
{
	const struct process *process = NULL;

	for (size_t i = 0; i < looks->count; i++) {
		struct thread_look *look = &looks->threads[i];

		if (!process || process->pid != look->pid)
			process = process_of(processes, count, look->pid);
		if (process && look->torn)
			copy_stack(process, look);
	}
}

static size_t count_torn(const struct looks *looks)
{
	size_t count = 0;

	for (size_t i = 0; i < looks->count; i++)
		count += looks->threads[i].torn;
	return count;
}

/* ms for each sample of this round (the first is 1). */
static int patience(const struct looks *looks, int round)
{
	size_t torn = count_torn(looks);
	int wished = PATIENCE_MS, share = torn ? PATIENCE_ALL_MS / torn : PATIENCE_ALL_MS;

	while (--round > 0)
		wished *= PATIENCE_MORE;
	return share < PATIENCE_MS ? PATIENCE_MS : share < wished ? share : wished;
}

/* Those that run, and those that have run meanwhile. */
static void catch_running(struct looks *looks, int round)
{
	int wait = patience(looks, round);
	size_t tried = 0;

	for (size_t i = 0; i < looks->count && tried < SAMPLES_MOST; i++) {
		struct thread_look *look = &looks->threads[i];
		int err;

		if (!look->torn)
			continue;
		err = sample_thread(look, wait);
		if (err && err != -EAGAIN && err != -ESRCH)
			return; /* no rights: it will be so for all */
		tried++;
	}
}

/* By /proc: who has run since the first reading is torn. */
static void check_again(struct looks *looks, struct process *const *processes, size_t count)
{
	for (size_t i = 0; i < looks->count; i++) {
		struct thread_look *look = &looks->threads[i], again = { .tid = look->tid, .system_call = -1 };
		const struct process *process = process_of(processes, count, look->pid);

		if (process)
			read_thread(process, &again);
		look->torn = again.switches != look->switches || again.ran != look->ran || !look->registers.known ||
			     again.state != look->state;
	}
}

static int take_by_kernel(struct looks *looks, const struct look_bpf *bpf, struct process *const *processes,
			  size_t count)
{
	struct taking t = { .looks = looks, .time = clock_monotonic() };
	int err;

	CPU_ZERO(&t.cpus);
	looks->by_kernel = true;
	err = iterate_looks(bpf, take_first, &t);
	if (err || t.failed)
		return err ?: -ENOMEM;
	if (looks->count)
		qsort(looks->threads, looks->count, sizeof(looks->threads[0]), by_thread);
	err = iterate(bpf->progs.returns, sizeof(struct gb_return), take_return, &t);
	for (int round = 0; !err && round < ROUNDS && count_torn(looks); round++) {
		if (round)
			catch_running(looks, round);
		if (round && count_torn(looks))
			err = iterate_looks(bpf, take_torn, &t);
		copy_stacks(looks, processes, count);
		if (!err)
			err = iterate_looks(bpf, take_second, &t);
	}
	if (!err)
		err = iterate(bpf->progs.returns, sizeof(struct gb_return), take_return_again, &t);
	put_returns_back(looks);
	if (!err)
		measure_still(bpf, &t);
	return err;
}

static int take_by_proc(struct looks *looks, struct process *const *processes, size_t count)
{
	struct taking t = { .looks = looks, .time = clock_monotonic() };
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = take_process(&t, processes[i]);
	if (looks->count)
		qsort(looks->threads, looks->count, sizeof(looks->threads[0]), by_thread);
	copy_stacks(looks, processes, count);
	check_again(looks, processes, count);
	catch_running(looks, 1);
	return err;
}

int looks_take(struct looks *looks, struct looker *looker, struct process *const *processes, size_t count)
{
	memset(looks, 0, sizeof(*looks));
	if (!looker)
		return take_by_proc(looks, processes, count);
	return want(looker, processes, count) ?: take_by_kernel(looks, looker->bpf, processes, count);
}
