/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plans.c - files and probes of a whole machine.
 *
 * A file of a runtime is probed for everybody who maps it, once, and the kernel arms it in each process that maps it
 * later: so from the second process on, and for libraries in the usual places from the first, nothing is missed. A
 * bystander pays an entry that looks it up and turns back. Only what everything maps (malloc, pthread: on request) is
 * probed process by process.
 *
 * A plan only grows: each program is a file of it, and in months there are many. When it has become twice what it was,
 * it is made anew from what the living processes map. All probes are out for that moment; calls in progress then end
 * there. It takes as long as joining those jobs took.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define IMAGES_LEAST 192   /* up to here nothing is made anew */
#define PROGRAMS_MOST 8192 /* that have been looked into; then all are forgotten */
#define REGISTERED_MOST 64

/* --- which models ------------------------------------------------------ */

/* Is the model one that -m asks for, or, without, a parallel runtime? */
static bool takes_part(const struct monitor *m, const struct model *model)
{
	size_t n = strlen(model->name);
	const char *at = m->wish;

	for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, model->name, n) && (at[n] == ',' || !at[n]))
			return true;
	return false;
}

/* Are functions of models probed that lie in programs? */
static bool looks_into_programs(const struct monitor *m)
{
	for (size_t i = 0; i < models_count(m->options.models); i++)
		if (models_at(m->options.models, i)->in_program && takes_part(m, models_at(m->options.models, i)))
			return true;
	return false;
}

/*
 * With one link for call and return, the call decides whether there is a return probe: none in a process that is not
 * known yet (wire.h, `wary`). Otherwise it is there whoever calls, and what cannot be told of all processes beforehand
 * must do no harm in any.
 */
void plans_take_care(struct monitor *m)
{
	bool session = m->kernel && kernel_rung(m->kernel) == RUNG_SESSION;

	m->plan->sessions = session;
	m->plan->cautious[false] = m->plan->cautious[true] = m->kernel && !session;
	m->plan->choosing[false] = session && m->scope.file;
	m->plan->choosing[true] = session && m->scope.file_alone;
}

int plans_new(struct monitor *m)
{
	int err = plan_new(&m->plan, m->options.models, m->wish);

	if (err)
		return err;
	m->plan->no_alone = true;
	m->plan->of_many = true;
	m->plan->placing.breath = &m->breath;
	m->plan->admission = (struct plan_admission){ .file = shares_admit_file,
						      .functions = shares_admit_functions,
						      .context = m };
	shares_renew(m);
	plans_take_care(m);
	m->book.plan = m->plan;
	m->book.nsites = 0;
	return m->options.prepare ? m->options.prepare(m->options.prepare_context, m->plan) : 0;
}

/* --- which files ------------------------------------------------------- */

static bool is_library(const struct monitor *m, const char *path)
{
	const char *base = path_base(path);

	for (size_t i = 0; base && i < models_count(m->options.models); i++)
		if (takes_part(m, models_at(m->options.models, i)) &&
		    model_matches_file(models_at(m->options.models, i), NULL, base))
			return true;
	return false;
}

bool plans_might_want(struct monitor *m, const struct news_file *file, bool *is_program)
{
	const char *base = path_base(file->path);
	const char *library = base ? strstr(base, ".so") : NULL;

	*is_program = false;
	if (is_library(m, file->path))
		return true;
	if (library && (!library[3] || library[3] == '.'))
		return plan_has_sites(m->plan, NULL,
				      plan_image(m->plan, file->device, file->inode)); /* known by its soname */
	*is_program = true;
	return looks_into_programs(m) && file->path[0] == '/';
}

void plans_forget_programs(struct monitor *m)
{
	struct known_program *program, *next;

	HASH_ITER (hh, m->programs, program, next) {
		HASH_DEL(m->programs, program);
		free(program);
	}
}

/* The functions by which models know a program, NULL-terminated; NULL: no memory, or some model takes every program. */
static const char **names_of_programs(const struct monitor *m)
{
	const char **names = calloc(1, sizeof(*names)), **grown;
	size_t n = 0;

	for (size_t i = 0; names && i < models_count(m->options.models); i++) {
		const struct model *model = models_at(m->options.models, i);

		if (!model->in_program || !takes_part(m, model))
			continue;
		for (char **need = model->needs; need && *need; need++) {
			grown = realloc(names, (n + 2) * sizeof(*names));
			if (!grown)
				break;
			names = grown;
			names[n++] = *need;
			names[n] = NULL;
		}
		if (!model->needs || !*model->needs) {
			free(names);
			return NULL;
		}
	}
	return names;
}

