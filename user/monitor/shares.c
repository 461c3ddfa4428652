/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shares.c - what users of the machine hold of the monitor's room, and what they were refused.
 *
 * The kernel side sees to its own maps (bpf/shares.h). Files, their functions, and processes that are kept apart are
 * taken in here, by the same rule: a user never has more than is left free. A file belongs to the user whose process
 * was the first to map it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/private.h"
#include "util/clock.h"
#include "util/log.h"

#define VISIT_NS 1000000000ULL   /* between two looks at the kernel's accounts */
#define PAUSE_NS 600000000000ULL /* the same is not said again to the same user before */
#define FILES_MOST 4096
#define FUNCTIONS_MOST (GB_PROBES - SITE_CLASSES)

static const char *const names[REFUSALS] = {
	[GB_ROOM_SUMS] = "sums",           [GB_ROOM_THREADS] = "threads",     [GB_ROOM_STACKS] = "stacks",
	[GB_ROOM_CONTROLS] = "controls",   [GB_REFUSED_MEMORY] = "memory",    [REFUSED_FILES] = "files",
	[REFUSED_FUNCTIONS] = "functions", [REFUSED_PROCESSES] = "processes",
};

static const char *const effects[REFUSALS] = {
	[GB_ROOM_SUMS] = "calls of further functions by further threads are in no figure",
	[GB_ROOM_THREADS] = "calls of further threads are in no figure",
	[GB_ROOM_STACKS] = "calls in progress on further stacks are in no figure",
	[GB_ROOM_CONTROLS] = "further processes that switch measurement off are measured nevertheless",
	[GB_REFUSED_MEMORY] = "calls are in no figure, for want of memory in the kernel",
	[REFUSED_FILES] = "further files are not looked into, and their functions not counted",
	[REFUSED_FUNCTIONS] = "functions of further files are not counted",
	[REFUSED_PROCESSES] = "further processes count in the totals only",
};

const char *refusal_name(enum monitor_refusal why)
{
	return names[why];
}

static struct user_share *find(struct monitor *m, uint32_t user)
{
	struct user_share *u;

	HASH_FIND_INT(m->users, &user, u);
	return u;
}

/* NULL: no memory. */
static struct user_share *of_user(struct monitor *m, uint32_t user)
{
	struct user_share *u = find(m, user);

	if (!u && HASH_COUNT(m->users) >= GB_USERS) {
		user = GB_USER_OTHERS;
		u = find(m, user);
	}
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->user = user;
	HASH_ADD_INT(m->users, user, u);
	if (!u->hh.tbl) {
		free(u);
		return NULL;
	}
	return u;
}

static void say(struct user_share *u, enum monitor_refusal why)
{
	uint64_t now = clock_monotonic();

	if (u->said[why] && now - u->said[why] < PAUSE_NS)
		return;
	u->said[why] = now;
	if (u->user == GB_USER_OTHERS)
		log_warn("further users have used up their share of %s: %s: see docs/security-shares.md", names[why],
			 effects[why]);
	else
		log_warn("user %u has used up the share of %s: %s: see docs/security-shares.md", u->user, names[why],
			 effects[why]);
}

static void refuse(struct user_share *u, enum monitor_refusal why)
{
	u->refused[why]++;
	say(u, why);
}

/* --- the kernel's accounts ---------------------------------------------- */

static void take_account(void *context, uint32_t user, const struct gb_user *account)
{
	struct monitor *m = context;
	struct user_share *u = NULL;

	for (int i = 0; i < GB_REFUSALS; i++) {
		if (!account->refused[i])
			continue;
		u = u ?: of_user(m, user);
		if (!u)
			return;
		if (u->user == user)
			u->refused[i] = account->refused[i];
		say(u, i);
	}
}

void shares_visit(struct monitor *m, bool now)
{
	uint64_t time = clock_monotonic();

	if (!now && time - m->visited < VISIT_NS)
		return;
	m->visited = time;
	kernel_visit_users(m->kernel, take_account, m);
}

uint64_t shares_lost(struct monitor *m, uint32_t user)
{
	const struct user_share *u = find(m, user);

	return u ? u->refused[GB_ROOM_SUMS] + u->refused[GB_ROOM_THREADS] + u->refused[GB_ROOM_STACKS] +
			       u->refused[GB_REFUSED_MEMORY]
		 : 0;
}

