/* SPDX-License-Identifier: BSD-2-Clause */
/* 40 locks of its own, 27 of them in a function that the runtime calls back; 60 allocations, each with one of the
 * runtime's. */
#include "inside.h"

static int lock;

static void op(int *data)
{
	inside_lock(&lock);
	++*data;
	inside_unlock(&lock);
}

int main(void)
{
	int data = 0;

	for (int i = 0; i < 60; i++)
		inside_alloc(8);
	for (int i = 0; i < 13; i++) {
		inside_lock(&lock);
		data++;
		inside_unlock(&lock);
	}
	for (int i = 0; i < 27; i++)
		inside_reduce(&data, op);
	return data != 40;
}
