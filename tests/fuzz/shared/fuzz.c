/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.c - files, images, models: what several targets hand to the code under test.
 */
#include "shared/fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"

static char folder[PATH_MAX], file[PATH_MAX + 8];

static void remove_files(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (*folder && system(command))
		perror(folder);
}

static const char *own_folder(void)
{
	if (*folder)
		return folder;
	snprintf(folder, sizeof(folder), "%s/gaspbpf-fuzz.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	must(mkdtemp(folder));
	atexit(remove_files);
	snprintf(file, sizeof(file), "%s/input", folder);
	return folder;
}

static void fill(int fd, const uint8_t *data, size_t size)
{
	must(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
}

char *input_text(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	return text;
}

int fuzz_file_fd(const uint8_t *data, size_t size)
{
	static int fd = -1;

	own_folder();
	if (fd < 0)
		fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	fill(fd, data, size);
	return fd;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
	fuzz_file_fd(data, size);
	return file;
}

int fuzz_folder(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(own_folder(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

void fuzz_file_in_folder(const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(fuzz_folder(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	fill(fd, data, size);
	close(fd);
}

struct image *fuzz_image(const uint8_t *data, size_t size)
{
	struct image *image;

	return image_open_file(&image, fuzz_file(data, size)) ? NULL : image;
}

/* Beside the program: build/fuzz/NAME, and build/fuzz/data. */
const char *fuzz_data(const char *name)
{
	static char path[2 * PATH_MAX];
	char program[PATH_MAX] = "";

	must(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	must(strrchr(program, '/'));
	*strrchr(program, '/') = 0;
	snprintf(path, sizeof(path), "%s/%s", program, name);
	return path;
}

const struct model_set *fuzz_models(void)
{
	static struct model_set *models;
	const char *folder = getenv("GASPBPF_MODELS");

	if (!models)
		must(!models_load_folder(&models, folder ? folder : fuzz_data("../../models")));
	return models;
}

struct process *fuzz_own_process(void)
{
	static struct process *process;

	if (!process)
		must(!process_open(&process, getpid()));
	return process;
}
