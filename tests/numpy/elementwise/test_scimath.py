"""NumPy's `emath`: dtypes and values as NumPy's, and derivatives of what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad

CASES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("sqrt", "log", "log2", "log10"), (np.array([0.4, 2.0]), np.array([0.4, -2.0]))),
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), (np.array([0.4, -0.7]), np.array([0.4, -1.7]))),
}
TWO = {
    "power": ((np.array([0.4, 2.0]), 0.3), (np.array([0.4, -2.0]), 0.3), (np.array([0.4, -2.0]), np.array([2, -3]))),
    "logn": ((2.0, np.array([0.4, 2.0])), (-2.0, np.array([0.4, -2.0])), (3, np.array([0.4, 2.0]))),
}


def slopes(f: Any, x: Any, step: float = 1e-6) -> Any:
    return (f(x + step) - f(x - step)) / (2 * step)


@pytest.mark.parametrize("name", [*CASES, *TWO])
def test_values_decide_whether_results_are_complex(name: str) -> None:
    function = getattr(np.emath, name)
    cases = [(x,) for x in CASES[name]] if name in CASES else TWO[name]
    for args in cases:
        place = next(i for i, each in enumerate(args) if isinstance(each, np.ndarray) and each.dtype.kind == "f")

        def of(x: Any, args: Any = args, place: int = place) -> Any:
            return function(*args[:place], x, *args[place + 1 :])

        x, wanted = args[place], of(args[place])
        found, slope = primad.jvp(of, (x,), (np.ones_like(x),))
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        np.testing.assert_allclose(slope, slopes(of, x), rtol=1e-8, atol=1e-9)


def test_where_values_are_not_known_the_dtype_is_not_either() -> None:
    with pytest.raises(primad.TracingError, match=r"np\.emath\.sqrt is real or complex"):
        primad.jit(np.emath.sqrt)(2.0)
