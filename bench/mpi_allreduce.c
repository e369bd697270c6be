/* SPDX-License-Identifier: MIT */
/*
 * MPI_Allreduce of floats, out of place, for comparison with `kiln prove all_reduce`: size in bytes and the mean time in
 * microseconds of each size from the first to the second argument, doubling; as many iterations as the third says.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t min = argc > 1 ? strtoull(argv[1], NULL, 0) : 8, max = argc > 2 ? strtoull(argv[2], NULL, 0) : 64 << 20;
	int iterations = argc > 3 ? atoi(argv[3]) : 20, rank, ranks;
	float *in = malloc(max), *out = malloc(max);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (size_t i = 0; i < max / sizeof(float); i++)
		in[i] = (float)(rank + 1);
	for (size_t bytes = min; bytes <= max; bytes *= 2) {
		int count = (int)(bytes / sizeof(float));
		double start, mine, mean;
		MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		for (int i = 0; i < iterations; i++)
			MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		mine = (MPI_Wtime() - start) / iterations * 1e6;
		MPI_Reduce(&mine, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (out[count - 1] != (float)(ranks * (ranks + 1) / 2))
			MPI_Abort(MPI_COMM_WORLD, 1);
		if (rank == 0)
			printf("%zu %.2f\n", bytes, mean / ranks);
	}
	MPI_Finalize();
	free(in);
	free(out);
	return 0;
}
