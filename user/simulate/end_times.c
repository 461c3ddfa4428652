/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * end_times.c - what the plug-ins are asked, and what ends are taken where they say nothing.
 *
 * Where a call waited for others, what it did after the last of them had come is kept, not how long it lasted: a
 * receive that waited 10 ms for its message and took 1 us to take it in still takes 1 us when the message comes
 * earlier. Where that makes no sense (it ended before the other began), its duration is kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/asking.h"
#include "simulate/parts.h"
#include "util/log.h"

const char *const callback_names[CALLBACKS] = {
	[IN_NOTHING] = "no function",
	[IN_CREATE] = "cpf_create",
	[IN_SETUP] = "setup",
	[IN_INITIALIZE] = "Initialize",
	[IN_FINALIZE] = "Finalize",
	[IN_DESTROY] = "cpf_destroy",
	[IN_FUNCTION] = "ProcessFunctionEvent",
	[IN_NON_TRACING] = "ProcessNonTracingEvent",
	[IN_MPI] = "ProcessMPIFunctionEvent",
	[IN_COLLOP] = "ProcessCollOp",
	[IN_P2P] = "ProcessP2P",
	[IN_SEND] = "ProcessNonBlockingSend",
	[IN_WAIT] = "ProcessP2PWaitAllSome",
	[IN_ONE_SIDED] = "ProcessOneSided",
	[IN_LOCK] = "ProcessLock",
	[IN_SPLIT] = "ProcessSplitPhase",
	[IN_TASK] = "ProcessTask",
	[IN_UNMATCHED] = "ProcessUnmatched",
	[IN_SYNCHRONOUS] = "SendIsSynchronous",
};

/* --- calling ------------------------------------------------------------------ */

int plugin_broke(struct sim *sim, enum callback in, const char *what, uint32_t thread, uint64_t start, uint64_t end)
{
	log_error("%s: %s: %s (thread %u, start %llu, end %llu): correct the plug-in", log_safe(sim->options->plugin),
		  callback_names[in], what, thread, (unsigned long long)start, (unsigned long long)end);
	sim->progress->broken = 1;
	return -EPROTO;
}

const char plugin_changed[] = "it changed what is constant";

/* --- what one thread does ---------------------------------------------------------- */

typedef void event_callback(void *self, struct cpf_func_event *event);

static int call_event(struct sim *sim, enum scenario s, enum callback in, event_callback *callback,
		      struct cpf_func_event *event, uint64_t *end)
{
	struct cpf_func_event before = *event;

	plugin_enter(sim, s, in);
	callback(sim->plugins[s]->self, event);
	plugin_leave(sim, s);
	before._endTime = event->_endTime;
	if (memcmp(&before, event, sizeof(before)))
		return plugin_broke(sim, in, plugin_changed, before._threadID, before._startTime, before._endTime);
	*end = event->_endTime;
	return plugin_check_end(sim, in, event->_threadID, event->_startTime, *end);
}

static int call_task(struct sim *sim, enum scenario s, struct cpf_task *task, uint64_t *end)
{
	struct cpf_task before = *task;

	if (sim->plugins[s]->ProcessTask) {
		plugin_enter(sim, s, IN_TASK);
		sim->plugins[s]->ProcessTask(sim->plugins[s]->self, task);
		plugin_leave(sim, s);
		before._endTime = task->_endTime;
		if (memcmp(&before, task, sizeof(before)))
			return plugin_broke(sim, IN_TASK, plugin_changed, before._threadID, before._startTime,
					    before._endTime);
	}
	*end = task->_endTime;
	return plugin_check_end(sim, IN_TASK, before._threadID, before._startTime, *end);
}

