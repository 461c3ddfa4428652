/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * facts.c - what each probe means to a simulation, worked out once from its role and the meanings of its values.
 *
 * A role alone does not say whether a call has to do with the network: a function named by the user and one of MPI may
 * both be `function`. So a model counts as a parallel runtime's where one of its probes moves data to others; the calls
 * of such a model that involve one thread are the document's single rank functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "recording/lock_calls.h"
#include "recording/sleep_calls.h"
#include "simulate/parts.h"

struct name {
	UT_hash_handle hh;
	uint32_t number;
	char key[];
};

struct model_facts {
	bool parallel;      /* it moves data to others */
	bool shared_memory; /* one-sided transfers: a lock is the same in all processes */
	bool notifies;
	bool epochs; /* one-sided transfers go on between calls that say so */
	bool awaits; /* it can be waited for that a variable is set, or an event posted */
	bool tells;  /* such things can be done to somebody else */
	bool sleeps; /* it can be waited for something at an address of the process's own */
	bool wakes;  /* such a wait can be ended by another thread */
};

/* The number of a name, given in the order of appearance; NO_INDEX: out of memory. *fresh: it is new. */
static uint32_t number_of(struct name **names, const char *a, const char *b, uint32_t next, bool *fresh)
{
	size_t first = strlen(a) + 1, size = first + strlen(b);
	struct name *name = malloc(sizeof(*name) + size + 1), *known;

	if (!name)
		return NO_INDEX;
	memcpy(name->key, a, first);
	strcpy(name->key + first, b);
	HASH_FIND(hh, *names, name->key, size, known);
	*fresh = !known;
	if (known) {
		free(name);
		return known->number;
	}
	name->number = next;
	HASH_ADD_KEYPTR(hh, *names, name->key, size, name);
	if (!name->hh.tbl) {
		free(name);
		return NO_INDEX;
	}
	return next;
}

static void names_free(struct name *names)
{
	struct name *name, *next;

	HASH_ITER (hh, names, name, next) {
		HASH_DEL(names, name);
		free(name);
	}
}

struct sent_words span_words(const struct span *span)
{
	return (struct sent_words){ span->words, span->nwords, span->unread, span_returned(span) };
}

bool fact_number(const struct facts *facts, enum want want, const struct span *span, int64_t *number)
{
	struct sent_words sent = span_words(span);

	return answer_number(&facts->answers, want, &sent, number);
}

/*
 * The rank of the model's peer.nobody. What a recording has of it are values without a name: 0 bytes, where the peer is
 * that rank. Those of one file's functions have the same, and not all functions have such a value.
 */
static bool tells_of_nobody(const struct def_probe *probe, int64_t *nobody)
{
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];

		if (v->meaning == MEANING_BYTES && !value_is_shown(v) && v->valid_count == 32 &&
		    v->valid_equals == (uint32_t)-v->number) {
			*nobody = -v->number;
			return true;
		}
	}
	return false;
}

/* 0 or -ENOMEM. */
static int learn_nobody(struct sim *sim)
{
	size_t nimages = sim->d->nimages;
	struct nobody {
		bool known;
		int64_t rank;
	} *of = calloc(nimages + 1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->d->nprobes; i++) {
		const struct def_probe *probe = &sim->d->probes[i];

		if (probe->image < nimages && !of[probe->image].known)
			of[probe->image].known = tells_of_nobody(probe, &of[probe->image].rank);
	}
	for (uint32_t i = 0; i < sim->d->nprobes; i++) {
		const struct nobody *nobody =
			&of[sim->d->probes[i].image < nimages ? sim->d->probes[i].image : nimages];

		sim->facts[i].has_nobody = nobody->known;
		sim->facts[i].nobody = nobody->rank;
	}
	free(of);
	return 0;
}

bool fact_is_nobody(const struct facts *facts, enum want want, const struct span *span)
{
	bool returned = span_returned(span);

	for (unsigned i = 0; i < facts->answers.count[want]; i++) {
		const struct value *v = facts->answers.values[want][i].value;
		struct value_reading r = value_read(v, span->words, span->nwords, span->unread, returned);

		if (r.known)
			return r.none || (facts->has_nobody && r.number == facts->nobody);
	}
	return false;
}

