"""The same small programs under TensorFlow and here: values, dtypes, shapes, gradients and error types must agree.

Skipped where TensorFlow is not installed.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import stgrad.eager as eager

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tensorflow = pytest.importorskip("tensorflow")

VALUES = """
tf.constant(1.5)
tf.constant([1, 2.5])
tf.constant(True)
tf.constant([True, False])
tf.constant(3000000000)
tf.constant(2**70)
tf.constant([1, True])
tf.constant([1, 'a'])
tf.constant([[1], [1, 2]])
tf.constant(1.5, tf.int32)
tf.constant(1, tf.float32)
tf.constant(np.array([1.5]), tf.int32)
tf.constant(tf.constant([1.]), tf.float64)
tf.constant([1, 2, 3], shape=[2, 2])
tf.constant(0, shape=[2, 2])
tf.constant([1, 2, 3, 4], shape=[2, 2])
tf.constant(np.float64(3))
tf.constant([np.float64(3)])
tf.constant(np.arange(3))
tf.constant([])
tf.constant(1 + 2j)
tf.constant(None)
tf.convert_to_tensor([tf.constant(1.), 2.])
tf.convert_to_tensor([tf.constant([1., 2.]), tf.constant([3., 4.])])
tf.convert_to_tensor([[tf.constant(1.), 2.], [3., 4.]])
tf.convert_to_tensor(tf.constant(1.), tf.float64)
tf.convert_to_tensor(object())
tf.convert_to_tensor(np.array([1, 2], np.int8))
tf.constant([1., 2.]) * np.array([1., 2.])
np.array([1., 2.]) * tf.constant([1., 2.])
tf.constant([1., 2.]) * np.float64(2)
np.float64(2) * tf.constant([1., 2.])
tf.constant([1., 2.]) * np.array([1, 2])
tf.constant([1, 2]) * np.array([1.5, 2.])
tf.constant([1, 2]) * 2.5
tf.constant([1, 2]) * np.float32(2.5)
tf.constant([1., 2.]) * True
tf.constant([1., 2.]) * tf.constant([1, 2])
tf.constant([1., 2.]) + [1, 2]
[1., 2.] + tf.constant([1., 2.])
tf.constant([1., 2.]) * tf.constant([1., 2.], tf.float64)
tf.constant([1., 2.]) * tf.constant([1., 2., 3.])
tf.constant([1, 2]) / tf.constant([2, 4])
tf.constant([1, 2]) / 2
2 / tf.constant([1, 2])
tf.constant([1, 2], tf.int8) / tf.constant([2, 4], tf.int8)
tf.constant([7, -7]) // 2
tf.constant([7, -7]) % 3
tf.constant([7., -7.]) // 2.
tf.constant([7., -7.]) % 3.
tf.constant([7]) // 0
tf.constant([1, 2]) ** 2
tf.constant([1, 2]) ** -1
2 ** tf.constant([1., 2.])
2 ** tf.constant([1, 2])
tf.constant([1., 2.]) ** tf.constant([2., 3.])
-tf.constant([1, 2])
abs(tf.constant([-1., 2.]))
~tf.constant([True, False])
~tf.constant([1, 2])
~tf.constant(1.)
tf.constant([True, False]) & tf.constant([True, True])
tf.constant([1, 2]) | 1
tf.constant([1, 2]) ^ 3
tf.constant([1.]) & tf.constant([1.])
tf.constant(True) + tf.constant(True)
tf.constant([1., 2.]) == tf.constant([1., 3.])
tf.constant([1., 2.]) == 1
tf.constant([1., 2.]) == tf.constant([1., 2., 3.])
tf.constant([1., 2.]) != tf.constant([1., 2., 3.])
tf.constant([1., 2.]) == tf.constant([1, 2])
tf.constant([1., 2.]) == None
tf.constant([1., 2.]) != None
tf.constant([1., 2.]) < 1.5
tf.constant([1., 2.]) >= tf.constant(2.)
bool(tf.constant([1., 2.]))
bool(tf.constant(2.))
int(tf.constant(2.7))
float(tf.constant([2.5]))
float(tf.constant([2.5, 1.]))
len(tf.constant([1., 2.]))
len(tf.constant(1.))
list(tf.constant([1., 2.]))
list(tf.constant(1.))
hash(tf.constant(1.))
hash(tf.Variable(1.))
tf.constant([1., 2., 3.])[0]
tf.constant([1., 2., 3.])[-1]
tf.constant([1., 2., 3.])[5]
tf.constant([1., 2., 3.])[1:]
tf.constant([1., 2., 3.])[::-1]
tf.constant([1., 2., 3.])[::2]
tf.constant([1., 2., 3.])[tf.newaxis]
tf.constant([1., 2., 3.])[..., None]
tf.constant([[1., 2.], [3., 4.]])[:, 0]
tf.constant([[1., 2.], [3., 4.]])[1, 1]
tf.constant([[1., 2.], [3., 4.]])[..., 1]
tf.constant([1., 2., 3.])[tf.constant(1)]
tf.constant([1., 2., 3.])[tf.constant([True, False, True])]
tf.constant([1., 2., 3.])[np.array([0, 1])]
tf.constant([1., 2., 3.])[0.5]
tf.constant([1., 2., 3.])[0, 0]
tf.constant([1., 2., 3.])[10:]
sum(tf.constant([1., 2.]))
max(tf.constant([1., 2.]))
3. in tf.constant([1., 2.])
str(tf.constant(1.))
str(tf.constant([1., 2.]))
str(tf.constant([[1, 2], [3, 4]]))
repr(tf.constant(1.))
repr(tf.constant([[1, 2], [3, 4]]))
repr(tf.constant(True))
repr(tf.constant('abc'))
repr(tf.constant(['a', 'b']))
repr(tf.constant([]))
repr(tf.constant(1 + 2j))
repr(tf.constant(1e-8))
repr(tf.constant(np.arange(2000)))
repr(tf.Variable(1.))
repr(tf.Variable([[1, 2]], name='w'))
str(tf.Variable([1., 2.]))
f"{tf.constant(2.0)}"
f"{tf.constant(2.0):.2f}"
f"{tf.constant([1., 2.])}"
"%.3f" % tf.constant(2.)
repr(tf.float32)
str(tf.float32)
repr(tf.as_dtype('float64'))
tf.as_dtype(int)
tf.float32 == np.float32
tf.float32 == 'float32'
tf.float32.max
tf.int8.min
tf.float32.is_floating
tf.int32.is_integer
tf.complex64.real_dtype.name
tf.float16.size
repr(tf.TensorShape([1, None, 2]))
repr(tf.TensorShape(None))
str(tf.TensorShape([1, None]))
tf.TensorShape([1, 2]).num_elements()
tf.TensorShape([1, None]).num_elements()
tf.TensorShape([1, 2]).as_list()
tf.TensorShape(None).as_list()
tf.TensorShape([1, 2]).rank
tf.TensorShape([1, 2]).is_compatible_with([None, 2])
repr(tf.TensorShape([1, 2]).concatenate([3]))
repr(tf.TensorShape([1, 2]) + [3])
repr(tf.TensorShape([1, None]).merge_with([None, 2]))
tf.TensorShape([1, 2]).merge_with([2, 2])
tf.TensorShape([-2])
tf.TensorShape(['a'])
repr(tf.TensorSpec(None))
repr(tf.TensorSpec([None, 2], tf.int32, name='x'))
tf.shape(tf.ones([2, 3]))
tf.rank(tf.ones([2, 3]))
tf.size(tf.ones([2, 3]))
tf.range(5)
tf.range(1., 2., 0.25)
tf.range(5, 0, -2)
tf.range(3, delta=0)
tf.linspace(0., 1., 5)
tf.linspace(0, 1, 3)
tf.linspace([0., 1.], [1., 3.], 3)
tf.eye(2)
tf.eye(2, 3, batch_shape=[2])
tf.zeros([2, 3], tf.int32)
tf.ones_like([1, 2])
tf.fill([2, 2], 3.)
tf.one_hot([0, 2, -1], 3)
tf.one_hot([0, 1], 2, on_value=5, off_value=-1)
tf.one_hot([0, 1], 2, axis=0)
tf.meshgrid([1, 2, 3], [4, 5])
tf.meshgrid([1, 2, 3], [4, 5], indexing='ij')
tf.reshape([1, 2, 3, 4], [2, 2])
tf.reshape([1, 2, 3, 4], [2, -1])
tf.reshape([1, 2, 3, 4], [3, 2])
tf.reshape([1, 2, 3, 4], [-1, -1])
tf.transpose([[1, 2, 3], [4, 5, 6]])
tf.transpose(tf.ones([2, 3, 4]), [2, 0, 1])
tf.transpose(tf.ones([2, 3]), [0, 0])
tf.expand_dims([1, 2], 0)
tf.expand_dims([1, 2], 5)
tf.squeeze([[[1], [2]]])
tf.squeeze([[[1], [2]]], axis=0)
tf.squeeze([[1, 2]], axis=1)
tf.broadcast_to([1, 2], [3, 2])
tf.broadcast_to([1, 2], [3, 3])
tf.tile([[1, 2]], [2, 2])
tf.tile([1, 2], [2, 2])
tf.repeat([1, 2], 2)
tf.repeat([1, 2], [2, 3])
tf.repeat([[1, 2], [3, 4]], 2, axis=1)
tf.reverse([1, 2, 3], [0])
tf.roll([1, 2, 3], 1, 0)
tf.pad([[1, 2]], [[1, 0], [0, 1]])
tf.pad([[1., 2.]], [[1, 0], [0, 1]], constant_values=9.)
tf.pad([1, 2, 3], [[2, 1]], 'REFLECT')
tf.pad([1, 2, 3], [[2, 1]], 'SYMMETRIC')
tf.pad([1, 2, 3], [[2, 1]], 'OTHER')
tf.concat([[1, 2], [3]], 0)
tf.concat([[[1], [2]], [[3], [4]]], axis=-1)
tf.concat([[1.], [1]], 0)
tf.concat([[[1, 2]], [[1]]], 0)
tf.concat([1, 2], 0)
tf.stack([[1, 2], [3, 4]], axis=1)
tf.stack([[1, 2], [3]])
tf.unstack([[1, 2], [3, 4]])
tf.unstack([[1, 2], [3, 4]], axis=1)
tf.split([1, 2, 3, 4], 2)
tf.split([1, 2, 3, 4], [1, 3])
tf.split([1, 2, 3, 4], [1, -1])
tf.split([1, 2, 3], 2)
tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [-1, 2])
tf.slice([1, 2, 3], [2], [5])
tf.strided_slice([1, 2, 3, 4], [0], [4], [2])
tf.gather([10, 20, 30], [0, 2])
tf.gather([10, 20, 30], [3])
tf.gather([10, 20, 30], [-1])
tf.gather([[1, 2], [3, 4]], [1], axis=1)
tf.gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1)
tf.gather([[1, 2], [3, 4]], 1)
tf.gather([1, 2], [0.5])
tf.gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]])
tf.gather_nd([[1, 2], [3, 4]], [[1]])
tf.gather_nd([[1, 2], [3, 4]], [[2]])
tf.scatter_nd([[1], [3], [1]], [9, 10, 11], [5])
tf.scatter_nd([[7]], [9], [5])
tf.tensor_scatter_nd_update([1, 2, 3], [[1]], [9])
tf.tensor_scatter_nd_add([1, 2, 3], [[1], [1]], [9, 1])
tf.tensor_scatter_nd_sub([1, 2, 3], [[1]], [9])
tf.tensor_scatter_nd_max([1, 2, 3], [[1], [0]], [9, -1])
tf.boolean_mask([1, 2, 3], [True, False, True])
tf.boolean_mask([[1, 2], [3, 4]], [True, False])
tf.boolean_mask([1, 2, 3], [True, False])
tf.where([True, False], [1, 2], [3, 4])
tf.where([True, False])
tf.where([True, False], 1., 0.)
tf.where([True, False], [1, 2])
tf.where([1, 0], 1., 0.)
tf.sequence_mask([1, 3], 4)
tf.unique([1, 2, 1, 3])
tf.searchsorted([1, 3, 5], [2, 5])
tf.dynamic_partition([1., 2., 3.], [0, 1, 0], 2)
tf.dynamic_stitch([[0, 2], [1]], [[1., 3.], [2.]])
tf.math.segment_sum([1., 2., 3.], [0, 0, 1])
tf.math.unsorted_segment_sum([1., 2., 3.], [1, 0, 1], 3)
tf.math.unsorted_segment_mean([1., 2., 3.], [1, 0, 1], 3)
tf.math.bincount([1, 1, 2])
tf.reduce_sum([[1, 2], [3, 4]])
tf.reduce_sum([[1., 2.], [3., 4.]], axis=0)
tf.reduce_sum([[1., 2.], [3., 4.]], axis=[0, 1], keepdims=True)
tf.reduce_sum([1., 2.], axis=5)
tf.reduce_sum([1., 2.], axis=[])
tf.reduce_sum([True])
tf.reduce_mean([1, 2])
tf.reduce_mean([1., 2.])
tf.reduce_mean([-1, -2])
tf.reduce_prod([1, 2, 3])
tf.reduce_prod(tf.TensorShape([2, 3]))
tf.reduce_max([1, 5, 2])
tf.reduce_min([[1., 5.], [0., 2.]], 1)
tf.reduce_max(tf.zeros([0]))
tf.reduce_all([True, False])
tf.reduce_any([[True], [False]], 1)
tf.reduce_logsumexp([1000., 1000.])
tf.reduce_logsumexp([[1., 2.], [3., 4.]], 1)
tf.math.reduce_std([1., 2., 4.])
tf.math.reduce_variance([1., 2., 4.])
tf.math.reduce_variance([1, 2])
tf.math.reduce_euclidean_norm([3., 4.])
tf.math.count_nonzero([0, 1, 2])
tf.cumsum([1, 2, 3])
tf.cumsum([1., 2., 3.], exclusive=True)
tf.cumsum([1., 2., 3.], reverse=True)
tf.cumsum([1., 2., 3.], exclusive=True, reverse=True)
tf.math.cumprod([1., 2., 3.])
tf.math.cumprod([1., 2., 3.], exclusive=True)
tf.math.cumulative_logsumexp([1., 2., 3.])
tf.argmax([1, 5, 2])
tf.argmax([[1, 5], [7, 2]])
tf.argmin([[1, 5], [7, 2]], axis=1, output_type=tf.int32)
tf.argmax([1, 2], axis=3)
tf.sort([3, 1, 2])
tf.sort([3., 1., 2.], direction='DESCENDING')
tf.sort([3., 1., 2.], direction='UP')
tf.argsort([3, 1, 2])
tf.argsort([3, 1, 2], direction='DESCENDING')
tf.math.top_k([1., 3., 2.], 2)
tf.math.top_k([1., 3., 2.], 5)
tf.math.in_top_k([0, 1], [[.1, .9], [.1, .9]], 1)
tf.matmul([[1., 2.], [3., 4.]], [[1.], [1.]])
tf.matmul([1., 2.], [1., 2.])
tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), transpose_b=True)
tf.matmul(tf.ones([5, 2, 3]), tf.ones([5, 3, 2]))
tf.matmul([[1, 2]], [[3], [4]])
tf.ones([2, 2]) @ tf.ones([2, 1])
tf.linalg.matvec([[1., 2.], [3., 4.]], [1., 1.])
tf.tensordot([1., 2.], [3., 4.], 1)
tf.tensordot(tf.ones([2, 3]), tf.ones([3, 2]), [[1], [0]])
tf.einsum('ij,jk->ik', tf.ones([2, 3]), tf.ones([3, 2]))
tf.einsum('ii->i', tf.eye(3))
tf.einsum('...i->...', tf.ones([2, 3]))
tf.norm([3., 4.])
tf.norm([[3., 4.], [6., 8.]], axis=1)
tf.norm([3., -4.], ord=1)
tf.norm([3., -4.], ord=np.inf)
tf.norm([[1., 2.], [3., 4.]], ord='fro', axis=[0, 1])
tf.norm([1., 2.], ord=-1)
tf.math.l2_normalize([3., 4.])
tf.linalg.normalize([3., 4.])
tf.clip_by_value([1., 5., -5.], -2., 2.)
tf.clip_by_value([1, 5, -5], -2, 2)
tf.clip_by_norm([3., 4.], 1.)
tf.clip_by_norm([[3., 4.], [0.3, 0.4]], 1., axes=[1])
tf.clip_by_global_norm([tf.constant([3., 4.]), None, tf.constant([12.])], 1.)
tf.linalg.global_norm([tf.constant([3., 4.]), tf.constant([12.])])
tf.cast([1.7, -1.7], tf.int32)
tf.cast(1, tf.float64)
tf.cast(True, tf.float32)
tf.cast(0.5, tf.bool)
tf.cast('a', tf.int32)
tf.cast(1 + 2j, tf.float32)
tf.round([0.5, 1.5, -0.5])
tf.floor([1.7, -1.7])
tf.math.ceil([1.2, -1.2])
tf.sign([1., -2., 0.])
tf.sign([1, -2, 0])
tf.maximum([1., 2.], [2., 1.])
tf.maximum([1., 2.], 1.5)
tf.minimum(1, 2.)
tf.add(1, 2)
tf.add(1, 2.)
tf.add(tf.constant(1.), 1)
tf.add([1., 2.], tf.constant([1., 1.]))
tf.add(tf.constant([1., 2.]), tf.constant([1, 2]))
tf.subtract(3., 1.)
tf.multiply([1., 2.], 3.)
tf.divide(1, 2)
tf.divide(1., 2.)
tf.math.divide_no_nan([1., 1.], [0., 2.])
tf.math.multiply_no_nan([np.inf, 1.], [0., 2.])
tf.math.xlogy([0., 1.], [0., 2.])
tf.math.xlog1py([0., 1.], [0., 2.])
tf.math.xdivy([0., 1.], [0., 2.])
tf.math.reciprocal_no_nan([0., 2.])
tf.math.squared_difference([1., 2.], [3., 5.])
tf.math.floormod([-7, 7], 3)
tf.truncatemod([-7, 7], 3)
tf.math.floordiv([-7, 7], 2)
tf.pow([2., 3.], 2.)
tf.pow(2, [1, 2])
tf.sqrt([4., 9.])
tf.sqrt(-1.)
tf.sqrt([4])
tf.sin(1)
tf.math.rsqrt([4., 16.])
tf.exp([1., 2.])
tf.math.log([0., 1., -1.])
tf.math.expm1(1e-4)
tf.math.log1p(1e-4)
tf.math.erf([0.5, -0.5])
tf.math.erfc(0.5)
tf.math.erfinv(0.5)
tf.math.lgamma([3., 4.5])
tf.math.digamma([3., 4.5])
tf.math.igamma(2., 3.)
tf.math.betainc(2., 3., 0.5)
tf.math.zeta(2., 3.)
tf.math.polygamma(1., 3.)
tf.math.atan2([1., -1.], [1., 1.])
tf.math.sigmoid([0., 100., -100.])
tf.math.softplus([0., 100., -100.])
tf.math.log_sigmoid([0., -100.])
tf.math.is_nan([np.nan, 1.])
tf.math.is_finite([np.inf, 1.])
tf.math.logical_and(True, False)
tf.math.logical_xor([True, True], [True, False])
tf.math.add_n([tf.constant(1.), tf.constant(2.)])
tf.math.polyval([1., 2., 3.], 2.)
tf.math.angle(1 + 1j)
tf.math.real(1 + 2j)
tf.math.imag([1 + 2j])
tf.math.conj(1 + 2j)
tf.complex(1., 2.)
tf.abs(3 + 4j)
tf.math.nextafter(1., 2.)
tf.nn.relu([-1., 0., 2.])
tf.nn.relu([-1, 2])
tf.nn.relu6([-1., 7.])
tf.nn.elu([-1., 2.])
tf.nn.selu([-1., 2.])
tf.nn.gelu([-1., 2.])
tf.nn.gelu([-1., 2.], approximate=True)
tf.nn.leaky_relu([-1., 2.])
tf.nn.silu([-1., 2.])
tf.nn.softsign([-1., 2.])
tf.nn.softmax([1., 2., 3.])
tf.nn.softmax([[1., 2.], [3., 5.]], axis=0)
tf.nn.log_softmax([1., 2., 1000.])
tf.nn.sigmoid_cross_entropy_with_logits(labels=[1., 0.], logits=[2., -3.])
tf.nn.softmax_cross_entropy_with_logits(labels=[[1., 0.]], logits=[[2., -3.]])
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=[[2., -3.], [1., 1.]])
tf.nn.weighted_cross_entropy_with_logits(labels=[1., 0.], logits=[2., -3.], pos_weight=2.)
tf.nn.l2_loss([3., 4.])
tf.nn.moments(tf.constant([[1., 2.], [3., 5.]]), [0])
tf.nn.bias_add([[1., 2.]], [10., 20.])
tf.nn.bias_add([[1., 2.]], [10., 20., 30.])
tf.nn.batch_normalization(tf.constant([1., 2.]), 1., 4., 0.5, 2., 1e-3)
tf.nn.conv2d(tf.reshape(tf.range(16.), [1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), 1, 'VALID')
tf.nn.conv2d(tf.reshape(tf.range(16.), [1, 4, 4, 1]), tf.ones([3, 3, 1, 2]), 2, 'SAME')
tf.nn.conv2d(tf.reshape(tf.range(25.), [1, 5, 5, 1]), tf.ones([2, 2, 1, 1]), [1, 2, 2, 1], 'SAME')
tf.nn.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 3, 2]), 1, [[0, 0], [1, 0], [0, 1], [0, 0]])
tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), 1, 'VALID', dilations=2)
tf.nn.depthwise_conv2d(tf.reshape(tf.range(18.), [1, 3, 3, 2]), tf.reshape(tf.range(16.), [2, 2, 2, 2]), [1, 1, 1, 1], 'VALID')
tf.nn.conv2d_transpose(tf.reshape(tf.range(4.), [1, 2, 2, 1]), tf.ones([3, 3, 1, 1]), [1, 4, 4, 1], 2, 'SAME')
tf.nn.conv1d(tf.reshape(tf.range(5.), [1, 5, 1]), tf.ones([2, 1, 1]), 1, 'SAME')
tf.nn.max_pool2d(tf.reshape(tf.range(16.), [1, 4, 4, 1]), 2, 2, 'VALID')
tf.nn.max_pool2d(tf.reshape(tf.range(9.), [1, 3, 3, 1]), 2, 2, 'SAME')
tf.nn.avg_pool2d(tf.reshape(tf.range(9.), [1, 3, 3, 1]), 2, 2, 'SAME')
tf.nn.embedding_lookup(tf.constant([[1., 2.], [3., 4.]]), [1, 0])
tf.nn.zero_fraction([0., 1.])
tf.nn.dropout(tf.ones([3]), 0.)
tf.nn.dropout(tf.ones([3]), 1.5)
tf.linalg.det([[1., 2.], [3., 4.]])
tf.linalg.inv([[1., 2.], [3., 4.]])
tf.linalg.inv([[1., 2.], [2., 4.]])
tf.linalg.inv([[1., 2., 3.]])
tf.linalg.solve([[2., 0.], [0., 4.]], [[2.], [4.]])
tf.linalg.solve([[2., 0.], [0., 4.]], [2., 4.])
tf.linalg.cholesky([[4., 2.], [2., 3.]])
tf.linalg.cholesky([[-4., 2.], [2., 3.]])
tf.linalg.slogdet([[1., 2.], [3., 4.]])
tf.linalg.logdet([[4., 2.], [2., 3.]])
tf.linalg.trace([[1., 2.], [3., 4.]])
tf.linalg.diag([1., 2.])
tf.linalg.diag([1., 2.], k=1)
tf.linalg.diag([1., 2.], k=-1)
tf.linalg.diag_part([[1., 2.], [3., 4.]])
tf.linalg.set_diag([[1., 2.], [3., 4.]], [9., 8.])
tf.linalg.band_part(tf.ones([3, 3]), 1, 0)
tf.linalg.band_part(tf.ones([3, 3]), 0, -1)
tf.linalg.triangular_solve([[2., 9.], [1., 4.]], [[2.], [4.]])
tf.linalg.expm([[0., 1.], [-1., 0.]])
tf.linalg.eigvalsh([[2., 1.], [1., 2.]])
tf.linalg.svd([[2., 1.], [1., 2.]], compute_uv=False)
tf.linalg.lstsq([[1., 0.], [0., 2.], [1., 1.]], [[1.], [2.], [3.]])
tf.linalg.pinv([[1., 0.], [0., 2.], [1., 1.]])
tf.linalg.cross([1., 0., 0.], [0., 1., 0.])
tf.linalg.matrix_transpose([[1., 2.]])
tf.linalg.tensor_diag([1., 2.])
tf.linalg.matrix_rank([[1., 2.], [2., 4.]])
tf.signal.fft([1 + 0j, 2, 3])
tf.signal.rfft([1., 2., 3., 4.])
tf.signal.irfft(tf.signal.rfft([1., 2., 3., 4.]))
tf.signal.fft2d([[1 + 0j, 2], [3, 4]])
tf.signal.fftshift([1., 2., 3.])
tf.signal.hann_window(4)
tf.signal.frame([1., 2., 3., 4.], 2, 1)
tf.cond(tf.constant(True), lambda: 1, lambda: 2)
tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)])
tf.scan(lambda a, x: a + x, tf.constant([1., 2., 3.]))
tf.scan(lambda a, x: a + x, tf.constant([1., 2., 3.]), initializer=10.)
tf.map_fn(lambda x: x * x, tf.constant([1., 2., 3.]))
tf.foldl(lambda a, x: a + x, tf.constant([1., 2., 3.]))
tf.Variable(None)
tf.Variable([1., 2.]).assign([1., 2., 3.])
tf.Variable(1.).assign('a')
tf.Variable(1.).assign(tf.constant(1., tf.float64))
tf.Variable(1.).assign_add(2.)
tf.Variable([1., 2.]).assign_sub([1., 1.])
tf.Variable([1., 2., 3.])[1:].assign([9., 8.])
tf.Variable([1., 2., 3.])[0].assign(7.)
tf.Variable(1., trainable=False).trainable
tf.Variable(1).dtype.name
tf.Variable(1., dtype=tf.float64).dtype.name
tf.Variable(1., name='bias').name
tf.Variable([1., 2.]) + 1.
1. - tf.Variable([1., 2.])
tf.Variable(2.) * tf.Variable(3.)
tf.Variable([1., 2.])[0]
tf.Variable([1., 2.]) == tf.Variable([1., 3.])
tf.Variable([1., 2., 3.]).scatter_add(tf.IndexedSlices([5., 6.], [0, 2]))
tf.Variable([1., 2., 3.]).scatter_nd_update([[0], [2]], [5., 6.])
tf.Variable([1., 2., 3.]).gather_nd([[0], [2]])
tf.Variable([1., 2., 3.]).sparse_read([0, 2])
tf.Variable(1., shape=tf.TensorShape(None)).assign([1., 2.])
tf.Variable([1.], shape=[2])
tf.nest.flatten({'b': 1, 'a': [2, 3]})
tf.identity([1., 2.])
tf.stop_gradient([1., 2.])
tf.debugging.assert_equal(1, 2)
tf.debugging.check_numerics(tf.constant([1., np.nan]), 'bad')
tf.one_hot(1, 3, dtype=tf.int32)
tf.keras.losses.mse([[1., 2.]], [[2., 4.]])
tf.keras.losses.MeanSquaredError()([[1., 2.]], [[2., 4.]])
tf.keras.losses.BinaryCrossentropy()([[1.], [0.]], [[.8], [.3]])
tf.keras.losses.BinaryCrossentropy(from_logits=True)([[1.], [0.]], [[.8], [-.3]])
tf.keras.losses.CategoricalCrossentropy()([[0., 1.]], [[.2, .8]])
tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(np.array([1, 0]), np.array([[.2, .8], [3., 1.]], np.float32))
tf.keras.losses.Huber()([[1., 2.]], [[2., 4.]])
tf.keras.losses.CosineSimilarity()([[1., 2.]], [[2., 4.]])
tf.keras.losses.KLDivergence()([[.4, .6]], [[.2, .8]])
tf.keras.layers.Dense(2, kernel_initializer='ones', activation='relu')(tf.constant([[1., -2.], [3., 4.]]))
tf.keras.layers.LayerNormalization()(tf.constant([[1., 2., 4.]]))
tf.keras.layers.BatchNormalization()(tf.constant([[1., 2.], [3., 5.]]), training=True)
tf.keras.layers.BatchNormalization()(tf.constant([[1., 2.], [3., 5.]]))
tf.keras.layers.Flatten()(tf.ones([2, 3, 4]))
tf.keras.layers.Conv2D(2, 2, kernel_initializer='ones')(tf.ones([1, 3, 3, 1]))
tf.keras.layers.MaxPooling2D()(tf.reshape(tf.range(16.), [1, 4, 4, 1]))
tf.keras.activations.get('no_such')
tf.Module(name='bad name')
tf.Module(name='fine').name
tf.RegisterGradient(1)
tf.gradients(tf.constant(1.), tf.constant(1.))
tf.function(lambda x: x * 2)(tf.constant(3.))
tf.function(lambda x: x, input_signature=3)
tf.function(lambda x: x, input_signature=[tf.TensorSpec([2])])(tf.constant([1., 2., 3.]))
tf.function(lambda x: x, input_signature=[tf.TensorSpec([2])])([1., 2.])
tf.function(lambda x: x, input_signature=[tf.TensorSpec([2])])(tf.constant([1, 2]))
tf.GradientTape().gradient(tf.constant(1.), tf.constant(1.))
tf.GradientTape().watched_variables()
tf.GradientTape().watch(3.)
tf.autodiff.ForwardAccumulator(1., 1.)
"""

# A function and its arguments; compared: the value and the gradient of the summed result in each argument.
GRADIENTS = """
lambda x: x * x | [1., 2.]
lambda x: x ** 3 | [1., -2.]
lambda x: x ** 0. | [0., 1., -1.]
lambda x: x ** 0.5 | [0., 1., -1.]
lambda x: 2. ** x | [0., 1., -1.]
lambda x, y: x ** y | [0., 0., 0., -1., -1., 2.] | [0., 1., 2., 2., 3., -1.]
lambda x, y: x / y | [1., 2.] | [3., 4.]
lambda x, y: x / y | [[1., 2.]] | [[3.], [4.]]
lambda x, y: x * y | 3. | [[1., 2.], [3., 4.]]
lambda x, y: x - y | [1., 2.] | 5.
lambda x, y: x % y | [5., -5.] | [3., 3.]
lambda x, y: x // y | [5., -5.] | [3., 3.]
lambda x: -x | [1., 2.]
lambda x: abs(x) | [0., 1., -1.]
lambda x: x[1:] | [1., 2., 3.]
lambda x: x[::-2] | [1., 2., 3.]
lambda x: x[0] * x[2] | [1., 2., 3.]
lambda x: x[x > 1.] | [1., 2., 3.]
lambda x: tf.sqrt(x) | [0., 4.]
lambda x: tf.square(x) | [0., 4.]
lambda x: tf.math.rsqrt(x) | [4., 9.]
lambda x: tf.exp(x) | [0., 1.]
lambda x: tf.math.log(x) | [0., 1., -1.]
lambda x: tf.math.log1p(x) | [0., 1.]
lambda x: tf.math.expm1(x) | [0., 1.]
lambda x: tf.sin(x) | [0., 1.]
lambda x: tf.cos(x) | [0., 1.]
lambda x: tf.tan(x) | [0., 1.]
lambda x: tf.asin(x) | [0., 1.]
lambda x: tf.acos(x) | [0., 1.]
lambda x: tf.atan(x) | [0., 1.]
lambda x: tf.sinh(x) | [0., 1.]
lambda x: tf.cosh(x) | [0., 1.]
lambda x: tf.tanh(x) | [0., 1.]
lambda x: tf.asinh(x) | [0., 1.]
lambda x: tf.acosh(x) | [1., 2.]
lambda x: tf.atanh(x) | [0., 1.]
lambda x, y: tf.math.atan2(x, y) | [1., -1.] | [2., 3.]
lambda x: tf.math.erf(x) | [0., 1.]
lambda x: tf.math.erfc(x) | [0., 1.]
lambda x: tf.math.erfinv(x) | [0., 0.5]
lambda x: tf.math.lgamma(x) | [1., 2.5]
lambda x: tf.math.digamma(x) | [1., 2.5]
lambda x: tf.math.reciprocal(x) | [0., 2.]
lambda x: tf.sign(x) | [0., 2.]
lambda x: tf.floor(x) | [1.5]
lambda x: tf.round(x) | [1.5]
lambda x, y: tf.maximum(x, y) | [0., 1.] | [0., 2.]
lambda x, y: tf.minimum(x, y) | [0., 1.] | [0., 2.]
lambda x, y: tf.math.divide_no_nan(x, y) | [0., 1., -1.] | [0., 0., 1.]
lambda x, y: tf.math.xlogy(x, y) | [0., 1.] | [1., 2.]
lambda x, y: tf.math.squared_difference(x, y) | [0., 1.] | [0., 2.]
lambda x: tf.math.sigmoid(x) | [0., 100., -100.]
lambda x: tf.math.softplus(x) | [0., 100., -100.]
lambda x: tf.clip_by_value(x, 0., 1.) | [0., 1., 2., -1.]
lambda x: tf.clip_by_norm(x, 1.) | [3., 4.]
lambda x: tf.clip_by_norm(x, 1.) | [0., 0.]
lambda x: tf.where(x > 0, tf.sqrt(x), 0.) | [0., 1.]
lambda x: tf.norm(x) | [3., 4.]
lambda x: tf.norm(x) | [0., 0.]
lambda x: tf.norm(x, ord=1) | [0., -2.]
lambda x: tf.norm(x, ord=np.inf) | [2., -2.]
lambda x: tf.norm(x, ord=3) | [2., -2.]
lambda x: tf.math.l2_normalize(x) | [3., 4.]
lambda x: tf.reduce_max(x) | [1., 1., 0.]
lambda x: tf.reduce_min(x, 0) | [[1., 1.], [0., 1.]]
lambda x: tf.reduce_prod(x) | [0., 1., 2.]
lambda x: tf.reduce_prod(x) | [0., 0., 2.]
lambda x: tf.reduce_mean(x, 1) | [[1., 1.], [0., 1.]]
lambda x: tf.reduce_sum(x, 0, keepdims=True) | [[1., 1.], [0., 1.]]
lambda x: tf.reduce_logsumexp(x, 1) | [[1., 1.], [0., 1.]]
lambda x: tf.math.reduce_std(x) | [1., 2., 4.]
lambda x: tf.math.reduce_variance(x) | [1., 2., 4.]
lambda x: tf.cumsum(x) ** 2 | [1., 2., 3.]
lambda x: tf.cumsum(x, exclusive=True, reverse=True) ** 2 | [1., 2., 3.]
lambda x: tf.math.cumprod(x) | [1., 2., 3.]
lambda x: tf.sort(x) * [1., 2., 3.] | [3., 1., 2.]
lambda x: tf.math.top_k(x, 2)[0] * [1., 2.] | [3., 1., 2.]
lambda x: tf.argmax(x) | [3., 1.]
lambda x: tf.cast(x, tf.int32) | [1.]
lambda x: tf.cast(tf.cast(x, tf.float64), tf.float32) | [1.]
lambda x: tf.reshape(x, [2, 2]) @ tf.reshape(x, [2, 2]) | [1., 2., 3., 4.]
lambda x, y: tf.matmul(x, y) | [[1., 2.]] | [[3.], [4.]]
lambda x, y: tf.matmul(x, y, transpose_a=True) | [[1., 2.]] | [[3., 4.]]
lambda x, y: tf.tensordot(x, y, 1) | [[1., 2.]] | [3., 4.]
lambda x, y: tf.einsum('ij,jk->i', x, y) | [[1., 2.]] | [[3.], [4.]]
lambda x: tf.einsum('ii->i', x) | [[1., 2.], [3., 4.]]
lambda x: tf.transpose(x) * [[1., 2.], [3., 4.]] | [[1., 2.], [3., 4.]]
lambda x, y: tf.concat([x, y], 0) ** 2 | [1., 2.] | [3.]
lambda x, y: tf.stack([x, y]) ** 2 | [1., 2.] | [3., 4.]
lambda x: tf.split(x, 2)[0] ** 2 | [1., 2., 3., 4.]
lambda x: tf.unstack(x)[1] ** 2 | [1., 2., 3., 4.]
lambda x: tf.tile(x, [2]) * [1., 2., 3., 4.] | [1., 2.]
lambda x: tf.pad(x, [[1, 1]], constant_values=2.) ** 2 | [1., 2.]
lambda x: tf.pad(x, [[2, 1]], 'REFLECT') * [1., 2., 3., 4., 5., 6.] | [1., 2., 3.]
lambda x: tf.squeeze(x) ** 2 | [[1., 2.]]
lambda x: tf.expand_dims(x, 0) ** 2 | [1., 2.]
lambda x: tf.broadcast_to(x, [2, 2]) ** 2 | [1., 2.]
lambda x: tf.repeat(x, [1, 2]) ** 2 | [1., 2.]
lambda x: tf.reverse(x, [0]) * [1., 2.] | [1., 2.]
lambda x: tf.roll(x, 1, 0) * [1., 2.] | [1., 2.]
lambda x: tf.gather(x, [0, 0, 1]) * [1., 2., 3.] | [1., 2.]
lambda x: tf.gather_nd(x, [[0, 1]]) ** 2 | [[1., 2.]]
lambda x: tf.scatter_nd([[1], [1]], x, [3]) ** 2 | [1., 2.]
lambda x, y: tf.tensor_scatter_nd_update(x, [[1]], y) ** 2 | [1., 2.] | [3.]
lambda x, y: tf.tensor_scatter_nd_add(x, [[1]], y) ** 2 | [1., 2.] | [3.]
lambda x: tf.boolean_mask(x, [True, False]) ** 2 | [1., 2.]
lambda x, y: tf.where([True, False], x, y) ** 2 | [1., 2.] | [3., 4.]
lambda x: tf.math.unsorted_segment_sum(x, [1, 0, 1], 2) ** 2 | [1., 2., 3.]
lambda x: tf.nn.relu(x) | [0., 1., -1.]
lambda x: tf.nn.relu6(x) | [0., 6., 7., 3.]
lambda x: tf.nn.elu(x) | [0., 1., -1.]
lambda x: tf.nn.selu(x) | [0., 1., -1.]
lambda x: tf.nn.gelu(x) | [0., 1., -1.]
lambda x: tf.nn.gelu(x, approximate=True) | [0., 1., -1.]
lambda x: tf.nn.leaky_relu(x) | [0., 1., -1.]
lambda x: tf.nn.silu(x) | [0., 1., -1.]
lambda x: tf.nn.softsign(x) | [0., 1., -1.]
lambda x: tf.nn.softmax(x) * [1., 2., 3.] | [0., 1., -1.]
lambda x: tf.nn.log_softmax(x) * [1., 2., 3.] | [0., 1., -1.]
lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.constant([1., 0., .5]), logits=x) | [0., 1., -1.]
lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=tf.constant([[1., 0.]]), logits=x) | [[0., 1.]]
lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=x) | [[0., 1.]]
lambda x: tf.nn.moments(x, [0])[1] | [[0., 1.], [2., 5.]]
lambda x, w: tf.nn.conv2d(x, w, 2, 'SAME') ** 2 | np.arange(9.).reshape(1, 3, 3, 1).tolist() | np.arange(4.).reshape(2, 2, 1, 1).tolist()
lambda x: tf.nn.max_pool2d(x, 2, 1, 'VALID') ** 2 | np.arange(9.).reshape(1, 3, 3, 1).tolist()
lambda x: tf.nn.max_pool2d(x, 2, 2, 'VALID') | np.ones((1, 2, 2, 1)).tolist()
lambda x: tf.nn.avg_pool2d(x, 2, 1, 'SAME') ** 2 | np.arange(9.).reshape(1, 3, 3, 1).tolist()
lambda x: tf.linalg.det(x) | [[1., 2.], [3., 5.]]
lambda x: tf.linalg.inv(x) | [[1., 2.], [3., 5.]]
lambda x, y: tf.linalg.solve(x, y) | [[1., 2.], [3., 5.]] | [[1.], [2.]]
lambda x: tf.linalg.cholesky(x) | [[4., 2.], [2., 3.]]
lambda x: tf.linalg.logdet(x) | [[4., 2.], [2., 3.]]
lambda x: tf.linalg.slogdet(x)[1] | [[1., 2.], [3., 5.]]
lambda x: tf.linalg.trace(x) | [[1., 2.], [3., 5.]]
lambda x: tf.linalg.eigvalsh(x) ** 2 | [[2., 1.], [1., 4.]]
lambda x: tf.linalg.svd(x, compute_uv=False) ** 2 | [[2., 1.], [1., 4.]]
lambda x: tf.linalg.diag(x) ** 2 | [1., 2.]
lambda x: tf.linalg.diag_part(x) ** 2 | [[1., 2.], [3., 5.]]
lambda x: tf.linalg.band_part(x, 1, 0) ** 2 | [[1., 2.], [3., 5.]]
lambda x: tf.linalg.expm(x) | [[0.1, 0.2], [0.3, 0.4]]
lambda x: tf.abs(tf.signal.rfft(x)) ** 2 | [1., 2., 4., 3.]
lambda x: tf.math.real(tf.complex(x, x) * tf.complex(x, -x)) | [1., 2.]
lambda x: tf.scan(lambda a, b: a * b, x) | [1., 2., 3.]
lambda x: tf.map_fn(lambda a: a * a, x) | [1., 2., 3.]
lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1] | 2.
lambda x: tf.stop_gradient(x) * x | [1., 2.]
lambda x: tf.identity(x) * x | [1., 2.]
lambda x: tf.math.polyval([1., 2., 3.], x) | [1., 2.]
lambda x: tf.math.add_n([x, x]) | [1., 2.]
lambda x: tf.grad_pass_through(tf.round)(x) | [1.4, 2.6]
lambda x: tf.recompute_grad(lambda a: tf.sin(a) * a)(x) | [1.4, 2.6]
lambda x: tf.linspace(x, 2. * x, 3) | 2.
lambda x: tf.keras.losses.mse([[1., 2.]], x) | [[2., 5.]]
lambda x: tf.py_function(lambda a: a * a, [x], tf.float32) | [1., 2.]
lambda x: tf.numpy_function(lambda a: a * a, [x], tf.float32) | [1., 2.]
"""

COMPLEX = """
lambda z: z * z | [1 + 2j]
lambda z: tf.abs(z) ** 2 | [1 + 2j, 3 - 1j]
lambda z: tf.abs(z) | [3 + 4j, 0j]
lambda z: tf.math.conj(z) * 2. | [1 + 2j]
lambda z: tf.math.real(z) * tf.math.imag(z) | [1 + 2j]
lambda z: tf.exp(z) | [1 + 2j]
lambda z: tf.sin(z) | [1 + 2j]
lambda z: 1. / z | [1 + 2j]
lambda z: tf.sqrt(z) | [1 + 2j]
lambda z: tf.math.angle(z) | [1 + 2j]
lambda z: tf.reduce_sum(z * tf.math.conj(z)) | [1 + 2j, 2.]
lambda z: z ** 3 | [1 + 2j]
"""


def lines(text: str) -> list[str]:
    return [line for line in text.strip().split("\n") if line]


def outcome(source: str, tf) -> object:
    try:
        return plain(eval(source, {"tf": tf, "np": np}))
    except Exception as error:  # noqa: BLE001  (the type is what is compared)
        return type(error)


def plain(value: object) -> object:
    """Results of either library in one form."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "as_list"):
        return [plain(v) for v in value]
    if hasattr(value, "numpy"):
        return (value.dtype.name if hasattr(value.dtype, "name") else str(value.dtype), tuple(value.shape), np.asarray(value.numpy()))
    return value


