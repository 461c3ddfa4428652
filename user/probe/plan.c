/*
 * plan.c - from models and mapped files to a list of sites, each once.
 *
 * The same place has many names: MPI_Send is PMPI_Send, glibc's pthread_mutex_lock is
 * __pthread_mutex_lock. Probing each name would count each call several times, so a site is keyed by
 * (file, offset), the first name in the model's order gives it its meaning, and all further names are
 * its aliases. Files are keyed by (device, inode): many processes map the same library.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "probe/plan_private.h"
#include "util/files.h"
#include "util/log.h"

#define ALIASES_MOST 400 /* bytes of alias names kept for a site */

struct site_key {
	size_t image;
	uint64_t offset;
};

struct site_entry {
	struct site_key key;
	uint32_t site;
	UT_hash_handle hh;
};

struct plan_work {
	struct site_entry *by_place;
	char *wish;             /* of -m; NULL: default */
	uint8_t *explored;      /* [image * models + model]: enum explored */
	size_t explored_images;
	bool filters_tried;     /* plan->guarded is known */
	bool *mapped;           /* [image]: a process maps it, it is not only a file */
	bool *asked_in;         /* [image]: what -F asks for has been looked for there */
};

/* Which functions of a model have been looked for in an image. */
enum explored { EXPLORED_NOT, EXPLORED_CONTROLS, EXPLORED_ALL };

/* --- which models ------------------------------------------------------ */

/* Calls each(name) for the names of a wish; *plus: every name has a '+'. */
static int check_wish(const struct model_set *models, const char *wish)
{
	char *copy = strdup(wish), *rest = copy, *word;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	while (!err && (word = strsep(&rest, ","))) {
		if (*word == '+')
			word++;
		if (!models_find(models, word)) {
			log_error("-m %s: no such model: 'gaspbpf list --known' names them", log_safe(word));
			err = -EINVAL;
		}
	}
	free(copy);
	return err;
}

/* Is the model named in the wish? *only: names without '+' are given, so no others take part. */
static bool wished(const struct plan *plan, const struct model *model, bool *only)
{
	char *copy, *rest, *word;
	bool found = false;

	*only = false;
	if (!plan->work->wish)
		return false;
	copy = rest = strdup(plan->work->wish);
	while (copy && (word = strsep(&rest, ","))) {
		if (*word == '+')
			word++;
		else
			*only = true;
		found |= !strcmp(word, model->name);
	}
	free(copy);
	return found;
}

static bool model_found(const struct plan *plan, const struct model *model, bool mapped)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if ((!mapped || plan->work->mapped[i]) && plan_model_applies(model, plan->images[i]))
			return true;
	return false;
}

static int choose_models(struct plan *plan)
{
	size_t count = models_count(plan->models);
	bool parallel = false;

	free(plan->chosen);
	plan->chosen = calloc(count + 1, sizeof(*plan->chosen));
	plan->nchosen = 0;
	if (!plan->chosen)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct model *m = models_at(plan->models, i);

		parallel |= !m->alone && !m->always && model_found(plan, m, true);
	}
	for (size_t i = 0; i < count; i++) {
		const struct model *m = models_at(plan->models, i);
		bool only, asked = wished(plan, m, &only);

		if (m->alone && !asked && (parallel || plan->no_alone))
			continue;
		if (asked || (!only && model_found(plan, m, false)))
			plan->chosen[plan->nchosen++] = m;
	}
	return 0;
}

/* --- sites ------------------------------------------------------------- */

static struct site *site_at(const struct plan *plan, size_t image, uint64_t offset)
{
	struct site_key key;
	struct site_entry *entry;

	memset(&key, 0, sizeof(key));
	key.image = image;
	key.offset = offset;
	HASH_FIND(hh, plan->work->by_place, &key, sizeof(key), entry);
	return entry ? &plan->sites[entry->site] : NULL;
}

static int remember_place(struct plan *plan, size_t image, const struct site *site)
{
	struct site_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	entry->key.image = image;
	entry->key.offset = site->offset;
	entry->site = site->id;
	HASH_ADD(hh, plan->work->by_place, key, sizeof(entry->key), entry);
	return 0;
}

static void add_alias(struct site *site, const char *name)
{
	size_t have = site->aliases ? strlen(site->aliases) : 0;
	char *grown;

	if (!strcmp(name, site->function->symbol) || have + strlen(name) + 2 > ALIASES_MOST)
		return;
	for (const char *at = site->aliases; at && (at = strstr(at, name)); at += strlen(name)) {
		char before = at == site->aliases ? ' ' : at[-1], after = at[strlen(name)];

		if (before == ' ' && (after == ' ' || !after))
			return;
	}
	if (asprintf(&grown, "%s%s%s", have ? site->aliases : "", have ? " " : "", name) < 0)
		return;
	free(site->aliases);
	site->aliases = grown;
}

