/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * step.c - from an exec to the moment when all libraries are mapped.
 *
 * Problem: when a program has just been exec'ed its libraries are not mapped yet: the dynamic linker maps them, then
 * runs their constructors, then jumps to the program. The first call must be seen, so the probes must be in before the
 * constructors. No address in the process may be patched for this: were gaspbpf killed meanwhile, the process would die
 * of it.
 *
 * So the process is stepped from system call to system call. Each time the linker has mapped executable code of a file
 * that nobody has looked at, the caller is asked to. The first system call that is not made by the linker itself ends
 * the stepping, and the caller is asked once more, about the process as a whole. By then every library that the program
 * needs is mapped. With the GNU C library that call is one of its own preparations, before any constructor
 * (since 2.32); with older ones it may come after constructors, but not after the looks at the mappings.
 *
 * Most files are known after the first few programs of a job: probes that are for everybody go with the file, and those
 * of a single process with its link, whatever it maps. A file that was written over in place is another file with an
 * old number: the caller is asked before it is mapped, so that probes meant for the old contents are gone by then.
 *
 * A static program starts in its own code and is not stepped. Where linker and C library are one file (musl) every
 * system call is made from there: after STEPS_MOST the stepping ends by itself.
 */
#include "arch/arch.h"
#include "target/hold_private.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "target/proc.h"
#include "target/reader.h"
#include "util/log.h"

#define STEPS_MOST 20000 /* system calls; a linker makes eight for each library */

/* --- files ------------------------------------------------------------- */

/*
 * The file at this path below /proc/PID; NULL: none, it does not answer, or no memory. *changed: it is known, but has
 * been written to since it was looked at. What is not known yet becomes known as not looked at.
 */
static struct held_file *file_at(struct hold *hold, const struct tracee *t, const char *path, bool *changed)
{
	struct held_file *file, fresh;
	struct stat st;

	*changed = false;
	if (reader_stat(path, t->tid, &st) || !S_ISREG(st.st_mode))
		return NULL;
	memset(&fresh, 0, sizeof(fresh));
	fresh.key.device = st.st_dev;
	fresh.key.inode = st.st_ino;
	fresh.size = st.st_size;
	fresh.changed = st.st_ctim.tv_sec * 1000000000ULL + st.st_ctim.tv_nsec;
	HASH_FIND(hh, hold->files, &fresh.key, sizeof(fresh.key), file);
	if (file) {
		*changed = file->looked_at && (file->size != fresh.size || file->changed != fresh.changed);
		if (*changed)
			file->looked_at = false;
	} else {
		file = malloc(sizeof(*file));
		if (!file)
			return NULL;
		*file = fresh;
		HASH_ADD(hh, hold->files, key, sizeof(file->key), file);
		if (!file->hh.tbl) {
			free(file);
			return NULL;
		}
	}
	file->size = fresh.size;
	file->changed = fresh.changed;
	return file;
}

void step_forget(struct hold *hold)
{
	struct held_file *file, *next;

	HASH_ITER (hh, hold->files, file, next) {
		HASH_DEL(hold->files, file);
		free(file);
	}
}

static bool needs_look(const struct held_file *file)
{
	return file && !file->looked_at;
}

/* --- stepping ---------------------------------------------------------- */

/* The first question after an exec says so. */
static void ask(struct hold *hold, struct tracee *t, enum hold_kind kind)
{
	struct hold_notice notice = { .kind = kind, .program = !t->told, .other_thread = !t->told && t->other_thread };

	t->told = true;
	hold_ask(hold, t, notice);
}

/* All libraries are mapped. */
static void finish(struct hold *hold, struct tracee *t)
{
	t->stepping = false;
	t->ready = true;
	ask(hold, t, HOLD_READY);
}

static void go_on(struct hold *hold, struct tracee *t)
{
	if (t->linker_end)
		hold_resume(hold, t);
	else
		finish(hold, t); /* static: nothing to wait for */
}

/* The linker is where the first instruction of a dynamic program lies; a static one starts in its own text. */
static struct held_file *find_linker(struct hold *hold, struct tracee *t, const struct mapping *mappings, size_t count)
{
	uint64_t address;
	const struct mapping *at = NULL;
	char path[80];
	bool changed;

