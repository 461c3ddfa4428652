/* SPDX-License-Identifier: BSD-2-Clause */
/* reliefs.c - see reliefs.h. */
#include "simulate/reliefs.h"

static bool same_call(const struct relief *relief, struct called a, struct called b)
{
	return a.probe == b.probe && (a.site == b.site || (a.site != NO_INDEX && b.site != NO_INDEX &&
							   relief->same_site[a.site] == relief->same_site[b.site]));
}

static bool is_after(const struct relief *relief, const struct related_work *work)
{
	bool is = same_call(relief, relief->after, work->after);

	for (size_t i = 0; i < relief->nalso && !is; i++)
		is = same_call(relief, relief->also_after[i], work->after);
	return is;
}

static bool has_site(const struct relief *relief, uint32_t site)
{
	return site < relief->nsites && relief->sites[site];
}

static bool concerns(const struct relief *relief, uint32_t thread)
{
	return relief->thread == NO_INDEX || relief->thread == thread;
}

/* Two of one scenario that are about the same take what the one with more takes: nothing is gone twice. */
static void save(const struct reliefs *reliefs, struct saved *saved, size_t relief, uint64_t ns)
{
	uint64_t *most = &saved->ns[reliefs->together ? 0 : relief];

	if (ns > *most)
		*most = ns;
}

/* Of what a thread took longer for than it should. */
static uint64_t of_all(const struct relief *relief, uint32_t thread, uint64_t lasted)
{
	uint64_t left = lasted < relief->most ? lasted : relief->most;
	double less = !relief->less_of ? relief->less : thread < relief->nthreads ? relief->less_of[thread] : 0;

	return lasted - left + (uint64_t)(less * left);
}

/* What lies in one of the times, of what a thread did from start to end. */
static uint64_t of_times(const struct relief *relief, uint64_t start, uint64_t end)
{
	size_t low = 0, high = relief->ntimes;
	uint64_t ns = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (relief->times[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < relief->ntimes && relief->times[low].start < end; low++) {
		uint64_t from = relief->times[low].start > start ? relief->times[low].start : start,
			 to = relief->times[low].end < end ? relief->times[low].end : end;

		ns += (uint64_t)(relief->times[low].less * (to - from));
	}
	return ns;
}

struct saved reliefs_of_work(const struct reliefs *reliefs, const struct related_work *work)
{
	struct saved saved = { 0 };

	for (size_t i = 0; i < reliefs->count && work->known && !work->waits; i++) {
		const struct relief *relief = &reliefs->all[i];

		if (!concerns(relief, work->thread))
			continue;
		if (relief->what == RELIEVE_TIME)
			save(reliefs, &saved, i, of_times(relief, work->start, work->end));
		else if (relief->what == RELIEVE_WORK && relief->inside == work->inside && is_after(relief, work) &&
			 same_call(relief, relief->before, work->before))
			save(reliefs, &saved, i, of_all(relief, work->thread, work->end - work->start));
	}
	return saved;
}

struct saved reliefs_of_call(const struct reliefs *reliefs, const struct related_call *call, uint64_t from,
			     bool in_times)
{
	struct saved saved = { 0 };

	for (size_t i = 0; i < reliefs->count; i++) {
		const struct relief *relief = &reliefs->all[i];

		if (!concerns(relief, call->thread))
			continue;
		if (relief->what == RELIEVE_TIME && in_times)
			save(reliefs, &saved, i, of_times(relief, from, call->end));
		else if (relief->what == RELIEVE_CALL &&
			 (relief->sites ? has_site(relief, call->site)
					: same_call(relief, relief->after, (struct called){ call->probe, call->site })))
			save(reliefs, &saved, i, of_all(relief, call->thread, call->end - from));
	}
	return saved;
}

struct saved reliefs_of_memory(const struct reliefs *reliefs, uint32_t thread, uint64_t ns)
{
	struct saved saved = { 0 };

	for (size_t i = 0; i < reliefs->count; i++)
		if (reliefs->all[i].what == RELIEVE_MEMORY && concerns(&reliefs->all[i], thread))
			save(reliefs, &saved, i, of_all(&reliefs->all[i], thread, ns));
	return saved;
}

struct saved reliefs_of_team(const struct reliefs *reliefs, const struct related_call *call)
{
	struct saved saved = { 0 };

	for (size_t i = 0; i < reliefs->count; i++) {
		const struct relief *relief = &reliefs->all[i];

		if (!concerns(relief, call->thread))
			continue;
		if (relief->what == RELIEVE_TIME)
			save(reliefs, &saved, i, of_times(relief, call->start, call->end));
		else if (relief->what == RELIEVE_CALL && !relief->sites &&
			 same_call(relief, relief->after, (struct called){ call->probe, call->site }))
			save(reliefs, &saved, i, of_all(relief, call->thread, call->end - call->start));
	}
	return saved;
}

bool reliefs_of_lock(const struct reliefs *reliefs, uint32_t site, enum scenario scenario)
{
	bool free = false;

	for (size_t i = 0; i < reliefs->count && !free; i++)
		free = (reliefs->together ? scenario == 0 : (size_t)scenario == i) &&
		       reliefs->all[i].what == RELIEVE_LOCK && has_site(&reliefs->all[i], site);
	return free;
}
