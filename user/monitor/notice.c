/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notice.c - processes come and go.
 *
 * News of a mapped file that may hold a runtime is a reason to look at the process: once, soon, and not from where the
 * news is read. What is found decides: is it wanted, and does it really map a runtime. The kernel counts meanwhile: a
 * process that is in no list is counted wherever it meets a probe, so of a file that is known nothing is missed. If it
 * turns out that nobody wants the process, the kernel is told so, and its calls count for nobody.
 *
 * Children of -p are wanted whatever they become: the kernel hands that mark on at each fork (GB_TARGET_TREE).
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "monitor/private.h"
#include "util/clock.h"
#include "util/log.h"

#define PENDING_MOST 65536
#define LEAVING_NS 300000000ULL   /* between the end of a process's last thread and its own */
#define TICK_SLACK_NS 20000000ULL /* a process's start is known to a hundredth of a second */

/* --- news -------------------------------------------------------------- */

static void call_for_look(struct monitor *m, pid_t pid, uint64_t since, bool only_program)
{
	struct pending *p;

	HASH_FIND_INT(m->pending, &pid, p);
	if (p) {
		if (!p->since || (p->only_program && !only_program && since))
			p->since = since;
		p->only_program &= only_program;
		return;
	}
	p = HASH_COUNT(m->pending) < PENDING_MOST ? malloc(sizeof(*p)) : NULL;
	if (!p) {
		m->rescan = true;
		return;
	}
	*p = (struct pending){ .pid = pid, .since = since, .only_program = only_program };
	HASH_ADD_INT(m->pending, pid, p);
	if (!p->hh.tbl) {
		m->rescan = true;
		free(p);
	}
}

static struct watched_process *find(struct monitor *m, pid_t pid)
{
	struct watched_process *w;

	HASH_FIND_INT(m->processes, &pid, w);
	return w;
}

static void on_mapped(void *context, pid_t pid, const struct news_file *file, uint64_t time)
{
	struct monitor *m = context;
	bool is_program;

	if (pid != getpid() && plans_might_want(m, file, &is_program))
		call_for_look(m, pid, time, is_program);
}

/* Its name may be what it is chosen by. */
static void on_named(void *context, pid_t pid, bool execed)
{
	struct monitor *m = context;

	if (execed)
		translators_named(m, pid);
	if (find(m, pid) || (!execed && m->choice.ncomms && kernel_get_target(m->kernel, pid) >= 0))
		call_for_look(m, pid, 0, false);
}

static void on_ended(void *context, pid_t pid, pid_t tid, uint64_t time)
{
	struct monitor *m = context;
	struct watched_process *w = find(m, pid);

	if (tally_end_thread(&m->book, tid, time))
		m->rescan = true;
	if (w && !w->ended) {
		w->leaving = clock_monotonic();
		m->some_leave = true;
	}
}

static void on_lost(void *context)
{
	struct monitor *m = context;

	m->news_lost++;
	m->rescan = true;
}

struct news_handlers notice_handlers(struct monitor *m)
{
	return (struct news_handlers){
		.mapped = on_mapped, .named = on_named, .ended = on_ended, .lost = on_lost, .context = m
	};
}

/* --- looking ----------------------------------------------------------- */

static void free_watched(struct watched_process *w)
{
	about_free(&w->about);
	tally_free_process(&w->tallied);
	if (w->process)
		process_close(w->process);
	free(w);
}

static void forget(struct monitor *m, struct watched_process *w)
{
	if (w->process) {
		shares_let_go(m, w);
		if (m->options.watcher.left)
			m->options.watcher.left(m->options.watcher.context, m, w->pid);
	}
	plans_leave(m, w->pid);
	HASH_DEL(m->processes, w);
	free_watched(w);
}

/* Marks what is in the kernel: how the process is counted, and its children. */
static void mark(struct monitor *m, pid_t pid, bool wanted)
{
	if (kernel_get_target(m->kernel, pid) != GB_TARGET_TREE)
		kernel_set_target(m->kernel, pid, wanted ? GB_TARGET_YES : GB_TARGET_NO);
}

/*
 * It could make calls from `since` on (0: since its start), and its probes went in at `until`. A process may have come
 * while a library was looked through for another one, or beforehand: so it is not asked who put the probes in, but
 * when. What was before the monitor is no window of it (from_start).
 */
static void account_late(struct monitor *m, struct watched_process *w, uint64_t since, uint64_t until)
{
	uint64_t window;

	if (!since)
		since = w->start > m->began ? w->start : m->began;
	if (until <= since)
		return;
	window = until - since;
	w->blind += window;
	w->blind_from = since;
	w->blind_to = until;
	m->late++;
	m->late_ns += window;
	if (window > m->late_longest)
		m->late_longest = window;
}

