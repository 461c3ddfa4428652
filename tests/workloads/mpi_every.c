/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every function of MPI that is an event, at least once, between two ranks. Built against Open MPI, against MPICH, and
 * against MPICH's large-count functions (MPI_x_c instead of MPI_x: every_large.h has the list).
 *
 * Each call stands in one line, DO(function, (arguments), "what gaspbpf must say of it"), and is told in the order of
 * the calls, so the truth is a list of lines: FILE:LINE FUNCTION NAME=VALUE... The names are those of the events'
 * arguments. `payload` is what the call moves, as far as its arguments tell; `payload=?` where they do not; a function
 * without it moves nothing. TRY is for calls that may fail where nobody is there to answer; they count like the others.
 */
#include "job.h"

#include <mpi.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef LARGE
#include "every_large.h"
typedef MPI_Count number;
typedef MPI_Aint place;
#else
typedef int number;
typedef int place;
#endif

#define DO(FUNCTION, ARGUMENTS, ...)                                                \
	do {                                                                        \
		int DO_error = FUNCTION ARGUMENTS;                                  \
		note(DO_error, __FILE_NAME__, __LINE__, #FUNCTION, "" __VA_ARGS__); \
	} while (0)
#define TRY(FUNCTION, ARGUMENTS, ...)                                        \
	do {                                                                 \
		FUNCTION ARGUMENTS;                                          \
		note(0, __FILE_NAME__, __LINE__, #FUNCTION, "" __VA_ARGS__); \
	} while (0)

static struct job job = { .name = "mpi_every", .rounds = 1 };
static int rank, other, connection = -1;
static char *told;
static size_t told_size;
static FILE *telling;

__attribute__((format(printf, 5, 6)))
static void note(int error, const char *file, int line, const char *function, const char *format, ...)
{
	va_list arguments;

	if (error) {
		fprintf(stderr, "%s:%d: %s failed\n", file, line, function);
		abort();
	}
	if (!telling)
		return;
	fprintf(telling, "%s\n  \"%s:%d %s ", ftell(telling) ? "," : "", file, line, function);
	va_start(arguments, format);
	vfprintf(telling, format, arguments);
	va_end(arguments);
	fprintf(telling, "\"");
}

static int out[64], in[64];
static MPI_Status status;
static MPI_Request request, requests[12];
static MPI_Info hint;
static MPI_Comm world, turned; /* turned: rank 0 is 1 and 1 is 0; it is there before and after the counted calls */

/* Between two questions: a million of them would tell no more than ten. */
static void between(int done)
{
	if (!done)
		job_sleep_us(500);
}

static void wait_for_it(void)
{
	DO(MPI_Wait, (&request, &status));
}

static void point_to_point(void)
{
	static char room[65536];
	void *back;
	number size;
	MPI_Message message;

	DO(MPI_Buffer_attach, (room, sizeof(room)), "size=65536");
	DO(MPI_Irecv, (in, 64, MPI_INT, other, 1, world, &request), "source=%d tag=1 comm_id=0 payload=256", other);
	DO(MPI_Send, (out, 10, MPI_INT, other, 1, world), "dest=%d tag=1 count=10 datatype_size=4 comm_id=0 payload=40",
	   other);
	DO(MPI_Wait, (&request, &status), "source=%d tag=1 bytes=40", other);
	DO(MPI_Irecv, (in, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request), "payload=256");
	DO(MPI_Bsend, (out, 3, MPI_DOUBLE, other, 2, world), "dest=%d tag=2 payload=24", other);
	DO(MPI_Wait, (&request, &status), "source=%d tag=2 bytes=24", other);
	DO(MPI_Irecv, (in, 64, MPI_INT, other, 3, world, &request), "payload=256");
	DO(MPI_Barrier, (world), "comm_id=0 comm_rank=%d", rank);
	DO(MPI_Rsend, (out, 5, MPI_INT, other, 3, world), "dest=%d tag=3 payload=20", other);
	wait_for_it();
	DO(MPI_Irecv, (in, 64, MPI_INT, other, 4, world, &request), "payload=256");
	DO(MPI_Ssend, (out, 6, MPI_INT, other, 4, world), "dest=%d tag=4 payload=24", other);
	wait_for_it();
	DO(MPI_Isend, (out, 7, MPI_INT, other, 5, world, &request), "dest=%d tag=5 payload=28", other);
	DO(MPI_Recv, (in, 64, MPI_INT, MPI_ANY_SOURCE, 5, world, &status), "source=%d tag=5 bytes=28 payload=28",
	   other);
	wait_for_it();
	DO(MPI_Ibsend, (out, 8, MPI_INT, other, 6, world, &request), "dest=%d tag=6 payload=32", other);
	DO(MPI_Recv, (in, 64, MPI_INT, other, MPI_ANY_TAG, world, &status), "source=%d tag=6 bytes=32 payload=32",
	   other);
	wait_for_it();
	DO(MPI_Issend, (out, 9, MPI_INT, other, 7, world, &request), "dest=%d tag=7 payload=36", other);
	DO(MPI_Recv, (in, 64, MPI_INT, other, 7, world, MPI_STATUS_IGNORE), "source=%d tag=7 bytes=unknown payload=256",
	   other);
	wait_for_it();
	DO(MPI_Irecv, (in, 64, MPI_INT, other, 8, world, &requests[0]), "payload=256");
	DO(MPI_Barrier, (world));
	DO(MPI_Irsend, (out, 2, MPI_INT, other, 8, world, &requests[1]), "dest=%d tag=8 payload=8", other);
	DO(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE), "count=2 request_2=unknown");
	DO(MPI_Sendrecv, (out, 4, MPI_INT, other, 9, in, 64, MPI_INT, MPI_ANY_SOURCE, 9, world, &status),
	   "dest=%d sendtag=9 source=%d recvtag=9 payload=32", other, other);
	DO(MPI_Sendrecv_replace, (in, 4, MPI_INT, other, 10, other, 10, world, &status),
	   "dest=%d sendtag=10 source=%d payload=32", other, other);
#if MPI_VERSION >= 4
	DO(MPI_Isendrecv, (out, 4, MPI_INT, other, 11, in, 4, MPI_INT, other, 11, world, &request),
	   "dest=%d sendtag=11 source=%d recvtag=11 payload=32", other, other);
	wait_for_it();
	DO(MPI_Isendrecv_replace, (in, 4, MPI_INT, other, 12, other, 12, world, &request),
	   "dest=%d sendtag=12 source=%d recvtag=12 payload=32", other, other);
	wait_for_it();
#endif
	DO(MPI_Isend, (out, 3, MPI_INT, other, 13, world, &request), "payload=12");
	DO(MPI_Probe, (MPI_ANY_SOURCE, 13, world, &status), "source=%d tag=13 bytes=12", other);
	DO(MPI_Mprobe, (other, 13, world, &message, &status), "source=%d tag=13 bytes=12", other);
	DO(MPI_Mrecv, (in, 64, MPI_INT, &message, &status), "source=%d tag=13 bytes=12 payload=12", other);
	wait_for_it();
	DO(MPI_Isend, (out, 3, MPI_INT, other, 14, world, &requests[0]), "payload=12");
	for (int there = 0; !there; between(there))
		DO(MPI_Iprobe, (MPI_ANY_SOURCE, 14, world, &there, &status), "flag=%d source=%d bytes=%s", there,
		   there ? other : MPI_ANY_SOURCE, there ? "12" : "unknown");
	for (int there = 0; !there; between(there))
		DO(MPI_Improbe, (MPI_ANY_SOURCE, 14, world, &there, &message, &status), "flag=%d source=%d", there,
		   there ? other : MPI_ANY_SOURCE);
	DO(MPI_Imrecv, (in, 64, MPI_INT, &message, &requests[1]), "payload=256");
	DO(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE), "count=2");
	DO(MPI_Buffer_detach, (&back, &size), "size=65536");
}

