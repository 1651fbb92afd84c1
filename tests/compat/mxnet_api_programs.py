# ruff: noqa: SIM300 (numbers come first on purpose)
"""Programs about symbols, executors, arrays and autograd; see `mxnet_programs`."""

import os
import tempfile

import numpy as np
from mxnet_programs import family, program, ramp, softmax_net

# -- symbols -----------------------------------------------------------------------------------------------------------


@program
def automatic_names(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    made = [
        -a,
        abs(a),
        a + b,
        a - b,
        a * b,
        a / b,
        a % b,
        a**b,
        a == b,
        a != b,
        a > b,
        a >= b,
        a < b,
        a <= b,
        a + 1,
        1 - a,
        a - 1,
        2 / a,
        a / 2,
        a**2,
        2**a,
        a % 2,
        2 % a,
        a == 1,
        a > 1,
        a < 1,
        1 > a,
        mx.sym.maximum(a, b),
        mx.sym.maximum(a, 1),
        mx.sym.minimum(1, a),
        mx.sym.hypot(a, b),
        mx.sym.pow(a, 2),
        a.sum(),
        mx.sym.add_n(a, b),
        mx.sym.Concat(a, b),
        mx.sym.concat(a, b),
        mx.sym.stack(a, b),
        mx.sym.SliceChannel(a, num_outputs=2),
        mx.sym.Cast(a, dtype="float16"),
        mx.sym.Flatten(a),
        mx.sym.Reshape(a, shape=(1,)),
        mx.sym.zeros((2,)),
        mx.sym.ones((2,)),
        mx.sym.arange(3),
        mx.sym.full((2,), 3),
        mx.sym.eye(2),
        mx.sym.stop_gradient(a),
        mx.sym.Softmax(a),
        mx.sym.identity(a),
        mx.sym.broadcast_plus(a, b),
        mx.sym.ElementWiseSum(a, b),
        a.reshape((2,)),
        mx.sym.swapaxes(a),
        mx.sym.make_loss(a),
        mx.sym.MakeLoss(a),
        a.astype("float16"),
        mx.sym.FullyConnected(a, num_hidden=3),
        mx.sym.Activation(a, act_type="relu"),
        mx.sym.elemwise_add(a, b),
        mx.sym.Dropout(a),
        mx.sym.BatchNorm(a),
        a.exp(),
    ]
    return [[symbol.name, symbol.list_outputs(), symbol.list_arguments(), symbol.tojson()] for symbol in made]


@program
def prefixes(mx):
    with mx.name.Prefix("p_"):
        net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="f") + 1
    return net.list_arguments(), net.list_outputs(), net.tojson()


