"""Further calls of functions that contain a solver: what was recorded serves again where the function does the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import implicit, pde
from primad import numpy as pnp
from primad.runtime.cache import Cache

TARGET = np.array([1.0, 4.0, 9.0])
SOLVERS = {
    "root": lambda k, shift: implicit.root(lambda x, k: k * x**2 - TARGET - shift, np.ones(3), k),
    "fixed_point": lambda k, shift: implicit.fixed_point(
        lambda x, k: (x + (TARGET + shift) / (k * x)) / 2, 2 * np.ones(3), k
    ),
    "linear_solve": lambda k, shift: implicit.linear_solve(lambda x, k: k * x, np.sqrt((TARGET + shift) * k), k),
    "minimize": lambda k, shift: implicit.minimize(
        lambda x, k: pnp.sum(k * x**3 / 3 - (TARGET + shift) * x), np.sqrt(TARGET + 0.1), k
    ),
    "least_squares": lambda k, shift: implicit.least_squares(
        lambda x, k: k * x**2 - TARGET - shift, np.sqrt(TARGET + 0.1), k
    ),
    "argmin": lambda k, shift: implicit.argmin(
        lambda x, k: pnp.sum((x - 1) ** 2), np.sqrt(TARGET + 0.1), k, equal=lambda x, k: k * x**2 - TARGET - shift
    ),
}
"""Functions of a factor and of a number that they close over, all of which find √((target + number) / factor)."""


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list in which all that is made from now on and kept is noted, but for factors of matrices."""
    made: list[str] = []
    whole = Cache.get

    def get(self: Cache, key: Any, make: Callable[[], Any]) -> Any:
        def noted() -> Any:
            if key.kind != "factors":
                made.append(key.kind)
            return make()

        return whole(self, key, noted)

    monkeypatch.setattr(Cache, "get", get)
    return made


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SOLVERS)
def test_further_calls_make_no_plan_and_see_what_has_changed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers and arrays that it closes over change between calls, and derivatives are asked for meanwhile."""
    found = SOLVERS[name]
    found(1.0, 0.0)
    found(1.0, 0.5)
    made = watched(monkeypatch)
    for k, shift in ((2.0, 0.5), (3.0, 0.25), (2.0, 3.0)):
        exact = np.sqrt((TARGET + shift) / k)
        np.testing.assert_allclose(found(k, shift), exact, rtol=1e-8)
        assert not made
    monkeypatch.undo()
    slope = primad.jacobian(lambda k: found(k, 0.75))(2.0)
    np.testing.assert_allclose(slope, -np.sqrt((TARGET + 0.75) / 2) / 4, rtol=1e-7)
    np.testing.assert_allclose(found(2.0, 1.5), np.sqrt((TARGET + 1.5) / 2), rtol=1e-8)


def test_a_function_that_branches_on_what_it_closes_over_is_followed_as_far_as_it_does_the_same() -> None:
    """The number of steps, an array and a branch are others in some calls."""

    def found(times: int, factor: np.ndarray, is_cube: int) -> np.ndarray:
        def equation(x: np.ndarray) -> np.ndarray:
            y = x
            for _ in range(times):
                y = factor * y
            return (y**3 if is_cube else y) - 8.0

        result: np.ndarray = implicit.root(equation, np.ones(4))
        return result

    factors = [np.full(4, 2.0), np.array([1.0, 2.0, 4.0, 0.5])]
    for times, which, is_cube in [(1, 0, 0), (1, 1, 0), (3, 1, 0), (1, 0, 1), (1, 0, 0), (2, 0, 1)]:
        exact = (2.0 if is_cube else 8.0) / factors[which] ** times
        np.testing.assert_allclose(found(times, factors[which], is_cube), exact, rtol=1e-9)


def test_recordings_whose_arguments_are_known_are_not_taken_where_they_are_not() -> None:
    """A function that reads its values is refused by `root`, whatever was recorded of it before."""

    def equation(x: np.ndarray) -> np.ndarray:
        return x - 2.0 if x[0] > 0 else x + 2.0

    primad.jacobian(equation)(np.ones(3))
    for _ in range(2):
        with pytest.raises(primad.errors.TracingError):
            implicit.root(equation, np.ones(3))


def test_weak_forms_of_the_users_own_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The residual of elements is solved outside of `jit`, for other coefficients: −(k u′)′ = 1, u = x (1 − x) / 2k."""
    stated = pde.Problem(lambda u, k: k * u.xx + 1, pde.Interval(0, 1), [pde.Dirichlet(u=0)], constants={"k": 1.0})
    elements = pde.Elements(stated, 0.05, 2)
    start = elements.started(0.0)[elements.free]

    def found(k: float) -> np.ndarray:
        def equation(free: np.ndarray) -> np.ndarray:
            return elements.gathered(elements.residual(elements.whole(free, np.zeros(2)), {"k": k}))

        result: np.ndarray = elements.whole(implicit.root(equation, start), np.zeros(2))
        return result

    found(1.0)
    found(2.0)
    made = watched(monkeypatch)
    x = elements.nodes[:, 0]
    for k in (3.0, 0.5):
        np.testing.assert_allclose(found(k), x * (1 - x) / (2 * k), atol=1e-12)
    assert not made
