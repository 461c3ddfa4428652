/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image_private.h - private to user/target: what an image holds behind its door.
 */
#ifndef GASPBPF_TARGET_IMAGE_PRIVATE_H
#define GASPBPF_TARGET_IMAGE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf_file.h"
#include "target/target.h"

#define NAME_TABLES 4 /* .dynstr, .strtab, that of .gnu_debugdata, that of the debug file */

struct dwarf_reader;
struct inlined_names;

/* What is kept of files, and counted for that reason. */
enum room { ROOM_NAMES, ROOM_DWARF, ROOMS };

#define REFUSED_ROOM (1u << EFFORTS)          /* and those after it: of the rooms */
#define REFUSED_WHOLE (REFUSED_ROOM << ROOMS) /* the file is left out */

/* Which file it is, and in which state. */
struct file_state {
	uint64_t device, inode, size;
	int64_t changed; /* ns, of its inode */
};

struct stat;
struct file_state file_state_of(const struct stat *status);
bool file_state_is(const struct file_state *a, const struct file_state *b);

struct image_private {
	struct code_segment *code;
	size_t ncode;
	char *names[NAME_TABLES]; /* the string tables that symbol names point into */
	size_t nnames;
	uint32_t *by_offset;  /* indices of symbols in ascending order of offset */
	const char **imports; /* undefined names of .dynsym, sorted; they point into `names` */
	size_t nimports, imports_room;
	int debug_fd;                  /* separate debug file with the DWARF; -1: none */
	int alternate_fd;              /* what dwz moved out of the DWARF into a file of its own; -1: none */
	struct dwarf_reader *dwarf;    /* NULL: not opened yet */
	bool dwarf_failed;             /* do not try again */
	struct inlined_names *inlined; /* NULL: not read yet */
	struct unwind_range *unwind;   /* sorted by address */
	size_t nunwind;
	bool unwind_read;
	struct image_call *calls; /* sorted by return_offset */
	size_t ncalls;
	bool calls_read;
	bool *texts; /* which of a list's it has (traits.c); NULL: nobody has asked, or it is not known */
	const char *const *texts_of; /* that list, borrowed: only to be compared */
	size_t ntexts;
	/* reading.c: */
	struct file_state state; /* as it was opened */
	uint64_t size;           /* bytes of the file, and of the one with its DWARF */
	uint64_t read[EFFORTS];  /* steps so far */
	size_t kept[ROOMS];      /* bytes */
	unsigned refused;        /* bits: efforts, and the ones below: what of it was too much */
};

static inline struct image_private *private_of(const struct image *image)
{
	return image->private_data;
}

/* --- reading.c --- */

/* The image's file is this one: what was too much of it before is so again. */
void reading_begins(const struct image *image, const struct stat *status);
/* Some of it, or all, is too much. True: that is to be said. */
bool reading_refuses(const struct image *image, unsigned what);
/* May so many more bytes of it be kept? Where not, that is said. */
bool reading_keeps(const struct image *image, enum room room, size_t bytes);
void reading_lets_go(const struct image *image, enum room room);
typedef int (*reading_order_fn)(const void *left, const void *right, void *context);
/*
 * As qsort_r(), but equal ones keep their order, and breath is taken. 0, -ENOMEM, or -ECANCELED: the work is to end,
 * and it is not sorted.
 */
int reading_sorts(void *all, size_t count, size_t size, reading_order_fn compare, void *context);

/* --- symbols.c --- */

/* Code address of a file offset; false: not in an executable segment. */
bool code_address_of(const struct image_private *priv, uint64_t offset, uint64_t *address);

/* Adds the functions of .dynsym (dynamic) or .symtab of `elf`, which may be a debug file of the image. 0 or -errno. */
int symbols_add(struct image *image, const struct elf_file *elf, bool dynamic);
/* Sorts and de-duplicates what was added. Lookups work from now on. 0 or -ENOMEM. */
int symbols_finish(struct image *image);

/* --- minidebug.c --- */

/* The ELF file inside .gnu_debugdata, unpacked into a memory file: a descriptor, -ENOENT: none, or -errno. */
int minidebug_open(const struct elf_file *elf);

/* --- open_file.c --- */

/*
 * Opens a regular file for reading, below `root` (an O_PATH descriptor) as that root's processes would see it; NULL
 * owner, or the process whose rights are tried where ours do not suffice (a file server that does not trust root).
 * A descriptor or -errno; -ENOEXEC: not a regular file. Nothing is said.
 */
int file_open_below(int root, const char *path, const struct process *owner);
/* The same for a name in /proc/PID (exe, map_files/...). */
int file_open_proc(const struct process *process, const char *name);
/* The folder that a link of /proc/PID leads to: an O_PATH descriptor or -errno. */
int folder_open_proc(const struct process *process, const char *name);
/* The same for a path that our own user gave. (file_open_named(): where we may not any more.) */
int file_open_path(const char *path);

/* --- debug_file.c --- */

/* The separate debug file that belongs to the image: a descriptor or -ENOENT. */
int debug_file_open(const struct elf_file *elf, const char *build_id, const char *path, int root,
		    const struct process *owner);
/*
 * The file that dwz moved parts of the DWARF of `elf` to. A descriptor, -ENOENT: it needs none, -ENOMEDIUM: it needs
 * one that cannot be had.
 */
int alternate_file_open(const struct elf_file *elf, int root, const struct process *owner);
/* The build-id in hex, malloc'ed; NULL: none. */
char *elf_build_id(const struct elf_file *elf);
/* Whether it has a .debug_info with content. */
bool elf_has_dwarf(const struct elf_file *elf);

/* --- dwarf.c, inlined.c --- */

void dwarf_reader_free(struct dwarf_reader *reader);
void inlined_names_free(struct inlined_names *set);

#endif
