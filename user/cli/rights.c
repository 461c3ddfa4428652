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

	for (size_t i = 0; folders && i < possible; i++) {
		struct stat found;

		if (!stat(control[i], &found) && found.st_uid == geteuid())
			folders[count++] = strdup(control[i]);
	}
	for (size_t i = 0; folders && i < written->count; i++)
		folders[count++] = path_folder(written->items[i]);
	for (size_t i = 0; i < count; i++) {
		if (folders[i])
			continue;
		folders_free(folders);
		return NULL;
	}
	return folders;
}

bool rights_give_up(struct kernel *kernel, const struct text_list *written, const struct caller *caller)
{
	char **folders;

	if ((kernel && !kernel_works_without_rights(kernel)) || reader_prepare())
		return false;
	folders = folders_of(written);
	if (!folders || !keep_no_privileges((const char *const *)folders, caller))
		log_warn("privileges that are not needed could not be given up: %s: start gaspbpf with fewer", strerror(errno));
	else
		log_info("all rights are given up: others read for it");
	folders_free(folders);
	return true;
}

void rights_give_up_to_look(void)
{
	const struct text_list nothing = { 0 };
	struct caller caller = { 0 };

	if (may_observe() && !caller_find(&caller))
		rights_give_up(NULL, &nothing, &caller);
	caller_free(&caller);
}