bool call_found(const struct facts *facts, const struct span *span)
{
	int64_t done;

	return span_returned(span) &&
	       (!facts->answers.count[WANT_DONE] || (fact_number(facts, WANT_DONE, span, &done) && done));
}

/* --- kinds ---------------------------------------------------------------- */

static bool has_meaning(const struct def_probe *probe, enum meaning meaning)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == meaning)
			return true;
	return false;
}

/* Whether it waits, or says whether it would have to. */
static bool may_wait(const struct def_probe *probe)
{
	return probe->role == ROLE_WAIT || (probe->role == ROLE_TEST && has_meaning(probe, MEANING_DONE));
}

/* Nothing that is known by a name or handle: no request, lock, task or message. */
static bool names_nothing(const struct def_probe *probe)
{
	return !has_meaning(probe, MEANING_REQUEST) && !has_meaning(probe, MEANING_PEER) &&
	       !has_meaning(probe, MEANING_LOCK) && !has_meaning(probe, MEANING_TASK);
}

/* A wait for what is at an address. */
static bool awaits_variable(const struct def_probe *probe)
{
	return may_wait(probe) && has_meaning(probe, MEANING_PTR) && names_nothing(probe) &&
	       !(probe->marks & (MARK_EXPOSURE | MARK_ACCESS));
}

static bool is_store(enum role role)
{
	return role == ROLE_PUT || role == ROLE_COPY || role == ROLE_SET || role == ROLE_ATOMIC;
}

/* A message that other calls begin: a call that moves nothing, names the other side, and returns a handle for it. */
static int described_by(const struct def_probe *probe)
{
	bool returns_handle = false;

	for (uint32_t i = 0; i < probe->nvalues; i++)
		returns_handle |= probe->values[i].meaning == MEANING_REQUEST && probe->values[i].at_return;
	for (uint32_t i = 0; i < probe->nvalues && returns_handle && probe->role == ROLE_FUNCTION; i++)
		if (probe->values[i].meaning == MEANING_PEER)
			return probe->values[i].side == SIDE_RECV ? DESCRIBES_RECV : DESCRIBES_SEND;
	return DESCRIBES_NOTHING;
}

static void look_at_model(struct model_facts *model, const struct def_probe *probe)
{
	model->epochs |= (probe->marks & (MARK_EXPOSURE | MARK_ACCESS)) != 0;
	model->awaits |= awaits_variable(probe);
	model->sleeps |= call_sleeps_at_address(probe);
	model->wakes |= call_wakes_at_address(probe);
	model->tells |= has_meaning(probe, MEANING_PEER) && (probe->role == ROLE_EVENT || is_store(probe->role));
	model->shared_memory |= lock_call_reaches_others(probe);
	model->parallel |= lock_call_reaches_others(probe) || described_by(probe);
	switch (probe->role) {
	case ROLE_SEND:
	case ROLE_RECV:
	case ROLE_EXCHANGE:
	case ROLE_COLLECTIVE:
		model->parallel = true;
		break;
	case ROLE_NOTIFY:
		model->notifies = true;
		break;
	default:
		break;
	}
}

/* A wait that names nothing, in a model with a notify, is the other half of that. */
static bool is_split_wait(const struct def_probe *probe)
{
	return may_wait(probe) && names_nothing(probe) && !has_meaning(probe, MEANING_PTR);
}

