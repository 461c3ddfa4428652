/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - what the files of user/model share; no other folder includes it.
 *
 * The way of a model file:
 *
 *	source.c      bytes -> statements -> tokens, and errors with line and column
 *	ctype.c       C types: reading them, and how the ABI passes them
 *	annotation.c  @bytes:send(+16 u64) and the paths of layouts
 *	prototype.c   a C declaration with annotations
 *	expand.c      {a,b,c}: one function of each
 *	event.c       events and their arguments
 *	event_prototype.c       those of an event that does not say which: its function's prototype has them
 *	numbers.c     the numbers that events have for good
 *	unmodelled.c  runtimes that nobody sees
 *	build.c       how a runtime in the program was built
 *	unseen_statement.c      what cannot be seen
 *	decoder.c     names of data layouts that the language cannot say
 *	layout.c      facts about one library version
 *	reader.c      statements -> struct model: head.c has those about the whole, functions.c those about functions
 *	set.c         models of a folder, a file, a text
 *	capture.c     function + library -> capture program + values
 *	telling.c     the same for functions by which a program tells of events itself
 *	wants.c       which values a call carries, and the way to each
 *	communicator.c     who is in a communicator
 *	selection.c   files of names: what is wanted
 *	names.c       the words of the language
 *
 * Everything that a model holds lives in its arena and goes with it.
 */
#ifndef GASPBPF_MODEL_PARTS_H
#define GASPBPF_MODEL_PARTS_H

#include <stdarg.h>

#include "model/model.h"

#define MODEL_FILE_MOST (1u << 20)
#define MODEL_FUNCTIONS_MOST 100000
#define MODEL_TEXT_MOST (64u << 20) /* bytes of one model's arena */
#define MODEL_NAME_MOST 4096
#define MODEL_LIST_MOST 10000
#define MODEL_GROUPS_MOST 8
#define MODEL_FACTS_MOST 1000 /* and numbers, lists, globs of layouts: each as many */
#define MODEL_ERRORS_MOST 10
#define PARAMETERS_MOST 64
#define ANNOTATIONS_MOST 8
#define STEPS_MOST 8

/* Memory that is freed all at once. */
struct arena_block;
struct arena {
	struct arena_block *block;
	size_t used; /* bytes handed out */
	bool failed; /* out of memory, or more than MODEL_TEXT_MOST */
};
void *arena_get(struct arena *arena, size_t size); /* zeroed; NULL: failed */
char *arena_copy(struct arena *arena, const char *text, size_t length);
void arena_free(struct arena *arena);

/* The text of a model file. */
struct source {
	const char *name; /* in messages */
	const char *original;
	char *clean; /* as long; comments and continuations are blanks */
	size_t length;
	unsigned errors;
};

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_NUMBER,
	TOKEN_MARK, /* one character */
	TOKEN_ARROW,
	TOKEN_ELLIPSIS,
	TOKEN_RANGE,
	TOKEN_SAME
};

/* Tokens of a piece of one statement; `token` is the current one. */
struct lexer {
	struct source *source;
	const char *next, *end;
	struct {
		enum token_kind kind;
		const char *at;
		size_t length;
		char mark;
		uint64_t number;
	} token;
};

