/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind.c - from registers and a copy of the stack to the functions that a thread is in.
 *
 * libdwfl does the unwinding, by the call frame information in each file's .eh_frame. It is handed everything: which
 * files are mapped where (opened as the process has them mapped, so those of containers and deleted ones are right),
 * the registers, and memory from the copy of the stack alone, so that what it sees is of one moment. Frames are
 * bounded in number; libdw bounds the steps of each expression. Not bounded is what rules
 * remember: of a file made for that it takes some 230 bytes of memory for each byte (target/unwind_rows.c).
 *
 * It never gets a file of the process itself: it would map it, and a file that its owner cuts short then ends us
 * (SIGBUS). It gets a copy in memory that holds the call frame information, where it stands in the file, and nothing
 * in between.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/look_private.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

#define VDSO_MOST (1u << 20)
#define MODULES_MOST 4096u /* libdwfl looks through all of them for each that is added */

struct known_file {
	uint64_t device, inode;
	struct image *image; /* NULL: no ELF file of ours */
	uint8_t *frames;     /* its call frame information, as a file; NULL: not asked for yet, or not to be had */
	size_t size;
};

struct stack_files {
	struct known_file *files;
	size_t count, room;
	struct kept_steps *steps; /* NULL: none yet */
};

/* Neighbouring mappings of one file, as its loader put them. */
struct module {
	uint64_t start, end;
	const struct mapping *code; /* the first executable one */
	bool vdso;
	uint8_t *memory; /* of the vdso */
};

struct stack_space {
	struct stack_files *files;
	struct process *process;
	Dwfl *dwfl;
	struct module *modules;
	size_t nmodules, room;
	const struct thread_look *look; /* that is being unwound */
	struct stack_frame *frames;
	size_t nframes, most;
	bool guessed;
	bool leaves_overlooked; /* the function of the last frame has not put ARCH_OVERLOOKED anywhere */
};

/* --- files -------------------------------------------------------------- */

struct stack_files *stack_files_new(void)
{
	return calloc(1, sizeof(struct stack_files));
}

void stack_files_free(struct stack_files *files)
{
	for (size_t i = 0; files && i < files->count; i++) {
		if (files->files[i].image)
			image_close(files->files[i].image);
		if (files->files[i].frames)
			munmap(files->files[i].frames, files->files[i].size);
	}
	if (files) {
		kept_steps_free(files->steps);
		free(files->files);
	}
	free(files);
}

struct kept_steps **space_kept_steps(struct stack_space *space)
{
	return &space->files->steps;
}

/* NULL: none of ours. */
static struct known_file *file_of(struct stack_space *space, const struct mapping *mapping)
{
	struct stack_files *files = space->files;
	struct known_file fresh = { .device = mapping->device, .inode = mapping->inode };

	if (!mapping->inode)
		return NULL;
	for (size_t i = 0; i < files->count; i++)
		if (files->files[i].inode == mapping->inode && files->files[i].device == mapping->device)
			return files->files[i].image ? &files->files[i] : NULL;
	if (array_one_more(&files->files, &files->room, files->count, sizeof(fresh)))
		return NULL;
	if (image_open_mapped(&fresh.image, space->process, mapping))
		fresh.image = NULL;
	files->files[files->count] = fresh;
	return files->files[files->count++].image ? &files->files[files->count - 1] : NULL;
}

const struct mapping *space_mapping(const struct stack_space *space, uint64_t address)
{
	return process_mapping_at(space->process, address);
}

struct image *stack_image(struct stack_space *space, uint64_t address, uint64_t *offset)
{
	const struct mapping *mapping = process_mapping_at(space->process, address);
	struct known_file *file = mapping && mapping->executable ? file_of(space, mapping) : NULL;

	if (!file)
		return NULL;
	*offset = mapping->offset + (address - mapping->start);
	return file->image;
}

/* --- memory ------------------------------------------------------------- */

static bool in_copy(const struct thread_look *look, uint64_t address, size_t size)
{
	return look->stack && address >= look->stack_at && address - look->stack_at < look->stack_size &&
	       size <= look->stack_size - (address - look->stack_at);
}