/* Starts n receives and sends with tags from `tag` on. */
static void begin(int n, int tag)
{
	for (int i = 0; i < n; i++)
		DO(MPI_Irecv, (in + i, 1, MPI_INT, other, tag + i, world, &requests[i]), "source=%d tag=%d payload=4",
		   other, tag + i);
	for (int i = 0; i < n; i++)
		DO(MPI_Send, (out, 1, MPI_INT, other, tag + i, world), "dest=%d tag=%d payload=4", other, tag + i);
}

static int ask(void *state, MPI_Status *s)
{
	MPI_Status_set_elements(s, MPI_BYTE, 0);
	MPI_Status_set_cancelled(s, 0);
	return state ? MPI_SUCCESS : MPI_SUCCESS;
}

static int drop(void *state)
{
	return state ? MPI_SUCCESS : MPI_SUCCESS;
}

static int give_up(void *state, int complete)
{
	return state || complete ? MPI_SUCCESS : MPI_SUCCESS;
}

static void requests_of_all_kinds(void)
{
	int flag = 0, index, some, indices[12];
	unsigned long long eighth = 0;
	MPI_Status many[12];

	begin(1, 20);
	for (; !flag; between(flag))
		DO(MPI_Test, (&requests[0], &flag, &status), "flag=%d source=%s bytes=%s", flag,
		   flag ? rank ? "0" : "1" : "unknown", flag ? "4" : "unknown");
	begin(10, 30);
	memcpy(&eighth, &requests[7], sizeof(requests[7]));
	DO(MPI_Waitall, (10, requests, many), "count=10 request_7=%llu", eighth);
	begin(2, 40);
	DO(MPI_Waitany, (2, requests, &index, &status), "index=%d source=%d tag=%d bytes=4", index, other, 40 + index);
	for (flag = 0; !flag; between(flag))
		DO(MPI_Testany, (2, requests, &index, &flag, &status), "flag=%d", flag);
	begin(3, 50);
	for (int done = 0; done < 3; done += some)
		DO(MPI_Waitsome, (3, requests, &some, indices, many),
		   "incount=3 outcount=%d index_0=%d request_3=unknown", some, indices[0]);
	begin(3, 60);
	for (int done = 0; done < 3; done += some, between(some))
		DO(MPI_Testsome, (3, requests, &some, indices, many), "incount=3 outcount=%d", some);
	begin(2, 70);
	for (flag = 0; !flag; between(flag))
		DO(MPI_Testall, (2, requests, &flag, many), "count=2 flag=%d request_2=unknown", flag);
	begin(1, 80);
	for (flag = 0; !flag; between(flag))
		DO(MPI_Request_get_status, (requests[0], &flag, &status), "flag=%d bytes=%s", flag,
		   flag ? "4" : "unknown");
	DO(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), "source=unknown tag=unknown bytes=unknown");
	DO(MPI_Irecv, (in, 1, MPI_INT, other, 90, world, &request), "payload=4");
	DO(MPI_Cancel, (&request));
	wait_for_it();
	DO(MPI_Grequest_start, (ask, drop, give_up, NULL, &request));
	DO(MPI_Grequest_complete, (request));
	wait_for_it();
}

