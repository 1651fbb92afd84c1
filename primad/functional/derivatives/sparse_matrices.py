"""Matrices of derivatives as SciPy's sparse arrays: the entries that may not be zero, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.derivatives.gradient_checks import check_declared
from primad.functional.rules.rule_identity import Rule
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram, Program
from primad.numpy.linalg.sparse_places import FORMATS
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.blocks import whole
from primad.programs.jacobians.hessian_laws import hessian_
from primad.programs.jacobians.jacobian_programs import build_jacobian, restricted
from primad.recording.foreign import is_sparse
from primad.transforms.lowering import applications, expand

if TYPE_CHECKING:
    from primad.programs.sparsity.compressed import Compressed
    from primad.programs.sparsity.found_entries import Found

Array = np.ndarray[Any, Any]


class Coloring(Struct, frozen=True):
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

    def at_point(self) -> SparseForm:
        """Return the same with the entries that may not be zero where the same is chosen as at this point."""
        raise NotImplementedError

    def pattern(self) -> Any:
        """Return which entries may not be zero."""
        raise NotImplementedError

    def coloring(self, substitution: bool = False) -> Coloring:
        """Return which columns and rows are taken together."""
        raise NotImplementedError

    def sparse(self, format: str, out: Any = None, substitution: bool = False) -> Any:
        """Compute the matrix in one of SciPy's formats, into one with these places if it is not None."""
        raise NotImplementedError


class HasSparseForm:
    """What a matrix of derivatives says of its zeros."""

    @property
    def _form(self) -> SparseForm:
        raise NotImplementedError

    def pattern(self, local: bool = False) -> Any:
        """Return which entries may not be zero, as SciPy's sparse array of truth values.

        It follows from the ops of the function, never misses an entry, and holds for all arguments of the same shapes:
        indices and arrays that the function captures, or takes as arguments of integers, are looked at, numbers that
        it computes are not. Rows are the elements of the result (of a Hessian, of the result and of its first
        argument), columns those of the argument, in row-major order.

        Args:
            local: whether it is that of this point: truth values and integers that the function computes are looked at
                too, so that what `np.where`, `np.maximum`, a sort or an index leaves out does not count, and where
                other arguments are zero. It holds wherever the same is chosen, and zero.

        Raises:
            MemoryLimitError: where the entries would not fit into memory.

        Example:
            >>> import numpy as np, primad
            >>> J = primad.jacobian(lambda x: np.maximum(x, x[::-1]))(np.arange(4.0))
            >>> J.pattern().nnz, J.pattern(local=True).nnz
            (8, 4)
        """
        return self._asked(local).pattern()

    def coloring(self, local: bool = False, substitution: bool = False) -> Coloring:
        """Return which columns and rows of the matrix are taken together, where `sparse` takes products."""
        return self._asked(local).coloring(substitution)

    def plot(self, axes: Any = None, *, local: bool = False, colored: bool = True) -> Any:
        """Draw where entries may not be zero, in the colours of the products that give them.

        Columns that are one direction have one colour, and so have rows that are pulled back together. It needs
        matplotlib.

        Args:
            axes: matplotlib's axes to draw on; by default those of a new figure.
            local: whether it is that of this point, as for `pattern`.
            colored: whether colours tell the directions of `coloring`; else all entries are black.

        Returns:
            the axes.

        Raises:
            ImportError: without matplotlib.
            ShapeError: of a matrix that is shown with another shape than that of its rows and columns.

        Example:
            >>> import numpy as np, primad
            >>> J = primad.jacobian(lambda x: x[1:] * x[:-1])(np.arange(9.0))
            >>> J.plot().get_title()
            '8 × 9, 16 entries, 2 directions'
        """
        from primad.functional.derivatives.matrix_pictures import draw  # loads when it is called

        form = self._asked(local)
        return draw(form.pattern(), form.coloring() if colored else None, axes)

    def check_pattern(self, declared: Any) -> None:
        """Raise if a declared pattern misses an entry that is not zero at this point.

        Args:
            declared: where entries are, one of SciPy's sparse arrays, or an array of truth values.

        Raises:
            ShapeError: with the first entry that is missed, its derivative, and how many there are.

        Example:
            >>> import numpy as np, primad
            >>> J = primad.jacobian(lambda x: x * np.roll(x, 1))(np.ones(3))
            >>> J.check_pattern(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]))
        """
        check_declared(self._form.sparse("csr"), declared, "check_pattern: the pattern", "this.pattern()")

    def _asked(self, local: bool) -> SparseForm:
        return self._form.at_point() if local else self._form

    def sparse(
        self, format: str | None = None, out: Any = None, *, local: bool = False, substitution: bool = False
    ) -> Any:
        """Compute the entries that may not be zero, as they are or by as few products as are found for them.

        Entries of stencils, and of sums over the cells of a mesh, springs, branches or observations, which take
        elements at known indices, are computed as they are, with no product. Of other functions columns that share no
        row are one direction; rows with many entries are pulled back, and of a Hessian the symmetry is used. Where they
        are is found at the first call, and kept for others of the same function.

        Args:
            format: SciPy's name of a format: 'csr' (the default), 'csc', 'coo', 'dia' or 'bsr'.
            out: an array that this gave for the same function, in the same format: its entries are overwritten, and
                its places looked at. Of 'dia' and 'bsr' the entries are copied there.
            local: whether it has the entries of `pattern(local=True)` only. Whatever is chosen is looked at in each
                call, before what was found at another point is used.
            substitution: whether entries of a Hessian of one number may be differences of products and other entries:
                fewer products, by a colouring without cycles of two colours, and entries that are as exact as the
                largest nearby.

        Returns:
            SciPy's sparse array (`out`, if that is given): the elements of the result are rows, those of the argument
            columns (see `pattern`). Under `jit`, `grad` and `vmap` a sparse array of `primad.scipy.sparse`, whose
            entries are traced; a function that returns it gives SciPy's.

        Raises:
            MemoryLimitError: where the entries would not fit into memory.
            ShapeError: for another format, and if the entries do not fit into `out`.

        Example:
            >>> import numpy as np, primad
            >>> def rosenbrock(x):
            ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
            >>> H = primad.hessian(rosenbrock)(np.ones(1000))
            >>> H.sparse().nnz, H.coloring().directions
            (2998, 3)
            >>> curvature = primad.jit(lambda x: primad.hessian(rosenbrock)(x).sparse("csc"))
            >>> A = curvature(np.ones(1000))
            >>> primad.hessian(rosenbrock)(np.zeros(1000)).sparse(out=A) is A, A[0, 0]
            (True, np.float64(2.0))
        """
        if out is not None and not is_sparse(out):
            raise ShapeError(f"sparse: out is no sparse array but a {type(out).__name__}", fix=_overwriting().OUT)
        format = format or ("csr" if out is None else out.format)
        if format not in FORMATS:
            raise ShapeError(f"sparse: there is no format {format!r}", fix=f"choose from {', '.join(FORMATS)}.")
        return self._asked(local).sparse(format, out, substitution)


