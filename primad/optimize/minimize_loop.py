"""The loop around an optimiser: when to stop, what to show, and what is left where it is interrupted or fails."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primad.errors import NotFiniteError, ShapeError, TracingError
from primad.functional.derivatives.gradients import value_and_grad as with_gradient
from primad.functional.export.distribute import compiler_of
from primad.optimize.endings import Reason, ending, reason_of
from primad.optimize.gauss_newton.residual_models import Loss, Residuals, finite
from primad.optimize.parameter_vectors import Space, Tree, check_plain, not_finite
from primad.optimize.real_coordinates import RealCoordinates
from primad.parallel.job import is_awaited
from primad.system.live_display import LiveDisplay
from primad.system.quantities import several
from primad.system.tracebacks import entrance

__all__ = ["Descent", "DescentState", "Result", "solve"]


@dataclass(frozen=True)
class DescentState:
    """The state of a first-order rule, and what its last step saw.

    Attributes:
        step: how many steps were made.
        value: the loss where the last step began; NaN before the first.
        gradient: its gradient there, as one float64 vector.
        inner: the rule's own state.
        stalled: never; it is there for loops.
    """

    step: Any
    value: Any
    gradient: Any
    inner: Any
    stalled: Any


@dataclass(frozen=True)
class Descent:
    """A first-order rule of `primad.nn` (SGD, Momentum, Adam, AdamW) as an optimiser of this module.

    Attributes:
        rule: the rule.
        schedule: the learning rate as a function of the number of steps made; None for the rule's own.

    Example:
        >>> import numpy as np, primad
        >>> rule = primad.optimize.Descent(primad.nn.Adam(0.1), schedule=lambda step: 0.1 * 0.99**step)
        >>> result = primad.optimize.solve(rule, lambda x: np.sum(x**2), np.ones(3), steps=400)
        >>> bool(np.max(np.abs(result.params)) < 1e-3)
        True
    """

    rule: Any
    schedule: Callable[[int], float] | None = None

    def compile(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        """Return what `update` takes of a loss: its value and gradient, compiled."""
        loss, run = compiler_of(loss)
        return run(with_gradient(loss))

    def init(self, params: Tree) -> DescentState:
        """Return the state before the first step.

        Raises:
            ShapeError: if a parameter is not a float array.
        """
        size = Space.of(RealCoordinates.of(params).split(params)).size
        return DescentState(np.int64(0), np.float64(np.nan), np.zeros(size), self.rule.init(params), np.bool_(False))

    def update(
        self, params: Tree, state: DescentState, value_and_grad: Callable[..., Any], *data: Any
    ) -> tuple[Tree, DescentState]:
        """Make one step.

        Raises:
            ShapeError: if the state belongs to other parameters.
            NotFiniteError: if the loss or its gradient is NaN or infinite at the parameters.
        """
        coordinates = RealCoordinates.of(params)
        space = Space.of(coordinates.split(params))
        space.check_state(state.gradient)
        value, gradient = value_and_grad(params, *data)
        vector = space.vector(coordinates.slopes(gradient))
        if not finite(float(value), vector):
            raise not_finite("Descent", params, data, [("the loss", value), ("the gradient ", gradient)])
        rate = None if self.schedule is None else self.schedule(int(state.step))
        params, inner = self.rule.update(params, gradient, state.inner, rate)
        return params, DescentState(state.step + 1, np.float64(value), vector, inner, np.bool_(False))


@dataclass(frozen=True, repr=False)
class Result:
    """What `solve` found.

    Attributes:
        params: the last good parameters.
        state: the optimiser's state that belongs to them: give both to `solve` again to go on.
        value: the function there, as the optimiser's state tells it.
        values: this after each step.
        reason: why it ended: "target", "gradient", "stalled" (no lower value was found), "unbounded" (the function
            falls without bound), "steps", "interrupted", "diverged" or "callback".
        message: the reason in words; where it diverged, which value went wrong.
    """

    params: Tree
    state: Any
    value: float
    values: np.ndarray[Any, Any]
    reason: Reason
    message: str

    @property
    def converged(self) -> bool:
        """Whether it ended at a minimum, or as low as it was to go."""
        return self.reason in ("target", "gradient", "stalled")

    def __repr__(self) -> str:
        return (
            f"<Result: value {self.value:.6g} after {several(len(self.values), 'step')}, {self.reason}: {self.message}>"
        )


@entrance
def solve(
    rule: Any,
    function: Callable[..., Any],
    params: Tree,
    data: Sequence[Any] | Callable[[int], Sequence[Any]] = (),
    *,
    steps: int = 1000,
    state: Any = None,
    target: float = -math.inf,
    tolerance: float = 0.0,
    callback: Callable[[Tree, Any], Any] | None = None,
    progress: bool = False,
) -> Result:
    """Minimise a loss, or a sum of squares of residuals, by steps of an optimiser.

    Args:
        rule: an optimiser of this module: `LevenbergMarquardt` and `GaussNewtonCG` take residuals, the others losses.
        function: a function (parameters, *data) of residuals (an array or a tree) or of one number; also a `Residuals`
            or a `Loss` that was made of it.
        params: where to start, a tree of float or complex arrays. Of complex ones the search, and so the state, is
            among the parts, of which an array has one more axis; of a `Descent`, its rule takes them as they are.
        data: the function's other arguments; or a function of the number of steps made that returns them, for points
            that are drawn anew. Give the same data for the same number, and a resumed run is the same run.
        steps: the most steps of this call.
        state: the optimiser's state to go on from; by default that of a first step.
        target: end where the value is no larger.
        tolerance: end where no element of the gradient is larger in absolute value (where the last step began).
        callback: called after each step with the parameters and the state; what is true ends the search.
        progress: whether to show a bar with the value.

    Returns:
        the last good parameters, the state that belongs to them, and why it ended. Ctrl-C ends it, too.

    Raises:
        ShapeError: if the parameters, the state or the function's result are not what they should be.
        TracingError: if the rule is none of this module, or the data are no tuple.
        NotFiniteError: if the function is NaN or infinite at the start: there is no good value to return.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad
        >>> def rosenbrock(x):
        ...     return 10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]
        >>> rule = primad.optimize.LevenbergMarquardt()
        >>> result = primad.optimize.solve(rule, rosenbrock, np.array([-1.2, 1.0]), target=1e-20)
        >>> result.reason, np.allclose(result.params, 1.0)
        ('target', True)
    """
    _check(rule, data, steps)
    coordinates = RealCoordinates.of(params)
    if coordinates.are_parts and not isinstance(rule, Descent):
        _refuse_compiled(function)
        found = solve(
            rule, coordinates.function(function), coordinates.split(params), data, steps=steps, state=state,
            target=target, tolerance=tolerance, progress=progress,
            callback=None if callback is None else lambda p, state: callback(coordinates.joined(p), state),
        )  # fmt: skip
        return replace(found, params=coordinates.joined(found.params))
    compiled = function if isinstance(function, (Loss, Residuals)) else rule.compile(function)
    draws = data if callable(data) else None
    fixed = () if draws is not None else tuple(data)  # type: ignore[arg-type]
    check_plain("solve", (params, fixed))
    last = before = (params, rule.init(params) if state is None else state)
    values: list[float] = []
    reason: Reason = "steps"
    message, steepest = "", 0.0
    with _bar(steps) if progress else contextlib.nullcontext(_silent) as show:
        try:
            for _ in range(steps):
                points = fixed if draws is None else tuple(draws(int(last[1].step)))
                found = rule.update(*last, compiled, *points)
                before, last = last, found
                values.append(float(last[1].value))
                show(values[-1])
                steepest = max(steepest, float(np.max(np.abs(last[1].gradient))))
                asked = callback is not None and callback(*last)
                reason = "callback" if asked else reason_of(last[1], target, tolerance, draws is None)
                if reason != "steps":
                    break
        except KeyboardInterrupt:
            if is_awaited():  # all end
                raise
            reason = "interrupted"
        except TracingError:
            _refuse_captured(function, last[0], points)
            raise
        except NotFiniteError as error:
            if not values:
                raise
            reason, message = "diverged", error.what
            # A first-order step does not look where it goes: what it found is bad, what it came from was seen.
            last = before if isinstance(rule, Descent) else last
    if not message:
        reason, message = ending(reason, compiled, params, last[0], fixed, last[1], steepest)
    return Result(*last, float(last[1].value), np.array(values), reason, message)


def _check(rule: Any, data: Any, steps: int) -> None:
    """Raise for arguments of `solve` that would mean something else than they say."""
    if not isinstance(steps, (int, np.integer)) or steps < 0:
        raise ShapeError(
            f"solve: steps must be an integer that is not negative, got {steps!r}",
            fix="write a whole number, as steps=100.",
        )
    if isinstance(rule, type):
        raise TracingError(f"solve: {rule.__name__} is a class", fix=f"pass an optimiser: {rule.__name__}().")
    if not hasattr(rule, "compile"):
        raise TracingError(
            f"solve: {type(rule).__name__} is no optimiser of primad.optimize",
            fix="write solve(optimiser, function, params), and wrap a rule of primad.nn: optimize.Descent(rule).",
        )
    if not isinstance(data, (tuple, list)) and not callable(data):
        raise TracingError(
            f"solve: data is a tuple of the function's other arguments, got {type(data).__name__}",
            fix="write data=(x,) for one of them.",
        )


def _refuse_compiled(function: Any) -> None:
    """Raise for a compiled function of complex parameters, which is none of their parts."""
    if isinstance(function, (Loss, Residuals)):
        raise TracingError(
            f"solve: a {type(function).__name__} of complex parameters",
            why="What is compiled is a function of their parts.",
            fix="pass the function itself.",
        )


def _refuse_captured(function: Any, params: Tree, data: Sequence[Any]) -> None:
    """Raise if a function that cannot be compiled captures a traced array, of which its result depends then.

    Raises:
        NotDifferentiableError: with what to do now.
    """
    try:
        result = getattr(function, "function", function)(params, *data)
    except Exception:  # the error that there is says what is wrong
        return
    check_plain("solve", result)


def _silent(value: float) -> None:
    """Show nothing."""


@contextlib.contextmanager
def _bar(steps: int) -> Iterator[Callable[[float], None]]:
    """Show a bar of steps on standard error; yield what moves it."""
    from rich.progress import (  # loads when there is something to show
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("value {task.fields[value]:.3e}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns)
    task = bar.add_task("steps", total=steps, value=math.nan)
    with LiveDisplay(bar) as live:

        def show(value: float) -> None:
            bar.update(task, advance=1, value=value)
            live.changed()

        yield show
