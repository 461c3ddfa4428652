/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_every.c: what all ranks of a communicator do together. */

/* Two ranks, each with the same share of everything. */
static number twos[2] = { 2, 2 };
static place starts[2] = { 0, 2 };
static place byte_starts[2] = { 0, 8 };
static MPI_Aint far_starts[2] = { 0, 8 };
static MPI_Datatype ints[2];

static void collective(void)
{
	ints[0] = ints[1] = MPI_INT;
	DO(MPI_Barrier, (world), "comm_id=0 comm_rank=%d", rank);
	DO(MPI_Bcast, (in, 4, MPI_INT, 0, world), "root=0 count=4 datatype_size=4 comm_rank=%d payload=16", rank);
	DO(MPI_Reduce, (out, in, 4, MPI_INT, MPI_SUM, 1, world), "root=1 count=4 payload=16");
	DO(MPI_Allreduce, (out, in, 4, MPI_INT, MPI_SUM, world), "count=4 payload=16");
	DO(MPI_Allreduce, (MPI_IN_PLACE, in, 4, MPI_INT, MPI_SUM, world), "count=4 payload=16");
	DO(MPI_Scan, (out, in, 4, MPI_INT, MPI_SUM, world), "payload=16");
	DO(MPI_Exscan, (out, in, 4, MPI_INT, MPI_SUM, world), "payload=16");
	DO(MPI_Gather, (out, 2, MPI_INT, in, 2, MPI_INT, 0, world), "root=0 sendcount=2 payload=8");
	DO(MPI_Gatherv, (out, 2, MPI_INT, in, twos, starts, MPI_INT, 0, world), "root=0 payload=8");
	DO(MPI_Scatter, (out, 2, MPI_INT, in, 2, MPI_INT, 0, world), "root=0 recvcount=2 payload=8");
	DO(MPI_Scatterv, (out, twos, starts, MPI_INT, in, 2, MPI_INT, 0, world), "root=0 payload=8");
	DO(MPI_Allgather, (out, 2, MPI_INT, in, 2, MPI_INT, world), "payload=8");
	DO(MPI_Allgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, world), "recvcount=2 payload=8");
	DO(MPI_Allgatherv, (out, 2, MPI_INT, in, twos, starts, MPI_INT, world), "payload=8");
	/* Its own share is told by an array alone; a count of 0 would be wrong. */
	DO(MPI_Allgatherv, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, twos, starts, MPI_INT, world), "payload=?");
	DO(MPI_Alltoall, (out, 2, MPI_INT, in, 2, MPI_INT, world), "payload=8");
	DO(MPI_Alltoallv, (out, twos, starts, MPI_INT, in, twos, starts, MPI_INT, world), "payload=?");
	DO(MPI_Alltoallw, (out, twos, byte_starts, ints, in, twos, byte_starts, ints, world), "payload=?");
	DO(MPI_Reduce_scatter, (out, in, twos, MPI_INT, MPI_SUM, world), "payload=?");
	DO(MPI_Reduce_scatter_block, (out, in, 2, MPI_INT, MPI_SUM, world), "recvcount=2 payload=8");
}

static void collective_at_once(void)
{
	DO(MPI_Ibarrier, (world, &request), "comm_rank=%d", rank);
	wait_for_it();
	DO(MPI_Ibcast, (in, 4, MPI_INT, 0, world, &request), "root=0 payload=16");
	wait_for_it();
	DO(MPI_Ireduce, (out, in, 4, MPI_INT, MPI_SUM, 1, world, &request), "root=1 payload=16");
	wait_for_it();
	DO(MPI_Iallreduce, (out, in, 4, MPI_INT, MPI_SUM, world, &request), "payload=16");
	wait_for_it();
	DO(MPI_Iscan, (out, in, 4, MPI_INT, MPI_SUM, world, &request), "payload=16");
	wait_for_it();
	DO(MPI_Iexscan, (out, in, 4, MPI_INT, MPI_SUM, world, &request), "payload=16");
	wait_for_it();
	DO(MPI_Igather, (out, 2, MPI_INT, in, 2, MPI_INT, 0, world, &request), "root=0 payload=8");
	wait_for_it();
	DO(MPI_Igatherv, (out, 2, MPI_INT, in, twos, starts, MPI_INT, 0, world, &request), "root=0 payload=8");
	wait_for_it();
	DO(MPI_Iscatter, (out, 2, MPI_INT, in, 2, MPI_INT, 0, world, &request), "root=0 payload=8");
	wait_for_it();
	DO(MPI_Iscatterv, (out, twos, starts, MPI_INT, in, 2, MPI_INT, 0, world, &request), "root=0 payload=8");
	wait_for_it();
	DO(MPI_Iallgather, (out, 2, MPI_INT, in, 2, MPI_INT, world, &request), "payload=8");
	wait_for_it();
	DO(MPI_Iallgatherv, (out, 2, MPI_INT, in, twos, starts, MPI_INT, world, &request), "payload=8");
	wait_for_it();
	DO(MPI_Iallgatherv, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, twos, starts, MPI_INT, world, &request),
	   "payload=?");
	wait_for_it();
	DO(MPI_Iallgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, world, &request), "payload=8");
	wait_for_it();
	DO(MPI_Ialltoall, (out, 2, MPI_INT, in, 2, MPI_INT, world, &request), "payload=8");
	wait_for_it();
	DO(MPI_Ialltoall, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, world, &request), "payload=8");
	wait_for_it();
	DO(MPI_Ialltoallv, (out, twos, starts, MPI_INT, in, twos, starts, MPI_INT, world, &request), "payload=?");
	wait_for_it();
	DO(MPI_Ialltoallw, (out, twos, byte_starts, ints, in, twos, byte_starts, ints, world, &request), "payload=?");
	wait_for_it();
	DO(MPI_Ireduce_scatter, (out, in, twos, MPI_INT, MPI_SUM, world, &request), "payload=?");
	wait_for_it();
	DO(MPI_Ireduce_scatter_block, (out, in, 2, MPI_INT, MPI_SUM, world, &request), "payload=8");
	wait_for_it();
