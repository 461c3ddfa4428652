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

static void enter(struct sim *sim, enum scenario s, enum callback in)
{
	if (s != AS_TOLD || !sim->foreign)
		return;
	sim->progress->calls++;
	sim->progress->in = in;
}

static void leave(struct sim *sim, enum scenario s)
{
	if (s == AS_TOLD && sim->foreign)
		sim->progress->in = IN_NOTHING;
}

static int broken(struct sim *sim, enum callback in, const char *what, uint32_t thread, uint64_t start, uint64_t end)
{
	log_error("%s: %s: %s (thread %u, start %llu, end %llu): correct the plug-in", log_safe(sim->options->plugin),
		  callback_names[in], what, thread, (unsigned long long)start, (unsigned long long)end);
	sim->progress->broken = 1;
	return -EPROTO;
}

static int check_end(struct sim *sim, enum callback in, uint32_t thread, uint64_t start, uint64_t end)
{
	if (end < start)
		return broken(sim, in, "it set an end before the start", thread, start, end);
	if (end > INT64_MAX)
		return broken(sim, in, "it set an end beyond all time", thread, start, end);
	return 0;
}

static const char changed[] = "it changed what is constant";

/* --- what one thread does ---------------------------------------------------------- */

typedef void event_callback(void *self, struct cpf_func_event *event);

static struct cpf_func_event event_of(uint32_t thread, uint32_t func, int64_t sent, int64_t received, uint64_t start,
				      uint64_t end)
{
	return (struct cpf_func_event){
		thread, func, sent > 0 ? (uint64_t)sent : 0, received > 0 ? (uint64_t)received : 0, start, end
	};
}

static int call_event(struct sim *sim, enum scenario s, enum callback in, event_callback *callback,
		      struct cpf_func_event *event, uint64_t *end)
{
	struct cpf_func_event before = *event;

	if (callback) {
		enter(sim, s, in);
		callback(sim->plugins[s]->self, event);
		leave(sim, s);
		before._endTime = event->_endTime;
		if (memcmp(&before, event, sizeof(before)))
			return broken(sim, in, changed, before._threadID, before._startTime, before._endTime);
	}
	*end = event->_endTime;
	return check_end(sim, in, event->_threadID, event->_startTime, *end);
}

