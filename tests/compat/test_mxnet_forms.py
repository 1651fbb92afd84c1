"""General checks of MXNet's forms: every elementwise operator on NaN, every parameter as NumPy's, every `out`."""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special

import primad.compat.mxnet as mx
from primad.compat.mxnet.operators import TABLE
from primad.compat.mxnet.operators.elementwise import ARITHMETIC, UNARY

NAN = float("nan")

REFERENCES: dict[str, Any] = {
    "abs": np.abs, "sign": np.sign, "round": np.round, "rint": np.rint, "ceil": np.ceil, "floor": np.floor,
    "trunc": np.trunc, "fix": np.trunc, "square": np.square, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log10": np.log10, "log2": np.log2, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan,
    "arcsinh": np.arcsinh, "arccosh": np.arccosh, "arctanh": np.arctanh, "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x), "gamma": special.gamma, "gammaln": special.gammaln, "erfinv": special.erfinv,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "degrees": np.degrees, "radians": np.radians,
    "reciprocal": np.reciprocal, "relu": lambda x: np.maximum(x, 0), "sigmoid": special.expit,
    "softsign": lambda x: x / (1 + np.abs(x)), "erf": special.erf, "negative": np.negative,
    "logical_not": np.logical_not,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": np.mod, "power": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "hypot": np.hypot, "equal": np.equal, "not_equal": np.not_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "lesser": np.less, "lesser_equal": np.less_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip

ACTIVATIONS = {
    **{f"Activation {kind}": {"act_type": kind} for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")},
    **{f"LeakyReLU {kind}": {"act_type": kind} for kind in ("leaky", "elu", "selu", "gelu")},
    "clip": {"a_min": 0.0, "a_max": 2.0},
    "hard_sigmoid": {},
    "smooth_l1": {},
    "softmax": {},
}


def both_ways(name: str, *arrays: Any, **parameters: Any) -> list[Any]:
    """Return what an operator gives on arrays, and bound as a symbol."""
    given = [mx.nd.array(array, dtype=array.dtype) for array in arrays]
    names = [f"x{i}" for i in range(len(arrays))]
    symbol = getattr(mx.sym, name)(*map(mx.sym.Variable, names), **parameters)
    bound = symbol.eval(mx.cpu(), **dict(zip(names, given, strict=True)))[0]
    return [getattr(mx.nd, name)(*given, **parameters).asnumpy(), bound.asnumpy()]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted([*UNARY, *ARITHMETIC]))
def test_elementwise_operators_are_numpys_and_keep_nan(name: str, dtype: str) -> None:
    values = np.array([0.3, NAN, 0.9, NAN, 1.0], dtype)
    other = np.array([0.7, 0.5, NAN, NAN, 1.0], dtype)
    if name == "arccosh":
        values = values + 1
    reference = REFERENCES[name]
    with np.errstate(all="ignore"):
        if name in UNARY:
            cases = [(name, (values,), {}, reference(values))]
        else:
            wide = "broadcast_" + name
            cases = [(wide, (values, other), {}, reference(values, other))]
            cases += [(wide, (values, other[1:2]), {}, reference(values, other[1:2]))]
            written = "_" + {"add": "plus", "sub": "minus"}.get(name, name) + "_scalar"
            for number in np.array([0.5, NAN], dtype):
                cases.append((written, (values,), {"scalar": float(number)}, reference(values, number)))
    for made, arrays, parameters, expected in cases:
        for got in both_ways(made, *arrays, **parameters):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, expected.astype(dtype), rtol=2e-6, err_msg=f"{made} {parameters}")


@pytest.mark.parametrize("label", ACTIVATIONS)
def test_activations_keep_nan(label: str) -> None:
    values = np.array([[0.5, NAN], [-1.0, NAN]], "float32")
    if label == "softmax":
        values = values.T
    for got in both_ways(label.split()[0], values, **ACTIVATIONS[label]):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(values))


VALUES: dict[str, tuple[Any, Any]] = {
    "int": (2, np.int64(2)),
    "int or None": (1, np.int64(1)),
    "float": (0.1, np.float32(0.1)),
    "boolean": (True, np.True_),
    "Shape(tuple)": ((1, 2), (np.int64(1), np.int32(2))),
    "string": ("abc", np.str_("abc")),
    "dtype": ("float64", np.float64),
}
"""For each type of parameter a value of Python's and the same one of NumPy's."""


