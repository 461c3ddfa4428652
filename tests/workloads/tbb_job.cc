/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that works with TBB as programs do: by templates, which call the library where it has functions. What a
 * round does is fixed; how many tasks TBB makes of it is not: libcount_tbb.so counts the calls.
 */
#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "job.h"

namespace {

job the_job = [] {
	job j{};
	j.name = "tbb_job";
	j.rank = -1;
	j.rounds = 5;
	return j;
}();
counts counted, thrown_away, *now = &thrown_away;
std::atomic<long> sum;

void loops()
{
	tbb::parallel_for(tbb::blocked_range<int>(0, 1000, 10), [](const tbb::blocked_range<int> &range) {
		for (int i = range.begin(); i < range.end(); i++)
			sum += i & 1;
	});
	sum += tbb::parallel_reduce(
		tbb::blocked_range<int>(0, 500), 0L,
		[](const tbb::blocked_range<int> &range, long so_far) { return so_far + (long)range.size(); },
		std::plus<long>());
	/* Each thread has a part of its own: tasks for slots of the arena. */
	tbb::parallel_for(0, 100, [](int i) { sum += i & 1; }, tbb::static_partitioner());
	for (int i = 0; i < 3; i++)
		count_call(now, "loop", 0);
}

void tasks()
{
	tbb::task_group group;

	for (int i = 0; i < 20; i++) {
		group.run([] { sum++; });
		count_call(now, "task_group::run", 0);
	}
	group.wait();
	count_call(now, "task_group::wait", 0);
	group.run([] { sum += 0; });
	count_call(now, "task_group::run", 0);
	group.cancel();
	count_call(now, "task_group::cancel", 0);
	group.wait();
	count_call(now, "task_group::wait", 0);
}

void exceptions()
{
	tbb::task_group group;

	try {
		tbb::parallel_for(0, 10, [](int i) {
			if (i == 5)
				throw i;
		});
	} catch (int) {
		sum += 3;
	}
	count_call(now, "loop", 0);
}

void arenas()
{
	tbb::task_arena arena(2);
	std::atomic<int> done{ 0 };

	arena.initialize();
	count_call(now, "arena.initialize", 0);
	for (int i = 0; i < 3; i++) {
		arena.execute([] { sum += 1; });
		count_call(now, "arena.execute", 0);
	}
	for (int i = 0; i < 4; i++) {
		arena.enqueue([&done] { done++; });
		count_call(now, "arena.enqueue", 0);
	}
	while (done < 4)
		job_sleep_us(100);
	tbb::this_task_arena::isolate([] { sum += 1; });
	count_call(now, "isolate", 0);
}

void pipeline()
{
	int next = 0;

	tbb::parallel_pipeline(4, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order,
							      [&next](tbb::flow_control &control) {
								      if (next == 30)
									      control.stop();
								      return next++;
							      }) &
					  tbb::make_filter<int, int>(tbb::filter_mode::parallel,
								     [](int i) { return i * 2; }) &
					  tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order,
								      [](int i) { sum += i; }));
	count_call(now, "pipeline", 0);
}

void graph()
{
	tbb::flow::graph g;
	tbb::flow::function_node<int, int> twice(g, tbb::flow::unlimited, [](int i) { return 2 * i; });
	tbb::flow::function_node<int> add(g, tbb::flow::serial, [](int i) { sum += i; });

	tbb::flow::make_edge(twice, add);
	for (int i = 0; i < 10; i++)
		twice.try_put(i);
	g.wait_for_all();
}

/* Until a thread that has said its number, as the last thing before it waits, does so. */
void until_asleep(const std::atomic<int> &tid)
{
	char state = 0;

	while (state != 'S') {
		std::FILE *file = nullptr;

		job_sleep_us(1000);
		if (tid)
			file = std::fopen(("/proc/self/task/" + std::to_string(tid) + "/stat").c_str(), "r");
		if (!file)
			continue;
		if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		std::fclose(file);
	}
}

void locks()
{
	tbb::queuing_rw_mutex several;
	tbb::mutex one;
	tbb::concurrent_bounded_queue<int> queue;
	std::atomic<bool> has{ false };
	std::atomic<int> waits{ 0 };
	int got = 0;

	for (int i = 0; i < 3; i++) {
		tbb::queuing_rw_mutex::scoped_lock guard(several, i == 0);

		count_call(now, "lock", 0);
		sum++;
	}
	tbb::queuing_rw_mutex::scoped_lock guard;
	sum += guard.try_acquire(several, true);
	count_call(now, "trylock", 0);
	guard.release();
	std::thread holder([&] {
		tbb::mutex::scoped_lock mine(one);

		has = true;
		until_asleep(waits);
	});
	while (!has)
		job_sleep_us(100);
	{
		waits = gettid();
		tbb::mutex::scoped_lock mine(one);

		sum++;
	}
	holder.join();
	waits = 0;
	std::thread giver([&] {
		until_asleep(waits);
		queue.push(7);
	});
	waits = gettid();
	queue.pop(got);
	giver.join();
	sum += got;
}

void memory()
{
	std::vector<long, tbb::cache_aligned_allocator<long>> v(100);

	count_call(now, "allocate", 100 * sizeof(long));
	sum += (long)v.size();
}

void suspended()
{
	tbb::task_group group;

	group.run([] {
		tbb::task::suspend_point point;

		tbb::task::suspend([&point](tbb::task::suspend_point here) {
			point = here;
			tbb::task::resume(here);
		});
		sum++;
	});
	count_call(now, "suspend", 0);
	count_call(now, "task_group::run", 0);
	group.wait();
	count_call(now, "task_group::wait", 0);
}

void round_of_work()
{
	loops();
	tasks();
	exceptions();
	arenas();
	pipeline();
	graph();
	locks();
	memory();
	suspended();
}

} // namespace

int main(int argc, char **argv)
{
	tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
	long round = 0;

	job_options(&the_job, argc, argv, nullptr);
	/* So that the workers are there when the window opens. */
	for (long i = 0; i < the_job.warmup + 1; i++)
		round_of_work();
	sum = 0;
	job_begin(&the_job);
	now = &counted;
	for (; job_more(&the_job, round); round++)
		round_of_work();
	now = &thrown_away;
	job_finish(&the_job);
	std::printf("checksum %ld\n", sum.load());
	return job_truth(&the_job, round, 0, &counted, nullptr, 0);
}
