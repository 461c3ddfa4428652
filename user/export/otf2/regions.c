/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions.c - what the calls of each probe are to OTF2: a region, its role, an operation.
 *
 * Names of runtimes are those that models have and those that OTF2 has; what none of them knows is of no paradigm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/otf2/parts.h"

#define PROCESSES OTF2_PARADIGM_CLASS_PROCESS

const struct paradigm paradigms[] = {
	{ "mpi", OTF2_PARADIGM_MPI, "MPI", PROCESSES, "rank" },
	{ "shmem", OTF2_PARADIGM_SHMEM, "SHMEM", PROCESSES, "PE" },
	{ "upc", OTF2_PARADIGM_UPC, "UPC", PROCESSES, "thread" },
	{ "bupc", OTF2_PARADIGM_UPC, "UPC", PROCESSES, "thread" },
	{ "crayupc", OTF2_PARADIGM_UPC, "UPC", PROCESSES, "thread" },
	{ "xlupc", OTF2_PARADIGM_UPC, "UPC", PROCESSES, "thread" },
	{ "caf", OTF2_PARADIGM_UNKNOWN, "CAF", PROCESSES, "image" },
	{ "gasnet", OTF2_PARADIGM_UNKNOWN, "GASNet", PROCESSES, "node" },
	{ "ga", OTF2_PARADIGM_UNKNOWN, "GA", PROCESSES, "process" },
	{ "armci", OTF2_PARADIGM_UNKNOWN, "ARMCI", PROCESSES, "process" },
	{ "openmp", OTF2_PARADIGM_OPENMP, "OpenMP", OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN, NULL },
	{ "pthread", OTF2_PARADIGM_PTHREAD, "PTHREAD", OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT, NULL },
	{ "tbb", OTF2_PARADIGM_TBBTHREAD, "TBB", OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN, NULL },
	{ "opencl", OTF2_PARADIGM_OPENCL, "OpenCL", OTF2_PARADIGM_CLASS_ACCELERATOR, NULL },
	{ "user", OTF2_PARADIGM_USER, "USER", OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN, NULL },
	{ NULL, OTF2_PARADIGM_UNKNOWN, "other", OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN, NULL },
};

static const struct paradigm *paradigm_of(const char *model)
{
	const struct paradigm *p = paradigms;

	while (p->model && (!model || strcmp(p->model, model)))
		p++;
	return p;
}

const struct paradigm *paradigm_of_unit(const char *unit)
{
	const struct paradigm *p = paradigms;

	while (p->model && (!p->unit || !unit || strcmp(p->unit, unit)))
		p++;
	return p;
}

/* What an operation is called, in any runtime. */
static const struct operation {
	const char *name;
	OTF2_CollectiveOp operation;
	OTF2_RegionRole role;
} operations[] = {
	{ "BCAST", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL },
	{ "BROADCAST", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL },
	{ "BRDCST", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL },
	{ "GATHER", OTF2_COLLECTIVE_OP_GATHER, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "GATHERV", OTF2_COLLECTIVE_OP_GATHERV, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "SCATTER", OTF2_COLLECTIVE_OP_SCATTER, OTF2_REGION_ROLE_COLL_ONE2ALL },
	{ "SCATTERV", OTF2_COLLECTIVE_OP_SCATTERV, OTF2_REGION_ROLE_COLL_ONE2ALL },
	{ "ALLGATHER", OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "GATHER_ALL", OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "FCOLLECT", OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "ALLGATHERV", OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "COLLECT", OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "ALLTOALL", OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "ALLTOALLS", OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "EXCHANGE", OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "ALLTOALLV", OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "ALLTOALLW", OTF2_COLLECTIVE_OP_ALLTOALLW, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "ALLREDUCE", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "REDUCE_TO_ALL", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "GOP", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "REDUCE", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "REDUCE_TO_ONE", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "SUM", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "MIN", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "MAX", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE },
	{ "REDUCE_SCATTER", OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "REDUCE_SCATTER_BLOCK", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, OTF2_REGION_ROLE_COLL_ALL2ALL },
	{ "SCAN", OTF2_COLLECTIVE_OP_SCAN, OTF2_REGION_ROLE_COLL_OTHER },
	{ "PREFIX_REDUCE", OTF2_COLLECTIVE_OP_SCAN, OTF2_REGION_ROLE_COLL_OTHER },
	{ "EXSCAN", OTF2_COLLECTIVE_OP_EXSCAN, OTF2_REGION_ROLE_COLL_OTHER },
};

static const struct operation barrier = { "BARRIER", OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_BARRIER };

static const struct operation *find_operation(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (strlen(operations[i].name) == length && !strncmp(operations[i].name, name, length))
			return &operations[i];
	return NULL;
}

/* The last words of an event's name are those of the operation, with an I before it or _NB behind where it is only
 * begun. NULL: none that OTF2 knows. */
static const struct operation *operation_of(const struct def_probe *probe, bool begins)
{
	const char *name = probe->event ? probe->event : "", *end = name + strlen(name);
	const struct operation *found = NULL;

	if (probe->role == ROLE_BARRIER)
		return &barrier;
	if (probe->role != ROLE_COLLECTIVE || strstr(name, "NEIGHBOR"))
		return NULL;
	if (end - name > 3 && !strcmp(end - 3, "_NB"))
		end -= 3;
	for (; name && !found; name = strchr(name, '_')) {
		name += *name == '_';
		found = find_operation(name, end - name);
		if (!found && begins && *name == 'I')
			found = find_operation(name + 1, end - name - 1);
	}
	return found;
}

