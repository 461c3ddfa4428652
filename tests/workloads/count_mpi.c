/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts MPI calls and their payload (LD_PRELOAD=libcount_mpi_openmpi.so or libcount_mpi_mpich.so).
 *
 * Stands in front of both names of a function, MPI_X and PMPI_X, since they are one address in the library: other
 * libraries (OpenSHMEM, the coarray runtime) call the one or the other. Payload is worked out here from datatype sizes
 * and from statuses, not taken from the job. For collectives, `bytes` is what the rank's own arguments say for one
 * peer, and `sent` and `received` are over all peers, this rank itself included. Of a non-blocking receive only `bytes`
 * is known: what it made room for.
 */
#include "count.h"

#include <mpi.h>
#include <stddef.h>

const char *const count_library = "mpi";

static uint64_t type_size(MPI_Datatype type)
{
	static int (*next)(MPI_Datatype, int *);
	int size = 0;

	if (!next)
		next = count_next("PMPI_Type_size", NULL);
	return next(type, &size) == MPI_SUCCESS && size > 0 ? size : 0;
}

static uint64_t peers(MPI_Comm comm)
{
	static int (*next)(MPI_Comm, int *);
	int size = 0;

	if (!next)
		next = count_next("PMPI_Comm_size", NULL);
	next(comm, &size);
	return size;
}

static int self(MPI_Comm comm)
{
	static int (*next)(MPI_Comm, int *);
	int rank = -1;

	if (!next)
		next = count_next("PMPI_Comm_rank", NULL);
	next(comm, &rank);
	return rank;
}

