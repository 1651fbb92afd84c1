"""What solvers refuse, what stands just beside it and is taken, and limits where they are met exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import BFGS, SR1, LinearConstraint, NonlinearConstraint

import primad
from primad import optimize
from primad.errors import MatrixError, MemoryLimitError, NotFiniteError, PrimadError, ShapeError, TracingError
from primad.optimize import endings
from primad.optimize.gauss_newton import damped_systems, levenberg_marquardt, residual_blocks, residual_models
from primad.optimize.gauss_newton.damping import scales
from primad.optimize.gauss_newton.newton_cg import conjugate_gradients
from primad.optimize.parameter_vectors import first_bad, flat
from primad.optimize.quasi_newton.search_step import _pair
from primad.optimize.real_coordinates import RealCoordinates
from primad.optimize.scipy_solvers import flat_functions, scipy_minimizers
from primad.optimize.scipy_solvers.curve_fitting import _column
from primad.optimize.scipy_solvers.flat_functions import Plain, as_array, is_array
from primad.optimize.scipy_solvers.limits import bounds_of, constraint_of
from primad.optimize.scipy_solvers.own_methods import own_method

TWO = np.array([0.3, 0.2])


def square(x: Any) -> Any:
    return np.sum((x - 1.0) ** 2)


def least(**options: Any) -> Any:
    return optimize.minimize(square, TWO, **options)


def fit(**options: Any) -> Any:
    return optimize.least_squares(lambda x: x - 1.0, TWO, **options)


REFUSED: dict[str, tuple[Callable[[], Any], type[PrimadError], str]] = {
    **{
        f"forcing {forcing}": (
            lambda forcing=forcing: optimize.NewtonCG(forcing=forcing), ShapeError, "between 0 and 1",
        )
        for forcing in (0.0, 1.0, -0.5)
    },
    **{
        f"tries {count}": (lambda count=count: optimize.NewtonCG(tries=count), ShapeError, "a positive integer")
        for count in (0, 1.5, "2")
    },
    **{
        f"steps {count}": (
            lambda count=count: optimize.solve(optimize.LBFGS(), square, TWO, steps=count), ShapeError, "not negative",
        )
        for count in (-1, 1.5)
    },
    "a block of no points": (lambda: optimize.Residuals(np.sin, block=0), ShapeError, "at least one point"),
    "a gradient that is not finite": (
        lambda: optimize.minimize(lambda x: np.sqrt(x[0]), np.zeros(1), method=optimize.LBFGS()),
        NotFiniteError, "the gradient",
    ),
    "a triple": (lambda: _pair((1.0, TWO, 2), "LBFGS"), ShapeError, "not a pair"),
    "a text": (lambda: _pair("ab", "LBFGS"), ShapeError, "not a pair"),
    "jac=True and a triple": (
        lambda: optimize.minimize(lambda x: (square(x), x, 1), TWO, jac=True), ShapeError, "returns .value, gradient",
    ),
    "jac, an array": (lambda: least(jac=np.eye(2)), TracingError, "jac is a function or one of"),
    "jac, another scheme": (lambda: least(jac="4-point"), TracingError, "jac is a function or one of"),
    "jac of residuals, another scheme": (lambda: fit(jac="4-point"), TracingError, "jac is a function or one of"),
    "a scale for each of three in a tree": (
        lambda: optimize.least_squares(lambda p: p["a"] - 1.0, {"a": TWO}, x_scale=np.ones(3)), ShapeError, "x_scale",
    ),
    "a scale for each of three": (lambda: fit(x_scale=np.ones(3)), ShapeError, "x_scale"),
    "bounds of three numbers": (lambda: least(bounds=[(0.0, 1.0, 2.0)] * 2), ShapeError, "bounds"),
    "bounds in rows of rows": (lambda: least(bounds=[[[0.0, 1.0]], [[0.0, 1.0]]]), ShapeError, "bounds"),
    "a linear constraint in three axes": (
        lambda: least(constraints=SimpleLinear(np.ones((1, 1, 2)))), ShapeError, "LinearConstraint of shape",
    ),
    "a linear constraint of three": (
        lambda: least(constraints=LinearConstraint(np.ones((1, 3)))), ShapeError, "LinearConstraint of shape",
    ),
    "a constraint without a function": (
        lambda: least(constraints={"type": "eq"}), ShapeError, "a constraint is a dict",
    ),
    "a class of optimisers": (lambda: least(method=optimize.LBFGS), TracingError, "is a class"),
    "the spread where nothing is determined": (
        lambda: optimize.covariance(lambda x: 0.0 * x[0] + np.arange(4.0), TWO), MatrixError, "do not determine",
    ),
    "the spread of what is not finite": (
        lambda: optimize.covariance(lambda x: x[0] * np.array([1.0, np.nan, 2.0]), TWO), NotFiniteError, "not finite",
    ),
    "the spread where a slope is not finite": (
        lambda: optimize.covariance(lambda x: np.sqrt(x[:1]) * np.arange(3.0) + x[1], np.zeros(2)),
        NotFiniteError, "not finite",
    ),
    "finite bounds of complex unknowns": (
        lambda: optimize.minimize(lambda z: np.sum(np.abs(z) ** 2), np.array([1j, 2.0]), bounds=(-1.0, np.inf)),
        ShapeError, "a real bound of complex unknowns",
    ),
    "limits of complex numbers beside real ones": (
        lambda: optimize.NonlinearProgram(
            lambda z: np.sum(np.abs(z) ** 2), np.array([1j, 2.0]),
            constraints=NonlinearConstraint(lambda z: {"real": np.abs(z), "z": z}, 0.0, 1.0),
        ), ShapeError, "limits of complex numbers",
    ),
    "an object that branches": (lambda: optimize.minimize(Branching(), TWO), TracingError, "branch(?s:.*)refusals.py"),
    "a function of ours": (
        lambda: optimize.least_squares(primad.numpy.nonzero, TWO),
        TracingError, "which elements are not 0(?s:.*)refusals.py",
    ),
    "a derivative that is True": (
        lambda: optimize.NonlinearProgram(
            square, TWO, constraints={"type": "eq", "fun": np.sum, "jac": True},
        ), TracingError, "jac would not be used",
    ),
}  # fmt: skip


class Branching:
    """A function without code of its own."""

    def __call__(self, x: Any) -> Any:
        return square(x) if x[0] > 0 else 2 * square(x)


class SimpleLinear(LinearConstraint):
    """SciPy's, which would refuse such a matrix later, and say less."""

    def __init__(self, matrix: Any) -> None:
        super().__init__(matrix[0])
        self.A = matrix


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, error, said = REFUSED[name]
    with pytest.raises(error, match=said):
        call()


