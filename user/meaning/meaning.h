/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meaning.h - the door of user/meaning: what a call is for, and what its values mean, whatever language that was said
 * in.
 *
 * A recording holds this for each of its probes, so that its calls are understood without any model. Models
 * (user/model) are where it comes from.
 */
#ifndef GASPBPF_MEANING_H
#define GASPBPF_MEANING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"

/* What a function does, as far as any analysis cares. */
enum role {
	ROLE_FUNCTION,
	ROLE_BARRIER,
	ROLE_NOTIFY,
	ROLE_WAIT,
	ROLE_FENCE,
	ROLE_ACQUIRE,
	ROLE_TRY,
	ROLE_RELEASE,
	ROLE_GET,
	ROLE_PUT,
	ROLE_COPY,
	ROLE_SET,
	ROLE_COLLECTIVE,
	ROLE_SEND,
	ROLE_RECV,
	ROLE_EXCHANGE,
	ROLE_ALLOC,
	ROLE_REALLOC,
	ROLE_FREE,
	ROLE_TASK,
	ROLE_TRANSFER,
	ROLE_INIT,
	ROLE_EXIT,
	ROLE_USER,
	ROLE_TEST,
	ROLE_ATOMIC,
	ROLE_COMM,
	ROLE_WINDOW,
	ROLE_EVENT,
	ROLE_SUBMIT,
	ROLE_READY,
	ROLE_DONE,
	ROLE_READ,
	ROLE_WRITE,
	ROLE_IO,
	ROLES
};

/* What a value of a call means. */
enum meaning {
	MEANING_PLAIN,
	MEANING_BYTES,
	MEANING_COUNT,
	MEANING_SIZE,
	MEANING_TYPE,
	MEANING_PEER,
	MEANING_ROOT,
	MEANING_TAG,
	MEANING_COMM,
	MEANING_REQUEST,
	MEANING_STATUS,
	MEANING_LOCK,
	MEANING_BARRIER,
	MEANING_PTR,
	MEANING_NAME,
	MEANING_OP,
	MEANING_NAMED,
	MEANING_TASK,
	MEANING_WORKER,
	MEANING_NODE,
	MEANING_SELF,
	MEANING_DONE,
	MEANING_ERROR,
	MEANING_INDEX,
	MEANING_KIND,
	MEANING_DEVICE,
	MEANING_INTERNAL,
	MEANING_ID,
	MEANING_FORMAT,
	MEANING_ON,
	MEANING_FILE,
	MEANING_LINE,
	MEANING_COLUMN, /* of announcements; MEANING_KIND too: see below */
	MEANING_FD,     /* a descriptor of an open file, until a call closes it */
	MEANING_CLOSED, /* the descriptor that it closes */
	MEANING_OFFSET, /* in the file, in bytes */
	MEANING_PATH,   /* of a file that is opened: a text, and the folder that it is in (GB_OP_PATH) */
	MEANING_FOLDER, /* the descriptor that this path is relative to */
	MEANING_COLOR,  /* of a call by which a communicator becomes others: who gives the same has the same new one */
	MEANINGS
};

/* Which way the data goes that a value speaks of. */
enum side { SIDE_NONE, SIDE_SEND, SIDE_RECV };

enum mark {
	MARK_LEAF = 1,
	MARK_CALLBACK = 2,
	MARK_CANCEL = 4,
	MARK_ATOMIC = 8,
	MARK_ONE = 16,
	MARK_OPENS = 32,
	MARK_CLOSES = 64,
	MARK_SYNC = 128,
	MARK_STAYS = 256,
	MARK_EACH = 512,        /* each function of the line is a row of its own in reports */
	MARK_TEAM = 1 << 10,    /* begins a region in which several threads have their shares, the caller's inside: what
				   is left of the call is waiting for the others */
	MARK_SHARE = 1 << 11,   /* a thread's share of a region: a thread of the runtime's own waits between them */
	MARK_POINTED = 1 << 12, /* has no name: its address is the @name value of a call with MARK_TEAM */
	MARK_OUTER = 1 << 13,   /* its calls are the program's, even inside of others of the runtime */
	/* Of a call that begins or ends a time in which one-sided transfers go on: */
	MARK_EXPOSURE = 1 << 14, /* the caller's memory is open to others */
	MARK_ACCESS = 1 << 15,   /* the caller accesses what others have opened */
	/* Functions by which a program tells of events itself (user/capture/announced/announced.c). */
	MARK_CREATES = 1 << 16, /* gives an event its number, name and format */
	MARK_STARTS = 1 << 17,
	MARK_ENDS = 1 << 18,
	MARK_HAPPENS = 1 << 19,
	MARK_NOTIFIES = 1 << 20, /* one of these three, as an argument says */
	MARK_CONTROLS = 1 << 21, /* switches measurement off and on */
	MARK_SPLIT = 1 << 22, /* where the file has NAME_plain, that and NAME_reals are observed instead: calls without
				 and with floating point values */
	MARK_REALS = 1 << 23, /* the first floating point values have been stored below the stack pointer */
	MARK_INNER = 1 << 24, /* of a definition, not of a model: calls that the runtime makes to itself
				 (user/capture/inner.c) */
	MARK_STACKED = 1 << 25, /* of a definition, too: a thread may change stacks within its calls, which then overlap
				   in any way (bpf/stacks.h) */
	MARK_CHUNK = 1 << 26,   /* asks for a piece of a loop: it gets one if its @done value is not 0 */
	MARK_CHOSEN = 1 << 27,  /* begins a block that one thread of a team runs: the one whose @done value is not 0;
				    without such a value it is the end of the block */
};