@program
def groups_and_parts(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = mx.sym.FullyConnected(a, name="fc", num_hidden=3) + b
    group = mx.sym.Group([net, a, mx.sym.split(b, num_outputs=2, name="s")])
    internals = net.get_internals()
    return [
        group.list_outputs(),
        len(group),
        [s.list_outputs() for s in group],
        group["s_output1"].list_outputs(),
        group[1].name,
        group[0:2].list_outputs(),
        repr(group),
        repr(net),
        group.name,
        internals.list_outputs(),
        internals["fc_output"].list_arguments(),
        net.get_children().list_outputs(),
        a.get_children() is None,
        group.tojson(),
        net.debug_str(),
        internals.tojson(),
    ]


@program
def composition(mx):
    data = mx.sym.Variable("data")
    first = mx.sym.FullyConnected(data, name="fc1", num_hidden=10)
    first = mx.sym.FullyConnected(first, name="fc2", num_hidden=100)
    second = mx.sym.FullyConnected(mx.sym.Variable("data2"), name="fc3", num_hidden=10)
    second = mx.sym.Activation(second, act_type="relu")
    second = mx.sym.FullyConnected(second, name="fc4", num_hidden=20)
    whole = second(data2=first, name="composed")
    parts = mx.sym.Group([whole, first])
    return whole.list_arguments(), whole.list_outputs(), second.list_outputs(), parts.list_outputs(), whole.tojson()


@program
def attributes(mx):
    with mx.AttrScope(__data__="great", ctx_group="x"):
        data = mx.sym.Variable("data", attr={"dtype": "data", "group": "1", "force_mirroring": "True"}, lr_mult=1)
        with mx.AttrScope(__inner__="yes"):
            fc = mx.sym.FullyConnected(data, num_hidden=3, name="f", lr_mult="2")
    shaped = mx.sym.Variable("v", shape=(2, 3), dtype="float64", init="one", wd_mult=0.5, __own__="me")
    return [
        data.list_attr(),
        fc.attr_dict(),
        fc.list_attr(),
        fc.attr("ctx_group"),
        fc.attr("num_hidden"),
        fc.attr("none"),
        shaped.attr("__shape__"),
        shaped.attr("__init__"),
        shaped.attr("__own__"),
        fc.tojson(),
        mx.sym.sin(data, attr={"__foo__": "x"}).list_attr(),
    ]


@program
def json_round_trip(mx):
    net = mx.sym.BatchNorm(softmax_net(mx, True), name="bn", eps=1e-3)
    net = mx.sym.Dropout(mx.sym.Group([net, net * 2])[1], p=0.25)
    again = mx.sym.load_json(net.tojson())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.json")
        net.save(path)
        loaded = mx.sym.load(path)
    return again.tojson(), loaded.tojson() == net.tojson(), again.list_auxiliary_states(), again.list_arguments()


def shape_case(mx, build, partial, shapes):
    symbol = build(mx, *[mx.sym.Variable(name) for name in "abc"])
    infer = symbol.infer_shape_partial if partial else symbol.infer_shape
    return symbol.list_arguments(), infer(**shapes)


family(
    "shapes",
    {
        "sum": (lambda mx, a, b, c: a + b, False, {"a": (0, 10), "b": (12, 0)}),
        "partial": (lambda mx, a, b, c: a + b, True, {"a": (0, 3)}),
        "unknown": (lambda mx, a, b, c: a + b, False, {"a": (0, 3)}),
        "clash": (lambda mx, a, b, c: a + b, False, {"a": (2,), "b": (3,)}),
        "dense": (
            lambda mx, a, b, c: mx.sym.FullyConnected(a, num_hidden=21, name="f") + c,
            False,
            {"a": (0, 10), "c": (5, 0)},
        ),
        "dense clash": (
            lambda mx, a, b, c: mx.sym.FullyConnected(a, num_hidden=3, name="f"),
            False,
            {"a": (2, 3), "f_weight": (4, 3)},
        ),
        "dense open": (lambda mx, a, b, c: mx.sym.FullyConnected(a, num_hidden=3, name="f"), True, {}),
        "split squeezed": (
            lambda mx, a, b, c: mx.sym.split(a, axis=1, num_outputs=10, squeeze_axis=True)[1] + c,
            False,
            {"a": (0, 10), "c": (5,)},
        ),
        "split": (
            lambda mx, a, b, c: mx.sym.split(a, axis=1, num_outputs=3)[1] + c,
            False,
            {"a": (0, 15, 0), "c": (3, 5, 2)},
        ),
        "concat": (lambda mx, a, b, c: mx.sym.Concat(a, b) + c, False, {"a": (0, 10), "b": (0, 5), "c": (2, 0)}),
        "dot": (lambda mx, a, b, c: mx.sym.dot(a, b), True, {"a": (0, 3, 4), "b": (4, 5)}),
        "dot clash": (lambda mx, a, b, c: mx.sym.dot(a, b), False, {"a": (2, 3), "b": (4, 5)}),
        "transpose": (lambda mx, a, b, c: mx.sym.transpose(a, axes=(0, 2, 3, 1)), True, {"a": (0, 3, 224, 224)}),
        "convolution": (
            lambda mx, a, b, c: mx.sym.Convolution(a, kernel=(3, 3), num_filter=8, name="v"),
            False,
            {"a": (2, 3, 9, 9)},
        ),
        "batch norm": (lambda mx, a, b, c: mx.sym.BatchNorm(a, name="n"), False, {"a": (2, 3, 9, 9)}),
        "embedding": (
            lambda mx, a, b, c: mx.sym.Embedding(a, input_dim=5, output_dim=4, name="e"),
            False,
            {"a": (2, 3)},
        ),
        "unknown name": (lambda mx, a, b, c: a + b, False, {"zz": (2,)}),
        "no tuple": (lambda mx, a, b, c: a + b, False, {"a": [2]}),
        "mlp": (
            lambda mx, a, b, c: mx.sym.FullyConnected(
                mx.sym.Activation(mx.sym.FullyConnected(a, name="fc1", num_hidden=1000), act_type="relu"),
                name="fc2",
                num_hidden=10,
            ),
            False,
            {"a": (100, 100)},
        ),
    },
    shape_case,
)


@program
def default_shapes(mx):
    a, b = mx.sym.Variable("a", shape=(2, 3)), mx.sym.Variable("b")
    return (a + b).infer_shape(), (a + b).infer_shape(a=(5, 6))


@program
def types(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = mx.sym.Cast(a, dtype="float32")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, name="fc", num_hidden=3), name="s")
    return [
        net.infer_type(a="float16"),
        net.infer_type_partial(),
        (a + b).infer_type(a="float64"),
        (a + b).infer_type(),
        mx.sym.FullyConnected(a, num_hidden=2).infer_type(a=np.float16),
        mx.sym.argmax(a).infer_type(a="float64"),
        mx.sym.one_hot(a, depth=2, dtype="int32").infer_type(a="float32"),
    ]


def attempt(mx, call):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return repr(call(mx, a, b))


family(
    "symbol error",
    {
        "name": (lambda mx, a, b: mx.sym.Variable(3),),
        "keyword": (lambda mx, a, b: mx.sym.Variable("x", foo=3),),
        "empty group": (lambda mx, a, b: mx.sym.Group([]),),
        "group of a symbol": (lambda mx, a, b: mx.sym.Group([3]),),
        "output name": (lambda mx, a, b: mx.sym.Group([a, b])["nope"],),
        "two outputs": (lambda mx, a, b: mx.sym.Group([a, a])["a"],),
        "output number": (lambda mx, a, b: mx.sym.Group([a, b])[5],),
        "bool": (lambda mx, a, b: bool(a),),
        "in place": (lambda mx, a, b: a.__iadd__(1),),
        "text": (lambda mx, a, b: a + "s",),
        "gradient": (lambda mx, a, b: a.gradient(["a"]),),
        "hash": (lambda mx, a, b: hash(a),),
        "missing": (lambda mx, a, b: mx.sym.FullyConnected(a),),
        "too small": (lambda mx, a, b: mx.sym.FullyConnected(a, num_hidden=0),),
        "format": (lambda mx, a, b: mx.sym.FullyConnected(a, num_hidden="x"),),
        "no parameter": (lambda mx, a, b: mx.sym.FullyConnected(a, num_hidden=3, foo=3),),
        "no choice": (lambda mx, a, b: mx.sym.Activation(a, act_type="zz"),),
        "no input": (lambda mx, a, b: mx.sym.FullyConnected(foo=a, num_hidden=1),),
        "number for a symbol": (lambda mx, a, b: mx.sym.FullyConnected(3, num_hidden=1),),
        "twice": (lambda mx, a, b: mx.sym.FullyConnected(a, b, a, 3, num_hidden=1),),
        "group as input": (lambda mx, a, b: mx.sym.sin(mx.sym.Group([a, b])),),
        "compose by place": (lambda mx, a, b: (a + b)(a),),
        "compose unknown": (lambda mx, a, b: (a + b)(zz=a),),
        "compose no symbol": (lambda mx, a, b: (a + b)(a=3),),
        "asnumpy": (lambda mx, a, b: a.asnumpy(),),
        "json": (lambda mx, a, b: mx.sym.load_json("{}"),),
        "json no text": (lambda mx, a, b: mx.sym.load_json(3),),
        "name that is missing": (lambda mx, a, b: mx.sym.no_such_operator(a),),
        "method that is missing": (lambda mx, a, b: a.no_such_method(),),
        "scope": (lambda mx, a, b: mx.AttrScope(x=3),),
        "shapes both ways": (lambda mx, a, b: (a + b).infer_shape((2,), b=(2,)),),
    },
    attempt,
)


