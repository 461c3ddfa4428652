/* SPDX-License-Identifier: BSD-2-Clause */
/* odd.c - a C library between the program and the observed one. Nothing in it knows exceptions. */
#include "library.h"

static void (*the_callback)(void);

static long handle(long n)
{
	the_callback();
	return n;
}

void odd_set_handler(void (*callback)(void))
{
	the_callback = callback;
	nasty_set_handler(handle);
}
