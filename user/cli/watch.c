/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.c - gaspbpf watch: what a job is doing now, on a page in a browser.
 *
 * The observation is that of top (looking.h); what there is to show goes to all who read the stream, as the JSON that
 * 'top --once --json' prints. Who has not the token, which is in the address that is printed, is answered nothing:
 * other users of the machine reach the loopback address, too.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/looking.h"
#include "export/export.h"
#include "export/live_page.h"
#include "http/http.h"
#include "observe/launchers.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"

#define WATCH_PORT "9080"
#define INTERVAL 1000000000ULL
#define LEAST_INTERVAL 200000000ULL /* ns */
#define MOST_INTERVAL 60000000000ULL
#define TOKEN 16          /* bytes */
#define LAST_WORD_MS 1000 /* so long may readers take to read the last message */

struct options {
	struct choice choice;
	char **command;
	struct observing observing;
	uint64_t interval, duration; /* duration 0: without end */
	const char *listen;
};

enum { OPTION_LISTEN = 300 };

static const struct argp_option option_table[] = {
	{ "listen", OPTION_LISTEN, "ADDRESS:PORT", 0,
	  "Where the page is to be had (default: 127.0.0.1:" WATCH_PORT "; port 0: any that is free)", 1 },
	{ "interval", 'i', "TIME", 0, "Tell the page every TIME: 1 (seconds, the default), 500ms, 10s", 1 },
	{ "duration", 'd', "TIME", 0, "End after TIME", 1 },
	{ 0 }
};

static const char description[] =
	"What a running parallel job is doing now, on a page in a browser: where the time of each rank and thread goes, "
	"the last minutes on a timeline, events, who comes last to barriers, locks, what is lost and what observing "
	"costs. The address that is printed has a token in it: whoever knows it can read the page, and change nothing."
	"\v"
	"On another machine: 'ssh -L " WATCH_PORT ":127.0.0.1:" WATCH_PORT
	" NODE', then open the address as printed.\n\n"
	"Examples:\n"
	"  sudo gaspbpf watch -p 4242                 a launcher's PID: all its ranks\n"
	"  sudo gaspbpf watch --slurm-job 4711        its ranks on this machine\n"
	"  sudo gaspbpf watch -- mpirun -n 4 ./solver\n"
	"  sudo gaspbpf watch -p 4242 --listen 0      at any port that is free";

static void parse_interval(const char *argument, struct options *o, struct argp_state *state)
{
	if (parse_time(argument, &o->interval) || o->interval < LEAST_INTERVAL || o->interval > MOST_INTERVAL)
		argp_error(state, "-i %s: not a time between 200ms and 60s: use 1, 500ms", log_safe(argument));
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->observing;
		state->child_inputs[2] = &o->choice.who;
		break;
	case 'i':
		parse_interval(argument, o, state);
		break;
	case 'd':
		if (parse_time(argument, &o->duration) || !o->duration)
			argp_error(state, "-d %s: not a time: use 10, 500ms, 2m", log_safe(argument));
		break;
	case OPTION_LISTEN:
		o->listen = argument;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		cli_need_processes(&o->choice, o->command, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &choice_parser, 0, NULL, 0 }, { &observing_parser, 0, NULL, 0 }, { &chooser_parser, 0, NULL, 0 }, { 0 }
};
static const struct argp parser = { option_table, parse, "-p PID\n--slurm-job ID\n-- COMMAND...", description, children,
				    NULL,         NULL };

/* --- pages ------------------------------------------------------------------ */

struct run {
	const struct options *options;
	struct looking looking;
	struct http *http;
	struct http_streams *streams;
	struct live_page page;
	char token[2 * TOKEN + 1];
};

static int make_token(char token[2 * TOKEN + 1])
{
	unsigned char bytes[TOKEN];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		log_error("there are no random numbers for the page's token: %s", strerror(errno));
		return -EIO;
	}
	for (size_t i = 0; i < TOKEN; i++)
		sprintf(token + 2 * i, "%02x", bytes[i]);
	return 0;
}

/* As long as it takes for any other one. */
static bool is_token(const struct run *r, const char *given)
{
	unsigned char differs = 0;

	if (!given || strlen(given) != 2 * TOKEN)
		return false;
	for (size_t i = 0; i < 2 * TOKEN; i++)
		differs |= given[i] ^ r->token[i];
	return !differs;
}