# -- executors ---------------------------------------------------------------------------------------------------------


def two_a_plus_b(mx):
    return 2 * mx.sym.Variable("a") + mx.sym.Variable("b")


def arrays(mx, *values):
    return {name: mx.nd.array(value) for name, value in zip("abc", values, strict=False)}


@program
def identity_of_buffers(mx):
    args, grads = arrays(mx, [1, 2], [3, 4]), arrays(mx, [0, 0], [0, 0])
    texec = two_a_plus_b(mx).bind(mx.cpu(), args, grads)
    first = texec.forward()[0]
    kept = texec.grad_arrays[0]
    args["a"][:] = 10
    second = texec.forward(b=np.array([5.0, 6.0]))[0].copy()
    texec.backward([mx.nd.ones(2)])
    return [
        texec.arg_arrays[0] is args["a"],
        texec.grad_arrays[0] is grads["a"],
        kept is texec.grad_dict["a"],
        first,
        second,
        args["b"],
        grads["a"],
        texec.output_dict,
        texec.arg_dict,
        texec.aux_dict,
    ]


@program
def requests(mx):
    found = []
    for request in ("write", "null", {"a": "write"}, ["null", "write"]):
        grads = arrays(mx, [7, 7], [9, 9])
        texec = two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1, 2], [3, 4]), grads, grad_req=request)
        for _ in range(3):
            texec.forward(is_train=True)
            texec.backward(mx.nd.ones(2))
        found.append(grads)
    return found


@program
def added_gradients(mx):
    a = mx.sym.Variable("a")
    grads = arrays(mx, [7, 7])
    texec = (a * a).bind(mx.cpu(), arrays(mx, [1, 2]), grads, grad_req="add")
    for _ in range(3):
        texec.backward(mx.nd.ones(2))
    return grads


@program
def backward_without_forward(mx):
    a = mx.sym.Variable("a")
    args, grads = arrays(mx, [3, 4]), arrays(mx, [0, 0])
    texec = (a * a).bind(mx.cpu(), args, grads)
    texec.backward(mx.nd.ones(2))
    first = grads["a"].copy()
    texec.forward()
    args["a"][:] = 5
    texec.backward(mx.nd.ones(2))
    return first, grads["a"]


@program
def half_precision(mx):
    net = mx.sym.BatchNorm(mx.sym.Cast(mx.sym.Variable("x"), dtype="float16"), name="bn", fix_gamma=False)
    args = {"x": mx.nd.array(ramp(4, 3)), "bn_gamma": mx.nd.ones(3), "bn_beta": mx.nd.zeros(3)}
    texec = net.bind(mx.cpu(), args, {"bn_beta": mx.nd.zeros(3)}, aux_states=[mx.nd.zeros(3), mx.nd.ones(3)])
    out = texec.forward(is_train=False)[0].copy()
    return net.infer_type(x="float32"), out


@program
def simple_bind(mx):
    net = softmax_net(mx, False)
    texec = net.simple_bind(mx.cpu(), data=(2, 4), grad_req={"fc_weight": "write", "fc_bias": "add"})
    texec.copy_params_from({"fc_weight": mx.nd.array(ramp(6, 4)), "data": mx.nd.array(ramp(2, 4))})
    texec.arg_dict["softmax_label"][:] = mx.nd.array([1, 5])
    out = texec.forward(is_train=True)[0].copy()
    texec.backward()
    typed = two_a_plus_b(mx).simple_bind(mx.cpu(), a=(2,), type_dict={"a": "float64"})
    return [
        [array.shape for array in texec.arg_arrays],
        [grad is None for grad in texec.grad_arrays],
        out,
        texec.grad_dict["fc_bias"],
        texec.grad_dict["fc_weight"],
        [array.dtype for array in typed.arg_arrays],
    ]


@program
def batch_norm(mx):
    found = []
    for options in (
        {"fix_gamma": False},
        {},
        {"use_global_stats": True, "fix_gamma": False},
        {"axis": -1, "momentum": 0.5},
    ):
        net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", **options)
        length = 4 if "axis" in options else 3
        texec = net.bind(
            mx.cpu(),
            {
                "x": mx.nd.array(ramp(2, 3, 4)),
                "bn_gamma": mx.nd.array(ramp(length, low=1, high=2)),
                "bn_beta": mx.nd.ones(length),
            },
            {"x": mx.nd.zeros((2, 3, 4)), "bn_beta": mx.nd.zeros(length)},
            aux_states=[mx.nd.array(ramp(length)), mx.nd.array(ramp(length, low=1, high=2))],
        )
        for is_train in (False, True):
            out = texec.forward(is_train=is_train)[0].copy()
            texec.backward(mx.nd.array(ramp(2, 3, 4)), is_train=is_train)
            mx.nd.waitall()
            found.append([out, texec.grad_dict["x"].copy(), texec.grad_dict["bn_beta"].copy(), texec.aux_arrays])
    return net.list_auxiliary_states(), found


@program
def reshaped(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    big = net.simple_bind(mx.cpu(), x=(5, 4))
    big.arg_dict["x"][:] = 1
    big.arg_dict["fc_weight"][:] = 1
    small = big.reshape(x=(3, 4))
    small.forward()
    up = big.reshape(x=(6, 4), allow_up_sizing=True)
    up.arg_dict["x"][:] = 0
    up.forward()
    cube = big.reshape(x=(2, 2, 2))
    cube.forward()
    return [
        small.outputs[0],
        big.outputs[0][:3].shape,
        up.outputs[0],
        big.arg_dict["x"],
        cube.outputs[0].shape,
        big.reshape(x=(5, 3), partial_shaping=True).arg_dict["fc_weight"].shape,
    ]


@program
def monitored(mx):
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc"), act_type="relu", name="r"
    )
    seen = []
    texec = net.simple_bind(mx.cpu(), x=(1, 2))
    texec.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()))
    texec.forward()
    return seen


