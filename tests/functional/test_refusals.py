"""What functions of functions refuse, and what stands just beside it and is taken."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import NotDifferentiableError, PrimadError, ShapeError, TracingError

X = np.array([1.0, 2.0, 3.0])
NARROW = X.astype(np.float32)
Case = tuple[Callable[[], Any], type[PrimadError], str]


def with_rule(forward: Any, backward: Any) -> Any:
    function = primad.custom_vjp(lambda x: x * 2.0)
    function.defvjp(forward, backward)
    return primad.grad(lambda x: np.sum(function(x)))


def traced_cond(true: Any, false: Any, *args: Any) -> Any:
    return primad.trace(lambda pred, *given: primad.cond(pred, true, false, *given))(True, *args)


REFUSED: dict[str, Case] = {
    **{
        f"order {order} of {name}": (call, ShapeError, "the order must be an integer ≥ 0")
        for order in (-1, 1.5, "2")
        for name, call in {
            "derivative": lambda order=order: primad.derivative(np.exp, order)(1.0),
            "taylor": lambda order=order: primad.taylor(np.exp, 1.0, 1.0, order),
        }.items()
    },
    **{
        f"in_axes {axis}": (lambda axis=axis: primad.vmap(np.sin, in_axes=axis)(X), ShapeError, "vmap: in_axes")
        for axis in (1, -2, 0.5, "0")
    },
    **{
        f"out_axes {axis}": (lambda axis=axis: primad.vmap(np.sin, 0, axis)(X), ShapeError, "vmap: out_axes")
        for axis in (1, -2, 0.5, "0")
    },
    "holomorphic, of a real argument": (
        lambda: primad.jacobian(lambda x: x * 1j, holomorphic=True)(X), NotDifferentiableError, "not complex",
    ),
    "holomorphic, of a real result": (
        lambda: primad.jacobian(np.abs, holomorphic=True)(X * 1j), NotDifferentiableError, "not complex",
    ),
    "cond, zeros of another type": (
        lambda: traced_cond(lambda x, y: np.zeros_like(x), lambda x, y: y, X, NARROW), ShapeError, "has one type",
    ),
    "cond, a number and an array": (
        lambda: traced_cond(lambda x: 0.0, lambda x: x, X), ShapeError, "broadcast_to a number",
    ),
    "cond, a fraction and an integer": (
        lambda: traced_cond(lambda k: 1.5, lambda k: k, 3), ShapeError, "has one type",
    ),
    "cond, of a list": (
        lambda: primad.trace(lambda x: primad.cond([x > 0], np.sin, np.cos, x))(1.0), ShapeError, "got a list",
    ),
    "switch, an index with an axis": (
        lambda: primad.switch(np.array([0, 1]), [np.sin, np.cos], 1.0), ShapeError, r"without axes, got int64\[2\]",
    ),
    "switch, an index with a fraction": (
        lambda: primad.switch(0.5, [np.sin, np.cos], 1.0), ShapeError, "must be an integer",
    ),
    "scan, a triple": (
        lambda: primad.scan(lambda c, x: (c, x, x), 0.0, X), ShapeError, "got a tuple of 3",
    ),
    "scan, a list": (lambda: primad.scan(lambda c, x: [c, x], 0.0, X), ShapeError, "got a list"),
    "scan, an integer that becomes a fraction": (
        lambda: primad.scan(lambda c, x: (0.5, x), np.int64(1), X), ShapeError, "has type int64",
    ),
    "scan, types that change step by step": (
        lambda: primad.scan(lambda c, x: ((c[0] + x, c[1] + c[0], c[2] + c[1]), x), (0, 0, 0), NARROW),
        ShapeError, r"the carry\[2\] has type int64\[\] before a step .* and float",
    ),
    "derivative of two results": (
        lambda: primad.derivative(lambda x: (x, x))(X), NotDifferentiableError, "elementwise",
    ),
    "derivative by two arrays": (
        lambda: primad.derivative(lambda d: d["a"] * d["b"])({"a": X, "b": X}), NotDifferentiableError, "elementwise",
    ),
    "has_aux, a triple": (
        lambda: primad.value_and_grad(lambda x: (x, 1, 2), has_aux=True)(1.0), ShapeError, "returns a pair",
    ),
    "has_aux, a list": (lambda: primad.grad(lambda x: [x, 1], has_aux=True)(1.0), ShapeError, "returns a pair"),
    "a negative constant argument": (lambda: primad.custom_jvp(np.sin, (0, -1)), ShapeError, "must not be negative"),
    "no rule": (lambda: primad.grad(primad.custom_vjp(np.sin))(1.0), NotDifferentiableError, "has no rule"),
    "a rule of three": (
        lambda: with_rule(lambda x: (x, x, x), lambda res, ct: (ct,))(X), ShapeError, r"must return a pair",
    ),
    "a rule of a list": (
        lambda: with_rule(lambda x: [x, x], lambda res, ct: (ct,))(X), ShapeError, "must return a pair",
    ),
    "texts": (lambda: primad.jit(lambda a, b, x: x)("a", "b", 1.0), TracingError, r"static_argnums=\(0, 1\)"),
    "a text beside a dict": (lambda: primad.jit(lambda d, a: d)({"a": 1.0}, "a"), TracingError, "static_argnums=1,"),
    "a text beside a static one": (
        lambda: primad.jit(lambda a, b: 1.0, static_argnums=0)("a", "b"), TracingError, r"static_argnums=\(0, 1\)",
    ),
    "entries of a matrix in views": (
        lambda: primad.jacobian(lambda x: x * x)(X).sparse("csr", out=_strided()), ShapeError, "the entries of out",
    ),
}  # fmt: skip


def _strided() -> Any:
    found = primad.jacobian(lambda x: x * x)(X).sparse("csr")
    found.data = np.zeros(6)[::2]
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, error, said = REFUSED[name]
    with pytest.raises(error, match=said):
        call()


def lists_of_numbers() -> Any:
    return primad.scan(lambda c, x: ((c[0] + x, c[1] + c[0]), x), (0, 0), NARROW)[0]


TAKEN: dict[str, tuple[Callable[[], Any], Any]] = {
    "order 0": (lambda: [primad.derivative(np.exp, 0)(0.0), *primad.taylor(np.exp, 0.0, 1.0, 0)], [1.0, 1.0]),
    "an order of NumPy's": (lambda: primad.derivative(np.exp, np.int64(2))(0.0), 1.0),
    "an axis of NumPy's": (lambda: primad.vmap(np.sum, in_axes=np.int64(-1))(np.ones((2, 3))), [2.0, 2.0, 2.0]),
    "a fraction where an integer begins": (lambda: primad.scan(lambda c, x: (0.5, c), 1, X)[0], 0.5),
    "types that change in two steps": (lists_of_numbers, [6.0, 4.0]),
    "a number beside a float": (lambda: traced_cond(lambda x: 2, lambda x: x, 1.5)(False, 1.5), 1.5),
    "a cotangent of an integer": (lambda: primad.vjp(lambda x: (x, 3), X)[1]((X, np.array(0.5)))[0], X),
    "the first argument is a constant": (
        lambda: primad.custom_jvp(lambda n, x: n * x, nondiff_argnums=(0,))(3, X), 3 * X,
    ),
    "a static argument behind those that have a name": (
        lambda: primad.jit(lambda x, *rest: x * len(rest[0]), static_argnums=1)(2.0, "abc"), 6.0,
    ),
    "the second of those behind": (
        lambda: primad.jit(lambda x, *rest: x * len(rest[1]), static_argnums=2)(2.0, 1.0, "abc"), 6.0,
    ),
    "a block of a Hessian": (
        lambda: primad.hessian(lambda x, y: np.sum(x * y[:3] * y[1:]), (0, 1))(X, np.arange(4.0))[0][1]
        .sparse("csr").toarray(),
        [[1, 0, 0, 0], [0, 2, 1, 0], [0, 0, 3, 2]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_what_stands_beside_it_is_taken(name: str) -> None:
    call, expected = TAKEN[name]
    np.testing.assert_array_equal(call(), expected)


def test_what_closes_over_a_recording_is_kept_for_nobody() -> None:
    def outer(x: Any) -> Any:
        inner = primad.jit(lambda y: y * x)
        found = inner(2.0)
        assert inner.programs() == []
        return found

    assert primad.grad(outer)(3.0) == 2.0


def test_static_arguments_are_found_among_as_many_as_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primad.functional.jit.MOST_KEPT", 2)
    times = primad.jit(lambda n, x: n * x, static_argnums=0)
    assert [float(times(n, 2.0)) for n in (1, 2, 3, 1, 2, 3)] == [2.0, 4.0, 6.0, 2.0, 4.0, 6.0]


def test_kinds_of_arguments_that_jax_would_trace() -> None:
    class OnlyShape:
        shape = (3,)

    class OnlyDtype:
        dtype = np.dtype(float)

    from primad.functional.export.from_jax import _is_array
    from primad.functional.export.to_jax import _type_of

    assert [_type_of(x).dtype.kind for x in (X, True, 1, 1.5, 1j)] == ["f", "b", "i", "f", "c"]
    for other in (OnlyShape(), OnlyDtype()):
        with pytest.raises(TracingError):
            _type_of(other)
    assert [_is_array(x) for x in (X, 1.0, 1j, np.float32(1))] == [True] * 4
    assert [_is_array(x) for x in (1, True, "a", OnlyShape(), OnlyDtype())] == [False] * 5


def test_a_program_is_pickled_with_each_of_a_users_ops_once() -> None:
    reduced = copyreg.dispatch_table[primad.Program]
    found = reduced(primad.trace(lambda x: measured(measured(x) * 2.0))(X))
    assert isinstance(found, tuple) and [op.name for op in found[1][1]] == ["measured"]
    with pytest.raises(TracingError, match=r"that applies measured with \w+ cannot be pickled"):
        reduced(primad.trace(lambda x: measured({"of": x})["of"])(X))


@primad.opaque(result=lambda x: x)
def measured(x: Any) -> Any:
    return x
