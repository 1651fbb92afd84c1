"""Small programs in MXNet's API: functions of the module `mx`, run by MXNet itself (`golden/make_mxnet.py`) and here.

They use nothing but `mx` and NumPy, and return what is compared: arrays, shapes, names, texts. A program that raises is
compared by the class of its error.
"""

import numpy as np

PROGRAMS = {}
"""Programs by name."""


def program(function):
    """Add a program."""
    PROGRAMS[function.__name__] = function
    return function


def family(name, items, function):
    """Add a program for each item."""
    for label, item in items.items():
        PROGRAMS[f"{name}[{label}]"] = lambda mx, item=item: function(mx, *item)


def plain(value):
    """Return a result in a form that JSON keeps."""
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": value.astype(float).ravel().tolist()}
    if isinstance(value, dict):
        return {"dict": [[key, plain(value[key])] for key in sorted(value)]}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, type):
        return f"<{value.__name__}>"
    return value


def run(function, mx):
    """Return a program's result, or the class of its error."""
    with mx.name.NameManager():
        try:
            return plain(function(mx))
        except Exception as error:
            return {"error": type(error).__name__}


def ramp(*shape, low=-1.3, high=1.7, dtype="float32"):
    """Return numbers without ties or integers among them."""
    return np.linspace(low, high, int(np.prod(shape)), dtype=dtype).reshape(shape)


# -- the documented examples -------------------------------------------------------------------------------------------


def softmax_net(mx, relu):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc", num_hidden=6)
    if relu:
        net = mx.sym.Activation(net, name="relu", act_type="relu")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@program
def documented_softmax_net(mx):
    net = softmax_net(mx, True)
    args = {
        "data": mx.nd.ones((1, 4)),
        "fc_weight": mx.nd.ones((6, 4)),
        "fc_bias": mx.nd.array((1, 4, 4, 4, 5, 6)),
        "softmax_label": mx.nd.ones(1),
    }
    grads = {"fc_weight": mx.nd.zeros((6, 4)), "fc_bias": mx.nd.zeros(6)}
    texec = net.bind(ctx=mx.cpu(), args=args, args_grad=grads)
    out = texec.forward()[0].copy()
    texec.backward()
    names = [net.list_arguments(), net.list_outputs(), net.list_auxiliary_states()]
    return out, texec.grad_arrays, names, net.infer_shape(data=(1, 4)), net.tojson()


@program
def documented_sum(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    args = {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])}
    grads = {"a": mx.nd.zeros(2), "b": mx.nd.zeros(2)}
    texec = (2 * a + b).bind(ctx=mx.cpu(), args=args, args_grad=grads)
    out = texec.forward(is_train=True)[0].copy()
    found = [out]
    for heads in (out, [out], {"_plus0_output": out}):
        for is_train in (True, False):
            texec.backward(heads, is_train=is_train)
            found.append([grad.copy() for grad in texec.grad_arrays])
    return found