bool stack_read(const struct stack_space *space, const struct thread_look *look, uint64_t address, void *bytes,
		size_t size)
{
	if (!in_copy(look, address, size))
		return !process_read(space->process, address, bytes, size);
	memcpy(bytes, look->stack + (address - look->stack_at), size);
	return true;
}

/* --- libdwfl's questions ------------------------------------------------ */

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *argument)
{
	const struct stack_space *space = argument;
	const struct thread_look *look = space->look;

	if (!in_copy(look, address, sizeof(*word)))
		return false;
	memcpy(word, look->stack + (address - look->stack_at), sizeof(*word));
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread)
{
	struct stack_space *space = argument;

	if (*thread)
		return 0;
	*thread = space;
	return space->look->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *argument, void **thread)
{
	*thread = argument;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
	const struct registers *registers = &((struct stack_space *)argument)->look->registers;

	for (int i = 0; i < GB_LOOK_REGISTERS; i++) {
		Dwarf_Word value = registers->value[i];

		if (registers->known >> i & 1 && !dwfl_thread_state_registers(thread, i, 1, &value))
			return false;
	}
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

/* The vdso has no file; it is small, and in memory as the linker made it. */
static Elf *vdso_elf(struct stack_space *space, struct module *module)
{
	size_t size = module->end - module->start;

	if (size > VDSO_MOST)
		return NULL;
	module->memory = malloc(size);
	if (!module->memory || process_read(space->process, module->start, module->memory, size))
		return NULL;
	return elf_memory((char *)module->memory, size);
}

/* The file's call frame information alone. */
static Elf *frames_elf(struct known_file *file)
{
	if (!file->frames)
		file->frames = image_frames(file->image, &file->size);
	return file->frames ? elf_memory((char *)file->frames, file->size) : NULL;
}

static int find_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file_name, Elf **elf)
{
	struct stack_space *space = *data;
	struct known_file *file;

	for (size_t i = 0; space && i < space->nmodules; i++) {
		if (space->modules[i].start != base)
			continue;
		if (space->modules[i].vdso) {
			*elf = vdso_elf(space, &space->modules[i]);
			return -1;
		}
		file = file_of(space, space->modules[i].code);
		*elf = file ? frames_elf(file) : NULL;
		return -1;
	}
	return -1;
}

/* Only .eh_frame is wanted, which is in the file itself. */
static int find_nothing(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, const char *file_name,
			const char *link, GElf_Word crc, char **found)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_nothing };

/* --- a process ---------------------------------------------------------- */

static bool is_vdso(const struct mapping *mapping)
{
	return !mapping->inode && mapping->path && !strcmp(mapping->path, "[vdso]");
}

static int find_modules(struct stack_space *space)
{
	const struct process *process = space->process;

	for (size_t i = 0; i < process->nmappings;) {
		const struct mapping *first = &process->mappings[i];
		struct module module = { .start = first->start, .vdso = is_vdso(first) };

		for (; i < process->nmappings; i++) {
			const struct mapping *mapping = &process->mappings[i];

			if (mapping->inode != first->inode || mapping->device != first->device ||
			    (mapping != first && (!mapping->inode || !mapping->offset)))
				break;
			module.end = mapping->end;
			if (mapping->executable && !module.code)
				module.code = mapping;
		}
		if (!module.code || (!first->inode && !module.vdso))
			continue;
		if (space->nmodules == MODULES_MOST) {
			log_warn("%d: maps code more than %u times: calls from further ones are not recognised on its "
				 "stacks",
				 process->pid, MODULES_MOST);
			break;
		}
		if (array_one_more(&space->modules, &space->room, space->nmodules, sizeof(module)))
			return -ENOMEM;
		space->modules[space->nmodules++] = module;
	}
	return 0;
}

static int report_modules(struct stack_space *space)
{
	char name[32];

	dwfl_report_begin(space->dwfl);
	for (size_t i = 0; i < space->nmodules; i++) {
		Dwfl_Module *mod;
		void **data;

		snprintf(name, sizeof(name), "%zu", i);
		mod = dwfl_report_module(space->dwfl, name, space->modules[i].start, space->modules[i].end);
		if (!mod)
			continue; /* mappings that make no sense: without this file */
		dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
		*data = space;
	}
	return dwfl_report_end(space->dwfl, NULL, NULL) ? -EINVAL : 0;
}

