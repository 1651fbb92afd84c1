"""Small programs in Paddle's eager API; each takes the module `paddle` (see tests/compat/golden/encoding.py)."""

import numpy as np


def _leaf(paddle, data, dtype="float32"):
    return paddle.to_tensor(data, dtype=dtype, stop_gradient=False)


# -- backward and grad -------------------------------------------------------------------------------------------------


def square(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * x
    y.backward()
    return y, x.grad, y.stop_gradient, x.stop_gradient, y.is_leaf, x.is_leaf


def accumulation(paddle):
    x = _leaf(paddle, 5.0)
    found = []
    for _ in range(5):
        y = paddle.pow(x, 4.0)
        y.backward()
        found.append(x.grad.numpy())
    x.clear_grad()
    found.append(x.grad.numpy())
    for _ in range(2):
        y = paddle.pow(x, 4.0)
        y.backward(paddle.to_tensor(2.0))
        found.append(x.grad.numpy())
    x.clear_gradient(False)
    found.append(x.grad)
    return found


def backward_with_weights(paddle):
    x = _leaf(paddle, [[1, 2], [3, 4]])
    y = paddle.to_tensor([[3, 2], [3, 4]], dtype="float32")
    w = paddle.to_tensor([[1, 2], [2, 3]], dtype="float32")
    z1, z2 = paddle.matmul(x, y), paddle.matmul(x, y)
    found = []
    for weights in ([w, None], None):
        paddle.autograd.backward([z1, z2], weights, True)
        found.append(x.grad.numpy())
        x.clear_grad()
    return found


def backward_two_outputs(paddle):
    x = _leaf(paddle, [1.0, -2.0, 0.5])
    y, z = x**2, x**3
    gy, gz = paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0.5, -1.0, 2.0])
    paddle.autograd.backward([y, z], [gy, gz])
    return x.grad


def backward_of_constant(paddle):
    x = paddle.to_tensor([1.0])
    x.backward()
    return x.grad