int ask_work(struct sim *sim, struct sim_thread *thread, uint32_t index, uint64_t duration, bool traced)
{
	uint32_t probe = thread->nnest ? thread->nest[thread->nnest - 1] : NO_INDEX;
	uint32_t func = !traced ? CPF_NON_TRACING : probe == NO_INDEX ? CPF_APPLICATION : sim->facts[probe].func;
	uint64_t start = thread->now.at[AS_TOLD], end;
	int error;

	if (traced && probe != NO_INDEX && sim->facts[probe].task) {
		struct cpf_task task = { index,
					 func,
					 thread->tasks[thread->nnest - 1],
					 thread->workers[thread->nnest - 1],
					 start,
					 start + duration };

		error = call_task(sim, AS_TOLD, &task, &end);
	} else {
		const struct cpf_plugin *plugin = sim->plugins[AS_TOLD];
		enum callback in = traced ? IN_FUNCTION : IN_NON_TRACING;
		event_callback *callback = traced ? plugin->ProcessFunctionEvent : plugin->ProcessNonTracingEvent;

		end = start + duration;
		if (callback) {
			struct cpf_func_event event = plugin_event(index, func, 0, 0, start, end);

			error = call_event(sim, AS_TOLD, in, callback, &event, &end);
		} else {
			error = plugin_check_end(sim, in, index, start, end);
		}
	}
	if (error)
		return error;
	thread->useful += duration;
	thread->useful_after += end - start;
	thread->now.at[AS_TOLD] = end;
	thread->now.at[IDEAL_BEFORE] += duration;
	thread->now.at[IDEAL_AFTER] += end - start;
	return 0;
}

/* A call that has nothing to do with others: the program's (alone), the runtime's, or one of which nothing is known. */
static int ask_event(struct sim *sim, struct op *op, enum callback in)
{
	for (enum scenario s = 0; s < sim->scenarios; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], end = start + (op->end - op->start);
		event_callback *callback = in == IN_FUNCTION ? plugin->ProcessFunctionEvent
					   : in == IN_MPI    ? plugin->ProcessMPIFunctionEvent
							     : plugin->ProcessUnmatched;
		int error;

		if (callback) {
			struct cpf_func_event event = plugin_event(op->thread, op->func, op->sent, op->received, start,
								   end);

			error = call_event(sim, s, in, callback, &event, &end);
		} else {
			error = plugin_check_end(sim, in, op->thread, start, end);
		}
		if (error)
			return error;
		op->new_end.at[s] = end;
	}
	return 0;
}

int ask_alone(struct sim *sim, struct op *op)
{
	int error = ask_event(sim, op, op->kind == KIND_ALONE ? IN_FUNCTION : IN_MPI);

	if (op->kind == KIND_ALONE && !error) {
		/* Work, too: the ideal network after the plug-in has the plug-in's. */
		op->new_end.at[IDEAL_AFTER] = op->new_start.at[IDEAL_AFTER] + op->new_end.at[AS_TOLD] -
					      op->new_start.at[AS_TOLD];
		sim->threads[op->thread].useful += op->end - op->start;
		sim->threads[op->thread].useful_after += op->new_end.at[AS_TOLD] - op->new_start.at[AS_TOLD];
	}
	return error;
}

int ask_unmatched(struct sim *sim, struct op *op)
{
	if (op->kind == KIND_WAIT && !op->nhalves)
		sim->counts.unknown_waits++;
	return ask_event(sim, op, IN_UNMATCHED);
}

/* --- messages ---------------------------------------------------------------------- */

static uint32_t first_thread(const struct sim *sim, uint32_t process)
{
	return process < sim->d->nprocesses ? sim->processes[process].first_thread : CPF_NONE;
}

static struct cpf_p2p message_of(const struct sim *sim, const struct half *send, const struct half *receive,
				 enum scenario s, uint64_t wait_start, uint32_t valid, uint64_t send_end,
				 uint64_t receive_end)
{
	return (struct cpf_p2p){
		._sendStartTime = send->new_start.at[s],
		._sendEndTime = send_end,
		._recvStartTime = wait_start,
		._recvEndTime = receive_end,
		._iRecvStartTime = receive && valid & CPF_IRECV_START ? receive->new_start.at[s] : 0,
		._backwards = receive && receive->backwards,
		._sender = send->thread,
		._receiver = receive ? receive->thread : first_thread(sim, send->partner),
		._communicator = send->comm,
		._tag = send->tag,
		._valid = valid,
		._messageSize = send->bytes ? send->bytes
				: receive   ? receive->bytes
					    : 0,
		._sendFID = send->func,
		._recvFID = receive ? receive->func : CPF_NONE,
	};
}