@program
def evaluated(mx):
    return two_a_plus_b(mx).eval(mx.cpu(), **arrays(mx, [1, 2], [3, 4]))


def bound(mx, call):
    """Try something on 2a + b bound to two arrays with a gradient for a."""
    texec = two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1, 2], [3, 4]), arrays(mx, [0, 0]))
    result = call(mx, texec)
    return None if hasattr(result, "forward") else result


family(
    "executor",
    {
        "context": (lambda mx, e: two_a_plus_b(mx).bind(3, arrays(mx, [1], [2])),),
        "short list": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), [mx.nd.ones(2)]),),
        "missing key": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), {"a": mx.nd.ones(2)}),),
        "tuple": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), (mx.nd.ones(2), mx.nd.ones(2))),),
        "NumPy": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), [np.ones(2), np.ones(2)]),),
        "request": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1], [2]), grad_req="zz"),),
        "request in a list": (
            lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1], [2]), arrays(mx, [1], [2]), ["zz", "add"]),
        ),
        "short gradients": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1], [2]), [mx.nd.ones(1)]),),
        "shapes": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1, 2], [2, 3, 4])),),
        "dtypes": (
            lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), {"a": mx.nd.ones(2), "b": mx.nd.ones(2, dtype="float64")}),
        ),
        "no states": (
            lambda mx, e: mx.sym.BatchNorm(mx.sym.Variable("a"), name="n").bind(
                mx.cpu(), {"a": mx.nd.ones((2, 2)), "n_gamma": mx.nd.ones(2), "n_beta": mx.nd.ones(2)}
            ),
        ),
        "two variables of a name": (
            lambda mx, e: (
                (mx.sym.Variable("a") + mx.sym.Variable("a"))
                .bind(mx.cpu(), {"a": mx.nd.ones(2)}, {"a": mx.nd.ones(2)})
                .forward()
            ),
        ),
        "no head": (lambda mx, e: e.backward(),),
        "head no array": (lambda mx, e: e.backward([3]),),
        "head shape": (lambda mx, e: e.backward(mx.nd.ones(3)),),
        "head missing": (lambda mx, e: e.backward({}),),
        "no gradients": (lambda mx, e: two_a_plus_b(mx).bind(mx.cpu(), arrays(mx, [1], [2])).backward(),),
        "forward number": (lambda mx, e: e.forward(a=3),),
        "forward unknown": (lambda mx, e: e.forward(zz=mx.nd.ones(2)),),
        "forward shape": (lambda mx, e: e.forward(a=mx.nd.ones(3)),),
        "forward": (lambda mx, e: e.forward(a=np.ones(2, "float64")),),
        "simple_bind": (lambda mx, e: two_a_plus_b(mx).simple_bind(mx.cpu()),),
        "simple_bind request": (lambda mx, e: two_a_plus_b(mx).simple_bind(mx.cpu(), a=(2,), grad_req="zz"),),
        "simple_bind list": (lambda mx, e: two_a_plus_b(mx).simple_bind(mx.cpu(), a=(2,), grad_req=["write"]),),
        "simple_bind empty": (lambda mx, e: two_a_plus_b(mx).simple_bind(mx.cpu(), a=(2,), grad_req={}),),
        "params unknown": (lambda mx, e: e.copy_params_from({"zz": mx.nd.ones(2)}),),
        "params shape": (lambda mx, e: e.copy_params_from({"a": mx.nd.ones(3)}),),
        "params extra": (lambda mx, e: e.copy_params_from({"zz": mx.nd.ones(2)}, allow_extra_params=True),),
        "reshape up": (lambda mx, e: e.reshape(a=(4,), b=(4,)),),
        "reshape unnamed": (lambda mx, e: e.reshape(a=(1,)),),
        "debug": (lambda mx, e: [line in e.debug_str() for line in ("Variable:a", "MB allocated")],),
        "dropout outside training": (
            lambda mx, e: mx.sym.Dropout(mx.sym.Variable("a"), p=0.5).bind(mx.cpu(), arrays(mx, [1, 2])).forward()[0],
        ),
    },
    bound,
)


# -- arrays ------------------------------------------------------------------------------------------------------------


def array_case(mx, call):
    result = call(mx, mx.nd.array([[1, 2, 3], [4, 5, 6]]))
    return repr(result) if isinstance(result, (float, int)) else result


def _set(array, key, value):
    array[key] = value
    return array


def _in_place(array, function):
    alias = array
    array = function(array)
    return array is alias, array


