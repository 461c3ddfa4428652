/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posts.c - calls by which a thread lets others go on, and those that wait for them.
 *
 * Neither a message nor a meeting of all: one opens its memory (a post), another accesses it and says when that is over
 * (a completion), gives back the lock of somebody's memory, posts an event, or sets a variable on which somebody waits.
 * Each such call is a post here. It is put where it can be looked for: by what it is about and whose memory that is.
 *
 * A call that waits is looked at (awaited.c) when all that began before its end has been fed. What let it go on is the
 * latest post of the right kind and place that began before its end; if that began before the call itself, nobody was
 * waited for. Who is in a group of an epoch no call says; so an epoch is about those who are accessed in it, and what
 * its first call waits for is known when its last one has been fed.
 *
 * Some networks need the target's own help: an access waits until that one enters any call of the runtime. Only small
 * accesses that take long are asked for that, and only if there are some in a recording is it kept when each was in a
 * call. So it is with sends, whose message goes through memory that both share until the receiver takes it out, in
 * whatever call it is: where all that take long are a hundredth of the run.
 *
 * Threads of one process let each other go on, too: by a condition variable or a semaphore, which is at one address for
 * all of them. Of several that wait there, which one a signal was for no call says: the latest signal before the wait's
 * end is taken.
 *
 * Where a variable is, the same address says. The same variable may lie at different addresses in two processes, but
 * at the same place within a page: that is compared.
 */
#include <errno.h>
#include <stdlib.h>

#include "recording/sleep_calls.h"
#include "simulate/posts.h"

#define SUSPECT 20000 /* ns: a small access to memory of somebody who can attend to it does not take so long */
#define SMALL 4096    /* bytes: nor does it take so long because of them */
#define SLOW_SHARE 100

/* What the operation tells others; NULL: out of memory. */
static struct post *post_of(struct op *op)
{
	struct post *post = op->post ?: calloc(1, sizeof(*post));

	if (!post || op->post)
		return post;
	post->users = 1;
	post->call = op_call(op);
	op->post = post;
	return post;
}

/* --- windows --------------------------------------------------------------------- */

static int feed_complete(struct sim *sim, struct op *op, uint32_t process, const struct window *window,
			 struct pending *what)
{
	struct epoch **at = epoch_find(sim->posts, process, window, &no_lock), *epoch = *at;
	struct post *post = epoch && epoch->ntargets ? post_of(op) : NULL;
	int error = 0;

	if (!epoch || !epoch->ntargets) {
		sim->counts.untold++;
		if (epoch)
			epoch_close(at);
		return 0;
	}
	if (!post)
		return -ENOMEM;
	post->accessed = epoch->accessed;
	for (size_t i = 0; i < epoch->ntargets && !error; i++) {
		struct post_key key = window_key(window, epoch->targets[i], SIGNAL_COMPLETE);

		error = posts_put(sim->posts, &key, post);
	}
	epoch->users++;
	what->epoch = epoch;
	epoch_close(at);
	return error;
}

/* An access may have to wait for the one who opens its memory, or gives back its lock. */
static int feed_transfer(struct posts *posts, struct op *op, uint32_t process, const struct window *window,
			 uint32_t target, struct pending *what)
{
	struct epoch *epoch = *epoch_find(posts, process, window, &no_lock);
	struct post_key expose = window_key(window, target, SIGNAL_EXPOSE),
			unlock = window_key(window, target, SIGNAL_UNLOCK);
	int error = 0;

	if (target == process)
		return 0;
	if (epoch) {
		error = epoch_add_target(epoch, target);
		if (op->end > epoch->accessed)
			epoch->accessed = op->end;
		what->lists[0] = error ? NULL : posts_list_at(posts, &expose, &error);
	} else if (*epoch_find(posts, process, window, &unlock)) {
		what->lists[1] = posts_list_at(posts, &unlock, &error);
	}
	return error;
}

static int feed_lock(struct posts *posts, struct op *op, uint32_t process, const struct window *window,
		     const struct post_key *key, struct pending *what)
{
	struct epoch **at = epoch_find(posts, process, window, key);
	struct post *post;
	int error = 0;

	if (op->facts->signal == SIGNAL_LOCK && !epoch_open(posts, process, window, key, op))
		return -ENOMEM;
	if (op->facts->signal == SIGNAL_UNLOCK) {
		post = post_of(op);
		if (!post)
			return -ENOMEM;
		post->taken = post->call;
		if (*at) {
			post->taken = (*at)->began;
			epoch_close(at);
		}
		error = posts_put(posts, key, post);
	}
	if (!error)
		what->lists[0] = posts_list_at(posts, key, &error);
	return error;
}

