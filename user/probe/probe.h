/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - the door of user/probe: which functions of a job are observed, and the observing itself.
 *
 *   plan    what could be probed in these processes, and why the rest cannot be
 *   place   which instruction of a function carries the probe
 *   kernel  the loaded BPF programs and their maps, on the best rung this kernel has
 *   attach  one link per file and kind
 */
#ifndef GASPBPF_PROBE_H
#define GASPBPF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/instruction.h"
#include "model/model.h"
#include "model/selection.h"
#include "target/target.h"
#include "util/breath.h"

/* --- plan -------------------------------------------------------------- */

/* Where a function's probe goes. */
struct place_wish {
	const struct symbol *function;
	uint8_t registers; /* bit i: the probe reads the i-th integer argument register */
	/*
	 * For probes on calls only: not on the first instruction, nor on this one (in the file), if there is another.
	 * Return probes are there, maybe of other tracers and for other processes, and would act in this process, too,
	 * if it had a breakpoint on them.
	 */
	bool aside;
	uint64_t avoid;
	bool (*taken)(void *context, uint64_t offset); /* with `aside`: nor on any of these; NULL: none */
	void *context;
};

#define PLACE_ALL_REGISTERS ((1U << GB_REGISTERS) - 1)

struct probe_place {
	uint64_t offset;       /* in the file: of the instruction under the breakpoint */
	enum site_class class; /* of that instruction */
	unsigned pushed;       /* bytes that the function has pushed before it; 0 unless `aside` was wished for */
	bool refused;          /* the kernel lets no probe be there */
	const char *why;       /* why no cheaper instruction would do; NULL: there is none cheaper than this */
	bool rounds; /* a jump of the function itself leads to its start: the probe may be hit without a call */
};

struct place_options {
	bool at_entry;  /* always the first instruction */
	bool optimized; /* probes may go on instructions that this kernel replaces by calls */
	struct breath
		*breath; /* that is taken during the search; NULL: none. Where it ends the work, places are not good */
};

/* How the end of a call is seen (returns.c). */
enum returns {
	RETURNS_TRAMPOLINE, /* by a return probe: the kernel's trampoline stands in the place of the return address */
	RETURNS_SITES, /* by probes on the function's own last instructions: dearer, but the stack is not touched */
	RETURNS_NONE,  /* not at all: the call is an event without duration */
	RETURNS_KINDS
};

/* A last instruction of a function (exits.c). */
struct site_exit {
	uint64_t offset; /* in the file */
	uint32_t how;    /* GB_EXIT_* */
	enum site_class class;
};

/* How much of a function's calls is followed. Each level costs the job less than the one before. */
enum level {
	LEVEL_ALL,     /* every call is a span */
	LEVEL_SAMPLED, /* one in so many; the others are counted, and their returns are not waited for */
	LEVEL_SUMMED,  /* no spans: calls are counted, some of them timed, in the kernel */
	LEVEL_OUT,     /* its probes are out: nothing is known of its calls */
	LEVELS
};

struct site_level {
	enum level level;
	unsigned every; /* one call in so many is followed: a power of two; 1 on LEVEL_ALL, 0 on LEVEL_OUT */
};

#define SAMPLE_MOST 1024 /* rarer is hardly cheaper: the trap at each call remains */

/* One function that is observed, whatever the number of names it has. */
#define SITE_WRAPPED 3