static int new_site(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *f, size_t n,
		    const struct build *build)
{
	struct image *i = plan->images[image];
	struct site *site, *grown;
	int err;

	if (plan->nsites >= GB_PROBES - SITE_CLASSES) {
		log_warn("more than %d functions to observe: the rest is left out: choose models with -m",
			 GB_PROBES - SITE_CLASSES);
		return -E2BIG;
	}
	grown = realloc(plan->sites, (plan->nsites + 1) * sizeof(*site));
	if (!grown)
		return -ENOMEM;
	plan->sites = grown;
	site = &plan->sites[plan->nsites];
	*site = (struct site){
		.image = i, .offset = symbol->offset, .function = f, .nfunctions = n,
		.id = plan->nsites, .closes = NO_SITE,
		.no_span = f->marks & MARK_CLOSES,
		.captures = calloc(n, sizeof(struct capture)),
	};
	if (!site->captures)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		err = model_function_capture_build(&f[k], i->soname ?: path_base(i->path), build, &site->captures[k]);
		if (err)
			return err;
		site->captures[k].unwanted = !selection_has(plan->selection, &f[k]);
		if (plan->leave_near)
			memcpy(site->captures[k].program.near, site->captures[k].near, sizeof(site->captures[k].near));
	}
	plan->nsites++;
	return remember_place(plan, image, site);
}

/* How many functions from here on are the meanings of one symbol (@only). */
static size_t same_symbol(const struct model *model, size_t at)
{
	size_t n = 1;

	while (at + n < model->nfunctions && !strcmp(model->functions[at].symbol, model->functions[at + n].symbol))
		n++;
	return n;
}

/* Off means that nothing is measured, whatever was chosen: what switches it off and on is observed in any case. */
static bool any_wanted(const struct plan *plan, const struct function *f, size_t n, bool chosen)
{
	while (n && !(chosen && selection_has(plan->selection, &f[n - 1])) && !(f[n - 1].marks & MARK_CONTROLS))
		n--;
	return n;
}

/* Is the function observed at the two places that follow its entry? */
static bool is_split(const struct image *image, const struct function *f)
{
	char name[256];

	return f->marks & MARK_SPLIT && snprintf(name, sizeof(name), "%s_plain", f->symbol) < (int)sizeof(name) && image_symbol(image, name);
}

int plan_add_model(struct plan *plan, const struct model *model, size_t image, bool chosen)
{
	const struct build *build = plan_build(plan, model, plan->images[image]);

	for (size_t at = 0, n; at < model->nfunctions; at += n) {
		const struct function *f = &model->functions[at];
		const struct symbol *symbol = image_symbol(plan->images[image], f->symbol);
		struct site *known;
		int err;

		n = same_symbol(model, at);
		if (!symbol || symbol->ifunc || !symbol->offset || !any_wanted(plan, f, n, chosen) || is_split(plan->images[image], f) || plan_cannot_place(plan, plan->images[image], symbol))
			continue;
		known = site_at(plan, image, symbol->offset);
		if (known) {
			add_alias(known, f->symbol);
			continue;
		}
		err = new_site(plan, image, symbol, f, n, build);
		if (err)
			return err == -E2BIG ? 0 : err;
	}
	return 0;
}

/* The names that the file itself has for the sites' places. */
static void add_file_aliases(struct plan *plan, size_t image)
{
	const struct image *i = plan->images[image];

	for (size_t s = 0; s < i->nsymbols; s++) {
		struct site *site = site_at(plan, image, i->symbols[s].offset);

		if (site)
			add_alias(site, i->symbols[s].name);
	}
}

/* Which opening site each closing site ends. */
static void join_pairs(struct plan *plan, uint32_t first)
{
	for (uint32_t c = first; c < plan->nsites; c++) {
		struct site *closing = &plan->sites[c];

		for (uint32_t o = 0; closing->no_span && o < plan->nsites; o++) {
			const struct site *opening = &plan->sites[o];

			if (opening->image == closing->image && opening->function->model == closing->function->model &&
			    opening->function->marks & MARK_OPENS) {
				for (size_t k = 0; k < opening->nfunctions; k++)
					if (!strcmp(opening->function[k].event, closing->function->event))
						closing->closes = o;
			}
		}
	}
}

