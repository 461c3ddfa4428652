/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>

void end_thread(pthread_t thread)
{
	pthread_cancel(thread);
}