def backward_of_leaf(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    x.backward()
    return x.grad


def backward_twice(paddle):
    x = _leaf(paddle, [1.0])
    y = x * x
    y.backward()
    y.backward()


def backward_twice_add(paddle):
    x = _leaf(paddle, [1.0])
    y = x + x
    y.backward()
    y.backward()


def backward_duplicates(paddle):
    x = _leaf(paddle, [1.0])
    y = x * x
    paddle.autograd.backward([y, y])


def backward_wrong_length(paddle):
    x = _leaf(paddle, [1.0])
    paddle.autograd.backward([x * x], [None, None])


def backward_wrong_weight(paddle):
    x = _leaf(paddle, [1.0])
    paddle.autograd.backward([x * x], [np.ones(1)])


def backward_wrong_flag(paddle):
    x = _leaf(paddle, [1.0])
    paddle.autograd.backward([x * x], None, "yes")


def tensor_backward_wrong_type(paddle):
    x = _leaf(paddle, [1.0])
    (x * x).backward(1.0)


def tensor_backward_wrong_shape(paddle):
    x = _leaf(paddle, [1.0])
    (x * x).backward(paddle.ones([2]))


def grad_weights(paddle):
    found = []
    for weights in (None, [None, 4.0], [4.0, None], [3.0, 4.0], []):
        x = _leaf(paddle, 2.0)
        y1, y2 = x * x, x * 3
        if weights:
            weights = [None if w is None else paddle.to_tensor(w) for w in weights]
        found.append(paddle.grad([y1, y2], [x], weights))
    return found


def grad_leaves_alone(paddle):
    x = _leaf(paddle, [1.0])
    y = x * x
    (g,) = paddle.grad(y, x)
    return g, g.stop_gradient, x.grad, paddle.grad(y, x)


def grad_create_graph(paddle):
    x = _leaf(paddle, 1.5)
    y = paddle.sin(x) * paddle.exp(x)
    found = [y]
    for _ in range(2):
        (y,) = paddle.grad(y, x, create_graph=True)
        found.append((y, y.stop_gradient))
    return found


def grad_then_backward(paddle):
    x = _leaf(paddle, [1.0])
    y = x * x
    (dx,) = paddle.grad([y], [x], create_graph=True, retain_graph=True)
    (y + dx).backward()
    return x.grad


def grad_identities(paddle):
    x = _leaf(paddle, [3.0])
    y = x + 1
    first = paddle.grad([x], [x])
    second = paddle.grad([y, x], [x])
    y = x + 1
    third = paddle.grad([x, y], [y])
    y = x + 1
    fourth = paddle.grad([x], [y], allow_unused=True)
    return first, second, third, fourth


def grad_of_inner(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    h = x * x
    y = h * h * x
    return paddle.grad(y, [h, x])


def grad_unused(paddle):
    x, z = _leaf(paddle, [1.0]), _leaf(paddle, [2.0])
    return paddle.grad(x * x, [x, z], allow_unused=True)


def grad_unused_raises(paddle):
    x, z = _leaf(paddle, [1.0]), _leaf(paddle, [2.0])
    paddle.grad(x * x, [z])


def grad_of_stopped(paddle):
    x = paddle.to_tensor([1.0])
    y = _leaf(paddle, [2.0])
    paddle.grad(x * y, [x])


def grad_linear_twice(paddle):
    x = _leaf(paddle, [1.0])
    (g,) = paddle.grad(x * 3, x, create_graph=True)
    paddle.grad(g, x)


def grad_duplicate_inputs(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad(x * x, [x, x])


def grad_duplicate_outputs(paddle):
    x = _leaf(paddle, [1.0])
    y = x * x
    paddle.grad([y, y], [x])


def grad_no_outputs(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad([], [x])


def grad_none_outputs(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad(None, [x])


def grad_wrong_elements(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad([1.0], [x])


def grad_wrong_inputs(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad([x * x], "x")


def grad_wrong_length(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad([x * x], [x], [None, None])


def grad_wrong_flag(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad([x * x], [x], create_graph=1)


def grad_not_only_inputs(paddle):
    x = _leaf(paddle, [1.0])
    paddle.grad([x * x], [x], only_inputs=False)


def grad_constants(paddle):
    x = _leaf(paddle, [2.0])
    found = []
    for kind in (lambda t: t, lambda t: [t], lambda t: (t,), lambda t: {t}):
        h = x * x
        y = h * x
        found.append(paddle.grad(y, x, no_grad_vars=kind(h)))
    return found


def grad_wrong_constants(paddle):
    x = _leaf(paddle, [2.0])
    paddle.grad(x * x, x, no_grad_vars=3)


def grad_wrong_constant_elements(paddle):
    x = _leaf(paddle, [2.0])
    paddle.grad(x * x, x, no_grad_vars=[3])


def double_gradient_of_product(paddle):
    x = _leaf(paddle, 2 * np.ones((3, 3)))
    y = _leaf(paddle, 2 * np.ones((3, 3)))
    go = _leaf(paddle, np.ones((3, 3)))
    gx, gy = paddle.grad([paddle.matmul(x, y)], [x, y], [go], create_graph=True)
    gx.backward()
    return gx, gy, x.grad, y.grad, go.grad


def mixed_partials(paddle):
    x, y = _leaf(paddle, [0.5]), _leaf(paddle, [0.3])
    u = paddle.sin(x * y) + paddle.exp(x) * y * y
    (ux,) = paddle.grad(u, x, create_graph=True)
    (uxy,) = paddle.grad(ux, y, create_graph=True)
    (uy,) = paddle.grad(u, y, create_graph=True)
    (uyx,) = paddle.grad(uy, x, create_graph=True)
    return ux, uy, uxy, uyx


# -- tensors' state ----------------------------------------------------------------------------------------------------


def stop_gradient(paddle):
    a = paddle.to_tensor([1.0, 2.0])
    b = _leaf(paddle, [1.0, 2.0])
    c = a + b
    d = a * 2
    a.stop_gradient = False
    steps = (paddle.ones_like(b), paddle.zeros_like(b), b // 1, paddle.floor(b), b.argmax())
    return (
        [t.stop_gradient for t in steps],
        d.stop_gradient,
        c.stop_gradient,
        a.stop_gradient,
        (b > 1.0).stop_gradient,
        b.detach().stop_gradient,
    )


def detach_and_clone(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * x
    (y.detach() * x + y.clone()).sum().backward()
    return x.grad, y.detach(), x.clone().stop_gradient


def retained(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * x
    y.retain_grads()
    z = y * 3
    z.sum().backward()
    return x.grad, y.grad


def clear_to_zeros(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    (x * x).sum().backward()
    x.clear_grad()
    zeros = x.grad.numpy()
    (x * x).sum().backward()
    return zeros, x.grad, x.gradient()


def hooks_on_inner(paddle):
    x = _leaf(paddle, [0.0, 1.0, 2.0, 3.0])
    y = _leaf(paddle, [4.0, 5.0, 6.0, 7.0])
    z = _leaf(paddle, [1.0, 2.0, 3.0, 4.0])
    w = x + y
    w.retain_grads()
    w.register_hook(lambda g: g * 2)
    o = z.matmul(w)
    o.backward()
    return x.grad, y.grad, z.grad, w.grad


def hooks_compose(paddle):
    found = []
    for remove in (False, True):
        x = _leaf(paddle, [0.0, 1.0, 2.0, 3.0])
        y = _leaf(paddle, [4.0, 5.0, 6.0, 7.0])
        z = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
        w = x + y
        handles = [w.register_hook(lambda g: g * 2) for _ in range(3)]
        if remove:
            found.append(handles[0].remove())
        z.matmul(w).backward()
        found.append((x.grad, y.grad))
    return found


def hooks_on_leaves(paddle):
    a = _leaf(paddle, [0.0, 1.0, 1.0, 2.0])
    b = _leaf(paddle, [0.0, 0.0, 1.0, 2.0])
    x = a + b
    x.retain_grads()
    x.register_hook(lambda g: g * 2)
    a.register_hook(lambda g: g * 2)
    o1 = x + paddle.to_tensor([4.0, 5.0, 6.0, 7.0])
    o2 = x + paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
    o1.matmul(o2).backward()
    return x.grad, a.grad, b.grad


def hook_that_looks(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    seen = []
    y = x * x
    y.register_hook(lambda g: seen.append(g.numpy()))
    (y * 3).sum().backward()
    return x.grad, seen


def hook_on_output(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = (x * x).sum()
    y.register_hook(lambda g: g * 10)
    y.backward()
    return x.grad


def hook_on_stopped(paddle):
    x = paddle.to_tensor([1.0])
    x.register_hook(lambda g: g)


def hooks_in_grad(paddle):
    x = _leaf(paddle, [2.0])
    y = x * x
    y.register_hook(lambda g: g * 3)
    return paddle.grad(y * y, x)


def in_place_versions(paddle):
    x = paddle.to_tensor([1.0, 2.0])
    found = [x.inplace_version]
    x[0] = 5.0
    found.append(x.inplace_version)
    x.tanh_()
    found.append(x.inplace_version)
    paddle.assign(paddle.ones([2]), x)
    found.append(x.inplace_version)
    return found, x


def in_place_on_leaf(paddle):
    x = _leaf(paddle, [1.0])
    x.tanh_()


def in_place_setitem_on_leaf(paddle):
    x = _leaf(paddle, [1.0])
    x[0] = 2.0


def in_place_needed(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * 1
    z = y * y
    y[0] = 3.0
    z.backward()


def in_place_not_needed(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * 1
    z = y + y
    y[0] = 3.0
    z.backward()
    return x.grad


def in_place_needed_output(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    z = paddle.tanh(x * 1)
    z[0] = 3.0
    z.sum().backward()


def in_place_needed_result(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    z = paddle.exp(x * 1)
    z[0] = 3.0
    z.sum().backward()


def in_place_recorded(paddle):
    x = _leaf(paddle, [1.0, 2.0, 3.0])
    y = x * x
    y[1] = x[0] * 5
    y.exp_()
    (y * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
    return y, x.grad


def in_place_without_recording(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    with paddle.no_grad():
        x[0] = 4.0
        x.scale_(2.0)
    return x, x.stop_gradient


# -- modes and PyLayer -------------------------------------------------------------------------------------------------


def modes(paddle):
    x = _leaf(paddle, [1.0])
    found = []
    with paddle.no_grad():
        found.append((x * x).stop_gradient)
        with paddle.enable_grad():
            found.append((x * x).stop_gradient)
        found.append(paddle.is_grad_enabled())
    found.append((x * x).stop_gradient)

    @paddle.no_grad()
    def double(t):
        return t * 2

    found.append(double(x).stop_gradient)
    with paddle.set_grad_enabled(False):
        found.append((x * x).stop_gradient)
    paddle.set_grad_enabled(False)
    found.append((x * x).stop_gradient)
    paddle.set_grad_enabled(True)
    found.append((x * x).stop_gradient)
    return found


def _cube(paddle):
    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, factor=1.0):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * x * x * factor

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensor()
            return 3 * x * x * dy * ctx.factor

    return Cube


def py_layer(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = _cube(paddle).apply(x * x, factor=2.0)
    (y * 0.5).sum().backward()
    return y, x.grad, y.stop_gradient


def py_layer_twice(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    (g,) = paddle.grad(_cube(paddle).apply(x).sum(), x, create_graph=True)
    return g, paddle.grad(g.sum(), x)


def py_layer_many(paddle):
    class Both(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x + y, x * y

        @staticmethod
        def backward(ctx, da, db):
            x, y = ctx.saved_tensor()
            return da + db * y, da + db * x

    x, y = _leaf(paddle, [1.0, 2.0]), _leaf(paddle, [3.0, 4.0])
    a, b = Both.apply(x, y)
    (a * a + b).sum().backward()
    z = _leaf(paddle, [1.0, 2.0])
    _, b = Both.apply(z, z)
    b.sum().backward()
    return x.grad, y.grad, z.grad


def py_layer_none_for_stopped(paddle):
    class Scaled(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, s):
            ctx.save_for_backward(s)
            return x * s

        @staticmethod
        def backward(ctx, dy):
            (s,) = ctx.saved_tensor()
            return dy * s, None

    x = _leaf(paddle, [1.0, 2.0])
    Scaled.apply(x, paddle.to_tensor([3.0, 4.0])).sum().backward()
    return x.grad


def py_layer_no_forward(paddle):
    class Empty(paddle.autograd.PyLayer):
        pass

    Empty.apply(_leaf(paddle, [1.0]))


def py_layer_forward_none(paddle):
    class Nothing(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return None

        @staticmethod
        def backward(ctx, dy):
            return dy

    Nothing.apply(_leaf(paddle, [1.0]))


def py_layer_too_many(paddle):
    class Many(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            return dy, dy

    Many.apply(_leaf(paddle, [1.0])).backward()


def py_layer_no_backward(paddle):
    class Forward(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    Forward.apply(_leaf(paddle, [1.0])).backward()


# -- Jacobians and Hessians --------------------------------------------------------------------------------------------


def jacobian(paddle):
    x = _leaf(paddle, [1.0, 2.0, 3.0])
    y = paddle.stack([x[0] * x[1], x[2] ** 2])
    found = paddle.autograd.jacobian(y, x)
    return list(found.shape), found[:], found[0], found[1, 2], found[0:1], found[:, 1]


def jacobian_scalars(paddle):
    x = _leaf(paddle, 2.0)
    found = paddle.autograd.jacobian(x * x, x)
    return list(found.shape), found + 0.0


def jacobian_tuples(paddle):
    x, y = _leaf(paddle, [1.0, 2.0]), _leaf(paddle, [3.0, 4.0, 5.0])
    u, v = x.sum() * y, x * x
    found = paddle.autograd.jacobian((u, v), (x, y))
    return [[part[:] for part in row] for row in found]


def jacobian_batched(paddle):
    x = _leaf(paddle, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = paddle.stack([x[:, 0] * x[:, 1], x[:, 1] ** 2, x.sum(1)], 1)
    found = paddle.autograd.jacobian(y, x, batch_axis=0)
    return list(found.shape), found[:], found[:, 1], found[1, :, 0]


def jacobian_wrong_rank(paddle):
    x = _leaf(paddle, [[1.0, 2.0]])
    paddle.autograd.jacobian(x * x, x)[:]


def jacobian_wrong_axis(paddle):
    x = _leaf(paddle, [[1.0, 2.0]])
    paddle.autograd.jacobian(x * x, x, batch_axis=1)


def jacobian_index_of_scalar(paddle):
    x = _leaf(paddle, 2.0)
    return paddle.autograd.jacobian(x * x, x)[0]


def hessian(paddle):
    x = _leaf(paddle, [1.0, 2.0, 3.0])
    y = (x**3).sum() + x[0] * x[1] * x[2]
    found = paddle.autograd.hessian(y, x)
    return list(found.shape), found[:], found[1]


def hessian_tuples(paddle):
    x1, x2 = _leaf(paddle, [1.0, 2.0]), _leaf(paddle, [0.5, -1.0, 2.0])
    y = (x1.sum() * x2.sum()) ** 2
    found = paddle.autograd.hessian(y, (x1, x2))
    return [[part[:] for part in row] for row in found]


def hessian_batched(paddle):
    x = _leaf(paddle, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = (x**3).sum(1) * x[:, 0]
    found = paddle.autograd.hessian(y, x, batch_axis=0)
    return list(found.shape), found[:]


def hessian_of_vector(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    paddle.autograd.hessian(x * x, x)


# -- types, operators, indexing ----------------------------------------------------------------------------------------


def creation(paddle):
    values = (3, 3.0, True, [1, 2], [1, 2.5], [[True], [False]], np.ones(1), np.float64(3), np.arange(3, dtype="int32"))
    return [paddle.to_tensor(value) for value in values]


def creation_functions(paddle):
    return (
        paddle.zeros([2, 3]), paddle.ones([2], "int32"), paddle.full([2], 7), paddle.full([2], 0.5), paddle.arange(5),
        paddle.arange(1, 2, 0.25), paddle.linspace(0, 1, 5), paddle.eye(3), paddle.zeros_like(paddle.ones([2, 2])),
        paddle.ones_like(paddle.zeros([2], "int64")), paddle.full_like(paddle.ones([2]), 3),
        paddle.assign(np.array([1.0, 2.0])), paddle.tril(paddle.ones([3, 3])), paddle.diag(paddle.arange(3)),
        paddle.meshgrid(paddle.arange(2), paddle.arange(3)),
    )  # fmt: skip


def ragged(paddle):
    paddle.to_tensor([[1, 2], [3]])


def integers_with_numbers(paddle):
    i = paddle.to_tensor([1, 2, 7])
    return i + 1, i * 2.5, i / 2, i // 2, i % 2, i**2, i**2.5, 2**i, -i, i > 1, i == 2, 1 - i, 2.0 / i, i * True


def floats_with_numbers(paddle):
    x = paddle.to_tensor([1.5, -2.5])
    return x + 1, 1 - x, x * 2, x / 2, 2 / x, x // 2, x % 2, x**2, 2**x, -x, abs(x), x > 0, x != 1.5, x * np.float64(2)


def wide_with_narrow(paddle):
    x, d = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, 2.0], dtype="float64")
    return x + d, x * np.ones(2)


def integer_plus_float(paddle):
    return paddle.to_tensor([1, 2]) + paddle.to_tensor([1.0, 2.0])


def wide_plus_narrow_integer(paddle):
    return paddle.to_tensor([1, 2]) + paddle.to_tensor([1, 2], dtype="int32")


def sums_of_types(paddle):
    i = paddle.to_tensor([1, 2])
    return i.sum(), i.astype("int32").sum(), (i > 1).sum(), i.astype("float64").mean(), i.max(), i.prod()


def gradient_through_cast(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x.astype("float64")
    (y * y).sum().backward()
    return y, x.grad


def indexing(paddle):
    x = _leaf(paddle, np.arange(24.0).reshape(2, 3, 4))
    parts = [
        x[0], x[-1, 1], x[:, 1:], x[..., ::2], x[0, None, 2], x[:, [0, 2]], x[[1, 0], [2, 1]], x[x > 20.0],
        x[:, :, paddle.to_tensor([3, 0, 0])], x[:, ::-1], x[1, 2, 3], x[:, paddle.to_tensor([True, False, True])],
    ]  # fmt: skip
    total = sum((part * part).sum() for part in parts)
    total.backward()
    return parts, x.grad


def index_out_of_range(paddle):
    return paddle.ones([2])[3]


def too_many_indices(paddle):
    return paddle.ones([2])[0, 0]


def writing(paddle):
    x = paddle.zeros([3, 4])
    x[0] = 1.0
    x[1, 2:] = paddle.to_tensor([5.0, 6.0])
    x[:, 0] = paddle.to_tensor([7.0, 8.0, 9.0])
    x[x == 6.0] = -1.0
    x[[0, 2], [3, 3]] = paddle.to_tensor([2.0, 3.0])
    return x


def writing_with_gradient(paddle):
    v = _leaf(paddle, [1.0, 2.0])
    w = _leaf(paddle, [3.0, 4.0, 5.0])
    y = w * 2
    y[paddle.to_tensor([0, 2])] = v * v
    (y * y).sum().backward()
    return y, v.grad, w.grad


def rearranging(paddle):
    x = _leaf(paddle, np.arange(12.0).reshape(3, 4))
    parts = [
        x.reshape([4, 3]), x.reshape([-1]), x.reshape([0, 2, -1]), x.T, x.transpose([1, 0]), x.flatten(),
        x.unsqueeze(1), x.unsqueeze([0, 2]).squeeze(0), x.tile([2, 1]), x.expand([2, 3, 4]), x.flip(0), x.roll(1, 1),
        paddle.concat([x, x], 1), paddle.stack([x, x * 2]), *paddle.split(x, 2, 1), *paddle.split(x, [1, -1], 0),
        *paddle.unbind(x), *paddle.chunk(x, 3), x.tril(), x.triu(1), paddle.moveaxis(x, 0, 1),
        x.gather(paddle.to_tensor([2, 0])),
        x.index_select(paddle.to_tensor([1, 1]), 1), x.gather_nd(paddle.to_tensor([[0, 1], [2, 3]])),
        paddle.take_along_axis(x, paddle.to_tensor([[0, 1, 2, 0]]), 0), paddle.where(x > 5, x, -x),
        paddle.masked_select(x, x > 8), x.masked_fill(x > 8, 0.5), paddle.repeat_interleave(x, 2, 1),
        paddle.nn.functional.pad(x.reshape([1, 1, 3, 4]), [1, 0, 2, 1]), paddle.diagonal(x), paddle.diag(x[0]),
        paddle.scatter(x, paddle.to_tensor([2, 1]), paddle.ones([2, 4])),
        paddle.scatter(x, paddle.to_tensor([1, 1]), paddle.ones([2, 4]), overwrite=False),
        paddle.index_add(x, paddle.to_tensor([0, 0]), 0, paddle.ones([2, 4])),
        paddle.scatter_nd_add(x, paddle.to_tensor([[1], [1]]), paddle.ones([2, 4])),
        paddle.slice(x, [0, 1], [1, 0], [3, 2]), paddle.strided_slice(x, [1], [3], [0], [-2]),
    ]  # fmt: skip
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad


def products(paddle):
    rng = np.random.default_rng(0)
    a, b = _leaf(paddle, rng.normal(size=(3, 4))), _leaf(paddle, rng.normal(size=(4, 5)))
    v = _leaf(paddle, rng.normal(size=4))
    c = _leaf(paddle, rng.normal(size=(2, 3, 4)))
    parts = [
        a @ b, paddle.matmul(a, b.T, transpose_y=True), a @ v, v @ v, paddle.dot(v, v), paddle.mv(a, v),
        paddle.bmm(c, c.transpose([0, 2, 1])), c @ b, paddle.einsum("ij,jk->ik", a, b), paddle.outer(v, v),
        paddle.inner(a, a), paddle.kron(v, v), paddle.trace(a), paddle.cross(a[:, :3], a[:, 1:]),
        paddle.tensordot(a, b, 1), paddle.norm(a), paddle.norm(a, 1, 1), paddle.dist(v, v * 2), paddle.t(a),
    ]  # fmt: skip
    sum((part * part).sum() for part in parts).backward()
    return parts, a.grad, b.grad, v.grad, c.grad


def numerics(paddle):
    x = _leaf(paddle, [[-2.5, -0.4, 0.5], [1.5, 0.3, -1.2]])
    y = _leaf(paddle, [[0.5, 2.0, -0.25], [1.0, 0.75, 3.0]])
    p = _leaf(paddle, [0.3, 1.5, 4.0])
    u = _leaf(paddle, [0.3, -0.5, 0.9])
    parts = [
        paddle.round(x), paddle.trunc(x), paddle.frac(x), paddle.neg(x), paddle.lgamma(p), paddle.digamma(p),
        paddle.erfinv(u), paddle.deg2rad(x), paddle.rad2deg(x), paddle.hypot(x, y), paddle.logaddexp(x, y),
        paddle.lerp(x, y, 0.25), paddle.lerp(x, y, p.detach()), paddle.diff(x), paddle.diff(x, axis=0),
    ]  # fmt: skip
    sum((part * part).sum() for part in parts).backward()
    same = [
        paddle.isclose(x, x + 1e-9), paddle.allclose(x, y), paddle.allclose(x, x), paddle.equal_all(x, x),
        paddle.equal_all(x, y),
    ]  # fmt: skip
    return parts, x.grad, y.grad, p.grad, u.grad, same


def reductions(paddle):
    x = _leaf(paddle, np.random.default_rng(1).normal(size=(3, 4)))
    parts = [
        x.sum(), x.sum(0), x.sum([0, 1]), x.sum(-1, keepdim=True), x.mean(), x.mean(1), x.max(), x.max(0), x.min(1),
        x.prod(), x.prod(1), paddle.logsumexp(x), paddle.logsumexp(x, 1, True), paddle.std(x), paddle.var(x, 0),
        paddle.var(x, unbiased=False), paddle.cumsum(x, 1), paddle.cumsum(x), paddle.median(x, 1),
        paddle.sort(x, 1), paddle.sort(x, 0, descending=True), paddle.topk(x, 2)[0],
    ]  # fmt: skip
    sum((part * part).sum() for part in parts).backward()
    whole = [
        x.argmax(), x.argmax(0), x.argmin(1), x.argsort(1), paddle.topk(x, 2)[1], (x > 0).all(), (x > 0).any(1),
        paddle.nonzero(x > 0),
    ]  # fmt: skip
    return parts, x.grad, whole


# -- layers, losses, optimisers ----------------------------------------------------------------------------------------


def _training(paddle, make):
    rng = np.random.default_rng(2)
    layer = paddle.nn.Linear(3, 2)
    layer.weight.set_value(rng.normal(size=(3, 2)).astype("float32"))
    layer.bias.set_value(rng.normal(size=2).astype("float32"))
    x, y = paddle.to_tensor(rng.normal(size=(5, 3)), "float32"), paddle.to_tensor(rng.normal(size=(5, 2)), "float32")
    optimizer = make(layer.parameters())
    found = []
    for _ in range(4):
        loss = paddle.nn.functional.mse_loss(paddle.tanh(layer(x)), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(loss)
    return found, layer.weight, layer.bias


def sgd(paddle):
    return _training(paddle, lambda p: paddle.optimizer.SGD(0.1, parameters=p))


def momentum(paddle):
    return _training(paddle, lambda p: paddle.optimizer.Momentum(0.1, 0.9, parameters=p, weight_decay=0.01))


def nesterov(paddle):
    return _training(paddle, lambda p: paddle.optimizer.Momentum(0.1, 0.9, parameters=p, use_nesterov=True))


def adam(paddle):
    return _training(paddle, lambda p: paddle.optimizer.Adam(0.1, parameters=p))


def adam_decay(paddle):
    return _training(paddle, lambda p: paddle.optimizer.Adam(0.1, parameters=p, weight_decay=0.1))


def adam_l1(paddle):
    decay = paddle.regularizer.L1Decay(0.1)
    return _training(paddle, lambda p: paddle.optimizer.Adam(0.1, parameters=p, weight_decay=decay))


def adamw(paddle):
    return _training(paddle, lambda p: paddle.optimizer.AdamW(0.1, parameters=p, weight_decay=0.1))


def clip_by_value(paddle):
    clip = paddle.nn.ClipGradByValue(0.05)
    return _training(paddle, lambda p: paddle.optimizer.SGD(0.1, parameters=p, grad_clip=clip))


def clip_by_norm(paddle):
    clip = paddle.nn.ClipGradByNorm(0.05)
    return _training(paddle, lambda p: paddle.optimizer.SGD(0.1, parameters=p, grad_clip=clip))


def clip_by_global_norm(paddle):
    clip = paddle.nn.ClipGradByGlobalNorm(0.05)
    return _training(paddle, lambda p: paddle.optimizer.SGD(0.1, parameters=p, grad_clip=clip))


def schedules(paddle):
    lr = paddle.optimizer.lr
    made = [
        lr.StepDecay(0.5, 3), lr.MultiStepDecay(0.5, [2, 5]), lr.ExponentialDecay(0.5, 0.9),
        lr.NaturalExpDecay(0.5, 0.1), lr.InverseTimeDecay(0.5, 0.1), lr.PiecewiseDecay([2, 4], [0.1, 0.2, 0.3]),
        lr.PolynomialDecay(0.5, 4), lr.PolynomialDecay(0.5, 4, cycle=True), lr.CosineAnnealingDecay(0.5, 10),
        lr.NoamDecay(64, 3), lr.LambdaDecay(0.5, lambda n: 0.95**n), lr.LinearWarmup(0.5, 3, 0.0, 0.5),
        lr.LinearWarmup(lr.ExponentialDecay(0.5, 0.9), 3, 0.0, 0.5),
    ]  # fmt: skip
    rows = []
    for scheduler in made:
        row = []
        for _ in range(8):
            row.append(float(scheduler()))
            scheduler.step()
        rows.append(row)
    plateau = lr.ReduceOnPlateau(1.0, factor=0.5, patience=1)
    row = []
    for value in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0):
        plateau.step(paddle.to_tensor(value))
        row.append(float(plateau()))
    return [*rows, row]


def optimizer_without_parameters(paddle):
    paddle.optimizer.SGD(0.1).step()


def optimizer_of_one_tensor(paddle):
    paddle.optimizer.SGD(0.1, parameters=_leaf(paddle, [1.0]))


def adam_bad_beta(paddle):
    paddle.optimizer.Adam(0.1, beta1=1.0, parameters=[_leaf(paddle, [1.0])])


def losses(paddle):
    F = paddle.nn.functional
    rng = np.random.default_rng(3)
    x, y = _leaf(paddle, rng.normal(size=(4, 3))), paddle.to_tensor(rng.normal(size=(4, 3)), "float32")
    p = paddle.to_tensor(rng.uniform(0.1, 0.9, size=(4, 3)), "float32")
    labels = paddle.to_tensor([0, 2, 1, 2])
    w = paddle.to_tensor([0.5, 1.0, 2.0])
    parts = [
        F.square_error_cost(x, y), F.mse_loss(x, y), F.mse_loss(x, y, "sum"), F.l1_loss(x, y),
        F.l1_loss(x, y, "none"), F.smooth_l1_loss(x, y), F.smooth_l1_loss(x, y, "sum", 0.5),
        F.cross_entropy(x, labels), F.cross_entropy(x, labels, reduction="none"),
        F.cross_entropy(x, labels.unsqueeze(1)), F.cross_entropy(x, labels, weight=w),
        F.cross_entropy(x, labels, ignore_index=2), F.cross_entropy(x, F.softmax(y), soft_label=True),
        F.cross_entropy(x, labels, label_smoothing=0.1), F.cross_entropy(F.softmax(x), labels, use_softmax=False),
        F.nll_loss(F.log_softmax(x), labels), F.nll_loss(F.log_softmax(x), labels, w),
        F.binary_cross_entropy(F.sigmoid(x), p), F.binary_cross_entropy_with_logits(x, p),
        F.kl_div(F.log_softmax(x), F.softmax(y)), F.kl_div(F.log_softmax(x), F.softmax(y), "batchmean"),
    ]  # fmt: skip
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad


def loss_wrong_reduction(paddle):
    paddle.nn.functional.mse_loss(paddle.ones([2]), paddle.ones([2]), "average")


def activations(paddle):
    F = paddle.nn.functional
    x = _leaf(paddle, [[-2.5, -0.5, 0.3, 1.7], [0.1, 4.0, -4.0, 0.9]])
    names = "relu gelu sigmoid silu swish softplus softmax log_softmax tanh"
    parts = [getattr(F, name)(x) for name in names.split()]
    parts += [F.gelu(x, approximate=True), F.softmax(x, 0), F.softplus(x, 2.0)]
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad


def more_activations(paddle):
    F = paddle.nn.functional
    x = _leaf(paddle, [[-2.5, -0.6, 0.3, 1.7], [0.1, 4.0, -4.0, 0.9]])
    names = "leaky_relu elu selu celu relu6 hardtanh hardsigmoid hardswish softsign tanhshrink hardshrink softshrink"
    names += " mish log_sigmoid thresholded_relu"
    parts = [getattr(F, name)(x) for name in names.split()]
    parts += [F.leaky_relu(x, 0.2), F.elu(x, 0.5), F.celu(x, 2.0), F.prelu(x, paddle.to_tensor([0.25]))]
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad


def convolutions(paddle):
    F = paddle.nn.functional
    rng = np.random.default_rng(4)
    x, w = _leaf(paddle, rng.normal(size=(2, 4, 6, 5))), _leaf(paddle, rng.normal(size=(4, 2, 3, 2)))
    b = _leaf(paddle, rng.normal(size=4))
    line, kernel = _leaf(paddle, rng.normal(size=(1, 2, 7))), _leaf(paddle, rng.normal(size=(3, 2, 3)))
    parts = [
        F.conv2d(x, w, b, groups=2), F.conv2d(x, w, stride=2, padding=1, groups=2),
        F.conv2d(x, w, b, padding=[1, 0], dilation=2, groups=2), F.conv2d(x, w, padding="same", groups=2),
        F.conv2d(x, w, padding=[1, 0, 2, 1], groups=2), F.conv1d(line, kernel, padding=1),
        F.conv2d(x.transpose([0, 2, 3, 1]), w, b, groups=2, data_format="NHWC"),
        F.conv2d_transpose(x, w.transpose([0, 1, 2, 3]), stride=2, padding=1, output_padding=1),
        F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 2),
        F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1, exclusive=False), F.adaptive_avg_pool2d(x, [3, 2]),
        F.adaptive_max_pool2d(x, 2), F.max_pool1d(line, 3, 2), F.adaptive_avg_pool1d(line, 3),
    ]  # fmt: skip
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad, w.grad, b.grad, line.grad, kernel.grad


def normalisation(paddle):
    rng = np.random.default_rng(5)
    x = _leaf(paddle, rng.normal(size=(6, 3, 4)))
    batch = paddle.nn.BatchNorm1D(3)
    layer = paddle.nn.LayerNorm(4)
    layer.weight.set_value(np.array([1.0, 2.0, 0.5, 1.5], "float32"))
    a, b = batch(x), layer(x)
    (a * a * a + b * b * b).sum().backward()
    batch.eval()
    return a, b, x.grad, batch._mean, batch._variance, batch(x), layer.weight.grad, batch.weight.grad


def lookup(paddle):
    F = paddle.nn.functional
    table = _leaf(paddle, np.arange(12.0).reshape(4, 3))
    ids = paddle.to_tensor([[0, 2], [2, 3]])
    a = F.embedding(ids, table)
    b = F.embedding(ids, table, padding_idx=2)
    (a * a).sum().backward()
    return a, b, table.grad, F.one_hot(ids, 5)


def dropout_in_inference(paddle):
    F = paddle.nn.functional
    x = paddle.ones([2, 2])
    return F.dropout(x, 0.5, training=False), F.dropout(x, 0.5, training=False, mode="downscale_in_infer")


def dropout_bad_rate(paddle):
    paddle.nn.functional.dropout(paddle.ones([2]), 1.5)


def layers(paddle):
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = paddle.nn.Linear(2, 3)
            self.rest = paddle.nn.Sequential(paddle.nn.Tanh(), paddle.nn.Linear(3, 1, bias_attr=False))
            self.scale = self.create_parameter([1], default_initializer=paddle.nn.initializer.Constant(2.0))
            self.register_buffer("seen", paddle.zeros([1]))

        def forward(self, x):
            return self.rest(self.first(x)) * self.scale

    net = Net()
    net.set_state_dict({name: paddle.ones(t.shape) for name, t in net.state_dict().items()})
    names = [name for name, _ in net.named_parameters()]
    y = net(paddle.to_tensor([[1.0, 2.0]]))
    net.eval()
    return (
        names, list(net.state_dict()), [name for name, _ in net.named_sublayers()], y, net.first.training,
        [list(p.shape) for p in net.parameters()], len(net.rest), [p.stop_gradient for p in net.parameters()],
    )  # fmt: skip


def texts(paddle):
    rng = np.random.default_rng(6)
    x = paddle.to_tensor([1.0, 2.5])
    values = [
        x, paddle.to_tensor(3.0), paddle.to_tensor([1, -2]), paddle.to_tensor([True, False]), x > 2,
        paddle.to_tensor([[-1.5, 2.0], [3.25, 100.0]]), paddle.to_tensor([1e-6, 1.0]), paddle.to_tensor([1e10, 1.5]),
        paddle.to_tensor([float("inf"), 1.0]), paddle.zeros([0]), paddle.ones([2, 2, 2]), paddle.arange(30),
        paddle.to_tensor(rng.normal(size=(3, 20)), "float32"), paddle.arange(2000), _leaf(paddle, [[1.0], [-1.0]]),
        paddle.arange(1200.0).reshape([30, 40]), paddle.to_tensor([-1.0, 12.0]), paddle.to_tensor([float("nan")]),
        paddle.to_tensor([0.1], dtype="float64"),
    ]  # fmt: skip
    return [str(value) for value in values]


# -- forms that programs use -------------------------------------------------------------------------------------------


def bits(paddle):
    i, j = paddle.to_tensor([5, -3, 0]), paddle.to_tensor([3, 6, -1])
    b, c = paddle.to_tensor([True, False, True]), paddle.to_tensor([True, True, False])
    found = [~i, ~b, i & j, i | j, i ^ j, b & c, b | c, b ^ c, ~paddle.to_tensor(np.array([1, 2], "uint8"))]
    return [*found, paddle.bitwise_and(i, j), paddle.bitwise_not(i), i.bitwise_xor(j), paddle.bitwise_or(b, c)]


def bits_of_floats(paddle):
    try:
        return ~paddle.to_tensor([1.0])
    except Exception:
        return "refused"


def detached_memory(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    d = x.detach()
    d[0] = 9.0
    found = [x.numpy(), d.numpy(), x.inplace_version, d.inplace_version]
    with paddle.no_grad():
        x[1] = 7.0
    found += [x.numpy(), d.numpy(), x.inplace_version, d.inplace_version]
    y = x * 2
    e, f = y.detach(), y.detach()
    y[0] = 5.0
    found += [y.numpy(), e.numpy(), f.numpy(), e.inplace_version]
    f.set_value(paddle.to_tensor([3.0, 4.0]))
    return [*found, y.numpy(), e.numpy(), x.detach().stop_gradient, x.detach_() is x, x.stop_gradient]


def detached_memory_needed(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * x
    x.detach()[0] = 9.0
    y.sum().backward()


def detached_parameter(paddle):
    layer = paddle.nn.Linear(1, 1)
    held = layer.weight.detach()
    optimizer = paddle.optimizer.Adam(0.1, parameters=layer.parameters())
    found = []
    for _ in range(3):
        layer(paddle.to_tensor([[1.0]])).sum().backward()
        optimizer.step()
        found.append((held.numpy() == layer.weight.numpy()).tolist())
    return found


def tensors_by_class(paddle):
    made = [
        paddle.Tensor(np.array([1.0, 2.0])),
        paddle.Tensor(np.array([1, 2], "int32")),
        paddle.Tensor([1.0, 2.0]),
        paddle.Tensor(paddle.to_tensor([1.0, 2.0])),
        paddle.Tensor(np.ones([2, 2], "float32")) + 1,
        paddle.Tensor(),
    ]
    x = paddle.Tensor(np.array([1.0, 2.0]), stop_gradient=False)
    (x * x).sum().backward()
    return [[t, t.shape, t.stop_gradient] for t in made], x.grad


def tensor_of_a_number(paddle):
    return paddle.Tensor(2.0)


def prefixed_names(paddle):
    with paddle.utils.unique_name.guard("A_"):
        found = [paddle.utils.unique_name.generate("fc") for _ in range(2)]
        with paddle.utils.unique_name.guard("B_"):
            found.append(paddle.utils.unique_name.generate("fc"))
        with paddle.utils.unique_name.guard():
            found.append(paddle.utils.unique_name.generate("fc"))
        return [*found, paddle.utils.unique_name.generate("fc"), paddle.nn.Linear(1, 1).weight.name]


def retained_before_a_gradient_is_needed(paddle):
    x = paddle.to_tensor([1.0, 2.0])
    x.retain_grads()
    y = x * 2
    y.retain_grads()
    y.stop_gradient = False
    (y * y).sum().backward()
    return x.grad, y.grad


def known_flags(paddle):
    paddle.set_flags({"FLAGS_sort_sum_gradient": True})
    found = paddle.get_flags(["FLAGS_sort_sum_gradient"])
    paddle.set_flags({"FLAGS_sort_sum_gradient": False})
    return found


def unknown_flag(paddle):
    paddle.set_flags({"FLAGS_nonsense": True})


def weights_of_one_element(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    found = [paddle.grad((x * x).sum(), x, grad_outputs=paddle.to_tensor(w))[0] for w in ([2.0], [[2.0]], 2.0)]
    z = _leaf(paddle, [3.0])
    found += paddle.grad(z * z, z, grad_outputs=paddle.to_tensor(2.0))
    paddle.autograd.backward([(x * x).sum()], [paddle.to_tensor([3.0])])
    return found, x.grad


def weight_of_one_element_in_a_method(paddle):
    (_leaf(paddle, [1.0, 2.0]) ** 2).sum().backward(paddle.to_tensor([2.0]))


def constants_among_the_inputs(paddle):
    x = _leaf(paddle, [1.0, 2.0])
    y = x * x
    return paddle.grad((y * x).sum(), [x, y], no_grad_vars=[y], allow_unused=True)


def in_place_functions(paddle):
    x, i = lambda: paddle.to_tensor([[0.25, 0.5, 0.75]]), lambda: paddle.to_tensor([1, 2, 3])
    made = [
        x().equal_(x()), x().less_than_(x() + 1), x().logical_not_(), x().cast_("float64"), i().divide_(i()),
        x().squeeze_(), x().unsqueeze_(0), x().flatten_(), x().t_(), x().transpose_([1, 0]), x().reshape_([3, 1]),
        x().multiply_(paddle.to_tensor(2.0)), x().clip_(0.3, 0.6), x().scale_(2.0, 1.0), x().pow_(2), x().cumsum_(),
        x().masked_fill_(x() > 0.4, 0.0), x().tril_(), i().bitwise_and_(i()), x().neg_(), x().round_(), x().acos_(),
        x().lerp_(x() * 3, paddle.to_tensor(0.5)), x().index_add_(paddle.to_tensor([0]), 1, paddle.to_tensor([[1.0]])),
        paddle.tanh_(x()), paddle.squeeze_(x()), paddle.erf_(x()), x().mod_(paddle.to_tensor(0.5)), x().sub_(x()),
        paddle.nn.functional.relu_(x() - 0.5), paddle.nn.functional.softmax_(x()), x().frac_(), x().lgamma_(),
        x().uniform_(1.0, 1.5).floor(), x().normal_(2.0, 0.0), x().floor_divide_(paddle.to_tensor(0.5)), x().sinh_(),
    ]  # fmt: skip
    return [[t, t.inplace_version, t.stop_gradient] for t in made]


def in_place_gradients(paddle):
    found = []
    names = "tanh_ exp_ sqrt_ square_ sin_ sigmoid_ squeeze_ reciprocal_ acos_ scale_ neg_"
    for name in names.split():
        x = _leaf(paddle, [[0.3, 0.8]])
        y = x * 1
        same = getattr(y, name)() is y
        (y * y).sum().backward()
        found.append([same, x.grad])
    return found


def in_place_too_large(paddle):
    paddle.ones([1, 3]).add_(paddle.ones([2, 3]))


def in_place_shape_of_a_leaf(paddle):
    _leaf(paddle, [[1.0]]).squeeze_()


def drawn_about_tensors(paddle):
    mean = paddle.to_tensor([1.0, 2.0])
    made = [paddle.normal(mean, 0.0), paddle.normal(1.0, mean * 0), paddle.bernoulli(paddle.to_tensor([0.0, 1.0]))]
    like = [paddle.randint_like(mean, 1), paddle.randint_like(paddle.to_tensor([1, 2]), 1)]
    return [[t, t.stop_gradient] for t in (*made, *like)]