int source_open(struct source *source, const char *name, const char *text, size_t length);
void source_close(struct source *source);
typedef void (*source_line_fn)(void *context, struct source *source, const char *at, const char *end);
/* Each line of a file without statements, comments left out, until it is hopeless. */
void source_lines(struct source *source, size_t length, source_line_fn read, void *context);
/* "FILE:LINE:COLUMN: ..." at a place of `clean`. */
void source_error(struct source *source, const char *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Too many errors: give up. */
bool source_hopeless(const struct source *source);

void lexer_start(struct lexer *lexer, struct source *source, const char *at, const char *end);
void lexer_next(struct lexer *lexer);
bool lexer_is_word(const struct lexer *lexer, const char *word);
bool lexer_is_mark(const struct lexer *lexer, char mark);
bool lexer_take_word(struct lexer *lexer, const char *word); /* and goes on, if it is that */
bool lexer_take_mark(struct lexer *lexer, char mark);
/* [+-] NUMBER within the bounds; false, said, where there is none. `what` is named in the message. */
bool lexer_take_number(struct lexer *lexer, const char *what, int64_t least, int64_t most, int64_t *number);
/* A word, copied; false, said, where there is none. `what` is named in the message. */
bool lexer_take_name(struct lexer *lexer, struct arena *arena, const char *what, const char **name);
/* "..." "...", joined as in C; the first quote is the current token. False: the last quote is missing, or no memory. */
bool lexer_take_text(struct lexer *lexer, struct arena *arena, const char **text);
/* The current token for a message: 'word', or "the end of the line". */
const char *lexer_show(const struct lexer *lexer);
bool is_word_character(char c);

enum type_kind { TYPE_VOID, TYPE_INTEGER, TYPE_FLOAT, TYPE_LONG_DOUBLE, TYPE_NAMED, TYPE_T };

struct ctype {
	enum type_kind kind;
	uint8_t size; /* bytes, of INTEGER, FLOAT and LONG_DOUBLE */
	bool negative, boolean;
	uint8_t pointers; /* how many '*' */
	const char *name; /* of NAMED */
};

enum passing {
	PASS_NOTHING,
	PASS_INTEGER,
	PASS_FLOAT,
	PASS_MEMORY,
	PASS_UNKNOWN /* nor is it known where what follows it is */
};

/* How the ABI passes a type, and how to read it. */
struct passed {
	enum passing how;
	unsigned words; /* eightbytes: registers, or of the stack */
	bool aligned16; /* on the stack */
	uint8_t width;  /* enum gb_width, of an integer of one word */
	enum form form;
	const char *decoder; /* of a declared type: what its words mean; NULL: nothing more is known */
};

/* A decoder in a model; words is 0 where there was none. */
struct decoder_name {
	const char *text; /* as a value keeps it; NULL: it is the kernel's */
	uint8_t kernel;   /* enum gb_decoder */
	unsigned words;
};
/* False, said, where something is wrong. */
bool decoder_read(struct lexer *lexer, struct arena *arena, struct decoder_name *name);

/* A type's words, from the lexer, up to what cannot belong to it, with the '*'. False: no type, said. */
bool ctype_read(struct lexer *lexer, struct arena *arena, struct ctype *type);
/* A whole text that is a C scalar type or a pointer; never says anything. */
bool ctype_from_text(const char *text, size_t length, struct ctype *type);
/* A type as written, "const char *": blanks joined, one before the stars, none among or behind them. */
const char *type_text(struct arena *arena, const char *at, const char *end);
/* u8 s8 ... ptr; false where the word is none. */
bool width_from_word(const char *word, size_t length, uint8_t *width, enum form *form, uint8_t *size);

/* Where a value is, starting from a parameter or a handle. */
struct path {
	bool high;
	uint8_t stars;
	uint8_t nsteps;
	struct step {
		int32_t offset;
		uint8_t width;
		uint8_t form;
	} steps[STEPS_MOST];
	bool string;
	int32_t string_offset;
	uint8_t bits_low, bits_count;
	uint8_t valid_low, valid_count;
	uint64_t valid_equals;
	const char *decoder;    /* of user space */
	uint8_t kernel_decoder; /* enum gb_decoder; 0: none */
	const char *field;      /* of a layout */
};

enum fixed { FIXED_NOT, FIXED_NUMBER, FIXED_SIZEOF, FIXED_POINTEE, FIXED_T, FIXED_UNKNOWN };

struct annotation {
	enum meaning meaning;
	enum side side;
	bool located; /* the path says something */
	struct path path;
	bool has_none;
	int64_t none;
	uint32_t element;
	enum fixed fixed;
	int64_t number;
	const char *condition; /* known only where this parameter's value is not 0; NULL: always */
	uint8_t each; /* the first so many elements of an array that has as many as `condition` says; 0: no array */
};

struct parameter {
	struct ctype type;
	const char *name;
	const char *at;                 /* in the source, for messages while reading */
	const char *written;            /* the type's text, an array as a pointer; NULL: an array of arrays has none */
	struct annotation *annotations; /* few have one, and there are thousands of parameters */
	uint8_t nannotations;
	bool out, skip;
	bool has_only, only_negated; /* @only(PATH == N): the path is only.path */
	struct annotation only;
	int64_t only_number;
	const char *only_at, *only_end; /* the condition, in the source */
};

struct prototype {
	bool bare; /* only a name: nothing is known */
	struct parameter result;
	struct parameter *parameters;
	unsigned nparameters;
	bool records_result; /* '->' */
	bool uses_t;
	bool variadic;                  /* '...' */
	const struct parameter *only;   /* the one with @only; NULL: none */
	const char *text;               /* as written, blanks joined; \1 stands for T, \2 for the symbol */
	const char *signature;          /* where there is @only: all of it, without the condition */
	const char *name_at, *name_end; /* the pattern of the name, in the source */
};

/* What struct function's `parsed` points to: a prototype and its T. */
struct bound {
	const struct prototype *prototype;
	struct ctype t;
};

/* Annotations up to a token that starts none. */
void annotations_read(struct lexer *lexer, struct arena *arena, struct parameter *parameter);
/* The path of a layout's field, up to the end of the statement. */
bool path_read_fact(struct lexer *lexer, struct arena *arena, struct path *path);
/* NULL, said, where something is wrong. */
struct prototype *prototype_read(struct source *source, struct arena *arena, const char *at, const char *end);

/* One alternative: what the symbol has, and what T or op says. */
struct alternative {
	const char *word, *value;
	const char *type; /* of a named group: what T says, too; NULL: nothing */
};
struct alternatives {
	const char *name;
	struct alternative *items;
	size_t count;
};
struct lists {
	struct alternatives *lists;
	size_t count;
};

/* Reads "a,b:c,NAME" of at..end into `out`, whose items are in the arena. False, said. */
bool alternatives_read(struct source *source, struct arena *arena, const struct lists *lists, const char *at,
		       const char *end, struct alternatives *out);

/* One function that a pattern stands for. */
struct expansion {
	const char *symbol;
	const char *t;                    /* NULL: none */
	const char *op;                   /* NULL: none */
	const struct constant *constants; /* of the named groups */
	unsigned nconstants;
};
/* All functions of a name pattern; at most `most`. False, said. */
bool expand(struct source *source, struct arena *arena, const struct lists *lists, const struct prototype *prototype,
	    size_t most, struct expansion **expansions, size_t *count);

/* telling.c: does the prototype say all that its marks need? */
void telling_check(struct source *source, const struct prototype *p, unsigned marks);
/* The capture program of a function with one of MARKS_TELL. 0 or -ENOMEM. */
int telling_capture(const struct function *function, struct capture *capture);

/* A fact of a layout. */
struct fact {
	const char *type, *field; /* field NULL: the declaration of a type */
	struct path path;
	struct passed passed; /* of a declaration */
	bool null;            /* X.null, X.world, X.self, peer.nobody: a number, not a path */
	int64_t number;
};
struct layout {
	const char **globs; /* NULL-terminated; NULL: of every library */
	struct fact *facts;
	size_t nfacts;
};

struct parsed_model {
	struct arena arena;
	struct layout *layouts; /* the first is that of every library */
	size_t nlayouts;
	size_t nfacts; /* and globs, of all layouts */
	struct lists lists;
};

/* Reads `type X = ...` or `X.field = ...` into the layout. */
void fact_read(struct source *source, struct parsed_model *parsed, struct layout *layout, const char *at,
	       const char *end);
/* The field that a type with a decoder has by itself: @peer(thread). */
#define DECODED_FIELD "thread"
/* What the program is called whose build is NAME: program:NAME. */
#define PROGRAM_BUILD "program:"
/* The facts that hold in a library: NULL where there is none. soname may be NULL. */
const struct fact *fact_type(const struct parsed_model *parsed, const char *soname, const char *type);
const struct fact *fact_field(const struct parsed_model *parsed, const char *soname, const char *type,
			      const char *field);
/* Any layout states it; field NULL: declares the type. */
bool fact_known(const struct parsed_model *parsed, const char *type, const char *field);
/* Any layout says by which decoder a value of the type is read, so that it has a field `thread`. */
bool fact_decodes(const struct parsed_model *parsed, const char *type);

/* How a type is passed where T is `t` and the library is `soname`. */
struct passed type_passed(const struct parsed_model *parsed, const char *soname, struct ctype type,
			  const struct ctype *t);
/* Bytes of a type; 0 where they are unknown. */
uint32_t type_size(const struct parsed_model *parsed, const char *soname, struct ctype type, const struct ctype *t);

/* The numbers that events have for good (numbers.c). 0 or, said, -errno; the caller frees. */
struct numbers;
int numbers_read(struct numbers **numbers, const char *name, const char *text, size_t length);
void numbers_free(struct numbers *numbers);
/* The event of this full name, and the one that has this number; false and NULL: none. numbers may be NULL: nobody has.
 */
bool numbers_find(const struct numbers *numbers, const char *event, uint32_t *number);
const char *numbers_owner(const struct numbers *numbers, uint32_t number);

/* Runtimes that nobody sees (unmodelled.c). 0 or, said, -errno; the caller frees. */
struct unmodelled;
int unmodelled_read(struct unmodelled **unmodelled, const char *name, const char *text, size_t length);
void unmodelled_free(struct unmodelled *unmodelled);
/* What the file of this soname or base name is; NULL: none of these. NULLs are allowed. */
const char *unmodelled_find(const struct unmodelled *unmodelled, const char *soname, const char *basename);
/* Is it a plug-in that needs such libraries for its own runtime's ends? */
bool unmodelled_is_beside(const struct unmodelled *unmodelled, const char *soname, const char *basename);
/* See models_inside(). */
size_t unmodelled_inside(const struct unmodelled *unmodelled, const char *const **texts, const struct inside **insides);

/* Does one of the globs match the soname or the base name? Each may be NULL (names.c). */
bool names_any_match(char *const globs[], const char *soname, const char *basename);

/* Reads a whole file into a new model; numbers may be NULL. NULL, said, where something is wrong. */
struct model *model_read(const char *name, const char *text, size_t length, const struct numbers *numbers);
void model_free(struct model *model);

/* The name nearest to a word, for "did you mean"; NULL where none is near. names ends with NULL. */
const char *name_nearest(const char *word, size_t length, const char *const *names);

#endif
