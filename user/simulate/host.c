/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.c - plug-ins: finds, loads and tells them what they are told at the beginning.
 *
 * This runs in the process that has given up its privileges (simulate.c): a foreign library gets none.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/group.h"
#include "util/log.h"

static void *library;
static cpf_destroy_t *library_destroy;

static const struct builtin *const builtins[] = { &builtin_ideal, &builtin_dimemas, &builtin_nolock, &builtin_same };

static const struct builtin *find_builtin(const char *name)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		if (!strcmp(builtins[i]->name, name))
			return builtins[i];
	return NULL;
}

bool simulation_is_builtin(const char *name)
{
	return find_builtin(name);
}

void simulation_print_builtins(FILE *out)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		fprintf(out, "  %-8s %s\n", builtins[i]->name, builtins[i]->help);
}

static void enter(struct sim *sim, enum callback in)
{
	sim->progress->calls++;
	sim->progress->in = in;
}

/* --- a library --------------------------------------------------------------- */

/* A library has cpf_create() and cpf_destroy(), or a C++ class's create() and destroy() with cpf.hpp's way to them.
 * NULL, and said: it has not. */
static struct cpf_plugin *create_plugin(const char *path)
{
	cpf_create_t *create = (cpf_create_t *)dlsym(library, "cpf_create");
	struct cpf_plugin *(*wrap)(void *create, void *destroy) = (struct cpf_plugin * (*)(void *, void *))
		dlsym(library, "cpf_wrap");
	void *create_class = dlsym(library, "create"), *destroy_class = dlsym(library, "destroy");
	bool class = !create && wrap && create_class && destroy_class;
	struct cpf_plugin *plugin;

	library_destroy = (cpf_destroy_t *)dlsym(library, class ? "cpf_unwrap" : "cpf_destroy");
	if (!library_destroy || (!create && !class)) {
		log_error("%s: not a plug-in: it has no cpf_%s(): define it, see cpf.h; or, in C++, use cpf.hpp",
			  log_safe(path), create ? "destroy" : "create");
		return NULL;
	}
	plugin = class ? wrap(create_class, destroy_class) : create();
	if (!plugin)
		log_error("%s: %s() gave no plug-in: it should have said why", log_safe(path),
			  class ? "create" : "cpf_create");
	return plugin;
}

static int load(struct sim *sim, const char *path)
{
	struct cpf_plugin *plugin;

	enter(sim, IN_CREATE);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		log_error("%s: cannot be loaded: %s: a plug-in is a shared library that defines cpf_create() and "
			  "cpf_destroy() (docs/simulate.md)",
			  log_safe(path), log_safe(dlerror()));
		return -ENOEXEC;
	}
	plugin = create_plugin(path);
	if (!plugin)
		return -ENOEXEC;
	if (plugin->version != CPF_VERSION || plugin->size < offsetof(struct cpf_plugin, ProcessOneSided)) {
		log_error("%s: made for version %u of cpf.h, with a table of %u bytes: this is version %u: compile it "
			  "again",
			  log_safe(path), plugin->version, plugin->size, CPF_VERSION);
		library_destroy(plugin);
		return -EPROTO;
	}
	sim->progress->in = IN_NOTHING;
	/* One that was compiled with a smaller table has nothing for what came later. */
	sim->plugins[AS_TOLD] = calloc(1, sizeof(struct cpf_plugin));
	if (!sim->plugins[AS_TOLD])
		return -ENOMEM;
	memcpy(sim->plugins[AS_TOLD], plugin, plugin->size < sizeof(*plugin) ? plugin->size : sizeof(*plugin));
	sim->original = plugin;
	return 0;
}

/* --- what it is told ------------------------------------------------------------ */

static int make_tables(struct sim *sim)
{
	size_t count = sim->nfunctions;
	uint32_t *tables = calloc(3 * count, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t classes = sim->functions[i].classes;

		tables[i] = classes & CPF_IS_SINGLE_RANK ? i : CPF_NONE;
		tables[count + i] = classes & CPF_IS_COLLECTIVE ? i : CPF_NONE;
		tables[2 * count + i] = classes & CPF_IS_P2P ? i : CPF_NONE;
	}
	sim->setup._singleRankFuncs = tables;
	sim->setup._collOpFuncs = tables + count;
	sim->setup._P2PFuncs = tables + 2 * count;
	return 0;
}

