/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chance.h - is it always the same one who comes last, or does that go by turns? Private to user/analysis.
 *
 * Somebody is last in every meeting. Were it chance, each of m members would be it in one of m meetings; so a member
 * that is last in k of n is called persistent where k or more of n would come by chance less often than once in 1,000
 * for any of the members (binomial, one-sided, 0.001 / m), and where it is last in at least twice its share, of two
 * members in three of four. Of fewer than LEAST_MEETINGS nothing is said.
 */
#ifndef GASPBPF_CHANCE_H
#define GASPBPF_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAST_MEETINGS 5

bool is_persistently_last(uint64_t last, uint64_t meetings, size_t members);

#endif
