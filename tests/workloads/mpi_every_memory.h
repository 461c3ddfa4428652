/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_every.c: memory of others, and files. */

static void reach(MPI_Win window)
{
	int one = 1, got, compare = 5;

	DO(MPI_Win_fence, (0, window));
	DO(MPI_Put, (out, 2, MPI_INT, other, 0, 2, MPI_INT, window), "target_rank=%d target_disp=0 payload=8", other);
	DO(MPI_Get, (in, 2, MPI_INT, other, 4, 2, MPI_INT, window), "target_rank=%d target_disp=4 payload=8", other);
	DO(MPI_Accumulate, (out, 2, MPI_INT, other, 8, 2, MPI_INT, MPI_SUM, window), "target_rank=%d payload=8", other);
	DO(MPI_Win_fence, (0, window));
	DO(MPI_Win_lock, (MPI_LOCK_SHARED, other, 0, window), "rank=%d", other);
	DO(MPI_Rput, (out, 2, MPI_INT, other, 0, 2, MPI_INT, window, &request), "target_rank=%d payload=8", other);
	wait_for_it();
	DO(MPI_Rget, (in, 2, MPI_INT, other, 4, 2, MPI_INT, window, &request), "target_rank=%d payload=8", other);
	wait_for_it();
	DO(MPI_Raccumulate, (out, 2, MPI_INT, other, 8, 2, MPI_INT, MPI_SUM, window, &request),
	   "target_rank=%d payload=8", other);
	wait_for_it();
	DO(MPI_Get_accumulate, (out, 2, MPI_INT, in, 2, MPI_INT, other, 8, 2, MPI_INT, MPI_SUM, window),
	   "target_rank=%d payload=16", other);
	DO(MPI_Rget_accumulate, (out, 2, MPI_INT, in, 2, MPI_INT, other, 8, 2, MPI_INT, MPI_SUM, window, &request),
	   "target_rank=%d payload=16", other);
	wait_for_it();
	DO(MPI_Fetch_and_op, (&one, &got, MPI_INT, other, 12, MPI_SUM, window),
	   "target_rank=%d target_disp=12 payload=4", other);
	DO(MPI_Compare_and_swap, (&one, &compare, &got, MPI_INT, other, 13, window), "target_rank=%d payload=4", other);
	DO(MPI_Win_flush, (other, window), "rank=%d", other);
	DO(MPI_Win_flush_local, (other, window), "rank=%d", other);
	DO(MPI_Win_unlock, (other, window), "rank=%d", other);
	DO(MPI_Win_lock_all, (0, window));
	DO(MPI_Win_flush_all, (window));
	DO(MPI_Win_flush_local_all, (window));
	DO(MPI_Win_sync, (window));
	DO(MPI_Win_unlock_all, (window));
}

/* Each opens its window to the other, and reaches into the other's. */
static void post_and_start(MPI_Win window)
{
	MPI_Group all, neighbour;
	int done = 0;

	MPI_Comm_group(world, &all);
	MPI_Group_incl(all, 1, &other, &neighbour);
	DO(MPI_Win_post, (neighbour, 0, window));
	DO(MPI_Win_start, (neighbour, 0, window));
	DO(MPI_Put, (out, 2, MPI_INT, other, 0, 2, MPI_INT, window), "payload=8");
	DO(MPI_Win_complete, (window));
	DO(MPI_Win_wait, (window));
	DO(MPI_Win_post, (neighbour, 0, window));
	DO(MPI_Win_start, (neighbour, 0, window));
	DO(MPI_Win_complete, (window));
	for (; !done; between(done))
		DO(MPI_Win_test, (window, &done), "flag=%d", done);
	MPI_Group_free(&all);
	MPI_Group_free(&neighbour);
}

static void windows(void)
{
	static int mine[64];
	void *memory;
	MPI_Win window;

	DO(MPI_Win_create, (mine, sizeof(mine), sizeof(int), MPI_INFO_NULL, world, &window), "size=256 comm_id=0");
	reach(window);
	post_and_start(window);
	DO(MPI_Win_set_info, (window, hint));
	DO(MPI_Win_free, (&window));
	DO(MPI_Win_create_dynamic, (MPI_INFO_NULL, world, &window), "comm_id=0");
	DO(MPI_Win_attach, (window, mine, sizeof(mine)), "size=256");
	DO(MPI_Win_detach, (window, mine));
	DO(MPI_Win_free, (&window));
	DO(MPI_Win_allocate, (256, sizeof(int), MPI_INFO_NULL, world, &memory, &window), "size=256 comm_id=0");
	DO(MPI_Win_free, (&window));
	DO(MPI_Win_allocate_shared, (256, sizeof(int), MPI_INFO_NULL, world, &memory, &window), "size=256 comm_id=0");
	DO(MPI_Win_free, (&window));
	DO(MPI_Alloc_mem, (1000, MPI_INFO_NULL, &memory), "size=1000 payload=1000");
	DO(MPI_Free_mem, (memory));
}