family(
    "array",
    {
        "repr": (lambda mx, x: [repr(x), str(x), repr(mx.nd.zeros((2,))), len(x), x.size, x.ndim, x.shape, x.stype],),
        "dtypes": (
            lambda mx, x: [
                x.dtype,
                mx.nd.array(np.arange(3)).dtype,
                mx.nd.ones(2, dtype="int32").dtype,
                mx.nd.array(mx.nd.ones(2, dtype="float64")).dtype,
            ],
        ),
        "creation": (
            lambda mx, x: [
                mx.nd.zeros(2),
                mx.nd.ones((2, 1)),
                mx.nd.full((2,), 3),
                mx.nd.arange(2, 8, 2),
                mx.nd.arange(3, repeat=2),
                mx.nd.eye(2),
                mx.nd.linspace(0, 1, 3),
            ],
        ),
        "arithmetic": (lambda mx, x: [x + 1, 1 - x, x * x, 2 / x, x / 2, x**2, 2**x, x % 2, 7 % x, -x, abs(-x)],),
        "broadcasting": (lambda mx, x: [x + mx.nd.ones((2, 1)), x * mx.nd.array([[1, 0, 2]])],),
        "no broadcasting": (lambda mx, x: x + mx.nd.ones((4,)),),
        "comparisons": (lambda mx, x: [x > 2, x == 3, x != x, x <= x.T.T, 3 < x],),
        "integers": (
            lambda mx, x: [
                mx.nd.array([5, 7], dtype="int32") * 2.5,
                mx.nd.array([5, 7], dtype="int32") + mx.nd.ones(2, dtype="int32"),
            ],
        ),
        "mixed dtypes": (lambda mx, x: x + mx.nd.ones((2, 3), dtype="float64"),),
        "indexing": (
            lambda mx, x: [x[0], x[1, 2], x[:, 1], x[0:1], x[:, ::2], x[-1], x[mx.nd.array([1, 0])], x[[0, 1], [1, 2]]],
        ),
        "slices share": (lambda mx, x: [_set(x[0], slice(None), 9), x],),
        "writing": (
            lambda mx, x: [
                _set(x, slice(None), 7).copy(),
                _set(x, 0, mx.nd.array([1, 2, 3])).copy(),
                _set(x, (1, 2), 5).copy(),
                _set(x, (slice(None), 1), np.array([8, 9])),
            ],
        ),
        "writing a wrong shape": (lambda mx, x: _set(x, slice(None), np.ones(5)),),
        "in place": (lambda mx, x: [_in_place(x, lambda x: x.__iadd__(1)), _in_place(x, lambda x: x.__imul__(2)), x],),
        "methods": (
            lambda mx, x: [
                x.sum(),
                x.mean(axis=1),
                x.max(axis=0),
                x.reshape((3, 2)),
                x.reshape(-1),
                x.T,
                x.transpose((1, 0)),
                x.expand_dims(0).shape,
                x.flatten(),
                x.astype("int32"),
                x.clip(2, 4),
                x.square(),
                x.norm(),
                x.argmax(axis=1),
            ],
        ),
        "scalars": (lambda mx, x: [float(x.sum().asscalar()), bool(mx.nd.array([1])), float(x[0, 0].asscalar())],),
        "no scalar": (lambda mx, x: x.asscalar(),),
        "truth": (lambda mx, x: bool(x),),
        "copyto": (lambda mx, x: [x.copyto(mx.nd.zeros((2, 3))), x.copy() is x, x.as_in_context(mx.cpu()) is x],),
        "copyto a wrong shape": (lambda mx, x: x.copyto(mx.nd.zeros(3)),),
        "functions": (
            lambda mx, x: [
                mx.nd.add(x, 1),
                mx.nd.maximum(x, 3),
                mx.nd.power(2, x),
                mx.nd.dot(x, x.T),
                mx.nd.concat(x, x, dim=0),
                mx.nd.stack(x, x).shape,
                mx.nd.split(x, num_outputs=3)[1],
                mx.nd.softmax(x),
                mx.nd.where(x > 2, x, -x),
                mx.nd.clip(x, 2, 3),
                mx.nd.greater(x, 2),
                mx.nd.lesser(3, x),
            ],
        ),
        "out": (lambda mx, x: [mx.nd.sin(x, out=x) is x, x],),
        "missing input": (lambda mx, x: mx.nd.FullyConnected(x, num_hidden=2),),
        "missing name": (lambda mx, x: mx.nd.no_such_function(x),),
        "moved axes": (lambda mx, x: [mx.nd.moveaxis(mx.nd.ones((2, 3, 4)), 0, 2).shape, mx.nd.moveaxis(x, 0, 1)],),
        "functions of numbers": (
            lambda mx, x: [mx.nd.add(2, 3), mx.nd.maximum(2, 3), mx.nd.greater(2, 3), mx.nd.modulo(7, 4)],
        ),
        "reflected": (lambda mx, x: [mx.nd.subtract(1, x), mx.nd.modulo(7, x), mx.nd.greater_equal(3, x)],),
        "NumPy operands": (lambda mx, x: [mx.nd.concatenate([x, x], axis=1), mx.nd.full((1,), 2).asscalar() * x],),
        "iteration": (lambda mx, x: list(x),),
        "context": (
            lambda mx, x: [repr(x.context), repr(mx.cpu(1)), mx.cpu() == mx.cpu(0), repr(mx.current_context())],
        ),
        "text": (lambda mx, x: x + "s",),
    },
    array_case,
)


# -- autograd ----------------------------------------------------------------------------------------------------------


def marked(mx, *values):
    found = [mx.nd.array(value) for value in values]
    for array in found:
        array.attach_grad()
    return found


@program
def recorded(mx):
    (x,) = marked(mx, [1, 2, 3])
    with mx.autograd.record():
        y = x * x + 2 * x
        z = mx.nd.sin(y).sum()
    z.backward()
    return y, z, x.grad


@program
def modes(mx):
    ag = mx.autograd
    found = [ag.is_recording(), ag.is_training()]
    with ag.record():
        found += [ag.is_recording(), ag.is_training()]
        with ag.pause():
            found += [ag.is_recording(), ag.is_training()]
        with ag.predict_mode():
            found += [ag.is_recording(), ag.is_training()]
    with ag.record(train_mode=False), ag.train_mode():
        found += [ag.is_recording(), ag.is_training()]
    found += [ag.set_recording(True), ag.set_recording(False), ag.set_training(True), ag.set_training(False)]
    return found


@program
def several_heads(mx):
    x, y = marked(mx, [1, 2], [3, 4])
    with mx.autograd.record():
        u, v = x * y, x + y * y
    mx.autograd.backward([u, v], [mx.nd.array([1, 10]), None])
    return x.grad, y.grad


@program
def accumulated(mx):
    x = mx.nd.array([3.0])
    x.attach_grad(grad_req="add")
    for _ in range(3):
        with mx.autograd.record():
            y = x * x
        y.backward()
    return x.grad


