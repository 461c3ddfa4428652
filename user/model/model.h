/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - the door of user/model: models of runtimes, which say what their functions mean (user/meaning).
 *
 * A model is read from text (docs/models.md), never compiled in. Reading gives
 * functions: symbol name, GASP event, role, and the values a call carries.
 * A function becomes a capture program for the kernel side with
 * model_function_capture(), once the library it was found in is known.
 */
#ifndef GASPBPF_MODEL_H
#define GASPBPF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"
#include "meaning/meaning.h"

/* Where an argument's value may come from. */
struct argument_from {
	const char *
		name; /* of a value, a group of the function's name, or `prototype` or `symbol`; NULL: `number` is it */
	bool given;   /* not the value itself, but whether the caller gave it: 1 or 0 */
	int64_t number;
};

/* One argument of an event, as a model's `event` statement lists it (docs/models.md). */
struct event_argument {
	const char *name; /* "nbytes" */
	const char *type; /* "size_t", "gasp_upc_PTS_t *" */
	enum argument_kind kind;
	uint8_t size;               /* bytes */
	struct argument_from *from; /* the first that is known is it */
	size_t nfrom;
};

struct event_list {
	bool stated; /* the model says what there is, which may be nothing */
	struct event_argument *arguments;
	size_t count;
};

/* An event of a model, whether the model has functions for it or not. */
struct model_event {
	const char *name;     /* "GASP_C_MALLOC" */
	const char *own_name; /* "MALLOC" */
	uint32_t number;
	bool listed;       /* there is an `event` statement */
	bool by_prototype; /* it has no list: the arguments are those of the first function's prototype */
	bool has_told;     /* programs announce it by another number: `told` */
	uint32_t told;
	struct event_list lists[EVENT_TYPES]; /* by enum event_type */
	const char *description;              /* one line; NULL: none */
	size_t nfunctions;                    /* of the model's */
	enum role role;                       /* of the first of them */
	unsigned marks;
};

/* {NAME=...} in a function's name: what it says for this function. */
struct constant {
	const char *name, *text;
};

struct function {
	const struct model *model;
	char *symbol;    /* "shmem_int_get" */
	char *event;     /* "GASP_SHMEM_GET" */
	uint32_t number; /* the event's number; all functions of one event share it */
	enum role role;
	unsigned marks;  /* enum mark */
	char *prototype; /* with T replaced, annotations removed: "void shmem_int_get(int *dst, ...)" */
	char *op;        /* of a named group {op=...}: "sum"; NULL: none */
	const struct constant *constants; /* of all named groups, op among them; and T */
	size_t nconstants;
	const struct model_event *of; /* its event's arguments */
	const char *file;             /* where it was defined */
	int line;
	/*
	 * @only: the function is this event only where capture.only reads (or, negated, does not read) this number.
	 * Functions that differ in nothing else stand one after the other.
	 */
	bool has_only, only_negated;
	int64_t only_number;
	void *parsed; /* private to user/model */
};

/* By what a build is recognised (build.c). */
enum build_test_kind {
	BUILD_TEXT,   /* the program holds a text that begins like this; `*` and `?` as in a glob */
	BUILD_SYMBOL, /* it defines this function */
	BUILD_STRUCT, /* its DWARF has a struct of this name, size and, if stated, first member, no bit-field */
	BUILD_BITS,   /* its DWARF has a struct of this name with these three bit-fields, 64 bits together */
	BUILD_SHIFTS, /* one of the model's functions in it shifts right by both of these numbers of bits */
};

struct build_test {
	enum build_test_kind kind;
	const char *name, *member;
	uint32_t bytes;
	const char *parts[SHARED_PARTS];
	uint8_t shifts[2];
};

/* One way in which a runtime that lies in the program itself may have been built: picks the layouts `program:NAME`. */
struct build {
	const char *name;
	struct build_test *tests; /* all hold; none: holds always */
	size_t ntests;
	uint8_t bits[SHARED_PARTS]; /* of the parts of a packed pointer in this very program, in their order there; 0:
				       as the layout says */
};

/* An event that cannot be seen at all, or not wholly. */
struct unseen {
	const char *event, *own_name; /* "GASP_UPC_FORALL", "FORALL" */
	const char *why;
	bool partly; /* the model has functions for it, which do not tell all of it */
};

struct model {
	char *name;     /* "shmem" */
	char *language; /* "SHMEM" */
	char *unit;     /* "PE"; NULL: it has no word of its own for those that have ranks */
	char **library; /* globs, NULL-terminated; empty for in_program */
	char **wrapper; /* globs of libraries that only pass calls on to those, NULL-terminated */
	char **parts;   /* globs of the runtime's further files, without functions of the model; NULL-terminated */
	bool in_program;
	bool alone;        /* join alone, join asked */
	bool asked;        /* join asked: only where -m names it */
	bool always;       /* join always: whatever other models take part */
	bool imported;     /* join imported: only where somebody imports one of its functions, or -m names it */
	bool affinity;     /* @peer of its transfers is a rank of the job: whose part of the global address space it is
			      about */
	char **needs;      /* symbols, NULL-terminated */
	char **hooks;      /* functions that give the runtime user code to run inside any other; NULL-terminated */
	char **switches;   /* functions of anybody's that switch a thread to another stack; NULL-terminated */
	char **rank_env;   /* NULL-terminated */
	char *rank_symbol; /* NULL: none */
	long rank_plus;
	char **ranks_env;    /* how many ranks there are; NULL-terminated */
	char *ranks_symbol;  /* NULL: none */
	char **ranks_local;  /* variables that tell how many of them are on its machine; NULL-terminated */
	char *locks_library; /* glob of the library whose locks tell who has them; NULL: none */
	char *locks_layout;  /* ... by this decoder (waitgraph/waitgraph.h) */
	struct function *functions;
	size_t nfunctions;
	struct model_event *events; /* those with a statement first, as they stand in the file */
	size_t nevents;
	bool tells; /* some have a number of their own by which programs announce them; the others have none */
	struct build *builds; /* in the order in which they are tried */
	size_t nbuilds;
	struct unseen *unseen;
	size_t nunseen;
	void *parsed; /* private to user/model */
};

