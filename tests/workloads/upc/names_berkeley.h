/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stand-in runtime under the names of Berkeley's; what is GNU UPC's own is hidden (rt_...). Its barriers have one
 * parameter more (upc_berkeley.c).
 */
#define UPC_BERKELEY
#define upc_alloc               _upcr_alloc
#define upc_global_alloc        _upcr_global_alloc
#define upc_all_alloc           _upcr_all_alloc
#define upc_free                _upcr_free
#define upc_all_free            _upcr_all_free
#define upc_global_lock_alloc   _upcr_global_lock_alloc
#define upc_all_lock_alloc      _upcr_all_lock_alloc
#define upc_lock                _upcr_lock
#define upc_lock_attempt        _upcr_lock_attempt
#define upc_unlock              _upcr_unlock
#define upc_lock_free           _upcr_lock_free
#define upc_all_lock_free       _upcr_all_lock_free
#define upc_memget_nb           _upcr_memget_nb
#define upc_memput_nb           _upcr_memput_nb
#define upc_memset_nb           _upcr_memset_nb
#define upc_memcpy_nb           _upcr_memcpy_nb
#define upc_sync                _upcr_waitsync
#define upc_sync_attempt        _upcr_trysync
#define __upc_exit              upcri_do_exit
#define upc_global_exit         upcr_global_exit
#define upc_all_broadcast       _upcr_all_broadcast
#define upc_all_scatter         _upcr_all_scatter
#define upc_all_gather          _upcr_all_gather
#define upc_all_gather_all      _upcr_all_gather_all
#define upc_all_exchange        _upcr_all_exchange
#define upc_all_permute         _upcr_all_permute
#define upc_all_reduceC         _upcr_all_reduceC
#define upc_all_reduceUC        _upcr_all_reduceUC
#define upc_all_reduceS         _upcr_all_reduceS
#define upc_all_reduceUS        _upcr_all_reduceUS
#define upc_all_reduceI         _upcr_all_reduceI
#define upc_all_reduceUI        _upcr_all_reduceUI
#define upc_all_reduceL         _upcr_all_reduceL
#define upc_all_reduceUL        _upcr_all_reduceUL
#define upc_all_reduceF         _upcr_all_reduceF
#define upc_all_reduceD         _upcr_all_reduceD
#define upc_all_reduceLD        _upcr_all_reduceLD
#define upc_all_prefix_reduceC  _upcr_all_prefix_reduceC
#define upc_all_prefix_reduceUC _upcr_all_prefix_reduceUC
#define upc_all_prefix_reduceS  _upcr_all_prefix_reduceS
#define upc_all_prefix_reduceUS _upcr_all_prefix_reduceUS
#define upc_all_prefix_reduceI  _upcr_all_prefix_reduceI
#define upc_all_prefix_reduceUI _upcr_all_prefix_reduceUI
#define upc_all_prefix_reduceL  _upcr_all_prefix_reduceL
#define upc_all_prefix_reduceUL _upcr_all_prefix_reduceUL
#define upc_all_prefix_reduceF  _upcr_all_prefix_reduceF
#define upc_all_prefix_reduceD  _upcr_all_prefix_reduceD
#define upc_all_prefix_reduceLD _upcr_all_prefix_reduceLD
#define __upc_barrier           rt_barrier
#define __upc_notify            rt_notify
#define __upc_wait              rt_wait
#define __upc_fence             rt_fence
#define __getblk3               rt_getblk3

void _upcr_notify(int value, int flags);
void _upcr_wait(int value, int flags);
int _upcr_try_wait(int value, int flags);
