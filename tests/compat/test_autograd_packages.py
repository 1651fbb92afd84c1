"""What packages written for autograd ask of it, as a class each: indices, boxes, sequences of arrays."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import primad
from primad import numpy as pn
from primad.compat import autograd
from primad.compat.autograd import builtins


class Labelled:
    """A column with labels, as pandas has it."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def to_numpy(self) -> Any:
        return self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def __len__(self) -> int:
        return len(self.values)


COLUMN = slice(None)
INDICES = {
    "a tuple among others": (COLUMN, (0,)),
    "a tuple first": ((0, 1), COLUMN),
    "two tuples": ((0, 1), (1, 2)),
    "nested tuples": (COLUMN, ((0, 1), (1, 2))),
    "an empty tuple": ((), COLUMN),
    "booleans in a tuple": ((True, False, True), COLUMN),
    "a range": range(2),
    "a range among others": (range(2, -1, -1), slice(1, 3)),
    "an empty range": (COLUMN, range(0)),
    "labels": Labelled([0, 2]),
    "labelled booleans": Labelled([True, False, True]),
    "labels among others": (None, COLUMN, Labelled([0, 2])),
}


@pytest.mark.parametrize("kind", INDICES)
def test_indices_that_numpy_takes(kind: str) -> None:
    x, weights, index = np.arange(12.0).reshape(3, 4), np.cos(np.arange(12.0)).reshape(3, 4), INDICES[kind]
    plain = tuple(map(_plain, index)) if isinstance(index, tuple) else _plain(index)
    times = np.zeros((3, 4))
    np.add.at(times, plain, 1.0)
    chosen = times > 0.0

    def taken(x: Any) -> Any:
        return np.sum((x * weights)[index])

    def written(x: Any) -> Any:
        copy = pn.copy(x)
        copy[index] = 3.0 * copy[index]
        return np.sum(copy * weights)

    np.testing.assert_allclose(primad.grad(taken)(x), times * weights)
    np.testing.assert_allclose(primad.grad(written)(x), (1.0 + 2.0 * chosen) * weights)
    np.testing.assert_allclose(
        primad.grad(lambda x: np.sum(pn.set_at(x, index, 0.0) * weights))(x), (1.0 - chosen) * weights
    )


def _plain(item: Any) -> Any:
    return np.asarray(item.to_numpy()) if isinstance(item, Labelled) else item


def test_columns_with_labels_stay_refused_as_operands() -> None:
    with pytest.raises(primad.TracingError, match="goes by labels"):
        primad.grad(lambda x: np.sum(x * Labelled([1.0, 2.0])))(np.ones(2))


def test_boxes_are_told_by_their_classes_and_give_their_values() -> None:
    from primad.compat.autograd.numpy.numpy_boxes import ArrayBox

    seen: list[Any] = []

    def f(x: Any, d: Any, pair: Any) -> Any:
        seen.append([type(x) is ArrayBox, isinstance(d, builtins.DictBox), isinstance(pair, builtins.SequenceBox)])
        seen.append([isinstance(each, builtins.DictBox) for each in ({"a": 1.0}, [x], x)])
        raw = x
        while isinstance(raw, ArrayBox):
            raw = raw._value
        seen.append(raw)
        return x * d["a"] * pair[1]

    inner = autograd.grad(lambda x: autograd.grad(f, (0, 1, 2))(x, {"a": x}, [x, 2.0])[0])
    assert inner(3.0) == 2.0
    assert seen == [[True] * 3, [False] * 3, 3.0] * (len(seen) // 3) and type(seen[-1]) is np.float64
    assert not hasattr(np.ones(2), "_value") and not isinstance([1.0], builtins.SequenceBox)


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "column_stack"])
def test_arrays_are_joined_from_any_iterable(name: str) -> None:
    joined = getattr(autograd.numpy, name)
    parts = {"a": np.ones(2), "b": np.full(2, 3.0)}
    for given in (lambda d: d.values(), lambda d: (d[key] for key in d), lambda d: tuple(d.values())):
        np.testing.assert_array_equal(joined(given(parts)), joined(list(parts.values())))
        found = autograd.grad(lambda d, given=given: np.sum(joined(given(d)) ** 2))(parts)
        np.testing.assert_array_equal(found["b"], 2.0 * parts["b"])


def test_what_a_primitive_wraps_is_found_as_in_autograd() -> None:
    wrapped = autograd.primitive(np.sin)
    assert wrapped._is_autograd_primitive and wrapped.fun is np.sin


