"""One thread for everybody: environment variables that must be set before NumPy, JAX or PyTorch are imported."""

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
