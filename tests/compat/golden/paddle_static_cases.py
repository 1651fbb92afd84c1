"""Static programs, written once: run by Paddle to make the golden file, and by primad to be compared with it.

Each case is a function of the module `paddle` that returns a dict of numbers, names and lists.
"""

from __future__ import annotations

import numpy as np

FEED = {
    "x": np.linspace(0.2, 1.7, 6, dtype="float32").reshape(2, 3),
    "y": np.linspace(1.4, 0.3, 6, dtype="float32").reshape(2, 3),
    "row": np.array([0.5, 1.25, 2.0], dtype="float32"),
    "square": np.linspace(-1.0, 1.5, 9, dtype="float32").reshape(3, 3),
    "i": np.array([1, 0, 1], dtype="int64"),
    "labels": np.array([[2], [0]], dtype="int64"),
    "image": np.linspace(-1.0, 1.0, 2 * 2 * 4 * 4, dtype="float32").reshape(2, 2, 4, 4),
    "kernel": np.linspace(-0.5, 0.5, 3 * 2 * 3 * 3, dtype="float32").reshape(3, 2, 3, 3),
}

# What the operators are called in Paddle, their outputs' names and shapes, values, and gradients with respect to each
# float operand, of the sum of the outputs' squares.
EXPRESSIONS = [
    "x + y", "x - y", "x * y", "x / y", "x + 2.5", "2.5 - x", "x * 3.0", "1.5 / x", "-x", "x ** 2",
    "x + row", "x > y", "paddle.add(x, y)", "paddle.subtract(x, row)", "paddle.multiply(x, y)", "paddle.divide(x, y)",
    "paddle.pow(x, y)", "paddle.pow(x, 3)", "paddle.maximum(x, y)", "paddle.minimum(x, y)", "paddle.abs(x - y)",
    "paddle.sin(x)", "paddle.cos(x)", "paddle.tan(x)", "paddle.tanh(x)", "paddle.exp(x)", "paddle.log(x)",
    "paddle.sqrt(x)", "paddle.rsqrt(x)", "paddle.square(x)", "paddle.erf(x)", "paddle.sinh(x)", "paddle.cosh(x)",
    "paddle.atan(x)", "paddle.log1p(x)", "paddle.expm1(x)", "paddle.reciprocal(x)", "paddle.scale(x, 2.0, 1.0)",
    "paddle.scale(x, 2.0, 1.0, bias_after_scale=False)", "paddle.clip(x, 0.5, 1.2)", "paddle.sum(x)",
    "paddle.sum(x, axis=1)", "paddle.sum(x, axis=-1, keepdim=True)", "paddle.mean(x)", "paddle.mean(x, axis=0)",
    "paddle.max(x, axis=1)", "paddle.min(x)", "paddle.prod(x)", "paddle.logsumexp(x, axis=1)", "paddle.cumsum(x, 1)",
    "paddle.matmul(x, square)", "paddle.matmul(x, y, transpose_y=True)", "paddle.dot(row, row)",
    "paddle.reshape(x, [3, 2])", "paddle.transpose(x, [1, 0])", "paddle.concat([x, y], axis=1)",
    "paddle.concat([x, y], axis=-1)", "paddle.stack([x, y], axis=0)", "paddle.split(x, 3, axis=1)[1]",
    "paddle.squeeze(paddle.unsqueeze(x, 0))", "paddle.unsqueeze(x, 1)", "paddle.flatten(image, 1)",
    "paddle.expand(row, [2, 3])", "paddle.tile(row, [2])", "paddle.gather(square, i)",
    "paddle.index_select(square, i, axis=1)", "paddle.where(x > y, x, y)", "paddle.slice(x, [1], [1], [3])",
    "x[:, 1]", "x[1]", "paddle.cast(x, 'float64')", "paddle.assign(x)", "paddle.add_n([x, y, x])",
    "paddle.zeros_like(x)", "paddle.ones_like(x)", "paddle.full_like(x, 3.0)", "paddle.flip(x, [1])",
    "F.relu(x - y)", "F.sigmoid(x)", "F.softplus(x)", "F.gelu(x)", "F.gelu(x, approximate=True)", "F.silu(x)",
    "F.leaky_relu(x - y)", "F.elu(x - y)", "F.relu6(x * 8.0)", "F.hardswish(x - y)", "F.mish(x)", "F.swish(x)",
    "F.softmax(x)", "F.log_softmax(x)", "F.square_error_cost(x, y)", "F.l1_loss(x, y)", "F.smooth_l1_loss(x, y)",
    "paddle.asin(x / 2.0)", "paddle.acos(x / 2.0)", "paddle.atan2(x, y)", "paddle.asinh(x)", "paddle.atanh(x / 2.0)",
    "F.mse_loss(x, y)", "F.cross_entropy(x, labels)", "F.one_hot(i, 3)", "F.embedding(i, square)",
    "F.conv2d(image, kernel)", "F.conv2d(image, kernel, stride=2, padding=1)", "F.max_pool2d(image, 2)",
    "F.avg_pool2d(image, 2)", "F.layer_norm(x, [3])", "paddle.norm(x)", "paddle.norm(x, p=1, axis=1)",
]  # fmt: skip


