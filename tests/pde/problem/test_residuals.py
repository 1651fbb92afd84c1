"""What functions return are residuals: real numbers, one a point, that move with what is sought, in every place."""

from itertools import product

import numpy as np
import pytest

import primad
from primad import pde
from primad.errors import ProblemError

NET = pde.MLP(3, 1)
LINE, HALF = pde.Interval(0, 1), pde.Interval(0, 0.5)
FIXED = pde.Dirichlet(u=0, on="x-")


def bent(u):
    return u.xx - 1


PLACES = {
    "an equation": lambda f: pde.Problem(f, LINE, pde.Dirichlet(u=0), network=NET),
    "one of several equations": lambda f: pde.Problem(
        {"first": bent, "second": f}, LINE, pde.Dirichlet(u=0), network=NET
    ),
    "one of a tuple": lambda f: pde.Problem(lambda u, x: (bent(u), f(u, x)), LINE, pde.Dirichlet(u=0), network=NET),
    "an equation of a part": lambda f: pde.Problem(
        {"whole": bent, "part": pde.Within(HALF, f)}, LINE, pde.Dirichlet(u=0), network=NET
    ),
    "a condition": lambda f: pde.Problem(bent, LINE, [FIXED, pde.Condition(f, on="x+")], network=NET),
    "an integral": lambda f: pde.Problem(
        bent, LINE, [FIXED, pde.Free("u", on="x+"), pde.Integral(f, 0.0)], network=NET
    ),
    "an interface": lambda f: pde.Problem(
        bent, LINE, [pde.Dirichlet(u=0), pde.Interface(f, of=HALF, on="x+")], network=NET
    ),
}
STILL = {
    "fields that are equal": lambda u, x: u.xx == u.x,
    "a field that is equal": lambda u, x: u == 1.0,
    "values that are less": lambda u, x: u.x < x,
    "a field that is less": lambda u, x: u < 1.0,
    "values that are near": lambda u, x: primad.numpy.isclose(u.xx, x),
    "a sign": lambda u, x: np.sign(u.value),
    "rounded values": lambda u, x: np.round(u.xx),
    "a step": lambda u, x: np.heaviside(u.value, 0.5),
    "one of two numbers": lambda u, x: np.where(u > 0, 1.0, 2.0),
    "a place": lambda u, x: x * np.argmax(u.value),
    "a coordinate": lambda u, x: np.sin(x) + 0 * np.floor(u.xx),
}
MOVING = {
    "a difference": lambda u, x: u.xx - u.x,
    "a bend": lambda u, x: abs(u.xx),
    "a clipped value": lambda u, x: np.clip(u.x, -1, 1),
    "a value at some points": lambda u, x: np.where(u > 0, u.value, 2.0),
    "a coordinate and an unknown": lambda u, x: np.floor(x) + u.value,
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("place", "what"), [*product(PLACES, STILL)])
def test_what_does_not_move_with_the_unknowns_is_refused_everywhere(place: str, what: str) -> None:
    with pytest.raises(ProblemError) as caught:
        PLACES[place](STILL[what])
    assert "residual" in caught.value.what
    assert "Fix: return" in str(caught.value)


@pytest.mark.parametrize("place", PLACES)
def test_what_moves_is_taken_everywhere(place: str) -> None:
    for function in MOVING.values():
        assert PLACES[place](function).unknowns == ("u",)


def test_a_coefficient_moves_a_residual_as_an_unknown_does() -> None:
    limit = pde.Condition(lambda u, k: k - 2.0 + 0 * u.value, on="x-")
    assert pde.Problem(
        lambda u, k: u.xx - k, LINE, [pde.Dirichlet(u=0), limit], coefficients={"k": 1.0}, network=NET
    ).learned == {"k"}


@pytest.mark.parametrize("reduced", [np.mean, np.sum, lambda r: np.mean(r**2)])
def test_one_number_for_all_points_is_refused_and_what_it_is_taken_of_is_not(reduced) -> None:
    with pytest.raises(ProblemError, match="one number for all points together"):
        PLACES["an equation"](lambda u, x: reduced(bent(u)))


def test_a_complex_residual_is_its_two_parts_and_a_complex_comparison_is_none() -> None:
    assert len(PLACES["an equation"](lambda u, x: u.xx + 1j * u.x).labels["equation"]) == 2
    with pytest.raises(ProblemError, match="true or false"):
        PLACES["an equation"](lambda u, x: u.xx == 1j * x)


def test_no_residual_is_none() -> None:
    with pytest.raises(ProblemError, match="returns no residual"):
        PLACES["an equation"](lambda u, x: ())
