"""Residuals at fixed parameters: what products with JᵀJ need of the points is computed once, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from primad.errors import NotDifferentiableError
from primad.functional.derivatives.gradients import value_and_grad
from primad.functional.jit import jit
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.program import ClosedProgram, Program, subprogram
from primad.optimize.gauss_newton.residual_blocks import RecordedResiduals, ResidualBlock, components
from primad.optimize.parameter_vectors import Vector
from primad.programs.jacobians.gauss_newton import normal_products
from primad.recording import tree
from primad.recording.tracing import trace
from primad.runtime.calling import arrays
from primad.runtime.executors.dispatch import prepared_for_calls
from primad.runtime.executors.executor import Executable
from primad.simplify import simplify
from primad.transforms.partial_eval import split

__all__ = ["Linearized"]

MOST_EACH = 8
"""Residuals of a point, up to which each has cotangents of its own. Estimated: those of more take longer to read than
the products that they save."""
KEPT_ROWS = 64
"""The number of points of which something is kept, if not of all, is a multiple of this. Chosen: whole tiles."""

Product = Callable[[Sequence[Any]], Sequence[Any]]
"""The leaves of a direction -> the leaves of JᵀJ times it."""


@dataclass(frozen=True)
class Linearized:
    """A sum of squares, or a loss, at fixed parameters.

    Attributes:
        value: the function.
        gradient: its gradient, as a vector.
        product: returns the matrix of the second order (JᵀJ, or the Hessian) times a vector.

    Example:
        >>> import numpy as np, primad
        >>> at = primad.optimize.Loss(lambda x: np.sum(x**4)).linearized(np.array([1.0, 2.0]))
        >>> print(at.value, at.gradient, at.product(np.ones(2)))
        17.0 [ 4. 32.] [12. 48.]
    """

    value: float
    gradient: Vector
    product: Callable[[Vector], Vector]


class Start(NamedTuple):
    """What some residuals are at fixed parameters.

    Attributes:
        value: half their sum of squares.
        gradient: the leaves of its gradient.
        product: JᵀJ times a direction.
    """

    value: Any
    gradient: Sequence[Any]
    product: Product


@dataclass(frozen=True)
class Whole:
    """Residuals that are computed together, however their points are coupled.

    Attributes:
        slope: (parameters, leaves of the data) -> half the sum of squares, and its gradient.
        times: (parameters, direction, leaves of the data) -> JᵀJ times the direction.
        kept_bytes: bytes of what is kept: none.
    """

    slope: Callable[..., Any]
    times: Callable[..., Any]
    kept_bytes: int = 0

    def start(self, params: Any, data: Sequence[Any]) -> Start:
        """Return what the residuals are at parameters."""
        value, gradient = self.slope(params, data)
        structure = tree.flatten(params)[1]

        def product(direction: Sequence[Any]) -> Sequence[Any]:
            return tree.leaves(self.times(params, tree.unflatten(structure, direction), data))

        return Start(value, tree.leaves(gradient), product)


class NormalProductsKey(NamedTuple):
    """What products of residuals at points depend on.

    Attributes:
        of: the program of the residuals.
        parameters: how many of its inputs are parameters.
        keeps: whether something is kept for the second part.
        which: of the two parts.
    """

    of: Key
    parameters: int
    keeps: bool
    which: int
    kind: str = "normal products"


@dataclass(frozen=True)
class AtPoints:
    """Residuals at some points that stay apart.

    Attributes:
        first, stop: the points.
        cut: leaves of the data whose first axis are the points.
        early: (parameters, data) -> half the sum of squares, its gradient, and what is kept.
        late: (what is kept, direction) -> JᵀJ times the direction.
        sources: further arguments of the early part.
        keeps: whether something is kept; the late part takes the early part's arguments otherwise.
        kept_bytes: bytes of what is kept.
    """

    first: int
    stop: int
    cut: tuple[int, ...]
    early: Executable
    late: Executable
    sources: Sequence[Any]
    keeps: bool
    kept_bytes: int

    def start(self, params: Any, data: Sequence[Any]) -> Start:
        """Return what the residuals are at parameters."""
        leaves = tree.leaves(params)
        points = [leaf[self.first : self.stop] if i in self.cut else leaf for i, leaf in enumerate(data)]
        given = [*arrays([*leaves, *points]), *self.sources]
        value, *found = self.early.run(given)
        kept = found[len(leaves) :] if self.keeps else given
        return Start(value, found[: len(leaves)], lambda direction: self.late.run([*kept, *direction]))


class _Points:
    """The products of residuals at a number of points, about to be compiled.

    Raises:
        NotDifferentiableError: if they cannot be computed from what is left at the points.
    """

    def __init__(self, part: ResidualBlock, recorded: RecordedResiduals, points: int) -> None:
        types = [
            ArrayType((points, *type.shape[1:]), type.dtype) if i - recorded.first in part.cut else type
            for i, type in enumerate(recorded.types)
        ]
        params = tree.unflatten(recorded.structure.children()[0], types[: recorded.first])
        program = trace(lambda p, leaves: components(part.residuals(p, leaves)))(params, types[recorded.first :])
        self._of, self._count = ClosedProgram(program), recorded.first
        self._sources = program.source_values
        self._points, self._part = points, part

    @cached_property
    def _built(self) -> Program | None:
        found = normal_products(self._of.hoisted, self._count)
        return None if found is None else simplify(found)

    @property
    def is_apart(self) -> bool:
        """Whether the points stay apart."""
        return self._built is not None

    @cached_property
    def kept_bytes(self) -> int:
        """Bytes of what can be kept."""
        early, _ = self._parts(True)
        return sum(node.type.nbytes for node in early.outputs[1 + self._count :])

    def _parts(self, keeps: bool) -> tuple[Program, Program]:
        built = self._built
        assert built is not None
        known, early = len(built.inputs) - self._count, 1 + self._count
        if keeps:
            late = [i >= known for i in range(len(built.inputs))]
            return split(built, late, [i >= early for i in range(len(built.outputs))])
        return (
            subprogram(built, built.inputs[:known], built.outputs[:early]),
            subprogram(built, built.inputs, built.outputs[early:]),
        )

    def compiled(self, first: int, keeps: bool) -> AtPoints:
        """Return what runs, on points from the first one on."""
        early, late = [self._executable(keeps, i) for i in (0, 1)]
        cut, kept = self._part.cut, self.kept_bytes if keeps else 0
        return AtPoints(first, first + self._points, cut, early, late, self._sources, keeps, kept)

    def _executable(self, keeps: bool, which: int) -> Executable:
        key = NormalProductsKey(self._of.key, self._count, keeps, which)

        return prepared_for_calls(key, lambda: self._parts(keeps)[which])


def pieces(
    part: ResidualBlock,
    recorded: RecordedResiduals,
    memory: int,
    both: Callable[[Callable[..., Any]], tuple[Callable[..., Any], Callable[..., Any]]],
) -> list[Whole | AtPoints]:
    """Return the pieces in which products of some residuals are computed.

    Args:
        part: the residuals.
        recorded: the function that they are results of.
        memory: bytes that may be kept between products; of further points all is computed again in each product.
        both: returns half the sum of squares of residuals, and JᵀJ times a direction, as functions.
    """

    def whole() -> Whole:
        half, product = both(part.residuals)
        return Whole(jit(value_and_grad(half)), jit(product))

    if not part.cut or part.each > MOST_EACH:
        return [whole()]
    points = _Points(part, recorded, part.points)
    try:
        if not points.is_apart:
            return [whole()]
    except NotDifferentiableError:  # an op without a transpose, or the transpose of one: the general way may need none
        return [whole()]
    if points.kept_bytes <= memory:
        return [points.compiled(0, True)]
    kept = max(0, min(memory * part.points // points.kept_bytes, part.points - KEPT_ROWS)) // KEPT_ROWS * KEPT_ROWS
    rest = _Points(part, recorded, part.points - kept).compiled(kept, False)
    return [_Points(part, recorded, kept).compiled(0, True), rest] if kept else [rest]
