/* The stand-in UPC runtime: moving data. Relaxed accesses are plain, strict ones have a full fence on either side. */
#include "upc_runtime.h"

#include <stdatomic.h>
#include <string.h>

static void fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
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
	}
UPC_ACCESS_MODES(DEFINE_ACCESS)

/* What the functions below share; static, so that none of them calls another one. */
static void move(void *dest, const void *source, size_t n)
{
	memmove(dest, source, n);
}

void __getblk3(void *dest, upc_shared_ptr source, size_t n)
{
	move(dest, upc_local_address(source), n);
}

void __putblk3(upc_shared_ptr dest, void *source, size_t n)
{
	move(upc_local_address(dest), source, n);
}

void __copyblk3(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
}

void __getsblk3(void *dest, upc_shared_ptr source, size_t n)
{
	fence();
	move(dest, upc_local_address(source), n);
	fence();
}

void __putsblk3(upc_shared_ptr dest, void *source, size_t n)
{
	fence();
	move(upc_local_address(dest), source, n);
	fence();
}

void __copysblk3(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	fence();
	move(upc_local_address(dest), upc_local_address(source), n);
	fence();
}

void upc_memcpy(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
}

void upc_memget(void *dest, upc_shared_ptr source, size_t n)
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

/* Memory is shared, so a non-blocking transfer is complete when it returns: its handle is the trivial one, 0. */

static unsigned long completed;

static void complete(upc_handle_t handle)
{
	completed += handle == 0;
	fence();
}

upc_handle_t upc_memcpy_nb(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	move(upc_local_address(dest), upc_local_address(source), n);
	return 0;
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
	return 0;
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
	move(dest, upc_local_address(source), n);
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
