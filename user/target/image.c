/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image.c - an ELF file that is mapped into a target: what it is, and the functions in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/image_private.h"
#include "target/reader.h"
#include "util/files.h"
#include "util/log.h"

#define DYNAMIC_MOST (16u << 20) /* bytes of PT_DYNAMIC */
#define DYNAMIC_STRINGS_MOST (1ull << 30)
#define NEEDED_MOST 256
#define SONAME_MOST 4096u
#define RUNPATH_MOST 16384 /* package managers put a folder there for each library */
#define NOTE_GO_BUILD_ID 4u
#define TOO_LARGE                                                                                                    \
	"is larger than gaspbpf reads (4 GiB), or mostly holes (more than 64 bytes for each one that is there), or " \
	"has more than 128 segments: left out"

/* Where an image comes from. */
struct origin {
	const char *path;
	uint64_t device, inode;
	int root;                    /* O_PATH: where its debug file is looked for */
	const struct process *owner; /* may be NULL */
};

/* --- what it is -------------------------------------------------------- */

/* What PT_DYNAMIC says. */
struct dynamic {
	bool there, pie;
	uint64_t strings, strings_size, soname;
	bool has_soname;
	uint64_t needed[NEEDED_MOST]; /* as soname: offsets in strings */
	size_t nneeded;
	uint64_t runpath, rpath; /* likewise; 0: none */
};

static const Elf64_Phdr *segment_of_type(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->nsegments; i++)
		if (elf->segments[i].p_type == type)
			return &elf->segments[i];
	return NULL;
}

static void dynamic_read(const struct elf_file *elf, struct dynamic *dynamic)
{
	const Elf64_Phdr *segment = segment_of_type(elf, PT_DYNAMIC);
	Elf64_Dyn *entries;

	memset(dynamic, 0, sizeof(*dynamic));
	entries = segment ? elf_bytes(elf, segment->p_offset, segment->p_filesz, DYNAMIC_MOST) : NULL;
	if (!entries)
		return;
	dynamic->there = true;
	for (size_t i = 0; i < segment->p_filesz / sizeof(*entries) && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_val;

		switch (entries[i].d_tag) {
		case DT_FLAGS_1:
			dynamic->pie = value & DF_1_PIE;
			break;
		case DT_NEEDED:
			if (dynamic->nneeded < NEEDED_MOST)
				dynamic->needed[dynamic->nneeded++] = value;
			break;
		case DT_RUNPATH:
			dynamic->runpath = value;
			break;
		case DT_RPATH:
			dynamic->rpath = value;
			break;
		case DT_STRTAB:
			dynamic->strings = value;
			break;
		case DT_STRSZ:
			dynamic->strings_size = value;
			break;
		case DT_SONAME:
			dynamic->soname = value;
			dynamic->has_soname = true;
			break;
		}
	}
	free(entries);
}

/* The text at this offset of its strings, up to so many bytes, malloc'ed; NULL: none. */
static char *dynamic_text(const struct elf_file *elf, const struct dynamic *dynamic, uint64_t at, uint64_t most)
{
	uint64_t offset, rest;
	char *text, *name;

	if (dynamic->strings_size > DYNAMIC_STRINGS_MOST || at >= dynamic->strings_size ||
	    !elf_offset_of(elf, dynamic->strings, &offset))
		return NULL;
	rest = dynamic->strings_size - at;
	text = elf_bytes(elf, offset + at, rest < most ? rest : most, most);
	if (!text)
		return NULL;
	name = *text ? strdup(text) : NULL;
	if (*text && !name)
		elf_starves(elf);
	free(text);
	return name;
}

static char *dynamic_name(const struct elf_file *elf, const struct dynamic *dynamic, uint64_t at)
{
	return dynamic_text(elf, dynamic, at, SONAME_MOST);
}

static void take_runpath(struct image *image, const struct elf_file *elf, const struct dynamic *dynamic)
{
	uint64_t at = dynamic->runpath ?: dynamic->rpath;

	image->rpath = !dynamic->runpath && dynamic->rpath;
	image->runpath = at ? dynamic_text(elf, dynamic, at, RUNPATH_MOST) : NULL;
}