static int check_message(struct sim *sim, enum callback in, const struct cpf_p2p *before, const struct cpf_p2p *after)
{
	struct cpf_p2p same = *before;
	int error = 0;

	if (same._valid & CPF_SEND_END_SET)
		same._sendEndTime = after->_sendEndTime;
	if (same._valid & CPF_RECV_END_SET)
		same._recvEndTime = after->_recvEndTime;
	if (memcmp(&same, after, sizeof(same)))
		return plugin_broke(sim, in, plugin_changed, same._receiver, same._recvStartTime, same._recvEndTime);
	if (same._valid & CPF_SEND_END_SET)
		error = plugin_check_end(sim, in, same._sender, same._sendStartTime, same._sendEndTime);
	if (same._valid & CPF_RECV_END_SET && !error)
		error = plugin_check_end(sim, in, same._receiver, same._recvStartTime, same._recvEndTime);
	return error;
}

bool ask_synchronous(struct sim *sim, const struct half *send)
{
	const struct cpf_plugin *plugin = sim->plugins[AS_TOLD];

	if (!plugin->SendIsSynchronous || send->alone)
		return false;
	struct cpf_p2p message = message_of(sim, send, send->other, AS_TOLD, 0, 0, 0, 0);
	bool yes;

	plugin_enter(sim, AS_TOLD, IN_SYNCHRONOUS);
	yes = plugin->SendIsSynchronous(plugin->self, &message);
	plugin_leave(sim, AS_TOLD);
	return yes;
}

int ask_send(struct sim *sim, struct op *op)
{
	struct half *send = op->send;

	for (enum scenario s = 0; s < sim->scenarios; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], end = start + (op->recv ? 0 : op->end - op->start);

		if (plugin->ProcessNonBlockingSend) {
			struct cpf_func_event event = plugin_event(op->thread, op->func, op->sent, 0, start, end),
					      event_before = event;
			struct cpf_p2p message = message_of(sim, send, send->other, s, 0,
							    CPF_SEND_END | CPF_SEND_END_SET, end, 0),
				       before = message;
			int error;

			plugin_enter(sim, s, IN_SEND);
			plugin->ProcessNonBlockingSend(plugin->self, &event, &message);
			plugin_leave(sim, s);
			event_before._endTime = event._endTime;
			if (memcmp(&event_before, &event, sizeof(event)))
				return plugin_broke(sim, IN_SEND, plugin_changed, op->thread, start,
						    event_before._endTime);
			error = check_message(sim, IN_SEND, &before, &message);
			if (!error)
				error = plugin_check_end(sim, IN_SEND, op->thread, start, event._endTime);
			if (error)
				return error;
			/* The two are one time: where only one was changed it is that, else the later. */
			if (event._endTime == end ||
			    (message._sendEndTime != end && message._sendEndTime > event._endTime))
				end = message._sendEndTime;
			else
				end = event._endTime;
		}
		send->new_end.at[s] = end;
	}
	send->asked = !send->sync;
	return 0;
}

int ask_message(struct sim *sim, struct half *send, struct half *receive, bool set_send, bool set_receive)
{
	uint32_t valid = CPF_RECV_START | (set_send ? CPF_SEND_END | CPF_SEND_END_SET : 0) |
			 (send->asked ? CPF_SEND_END : 0) | (set_receive ? CPF_RECV_END | CPF_RECV_END_SET : 0) |
			 (receive->begins ? CPF_IRECV_START : 0);

	for (enum scenario s = 0; s < sim->scenarios; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = send->new_start.at[s], receive_start = receive->new_start.at[s];
		uint64_t send_end = send->asked ? send->new_end.at[s]
				    : !set_send
					    ? 0
					    : usual_end(send->start, receive->start, send->end, start, receive_start);
		uint64_t receive_end = !set_receive ? 0
						    : usual_end(receive->start, send->start, receive->end,
								receive_start, start);

		if (plugin->ProcessP2P) {
			struct cpf_p2p message = message_of(sim, send, receive, s, receive_start, valid, send_end,
							    receive_end),
				       before = message;
			int error;

			plugin_enter(sim, s, IN_P2P);
			plugin->ProcessP2P(plugin->self, &message);
			plugin_leave(sim, s);
			error = check_message(sim, IN_P2P, &before, &message);
			if (error)
				return error;
			send_end = message._sendEndTime;
			receive_end = message._recvEndTime;
		}
		if (set_send)
			send->new_end.at[s] = send_end;
		if (set_receive)
			receive->new_end.at[s] = receive_end;
	}
	send->asked |= set_send;
	receive->asked |= set_receive;
	return 0;
}