static int call_task(struct sim *sim, enum scenario s, struct cpf_task *task, uint64_t *end)
{
	struct cpf_task before = *task;

	if (sim->plugins[s]->ProcessTask) {
		enter(sim, s, IN_TASK);
		sim->plugins[s]->ProcessTask(sim->plugins[s]->self, task);
		leave(sim, s);
		before._endTime = task->_endTime;
		if (memcmp(&before, task, sizeof(before)))
			return broken(sim, IN_TASK, changed, before._threadID, before._startTime, before._endTime);
	}
	*end = task->_endTime;
	return check_end(sim, IN_TASK, before._threadID, before._startTime, *end);
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
		struct cpf_func_event event = event_of(index, func, 0, 0, start, start + duration);

		error = call_event(sim, AS_TOLD, traced ? IN_FUNCTION : IN_NON_TRACING,
				   traced ? plugin->ProcessFunctionEvent : plugin->ProcessNonTracingEvent, &event,
				   &end);
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
	for (enum scenario s = 0; s < SCENARIOS; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		struct cpf_func_event event = event_of(op->thread, op->func, op->sent, op->received,
						       op->new_start.at[s],
						       op->new_start.at[s] + (op->end - op->start));
		event_callback *callback = in == IN_FUNCTION ? plugin->ProcessFunctionEvent
					   : in == IN_MPI    ? plugin->ProcessMPIFunctionEvent
							     : plugin->ProcessUnmatched;
		int error = call_event(sim, s, in, callback, &event, &op->new_end.at[s]);

		if (error)
			return error;
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

/* The end of what waited for a time on another thread: as long after the last start as in the recording. */
static uint64_t usual_end(uint64_t start, uint64_t other, uint64_t end, uint64_t new_start, uint64_t new_other)
{
	uint64_t last = start > other ? start : other, new_last = new_start > new_other ? new_start : new_other;

	return end >= last ? new_last + (end - last) : new_start + (end > start ? end - start : 0);
}

/* The same for a wait, for any number of things: each ends as long after its start as the wait after the last of them
 * all. */
static uint64_t usual_wait_end(const struct op *op, uint64_t other, uint64_t new_start, uint64_t new_other)
{
	return (other <= op->end && new_other > new_start ? new_other : new_start) + (op->end - op->last);
}

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
		return broken(sim, in, changed, same._receiver, same._recvStartTime, same._recvEndTime);
	if (same._valid & CPF_SEND_END_SET)
		error = check_end(sim, in, same._sender, same._sendStartTime, same._sendEndTime);
	if (same._valid & CPF_RECV_END_SET && !error)
		error = check_end(sim, in, same._receiver, same._recvStartTime, same._recvEndTime);
	return error;
}

bool ask_synchronous(struct sim *sim, const struct half *send)
{
	const struct cpf_plugin *plugin = sim->plugins[AS_TOLD];
	struct cpf_p2p message = message_of(sim, send, send->other, AS_TOLD, 0, 0, 0, 0);
	bool yes;

	if (!plugin->SendIsSynchronous || send->alone)
		return false;
	enter(sim, AS_TOLD, IN_SYNCHRONOUS);
	yes = plugin->SendIsSynchronous(plugin->self, &message);
	leave(sim, AS_TOLD);
	return yes;
}

int ask_send(struct sim *sim, struct op *op)
{
	struct half *send = op->send;

	for (enum scenario s = 0; s < SCENARIOS; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], end = start + (op->recv ? 0 : op->end - op->start);
		struct cpf_func_event event = event_of(op->thread, op->func, op->sent, 0, start, end),
				      event_before = event;
		struct cpf_p2p message = message_of(sim, send, send->other, s, 0, CPF_SEND_END | CPF_SEND_END_SET, end,
						    0),
			       before = message;
		int error;

		if (plugin->ProcessNonBlockingSend) {
			enter(sim, s, IN_SEND);
			plugin->ProcessNonBlockingSend(plugin->self, &event, &message);
			leave(sim, s);
			event_before._endTime = event._endTime;
			if (memcmp(&event_before, &event, sizeof(event)))
				return broken(sim, IN_SEND, changed, op->thread, start, event_before._endTime);
			error = check_message(sim, IN_SEND, &before, &message);
			if (!error)
				error = check_end(sim, IN_SEND, op->thread, start, event._endTime);
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

	for (enum scenario s = 0; s < SCENARIOS; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = send->new_start.at[s], receive_start = receive->new_start.at[s];
		uint64_t send_end = send->asked ? send->new_end.at[s]
				    : !set_send
					    ? 0
					    : usual_end(send->start, receive->start, send->end, start, receive_start);
		uint64_t receive_end = !set_receive ? 0
						    : usual_end(receive->start, send->start, receive->end,
								receive_start, start);
		struct cpf_p2p message = message_of(sim, send, receive, s, receive_start, valid, send_end, receive_end),
			       before = message;

		if (plugin->ProcessP2P) {
			int error;

			enter(sim, s, IN_P2P);
			plugin->ProcessP2P(plugin->self, &message);
			leave(sim, s);
			error = check_message(sim, IN_P2P, &before, &message);
			if (error)
				return error;
		}
		if (set_send)
			send->new_end.at[s] = message._sendEndTime;
		if (set_receive)
			receive->new_end.at[s] = message._recvEndTime;
	}
	send->asked |= set_send;
	receive->asked |= set_receive;
	return 0;
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
	if (plugin->ProcessP2PWaitAllSome) {
		enter(sim, s, IN_WAIT);
		plugin->ProcessP2PWaitAllSome(plugin->self, pointers, count);
		leave(sim, s);
	}
	for (unsigned i = 0; i < count && !error; i++) {
		uint64_t told = halves[i]->is_send ? messages[i]._sendEndTime : messages[i]._recvEndTime;

		error = check_message(sim, IN_WAIT, &before[i], &messages[i]);
		halves[i]->new_end.at[s] = told;
		halves[i]->asked |= s == SCENARIOS - 1;
		if (told > end)
			end = told;
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
	for (enum scenario s = 0; s < SCENARIOS && !error; s++)
		error = call_wait(sim, op, halves, count, s, &messages[0].message, &messages[count].message, pointers);
	if (messages != few)
		free(messages);
	if (pointers != few_pointers)
		free(pointers);
	return error;
}

/* --- groups ---------------------------------------------------------------------------- */

/* Whom a member waits for, by what the operation does: all, the root, or nobody. */
static bool waits_for_all(const struct sim *sim, const struct instance *instance, unsigned member)
{
	uint32_t classes = sim->functions[instance->func].classes;

	if (classes & CPF_IS_ALL_TO_ONE)
		return instance->root < 0 || instance->root == member;
	return !(classes & CPF_IS_ONE_TO_ALL);
}

static const struct participant *root_of(const struct sim *sim, const struct instance *instance)
{
	bool rooted = sim->functions[instance->func].classes & (CPF_IS_ONE_TO_ALL | CPF_IS_ALL_TO_ONE);

	return rooted && instance->root >= 0 && instance->members[instance->root].reached
		       ? &instance->members[instance->root]
		       : NULL;
}

struct together {
	uint64_t latest, new_first, new_latest;
};

static struct together together(const struct instance *instance, size_t size, enum scenario s)
{
	struct together t = { 0, UINT64_MAX, 0 };

	for (size_t i = 0; i < size; i++) {
		const struct participant *member = &instance->members[i];

		if (!member->reached)
			continue;
		if (member->start > t.latest)
			t.latest = member->start;
		if (member->new_start.at[s] > t.new_latest)
			t.new_latest = member->new_start.at[s];
		if (member->new_start.at[s] < t.new_first)
			t.new_first = member->new_start.at[s];
	}
	return t;
}

static uint64_t usual_collective_end(const struct sim *sim, const struct instance *instance, unsigned index,
				     enum scenario s, const struct together *t, const struct participant *root)
{
	const struct participant *member = &instance->members[index];
	uint64_t start = member->new_start.at[s];

	if (waits_for_all(sim, instance, index))
		return usual_end(member->start, t->latest, member->end, start, t->new_latest);
	if (root && root != member && sim->functions[instance->func].classes & CPF_IS_ONE_TO_ALL)
		return usual_end(member->start, root->start, member->end, start, root->new_start.at[s]);
	return start + (member->end - member->start);
}

static int call_collective(struct sim *sim, struct instance *instance, enum scenario s, void *room,
			   struct cpf_func_event **events)
{
	const struct cpf_plugin *plugin = sim->plugins[s];
	size_t size = groups_size(instance->group), count = 0;
	struct together t = together(instance, size, s);
	const struct participant *root = root_of(sim, instance);
	uint8_t *at = room, *before = at + size * sizeof(struct cpf_func_event);
	uint32_t root_index = CPF_NONE;
	int error = 0;

	for (size_t i = 0; i < size; i++) {
		const struct participant *member = &instance->members[i];

		if (!member->reached)
			continue;
		struct cpf_func_event event = event_of(member->thread, member->func, (int64_t)member->sent,
						       (int64_t)member->received, member->new_start.at[s],
						       usual_collective_end(sim, instance, i, s, &t, root));

		if (member == root)
			root_index = count;
		memcpy(at + count * sizeof(event), &event, sizeof(event));
		events[count] = (struct cpf_func_event *)(at + count * sizeof(event));
		count++;
	}
	memcpy(before, at, count * sizeof(struct cpf_func_event));
	struct cpf_coll_op collop = { t.new_first,    instance_comm(instance),
				      instance->func, root ? root->thread : CPF_NONE,
				      root_index,     { events, count } };
	struct cpf_coll_op same = collop;

	if (plugin->ProcessCollOp) {
		enter(sim, s, IN_COLLOP);
		plugin->ProcessCollOp(plugin->self, &collop);
		leave(sim, s);
		if (memcmp(&same, &collop, sizeof(same)))
			return broken(sim, IN_COLLOP, changed, CPF_NONE, t.new_first, 0);
	}
	for (size_t i = 0, n = 0; i < size && !error; i++) {
		struct cpf_func_event *was = (struct cpf_func_event *)(before + n * sizeof(*was));
		struct cpf_func_event *event = (struct cpf_func_event *)(at + n * sizeof(*event));

		if (!instance->members[i].reached)
			continue;
		was->_endTime = event->_endTime;
		if (memcmp(was, event, sizeof(*was)))
			return broken(sim, IN_COLLOP, changed, was->_threadID, was->_startTime, was->_endTime);
		error = check_end(sim, IN_COLLOP, event->_threadID, event->_startTime, event->_endTime);
		instance->members[i].new_end.at[s] = event->_endTime;
		instance->members[i].decided = true;
		n++;
	}
	return error;
}

/*
 * Nobody leaves such an operation before all have come. Where somebody did, these calls are not one operation, though
 * nothing but their order tells which are. With a communicator they are: there it is a scan, for instance, in which the
 * first one waits for nobody.
 */
static bool is_none(const struct sim *sim, const struct instance *instance)
{
	uint32_t classes = sim->functions[instance->func].classes;

	return groups_guessed(instance->group) && !instance->begun &&
	       !(classes & (CPF_IS_ALL_TO_ONE | CPF_IS_ONE_TO_ALL)) && instance->latest > instance->earliest_end;
}

static int leave_as_recorded(struct sim *sim, struct instance *instance)
{
	for (size_t i = 0; i < groups_size(instance->group); i++) {
		struct participant *member = &instance->members[i];

		for (enum scenario s = 0; s < SCENARIOS; s++)
			member->new_end.at[s] = member->new_start.at[s] + (member->end - member->start);
		sim->counts.apart += member->reached;
		member->decided |= member->reached;
	}
	return 0;
}

int ask_collective(struct sim *sim, struct instance *instance)
{
	size_t size = groups_size(instance->group);

	if (is_none(sim, instance))
		return leave_as_recorded(sim, instance);
	void *room = malloc(2 * size * sizeof(struct cpf_func_event));
	struct cpf_func_event **events = malloc(size * sizeof(*events));
	int error = room && events ? 0 : -ENOMEM;

	for (enum scenario s = 0; s < SCENARIOS && !error; s++)
		error = call_collective(sim, instance, s, room, events);
	free(room);
	free(events);
	return error;
}

/* When those had begun whom this member of a split operation waits for. 0: it waits for nobody. */
static uint64_t awaited(const struct sim *sim, const struct instance *instance, unsigned member)
{
	const struct participant *root = root_of(sim, instance);

	if (waits_for_all(sim, instance, member))
		return together(instance, groups_size(instance->group), AS_TOLD).latest;
	return root && root != &instance->members[member] && sim->functions[instance->func].classes & CPF_IS_ONE_TO_ALL
		       ? root->start
		       : 0;
}

/* What began after the wait's end was not what it waited for: other clocks. */
static void note_last(struct op *op, uint64_t start)
{
	if (start > op->last && start <= op->end)
		op->last = start;
}

void ask_wait_for(struct sim *sim, struct op *op, struct half **halves, unsigned count)
{
	op->last = op->start < op->end ? op->start : op->end;
	for (unsigned i = 0; i < count; i++)
		note_last(op, halves[i]->other->start);
	for (unsigned i = 0; i < op->ninstances; i++)
		note_last(op, awaited(sim, op->instances[i], op->members[i]));
	if (op->instance)
		note_last(op, awaited(sim, op->instance, op->member));
}

int ask_split(struct sim *sim, struct op *op)
{
	const struct instance *instance = op->instance;
	size_t size = groups_size(instance->group);
	const struct participant *me = &instance->members[op->member], *root = root_of(sim, instance);
	uint64_t last = awaited(sim, instance, op->member);

	for (enum scenario s = 0; s < SCENARIOS; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		struct together t = together(instance, size, s);
		uint64_t start = op->new_start.at[s];
		uint64_t new_last = !last                                      ? start
				    : waits_for_all(sim, instance, op->member) ? t.new_latest
									       : root->new_start.at[s];
		uint64_t end = usual_wait_end(op, last, start, new_last);
		struct cpf_split_phase wait = { op->thread,
						op->func,
						instance->func,
						instance_comm(instance),
						root ? root->thread : CPF_NONE,
						instance->reached,
						me->sent > me->received ? me->sent : me->received,
						t.new_first,
						t.new_latest,
						start,
						end };
		struct cpf_split_phase before = wait;

		if (plugin->ProcessSplitPhase) {
			enter(sim, s, IN_SPLIT);
			plugin->ProcessSplitPhase(plugin->self, &wait);
			leave(sim, s);
			before._endTime = wait._endTime;
			if (memcmp(&before, &wait, sizeof(wait)))
				return broken(sim, IN_SPLIT, changed, op->thread, start, wait._endTime);
		}
		op->new_end.at[s] = wait._endTime;
		if (check_end(sim, IN_SPLIT, op->thread, start, wait._endTime))
			return -EPROTO;
	}
	return 0;
}

/* --- transfers and locks --------------------------------------------------------------- */

int ask_one_sided(struct sim *sim, struct op *op)
{
	for (enum scenario s = 0; s < SCENARIOS; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], bytes = op->sent > 0       ? (uint64_t)op->sent
							      : op->received > 0 ? (uint64_t)op->received
										 : 0;
		struct cpf_one_sided transfer = { op->thread,
						  op->func,
						  op->facts->fence,
						  op->target < 0 ? CPF_NONE : first_thread(sim, op->target),
						  bytes,
						  start,
						  start + (op->end - op->start) };
		struct cpf_one_sided before = transfer;

		if (plugin->ProcessOneSided) {
			enter(sim, s, IN_ONE_SIDED);
			plugin->ProcessOneSided(plugin->self, &transfer);
			leave(sim, s);
			before._endTime = transfer._endTime;
			if (memcmp(&before, &transfer, sizeof(before)))
				return broken(sim, IN_ONE_SIDED, changed, op->thread, start, transfer._endTime);
		}
		op->new_end.at[s] = transfer._endTime;
		if (check_end(sim, IN_ONE_SIDED, op->thread, start, transfer._endTime))
			return -EPROTO;
	}
	return 0;
}

int ask_lock(struct sim *sim, struct op *op)
{
	const struct hold *previous = op->hold && op->kind == KIND_ACQUIRE ? op->hold->previous : NULL;

	for (enum scenario s = 0; s < SCENARIOS; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		uint64_t start = op->new_start.at[s], end = start + (op->end - op->start);

		if (previous)
			end = usual_end(op->start, previous->release, op->end, start, previous->new_release.at[s]);
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

		if (plugin->ProcessLock) {
			enter(sim, s, IN_LOCK);
			plugin->ProcessLock(plugin->self, &lock);
			leave(sim, s);
			before._endTime = lock._endTime;
			if (memcmp(&before, &lock, sizeof(before)))
				return broken(sim, IN_LOCK, changed, op->thread, start, lock._endTime);
		}
		op->new_end.at[s] = lock._endTime;
		if (check_end(sim, IN_LOCK, op->thread, start, lock._endTime))
			return -EPROTO;
	}
	return 0;
}
