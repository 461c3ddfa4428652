/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - the door of user/target: which processes, which mapped files,
 * which symbols, which source lines.
 *
 * Everything read here was written by users: ELF, DWARF, maps, environment. All
 * sizes are checked, nothing is followed by path where the kernel offers the
 * object itself (/proc/PID/map_files, pidfd).
 */
#ifndef GASPBPF_TARGET_H
#define GASPBPF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/breath.h"
#include "util/files.h"

/* --- the reader --------------------------------------------------------- */

/*
 * What main() asks first: was this program started to read targets' memory for another gaspbpf (reader.c)? Then
 * reader_serve() is all it is to do. A program that does not ask reads by itself, and can be kept waiting by what it
 * reads.
 */
bool reader_asked(const char *name);
int reader_serve(const char *argument); /* argument: what follows that name, or NULL */
/*
 * Starts what will start readers: with the rights that this process has now, which it may give up then. sampling:
 * sampler_open() is to work then, too. 0 or -errno.
 */
int reader_prepare(bool sampling);
/* Has that ended? Then nothing more can be read of others. Does not wait. */
bool reader_lost(void);

/*
 * Samples of a thread while it runs its own code, at ticks of its processor's clock: a perf event, whose ring the
 * caller maps. registers, stack: which and how many bytes it gives (perf_event_open(2)). Opened by another process
 * where this one has given up the right to. A descriptor or -errno, not said.
 */
int sampler_open(pid_t tid, uint64_t registers, uint32_t stack);

/* --- processes --------------------------------------------------------- */

struct mapping {
	uint64_t start, end;    /* addresses in the process */
	uint64_t offset;        /* of start, in the file */
	uint64_t device, inode; /* identity of the mapped file, as /proc/PID/maps prints it (makedev); inode 0: none */
	bool executable, writable;
	char *path; /* as the kernel prints it, "[heap]" too, " (deleted)" removed; NULL: anonymous */
	bool deleted;
};

struct pid_list {
	int *pids;
	size_t count;
};

struct process {
	pid_t pid;    /* thread group id */
	bool may_end; /* nobody asked for it by its number: its end is nothing to tell */
	bool quiet;   /* nor is anything else that stands against it */
	int pidfd;
	int proc_fd;         /* /proc/PID of this very process, O_PATH: fails with ESRCH once it has ended */
	uint64_t start_time; /* clock ticks after boot, /proc/PID/stat: tells a re-used pid */
	pid_t parent;
	uid_t uid;
	gid_t gid;
	bool filtered;      /* its system calls are filtered (seccomp) */
	bool crash_handler; /* it handles a signal of a crash itself, as those do that print a backtrace */
	char *name;         /* comm */
	char *command;      /* argv joined by blanks */
	struct mapping *mappings;
	size_t nmappings;
	uint64_t mapped_ns,
		mapped_end_ns; /* CLOCK_MONOTONIC; while these were read: of changes in between they may tell or not */
	char *environment;     /* as /proc/PID/environ: NUL-separated */
	size_t environment_size;
};

/*
 * Looks at a process: takes a pidfd, reads maps, command and environment. Refuses, with one line that says
 * what to do, a pid that does not exist, a kernel thread, a 32-bit program, a zombie, one that we may not see.
 * The id of a thread means the process it belongs to. 0 or -errno (-ESRCH: gone).
 */
int process_open(struct process **process, pid_t pid);
/* The same for a process that nobody named: that it has ended already is nothing to tell. */
int process_open_if_there(struct process **process, pid_t pid);
/* What Linux says is open under this number: "/a/path", "socket:[N]" ... NUL-terminated; its length, less than `room`,
 * or -errno. */
