/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h - a command that gaspbpf starts, and holds until its probes are in.
 */
#ifndef GASPBPF_OBSERVE_COMMAND_H
#define GASPBPF_OBSERVE_COMMAND_H

#include "observe/observe.h"

/* Asks it to end, as kill(1) does. */
void command_ask_to_end(const struct job *job);
/* capture_drain(), in pieces: in between, held processes get their answers. */
void command_drain(struct job *job);
/* Lets all that is held run on. With wait, waits for the command's end; its status is in job->command_status then. */
void command_let_go(struct job *job, bool wait);

#endif
