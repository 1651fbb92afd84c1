"""Arrays that a recording writes to, at the edge of what NumPy's functions take: as NumPy's own arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import PrimadError
from primad.recording import tree

A = np.array([0.5, 2.0, 1.5])


def filled(a: Any) -> Any:
    """Return an array that was written to."""
    y = pnp.zeros(np.shape(a))
    y[...] = a
    return y


def written(change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a function of what an array is after a change, and of what the change returns."""

    def of(a: Any) -> Any:
        y = filled(a)
        found = change(y, a)
        return y, found

    return of


CALLS: dict[str, Callable[[Any], Any]] = {
    "copyto by name": written(lambda y, a: np.copyto(dst=y, src=a * 2)),
    "copyto of one": written(lambda y, a: np.copyto(y, a[:1])),
    "copyto where": written(lambda y, a: np.copyto(y, a * 2, where=[True, False, True])),
    "place by name": written(lambda y, a: np.place(arr=y, mask=np.array([True, False, True]), vals=[1.0, 2.0])),
    "put": written(lambda y, a: np.put(a=y, ind=[0, 2], v=a[:2])),
    "put along an axis": written(lambda y, a: np.put_along_axis(arr=y, indices=np.array([0]), values=a[2], axis=0)),
    "put by place": written(lambda y, a: np.put(y, [0, 2], a[:2])),
    "put along an axis by place": written(lambda y, a: np.put_along_axis(y, np.array([1, 0]), a[1:] * 2, 0)),
    "place by place": written(lambda y, a: np.place(y, np.array([True, False, True]), a[:2])),
    "putmask": written(lambda y, a: np.putmask(y, np.array([True, False, True]), a * 3)),
    "a diagonal by name": lambda a: written(lambda y, x: np.fill_diagonal(a=y, val=x[0, 0]))(a * np.ones((3, 3)))[0],
    "numbers for no numbers, by name": written(lambda y, a: np.nan_to_num(x=y, copy=False)),
    "numbers for no numbers, copied": written(lambda y, a: np.nan_to_num(y / 0.0, copy=True)),
    "numbers for no numbers": written(lambda y, a: np.nan_to_num(y / 0.0)),
    "real if close, by name": written(lambda y, a: np.real_if_close(a=y)),
    "real part by name": written(lambda y, a: np.real(val=y) * 2),
    "imaginary part": written(lambda y, a: np.imag(y) * 2),
    "flat": written(lambda y, a: (y.flat[0], y.flat[1:], [x * 2 for x in y.flat])),
    "flat, a copy": written(lambda y, a: y.flat[1:].__iadd__(1.0)),
    "set flat": written(lambda y, a: y.flat.__setitem__(slice(0, 2), a[:2] * 3)),
    "of no elements": lambda a: np.reshape(pnp.zeros((0, 2)) * a[0], (0, 4)),
    "a view of no elements": written(lambda y, a: (np.reshape(y[:0], (0, 2)), y[:0].astype(int), y[3:])),
    "another type": written(lambda y, a: (y.astype(int, copy=False), y.astype(float, copy=False) is y)),
    "the same type, copied": written(lambda y, a: y.astype(float) is y),
    "broadcast": written(lambda y, a: np.broadcast_to(y, (2, 3)) * a),
    "a shape of no elements": written(lambda y, a: setattr(y[:0], "shape", (0, 3))),
    "another shape": written(lambda y, a: setattr(y, "shape", (3, 1))),
    "a shape that does not fit": written(lambda y, a: setattr(y, "shape", (2, 2))),
    "a shape that needs a copy": lambda a: setattr(filled(a * np.ones((3, 3))).T, "shape", (9,)),
    "rows at indices": lambda a: filled(a * np.ones((3, 3)))[[0, 2], 1],
    "a sum into it, of some": written(
        lambda y, a: np.add.reduce(a * np.ones((3, 3)), axis=0, out=y, where=np.array([True, False, True]))
    ),
    "a sum into what is too long": written(lambda y, a: np.add.reduce(a * np.ones((3, 2, 1)), axis=0, out=y)),
    "a product into it, of some": written(lambda y, a: np.multiply(a, 2.0, out=y, where=np.array([True, False, True]))),
    "into what is too short": written(lambda y, a: np.multiply(a * np.ones((2, 3)), 2.0, out=y)),
    "into what is wider": lambda a: np.multiply(a, 2.0, out=filled(a * np.ones((2, 3)))),
    "with parts of its own": written(lambda y, a: y.__iadd__(y[::-1])),
    "sorted": written(lambda y, a: y.sort()),
    "long doubles": lambda a: (pnp.ones(3, np.longdouble) * np.longdouble(2)).astype(float) + a,
}  # fmt: skip