ssize_t process_descriptor(const struct process *process, int fd, char *text, size_t room);
/* Its working directory, and gb_folder_id() of that. */
ssize_t process_folder(const struct process *process, uint64_t *id, char *text, size_t room);
/* The same for one of very many: a kernel thread, a 32-bit program and the like are nothing to tell, either. */
int process_open_quietly(struct process **process, pid_t pid);
/* Forgets mappings and environment, which may take a hundred KB; process_refresh() reads the mappings again. */
void process_slim(struct process *process);
/* Reads the mappings again. 0 or -errno; not said when the process has ended (-ESRCH). */
int process_refresh(struct process *process);
void process_close(struct process *process);
bool process_alive(const struct process *process);
/* Value of an environment variable, NULL: not there. */
const char *process_getenv(const struct process *process, const char *name);
/*
 * The code that holds these bytes of the file: the first after `after`, or of all (NULL). NULL: there is no more. A
 * file may be mapped several times (dlmopen).
 */
struct image;
const struct mapping *process_code_of(const struct process *process, const struct image *image, uint64_t offset,
				      uint64_t size, const struct mapping *after);
/* The path of the program that it runs, as the kernel tells it, in `room` bytes: its length, less than that, or -errno.
 */
ssize_t process_program_path(const struct process *process, char *path, size_t room);
/* The program itself, open for reading: a descriptor, of a regular file, or -errno. */
int process_open_program(pid_t pid);
/* The mapping that holds an address, NULL: none. */
const struct mapping *process_mapping_at(const struct process *process, uint64_t address);
/* Does it translate another program's code, so that a breakpoint in there would kill it (translator.c)? Its name is
 * left in comm. */
#define TRANSLATOR_NAME 64
bool process_translates(pid_t pid, char comm[TRANSLATOR_NAME]);
/* Those that live. Zeroed at first; the owner frees pids. */
struct translators {
	pid_t *pids;
	size_t count, room;
	uint64_t since; /* ns; the owner's: when probes came out for their sake */
	pid_t held;     /* stands still; 0: none does */
};
/* Is it one, and the first? Its name is left in comm. */
bool translators_come(struct translators *t, pid_t pid, char comm[TRANSLATOR_NAME]);
/* One that has just been exec'ed stands still, where it can be made to, until ... */
void translators_hold(struct translators *t, pid_t pid);
/* ... the probes are out. Waits for it 50 ms at most; where that is not enough, translators_gone() goes on with it. */
void translators_let_go(struct translators *t);
/* Have all that there were ended since the last call? */
bool translators_gone(struct translators *t);
/* Hands over every process of the machine. */
void processes_each(void (*take)(void *context, pid_t pid), void *context);
/* --- libraries of this machine (libraries.c) ------------------------------ */

struct library {
	char *path;
	uint64_t device, inode;
	uint64_t size; /* bytes */
};
/*
 * Those that programs find without being told where, and whose names (without folder) are wanted: each file once,
 * `most` of them at most. libraries_free() after either result. 0 or -ENOMEM.
 */
int libraries_find(bool (*wanted)(void *context, const char *name), void *context, size_t most, struct library **found,
		   size_t *count);
void libraries_free(struct library *found, size_t count);
/*
 * Where the dynamic linker would find a library that this file of the machine needs, were it started here and now:
 * DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, and where all find theirs. The DT_RPATH of who needs the file is not looked
 * at. malloc'ed; NULL: nowhere, or no memory.
 */
char *library_find_needed(const struct image *image, const char *name);
/* Is this a folder of everybody's libraries? */
bool is_library_folder(const char *path, size_t length);

/* comm of a thread, malloc'ed; NULL: gone. */
char *thread_name(pid_t pid, pid_t tid);

/*
 * The ranks below a launcher, or below a shell script around one: all processes below `pid`, at any depth, whose
 * environment has one of the variables `rank_env` (NULL-terminated) that pid's own environment has not. Empty
 * where pid is a rank or a program of its own. A shell between launcher and rank has the variable too and is
 * among them: the caller keeps those that map something it knows. With rank_env NULL, all processes below pid.
 * Processes that a resource manager's daemon started on behalf of pid are not below it, so are not found.
 * *pids is malloc'ed, in ascending order. 0 or -errno.
 */
