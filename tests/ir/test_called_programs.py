"""Programs that are called inside of a function that is recorded: what they close over of it moves with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad

WAYS: dict[str, Callable[..., Any]] = {
    "grad": primad.grad,
    "derivative of a derivative": lambda f: primad.grad(primad.grad(f)),
    "hessian": lambda f: lambda y: np.asarray(primad.hessian(f)(y)),
    "jvp": lambda f: lambda y: primad.jvp(f, (y,), (0.5,)),
    "jit": primad.jit,
    "jit of grad": lambda f: primad.jit(primad.grad(f)),
    "vmap": lambda f: lambda y: primad.vmap(f)(np.array([y, 2.0 * y])),
    "a loop": lambda f: lambda y: primad.fori_loop(0, 3, lambda i, c: f(c), y),
}
CLOSED_OVER: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "an argument": lambda y: lambda x: x * y,
    "what was computed of it": lambda y: lambda x: x * np.sin(y) + y,
    "a power": lambda y: lambda x: y**3 * x,
    "a function of the argument alone": lambda y: lambda x: x * 3.0,
    "an outer derivative": lambda y: lambda x: primad.grad(lambda z: np.sin(z * y) * x)(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", CLOSED_OVER)
def test_a_program_called_with_plain_arguments_is_the_function_that_it_records(way: str, kind: str) -> None:
    made = CLOSED_OVER[kind]
    found = WAYS[way](lambda y: primad.trace(made(y))(1.0)(1.7) + 0.1 * y)(0.4)
    wanted = WAYS[way](lambda y: made(y)(1.7) + 0.1 * y)(0.4)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_program_of_an_inner_trace_closes_over_arrays_of_both() -> None:
    def nested(call: Callable[..., Any]) -> Any:
        return primad.grad(lambda y: primad.grad(lambda z: call(lambda x: np.sin(x * y) * z**2)(1.7) * z)(y))(0.4)

    assert nested(lambda f: primad.trace(f)(1.0)) == pytest.approx(nested(lambda f: f), rel=1e-13)


def test_a_program_that_is_kept_for_after_the_recording_says_so() -> None:
    kept = []
    primad.grad(lambda y: kept.append(primad.trace(lambda x: x * y)(1.0)) or y)(0.4)
    with pytest.raises(primad.TracingError, match="outside of its trace"):
        kept[0](2.0)