class ComputedForm(SparseForm):
    """The entries of a matrix of derivatives at one point.

    Args:
        of: the program that is differentiated.
        primitive, options: the op that is the matrix.
        values: of the program's inputs, then of what it captured.
        local: whether what is chosen at the point is known.
    """

    def __init__(
        self,
        of: ClosedProgram,
        primitive: Primitive,
        options: dict[str, Any],
        values: Sequence[Array],
        local: bool = False,
    ) -> None:
        self._parts = of, primitive, options
        self._values, self._local = values, local

    def at_point(self) -> SparseForm:
        """Return the same with the entries that may not be zero where the same is chosen as at this point."""
        return self._at_point

    @cached_property
    def _at_point(self) -> ComputedForm:
        return ComputedForm(*self._parts, self._values, local=True)

    @cached_property
    def _matrix(self) -> Compressed:
        return matrix_of(*self._parts)

    @cached_property
    def _found(self) -> Found:
        of, _, options = self._parts
        moving = {options[name] for name in ("argument", "first", "second") if name in options}
        numbers = set() if self._local else set(range(len(of.program.inputs)))
        known = {i: x for i, x in enumerate(self._values) if x.dtype.kind in "iub" or i not in moving | numbers}
        return self._matrix.found(known, self._chosen)

    @cached_property
    def _chosen(self) -> list[Array]:
        return self._matrix.chosen(self._values) if self._local else []

    @property
    def count(self) -> int:
        """How many entries may not be zero."""
        return len(self._found.columns)

    def pattern(self) -> Any:
        """Return which entries may not be zero, as SciPy's sparse array of truth values."""
        return pattern_of(self._found)

    def coloring(self, substitution: bool = False) -> Coloring:
        """Return which columns and rows are taken together."""
        if substitution:
            way = self._matrix.substitution(self._found)
            return Coloring(way.count, way.colors, np.full(self._found.shape[0], -1))
        return coloring_of(self._matrix, self._found)

    def sparse(self, format: str, out: Any = None, substitution: bool = False) -> Any:
        """Compute the matrix in one of SciPy's formats, into one with these places if it is not None."""
        found, order = self._found, "csc" if format == "csc" else "csr"
        data = None
        if out is not None:
            given = _overwriting()
            if format in given.PLACES:
                return given.overwritten(out, self.sparse(format, substitution=substitution))
            data = given.entries_in(out, found, format, self._matrix.dtype)
        if substitution:
            made = found.in_order(self._matrix.by_substitution(found, self._values, self._chosen), order)
            if data is not None:
                data[...] = made
            return found.matrix(made, order).asformat(format) if out is None else out
        made = self._matrix.data(found, self._values, order, data, self._chosen)
        return found.matrix(made, order).asformat(format) if out is None else out


