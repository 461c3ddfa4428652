/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibration.c - what an earlier start has measured, for those that come after it.
 *
 * Measuring what probes cost takes a third of the time of a start, and says the same each time. So root's starts write
 * it down in /run, which no reboot outlasts, and for an hour others take it from there. Each of these makes some calls
 * of its own first: where they are cheaper than what is written, the machine was busy when that was measured (trial.c).
 * The head of the file says of what it is true: this kernel, this boot, this processor, these programs, loaded in this
 * way. Anything else there, and it is measured anew.
 *
 * Prices decide which calls are left out, and one line of it decides about harm (seccomp). So the file is believed only
 * where nobody but root can have written it: it is root's, in a folder of root's, neither can be written by others, and
 * no link leads to it. That folder is not the sockets', where processes that have given up root's rights can still make
 * files (util/keeper.h). Who is not root neither writes nor reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "observe.skel.h"
#include "probe/calibration.h"
#include "util/files.h"
#include "util/log.h"

#define FOLDER "/run/gaspbpf-calibration"
#define HOLDS_SECONDS 3600
#define TEXT_MOST 4096
#define PRICE_MOST 100000000u /* ns: no call costs a tenth of a second */

/* --- of what it is true --------------------------------------------------- */

/* The first line of a file in /proc that begins with this word, without it. */
static void line_of(const char *path, const char *word, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[256];

	snprintf(text, size, "?");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, word, strlen(word)))
			continue;
		snprintf(text, size, "%s", line + strlen(word));
		text[strcspn(text, "\n")] = '\0';
		break;
	}
	if (file)
		fclose(file);
}

/* What makes programs quicker or slower, without another boot. */
static void switches(char *text, size_t size)
{
	char jit[16], harden[16], statistics[16];

	line_of("/proc/sys/net/core/bpf_jit_enable", "", jit, sizeof(jit));
	line_of("/proc/sys/net/core/bpf_jit_harden", "", harden, sizeof(harden));
	line_of("/proc/sys/kernel/bpf_stats_enabled", "", statistics, sizeof(statistics));
	snprintf(text, size, "%s %s %s", jit, harden, statistics);
}

static unsigned long programs_sum(void)
{
	size_t size;
	const void *bytes = observe_bpf__elf_bytes(&size);

	return crc32(0, bytes, size);
}

/* Machines without a boot id have no head: false. */
static bool write_head(const struct kernel *kernel, char *head, size_t size)
{
	const struct observe_bpf *o = kernel->observe;
	char boot[64], processor[256], bpf[64];
	struct utsname system;
	int length;

	line_of("/proc/sys/kernel/random/boot_id", "", boot, sizeof(boot));
	line_of("/proc/cpuinfo", "model name", processor, sizeof(processor));
	switches(bpf, sizeof(bpf));
	if (*boot == '?' || uname(&system))
		return false;
	length = snprintf(head, size,
			  "gaspbpf calibration\nkernel %s %s\nboot %s\nprocessor %s\nprograms %08lx\nbpf %s\n"
			  "way %s%s%s%s\n",
			  system.release, system.version, boot, processor, programs_sum(), bpf, rung_name(kernel->rung),
			  o->rodata->monitoring ? " sums" : "", o->rodata->spans_too ? " spans" : "",
			  o->bss->filter_targets ? " filter" : "");
	return length > 0 && (size_t)length < size;
}

/* --- the text ------------------------------------------------------------- */

/* Its lines of prices, in the order in which they are written. */
static void find_rows(struct probe_costs *costs, unsigned *rows[CALIBRATION_ROWS])
{
	unsigned *const all[CALIBRATION_ROWS] = { costs->call, costs->skipped, costs->floor, costs->cold,
						  costs->cold_skipped };

	memcpy(rows, all, sizeof(all));
}

_Static_assert(SITE_CLASSES == 3, "a line of prices has three");