struct site {
	struct image *image;
	uint64_t offset;       /* in the file: of the function's start */
	uint64_t probe_offset; /* in the file: of the instruction under the breakpoint (place.c) */
	enum site_class class; /* of that instruction */
	unsigned pushed;       /* bytes on the stack there, besides the return address */
	struct probe_place
		entry;        /* where the return address is on top of the stack: the only place for a return probe */
	bool aside;           /* it has been looked for a place where no return probes are */
	uint8_t registers;    /* argument registers that its captures read, as in struct place_wish */
	const char *why_here; /* why no cheaper instruction would do; NULL: there is none cheaper */
	struct symbol body;   /* of the function's code; of an IFUNC one of its implementations */
	const struct function *function; /* what it means; with @only the first of its meanings */
	size_t nfunctions;               /* function[0..nfunctions) are its meanings, see only in struct function */
	char *signature;                 /* as its author declared it; NULL: what `function` says */
	char *aliases;                   /* further names, joined by blanks; NULL: none */
	struct capture *captures;        /* nfunctions; the programs are alike, the values too */
	uint32_t id;                     /* index in the plan, the probe's number in the kernel */
	uint16_t runtime;        /* its model's number in the plan, from 1; 0: of functions that were asked for */
	uint32_t closes;         /* id of the site whose span ends here; NO_SITE: none */
	enum returns returns;    /* how its end is seen ... */
	const char *returns_why; /* ... and why so */
	bool own_stacks;         /* a thread may change stacks within it; with RETURNS_SITES */
	struct site_exit *exits; /* RETURNS_SITES: all of them */
	size_t nexits;
	const char *no_exits; /* why these cannot be told, so that RETURNS_NONE had to do */
	bool attached;        /* its probes are in */
	bool endangered;      /* since then its return probe has become dangerous: it must come out (attach.c) */
	bool uncalled;        /* no mapped file imports it: of a large library (imports.c) */
	bool rounds;          /* its probe is hit by jumps of its own, too (struct probe_place) ... */
	const char *left_out; /* ... and nothing can tell them from calls: it is not observed. Why so, in words; NULL:
				 it is */
	signed char
		looks_back;  /* may it look at its own return address? 1, -1; 0: nobody has asked yet (looks_back.c) */
	const char *patched; /* left out, as a process has other code there than the file (patched.c): why, in words */
	bool said_left_out;
	bool crowded;   /* left out: others' return probes are on all its places (neighbours.c) */
	bool avoided;   /* left out for the process whose probes are being put in: as above */
	bool shares;    /* its probes are in a link with others', though they could come out alone if it had its own */
	bool late;      /* was uncalled until a later file came, and has no probes yet */
	bool withdrawn; /* its model takes part no more: its probes are out, for good (attach_withdraw()) */
	struct site_level level;        /* how much of its calls is followed (levels.c) */
	uint64_t out_at;                /* ns; when its probes were last taken out; 0: never */
	bool sampled;                   /* calls of it have been only counted */
	uint32_t wrapped[SITE_WRAPPED]; /* bytes up the stack to the return addresses of wrappers that call it
					   (wrappers.c) ... */
	unsigned nwrapped;
	unsigned wrapped_slot; /* ... which are in a call's words from this one on; */
	unsigned own_slots;    /* its values are before this one */
	size_t looked_at;      /* private to imports.c: images that are known not to import it */
	bool no_span;          /* a closing probe: it ends the span of `closes` and has none itself */
};

#define NO_SITE UINT32_MAX

enum absence {
	ABSENT_NOT_MAPPED,   /* no mapped file holds this model's functions */
	ABSENT_NOT_EXPORTED, /* the file has a full symbol table, without this name */
	ABSENT_STRIPPED,     /* the file has no symbol table but the exported names */
	ABSENT_INLINED,      /* only inlined copies exist */
	ABSENT_INDIRECT,     /* an IFUNC: the name stands for a choice made at run time */
	ABSENT_OUTSIDE,      /* the symbol does not lie in the file's code */
	ABSENT_INSTRUCTION,  /* the kernel lets no probe sit on its first instruction (a lock prefix), and no other one
				will do */
	ABSENT_REASONS
};

/* --returns: what the job's facts say, or one way for all functions. */
enum returns_wish { RETURNS_AUTO, RETURNS_ALL_TRAMPOLINE, RETURNS_ALL_SITES, RETURNS_ALL_NONE };

/* A known function that cannot be probed. */
struct absent {
	const struct function *function;
	const struct image *image; /* where it was expected; NULL: nowhere */
	enum absence why;
};

/* Who decides what a plan takes in; NULL members: everything. */
struct plan_admission {
	bool (*file)(void *context); /* one more file is about to be opened */
	/* This file has so many functions to observe. False: it gets no probes, and the same is asked when another
	 * process maps it. */
	bool (*functions)(void *context, const struct image *image, size_t count);
	void *context;
};

