/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metadata.c - what a CTF trace says of itself, in the format's own language.
 *
 * Packets and events are as packets.c and ctf.c write them; a change here is one there. All fields stand byte by byte,
 * little-endian. Names that LTTng's users know are used where they mean the same: `pid` and `tid` are those of the
 * initial PID namespace, the clock is called monotonic and has the number of the machine's boot.
 */
#include "export/ctf/metadata.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/call.h"
#include "util/files.h"

#define NS 1000000000ull

static const char types[] = "\n"
			    "typealias integer { size = 8; align = 8; signed = false; } := uint8;\n"
			    "typealias integer { size = 32; align = 8; signed = false; } := uint32;\n"
			    "typealias integer { size = 64; align = 8; signed = false; } := uint64;\n"
			    "typealias integer { size = 64; align = 8; signed = true; } := int64;\n"
			    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := address64;\n"
			    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := real;\n";

static const char clock_types[] =
	"\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time64;\n";

static const char packet_header[] = "\tpacket.header := struct {\n"
				    "\t\tuint32 magic;\n"
				    "\t\tuint8 uuid[16];\n"
				    "\t\tuint32 stream_id;\n"
				    "\t\tuint64 stream_instance_id;\n"
				    "\t};\n"
				    "};\n";

static const char stream_begin[] = "\tpacket.context := struct {\n"
				   "\t\ttime64 timestamp_begin;\n"
				   "\t\ttime64 timestamp_end;\n"
				   "\t\tuint64 content_size;\n"
				   "\t\tuint64 packet_size;\n"
				   "\t\tuint64 packet_seq_num;\n"
				   "\t\tuint64 events_discarded;\n"
				   "\t};\n"
				   "\tevent.header := struct {\n"
				   "\t\tuint32 id;\n"
				   "\t\ttime64 timestamp;\n"
				   "\t};\n"
				   "\tevent.context := struct {\n";

/* FNV-1a, from both ends. */
static void mix(uint64_t hash[2], const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++) {
		hash[0] = (hash[0] ^ bytes[i]) * 1099511628211ull;
		hash[1] = (hash[1] ^ bytes[size - 1 - i]) * 1099511628211ull;
	}
}

static void mix_text(uint64_t hash[2], const char *text)
{
	if (text)
		mix(hash, text, strlen(text) + 1);
}

void facts_find(struct trace_facts *facts, const struct definitions *d, const char *name)
{
	uint64_t hash[2] = { 14695981039346656037ull, 1099511628211ull };
	const struct def_run *run = &d->run;

	mix(hash, &run->start, sizeof(run->start));
	mix(hash, &run->start_realtime, sizeof(run->start_realtime));
	mix_text(hash, run->boot);
	mix_text(hash, run->host);
	mix_text(hash, run->command);
	mix_text(hash, path_base(name)); /* parts of one recording are several traces */
	memcpy(facts->uuid, hash, UUID_SIZE);
	facts->uuid[6] = (facts->uuid[6] & 0x0f) | 0x80; /* version 8: of no known way; RFC 9562 */
	facts->uuid[8] = (facts->uuid[8] & 0x3f) | 0x80;
	facts->has_nodes = d->nnodes;
	for (size_t i = 0; i < d->nprocesses && !facts->has_jobs; i++)
		facts->has_jobs = d->processes[i].job && !d->processes[i].left_out;
}

static void put_trace(struct buffer *b, const uint8_t *uuid)
{
	put_metadata(b, "\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	for (unsigned i = 0; i < UUID_SIZE; i++)
		put_metadata(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	put_metadata(b, "\";\n\tbyte_order = le;\n");
	put_metadata(b, "%s", packet_header);
}

static void put_env_text(struct buffer *b, const char *name, const char *text)
{
	if (!text)
		return;
	put_metadata(b, "\t%s = ", name);
	put_quoted(b, text);
	put_metadata(b, ";\n");
}

static void put_env_number(struct buffer *b, const char *name, uint64_t number)
{
	put_metadata(b, "\t%s = %" PRIu64 ";\n", name, number < INT64_MAX ? number : INT64_MAX);
}

static void put_env(struct buffer *b, const struct definitions *d, const struct trace_facts *facts)
{
	uint64_t summed = 0, skipped = 0;

	for (size_t i = 0; i < d->nsums; i++)
		if (!thread_is_left_out(d, d->sums[i].thread)) {
			summed += d->sums[i].summed;
			skipped += d->sums[i].skipped;
		}
	put_metadata(b, "\nenv {\n");
	if (!facts->has_nodes)
		put_env_text(b, "hostname", d->run.host);
	put_env_text(b, "kernel_release", d->run.kernel);
	put_env_text(b, "tracer_name", "gaspbpf");
	put_env_text(b, "tracer_version", GASPBPF_VERSION);
	put_env_text(b, "command", d->run.command);
	put_env_text(b, "cut", d->run.finished ? "no" : "yes");
	put_env_number(b, "calls_lost", facts->lost);
	put_env_number(b, "calls_summed", summed);
	put_env_number(b, "calls_skipped", skipped);
	put_metadata(b, "};\n");
}

static bool is_uuid(const char *text)
{
	for (unsigned i = 0; i < 36; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	return !text[36];
}

/* Its values are CLOCK_MONOTONIC; added to that comes what CLOCK_REALTIME was ahead when the run began. */
static void put_clock(struct buffer *b, const struct def_run *run, bool of_one_machine)
{
	put_metadata(b, "\nclock {\n\tname = \"monotonic\";\n");
	if (of_one_machine && run->boot && is_uuid(run->boot))
		put_env_text(b, "uuid", run->boot);
	put_metadata(b, "\tdescription = \"CLOCK_MONOTONIC%s\";\n\tfreq = %llu;\n",
		     of_one_machine ? "" : " of the node that the others' clocks were set by", NS);
	if (run->start_realtime > run->start && run->start_realtime < INT64_MAX) {
		uint64_t ahead = run->start_realtime - run->start;

		put_metadata(b, "\toffset_s = %" PRIu64 ";\n\toffset = %" PRIu64 ";\n", (uint64_t)(ahead / NS),
			     (uint64_t)(ahead % NS));
	}
	put_metadata(b, "};\n%s", clock_types);
}

static void put_stream(struct buffer *b, enum stream_class class, const struct trace_facts *facts)
{
	put_metadata(b, "\nstream {\n\tid = %u;\n", class);
	buffer_put(b, stream_begin, sizeof(stream_begin) - 1);
	if (facts->has_nodes)
		put_metadata(b, "\t\tstring _node;\n");
	if (facts->has_jobs)
		put_metadata(b, "\t\tstring _job;\n");
	if (class == STREAM_OF_RANK)
		put_metadata(b, "\t\tint64 _rank;\n");
	if (class != STREAM_OF_THREAD)
		put_metadata(b, "\t\tuint32 _pid;\n");
	put_metadata(b, "\t\tuint32 _tid;\n\t\tstring _name;\n\t};\n};\n");
}

int metadata_put(struct buffer *b, const struct definitions *d, const struct trace_facts *facts,
		 const struct classes *classes)
{
	buffer_put(b, METADATA_MARK, sizeof(METADATA_MARK) - 1);
	buffer_put(b, types, sizeof(types) - 1);
	put_trace(b, facts->uuid);
	put_env(b, d, facts);
	put_clock(b, &d->run, !facts->has_nodes);
	for (unsigned class = 0; class < STREAM_CLASSES; class ++)
		put_stream(b, class, facts);
	return classes_put(classes, b);
}
