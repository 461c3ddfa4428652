/* SPDX-License-Identifier: BSD-2-Clause */
/* The stand-in runtime under the names of IBM's, with its barrier's; what is GNU UPC's own is hidden (rt_...). */
#define upc_memget_nb           __xlupc_memget_async
#define upc_memput_nb           __xlupc_memput_async
#define upc_memset_nb           __xlupc_memset_async
#define upc_memcpy_nb           __xlupc_memcpy_async
#define upc_memget_nbi          __xlupc_memget_asynci
#define upc_memput_nbi          __xlupc_memput_asynci
#define upc_memset_nbi          __xlupc_memset_asynci
#define upc_memcpy_nbi          __xlupc_memcpy_asynci
#define upc_sync                __xlupc_waitsync
#define upc_synci               __xlupc_waitsynci
#define upc_sync_attempt        __xlupc_trysync
#define upc_synci_attempt       rt_synci_attempt
#define __upc_barrier           __xlupc_barrier
#define __upc_notify            rt_notify
#define __upc_wait              rt_wait
#define __upc_fence             rt_fence
#define __upc_exit              rt_exit
#define __getblk3               rt_getblk3