#define MARKS_ANNOUNCE (MARK_STARTS | MARK_ENDS | MARK_HAPPENS | MARK_NOTIFIES)
#define MARKS_TELL (MARKS_ANNOUNCE | MARK_CREATES | MARK_CONTROLS)

/* How to print and compare the 64 bits of a value. */
enum form {
	FORM_INT,
	FORM_UINT,
	FORM_POINTER,
	FORM_BOOL,
	FORM_STRING /* the address of a C string */,
	FORM_TEXT /* a C string itself: `element` words from `slot` on */,
	FORM_REAL /* a double */,
	FORMS
};

/*
 * One value that a span carries. This is what the recording stores of it (value_encode() in
 * value.h), so it must be enough to understand a span without the model.
 */
struct value {
	char *name; /* the parameter's name; "result" for the result */
	enum meaning meaning;
	enum side side;
	enum form form;
	bool at_return;    /* fetched at the return, so unknown in a span that never returned */
	bool unobservable; /* never sent: a register that uprobes cannot see, or a fact that no layout gives; takes no
			      slot */
	bool constant;     /* never sent: the value is `number`, fixed by the prototype; takes no slot */
	uint8_t slot;      /* index into gb_span.value[] */
	uint8_t width;     /* enum gb_width: of the word's 64 bits only these count */
	uint32_t element;  /* MEANING_COUNT: bytes per element where the prototype fixes it, else 0 */
	int64_t none;      /* this value means "not given" */
	bool has_none;
	int64_t number; /* constant: the value; else added to it (a string inside a struct) */
	/* Bits of the word (docs/models.md). A count of 0: the whole word; always valid. */
	uint8_t bits_low, bits_count;
	uint8_t valid_low, valid_count;
	uint64_t valid_equals;
	/* Where the handle in slot null_slot equals `null`, there was nothing to read. */
	bool has_null;
	uint8_t null_slot;
	int64_t null;
	/* Known only where the word in least_slot, as wide as this, is at least `least`: an element of an array, a
	 * status that was filled. */
	bool has_least;
	uint8_t least_slot, least_width;
	int64_t least;
	char *decoder; /* user-space decoder of the 64 bits, such as upc_packed; NULL: none */
	/* A decoder of 16 bytes: where the second 8 are. */
	bool has_high;
	uint8_t high_slot;
};

/* GASP 1.4 section 3.2. */
enum event_type { EVENT_START, EVENT_END, EVENT_ATOMIC };
#define EVENT_TYPES 3

/* How an argument of an event reaches a tool. */
enum argument_kind {
	ARGUMENT_INT,
	ARGUMENT_UINT,
	ARGUMENT_POINTER,
	ARGUMENT_TEXT,   /* const char * */
	ARGUMENT_SHARED, /* GASP 1.4 section 5.4: a pointer to storage that holds a pointer-to-shared, 8 or 16 bytes */
	ARGUMENT_DOUBLE, /* never observable */
	ARGUMENT_KINDS
};

#define SHARED_PARTS 3   /* of a pointer-to-shared: thread, phase, address, in one order or another */
#define SLOT_NOWHERE 255 /* where the index of a slot stands: there is none */

const char *role_name(enum role role);
const char *meaning_name(enum meaning meaning);
/* The inverse, for readers of a recording; -1 where unknown. */
int role_from_name(const char *name);
int meaning_from_name(const char *name);

#endif
