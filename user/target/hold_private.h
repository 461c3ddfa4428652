/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold_private.h - what the files that hold a command share: launch.c, hold.c, hold_notices.c, step.c.
 */
#ifndef GASPBPF_HOLD_PRIVATE_H
#define GASPBPF_HOLD_PRIVATE_H

#include <pthread.h>
#include <sys/stat.h>
#include <uthash.h>

#include "target/target.h"

/* A file of code that some process of the command has mapped, as stat(2) tells it apart. */
struct held_file {
	struct {
		uint64_t device, inode;
	} key;
	uint64_t size, changed; /* bytes; ns: tells a file that was written over */
	bool looked_at;         /* no need to ask about it any more */
	UT_hash_handle hh;
};

/* A thread that we hold. */
struct tracee {
	pid_t tid, pid;
	bool seen;                    /* has stopped for the first time */
	bool waiting;                 /* stands still until the answer with this ticket */
	uint64_t ticket, waits_since; /* ns */
	bool group_stop;              /* stands still for a SIGSTOP or the like: must not be made to run */
	int signal;                   /* to be delivered when it runs on */
	bool leaving;                 /* is let go at this stop */
	uint64_t signals,
		signals_since; /* stops for signals, less those that time has given back; ns, until when it has */
	/* From an exec to the end of the linker's work: */
	bool stepping;
	bool ready;        /* that is over, and the caller is asked */
	bool told;         /* the caller knows of this exec */
	bool other_thread; /* it was called by a thread that was not the first */
	long steps;
	uint64_t linker_start, linker_end;
	struct held_file *mapping;  /* in the midst of mmap() */
	struct held_file *asked[2]; /* what the question is about; NULL: nothing */
	UT_hash_handle hh;
};

struct question {
	struct hold_notice notice;
	struct question *next;
};

struct reply {
	pid_t tid;
	uint64_t ticket;
	enum hold_answer answer;
	struct reply *next;
};

/* A command that has been forked, and waits for its exec. */
struct start {
	pid_t pid;
	int gate, report; /* pipes: to it, that it may go on; from it, the errno of its exec */
};

struct hold {
	pthread_t thread;
	const char *name;   /* of the command */
	struct start start; /* until it is started */
	bool follow;
	pid_t command;
	int started;  /* 0 or -errno */
	int began;    /* eventfd: started is valid; later on, given_up is */
	int children; /* signalfd: SIGCHLD */
	int told;     /* eventfd: notices */
	int woken;    /* eventfd: replies, or the end */
	int ended;    /* pidfd of the command */
	int news;     /* epoll: what the caller waits for: told, and once nobody is held, ended */

	pthread_mutex_t lock;   /* for all below; only our thread changes tracees */
	struct tracee *tracees; /* by tid */
	struct question *first_question, **last_question;
	struct reply *replies;
	bool end, kills;        /* kills: ... with the command */
	bool give_up, given_up; /* its thread is to give up its rights; it has */
	uint64_t tickets;
	uint64_t patience, looked; /* ns; when those who have waited too long were last looked for */
	bool left;                 /* nobody is held any more */

	bool collected;          /* the command's end: our thread's own, and the caller's once it has left */
	struct held_file *files; /* our thread's own */
	bool all_leave;          /* so is this: it is about to leave */
};

/*
 * launch.c: forks what will become the command; the thread that calls has to live as long as we do (it is the parent,
 * and a child may want a signal when that ends). 0 or -errno. Then either of the others, once.
 */
int command_fork(struct start *start, char *const argv[], const struct caller *caller);
void command_cancel(struct start *start);
/* By the thread that traces it from now on: takes hold, and lets it become the command. 0 or -errno, said. */
int command_take(struct start *start, const char *name, unsigned options);

/* hold.c. NULL: it is not held. */
struct tracee *hold_find(struct hold *hold, pid_t tid);
void hold_resume(struct hold *hold, struct tracee *t);

/* hold_notices.c: by the thread that holds. Who is asked about stands still until the answer is taken. */
void hold_tell(struct hold *hold, const struct hold_notice *notice);
void hold_ask(struct hold *hold, struct tracee *t, struct hold_notice notice);
void hold_take_replies(struct hold *hold);
/* Another thread that waits for this eventfd goes on; it has gone on. */
void bell_ring(int fd);
void bell_silence(int fd);

/* step.c: the tracee has become another program; it stands at a system call; the question was answered. Each makes it
 * go on, or asks. */
void step_begin(struct hold *hold, struct tracee *t, bool other_thread);
void step_syscall(struct hold *hold, struct tracee *t);
void step_answered(struct hold *hold, struct tracee *t, enum hold_answer answer);
void step_forget(struct hold *hold);

#endif