def _complex_primitives() -> dict[str, tuple[Any, Any]]:
    """Return primitives of complex numbers with rules, beside the same function that is recorded."""
    cube, pushed, square = (autograd.primitive(f) for f in (lambda z: z**3, lambda z: z**3, lambda z: np.abs(z) ** 2))
    autograd.defvjp(cube, lambda ans, z: lambda g: 3.0 * g * z**2)
    autograd.defjvp(pushed, lambda g, ans, z: 3.0 * g * z**2)
    autograd.defvjp(square, lambda ans, z: lambda g: 2.0 * g * np.conj(z))
    turned = autograd.primitive(lambda x, z: x * z)
    autograd.defvjp(turned, lambda ans, x, z: lambda g: np.real(g * z), lambda ans, x, z: lambda g: g * x)
    return {
        "holomorphic": (cube, lambda z: z**3),
        "by forward rules": (pushed, lambda z: z**3),
        "of real values": (square, lambda z: np.abs(z) ** 2),
        "of a real and a complex operand": (lambda z: turned(np.real(z), z), lambda z: np.real(z) * z),
    }


@pytest.mark.parametrize("kind", _complex_primitives())
@pytest.mark.parametrize("dtype", [complex, np.complex64])
def test_rules_of_complex_arguments_are_asked_and_never_zero(kind: str, dtype: Any) -> None:
    own, recorded = _complex_primitives()[kind]
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j], dtype)
    for f in (lambda z: np.sum(np.abs(z + 1.0) ** 2), lambda z: np.sum(np.real(z * z * (2.0 - 1.0j)))):
        found, expected = (autograd.grad(lambda z, g=g, f=f: f(g(z)))(z) for g in (own, recorded))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype is np.complex64 else 1e-13)


