/*
 * define.c - processes, threads and probes, as the spans first name them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "model/value.h"
#include "util/clock.h"
#include "util/log.h"

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* --- images ------------------------------------------------------------ */

static struct known_image *add_known(struct capture_session *s, struct known_image image)
{
	struct known_image *grown = realloc(s->images, (s->nimages + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	s->images = grown;
	grown[s->nimages] = image;
	return &grown[s->nimages++];
}

uint32_t session_define_image(struct capture_session *s, const struct image *image)
{
	uint32_t index = definitions_add_image(s->d);

	if (index == NO_INDEX)
		return index;
	s->d->images[index].path = copy(image->path);
	s->d->images[index].soname = copy(image->soname);
	s->d->images[index].build_id = copy(image->build_id);
	return index;
}

static struct known_image *known_image(struct capture_session *s, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].inode == inode && s->images[i].device == device)
			return &s->images[i];
	return NULL;
}

/* The file behind a mapping, opened while the process still offers it. */
struct known_image *session_image(struct capture_session *s, struct process *process, const struct mapping *mapping)
{
	struct known_image *known = known_image(s, mapping->device, mapping->inode);
	struct known_image fresh = { .device = mapping->device, .inode = mapping->inode, .index = NO_INDEX };

	if (known)
		return known;
	fresh.image = plan_image(s->plan, mapping->device, mapping->inode);
	if (!fresh.image) {
		fresh.owned = true;
		if (image_open_mapped(&fresh.image, process, mapping))
			fresh.image = NULL;
	}
	return add_known(s, fresh);
}

void capture_forget_image(struct capture_session *s, const struct image *image)
{
	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].image == image)
			s->images[i].device = s->images[i].inode = 0;
}

/* --- probes ------------------------------------------------------------ */

static int copy_values(struct def_probe *def, const struct capture *capture)
{
	def->values = calloc(capture->nvalues + 1, sizeof(*def->values));
	if (!def->values)
		return -ENOMEM;
	for (size_t i = 0; i < capture->nvalues; i++) {
		struct value *v = &def->values[def->nvalues++];

		*v = capture->values[i];
		v->name = copy(v->name);
		v->decoder = copy(v->decoder);
	}
	return 0;
}

static int define_probe(struct capture_session *s, const struct site *site, size_t meaning, uint32_t image)
{
	const struct function *f = &site->function[meaning];
	uint32_t index = definitions_add_probe(s->d);
	struct def_probe *def;

	if (index == NO_INDEX)
		return -ENOMEM;
	def = &s->d->probes[index];
	def->event = copy(f->event);
	def->number = f->number;
	def->model = copy(f->model->name);
	def->role = f->role;
	def->marks = f->marks;
	def->symbol = copy(f->symbol);
	def->aliases = copy(site->aliases);
	def->prototype = copy(site->signature ?: f->prototype);
	def->op = copy(f->op);
	def->image = image;
	def->offset = site->offset;
	def->cost_ns = site_cost(site, s->d->run.cost_ns);
	def->skipped_ns = site_cost(site, s->d->run.skipped_ns);
	def->floor_ns = site_cost(site, s->d->run.floor_ns);
	int error = copy_values(def, &site->captures[meaning]);

	return error ? error : define_arguments(def, f);
}

static int define_site_probes(struct capture_session *s, const struct site *site)
{
	struct known_image *known = known_image(s, site->image->device, site->image->inode);

	if (!known)
		known = add_known(s, (struct known_image){ .device = site->image->device, .inode = site->image->inode,
							   .image = site->image, .index = NO_INDEX });
	if (!known)
		return -ENOMEM;
	if (known->index == NO_INDEX)
		known->index = session_define_image(s, site->image);
	s->first_probe[site->id] = s->d->nprobes;
	s->any_probe[site->id] = NO_INDEX;
	s->costs[site->id] = site_cost(site, s->d->run.cost_ns);
	s->skip_costs[site->id] = site_cost(site, s->d->run.skipped_ns);
	if (session_define_unseen(s, site->function->model))
		return -ENOMEM;
	for (size_t k = 0; k < site->nfunctions; k++) {
		int err = define_probe(s, site, k, known->index);

		if (err)
			return err;
	}
	return 0;
}

static int grow(void *array, size_t count, size_t size)
{
	void **data = array, *grown = realloc(*data, count * size);

	if (!grown)
		return -ENOMEM;
	*data = grown;
	return 0;
}