static int explore(struct plan *plan)
{
	size_t models = models_count(plan->models);
	uint32_t first = plan->nsites;
	int err = choose_models(plan);

	for (size_t image = 0; !err && image < plan->nimages; image++) {
		uint32_t before = plan->nsites;

		for (size_t m = 0; !err && m < models; m++) {
			const struct model *model = models_at(plan->models, m);
			uint8_t *done = &plan->work->explored[image * models + m], want = EXPLORED_CONTROLS;

			for (size_t c = 0; c < plan->nchosen; c++)
				if (plan->chosen[c] == model)
					want = EXPLORED_ALL;
			if (*done >= want || !plan_model_applies(model, plan->images[image]))
				continue;
			*done = want;
			err = plan_add_model(plan, model, image, want == EXPLORED_ALL);
		}
		if (!err && !plan->work->asked_in[image])
			err = plan_add_asked(plan, image);
		plan->work->asked_in[image] = true;
		if (err || plan->nsites == before)
			continue;
		add_file_aliases(plan, image);
		err = plan_place_sites(plan, plan->images[image], before);
	}
	join_pairs(plan, first);
	if (!err)
		err = plan_choose_returns(plan);
	for (size_t image = 0; !err && image < plan->nimages; image++)
		err = plan_place_aside(plan, plan->images[image]);
	plan_find_uncalled(plan, first);
	plan_find_wrappers(plan, first);
	return err;
}

/* --- images ------------------------------------------------------------ */

struct image *plan_image(const struct plan *plan, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (plan->images[i]->inode == inode && plan->images[i]->device == device)
			return plan->images[i];
	return NULL;
}

bool plan_maps(const struct plan *plan, size_t image)
{
	return plan->work->mapped[image];
}

static int add_image(struct plan *plan, struct image *image, bool mapped)
{
	size_t n = plan->nimages + 1, models = models_count(plan->models);
	struct image **images = realloc(plan->images, n * sizeof(*images));
	bool *flags, *asked;
	uint8_t *explored;

	if (!images)
		return -ENOMEM;
	plan->images = images;
	explored = realloc(plan->work->explored, n * models + 1);
	if (!explored)
		return -ENOMEM;
	plan->work->explored = explored;
	flags = realloc(plan->work->mapped, n);
	if (!flags)
		return -ENOMEM;
	plan->work->mapped = flags;
	asked = realloc(plan->work->asked_in, n);
	if (!asked)
		return -ENOMEM;
	plan->work->asked_in = asked;
	asked[plan->nimages] = false;
	memset(explored + plan->nimages * models, 0, models);
	flags[plan->nimages] = mapped;
	images[plan->nimages++] = image;
	return 0;
}

static int refuse_go(const struct process *process, const struct image *image)
{
	log_error("%d (%s): a Go program: return probes would crash it, since Go moves its stacks: not supported",
		  process->pid, log_safe(process->name));
	return -EOPNOTSUPP;
}

/* True where the plan has this file already. */
static bool note_mapped(struct plan *plan, const struct mapping *mapping)
{
	for (size_t i = 0; i < plan->nimages; i++) {
		if (plan->images[i]->inode == mapping->inode && plan->images[i]->device == mapping->device) {
			plan->work->mapped[i] = true;
			return true;
		}
	}
	return false;
}

static int add_mapped(struct plan *plan, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		struct image *image;
		int err;

		if (!mapping->executable || !mapping->inode || note_mapped(plan, mapping))
			continue;
		err = image_open_mapped(&image, process, mapping);
		if (err == -ESRCH || err == -ENOMEM)
			return err;
		if (err)
			continue; /* not an ELF object of ours: said where it matters */
		if (image->is_program && image->language == IMAGE_GO) {
			err = refuse_go(process, image);
			image_close(image);
			return err;
		}
		err = add_image(plan, image, true);
		if (err) {
			image_close(image);
			return err;
		}
	}
	return 0;
}

int plan_add_processes(struct plan *plan, struct process *const *processes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int err = add_mapped(plan, processes[i]);

		if (processes[i]->filtered && !plan->work->filters_tried) {
			plan->work->filters_tried = true;
			plan->guarded = trial_filter_kills();
		}

		if (err && err != -ESRCH)
			return err;
	}
	return explore(plan);
}

int plan_add_file(struct plan *plan, const char *path, bool *known)
{
	struct image *image;
	uint32_t before = plan->nsites;
	int err = image_open_file(&image, path);

	*known = false;
	if (err)
		return err;
	if (plan_image(plan, image->device, image->inode)) {
		image_close(image);
		return 0;
	}
	err = add_image(plan, image, false);
	if (err) {
		image_close(image);
		return err;
	}
	err = explore(plan);
	*known = plan->nsites > before;
	return err;
}

/* --- what is not there ------------------------------------------------- */

const char *absence_text(enum absence why)
{
	static const char *const texts[ABSENT_REASONS] = {
		[ABSENT_NOT_MAPPED] = "library not mapped",
		[ABSENT_NOT_EXPORTED] = "not exported: the file has no function of this name",
		[ABSENT_STRIPPED] = "not exported, and the file is stripped of its local symbols",
		[ABSENT_INLINED] = "inlined by the compiler: there is no function to observe",
		[ABSENT_INDIRECT] = "an indirect function (IFUNC): its address is chosen when the program starts",
		[ABSENT_OUTSIDE] = "its symbol does not lie in the file's code",
		[ABSENT_INSTRUCTION] = "its first instruction (a lock prefix) cannot carry a probe, and no other one will do",
	};

	return why < ABSENT_REASONS ? texts[why] : "?";
}

