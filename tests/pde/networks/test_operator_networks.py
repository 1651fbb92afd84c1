"""Fourier neural operators: beside a form of their own in NumPy, their derivatives, and refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

import primad
from primad import pde
from primad.errors import PrimadError

SENSORS, WIDTH, MODES = 14, 3, 4


def by_sums(network: pde.FNO, params: Any, x: Any, functions: Any) -> Any:
    """Return the outputs at a point by sums over waves, as the paper defines the layers."""
    grid = np.linspace(-1, 1, SENSORS)
    h = np.concatenate([functions, grid[None]]).T @ params["lift"] + params["shift"]
    length = SENSORS + round(network.padding * SENSORS)
    h = np.concatenate([h, np.zeros((length - SENSORS, WIDTH))])
    n = np.arange(length)
    for place, layer in enumerate(params["layers"]):
        mixed = np.zeros_like(h)
        for k in range(MODES):
            wave = np.exp(-2j * np.pi * k * n / length)
            coefficients = (wave @ h) @ (layer["modes"][0, k] + 1j * layer["modes"][1, k])
            part = np.real(np.outer(wave.conj(), coefficients)) / length
            mixed += part if k in (0, length / 2) else 2 * part
        h = mixed + h @ layer["matrix"] + layer["bias"]
        h = h if place == len(params["layers"]) - 1 else np.tanh(h)
    there = make_interp_spline(grid, h[:SENSORS], 5)(x[network.along])
    return network.decoder.apply(params["decoder"], np.concatenate([x, there]))


@pytest.mark.parametrize(("padding", "along", "functions"), [(0.25, 0, 1), (0.0, 1, 2), (0.5, 0, 2)])
def test_outputs_are_those_of_sums_over_waves(padding: float, along: int, functions: int) -> None:
    network = pde.FNO(WIDTH, MODES, 2, pde.MLP(5, 1), padding, along, functions)
    rng = np.random.default_rng(0)
    params = network.init_in_family(3, 2, functions * SENSORS, 2)
    values, x = rng.normal(size=(functions, SENSORS)), np.array([0.3, -0.62])
    found = network.apply_in_family(params, x, values.ravel())
    np.testing.assert_allclose(found, by_sums(network, params, x, values), rtol=1e-10)


def test_derivatives_by_coordinates_of_a_family_are_those_of_differences() -> None:
    process = pde.GaussianProcess("x", count=3, sensors=SENSORS)
    plane = pde.Interval(0, 1) * pde.Time(0, 1)
    problem = pde.Problem(
        lambda u, v: u.t - u.xx - v, plane, [pde.Dirichlet(u=0), pde.Initial(u=0)],
        network=pde.FNO(WIDTH, MODES, 2, pde.MLP(5, 1)), family={"v": process},
    )  # fmt: skip
    found = pde.Solution(problem, problem.init(1), None, problem.points(5), None)
    step, at = 1e-4, (0.37, 0.6)
    for name, along in (("x", (step, 0.0)), ("t", (0.0, step))):
        higher, lower = (found.u(at[0] + s * along[0], at[1] + s * along[1], v=np.sin) for s in (1, -1))
        assert abs((higher - lower) / (2 * step) - found.u.d(name)(*at, v=np.sin)) < 1e-6
    values = np.sin(np.linspace(0, 1, SENSORS))
    slope = primad.grad(lambda values: found.u(*at, v=values))(values)
    moved = found.u(*at, v=values + step * np.eye(SENSORS)[5]) - found.u(*at, v=values - step * np.eye(SENSORS)[5])
    assert abs(moved / (2 * step) - slope[5]) < 1e-6


def of_functions(name: str, along: int = 0, repeated: str = "", more: str = "") -> pde.Problem:
    """A problem with functions of a coordinate, and an FNO that reads its layers along one."""
    ends = pde.Periodic(repeated) if repeated else pde.Dirichlet(u=0)
    family = {"v": pde.GaussianProcess(name, count=3, sensors=SENSORS)}
    if more:
        family["w"] = pde.GaussianProcess(more, count=3, sensors=SENSORS)
    equation = (lambda u, v, w: u.t - u.xx - v - w) if more else (lambda u, v: u.t - u.xx - v)
    return pde.Problem(
        equation, pde.Interval(0, 1) * pde.Time(0, 1), [ends, pde.Initial(u=0)],
        network=pde.FNO(WIDTH, MODES, 2, pde.MLP(5, 1), along=along, functions=len(family)), family=family,
    )  # fmt: skip


def test_a_family_of_the_coordinate_that_layers_are_read_along_is_taken() -> None:
    for problem in (of_functions("t", along=1), of_functions("t", along=2, repeated="x"), of_functions("x")):
        assert np.isfinite(problem.loss(problem.init(), problem.points(4)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pde.FNO().init(0, 1, 1), "FNO is the network of a family"),
        (lambda: pde.FNO(modes=9).init_in_family(0, 1, 12, 1), "9 modes of 12 sensors, which have 8"),
        (lambda: pde.FNO(modes=3, functions=2).init_in_family(0, 1, 13, 1), "13 values for 2 functions"),
        (lambda: pde.FNO(along=2).init_in_family(0, 2, 20, 1), "coordinate 2 of 2"),
        (lambda: pde.FNO(padding=2.0), "from 0 to 1"),
        (lambda: pde.FNO(width=0), "width must be positive"),
        (lambda: pde.FNO(decoder=3), "decoder is a network"),
        (lambda: of_functions("t"), "along x, and there are functions of t.*write along=1"),
        (lambda: of_functions("t", along=0, repeated="x"), "along cos x, and there are functions of t.*write along=2"),
        (lambda: of_functions("x", along=0, repeated="x"), "along cos x, and there are functions of x.*DeepONet"),
        (lambda: of_functions("x", along=7), "along None"),
        (lambda: of_functions("x", more="t"), "there are functions of t.*several coordinates"),
    ],
)
def test_refusals_say_what_to_do(call: Any, said: str) -> None:
    with pytest.raises(PrimadError, match=re.compile(said, re.DOTALL)) as error:
        call()
    assert "Fix: " in str(error.value)
