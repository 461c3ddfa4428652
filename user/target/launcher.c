/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launcher.c - is all that a process does to start others?
 *
 * Shells, launchers of ranks, timeout, env, numactl, strace: there is no end of them, so a list of names would not do.
 * What they have in common is what they are made of and what they are told:
 *
 *   a shell     has the names of commands in its data that POSIX wants built into shells, and that nothing else has a
 * use for; the others  can become another program (they import a function of the exec family, or a library does that
 * waits for what it starts), are told which one (the first file among their words is a program), and cannot be extended
 * (they import no dlopen themselves). An interpreter, which does work of its own, can: a file that it is given is what
 * it works on.
 *
 * Where this cannot tell, as with a program that takes what it starts from a file, it says no: what such a process
 * turns out to be shows in what it starts (user/observe/launchers.c).
 */
#include "target/target.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/elf_file.h"
#include "target/image_private.h"
#include "target/proc.h"
#include "target/reader.h"
#include "util/array.h"
#include "util/files.h"

#define WORDS_MOST 4000
#define SYMBOLS_MOST (64u << 20) /* bytes */
#define FIRST_LINE 256

/* What is worth knowing of a file, which is looked at once. */
struct file_facts {
	uint64_t device, inode, changed;
	bool shell, starts, waits, loads, traces;
};

struct launcher_files {
	struct file_facts *facts;
	size_t count, room;
};

struct launcher_files *launcher_files_new(void)
{
	return calloc(1, sizeof(struct launcher_files));
}

void launcher_files_free(struct launcher_files *files)
{
	if (files)
		free(files->facts);
	free(files);
}

/* --- files ------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static void note_import(struct file_facts *facts, const char *name)
{
	static const char *const starting[] = {
		"execve", "execv",    "execvp",  "execvpe",     "execl",        "execlp",
		"execle", "execveat", "fexecve", "posix_spawn", "posix_spawnp", NULL,
	};

	static const char *const waiting[] = { "wait", "waitpid", "waitid", "wait3", "wait4", NULL };

	facts->starts |= is_one_of(name, starting);
	facts->waits |= is_one_of(name, waiting);
	facts->loads |= !strcmp(name, "dlopen");
	facts->traces |= !strcmp(name, "ptrace");
}

static void look_at_imports(struct file_facts *facts, const struct elf_file *elf)
{
	const Elf64_Shdr *table = elf_section_of_type(elf, SHT_DYNSYM), *texts;
	Elf64_Sym *symbols;
	char *names;

	if (!table || table->sh_link >= elf->nsections)
		return;
	texts = &elf->sections[table->sh_link];
	symbols = elf_section_bytes(elf, table, SYMBOLS_MOST);
	names = elf_section_bytes(elf, texts, SYMBOLS_MOST);
	for (size_t i = 0; symbols && names && i < table->sh_size / sizeof(*symbols); i++)
		if (symbols[i].st_shndx == SHN_UNDEF && symbols[i].st_name < texts->sh_size)
			note_import(facts, names + symbols[i].st_name);
	free(symbols);
	free(names);
}

static void look_at_file(struct file_facts *facts, int fd)
{
	const struct image image = { .fd = fd }; /* as much as texts are looked for in */
	struct elf_file elf;

	if (elf_file_read(&elf, fd))
		return;
	look_at_imports(facts, &elf);
	elf_file_free(&elf);
	facts->shell = image_has_text(&image, "getopts") && image_has_text(&image, "unalias");
}

/* Of an open file. */
static struct file_facts facts_of(struct launcher_files *files, int fd)
{
	struct file_facts fresh = { 0 };
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fresh;
	fresh.device = st.st_dev;
	fresh.inode = st.st_ino;
	fresh.changed = st.st_ctim.tv_sec * 1000000000ULL + st.st_ctim.tv_nsec;
	for (size_t i = 0; i < files->count; i++) {
		const struct file_facts *known = &files->facts[i];

		if (known->device == fresh.device && known->inode == fresh.inode && known->changed == fresh.changed)
			return *known;
	}
	look_at_file(&fresh, fd);
	if (!array_one_more(&files->facts, &files->room, files->count, sizeof(*files->facts)))
		files->facts[files->count++] = fresh;
	return fresh;
}

static struct file_facts facts_of_program(struct launcher_files *files, const struct process *process)
{
	struct file_facts facts = { 0 };
	int fd = file_open_proc(process, "exe");

	if (fd < 0)
		return facts;
	facts = facts_of(files, fd);
	close(fd);
	return facts;
}

/* Starts it programs, and waits for them? Many a library could start something aside. */
static bool library_starts(struct launcher_files *files, const struct process *process)
{
	bool starts = false;

	for (size_t i = 0; i < process->nmappings && !starts; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct file_facts facts;
		char name[64];
		int fd;

		if (!mapping->executable || !mapping->inode)
			continue;
		snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)mapping->start,
			 (unsigned long long)mapping->end);
		fd = file_open_proc(process, name);
		if (fd < 0)
			continue;
		facts = facts_of(files, fd);
		starts = facts.starts && facts.waits;
		close(fd);
	}
	return starts;
}