def test_rules_of_functions_that_no_primitive_made() -> None:
    special = autograd.scipy.special
    autograd.defjvp(special.expit, lambda g, ans, x: g * ans * (1.0 - ans))
    autograd.defvjp(autograd.numpy.multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    autograd.extend.defjvp(autograd.numpy.arctan2, lambda g, ans, x, y: -g * x / (x**2 + y**2), argnums=(1,))
    for kind, rule in (("defvjp", lambda ans, x: lambda g: g), ("defjvp", lambda g, ans, x: g), ("defvjp", None)):
        with pytest.raises(primad.TracingError, match=f"(?s){kind}: 'sin' was not made by primitive.*say otherwise"):
            getattr(autograd, kind)(autograd.numpy.sin, rule)
    with pytest.raises(primad.TracingError, match="cannot be compared"):
        autograd.defvjp(autograd.numpy.sin, lambda ans, x: lambda g: [].pop())
    with pytest.raises(primad.TracingError, match="was not made by primitive"):
        autograd.extend.defvjp_argnum(autograd.numpy.sin, lambda *args: lambda g: g)

    def square(x: Any) -> Any:
        return x**2

    autograd.defvjp(square, lambda ans, x: lambda g: 5.0 * g)  # it is recorded, as in autograd
    assert autograd.grad(square)(3.0) == 6.0 and autograd.grad(special.expit)(0.0) == 0.25


def _of_matrices() -> dict[str, tuple[Any, dict[str, Any]]]:
    linalg, transposed = autograd.numpy.linalg, lambda a: a.swapaxes(-1, -2)

    def through_blocks(ans: Any, x: Any) -> Any:  # geomstats' rule of expm
        def pull(g: Any) -> Any:
            return autograd.scipy.linalg.expm(np.block([[x.T, g], [np.zeros_like(x), x.T]]))[: len(x), len(x) :]

        return pull

    return {
        "inv": (linalg.inv, {"defvjp": lambda ans, x: lambda g: -ans.T @ g @ ans.T}),
        "expm": (autograd.scipy.linalg.expm, {"defvjp": through_blocks}),
        "det": (linalg.det, {"defvjp": lambda ans, x: lambda g: g * ans * transposed(np.linalg.inv(x))}),
        "solve": (linalg.solve, {"defjvp": lambda g, ans, a, b: -np.linalg.solve(a, g @ ans)}),
    }


@pytest.mark.parametrize("name", _of_matrices())
def test_rules_of_functions_of_matrices_are_compared_at_matrices(name: str) -> None:
    function, rules = _of_matrices()[name]
    for kind, rule in rules.items():
        getattr(autograd.extend, kind)(function, rule)
        for slip in (-1.0, 1.0 + 1e-6):
            wrong = {
                "defvjp": lambda ans, *args, rule=rule, slip=slip: lambda g: slip * rule(ans, *args)(g),
                "defjvp": lambda g, ans, *args, rule=rule, slip=slip: slip * rule(g, ans, *args),
            }[kind]
            with pytest.raises(primad.TracingError, match="say otherwise"):
                getattr(autograd.extend, kind)(function, wrong)


def test_rules_by_the_names_that_autograd_had_before() -> None:
    def product() -> Any:
        return autograd.primitive(lambda x, y: x * y)

    made = [product() for _ in range(3)]
    with pytest.warns(UserWarning, match="is deprecated"):
        made[0].defgrad(lambda ans, x, y: lambda g: y * g)
        made[0].defgrad(lambda ans, x, y: lambda g: x * g, argnum=1)
        made[1].defvjp(lambda g, ans, vs, gvs, x, y: y * g + 0.0 * vs.zeros() + 0.0 * gvs.zeros())
        made[1].defvjp(lambda g, ans, vs, gvs, x, y: x * g, argnum=1)
        made[2].defvjp_is_zero([0, 1])
    for function, factor in zip(made, (1.0, 1.0, 0.0), strict=True):
        assert autograd.grad(function, 0)(3.0, 5.0) == 5.0 * factor
        assert autograd.grad(function, 1)(3.0, 5.0) == 3.0 * factor
    with pytest.warns(UserWarning, match="quick_grad_check is deprecated"):
        autograd.util.quick_grad_check(made[0], 1.5, (2.0,))
    with pytest.warns(UserWarning), pytest.raises(AssertionError):
        autograd.util.quick_grad_check(made[2], 1.5, (2.0,))


def test_where_of_plain_numbers_gives_them_back_plain() -> None:
    where = autograd.numpy.where
    assert type(where(True, 1, 2)) is int and type(where(False, 1, 2.0)) is float
    assert where([True, False], [1, 2], [3, 4]) == [1, 4] and where(np.array([True, False]))[0] == [0]
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(where(condition=x > 1.5, y=x, x=-x), [1.0, -2.0])
    np.testing.assert_array_equal(autograd.grad(lambda x: np.sum(where(x > 1.5, x, y=3.0 * x)))(x), [3.0, 1.0])
    with pytest.raises(ValueError, match="both or neither"):
        where(x > 1.5, x)


def test_of_real_numbers_rules_give_real_derivatives() -> None:
    turn = 0.6 + 0.8j
    spun = autograd.primitive(lambda x: x * turn)
    autograd.defvjp(spun, lambda ans, x: lambda g: g * turn)  # complex, of which autograd takes the real part too
    size = autograd.primitive(lambda z: np.real(z * np.conj(z)))
    autograd.defjvp(size, lambda g, ans, z: 2.0 * g * np.conj(z))
    x, direction = np.array([0.5, -2.0]), np.array([1.0, 3.0])
    for f in (lambda x: autograd.numpy.real(spun(x)) ** 3, lambda x: size(x * turn)):
        g = lambda x, f=f: autograd.numpy.sum(f(x))  # noqa: E731
        expected = {True: 3.0 * 0.6**3 * x**2, False: 2.0 * x}[f(1.0) != 1.0]
        np.testing.assert_allclose(autograd.grad(g)(x), expected)
        if f(1.0) == 1.0:
            np.testing.assert_allclose(autograd.make_jvp(g)(x)(direction)[1], expected @ direction)


@pytest.mark.parametrize("transform", [primad.grad, primad.jit, primad.hessian, primad.vmap])
def test_an_error_that_a_function_catches_is_no_number(transform: Any) -> None:
    def truncated(x: Any) -> Any:
        try:
            return math.exp(x)
        except:  # noqa: E722 as packages write it, against overflow
            return sys.float_info.max

    x = np.linspace(0.1, 0.5, 3) if transform is primad.vmap else 0.5
    with pytest.raises(primad.TracingError, match=r"(?s)math\.exp\(x\).*caught this error and went on.*np\.exp"):
        transform(lambda x: x / (truncated(x) + 1.0))(x)

    def length_or_one(x: Any) -> Any:
        try:
            return float(x)
        except TypeError:  # what x is, not what is computed of it
            return np.sqrt(x)

    assert primad.grad(length_or_one)(4.0) == 0.25


def test_an_own_start_of_spaces_changes_no_other_space(monkeypatch: pytest.MonkeyPatch) -> None:
    from primad.compat.autograd.extend import vspace
    from primad.compat.autograd.numpy import numpy_vspaces

    monkeypatch.setattr(numpy_vspaces.ArrayVSpace, "__init__", lambda self, value: None)
    assert vspace(np.ones(2)).shape == (2,)
    with pytest.raises(AttributeError, match="numpy_vspaces"):
        _ = numpy_vspaces.register