@program
def marked_variables(mx):
    x, gradient = mx.nd.array([2.0]), mx.nd.array([5.0])
    mx.autograd.mark_variables([x], [gradient], "add")
    with mx.autograd.record():
        y = x * 3
    y.backward()
    return x.grad, gradient


@program
def constants(mx):
    (x,) = marked(mx, [2.0])
    with mx.autograd.record():
        with mx.autograd.pause():
            c = x * x
        d = (x * x).detach()
        y = x * c + x * d
    y.backward()
    return x.grad


@program
def cut(mx):
    (x,) = marked(mx, [2.0])
    with mx.autograd.record():
        y = x * x
        y.attach_grad()
        z = y * 3
    z.backward()
    return x.grad, y.grad


@program
def gradients_as_values(mx):
    x, y = marked(mx, [1.0, 2.0], [3.0, 4.0])
    with mx.autograd.record():
        z = x * x * y
    found = mx.autograd.grad(z, [x, y], head_grads=mx.nd.array([1, 10]), retain_graph=True)
    single = mx.autograd.grad(z, x)
    return found, single, x.grad


def higher_order(mx, name, order):
    (x,) = marked(mx, [0.3, 0.7])
    with mx.autograd.record():
        y = getattr(mx.nd, name)(x)
        for _ in range(order - 1):
            y = mx.autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
    y.backward()
    return x.grad


family(
    "order",
    {
        f"{name} {order}": (name, order)
        for name in (
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "arcsin",
            "arccos",
            "arctan",
            "arctanh",
            "log",
            "log2",
            "log10",
            "log1p",
            "expm1",
            "square",
            "reciprocal",
            "sqrt",
            "rsqrt",
            "cbrt",
            "rcbrt",
            "sigmoid",
            "relu",
            "radians",
            "abs",
        )
        for order in (2, 3)
    },
    higher_order,
)


@program
def networks(mx):
    weight, bias = marked(mx, ramp(3, 4), ramp(3))
    with mx.autograd.record():
        out = mx.nd.FullyConnected(mx.nd.array(ramp(2, 4)), weight, bias, num_hidden=3)
        loss = mx.nd.SoftmaxOutput(mx.nd.Activation(out, act_type="tanh"), mx.nd.array([0, 2]))
    loss.backward()
    return loss, weight.grad, bias.grad


@program
def loss_inside(mx):
    (x,) = marked(mx, [1.0, 2.0])
    with mx.autograd.record():
        y = mx.nd.MakeLoss(x * x, grad_scale=2) * 7 + x
    y.backward()
    return y, x.grad


@program
def own_functions(mx):
    class Twisted(mx.autograd.Function):
        def forward(self, x, y):
            self.save_for_backward(x, y)
            return x * y, x + y

        def backward(self, first, second):
            x, y = self.saved_tensors
            return first * y * 10 + second, first * x + second * 100

    x, y = marked(mx, [1.0, 2.0], [3.0, 4.0])
    with mx.autograd.record():
        product, total = Twisted()(x * 2, y)
        z = product * product + total
    z.backward()
    return z, x.grad, y.grad


@program
def indexing_and_shapes(mx):
    (x,) = marked(mx, ramp(3, 4))
    with mx.autograd.record():
        y = x[1] * 2 + x[0:2].sum(axis=0) + x.reshape((4, 3)).T[2] + mx.nd.concat(x[:, 0:2], x[:, 2:4], dim=1)[2]
    y.backward()
    return y, x.grad


@program
def fresh(mx):
    x, y = marked(mx, [1.0], [2.0])
    x._fresh_grad = y._fresh_grad = False
    with mx.autograd.record():
        z = x * 2
    z.backward()
    return x._fresh_grad, y._fresh_grad


@program
def symbols_of_arrays(mx):
    x, y = marked(mx, [1.0], [2.0])
    with mx.autograd.record():
        first = x * x + 2 * x - 1
        second = first * y
    return len(mx.autograd.get_symbol(first).list_arguments()), len(mx.autograd.get_symbol(second).list_arguments())


@program
def retained(mx):
    (x,) = marked(mx, [3.0])
    with mx.autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def batch_norm_recorded(mx):
    gamma, beta = marked(mx, [1.0, 2.0], [0.0, 1.0])
    mean, variance = mx.nd.zeros(2), mx.nd.ones(2)
    with mx.autograd.record():
        y = mx.nd.BatchNorm(mx.nd.array([[1, 2], [3, 5.0]]), gamma, beta, mean, variance, fix_gamma=False)
    y.backward(mx.nd.array([[1, 2], [3, 5]]))
    mx.nd.waitall()
    return y, gamma.grad, beta.grad, mean, variance


def recording_error(mx, call):
    x, y = marked(mx, [1.0, 2.0], [3.0, 4.0])
    with mx.autograd.record():
        z = x * x
    return call(mx, x, y, z)


def _twice(mx, x, y, z):
    z.backward()
    z.backward()


def _write(mx, x, y, z):
    with mx.autograd.record():
        x[:] = 3


def _add_in_place(mx, x, y, z):
    with mx.autograd.record():
        w = x * 2
        w += 1