static void start_and_wait(void)
{
	DO(MPI_Start, (&request));
	wait_for_it();
	DO(MPI_Request_free, (&request));
}

static void persistent(void)
{
	static char room[65536];
	void *back;
	number size;

	DO(MPI_Recv_init, (in, 4, MPI_INT, other, 100, world, &requests[0]), "source=%d tag=100 count=4", other);
	DO(MPI_Send_init, (out, 4, MPI_INT, other, 100, world, &requests[1]), "dest=%d tag=100 count=4", other);
	DO(MPI_Startall, (2, requests), "count=2 request_2=unknown");
	DO(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
	DO(MPI_Request_free, (&requests[0]));
	DO(MPI_Request_free, (&requests[1]));
	DO(MPI_Ssend_init, (out, 4, MPI_INT, other, 101, world, &request), "dest=%d tag=101", other);
	DO(MPI_Irecv, (in, 4, MPI_INT, other, 101, world, &requests[0]), "payload=16");
	start_and_wait();
	DO(MPI_Wait, (&requests[0], &status), "bytes=16");
	DO(MPI_Rsend_init, (out, 4, MPI_INT, other, 102, world, &request), "dest=%d tag=102", other);
	DO(MPI_Irecv, (in, 4, MPI_INT, other, 102, world, &requests[0]), "payload=16");
	DO(MPI_Barrier, (world));
	start_and_wait();
	DO(MPI_Wait, (&requests[0], &status), "bytes=16");
	DO(MPI_Buffer_attach, (room, sizeof(room)));
	DO(MPI_Bsend_init, (out, 4, MPI_INT, other, 103, world, &request), "dest=%d tag=103", other);
	DO(MPI_Irecv, (in, 4, MPI_INT, other, 103, world, &requests[0]), "payload=16");
	start_and_wait();
	DO(MPI_Wait, (&requests[0], &status), "bytes=16");
	DO(MPI_Buffer_detach, (&back, &size));
#if MPI_VERSION >= 4
	int flag = 0, one = 1;

	DO(MPI_Precv_init, (in, 4, 2, MPI_INT, other, 104, world, MPI_INFO_NULL, &requests[0]),
	   "source=%d tag=104 partitions=4", other);
	DO(MPI_Psend_init, (out, 4, 2, MPI_INT, other, 104, world, MPI_INFO_NULL, &requests[1]),
	   "dest=%d tag=104 partitions=4", other);
	DO(MPI_Startall, (2, requests), "count=2");
	DO(MPI_Pready, (0, requests[1]), "partition=0");
	DO(MPI_Pready_list, (1, &one, requests[1]), "length=1");
	DO(MPI_Pready_range, (2, 3, requests[1]), "partition_low=2 partition_high=3");
	for (; !flag; between(flag))
		DO(MPI_Parrived, (requests[0], 3, &flag), "flag=%d partition=3", flag);
	DO(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
	DO(MPI_Request_free, (&requests[0]));
	DO(MPI_Request_free, (&requests[1]));
#endif
}

#include "mpi_every_collective.h"
#include "mpi_every_memory.h"
#include "mpi_every_comm.h"

int main(int argc, char **argv)
{
	MPI_Comm parent;
	char *truth;

	if (argc == 2 && !strcmp(argv[1], "--child")) {
		MPI_Init(&argc, &argv);
		MPI_Comm_get_parent(&parent);
		MPI_Comm_disconnect(&parent);
		return MPI_Finalize();
	}
	job_options(&job, argc, argv, NULL);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	world = MPI_COMM_WORLD;
	other = 1 - rank;
	job.rank = rank;
	MPI_Info_create(&hint);
	MPI_Comm_split(world, 0, -rank, &turned);
	MPI_Comm_set_name(turned, "turned");
	connect_sockets();
	job_begin(&job);
	telling = open_memstream(&told, &told_size);
	others_than_the_job(argv[0]);
	point_to_point();
	requests_of_all_kinds();
	persistent();
	collective();
	collective_at_once();
	neighbours();
	windows();
	files();
	communicators();
	fclose(telling);
	telling = NULL;
	job_finish(&job);
	MPI_Comm_free(&turned);
	if (asprintf(&truth, ",\n \"calls\":[%s]", told) < 0)
		abort();
	job.more_truth = truth;
	job_truth(&job, 1, 0, NULL, NULL, 0);
	return MPI_Finalize();
}
