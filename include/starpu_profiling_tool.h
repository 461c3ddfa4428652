/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu_profiling_tool.h - StarPU's profiling interface for tools (hal-03868526), sections 3 and 4.
 *
 * For tools that are compiled where StarPU is not installed, or has no such header. gaspbpf drives them (gaspbpf
 * --starpu-tool, docs/starpu.md): on jobs whose StarPU lacks the interface, on running ones, and on recordings.
 */
#ifndef __STARPU_PROFILING_TOOL_H__
#define __STARPU_PROFILING_TOOL_H__

#ifdef __cplusplus
extern "C" {
#endif

/* Section 4.3. */
enum starpu_prof_tool_event {
	starpu_prof_tool_event_none = 0,
	starpu_prof_tool_event_init,
	starpu_prof_tool_event_terminate,
	starpu_prof_tool_event_init_begin,
	starpu_prof_tool_event_init_end,
	starpu_prof_tool_event_driver_init,
	starpu_prof_tool_event_driver_deinit,
	starpu_prof_tool_event_driver_init_start,
	starpu_prof_tool_event_driver_init_end,
	starpu_prof_tool_event_start_cpu_exec,
	starpu_prof_tool_event_end_cpu_exec,
	starpu_prof_tool_event_start_gpu_exec,
	starpu_prof_tool_event_end_gpu_exec,
	starpu_prof_tool_event_start_transfer,
	starpu_prof_tool_event_end_transfer,
	starpu_prof_tool_event_user_start,
	starpu_prof_tool_event_user_end
};

/* Section 4.2.2. */
enum starpu_prof_tool_driver_type { starpu_prof_tool_driver_cpu, starpu_prof_tool_driver_gpu };

/* How a callback is registered. gaspbpf registers it whatever this says. */
enum starpu_prof_tool_command {
	starpu_prof_tool_command_reg = 0,
	starpu_prof_tool_command_toggle = 1,
	starpu_prof_tool_command_toggle_per_thread = 2
};

struct starpu_conf;

/* Section 4.2.1. What an event does not tell is -1 (ids), 0 or NULL. */
struct starpu_prof_tool_info {
	struct starpu_conf *conf; /* NULL: it is in another process */
	enum starpu_prof_tool_event event_type;
	unsigned int starpu_version[3]; /* by the library's name: the third is 0 */
	int thread_id;                  /* the kernel's */
	int worker_id;                  /* -1: not a worker */
	int device_number;
	enum starpu_prof_tool_driver_type driver_type;
	unsigned memnode; /* transfers: where the data goes; else the worker's */
	unsigned bytes_to_transfer;
#if defined(__GNUC__)
	__extension__ union { /* the document spells it both ways */
		unsigned bytes_transferred;
		unsigned bytes_transfered;
	};
#else
	unsigned bytes_transferred;
#endif
	void *fun_ptr; /* of the job's address space: gaspbpf_function_name() knows it */
};

/* Section 4.2.3. */
union starpu_prof_tool_event_info {
	enum starpu_prof_tool_event event_type;
};

/* Section 4.2.4: "empty for the moment". */
struct starpu_prof_tool_api_info {
#ifdef __STRICT_ANSI__
	char empty;
#endif
};

typedef void (*starpu_prof_tool_cb_func)(struct starpu_prof_tool_info *, union starpu_prof_tool_event_info *,
					 struct starpu_prof_tool_api_info *);
typedef void (*starpu_prof_tool_entry_register_func)(enum starpu_prof_tool_event event_type,
						     starpu_prof_tool_cb_func cb, enum starpu_prof_tool_command info);
typedef void (*starpu_prof_tool_entry_func)(starpu_prof_tool_entry_register_func reg,
					    starpu_prof_tool_entry_register_func unreg);

/* What the tool library provides. */
void starpu_prof_tool_library_register(starpu_prof_tool_entry_register_func reg,
				       starpu_prof_tool_entry_register_func unreg);

#if defined(__GNUC__)
/*
 * gaspbpf's own: the name of the function that fun_ptr points to, in a callback; NULL where it is not known. The
 * function is NULL where somebody else drives the tool.
 */
extern const char *gaspbpf_function_name(const void *fun_ptr) __attribute__((weak));

/* Tells gaspbpf that the tool was compiled with this header: StarPU 1.5's own has two members more in the middle of the
 * struct. */
extern __attribute__((weak, visibility("default"))) const char gaspbpf_starpu_info_of_1_4;
const char gaspbpf_starpu_info_of_1_4 = 1;
#endif

#ifdef __cplusplus
}
#endif

#endif
