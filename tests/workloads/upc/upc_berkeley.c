/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Berkeley UPC has besides (only in jobs built with names_berkeley.h): barriers with a flag that says whether an
 * id was written, and GASNet below. With GASNET_EX its functions take a team first, as those of GASNet-EX do.
 */
#include "upc_berkeley.h"

#include <string.h>

#ifdef UPC_STRUCT
#define POINTERS "struct"
#else
#define POINTERS "packed/p20:t10:a34"
#endif
#ifdef GASNET_EX
#define GASNET "RELEASE=2022.3.0,SPEC=0.15,CONDUIT=SMP(SMP-2022.3/REFERENCE-2022.3)"
#else
#define GASNET "RELEASE=1.32.0,SPEC=1.8,CONDUIT=SMP(SMP-1.16/REFERENCE-1.16)"
#endif

/* As the compiler leaves them in every object file. */
__attribute__((used)) static const char upcr_configuration[] =
	"$UPCRConfig: (upc_job.o) VERSION=2.22.0,SHMEM=pthreads,SHAREDPTRREP=" POINTERS
	",TRANS=berkeleyupc,nogasp,dynamicthreads $";
__attribute__((used)) static const char gasnet_configuration[] =
	"$GASNetConfig: (upc_job.o) " GASNET ",THREADMODEL=SEQ,SEGMENT=FAST,PTR=64bit,align,pshm $";

void _upcr_notify(int value, int flags)
{
	__upc_notify(flags & 1 ? UPC_UNNAMED : value);
}

void _upcr_wait(int value, int flags)
{
	__upc_wait(flags & 1 ? UPC_UNNAMED : value);
}

/* Here it waits. */
int _upcr_try_wait(int value, int flags)
{
	__upc_wait(flags & 1 ? UPC_UNNAMED : value);
	return 1;
}

/* Addresses of all nodes are the same ones here, as within one node of GASNet's. noipa: none is made of another. */
__attribute__((noipa)) void *gasnete_get_nb_bulk(TEAM void *dst, int node, void *src, size_t n)
{
	memcpy(dst, src, n);
	return (char *)dst + node + 1;
}

__attribute__((noipa)) void *gasnete_put_nb_bulk(TEAM int node, void *dst, void *src, size_t n)
{
	memcpy(dst, src, n);
	return (char *)dst + node + 1;
}

__attribute__((noipa)) void *gasnete_memset_nb(TEAM int node, void *dst, int c, size_t n)
{
	memset(dst, c, n);
	return (char *)dst + node + 1;
}

__attribute__((noipa)) void gasnete_get_nbi_bulk(TEAM void *dst, int node, void *src, size_t n)
{
	memcpy(dst, src, n);
}

__attribute__((noipa)) void gasnete_put_nbi_bulk(TEAM int node, void *dst, void *src, size_t n)
{
	memcpy(dst, src, n);
}

__attribute__((noipa)) void gasnete_memset_nbi(TEAM int node, void *dst, int c, size_t n)
{
	memset(dst, c, n);
}

__attribute__((noipa)) void gasnete_get_bulk(TEAM void *dst, int node, void *src, size_t n)
{
	memmove(dst, src, n);
}

__attribute__((noipa)) void gasnete_put_bulk(TEAM int node, void *dst, void *src, size_t n)
{
	memmove(dst, src, n);
}

__attribute__((noipa)) void gasnete_memset(TEAM int node, void *dst, int c, size_t n)
{
	memset(dst, c, n);
}

__attribute__((noipa)) void gasnete_wait_syncnb(void *handle)
{
	__asm__ volatile("" :: "r"(handle) : "memory");
}

__attribute__((noipa)) int gasnete_try_syncnb(void *handle)
{
	return handle ? 0 : 1; /* GASNET_OK is 0 */
}
