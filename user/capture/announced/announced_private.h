/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced_private.h - private to user/capture/announced: what its files share.
 */
#ifndef GASPBPF_ANNOUNCED_PRIVATE_H
#define GASPBPF_ANNOUNCED_PRIVATE_H

#include "capture/session.h"

#define ITEMS_MOST 12     /* values of an announcement */
#define ANNOUNCED_TEXT 32 /* bytes of a text value, with its end: GB_TEXTS_WORDS words */

/* How a value of an announcement is passed. */
enum item_kind {
	ITEM_WORD,
	ITEM_TEXT,
	ITEM_REAL /* in a vector register, which probes cannot see by themselves */,
	ITEM_LONG_REAL,
	ITEM_SHARED /* the address of one */
};

struct item {
	enum item_kind kind;
	enum form form;
	uint8_t width; /* enum gb_width */
	char name[32];
	const char *type; /* C */
	enum argument_kind argument;
	enum meaning meaning; /* of what says how much is moved; MEANING_PLAIN: anything else */
	uint32_t element;     /* as of a value of that meaning */
	bool skipped;         /* a width or precision that came as an argument ('*') */
};

struct items {
	struct item item[ITEMS_MOST];
	size_t count;
	bool cut; /* there are more */
};

/* An event that announcements name by number; of one process, since numbers are. */
struct announced_event {
	struct {
		uint32_t process; /* index in definitions */
		uint32_t id;
		uint32_t runtime; /* 1: of the runtime itself, put in by a compiler: another list of values at START
				     than at END; 2: of all numbers that are too many */
	} key;
	uint32_t probe;        /* index in definitions */
	char *name, *format;   /* NULL: unknown */
	uint32_t names;        /* that it has got so far */
	struct items items[2]; /* at START (and ATOMIC), at END */
	const char *decoder;   /* of its runtime's pointers-to-shared; of the plan. NULL: not known */
	uint32_t rest;         /* of the functions for which the kernel was told where texts are */
	bool told;
	bool unwanted;                    /* of the runtime, and not among those that --profile-only asks for */
	uint64_t unmatched_ends, unended; /* ENDs without a START, STARTs that ended for another reason than an END */
	UT_hash_handle hh;
};

/* One that has been started and not ended, on a thread. */
struct open_event {
	struct announced_event *event;
	uint32_t probe; /* index in definitions; the event may have got another name meanwhile */
	uint64_t start; /* ns */
	uint32_t site;
	uint32_t unread;
	uint16_t depth;
	uint8_t nwords;
	/* What the runtime's own function inside knows better: the value of this argument. NULL: nothing. */
	const char *fixed;
	int64_t fixed_number;
	uint64_t words[GB_SLOTS];
};

/* items.c, format.c */
/* Words that a value takes in a span; 0: none, it is not observable, or no value (a width). */
unsigned item_words(const struct item *item);
/* The values that follow at START, or at END, by the model's list. */
void items_of_list(struct items *items, const struct event_list *list);
/* The values that a printf format asks for. */
void items_of_format(struct items *items, const char *format);

/* memory.c: a text in memory that the program does not write to. False: it is not there, or may have changed. */
bool announced_constant_text(struct capture_session *s, struct captured_process *p, uint64_t address, char *text,
			     size_t room);

/* values.c */
static inline bool announced_was_read(const struct gb_span *raw, unsigned slot)
{
	return slot < raw->values && slot < GB_SLOTS && !(raw->unread >> slot & 1);
}

/* Tells the kernel side where the values of this event are that it has to follow (texts, pointers-to-shared), in
 * announcements by a function of this form. */
void announced_tell_kernel(struct capture_session *s, struct announced_event *e, pid_t pid,
			   const struct telling *telling);
/* The values of START (or ATOMIC), or of END, into the words of the span to be. */
void announced_take_values(struct capture_session *s, const struct captured_thread *t, struct open_event *o,
			   const struct telling *telling, const struct gb_span *raw, bool at_end);

/* events.c */
/* struct announced_event: key.runtime */
enum { OF_PROGRAM, OF_RUNTIME, OF_FURTHER };

/* NULL: there is none. */
struct announced_event *announced_find(struct capture_session *s, uint32_t process, uint32_t id, uint32_t runtime);
/* A new one. NULL: no memory. */
struct announced_event *announced_add(struct capture_session *s, uint32_t process, uint32_t id, uint32_t runtime);
/* The program's event of this number, which is new. NULL: no memory. */
struct announced_event *announced_add_number(struct capture_session *s, uint32_t process, uint32_t id);
/* Has the process as many events as it may have? */
bool announced_is_full(const struct capture_session *s, uint32_t process);
/* The program has created it, now or before anybody watched. */
void announced_name(struct capture_session *s, uint32_t process, uint32_t pid, uint32_t id, const char *name,
		    const char *format);
void announced_free_events(struct capture_session *s);

/* define.c */
/*
 * The definition of what the event says, which others may have said before. like: that of the function that announced
 * it. of: what the model says of it; NULL: it is the program's. NO_INDEX: no memory.
 */
uint32_t announced_define(struct capture_session *s, const struct announced_event *e, uint32_t like,
			  const struct model_event *of, const char *model);
void announced_free_meanings(struct capture_session *s);

/* runtime.c */
/*
 * The event of this number that a runtime in the same file has; or, since its compiler announces functions of the
 * program, too (GASP 1.4 section 4), one of a model that describes C. Whether they take part or not: what is wanted is
 * asked by the event's name.
 */
const struct model_event *announced_runtime_event(const struct capture_session *s, const struct site *site, uint32_t id,
						  const struct model **model);
/* It is an event of this process from now on. NULL: no memory. */
struct announced_event *announced_define_runtime(struct capture_session *s, uint32_t process, uint32_t id,
						 const struct model_event *of, const struct model *model,
						 const struct image *image, uint32_t like);
/* Tells the kernel side which of the runtime's own events have values that it has to follow, before the first is
 * announced. */
void announced_foretell(struct capture_session *s, struct captured_process *p);

/* table.c */
/* What the process's libpupc has kept of its events, and of what it last said of measurement. */
void announced_read_table(struct capture_session *s, struct captured_process *p);
/* The same, once in a pass: what is delivered in this one was announced before that reading. */
void announced_read_table_again(struct capture_session *s, struct captured_process *p);

/* creation.c */
/* The call creates an event. */
void announced_create(struct capture_session *s, struct captured_thread *t, const struct site *site,
		      const struct gb_span *raw);
/* A thread may use an event before the thread that created it has had its turn: names what is on its way in all rings.
 */
void announced_look_ahead(struct capture_session *s);

/* numbers.c: the event of this number; defined where it is new. NULL: no memory. */
struct announced_event *announced_event(struct capture_session *s, const struct captured_thread *t, uint32_t id,
					const struct site *site, uint32_t first_probe);

#endif