int process_descendants(pid_t pid, const char *const *rank_env, pid_t **pids, size_t *count);
/* Was this process started by that one, directly or by others between them that are still there? */
bool process_descends(pid_t pid, pid_t from);

/* --- launchers --------------------------------------------------------- */

/* Is all that a process does to start others (launcher.c)? */
enum launcher {
	LAUNCHER_NO,    /* or it cannot be told */
	LAUNCHER_MAYBE, /* yes, if a library that it has not mapped yet can start programs */
	LAUNCHER_YES,
};

/* What is known of files: each is looked at once. */
struct launcher_files;
struct launcher_files *launcher_files_new(void); /* NULL: no memory */
void launcher_files_free(struct launcher_files *files);

enum launcher process_is_launcher(struct launcher_files *files, const struct process *process);
/* Is its program made to trace others? Only the program itself counts: libraries that could, were they asked to, are in
 * many. */
bool process_traces(struct launcher_files *files, const struct process *process);
/* May its program load libraries while it runs? */
bool process_loads(struct launcher_files *files, const struct process *process);
/* 0: none, or it has ended. */
pid_t process_parent(pid_t pid);
/* Who a process is, for as long as the machine runs. */
struct process_identity {
	pid_t pid;
	uint64_t start_time; /* clock ticks after boot */
};
/* The process itself, who started it, who started that one ...: `room` of them at most, those that are there, but for
 * the first process of all. How many. */
size_t process_lineage(pid_t pid, struct process_identity *of, size_t room);

/* --- images ------------------------------------------------------------ */

struct symbol {
	const char *name;
	uint64_t offset;  /* in the file: where a probe goes */
	uint64_t address; /* st_value */
	uint64_t size;
	bool dynamic;       /* from .dynsym: exported */
	bool other_version; /* name@VERSION, not the default one: only programs linked long ago reach it */
	bool local;         /* STB_LOCAL: a static function */
	bool ifunc;         /* STT_GNU_IFUNC: the symbol is a resolver, not the function */
};

enum image_language { IMAGE_NATIVE, IMAGE_GO };

struct image {
	uint64_t device, inode;
	char *path;
	char *soname;   /* DT_SONAME; NULL: none */
	char *needed;   /* DT_NEEDED, NUL-separated, an empty one at the end; NULL: none */
	char *runpath;  /* DT_RUNPATH, else DT_RPATH: folders of what it needs, "$ORIGIN/../lib:/opt/lib"; NULL: none */
	bool rpath;     /* it is DT_RPATH: before LD_LIBRARY_PATH */
	char *build_id; /* hex; NULL: none */
	int fd;         /* open for reading: stays valid when the file is deleted */
	bool is_program; /* an executable, PIE or not; a library with an interpreter (libc.so.6) is none */
	bool is_static;  /* no PT_INTERP, a program */
	bool has_symtab; /* a whole symbol table was found, here or in the debug file; false: stripped */
	bool has_dwarf;  /* here or in the debug file */
	enum image_language language;
	uint64_t probed_ns; /* CLOCK_MONOTONIC; since when it has probes (user/probe/attach.c); 0: it has none */
	/*
	 * Functions, sorted by name, versions cut off: .dynsym, and .symtab of the file, else of .gnu_debugdata and of
	 * the separate debug file. A name with several addresses is there once for each, exported and default version
	 * first.
	 */
	struct symbol *symbols;
	size_t nsymbols;
	void *private_data;
};

/* When it started: ns, CLOCK_MONOTONIC; to a tick of the kernel's clock, never too late. */
uint64_t process_started_ns(const struct process *process);
/* Does the process map code of this file? */
bool process_maps(const struct process *process, const struct image *image);

/*
 * Opens the file behind a mapping of a process through /proc/PID/map_files (or /proc/PID/exe, /proc/PID/root as
 * fallbacks) and reads its symbols. A file that is no ELF64 object for this processor gives -ENOEXEC, not said; damage
 * is said at LOG_INFO. 0 or -errno.
 */