static enum kind kind_of(const struct sim *sim, const struct def_probe *probe, const struct model_facts *model)
{
	if (sim->teller && probe->marks & (MARK_TEAM | MARK_SHARE))
		return KIND_NEST;
	switch (probe->role) {
	case ROLE_TASK:
		return KIND_NEST;
	case ROLE_FUNCTION:
	case ROLE_USER:
		return model->parallel ? KIND_LOCAL : KIND_NEST;
	case ROLE_SEND:
		return KIND_SEND;
	case ROLE_RECV:
		return KIND_RECV;
	case ROLE_EXCHANGE:
		return KIND_EXCHANGE;
	case ROLE_WAIT:
	case ROLE_TEST:
		return KIND_WAIT;
	case ROLE_BARRIER:
	case ROLE_COLLECTIVE:
		return KIND_COLLECTIVE;
	case ROLE_NOTIFY:
		return KIND_NOTIFY;
	case ROLE_READ:
	case ROLE_WRITE:
		return KIND_ALONE;
	case ROLE_GET:
	case ROLE_PUT:
	case ROLE_COPY:
	case ROLE_SET:
	case ROLE_ATOMIC:
		/* What goes to nobody else is memory. */
		return has_meaning(probe, MEANING_PEER) ? KIND_ONE_SIDED : KIND_ALONE;
	case ROLE_FENCE:
		return model->parallel ? KIND_ONE_SIDED : KIND_ALONE;
	case ROLE_ACQUIRE:
	case ROLE_TRY:
	case ROLE_RELEASE:
		if (has_meaning(probe, MEANING_PEER) || (model->parallel && !has_meaning(probe, MEANING_LOCK)))
			return model->parallel ? KIND_ONE_SIDED : KIND_ALONE;
		return probe->role == ROLE_ACQUIRE ? KIND_ACQUIRE : probe->role == ROLE_TRY ? KIND_TRY : KIND_RELEASE;
	default:
		return model->parallel ? KIND_LOCAL : KIND_ALONE;
	}
}

/* What is told to whom is for somebody else: without a peer it is the process's own affair. */
static enum signal signal_of(const struct def_probe *probe, const struct model_facts *model)
{
	bool of = has_meaning(probe, MEANING_PTR), peer = has_meaning(probe, MEANING_PEER);

	switch (probe->role) {
	case ROLE_WINDOW:
		return model->epochs && of && has_meaning(probe, MEANING_COMM) ? SIGNAL_WINDOW : SIGNAL_NONE;
	case ROLE_EVENT:
		return probe->marks & MARK_EXPOSURE                    ? SIGNAL_EXPOSE
		       : model->awaits && peer                         ? SIGNAL_NOTIFY
		       : model->sleeps && call_wakes_at_address(probe) ? SIGNAL_WAKE
								       : SIGNAL_NONE;
	case ROLE_WAIT:
	case ROLE_TEST:
		if (probe->marks & (MARK_ACCESS | MARK_EXPOSURE))
			return probe->marks & MARK_ACCESS ? SIGNAL_BEGIN : SIGNAL_EXPOSED;
		return model->tells && awaits_variable(probe)          ? SIGNAL_AWAIT
		       : model->wakes && call_sleeps_at_address(probe) ? SIGNAL_SLEEP
								       : SIGNAL_NONE;
	case ROLE_FENCE:
		return probe->marks & MARK_ACCESS ? SIGNAL_COMPLETE
		       : model->epochs && peer    ? SIGNAL_TRANSFER
						  : SIGNAL_NONE;
	case ROLE_GET:
		return model->epochs && peer ? SIGNAL_TRANSFER : SIGNAL_NONE;
	case ROLE_PUT:
	case ROLE_COPY:
	case ROLE_SET:
	case ROLE_ATOMIC:
		return !peer           ? SIGNAL_NONE
		       : model->epochs ? SIGNAL_TRANSFER
		       : model->awaits ? SIGNAL_STORE
				       : SIGNAL_NONE;
	case ROLE_ACQUIRE:
		return peer && has_meaning(probe, MEANING_LOCK) ? SIGNAL_LOCK : SIGNAL_NONE;
	case ROLE_RELEASE:
		return peer && has_meaning(probe, MEANING_LOCK) ? SIGNAL_UNLOCK : SIGNAL_NONE;
	default:
		return SIGNAL_NONE;
	}
}

static uint32_t one_sided_kind(enum role role)
{
	switch (role) {
	case ROLE_GET:
		return CPF_GET;
	case ROLE_PUT:
	case ROLE_SET:
		return CPF_PUT;
	case ROLE_COPY:
		return CPF_COPY;
	case ROLE_ATOMIC:
		return CPF_ATOMIC;
	default:
		return CPF_FENCE;
	}
}

static bool speaks_of(const struct def_probe *probe, enum side side)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].side == side)
			return true;
	return false;
}

