/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive.c - such a recording as the formats that are several files: what a writer's own process does, in a folder
 * that is emptied after each.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "recording/recording.h"
#include "shared/fuzz.h"
#include "shared/read.h"
#include "util/files.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	return recording_mutate(data, size, most, seed);
}

static char folder[] = "/tmp/gaspbpf-fuzz-XXXXXX";

static int drop(const char *path, const struct stat *status, int type, struct FTW *at)
{
	return at->level ? remove(path) : 0;
}

static void empty_folder(void)
{
	must(!nftw(folder, drop, 16, FTW_DEPTH | FTW_PHYS));
}

static void remove_folder(void)
{
	empty_folder();
	rmdir(folder);
}

/* As user/cli/archive.c calls it: in its folder. */
static void write_archive(struct recording *r, const struct exporter *exporter, int in, int back, int spare)
{
	char name[40];

	snprintf(name, sizeof(name), "input%s", exporter->suffixes);
	must(!fchdir(in));
	if (!exporter->ready || !exporter->ready())
		exporter->write(r, in, spare, name);
	must(!fchdir(back));
	empty_folder();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int in = -1, back = -1, spare = -1;
	struct recording *r;

	if (in < 0) {
		must(mkdtemp(folder) && !atexit(remove_folder));
		in = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		spare = file_temporary();
	}
	must(in >= 0 && back >= 0 && spare >= 0);
	if (recording_open_fd(&r, fuzz_file_fd(data, size), "input"))
		return 0;
	for (const struct exporter *const *e = exporters; *e; e++)
		if ((*e)->is_archive && !(*e)->missing)
			write_archive(r, *e, in, back, spare);
	recording_close(r);
	return 0;
}
