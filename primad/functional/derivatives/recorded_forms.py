"""The entries of a matrix of derivatives that is a node of a program that is being recorded."""

from __future__ import annotations

from functools import partial
from typing import Any

from primad.errors import ShapeError
from primad.functional.derivatives.sparse_matrices import (
    Coloring,
    HasSparseForm,
    ShownForm,
    SparseForm,
    coloring_of,
    matrix_of,
    pattern_of,
)
from primad.ir.node import CAPTURED, LITERAL, leaf_value
from primad.numpy.linalg.sparse_products import traced_sparse
from primad.programs.jacobians.blocks import whole
from primad.programs.jacobians.hessian_laws import hessian_
from primad.programs.jacobians.jacobian_laws import jacobian_
from primad.recording.protocols import METHODS_OF
from primad.recording.traced_array import TracedArray


class RecordedForm(SparseForm):
    """The entries of a matrix of derivatives that is recorded.

    What is captured is known, and says where zeros are; arguments of the function that is recorded are not, whatever
    numbers they have now.

    Args:
        matrix: the application of the op that is the matrix.
    """

    def __init__(self, matrix: TracedArray) -> None:
        node = matrix.node
        options = dict(node.params)
        of = options.pop("of")
        self._operands = [TracedArray(x) for x in node.inputs]
        self._matrix = matrix_of(of, node.op, options)
        known = {i: leaf_value(x) for i, x in enumerate(node.inputs) if x.op is CAPTURED or x.op is LITERAL}
        self._found = self._matrix.found(known)

    def at_point(self) -> SparseForm:
        """Refuse: there is no point."""
        raise ShapeError(
            "local=True for a matrix of derivatives that is recorded",
            why="What is chosen at a point is not known while a function is recorded for all of them.",
            fix="leave local=True out, or ask outside of jit, grad and vmap.",
        )

    def pattern(self) -> Any:
        """Return which entries may not be zero, as SciPy's sparse array of truth values."""
        return pattern_of(self._found)

    def coloring(self, substitution: bool = False) -> Coloring:
        """Return which columns and rows are taken together."""
        _refuse(substitution)
        return coloring_of(self._matrix, self._found)

    def sparse(self, format: str, out: Any = None, substitution: bool = False) -> Any:
        """Record the computation of the entries."""
        _refuse(substitution)
        if out is not None:
            raise ShapeError(
                "sparse: an array out is given for a matrix that is recorded",
                why="What is recorded computes arrays, and writes into none.",
                fix="leave out= out; outside of jit, grad and vmap it saves the memory.",
            )
        order = "csc" if format == "csc" else "csr"
        return traced_sparse(self._matrix.recorded(self._found, self._operands, order), self._found.placed(format))


def _refuse(substitution: bool) -> None:
    if substitution:
        raise ShapeError(
            "substitution=True for a matrix of derivatives that is recorded",
            why="Entries would follow one from another, in as many steps as there are entries.",
            fix="leave substitution=True out.",
        )


class _Recorded(HasSparseForm):
    """What a recorded matrix of derivatives says of its zeros.

    Args:
        matrix: an application of the op, of all rows and columns, or a transposed one.
    """

    def __init__(self, matrix: TracedArray) -> None:
        self._shown = matrix

    @property
    def _form(self) -> SparseForm:
        matrix = self._shown
        options = dict(matrix.node.params)
        order = options.pop("order", None)
        of, axes = options["of"], {"columns": "argument", "left": "first", "right": "second"}
        asked = {name: of.program.in_types[options[x]] for name, x in axes.items() if name in options}
        asked["rows"] = of.out_types[options["output"]]
        if any(options[name] != whole(type.shape) for name, type in asked.items()):
            raise ShapeError(
                "the sparse form of a part of a matrix of derivatives that is recorded",
                fix="J.sparse() of the whole J = primad.jacobian(f)(x), and of its entries those that are needed.",
            )
        if order is None:
            return RecordedForm(matrix)
        inner = TracedArray(matrix.node.trace.build(matrix.node.op, matrix.node.inputs, tuple(options.items())))
        if order != tuple(reversed(range(inner.ndim))):
            raise ShapeError(
                "the sparse form of a matrix of derivatives whose axes are in another order",
                fix="ask primad.jacobian(f)(x) itself, whose rows are the elements of the result.",
            )
        return ShownForm(RecordedForm(inner), True, matrix.shape)


def register() -> None:
    """Give recorded matrices of derivatives the methods that lazy ones have."""
    for op in (jacobian_, hessian_):
        METHODS_OF[op] = {name: partial(_asked, name) for name in ("pattern", "coloring", "plot", "sparse")}


def _asked(name: str, matrix: TracedArray, *args: Any, **kwargs: Any) -> Any:
    return getattr(_Recorded(matrix), name)(*args, **kwargs)