def _reuse(mx, x, y, z):
    class Same(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy

    same = Same()
    with mx.autograd.record():
        same(x)
        same(x)


family(
    "autograd error",
    {
        "twice": (_twice,),
        "not recorded": (lambda mx, x, y, z: mx.nd.ones(2).backward(),),
        "lengths": (lambda mx, x, y, z: mx.autograd.backward([z], [None, None]),),
        "no variables": (lambda mx, x, y, z: mx.autograd.grad(z, []),),
        "no variable": (lambda mx, x, y, z: mx.autograd.grad(z, mx.nd.ones(2)),),
        "unreachable": (lambda mx, x, y, z: mx.autograd.grad(z, y),),
        "request": (lambda mx, x, y, z: x.attach_grad("zz"),),
        "writing": (_write,),
        "adding in place": (_add_in_place,),
        "reuse": (_reuse,),
    },
    recording_error,
)


# -- networks in training ----------------------------------------------------------------------------------------------


def trained(mx, net, data_shape, labels, steps=3, rate=0.1):
    """Train with gradient descent from given parameters; return outputs, parameters and states."""
    texec = net.simple_bind(mx.cpu(), data=data_shape)
    for i, (_, array) in enumerate(sorted(texec.arg_dict.items())):
        size = int(np.prod(array.shape))
        array[:] = mx.nd.array(0.3 * np.sin(np.arange(size) * (1.7 + i) + i).reshape(array.shape))
    texec.arg_dict["softmax_label"][:] = mx.nd.array(labels)
    for name, array in texec.aux_dict.items():
        array[:] = 1 if name.endswith("var") else 0
    found = []
    for _ in range(steps):
        found.append(texec.forward(is_train=True)[0].copy())
        texec.backward()
        mx.nd.waitall()
        for name, gradient in texec.grad_dict.items():
            if name not in ("data", "softmax_label"):
                texec.arg_dict[name][:] = texec.arg_dict[name] - rate * gradient
    found.append(texec.forward(is_train=False)[0].copy())
    return found, texec.arg_dict, texec.aux_dict, net.tojson()


@program
def lenet(mx):
    net = mx.sym.Variable("data")
    for i, filters in enumerate((3, 4)):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=5, name="fc")
    return trained(mx, mx.sym.SoftmaxOutput(net, name="softmax"), (3, 1, 12, 12), [0, 4, 2])


@program
def residual_net(mx):
    def block(data, name, filters, stride):
        body = mx.sym.BatchNorm(data, fix_gamma=False, eps=2e-5, momentum=0.9, name=name + "_bn1")
        body = mx.sym.Activation(body, act_type="relu", name=name + "_relu1")
        left = mx.sym.Convolution(
            body, num_filter=filters, kernel=(3, 3), stride=stride, pad=(1, 1), no_bias=True, name=name + "_conv1"
        )
        right = mx.sym.Convolution(
            body, num_filter=filters, kernel=(1, 1), stride=stride, no_bias=True, name=name + "_sc"
        )
        return left + right

    net = mx.sym.Convolution(
        mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), pad=(1, 1), no_bias=True, name="conv0"
    )
    net = block(block(net, "one", 4, (1, 1)), "two", 6, (2, 2))
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(7, 7), name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax", normalization="batch")
    return trained(mx, net, (4, 2, 6, 6), [0, 1, 2, 1], rate=0.5)


@program
def embedded_words(mx):
    net = mx.sym.Embedding(mx.sym.Variable("words"), input_dim=7, output_dim=3, name="embed")
    net = mx.sym.LayerNorm(mx.sym.mean(net, axis=1), name="norm")
    net = mx.sym.FullyConnected(mx.sym.LeakyReLU(net, act_type="elu", slope=0.5), num_hidden=4, name="fc")
    net = mx.sym.LogisticRegressionOutput(net, name="out")
    args = {
        name: mx.nd.zeros(shape)
        for name, shape in zip(net.list_arguments(), net.infer_shape(words=(2, 5))[0], strict=True)
    }
    for i, array in enumerate(args.values()):
        array[:] = mx.nd.array(ramp(*array.shape) + 0.1 * i)
    args["words"][:] = mx.nd.array([[0, 1, 1, 6, 2], [3, 3, 4, 5, 0]])
    grads = {name: mx.nd.zeros(array.shape) for name, array in args.items() if name not in ("words", "out_label")}
    texec = net.bind(mx.cpu(), args, grads)
    out = texec.forward(is_train=True)[0].copy()
    texec.backward()
    return out, grads


@program
def recorded_training(mx):
    weights = marked(mx, ramp(6, 4), ramp(6), ramp(3, 6), ramp(3))
    data, label = mx.nd.array(ramp(5, 4)), mx.nd.array([0, 1, 2, 1, 0])
    losses = []
    for _ in range(4):
        with mx.autograd.record():
            hidden = mx.nd.Activation(mx.nd.FullyConnected(data, weights[0], weights[1], num_hidden=6), act_type="tanh")
            out = mx.nd.FullyConnected(hidden, weights[2], weights[3], num_hidden=3)
            loss = -mx.nd.pick(mx.nd.log_softmax(out), label).mean()
        loss.backward()
        losses.append(loss.copy())
        for weight in weights:
            weight -= 0.5 * weight.grad
    return losses, weights


@program
def gradient_penalty(mx):
    (x,) = marked(mx, ramp(2, 3))
    with mx.autograd.record():
        y = mx.nd.sin(x)
        dx = mx.autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
        penalty = mx.nd.square(dx).sum()
    penalty.backward()
    return dx, penalty, x.grad


# -- forms that programs use -------------------------------------------------------------------------------------------


@program
def extrema_of_nan(mx):
    a, b = mx.nd.array([np.nan, 1, np.nan, 3]), mx.nd.array([1, np.nan, np.nan, 2])
    pairs = [mx.nd.maximum(a, b), mx.nd.minimum(a, b), mx.nd.broadcast_maximum(a, b), mx.nd.broadcast_minimum(a, b)]
    return [*pairs, mx.nd.maximum(a, 2), mx.nd.minimum(2, a), mx.nd.relu(a), mx.nd.clip(a, 0, 2)]


@program
def integer_ranges(mx):
    cases = [(0, 45.7, 1.3), (0.5, 10, 0.3), (-2.5, 3, 1), (2.7, 9, 2.2), (5.5, None, 1), (0, 1, 0.1)]
    made = [mx.nd.arange(a, b, c, dtype=kind) for a, b, c in cases for kind in ("int32", "int64", "float32")]
    symbols = [mx.sym.arange(a, b, c, dtype="int32", repeat=2).eval(mx.cpu()) for a, b, c in cases]
    return made, symbols


