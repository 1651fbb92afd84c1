"""Gradients of test problems that pymoo's wrapper for automatic differentiation asks autograd for."""

import numpy
from pymoo.gradient.automatic import AutomaticDifferentiation
from pymoo.problems import get_problem


def _gradients(name, **options):
    problem = AutomaticDifferentiation(get_problem(name, **options))
    low, high = problem.xl, problem.xu
    at = low + (high - low) * numpy.random.default_rng(0).uniform(0.2, 0.8, size=(3, problem.n_var))
    constraints = ["G", "dG"] * (problem.n_ieq_constr > 0) + ["H", "dH"] * (problem.n_eq_constr > 0)
    return list(problem.evaluate(at, return_values_of=["F", "dF", *constraints]))


def ackley():
    return _gradients("ackley", n_var=4)


def rosenbrock():
    return _gradients("rosenbrock", n_var=4)


def griewank():
    return _gradients("griewank", n_var=4)


def two_objectives():
    return [_gradients(name) for name in ("zdt1", "zdt2", "zdt3", "zdt4", "zdt6")]


def many_objectives():
    return [_gradients(name) for name in ("dtlz1", "dtlz2", "dtlz5", "dtlz7")]


def inequalities():
    return [_gradients(name) for name in ("bnh", "osy", "tnk", "ctp1", "srn", "g1", "g2", "g7", "g9")]


def equalities():
    return [_gradients(name) for name in ("g3", "g5")]


def engineering():
    return [_gradients(name) for name in ("truss2d", "welded_beam", "carside")]


def kursawe():
    return _gradients("kursawe")
