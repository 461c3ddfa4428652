/*
 * translator.c - programs that translate others: valgrind's tools, qemu-user, and the like.
 *
 * They read another program's code and run what they make of it, breakpoints included, which kill that program by a SIGTRAP. They are known by the names of
 * their files, from a list. One that is not on the list gets its SIGTRAP.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"
#include "util/files.h"

/* Patterns of /proc/PID/comm, which has 15 characters of the file's name. */
static const char *const names[] = {
	"valgrind", "valgrind.bin", "memcheck-amd64-", "cachegrind-amd6", "callgrind-amd64", "helgrind-amd64-", "drd-amd64-linux", "massif-amd64-li",
	"dhat-amd64-linu", "lackey-amd64-li", "none-amd64-linu", "exp-bbv-amd64-l",
	"qemu-x86_64*", "box64", "FEXInterpreter", "FEXLoader", "FEX", "pinbin", "drrun",
};

bool process_translates(pid_t pid, char comm[TRANSLATOR_NAME])
{
	char path[32], *text;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	text = read_file_at(-1, path, TRANSLATOR_NAME, NULL);
	if (!text)
		return false;
	text[strcspn(text, "\n")] = '\0';
	snprintf(comm, TRANSLATOR_NAME, "%s", text);
	free(text);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!fnmatch(names[i], comm, 0))
			return true;
	return false;
}