static bool look_into(struct monitor *m, int fd)
{
	const char **names = names_of_programs(m);
	bool found;

	reading_breathes(&m->breath);
	found = !names || image_may_have(fd, names);
	reading_breathes(NULL);
	free(names);
	return found;
}

/* Is there a runtime in this open file? Each is looked into once. */
static bool file_has_runtime(struct monitor *m, int fd)
{
	struct known_program *program, key;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	memset(&key, 0, sizeof(key));
	key.key.device = st.st_dev;
	key.key.inode = st.st_ino;
	key.key.changed = st.st_ctim.tv_sec * 1000000000ULL + st.st_ctim.tv_nsec;
	key.key.size = st.st_size;
	HASH_FIND(hh, m->programs, &key.key, sizeof(key.key), program);
	if (program)
		return program->has_runtime;
	if (HASH_COUNT(m->programs) >= PROGRAMS_MOST)
		plans_forget_programs(m);
	key.has_runtime = look_into(m, fd);
	program = malloc(sizeof(*program));
	if (!program)
		return key.has_runtime;
	*program = key;
	HASH_ADD(hh, m->programs, key, sizeof(program->key), program);
	if (!program->hh.tbl)
		free(program);
	return key.has_runtime;
}

bool plans_wants_program(struct monitor *m, pid_t pid)
{
	int fd = looks_into_programs(m) ? process_open_program(pid) : -1;
	bool has = fd >= 0 && file_has_runtime(m, fd);

	if (fd >= 0)
		close(fd);
	return has;
}

bool plans_wants(struct monitor *m, const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (!mapping->executable || !mapping->inode)
			continue;
		if (is_library(m, mapping->path) ||
		    plan_has_sites(m->plan, NULL, plan_image(m->plan, mapping->device, mapping->inode)))
			return true;
	}
	return plans_wants_program(m, process->pid);
}

const char *plans_unread(struct monitor *m, const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (mapping->executable && mapping->inode && is_library(m, mapping->path) &&
		    !plan_image(m->plan, mapping->device, mapping->inode))
			return mapping->path;
	}
	return NULL;
}

/* --- probes ------------------------------------------------------------ */

static int add_own(struct monitor *m, pid_t pid)
{
	for (size_t i = 0; i < m->nown; i++)
		if (m->own[i] == pid)
			return 0;
	if (array_one_more(&m->own, &m->own_room, m->nown, sizeof(*m->own)))
		return -ENOMEM;
	m->own[m->nown++] = pid;
	m->scope.pids = m->own;
	m->scope.npids = m->nown;
	return 0;
}

void plans_leave(struct monitor *m, pid_t pid)
{
	for (size_t i = 0; i < m->nown; i++) {
		if (m->own[i] != pid)
			continue;
		m->own[i] = m->own[--m->nown];
		m->scope.npids = m->nown;
		attach_remove_process(m->kernel, pid);
		return;
	}
}

/* What the plan has got since it had `first` sites goes in. */
static int put_in(struct monitor *m, uint32_t first)
{
	int err = tally_define(&m->book);

	if (!err)
		err = file_watch_take(m->files, m->plan);
	if (!err)
		err = attach_sites(m->kernel, m->plan, first, &m->scope);
	if (!err && m->options.watcher.grown)
		m->options.watcher.grown(m->options.watcher.context, m);
	return err;
}

/* When the last of the files that the process maps got its probes. */
static uint64_t probed_at(const struct plan *plan, const struct process *process)
{
	uint64_t last = 0;

	for (size_t i = 0; i < plan->nimages; i++)
		if (plan->images[i]->probed_ns > last && process_maps(process, plan->images[i]))
			last = plan->images[i]->probed_ns;
	return last;
}

static bool has_own(const struct monitor *m, pid_t pid)
{
	for (size_t i = 0; i < m->nown; i++)
		if (m->own[i] == pid)
			return true;
	return false;
}

