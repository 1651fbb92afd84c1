"""The same programs here and in HIPS autograd, whose results are in `golden/autograd.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.compat import autograd

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "golden"))

from autograd_programs import PROGRAMS, system
from encoding import differences, encode

GOLDEN = json.loads((Path(__file__).parent / "golden" / "autograd.json").read_text())


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_as_autograd(program: Callable[[Any], Any]) -> None:
    found = json.loads(json.dumps(encode(program(system("primad.compat.autograd")))))
    assert list(differences(found, GOLDEN[program.__name__], 1e-8)) == []


def test_programs_may_write_into_arrays_and_be_compiled() -> None:
    anp = system("primad.compat.autograd").np

    def f(x: Any) -> Any:
        y = anp.zeros(3)
        for i in range(3):
            y[i] = anp.sin(x[i]) * x[0]
        return anp.sum(y)

    x = np.array([0.4, 1.0, 2.0])
    slope = autograd.grad(f)(x)
    assert np.allclose(primad.jit(autograd.grad(f))(x), slope)
    primad.check_grads(f, (x,))


def test_a_primitive_without_a_rule_says_so() -> None:
    @autograd.primitive
    def cube(x: Any) -> Any:
        return float(x) ** 3

    assert cube(2.0) == 8.0
    with pytest.raises(primad.errors.NotDifferentiableError, match="no rule for argument 0"):
        autograd.grad(cube)(2.0)
    autograd.defvjp(cube, lambda ans, x: lambda g: 3.0 * g * x**2)
    assert autograd.grad(autograd.grad(cube))(2.0) == 12.0
    assert np.allclose(primad.jit(autograd.grad(cube))(2.0), 12.0)
    autograd.defjvp(cube, "same", argnums=[0])
    assert autograd.deriv(cube)(2.0) == 1.0


def test_flattening_and_hessian_products() -> None:
    vector, back = system("primad.compat.autograd").flatten({"a": np.ones((2, 2)), "b": 3.0})
    assert vector.tolist() == [1.0] * 4 + [3.0] and back(vector)["a"].shape == (2, 2)
    f = lambda x: np.sum(x**3)  # noqa: E731
    assert np.allclose(autograd.make_hvp(f)(np.ones(2))(np.array([1.0, 2.0])), [6.0, 12.0])
    assert autograd.multigrad_dict(lambda a, b=3.0: a * b)(2.0) == {"a": 3.0, "b": 2.0}