/* target: whose memory it is about, where the call says so; NO_INDEX. */
static int feed_about_window(struct sim *sim, struct op *op, const struct span *span, const struct window *window,
			     uint32_t target, struct pending *what)
{
	uint32_t process = sim->d->threads[op->thread].process;
	struct post_key key = window_key(window, process, SIGNAL_EXPOSE);
	struct posts *posts = sim->posts;
	int64_t number;
	int error = 0;

	switch (op->facts->signal) {
	case SIGNAL_EXPOSE:
		return post_of(op) ? posts_put(posts, &key, op->post) : -ENOMEM;
	case SIGNAL_EXPOSED:
		key.tells = SIGNAL_COMPLETE;
		what->lists[0] = posts_list_at(posts, &key, &error);
		return error;
	case SIGNAL_BEGIN:
		what->epoch = epoch_open(posts, process, window, &no_lock, op);
		if (!what->epoch)
			return -ENOMEM;
		what->epoch->users++;
		return 0;
	case SIGNAL_COMPLETE:
		return feed_complete(sim, op, process, window, what);
	case SIGNAL_TRANSFER:
		return target == NO_INDEX ? 0 : feed_transfer(posts, op, process, window, target, what);
	default:
		break;
	}
	if (target == NO_INDEX)
		return 0;
	key = window_key(window, target, SIGNAL_UNLOCK);
	if (fact_number(op->facts, WANT_INDEX, span, &number))
		key.element = (uint64_t)number;
	return feed_lock(posts, op, process, window, &key, what);
}

/* --- events and variables ------------------------------------------------------- */

static struct post_key notification(const struct op *op, uint32_t process)
{
	return (struct post_key){ .model = op->facts->model, .process = process, .tells = SIGNAL_NOTIFY };
}

static int feed_notify(struct sim *sim, struct op *op, const struct span *span, uint32_t target)
{
	struct post_key key = notification(op, target);
	struct sent_words sent = span_words(span);
	const struct facts *facts = op->facts;
	struct post *post;

	if (target == NO_INDEX || !sim->processes[target].awaits)
		return 0;
	post = post_of(op);
	if (!post)
		return -ENOMEM;
	for (unsigned i = 0; i < facts->answers.count[WANT_ADDRESS] && i < 2 && facts->signal == SIGNAL_STORE; i++) {
		int64_t number;

		if (prepared_number(&facts->answers.values[WANT_ADDRESS][i], &sent, &number))
			post->addresses[i] = (uint64_t)number;
	}
	post->bytes = op->sent > 0 ? (uint64_t)op->sent : 1;
	return posts_put(sim->posts, &key, post);
}

/* --- conditions and semaphores ---------------------------------------------------- */

/* Where it is, in the process's own memory. */
static bool wake_key(const struct op *op, const struct span *span, uint32_t process, struct post_key *key)
{
	int64_t address;

	if (!fact_number(op->facts, WANT_OF, span, &address))
		return false;
	*key = (struct post_key){
		.model = op->facts->model, .process = process, .element = (uint64_t)address, .tells = SIGNAL_WAKE
	};
	return true;
}

static int feed_wake(struct sim *sim, struct op *op, const struct span *span, uint32_t process)
{
	struct post_key key;

	if (!wake_key(op, span, process, &key))
		return 0;
	return post_of(op) ? posts_put(sim->posts, &key, op->post) : -ENOMEM;
}

static bool is_sleeper(const struct sim_thread *thread)
{
	return thread->slept / SLEEPER_PERCENT >= (thread->last - thread->first) / 100;
}

/* One that gave up when its time was over was let go on by nobody. */
static int feed_sleep(struct sim *sim, const struct op *op, const struct span *span, uint32_t process,
		      struct pending *what)
{
	struct post_key key;
	int error = 0;

	if (!is_sleeper(&sim->threads[op->thread]) && !call_failed(&sim->d->probes[span->probe], span) &&
	    wake_key(op, span, process, &key))
		what->lists[0] = posts_list_at(sim->posts, &key, &error);
	return error;
}

/* --- somebody who is busy with something else -------------------------------------- */

static bool moves_little(const struct op *op)
{
	return op->sent <= SMALL && op->received <= SMALL;
}

/* A small access that takes so long has waited, if the other one was not in a call of the runtime. */
static bool is_suspect(const struct facts *facts, const struct span *span)
{
	return facts->kind == KIND_ONE_SIDED && facts->answers.count[WANT_PEER_OUT] && !facts->begins &&
	       span->end >= span->start + SUSPECT;
}

bool posts_send_is_slow(const struct facts *facts, const struct span *span)
{
	return facts->kind == KIND_SEND && !facts->begins && !facts->sync && span->end >= span->start + SUSPECT;
}

/* Is it to be kept when each is in a call? For sends only where they take long enough to matter. */
static bool watches(const struct sim *sim)
{
	uint64_t run = sim->d->run.end > sim->d->run.start ? sim->d->run.end - sim->d->run.start : 0;

	return sim->posts->watch || groups_slow_sends(sim) > run / SLOW_SHARE;
}

static struct post_key presence(uint32_t process, uint32_t model)
{
	return (struct post_key){ .model = model, .process = process };
}

