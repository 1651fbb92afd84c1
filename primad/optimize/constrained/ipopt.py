"""Ipopt, called through cyipopt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from primad.errors import TracingError
from primad.optimize.parameter_vectors import Vector

NAMES = {"maxiter": "max_iter", "disp": "print_level"}
"""Ipopt's names of options that all of SciPy's methods have."""
QUIET = {"print_level": 0, "sb": "yes"}
"""Options by which Ipopt prints nothing, as SciPy's methods do."""
FIRST_ORDER = ("objective", "gradient", "constraints", "jacobian", "jacobianstructure")
SECOND_ORDER = ("hessian", "hessianstructure")
"""Methods that cyipopt calls."""


class _Problem:
    """What cyipopt calls, which loses some errors: the first one ends the search, and is kept.

    Args:
        program: the nonlinear program.
        second_order: whether it has second derivatives; Ipopt looks for the method.
        report: called with the number of each iteration and the objective there; says whether to go on.
    """

    def __init__(self, program: Any, second_order: bool, report: Callable[[int, float], bool]) -> None:
        self.error: BaseException | None = None
        for name in (*FIRST_ORDER, *SECOND_ORDER * second_order):
            setattr(self, name, self._kept(getattr(program, name)))
        self._report = self._kept(report)

    def _kept(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            try:
                return function(*args)
            except BaseException as error:
                self.error = self.error or error
                raise

        return called

    def intermediate(self, alg_mod: int, iter_count: int, obj_value: float, *others: float) -> bool:
        """Report an iteration."""
        return self.error is None and self._report(iter_count, obj_value)


def solved_by_ipopt(
    program: Any,
    start: Vector,
    after: Mapping[str, Any] | None,
    tol: float | None,
    callback: Callable[..., Any] | None,
    options: Mapping[str, Any] | None,
) -> Any:
    """Return SciPy's result, with vectors.

    Args:
        program: the nonlinear program.
        start: where to start.
        after: what an earlier call has returned as `info`, whose multipliers are taken.
        tol: Ipopt's tolerance.
        callback: called with a vector and SciPy's result, or with that alone as `intermediate_result`.
        options: as those of `NonlinearProgram.solve`.

    Raises:
        TracingError: if cyipopt is missing, or for options that Ipopt does not have.
    """
    from scipy.optimize import OptimizeResult  # loads when it is called

    cyipopt = _cyipopt()
    chosen = {**QUIET, **{NAMES.get(name, name): value for name, value in (options or {}).items()}}
    if isinstance(chosen["print_level"], bool):
        chosen["print_level"] = 5 * chosen["print_level"]
    if tol is not None:
        chosen["tol"] = tol
    if after is not None:
        chosen = {"warm_start_init_point": "yes", **chosen}
    steps = 0

    def report(number: int, value: float) -> bool:
        nonlocal steps
        steps = number
        if callback is None:
            return True
        x = problem.get_current_iterate()["x"].copy()
        state = OptimizeResult(x=x, fun=value, nit=number)
        try:
            if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
                callback(intermediate_result=state)
            else:
                callback(x, state)
        except StopIteration:
            return False
        return True

    second_order = chosen.get("hessian_approximation") != "limited-memory"
    called = _Problem(program, second_order, report)
    problem = cyipopt.Problem(
        n=start.size, m=program.constraint_lower.size, problem_obj=called,
        lb=program.lower, ub=program.upper, cl=program.constraint_lower, cu=program.constraint_upper,
    )  # fmt: skip
    for name, value in chosen.items():
        _set(problem, name, value)
    given = {} if after is None else {"lagrange": after["mult_g"], "zl": after["mult_x_L"], "zu": after["mult_x_U"]}
    try:
        x, info = problem.solve(start.copy(), **given)
    finally:
        if called.error is not None:
            raise called.error
    message = info["status_msg"]
    return OptimizeResult(
        x=x, fun=info["obj_val"], success=info["status"] == 0, status=info["status"], nit=steps, info=info,
        message=message.decode() if isinstance(message, bytes) else message,
    )  # fmt: skip


def _set(problem: Any, name: str, value: Any) -> None:
    try:
        problem.add_option(name, value)
    except TypeError as error:
        raise TracingError(
            f"Ipopt does not take the option {name!r} with the value {value!r}",
            why=str(error),
            fix="https://coin-or.github.io/Ipopt/OPTIONS.html lists its options, and numbers that are whole or not.",
        ) from None


def _cyipopt() -> Any:
    """Import cyipopt.

    Raises:
        TracingError: if it is not installed, with what installs it.
    """
    try:
        import cyipopt
    except ImportError as error:
        raise TracingError(
            "Ipopt is called through cyipopt, and it is not installed",
            why=str(error),
            fix="pip install 'primad[ipopt]' where the Ipopt library is; conda install cyipopt, or pip install "
            "cyipopt-wheels, bring the library too.",
        ) from None
    return cyipopt