def outcome(call: Callable[[], Any]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return [np.array(primad.value(leaf)) for leaf in tree.leaves(call())]
        except (PrimadError, AttributeError, ValueError, TypeError, IndexError) as error:
            return error


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_the_edge_is_numpys(name: str) -> None:
    call = CALLS[name]
    expected, found = outcome(lambda: call(A)), outcome(lambda: primad.jvp(call, (A,), (0 * A,))[0])
    if isinstance(expected, Exception):
        assert isinstance(found, (PrimadError, AttributeError)), found
    else:
        assert not isinstance(found, Exception), found
        assert [x.shape for x in found] == [x.shape for x in expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a plain array from it": (lambda a: np.copyto(np.zeros(3), filled(a)), "np.copyto has no implementation"),
    "two values at a mask that is not known": (
        lambda a: (y := filled(a), np.putmask(y, a > 1, [1.0, 2.0])), "at a mask whose values are not known",
    ),
    "two ellipses": (lambda a: filled(a)[a > 1, ..., ...], "ellips|one mask|index"),
    "a mask apart from numbers": (lambda a: filled(a * np.ones((2, 3, 3)))[0, :, a > 1] * 2.0, "boolean index"),
    "a mask of nothing and a number": (lambda a: filled(a)[np.any(a > 1), 0] * 2.0, "index"),
    "elements of two masks": (lambda a: filled(a)[a > 1] + a[a < 1], "boolean ind"),
    "elements along other axes": (
        lambda a: (mask := a > 1, y := filled(a * np.ones((3, 3))), y.__setitem__((slice(None), mask), y[mask])),
        "boolean ind",
    ),
    "an option of a ufunc": (lambda a: np.sin(a[a > 1], dtype=np.float64), "np.sin"),
    "a method of a ufunc": (lambda a: np.add.reduce(a[a > 1]), "np.add.reduce"),
    "a product": (lambda a: np.matmul(a[a > 1], a), "np.matmul"),
    "a traced option": (lambda a: np.clip(a[a > 1], a_min=a[0], a_max=2.0), "np.clip with"),
    "where it is written to": (lambda a: np.clip(a[a > 1], 0.0, 2.0, out=np.zeros(1)), "np.clip with"),
    "placed at a mask that is not known": (
        lambda a: (y := filled(a), np.place(y, a > 1, [1.0, 2.0, 3.0])), "at a mask whose values are not known",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_numpy_takes_is_refused(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(PrimadError, match=said):
        primad.jit(lambda a: tree.leaves(call(a))[0])(A)


def test_values_of_its_shape_are_put_at_a_mask_that_is_not_known() -> None:
    def of(a: Any) -> Any:
        y = filled(a)
        np.putmask(y, a > 1, a * 3)
        np.copyto(y, 7.0, where=a > 1.8)
        return y

    np.testing.assert_array_equal(primad.jit(of)(A), [0.5, 7.0, 4.5])


def moved(y: Any, k: Any, j: Any) -> Any:
    """Write into rows whose places may not be known."""
    z = y[k]
    z += 1.0
    y[j] = z
    y[k] += 2.0
    y[k, 0:1] += 3.0
    y[k, 1:2] = y[k, 0:1]
    other = y.copy()
    other[k] = y[k]
    other[j] += y[k]
    return y + 10 * other


@pytest.mark.parametrize(("k", "j"), [(0, 1), (1, 1), (2, 0)])
def test_rows_are_written_where_they_are_put(k: int, j: int) -> None:
    rows = np.arange(6.0).reshape(3, 2)
    found = primad.jit(lambda a, k, j: moved(filled(a), k, j))(rows, k, j)
    np.testing.assert_array_equal(found, moved(rows.copy(), k, j))


def test_options_that_say_nothing_are_taken_for_chosen_elements() -> None:
    def of(a: Any) -> Any:
        y, mask = filled(a), a > 1
        y[mask] = np.clip(y[mask], 0.0, 1.75, out=None)
        y[mask] += np.nan_to_num(y[mask], posinf=None, neginf=None)
        return y

    np.testing.assert_array_equal(primad.jit(of)(A), [0.5, 3.5, 3.0])
