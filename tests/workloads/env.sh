# SPDX-License-Identifier: BSD-2-Clause
# Source this: settings under which the runtimes of Debian 12 run quietly and quickly on one small machine, as root too.

# Open MPI and OSHMEM
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm=isolated                    # no ssh is looked for
export OMPI_MCA_rmaps_base_oversubscribe=1      # more ranks than cores, without --oversubscribe
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1           # ranks poll; two on one core must take turns
export OMPI_MCA_btl=self,vader                  # shared memory only: no network is probed
export OMPI_MCA_pml=ob1
export OMPI_MCA_btl_vader_single_copy_mechanism=none    # process_vm_readv needs a privilege that containers lack
export OMPI_MCA_osc=^ucx,rdma                   # one-sided over messages, which works without it

# MPICH
export FI_PROVIDER=shm,tcp

# OSHMEM and MPICH reach each other through UCX
export UCX_TLS=posix,self                       # shared memory only
export UCX_WARN_UNUSED_ENV_VARS=n

# StarPU: what it measures of the machine goes to a place of its own, under a name that does not change
export STARPU_HOME=${STARPU_HOME:-${TMPDIR:-/tmp}/gaspbpf-starpu-$(id -u)} STARPU_HOSTNAME=testhost
export STARPU_SILENT=1 STARPU_WORKERS_NOBIND=1 STARPU_NOPENCL=0 STARPU_NCUDA=0
mkdir -p "$STARPU_HOME"

# An OpenCL "device" that is the processor, through PoCL: run a StarPU job under `with_opencl`.
with_opencl() { STARPU_OPENCL_ON_CPUS=1 STARPU_OPENCL_ONLY_ON_CPUS=1 STARPU_NOPENCL=1 "$@"; }