int image_open_mapped(struct image **image, const struct process *process, const struct mapping *mapping);
/* Without links, as far as we may look; malloc'ed, NULL with errno. */
char *file_absolute(const char *path);
/* Opens a regular file that our own user has named for reading, by the reader where we have given up the right to. A
 * descriptor or -errno, not said. */
int file_open_named(const char *absolute);
/* As image_open_mapped() for a file by its path; an error other than -ENOEXEC is said. */
int image_open_file(struct image **image, const char *path);
void image_close(struct image *image);
/*
 * The file's call frame information as a file in memory, for libdwfl, which must not get one that its owner can cut
 * short. To be given back by munmap(). NULL: not to be had.
 */
void *image_frames(const struct image *image, size_t *size);
/*
 * What the contents of a file decide, and what is counted for that reason (reading.c). Steps are bytes or entries
 * that are looked at. True: that was too much, which is said once, or the work is to end: what was to be found out is
 * not known.
 */
enum effort { EFFORT_RANGES, EFFORT_ENDS, EFFORT_TABLES, EFFORT_UNWIND, EFFORT_SWITCHES, EFFORT_TEXTS, EFFORTS };
bool image_reads(const struct image *image, enum effort kind, uint64_t steps);
/* The breath that is taken from now on while this thread looks through files; NULL: none. */
void reading_breathes(struct breath *taken);
/* For work without a limit of its own. True: it is to end. */
bool reading_pauses(uint64_t steps);
/* How many files, or some of them, were too much to look at. */
size_t images_refused(void);
/* Closes its files: what has been read of it stays, more is not to be had. */
void image_let_go(struct image *image);
/* By name, exported one preferred; NULL: none. */
const struct symbol *image_symbol(const struct image *image, const char *name);
/* Does the file take a function of this name from elsewhere: is it an undefined name in .dynsym? */
bool image_imports(const struct image *image, const char *name);
/* Does it import a name that the other one exports? */
bool image_imports_from(const struct image *image, const struct image *other);
/*
 * Might an ELF file have a symbol of one of these names (NULL-terminated)? A search of its tables of names, a hundred
 * times quicker than opening it. Says yes where it cannot tell.
 */
bool image_may_have(int fd, const char *const *names);
/* The function that holds a file offset, NULL: none. */
const struct symbol *image_symbol_at(const struct image *image, uint64_t offset);
/* An executable PT_LOAD: `size` bytes of the file at `offset`, meant for `address`. */
struct code_segment {
	uint64_t address, offset, size;
};
const struct code_segment *image_code(const struct image *image, size_t *count);
/* The link-time address of this place in the file, and the place of that address; false: it is no code. */
bool image_address_at(const struct image *image, uint64_t offset, uint64_t *address);
bool image_offset_at(const struct image *image, uint64_t address, uint64_t *offset);
/* A stretch of code that the file's .eh_frame describes as one: a function, or a part that was put elsewhere. */
struct unwind_range {
	uint64_t address, size;
	bool continued; /* its first instruction runs inside a frame that is set up already: no function begins here */
};
/* The one that holds a code address; NULL: none. */
const struct unwind_range *image_unwind_range_at(const struct image *image, uint64_t address);
/*
 * The address, as the file counts, of what a pointer in its memory points to once it is loaded: `address` is where the
 * pointer is. 0: nowhere, into another file, or it cannot be told.
 */
uint64_t image_pointer_at(const struct image *image, uint64_t address);
/* A call that a function of the file makes, and where the function's own caller is to be found meanwhile. */
struct image_call {
	uint64_t return_offset; /* in the file */
	uint64_t function;      /* address of the function that calls, */
	uint64_t callee;        /* and of the function of the same file that is called; 0: it is another file's, */
	const char *name;       /* of this name. The image keeps it */
	uint32_t frame; /* bytes from the callee's return address up to that of `function`; 0: it jumps there, and
			   returns to nowhere here */
};
/* All that can be told, in ascending order of return_offset. Reads the whole code at the first call. */
const struct image_call *image_calls(const struct image *image, size_t *count);
/* The `name` that calls of this function have in image_calls(), to be compared as a pointer; NULL: there are none. */
const char *image_called_name(const struct image *image, const char *function);
/* The call that returns to this file offset; NULL: none is known. */
const struct image_call *image_call_at(const struct image *image, uint64_t return_offset);
/*
 * True where the image's DWARF has a function of this name that was inlined everywhere. The first call may take
 * seconds on a program with hundreds of MB of DWARF.
 */