struct model_set;

/* Reads every *.model file of folder `dir`, in name order. Says what is wrong. 0 or -errno. */
int models_load_folder(struct model_set **set, const char *dir);
/* What a library of a runtime is that no model describes, by the folder's file `unmodelled`: "oneTBB"; NULL: it is none
 * of these. NULLs are allowed. */
const char *models_unmodelled(const struct model_set *set, const char *soname, const char *basename);
/* Is it a plug-in of another runtime, which needs such libraries for its own ends (a line `beside` there)? */
bool models_beside(const struct model_set *set, const char *soname, const char *basename);
/* A runtime that is linked into programs (a line `inside` there): what it is, and the model that observes it where the
 * program has names of its functions; NULL: none does. */
struct inside {
	const char *what, *model;
};
/* How many lines `inside` there are; the text of each, which programs have that have it inside, and what it tells. */
size_t models_inside(const struct model_set *set, const char *const **texts, const struct inside **insides);
/* Adds one file (--model-file). A model of the same name replaces the earlier one. */
int models_add_file(struct model_set *set, const char *path);
/* Adds a model from text; `name` stands in messages. For tests and fuzzing. */
int models_add_text(struct model_set *set, const char *name, const char *text, size_t length);
struct model_set *models_new(void);
void models_free(struct model_set *set);
size_t models_count(const struct model_set *set);
const struct model *models_at(const struct model_set *set, size_t index);
const struct model *models_find(const struct model_set *set, const char *name);

/* True where a file of this soname or base name holds the model's functions. NULLs are allowed. */
bool model_matches_file(const struct model *model, const char *soname, const char *basename);
/* The same of a library that only passes calls on to them: whoever calls it is the caller that counts. */
bool model_wraps_in_file(const struct model *model, const char *soname, const char *basename);
/* The same of all of the runtime's files: what they call of its functions, it calls itself. */
bool model_runtime_has_file(const struct model *model, const char *soname, const char *basename);

#define TELLING_TEXT 8  /* words of a text that a creating function was given */
#define TELLING_REALS 4 /* floating point values of an announcement */

/*
 * Where the words of an announcement are: slots, SLOT_NOWHERE where there is none. The values that come after the named
 * arguments are in slots from `rest` on; of them `integers` were in registers, and those from slot GB_REGISTERS on, on
 * the stack.
 */
struct telling {
	uint8_t id, kind, file, line, column, on;
	uint8_t name, format;       /* of TELLING_TEXT words each */
	uint8_t name_at, format_at; /* their addresses */
	uint8_t rest, nstack;       /* first slot; words of the stack that follow those of registers */
	uint8_t reals;              /* the first of TELLING_REALS slots; 0: floating point values are not seen */
	bool list;                  /* they are those of a va_list: in slots LIST_* */
};

/* Of a va_list: how far its registers are used up; what it has saved of them, from the second on; its words on the
 * stack. */
enum { LIST_USED = 6, LIST_STACK = 7, LIST_SAVED = 8, LIST_REGISTERS = 9, LIST_WORDS = 14, LIST_END = 20 };

/* '*' stands for any characters, '?' for one. */
bool name_matches(const char *glob, const char *text);
/* Does it match the function's symbol, or what people call it, with its arguments or without: "grid::solve(int)",
 * "grid::solve"? */
bool function_is_called(const char *glob, const char *symbol);

/* The capture program and the values of one function in one library. */
struct capture {
	struct gb_probe program;
	bool unwanted; /* calls with this meaning are no events (selection.h) */
	struct value *values;
	size_t nvalues;
	struct gb_near near[GB_NEAR]; /* an access (model->affinity): where it says whose part of the address space it
					 is about */
	struct value only;            /* function->has_only: the value it looks at; sent, but none of `values` */
	struct telling telling;       /* of a function with one of MARKS_TELL, which has no values */
};

/*
 * Works out how to fetch the function's values; soname (the base name of a file that has none) picks
 * the layout and may be NULL: the program itself. Values that do not fit GB_SLOTS or GB_OPS are left out from the end,
 * with a warning. 0 or -ENOMEM. The caller frees with capture_free().
 */
int model_function_capture(const struct function *function, const char *soname, struct capture *capture);
/* The same for a program whose runtime was built as `build` says: one of the model's, or NULL. */
int model_function_capture_build(const struct function *function, const char *soname, const struct build *build,
				 struct capture *capture);
void capture_free(struct capture *capture);

/* The build of this name; NULL: none. */
const struct build *model_build_find(const struct model *model, const char *name);
/* The first build whose tests all hold; NULL: none does, or the model has none. */
const struct build *model_build_recognise(const struct model *model,
					  bool (*holds)(void *context, const struct build_test *test), void *context);

/* The event of this full name; NULL: none. */
const struct model_event *model_event_find(const struct model *model, const char *name);

#endif