/* A chosen process with a runtime, new. It owns `process` and `about` from then on. NULL: no memory. */
static struct watched_process *watch(struct monitor *m, struct process *process, struct about *about)
{
	struct watched_process *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->pid = process->pid;
	HASH_ADD_INT(m->processes, pid, w);
	if (!w->hh.tbl) {
		free(w);
		return NULL;
	}
	w->start = process_started_ns(process);
	w->since = clock_monotonic();
	w->from_start = w->start > m->began;
	w->nlineage = process_lineage(w->pid, w->lineage, MONITOR_LINEAGE);
	w->process = process;
	w->about = *about;
	*about = (struct about){ 0 };
	shares_visit(m, false);
	w->lost_before = shares_lost(m, process->uid);
	m->noticed++;
	return w;
}

/* Too many are kept apart: this one counts in the totals only. */
static void crowd(struct monitor *m, struct watched_process *w)
{
	if (shares_keep_apart(m, w))
		return;
	if (m->napart >= m->options.most_processes && !m->full++)
		log_warn("more than %zu processes at a time: others count in the totals only",
			 m->options.most_processes);
	m->crowded++;
	process_close(w->process);
	w->process = NULL;
}

/* That nothing is counted is not to look like nothing that happened. */
static void say_unread(struct monitor *m, const struct process *process)
{
	const char *path = plans_unread(m, process);

	if (path && !m->unread++)
		log_warn("%d: %s: cannot be read: its calls are not counted, nor those of others like it, of which -v "
			 "tells: see 'Rights' in docs/service.md",
			 process->pid, log_safe(path));
}

/*
 * The process is wanted and maps a runtime: it gets its probes. was_nobodys: until now the kernel was told that nobody
 * wants it. Takes over `process` and `about`.
 */
static int take(struct monitor *m, struct process *process, struct about *about, uint64_t since, bool was_nobodys)
{
	struct watched_process *w;
	uint64_t until = 0;
	int err;

	kernel_look(m->kernel, process->pid);
	err = process_refresh(process);
	if (!err)
		err = plans_take(m, process, &until);
	if (!err)
		kernel_looked(m->kernel, process->pid, false);
	if (err || !plans_wants(m, process)) {
		process_close(process);
		return err == -ENOMEM || err == -ECANCELED ? err : 0;
	}
	w = watch(m, process, about);
	if (!w) {
		process_close(process);
		return -ENOMEM;
	}
	account_late(m, w, since, was_nobodys ? clock_monotonic() : until);
	say_unread(m, process);
	about_rank(&w->about, m->plan, process);
	if (m->options.watcher.came)
		m->options.watcher.came(m->options.watcher.context, m, process, w->blind_from, w->blind_to);
	if (!m->options.spans)
		process_slim(process);
	crowd(m, w);
	return 0;
}

static bool is_wanted(struct monitor *m, const struct process *process, const struct about *about)
{
	return about_wanted(about, process, &m->choice, kernel_get_target(m->kernel, process->pid) == GB_TARGET_TREE);
}

/* It is not wanted any more, and lives on. What it did until now stays in the totals. */
static int let_live(struct monitor *m, struct watched_process *w)
{
	int err;

	mark(m, w->pid, false);
	m->book.fold_pid = w->pid;
	err = monitor_read(m, false);
	m->book.fold_pid = 0;
	w->ended = true;
	return err;
}

/* A process that is watched already: it has mapped more, has another name, or is another program. */
static int look_again(struct monitor *m, struct watched_process *w, uint64_t since)
{
	struct process *process;
	struct about about;
	uint64_t until = 0;
	int err;

	kernel_look(m->kernel, w->pid);
	if (!w->process || process_open_quietly(&process, w->pid))
		return 0;
	if (process->start_time != w->process->start_time) { /* another one has its number */
		process_close(process);
		w->ended = true;
		call_for_look(m, w->pid, since, false);
		return 0;
	}
	err = about_read(&about, process);
	if (err) {
		process_close(process);
		return err;
	}
	if (!is_wanted(m, process, &about)) {
		about_free(&about);
		process_close(process);
		return let_live(m, w);
	}
	mark(m, w->pid, true);
	err = plans_take(m, process, &until);
	if (!err)
		kernel_looked(m->kernel, w->pid, false);
	about_rank(&about, m->plan, process);
	process_close(w->process);
	about_free(&w->about);
	w->process = process;
	w->about = about;
	if (since)
		account_late(m, w, since, until);
	if (!m->options.spans)
		process_slim(process);
	return err == -ENOMEM || err == -ECANCELED ? err : 0;
}