int capture_define_probes(struct capture_session *s)
{
	size_t room = s->plan->nsites + 1;

	if (grow(&s->first_probe, room, sizeof(*s->first_probe)) || grow(&s->any_probe, room, sizeof(*s->any_probe)) ||
	    grow(&s->costs, room, sizeof(*s->costs)) || grow(&s->skip_costs, room, sizeof(*s->skip_costs)))
		return -ENOMEM;
	for (; s->nfirst < s->plan->nsites; s->nfirst++) {
		int err = define_site_probes(s, &s->plan->sites[s->nfirst]);

		if (!err)
			err = session_comm_site(s, &s->plan->sites[s->nfirst]);
		if (err)
			return err;
	}
	return 0;
}

uint32_t session_probe(struct capture_session *s, const struct gb_span *raw)
{
	const struct site *site;

	if (raw->probe >= s->nfirst)
		return NO_INDEX;
	site = &s->plan->sites[raw->probe];
	for (size_t k = 0; k < site->nfunctions; k++) {
		const struct function *f = &site->function[k];
		struct value_reading reading;

		if (!f->has_only) /* its only meaning; not wanted where it is observed for something else */
			return site->captures[k].unwanted ? NO_INDEX : s->first_probe[raw->probe] + k;
		reading = value_read(&site->captures[k].only, raw->value, raw->values, raw->unread,
				     raw->reason == GB_END_RETURN);
		if (reading.known && (reading.number == f->only_number) != f->only_negated)
			return site->captures[k].unwanted ? NO_INDEX : s->first_probe[raw->probe] + k;
	}
	return NO_INDEX;
}

static bool has_event(const struct site *site, size_t count, const char *event)
{
	for (size_t k = 0; k < count; k++)
		if (!strcmp(site->function[k].event, event))
			return true;
	return false;
}

/* "A|B": the event of a call that may be each of them. */
static char *any_event(const struct site *site)
{
	char *text = NULL, *longer;

	for (size_t k = 0; k < site->nfunctions; k++) {
		const char *event = site->function[k].event;

		if (has_event(site, k, event))
			continue;
		if (asprintf(&longer, "%s%s%s", text ?: "", text ? "|" : "", event) < 0)
			longer = NULL;
		free(text);
		text = longer;
		if (!text)
			return NULL;
	}
	return text;
}

uint32_t session_any_probe(struct capture_session *s, uint32_t id)
{
	const struct site *site = &s->plan->sites[id];
	uint32_t first = s->first_probe[id], index;
	struct def_probe *def;

	if (site->nfunctions == 1)
		return first;
	if (s->any_probe[id] != NO_INDEX)
		return s->any_probe[id];
	index = definitions_add_probe(s->d);
	if (index == NO_INDEX)
		return index;
	def = &s->d->probes[index];
	*def = s->d->probes[first]; /* but for what it owns */
	def->event = any_event(site);
	def->model = copy(def->model);
	def->symbol = copy(def->symbol);
	def->aliases = copy(def->aliases);
	def->prototype = copy(def->prototype);
	def->op = NULL;
	def->values = NULL;
	def->nvalues = 0;
	def->arguments = NULL;
	def->narguments = 0;
	def->lists = 0;
	s->any_probe[id] = index;
	return index;
}

/* --- processes --------------------------------------------------------- */

/* Said once: --profile has nothing to go by. */
static void say_nothing_is_near(struct capture_session *s, const struct process *process)
{
	const struct model *m = s->said_near ? NULL : plan_rank_by_thread(s->plan, process);

	if (!m || !m->affinity)
		return;
	s->said_near = true;
	log_warn("%d (%s): --profile leaves no access of %s out: each thread of the process has a rank of its own, in storage that is not read",
		 process->pid, log_safe(process->name), m->name);
}

static void find_rank(struct capture_session *s, const struct process *process, struct def_process *def)
{
	const struct model *model = plan_rank(s->plan, process, &def->rank);

	if (model) {
		free(def->unit);
		def->unit = copy(model->unit ?: "rank");
	}
	if (s->plan->leave_near && def->rank < 0)
		say_nothing_is_near(s, process);
	if (s->plan->leave_near && def->rank >= 0)
		kernel_set_rank(s->kernel, process->pid, def->rank);
}

static void describe_process(struct capture_session *s, struct live_process *p)
{
	struct def_process *def = &s->d->processes[p->index];

	if (!p->process)
		return;
	free(def->command);
	free(def->name);
	def->parent = p->process->parent;
	def->command = copy(p->process->command);
	def->name = copy(p->process->name);
	find_rank(s, p->process, def);
	session_read_told(s, p);
}

