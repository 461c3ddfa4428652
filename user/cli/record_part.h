/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_part.h - gaspbpf record as one node's part of a job, as 'gaspbpf job' starts it: begins and ends when it is
 * told to, and tells how it is getting on.
 */
#ifndef GASPBPF_CLI_RECORD_PART_H
#define GASPBPF_CLI_RECORD_PART_H

#include "cli/observing.h"
#include "cli/part_sent.h"
#include "nodes/part.h"
#include "util/text.h"

struct record_part {
	const char *folder; /* NULL: it is none */
	const char *named;  /* --node */
	char *node, *orders, *recording;
	bool send;   /* the folder is not here, or is not wanted */
	bool shared; /* it has to be here: nothing can be sent */
	struct part_sent sent;
	struct part_orders in_folder, by_input, told; /* told: of both */
	uint64_t asked, said;                         /* ns, CLOCK_MONOTONIC */
	bool stopped;                                 /* before it had begun, or nobody listens any more */
};

/* For argp's `children`; its input is a struct record_part. */
extern const struct argp part_parser;
/* Knows the node, and where its recording is: that is added to the outputs. 0 or -errno, said. */
int record_part_open(struct record_part *part, struct text_list *outputs);
/* The probes are in: says so, and serves the job until it is to begin, or one of `signals` has come. */
void record_part_wait(struct record_part *part, struct job *job, int signals);
/* It has begun. */
void record_part_began(struct record_part *part, struct job *job);
/* To be called often; true: it is to end. */
bool record_part_step(struct record_part *part, const struct job *job);
void record_part_ended(const struct record_part *part, const struct job *job);
/* The recording is whole, if status is 0. */
void record_part_done(const struct record_part *part, const struct job *job, int status);
void record_part_free(struct record_part *part);

#endif
