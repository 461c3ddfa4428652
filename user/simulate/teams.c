/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * teams.c - regions of several threads (MARK_TEAM): who begins one lets the others begin their shares (MARK_SHARE), and
 * goes on when the last of these has ended.
 *
 * A share is of the region of its process whose time its own lies in, begun by another thread. Where that is said of
 * several, which one is not known, and the thread goes on by itself. A share is *settled* when each thread that begins
 * regions has been fed up to the share's start; a region is *closed*, so that no more shares of it come, when all that
 * ended before its end has been fed, and one chunk more.
 *
 * Only where somebody wants to know what belongs together (sim.teller): plug-ins are asked as ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/parts.h"
#include "simulate/teams.h"
#include "util/array.h"

#define LOOKED_AT 256 /* regions whose time a share may lie in; of more, which one is not known */

struct team {
	struct team *next, *previous; /* of all */
	uint32_t thread, probe, site; /* of the call that begins it */
	uint64_t start, end;          /* recorded */
	uint64_t reach;               /* the latest end of it and all before it in its list */
	unsigned users;
	bool begun, closed, awaited;
	unsigned nshares, ndone;
	struct share *shares; /* that may wait for its begin */
	struct times new_start;
	/* Of the shares that have ended the last, in the recording. */
	uint64_t last_end;
	uint32_t last;
	struct times new_end;
};

struct share {
	struct share *next, *previous; /* of all */
	struct share *next_of_team;
	struct team *team; /* NULL: not known, or it is that of the thread which begins the region */
	uint32_t thread;
	uint64_t start, end; /* recorded */
	unsigned users;
	bool settled;
};

/* Of a process. */
struct team_list {
	struct team **teams; /* that are not closed, by start */
	size_t nteams, teams_room;
	struct share **unsettled;
	size_t nunsettled, unsettled_room;
	uint32_t *beginners; /* threads */
	size_t nbeginners, beginners_room;
};

struct teams {
	struct team_list *lists; /* by process */
	struct team *all;
	struct share *shares;
	uint64_t fed; /* recorded: what ended before was fed one chunk ago */
};

/* --- what lives how long ------------------------------------------------------- */

static void team_leave(struct teams *teams, struct team *team)
{
	if (--team->users)
		return;
	*(team->previous ? &team->previous->next : &teams->all) = team->next;
	if (team->next)
		team->next->previous = team->previous;
	free(team);
}

static void share_leave(struct teams *teams, struct share *share)
{
	if (--share->users)
		return;
	*(share->previous ? &share->previous->next : &teams->shares) = share->next;
	if (share->next)
		share->next->previous = share->previous;
	if (share->team)
		team_leave(teams, share->team);
	free(share);
}

static struct team *new_team(struct teams *teams, const struct span *span)
{
	struct team *team = malloc(sizeof(*team));

	if (!team)
		return NULL;
	*team = (struct team){ .next = teams->all,
			       .thread = span->thread,
			       .probe = span->probe,
			       .site = span->site,
			       .start = span->start,
			       .end = span->end,
			       .users = 2 };
	if (teams->all)
		teams->all->previous = team;
	teams->all = team;
	return team;
}

static struct share *new_share(struct teams *teams, const struct span *span)
{
	struct share *share = malloc(sizeof(*share));

	if (!share)
		return NULL;
	*share = (struct share){
		.next = teams->shares, .thread = span->thread, .start = span->start, .end = span->end, .users = 2
	};
	if (teams->shares)
		teams->shares->previous = share;
	teams->shares = share;
	return share;
}

/* --- feeding --------------------------------------------------------------------- */

static void set_reach(struct team_list *list, size_t from)
{
	for (size_t i = from; i < list->nteams; i++) {
		struct team *team = list->teams[i];

		team->reach = i && list->teams[i - 1]->reach > team->end ? list->teams[i - 1]->reach : team->end;
	}
}

