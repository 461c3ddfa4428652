/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that write one HDF5 file together and a file of their own each: datasets by selections and by whole chunks,
 * attributes, groups, links, what fails. It counts what it calls. The files are in the folder that HDF5_FOLDER names.
 */
#include "job.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MINE 96 /* elements of a process */

static struct job job = { .name = "hdf5_job", .rounds = 4 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static int me, processes;
static char together[4096], own[4096];
static long sure;

#define DO(FUNCTION, ARGUMENTS, bytes) (count_call(counts, #FUNCTION, bytes), FUNCTION ARGUMENTS)

static void attributes(hid_t of)
{
	hid_t one = H5Screate(H5S_SCALAR), attribute;
	int value = 7, back = 0;

	attribute = DO(H5Acreate2, (of, "answer", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT), 0);
	DO(H5Awrite, (attribute, H5T_NATIVE_INT, &value), 0);
	DO(H5Aclose, (attribute), 0);
	sure += DO(H5Aexists, (of, "answer"), 0) + DO(H5Aexists, (of, "question"), 0);
	attribute = DO(H5Aopen, (of, "answer", H5P_DEFAULT), 0);
	DO(H5Aread, (attribute, H5T_NATIVE_INT, &back), 0);
	DO(H5Aclose, (attribute), 0);
	attribute = DO(H5Aopen_by_name, (of, ".", "answer", H5P_DEFAULT, H5P_DEFAULT), 0);
	DO(H5Aclose, (attribute), 0);
	DO(H5Adelete, (of, "answer"), 0);
	H5Sclose(one);
	sure += back;
}

/* All together, each its part. */
static void shared_file(const char *name)
{
	hsize_t all[1] = { (hsize_t)processes * MINE }, from[1] = { (hsize_t)me * MINE }, part[1] = { MINE };
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER), file, group, data;
	hid_t space = H5Screate_simple(1, all, NULL), memory = H5Screate_simple(1, part, NULL);
	double values[MINE], back[MINE];

	for (int i = 0; i < MINE; i++)
		values[i] = me + i;
	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
	H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, part, NULL);
	file = DO(H5Fcreate, (name, H5F_ACC_TRUNC, H5P_DEFAULT, access), 0);
	group = DO(H5Gcreate2, (file, "results", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
	data = DO(H5Dcreate2, (group, "energy", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
	DO(H5Dwrite, (data, H5T_NATIVE_DOUBLE, memory, space, transfer, values), 0);
	attributes(data);
	DO(H5Fflush, (file, H5F_SCOPE_LOCAL), 0);
	DO(H5Dread, (data, H5T_NATIVE_DOUBLE, memory, space, transfer, back), 0);
	DO(H5Dclose, (data), 0);
	DO(H5Gclose, (group), 0);
	DO(H5Fclose, (file), 0);
	sure += (long)back[MINE - 1];
	H5Pclose(access);
	H5Pclose(transfer);
	H5Sclose(space);
	H5Sclose(memory);
}

/* Each its own. */
static void own_file(const char *name)
{
	hsize_t size[1] = { MINE }, most[1] = { H5S_UNLIMITED }, twice[1] = { 2 * MINE }, zero[1] = { 0 };
	hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, size, most), file, data, object;
	int values[MINE] = { me }, back[MINE];
	H5O_info_t about;
	uint32_t filters;

	H5Pset_chunk(layout, 1, size);
	file = DO(H5Fcreate, (name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), 0);
	data = DO(H5Dcreate2, (file, "chunks", H5T_NATIVE_INT, space, H5P_DEFAULT, layout, H5P_DEFAULT), 0);
	DO(H5Dset_extent, (data, twice), 0);
	DO(H5Dwrite_chunk, (data, H5P_DEFAULT, 0, zero, sizeof(values), values), sizeof(values));
	DO(H5Dflush, (data), 0);
	DO(H5Dread_chunk, (data, H5P_DEFAULT, zero, &filters, back), 0);
	DO(H5Dclose, (data), 0);
	DO(H5Lcreate_soft, ("/chunks", file, "other", H5P_DEFAULT, H5P_DEFAULT), 0);
	sure += DO(H5Lexists, (file, "other", H5P_DEFAULT), 0) + DO(H5Lexists, (file, "none", H5P_DEFAULT), 0);
	DO(H5Ocopy, (file, "chunks", file, "copy", H5P_DEFAULT, H5P_DEFAULT), 0);
	DO(H5Lmove, (file, "copy", file, "moved", H5P_DEFAULT, H5P_DEFAULT), 0);
	DO(H5Ldelete, (file, "moved", H5P_DEFAULT), 0);
	object = DO(H5Oopen, (file, "other", H5P_DEFAULT), 0);
	DO(H5Oget_info1, (object, &about), 0);
	DO(H5Oclose, (object), 0);
	DO(H5Fclose, (file), 0);
	file = DO(H5Fopen, (name, H5F_ACC_RDONLY, H5P_DEFAULT), 0);
	data = DO(H5Dopen2, (file, "chunks", H5P_DEFAULT), 0);
	sure += DO(H5Dopen2, (file, "nothing of this name", H5P_DEFAULT), 0);
	DO(H5Dread, (data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, (int[2 * MINE]){ 0 }), 0);
	DO(H5Dclose, (data), 0);
	DO(H5Fclose, (file), 0);
	H5Pclose(layout);
	H5Sclose(space);
	sure += back[0] + (long)about.num_attrs;
}

static void round_of_work(void)
{
	shared_file(together);
	own_file(own);
}

int main(int argc, char **argv)
{
	const char *folder = getenv("HDF5_FOLDER");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &processes);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* of what fails on purpose nothing is printed */
	job.rank = me;
	job_options(&job, argc, argv, NULL);
	snprintf(together, sizeof(together), "%s/together.h5", folder ? folder : ".");
	snprintf(own, sizeof(own), "%s/own.%d.h5", folder ? folder : ".", me);
	if (job_all_rounds(&job, round_of_work, &counts, &counted, &sure))
		return 1;
	MPI_Finalize();
	return 0;
}