static struct live_process *new_process(struct capture_session *s, uint32_t pid, struct process *process)
{
	struct live_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->index = definitions_add_process(s->d);
	if (p->index == NO_INDEX) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->process = process;
	p->refreshed = clock_monotonic();
	s->d->processes[p->index].pid = pid;
	s->d->processes[p->index].rank = -1;
	s->d->processes[p->index].start = p->refreshed;
	HASH_ADD_INT(s->processes, pid, p);
	s->totals.alive++;
	describe_process(s, p);
	return p;
}

struct live_process *session_process(struct capture_session *s, uint32_t pid)
{
	struct live_process *p;
	uint32_t key = pid;

	HASH_FIND_INT(s->processes, &key, p);
	return p;
}

/* What is mapped where is known anew. keep: what was known is of the layout before. */
static void set_process(struct capture_session *s, struct live_process *p, struct process *process, bool keep)
{
	if (keep) {
		process_close(p->before);
		p->before = p->process;
	} else {
		process_close(p->process);
	}
	p->process = process;
	p->refreshed = clock_monotonic();
	describe_process(s, p);
}

int capture_add_process(struct capture_session *s, struct process *process)
{
	struct live_process *p = session_process(s, process->pid);

	if (p)
		set_process(s, p, process, false);
	return p || new_process(s, process->pid, process) ? 0 : -ENOMEM;
}

int capture_refresh_process(struct capture_session *s, pid_t pid, bool changed)
{
	struct live_process *p = session_process(s, pid);
	struct process *process;
	int err = process_open_if_there(&process, pid);

	if (err)
		return err;
	if (p)
		set_process(s, p, process, changed);
	return p || new_process(s, pid, process) ? 0 : -ENOMEM;
}

bool capture_looked_since(struct capture_session *s, pid_t pid, uint64_t time)
{
	struct live_process *p = session_process(s, pid);

	return p && p->process && p->refreshed > time;
}

void capture_describe_process(struct capture_session *s, pid_t pid)
{
	struct live_process *p = session_process(s, pid);

	if (p)
		describe_process(s, p);
}

bool session_is_there(struct capture_session *s, struct live_process *p)
{
	return p->process ? process_alive(p->process) : !capture_refresh_process(s, p->pid, false);
}

void session_end_process(struct capture_session *s, struct live_process *p)
{
	p->ended = true;
	if (s->plan->leave_near)
		kernel_set_rank(s->kernel, p->pid, -1);
	if (s->totals.alive)
		s->totals.alive--;
	process_close(p->process);
	process_close(p->before);
	p->process = p->before = NULL;
}

/* Its number belongs to another process now. What is defined stays. */
static void drop_process(struct capture_session *s, struct live_process *p)
{
	if (!p->ended && s->totals.alive)
		s->totals.alive--;
	if (p->pid < s->threads_room && s->threads[p->pid])
		session_end_thread(s, s->threads[p->pid]);
	HASH_DEL(s->processes, p);
	process_close(p->process);
	process_close(p->before);
	free(p);
}

int capture_add_child(struct capture_session *s, pid_t pid, pid_t parent, uint64_t time)
{
	struct live_process *p = session_process(s, pid);

	/* Told twice, by the kernel and by whoever held it at its birth; it may have ended in between. */
	if (p && p->born < time && (p->ended || (p->process && !process_alive(p->process)))) {
		drop_process(s, p);
		p = NULL;
	}
	if (p) {
		if (parent && !s->d->processes[p->index].parent)
			s->d->processes[p->index].parent = parent;
		return 0;
	}
	p = new_process(s, pid, NULL);
	if (!p)
		return -ENOMEM;
	p->born = time;
	s->d->processes[p->index].start = time;
	s->d->processes[p->index].parent = parent;
	return 0;
}

struct process *capture_process(struct capture_session *s, pid_t pid)
{
	struct live_process *p = session_process(s, pid);

	return p ? p->process : NULL;
}

/* --- what is mapped where ---------------------------------------------- */

void capture_settle_process(struct capture_session *s, pid_t pid)
{
	struct live_process *p = session_process(s, pid);

	if (p)
		p->settled = true;
}

