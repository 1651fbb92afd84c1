"""OpenMDAO's components with plain functions: partial derivatives are declared, sparse, and right in both modes."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

import primad
import primad.compat.openmdao as theirs

N = 30


@pytest.fixture
def om() -> Any:
    return pytest.importorskip("openmdao.api", reason="the extra primad[openmdao] is not installed")


def solved(om: Any, component: Any, mode: str = "auto", **values: Any) -> Any:
    """Return a problem of one component that has run."""
    problem = om.Problem(reports=False)
    problem.model.add_subsystem("one", component, promotes=["*"])
    problem.setup(mode=mode, force_alloc_complex=True)
    for name, value in values.items():
        problem.set_val(name, value)
    problem.run_model()
    return problem


def check(problem: Any) -> None:
    """Compare all partial derivatives with OpenMDAO's complex steps."""
    for data in problem.check_partials(method="cs", out_stream=None).values():
        for pair, found in data.items():
            for mode in ("J_fwd", "J_rev"):
                if found.get(mode) is not None:
                    np.testing.assert_allclose(found[mode], found["J_fd"], rtol=1e-10, atol=1e-10, err_msg=str(pair))


def paraboloid() -> Any:
    class Paraboloid(theirs.ExplicitComponent):
        def setup(self) -> None:
            self.add_input("x", 0.0)
            self.add_input("y", 0.0)
            self.add_output("f", 0.0)

        def compute_primal(self, x: Any, y: Any) -> Any:
            return (x - 3.0) ** 2 + x * y + (y + 4.0) ** 2 - 3.0

    return Paraboloid()


def banded(**options: Any) -> Any:
    class Banded(theirs.ExplicitComponent):
        def initialize(self) -> None:
            self.options.declare("power", default=3)

        def setup(self) -> None:
            self.add_input("x", shape=N)
            self.add_input("rate", 2.0)
            self.add_input("unused", shape=(2, 2))
            self.add_output("y", shape=(N - 2, 1))
            self.add_output("total", 0.0)

        def compute_primal(self, x: Any, rate: Any, unused: Any) -> Any:
            y = (np.diff(x, 2) + rate * x[1:-1] ** self.options["power"]).reshape(-1, 1)
            total = np.sum(x[:3] ** 2)
            return y, total

    return Banded(**options)


def test_a_minimum_of_a_paraboloid(om: Any) -> None:
    problem = solved(om, paraboloid(), x=1.0, y=2.0)
    np.testing.assert_allclose(problem["f"], 39.0)
    check(problem)
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-10, disp=False)
    problem.model.add_design_var("x")
    problem.model.add_design_var("y")
    problem.model.add_objective("f")
    problem.setup()
    problem.run_driver()
    np.testing.assert_allclose([*problem["x"], *problem["y"]], [20 / 3, -22 / 3], rtol=1e-6)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_partial_derivatives_are_sparse(om: Any, mode: str) -> None:
    component = banded()
    x = np.linspace(0, 2, N)
    problem = solved(om, component, mode, x=x)
    np.testing.assert_allclose(problem["y"][:, 0], np.diff(x, 2) + 2 * x[1:-1] ** 3)
    check(problem)
    totals = problem.compute_totals(["y", "total"], ["x", "rate"])
    J = np.asarray(primad.jacobian(lambda x: np.diff(x, 2) + 2 * x[1:-1] ** 3)(x))
    np.testing.assert_allclose(totals["y", "x"], J, atol=1e-12)
    np.testing.assert_allclose(totals["y", "rate"][:, 0], x[1:-1] ** 3)
    np.testing.assert_allclose(totals["total", "rate"], 0.0)
    pairs = {(of, wrt): len(entries) for of, wrt, entries in component._recorded._blocks}
    assert pairs == {("y", "x"): 3 * (N - 2), ("y", "rate"): N - 2, ("total", "x"): 3}


