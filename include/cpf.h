/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpf.h - the Custom Plug-in Framework in C: simulators that replay a recording and move its end times.
 *
 * `gaspbpf simulate run.gasp --plugin ./my.so -o after.gasp` calls a plug-in once for everything that happens in the
 * recording: what one thread does alone, messages, collective operations. The plug-in may change the end times; all
 * later work of the threads moves with them. Structures, members and functions have the names of the framework's own
 * document; what stands under "beyond" below is not in it. docs/simulate.md has an introduction, cpf.hpp
 * the same as the document's C++ class.
 *
 * A plug-in is a shared library with two functions, cpf_create() and cpf_destroy(). It runs in a process of its own,
 * without privileges, and in one thread.
 *
 * Order: a callback comes when every time that it depends on is final: all starts that it is told, and the ends that
 * are const where it is told them. The callbacks of one thread come in the order of its time; those of several threads
 * in any order that this allows.
 *
 * Every end time comes filled in. Whoever leaves it gets what the recording says, moved with the starts: work lasts as
 * long as it did, and a wait ends as long after the last start it waited for as it did. So a plug-in that changes
 * nothing changes nothing.
 *
 * Times and `clock resolution`: ns. All members but the end times are const; that, and that no end lies before its
 * start, is checked when a callback returns, and the simulation stops if it is not so.
 */
#ifndef CPF_H
#define CPF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CPF_VERSION 1u
#define CPF_NONE UINT32_MAX /* no such thread, function or operation; "-1" of the document's tables */

/* What one thread does: FuncEventData, also called FuncEventInfo. */
struct cpf_func_event {
	const uint32_t _threadID;
	const uint32_t _func;     /* function id: index of cpf_setup._functions */
	const uint64_t _sizeSent; /* bytes; 0 where unknown */
	const uint64_t _sizeRecv;
	const uint64_t _startTime;
	uint64_t _endTime; /* never before _startTime */
};

/* Which times of a cpf_p2p are valid, and which end may be changed by this callback. */
enum cpf_valid {
	CPF_SEND_END = 1,
	CPF_RECV_START = 2,
	CPF_RECV_END = 4,
	CPF_IRECV_START = 8,
	CPF_SEND_END_SET = 16, /* this callback decides _sendEndTime */
	CPF_RECV_END_SET = 32  /* this callback decides _recvEndTime */
};

/* One message: P2PInfo. */
struct cpf_p2p {
	const uint64_t _sendStartTime;
	uint64_t _sendEndTime;         /* see _valid */
	const uint64_t _recvStartTime; /* of the receive, or of the wait for it */
	uint64_t _recvEndTime;
	const uint64_t _iRecvStartTime; /* when a receive was posted whose end is waited for later */
	const uint32_t _backwards;      /* in the recording the message was received before it was sent */
	const uint32_t _sender;         /* thread ids; CPF_NONE: not known (yet) */
	const uint32_t _receiver;
	const uint32_t _communicator; /* index of cpf_setup._communicators */
	const int32_t _tag;
	const uint32_t _valid;       /* enum cpf_valid */
	const uint64_t _messageSize; /* bytes; 0 where unknown */
	const uint32_t _sendFID;     /* function ids; CPF_NONE: not known (yet) */
	const uint32_t _recvFID;
};

struct cpf_func_events {
	struct cpf_func_event *const *items;
	size_t count;
#ifdef __cplusplus
	struct cpf_func_event *operator[](size_t i) const
	{
		return items[i];
	}
	size_t size() const
	{
		return count;
	}
#endif
};

/* One collective operation, all its threads: CollOpInfo. */
struct cpf_coll_op {
	const uint64_t _firstTime; /* when the first thread enters */
	const uint32_t _communicator;
	const uint32_t _collOpId;  /* function id */
	const uint32_t _root;      /* thread id; CPF_NONE: there is none, or it is not known */
	const uint32_t _rootIndex; /* in _threads; CPF_NONE likewise */
	const struct cpf_func_events _threads;
};

/* --- beyond the document ----------------------------------------------- */

enum cpf_one_sided_kind { CPF_PUT, CPF_GET, CPF_COPY, CPF_ATOMIC, CPF_FENCE };

