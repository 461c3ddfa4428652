/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_texts.c - what /proc says of a process. The kernel writes it, but names, paths, arguments and environment in it
 * are the process's own.
 *
 * The input is the same text for each of the files; those that it does not fit are refused.
 */
#include "target/process.c" /* its readers are static; the library's copy is not linked then */

#include "nodes/private.h"
#include "observe/identity.h"
#include "shared/fuzz.h"

static void read_maps(const uint8_t *data, size_t size)
{
	char *text = input_text(data, size);
	struct mapping *mappings;
	size_t count;

	if (!maps_parse(text, size, &mappings, &count))
		maps_free(mappings, count);
	free(text);
}

static void read_environment(const uint8_t *data, size_t size)
{
	char *text = input_text(data, size);

	environment_value(text, size, "OMPI_COMM_WORLD_RANK");
	environment_value(text, size, "A");
	free(text);
}

static void read_remote_shell(const uint8_t *data, size_t size)
{
	unsigned number = 80;
	const struct ports ports = { .numbers = &number, .count = 1 };
	char *text = input_text(data, size), *answer;
	const char *host;

	if (launched_read(text, size, &ports, &host, &answer))
		free(answer);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const words[] = { (char *)"/system.slice/*", (char *)"a*?b" };
	static const char *const files[] = { "maps", "stat", "status", "comm", "cmdline", "environ", "cgroup", "exe" };
	struct process process = { .pid = 1, .quiet = true, .pidfd = -1, .proc_fd = fuzz_folder() };
	const struct process_choice choice = { .comms = words,
					       .ncomms = 2,
					       .cgroups = words,
					       .ncgroups = 2,
					       .jobs = words,
					       .njobs = 2,
					       .launchers = words,
					       .nlaunchers = 2 };
	struct proc_stat stat;
	struct about about;
	pid_t group;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fuzz_file_in_folder(files[i], data, size);
	read_maps(data, size);
	read_environment(data, size);
	read_remote_shell(data, size);
	proc_stat_read(process.proc_fd, "stat", &stat);
	read_status(&process, &group);
	check_state(&process);
	check_program(&process);
	if (!read_process(&process)) {
		process_getenv(&process, "PMI_RANK");
		process_mapping_at(&process, 0x400000);
		process_started_ns(&process);
		if (!about_read(&about, &process)) {
			about_wanted(&about, &process, &choice, false);
			about_free(&about);
		}
	}
	maps_free(process.mappings, process.nmappings);
	free(process.name);
	free(process.command);
	free(process.environment);
	return 0;
}