/* libdwfl takes the machine from a file; any of the process's will do. */
static int attach(struct stack_space *space)
{
	for (size_t i = 0; i < space->nmodules; i++) {
		Dwfl_Module *mod = dwfl_addrmodule(space->dwfl, space->modules[i].start);
		GElf_Addr bias;
		Elf *elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;

		if (elf && dwfl_attach_state(space->dwfl, elf, space->process->pid, &thread_callbacks, space))
			return 0;
	}
	return -ENOTSUP;
}

int stack_space_new(struct stack_space **made, struct stack_files *files, struct process *process)
{
	struct stack_space *space = calloc(1, sizeof(*space));
	int err;

	if (!space)
		return -ENOMEM;
	space->files = files;
	space->process = process;
	space->dwfl = dwfl_begin(&callbacks);
	err = space->dwfl ? find_modules(space) : -ENOMEM;
	if (!err)
		err = report_modules(space);
	if (!err)
		err = attach(space);
	if (err) {
		stack_space_free(space);
		return err;
	}
	*made = space;
	return 0;
}

void stack_space_free(struct stack_space *space)
{
	if (!space)
		return;
	if (space->dwfl)
		dwfl_end(space->dwfl);
	for (size_t i = 0; i < space->nmodules; i++)
		free(space->modules[i].memory);
	free(space->modules);
	free(space);
}

/* Does the file say how the function at this address is left? And that it does nothing with ARCH_OVERLOOKED? */
static bool has_frame_information(const struct stack_space *space, uint64_t pc, bool *leaves_overlooked)
{
	Dwfl_Module *mod = dwfl_addrmodule(space->dwfl, pc);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	Dwarf_Frame *frame = NULL;
	bool has = cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &frame);
	Dwarf_Op memory[3], *ops;
	size_t count;

	*leaves_overlooked = has && !dwarf_frame_register(frame, ARCH_OVERLOOKED, memory, &ops, &count) && !count;
	free(frame);
	return has;
}

/*
 * A register that calls keep, and that a function says nothing of, is as it was. Of one of them libdw does not know
 * that.
 */
static void keep_overlooked(struct stack_space *space, struct stack_frame *frame)
{
	const struct stack_frame *called = space->nframes ? frame - 1 : NULL;

	if (!called || !space->leaves_overlooked || !(called->registers.known >> ARCH_OVERLOOKED & 1))
		return;
	frame->registers.value[ARCH_OVERLOOKED] = called->registers.value[ARCH_OVERLOOKED];
	frame->registers.known |= 1u << ARCH_OVERLOOKED;
}

static int take_frame(Dwfl_Frame *state, void *argument)
{
	struct stack_space *space = argument;
	struct stack_frame *frame = &space->frames[space->nframes];
	Dwarf_Word value;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(state, &pc, &exact) || !pc)
		return DWARF_CB_ABORT;
	*frame = (struct stack_frame){ .pc = pc, .exact = exact, .guessed = space->guessed };
	for (int i = 0; i < REGISTER_IP; i++) {
		if (dwfl_frame_reg(state, i, &value))
			continue;
		frame->registers.value[i] = value;
		frame->registers.known |= 1u << i;
	}
	frame->image = stack_image(space, pc - !exact, &frame->offset);
	frame->offset += frame->image && !exact;
	keep_overlooked(space, frame);
	if (!has_frame_information(space, pc - !exact, &space->leaves_overlooked))
		space->guessed = true;
	return ++space->nframes < space->most ? DWARF_CB_OK : DWARF_CB_ABORT;
}

size_t stack_unwind(struct stack_space *space, const struct thread_look *look, struct stack_frame *frames, size_t most)
{
	if (look->torn || !look->registers.known || !look->stack || !most)
		return 0;
	space->look = look;
	space->frames = frames;
	space->most = most;
	space->nframes = 0;
	space->guessed = false;
	dwfl_getthread_frames(space->dwfl, look->tid, take_frame, space);
	space->look = NULL;
	return space->nframes;
}
