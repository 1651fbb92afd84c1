"""What functions under SciPy's paths share: SciPy's own on plain arrays, and how operands are taken otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.numpy.promotion import any_traced, as_float, convert, traced_operands
from primad.numpy.shapes.ordering import values_of
from primad.ops.linalg import factorization
from primad.recording.traced_array import settled

F = TypeVar("F", bound=Callable[..., Any])


def mirrors_of(module: str) -> Callable[[F], F]:
    """Return a decorator: the function is that of the same name of a module of SciPy's where nothing is traced."""

    def mirrors(function: F) -> F:
        @wraps(function)
        def mirror(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
            if any_traced([*args, *kwargs.values()]):
                return function(*args, **kwargs)
            return getattr(import_module(module), function.__name__)(*args, **kwargs)

        return cast(F, mirror)

    return mirrors


mirrors = mirrors_of("scipy.linalg")


def floats(*values: Any, beside: Sequence[Any] = ()) -> list[Any]:
    """Return operands as traced floats of one dtype, where one of them, or of other values, is traced."""
    others = [value for value in beside if any_traced([value])]
    found = [as_float(x) for x in traced_operands(*values, *others)[: len(values)]]
    dtype = np.result_type(*[x.dtype for x in found])
    return [convert(x, dtype) for x in found]


def known(value: Any, what: str, fix: str) -> Any:
    """Return the values of an array, traced or plain.

    Args:
        value: the array.
        what: for which the values are needed.
        fix: what to pass where only types are known.

    Raises:
        TracingError: where only types are known.
    """
    try:
        return values_of(value, what)
    except TracingError as error:
        if error.only_types:
            raise error.with_fix(fix) from None
        raise


def square(name: str, a: Any) -> Any:
    """Return a stack of square matrices of floats; raise for others."""
    (a,) = floats(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(
            f"scipy.linalg.{name} takes square matrices, the last two axes; got shape {a.shape}",
            fix="give as many rows as columns.",
        )
    return a


def mirrored(a: Any, lower: bool) -> Any:
    """Return the symmetric matrix of which one triangle is given."""
    return factorization.mirrored(a if lower else factorization.transposed(a))


def hermitian(a: Any, lower: bool) -> Any:
    """Return the Hermitian matrix of which one triangle is given: of real numbers the symmetric one."""
    return factorization.hermitian(a if lower else factorization.adjoint(a))


def within(a: Any, bands: int) -> Any:
    """Return matrices with zeros further from the diagonal than so many bands."""
    n = np.arange(a.shape[-1])
    return ops.mask(np.broadcast_to(np.abs(n[:, None] - n) <= bands, a.shape), a)


def by_cholesky(factor: Any, b: Any) -> Any:
    """Solve with the lower factor of positive definite matrices."""
    half = ops.solve_triangular(factor, b, lower=True, transpose=False, unit=False)
    return ops.solve_triangular(factorization.conjugated(factor), half, lower=True, transpose=True, unit=False)