struct plan {
	const struct model_set *models;
	const struct model **chosen;
	size_t nchosen; /* models that take part */
	struct image **images;
	size_t nimages; /* owned */
	struct site *sites;
	size_t nsites;
	struct absent *absents;
	size_t nabsents;
	char **builds;
	size_t nbuilds; /* borrowed: "MODEL=BUILD", as the user said (plan_set_builds()) */
	bool no_alone;  /* models that join alone take part only where -m asks for them */
	bool of_many;   /* its processes are several users': what one of them has patched is no reason to leave the
			   others' calls out */
	struct place_options placing;
	enum returns_wish returns;
	struct returns_work *returns_work; /* private to returns.c */
	bool cautious[2]; /* processes that nobody has looked at run over the probes, return probes included: none but
			     in leaves; [1] for models that join alone */
	bool choosing[2]; /* see plan_set_choosing(); [1] for models that join alone */
	bool sessions;    /* call and return are seen on one link (RUNG_SESSION): see site.left_out */
	bool guarded;     /* a process has a seccomp filter that return probes would break on this kernel */
	const struct selection *selection; /* what is wanted; NULL: everything; stays the caller's */
	bool says_builds;                  /* it is said where the build of a runtime in a program cannot be told */
	bool leave_near; /* --profile: accesses to the caller's own part of the global address space are no events */
	struct asked_work *asked;  /* private to patterns.c */
	struct pointed *pointed;   /* private to pointed.c */
	struct site_entry *places; /* private to sites.c */
	struct plan_admission admission;
	bool crowded;           /* the last file's functions did not all find room */
	struct plan_work *work; /* private to plan.c */
};

/*
 * Which models take part. `wish` is the argument of -m: "mpi,shmem" only these, "+c,+pthread" these besides
 * the default, NULL the default: every parallel runtime that a process maps, and models that join
 * alone only where there is none. -EINVAL, said, for an unknown name.
 */
int plan_new(struct plan **plan, const struct model_set *models, const char *wish);
void plan_free(struct plan *plan);
/*
 * From now on the kernel side leaves out the return of single calls (bpf/home.h) of functions in files of parallel
 * runtimes, and of models that join alone. That takes links that see call and return, and are for everybody who maps
 * the file: of a link for one process the kernel sets the return probe in each other process, too, that has a
 * breakpoint there, and does not ask. Where it is false, as at first, all doubts count for all calls. To be called
 * before probes are put in. 0, -ENOMEM or -ECANCELED.
 */
int plan_set_choosing(struct plan *plan, bool of_files, bool of_alone);
/* How runtimes in the program were built, where that cannot be told: "MODEL=BUILD", borrowed. 0 or -errno, said. */
int plan_set_builds(struct plan *plan, char **builds, size_t count);
/* How the model's runtime in this program was built: as the user said, else as it is recognised. In `room`. NULL:
 * unknown, or the model has no builds. */
const struct build *plan_build(const struct plan *plan, const struct model *model, struct image *image,
			       struct build *room);
/* Does the file hold the model's runtime? */
bool plan_model_applies(const struct model *model, const struct image *image);
/* One after the other the runtimes that the file holds, observed or not: *next is 0 at first. NULL: no more. */
const struct model *plan_model_in(const struct plan *plan, const struct image *image, size_t *next);
/* Are functions of the model to be observed in this file? model NULL: of any; image NULL: no. */
bool plan_has_sites(const struct plan *plan, const struct model *model, const struct image *image);
/* What this one of a process' images is, where it is of a runtime that no model describes: "oneTBB"; NULL: it is not,
 * or nobody but plug-ins of other runtimes needs it (unmodelled.c). NULLs among the images are allowed. */
const char *images_unmodelled(const struct model_set *models, struct image *const *images, size_t count,
			      const struct image *image);
/* A runtime inside a program that nobody sees, and why that is so. */
struct inside_image {
	const char *what, *why;
};
/* One after the other: *next is 0 at first. False: there are no more. Where the file cannot be read to its end, perhaps
 * one. Reads the program once. */
bool image_inside(const struct model_set *models, struct image *image, size_t *next, struct inside_image *inside);
/* Did the user say it? */
bool plan_build_is_told(const struct plan *plan, const struct model *model);

/* The model of the functions that plan_ask() found. */
#define ASKED_MODEL "functions"
/* The model of functions that the user described (-e). */
#define USER_MODEL "user"

/*
 * Functions of these names are observed, too: NAME of the program, or FILE:NAME of a library by its soname or base
 * name; '*' and '?' as usual. To be called before files come in. 0 or -ENOMEM.
 */
