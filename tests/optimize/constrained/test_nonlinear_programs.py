"""Nonlinear programs: what they say of derivatives is what dense matrices have, in every form of problem; and Ipopt."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, NonlinearConstraint

import primad
from primad import optimize
from primad.optimize import NonlinearProgram

N = 12


def chain(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bent(x: Any) -> Any:
    return 3 * x[1:-1] ** 3 + np.sin(x[1:-1] - x[2:]) * np.sin(x[1:-1] + x[2:]) - x[:-2] * np.exp(x[:-2] - x[1:-1])


def layers(p: Any) -> Any:
    return {"a": p["w"] @ p["b"], "b": np.sum(p["w"], axis=0) * p["c"]}


START = np.linspace(0.5, 1.5, N)
TREE = {"b": np.linspace(1, 2, 4), "c": 0.5, "w": np.linspace(-1, 1, 12).reshape(3, 4)}
BANDS = sparse.diags_array([np.ones(N), -np.ones(N - 1)], offsets=[0, 1], format="csr")

PROBLEMS: dict[str, tuple[Any, Any, Any]] = {
    "rows": (chain, START, {"type": "eq", "fun": bent}),
    "nothing": (chain, START, ()),
    "none": (chain, START, None),
    "linear": (lambda x: x @ np.arange(N), START, LinearConstraint(BANDS, 0.0, 1.0)),
    "one row": (chain, START, [LinearConstraint(np.ones(N), -np.inf, 1), {"type": "ineq", "fun": lambda x: x[0] - 1}]),
    "dense row": (
        lambda x: np.sum(x) ** 2,
        START,
        NonlinearConstraint(lambda x: np.append(x * x, np.prod(x)), -1, np.ones(N + 1)),
    ),
    "tree": (
        lambda p: np.sum(np.tanh(p["w"]) ** 2) + p["c"] * np.sum(p["b"] ** 3),
        TREE,
        [NonlinearConstraint(layers, {"a": 0.0, "b": -1.0}, {"a": np.ones(3), "b": np.inf})],
    ),
    "arguments": (lambda x: x[0] ** 2 + x[1], [1, 2], {"type": "eq", "fun": lambda x, a: a * x[0] * x[1], "args": 3.0}),
    "numbers in a list": (lambda x: x[0] * x[1], (1.0, 2.0), {"type": "eq", "fun": lambda x: [x[0] - 1, x[1] ** 2]}),
    "no rows at all": (chain, START, NonlinearConstraint(lambda x: x[:0], 0, 0)),
    "no rows": (chain, START, [NonlinearConstraint(lambda x: x[:0], 0, 0), {"type": "eq", "fun": bent}]),
    "points": (
        lambda x: np.sum(x[np.array([0, 0, 3])] ** 3),
        START,
        NonlinearConstraint(lambda x: np.linalg.norm(x.reshape(-1, 3), axis=1), 0.0, 9.0),
    ),
    "single precision": (
        lambda x: np.sum(x**3),
        START.astype(np.float32),
        {"type": "eq", "fun": lambda x: x[1:] * x[:-1]},
    ),
}


def dense(size: tuple[int, int], where: Any, values: Any) -> Any:
    """Return a matrix of entries, each of which is there once."""
    assert len(values) == len(where[0]) == len({*zip(*map(list, where), strict=True)})
    matrix = np.zeros(size)
    matrix[where] = values
    return matrix


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives_are_those_of_dense_matrices(name: str) -> None:
    fun, start, constraints = PROBLEMS[name]
    program = NonlinearProgram(fun, start, constraints=constraints)
    n, m = program.start.size, program.constraint_lower.size
    rng = np.random.default_rng(1)
    x, weights, factor = program.start + 0.1 * rng.normal(size=n), rng.normal(size=m), rng.normal()
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if name == "single precision" else {"rtol": 1e-11, "atol": 1e-11}

    def value(x: Any) -> Any:
        return program._flat.number(program._flat.space.tree(x))

    np.testing.assert_allclose(program.objective(x), value(x), **tolerance)
    np.testing.assert_allclose(program.gradient(x), primad.grad(value)(x), **tolerance)
    assert program.constraints(x).shape == program.constraint_upper.shape == (m,)
    J, H = np.zeros((0, n)), factor * np.asarray(primad.hessian(value)(x))
    if m:
        J = np.asarray(primad.jacobian(program._joined_rows)(x))
        H = H + np.asarray(primad.hessian(lambda x: np.sum(weights * program._joined_rows(x)))(x))
    np.testing.assert_allclose(dense((m, n), program.jacobianstructure(), program.jacobian(x)), J, **tolerance)
    where = program.hessianstructure()
    assert np.all(where[0] >= where[1])
    found = dense((n, n), where, program.hessian(x, weights, factor))
    np.testing.assert_allclose(found, np.tril(H), **tolerance)


def test_entries_are_few() -> None:
    n = 1000
    program = NonlinearProgram(chain, np.zeros(n), constraints={"type": "eq", "fun": bent})
    assert len(program.jacobianstructure()[0]) == 3 * (n - 2)
    assert len(program.hessianstructure()[0]) == 2 * n - 1
    linear = NonlinearProgram(np.sum, np.zeros(n), constraints=LinearConstraint(np.ones((1, n)), 1, 1))
    assert len(linear.hessianstructure()[0]) == 0 and linear.hessian(np.zeros(n), np.ones(1), 1.0).shape == (0,)


def test_limits_are_vectors() -> None:
    program = NonlinearProgram(
        lambda p: p["c"], TREE, bounds=(-2.0, {"b": np.inf, "c": 1.0, "w": np.ones((3, 4))}),
        constraints=PROBLEMS["tree"][2],
    )  # fmt: skip
    np.testing.assert_array_equal(program.lower, np.full(17, -2.0))
    np.testing.assert_array_equal(program.upper, [*[np.inf] * 4, *[1.0] * 13])
    np.testing.assert_array_equal(program.constraint_lower, [0, 0, 0, -1, -1, -1, -1])
    np.testing.assert_array_equal(program.constraint_upper, [1, 1, 1, *[np.inf] * 4])
    pairs = NonlinearProgram(np.sum, [1.0, 2.0, 3.0], bounds=[(None, 1), (0, None), (0, 1)])
    np.testing.assert_array_equal(pairs.lower, [-np.inf, 0, 0])


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"constraints": {"type": "eq", "fun": bent, "jac": lambda x: x}}, primad.TracingError, "jac would not"),
        ({"constraints": NonlinearConstraint(bent, 0, 0, jac=lambda x: x)}, primad.TracingError, "leave jac out"),
        ({"constraints": {"fun": bent}}, primad.ShapeError, "a constraint is a dict"),
        ({"constraints": NonlinearConstraint(bent, 1.0, 0.0)}, primad.ShapeError, "not below the upper"),
        ({"constraints": NonlinearConstraint(bent, np.ones(3), 0.0)}, primad.ShapeError, "a limit"),
        ({"constraints": LinearConstraint(np.ones((2, 3)), 0, 1)}, primad.ShapeError, "for 12 parameters"),
        ({"bounds": (np.zeros(3), 1.0)}, primad.ShapeError, "bounds"),
        ({"fun": bent}, primad.ShapeError, "not one number"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(wrong: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        NonlinearProgram(**{"fun": chain, "x0": START, **wrong})


def test_programs_are_of_plain_numbers() -> None:
    with pytest.raises(primad.NotDifferentiableError, match="NonlinearProgram"):
        primad.grad(lambda a: NonlinearProgram(lambda x: a * np.sum(x), START).objective(START))(1.0)
    with pytest.raises(primad.TracingError, match="test_nonlinear_programs") as branch:
        NonlinearProgram(lambda x: x[0] if x[0] > 0 else x[1], START)
    assert "compiled" not in str(branch.value)


def test_without_cyipopt_the_error_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cyipopt", None)
    with pytest.raises(primad.TracingError, match=r"primad\[ipopt\]"):
        NonlinearProgram(chain, START).solve()
    with pytest.raises(primad.TracingError, match="not be used"):
        optimize.minimize(chain, START, method="ipopt", jac=lambda x: x)
    with pytest.raises(primad.TracingError, match="compiled=False"):
        optimize.minimize(chain, START, method="ipopt", compiled=False)
    with pytest.raises(primad.TracingError, match="did you mean ipopt"):
        optimize.minimize(chain, START, method="ipot")


# -- with a stand-in that calls what Ipopt does ------------------------------------------------------------------------


class StandIn:
    """What cyipopt.Problem is called with, and a search of three points that loses an error of the gradient."""

    def __init__(self, problem_obj: Any, **given: Any) -> None:
        self.called, self.given, self.options = problem_obj, given, dict[str, Any]()

    def add_option(self, name: str, value: Any) -> None:
        if name == "unknown":
            raise TypeError("no such option")
        self.options[name] = value

    def get_current_iterate(self) -> dict[str, Any]:
        return {"x": self.x}

    def solve(self, x: Any, **given: Any) -> tuple[Any, dict[str, Any]]:
        self.start, self.warm, number = x.copy(), given, -1
        for number in range(3):
            self.x = x + number
            value, lost = self.called.objective(self.x), False
            for function in (self.called.gradient, self.called.gradient):
                try:
                    function(self.x)
                except ValueError:
                    lost = True
            if not self.called.intermediate(0, number, value) or lost:
                break
        else:
            number = 3
        multipliers = {"mult_g": np.arange(1.0, 4.0), "mult_x_L": np.arange(x.size), "mult_x_U": -np.arange(x.size)}
        message = b"solved" if number == 3 else "stopped"
        return self.x, {"status": int(number < 3), "status_msg": message, "obj_val": value, **multipliers}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[StandIn]:
    made: list[StandIn] = []

    def problem(**given: Any) -> StandIn:
        made.append(StandIn(**given))
        return made[-1]

    monkeypatch.setitem(sys.modules, "cyipopt", SimpleNamespace(Problem=problem))
    return made


def small() -> NonlinearProgram:
    constraints = [{"type": "eq", "fun": lambda p: p["x"] - 1.0}, LinearConstraint(np.ones((1, 3)), 0.0, 2.0)]
    return NonlinearProgram(
        lambda p: np.sum(p["x"] ** 2) + p["y"], {"x": np.ones(2), "y": 3.0}, constraints=constraints
    )


def test_ipopt_is_told_where_to_start_and_what_is_known(stand_in: list[StandIn]) -> None:
    program, other = small(), {"x": np.array([4.0, 5.0]), "y": 6.0}
    first = program.solve()
    assert first.success and first.nit == 2 and first.message == "solved" and first.status == 0
    np.testing.assert_array_equal(first.x["x"], [3.0, 3.0])
    assert [np.ravel(one).tolist() for one in first.multipliers] == [[1.0, 2.0], [3.0]]
    assert first.lower_multipliers["y"] == 2.0 and first.upper_multipliers["y"] == -2.0
    program.solve(other)
    program.solve(after=first)
    program.solve(other, after=first, tol=1e-3, options={"maxiter": 7, "disp": True})
    starts = [one.start.tolist() for one in stand_in]
    assert starts == [[1.0, 1.0, 3.0], [4.0, 5.0, 6.0], [3.0, 3.0, 5.0], [4.0, 5.0, 6.0]]
    assert [bool(one.warm) for one in stand_in] == [False, False, True, True]
    assert stand_in[2].warm["lagrange"].tolist() == [1.0, 2.0, 3.0]
    assert stand_in[0].options == {"print_level": 0, "sb": "yes"}
    assert stand_in[2].options == {"warm_start_init_point": "yes", "print_level": 0, "sb": "yes"}
    assert stand_in[3].options == {
        "warm_start_init_point": "yes", "print_level": 5, "sb": "yes", "max_iter": 7, "tol": 1e-3,
    }  # fmt: skip
    with pytest.raises(primad.TracingError, match="'unknown'"):
        program.solve(options={"unknown": 1})


def test_ipopt_goes_on_until_somebody_says_no(stand_in: list[StandIn]) -> None:
    seen: list[int] = []

    def stop(intermediate_result: Any) -> None:
        seen.append(intermediate_result.nit)
        if intermediate_result.nit == 1:
            raise StopIteration

    found = small().solve(callback=stop)
    assert seen == [0, 1] and found.nit == 1 and not found.success and found.message == "stopped"


def test_the_first_error_that_ipopt_loses_is_raised(stand_in: list[StandIn], monkeypatch: pytest.MonkeyPatch) -> None:
    program, count, seen = small(), iter(range(9)), list[Any]()

    def gradient(x: Any) -> Any:
        raise ValueError(f"error {next(count)}")

    monkeypatch.setattr(program, "gradient", gradient)
    with pytest.raises(ValueError, match="error 0"):
        program.solve(callback=seen.append)
    assert not seen


# -- with Ipopt --------------------------------------------------------------------------------------------------------


@pytest.fixture
def ipopt() -> Any:
    return pytest.importorskip("cyipopt", reason="the extra primad[ipopt] is not installed")


def test_a_known_minimum(ipopt: Any) -> None:
    """Problem 71 of Hock and Schittkowski, whose minimum 17.0140173 is published."""

    def fun(x: Any) -> Any:
        return x[0] * x[3] * np.sum(x[:3]) + x[2]

    constraints = [NonlinearConstraint(np.prod, 25.0, np.inf), NonlinearConstraint(lambda x: x @ x, 40.0, 40.0)]
    program = NonlinearProgram(fun, [1, 5, 5, 1], bounds=(1.0, 5.0), constraints=constraints)
    found = program.solve()
    assert found.success and found.status == 0 and found.nit < 15
    np.testing.assert_allclose(found.fun, 17.0140173, rtol=1e-8)
    slope = program.gradient(found.x) + found.multipliers[0] * primad.grad(np.prod)(found.x)
    slope += found.multipliers[1] * 2 * found.x
    np.testing.assert_allclose(slope, found.lower_multipliers - found.upper_multipliers, atol=1e-6)
    again = program.solve(after=found, options={"mu_init": 1e-9})
    assert again.nit < found.nit
    np.testing.assert_allclose(again.x, found.x, rtol=1e-7)
    np.testing.assert_allclose(program.solve([1, 4, 4, 2]).x, found.x, rtol=1e-6)
    for other in ([1.0, 2.0], {"x": np.ones(4)}, np.ones((2, 2))):
        with pytest.raises(primad.ShapeError):
            program.solve(other)


def test_minimize_takes_it_as_a_method(ipopt: Any, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []
    found = optimize.minimize(
        lambda p, c: np.sum((p["x"] - c) ** 2) + p["y"] ** 2, {"x": np.ones(2), "y": 3.0}, 2.0, "ipopt",
        constraints={"type": "eq", "fun": lambda p: np.sum(p["x"]) + p["y"] - 1}, tol=1e-10, options={"maxiter": 50},
        callback=lambda p: seen.append(p),
    )  # fmt: skip
    assert found.success and not capfd.readouterr().out
    np.testing.assert_allclose(found.x["x"], [1.0, 1.0])
    np.testing.assert_allclose(found.x["y"], -1.0)
    assert len(seen) == found.nit + 1 and seen[-1].keys() == {"x", "y"}
    for method in ("SLSQP", "trust-constr"):
        other = optimize.minimize(chain, START, method=method, constraints={"type": "eq", "fun": lambda x: bent(x)[:3]})
        ours = optimize.minimize(
            chain, other.x, method="ipopt", constraints={"type": "eq", "fun": lambda x: bent(x)[:3]}
        )
        np.testing.assert_allclose(ours.x, other.x, atol=1e-3)


def test_complex_unknowns_are_two_numbers_each(ipopt: Any) -> None:
    def far(z: Any) -> Any:
        return np.sum(np.abs(z - (1 + 2j)) ** 2)

    found = optimize.minimize(
        far, np.zeros(2, complex), method="ipopt", constraints={"type": "eq", "fun": lambda z: z[:1] * 2 - 2j}
    )
    np.testing.assert_allclose(found.x, [1j, 1 + 2j], atol=1e-7)
    np.testing.assert_allclose(found.multipliers[0], [[1.0, 1.0]])
    assert NonlinearProgram(far, found.x).solve(found.x).x.dtype == complex
    with pytest.raises(primad.PrimadError, match="complex"):
        NonlinearProgram(far, found.x, constraints=NonlinearConstraint(lambda z: z, 0.0, 1.0))


def test_how_a_search_ends(ipopt: Any, capfd: pytest.CaptureFixture[str]) -> None:
    program = NonlinearProgram(chain, START, constraints={"type": "eq", "fun": bent})
    short = program.solve(options={"maxiter": 2})
    assert not short.success and short.nit == 2 and "iterations" in short.message.lower()

    def stop(intermediate_result: Any) -> None:
        assert intermediate_result.x.shape == (N,) and np.isfinite(intermediate_result.fun)
        if intermediate_result.nit == 1:
            raise StopIteration

    assert program.solve(callback=stop).nit == 1
    with pytest.raises(ZeroDivisionError):
        program.solve(callback=lambda x: 1 / 0)
    with pytest.raises(primad.TracingError, match="'no_such_option'"):
        program.solve(options={"no_such_option": 1})
    capfd.readouterr()
    program.solve(options={"disp": True, "max_iter": 1})
    assert "Number of nonzeros" in capfd.readouterr().out


def test_an_error_of_a_derivative_is_raised(ipopt: Any) -> None:
    """What has a first derivative only: its second is an error, not a direction of the search, and can be left out."""
    slope = primad.opaque(lambda x: 2 * np.asarray(x), result=lambda x: x)

    @primad.custom_jvp
    @primad.opaque(result=lambda x: x)
    def square(x: Any) -> Any:
        return np.asarray(x) ** 2

    @square.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return square(*primals), slope(*primals) * tangents[0]

    program = NonlinearProgram(lambda x: np.sum(square(x - 1)) + x[0] ** 4, np.zeros(3))
    with pytest.raises(primad.NotDifferentiableError):
        program.solve()
    found = program.solve(options={"hessian_approximation": "limited-memory"})
    np.testing.assert_allclose(found.x[1:], 1.0)


def unmoved() -> NonlinearProgram:
    fixed = NonlinearConstraint(lambda x: np.ones(2) + 0 * x[:2], 0.0, 1.5)
    return NonlinearProgram(lambda x: np.sum((x - 1) ** 2), np.zeros(3), constraints=fixed)


def test_constraints_that_no_unknown_moves_have_an_entry() -> None:
    rows, columns = unmoved().jacobianstructure()
    assert rows.tolist() == columns.tolist() == [0] and unmoved().jacobian(np.zeros(3)).tolist() == [0.0]


def test_constraints_that_no_unknown_moves_are_for_ipopt(ipopt: Any) -> None:
    np.testing.assert_allclose(unmoved().solve().x, 1.0)
