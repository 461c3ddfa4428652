/* SPDX-License-Identifier: BSD-2-Clause */
// count.cc - a GASP tool in C++: calls and time of each event, printed when the library is unloaded: "TAG CALLS NS" a line.
#include <chrono>
#include <cstdio>
#include <map>
#include <vector>

#include "gasp.h"

using clock_type = std::chrono::steady_clock;

struct _gasp_context_S {
	std::vector<clock_type::time_point> open;
};

namespace {
struct sums {
	long calls = 0;
	std::chrono::nanoseconds time{};
};

struct table {
	std::map<unsigned, sums> rows;

	~table()
	{
		for (const auto &row : rows)
			std::printf("%u %ld %ld\n", row.first, row.second.calls, static_cast<long>(row.second.time.count()));
	}
} all;
}

gasp_context_t gasp_init(gasp_lang_t, int *, char ***)
{
	return new _gasp_context_S;
}

void gasp_event_notify(gasp_context_t context, unsigned int tag, gasp_evttype_t type, const char *, int, int, ...)
{
	if (type == GASP_START) {
		context->open.push_back(clock_type::now());
	} else if (type == GASP_END) {
		all.rows[tag].calls++;
		all.rows[tag].time += clock_type::now() - context->open.back();
		context->open.pop_back();
	}
}