int plans_take(struct monitor *m, struct process *process, uint64_t *until)
{
	uint32_t first = m->plan->nsites;
	bool known = has_own(m, process->pid);
	int err;

	shares_begin_taking(m, process->uid);
	err = plan_add_processes(m->plan, &process, 1);
	shares_end_taking(m);

	*until = 0;
	if (!err && plan_has_new(m->plan, first))
		err = put_in(m, first);
	if (err)
		return err;
	*until = probed_at(m->plan, process);
	if (!attach_needs_own(m->plan, &m->scope))
		return 0;
	/* Before it is one of the scope: what is put in for all of that has been put in. */
	err = attach_process(m->kernel, m->plan, process->pid, &m->scope);
	if (!known)
		*until = clock_monotonic();
	return err ?: add_own(m, process->pid);
}

/* --- beforehand -------------------------------------------------------- */

static bool is_wanted(void *context, const char *name)
{
	return is_library(context, name);
}

static int by_size(const void *a, const void *b)
{
	const struct library *x = a, *y = b;

	return x->size < y->size ? -1 : x->size > y->size;
}

void plans_list_libraries(struct monitor *m)
{
	/* Each probe of a library that nobody uses costs the monitor's end a tenth of a second there. */
	if (m->options.lazy || kernel_rung(m->kernel) == RUNG_PERF)
		return;
	libraries_find(is_wanted, m, REGISTERED_MOST, &m->libraries,
		       &m->nlibraries); /* without memory some come when they are mapped */
	/* What takes long comes last: it would keep the others waiting. */
	if (m->nlibraries)
		qsort(m->libraries, m->nlibraries, sizeof(*m->libraries), by_size);
}

int plans_register(struct monitor *m)
{
	uint32_t first = m->plan->nsites;
	const char *path;
	bool known;
	int err;

	if (m->registered >= m->nlibraries)
		return 0;
	path = m->libraries[m->registered++].path;
	err = plan_add_file(m->plan, path, &known);
	if (err == -ECANCELED)
		return err;
	if (!err && plan_has_new(m->plan, first) && put_in(m, first))
		log_warn("%s: is not probed before somebody uses it: the first calls of the first process that does "
			 "are missed",
			 log_safe(path));
	m->images_then = m->plan->nimages;
	m->sites_then = m->plan->nsites;
	return 0;
}

/* --- anew -------------------------------------------------------------- */

static bool is_too_large(const struct monitor *m)
{
	size_t images = 2 * m->images_then, sites = GB_PROBES / 4 * 3;

	if (images < IMAGES_LEAST)
		images = IMAGES_LEAST;
	return m->plan->nimages > images ||
	       (m->plan->nsites > sites && m->plan->nsites > m->sites_then + m->sites_then / 4);
}

static int take_all(struct monitor *m)
{
	struct watched_process *w, *next;
	int err = 0;
	uint64_t until;

	HASH_ITER (hh, m->processes, w, next) {
		if (!w->process || w->ended || process_refresh(w->process))
			continue;
		err = plans_take(m, w->process, &until);
		if (err == -ECANCELED)
			return err;
		if (err && err != -ESRCH)
			log_info("%d: is not monitored any more: %s", w->pid, strerror(-err));
		if (!m->options.spans)
			process_slim(w->process);
	}
	return 0;
}

int plans_renew(struct monitor *m)
{
	uint64_t start = clock_monotonic();
	int err;

	if (!is_too_large(m))
		return 0;
	log_info("%zu files and %zu functions are known: those that are gone are forgotten now", m->plan->nimages,
		 m->plan->nsites);
	if (m->options.watcher.renewing)
		m->options.watcher.renewing(m->options.watcher.context, m);
	kernel_set_active(m->kernel, false);
	attach_remove_all(m->kernel, NULL);
	kernel_send_open(m->kernel); /* calls in progress are summed up to here */
	m->book.fold_all = true;
	monitor_read(m, false);
	m->book.fold_all = false;
	file_watch_forget(m->files);
	plan_free(m->plan);
	m->plan = NULL;
	m->nown = m->scope.npids = 0;
	err = plans_new(m) ?: limits_new(m);
	if (err)
		return err;
	err = take_all(m);
	m->registered = 0; /* libraries that nobody uses come in again, one by one */
	kernel_set_active(m->kernel, true);
	m->images_then = m->plan->nimages;
	m->sites_then = m->plan->nsites;
	m->renewals++;
	log_info("all probes were put in anew in %.1f ms", (clock_monotonic() - start) / 1e6);
	return err;
}