bool teams_want(const struct sim *sim, const struct event *event)
{
	const struct facts *facts = &sim->facts[event->span->probe];
	uint32_t process = sim->d->threads[event->span->thread].process;

	return sim->teller && (facts->team || facts->share) && !event->lane && !sim->processes[process].misses_teams;
}

int teams_feed_team(struct sim *sim, const struct span *span, struct team **team)
{
	struct team_list *list = &sim->teams->lists[sim->d->threads[span->thread].process];
	size_t at;

	if (array_one_more(&list->teams, &list->teams_room, list->nteams, sizeof(*list->teams)))
		return -ENOMEM;
	*team = new_team(sim->teams, span);
	if (!*team)
		return -ENOMEM;
	at = list->nteams++;
	for (; at && list->teams[at - 1]->start > span->start; at--)
		list->teams[at] = list->teams[at - 1];
	list->teams[at] = *team;
	set_reach(list, at);
	return 0;
}

int teams_feed_share(struct sim *sim, const struct span *span, struct share **share)
{
	struct team_list *list = &sim->teams->lists[sim->d->threads[span->thread].process];

	if (array_one_more(&list->unsettled, &list->unsettled_room, list->nunsettled, sizeof(*list->unsettled)))
		return -ENOMEM;
	*share = new_share(sim->teams, span);
	if (!*share)
		return -ENOMEM;
	list->unsettled[list->nunsettled++] = *share;
	return 0;
}

/* --- which share is of which region ------------------------------------------------- */

/* The first that began after this time. */
static size_t first_after(const struct team_list *list, uint64_t time)
{
	size_t low = 0, high = list->nteams;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->teams[middle]->start <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* NULL: none, or it is not known which; or the thread has begun it by itself. */
static struct team *team_of(const struct team_list *list, const struct share *share)
{
	size_t after = first_after(list, share->start);
	struct team *found = NULL;

	for (size_t i = after; i && list->teams[i - 1]->reach >= share->end; i--) {
		struct team *team = list->teams[i - 1];

		if (after - i == LOOKED_AT)
			return NULL;
		if (team->end < share->end)
			continue;
		if (found || team->thread == share->thread)
			return NULL;
		found = team;
	}
	return found;
}

/* Recorded: all regions that began before have been fed. */
static uint64_t all_begun(const struct sim *sim, const struct team_list *list)
{
	uint64_t earliest = UINT64_MAX;

	for (size_t i = 0; i < list->nbeginners; i++) {
		const struct sim_thread *thread = &sim->threads[list->beginners[i]];

		if (thread->fed < thread->last_team && thread->fed < earliest)
			earliest = thread->fed;
	}
	return earliest;
}

static void settle_share(struct sim *sim, const struct team_list *list, struct share *share)
{
	struct team *team = team_of(list, share);

	share->settled = true;
	share->team = team;
	schedule_wake(sim, share->thread);
	if (!team) {
		share_leave(sim->teams, share);
		return;
	}
	team->users++;
	team->nshares++;
	if (team->begun) {
		share_leave(sim->teams, share);
		return;
	}
	/* The list's use of it passes to the region. */
	share->next_of_team = team->shares;
	team->shares = share;
}

/* Those that have begun by themselves meanwhile need no region. */
static uint64_t settle_shares(struct sim *sim, struct team_list *list)
{
	uint64_t earliest = UINT64_MAX, begun = all_begun(sim, list);
	size_t kept = 0;

	for (size_t i = 0; i < list->nunsettled; i++) {
		struct share *share = list->unsettled[i];

		if (share->settled) {
			share_leave(sim->teams, share);
		} else if (sim->all_fed || (share->start < begun && share->end < sim->teams->fed)) {
			settle_share(sim, list, share);
		} else {
			earliest = share->start < earliest ? share->start : earliest;
			list->unsettled[kept++] = share;
		}
	}
	list->nunsettled = kept;
	return earliest;
}

/* Its thread needs to wait for nobody any more but for those who have a share. */
static void close_team(struct sim *sim, struct team *team)
{
	team->closed = true;
	if (team->awaited)
		schedule_wake(sim, team->thread);
	team_leave(sim->teams, team);
}

static void settle_list(struct sim *sim, struct team_list *list)
{
	uint64_t earliest = settle_shares(sim, list);
	size_t kept = 0;

	for (size_t i = 0; i < list->nteams; i++) {
		struct team *team = list->teams[i];

		if (sim->all_fed || (team->end < sim->teams->fed && team->end < earliest))
			close_team(sim, team);
		else
			list->teams[kept++] = team;
	}
	list->nteams = kept;
	set_reach(list, 0);
}

void teams_settle(struct sim *sim)
{
	if (!sim->teams)
		return;
	for (size_t i = 0; i < sim->d->nprocesses; i++)
		if (sim->teams->lists[i].nteams || sim->teams->lists[i].nunsettled)
			settle_list(sim, &sim->teams->lists[i]);
	sim->teams->fed = sim->settled;
}

/* --- going on ---------------------------------------------------------------------- */

static int put_frame(struct sim_thread *thread, struct team *team, struct share *share)
{
	if (array_one_more(&thread->frames, &thread->frames_room, thread->nframes, sizeof(*thread->frames)))
		return -ENOMEM;
	thread->frames[thread->nframes++] = (struct team_frame){ thread->nnest, team, share };
	return 0;
}

/* The thread goes on at `time`, since another one was so far at `until`, whose new time that is. */
static int go_on(struct sim *sim, uint32_t index, const struct team *team, uint32_t of, uint64_t until,
		 const struct times *others, uint64_t time)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct related_call call = { index, team->probe, team->site, until, time, 0 };
	int error = relations_go_on(sim, &call, of);

	for (unsigned s = 0; s < SCENARIOS; s++) {
		if (!thread->begun || others->at[s] > thread->now.at[s])
			thread->now.at[s] = others->at[s];
		thread->now.at[s] += time - until;
	}
	relations_relieve_team(sim, &call);
	thread->begun = true;
	thread->old = time;
	thread->lossy_gap = false;
	return error;
}