/* A transfer that its target takes no part in; CPF_FENCE: earlier ones are completed. */
struct cpf_one_sided {
	const uint32_t _threadID;
	const uint32_t _func;
	const uint32_t _kind;        /* enum cpf_one_sided_kind */
	const uint32_t _target;      /* a thread of the process that it goes to; CPF_NONE: not known */
	const uint64_t _messageSize; /* bytes; 0 where unknown */
	const uint64_t _startTime;
	uint64_t _endTime;
};

enum cpf_lock_kind { CPF_ACQUIRE, CPF_TRY, CPF_RELEASE };

struct cpf_lock {
	const uint32_t _threadID;
	const uint32_t _func;
	const uint32_t _kind;        /* enum cpf_lock_kind */
	const uint32_t _previous;    /* CPF_ACQUIRE: the thread that had it before; CPF_NONE: not known, or it was free
					long ago */
	const uint64_t _lock;        /* the same number for the same lock */
	const uint64_t _releaseTime; /* when _previous gave it back; valid with _previous */
	const uint64_t _startTime;
	uint64_t _endTime;
};

/* The wait that ends a split-phase barrier or a collective operation that was only begun before. Not valid members are
 * CPF_NONE. */
struct cpf_split_phase {
	const uint32_t _threadID;
	const uint32_t _func;      /* of the wait */
	const uint32_t _beginFunc; /* of what began it: notify, or the collective operation */
	const uint32_t _communicator;
	const uint32_t _root;
	const uint32_t _threadCount; /* threads that take part */
	const uint64_t _messageSize; /* bytes; 0 where unknown */
	const uint64_t _firstTime;   /* when the first of them began */
	const uint64_t _lastTime;    /* when the last of them began */
	const uint64_t _startTime;   /* of the wait */
	uint64_t _endTime;
};

/* A piece of a task's execution, between two calls that it makes, or all of it. */
struct cpf_task {
	const uint32_t _threadID;
	const uint32_t _func;
	const uint64_t _task;  /* the runtime's name for it; 0: not known */
	const int64_t _worker; /* -1: not known */
	const uint64_t _startTime;
	uint64_t _endTime;
};

/* --- what a plug-in is told at the beginning ---------------------------- */

/* What a function is: isSingleRankFunc() and so on look here. */
enum cpf_class {
	CPF_IS_SINGLE_RANK = 1,
	CPF_IS_COLLECTIVE = 2,
	CPF_IS_P2P = 4,
	CPF_IS_ALL_TO_ALL = 0x10,
	CPF_IS_ONE_TO_ALL = 0x20,
	CPF_IS_ALL_TO_ONE = 0x40,
	CPF_IS_ALL = 0x80,
	CPF_IS_SEND = 0x100,
	CPF_IS_SYNC_SEND = 0x200,
	CPF_IS_SEND_RECV = 0x400,
	CPF_IS_RECV = 0x800,
	/* beyond */
	CPF_IS_APPLICATION = 0x1000,
	CPF_IS_NON_BLOCKING = 0x2000,
	CPF_IS_WAIT = 0x4000,
	CPF_IS_ONE_SIDED = 0x8000,
	CPF_IS_LOCK = 0x10000,
	CPF_IS_SPLIT_PHASE = 0x20000,
	CPF_IS_TASK = 0x40000,
	CPF_IS_REDUCTION = 0x80000
};

struct cpf_function {
	const char *name; /* "GASP_MPI_SEND"; 0 is "APPLICATION", 1 is "NON_TRACING" */
	uint32_t number;  /* of the GASP event; 0: none */
	uint32_t classes; /* enum cpf_class */
};

#define CPF_APPLICATION 0u /* function ids that are always there */
#define CPF_NON_TRACING 1u

struct cpf_thread {
	uint32_t pid, tid;
	int64_t rank; /* of its process; -1: none */
	const char *name;
};

/* All of it lives until cpf_destroy(). */
struct cpf_setup {
	uint32_t version;                      /* CPF_VERSION of the framework */
	uint32_t size;                         /* of this structure, in bytes: it may grow at its end */
	const char *const *_commandLineParams; /* "name=value"; the plug-in has to check them */
	size_t _commandLineParamCount;
	const char *_stfPath;        /* folder of the recording */
	uint64_t _stfStart, _stfEnd; /* of the recording */
	uint32_t _numThreads;
	uint32_t _numFunctions;
	double _clockResolution; /* seconds a tick: 1e-9 */
	/* Three tables by function id: the id itself where the function is of that kind and in the recording, else
	 * CPF_NONE. */
	const uint32_t *_singleRankFuncs, *_collOpFuncs, *_P2PFuncs;
	const char *const *_communicatorsMapped; /* names, by communicator */
	uint32_t _numCommunicators;
	uint32_t _reserved;
	const struct cpf_function *_functions; /* by function id */
	const struct cpf_thread *_threads;     /* by thread id */
};