def _fresh(paddle):
    main, startup = paddle.static.Program(), paddle.static.Program()
    return paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard()


def _inputs(paddle):
    made = {}
    for name, array in FEED.items():
        made[name] = paddle.static.data(name, array.shape, str(array.dtype))
        made[name].stop_gradient = array.dtype.kind != "f"
    return made


def _listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _dtype(variable):
    return str(variable.dtype).rpartition(".")[2].lower().replace("fp", "float")


def expression(paddle, text, named=True):
    """Values and gradients of one expression; with `named`, what its operators and variables are called."""
    program, names = _fresh(paddle)
    with program, names:
        inputs = _inputs(paddle)
        result = eval(text, {"paddle": paddle, "F": paddle.nn.functional, **inputs})
        found = {"shape": list(result.shape), "dtype": _dtype(result)}
        if named:
            block = paddle.static.default_main_program().global_block()
            found |= {"types": [op.type for op in block.ops], "name": result.name}
        fetch, wanted = [result], []
        if found["dtype"].startswith("float"):
            wanted = [name for name, x in inputs.items() if not x.stop_gradient]
            gradients = paddle.static.gradients([paddle.mean(result * result)], [inputs[name] for name in wanted])
            pairs = [(name, g) for name, g in zip(wanted, gradients, strict=True) if g is not None]
            wanted = [name for name, _ in pairs]
            fetch += [g for _, g in pairs]
        values = paddle.static.Executor().run(feed=FEED, fetch_list=fetch)
        found["value"] = np.asarray(values[0]).tolist()
        found["gradients"] = {name: np.asarray(value).tolist() for name, value in zip(wanted, values[1:], strict=True)}
    return found


def _described(block):
    return [
        {
            "type": op.type,
            "inputs": {slot: op.input(slot) for slot in op.input_names if op.input(slot)},
            "outputs": {slot: op.output(slot) for slot in op.output_names if op.output(slot)},
            "role": op.attr("op_role"),
        }
        for op in block.ops
    ]


def seed_program(paddle):
    """The six calls of append_backward of its documentation, with a callback in the first."""
    program, names = _fresh(paddle)
    with program, names:
        x = paddle.static.data(name="x", shape=[None, 13], dtype="int64")
        y = paddle.static.data(name="y", shape=[None, 1], dtype="float32")
        x_emb = paddle.static.nn.embedding(x, size=[100, 256])
        y_predict = paddle.static.nn.fc(x=x_emb, size=1, activation=None, name="my_fc")
        loss = paddle.nn.functional.square_error_cost(input=y_predict, label=y)
        avg_loss = paddle.mean(loss)
        block = paddle.static.default_main_program().global_block()
        forward = _described(block)
        weights = [p for p in paddle.static.default_main_program().block(0).all_parameters() if "w_" in p.name]
        calls = []

        def callback(block, context):
            op = context["__current_op_desc__"]
            calls.append([op.type(), sorted((k, str(v)) for k, v in context.items() if k != "__current_op_desc__")])

        append = paddle.static.append_backward
        pairs = [append(loss=avg_loss, callbacks=[callback])]
        variables = [str(v) for v in block.vars.values()]
        backward = _described(block)
        pairs.append(append(loss=avg_loss, parameter_list=weights))
        pairs.append(append(loss=avg_loss, parameter_list=[w.name for w in weights]))
        pairs.append(append(loss=avg_loss, no_grad_set={x_emb}))
        pairs.append(append(loss=avg_loss, no_grad_set={"my_fc.b_0"}))
        pairs.append(append(loss=avg_loss, parameter_list=weights, no_grad_set=set(weights)))
        return {
            "forward": forward,
            "backward": backward,
            "variables": sorted(variables),
            "calls": calls,
            "pairs": [[[p.name, g.name] for p, g in result] for result in pairs],
            "types": [op.type for op in block.ops],
        }


