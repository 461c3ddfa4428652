/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.c - datagrams that anybody may send to the socket of a recorder (gaspbpf control), and what is answered to
 * the one who asks.
 */
#include "cli/control.c" /* both sides' readers are static; the library's copies are not linked then */
#include "observe/control_server.c"

#include "capture/session.h"
#include "shared/kernel.h"

static uint64_t dump(void *context, uid_t asking, const char **refused)
{
	uint64_t *tickets = context;

	if (++*tickets % 3 == 0)
		*refused = "it was asked too often";
	return *tickets;
}

static void serve(const uint8_t *data, size_t size)
{
	struct control c = { .fd = -1 };
	struct fuzz_session f;
	uint64_t tickets = 0;
	int ends[2];
	const int yes = 1;

	must(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) &&
	     !setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)));
	c.fd = ends[0];
	fuzz_session_open(&f, NULL);
	must(session_calling_process(f.session, fuzz_sleeper(), CAPTURE_NOW));
	send(ends[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	control_serve(&c, f.session, dump, &tickets);
	control_serve(&c, NULL, dump, &tickets);
	control_answer(&c, tickets, size & 1, "/tmp/run.gasp");
	fuzz_session_close(&f);
	close(ends[0]);
	close(ends[1]);
}

static void listen_to(const uint8_t *data, size_t size)
{
	const struct options o = { .pid = 1, .word = "dump" };
	struct answers all = { 0 };
	struct asked asked = { .pid = 0 };
	struct pollfd from = { .events = POLLIN };
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	from.fd = ends[0];
	for (int i = 0; i < 3 && from.fd >= 0; i++) { /* several recorders' answers are put together */
		if (send(ends[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			hear(&asked, &from, &all);
	}
	if (from.fd >= 0)
		done_with(&from);
	say(&o, &all);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = input_text(data, size < CONTROL_TEXT - 1 ? size : CONTROL_TEXT - 1);
	struct answers all = { 0 };

	take(&all, text);
	take(&all, text);
	take(&all, text);
	free(text);
	listen_to(data, size);
	serve(data, size);
	return 0;
}