int teams_begin(struct sim *sim, uint32_t index, struct team *team)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct called call = { team->probe, team->site };
	int error = relations_pass(sim, index, team->start, call, call) ?: put_frame(thread, team, NULL);

	team->begun = true;
	team->new_start = thread->now;
	while (team->shares) {
		struct share *share = team->shares;

		team->shares = share->next_of_team;
		schedule_wake(sim, share->thread);
		share_leave(sim->teams, share);
	}
	return error;
}

int teams_come(struct sim *sim, uint32_t index, struct share *share)
{
	struct sim_thread *thread = &sim->threads[index];
	struct team *team = share->team;

	thread->for_team = !share->settled || (team && !team->begun);
	if (thread->for_team)
		return 1;
	if (!team || (thread->begun && thread->old > team->start))
		return 0;
	return go_on(sim, index, team, team->thread, team->start, &team->new_start, share->start);
}

/* The region that the thread's share, which begins or ends now, is of; nothing: not known. */
static struct called region_of(const struct sim_thread *thread, const struct share *share)
{
	const struct team_frame *around = thread->nframes ? &thread->frames[thread->nframes - 1] : NULL;
	const struct team *team = share->team ?: around ? around->team : NULL;

	return team ? (struct called){ team->probe, team->site } : (struct called){ NO_INDEX, NO_INDEX };
}

int teams_begin_share(struct sim *sim, uint32_t index, struct share *share)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct called nothing = { NO_INDEX, NO_INDEX };
	int error = relations_pass(sim, index, share->start, nothing, region_of(thread, share));

	return error ? error : put_frame(thread, NULL, share);
}

/* The call that ends now, if it is a region or a share; NULL: it is neither. */
static const struct team_frame *frame_at(const struct sim_thread *thread)
{
	const struct team_frame *frame = thread->nframes ? &thread->frames[thread->nframes - 1] : NULL;

	return frame && frame->level == thread->nnest ? frame : NULL;
}

