"""Partial derivatives of components, from `compute_primal`: where they are zero, and how they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.jit import jit
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.optimize.constrained.matrix_entries import Array, MatrixEntries, jacobian_entries


class Variables(NamedTuple):
    """Variables that are parts of a row of numbers.

    Attributes:
        names: of each.
        shapes: of each.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, component: Any, kind: str) -> Variables:
        """Return a component's variables.

        Args:
            component: OpenMDAO's.
            kind: "input" or "output".

        Raises:
            TracingError: if some are discrete.
        """
        found = component.get_io_metadata(iotypes=kind, metadata_keys=["shape"])
        discrete = [name for name, each in found.items() if each["discrete"]]
        if discrete:
            raise TracingError(
                f"{component.msginfo} has discrete variables {discrete}, which its recorded function does not take",
                fix="declare an option for each, or compute them in a component of OpenMDAO's own.",
            )
        return cls(tuple(found), tuple([tuple(each["shape"]) for each in found.values()]))

    @property
    def starts(self) -> Array:
        """Where each begins, and where the last ends."""
        return np.cumsum([0, *[math.prod(shape) for shape in self.shapes]])

    def parts(self, row: Any) -> list[Any]:
        """Return a row as arrays."""
        starts = self.starts
        return [reshape(row[starts[i] : starts[i + 1]], shape) for i, shape in enumerate(self.shapes)]

    def and_those(self, others: Variables) -> Variables:
        """Return these and others, in one row."""
        return Variables(self.names + others.names, self.shapes + others.shapes)


class Block(NamedTuple):
    """A partial derivative that is not all zero: of a variable with respect to another, and its entries among all."""

    of: str
    wrt: str
    entries: Array


