"""Matrices of derivatives as SciPy's sparse arrays: the entries that may not be zero, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.rules.rule_identity import Rule
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.blocks import whole
from primad.programs.jacobians.hessian_laws import hessian_
from primad.programs.jacobians.jacobian_programs import build_jacobian, restricted
from primad.programs.sparsity.compressed import Compressed, Found, compressed
from primad.transforms.lowering import applications, expand

FORMATS = ("csr", "csc", "coo", "dia", "bsr")
"""SciPy's formats that a matrix of derivatives has."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Coloring:
    """Which columns and rows of a matrix of derivatives are taken together.

    Attributes:
        directions: how many products give all entries of the matrix.
        columns: the colour of each column; −1 where it is no part of a product with the matrix.
        rows: the colour of each row; −1 where it is no part of a product with the transposed matrix.
    """

    directions: int
    columns: Array
    rows: Array


class SparseForm:
    """How a matrix of derivatives is asked for its entries."""

    def pattern(self) -> Any:
        """Return which entries may not be zero."""
        raise NotImplementedError

    def coloring(self) -> Coloring:
        """Return which columns and rows are taken together."""
        raise NotImplementedError

    def sparse(self, format: str) -> Any:
        """Compute the matrix in one of SciPy's formats."""
        raise NotImplementedError


class HasSparseForm:
    """What a matrix of derivatives says of its zeros."""

    @property
    def _form(self) -> SparseForm:
        raise NotImplementedError

    def pattern(self) -> Any:
        """Return which entries may not be zero, as SciPy's sparse array of truth values.

        It follows from the ops of the function, never misses an entry, and holds for all arguments of the same shapes:
        indices and arrays that the function captures, or takes as arguments of integers, are looked at, numbers that
        it computes are not. Rows are the elements of the result (of a Hessian, of the result and of its first
        argument), columns those of the argument, in row-major order.

        Raises:
            MemoryLimitError: where the entries would not fit into memory.
        """
        return self._form.pattern()

    def coloring(self) -> Coloring:
        """Return which columns and rows of the matrix are taken together for `sparse`."""
        return self._form.coloring()

    def sparse(self, format: str = "csr") -> Any:
        """Compute the entries that may not be zero, by as few products as are found for them.

        Columns that share no row are one direction; rows with many entries are pulled back, and of a Hessian the
        symmetry is used. Where they are is found at the first call, and kept for others of the same function.

        Args:
            format: SciPy's name of a format: 'csr', 'csc', 'coo', 'dia' or 'bsr'.

        Returns:
            SciPy's sparse array: the elements of the result are rows, those of the argument columns (see `pattern`).

        Raises:
            MemoryLimitError: where the entries would not fit into memory.
            ShapeError: for another format.

        Example:
            >>> import numpy as np, primad
            >>> def rosenbrock(x):
            ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
            >>> H = primad.hessian(rosenbrock)(np.ones(1000))
            >>> H.sparse().nnz, H.coloring().directions
            (2998, 3)
        """
        return self._form.sparse(format)


class ComputedForm(SparseForm):
    """The entries of a matrix of derivatives at one point.

    Args:
        of: the program that is differentiated.
        primitive, options: the op that is the matrix.
        values: of the program's inputs, then of what it captured.
    """

    def __init__(self, of: ClosedProgram, primitive: Primitive, options: dict[str, Any], values: Sequence[Array]):
        self._parts = of, primitive, options
        self._values = values

    @cached_property
    def _matrix(self) -> Compressed:
        of, primitive, options = self._parts
        derive = _of_hessian if primitive is hessian_ else _of_jacobian
        return compressed(primitive, of, options, lambda: derive(of, options))

    @cached_property
    def _found(self) -> Found:
        return self._matrix.found(self._values, len(self._parts[0].program.inputs))

    @property
    def count(self) -> int:
        """How many entries may not be zero."""
        return len(self._found.columns)

    def pattern(self) -> Any:
        """Return which entries may not be zero, as SciPy's sparse array of truth values."""
        return self._found.matrix(np.ones(len(self._found.columns), np.bool_))

    def coloring(self) -> Coloring:
        """Return which columns and rows are taken together."""
        rows, columns = (np.full(n, -1, np.int64) for n in self._found.shape)
        sweeps = self._matrix.sweeps(self._found)
        for sweep in sweeps:
            (rows if sweep.pulled else columns)[:] = sweep.colors
        return Coloring(sum([sweep.count for sweep in sweeps]), columns, rows)

    def sparse(self, format: str) -> Any:
        """Compute the matrix in one of SciPy's formats."""
        if format not in FORMATS:
            raise ShapeError(f"sparse: there is no format {format!r}", fix=f"choose from {', '.join(FORMATS)}.")
        return self._found.matrix(self._matrix.data(self._found, self._values)).asformat(format)


def _check_alike(x: ArrayType, y: ArrayType) -> None:
    """Raise where an argument is real and a result complex, or the other way round."""
    if x.is_complex != y.is_complex:
        raise NotDifferentiableError(
            f"the entries that may not be zero of second derivatives of {y} by {x}",
            why="Their rows are pulled back, and between real and complex numbers that gives a real part only.",
            fix="np.asarray(H) is the whole matrix.",
        )


Derived = tuple[Program, int, bool]
"""A program whose Jacobian is wanted, the input with respect to which, and whether that is symmetric."""


def _of_jacobian(of: ClosedProgram, options: dict[str, Any]) -> Derived:
    return restricted(of.hoisted, options["output"], options["argument"]), options["argument"], False


def _of_hessian(of: ClosedProgram, options: dict[str, Any]) -> Derived:
    first, second, output = (options[name] for name in ("first", "second", "output"))
    _check_alike(of.program.in_types[second], of.out_types[output])
    columns = whole(of.program.in_types[first].shape)
    slope = build_jacobian(of.hoisted, output=output, argument=first, mode="reverse", columns=columns)
    single = of.out_types[output].shape == () and first == second
    ruled = any(isinstance(x, Rule) for node in applications(of.program) for _, x in node.params)
    return restricted(expand(slope), 0, second), second, single and not ruled


class ShownForm(SparseForm):
    """The entries of a matrix that is shown with other axes.

    Args:
        of: those of the matrix itself.
        turned: whether it is transposed.
        shape: that it is shown with.
    """

    def __init__(self, of: SparseForm, turned: bool, shape: tuple[int, ...]) -> None:
        self._of, self._turned, self._shape = of, turned, shape

    def pattern(self) -> Any:
        """Return which entries may not be zero."""
        return self._show(self._of.pattern)

    def coloring(self) -> Coloring:
        """Return which columns and rows of the matrix that is shown are taken together."""
        return self._of.coloring()

    def sparse(self, format: str) -> Any:
        """Compute the matrix in one of SciPy's formats."""
        return self._show(lambda: self._of.sparse(format)).asformat(format)

    def _show(self, matrix: Callable[[], Any]) -> Any:
        if len(self._shape) != 2:
            raise ShapeError(
                f"a sparse matrix has two axes, and this one is shown with shape {self._shape}",
                fix="ask the Jacobian or Hessian itself, whose rows are the elements of its result.",
            )
        found = matrix()
        return found.T if self._turned else found.reshape(self._shape)
