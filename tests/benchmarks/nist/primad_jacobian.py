"""
Module which calculates exact Jacobians with primad
(https://pypi.org/project/primad).
"""

import numpy as np
from fitbenchmarking.jacobian.base_jacobian import Jacobian
from fitbenchmarking.utils.exceptions import NoJacobianError

import primad


class Primad(Jacobian):
    """
    Implements exact derivatives of models that are written with NumPy
    """

    def __init__(self, problem):
        """
        Records and compiles the Jacobian of the model, for the shape of the data

        :param problem: The parsed problem.
        :type problem:
        :class:`~fitbenchmarking.parsing.fitting_problem.FittingProblem`
        """
        super().__init__(problem)
        start = list(problem.starting_values[0].values())

        def model(params, x):
            return problem.function(x, *params)

        def columns(params, x):
            return primad.jacfwd(model)(params, x)[...]

        self._columns = primad.jit(columns)
        try:
            self.eval(start)
        except primad.PrimadError as error:
            raise NoJacobianError(f"primad cannot record the model of {problem.name}: {error}") from error

    def eval(self, params, **kwargs):
        """
        Evaluates Jacobian of the model

        :param params: The parameter values to find the Jacobian at
        :type params: list

        :return: Computed Jacobian
        :rtype: numpy array
        """
        self.problem.timer.check_elapsed_time()
        x = kwargs.get("x", self.problem.data_x)
        return self._columns(np.asarray(params, dtype=float), x)

    def name(self) -> str:
        """
        Get a name for the current status of the jacobian.

        :return: A unique name for this jacobian/method combination
        :rtype: str
        """
        return "primad"
