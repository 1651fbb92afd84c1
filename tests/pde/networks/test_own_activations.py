"""Activations of one's own are taken where derivatives see all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad.numpy as pnp
from primad import nn, pde
from primad.errors import ProblemError

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "softplus": nn.softplus,
    "gelu": nn.gelu,
    "elu": nn.elu,
    "NumPy's": np.tanh,
    "a formula": lambda z: z * pnp.tanh(z),
    "steep": lambda z: pnp.sin(20.0 * z),
}
ROUGH: dict[str, Callable[[Any], Any]] = {
    "relu": nn.relu,
    "leaky relu": nn.leaky_relu,
    "hard tanh": nn.hardtanh,
    "absolute value": abs,
    "a step": pnp.sign,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_are_taken(name: str) -> None:
    network = pde.MLP(5, 2, activation=SMOOTH[name])
    params = network.init(0, 2, 1)
    x = np.array([0.3, -0.2])
    a = SMOOTH[name](x @ params["layers"][0]["weights"] + params["layers"][0]["bias"])
    a = SMOOTH[name](a @ params["layers"][1]["weights"] + params["layers"][1]["bias"])
    np.testing.assert_allclose(network.apply(params, x), a @ params["layers"][2]["weights"], rtol=1e-12)


@pytest.mark.parametrize("name", ROUGH)
def test_kinks_and_jumps_are_refused(name: str) -> None:
    with pytest.raises(ProblemError, match="jumps near"):
        pde.MLP(5, 1, activation=ROUGH[name])


def test_what_is_no_function_of_each_neuron_is_refused() -> None:
    with pytest.raises(ProblemError, match="makes an array of the shape"):
        pde.MLP(5, 1, activation=lambda z: pnp.sum(z))
    with pytest.raises(ProblemError, match=r"is nan|is -?inf"):
        pde.MLP(5, 1, activation=pnp.log)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ["plain", "residual", "gated"])
def test_problems_are_solved_with_them(form: Any) -> None:
    network = pde.MLP(8, 2, activation=nn.softplus, form=form)
    problem = pde.Problem(lambda u: u.xx + 2, pde.Interval(0, 1), pde.Dirichlet(u=0), network=network)
    assert problem.solve(steps=30, points=40, progress=False).error(u=lambda x: x * (1 - x)) < 1e-4
