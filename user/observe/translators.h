/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * translators.h - programs that translate others, beside files that have probes for everybody. translators.c has the
 * method.
 */
#ifndef GASPBPF_OBSERVE_TRANSLATORS_H
#define GASPBPF_OBSERVE_TRANSLATORS_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/probe.h"
#include "target/target.h"

/*
 * The process is one, and the first: probes for everybody were taken out just now. execed: it has become one just now,
 * and is held for so long. Its name is left in comm.
 */
bool translators_take_out(struct translators *t, struct kernel *kernel, struct plan *plan,
			  const struct attach_scope *scope, pid_t pid, bool execed, char comm[TRANSLATOR_NAME]);
/* To be called often. True: the last of them has ended, and probes were put in again: *blind ns after they came out.
 * *err: 0 or -errno, said. */
bool translators_put_back(struct translators *t, struct kernel *kernel, struct plan *plan,
			  const struct attach_scope *scope, uint64_t *blind, int *err);
void translators_free(struct translators *t);

/* --- of a job -------------------------------------------------------------- */

struct job;

#define EACH_BY_ITSELF "the job's processes get probes of their own (--scope=process), with which calls cost more"

/* Those that live already, before probes go in: may files have probes for everybody? Says why not, with `instead`. */
bool translators_allow(const char *instead);
/* The same where that was asked for: then the probes wait. */
void translators_find(struct job *job);
/* A process runs a new program. */
void translators_execed(struct job *job, pid_t pid);
/* To be called often: when the last of them has ended, probes go in again. 0 or -errno, said. */
int translators_check(struct job *job);

#endif