int plan_ask(struct plan *plan, const char *pattern);
/* A pattern that no function of any file so far has matched; NULL: none. */
const char *plan_not_found(const struct plan *plan);
/*
 * Takes in what these processes map. May be called again as processes come and map more. 0 or -errno. -ECANCELED:
 * plan->placing.breath ended it, and the plan is good for nothing but to be freed; so with plan_add_file().
 */
int plan_add_processes(struct plan *plan, struct process *const *processes, size_t count);
/*
 * Takes in a file: of which functions may be called (gaspbpf list FILE), or that a process yet to come may map. *known:
 * a chosen model applies to it. Files do not count when models that join alone ask for parallel ones.
 */
int plan_add_file(struct plan *plan, const char *path, bool *known);
/* The function at this address of the process is one that the model knows by a pointer (MARK_POINTED): makes a site of
 * it. None where the runtime tells of these calls itself, or no function certainly begins there. 0 or -errno. */
int plan_add_pointed(struct plan *plan, const struct process *process, const struct model *model, uint64_t address);
/* Is there something that attach_sites(first) would put in, or exchange? */
bool plan_has_new(const struct plan *plan, uint32_t first);
/* Does the function's model take part only as long as no process maps a parallel runtime? Not where -m or -e asks for
 * it. */
bool plan_may_withdraw(const struct plan *plan, const struct function *function);
/* The same, and a process does: nobody gets probes of it any more. */
bool plan_has_withdrawn(const struct plan *plan, const struct function *function);
/* A file of a parallel runtime that takes part, which the process maps; NULL: none. */
const struct image *plan_runtime_of(const struct plan *plan, const struct process *process);
/* The functions that are not there; fills absents. */
int plan_find_absent(struct plan *plan);
/* The image behind a mapping, if the plan has it. */
struct image *plan_image(const struct plan *plan, uint64_t device, uint64_t inode);
const char *returns_name(enum returns returns);
/* ns that one call of the site's function costs, by the calibration kernel_costs(): .call, or .skipped for a call that
 * is only counted. */
unsigned site_cost(const struct site *site, const unsigned cost_ns[SITE_CLASSES]);

/*
 * Where the probes of functions of one image go (place.c). Many at one time cost hardly more than one, as all code of
 * the image is searched for branches. 0 or -errno.
 */
int place_probes(const struct image *image, const struct place_wish *wishes, size_t count,
		 const struct place_options *options, struct probe_place *places);
/* Which functions are observed, by their offset in the file. */
struct observed {
	bool (*is)(void *context, uint64_t offset);
	void *context;
};

/*
 * All instructions by which calls of this function end: its returns and its last jumps, in the parts of it that were
 * put elsewhere, too. *exits is malloc'ed, in ascending order of offset. NULL: found, else why they cannot be told.
 * probe_offset: of the probe on its call; observed: other functions, NULL: none.
 */
const char *exits_find(const struct image *image, const struct symbol *function, uint64_t probe_offset,
		       const struct observed *observed, struct site_exit **exits, size_t *count);
/* The instruction there, as a disassembler prints it; false: unknown. */
bool place_text(const struct image *image, const struct probe_place *place, char *text, size_t room);
/* Do the program and the runtime share the file, so that a return address does not tell them apart? */
bool site_is_in_program(const struct site *site);
/* Can a call of it be one that the runtime makes to itself? Not where it tells what the runtime does anyhow, nor of the
 * user's own functions. */
bool site_may_be_inner(const struct site *site);
/* In words, for people: why, and what follows from it. */
const char *absence_text(enum absence why);
/* The models' rank variables, NULL-terminated, malloc'ed array of borrowed strings. */
const char **plan_rank_variables(const struct model_set *models);

/*
 * Which rank of its job the process is: by the model that says so, which is returned; of several runtimes in one
 * process the one with the highest event numbers is the outermost, and its word counts; one that has no word (`unit`),
 * as a library for files, counts only where there is no other. NULL: none, and *rank is as it was.
 */
const struct model *plan_rank(const struct plan *plan, const struct process *process, long *rank);
/* The model, if one says that each thread of the process has a rank of its own, in storage that is not read; else NULL.
 */
