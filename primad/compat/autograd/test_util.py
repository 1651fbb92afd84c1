"""Comparing derivatives with differences, as `autograd.test_util` does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from primad.compat.autograd.core import make_jvp, make_vjp, vspace
from primad.compat.autograd.importing import missing
from primad.compat.autograd.wrap_util import get_name, unary_to_nary, wraps

Function = Callable[..., Any]

TOL = 1e-6
"""Largest absolute difference of two numbers that count as equal, autograd's own."""
RTOL = 1e-6
"""Largest difference of two numbers that count as equal, as a part of their sum, autograd's own."""
EPS = 1e-6
"""Distance of the two arguments of a difference, autograd's own."""


def scalar_close(a: Any, b: Any) -> bool:
    """Say whether two numbers are nearly the same."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Function, x: Any) -> Function:
    """Return the function of a tangent that gives the central difference quotient along it."""
    of_x, of_y = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        above, below = (f(of_x.add(x, of_x.scalar_mul(v, sign * EPS / 2))) for sign in (1.0, -1.0))
        return of_y.scalar_mul(of_y.add(above, of_y.scalar_mul(below, -1.0)), 1.0 / EPS)

    return jvp


def check_vjp(f: Function, x: Any) -> None:
    """Compare the pullback of a random cotangent with a difference along a random tangent.

    Raises:
        AssertionError: where they differ.
    """
    pullback, y = make_vjp(f, x)
    of_x, of_y = vspace(x), vspace(y)
    tangent, cotangent = of_x.randn(), of_y.randn()
    pulled = of_x.covector(pullback(of_y.covector(cotangent)))
    assert vspace(pulled) == of_x, f"the gradient of {get_name(f)} is of {vspace(pulled)}, its argument of {of_x}"
    exact = of_x.inner_prod(tangent, pulled)
    numeric = of_y.inner_prod(cotangent, make_numerical_jvp(f, x)(tangent))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {exact}\nnumeric:  {numeric}"
    )


def check_jvp(f: Function, x: Any) -> None:
    """Compare the tangent of the value along a random tangent with a difference.

    Raises:
        AssertionError: where they differ.
    """
    tangent = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(tangent)[1], make_numerical_jvp(f, x)(tangent))


def check_equivalent(x: Any, y: Any) -> None:
    """Compare two values in a random direction.

    Raises:
        AssertionError: where they differ.
    """
    of_x, of_y = vspace(x), vspace(y)
    assert of_x == of_y, f"VSpace mismatch:\nx: {of_x}\ny: {of_y}"
    along = of_x.randn()
    assert scalar_close(of_x.inner_prod(x, along), of_x.inner_prod(y, along)), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Compare the derivatives of a function up to an order with differences.

    Args:
        f: a function of one argument; `check_grads(f, argnum)` is a function of all its arguments.
        x: the argument.
        modes: 'fwd', 'rev', or both.
        order: up to which order.

    Raises:
        AssertionError: where they differ.
    """
    assert all(mode in ("fwd", "rev") for mode in modes)
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:
            pushed = wraps(f, "jvp_{fun}")(lambda x, v: make_jvp(f, x)(v)[1])
            check_grads(pushed, (0, 1), modes, order=order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:
            pulled = wraps(f, "vjp_{fun}")(lambda x, v: make_vjp(f, x)[0](v))
            check_grads(pulled, (0, 1), modes, order=order - 1)(x, vspace(f(x)).randn())


def combo_check(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """Return a function of lists of arguments that calls `check_grads` for all their combinations."""

    def check(*choices: Any, **options: Any) -> None:
        for values in product(*choices):
            for chosen in product(*options.values()):
                check_grads(fun, *args, **kwargs)(*values, **dict(zip(options, chosen, strict=True)))

    return check


__all__ = [
    "check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "make_numerical_jvp", "scalar_close",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
