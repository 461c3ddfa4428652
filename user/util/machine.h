/* SPDX-License-Identifier: BSD-2-Clause */
/* machine.h - what this machine has. */
#ifndef GASPBPF_UTIL_MACHINE_H
#define GASPBPF_UTIL_MACHINE_H

/* Processors in use; 0: not known. */
unsigned machine_cpus(void);

#endif