const struct model *plan_rank_by_thread(const struct plan *plan, const struct process *process);
/* The rank of one of its threads, by that model. 0 or -errno, not said. */
int plan_thread_rank(const struct plan *plan, const struct model *model, const struct process *process, pid_t tid,
		     long *rank);
/* How many ranks the process's job has, by this model; less than 1: not known. *all_here: all of them were started on
 * this machine. */
long plan_ranks(const struct plan *plan, const struct model *model, const struct process *process, bool *all_here);

/* --- kernel ------------------------------------------------------------ */

enum rung { RUNG_SESSION, RUNG_MULTI, RUNG_PERF, RUNGS };

struct kernel_options {
	bool filter;         /* links are not limited to a process: `targets` decides; kernel_filter() changes it */
	bool follow;         /* children of targets become targets */
	uint64_t ring_bytes; /* all span rings together; 0: default */
	bool callers; /* kernel_show_open() tells where a call came from, which costs each call a look at its stack */
	bool quiet;   /* only a try: failure is not said */
	bool anew;    /* what probes cost is measured, whatever earlier starts have measured */
	bool sums;    /* a whole machine: every call goes into the kernel's sums, with its payload; with `filter` */
	bool spans;   /* with `sums`: and into the rings */
};

struct kernel;

/*
 * Loads the programs on the best rung that works here (GASPBPF_RUNG=session|multi|perf forces one),
 * found by attaching to a function of our own. 0 or -errno, said with what to do.
 */
int kernel_load(struct kernel **kernel, const struct kernel_options *options);
void kernel_free(struct kernel *kernel); /* detaches everything */
enum rung kernel_rung(const struct kernel *kernel);
/* Now that all is loaded, does the rest work without any right? A child tries: may it put probes in, and does it see
 * others' processes in /proc? */
bool kernel_works_without_rights(struct kernel *kernel);
const char *rung_name(enum rung rung);
/* Ring buffers: count and map fds; control is the process-life ring. */
unsigned kernel_rings(const struct kernel *kernel);
int kernel_ring_fd(const struct kernel *kernel, unsigned ring, size_t *bytes);
int kernel_control_fd(const struct kernel *kernel, size_t *bytes);
/* A process becomes a target; the kernel side notices that it ends. */
int kernel_add_target(struct kernel *kernel, pid_t pid);
/* With `sums`: how a process is counted, GB_TARGET_*. What its parent was, it is; -ENOENT: nothing is known of it, and
 * it is counted. */
int kernel_set_target(struct kernel *kernel, pid_t pid, uint8_t how);
int kernel_get_target(const struct kernel *kernel, pid_t pid);
/*
 * kernel_look(): what the process maps is about to be looked at. kernel_looked(): the plan has all of it, and what the
 * plan chose for it is in: its calls may have return probes. Until then, and from the next change of what it maps on,
 * only leaves have them (bpf/home.h). held: it stands still since its linker mapped the last object.
 */
void kernel_look(struct kernel *kernel, pid_t pid);
void kernel_looked(struct kernel *kernel, pid_t pid, bool held);
/* From now on nothing is known of any process. */
void kernel_forget_targets(struct kernel *kernel);
/*
 * The process's rank, in the numbers of @peer (plan->leave_near); -1: none any more. Until it is known no access of the
 * process is left out. 0 or -errno, not said.
 */
int kernel_set_rank(struct kernel *kernel, pid_t pid, long rank);
/* Are links for everybody, so that `targets` decides? Before the first of them is made. */
void kernel_filter(struct kernel *kernel, bool filter);
/* Observation on and off, at once, for all links. Off also fixes the end of calls still in progress. */
void kernel_set_active(struct kernel *kernel, bool active);
/* Threads that this process traces stop where their dynamic linker has mapped something (attach_linker,
 * user/target/hold.c). 0: nobody does. */
void kernel_hold(struct kernel *kernel, pid_t holder);
/* After detaching: sends the calls still in progress and the final counts of living threads to the rings. */
int kernel_send_open(struct kernel *kernel);
/* Of threads that make no observed call what they have run up to here is not of the observation. 0 or -errno. */
int kernel_begin_quiet(struct kernel *kernel);
/* After kernel_send_open(): those of the process that have made none. False: there were none, or it is not known. */
bool kernel_read_quiet(const struct kernel *kernel, pid_t pid, struct gb_quiet *quiet);
/* Shows the calls in progress, by thread and from the outermost on, while threads go on making them. 0 or -errno, not
 * said. */
