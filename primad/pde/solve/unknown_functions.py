"""Unknowns of a solution as functions of coordinates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, ShapeError, no_attribute, suggestion
from primad.functional.jit import jit
from primad.numpy.shapes.arranging import broadcast_arrays
from primad.numpy.shapes.creation import asarray
from primad.numpy.shapes.shaping import reshape, stack
from primad.pde.fields.coordinate_names import coordinates as coordinate_names
from primad.pde.fields.coordinate_names import derivative_text
from primad.pde.geometry.sampling import Array
from primad.recording.foreign import plain
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.solve.answers import Answers

Tree = Any


class Unknown:
    """An unknown as a function of coordinates, which may be arrays that broadcast, by place or by name.

    Points outside of the domain are refused, but for `extrapolate=True`: no equation holds there. Where coordinates are
    recorded, as by `primad.grad(solution.u)` or in an equation of another problem, the network is a part of the
    program, with all its derivatives; where points are is not known then, and outside it returns what it extrapolates.
    Input functions of a family have names too, `u(x, t, v=np.sin)`: each is a function of its coordinate, or its values
    at the sensors, which may be recorded, as by `primad.grad`. Of several, a row each, the values have an axis of
    functions first.
    """

    def __init__(self, solution: Answers, name: str, derivative: str = "") -> None:
        self._solution, self.name, self.derivative = solution, name, derivative
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        arguments = [inspect.Parameter(each, kind) for each in solution.coordinates]
        self.__signature__ = inspect.Signature(arguments)  # as a function of coordinates by name is given

    def __call__(self, *coordinates: Any, extrapolate: bool = False, **named: Any) -> Any:
        """Return the values at points: coordinates by place or by name, and input functions by name."""
        names = self._solution.coordinates
        functions = {name: named.pop(name) for name in self._solution.inputs if name in named}
        given = dict(zip(names, coordinates, strict=False))
        if len(coordinates) > len(names) or set(given) & set(named) or {*given, *named} != set(names):
            rows = len(coordinates) == 1 and not named and np.ndim(coordinates[0]) == 2
            raise ProblemError(
                f"{self.name} is a function of {', '.join(names)}, got {_given(coordinates, named)}",
                fix=f'of points, one a row, write solution.at(points, "{self.name}").'
                if rows
                else f"write {self.name}({', '.join(names)}).",
            )
        given.update(named)
        if any(is_traced(value) for value in given.values()):
            columns = broadcast_arrays(*[asarray(given[name]) for name in names])
            at = stack([column.ravel() for column in columns], axis=1)
            found = self._solution.recorded(at, self.name, self.derivative, functions)
            return reshape(found, (*found.shape[:-1], *columns[0].shape))
        arrays = np.broadcast_arrays(*[plain(given[name], np.float64) for name in names])
        at = np.stack([array.ravel() for array in arrays], axis=1)
        if functions:
            found = self._solution.evaluated(at, self.name, self.derivative, extrapolate, functions)
        else:
            found = self._solution.at(at, self.name, self.derivative, extrapolate=extrapolate)
        return reshape(found, (*found.shape[:-1], *arrays[0].shape))[()]

    def d(self, *derivative: str) -> Unknown:
        """Return a derivative, which is a function as well: `d("xx")`."""
        return Unknown(self._solution, self.name, derivative_text(derivative, self._solution.coordinates))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = coordinate_names(self._solution.coordinates)
        try:
            known.split(name)
        except ShapeError as error:
            raise no_attribute(f"the unknown {self.name}", name, dir(self), error.what) from None
        fix = f'derivatives of a solution are written solution.{self.name}.d("{name}").'
        raise no_attribute(f"the unknown {self.name}", name, (), fix)

    def __repr__(self) -> str:
        names = ", ".join(self._solution.coordinates)
        return f"<{self.name}{'_' + self.derivative if self.derivative else ''}({names})>"


def _given(coordinates: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Return in words what a function was called with."""
    found = [f"an array of shape {np.shape(one)}" if np.ndim(one) else "a number" for one in coordinates]
    return ", ".join([*found, *named]) or "nothing"


def evaluator(problem: Problem, unknown: str, derivative: str) -> Callable[[Tree, Array, Any], Any]:
    """Return the compiled function of an unknown, which the problem keeps."""
    kept = problem.__dict__.setdefault("evaluators", {})
    if unknown not in problem.unknowns:
        raise ProblemError(
            f"{unknown!r} is no unknown",
            fix=suggestion(unknown, problem.unknowns) or f"there are {', '.join(problem.unknowns)}.",
        )
    if (unknown, derivative) not in kept:

        def evaluate(params: Tree, at: Any, functions: Any) -> Any:
            field = problem.fields(params, at, functions)[unknown]
            return field.d(derivative) if derivative else field.value

        kept[unknown, derivative] = jit(evaluate)
    found: Callable[[Tree, Array, Any], Any] = kept[unknown, derivative]
    return found