static int look(struct monitor *m, pid_t pid, uint64_t since)
{
	struct watched_process *w = find(m, pid);
	struct process *process;
	struct about about;
	int err;

	if (w && !w->ended)
		return look_again(m, w, since);
	if (pid == getpid())
		return 0;
	err = process_open_quietly(&process, pid);
	if (err) {
		m->unseen += since && err == -ESRCH;
		return 0;
	}
	if (w) { /* its number belongs to another one by now; what is to be said of the old one waits for the next
		    reading */
		process_close(process);
		if (w->process && process_alive(w->process))
			return 0;
		err = monitor_read(m, false);
		notice_let_go(m);
		return err ?: find(m, pid) ? err : look(m, pid, since);
	}
	if (!plans_wants(m, process)) {
		process_close(process);
		return 0;
	}
	err = about_read(&about, process);
	if (err) {
		process_close(process);
		return err;
	}
	if (is_wanted(m, process, &about)) {
		bool was_nobodys = kernel_get_target(m->kernel, pid) == GB_TARGET_NO;

		mark(m, pid, true);
		err = take(m, process, &about, since, was_nobodys);
	} else {
		mark(m, pid, false);
		process_close(process);
	}
	about_free(&about);
	return err;
}

int notice_pending(struct monitor *m)
{
	int err = 0;

	/* One at a time: looking may call for more. */
	while (!err && m->pending) {
		struct pending p = *m->pending;

		struct pending *first = m->pending;

		HASH_DEL(m->pending, first);
		free(first);
		if (!p.only_program || find(m, p.pid) || plans_wants_program(m, p.pid))
			err = look(m, p.pid, p.since);
		if (breath_ends(&m->breath))
			err = -ECANCELED;
	}
	return err;
}

int notice_all(struct monitor *m)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	m->rescan = false;
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = look(m, atoi(entry->d_name), 0);
		if (breath_ends(&m->breath))
			err = -ECANCELED;
	}
	closedir(dir);
	return err;
}

int notice_trees(struct monitor *m)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->choice.npids; i++) {
		pid_t pid = m->choice.pids[i], *below = NULL;
		size_t count = 0;

		if (kill(pid, 0) && errno == ESRCH) {
			log_error("%d: no such process: check the PID with ps", pid);
			return -ESRCH;
		}
		/* The process first: what it starts from then on is marked by the kernel, what it has started is found
		 * after. */
		err = kernel_set_target(m->kernel, pid, GB_TARGET_TREE);
		if (!err)
			err = process_descendants(pid, NULL, &below, &count);
		for (size_t k = 0; !err && k < count; k++)
			err = kernel_set_target(m->kernel, below[k], GB_TARGET_TREE);
		free(below);
	}
	return err;
}

/* --- whose, and the end ------------------------------------------------ */

enum owner notice_owner(void *context, uint32_t pid, uint64_t born, struct tallied_process **process)
{
	struct monitor *m = context;
	struct watched_process *w = find(m, pid);

	if (w && born + TICK_SLACK_NS >= w->start) {
		*process = w->process ? &w->tallied : NULL;
		return w->process ? OWNER_PROCESS : OWNER_CROWD;
	}
	if (m->choice.all)
		return OWNER_CROWD; /* it will be chosen, or would have been */
	return kernel_get_target(m->kernel, pid) == GB_TARGET_NO ? OWNER_NOBODY : OWNER_UNKNOWN;
}

void notice_let_go(struct monitor *m)
{
	struct watched_process *w, *next;

	HASH_ITER (hh, m->processes, w, next) {
		if (!w->ended)
			continue;
		m->ended++;
		file_watch_left(m->files);
		if (w->process && m->options.linger_ns)
			remains_keep(m, w);
		forget(m, w);
	}
}

static bool is_gone(const struct watched_process *w)
{
	return w->process ? !process_alive(w->process) : kill(w->pid, 0) && errno == ESRCH;
}

void notice_leaving(struct monitor *m)
{
	struct watched_process *w, *next;
	uint64_t now = clock_monotonic();

	if (!m->some_leave)
		return;
	m->some_leave = false;
	HASH_ITER (hh, m->processes, w, next) {
		if (!w->leaving || w->ended)
			continue;
		w->ended = is_gone(w);
		if (!w->ended && now - w->leaving > LEAVING_NS)
			w->leaving = 0; /* it was only one of its threads */
		m->some_leave |= w->leaving && !w->ended;
	}
}

void notice_check(struct monitor *m)
{
	struct watched_process *w, *next;

	HASH_ITER (hh, m->processes, w, next)
		w->ended |= is_gone(w);
}

void notice_free(struct monitor *m)
{
	struct watched_process *w, *next;
	struct pending *p, *after;

	HASH_ITER (hh, m->processes, w, next) {
		HASH_DEL(m->processes, w);
		free_watched(w);
	}
	HASH_ITER (hh, m->pending, p, after) {
		HASH_DEL(m->pending, p);
		free(p);
	}
}
