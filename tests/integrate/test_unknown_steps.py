"""Without t_eval the end is read as SciPy's users read it; whatever asks for other steps is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.integrate import solve_ivp
from primad.scipy import integrate as mirror

READ: dict[str, Callable[[Any], Any]] = {
    "of a component": lambda found: found.y[1, -1],
    "of a component, by its row": lambda found: found.y[1][-1],
    "of a component, from the end": lambda found: found.y[-1, -1],
    "of all": lambda found: np.sum(found.y[:, -1] ** 2),
    "of all, by dots": lambda found: np.sum(found.y[..., -1] ** 2),
    "of all, with dots at the end": lambda found: np.sum(found.y.T[-1, ...] ** 2),
    "of some": lambda found: np.sum(found.y[[1, 0], -1] * np.array([2.0, 3.0])),
    "of a slice": lambda found: found.y[1:][0, -1],
    "of a mask": lambda found: found.y[np.array([False, True]), -1][0],
    "with its axis": lambda found: np.sum(found.y[:, -1:] @ np.array([2.0])),
    "across": lambda found: found.y.T[-1][1],
    "across, with its axis": lambda found: np.sum(found.y.T[-1:] @ np.array([2.0, 1.0])),
    "across twice": lambda found: found.y.T.T[0, -1],
    "the time": lambda found: found.t[-1] ** 2,
    "the time with its axis": lambda found: found.t[-1:][0] ** 2,
}
OTHER: dict[str, Callable[[Any], Any]] = {
    "all": lambda found: found.y,
    "a sum": lambda found: np.sum(found.y),
    "a method": lambda found: found.y.sum(),
    "the shape": lambda found: found.y.shape,
    "a power": lambda found: found.y**2,
    "a comparison": lambda found: found.y[0] > 1,
    "the other side": lambda found: 1.0 + found.t,
    "a row": lambda found: found.y[0],
    "the first": lambda found: found.y[:, 0],
    "the last but one": lambda found: found.y[0, -2],
    "the last two": lambda found: found.y[0, -2:],
    "rows by number": lambda found: found.y[[0, 1]],
    "steps by number": lambda found: found.y[0, [-1]],
    "a new axis": lambda found: found.y[None],
    "too many axes": lambda found: found.t[0, -1],
    "how many": lambda found: len(found.t),
    "one after the other": lambda found: list(found.t),
    "a truth value": lambda found: bool(found.t),
    "a number": lambda found: float(found.t),
}


def solved(method: str, rate: Any, solver: Callable[..., Any] = mirror.solve_ivp) -> Any:
    return solver(lambda t, y: -rate * y**2, (0.0, rate), [1.0, 2.0], method, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
@pytest.mark.parametrize("name", READ)
def test_the_end_is_what_it_is_outside_of_transforms(name: str, method: str) -> None:
    def end(rate: Any) -> Any:
        return READ[name](solved(method, rate))

    expected = (end(1.3001) - end(1.2999)) / 2e-4  # SciPy's own function, since nothing is traced
    assert primad.grad(end)(1.3) == pytest.approx(expected, rel=1e-6)
    assert primad.jit(end)(1.3) == pytest.approx(end(1.3), rel=1e-7)


@pytest.mark.parametrize("name", OTHER)
def test_other_steps_say_what_to_write(name: str) -> None:
    for transform in (primad.grad, primad.jit):
        with pytest.raises(primad.NotDifferentiableError, match=r"t_eval has to be given[\s\S]*y\[:, -1\]"):
            transform(lambda rate: OTHER[name](solved("RK45", rate)))(1.3)


@pytest.mark.parametrize("solver", [solve_ivp, mirror.solve_ivp])
def test_the_end_and_the_event_are_one_where_it_ends_the_path(solver: Callable[..., Any]) -> None:
    def lands(t: Any, y: Any) -> Any:
        return y[0]

    lands.terminal, lands.direction = True, -1  # type: ignore[attr-defined]

    def landing(gravity: Any) -> Any:
        def fall(t: Any, y: Any) -> Any:
            return [y[1], -gravity]

        found = solver(fall, (0.0, 10.0), [0.0, 7.0], events=lands, rtol=1e-9, atol=1e-9)
        return np.stack([found.t[-1], found.y[1, -1], found.t_events[0][0], found.y_events[0][0, 1]])

    time, speed = 2 * 7.0 / 9.81, -7.0
    np.testing.assert_allclose(primad.jit(landing)(9.81), [time, speed, time, speed], rtol=1e-8)
    np.testing.assert_allclose(primad.jvp(landing, (9.81,), (1.0,))[1], [-time / 9.81, 0, -time / 9.81, 0], atol=1e-8)
    late = primad.vmap(landing)(np.array([9.81, 0.01]))[1]
    np.testing.assert_allclose(late[:2], [10.0, 7.0 - 0.1], rtol=1e-8)


def test_an_end_that_is_not_reached_says_so() -> None:
    def end(rate: Any) -> Any:
        return solve_ivp(lambda t, y: rate * y**2, (0.0, 2.0), [1.0]).y[0, -1]

    with pytest.raises(primad.PrimadError, match=r"0\.9999"):
        primad.grad(end)(1.0)