/* --- files and functions ------------------------------------------------ */

/* May the user have so many more? Then he has no more than is left. */
static bool fits(size_t own, size_t all, size_t more, size_t size)
{
	return own + more + all + more <= size;
}

void shares_begin_taking(struct monitor *m, uint32_t user)
{
	m->taking = user;
	m->images_before = m->plan->nimages;
}

/* NULL: what is taken in is nobody's. */
static struct user_share *taker(struct monitor *m)
{
	return m->taking == GB_USER_ALL ? NULL : of_user(m, m->taking);
}

void shares_end_taking(struct monitor *m)
{
	struct user_share *u = taker(m);

	if (u)
		u->files += m->plan->nimages - m->images_before;
	m->taking = GB_USER_ALL;
}

bool shares_admit_file(void *context)
{
	struct monitor *m = context;
	struct user_share *u = taker(m);

	if (!u || fits(u->files + m->plan->nimages - m->images_before, m->plan->nimages, 1, FILES_MOST))
		return true;
	refuse(u, REFUSED_FILES);
	return false;
}

bool shares_admit_functions(void *context, const struct image *image, size_t count)
{
	struct monitor *m = context;
	struct user_share *u = taker(m);

	if (count > FUNCTIONS_MOST || (u && !fits(u->functions, m->functions_taken, count, FUNCTIONS_MOST))) {
		log_info("%s: its functions are not counted: there is no room for them", log_safe(image->path));
		if (u)
			refuse(u, REFUSED_FUNCTIONS);
		return false;
	}
	if (u)
		u->functions += count;
	m->functions_taken += count;
	return true;
}

void shares_renew(struct monitor *m)
{
	struct user_share *u, *next;

	m->functions_taken = 0;
	HASH_ITER (hh, m->users, u, next)
		u->files = u->functions = 0;
}

/* --- processes ---------------------------------------------------------- */

bool shares_keep_apart(struct monitor *m, struct watched_process *w)
{
	struct user_share *u = of_user(m, w->process->uid);

	if (!u)
		return false;
	if (m->napart >= m->options.most_processes) { /* whoever has them */
		u->refused[REFUSED_PROCESSES]++;
		return false;
	}
	if (m->options.most_processes >= SHARED_LEAST && !fits(u->apart, m->napart, 1, m->options.most_processes)) {
		refuse(u, REFUSED_PROCESSES);
		return false;
	}
	u->apart++;
	w->share = u;
	m->napart++;
	return true;
}

void shares_let_go(struct monitor *m, struct watched_process *w)
{
	if (!w->share)
		return;
	w->share->apart--;
	w->share = NULL;
	m->napart--;
}

/* --- what is known ------------------------------------------------------ */

/* A user of whom something has been refused has a place from then on, and the last place is all others'. */
static struct monitor_user *place_of(struct monitor *m, struct user_share *u)
{
	struct monitor_user *others = &m->refused[MONITOR_USERS];

	if (!u->place && m->snapshot.nusers < MONITOR_USERS && u->user != GB_USER_OTHERS) {
		u->place = ++m->snapshot.nusers;
		m->refused[u->place - 1].uid = u->user;
	}
	return u->place ? &m->refused[u->place - 1] : others;
}

void shares_show(struct monitor *m)
{
	struct user_share *u, *next;

	shares_visit(m, true);
	memset(m->refused[MONITOR_USERS].refused, 0, sizeof(m->refused[0].refused));
	m->refused[MONITOR_USERS].others = true;
	HASH_ITER (hh, m->users, u, next) {
		struct monitor_user *shown = NULL;

		for (int why = 0; why < REFUSALS; why++) {
			if (!u->refused[why])
				continue;
			shown = shown ?: place_of(m, u);
			shown->refused[why] = shown->others ? shown->refused[why] + u->refused[why] : u->refused[why];
		}
	}
	m->snapshot.users = m->refused;
	m->snapshot.others = &m->refused[MONITOR_USERS];
}

void shares_free(struct monitor *m)
{
	struct user_share *u, *next;

	HASH_ITER (hh, m->users, u, next) {
		HASH_DEL(m->users, u);
		free(u);
	}
}
