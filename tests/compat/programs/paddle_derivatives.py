"""First to third derivatives of Paddle's differentiable operations, None where the system has none.

`OPERATIONS` maps a name to (function of the module and tensors, the tensors' values); each makes a program.
"""

import numpy as np

_A = [[0.7, -0.4, 1.3], [-1.2, 0.2, 0.5]]
_P = [[0.7, 0.4, 1.3], [1.2, 0.2, 0.5]]
_U = [[0.7, -0.4, 0.3], [-0.2, 0.2, 0.5]]
_G = [[1.7, 2.4, 1.3], [1.2, 3.2, 1.5]]
_I = [[[0.3, -0.2, 0.5, 0.1], [0.9, -0.7, 0.4, 0.8], [-0.6, 0.2, 0.1, -0.3], [0.7, 0.6, -0.5, 0.25]]]


def _named(name, *values):
    return lambda paddle, x: getattr(paddle, name)(x), values


def _functional(name, *values, **options):
    return lambda paddle, x: getattr(paddle.nn.functional, name)(x, **options), values


OPERATIONS = {
    **{name: _named(name, _A) for name in (
        "abs", "atan", "cos", "cosh", "erf", "exp", "expm1", "sigmoid", "sin", "sinh", "square", "tan", "tanh",
        "asinh", "floor", "ceil", "sign", "mean", "sum", "max", "min", "prod", "logsumexp", "std", "var", "cumsum",
        "norm", "t", "flatten", "median", "trace", "triu", "tril", "diagonal",
    )},
    **{name: _named(name, _P) for name in ("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt")},
    **{name: _named(name, _U) for name in ("acos", "asin", "atanh")},
    "acosh": _named("acosh", _G),
    "pow": (lambda paddle, x: paddle.pow(x, 3.0), (_A,)),
    "pow_half": (lambda paddle, x: x**2.5, (_P,)),
    "clip": (lambda paddle, x: paddle.clip(x, -0.5, 1.0), (_A,)),
    "scale": (lambda paddle, x: paddle.scale(x, 2.0, 1.0) * x, (_A,)),
    "cast": (lambda paddle, x: (x.astype("float32") * 1.0).astype("float64") * x, (_A,)),
    "reshape": (lambda paddle, x: x.reshape([3, 2]) * x.reshape([3, 2]), (_A,)),
    "transpose": (lambda paddle, x: x.transpose([1, 0]).matmul(x), (_A,)),
    "concat": (lambda paddle, x: paddle.concat([x, x * x, paddle.ones([2, 3], "float64")], 1), (_A,)),
    "stack": (lambda paddle, x: paddle.stack([x, x * x]), (_A,)),
    "split": (lambda paddle, x: paddle.split(x, 3, -1)[0] * paddle.split(x, 3, -1)[2], (_A,)),
    "unbind": (lambda paddle, x: paddle.unbind(x)[0] ** 3 * paddle.unbind(x)[1], (_A,)),
    "squeeze": (lambda paddle, x: x.unsqueeze(0).squeeze() * x, (_A,)),
    "tile": (lambda paddle, x: x.tile([2, 2]) ** 2, (_A,)),
    "expand": (lambda paddle, x: x.unsqueeze(0).expand([2, 2, 3]) ** 3, (_A,)),
    "flip": (lambda paddle, x: x.flip(0) * x, (_A,)),
    "roll": (lambda paddle, x: x.roll(1, 1) * x * x, (_A,)),
    "getitem": (lambda paddle, x: x[:, 1:] * x[:, :2] ** 2, (_A,)),
    "gather": (lambda paddle, x: x.gather(paddle.to_tensor([1, 1, 0])) ** 3, (_A,)),
    "index_select": (lambda paddle, x: paddle.index_select(x, paddle.to_tensor([2, 0, 2]), 1) ** 3, (_A,)),
    "gather_nd": (lambda paddle, x: x.gather_nd(paddle.to_tensor([[0, 1], [1, 2]])) ** 3, (_A,)),
    "take_along_axis": (lambda paddle, x: paddle.take_along_axis(x, paddle.to_tensor([[0, 1, 0]]), 0) ** 3, (_A,)),
    "where": (lambda paddle, x: paddle.where(x > 0, x**3, x**2), (_A,)),
    "masked_select": (lambda paddle, x: paddle.masked_select(x, x > 0) ** 3, (_A,)),
    "index_add": (lambda paddle, x: paddle.index_add(x, paddle.to_tensor([0, 0]), 0, x * x), (_A,)),
    "pad": (lambda paddle, x: paddle.nn.functional.pad(x.reshape([1, 1, 2, 3]), [1, 1, 1, 1]) ** 3, (_A,)),
    "sort": (lambda paddle, x: paddle.sort(x, 1) ** 3, (_A,)),
    "topk": (lambda paddle, x: paddle.topk(x, 2)[0] ** 3, (_A,)),
    "repeat_interleave": (lambda paddle, x: paddle.repeat_interleave(x, 2, 0) ** 3, (_A,)),
    "max_of_axis": (lambda paddle, x: x.max(1) ** 3, (_A,)),
    "add": (lambda paddle, x, y: (x + y) ** 3, (_A, _P)),
    "subtract": (lambda paddle, x, y: (x - y) ** 3, (_A, [0.5, 0.1, -0.3])),
    "multiply": (lambda paddle, x, y: x * y * y, (_A, [[0.5], [0.1]])),
    "divide": (lambda paddle, x, y: x / y, (_A, _P)),
    "power": (lambda paddle, x, y: paddle.pow(x, y), (_P, _A)),
    "maximum": (lambda paddle, x, y: paddle.maximum(x**3, y), (_A, _P)),
    "minimum": (lambda paddle, x, y: paddle.minimum(x, y**3), (_A, _P)),
    "atan2": (lambda paddle, x, y: paddle.atan2(x, y), (_A, _P)),
    "remainder": (lambda paddle, x, y: paddle.remainder(x, y) * x, (_A, _P)),
    "matmul": (lambda paddle, x, y: paddle.matmul(x, y, transpose_y=True), (_A, _P)),
    "bmm": (lambda paddle, x: paddle.bmm(x, x), (_I,)),
    "dot": (lambda paddle, x, y: paddle.dot(x, y), (_A, _P)),
    "mv": (lambda paddle, x, y: paddle.mv(x, y), (_A, [0.2, -0.6, 1.1])),
    "outer": (lambda paddle, x, y: paddle.outer(x, y), ([0.1, 0.5], [0.2, -0.6, 1.1])),
    "cross": (lambda paddle, x, y: paddle.cross(x, y, 1), (_A, _P)),
    "kron": (lambda paddle, x, y: paddle.kron(x, y), (_A, _P)),
    "einsum": (lambda paddle, x, y: paddle.einsum("ij,kj->ik", x, y), (_A, _P)),
    "add_n": (lambda paddle, x, y: paddle.add_n([x, y, x]) ** 3, (_A, _P)),
    **{name: _functional(name, _A) for name in (
        "relu", "gelu", "silu", "swish", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "selu", "celu",
        "relu6", "hardtanh", "hardsigmoid", "hardswish", "softsign", "tanhshrink", "mish",
        "log_sigmoid", "thresholded_relu",
    )},
    "hardshrink": _functional("hardshrink", _G),
    "softshrink": _functional("softshrink", _G),
    "gelu_tanh": _functional("gelu", _A, approximate=True),
    "normalize": _functional("normalize", _A),
    "linear": (lambda paddle, x, w: paddle.nn.functional.linear(x, w.t(), w[:, 0]) ** 2, (_A, _P)),
    "embedding": (lambda paddle, w: paddle.nn.functional.embedding(paddle.to_tensor([0, 1, 1]), w) ** 3, (_A,)),
    "layer_norm": (lambda paddle, x, w: paddle.nn.functional.layer_norm(x, [3], w), (_A, [0.5, 1.0, 1.5])),
    "conv2d": (
        lambda paddle, x, w: paddle.nn.functional.conv2d(x.unsqueeze(0), w.unsqueeze([0, 1]), padding=1) ** 2, (_I, _A),
    ),
    "avg_pool2d": (lambda paddle, x: paddle.nn.functional.avg_pool2d(x.unsqueeze(0), 2) ** 3, (_I,)),
    "max_pool2d": (lambda paddle, x: paddle.nn.functional.max_pool2d(x.unsqueeze(0), 2) ** 3, (_I,)),
    "adaptive_avg_pool2d": (lambda paddle, x: paddle.nn.functional.adaptive_avg_pool2d(x.unsqueeze(0), 3) ** 3, (_I,)),
    "square_error_cost": (lambda paddle, x, y: paddle.nn.functional.square_error_cost(x, y), (_A, _P)),
    "l1_loss": (lambda paddle, x, y: paddle.nn.functional.l1_loss(x, y), (_A, _P)),
    "smooth_l1_loss": (lambda paddle, x, y: paddle.nn.functional.smooth_l1_loss(x, y), (_A, _P)),
    "cross_entropy": (lambda paddle, x: paddle.nn.functional.cross_entropy(x, paddle.to_tensor([2, 0])), (_A,)),
    "kl_div": (lambda paddle, x, y: paddle.nn.functional.kl_div(x, y), (_A, _P)),
    "binary_cross_entropy": (
        lambda paddle, x, y: paddle.nn.functional.binary_cross_entropy(paddle.nn.functional.sigmoid(x), y), (_A, _P),
    ),
    "bce_with_logits": (lambda paddle, x, y: paddle.nn.functional.binary_cross_entropy_with_logits(x, y), (_A, _P)),
}  # fmt: skip
"""What is differentiated: by all operands along a fixed direction, so that each order is one gradient more."""


