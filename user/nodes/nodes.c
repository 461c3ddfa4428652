/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c - starts a command on each node, listens to all of them, and gives up those that do not answer.
 *
 * A node is lost where what has started it has ended before the node has said that it is done. With a means that
 * starts all of them that is known at its end only; until then a node that was killed is one that says nothing.
 */
#include "nodes/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "nodes/private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define LINE_MOST (64u << 20) /* bytes; a node that writes more without an end of line has it cut */
#define WORDS_MOST 40         /* different messages of nodes that are shown */
#define PIECE 65536
#define PREFIX "gaspbpf: "

int nodes_find(struct nodes *nodes, const char *job, const char *by)
{
	int err = 0;

	nodes->means = means_find(by, job);
	if (!nodes->means)
		return -ENOENT;
	if (job) {
		nodes->job = strdup(job);
		err = nodes->job ? means_ask_hosts(&nodes->hosts, &nodes->job) : -ENOMEM;
	}
	if (!err && !nodes->hosts.count) {
		log_error("no hosts: give some, as in --hosts n[1-16]");
		err = -EINVAL;
	}
	if (err)
		return err;
	nodes->list = calloc(nodes->hosts.count, sizeof(*nodes->list));
	for (size_t i = 0; nodes->list && i < nodes->hosts.count; i++)
		nodes->list[i].name = nodes->hosts.names[i];
	return nodes->list ? 0 : -ENOMEM;
}

/* --- starting --------------------------------------------------------------- */

static int start_words(struct starter *starter, struct words *words, bool orders)
{
	int err = words->failed ? -ENOMEM
				: start_command(words->items, &starter->pid, orders ? &starter->in : NULL,
						&starter->out.fd, &starter->errors.fd);

	words_free(words);
	if (err)
		return err;
	fcntl(starter->out.fd, F_SETFL, O_NONBLOCK);
	fcntl(starter->errors.fd, F_SETFL, O_NONBLOCK);
	if (starter->in >= 0)
		fcntl(starter->in, F_SETFL, O_NONBLOCK);
	return 0;
}

static bool gets_orders(const struct nodes *nodes)
{
	return nodes->orders && !nodes->means->no_orders;
}

static int start_all(struct nodes *nodes, struct starter *starter, size_t count, char *const *command)
{
	struct words words = { 0 };

	means_words(nodes->means, &words, nodes->job, nodes->hosts.names, count, command, gets_orders(nodes));
	return start_words(starter, &words, gets_orders(nodes));
}

/* The one with this number; NULL: by no means, it is this machine. */
static int start_one(struct nodes *nodes, struct starter *starter, const struct means *means, size_t number,
		     char *const *command)
{
	static const char *const nothing[] = { NULL };
	static const struct means none = { .line = nothing };
	struct words words = { 0 }, named = { 0 };
	bool orders = means ? gets_orders(nodes) : nodes->orders;

	starter->node = &nodes->list[number];
	for (size_t i = 0; command[i]; i++)
		words_add(&named, command[i]);
	words_add(&named, "--node");
	words_add(&named, starter->node->name);
	if (!named.failed)
		means_words(means ?: &none, &words, nodes->job, &nodes->hosts.names[number], 1, named.items, orders);
	words.failed |= named.failed;
	words_free(&named);
	return start_words(starter, &words, orders);
}

int nodes_start(struct nodes *nodes, char *const *command, char *const *here)
{
	size_t away = nodes->hosts.count - nodes->here;
	bool each = nodes->means->each;
	size_t count = (each ? away : away > 0) + nodes->here;
	int err = 0;

	nodes->starters = calloc(count, sizeof(*nodes->starters));
	if (!nodes->starters)
		return -ENOMEM;
	nodes->nstarters = count;
	for (size_t i = 0; i < nodes->nstarters; i++)
		nodes->starters[i].in = nodes->starters[i].out.fd = nodes->starters[i].errors.fd = -1;
	for (size_t i = 0; !err && each && i < away; i++)
		err = start_one(nodes, &nodes->starters[i], nodes->means, i, command);
	if (!err && !each && away)
		err = start_all(nodes, &nodes->starters[0], away, command);
	if (!err && nodes->here)
		err = start_one(nodes, &nodes->starters[nodes->nstarters - 1], NULL, away, here);
	return err;
}

/* --- what they say ------------------------------------------------------------ */

