/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parallel mode of GCC's C++ library (-D_GLIBCXX_PARALLEL) makes of the algorithms of the standard: others'
 * parallel regions, some of them inside others, with locks, single and explicit barriers.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include <parallel/algorithm>
#include <parallel/settings.h>

#define NUMBERS 20000
#define ROUNDS 5

typedef std::vector<uint64_t> numbers;

static uint64_t round_of(numbers &values)
{
	numbers a = values, b = values, both(2 * NUMBERS);
	uint64_t sum = 0;

	std::sort(a.begin(), a.end());
	sum = std::accumulate(a.begin(), a.end(), sum);
	std::sort(b.begin(), b.end(), std::less<uint64_t>(), __gnu_parallel::quicksort_tag());
	b = values;
	std::sort(b.begin(), b.end(), std::less<uint64_t>(), __gnu_parallel::balanced_quicksort_tag());
	std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin());
	std::partial_sum(values.begin(), values.end(), b.begin());
	sum += std::count_if(values.begin(), values.end(), [](uint64_t value) { return value % 3 == 0; });
	std::for_each(values.begin(), values.end(), [](uint64_t &value) { value ^= value >> 7; });
	std::nth_element(a.begin(), a.begin() + NUMBERS / 2, a.end());
	sum += a[NUMBERS / 2];
	std::partition(a.begin(), a.end(), [](uint64_t value) { return value & 1; });
	sum += std::find(values.begin(), values.end(), values[NUMBERS - 7]) - values.begin();
	std::unique_copy(both.begin(), both.end(), a.begin());
	sum += *std::max_element(values.begin(), values.end());
	return sum + std::set_union(a.begin(), a.begin() + NUMBERS / 2, b.begin(), b.begin(), both.begin()) -
	       both.begin();
}

int main()
{
	__gnu_parallel::_Settings settings;
	numbers values(NUMBERS);
	uint64_t state = 1, sum = 0;

	settings.algorithm_strategy = __gnu_parallel::force_parallel;
	__gnu_parallel::_Settings::set(settings);
	for (uint64_t &value : values)
		value = state = state * 6364136223846793005u + 1442695040888963407u;
	for (int i = 0; i < ROUNDS; i++)
		sum += round_of(values);
	printf("checksum %lx\n", sum);
	return 0;
}