/* Where there may be none, all get what else the root gets. */
static bool root_may_be_none(const struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == MEANING_ROOT && probe->values[i].has_none)
			return true;
	return false;
}

/* A root sends to all or receives from all: by the side that each of the others has; with neither, an operator says
 * that it receives, and so does that there may be none. */
static uint32_t collective_classes(const struct def_probe *probe)
{
	uint32_t classes = CPF_IS_COLLECTIVE | (has_meaning(probe, MEANING_OP) ? CPF_IS_REDUCTION : 0);

	if (probe->role == ROLE_BARRIER)
		return classes | CPF_IS_ALL;
	if (!has_meaning(probe, MEANING_ROOT))
		return classes | CPF_IS_ALL_TO_ALL;
	if (speaks_of(probe, SIDE_RECV))
		return classes | CPF_IS_ONE_TO_ALL;
	return classes | (speaks_of(probe, SIDE_SEND) || has_meaning(probe, MEANING_OP) || root_may_be_none(probe)
				  ? CPF_IS_ALL_TO_ONE
				  : CPF_IS_ONE_TO_ALL);
}

static uint32_t classes_of(const struct facts *facts, const struct def_probe *probe)
{
	uint32_t begins = facts->begins ? CPF_IS_NON_BLOCKING : 0;

	switch (facts->kind) {
	case KIND_NEST:
		return CPF_IS_APPLICATION | (facts->task ? CPF_IS_TASK : 0);
	case KIND_ALONE:
		return CPF_IS_APPLICATION;
	case KIND_LOCAL:
		return CPF_IS_SINGLE_RANK;
	case KIND_SEND:
		return begins | CPF_IS_P2P | CPF_IS_SEND | (facts->sync ? CPF_IS_SYNC_SEND : 0);
	case KIND_RECV:
		return begins | CPF_IS_P2P | CPF_IS_RECV;
	case KIND_EXCHANGE:
		return begins | CPF_IS_P2P | CPF_IS_SEND_RECV;
	case KIND_WAIT:
		return CPF_IS_WAIT | (facts->split ? CPF_IS_SPLIT_PHASE : CPF_IS_SINGLE_RANK);
	case KIND_COLLECTIVE:
		return begins | collective_classes(probe);
	case KIND_NOTIFY:
		return CPF_IS_SPLIT_PHASE | CPF_IS_NON_BLOCKING;
	case KIND_ONE_SIDED:
		return CPF_IS_ONE_SIDED;
	default:
		return CPF_IS_LOCK;
	}
}

/* --- all of it ------------------------------------------------------------ */

static bool names_at(const struct def_probe *probe, enum meaning meaning, bool at_return)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == meaning && probe->values[i].at_return == at_return)
			return true;
	return false;
}

/* A wait for a message that names no request: nothing has been asked for yet. */
static bool finds_message(const struct def_probe *probe)
{
	return (probe->role == ROLE_WAIT || probe->role == ROLE_TEST) && names_at(probe, MEANING_PEER, false) &&
	       has_meaning(probe, MEANING_COMM) && !names_at(probe, MEANING_REQUEST, false);
}

/* A wait for ranks, and for nothing that they have begun. */
static bool waits_for_ranks(const struct def_probe *probe)
{
	return probe->role == ROLE_WAIT && names_at(probe, MEANING_PEER, false) && !has_meaning(probe, MEANING_COMM) &&
	       !has_meaning(probe, MEANING_REQUEST) && !has_meaning(probe, MEANING_TAG);
}

static bool receives_taken(const struct def_probe *probe)
{
	return probe->role == ROLE_RECV && !names_at(probe, MEANING_PEER, false) && !has_meaning(probe, MEANING_COMM) &&
	       (names_at(probe, MEANING_REQUEST, false) || !has_meaning(probe, MEANING_TAG));
}

static uint64_t family_of(const struct def_probe *probe)
{
	if (probe->role != ROLE_ACQUIRE && probe->role != ROLE_TRY && probe->role != ROLE_RELEASE)
		return 0;
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == MEANING_LOCK)
			return 0;
	return lock_call_family(1, probe->event) | 1;
}

