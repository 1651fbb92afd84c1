"""Checking a function's derivatives numerically, and what is said of where they are zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.complex_checks import check_holomorphic
from primad.functional.derivatives.first_order import jvp, vjp
from primad.recording import tree
from primad.recording.tracing import check_function, type_of
from primad.system.tracebacks import entrance

Function = Callable[..., Any]

_STENCIL = ((1, 672.0), (2, -168.0), (3, 32.0), (4, -3.0))
"""Central difference of order 8: f′(0) ≈ Σ w_k (f(kh) − f(−kh)) / (840 h)  (Fornberg, Math. Comp. 51, 1988)."""


@entrance
def check_grads(
    function: Function,
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    rtol: float = 1e-6,
    atol: float = 1e-8,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    holomorphic: bool = False,
) -> None:
    """Compare a function's derivatives with central differences along random directions.

    Args:
        function: a function of float64 or complex128 arrays (or pytrees), smooth near `args`.
        args: its arguments.
        order: up to which order; each order checks the derivative of the one before.
        modes: 'fwd', 'rev' or both.
        rtol: relative tolerance on each element.
        atol: absolute tolerance on each element.
        seed: of the directions.
        params: keywords that the function is called with, which stay what they are.
        holomorphic: whether it is checked, too, that the function is a holomorphic one of complex arguments: a step i t
            changes it by i times as much as a step t, as the Cauchy–Riemann equations say.

    Raises:
        AssertionError: where they disagree, saying the order, the mode and both values, and where the function is said
            to be holomorphic and is not.
        NotDifferentiableError: for arguments in less than 64 bits, whose differences would be too coarse; for real
            arguments or results of a function that is said to be holomorphic.

    Example:
        >>> import numpy as np, primad
        >>> primad.check_grads(lambda x: np.sin(x) / x, (np.array([0.5, 2.0]),), order=3)
        >>> primad.check_grads(lambda z: np.sin(z) / z, (np.array([0.5 + 1j, 2.0]),), holomorphic=True)
    """
    check_function(function)
    for leaf in tree.leaves(tuple(args)):
        if np.asarray(leaf).dtype not in (np.float64, np.complex128):
            raise NotDifferentiableError(
                f"check_grads needs float64 or complex128 arguments, got {np.asarray(leaf).dtype}",
                why="Derivatives are judged by differences, too coarse in lower precision; integers have none.",
                fix="convert it with .astype(float), or .astype(complex) if it is complex; what is no number to "
                "differentiate by is given by params=, or is taken by the function from outside.",
            )
    rng = np.random.default_rng(seed)
    if params:
        function = update_wrapper(partial(function, **params), function)
    if holomorphic:
        for leaf in tree.leaves(function(*args)):
            check_holomorphic([type_of(x) for x in tree.leaves(tuple(args))], type_of(leaf), True, "check_grads")
    _check(function, tuple(args), order, tuple(modes), rtol, atol, rng, 1, holomorphic)


def _direction(rng: np.random.Generator, like: Any) -> Any:
    def one(leaf: Any) -> Any:
        found = rng.normal(size=np.shape(leaf))
        found = found + 1j * rng.normal(size=np.shape(leaf)) if np.iscomplexobj(leaf) else found
        return found / max(1.0, np.sqrt(np.size(leaf)))

    return tree.map(one, like)


def _check(
    function: Function,
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    rtol: float,
    atol: float,
    rng: np.random.Generator,
    level: int,
    holomorphic: bool,
) -> None:
    tangents = _direction(rng, args)
    expected = _difference(function, args, tangents)
    name = getattr(function, "__name__", "function")
    if holomorphic:
        turned = _difference(function, args, tree.map(lambda t: 1j * t, tangents))
        for found, along in zip(turned, expected, strict=True):
            what = f"{name}, order {level}, is not holomorphic: its change along i t is not i times that along t"
            _compare(found, 1j * along, rtol, atol, what)
    pushed: Any = None
    if "fwd" in modes:
        _, tangent = jvp(function, args, tangents)
        pushed = tree.leaves(tangent)
        for found, wanted in zip(pushed, expected, strict=True):
            _compare(found, wanted, rtol, atol, f"{name}, order {level}, forward mode")
    if "rev" in modes:
        value, pullback = vjp(function, *args)
        cotangent = _direction(rng, value)
        pulled = _inner(tree.leaves(pullback(cotangent)), tree.leaves(tangents))
        wanted = _inner(tree.leaves(cotangent), expected)
        _compare(pulled, wanted, rtol, atol, f"{name}, order {level}, reverse mode (⟨w, J v⟩)")
    if order > 1:
        rest: Any = (modes, rtol, atol, rng, level + 1, holomorphic)
        if "fwd" in modes:
            _check(lambda *x: jvp(function, x, tangents)[1], args, order - 1, *rest)
        if "rev" in modes:
            _check(lambda *x: vjp(function, *x)[1](cotangent), args, order - 1, *rest)


def _inner(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return the pairing Σ xy, of complex numbers its real part."""
    return sum(np.sum(np.asarray(x) * np.asarray(y)).real for x, y in zip(xs, ys, strict=True))


def _difference(function: Function, args: tuple[Any, ...], tangents: Any, step: float = 2e-2) -> list[Any]:
    total: list[Any] | None = None
    for k, weight in _STENCIL:
        ahead = tree.leaves(function(*tree.map(lambda x, t, k=k: x + k * step * t, args, tangents)))
        behind = tree.leaves(function(*tree.map(lambda x, t, k=k: x - k * step * t, args, tangents)))
        terms = [weight * (np.asarray(a) - np.asarray(b)) for a, b in zip(ahead, behind, strict=True)]
        total = terms if total is None else [s + t for s, t in zip(total, terms, strict=True)]
    assert total is not None
    return [t / (840.0 * step) for t in total]


def _compare(found: Any, expected: Any, rtol: float, atol: float, what: str) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=what)


def check_declared(found: Any, declared: Any, name: str, fix: str, row_name: str = "result") -> None:
    """Raise if a declared pattern misses an entry of a matrix.

    Args:
        found: the matrix, in SciPy's format 'csr'.
        declared: the pattern: a sparse array, or an array.
        name: of it, for the message.
        fix: what gives a pattern that misses none.
        row_name: what a row is.
    """
    from scipy.sparse import csr_array  # loads when it is called

    places = csr_array(declared) != 0
    if places.shape != found.shape:
        raise ShapeError(
            f"{name} of shape {places.shape} for a Jacobian of {found.shape}",
            fix=f"declare a pattern of shape {found.shape}.",
        )
    missed = (found != 0).astype(int) - (found != 0).multiply(places).astype(int)
    missed.eliminate_zeros()
    if missed.nnz:
        row, column = (part[0] for part in missed.nonzero())
        more = f", and {missed.nnz - 1} more" if missed.nnz > 1 else ""
        raise ShapeError(
            f"{name} misses an entry: the derivative of {row_name} {row} in parameter {column} is "
            f"{found[row, column]:.3g}{more}",
            fix=f"pass {fix}, which misses none.",
        )
