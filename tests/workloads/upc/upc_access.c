/* SPDX-License-Identifier: BSD-2-Clause */
/* The stand-in UPC runtime: moving data. Relaxed accesses are plain, strict ones have a full fence on either side. */
#include "upc_runtime.h"

#include <string.h>

/* Not the compiler's own fence: that is an instruction with a lock prefix, and where a function begins with one it
 * cannot be probed. */
static void fence(void)
{
	__asm__ volatile("mfence" ::: "memory");
}

#define DEFINE_ACCESS(mode, type)                                       \
	type __get##mode##2(upc_shared_ptr from)                        \
	{                                                               \
		type value;                                             \
		memcpy(&value, upc_local_address(from), sizeof(value)); \
		return value;                                           \
	}                                                               \
	void __put##mode##2(upc_shared_ptr to, type value)              \
	{                                                               \
		memcpy(upc_local_address(to), &value, sizeof(value));   \
	}                                                               \
	type __gets##mode##2(upc_shared_ptr from)                       \
	{                                                               \
		type value;                                             \
		fence();                                                \
		memcpy(&value, upc_local_address(from), sizeof(value)); \
		fence();                                                \
		return value;                                           \
	}                                                               \
	void __puts##mode##2(upc_shared_ptr to, type value)             \
	{                                                               \
		fence();                                                \
		memcpy(upc_local_address(to), &value, sizeof(value));   \
		fence();                                                \
	}                                                               \
	type __get##mode##3(long thread, size_t offset)                 \
	{                                                               \
		type value;                                             \
		memcpy(&value, upc_local_address(upc_pointer(offset, thread, 0)), sizeof(value));       \
		return value;                                           \
	}                                                               \
	void __put##mode##3(long thread, size_t offset, type value)     \
	{                                                               \
		memcpy(upc_local_address(upc_pointer(offset, thread, 0)), &value, sizeof(value));       \
	}                                                               \
	type __gets##mode##3(long thread, size_t offset)                \
	{                                                               \
		type value;                                             \
		fence();                                                \
		memcpy(&value, upc_local_address(upc_pointer(offset, thread, 0)), sizeof(value));       \
		fence();                                                \
		return value;                                           \
	}                                                               \
	void __puts##mode##3(long thread, size_t offset, type value)    \
	{                                                               \
		fence();                                                \
		memcpy(upc_local_address(upc_pointer(offset, thread, 0)), &value, sizeof(value));       \
		fence();                                                \
	}
UPC_ACCESS_MODES(DEFINE_ACCESS)

void __upc_fence(void)
{
	fence();
}

/* What the functions below share; static, so that none of them calls another one. */
static void move(void *dest, const void *source, size_t n)
{
	memmove(dest, source, n);
}

/* noipa: the strict ones really call them, as in GNU UPC, one of them by a jump. */
__attribute__((noipa)) void __getblk3(void *dest, upc_shared_ptr source, size_t n)
{
	move(dest, upc_local_address(source), n);
}

__attribute__((noipa)) void __putblk3(upc_shared_ptr dest, void *source, size_t n)
{
	move(upc_local_address(dest), source, n);
}

__attribute__((noipa)) void __copyblk3(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
}

void __getsblk3(void *dest, upc_shared_ptr source, size_t n)
{
	fence();
	__getblk3(dest, source, n);
	fence();
}

void __putsblk3(upc_shared_ptr dest, void *source, size_t n)
{
	fence();
	__putblk3(dest, source, n);
	fence();
}

void __copysblk3(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	fence();
	__copyblk3(dest, source, n); /* the last it does: a jump */
}

void __getblk4(long thread, size_t offset, void *dest, size_t n)
{
	move(dest, upc_local_address(upc_pointer(offset, thread, 0)), n);
}

void __getsblk4(long thread, size_t offset, void *dest, size_t n)
{
	fence();
	move(dest, upc_local_address(upc_pointer(offset, thread, 0)), n);
	fence();
}

void __putblk4(void *source, long thread, size_t offset, size_t n)
{
	move(upc_local_address(upc_pointer(offset, thread, 0)), source, n);
}

void __putsblk4(void *source, long thread, size_t offset, size_t n)
{
	fence();
	move(upc_local_address(upc_pointer(offset, thread, 0)), source, n);
	fence();
}

void __copyblk5(long dthread, size_t doffset, long sthread, size_t soffset, size_t n)
{
	move(upc_local_address(upc_pointer(doffset, dthread, 0)), upc_local_address(upc_pointer(soffset, sthread, 0)),
	     n);
}

void __copysblk5(long dthread, size_t doffset, long sthread, size_t soffset, size_t n)
{
	fence();
	move(upc_local_address(upc_pointer(doffset, dthread, 0)), upc_local_address(upc_pointer(soffset, sthread, 0)),
	     n);
	fence();
}

void upc_memcpy(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
}

__attribute__((noipa)) void upc_memget(void *dest, upc_shared_ptr source, size_t n)
{
	move(dest, upc_local_address(source), n);
}

void upc_memput(upc_shared_ptr dest, const void *source, size_t n)
{
	move(upc_local_address(dest), source, n);
}

void upc_memset(upc_shared_ptr dest, int c, size_t n)
{
	memset(upc_local_address(dest), c, n);
}

/*
 * Memory is shared, so a non-blocking transfer is complete when it returns. Gets and puts say so by the trivial handle,
 * 0; copies and sets have handles all the same, so that there are some.
 */

static UPC_OWN unsigned long handles, completed;

static void complete(upc_handle_t handle)
{
	completed += handle == 0;
	fence();
}

upc_handle_t upc_memcpy_nb(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
	return ++handles;
}

upc_handle_t upc_memget_nb(void *dest, upc_shared_ptr source, size_t n)
{
	move(dest, upc_local_address(source), n);
	return 0;
}

upc_handle_t upc_memput_nb(upc_shared_ptr dest, const void *source, size_t n)
{
	move(upc_local_address(dest), source, n);
	return 0;
}

upc_handle_t upc_memset_nb(upc_shared_ptr dest, int c, size_t n)
{
	memset(upc_local_address(dest), c, n);
	return ++handles;
}

void upc_sync(upc_handle_t handle)
{
	complete(handle);
}

int upc_sync_attempt(upc_handle_t handle)
{
	complete(handle);
	return 1;
}

void upc_memget_nbi(void *dest, upc_shared_ptr source, size_t n)
{
	upc_memget(dest, source, n); /* a jump */
}

void upc_memcpy_nbi(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
}

void upc_memset_nbi(upc_shared_ptr dest, int c, size_t n)
{
	memset(upc_local_address(dest), c, n);
}

void upc_memput_nbi(upc_shared_ptr dest, const void *source, size_t n)
{
	move(upc_local_address(dest), source, n);
}

void upc_synci(void)
{
	complete(0);
}

int upc_synci_attempt(void)
{
	complete(0);
	return 1;
}