static char *dynamic_soname(const struct elf_file *elf, const struct dynamic *dynamic)
{
	return dynamic->has_soname ? dynamic_name(elf, dynamic, dynamic->soname) : NULL;
}

/* As in struct image. */
static char *dynamic_needed(const struct elf_file *elf, const struct dynamic *dynamic)
{
	char *list = NULL;
	size_t size = 0;
	FILE *out = dynamic->nneeded ? open_memstream(&list, &size) : NULL;

	if (!out && dynamic->nneeded)
		elf_starves(elf);
	if (!out)
		return NULL;
	for (size_t i = 0; i < dynamic->nneeded; i++) {
		char *name = dynamic_name(elf, dynamic, dynamic->needed[i]);

		if (name)
			fwrite(name, 1, strlen(name) + 1, out);
		free(name);
	}
	fputc('\0', out);
	if (!fclose(out))
		return list;
	elf_starves(elf);
	free(list);
	return NULL;
}

/*
 * libc.so.6 can be started, so an interpreter alone makes no program; linkers from before DF_1_PIE (binutils 2.26)
 * gave libraries an entry point, so that alone makes none either.
 */
static bool is_program(const struct elf_file *elf, const struct dynamic *dynamic, bool has_interpreter)
{
	if (elf->header.e_type == ET_EXEC || dynamic->pie)
		return true;
	if (dynamic->has_soname)
		return false;
	return has_interpreter || (elf->header.e_entry && !dynamic->nneeded);
}

static bool is_go_note(void *context, const char *owner, uint32_t type, const uint8_t *description, size_t size)
{
	bool *go = context;

	*go = !strcmp(owner, "Go") && type == NOTE_GO_BUILD_ID;
	return *go;
}

static bool is_go(const struct elf_file *elf)
{
	bool go = false;

	if (elf_section(elf, ".go.buildinfo") || elf_section(elf, ".gopclntab"))
		return true;
	elf_notes(elf, is_go_note, &go);
	return go;
}

static void read_facts(struct image *image, const struct elf_file *elf)
{
	bool has_interpreter = segment_of_type(elf, PT_INTERP);
	struct dynamic dynamic;

	dynamic_read(elf, &dynamic);
	image->soname = dynamic_soname(elf, &dynamic);
	image->needed = dynamic_needed(elf, &dynamic);
	take_runpath(image, elf, &dynamic);
	image->build_id = elf_build_id(elf);
	image->is_program = is_program(elf, &dynamic, has_interpreter);
	image->is_static = image->is_program && !has_interpreter;
	image->language = is_go(elf) ? IMAGE_GO : IMAGE_NATIVE;
}

/* The executable segments, cut to what the file really has. */
static int read_code(struct image_private *priv, const struct elf_file *elf)
{
	priv->code = calloc(elf->nsegments + 1, sizeof(*priv->code));
	if (!priv->code)
		return -ENOMEM;
	for (size_t i = 0; i < elf->nsegments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		struct code_segment code = { segment->p_vaddr, segment->p_offset, segment->p_filesz };

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || code.offset >= elf->size)
			continue;
		if (code.size > elf->size - code.offset)
			code.size = elf->size - code.offset;
		/* The loader maps whole pages: offset and address agree within a page, or it refuses the file. */
		if (((code.offset ^ code.address) & 0xfff) || code.address + code.size < code.address)
			continue;
		priv->code[priv->ncode++] = code;
	}
	return 0;
}

/* --- symbols from all places ------------------------------------------- */

/* Adds the .symtab of another file that belongs to the image. */
static int add_from(struct image *image, int fd)
{
	struct elf_file elf;
	int error = elf_file_read(&elf, fd);

	if (error)
		return error;
	error = symbols_add(image, &elf, false);
	elf_file_free(&elf);
	return error;
}

static int add_minidebug(struct image *image, const struct elf_file *elf)
{
	int fd = minidebug_open(elf);
	int error;

	if (fd == -EFBIG && reading_refuses(image, REFUSED_ROOM << ROOM_NAMES))
		log_warn("%s: its symbols (.gnu_debugdata) are too large, or packed as no symbols are: left out",
			 log_safe(image->path));
	if (fd < 0)
		return fd;
	error = add_from(image, fd);
	close(fd);
	return error;
}