static OTF2_RegionRole collective_role(const struct otf2 *o, uint32_t probe)
{
	const struct def_probe *def = &o->d->probes[probe];
	const struct operation *operation = operation_of(def, o->regions[probe].begins);

	return operation ? operation->role : OTF2_REGION_ROLE_COLL_OTHER;
}

static OTF2_RegionRole wait_role(const struct otf2 *o, uint32_t probe)
{
	const struct answers *answers = &o->regions[probe].answers;

	return answers->count[WANT_REQUEST] ? OTF2_REGION_ROLE_POINT2POINT
	       : answers->count[WANT_TASK]  ? OTF2_REGION_ROLE_TASK_WAIT
	       : o->regions[probe].paradigm->class == OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN ? OTF2_REGION_ROLE_TASK_WAIT
											   : OTF2_REGION_ROLE_FUNCTION;
}

OTF2_RegionRole otf2_region_role(const struct otf2 *o, uint32_t probe)
{
	switch (o->d->probes[probe].role) {
	case ROLE_BARRIER:
	case ROLE_COLLECTIVE:
		return collective_role(o, probe);
	case ROLE_SEND:
	case ROLE_RECV:
	case ROLE_EXCHANGE:
		return OTF2_REGION_ROLE_POINT2POINT;
	case ROLE_WAIT:
	case ROLE_TEST:
		return wait_role(o, probe);
	case ROLE_GET:
	case ROLE_PUT:
	case ROLE_COPY:
	case ROLE_SET:
	case ROLE_ATOMIC:
	case ROLE_FENCE:
	case ROLE_WINDOW:
		return OTF2_REGION_ROLE_RMA;
	case ROLE_TRANSFER:
		return OTF2_REGION_ROLE_DATA_TRANSFER;
	case ROLE_ALLOC:
		return OTF2_REGION_ROLE_ALLOCATE;
	case ROLE_REALLOC:
		return OTF2_REGION_ROLE_REALLOCATE;
	case ROLE_FREE:
		return OTF2_REGION_ROLE_DEALLOCATE;
	case ROLE_TASK:
		return o->d->probes[probe].marks & MARK_TEAM ? OTF2_REGION_ROLE_PARALLEL : OTF2_REGION_ROLE_TASK;
	case ROLE_SUBMIT:
		return OTF2_REGION_ROLE_TASK_CREATE;
	case ROLE_READ:
	case ROLE_WRITE:
		return OTF2_REGION_ROLE_FILE_IO;
	case ROLE_IO:
		return OTF2_REGION_ROLE_FILE_IO_METADATA;
	default:
		return o->d->probes[probe].marks & MARK_TEAM ? OTF2_REGION_ROLE_PARALLEL : OTF2_REGION_ROLE_FUNCTION;
	}
}

const char *otf2_region_name(const struct def_probe *probe, size_t *length)
{
	const char *name = probe->symbol ? probe->symbol : probe->event ? probe->event : "?";
	const char *alias = probe->aliases ? probe->aliases : "";

	*length = strlen(name);
	while (*alias) {
		size_t size = strcspn(alias, " ");

		if (size && size < *length) {
			name = alias;
			*length = size;
		}
		alias += size + (alias[size] == ' ');
	}
	return name;
}

/* Calls of one event by one name are one region. */
static int name_region(struct otf2 *o, uint32_t probe)
{
	const struct def_probe *def = &o->d->probes[probe];
	struct event_key key = event_key_of(def, def->marks & MARK_INNER);
	size_t length;
	const char *name = otf2_region_name(def, &length);
	char *function = strndup(name, length);
	uint32_t number;

	if (!function)
		return -ENOMEM;
	key.function = function;
	number = event_names_number(&o->names, &key);
	free(function);
	if (number == NO_INDEX)
		return -ENOMEM;
	if (!o->region_probe[number])
		o->region_probe[number] = probe + 1;
	o->regions[probe].number = number;
	return 0;
}

static int learn_region(struct otf2 *o, uint32_t probe)
{
	const struct def_probe *def = &o->d->probes[probe];
	struct region *region = &o->regions[probe];
	const struct operation *operation;
	int error = name_region(o, probe);

	if (error)
		return error;
	region->paradigm = paradigm_of(def->model);
	region->inner = def->marks & MARK_INNER;
	region->names_comm = probe_value(def, MEANING_COMM) >= 0;
	for (uint32_t i = 0; i < def->nvalues; i++)
		region->begins |= def->values[i].meaning == MEANING_REQUEST && def->values[i].at_return;
	operation = operation_of(def, region->begins);
	region->operation = operation ? operation->operation : OTF2_UNDEFINED_UINT8;
	region->completes = !region->begins && !has_windows(region->paradigm) &&
			    !(def->event && strstr(def->event, "_NB"));
	region->payload = payload_plan_new(def->role, def->values, def->nvalues);
	if (!region->payload)
		return -ENOMEM;
	return answers_find(&region->answers, def->role, def->values, def->nvalues);
}

int otf2_regions_open(struct otf2 *o)
{
	int error = 0;

	o->regions = calloc(o->d->nprobes + 1, sizeof(*o->regions));
	o->region_probe = calloc(o->d->nprobes + 1, sizeof(*o->region_probe));
	if (!o->regions || !o->region_probe)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->d->nprobes && !error; i++)
		error = learn_region(o, i);
	return error;
}

void otf2_regions_close(struct otf2 *o)
{
	for (size_t i = 0; o->regions && i < o->d->nprobes; i++) {
		answers_free(&o->regions[i].answers);
		payload_plan_free(o->regions[i].payload);
	}
	event_names_free(&o->names);
	free(o->regions);
	free(o->region_probe);
}
