"""What derivatives between real and complex numbers must be asked for in words (decision 0076)."""

from __future__ import annotations

from collections.abc import Sequence

from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType


def check_holomorphic(arguments: Sequence[ArrayType], result: ArrayType, holomorphic: bool, transform: str) -> None:
    """Raise unless the derivative of a result by arguments is one number for each element of both.

    Args:
        arguments: types of what is differentiated by.
        result: type of the result.
        holomorphic: whether the user says that the function is holomorphic.
        transform: for messages.

    Raises:
        NotDifferentiableError: for a complex function of complex numbers without the word, and for a real one with it.
    """
    if holomorphic and not (result.is_complex and all(type.is_complex for type in arguments)):
        raise NotDifferentiableError(
            f"{transform} with holomorphic=True of a function that is not complex: {', '.join(map(str, arguments))} to "
            f"{result}",
            why="A holomorphic function has complex arguments and a complex result.",
            fix="leave holomorphic=True out, or convert the argument with .astype(complex).",
        )
    if result.is_complex and not holomorphic and any(type.is_complex for type in arguments):
        raise NotDifferentiableError(
            f"{transform} of a complex result, {result}, by a complex argument",
            why="Its derivative depends on the direction in the plane, unless the function is holomorphic.",
            fix="pass holomorphic=True if it is; make a real loss, as np.sum(np.abs(z) ** 2); or take both "
            "derivatives, primad.wirtinger(f).",
        )


def check_gradient(arguments: Sequence[ArrayType], result: ArrayType, holomorphic: bool, transform: str) -> None:
    """Raise unless the gradient of a result, complex or said to be, is one number for each element of the arguments.

    Raises:
        NotDifferentiableError: as `check_holomorphic`, and for real arguments, whose gradient has two parts.
    """
    check_holomorphic(arguments, result, holomorphic, transform)
    if not holomorphic:
        raise NotDifferentiableError(
            f"{transform} of a complex result, {result}, by real arguments",
            why="A pullback by real numbers is real: it would have lost the derivative of the imaginary part.",
            fix="use primad.jacobian(f), which is complex; or make a real loss, as np.abs(z) ** 2.",
        )


def check_real(arguments: Sequence[ArrayType], transform: str) -> None:
    """Raise if second derivatives are asked for by complex arguments, which a single matrix does not hold."""
    for type in arguments:
        if type.is_complex:
            raise NotDifferentiableError(
                f"{transform} by a complex argument, {type}",
                why="Second derivatives of a real function of z = x + iy have three parts: by z z, z z̄ and z̄ z̄.",
                fix="products with vectors are primad.hvp(f, z, v); a matrix is that over real coordinates: a function "
                "of x and y that computes with x + 1j * y. Two matrices, by z z and by z̄ z, are those of "
                "primad.wirtinger(lambda z: primad.wirtinger(f)(z)[0]).",
            )


def check_mode(x: ArrayType, y: ArrayType, mode: str, name: str) -> None:
    """Raise where a mode has no complex numbers for derivatives: a direction of real ones, a pullback to real ones."""
    wanted = "auto" if x.is_complex == y.is_complex else "reverse" if x.is_complex else "forward"
    if wanted != "auto" and mode not in ("auto", wanted):
        raise NotDifferentiableError(
            f"{name} in mode {mode!r} of {x} to {y}",
            why="Between real and complex numbers, derivatives are complex in one of the modes only.",
            fix=f"use primad.jacobian(f), or primad.{'jacrev' if wanted == 'reverse' else 'jacfwd'}(f).",
        )