/* Whether the DWARF in `elf` can be used; takes along the file that it may need. */
static bool dwarf_complete(struct image *image, const struct elf_file *elf, const struct origin *origin)
{
	struct image_private *priv = private_of(image);
	int fd;

	if (!elf_has_dwarf(elf))
		return false;
	fd = alternate_file_open(elf, origin->root, origin->owner);
	if (fd == -ENOMEDIUM) {
		log_info("%s: a part of its DWARF is in another file that is missing: no source lines",
			 log_safe(image->path));
		return false;
	}
	priv->alternate_fd = fd < 0 ? -1 : fd;
	return true;
}

/* The separate debug file is kept open where it has DWARF that the file itself has not. */
static int add_debug_file(struct image *image, const struct elf_file *elf, const struct origin *origin)
{
	struct image_private *priv = private_of(image);
	struct elf_file debug;
	int error = -ENOENT, fd;

	if (image->has_symtab && image->has_dwarf)
		return 0;
	fd = debug_file_open(elf, image->build_id, origin->path, origin->root, origin->owner);
	if (fd < 0)
		return 0;
	error = elf_file_read(&debug, fd);
	if (error) {
		close(fd);
		return error == -ENOMEM ? error : 0;
	}
	error = -ENOENT;
	if (!image->has_symtab)
		error = symbols_add(image, &debug, false);
	image->has_symtab |= !error;
	if (!image->has_dwarf && dwarf_complete(image, &debug, origin)) {
		image->has_dwarf = true;
		priv->debug_fd = fd;
		priv->size += debug.size;
	} else {
		close(fd);
	}
	elf_file_free(&debug);
	return error == -ENOMEM ? error : 0;
}

static void say_damage(const struct image *image, const char *what, int error)
{
	if (error && error != -ENOENT)
		log_info("%s: %s is damaged or too large (%s): some functions may be missing", log_safe(image->path),
			 what, strerror(-error));
}

static int read_symbols(struct image *image, const struct elf_file *elf, const struct origin *origin)
{
	int error;

	error = symbols_add(image, elf, true);
	say_damage(image, ".dynsym", error);
	if (error == -ENOMEM)
		return error;
	error = symbols_add(image, elf, false);
	say_damage(image, ".symtab", error);
	if (error == -ENOENT) {
		error = add_minidebug(image, elf);
		say_damage(image, ".gnu_debugdata", error);
	}
	if (error == -ENOMEM)
		return error;
	image->has_symtab = !error;
	image->has_dwarf = dwarf_complete(image, elf, origin);
	error = add_debug_file(image, elf, origin);
	return error ? error : symbols_finish(image);
}

/* --- opening and closing ----------------------------------------------- */

static struct image *image_new(int fd, const struct origin *origin)
{
	struct image *image = calloc(1, sizeof(*image));
	struct image_private *priv = calloc(1, sizeof(*priv));

	if (image && priv) {
		priv->debug_fd = -1;
		priv->alternate_fd = -1;
		image->private_data = priv;
		image->fd = fd;
		image->device = origin->device;
		image->inode = origin->inode;
		image->path = strdup(origin->path);
		if (image->path)
			return image;
	}
	free(priv);
	free(image);
	close(fd);
	return NULL;
}

/* Takes the descriptor over. */
static int image_open_fd(struct image **result, int fd, const struct origin *origin)
{
	struct image *image = image_new(fd, origin);
	struct elf_file elf;
	int error;

	if (!image)
		return -ENOMEM;
	error = elf_file_read(&elf, fd);
	if (!error || error == -EFBIG)
		reading_begins(image, &elf.status);
	if (error) {
		if (error == -EFBIG && reading_refuses(image, REFUSED_WHOLE))
			log_warn("%s: " TOO_LARGE, log_safe(image->path));
		image_close(image);
		return error;
	}
	if (elf.header.e_type != ET_EXEC && elf.header.e_type != ET_DYN)
		error = -ENOEXEC;
	if (!error && elf.damaged)
		log_info("%s: a table lies outside of the file: it is damaged or cut", log_safe(image->path));
	if (!error)
		error = read_code(private_of(image), &elf);
	if (!error) {
		read_facts(image, &elf);
		error = read_symbols(image, &elf, origin);
	}
	if (elf.starved)
		error = -ENOMEM; /* not a file without names, build id, or a need of others */
	elf_file_free(&elf);
	if (error) {
		image_close(image);
		return error;
	}
	*result = image;
	return 0;
}

