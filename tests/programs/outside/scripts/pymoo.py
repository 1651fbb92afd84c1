"""Gradients of test problems that pymoo's wrapper for automatic differentiation asks autograd for."""

import numpy
from pymoo.gradient.automatic import AutomaticDifferentiation
from pymoo.problems import get_problem


def _gradients(name, **options):
    problem = AutomaticDifferentiation(get_problem(name, **options))
    at = numpy.random.default_rng(0).uniform(0.2, 0.8, size=(3, problem.n_var))
    return list(problem.evaluate(at, return_values_of=["F", "dF"]))


def ackley():
    return _gradients("ackley", n_var=4)


def rosenbrock():
    return _gradients("rosenbrock", n_var=4)


def two_objectives():
    return _gradients("zdt1", n_var=5)