/* The same, or the one is the other's name within its domain. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return !strcmp(a, b) || (n == strcspn(b, ".") && !strncmp(a, b, n) && (!a[n] || !b[n]));
}

static struct node *find_node(const struct nodes *nodes, const char *name, size_t length)
{
	char copy[PART_NAME_MOST + 1];

	if (length > PART_NAME_MOST)
		return NULL;
	memcpy(copy, name, length);
	copy[length] = 0;
	for (size_t i = 0; i < nodes->hosts.count; i++)
		if (same_host(nodes->list[i].name, copy))
			return &nodes->list[i];
	return NULL;
}

/* "NODE: ", as a means that starts all of them puts it in front of each line; NULL: none is there. */
static struct node *find_label(const struct nodes *nodes, const char *line)
{
	const char *colon = strstr(line, ": ");

	return colon ? find_node(nodes, line, colon - line) : NULL;
}

/* Who has said it; a node may call itself otherwise than it was called. */
static struct node *find_speaker(const struct nodes *nodes, const struct starter *starter, const char *line,
				 const char *name, size_t length)
{
	return starter->node ?: find_label(nodes, line) ?: find_node(nodes, name, length);
}

/* Whoever is ready tells what time it is. What comes soonest is nearest to the truth. */
static void compare_clocks(struct node *node, const struct part_news *news)
{
	int64_t ahead = (int64_t)(news->at - clock_realtime());

	if (news->state == PART_READY && (node->state < PART_READY || ahead > node->ahead))
		node->ahead = ahead;
}

static void take_news(struct node *node, const struct part_news *news)
{
	compare_clocks(node, news);
	node->heard = clock_monotonic();
	if (news->state == PART_DONE && news->status) {
		node->lost = true;
		return;
	}
	node->last = *news;
	if (news->state < node->state)
		return;
	if (news->state == PART_OBSERVING && node->state < PART_OBSERVING)
		node->began = news->at;
	if (news->state == PART_ENDED)
		node->ended = news->at;
	node->state = news->state;
}

static int take_some(struct nodes *nodes, struct node *node, const struct buffer *some)
{
	node->came += some->size;
	node->sum = crc32(node->sum, some->data, some->size);
	node->whole = false;
	node->sending = node->heard = clock_monotonic();
	if (nodes->take)
		return some->failed ? -ENOMEM : nodes->take(nodes->context, node, some->data, some->size);
	if (node->handed.size < LINE_MOST) {
		buffer_put(&node->handed, some->data, some->size);
		node->handed.failed |= some->failed;
	}
	return 0;
}

/* False: there are none in it. */
static bool take_bytes(struct nodes *nodes, struct starter *starter, const char *line)
{
	struct buffer *some = &nodes->some;
	const char *name;
	size_t length;
	bool are_some;
	struct node *node;

	buffer_clear(some);
	are_some = part_take_bytes(line, &name, &length, some);
	node = are_some ? find_speaker(nodes, starter, line, name, length) : NULL;
	if (node)
		nodes->failed = take_some(nodes, node, some) ?: nodes->failed;
	return are_some;
}

static void take_whole(struct node *node, const struct part_whole *whole)
{
	node->size = whole->size;
	node->whole = node->came == whole->size && node->sum == whole->sum;
}

static void take_output(struct nodes *nodes, struct starter *starter, const char *line)
{
	struct part_whole whole;
	struct part_news news;
	struct node *node;

	if (part_read_whole(line, &whole)) {
		node = find_speaker(nodes, starter, line, whole.node, strlen(whole.node));
		if (node)
			take_whole(node, &whole);
	} else if (part_read_news(line, &news)) {
		node = find_speaker(nodes, starter, line, news.node, strlen(news.node));
		if (node)
			take_news(node, &news);
	} else if (!take_bytes(nodes, starter, line) && *line)
		log_warn("%s", log_safe(line));
}

/* What all nodes say alike is shown once. */
static void say_once(struct nodes *nodes, const struct node *node, const char *text)
{
	for (size_t i = 0; i < nodes->nwords; i++) {
		if (strcmp(nodes->words[i].text, text))
			continue;
		nodes->words[i].times++;
		return;
	}
	if (nodes->nwords == WORDS_MOST ||
	    array_one_more(&nodes->words, &nodes->words_room, nodes->nwords, sizeof(*nodes->words)))
		return;
	nodes->words[nodes->nwords] = (struct node_word){ .text = strdup(text), .times = 1 };
	if (!nodes->words[nodes->nwords].text)
		return;
	nodes->nwords++;
	log_warn("%s%s%s", node ? node->name : "", node ? ": " : "", log_safe(text));
}

static void note(struct node *node, const char *text, bool lost)
{
	char *copy = strdup(text);

	if (copy) {
		free(node->why);
		node->why = copy;
		node->said = clock_monotonic();
	}
	node->lost |= lost && node->state < PART_DONE;
}

