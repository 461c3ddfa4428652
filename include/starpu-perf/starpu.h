/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu.h - StarPU's own, with the performance counters that it lacks; without StarPU, what a program that only
 * listens needs.
 */
#ifndef GASPBPF_STARPU_PERF_STARPU_H
#define GASPBPF_STARPU_PERF_STARPU_H

#ifdef __has_include_next
#if __has_include_next(<starpu.h>)
#include_next <starpu.h>
#define GASPBPF_STARPU_IS_HERE
#endif
#endif

#ifndef GASPBPF_STARPU_IS_HERE
#ifdef __cplusplus
extern "C" {
#endif
struct starpu_conf;
int starpu_init(struct starpu_conf *conf);
int starpu_task_wait_for_all(void);
void starpu_shutdown(void);
#ifdef __cplusplus
}
#endif
#endif

#include "../starpu_perf_monitoring.h"

#endif
