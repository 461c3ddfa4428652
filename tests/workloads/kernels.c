/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three small kernels of the kinds that the NAS parallel benchmarks have, in which nothing is planted:
 *
 *   --what 0   random numbers, counted; one reduction at the end of each round (as EP)
 *   --what 1   conjugate gradients on a grid of --size squared points, divided into stripes: borders are exchanged
 *              with the neighbours, dot products reduced (as CG); a round is one solution
 *   --what 2   integer keys, --size squared of them in each rank, sorted by buckets: sizes are reduced, keys exchanged
 *              by all with all (as IS)
 *
 * The checksum of 0 is the same for any number of ranks.
 */
#include "job.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANNULI 10
#define BATCH 200000 /* pairs in a round, of all ranks */
#define STEPS 25     /* of conjugate gradients */
#define KEYS (1 << 16)

static struct job job = { .name = "kernels", .rounds = 10 };
static long what, side = 256;
static int rank, ranks;

static void *must_have(void *block)
{
	if (!block)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return block;
}

static void *room(size_t count, size_t size)
{
	return must_have(calloc(count ? count : 1, size));
}

/* --- random numbers ------------------------------------------------------------ */

static double uniform(uint64_t index)
{
	return (double)(job_mix(index * 0x9e3779b97f4a7c15ULL + 1) >> 11) / (double)(1ULL << 53) * 2 - 1;
}

static uint64_t count_pairs(long round)
{
	long mine[ANNULI] = { 0 }, all[ANNULI];
	uint64_t sum = 0;

	for (long i = rank; i < BATCH; i += ranks) {
		uint64_t pair = (uint64_t)round * BATCH + i;
		double x = uniform(2 * pair), y = uniform(2 * pair + 1), t = x * x + y * y;
		double scale, larger;

		if (t > 1 || t == 0)
			continue;
		scale = sqrt(-2 * log(t) / t);
		larger = fmax(fabs(x * scale), fabs(y * scale));
		mine[larger < ANNULI ? (int)larger : ANNULI - 1]++;
	}
	MPI_Allreduce(mine, all, ANNULI, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < ANNULI; i++)
		sum = job_mix(sum + all[i]);
	return sum;
}

/* --- conjugate gradients -------------------------------------------------------- */

static double *x, *r, *p, *q; /* stripes of `rows` rows, with a border row before and behind */
static long rows, first_row;

static void make_grid(void)
{
	rows = side * (rank + 1) / ranks - side * rank / ranks;
	first_row = side * rank / ranks;
	x = room((rows + 2) * side, sizeof(*x));
	r = room((rows + 2) * side, sizeof(*r));
	p = room((rows + 2) * side, sizeof(*p));
	q = room((rows + 2) * side, sizeof(*q));
}

