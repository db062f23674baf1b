"""One thread for everybody: environment variables that must be set before NumPy, JAX or PyTorch are imported, and one core.

JAX keeps a pool of threads for its large programs whatever the variables say: a network of three layers ran on two cores. So the process and its
children are held to one core where the system can do that.
"""

import os

PINNED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


def pin() -> None:
    """Limit this process and its children to one thread of computation."""
    os.environ.update(PINNED)


def take_one_core() -> None:
    """Hold this process and its children to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
