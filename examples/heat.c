/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slow MPI job to make quicker: docs/tutorial.md goes with it.
 *
 * Heat spreads on a plate of ROWS x COLUMNS points. Each rank has some of the rows. In a step it sends its outermost
 * rows to its neighbours, receives theirs, computes its own, and all add up by how much the plate has changed.
 *
 *     mpicc -O2 -g -o heat heat.c
 *     mpirun -n 2 ./heat --seconds 60 &
 *     sudo gaspbpf -p $! -d 5s
 */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK   96 /* rows: as many as stay in the cache */
#define BLOCKS  3
#define ROWS    (BLOCKS * BLOCK)
#define COLUMNS 1024
#define PIECE   8 /* of a row, in a message */

static int rank, size;

/* How many rows this rank has: whole blocks, and the last rank takes what is left. */
static int own_rows(void)
{
	int each = BLOCKS / size * BLOCK;

	return rank == size - 1 ? ROWS - each * (size - 1) : each;
}

/* Both send their row to each other. */
static void exchange(double *mine, double *theirs, int neighbour)
{
	for (int i = 0; i < COLUMNS; i += PIECE)
		MPI_Send(&mine[i], PIECE, MPI_DOUBLE, neighbour, i, MPI_COMM_WORLD);
	for (int i = 0; i < COLUMNS; i += PIECE)
		MPI_Recv(&theirs[i], PIECE, MPI_DOUBLE, neighbour, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The mean of the four neighbours, for each point. Returns the largest change. */
static double spread(const double *from, double *to, int rows)
{
	double most = 0;

	for (int row = 1; row <= rows; row++)
		for (int i = 1; i < COLUMNS - 1; i++) {
			const double *at = &from[row * COLUMNS + i];
			double mean = (at[-1] + at[1] + at[-COLUMNS] + at[COLUMNS]) / 4;

			to[row * COLUMNS + i] = mean;
			most = fmax(most, fabs(mean - *at));
		}
	return most;
}

static double step(double *from, double *to, int rows)
{
	double change, most;

	if (rank > 0)
		exchange(&from[COLUMNS], &from[0], rank - 1);
	if (rank < size - 1)
		exchange(&from[rows * COLUMNS], &from[(rows + 1) * COLUMNS], rank + 1);
	change = spread(from, to, rows);
	MPI_Allreduce(&change, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 && !strcmp(argv[1], "--seconds") ? atof(argv[2]) : 30, began, *from, *to;
	int rows, more = 1;
	long steps = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	rows = own_rows();
	from = calloc((size_t)(rows + 2) * COLUMNS, sizeof(*from));
	to = calloc((size_t)(rows + 2) * COLUMNS, sizeof(*to));
	if (!from || !to)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; rank == 0 && i < COLUMNS; i++) /* the plate's edge is hot */
		from[i] = to[i] = 100;
	began = MPI_Wtime();
	while (more) {
		double *other = from;

		step(from, to, rows);
		from = to;
		to = other;
		if (++steps % 50 == 0) {
			more = MPI_Wtime() - began < seconds;
			MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
		}
	}
	if (rank == 0)
		printf("%ld steps, %.0f a second\n", steps, steps / (MPI_Wtime() - began));
	free(from);
	free(to);
	MPI_Finalize();
	return 0;
}
