/*
 * control.h - a running gaspbpf that can be talked to: 'gaspbpf control'.
 *
 * Each recorder has a socket /run/gaspbpf/PID.sock, in a folder that only root can write to. A request is one datagram, whose sender the
 * kernel names: root, or the owner of the process that it is about. Nobody can keep the recorder waiting.
 */
#ifndef GASPBPF_CONTROL_H
#define GASPBPF_CONTROL_H

#include <sys/types.h>

#include "capture/capture.h"

#define CONTROL_FOLDER "/run/gaspbpf"
#define CONTROL_TEXT 4600 /* bytes of a request or an answer */
#define CONTROL_LATER "later" /* an answer: another one will follow, when it is done */

struct control;

/* Makes the socket. NULL where that does not work, said at LOG_INFO: then this run cannot be talked to, and that is all. */
struct control *control_open(void);
void control_close(struct control *control);
int control_fd(const struct control *control); /* readable when somebody asks; -1 for NULL */
/* Answers what has been asked. `dump` brings the recording on disk up to date, and returns 0; or a ticket, under which there will be an answer. */
void control_serve(struct control *control, struct capture_session *session, uint64_t (*dump)(void *context), void *context);
/* The answer for all who have a ticket up to this one. A file that has been written, or why there is none. */
void control_answer(struct control *control, uint64_t ticket, bool written, const char *text);

#endif