static int make_threads(struct sim *sim)
{
	struct cpf_thread *threads = calloc(sim->d->nthreads + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		const struct def_thread *thread = &sim->d->threads[i];
		const struct def_process *process = &sim->d->processes[thread->process];

		threads[i] = (struct cpf_thread){ process->pid, thread->tid, process->rank,
						  thread->name ? thread->name : "" };
	}
	sim->setup._threads = threads;
	return 0;
}

/* The folder of the recording, with a slash at its end. */
static int make_path(struct sim *sim)
{
	const char *slash = strrchr(sim->options->path, '/');
	char *path = slash ? strndup(sim->options->path, slash - sim->options->path + 1) : strdup("./");

	sim->setup._stfPath = path;
	return path ? 0 : -ENOMEM;
}

static int make_setup(struct sim *sim)
{
	struct cpf_setup *setup = &sim->setup;
	int error = make_tables(sim);

	if (!error)
		error = make_threads(sim);
	if (!error)
		error = make_path(sim);
	setup->version = CPF_VERSION;
	setup->size = sizeof(*setup);
	setup->_commandLineParams = (const char *const *)sim->options->parameters;
	setup->_commandLineParamCount = sim->options->nparameters;
	setup->_stfStart = sim->d->run.start;
	setup->_stfEnd = sim->d->run.end;
	setup->_numThreads = sim->d->nthreads;
	setup->_numFunctions = sim->nfunctions;
	setup->_clockResolution = 1e-9;
	setup->_communicatorsMapped = sim->groups->comm_names;
	setup->_numCommunicators = sim->groups->ncomms;
	setup->_functions = sim->functions;
	return error;
}

static void initialize(struct sim *sim)
{
	for (enum scenario s = 0; s < SCENARIOS; s++) {
		struct cpf_plugin *plugin = sim->plugins[s];

		if (s == AS_TOLD && sim->foreign)
			enter(sim, IN_SETUP);
		if (plugin->setup)
			plugin->setup(plugin->self, &sim->setup);
		if (s == AS_TOLD && sim->foreign)
			enter(sim, IN_INITIALIZE);
		if (plugin->Initialize)
			plugin->Initialize(plugin->self);
		sim->progress->in = IN_NOTHING;
	}
}

/* What the scenarios beside the first are told by. */
static const struct builtin *others(const struct sim *sim)
{
	return sim->alike ? find_builtin(sim->options->plugin) : &builtin_ideal;
}

int host_open(struct sim *sim)
{
	const struct builtin *builtin = find_builtin(sim->options->plugin);
	int error = make_setup(sim);

	if (error)
		return error;
	for (enum scenario s = IDEAL_BEFORE; s < SCENARIOS; s++)
		sim->plugins[s] = others(sim)->create(NULL, 0);
	if (!sim->plugins[IDEAL_BEFORE] || !sim->plugins[IDEAL_AFTER])
		return -ENOMEM;
	if (builtin) {
		sim->plugins[AS_TOLD] = builtin->create(sim->options->parameters, sim->options->nparameters);
		error = sim->plugins[AS_TOLD] ? 0 : -EINVAL;
	} else {
		sim->foreign = true;
		error = load(sim, sim->options->plugin);
	}
	if (!error)
		initialize(sim);
	return error;
}

void host_finalize(struct sim *sim)
{
	struct cpf_plugin *plugin = sim->plugins[AS_TOLD];

	if (sim->foreign)
		enter(sim, IN_FINALIZE);
	if (plugin->Finalize)
		plugin->Finalize(plugin->self);
	sim->progress->in = IN_NOTHING;
}

void host_close(struct sim *sim)
{
	const struct builtin *builtin = find_builtin(sim->options->plugin);

	for (enum scenario s = IDEAL_BEFORE; s < SCENARIOS; s++)
		if (sim->plugins[s])
			others(sim)->destroy(sim->plugins[s]);
	if (sim->plugins[AS_TOLD] && builtin) {
		builtin->destroy(sim->plugins[AS_TOLD]);
	} else if (sim->plugins[AS_TOLD]) {
		enter(sim, IN_DESTROY);
		library_destroy(sim->original);
		sim->progress->in = IN_NOTHING;
		free(sim->plugins[AS_TOLD]);
	}
	free((void *)sim->setup._singleRankFuncs);
	free((void *)sim->setup._threads);
	free((void *)sim->setup._stfPath);
}
