/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Solves a system of equations by ViennaCL, a library of others that is headers alone: its parallel regions, loops and
 * reductions are in this program. By two methods of gradients, with products of sparse matrices and of dense
 * ones.
 */
#define VIENNACL_WITH_OPENMP 1

#include <cstdio>
#include <map>
#include <vector>

#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/norm_inf.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/vector.hpp>

#define SIDE 40
#define POINTS (SIDE * SIDE)
#define DENSE 200

/* Each point of a square and its neighbours. */
static std::vector<std::map<unsigned, double>> grid()
{
	std::vector<std::map<unsigned, double>> rows(POINTS);

	for (unsigned i = 0; i < POINTS; i++) {
		rows[i][i] = 4;
		if (i >= SIDE)
			rows[i][i - SIDE] = rows[i - SIDE][i] = -1;
		if (i % SIDE)
			rows[i][i - 1] = rows[i - 1][i] = -1;
	}
	return rows;
}

int main()
{
	viennacl::compressed_matrix<double> matrix(POINTS, POINTS);
	viennacl::vector<double> ones = viennacl::scalar_vector<double>(POINTS, 1.0);
	viennacl::matrix<double> left = viennacl::scalar_matrix<double>(DENSE, DENSE, 1.5);
	viennacl::matrix<double> right = viennacl::scalar_matrix<double>(DENSE, DENSE, 2.5);

	viennacl::copy(grid(), matrix);
	viennacl::linalg::cg_tag way(1e-8, 200);
	viennacl::vector<double> x = viennacl::linalg::solve(matrix, ones, way);
	viennacl::vector<double> y = viennacl::linalg::solve(matrix, ones, viennacl::linalg::bicgstab_tag(1e-6, 50));
	viennacl::compressed_matrix<double> squared = viennacl::linalg::prod(matrix, matrix);
	viennacl::vector<double> z = viennacl::linalg::prod(squared, x);
	viennacl::matrix<double> product = viennacl::linalg::prod(left, right);
	double most = viennacl::linalg::norm_inf(z), both = viennacl::linalg::inner_prod(x, y);

	printf("checksum %u %.6f %.3f %.1f\n", (unsigned)way.iters(), most, both, double(product(3, 4)));
	return 0;
}
