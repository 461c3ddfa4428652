# SPDX-License-Identifier: BSD-2-Clause
"""Which event a function is that a job or a counting library names."""
import re

THREADS = {
    "malloc": "GASP_C_MALLOC",
    "calloc": "GASP_C_CALLOC",
    "realloc": "GASP_C_REALLOC",
    "free": "GASP_C_FREE",
    "posix_memalign": "GASP_C_POSIX_MEMALIGN",
    "aligned_alloc": "GASP_C_ALIGNED_ALLOC",
    "pthread_mutex_lock": "GASP_PTHREAD_MUTEX_LOCK",
    "pthread_mutex_trylock": "GASP_PTHREAD_MUTEX_TRYLOCK",
    "pthread_mutex_unlock": "GASP_PTHREAD_MUTEX_UNLOCK",
    "pthread_barrier_wait": "GASP_PTHREAD_BARRIER_WAIT",
    "pthread_cond_wait": "GASP_PTHREAD_COND_WAIT",
    "pthread_cond_signal": "GASP_PTHREAD_COND_SIGNAL",
    "pthread_cond_broadcast": "GASP_PTHREAD_COND_BROADCAST",
    "pthread_rwlock_rdlock": "GASP_PTHREAD_RWLOCK_RDLOCK",
    "pthread_rwlock_wrlock": "GASP_PTHREAD_RWLOCK_WRLOCK",
    "pthread_rwlock_unlock": "GASP_PTHREAD_RWLOCK_UNLOCK",
}
ODD = {
    "climb": "GASP_ODD_CLIMB", "leap": "GASP_ODD_LEAP", "thrower": "GASP_ODD_THROWER", "passer": "GASP_ODD_PASSER",
    "turn": "GASP_ODD_TURN", "on_signal_stack": "GASP_ODD_SIGNAL",
}
SHMEM = {
    "set_lock": "LOCK", "clear_lock": "UNLOCK", "test_lock": "LOCK_ATTEMPT", "ctx_create": "CTX_CREATE",
    "ctx_destroy": "CTX_DESTROY", "my_pe": None, "n_pes": None,
}
UPC = {
    "upc_memget_nb": "NB_GET_INIT", "upc_memget_nbi": "NB_GET_INIT", "upc_memput_nb": "NB_PUT_INIT",
    "upc_memput_nbi": "NB_PUT_INIT",
    "upc_memset_nb": "NB_SET_INIT", "upc_memset_nbi": "NB_SET_INIT", "upc_memcpy_nb": "NB_COPY_INIT",
    "upc_memcpy_nbi": "NB_COPY_INIT",
    "upc_sync": "NB_SYNC", "upc_synci": "NB_SYNC", "upc_sync_attempt": "NB_TRYSYNC", "upc_synci_attempt": "NB_TRYSYNC",
    "upc_all_free": "FREE", "upc_all_lock_free": "LOCK_FREE", "__upc_exit": "COLLECTIVE_EXIT",
    "upc_global_exit": "NONCOLLECTIVE_EXIT",
}


def mpi(function):
    return f"GASP_{function.upper()}" if function.startswith("MPI_") else None


def shmem(function):
    """shmem_ctx_long_put -> GASP_SHMEM_PUT: families share an event."""
    name = function.removeprefix("shmem_")
    if name in SHMEM:
        return SHMEM[name] and f"GASP_SHMEM_{SHMEM[name]}"
    name = re.sub(r"^(char|int|long|double)_", "", name.removeprefix("ctx_"))
    if re.search(r"^(atomic_.*|fadd|finc|add|inc|cswap|swap)$", name):
        return "GASP_SHMEM_ATOMIC"
    if name.endswith("_to_all"):
        return "GASP_SHMEM_REDUCE"
    name = re.sub(r"^(put|get)(mem|8|16|32|64|128)", r"\1", name)
    return f"GASP_SHMEM_{re.sub(r'(32|64)$', '', name).upper()}"


def upc(function):
    if function in UPC:
        return f"GASP_UPC_{UPC[function]}"
    reduction = re.match(r"upc_all_(prefix_)?reduce[A-Z]+$", function)
    if reduction:
        return f"GASP_UPC_ALL_{'PREFIX_' if reduction[1] else ''}REDUCE"
    transfer = re.match(r"__(get|put|copy)s?(qi|hi|si|di|ti|sf|df|xf|blk)\d$", function)
    if transfer:
        return {"get": "GASP_UPC_GET", "put": "GASP_UPC_PUT", "copy": "GASP_UPC_MEMCPY"}[transfer[1]]
    return f"GASP_UPC_{function.removeprefix('__').removeprefix('upc_').upper()}"