/* Why this image does not give the function; ABSENT_REASONS: it does. */
static enum absence why_absent(const struct plan *plan, struct image *image, const struct function *f)
{
	const struct symbol *symbol = image_symbol(image, f->symbol);

	if (symbol && symbol->ifunc)
		return ABSENT_INDIRECT;
	if (symbol && !symbol->offset)
		return ABSENT_OUTSIDE;
	if (symbol && plan_cannot_place(plan, image, symbol))
		return ABSENT_INSTRUCTION;
	if (symbol)
		return ABSENT_REASONS;
	if (image->has_dwarf && image_inlined(image, f->symbol))
		return ABSENT_INLINED;
	return image->has_symtab ? ABSENT_NOT_EXPORTED : ABSENT_STRIPPED;
}

static int add_absent(struct plan *plan, struct absent absent)
{
	struct absent *grown = realloc(plan->absents, (plan->nabsents + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	plan->absents = grown;
	grown[plan->nabsents++] = absent;
	return 0;
}

static int find_absent_of(struct plan *plan, const struct model *model)
{
	for (size_t f = 0; f < model->nfunctions; f += same_symbol(model, f)) {
		struct absent absent = { .function = &model->functions[f], .why = ABSENT_NOT_MAPPED };
		enum absence why;
		int err;

		for (size_t i = 0; i < plan->nimages && absent.why != ABSENT_REASONS; i++) {
			if (!plan_model_applies(model, plan->images[i]))
				continue;
			why = why_absent(plan, plan->images[i], absent.function);
			if (why == ABSENT_NOT_EXPORTED || why == ABSENT_STRIPPED)
				if (absent.why != ABSENT_NOT_MAPPED)
					continue; /* another file had more to say */
			absent.image = plan->images[i];
			absent.why = why;
		}
		if (absent.why == ABSENT_REASONS)
			continue;
		err = add_absent(plan, absent);
		if (err)
			return err;
	}
	return 0;
}

int plan_find_absent(struct plan *plan)
{
	int err = 0;

	plan->nabsents = 0;
	for (size_t m = 0; !err && m < models_count(plan->models); m++)
		err = find_absent_of(plan, models_at(plan->models, m));
	return err;
}

/* --- life of a plan ---------------------------------------------------- */

const char **plan_rank_variables(const struct model_set *models)
{
	size_t n = 0;
	const char **names = calloc(1, sizeof(*names));

	for (size_t m = 0; names && m < models_count(models); m++) {
		for (char **v = models_at(models, m)->rank_env; v && *v; v++) {
			const char **grown = realloc(names, (n + 2) * sizeof(*names));

			if (!grown) {
				free(names);
				return NULL;
			}
			names = grown;
			names[n++] = *v;
			names[n] = NULL;
		}
	}
	return names;
}

int plan_new(struct plan **result, const struct model_set *models, const char *wish)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int err;

	*result = NULL;
	if (!plan)
		return -ENOMEM;
	plan->models = models;
	plan->placing.nop5 = place_nop5_is_cheap();
	plan->work = calloc(1, sizeof(*plan->work));
	err = plan->work ? 0 : -ENOMEM;
	if (!err && wish) {
		err = check_wish(models, wish);
		if (!err && !(plan->work->wish = strdup(wish)))
			err = -ENOMEM;
	}
	if (err) {
		plan_free(plan);
		return err;
	}
	*result = plan;
	return 0;
}

void plan_free(struct plan *plan)
{
	struct site_entry *entry, *next;

	if (!plan)
		return;
	for (size_t i = 0; i < plan->nsites; i++) {
		for (size_t k = 0; k < plan->sites[i].nfunctions; k++)
			capture_free(&plan->sites[i].captures[k]);
		free(plan->sites[i].captures);
		free(plan->sites[i].aliases);
		free(plan->sites[i].signature);
		free(plan->sites[i].exits);
	}
	for (size_t i = 0; i < plan->nimages; i++)
		image_close(plan->images[i]);
	if (plan->work) {
		HASH_ITER(hh, plan->work->by_place, entry, next) {
			HASH_DEL(plan->work->by_place, entry);
			free(entry);
		}
		free(plan->work->wish);
		free(plan->work->explored);
		free(plan->work->mapped);
		free(plan->work->asked_in);
		free(plan->work);
	}
	asked_free(plan->asked);
	free(plan->chosen);
	free(plan->images);
	free(plan->sites);
	free(plan->absents);
	returns_free(plan);
	free(plan);
}