int teams_end(struct sim *sim, uint32_t index, uint64_t time)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct team_frame *frame = frame_at(thread);
	struct team *team = frame ? frame->team : NULL;

	if (!team || team->end != time)
		return 0;
	thread->for_team = !team->closed || team->ndone < team->nshares;
	team->awaited = true;
	if (thread->for_team)
		return 1;
	if (!team->last_end || team->last_end <= thread->old)
		return 0;
	return go_on(sim, index, team, team->last, team->last_end, &team->new_end, time);
}

static void share_is_done(struct sim *sim, struct share *share, const struct times *now)
{
	struct team *team = share->team;

	if (!team)
		return;
	team->ndone++;
	if (share->end > team->last_end || (share->end == team->last_end && share->thread < team->last)) {
		team->last_end = share->end;
		team->last = share->thread;
	}
	for (unsigned s = 0; s < SCENARIOS; s++)
		if (now->at[s] > team->new_end.at[s])
			team->new_end.at[s] = now->at[s];
	if (team->awaited)
		schedule_wake(sim, team->thread);
}

int teams_left(struct sim *sim, uint32_t index, uint64_t time)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct called nothing = { NO_INDEX, NO_INDEX };
	const struct team_frame *frame = frame_at(thread);
	struct called call;
	int error;

	if (!frame)
		return 0;
	thread->nframes--;
	if (frame->share) {
		error = relations_pass(sim, index, time, nothing, region_of(thread, frame->share));
		share_is_done(sim, frame->share, &thread->now);
		share_leave(sim->teams, frame->share);
	} else {
		call = (struct called){ frame->team->probe, frame->team->site };
		error = relations_pass(sim, index, time, nothing, call);
		team_leave(sim->teams, frame->team);
	}
	return error;
}

void teams_give_up(struct sim *sim, uint32_t index, struct share *share)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct team_frame *frame = frame_at(thread);

	if (!share) {
		frame->team->closed = true;
		frame->team->nshares = frame->team->ndone;
		return;
	}
	share->settled = true;
	if (!share->team)
		return;
	share->team->nshares--;
	team_leave(sim->teams, share->team);
	share->team = NULL;
}

/* --- the whole ------------------------------------------------------------------------ */

void teams_note(struct sim *sim, const struct span *span)
{
	if (sim->facts[span->probe].team && span->start > sim->threads[span->thread].last_team)
		sim->threads[span->thread].last_team = span->start;
}

int teams_open(struct sim *sim)
{
	if (!sim->teller)
		return 0;
	sim->teams = calloc(1, sizeof(*sim->teams));
	if (!sim->teams)
		return -ENOMEM;
	sim->teams->lists = calloc(sim->d->nprocesses + 1, sizeof(*sim->teams->lists));
	if (!sim->teams->lists)
		return -ENOMEM;
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		struct team_list *list = &sim->teams->lists[sim->d->threads[i].process];

		if (!sim->threads[i].last_team)
			continue;
		if (array_one_more(&list->beginners, &list->beginners_room, list->nbeginners, sizeof(*list->beginners)))
			return -ENOMEM;
		list->beginners[list->nbeginners++] = i;
	}
	return 0;
}

static void list_close(struct team_list *list)
{
	free(list->teams);
	free(list->unsettled);
	free(list->beginners);
}

void teams_close(struct sim *sim)
{
	struct teams *teams = sim->teams;

	for (size_t i = 0; sim->threads && i < sim->d->nthreads; i++)
		free(sim->threads[i].frames);
	if (!teams)
		return;
	for (struct team *team = teams->all, *next; team; team = next) {
		next = team->next;
		free(team);
	}
	for (struct share *share = teams->shares, *next; share; share = next) {
		next = share->next;
		free(share);
	}
	for (size_t i = 0; teams->lists && i < sim->d->nprocesses; i++)
		list_close(&teams->lists[i]);
	free(teams->lists);
	free(teams);
	sim->teams = NULL;
}