void image_let_go(struct image *image)
{
	struct image_private *priv = private_of(image);

	dwarf_reader_free(priv->dwarf);
	priv->dwarf = NULL;
	image->has_dwarf = false;
	if (priv->debug_fd >= 0)
		close(priv->debug_fd);
	if (priv->alternate_fd >= 0)
		close(priv->alternate_fd);
	if (image->fd >= 0)
		close(image->fd);
	priv->debug_fd = priv->alternate_fd = image->fd = -1;
}

void image_close(struct image *image)
{
	struct image_private *priv;

	if (!image)
		return;
	priv = private_of(image);
	image_let_go(image);
	reading_lets_go(image, ROOM_NAMES);
	for (size_t i = 0; i < priv->nnames; i++)
		free(priv->names[i]);
	free(priv->code);
	free(priv->by_offset);
	free(priv->imports);
	free(priv->unwind);
	free(priv->calls);
	free(priv->texts);
	inlined_names_free(priv->inlined);
	free(priv);
	free(image->path);
	free(image->soname);
	free(image->needed);
	free(image->runpath);
	free(image->build_id);
	free(image->symbols);
	free(image);
}

/* Whether this is the file of the mapping. Device numbers of btrfs and overlayfs differ between maps and stat. */
static int same_inode(int fd, const struct mapping *mapping)
{
	struct stat status;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &status) && status.st_ino == mapping->inode)
		return fd;
	close(fd);
	return -ENOENT;
}

/* The same, where the path may be anybody's. */
static int same_file(int fd, const struct mapping *mapping)
{
	struct stat status;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &status) && status.st_ino == mapping->inode && status.st_dev == mapping->device)
		return fd;
	close(fd);
	return -ENOENT;
}

/* The file behind a mapping: the kernel's own link first, paths last. */
static int open_mapping(const struct process *process, const struct mapping *mapping, int root)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)mapping->start,
		 (unsigned long long)mapping->end);
	fd = same_inode(file_open_proc(process, name), mapping); /* another file may lie there by now */
	if (fd >= 0 || fd == -ENOEXEC)
		return fd;
	fd = same_inode(file_open_proc(process, "exe"), mapping);
	if (fd < 0 && root >= 0 && !mapping->deleted)
		fd = same_inode(file_open_below(root, mapping->path, process), mapping);
	/* Of a process whose root is not its mount namespace's (chroot), the kernel tells the way from the latter. */
	if (fd < 0 && !mapping->deleted)
		fd = same_file(file_open_path(mapping->path), mapping);
	return fd;
}

int image_open_mapped(struct image **image, const struct process *process, const struct mapping *mapping)
{
	struct origin origin = {
		.path = mapping->path,
		.device = mapping->device,
		.inode = mapping->inode,
		.owner = process,
	};
	int fd, error;

	if (!mapping->inode || !mapping->path)
		return -ENOEXEC;
	origin.root = folder_open_proc(process, "root");
	fd = open_mapping(process, mapping, origin.root);
	if (fd < 0) {
		error = fd;
		if (error != -ENOEXEC && error != -ESRCH)
			log_info("%s: cannot be opened: %s: left out", log_safe(mapping->path), strerror(-error));
	} else {
		error = image_open_fd(image, fd, &origin);
	}
	if (origin.root >= 0)
		close(origin.root);
	return error;
}

int image_open_file(struct image **image, const char *path)
{
	char *absolute = file_absolute(path);
	struct origin origin = { .path = absolute ? absolute : path, .owner = NULL };
	int fd = -errno, error;

	origin.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (absolute)
		fd = file_open_named(absolute);
	if (fd < 0) {
		error = fd;
		if (error != -ENOEXEC)
			log_error("%s: cannot be opened: %s: check the path", log_safe(path), strerror(-error));
	} else {
		file_identity(fd, &origin.device, &origin.inode);
		error = image_open_fd(image, fd, &origin);
	}
	if (origin.root >= 0)
		close(origin.root);
	free(absolute);
	return error;
}
