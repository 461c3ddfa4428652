/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/flight share.
 */
#ifndef GASPBPF_FLIGHT_PRIVATE_H
#define GASPBPF_FLIGHT_PRIVATE_H

#include <limits.h>
#include <sys/types.h>

#include "flight/flight.h"
#include "flight/ring.h"
#include "flight/trigger.h"
#include "util/buffer.h"

#define WHY_SIZE 400

/* What is known of a probe's limit. */
struct limit {
	uint64_t ns; /* NO_LIMIT: none */
	const struct trigger *trigger;
	bool known;
};

/* A call in progress that is too long; all by the time of its start (ns; 0: none). */
struct thread_watch {
	uint64_t seen;  /* by the last look at the calls in progress */
	uint64_t fired; /* and since it has been said */
};

/* Why there is to be a dump, and when. */
struct request {
	bool is;
	uint64_t due;     /* ns */
	const char *word; /* "wait", "death", "asked": %w of a name */
	char why[WHY_SIZE];
	unsigned more;   /* that came after it, until the dump began */
	uint64_t ticket; /* the last one of those who asked for it; 0: nobody */
};

/* A dump that is being written. */
struct dump {
	pid_t child; /* 0: none */
	int fd;
	char path[PATH_MAX];
	struct request request;
	uint64_t spans, lost, length; /* length: ns */
};

/* Calls in progress, sorted by thread and start. */
struct open_calls {
	struct span *spans;
	size_t count, room;
	bool failed; /* no memory */
};

/* Who has wished for dumps. */
struct asker {
	uid_t user;
	unsigned dumps;
	uint64_t last; /* ns */
};
#define ASKERS 64

struct flight {
	const struct flight_options *options;
	const struct caller *caller;
	struct definitions *d;
	struct capture_session *capture;

	uint64_t started; /* ns */
	struct ring_of_blocks ring;
	struct block_maker *maker;
	struct block filling; /* what is in the maker */
	size_t cut;           /* bytes after which a block is sealed */
	uint64_t age;         /* ns after which one is */

	struct def_sum *before; /* the sums as they were looked at last */
	size_t nbefore;
	struct buffer growth;
	uint64_t summed; /* ns; when that was */

	struct limit *limits; /* by probe */
	size_t nlimits;
	struct thread_watch *threads;
	size_t nthreads;
	uint64_t look, looked; /* ns between two looks at the calls in progress; 0: none are wanted. And when the last
				  one was */

	struct request triggered, asked; /* asked: by somebody */
	struct open_calls open;          /* while a dump is being prepared */
	struct dump dump;
	uint64_t last;             /* ns; when the last dump began that a trigger asked for */
	uint64_t ticket, answered; /* the last one given, and answered */
	char answer[PATH_MAX + WHY_SIZE];
	bool answer_is, answer_written;
	unsigned number; /* of the last dump's name */
	unsigned dumps;  /* begun */
	bool said_most;
	struct asker askers[ASKERS];
	unsigned naskers;
	char refused[160];
	int error; /* of the first dump that failed */
};

/* flight.c: seals what has been collected. */
void flight_seal(struct flight *flight);
/* The time from which on all is kept. */
uint64_t flight_since(const struct flight *flight);

/* watch.c: a call has ended; is it one that was too long? */
void flight_watch_span(struct flight *flight, const struct span *span);
/* Looks at the calls in progress, if it is time. */
void flight_watch_open(struct flight *flight, uint64_t now);

/* name.c: creates the dump's file, a new one. A descriptor or -errno, said. */
int flight_create(struct flight *flight, const char *word, char path[PATH_MAX]);

/* window_sums.c: what the sums have grown by since the last time goes into the ring. */
void sums_keep(struct flight *flight, uint64_t now);
/* Adds up what a block of it says; sums: one for each of the definitions. 0 or -EBADMSG. */
int sums_read(const struct flight *flight, const struct block *block, struct def_sum *sums);
/* These are the sums now, and in the loss. */
void sums_apply(struct definitions *d, const struct def_sum *sums);

/* open.c: fetches the calls in progress. */
void open_fetch(struct flight *flight);
/* One look: adds them, and sorts. 0 or -errno, not said. */
int open_look(struct flight *flight, struct open_calls *open);
/* This call has ended after all. may_move: perhaps on another thread than it has begun on. */
void open_forget(struct open_calls *open, const struct span *span, bool may_move);
void open_free(struct open_calls *open);

/* dump.c: begins the dump for a request. 0 or -errno, said. */
int dump_begin(struct flight *flight, const struct request *request);
/* Has the dump been written? Tells of it. wait: until it has. */
void dump_end(struct flight *flight, bool wait);

#endif