class Recorded:
    """The function of a component, recorded, and its partial derivatives.

    Args:
        component: OpenMDAO's.
        given: the variables that it takes.
        found: the variables, or residuals, that it returns.
    """

    def __init__(self, component: Any, given: Variables, found: Variables) -> None:
        self._component, self._given, self._found = component, given, found
        self._options = _options(component)
        self._compiled: Callable[..., Any] = jit(self._row)
        self._jacobian: MatrixEntries = jacobian_entries(self._row, (np.ones(int(given.starts[-1])),))
        self._blocks = self._cut()

    def _row(self, row: Any) -> Any:
        returned = self._component.compute_primal(*self._given.parts(row))
        parts = returned if isinstance(returned, (tuple, list)) else [returned]
        shapes = self._found.shapes
        if len(parts) != len(shapes) or any(np.size(x) != math.prod(s) for x, s in zip(parts, shapes, strict=True)):
            raise ShapeError(
                f"compute_primal of {self._component.msginfo} returns arrays of {[np.shape(x) for x in parts]}",
                why=f"Its variables {list(self._found.names)} have the shapes {list(shapes)}.",
                fix="return a tuple with an array for each, in the order in which they are added.",
            )
        return concatenate([reshape(part, (-1,)) for part in parts])

    def _cut(self) -> list[Block]:
        rows, columns, _ = self._jacobian
        of, wrt = (
            np.searchsorted(variables.starts, places, "right") - 1
            for variables, places in ((self._found, rows), (self._given, columns))
        )
        pairs = of * len(self._given.names) + wrt
        return [
            Block(self._found.names[pair // len(self._given.names)], self._given.names[pair % len(self._given.names)],
                  np.flatnonzero(pairs == pair))
            for pair in np.unique(pairs)
        ]  # fmt: skip

    def declare(self) -> None:
        """Declare the partial derivatives that are not all zero, and where their entries are."""
        rows, columns, _ = self._jacobian
        sizes = {name: math.prod(shape) for v in (self._found, self._given) for name, shape in zip(*v, strict=True)}
        first = [dict(zip(v.names, v.starts, strict=False)) for v in (self._found, self._given)]
        for of, wrt, entries in self._blocks:
            if len(entries) == sizes[of] * sizes[wrt]:
                self._component.declare_partials(of, wrt)
            else:
                places = rows[entries] - first[0][of], columns[entries] - first[1][wrt]
                self._component.declare_partials(of, wrt, rows=places[0], cols=places[1])

    def values(self, row: Array) -> Array:
        """Return what the component computes, one row; complex numbers are computed by NumPy."""
        self._check()
        found: Array = self._row(row) if row.dtype.kind == "c" else self._compiled(row)
        return found

    def fill(self, row: Array, partials: Any) -> None:
        """Give OpenMDAO the partial derivatives."""
        self._check()
        data = self._jacobian.values(row.real)
        for of, wrt, entries in self._blocks:
            partials[of, wrt] = data[entries]

    def _check(self) -> None:
        """Raise where options have changed, which the recorded function knows as they were."""
        before, now = self._options, _options(self._component)
        changed = [
            name for name in now if now[name] is not before[name] and not np.array_equal(now[name], before[name])
        ]
        if changed:
            raise TracingError(
                f"{self._component.msginfo}: the options {changed} have changed since the problem was set up",
                why="compute_primal was recorded with their values, and so were zeros of its derivatives.",
                fix="call problem.setup() after changing options; what changes between runs is an input.",
            )


def _options(component: Any) -> dict[str, Any]:
    """Return the values of a component's options."""
    return dict(component.options.items())


class ExplicitPartials:
    """OpenMDAO's `ExplicitComponent` whose `compute_primal` is plain NumPy, with partial derivatives.

    `compute_primal(self, …)` takes the inputs in the order in which they are added, by OpenMDAO's rules for this
    method, and returns the outputs. It is recorded when the problem is set up: which partial derivatives are not zero,
    and which of their entries, is found and declared, and all entries are computed by one compiled function, with few
    directions. So `setup_partials` and `compute_partials` need not be written, in forward and in reverse mode. What
    `compute_primal` reads of `self` is constant until the next `setup` of the problem; a changed option is an error.

    Raises:
        TracingError: if there are discrete variables, or options have changed.
        ShapeError: if what is returned does not fit the outputs.

    Example:
        >>> from primad.compat.openmdao import ExplicitComponent  # doctest: +SKIP
        >>> class Banded(ExplicitComponent):  # doctest: +SKIP
        ...     def setup(self):
        ...         self.add_input("x", shape=1000)
        ...         self.add_output("y", shape=998)
        ...
        ...     def compute_primal(self, x):
        ...         return np.diff(x, 2) + x[1:-1] ** 3
    """

    _recorded: Recorded

    def setup_partials(self) -> None:
        """Record the function, and declare its partial derivatives."""
        super().setup_partials()  # type: ignore[misc]
        self._recorded = Recorded(self, Variables.of(self, "input"), Variables.of(self, "output"))
        self._recorded.declare()

    def compute(self, inputs: Any, outputs: Any) -> None:
        """Compute the outputs."""
        outputs.set_val(self._recorded.values(inputs.asarray()))

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        """Compute the partial derivatives."""
        self._recorded.fill(inputs.asarray(), partials)


class ImplicitPartials:
    """OpenMDAO's `ImplicitComponent` whose `compute_primal` is plain NumPy, with partial derivatives.

    `compute_primal(self, …)` takes the inputs and then the outputs, in the order in which they are added, and returns
    the residuals, one for each output. All else is as of `ExplicitComponent`.

    Raises:
        TracingError: if there are discrete variables, or options have changed.
        ShapeError: if what is returned does not fit the outputs.
    """

    _recorded: Recorded

    def setup_partials(self) -> None:
        """Record the function, and declare its partial derivatives."""
        super().setup_partials()  # type: ignore[misc]
        outputs = Variables.of(self, "output")
        self._recorded = Recorded(self, Variables.of(self, "input").and_those(outputs), outputs)
        self._recorded.declare()

    def apply_nonlinear(self, inputs: Any, outputs: Any, residuals: Any) -> None:
        """Compute the residuals."""
        residuals.set_val(self._recorded.values(np.concatenate([inputs.asarray(), outputs.asarray()])))

    def linearize(self, inputs: Any, outputs: Any, jacobian: Any) -> None:
        """Compute the partial derivatives."""
        self._recorded.fill(np.concatenate([inputs.asarray(), outputs.asarray()]), jacobian)