static double dot(const double *a, const double *b)
{
	double mine = 0, all;

	for (long i = side; i < (rows + 1) * side; i++)
		mine += a[i] * b[i];
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static void exchange_borders(double *grid)
{
	int above = rank ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
	MPI_Request requests[4];

	MPI_Irecv(grid, (int)side, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(grid + (rows + 1) * side, (int)side, MPI_DOUBLE, below, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(grid + side, (int)side, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(grid + rows * side, (int)side, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* to = A from: each point four times, less its neighbours, and a little more, so that A is definite. */
static void multiply(double *from, double *to)
{
	exchange_borders(from);
	for (long row = 1; row <= rows; row++)
		for (long i = 0; i < side; i++) {
			const double *at = from + row * side + i;

			to[row * side + i] = 4.01 * *at - at[-side] - at[side] - (i ? at[-1] : 0) -
					     (i + 1 < side ? at[1] : 0);
		}
}

static uint64_t solve(long round)
{
	double rho, before, alpha;

	for (long i = side; i < (rows + 1) * side; i++) {
		x[i] = 0;
		r[i] = p[i] = uniform(first_row * side + i + round);
	}
	rho = dot(r, r);
	for (int step = 0; step < STEPS; step++) {
		multiply(p, q);
		alpha = rho / dot(p, q);
		for (long i = side; i < (rows + 1) * side; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		before = rho;
		rho = dot(r, r);
		for (long i = side; i < (rows + 1) * side; i++)
			p[i] = r[i] + rho / before * p[i];
	}
	return (uint64_t)(1e3 * dot(x, x));
}

/* --- sorting --------------------------------------------------------------------- */

static int *keys, *sorted;

static void share_out(const long *all, int *owner)
{
	long total = 0, so_far = 0;

	for (int key = 0; key < KEYS; key++)
		total += all[key];
	for (int key = 0; key < KEYS; key++) {
		owner[key] = (int)(so_far * ranks / (total + 1));
		so_far += all[key];
	}
}

static void place(const int *counts, int *starts)
{
	starts[0] = 0;
	for (int i = 1; i < ranks; i++)
		starts[i] = starts[i - 1] + counts[i - 1];
}

static uint64_t sort(long round)
{
	static long mine[KEYS], all[KEYS];
	static int owner[KEYS];
	int *sizes = room(ranks, sizeof(*sizes)), *starts = room(ranks, sizeof(*starts)),
	    *fill = room(ranks, sizeof(*fill)), *come = room(ranks, sizeof(*come)), *at = room(ranks, sizeof(*at));
	long n = side * side, count = 0, whole;
	uint64_t sum = 0, sums = 0;
	int *ordered = room(n, sizeof(*ordered));

	memset(mine, 0, sizeof(mine));
	for (long i = 0; i < n; i++) {
		uint64_t index = ((uint64_t)round * ranks + rank) * n + i;

		keys[i] = (int)((job_mix(index) % KEYS + job_mix(~index) % KEYS) / 2);
		mine[keys[i]]++;
	}
	MPI_Allreduce(mine, all, KEYS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	share_out(all, owner);
	for (long i = 0; i < n; i++)
		sizes[owner[keys[i]]]++;
	place(sizes, starts);
	memcpy(fill, starts, ranks * sizeof(*fill));
	for (long i = 0; i < n; i++)
		ordered[fill[owner[keys[i]]]++] = keys[i];
	MPI_Alltoall(sizes, 1, MPI_INT, come, 1, MPI_INT, MPI_COMM_WORLD);
	place(come, at);
	count = at[ranks - 1] + come[ranks - 1];
	sorted = must_have(realloc(sorted, (count + 1) * sizeof(*sorted)));
	MPI_Alltoallv(ordered, sizes, starts, MPI_INT, sorted, come, at, MPI_INT, MPI_COMM_WORLD);
	memset(mine, 0, sizeof(mine));
	for (long i = 0; i < count; i++)
		mine[sorted[i]]++;
	for (int key = 0, to = 0; key < KEYS; key++)
		for (long i = 0; i < mine[key]; i++)
			sorted[to++] = key;
	for (int key = 0; key < KEYS; key++)
		sum += mine[key] * job_mix(key);
	MPI_Reduce(&sum, &sums, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Allreduce(&count, &whole, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (whole != n * ranks)
		MPI_Abort(MPI_COMM_WORLD, 4);
	free(sizes);
	free(starts);
	free(fill);
	free(come);
	free(at);
	free(ordered);
	return rank ? 0 : sums;
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = { { "--what", &what }, { "--size", &side }, { NULL, NULL } };
	uint64_t checksum = 0;

	job_options(&job, argc, argv, options);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (side < ranks || side > 4096)
		MPI_Abort(MPI_COMM_WORLD, 2);
	job.rank = rank;
	make_grid();
	keys = room(side * side, sizeof(*keys));
	MPI_Barrier(MPI_COMM_WORLD);
	job_begin(&job);
	for (long round = 0; round < job.rounds; round++)
		checksum = job_mix(checksum + (what == 0   ? count_pairs(round)
					       : what == 1 ? solve(round)
							   : sort(round)));
	job_finish(&job);
	if (!rank)
		printf("checksum %016llx\n", (unsigned long long)checksum);
	job_truth(&job, job.rounds, checksum, &(struct counts){ 0 }, NULL, 0);
	MPI_Finalize();
	return 0;
}