static void half_ends(const struct sim *sim, struct half *half, enum scenario s, uint64_t end, uint64_t *last)
{
	half->new_end.at[s] = end;
	half->asked |= s == sim->scenarios - 1;
	if (end > *last)
		*last = end;
}

/* Nobody is asked. */
static int usual_wait(struct sim *sim, struct op *op, struct half **halves, unsigned count, enum scenario s)
{
	uint64_t start = op->new_start.at[s], end = start;
	int error = 0;

	for (unsigned i = 0; i < count && !error; i++) {
		struct half *mine = halves[i], *other = mine->other;
		uint64_t usual = usual_wait_end(op, other->start, start, other->new_start.at[s]);

		error = plugin_check_end(sim, IN_WAIT, mine->thread, mine->is_send ? mine->new_start.at[s] : start,
					 usual);
		half_ends(sim, mine, s, usual, &end);
	}
	op->new_end.at[s] = end;
	return error;
}

static int call_wait(struct sim *sim, struct op *op, struct half **halves, unsigned count, enum scenario s,
		     struct cpf_p2p *messages, struct cpf_p2p *before, struct cpf_p2p **pointers)
{
	const struct cpf_plugin *plugin = sim->plugins[s];
	uint64_t start = op->new_start.at[s], end = start;
	int error = 0;

	for (unsigned i = 0; i < count; i++) {
		struct half *mine = halves[i], *other = mine->other, *send = mine->is_send ? mine : other,
			    *receive = mine->is_send ? other : mine;
		uint64_t usual = usual_wait_end(op, other->start, start, other->new_start.at[s]);
		uint32_t valid = CPF_RECV_START | CPF_IRECV_START | (send->asked || mine->is_send ? CPF_SEND_END : 0) |
				 (mine->is_send ? CPF_SEND_END_SET : CPF_RECV_END | CPF_RECV_END_SET);
		struct cpf_p2p message = message_of(sim, send, receive, s,
						    mine->is_send ? receive->new_start.at[s] : start, valid,
						    mine->is_send ? usual
						    : send->asked ? send->new_end.at[s]
								  : 0,
						    mine->is_send ? 0 : usual);

		memcpy(&messages[i], &message, sizeof(message));
		pointers[i] = &messages[i];
	}
	memcpy(before, messages, count * sizeof(*messages));
	plugin_enter(sim, s, IN_WAIT);
	plugin->ProcessP2PWaitAllSome(plugin->self, pointers, count);
	plugin_leave(sim, s);
	for (unsigned i = 0; i < count && !error; i++) {
		uint64_t told = halves[i]->is_send ? messages[i]._sendEndTime : messages[i]._recvEndTime;

		error = check_message(sim, IN_WAIT, &before[i], &messages[i]);
		half_ends(sim, halves[i], s, told, &end);
	}
	op->new_end.at[s] = end;
	return error;
}

#define WAIT_FEW 16

int ask_wait(struct sim *sim, struct op *op, struct half **halves, unsigned count)
{
	union {
		struct cpf_p2p message;
		uint8_t bytes[sizeof(struct cpf_p2p)];
	} * messages, few[2 * WAIT_FEW];
	struct cpf_p2p *few_pointers[WAIT_FEW], **pointers = few_pointers;
	int error = 0;

	messages = count <= WAIT_FEW ? few : malloc(2 * (size_t)count * sizeof(*messages));
	if (count > WAIT_FEW)
		pointers = malloc(count * sizeof(*pointers));
	if (!messages || !pointers)
		error = -ENOMEM;
	for (enum scenario s = 0; s < sim->scenarios && !error; s++)
		error = sim->plugins[s]->ProcessP2PWaitAllSome
				? call_wait(sim, op, halves, count, s, &messages[0].message, &messages[count].message,
					    pointers)
				: usual_wait(sim, op, halves, count, s);
	if (messages != few)
		free(messages);
	if (pointers != few_pointers)
		free(pointers);
	return error;
}