/* The means knows before its own end who is gone. What was said of that node at last, if it has not been heard since,
 * tells more: "Connection refused". */
static void note_gone(struct nodes *nodes, const char *line)
{
	const char *const *told = nodes->means->gone;
	size_t n = told[0] ? strlen(told[0]) : 0;
	const char *names = n && !strncmp(line, told[0], n) ? strstr(line + n, ": ") : NULL;
	const char *end = names ? strstr(names, told[1]) : NULL;
	struct hosts gone = { 0 };
	char list[1024];

	if (!end || (size_t)snprintf(list, sizeof(list), "%.*s", (int)(end - names - strlen(": ")),
				     names + strlen(": ")) >= sizeof(list))
		return;
	if (!hosts_are_fit(list) || hosts_add(&gone, list)) /* refused: more than that is not known */
		gone.count = 0;
	for (size_t i = 0; i < gone.count; i++) {
		struct node *node = find_node(nodes, gone.names[i], strlen(gone.names[i]));

		if (node && !node->lost && node->state < PART_DONE) /* else it was us */
			note(node, node->why && node->said >= node->heard ? node->why : end + strlen(": "), true);
	}
	hosts_free(&gone);
}

/* Whose name that is: as we call it, or this one calls itself. */
static struct node *find_named(const struct nodes *nodes, struct node *node, const char *name, size_t length)
{
	if (node && node->heard && strlen(node->last.node) == length && !strncmp(name, node->last.node, length))
		return node;
	return find_node(nodes, name, length);
}

/* "gaspbpf: NODE: what: why", or whatever the means itself says; in front of it there may be a label. */
static void take_error(struct nodes *nodes, struct starter *starter, const char *line)
{
	struct node *labelled = find_label(nodes, line), *node = starter->node ?: labelled, *named;
	const char *text = labelled ? strstr(line, ": ") + strlen(": ") : line, *colon;
	bool own = !strncmp(text, PREFIX,
			    strlen(PREFIX)); /* it may stand in others' words: "/opt/gaspbpf: not found" */

	if (own) {
		text += strlen(PREFIX);
		colon = strstr(text, ": ");
		named = colon ? find_named(nodes, node, text, colon - text) : NULL;
		node = named ?: node;
		text = named ? colon + strlen(": ") : text;
	}
	if (!*text)
		return;
	if (node)
		note(node, text, false);
	else if (!own)
		note_gone(nodes, line);
	say_once(nodes, node, text);
}

typedef void take_line(struct nodes *nodes, struct starter *starter, const char *line);

static void take_lines(struct nodes *nodes, struct starter *starter, struct stream *s, take_line *take)
{
	char *at = s->text, *end;

	while ((end = memchr(at, '\n', s->text + s->size - at))) {
		*end = 0;
		if (end > at && end[-1] == '\r') /* remote shells end their own lines so */
			end[-1] = 0;
		take(nodes, starter, at);
		at = end + 1;
	}
	s->size -= at - s->text;
	memmove(s->text, at, s->size);
	if (s->size > LINE_MOST)
		s->size = 0;
}

static void end_stream(struct nodes *nodes, struct starter *starter, struct stream *s, take_line *take)
{
	if (s->size) {
		s->text[s->size] = 0; /* there is room: read_stream() */
		take(nodes, starter, s->text);
	}
	s->size = 0;
	close(s->fd);
	s->fd = -1;
}

static int read_stream(struct nodes *nodes, struct starter *starter, struct stream *s, take_line *take)
{
	while (s->fd >= 0) {
		ssize_t n;

		if (array_reach(&s->text, &s->room, s->size + PIECE + 1, 1))
			return -ENOMEM;
		n = read(s->fd, s->text + s->size, PIECE);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n > 0) {
			s->size += n;
			take_lines(nodes, starter, s, take);
		} else
			end_stream(nodes, starter, s, take);
	}
	return 0;
}

/* --- who is gone -------------------------------------------------------------- */

static void lose(struct node *node)
{
	if (node->state < PART_DONE)
		node->lost = true;
}

/* Its streams are read to their end first: what it has said last counts. A child of its own may hold them open; so its
 * end is enough. */
static void collect(struct nodes *nodes, struct starter *starter)
{
	int status;

	if (!starter->pid || waitpid(starter->pid, &status, WNOHANG) != starter->pid)
		return;
	starter->pid = 0;
	read_stream(nodes, starter, &starter->out, take_output);
	read_stream(nodes, starter, &starter->errors, take_error);
	if (starter->node)
		lose(starter->node);
	else
		for (size_t i = 0; i < nodes->hosts.count - nodes->here; i++)
			lose(&nodes->list[i]);
}

