"""Networks: shapes, float64, derivatives of each form, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError, TracingError
from primad.pde.networks.field_networks import ACTIVATIONS, Inputs
from primad.recording import tree

FORMS = {
    **{f"{kind} {form}": pde.MLP(5, 3, kind, form) for kind in ACTIVATIONS for form in ("plain", "residual", "gated")},
    "fourier": pde.MLP(5, 2, features=pde.Fourier(4, scale=2.0)),
    "separable": pde.Separable(3, pde.MLP(4, 2)),
    "mixture": pde.Mixture((pde.MLP(4, 1), pde.Separable(2, pde.MLP(3, 1)))),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("inputs", [1, 3])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("name", FORMS)
def test_a_network_is_a_float64_function_decided_by_its_key(name: str, inputs: int, outputs: int) -> None:
    network = FORMS[name]
    params = network.init(3, inputs, outputs)
    assert all(leaf.dtype == np.float64 for leaf in tree.leaves(params))
    for other, same in ((network.init(3, inputs, outputs), True), (network.init(4, inputs, outputs), False)):
        assert all(np.array_equal(a, b) for a, b in zip(tree.leaves(params), tree.leaves(other), strict=True)) is same
    x = np.linspace(-0.5, 0.7, inputs)
    value = network.apply(params, x)
    assert value.shape == (outputs,) and value.dtype == np.float64
    assert not np.allclose(value, network.apply(params, x + 0.3))
    primad.check_grads(network.apply, (params, x), order=1, rtol=1e-5)


def test_separable_networks_are_sums_of_products() -> None:
    """The logarithmic mixed derivative of a product of functions of one coordinate each is zero."""
    network = pde.Separable(1, pde.MLP(4, 1))
    params = network.init(0, 2, 1)

    def log(x, y):
        return np.log(abs(network.apply(params, np.stack([x, y]))[0]))

    assert abs(primad.grad(primad.grad(log), 1)(0.3, 0.4)) < 1e-12


def test_inputs_are_moved_to_the_unit_cube_and_repeat_where_they_are_periodic() -> None:
    inputs = Inputs(("x", "t"), np.array([[0.0, 4.0], [1.0, 3.0]]), frozenset({"x"}))
    assert inputs.size == 3
    at = [inputs.of({"x": x, "t": t}) for x, t in ((0.0, 1.0), (4.0, 3.0), (1.0, 2.0))]
    np.testing.assert_allclose(at, [[-1, 0, -1], [-1, 0, 1], [0, -1, 0]], atol=1e-15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pde.MLP(0), "width must be positive"),
        (lambda: pde.MLP(depth=0), "depth must be positive"),
        (lambda: pde.MLP(activation="relu"), "no activation 'relu'"),
        (lambda: pde.MLP(form="resnet"), "no form 'resnet'"),
        (lambda: pde.Fourier(scale=-1.0), "scale must be positive"),
        (lambda: pde.Mixture(()), "needs networks"),
        (lambda: pde.Problem(lambda u: u.xx, pde.Interval(0, 1), pde.Free("u"), network=np.tanh), "is ufunc"),
    ],
)
def test_what_is_no_network_is_named(make, words: str) -> None:
    with pytest.raises((ProblemError, TracingError), match=words):
        make()


def test_a_network_of_ones_own() -> None:
    class Polynomial(pde.Network):
        def init(self, key, inputs, outputs):
            return np.zeros((4, outputs))

        def apply(self, params, x):
            return np.stack([x[0] ** i for i in range(4)]) @ params

    problem = pde.Problem(lambda u, x: u.xx - 6 * x, pde.Interval(-1, 1), pde.Dirichlet(u=0), network=Polynomial())
    solution = problem.solve(steps=10, points=20, progress=False)
    assert solution.u(0.5) == pytest.approx(0.5**3 - 0.5, abs=1e-9)