/* --- transfers and locks --------------------------------------------------------------- */

int ask_one_sided(struct sim *sim, struct op *op)
{
	for (enum scenario s = 0; s < sim->scenarios; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], end = start + (op->end - op->start);

		if (plugin->ProcessOneSided) {
			uint64_t bytes = op->sent > 0       ? (uint64_t)op->sent
					 : op->received > 0 ? (uint64_t)op->received
							    : 0;
			struct cpf_one_sided transfer = { op->thread,
							  op->func,
							  op->facts->fence,
							  op->target < 0 ? CPF_NONE : first_thread(sim, op->target),
							  bytes,
							  start,
							  end };
			struct cpf_one_sided before = transfer;

			plugin_enter(sim, s, IN_ONE_SIDED);
			plugin->ProcessOneSided(plugin->self, &transfer);
			plugin_leave(sim, s);
			before._endTime = transfer._endTime;
			if (memcmp(&before, &transfer, sizeof(before)))
				return plugin_broke(sim, IN_ONE_SIDED, plugin_changed, op->thread, start,
						    transfer._endTime);
			end = transfer._endTime;
		}
		op->new_end.at[s] = end;
		if (plugin_check_end(sim, IN_ONE_SIDED, op->thread, start, end))
			return -EPROTO;
	}
	return 0;
}

int ask_posted(struct sim *sim, struct op *op)
{
	uint64_t last = op->start;

	for (unsigned i = 0; i < op->nposts; i++)
		if (op->posts[i].post->call.start > last)
			last = op->posts[i].post->call.start;
	for (enum scenario s = 0; s < sim->scenarios; s++) {
		uint64_t end = op->new_start.at[s];

		for (unsigned i = 0; i < op->nposts; i++) {
			const struct awaited_post *awaited = &op->posts[i];

			if (awaited->post->new_start.at[s] > end &&
			    (awaited->state != WAIT_FOR_LOCK || !relations_free_of_lock(sim, op, s)))
				end = awaited->post->new_start.at[s];
		}
		/* On the ideal network nothing is left after that. */
		op->new_end.at[s] = end + (sim->alike || s == AS_TOLD ? op->end - last : 0);
	}
	return 0;
}

int ask_lock(struct sim *sim, struct op *op)
{
	const struct hold *previous = op->hold && op->kind == KIND_ACQUIRE ? op->hold->previous : NULL;

	for (enum scenario s = 0; s < sim->scenarios; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], end = start + (op->end - op->start);

		if (previous && relations_free_of_lock(sim, op, s))
			end = start + (previous->release > op->start && previous->release <= op->end
					       ? op->end - previous->release
					       : op->end - op->start);
		else if (previous)
			end = usual_end(op->start, previous->release, op->end, start, previous->new_release.at[s]);
		if (plugin->ProcessLock) {
			struct cpf_lock lock = { op->thread,
						 op->func,
						 op->kind == KIND_RELEASE ? CPF_RELEASE
						 : op->kind == KIND_TRY   ? CPF_TRY
									  : CPF_ACQUIRE,
						 previous ? previous->thread : CPF_NONE,
						 op->lock_number,
						 previous ? previous->new_release.at[s] : 0,
						 start,
						 end };
			struct cpf_lock before = lock;

			plugin_enter(sim, s, IN_LOCK);
			plugin->ProcessLock(plugin->self, &lock);
			plugin_leave(sim, s);
			before._endTime = lock._endTime;
			if (memcmp(&before, &lock, sizeof(before)))
				return plugin_broke(sim, IN_LOCK, plugin_changed, op->thread, start, lock._endTime);
			end = lock._endTime;
		}
		op->new_end.at[s] = end;
		if (plugin_check_end(sim, IN_LOCK, op->thread, start, end))
			return -EPROTO;
	}
	return 0;
}