int posts_enter(struct sim *sim, struct op *op)
{
	uint32_t process = sim->d->threads[op->thread].process;
	struct post_key key = presence(process, op->facts->model);

	if (op->post)
		op->post->call.end = op->end;
	if (op->post || sim->misses_posts || sim->processes[process].lossy || !watches(sim))
		return 0;
	return post_of(op) ? posts_put(sim->posts, &key, op->post) : -ENOMEM;
}

/* --- feeding ---------------------------------------------------------------------- */

static bool has_window(enum signal signal)
{
	return signal >= SIGNAL_EXPOSE && signal <= SIGNAL_UNLOCK;
}

static bool handle_of(const struct facts *facts, const struct span *span, uint64_t *handle)
{
	int64_t number = 0;
	bool locks = facts->signal == SIGNAL_LOCK || facts->signal == SIGNAL_UNLOCK;
	bool known = fact_number(facts, locks ? WANT_LOCK : WANT_OF, span, &number);

	*handle = (uint64_t)number;
	return known;
}

int posts_note(struct sim *sim, const struct span *span)
{
	const struct facts *facts = &sim->facts[span->probe];
	uint32_t process = sim->d->threads[span->thread].process;
	uint64_t handle;

	sim->posts->watch |= is_suspect(facts, span);
	if (facts->signal == SIGNAL_AWAIT)
		sim->processes[process].awaits = true;
	if (facts->signal == SIGNAL_SLEEP)
		sim->threads[span->thread].slept += span->end - span->start;
	if (facts->signal != SIGNAL_WINDOW && !has_window(facts->signal))
		return 0;
	return handle_of(facts, span, &handle) ? windows_note(&sim->posts->windows, process, facts->model, handle,
							      facts->signal == SIGNAL_WINDOW)
					       : 0;
}

static int feed_signal(struct sim *sim, struct op *op, const struct span *span, uint32_t process, uint32_t *target,
		       struct pending *what)
{
	const struct facts *facts = op->facts;
	const struct window *window;
	struct told_comm comm;
	struct post_key key;
	uint64_t handle;
	int64_t rank = -1;
	int error = 0;

	fact_number(facts, WANT_PEER_OUT, span, &rank);
	switch (facts->signal) {
	case SIGNAL_NONE:
		*target = op->target < 0 ? NO_INDEX : (uint32_t)op->target;
		return 0;
	case SIGNAL_WINDOW:
		return handle_of(facts, span, &handle) ? windows_make(sim, &sim->posts->windows, op, span, handle) : 0;
	case SIGNAL_NOTIFY:
	case SIGNAL_STORE:
		comm = groups_comm(sim, facts, span);
		*target = groups_process(sim, process, &comm, rank);
		return feed_notify(sim, op, span, *target);
	case SIGNAL_AWAIT:
		key = notification(op, process);
		if (handle_of(facts, span, &what->address))
			what->lists[0] = posts_list_at(sim->posts, &key, &error);
		return error;
	case SIGNAL_WAKE:
		return feed_wake(sim, op, span, process);
	case SIGNAL_SLEEP:
		return feed_sleep(sim, op, span, process, what);
	default:
		break;
	}
	window = handle_of(facts, span, &handle) ? windows_find(&sim->posts->windows, process, facts->model, handle)
						 : NULL;
	if (!window) {
		sim->counts.untold++;
		return 0;
	}
	*target = windows_process(sim, window, process, rank);
	if (*target != NO_INDEX && sim->processes[*target].lossy)
		*target = NO_INDEX;
	return feed_about_window(sim, op, span, window, *target, what);
}

bool posts_want(const struct sim *sim, const struct op *op)
{
	return op->facts->signal || (op->kind != KIND_ALONE && watches(sim));
}

int posts_feed(struct sim *sim, struct op *op, const struct span *span)
{
	uint32_t process = sim->d->threads[op->thread].process, target = NO_INDEX;
	struct posts *posts = sim->posts;
	struct pending what = { 0 };
	int error;

	if (sim->misses_posts || sim->processes[process].lossy) {
		sim->counts.untold += op->facts->signal != SIGNAL_NONE;
		return 0;
	}
	error = posts_enter(sim, op);
	if (!error && span_returned(span))
		error = feed_signal(sim, op, span, process, &target, &what);
	if (op->send && posts_send_is_slow(op->facts, span))
		target = op->send->partner;
	else if (!is_suspect(op->facts, span) || !moves_little(op))
		target = NO_INDEX;
	if (!error && watches(sim) && target != NO_INDEX && target != process) {
		struct post_key key = presence(target, op->facts->model);

		what.presence = posts_list_at(posts, &key, &error);
	}
	if (!error && !op->facts->begins && (what.epoch || what.lists[0] || what.lists[1] || what.presence))
		error = posts_wait_for(posts, op, &what);
	else
		epoch_leave(what.epoch);
	return error;
}
