"""Errors that leave what users call have the users' frames, and none of primad's."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import integrate, optimize, pde
from primad.errors import is_primads, warn
from primad.recording import tree
from tests.sources import trees

X = np.array([1.0, 2.0, 3.0])
Body = Callable[..., Any]
ENTRANCES: dict[str, Callable[[Body], Any]] = {
    "grad": lambda f: primad.grad(f)(X),
    "value_and_grad": lambda f: primad.value_and_grad(f)(X),
    "jit": lambda f: primad.jit(f)(X),
    "vmap": lambda f: primad.vmap(f)(X),
    "jacobian": lambda f: primad.jacobian(f)(X),
    "jacfwd": lambda f: primad.jacfwd(f)(X),
    "jacrev": lambda f: primad.jacrev(f)(X),
    "hessian": lambda f: primad.hessian(f)(X),
    "laplacian": lambda f: primad.laplacian(f)(X),
    "derivative": lambda f: primad.derivative(f)(1.0),
    "taylor": lambda f: primad.taylor(f, X, X, 2),
    "hvp": lambda f: primad.hvp(f, X, X),
    "jvp": lambda f: primad.jvp(f, (X,), (X,)),
    "vjp": lambda f: primad.vjp(f, X),
    "linearize": lambda f: primad.linearize(f, X),
    "linear_transpose": lambda f: primad.linear_transpose(f, X),
    "checkpoint": lambda f: primad.checkpoint(f)(X),
    "trace": lambda f: primad.trace(f)(X),
    "check_grads": lambda f: primad.check_grads(f, (X,)),
    "explain": lambda f: primad.explain(f, X),
    "scan": lambda f: primad.scan(lambda c, x: (f(c), None), 1.0, X),
    "map": lambda f: primad.map(f, X),
    "fori_loop": lambda f: primad.fori_loop(0, 3, lambda i, c: f(c), 1.0),
    "associative_scan": lambda f: primad.associative_scan(lambda a, b: f(a), X),
    "while_loop": lambda f: primad.while_loop(lambda c: c < 3, f, 1.0),
    "cond": lambda f: primad.cond(np.array(True), f, f, X),
    "switch": lambda f: primad.switch(np.array(0), [f, f], X),
    "distribute": lambda f: primad.distribute(f)(primad.Share.of(X)),
    "minimize": lambda f: optimize.minimize(f, X),
    "least_squares": lambda f: optimize.least_squares(f, X),
    "root": lambda f: optimize.root(f, X),
    "solve": lambda f: optimize.solve(optimize.LBFGS(), f, X, progress=False),
    "solve_ivp": lambda f: integrate.solve_ivp(lambda t, y: f(y), (0.0, 1.0), X),
    "quad": lambda f: integrate.quad(f, 0.0, 1.0),
    "a problem": lambda f: pde.Problem(lambda u: f(u.xx), pde.Interval(0, 1), [pde.Dirichlet(u=0.0)]),
    "one in another": lambda f: primad.grad(lambda x: primad.jit(primad.grad(f))(x).sum())(X),
    "to NumPy's function": lambda f: np.sum(primad.grad(lambda x: np.sum(np.apply_along_axis(f, 0, x)))(X)),
}  # fmt: skip


def fails_by_itself(*arguments: Any) -> Any:
    return arguments[0] * {}["missing"]


def asks_for_numbers(*arguments: Any) -> Any:
    return arguments[0] * "three"


def calls_a_library(*arguments: Any) -> Any:
    return arguments[0] * np.linalg.inv(np.zeros((2, 2)))


def frames(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))


@pytest.mark.parametrize("body", [fails_by_itself, asks_for_numbers, calls_a_library])
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_users_frames_are_left(entrance: str, body: Body, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIMAD_TRACEBACK", raising=False)
    with pytest.raises((KeyError, TypeError, np.linalg.LinAlgError)) as caught:
        ENTRANCES[entrance](body)
    found = frames(caught.value)
    assert [frame.filename for frame in found if is_primads(frame.filename)] == []
    assert body.__name__ in [frame.name for frame in found]
    assert found[0].name == "test_the_users_frames_are_left"
    if body is not calls_a_library:
        assert found[-1].name == body.__name__
    else:
        assert found[-1].filename.endswith("_linalg.py")  # what failed there is the library's to say


def test_all_frames_are_left_where_the_variable_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMAD_TRACEBACK", "1")
    with pytest.raises(primad.TracingError) as caught:
        primad.grad(asks_for_numbers)(X)
    assert any(is_primads(frame.filename) for frame in frames(caught.value))


def test_a_defect_of_primads_keeps_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primad.functional.derived_calls, "plain_types", lambda args: tree.paths(args))
    with pytest.raises(AttributeError) as caught:
        primad.grad(lambda x: x * x)(1.0)
    names = [frame.name for frame in frames(caught.value)]
    assert names[-1] == "paths" and "__init__" in names


def test_the_causes_of_an_error_are_filtered_too() -> None:
    def chained(x: Any) -> Any:
        try:
            return primad.grad(asks_for_numbers)(x)
        except primad.TracingError as error:
            raise ValueError("the user's own") from error

    with pytest.raises(ValueError, match="own") as caught:
        primad.jit(chained)(X)
    assert caught.value.__cause__ is not None
    for error in (caught.value, caught.value.__cause__):
        assert not any(is_primads(frame.filename) for frame in frames(error))


def test_a_traceback_needs_no_memory_for_what_it_leaves_out() -> None:
    """Frames hold their variables: those that are left out are freed, but for those that run."""
    with pytest.raises(KeyError) as caught:
        primad.grad(fails_by_itself)(X)
    step, names = caught.value.__traceback__, []
    while step is not None:
        names.append(step.tb_frame.f_code.co_name)
        step = step.tb_next
    assert names == ["test_a_traceback_needs_no_memory_for_what_it_leaves_out", "fails_by_itself"]


def test_what_a_library_said_is_not_shown_beside_what_primad_says(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = primad.vmap(lambda a: np.linalg.cholesky(a))
    with pytest.raises(primad.MatrixError) as caught:
        factor(-np.ones((2, 2, 2)))
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    monkeypatch.setenv("PRIMAD_TRACEBACK", "1")
    with pytest.raises(primad.MatrixError) as caught:
        factor(-np.ones((2, 2, 2)))
    assert isinstance(caught.value.__cause__, np.linalg.LinAlgError)


def warned_from_inside(x: Any) -> Any:
    def inner(y: Any) -> Any:
        warn("something is odd", RuntimeWarning)
        return np.sum(y)

    return primad.grad(inner)(x)


def test_warnings_name_the_users_line() -> None:
    with pytest.warns(RuntimeWarning, match="odd") as found:
        warned_from_inside(X)
    assert found[0].filename == __file__ and found[0].lineno == warned_from_inside.__code__.co_firstlineno + 2
    with pytest.warns(UserWarning, match="cannot hold by construction") as found:
        pde.Problem(
            lambda u: u.t - u.xx,
            pde.Interval(-1, 1) * pde.Time(0, 1),
            [pde.Periodic("x"), pde.Initial(u=lambda x: x**2)],
        )
    assert found[0].filename == __file__


def test_every_warning_finds_the_users_line_by_itself() -> None:
    """A number of levels is wrong as soon as a function is put in between."""
    for path, parsed in trees("warnings"):
        if "compat" not in path.parts and path.name != "errors.py":
            calls = [node for node in ast.walk(parsed) if isinstance(node, ast.Call)]
            assert not [node for node in calls if ast.unparse(node.func) == "warnings.warn"], path