def derivatives(paddle, function, values, orders, dtype="float64"):
    """Return the gradients of orders 1 to `orders` (lists, one per operand), None from where the system has none.

    Order k+1 is the gradient of the sum of the gradients of order k, each weighted by a fixed direction.
    """
    operands = [paddle.to_tensor(np.array(value), dtype=dtype, stop_gradient=False) for value in values]
    current = function(paddle, *operands)
    weight = paddle.to_tensor(np.linspace(1.0, 2.0, int(np.prod(current.shape))).reshape(current.shape), dtype=dtype)
    total = (current * weight).sum()
    found = []
    for order in range(orders):
        try:
            last = paddle.grad(total, operands, retain_graph=True, allow_unused=True)
            found.append([np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(last, operands, strict=True)])
            if order + 1 < orders:
                gradients = paddle.grad(total, operands, create_graph=True, allow_unused=True)
                gradients = [paddle.zeros_like(x) if g is None else g for g, x in zip(gradients, operands, strict=True)]
                total = sum((g * x.detach()).sum() for g, x in zip(gradients, operands, strict=True))
        except Exception:  # of whatever class: the system has no derivative of this order
            break
    return found + [None] * (orders - len(found))


def _program(name):
    function, values = OPERATIONS[name]

    def program(paddle):
        return derivatives(paddle, function, values, 3)

    program.__name__ = program.__qualname__ = f"derivative_{name}"
    return program


for _name in OPERATIONS:
    globals()[f"derivative_{_name}"] = _program(_name)
