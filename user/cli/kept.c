/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/report.h"
#include "util/log.h"

static const char name[] = "calls kept in memory";

void kept_begin(struct kept_calls *kept, const struct definitions *d)
{
	int fd = -1, error;

	kept->fd = memfd_create("gaspbpf-calls", MFD_CLOEXEC);
	if (kept->fd >= 0)
		fd = fcntl(kept->fd, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
	error = fd < 0 ? -errno : recording_create(&kept->writer, fd, name, d);
	if (!error)
		return;
	log_warn("calls cannot be kept in memory: %s: the report will not say who waits for whom; with -o run.gasp it "
		 "does",
		 strerror(-error));
	kept_free(kept);
}

static bool is_wanted(struct kept_calls *kept, const struct definitions *d)
{
	if (kept->probes != d->nprobes) {
		kept->probes = d->nprobes;
		kept->wanted = report_wants_order(d);
	}
	return kept->wanted && kept->writer && kept->calls <= KEPT_CALLS;
}

static int keep_span(void *context, const struct definitions *d, const struct span *span)
{
	struct kept_calls *kept = context;

	if (!is_wanted(kept, d))
		return 0;
	if (++kept->calls <= KEPT_CALLS)
		return recording_span(kept->writer, span);
	if (ftruncate(kept->fd, 0)) /* gives the memory back; the writer only goes on to its end */
		log_debug("%s: %s", name, strerror(errno));
	return 0;
}

static int keep_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct kept_calls *kept = context;

	return is_wanted(kept, d) ? recording_gap(kept->writer, gap) : 0;
}

struct span_sink kept_sink(struct kept_calls *kept)
{
	return (struct span_sink){ .span = keep_span, .gap = keep_gap, .context = kept };
}

int kept_finish(struct kept_calls *kept)
{
	bool whole = kept->writer && !recording_unwritten(kept->writer);
	int error;

	if (!kept->writer)
		return -ENOMEM;
	error = recording_finish(kept->writer);
	kept->writer = NULL;
	return !kept->wanted || !kept->calls ? -ENODATA : kept->calls > KEPT_CALLS ? -E2BIG : whole ? error : -ENOSPC;
}

void kept_free(struct kept_calls *kept)
{
	if (kept->writer)
		recording_finish(kept->writer);
	if (kept->fd >= 0)
		close(kept->fd);
	kept->writer = NULL;
	kept->fd = -1;
}
