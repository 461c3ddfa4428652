/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that use GASNet-EX, and GASNet-1's names on it, as a runtime of a language would: puts and gets of all
 * kinds, active messages with replies, split barriers, teams, collectives. Built by tests/runtimes/test_gasnet.py with
 * the library of another Debian, once for each conduit.
 *
 * It counts what it calls, and with GASNET_CALLS=FILE each process writes its calls, in order, into FILE.RANK:
 *
 *     FUNCTION PEER JOBRANK BYTES HANDLE
 *
 * PEER: the rank in the team that the call named; HANDLE: the event that it got, in hexadecimal; -1 and 0: none.
 * Transfers to memory that the process has mapped are copies inlined into the program; they are counted as "FUNCTION
 * copied" and not written. Waiting is a loop of tests, inlined, too: the linker leads each test through here (--wrap).
 */
#include "job.h"

#include <gasnetex.h>
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_vis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1024  /* bytes that a process gives to each other one */
#define CALLS 8192 /* that can be written down */
#define TEAMS 32   /* that are kept */
#define SCRATCH (1 << 16)

static struct job job = { .name = "gasnet_job", .rounds = 3 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static gex_TM_t all, kept[TEAMS];
static int nkept;
static gex_Rank_t me, ranks;
static char *own, *base[64]; /* the segments */
static char mapped[64];
static long sum;
static volatile int replies;

static struct call {
	const char *function;
	long peer, jobrank, bytes;
	void *handle;
} calls[CALLS];
static int ncalls;

/* --- the account ------------------------------------------------------------ */

static void *made(const char *function, long peer, long jobrank, long bytes, void *handle)
{
	count_call(counts, function, (uint64_t)bytes);
	if (counts == &counted && ncalls < CALLS)
		calls[ncalls++] = (struct call){ function, peer, jobrank, bytes, handle };
	return handle;
}

/* Calls that name nobody else. */
#define DO(FUNCTION, ARGUMENTS, bytes) (made(#FUNCTION, -1, -1, bytes, NULL), FUNCTION ARGUMENTS)
/* That give an event. Written down before it is waited for. */
#define START(FUNCTION, ARGUMENTS, bytes) ((gex_Event_t)made(#FUNCTION, -1, -1, bytes, FUNCTION ARGUMENTS))
/* To a rank of a team, without and with an event. */
#define TO(FUNCTION, peer, jobrank, ARGUMENTS, bytes) \
	(made(#FUNCTION, peer, jobrank, bytes, NULL), FUNCTION ARGUMENTS)
/* Transfers: where the peer's memory is mapped there is no call. */
#define MOVE(FUNCTION, peer, ARGUMENTS, bytes)                         \
	(mapped[peer] ? count_call(counts, #FUNCTION " copied", bytes) \
		      : (void)made(#FUNCTION, peer, peer, bytes, NULL),  \
	 FUNCTION ARGUMENTS)
#define MOVE_NB(FUNCTION, peer, ARGUMENTS, bytes)                                                                  \
	({                                                                                                         \
		gex_Event_t event_ = FUNCTION ARGUMENTS;                                                           \
		mapped[peer] ? count_call(counts, #FUNCTION " copied", bytes)                                      \
			     : (void)made(#FUNCTION, peer, peer, bytes, event_);                                   \
		event_;                                                                                            \
	})

/* Who asks whether something is over, the program's own loops and the runtime. */
#define WRAP(FUNCTION, PARAMETERS, ARGUMENTS)       \
	int __real_##FUNCTION PARAMETERS;           \
	int __wrap_##FUNCTION PARAMETERS            \
	{                                           \
		count_call(counts, #FUNCTION, 0);   \
		return __real_##FUNCTION ARGUMENTS; \
	}
WRAP(gasnete_test, (gex_Event_t event), (event))
WRAP(gasnete_test_some, (gex_Event_t * events, size_t count), (events, count))
WRAP(gasnete_test_all, (gex_Event_t * events, size_t count), (events, count))
WRAP(gasnete_test_syncnbi_mask, (gex_EC_t mask, gex_Flags_t flags), (mask, flags))

#if !__GLIBC_PREREQ(2, 38) /* the library was built with one that has these */
long __isoc23_strtol(const char *text, char **end, int digits)
{
	return strtol(text, end, digits);
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list values;
	int found;

	va_start(values, format);
	found = vsscanf(text, format, values);
	va_end(values);
	return found;
}
#endif

static void write_calls(void)
{
	const char *name = getenv("GASNET_CALLS");
	char path[4096];
	FILE *file;

	if (!name)
		return;
	snprintf(path, sizeof(path), "%s.%d", name, (int)me);
	file = fopen(path, "w");
	if (!file)
		return;
	for (int i = 0; i < ncalls; i++)
		fprintf(file, "%s %ld %ld %ld %lx\n", calls[i].function, calls[i].peer, calls[i].jobrank,
			calls[i].bytes, (unsigned long)calls[i].handle);
	fclose(file);
}

/* --- messages --------------------------------------------------------------- */

enum { SHORT = 200, MEDIUM, LONG, DONE };

static void done(gex_Token_t token, gex_AM_Arg_t number)
{
	sum += number;
	replies++;
}

static void done_with(gex_Token_t token, void *payload, size_t size, gex_AM_Arg_t number)
{
	sum += number + (long)size;
	replies++;
}

static void got_short(gex_Token_t token, gex_AM_Arg_t number)
{
	count_call(counts, "gex_AM_ReplyShort1", 0);
	gex_AM_ReplyShort1(token, DONE, 0, number + 1);
}

static void got_medium(gex_Token_t token, void *payload, size_t size, gex_AM_Arg_t number)
{
	count_call(counts, "gex_AM_ReplyMedium1", size / 2);
	gex_AM_ReplyMedium1(token, DONE + 1, payload, size / 2, GEX_EVENT_NOW, 0, number);
}

static void got_long(gex_Token_t token, void *payload, size_t size, gex_AM_Arg_t number)
{
	count_call(counts, "gex_AM_ReplyShort1", 0);
	gex_AM_ReplyShort1(token, DONE, 0, number);
}

static gex_AM_Entry_t handlers[] = {
	{ SHORT, (gex_AM_Fn_t)got_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 1, NULL, "short" },
	{ MEDIUM, (gex_AM_Fn_t)got_medium, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 1, NULL, "medium" },
	{ LONG, (gex_AM_Fn_t)got_long, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 1, NULL, "long" },
	{ DONE, (gex_AM_Fn_t)done, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 1, NULL, "done" },
	{ DONE + 1, (gex_AM_Fn_t)done_with, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 1, NULL, "done with" },
};

static void messages(gex_TM_t team, gex_Rank_t peer, gex_Rank_t jobrank)
{
	char payload[96] = { 1 };

	gex_AM_SrcDesc_t prepared;

	replies = 0;
	TO(gex_AM_RequestShort1, peer, jobrank, (team, peer, SHORT, 0, 5), 0);
	TO(gex_AM_RequestMedium1, peer, jobrank, (team, peer, MEDIUM, payload, 64, GEX_EVENT_NOW, 0, 6), 64);
	TO(gex_AM_RequestLong1, peer, jobrank,
	   (team, peer, LONG, payload, 96, base[jobrank] + (size_t)ROOM * me, GEX_EVENT_NOW, 0, 7), 96);
	prepared = TO(gex_AM_PrepareRequestMedium, peer, jobrank,
		      (team, peer, payload, 80, 80, GEX_EVENT_NOW, 0, 1), 0);
	DO(gex_AM_CommitRequestMedium1, (prepared, MEDIUM, 80, 8), 80);
	GASNET_BLOCKUNTIL(replies == 4);
}

/* --- transfers -------------------------------------------------------------- */

static void transfers(gex_Rank_t peer)
{
	char *there = base[peer] + (size_t)ROOM * me, *here = own + (size_t)ROOM * me;
	gex_Event_t some[2];

	MOVE(gex_RMA_PutBlocking, peer, (all, peer, there, here, 40, 0), 40);
	MOVE(gex_RMA_GetBlocking, peer, (all, here, peer, there, 48, 0), 48);
	MOVE(gex_RMA_PutBlockingVal, peer, (all, peer, there, 7, 4, 0), 4);
	sum += (long)MOVE(gex_RMA_GetBlockingVal, peer, (all, peer, there, 4, 0), 4);
	gex_Event_Wait(MOVE_NB(gex_RMA_PutNB, peer, (all, peer, there, here, 56, GEX_EVENT_NOW, 0), 56));
	some[0] = MOVE_NB(gex_RMA_GetNB, peer, (all, here, peer, there, 24, 0), 24);
	some[1] = MOVE_NB(gex_RMA_PutNBVal, peer, (all, peer, there + 8, 9, 8, 0), 8);
	gex_Event_WaitAll(some, 2, 0);
	some[0] = MOVE_NB(gex_RMA_GetNB, peer, (all, here, peer, there, 16, 0), 16);
	while (gex_Event_Test(some[0]))
		gasnet_AMPoll();
	MOVE(gex_RMA_PutNBI, peer, (all, peer, there, here, 72, GEX_EVENT_DEFER, 0), 72);
	MOVE(gex_RMA_GetNBI, peer, (all, here + 128, peer, there + 128, 80, 0), 80);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	DO(gex_NBI_BeginAccessRegion, (0), 0);
	MOVE(gex_RMA_PutNBI, peer, (all, peer, there, here, 88, GEX_EVENT_DEFER, 0), 88);
	gex_Event_Wait(START(gex_NBI_EndAccessRegion, (0), 0));
	/* as GASNet-1 has it */
	MOVE(gasnet_put, peer, (peer, there, here, 33), 33);
	MOVE(gasnet_get_bulk, peer, (here, peer, there, 34), 34);
	gasnet_wait_syncnb(MOVE_NB(gasnet_put_nb_bulk, peer, (peer, there, here, 35), 35));
	MOVE(gasnet_get_nbi_bulk, peer, (here, peer, there, 36), 36);
	gasnet_wait_syncnbi_gets();
	if (peer != me)
		gasnet_wait_syncnb((gasnet_handle_t)made("gasnet_memset_nb", peer, peer, 37,
							 gasnet_memset_nb(peer, there, 1, 37)));
	/* pieces */
	if (peer != me) {
		void *far[2] = { there, there + 200 }, *near[2] = { here, here + 200 };
		gex_Memvec_t to[2] = { { there, 10 }, { there + 300, 20 } };
		gex_Memvec_t from[2] = { { here, 15 }, { here + 300, 15 } };
		ptrdiff_t apart = 32;
		size_t four = 4;

		TO(gex_VIS_IndexedPutBlocking, peer, peer, (all, peer, 2, far, 50, 2, near, 50, 0), 100);
		TO(gex_VIS_IndexedGetBlocking, peer, peer, (all, 2, near, 30, peer, 2, far, 30, 0), 60);
		TO(gex_VIS_VectorPutBlocking, peer, peer, (all, peer, 2, to, 2, from, 0), 0);
		TO(gex_VIS_VectorGetBlocking, peer, peer, (all, 2, from, peer, 2, to, 0), 0);
		TO(gex_VIS_StridedPutBlocking, peer, peer, (all, peer, there, &apart, here, &apart, 8, &four, 1, 0), 0);
		TO(gex_VIS_StridedGetBlocking, peer, peer, (all, here, &apart, peer, there, &apart, 8, &four, 1, 0), 0);
	}
}

/* --- teams ------------------------------------------------------------------ */

static void together(gex_TM_t team, gex_Rank_t size)
{
	int64_t one[3] = { me, 1, 2 }, result[3] = { 0 };
	char bytes[32] = { 0 };

	gex_Event_Wait(START(gex_Coll_BarrierNB, (team, 0), 0));
	DO(gex_Coll_BarrierBlocking, (team, 0), 0);
	gex_Event_Wait(made("gex_Coll_BroadcastNB", 0, gex_TM_TranslateRankToJobrank(team, 0), 32,
			    gex_Coll_BroadcastNB(team, 0, bytes, bytes, 32, 0)));
	gex_Event_Wait(made("gex_Coll_ReduceToOneNB", size - 1, gex_TM_TranslateRankToJobrank(team, size - 1), 24,
			    gex_Coll_ReduceToOneNB(team, size - 1, result, one, GEX_DT_I64, 8, 3, GEX_OP_ADD, NULL,
						   NULL, 0)));
	gex_Event_Wait(START(gex_Coll_ReduceToAllNB,
			     (team, result, one, GEX_DT_I64, 8, 2, GEX_OP_MAX, NULL, NULL, 0), 16));
	sum += (long)result[0];
}

/* GASNet-1's collectives, of all. */
static void together_as_before(void)
{
	const int flags = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL;
	char one[64 * 16] = { 0 }, many[64 * 16];

	TO(gasnet_coll_broadcast, 1, -1, (GASNET_TEAM_ALL, many, 1, one, 16, flags), 16);
	gasnet_coll_wait_sync(made("gasnet_coll_broadcast_nb", 0, -1, 15,
				   gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, many, 0, one, 15, flags)));
	TO(gasnet_coll_scatter, 0, -1, (GASNET_TEAM_ALL, many, 0, one, 14, flags), 14);
	TO(gasnet_coll_gather, 2, -1, (GASNET_TEAM_ALL, 2, many, one, 13, flags), 13);
	DO(gasnet_coll_gather_all, (GASNET_TEAM_ALL, many, one, 12, flags), 12);
	DO(gasnet_coll_exchange, (GASNET_TEAM_ALL, many, one, 11, flags), 11);
	DO(gasnet_coll_barrier_notify, (GASNET_TEAM_ALL, 19, 0), 0);
	DO(gasnet_coll_barrier_wait, (GASNET_TEAM_ALL, 19, 0), 0);
}

static void round_of_work(void)
{
	char *scratch = own + (size_t)ROOM * ranks;
	gex_TM_t some;
	gex_Rank_t size, other;

	for (gex_Rank_t peer = 0; peer < ranks; peer++) {
		transfers(peer);
		if (peer != me)
			messages(all, peer, peer);
	}
	DO(gasnet_barrier_notify, (17, 0), 0);
	DO(gasnet_barrier_wait, (17, 0), 0);
	DO(gasnet_barrier_notify, (0, GASNET_BARRIERFLAG_ANONYMOUS), 0);
	while (DO(gasnet_barrier_try, (0, GASNET_BARRIERFLAG_ANONYMOUS), 0) == GASNET_ERR_NOT_READY)
		;
	DO(gasnet_barrier, (18, 0), 0);
	together(all, ranks);
	together_as_before();
	/* One that is gone at once. */
	DO(gex_TM_Split, (&some, all, 0, (int)me, scratch, SCRATCH, 0), 0);
	together(some, ranks);
	DO(gex_TM_Destroy, (some, NULL, GEX_FLAG_GLOBALLY_QUIESCED), 0);
	/* The first is alone, the others are a team in which their ranks are the other way round. Kept to the end. */
	if (nkept == TEAMS)
		abort();
	DO(gex_TM_Split, (&some, all, me != 0, (int)(ranks - me), scratch + SCRATCH * (1 + nkept), SCRATCH, 0), 0);
	kept[nkept++] = some;
	size = gex_TM_QuerySize(some);
	together(some, size);
	if (size > 1) {
		other = (gex_TM_QueryRank(some) + 1) % size;
		messages(some, other, gex_TM_TranslateRankToJobrank(some, other));
	}
	together(some, size);
	DO(gex_Coll_BarrierBlocking, (all, 0), 0);
}

int main(int argc, char **argv)
{
	gex_Client_t client;
	gex_EP_t endpoint;
	gex_Segment_t segment;
	gex_RankInfo_t *near;
	gex_Rank_t nnear;

	gex_Client_Init(&client, &endpoint, &all, "gasnet_job", &argc, &argv, GEX_FLAG_USES_GASNET1);
	me = gex_TM_QueryRank(all);
	ranks = gex_TM_QuerySize(all);
	job.rank = (int)me;
	job_options(&job, argc, argv, NULL);
	gex_Segment_Attach(&segment, all, 1 << 22);
	gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(*handlers));
	for (gex_Rank_t i = 0; i < ranks; i++)
		gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, i, (void **)&base[i], NULL, NULL, 0));
	own = base[me];
	gex_System_QueryNbrhdInfo(&near, &nnear, NULL);
	for (gex_Rank_t i = 0; i < nnear; i++)
		mapped[near[i].gex_jobrank] = 1;
	gex_Coll_BarrierBlocking(all, 0);
	if (job_all_rounds(&job, round_of_work, &counts, &counted, &sum))
		return 1;
	write_calls();
	gex_Coll_BarrierBlocking(all, 0);
	gasnet_exit(0);
	return 0;
}
