/* SPDX-License-Identifier: BSD-2-Clause */
/* What Berkeley UPC has besides: upc_berkeley.c tells. */
#ifndef WORKLOADS_UPC_BERKELEY_H
#define WORKLOADS_UPC_BERKELEY_H

#include "upc_calls.h"
#include "upc_runtime.h"

#ifdef GASNET_EX
#define TEAM void *team,
#define WORLD &THREADS,
#else
#define TEAM
#define WORLD
#endif

void gasnete_get_bulk(TEAM void *dst, int node, void *src, size_t n);
void gasnete_put_bulk(TEAM int node, void *dst, void *src, size_t n);
void gasnete_memset(TEAM int node, void *dst, int c, size_t n);
void *gasnete_get_nb_bulk(TEAM void *dst, int node, void *src, size_t n);
void *gasnete_put_nb_bulk(TEAM int node, void *dst, void *src, size_t n);
void *gasnete_memset_nb(TEAM int node, void *dst, int c, size_t n);
void gasnete_get_nbi_bulk(TEAM void *dst, int node, void *src, size_t n);
void gasnete_put_nbi_bulk(TEAM int node, void *dst, void *src, size_t n);
void gasnete_memset_nbi(TEAM int node, void *dst, int c, size_t n);
void gasnete_wait_syncnb(void *handle);
int gasnete_try_syncnb(void *handle);

#define NODE_TEXT(node, dst, src, n) "node=%d dst=%p src=%p n=%zu", node, (void *)(dst), (void *)(src), (size_t)(n)
#define NODE_SET(node, dst, c, n) "node=%d dst=%p c=%d n=%zu", node, (void *)(dst), c, (size_t)(n)
#define G_GET(F, dst, node, src, n) MAKE(F, (WORLD dst, node, src, n), n, 0, n, NODE_TEXT(node, dst, src, n))
#define G_PUT(F, node, dst, src, n) MAKE(F, (WORLD node, dst, src, n), n, n, 0, NODE_TEXT(node, dst, src, n))
#define G_SET(F, node, dst, c, n) MAKE(F, (WORLD node, dst, c, n), n, n, 0, NODE_SET(node, dst, c, n))
#define G_GET_NB(F, dst, node, src, n)                                                                               \
	GIVES(F, (WORLD dst, node, src, n), n, 0, n, "node=%d dst=%p src=%p n=%zu > handle=%p", node, (void *)(dst), \
	      (void *)(src), (size_t)(n), result)
#define G_PUT_NB(F, node, dst, src, n)                                                                               \
	GIVES(F, (WORLD node, dst, src, n), n, n, 0, "node=%d dst=%p src=%p n=%zu > handle=%p", node, (void *)(dst), \
	      (void *)(src), (size_t)(n), result)
#define G_SET_NB(F, node, dst, c, n)                                                                                \
	GIVES(F, (WORLD node, dst, c, n), n, n, 0, "node=%d dst=%p c=%d n=%zu > handle=%p", node, (void *)(dst), c, \
	      (size_t)(n), result)
#define G_SYNC(F, handle_given)                                                 \
	do {                                                                    \
		void *given = handle_given;                                     \
		MAKE(F, (given), 0, 0, 0, "handle=%p", given);                  \
	} while (0)
#define G_TRYSYNC(F, h) GIVES(F, (h), 0, 0, 0, "handle=%p > result=%d", h, result)

#endif
