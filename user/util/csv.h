/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv.h - a table for other programs, as RFC 4180 has it, out of JSON.
 */
#ifndef GASPBPF_CSV_H
#define GASPBPF_CSV_H

#include <stdio.h>

/* Of a table, "name" or "name.path": "a,b.c,..."; "": no more than its rows have. */
typedef const char *csv_columns_of(const char *table);

/*
 * json: what util/json.h wrote, one value. A list of objects in it is a table: a row for each, a column for each key
 * that any of them has, in the order in which they come. Objects inside make columns "outer.inner"; lists of numbers or
 * texts are joined by blanks, other lists left out; null is an empty field. Control characters are told as \xNN.
 *
 * An object without such a list is a table of one row.
 *
 * columns: what every such table has, first of all, also where no row has it, or there is no row. What a row has beyond
 * that comes behind. NULL: what the rows have.
 *
 * name: what the value is called, in messages and for `columns`. table: the path of keys to the list, "pairs"; NULL:
 * there is only one. 0 or -errno; -EINVAL is said: there is none, or there are several.
 */
int csv_print(const char *json, const char *name, const char *table, csv_columns_of *columns, FILE *out);

#endif