static inline int cpf_is(const struct cpf_setup *s, uint32_t id, uint32_t classes)
{
	return id < s->_numFunctions && (s->_functions[id].classes & classes) != 0;
}

/* A function of the runtime that one thread calls for itself. */
static inline int cpf_isSingleRankFunc(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_SINGLE_RANK);
}
static inline int cpf_isCollectiveOperation(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_COLLECTIVE);
}
static inline int cpf_isP2P(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_P2P);
}
static inline int cpf_isAllToAll(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_ALL_TO_ALL);
}
static inline int cpf_isOneToAll(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_ONE_TO_ALL);
}
static inline int cpf_isAllToOne(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_ALL_TO_ONE);
}
/* All wait for all and nothing is moved: a barrier. */
static inline int cpf_isAll(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_ALL);
}
static inline int cpf_isSendP2P(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_SEND);
}
static inline int cpf_isSyncSendP2P(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_SYNC_SEND);
}
static inline int cpf_isSendRecv(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_SEND_RECV);
}
static inline int cpf_isRecv(const struct cpf_setup *s, uint32_t id)
{
	return cpf_is(s, id, CPF_IS_RECV);
}

/* --- the plug-in -------------------------------------------------------- */

/*
 * What cpf_create() returns. `self` goes to every function. A NULL leaves such events as they are.
 *
 * To say that the simulation cannot go on, print why and exit.
 */
struct cpf_plugin {
	uint32_t version; /* CPF_VERSION that it was compiled with */
	uint32_t size;    /* sizeof(struct cpf_plugin) then: functions may be added at the end */
	void *self;
	/* First of all; the structure lives as long as the plug-in. */
	void (*setup)(void *self, const struct cpf_setup *setup);
	/* Before and after all events. */
	void (*Initialize)(void *self);
	void (*Finalize)(void *self);
	/* The program itself between two calls, and calls that have nothing to do with other threads. */
	void (*ProcessFunctionEvent)(void *self, struct cpf_func_event *event);
	/* Nothing is known: before the first event of a thread, after the last, and where events were lost. */
	void (*ProcessNonTracingEvent)(void *self, struct cpf_func_event *event);
	/* A call of the runtime that involves one thread. */
	void (*ProcessMPIFunctionEvent)(void *self, struct cpf_func_event *event);
	void (*ProcessCollOp)(void *self, struct cpf_coll_op *collop);
	/* A message that a call receives, or whose send waits for the receiver: twice where both are so at different
	 * times. */
	void (*ProcessP2P)(void *self, struct cpf_p2p *message);
	/* A send that does not wait for its receiver. The event's end and the message's _sendEndTime are the same
	 * thing: the later counts. */
	void (*ProcessNonBlockingSend)(void *self, struct cpf_func_event *event, struct cpf_p2p *message);
	/* A wait (or a test that succeeded) that ends when the last of these messages has come. */
	void (*ProcessP2PWaitAllSome)(void *self, struct cpf_p2p *const *messages, size_t count);
	/* Beyond the document. */
	void (*ProcessOneSided)(void *self, struct cpf_one_sided *transfer);
	void (*ProcessLock)(void *self, struct cpf_lock *lock);
	void (*ProcessSplitPhase)(void *self, struct cpf_split_phase *wait);
	void (*ProcessTask)(void *self, struct cpf_task *task);
	/* A call that waits for something that is not in the recording. */
	void (*ProcessUnmatched)(void *self, struct cpf_func_event *event);
	/* Is the end of this send to wait for the receiver, though it did not in the recording (a rendezvous)? Not 0:
	 * yes. */
	int (*SendIsSynchronous)(void *self, const struct cpf_p2p *message);
};

/* What the shared library has to define. NULL from create: it cannot; it has said why. */
typedef struct cpf_plugin *cpf_create_t(void);
typedef void cpf_destroy_t(struct cpf_plugin *plugin);

cpf_create_t cpf_create;
cpf_destroy_t cpf_destroy;

#ifdef __cplusplus
}
#endif

#endif