size_t calibration_write_text(const struct calibration *calibration, const char *head, char *text, size_t size)
{
	struct probe_costs costs = calibration->costs;
	unsigned *rows[CALIBRATION_ROWS];
	int length = snprintf(text, size, "%stime %" PRIu64 "\nfilters %d\nmore %u %u\n", head, calibration->made,
			      calibration->filters_kill, costs.word, costs.link);

	find_rows(&costs, rows);
	for (int row = 0; row < CALIBRATION_ROWS && length > 0 && (size_t)length < size; row++)
		length += snprintf(text + length, size - length, "%u %u %u\n", rows[row][0], rows[row][1],
				   rows[row][2]);
	return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

/* A number after so much of the text that must be there word by word. */
static bool take_number(const char **at, const char *before, uint64_t most, uint64_t *number)
{
	size_t length = strlen(before);
	char *end;

	if (strncmp(*at, before, length) || (*at)[length] < '0' || (*at)[length] > '9')
		return false;
	errno = 0;
	*number = strtoull(*at + length, &end, 10);
	*at = end;
	return !errno && *number <= most;
}

static bool take_price(const char **at, const char *before, unsigned *price)
{
	uint64_t number;

	if (!take_number(at, before, PRICE_MOST, &number))
		return false;
	*price = number;
	return true;
}

static bool take_row(const char **at, unsigned prices[SITE_CLASSES])
{
	for (int class = 0; class < SITE_CLASSES; class ++)
		if (!take_price(at, class ? " " : "\n", &prices[class]))
			return false;
	return true;
}

bool calibration_read_text(struct calibration *calibration, const char *head, const char *text, uint64_t now)
{
	const char *at = text + strlen(head);
	unsigned *rows[CALIBRATION_ROWS];
	uint64_t filters;

	memset(calibration, 0, sizeof(*calibration));
	if (strncmp(text, head, strlen(head)) || !take_number(&at, "time ", now, &calibration->made) ||
	    now - calibration->made > HOLDS_SECONDS || !take_number(&at, "\nfilters ", 1, &filters) ||
	    !take_price(&at, "\nmore ", &calibration->costs.word) || !take_price(&at, " ", &calibration->costs.link))
		return false;
	calibration->age = now - calibration->made;
	calibration->filters_kill = filters;
	find_rows(&calibration->costs, rows);
	for (int row = 0; row < CALIBRATION_ROWS; row++)
		if (!take_row(&at, rows[row]))
			return false;
	return !strcmp(at, "\n");
}

/* --- the file ------------------------------------------------------------- */

static bool is_roots_alone(int fd, mode_t kind)
{
	struct stat found;

	return !fstat(fd, &found) && (found.st_mode & S_IFMT) == kind && !found.st_uid && !(found.st_mode & 022);
}

/* A descriptor, or -1: there is none that is believed. */
static int open_folder(void)
{
	int folder;

	if (geteuid() || (mkdir(FOLDER, 0700) && errno != EEXIST))
		return -1;
	folder = open(FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0 && !is_roots_alone(folder, S_IFDIR)) {
		close(folder);
		folder = -1;
	}
	return folder;
}

static void name_file(const struct kernel *kernel, char *name, size_t size)
{
	const struct observe_bpf *o = kernel->observe;

	snprintf(name, size, "%s%s%s%s", rung_name(kernel->rung), o->rodata->monitoring ? "-sums" : "",
		 o->rodata->spans_too ? "-spans" : "", o->bss->filter_targets ? "-filter" : "");
}

/* Malloc'ed; NULL: none that is believed. */
static char *read_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (is_roots_alone(fd, S_IFREG))
		text = read_open_file(fd, TEXT_MOST, NULL);
	else
		log_info("the calibration in " FOLDER " is not believed: others than root could have written it");
	close(fd);
	return text;
}

static uint64_t seconds_since_boot(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_BOOTTIME, &now) ? 0 : now.tv_sec;
}

bool calibration_read(const struct kernel *kernel, struct calibration *calibration)
{
	char head[TEXT_MOST], name[64], *text;
	int folder = open_folder();
	uint64_t now = seconds_since_boot();
	bool found;

	if (folder < 0)
		return false;
	name_file(kernel, name, sizeof(name));
	text = read_file(folder, name);
	close(folder);
	found = text && write_head(kernel, head, sizeof(head)) && calibration_read_text(calibration, head, text, now);
	free(text);
	return found;
}

/* A file that is there takes its name only once all of it is written. */
static void write_file(int folder, const char *name, const char *text, size_t length)
{
	char other[96];
	int fd;

	snprintf(other, sizeof(other), "%s.%d", name, getpid());
	unlinkat(folder, other, 0); /* of one with our number that was killed */
	fd = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write_all(fd, text, length) || renameat(folder, other, folder, name))
		unlinkat(folder, other, 0);
	close(fd);
}

void calibration_write(const struct kernel *kernel, const struct calibration *calibration)
{
	struct calibration now = *calibration;
	char head[TEXT_MOST / 2], text[TEXT_MOST], name[64];
	int folder = open_folder();
	size_t length;

	if (folder < 0)
		return;
	now.made = seconds_since_boot();
	length = write_head(kernel, head, sizeof(head)) ? calibration_write_text(&now, head, text, sizeof(text)) : 0;
	name_file(kernel, name, sizeof(name));
	if (length)
		write_file(folder, name, text, length);
	close(folder);
}