static void read_and_write(MPI_File file)
{
	DO(MPI_File_write, (file, out, 2, MPI_INT, &status), "count=2 bytes=8 payload=8");
	DO(MPI_File_write_all, (file, out, 2, MPI_INT, &status), "payload=8");
	DO(MPI_File_write_at, (file, 64, out, 2, MPI_INT, &status), "offset=64 payload=8");
	DO(MPI_File_write_at_all, (file, 64, out, 2, MPI_INT, &status), "offset=64 payload=8");
	DO(MPI_File_write_shared, (file, out, 2, MPI_INT, &status), "payload=8");
	DO(MPI_File_write_ordered, (file, out, 2, MPI_INT, &status), "payload=8");
	DO(MPI_File_iwrite, (file, out, 2, MPI_INT, &request), "payload=8");
	wait_for_it();
	DO(MPI_File_iwrite_all, (file, out, 2, MPI_INT, &request), "payload=8");
	wait_for_it();
	DO(MPI_File_iwrite_at, (file, 64, out, 2, MPI_INT, &request), "offset=64 payload=8");
	wait_for_it();
	DO(MPI_File_iwrite_at_all, (file, 64, out, 2, MPI_INT, &request), "offset=64 payload=8");
	wait_for_it();
	DO(MPI_File_iwrite_shared, (file, out, 2, MPI_INT, &request), "payload=8");
	wait_for_it();
	DO(MPI_File_write_all_begin, (file, out, 2, MPI_INT), "payload=8");
	DO(MPI_File_write_all_end, (file, out, &status), "bytes=8");
	DO(MPI_File_write_at_all_begin, (file, 64, out, 2, MPI_INT), "offset=64 payload=8");
	DO(MPI_File_write_at_all_end, (file, out, &status), "bytes=8");
	DO(MPI_File_write_ordered_begin, (file, out, 2, MPI_INT), "payload=8");
	DO(MPI_File_write_ordered_end, (file, out, &status), "bytes=8");
	DO(MPI_File_sync, (file));
	DO(MPI_File_seek, (file, 0, MPI_SEEK_SET), "offset=0");
	DO(MPI_File_seek_shared, (file, 0, MPI_SEEK_SET), "offset=0");
	DO(MPI_File_read, (file, in, 2, MPI_INT, &status), "count=2 bytes=8 payload=8");
	DO(MPI_File_read_all, (file, in, 2, MPI_INT, &status), "payload=8");
	DO(MPI_File_read_at, (file, 0, in, 2, MPI_INT, &status), "offset=0 payload=8");
	DO(MPI_File_read_at_all, (file, 0, in, 2, MPI_INT, &status), "offset=0 payload=8");
	DO(MPI_File_read_shared, (file, in, 2, MPI_INT, &status), "payload=8");
	DO(MPI_File_read_ordered, (file, in, 2, MPI_INT, &status), "payload=8");
	DO(MPI_File_iread, (file, in, 2, MPI_INT, &request), "payload=8");
	wait_for_it();
	DO(MPI_File_iread_all, (file, in, 2, MPI_INT, &request), "payload=8");
	wait_for_it();
	DO(MPI_File_iread_at, (file, 0, in, 2, MPI_INT, &request), "offset=0 payload=8");
	wait_for_it();
	DO(MPI_File_iread_at_all, (file, 0, in, 2, MPI_INT, &request), "offset=0 payload=8");
	wait_for_it();
	DO(MPI_File_iread_shared, (file, in, 2, MPI_INT, &request), "payload=8");
	wait_for_it();
	DO(MPI_File_read_all_begin, (file, in, 2, MPI_INT), "payload=8");
	DO(MPI_File_read_all_end, (file, in, &status), "bytes=8");
	DO(MPI_File_read_at_all_begin, (file, 0, in, 2, MPI_INT), "offset=0 payload=8");
	DO(MPI_File_read_at_all_end, (file, in, &status), "bytes=8");
	DO(MPI_File_read_ordered_begin, (file, in, 2, MPI_INT), "payload=8");
	DO(MPI_File_read_ordered_end, (file, in, &status), "bytes=8");
}

static void files(void)
{
	MPI_File file;
	MPI_Offset size;

	DO(MPI_File_open, (world, "every.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "comm_id=0");
	DO(MPI_File_set_size, (file, 4096), "size=4096");
	DO(MPI_File_preallocate, (file, 4096), "size=4096");
	DO(MPI_File_get_size, (file, &size), "size=%ld", (long)size);
	DO(MPI_File_set_atomicity, (file, 0), "flag=0");
	DO(MPI_File_set_info, (file, hint));
	DO(MPI_File_set_view, (file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "disp=0");
	read_and_write(file);
	DO(MPI_File_get_position_shared, (file, &size), "offset=%ld", (long)size);
	DO(MPI_File_close, (&file));
	DO(MPI_Barrier, (world));
	if (rank == 0)
		DO(MPI_File_delete, ("every.data", MPI_INFO_NULL));
}
