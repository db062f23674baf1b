"""TensorFlow's eager API for automatic differentiation, on NumPy arrays and the derivative rules of stgrad.

    import stgrad.eager as tf

Tape code moves over by changing that import. There is no graph and no TensorFlow underneath: tensors hold NumPy arrays,
operations are NumPy functions, and the tape pulls back by the same rules that the compiler splices.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

from stgrad.eager import operators, protocols
from stgrad.eager.tensor import Tensor, is_tensor
from stgrad.eager.variable import Variable

operators.install(Tensor, Variable)
protocols.install(Tensor, Variable)

# ruff: noqa: E402, A004
from stgrad.eager import (
    bitwise,
    checkpoint,
    compilation,
    compiled,
    config,
    debugging,
    dtypes,
    errors,
    keras,
    linalg,
    math,
    nn,
    random,
    signal,
    structures,
)
from stgrad.eager import data as data
from stgrad.eager import saved_model as saved_model
from stgrad.eager import testing as test
from stgrad.eager.compilation import RunsEagerlyWarning
from stgrad.eager.control import (
    case,
    cond,
    foldl,
    foldr,
    map_fn,
    numpy_function,
    py_function,
    scan,
    switch_case,
    vectorized_map,
    while_loop,
)
from stgrad.eager.convert import constant, convert_to_tensor
from stgrad.eager.custom import custom_gradient, grad_pass_through, recompute_grad
from stgrad.eager.debugging import Assert
from stgrad.eager.dtypes import (
    DType,
    as_dtype,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from stgrad.eager.errors import OpError
from stgrad.eager.forward import ForwardAccumulator
from stgrad.eager.function import function, gradients
from stgrad.eager.indexing import IndexedSlices
from stgrad.eager.linalg import eye, norm
from stgrad.eager.math import *  # noqa: F403
from stgrad.eager.module import Module, name_scope
from stgrad.eager.neighbours import (
    VariableAggregation,
    VariableSynchronization,
    as_string,
    constant_initializer,
    control_dependencies,
    device,
    ensure_shape,
    get_static_value,
    group,
    histogram_fixed_width,
    init_scope,
    no_op,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    timestamp,
    type_spec_from_value,
    zeros_initializer,
)
from stgrad.eager.neighbours import print_ as print
from stgrad.eager.ops_array import *  # noqa: F403
from stgrad.eager.ops_array import slice_ as slice
from stgrad.eager.ops_index import *  # noqa: F403
from stgrad.eager.ops_math import identity_function as identity
from stgrad.eager.ops_products import (
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    einsum,
    matmul,
    tensordot,
)
from stgrad.eager.registry import Graph, RegisterGradient, get_default_graph, no_gradient, operation
from stgrad.eager.shapes import TensorShape, TensorSpec
from stgrad.eager.structures import UnconnectedGradients
from stgrad.eager.tape import GradientTape
from stgrad.eager.tensor_array import TensorArray

compiled.install(Tensor, Variable)
compilation.install(Tensor, Variable)
newaxis = None
__version__ = str(sys.modules["stgrad"].__version__)
losses, metrics, optimizers, initializers = keras.losses, keras.metrics, keras.optimizers, keras.initializers
assert_equal, assert_greater, assert_less, assert_rank = (
    debugging.assert_equal, debugging.assert_greater, debugging.assert_less, debugging.assert_rank,
)  # fmt: skip
autograph = SimpleNamespace(
    experimental=SimpleNamespace(do_not_convert=lambda func=None: (lambda f: f) if func is None else func), set_verbosity=lambda *_: None,
)  # fmt: skip
train = SimpleNamespace(
    Checkpoint=checkpoint.Checkpoint, CheckpointManager=checkpoint.CheckpointManager, latest_checkpoint=checkpoint.latest_checkpoint,
)  # fmt: skip
autodiff = SimpleNamespace(ForwardAccumulator=ForwardAccumulator, GradientTape=GradientTape)
nest = SimpleNamespace(
    flatten=structures.flatten, map_structure=structures.map_structure, pack_sequence_as=structures.pack_sequence_as,
    assert_same_structure=structures.assert_same_structure, is_nested=structures.is_nested,
)  # fmt: skip
compat = SimpleNamespace(v1=SimpleNamespace(get_default_graph=get_default_graph))
fft = signal
global_norm = linalg.global_norm


def executing_eagerly() -> bool:
    """True, but inside a `tf.function`."""
    from stgrad.eager.record import state

    return state.graph is None


def __getattr__(name: str) -> None:
    import difflib

    near = difflib.get_close_matches(name, [n for n in globals() if not n.startswith("_")], 3, 0.7)
    raise AttributeError(
        f"stgrad.eager has no {name!r}: it covers TensorFlow's automatic differentiation and what code around tapes uses, "
        f"not all of TensorFlow{'; there is ' + ', '.join(near) if near else ''}"
    )
