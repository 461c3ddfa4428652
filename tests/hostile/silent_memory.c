/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * silent_memory.c - a UPC program with memory that cannot be read by others: a page of it is of a file whose server
 * never answers.
 *
 * silent_memory WHAT FOLDER LONG: says its pid, makes three calls, and sleeps. Of WHAT the page is: "rank" (the
 * variable), "arguments", "environment", "stack" (of a thread that waits); "lock": none, but a fault of it waits with
 * the lock of its address space held, and another thread wants to change that. "nothing": an honest one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAGE 4096
#define LEFT_ALONE __attribute__((noinline))

struct {
	int MYTHREAD;
	char rest[PAGE - sizeof(int)];
} rank_page __attribute__((aligned(PAGE))) = { .MYTHREAD = 7 };
extern int MYTHREAD __attribute__((alias("rank_page")));
int THREADS = 8;
static char *volatile on_stack;
static volatile char sink;

LEFT_ALONE void __upc_barrier(int number)
{
	__asm__ volatile("nop" : : "r"(number));
}

static char *cover(void *at, const char *folder, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY);
	at = mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	if (fd < 0 || at == MAP_FAILED) {
		perror("silent_memory");
		exit(1);
	}
	return at;
}

/* The first whole page in there. */
static void *page_in(char *text)
{
	return (void *)(((uintptr_t)text + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

static void *wait_deep_down(void *unused)
{
	char room[4 * PAGE];

	on_stack = room;
	pause();
	sink = room[0];
	return unused;
}

static void *touch(void *page)
{
	sink = *(char *)page;
	return NULL;
}

static void tell(void)
{
	printf("%d\n", getpid());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argv[1], *folder = argv[2];
	pthread_t thread;

	if (argc < 4)
		return 2;
	if (!strcmp(what, "lock"))
		tell();
	/* What libc needs of the stack from here on is not in the pages of the long words. */
	if (!strcmp(what, "rank"))
		cover(&rank_page, folder, "never");
	else if (!strcmp(what, "arguments"))
		cover(page_in(argv[3]), folder, "never");
	else if (!strcmp(what, "environment"))
		cover(page_in(getenv("LONG")), folder, "never");
	else if (!strcmp(what, "lock")) {
		pthread_create(&thread, NULL, touch, cover(NULL, folder, "second"));
		usleep(300000);
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0); /* waits for the lock, and all others behind it */
	} else if (!strcmp(what, "stack")) {
		pthread_create(&thread, NULL, wait_deep_down, NULL);
		while (!on_stack)
			usleep(1000);
		usleep(10000);
		cover(page_in(on_stack), folder, "never");
	}
	if (strcmp(what, "lock"))
		tell();
	for (int i = 0; i < 3; i++)
		__upc_barrier(i);
	for (;;)
		pause();
}
