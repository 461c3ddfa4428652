/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.c - the page without a recording.
 *
 * The page of a recording may ask nobody for anything. This one may ask whom it comes from, and is told so by an empty
 * block.
 */
#include "export/live_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "export/page/page.h"
#include "util/buffer.h"
#include "util/log.h"

static const char closed[] = "default-src 'none'", opened[] = "; connect-src 'self'";
static const char block[] = "<script type=\"application/x-gaspbpf\" id=\"gaspbpf-live\"></script>\n";

int live_page_make(struct live_page *page)
{
	struct buffer text = { 0 };
	struct page_shell shell;
	const char *policy;
	size_t before;
	int error;

	if (exporter_page.missing) {
		log_error("%s", exporter_page.missing);
		return -ENOTSUP;
	}
	error = page_shell_find(&shell);
	if (error)
		return error;
	policy = memmem(shell.parts[0], shell.sizes[0], closed, strlen(closed));
	if (!policy) {
		log_error(
			"the page that was built in does not say what it may ask for: build it again: make page, then "
			"make");
		return -EINVAL;
	}
	before = policy + strlen(closed) - shell.parts[0];
	buffer_put(&text, shell.parts[0], before);
	buffer_put(&text, opened, strlen(opened));
	buffer_put(&text, shell.parts[0] + before, shell.sizes[0] - before);
	buffer_put(&text, block, strlen(block));
	buffer_put(&text, shell.parts[1], shell.sizes[1]);
	buffer_put(&text, shell.parts[2], shell.sizes[2]);
	if (text.failed) {
		buffer_free(&text);
		return -ENOMEM;
	}
	*page = (struct live_page){ .text = (char *)text.data, .size = text.size };
	return 0;
}
