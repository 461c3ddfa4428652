/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_every.c: communicators, and processes that are none of the job's. */

static void topologies(void)
{
	int size[1] = { 2 }, around[1] = { 1 }, keep[1] = { 1 }, index[2] = { 1, 2 }, edges[2] = { 1, 0 }, one = 1;
	MPI_Comm ring, part;

	DO(MPI_Cart_create, (world, 1, size, around, 0, &ring), "comm_cart_rank=%d", rank);
	DO(MPI_Cart_sub, (ring, keep, &part), "newcomm_rank=%d", rank);
	DO(MPI_Comm_free, (&part));
	DO(MPI_Comm_free, (&ring));
	DO(MPI_Graph_create, (world, 2, index, edges, 0, &part), "nnodes=2 comm_graph_rank=%d", rank);
	DO(MPI_Comm_free, (&part));
	DO(MPI_Dist_graph_create, (world, 1, &rank, &one, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &part),
	   "n=1 comm_dist_graph_rank=%d", rank);
	DO(MPI_Comm_free, (&part));
	DO(MPI_Dist_graph_create_adjacent,
	   (world, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &part),
	   "indegree=1 comm_dist_graph_rank=%d", rank);
	DO(MPI_Comm_free, (&part));
}

/* In a communicator in which the ranks are the other way round. */
static void turned_around(void)
{
	DO(MPI_Barrier, (turned), "comm_rank=%d", other);
	DO(MPI_Sendrecv, (out, 1, MPI_INT, rank, 1, in, 1, MPI_INT, rank, 1, turned, &status),
	   "dest=%d source=%d dest.world=%d payload=8", rank, rank, other);
	DO(MPI_Bcast, (in, 1, MPI_INT, 0, turned), "root=0 root.world=1 payload=4");
}

static void communicators(void)
{
	MPI_Group all;
	MPI_Comm made, between, alone;

	topologies();
	turned_around();
	DO(MPI_Comm_dup, (world, &made), "comm_id=0 newcomm_rank=%d", rank);
	DO(MPI_Comm_set_info, (made, hint));
	DO(MPI_Comm_disconnect, (&made));
	DO(MPI_Comm_dup_with_info, (world, MPI_INFO_NULL, &made), "newcomm_rank=%d", rank);
	DO(MPI_Comm_free, (&made));
	DO(MPI_Comm_idup, (world, &made, &request));
	wait_for_it();
	DO(MPI_Comm_free, (&made));
#if MPI_VERSION >= 4
	DO(MPI_Comm_idup_with_info, (world, MPI_INFO_NULL, &made, &request));
	wait_for_it();
	DO(MPI_Comm_free, (&made));
#endif
	DO(MPI_Comm_split_type, (world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), "key=0 newcomm_rank=%d", rank);
	DO(MPI_Comm_free, (&made));
	MPI_Comm_group(world, &all);
	DO(MPI_Comm_create, (world, all, &made), "newcomm_rank=%d", rank);
	DO(MPI_Comm_free, (&made));
	DO(MPI_Comm_create_group, (world, all, 7, &made), "tag=7 newcomm_rank=%d", rank);
	DO(MPI_Comm_free, (&made));
	DO(MPI_Comm_split, (world, rank, 0, &alone), "color=%d newcomm_rank=0", rank);
	DO(MPI_Intercomm_create, (alone, 0, world, other, 8, &between), "remote_leader=%d tag=8", other);
	DO(MPI_Intercomm_merge, (between, rank, &made), "high=%d newintracomm_rank=%d", rank, rank);
	DO(MPI_Comm_free, (&made));
	DO(MPI_Comm_free, (&between));
	DO(MPI_Comm_free, (&alone));
	MPI_Group_free(&all);
#if MPI_VERSION >= 4
	MPI_Session session;
	MPI_Group group;

	DO(MPI_Session_init, (MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	DO(MPI_Comm_create_from_group, (group, "every", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
	DO(MPI_Comm_free, (&made));
	MPI_Group_free(&group);
	DO(MPI_Session_finalize, (&session));
#endif
	DO(MPI_Pcontrol, (3), "level=3");
}

/* A connection between the two ranks, before anything is counted. */
static void connect_sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (rank == 0 && (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
			  getsockname(listener, (struct sockaddr *)&address, &size)))
		abort();
	MPI_Bcast(&address, sizeof(address), MPI_CHAR, 0, world);
	if (rank == 0)
		connection = accept(listener, NULL, NULL);
	else if (!connect(listener, (struct sockaddr *)&address, size))
		connection = dup(listener);
	close(listener);
	if (connection < 0)
		abort();
}

/* Processes of another job: where the library can have them (MPICH on UCX cannot), the calls must succeed. */
#ifdef MPICH
#define OTHERS TRY
#else
#define OTHERS DO
#endif

static void leave(MPI_Comm *others)
{
	if (*others != MPI_COMM_NULL)
		DO(MPI_Comm_disconnect, (others));
}

static void others_than_the_job(const char *program)
{
	char *arguments[] = { "--child", NULL }, **many[1] = { arguments }, *programs[1] = { (char *)program };
	char port[MPI_MAX_PORT_NAME] = "none", found[MPI_MAX_PORT_NAME] = "";
	MPI_Comm children = MPI_COMM_NULL, peer = MPI_COMM_NULL;
	MPI_Info nothing[1] = { MPI_INFO_NULL };
	int one = 1, errors[1];

	OTHERS(MPI_Comm_spawn, (program, arguments, 1, MPI_INFO_NULL, 0, world, &children, errors),
	       "maxprocs=1 root=0");
	leave(&children);
	OTHERS(MPI_Comm_spawn_multiple, (1, programs, many, &one, nothing, 0, world, &children, errors),
	       "count=1 root=0");
	leave(&children);
	if (rank == 0) {
		OTHERS(MPI_Open_port, (MPI_INFO_NULL, port));
		TRY(MPI_Publish_name, ("gaspbpf every", MPI_INFO_NULL, port));
		TRY(MPI_Lookup_name, ("gaspbpf every", MPI_INFO_NULL, found));
		TRY(MPI_Unpublish_name, ("gaspbpf every", MPI_INFO_NULL, port));
	}
	DO(MPI_Bcast, (port, sizeof(port), MPI_CHAR, 0, world), "count=%d payload=%d", (int)sizeof(port),
	   (int)sizeof(port));
	if (rank == 0)
		OTHERS(MPI_Comm_accept, (port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer), "root=0");
	else
		OTHERS(MPI_Comm_connect, (port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer), "root=0");
	leave(&peer);
	if (rank == 0)
		OTHERS(MPI_Close_port, (port));
	OTHERS(MPI_Comm_join, (connection, &peer), "fd=%d", connection);
	close(connection); /* where one side could not, the other must not wait for it */
	leave(&peer);
}
