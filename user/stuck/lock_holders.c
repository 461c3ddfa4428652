/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_holders.c - who has the locks that ranks wait for: other processes than those that wait, so no object in one
 * memory tells.
 *
 * Three witnesses, the best one first. The lock itself, where its layout is known (waitgraph/queue.c). The probes,
 * where it was taken while they were in. And where all ranks of the job but one wait for it, that one has it, most
 * likely: one of the others could have taken it twice, or nobody may have it at all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "stuck/private.h"
#include "waitgraph/waitgraph.h"

/* --- the same lock in several processes ----------------------------------- */

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->device == b->device;
}

/* The first mapping of a file; NULL: it is not mapped, or it is no program or library. */
static const struct mapping *first_of(const struct process *process, const struct mapping *file)
{
	const struct mapping *first = NULL;
	bool has_code = false;

	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *m = &process->mappings[i];

		if (!same_file(m, file))
			continue;
		first = first ?: m;
		has_code |= m->executable;
	}
	return has_code ? first : NULL;
}

/* The program or library whose variable lies at an address: those without a value in the file lie right behind it.
 * NULL: none. */
static const struct mapping *file_at(const struct process *process, uint64_t address)
{
	const struct mapping *m = process_mapping_at(process, address);

	while (m && !m->inode && m > process->mappings && m[-1].end == m->start)
		m--;
	return m && m->inode ? first_of(process, m) : NULL;
}

/*
 * Where another process of the job has what one has at this address: variables at the same place of the same file,
 * memory of the runtime at the same address. 0: nowhere.
 */
static uint64_t symmetric(const struct process *from, uint64_t address, const struct process *to)
{
	const struct mapping *file = file_at(from, address), *there = file ? first_of(to, file) : NULL;

	if (!file)
		return address;
	return there ? there->start + (address - file->start) : 0;
}

/* A number that all processes have for the lock. */
static uint64_t key_of(const struct stuck *stuck, const struct process *process, const struct named_lock *lock)
{
	return lock->is_address ? symmetric(process, lock->raw, stuck->processes[0].process)
				: lock->raw ^ lock->high << 32 ^ lock->high >> 32;
}

/* --- who waits ------------------------------------------------------------ */

static const struct stuck_process *process_of(const struct stuck *stuck, size_t thread)
{
	return &stuck->processes[stuck->threads[thread].process];
}

/* Waits the thread for a lock of the ranks of which nobody has told yet who has it? */
static bool read_lock(struct stuck *stuck, size_t thread, struct named_lock *lock)
{
	const struct stuck_call *call = telling_call(&stuck->threads[thread]);
	const struct party *party = &stuck->parties[thread];
	const struct sent_words sent = { call ? call->words : NULL, call ? call->nwords : 0, call ? call->unread : 0,
					 false };

	return party->waits && party->role == ROLE_ACQUIRE && !party->holder && party->rank >= 0 && call &&
	       call->function->model == process_of(stuck, thread)->model &&
	       lock_named(call->values, call->nvalues, &sent, lock);
}

static bool is_waiting_rank(const struct stuck *stuck, const size_t *group, size_t count, long rank)
{
	for (size_t i = 0; i < count; i++)
		if (stuck->threads[group[i]].rank == rank)
			return true;
	return false;
}

/* --- the witnesses -------------------------------------------------------- */

/* By the lock itself: what it says at each rank. WAITS_NOBODY: not known. */
static long ask_lock(const struct stuck *stuck, const size_t *group, size_t count, bool *likely)
{
	const struct stuck_process *p = process_of(stuck, group[0]);
	const struct stuck_call *call = telling_call(&stuck->threads[group[0]]);
	const struct model *model = call->function->model;
	struct rank_word *words;
	struct named_lock lock;
	long holder;

	if (!model->locks_layout || !call->image->soname || !name_matches(model->locks_library, call->image->soname) ||
	    !read_lock((struct stuck *)stuck, group[0], &lock))
		return WAITS_NOBODY;
	words = calloc(stuck->ranks, sizeof(*words));
	if (!words)
		return WAITS_NOBODY;
	for (size_t i = 0; i < stuck->nprocesses; i++) {
		const struct stuck_process *other = &stuck->processes[i];
		long rank = other->rank - model->rank_plus;
		uint64_t at = symmetric(p->process, lock.raw, other->process);

		if (other->model != model || rank < 0 || rank >= stuck->ranks || other->ended || !at)
			continue;
		words[rank].known = !process_read(other->process, at, &words[rank].word, sizeof(words[rank].word));
		words[rank].waits = is_waiting_rank(stuck, group, count, other->rank);
	}
	holder = lock_rank_holder(model->locks_layout, words, stuck->ranks, likely);
	free(words);
	return holder == WAITS_NOBODY ? WAITS_NOBODY : holder + model->rank_plus;
}