def agree(ours: object, theirs: object, rtol: float) -> None:
    if isinstance(theirs, type):
        assert isinstance(ours, type), f"TensorFlow raises {theirs.__name__}, here: {ours}"
        known = {base.__name__ for base in ours.__mro__}
        assert theirs.__name__ in known or {theirs.__name__, ours.__name__} <= {"InvalidArgumentError", "ValueError", "TypeError"}, (
            ours,
            theirs,
        )
    elif isinstance(theirs, dict):
        assert isinstance(ours, dict) and ours.keys() == theirs.keys(), (ours, theirs)
        for key in theirs:
            agree(ours[key], theirs[key], rtol)
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs):
            agree(a, b, rtol)
    elif isinstance(theirs, tuple) and len(theirs) == 3 and isinstance(theirs[2], np.ndarray):
        assert not isinstance(ours, type), f"raises {ours}, TensorFlow gives {theirs}"
        assert ours[:2] == theirs[:2], (ours, theirs)
        compare(ours[2], theirs[2], rtol)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-6, nan_ok=True)
    else:
        assert ours == theirs


def compare(a: np.ndarray, b: np.ndarray, rtol: float) -> None:
    if b.dtype.kind in "fc":
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("source", lines(VALUES))
def test_values(source):
    with np.errstate(all="ignore"):
        agree(outcome(source, eager), outcome(source, tensorflow), 2e-5)