bool session_expected(struct capture_session *s, const struct gb_life *life)
{
	struct live_process *p = session_process(s, life->pid);
	bool expected = life->changing;

	if (!p)
		return expected;
	if (!life->changing && p->settled && life->time > p->refreshed)
		expected = true; /* the last sign of its start */
	if (life->time > p->refreshed)
		p->settled = false;
	return expected;
}

void session_change_layout(struct capture_session *s, uint32_t pid, uint64_t time)
{
	struct live_process *p = session_process(s, pid);
	struct process *process = NULL;
	bool first;

	if (!p)
		return;
	first = p->changed_pass != s->pass;
	p->changed_pass = s->pass;
	p->settling = time;
	if (first) {
		p->layout++;
		p->changed = time;
	}
	if (p->refreshed > time)
		return; /* it was looked at after this change */
	process_open_if_there(&process, pid);
	set_process(s, p, process, first);
	session_drain_control(s); /* what has changed up to this look */
}

/* --- threads ----------------------------------------------------------- */

static struct live_thread *new_thread(struct capture_session *s, uint32_t pid, uint32_t tid)
{
	struct live_process *p = session_process(s, pid);
	struct live_thread *t;

	if (!p)
		p = new_process(s, pid, NULL);
	if (p && !p->process && !p->ended)
		capture_refresh_process(s, pid, false);
	t = p ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return NULL;
	t->index = definitions_add_thread(s->d);
	if (t->index == NO_INDEX) {
		free(t);
		return NULL;
	}
	/* A process that was defined while it was being exec'ed had mapped nothing yet; now it has made a call. */
	if (p->process && s->d->processes[p->index].rank < 0 && !process_refresh(p->process))
		describe_process(s, p);
	t->pid = pid;
	t->tid = tid;
	t->next = 1;
	t->since = clock_monotonic();
	s->d->threads[t->index].process = p->index;
	s->d->threads[t->index].tid = tid;
	s->d->threads[t->index].name = thread_name(pid, tid);
	s->totals.threads++;
	t->next_live = s->live;
	t->live = &s->live;
	if (s->live)
		s->live->live = &t->next_live;
	s->live = t;
	return t;
}

/*
 * A number may be used again while spans of the thread before are still to come: at once, where one that is not a process's first thread
 * executes a program and becomes it. So the ends that were told divide the spans, not the order in which they come.
 */
struct live_thread *session_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct live_thread **link, *t;

	if (tid >= s->threads_room)
		return NULL;
	t = s->threads[tid];
	if (t && !t->ends && t->pid != pid)
		session_end_thread(s, t); /* its end was lost; the number belongs to another now */
	for (link = &s->threads[tid]; (t = *link); link = &t->successor)
		if (!t->ends || time <= t->ends)
			return t;
	*link = new_thread(s, pid, tid);
	return *link;
}

void session_end_thread(struct capture_session *s, struct live_thread *t)
{
	for (struct live_thread **link = &s->waiting; *link; link = &(*link)->next_waiting) {
		if (*link == t) {
			*link = t->next_waiting;
			break;
		}
	}
	*t->live = t->next_live;
	if (t->next_live)
		t->next_live->live = t->live;
	s->threads[t->tid] = t->successor;
	free(t->calls);
	free(t->open);
	free(t->early);
	free(t);
}

/* Threads get their names late, some never end: the last look. */
void capture_name_threads(struct capture_session *s)
{
	for (size_t i = 0; i < s->d->nthreads; i++) {
		struct def_thread *def = &s->d->threads[i];
		char *name;

		if (s->d->processes[def->process].end)
			continue;
		name = thread_name(s->d->processes[def->process].pid, def->tid);
		if (!name)
			continue;
		free(def->name);
		def->name = name;
	}
}

/* --- the end ------------------------------------------------------------ */

void session_free_definitions(struct capture_session *s)
{
	struct live_process *p, *next;
	struct site_record *r, *after;

	while (s->live)
		session_end_thread(s, s->live);
	free(s->threads);
	HASH_ITER(hh, s->processes, p, next) {
		HASH_DEL(s->processes, p);
		process_close(p->process);
		process_close(p->before);
		free(p);
	}
	HASH_ITER(hh, s->sites, r, after) {
		HASH_DEL(s->sites, r);
		free(r);
	}
	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].owned)
			image_close(s->images[i].image);
	free(s->images);
	free(s->frames);
	free(s->first_probe);
	free(s->any_probe);
	free(s->costs);
	free(s->skip_costs);
	session_free_sums(s);
	session_free_texts(s);
}