static uint64_t status_bytes(const MPI_Status *status, MPI_Datatype type)
{
	static int (*next)(const MPI_Status *, MPI_Datatype, int *);
	int count = 0;

	if (!next)
		next = count_next("PMPI_Get_elements", NULL);
	/* MPI_BYTE: basic elements of a derived type have sizes of their own, bytes always are bytes. */
	return next(status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0 ? count : 0;
}

static uint64_t sum_of(const int counts[], int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += counts[i];
	return sum;
}

static uint64_t sum_of_types(const int counts[], const MPI_Datatype types[], int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += counts[i] * type_size(types[i]);
	return sum;
}

/* One function under both its names. */
#define COUNT(X, PARAMETERS, ARGUMENTS, bytes, sent, received)                          \
	int MPI_##X PARAMETERS                                                          \
	{                                                                               \
		static __typeof__(PMPI_##X) *next;                                      \
		if (!next)                                                              \
			next = count_next("PMPI_" #X, NULL);                            \
		TALLY(MPI_##X, bytes, sent, received);                                  \
		return next ARGUMENTS;                                                  \
	}                                                                               \
	extern __typeof__(MPI_##X) PMPI_##X __attribute__((alias("MPI_" #X)));

#define PLAIN(X, PARAMETERS, ARGUMENTS) COUNT(X, PARAMETERS, ARGUMENTS, 0, 0, 0)

/* Point to point: to and from MPI_PROC_NULL nothing is moved. */
#define MOVED(peer) ((peer) == MPI_PROC_NULL ? 0 : n * type_size(t))
#define SEND(X)                                                                                                      \
	COUNT(X, (const void *buf, int n, MPI_Datatype t, int dest, int tag, MPI_Comm c), (buf, n, t, dest, tag, c), \
	      MOVED(dest), MOVED(dest), 0)
#define ISEND(X)                                                                                        \
	COUNT(X, (const void *buf, int n, MPI_Datatype t, int dest, int tag, MPI_Comm c, MPI_Request *r),       \
	      (buf, n, t, dest, tag, c, r), MOVED(dest), MOVED(dest), 0)
SEND(Send)
SEND(Ssend)
SEND(Bsend)
SEND(Rsend)
ISEND(Isend)
ISEND(Issend)
COUNT(Irecv, (void *buf, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Request *r),
      (buf, n, t, source, tag, c, r), MOVED(source), 0, 0)

int MPI_Recv(void *buf, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Status *status)
{
	static __typeof__(PMPI_Recv) *next;
	MPI_Status own;
	int result;

	if (!next)
		next = count_next("PMPI_Recv", NULL);
	if (status == MPI_STATUS_IGNORE)
		status = &own;
	result = next(buf, n, t, source, tag, c, status);
	TALLY(MPI_Recv, MOVED(source), 0, status_bytes(status, t));
	return result;
}
extern __typeof__(MPI_Recv) PMPI_Recv __attribute__((alias("MPI_Recv")));

int MPI_Sendrecv(const void *out, int n, MPI_Datatype t, int dest, int tag, void *in, int rn, MPI_Datatype rt,
		 int source, int rtag, MPI_Comm c, MPI_Status *status)
{
	static __typeof__(PMPI_Sendrecv) *next;
	MPI_Status own;
	int result;

	if (!next)
		next = count_next("PMPI_Sendrecv", NULL);
	if (status == MPI_STATUS_IGNORE)
		status = &own;
	result = next(out, n, t, dest, tag, in, rn, rt, source, rtag, c, status);
	TALLY(MPI_Sendrecv, MOVED(dest), MOVED(dest), status_bytes(status, rt));
	return result;
}
extern __typeof__(MPI_Sendrecv) PMPI_Sendrecv __attribute__((alias("MPI_Sendrecv")));

COUNT(Sendrecv_replace,
      (void *buf, int n, MPI_Datatype t, int dest, int tag, int source, int rtag, MPI_Comm c, MPI_Status *s),
      (buf, n, t, dest, tag, source, rtag, c, s), MOVED(dest), MOVED(dest), MOVED(source))
PLAIN(Probe, (int source, int tag, MPI_Comm c, MPI_Status *s), (source, tag, c, s))
PLAIN(Iprobe, (int source, int tag, MPI_Comm c, int *flag, MPI_Status *s), (source, tag, c, flag, s))
PLAIN(Wait, (MPI_Request *r, MPI_Status *s), (r, s))
PLAIN(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
PLAIN(Waitany, (int n, MPI_Request r[], int *index, MPI_Status *s), (n, r, index, s))
PLAIN(Waitsome, (int n, MPI_Request r[], int *some, int indices[], MPI_Status s[]), (n, r, some, indices, s))
PLAIN(Test, (MPI_Request *r, int *flag, MPI_Status *s), (r, flag, s))
PLAIN(Testall, (int n, MPI_Request r[], int *flag, MPI_Status s[]), (n, r, flag, s))
PLAIN(Testany, (int n, MPI_Request r[], int *index, int *flag, MPI_Status *s), (n, r, index, flag, s))
PLAIN(Testsome, (int n, MPI_Request r[], int *some, int indices[], MPI_Status s[]), (n, r, some, indices, s))

/* Collectives */
#define BY_SIZE       (n * type_size(t))
#define AT_ROOT       ((uint64_t)(self(c) == root))
PLAIN(Barrier, (MPI_Comm c), (c))
PLAIN(Ibarrier, (MPI_Comm c, MPI_Request *r), (c, r))
COUNT(Bcast, (void *buf, int n, MPI_Datatype t, int root, MPI_Comm c), (buf, n, t, root, c), BY_SIZE, AT_ROOT *BY_SIZE,
      !AT_ROOT *BY_SIZE)
COUNT(Ibcast, (void *buf, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r), (buf, n, t, root, c, r),
      BY_SIZE, AT_ROOT *BY_SIZE, !AT_ROOT * BY_SIZE)
COUNT(Reduce, (const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
      (out, in, n, t, op, root, c), BY_SIZE, BY_SIZE, AT_ROOT *BY_SIZE)
COUNT(Allreduce, (const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (out, in, n, t, op, c),
      BY_SIZE, BY_SIZE, BY_SIZE)
COUNT(Iallreduce, (const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *r),
      (out, in, n, t, op, c, r), BY_SIZE, BY_SIZE, BY_SIZE)
COUNT(Scan, (const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (out, in, n, t, op, c), BY_SIZE,
      BY_SIZE, BY_SIZE)
COUNT(Exscan, (const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (out, in, n, t, op, c),
      BY_SIZE, BY_SIZE, self(c) ? BY_SIZE : 0)
COUNT(Gather, (const void *out, int n, MPI_Datatype t, void *in, int rn, MPI_Datatype rt, int root, MPI_Comm c),
      (out, n, t, in, rn, rt, root, c), BY_SIZE, BY_SIZE, AT_ROOT ? rn * type_size(rt) * peers(c) : 0)
COUNT(Gatherv,
      (const void *out, int n, MPI_Datatype t, void *in, const int rn[], const int at[], MPI_Datatype rt, int root,
       MPI_Comm c),
      (out, n, t, in, rn, at, rt, root, c), BY_SIZE, BY_SIZE, AT_ROOT ? sum_of(rn, peers(c)) * type_size(rt) : 0)
COUNT(Scatter, (const void *out, int n, MPI_Datatype t, void *in, int rn, MPI_Datatype rt, int root, MPI_Comm c),
      (out, n, t, in, rn, rt, root, c), rn *type_size(rt), AT_ROOT ? BY_SIZE * peers(c) : 0, rn *type_size(rt))
COUNT(Scatterv,
      (const void *out, const int n[], const int at[], MPI_Datatype t, void *in, int rn, MPI_Datatype rt, int root,
       MPI_Comm c),
      (out, n, at, t, in, rn, rt, root, c), rn *type_size(rt), AT_ROOT ? sum_of(n, peers(c)) * type_size(t) : 0,
      rn *type_size(rt))
COUNT(Allgather, (const void *out, int n, MPI_Datatype t, void *in, int rn, MPI_Datatype rt, MPI_Comm c),
      (out, n, t, in, rn, rt, c), BY_SIZE, BY_SIZE, rn *type_size(rt) * peers(c))
COUNT(Iallgather,
      (const void *out, int n, MPI_Datatype t, void *in, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *r),
      (out, n, t, in, rn, rt, c, r), BY_SIZE, BY_SIZE, rn *type_size(rt) * peers(c))
COUNT(Allgatherv,
      (const void *out, int n, MPI_Datatype t, void *in, const int rn[], const int at[], MPI_Datatype rt, MPI_Comm c),
      (out, n, t, in, rn, at, rt, c), BY_SIZE, BY_SIZE, sum_of(rn, peers(c)) * type_size(rt))
COUNT(Alltoall, (const void *out, int n, MPI_Datatype t, void *in, int rn, MPI_Datatype rt, MPI_Comm c),
      (out, n, t, in, rn, rt, c), BY_SIZE, BY_SIZE *peers(c), rn *type_size(rt) * peers(c))
COUNT(Alltoallv,
      (const void *out, const int n[], const int at[], MPI_Datatype t, void *in, const int rn[], const int rat[],
       MPI_Datatype rt, MPI_Comm c),
      (out, n, at, t, in, rn, rat, rt, c), 0, sum_of(n, peers(c)) * type_size(t), sum_of(rn, peers(c)) * type_size(rt))
COUNT(Alltoallw,
      (const void *out, const int n[], const int at[], const MPI_Datatype t[], void *in, const int rn[],
       const int rat[], const MPI_Datatype rt[], MPI_Comm c),
      (out, n, at, t, in, rn, rat, rt, c), 0, sum_of_types(n, t, peers(c)), sum_of_types(rn, rt, peers(c)))
COUNT(Reduce_scatter, (const void *out, void *in, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm c),
      (out, in, n, t, op, c), 0, sum_of(n, peers(c)) * type_size(t), n[self(c)] * type_size(t))
COUNT(Reduce_scatter_block, (const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
      (out, in, n, t, op, c), BY_SIZE, BY_SIZE *peers(c), BY_SIZE)

/* One-sided */
COUNT(Put, (const void *out, int n, MPI_Datatype t, int rank, MPI_Aint at, int rn, MPI_Datatype rt, MPI_Win w),
      (out, n, t, rank, at, rn, rt, w), MOVED(rank), MOVED(rank), 0)
COUNT(Get, (void *in, int n, MPI_Datatype t, int rank, MPI_Aint at, int rn, MPI_Datatype rt, MPI_Win w),
      (in, n, t, rank, at, rn, rt, w), MOVED(rank), 0, MOVED(rank))
COUNT(Accumulate,
      (const void *out, int n, MPI_Datatype t, int rank, MPI_Aint at, int rn, MPI_Datatype rt, MPI_Op op, MPI_Win w),
      (out, n, t, rank, at, rn, rt, op, w), MOVED(rank), MOVED(rank), 0)
COUNT(Get_accumulate,
      (const void *out, int n, MPI_Datatype t, void *in, int rn, MPI_Datatype rt, int rank, MPI_Aint at, int tn,
       MPI_Datatype tt, MPI_Op op, MPI_Win w),
      (out, n, t, in, rn, rt, rank, at, tn, tt, op, w), BY_SIZE, BY_SIZE, rn *type_size(rt))
COUNT(Fetch_and_op, (const void *out, void *in, MPI_Datatype t, int rank, MPI_Aint at, MPI_Op op, MPI_Win w),
      (out, in, t, rank, at, op, w), type_size(t), type_size(t), type_size(t))
COUNT(Compare_and_swap,
      (const void *out, const void *compare, void *in, MPI_Datatype t, int rank, MPI_Aint at, MPI_Win w),
      (out, compare, in, t, rank, at, w), type_size(t), type_size(t), type_size(t))
PLAIN(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, MPI_Win *w),
      (base, size, unit, info, c, w))
PLAIN(Win_create_dynamic, (MPI_Info info, MPI_Comm c, MPI_Win *w), (info, c, w))
PLAIN(Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, void *base, MPI_Win *w),
      (size, unit, info, c, base, w))
PLAIN(Win_attach, (MPI_Win w, void *base, MPI_Aint size), (w, base, size))
PLAIN(Win_detach, (MPI_Win w, const void *base), (w, base))
PLAIN(Win_free, (MPI_Win *w), (w))
PLAIN(Win_fence, (int assert, MPI_Win w), (assert, w))
PLAIN(Win_lock, (int type, int rank, int assert, MPI_Win w), (type, rank, assert, w))
PLAIN(Win_unlock, (int rank, MPI_Win w), (rank, w))
PLAIN(Win_lock_all, (int assert, MPI_Win w), (assert, w))
PLAIN(Win_unlock_all, (MPI_Win w), (w))
PLAIN(Win_flush, (int rank, MPI_Win w), (rank, w))
PLAIN(Win_flush_all, (MPI_Win w), (w))
PLAIN(Win_flush_local, (int rank, MPI_Win w), (rank, w))
PLAIN(Win_flush_local_all, (MPI_Win w), (w))
PLAIN(Win_sync, (MPI_Win w), (w))
PLAIN(Win_post, (MPI_Group g, int assert, MPI_Win w), (g, assert, w))
PLAIN(Win_start, (MPI_Group g, int assert, MPI_Win w), (g, assert, w))
PLAIN(Win_complete, (MPI_Win w), (w))
PLAIN(Win_wait, (MPI_Win w), (w))

/* Communicators, and the ends of the program */
PLAIN(Comm_dup, (MPI_Comm c, MPI_Comm *made), (c, made))
PLAIN(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *made), (c, color, key, made))
PLAIN(Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *made), (c, g, made))
PLAIN(Comm_free, (MPI_Comm *c), (c))
PLAIN(Init, (int *argc, char ***argv), (argc, argv))
PLAIN(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
PLAIN(Finalize, (void), ())