bool image_inlined(struct image *image, const char *name);
/*
 * Does the file's read-only or initialised data hold a text that begins like this? `*` and `?` as in a glob, but not as
 * the first character. A text ends at its NUL. Where there is no memory to look: yes, for most ask for a reason to be
 * careful.
 */
bool image_has_text(const struct image *image, const char *pattern);
/* Which of these names (of two characters or more, without wildcards) are in it? found[i] becomes true for those that
 * are. One reading of the file for all of them. False: it cannot be read, or takes too long, and all count as found. */
bool image_find_names(const struct image *image, const char *const names[], size_t count, bool found[]);
/* The same, and the image keeps the answer for this list: a flag for each text. NULL: it is not known. */
const bool *image_texts(struct image *image, const char *const texts[], size_t count);
/* Does it have code that exceptions or cancellations land in? Says yes where it cannot tell. */
bool image_has_landing_pads(const struct image *image);
/* Does its DWARF have a struct of this name and size whose first member is called so and is no bit-field (NULL:
 * whatever it is)? Looks for at most two seconds. */
bool image_has_struct(struct image *image, const char *name, uint32_t size, const char *member);
/* Does its DWARF have a struct of this name that consists of these bit-fields, in this order? bits: how many each has.
 * As long. */
bool image_has_bits(struct image *image, const char *name, const char *const *members, size_t count, uint8_t *bits);
/*
 * Functions as their author declared them, from DWARF: "int solve(double *grid, int n)". texts[i] is malloc'ed; NULL:
 * unknown. At most 2000 bytes each, whatever a program's DWARF says. The first call takes as long as image_inlined(). 0
 * or -ENOMEM.
 */
int image_signatures(struct image *image, const struct symbol *const *functions, size_t count, char **texts);
/* Where a variable lies, as the file counts (st_value). 0, -ENOENT: there is none, -ENOTSUP: each thread has its own.
 * Nothing is said. */
int image_variable(const struct image *image, const char *name, uint64_t *address);
/* The same where it lies in this process's memory. -ENOENT as well where the process does not map the file's code. */
int image_variable_at(const struct image *image, const struct process *process, const char *name, uint64_t *address);
/*
 * Reads an int variable of this name from the process's memory. 0, -ENOENT: no such variable,
 * -ENOTSUP: each thread has its own, or -errno. Nothing is said.
 */
int image_read_int(const struct image *image, const struct process *process, const char *name, int *value);

/* The same of a program's variable of which each thread has its own. 0, -ENOENT: no such variable, -ESRCH: where it
 * lies is not known, or -errno. Nothing is said. */
int image_read_thread_int(const struct image *image, const struct process *process, pid_t tid, const char *name,
			  int *value);

/* Reads the variable's bytes, at most so many, from the process's memory: 0 or more, or as image_read_int(). */
ssize_t image_read_variable(const struct image *image, const struct process *process, const char *name, void *bytes,
			    size_t most);
/* Reads the memory of a process: so many bytes from the address on as can be read, or -errno; -ETIMEDOUT: it does not
 * answer. Never waits longer than 250 ms. */
ssize_t memory_read(pid_t pid, uint64_t address, void *bytes, size_t size);
/* Reads all pieces. False: there are too many, or any of them cannot be read: the process may have ended, and the
 * addresses may come from its memory. */
struct memory_piece;
bool memory_read_pieces(pid_t pid, const struct memory_piece *pieces, size_t count);
/* Reads the process's memory: all of it, or -errno. Nothing is said. */
int process_read(const struct process *process, uint64_t address, void *bytes, size_t size);

