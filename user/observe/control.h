/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h - a running gaspbpf that can be talked to: 'gaspbpf control'.
 *
 * Each recorder has a socket PID.sock: root's are in a folder that only root can write to, that of the service is in
 * the one that systemd makes for the service's user. A request is one datagram, whose sender the kernel names: root,
 * the recorder's own user, or the owner of the process that it is about. Nobody can keep the recorder waiting.
 */
#ifndef GASPBPF_OBSERVE_CONTROL_H
#define GASPBPF_OBSERVE_CONTROL_H

#include <sys/types.h>

#include "capture/capture.h"

#define CONTROL_FOLDERS                                \
	{                                              \
		"/run/gaspbpf", "/run/gaspbpf-monitor" \
	}                     /* the latter: RuntimeDirectory of service/gaspbpf.service */
#define CONTROL_TEXT 4600     /* bytes of a request or an answer */
#define CONTROL_LATER "later" /* an answer: another one will follow, when it is done */

struct control;

/* Makes the socket. NULL where that does not work, said at LOG_INFO: then this run cannot be talked to, and that is
 * all. */
struct control *control_open(void);
void control_close(struct control *control);
const char *control_path(const struct control *control); /* NULL for NULL */
int control_fd(const struct control *control);           /* readable when somebody asks; -1 for NULL */
/*
 * Brings the recording on disk up to date for this user, and returns 0; or a ticket, under which there will be an
 * answer. *refused: set to why it does not; good until the next call.
 */
typedef uint64_t control_dump(void *context, uid_t asking, const char **refused);
/* Answers what has been asked; session: NULL: nothing is observed yet. */
void control_serve(struct control *control, struct capture_session *session, control_dump *dump, void *context);
/* The answer for all who have a ticket up to this one. A file that has been written, or why there is none. */
void control_answer(struct control *control, uint64_t ticket, bool written, const char *text);

#endif