@program
def documented_block_grad(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    loss = mx.sym.MakeLoss(mx.sym.stop_gradient(3 * b) + a)
    args = {"a": mx.nd.array([1, 2]), "b": mx.nd.array([0, 1])}
    texec = loss.bind(mx.cpu(), args=args, args_grad={"a": mx.nd.ones(2), "b": mx.nd.ones(2)})
    out = texec.forward()[0].copy()
    texec.backward()
    return loss.list_arguments(), out, texec.grad_dict


# -- operators: value and gradient -------------------------------------------------------------------------------------


def value_and_gradient(mx, call, arrays, head=None, is_train=True, skip=()):
    """Bind an operator of variables a, b, …; return what it infers, its outputs and gradients for given heads."""
    names = [chr(ord("a") + i) for i in range(len(arrays))]
    symbol = call(mx, *[mx.sym.Variable(name) for name in names])
    args = {name: mx.nd.array(array, dtype=array.dtype) for name, array in zip(names, arrays, strict=True)}
    shapes = {name: array.shape for name, array in zip(names, arrays, strict=True)}
    found = [symbol.list_arguments(), symbol.list_outputs(), symbol.infer_shape(**shapes), symbol.tojson()]
    grads = {name: mx.nd.zeros(array.shape) for name, array in zip(names, arrays, strict=True) if name not in skip}
    texec = symbol.bind(mx.cpu(), args=args, args_grad=grads)
    outputs = [out.copy() for out in texec.forward(is_train=is_train)]
    heads = [mx.nd.array(ramp(*out.shape, low=0.5, high=2.5)) for out in outputs]
    texec.backward(heads)
    return found, outputs, [texec.grad_dict[name] for name in names if name not in skip]


def operator_cases(cases):
    family(
        "operator",
        {key: item if isinstance(item, tuple) else (item,) for key, item in cases.items()},
        lambda mx, call, *arrays: value_and_gradient(mx, call, arrays or (ramp(2, 3),)),
    )


UNARY = {
    "abs": 0,
    "sign": 0,
    "round": 0,
    "rint": 0,
    "ceil": 0,
    "floor": 0,
    "trunc": 0,
    "fix": 0,
    "square": 0,
    "sqrt": 1,
    "rsqrt": 1,
    "cbrt": 1,
    "rcbrt": 1,
    "exp": 0,
    "expm1": 0,
    "log": 1,
    "log10": 1,
    "log2": 1,
    "log1p": 1,
    "sin": 0,
    "cos": 0,
    "tan": 0,
    "arcsin": 2,
    "arccos": 2,
    "arctan": 0,
    "sinh": 0,
    "cosh": 0,
    "tanh": 0,
    "arcsinh": 0,
    "arccosh": 3,
    "arctanh": 2,
    "degrees": 0,
    "radians": 0,
    "reciprocal": 1,
    "relu": 0,
    "sigmoid": 0,
    "softsign": 0,
    "hard_sigmoid": 0,
    "erf": 0,
    "erfinv": 2,
    "gamma": 1,
    "gammaln": 1,
    "negative": 0,
    "identity": 0,
    "logical_not": 0,
    "ones_like": 0,
    "zeros_like": 0,
    "softmax": 0,
    "log_softmax": 0,
    "softmin": 0,
    "smooth_l1": 0,
    "stop_gradient": 0,
    "Flatten": 0,
}
DOMAINS = [(-1.3, 1.7), (0.3, 2.9), (-0.9, 0.8), (1.2, 3.0)]
family(
    "unary",
    {name: (name, DOMAINS[domain]) for name, domain in UNARY.items()},
    lambda mx, name, domain: value_and_gradient(
        mx, lambda mx, a: getattr(mx.sym, name)(a), (ramp(2, 3, low=domain[0], high=domain[1]),)
    ),
)

TWO = (ramp(2, 3), ramp(2, 3, low=0.4, high=2.2))
operator_cases(
    {
        **{
            name: (lambda mx, a, b, name=name: getattr(mx.sym, name)(a, b), *TWO)
            for name in (
                "elemwise_add",
                "elemwise_sub",
                "elemwise_mul",
                "elemwise_div",
                "maximum",
                "minimum",
                "hypot",
                "broadcast_equal",
                "broadcast_greater",
                "broadcast_logical_and",
                "add_n",
                "Concat",
                "stack",
            )
        },
        **{
            name: (
                lambda mx, a, b, name=name: getattr(mx.sym, name)(a, b),
                ramp(2, 3, low=0.3),
                ramp(2, 1, low=0.4, high=2.2),
            )
            for name in (
                "broadcast_add",
                "broadcast_sub",
                "broadcast_mul",
                "broadcast_div",
                "broadcast_power",
                "broadcast_mod",
                "broadcast_maximum",
                "broadcast_minimum",
                "broadcast_hypot",
                "broadcast_lesser",
            )
        },
        "operators": (lambda mx, a, b: (-a + 2 * b - a / b) * (b**2) + 3 / b + 2**a - (1 - a) % 5 + abs(a), *TWO),
        "comparisons": (lambda mx, a, b: (a > b) + (a >= 0.2) * a + (a < 1) + (a == b) + (a != b) + (a <= b), *TWO),
        "maximum of a tie": (lambda mx, a, b: mx.sym.maximum(a, b), ramp(2, 3), ramp(2, 3)),
        "minimum of a tie": (lambda mx, a, b: mx.sym.minimum(a, b), ramp(2, 3), ramp(2, 3)),
        "maximum with a number": (lambda mx, a: mx.sym.maximum(a, 1), np.array([0.5, 1.0, 2.0], "float32")),
        "relu at 0": (lambda mx, a: mx.sym.relu(a), np.array([-1.0, 0.0, 2.0], "float32")),
        "abs at 0": (lambda mx, a: mx.sym.abs(a), np.array([-1.0, 0.0, 2.0], "float32")),
        "clip at its edges": (lambda mx, a: mx.sym.clip(a, 0, 1), np.array([-1.0, 0.0, 0.5, 1.0, 2.0], "float32")),
        "round": (lambda mx, a: mx.sym.round(a) * a, np.array([0.5, 1.5, 2.5, -0.5], "float32")),
        "rint": (lambda mx, a: mx.sym.rint(a) * a, np.array([0.5, 1.5, 2.5, -0.5], "float32")),
        "mod": (
            lambda mx, a, b: mx.sym.broadcast_mod(a, b),
            np.array([5.0, -5.0], "float32"),
            np.array([3.0, 3.0], "float32"),
        ),
        "sigmoid in the tails": (lambda mx, a: mx.sym.sigmoid(a), np.array([-1000.0, 1000.0], "float32")),
        "softrelu in the tails": (
            lambda mx, a: mx.sym.Activation(a, act_type="softrelu"),
            np.array([-1000.0, 1000.0], "float32"),
        ),
        "sum": lambda mx, a: mx.sym.sum(a),
        "sum axis": lambda mx, a: mx.sym.sum(a, axis=1, keepdims=True),
        "sum exclude": lambda mx, a: mx.sym.sum(a, axis=0, exclude=True),
        "mean": lambda mx, a: mx.sym.mean(a, axis=(0, 1)),
        "prod": lambda mx, a: mx.sym.prod(a, axis=0),
        "max": lambda mx, a: mx.sym.max(a, axis=1),
        "min": lambda mx, a: mx.sym.min(a),
        "norm": lambda mx, a: mx.sym.norm(a),
        "norm axis": lambda mx, a: mx.sym.norm(a, ord=1, axis=1),
        "nansum": (lambda mx, a: mx.sym.nansum(a, axis=0), np.array([[1, np.nan], [2, 3]], "float32")),
        "argmax": lambda mx, a: mx.sym.argmax(a, axis=1),
        "argmin": lambda mx, a: mx.sym.argmin(a, axis=0, keepdims=True),
        "argsort": lambda mx, a: mx.sym.argsort(a, is_ascend=False),
        "topk": lambda mx, a: mx.sym.topk(a, k=2, ret_typ="value"),
        "topk mask": lambda mx, a: mx.sym.topk(a, k=1, axis=0, ret_typ="mask"),
        "L2Normalization": lambda mx, a: mx.sym.L2Normalization(a),
        "dot": (lambda mx, a, b: mx.sym.dot(a, b), ramp(2, 3), ramp(3, 4)),
        "dot transposed": (
            lambda mx, a, b: mx.sym.dot(a, b, transpose_a=True, transpose_b=True),
            ramp(3, 2),
            ramp(4, 3),
        ),
        "dot of vectors": (lambda mx, a, b: mx.sym.dot(a, b), ramp(3), ramp(3, low=0.2)),
        "dot 3d": (lambda mx, a, b: mx.sym.dot(a, b), ramp(2, 3, 4), ramp(4, 5)),
        "batch_dot": (lambda mx, a, b: mx.sym.batch_dot(a, b, transpose_b=True), ramp(2, 3, 4), ramp(2, 5, 4)),
        "Reshape": (lambda mx, a: mx.sym.Reshape(a, shape=(0, -1)), ramp(2, 3, 4)),
        "Reshape -2": (lambda mx, a: mx.sym.Reshape(a, shape=(-2, 1, 1)), ramp(2, 3, 4)),
        "Reshape -3": (lambda mx, a: mx.sym.Reshape(a, shape=(-3, 0)), ramp(2, 3, 4)),
        "Reshape -4": (lambda mx, a: mx.sym.Reshape(a, shape=(0, -4, -1, 2, 0)), ramp(2, 6, 4)),
        "Reshape reverse": (lambda mx, a: mx.sym.Reshape(a, shape=(-1, 0), reverse=True), ramp(2, 3, 4)),
        "transpose": (lambda mx, a: mx.sym.transpose(a, axes=(1, 2, 0)), ramp(2, 3, 4)),
        "transpose all": (lambda mx, a: mx.sym.transpose(a), ramp(2, 3, 4)),
        "SwapAxis": (lambda mx, a: mx.sym.SwapAxis(a, dim1=0, dim2=2), ramp(2, 3, 4)),
        "expand_dims": lambda mx, a: mx.sym.expand_dims(a, axis=1),
        "squeeze": (lambda mx, a: mx.sym.squeeze(a), ramp(1, 3, 1)),
        "flip": lambda mx, a: mx.sym.flip(a, axis=1),
        "tile": lambda mx, a: mx.sym.tile(a, reps=(2, 2)),
        "repeat": lambda mx, a: mx.sym.repeat(a, repeats=2, axis=0),
        "Pad": (lambda mx, a: mx.sym.Pad(a, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 1, 0)), ramp(1, 2, 3, 3)),
        "Pad reflect": (
            lambda mx, a: mx.sym.Pad(a, mode="reflect", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
            ramp(1, 1, 3, 3),
        ),
        "slice": lambda mx, a: mx.sym.slice(a, begin=(0, 1), end=(2, None)),
        "slice_axis": lambda mx, a: mx.sym.slice_axis(a, axis=1, begin=-2, end=None),
        "slice_like": (lambda mx, a, b: mx.sym.slice_like(a, b), ramp(3, 4), ramp(2, 3)),
        "split": (lambda mx, a: mx.sym.split(a, num_outputs=3, name="s"), ramp(2, 3)),
        "split squeeze": (lambda mx, a: mx.sym.split(a, num_outputs=2, axis=0, squeeze_axis=True), ramp(2, 3)),
        "broadcast_to": (lambda mx, a: mx.sym.broadcast_to(a, shape=(2, 3)), ramp(1, 3)),
        "broadcast_axis": (lambda mx, a: mx.sym.broadcast_axis(a, axis=0, size=2), ramp(1, 3)),
        "diag": (lambda mx, a: mx.sym.diag(a, k=1), ramp(3, 3)),
        "depth_to_space": (lambda mx, a: mx.sym.depth_to_space(a, block_size=2), ramp(1, 4, 1, 2)),
        "space_to_depth": (lambda mx, a: mx.sym.space_to_depth(a, block_size=2), ramp(1, 1, 2, 4)),
        "Cast": lambda mx, a: mx.sym.Cast(a, dtype="float64"),
        "smooth_l1": lambda mx, a: mx.sym.smooth_l1(a, scalar=2.0),
        "softmax temperature": lambda mx, a: mx.sym.softmax(a, axis=0, temperature=2.0),
        "SoftmaxActivation": (lambda mx, a: mx.sym.SoftmaxActivation(a, mode="channel"), ramp(2, 3, 2)),
        **{
            f"Activation {name}": (lambda mx, a, name=name: mx.sym.Activation(a, act_type=name))
            for name in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
        },
        **{
            f"LeakyReLU {name}": (lambda mx, a, name=name: mx.sym.LeakyReLU(a, act_type=name, slope=0.3))
            for name in ("leaky", "elu", "gelu")
        },
        "LeakyReLU prelu": (
            lambda mx, a, b: mx.sym.LeakyReLU(a, b, act_type="prelu"),
            ramp(2, 3),
            ramp(3, low=0.1, high=0.4),
        ),
        "FullyConnected": (
            lambda mx, a, b, c: mx.sym.FullyConnected(a, b, c, num_hidden=4),
            ramp(2, 3, 2),
            ramp(4, 6),
            ramp(4),
        ),
        "FullyConnected rows": (
            lambda mx, a, b: mx.sym.FullyConnected(a, b, num_hidden=4, no_bias=True, flatten=False),
            ramp(2, 3, 2),
            ramp(4, 2),
        ),
        "Convolution": (
            lambda mx, a, b, c: mx.sym.Convolution(a, b, c, kernel=(3, 2), stride=(2, 1), pad=(1, 0), num_filter=4),
            ramp(2, 3, 5, 4),
            ramp(4, 3, 3, 2),
            ramp(4),
        ),
        "Convolution grouped": (
            lambda mx, a, b: mx.sym.Convolution(
                a, b, kernel=(3,), dilate=(2,), num_group=2, num_filter=4, no_bias=True
            ),
            ramp(2, 4, 7),
            ramp(4, 2, 3),
        ),
        "Deconvolution": (
            lambda mx, a, b: mx.sym.Deconvolution(
                a, b, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), num_filter=2
            ),
            ramp(1, 3, 3, 2),
            ramp(3, 2, 3, 3),
        ),
        **{
            f"Pooling {name}": (
                lambda mx, a, options=options: mx.sym.Pooling(a, **options),
                ramp(1, 2, 5, 5) * np.cos(9 * ramp(1, 2, 5, 5)),
            )
            for name, options in {
                "max": {"kernel": (2, 2), "stride": (2, 2)},
                "avg": {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg"},
                "avg without pad": {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False},
                "full": {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"},
                "sum": {"kernel": (2, 2), "pool_type": "sum"},
                "global": {"global_pool": True, "kernel": (1, 1), "pool_type": "avg"},
            }.items()
        },
        "LayerNorm": (lambda mx, a, b, c: mx.sym.LayerNorm(a, b, c), ramp(2, 4) ** 2, ramp(4), ramp(4)),
        "InstanceNorm": (lambda mx, a, b, c: mx.sym.InstanceNorm(a, b, c), ramp(2, 2, 3) ** 2, ramp(2), ramp(2)),
        "UpSampling": (lambda mx, a: mx.sym.UpSampling(a, scale=2, sample_type="nearest"), ramp(1, 2, 2, 2)),
    }
)

PICKED = {
    "take": (lambda mx, a, b: mx.sym.take(a, b), ramp(4, 3), np.array([[0, 3], [1, 9]], "float32")),
    "take wrap": (lambda mx, a, b: mx.sym.take(a, b, axis=1, mode="wrap"), ramp(2, 3), np.array([-1, 4], "float32")),
    "Embedding": (
        lambda mx, b, a: mx.sym.Embedding(b, a, input_dim=4, output_dim=3),
        np.array([[0, 3], [1, 1]], "float32"),
        ramp(4, 3),
    ),
    "pick": (lambda mx, a, b: mx.sym.pick(a, b), ramp(3, 4), np.array([0, 3, 9], "float32")),
    "pick keepdims": (
        lambda mx, a, b: mx.sym.pick(a, b, axis=0, keepdims=True),
        ramp(3, 2),
        np.array([2, 0], "float32"),
    ),
    "gather_nd": (lambda mx, a, b: mx.sym.gather_nd(a, b), ramp(3, 4), np.array([[0, 2, 2], [1, 3, 3]], "float32")),
    "one_hot": (lambda mx, b: mx.sym.one_hot(b, depth=3), np.array([0, 2, 5], "float32")),
    "softmax_cross_entropy": (
        lambda mx, a, b: mx.sym.softmax_cross_entropy(a, b),
        ramp(2, 3),
        np.array([2, 0], "float32"),
    ),
}


def picked(mx, call, *arrays):
    small = [chr(ord("a") + i) for i, array in enumerate(arrays) if array.max() > 1.8 or array.dtype != np.float32]
    return value_and_gradient(mx, call, arrays, skip=small)


family("picked", PICKED, picked)


@program
def where_chooses(mx):
    c, a, b = (mx.sym.Variable(name) for name in "cab")
    texec = mx.sym.where(c, a, b).bind(
        mx.cpu(),
        {"c": mx.nd.array([1, 0, 2]), "a": mx.nd.array([1, 2, 3]), "b": mx.nd.array([4, 5, 6])},
        {"a": mx.nd.zeros(3), "b": mx.nd.zeros(3)},
    )
    out = texec.forward()[0].copy()
    texec.backward(mx.nd.array([1, 10, 100]))
    return out, texec.grad_dict["a"], texec.grad_dict["b"]


# -- loss heads --------------------------------------------------------------------------------------------------------


def loss_head(mx, name, data, label, options):
    symbol = getattr(mx.sym, name)(mx.sym.Variable("d"), mx.sym.Variable("l"), name="loss", **options)
    arrays = {"d": mx.nd.array(data), "l": mx.nd.array(label)}
    texec = symbol.bind(mx.cpu(), arrays, {"d": mx.nd.zeros(data.shape)})
    out = texec.forward(is_train=True)[0].copy()
    texec.backward()
    return out, texec.grad_dict["d"], symbol.infer_shape(d=data.shape), symbol.tojson()


ROW, ROWS = np.array([[1, 6, 4, 2]], "float32"), np.array([[1, 2, 3, 4], [2] * 4, [3] * 4, [4] * 4], "float32")
LABELS = np.array([1, 0, 2, 3], "float32")
A, B = np.array([[1, 2, 3], [-1, 0, 4]], "float32"), np.array([[0, 2, 5], [1, 1, 1]], "float32")
IMAGE, IMAGE_LABEL = ramp(2, 3, 2, 2), np.array([[0, 1, 2, 0], [2, 2, 0, 1]], "float32")
family(
    "loss",
    {
        "softmax": ("SoftmaxOutput", ROW, np.array([1.0]), {}),
        "softmax smooth": ("SoftmaxOutput", ROW, np.array([1.0]), {"smooth_alpha": 0.2}),
        "softmax scale": ("SoftmaxOutput", ROW, np.array([1.0]), {"grad_scale": 3}),
        "softmax probabilities": ("SoftmaxOutput", ROW, np.array([[0.1, 0.2, 0.3, 0.4]]), {}),
        "softmax outside": ("SoftmaxOutput", ROW, np.array([7.0]), {}),
        "softmax ignore": ("SoftmaxOutput", ROWS, LABELS, {"use_ignore": True, "ignore_label": 1}),
        "softmax ignore valid": (
            "SoftmaxOutput",
            ROWS,
            LABELS,
            {"use_ignore": True, "ignore_label": 1, "normalization": "valid"},
        ),
        "softmax valid": ("SoftmaxOutput", ROWS, LABELS, {"ignore_label": 1, "normalization": "valid"}),
        "softmax batch": ("SoftmaxOutput", ROWS, LABELS, {"normalization": "batch"}),
        "softmax all ignored": (
            "SoftmaxOutput",
            ROWS,
            LABELS * 0,
            {"use_ignore": True, "ignore_label": 0, "normalization": "valid"},
        ),
        "softmax 3d": ("SoftmaxOutput", ramp(2, 3, 4), np.array([[0, 1, 2], [1, 2, 3]], "float32"), {}),
        "softmax preserve": (
            "SoftmaxOutput",
            ramp(2, 3, 4),
            np.array([[0, 1, 2], [1, 2, 3]], "float32"),
            {"preserve_shape": True},
        ),
        **{
            f"softmax multi {normalization} {ignore}": (
                "SoftmaxOutput",
                IMAGE,
                IMAGE_LABEL,
                {
                    "multi_output": True,
                    "normalization": normalization,
                    "use_ignore": ignore,
                    "ignore_label": 2,
                    "grad_scale": 2.5,
                },
            )
            for normalization in ("null", "batch", "valid")
            for ignore in (False, True)
        },
        "softmax wrong label": ("SoftmaxOutput", ROWS, np.array([1.0, 2.0]), {}),
        "linear": ("LinearRegressionOutput", A, B, {}),
        "logistic": ("LogisticRegressionOutput", A, B, {}),
        "mae": ("MAERegressionOutput", A, B, {}),
        "linear scale": ("LinearRegressionOutput", A, B, {"grad_scale": 2}),
        "linear column": ("LinearRegressionOutput", A[:, :1], B[:, 0], {}),
        "linear wrong label": ("LinearRegressionOutput", A, B[:, :2], {}),
        "svm": ("SVMOutput", A, np.array([0.0, 2.0]), {}),
        "svm linear": (
            "SVMOutput",
            A,
            np.array([1.0, 2.0]),
            {"use_linear": True, "margin": 2, "regularization_coefficient": 0.5},
        ),
    },
    loss_head,
)


def made_loss(mx, build, heads):
    symbol = build(mx, mx.sym.Variable("a"))
    texec = symbol.bind(mx.cpu(), {"a": mx.nd.array([1, 2])}, {"a": mx.nd.zeros(2)})
    outs = [out.copy() for out in texec.forward(is_train=True)]
    texec.backward(None if heads is None else [mx.nd.array(head) for head in heads])
    return outs, texec.grad_dict["a"], symbol.list_outputs()


family(
    "head",
    {
        "MakeLoss": (lambda mx, a: mx.sym.MakeLoss(a * a), None),
        "MakeLoss scale": (lambda mx, a: mx.sym.MakeLoss(a * a, grad_scale=0.5), None),
        "MakeLoss valid": (lambda mx, a: mx.sym.MakeLoss(a * a, normalization="valid", valid_thresh=1.5), None),
        "MakeLoss batch": (lambda mx, a: mx.sym.MakeLoss(a * a, normalization="batch"), None),
        "make_loss": (lambda mx, a: mx.sym.make_loss(a * a), None),
        "times 2": (lambda mx, a: mx.sym.MakeLoss(a * a) * 2, None),
        "plus a": (lambda mx, a: mx.sym.MakeLoss(a * a) + a, [[10.0, 10.0]]),
        "plus a without head": (lambda mx, a: mx.sym.MakeLoss(a * a) + a, None),
        "nested": (lambda mx, a: mx.sym.MakeLoss(mx.sym.MakeLoss(a * a) * 3), None),
        "group of losses": (lambda mx, a: mx.sym.Group([mx.sym.MakeLoss(a * a), mx.sym.MakeLoss(3 * a)]), None),
        "group": (lambda mx, a: mx.sym.Group([a * a, 3 * a]), [[1.0, 1.0], [10.0, 10.0]]),
        "group with one head": (lambda mx, a: mx.sym.Group([a * a, 3 * a]), [[1.0, 1.0]]),
        "BlockGrad": (lambda mx, a: mx.sym.BlockGrad(a * a), None),
        "floor": (lambda mx, a: mx.sym.floor(a), None),
        "argmax": (lambda mx, a: mx.sym.argmax(a, axis=0), None),
        "ones_like": (lambda mx, a: mx.sym.ones_like(a), None),
        "equal": (lambda mx, a: a == a, None),
        "shared variable": (lambda mx, a: a + a, [[1.0, 1.0]]),
        "head of a wrong shape": (lambda mx, a: a + a, [[1.0, 1.0, 1.0]]),
        "surplus heads": (lambda mx, a: a * a, [[1.0, 1.0], [5.0, 5.0]]),
    },
    made_loss,
)
