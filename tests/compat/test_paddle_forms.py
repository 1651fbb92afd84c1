"""General checks of Paddle's forms: NaN, names, functions in place, weights, integers, whatever tensors they meet."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import primad.compat.paddle as paddle
from primad.compat.paddle.functions.inplace import IN_PLACE
from primad.compat.paddle.nn.functional import activation

NAN = float("nan")
F = paddle.nn.functional

NOT_ELEMENTWISE = {"softmax", "log_softmax", "glu", "maxout", "prelu"}
ACTIVATIONS = [name for name in F.__all__ if hasattr(activation, name) and name not in NOT_ELEMENTWISE]
SAME = "abs ceil cos cosh exp expm1 floor log log10 log1p log2 reciprocal sign sin sinh sqrt square tan tanh trunc"
REFERENCES = {
    **{name: getattr(np, name) for name in SAME.split()},
    "deg2rad": np.deg2rad, "rad2deg": np.rad2deg, "acos": np.arccos,
    "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "neg": np.negative, "round": np.round, "frac": lambda x: x - np.trunc(x),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
PAIRS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "mod": np.remainder,
    "floor_divide": np.floor_divide, "pow": np.power, "maximum": np.maximum, "minimum": np.minimum,
    "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp, "equal": np.equal, "not_equal": np.not_equal,
    "less_than": np.less, "less_equal": np.less_equal, "greater_than": np.greater, "greater_equal": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip


# -- NaN ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_of_one_tensor_are_numpys_and_keep_nan(name: str) -> None:
    values = np.array([0.3, NAN, 0.9, 1.5 if name == "acosh" else 1.0])
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](values)
    np.testing.assert_allclose(getattr(paddle, name)(paddle.to_tensor(values)).numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_tensors_are_numpys_and_keep_nan(name: str) -> None:
    x, y = np.array([0.3, NAN, 0.9, NAN, 1.0]), np.array([0.7, 0.5, NAN, NAN, 1.0])
    with np.errstate(all="ignore"):
        expected = PAIRS[name](x, y)
    found = getattr(paddle, name)(paddle.to_tensor(x), paddle.to_tensor(y)).numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_keep_nan(name: str) -> None:
    x = paddle.to_tensor([0.5, NAN, -1.0], stop_gradient=False)
    y = getattr(F, name)(x)
    assert np.isnan(y.numpy()).tolist() == [False, True, False]
    (y * paddle.to_tensor([1.0, 0.0, 1.0])).sum().backward()
    assert np.isfinite(x.grad.numpy()[[0, 2]]).all()


@pytest.mark.parametrize("name", ["clip", "max", "min", "sort"])
def test_other_extrema_keep_nan(name: str) -> None:
    x = paddle.to_tensor([0.5, NAN, -1.0])
    found = paddle.clip(x, -0.5, 0.2) if name == "clip" else getattr(paddle, name)(x)
    assert np.isnan(found.numpy()).sum() == 1


# -- functions in place ------------------------------------------------------------------------------------------------

ARGUMENTS: dict[str, Any] = {
    "cast_": ("float64",), "clip_": (0.4, 0.9), "flatten_": (), "index_add_": ("index", 0, "row"), "pow_": (2,),
    "masked_fill_": ("mask", 7.0), "reshape_": ([3, 2],), "scale_": (2.0, 1.0), "scatter_": ("index", "row"),
    "transpose_": ([1, 0],), "unsqueeze_": (0,), "lerp_": ("other", 0.25), "cumsum_": (1,),
}  # fmt: skip
INTEGERS = {"bitwise_not_", "bitwise_and_", "bitwise_or_", "bitwise_xor_"}


def operands(name: str, take_gradient: bool) -> tuple[Any, list[Any]]:
    """Return a tensor and the further arguments of a function in place."""
    kind = "int32" if name in INTEGERS else "float64"
    values = np.array([[1, 2, 3], [4, 5, 6]], kind)
    if kind == "float64":
        values = values / 8 + (1 if name == "acosh_" else 0)
    named = {
        "other": paddle.to_tensor(values * 2 if kind == "int32" else values + 0.5),
        "index": paddle.to_tensor([0]),
        "row": paddle.to_tensor([[9.0, 8.0, 7.0]], "float64"),
        "mask": paddle.to_tensor(values > 0.4),
    }
    two = len(inspect.signature(getattr(paddle, name.removesuffix("_"), paddle.subtract)).parameters) > 2
    given = ARGUMENTS.get(name, ("other",) if two and name not in NO_OTHER else ())
    made = [named.get(item, item) if isinstance(item, str) else item for item in given]
    return paddle.to_tensor(values, stop_gradient=not take_gradient), made


NO_OTHER = {"squeeze_", "tril_", "triu_"}


@pytest.mark.parametrize("name", IN_PLACE)
def test_functions_in_place_give_what_the_others_give(name: str) -> None:
    plain = {"sub_": "subtract", "mul_": "multiply", "div_": "divide"}.get(name, name.removesuffix("_"))
    differentiable = name not in INTEGERS
    x, arguments = operands(name, differentiable)
    results, gradients = [], []
    for function in (getattr(paddle, plain), getattr(paddle, name)):
        y = x * 1 if differentiable else x.clone()
        held, version = y.detach(), y.inplace_version
        z = function(y, *arguments)
        results.append(z.numpy())
        if function.__name__.endswith("_") and name in IN_PLACE and function is getattr(paddle, name):
            assert z is y
            assert y.inplace_version == version + 1
            np.testing.assert_array_equal(held.numpy(), z.numpy())
        if not z.stop_gradient:
            x.clear_gradient(False)
            (z * z).sum().backward()
            gradients.append(x.grad.numpy())
    assert results[0].dtype == results[1].dtype
    np.testing.assert_array_equal(results[1], results[0])
    assert len(gradients) in (0, 2)
    if gradients:
        np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-12)


@pytest.mark.parametrize("name", IN_PLACE)
def test_functions_in_place_refuse_leaves_that_need_a_gradient(name: str) -> None:
    if name in INTEGERS:
        return
    x, arguments = operands(name, True)
    before = x.numpy()
    with pytest.raises(ValueError, match="Leaf Var"):
        getattr(x, name)(*arguments)
    np.testing.assert_array_equal(x.numpy(), before)
    with paddle.no_grad():
        getattr(x, name)(*arguments)


def test_a_larger_result_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        paddle.ones([1, 3]).add_(paddle.ones([2, 3]))


# -- names -------------------------------------------------------------------------------------------------------------

COMPOSED = {"batch_norm", "masked_select", "normal", "sort", "topk"}
"""Functions of several operators, whose last one does not take the name."""


def samples() -> list[Any]:
    """Return argument lists, one of which most functions take."""
    block = paddle.static.default_main_program().global_block()

    def data(kind: str = "float32") -> Any:
        return paddle.static.data(f"x{len(block.vars)}", [2, 3], kind)

    return [
        (data(),), (data(), data()), (data(), 1), (data("bool"), data(), data()), (data(), data(), 0.5), ([2, 3],),
        ([2, 3], 2.0), (2,), ([data(), data()],), (data(), [3, 2]), (data(), [0], [0], [1]), (data("int32"),),
        (data("int32"), data("int32")), (data("int64"), data()), (0, 5, [2]), (0.0, 1.0, 3),
    ]  # fmt: skip


NAMED = [
    (module, name)
    for module in (paddle, F)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name)) and "name" in inspect.signature(getattr(module, name)).parameters
]


def test_programs_call_results_by_the_names_given_to_functions() -> None:
    paddle.enable_static()
    tried = 0
    try:
        for module, name in NAMED:
            with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
                result = None
                for arguments in samples():
                    try:
                        result = getattr(module, name)(*arguments, name="mine")
                        break
                    except (AttributeError, IndexError, TypeError, ValueError):
                        continue
                first = result[0] if isinstance(result, (list, tuple)) else result
                if first is not None and name not in COMPOSED:
                    tried += 1
                    assert first.name.startswith("mine.tmp_"), name
    finally:
        paddle.disable_static()
    assert tried > 160


# -- programs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def block() -> Any:
    paddle.enable_static()
    with (
        paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        paddle.utils.unique_name.guard(),
    ):
        yield paddle.static.default_main_program().global_block()
    paddle.disable_static()


def fetch(*variables: Any, **feed: Any) -> list[Any]:
    executor = paddle.static.Executor()
    executor.run(paddle.static.default_startup_program())
    return executor.run(feed=feed, fetch_list=list(variables))  # type: ignore[no-any-return]


def test_bits_in_programs(block: Any) -> None:
    x, y = (paddle.static.data(name, [3], "int32") for name in "xy")
    p, q = x > 1, y > 1
    values = {"x": np.array([5, -3, 0], "int32"), "y": np.array([3, 6, -1], "int32")}
    a, b = values["x"], values["y"]
    found = fetch(~x, x & y, x | y, x ^ y, ~p, p & q, p | q, p ^ q, **values)
    c, d = a > 1, b > 1
    for got, expected in zip(found, (~a, a & b, a | b, a ^ b, ~c, c & d, c | d, c ^ d), strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype
    assert [op.type for op in block.ops if op.type.startswith("bitwise")][:2] == ["bitwise_not", "bitwise_and"]


def test_variables_and_parameters_of_a_block(block: Any) -> None:
    first, second = block.create_var(), block.create_var(shape=[2], dtype="int64")
    assert (first.name, second.name, second.shape) == ("_generated_var_0", "_generated_var_1", (2,))
    fixed = block.create_parameter([2, 3], "float32", name="p", initializer=paddle.nn.initializer.Constant(2.0))
    named = block.create_parameter(shape=[2], dtype="float32", trainable=False)
    assert (named.name, named.trainable, fixed.trainable) == ("_generated_var_2", False, True)
    assert [parameter.name for parameter in block.all_parameters()] == ["p", "_generated_var_2"]
    np.testing.assert_array_equal(fetch(fixed * 2)[0], np.full((2, 3), 4.0))
    with pytest.raises(ValueError, match="greater than 0"):
        block.create_parameter(shape=[2, -1], dtype="float32")


def test_parts_of_a_split_that_are_not_used_have_zeros_as_gradients(block: Any) -> None:
    x = paddle.static.data("x", [2, 3])
    x.stop_gradient = False
    parts = paddle.split(x, 3, 1)
    found = paddle.static.gradients(parts[0] * 2, [x, *parts])
    values = fetch(*found, x=np.ones((2, 3), "float32"))
    for got, expected in zip(values, ([[2, 0, 0]] * 2, [[2]] * 2, [[0]] * 2, [[0]] * 2), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert paddle.static.gradients(parts[0] * 2, parts)[1:] == [None, None]


@pytest.mark.parametrize("function", ["split", "unbind", "unstack", "chunk"])
def test_results_that_are_not_used_have_zeros_as_gradients(function: str) -> None:
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    parts = getattr(paddle, function)(x, *([3] if function in ("split", "chunk") else []))
    other = paddle.to_tensor(1.0, stop_gradient=False)
    found = paddle.grad(parts[1] * 2, [x, *parts, other], allow_unused=True)
    assert [None if g is None else g.numpy().ravel().tolist() for g in found] == [[0, 2, 0], [0], [2], [0], None]


# -- detached tensors --------------------------------------------------------------------------------------------------


def test_detached_tensors_are_let_go() -> None:
    x = paddle.ones([2])
    for _ in range(100):
        held = x.detach()
    assert len(x._peers) < 4
    held.detach()[0] = 3.0
    assert x.tolist() == [3.0, 1.0]


def test_a_writer_of_any_kind_writes_for_all() -> None:
    layer = paddle.nn.Linear(2, 2)
    held = layer.weight.detach()
    layer.to(dtype="float64")
    assert held.dtype == paddle.float64
    layer.weight.set_value(np.ones([2, 2]))
    assert held.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with paddle.no_grad():
        layer.weight.zero_()
        held.add_(paddle.ones([2, 2], "float64"))
    assert layer.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]