def _overwriting() -> ModuleType:
    """Return what overwrites arrays: it loads where there is one."""
    from primad.functional.derivatives import overwritten_entries

    return overwritten_entries


def pattern_of(found: Found) -> Any:
    """Return which entries may not be zero, as SciPy's sparse array of truth values."""
    return found.matrix(np.ones(len(found.columns), np.bool_))


def coloring_of(matrix: Compressed, found: Found) -> Coloring:
    """Return which columns and rows of a matrix are taken together."""
    rows, columns = (np.full(n, -1, np.int64) for n in found.shape)
    sweeps = matrix.sweeps(found)
    for sweep in sweeps:
        (rows if sweep.pulled else columns)[:] = sweep.colors
    return Coloring(sum([sweep.count for sweep in sweeps]), columns, rows)


def matrix_of(of: ClosedProgram, primitive: Primitive, options: dict[str, Any]) -> Compressed:
    """Return a matrix of derivatives: of an op, with its options, of the program that it holds."""
    derive = _of_hessian if primitive is hessian_ else _of_jacobian
    from primad.programs.sparsity.compressed import compressed

    return compressed(primitive, of, options, lambda: derive(of, options))


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

    def at_point(self) -> SparseForm:
        """Return the same with the entries that may not be zero where the same is chosen as at this point."""
        return ShownForm(self._of.at_point(), self._turned, self._shape)

    def pattern(self) -> Any:
        """Return which entries may not be zero."""
        return self._show(self._of.pattern)

    def coloring(self, substitution: bool = False) -> Coloring:
        """Return which columns and rows of the matrix that is shown are taken together."""
        found = self._of.coloring(substitution)
        if self._turned:
            return Coloring(found.directions, found.rows, found.columns)
        if self._shape != (len(found.rows), len(found.columns)):
            raise ShapeError(
                f"colours of the rows and columns of a matrix that is shown with shape {self._shape}",
                fix="ask the Jacobian or Hessian itself, whose rows are the elements of its result.",
            )
        return found

    def sparse(self, format: str, out: Any = None, substitution: bool = False) -> Any:
        """Compute the matrix in one of SciPy's formats, into one with these places if it is not None."""
        if out is None:
            return self._show(lambda: self._of.sparse(format, None, substitution)).asformat(format)
        given = _overwriting()
        if format in given.PLACES:  # whose transposed arrays are copies
            return given.overwritten(out, self.sparse(format, substitution=substitution))
        turned = {"csr": "csc", "csc": "csr"} if self._turned else {}
        self._of.sparse(turned.get(format, format), self._show(lambda: out), substitution)
        return out

    def _show(self, matrix: Callable[[], Any]) -> Any:
        if len(self._shape) != 2:
            raise ShapeError(
                f"a sparse matrix has two axes, and this one is shown with shape {self._shape}",
                fix="ask the Jacobian or Hessian itself, whose rows are the elements of its result.",
            )
        found = matrix()
        if self._turned:
            return found.T
        return found if found.shape == self._shape else found.reshape(self._shape)
