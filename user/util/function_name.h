/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_name.h - what people call a function, of what its symbol says: "grid::solve<double>(int)" of a C++ one.
 */
#ifndef GASPBPF_FUNCTION_NAME_H
#define GASPBPF_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define FUNCTION_NAME_ROOM 1024
#define SYMBOL_MOST 1000         /* bytes of a symbol that is taken apart; a longer one is shown as it is */
#define FUNCTION_NAME_COLUMNS 48 /* that a name may have in a table */

enum name_form { NAME_WITH_ARGUMENTS, NAME_ALONE };

/*
 * The name in the source of a C++ symbol, whoever made that up: any bytes. False, and `text` is empty: it is none, or
 * would take too long, or the name has no room.
 */
bool function_name(const char *symbol, enum name_form form, char text[static FUNCTION_NAME_ROOM]);
/* The same; the symbol itself where there is no such name. The result is `text` or `symbol`. */
const char *function_name_or(const char *symbol, char text[static FUNCTION_NAME_ROOM]);
/*
 * For people, safe to print, in so many columns or less: without its arguments where they have no room, then cut in the
 * middle ("lammps::Comm..::reverse"). A symbol of another language is never cut. The result lives as that of
 * log_safe().
 */
const char *function_label(const char *symbol, unsigned columns);

#endif
