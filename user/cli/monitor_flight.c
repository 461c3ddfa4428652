/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_flight.c - the flight recorder of 'gaspbpf monitor'.
 *
 * The monitor counts in the kernel; for a flight recorder each call goes through the rings as well, and a capture takes
 * it from there, as in 'gaspbpf -p'. What a capture knows of processes, threads and call sites grows as long as it
 * lives; a monitor lives for months. So when that is too much, or when the monitor forgets the files that are gone, the
 * capture begins anew, and with it the time that a dump can reach back.
 */
#include "cli/monitor_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "observe/control.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/machine.h"

#define DRAIN_MS 20
#define CHECK_NS 500000000ULL
#define DEFINITIONS_LEAST (32ULL << 20)

struct monitor_flight {
	const struct flight_options *options;
	struct caller caller;
	struct definitions definitions;
	struct capture_session *capture; /* NULL: nothing is probed yet */
	struct flight *flight;
	struct control *control;
	pid_t *pids; /* that are watched */
	size_t npids, pids_room;
	uint64_t checked; /* ns */
	int err;          /* that a hook met */
};

static void describe_run(struct def_run *run)
{
	struct utsname system;

	run->version = strdup(GASPBPF_VERSION);
	run->command = strdup("gaspbpf monitor");
	if (!uname(&system)) {
		run->host = strdup(system.nodename);
		run->kernel = strdup(system.release);
	}
	run->boot = clock_identity();
	run->cpus = machine_cpus();
	run->start = clock_monotonic();
	run->start_realtime = clock_realtime();
}

static void on_end(void *context, pid_t pid, int exit_code)
{
	struct monitor_flight *f = context;

	flight_process_ended(f->flight, pid, exit_code);
}

static void close_capture(struct monitor_flight *f)
{
	if (f->flight)
		flight_finish(f->flight);
	flight_free(f->flight);
	capture_close(f->capture);
	definitions_free(&f->definitions);
	f->flight = NULL;
	f->capture = NULL;
}

static int open_capture(struct monitor_flight *f, struct monitor *m)
{
	struct capture_events events = { .exited = on_end, .context = f };
	struct kernel *kernel = monitor_kernel(m);
	struct probe_costs costs;
	struct span_sink sink;
	int err;

	describe_run(&f->definitions.run);
	kernel_costs(kernel, &costs);
	for (int class = 0; class < SITE_CLASSES; class ++) {
		f->definitions.run.cost_ns[class] = costs.call[class];
		f->definitions.run.floor_ns[class] = costs.floor[class];
	}
	f->definitions.run.rung = strdup(rung_name(kernel_rung(kernel)));
	err = capture_new(&f->capture, kernel, monitor_plan(m), &f->definitions, &events);
	if (err)
		return err;
	capture_leave_sums(f->capture);
	err = flight_new(&f->flight, f->options, &f->caller, &f->definitions, f->capture);
	if (err)
		return err;
	sink = flight_sink(f->flight);
	capture_add_sink(f->capture, &sink);
	for (size_t i = 0; i < f->npids; i++)
		capture_refresh_process(f->capture, f->pids[i]);
	return 0;
}

/* --- what the monitor tells ------------------------------------------------ */

static void on_grown(void *context, struct monitor *m)
{
	struct monitor_flight *f = context;
	int err = f->capture ? capture_define_probes(f->capture) : open_capture(f, m);

	f->err = f->err ?: err;
}

static void on_renewing(void *context, struct monitor *m)
{
	struct monitor_flight *f = context;

	if (f->capture)
		capture_drain(f->capture);
	close_capture(f);
}

static void on_came(void *context, struct monitor *m, const struct process *process, uint64_t blind_from,
		    uint64_t blind_to)
{
	struct monitor_flight *f = context;

	if (array_one_more(&f->pids, &f->pids_room, f->npids, sizeof(*f->pids))) {
		f->err = -ENOMEM;
		return;
	}
	f->pids[f->npids++] = process->pid;
	if (f->capture && !capture_refresh_process(f->capture, process->pid) && blind_to)
		capture_add_window(f->capture, process->pid, NULL, blind_from, blind_to, "its start");
}

