/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queries.c - what tools ask while they are called (include/gaspbpf_tool.h), and pointers-to-shared that a call has
 * taken apart.
 *
 * A compiler that knows which thread an access goes to may pass that thread and an offset instead of a
 * pointer-to-shared. The model has the thread as @peer, and the offset right behind it. That is all there is, and it is
 * what most tools want to know, so it is told as a pointer-to-shared: with the bits in the places where the other calls
 * of that runtime have them, as far as such calls are known, and else as { address, thread, phase }.
 */
#include <string.h>

#include "gaspbpf_tool.h"
#include "meaning/value.h"
#include "toolhost/call.h"
#include "toolhost/host.h"

static const struct host *asked; /* the functions have no context */

void asked_begin(const struct host *h)
{
	asked = h;
}

/* --- who --------------------------------------------------------------------------------- */

static const struct def_process *own_process(void)
{
	const struct def_thread *thread = asked && asked->about < asked->d.nthreads ? &asked->d.threads[asked->about]
										    : NULL;

	return thread && thread->process < asked->d.nprocesses ? &asked->d.processes[thread->process] : NULL;
}

int gaspbpf_rank(void)
{
	const struct def_process *p = own_process();

	return p ? (int)p->rank : -1;
}

int gaspbpf_ranks(void)
{
	const struct def_process *p = own_process();

	return p ? (int)p->ranks : -1;
}

/* --- where ---------------------------------------------------------------------------------- */

int gaspbpf_thread_of(const void *pts)
{
	const struct argument *a = call_shared(pts);

	return a && a->decoded ? (int)a->thread : -1;
}

int64_t gaspbpf_phase_of(const void *pts)
{
	const struct argument *a = call_shared(pts);

	return a && a->decoded && a->known ? (int64_t)a->phase : -1;
}

uint64_t gaspbpf_address_of(const void *pts)
{
	const struct argument *a = call_shared(pts);

	return a && a->decoded ? a->address : UINT64_MAX;
}

/* --- taken apart -------------------------------------------------------------------------------- */

/* Where other calls of this runtime have the parts. NULL: none does. */
static const char *decoder_of(const struct host *h, const struct def_probe *probe)
{
	for (size_t i = 0; i < h->d.nprobes; i++) {
		const struct def_probe *other = &h->d.probes[i];

		if (other->image != probe->image || strcmp(other->model, probe->model))
			continue;
		for (uint32_t k = 0; k < other->nvalues; k++)
			if (other->values[k].decoder && value_is_shared(&other->values[k]))
				return other->values[k].decoder;
	}
	return NULL;
}

static bool read_plain(const struct host *h, const struct value *v, int64_t *number)
{
	struct value_reading r = value_read(v, h->span.words, h->span.nwords, h->span.unread,
					    h->span.reason == GB_END_RETURN);

	*number = r.number;
	return r.known && !r.none;
}

/* The value that says whose memory the argument is in. */
static uint32_t find_peer(const struct def_probe *probe, const struct argument *a)
{
	enum side side = !strcmp(a->name, "src") ? SIDE_RECV : SIDE_SEND;

	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];

		if (v->meaning == MEANING_PEER && !v->decoder && (v->side == SIDE_NONE || v->side == side))
			return i;
	}
	return NO_INDEX;
}

static void put_together(const struct host *h, const struct def_probe *probe, struct argument *a)
{
	uint32_t peer = find_peer(probe, a);
	uint64_t words[2];
	int64_t thread, offset = 0;

	if (peer == NO_INDEX || !read_plain(h, &probe->values[peer], &thread) || thread < 0)
		return;
	for (uint32_t i = peer + 1; i < probe->nvalues; i++)
		if (probe->values[i].meaning == MEANING_PLAIN && !probe->values[i].at_return) {
			read_plain(h, &probe->values[i], &offset);
			break;
		}
	value_encode_shared(decoder_of(h, probe), (uint64_t)thread, (uint64_t)offset, words);
	a->word = words[0];
	a->high = words[1];
	a->thread = (uint64_t)thread;
	a->address = (uint64_t)offset;
	a->decoded = true;
}

void asked_complete(const struct host *h, struct argument *arguments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (arguments[i].kind == ARGUMENT_SHARED && !arguments[i].known)
			put_together(h, host_probe(h), &arguments[i]);
}