@pytest.mark.parametrize("name", sorted({record.name for record in TABLE.values()}))
def test_every_parameter_takes_numpys_numbers(name: str) -> None:
    record = TABLE[name]
    words = {key: found for key, parameter in record.parameters.items() if (found := word(parameter))}
    chosen = {key: parameter for key, parameter in record.parameters.items() if key not in words}
    plain = {key: VALUES[parameter.type][0] for key, parameter in chosen.items()}
    numpys = {key: VALUES[parameter.type][1] for key, parameter in chosen.items()}
    assert record.settings({**numpys, **words}) == record.settings({**plain, **words})
    listed = {key: np.array(value) if isinstance(value, tuple) else value for key, value in plain.items()}
    assert record.settings({**listed, **words}) == record.settings({**plain, **words})
    if record.inputs is None:
        plain["num_args"] = numpys["num_args"] = 2
    variables = [mx.sym.Variable(key) for key in ("a", "b")] if record.inputs is None else []
    made = [getattr(mx.sym, name)(*variables, name="made", **values, **words) for values in (plain, numpys)]
    assert made[0].tojson() == made[1].tojson()
    node = mx.sym.load_json(made[1].tojson()).entries[0].node
    assert node.settings == record.settings({**plain, **words})


def word(parameter: Any) -> str | None:
    """Return one of the words that a parameter allows, None for another parameter."""
    try:
        parameter.read("?")
    except mx.MXNetError as error:
        found = re.search(r"\{(?:'', )?'([^']+)'", error.what)
        assert found is not None
        return found[1]
    except (SyntaxError, TypeError, ValueError):
        pass
    return None


def outs() -> dict[str, Any]:
    """Return a call of every function that takes `out`, which gives an array of two elements."""
    x = mx.nd.array([0.3, 0.8])
    made: dict[str, Any] = {name: partial(getattr(mx.nd, name), x) for name in UNARY}
    made |= {f"broadcast_{name}": partial(getattr(mx.nd, f"broadcast_{name}"), x, x) for name in ARITHMETIC}
    given = {"full": (2, 3), "zeros": (2,), "ones": (2,), "randint": (0, 5), "random_randint": (0, 5)}
    for module in (mx.nd, mx.random):
        for name in sorted({*dir(mx.nd), "randint", "randn"}):
            function = getattr(module, name, None)
            if inspect.isfunction(function) and "out" in inspect.signature(function).parameters:
                made[f"{module.__name__}.{name}"] = partial(function, *given.get(name, ()))
    return made


OUTS = outs()


def test_the_functions_that_take_out_were_found() -> None:
    assert {"primad.compat.mxnet.nd.ones", "primad.compat.mxnet.random.randint", "exp"} < set(OUTS)


@pytest.mark.parametrize("name", OUTS)
def test_out_is_written_and_returned(name: str) -> None:
    target = mx.nd.full(2, -7)
    view = target[0:1]
    assert OUTS[name](out=target) is target
    assert (target.asnumpy() != -7).all()
    np.testing.assert_array_equal(view.asnumpy(), target.asnumpy()[:1])  # in place


@pytest.mark.parametrize("name", ["exp", "square", "relu", "broadcast_mul"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_out_is_recorded(name: str, dtype: str) -> None:
    x = mx.nd.array([0.3, 0.8])
    x.attach_grad()
    target = mx.nd.zeros(2, dtype=dtype)
    call = getattr(mx.nd, name)
    operands = (x, x) if name.startswith("broadcast") else (x,)
    gradients = []
    for out in (None, target):
        with mx.autograd.record():
            y = call(*operands) if out is None else call(*operands, out=out)
            loss = (y * y).sum()
        loss.backward()
        gradients.append(x.grad.asnumpy())
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-6)
    assert np.abs(gradients[0]).min() > 0


def test_a_choice_that_is_refused_is_refused_when_a_symbol_runs_on_new_values() -> None:
    texec = mx.sym.take(mx.sym.Variable("a"), mx.sym.Variable("i"), mode="raise").bind(
        mx.cpu(), {"a": mx.nd.arange(5), "i": mx.nd.array([4])}
    )
    assert texec.forward()[0].asnumpy().tolist() == [4]
    with pytest.raises(mx.MXNetError, match="out of bound"):
        texec.forward(i=mx.nd.array([5]))


def test_writing_what_is_recorded_names_the_way_out() -> None:
    x, y = mx.nd.array([1.0, 2.0]), mx.nd.zeros(2)
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match="x = x \\+ y"):
        y += x