def derivative(source: str, tf, dtype) -> object:
    parts = [part.strip() for part in source.split(" | ")]
    f = eval(parts[0], {"tf": tf, "np": np})
    xs = [tf.constant(np.array(eval(part, {"np": np})), dtype) for part in parts[1:]]
    try:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        return [plain(y), *[plain(g if g is None else tf.convert_to_tensor(g)) for g in tape.gradient(y, xs)]]
    except Exception as error:  # noqa: BLE001
        return type(error)


@pytest.mark.parametrize("source", lines(GRADIENTS))
def test_gradients(source):
    agree(derivative(source, eager, "float32"), derivative(source, tensorflow, "float32"), 2e-4)


@pytest.mark.parametrize("source", lines(COMPLEX))
def test_complex_gradients(source):
    agree(derivative(source, eager, "complex128"), derivative(source, tensorflow, "complex128"), 1e-9)


def second_derivative(source: str, tf) -> object:
    parts = [part.strip() for part in source.split(" | ")]
    f = eval(parts[0], {"tf": tf, "np": np})
    xs = [tf.constant(np.array(eval(part, {"np": np})), "float32") for part in parts[1:]]
    try:
        with tf.GradientTape() as outer:
            outer.watch(xs)
            with tf.GradientTape() as inner:
                inner.watch(xs)
                y = f(*xs)
            gradients = [g if g is None else tf.convert_to_tensor(g) for g in inner.gradient(y, xs)]
            total = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in gradients if g is not None])
        return [plain(g) for g in outer.gradient(total, xs, unconnected_gradients="zero")]
    except Exception as error:  # noqa: BLE001
        return type(error)