#if MPI_VERSION >= 4
	DO(MPI_Barrier_init, (world, MPI_INFO_NULL, &request), "comm_rank=%d", rank);
	start_and_wait();
	DO(MPI_Bcast_init, (in, 4, MPI_INT, 0, world, MPI_INFO_NULL, &request), "root=0 count=4");
	start_and_wait();
	DO(MPI_Reduce_init, (out, in, 4, MPI_INT, MPI_SUM, 1, world, MPI_INFO_NULL, &request), "root=1");
	start_and_wait();
	DO(MPI_Allreduce_init, (out, in, 4, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Scan_init, (out, in, 4, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Exscan_init, (out, in, 4, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Gather_init, (out, 2, MPI_INT, in, 2, MPI_INT, 0, world, MPI_INFO_NULL, &request), "root=0");
	start_and_wait();
	DO(MPI_Gatherv_init, (out, 2, MPI_INT, in, twos, starts, MPI_INT, 0, world, MPI_INFO_NULL, &request), "root=0");
	start_and_wait();
	DO(MPI_Scatter_init, (out, 2, MPI_INT, in, 2, MPI_INT, 0, world, MPI_INFO_NULL, &request), "root=0");
	start_and_wait();
	DO(MPI_Scatterv_init, (out, twos, starts, MPI_INT, in, 2, MPI_INT, 0, world, MPI_INFO_NULL, &request),
	   "root=0");
	start_and_wait();
	DO(MPI_Allgather_init, (out, 2, MPI_INT, in, 2, MPI_INT, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Allgatherv_init, (out, 2, MPI_INT, in, twos, starts, MPI_INT, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Alltoall_init, (out, 2, MPI_INT, in, 2, MPI_INT, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Alltoallv_init, (out, twos, starts, MPI_INT, in, twos, starts, MPI_INT, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Alltoallw_init,
	   (out, twos, byte_starts, ints, in, twos, byte_starts, ints, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Reduce_scatter_init, (out, in, twos, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Reduce_scatter_block_init, (out, in, 2, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request));
	start_and_wait();
#endif
}

/* A ring of two: each is the other's neighbour on both sides. */
static void neighbours(void)
{
	int size[1] = { 2 }, around[1] = { 1 };
	MPI_Comm ring;

	DO(MPI_Cart_create, (world, 1, size, around, 0, &ring), "comm_old_id=0 ndims=1 comm_cart_rank=%d", rank);
	DO(MPI_Neighbor_allgather, (out, 2, MPI_INT, in, 2, MPI_INT, ring), "payload=8");
	DO(MPI_Neighbor_allgatherv, (out, 2, MPI_INT, in, twos, starts, MPI_INT, ring), "payload=8");
	DO(MPI_Neighbor_alltoall, (out, 2, MPI_INT, in, 2, MPI_INT, ring), "payload=8");
	DO(MPI_Neighbor_alltoallv, (out, twos, starts, MPI_INT, in, twos, starts, MPI_INT, ring), "payload=?");
	DO(MPI_Neighbor_alltoallw, (out, twos, far_starts, ints, in, twos, far_starts, ints, ring), "payload=?");
	DO(MPI_Ineighbor_allgather, (out, 2, MPI_INT, in, 2, MPI_INT, ring, &request), "payload=8");
	wait_for_it();
	DO(MPI_Ineighbor_allgatherv, (out, 2, MPI_INT, in, twos, starts, MPI_INT, ring, &request), "payload=8");
	wait_for_it();
	DO(MPI_Ineighbor_alltoall, (out, 2, MPI_INT, in, 2, MPI_INT, ring, &request), "payload=8");
	wait_for_it();
	DO(MPI_Ineighbor_alltoallv, (out, twos, starts, MPI_INT, in, twos, starts, MPI_INT, ring, &request),
	   "payload=?");
	wait_for_it();
	DO(MPI_Ineighbor_alltoallw, (out, twos, far_starts, ints, in, twos, far_starts, ints, ring, &request),
	   "payload=?");
	wait_for_it();
#if MPI_VERSION >= 4
	DO(MPI_Neighbor_allgather_init, (out, 2, MPI_INT, in, 2, MPI_INT, ring, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Neighbor_allgatherv_init, (out, 2, MPI_INT, in, twos, starts, MPI_INT, ring, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Neighbor_alltoall_init, (out, 2, MPI_INT, in, 2, MPI_INT, ring, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Neighbor_alltoallv_init,
	   (out, twos, starts, MPI_INT, in, twos, starts, MPI_INT, ring, MPI_INFO_NULL, &request));
	start_and_wait();
	DO(MPI_Neighbor_alltoallw_init,
	   (out, twos, far_starts, ints, in, twos, far_starts, ints, ring, MPI_INFO_NULL, &request));
	start_and_wait();
#endif
	DO(MPI_Comm_free, (&ring));
}