	if (!arch_stopped_at(t->tid, &address))
		return NULL;
	for (size_t i = 0; i < count && !at; i++)
		if (address >= mappings[i].start && address < mappings[i].end)
			at = &mappings[i];
	if (!at || !at->inode || (at->inode == mappings[0].inode && at->device == mappings[0].device))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (mappings[i].inode != at->inode || mappings[i].device != at->device)
			continue;
		if (!t->linker_end)
			t->linker_start = mappings[i].start;
		t->linker_end = mappings[i].end;
	}
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", t->tid, (unsigned long long)at->start,
		 (unsigned long long)at->end);
	return file_at(hold, t, path, &changed);
}

void step_begin(struct hold *hold, struct tracee *t, bool other_thread)
{
	struct mapping *mappings = NULL;
	size_t size, count = 0;
	char path[40], *text;
	bool changed;

	t->stepping = true;
	t->ready = t->told = false;
	t->other_thread = other_thread;
	t->steps = 0;
	t->linker_start = t->linker_end = 0;
	t->mapping = t->asked[1] = NULL;
	snprintf(path, sizeof(path), "/proc/%d/exe", t->tid);
	t->asked[0] = file_at(hold, t, path, &changed);
	snprintf(path, sizeof(path), "/proc/%d/maps", t->tid);
	text = reader_file(-1, path, t->tid, MAPS_BYTES, &size);
	if (text && !maps_parse(text, size, &mappings, &count))
		t->asked[1] = find_linker(hold, t, mappings, count);
	free(text);
	maps_free(mappings, count);
	if (other_thread || needs_look(t->asked[0]) || needs_look(t->asked[1]))
		ask(hold, t, HOLD_LOOK);
	else
		go_on(hold, t);
}

/* The linker is about to map a file of code. */
static void before_mapping(struct hold *hold, struct tracee *t, int fd)
{
	char path[40];
	bool changed;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	t->mapping = file_at(hold, t, path, &changed);
	t->asked[0] = t->asked[1] = NULL;
	if (changed)
		ask(hold, t, HOLD_LOOK);
	else
		hold_resume(hold, t);
}

/* It has mapped it. */
static void after_mapping(struct hold *hold, struct tracee *t, bool failed)
{
	struct held_file *file = t->mapping;

	t->mapping = NULL;
	if (failed || !needs_look(file)) {
		hold_resume(hold, t);
		return;
	}
	t->asked[0] = file;
	t->asked[1] = NULL;
	ask(hold, t, HOLD_LOOK);
}

void step_syscall(struct hold *hold, struct tracee *t)
{
	struct __ptrace_syscall_info call;

	/* Not by counting: the first stop after an exec is the end of the exec itself. */
	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(call), &call) < 0) {
		hold_resume(hold, t);
		return;
	}
	if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
		bool own = call.instruction_pointer >= t->linker_start && call.instruction_pointer < t->linker_end;

		t->mapping = NULL;
		if (!own || call.arch != ARCH_AUDIT || ++t->steps > STEPS_MOST) {
			log_debug("%d: its libraries are mapped: system call %llu is its own", t->tid,
				  (unsigned long long)call.entry.nr);
			finish(hold, t);
		} else if (call.entry.nr == SYS_mmap && call.entry.args[2] & PROT_EXEC &&
			   (int)call.entry.args[4] >= 0 && !(call.entry.args[3] & MAP_ANONYMOUS)) {
			before_mapping(hold, t, call.entry.args[4]);
		} else {
			hold_resume(hold, t);
		}
	} else if (t->mapping) {
		after_mapping(hold, t, call.op == PTRACE_SYSCALL_INFO_EXIT && call.exit.is_error);
	} else {
		hold_resume(hold, t);
	}
}

void step_answered(struct hold *hold, struct tracee *t, enum hold_answer answer)
{
	if (t->ready) {
		t->ready = false;
		t->leaving = answer == HOLD_RELEASE;
		hold_resume(hold, t);
		return;
	}
	for (int i = 0; i < 2; i++) {
		/* Asked before the mapping: it will be asked once more, after it. */
		if (t->asked[i] && !t->mapping)
			t->asked[i]->looked_at = true;
		t->asked[i] = NULL;
	}
	go_on(hold, t);
}
