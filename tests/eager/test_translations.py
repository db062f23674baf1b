"""Operations and programs that `tf.function` compiles: values, first and second derivatives as those of the eager run, in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager.compilation import NotCompiledError, _arrays, _read_quietly, _seed
from stgrad.eager.function import ConcreteFunction
from stgrad.eager.second import Second

RNG = np.random.default_rng(0)


def normal(*shape):
    return tf.constant(RNG.normal(size=shape).astype("f4"))


X, Y, V, M = normal(3, 4), normal(3, 4), normal(4), normal(4, 4)
I, LABELS = tf.constant([0, 2, 1]), tf.constant([1, 0, 3])
IMAGES, FILTERS = normal(2, 6, 6, 3), normal(3, 3, 3, 4)
HOT, POSITIVE = tf.one_hot(LABELS, 4), tf.constant((0.2 + RNG.random(4)).astype("f4"))
W, COUNT = tf.Variable(RNG.normal(size=(4, 2)).astype("f4")), tf.Variable(0.0)
L1, L2, L3 = tf.keras.losses.MeanSquaredError(), tf.keras.losses.MeanAbsoluteError(), tf.keras.losses.BinaryCrossentropy(from_logits=True)
L4, L5 = tf.keras.losses.CategoricalCrossentropy(from_logits=True), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
L6 = tf.keras.losses.Huber()


def compiled(function, *args):
    """The program of a call, with its gradients compared once with those of a tape."""
    function = tf.function(function)
    assert not function._eager_only
    bound, keywords = function._bind(args, {})
    program = ConcreteFunction(function, None, [], {})._compiled(bound, keywords, True, function, jit=False)
    tensors, captured = program.tensors(bound, keywords), list(map(_read_quietly, program.captured))
    if any(t.dtype.is_floating for t in [*tensors, *captured]):
        program._check_gradients(tensors, captured)
        given = _arrays(tensors), _arrays(captured)
        values = program._values(*given)
        try:
            Second(program)._check((*tensors, *captured), given, [_seed(y._a) for y in program._outputs(values)], values)
        except NotCompiledError as error:  # a branch that is not taken has none; the tape says None, and is believed
            assert "finds no second derivative" in str(error)
    return program


# fmt: off
OPERATIONS = {
    "shape": lambda x: tf.reshape(x,[tf.shape(x)[0],-1]),
    "shape2": lambda x: x/tf.cast(tf.shape(x)[0],tf.float32),
    "shape3": lambda x: tf.zeros(tf.shape(x))+x,
    "x.shape": lambda x: tf.reshape(x,[x.shape[0]*x.shape[1]]),
    "size": lambda x: tf.reduce_sum(x)/tf.cast(tf.size(x),tf.float32),
    "rank": lambda x: x*tf.cast(tf.rank(x),tf.float32),
    "gather": lambda x: tf.gather(x,I),
    "gather1": lambda x: tf.gather(x,I,axis=1),
    "one_hot": lambda x: tf.reduce_sum(x*tf.one_hot(LABELS,4)),
    "getitem": lambda x: x[1:,::2]+x[0,0],
    "getnew": lambda x: x[:,tf.newaxis,:]*x[...,:1,None],
    "getell": lambda x: x[...,-1],
    "getneg": lambda x: x[::-1],
    "argmax": lambda x: tf.cast(tf.argmax(x,axis=1),tf.float32)+x[:,0],
    "split": lambda x: tf.split(x,2,axis=1)[0]*tf.split(x,2,1)[1],
    "split2": lambda x: tf.split(x,[1,3],axis=1)[1],
    "tile": lambda x: tf.tile(x,[2,1]),
    "repeat": lambda x: tf.repeat(x,2,axis=0),
    "pad": lambda x: tf.pad(x,[[1,1],[0,2]]),
    "fill": lambda x: tf.fill([3,4],2.0)*x,
    "linspace": lambda x: tf.linspace(0.0,1.0,4)*x,
    "eye": lambda x: x@tf.eye(4),
    "diag": lambda x: tf.linalg.diag_part(tf.transpose(x)@x),
    "diag2": lambda x: tf.linalg.diag(x[0]),
    "trace": lambda x: tf.linalg.trace(tf.transpose(x)@x),
    "inv": lambda x: tf.linalg.inv(tf.transpose(x)@x+tf.eye(4)),
    "det": lambda x: tf.linalg.det(tf.transpose(x)@x+tf.eye(4)),
    "chol": lambda x: tf.linalg.cholesky(tf.transpose(x)@x+tf.eye(4)),
    "matvec": lambda x: tf.linalg.matvec(x,V),
    "lnorm": lambda x: tf.linalg.norm(x),
    "logsumexp": lambda x: tf.reduce_logsumexp(x,axis=1),
    "std": lambda x: tf.math.reduce_std(x,axis=0)+tf.math.reduce_variance(x,axis=0),
    "any": lambda x: tf.where(tf.reduce_any(x>0.0),x,-x),
    "all": lambda x: x*tf.cast(tf.reduce_all(x>-10.0),tf.float32),
    "sign": lambda x: tf.sign(x)*x,
    "broadcast": lambda x: tf.broadcast_to(x[0],[3,4]),
    "cumprod": lambda x: tf.math.cumprod(x,axis=1),
    "cumsum": lambda x: tf.cumsum(x,axis=1,reverse=True),
    "cumsumx": lambda x: tf.cumsum(x,axis=1,exclusive=True),
    "reverse": lambda x: tf.reverse(x,axis=[1]),
    "roll": lambda x: tf.roll(x,1,axis=0),
    "conv2d": lambda: tf.nn.conv2d(IMAGES,FILTERS,strides=1,padding='VALID'),
    "conv2ds": lambda: tf.nn.conv2d(IMAGES,FILTERS,strides=2,padding='SAME'),
    "maxpool": lambda: tf.nn.max_pool2d(IMAGES,2,2,'VALID'),
    "maxpools": lambda: tf.nn.max_pool2d(IMAGES,3,2,'SAME'),
    "avgpool": lambda: tf.nn.avg_pool2d(IMAGES,2,2,'VALID'),
    "sce": lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=HOT,logits=x),
    "smce": lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=HOT,logits=x),
    "ssmce": lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS,logits=x),
    "moments": lambda x: tf.nn.moments(x,axes=[0])[1],
    "bn": lambda x: tf.nn.batch_normalization(x,V,POSITIVE,V,V,1e-3),
    "l2loss": lambda x: tf.nn.l2_loss(x),
    "l2norm": lambda x: tf.nn.l2_normalize(x,axis=1),
    "gelu": lambda x: tf.nn.gelu(x),
    "selu": lambda x: tf.nn.selu(x)+tf.nn.relu6(x)+tf.nn.softsign(x)+tf.nn.elu(x),
    "addn": lambda x: tf.add_n([x,x,x*x]),
    "divnonan": lambda x: tf.math.divide_no_nan(x,x*0.0),
    "xlogy": lambda x: tf.math.xlogy(x*x,x*x),
    "logsig": lambda x: tf.math.log_sigmoid(x),
    "isnan": lambda x: tf.where(tf.math.is_nan(x),0.0,x),
    "matmulT": lambda x: tf.matmul(x,x,transpose_b=True),
    "batchmat": lambda x: tf.matmul(tf.stack([x,x]),tf.stack([x,x]),transpose_b=True),
    "outer": lambda x: tf.einsum('i,j->ij',x[0],x[1]),
    "tensordot": lambda x: tf.tensordot(x,x,axes=[[1],[1]]),
    "meshgrid": lambda x: tf.meshgrid(x[0],x[1])[0],
    "concat": lambda x: tf.concat([x,x],axis=-1),
    "sortt": lambda x: tf.sort(x,axis=1),
    "segsum": lambda x: tf.math.segment_sum(x,tf.constant([0,0,1])),
    "usegsum": lambda x: tf.math.unsorted_segment_sum(x,tf.constant([1,0,1]),2),
    "where1": lambda x: tf.where(x>0,x,tf.zeros_like(x)),
    "boolmask": lambda x: tf.reduce_sum(tf.boolean_mask(x,x>0)),
    "clipgn": lambda x: tf.clip_by_global_norm([x,x*x],1.0)[0][0],
    "range": lambda x: x*tf.range(4,dtype=tf.float32),
    "rangef": lambda x: x*tf.cast(tf.range(tf.shape(x)[1]),tf.float32),
    "squeeze": lambda x: tf.squeeze(tf.expand_dims(x,0)),
    "ensure": lambda x: tf.ensure_shape(x,[None,4]),
    "pow": lambda x: tf.pow(tf.abs(x)+0.1,1.5)+x**3+x**2.0,
    "mod": lambda x: x%2.0+x//2.0,
    "erf": lambda x: tf.math.erf(x)+tf.math.lgamma(x*x+1.0)+tf.math.digamma(x*x+1.0),
    "norm2": lambda x: tf.norm(x,axis=1)+tf.norm(x,ord=1,axis=1),
    "dct": lambda x: tf.math.reduce_euclidean_norm(x),
    "bandpart": lambda x: tf.linalg.band_part(x,-1,0),
    "reduce_sum_kw": lambda x: tf.reduce_sum(x,axis=[0,1],keepdims=True),
    "mean_m1": lambda x: tf.reduce_mean(x,-1),
    "emb": lambda x: tf.nn.embedding_lookup(x,I),
    "numpyuse": lambda x: x*np.float32(2.0)+np.ones(4,'f4'),
    "newshape": lambda x: tf.reshape(x,(-1,2)),
    "vecmap": lambda x: tf.vectorized_map(lambda r: r*2.0,x),
    "mapfn": lambda x: tf.map_fn(lambda r: tf.reduce_sum(r*r),x),
    "scan": lambda x: tf.scan(lambda a,r: a+r,x),
    "foldl": lambda x: tf.foldl(lambda a,r: a+r,x),
    "cond": lambda x: tf.cond(tf.reduce_sum(x)>0,lambda: x*2.0,lambda: x*x),
    "wl": lambda x: tf.while_loop(lambda i,a: i<3,lambda i,a:(i+1,a*1.5),[tf.constant(0),x])[1],
    "case": lambda x: tf.case([(tf.reduce_sum(x)>0,lambda: x)],default=lambda: x*x),
    "switch": lambda x: tf.switch_case(tf.constant(1),[lambda: x,lambda: x*x]),
    "identity": lambda x: tf.identity(x)+tf.stop_gradient(x)+tf.convert_to_tensor(x),
    "logical": lambda x: tf.where(tf.logical_and(x>0,x<1),x,0.0),
    "equal": lambda x: tf.cast(tf.equal(LABELS,tf.cast(tf.argmax(x,1),tf.int32)),tf.float32)+x[:,0],
    "minmax": lambda x: tf.maximum(x,0.0)-tf.minimum(x,1.0)+tf.clip_by_value(x,-0.5,0.5),
    "round": lambda x: tf.round(x)+tf.floor(x)*x,
    "var": lambda x: x@W,
    "varread": lambda x: x@W.read_value()+W.value()[0,0],
    "hinge": lambda x: L1(HOT,x),
    "mse": lambda x: tf.keras.losses.mean_squared_error(HOT,x),
    "mae": lambda x: L2(HOT,x),
    "bce": lambda x: L3(HOT,x),
    "cce": lambda x: L4(HOT,x),
    "scce": lambda x: L5(LABELS,x),
    "huber": lambda x: L6(HOT,x),
}
# fmt: on


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    function = OPERATIONS[name]
    compiled(function, *[X][: function.__code__.co_argcount])


# ------------------------------------------------------------------ programs


def with_break(x):
    s = tf.constant(0.0)
    for i in tf.range(10):
        if s > 2.0:
            break
        s += tf.reduce_sum(x[0]) * x[0, 0] + 1.0
    return s


def with_continue(x):
    s = 0.0
    for i in range(10):
        if i % 2 == 0:
            continue
        s = s + tf.reduce_sum(x) * i
    return s


def with_one(x):
    y = x * 1.0
    if tf.reduce_sum(x) > 0:
        y = y * 2.0
    return y


def with_early(x):
    if tf.reduce_sum(x) > 0:
        return x * 2.0
    return x * x


def with_rows(x):
    s = tf.zeros([4])
    for row in x:
        s = s + row * row
    return s


def with_list(x):
    out = []
    for i in range(3):
        out.append(x[i] * 2.0)
    return tf.stack(out)


def with_nest(d):
    return {"s": d["a"] + d["b"][0], "t": (d["b"][1] * 2.0,)}


def with_while(x):
    i = tf.constant(0)
    while i < 3:
        x = x * x
        i += 1
    return x


def with_none(x):
    return x, None


def with_pynum(x, n=3):
    return x * n


def with_str(x, mode="a"):
    return x if mode == "a" else x * 2.0


def with_rangetensor(x):
    n = tf.shape(x)[0]
    s = 0.0
    for i in tf.range(n):
        s = s + x[i, 0] * tf.cast(i, tf.float32)
    return s


def with_assert(x):
    tf.debugging.assert_greater(tf.reduce_sum(x * x), 0.0)
    assert x.shape[0] == 3
    return x * 2.0


def with_numpyfn(x):
    return np.sin(x) * 2.0


def with_ineq(x):
    return x * tf.cast(x > 0, x.dtype)


def with_dtype(x):
    return tf.cast(x, tf.float64) * tf.constant(2.0, dtype=tf.float64)


def with_lambda(x):
    f = lambda a: a * a  # noqa: E731
    return f(x) + f(2.0)


def with_comp(x):
    return tf.add_n([x * i for i in range(1, 4)])


def with_zip(x):
    return tf.add_n([a * b for a, b in zip([x, x], [1.0, 2.0])])


def with_enum(x):
    s = 0.0
    for i, v in enumerate([x, x]):
        s = s + i * v
    return s


def with_shapeunpack(x):
    b, n = x.shape
    return tf.reshape(x, [b * n])


def with_shapeunpack2(x):
    sh = tf.shape(x)
    b = sh[0]
    n = sh[1]
    return tf.reshape(x, [b * n]) / tf.cast(n, x.dtype)


def with_slicetensor(x):
    k = tf.constant(1)
    return x[k:] * x[0, k]


def with_augm(x):
    y = tf.identity(x)
    y += x
    y *= 2.0
    y -= 1.0
    y /= 3.0
    return y


def with_matmulop(x):
    return x @ tf.transpose(x)


def with_collatz(n):
    s = tf.constant(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        s += 1
    return s


def with_ternary(x):
    return x if tf.reduce_sum(x) > 0 else -x


def with_boolop(x):
    if tf.reduce_sum(x) > 0 and tf.reduce_max(x) > 0.1 or False:
        y = x
    else:
        y = -x
    return y


def with_not(x):
    if not tf.reduce_sum(x) > 0:
        y = x
    else:
        y = -x
    return y


dense = [tf.keras.layers.Dense(4, activation=a) for a in ("relu", "gelu", "softmax", "sigmoid", "selu", "elu", "swish", "softplus")]


for d in dense:
    d(X)


def with_acts(x):
    for d in dense:
        x = d(x)
    return x


cnn = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(4, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.Dense(5),
    ]
)
cnn(IMAGES)


def with_cnn(x):
    return cnn(x)


def with_cnnF(x):
    return cnn(x, training=False)


conv = tf.keras.layers.Conv2D(3, 3, strides=2, padding="same")
conv(IMAGES)


def with_conv(x):
    return conv(x)


ln = tf.keras.layers.LayerNormalization()
ln(X)


def with_ln(x):
    return ln(x)


emb = tf.keras.layers.Embedding(5, 3)
emb(LABELS)


def with_emb(i):
    return emb(i)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a = tf.keras.layers.Dense(4, activation="relu")
        self.dr = tf.keras.layers.Dropout(0.3)
        self.b = tf.keras.layers.Dense(2)

    def call(self, x, training=False):
        x = self.a(x)
        x = self.dr(x, training=training)
        return self.b(x)


NET = Net()
NET(X)


def with_model(x):
    return NET(x)


def with_loss(x):
    return L5(tf.constant([0, 1, 1]), NET(x))


def with_kwargs(x, *, scale=2.0):
    return x * scale


def with_loss_reg(x):
    return L5(tf.constant([0, 1, 1]), NET(x)) + 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in NET.trainable_variables])


PROGRAMS = [
    (with_break, X),
    (with_continue, X),
    (with_one, X),
    (with_early, X),
    (with_rows, X),
    (with_list, X),
    (with_nest, {"a": X, "b": [X, Y]}),
    (with_while, X),
    (with_none, X),
    (with_pynum, X),
    (with_pynum, X, tf.constant(2.0)),
    (with_str, X),
    (with_rangetensor, X),
    (with_assert, X),
    (with_numpyfn, X),
    (with_ineq, X),
    (with_dtype, X),
    (with_lambda, X),
    (with_comp, X),
    (with_zip, X),
    (with_enum, X),
    (with_shapeunpack, X),
    (with_shapeunpack2, X),
    (with_slicetensor, X),
    (with_augm, X),
    (with_matmulop, X),
    (with_collatz, tf.constant(7)),
    (with_ternary, X),
    (with_boolop, X),
    (with_not, X),
    (with_acts, X),
    (with_cnn, IMAGES),
    (with_cnnF, IMAGES),
    (with_conv, IMAGES),
    (with_ln, X),
    (with_emb, LABELS),
    (with_model, X),
    (with_loss, X),
    (with_kwargs, X),
    (with_loss_reg, X),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_programs(program):
    compiled(*program)


L, PAIR, SERIES = tf.keras.layers, [normal(2, 3), normal(2, 3)], normal(2, 4, 3)
LAYERS = [
    (L.Multiply, PAIR), (L.Subtract, PAIR), (L.Average, PAIR), (L.Maximum, PAIR), (L.Minimum, PAIR), (L.Identity, X), (L.PReLU, X),
    (lambda: L.Permute((2, 1)), SERIES), (lambda: L.RepeatVector(3), X), (lambda: L.Rescaling(2.0, 1.0), X), (lambda: L.ELU(0.5), X),
    (lambda: L.UpSampling2D(2), IMAGES), (L.GlobalAveragePooling1D, SERIES), (L.GlobalMaxPooling1D, SERIES),
    (lambda: L.SimpleRNN(2), SERIES), (lambda: L.LSTM(2, return_sequences=True), SERIES), (lambda: L.GRU(2), SERIES),
    (lambda: L.LSTM(2, go_backwards=True), SERIES),
]  # fmt: skip


@pytest.mark.parametrize(("make", "x"), LAYERS, ids=range(len(LAYERS)))
def test_layers(make, x):
    own = make()
    own(x)
    compiled(lambda v: own(v), x)


def test_augmented_assignment_makes_a_new_tensor():
    def other_name(x, flag):
        z = x * 2.0
        y = z
        if flag > 0.0:
            y += 1.0
        return z + y

    program = compiled(other_name, X, tf.constant(-1.0))  # in the branch that the comparison with the eager run does not see
    np.testing.assert_allclose(program([X, tf.constant(1.0)]), X.numpy() * 4.0 + 1.0, rtol=1e-6)


def test_what_is_out_of_range_is_left_to_the_eager_run():
    program = compiled(lambda x, i: tf.gather(x, i), X, I)
    with pytest.raises(IndexError):
        program([X, tf.constant([0, 7, 1])])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda x, i: tf.gather(x, i))(X, tf.constant([0, 7, 1]))


def test_second_derivatives_are_compiled_from_the_second_on():
    square = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * W[0, 0]))
    x = tf.Variable([1.0, 2.0])
    for _ in range(4):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = square(x)
            slope = tape.gradient(y, x)
        np.testing.assert_allclose(outer.gradient(slope, x), -np.sin(x) * W.numpy()[0, 0], rtol=1e-5)
    (concrete,) = square._traces.values()
    (program,) = concrete._programs.values()
    assert program.second.pull is not None
    with tf.GradientTape() as third, tf.GradientTape() as outer, tf.GradientTape() as tape:
        y = square(x)
        slope = tape.gradient(y, x)
        curve = outer.gradient(slope, x)
    np.testing.assert_allclose(third.gradient(curve, x), -np.cos(x) * W.numpy()[0, 0], rtol=1e-5)


def test_what_the_compiler_stumbles_over_runs_eagerly():
    def strange(x):
        return x * float(sorted([2.0, 1.0], key=lambda v: v)[0]) + tf.constant(np.array([object()] == [1]), tf.float32)

    with pytest.warns(tf.RunsEagerlyWarning):
        np.testing.assert_allclose(tf.function(strange)(X), X)


def test_a_wrong_gradient_is_seen():
    program = compiled(lambda x: x * x, X)
    program.pull, program.checked = compiled(lambda x: x * 3.0, X).pull, True
    with pytest.raises(NotCompiledError, match="second derivative"):
        Second(program)._check((X,), ((X.numpy(),), ()), [_seed(X.numpy())], program._values((X.numpy(),), ()))
