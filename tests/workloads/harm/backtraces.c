/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that looks at its own stack inside its functions: with backtrace(), with the unwinder, by frame pointers,
 * and at its return address. It prints the names that it finds; an observer must not be among them, nor hide any.
 */
#include "tell.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>
#include <unwind.h>

#define DEEP 10
#define MOST 64

static struct tale climb_tale = { .name = "climb" }, look_tale = { .name = "look" };

long climb(long depth, long how);
long look(long how);

static const char *name_of(void *address)
{
	Dl_info info;

	return dladdr((char *)address - 1, &info) && info.dli_sname ? info.dli_sname : "?";
}

static long show(const char *how, void **addresses, long count)
{
	printf("%s %ld:", how, count);
	for (long i = 0; i < count; i++)
		printf(" %s", name_of(addresses[i]));
	printf("\n");
	return count;
}

struct walk {
	void *addresses[MOST];
	long count;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;

	if (walk->count < MOST && _Unwind_GetIP(context))
		walk->addresses[walk->count++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* The chain of saved rbp, up to main's. */
static long frame_pointers(void **addresses)
{
	void **frame = __builtin_frame_address(0);
	long count = 0;

	while (count < MOST && count < DEEP + 3) {
		addresses[count++] = frame[1];
		if ((void **)frame[0] <= frame)
			break;
		frame = frame[0];
	}
	return count;
}

OBSERVED long look(long how)
{
	struct walk walk = { .count = 0 };

	called(&look_tale);
	switch (how) {
	case 0:
		walk.count = backtrace(walk.addresses, MOST);
		return returning(&look_tale, show("backtrace", walk.addresses, walk.count));
	case 1:
		_Unwind_Backtrace(step, &walk);
		return returning(&look_tale, show("unwinder", walk.addresses, walk.count));
	case 2:
		walk.count = frame_pointers(walk.addresses);
		return returning(&look_tale, show("frames", walk.addresses, walk.count));
	}
	walk.addresses[walk.count++] = __builtin_return_address(0);
	return returning(&look_tale, show("caller", walk.addresses, walk.count));
}

OBSERVED long climb(long depth, long how)
{
	long found;

	called(&climb_tale);
	found = depth > 0 ? climb(depth - 1, how) : look(how);
	return returning(&climb_tale, found + 0 * depth);
}

static void one_round(long round)
{
	for (long how = 0; how < 4; how++)
		tell("depth", climb(DEEP, how));
}

int main(int argc, char **argv)
{
	struct job job = { .name = "backtraces", .rounds = 2 };

	tell_rounds(&job, argc, argv, NULL, one_round);
	tell_function(&climb_tale);
	tell_function(&look_tale);
	return 0;
}