# The second derivative of a product with zeros is exact here; TensorFlow's is wrong. `slogdet` of TensorFlow has none.
WRONG_IN_TENSORFLOW = ("reduce_prod",)


@pytest.mark.parametrize(
    "source", [line for line in lines(GRADIENTS) if not any(word in line for word in (*WRONG_IN_TENSORFLOW, "py_function"))]
)
def test_second_order(source):
    theirs = second_derivative(source, tensorflow)
    if isinstance(theirs, type):
        pytest.skip("TensorFlow has no second derivative here")
    ours = second_derivative(source, eager)
    singular = any(np.any(~np.isfinite(part[2])) for part in theirs)
    if singular:
        pytest.skip("not finite in TensorFlow")
    agree(ours, theirs, 2e-3)


def tangent(source: str, tf) -> object:
    parts = [part.strip() for part in source.split(" | ")]
    f = eval(parts[0], {"tf": tf, "np": np})
    xs = [tf.constant(np.array(eval(part, {"np": np})), "float32") for part in parts[1:]]
    dots = [tf.ones_like(x) * 0.5 for x in xs]
    try:
        with tf.autodiff.ForwardAccumulator(xs, dots) as accumulator:
            y = f(*xs)
        return [plain(d) for d in [accumulator.jvp(y, unconnected_gradients="zero")]]
    except Exception as error:  # noqa: BLE001
        return type(error)


@pytest.mark.parametrize("source", [line for line in lines(GRADIENTS) if "py_function" not in line])
def test_forward_mode(source):
    theirs = tangent(source, tensorflow)
    if isinstance(theirs, type):
        pytest.skip("TensorFlow has no forward mode here")
    if not all(np.all(np.isfinite(part[2])) for part in theirs):
        pytest.skip("not finite in TensorFlow")
    agree(tangent(source, eager), theirs, 2e-4)