typedef void (*kernel_open)(void *context, const struct gb_open *open, const struct gb_span *span);
int kernel_show_open(struct kernel *kernel, kernel_open show, void *context);
/* The same of calls that are kept by stack (bpf/stacks.h), in no order, each as of the thread that has begun it. */
int kernel_show_stacked(struct kernel *kernel, kernel_open show, void *context);
/* Shows how long each thread that has made calls, and lives, has waited for a processor; none where the kernel does not
 * keep it. record: a struct gb_queue. 0 or -errno, not said. */
int kernel_show_queues(struct kernel *kernel, void (*show)(void *context, const void *record), void *context);
/* Sums over CPUs. */
struct kernel_counts {
	uint64_t lost, no_memory, no_sum, no_entry, life_lost, trampolines, near, summed, rounds;
};
int kernel_read_counts(const struct kernel *kernel, struct kernel_counts *counts);

/* What probes cost, measured on this machine by kernel_load() or by that of an earlier start (calibration.c), by the
 * class of the instruction under them. ns; 0: not measured. */
struct probe_costs {
	unsigned call[SITE_CLASSES];    /* an observed call costs its thread so much */
	unsigned skipped[SITE_CLASSES]; /* a call that is only counted */
	unsigned floor[SITE_CLASSES]; /* the measured duration of a call that does nothing: a part of the cost that lies
					 inside each span */
	/* The same two of a call before which the thread did something else, so that the processor's caches know
	 * nothing of probes any more. */
	unsigned cold[SITE_CLASSES], cold_skipped[SITE_CLASSES];
	unsigned word; /* each word that a call's probe reads from memory adds so much ... */
	unsigned link; /* ... and each further process with a link of its own in the same place, whoever calls */
};
void kernel_costs(const struct kernel *kernel, struct probe_costs *costs);

/* What a call of one site's function costs (price.c). ns. */
struct site_price {
	unsigned call, skipped;      /* after another call */
	unsigned cold, cold_skipped; /* after a long time without one */
	unsigned links;              /* of other processes in the same place: it is in all of these prices */
};
struct site_price site_price(const struct kernel *kernel, const struct site *site);
/* Grows whenever a probe goes in or out: prices may be others then. */
uint64_t kernel_changes(const struct kernel *kernel);
/* gap: ns between the thread's last observed call and this one. */
double price_of_call(const struct site_price *price, bool skipped, double gap);

/* Is handed one entry of what the kernel keeps of calls that became no span. */
typedef void (*kernel_sum)(void *context, const struct gb_sum_place *place, const struct gb_sum *sum);
/*
 * All entries, in no order; one system call where there is none. No entry may be removed meanwhile. `breath`, which may
 * be NULL, is taken in between; its end does not end the reading. 0 or -errno, not said.
 */
int kernel_read_sums(const struct kernel *kernel, kernel_sum take, void *context, struct breath *breath);
/* While a whole machine is looked at: entries there are now. */
uint64_t kernel_sums_in_use(const struct kernel *kernel);
/* The thread has ended and its sum is known: makes room in the map, and in its user's share once
 * kernel_sums_forgotten() is called. */
void kernel_forget_sum(struct kernel *kernel, const struct gb_sum_place *place, uint32_t user);
void kernel_sums_forgotten(struct kernel *kernel);

/* While a whole machine is looked at: what its users have taken of the kernel side's maps, and were refused, in no
 * order. 0 or -errno, not said. */
typedef void (*kernel_user)(void *context, uint32_t user, const struct gb_user *account);
int kernel_visit_users(const struct kernel *kernel, kernel_user visit, void *context);

/* --- what programs tell (announcements.c) ----------------------------------------- */

/* An event of this number, announced by this process, has so many words, and texts there. 0 or -errno, not said. */
int kernel_know_event(struct kernel *kernel, pid_t pid, uint32_t id, const struct gb_texts *texts);
/* Measurement of the process is off from now on (0), or on again; value: what is told of it. *changed: it was not so
 * before. 0 or -errno, not said. */
int kernel_set_control(struct kernel *kernel, pid_t pid, int32_t value, uint64_t *time, bool *changed);
/* The same of what was found in its memory: it holds only where the kernel side has not heard it say anything itself,
 * before or meanwhile. */