TAKEN: dict[str, Callable[[], Any]] = {
    "a block of one point": lambda: optimize.Residuals(np.sin, block=1),
    "one try": lambda: optimize.NewtonCG(tries=1, iterations=1, probes=np.int64(1)),
    "no steps": lambda: optimize.solve(optimize.LBFGS(), square, TWO, steps=0),
    "no constraints": lambda: least(constraints=None, method="SLSQP"),
    "empty constraints": lambda: least(constraints=(), method="trust-constr"),
    "options and a large limit": lambda: least(method="trust-constr", options={"maxiter": 3}, constraints=LIMITED),
    "a tree of tolerances": lambda: optimize.solve_ivp(
        lambda t, y: {"a": -y["a"], "b": y["b"]}, (0, 0.1), {"a": 1.0, "b": 2.0}, atol={"a": 1e-9, "b": 1e-6}
    ),
    "updates of a constraint's second derivatives": lambda: least(
        method="trust-constr", options={"maxiter": 3},
        constraints=NonlinearConstraint(lambda x: x[0] * x[1], 0.0, 1.0, hess=SR1()),
    ),
    "a constraint that cannot be recorded": lambda: least(
        method="trust-constr", options={"maxiter": 3},
        constraints=NonlinearConstraint(lambda x: math.sin(x[0]), 0.0, 1.0, jac=lambda x: [math.cos(x[0]), 0.0]),
    ),
    "limits in trees": lambda: optimize.minimize(
        lambda p: np.sum(p["x"] ** 2), {"x": TWO}, method="SLSQP",
        constraints=NonlinearConstraint(lambda p: {"sum": np.sum(p["x"])}, {"sum": 0.1}, np.inf),
    ),
    "limits in trees from above": lambda: optimize.minimize(
        lambda p: np.sum(p["x"] ** 2), {"x": TWO}, method="SLSQP",
        constraints=NonlinearConstraint(lambda p: {"sum": np.sum(p["x"])}, -np.inf, {"sum": 0.1}),
    ),
}  # fmt: skip
LIMITED = NonlinearConstraint(np.sum, 0.0, 1.0)


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.filterwarnings("ignore")
def test_what_stands_beside_it_is_taken(name: str) -> None:
    TAKEN[name]()


