/* SPDX-License-Identifier: BSD-2-Clause */
// A thread that waits in MPI_Recv is cancelled by a library that calls nothing of MPI (cancel_by_library.c). Its destructor unlocks a mutex.
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

extern "C" void end_thread(pthread_t thread);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int begun;

struct guard {
	guard() { pthread_mutex_lock(&lock); }
	~guard() { pthread_mutex_unlock(&lock); }
};

static void *wait_for_ever(void *)
{
	guard held;
	int value;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
	begun = 1;
	MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int got;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &got);
	pthread_create(&thread, nullptr, wait_for_ever, nullptr);
	while (!begun)
		usleep(1000);
	usleep(300000);
	end_thread(thread);
	pthread_join(thread, nullptr);
	alarm(20); // where nobody has unlocked it
	pthread_mutex_lock(&lock);
	std::puts("free");
	std::fflush(stdout);
	_exit(0);
}
