/*
 * rights.c - what needs no right is done without.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/control.h"
#include "cli/rights.h"
#include "target/target.h"
#include "util/files.h"
#include "util/log.h"
#include "util/privileges.h"

static void folders_free(char **folders)
{
	for (size_t i = 0; folders && folders[i]; i++)
		free(folders[i]);
	free(folders);
}

/* NULL-terminated; NULL: no memory. */
static char **folders_of(const struct text_list *written)
{
	static const char *const control[] = CONTROL_FOLDERS;
	const size_t possible = sizeof(control) / sizeof(control[0]);
	char **folders = calloc(possible + written->count + 1, sizeof(*folders));
	size_t count = 0;
	bool whole = folders;

	for (size_t i = 0; whole && i < possible; i++) {
		struct stat found;

		if (stat(control[i], &found) || found.st_uid != geteuid())
			continue; /* of the service, which has a user of its own */
		folders[count] = strdup(control[i]);
		whole = folders[count++];
	}
	for (size_t i = 0; whole && i < written->count; i++) {
		folders[count] = path_folder(written->items[i]);
		whole = folders[count++];
	}
	if (whole)
		return folders;
	folders_free(folders);
	return NULL;
}

static bool give_up(const struct text_list *written)
{
	char **folders = folders_of(written);
	struct caller caller;
	bool done = false;

	if (folders && !caller_find(&caller)) {
		done = keep_no_privileges((const char *const *)folders, &caller);
		caller_free(&caller);
	}
	if (done)
		log_info("all rights are given up: others read for it");
	else
		log_warn("privileges that are not needed could not be given up: %s: start gaspbpf with fewer", strerror(errno));
	folders_free(folders);
	return done;
}

bool rights_give_up(struct kernel *kernel, const struct text_list *written)
{
	return kernel_works_without_rights(kernel) && !reader_prepare() && give_up(written);
}

void rights_give_up_to_look(void)
{
	if (may_observe() && !reader_prepare())
		give_up(&(struct text_list){ 0 });
}