int nodes_serve(struct nodes *nodes, int wake, int patience)
{
	struct pollfd *fds = calloc(2 * nodes->nstarters + 1, sizeof(*fds));
	int err = fds ? 0 : -ENOMEM;

	if (err)
		return err;
	fds[0] = (struct pollfd){ .fd = wake, .events = POLLIN };
	for (size_t i = 0; i < nodes->nstarters; i++) {
		fds[1 + 2 * i] = (struct pollfd){ .fd = nodes->starters[i].out.fd, .events = POLLIN };
		fds[2 + 2 * i] = (struct pollfd){ .fd = nodes->starters[i].errors.fd, .events = POLLIN };
	}
	nodes->failed = 0;
	poll(fds, 2 * nodes->nstarters + 1, patience);
	for (size_t i = 0; !err && i < nodes->nstarters; i++) {
		struct starter *starter = &nodes->starters[i];

		err = read_stream(nodes, starter, &starter->out, take_output);
		err = err ?: read_stream(nodes, starter, &starter->errors, take_error);
		collect(nodes, starter);
	}
	free(fds);
	return err ?: nodes->failed;
}

size_t nodes_in(const struct nodes *nodes, enum part_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < nodes->hosts.count; i++)
		count += nodes->list[i].state >= state;
	return count;
}

bool nodes_over(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->hosts.count; i++)
		if (!nodes->list[i].lost && nodes->list[i].state < PART_DONE)
			return false;
	return true;
}

bool nodes_running(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->nstarters; i++)
		if (nodes->starters[i].pid)
			return true;
	return false;
}

bool nodes_take_orders(const struct nodes *nodes)
{
	return !nodes->means->no_orders;
}

void nodes_tell(struct nodes *nodes, const char *line, size_t length)
{
	for (size_t i = 0; i < nodes->nstarters; i++)
		if (nodes->starters[i].in >= 0 && write(nodes->starters[i].in, line, length) != (ssize_t)length)
			log_info("%s: takes no orders",
				 nodes->starters[i].node ? nodes->starters[i].node->name : nodes->means->program);
}

/* --- the end ------------------------------------------------------------------- */

#define POLITE_MS 2000

static void end_all(struct nodes *nodes, int signal)
{
	for (size_t i = 0; i < nodes->nstarters; i++)
		if (nodes->starters[i].pid)
			kill(-nodes->starters[i].pid, signal);
}

static void wait_for_starters(struct nodes *nodes)
{
	uint64_t until = clock_monotonic() + POLITE_MS * 1000000ULL;

	while (nodes_running(nodes) && clock_monotonic() < until)
		if (nodes_serve(nodes, -1, 50))
			break;
}

void nodes_give_up(struct nodes *nodes)
{
	if (nodes_in(nodes, PART_DONE) == nodes->hosts.count)
		wait_for_starters(nodes); /* they end by themselves */
	for (size_t i = 0; i < nodes->hosts.count; i++)
		lose(&nodes->list[i]);
	end_all(nodes, SIGTERM);
	wait_for_starters(nodes);
	end_all(nodes, SIGKILL);
	for (size_t i = 0; i < nodes->nstarters; i++)
		if (nodes->starters[i].pid)
			waitpid(nodes->starters[i].pid, NULL, 0);
	for (size_t i = 0; i < nodes->nstarters; i++)
		nodes->starters[i].pid = 0;
}

void nodes_say_words(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->nwords; i++)
		if (nodes->words[i].times > 1)
			log_warn("said %zu times by nodes: %s", nodes->words[i].times, log_safe(nodes->words[i].text));
}

static void free_stream(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->text);
}

void nodes_free(struct nodes *nodes)
{
	if (nodes_running(nodes))
		nodes_give_up(nodes);
	for (size_t i = 0; i < nodes->nstarters; i++) {
		free_stream(&nodes->starters[i].out);
		free_stream(&nodes->starters[i].errors);
		if (nodes->starters[i].in >= 0)
			close(nodes->starters[i].in);
	}
	for (size_t i = 0; nodes->list && i < nodes->hosts.count; i++) {
		free(nodes->list[i].why);
		buffer_free(&nodes->list[i].handed);
	}
	for (size_t i = 0; i < nodes->nwords; i++)
		free(nodes->words[i].text);
	buffer_free(&nodes->some);
	free(nodes->words);
	free(nodes->starters);
	free(nodes->list);
	free(nodes->job);
	hosts_free(&nodes->hosts);
	launched_free(&nodes->launched);
}