# -- limits, where they are met exactly --------------------------------------------------------------------------------


def test_a_search_ends_at_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(value=2.0, gradient=np.array([0.5]), stalled=True)
    assert endings.reason_of(state, 2.0, 0.0, True) == "target"
    assert endings.reason_of(state, 1.0, 0.5, True) == "gradient"
    monkeypatch.setattr(endings, "_beyond", lambda *args: None)
    for steepest, small in ((0.5 / endings.SMALL, True), (0.4 / endings.SMALL, False)):
        _, said = endings.ending("stalled", square, TWO, TWO, (), state, steepest)
        assert ("the gradient is not small" in said) != small


def test_small_systems_are_solved_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    alone: list[int] = []
    monkeypatch.setattr(damped_systems, "single_threaded_blas", lambda work: alone.append(1) or work())
    for rows in (damped_systems.ALONE, damped_systems.ALONE + 1):
        assert damped_systems._quietly(rows, lambda: 7) == 7
    assert len(alone) == 1


def test_a_matrix_of_zeros_is_damped_as_the_identity() -> None:
    np.testing.assert_array_equal(scales(np.zeros(3), 1.0), 1.0)


@pytest.mark.parametrize(("have", "fits"), [(None, True), (8 * 3 * 14, True), (8 * 3 * 14 - 1, False)])
def test_matrices_fit_into_memory(have: int | None, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3 residuals of 4 parameters in the space of residuals: 3 times (2 times 4 + 2 times 3) numbers."""
    monkeypatch.setattr(levenberg_marquardt, "physical_memory", lambda: have)
    if fits:
        levenberg_marquardt._check_memory(3, 4, True)
    else:
        with pytest.raises(MemoryLimitError, match="3 residuals of 4 parameters"):
            levenberg_marquardt._check_memory(3, 4, True)


def test_conjugate_gradients_end_where_they_may() -> None:
    gradient, one = np.array([2.0, -1.0]), np.ones(2)
    flat_there = conjugate_gradients(lambda v: 0 * v, gradient, one, 0.5, 5)
    assert flat_there.products == 1 and np.array_equal(flat_there.move, -gradient) and flat_there.promised == 5.0
    exact = conjugate_gradients(lambda v: 2 * v, gradient, one, 0.0, 5)
    assert exact.products == 1 and np.array_equal(exact.move, -gradient / 2)


def test_diagonals_are_exact_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    residuals, loss = optimize.Residuals(lambda x: 2.0 * x), residual_models.Loss(square)
    for limit, exact in ((4, True), (3, False)):
        monkeypatch.setattr(residual_models, "SMALL", limit)
        assert (residuals.exact_diagonal(TWO) is not None) == exact
    for limit, exact in ((2, True), (1, False)):
        monkeypatch.setattr(residual_models, "FEW", limit)
        assert (loss.exact_diagonal(TWO) is not None) == exact


def test_a_block_has_as_many_points_as_its_numbers_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two residuals and three parameters: six numbers of the Jacobian a point."""

    def at_points(p: Any, t: Any) -> Any:
        return np.stack([p[0] * t + p[1], p[2] * t], axis=1)

    def coupled(p: Any, t: Any) -> Any:
        return at_points(p, t) - np.sum(t)

    at = np.ones(3), (np.linspace(0.0, 1.0, 20),)
    for numbers, points in ((60, 10), (59, 9), (6, 1), (5, 1)):
        monkeypatch.setattr(residual_blocks, "BLOCK", numbers)
        for function, block, expected in ((at_points, None, points), (at_points, 7, 7), (coupled, None, 1)):
            (part,) = optimize.Residuals(function, block=block).parts(*at)
            assert (part.most, part.each, part.points) == ((expected, 2, 20) if function is at_points else (1, 40, 1))


def test_words_are_as_finite_as_numbers_can_be() -> None:
    assert residual_models.finite(1.0, TWO)
    assert not residual_models.finite(1.0, np.array([1.0, np.inf])) and not residual_models.finite(np.nan, TWO)
    assert first_bad("the datum ", {"name": np.array(["a", "b"]), "count": np.array([1, 2]), "x": TWO}) is None
    assert "x" in str(first_bad("the datum ", {"name": np.array(["a"]), "x": np.array([1.0, np.nan])}))
    assert flat([]).shape == (0,)


def test_numbers_are_what_scipy_makes_an_array_of() -> None:
    assert all(is_array(x) for x in (1, 1.5, 1j, np.float64(2), np.array(2.0), [1, [2.0, np.array(3.0)]]))
    assert not any(is_array(x) for x in ([], (), TWO, [TWO], "a", None, {"a": 1}))
    apart = [TWO, TWO[:1]]
    assert as_array(apart) is apart and as_array([1, 2.0]).shape == (2,)


def test_only_optimisers_are_own_methods() -> None:
    assert own_method(dict) is None and own_method(least) is None and own_method("SLSQP") is None


def test_bounds_of_complex_and_real_unknowns_together() -> None:
    both = RealCoordinates.of({"x": TWO, "z": np.array([1j, 2.0])})
    found = both.bound({"x": np.array([0.0, 1.0]), "z": np.array([1 - 2j, 3.0 + 0j])}, "bounds")
    np.testing.assert_array_equal(found["x"], [0.0, 1.0])
    np.testing.assert_array_equal(found["z"], [[1.0, -2.0], [3.0, 0.0]])
    spread = both.bound({"x": np.array([0.0, 1.0]), "z": -1 - 2j}, "bounds")
    np.testing.assert_array_equal(spread["z"], [[-1.0, -2.0]] * 2)
    with pytest.raises(ShapeError, match="a real bound of complex unknowns"):
        both.bound({"x": 0.0, "z": 0.0}, "bounds")
    assert both.bound(-np.inf, "bounds") == -np.inf


def test_trees_of_bounds_of_complex_and_real_unknowns() -> None:
    def far(p: Any) -> Any:
        return np.sum((p["x"] - 3) ** 2) + np.sum(np.abs(p["z"] - 2 - 2j) ** 2)

    low, high = {"x": np.zeros(2), "z": -1 - 2j}, {"x": np.ones(2), "z": 1 + 1j}
    found = optimize.minimize(far, {"x": TWO, "z": np.array([1j, 0.5])}, bounds=(low, high)).x
    np.testing.assert_allclose(found["x"], 1.0)
    np.testing.assert_allclose(found["z"], 1 + 1j)


@pytest.mark.parametrize(("smallest", "sparse"), [(2, True), (3, False)])
@pytest.mark.filterwarnings("ignore")
def test_constraints_of_many_unknowns_have_sparse_jacobians(
    smallest: int, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (flat_functions, scipy_minimizers):
        monkeypatch.setattr(module, "SPARSE_FROM", smallest)
    monkeypatch.setattr(flat_functions, "SPARSE_SHARE", 1.0)
    bound = NonlinearConstraint(lambda x: x * x, 0.0, 1.0)
    found = least(method="trust-constr", options={"maxiter": 2}, constraints=bound)
    assert scipy.sparse.issparse(found.jac[0]) == sparse
    assert scipy.sparse.issparse(least(method="trust-constr", constraints=bound).jac[0]) == sparse


PAIRS_OR_SIDES: dict[str, tuple[Any, list[float], list[float]]] = {
    "a pair and a number": (([0.0, 0.1], 1.0), [0.0, 0.1], [1.0, 1.0]),
    "a number and a pair": ((0.0, [0.5, 1.0]), [0.0, 0.0], [0.5, 1.0]),
    "a pair and an array": ([(0.0, 1.0), np.array([0.1, 2.0])], [0.0, 0.1], [1.0, 2.0]),
    "an array and a pair": ([np.array([0.0, 1.0]), (None, 2.0)], [0.0, -np.inf], [1.0, 2.0]),
    "a matrix": (np.array([[0.0, 1.0], [0.1, 2.0]]), [0.0, 0.1], [1.0, 2.0]),
}


@pytest.mark.parametrize("name", PAIRS_OR_SIDES)
def test_two_bounds_of_two_unknowns_are_pairs_or_sides(name: str) -> None:
    given, low, high = PAIRS_OR_SIDES[name]
    found = bounds_of(Plain(square, TWO, (), "minimize", True), given, True)
    np.testing.assert_array_equal(found.lb, low)
    np.testing.assert_array_equal(found.ub, high)


@pytest.mark.parametrize("compiled", [True, False])
def test_sparse_jacobians_of_what_branches_are_those_of_the_branch(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bent(x: Any) -> Any:
        return x * x if compiled or x[0] > 0 else x**3

    monkeypatch.setattr(flat_functions, "SPARSE_FROM", 1)
    matrix = Plain(bent, TWO, (), "least_squares", compiled).large_matrix()
    for sign in (1.0, -1.0, 1.0):
        x = sign * np.array([2.0, 3.0])
        found = matrix(x)
        dense = found.toarray() if scipy.sparse.issparse(found) else found
        np.testing.assert_allclose(dense, np.diag(2 * x if compiled or sign > 0 else 3 * x**2))


@pytest.mark.parametrize(("recordable", "exact"), [(True, True), (False, False)])
def test_a_constraint_with_a_jacobian_has_second_derivatives_where_it_can_be_recorded(
    recordable: bool, exact: bool
) -> None:
    given = NonlinearConstraint(
        lambda x: x[0] ** 2 if recordable else math.pow(x[0], 2), 0.0, 1.0, jac=lambda x: np.array([[2 * x[0], 0.0]])
    )
    made = constraint_of(given, TWO, True, "trust-constr")
    assert isinstance(made.hess, BFGS) != exact
    if exact:
        np.testing.assert_allclose(made.hess(TWO, np.array([3.0])) @ np.ones(2), [6.0, 0.0])


def test_tables_are_for_the_model_to_take_apart() -> None:
    class Table:
        ndim = 2

        def to_numpy(self) -> Any:
            raise AssertionError

    table = Table()
    assert _column(table) is table and _column(None) is None


def test_what_results_read_of_the_data() -> None:
    """By the place of each leaf among the data's, behind parameters of several leaves."""
    args = ({"a": np.ones(2), "b": np.ones(3)}, np.ones(4), [np.ones(4), np.ones(())], np.ones(4))
    types, structure = residual_blocks.types_of(args)

    def residuals(p: Any, x: Any, more: Any, y: Any) -> Any:
        return [x * p["a"][0] + y, more[0] * p["b"][1], more[1] * p["b"], p["a"] * 2.0]

    recorded = residual_blocks.RecordedResiduals(residuals, types, structure)
    read = [{*recorded.read([i])} for i in range(4)]
    assert read == [{0, 3}, {1}, {2}, set()] and {*recorded.read([0, 2])} == {0, 2, 3}