/* By the probes. */
static long ask_probes(const struct stuck *stuck, const size_t *group)
{
	for (size_t i = 0; i < stuck->nholds; i++) {
		const struct stuck_hold *hold = &stuck->holds[i];
		const struct stuck_process *p = stuck->processes;
		const struct stuck_thread *t = stuck_find(stuck, hold->pid, hold->tid);

		while (p < stuck->processes + stuck->nprocesses && p->process->pid != hold->pid)
			p++;
		if (p == stuck->processes + stuck->nprocesses || p->model != process_of(stuck, group[0])->model ||
		    key_of(stuck, p->process, &hold->lock) != stuck->parties[group[0]].lock_key)
			continue;
		if (p->rank >= 0 || (t && t->rank >= 0))
			return p->rank >= 0 ? p->rank : t->rank;
	}
	return WAITS_NOBODY;
}

/* By who is left. */
static long only_other(const struct stuck *stuck, const size_t *group, size_t count)
{
	long least = process_of(stuck, group[0])->model->rank_plus, found = WAITS_NOBODY;

	for (long rank = least; rank < least + stuck->ranks; rank++) {
		if (is_waiting_rank(stuck, group, count, rank))
			continue;
		if (found != WAITS_NOBODY || (!rank_is_there(stuck, rank) && !stuck->all_here))
			return WAITS_NOBODY;
		found = rank;
	}
	return found;
}

/* --- together ------------------------------------------------------------- */

static void tell(struct stuck *stuck, const size_t *group, size_t count)
{
	bool likely = false;
	long holder = ask_lock(stuck, group, count, &likely);

	if (holder == WAITS_NOBODY || likely) {
		long seen = ask_probes(stuck, group);

		likely = seen == WAITS_NOBODY;
		holder = likely ? holder : seen;
	}
	if (holder == WAITS_NOBODY)
		holder = only_other(stuck, group, count);
	for (size_t i = 0; i < count && holder != WAITS_NOBODY; i++) {
		struct party *party = &stuck->parties[group[i]];

		party->rank_holds = true;
		party->holder_rank = holder;
		party->likely |= likely;
	}
}

/* "0x400010 of thread 0": a lock that has no address of a process's memory. */
static int name_lock(struct stuck *stuck, size_t thread, const struct named_lock *lock)
{
	struct stuck_thread *t = &stuck->threads[thread];

	if (!lock->is_decoded)
		return 0;
	if (asprintf(&t->lock_name, "0x%llx of %s %llu", (unsigned long long)lock->address, stuck->unit,
		     (unsigned long long)lock->thread) < 0) {
		t->lock_name = NULL;
		return -ENOMEM;
	}
	stuck->parties[thread].lock_name = t->lock_name;
	return 0;
}

int find_rank_holders(struct stuck *stuck)
{
	size_t *group = calloc(stuck->nthreads + 1, sizeof(*group)), count;
	bool *waits = calloc(stuck->nthreads + 1, sizeof(*waits));
	struct named_lock lock;
	int err = group && waits ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < stuck->nthreads; i++) {
		waits[i] = stuck->ranks > 0 && stuck->ranks <= RANKS_MOST && read_lock(stuck, i, &lock);
		if (!waits[i])
			continue;
		stuck->parties[i].lock_key = key_of(stuck, process_of(stuck, i)->process, &lock);
		err = err ?: name_lock(stuck, i, &lock);
	}
	for (size_t i = 0; !err && i < stuck->nthreads; i++) {
		if (!waits[i] || !stuck->parties[i].lock_key)
			continue;
		count = 0;
		for (size_t k = i; k < stuck->nthreads; k++) {
			if (!waits[k] || stuck->parties[k].lock_key != stuck->parties[i].lock_key)
				continue;
			group[count++] = k;
			waits[k] = false;
		}
		tell(stuck, group, count);
	}
	free(waits);
	free(group);
	return err;
}