int kernel_remember_control(struct kernel *kernel, pid_t pid, int32_t value, uint64_t *time, bool *changed);

/* --- attach ------------------------------------------------------------ */

/*
 * Who has breakpoints. In a process: only it; but every link on a site is visited at each hit, so many processes make
 * each hit dearer. In a file: whoever maps it, and `targets` decides (kernel_options.filter), at
 * the cost of a trap for bystanders.
 */
struct attach_scope {
	const pid_t *pids;
	size_t npids;
	bool file;        /* files of parallel runtimes: for everybody */
	bool file_alone;  /* files that everything maps (join alone): for everybody */
	bool all_symbols; /* uncalled functions, too, where each probe is dear to remove */
	bool apart;       /* each called function has links of its own, so that it can be taken out alone (levels.c) */
};

/* Uncalled functions have no probes where each would be a perf event of its own, unless asked for. */
bool attach_leaves_out(const struct kernel *kernel, const struct attach_scope *scope, const struct site *site);
/* Puts probes on the sites with ids in [first, plan->nsites) and on late ones. 0 or -errno, said; on failure none of
 * them stays. */
int attach_sites(struct kernel *kernel, struct plan *plan, uint32_t first, const struct attach_scope *scope);
/* Takes all probes out that are for everybody, at once, and keeps others out, too, until they are put back. */
void attach_let_go(struct kernel *kernel, struct plan *plan, const struct attach_scope *scope);
/* 0 or -errno, said. */
int attach_put_back(struct kernel *kernel, struct plan *plan, const struct attach_scope *scope);
/* Are probes in this file for everybody? */
bool attach_for_everybody(const struct plan *plan, const struct image *image, const struct attach_scope *scope);
/* Probes of a process that has come later, where files are not for everybody. 0 or -errno, said (-ESRCH: ended, not
 * said). */
int attach_process(struct kernel *kernel, struct plan *plan, pid_t pid, const struct attach_scope *scope);
/*
 * Does each process need links of its own: does the plan have functions of models that take part, in files that are not
 * for everybody?
 */
bool attach_needs_own(const struct plan *plan, const struct attach_scope *scope);
/*
 * Tells when the dynamic linker that the process maps adds or removes objects (struct capture_events). 1, 0 where that
 * was so already, -ENOENT where it maps no linker that says so, or -errno, not said.
 */
int attach_linker(struct kernel *kernel, const struct plan *plan, const struct process *process);
/* Can its calls be sampled or summed? Not where its span ends at another function's probe. */
bool level_possible(const struct site *site, enum level level);
/*
 * From now on so much of the site's calls is followed; with LEVEL_OUT its probes come out in the background, with
 * another level they are put in again where they were out. The scope is the one it was attached with, and `apart`.
 * -EBUSY: probes are still being taken out, try later; other -errno are said.
 */
int level_set(struct kernel *kernel, struct plan *plan, struct site *site, struct site_level level,
	      const struct attach_scope *scope);
/*
 * A process has mapped a parallel runtime: what models that join alone have in comes out, of all processes, in the
 * background, and is not put in again. From *since (ns) on no call of these functions is seen; those in progress end
 * there. False: there was nothing.
 */
bool attach_withdraw(struct kernel *kernel, struct plan *plan, uint64_t *since);
/* Takes out, in the background, what was put in for one process alone. */
void attach_remove_process(struct kernel *kernel, pid_t pid);
/* The same, but its linker is watched on. False: nothing sees its calls for it alone. */
bool attach_remove_calls(struct kernel *kernel, pid_t pid);
/* Until all that is being taken out in the background is out. */
void attach_wait_removed(struct kernel *kernel);
/*
 * Takes out what was put into a file, at once, for good: it has other contents now. The image stays in the plan,
 * without its identity, so that the file is a new one to plan_add_processes().
 */
void attach_forget_image(struct kernel *kernel, struct image *image);
/* Takes all probes out. `progress` (may be NULL) is told how many links of how many are gone. */
void attach_remove_all(struct kernel *kernel, void (*progress)(size_t done, size_t all));
size_t attach_count(const struct kernel *kernel); /* probes attached, per link */
/* Are there links for this process alone? */
bool attach_is_for(const struct kernel *kernel, pid_t pid);

#endif