static int learn_probe(struct sim *sim, uint32_t index, const struct model_facts *model)
{
	const struct def_probe *probe = &sim->d->probes[index];
	struct facts *facts = &sim->facts[index];
	int error = answers_find(&facts->answers, probe->role, probe->values, probe->nvalues);

	if (error)
		return error;
	facts->kind = kind_of(sim, probe, model);
	facts->role = probe->role;
	facts->task = probe->role == ROLE_TASK;
	facts->test = probe->role == ROLE_TEST;
	facts->takes = finds_message(probe) && names_at(probe, MEANING_REQUEST, true);
	facts->finds = finds_message(probe) && !facts->takes && sim->teller; /* plug-ins know no such message */
	facts->pairs = waits_for_ranks(probe) && sim->teller;                /* nor such waits */
	facts->taken = receives_taken(probe);
	facts->sync = probe->marks & MARK_SYNC;
	facts->split = model->notifies && is_split_wait(probe);
	facts->global_locks = model->shared_memory;
	facts->family = family_of(probe);
	facts->describes = described_by(probe);
	facts->starts = probe_begins_described(probe);
	facts->fences = probe->role == ROLE_BARRIER && probe->marks & MARK_EXPOSURE;
	facts->team = probe->marks & MARK_TEAM && !(probe->marks & MARK_INNER);
	facts->share = probe->marks & MARK_SHARE && !(probe->marks & MARK_INNER);
	facts->signal = signal_of(probe, model);
	facts->fence = one_sided_kind(probe->role);
	for (uint32_t i = 0; i < probe->nvalues; i++)
		facts->begins |= probe->values[i].meaning == MEANING_REQUEST && probe->values[i].at_return &&
				 facts->kind != KIND_WAIT; /* one that finds a message returns a handle for it */
	facts->payload = payload_plan_new(probe->role, probe->values, probe->nvalues);
	sim->functions[facts->func].classes |= classes_of(facts, probe);
	return facts->payload ? 0 : -ENOMEM;
}

static int number_functions(struct sim *sim, struct name **events, struct name **models, struct model_facts *model)
{
	uint32_t nmodels = 0;
	bool fresh;

	sim->functions[CPF_APPLICATION] = (struct cpf_function){ "APPLICATION", 0, CPF_IS_APPLICATION };
	sim->functions[CPF_NON_TRACING] = (struct cpf_function){ "NON_TRACING", 0, 0 };
	sim->nfunctions = 2;
	for (uint32_t i = 0; i < sim->d->nprobes; i++) {
		const struct def_probe *probe = &sim->d->probes[i];
		const char *event = probe->event ? probe->event : "?", *name = probe->model ? probe->model : "";
		uint32_t number = number_of(models, name, "", nmodels, &fresh);

		if (number == NO_INDEX)
			return -ENOMEM;
		nmodels += fresh;
		sim->facts[i].model = number;
		look_at_model(&model[number], probe);
		number = number_of(events, event, name, sim->nfunctions, &fresh);
		if (number == NO_INDEX)
			return -ENOMEM;
		sim->facts[i].func = number;
		if (fresh)
			sim->functions[sim->nfunctions++] = (struct cpf_function){ event, probe->number, 0 };
	}
	return 0;
}

int facts_open(struct sim *sim)
{
	struct name *events = NULL, *models = NULL;
	struct model_facts *model = calloc(sim->d->nprobes + 1, sizeof(*model));
	int error = -ENOMEM;

	sim->facts = calloc(sim->d->nprobes + 1, sizeof(*sim->facts));
	sim->functions = calloc(sim->d->nprobes + 2, sizeof(*sim->functions));
	if (model && sim->facts && sim->functions)
		error = number_functions(sim, &events, &models, model);
	for (uint32_t i = 0; i < sim->d->nprobes && !error; i++)
		error = learn_probe(sim, i, &model[sim->facts[i].model]);
	if (!error)
		error = learn_nobody(sim);
	names_free(events);
	names_free(models);
	free(model);
	return error;
}

void facts_close(struct sim *sim)
{
	for (uint32_t i = 0; sim->facts && i < sim->d->nprobes; i++) {
		answers_free(&sim->facts[i].answers);
		payload_plan_free(sim->facts[i].payload);
	}
	free(sim->facts);
	free(sim->functions);
}
