/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part.h - one node's part of a job that is observed on several: what it is told, and what it tells.
 *
 * The second door of user/nodes, for the gaspbpf on each node. What it is told stands in a file of the folder that all
 * share, PART_ORDERS, which grows by whole lines: "begin T" and "end T", ns of CLOCK_REALTIME; of several that hold the
 * last one does. The same lines come on its standard input, where the means brings them there: where there is no such
 * folder these alone, else the earlier end holds, for a folder may be seen late. What it tells are lines on its
 * standard output, which the means that has started it brings back.
 */
#ifndef GASPBPF_NODES_PART_H
#define GASPBPF_NODES_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PART_ORDERS "orders"
#define PART_NAME_MOST 200

struct part_orders {
	uint64_t begin, end; /* ns, CLOCK_REALTIME; 0: not told yet */
};

/* How far a part is; in this order. */
enum part_state { PART_ABSENT, PART_READY, PART_OBSERVING, PART_ENDED, PART_DONE, PART_STATES };

struct part_news {
	enum part_state state;
	uint64_t at; /* ns, CLOCK_REALTIME: when it began or ended; else now */
	uint64_t processes, events, lost, cost;
	uint64_t status; /* exit status; PART_DONE */
	char node[PART_NAME_MOST + 1];
};

/* Letters, digits, '.', '_' and '-', which is not the first: nothing that a shell, an option or a path could be. */
bool part_name_is_fit(const char *name);
/* The resource manager's name for this node, else the host's; the caller frees. NULL: not known, or no memory. */
char *part_own_name(void);
/* The resource manager's alone: what processes of this node have in their environment. NULL: it has none. */
const char *part_managed_name(void);
extern const char part_name_variable[];

/* Takes the whole lines of a text. How many bytes they have. */
size_t part_take_orders(char *text, struct part_orders *orders);
/* Reads the file of orders. Where it cannot be read nothing is told yet. */
void part_read_orders(const char *path, struct part_orders *orders);
/* One line; false: nobody reads it any more. cost: ns that probes took. */
bool part_tell(const struct part_news *news);
/* A whole file, and behind it how long it is, and its checksum. False: nobody reads it, or it cannot be read. */
bool part_hand_over_file(const char *node, int fd);
/* Of that last line; false: it is none. */
struct part_whole {
	uint64_t size;
	uint32_t sum;
	char node[PART_NAME_MOST + 1];
};
bool part_read_whole(const char *line, struct part_whole *whole);
/* Bytes for who has started this, in as many lines as it takes. False: nobody reads them. */
bool part_hand_over(const char *node, const void *data, size_t size);
/* A line of these: adds what is in it; *node: where in the line its node's name stands, and how long it is. False: it
 * is none, or not whole. */
struct buffer;
bool part_take_bytes(const char *line, const char **node, size_t *length, struct buffer *data);
/* Of a line of part_tell(); false: it is none. */
bool part_read_news(const char *line, struct part_news *news);

#endif