static enum MHD_Result answer_page(struct run *r, struct MHD_Connection *connection)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(r->page.size, r->page.text,
									MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "X-Frame-Options", "DENY");
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result get(void *context, struct MHD_Connection *connection, const char *path)
{
	struct run *r = context;

	if (!is_token(r, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token")))
		return http_answer_text(
			connection, MHD_HTTP_FORBIDDEN, "text/plain",
			"the address that 'gaspbpf watch' printed has a token in it: open it as it is\n");
	if (!strcmp(path, "/"))
		return answer_page(r, connection);
	if (!strcmp(path, "/events"))
		return http_stream(r->streams, connection);
	return http_answer_text(connection, MHD_HTTP_NOT_FOUND, "text/plain", "there are only / and /events\n");
}

static int append(void *context, const char *data, size_t size)
{
	struct buffer *text = context;

	buffer_put(text, data, size);
	return text->failed ? -ENOMEM : 0;
}

/* To all who look, if any do. */
static void tell(struct run *r)
{
	struct buffer text = { 0 };
	int err;

	if (!http_streams_readers(r->streams))
		return;
	err = top_write_json(&r->looking.top, append, &text);
	err = err ?: http_streams_tell(r->streams, (const char *)text.data, text.size);
	if (err)
		log_debug("the page is not told: %s", strerror(-err));
	buffer_free(&text);
}

/* Before anything is observed: an address that is not to be had is worth no probe. 0 or -errno, said. */
static int open_page(struct run *r)
{
	const struct http_ops ops = { .get = get, .context = r, .port = WATCH_PORT, .tells = "what the job does" };
	int err = live_page_make(&r->page) ?: make_token(r->token);

	err = err ?: http_open(&r->http, r->options->listen, &ops);
	if (err)
		return err;
	r->streams = http_streams_new(r->http);
	return r->streams ? 0 : -ENOMEM;
}

static void close_page(struct run *r)
{
	http_streams_free(r->streams);
	http_close(r->http);
	free(r->page.text);
}

/* --- the run ---------------------------------------------------------------- */

static void watch(struct run *r)
{
	const struct options *o = r->options;
	uint64_t started = clock_monotonic(), looked = started, now = started;

	while (!looking_is_signalled(&r->looking) && job_alive(&r->looking.job) &&
	       !(o->duration && now - started >= o->duration)) {
		job_serve(&r->looking.job);
		http_step(r->http);
		now = clock_monotonic();
		if (now - looked < o->interval)
			continue;
		looked = now;
		r->looking.top.command = r->looking.job.command_ended ? 0 : r->looking.job.command;
		looking_look(&r->looking, false);
		tell(r);
	}
	launchers_finish(r->looking.job.launchers);
	looking_look(&r->looking, true);
	tell(r);
}

/* Whoever is slow misses it. */
static void finish_telling(struct run *r)
{
	struct pollfd ready = { .fd = http_fd(r->http), .events = POLLIN };
	uint64_t until = clock_monotonic() + LAST_WORD_MS * 1000000ULL;

	do {
		http_step(r->http);
		poll(&ready, 1, 10);
	} while (!http_streams_are_told(r->streams) && clock_monotonic() < until);
}

static int start_command(struct run *r)
{
	static const struct text_list nowhere;
	const struct options *o = r->options;

	return job_start(&r->looking.job, o->command, o->observing.scope, o->observing.ring_bytes, &nowhere);
}

static int observe(struct run *r, struct options *o)
{
	struct looking *looking = &r->looking;
	int err = looking_prepare(looking, &o->choice, &o->observing) ?: open_page(r);

	if (!err)
		err = o->command ? start_command(r)
				 : looking_join(looking, &o->choice, o->observing.scope, o->observing.ring_bytes);
	err = err ?: looking_begin(looking, &o->choice, &o->observing);
	err = err ?: job_listen(&looking->job, (int[]){ r->looking.signals, http_fd(r->http) }, 2);
	if (err)
		return err;
	looking->top.view = (struct top_view){ .threads = true };
	fprintf(stderr, "gaspbpf: open %s/?token=%s\n", http_address(r->http), r->token);
	watch(r);
	job_leave(&looking->job, NULL);
	finish_telling(r);
	looking_wait_for_command(looking);
	if (looking->job.command && !looking->job.command_ended)
		log_warn("%d runs on: 'kill %d' ends it", looking->job.command, looking->job.command);
	else if (!job_alive(&looking->job))
		fprintf(stderr, "gaspbpf: all that was observed has ended\n");
	job_check_functions(&looking->job);
	return 0;
}

int command_watch(int argc, char **argv)
{
	struct options o = { .interval = INTERVAL, .listen = "127.0.0.1:" WATCH_PORT };
	struct run r = { .options = &o };
	int err, status;

	cli_parse(&parser, argc, argv, &o);
	r.looking.signals = cli_block_signals(0);
	err = r.looking.signals < 0 ? r.looking.signals : observe(&r, &o);
	status = job_status(&r.looking.job);
	close_page(&r);
	looking_free(&r.looking);
	choice_free(&o.choice);
	return cli_status("watch", err) ?: status;
}