def accumulation(paddle):
    """A variable that is used three times: renamed contributions and their sum."""
    program, names = _fresh(paddle)
    with program, names:
        x = paddle.static.data("x", [2, 3])
        x.stop_gradient = False
        y = paddle.tan(x) * x + paddle.erf(x)
        (g,) = paddle.static.gradients([y], [x])
        block = paddle.static.default_main_program().global_block()
        ops = _described(block)
        value = paddle.static.Executor().run(feed={"x": FEED["x"]}, fetch_list=[g])[0]
    keep = [[op["type"], op["outputs"]] for op in ops]
    return {"ops": keep, "sum": [op["inputs"] for op in ops if op["type"] == "sum"], "value": value.tolist()}


def several_targets(paddle):
    """Gradients with weights, of several targets, of something that is not reached."""
    program, names = _fresh(paddle)
    with program, names:
        x, z = (paddle.static.data(name, [2, 3]) for name in ("x", "z"))
        x.stop_gradient = z.stop_gradient = False
        weight = paddle.static.data("weight", [2, 3])
        a, b = paddle.tan(x), paddle.erf(x)
        first = paddle.static.gradients([a, b], [x, z], [weight, None])
        value = paddle.static.Executor().run(
            feed={"x": FEED["x"], "weight": FEED["y"]}, fetch_list=[v for v in first if v is not None]
        )
    return {"none": [v is None for v in first], "value": np.asarray(value[0]).tolist()}


def split_unused(paddle):
    """One output of several is used; the others count as zeros."""
    program, names = _fresh(paddle)
    with program, names:
        x = paddle.static.data("x", [3])
        x.stop_gradient = False
        parts = paddle.split(x, 3)
        y = 2.0 * parts[0]
        (g,) = paddle.static.gradients([y], [x])
        value = paddle.static.Executor().run(feed={"x": FEED["row"]}, fetch_list=[g])[0]
    return {"value": value.tolist()}


def second_order(paddle):
    """The gradient of a gradient, by calling gradients again."""
    program, names = _fresh(paddle)
    with program, names:
        x = paddle.static.data("x", [2, 3])
        x.stop_gradient = False
        y = paddle.square(x) * x
        (g,) = paddle.static.gradients([y], [x])
        (h,) = paddle.static.gradients([g], [x])
        value = paddle.static.Executor().run(feed={"x": FEED["x"]}, fetch_list=[g, [h]])
    return {"names": [g.name, h.name], "value": [v.tolist() for v in value]}


OPTIMIZERS = {
    "SGD": {"learning_rate": 0.1},
    "SGD with decay": {"learning_rate": 0.1, "weight_decay": 0.05},
    "Momentum": {"learning_rate": 0.05, "momentum": 0.8},
    "Momentum, Nesterov": {"learning_rate": 0.05, "momentum": 0.8, "use_nesterov": True},
    "Adam": {"learning_rate": 0.05},
    "AdamW": {"learning_rate": 0.05, "weight_decay": 0.1},
}


def training(paddle, name):
    """Losses and final parameters of a small network, from constant parameters."""
    program, names = _fresh(paddle)
    constant = paddle.nn.initializer.Constant
    with program, names:
        x = paddle.static.data("x", [None, 3])
        y = paddle.static.data("y", [None, 1])
        attr = paddle.static.nn.fc
        hidden = attr(x, 2, weight_attr=constant(0.3), bias_attr=constant(0.1), activation="tanh")
        output = attr(hidden, 1, weight_attr=constant(-0.4))
        loss = paddle.mean(paddle.nn.functional.square_error_cost(output, y))
        optimizer = getattr(paddle.optimizer, name.partition(" ")[0].rstrip(","))(**OPTIMIZERS[name])
        test = paddle.static.default_main_program().clone(for_test=True)
        _operators, pairs = optimizer.minimize(loss)
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        feed = {"x": FEED["x"], "y": FEED["y"][:, :1]}
        losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(5)]
        after = exe.run(feed=feed, fetch_list=["fc_0.w_0", "fc_1.b_0"])
        tested = exe.run(test, feed=feed, fetch_list=[loss.name])[0]
    return {
        "losses": losses,
        "pairs": [[p.name, g.name] for p, g in pairs],
        "after": [np.asarray(v).tolist() for v in after],
        "test ops": [op.type for op in test.global_block().ops],
        "tested": float(tested),
    }


def layers(paddle):
    """Names and shapes of what the layers of static.nn make."""
    found = {}
    for text in LAYERS:
        program, names = _fresh(paddle)
        with program, names:
            inputs = _inputs(paddle)
            result = eval(text, {"nn": paddle.static.nn, "paddle": paddle, **inputs})
            block = paddle.static.default_main_program().global_block()
            found[text] = {
                "parameters": [[p.name, list(p.shape)] for p in block.all_parameters()],
                "types": [op.type for op in block.ops],
                "name": result.name,
                "shape": list(result.shape),
            }
    return found


