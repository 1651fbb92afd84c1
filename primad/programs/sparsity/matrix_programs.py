"""The programs of products with a matrix of derivatives, from either side, and with what is chosen at a point."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.ir.replay import replay
from primad.ir.walks import dependents
from primad.programs.jacobians.jacobian_programs import matrix_dtype, only, tangent_of
from primad.programs.sparsity.constants import Constants
from primad.programs.sparsity.direct.linear_parts import DirectionProgram, linear
from primad.programs.sparsity.found_entries import Way
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms import reverse
from primad.transforms.lowering import expand, lower
from primad.transforms.reverse import transpose


class MatrixPrograms:
    """What multiplies by a matrix of derivatives, whose rows are elements of a result and columns those of an argument.

    Args:
        of: the program of which it is the Jacobian, with one result.
        argument: the input with respect to which.
    """

    def __init__(self, of: Program, argument: int) -> None:
        self.of, self.argument = of, argument

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the matrix has."""
        return self.of.out_types[0].size, self.of.in_types[self.argument].size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the entries."""
        return matrix_dtype(self.of.in_types[self.argument], self.of.out_types[0])

    @cached_property
    def pushed(self) -> Program | None:
        """The program of products with the matrix; None where there are rows only.

        They are all that there is of a real function of complex numbers, and where an op on the way has no tangent.
        """
        x, (y,) = self.of.in_types[self.argument], self.of.out_types
        if x.is_complex and not y.is_complex:
            return None
        try:
            return expand(tangent_of(self.of, only(self.of, self.argument)))
        except NotDifferentiableError:
            if y.is_complex and not x.is_complex:
                raise
            return None

    @property
    def side(self) -> Way:
        """The only products from which entries may be read, if these are not both."""
        if self.pushed is None:
            return "pulled"
        return "pushed" if self.of.out_types[0].is_complex and not self.of.in_types[self.argument].is_complex else ""

    @cached_property
    def pulled(self) -> Program:
        """The program of products with the transposed matrix."""
        back = reverse.vjp(self.of, only(self.of, self.argument))
        return expand(Program(back.trace, back.inputs, back.outputs[1:]))

    def costs(self) -> tuple[float, float]:
        """Return what a product with the matrix costs, and what one with its transpose does."""
        assert self.pushed is not None
        pushed, pulled = (lower(x).cost().flops for x in (self.pushed, self.pulled))
        return max(1.0, pushed), max(1.0, pulled)

    @cached_property
    def followed(self) -> Program:
        """The program along which the entries are found, of the inputs and a direction."""
        return lower(self.pulled if self.pushed is None else self.pushed)

    def linear(self, constants: Constants) -> DirectionProgram | None:
        """Return the program of products, with what is known of it, to compute entries without them; None if it cannot.

        Args:
            constants: its values that are known.
        """
        numbers = self.of.in_types[self.argument].dtype, self.of.out_types[0].dtype
        plain = self.pushed is not None and all(dtype == np.float64 for dtype in numbers)
        return linear(self.followed, constants) if plain else None

    @cached_property
    def chooses(self) -> Program:
        """The same for the entries at a point, with what is linear in the direction apart, so that it is transposed."""
        if self.pushed is None:
            return self.followed
        return lower(expand(tangent_of(self.of, only(self.of, self.argument), residuals=True)))

    @cached_property
    def choices(self) -> list[Node]:
        """The truth values and integers that are computed of the inputs alone, and choose."""
        along = self.chooses
        moving = dependents(along.nodes, along.inputs[-1:])
        plain = [x for x in along.nodes if isinstance(x.type, ArrayType) and not isinstance(x.op, Leaf)]
        return [x for x in plain if x.type.dtype.kind in "iub" and x not in moving]

    @cached_property
    def where_chosen(self) -> Program:
        """The program along which entries are found, with what is chosen as inputs before the direction.

        So the entries that are computed are those that were found, also where rounding would choose otherwise.
        """
        along, choices = self.chooses, self.choices
        *inputs, direction = along.in_types

        def body(*xs: TracedArray) -> list[TracedArray]:
            given = [*along.inputs[:-1], *choices, along.inputs[-1]]
            mapping = {node: x.node for node, x in zip(given, xs, strict=True)}
            replay(along.nodes, mapping, xs[0].node.trace)
            return [TracedArray(mapping[node]) for node in along.outputs]

        return program_of([*inputs, *[x.type for x in choices], direction], body)

    @cached_property
    def pulled_where_chosen(self) -> Program:
        """The same for products with the transposed matrix."""
        along = self.where_chosen
        if self.pushed is None:
            return along
        return transpose(along, [node is along.inputs[-1] for node in along.inputs])

    def along(self, pulled: bool, local: bool = False) -> Program:
        """Return the program of products one way or the other, which takes what is chosen, or not."""
        if local:
            return self.pulled_where_chosen if pulled else self.where_chosen
        if pulled:
            return self.pulled
        assert self.pushed is not None  # where there are rows only, rows are asked for
        return self.pushed
