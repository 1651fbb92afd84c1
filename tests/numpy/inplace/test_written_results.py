"""Results of operations that are written to, and operators in place, as NumPy's: who else holds the array sees it."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import PrimadError
from primad.recording.protocols import UFUNCS
from primad.recording.traced_array import TracedArray

X = np.array([0.7, 1.3, 2.2, -0.4])


def at_a_mask(x: Any) -> Any:
    y = 2.0 * x
    y[y > 2.0] = 0.5
    y[x < 0.0] *= x[x < 0.0]
    return np.sum(y**2)


def in_a_loop(x: Any) -> Any:
    y = np.sin(x)
    for i in range(1, len(y)):
        y[i] = y[i] * y[i - 1]
    return np.sum(y)


def by_two_names(x: Any) -> Any:
    y = np.sin(x)
    z = y
    z += x
    return np.sum(y * z)


def by_a_function(x: Any) -> Any:
    def change(v: Any) -> None:
        v *= 3.0
        v[0] = 1.0

    y = np.exp(x)
    change(y)
    return np.sum(y**2)


def by_a_view(x: Any) -> Any:
    y = np.exp(x).reshape(2, 2)
    first, turned = y[0], y.T
    first -= turned[1]
    turned[1] *= 2.0
    return np.sum(y * turned)


def by_a_view_of_the_argument(x: Any) -> Any:
    y = x[1:]
    y *= x[:-1]
    return np.sum(x**2)


def by_a_list(x: Any) -> Any:
    parts = [np.sin(x), np.cos(x)]
    total = parts[0]
    for part in parts[1:]:
        total += part
    return np.sum(parts[0] * total)


def by_copies(x: Any) -> Any:
    y = np.sin(x)
    copies = [
        copy.copy(y),
        copy.deepcopy(y),
        y.copy(),
        y.astype(float),
        y.flatten(),
        np.stack([y])[0],
        +y,
        y[[0, 1, 2, 3]],
    ]
    y[0] = 5.0
    for each in copies:
        each *= 2.0
    return np.sum(y) + sum(np.sum(each**2) for each in copies)


def by_an_output(x: Any) -> Any:
    y, z = np.sin(x), x * 1.5
    np.multiply(y, x, out=y)
    np.cumsum(z, out=z)
    np.add(z[1:], y[:-1], out=z[1:])
    np.fill_diagonal(z.reshape(2, 2), x[0])
    turned = y[::-1] * 1.0
    np.copyto(turned, y, where=[True, False, True, False])
    y = y * turned
    return np.sum(y * z)


def by_calls_of_operators(x: Any) -> Any:
    y, parts = np.sin(x), (np.sin(x), np.cos(x))
    operator.iadd(y, x)
    y.__imul__(x)
    list(map(operator.isub, parts, [x, y]))
    with pytest.raises(TypeError):
        parts[0] *= x  # has written when the tuple refuses it
    return np.sum(y * parts[0] + parts[1])


def by_a_property(x: Any) -> Any:
    class Field:
        def __init__(self) -> None:
            self._u = np.sin(x)

        @property
        def u(self) -> Any:
            return self._u

        @u.setter
        def u(self, value: Any) -> None:
            assert value is self._u

    field = Field()
    field.u += x
    return np.sum(field.u**2)


def by_parts_of_complex_numbers(x: Any) -> Any:
    y = np.exp(1j * x)
    z, heights, inner = y, y.imag, y[1:]
    turned = np.real(y.reshape(2, 2)).T[::-1]
    z *= 1.0 + 0.5j * x
    inner += 1j
    heights[::2] -= x[2:]
    turned[0] = heights[:2]
    y[0] = x[1] * 1j
    return np.sum(y.real**2 * z.imag) + np.sum(turned * turned) + np.sum(heights**3)


def by_what_is_a_copy_in_some_orders(x: Any) -> Any:
    y = np.sin(x).reshape(2, 2)
    copied, shown, rows = y.T.ravel(), y.ravel(), np.reshape(y[:, ::-1], (4,))
    copied += 1.0
    shown *= 2.0
    y -= x[0]
    return np.sum(y * x[:2]) + np.sum(copied * X) + np.sum(shown * rows)


def by_a_row_whose_number_only_the_program_knows(x: Any) -> Any:
    y = np.outer(x, np.sin(x))
    i = np.argmax(x)
    row, part = y[i], y[:, ::-1][i, 1:]
    row *= x
    part[0] = x[0] ** 2
    y += 1.0
    return np.sum(y**2) + np.sum(row * X) + np.sum(part)


def by_what_laws_leave_out(x: Any) -> Any:
    """Of which NumPy makes an array, and the program nothing."""
    y, z, turned = x * 1.0, x + 0, x.reshape(2, 2)[::-1][::-1] / 1
    y[1:] = x[0]
    z[z > 1.0] *= 2.0
    turned[0, 0] = 3.0
    return np.sum(x**2 * y * z) + np.sum(turned**3)


def by_writing_methods(x: Any) -> Any:
    y = np.sin(x)
    turned, flat = y[::-1], y.reshape(2, 2).T.flat
    np.subtract.at(turned, np.array([0, 0, 2]), x[:3])
    flat[1:3] = x[:2] * y[0]
    y[2:].fill(x[0])
    turned.put([0, 1], [x[3], 2.0])
    y[1:].sort()
    return np.sum(y * X + turned**2)


def by_arrays_of_one_number(x: Any) -> Any:
    """NumPy's y[..., 0] is an array, which shows what is written and is written to; y[0], a sum, a maximum are not."""
    y, total, z, u = np.sin(x), np.sum(x), x * 2.0, x * 3.0
    part, other = z[..., 1], u[..., 2]  # the first that is written to of each
    part[()] = x[0]
    other -= x[1]
    shown, first, row = y[..., 0], y[0], np.atleast_1d(total)
    alike, same, largest = np.squeeze(y[2:3]), shown, np.reshape(np.max(y), ())
    y[0] = x[1] ** 2
    number = shown * 1.0
    shown += x[2]
    alike[()] = x[3]
    row[0] = 2.0
    largest *= x[0]
    np.multiply(y[..., np.int64(3)][...], x[0], out=y[3, ...])
    first += x[0]
    y[1, ...].fill(x[1] * first)
    return np.sum(y * X) + total * number + row[0] * largest + same * alike + z @ u


