/*
 * command.h - a command that gaspbpf starts, and holds until its probes are in.
 */
#ifndef GASPBPF_COMMAND_H
#define GASPBPF_COMMAND_H

#include "cli/job.h"

/*
 * Starts a command under observation: held until its probes are in, then let go. Once it is held all rights are given up (job_give_up_rights()).
 * 0 or -errno, said.
 */
int job_start(struct job *job, char *const argv[], enum scope scope, uint64_t ring_bytes, const struct text_list *written);
/* Asks it to end, as kill(1) does. */
void command_ask_to_end(const struct job *job);
/* capture_drain(), in pieces: in between, held processes get their answers. */
void command_drain(struct job *job);
/* Lets all that is held run on. With wait, waits for the command's end; its status is in job->command_status then. */
void command_let_go(struct job *job, bool wait);

#endif
