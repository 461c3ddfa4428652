/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stand-in runtime under the names of Cray's: what has others there is called otherwise, and what is GNU UPC's own
 * is hidden (rt_...), so that no model but Cray's takes it for its own.
 */
#define upc_sync                upc_sync_nb
#define upc_synci               upc_sync_nbi
#define upc_sync_attempt        upc_test_nb
#define upc_synci_attempt       upc_test_nbi
#define __upc_barrier           rt_barrier
#define __upc_notify            rt_notify
#define __upc_wait              rt_wait
#define __upc_fence             rt_fence
#define __upc_exit              rt_exit
#define __getblk3               rt_getblk3