def after_derivatives_at_what_is_changed(x: Any) -> Any:
    """They are those at what it was."""
    y = np.sin(x)
    (_, push), (_, pull), slopes = (
        primad.linearize(np.square, y),
        primad.vjp(np.square, y),
        primad.jacobian(np.square)(y),
    )
    y *= x
    y[0] = 2.0
    return np.sum(push(x) * X + slopes @ x) + np.sum(pull(x)[0] * y)


PROGRAMS = (
    at_a_mask, in_a_loop, by_two_names, by_a_function, by_a_view, by_a_view_of_the_argument, by_a_list, by_copies,
    by_an_output, by_calls_of_operators, by_a_property, by_parts_of_complex_numbers, by_writing_methods,
    by_what_is_a_copy_in_some_orders, by_a_row_whose_number_only_the_program_knows,
    by_what_laws_leave_out, by_arrays_of_one_number, after_derivatives_at_what_is_changed,
)  # fmt: skip


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-5) -> Any:
    return np.array([(f(x + step * unit) - f(x - step * unit)) / (2 * step) for unit in np.eye(x.size)])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives_are_those_of_numpys_program(program: Callable[[Any], Any]) -> None:
    value, gradient = primad.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(gradient, differences(lambda x: program(x.copy()), X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(primad.jit(primad.grad(program))(X), gradient, rtol=1e-12)
    np.testing.assert_allclose(primad.vmap(program)(np.stack([X, X]))[1], value, rtol=1e-13)
    hessian = primad.hessian(program)(X)
    np.testing.assert_allclose(hessian, differences(primad.grad(program), X), rtol=1e-6, atol=1e-7)


def test_a_jitted_function_changes_its_own_argument_only() -> None:
    """As it does where the argument is a plain array."""

    @primad.jit
    def changed(v: Any) -> Any:
        v *= 2.0
        return np.sum(v)

    def program(x: Any) -> Any:
        y = np.sin(x)
        return changed(y) * np.sum(y)

    np.testing.assert_allclose(primad.grad(program)(X), 4.0 * np.sum(np.sin(X)) * np.cos(X))


def test_a_result_of_which_there_is_no_view_needs_no_memory() -> None:
    def program(x: Any) -> Any:
        y = np.sin(x)
        held = [y]
        y += x
        assert y is held[0] and type(y) is TracedArray
        part = y[1:]
        y *= x
        assert y is held[0] and type(y) is type(part) is not TracedArray
        return y

    primad.trace(program)(X)


def test_an_array_keeps_its_dtype_and_shape() -> None:
    def program(x: Any) -> Any:
        y = x * 2
        with pytest.raises(PrimadError, match=r"(?s)Cannot cast 'divide'.*Fix"):
            y /= 2
        z = x.astype(np.float32)
        z += np.ones(4)
        assert z.dtype == np.float32
        with pytest.raises(PrimadError, match=r"(?s)operand of shape \(4,\).*\(2, 4\).*Fix"):
            z *= np.ones((2, 4))
        return z

    primad.trace(program)(np.arange(4))


def test_writing_into_what_another_recording_made_is_refused() -> None:
    def program(x: Any) -> Any:
        y = np.sin(x)

        def inner(z: Any) -> Any:
            y[0] = z
            return np.sum(y)

        return primad.grad(inner)(x[0])

    with pytest.raises(PrimadError, match="written to in place"):
        primad.grad(program)(X)


UNARY = [ufunc for ufunc in UFUNCS if isinstance(ufunc, np.ufunc) and ufunc.nin == ufunc.nout == 1]


@pytest.mark.parametrize("dtype", [bool, int, np.float32, float, complex])
def test_ufuncs_give_arrays_of_their_own(dtype: Any) -> None:
    """Else a write into the result would be one into the operand."""
    same = []

    def program(x: Any) -> Any:
        for ufunc in UNARY:
            for call in (ufunc, getattr(pnp, ufunc.__name__, ufunc)):
                try:
                    same.extend([ufunc.__name__] if call(x) is x else [])
                except (PrimadError, TypeError):
                    continue  # NumPy has no loop for it
        return x

    primad.trace(program)(np.ones(3, dtype))
    assert len(UNARY) > 30 and not same