@pytest.mark.filterwarnings("ignore:The following groups have a nonlinear solver")
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_coupled_disciplines(om: Any, mode: str) -> None:
    """Sellar's problem: two components that need each other's result, and its published minimum."""

    class First(theirs.ExplicitComponent):
        def setup(self) -> None:
            self.add_input("z", shape=2)
            self.add_input("x", 1.0)
            self.add_input("y2", 1.0)
            self.add_output("y1", 1.0)

        def compute_primal(self, z: Any, x: Any, y2: Any) -> Any:
            return z[0] ** 2 + z[1] + x - 0.2 * y2

    class Second(theirs.ExplicitComponent):
        def setup(self) -> None:
            self.add_input("z", shape=2)
            self.add_input("y1", 1.0)
            self.add_output("y2", 1.0)

        def compute_primal(self, z: Any, y1: Any) -> Any:
            return np.sqrt(y1) + z[0] + z[1]

    class Objective(theirs.ExplicitComponent):
        def setup(self) -> None:
            for name, shape in (("x", 1), ("z", 2), ("y1", 1), ("y2", 1)):
                self.add_input(name, shape=shape)
            for name in ("obj", "con1", "con2"):
                self.add_output(name, 0.0)

        def compute_primal(self, x: Any, z: Any, y1: Any, y2: Any) -> Any:
            return x**2 + z[1] + y1 + np.exp(-y2), 3.16 - y1, y2 - 24.0

    problem = om.Problem(reports=False)
    model = problem.model
    cycle = model.add_subsystem("cycle", om.Group(), promotes=["*"])
    cycle.add_subsystem("first", First(), promotes=["*"])
    cycle.add_subsystem("second", Second(), promotes=["*"])
    cycle.nonlinear_solver = om.NewtonSolver(solve_subsystems=False, iprint=-1)
    cycle.linear_solver = om.DirectSolver()
    model.add_subsystem("last", Objective(), promotes=["*"])
    model.add_design_var("x", lower=0, upper=10)
    model.add_design_var("z", lower=0, upper=10)
    model.add_objective("obj")
    model.add_constraint("con1", upper=0)
    model.add_constraint("con2", upper=0)
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-9, disp=False)
    problem.setup(mode=mode)
    problem.set_val("z", [5.0, 2.0])
    problem.run_driver()
    np.testing.assert_allclose(problem["obj"], 3.18339395, rtol=1e-6)
    np.testing.assert_allclose(problem["z"], [1.97763888, 0.0], atol=1e-5)


def test_an_implicit_component(om: Any) -> None:
    class Roots(theirs.ImplicitComponent):
        def setup(self) -> None:
            self.add_input("a", shape=4)
            self.add_output("x", val=np.ones(4))

        def compute_primal(self, a: Any, x: Any) -> Any:
            return x**3 + x - a

    component = Roots()
    component.nonlinear_solver = om.NewtonSolver(solve_subsystems=False, iprint=-1)
    component.linear_solver = om.DirectSolver()
    a = np.linspace(1.0, 9.0, 4)
    problem = solved(om, component, a=a)
    x = problem["x"]
    np.testing.assert_allclose(x**3 + x, a)
    check(problem)
    np.testing.assert_allclose(problem.compute_totals(["x"], ["a"])["x", "a"], np.diag(1 / (3 * x**2 + 1)))
    assert {name: len(entries) for _, name, entries in component._recorded._blocks} == {"a": 4, "x": 4}


def test_what_does_not_fit_is_an_error(om: Any) -> None:
    problem = solved(om, banded(power=2), x=np.ones(N))
    np.testing.assert_allclose(problem["y"], 2.0)
    problem.model.one.options["power"] = 3
    with pytest.raises(primad.TracingError, match=r"(?s)\['power'\] have changed.*in .*test_openmdao.py"):
        problem.run_model()
    problem.setup()
    problem.set_val("x", 2.0)
    problem.run_model()
    np.testing.assert_allclose(problem["y"], 16.0)

    class Wrong(theirs.ExplicitComponent):
        def setup(self) -> None:
            self.add_input("x", shape=3)
            self.add_output("y", shape=2)

        def compute_primal(self, x: Any) -> Any:
            return x**2

    with pytest.raises(primad.ShapeError, match="compute_primal of"):
        solved(om, Wrong())

    class Counted(theirs.ExplicitComponent):
        def setup(self) -> None:
            self.add_input("x", shape=3)
            self.add_discrete_input("n", 2)
            self.add_output("y", shape=3)

        def compute_primal(self, x: Any, n: Any) -> Any:
            return x**n

    with pytest.raises(primad.TracingError, match=r"discrete variables \['n'\]"):
        solved(om, Counted())


def test_classes_have_names(om: Any) -> None:
    assert pickle.loads(pickle.dumps(theirs.ExplicitComponent)) is theirs.ExplicitComponent
    assert issubclass(theirs.ImplicitComponent, om.ImplicitComponent)
    assert dir(theirs) == ["ExplicitComponent", "ImplicitComponent"]
    with pytest.raises(AttributeError, match="did you mean ExplicitComponent"):
        theirs.ExplicitComponents  # noqa: B018


def test_without_openmdao_the_error_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openmdao.api", None)
    theirs._component.cache_clear()
    with pytest.raises(primad.TracingError, match=r"primad\[openmdao\]"):
        theirs.ExplicitComponent  # noqa: B018