static void on_left(void *context, struct monitor *m, pid_t pid)
{
	struct monitor_flight *f = context;

	for (size_t i = 0; i < f->npids; i++)
		if (f->pids[i] == pid)
			f->pids[i--] = f->pids[--f->npids];
}

static void on_changed(void *context, struct monitor *m, const struct image *image)
{
	struct monitor_flight *f = context;

	if (f->capture)
		capture_forget_image(f->capture, image);
}

struct monitor_watcher monitor_flight_watcher(struct monitor_flight *f)
{
	if (!f)
		return (struct monitor_watcher){ 0 };
	return (struct monitor_watcher){ .grown = on_grown,
					 .renewing = on_renewing,
					 .came = on_came,
					 .left = on_left,
					 .changed = on_changed,
					 .context = f };
}

/* --- dumps ------------------------------------------------------------------- */

static uint64_t dump(void *context, uid_t asking, const char **refused)
{
	struct monitor_flight *f = context;

	*refused = flight_share(f->flight, asking);
	return *refused ? 0 : flight_ask(f->flight, "gaspbpf control");
}

void monitor_flight_asked(struct monitor_flight *f)
{
	if (f && f->flight)
		flight_ask(f->flight, "SIGUSR1");
	else
		log_warn("no dump: nothing has been observed yet");
}

static void answer(struct monitor_flight *f)
{
	const char *text;
	uint64_t ticket;
	bool written;

	if (flight_answer(f->flight, &ticket, &written, &text))
		control_answer(f->control, ticket, written, text);
}

static bool is_too_much(const struct monitor_flight *f)
{
	uint64_t most = f->options->bytes / 2 > DEFINITIONS_LEAST ? f->options->bytes / 2 : DEFINITIONS_LEAST;

	return definitions_bytes(&f->definitions) > most;
}

int monitor_flight_step(struct monitor_flight *f, struct monitor *m)
{
	uint64_t now = clock_monotonic();
	int err;

	if (!f || f->err)
		return f ? f->err : 0;
	if (!f->capture) { /* who asks is told that there is nothing yet */
		control_serve(f->control, NULL, dump, f);
		return 0;
	}
	err = capture_drain(f->capture);
	control_serve(f->control, f->capture, dump, f);
	flight_step(f->flight);
	answer(f);
	if (now - f->checked < CHECK_NS)
		return err;
	f->checked = now;
	capture_check_processes(f->capture);
	if (!is_too_much(f))
		return err;
	log_info("flight recorder: begins anew, to forget processes that are gone");
	close_capture(f);
	return open_capture(f, m);
}

const struct control *monitor_flight_control(const struct monitor_flight *f)
{
	return f ? f->control : NULL;
}

int monitor_flight_timeout(const struct monitor_flight *f, int most)
{
	return f && f->npids && most > DRAIN_MS ? DRAIN_MS : most;
}

/* --- life --------------------------------------------------------------------- */

int monitor_flight_new(struct monitor_flight **result, const struct flight_options *options)
{
	struct monitor_flight *f = calloc(1, sizeof(*f));
	int err;

	*result = NULL;
	if (!f)
		return -ENOMEM;
	f->options = options;
	err = caller_find(&f->caller);
	if (err) {
		free(f);
		return err;
	}
	f->control = control_open();
	*result = f;
	return 0;
}

void monitor_flight_free(struct monitor_flight *f)
{
	if (!f)
		return;
	if (f->capture)
		capture_drain(f->capture);
	if (f->flight) {
		flight_finish(f->flight);
		answer(f);
	}
	close_capture(f);
	control_close(f->control);
	caller_free(&f->caller);
	free(f->pids);
	free(f);
}
