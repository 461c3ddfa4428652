/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions through functions of the program: thrown shallow and deep, caught by the caller, rethrown, translated, out of
 * a cold part, on two threads at the same time. Functions that sometimes return and sometimes throw.
 *
 * An unwinder finds its way by return addresses: where one of them was exchanged, it ends in std::terminate.
 */
#include "tell.h"

#include <cstdlib>
#include <pthread.h>
#include <stdexcept>

#define DEEP 24
#define THREADS 2

static struct tale shallow_tale = { "shallow", 0, 0 }, deep_tale = { "deep", 0, 0 }, again_tale = { "again", 0, 0 },
		   translate_tale = { "translate", 0, 0 }, partly_tale = { "partly", 0, 0 }, split_tale = { "split", 0, 0 }, swallow_tale = { "swallow", 0, 0 };
static long caught, destroyed, sum;

struct witness {
	long weight;
	explicit witness(long n) : weight(n) {}
	~witness() { __atomic_add_fetch(&destroyed, weight, __ATOMIC_RELAXED); }
};

struct other_error {
	long value;
};

extern "C" {
long shallow(long n);
long deep(long depth, long n);
long again(long n);
long translate(long n);
long partly(long n);
long split(long n);
long swallow(long n);
void rarely(long n);
long rarely_and_last(long n);
}

/* Its caller catches. */
OBSERVED long shallow(long n)
{
	called(&shallow_tale);
	if (n % 3 != 0)
		throw std::runtime_error("shallow");
	return returning(&shallow_tale, n * 2);
}

/* Every frame on the way has something to destroy. */
OBSERVED long deep(long depth, long n)
{
	called(&deep_tale);
	witness here(depth);
	if (depth == 0) {
		if (n % 2 != 0)
			throw other_error { n };
		return returning(&deep_tale, n);
	}
	long below = deep(depth - 1, n) + 1;
	return returning(&deep_tale, below);
}

/* Catches, looks, throws the same one again. */
OBSERVED long again(long n)
{
	called(&again_tale);
	witness here(1);
	try {
		long value = deep(3, n);
		return returning(&again_tale, value * 2);
	} catch (const other_error &e) {
		__atomic_add_fetch(&sum, e.value, __ATOMIC_RELAXED);
		throw;
	}
}

/* Makes another exception of it. */
OBSERVED long translate(long n)
{
	called(&translate_tale);
	try {
		long value = shallow(n);
		return returning(&translate_tale, value * 2);
	} catch (const std::runtime_error &) {
		throw other_error { n };
	}
}

__attribute__((cold, noinline)) void rarely(long n)
{
	__atomic_add_fetch(&sum, n, __ATOMIC_RELAXED);
}

__attribute__((cold)) OBSERVED long rarely_and_last(long n)
{
	__atomic_add_fetch(&sum, n, __ATOMIC_RELAXED);
	return n * 2;
}

/* Returns from its hot part, throws from its cold one, or goes there and comes back. */
OBSERVED long partly(long n)
{
	called(&partly_tale);
	if (__builtin_expect(n % 5 == 1, 0)) {
		witness here(n);
		rarely(n);
		throw other_error { n };
	}
	if (__builtin_expect(n % 5 == 2, 0)) {
		rarely(n);
		return returning(&partly_tale, n * 2);
	}
	if (__builtin_expect(n % 5 == 3, 0)) {
		rarely(-n);
		rarely(n + 1);
		return returning(&partly_tale, n * 2);
	}
	return returning(&partly_tale, n * 2);
}

/* Only its cold part has a frame, and a ret of its own; and it may end there by a jump to another function. */
OBSERVED long split(long n)
{
	called(&split_tale);
	if (__builtin_expect(n % 4 == 1, 0)) {
		long other = rarely_and_last(n);
		return returning(&split_tale, other - rarely_and_last(other));
	}
	if (__builtin_expect(n % 4 == 2, 0))
		return rarely_and_last(returning(&split_tale, n));
	return returning(&split_tale, n * 2);
}

/* Catches what comes from deep below and returns as if nothing had been. */
OBSERVED long swallow(long n)
{
	long value;

	called(&swallow_tale);
	try {
		value = deep(DEEP, n);
	} catch (const other_error &e) {
		value = e.value + DEEP;
	}
	return returning(&swallow_tale, value);
}

static long try_it(long (*function)(long), long n)
{
	try {
		return function(n);
	} catch (const other_error &e) {
		__atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
		return e.value;
	} catch (const std::runtime_error &) {
		__atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
		return 1000;
	}
}

static void *rounds(void *argument)
{
	long total = 0, from = *static_cast<long *>(argument) * 30;

	for (long n = from; n < from + 30; n++)
		for (auto function : { shallow, again, translate, partly, split, swallow })
			total += try_it(function, n);
	/* Returns from where the exceptions were caught: whatever they left is known to be left. */
	total += shallow(0);
	__atomic_add_fetch(&sum, total, __ATOMIC_RELAXED);
	return nullptr;
}

static void one_round(long round)
{
	pthread_t threads[THREADS];

	for (pthread_t &thread : threads)
		if (pthread_create(&thread, nullptr, rounds, &round))
			_Exit(3);
	for (pthread_t &thread : threads)
		pthread_join(thread, nullptr);
}

int main(int argc, char **argv)
{
	struct job job = {};

	job.name = "exceptions";
	job.rounds = 3;
	tell_rounds(&job, argc, argv, nullptr, one_round);
	for (auto tale : { &shallow_tale, &deep_tale, &again_tale, &translate_tale, &partly_tale, &split_tale, &swallow_tale })
		tell_function(tale);
	tell("caught", caught);
	tell("destroyed", destroyed);
	tell("sum", sum);
	return 0;
}
