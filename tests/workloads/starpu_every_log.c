/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in front of StarPU's functions (LD_PRELOAD=libstarpu_every.so) and writes down each call between the job's
 * marks with what it was given and what it gave, in the words of the model's events: "TID START|END EVENT name=value
 * ..." in the file of EVERY_LOG, whoever calls. Debian's libstarpu calls its own functions through its dynamic symbols,
 * so its calls to itself are here, too. One system call a line, so that the lines of several threads stay whole.
 */
#include "job.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <starpu.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int log_file = -1;
static _Thread_local int
	internal; /* calls of _starpu_task_submit_internally() around: what is submitted in them is StarPU's own */

void count_window(int begin)
{
	const char *name = getenv("EVERY_LOG");
	int old = log_file;

	if (begin && name) {
		log_file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	} else if (old >= 0) {
		log_file = -1;
		close(old);
	}
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char text[400];
	va_list arguments;
	int length;

	if (log_file < 0)
		return;
	length = snprintf(text, sizeof(text), "%d ", gettid());
	va_start(arguments, format);
	length += vsnprintf(text + length, sizeof(text) - length, format, arguments);
	va_end(arguments);
	text[length++] = '\n';
	if (write(log_file, text, length) != length)
		abort();
}

/* `next` becomes what FUNCTION really is. Two threads that come at once find the same. */
#define NEXT(FUNCTION)                                          \
	static __typeof__(FUNCTION) *next;                      \
	if (!next)                                              \
		next = dlsym(RTLD_NEXT, #FUNCTION)

/* A function with a result that no event tells, or none: the same arguments at START and at END. */
#define GIVES(TYPE, FUNCTION, PARAMETERS, ARGUMENTS, EVENT, FORMAT, ...)        \
	TYPE FUNCTION PARAMETERS                                                \
	{                                                                       \
		TYPE result;                                                    \
		NEXT(FUNCTION);                                                 \
		say("START " EVENT FORMAT __VA_OPT__(, ) __VA_ARGS__);          \
		result = next ARGUMENTS;                                        \
		say("END " EVENT FORMAT __VA_OPT__(, ) __VA_ARGS__);            \
		return result;                                                  \
	}
#define GIVES_NOTHING(FUNCTION, PARAMETERS, ARGUMENTS, EVENT, FORMAT, ...)      \
	void FUNCTION PARAMETERS                                                \
	{                                                                       \
		NEXT(FUNCTION);                                                 \
		say("START " EVENT FORMAT __VA_OPT__(, ) __VA_ARGS__);          \
		next ARGUMENTS;                                                 \
		say("END " EVENT FORMAT __VA_OPT__(, ) __VA_ARGS__);            \
	}

/* --- tasks -------------------------------------------------------------------- */

int starpu_task_submit(struct starpu_task *task)
{
	uintptr_t kind = (uintptr_t)task->cl;
	/* Where StarPU keeps whose a task is, is made for a program's own task in the call. */
	const char *whose = internal ? "1" : task->starpu_private ? "0" : "unknown";
	int result;

	NEXT(starpu_task_submit);
	say("START TASK_SUBMIT task=%p kind=0x%" PRIxPTR " internal=%s", (void *)task, kind, whose);
	result = next(task);
	say("END TASK_SUBMIT task=%p kind=0x%" PRIxPTR " internal=%s result=%d", (void *)task, kind, whose, result);
	return result;
}

int _starpu_task_submit_internally(struct starpu_task *task);
int _starpu_task_submit_internally(struct starpu_task *task)
{
	int result;

	NEXT(_starpu_task_submit_internally);
	say("START SUBMIT_INTERNAL task=%p", (void *)task);
	internal++;
	result = next(task);
	internal--;
	say("END SUBMIT_INTERNAL task=%p", (void *)task);
	return result;
}

GIVES(int, starpu_task_wait, (struct starpu_task *task), (task), "TASK_WAIT", " task=%p", (void *)task)
GIVES(int, starpu_task_wait_array, (struct starpu_task * *tasks, unsigned n), (tasks, n), "TASK_WAIT_ARRAY",
      " tasks=%p ntasks=%u", (void *)tasks, n)
GIVES(int, starpu_task_wait_for_all, (void), (), "TASK_WAIT_ALL", "")
GIVES(int, starpu_task_wait_for_all_in_ctx, (unsigned context), (context), "TASK_WAIT_CTX", " sched_ctx=%u", context)
GIVES(int, starpu_task_wait_for_n_submitted, (unsigned n), (n), "TASK_WAIT_N", " n=%u", n)
GIVES(int, starpu_task_wait_for_no_ready, (void), (), "TASK_WAIT_READY", "")
GIVES(int, starpu_tag_wait_array, (unsigned n, starpu_tag_t *ids), (n, ids), "TAG_WAIT", " ntags=%u ids=%p", n,
      (void *)ids)

/* --- data --------------------------------------------------------------------- */

GIVES(int, starpu_data_acquire_on_node, (starpu_data_handle_t handle, int node, enum starpu_data_access_mode mode),
      (handle, node, mode), "DATA_ACQUIRE", " handle=%p node=%d mode=%d", (void *)handle, node, (int)mode)

int starpu_data_acquire_on_node_try(starpu_data_handle_t handle, int node, enum starpu_data_access_mode mode)
{
	int result;

	NEXT(starpu_data_acquire_on_node_try);
	say("START DATA_ACQUIRE_TRY handle=%p node=%d mode=%d", (void *)handle, node, (int)mode);
	result = next(handle, node, mode);
	say("END DATA_ACQUIRE_TRY handle=%p node=%d mode=%d result=%d", (void *)handle, node, (int)mode, result);
	return result;
}

GIVES_NOTHING(starpu_data_release_on_node, (starpu_data_handle_t handle, int node), (handle, node), "DATA_RELEASE",
	      " handle=%p node=%d", (void *)handle, node)

void starpu_data_register(starpu_data_handle_t *handle, int home, void *interface,
			  struct starpu_data_interface_ops *operations)
{
	NEXT(starpu_data_register);
	say("START DATA_REGISTER home_node=%d interface=%p", home, interface);
	next(handle, home, interface, operations);
	say("END DATA_REGISTER home_node=%d interface=%p handle=%p", home, interface, (void *)*handle);
}

GIVES_NOTHING(starpu_data_unregister, (starpu_data_handle_t handle), (handle), "DATA_UNREGISTER", " handle=%p",
	      (void *)handle)
GIVES_NOTHING(starpu_data_unregister_no_coherency, (starpu_data_handle_t handle), (handle), "DATA_UNREGISTER",
	      " handle=%p", (void *)handle)
GIVES_NOTHING(starpu_data_unregister_submit, (starpu_data_handle_t handle), (handle), "DATA_UNREGISTER", " handle=%p",
	      (void *)handle)

/* --- memory ------------------------------------------------------------------- */

int starpu_malloc_flags(void **place, size_t size, int flags)
{
	int result;

	NEXT(starpu_malloc_flags);
	say("START MALLOC size=%zu flags=%d", size, flags);
	result = next(place, size, flags);
	say("END MALLOC size=%zu flags=%d returnptr=0x%" PRIxPTR " result=%d", size, flags, (uintptr_t)*place, result);
	return result;
}

GIVES(int, starpu_free_flags, (void *place, size_t size, int flags), (place, size, flags), "FREE",
      " ptr=%p size=%zu flags=%d", place, size, flags)

uintptr_t starpu_malloc_on_node_flags(unsigned node, size_t size, int flags)
{
	uintptr_t result;

	NEXT(starpu_malloc_on_node_flags);
	say("START NODE_MALLOC node=%u size=%zu flags=%d", node, size, flags);
	result = next(node, size, flags);
	say("END NODE_MALLOC node=%u size=%zu flags=%d returnptr=%" PRIuPTR, node, size, flags, result);
	return result;
}

GIVES_NOTHING(starpu_free_on_node_flags, (unsigned node, uintptr_t place, size_t size, int flags),
	      (node, place, size, flags), "NODE_FREE", " node=%u ptr=%" PRIuPTR " size=%zu flags=%d", node, place, size,
	      flags)
