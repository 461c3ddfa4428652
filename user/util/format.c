/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.c - numbers for people, and numbers from people.
 *
 * Numbers are read and printed with '.' for the decimal point whatever the locale says.
 */
#include "util/format.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Prints value / unit with `digits` significant digits, in integer arithmetic. */
static void scaled(char *buffer, uint64_t value, uint64_t unit, unsigned digits, const char *name)
{
	uint64_t whole = value / unit, power = 1, fraction;
	unsigned decimals = whole < 10 ? digits - 1 : whole < 100 ? digits - 2 : digits - 3;
	unsigned i;

	for (i = 0; i < decimals; i++)
		power *= 10;
	fraction = (uint64_t)(((unsigned __int128)(value % unit) * power + unit / 2) / unit);
	if (fraction == power) {
		whole++;
		fraction = 0;
	}
	if (decimals)
		snprintf(buffer, FORMAT_SIZE, "%llu.%0*llu%s", (unsigned long long)whole, (int)decimals,
			 (unsigned long long)fraction, name);
	else
		snprintf(buffer, FORMAT_SIZE, "%llu%s", (unsigned long long)whole, name);
}

struct scale {
	uint64_t unit;
	const char *name;
};

/* The largest unit that is not larger than the value; within `slack` hundred-thousandths below counts as reached. */
static const struct scale *pick(const struct scale *scales, uint64_t value, unsigned slack)
{
	while (scales->unit > 1 &&
	       (unsigned __int128)value * 100000 < (unsigned __int128)scales->unit * (100000 - slack))
		scales++;
	return scales;
}

char *format_time(char *buffer, uint64_t ns)
{
	static const struct scale scales[] = {
		{ 1000000000, " s" },
		{ 1000000, " ms" },
		{ 1000, " us" },
		{ 1, " ns" },
	};
	/* 999.95 us and more would print as 1000.0 us. */
	const struct scale *scale = pick(scales, ns, 5);

	if (scale->unit == 1)
		snprintf(buffer, FORMAT_SIZE, "%llu ns", (unsigned long long)ns);
	else
		scaled(buffer, ns, scale->unit, 4, scale->name);
	return buffer;
}

char *format_bytes(char *buffer, uint64_t bytes)
{
	static const struct scale scales[] = {
		{ 1ULL << 60, " EiB" },
		{ 1ULL << 50, " PiB" },
		{ 1ULL << 40, " TiB" },
		{ 1ULL << 30, " GiB" },
		{ 1ULL << 20, " MiB" },
		{ 1ULL << 10, " KiB" },
		{ 1, " B" },
	};
	const struct scale *scale = pick(scales, bytes, 50);

	if (scale->unit == 1)
		snprintf(buffer, FORMAT_SIZE, "%llu B", (unsigned long long)bytes);
	else
		scaled(buffer, bytes, scale->unit, 3, scale->name);
	return buffer;
}

char *format_count(char *buffer, uint64_t count)
{
	char digits[FORMAT_SIZE];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count), i;
	char *to = buffer;

	for (i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buffer;
}

char *format_rate(char *buffer, double per_second)
{
	static const char *const units[] = { "/s", " k/s", " M/s", " G/s" };
	unsigned long long tenths;
	unsigned unit = 0;

	if (!(per_second > 0))
		per_second = 0;
	while (per_second >= 999.95 && unit < 3) {
		per_second /= 1000;
		unit++;
	}
	if (per_second > 1e9)
		per_second = 1e9;
	tenths = (unsigned long long)(per_second * 10 + 0.5);
	if (per_second < 100)
		snprintf(buffer, FORMAT_SIZE, "%llu.%llu%s", tenths / 10, tenths % 10, units[unit]);
	else
		snprintf(buffer, FORMAT_SIZE, "%llu%s", (tenths + 5) / 10, units[unit]);
	return buffer;
}

/*
 * "12", "1.5", ".5" times what its unit stands for. Names are compared without case; the one with
 * an empty name is meant where there is no unit. 0 or -EINVAL.
 */
static int parse_scaled(const char *text, const struct scale *scales, uint64_t *result)
{
	unsigned __int128 value = 0, power = 1;
	bool some = false;

	for (; isdigit((unsigned char)*text); text++, some = true) {
		value = value * 10 + (unsigned)(*text - '0');
		if (value > UINT64_MAX)
			return -EINVAL;
	}
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++, some = true) {
			if (power >= 1000000000) /* finer digits do not count */
				continue;
			value = value * 10 + (unsigned)(*text - '0');
			power *= 10;
		}
	}
	while (*text == ' ')
		text++;
	if (!some)
		return -EINVAL;
	for (; scales->name; scales++) {
		if (strcasecmp(text, scales->name))
			continue;
		value = value * scales->unit / power;
		if (value > UINT64_MAX)
			return -EINVAL;
		*result = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

int parse_time(const char *text, uint64_t *ns)
{
	static const struct scale scales[] = {
		{ 1000000000, "" },
		{ 1000000000, "s" },
		{ 1000000, "ms" },
		{ 1000, "us" },
		{ 1, "ns" },
		{ 60000000000ULL, "m" },
		{ 60000000000ULL, "min" },
		{ 3600000000000ULL, "h" },
		{ 86400000000000ULL, "d" },
		{ 0, NULL },
	};

	return parse_scaled(text, scales, ns);
}

int parse_bytes(const char *text, uint64_t *bytes)
{
	static const struct scale scales[] = {
		{ 1, "" },
		{ 1, "b" },
		{ 1ULL << 10, "k" },
		{ 1ULL << 10, "kb" },
		{ 1ULL << 10, "kib" },
		{ 1ULL << 20, "m" },
		{ 1ULL << 20, "mb" },
		{ 1ULL << 20, "mib" },
		{ 1ULL << 30, "g" },
		{ 1ULL << 30, "gb" },
		{ 1ULL << 30, "gib" },
		{ 1ULL << 40, "t" },
		{ 1ULL << 40, "tb" },
		{ 1ULL << 40, "tib" },
		{ 0, NULL },
	};

	return parse_scaled(text, scales, bytes);
}

int parse_percent(const char *text, double *percent)
{
	static const struct scale scales[] = { { 1000000, "" }, { 1000000, "%" }, { 0, NULL } };
	uint64_t millionths;

	if (parse_scaled(text, scales, &millionths) || millionths > 100000000)
		return -EINVAL;
	*percent = (double)millionths / 1000000;
	return 0;
}