@program
def numpy_numbers_as_parameters(mx):
    a = mx.sym.Variable("a")
    one, zero = np.int64(1), np.int32(0)
    made = [
        mx.sym.transpose(a, axes=(one, zero)),
        mx.sym.broadcast_axis(a, axis=(zero,), size=(np.int64(4),)),
        mx.sym.reshape(a, shape=[np.int64(-1), one]),
        mx.sym.clip(a, np.float32(0.1), np.float64(0.2)),
        mx.sym.sum(a, axis=one, keepdims=True),
        a * np.float32(0.1),
    ]
    x = mx.nd.ones((1, 3))
    arrays = [x.transpose(axes=(one, zero)), mx.nd.broadcast_axis(x, axis=zero, size=np.int64(4)), x.sum(axis=(one,))]
    return [symbol.tojson() for symbol in made], arrays, mx.nd.zeros((np.int64(2), one)), mx.nd.zeros(np.int64(2))


@program
def slopes_of_two_axes(mx):
    data = [np.float32([[-1, -2, -3], [-4, 5, -6]]), -np.ones((2, 3, 4), np.float32)]
    gammas = [np.float32([[0.1, 0.2, 0.3]]), np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([0.5])]
    return [mx.nd.LeakyReLU(mx.nd.array(x), mx.nd.array(gamma), act_type="prelu") for x in data for gamma in gammas]


@program
def slopes_that_do_not_fit(mx):
    return mx.nd.LeakyReLU(mx.nd.ones((2, 3, 4)), mx.nd.ones((3, 1)), act_type="prelu")


@program
def assigned_with_surplus_axes(mx):
    x, y = mx.nd.zeros(3), mx.nd.zeros((2, 3))
    x[0] = np.array([5.0])
    x[1] = mx.nd.array([6])
    y[1] = np.ones((1, 1, 3))
    x[1:] = np.array([[7.0, 8.0]])
    return x, y


@program
def partly_known_arrays_from_nothing(mx):
    a = mx.sym.Variable("a")
    made = mx.sym.ones(shape=[-1, -1]) + a
    return [
        mx.sym.ones(shape=[-1, -1]).infer_shape_partial()[1],
        made.infer_shape(a=(2, 3)),
        made.tojson(),
        made.eval(mx.cpu(), a=mx.nd.ones((2, 3))),
        (mx.sym.zeros(shape=(0, 3)) + a).eval(mx.cpu(), a=mx.nd.ones((2, 3))),
    ]


@program
def unknown_arrays_from_nothing(mx):
    return mx.sym.ones(shape=[-1, -1]).eval(mx.cpu())


@program
def sliced_like_another_dtype(mx):
    x = mx.nd.ones((4, 4), dtype="int32")
    return mx.nd.slice_like(x, mx.nd.ones((2, 3))), mx.nd.slice_like(mx.nd.ones((4, 4)), x[:2])


family(
    "refused",
    {
        "take outside": (lambda mx: mx.nd.take(mx.nd.arange(5), mx.nd.array([7]), mode="raise"),),
        "take before": (lambda mx: mx.nd.take(mx.nd.arange(5), mx.nd.array([-1]), mode="raise"),),
        "take in a symbol": (
            lambda mx: (
                mx.sym.take(mx.sym.Variable("a"), mx.sym.Variable("i"), mode="raise")
                .eval(mx.cpu(), a=mx.nd.arange(5), i=mx.nd.array([7]))[0]
                .asnumpy()
            ),
        ),
        "take inside": (lambda mx: mx.nd.take(mx.nd.arange(5), mx.nd.array([4, 0]), mode="raise"),),
        "space_to_depth": (lambda mx: mx.nd.space_to_depth(mx.nd.ones((1, 1, 2, 2)), 0),),
        "depth_to_space": (lambda mx: mx.nd.depth_to_space(mx.nd.ones((1, 4, 2, 2)), 0),),
        "out of another shape": (lambda mx: mx.nd.sum(mx.nd.ones(4), out=mx.nd.zeros(3)),),
    },
    lambda mx, call: call(mx),
)


@program
def monitored_inputs(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), mx.sym.Variable("w"), num_hidden=2, name="f")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="g", bias=mx.sym.Variable("b"))
    seen = []
    texec = net.simple_bind(mx.cpu(), x=(1, 2))
    texec.set_monitor_callback(lambda name, array: seen.append(name if isinstance(name, str) else name.decode()), True)
    texec.forward()
    return seen


def recorded_writing(mx, write):
    x, y = mx.nd.array([1, 2]), mx.nd.zeros(2)
    x.attach_grad()
    with mx.autograd.record():
        write(mx, x, y)
        z = y * 2 + x
    z.backward()
    return y, x.grad


def _write_part(mx, x, y):
    y[0:1] = x[0:1] * 3


def _write_all(mx, x, y):
    y[:] = x * 3


def _add_to(mx, x, y):
    y += x * 3


family(
    "recorded_writing",
    {
        "out": (lambda mx, x, y: mx.nd.exp(x, out=y),),
        "copyto": (lambda mx, x, y: (x * 3).copyto(y),),
        "whole": (_write_all,),
        "part": (_write_part,),
        "sum": (_add_to,),
    },
    recorded_writing,
)


@program
def outputs_given(mx):
    x = mx.nd.zeros(3)
    made = [mx.nd.ones(3, out=x) is x, x.copy(), mx.nd.full(3, 2, out=x) is x, x.copy(), mx.nd.zeros(3, out=x) is x]
    return [*made, x.copy(), mx.nd.uniform(0, 1, out=x) is x, mx.nd.random_normal(0, 1, out=x) is x]


@program
def ordered_over_all_axes(mx):
    x = mx.nd.array([[3, 1, 2], [6, 5, 4]])
    made = [mx.nd.sort(x, axis=None), mx.nd.argsort(x, axis=None), mx.nd.topk(x, axis=None, k=2)]
    return [*made, mx.sym.sort(mx.sym.Variable("a"), axis=None).eval(mx.cpu(), a=x)]