/* --- words ------------------------------------------------------------- */

/* Opens a file as the process would find it, below a folder of /proc/PID. O_PATH descriptor or -1. */
static int open_below(const struct process *process, const char *folder, const char *path)
{
	int below = folder_open_proc(process, folder), fd;

	if (below < 0)
		return -1;
	fd = file_open_below(below, path, process);
	close(below);
	return fd;
}

/* Does its program lie where programs are looked for? A job of the user's own seldom does, and its words are often
 * those of a program, too. */
static bool is_installed(const struct process *process, const char *path)
{
	char program[PATH_MAX];
	size_t folder;

	if (process_program_path(process, program, sizeof(program)) <= 0)
		return false;
	folder = path_base(program) - program - 1;
	for (; *path; path += strcspn(path, ":"), path += *path == ':')
		if (strcspn(path, ":") == folder && !strncmp(path, program, folder))
			return true;
	return false;
}

/* The file that a word means, as if it were to be started. Readable descriptor, or -1: none, or nobody's business. */
static int open_word(const struct process *process, const char *word)
{
	const char *path = process_getenv(process, "PATH") ?: "/usr/local/bin:/usr/bin:/bin";
	char whole[PATH_MAX];
	int fd = -1;

	if (*word == '/')
		return open_below(process, "root", word);
	if (strchr(word, '/'))
		return open_below(process, "cwd", word);
	fd = open_below(process, "cwd", word);
	if (fd < 0 && !is_installed(process, path))
		return fd;
	for (; fd < 0 && *path; path += strcspn(path, ":"), path += *path == ':') {
		int length = strcspn(path, ":");

		if (*path == '/' && snprintf(whole, sizeof(whole), "%.*s/%s", length, path, word) < (int)sizeof(whole))
			fd = open_below(process, "root", whole);
	}
	return fd;
}

/* Is it a script for this very program: does its first line name it? */
static bool is_own_script(const struct process *process, int fd)
{
	char line[FIRST_LINE + 1] = "", program[PATH_MAX], *name;

	if (pread(fd, line, FIRST_LINE, 0) < 2 || strncmp(line, "#!", 2) ||
	    process_program_path(process, program, sizeof(program)) <= 0)
		return false;
	line[strcspn(line, "\n")] = 0;
	name = (char *)path_base(program);
	name[strcspn(name, "0123456789.-")] = 0;
	return *name && strstr(line, name);
}

/* A script, or a program for the kernel; not a library, though that may be marked as executable, too. */
static bool can_be_started(const struct process *process, int fd)
{
	char start[2] = "";
	struct elf_file elf;
	bool program;

	if (pread(fd, start, sizeof(start), 0) == sizeof(start) && !memcmp(start, "#!", 2))
		return !is_own_script(process, fd);
	if (elf_file_read(&elf, fd))
		return false;
	program = elf.header.e_type == ET_EXEC;
	for (size_t i = 0; i < elf.nsegments && !program; i++)
		program = elf.segments[i].p_type == PT_INTERP;
	elf_file_free(&elf);
	return program;
}

enum word { WORD_NO_FILE, WORD_PROGRAM, WORD_OTHER_FILE };

static enum word look_at_word(const struct process *process, const char *word)
{
	int fd = open_word(process, word);
	enum word what = WORD_NO_FILE;
	struct stat st;

	if (fd < 0)
		return what;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		what = st.st_mode & 0111 && can_be_started(process, fd) ? WORD_PROGRAM : WORD_OTHER_FILE;
	close(fd);
	return what;
}

/* Is the first file among its words a program? What follows an option may belong to that. */
static bool is_told_a_program(const struct process *process)
{
	size_t size = 0, words = 0;
	char *text = reader_file(process->proc_fd, "cmdline", process->pid, ENVIRONMENT_MOST, &size);
	enum word what = WORD_NO_FILE;
	bool after_option = false;

	for (const char *word = text; text && what == WORD_NO_FILE && word < text + size && words < WORDS_MOST;
	     word += strlen(word) + 1) {
		bool option = *word == '-';

		if (!words++ || !*word)
			continue;
		if (!option && !strchr(word, '='))
			what = look_at_word(process, word);
		if (what == WORD_OTHER_FILE && after_option)
			what = WORD_NO_FILE;
		after_option = option;
	}
	free(text);
	return what == WORD_PROGRAM;
}

/* --- the answer -------------------------------------------------------- */

enum launcher process_is_launcher(struct launcher_files *files, const struct process *process)
{
	struct file_facts facts = facts_of_program(files, process);

	if (facts.shell)
		return LAUNCHER_YES;
	if (facts.loads || !is_told_a_program(process))
		return LAUNCHER_NO;
	return facts.starts || library_starts(files, process) ? LAUNCHER_YES : LAUNCHER_MAYBE;
}

bool process_traces(struct launcher_files *files, const struct process *process)
{
	return facts_of_program(files, process).traces;
}

bool process_loads(struct launcher_files *files, const struct process *process)
{
	return facts_of_program(files, process).loads;
}
