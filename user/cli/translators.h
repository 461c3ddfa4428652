/*
 * translators.h - programs that translate others, beside a job whose files have probes for everybody. translators.c has the method.
 */
#ifndef GASPBPF_TRANSLATORS_H
#define GASPBPF_TRANSLATORS_H

#include <stdbool.h>
#include <sys/types.h>

#include "target/target.h"

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
void translators_free(struct translators *t);

#endif