LAYERS = [
    "nn.fc(x, 4)",
    "nn.fc([x, y], 4)",
    "nn.fc(x, 4, bias_attr=False)",
    "nn.fc(image, 5, num_flatten_dims=2)",
    "nn.fc(x, 4, name='mine', activation='relu')",
    "nn.fc(x, 4, weight_attr='weights', bias_attr=paddle.ParamAttr(name='bias'))",
    "nn.embedding(i, [10, 4])",
    "nn.conv2d(image, 3, 3)",
    "nn.conv2d(image, 3, 3, act='relu', bias_attr=False)",
    "nn.batch_norm(image)",
    "nn.layer_norm(x)",
]


def unknown_lengths(paddle):
    """Shapes with unknown lengths, and runs with several lengths."""
    found = {}
    for text in UNKNOWN:
        program, names = _fresh(paddle)
        with program, names:
            x = paddle.static.data("x", [None, 3])
            result = eval(text, {"paddle": paddle, "x": x, "F": paddle.nn.functional})
            runs = [
                paddle.static.Executor().run(feed={"x": np.ones((n, 3), "float32")}, fetch_list=[result])[0]
                for n in (2, 5, 2)
            ]
            found[text] = {"shape": list(result.shape), "shapes": [list(np.shape(run)) for run in runs]}
    return found


UNKNOWN = [
    "x * 2.0", "paddle.mean(x, axis=0)", "paddle.max(x, axis=1)", "paddle.mean(x)", "paddle.reshape(x, [-1, 1])",
    "paddle.transpose(x, [1, 0])", "paddle.concat([x, x], axis=0)", "paddle.concat([x, x], axis=1)",
    "x[0]", "x[:, 1]", "paddle.flatten(x)", "F.softmax(x)", "x + x[0]",
]  # fmt: skip

ERRORS = [
    "paddle.static.append_backward(3)",
    "paddle.static.append_backward(loss, parameter_list='w')",
    "paddle.static.append_backward(loss, parameter_list=['w', 3])",
    "paddle.static.append_backward(loss, no_grad_set='w')",
    "paddle.static.append_backward(loss, no_grad_set={3})",
    "paddle.static.append_backward(loss, callbacks=[3])",
    "paddle.static.append_backward(loss, callbacks=3)",
    "paddle.static.gradients(loss, [x], [x, x])",
    "paddle.static.gradients([y], [x], [loss])",
    "paddle.static.gradients(3, [x])",
    "paddle.static.gradients(loss, 3)",
    "paddle.static.Executor().run(feed={'x': a}, fetch_list=['nothing'])",
    "paddle.static.Executor().run(feed={'x': a[0]}, fetch_list=[loss])",
    "paddle.static.Executor().run(feed=[a], fetch_list=[loss])",
    "paddle.static.Executor().run(3, feed={'x': a}, fetch_list=[loss])",
    "paddle.static.Executor().run(feed={'x': a}, fetch_list=[3])",
    "paddle.static.Executor().run(feed={'x': a}, fetch_list=[z], scope=paddle.static.Scope())",
    "paddle.static.program_guard(3).__enter__()",
    "block.var('nothing')",
]


def errors(paddle):
    """The built-in classes of the errors that wrong arguments raise."""
    found = {}
    for text in ERRORS:
        program, names = _fresh(paddle)
        with program, names:
            x = paddle.static.data("x", [2, 3])
            x.stop_gradient = False
            y = paddle.square(x)
            loss = paddle.mean(y)
            z = paddle.mean(paddle.static.nn.fc(x, 2))
            block = paddle.static.default_main_program().global_block()
            scope = {"paddle": paddle, "x": x, "y": y, "z": z, "loss": loss, "a": FEED["x"], "block": block}
            try:
                eval(text, scope)
                found[text] = None
            except Exception as error:
                builtin = [cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"]
                found[text] = builtin[0]
    return found


def cases():
    """Yield the name and the function of each case."""
    for text in EXPRESSIONS:
        yield f"expression {text}", lambda paddle, text=text: expression(paddle, text)
    for name in OPTIMIZERS:
        yield f"training {name}", lambda paddle, name=name: training(paddle, name)
    for function in (
        seed_program, accumulation, several_targets, split_unused, second_order, layers, unknown_lengths, errors,
    ):  # fmt: skip
        yield function.__name__, function