struct source_location {
	char *file;               /* malloc'ed; NULL: unknown */
	uint32_t line, column;    /* 0: unknown */
	char *function;           /* as in the source, else the symbol; malloc'ed; NULL: unknown */
	uint64_t function_offset; /* of the return address from the function's start; 0 where it was inlined */
};

/*
 * Where the instruction before this return address (a file offset) stands in the source: DWARF of the file itself,
 * else of its separate debug file (build-id, .gnu_debuglink), else only the function. Inlined code gives the
 * line where the call really is written; that of a header of the system, the line where the program calls it. 0, or
 * -ENOENT when nothing is known.
 */
int image_locate(struct image *image, uint64_t return_offset, struct source_location *location);
/*
 * A function that begins at this file offset, and that the compiler has cut out of another one: the line of the
 * construct that it is the body of, and that other one. 0, or -ENOENT: it is none, or nothing is known of it.
 */
int image_locate_cut_out(struct image *image, uint64_t offset, struct source_location *location);
void source_location_free(struct source_location *location);

/* --- commands ---------------------------------------------------------- */

/*
 * A command and all that comes of it, held so that nothing of it is missed (hold.c). What it does is told by notices;
 * the process that a notice is about stands still until it is answered.
 */
enum hold_kind {
	HOLD_BORN,   /* a process has been forked and has not run yet */
	HOLD_LOOK,   /* it has become another program, or its linker has mapped a file, that nobody has looked at */
	HOLD_LOADED, /* its linker has mapped something while it ran (dlopen); none of that has run */
	HOLD_READY,  /* its libraries are mapped, none of its own code has run */
	HOLD_ENDED,  /* the command has ended; needs no answer */
};

struct hold_notice {
	enum hold_kind kind;
	pid_t pid;
	pid_t tid;         /* the thread that stands still: the first one, but for HOLD_LOADED */
	uint64_t ticket;   /* for the answer */
	uint64_t asked;    /* ns (CLOCK_MONOTONIC): since when it stands still */
	int status;        /* HOLD_ENDED: as wait(2) gives it */
	bool program;      /* HOLD_LOOK, HOLD_READY: the first one since it became another program */
	bool other_thread; /* then: exec was called by a thread that was not the first: links to the process are void */
};

enum hold_answer {
	HOLD_ON,          /* goes on, held */
	HOLD_RELEASE,     /* to HOLD_READY: needs no holding any more */
	HOLD_RELEASE_ALL, /* neither does anything else of the command */
};

struct hold;

/*
 * Starts a command as the caller (not as root where sudo was used); it stands before its first instruction, and the
 * first notice is about it. follow: its children are held too. patience: ns that a process stands still at most, as
 * what its caller waits for may never come; then it is let go, which is said. 0 or -errno, said.
 */
int hold_start(struct hold **hold, pid_t *pid, char *const argv[], const struct caller *caller, bool follow,
	       uint64_t patience);
/* Readable while there are notices. */
int hold_fd(const struct hold *hold);
bool hold_next(struct hold *hold, struct hold_notice *notice);
void hold_answer(struct hold *hold, const struct hold_notice *notice, enum hold_answer answer);
/*
 * What it is held by needs no rights from here on, and gives up all of its own (keep_no_privileges(), which is for a
 * single thread). To be called before the first notice is answered. False: it has not.
 */
bool hold_give_up_rights(struct hold *hold);
/* Is this process, or thread, held at present? */
bool hold_has(struct hold *hold, pid_t tid);
/*
 * Lets everything run on, at once. True where the command has ended and that has not been told yet: *status, as wait(2)
 * gives it. Else its end is from now on for the caller to collect with hold_collect(). NULL is allowed.
 */
bool hold_end(struct hold *hold, int *status);
/* The same, but the command, which stands before its first instruction, is killed. It takes no right to. */
bool hold_end_killing(struct hold *hold, int *status);
/* Has it ended? Then *status, as wait(2) gives it. With wait, waits for that. False: not yet, or it is no child of
 * ours. */
bool hold_collect(pid_t command, bool wait, int *status);

#endif
