"""As many conditions as derivatives: fewer are refused or warned of, and a march hands on only what it can."""

import warnings

import numpy as np
import pytest

from primad import pde
from primad.errors import ProblemError

NET = pde.MLP(4, 1)
START = pde.Initial(u=lambda x: np.sin(np.pi * x))
REST = pde.Initial(u=0, order=1)


def wave(*conditions):
    domain = pde.Interval(0, 1) * pde.Time(0, 1)
    return pde.Problem(lambda u: u.tt - u.xx, domain, [pde.Dirichlet(u=0), *conditions], network=NET)


@pytest.mark.parametrize(("given", "lacking"), [(START, r"Initial\(u=…, order=1\)"), (REST, r"Initial\(u=…\)")])
def test_a_wave_without_values_or_velocities_is_refused(given, lacking):
    with pytest.raises(ProblemError, match=lacking):
        wave(given)


@pytest.mark.parametrize(
    "more",
    [
        REST,
        pde.Condition(lambda u: u.t, on="initial"),
        pde.Free("u"),
        pde.Data(x=[0.5], t=[0.5], u=[0.0]),
    ],
)
def test_what_stands_for_a_velocity_is_taken(more):
    assert wave(START, more).unknowns == ("u",)


LINE = pde.Interval(0, 1)


@pytest.mark.parametrize(
    ("equation", "conditions", "said"),
    [
        (lambda u: u.xxxx - 1, [pde.Dirichlet(u=0)], "order 4 in x, and has 2 conditions"),
        (lambda u: u.xx - np.pi, [pde.Neumann(u=1)], "a constant may be added to u"),
        (lambda u, x: u.xx - np.sin(2 * np.pi * x), [pde.Periodic("x")], "a constant may be added to u"),
    ],
)
def test_too_few_conditions_in_space_are_told(equation, conditions, said):
    with pytest.warns(UserWarning, match=said):
        pde.Problem(equation, LINE, conditions, network=NET)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pde.Problem(equation, LINE, [*conditions, pde.Data(x=[0.5], u=[0.0])], network=NET)


def test_a_march_refuses_velocities_and_times_of_its_own():
    def fixed(time, start):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**start)]
        return pde.Problem(lambda u: u.t - u.xx, LINE * pde.Time(0, 0.5), conditions, network=NET)

    def second(time, start):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**start), REST]
        return pde.Problem(lambda u: u.tt - u.xx, LINE * time, conditions, network=NET)

    start = {"u": lambda x: np.sin(np.pi * x)}
    with pytest.raises(ProblemError, match="order 2 in t"):
        pde.march(second, start, [0, 0.4, 0.8], steps=1, points=20, progress=False)
    with pytest.raises(ProblemError, match=r"from 0 to 0\.4 goes from 0 to 0\.5"):
        pde.march(fixed, start, [0, 0.4, 0.8], steps=1, points=20, progress=False)
