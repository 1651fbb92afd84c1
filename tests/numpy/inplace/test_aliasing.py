"""What NumPy's functions and methods give of arrays that are written to: views of them where NumPy gives views.

Each call of the table of NumPy's functions, and each attribute of NumPy's arrays, is asked for a result; then the array
is written to, and then the result is. What is seen in the one of what was written into the other is as in NumPy, or
the call or the write is refused. So no write is lost and nothing that is read is stale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import PrimadError
from primad.recording.traced_array import TracedArray
from tests.numpy.test_numpy_surface import CASES

REFUSED = (ValueError, TypeError, AttributeError)


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, TracedArray)) and value.ndim > 0


def parts(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def write(y: Any, factor: float, number: float, by_item: bool) -> None:
    """Write into all elements of an array, which its caller holds too."""
    if by_item:
        y[...] = factor * y + number
    else:
        y *= factor
        y += number


def written(call: Callable[..., Any], arrays: list[Any], by_item: bool = True) -> tuple[list[Any], list[Any]]:
    """Return the results after the arrays were written to, and the arrays after the results were; none if refused."""
    results = [r for r in parts(call(*arrays)) if is_array(r)]
    for y in arrays:
        write(y, 0.5, 1.25, by_item)
    seen = [r * 1.0 for r in results]
    try:
        for r in results:
            write(r, 0.0, 0.75, by_item)
    except REFUSED:
        return seen, []
    return seen, [y * 1.0 for y in arrays]


def same(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
        for a, b in zip(found, expected, strict=True)
    )


def compared(call: Callable[..., Any], args: list[Any]) -> str | None:
    """Say how a call differs from NumPy's, of arrays that are made in each of the ways of `MADE`."""
    for made, (make, by_item) in MADE.items():
        seen, arrays = written(call, [np.array(make(arg, np.copy(arg))) for arg in args])

        def program(xs: Any, make: Any = make, by_item: bool = by_item) -> Any:
            return written(call, [make(a, x) for a, x in zip(args, xs, strict=True)], by_item)

        try:
            found = primad.trace(program)(args)(args)
        except PrimadError:
            continue
        if not same(found[0], seen) or (found[1] and not same(found[1], arrays)):
            return f"where it is {made}"
    return None


MADE: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "plain": (lambda a, x: pnp.array(a), True),
    "traced": (lambda a, x: pnp.array(x), True),
    "a result": (lambda a, x: (x - 0.5) + 0.5, True),
    "a result, by operators": (lambda a, x: (x - 0.5) + 0.5, False),
    "an argument, by operators": (lambda a, x: x, False),
}
"""How an array is made of a plain one and the same as an argument, and whether it is written to by an index."""


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(8))
def test_functions_give_views_where_numpys_do(start: int) -> None:
    wrong, tried = [], 0
    for name in sorted(CASES)[start::8]:
        for number, (case, args) in enumerate(CASES[name]):
            if args and all(isinstance(a, np.ndarray) and a.ndim and a.dtype.kind == "f" for a in args):
                what = compared(lambda *xs, case=case: case(np, *xs), list(args))
                wrong += [f"{name}-{number}: {what}"] if what else []
                tried += 1
    assert not wrong
    assert tried > 20


GIVEN: dict[str, tuple[Any, ...]] = {
    "argpartition": (1,), "astype": (np.float32,), "byteswap": (True,), "choose": ([[[1.0]]],), "clip": (-0.5, 0.75),
    "compress": ([True, False], 0), "dot": (np.ones(3),), "fill": (7.0,), "getfield": ("f4",), "item": (0,),
    "partition": (1,), "put": ([0, 4], [7.0, 8.0]), "repeat": (2,), "reshape": (3, 2), "resize": ((2, 2),),
    "round": (1,), "searchsorted": (1.0,), "setfield": (5.0, "f8"), "setflags": (False,), "swapaxes": (0, 1),
    "take": ([0, 2],), "to_device": ("cpu",),
}  # fmt: skip
"""What a method must be given."""
OF_FILES = {"dump", "tofile"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [1.0, 1.0 + 0.5j])
def test_methods_give_views_and_write_where_numpys_do(unit: Any) -> None:
    x = np.array([[3.0, 1.0, 2.0], [-1.0, 0.5, 0.2]]) * unit
    names = [name for name in dir(np.ndarray) if not name.startswith("__") and name not in OF_FILES]
    wrong = []
    for name in names:

        def use(y: Any, name: str = name) -> Any:
            found = getattr(y, name)
            return found(*GIVEN.get(name, ())) if callable(found) else found

        try:
            what = compared(use, [x])
        except REFUSED:
            continue  # NumPy refuses what follows
        wrong += [f"y.{name}: {what}"] if what else []
    assert not wrong
